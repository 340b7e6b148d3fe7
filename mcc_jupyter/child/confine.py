"""Landlock, privileges and the proof that they hold: what a supervisor enters before it starts a tool (SPEC 7.1).

1. A tool's processes may read, trace and signal each other and nobody else. Files and network stay as they are: a
   ruleset about files would break ``mount``, one about abstract sockets breaks programs.
2. Nothing is taken for granted: the scope of signals counts once a signal to the launcher has been refused, the
   capabilities once they were looked for and not found.
3. Never in a thread of the kernel: it cannot be undone, and the kernel would be confined itself.
"""

from __future__ import annotations

import errno
import os
import sys

NO_NEW_PRIVS, BOUNDING_READ, BOUNDING_DROP = 38, 23, 24
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
REFER, SCOPE_SIGNAL = 1 << 13, 1 << 1
READERS = (21, 38)
"""CAP_SYS_ADMIN and CAP_PERFMON: either reads another process's environment in spite of Landlock."""
RULESETS = (
    (6, bytes(16) + SCOPE_SIGNAL.to_bytes(8, sys.byteorder), 0),
    (2, REFER.to_bytes(8, sys.byteorder), REFER),
)
"""From which version of Landlock on, what is asked of it, and the right that is given back for all folders.

Before version 6 signals cannot be scoped, and an empty ruleset is refused: moving between folders is the right that can
be given back in full. It cannot be handled before version 2, where it is denied to everybody in a domain.
"""
DOMAIN, SCOPED, UNPRIVILEGED, FINAL = 1, 2, 4, 8

try:
    import ctypes

    _libc = ctypes.CDLL(None, use_errno=True)
except (ImportError, OSError):  # an interpreter without libffi
    _libc = None  # type: ignore[assignment]


class Confinement:
    """What this system offers, found out once; then entered by each supervisor."""

    def __init__(self) -> None:
        self.abi, self.ruleset = 0, -1
        self.linux = sys.platform.startswith("linux") and _libc is not None
        if self.linux:
            self.abi = max(0, call(CREATE_RULESET, None, 0, 1))
        for least, attributes, allowed in RULESETS:
            if self.abi >= least:
                self.ruleset = call(CREATE_RULESET, attributes, len(attributes), 0)
                if allowed and not everywhere(self.ruleset, allowed):
                    self.ruleset = -1
                return

    def enter(self, outside: int) -> tuple[int, int]:
        """Confines this process for good. *outside* is a process that must be out of reach afterwards.

        What holds, as bits, and the error number of a domain that this system has but would not let us enter.
        """
        if not self.linux:
            return 0, 0
        found, trouble = 0, 0
        if _libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
            found |= FINAL
        reached = reaches(outside)
        if self.ruleset >= 0:
            if call(RESTRICT_SELF, self.ruleset, 0) == 0:
                found |= DOMAIN
                if reached is True and reaches(outside) is False:
                    found |= SCOPED
            else:
                trouble = ctypes.get_errno()
        elif self.abi >= 2:
            trouble = errno.EINVAL
        if drop():
            found |= UNPRIVILEGED
        return found, trouble

    def nest(self) -> bool:
        """Enters one more domain in a fork of what is confined already: the rest of it was inherited, for good."""
        return self.ruleset < 0 or call(RESTRICT_SELF, self.ruleset, 0) == 0


def call(number: int, *arguments: object) -> int:
    """A system call; -1 for one that failed."""
    values = [ctypes.c_long(item) if isinstance(item, int) else item for item in arguments]
    return int(_libc.syscall(ctypes.c_long(number), *values))


def everywhere(ruleset: int, right: int) -> bool:
    """Gives *right* back for all folders; whether it is given."""
    try:
        root = os.open("/", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    rule = right.to_bytes(8, sys.byteorder) + root.to_bytes(4, sys.byteorder)
    given = call(ADD_RULE, ruleset, 1, rule, 0) == 0
    os.close(root)
    return given


def reaches(pid: int) -> bool | None:
    """Whether a signal to *pid* would be sent; None where there is no such process."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return False
    except OSError:
        return None
    return True


def drop() -> bool:
    """Gives up what reads other processes all the same, and tells whether it is gone for good."""
    for capability in READERS:
        if _libc.prctl(BOUNDING_READ, capability, 0, 0, 0) == 1:
            # Only who may change its capabilities can; anybody else gains none either, by no_new_privs.
            _libc.prctl(BOUNDING_DROP, capability, 0, 0, 0)
    header = ctypes.create_string_buffer((0x20080522).to_bytes(4, sys.byteorder) + bytes(4), 8)
    sets = ctypes.create_string_buffer(24)
    if _libc.capget(header, sets):
        return False
    words = [int.from_bytes(sets.raw[at : at + 4], sys.byteorder) for at in range(0, 24, 4)]
    for capability in READERS:
        for at in range(3):  # effective, permitted, inheritable; the upper half follows the lower one
            words[at + 3 * (capability // 32)] &= ~(1 << capability % 32)
    sets.raw = b"".join(word.to_bytes(4, sys.byteorder) for word in words)
    if _libc.capset(header, sets) or _libc.capget(header, sets):
        return False
    held = [int.from_bytes(sets.raw[at : at + 4], sys.byteorder) for at in range(0, 24, 4)]
    return held == words
