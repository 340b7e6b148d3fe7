"""Spellings of secrets and a piece of a stream → the spans that have to be hidden, and what has to wait (SPEC 8.2).

1. A spelling is compared without white space, in each way to read the text (``secret_views``), so that neither
   wrapping nor colours hide a secret. Blanks inside a line have to stand where the secret has some, and only there.
2. Every rule is about the matched bytes and what lies between them. So any way to cut a stream gives the same spans,
   and what has to wait is known exactly.
3. A line break after the first six bytes or less: these stay visible, so that a line that ends with a letter that some
   spelling begins with can be shown before the next one comes.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from .secret_forms import SHORTEST, spellings
from .secret_views import GAP, VISIBLE, Place, View, before_joint, sequence_across, squeezed, unjoined, unjoined_end
from .secret_words import Code, Lookup, Words

PIECE, OVERLAP = 1024, 32
"""A longer spelling is looked for in pieces that overlap, so that no more than a piece has to wait for its end."""

STRETCH = 32
"""How many times as long as the longest spelling a match may be. Colouring each character takes some 25 bytes."""

_FAR = re.compile(rb"\s{1024,}")
"""White space at which a secret is taken for two: it may be near to what a gap may have."""
_SPACES = re.compile(rb"\s+")

_HEAD = VISIBLE + 1
_LONG: tuple[Code, int] = ("Q", 16)
_NEAR = 23
"""Beginnings shorter than this are looked up one by one; a longer one has a word of ``_LONG``."""

Span = tuple[int, int, str, int]
"""First byte to be hidden, the negative of the end, name, first byte: sorted, of those that begin at a byte the longest
comes first."""

_Blanks = tuple[int, int]
"""Gaps of a spelling, as bits: where blanks may stand, and where white space must."""
_NO_BLANKS: _Blanks = (0, 0)


class Search:
    """All spellings of one set of secrets, ready to be looked for."""

    def __init__(self, secrets: Iterable[tuple[str, str]]) -> None:
        names: dict[bytes, str] = {}
        blanks: dict[bytes, _Blanks] = {}
        own: set[bytes] = set()
        reach = 0
        for name, value in secrets:
            for spelling in spellings(value):
                for piece, (may, must), size in _pieces(spelling, own):
                    reach = max(reach, size)
                    if piece in names:  # alike but for blanks
                        others = blanks.get(piece, _NO_BLANKS)
                        may, must = may | others[0], must & others[1]
                    if may or must:
                        blanks[piece] = may, must
                    names.setdefault(piece, name)
        self._names, self._blanks, self._own = names, blanks, frozenset(own)
        sizes = sorted(map(len, names))
        self.shortest, self._longest = sizes[0], sizes[-1]
        self._limit = GAP + STRETCH * reach
        self._lookup = Lookup(names)
        self._heads: dict[bytes, list[bytes]] = {}
        for text in names:
            self._heads.setdefault(text[:_HEAD], []).append(text)
        self._short = self._beginnings()
        self._long = Words(*_LONG, list({text[:_NEAR] for text in names if len(text) > _NEAR}))

    def _beginnings(self) -> dict[bytes, set[_Blanks]]:
        """Those that are shorter than a head."""
        found: dict[bytes, set[_Blanks]] = {}
        for head, texts in self._heads.items():
            kinds = {self._blanks.get(text, _NO_BLANKS) for text in texts}
            for size in range(1, len(head)):
                bits = (1 << size) - 1
                found.setdefault(head[:size], set()).update({(may & bits, must & bits) for may, must in kinds})
        return found

    @property
    def pieces(self) -> Collection[bytes]:
        """What is looked for, without line breaks: where a secret stands, one of these does."""
        return self._names.keys()

    def views(self, data: bytes) -> list[View]:
        """The ways to read *data* that have to be searched."""
        read = unjoined(data)
        return [view for text in ((data,) if read is data else (data, read)) for view in _plain_and_bare(text)]

    def spans(self, views: Iterable[View]) -> list[Span]:
        """Every match in *views*, in no order. Of matches that only repeat what others cover some may be left out."""
        return [span for view in views for span in self._matches(view)]

    def waiting(self, data: bytes, views: list[View], spans: list[Span]) -> tuple[int, int]:
        """From where on *data* has to wait, because its end may be the beginning of a match, and from where on to keep.

        What is kept without having to wait is needed to recognise what comes next. *spans*: those of *views*.
        """
        wait = keep = len(data)
        read = views[-1].data
        end = unjoined_end(data, read)
        if end is not read:
            views = [*views, *_plain_and_bare(end)]
        for view in map(self._end, views):
            for start in self._begun(view.text):
                place = view.open(start, self._limit, self._own)
                if place is not None and self._may_go_on(view.text[start:], place):
                    keep, wait = min(keep, place.first), min(wait, place.hidden)
        keep = min([keep, *(first for hidden, _, _, first in spans if hidden >= wait)])
        if end is not data:
            keep = before_joint(data, keep)
        if len(views) > 1:
            token = sequence_across(data, keep)
            keep = keep if token is None else token.start()
        return wait, keep

    def _matches(self, view: View) -> Iterator[Span]:
        anywhere = []
        for spelling, start in self._lookup.found(view.text):
            if start < 0:
                anywhere.append(spelling)
            elif (span := self._match(view, spelling, start)) is not None:
                yield span
        for spelling in dict.fromkeys(anywhere):
            size = len(spelling)
            start = view.text.find(spelling)
            while start >= 0:
                if (span := self._match(view, spelling, start)) is not None:
                    yield span
                # One that overlaps itself again and again: the last that overlaps this one covers those between.
                last = view.text.rfind(spelling, start + 1, start + 2 * size - 1)
                if last < 0 or not view.is_one_piece(start, last + size):
                    last = view.text.find(spelling, start + 1)
                start = last

    def _match(self, view: View, spelling: bytes, start: int) -> Span | None:
        place = view.place(start, len(spelling), self._limit, self._own)
        if place is None or not _fits(self._blanks.get(spelling, _NO_BLANKS), place):
            return None
        return place.hidden, -place.end, self._names[spelling], place.first

    def _end(self, view: View) -> View:
        """The end of *view*, long enough for the beginning of every spelling."""
        for times in (2, 8, 32):  # where each word has its colour, a tenth of the bytes are text
            cut = len(view.data) - times * self._longest
            if cut <= 0:
                break
            end = view.since(cut)
            if len(end.text) >= self._longest:
                return end
        return view

    def _begun(self, text: bytes) -> Iterator[int]:
        """Where the beginnings of spellings start with which *text* ends."""
        size = len(text)
        for start in range(size - 1, max(size - _HEAD, -1), -1):
            if text[start:] in self._short:
                yield start
        near = range(size - _HEAD, max(size - _NEAR, -1), -1)
        first = max(size - self._longest + 1, 0)
        far = [start for _, start in self._long.found(text[first:])]
        if -1 in far:  # a beginning that repeats itself
            far = list(range(size - first))
        for start in (*near, *(first + start for start in far)):
            if self._begins(text, start):
                yield start

    def _begins(self, text: bytes, start: int) -> bool:
        """Whether some spelling begins with all of *text* from *start* on, and goes on."""
        return text[start : start + _HEAD] in self._heads and any(self._going_on(text[start:]))

    def _going_on(self, rest: bytes) -> Iterator[bytes]:
        """The spellings that begin with *rest*, which has a head, and go on."""
        for spelling in self._heads[rest[:_HEAD]]:
            if len(spelling) > len(rest) and spelling.startswith(rest):
                yield spelling

    def _may_go_on(self, rest: bytes, place: Place) -> bool:
        """The same with a view to blanks."""
        if len(rest) < _HEAD:
            return any(_fits(blanks, place) for blanks in self._short[rest])
        bits = (1 << len(rest)) - 1
        kinds = (self._blanks.get(spelling, _NO_BLANKS) for spelling in self._going_on(rest))
        return any(_fits((may, must & bits), place) for may, must in kinds)


def _plain_and_bare(data: bytes) -> list[View]:
    return [View(data), View(data, bare=True)] if b"\x1b" in data else [View(data)]


def _fits(blanks: _Blanks, place: Place) -> bool:
    """Whether blanks stand where they may, and white space where it must."""
    may, must = blanks
    return not place.blanks & ~may and not must & ~place.gaps


def _pieces(spelling: bytes, own: set[bytes]) -> Iterator[tuple[bytes, _Blanks, int]]:
    """*spelling*, or what it is looked for by if it is long, without white space; its blanks; and its size with them.

    Where all of it stands, its pieces cover all of it. *own* gets its beginnings before its own line breaks, as far as
    those would stay visible.
    """
    for part in _FAR.split(spelling):
        text = squeezed(part)
        if len(text) == len(part):
            yield from ((piece, _NO_BLANKS, len(piece)) for _, piece in _cut(text) if len(piece) >= SHORTEST)
        else:
            yield from _with_blanks(part.strip(), text, own)


def _with_blanks(part: bytes, text: bytes, own: set[bytes]) -> Iterator[tuple[bytes, _Blanks, int]]:
    offsets, sizes, breaks = [], [0], []
    for gap in _SPACES.finditer(part):
        offsets.append(gap.start() - sizes[-1])
        sizes.append(sizes[-1] + len(gap[0]))
        breaks.append(b"\n" in gap[0] or b"\r" in gap[0])
        if breaks[-1] and offsets[-1] <= VISIBLE:
            own.add(text[: offsets[-1]])
    if len(text) + breaks.count(False) < SHORTEST:
        return
    for start, piece in _cut(text):
        first, last = bisect_left(offsets, start + 1), bisect_left(offsets, start + len(piece))
        may = must = 0
        for number in range(first, last):
            bit = 1 << (offsets[number] - start)
            may |= bit
            must |= 0 if breaks[number] else bit
        yield piece, (may, must), len(piece) + sizes[last] - sizes[first]


def _cut(text: bytes) -> Iterator[tuple[int, bytes]]:
    for start in range(0, max(1, len(text) - OVERLAP), PIECE - OVERLAP):
        start = start if start == 0 or start + PIECE < len(text) else len(text) - PIECE
        yield start, text[start : start + PIECE]


@lru_cache(maxsize=8)
def search_for(secrets: tuple[tuple[str, str], ...]) -> Search:
    """The search for these names and values; of the last sets it is kept, because each call of a tool needs it."""
    return Search(secrets)
