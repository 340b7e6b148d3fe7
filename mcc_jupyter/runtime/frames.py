"""What goes to a supervisor and comes from a function, as bytes: a block of variables, an answer on descriptor 8."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import chain

ANSWER_LIMIT = 64 * 1024 * 1024
"""Bytes of an answer on descriptor 8; a larger one is dropped, with a note."""


class Answer:
    """What came on descriptor 8, and whether it is a whole answer: a frame of 8 hex digits, a newline and a body."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.dropped = False

    def feed(self, chunk: bytes) -> None:
        if self.dropped or len(self.data) + len(chunk) > ANSWER_LIMIT:
            self.dropped, self.data = True, bytearray()
        else:
            self.data += chunk

    @property
    def complete(self) -> bool:
        """Of a call. A body that begins with an id is one of several (SPEC 2.8); only the end says it was the last."""
        try:
            size = int(bytes(self.data[:8]), 16)
        except ValueError:
            return False
        return len(self.data) >= 9 + size and not self.data.startswith(b'{"id"', 9)


def block(environ: Mapping[str, str]) -> bytes:
    """Names and values in turn, a NUL between each two. One inside of them would make others of what follows."""
    text = "\0".join(chain.from_iterable(environ.items()))
    if text.count("\0") != max(0, 2 * len(environ) - 1):
        raise HoldsNul
    return encoded(text)


class HoldsNul(ValueError):
    """A variable holds a NUL character."""


def encoded(text: str) -> bytes:
    return text.encode(sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())
