"""A Jupyter server's start → its policy file as it is now, for the server and for the kernels it starts (SPEC 9.1).

1. Nothing is watched: whoever asks causes a look, and a look reads the file only when the system says that it changed.
2. A file that was found stays the one until the server ends, or one that goes before it appears. One that has vanished
   cannot be read, and so grants nothing: that kernels are free again needs a restart of the server.
3. What the last file that could be read called a secret remains one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..core.authority import Authority, secret_names, shown_to
from ..core.report import printable
from ..core.tool import WARNING, Origin
from . import policy_files
from .policy_search import Start, find


@dataclass(frozen=True, slots=True)
class Seen:
    """A policy file as it was at one look."""

    path: str
    label: str
    problems: tuple[str, ...] = ()
    """Why it cannot be used; with one of them it grants nothing."""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """Where others than its owner may change it."""
    authority: Authority | None = field(default=None, repr=False)

    @property
    def state(self) -> str:
        """``loaded`` or ``failed``."""
        return "failed" if self.problems else "loaded"

    def json(self, user: str, groups: frozenset[str] | None, *, everything: bool = False) -> dict[str, object]:
        """What *user* may see of it, by name; *everything*: all workspaces and profiles."""
        patterns: tuple[str, ...] = ()
        profiles: tuple[str, ...] = ()
        if self.authority is not None:
            patterns, profiles = shown_to(self.authority, user, groups)
            if everything:
                patterns = tuple(rule.pattern for rule in self.authority.workspaces)
                profiles = tuple(self.authority.profiles)
        return {
            "label": self.label,
            "state": self.state,
            "problems": list(self.problems),
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "profiles": list(map(printable, profiles)),
            "workspaces": list(map(printable, patterns)),
        }


class PolicyWatch:
    """The policy file of one server. *changed* is told of each file and each change of it, in the asking thread.

    Safe to use from several threads.
    """

    def __init__(
        self,
        start: Start,
        changed: Callable[[Seen], None] = lambda _: None,
        *,
        search: Callable[[Start], str | None] = find,
        types: policy_files.Types | None = None,
    ) -> None:
        self._start, self._changed, self._search, self._types = start, changed, search, types
        self._lock = threading.Lock()
        self._path: str | None = None
        self._stamp: policy_files.Stamp = ()
        self._seen: Seen | None = None
        self._secret: tuple[str, ...] = ()

    @property
    def path(self) -> str | None:
        """Where the file is that holds for kernels which are started now."""
        seen = self.look()
        return None if seen is None else seen.path

    def look(self) -> Seen | None:
        """The file as it is now; None: there is none, and there was none."""
        with self._lock:
            path = self._search(self._start) or self._path
            if path is None:
                return None
            if path == self._path and policy_files.stamp(path) == self._stamp:
                return self._seen
            self._path = path
            self._seen = seen = self._read(path)
        self._changed(seen)
        return seen

    def secrets(self) -> dict[str, str]:
        """Name and value of what its tools ask for by name, in the server's environment (SPEC 8.4)."""
        self.look()
        return {name: self._start.environment[name] for name in self._secret if name in self._start.environment}

    def _read(self, path: str) -> Seen:
        label = os.path.basename(path)
        environment: Mapping[str, str] = self._start.environment
        loaded = policy_files.load(path, environment, Origin("policy", label, path), self._types)
        self._stamp = loaded.stamp
        notes: tuple[str, ...] = ()
        if loaded.authority is not None:
            self._secret = secret_names(loaded.authority)
            notes = tuple(map(printable, loaded.authority.notes))
        problems = tuple(printable(str(problem)) for problem in loaded.problems)
        warnings = tuple(text.removeprefix(WARNING) for text in policy_files.exposure(path))
        return Seen(path, printable(label), problems, notes, warnings, loaded.authority)
