"""One tool as a call would see it now, and what the next call may use again while nothing has changed.

1. It is used again only while everything it was made of is the same: the tool, the parent's snapshot, the parsed files,
   the groups, the session and the terms of a policy file.
2. What it keeps is made when it is first asked for, and never outlives it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ..core import command
from ..core.cap import Cap
from ..core.errors import ToolUnavailable
from ..core.report import Report
from ..core.resolution import Context, Reason, Resolution
from ..core.tool import Tool


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms a tool is resolved where a policy file holds (SPEC 9.3)."""

    cap: Cap | None = None
    """What it may ask of the parent."""
    refusal: Reason | None = None
    parent: Mapping[str, str] | None = field(default=None, repr=False)
    """The operator's tools have their own; None: the toolbox's."""


FREE = Terms()
"""Without a policy file."""


@dataclass(slots=True)
class Resolved:
    """A tool, its resolution, and what that was made of."""

    tool: Tool
    resolution: Resolution
    context: Context
    store: Mapping[str, object] = field(repr=False)
    parent: Mapping[str, str] = field(repr=False)
    files: tuple[object, ...] = field(default=(), repr=False)
    groups: frozenset[str] | None = None
    terms: Terms = FREE
    _prepared: command.Prepared | None = field(default=None, init=False, repr=False)
    _report: tuple[tuple[str, ...], Report] | None = field(default=None, init=False, repr=False)

    def holds(
        self, tool: Tool, parent: object, store: object, files: tuple[object, ...], groups: object, terms: Terms
    ) -> bool:
        """Whether it would come out the same: snapshots and parsed files are the same objects while unchanged."""
        same = self.tool is tool and self.parent is parent and len(self.files) == len(files)
        same = same and all(one is other for one, other in zip(self.files, files, strict=True))
        return same and self.groups == groups and self.store == store and (self.terms is terms or self.terms == terms)

    def of(self, tool: Tool) -> Resolved:
        """The same for *tool*, which is this one with its signature read."""
        if tool is self.tool:
            return self
        return replace(self, tool=tool)

    def checked(self) -> Resolved:
        """Itself when the tool is available; raises ``ToolUnavailable`` with the notice (SPEC 5.3)."""
        notice = self.resolution.notice
        if notice is not None:
            reasons = tuple(reason.code for reason in self.resolution.reasons)
            raise ToolUnavailable(notice, tool=self.tool.name, reasons=reasons)
        return self

    def prepared(self, room: int) -> command.Prepared:
        """What its calls have in common where all variables may have *room* bytes. Raises ``ToolUnavailable``."""
        if self._prepared is None or self._prepared.room != room:
            self._prepared = command.prepare(self.tool, self.resolution, context=self.context, room=room)
        return self._prepared

    def report(self, footer: tuple[str, ...], make: Callable[[], Report]) -> Report:
        """The report with *footer*, as *make* gives it."""
        if self._report is None or self._report[0] != footer:
            self._report = footer, make()
        return self._report[1]

    def notes(self, skipped: tuple[str, ...]) -> Iterator[str]:
        """What depends on more than names and classes is said at the call (SPEC 11.2); *skipped* are not redacted."""
        changed = command.changed_references(self.tool, self.parent)
        if changed:
            listed = ", ".join(changed)
            yield f"declared earlier: {listed} has another value by now; declare the tool again to use it"
        if skipped:
            yield f"not redacted, because short or common: {', '.join(skipped)}"
