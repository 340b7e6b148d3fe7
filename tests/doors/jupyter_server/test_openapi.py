"""The OpenAPI document: true to the routes, valid, and fuzzed against a real server (SPEC 13.1)."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcc_jupyter.core.outcome import Outcome
from mcc_jupyter.doors.jupyter_server.openapi import document
from mcc_jupyter.doors.jupyter_server.routes import OPERATIONS, TABLE, routes
from mcc_jupyter.doors.jupyter_server.schemas import SCHEMAS
from tests.doors.jupyter_server.servers import PATIENCE, Server
from tests.processes import environment

MARK = "s3cr3t-v4lue-of-nobody"
TOKEN = "a-token-of-the-fuzzed-server"

DECLARE = """
get_ipython().run_line_magic('load_ext', 'mcc_jupyter')
get_ipython().run_cell_magic('mcc_tool', '', '''
- name: greet
  exec: echo hello {{ who | quote }}
  params: [{name: who, type: str, default: world}]
  optional_env: [MARKED]
- {name: needs, exec: 'true', required_env: [NOT_THERE]}
''')
import mcc_jupyter as mcc
mcc.session["stage"] = "a-stage"
"""


def test_the_document_and_the_routes_have_the_same_paths() -> None:
    found = document(OPERATIONS, version="1", base_url="/a%40b/")

    patterns = {pattern for pattern, _ in routes()}
    for path, verbs in found["paths"].items():
        concrete = re.sub(r"\{\w+\}", "x-1", path)
        matching = [pattern for pattern in patterns if re.fullmatch(pattern, concrete)]
        assert len(matching) == 2, path  # its own, and the one of what is no path
        assert set(verbs) == {operation.verb for operation in OPERATIONS if f"/mcc/api{operation.path}" == path}
    assert len(found["paths"]) == len(TABLE) == len(patterns) - 1
    names = [operation.name for operation in OPERATIONS]
    assert len(names) == len(set(names))


def test_the_document_names_no_schema_that_it_has_not() -> None:
    text = json.dumps(document(OPERATIONS, version="1", base_url="/"))

    assert set(re.findall(r"#/components/schemas/(\w+)", text)) <= set(SCHEMAS)
    assert set(SCHEMAS) - set(re.findall(r"#/components/schemas/(\w+)", text)) == {"Event"}


def test_what_an_outcome_holds_is_in_its_schema() -> None:
    assert set(SCHEMAS["Outcome"]["properties"]) <= set(Outcome("t", ok=True).document())


async def test_the_server_gives_the_document_with_its_base_url(server: Server) -> None:
    answer = await server.ask("GET", "/openapi.json")

    assert answer.document["servers"] == [{"url": "/a%40b"}]
    assert answer.document == json.loads(json.dumps(document(OPERATIONS, version=answer.document["info"]["version"], base_url="/a%40b/")))


# ---- fuzzing


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Path]]:
    """The base address of a server in a process of its own, the id of its kernel, and its log."""
    folder = tmp_path_factory.mktemp("fuzzed")
    log = folder / "server.log"
    (folder / "root").mkdir()
    given = {**environment(folder), "MARKED": MARK, "JUPYTER_RUNTIME_DIR": str(folder / "runtime"), "JUPYTER_CONFIG_DIR": str(folder / "config"), "JUPYTER_DATA_DIR": str(folder / "data")}
    arguments = ["--no-browser", "--port=0", "--allow-root", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={folder / 'root'}", "--ServerApp.base_url=/a%40b/", "--ServerApp.allow_unauthenticated_access=False", "--ServerApp.jpserver_extensions=jupyter_server_terminals=False", "--ServerApp.jpserver_extensions=mcc_jupyter=True", "--MccServer.kernel_timeout=60", "--debug"]
    with log.open("wb") as output:
        process = subprocess.Popen([sys.executable, "-m", "jupyter_server", *arguments], env=given, cwd=folder, stdout=output, stderr=output)
    try:
        base = _address(log, process)
        yield base, _kernel(base), log
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)


def _address(log: Path, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(r"(http://(?:localhost|127\.0\.0\.1):\d+/a%40b)/", log.read_text())
        if found and _listens(found[1]):
            return found[1]
        time.sleep(0.1)
    raise AssertionError(log.read_text())


def _listens(base: str) -> bool:
    """The server tells its address before it listens there."""
    host, _, port = base.removeprefix("http://").partition("/")[0].partition(":")
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), PATIENCE):
        return True
    return False


def _ask(base: str, path: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data, {"Authorization": f"token {TOKEN}", "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.load(answer)


def _kernel(base: str) -> str:
    """A kernel with tools. Its cell is run by the server's own WebSocket, which a client of the kernel need not know."""
    from websocket import create_connection

    kernel = str(_ask(base, "/api/kernels", {"name": "python3"})["id"])
    channels = create_connection(f"{base.replace('http', 'ws')}/api/kernels/{kernel}/channels", header=[f"Authorization: token {TOKEN}"], timeout=PATIENCE)
    header = {"msg_id": "1", "msg_type": "execute_request", "username": "", "session": "s", "date": "2020-01-01T00:00:00Z", "version": "5.3"}
    content = {"code": DECLARE, "silent": False, "store_history": False, "user_expressions": {}, "allow_stdin": False, "stop_on_error": True}
    channels.send(json.dumps({"channel": "shell", "header": header, "parent_header": {}, "metadata": {}, "content": content, "buffers": []}))
    while True:
        message = json.loads(channels.recv())
        if message["msg_type"] == "execute_reply":
            assert message["content"]["status"] == "ok", message["content"]
            break
    channels.close()
    deadline = time.monotonic() + PATIENCE
    while not _ask(base, f"/mcc/api/kernels/{kernel}/tools")["tools"]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return kernel


