"""Commands in real children: the environment they get, how they end, and what is left of them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest

from mcc_jupyter.core import command
from mcc_jupyter.core.errors import ArgumentError
from mcc_jupyter.core.outcome import Outcome
from mcc_jupyter.core.report import State
from mcc_jupyter.runtime.identity import Identity
from mcc_jupyter.runtime.launcher import Stop

from .conftest import World

SECRET = "sk-live-0123456789"
MakeWorld = Callable[..., World]


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    return make_world({"TOKEN": SECRET, "REGION": "eu", "LANG": "C.UTF-8"}, identity=Identity("ana"))


def environment(outcome: Outcome) -> dict[str, str]:
    """What ``env -0`` printed."""
    assert outcome.ok, outcome.failure
    return dict(item.split("=", 1) for item in outcome.value.split("\0") if item)


def env(world: World, **fields: object) -> dict[str, str]:
    """The variables of a real child that no shell stands before; unredacted, so that values can be compared."""
    names = sorted({*world.variables, *"ABCDEFPQRSTUZ", "PW", "URL", "COLOR"})
    world.declare({"name": "env", "exec": ["env", "-0"], "redact": {"never": names}, **fields}, cell="env")
    return environment(world.box.call("env"))


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def appears(path: Path) -> None:
    assert await asyncio.to_thread(wait_for, lambda: path.exists() and path.stat().st_size)


def wait_for(condition: Callable[[], object], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return False


# ---- which variables a child gets


def test_ENV_02_a_tool_without_environment_fields_gets_the_floor_and_the_session_and_nothing_else(world: World) -> None:
    assert env(world) == {
        "PATH": "/usr/bin:/bin",
        "HOME": str(world.folder),
        "LANG": "C.UTF-8",
        "MCC_CTX_USER": "ana",
        "MCC_CTX_GROUPS": '["admin"]',
        "MCC_CTX_TOOLS": "[]",
    }


def test_ENV_16_an_own_environment_does_not_drop_the_floor(world: World) -> None:
    found = env(world, env={"A": "1"})
    assert (found["A"], found["PATH"], found["HOME"]) == ("1", "/usr/bin:/bin", str(world.folder))


def test_ENV_04_a_floor_for_the_deployment_is_the_floor_of_every_child(make_world: MakeWorld) -> None:
    world = make_world({"FOO": "1", "BAR": "2"}, floor=("PATH", "FOO"))
    assert [name for name in env(world) if not name.startswith("MCC_CTX_")] == ["PATH", "FOO"]


def test_ENV_01_each_layer_stands_over_the_one_before(make_world: MakeWorld) -> None:
    world = make_world({"A": "k"})
    (world.folder / "a.env").write_text("A=f\n")
    layers = {"env_passthrough": ["A"], "env_file": "a.env", "env": {"A": "e"}}
    seen = []
    for left_out in ("", "env", "env_file", "env_passthrough"):
        layers.pop(left_out, None)
        seen.append(env(world, **layers).get("A"))
    assert seen == ["e", "f", "k", None]


def test_ENV_12_an_optional_name_that_is_unset_is_absent_and_not_empty(world: World) -> None:
    assert "TEAM" not in env(world, optional_env=["TEAM"])
    world.variables["TEAM"] = "x"
    assert env(world, optional_env={"MINE": "TEAM"})["MINE"] == "x"


def test_ENV_05_a_tool_cannot_spoof_an_identity_that_the_session_lacks(make_world: MakeWorld) -> None:
    world = make_world({"MCC_CTX_ROLE": "admin", "MCC_CTX": "{}"}, identity=Identity("ana"))
    (world.folder / "a.env").write_text("MCC_CTX_ROLE=admin\nMCC_CTX_USER=root\n")
    found = env(world, env={"MCC_CTX_ROLE": "admin"}, env_file="a.env", env_passthrough=True)
    assert {name: value for name, value in found.items() if name.startswith("MCC")} == {
        "MCC_CTX_USER": "ana",
        "MCC_CTX_GROUPS": '["admin"]',
        "MCC_CTX_TOOLS": "[]",
    }
    refused = [row.name for row in world.box.report("env").rows if row.state is State.REFUSED]
    assert sorted(refused) == ["MCC_CTX", "MCC_CTX_ROLE", "MCC_CTX_USER"]


def test_ENV_08_session_values_reach_an_exec_tool_raw_or_as_json(world: World) -> None:
    world.box.session.update(t=True, n=None, i=5, f=1.5, s="a\nb", l=[1], d={"k": "é"}, big=2**70)
    found = env(world)
    assert {name: found[f"MCC_CTX_{name.upper()}"] for name in ("t", "n", "i", "f", "s", "l", "d", "big")} == {
        "t": "true",
        "n": "null",
        "i": "5",
        "f": "1.5",
        "s": "a\nb",
        "l": "[1]",
        "d": '{"k": "é"}',
        "big": "1180591620717411303424",
    }


DOTENV = [
    pytest.param("PW=ab#cd\nURL=http://h.test/p#frag\nCOLOR=#FF00AA\n", {"PW": "ab#cd", "URL": "http://h.test/p#frag", "COLOR": "#FF00AA"}, id="DOT-01"),
    pytest.param('A="a\\nb"\nB=\'a\\nb\'\nC=a\\nb\nD="t\\tq\\"q"\nE=\'it\\\'s\'\nF="\\\\n"\n', {"A": "a\nb", "B": "a\\nb", "C": "a\\nb", "D": 't\tq"q', "E": "it's", "F": "\\n"}, id="DOT-11"),
    pytest.param("P=pa$$word\nQ=$HOME/x\nR='$HOME'\nS=$q7&*w#1)z$k\n", {"P": "pa$$word", "Q": "$HOME/x", "R": "$HOME", "S": "$q7&*w#1)z$k"}, id="DOT-17"),
    pytest.param("T=${PARENT_SECRET}\nU=${PATH}/x\n", {"T": "", "U": "/usr/bin:/bin/x"}, id="DOT-21"),
    pytest.param("A=$(id -u)\nB=`id -u`\n", {"A": "$(id -u)", "B": "`id -u`"}, id="DOT-23"),
]


@pytest.mark.parametrize(("text", "values"), DOTENV)
def test_an_env_file_reaches_a_real_child_exactly(text: str, values: dict[str, str], make_world: MakeWorld) -> None:
    world = make_world({"PARENT_SECRET": SECRET})
    (world.folder / "a.env").write_text(text)
    found = env(world, env_file="a.env")
    assert {name: found[name] for name in values} == values
    assert SECRET not in found.values()


def test_ENV_19_fifty_calls_at_once_each_see_their_own_environment_and_nobody_changes_ours(world: World) -> None:
    before = dict(os.environ)
    for number in range(10):
        world.declare({"name": f"t{number}", "exec": "echo $X", "env": {"X": f"value {number}"}})
    with ThreadPoolExecutor(16) as threads:
        outcomes = list(threads.map(lambda number: world.box.call(f"t{number % 10}"), range(50)))
    assert [outcome.value for outcome in outcomes] == [f"value {number % 10}\n" for number in range(50)]
    assert dict(os.environ) == before


# ---- probes: the names of real children are those of the report


PROBED = [
    pytest.param({"exec": "true", "env_passthrough": ["TOK*"], "env": {"A": "1"}}, id="exec"),
    pytest.param({"exec": ["true"], "optional_env": ["TOKEN", "NOPE"]}, id="exec, a list"),
    pytest.param({"curl": "-H 'X: ${TOKEN}' https://h.test/"}, id="curl"),
    pytest.param({"fn": "m:f", "env_passthrough": ["TOKEN"]}, id="fn"),
    pytest.param({"fn": "m:f", "env": {"PYTHONPATH": "/x", "PYTHONOPTIMIZE": "1"}}, id="fn with PYTHON names"),
    pytest.param({"exec": "true", "env_passthrough": True}, id="everything"),
]


@pytest.mark.parametrize("session", [{}, {"blob": "x" * 200_000}], ids=["a small session", "a large one"])
@pytest.mark.parametrize("document", PROBED)
def test_a_probe_of_a_real_child_finds_the_names_of_the_report(document: dict[str, object], session: dict[str, object], world: World) -> None:
    world.module("m", "def f(): ...\n")
    world.declare({"name": "t", **document})
    world.box.session.update(session)
    probe = world.box.probe("t")
    reported = {row.variable for row in world.box.report("t").rows if row.state is State.SET}
    assert probe.ok, str(probe)
    assert set(probe.received) == reported
    assert str(probe) == f"t: the child received exactly the {len(reported)} names of the report"


def test_without_a_locale_python_adds_no_name_of_its_own(make_world: MakeWorld) -> None:
    world = make_world()
    world.module("m", "import os\ndef f(): return sorted(os.environ)\n")
    world.declare("fn: m:f")
    assert world.box.call("f").value == ["HOME", "MCC_CTX", "PATH", "PYTHONPATH"] == list(world.box.probe("f").received)


def test_a_planted_name_makes_a_probe_fail(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    real = command.probe

    def planted(*args: object, **more: object) -> command.Plan:
        plan = real(*args, **more)  # type: ignore[arg-type]
        environ = {**plan.request.environ, "PLANTED": "1"}
        return replace(plan, request=replace(plan.request, environ=environ))

    monkeypatch.setattr(command, "probe", planted)
    world.declare({"name": "t", "exec": "true"})
    probe = world.box.probe("t")
    assert (probe.ok, str(probe)) == (False, "t: received but not reported: PLANTED")


@pytest.mark.parametrize("shell", ["sh", "argv"])
def test_the_names_inside_a_real_command_are_those_of_the_report(shell: str, world: World) -> None:
    script = "exec env -0" if shell == "sh" else ["env", "-0"]
    world.declare({"name": "t", "exec": script, "env_passthrough": ["TOKEN"], "env": {"A": "1"}})
    reported = {row.variable for row in world.box.report("t").rows if row.state is State.SET}
    received = set(environment(world.box.call("t")))
    assert received - {"PWD", "OLDPWD", "SHLVL", "_"} == reported


# ---- references


def test_SUB_17_a_value_with_a_template_in_it_is_printed_as_it_is(make_world: MakeWorld) -> None:
    world = make_world({"T": "{{ 7*7 }}"})
    world.declare({"name": "t", "exec": "echo ${T} {{ 1 + 1 }}", "redact": {"never": ["T"]}})
    assert world.box.call("t").value == "{{ 7*7 }} 2\n"


def test_SUB_18_a_value_with_shell_syntax_in_it_is_no_command(make_world: MakeWorld) -> None:
    world = make_world({"LOG_DIR": "/v; echo PWN #"})
    world.declare({"name": "t", "exec": "cat x >> ${LOG_DIR}/o"})
    outcome = world.box.call("t")
    assert not outcome.ok
    assert outcome.stdout == ""
    assert "PWN" not in outcome.stdout.splitlines()


def test_SUB_20_a_dotenv_in_the_folder_is_no_source(make_world: MakeWorld) -> None:
    world = make_world({"API_KEY": "real", "ENV_FILE": "other.env"})
    for name in (".env", "other.env"):
        (world.folder / name).write_text("API_KEY=shadow\n")
    assert env(world, env={"V": "${API_KEY}"}, redact={"never": ["V", "API_KEY"]})["V"] == "real"


def test_SUB_23_a_reference_is_read_when_it_is_declared_and_a_passthrough_when_it_is_called(make_world: MakeWorld) -> None:
    world = make_world({"X": "old"})
    world.declare({"name": "t", "exec": "echo $V $X", "env": {"V": "${X}"}, "env_passthrough": ["X"]})
    world.variables["X"] = "new"
    outcome = world.box.call("t")
    assert outcome.value == "old new\n"
    assert "declared earlier: X has another value by now; declare the tool again to use it" in outcome.notes


def test_SUB_13_a_loop_variable_that_the_parent_has_is_the_loops_own(make_world: MakeWorld) -> None:
    world = make_world({"i": "LOOPVAR"})
    world.declare({"name": "t", "exec": "for i in 1 2; do echo $i; done"})
    assert world.box.call("t").value == "1\n2\n"


# ---- no value in an argv


def cmdlines() -> list[list[str]]:
    """The command line of every process below this one."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            found.append(process.cmdline())
        except psutil.Error:  # it has just ended
            continue
    return found


