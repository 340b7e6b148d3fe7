"""Functions that stay imported: a call is a fork of what has imported its function (SPEC 7.3).

1. A process is kept for one function in one world: interpreter, folder, source, environment and limits. It was
   started and is confined like any tool, by a supervisor, and ends with it. A call is its own process all the same.
2. What cannot be forked safely is not: the import says so itself (``child/warm_fn.py``), and the call goes cold. So
   does it after any trouble before the call was handed over; a call that was handed over is never made twice.
3. A changed source ends the process, as does a minute without a call.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import select
import socket
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.command import Request
from .descriptors import NOSIGNAL, send, socketpair, sockets, umask
from .launcher import Exit, Launcher, Stop
from .supervised import Call, Sink, Supply

IDLE = 60.0
"""Seconds without a call after which a process ends."""
MOST = 8
"""Processes that are kept at once; the one that waited longest goes first."""
MEMORY_KIB = 1024 * 1024
"""A process that is larger after its import is not kept."""
_PATIENCE = 5.0
_AT_ONCE = 10
"""Milliseconds in which a short call is over."""
_OF_A_CALL = ("MCC_CTX", "MCC_SESSION_FILE")


@dataclass(frozen=True, slots=True)
class Ran:
    """How a function's call went: its exit, the mode (``warm`` or ``cold``) and why it was that mode."""

    exit: Exit
    mode: str
    reason: str


@dataclass(eq=False, slots=True)
class _Process:
    """One that has imported its function: its control socket, its supervisor's, and what it was made of."""

    control: socket.socket | None = None
    supervisor: socket.socket | None = None
    files: tuple[tuple[str, int, int], ...] = ()
    """Path, time of change and size of the sources; the folders of what is installed are among them."""
    reason: str | None = None
    """Why it cannot be forked; then it has ended already."""
    passing: bool = False
    """Whether the next call is to try again."""
    ahead: int = 1
    """Forked processes on their way here; one comes unasked."""
    used: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def changed(self) -> bool:
        """Whether a source is another than at the import."""
        for path, changed, size in self.files:
            try:
                status = os.stat(path)
            except OSError:
                return True
            if (status.st_mtime_ns, status.st_size) != (changed, size):
                return True
        return False

    def slot(self) -> tuple[socket.socket, socket.socket]:
        """The sockets of a forked process that waits for its call, and of the watch over it. Raises ``OSError``."""
        with self.lock:
            if self.control is None:
                raise ConnectionResetError
            if not self.ahead:
                self.control.send(b"c", NOSIGNAL)
                self.ahead += 1
            message, ancillary, _, _ = self.control.recvmsg(8, socket.CMSG_SPACE(2 * 4))
            found = sockets(ancillary)
            if len(message) < 8 or len(found) != 2:
                raise ConnectionResetError
            self.ahead -= 1
        return found[0], found[1]

    def refill(self) -> None:
        """Has the next one forked: after a call, since a fork beside it would cost the call its processor."""
        with self.lock, contextlib.suppress(OSError):
            if self.control is not None and not self.ahead:
                self.control.send(b"c", NOSIGNAL)
                self.ahead += 1

    def retire(self) -> socket.socket | None:
        """Takes no more calls; those that run go on. Its supervisor's socket, which must stay open as long."""
        supervisor, self.supervisor = self.supervisor, None
        if self.control is not None:
            with contextlib.suppress(OSError):
                self.control.shutdown(socket.SHUT_RDWR)
        self.leave()
        return supervisor

    def leave(self) -> None:
        """Closes our ends of its sockets, which a forked process may hold as well."""
        for one in (self.control, self.supervisor):
            if one is not None:
                one.close()
        self.control = self.supervisor = None
        self.ahead = 1


