"""The declared tools of one toolbox, and which declaration replaces which (SPEC 2.5).

1. Re-running a cell, or loading a file again, replaces its tools; one that left it goes too.
2. The same key from a later cell replaces with a notice; from another file it is an error that names both files.
3. A declaration with errors removes nothing: the old tools stay.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator

from ..core.errors import Problem, UnknownTool, near
from ..core.tool import Origin, Tool


class _Lookup(dict[str, Tool]):
    """Keys, and names that only one tool has. What is not in it is explained."""

    def __init__(self) -> None:
        super().__init__()
        self.ambiguous: dict[str, list[str]] = {}

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
        if not self:
            raise UnknownTool(f"No tool {name!r} is declared here, nor any other; run the cell that declares it")
        raise UnknownTool(f"No tool {name!r} is declared here{near(name, list(self))}; run the cell that declares it")


class Registry:
    """Tools by key and by name. Every method is safe to call from any thread."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._lookup = _Lookup()
        self._lock = threading.RLock()
        self.find: Callable[[str], Tool] = self._lookup.__getitem__
        """The tool of a key, or of a name where that is unambiguous; raises ``UnknownTool``. As quick as a dict."""
        self.on_change: Callable[[], None] = lambda: None
        """Told of every change, in its thread; it returns at once and raises nothing."""

    def __iter__(self) -> Iterator[Tool]:
        with self._lock:
            return iter(list(self._tools.values()))

    def __len__(self) -> int:
        return len(self._tools)

    def put(self, tools: Iterable[Tool], origin: Origin, *, complete: bool) -> tuple[list[str], list[Problem]]:
        """Notices and problems of adding *tools*. ``complete``: the declaration had no errors, so what left it goes."""
        notices: list[str] = []
        problems: list[Problem] = []
        with self._lock:
            kept = []
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
                self._tools[tool.key] = tool
            self._changed()
        return notices, problems

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
        with self._lock:
            if tool.key in self._tools:
                self._tools[tool.key] = tool
                self._changed()

    def remove(self, name: str) -> Tool:
        """Removes and returns one tool; raises ``UnknownTool``."""
        with self._lock:
            tool = self.find(name)
            del self._tools[tool.key]
            self._changed()
            return tool

    def _changed(self) -> None:
        self._lookup.update_to(self._tools)
        self.on_change()

    def _clash(self, tool: Tool, old: Tool | None) -> str | None:
        both_files = old is not None and old.origin.kind == tool.origin.kind == "file"
        if old is None or not both_files or _same(old.origin, tool.origin):
            return None
        return f"declared in {old.origin.label} and in {tool.origin.label}; rename one or give it another group"


def _same(one: Origin, other: Origin) -> bool:
    """Without an id (a host that has no cell ids) only equal names are replaced, and that says nothing."""
    return one.kind == other.kind and one.id == other.id


def _parts(tool: Tool) -> tuple[str, list[str]]:
    """A name may hold a dot, so that a key does not tell where the groups end."""
    return tool.name, sorted(tool.groups)


def _described(old: Origin, new: Origin) -> str:
    if old.kind == new.kind == "cell":
        return f"an earlier cell ({old.label}) by this one ({new.label})"
    return f"{old.label} by the one in {new.label}"
