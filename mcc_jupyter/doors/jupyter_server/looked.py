"""What the save guard found in a notebook → what a person, a front end and an event are told of it (SPEC 8.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core.saved import Checked
from ...core.scan import Finding

_SHOWN = 5
"""Findings in a line of the log."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found in a notebook at its last save. ``outcome``: clean, told, redacted, refused or failed."""

    path: str
    mode: str
    outcome: str
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    cell_ids: Mapping[int, str] = field(default_factory=dict)
    """By the number of a cell, counted from one; not every notebook has ids."""

    def json(self) -> dict[str, Any]:
        """For a front end, and for an event."""
        findings = [{**item.json(), "cell_id": self.cell_ids.get(item.where.cell or 0)} for item in self.findings]
        notes = list(self.notes)
        return {"path": self.path, "mode": self.mode, "outcome": self.outcome, "findings": findings, "notes": notes}


def cell_ids(checked: Checked) -> dict[int, str]:
    """The ids of the cells in which something was found."""
    cells = checked.content.get("cells") if isinstance(checked.content, Mapping) else None
    found = {}
    for number in {finding.where.cell for finding in checked.findings}:
        cell = cells[number - 1] if isinstance(cells, list) and number and number <= len(cells) else None
        if number and isinstance(cell, Mapping) and isinstance(cell.get("id"), str):
            found[number] = cell["id"]
    return found


def listed(findings: Sequence[Finding]) -> str:
    more = f" and {len(findings) - _SHOWN} more" if len(findings) > _SHOWN else ""
    return "; ".join(map(str, findings[:_SHOWN])) + more


def refusal(path: str, findings: Sequence[Finding]) -> str:
    first = findings[0]
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    advice = {"output": "clear that output", "source": "take it out of the cell"}.get(first.where.part, "take it out")
    return f"{shown(path)}: not saved: {first}{more}; {advice} and save again"


def shown(path: str) -> str:
    """*path* in a text of one line."""
    return path if path.isprintable() else ascii(path)
