"""One call as the thread that waits for it sees it: descriptors, output, the supervisor's report (SPEC 7.6, 7.7).

1. The thread reads the output itself and hands it on at once. Time-outs and escalation are the supervisor's, so they
   hold whatever this process is doing.
2. A call is over when its supervisor reports, which is after everything the tool started has ended. What stands in the
   pipes by then is the rest; nobody waits for their end, since a process forked from this one may hold them open.
3. What was opened is closed, whatever is raised. ``child/launch.py`` has the protocol.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import marshal
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..core.command import Request

CHUNK = 64 * 1024
"""Bytes of one read: what a pipe holds."""
ANSWER_LIMIT = 64 * 1024 * 1024
"""Bytes of an answer on descriptor 8; a larger one is dropped, with a note."""
NOSIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)

_NOEXEC_SEAL = 8  # MFD_NOEXEC_SEAL, which os does not know yet
_LOST_PATIENCE = 2.0
"""Seconds that the launcher has to end what a killed supervisor left, before the pipes are given up."""
_PIECE_MS = 1
"""Milliseconds that the rest of a line is waited for."""
_AT_ONCE = 20
"""Milliseconds in which most processes end after their answer."""
_TRIES = 8
"""Supervisors that may have been killed while they waited."""
_FULL_PIPES = 32
"""Reads after the report. A pipe holds one or, where it was made larger, sixteen of them; a process that could not be
ended may go on writing."""

Sink = Callable[[bytes], None]


class Supply(Protocol):
    """Where supervisors come from."""

    def take(self, request: Request) -> socket.socket:
        """The call socket of a supervisor that waits for a call. Raises ``OSError``."""

    def give_back(self, request: Request, taken: socket.socket) -> None:
        """The supervisor that served *request* could serve the next one of the same tool in the same environment."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a call ended: ``code`` or ``signal``; neither when it could not start or was stopped before.

    ``seconds`` is wall time; ``result`` the raw bytes of descriptor 8; ``stopped`` the limit that ended the call, or
    ``interrupt``, only where it is known; ``error`` one line, without a value, for a call that could not start.
    """

    code: int | None = None
    signal: int | None = None
    seconds: float = 0.0
    result: bytes | None = field(default=None, repr=False)
    stopped: str | None = None
    notes: tuple[str, ...] = ()
    error: str | None = None


class Stop:
    """Ends the calls it was given to, from any thread, now or when they start (SPEC 7.8).

    ``interrupt`` sends INT, TERM after 1 s and KILL after 2 s more; a second one, or ``kill``, kills at once.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler may come while this very thread holds it
        self._orders = b""
        self._calls: list[socket.socket] = []

    @property
    def requested(self) -> bool:
        return bool(self._orders)

    def interrupt(self) -> None:
        self._give(b"i")

    def kill(self) -> None:
        self._give(b"k")

    def _give(self, order: bytes) -> None:
        with self._lock:
            self._orders = (self._orders + order)[-2:]
            for call in self._calls:
                _send(call, order)

    def _attach(self, call: socket.socket) -> None:
        with self._lock:
            self._calls.append(call)
            _send(call, self._orders)

    def _detach(self, call: socket.socket) -> None:
        with self._lock, contextlib.suppress(ValueError):
            self._calls.remove(call)


