"""What a client may send, and what it is told: pages, tags, bodies, errors (SPEC 13.1, 14). Nothing is repeated."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from mcc_jupyter import __version__
from mcc_jupyter.doors.jupyter_server.paging import MOST, USUAL
from tests.doors.jupyter_server.servers import Server, eventually, tool
from tests.doors.jupyter_server.test_calls import GREET, SLEEP, with_tools

MARK = "s3cr3t-v4lue-of-nobody"


async def planted(server: Server, *tools: dict[str, object], **changes: object) -> str:
    """A kernel that mcc_jupyter is not loaded in, with a manifest."""
    answer = await server.ask("POST", "/api/kernels", {"name": "python3"})
    kernel = str(answer.document["id"])
    server.plant(kernel, *tools, **changes)
    return kernel


# ---- pages


async def test_pages_neither_repeat_nor_skip_while_tools_come_and_go(server: Server) -> None:
    kernel = await planted(server, *(tool(f"t{n:02}") for n in range(10)))
    path = f"/kernels/{kernel}/tools?limit=4"

    first = (await server.ask("GET", path)).document
    server.plant(kernel, *(tool(f"t{n:02}") for n in (0, 3, 4, 5, 6, 7, 8, 9)), tool("t00a"), revision=2)
    second = (await server.ask("GET", f"{path}&cursor={first['next_cursor']}")).document
    third = (await server.ask("GET", f"{path}&cursor={second['next_cursor']}")).document

    names = [[found["name"] for found in page["tools"]] for page in (first, second, third)]
    assert names == [["t00", "t01", "t02", "t03"], ["t04", "t05", "t06", "t07"], ["t08", "t09"]]
    assert third["next_cursor"] is None
    assert (first["revision"], second["revision"]) == (1, 2)


async def test_a_page_has_a_usual_and_a_largest_size(server: Server) -> None:
    kernel = await planted(server, *(tool(f"t{n:03}") for n in range(MOST + 1)))

    usual = (await server.ask("GET", f"/kernels/{kernel}/tools")).document
    most = (await server.ask("GET", f"/kernels/{kernel}/tools?limit={MOST}")).document

    assert (len(usual["tools"]), len(most["tools"])) == (USUAL, MOST)


@pytest.mark.parametrize("query", ["limit=0", f"limit={MOST + 1}", "limit=-1", "limit=x", "limit=1.5", "limit=", "limit=%00", "limit=1_0", f"limit={MARK}"])
async def test_a_wrong_limit_is_422(query: str, server: Server) -> None:
    answer = await server.ask("GET", f"/kernels?{query}")

    assert (answer.status, answer.document) == (422, {"message": "limit: must be a whole number from 1 to 500", "reason": "Unprocessable Entity", "code": "argument"})


@pytest.mark.parametrize("cursor", ["x", "%00", "bnVsbA", "W10", MARK, "a" * 1000, "%F0%9F%94%91"])
async def test_a_wrong_cursor_is_422(cursor: str, server: Server) -> None:
    answer = await server.ask("GET", f"/kernels?cursor={cursor}")

    assert (answer.status, answer.document["message"]) == (422, "cursor: must be a cursor that a page before gave")


# ---- tags


async def test_what_the_client_has_is_not_sent_again_until_it_changes(server: Server) -> None:
    kernel = await planted(server, tool("one"))
    path = f"/kernels/{kernel}/tools"

    first = await server.ask("GET", path)
    same = await server.ask("GET", path, headers={"If-None-Match": first.headers["Etag"]})
    other = await server.ask("GET", f"{path}?limit=1", headers={"If-None-Match": first.headers["Etag"]})
    server.plant(kernel, tool("one"), tool("two"), revision=2)
    changed = await server.ask("GET", path, headers={"If-None-Match": first.headers["Etag"]})

    assert (same.status, same.text) == (304, "")
    assert same.headers["Etag"] == first.headers["Etag"]
    assert (other.status, changed.status) == (200, 200)
    assert [found["name"] for found in changed.document["tools"]] == ["one", "two"]


# ---- kernels


async def test_a_kernel_with_too_old_a_package_is_refused_with_both_versions(server: Server) -> None:
    kernel = await planted(server, tool("one"), package="0.0.9")
    message = f"the kernel has mcc_jupyter 0.0.9, too old for the server's {__version__}; upgrade it where the kernel runs and restart the kernel"

    for verb, path, body in (("GET", "tools", None), ("GET", "session", None), ("GET", "tools/one", None), ("POST", "calls", {"tool": "one"})):
        answer = await server.ask(verb, f"/kernels/{kernel}/{path}", body)
        assert (answer.status, answer.document["code"], answer.document["message"]) == (422, "kernel-too-old", message)
    listed = (await server.ask("GET", "/kernels")).document["kernels"]
    assert listed[0]["problem"] == {"code": "kernel-too-old", "message": message}


async def test_a_kernel_without_the_extension_has_no_tools_and_costs_nothing(server: Server) -> None:
    kernel = await server.start()

    listed = await server.ask("GET", f"/kernels/{kernel}/tools")
    call = await server.ask("POST", f"/kernels/{kernel}/calls", {"tool": "x"})

    assert listed.document == {"loaded": False, "revision": 0, "tools": [], "next_cursor": None}
    assert (call.status, call.document["message"]) == (409, "mcc_jupyter is not loaded in this kernel; run %load_ext mcc_jupyter")


async def test_the_manifest_of_a_process_that_has_gone_is_not_believed(server: Server) -> None:
    kernel = await planted(server, tool("one"), started="1 another boot")

    assert (await server.ask("GET", f"/kernels/{kernel}/tools")).document["loaded"] is False


async def test_what_a_kernel_says_of_itself_is_listed(server: Server) -> None:
    kernel = await with_tools(server, GREET, "greet")
    await server.run(kernel, f"import mcc_jupyter as mcc; mcc.session['stage'] = {MARK!r}")

    async def told() -> Any:
        found = (await server.ask("GET", f"/kernels/{kernel}/session")).document["session"]
        return [entry for entry in found if entry["key"] == "stage"]

    assert await eventually(told) == [{"key": "stage", "type": "text", "size": len(MARK) + 2}]
    listed = (await server.ask("GET", "/kernels")).document["kernels"]
    assert {key: listed[0][key] for key in ("id", "loaded", "package", "tools", "guard")} == {"id": kernel, "loaded": True, "package": __version__, "tools": 1, "guard": False}
    assert MARK not in json.dumps(listed)
    assert MARK not in (await server.ask("GET", f"/kernels/{kernel}/session")).text


# ---- bodies


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "the arguments must be one JSON object; the text is no JSON at line 1, column 1"),
        (b"[]", 'the arguments must be one JSON object, like {"name": "value"}'),
        (b"\xff", "the body must be UTF-8, its texts valid Unicode and its numbers finite"),
        (b'{"tool": "greet", "arguments": {"who": 1e999}}', "the body must be UTF-8, its texts valid Unicode and its numbers finite"),
        (b'{"tool": "greet", "arguments": {"who": "\\ud800"}}', "the body must be UTF-8, its texts valid Unicode and its numbers finite"),
        (b'{"tool": "greet", "arguments": ' + b"[" * 100000 + b"]" * 100000 + b"}", "the arguments must be one JSON object; the text is nested too deeply"),
        (b"{}", "tool: must be the name or the key of a tool"),
        (b'{"tool": "greet", "arguments": []}', "arguments: must be an object of names and values"),
        (b'{"tool": "greet", "timeout": 0}', "timeout: must be a number of seconds above 0, or null"),
        (b'{"tool": "greet", "timeout": true}', "timeout: must be a number of seconds above 0, or null"),
        (b'{"tool": "greet", "%s": 1}' % MARK.encode(), "the body has a field that is none of tool, arguments, timeout"),
        (b'{"tool": "greet", "arguments": {"whom": "%s"}}' % MARK.encode(), "Tool 'greet': unknown argument `whom` (did you mean `who`?)"),
        (b'{"tool": "greet", "arguments": {"%s": 1}}' % MARK.encode(), "Tool 'greet': unknown argument with a name that is no identifier"),
        (b'{"tool": "greet", "arguments": {"who": {"a": "%s"}}}' % MARK.encode(), "Tool 'greet': argument `who` must be text"),
    ],
)
async def test_a_wrong_body_is_422_and_repeats_nothing(raw: bytes, message: str, greeting: tuple[Server, str], caplog: pytest.LogCaptureFixture) -> None:
    server, kernel = greeting
    caplog.set_level(logging.DEBUG)

    answer = await server.ask("POST", f"/kernels/{kernel}/calls?note={MARK}", raw=raw)

    assert (answer.status, answer.document["code"]) == (422, "argument"), answer
    assert answer.document["message"] == message
    assert MARK not in answer.text
    assert MARK not in caplog.text


@pytest.fixture
def greeting(server: Server, jp_asyncio_loop: Any) -> tuple[Server, str]:
    return server, jp_asyncio_loop.run_until_complete(with_tools(server, GREET, "greet"))


class TestLimits:
    @pytest.fixture
    def settings(self) -> dict[str, Any]:
        return {"MccServer": {"max_body_bytes": 2000, "max_calls": 2}}

    async def test_a_body_that_is_too_large_is_413_before_it_is_read(self, server: Server) -> None:
        kernel = await planted(server, tool("one"))

        answer = await server.ask("POST", f"/kernels/{kernel}/calls", raw=b"x" * 2001)

        assert (answer.status, answer.document["message"]) == (413, "the body is larger than 2,000 bytes")

    async def test_more_calls_than_may_run_are_429(self, server: Server) -> None:
        kernel = await with_tools(server, SLEEP, "nap")
        for _ in range(2):
            assert (await server.ask("POST", f"/kernels/{kernel}/calls", {"tool": "nap"})).status == 202

        answer = await server.ask("POST", f"/kernels/{kernel}/calls", {"tool": "nap"})
        status = (await server.ask("GET", "/status")).document

        assert (answer.status, answer.document["code"]) == (429, "busy")
        assert status["calls"] == {"running": 2, "most": 2}


async def test_a_form_is_no_json(server: Server) -> None:
    kernel = await planted(server, tool("one"))

    answer = await server.ask("POST", f"/kernels/{kernel}/calls", raw=b"tool=one", headers={"Content-Type": "application/x-www-form-urlencoded"})

    assert (answer.status, answer.document["code"]) == (415, "media-type")


@pytest.mark.parametrize(("verb", "path", "status"), [("GET", "/status?x={}", 200), ("TRACE", "/status?x={}", 405), ("GET", "/kernels/%ff/tools?x={}", 400), ("GET", "/status?token={}&x=%ff{}", 200), ("GET", "/kernels?limit=%ff{}", 400)])
async def test_a_query_is_in_no_log(verb: str, path: str, status: int, server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    answer = await server.ask(verb, path.replace("{}", MARK))

    assert answer.status in (status, 403), answer
    assert MARK not in answer.text
    assert MARK not in caplog.text


async def test_a_mistake_of_this_package_is_500_without_a_text_of_it(server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(MARK)

    monkeypatch.setattr(type(server.services.people), "person", broken)

    answer = await server.ask("GET", f"/status?x={MARK}")

    assert (answer.status, answer.document) == (500, {"message": "Internal Server Error", "reason": "Internal Server Error", "code": "internal"})
    assert MARK not in caplog.text
    assert "internal error: RuntimeError in test_requests.py:" in caplog.text
