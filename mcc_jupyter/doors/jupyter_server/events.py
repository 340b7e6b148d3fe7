"""What happens → events of the server (``jupyter_events``), for whoever listens to it (SPEC 13.3).

1. Every user of the server may get them: names, places and numbers, as the schemas say, and nothing else.
2. That an event cannot be sent is a line in the log, and no failure of what it is about.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ...runtime.audit import CallEvent
from ...runtime.guard import where_it_failed
from .looked import Looked

CALL = "urn:mcc-jupyter:event:call:v1"
POLICY = "urn:mcc-jupyter:event:policy:v1"
SAVE_GUARD = "urn:mcc-jupyter:event:save-guard:v1"
_FOLDER = Path(__file__).parent / "event_schemas"
_SCHEMAS = {CALL: "call.v1.yaml", POLICY: "policy.v1.yaml", SAVE_GUARD: "save_guard.v1.yaml"}

_FINDINGS = 100
"""Findings of a notebook that an event has."""
_OUTCOMES = ("ok", "failed", "unavailable", "refused", "cancelled", "error")


def install(logger: Any, log: logging.Logger | logging.LoggerAdapter[Any]) -> Events:
    """Registers the schemas with *logger*, the server's ``event_logger``, once; *log* is the server's own log."""
    for schema, file in _SCHEMAS.items():
        if schema not in logger.schemas:
            logger.register_event_schema(_FOLDER / file)
    return Events(logger, log)


class Events:
    """The events of one server. To be used on its event loop."""

    def __init__(self, logger: Any, log: logging.Logger | logging.LoggerAdapter[Any]) -> None:
        self._logger, self._log = logger, log

    def call_started(self, event: CallEvent) -> None:
        """``outcome`` of *event* is not looked at."""
        self._emit(CALL, {**event.json(), "state": "started", "outcome": None})

    def call_ended(self, event: CallEvent) -> None:
        outcome = event.outcome if event.outcome in _OUTCOMES else "error"
        self._emit(CALL, {**event.json(), "state": "ended", "outcome": outcome})

    def policy(self, state: Literal["loaded", "failed"], label: str | None, notes: Sequence[str] = ()) -> None:
        """*notes* hold no value."""
        self._emit(POLICY, {"state": state, "label": label, "notes": list(notes)})

    def save_guard(self, looked: Looked) -> None:
        data = looked.json()
        more = max(0, len(looked.findings) - _FINDINGS)
        self._emit(SAVE_GUARD, {**data, "findings": data["findings"][:_FINDINGS], "more_findings": more})

    def _emit(self, schema: str, data: Mapping[str, Any]) -> None:
        try:
            self._logger.emit(schema_id=schema, data=dict(data))
        except Exception as error:  # noqa: BLE001 - see the second rule
            self._log.error("mcc_jupyter: no event could be sent: %s", where_it_failed(error))
