"""One call as the thread that waits for it sees it: descriptors, output, the supervisor's report (SPEC 7.6, 7.7).

1. The thread reads the output itself and hands it on at once. Time-outs and escalation are the supervisor's, so they
   hold whatever this process is doing. One that does not report in time, since its tool has stopped it, is killed.
2. A call is over when its supervisor reports, which is after everything the tool started has ended. What stands in the
   pipes by then is the rest; nobody waits for their end, since a process forked from this one may hold them open.
3. What was opened is closed, whatever is raised. ``child/launch.py`` has the protocol.
"""

from __future__ import annotations

import contextlib
import marshal
import math
import os
import select
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..core.command import Request
from .descriptors import CHUNK, memory, post, rest_of_line, send, umask, widened
from .frames import ANSWER_LIMIT, Answer, HoldsNul, block, encoded
from .sizes import too_low, what_to_do

_LOST_PATIENCE = 2.0
"""Seconds that the launcher has to end what a killed supervisor left, before the pipes are given up."""
_KILL_AFTER = {"timeout": 2.0, "interrupt": 3.0}
"""Seconds until a supervisor kills what was told to end."""
_SLACK = 3.5
"""Seconds more until it reports; later, it was stopped or does not get to it."""
_LOOK = 500
"""Milliseconds between two looks at whether the report is overdue: an order may come from another thread."""
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

    def end(self, taken: socket.socket) -> None:
        """The supervisor does not report, or was killed: it is to end, with everything it watched."""

    def replace(self, taken: socket.socket) -> None:
        """It was to end and did not: who was told so is of no use for other calls either."""


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
        self.due = math.inf
        """When everything it was given to has to be over (``time.monotonic``)."""

    @property
    def requested(self) -> bool:
        return bool(self._orders)

    def interrupt(self) -> None:
        self._give(b"i")

    def kill(self) -> None:
        self._give(b"k")

    def _give(self, order: bytes) -> None:
        with self._lock:
            wait = 0.0 if self._orders or order == b"k" else _KILL_AFTER["interrupt"]
            self.due = min(self.due, time.monotonic() + wait + _SLACK)
            self._orders = (self._orders + order)[-2:]
            for call in self._calls:
                post(call, order)

    def _attach(self, call: socket.socket) -> None:
        with self._lock:
            self._calls.append(call)
            if self._orders:
                post(call, self._orders)

    def _detach(self, call: socket.socket) -> None:
        with self._lock, contextlib.suppress(ValueError):
            self._calls.remove(call)


