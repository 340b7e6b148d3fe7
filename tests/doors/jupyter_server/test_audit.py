"""Calls over HTTP in the audit log and in events: names, never what was sent (SPEC 13.3)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.doors.jupyter_server.servers import Server, eventually, tool
from tests.doors.jupyter_server.test_access import Named
from tests.doors.jupyter_server.test_calls import GREET, NDJSON, SLEEP, first_line, with_tools

MARK = "s3cr3t-v4lue-of-nobody"


async def entries(server: Server, number: int, **options: Any) -> list[dict[str, Any]]:
    async def enough() -> Any:
        found = (await server.ask("GET", "/audit", **options)).document["entries"]
        return found if len(found) >= number else None

    found: list[dict[str, Any]] = await eventually(enough)
    return found


async def test_each_call_is_one_line_of_names_whatever_became_of_it(server: Server, jp_serverapp: Any) -> None:
    emitted: list[dict[str, Any]] = []

    async def listen(logger: Any, schema_id: str, data: dict[str, Any]) -> None:
        emitted.append(data)

    jp_serverapp.event_logger.add_listener(schema_id="urn:mcc-jupyter:event:call:v1", listener=listen)
    kernel = await with_tools(server, GREET + SLEEP + "- {name: bad, exec: 'exit 3'}\n- {name: gone, exec: 'true', required_env: [NOT_THERE]}\n- {name: keyed, exec: 'true', env: {A: b}, optional_env: [MARKED]}\n", "greet")
    path = f"/kernels/{kernel}/calls"

    await server.ask("POST", path, {"tool": "greet", "arguments": {"who": MARK}}, headers=NDJSON)
    await server.ask("POST", path, {"tool": "bad"}, headers=NDJSON)
    call = (await server.ask("POST", path, {"tool": "nap"})).document["call"]
    await first_line(server, kernel, call)
    await server.ask("DELETE", f"{path}/{call}")
    await entries(server, 3)
    await server.ask("POST", path, {"tool": "gone"})
    await server.ask("POST", path, {"tool": MARK})
    await server.ask("POST", path, {"tool": "greet", "arguments": {MARK: 1}})
    found = await entries(server, 6)

    told = [(entry["tool"], entry["outcome"], entry["exit_code"], entry["reason"]) for entry in reversed(found)]
    assert told == [
        ("greet", "ok", 0, None),
        ("bad", "failed", 3, "failed"),
        ("nap", "cancelled", None, "interrupt"),
        ("gone", "unavailable", None, "unavailable"),
        ("unknown", "refused", None, "unknown-tool"),
        ("greet", "refused", None, "argument"),
    ]
    assert {entry["kernel"] for entry in found} == {kernel}
    assert [entry["call"] for entry in reversed(found)][2] == call
    assert MARK not in json.dumps([found, emitted])
    assert [(event["state"], event["tool"]) for event in emitted[:4]] == [("started", "greet"), ("ended", "greet"), ("started", "bad"), ("ended", "bad")]


class TestUsers:
    @pytest.fixture
    def settings(self) -> dict[str, Any]:
        return {
            "ServerApp": {"identity_provider_class": Named, "disable_check_xsrf": True},
            "MccServer": {"user_groups": {"operator": ["admin"]}},
        }

    async def test_a_user_reads_the_own_lines_and_an_operator_all(self, server: Server) -> None:
        kernel = await server.start_as("alice")
        server.plant(kernel, tool("one"))
        for user in ("alice", "bob"):
            await server.ask("POST", f"/kernels/{kernel}/calls", {"tool": "two"}, headers={"X-User": user})

        every = await entries(server, 2, headers={"X-User": "operator"})
        own = await entries(server, 1, headers={"X-User": "alice"})

        assert [entry["who"] for entry in every] == ["bob", "alice"]
        assert [entry["who"] for entry in own] == ["alice"]


class TestWithout:
    @pytest.fixture
    def settings(self) -> dict[str, Any]:
        return {"MccServer": {"audit_file": ""}}

    async def test_no_log_is_kept_where_no_file_is_named(self, server: Server) -> None:
        answer = await server.ask("GET", "/audit")

        assert answer.document == {"kept": False, "entries": [], "next_cursor": None}