class Functions:
    """The processes that are kept for one launcher. Thread-safe."""

    def __init__(self, launcher: Launcher, *, idle: float = IDLE, memory_kib: int = MEMORY_KIB) -> None:
        self._launcher = launcher
        self._idle, self._memory = idle, memory_kib
        self._lock = threading.Lock()
        self._known: dict[object, _Process] = {}
        self._ending: list[socket.socket] = []
        """Supervisors of processes that take no more calls, and may have some left."""
        self._owner = os.getpid()

    def run(self, request: Request, *, fresh: bool, stdout: Sink, stderr: Sink, stop: Stop | None = None) -> Ran:
        """Calls a function, in a forked process where that is the same as in a new one."""
        if self._owner != os.getpid():  # what is kept is the parent's, and its lock may be held by a thread of its
            for process in self._known.values():
                process.leave()
            for supervisor in self._ending:
                supervisor.close()
            self._owner, self._lock, self._known, self._ending = os.getpid(), threading.Lock(), {}, []
        stop = Stop() if stop is None else stop
        began = time.monotonic()
        reason = self._forbidden(request, fresh)
        for _ in range(0 if reason else 2):  # the first may have ended, because nobody called
            found = self._process(request, stop)
            if isinstance(found, Exit):
                return Ran(found, "cold", "it was stopped while it was imported")
            if found.reason is not None:
                reason = found.reason
                break
            try:
                slot = found.slot()
            except OSError:
                self._retire(found)
                continue
            call = _Forked(_left(request, began), slot, stdout, stderr, stop)
            call.supervisor = found.supervisor
            exit = self._launcher.serve(call)
            if not call.lost:
                found.refill()
                if found not in self._known.values():  # it had to go while it was in use
                    self._retire(found)
                return Ran(exit, "warm", "forked from a process that has imported it")
            self._retire(found)
        exit = self._launcher.run(_left(request, began), stdout=stdout, stderr=stderr, stop=stop)
        return Ran(exit, "cold", reason or "the process that was kept for it has ended")

    def close(self) -> None:
        """Ends every process, and the calls that run in it."""
        with self._lock:
            known, self._known = list(self._known.values()), {}
            ending, self._ending = self._ending, []
        for supervisor in (*ending, *(process.retire() for process in known)):
            if supervisor is not None:
                with supervisor, contextlib.suppress(OSError):
                    supervisor.shutdown(socket.SHUT_RDWR)

    def _forbidden(self, request: Request, fresh: bool) -> str | None:
        if fresh:
            return "fresh: true"
        if not sys.platform.startswith("linux"):
            return "only Linux forks safely"
        if "MCC_SESSION_FILE" in request.files:
            return "its session is larger than a variable may be"
        return "its secret files are there for one call only" if request.files else None

    def _process(self, request: Request, stop: Stop) -> _Process | Exit:
        frame: dict[str, Any] = marshal.loads(request.payload or b"")  # noqa: S302 - we wrote it
        environ = {name: value for name, value in request.environ.items() if not name.startswith(_OF_A_CALL)}
        source = frame["source"]
        key = (
            request.argv,
            request.cwd,
            request.limits,
            request.isolation,
            frame["target"],
            None if source is None else tuple(source.values()),
            frame["pythonpath"],
            frozenset(environ.items()),
        )
        with self._lock:
            process = self._known.setdefault(key, _Process())
            process.used = time.monotonic()
            over = sorted(self._known.values(), key=lambda known: known.used)[:-MOST]
        if over or self._ending:
            self._retire(*over)
        with process.lock:  # whoever calls meanwhile waits for the same import
            if process.changed():
                with self._lock:
                    self._ending += [one for one in (process.retire(),) if one is not None]
                process.reason = None
            if process.control is not None or process.reason is not None:
                return process
            exit = self._import(process, replace(request, environ=environ), frame, stop)
        if exit is not None or process.passing:
            self._retire(process)
        return process if exit is None else exit

    def _import(self, process: _Process, request: Request, frame: dict[str, Any], stop: Stop) -> Exit | None:
        """Has the function imported; the end of that if it was stopped meanwhile."""
        limits = {name: getattr(request.limits, name) for name in ("cpu_sec", "fsize_mb")}
        more = {
            "mode": "warm",
            "names": [name for name in frame["names"] if not name.startswith(_OF_A_CALL)],
            "idle": self._idle,
            "confined": request.isolation,
            "limits": {name: value for name, value in limits.items() if value is not None},
        }
        start = _Import(replace(request, payload=marshal.dumps({**frame, **more}, 2), tool=""), stop)
        exit = self._launcher.serve(start)
        if start.ready is None:
            process.reason, process.passing = "the process that was to be kept ended while importing", True
            return None if exit.stopped is None else exit
        process.control, process.supervisor = start.kept
        process.files = tuple(start.ready["files"])
        reasons = list(start.ready["reasons"])
        if start.printed:
            reasons.insert(0, "its import prints")
        if start.ready["kib"] > self._memory:
            reasons.append(f"it takes more than {self._memory // 1024:,} MiB after its import")
        if reasons:
            process.supervisor.close()
            process.leave()
            process.reason, process.passing = str(reasons[0]), "its import fails" in reasons
        return None

    def _retire(self, *processes: _Process) -> None:
        """Forgets processes, and those that ended since the last time."""
        with self._lock:
            self._known = {key: known for key, known in self._known.items() if known not in processes}
            self._ending += [one for one in (process.retire() for process in processes) if one is not None]
            for supervisor in list(self._ending):
                poll = select.poll()
                poll.register(supervisor, select.POLLIN)
                if poll.poll(0):  # its report, or its end
                    self._ending.remove(supervisor)
                    supervisor.close()


