"""A ``Resolution`` → what may be shown of it: ``Report`` for one tool, ``Matrix`` for many (SPEC 11.1, 11.2).

1. No field of these types can hold a value, its length or a hash of it: names, sources, rules, states, flags.
2. Rows are ordered by source, then name; what is shown depends on names and value classes only.
3. Everything here is one printable line each, so that a hostile name cannot steer a terminal or break a notebook file.

``json()`` is complete; ``render`` shortens text and HTML. The JSON's schema is ``docs/report-v1.schema.json``.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from .context import encode
from .displayed import bundle
from .resolution import Binding, Resolution, Source
from .tool import MISSING, Param, Tool
from .values import ValueClass

MIME = "application/vnd.mcc.report.v1+json"

MATRIX_TOOLS = 100
MATRIX_NAMES = 20
MATRIX_NOTICES = 20
MATRIX_NOTICE = 200
"""A matrix shows so many tools, names, notices and characters of one, so that a cell of 10,000 tools stays small."""


class State(StrEnum):
    """The one state of a name (SPEC 11.1)."""

    SET = "set"
    MISSING = "missing"
    UNSET = "unset"
    UNRESOLVED = "unresolved"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Shadow:
    """What a row's variable would have come from, had the row's own source not stood over it."""

    source: str
    rule: str


@dataclass(frozen=True, slots=True)
class Row:
    """One name; a grant that found nothing is named ``CHILD (from PARENT)`` (SPEC 4.5)."""

    name: str
    source: str
    rule: str
    state: State
    flags: tuple[str, ...] = ()
    shadows: tuple[Shadow, ...] = ()

    @property
    def variable(self) -> str:
        """The name in the tool's environment."""
        return self.name.partition(" (from ")[0]

    def json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "source": self.source,
            "rule": self.rule,
            "state": str(self.state),
            "flags": list(self.flags),
            "shadows": [{"source": shadow.source, "rule": shadow.rule} for shadow in self.shadows],
        }


def _mimebundle(
    self: Report | Matrix, include: Collection[str] | None = None, exclude: Collection[str] | None = None
) -> dict[str, object]:
    """What a notebook asks of an object that it displays."""
    return bundle({"text/plain": self.text, "text/html": self.html, MIME: self.json}, include, exclude)


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """The value-free view of one tool's environment. ``withheld`` and ``programs`` are there with ``--all`` only."""

    tool: str
    key: str
    kind: str
    description: str
    groups: tuple[str, ...]
    available: bool
    notice: str | None
    rows: tuple[Row, ...]
    parameters: tuple[str, ...] = ()
    """What a caller may give: ``days: int = 3``. Overrides are left out, a default from a reference is not told."""
    notes: tuple[str, ...] = ()
    footer: tuple[str, ...] = ()
    withheld: tuple[str, ...] | None = None
    programs: tuple[tuple[str, str | None], ...] | None = None
    brief: bool = False
    """Whether text and HTML tell what every tool gets alike in a line each: the form a declaration shows."""
    version: int = field(default=1, init=False)

    # Not from a base class: %autoreload can give a living object its new class only where the base is ``object``.
    _repr_mimebundle_ = _mimebundle

    def __repr__(self) -> str:
        state = "available" if self.available else "unavailable"
        return f"<Report {self.tool}: {state}, {_count(len(self.rows), 'name')}>"

    def text(self) -> str:
        """Aligned plain text, without a newline at its end."""
        from . import render

        return render.report_text(self)

    def html(self) -> str:
        """A table without script, style sheet, id or address."""
        from . import render

        return render.report_html(self)

    def json(self) -> dict[str, object]:
        """The report as version 1 of its JSON form; complete, whatever text and HTML leave out."""
        document: dict[str, object] = {
            "schema": "mcc.report",
            "version": self.version,
            "tool": self.tool,
            "key": self.key,
            "kind": self.kind,
            "description": self.description,
            "groups": list(self.groups),
            "available": self.available,
            "notice": self.notice,
            "parameters": list(self.parameters),
            "rows": [row.json() for row in self.rows],
            "notes": list(self.notes),
        }
        if self.withheld is not None:
            document["withheld"] = list(self.withheld)
        if self.programs is not None:
            document["programs"] = dict(self.programs)
        document["footer"] = list(self.footer)
        return document


