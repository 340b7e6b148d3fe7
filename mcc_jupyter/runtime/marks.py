"""A process number → a mark that no other process has had, on this machine or another."""

from __future__ import annotations

import os

_PROC = "/proc"


def start_mark(pid: int) -> str | None:
    """Of a living process: when it started, since which boot, in which space of numbers. None where there is none."""
    try:
        with open(f"{_PROC}/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return None if fields[0] in "ZX" else f"{fields[19]} {place()}"
    except FileNotFoundError:
        return None if os.path.exists(f"{_PROC}/self") else _elsewhere(pid)
    except (OSError, ValueError, IndexError):  # it has ended meanwhile, or is no number
        return None


def place() -> str:
    """Where process numbers mean the same: one boot, and on Linux one namespace."""
    parts = []
    try:
        with open(f"{_PROC}/sys/kernel/random/boot_id", encoding="ascii") as file:
            parts.append(file.read().strip())
        parts.append(os.readlink(f"{_PROC}/self/ns/pid"))
    except OSError:
        parts.append(os.uname().nodename)
    return " ".join(parts)


def _elsewhere(pid: int) -> str | None:
    """The same for a system without ``/proc``."""
    import psutil

    try:
        found = psutil.Process(pid)
        return None if found.status() == psutil.STATUS_ZOMBIE else f"{found.create_time()} {place()}"
    except (psutil.Error, ValueError, OverflowError):
        return None