class Call:
    """One call, in the thread that waits for it: its descriptors, and what has come back."""

    def __init__(self, request: Request, stdout: Sink, stderr: Sink, stop: Stop) -> None:
        self.request = request
        self.stop = stop
        self.answer = _Answer() if request.result else None
        self.outputs = {1: stdout, 2: stderr}
        if self.answer is not None:
            self.outputs[8] = self.answer.feed
        self.inputs = {0: request.stdin, 9: request.payload}
        self.given: dict[int, int] = {}
        """The tool's number → its end, which is ours until the supervisor has it."""
        self.sinks: dict[int, Sink] = {}
        self.sources: dict[int, memoryview] = {}
        self.answering = -1
        """Our end of the answer's pipe."""
        self.poll = select.poll()
        self.socket: socket.socket | None = None
        self.supply: Supply | None = None
        self.started = False
        self.running = False
        self.came = bytearray()
        self.expected = False
        self.answered = self.reminded = False
        self.report: dict[str, Any] | None = None
        self.error: str | None = None
        self.began = time.perf_counter()

    def advance(self, supply: Supply) -> None:
        """To the end of the call. May be called again after an exception out of a sink."""
        if not self.started and not self.start(supply):
            return
        while self.running:
            ready = self.poll.poll(self.patience())
            for fd, _ in ready:
                self.serve(fd)
            if not ready:
                self.lasting()
        self.drain()

    def patience(self) -> int | None:
        """Milliseconds to wait before ``lasting``: what is over by then needs no word, which would wake a process."""
        return _AT_ONCE if self.answered and not self.reminded else None

    def lasting(self) -> None:
        """A process that has answered goes on; its end is to be seen to."""
        assert self.socket is not None
        self.reminded = True
        _send(self.socket, b"a")

    def start(self, supply: Supply) -> bool:
        if self.stop.requested:
            return False
        try:
            for number, sink in self.outputs.items():
                ours, self.given[number] = os.pipe()
                self.sinks[ours] = sink
                self.answering = ours if number == 8 else self.answering
                self.poll.register(ours, select.POLLIN)
            for number, content in self.inputs.items():
                if content is not None:
                    self.given[number] = self.source(content)
            data = marshal.dumps(self.frame(), 2)
            self.socket = self.sent(len(data).to_bytes(8, "big") + data, supply)
        except UnicodeEncodeError:
            self.error = "the command or a variable holds a character that has no form in this system's encoding"
            return False
        except ConnectionError:
            self.error = "the launcher ended; call again"
            return False
        except OSError as error:
            what = f" ({error.filename})" if error.filename else ""
            self.error = f"no process can be started: {error.strerror}{what}"
            return False
        self.close_given()
        self.poll.register(self.socket, select.POLLIN)
        self.started = self.running = True
        self.stop._attach(self.socket)
        return True

    def sent(self, data: bytes, supply: Supply) -> socket.socket:
        """The socket of the supervisor that has got *data*. One that was killed while it waited is passed over."""
        self.supply = supply
        for _ in range(_TRIES):
            taken = supply.take(self.request)
            try:
                send(taken, data, self.given.values())
                return taken
            except BaseException as error:
                taken.close()
                if not isinstance(error, ConnectionError):
                    raise
        raise ConnectionResetError

    def frame(self) -> dict[str, object]:
        request = self.request
        limits = {name: getattr(request.limits, name) for name in ("mem_mb", "cpu_sec", "fsize_mb", "nofile")}
        return {
            "argv": [_encode(word) for word in request.argv],
            "environ": {_encode(name): _encode(value) for name, value in request.environ.items()},
            "cwd": _encode(request.cwd),
            "files": {_encode(name): content for name, content in request.files.items()},
            "limits": {name: value for name, value in limits.items() if value is not None},
            "timeout": request.limits.timeout if request.timeout is None else request.timeout,
            "umask": umask(),
            "numbers": list(self.given),
        }

    def source(self, content: bytes) -> int:
        """A descriptor from which *content* can be read."""
        memory = _memory(content)
        if memory is not None:
            return memory
        theirs, ours = os.pipe()
        os.set_blocking(ours, False)
        self.sources[ours] = memoryview(content)
        self.poll.register(ours, select.POLLOUT)
        return theirs

    def serve(self, fd: int) -> None:
        if fd in self.sinks:
            self.pull(fd)
        elif fd in self.sources:
            self.push(fd)
        else:
            self.receive()

    def pull(self, fd: int) -> None:
        chunk = os.read(fd, CHUNK)
        sink = self.sinks[fd]
        if fd != self.answering and chunk[-1:] not in (b"", b"\n"):
            chunk += _rest_of_line(fd)
        if chunk:
            sink(chunk)
        else:
            self.poll.unregister(fd)
            del self.sinks[fd]
            os.close(fd)
        if self.answer is not None and sink == self.answer.feed and (not chunk or self.answer.complete):
            self.answered = True

    def push(self, fd: int) -> None:
        try:
            self.sources[fd] = self.sources[fd][os.write(fd, self.sources[fd][:CHUNK]) :]
        except OSError:  # the tool has closed it
            self.sources[fd] = memoryview(b"")
        if not self.sources[fd]:
            self.close_source(fd)

    def close_source(self, fd: int) -> None:
        self.poll.unregister(fd)
        del self.sources[fd]
        os.close(fd)

    def receive(self) -> None:
        assert self.socket is not None
        try:
            chunk = self.socket.recv(CHUNK)
        except OSError:
            chunk = b""
        self.came += chunk
        if self.came[:8] == bytes(8):  # only to say that there will be a report
            self.expected = True
            del self.came[:8]
        if chunk and (len(self.came) < 8 or len(self.came) < 8 + int.from_bytes(self.came[:8], "big")):
            return
        self.running = False
        self.poll.unregister(self.socket)
        if chunk:
            self.report = marshal.loads(bytes(self.came[8:]))  # noqa: S302 - it comes from our own process

    def drain(self) -> None:
        """What stands in the pipes. After a supervisor that was killed, until the launcher has ended what it left."""
        deadline = time.monotonic() + (_LOST_PATIENCE if self.report is None else 0)
        for fd in list(self.sources):
            self.close_source(fd)
        pipes_full = 0
        while self.sinks and pipes_full < _FULL_PIPES:
            ready = self.poll.poll(max(0, int((deadline - time.monotonic()) * 1000)))
            if not ready:
                return
            for fd, _ in ready:
                self.pull(fd)
            pipes_full += self.report is not None

    def close_given(self) -> None:
        while self.given:
            os.close(self.given.popitem()[1])

    def close(self) -> None:
        """Gives everything back. A call that still runs is killed first."""
        if self.socket is not None:
            self.stop._detach(self.socket)
            if self.supply is not None and self.report is not None and self.report.get("again"):
                self.supply.give_back(self.request, self.socket)
                self.socket = None
        if self.socket is not None:
            with self.socket, contextlib.suppress(OSError):
                if self.report is None:
                    self.socket.shutdown(socket.SHUT_WR)
                    self.socket.settimeout(3)
                    while self.socket.recv(CHUNK):
                        pass
        self.close_given()
        for fd in (*self.sinks, *self.sources):
            os.close(fd)
        self.sinks, self.sources = {}, {}

    def exit(self) -> Exit:
        seconds = time.perf_counter() - self.began
        if self.error is not None:
            return Exit(seconds=seconds, error=self.error)
        if self.report is None:
            if self.socket is None or self.stop.requested:
                return Exit(seconds=seconds, stopped="interrupt")
            return Exit(seconds=seconds, error="the process that watched over this call was killed; call again")
        status, stopped = self.report["status"], self.report["stopped"]
        code = None if status is None else os.waitstatus_to_exitcode(status)
        notes = list(self.report["notes"])
        low = [name for name in ("mem_mb", "nofile") if getattr(self.request.limits, name) is not None]
        if low and self.answer is None and stopped is None and code is not None and (code < 0 or code in (126, 127)):
            notes.append(f"a limit may be too low for it: {', '.join(f'limits.{name}' for name in low)}")
        if self.answer is not None and self.answer.dropped:
            notes.append(f"its answer was larger than {ANSWER_LIMIT >> 20} MiB and was dropped")
        return Exit(
            code=code if code is not None and code >= 0 else None,
            signal=-code if code is not None and code < 0 else None,
            seconds=seconds,
            result=None if self.answer is None else bytes(self.answer.data),
            stopped=stopped,
            notes=tuple(notes),
            error=self.report["error"],
        )


