"""A small table for people: the declared tools, the session's entries. It holds names and texts, never a value."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from html import escape

from .displayed import bundle

SHOWN = 100
"""Rows that are shown; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Columns and rows of text. ``empty`` is said when there is no row."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    empty: str = "nothing"

    def text(self) -> str:
        """Aligned lines under upper-case headings."""
        if not self.rows:
            return self.empty
        cells = [tuple(column.upper() for column in self.columns), *self.rows[:SHOWN]]
        widths = [max(len(line[at]) for line in cells) for at in range(len(self.columns))]
        padded = [[f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)] for line in cells]
        return "\n".join([*("  ".join(line).rstrip() for line in padded), *self._more()])

    def html(self) -> str:
        """One table with inline styles, as the reports have them."""
        if not self.rows:
            return f"<p>{escape(self.empty)}</p>"
        left = ' style="text-align:left"'
        heads = "".join(f'<th scope="col"{left}>{escape(column)}</th>' for column in self.columns)
        body = "".join(
            f'<tr><th scope="row"{left}>{escape(first)}</th>'
            + "".join(f"<td{left}>{escape(cell)}</td>" for cell in rest)
            + "</tr>"
            for first, *rest in self.rows[:SHOWN]
        )
        more = "".join(f"<p>{line}</p>" for line in self._more())
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{more}"
        return f'<div style="overflow-x:auto">{table}</div>'

    def json(self) -> list[dict[str, str]]:
        """One object a row, all of them."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def __repr__(self) -> str:
        return self.text()

    def _more(self) -> list[str]:
        left = len(self.rows) - SHOWN
        return [f"… and {left:,} more"] if left > 0 else []

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, object]:
        return bundle({"text/plain": self.text, "text/html": self.html}, include, exclude)
