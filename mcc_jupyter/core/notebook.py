"""A notebook's JSON → the declarations in it, without running anything (SPEC 2, 12.3).

Read are ``%%mcc_tool`` cells, ``%mcc_load`` lines and functions under ``@tool``; every other code is left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .cell import parse_cell
from .errors import DeclarationError, Problem
from .standalone import decorated, extract
from .tool import Source


@dataclass(frozen=True, slots=True)
class Found:
    """One declaration. Exactly one of ``document``, ``paths`` and ``source`` is there; ``fields`` go with a source."""

    label: str
    cell: str
    document: object = field(default=None, repr=False)
    paths: tuple[str, ...] = ()
    source: Source | None = None
    fields: Mapping[str, object] = field(default_factory=dict, repr=False)


def declarations(notebook: object) -> tuple[list[Found], list[Problem]]:
    """What the code cells of *notebook* declare, in their order, and what is wrong with the rest of it."""
    found: list[Found] = []
    problems: list[Problem] = []
    for at, (cell, text) in enumerate(_code_cells(notebook), 1):
        where = f"cell {at}"
        try:
            found.extend(_in_cell(text, cell or where, where))
        except DeclarationError as error:
            problems.extend(problem.under(where) for problem in error.problems)
    return found, problems


def _code_cells(notebook: object) -> Iterator[tuple[str, str]]:
    cells = notebook.get("cells") if isinstance(notebook, Mapping) else None
    if not isinstance(cells, list):
        raise DeclarationError(Problem("", "this is no notebook: it has no cells"))
    for cell in cells:
        if not isinstance(cell, Mapping) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source", "")
        text = source if isinstance(source, str) else "".join(part for part in source if isinstance(part, str))
        yield str(cell.get("id") or ""), text


def _in_cell(text: str, cell: str, where: str) -> Iterator[Found]:
    first, _, body = text.lstrip("\n").partition("\n")
    if first.startswith("%%"):
        magic, _, line = first.partition(" ")
        if magic == "%%mcc_tool":
            label = " ".join([magic, *line.split()[:1]])
            yield Found(label, cell, document=parse_cell(line, body))
        return
    for line in text.splitlines():
        magic, _, rest = line.strip().partition(" ")
        if magic == "%mcc_load":
            yield Found("%mcc_load", cell, paths=_paths(rest))
    yield from _functions(text, cell, where)


def _paths(line: str) -> tuple[str, ...]:
    import shlex

    try:
        return tuple(shlex.split(line))
    except ValueError:
        raise DeclarationError(Problem("%mcc_load", "a quote is not closed")) from None


def _functions(text: str, cell: str, where: str) -> Iterator[Found]:
    for name, call in decorated(text):
        source = extract(text, name, filename=f"<{where}>")
        yield Found(f"@tool {name}", cell, source=source, fields=_literals(call, name) if call is not None else {})


def _literals(call: ast.Call, function: str) -> dict[str, object]:
    fields: dict[str, object] = {}
    for keyword in call.keywords:
        try:
            fields[str(keyword.arg)] = ast.literal_eval(keyword.value)
        except ValueError:
            message = "is no literal; a notebook's code is not run to read it"
            raise DeclarationError(Problem(f"@tool {function}: {keyword.arg}", message)) from None
    return fields


