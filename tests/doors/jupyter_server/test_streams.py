"""A call over a WebSocket: one that is followed, and one that begins and ends with it (SPEC 13.1)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tornado.httpclient import HTTPClientError

from tests.doors.jupyter_server.servers import Server, eventually
from tests.doors.jupyter_server.test_access import NO_KERNEL, NOBODY
from tests.doors.jupyter_server.test_calls import FLOOD, GREET, SLEEP, first_line, lives, printed, snapshot, with_tools

if TYPE_CHECKING:
    from tornado.websocket import WebSocketClientConnection


async def opened(server: Server, kernel: str, call: str, **options: Any) -> WebSocketClientConnection:
    return await server.websocket("mcc", "api", "kernels", kernel, "calls", call, "stream", **options)


async def rest(socket: WebSocketClientConnection) -> list[dict[str, Any]]:
    found = []
    while (message := await socket.read_message()) is not None:
        found.append(json.loads(message))
    socket.close()
    return found


async def test_a_new_call_is_begun_by_the_first_message(server: Server) -> None:
    kernel = await with_tools(server, GREET, "greet")
    socket = await opened(server, kernel, "new")

    await socket.write_message(json.dumps({"tool": "greet", "arguments": {"who": "Ada"}}))
    found = await rest(socket)

    assert printed(found) == "hello Ada\n"
    assert [found[0]["event"], found[-1]["event"]] == ["started", "done"]
    assert socket.close_code == 1000


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("no json", "argument"),
        ('{"tool": "none"}', "unknown-tool"),
        ('{"tool": "greet", "arguments": {"nobody": 1}}', "argument"),
        ('{"tool": "greet", "arguments": {"who": "\\ud800"}}', "argument"),
        ('{"tool": 1}', "argument"),
    ],
)
async def test_what_cannot_be_begun_is_one_error_and_the_end(message: str, code: str, server: Server) -> None:
    kernel = await with_tools(server, GREET, "greet")
    socket = await opened(server, kernel, "new")

    await socket.write_message(message)
    found = await rest(socket)

    assert [(event["event"], event["code"]) for event in found] == [("error", code)]
    assert socket.close_code == 1008


async def test_a_call_that_is_followed_goes_on_without_its_followers(server: Server) -> None:
    kernel = await with_tools(server, SLEEP, "nap")
    call = (await server.ask("POST", f"/kernels/{kernel}/calls", {"tool": "nap"})).document["call"]
    pid = await first_line(server, kernel, call)
    socket = await opened(server, kernel, call)
    assert json.loads(str(await socket.read_message()))["event"] == "started"
    assert json.loads(str(await socket.read_message()))["text"].strip() == str(pid)

    socket.close()
    again = await opened(server, kernel, call)
    assert (await snapshot(server, kernel, call))["state"] == "running"
    await again.write_message('{"op": "cancel"}')
    found = await rest(again)

    assert found[-1]["outcome"]["status"] == "interrupt"
    assert not lives(pid)
    late = await rest(await opened(server, kernel, call))
    assert (late[0]["event"], late[-1]["event"]) == ("started", "done")


async def test_a_call_begun_on_a_socket_ends_with_it(server: Server) -> None:
    kernel = await with_tools(server, FLOOD, "flood")
    socket = await opened(server, kernel, "new")
    await socket.write_message(json.dumps({"tool": "flood"}))
    call = json.loads(str(await socket.read_message()))["call"]
    pid = int(json.loads(str(await socket.read_message()))["text"].split("\n")[0])
    assert lives(pid)

    socket.close()

    await eventually(lambda: not lives(pid))
    assert (await snapshot(server, kernel, call))["cancelled"] is True


async def test_a_stream_of_nothing_is_404_and_another_site_is_refused(server: Server) -> None:
    kernel = await with_tools(server, GREET, "greet")
    refused = []
    for path, headers in (((NOBODY, "new"), {}), ((kernel, "x"), {}), ((kernel, "new"), {"Authorization": "token x"})):
        with pytest.raises(HTTPClientError) as error:
            await opened(server, *path, headers=headers)
        refused.append(error.value.code)
    assert refused == [404, 404, 403]
    plain = await server.ask("GET", f"/kernels/{NOBODY}/calls/new/stream")
    assert (plain.status, plain.document) == (404, NO_KERNEL)
