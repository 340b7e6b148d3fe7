"""A piece of a stream → the ways to read it without what wrapping put into it, and the way back (SPEC 8.2).

1. A view is the text without white space; a *bare* one without control sequences, too. A third way takes the joint
   between two literals of a program, or white space that is spelled (``\\n``), for a line break.
2. What lies between two bytes of a text is a gap. A view tells of each whether it breaks the line or is only blank:
   a line may be broken anywhere, but blanks count only where the secret has some.
3. A control sequence once begun is never taken for text by what follows it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, repeat
from operator import add
from typing import NamedTuple

VISIBLE = 6
"""Bytes of a secret that may be shown (SPEC 8.2)."""

GAP = 4096
"""Bytes of white space, joints and control sequences between two bytes of a secret; more of them end a match."""

SPACE = b" \t\n\r\f\v"
_INDENT = b" \t\r\f\v"

_BREAK = re.compile(rb"[\r\n]")
_BLANK = re.compile(rb"\s")
_SEQUENCE = (
    rb"\x1b(?:\[[0-9;]{0,64}m"  # a colour: a case of the next, and by far the most frequent
    rb"|\[[0-?]{0,64}[ -/]{0,8}[@-~]?"  # CSI: colours, cursor, erasing
    rb"|[\]PX^_][^\x07\x1b\n]{0,4096}\x07?"  # OSC and its like: titles, links
    rb"|[ -/]{0,8}[0-~]?)"
)
"""A control sequence; of one that is never ended, what could have been a part of it."""
_TOKEN = re.compile(_SEQUENCE)
_GAP = re.compile(rb"\s+")
_BARE = re.compile(rb"(?:\s|%b)+" % _SEQUENCE)

_BETWEEN = rb"(?:[^\S\n]|%b)*" % _SEQUENCE
_LITERALS = rb"""["'](?:%b\n%b[bBuUrRfF]{0,2}["'])+""" % (_BETWEEN, _BETWEEN)
"""Python, C: ``'one '`` and ``'two'`` on the next line."""
_CONTINUED = rb"\\\r?\n[ \t]*(?:\\[ \t])?"
"""A line that goes on; in YAML a backslash is before the blank with which the next one begins."""
_SPELLED = {b"\\" + letter: tuple(b"\\" * depth + letter for depth in (4, 2, 1)) for letter in (b"n", b"t", b"r")}
"""A line break or a tab in a literal, in one inside another, and so on: by how each ends."""
_TO_JOIN = (
    rb"""(?:["'](?:%b\n%b[bBuUrRfF]{0,2}["'])*+%b(?:\n%b[bBuUrRfF]{0,2})?|\\+(?:\r?(?:\n[ \t]*\\?)?)?)\Z"""
    % (_BETWEEN, _BETWEEN, _BETWEEN, _BETWEEN)
)
"""What may become one of these at the end."""


def _outside(pattern: bytes) -> re.Pattern[bytes]:
    """*pattern* as the group of that number; a quote in a control sequence is a part of the sequence."""
    return re.compile(rb"%b|(%b)" % (_SEQUENCE, pattern))


_QUOTES = _outside(_LITERALS)
_LINES = _outside(_CONTINUED)
_JOINT = _outside(rb"%b|%b|\\+[nrt]" % (_LITERALS, _CONTINUED))
_TAIL = _outside(_TO_JOIN)

_OUTLINE = bytes(ord("'") if chr(code) == '"' else ord("b") if chr(code) in "BuUrRfF" else code for code in range(256))
_OUTLINED = re.compile(rb"'\nb{0,2}'")
"""A joint between literals where blanks are gone, the quotes are alike, and so are the letters before one."""
_PREFIXES = b"bBuUrRfF"

AS_BLANK = bytes(32 if code in SPACE else code for code in range(256))


class Place(NamedTuple):
    """Where a part of a text stands: its first byte, the first to be hidden, its end; and the gaps in it.

    Both kinds of gaps are bits by the number of bytes before them: those that are only blank, and all.
    """

    first: int
    hidden: int
    end: int
    blanks: int = 0
    gaps: int = 0


def squeezed(data: bytes) -> bytes:
    return data.translate(None, SPACE)


def visible(data: bytes) -> int:
    """How many bytes of a secret *data* may show, of which white space is one however wide it is."""
    return len(_GAP.sub(b" ", without_sequences(data)))


def without_sequences(data: bytes) -> bytes:
    return b"".join(_TOKEN.split(data))


def unjoined(data: bytes) -> bytes:
    """*data* with line breaks in place of joints, each byte at its place; the same object if it has none."""
    read = data
    if b"'" in data or b'"' in data:
        outline = without_sequences(data) if b"\x1b" in data else data
        if _OUTLINED.search(outline.translate(_OUTLINE, _INDENT)):
            read = _QUOTES.sub(_broken, read)
    if b"\\" in data:
        if b"\\\n" in data or b"\\\r\n" in data:
            read = _LINES.sub(_broken, read)
        for end, spellings in _SPELLED.items():
            for spelled in spellings if end in read else ():
                read = read.replace(spelled, b"\n" * len(spelled))
    return data if read == data else read


def unjoined_end(data: bytes, read: bytes) -> bytes:
    """*read*, which is *data* without its joints, with line breaks in place of what may become one at the end."""
    tail = _tail(data)
    return read if tail is None else read[:tail] + b"\n" * (len(data) - tail)


def before_joint(data: bytes, at: int) -> int:
    """*at*, or where the joint begins in whose middle that is, or which may become one at the end."""
    for joint in _JOINT.finditer(data, max(0, at - GAP), at + GAP):
        if joint[1] is not None and joint.end() > at:
            at = min(at, joint.start())
            break
    tail = _tail(data)
    return at if tail is None else min(at, tail)


def _broken(found: re.Match[bytes]) -> bytes:
    return found[0] if found[1] is None else b"\n" * len(found[0])


def _tail(data: bytes) -> int | None:
    """Where what may become a joint begins."""
    end = data[-GAP:]
    if b"\x1b" in end:
        end = without_sequences(end)
    end = end.rstrip()
    if not end.endswith((b"'", b'"', b"\\")) and not end.rstrip(_PREFIXES).rstrip().endswith((b"'", b'"')):
        return None
    found = _TAIL.finditer(data, max(0, len(data) - GAP))
    return next((tail.start() for tail in found if tail[1] is not None), None)


def sequence_across(data: bytes, at: int) -> re.Match[bytes] | None:
    """The control sequence that begins before *at* and does not end there, or that may still go on."""
    begin = data.rfind(b"\x1b", 0, at)  # no sequence holds another one's first byte
    token = _TOKEN.match(data, begin) if begin >= 0 else None
    return token if token is not None and (token.end() > at or token.end() == len(data)) else None


class View:
    """A piece of a stream without white space (*bare*: nor control sequences), and the way back to its bytes."""

    def __init__(self, data: bytes, *, bare: bool = False, base: int = 0) -> None:
        self.data, self.base, self._bare = data, base, bare
        self.text = squeezed(without_sequences(data) if bare else data)
        self._known: tuple[list[int], list[int]] | None = None

    def since(self, cut: int) -> View:
        """The view of the bytes from about *cut* on."""
        token = sequence_across(self.data, cut) if self._bare else None
        cut = cut if token is None else token.end()
        return View(self.data[cut:], bare=self._bare, base=cut)

    def place(self, start: int, size: int, limit: int, own: frozenset[bytes]) -> Place | None:
        """Where the *size* bytes of the text at *start* stand; None if too much lies between them.

        *own*: beginnings after which the secret itself has a line break.
        """
        first, base = self._locate(start), self.base
        if self.data.startswith(self.text[start : start + size], first):
            return Place(base + first, base + first, base + first + size)
        at, done, hidden, blanks, gaps = first, 0, first, 0, 0
        for since, until in self._gaps(first, first + limit + 1):
            if done + since - at >= size:
                break
            done, at = done + since - at, until
            if until - since > GAP:
                return None
            if self._breaks(since, until):
                hidden = until if self._may_stay(start, done, gaps, own) else hidden
            elif self._is_blank(since, until):
                blanks |= 1 << done
            gaps |= 1 << done
        end = at + size - done
        return Place(base + first, base + hidden, base + end, blanks, gaps) if end - first <= limit else None

    def open(self, start: int, limit: int, own: frozenset[bytes]) -> Place | None:
        """The same for all of the text from *start* on, which may go on; its end is the first byte of the gap there."""
        size = len(self.text) - start
        place = self.place(start, size, limit, own)
        whole = self.base + len(self.data)
        if place is None or whole - place.end > GAP or whole - place.first > limit:
            return None
        ends = self._breaks(place.end - self.base, len(self.data)) and self._may_stay(start, size, place.gaps, own)
        return place._replace(hidden=whole) if ends else place

    def is_one_piece(self, start: int, end: int) -> bool:
        """Whether no gap lies between two bytes of the text."""
        return self.data.startswith(self.text[start:end], self._locate(start))

    def _may_stay(self, start: int, size: int, gaps: int, own: frozenset[bytes]) -> bool:
        """Whether the first *size* bytes of a match at *start* stay visible, if a line break comes after them.

        Each of the *gaps* before counts like a byte: it may stand for a blank.
        """
        return size + gaps.bit_count() <= VISIBLE and self.text[start : start + size] not in own

    def _gaps(self, since: int, until: int) -> Iterator[tuple[int, int]]:
        for gap in (_BARE if self._bare else _GAP).finditer(self.data, since, until):
            yield gap.span()

    def _breaks(self, since: int, until: int) -> bool:
        return _BREAK.search(self.data, since, until) is not None

    def _is_blank(self, since: int, until: int) -> bool:
        """Whether blanks stand in a gap, besides control sequences."""
        gap = self.data[since:until]
        return _BLANK.search(without_sequences(gap) if self._bare else gap) is not None

    def _locate(self, offset: int) -> int:
        """Where the byte of the text stands."""
        if self._known is None:
            self._known = _around_controls(self.data) if self._bare else around_spaces(self.data)
        texts, raws = self._known
        at = bisect_right(texts, offset) - 1
        return raws[at] + offset - texts[at]


def _around_controls(data: bytes) -> tuple[list[int], list[int]]:
    """Where each part without a gap begins, in the text and in the bytes."""
    texts, raws, at = [0], [0], 0
    for gap in _BARE.finditer(data):
        texts.append(texts[-1] + gap.start() - at)
        at = gap.end()
        raws.append(at)
    return texts, raws


def around_spaces(data: bytes) -> tuple[list[int], list[int]]:
    """The same where only white space is a gap, without Python code for each of them."""
    sizes = list(map(len, data.translate(AS_BLANK).split(b" ")))
    return list(accumulate(sizes, initial=0))[:-1], list(accumulate(map(add, sizes, repeat(1)), initial=0))
