"""What nobody watches any more: found by a mark that each process of ours hands down to all it starts (SPEC 7.9).

Keeper, launcher and supervisor killed in one instant leave nobody who could tell what their tool's processes were. The
keeper has marked itself, so that they can be told all the same, and no call has to write anything down.

1. The mark has two parts: a policy for memory failures, which nobody but a process itself can set, and a limit that
   Linux does not enforce, so that nobody's own policy is taken for ours. Both outlast ``fork``, ``exec``, ``setsid``.
2. Ended is what has the mark, is this user's, and has no keeper, launcher or supervisor above it. What cannot be seen
   in full (it has just ended, it came from another process namespace) is left alone.
3. A call's private folder is locked by its supervisor, which works across process namespaces. One that nobody has
   locked is removed.
4. What one of them is stops nothing: no error of one keeps the others, and the time has a limit.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]
import os
import resource
import stat
import sys
import time

POLICY, CLEAR, SET = 33, 0, 1
"""PR_MCE_KILL. What is set is the default of the system: a process is killed when it uses memory that failed."""
LOCKS = 10
"""RLIMIT_LOCKS, without effect since Linux 2.4.25."""
LABEL = int.from_bytes(b"mcc-tool", "big")
ROUNDS = 50
"""Looks at all processes until none of them is a stray: one may just have started another."""
PAUSE = 0.01

processes, removal = sys.modules["_mcc_processes"], sys.modules["_mcc_removal"]
"""Whoever loads this has loaded them."""


def read(path: str) -> bytes:
    """The beginning of a file of the system's, in a third of the time that ``open`` takes."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 4096)
    finally:
        os.close(fd)


class Seen:
    """What the system tells anybody of a process. Raises ``OSError`` where there is none."""

    def __init__(self, pid: int) -> None:
        head, _, rest = read(f"/proc/{pid}/stat").rpartition(b")")
        words = rest.split()
        self.name = head.partition(b"(")[2]
        self.state, self.parent, self.flags = words[0], int(words[1]), int(words[6])


def mark() -> int:
    """Marks this process and all it is going to start: the bits to know them by, 0 where the system has none."""
    try:
        if not processes.prctl(POLICY, CLEAR):
            return 0
        before = Seen(os.getpid()).flags
        processes.prctl(POLICY, SET)
        resource.setrlimit(LOCKS, (LABEL, LABEL))
        return Seen(os.getpid()).flags & ~before
    except (OSError, ValueError):
        return 0


def marked(pid: int, bits: int) -> bool:
    if Seen(pid).flags & bits != bits:
        return False
    lines = read(f"/proc/{pid}/limits").splitlines()
    return any(line.startswith(b"Max file locks ") and line.split()[4] == b"%d" % LABEL for line in lines)


def ours(pid: int) -> bool:
    """Whether the process was started by this user, also where it may not be looked at."""
    lines = read(f"/proc/{pid}/status").splitlines()
    return any(line.startswith(b"Uid:") and int(line.split()[1]) == os.getuid() for line in lines)


def watched(pid: int, bits: int) -> bool:
    """Whether somebody of ours is above a marked process. Raises ``OSError`` where that cannot be seen.

    A parent without the mark has not started it: it only takes orphans. While somebody above is alive, whatever ends
    in between, the way up leads there. The way out of a process namespace leads to number 0, of which nothing can be
    read.
    """
    while True:
        seen = Seen(pid)
        if seen.name.startswith(b"mcc-") and seen.state != b"T":  # whom its tool has stopped needs another above it
            return True
        if not marked(seen.parent, bits):
            return False
        pid = seen.parent


def stray(pid: int, bits: int) -> bool:
    try:
        return Seen(pid).state not in b"ZX" and marked(pid, bits) and ours(pid) and not watched(pid, bits)
    except (OSError, IndexError):  # it has just ended
        return False


def end(pid: int, bits: int) -> bool:
    """Ends the process if it is a stray, and nobody that has its number by then."""
    fd = -1
    try:
        fd = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
        if not stray(pid, bits):
            return False
        if fd >= 0:
            signal.pidfd_send_signal(fd, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGKILL)
    except OSError:
        return False
    finally:
        if fd >= 0:
            os.close(fd)
    return True


def end_all(bits: int) -> None:
    """Ends every stray of this user."""
    for _ in range(ROUNDS if bits else 0):
        found = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        if not [pid for pid in found if stray(pid, bits) and end(pid, bits)]:
            return
        time.sleep(PAUSE)


def abandoned(path: str) -> bool:
    """Whether *path* is a private folder of a call that nobody makes any more."""
    import fcntl

    word, number, pid = [*os.path.basename(path).split("-"), "", ""][:3]
    if word != "mcc" or len(number) != 16 or not (pid.isascii() and pid.isdigit()):
        return False
    fd = -1
    try:
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            return False
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        seen = Seen(int(pid))
        return seen.state in b"ZX" or not seen.name.startswith(b"mcc-")  # it may have been made in this moment
    except FileNotFoundError:
        return fd >= 0
    except OSError:
        return False
    finally:
        if fd >= 0:
            os.close(fd)


def remove_all(places: list[str], until: float) -> bool:
    """Removes every abandoned folder of this user in *places*: whether it was done by *until*."""
    for place in places:
        try:
            names = os.listdir(place)
        except OSError:
            continue
        ours = [os.path.join(place, name) for name in names if name.startswith("mcc-")]
        for path in sorted(ours, key=lambda _: os.urandom(4)):  # none is always the first to take the time
            try:
                if abandoned(path) and not removal.remove(path, until):
                    return False
            except Exception:  # noqa: BLE001 - whatever it is, it is not the last
                continue
    return True