class Slow(BaseHTTPRequestHandler):
    """Answers when it may."""

    may_answer = threading.Event()
    asked = threading.Event()
    headers_seen: list[str] = []  # noqa: RUF012 - one server at a time

    def do_GET(self) -> None:
        self.headers_seen.append(self.headers["X-Key"])
        self.asked.set()
        self.may_answer.wait(20)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"key was {self.headers['X-Key']}".encode())

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def slow_server() -> Iterator[str]:
    Slow.may_answer.clear()
    Slow.asked.clear()
    Slow.headers_seen.clear()
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}/"
    Slow.may_answer.set()
    httpd.shutdown()
    thread.join()
    httpd.server_close()


@pytest.mark.parametrize("kind", ["exec", "fn", "curl"])
def test_no_value_is_in_the_argv_of_any_process_that_was_started(kind: str, world: World, slow_server: str) -> None:
    (world.folder / "m.py").write_text("import os, time\ndef f(token, arg):\n    open('ready', 'w').close()\n    while os.path.exists('ready'): time.sleep(0.01)\n    return token\n")
    waiting = "touch ready; while test -e ready; do sleep 0.02; done; echo $TOKEN {{ arg | quote }}"
    body = {
        "exec": {"exec": waiting, "params": [{"name": "arg"}]},
        "fn": {"fn": "m:f", "params": [{"name": "token", "override": "${TOKEN}"}]},
        "curl": {"curl": f"-H 'X-Key: ${{TOKEN}}' '{slow_server}{{{{ arg | urlencode }}}}'", "params": [{"name": "arg"}]},
    }[kind]
    world.declare({"name": "t", "env_passthrough": ["TOKEN"], "env": {"B": "${TOKEN}"}, **body})
    world.box.session["k"] = "session-value"
    ready = world.folder / "ready"
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(world.box.call, "t", {"arg": "argument-value"})
        try:
            assert Slow.asked.wait(20) if kind == "curl" else wait_for(ready.exists), call
            seen = cmdlines()
        finally:
            Slow.may_answer.set()
            ready.unlink(missing_ok=True)
        outcome = call.result(20)
    assert outcome.ok, outcome.failure
    flat = "\0".join(word for words in seen for word in words)
    program = {"exec": "/bin/sh", "fn": "run_fn.py", "curl": "curl"}[kind]
    assert program in flat, "the tool itself was among them"
    assert "launch.py" in flat, "and the launcher"
    for value in (SECRET, "session-value", "argument-value"):
        assert value not in flat
    assert SECRET not in str(outcome.value)
    if kind == "curl":
        assert Slow.headers_seen == [SECRET]
        assert outcome.value == "key was [redacted:TOKEN]"


