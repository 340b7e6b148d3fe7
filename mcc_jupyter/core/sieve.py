"""Many texts → those that may hold a secret, in little more time than it takes to read them (SPEC 8.4).

1. What is not among them holds nothing that ``scan`` would find. What is among them is for ``scan`` to look at.
2. All texts are searched together, in a few passes in which no Python code runs for a byte.
3. A text that was clean is known by its hash and not searched again: most of a notebook is as it was at its last save.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from .credentials import SHAPES, credentials_in
from .redact import Redactor
from .scan import without_colours
from .secret_forms import SHORTEST, as_bytes
from .secret_search import search_for
from .secret_views import squeezed, unjoined, without_sequences
from .secret_words import Lookup

_END = b"\xff"
"""Between two texts; no text that can be encoded has this byte."""

_RUN = 20
"""Letters, digits, ``_``, ``-`` and ``.`` that every key of most formats has in a row, its prefix among them."""
_CLASSES = bytes(
    ord("a") if chr(code).isascii() and (chr(code).isalnum() or chr(code) in "_-.") else ord(" ") for code in range(256)
)
_ELSEWHERE = {"slack-webhook", "azure-storage-key", "private-key"}
"""Formats with other characters in them."""
_LITERALS = (b"whsec_", *(text.encode() for shape in SHAPES if shape.slug in _ELSEWHERE for text in shape.prefixes))
_PREFIX = re.compile(
    b"|".join(re.escape(text.encode()) for shape in SHAPES if shape.slug not in _ELSEWHERE for text in shape.prefixes)
)
_LOGIN = re.compile(rb"://[^\s/:@]*+:[^\s/@]++@")

_MEMORABLE = 256
"""Characters of a text from which on it is worth to remember it."""
_REMEMBERED = 200_000


@dataclass(frozen=True, slots=True)
class Text:
    """One text of a part of a notebook. In a picture, as in an id, only known values are looked for."""

    part: int
    text: str = field(repr=False)
    is_picture: bool = False


class Sieve:
    """Looks for *secrets* and for keys of the well-known formats. May be used by several threads."""

    def __init__(self, secrets: Iterable[tuple[str, str]]) -> None:
        self._redactor = Redactor(secrets)
        pieces = search_for(self._redactor.secrets).pieces if self._redactor else ()
        self._lookup = Lookup(pieces)
        self._clean: set[int] = set()

    def suspects(self, texts: Iterable[Text]) -> set[int]:
        """The parts of the texts that may hold something."""
        fresh = [text for text in texts if len(text.text) >= SHORTEST and _mark(text) not in self._clean]
        suspected = {number for number in self._candidates(fresh) if self._holds(fresh[number])}
        if len(self._clean) > _REMEMBERED:
            self._clean.clear()
        self._clean.update(
            _mark(text)
            for number, text in enumerate(fresh)
            if number not in suspected and len(text.text) >= _MEMORABLE
        )
        return {fresh[number].part for number in suspected}

    def _holds(self, text: Text) -> bool:
        return self._redactor.holds_secret(text.text) or any(credentials_in(without_colours(text.text)))

    def _candidates(self, texts: Sequence[Text]) -> set[int]:
        """The numbers of the texts in which a piece of a secret stands, or the prefix of a format."""
        found: set[int] = set()
        entries: tuple[list[bytes], list[bytes]] = ([], [])
        numbers: tuple[list[int], list[int]] = ([], [])
        for number, text in enumerate(texts):
            try:
                data = text.text.encode()
            except UnicodeEncodeError:  # half of a character: rare, and not the same bytes for every reader
                found.add(number)
                continue
            read = unjoined(data)
            readings = [data] if read is data else [data, read]
            if b"\x1b" in data:
                readings += [*map(without_sequences, readings), as_bytes(without_colours(text.text))]
            entries[text.is_picture].extend(readings)
            numbers[text.is_picture].extend([number] * len(readings))
        for is_picture in (False, True):
            data = _END.join(entries[is_picture])
            packed = squeezed(data) if self._redactor else b""
            found.update(numbers[is_picture][at] for at in _entries(packed, self._known(packed)))
            if not is_picture:
                found.update(numbers[is_picture][at] for at in _entries(data, _formats(data)))
        return found

    def _known(self, packed: bytes) -> Iterator[int]:
        for piece, start in self._lookup.found(packed):
            if start >= 0:
                yield start
            else:
                yield from _places(packed, piece)


def _mark(text: Text) -> int:
    return hash(text.text) ^ text.is_picture


def _entries(data: bytes, places: Iterable[int]) -> Iterator[int]:
    """The entries of *data* in which the *places* are."""
    entry = at = 0
    for place in sorted(places):
        entry, at = entry + data.count(_END, at, place), place
        yield entry


def _formats(data: bytes) -> Iterator[int]:
    """Where keys of the well-known formats may be."""
    for literal in _LITERALS:
        yield from _places(data, literal)
    if b"@" in data:
        yield from (place for place in _places(data, b"://") if _LOGIN.match(data, place))
    runs = list(_runs(data.translate(_CLASSES)))
    yield from (start for start, end in runs if _PREFIX.search(data, start, end))


def _runs(classes: bytes) -> Iterator[tuple[int, int]]:
    end, run = 0, b"a" * _RUN
    while (start := classes.find(run, end)) >= 0:
        end = classes.find(b" ", start + _RUN)
        end = len(classes) if end < 0 else end
        yield start, end


def _places(data: bytes, literal: bytes) -> Iterator[int]:
    at = data.find(literal)
    while at >= 0:
        yield at
        at = data.find(literal, at + 1)
