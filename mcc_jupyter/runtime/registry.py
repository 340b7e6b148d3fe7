"""The declared tools of one toolbox, and which declaration replaces which (SPEC 2.5).

1. Re-running a cell, or loading a file again, replaces its tools; one that left it goes too.
2. The same key from a later cell replaces with a notice; from another file it is an error that names both files.
3. A declaration with errors removes nothing: the old tools stay.
4. An operator's tools stand over all of them: they are found first, and no declaration may look like one (SPEC 9.3).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from ..core.errors import PolicyError, Problem, UnknownTool, near
from ..core.tool import Origin, Tool


class _Lookup(dict[str, Tool]):
    """Keys, and names that only one tool has. What is not in it is explained."""

    def __init__(self) -> None:
        super().__init__()
        self.ambiguous: dict[str, list[str]] = {}
        self.others: Callable[[], Iterable[Tool]] = tuple
        """The operator's tools, which are looked for first."""

    def update_to(self, tools: dict[str, Tool]) -> None:
        """In place, and never emptied in between: another thread may be looking."""
        named: dict[str, list[str]] = {}
        for key, tool in tools.items():
            named.setdefault(tool.name, []).append(key)
        wanted = {name: tools[keys[0]] for name, keys in named.items() if len(keys) == 1} | tools
        self.ambiguous = {name: sorted(keys) for name, keys in named.items() if len(keys) > 1}
        self.update(wanted)
        for name in self.keys() - wanted.keys():
            del self[name]

    def __missing__(self, name: str) -> Tool:
        if name in self.ambiguous:
            keys = ", ".join(self.ambiguous[name])
            raise UnknownTool(f"More than one tool is named {name!r}; call it by key: {keys}")
        known = [*self, *(tool.name for tool in self.others())]
        if not known:
            raise UnknownTool(f"No tool {name!r} is declared here, nor any other; run the cell that declares it")
        raise UnknownTool(f"No tool {name!r} is declared here{near(name, known)}; run the cell that declares it")


class Operator(Protocol):
    """Tools that stand over the declared ones: no declaration replaces or hides one (SPEC 9.3)."""

    def find(self, name: str) -> Tool | None:
        """The tool of that name or key."""

    def refuse(self, name: str) -> None:
        """Raises ``ToolUnavailable`` for a tool that is there and not for this toolbox."""

    def __iter__(self) -> Iterator[Tool]:
        """Those that are listed."""

    def clash(self, tool: Tool) -> str | None:
        """Why *tool* may not be declared."""

    def ready(self, tool: Tool) -> bool:
        """Takes one of its own with its signature read; whether it is one."""


