"""The file in which a kernel mirrors its registry → a ``Manifest`` for a process beside it (SPEC 13.2).

1. A file is believed while the process that wrote it lives: its pid and the mark of its start. A stale one is removed.
2. A file is parsed again only when it has changed. What cannot be read counts as not there.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

FORMAT = 1
"""The manifest's version that this package reads."""

LARGEST = 64 * 1024 * 1024
"""Bytes of a file that is read."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a kernel says of itself: names, reports and schemas; no value."""

    content: Mapping[str, object]

    @property
    def format(self) -> object:
        return self.content.get("v")

    @property
    def package(self) -> str:
        return str(self.content.get("package", "unknown"))

    @property
    def revision(self) -> int:
        found = self.content.get("revision")
        return found if isinstance(found, int) else 0

    @property
    def started(self) -> str:
        return f"{self.content.get('pid')}-{self.content.get('started')}"

    @property
    def tools(self) -> list[Mapping[str, object]]:
        return self._mappings("tools")

    @property
    def session(self) -> list[Mapping[str, object]]:
        return self._mappings("session")

    def _mappings(self, key: str) -> list[Mapping[str, object]]:
        found = self.content.get(key)
        return [item for item in found if isinstance(item, Mapping)] if isinstance(found, list) else []


class Mirrors:
    """Reads manifests, each again only when it has changed. For use from any thread."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._lock = threading.Lock()
        self._known: dict[Path, tuple[tuple[int, int, int], Manifest]] = {}

    def read(self, path: Path) -> Manifest | None:
        """The manifest at *path*; None if there is none of a living process."""
        manifest = self._read(path)
        if manifest is None:
            return None
        if not self._lives(manifest):
            with suppress(OSError):
                path.unlink()
            self._forget(path)
            return None
        return manifest

    def _read(self, path: Path) -> Manifest | None:
        try:
            with open(path, "rb") as file:
                status = os.fstat(file.fileno())
                mark = status.st_ino, status.st_mtime_ns, status.st_size
                with self._lock:
                    known = self._known.get(path)
                if known is not None and known[0] == mark:
                    return known[1]
                # Of somebody else: not what this user's kernel wrote.
                if status.st_uid != os.geteuid() or status.st_size > LARGEST:
                    return None
                content = json.loads(file.read())
        except (OSError, ValueError, RecursionError):
            self._forget(path)
            return None
        if not isinstance(content, Mapping):
            return None
        manifest = Manifest(content)
        with self._lock:
            self._known[path] = mark, manifest
        return manifest

    def _forget(self, path: Path) -> None:
        with self._lock:
            self._known.pop(path, None)

    def _lives(self, manifest: Manifest) -> bool:
        pid, started = manifest.content.get("pid"), manifest.content.get("started")
        if not isinstance(pid, int) or pid <= 0:
            return False
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except (OSError, OverflowError):
            pass
        return started is None or (mark := start_mark(pid, self._proc)) is None or started == mark


def start_mark(pid: int, proc: Path = Path("/proc")) -> str | None:
    """What tells a process from a later one with its pid, over reboots too; None where the system does not say."""
    try:
        boot = (proc / "sys/kernel/random/boot_id").read_text().strip()
        fields = (proc / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
        return f"{fields[19]} {boot}"
    except (OSError, IndexError):
        return None
