"""The text of a JSON document → where its strings stand, so that one can be changed while all else stays as written.

1. The text is valid JSON; who calls has made sure. Then a token is told by its first character alone.
2. An edit is made in the string's own spelling: what is not replaced keeps its escapes, byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

Path = tuple[str | int, ...]
"""The keys and places that lead to a value."""

_TOKENS = re.compile(r'(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+")(?P<colon>[ \t\r\n]*+:)?|[\[\]{},]')
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\."  # the first: one character
)


@dataclass(frozen=True, slots=True)
class JsonString:
    """One string. The path of a key ends in that key; ``start`` and ``end`` are the place of what is in the quotes."""

    path: Path = field(repr=False)
    is_key: bool
    start: int
    end: int
    text: str = field(repr=False)


def strings(document: str) -> Iterator[JsonString]:
    """Every string of *document*, keys too, in their order."""
    path: list[str | int] = []
    for token in _TOKENS.finditer(document):
        first = document[token.start()]
        if first == '"':
            text = json.loads(token["string"], strict=False)
            is_key = token["colon"] is not None
            if is_key:
                path[-1] = text
            yield JsonString(tuple(path), is_key, token.start("string") + 1, token.end("string") - 1, text)
        elif first == "{":
            path.append("")
        elif first == "[":
            path.append(0)
        elif first == ",":
            last = path[-1]
            path[-1] = last + 1 if isinstance(last, int) else last
        else:
            path.pop()


def places(raw: str, wanted: Iterable[int]) -> list[int]:
    """Where in *raw*, the spelling of a text, its characters *wanted* begin; these are sorted."""
    escapes = _ESCAPE.finditer(raw)
    escape = next(escapes, None)
    longer = 0  # than the text, up to here
    found = []
    for at in wanted:
        while escape is not None and escape.start() - longer < at:
            longer += len(escape[0]) - 1
            escape = next(escapes, None)
        found.append(at + longer)
    return found
