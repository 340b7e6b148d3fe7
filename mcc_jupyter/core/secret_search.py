"""Spellings of secrets and a piece of a stream → the spans that have to be hidden, and what has to wait (SPEC 8.2).

1. A spelling is compared without line breaks and the indentation after them, and a second time without control
   sequences, so that neither wrapping nor colours hide a secret. Between two of its bytes lie at most ``GAP`` others.
2. Every rule is about the matched bytes and what lies between them, and a control sequence once begun is never taken
   for text by what follows it. So any way to cut a stream gives the same spans, and what has to wait is known exactly.
3. A line break after the first six bytes or less: these stay visible, so that a line that ends with a letter that some
   spelling begins with can be shown before the next one comes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate, compress
from operator import add, sub

from .secret_forms import SHORTEST, spellings
from .secret_words import Code, Lookup, Words

VISIBLE = 6
"""Bytes of a secret that may be shown (SPEC 8.2)."""

GAP = 4096
"""Bytes of line breaks, blanks and control sequences between two bytes of a secret; more of them end a match."""

PIECE, OVERLAP = 1024, 32
"""A longer spelling is looked for in pieces that overlap, so that no more than a piece has to wait for its end."""

STRETCH = 32
"""How many times as long as the longest spelling a match may be. Colouring each character takes some 25 bytes."""

_SHORT_LINE = 16
"""Bytes of a line; if most have fewer, it pays to see whether all blanks are ends of lines."""

_BLANKS = b" \t\r\f\v"
_BREAK = re.compile(rb"[\r\n]\s*")
_SEQUENCE = (
    rb"\x1b(?:\[[0-9;]{0,64}m"  # a colour: a case of the next, and by far the most frequent
    rb"|\[[0-?]{0,64}[ -/]{0,8}[@-~]?"  # CSI: colours, cursor, erasing
    rb"|[\]PX^_][^\x07\x1b\n]{0,4096}\x07?"  # OSC and its like: titles, links
    rb"|[ -/]{0,8}[0-~]?)"
)
"""A control sequence; of one that is never ended, what could have been a part of it."""
_TOKEN = re.compile(_SEQUENCE)
_GAP = rb"(?:%b|[\r\n](?:\s|%b)*)" % (_SEQUENCE, _SEQUENCE)
_BARE = re.compile(_GAP + _GAP + b"*")

_HEAD = VISIBLE + 1
_LONG: tuple[Code, int] = ("Q", 16)
_NEAR = 23
"""Beginnings shorter than this are looked up one by one; a longer one has a word of ``_LONG``."""

Span = tuple[int, int, str, int]
"""First byte to be hidden, the negative of the end, name, first byte: sorted, of those that begin at a byte the longest
comes first."""


def without_sequences(data: bytes) -> bytes:
    return b"".join(_TOKEN.split(data))


def _token_across(data: bytes, at: int) -> re.Match[bytes] | None:
    """The control sequence that begins before *at* and does not end there, or that may still go on."""
    begin = data.rfind(b"\x1b", 0, at)  # no sequence holds another one's first byte
    token = _TOKEN.match(data, begin) if begin >= 0 else None
    return token if token is not None and (token.end() > at or token.end() == len(data)) else None


class View:
    """A piece of a stream without line breaks (*bare*: nor control sequences), and the way back to its bytes."""

    def __init__(self, data: bytes, *, bare: bool = False, base: int = 0) -> None:
        self.data, self.base, self._bare = data, base, bare
        self.text = unbroken(without_sequences(data) if bare else data)
        self._found: tuple[list[int], list[int]] | None = None

    def since(self, cut: int) -> View:
        """The view of the bytes from about *cut* on."""
        token = _token_across(self.data, cut) if self._bare else None
        cut = cut if token is None else token.end()
        return View(self.data[cut:], bare=self._bare, base=cut)

    def raw(self, start: int, size: int, limit: int, own: frozenset[bytes]) -> tuple[int, int, int] | None:
        """Where the *size* bytes of the text at *start* stand: their first byte, the first to be hidden, and their end.

        None if too much lies between them. *own*: beginnings after which the secret itself has a line break.
        """
        texts, raws = self._pieces()
        at, last = bisect_right(texts, start) - 1, bisect_right(texts, start + size - 1) - 1
        first = hidden = raws[at] + start - texts[at]
        end = raws[last] + start + size - texts[last]
        if at < last and end - first > limit:
            return None
        for following in range(at + 1, last + 1):
            until = raws[following]
            since = raws[following - 1] + texts[following] - texts[following - 1]
            if until - since > GAP:
                return None
            if self._may_stay(start, texts[following] - start, since, until, own):
                hidden = until
        return self.base + first, self.base + hidden, self.base + end

    def open(self, start: int, limit: int, own: frozenset[bytes]) -> tuple[int, int] | None:
        """The same for all of the text from *start* on, which may go on: its first byte, and the first that waits."""
        size = len(self.text) - start
        found = self.raw(start, size, limit, own)
        if found is None:
            return None
        first, hidden, end = found
        whole = self.base + len(self.data)
        if whole - end > GAP or whole - first > limit:
            return None
        return first, whole if self._may_stay(start, size, end - self.base, len(self.data), own) else hidden

    def is_one_piece(self, start: int, end: int) -> bool:
        """Whether no gap lies between two bytes of the text."""
        texts, _ = self._pieces()
        return bisect_right(texts, start) == bisect_right(texts, end - 1)

    def _may_stay(self, start: int, size: int, since: int, until: int, own: frozenset[bytes]) -> bool:
        """Whether the first *size* bytes of a match at *start* stay visible, because of a line break after them."""
        return (
            size <= VISIBLE
            and _BREAK.search(self.data, since, until) is not None
            and self.text[start : start + size] not in own
        )

    def _pieces(self) -> tuple[list[int], list[int]]:
        """Where each part without a gap begins, in the text and in the bytes."""
        if self._found is None:
            self._found = _around_controls(self.data) if self._bare else _around_breaks(self.data)
        return self._found


def _around_controls(data: bytes) -> tuple[list[int], list[int]]:
    texts, raws, at = [0], [0], 0
    for gap in _BARE.finditer(data):
        texts.append(texts[-1] + gap.start() - at)
        at = gap.end()
        raws.append(at)
    return texts, raws


def _around_breaks(data: bytes) -> tuple[list[int], list[int]]:
    """The same where only line breaks are gaps, without Python code for each of them."""
    lines = data.splitlines() or [b""]
    sizes = [len(lines[0]), *map(len, map(bytes.lstrip, lines[1:]))]
    begins = accumulate(map(len, data.splitlines(keepends=True)), initial=0)
    # What is left of a line ends where the line does; its indentation belongs to the break before it.
    raws = map(sub, map(add, begins, map(len, lines)), sizes)
    *texts, whole = accumulate(sizes, initial=0)
    filled = [True, *sizes[1:]]
    texts, kept = list(compress(texts, filled)), list(compress(raws, filled))
    if kept[-1] + whole - texts[-1] < len(data):  # a break at the end
        texts.append(whole)
        kept.append(len(data))
    return texts, kept


def unbroken(data: bytes) -> bytes:
    """*data* without line breaks and the blanks after them."""
    if data.count(b"\n") * _SHORT_LINE > len(data) and len(data.translate(None, _BLANKS)) == len(data):
        return data.replace(b"\n", b"")
    first, *others = (data.splitlines() if b"\r" in data else data.split(b"\n")) or [b""]
    return b"".join([first, *map(bytes.lstrip, others)])


class Search:
    """All spellings of one set of secrets, ready to be looked for."""

    def __init__(self, secrets: Iterable[tuple[str, str]]) -> None:
        names: dict[bytes, str] = {}
        own: set[bytes] = set()
        for name, value in secrets:
            for spelling in spellings(value):
                if b"\n" in spelling or b"\r" in spelling:
                    own.update(_beginnings_of_lines(spelling))
                    spelling = unbroken(spelling)
                for piece in _pieces(spelling):
                    names.setdefault(piece, name)
        self._names, self._own = names, frozenset(own)
        sizes = sorted(map(len, names))
        self.shortest, self._longest = sizes[0], sizes[-1]
        self._limit = GAP + STRETCH * self._longest
        self._lookup = Lookup(names)
        self._short = {text[:size] for text in names for size in range(1, _HEAD)}
        self._heads: dict[bytes, list[bytes]] = {}
        for text in names:
            self._heads.setdefault(text[:_HEAD], []).append(text)
        self._long = Words(*_LONG, list({text[:_NEAR] for text in names if len(text) > _NEAR}))

    @property
    def pieces(self) -> Collection[bytes]:
        """What is looked for, without line breaks: where a secret stands, one of these does."""
        return self._names.keys()

    def views(self, data: bytes) -> list[View]:
        """The ways to read *data* that have to be searched."""
        return [View(data), View(data, bare=True)] if b"\x1b" in data else [View(data)]

    def spans(self, views: Iterable[View]) -> list[Span]:
        """Every match in *views*, in no order. Of matches that only repeat what others cover some may be left out."""
        return [span for view in views for span in self._matches(view)]

    def waiting(self, data: bytes, views: list[View], spans: list[Span]) -> tuple[int, int]:
        """From where on *data* has to wait, because its end may be the beginning of a match, and from where on to keep.

        What is kept without having to wait is needed to recognise what comes next. *spans*: those of *views*.
        """
        wait = keep = len(data)
        for view in map(self._end, views):
            for start in self._begun(view.text):
                found = view.open(start, self._limit, self._own)
                if found is not None:
                    keep, wait = min(keep, found[0]), min(wait, found[1])
        keep = min([keep, *(first for hidden, _, _, first in spans if hidden >= wait)])
        if len(views) > 1:
            token = _token_across(data, keep)
            keep = keep if token is None else token.start()
        return wait, keep

    def _matches(self, view: View) -> Iterator[Span]:
        anywhere = []
        names, limit, own = self._names, self._limit, self._own
        for spelling, start in self._lookup.found(view.text):
            if start < 0:
                anywhere.append(spelling)
            elif (found := view.raw(start, len(spelling), limit, own)) is not None:
                yield found[1], -found[2], names[spelling], found[0]
        for spelling in dict.fromkeys(anywhere):
            size = len(spelling)
            start = view.text.find(spelling)
            while start >= 0:
                yield from self._match(view, spelling, start)
                # One that overlaps itself again and again: the last that overlaps this one covers those between.
                last = view.text.rfind(spelling, start + 1, start + 2 * size - 1)
                if last < 0 or not view.is_one_piece(start, last + size):
                    last = view.text.find(spelling, start + 1)
                start = last

    def _match(self, view: View, spelling: bytes, start: int) -> Iterator[Span]:
        found = view.raw(start, len(spelling), self._limit, self._own)
        if found is not None:
            yield found[1], -found[2], self._names[spelling], found[0]

    def _end(self, view: View) -> View:
        """The end of *view*, long enough for the beginning of every spelling."""
        for times in (2, 8, 32):  # where each word has its colour, a tenth of the bytes are text
            cut = len(view.data) - times * self._longest
            if cut <= 0:
                break
            end = view.since(cut)
            # Blanks at its front may belong to a line break before it.
            if len(end.text.lstrip()) >= self._longest:
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
        spellings = self._heads.get(text[start : start + _HEAD])
        if spellings is None:
            return False
        rest = text[start:]
        return any(len(spelling) > len(rest) and spelling.startswith(rest) for spelling in spellings)


def _pieces(spelling: bytes) -> Iterator[bytes]:
    """*spelling*, or what it is looked for by if it is long; where all of it stands, its pieces cover all of it."""
    for start in range(0, max(1, len(spelling) - OVERLAP), PIECE - OVERLAP):
        piece = spelling[start:][:PIECE] if start == 0 or start + PIECE < len(spelling) else spelling[-PIECE:]
        if len(piece := piece.strip()) >= SHORTEST:
            yield piece


def _beginnings_of_lines(spelling: bytes) -> Iterator[bytes]:
    """Its beginnings before its own line breaks, as far as those would stay visible."""
    for found in _BREAK.finditer(spelling):
        beginning = unbroken(spelling[: found.start()])
        if len(beginning) > VISIBLE:
            break
        yield beginning


@lru_cache(maxsize=8)
def search_for(secrets: tuple[tuple[str, str], ...]) -> Search:
    """The search for these names and values; of the last sets it is kept, because each call of a tool needs it."""
    return Search(secrets)