def report(
    tool: Tool,
    resolution: Resolution,
    *,
    footer: Iterable[str] = (),
    withheld: Iterable[str] | None = None,
    programs: Mapping[str, str | None] | None = None,
) -> Report:
    """What may be shown of *resolution*, which is that of *tool*.

    *footer* are the lines of SPEC 11.5. *withheld* (parent names that the tool does not get) and *programs* (a path for
    each, None where the tool's PATH has none) belong to ``--all``: leave them out otherwise.
    """
    off = [reason.text for reason in resolution.reasons if resolution.silent]
    return Report(
        tool=printable(tool.name),
        key=printable(tool.key),
        kind=tool.kind,
        description="\n".join(map(_prose, tool.description.splitlines())),
        groups=tuple(map(printable, tool.groups)),
        available=resolution.available,
        notice=None if resolution.notice is None or resolution.silent else printable(resolution.notice),
        rows=tuple(sorted(_rows(tool, resolution), key=_order)),
        parameters=tuple(printable(_parameter(param)) for param in tool.params if param.override is MISSING),
        notes=tuple(dict.fromkeys(map(printable, (*off, *tool.notes, *resolution.notes)))),
        footer=tuple(map(printable, footer)),
        withheld=None if withheld is None else tuple(map(printable, withheld)),
        programs=None
        if programs is None
        else tuple((printable(name), None if path is None else printable(path)) for name, path in programs.items()),
    )


def _parameter(param: Param) -> str:
    kind = "|".join(map(encode, param.enum)) if param.enum is not None else param.type
    if param.default is MISSING or param.default_hidden:
        return f"{param.name}: {kind}" if param.required else f"{param.name}: {kind}, optional"
    return f"{param.name}: {kind} = {encode(param.default)}"


_SOURCES = {str(source): place for place, source in enumerate(Source)}
_STATES = {state: place for place, state in enumerate(State)}


def _order(row: Row) -> tuple[int, str, int]:
    return _SOURCES[row.source], row.name, _STATES[row.state]


def _rows(tool: Tool, resolution: Resolution) -> Iterator[Row]:
    missing = {grant.child: str(grant) for grant in resolution.missing}
    for binding in (*resolution.bindings.values(), *resolution.withdrawn.values()):
        yield _bound(binding, missing)
    for required in resolution.missing:
        if required.child not in resolution.bindings:
            yield Row(str(required), Source.GRANT.value, "required_env", State.MISSING)
    for optional in resolution.unset:
        yield Row(str(optional), Source.GRANT.value, "optional_env", State.UNSET)
    for name, provenance in resolution.refused.items():
        yield Row(printable(name), provenance.source.value, printable(provenance.rule), State.REFUSED)
    told = {
        name
        for source, texts in ((Source.ENV, tool.env), (Source.SECRET, tool.secret_files))
        for variable, text in texts.items()
        if variable in resolution.bindings and resolution.bindings[variable].provenance.source is source
        for name in text.unresolved
    }
    told |= {name for name, why in resolution.refused.items() if why.source is Source.REFERENCE}
    for name in tool.unresolved:
        if name not in told:
            yield Row(name, Source.REFERENCE.value, f"${{{name}}}", State.UNRESOLVED)


def _bound(binding: Binding, missing: Mapping[str, str]) -> Row:
    name, state = printable(binding.name), State.SET
    if binding.value_class is ValueClass.UNRESOLVED:
        state = State.UNRESOLVED
    elif binding.name in missing:
        name, state = missing[binding.name], State.MISSING
    return Row(
        name=name,
        source=binding.provenance.source.value,
        rule=printable(binding.provenance.rule),
        state=state,
        flags=binding.flags,
        shadows=tuple(Shadow(shadow.source.value, printable(shadow.rule)) for shadow in binding.shadows),
    )


def printable(text: str) -> str:
    """*text* with every character escaped that is not to be printed: controls, direction marks, broken UTF-8."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _prose(line: str) -> str:
    """The same for a person's own words, where wide spaces and joiners are no trick."""
    return "".join(c if c in "\u200c\u200d" or unicodedata.category(c) == "Zs" else printable(c) for c in line)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


# ---- many tools


MARKS: Mapping[str, str] = {
    Source.FLOOR.value: "F",
    Source.PASSTHROUGH.value: "P",
    Source.GRANT.value: "G",
    Source.REFERENCE.value: "R",
    Source.ENV_FILE.value: "D",
    Source.ENV.value: "E",
    Source.SECRET.value: "K",
    Source.RUNTIME.value: "U",
    Source.SESSION.value: "S",
    State.MISSING.value: "!",
    State.UNRESOLVED.value: "?",
    State.UNSET.value: "-",
    State.REFUSED.value: "x",
}
"""One mark for each source of a name that is set, and for each other state."""

