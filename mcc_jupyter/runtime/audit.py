"""Calls that came through a door → lines of a private file that an operator reads: who, what, how it ended (SPEC 13.3).

1. A line has names and numbers: no argument, no output, no value. It is one JSON object of at most ``LONGEST`` bytes,
   whatever the names in it are.
2. Several processes may write: a line is one write at the end of the file, and files are only changed under a lock. A
   file that has grown to its size is renamed, and so many old ones are kept.
3. That a line cannot be written is said once, until it can be again; it is never an error of the call. A line that was
   written outlives this process; the machine's own crash only with ``fsync``, which waits for the disk at every call.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from itertools import accumulate, pairwise
from typing import Any

from ..core.errors import ArgumentError

LONGEST = 4000
"""Bytes of a line: less than what a system writes in one piece everywhere."""

_TEXT = 256
"""Bytes of a text as JSON spells it; what is longer is cut and ends with ``…``."""
_REASON = 512
_NAMES = 1500
"""Bytes of the names together; how many more there were is told."""

_PATIENCE = 0.05
"""Seconds to wait for the lock. A line can do without it."""
_BLOCK = 64 * 1024
_BEGINNING = 128
"""Bytes by which files are told apart: the first line's time is in them, and no line is as short."""
_CURSOR = re.compile(r"([0-9a-f]{1,40})-([0-9]{1,20})", re.A)


@dataclass(frozen=True, slots=True)
class CallEvent:
    """One call, once it has ended or was turned away. ``outcome``: ok, failed, unavailable, refused, cancelled, error.

    ``names``: the variables that the tool was granted. ``reason``: a code or a line of ours that holds no value.
    """

    who: str
    tool: str
    door: str
    outcome: str
    key: str | None = None
    call: str | None = None
    kernel: str | None = None
    workspace: str | None = None
    names: tuple[str, ...] = ()
    exit_code: int | None = None
    duration_s: float | None = None
    reason: str | None = None

    def json(self) -> dict[str, Any]:
        """As data of a bounded size; ``more_names``: how many names are left out."""
        names = _shortened(self.names)
        found = {item.name: _bounded(item.name, getattr(self, item.name)) for item in fields(self)}
        return {**found, "names": names, "more_names": len(self.names) - len(names)}


@dataclass(frozen=True, slots=True)
class Page:
    """Entries, the newest first, and where those before them begin; None: there are none."""

    entries: tuple[dict[str, Any], ...]
    cursor: str | None = None