class Registry:
    """Tools by key and by name. Every method is safe to call from any thread."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._earlier: dict[str, Tool] = {}
        self._lookup = _Lookup()
        self._lock = threading.RLock()
        self.find: Callable[[str], Tool] = self._lookup.__getitem__
        """The tool of a key, or of a name where that is unambiguous; raises ``UnknownTool``. As quick as a dict.

        With an operator also ``ToolUnavailable``, for a tool that was not granted."""
        self.on_change: Callable[[], None] = lambda: None
        """Told of every change, in its thread; it returns at once and raises nothing."""
        self._operator: Operator | None = None

    def govern(self, operator: Operator) -> None:
        """Puts *operator*'s tools over all that are declared. It is done before anything is declared."""
        self._operator = operator
        self._lookup.others = lambda: operator
        self.find = self._find_governed

    def _find_governed(self, name: str) -> Tool:
        assert self._operator is not None
        found = self._operator.find(name)
        if found is not None:
            return found
        if name not in self._lookup and name not in self._lookup.ambiguous:
            self._operator.refuse(name)
        return self._lookup[name]

    def __iter__(self) -> Iterator[Tool]:
        with self._lock:
            own = list(self._tools.values())
        return iter(own if self._operator is None else [*self._operator, *own])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def put(self, tools: Iterable[Tool], origin: Origin, *, complete: bool) -> tuple[list[str], list[Problem]]:
        """Notices and problems of adding *tools*. ``complete``: the declaration had no errors, so what left it goes."""
        notices: list[str] = []
        problems: list[Problem] = []
        with self._lock:
            kept = []
            was, named = dict(self._tools), dict(self._lookup)
            for tool in tools:
                old = self._tools.get(tool.key)
                clash = self._clash(tool, old)
                if clash:
                    problems.append(Problem(tool.key, clash))
                    continue
                if old is not None and not _same(old.origin, tool.origin):
                    notices.append(f"{tool.key}: replaces the declaration from {_described(old.origin, tool.origin)}")
                if old is not None and _parts(old) != _parts(tool):
                    listed = ", ".join(old.groups)
                    notices.append(f"{tool.key}: replaces another tool, {old.name!r} of {listed}; rename one")
                kept.append(tool)
            if complete and origin.id is not None:
                now = {tool.key for tool in kept}
                for key, old in list(self._tools.items()):
                    if _same(old.origin, origin) and key not in now:
                        del self._tools[key]
            for tool in kept:
                # A tool whose groups changed has another key, and is the one of its name that is gone.
                old = was.get(tool.key) or named.get(tool.name)
                if old is not None and (old.key == tool.key or old.key not in self._tools or _one_cell(old, tool)):
                    self._earlier[tool.key] = old
                self._tools[tool.key] = tool
            self._changed()
        return notices, problems

    def earlier(self, key: str) -> Tool | None:
        """The declaration that the present one of *key* took the place of."""
        return self._earlier.get(key)

    def forget_left(self, cell: str, run: str) -> None:
        """Forgets the tools that an edited cell no longer declares, after *run* of it went well."""
        with self._lock:
            left = [key for key, tool in self._tools.items() if tool.origin.id == cell and tool.origin.run != run]
            for key in left:
                del self._tools[key]
            if left:
                self._changed()

    def replace(self, tool: Tool) -> None:
        """Puts a tool in place of the one with its key, when that is still there."""
        if self._operator is not None and self._operator.ready(tool):
            return
        with self._lock:
            if tool.key in self._tools:
                self._tools[tool.key] = tool
                self._changed()

    def remove(self, name: str) -> Tool:
        """Removes and returns one tool; raises ``UnknownTool``, and ``PolicyError`` for one of the operator's."""
        if self._operator is not None and self._operator.find(name) is not None:
            raise PolicyError(f"{name!r} is the operator's tool and stays; `%mcc_use PROFILE…` gives tools up")
        with self._lock:
            if name not in self._lookup and name not in self._lookup.ambiguous:
                raise UnknownTool(f"No tool {name!r} is declared here{near(name, list(self._lookup))}")
            tool = self.find(name)
            self._earlier[tool.key] = self._tools.pop(tool.key)
            self._changed()
            return tool

    def _changed(self) -> None:
        self._lookup.update_to(self._tools)
        self.on_change()

    def _clash(self, tool: Tool, old: Tool | None) -> str | None:
        taken = None if self._operator is None else self._operator.clash(tool)
        if taken is not None:
            return taken
        both_files = old is not None and old.origin.kind == tool.origin.kind == "file"
        if old is None or not both_files or _same(old.origin, tool.origin):
            return None
        return f"declared in {old.origin.label} and in {tool.origin.label}; rename one or give it another group"


def _same(one: Origin, other: Origin) -> bool:
    """Without an id (a host that has no cell ids) only equal names are replaced, and that says nothing."""
    return one.kind == other.kind and one.id == other.id


def _one_cell(old: Tool, new: Tool) -> bool:
    return new.origin.id is not None and _same(old.origin, new.origin)


def _parts(tool: Tool) -> tuple[str, list[str]]:
    """A name may hold a dot, so that a key does not tell where the groups end."""
    return tool.name, sorted(tool.groups)


def _described(old: Origin, new: Origin) -> str:
    if old.kind == new.kind == "cell":
        return f"an earlier cell ({old.label}) by this one ({new.label})"
    return f"{old.label} by the one in {new.label}"