def test_the_launcher_has_the_floor_and_nothing_else(world: World) -> None:
    world.declare({"name": "t", "exec": "true", "env_passthrough": ["TOKEN"]})
    assert world.box.call("t").ok
    (launcher,) = psutil.Process().children()
    assert launcher.environ() == {"PATH": "/usr/bin:/bin", "HOME": str(world.folder), "LANG": "C.UTF-8"}


# ---- 6.5: a session too large for variables


def test_ENV_09_a_large_session_entry_stands_in_a_private_file_for_the_call_and_stops_no_tool(world: World) -> None:
    world.box.session.update(blob="x" * 200_000, rows=3)
    script = 'echo $MCC_CTX_ROWS ${MCC_CTX_BLOB-unset} $(wc -c < "$MCC_SESSION_FILE") $(stat -c %a "$MCC_SESSION_FILE"); echo "$MCC_SESSION_FILE"'
    world.declare({"name": "t", "exec": script})
    outcome = world.box.call("t")
    assert outcome.ok, outcome.stderr
    first, path = outcome.value.splitlines()
    assert first.split() == ["3", "unset", str(len(f'{{"user": "ana", "groups": ["admin"], "tools": [], "blob": "{"x" * 200_000}", "rows": 3}}')), "600"]
    assert not os.path.exists(path)
    notes = world.box.report("t").notes
    assert notes == ("too large for an environment variable, or not fit to be one; in MCC_SESSION_FILE instead: MCC_CTX_BLOB",)