class _Import(Call):
    """The start of a process that is to be kept. Over when it has told what its import did."""

    def __init__(self, request: Request, stop: Stop) -> None:
        super().__init__(request, self._seen, self._seen, stop)
        self.printed = False
        self.ready: dict[str, Any] | None = None
        self.control, self._theirs = socketpair()
        self.told = bytearray()
        self.kept: tuple[socket.socket, socket.socket]
        """The control socket and the supervisor's, once it is ready."""

    def _seen(self, _: bytes) -> None:
        self.printed = True

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
            self.ready = marshal.loads(bytes(self.told[8:]))  # noqa: S302 - it comes from our own process
            self.running = False

    def _size(self) -> int:
        return int.from_bytes(self.told[:8], "big")

    def drain(self) -> None:
        if self.ready is None:
            super().drain()
            return
        # It has put something else in the place of its pipes, so that they end.
        deadline = time.monotonic() + _PATIENCE
        while self.sinks and time.monotonic() < deadline:
            for fd, _ in self.poll.poll(100):
                if fd in self.sinks:
                    self.pull(fd)

    def close(self) -> None:
        if self.ready is not None and self.socket is not None:
            self.stop._detach(self.socket)
            with contextlib.suppress(OSError):
                self.socket.send(b"n", NOSIGNAL)
            self.control.settimeout(_PATIENCE)
            self.kept, self.socket = (self.control, self.socket), None
        else:
            self.control.close()
        self._theirs.close()
        super().close()


class _Forked(Call):
    """A call in a forked process. It is over once everything has come, whatever that process still has to do."""

    def __init__(
        self, request: Request, slot: tuple[socket.socket, socket.socket], stdout: Sink, stderr: Sink, stop: Stop
    ) -> None:
        super().__init__(request, stdout, stderr, stop)
        self.inputs[9] = None
        self.call, self.watch = slot
        self.supervisor: socket.socket | None = None
        """Of the process that forked it, which has to go where that one does not answer."""
        self.begun = False
        self.lost = False
        """Whether it had ended before it got the call, so that another process may make it."""

    def frame(self) -> dict[str, object]:
        asked: dict[str, object] = marshal.loads(self.request.payload or b"")  # noqa: S302 - we wrote it
        of_the_call = {name: text for name, text in self.request.environ.items() if name.startswith(_OF_A_CALL)}
        return {**asked, "numbers": list(self.given), "environ": of_the_call, "umask": umask(), "cwd": self.request.cwd}

    def end(self) -> None:
        if self.supply is not None and self.supervisor is not None:
            self.supply.end(self.supervisor)

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
            self.watch.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            return  # there is something to say about its end
        status = b""
        with contextlib.suppress(OSError):
            status = self.call.recv(1, socket.MSG_DONTWAIT)
        self.running = not status
        self.report = {"status": status[0] << 8, "stopped": None, "notes": [], "error": None} if status else None

    def close(self) -> None:
        self.call.close()
        super().close()
        self.watch.close()


def _left(request: Request, began: float) -> Request:
    """*request* with the time that is left of its limit."""
    limit = request.limits.timeout if request.timeout is None else request.timeout
    if limit is None:
        return request
    return replace(request, timeout=max(0.05, limit - (time.monotonic() - began)))
