"""Requests of other processes, answered for one toolbox; real kernels are asked in ``tests/doors/test_control.py``."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from mcc_jupyter.core.command import Request
from mcc_jupyter.runtime import desk as desks
from mcc_jupyter.runtime.desk import Desk
from mcc_jupyter.runtime.launcher import Exit
from tests.processes import until

from .conftest import FakeLauncher, Sink, World

SECRET = "sk-live-0123456789"


class Asked:
    """A desk and what it answered, by requester."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.desk = Desk(lambda: world.box, manifest=lambda: {"tools": []}, secrets=lambda: [("TOKEN", SECRET)])
        self.answers: list[tuple[object, dict[str, Any], list[bytes]]] = []
        self.go = threading.Event()

    def ask(self, content: object, requester: object = "me", buffers: Sequence[bytes] = ()) -> None:
        def reply(answer: Mapping[str, object], sent: Sequence[bytes]) -> None:
            json.dumps(answer, allow_nan=False)
            self.answers.append((requester, dict(answer), list(sent)))

        self.desk.handle(content, requester, reply, buffers)

    def call(self, call: str, requester: object = "me", **fields: object) -> None:
        self.ask({"v": 1, "op": "call", "call": call, "tool": "t", **fields}, requester)

    def of(self, call: str, requester: object = "me") -> list[dict[str, Any]]:
        return [answer for whose, answer, _ in self.answers if whose == requester and answer.get("call") == call]

    def ended(self, call: str, requester: object = "me") -> dict[str, Any]:
        assert until(lambda: [one for one in self.of(call, requester) if one["event"] in ("done", "error")]), self.answers
        return self.of(call, requester)[-1]

    @property
    def last(self) -> dict[str, Any]:
        assert until(lambda: self.answers)
        return self.answers[-1][1]


def waits(asked: Asked) -> Callable[[Request, Sink, Sink], Exit]:
    """A tool that runs until it may end, or is told to."""

    def run(_: Request, stdout: Sink, __: Sink) -> Exit:
        launcher = asked.world.box.launcher
        assert isinstance(launcher, FakeLauncher)
        stop = launcher.stops[-1]
        stdout(b"begun\n")
        while not asked.go.is_set():
            if stop is not None and stop.requested:
                return Exit(signal=2, stopped="interrupt")
            time.sleep(0.005)
        return Exit(code=0)

    return run


@pytest.fixture
def asked(make_world: Callable[..., World]) -> Iterator[Asked]:
    launcher = FakeLauncher()
    asked = Asked(make_world({"TOKEN": SECRET}, launcher=launcher))
    launcher.answers[:] = [waits(asked)]
    asked.world.add("name: t\nexec: x {{ n }}\nparams: [{name: n, type: int, default: 1}]\ngroups: [staff]")
    yield asked
    asked.go.set()
    asked.desk.close()
    assert until(lambda: not [one for one in threading.enumerate() if one.name in ("mcc-call", "mcc-look", "mcc-leases")])


def error(code: str, text: str, **more: object) -> dict[str, Any]:
    return {"v": 1, "event": "error", "code": code, "text": text, **more}


def test_tools_and_report_are_answered_and_a_caller_sees_what_it_may_call(asked: Asked) -> None:
    asked.ask({"v": 1, "op": "tools"})
    assert asked.last == {"v": 1, "event": "tools", "manifest": {"tools": []}}
    asked.answers.clear()
    asked.ask({"v": 1, "op": "report", "tool": "t", "caller": {"user": "bob", "groups": []}})
    assert (asked.last["report"]["available"], asked.last["report"]["footer"][0]) == (
        False,
        "From this process, which holds these values anyway. Identity: the server's user, groups none.",
    )
    asked.answers.clear()
    asked.ask({"v": 1, "op": "report", "tool": "other"})
    assert asked.last["code"] == "unknown-tool"


