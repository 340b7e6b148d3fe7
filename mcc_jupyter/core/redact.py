"""Bytes and data that may hold a secret → the same with marks in its place (SPEC 8.2, raw values).

1. Redaction is done on bytes, before decoding. Any chunking of a stream gives what redacting the whole would give.
2. Overlapping matches are one mark. A mark names the variable and shows no character and no length.
3. Values under 8 characters and common words are not redacted, because ordinary text would be harmed; they are listed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

SHORTEST = 8
"""Characters a value needs to be redacted (SPEC 8.1)."""

_COMMON = frozenset(
    "password passw0rd changeme administrator anonymous undefined disabled enabled localhost 127.0.0.1 development"
    " production staging default testing postgres postgresql database username example.com".split()
)

_NO_BYTES = re.compile("([\ud800-\udc7f\udd00-\udfff]+)")
"""Halves of a character, which JSON may hold and no stream of bytes can."""


class Redactor:
    """Knows the secrets of one call, by name."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self.counts: Counter[str] = Counter()
        """Marks set so far, by name."""
        self._secrets: dict[bytes, str] = {}
        skipped = []
        for name, value in secrets.items():
            if _is_ordinary(value):
                if value.strip():
                    skipped.append(name)
            else:
                self._secrets.setdefault(_encoded(value), name)
        self.skipped = tuple(skipped)
        """Names whose values are too short or too common to be redacted."""

    def __bool__(self) -> bool:
        return bool(self._secrets)

    def stream(self) -> Stream:
        """A new stream; one for stdout, one for stderr."""
        return Stream(self)

    def data(self, value: object) -> object:
        """JSON data with every string redacted, keys too, and numbers that spell a secret."""
        if not self._secrets:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(key)): self.data(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.data(item) for item in value]
        if isinstance(value, int | float) and not isinstance(value, bool):
            written = _number(value)
            return self.text(written) if self.holds_secret(written) else value
        return value

    def text(self, text: str) -> str:
        if not self._secrets:
            return text
        parts = _NO_BYTES.split(text)  # every other part is such a half, and stays
        parts[::2] = [self._part(part) for part in parts[::2]]
        return "".join(parts)

    def _part(self, text: str) -> str:
        data = _encoded(text)
        return self._replaced(data, len(data))[0].decode("utf-8", "surrogateescape")

    def holds_secret(self, text: str) -> bool:
        parts = [_encoded(part) for part in _NO_BYTES.split(text)[::2]]
        return any(secret in part for part in parts for secret in self._secrets)

    def _spans(self, data: bytes, covered: int) -> list[tuple[int, int, str]]:
        """Merged spans of all matches; a merged span takes the name of the match that begins it, the longest first.

        The first *covered* bytes belong to a mark that has been set; their span has no name.
        """
        found = []
        for secret, name in self._secrets.items():
            start = data.find(secret)
            while start >= 0:
                found.append((start, -len(secret), name))
                start = data.find(secret, start + 1)
        merged = [(0, covered, "")] if covered else []
        for start, negative, name in sorted(found):
            end = start - negative
            if merged and start < merged[-1][1]:
                first, last, kept = merged[-1]
                merged[-1] = (first, max(last, end), kept)
            else:
                merged.append((start, end, name))
        return merged

    def _replaced(self, data: bytes, until: int, covered: int = 0) -> tuple[bytes, int]:
        """``data[:until]`` with its marks, and how many of the bytes after it the last mark covers."""
        pieces, at = [], 0
        for start, end, name in self._spans(data, covered):
            if name and start >= until:
                break
            if name:
                self.counts[name] += 1
                pieces += [data[at:start], b"[redacted:%s]" % name.encode()]
            at = end
        return b"".join([*pieces, data[at:until]]), max(0, at - until)

    def _held(self, data: bytes) -> int:
        """From where on *data* has to wait, because its end may be the beginning of a secret."""
        hold = len(data)
        for secret in self._secrets:
            for length in range(min(len(secret) - 1, len(data)), len(data) - hold, -1):
                if data.endswith(secret[:length]):
                    hold = len(data) - length
                    break
        return hold


class Stream:
    """One stream of bytes through a redactor: ``feed`` gives what is safe to show, ``close`` the rest."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._kept = b""
        self._covered = 0
        """How many bytes at the front of what is kept a mark stands for already."""

    def feed(self, chunk: bytes) -> bytes:
        if not self._redactor:
            return chunk
        data = self._kept + chunk
        hold = self._redactor._held(data)
        shown, self._covered = self._redactor._replaced(data, hold, self._covered)
        self._kept = data[hold:]
        return shown

    def close(self) -> bytes:
        kept, self._kept = self._kept, b""
        shown, self._covered = self._redactor._replaced(kept, len(kept), self._covered)
        return shown


def _encoded(text: str) -> bytes:
    """As the text stands in a stream; what an environment holds that is no UTF-8 becomes its bytes again."""
    return text.encode("utf-8", "surrogateescape")


def _number(value: float) -> str:
    try:
        return str(value)
    except ValueError:  # more than the 4,300 digits that Python writes of an integer
        from decimal import Decimal

        return str(Decimal(value))


def _is_ordinary(value: str) -> bool:
    """Whether so much text holds *value* that marks would harm it (SPEC 8.1)."""
    short_number = value.isdigit() and len(value) < 10
    return len(value) < SHORTEST or short_number or value.isspace() or value.lower() in _COMMON
