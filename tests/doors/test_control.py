"""The control channel's door in a real kernel, asked as a server asks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.doors.kernels import Asking, Notebook, ended, started, text
from tests.processes import alive, environment, until, written

MARK = "n0t-f0r-any-eyes-4711"
"""The value of a variable that no text may hold."""


class World:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        runtime = folder / "runtime"
        self.manager = started({**environment(folder), "GITHUB_TOKEN": MARK, "JUPYTER_RUNTIME_DIR": str(runtime)}, folder)
        self.notebook = Notebook(self.manager)
        self.notebook.run("%load_ext mcc_jupyter")
        self.asking: list[Asking] = []

    def client(self) -> Asking:
        self.asking.append(Asking(self.manager))
        return self.asking[-1]

    @property
    def log(self) -> str:
        return (self.folder / "kernel.log").read_text()

    def close(self) -> None:
        for one in self.asking:
            one.close()
        self.notebook.close()
        ended(self.manager)


@pytest.fixture(autouse=True)
def nothing_in_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(tmp_path_factory.mktemp("kernel"))
    yield world
    world.close()


@pytest.fixture
def server(world: World) -> Iterator[Asking]:
    client = world.client()
    yield client
    assert "Traceback" not in world.log
    assert "Exception" not in world.log


def test_a_call_streams_its_output_and_ends_with_its_outcome(world: World, server: Asking) -> None:
    world.notebook.run("%%mcc_tool greet --param who\necho hello {{ who | quote }}; echo oops >&2; exit 3")
    events = server.call("greet", "c1", arguments={"who": "Ada"})

    assert events[0] == {"event": "started", "call": "c1"}
    assert (text(events), text(events, "stderr")) == ("hello Ada\n", "oops\n")
    assert [event["seq"] for event in events[1:-1]] == list(range(1, len(events) - 1))
    outcome = events[-1]["outcome"]
    assert (outcome["status"], outcome["exit_code"], outcome["failure"]) == ("failed", 3, "failed with exit code 3")
    assert outcome["report"]["schema"] == "mcc.report"


def test_a_functions_result_is_json(world: World, server: Asking) -> None:
    world.notebook.run("import mcc_jupyter as mcc\n@mcc.tool\ndef add(a: int, b: int):\n    return {'sum': a + b, 'nan': chr(0xd800)}")
    assert server.call("add", arguments={"a": 1, "b": 2})[-1]["outcome"]["result"] == {"sum": 3, "nan": "\ufffd"}


def test_no_value_leaves(world: World, server: Asking) -> None:
    world.notebook.run("%%mcc_tool leak --require GITHUB_TOKEN\necho $GITHUB_TOKEN; echo $GITHUB_TOKEN >&2; exit 1")
    seen = json.dumps([server.call("leak"), server.ask("report", tool="leak", all=True), server.ask("tools")])

    assert seen.count("[redacted:GITHUB_TOKEN]") >= 4
    assert MARK not in seen


def test_requests_are_answered_while_a_cell_runs(world: World, server: Asking) -> None:
    world.notebook.run("%%mcc_tool quick\necho quick")
    go = world.folder / "go"
    world.notebook.start("import os, time\nopen('busy', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.01)")
    try:
        assert until((world.folder / "busy").exists)
        assert text(server.call("quick")) == "quick\n"
        assert server.ask("report", tool="quick")["report"]["tool"] == "quick"
    finally:
        go.touch()


def test_the_caller_holds_for_one_call_and_groups_decide(world: World, server: Asking) -> None:
    world.notebook.run("%%mcc_tool me --group staff\necho $MCC_CTX_USER $MCC_CTX_EMAIL $MCC_CTX_GROUPS")
    own = world.notebook.value("mcc.session['user']") if world.notebook.run("import mcc_jupyter as mcc") else ""
    ada = {"user": "ada", "email": "ada@example.org", "groups": ["staff"]}

    assert text(server.call("me", caller=ada)) == 'ada ada@example.org ["staff"]\n'
    assert text(server.call("me", caller={"user": "root", "groups": ["admin"]})) == 'root ["admin"]\n'
    [refused] = server.call("me", caller={"user": "bob", "groups": []})
    assert refused["code"] == "unavailable"
    assert refused["text"] == "Tool 'me' is unavailable; not granted: it is for staff"
    assert world.notebook.value("mcc.session['user']") == own
    assert text(server.call("me")) == f'{own[1:-1]} ["admin"]\n'
    report = server.ask("report", tool="me", caller={"user": "bob", "groups": ["x"]})["report"]
    assert (report["available"], "Identity: the server's user, groups x." in report["footer"][0]) == (False, True)


@pytest.mark.parametrize(
    ("fields", "code", "told"),
    [
        ({"tool": "nothing"}, "unknown-tool", "No tool 'nothing' is declared here; run the cell that declares it"),
        ({"arguments": {"n": "x"}}, "argument", None),
        ({"timeout": -1}, "argument", "Tool 'fine': timeout must be a number of seconds above 0"),
    ],
)
def test_a_call_that_cannot_begin_is_one_error(world: World, server: Asking, fields: dict[str, Any], code: str, told: str | None) -> None:
    world.notebook.run("%%mcc_tool fine --param n:int=3\necho {{ n }}")
    [event] = server.call(**{"tool": "fine", **fields})

    assert (event["event"], event["code"]) == ("error", code)
    if told is not None:
        assert event["text"] == told


SLOW = "%%mcc_tool slow\necho $$ > pid; sleep 300"


def test_cancel_ends_a_call_as_an_interrupt_does(world: World, server: Asking) -> None:
    (world.folder / "pid").unlink(missing_ok=True)
    world.notebook.run(SLOW)
    request = server.request("call", call="slow1", tool="slow")
    pid = written(world.folder / "pid")
    server.request("cancel", call="slow1")

    done = server.rest(request, "slow1")[-1]
    assert (done["outcome"]["status"], done["outcome"]["failure"]) == ("interrupt", "was interrupted")
    assert not alive(pid)
    server.request("cancel", call="slow1")  # too late, and no mistake
    server.request("ack", call="slow1", seq=1)
    assert server.ask("report", tool="slow")["event"] == "report"


def test_another_requester_can_neither_cancel_nor_acknowledge_a_call(world: World, server: Asking) -> None:
    (world.folder / "pid").unlink(missing_ok=True)
    world.notebook.run(SLOW)
    request = server.request("call", call="mine", tool="slow")
    pid = written(world.folder / "pid")
    other = world.client()

    for answer in (other.ask("cancel", call="mine"), other.ask("ack", call="mine", seq=0)):
        assert answer == {"event": "error", "code": "argument", "text": "mcc_request: `call` must be the id of a call that you began"}
    assert alive(pid)
    server.request("cancel", call="mine")
    assert server.rest(request, "mine")[-1]["event"] == "done"


def test_a_flood_waits_for_its_requester_and_arrives_whole(world: World, server: Asking) -> None:
    world.notebook.run("%%mcc_tool flood\nhead -c 6000000 /dev/zero | tr '\\0' x; echo; touch over")
    request = server.request("call", call="flood", tool="flood")
    assert server.next(request)["event"] == "started"
    unread: list[dict[str, Any]] = []
    while sum(len(event["text"]) for event in unread) < 1024 * 1024 - 64 * 1024:
        unread.append(server.next(request))
    assert not (world.folder / "over").exists()
    server.request("ack", call="flood", seq=unread[-1]["seq"])
    events = [*unread, *server.rest(request, "flood")]

    assert text(events) == "x" * 6_000_000 + "\n"
    assert events[-1]["outcome"]["cut"] is True


def test_two_hundred_calls_at_once_all_come_to_their_end(world: World, server: Asking) -> None:
    world.notebook.run("%%mcc_tool echo --param n:int\necho {{ n }}")
    requests = {n: server.request("call", call=f"many{n}", tool="echo", arguments={"n": n}) for n in range(200)}

    assert [text(server.rest(request, f"many{n}")) for n, request in requests.items()] == [f"{n}\n" for n in range(200)]


HOSTILE: list[object] = [
    None, [], "text", 7, {}, {"v": 1}, {"v": "1", "op": "tools"}, {"v": True, "op": "tools"}, {"v": 2, "op": "tools"},
    {"v": 1, "op": ["tools"]}, {"v": 1, "op": "exec"}, {"v": 1, "op": "report"}, {"v": 1, "op": "report", "tool": {}},
    {"v": 1, "op": "report", "tool": "x" * 5000}, {"v": 1, "op": "report", "tool": "greet", "all": 1},
    {"v": 1, "op": "call", "tool": "greet"}, {"v": 1, "op": "call", "call": "x" * 65, "tool": "greet"},
    {"v": 1, "op": "call", "call": "a/b", "tool": "greet"}, {"v": 1, "op": "call", "call": 5, "tool": "greet"},
    {"v": 1, "op": "call", "call": "h1", "tool": "greet", "arguments": []},
    {"v": 1, "op": "call", "call": "h2", "tool": "greet", "caller": "root"},
    {"v": 1, "op": "call", "call": "h3", "tool": "greet", "caller": {"user": "a", "groups": "admin"}},
    {"v": 1, "op": "call", "call": "h4", "tool": "greet", "caller": {"user": "a", "groups": [["admin"]]}},
    {"v": 1, "op": "call", "call": "h5", "tool": "greet", "caller": {"groups": []}},
    {"v": 1, "op": "call", "call": "h6", "tool": "greet", "caller": {"user": "a\nb"}},
    {"v": 1, "op": "call", "call": "h7", "tool": "greet", "lease": 0.5},
    {"v": 1, "op": "call", "call": "h8", "tool": "greet", "arguments": {"who": {"a": 1}}},
    {"v": 1, "op": "ack", "call": "nobody", "seq": 1}, {"v": 1, "op": "ack", "call": "nobody", "seq": -1},
    {"v": 1, "op": "ack", "call": "nobody", "seq": 10**400}, {"v": 1, "op": "ack", "call": "nobody", "seq": True},
    {"v": 1, "op": "cancel"}, {"v": 1, "op": "cancel", "call": "nobody"}, {"v": 1, "op": "scan"}, {"v": 1, "op": "scan", "clean": "yes"},
]  # fmt: skip


def test_a_hostile_request_is_an_error_and_nothing_else(world: World, server: Asking) -> None:
    world.notebook.run("%%mcc_tool greet --param who\necho hello {{ who | quote }}")
    for content in HOSTILE:
        answer = server.next(server.send(content))
        assert (answer["event"], answer["code"]) == ("error", "argument"), content
        assert len(answer["text"]) < 200
    assert text(server.call("greet", arguments={"who": "Ada"})) == "hello Ada\n"


def test_an_id_is_used_once_and_an_ack_stays_in_the_window(world: World, server: Asking) -> None:
    world.notebook.run("%%mcc_tool wait\necho here; while [ ! -e enough ]; do sleep 0.02; done")
    request = server.request("call", call="once", tool="wait")
    assert [server.next(request)["event"] for _ in range(2)] == ["started", "output"]
    twice = "mcc_request: `call` must be an id that you have not used before"
    assert server.ask("call", call="once", tool="wait")["text"] == twice
    assert server.ask("ack", call="once", seq=2)["text"] == "mcc_request: `seq` must be the number of an output that was sent"
    (world.folder / "enough").touch()
    assert server.rest(request, "once")[-1]["outcome"]["status"] == "ok"
    assert server.ask("call", call="once", tool="wait")["text"] == twice


def test_a_requester_that_goes_away_ends_its_call_even_one_that_says_nothing(world: World, server: Asking) -> None:
    (world.folder / "pid").unlink(missing_ok=True)
    world.notebook.run(SLOW)
    gone = world.client()
    gone.request("call", call="left", tool="slow", lease=1)
    pid = written(world.folder / "pid")
    gone.close()

    assert until(lambda: not alive(pid))


def test_a_lease_is_kept_by_a_word_now_and_then(world: World, server: Asking) -> None:
    world.notebook.run("%%mcc_tool silent\nsleep 3")
    request = server.request("call", call="alive", tool="silent", lease=1.5)
    assert server.next(request)["event"] == "started"
    for _ in range(8):
        server.request("ack", call="alive", seq=0)
        try:
            done = server.next(request, timeout=0.5)
            break
        except Exception:  # noqa: BLE001 - nothing came
            continue
    assert done["outcome"]["status"] == "ok"


def test_scan_finds_what_the_kernel_knows_and_cleans_it(world: World, server: Asking) -> None:
    def notebook(printed: str) -> bytes:
        output = {"output_type": "stream", "name": "stdout", "text": [printed]}
        cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": [], "execution_count": 1, "outputs": [output]}
        return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()

    finding = {"part": "output", "cell": 1, "output": 1, "line": None, "name": "GITHUB_TOKEN", "format": None, "redacted": False}
    found = server.next(server.send({"v": 1, "op": "scan"}, [notebook(f"it is {MARK}\n")]))
    assert found == {"event": "scanned", "findings": [finding], "cleaned": False}
    cleaned = server.next(server.send({"v": 1, "op": "scan", "clean": True}, [notebook(f"it is {MARK}\n")]))
    assert cleaned["buffers"] == [notebook("it is [redacted:GITHUB_TOKEN]\n")]
    assert (cleaned["cleaned"], cleaned["findings"]) == (True, [{**finding, "redacted": True}])
    clean = server.next(server.send({"v": 1, "op": "scan", "clean": True}, [notebook("nothing\n")]))
    assert clean == {"event": "scanned", "findings": [], "cleaned": False}
    for buffers in ([b"\xff"], [b"{}"], [b"{}", b"{}"]):
        assert server.next(server.send({"v": 1, "op": "scan"}, buffers))["event"] == "error"


def test_unloading_ends_the_calls_and_answers_no_more_and_loading_answers_again(world: World, server: Asking) -> None:
    (world.folder / "pid").unlink(missing_ok=True)
    world.notebook.run(SLOW)
    request = server.request("call", call="unloaded", tool="slow")
    pid = written(world.folder / "pid")
    world.notebook.run("%unload_ext mcc_jupyter")
    try:
        assert server.rest(request, "unloaded")[-1]["outcome"]["status"] == "interrupt"
        assert not alive(pid)
        handlers = "'mcc_request' in get_ipython().kernel.control_handlers"
        assert world.notebook.value(handlers) == "False"
    finally:
        world.notebook.run("%load_ext mcc_jupyter")
    world.notebook.run("%reload_ext mcc_jupyter")
    assert world.notebook.value(handlers) == "True"
    assert server.ask("report", tool="slow")["event"] == "report"


def test_nothing_of_a_call_outlives_its_kernel(tmp_path: Path) -> None:
    world = World(tmp_path)
    try:
        world.notebook.run(SLOW)
        world.client().request("call", call="c", tool="slow")
        pid = written(tmp_path / "pid")
        world.manager.shutdown_kernel()
        assert until(lambda: not alive(pid))
    finally:
        world.close()


@pytest.mark.parametrize("thread", ["", "import threading; threading.Thread(target=lambda: None).start()"], ids=["plain", "one that is imported ahead"])
def test_no_caller_is_seen_in_anothers_call_of_a_function_that_stays_imported(world: World, server: Asking, thread: str) -> None:
    name = f"who{len(thread)}"
    (world.folder / f"{name}.py").write_text(f"import json, os\n{thread}\nUSER = json.loads(os.environ['MCC_CTX'])['user']\ndef {name}(context):\n    return [USER, context['user']]\n")
    world.notebook.run(f"%%mcc_tool\nfn: {name}:{name}")
    for user in ("ada", "bob", "ada", "bob", "eve"):
        outcome = server.call(name, caller={"user": user, "groups": []})[-1]["outcome"]
        assert outcome["result"] == [user, user], outcome["mode"]
