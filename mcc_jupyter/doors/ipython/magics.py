"""The magics: each parses its line, asks the toolbox and shows the answer. It decides nothing.

1. Lines and bodies arrive as they were typed: ``@no_var_expand`` everywhere.
2. A mistake is an ``MccError``, never IPython's UsageError, which notebook tests do not see (SPEC 14).
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Literal

from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, no_var_expand
from traitlets import Any as Setting

from ...runtime.guard import guarded
from ...runtime.parent import Parent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from IPython.core.interactiveshell import InteractiveShell

    from ...core.outcome import Outcome
    from ...core.tool import Origin
    from ...runtime.answers import Added
    from ...runtime.toolbox import Toolbox

_parent = Parent(os.environ)


def parent_names() -> tuple[str, ...]:
    """The names of this process's variables."""
    return tuple(_parent())


_SHOWN_REPORTS = 5
"""A cell that declares more tools than this shows a list of them; ``%mcc_env TOOL`` has the reports."""


def toolbox_of(shell: InteractiveShell) -> Toolbox:
    """The shell's toolbox, made at the first magic that needs it: ``%load_ext`` stays quick."""
    from ...runtime.current import toolbox_for

    return toolbox_for(shell, _parent)


@magics_class
class MccMagics(Magics):
    """The magics of mcc_jupyter."""

    shell: InteractiveShell

    # Only declared here, so that IPython knows them: ``runtime/current.py`` reads and checks them for every door.
    env_floor = Setting(help="The names every tool gets, a list; read once, at the first magic.").tag(config=True)
    groups = Setting(help="The groups of whoever uses this notebook, a list; by default all.").tag(config=True)
    guard = Setting(False, help="Whether %mcc_guard is on from the start, True or False.").tag(config=True)

    @property
    def toolbox(self) -> Toolbox:
        return toolbox_of(self.shell)

    # ---- declaring

    @no_var_expand
    @cell_magic
    @guarded
    def mcc_tool(self, line: str, cell: str) -> None:
        """Declare tools, and show what each of them gets. No tool runs.

        %%mcc_tool                 the body is YAML: one tool, a list of tools, or the file form
        %%mcc_tool NAME [options]  the body is the tool's shell command, a Jinja2 template

        --param NAME[:TYPE][=DEFAULT]  a parameter (str int float bool list dict); may be repeated
        --env K=V                      a variable; may be repeated
        --env-file FILE                a dotenv file; may be repeated
        --pass PATTERN                 let parent names in by pattern; may be repeated
        --require NAME                 let one parent name in, and be unavailable without it; may be repeated
        --optional NAME                let one parent name in if it is there; may be repeated
        --cwd DIR   --timeout SECONDS   --group GROUP   --stdin   --description TEXT

        Example:
            %%mcc_tool log --param n:int=3
            git log --oneline -n {{ n }}
        """
        from ...core.cell import parse_cell

        words = line.split()
        label = " ".join(["%%mcc_tool", *words[:1]])
        self._declared(self.toolbox.add(parse_cell(line, cell), self._origin(label)))

    @no_var_expand
    @cell_magic
    @guarded
    def mcc_sh(self, line: str, cell: str) -> None:
        """Run the body once in /bin/sh, with the floor and what the options name: a %%bash that inherits nothing else.

        %%mcc_sh [--pass PATTERN…] [--env K=V…] [--env-file FILE] [--timeout SECONDS]
        """
        from ...core.cell import parse_sh

        self._finished(self.toolbox.once(parse_sh(line, cell), self._origin("%%mcc_sh"), show=_show), raise_error=True)

    @no_var_expand
    @line_magic
    @guarded
    def mcc_load(self, line: str) -> None:
        """Declare the tools of YAML files, folders and globs.

        %mcc_load PATH…
        """
        paths = _words("%mcc_load", line, "PATH…", least=1)
        self._declared(self.toolbox.load(*paths))

    # ---- calling

    @no_var_expand
    @line_magic
    @guarded
    def mcc_call(self, line: str) -> None:
        """Call a tool and show what it gives.

        %mcc_call NAME k=v … [--json '{…}'] [--timeout SECONDS] [-o VAR] [--spill FILE] [--no-raise-error]

        Arguments are split at blanks outside quotes and brackets. `--json` takes all of them as one object instead.
        `-o VAR` keeps the Outcome in a variable. `--spill FILE` writes all of the output, redacted, to a new private
        file. A failed tool raises ToolFailed unless --no-raise-error is given.
        """
        from ...core.cell import parse_call

        call = parse_call(line)
        self._say_unexpanded(call.arguments, "call it from Python: mcc.tools.NAME({}=…)")
        try:
            outcome = self.toolbox.call(call.name, call.arguments, timeout=call.timeout, show=_show, spill=call.spill)
        except KeyboardInterrupt as interrupt:
            if call.output is not None and hasattr(interrupt, "outcome"):
                self.shell.user_ns[call.output] = interrupt.outcome
            raise
        if call.output is not None:
            self.shell.user_ns[call.output] = outcome
        self._finished(outcome, raise_error=call.raise_error)

    # ---- seeing

    @no_var_expand
    @line_magic
    @guarded
    def mcc_tools(self, line: str) -> None:
        """List the declared tools, or forget some.

        %mcc_tools
        %mcc_tools rm NAME…
        """
        words = _words("%mcc_tools", line, "[rm NAME…]")
        if words[:1] == ["rm"] and len(words) > 1:
            for name in words[1:]:
                print(f"removed {self.toolbox.registry.remove(name).key}")
        elif words:
            raise _usage("%mcc_tools", "[rm NAME…]")
        else:
            self._display(self.toolbox.listing())

    @no_var_expand
    @line_magic
    @guarded
    def mcc_env(self, line: str) -> None:
        """Show which variables a tool gets and why, by name; without a tool, a table of all tools.

        %mcc_env [TOOL] [--all]

        --all adds the parent names that are withheld, and where the tool's programs are found.
        """
        words = _words("%mcc_env", line, "[TOOL] [--all]", most=2, options=("--all",))
        everything = "--all" in words
        names = [word for word in words if word != "--all"]
        if len(names) > 1 or (everything and not names):
            raise _usage("%mcc_env", "[TOOL] [--all]")
        self._display(self.toolbox.report(names[0], everything=everything) if names else self.toolbox.matrix())

    @no_var_expand
    @line_magic
    @guarded
    def mcc_probe(self, line: str) -> None:
        """Start a child with exactly a tool's environment and compare the names it received with the report.

        %mcc_probe TOOL
        """
        (name,) = _words("%mcc_probe", line, "TOOL", least=1, most=1)
        print(self.toolbox.probe(name))

    @no_var_expand
    @line_magic
    @guarded
    def mcc_diff(self, line: str) -> None:
        """Show what a tool's declaration changes against its last one, by name; without a tool, of all tools.

        %mcc_diff [TOOL] [--lock | --lock=FILE]

        --lock compares with the lock of `mcc-jupyter check`: FILE, or the nearest mcc.lock here or above.
        """
        from ...runtime.differing import diff, lines, lock_file

        form = "[TOOL] [--lock | --lock=FILE]"
        words = _words("%mcc_diff", line, form, most=2, options=("--lock", "--lock="))
        locks = [word.partition("=")[2] or lock_file() for word in words if word.startswith("--lock")]
        names = [word for word in words if not word.startswith("--lock")]
        if len(names) > 1 or len(locks) > 1:
            raise _usage("%mcc_diff", form)
        found = diff(self.toolbox.registry, *names, lock=locks[0] if locks else None)
        print("\n".join(lines(found)) or "nothing changed")

    @no_var_expand
    @line_magic
    @guarded
    def mcc_session(self, line: str) -> Any:
        """The notebook's session: what every tool can read in MCC_CTX.

        %mcc_session set KEY=VALUE …   a VALUE is JSON or text; quote text that holds blanks
        %mcc_session get KEY
        %mcc_session del KEY
        %mcc_session list
        %mcc_session clear           forgets everything but the identity
        """
        form = "set KEY=VALUE … | get KEY | del KEY | list | clear"
        session = self.toolbox.session
        match line.strip().split(maxsplit=1):
            case ["set", entry] if "=" in entry:
                from ...core.cell import parse_entries

                entries = parse_entries(entry)
                session.put(entries)
                self._say_unexpanded(entries, 'set it from Python: mcc.session["{}"] = …')
            case ["get" | "del" as verb, key]:
                if key not in session:
                    raise _argument_error(f"session: there is no entry `{key}`; `%mcc_session list` shows them")
                if verb == "get":
                    return session[key]
                del session[key]
            case ["clear"]:
                session.clear()
            case [] | ["list"]:
                from ...runtime.listings import session_listing

                self._display(session_listing(session))
            case _:
                raise _usage("%mcc_session", form)
        return None

    # ---- the operator's policy file

    @no_var_expand
    @line_magic
    @guarded
    def mcc_policy(self, line: str) -> None:
        """Show the policy file that holds here: the workspace, its tools, and what cells may ask for.

        %mcc_policy
        """
        _words("%mcc_policy", line, "", most=0)
        self._display(self.toolbox.standing())

    @no_var_expand
    @line_magic
    @guarded
    def mcc_use(self, line: str) -> None:
        """Give up the operator's tools that none of these profiles has, until the kernel restarts.

        %mcc_use PROFILE…
        """
        profiles = _words("%mcc_use", line, "PROFILE…", least=1)
        dropped = self.toolbox.governed.use(profiles)
        print(f"given up: {', '.join(dropped)}" if dropped else "nothing was given up: these profiles have every tool")

    @no_var_expand
    @line_magic
    @guarded
    def mcc_skills(self, line: str) -> None:
        """List the skills of this workspace, or show one.

        %mcc_skills
        %mcc_skills NAME
        """
        from ...runtime.listings import skills_listing

        names = _words("%mcc_skills", line, "[NAME]", most=1)
        if not names:
            self._display(skills_listing(self.toolbox.governed.skills()))
            return
        from IPython.display import Markdown, display

        display(Markdown(self.toolbox.governed.skill(names[0]).text))  # type: ignore[no-untyped-call]

    @no_var_expand
    @line_magic
    @guarded
    def mcc_guard(self, line: str) -> None:
        """Redact everything this shell displays: output, results, errors, help. `print(os.environ)` shows marks.

        %mcc_guard on [--never NAME…]   the values of these names are not searched for
        %mcc_guard off
        %mcc_guard status   what it searches for, by name, and what it does not cover
        """
        from .guard import guard_of, switch_off, switch_on

        match line.split():
            case ["on"] | ["on", "--never", _, *_] as words:
                switch_on(self.shell, self.toolbox, never=words[2:] or None)
                print("The guard is on; `%mcc_guard status` says what it covers.")
            case ["off"]:
                switch_off(self.shell)
                print("The guard is off: what cells display is not searched for secrets.")
            case [] | ["status"]:
                guard = guard_of(self.shell)
                print("The guard is off; `%mcc_guard on` switches it on." if guard is None else guard.status())
            case _:
                raise _usage("%mcc_guard", "on [--never NAME…] | off | status")

    def tell_policy(self) -> None:
        """Says what is wrong with a policy file and which of its tools are unavailable; without a file it does nothing.

        The file is looked for without making the toolbox, so that loading the extension stays quick.
        """
        from ...runtime.policy_search import find, start_of

        if find(start_of(self.shell, _parent)) is not None:
            for line in self.toolbox.governed.news():
                print(line)

    def start_guard(self, *, again: bool = False) -> None:
        """Switches the guard on if the configuration says so, or *again* after a reload; raises ``PolicyError``."""
        if self.guard is not True and self.guard is not False:
            from ...core.errors import PolicyError

            raise PolicyError("c.MccMagics.guard must be True or False")
        if self.guard or again:
            from .guard import switch_on

            switch_on(self.shell, self.toolbox)
        if again:
            print("The guard is on again.")

    # ---- showing

    @guarded
    def forget_left(self, result: Any) -> None:
        """After a cell went well: the tools it declared before and does not declare now are forgotten (SPEC 2.5)."""
        from ...runtime.current import running_cell, toolbox_known

        toolbox = toolbox_known(self.shell)
        if toolbox is None or not result.success:
            return
        cell, run = running_cell(self.shell)
        if cell is not None and run is not None:
            toolbox.registry.forget_left(cell, run)

    def _origin(self, label: str) -> Origin:
        from ...runtime.current import cell_origin

        return cell_origin(self.shell, label)

    def _declared(self, added: Added) -> None:
        if added.printed:
            print(added.printed, end="" if added.printed.endswith("\n") else "\n")
        for notice in added.notices:
            print(notice)
        if len(added.reports) <= _SHOWN_REPORTS:
            for report in added.shown:
                self._display(report)
        else:
            self._display(self.toolbox.listing(added.tools))
        added.raise_for_problems()

    def _say_unexpanded(self, entries: Mapping[str, object], instead: str) -> None:
        from ...core.cell import unexpanded

        for name in unexpanded(entries, self.shell.user_ns):
            what = "is the text as you typed it, because no variable is expanded here"
            print(f"note: `{name}` {what}; {instead.format(name)}")

    def _finished(self, outcome: Outcome, *, raise_error: bool) -> None:
        """Shows what has not been shown while the tool ran, and raises when it failed."""
        if outcome.mode == "cached":
            _show("stdout", outcome.stdout)
        if outcome.ok and outcome.returned and outcome.value is not None:
            self._display(outcome.value)
        if outcome.traceback:
            _show("stderr", outcome.traceback.rstrip("\n") + "\n")
        for note in outcome.notes:
            print(f"note: {note}")
        if not outcome.ok and not raise_error:
            print(f"Tool {outcome.tool!r} {outcome.failure}")
        elif not outcome.ok:
            outcome.raise_for_failure()

    @staticmethod
    def _display(value: object) -> None:
        from IPython.display import display

        display(value)  # type: ignore[no-untyped-call]


def _show(stream: Literal["stdout", "stderr"], text: str) -> None:
    """Through Python's streams, not a descriptor: so ``%%capture`` and redirection hold."""
    target = sys.stdout if stream == "stdout" else sys.stderr
    target.write(text)
    target.flush()


def _usage(magic: str, form: str) -> Exception:
    return _argument_error(f"{magic}: write `{f'{magic} {form}'.rstrip()}`; `{magic}?` shows the help")


def _argument_error(text: str) -> Exception:
    from ...core.errors import ArgumentError

    return ArgumentError(text)


def _words(
    magic: str, line: str, form: str, *, least: int = 0, most: int | None = None, options: tuple[str, ...] = ()
) -> list[str]:
    import shlex

    try:
        words = shlex.split(line)
    except ValueError:
        raise _usage(magic, form) from None
    flags = [word for word in words if word.startswith("-")]
    unknown = [word for word in flags if word not in options and f"{word.partition('=')[0]}=" not in options]
    if unknown or len(words) < least or (most is not None and len(words) > most):
        raise _usage(magic, form)
    return words
