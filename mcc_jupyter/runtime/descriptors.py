"""Descriptors between this process and its supervisors: sockets, messages that carry others, memory, pieces of output.

1. What is opened is not inherited, and is closed again where something fails.
2. Nothing here depends on what a user has set in this process: default time-outs of sockets, signal handlers.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import os
import select
import socket
import threading
from collections.abc import Iterable

CHUNK = 64 * 1024
"""Bytes of one read: what a pipe holds."""
_WIDE = 4 * CHUNK
NOSIGNAL = int(getattr(socket, "MSG_NOSIGNAL", 0))
NOWAIT = int(socket.MSG_DONTWAIT)
PEEK = int(socket.MSG_PEEK)
"""Plain numbers: to put flags together makes an enumeration's member each time."""

_NOEXEC_SEAL = 8  # MFD_NOEXEC_SEAL, which os does not know yet
_PIECE_MS = 1
"""Milliseconds that the next piece of a line is waited for."""
_PIECES = 64
"""Pieces that are put together; who dribbles characters is shown them as they come."""


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
        # Its kind is told, so that the system is not asked four questions about it.
        found.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fd))
        found[-1].settimeout(None)
    return found


def post(call: socket.socket, orders: bytes) -> None:
    """Never blocks: the supervisor may have ended, and this may be a signal handler."""
    with contextlib.suppress(OSError):
        call.send(orders, NOSIGNAL | NOWAIT)


def rest_of_line(fd: int) -> bytes:
    """What follows at once, up to the end of the line: ``print(a, b)`` writes in pieces, and people should see one."""
    found = b""
    pieces = 0
    soon = select.poll()
    soon.register(fd, select.POLLIN)
    while pieces < _PIECES and len(found) < CHUNK and not found.endswith(b"\n") and soon.poll(_PIECE_MS):
        pieces += 1
        piece = os.read(fd, CHUNK)
        if not piece:
            break
        found += piece
    return found


def widened(fd: int) -> int:
    """Makes a pipe larger that was found full, where the system does, and returns how much to read of it at a time.

    A redactor is quicker with larger pieces, and the tool runs on meanwhile. Most tools never print so much.
    """
    with contextlib.suppress(OSError):  # a user's pipes together have a limit
        return int(fcntl.fcntl(fd, getattr(fcntl, "F_SETPIPE_SZ", -1), _WIDE))
    return CHUNK


def memory(content: bytes) -> int | None:
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
