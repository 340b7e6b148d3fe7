"""What stands between a tool and a call: the reasons of SPEC 5.1, and notes that say what to do.

Everything is said at once, by name, and depends on names and value classes only (SPEC 11.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from . import advice, names
from .cap import Cap
from .dotenv import Dotenv, Unreadable
from .resolution import Binding, Context, Provenance, Reason, Source
from .tool import WARNING, Grant, Text, Tool, command_references
from .values import ValueClass, classify

_ASKED = (Source.GRANT, Source.REFERENCE, Source.ENV_FILE, Source.ENV, Source.SECRET)
"""The sources that a tool asks of name by name."""

_MOST_NOTES = 8
"""So many names that a tool lacks are told one by one; the notice lists all of them."""


def may_call(groups: tuple[str, ...], caller: frozenset[str] | None) -> bool:
    """Access by group: none or ``public`` is everyone, ``admin`` may call all (SPEC 6.6)."""
    return caller is None or not groups or "public" in groups or "admin" in caller or bool(caller & set(groups))


class Withheld:
    """Which parent names a policy file does not let a tool have, although it asks for them (SPEC 9.3)."""

    def __init__(self, tool: Tool, floor: tuple[str, ...], cap: Cap | None) -> None:
        self._tool = tool
        self._floor = floor
        self._cap = cap
        self._allowed = None if cap is None else cap.test()

    def __call__(self, name: str) -> bool:
        return self._allowed is not None and name not in self._floor and not self._allowed(name)

    def refusal(self, name: str) -> str | None:
        """What to do where *name* is withheld; None for one that is not."""
        return self._cap.refusal(name) if self._cap is not None and self(name) else None

    def asked(
        self, forbidden: list[Grant], unset: list[Grant], parent: Mapping[str, str]
    ) -> dict[str, Provenance]:
        """Each variable that stays out because of it, and the rule that asked for it by name."""
        found = {}
        for name in self._passed_by_name():
            if name in parent:
                found[name] = Provenance(Source.PASSTHROUGH, name)
        for field_name, grants in (("required_env", forbidden), ("optional_env", unset)):
            for grant in filter(lambda grant: self(grant.parent), grants):
                rule = field_name if grant.child == grant.parent else f"{field_name} (from {grant.parent})"
                found[grant.child] = Provenance(Source.GRANT, rule)
        for name in self._references():
            found.setdefault(name, Provenance(Source.REFERENCE, f"${{{name}}}"))
        return found

    def reasons(self, forbidden: list[Grant]) -> Iterator[Reason]:
        """A name that is optional, or that only a pattern asks for, stands in no tool's way."""
        asked = dict.fromkeys((*map(str, forbidden), *self._references()))
        if asked and self._cap is not None:
            yield Reason("not granted", f"not granted by {self._cap.label}: {', '.join(asked)}")

    def notes(self, parent: Mapping[str, str]) -> Iterator[str]:
        if self._cap is None:
            return
        grants = (*self._tool.required_env, *self._tool.optional_env)
        named = [*filter(self, (grant.parent for grant in grants)), *self._references(), *self._passed_by_name()]
        for name in list(dict.fromkeys(named))[:_MOST_NOTES]:
            yield f"{name}: {self._cap.refusal(name)}"
        patterns = ("*",) if self._tool.passthrough is True else self._tool.passthrough
        if any(map(names.has_wildcard, patterns)):
            wanted = names.any_of(patterns)
            kept_out = sorted(name for name in filter(self, parent) if wanted.match(name) and name not in named)
            if kept_out:
                more = f" and {len(kept_out) - _MOST_NOTES} more" if len(kept_out) > _MOST_NOTES else ""
                listed = ", ".join(kept_out[:_MOST_NOTES])
                yield f"env_passthrough: {self._cap.label} does not grant {listed}{more}"

    def _passed_by_name(self) -> list[str]:
        passthrough = () if self._tool.passthrough is True else self._tool.passthrough
        return [name for name in passthrough if not names.has_wildcard(name) and self(name)]

    def _references(self) -> list[str]:
        used = (*self._tool.references, *command_references(self._tool))
        named = (*(reference.name for reference in used), *self._tool.unresolved)
        return [name for name in dict.fromkeys(named) if self(name)]


def unresolved_names(tool: Tool, own: Iterable[Binding]) -> list[str]:
    """Names with a value like ``op://…``. *own* are the bindings of names that the tool asked for one by one."""
    return sorted(
        binding.name
        for binding in own
        if binding.value_class is ValueClass.UNRESOLVED
        and insists(tool, binding)
        and not _stays_literal(tool, binding)
    )


def insists(tool: Tool, binding: Binding) -> bool:
    """Whether the tool asked for this variable by name, and cannot do without it."""
    rule = binding.provenance.rule.removeprefix(f"{tool.origin.label}: ")
    return binding.provenance.source in _ASKED and not (
        binding.provenance.source is Source.GRANT and rule.startswith("optional_env")
    )


def _stays_literal(tool: Tool, binding: Binding) -> bool:
    """A name that is not set stays as written, which is text and no reference to a secret (SPEC 3.2)."""
    text = tool.env.get(binding.name) if binding.provenance.source is Source.ENV else None
    return text is not None and bool(text.unresolved) and text.value_class is not ValueClass.UNRESOLVED


def unresolved_references(tool: Tool, told: list[str]) -> list[str]:
    """Names that other fields refer to, an override say, and that hold a value like ``op://…``."""
    carried = {
        reference.name
        for texts in (tool.env, tool.secret_files)
        for name in told
        if name in texts
        for reference in texts[name].references
    }
    found = {reference.name for reference in tool.references if classify(reference.value) is ValueClass.UNRESOLVED}
    return sorted(found - carried - set(told))


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
    withheld: Withheld,
    *,
    kernel: bool,
) -> Iterator[str]:
    """What the author should know and do, a line each."""
    yield from withheld.notes(parent)
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
        at_start = tool.origin.kind == "policy"
        yield advice.missing(grant, parent, refers=refers, empty_in=empty_in, at_start=at_start, kernel=kernel)
    for name in unresolved[:_MOST_NOTES]:
        yield advice.unresolved(name, stands_in=_field_of(tool, stack.get(name)), kernel=kernel)


def _field_of(tool: Tool, binding: Binding | None) -> str:
    """The field whose own text gives this value, empty where it came from the parent."""
    if binding is None:  # it was withdrawn, and a field's own text is not
        return ""
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
