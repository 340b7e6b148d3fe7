"""``[tools.NAME.mcp]``: what each runtime needs and what it has no use for, each message whole (SPEC 9.2)."""

from __future__ import annotations

import pytest

from mcc_jupyter.core.errors import Problem
from mcc_jupyter.core.mcp_table import FOREIGN, KEYS, NEEDS, McpTable, read_mcp
from mcc_jupyter.core.reading import Node

WHOLE: dict[str, object] = {
    "command": "uv", "args": ["--port", "{port}"], "env": {"BIND": "127.0.0.1"}, "port": 8475, "transport": "http",
    "url": "https://h.test", "image": "team/mail", "headers": {"X-Team": "core"},
}  # fmt: skip


def read(table: object) -> tuple[McpTable, list[str]]:
    problems: list[Problem] = []
    return read_mcp(Node(table, "tools.x.mcp", problems)), [str(problem) for problem in problems]


@pytest.mark.parametrize("runtime", NEEDS)
def test_a_runtime_needs_its_own_keys_and_no_more(runtime: str) -> None:
    least = {"runtime": runtime, **{key: WHOLE[key] for key in NEEDS[runtime]}}
    most = {"runtime": runtime, **{key: value for key, value in WHOLE.items() if key not in FOREIGN[runtime]}}

    assert read(least)[1] == []
    assert read(most)[1] == []


@pytest.mark.parametrize(("runtime", "key"), [(runtime, key) for runtime, keys in NEEDS.items() for key in keys])
def test_each_key_that_is_missing_has_its_message(runtime: str, key: str) -> None:
    table = {"runtime": runtime, **{other: WHOLE[other] for other in NEEDS[runtime] if other != key}}

    assert read(table)[1] == [f'tools.x.mcp: the runtime "{runtime}" needs `{key}`']


@pytest.mark.parametrize(("runtime", "key"), [(runtime, key) for runtime, keys in FOREIGN.items() for key in keys])
def test_each_key_without_a_meaning_has_its_message(runtime: str, key: str) -> None:
    table = {"runtime": runtime, **{other: WHOLE[other] for other in NEEDS[runtime]}, key: WHOLE[key]}

    assert read(table)[1] == [f'tools.x.mcp.{key}: the runtime "{runtime}" has none; remove it']


def test_every_key_has_a_meaning_somewhere() -> None:
    assert set(KEYS) == {"runtime", *WHOLE}
    assert all(any(key not in foreign for foreign in FOREIGN.values()) for key in WHOLE)


def test_the_port_stands_in_the_arguments() -> None:
    base = {"runtime": "script", "command": "uv", "port": 8475}

    assert read({**base, "args": ["--port={port}", "{port}{port}", "{host}"]})[0].args == ("--port=8475", "84758475", "{host}")
    assert read({"runtime": "stdio", "command": "c", "args": ["{port}"]})[0].args == ("{port}",)


SCRIPT = {"runtime": "script", "command": "c", "port": 1}
STDIO = {"runtime": "stdio", "command": "c"}
URL = {"runtime": "url", "url": "https://h"}


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (3, ["expected a table that says how the server is started", "needs `runtime`, one of script, stdio, docker, url"]),
        ({**STDIO, "comand": "x"}, ["unknown key `comand` (did you mean `command`?)"]),
        ({**STDIO, "type": "x"}, ["unknown key `type`; write `runtime`"]),
        ({**STDIO, "runtime": 3}, [".runtime: expected a runtime as text", ".runtime: expected one of script, stdio, docker, url"]),
        ({**SCRIPT, "port": True}, [".port: expected a port from 1 to 65535, as a number"]),
        ({**SCRIPT, "port": 65536}, [".port: expected a port from 1 to 65535, as a number"]),
        ({**SCRIPT, "port": "8475"}, [".port: expected a port from 1 to 65535, as a number"]),
        ({**STDIO, "command": " "}, [".command: expected text"]),
        ({**STDIO, "args": "x"}, [".args: expected a list of texts"]),
        ({**STDIO, "args": ["a", 3]}, [".args[1]: expected text"]),
        ({**STDIO, "env": {"A": 3, "B": True, "C": None}}, [".env.B: read as true or false; quote it", ".env.C: read as null; quote it"]),
        ({**STDIO, "env": ["A"]}, [".env: expected a table of texts"]),
        ({**STDIO, "transport": "stdoi"}, [".transport: expected one of streamable_http, http, sse, stdio (did you mean `stdio`?)"]),
        ({**URL, "headers": {"A": 3}}, [".headers.A: expected text"]),
        ({**URL, "url": "h.test/mcp"}, [".url: expected an address that begins with http:// or https://"]),
    ],
    ids=str,
)
def test_what_is_wrong_is_told_by_key_and_type(table: object, expected: list[str]) -> None:
    assert [text.removeprefix("tools.x.mcp").removeprefix(": ") for text in read(table)[1]] == expected


def test_no_text_of_a_table_is_in_its_repr() -> None:
    shown = repr(read({**SCRIPT, "args": ["arg-text"], "env": {"A": "env-text"}})[0]) + repr(read({**URL, "headers": {"A": "header-text"}})[0])

    assert not [text for text in ("arg-text", "env-text", "header-text", "https://h") if text in shown]
