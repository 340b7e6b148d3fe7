"""What may be known of a value without seeing it: its class (SPEC 11.2).

1. A report depends on names and classes only, so a text composed of parts gets its class from the parts' classes,
   never from the composed value.
2. A class says nothing about length, content or equality.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum

VARIABLE_LIMIT = 131_071
"""Bytes that one ``NAME=value`` string may have on Linux, without its NUL (SPEC 4.10)."""

SECRET_LIMIT = 524_288
"""Bytes that a value may have for which output is searched (SPEC 8.2): to prepare the search takes time and memory."""

_SCHEMES = re.compile(
    r"(?:pass|op|keyring|vault|bws|akv|awssm|gcpsm|secret|ref\+\w+)://\S|(?:vault|keyring):\S", re.A
)


class ValueClass(Enum):
    """The seven classes of SPEC 11.2."""

    ABSENT = "absent"
    EMPTY = "empty"
    BLANK = "blank"
    FUNCTION = "shell function"
    UNRESOLVED = "unresolved reference"
    OVERSIZED = "oversized"
    SET = "set"


def classify(value: str | None) -> ValueClass:
    """The class of one value as it stands in an environment; None is absent."""
    if value is None:
        return ValueClass.ABSENT
    if not value:
        return ValueClass.EMPTY
    if value.startswith("()"):
        return ValueClass.FUNCTION
    if len(value) > VARIABLE_LIMIT // 4 and len(value.encode("utf-8", "surrogateescape")) >= VARIABLE_LIMIT:
        return ValueClass.OVERSIZED
    if value.isspace():
        return ValueClass.BLANK
    return ValueClass.UNRESOLVED if _SCHEMES.match(value) else ValueClass.SET


_SHAPES = {
    ValueClass.ABSENT: "",
    ValueClass.EMPTY: "",
    ValueClass.BLANK: " ",
    ValueClass.FUNCTION: "()",
    ValueClass.SET: "x",
}
"""A text for each class that says as little as the class does."""


def compose(parts: Iterable[str | ValueClass]) -> ValueClass:
    """The class of a text made of literal strings and of values known by class only.

    An unresolved reference anywhere makes the whole text one: nothing useful begins with ``postgres://u:pass://…``.
    """
    kept = tuple(parts)
    for strong in (ValueClass.OVERSIZED, ValueClass.UNRESOLVED):
        if strong in kept:
            return strong
    return classify("".join(part if isinstance(part, str) else _SHAPES[part] for part in kept))