# ---- transform, stdin


def test_a_transform_runs_with_the_same_environment_folder_and_session(world: World) -> None:
    (world.folder / "sub").mkdir()
    world.box.session["k"] = "v"
    world.declare({"name": "t", "exec": "printf 'b\\na\\n'", "transform": ["sort", "cat - ; pwd; echo $A $MCC_CTX_K"], "env": {"A": "1"}, "cwd": "sub"})
    outcome = world.box.call("t")
    assert (outcome.value, outcome.stdout) == (f"a\nb\n{world.folder}/sub\n1 v\n",) * 2


def test_a_transform_is_skipped_on_failure_and_ends_with_the_calls_deadline(world: World) -> None:
    world.declare({"name": "bad", "exec": "echo partial; exit 3", "transform": "touch transformed"})
    outcome = world.box.call("bad")
    assert (outcome.failure, outcome.stdout) == ("failed with exit code 3", "partial\n")
    assert not (world.folder / "transformed").exists()
    world.declare({"name": "slow", "exec": "echo a", "transform": "cat; sleep 31", "limits": {"timeout": 0.6}})
    outcome = world.box.call("slow")
    assert outcome.failure == "failed in transform: it was stopped at its time limit, 0.6 s (limits.timeout)"
    assert (outcome.stopped, outcome.stdout) == ("timeout", "a\n")
    assert outcome.seconds < 25


