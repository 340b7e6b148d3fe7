"""A declared tool → what it gets more and less than its last declaration, or than the lock says (SPEC 11.4)."""

from __future__ import annotations

import os

from ..core.access import access
from ..core.errors import DeclarationError, Problem
from ..core.lock import Change, changes, named
from .checking import LOCK_NAME, read_lock
from .registry import Registry


def diff(registry: Registry, name: str | None = None, *, lock: str | None = None) -> list[Change]:
    """The changes of one tool, or of all, by name.

    Without *lock*, against the declaration that each took the place of; of a tool that is declared for the first time
    all is new. With it, against every tool of that name in the lock file. Raises ``UnknownTool``, and
    ``DeclarationError`` for a lock that is not there or cannot be read.
    """
    shown = named({tool.key: tool for tool in registry})
    if name is not None:
        wanted = registry.find(name).key
        shown = {label: tool for label, tool in shown.items() if tool.key == wanted}
    if lock is None:
        earlier = {label: registry.earlier(tool.key) for label, tool in shown.items()}
        before = {label: None if tool is None else access(tool) for label, tool in earlier.items()}
        return [item for label in sorted(shown) for item in changes("", label, before[label], access(shown[label]))]
    known = read_lock(lock)
    if known is None:
        raise DeclarationError(Problem(lock, "there is no such lock; write it with `mcc-jupyter check --update`"))
    found: list[Change] = []
    for label in sorted(shown):
        files = [file for file, tools in sorted(known.items()) if label in tools]
        for file in files or [""]:
            found += changes(file, label, known.get(file, {}).get(label), access(shown[label]))
    return found


def lines(found: list[Change]) -> list[str]:
    """A line a change; with its file where the changes are from several."""
    several = len({change.file for change in found}) > 1
    return [f"{change.file}: {change}" if several and change.file else str(change) for change in found]


def lock_file(folder: str | None = None) -> str:
    """The lock in *folder*, or in the nearest folder above it that has one; by default from the working directory."""
    start = os.path.abspath(folder or os.getcwd())
    at = start
    while not os.path.lexists(os.path.join(at, LOCK_NAME)) and os.path.dirname(at) != at:
        at = os.path.dirname(at)
    found = os.path.join(at, LOCK_NAME)
    return found if os.path.lexists(found) else os.path.join(start, LOCK_NAME)
