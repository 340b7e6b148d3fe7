"""What stands between a tool and a call: the reasons of SPEC 5.1, and notes that say what to do.

Everything is said at once, by name, and depends on names and value classes only (SPEC 11.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from . import advice, names
from .dotenv import Dotenv, Unreadable
from .resolution import Binding, Context, Reason, Source
from .tool import WARNING, Grant, Text, Tool
from .values import ValueClass

_ASKED = (Source.GRANT, Source.REFERENCE, Source.ENV_FILE, Source.ENV, Source.SECRET)
"""The sources that a tool asks of name by name."""

_MOST_NOTES = 8
"""So many names that a tool lacks are told one by one; the notice lists all of them."""


def may_call(groups: tuple[str, ...], caller: frozenset[str] | None) -> bool:
    """Access by group: none or ``public`` is everyone, ``admin`` may call all (SPEC 6.6)."""
    return caller is None or not groups or "public" in groups or "admin" in caller or bool(caller & set(groups))


def unresolved_names(tool: Tool, own: Iterable[Binding]) -> list[str]:
    """Names with a value like ``op://…``. *own* are the bindings of names that the tool asked for one by one."""
    return sorted(
        binding.name
        for binding in own
        if binding.value_class is ValueClass.UNRESOLVED
        and binding.provenance.source in _ASKED
        and not binding.provenance.rule.startswith("optional_env")
        and not (binding.name in tool.env and tool.env[binding.name].unresolved)
    )


def empty_files(tool: Tool, stack: Mapping[str, Binding]) -> list[Grant]:
    """Secret files that would hold nothing, because what they refer to is not set or empty (SPEC 8.7)."""
    found = []
    for name, text in tool.secret_files.items():
        binding = stack.get(name)
        if binding is None or binding.provenance.source is not Source.SECRET:
            continue
        told = any(grant.child == name for grant in tool.required_env)
        if binding.value_class in (ValueClass.ABSENT, ValueClass.EMPTY) and not told:
            found.append(Grant(name, ", ".join(referred(text))))
    return found


def referred(text: Text) -> tuple[str, ...]:
    """The names that *text* refers to: those that are not set, or else all of them."""
    return text.unresolved or tuple(dict.fromkeys(reference.name for reference in text.references))


def reasons(
    tool: Tool,
    missing: tuple[Grant, ...],
    unresolved: list[str],
    files: tuple[Dotenv | Unreadable, ...],
    groups: frozenset[str] | None,
) -> Iterator[Reason]:
    """All reasons at once (SPEC 5.1)."""
    if not may_call(tool.groups, groups):
        yield Reason("not granted", f"not granted: it is for {' or '.join(tool.groups)}")
    if missing:
        yield Reason("missing", f"missing required environment: {', '.join(map(str, missing))}")
    if unresolved:
        yield Reason("unresolved reference", f"unresolved reference in: {', '.join(unresolved)}")
    for content in files:
        if isinstance(content, Unreadable):
            yield Reason("env_file", content.text)


def notes(
    tool: Tool,
    missing: tuple[Grant, ...],
    unresolved: list[str],
    stack: Mapping[str, Binding],
    parent: Mapping[str, str],
    context: Context,
    *,
    kernel: bool,
) -> Iterator[str]:
    """What the author should know and do, a line each."""
    yield from _lack_notes(tool, missing, unresolved, stack, parent, kernel)
    yield from _parent_notes(tool, parent)
    yield from _context_notes(context)


def _lack_notes(
    tool: Tool,
    missing: tuple[Grant, ...],
    unresolved: list[str],
    stack: Mapping[str, Binding],
    parent: Mapping[str, str],
    kernel: bool,
) -> Iterator[str]:
    for grant in missing[:_MOST_NOTES]:
        binding = stack.get(grant.child)
        source = None if binding is None else binding.provenance.source
        refers: tuple[str, ...] = ()
        if source is Source.ENV:
            refers = tool.env[grant.child].unresolved
        elif source is Source.SECRET:
            refers = referred(tool.secret_files[grant.child])
        empty_in = source.value if source in (Source.ENV, Source.ENV_FILE) else ""
        yield advice.missing(grant, parent, refers=refers, empty_in=empty_in, kernel=kernel)
    for name in unresolved[:_MOST_NOTES]:
        yield advice.unresolved(name, stands_in=_field_of(tool, stack[name]), kernel=kernel)


def _field_of(tool: Tool, binding: Binding) -> str:
    """The field whose own text gives this value, empty where it came from the parent."""
    source = binding.provenance.source
    if source is Source.ENV_FILE:
        return "env_file"
    text = {Source.ENV: tool.env, Source.SECRET: tool.secret_files}.get(source, {}).get(binding.name)
    return "" if text is None or text.references else binding.provenance.rule if source is Source.SECRET else "env"


def _parent_notes(tool: Tool, parent: Mapping[str, str]) -> Iterator[str]:
    if tool.passthrough is True:
        yield (
            f"{WARNING}env_passthrough: true copies the whole environment of the parent; "
            "list the names the tool needs instead"
        )
        return
    for pattern in tool.passthrough:
        if _matches_any(pattern, parent):
            continue
        if names.has_wildcard(pattern):
            yield f"env_passthrough: the pattern {pattern} matches no variable"
        else:
            yield f"env_passthrough: the name {pattern} matches no variable{advice.nearest(pattern, parent)}"


class _Matches:
    """Whether a pattern matches anything in the last parent seen, so that an unchanged parent is not scanned again."""

    def __init__(self) -> None:
        self._last: tuple[Mapping[str, str], dict[str, bool]] = {}, {}

    def __call__(self, pattern: str, parent: Mapping[str, str]) -> bool:
        if not names.has_wildcard(pattern):
            return pattern in parent
        last = self._last
        if parent is not last[0]:
            # One assignment, so that no thread writes another parent's answers.
            self._last = last = parent, {}
        known = last[1]
        if pattern not in known:
            known[pattern] = any(map(names.any_of((pattern,)).match, parent))
        return known[pattern]


_matches_any = _Matches()


def _context_notes(context: Context) -> Iterator[str]:
    if context.oversized:
        listed = ", ".join(context.oversized)
        yield f"too large for an environment variable, or not fit to be one; in MCC_SESSION_FILE instead: {listed}"
