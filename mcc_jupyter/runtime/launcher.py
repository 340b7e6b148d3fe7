"""Our side of the launcher process: ``Request`` → a running tool → ``Exit`` (SPEC 7.1, 7.8, 7.9).

1. Nothing is forked from this process: ``child/launch.py`` is started once, and gets one socket for each call. What the
   call consists of goes over that socket to the call's supervisor (``supervised.py``).
2. A launcher that died is replaced at the next call; a process forked from this one starts its own.
3. While a call runs, Ctrl-C is an order to the tool. It is raised when the tool has gone.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from ..core.command import Request
from .supervised import NOSIGNAL, Call, Exit, Sink, Stop, rights, socketpair

__all__ = ["Exit", "Launcher", "Stop"]

_PATIENCE = 5.0
"""Seconds that a launcher has to end everything."""
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

    def run(self, request: Request, *, stdout: Sink, stderr: Sink, stop: Stop | None = None) -> Exit:
        """Starts *request*, passes its output on as it comes, and returns when nothing of it is left.

        A ``KeyboardInterrupt`` is passed on like ``stop.interrupt()``; when the tool has gone it is raised, with the
        ``Exit`` as its attribute ``exit``. A third one is raised at once, as is what a sink raises: the tool is killed.
        """
        stop = Stop() if stop is None else stop
        with _Interrupts(stop) as interrupts:
            call = Call(request, stdout, stderr, stop)
            try:
                while True:
                    try:
                        call.advance(self._hand_over)
                        break
                    except KeyboardInterrupt:
                        interrupts.pass_on()
                        if not call.started:
                            break
            finally:
                call.close()
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

    def _hand_over(self, call: socket.socket) -> None:
        if self._owner != os.getpid():
            self._forget()
        with self._lock:
            try:
                self._send(call)
            except ConnectionError:  # it has died
                self._end()
                self._send(call)

    def _send(self, call: socket.socket) -> None:
        control = self._control or self._start()
        control.sendmsg([b"c"], rights([call.fileno()]), NOSIGNAL)

    def _start(self) -> socket.socket:
        ours, theirs = socketpair()
        try:
            with theirs, _pidfd() as kernel:
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
        atexit.register(self.close)
        return ours

    def _end(self) -> None:
        control, process, self._control, self._process = self._control, self._process, None, None
        if control is None or process is None:
            return
        atexit.unregister(self.close)
        # Not only closed: a process forked from this one may hold the socket open.
        with control, contextlib.suppress(OSError):
            control.shutdown(socket.SHUT_RDWR)
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _forget(self) -> None:
        """In a forked child: the launcher is the parent's, and its lock may be held by a thread that is not here."""
        self._owner, self._lock = os.getpid(), threading.Lock()
        control, process, self._control, self._process = self._control, self._process, None, None
        if control is not None and process is not None:
            control.close()
            process.returncode = 0  # not ours to wait for, so nothing to warn of


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
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self.replaced = True
            signal.signal(signal.SIGINT, lambda *_: self.pass_on())
        return self

    def __exit__(self, *_: object) -> None:
        if self.replaced:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def pass_on(self) -> None:
        self.count += 1
        if self.count > 2:
            raise KeyboardInterrupt
        self.stop.interrupt()


class _pidfd:  # noqa: N801
    """A descriptor that tells when this process has ended; -1 where there is none."""

    def __enter__(self) -> int:
        self.fd = -1
        if hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):
                self.fd = os.pidfd_open(os.getpid())
        return self.fd

    def __exit__(self, *_: object) -> None:
        if self.fd >= 0:
            os.close(self.fd)
