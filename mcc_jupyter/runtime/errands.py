"""A program that is waited for, such as ``pass`` or ``git``: its output, and nothing of it left (SPEC 8.5).

1. A signal that ends this process ends the program first, with what it has started. Nobody waits long for that.
2. What it prints to stderr stays unread: it is not known to be free of secrets.
3. Only in the main thread, which alone may take signals.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence

PATIENCE = 3.0
"""Seconds that a program has to end once it was told to."""
_TICK = 0.1
"""Seconds between two looks at whether it was told to."""
_ENDING = (signal.SIGTERM, signal.SIGHUP)


def output(
    argv: Sequence[str], environ: Mapping[str, str], *, folder: str | None = None, limit: float | None = None
) -> tuple[int, bytes]:
    """Exit code and standard output. With a *limit* in seconds the program has no terminal.

    Raises ``OSError`` where it cannot be started, ``TimeoutExpired``, and ``KeyboardInterrupt``.
    """
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in _ENDING}
    ours = [number for number, handler in before.items() if handler is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        with subprocess.Popen(
            argv,
            env=dict(environ),
            cwd=folder,
            stdin=None if limit is None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=limit is not None,
        ) as process:
            try:
                printed = _waited(process, came, limit)
            finally:
                if process.poll() is None:
                    _end(process)
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
        if came:
            _signal_ourselves(came[0])
    return process.returncode, printed


def _waited(process: subprocess.Popen[bytes], came: list[int], limit: float | None) -> bytes:
    began = time.monotonic()
    while not came:
        try:
            return process.communicate(timeout=_TICK)[0]
        except subprocess.TimeoutExpired:
            if limit is not None and time.monotonic() - began > limit:
                raise
    return b""


def _end(process: subprocess.Popen[bytes]) -> None:
    """The program and all below it: told to end, then killed."""
    with contextlib.ExitStack() as held:
        below = [fd for pid in _below(process.pid) for fd in _held(pid, held)]
        for number in (signal.SIGTERM, signal.SIGKILL):
            process.send_signal(number)  # nobody, once it has been waited for
            for fd in below:
                with contextlib.suppress(OSError):
                    signal.pidfd_send_signal(fd, number)
            until = time.monotonic() + PATIENCE
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)
            for fd in below:
                select.select([fd], [], [], max(0.0, until - time.monotonic()))


def _below(pid: int) -> list[int]:
    """What it has started, and what that has started, as far as the system tells."""
    found = [pid]
    for one in found:
        with contextlib.suppress(OSError), open(f"/proc/{one}/task/{one}/children", encoding="ascii") as file:
            found += map(int, file.read().split())
    return found[1:]


def _held(pid: int, held: contextlib.ExitStack) -> Iterator[int]:
    """A descriptor of the process, by which no other can be meant when it has ended."""
    with contextlib.suppress(OSError, AttributeError):
        fd = os.pidfd_open(pid)
        held.callback(os.close, fd)
        yield fd


def _signal_ourselves(number: int) -> None:
    os.kill(os.getpid(), number)