def test_a_call_is_started_and_done(asked: Asked) -> None:
    asked.go.set()
    asked.call("c", arguments={"n": 2}, timeout=5)
    done = asked.ended("c")
    assert [one["event"] for one in asked.of("c")] == ["started", "output", "done"]
    assert asked.of("c")[1] == {"v": 1, "event": "output", "call": "c", "seq": 1, "stream": "stdout", "text": "begun\n"}
    assert (done["outcome"]["status"], done["outcome"]["stdout"]) == ("ok", "begun\n")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"caller": {"user": "bob", "groups": ["x"]}}, error("unavailable", "Tool 't' is unavailable; not granted: it is for staff", call="c")),
        ({"timeout": 0}, error("argument", "Tool 't': timeout must be a number of seconds above 0", call="c")),
        ({"arguments": {"m": 1}}, error("argument", "Tool 't': unknown argument `m`", call="c")),
    ],
)
def test_a_call_that_cannot_begin_never_starts(asked: Asked, fields: dict[str, object], expected: dict[str, Any]) -> None:
    asked.call("c", **fields)
    asked.ended("c")
    assert asked.of("c") == [expected]


def test_what_is_no_request_is_an_error_at_once(asked: Asked) -> None:
    asked.ask({"v": 1, "op": "ack", "call": "c", "seq": 1})
    asked.ask(["x"])
    assert [answer for _, answer, _ in asked.answers] == [
        error("argument", "mcc_request: `call` must be the id of a call that you began"),
        error("argument", "mcc_request: the content must be an object"),
    ]