def test_whatever_is_sent_is_answered_as_the_document_says_and_holds_no_value(fuzzed: tuple[str, str, Path]) -> None:
    import schemathesis
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis.strategies import booleans
    from schemathesis.generation import GenerationMode
    from schemathesis.specs.openapi import checks

    base, kernel, log = fuzzed
    schema = schemathesis.openapi.from_dict(_ask(base, "/mcc/api/openapi.json"))
    schema.config.update(base_url=base)
    schema.config.generation.update(modes=[GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
    # Not asked: whether all negative data is refused. Unknown query parameters are not looked at, on purpose: front ends
    # add some against caches. Nor whether positive data is accepted: a made-up tool or call is 404.
    asked = [
        schemathesis.checks.not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
        checks.response_headers_conformance,
    ]
    seen: dict[str, set[int]] = {}

    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.path.endswith("/stream"):
            continue  # a WebSocket

        @given(real=booleans(), case=operation.as_strategy(generation_mode=GenerationMode.POSITIVE) | operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
        @settings(max_examples=25, deadline=None, database=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
        def ask(case: Any, real: bool) -> None:
            if real:
                there = {"kernel_id": kernel, "tool": "greet"}
                case.path_parameters = {name: there.get(name, value) for name, value in (case.path_parameters or {}).items()}
            # A control character in a header is no HTTP: Tornado drops such a request before anybody's handler sees it.
            case.headers = {name: value for name, value in (case.headers or {}).items() if value.isprintable()}
            headers = {"Authorization": f"token {TOKEN}"}
            answer = case.call(headers=headers, timeout=PATIENCE)
            seen.setdefault(case.operation.label, set()).add(answer.status_code)
            case.validate_response(answer, checks=asked)
            assert MARK not in answer.text

        ask()

    assert len(seen) == len(OPERATIONS) - 1
    reached = {label: statuses for label, statuses in seen.items() if "{call}" not in label and "{workspace_id}" not in label}
    assert all({200, 201, 202, 422} & statuses for statuses in reached.values()), seen
    assert 422 in seen["POST /mcc/api/kernels/{kernel_id}/calls"]
    text = log.read_text(errors="replace")
    assert MARK not in text
    assert "Traceback" not in text
    assert "internal error" not in text
