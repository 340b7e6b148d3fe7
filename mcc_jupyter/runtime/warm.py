"""Functions that stay imported: a call is a fork of what has imported its function (SPEC 7.3).

1. A process is kept for one module (or cell) in one world: interpreter, folder, environment and limits. It is the one
   that read the signatures of its functions. It was started and is confined like any tool, by a supervisor, and ends
   with it. A call is its own process all the same.
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
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.command import Request
from .descriptors import NOSIGNAL, sockets
from .launcher import Exit, Launcher, Stop
from .spares import Spares
from .supervised import Sink
from .warm_calls import OF_A_CALL, Forked, Import, lasting, of_a_call, unchanged

IDLE = 60.0
"""Seconds without a call after which a process ends."""
MOST = 8
"""Processes that are kept at once; the one that waited longest goes first."""
MEMORY_KIB = 1024 * 1024
"""A process that is larger after its import is not kept."""


HARMLESS_ALONE = frozenset(
    {
        "its import starts threads",
        "its import opens files or sockets",
        "its import leaves a process running",
        "a module holds a random generator, which would repeat itself",
    }
)
"""What forbids a fork and is no harm where a process serves one call."""
_ELSEWHERE = "only Linux forks safely"


@dataclass(frozen=True, slots=True)
class Ran:
    """How a function's call went: its exit, the mode (``warm``, ``spare`` or ``cold``) and why it was that mode."""

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
    spare: bool = False
    """Whether a process that serves one call alone may import it ahead."""
    passing: bool = False
    """Whether the next call is to try again."""
    ahead: int = 1
    """Forked processes on their way here; one comes unasked."""
    used: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def changed(self) -> bool:
        """Whether a source is another than at the import."""
        return not unchanged(self.files)

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
        self._spares = Spares(launcher, idle=idle, memory_kib=memory_kib, most=MOST)
        self._owner = os.getpid()

    def run(
        self,
        request: Request,
        *,
        fresh: bool,
        stdout: Sink,
        stderr: Sink,
        stop: Stop | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> Ran:
        """Calls a function, in a forked process where that is the same as in a new one.

        *meanwhile* is called while it runs, and may be called again where it had to be started twice.
        """
        self._own()
        stop = Stop() if stop is None else stop
        began = time.monotonic()
        reason = self._forbidden(request, fresh)
        spare = reason == _ELSEWHERE and not request.files
        for _ in range(0 if reason else 2):  # the first may have ended, because nobody called
            found = self._process(request, stop)
            if isinstance(found, Exit):
                return Ran(found, "cold", "it was stopped while it was imported")
            if found.reason is not None:
                reason, spare = found.reason, found.spare
                break
            try:
                slot = found.slot()
            except OSError:
                self._retire(found)
                continue
            call = Forked(_left(request, began), slot, stdout, stderr, stop, meanwhile)
            call.supervisor = found.supervisor
            exit = self._launcher.serve(call)
            if not call.lost:
                found.refill()
                if found not in self._known.values():  # it had to go while it was in use
                    self._retire(found)
                return Ran(exit, "warm", "forked from a process that has imported it")
            self._retire(found)
        reason = reason or "the process that was kept for it has ended"
        with contextlib.ExitStack() as stack:
            if spare:
                frame = marshal.loads(request.payload or b"")  # noqa: S302 - we wrote it
                key = _key(request, frame, frame)
                stack.enter_context(self._spares.around(key, request))
                served = self._spares.run(key, _left(request, began), stdout, stderr, stop)
                if served is not None:
                    return Ran(served, "spare", reason)
            left = _left(request, began)
            exit = self._launcher.run(left, stdout=stdout, stderr=stderr, stop=stop, meanwhile=meanwhile)
        return Ran(exit, "cold", reason)

    def _own(self) -> None:
        if self._owner != os.getpid():  # what is kept is the parent's, and its lock may be held by a thread of its
            for process in self._known.values():
                process.leave()
            for supervisor in self._ending:
                supervisor.close()
            self._spares.forget()
            self._owner, self._lock, self._known, self._ending = os.getpid(), threading.Lock(), {}, []

    def close(self) -> None:
        """Ends every process, and the calls that run in it."""
        self._spares.close()
        with self._lock:
            known, self._known = list(self._known.values()), {}
            ending, self._ending = self._ending, []
        for supervisor in (*ending, *(process.retire() for process in known)):
            if supervisor is not None:
                with supervisor, contextlib.suppress(OSError):
                    supervisor.shutdown(socket.SHUT_RDWR)

    def retire(self) -> None:
        """Ends what waits for calls. Those that run go on, and the next ones start anew."""
        self._spares.close()
        self._retire(*self._known.values())

    def _forbidden(self, request: Request, fresh: bool) -> str | None:
        if fresh:
            return "fresh: true"
        if not sys.platform.startswith("linux"):
            return _ELSEWHERE
        if "MCC_SESSION_FILE" in request.files:
            return "its session is larger than a variable may be"
        return "its secret files are there for one call only" if request.files else None

    def introspect(self, request: Request, sink: Sink) -> Exit:
        """Reads the signatures of functions of one module; the process that did is kept for their calls."""
        self._own()
        frame: dict[str, Any] = marshal.loads(request.payload or b"")  # noqa: S302 - we wrote it
        if self._forbidden(request, fresh=False):
            return self._launcher.run(request, stdout=sink, stderr=sink)
        process, key = _Process(used=time.monotonic()), _key(request, frame["targets"][0], frame)
        exit = self._import(process, request, frame, sink, Stop())
        if process.passing:
            return exit
        with self._lock:
            last = self._known.get(key)
            self._known[key] = process
        self._retire(*([] if last is None else [last]), *self._too_many())
        return exit

    def _process(self, request: Request, stop: Stop) -> _Process | Exit:
        frame: dict[str, Any] = marshal.loads(request.payload or b"")  # noqa: S302 - we wrote it
        with self._lock:
            process = self._known.setdefault(_key(request, frame, frame), _Process())
            process.used = time.monotonic()
        over = self._too_many()
        if over or self._ending:
            self._retire(*over)
        with process.lock:  # whoever calls meanwhile waits for the same import
            if process.changed():
                with self._lock:
                    self._ending += [one for one in (process.retire(),) if one is not None]
                process.reason = None
            if process.control is not None or process.reason is not None:
                return process
            asked = {**frame, "targets": [{"target": frame["target"], "source": frame["source"]}]}
            exit = self._import(process, request, asked, None, stop)
        if process.passing:
            self._retire(process)
        return process if exit.stopped is None else exit

    def _import(
        self, process: _Process, request: Request, frame: dict[str, Any], sink: Sink | None, stop: Stop
    ) -> Exit:
        """Has functions imported by a process that is kept where that is safe."""
        limits = {name: getattr(request.limits, name) for name in ("cpu_sec", "fsize_mb")}
        more = {
            "names": [name for name in frame["names"] if not name.startswith(OF_A_CALL)],
            "session": of_a_call(request),
            "idle": self._idle,
            "confined": request.isolation,
            "limits": {name: value for name, value in limits.items() if value is not None},
        }
        payload = marshal.dumps({**frame, **more}, 2)
        asked = replace(request, environ=lasting(request), payload=payload, tool="")
        start = Import(asked, sink, stop, self._memory)
        try:
            exit = self._launcher.serve(start)
        except BaseException:
            for kept in start.kept or ():
                kept.close()
            raise
        if start.reasons is None:
            process.reason, process.passing = "the process that was to be kept ended while importing", True
        else:
            process.files = start.files
            process.reason = start.reasons[0] if start.reasons else None
            process.passing = "its import fails" in start.reasons
            process.spare = HARMLESS_ALONE.issuperset(start.reasons)
        if start.kept is not None:
            process.control, process.supervisor = start.kept
        return exit

    def _too_many(self) -> list[_Process]:
        with self._lock:
            over = len(self._known) > MOST
            return sorted(self._known.values(), key=lambda known: known.used)[:-MOST] if over else []

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


def _left(request: Request, began: float) -> Request:
    """*request* with the time that is left of its limit."""
    limit = request.limits.timeout if request.timeout is None else request.timeout
    if limit is None:
        return request
    return replace(request, timeout=max(0.05, limit - (time.monotonic() - began)))


def _key(request: Request, target: dict[str, Any], frame: dict[str, Any]) -> object:
    """Calls for which it is equal are served by the same process: its world, and the module or cell it imported."""
    source = target["source"]
    return (
        request.argv,
        request.cwd,
        request.limits,
        request.isolation,
        module(target["target"]) if source is None else tuple(source.values()),
        frame["pythonpath"],
        frozenset(lasting(request).items()),
    )


def module(target: str) -> str:
    """The module that is imported for ``module:name`` or ``module.name``."""
    return target.partition(":")[0] if ":" in target else target.rpartition(".")[0]
