"""Many spellings and a text → which of them stand in it, and where.

1. No Python code runs for a byte of the text until there is a likely place: text is much, and secrets in it are few.
2. How to look is decided from the spellings alone. After much text an automaton takes over where it is quicker, if
   ``ahocorasick_rs`` is installed; to make one takes as long as it takes to search some megabytes.
3. Every way gives the same places. Only their order differs, and how often one is told.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Collection, Iterator
from typing import Literal

Code = Literal["I", "Q"]
"""Words of four or of eight bytes."""

Way = tuple[Code, int, int]
"""Words, the bytes from the beginning of one to that of the next, and what it costs: how many spellings could be looked
for one by one in the same time."""

Found = list[tuple[bytes, int]]
"""Spellings and where they begin; -1 for one that may stand anywhere."""

_LONG: Way = ("Q", 32, 6)
_WAYS: tuple[Way, ...] = (_LONG, ("I", 32, 6), ("Q", 16, 10), ("I", 16, 10), ("Q", 8, 20), ("I", 8, 20), ("I", 4, 35))

_NUMERIC = re.compile(rb"[0-9A-Fa-f:% ]*")
_ALARMS = 10
"""What it costs that four characters of such a spelling are those of a number or a time, too: many a line has some."""

_BLOCK = 512
"""Words that are looked at together: one that is of a spelling is no reason to look at each of a text."""

_AUTOMATON = 8
"""What an automaton costs, in the same measure, whatever the spellings are."""
_MAKING = 2_000
"""Bytes of text in which it gains, for each such cost that it spares, the time that making it takes for a byte of a
spelling."""
_LARGEST = 120_000
"""Bytes of spellings for which one is made; it takes some two hundred times as much memory, and 32 MB are enough."""


class Lookup:
    """Looks for many spellings at once, in text after text."""

    def __init__(self, spellings: Collection[bytes]) -> None:
        self._spellings = spellings
        self.singly, self.words, cost = _plan(spellings)
        """Those that are looked for one by one, and the words of the others."""
        self._automaton: Callable[[bytes], Found] | None = None
        size = sum(map(len, spellings))
        self.pays_after = size * _MAKING / (cost - _AUTOMATON) if cost > _AUTOMATON and size <= _LARGEST else None
        """Bytes of text after which an automaton will have been worth making, if ever."""
        self._seen = 0

    def found(self, text: bytes) -> Found:
        if self._automaton is not None:
            return self._automaton(text)
        self._seen += len(text)
        if self.pays_after is not None and self._seen > self.pays_after:
            self.pays_after = None
            self._automaton = automaton(self._spellings)
        found = [(spelling, -1) for spelling in self.singly if spelling in text]
        for words in self.words:
            found += words.found(text)
        return found


class Words:
    """Looks for spellings by their words.

    Each has at least ``stride + width - 1`` bytes. So, wherever one stands, one of the words that begin at every
    *stride*-th byte of the text is one of the first *stride* words of its middle.
    """

    def __init__(self, code: Code, stride: int, spellings: Collection[bytes]) -> None:
        self.code, self.stride = code, stride
        self._spellings = list(spellings)
        self._width = width = struct.calcsize(code)
        self._record = record = stride + width
        # The middle, because texts often have their beginning or their end in common.
        middles = [text[self._middle(text) :][: record - 1] for text in self._spellings]
        self._packed = packed = b"".join([middle + b"\0" for middle in middles])
        self._words: set[int] = set()
        self._places: dict[int, Found] = {}
        for shift in range(width):
            words = memoryview(packed[shift:] + bytes(shift)).cast(code)
            for at in range(stride // width):
                self._words.update(words[at :: record // width])

    def found(self, text: bytes) -> Found:
        """The spellings in *text* and where; -1 for one that looks alike in several places and may stand anywhere."""
        size = len(text) - len(text) % self._width
        if not size:
            return []
        samples = memoryview(text)[:size].cast(self.code)[:: self.stride // self._width]
        known, places, found = self._words, self._places, []
        for first in range(0, len(samples), _BLOCK):
            block = samples[first : first + _BLOCK]
            if known.isdisjoint(block):
                continue
            for number, word in [(number, word) for number, word in enumerate(block, first) if word in known]:
                for spelling, place in places.get(word) or self._having(word):
                    start = number * self.stride - place
                    if place < 0:
                        found.append((spelling, -1))
                    elif start >= 0 and text.startswith(spelling, start):
                        found.append((spelling, start))
        return found

    def _having(self, word: int) -> Found:
        """The spellings with *word* and its place in them, -1 if there is more than one."""
        places: dict[bytes, int] = {}
        key = struct.pack(self.code, word)
        at = self._packed.find(key)
        while at >= 0:
            number, offset = divmod(at, self._record)
            if offset < self.stride:
                spelling = self._spellings[number]
                places[spelling] = -1 if spelling in places else self._middle(spelling) + offset
            at = self._packed.find(key, at + 1)
        self._places[word] = list(places.items())
        return self._places[word]

    def _middle(self, spelling: bytes) -> int:
        return (len(spelling) - self._record + 1) // 2


def automaton(spellings: Collection[bytes]) -> Callable[[bytes], Found] | None:
    """All of *spellings* in one pass; None where ``ahocorasick_rs`` is not installed."""
    try:
        from ahocorasick_rs import BytesAhoCorasick, Implementation
    except ImportError:
        return None
    # One that repeats itself could be found at every byte.
    singly = [spelling for spelling in spellings if spelling.find(spelling[: (len(spelling) + 1) // 2], 1) > 0]
    others = list({*spellings}.difference(singly))
    made = BytesAhoCorasick(others, implementation=Implementation.DFA)

    def found(text: bytes) -> Found:
        matches = made.find_matches_as_indexes(text, overlapping=True)
        places = [(others[number], start) for number, start, _ in matches]
        return [*places, *((spelling, -1) for spelling in singly if spelling in text)]

    return found


def _plan(spellings: Collection[bytes]) -> tuple[list[bytes], list[Words], float]:
    """The quickest way to look for *spellings*: those to look for one by one, the words of the others, and the cost."""
    parted = [text for text in spellings if len(text) < _least(_LONG)]
    best: list[tuple[Way, list[bytes]]] = []
    cheapest = len(spellings)
    for plan in _plans(list(spellings), parted):
        covered = sum(len(texts) for _, texts in plan)
        cost = len(spellings) - covered + sum(_cost(way, texts) for way, texts in plan)
        if cost < cheapest:
            best, cheapest = plan, cost
    words = [Words(code, stride, texts) for (code, stride, _), texts in best]
    known = {text for _, texts in best for text in texts}
    return [text for text in spellings if text not in known], words, cheapest


def _plans(spellings: list[bytes], short: list[bytes]) -> Iterator[list[tuple[Way, list[bytes]]]]:
    """One way for all that it fits, or one for the *short* and the quickest for the others."""
    long = _fitting(_LONG, spellings)
    for way in _WAYS:
        yield [(way, _fitting(way, spellings))]
    for way in _WAYS:
        yield [(way, _fitting(way, short)), (_LONG, long)]


def _fitting(way: Way, spellings: list[bytes]) -> list[bytes]:
    least = _least(way)
    return [text for text in spellings if len(text) >= least]


def _least(way: Way) -> int:
    """Bytes a spelling needs to be found by the words of *way*."""
    code, stride, _ = way
    return stride + struct.calcsize(code) - 1


def _cost(way: Way, spellings: list[bytes]) -> int:
    code, _, cost = way
    if not spellings:
        return 0
    return cost + _ALARMS * (code == "I" and any(_NUMERIC.fullmatch(text) for text in spellings))
