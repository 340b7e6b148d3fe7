"""``Report`` and ``Matrix`` → plain text and HTML (SPEC 11.1).

1. Text reads well in a terminal; HTML is one table with a caption and inline styles:
   no script, style sheet, id or address.
2. Colour never says a thing alone. Text keeps the colour of the theme; only its ground is tinted, so that light and
   dark themes both keep their contrast.
3. What is shown is bounded: beyond ``ROWS`` names there is a count. ``Report.json`` stays complete.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from .report import BLANK, MARKS, Matrix, Report, Row, State
from .tool import WARNING

ROWS = 100
"""So many names are shown; what needs attention comes before what a pattern let in."""

WIDTH = 100
"""Columns of running text."""

_CELL = 44
"""A longer cell does not widen its column."""


# ---- text


def report_text(report: Report) -> str:
    """The report as aligned lines."""
    (rows, more), common = visible(_listed_rows(report)), _common(report)
    head = [report.tool, report.kind, "available" if report.available else "unavailable"]
    if report.groups not in ((), ("public",)):
        head.append(f"groups: {', '.join(report.groups)}")
    blocks = ["\n".join(("  ".join(head), *_lead(report)))]
    if rows or not common:
        blocks.append("\n".join(_table(rows, more)))
    if common:
        blocks.append("\n".join(f"  {_wrapped(f'{source}: ', ' '.join(names))}" for source, names in common))
    if report.withheld is not None:
        blocks.append(_listed("withheld", report.withheld))
    if report.programs is not None:
        blocks.append(_listed("programs", [f"{name} = {path or 'not found'}" for name, path in report.programs]))
    return "\n\n".join((*blocks, *end(report.notes, report.footer)))


def matrix_text(matrix: Matrix) -> str:
    """The matrix under stepped headings: each name stands over a line that leads down to its column."""
    if not matrix.rows:
        return "\n\n".join(("no tools", *end((), matrix.footer)))
    width = max(len(row.tool) for row in matrix.rows)
    lines = [f"{'':{width}}  {'│ ' * place}┌ {name}" for place, name in enumerate(matrix.names)]
    for row in matrix.rows:
        state = "available" if row.available else "unavailable"
        lines.append(f"{row.tool:{width}}  {' '.join((*row.marks, ' ' + state) if row.marks else (state,))}")
    lines.extend(_more(matrix.more_tools, "tool"))
    legend = "   ".join(f"{mark} {meaning}" for mark, meaning in matrix.legend)
    blocks = ["\n".join(lines), *([legend] if legend else [])]
    blocks.append("\n".join(_wrapped(f"{source}: ", " ".join(names)) for source, names in matrix.common))
    blocks.append("\n".join(_more(matrix.more_names, "name")))
    blocks.append("\n".join((*matrix.notices, *_more(matrix.more_notices, "notice"))))
    return "\n\n".join((*filter(None, blocks), *end((), matrix.footer)))


def visible(rows: Sequence[Row]) -> tuple[Sequence[Row], int]:
    """The rows to show, in their order, and how many are left out."""
    if len(rows) <= ROWS:
        return rows, 0
    kept = sorted(range(len(rows)), key=lambda place: _weight(rows[place]))[:ROWS]
    return [rows[place] for place in sorted(kept)], len(rows) - ROWS


_EVERYWHERE = ("floor", "session")


def _is_common(row: Row) -> bool:
    """What every tool has alike, and nothing is to be said of."""
    return row.source in _EVERYWHERE and row.state is State.SET and not row.flags and not row.shadows


def _listed_rows(report: Report) -> Sequence[Row]:
    return [row for row in report.rows if not (report.brief and _is_common(row))]


def _common(report: Report) -> Sequence[tuple[str, list[str]]]:
    """In a brief report: the names of the floor and of the session, a line each."""
    if not report.brief:
        return ()
    common = [row for row in report.rows if _is_common(row)]
    found = [(source, [row.name for row in common if row.source == source]) for source in _EVERYWHERE]
    return [(source, names) for source, names in found if names]


def _weight(row: Row) -> int:
    if row.state is not State.SET:
        return 0
    return 1 if row.source != "passthrough" or row.flags or row.shadows else 2


def _lead(report: Report) -> Iterator[str]:
    if report.notice is not None:
        yield report.notice
    if report.description:
        yield report.description.partition("\n")[0]
    if report.parameters:
        yield _wrapped("parameters: ", "; ".join(report.parameters))


def _table(rows: Sequence[Row], more: int) -> Iterator[str]:
    if not rows:
        yield "  no variables"
        return
    cells = [("NAME", "SOURCE", "RULE", "STATE", "REMARKS" if any(map(_remarks, rows)) else "")]
    cells.extend((row.name, row.source, row.rule, str(row.state), _remarks(row)) for row in rows)
    widths = [
        max(len(line[column]) for line in cells if len(line[column]) <= _CELL or column == 0) for column in range(5)
    ]
    for line in cells:
        yield "  " + "  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)).rstrip()
    for rest in _more(more, "name"):
        yield f"  {rest}, all in .json()"


def _remarks(row: Row) -> str:
    shadows = ", ".join(shadow.source for shadow in row.shadows)
    return "; ".join((*row.flags, *([f"shadows {shadows}"] if shadows else [])))


def _more(number: int, noun: str) -> Iterator[str]:
    if number:
        yield f"… and {number:,} more {noun}{'' if number == 1 else 's'}"


def _listed(title: str, items: Sequence[str]) -> str:
    shown = ", ".join((*items[:ROWS], *_more(len(items) - ROWS if len(items) > ROWS else 0, "name")))
    return _wrapped(f"{title}: ", shown or "none")


def _wrapped(title: str, text: str) -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=title,
        subsequent_indent=" " * len(title),
        break_long_words=False,
        break_on_hyphens=False,
    )


def end(notes: Iterable[str], footer: Iterable[str]) -> Iterator[str]:
    listed = "\n".join(f"- {note}" for note in notes)
    if listed:
        yield listed
    closing = "\n".join(footer)
    if closing:
        yield closing


# ---- HTML

_RED, _AMBER, _GREEN, _GREY = "218,54,51,.22", "210,153,34,.26", "46,160,67,.22", "128,128,128,.22"
_STATES = {State.MISSING: ("✗", _RED), State.UNRESOLVED: ("?", _AMBER), State.REFUSED: ("⊘", _GREY)}
_ALARMS = {MARKS[State.MISSING]: _RED, MARKS[State.UNRESOLVED]: _AMBER}
_WARNINGS = ("risky", "credential-like")
_DIM = "opacity:.7"
_LEFT = ' style="text-align:left;padding:.2em .6em"'
_BOTTOM = "text-align:left;vertical-align:bottom;padding:.4em .6em"
_MARGIN = "margin:.4em .5em"
_RULE = "1px solid rgba(128,128,128,.35)"
_TABLE = "border-collapse:collapse;table-layout:auto;margin:0;font-family:ui-monospace,Menlo,Consolas,monospace"
_CAPTION = f"caption-side:top;text-align:left;padding:.2em .6em;color:inherit;white-space:nowrap;{_DIM}"


def report_html(report: Report) -> str:
    """The report as an HTML fragment."""
    (rows, more), common = visible(_listed_rows(report)), _common(report)
    state = _pill("✓ available", _GREEN) if report.available else _pill("✗ unavailable", _RED)
    head = [f"<strong>{escape(report.tool)}</strong>", _dim(report.kind), state]
    if report.groups not in ((), ("public",)):
        head.append(_dim(f"groups: {', '.join(report.groups)}"))
    parts = [f'<p style="{_MARGIN}">{"&ensp;".join(head)}</p>', *map(paragraph, _lead(report))]
    if rows or not common:
        caption = f'<caption style="{_CAPTION}">environment of {escape(report.tool)}</caption>'
        parts.extend((f'<table style="{_TABLE}">{caption}', *_body(rows), "</table>"))
    parts.extend(paragraph(f"{source}: {' '.join(names)}") for source, names in common)
    parts.extend(paragraph(f"{line}, all in .json()") for line in _more(more, "name"))
    if report.withheld is not None:
        parts.append(paragraph(_listed("withheld", report.withheld)))
    if report.programs is not None:
        parts.append(
            paragraph(_listed("programs", [f"{name} = {path or 'not found'}" for name, path in report.programs]))
        )
    return fragment((*parts, *bullets(report.notes), *small(report.footer)))


def matrix_html(matrix: Matrix) -> str:
    """The matrix as an HTML fragment."""
    if not matrix.rows:
        return fragment((paragraph("no tools"), *small(matrix.footer)))
    upright = 'style="writing-mode:vertical-rl;transform:rotate(180deg);font-weight:normal"'
    column = 'th scope="col" style="vertical-align:bottom;padding:.4em .3em"'
    heads = "".join(f"<{column}><span {upright}>{escape(name)}</span></th>" for name in matrix.names)
    parts = [
        f'<table style="{_TABLE}"><caption style="{_CAPTION}">tools and the names they get</caption>',
        f'<thead><tr style="border-bottom:{_RULE}"><th scope="col" style="{_BOTTOM}">tool</th>',
        f'{heads}<th scope="col" style="{_BOTTOM}">state</th></tr></thead>\n<tbody>',
    ]
    for row in matrix.rows:
        state = "available" if row.available else "✗ unavailable"
        ground = "" if row.available else f";background:rgba({_RED})"
        head = f'<th scope="row" style="text-align:left">{escape(row.tool)}</th>'
        parts.append(f'<tr>{head}{"".join(map(_mark, row.marks))}<td style="text-align:left{ground}">{state}</tr>')
    parts.append("</tbody></table>")
    parts.extend(map(paragraph, _more(matrix.more_tools, "tool")))
    legend = "&emsp;".join(f"<strong>{escape(mark)}</strong> {escape(meaning)}" for mark, meaning in matrix.legend)
    if legend:
        parts.append(f'<p style="{_MARGIN}">{legend}</p>')
    parts.extend(paragraph(f"{source}: {' '.join(names)}") for source, names in matrix.common)
    parts.extend(map(paragraph, _more(matrix.more_names, "name")))
    parts.extend(bullets((*matrix.notices, *_more(matrix.more_notices, "notice"))))
    return fragment((*parts, *small(matrix.footer)))


def _body(rows: Sequence[Row]) -> Iterator[str]:
    if not rows:
        yield f"<tbody><tr><td{_LEFT}>no variables</td></tr></tbody>"
        return
    titles = ["name", "source", "rule", "state", *(["remarks"] if any(map(_remarks, rows)) else [])]
    heads = "".join(f'<th scope="col"{_LEFT}>{title}</th>' for title in titles)
    yield f'<thead><tr style="border-bottom:{_RULE}">{heads}</tr></thead>\n<tbody>'
    for row in rows:
        cells = [escape(row.source), escape(row.rule), _state(row.state)]
        if len(titles) > len(cells) + 1:
            cells.append(_html_remarks(row))
        name = f'<th scope="row"{_LEFT}>{escape(row.name)}</th>'
        quiet = f' style="{_DIM}"' if row.source == "floor" and row.state is State.SET else ""
        yield f"<tr{quiet}>{name}{''.join(f'<td{_LEFT}>{cell}</td>' for cell in cells)}</tr>"
    yield "</tbody>"


def _state(state: State) -> str:
    if state in _STATES:
        mark, ground = _STATES[state]
        return _pill(f"{mark} {state}", ground)
    return str(state) if state is State.SET else _dim(state)


def _html_remarks(row: Row) -> str:
    remarks = [_pill(f"⚠ {flag}", _AMBER) if flag in _WARNINGS else escape(flag) for flag in row.flags]
    if row.shadows:
        rules = ", ".join(f"{shadow.source}: {shadow.rule}" for shadow in row.shadows)
        sources = ", ".join(shadow.source for shadow in row.shadows)
        remarks.append(f'<span style="{_DIM}" title="{escape(rules)}">shadows {escape(sources)}</span>')
    return "; ".join(remarks)


def _mark(mark: str) -> str:
    """One cell, without the closing tag that HTML does not need: there are up to 2,000 of them."""
    if mark in _ALARMS:
        return f'<td style="background:rgba({_ALARMS[mark]})">{mark}'
    return "<td>" if mark == BLANK else f"<td>{mark}"


def _pill(text: str, ground: str) -> str:
    style = f"background:rgba({ground});border-radius:3px;padding:.05em .45em;white-space:nowrap"
    return f'<span style="{style}">{escape(text)}</span>'


def _dim(text: str) -> str:
    return f'<span style="{_DIM}">{escape(text)}</span>'


def paragraph(text: str) -> str:
    return f'<p style="{_MARGIN}">{escape(text)}</p>'


def bullets(items: Iterable[str]) -> Iterator[str]:
    listed = "".join(f"<li>{_note(item)}</li>" for item in items)
    if listed:
        yield f'<ul style="margin:.4em 0;padding-left:1.8em">{listed}</ul>'


def _note(text: str) -> str:
    """One note; a warning has a mark and a ground, as a warned-of name has."""
    told = _QUOTED.sub(r"<code>\1</code>", escape(text.removeprefix(WARNING)))
    return f"{_pill('⚠ warning', _AMBER)} {told}" if text.startswith(WARNING) else told


_QUOTED = re.compile("`([^`]+)`")


def small(lines: Iterable[str]) -> Iterator[str]:
    closing = "<br>".join(map(escape, lines))
    if closing:
        yield f'<p style="margin:.6em .5em 0;font-size:90%;{_DIM}">{closing}</p>'


def fragment(parts: Iterable[str]) -> str:
    return f'<div style="overflow-x:auto">{"".join(parts)}</div>'
