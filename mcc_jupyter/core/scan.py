"""The text of a notebook or of any file → the secrets in it, by place and name; or the text without them (SPEC 8.4).

1. A finding names the variable or the format, and where. It never holds a value, nor a piece or the length of one.
2. The strings of a notebook are searched as the text they stand for. A list of lines is one text, and so is what a cell
   printed, though it was saved as several outputs.
3. Outputs are the program's and are redacted; sources, attachments and metadata are the author's and only told.
   Cleaning changes the strings of outputs and no other byte, and what is clean already not at all.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from .credentials import SHAPES, credentials_in
from .dotenv import Entry
from .errors import DeclarationError, Problem
from .json_strings import JsonString, Path, places, strings
from .names import NAME, any_of, is_known_not_secret
from .redact import Redactor
from .secret_forms import SHORTEST
from .tool import DEFAULT_FLOOR

_LABELS = {shape.slug: shape.label for shape in SHAPES}
_PARTS = ("text", "source", "output", "attachment", "metadata")
_MARK = re.compile(r"\[redacted:[^\[\]\s]+\]")
_HIDDEN = "["
"""Stands for each character of a mark: no word, and nothing a credential has in it."""

FORMAT = frozenset(
    "cell_type execution_count metadata output_type display_data execute_result traceback attachments"
    " text/plain text/html image/png nbformat_minor markdown kernelspec language_info".split()
)
"""Words that nearly every notebook has for its own sake. None is a secret, and not to look at them saves time."""

_SEQUENCE = re.compile(r"(\x1b\[[0-?]*[ -/]*[@-~])")
_BINARY = re.compile(r"(?:image/(?!svg)|audio/|video/|font/|application/(?:pdf|zip|octet-stream)$).*|png|jpeg")
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/= \t\n\r\f\v"


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a file. All is counted from one, Markdown cells too; ``line`` is that of a text file or a source."""

    part: str
    cell: int | None = None
    output: int | None = None
    line: int | None = None

    def __str__(self) -> str:
        cell = None if self.cell is None else f"cell {self.cell}"
        output = None if self.output is None else f"output {self.output}"
        line = None if self.line is None else f"line {self.line}"
        part = self.part if self.part in ("attachment", "metadata") else None
        return ", ".join(word for word in (cell, output, line, part) if word)


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret at a place: the ``name`` of a variable whose value is known, or else of a ``format``."""

    where: Where
    name: str | None = None
    format: str | None = None
    redacted: bool = False

    def __str__(self) -> str:
        if self.name is not None:
            return f"{self.where}: {'redacted' if self.redacted else 'holds'} {self.name}"
        return f"{self.where}: {'redacted what looks' if self.redacted else 'looks'} like {_LABELS[self.format or '']}"

    def json(self) -> dict[str, object]:
        where = self.where
        return {
            "part": where.part,
            "cell": where.cell,
            "output": where.output,
            "line": where.line,
            "name": self.name,
            "format": self.format,
            "redacted": self.redacted,
        }


def finding_from(data: object) -> Finding | None:
    """A finding from what ``Finding.json`` made of it in another process; None if it is none, or holds other text."""
    if not isinstance(data, Mapping):
        return None
    part, name, form = data.get("part"), data.get("name"), data.get("format")
    numbers = [data.get(key) for key in ("cell", "output", "line")]
    if part not in _PARTS or not all(number is None or (type(number) is int and number > 0) for number in numbers):
        return None
    is_name = form is None and isinstance(name, str) and NAME.fullmatch(name) is not None
    is_format = name is None and isinstance(form, str) and form in _LABELS
    if not is_name and not is_format:
        return None
    return Finding(Where(str(part), *numbers), name, form, data.get("redacted") is True)


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The text without its secrets, what was redacted, and what still stands in it."""

    text: str = field(repr=False)
    redacted: tuple[Finding, ...] = ()
    standing: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class _Hit:
    start: int
    end: int
    name: str | None = None
    format: str | None = None

    @property
    def mark(self) -> str:
        return f"[redacted:{self.name or self.format}]"


