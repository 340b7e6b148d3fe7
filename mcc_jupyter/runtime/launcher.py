"""Our side of the launcher process: ``Request`` → a running tool → ``Exit`` (SPEC 7.1, 7.8, 7.9).

1. Nothing is forked from this process: ``child/launch.py`` is started once and keeps a confined supervisor ready. A
   call goes over that supervisor's own socket (``supervised.py``).
2. A launcher that died is replaced at the next call, or at once where a call has lost who watched over it or the
   launcher does not end it: another one ends what is left. What else runs goes on. A process forked from this one
   starts its own.
3. While a call runs, Ctrl-C is an order to the tool. It is raised when the tool has gone.
4. From the first start on this process writes no core file (``RLIMIT_CORE`` is 0, for good).
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # ``signal`` makes enumerations of numbers and handlers, each time
import atexit
import contextlib
import os
import resource
import select
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

from ..core.command import Request
from ..core.isolation import Isolation
from .descriptors import NOSIGNAL, socketpair, sockets
from .supervised import Call, Exit, Sink, Stop

__all__ = ["Exit", "Launcher", "Stop"]

_PATIENCE = 5.0
"""Seconds that a launcher has to end everything."""
_IDLE = 4
"""Supervisors that wait for another call of their tool."""
_LOST = 100
"""Milliseconds in which a launcher that dies together with a supervisor is seen to be dead."""
_LAUNCH = str(Path(__file__).resolve().parent.parent / "child" / "launch.py")


class Launcher:
    """The launcher process of this process, started at the first call with *environ*, the floor.

    Thread-safe. A launcher that died is replaced at the next call; a forked child starts its own.
    """

    def __init__(self, environ: Mapping[str, str], *, python: str = sys.executable) -> None:
        self._environ = dict(environ)
        self._python = python
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._former: list[subprocess.Popen[bytes]] = []
        """Keepers whose launcher died, as long as something runs below them."""
        self._ready: list[socket.socket] = []
        self._idle: list[tuple[object, socket.socket]] = []
        self._numbers: weakref.WeakKeyDictionary[socket.socket, int] = weakref.WeakKeyDictionary()
        """The process at the other end, as the launcher knows it."""
        self._ahead = 0
        """Confined supervisors that are on their way here."""
        self._isolation: Isolation | None = None

    def run(
        self,
        request: Request,
        *,
        stdout: Sink,
        stderr: Sink,
        stop: Stop | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> Exit:
        """Starts *request*, passes its output on as it comes, and returns when nothing of it is left.

        *meanwhile* is called once it has started.

        A ``KeyboardInterrupt`` is passed on like ``stop.interrupt()``; when the tool has gone it is raised, with the
        ``Exit`` as its attribute ``exit``. A third one is raised at once, as is what a sink raises: the tool is killed.
        """
        return self.serve(Call(request, stdout, stderr, Stop() if stop is None else stop, meanwhile))

    def serve(self, call: Call) -> Exit:
        """``run`` for a call of any kind."""
        with _Interrupts(call.stop) as interrupts:
            try:
                while True:
                    try:
                        call.advance(self)
                        break
                    except KeyboardInterrupt:
                        interrupts.pass_on()
                        if not call.started:
                            break
            finally:
                call.close()
            self.refill()
            exit = call.exit()
        if interrupts.count:
            interrupt = KeyboardInterrupt()
            interrupt.exit = exit  # type: ignore[attr-defined]
            raise interrupt
        return exit

    def close(self) -> None:
        """Ends every running call and the launcher. Also done at exit."""
        if self._owner != os.getpid():
            self._forget()
            return
        with self._lock:
            self._end()

    @property
    def isolation(self) -> Isolation:
        """What confines the tools of this launcher, as its first supervisor found out by trying (SPEC 7.1, 11.5)."""
        if self._isolation is None:
            try:
                slot = self._taken(confined=True)
            except OSError:
                return Isolation(sys.platform, known=False)
            with self._lock:
                self._ready.append(slot)
        assert self._isolation is not None
        return self._isolation

    def take(self, request: Request) -> socket.socket:
        """The socket of a supervisor that waits for its call. Raises ``OSError``."""
        if self._owner != os.getpid():
            self._forget()
        world = _world(request)
        with self._lock:
            for at, (known, slot) in enumerate(self._idle):
                if known == world:
                    del self._idle[at]
                    return slot
        return self._taken(confined=request.isolation)

    def _taken(self, *, confined: bool) -> socket.socket:
        if self._owner != os.getpid():
            self._forget()
        with self._lock:
            if confined and self._ready:
                return self._ready.pop()
            try:
                return self._receive(confined)
            except ConnectionError:  # it has died
                self._leave()
                return self._receive(confined)

    def give_back(self, request: Request, taken: socket.socket) -> None:
        """Keeps a supervisor that has nothing left to watch for the next call of the same tool."""
        with self._lock:
            if request.tool and self._control is not None and self._owner == os.getpid():
                self._idle.insert(0, (_world(request), taken))
                if len(self._idle) <= _IDLE:
                    return
                taken = self._idle.pop()[1]
        taken.close()

    def end(self, taken: socket.socket) -> None:
        """Has a supervisor that does not report killed, with everything it watches.

        Where the launcher has died with it, another one is started at once, which ends what nobody watches any more.
        """
        with self._lock:
            if self._control is None or self._owner != os.getpid():
                return
            number = self._numbers.get(taken)
            if number is not None:
                with contextlib.suppress(OSError):
                    self._control.send(b"k" + number.to_bytes(4, sys.byteorder), NOSIGNAL)
            dead = select.poll()
            dead.register(self._control, 0)
            if dead.poll(_LOST):
                self._leave()
                with contextlib.suppress(OSError):
                    self._start()

    def replace(self, taken: socket.socket) -> None:
        """Another launcher in the place of one that does not do what it is told; one of them ends what is left.

        Nothing where *taken* came from an earlier one.
        """
        with self._lock:
            if self._process is None or self._owner != os.getpid() or taken not in self._numbers:
                return
            self._process.kill()  # the keeper, which may be stopped, too
            self._leave()
            with contextlib.suppress(OSError):
                self._start()

    def refill(self) -> None:
        """Has the next supervisor made ready: after a call, since a fork beside it costs the call its processor."""
        with self._lock:
            if self._control is not None and self._owner == os.getpid() and not (self._ahead or self._ready):
                with contextlib.suppress(OSError):
                    self._control.send(b"c", NOSIGNAL)
                    self._ahead += 1

    def _receive(self, confined: bool) -> socket.socket:
        control = self._control or self._start()
        if not confined:
            control.send(b"o", NOSIGNAL)
        elif not self._ahead:
            control.send(b"c", NOSIGNAL)
            self._ahead += 1
        while True:
            message, ancillary, _, _ = control.recvmsg(8, socket.CMSG_SPACE(4))
            if len(message) < 8:
                raise ConnectionResetError
            kind, abi, holds, trouble = message[:4]
            if kind == ord("x"):
                self._ahead = 0
                raise OSError(trouble, os.strerror(trouble))
            slot = sockets(ancillary)[0]
            self._numbers[slot] = int.from_bytes(message[4:8], sys.byteorder)
            if kind == ord("c"):
                self._ahead -= 1
                self._isolation = Isolation(sys.platform, abi, *(bool(holds & 1 << bit) for bit in range(4)))
            if (kind == ord("c")) is confined:
                return slot
            self._ready.append(slot)

    def _start(self) -> socket.socket:
        ours, theirs = socketpair()
        ours.settimeout(_PATIENCE)
        _no_core_file()
        try:
            with theirs, _pidfd(os.getpid()) as kernel:
                self._process = subprocess.Popen(
                    [self._python, "-I", "-S", _LAUNCH, str(theirs.fileno()), str(kernel)],
                    env=self._environ,
                    start_new_session=True,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=[fd for fd in (theirs.fileno(), kernel) if fd >= 0],
                )
        except BaseException:
            ours.close()
            raise
        self._control = ours
        self._ahead = 1  # it comes unasked
        atexit.register(self.close)
        return ours

    def _leave(self) -> None:
        """Has nothing more to do with a launcher that died; what runs goes on."""
        control, process, self._control, self._process = self._control, self._process, None, None
        self._close_slots()
        self._numbers.clear()
        if control is not None:
            control.close()
        former = [*self._former, process] if process is not None else self._former
        self._former = [one for one in former if one.poll() is None]

    def _end(self) -> None:
        control, process, former = self._control, self._process, self._former
        self._control, self._process, self._former = None, None, []
        self._close_slots()
        atexit.unregister(self.close)
        if control is not None:
            # Not only closed: a process forked from this one may hold the socket open.
            with control, contextlib.suppress(OSError):
                control.shutdown(socket.SHUT_RDWR)
        for one in former:
            one.terminate()
        for one in (*former, *([] if process is None else [process])):
            _wait(one)

    def _close_slots(self) -> None:
        for slot in (*self._ready, *(slot for _, slot in self._idle)):
            slot.close()
        self._ready, self._idle, self._ahead = [], [], 0

    def _forget(self) -> None:
        """In a forked child: the launcher is the parent's, and its lock may be held by a thread that is not here."""
        self._owner, self._lock = os.getpid(), threading.Lock()
        control, process, self._control, self._process = self._control, self._process, None, None
        self._close_slots()
        former, self._former = self._former, []
        if control is not None:
            control.close()
        for one in (*former, *([] if process is None else [process])):
            one.returncode = 0  # not ours to wait for, so nothing to warn of


