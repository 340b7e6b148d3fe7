"""Bytes of a tool's output → what is kept and what is shown (SPEC 7.6).

1. Memory stays flat, whatever a tool prints: the head and the tail are kept, the rest is counted.
2. Bytes that are not UTF-8 become U+FFFD; a character that comes in two pieces does not.
3. Of control sequences only colours pass, and the carriage returns of progress bars; stored text has neither.
"""

from __future__ import annotations

import codecs
import re
import time
from bisect import bisect_right
from collections.abc import Callable

_STRING = "\x1b[\\]PX^_][^\x07\x1b\n]*"
"""OSC and its like (titles, links), without their end. One that is never ended stops at the end of its line."""
_AFTER_ESCAPE = (
    "\\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, erasing
    f"|{_STRING[1:]}(?:\x07|\x1b\\\\|(?=[\x1b\n]|\\Z))"
    "|[ -/]*[0-~]?"  # the rest, and what is no sequence at all
)
_SEQUENCE = re.compile(f"\x1b(?:{_AFTER_ESCAPE})")
_COLOUR = re.compile("\x1b\\[[0-9;:]*m")
_BEGUN = re.compile(f"(?:\x1b\\[[0-?]*[ -/]*|{_STRING}\x1b?|\x1b[ -/]*)\\Z")
_BEGUN_BYTES, _COLOUR_BYTES = (re.compile(pattern.pattern.encode()) for pattern in (_BEGUN, _COLOUR))
_COLOURS = 512
"""Bytes of colours between two characters; a redactor looks past more than that."""
_RUN_BYTES = re.compile(b"(?:%b)*" % _COLOUR_BYTES.pattern)
_LAST_RUN_BYTES = re.compile(b"(?:%b)+\\Z" % _COLOUR_BYTES.pattern)
_LONG_RUN_BYTES = re.compile(b"\x1b[\x1b[0-9;:m]{%d}" % _COLOURS)
_OTHER_BYTES = re.compile(f"\x1b(?!\\[[0-9;:]*m)(?:{_AFTER_ESCAPE})".encode())
_LINE, _CONTROL = 13, 5
"""What the end of a line and a control character take in a notebook file, beside their own byte."""
_LINES = b"\n\r\v\f\x1c\x1d\x1e"  # and others that are no ASCII: as str.splitlines has it
_CONTROLS = bytes({*range(32)} - set(b"\n\r"))
_BURST, _MESSAGES = 100, 50
"""Messages of one call that are shown as they come, and how many more a second."""
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
        if b"\x1b" in data:
            last = data.rfind(b"\x1b")
            begun = _BEGUN_BYTES.search(data, max(0, data.rfind(b"\x1b", 0, last)))
            if begun is not None:
                data, held = data[: begun.start()], begun.group()
                self._begun = held if len(held) <= _HELD else held[:2] + b"\x1b" * held.endswith(b"\x1b")
            data = _OTHER_BYTES.sub(b"", data)
        if b"\x1b" not in data:
            self._run = 0 if data else self._run
            return data
        return self._few(data)

    def _few(self, data: bytes) -> bytes:
        """Without the colours that are too many; no other sequences are left in *data*."""
        first = _RUN_BYTES.match(data)
        assert first is not None
        if self._run + first.end() <= _COLOURS and not _LONG_RUN_BYTES.search(data):  # the usual, with no look at each
            end = _LAST_RUN_BYTES.search(data, max(0, len(data) - _COLOURS))
            self._run = (self._run if first.end() == len(data) else 0) + (len(end.group()) if end is not None else 0)
            return data
        pieces = []
        at = 0
        for found in _COLOUR_BYTES.finditer(data):
            self._run = len(found.group()) + (0 if found.start() > at else self._run)
            pieces.append(data[at : found.start()])
            pieces.append(found.group() if self._run <= _COLOURS else b"")
            at = found.end()
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
    """Shows one stream while it comes: *budget_bytes* of it at once, and of the rest the last part at ``close``.

    Both are counted as a notebook file has them (``_cost``). *rest* is called after each piece that was shown.
    """

    def __init__(self, write: Callable[[str], None], budget_bytes: int, rest: Callable[[], None] | None = None) -> None:
        self._write, self._rest = write, rest
        self._decoder = _decoder()
        self._begun = ""
        """A control sequence of which only the beginning has come."""
        self._room = budget_bytes
        self._last_room = budget_bytes // 8
        self._tail = _Tail(self._last_room)
        self._last = ""
        self.cut = False
        """Whether something was left out; known at ``close``."""

    def feed(self, data: bytes) -> None:
        if self._room:
            data = self._begin(data)
        if data:
            self._tail.feed(data)

    def _begin(self, data: bytes) -> bytes:
        """Shows what there is room for and returns the rest; once there is one, the beginning is over."""
        before = self._decoder.getstate()
        text = self._decoder.decode(data)
        cost = _cost(text)
        if cost < self._room:
            self._room -= cost
            self._show(text)
            return b""

        def decoded(size: int) -> str:
            self._decoder.setstate(before)
            return self._decoder.decode(data[:size])

        size = bisect_right(range(len(data)), self._room, key=lambda at: _cost(decoded(at + 1)))
        self._show(decoded(size))
        self._room = 0
        half = self._decoder.getstate()[0]  # a character that the cut would split
        self._decoder.reset()
        return half + data[size:]

    def close(self) -> None:
        """Shows what is left. A stream that was too long ends with how much was left out, and its last part."""
        tail = self._tail.data()
        cut = 0
        if _cost(tail.decode("utf-8", "replace")) > self._last_room:
            least = -self._last_room - 1
            cut = bisect_right(
                range(len(tail)), least, key=lambda at: -_cost(_whole(tail[at:]).decode("utf-8", "replace"))
            )
        self.cut = self._tail.omitted > 0 or cut > 0
        if self.cut:
            tail = _whole(tail[cut:])
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
            if self._rest is not None:
                self._rest()


class Pace:
    """Rests when many messages follow each other: what comes meanwhile waits in the pipe and is shown as one.

    A Jupyter server drops output at 1,000 messages a second. The first ``_BURST`` are shown as they come.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._left, self._at = float(_BURST), clock()

    def __call__(self) -> None:
        now = self._clock()
        self._left = min(_BURST, self._left + (now - self._at) * _MESSAGES) - 1
        self._at = now
        if self._left < 0:
            self._sleep(-self._left / _MESSAGES)


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
        return _whole(kept) if whole else kept


def _whole(data: bytes) -> bytes:
    """*data* without the rest of a character whose beginning is not in it."""
    at = 0
    while at < min(3, len(data)) and data[at] & 0xC0 == 0x80:
        at += 1
    return data[at:]


def _cost(text: str) -> int:
    """About how many bytes *text* takes in a notebook file, where each line is a JSON string on a line of its own."""
    data = text.encode()
    controls = len(data) - len(data.translate(None, _CONTROLS))
    lines = len(data) - len(data.translate(None, _LINES)) + sum(map(text.count, "\x85\u2028\u2029"))
    return len(data) + _LINE * lines + _CONTROL * controls + data.count(b'"') + data.count(b"\\")


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
    return f"{begin}[… {omitted} byte{'s' * (omitted > 1)} omitted …]\n"


def _decoder() -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder("utf-8")("replace")