def test_stdin_is_the_arguments_as_json_or_nothing_at_all(world: World) -> None:
    params = [{"name": "x"}, {"name": "n", "type": "int", "default": 2}]
    world.declare({"name": "t", "exec": "cat", "stdin": True, "params": params})
    assert world.box.call("t", {"x": "é\n"}).json() == {"x": "é\n", "n": 2}
    world.declare({"name": "none", "exec": "cat; readlink /proc/self/fd/0"})
    assert world.box.call("none").value == "/dev/null\n"


# ---- how a call ends


def test_a_failure_that_names_a_variable_says_what_to_add(world: World) -> None:
    world.declare({"name": "t", "exec": "echo 'error: TOKEN is not set' >&2; exit 2"})
    outcome = world.box.call("t")
    assert outcome.failure == "failed with exit code 2"
    assert outcome.notes == ("mentions TOKEN, which exists here and is not granted; to grant it add `optional_env: [TOKEN]`",)
    world.declare({"name": "u", "exec": "no-such-program-here"})
    assert world.box.call("u").notes == ("not found on this tool's PATH: no-such-program-here",)


def test_PROC_01_a_background_process_does_not_outlive_its_call(world: World) -> None:
    world.declare({"name": "t", "exec": "sleep 30 & echo $!; echo hi"})
    outcome = world.box.call("t")
    pid, hi = outcome.value.split()
    assert (outcome.ok, hi) == (True, "hi")
    assert gone(int(pid))
    assert outcome.seconds < 20
    assert len(outcome.notes) == 1, "that it was ended is said"


def test_PROC_29_a_time_limit_ends_the_call_and_keeps_what_was_printed(world: World) -> None:
    world.declare({"name": "t", "exec": "echo $$; sleep 31", "limits": {"timeout": 1}})
    outcome = world.box.call("t")
    assert (outcome.ok, outcome.stopped, outcome.failure) == (False, "timeout", "was stopped at its time limit, 1 s (limits.timeout)")
    assert gone(int(outcome.stdout))
    assert 0.9 < outcome.seconds < 25
    assert world.box.call("t", timeout=0.3).seconds < 25


def test_another_thread_can_end_a_call(world: World) -> None:
    world.declare({"name": "t", "exec": "touch started; sleep 31"})
    stop = Stop()

    def end() -> None:
        assert wait_for((world.folder / "started").exists)
        stop.interrupt()

    thread = threading.Thread(target=end)
    thread.start()
    outcome = world.box.call("t", stop=stop)
    thread.join()
    assert (outcome.ok, outcome.stopped, outcome.failure) == (False, "interrupt", "was interrupted")


def test_output_is_shown_while_the_tool_runs(world: World) -> None:
    world.declare({"name": "t", "exec": "echo 1; while ! test -e seen; do sleep 0.02; done; echo 2"})

    def show(stream: str, text: str) -> None:
        shown.append((stream, text))
        (world.folder / "seen").touch()

    shown: list[tuple[str, str]] = []
    assert world.box.call("t", show=show, timeout=20).ok
    assert shown == [("stdout", "1\n"), ("stdout", "2\n")]


