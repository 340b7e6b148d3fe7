"""Sizes: what this machine allows the environment of one process (SPEC 4.10), and bytes in words."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..core.tool import Limits

_LARGEST = 6 * 1024 * 1024
_SMALLEST = 128 * 1024
"""Linux gives at least this, whatever the stack."""
_RESERVE = 64 * 1024
"""For the arguments, the program's path and the kernel's own data."""
_LAUNCHER = 32
"""Descriptors that a launcher needs."""
_SHELL = 16
"""Descriptors that a shell needs to read its script: it moves it to a number of two digits."""


def environment_room() -> int:
    """Bytes that all variables together may have, with their terminators and pointers.

    On Linux a quarter of the stack limit, at least 128 KiB and at most 6 MiB, less a reserve. Elsewhere the same rule
    is more careful than the system.
    """
    stack, _ = resource.getrlimit(resource.RLIMIT_STACK)
    quarter = _LARGEST if stack == resource.RLIM_INFINITY else min(stack // 4, _LARGEST)
    return max(quarter, _SMALLEST) - _RESERVE


def what_to_do() -> str:
    """About a launcher that ended: mostly nothing is wrong with the next one."""
    few, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if not 0 <= few < _LAUNCHER:
        return "call again"
    return f"it needs {_LAUNCHER} descriptors and this process may have {few}; raise the limit (`ulimit -n`)"


def too_low(limits: Limits, code: int | None) -> tuple[str, ...]:
    """The limits that may be why a process ended with *code* (negative: a signal's number)."""
    if code is None or code == 0:
        return ()
    of_itself = code < 0 or code in (126, 127)
    few = limits.nofile is not None and (of_itself or limits.nofile < _SHELL)
    return tuple(f"limits.{name}" for name, low in (("mem_mb", of_itself and limits.mem_mb), ("nofile", few)) if low)


def sized(size: int) -> str:
    """A number of bytes in words."""
    return f"{size:,} byte{'s' * (size != 1)}"
