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
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from .secret_forms import SHORTEST, spellings
from .secret_views import (
    AS_BLANK,
    GAP,
    SPACE,
    VISIBLE,
    Place,
    View,
    around_spaces,
    before_joint,
    sequence_across,
    squeezed,
    unjoined,
    unjoined_end,
)
from .secret_words import Code, Lookup, Words

PIECE, OVERLAP = 1024, 32
"""A longer spelling is looked for in pieces that overlap, so that no more than a piece has to wait for its end."""

STRETCH = 32
"""How many times as long as the longest spelling a match may be. Colouring each character takes some 25 bytes."""

_FAR = 1024
"""Bytes of white space at which a secret is taken for two: it may be near to what a gap may have."""
_FARTHER = re.compile(rb"\s{%d,}" % _FAR)
_BREAKS = re.compile(rb"\s*[\r\n]\s*")
_ZEROS = bytes(code if code in SPACE else ord("0") for code in range(256))
_PAIRS = sum(1 << place for place in range(2, PIECE, 2))
"""Blanks between the bytes of a dump."""

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
        self._sorted, self._spaced = sorted(names), sorted(blanks)
        self._long = Words(*_LONG, list({text[:_NEAR] for text in names if len(text) > _NEAR}))

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
        near = range(size - 1, max(size - _NEAR, -1), -1)
        first = max(size - self._longest + 1, 0)
        far = [start for _, start in self._long.found(text[first:])]
        if -1 in far:  # a beginning that repeats itself
            far = list(range(size - first))
        for start in (*near, *(first + start for start in far)):
            if next(_going_on(self._sorted, text[start:]), None) is not None:
                yield start

    def _may_go_on(self, rest: bytes, place: Place) -> bool:
        """Whether some spelling begins with *rest*, which stands at *place*, also with a view to blanks."""
        bits = (1 << len(rest)) - 1
        for spelling in _going_on(self._spaced if place.blanks else self._sorted, rest):
            may, must = self._blanks.get(spelling, _NO_BLANKS)
            if _fits((may, must & bits), place):
                return True
        return False


def _going_on(spellings: list[bytes], rest: bytes) -> Iterator[bytes]:
    """Those of the sorted *spellings* that begin with *rest* and go on."""
    for number in range(bisect_left(spellings, rest), len(spellings)):
        if not spellings[number].startswith(rest):
            break
        if len(spellings[number]) > len(rest):
            yield spellings[number]


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
    text = squeezed(spelling)
    if len(text) == len(spelling):
        yield from ((piece, _NO_BLANKS, len(piece)) for _, piece in _cut(text) if len(piece) >= SHORTEST)
    elif len(text) > PIECE and spelling[2::3] == b" " * (len(spelling) - len(text)) == b" " * ((len(text) - 1) // 2):
        yield from ((piece, (_PAIRS, _PAIRS), 3 * PIECE // 2) for _, piece in _cut(text))  # a long dump: a short cut
    else:
        is_far = b" " * _FAR in spelling.translate(AS_BLANK)
        for part in _FARTHER.split(spelling) if is_far else (spelling,):
            yield from _with_blanks(part, own)


def _with_blanks(part: bytes, own: set[bytes]) -> Iterator[tuple[bytes, _Blanks, int]]:
    one_line = _BREAKS.sub(b"", part)
    text, all_gaps, blank_gaps = squeezed(part), _gaps(part), _gaps(one_line)
    if len(text) + blank_gaps.count(b"1") < SHORTEST:
        return
    if all_gaps != blank_gaps:
        beginning = b""
        for line in _BREAKS.split(part[: VISIBLE * _FAR]):
            if len(beginning := beginning + squeezed(line)) > VISIBLE:
                break
            own.add(beginning)
    texts, raws = around_spaces(part)
    for start, piece in _cut(text):
        end = start + len(piece)
        first, last = bisect_right(texts, start) - 1, bisect_right(texts, end - 1) - 1
        may, must = (int(gaps[start + 1 : end][::-1] + b"0", 2) for gaps in (all_gaps, blank_gaps))
        yield piece, (may, must), end - start + raws[last] - texts[last] - raws[first] + texts[first]


def _gaps(part: bytes) -> bytes:
    """For each byte that is no white space whether some stands before it, as binary digits."""
    first, *words = part.translate(_ZEROS).split() or [b""]
    return b"1".join([first, *(word[1:] for word in words)])


def _cut(text: bytes) -> Iterator[tuple[int, bytes]]:
    for start in range(0, max(1, len(text) - OVERLAP), PIECE - OVERLAP):
        start = start if start == 0 or start + PIECE < len(text) else len(text) - PIECE
        yield start, text[start : start + PIECE]


@lru_cache(maxsize=8)
def search_for(secrets: tuple[tuple[str, str], ...]) -> Search:
    """The search for these names and values; of the last sets it is kept, because each call of a tool needs it."""
    return Search(secrets)
