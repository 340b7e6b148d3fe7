"""Sizes: what this machine allows the environment of one process (SPEC 4.10), and bytes in words."""

from __future__ import annotations

import resource

_LARGEST = 6 * 1024 * 1024
_RESERVE = 64 * 1024
"""For the arguments, the program's path and the kernel's own data."""


def environment_room() -> int:
    """Bytes that all variables together may have, with their terminators and pointers.

    On Linux a quarter of the stack limit, at most 6 MiB; elsewhere the same rule is more careful than the system.
    """
    stack, _ = resource.getrlimit(resource.RLIMIT_STACK)
    quarter = _LARGEST if stack == resource.RLIM_INFINITY else min(stack // 4, _LARGEST)
    return max(quarter - _RESERVE, 0)


def sized(size: int) -> str:
    """A number of bytes in words."""
    return f"{size:,} byte{'s' * (size != 1)}"
