"""Outcomes that may be used again for a while (SPEC 7.11)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace

from ..core.command import digest
from ..core.context import encode
from ..core.outcome import Outcome
from ..core.resolution import Resolution
from ..core.tool import Tool


class OutcomeCache:
    """Keyed by declaration, arguments, identity, session and a keyed hash of the environment; failures never enter."""

    def __init__(self, size: int = 256) -> None:
        self._size = size
        self._key = os.urandom(32)
        self._entries: dict[tuple[object, ...], tuple[float, Outcome, Tool]] = {}
        self._lock = threading.Lock()

    def key(
        self, tool: Tool, arguments: Mapping[str, object], store: Mapping[str, object], resolution: Resolution
    ) -> tuple[object, ...]:
        # ``store`` holds the identity too. The tool itself is kept in the entry, so its id cannot be used again.
        return (id(tool), encode(dict(arguments)), encode(dict(store)), digest(resolution, self._key))

    def get(self, key: tuple[object, ...]) -> Outcome | None:
        with self._lock:
            found = self._entries.get(key)
            if found is None or found[0] < time.monotonic():
                return None
            return _copy(found[1])

    def put(self, key: tuple[object, ...], outcome: Outcome, tool: Tool, seconds: float) -> None:
        with self._lock:
            now = time.monotonic()
            for old in [old for old, entry in self._entries.items() if entry[0] < now]:
                del self._entries[old]
            while len(self._entries) >= self._size:
                del self._entries[next(iter(self._entries))]
            self._entries[key] = (now + seconds, _copy(outcome), tool)


def _copy(outcome: Outcome) -> Outcome:
    """With a value of its own: what a caller does to a list changes no outcome of another."""
    return replace(outcome, value=deepcopy(outcome.value))
