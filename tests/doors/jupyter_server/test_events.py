"""Events of a real server: they keep to their schemas, arrive at a listener, and hold no value."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcc_jupyter.core.scan import Finding, Where
from mcc_jupyter.doors.jupyter_server import events, save_guard
from mcc_jupyter.doors.jupyter_server.looked import Looked
from mcc_jupyter.runtime.audit import CallEvent
from tests.core.test_scan import VALUE, code, stream

EVENT = CallEvent("ana", "pg_query", "rest", "ok", key="public.pg_query", call="c1", kernel="k1", workspace="a/x.ipynb", names=("PGPASSWORD",), exit_code=0, duration_s=0.5)
LOOKED = Looked("a/x.ipynb", "warn", "told", (Finding(Where("output", 2, 1), "API_TOKEN"), Finding(Where("metadata"), format="jwt")), ("a note",), {2: "cell-2"})


@pytest.fixture
def jp_server_config() -> dict[str, Any]:
    return {"ServerApp": {"jpserver_extensions": {"jupyter_server_terminals": False}}}


class Listener:
    """What a listener of every schema of ours gets."""

    def __init__(self, app: Any) -> None:
        self.got: list[dict[str, Any]] = []
        self.events = events.install(app.event_logger, app.log)
        self.logger = app.event_logger
        for schema in (events.CALL, events.POLICY, events.SAVE_GUARD):
            self.logger.add_listener(schema_id=schema, listener=self._hear)

    async def _hear(self, logger: Any, schema_id: str, data: dict[str, Any]) -> None:
        self.got.append({"schema": schema_id, **data})

    async def settle(self) -> list[dict[str, Any]]:
        await asyncio.sleep(0)
        await self.logger.gather_listeners()
        return self.got


@pytest.fixture
def listener(jp_serverapp: Any) -> Listener:
    return Listener(jp_serverapp)


async def test_a_call_is_two_events(listener: Listener) -> None:
    listener.events.call_started(EVENT)
    listener.events.call_ended(EVENT)

    common = {"schema": "urn:mcc-jupyter:event:call:v1", "who": "ana", "tool": "pg_query", "door": "rest", "key": "public.pg_query", "call": "c1", "kernel": "k1", "workspace": "a/x.ipynb", "names": ["PGPASSWORD"], "more_names": 0, "exit_code": 0, "duration_s": 0.5, "reason": None}  # fmt: skip
    assert await listener.settle() == [{**common, "state": "started", "outcome": None}, {**common, "state": "ended", "outcome": "ok"}]


async def test_the_policy_is_an_event(listener: Listener) -> None:
    listener.events.policy("loaded", "mcc.toml")
    listener.events.policy("failed", None, ["profiles.x: unknown tool"])

    assert [(event["state"], event["label"], event["notes"]) for event in await listener.settle()] == [("loaded", "mcc.toml", []), ("failed", None, ["profiles.x: unknown tool"])]


async def test_what_the_save_guard_found_is_an_event(listener: Listener) -> None:
    listener.events.save_guard(LOOKED)

    assert await listener.settle() == [
        {
            "schema": "urn:mcc-jupyter:event:save-guard:v1", "path": "a/x.ipynb", "mode": "warn", "outcome": "told", "notes": ["a note"], "more_findings": 0,
            "findings": [
                {"part": "output", "cell": 2, "output": 1, "line": None, "name": "API_TOKEN", "format": None, "redacted": False, "cell_id": "cell-2"},
                {"part": "metadata", "cell": None, "output": None, "line": None, "name": None, "format": "jwt", "redacted": False, "cell_id": None},
            ],
        }
    ]  # fmt: skip


async def test_an_event_has_a_bounded_size(listener: Listener) -> None:
    listener.events.call_ended(replace(EVENT, tool="x" * 10**6, reason="y" * 10**6, names=("NAME",) * 10**5))
    listener.events.save_guard(replace(LOOKED, findings=tuple(Finding(Where("output", at, 1), "API_TOKEN") for at in range(1, 300))))

    call, guard = await listener.settle()
    assert len(json.dumps(call)) < 5000
    assert call["more_names"] + len(call["names"]) == 10**5
    assert (len(guard["findings"]), guard["more_findings"]) == (100, 199)


@pytest.mark.parametrize("outcome", ["ok", "failed", "unavailable", "refused", "cancelled", "error"])
async def test_every_outcome_is_one_of_the_schema(listener: Listener, outcome: str) -> None:
    listener.events.call_ended(replace(EVENT, outcome=outcome))
    assert [event["outcome"] for event in await listener.settle()] == [outcome]


@pytest.mark.parametrize("mode", ["warn", "redact", "refuse"])
@pytest.mark.parametrize("outcome", ["clean", "told", "redacted", "refused", "failed"])
async def test_every_outcome_of_the_guard_is_one_of_the_schema(listener: Listener, mode: str, outcome: str) -> None:
    listener.events.save_guard(replace(LOOKED, mode=mode, outcome=outcome))
    assert len(await listener.settle()) == 1


async def test_an_unknown_outcome_is_an_error(listener: Listener) -> None:
    listener.events.call_ended(replace(EVENT, outcome="odd"))
    assert [event["outcome"] for event in await listener.settle()] == ["error"]


async def test_what_does_not_keep_to_its_schema_is_not_sent_and_not_shown(listener: Listener, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        listener.events.policy(VALUE, None)  # type: ignore[arg-type]

    assert await listener.settle() == []
    [line] = [record.getMessage() for record in caplog.records]
    assert line.startswith("mcc_jupyter: no event could be sent: ValidationError in events.py, line ")
    assert VALUE not in caplog.text


async def test_schemas_are_registered_once(listener: Listener, jp_serverapp: Any) -> None:
    events.install(jp_serverapp.event_logger, jp_serverapp.log).policy("loaded", None)
    assert len(await listener.settle()) == 1


async def test_a_save_is_heard_by_name_and_never_by_value(listener: Listener, jp_serverapp: Any, jp_fetch: Any, jp_root_dir: Path) -> None:
    save_guard.install(jp_serverapp.contents_manager, parent={"API_TOKEN": VALUE}, log=jp_serverapp.log, emit=listener.events.save_guard)
    notebook = {"cells": [code("", stream(VALUE))], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    await jp_fetch("api", "contents", "x.ipynb", method="PUT", body=json.dumps({"type": "notebook", "format": "json", "content": notebook}))

    [event] = await listener.settle()
    assert (event["path"], event["outcome"], [finding["name"] for finding in event["findings"]]) == ("x.ipynb", "told", ["API_TOKEN"])
    assert VALUE not in json.dumps(event)


def test_every_schema_file_is_one_of_ours() -> None:
    from jupyter_events.schema import EventSchema

    files = {file.name: EventSchema(file) for file in events._FOLDER.iterdir()}

    assert {schema.id: name for name, schema in files.items()} == events._SCHEMAS
    assert {schema.version for schema in files.values()} == {"1"}
