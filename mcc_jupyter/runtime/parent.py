"""The process environment → snapshots that the engine can rely on.

A snapshot never changes, and the same object is handed out while the environment is unchanged: that identity is what
lets ``policy.resolve`` reuse its last answer. Reading a large ``os.environ`` costs more than matching it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any


class _Environment(dict[str, str]):
    """Variables that are never shown: a debugger or a verbose traceback prints what it finds."""

    def __repr__(self) -> str:
        return f"<environment: {len(self)} names>"

    def copy(self) -> _Environment:
        return _Environment(self)


class Parent:
    """Call it for the current snapshot. A door makes one from its ``os.environ``."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._last: tuple[dict[str, str] | None, Mapping[str, str]] = None, MappingProxyType(_Environment())
        """The pairs as they were seen and their snapshot, in one: several threads may ask at once."""

    def __call__(self) -> Mapping[str, str]:
        # ``os.environ`` keeps its encoded pairs in ``_data``; comparing those is many times cheaper than decoding them.
        raw = getattr(self._environ, "_data", self._environ)
        seen, snapshot = self._last
        if seen is None or raw != seen:
            seen = dict(raw)
            snapshot = MappingProxyType(_Environment(_decoded(seen)))
            self._last = seen, snapshot
        return snapshot


def _decoded(pairs: dict[Any, Any]) -> dict[str, str]:
    """*pairs* as text, where they are bytes. In one go: a call for each takes longer than all the rest."""
    if not isinstance(next(iter(pairs), ""), bytes):
        return pairs
    texts = os.fsdecode(b"\0".join((*pairs, *pairs.values()))).split("\0")
    return dict(zip(texts[: len(pairs)], texts[len(pairs) :], strict=True))


def initial_environment(fallback: Mapping[str, str]) -> Mapping[str, str]:
    """The environment as it stood when this process started (SPEC 4.2), or *fallback* where the system cannot say."""
    try:
        with open("/proc/self/environ", "rb") as file:
            pairs = file.read().split(b"\0")
    except OSError:
        return fallback
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition(b"=")
        if equals:
            found[name.decode("utf-8", "surrogateescape")] = value.decode("utf-8", "surrogateescape")
    return found