BLANK = "."
"""The mark of a name that a tool has nothing to do with."""

_URGENT = (State.MISSING, State.UNRESOLVED, State.SET, State.UNSET, State.REFUSED)
_COMMON = (Source.FLOOR.value, Source.SESSION.value)


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One tool; ``marks`` holds one character for each of the matrix' names."""

    tool: str
    available: bool
    marks: str


@dataclass(frozen=True, slots=True, repr=False)
class Matrix:
    """Tools × names (SPEC 11.1). Floor and session are told once, in ``common``, and have no column."""

    names: tuple[str, ...]
    rows: tuple[MatrixRow, ...]
    legend: tuple[tuple[str, str], ...]
    common: tuple[tuple[str, tuple[str, ...]], ...] = ()
    notices: tuple[str, ...] = ()
    more_tools: int = 0
    more_names: int = 0
    more_notices: int = 0
    footer: tuple[str, ...] = ()
    version: int = field(default=1, init=False)

    _repr_mimebundle_ = _mimebundle

    def __repr__(self) -> str:
        tools, names = len(self.rows) + self.more_tools, len(self.names) + self.more_names
        return f"<Matrix: {_count(tools, 'tool')}, {_count(names, 'name')}>"

    def text(self) -> str:
        """A table of marks under stepped headings, without a newline at its end."""
        from . import render

        return render.matrix_text(self)

    def html(self) -> str:
        """A table without script, style sheet, id or address."""
        from . import render

        return render.matrix_html(self)

    def json(self) -> dict[str, object]:
        """The matrix as version 1 of its JSON form; bounded, as text and HTML are."""
        return {
            "schema": "mcc.matrix",
            "version": self.version,
            "names": list(self.names),
            "rows": [{"tool": row.tool, "available": row.available, "marks": row.marks} for row in self.rows],
            "legend": dict(self.legend),
            "common": {source: list(names) for source, names in self.common},
            "notices": list(self.notices),
            "more_tools": self.more_tools,
            "more_names": self.more_names,
            "more_notices": self.more_notices,
            "footer": list(self.footer),
        }


def matrix(reports: Iterable[Report], *, more: int = 0, footer: Iterable[str] = ()) -> Matrix:
    """The reports side by side, in the order given; *more* counts tools that the caller did not report on.

    A name that comes only from the floor, or only from the session, has no column. Of the other names the most used
    have one.
    """
    given = list(reports)
    kept = given[:MATRIX_TOOLS]
    sources: dict[str, set[str]] = {}
    used: Counter[str] = Counter()
    for one in kept:
        used.update({row.variable for row in one.rows})
        for row in one.rows:
            sources.setdefault(row.variable, set()).add(row.source if row.state is State.SET else str(row.state))
    common = {source: sorted(name for name, found in sources.items() if found == {source}) for source in _COMMON}
    told = {name for names in common.values() for name in names}
    ranked = sorted((name for name in sources if name not in told), key=lambda name: (-used[name], name))
    names = tuple(sorted(ranked[:MATRIX_NAMES]))
    rows = tuple(_matrix_row(one, names) for one in kept)
    seen = set("".join(row.marks for row in rows))
    notices = [one.notice for one in kept if one.notice is not None]
    return Matrix(
        names=names,
        rows=rows,
        legend=tuple((mark, meaning) for meaning, mark in MARKS.items() if mark in seen),
        common=tuple((source, tuple(found[:MATRIX_NAMES])) for source, found in common.items() if found),
        notices=tuple(map(_cut, notices[:MATRIX_NOTICES])),
        more_tools=more + len(given) - len(kept),
        more_names=len(ranked) - len(names),
        more_notices=max(0, len(notices) - MATRIX_NOTICES),
        footer=tuple(map(printable, footer)),
    )


def _matrix_row(one: Report, names: tuple[str, ...]) -> MatrixRow:
    by_name: dict[str, Row] = {}
    for row in sorted(one.rows, key=lambda row: _URGENT.index(row.state)):
        by_name.setdefault(row.variable, row)
    marks = "".join(_mark(by_name[name]) if name in by_name else BLANK for name in names)
    label = one.tool if one.key == f"public.{one.tool}" else one.key
    return MatrixRow(label, one.available, marks)


def _cut(notice: str) -> str:
    return notice if len(notice) <= MATRIX_NOTICE else notice[:MATRIX_NOTICE].rstrip() + "…"


def _mark(row: Row) -> str:
    return MARKS[row.source if row.state is State.SET else row.state]