def test_LEAK_14_a_secret_in_two_pieces_with_a_pause_between_them_is_one_mark(world: World) -> None:
    world.declare({"name": "t", "exec": "printf %s ${TOKEN%6789}; sleep 0.2; printf %s ${TOKEN#sk-live-012345}; printf .", "env_passthrough": ["TOKEN"]})
    shown: list[str] = []
    outcome = world.box.call("t", show=lambda _, text: shown.append(text))
    assert outcome.value == "".join(shown) == "[redacted:TOKEN]."
    assert outcome.redactions == {"TOKEN": 1}


# ---- map


def test_map_gives_outcomes_in_order_and_counts_those_that_have_ended(world: World) -> None:
    world.declare({"name": "t", "exec": "sleep {{ s }}; echo {{ n }}; exit {{ n % 2 }}", "params": [{"name": "n", "type": "int"}, {"name": "s", "type": "float"}]})
    counted: list[int] = []
    items = [{"n": n, "s": (5 - n) / 50} for n in range(6)]
    outcomes = world.box.map("t", items, workers=3, progress=counted.append)
    assert [(outcome.stdout, outcome.ok) for outcome in outcomes] == [(f"{n}\n", n % 2 == 0) for n in range(6)]
    assert counted == [1, 2, 3, 4, 5, 6]
    assert world.box.map("t", []) == []


def test_map_checks_all_arguments_before_the_first_call(world: World) -> None:
    world.declare({"name": "t", "exec": "touch ran", "params": [{"name": "n", "type": "int"}]})
    with pytest.raises(ArgumentError) as caught:
        world.box.map("t", [{"n": 1}, {"n": "x"}])
    assert str(caught.value) == "arguments[1]: Tool 't': argument `n` must be an integer"
    assert not (world.folder / "ran").exists()


def test_an_interrupt_of_map_stops_every_running_call_and_starts_no_other(world: World) -> None:
    world.declare({"name": "t", "exec": "echo $$ > pid{{ n }}; sleep 31", "params": [{"name": "n", "type": "int"}]})
    pids = [world.folder / f"pid{n}" for n in range(5)]
    main = threading.main_thread().ident
    assert main is not None

    def interrupt() -> None:
        assert wait_for(lambda: all(path.exists() and path.read_text() for path in pids[:2]))
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    outcomes = world.box.map("t", [{"n": n} for n in range(5)], workers=2)
    thread.join()
    assert all(gone(int(path.read_text())) for path in pids[:2])
    assert not any(path.exists() for path in pids[2:])
    assert [outcome.failure for outcome in outcomes] == ["was interrupted"] * 2 + ["did not start: was interrupted"] * 3
    assert {outcome.stopped for outcome in outcomes} == {"interrupt"}


def test_an_interrupt_of_map_returns_what_was_done_before_it(world: World) -> None:
    script = "test {{ n }} = 0 && echo done && exit; touch begun; sleep 31"
    world.declare({"name": "t", "exec": script, "params": [{"name": "n", "type": "int"}]})
    main = threading.main_thread().ident
    assert main is not None

    def interrupt() -> None:
        assert wait_for((world.folder / "begun").exists)
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    first, second = world.box.map("t", [{"n": 0}, {"n": 1}], workers=1)
    thread.join()
    assert (first.ok, first.value) == (True, "done\n")
    assert (second.ok, second.failure) == (False, "was interrupted")


def test_a_second_interrupt_of_map_kills_what_takes_no_hint(world: World) -> None:
    script = "trap 'touch told{{ n }}' INT; trap 'touch asked' TERM; echo $$ > pid{{ n }}; while :; do sleep 0.02; done"
    world.declare({"name": "t", "exec": script, "params": [{"name": "n", "type": "int"}]})
    pids = [world.folder / f"pid{n}" for n in range(2)]
    main = threading.main_thread().ident
    assert main is not None

    def interrupt() -> None:
        assert wait_for(lambda: all(path.exists() and path.read_text() for path in pids))
        signal.pthread_kill(main, signal.SIGINT)
        assert wait_for(lambda: all((world.folder / f"told{n}").exists() for n in range(2)))
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    outcomes = world.box.map("t", [{"n": n} for n in range(4)], workers=2)
    thread.join()
    assert [outcome.ok for outcome in outcomes] == [False] * 4
    assert all(gone(int(path.read_text())) for path in pids)
    assert not (world.folder / "asked").exists()  # as it would have been after a second