def test_a_mistake_of_ours_is_an_answer_too(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    def mistake(*_: object) -> None:
        raise SystemExit(SECRET)

    monkeypatch.setattr(desks.requests, "read", mistake)
    asked.ask({})
    assert asked.last == error("internal", "internal error: SystemExit; please report it")


def test_an_id_is_one_requesters_and_is_used_once(asked: Asked) -> None:
    asked.call("c")
    asked.call("c", "other")
    assert until(lambda: len(asked.of("c")) == 2 and len(asked.of("c", "other")) == 2)
    asked.call("c")
    assert asked.last == error("argument", "mcc_request: `call` must be an id that you have not used before")
    for op in ({"op": "cancel"}, {"op": "ack", "seq": 1}):
        asked.ask({"v": 1, "call": "c", **op}, "a third")
        assert asked.last == error("argument", "mcc_request: `call` must be the id of a call that you began")
    asked.ask({"v": 1, "op": "cancel", "call": "c"}, "other")
    assert asked.ended("c", "other")["outcome"]["status"] == "interrupt"
    assert [one["event"] for one in asked.of("c")] == ["started", "output"]
    asked.ask({"v": 1, "op": "ack", "call": "c", "seq": 1})
    asked.go.set()
    assert asked.ended("c")["outcome"]["status"] == "ok"
    for op in ({"op": "cancel"}, {"op": "ack", "seq": 1}):  # they were on their way when it ended
        before = len(asked.answers)
        asked.ask({"v": 1, "call": "c", **op})
        assert len(asked.answers) == before


def test_of_many_that_have_ended_the_oldest_are_forgotten(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desks, "_REMEMBERED", 1)
    asked.go.set()
    for call in ("a", "b"):
        asked.call(call)
        asked.ended(call)
    assert until(lambda: not asked.desk._calls)
    asked.ask({"v": 1, "op": "cancel", "call": "b"})
    asked.ask({"v": 1, "op": "cancel", "call": "a"})
    assert asked.last == error("argument", "mcc_request: `call` must be the id of a call that you began")


def test_a_call_that_waits_for_its_turn_can_be_cancelled_and_more_than_may_wait_are_refused(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    asked.desk._crew._size, asked.desk._crew._room = 1, 1
    asked.call("runs")
    asked.call("waits", caller={"user": "ada", "groups": ["staff"]})
    asked.call("refused")
    assert asked.last == error("busy", "this kernel has 1 requests waiting already; try again later")
    asked.ask({"v": 1, "op": "cancel", "call": "waits"})
    outcome = asked.ended("waits")["outcome"]
    assert (outcome["status"], outcome["failure"]) == ("interrupt", "did not start: was interrupted")
    asked.call("refused")  # it was never begun, so its id is still free
    asked.go.set()
    assert asked.ended("refused")["outcome"]["status"] == "ok"


def test_a_requester_that_has_gone_ends_its_calls_those_that_wait_too(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desks, "_LOOK_UP", 0.05)
    asked.desk._crew._size = 1
    asked.call("runs", lease=1)
    asked.call("waits", lease=1)
    done = asked.ended("waits")["outcome"]
    assert done["notes"] == ["ended because the requester was not heard of any more"]
    assert asked.ended("runs")["outcome"]["status"] == "interrupt"


def test_closing_ends_every_call_and_they_are_answered(asked: Asked) -> None:
    asked.call("c")
    assert until(lambda: len(asked.of("c")) == 2)
    asked.desk.close()
    assert asked.ended("c")["outcome"]["status"] == "interrupt"
    asked.desk._end(("me", "c"))  # it has ended already


def test_output_that_was_not_sent_is_told(asked: Asked) -> None:
    def flood(_: Request, stdout: Sink, __: Sink) -> Exit:
        stdout(b"x" * 2_000_000)
        return Exit(code=0)

    launcher = asked.world.box.launcher
    assert isinstance(launcher, FakeLauncher)
    launcher.answers[:] = [flood]
    asked.call("c")
    assert until(lambda: len([one for one in asked.of("c") if one["event"] == "output"]) == 16)
    asked.ask({"v": 1, "op": "cancel", "call": "c"})
    outcome = asked.ended("c")["outcome"]
    assert outcome["notes"][-1] == "951,424 bytes of output were not sent, because the call was to end"


def test_a_scan_wants_one_notebook_in_utf_8(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desks, "LARGEST_SCAN", 1000)

    def scanned(*buffers: bytes, clean: bool = False) -> tuple[dict[str, Any], list[bytes]]:
        asked.answers.clear()
        asked.ask({"v": 1, "op": "scan", "clean": clean}, buffers=buffers)
        assert until(lambda: asked.answers)
        return asked.answers[0][1], asked.answers[0][2]

    size = "mcc_request: send one notebook of at most 1,000 bytes"
    assert scanned() == (error("argument", size), [])
    assert scanned(b"{}", b"{}") == (error("argument", size), [])
    assert scanned(b" " * 1001) == (error("argument", size), [])
    assert scanned(b"\xff") == (error("argument", "mcc_request: the notebook is not UTF-8"), [])
    assert scanned(b"{}")[0]["code"] == "declaration"
    assert scanned(b"{") == (error("argument", "mcc_request: the notebook is no JSON"), [])
    assert scanned(b"[" * 1000) == (error("argument", "mcc_request: the notebook is no JSON"), [])
    notebook = json.dumps({"cells": [{"cell_type": "raw", "source": [SECRET]}]}).encode()
    found, none = scanned(notebook)
    assert ([(one["name"], one["cell"], one["part"]) for one in found["findings"]], found["cleaned"], none) == ([("TOKEN", 1, "source")], False, [])
    printed = {"cell_type": "code", "source": [], "outputs": [{"output_type": "stream", "name": "stdout", "text": SECRET}]}
    found, [cleaned] = scanned(json.dumps({"cells": [printed]}).encode(), clean=True)
    assert (found["cleaned"], SECRET.encode() in cleaned, b"[redacted:TOKEN]" in cleaned) == (True, False, True)
    assert scanned(cleaned, clean=True) == ({"v": 1, "event": "scanned", "findings": [], "cleaned": False}, [])


def test_only_so_many_bytes_of_notebooks_are_here_at_a_time(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desks, "LARGEST_SCAN", 1000)
    held, notebook = threading.Event(), json.dumps({"cells": []}).encode().ljust(600)
    monkeypatch.setattr(asked.desk, "_secrets", lambda: held.wait() and [])
    for requester in ("one", "two"):
        asked.ask({"v": 1, "op": "scan"}, requester, [notebook])
    assert asked.answers == [("two", error("busy", "this kernel has too many notebooks to scan already; try again later"), [])]
    held.set()
    assert until(lambda: len(asked.answers) == 2)
    assert until(lambda: asked.desk._scanning == 0)
    asked.desk._looks._size = asked.desk._looks._room = 0
    asked.ask({"v": 1, "op": "scan"}, "three", [notebook])
    assert asked.last == error("busy", "this kernel has 0 requests waiting already; try again later")
    assert asked.desk._scanning == 0