class Audit:
    """The log at *path*: at most *most_bytes* a file, and *keep* old ones beside it (``path.1`` is the newest of them).

    *say* is given a line for the server's own log. For any thread.
    """

    def __init__(
        self,
        path: str,
        *,
        say: Callable[[str], None],
        most_bytes: int = 10 * 1024 * 1024,
        keep: int = 5,
        fsync: bool = False,
    ) -> None:
        self._path = os.path.abspath(path)
        self._say, self._most_bytes, self._keep, self._fsync = say, most_bytes, keep, fsync
        self._thread_lock = threading.Lock()
        self._is_in_trouble = False

    def record(self, event: CallEvent) -> None:
        """Writes one line; never raises."""
        line = _line(event, datetime.now(UTC))
        with self._thread_lock:
            try:
                self._write(line)
                self._is_in_trouble = False
            except OSError as error:
                if not self._is_in_trouble:
                    self._say(f"audit log {self._path!r}: not written: {error.strerror}; calls go on without it")
                self._is_in_trouble = True

    def read(self, limit: int = 100, cursor: str | None = None) -> Page:
        """At most *limit* entries, those before *cursor*, newest first.

        Raises ``ArgumentError`` for a cursor that none of these pages had. What became too old meanwhile is not there.
        """
        since, before = _position(cursor)
        entries: list[dict[str, Any]] = []
        last = None
        for identity, file in self._files(since):
            with file:
                size = os.fstat(file.fileno()).st_size
                for start, line in _backwards(file, size if identity != since else min(before, size)):
                    if len(entries) == limit:
                        return Page(tuple(entries), last)
                    last = f"{identity}-{start}"
                    with contextlib.suppress(ValueError):
                        entry = json.loads(line)
                        entries += [entry] if isinstance(entry, dict) else []
        return Page(tuple(entries))

    # ---- writing

    def _write(self, line: bytes) -> None:
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        with self._locked() as is_locked:
            if is_locked:
                self._rotate(len(line))
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(self._path, flags, 0o600)
            try:
                size = os.fstat(descriptor).st_size
                written = os.write(descriptor, line)
                if written < len(line):  # the disk is full: half a line would spoil the next one
                    if is_locked:
                        os.ftruncate(descriptor, size)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                if self._fsync:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def _rotate(self, more: int) -> None:
        try:
            if os.stat(self._path).st_size + more <= self._most_bytes:
                return
        except FileNotFoundError:
            return
        names = [self._path, *(f"{self._path}.{number}" for number in range(1, self._keep + 1))]
        for old, new in reversed(list(pairwise(names))):
            with contextlib.suppress(FileNotFoundError):
                os.replace(old, new)
        if not self._keep:
            os.unlink(self._path)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[bool]:
        """Whether the lock was had, in time."""
        descriptor = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            yield _lock(descriptor)
        finally:
            os.close(descriptor)

    # ---- reading

    def _files(self, since: str | None) -> Iterator[tuple[str, Any]]:
        """The files from the newest on, or from the one that is *since* on, each with what tells it from others."""
        begun = since is None
        for number in range(self._keep + 1):
            try:
                file = open(f"{self._path}.{number}" if number else self._path, "rb")  # noqa: SIM115 - who reads closes it
            except OSError:
                continue
            identity = _identity(file)
            begun = begun or identity == since
            if begun:
                yield identity, file
            else:
                file.close()


def _identity(file: Any) -> str:
    """Of a file that is only added to. A system gives the number of one that is gone to another one."""
    return f"{os.fstat(file.fileno()).st_ino:x}{zlib.crc32(file.read(_BEGINNING)):08x}"


def _lock(descriptor: int) -> bool:
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            if time.monotonic() > until:
                return False
            time.sleep(0.002)


def _position(cursor: str | None) -> tuple[str | None, int]:
    if cursor is None:
        return None, 0
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise ArgumentError("audit: unknown cursor; leave it out to begin with the newest entry")
    return match[1], int(match[2])


def _backwards(file: Any, end: int) -> Iterator[tuple[int, bytes]]:
    """The whole lines before *end* from the last one on, each with where it begins."""
    rest = b""
    is_whole = False  # what stands behind the last line break is being written
    while end > 0:
        start = max(0, end - _BLOCK)
        file.seek(start)
        lines = (file.read(end - start) + rest).split(b"\n")
        begins = list(accumulate((len(line) + 1 for line in lines), initial=start))
        for number in range(len(lines) - 1, 0, -1):
            if is_whole:
                yield begins[number], lines[number]
            is_whole = True
        rest, end = lines[0], start
    if is_whole:
        yield 0, rest


def _line(event: CallEvent, now: datetime) -> bytes:
    time = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({"v": 1, "time": time, **event.json()}, separators=(",", ":")).encode() + b"\n"


def _bounded(field: str, value: object) -> object:
    if isinstance(value, str):
        return _short(value, _REASON if field == "reason" else _TEXT)
    return round(value, 6) if isinstance(value, float) else value


def _short(text: str, most: int) -> str:
    """*text* cut so that JSON spells it with at most *most* bytes."""
    text, whole = text[:most], len(text)
    if len(json.dumps(text)) - 2 <= most and len(text) == whole:
        return text
    while len(json.dumps(text)) - 2 + 6 > most:
        text = text[: len(text) * 3 // 4]
    return text + "…"


def _shortened(names: tuple[str, ...]) -> list[str]:
    kept: list[str] = []
    left = _NAMES
    for name in names:
        short = _short(name, _TEXT)
        left -= len(json.dumps(short)) + 1
        if left < 0:
            break
        kept.append(short)
    return kept