def test_a_call_of_map_that_cannot_start_any_more_is_a_failed_outcome_and_stops_no_other(world: World) -> None:
    (world.folder / "a.env").write_text("A=1\n")
    world.declare({"name": "t", "exec": "rm -f a.env; sleep {{ n }}", "env_file": "a.env", "params": [{"name": "n", "type": "int"}]})

    first, second = world.box.map("t", [{"n": 0}, {"n": 0}], workers=1)

    assert first.ok
    assert not second.ok
    assert second.failure == "did not start: Tool 't' is unavailable; env_file not found: a.env"


# ---- await, threads, close


def test_await_gives_the_outcome_and_leaves_the_loop_free(world: World) -> None:
    world.declare({"name": "t", "exec": "while ! test -e go{{ n }}; do sleep 0.02; done; echo {{ n }}", "params": [{"name": "n", "type": "int"}]})

    async def main() -> list[Outcome]:
        calls = [asyncio.create_task(world.box.acall("t", {"n": n}, timeout=20)) for n in range(3)]
        for n in (2, 1, 0):
            await asyncio.sleep(0.01)
            (world.folder / f"go{n}").touch()
        return await asyncio.gather(*calls)

    assert [outcome.value for outcome in asyncio.run(main())] == ["0\n", "1\n", "2\n"]


def test_cancelling_ends_the_tool_before_the_cancellation_goes_on(world: World) -> None:
    world.declare({"name": "t", "exec": "trap '' INT TERM; echo $$ > pid; sleep 31"})
    pid = world.folder / "pid"

    async def main() -> bool:
        call = asyncio.create_task(world.box.acall("t"))
        await appears(pid)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return gone(int(pid.read_text()))

    assert asyncio.run(main())


def test_cancelling_what_waits_for_its_turn_starts_nothing(world: World) -> None:
    world.declare({"name": "t", "exec": "echo > ran{{ n }}; sleep 31", "params": [{"name": "n", "type": "int"}]})

    async def main() -> None:
        box = world.box
        first = asyncio.create_task(box.acall("t", {"n": 0}))
        await appears(world.folder / "ran0")
        assert box._workers._threads is not None
        box._workers._threads._max_workers = 1
        second = asyncio.create_task(box.acall("t", {"n": 1}))
        await asyncio.sleep(0.05)
        for call in (second, first):
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call

    asyncio.run(main())
    assert not (world.folder / "ran1").exists()


def test_a_call_works_from_a_thread_that_ends_before_another_one_calls(world: World) -> None:
    world.declare({"name": "t", "exec": "echo hi"})
    for _ in range(2):
        with ThreadPoolExecutor(1) as threads:
            assert threads.submit(world.box.call, "t").result().value == "hi\n"


def test_closing_ends_what_runs_and_a_later_call_starts_anew(world: World) -> None:
    world.declare({"name": "t", "exec": "echo $$ > pid; sleep 31"})
    world.declare({"name": "u", "exec": "echo hi"})
    pid = world.folder / "pid"
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(world.box.call, "t")
        assert wait_for(lambda: pid.exists() and pid.read_text())
        world.box.close()
        outcome = call.result(20)
    assert not outcome.ok
    assert gone(int(pid.read_text()))
    assert world.box.call("u").value == "hi\n"


def test_a_toolbox_of_a_script_leaves_nothing_when_the_script_ends(tmp_path: Path) -> None:
    script = (
        "from mcc_jupyter.runtime.toolbox import Toolbox\n"
        "from mcc_jupyter.core.tool import Origin\n"
        "box = Toolbox(lambda: {'PATH': '/usr/bin:/bin'})\n"
        "box.add({'name': 't', 'exec': 'echo $PPID; sleep 60 & echo $!'}, Origin('python', 'script'))\n"
        "print(box.call('t').stdout)\n"
    )
    repository = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", script], cwd=repository, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert all(wait_for(lambda pid=pid: gone(pid)) for pid in map(int, done.stdout.split()))  # type: ignore[misc]