@dataclass(frozen=True, slots=True)
class _Text:
    """One text of a notebook: a string, or a list of lines."""

    where: Where
    literals: tuple[JsonString, ...]
    hits: tuple[_Hit, ...]

    def findings(self, *, redacted: bool = False) -> Iterator[Finding]:
        text = "".join(literal.text for literal in self.literals)
        ends = list(accumulate(len(literal.text) for literal in self.literals))
        for hit in self.hits:
            line = text.count("\n", 0, hit.start) + 1 if self.where.part == "source" else None
            output, _ = _place(self.literals[bisect_right(ends, hit.start)])
            where = Where(self.where.part, self.where.cell, output.output, line)
            yield Finding(where, hit.name, hit.format, redacted)

    def edits(self, document: str) -> Iterator[tuple[int, int, str]]:
        """What to replace in *document*, and by what. A mark stands in the line in which the secret begins."""
        begin = 0
        for literal in self.literals:
            size = len(literal.text)
            inside = [hit for hit in self.hits if hit.start < begin + size and hit.end > begin]
            bounds = [(max(hit.start - begin, 0), min(hit.end - begin, size)) for hit in inside]
            raw = document[literal.start : literal.end]
            at = places(raw, (bound for pair in bounds for bound in pair))
            for hit, start, end in zip(inside, at[::2], at[1::2], strict=True):
                mark = json.dumps(hit.mark)[1:-1] if hit.start >= begin else ""
                yield literal.start + start, literal.start + end, mark
            begin += size


class Scanner:
    """Looks for *secrets*, pairs of a name and a value, and for keys of the well-known formats.

    *ignored*: globs of names and of formats that are not told.
    """

    def __init__(self, secrets: Iterable[tuple[str, str]] = (), ignored: Iterable[str] = ()) -> None:
        self._ignored = any_of(tuple(ignored))
        self._redactor = Redactor([pair for pair in secrets if not self._ignored.match(pair[0])])
        self.skipped = self._redactor.skipped
        """Names whose values are too short or too common to be looked for."""

    def text(self, text: str) -> list[Finding]:
        """What a file that is no notebook holds, by line."""
        lines, at = 1, 0
        found = []
        for hit in self._hits(text):
            lines, at = lines + text.count("\n", at, hit.start), hit.start
            found.append(Finding(Where("text", line=lines), hit.name, hit.format))
        return list(dict.fromkeys(found))

    def clean_text(self, text: str) -> Cleaned:
        """All of it redacted, whatever it is."""
        edits = [(hit.start, hit.end, hit.mark) for hit in self._hits(text)]
        redacted = [Finding(item.where, item.name, item.format, redacted=True) for item in self.text(text)]
        return Cleaned(_edited(text, edits), tuple(redacted))

    def notebook(self, document: str) -> list[Finding]:
        """What a notebook holds, from its JSON text; raises ``DeclarationError`` if it is none."""
        return _ordered(finding for text in self._texts(document) for finding in text.findings())

    def clean_notebook(self, document: str) -> Cleaned:
        """Its outputs redacted; raises ``DeclarationError`` if it is no notebook."""
        texts = list(self._texts(document))
        outputs = [text for text in texts if text.where.part == "output"]
        others = [text for text in texts if text.where.part != "output"]
        numbers = list(_numbers(document, outputs))
        return Cleaned(
            _edited(document, [edit for text in outputs for edit in text.edits(document)] + numbers),
            tuple(_ordered(finding for text in outputs for finding in text.findings(redacted=True))),
            tuple(_ordered(finding for text in others for finding in text.findings())),
        )

    def _texts(self, document: str) -> Iterator[_Text]:
        """The texts of a notebook that hold something."""
        printed = _printed(_read(document))

        def belongs_to(literal: JsonString) -> tuple[Where, object]:
            where, text = _place(literal)
            is_printed = _path(literal)[4:5] == ("text",) and not literal.is_key
            first = printed.get(_path(literal)[:4]) if is_printed else None
            return (where, text) if first is None else (Where(where.part, where.cell, first + 1), first)

        groups: dict[tuple[Where, object], list[JsonString]] = {}
        for literal in strings(document):
            if literal.text not in FORMAT:
                groups.setdefault(belongs_to(literal), []).append(literal)
        for (where, _), literals in groups.items():
            is_chance = all(map(_is_chance, literals))
            hits = self._hits("".join(literal.text for literal in literals), formats=not is_chance)
            if hits:
                yield _Text(where, tuple(literals), tuple(hits))

    def _hits(self, text: str, *, formats: bool = True) -> list[_Hit]:
        """What is to be hidden in *text*, in order; what overlaps is one, and a known name goes before a format."""
        if len(text) < SHORTEST:
            return []
        text = _MARK.sub(lambda mark: _HIDDEN * len(mark[0]), text)
        hits = [_Hit(start, end, name=name) for start, end, name in self._redactor.found(text)]
        if formats:
            text = _edited(text, [(hit.start, hit.end, _HIDDEN * (hit.end - hit.start)) for hit in hits])
            hits += [hit for hit in _credentials(text) if not self._ignored.match(hit.format or "")]
        united: list[_Hit] = []
        for hit in sorted(hits, key=lambda hit: (hit.start, -hit.end)):
            if united and hit.start < united[-1].end:
                last = united.pop()
                name = last.name or hit.name
                hit = _Hit(last.start, max(last.end, hit.end), name, None if name else last.format)
            united.append(hit)
        return united


