"""The text of an env_file → its entries, by python-dotenv's grammar (SPEC 4.4).

1. The grammar is python-dotenv's; interpolation is not: an entry keeps its ``${X}`` apart, and ``policy`` decides
   which variables they may see.
2. A warning names a line, never the text on it: a line that does not parse may be a piece of a key.
3. The time is linear in the text, whatever stands in it: what fails to match can be left out, so nothing is read again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from .names import NAME

# One statement, begun at a character that is no blank. What precedes it, ``finditer`` skips. Without ``end`` it does
# not parse: it is left at the end of the line that its last good part ends on, which for a value may be lines further.
_STATEMENT = re.compile(
    r"""
    (?=\S) (?:export[^\S\n]+)?
    (?:
        (?: (?=\#) | '(?P<quoted_name>[^']+)' | (?P<name>(?!')[^=\#\s]+) )
        [^\S\n]*
        (?: = (?: [^\S\n]* (?: '(?P<single>[^'\\]*(?:\\.[^'\\]*)*)' | "(?P<double>[^"\\]*(?:\\.[^"\\]*)*)" )
                | (?![^\S\n]*['"]) (?P<plain>[^\n]*) ) )?
        (?: [^\S\n]* (?:\#[^\n]*)? (?P<end>\n|\Z) )?
    )?
    (?(end)|[^\n]*\n?)
    """,
    re.S | re.X,
)
_COMMENT = re.compile(r"\s#")
_SINGLE_ESCAPE = re.compile(r"\\([\\'])")
_DOUBLE_ESCAPE = re.compile(r"\\([\\'\"abfnrtv])")
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}

# One that is never closed is matched too, as far as no other can begin in it; that keeps a text full of them linear.
_REFERENCE = re.compile(r"\$\{([^}:]*)(?::-([^}]*))?(\})?")


@dataclass(frozen=True, slots=True)
class Interpolation:
    """``${name}`` or ``${name:-default}``; the default counts only when the name is absent, as in python-dotenv."""

    name: str
    default: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Entry:
    """One variable of a file, in the order of the file."""

    name: str
    atoms: tuple[str | Interpolation, ...] = field(repr=False)
    line: int


@dataclass(frozen=True, slots=True)
class Dotenv:
    """A file that can be used."""

    entries: tuple[Entry, ...]
    warnings: tuple[str, ...] = ()
    unread: bool = False
    """Whether it is a pipe, which is read by a call alone."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that cannot be used, with the one-line reason that makes its tool unavailable."""

    text: str


def parse(text: str, *, path: str) -> Dotenv | Unreadable:
    """The entries of *text*; *path* is the file's path as written, for messages."""
    entries: list[Entry] = []
    warnings: list[str] = []
    for line, name, value in statements(text):
        if name is None:
            warnings.append(f"line {line} does not parse and is left out")
        elif value is None:
            warnings.append(f"line {line} has no `=` and is left out")
        elif not NAME.fullmatch(name):
            warnings.append(f"line {line} has an invalid name and is left out")
        elif value.startswith("-----BEGIN") and "-----END" not in value:
            # The lines that follow are key material, which the grammar would take for names.
            return Unreadable(f"env_file {path}, line {line}: a multi-line value must be quoted")
        elif "\0" in value:
            return Unreadable(f"env_file {path}, line {line}: variable {name} contains a NUL byte")
        else:
            entries.append(Entry(name, atoms(value), line))
    lines: dict[str, list[int]] = {}
    for entry in entries:
        lines.setdefault(entry.name, []).append(entry.line)
    for name, of_name in lines.items():
        if len(of_name) > 1:
            listed = ", ".join(map(str, of_name))
            warnings.append(f"{name} is defined {len(of_name)} times (lines {listed}); the last one counts")
    return Dotenv(tuple(entries), tuple(warnings))


def statements(text: str) -> Iterator[tuple[int, str | None, str | None]]:
    """Line, name and value of each statement. Without a name it does not parse; without a value it has no ``=``."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    line, at = 1, 0
    for match in _STATEMENT.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        quoted_name, name, single, double, plain, end = match.groups()
        if end is None:
            yield line, None, None
        elif plain is not None:
            comment = _COMMENT.search(plain) if "#" in plain else None
            yield line, name or quoted_name, (plain[: comment.start()] if comment else plain).strip()
        elif single is not None:
            yield line, name or quoted_name, _SINGLE_ESCAPE.sub(r"\1", single) if "\\" in single else single
        elif double is not None:
            yield line, name or quoted_name, _DOUBLE_ESCAPE.sub(_unescaped, double) if "\\" in double else double
        elif name or quoted_name:
            yield line, name or quoted_name, None


def _unescaped(escape: re.Match[str]) -> str:
    return _ESCAPED.get(escape[1], escape[1])


def atoms(value: str) -> tuple[str | Interpolation, ...]:
    """The literal parts of *value* and the variables between them."""
    if "${" not in value:
        return (value,)
    found: list[str | Interpolation] = []
    at = 0
    for match in _REFERENCE.finditer(value):
        if match[3]:
            found += [value[at : match.start()], Interpolation(match[1], match[2])]
            at = match.end()
    return tuple(atom for atom in (*found, value[at:]) if atom)
