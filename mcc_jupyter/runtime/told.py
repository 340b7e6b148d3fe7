"""The tools of a toolbox → their entries in its manifest, each made again only when it would be another one.

A report depends on names and classes of values only (SPEC 11.2). So do the entries: while a tool, its parsed files, the
terms of a policy file, and the classes of what stands in the parent and the session are the same, its entry is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from ..core import context
from ..core.manifest import encoded, entry
from ..core.report import Report
from ..core.tool import Tool
from ..core.values import ValueClass, classify
from .resolved import Terms

Classes = Mapping[str, ValueClass]


@dataclass(frozen=True, slots=True)
class _Entry:
    tool: Tool
    state: tuple[object, ...] = field(repr=False)
    data: bytes = field(repr=False)

    def holds(self, tool: Tool, state: tuple[object, ...]) -> bool:
        same = self.tool is tool and len(self.state) == len(state)
        return same and all(_same(one, other) for one, other in zip(self.state, state, strict=True))


class Told:
    """The entries of one toolbox. Not for several threads at once."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._parent: Mapping[str, str] | None = None
        self._classes: Classes = {}
        self._seen: object = None

    def entries(
        self,
        tools: Iterable[Tool],
        parent: Mapping[str, str],
        store: Mapping[str, object],
        footer: tuple[str, ...],
        state: Callable[[Tool], tuple[object, ...]],
        report: Callable[[Tool], Report],
    ) -> tuple[bytes, ...]:
        """The entry of each of *tools*; *report* is asked for those that may have changed.

        *state*: a tool's parsed files, and the terms on which it is resolved.
        """
        if parent is not self._parent:
            self._parent, self._classes = parent, _classes(parent)
        seen = self._classes, [_session(kind, store) for kind in ("exec", "fn")], footer
        known = self._entries if seen == self._seen else {}
        self._seen, self._entries = seen, {}
        for tool in tools:
            now = state(tool)
            old = known.get(tool.key)
            if old is None or not old.holds(tool, now):
                old = _Entry(tool, now, encoded(entry(tool, report(tool))))
            self._entries[tool.key] = old
        return tuple(one.data for one in self._entries.values())


def _classes(values: Mapping[str, str]) -> Classes:
    return {name: classify(value) for name, value in values.items()}


def _session(kind: str, store: Mapping[str, object]) -> tuple[Classes, tuple[str, ...]]:
    built = context.build(kind, store)
    return _classes(built.variables), built.oversized


def _same(one: object, other: object) -> bool:
    return one is other or (isinstance(one, Terms) and one == other)
