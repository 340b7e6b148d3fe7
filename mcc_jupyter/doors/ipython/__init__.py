"""The door for IPython: a notebook's kernel or a terminal (SPEC 2, 7.12, 11, 14)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from . import control, publish
from .magics import MccMagics, toolbox_of

if TYPE_CHECKING:
    from IPython.core.completer import CompletionContext
    from IPython.core.interactiveshell import InteractiveShell


_MATCHER = "mcc_jupyter"

_GUARD_LEFT = "_mcc_guard_left"
"""The shell's attribute that tells in which cell the guard was on when the extension was unloaded: a reload is both."""


def load(shell: InteractiveShell) -> None:
    """Adds the magics, the completer, the control channel's door and what follows each cell.

    Nothing else is imported yet.
    """
    if sys.platform == "win32":
        raise ImportError("mcc_jupyter runs on Linux and macOS; on Windows use it inside WSL")
    unload(shell)
    magics = MccMagics(shell)
    shell.register_magics(magics)
    shell.events.register("post_run_cell", magics.forget_left)
    add_matcher(shell)
    control.add(shell)
    publish.add(shell)
    magics.tell_policy()
    magics.start_guard(again=vars(shell).pop(_GUARD_LEFT, None) == shell.execution_count)


def unload(shell: InteractiveShell) -> None:
    """Takes back everything ``load`` added, and the guard. Tools, session and the cells' calls stay."""
    guard = sys.modules.get(f"{__name__}.guard")  # a guard that was never on costs no import
    if guard is not None and guard.switch_off(shell):
        vars(shell)[_GUARD_LEFT] = shell.execution_count
        print("The guard is off: what cells display is not searched for secrets.")
    manager = shell.magics_manager
    for kind in ("line", "cell"):
        for name in [name for name in manager.magics[kind] if name.startswith("mcc_")]:
            del manager.magics[kind][name]
    manager.registry.pop(MccMagics.__name__, None)
    # By name and by object: a developer's reload may have made another class of what was loaded before.
    for item in list(shell.configurables):
        if type(item).__name__ == MccMagics.__name__:
            shell.configurables.remove(item)
            for hook in list(shell.events.callbacks["post_run_cell"]):
                if getattr(hook, "__self__", None) is item:
                    shell.events.unregister("post_run_cell", hook)
    remove_matcher(shell)
    control.remove(shell)
    publish.remove(shell)


def add_matcher(shell: InteractiveShell) -> None:
    """Registers the matcher, where the shell has a completer."""
    completer = getattr(shell, "Completer", None)
    if completer is not None:
        completer.custom_matchers.append(_matcher(shell))


def remove_matcher(shell: InteractiveShell) -> None:
    """Takes the matcher back."""
    completer = getattr(shell, "Completer", None)
    if completer is not None:
        completer.custom_matchers[:] = [
            matcher for matcher in completer.custom_matchers if getattr(matcher, "matcher_identifier", "") != _MATCHER
        ]


def _matcher(shell: InteractiveShell) -> Any:
    from IPython.core.completer import SimpleCompletion, context_matcher

    @context_matcher(identifier=_MATCHER, priority=100)  # type: ignore[untyped-decorator]
    def complete(context: CompletionContext) -> Any:
        before = context.line_with_cursor[: context.cursor_position]
        if context.cursor_line and _is_yaml(context.full_text):
            from .completion import in_body

            return in_body(context, before)
        before = before.lstrip()
        ours = before.startswith("%mcc_") or (before.startswith("%%mcc_") and context.cursor_line == 0)
        if not ours or " " not in before:
            return {"completions": [], "suppress": False}
        from .completion import candidates

        token = before[before.rindex(" ") + 1 :]
        found = [word for word in candidates(before, toolbox_of(shell)) if word.startswith(token)]
        return {
            "completions": [SimpleCompletion(text=word, type="mcc") for word in found],
            "matched_fragment": token,
            "suppress": bool(found),
        }

    return complete


def _is_yaml(cell: str) -> bool:
    """Whether *cell* declares tools as YAML: options on the magic's line make its body a command."""
    return cell.partition("\n")[0].rstrip() == "%%mcc_tool"