def _numbers(document: str, texts: Iterable[_Text]) -> Iterator[tuple[int, int, str]]:
    """Edits by which two keys of a mapping that get the same mark both stay: the later one gets a number."""
    marked = {text.literals[0].start: text.hits for text in texts if text.literals[0].is_key}
    mappings: dict[Path, list[JsonString]] = {}
    for literal in strings(document) if marked else ():
        if literal.is_key:
            mappings.setdefault(literal.path[:-1], []).append(literal)
    for keys in mappings.values():
        used = {key.text for key in keys if key.start not in marked}
        for key in keys:
            if key.start in marked:
                name = shown = _edited(key.text, [(hit.start, hit.end, hit.mark) for hit in marked[key.start]])
                number = 2
                while name in used:
                    name, number = f"{shown}#{number}", number + 1
                used.add(name)
                yield key.end, key.end, name.removeprefix(shown)


def _read(document: str) -> dict[str, Any]:
    try:
        notebook = json.loads(document.removeprefix("\ufeff"), parse_int=float)
    except ValueError:
        raise DeclarationError(Problem("", "the file is no notebook: it is no JSON")) from None
    except RecursionError:
        raise DeclarationError(Problem("", "the file is no notebook: it is nested too deeply")) from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells", notebook.get("worksheets")), list):
        raise DeclarationError(Problem("", "this is no notebook: it has no cells"))
    return notebook


def _printed(notebook: dict[str, Any]) -> dict[Path, int]:
    """Outputs by their path: of those that are one stream in several pieces, which is the first."""
    found: dict[Path, int] = {}
    for at, cell in enumerate(notebook.get("cells") or ()):
        outputs = cell.get("outputs") if isinstance(cell, dict) else None
        before, first = None, 0
        for number, output in enumerate(outputs if isinstance(outputs, list) else ()):
            name = output.get("name") if isinstance(output, dict) and output.get("output_type") == "stream" else None
            first = first if name == before else number
            before = name
            if name is not None:
                found["cells", at, "outputs", number] = first
    return found


def _is_chance(literal: JsonString) -> bool:
    """Whether it is a cell's id or encoded bytes, in which chance makes what looks like a key, but no known value."""
    path = _path(literal)
    if path[2:] == ("id",):
        return not literal.is_key
    return path[:1] == ("cells",) and any(is_binary(key) for key in path[4:6]) and is_encoded(literal.text)


