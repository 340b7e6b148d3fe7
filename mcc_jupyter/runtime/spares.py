"""One interpreter ahead, for functions that cannot be forked: it has imported and waits for its one call (SPEC 7.3).

1. It is the process of a cold call, started earlier: the same supervisor, pipes and limits. It serves one call, so that
   threads, open files and generators are its own, as they would be in a cold call.
2. What an import sees of a call (``MCC_CTX``) cannot be known ahead: who looks for it has no spare.
3. At most one for a module in one world, none is started while another call of it runs, and each ends by itself when it
   is not called: its supervisor has that as its time limit.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..core.command import Request
from .descriptors import NOSIGNAL, socketpair, umask
from .launcher import Exit, Launcher, Stop
from .supervised import Call, Sink, Supply
from .warm_calls import lasting, of_a_call, unchanged

MARGIN = 2.0
"""Seconds before its end in which it is not called any more."""


class Spare(Call):
    """A call that has been started and has not been told what to do."""

    def __init__(self, request: Request) -> None:
        self.streams: tuple[Sink, Sink] | None = None
        super().__init__(request, self._out, self._err, Stop())
        self.control, self._theirs = socketpair()
        self.heard = bytearray()
        self.told: dict[str, Any] | None = None
        """What it said about its import; nothing if it has ended."""
        self.made = time.monotonic()
        self.lost = False
        """Whether it had ended before it got the call."""

    def _out(self, chunk: bytes) -> None:
        assert self.streams is not None
        self.streams[0](chunk)

    def _err(self, chunk: bytes) -> None:
        assert self.streams is not None
        self.streams[1](chunk)

    def start(self, supply: Supply) -> bool:
        self.given[7] = os.dup(self._theirs.fileno())
        self._theirs.close()
        return super().start(supply)

    def ready(self) -> bool:
        """Whether its import is over, or it has ended; never waits."""
        while self.told is None:
            try:
                chunk = self.control.recv(1 << 20, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return False
            except OSError:
                chunk = b""
            self.heard += chunk
            if not chunk:
                self.told = {}
            elif len(self.heard) >= 8 and len(self.heard) == 8 + int.from_bytes(self.heard[:8], "big"):
                self.told = marshal.loads(bytes(self.heard[8:]))  # noqa: S302 - it is our own process's
        return True

    def ended(self) -> bool:
        """Whether the process is no longer there."""
        try:
            return not self.control.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def begin(self, request: Request, stdout: Sink, stderr: Sink, stop: Stop) -> None:
        """Hands the call over. ``lost`` if it could not be."""
        assert self.socket is not None
        self.request, self.streams = replace(request, tool=""), (stdout, stderr)
        self.began = time.perf_counter()
        seconds = self.limit()
        milliseconds = 0 if seconds is None else max(1, int(seconds * 1000))
        frame = marshal.loads(request.payload or b"")  # noqa: S302 - we wrote it
        data = marshal.dumps({**frame, "environ": of_a_call(request), "umask": umask(), "cwd": request.cwd}, 2)
        try:
            self.socket.sendall(b"t" + milliseconds.to_bytes(8, "big"), NOSIGNAL)
            self.control.sendall(len(data).to_bytes(8, "big") + data, NOSIGNAL)
        except OSError:
            self.lost = True
            return
        self.expect(seconds)
        self.stop._detach(self.socket)
        self.stop = stop
        stop._attach(self.socket)

    def abandon(self) -> None:
        """Closes what is another process's to end."""
        self.unended = True
        self.close()

    def close(self) -> None:
        self.control.close()
        self._theirs.close()
        super().close()


class Spares:
    """The spares of one launcher, by what they have imported. Thread-safe."""

    def __init__(self, launcher: Launcher, *, idle: float, memory_kib: int, most: int) -> None:
        self._launcher, self._idle, self._memory, self._most = launcher, idle, memory_kib, most
        self._lock = threading.Lock()
        self._known: dict[object, Spare] = {}
        self._unfit: dict[object, tuple[tuple[str, int, int], ...]] = {}
        self._running: Counter[object] = Counter()

    @contextlib.contextmanager
    def around(self, key: object, request: Request) -> Iterator[None]:
        """Around each call that could have one: the next is started when no call of it runs any more."""
        with self._lock:
            self._running[key] += 1
        try:
            yield
        finally:
            with self._lock:
                self._running[key] -= 1
                idle = not self._running[key]
                if idle:
                    del self._running[key]
        if idle and self._idle > MARGIN:
            self._start(key, request)

    def run(self, key: object, request: Request, stdout: Sink, stderr: Sink, stop: Stop) -> Exit | None:
        """The end of a call in the spare; None where there is none that could serve it."""
        with self._lock:
            spare = self._known.get(key)
            if spare is None or stop.requested or not (self._late(spare) or spare.ready()):
                return None
            del self._known[key]
        if self._late(spare) or not self._fit(key, spare) or spare.ended() or not os.path.isdir(request.cwd):
            spare.close()
            return None
        spare.begin(request, stdout, stderr, stop)
        if spare.lost:
            spare.close()
            return None
        return self._launcher.serve(spare)

    def close(self) -> None:
        """Ends every spare that has no call."""
        with self._lock:
            known, self._known = list(self._known.values()), {}
        for spare in known:
            spare.close()

    def forget(self) -> None:
        """In a forked process: they are the parent's."""
        for spare in self._known.values():
            spare.abandon()
        self._lock, self._known, self._running = threading.Lock(), {}, Counter()

    def _late(self, spare: Spare) -> bool:
        return time.monotonic() > spare.made + self._idle - MARGIN

    def _fit(self, key: object, spare: Spare) -> bool:
        if not spare.told:
            return False
        files = tuple(spare.told["files"])
        if spare.told["reasons"] or spare.told["kib"] > self._memory:
            self._unfit[key] = files
            return False
        return unchanged(files)

    def _start(self, key: object, request: Request) -> None:
        with self._lock:
            if key in self._known or (key in self._unfit and unchanged(self._unfit[key])):
                return
            self._unfit.pop(key, None)
            oldest = sorted(self._known, key=lambda known: self._known[known].made)
            old = [self._known.pop(known) for known in oldest[: max(0, len(oldest) + 1 - self._most)]]
        frame = marshal.loads(request.payload or b"")  # noqa: S302 - we wrote it
        asked = {
            **frame,
            "mode": "spare",
            "targets": [{"target": frame["target"], "source": frame["source"]}],
            "session": of_a_call(request),
            "idle": self._idle,
        }
        world = replace(request, environ=lasting(request), tool="", timeout=self._idle)
        spare = Spare(replace(world, payload=marshal.dumps(asked, 2)))
        try:
            started = spare.start(self._launcher)
        except BaseException:
            spare.close()
            raise
        if started:
            with self._lock:
                old += [self._known.pop(key)] if key in self._known else []
                self._known[key] = spare
        else:
            old.append(spare)
        for one in old:
            one.close()
