"""Bytes of a tool's output → what is kept and what is shown (SPEC 7.6).

1. Memory stays flat, whatever a tool prints: the head and the tail are kept, the rest is counted.
2. Bytes that are not UTF-8 become U+FFFD; a character that comes in two pieces does not.
3. Of control sequences only colours pass, and the carriage returns of progress bars; stored text has neither.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

_STRING = "\x1b[\\]PX^_][^\x07\x1b\n]*"
"""OSC and its like (titles, links), without their end. One that is never ended stops at the end of its line."""
_SEQUENCE = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, erasing
    f"|{_STRING}(?:\x07|\x1b\\\\|(?=[\x1b\n]|\\Z))"
    "|\x1b[ -/]*[0-~]?"  # the rest, and what is no sequence at all
)
_COLOUR = re.compile("\x1b\\[[0-9;:]*m")
_BEGUN = re.compile(f"(?:\x1b\\[[0-?]*[ -/]*|{_STRING}\x1b?|\x1b[ -/]*)\\Z")
_BEGUN_BYTES, _SEQUENCE_BYTES, _COLOUR_BYTES = (
    re.compile(pattern.pattern.encode()) for pattern in (_BEGUN, _SEQUENCE, _COLOUR)
)
_COLOURS = 512
"""Bytes of colours between two characters; a redactor looks past more than that."""
_HELD = 64
"""Characters of a begun sequence that are kept; of a longer one the beginning is enough to recognise its end."""


class Colours:
    """Bytes of a stream without their control sequences; only colours pass.

    It stands before redaction: what is left out after that could join the halves of a secret that it kept apart. Of
    colours that follow each other the first few pass, for the same reason.
    """

    def __init__(self) -> None:
        self._begun = b""
        """A control sequence of which only the beginning has come."""
        self._run = 0
        """Bytes of colours since the last character."""

    def feed(self, data: bytes) -> bytes:
        data = self._begun + data
        self._begun = b""
        begun = _BEGUN_BYTES.search(data) if b"\x1b" in data else None
        if begun is not None:
            data, held = data[: begun.start()], begun.group()
            self._begun = held if len(held) <= _HELD else held[:2] + b"\x1b" * held.endswith(b"\x1b")
        pieces = []
        at = 0
        for found in _SEQUENCE_BYTES.finditer(data):
            self._run = 0 if found.start() > at else self._run
            pieces.append(data[at : found.start()])
            at = found.end()
            if _COLOUR_BYTES.fullmatch(found.group()):
                self._run += len(found.group())
                pieces.append(found.group() if self._run <= _COLOURS else b"")
        self._run = 0 if len(data) > at else self._run
        pieces.append(data[at:])
        return b"".join(pieces)


class Capture:
    """The head and the tail of one stream, together at most *limit_bytes*, and the number of bytes between them."""

    def __init__(self, limit_bytes: int) -> None:
        self._room = limit_bytes - limit_bytes // 2
        self._tail = _Tail(limit_bytes // 2)
        self._head = bytearray()

    def feed(self, data: bytes) -> None:
        room = self._room - len(self._head)
        if room:
            self._head += data[:room]
            data = data[room:]
        self._tail.feed(data)

    @property
    def omitted(self) -> int:
        """Bytes that were not kept; 0: ``text`` is whole."""
        return self._parts()[2]

    def text(self) -> str:
        """The stream as text; a line says how much is missing in the middle."""
        head, tail, omitted = self._parts()
        if not omitted:
            return (head + tail).decode("utf-8", "replace")
        shown = head.decode("utf-8", "replace")
        return f"{shown}{_gap(omitted, shown)}{tail.decode('utf-8', 'replace')}"

    def _parts(self) -> tuple[bytes, bytes, int]:
        if not self._tail.omitted:
            return bytes(self._head), self._tail.data(), 0
        decoder = _decoder()
        decoder.decode(bytes(self._head))
        half = len(decoder.getstate()[0])  # a character that the cut would split
        tail = self._tail.data(whole=True)
        return bytes(self._head[: len(self._head) - half]), tail, half + self._tail.total - len(tail)


class Live:
    """Shows one stream while it comes: *budget_bytes* of it at once, and of the rest the last part at ``close``."""

    def __init__(self, write: Callable[[str], None], budget_bytes: int) -> None:
        self._write = write
        self._decoder = _decoder()
        self._begun = ""
        """A control sequence of which only the beginning has come."""
        self._room = budget_bytes
        self._tail = _Tail(budget_bytes // 8)
        self._last = ""

    def feed(self, data: bytes) -> None:
        shown, rest = data[: self._room], data[self._room :]
        self._room -= len(shown)
        self._show(self._decoder.decode(shown))
        if rest:
            # A character that the cut would split goes with the rest.
            self._tail.feed(self._decoder.getstate()[0] + rest)
            self._decoder.reset()

    def close(self) -> None:
        """Shows what is left. A stream that was too long ends with how much was left out, and its last part."""
        whole = self._tail.omitted == 0
        tail = self._tail.data(whole=not whole)
        if not whole:
            self._begun = ""
            self._put(_gap(self._tail.total - len(tail), self._last))
        self._show(self._decoder.decode(tail, final=True))

    def _show(self, text: str) -> None:
        text = self._begun + text
        self._begun = ""
        if "\x1b" in text:
            begun = _BEGUN.search(text)
            if begun is not None:
                text, held = text[: begun.start()], begun.group()
                self._begun = held if len(held) <= _HELD else held[:2] + "\x1b" * held.endswith("\x1b")
            text = _SEQUENCE.sub(lambda found: found.group() if _COLOUR.fullmatch(found.group()) else "", text)
        self._put(text)

    def _put(self, text: str) -> None:
        if text:
            self._last = text[-1]
            self._write(text)


class _Tail:
    """The last *size* bytes of what it is fed."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._data = bytearray()
        self.total = 0

    def feed(self, data: bytes) -> None:
        self.total += len(data)
        self._data += data[-self._size :] if self._size else b""
        if len(self._data) > 2 * self._size:  # seldom, so that a byte is moved once or twice
            del self._data[: -self._size]

    @property
    def omitted(self) -> int:
        return max(0, self.total - self._size)

    def data(self, *, whole: bool = False) -> bytes:
        """The bytes; with *whole*, without the rest of a character whose beginning is not among them."""
        kept = bytes(self._data[-self._size :]) if self._size else b""
        if whole:
            at = 0
            while at < min(3, len(kept)) and kept[at] & 0xC0 == 0x80:
                at += 1
            kept = kept[at:]
        return kept


def plain(text: str) -> str:
    """Text as it is stored: without control sequences, and of a line that was drawn again and again the last state."""
    if "\x1b" in text:
        text = _SEQUENCE.sub("", _BEGUN.sub("", text))
    if "\r" not in text:
        return text
    return "\n".join(_last_state(line) for line in text.split("\n"))


def _last_state(line: str) -> str:
    body, end = (line[:-1], "\r") if line.endswith("\r") else (line, "")
    return next((state for state in reversed(body.split("\r")) if state), "") + end


def _gap(omitted: int, before: str) -> str:
    """The line that stands for what is missing, on a line of its own."""
    begin = "\n" if before and not before.endswith("\n") else ""
    return f"{begin}[… {omitted} bytes omitted …]\n"


def _decoder() -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder("utf-8")("replace")
