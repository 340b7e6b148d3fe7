"""The text of an env_file → its entries, by python-dotenv's grammar (SPEC 4.4).

1. The grammar is python-dotenv's; interpolation is not: an entry keeps its ``${X}`` apart, and ``policy`` decides
   which variables they may see.
2. A warning names a line, never the text on it: a line that does not parse may be a piece of a key.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from .names import NAME


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


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that cannot be used, with the one-line reason that makes its tool unavailable."""

    text: str


def parse(text: str, *, path: str) -> Dotenv | Unreadable:
    """The entries of *text*; *path* is the file's path as written, for messages."""
    from io import StringIO

    from dotenv.parser import parse_stream

    entries: list[Entry] = []
    warnings: list[str] = []
    for binding in parse_stream(StringIO(text.removeprefix("\ufeff"), newline=None)):
        line = binding.original.line + _leading_newlines(binding.original.string)
        name, value = binding.key, binding.value
        if binding.error:
            warnings.append(f"line {line} does not parse and is left out")
        elif name is None or value is None:
            if name is not None:
                warnings.append(f"line {line} has no `=` and is left out")
        elif not NAME.fullmatch(name):
            warnings.append(f"line {line} has an invalid name and is left out")
        elif value.startswith("-----BEGIN") and "-----END" not in value:
            # The lines that follow are key material, which the grammar would take for names.
            return Unreadable(f"env_file {path}, line {line}: a multi-line value must be quoted")
        elif "\0" in value:
            return Unreadable(f"env_file {path}, line {line}: variable {name} contains a NUL byte")
        else:
            entries.append(Entry(name, _atoms(value), line))
    counts = Counter(entry.name for entry in entries)
    for name, count in counts.items():
        if count > 1:
            lines = ", ".join(str(entry.line) for entry in entries if entry.name == name)
            warnings.append(f"{name} is defined {count} times (lines {lines}); the last one counts")
    return Dotenv(tuple(entries), tuple(warnings))


def _leading_newlines(original: str) -> int:
    """A binding's text begins with the blank lines before it."""
    return original[: len(original) - len(original.lstrip())].count("\n")


def _atoms(value: str) -> tuple[str | Interpolation, ...]:
    if "${" not in value:
        return (value,)
    from dotenv.variables import Variable, parse_variables

    return tuple(
        Interpolation(atom.name, atom.default) if isinstance(atom, Variable) else atom.value  # type: ignore[attr-defined]
        for atom in parse_variables(value)
    )
