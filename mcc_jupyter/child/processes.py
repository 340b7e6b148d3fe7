"""What the launcher, its supervisors and warm functions share: signals, children, descriptors.

1. Only own children are ever found here, so that no number is another process's by the time it is signalled.
2. Standard library only, as few modules as possible: ``signal`` and ``socket`` import ``enum``, which takes as long as
   starting the interpreter; their C halves do not. Runs on Python 3.8 and later.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]
import _socket as socket
import os
import select
import sys

SUBREAPER, DUMPABLE, NAME = 36, 4, 15

try:
    import ctypes

    _libc = ctypes.CDLL(None)
except (ImportError, OSError):  # an interpreter without libffi
    _libc = None  # type: ignore[assignment]


def prctl(option: int, argument: object) -> bool:
    """Whether the kernel did as told; never outside Linux."""
    if not sys.platform.startswith("linux") or _libc is None:
        return False
    return bool(_libc.prctl(option, argument, 0, 0, 0) == 0)


REAPS = prctl(SUBREAPER, 0)
"""Whether orphans come to us. Where they do not (macOS), only the tool's process group can be ended."""


def wakeup() -> tuple[int, int]:
    """A pipe that gives a byte, the signal's number, for each SIGCHLD and SIGTERM."""
    ours, theirs = os.pipe()
    for fd in (ours, theirs):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    return ours, theirs


def rights(*descriptors: int) -> list[tuple[int, int, bytes]]:
    """The ancillary data that carries *descriptors*."""
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, b"".join(fd.to_bytes(4, sys.byteorder) for fd in descriptors))]


def watching(*descriptors: int) -> select.poll:
    poll = select.poll()
    for fd in descriptors:
        if fd >= 0:  # no pidfd where the system or the kernel's Python has none
            poll.register(fd, select.POLLIN)
    return poll


def received(control: list[tuple[int, int, bytes]]) -> list[int]:
    """The descriptors in a message's ancillary data."""
    data = b"".join(item for level, kind, item in control if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS))
    found = [int.from_bytes(data[at : at + 4], sys.byteorder) for at in range(0, len(data) - 3, 4)]
    for fd in found:
        os.set_inheritable(fd, False)
    return found


def children() -> list[int]:
    """Our own children, the only processes beside the tool's group that we may signal."""
    own = os.getpid()
    try:
        with open(f"/proc/{own}/task/{own}/children") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:  # a system built without it
        return children_by_parent(own)


def children_by_parent(own: int) -> list[int]:
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError):  # it has just ended
                continue
            if parent == own:
                found.append(int(name))
    return found


def kill(pid: int, number: int = signal.SIGKILL) -> bool:
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True
