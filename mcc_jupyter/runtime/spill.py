"""A call's output → files beside the notebook, for output that is more than an outcome keeps (SPEC 7.6).

1. What is written has been redacted; a file is new, private (0600), and at most ``SPILL_BYTES`` long.
2. A file that cannot be made is an error before the tool starts. What goes wrong later ends the file, never the tool.
"""

from __future__ import annotations

import os
from typing import Self

from ..core.access import printable
from ..core.errors import ArgumentError

SPILL_BYTES = 1024 * 1024 * 1024
"""Bytes of one stream that are written; the rest is counted."""


class Spill:
    """Two new files: *path* for stdout, *path*``.stderr`` for stderr, which goes again if it stays empty.

    Raises ``ArgumentError`` if one of them exists or cannot be made.
    """

    def __init__(self, tool: str, path: str) -> None:
        self._tool = tool
        self.stdout = self._made(path)
        try:
            self.stderr = self._made(f"{path}.stderr")
        except BaseException:
            self.stdout.close(keep=False)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stdout.close(keep=True)
        self.stderr.close(keep=self.stderr.total > 0)

    def notes(self) -> tuple[str, ...]:
        """What is in the files, and what is not."""
        return self.stdout.note("stdout"), *((self.stderr.note("stderr"),) if self.stderr.total else ())

    def _made(self, path: str) -> SpillFile:
        try:
            return SpillFile(path)
        except FileExistsError:
            text = f"Tool {self._tool!r}: spill: `{printable(path)}` exists already; give another name or remove it"
            raise ArgumentError(text) from None
        except (OSError, ValueError) as error:  # a NUL in a name is a ValueError
            why = getattr(error, "strerror", None) or "it is no name of a file"
            raise ArgumentError(f"Tool {self._tool!r}: spill: `{printable(path)}` cannot be written: {why}") from None


class SpillFile:
    """One stream's file. Raises ``OSError`` if it exists or cannot be made."""

    def __init__(self, path: str) -> None:
        self._path = os.path.abspath(path)  # the folder may change while the tool runs
        self._shown = printable(path)
        self.total = self._written = 0
        self._trouble = ""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._fd = os.open(self._path, flags, 0o600)

    def feed(self, data: bytes) -> None:
        self.total += len(data)
        left = memoryview(data)[: SPILL_BYTES - self._written]
        try:
            while left and not self._trouble:
                size = os.write(self._fd, left)
                self._written += size
                left = left[size:]
        except OSError as error:
            self._trouble = error.strerror or "it could not be written"

    def note(self, stream: str) -> str:
        if self._written == self.total:
            return f"all of {stream} is in `{self._shown}` ({self.total:,} bytes)"
        why = self._trouble or f"a file takes at most {SPILL_BYTES:,}"
        return f"the first {self._written:,} of {self.total:,} bytes of {stream} are in `{self._shown}`: {why}"

    def close(self, *, keep: bool) -> None:
        os.close(self._fd)
        if not keep:
            try:
                os.unlink(self._path)
            except OSError:  # somebody else has
                return