class Call:
    """One call, in the thread that waits for it: its descriptors, and what has come back."""

    def __init__(
        self,
        request: Request,
        stdout: Sink,
        stderr: Sink,
        stop: Stop,
        meanwhile: Callable[[], None] | None = None,
    ) -> None:
        self.request = request
        self.stop = stop
        self.meanwhile = meanwhile
        self.answer = Answer() if request.result else None
        self.outputs = {1: stdout, 2: stderr}
        if self.answer is not None:
            self.outputs[8] = self.answer.feed
        self.inputs = {0: request.stdin, 9: request.payload}
        self.given: dict[int, int] = {}
        """The tool's number → its end, which is ours until the supervisor has it."""
        self.sinks: dict[int, Sink] = {}
        self.sources: dict[int, memoryview] = {}
        self.sizes: dict[int, int] = {}
        """Bytes of one read, where a pipe was found full."""
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
        self.due = math.inf
        """When the report has to be here (``time.monotonic``)."""
        self.overdue: str | None = None
        """What the call was to be stopped for when no report came; then its supervisor is killed."""
        self.unended = False
        self.began = time.perf_counter()

    def advance(self, supply: Supply) -> None:
        """To the end of the call. May be called again after an exception out of a sink."""
        if not self.started and not self.start(supply):
            return
        if self.meanwhile is not None:
            work, self.meanwhile = self.meanwhile, None
            work()
        while self.running:
            patience = self.patience()
            ready = self.poll.poll(_LOOK if patience is None else patience)
            for fd, _ in ready:
                self.serve(fd)
            if patience is not None and not ready:
                self.lasting()
            if self.running:
                self.see_to_its_end(time.monotonic())
        self.drain()

    def see_to_its_end(self, now: float) -> None:
        assert self.socket is not None
        if self.overdue is not None:
            if now > self.due:  # the launcher cannot do it either
                self.unended, self.running = True, False
                self.poll.unregister(self.socket)
                self.end(unended=True)
        elif now > min(self.due, self.stop.due):
            self.overdue = "timeout" if now > self.due else "interrupt"
            self.due = now + _LOST_PATIENCE
            self.end()

    def end(self, *, unended: bool = False) -> None:
        """Has the supervisor killed; *unended*: that was of no use."""
        watcher = self.watcher()
        if self.supply is not None and watcher is not None:
            (self.supply.replace if unended else self.supply.end)(watcher)

    def watcher(self) -> socket.socket | None:
        """The socket of the supervisor that watches over it."""
        return self.socket

    def patience(self) -> int | None:
        """Milliseconds to wait before ``lasting``: what is over by then needs no word, which would wake a process."""
        return _AT_ONCE if self.answered and not self.reminded else None

    def lasting(self) -> None:
        """A process that has answered goes on; its end is to be seen to."""
        assert self.socket is not None
        self.reminded = True
        post(self.socket, b"a")

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
        except HoldsNul:
            self.error = "a variable holds a NUL character, which no process can be given"
            return False
        except ConnectionError:
            self.error = f"the launcher ended; {what_to_do()}"
            return False
        except OSError as error:
            what = f" ({error.filename})" if error.filename else ""
            self.error = f"no process can be started: {error.strerror or 'the launcher does not answer'}{what}"
            return False
        self.close_given()
        self.poll.register(self.socket, select.POLLIN)
        self.started = self.running = True
        self.expect(self.limit())
        self.stop._attach(self.socket)
        return True

    def expect(self, limit: float | None) -> None:
        """From now on it may take *limit* seconds; a little later its report has to be here."""
        self.due = math.inf if limit is None else time.monotonic() + limit + _KILL_AFTER["timeout"] + _SLACK

    def limit(self) -> float | None:
        return self.request.limits.timeout if self.request.timeout is None else self.request.timeout

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
            "argv": [encoded(word) for word in request.argv],
            "environ": block(request.environ),
            "cwd": encoded(request.cwd),
            "files": {encoded(name): content for name, content in request.files.items()},
            "limits": {name: value for name, value in limits.items() if value is not None},
            "timeout": self.limit(),
            "umask": umask(),
            "numbers": list(self.given),
        }

    def source(self, content: bytes) -> int:
        """A descriptor from which *content* can be read."""
        sealed = memory(content)
        if sealed is not None:
            return sealed
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
        chunk = os.read(fd, self.sizes.get(fd, CHUNK))
        sink = self.sinks[fd]
        if len(chunk) == CHUNK and fd not in self.sizes:
            self.sizes[fd] = widened(fd)
        if fd != self.answering and chunk[-1:] not in (b"", b"\n"):
            chunk += rest_of_line(fd)
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
        else:
            self.end()

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
                if self.report is None and not self.unended:
                    self.leave(self.socket)
        self.close_given()
        for fd in (*self.sinks, *self.sources):
            os.close(fd)
        self.sinks, self.sources = {}, {}

    def leave(self, taken: socket.socket) -> None:
        """Tells that nobody waits any more, and waits for the end of it all."""
        taken.shutdown(socket.SHUT_WR)
        taken.settimeout(_SLACK)
        try:
            while taken.recv(CHUNK):
                pass
        except TimeoutError:
            self.end()

    def exit(self) -> Exit:
        seconds = time.perf_counter() - self.began
        if self.error is not None:
            return Exit(seconds=seconds, error=self.error)
        if self.report is None:
            if self.overdue is not None:
                what = "could not be ended" if self.unended else "was killed, with everything it watched"
                note = f"the process that watched over this call did not answer and {what}"
                return Exit(seconds=seconds, stopped=self.overdue, notes=(note,))
            if self.socket is None or self.stop.requested:
                return Exit(seconds=seconds, stopped="interrupt")
            return Exit(seconds=seconds, error="the process that watched over this call was killed; call again")
        status, stopped = self.report["status"], self.report["stopped"]
        code = None if status is None else os.waitstatus_to_exitcode(status)
        notes = list(self.report["notes"])
        low = too_low(self.request.limits, code) if self.answer is None and stopped is None else ()
        if low:
            notes.append(f"a limit may be too low for it: {', '.join(low)}")
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
