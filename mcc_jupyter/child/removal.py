"""A private folder → nothing, whatever its tool made of it (SPEC 7.9, 8.7).

1. Nothing grows with what one user can make: a folder in a folder is moved up and emptied there, so that any depth
   takes two descriptors and no recursion, and the time has a limit.
2. Nothing outside goes: no link is followed, and no folder is looked into before it could be renamed. What is mounted
   cannot be.
3. Standard library only, Python 3.8 and later.
"""

from __future__ import annotations

import os
import time

TIME = 2.0
"""Seconds that one removal may take. What is left then, the next keeper removes."""
OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
ONLY_THERE = getattr(os, "O_PATH", 0)


def remove(path: str, until: float = 0.0) -> bool:
    """Whether there was time for all that can be removed, until *until* on the monotonic clock."""
    try:
        os.unlink(path)
        return True
    except FileNotFoundError:
        return True
    except OSError:  # it is a folder
        pass
    removal = Removal(until or time.monotonic() + TIME)
    try:
        top = entered(path)
        try:
            if os.fstat(top).st_dev == os.stat(os.path.dirname(path)).st_dev:
                removal.all_below(top)
        finally:
            os.close(top)
        os.rmdir(path)
    except OSError:
        return not removal.late
    return True


class Removal:
    """One folder's; *until* is on the monotonic clock."""

    def __init__(self, until: float) -> None:
        self.until = until
        self.late = False
        self.mark = os.urandom(6).hex()
        self.renamed = 0
        self.changed = True

    def all_below(self, top: int) -> None:
        """Until nothing is left, or nothing can be removed, or it is late."""
        while self.changed and not self.late:
            self.changed = False
            self.empty(top, top)

    def empty(self, folder: int, top: int) -> None:
        with os.scandir(folder) as entries:
            for entry in entries:
                self.late = time.monotonic() > self.until
                if self.late:
                    return
                try:
                    self.take(entry.name, folder, top)
                except OSError:  # it stays, and stops nothing else
                    continue

    def take(self, name: str, folder: int, top: int) -> None:
        """Raises ``OSError`` for what cannot be removed."""
        for away in (os.unlink, os.rmdir):
            try:
                away(name, dir_fd=folder)
                self.changed = True
                return
            except OSError:
                continue
        new = f".mcc-{self.mark}-{self.renamed}"
        self.renamed += 1
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=folder)
        inner = entered(new, folder)
        try:
            if folder == top:
                self.empty(inner, top)
            else:
                os.rename(new, new, src_dir_fd=folder, dst_dir_fd=top)
                self.changed = True
        finally:
            os.close(inner)
        if folder == top:
            os.rmdir(new, dir_fd=top)
            self.changed = True


def entered(name: str, at: int | None = None) -> int:
    """The folder's descriptor; its owner may do everything in it from now on. Raises ``OSError``."""
    try:
        fd = os.open(name, OPEN, dir_fd=at)
    except PermissionError:
        permit(name, at)
        fd = os.open(name, OPEN, dir_fd=at)
    try:
        os.fchmod(fd, 0o700)
    except OSError:  # it is another user's, who may have let us
        pass
    return fd


def permit(name: str, at: int | None) -> None:
    """Without following a link that takes its place meanwhile."""
    if not ONLY_THERE:
        os.chmod(name, 0o700, dir_fd=at, follow_symlinks=False)
        return
    fd = os.open(name, ONLY_THERE | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
    try:
        os.chmod(f"/proc/self/fd/{fd}", 0o700)
    finally:
        os.close(fd)
