"""What a function that stays imported needs of the launcher: its import, and a call in a forked process (SPEC 7.3).

1. An import is over when its process has told what it did and is to be kept; else with its process, like any call.
2. A forked call is over once everything has come. What lasts is watched over by the process that forked it.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any

from ..core.command import Request
from .descriptors import NOSIGNAL, NOWAIT, PEEK, send, socketpair, umask
from .supervised import Call, Exit, Sink, Stop, Supply

OF_A_CALL = ("MCC_CTX", "MCC_SESSION_FILE")
"""How the names begin that only a call has, not the process that it is forked from."""
_PATIENCE = 5.0
_AT_ONCE = 10
"""Milliseconds in which a short call is over."""


def of_a_call(request: Request) -> dict[str, str]:
    """The part of the environment that only a call has."""
    return {name: text for name, text in request.environ.items() if name.startswith(OF_A_CALL)}


def lasting(request: Request) -> dict[str, str]:
    """The environment without what only a call has."""
    return {name: text for name, text in request.environ.items() if not name.startswith(OF_A_CALL)}


def unchanged(files: Iterable[tuple[str, int, int]]) -> bool:
    """Whether every source is the one of the import: path, time of change, size."""
    for path, changed, size in files:
        try:
            status = os.stat(path)
        except OSError:
            return False
        if (status.st_mtime_ns, status.st_size) != (changed, size):
            return False
    return True


class Import(Call):
    """The start of a process that may be kept, if it takes no more than *memory* KiB then.

    Without *sink* nobody asked what it says: then it only imports.
    """

    def __init__(self, request: Request, sink: Sink | None, stop: Stop, memory: int) -> None:
        super().__init__(request, self._seen, self._seen, stop)
        self.sink, self.asked = sink, sink is not None
        self.memory = memory
        self.printed = False
        self.reasons: list[str] | None = None
        """All that forbids keeping it; None as long as it has not told."""
        self.files: tuple[tuple[str, int, int], ...] = ()
        self.control, self._theirs = socketpair()
        self.told = bytearray()
        self.kept: tuple[socket.socket, socket.socket] | None = None
        """The control socket and the supervisor's, once it is over."""

    def _seen(self, chunk: bytes) -> None:
        self.printed = True
        if self.sink is not None:
            self.sink(chunk)

    def start(self, supply: Supply) -> bool:
        self.given[7] = os.dup(self._theirs.fileno())
        self._theirs.close()
        self.poll.register(self.control)
        return super().start(supply)

    def serve(self, fd: int) -> None:
        if fd != self.control.fileno():
            super().serve(fd)
            return
        chunk = self.control.recv(8 if len(self.told) < 8 else 8 + self._size() - len(self.told))
        self.told += chunk
        if not chunk:
            self.poll.unregister(fd)
        elif len(self.told) >= 8 and len(self.told) == 8 + self._size():
            self.poll.unregister(fd)
            self.decide(marshal.loads(bytes(self.told[8:])))  # noqa: S302 - it comes from our own process

    def decide(self, told: dict[str, Any]) -> None:
        for fd, _ in self.poll.poll(0):  # what it printed has come by now
            if fd in self.sinks:
                self.pull(fd)
        self.files = tuple(told["files"])
        self.reasons = list(told["reasons"])
        if self.printed:
            self.reasons.insert(0, "its import prints")
        if told["kib"] > self.memory:
            self.reasons.append(f"it takes more than {self.memory // 1024:,} MiB after its import")
        if self.reasons:
            self.control.shutdown(socket.SHUT_RDWR)
            self.running = self.asked  # what nobody asked for is ended at once
        else:
            with contextlib.suppress(OSError):  # it has just ended, which the next call sees
                self.control.send(b"k", NOSIGNAL)
            self.running = False

    def _size(self) -> int:
        return int.from_bytes(self.told[:8], "big")

    @property
    def stays(self) -> bool:
        return self.reasons == []

    def drain(self) -> None:
        if not self.stays:
            if self.asked or self.reasons is None:
                super().drain()
            return
        # It has put something else in the place of its pipes, so that they end.
        deadline = time.monotonic() + _PATIENCE
        while self.sinks and time.monotonic() < deadline:
            for fd, _ in self.poll.poll(100):
                if fd in self.sinks:
                    self.pull(fd)

    def close(self) -> None:
        if self.stays and self.socket is not None:
            self.stop._detach(self.socket)
            with contextlib.suppress(OSError):
                self.socket.send(b"n", NOSIGNAL)
            self.control.settimeout(_PATIENCE)
            self.kept, self.socket = (self.control, self.socket), None
        else:
            self.control.close()
        self._theirs.close()
        super().close()

    def exit(self) -> Exit:
        if not self.stays:
            return super().exit()
        return Exit(code=0, result=None if self.answer is None else bytes(self.answer.data))


class Forked(Call):
    """A call in a forked process. It is over once everything has come, whatever that process still has to do."""

    def __init__(
        self,
        request: Request,
        slot: tuple[socket.socket, socket.socket],
        stdout: Sink,
        stderr: Sink,
        stop: Stop,
        meanwhile: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(request, stdout, stderr, stop, meanwhile)
        self.inputs[9] = None
        self.call, self.watch = slot
        self.supervisor: socket.socket | None = None
        """Of the process that forked it, which has to go where that one does not answer."""
        self.begun = False
        self.lost = False
        """Whether it had ended before it got the call, so that another process may make it."""

    def frame(self) -> dict[str, object]:
        asked: dict[str, object] = marshal.loads(self.request.payload or b"")  # noqa: S302 - we wrote it
        call = {"environ": of_a_call(self.request), "umask": umask(), "cwd": self.request.cwd}
        return {**asked, "numbers": list(self.given), **call}

    def watcher(self) -> socket.socket | None:
        return self.supervisor

    def sent(self, data: bytes, supply: Supply) -> socket.socket:
        self.supply = supply
        try:
            send(self.call, data, self.given.values())
        except ConnectionError:
            self.lost = True
            raise
        return self.watch

    def patience(self) -> int | None:
        return super().patience() if self.begun else _AT_ONCE

    def lasting(self) -> None:
        """It takes a while: whoever watches over it is to know. A call that is over at once wakes nobody else."""
        if self.begun:
            super().lasting()
            return
        self.begun = True
        seconds = self.limit()
        left = 0 if seconds is None else max(1, int((seconds - time.perf_counter() + self.began) * 1000))
        with contextlib.suppress(OSError):
            self.watch.sendall(b"t" + left.to_bytes(8, "big"), NOSIGNAL)

    def pull(self, fd: int) -> None:
        super().pull(fd)
        if self.sinks or self.expected or self.answer is None or not self.answer.complete:
            return
        with contextlib.suppress(OSError):
            self.watch.recv(1, PEEK | NOWAIT)
            return  # there is something to say about its end
        status = b""
        with contextlib.suppress(OSError):
            status = self.call.recv(1, NOWAIT)
        self.running = not status
        self.report = {"status": status[0] << 8, "stopped": None, "notes": [], "error": None} if status else None

    def close(self) -> None:
        self.call.close()
        super().close()
        self.watch.close()
