"""The code of a notebook or module → what it declares, without running any of it (SPEC 9.8).

1. Nothing is executed, imported or compiled: YAML is parsed, Python is read into its syntax tree.
2. What may be a declaration and cannot be read is a problem with its cell and line, never left out.
3. A ``tool`` that comes from another package is none of ours; the first of each name is noted.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from .access import printable
from .cell import parse_cell, parse_sh
from .errors import DeclarationError, Problem
from .standalone import MAGIC, decorator_fields, is_tool, parse_code
from .static_names import Origins, root

_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)*")
_WRAPPING = frozenset("capture debug time timeit prun memit mprun lprun".split())
"""Cell magics that run the rest of the cell as a cell."""

_ELSEWHERE = frozenset(
    """! HTML R SVG bash bigquery cmd cython file html javascript js latex markdown perl pypy python python2 python3
    ruby script sh sql svg sx system writefile""".split()
)
"""Cell magics whose cell never reaches this kernel as code."""

_RUNNING = frozenset("run_cell run_cell_async ex magic".split())
_OURS = frozenset("mcc_tool mcc_sh mcc_load".split())
_TELLING = re.compile(r"mcc_(?:tool|sh|load|jupyter)\b|@\s*(?:\w+\s*\.\s*)*tool\b|run_(?:\w+_magic|cell)\b")
"""What a code that declares something holds."""

_LINE = re.compile(r"\s*(?:[\w.,\s]+=\s*)?%(?:(?:time|timeit|prun)\s+%?)?(mcc_load|run|alias_magic)(?=\s|$)(.*)", re.S)
_RUN_OPTIONS = re.compile(r"-[A-Za-z]\d*")
_LONGEST = 1_000_000
"""Characters of one cell or module that are read as code."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_NOT_READ = "cannot be read without running it"
_LITERAL = f"{_NOT_READ}; write a literal"


@dataclass(frozen=True, slots=True)
class Declaration:
    """One declaration: a document as for ``declare``, or the files that it loads or, with ``runs``, runs."""

    label: str
    where: str
    """For people: ``cell 3, line 2``."""
    document: object = field(default=None, repr=False)
    paths: tuple[str, ...] = ()
    runs: bool = False
    function: bool = False
    """A function whose source stands in the code."""


