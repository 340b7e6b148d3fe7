"""A real kernel behind the server: declare, list, call, stream, end (SPEC 13.1)."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from tests.doors.jupyter_server.servers import Answer, Server, eventually

LOAD = "get_ipython().run_line_magic('load_ext', 'mcc_jupyter')\n"
NDJSON = {"Accept": "application/x-ndjson"}


def declare(yaml: str) -> str:
    return f"get_ipython().run_cell_magic('mcc_tool', '', {yaml!r})\n"


GREET = """
- name: greet
  description: Says hello
  exec: echo hello {{ who | quote }}; echo oops >&2
  params: [{name: who, type: str, default: world}]
"""
SLEEP = "- {name: nap, exec: 'echo $$; exec sleep 600'}\n"
FLOOD = "- {name: flood, exec: 'echo $$; exec yes 0123456789012345678901234567890123456789'}\n"


async def with_tools(server: Server, yaml: str, *names: str) -> str:
    """A kernel in which the tools are declared and told of."""
    kernel = await server.start(LOAD + declare(yaml))

    async def told() -> bool:
        answer = await server.ask("GET", f"/kernels/{kernel}/tools")
        return {found["name"] for found in answer.document["tools"]} >= set(names)

    await eventually(told)
    return kernel


def events(answer: Answer) -> list[dict[str, Any]]:
    return [json.loads(line) for line in answer.text.splitlines()]


def printed(found: list[dict[str, Any]], stream: str = "stdout") -> str:
    return "".join(event["text"] for event in found if event["event"] == "output" and event["stream"] == stream)


def lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


async def snapshot(server: Server, kernel: str, call: str) -> dict[str, Any]:
    answer = await server.ask("GET", f"/kernels/{kernel}/calls/{call}")
    assert answer.status == 200, answer
    found: dict[str, Any] = answer.document
    return found


async def first_line(server: Server, kernel: str, call: str) -> int:
    """The number of the process that a tool printed in its first line."""

    async def number() -> int:
        found = await snapshot(server, kernel, call)
        text = "".join(piece["text"] for piece in found["output"])
        return int(text.split("\n")[0]) if "\n" in text else 0

    return int(await eventually(number))


async def test_a_tool_is_declared_listed_reported_called_and_remembered(server: Server) -> None:
    kernel = await with_tools(server, GREET, "greet")

    listed = (await server.ask("GET", f"/kernels/{kernel}/tools")).document
    one = (await server.ask("GET", f"/kernels/{kernel}/tools/greet")).document
    report = (await server.ask("GET", f"/kernels/{kernel}/tools/public.greet/report")).document
    whole = (await server.ask("GET", f"/kernels/{kernel}/tools/greet/report?all=true")).document
    stream = await server.ask("POST", f"/kernels/{kernel}/calls", {"tool": "greet", "arguments": {"who": "Ada"}}, headers=NDJSON)

    assert listed["loaded"] is True
    assert "report" not in listed["tools"][0]
    assert one["parameters"]["properties"]["who"]["type"] == "string"
    assert report == one["report"]
    assert (report["schema"], report["tool"], report["available"]) == ("mcc.report", "greet", True)
    assert "withheld" in whole
    assert stream.status == 200
    assert stream.headers["Content-Type"] == "application/x-ndjson; charset=utf-8"
    found = events(stream)
    assert found[0]["event"] == "started"
    assert printed(found) == "hello Ada\n"
    assert printed(found, "stderr") == "oops\n"
    assert (found[-1]["event"], found[-1]["outcome"]["status"], found[-1]["outcome"]["exit_code"]) == ("done", "ok", 0)

    remembered = await snapshot(server, kernel, found[0]["call"])
    recent = (await server.ask("GET", f"/kernels/{kernel}/calls")).document["calls"]
    assert (remembered["state"], remembered["tool"], remembered["outcome"]["status"]) == ("done", "public.greet", "ok")
    assert "".join(piece["text"] for piece in remembered["output"] if piece["stream"] == "stdout") == "hello Ada\n"
    assert [call["call"] for call in recent] == [found[0]["call"]]
    assert "Ada" not in json.dumps(recent)


async def test_a_call_begun_by_itself_runs_on_and_is_ended_by_delete(server: Server) -> None:
    kernel = await with_tools(server, SLEEP, "nap")

    begun = await server.ask("POST", f"/kernels/{kernel}/calls", {"tool": "nap"})
    assert (begun.status, begun.document["state"]) == (202, "running")
    assert begun.headers["Location"] == f"/a%40b/mcc/api/kernels/{kernel}/calls/{begun.document['call']}"
    pid = await first_line(server, kernel, begun.document["call"])
    assert lives(pid)
    ending = await server.ask("DELETE", f"/kernels/{kernel}/calls/{begun.document['call']}")
    ended = await eventually(lambda: _ended(server, kernel, begun.document["call"]))
    again = await server.ask("DELETE", f"/kernels/{kernel}/calls/{begun.document['call']}")

    assert (ending.status, again.status) == (202, 200)
    assert (ended["state"], ended["cancelled"], ended["outcome"]["status"]) == ("done", True, "interrupt")
    assert not lives(pid)


async def _ended(server: Server, kernel: str, call: str) -> dict[str, Any] | None:
    found = await snapshot(server, kernel, call)
    return found if found["state"] in ("done", "error") else None


async def test_a_restart_ends_the_calls_of_the_kernel_and_their_tools(server: Server) -> None:
    kernel = await with_tools(server, SLEEP, "nap")
    call = (await server.ask("POST", f"/kernels/{kernel}/calls", {"tool": "nap"})).document["call"]
    pid = await first_line(server, kernel, call)

    assert (await server.ask("POST", f"/api/kernels/{kernel}/restart")).status == 200
    await server.connect(kernel)
    ended = await eventually(lambda: _ended(server, kernel, call))
    none = await server.ask("GET", f"/kernels/{kernel}/tools")
    not_loaded = await server.ask("POST", f"/kernels/{kernel}/calls", {"tool": "nap"})

    assert ended["error"] == {"code": "kernel-ended", "message": "the kernel ended or was restarted; start it and call again"}
    await eventually(lambda: not lives(pid))
    assert (none.document["loaded"], none.document["tools"]) == (False, [])
    assert (not_loaded.status, not_loaded.document["code"]) == (409, "not-loaded")

    await server.run(kernel, LOAD + declare(GREET))
    await eventually(lambda: server.manifest(kernel).exists())
    fresh = await server.ask("POST", f"/kernels/{kernel}/calls", {"tool": "greet"}, headers=NDJSON)
    assert printed(events(fresh)) == "hello world\n"


async def test_a_kernel_that_is_killed_ends_its_calls(server: Server) -> None:
    kernel = await with_tools(server, SLEEP, "nap")
    manager = server.app.kernel_manager.get_kernel(kernel)
    manager.autorestart = False
    stream = asyncio.create_task(server.ask("POST", f"/kernels/{kernel}/calls", {"tool": "nap"}, headers=NDJSON))
    call = await eventually(lambda: _only(server, kernel))
    await first_line(server, kernel, call)

    os.kill(manager.provisioner.pid, 9)
    found = events(await stream)

    assert found[-1] == {"event": "error", "code": "kernel-ended", "message": "the kernel ended or was restarted; start it and call again"}
    dead = await eventually(lambda: _dead(server, kernel))
    assert (dead.status, dead.document["message"]) == (409, "the kernel is dead; restart it")


async def _only(server: Server, kernel: str) -> str | None:
    calls = (await server.ask("GET", f"/kernels/{kernel}/calls")).document["calls"]
    return calls[0]["call"] if calls and calls[0]["state"] == "running" else None


async def _dead(server: Server, kernel: str) -> Answer | None:
    found = await server.ask("POST", f"/kernels/{kernel}/calls", {"tool": "nap"})
    return found if found.document["code"] == "kernel-dead" else None


async def test_a_client_that_goes_away_ends_the_call_of_its_stream(server: Server) -> None:
    kernel = await with_tools(server, FLOOD, "flood")
    host, _, port = server.base.removeprefix("http://").partition("/")[0].partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    body = json.dumps({"tool": "flood"})
    head = f"POST /a%40b/mcc/api/kernels/{kernel}/calls HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: {server.token['Authorization']}\r\nAccept: application/x-ndjson\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body.encode())
    got = await reader.readuntil(b'"stdout"')
    got += await reader.readuntil(b"\\n")
    pid = int(got.rpartition(b'"text": "')[2].removesuffix(b"\\n"))
    assert lives(pid)

    writer.close()

    await eventually(lambda: not lives(pid))
    call = (await server.ask("GET", f"/kernels/{kernel}/calls")).document["calls"][0]
    assert call["cancelled"] is True


async def test_a_slow_client_slows_the_tool_and_no_memory_grows(server: Server) -> None:
    kernel = await with_tools(server, FLOOD, "flood")
    host, _, port = server.base.removeprefix("http://").partition("/")[0].partition(":")
    _, writer = await asyncio.open_connection(host, int(port), limit=1024)
    body = json.dumps({"tool": "flood"})
    head = f"POST /a%40b/mcc/api/kernels/{kernel}/calls HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: {server.token['Authorization']}\r\nAccept: application/x-ndjson\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body.encode())  # and nothing is read
    call = server.services.calls.find(await _kernel(server, kernel), await eventually(lambda: _only(server, kernel)), _Anybody())

    async def stands() -> bool:
        before = call._last
        await asyncio.sleep(0.5)
        return before > 0 and call._last == before

    await eventually(stands)
    assert call.size < 3 * 1024 * 1024
    writer.close()
    await eventually(lambda: call.ended)


class _Anybody:
    name = ""
    sees_all = True


async def _kernel(server: Server, kernel: str) -> Any:
    return server.services.kernels._kernel(kernel)


async def test_two_hundred_calls_at_a_time_each_get_their_own_output(server: Server) -> None:
    kernel = await with_tools(server, GREET, "greet")

    async def one(number: int) -> str:
        answer = await server.ask("POST", f"/kernels/{kernel}/calls", {"tool": "greet", "arguments": {"who": f"n{number}"}}, headers=NDJSON)
        assert answer.status == 200, answer
        return printed(events(answer))

    found = await asyncio.gather(*map(one, range(200)))

    assert found == [f"hello n{number}\n" for number in range(200)]


async def test_a_busy_kernel_answers_and_does_not_look_idle(server: Server) -> None:
    kernel = await with_tools(server, GREET, "greet")
    server.begin(kernel, "import time; time.sleep(600)")
    manager = server.app.kernel_manager.get_kernel(kernel)
    await eventually(lambda: manager.execution_state == "busy")

    answer = await server.ask("POST", f"/kernels/{kernel}/calls", {"tool": "greet"}, headers=NDJSON)

    assert printed(events(answer)) == "hello world\n"
    assert manager.execution_state == "busy"


async def test_a_kernel_held_by_c_code_is_504_and_is_not_asked_for_its_tools(server: Server) -> None:
    server.services.kernels.seconds = 1.0
    kernel = await with_tools(server, GREET, "greet")
    server.begin(kernel, "import ctypes; ctypes.PyDLL(None).sleep(20)")
    await asyncio.sleep(1)

    listed = await server.ask("GET", f"/kernels/{kernel}/tools")
    call = await server.ask("POST", f"/kernels/{kernel}/calls", {"tool": "greet"})

    assert [found["name"] for found in listed.document["tools"]] == ["greet"]
    assert (call.status, call.document["code"]) == (504, "no-answer")
    assert (await server.ask("GET", f"/kernels/{kernel}/calls")).document["calls"] == []
