"""One node of a declaration → a value of the type that belongs there.

1. A node knows its path and its line, and hands both on to the nodes inside it.
2. What is wrong is added to the node's list and reading goes on, so that one run shows every problem (SPEC 2.5).
   A reader that found something wrong answers with an empty value; whoever reads the list throws the tool away.
3. A message names keys and types, never a value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from .errors import Problem, near
from .yaml_text import WrittenDate

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*", re.A)
_DECIMAL = re.compile(r"[+-]?(?:0|[1-9][0-9]*)", re.A)


@dataclass(frozen=True, slots=True)
class Node:
    """A value where it stands in the document."""

    value: object = field(repr=False)
    path: str
    problems: list[Problem] = field(repr=False)
    line: int | None = None
    """The line of the YAML text, where there is one."""

    def wrong(self, message: str) -> None:
        self.problems.append(Problem(self.path, message if self.line is None else f"{message} (line {self.line})"))

    def mapping(self, expected: str = "a mapping") -> dict[str, Node]:
        """The nodes inside a mapping, by key; null is an empty one."""
        if self.value is None:
            return {}
        if not isinstance(self.value, Mapping):
            self.wrong(f"expected {expected}")
            return {}
        lines: Mapping[object, int] = getattr(self.value, "lines", {})
        inside = {}
        for key, value in self.value.items():
            if not isinstance(key, str):
                self.wrong(f"expected text as a key, not {kind_of(key)}; quote it")
                continue
            step = (f".{key}" if self.path else key) if _PLAIN_KEY.fullmatch(key) else f"[{key!r}]"
            inside[key] = Node(value, self.path + step, self.problems, lines.get(key, self.line))
        return inside

    def sequence(self, expected: str = "a list") -> list[Node]:
        """The nodes inside a list; null is an empty one."""
        if self.value is None:
            return []
        if not isinstance(self.value, list | tuple):
            self.wrong(f"expected {expected}")
            return []
        lines = getattr(self.value, "lines", [self.line] * len(self.value))
        return [
            Node(item, f"{self.path}[{at}]", self.problems, line)
            for at, (item, line) in enumerate(zip(self.value, lines, strict=True))
        ]

    def fields(self, known: Collection[str], hints: Mapping[str, str], expected: str = "a mapping") -> dict[str, Node]:
        """A mapping whose keys are fixed; an unknown one is an error with a hint or a near match."""
        found = self.mapping(expected)
        for key in [key for key in found if key not in known]:
            hint = f"; {hints[key]}" if key in hints else near(key, known)
            Node(None, self.path, self.problems, found.pop(key).line).wrong(f"unknown key `{shown(key)}`{hint}")
        return found

    def text(self, expected: str = "text") -> str:
        """A text, as written."""
        if isinstance(self.value, str):
            return str(self.value)
        self.wrong(f"expected {expected}")
        return ""

    def filled(self, expected: str) -> str:
        """A text that holds more than blanks."""
        if isinstance(self.value, str) and self.value.strip():
            return str(self.value)
        self.wrong(f"expected {expected}")
        return ""

    def literal(self) -> str:
        """Text that YAML has not retyped, or a decimal integer as written (SPEC 2.6, ``env``)."""
        value = self.value
        if isinstance(value, int) and not isinstance(value, bool):
            written = str(getattr(value, "written", int(value)))
            if _DECIMAL.fullmatch(written):
                return written
            self.wrong("read as another number; quote it")
        elif isinstance(value, list | tuple | Mapping):
            self.wrong(f"expected text, not {kind_of(value)}")
        elif isinstance(value, WrittenDate) or not isinstance(value, str):
            self.wrong(f"read as {kind_of(value)}; quote it")
        elif "\0" in value:
            self.wrong("holds a NUL character, which no environment or argument can carry; leave it out")
        else:
            return value
        return ""

    def boolean(self) -> bool:
        if isinstance(self.value, bool):
            return self.value
        self.wrong("expected true or false")
        return False

    def unique(self, expected: str) -> Iterator[tuple[Node, str]]:
        """The texts of a list, each once, with their nodes."""
        seen = set()
        for item in self.sequence(expected):
            if not isinstance(item.value, str):
                item.wrong(f"expected text, not {kind_of(item.value)}; quote it")
            elif item.value in seen:
                item.wrong(f"`{shown(item.value)}` stands twice; keep one")
            else:
                seen.add(item.value)
                yield item, item.value


def kind_of(value: object) -> str:
    """What a value is, in the words of a YAML author."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, WrittenDate):
        return "a date"
    return _KINDS.get(type(value).__name__, f"a {type(value).__name__}")


_KINDS = {
    "NoneType": "null",
    "bool": "true or false",
    "int": "a number",
    "WrittenInt": "a number",
    "float": "a number with a point",
    "WrittenFloat": "a number with a point",
    "str": "text",
    "list": "a list",
    "tuple": "a list",
    "datetime": "a date",
}


def shown(key: str) -> str:
    """A key as a message shows it: on one line, and not too long."""
    return key if key.isprintable() and len(key) <= 64 else repr(key[:64])


def positive(value: object) -> bool:
    """Whether *value* is a finite number above 0; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
