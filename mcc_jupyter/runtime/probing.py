"""A tool as a call would start it → the names that a real child receives, against those of the report (SPEC 11.3)."""

from __future__ import annotations

from dataclasses import dataclass

from ..core import command
from ..core.errors import ToolUnavailable
from ..core.redact import Redactor
from .introspect import RUN_FN, frames, start_error
from .launcher import Launcher
from .resolved import Resolved


@dataclass(frozen=True, slots=True)
class Probe:
    """The names a real child received, against the names the report promises (SPEC 11.3)."""

    tool: str
    received: tuple[str, ...]
    reported: tuple[str, ...]

    @property
    def unexpected(self) -> tuple[str, ...]:
        return tuple(sorted(set(self.received) - set(self.reported)))

    @property
    def absent(self) -> tuple[str, ...]:
        return tuple(sorted(set(self.reported) - set(self.received)))

    @property
    def ok(self) -> bool:
        return not self.unexpected and not self.absent

    def __str__(self) -> str:
        if self.ok:
            return f"{self.tool}: the child received exactly the {len(self.received)} names of the report"
        parts = [f"received but not reported: {', '.join(self.unexpected)}"] if self.unexpected else []
        parts += [f"reported but not received: {', '.join(self.absent)}"] if self.absent else []
        return f"{self.tool}: {'; '.join(parts)}"


def probe(resolved: Resolved, launcher: Launcher, *, interpreter: str, room: int) -> Probe:
    """Starts a child with exactly the tool's environment. Raises ``ToolUnavailable`` for one that does not answer."""
    tool, resolution = resolved.tool, resolved.resolution
    plan = command.probe(
        tool, resolution, context=resolved.context, runner=RUN_FN, interpreter=interpreter, room=room
    )
    exit = launcher.run(plan.request, stdout=_nowhere, stderr=_nowhere)
    answers = frames(exit.result)
    names = answers[0].get("names") if answers else None
    if not isinstance(names, list):
        told = start_error(tool, exit.error or "", Redactor(plan.secrets))
        why = told or "its interpreter gave no answer"
        raise ToolUnavailable(f"Tool {tool.name!r} could not be probed; {why}", tool=tool.name)
    return Probe(tool.name, tuple(sorted(map(str, names))), tuple(sorted(resolution.bindings)))


def _nowhere(_: bytes) -> None:
    """Takes output nobody wants."""
