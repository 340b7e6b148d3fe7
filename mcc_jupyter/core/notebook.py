"""A notebook's JSON → the declarations in it, without running anything (SPEC 2, 12.3).

Read are ``%%mcc_tool`` cells, ``%mcc_load`` lines and functions under ``@tool``; every other code is left alone. Each
declaration fails alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from .cell import parse_cell
from .errors import DeclarationError, Problem
from .standalone import decorated, decorator_fields, extract
from .tool import Source

_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)*")
"""At the top of a cell. IPython drops them, so a magic may stand below."""

_NO_LITERAL = "is no literal; a notebook's code is not run to read it"


@dataclass(frozen=True, slots=True)
class Found:
    """One declaration. Exactly one of ``document``, ``paths`` and ``source`` is there; ``fields`` go with a source.

    ``cell`` tells cells apart; ``where`` is for people (``cell 3``, counted among the code cells).
    """

    label: str
    cell: str
    where: str
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
        for read in _in_cell(text, cell or where, where):
            try:
                found.append(read())
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
        parts = [source] if isinstance(source, str) else source if isinstance(source, list) else []
        yield str(cell.get("id") or ""), "".join(part for part in parts if isinstance(part, str))


def _in_cell(text: str, cell: str, where: str) -> Iterator[Callable[[], Found]]:
    """One reader for each declaration."""
    first, _, body = _BLANK_LINES.sub("", text, count=1).partition("\n")
    if first.startswith("%%"):
        magic, _, line = first.rstrip().partition(" ")
        if magic == "%%mcc_tool":
            yield partial(_tool, line, body, cell, where)
        return
    for line in text.splitlines():
        magic, _, rest = line.strip().partition(" ")
        if magic == "%mcc_load":
            yield partial(_load, rest, cell, where)
    for name, call in decorated(text):
        yield partial(_function, text, name, call, cell, where)


def _tool(line: str, body: str, cell: str, where: str) -> Found:
    return Found(" ".join(["%%mcc_tool", *line.split()[:1]]), cell, where, document=parse_cell(line, body))


def _load(line: str, cell: str, where: str) -> Found:
    import shlex

    try:
        paths = tuple(shlex.split(line))
    except ValueError:
        raise DeclarationError(Problem("%mcc_load", "a quote is not closed")) from None
    if not paths:
        raise DeclarationError(Problem("%mcc_load", "write `%mcc_load PATH…`"))
    return Found("%mcc_load", cell, where, paths=paths)


def _function(text: str, name: str, call: ast.Call | None, cell: str, where: str) -> Found:
    fields = {} if call is None else decorator_fields(call, f"@tool {name}", _NO_LITERAL)
    return Found(f"@tool {name}", cell, where, source=extract(text, name, filename=f"<{where}>"), fields=fields)
