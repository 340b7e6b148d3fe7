"""Kernels of this server → a credential each, by which one is told from all others.

1. A credential is random, renewed at each start of its kernel, and kept here as a digest.
2. It holds for one process: while that lives, and for no other that may have come by it where the asking process is
   known.
3. The kernel reads it from a pipe that it inherits: it is in no environment, no argument and no file.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import stat
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from .marks import start_mark

VARIABLE = "MCC_KERNEL_FD"
"""Names the descriptor. It is taken out of the kernel's environment together with what it leads to."""

_LONGEST = 256


@dataclass(frozen=True, slots=True)
class _Held:
    digest: bytes
    pid: int | None = None
    mark: str | None = None


class Credentials:
    """The credentials of one server. Safe to use from several threads."""

    def __init__(self, mark: Callable[[int], str | None] = start_mark) -> None:
        self._mark = mark
        self._lock = threading.Lock()
        self._held: dict[str, _Held] = {}

    def __repr__(self) -> str:
        return f"<credentials of {len(self._held)} kernels>"

    def issue(self, kernel: str) -> str:
        """A new credential for *kernel*; an earlier one is worth nothing from now on."""
        made = secrets.token_urlsafe(32)
        with self._lock:
            self._held[kernel] = _Held(_digest(made))
        return made

    def started(self, kernel: str, pid: int) -> None:
        """Binds the credential of *kernel* to its process."""
        with self._lock:
            if kernel in self._held:
                self._held[kernel] = _Held(self._held[kernel].digest, pid, self._mark(pid))

    def revoke(self, kernel: str) -> None:
        """The kernel has ended."""
        with self._lock:
            self._held.pop(kernel, None)

    def holder(self, credential: str, *, pid: int | None = None) -> str | None:
        """The id of the living kernel that was given *credential*; *pid*: who asks, where the transport tells."""
        asked = _digest(credential)
        with self._lock:
            pairs = list(self._held.items())
        found = [(kernel, held) for kernel, held in pairs if hmac.compare_digest(held.digest, asked)]
        for kernel, held in found:
            lives = held.pid is not None and held.mark is not None and self._mark(held.pid) == held.mark
            if lives and pid in (None, held.pid):
                return kernel
        return None


def _digest(credential: str) -> bytes:
    return hashlib.sha256(credential.encode("utf-8", "surrogatepass")).digest()


def pipe_with(credential: str) -> int:
    """The reading end of a pipe that holds *credential*; whoever inherits it reads it once."""
    ours, other = os.pipe()
    try:
        os.write(other, credential.encode())
    finally:
        os.close(other)
    return ours


@dataclass(frozen=True, slots=True)
class Credential:
    """A kernel's own."""

    text: str = field(repr=False)


def taken(number: str) -> Credential | None:
    """In a kernel: the credential at the descriptor that *number* names, which is closed; None where there is none."""
    if not number.isdecimal() or len(number) > 6 or int(number) < 3:
        return None
    descriptor = int(number)
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):  # in a process that inherited the name alone it may be anything
            try:
                os.set_blocking(descriptor, False)
                text = os.read(descriptor, _LONGEST).decode("ascii")
                return Credential(text) if text else None
            finally:
                os.close(descriptor)
    return None


HERE = Credentials()
"""Those of this process."""