def is_binary(key: object) -> bool:
    """Whether it is the MIME type of what is no text, or what such a one was called before 2015."""
    return isinstance(key, str) and _BINARY.fullmatch(key) is not None


def is_encoded(text: str) -> bool:
    return text.isascii() and not text.encode().translate(None, _BASE64)


def _path(literal: JsonString) -> Path:
    """Where it stands in a notebook of today's form; one of before 2015 has its cells in a worksheet."""
    return literal.path[2:] if literal.path[:1] == ("worksheets",) else literal.path


def _place(literal: JsonString) -> tuple[Where, object]:
    """The place a string is told with, and what it has in common with the other lines of its text."""
    path = _path(literal)
    cell = path[1] + 1 if path[:1] == ("cells",) and path[1:] and isinstance(path[1], int) else None
    part, output = "metadata", None
    of_lines = False
    match path[2:]:
        case ("source" | "input", *deeper):
            part, of_lines = "source", len(deeper) == 1
        case ("outputs", int(at), key, *deeper):
            part, output = "output", at + 1
            if key == "data":
                of_lines = len(deeper) == 2 and not str(deeper[0]).endswith("json")
            else:
                of_lines = len(deeper) == 1 and key != "traceback"
        case ("attachments", *deeper):
            part, of_lines = "attachment", len(deeper) == 3
    is_line = of_lines and not literal.is_key and isinstance(path[-1], int)
    return Where(part, cell, output), literal.path[:-1] if is_line else literal.start


def _credentials(text: str) -> Iterator[_Hit]:
    """Keys of the well-known formats, also where a program coloured the text."""
    if "\x1b" not in text:
        for start, end, shape in credentials_in(text):
            yield _Hit(start, end, format=shape.slug)
        return
    kept: list[int] = []  # where each character that is shown stands
    at = 0
    for index, piece in enumerate(_SEQUENCE.split(text)):
        if index % 2 == 0:
            kept.extend(range(at, at + len(piece)))
        at += len(piece)
    for start, end, shape in credentials_in(without_colours(text)):
        yield _Hit(kept[start], kept[end - 1] + 1, format=shape.slug)


def without_colours(text: str) -> str:
    return "".join(_SEQUENCE.split(text)[::2])


def _edited(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """*text* with places replaced, which do not overlap; the same object if there are none."""
    pieces, at = [], 0
    for start, end, replacement in sorted(edits):
        pieces += [text[at:start], replacement]
        at = end
    return "".join([*pieces, text[at:]]) if pieces else text


def _ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Each once, as a reader meets them; what belongs to the whole notebook comes last."""

    def key(finding: Finding) -> tuple[bool, int, int, int, int]:
        where = finding.where
        part = _PARTS.index(where.part)
        return where.cell is None, where.cell or 0, part, where.output or 0, where.line or 0

    return sorted(dict.fromkeys(findings), key=key)


def parent_secrets(parent: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment whose values are secret: all but the floor's and those known to be none."""
    return {
        name: value
        for name, value in parent.items()
        if NAME.fullmatch(name) and name not in (*DEFAULT_FLOOR, "_") and not is_known_not_secret(name)
    }


def env_file_secrets(entries: Iterable[Entry], parent: Mapping[str, str]) -> list[tuple[str, str]]:
    """The values of an env file, but those of names known to be no secret (SPEC 8.1).

    ``${X}`` is an entry above, a variable of *parent*, its default, or empty.
    """
    seen: dict[str, str] = {}
    found = []
    for entry in entries:
        parts = []
        for atom in entry.atoms:
            if isinstance(atom, str):
                parts.append(atom)
            else:
                parts.append(seen.get(atom.name, parent.get(atom.name, atom.default or "")))
        seen[entry.name] = "".join(parts)
        if entry.name not in DEFAULT_FLOOR and not is_known_not_secret(entry.name):
            found.append((entry.name, seen[entry.name]))
    return found
