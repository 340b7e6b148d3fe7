"""What a tool runs: ``fn``, ``exec``, ``curl`` and ``transform`` → their frozen forms (SPEC 2.6, 3.4, 7.2, 7.10).

1. A template is checked here, so that a call never meets a syntax error or a name that is no parameter.
2. A script keeps its references for the shell. An argument list has no shell, and nothing secret may stand in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from .curl_text import file_notes, variables
from .fields import Note
from .reading import Node
from .shell_template import spans
from .shell_text import argument, one_line, plain_words, prepare
from .template import doubts, is_template, problems, undefined_names
from .tool import WARNING, Argv, Curl, Function, Param, Shell

Body = Shell | Argv | Curl | Function


@dataclass(frozen=True, slots=True)
class Scope:
    """What the command texts of one tool see."""

    tool: str
    params: tuple[Param, ...]
    signature: bool
    """A function: its signature may bring more parameters."""
    listed: bool
    """The author wrote ``params``, so that a name beyond them is a mistake."""
    floor: tuple[str, ...]
    parent: Mapping[str, str] = field(repr=False)
    provided: Callable[[str], bool]
    """Whether the tool's environment gives a name, so that it is left to the shell."""
    note: Note
    inspect: Note
    given: frozenset[str] | None = None
    """The names it gives by name; None where there may be others (an env_file's)."""

    @property
    def types(self) -> dict[str, str]:
        """The type of each parameter; ``enum`` where no value it may have means anything to a shell."""
        return {param.name: "enum" if _is_harmless(param) else param.type for param in self.params}


def _is_harmless(param: Param) -> bool:
    return param.enum is not None and all(_HARMLESS.fullmatch(str(choice)) for choice in param.enum)


_HARMLESS = re.compile(r"[A-Za-z0-9_.,:/@%+=-]+")


def _function(node: Node, _scope: Scope, _stdin: bool) -> Function:
    if not callable_name(node.value):
        node.wrong("expected `module:function` or `module.function`")
        return Function("")
    return Function(str(node.value))


def callable_name(target: object) -> str:
    """The last name of ``module:attr.attr`` or ``module.attr``; empty for what is neither."""
    parts = re.split("[.:]", target) if isinstance(target, str) and target.count(":") <= 1 else []
    return parts[-1] if len(parts) > 1 and all(part.isidentifier() for part in parts) else ""


def _execute(node: Node, scope: Scope, _stdin: bool) -> Shell | Argv:
    if isinstance(node.value, list | tuple):
        return _argv(node, scope)
    written = node.filled("a command, or a list of arguments")
    return _shell(node, scope, written, written)


def _curl(node: Node, scope: Scope, stdin: bool) -> Curl:
    """The options of every call come first, so that the text can change them."""
    written = node.filled("the rest of a curl command")
    if re.match(r"\s*curl(?:\s|$)", written):
        node.wrong("leave out the word `curl`; write what follows it")
    options = "-sSL --json @-" if stdin else "-sSL"
    rest = one_line(written.strip())
    if _is_address(rest):
        shell = _shell(node, scope, written, f'curl {options} "{_inside_quotes(rest)}"')
        return Curl(shell, (*options.split(), argument(rest)[0]))
    words = plain_words(f"{options} {rest}", params=scope.types)
    shell = _shell(node, scope, written, f"curl {options} {rest}", runs=words is None)
    for name in variables(rest) if words is None else ():
        if name not in scope.floor and (scope.provided(name) or any(name == item.name for item in shell.references)):
            scope.note(
                node,
                f"{WARNING}{name} reaches curl's command line, because the text needs a shell; "
                "keep to plain arguments, with `transform` for what comes after a pipe",
            )
    for note in file_notes(rest, scope.types):
        scope.note(node, note)
    return Curl(shell, words)


def transform(node: Node, scope: Scope) -> Shell:
    """A filter of the tool's output, or a list of them, joined by pipes."""
    if isinstance(node.value, list | tuple) and node.value:
        written = " | ".join(item.filled("a command") for item in node.sequence())
    else:
        written = node.filled("a command, or a list of commands")
    return _shell(node, scope, written, written)


READERS: Final[Mapping[str, Callable[[Node, Scope, bool], Body]]] = {"fn": _function, "exec": _execute, "curl": _curl}


def _shell(node: Node, scope: Scope, written: str, script: str, *, runs: bool = True) -> Shell:
    """The script that stands for the text as written. *runs*: a shell will read it."""
    scope.inspect(node, written)
    if _is_wrong(node, scope, written):
        return Shell(written, "")
    prepared = prepare(
        script, provided=scope.provided, parent=scope.parent, params=scope.types, given=scope.given, runs=runs
    )
    for problem in prepared.problems:
        node.wrong(problem)
    for note in prepared.notes:
        scope.note(node, note)
    return Shell(written, prepared.template, prepared.references)


def _argv(node: Node, scope: Scope) -> Argv:
    items = node.sequence()
    written = tuple(item.literal() for item in items)
    if not written or not written[0]:
        node.wrong("expected a program, and then its arguments")
    templates = []
    for item, text in zip(items, written, strict=True):
        scope.inspect(item, text)
        if not _is_wrong(item, scope, text):
            template, names = argument(text)
            for name in (*(name for name in names if name not in scope.floor), *_hidden_in(text, scope)):
                item.wrong(f"`{name}` may not stand in an argument list; use env, and write `exec` as one text")
            templates.append(template)
    return Argv(written, tuple(templates))


def _hidden_in(text: str, scope: Scope) -> Iterator[str]:
    hidden = {param.name for param in scope.params if param.is_hidden}
    return (name for name in undefined_names(text) if name in hidden) if hidden and is_template(text) else iter(())


def _is_wrong(node: Node, scope: Scope, text: str) -> bool:
    listed = scope.listed and not scope.signature
    found = [*problems(text, tool=scope.tool, names=scope.types.keys() if listed else None)]
    for name in undefined_names(text) if not listed and not found and is_template(text) else ():
        if name == "mcc_env":
            found.append("`mcc_env` cannot be used by name; write $NAME")
        elif not scope.signature:
            scope.note(node, f"{WARNING}uses `{name}`, which is no parameter; declare it in `params`")
    for problem in found:
        node.wrong(problem)
    for doubt in doubts(text):
        scope.note(node, doubt)
    return bool(found)


def _is_address(text: str) -> bool:
    """A URL and nothing after it: no blank outside the tags of the template."""
    outside = "".join(part for is_tag, part in _parts(text) if not is_tag)
    return text.startswith(("http://", "https://")) and not re.search(r"\s", outside)


def _inside_quotes(text: str) -> str:
    """An address between double quotes: the shell leaves everything but references alone."""
    escape = re.compile(r'["`\\]|\$(?![A-Za-z_{$])')
    return "".join(part if is_tag else escape.sub(r"\\\g<0>", part) for is_tag, part in _parts(text))


def _parts(text: str) -> Iterator[tuple[bool, str]]:
    """The tags of a template and the texts between them, in order."""
    at = 0
    for span in spans(text):
        yield from ((False, text[at : span.start]), (True, text[span.start : span.end]))
        at = span.end
    yield False, text[at:]
