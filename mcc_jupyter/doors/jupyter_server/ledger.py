"""Calls over HTTP → the audit log and the server's events: who, which tool, which names, how it ended (SPEC 13.3).

1. Nothing of what a client sent is written: a tool that is not there is called ``unknown``, whatever it was called.
2. The log is written by a thread of its own, in order; the server's loop waits for no disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ...runtime.audit import Audit, CallEvent
from .calls import Call
from .errors import ApiError
from .events import Events
from .people import Person

_DOOR = "server"
_GIVEN = frozenset({"passthrough", "grant", "reference", "env_file", "secret"})
"""The sources of names that are not of every tool."""

_UNAVAILABLE = frozenset({"unavailable", "secret", "not-loaded", "kernel-dead", "kernel-not-ready", "busy"})
_ERRORS = frozenset({"kernel-ended", "no-answer", "not-understood", "internal"})


class Ledger:
    """*audit* None: no log is kept."""

    def __init__(self, audit: Audit | None, events: Events) -> None:
        self.audit, self._events = audit, events
        self._writer = ThreadPoolExecutor(1, "mcc-audit")

    def started(self, call: Call) -> None:
        """A kernel has taken a call on."""
        self._events.call_started(_event(call, "ok"))

    def ended(self, call: Call) -> None:
        """A call has ended."""
        if call.error is not None:
            event = _event(call, outcome_of(call.error), reason=call.error.code)
        else:
            found = call.outcome or {}
            status = str(found.get("status"))
            outcome = "ok" if status == "ok" else "cancelled" if call.cancelled else "failed"
            code = found.get("exit_code")
            reason = None if outcome == "ok" else status
            event = _event(call, outcome, exit_code=code if isinstance(code, int) else None, reason=reason)
        self._events.call_ended(event)
        self._write(event)

    def refused(self, person: Person, kernel: str, tool: Mapping[str, Any] | None, error: ApiError) -> None:
        """A call that did not begin."""
        name = "unknown" if tool is None else str(tool.get("name"))
        key = None if tool is None else str(tool.get("key"))
        event = CallEvent(person.name, name, _DOOR, outcome_of(error), key=key, kernel=kernel, reason=error.code)
        self._events.call_ended(event)
        self._write(event)

    def close(self) -> None:
        """Waits until everything is written."""
        self._writer.shutdown(wait=True)

    def _write(self, event: CallEvent) -> None:
        if self.audit is not None:
            self._writer.submit(self.audit.record, event)


def outcome_of(error: ApiError) -> str:
    """The audit log's word for an error."""
    if error.code in _UNAVAILABLE:
        return "unavailable"
    return "error" if error.code in _ERRORS or error.status_code >= 500 else "refused"


def names_of(tool: Mapping[str, Any]) -> tuple[str, ...]:
    """The variables that a tool is given beyond what every tool gets, by its report."""
    rows = tool.get("report", {}).get("rows", ())
    found = (row for row in rows if row.get("source") in _GIVEN and row.get("state") == "set")
    return tuple(sorted({str(row.get("name")).partition(" (from ")[0] for row in found}))


def _event(call: Call, outcome: str, *, exit_code: int | None = None, reason: str | None = None) -> CallEvent:
    return CallEvent(
        call.person.name,
        call.wanted.name,
        _DOOR,
        outcome,
        key=call.tool,
        call=call.id,
        kernel=call.kernel,
        workspace=call.wanted.workspace,
        names=call.wanted.names,
        exit_code=exit_code,
        duration_s=call.seconds,
        reason=reason,
    )
