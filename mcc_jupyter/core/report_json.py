"""A report's JSON form, as a manifest has it → the ``Report``, for who only has the file (SPEC 11.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .report import Report, Row, Shadow, State


def read_report(document: Mapping[str, Any]) -> Report:
    """What ``Report.json`` wrote. Raises ``ValueError`` for what it would not have written."""
    try:
        if document["schema"] != "mcc.report" or document["version"] != 1:
            raise ValueError("another schema or version")
        programs = document.get("programs")
        return Report(
            tool=str(document["tool"]),
            key=str(document["key"]),
            kind=str(document["kind"]),
            description=str(document["description"]),
            groups=tuple(map(str, document["groups"])),
            available=document["available"] is True,
            notice=None if document["notice"] is None else str(document["notice"]),
            rows=tuple(map(_row, document["rows"])),
            parameters=tuple(map(str, document["parameters"])),
            notes=tuple(map(str, document["notes"])),
            footer=tuple(map(str, document["footer"])),
            withheld=tuple(map(str, document["withheld"])) if "withheld" in document else None,
            programs=None if programs is None else tuple(programs.items()),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no report: {type(error).__name__}") from None


def _row(document: Mapping[str, Any]) -> Row:
    return Row(
        name=str(document["name"]),
        source=str(document["source"]),
        rule=str(document["rule"]),
        state=State(document["state"]),
        flags=tuple(map(str, document["flags"])),
        shadows=tuple(Shadow(str(item["source"]), str(item["rule"])) for item in document["shadows"]),
    )