class Reader:
    """Collects the declarations of one notebook or module, and what of it cannot be read."""

    def __init__(self) -> None:
        self.found: list[Declaration] = []
        self.problems: list[Problem] = []
        self.excused: list[Problem] = []
        """Mistakes in cells whose author expects an error, by their tag ``raises-exception``: they declare nothing."""
        self.notes: list[str] = []
        self.expected: set[str] = set()
        """Those cells."""
        self._origins = Origins()
        self._noted: set[str] = set()

    def notebook(self, document: object) -> None:
        """The code cells of a notebook, counted from the top with all others."""
        cells = document.get("cells") if isinstance(document, Mapping) else None
        version = document.get("nbformat") if isinstance(document, Mapping) else None
        if isinstance(document, Mapping) and (version in (1, 2, 3) or "worksheets" in document):
            self._wrong("", "the notebook has an old format; open and save it with a Jupyter of today")
        elif not isinstance(cells, list) or version not in (None, 4):
            self._wrong("", "this is no notebook of format 4, the only one that is read")
        else:
            codes = [(f"cell {at}", _source(cell)) for at, cell in enumerate(cells, 1) if _is_code(cell)]
            self.expected = {f"cell {at}" for at, cell in enumerate(cells, 1) if _is_code(cell) and _may_fail(cell)}
            self._codes([(where, text) for where, text in codes if text])

    def module(self, text: str) -> None:
        """A Python file."""
        self._codes([("", text.removeprefix("\ufeff"))])

    def _codes(self, codes: list[tuple[str, str]]) -> None:
        read = [item for where, text in codes for item in self._cell(where, text, 0)]
        for _ in range(2):  # a name may be bound in a later cell than the one that uses it
            for _, tree, _ in read:
                self._guarded("", partial(self._origins.learn, tree))
        for where, tree, shift in read:
            self._guarded(where, partial(self._tree, where, tree, shift))

    def _wrong(self, where: str, message: str, path: str = "") -> None:
        problem = Problem(path, message)
        self.problems.append(problem.under(where) if where else problem)

    def _guarded(self, where: str, read: Callable[[], object]) -> None:
        try:
            read()
        except DeclarationError as error:
            self.problems += [problem.under(where) if where else problem for problem in error.problems]
        except (RecursionError, MemoryError, ValueError):
            self._wrong(where, "is nested too deep to be read")

    # ---- a cell

    def _cell(self, where: str, text: str, shift: int) -> list[tuple[str, ast.Module, int]]:
        """Reads the magics of a cell; its syntax tree, if it is Python, is for later. *shift*: lines above *text*."""
        blank = _BLANK_LINES.match(text)
        assert blank is not None
        shift += blank[0].count("\n")
        first, _, body = text[blank.end() :].partition("\n")
        if not first.startswith("%%"):
            return self._python(where, text[blank.end() :], shift)
        magic, _, line = first.rstrip().partition(" ")
        if magic[2:] in _WRAPPING:
            return self._cell(where, body, shift + 1)
        if magic in ("%%mcc_tool", "%%mcc_sh") and len(body) > _LONGEST:
            self._wrong(where, f"is longer than {_LONGEST} characters and is not read")
        elif magic in ("%%mcc_tool", "%%mcc_sh"):
            self._guarded(where, partial(self._magic, magic[2:], line, body, where))
        elif magic[2:] not in _ELSEWHERE and _TELLING.search(body):
            self._wrong(where, f"may declare a tool under `{printable(magic[:40])}`, of which nothing is known here")
        return []

    def _magic(self, magic: str, line: str, body: str, where: str) -> None:
        try:
            document = parse_cell(line, body) if magic == "mcc_tool" else parse_sh(line, body)
        except DeclarationError as error:
            (self.excused if where in self.expected else self.problems).extend(p.under(where) for p in error.problems)
        else:
            self.found.append(Declaration(f"%%{magic}", where, document=document))

    def _python(self, where: str, text: str, shift: int) -> list[tuple[str, ast.Module, int]]:
        if len(text) > _LONGEST:
            if _TELLING.search(text):
                self._wrong(where, f"is longer than {_LONGEST} characters and is not read")
            return []
        written = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        try:
            tree, lines = parse_code(text, "")
        except (DeclarationError, RecursionError, MemoryError, ValueError) as error:
            for at, line in enumerate(written):
                self._line(where, line, at + shift + 1)
            if _TELLING.search("\n".join(line for line in written if not _LINE.match(line))):
                told = error.problems[0].message if isinstance(error, DeclarationError) else "nested too deep"
                self._wrong(where, f"may declare a tool and {_NOT_READ}: {told}")
            return []
        joined = ""
        for at, (line, left) in enumerate(zip(written, lines, strict=True)):
            if (line == left or not line.strip()) and not joined:
                continue
            joined += line.removesuffix("\\")
            if not line.endswith("\\"):
                self._line(where, joined, at + shift + 1)
                joined = ""
        return [(where, tree, shift)]

    def _line(self, where: str, line: str, number: int) -> None:
        """A line with a magic."""
        found = _LINE.match(line) if MAGIC.match(line) else None
        if found:
            place = f"{where}, line {number}" if where else f"line {number}"
            self._guarded(place, lambda: self._line_magic(found[1], found[2], place))

    def _line_magic(self, magic: str, rest: str, place: str) -> None:
        try:
            words = shlex.split(rest)
        except ValueError:
            self._wrong(place, "a quote is not closed", f"%{magic}")
            return
        if magic == "alias_magic":
            if any(word.lstrip("%") in _OURS for word in words):
                self._wrong(place, f"cells under another name {_NOT_READ}; use the magic's own", "%alias_magic")
        elif magic == "mcc_load":
            if not words:
                self._wrong(place, "write `%mcc_load PATH…`", "%mcc_load")
            else:
                self.found.append(Declaration("%mcc_load", place, paths=tuple(words)))
        else:
            paths = tuple(word for word in words if not _RUN_OPTIONS.fullmatch(word))[:1]
            if "-m" in words:
                self._wrong(place, f"a module {_NOT_READ}; run its file", "%run")
            elif paths and any(mark in paths[0] for mark in "${"):
                self._wrong(place, _LITERAL, "%run")
            elif paths:
                self.found.append(Declaration("%run", place, paths=paths, runs=True))

    # ---- Python

    def _tree(self, where: str, tree: ast.Module, shift: int) -> None:
        decorators = set()
        for node in tree.body:
            if isinstance(node, _FUNCTIONS):
                for decorator in node.decorator_list:
                    decorators.add(id(decorator))
                    place = _at(where, decorator, shift)
                    if is_tool(decorator) and self._origins.may_be_ours(decorator):
                        self._guarded(place, partial(self._function, node.name, decorator, place))
                    elif is_tool(decorator) and root(decorator) not in self._noted:
                        self._noted.add(root(decorator))
                        self.notes.append(f"{place}: `{root(decorator)}` comes from elsewhere; its tools are not read")
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and id(call) not in decorators:
                place = _at(where, call, shift)
                self._guarded(place, partial(self._call, call, place))

    def _function(self, name: str, decorator: ast.expr, place: str) -> None:
        fields = decorator_fields(decorator, f"@tool {name}", _LITERAL) if isinstance(decorator, ast.Call) else {}
        document = {"name": name, **fields, "fn": f"notebook:{name}"}
        self.found.append(Declaration(f"@tool {name}", place, document=document, function=True))

    def _call(self, call: ast.Call, place: str) -> None:
        method = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if method in ("run_cell_magic", "run_line_magic"):
            self._run_magic(call, place, method)
        elif method in _RUNNING and self._origins.is_shell(call.func):
            text = _text(call.args[0]) if call.args else None
            if text is None:
                self._wrong(place, _LITERAL, f"get_ipython().{method}")
            else:
                inner = self._cell(place, f"%{text.lstrip('%')}" if method == "magic" else text, 0)
                for where, tree, shift in inner:
                    self._tree(where, tree, shift)
        elif method in ("toolbox", "toolbox_for") and self._origins.is_ours(call.func):
            self._wrong(place, f"what a toolbox declares {_NOT_READ}; use a cell, `@tool` or a file")
        elif method == "load" and self._origins.is_ours(call.func):
            paths = tuple(path for path in map(_text, call.args) if path is not None)
            if call.keywords or len(paths) != len(call.args):
                self._wrong(place, _LITERAL, "mcc.load")
            elif paths:
                self.found.append(Declaration("mcc.load", place, paths=paths))
        elif self._applies(call):
            self._wrong(place, f"a tool that is made by a call {_NOT_READ}; decorate a function with `@tool`")

    def _applies(self, call: ast.Call) -> bool:
        """``tool(f)``, or ``tool(**fields)(f)``, of our own ``tool``."""
        named = call.func.func if isinstance(call.func, ast.Call) else call.func
        applied = isinstance(call.func, ast.Call) or bool(call.args)
        return applied and is_tool(named) and self._origins.is_ours(named)

    def _run_magic(self, call: ast.Call, place: str, method: str) -> None:
        texts = [_text(item) for item in call.args] + [_text(item.value) for item in call.keywords]
        magic = texts[0].lstrip("%") if texts and texts[0] is not None else None
        if magic is not None and magic not in (*_OURS, "run", *_WRAPPING):
            return
        if magic is None or call.keywords or None in texts:
            self._wrong(place, _LITERAL, method)
            return
        line, body = [*(text or "" for text in texts[1:]), "", ""][:2]
        if method == "run_line_magic":
            self._line(place, f"%{magic} {line}", 1)
        else:
            for where, tree, shift in self._cell(place, f"%%{magic} {line}\n{body}", 0):
                self._tree(where, tree, shift)


def _is_code(cell: object) -> bool:
    return isinstance(cell, Mapping) and cell.get("cell_type") == "code"


def _may_fail(cell: Mapping[str, object]) -> bool:
    metadata = cell.get("metadata")
    tags = metadata.get("tags") if isinstance(metadata, Mapping) else None
    return isinstance(tags, list) and "raises-exception" in tags


def _source(cell: Mapping[str, object]) -> str:
    source = cell.get("source", cell.get("input", ""))
    parts = [source] if isinstance(source, str) else source if isinstance(source, list) else []
    return "".join(part for part in parts if isinstance(part, str))


def _at(where: str, node: ast.expr, shift: int) -> str:
    line = f"line {node.lineno + shift}"
    return f"{where}, {line}" if where else line


def _text(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