def _wait(keeper: subprocess.Popen[bytes]) -> None:
    """For the end of a keeper that knows it is to end. It is told once more before it is killed."""
    if _ended(keeper):
        return
    keeper.terminate()  # it kills the launcher
    if not _ended(keeper):
        keeper.kill()
        keeper.wait()


def _ended(keeper: subprocess.Popen[bytes]) -> bool:
    """Waits at most _PATIENCE. ``Popen.wait`` with a limit sleeps, each time longer, and notices the end late."""
    if keeper.poll() is not None:
        return True
    with _pidfd(keeper.pid) as fd:
        if fd >= 0:
            end = select.poll()
            end.register(fd, select.POLLIN)
            end.poll(_PATIENCE * 1000)
    with contextlib.suppress(subprocess.TimeoutExpired):
        keeper.wait(_PATIENCE if fd < 0 else 0)
    return keeper.returncode is not None


def _world(request: Request) -> object:
    """Calls for which it is equal may have the same supervisor, which could keep nothing that the next one has not."""
    return request.tool, request.isolation, request.environ


def _no_core_file() -> None:
    """This process writes no core file from now on: a tool could provoke one, and it would hold every secret here."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class _Interrupts:
    """While a call runs, Ctrl-C in the main thread is an order to the tool, not an exception somewhere in our code.

    Another handler than Python's own is left alone; the ``KeyboardInterrupt`` it may raise is caught instead.
    """

    def __init__(self, stop: Stop) -> None:
        self.stop = stop
        self.count = 0
        self.replaced = False

    def __enter__(self) -> Self:
        main = threading.current_thread() is threading.main_thread()
        if main and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
            self.replaced = True
            _signal.signal(_signal.SIGINT, lambda *_: self.pass_on())
        return self

    def __exit__(self, *_: object) -> None:
        if self.replaced:
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)

    def pass_on(self) -> None:
        self.count += 1
        if self.count > 2:
            raise KeyboardInterrupt
        self.stop.interrupt()


class _pidfd:  # noqa: N801
    """A descriptor that tells when a process has ended; -1 where there is none."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def __enter__(self) -> int:
        self.fd = -1
        if hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):
                self.fd = os.pidfd_open(self.pid)
        return self.fd

    def __exit__(self, *_: object) -> None:
        if self.fd >= 0:
            os.close(self.fd)