class _Answer:
    """What came on descriptor 8, and whether it is a whole answer: a frame of 8 hex digits, a newline and a body."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.dropped = False

    def feed(self, chunk: bytes) -> None:
        if self.dropped or len(self.data) + len(chunk) > ANSWER_LIMIT:
            self.dropped, self.data = True, bytearray()
        else:
            self.data += chunk

    @property
    def complete(self) -> bool:
        """Of a call. A body that begins with an id is one of several (SPEC 2.8); only the end says it was the last."""
        try:
            size = int(bytes(self.data[:8]), 16)
        except ValueError:
            return False
        return len(self.data) >= 9 + size and not self.data.startswith(b'{"id"', 9)


def _rest_of_line(fd: int) -> bytes:
    """What follows at once, up to the end of the line: ``print(a, b)`` writes in pieces, and people should see one."""
    found = b""
    soon = select.poll()
    soon.register(fd, select.POLLIN)
    while len(found) < CHUNK and not found.endswith(b"\n") and soon.poll(_PIECE_MS):
        piece = os.read(fd, CHUNK)
        if not piece:
            break
        found += piece
    return found


def socketpair() -> tuple[socket.socket, socket.socket]:
    pair = socket.socketpair()
    for end in pair:
        end.setblocking(True)  # whatever socket.setdefaulttimeout says here
    return pair


def rights(descriptors: Iterable[int]) -> list[tuple[int, int, array.array[int]]]:
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]


def send(taken: socket.socket, data: bytes, descriptors: Iterable[int]) -> None:
    """All of *data*, the descriptors with its first byte."""
    left = memoryview(data)[taken.sendmsg([data], rights(descriptors), NOSIGNAL) :]
    if left:  # to send nothing fails, too, once the other end has done its work and is closed
        taken.sendall(left, NOSIGNAL)


def sockets(ancillary: Iterable[tuple[int, int, bytes]]) -> list[socket.socket]:
    """The sockets that came with a message."""
    found = []
    for fd in array.array("i", b"".join(data for _, _, data in ancillary)):
        os.set_inheritable(fd, False)
        found.append(socket.socket(fileno=fd))
        found[-1].settimeout(None)
    return found


def _send(call: socket.socket, orders: bytes) -> None:
    """Never blocks: the supervisor may have ended, and this may be a signal handler."""
    with contextlib.suppress(OSError):
        call.send(orders, NOSIGNAL | socket.MSG_DONTWAIT)


def _encode(text: str) -> bytes:
    return text.encode(sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())


def _memory(content: bytes) -> int | None:
    """*content* in sealed memory that nobody can change or execute; None where the system has none."""
    if not hasattr(os, "memfd_create"):
        return None
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        fd = os.memfd_create("mcc", flags | _NOEXEC_SEAL)
    except OSError:  # Linux before 6.3
        try:
            fd = os.memfd_create("mcc", flags)
        except OSError:
            return None
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(fd, left) :]
        os.lseek(fd, 0, os.SEEK_SET)
        seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    except BaseException:
        os.close(fd)
        raise
    return fd


_umask_lock = threading.Lock()


def umask() -> int:
    """This process's umask. ``os.umask`` must set one to read it, which other threads would notice: the last resort."""
    try:
        fd = os.open("/proc/self/status", os.O_RDONLY)
        try:
            return int(os.read(fd, 512).partition(b"\nUmask:")[2].split(None, 1)[0], 8)
        finally:
            os.close(fd)
    except (OSError, IndexError):
        with _umask_lock:
            mask = os.umask(0o077)
            os.umask(mask)
        return mask
