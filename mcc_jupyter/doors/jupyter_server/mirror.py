"""What a kernel says of itself, from its file or its answer → ``Mirror``, which handlers read (SPEC 13.2).

A file is parsed again only when it has changed, and believed only while the process that wrote it lives.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...runtime.manifest import read_manifest
from ...runtime.marks import start_mark


@dataclass(frozen=True, slots=True)
class Mirror:
    """A manifest: names, reports and schemas; no value."""

    content: Mapping[str, Any] = field(repr=False)

    @property
    def package(self) -> str:
        return str(self.content.get("package"))

    @property
    def revision(self) -> int:
        """0 for a remote kernel, whose manifest has none."""
        return int(self.content.get("revision", 0))

    @property
    def mark(self) -> object:
        """The same as long as nothing in it has changed; None where only looking tells."""
        if "revision" not in self.content:
            return None
        return self.content.get("pid"), self.content.get("started"), self.revision

    @property
    def workspace(self) -> str | None:
        found = self.content.get("workspace")
        return found if isinstance(found, str) else None

    @property
    def tools(self) -> list[Mapping[str, Any]]:
        return list(self.content["tools"])

    @property
    def session(self) -> list[Mapping[str, Any]]:
        return list(self.content["session"])


class Mirrors:
    """Reads the files of kernels. From any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[Path, tuple[tuple[int, int, int], Mirror]] = {}

    def read(self, path: Path) -> Mirror | None:
        """What the kernel with this file says; None if there is no file of a living process."""
        mark = None
        with suppress(OSError):
            status = path.lstat()
            mark = status.st_ino, status.st_mtime_ns, status.st_size
        with self._lock:
            known = self._known.get(path)
        if known is not None and known[0] == mark and _lives(known[1]):
            return known[1]
        found = read_manifest(os.fspath(path))
        with self._lock:
            if found is None or mark is None:
                self._known.pop(path, None)
            else:
                self._known[path] = mark, Mirror(found.content)
        return None if found is None else Mirror(found.content)


def _lives(told: Mirror) -> bool:
    return bool(start_mark(int(told.content["pid"])) == told.content["started"])
