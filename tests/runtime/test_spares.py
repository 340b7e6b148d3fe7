"""One interpreter ahead where a fork would not be the same as a new process (SPEC 7.3)."""

from __future__ import annotations

import contextlib
import marshal
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from mcc_jupyter.core.command import Request
from mcc_jupyter.runtime import spares, warm
from mcc_jupyter.runtime.launcher import Stop

from .conftest import World
from .test_warm import IMPORTS, Functions, alive, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

OPENS = "import os\nFILE = open(os.devnull)\n"
OPENED = "its import opens files or sockets"


@pytest.fixture
def functions(make_world: Callable[..., World]) -> Functions:
    return Functions(make_world({"TOKEN": "a-value-of-the-parent"}))


def known(functions: Functions) -> list[spares.Spare]:
    kept = functions.box._kept
    assert kept is not None
    return list(kept._spares._known.values())


def waiting(functions: Functions) -> bool:
    """Whether a spare has done its import."""
    return until(lambda: any(spare.ready() for spare in known(functions)))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        pytest.param("import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()", "its import starts threads", id="threads"),
        pytest.param("import os\nFILE = open(os.devnull)", OPENED, id="a file"),
        pytest.param("import socket\nS = socket.socket()", OPENED, id="a socket"),
        pytest.param("import subprocess\nP = subprocess.Popen(['sleep', '60'])", "its import leaves a process running", id="a process"),
        pytest.param("import random\nR = random.Random()", "a module holds a random generator, which would repeat itself", id="a generator"),
        pytest.param("import random\nR = {'a': random.Random()}", "a module holds a random generator, which would repeat itself", id="a generator in a mapping"),
        pytest.param("import random\nclass A: pass\nB = A()\nB.r = random.Random()", "a module holds a random generator, which would repeat itself", id="a generator in an object"),
        pytest.param("import numpy\nG = numpy.random.default_rng()", "a module holds a random generator, which would repeat itself", id="a numpy generator"),
    ],
)
def test_what_a_fork_would_share_is_one_calls_own_in_a_spare(functions: Functions, source: str, reason: str) -> None:
    functions.declare("import os\n" + source + "\ndef run():\n    return os.getpid()\n")
    first = functions.call()
    assert waiting(functions)
    second = functions.call()
    assert waiting(functions)
    third = functions.call()

    assert [(one.mode, one.mode_reason) for one in (first, second, third)] == [("cold", reason), ("spare", reason), ("spare", reason)]
    assert len({one.value for one in (first, second, third)}) == 3


def test_a_call_in_a_spare_is_the_same_as_a_cold_one(functions: Functions) -> None:
    source = (
        OPENS + "import ctypes, sys\nC = ctypes.CDLL(None); C.getenv.restype = ctypes.c_char_p\n"
        "def run(context):\n    print('out'); print('err', file=sys.stderr)\n    context['n'] = 1\n"
        "    return [dict(os.environ), C.getenv(b'MCC_CTX').decode(), os.getcwd(), os.umask(0), sorted(os.listdir('/proc/self/fd')), sys.path]\n"
    )
    found = []
    for fresh in (False, True):
        functions.declare(source, env_passthrough=["TOKEN"], fresh=fresh)
        functions.call()
        functions.box.session["note"] = "of the call"
        functions.box.session.pop("n")
        assert fresh or waiting(functions)
        outcome = functions.call()
        assert outcome.mode == ("cold" if fresh else "spare")
        assert functions.box.session["n"] == 1
        found.append((outcome.value, outcome.stdout, outcome.stderr, outcome.exit_code, outcome.redactions))

    assert found[0] == found[1]
    assert found[0][1:3] == ("out\n", "err\n")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import os\nX = os.environ.get('MCC_CTX')", "its import looks for MCC_CTX, or at all variables"),
        ("print('loading')", "its import prints"),
        ("import os\nos.chdir('/')", "its import changes its folder or its umask"),
    ],
)
def test_what_a_call_would_change_in_its_import_has_no_spare(functions: Functions, source: str, reason: str) -> None:
    functions.declare(OPENS + source + "\ndef run():\n    return 1\n")
    outcomes = [functions.call(), functions.call()]

    assert {one.mode for one in outcomes} == {"cold"}
    assert known(functions) == []
    assert reason in {outcomes[0].mode_reason, OPENED, reason}


def test_fresh_has_no_spare(functions: Functions) -> None:
    functions.declare(OPENS + "def run():\n    return 1\n", fresh=True)

    assert (functions.call().mode_reason, known(functions)) == ("fresh: true", [])


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        ("raise ValueError('no')", "failed: ValueError: no"),
        ("import os; os._exit(4)", "ended without a result (with exit code 4)"),
        ("import os; os.kill(os.getpid(), 11)", "ended without a result (was killed by signal 11 (SIGSEGV))"),
    ],
)
def test_a_failure_in_a_spare_is_the_same_as_a_cold_one(functions: Functions, body: str, failure: str) -> None:
    functions.declare(OPENS + f"def run():\n    {body}\n")
    first = functions.call()
    assert waiting(functions)
    second = functions.call()

    assert (first.failure, second.failure, second.mode) == (failure, failure, "spare")
    assert first.traceback == second.traceback


def test_a_changed_source_or_environment_retires_a_spare(functions: Functions) -> None:
    functions.world.module("helper", "VALUE = 1\n")
    functions.declare(OPENS + "import helper\nTOKEN = os.environ['TOKEN']\ndef run():\n    return [helper.VALUE, TOKEN == 'another-value-of-it']\n", env_passthrough=["TOKEN"])
    functions.call()
    assert waiting(functions)
    functions.world.module("helper", "VALUE = 'two'\n")
    assert (functions.call().value, functions.call().value) == (["two", False], ["two", False])
    assert waiting(functions)
    functions.world.variables["TOKEN"] = "another-value-of-it"
    outcome = functions.call()

    assert (outcome.value, outcome.mode) == (["two", True], "cold")


def test_time_limits_and_stops_reach_a_spare(functions: Functions) -> None:
    functions.declare(OPENS + "import time\ndef run(wait: float):\n    print('on', flush=True)\n    time.sleep(wait)\n", limits={"timeout": 0.6})
    functions.call(wait=0)
    assert waiting(functions)
    time.sleep(0.7)  # the limit is the call's, not the spare's
    outcome = functions.call(wait=0)
    assert (outcome.ok, outcome.mode) == (True, "spare")
    assert waiting(functions)
    outcome = functions.call(wait=30)
    assert (outcome.mode, outcome.stopped, outcome.stdout, outcome.notes) == ("spare", "timeout", "on\n", ())
    assert waiting(functions)

    stop = Stop()
    outcome = functions.box.call("t", {"wait": 30}, timeout=30, stop=stop, show=lambda *_: stop.kill())
    assert (outcome.mode, outcome.stopped) == ("spare", "interrupt")


def test_many_at_once_keep_one_spare_at_most(functions: Functions) -> None:
    functions.declare(OPENS + "import time\ndef run(n: int):\n    time.sleep(0.05)\n    return n\n")
    functions.call(n=0)
    assert waiting(functions)
    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(lambda number: functions.call(n=number), range(8)))

    assert [one.value for one in outcomes] == list(range(8))
    assert {one.mode for one in outcomes} <= {"spare", "cold"}
    assert len(known(functions)) <= 1


def test_no_spare_is_started_while_another_call_of_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    known = spares.Spares(Nowhere(OSError()), idle=60, memory_kib=1, most=8)  # type: ignore[arg-type]
    monkeypatch.setattr(known, "_start", lambda key, _: started.append(key))
    with known.around("a", REQUEST):
        with known.around("a", REQUEST), known.around("b", REQUEST):
            pass
        assert started == ["b"]
    assert started == ["b", "a"]


def test_only_so_many_spares_wait(functions: Functions, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = functions.box._functions()
    assert kept is not None
    kept._spares._most = 1
    for name in "ab":
        functions.world.module(f"mod_{name}", OPENS + "def run():\n    return 1\n")
        functions.world.declare({"name": name, "fn": f"mod_{name}:run"})
        functions.call(name)

    assert len(known(functions)) == 1
    assert waiting(functions)
    assert functions.call("b").mode == "spare"


def pid_of(spare: spares.Spare) -> int:
    """The process that waits at the other end."""
    inode = os.readlink(f"/proc/self/fd/{spare.sinks and next(iter(spare.sinks))}")
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                if any(os.readlink(f"/proc/{name}/fd/{fd}") == inode for fd in (1,)):
                    return int(name)
            except OSError:
                continue
    return 0


def test_a_spare_that_was_killed_is_not_called(functions: Functions) -> None:
    functions.declare(OPENS + IMPORTS + "def run():\n    return 1\n")
    functions.call()
    assert waiting(functions)
    (spare,) = known(functions)
    pid = pid_of(spare)
    assert pid
    os.kill(pid, signal.SIGKILL)
    assert until(lambda: not alive(pid))
    outcome = functions.call()
    assert (outcome.ok, outcome.value) == (True, 1)


def test_a_spare_that_ends_while_it_imports_is_forgotten(functions: Functions) -> None:
    functions.declare(OPENS + "if os.path.exists('seen'): os._exit(7)\ndef run(mark: bool = False):\n    if mark: open('seen', 'w').close()\n    return 1\n")
    assert functions.call(mark=True).mode == "cold"
    assert waiting(functions)
    outcome = functions.call()

    assert (outcome.failure, outcome.mode) == ("ended without a result (with exit code 7)", "cold")


def test_a_spare_ends_by_itself_when_nobody_calls(functions: Functions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spares, "MARGIN", 0.1)
    functions.declare(OPENS + "def run():\n    return 1\n")
    functions.forget()
    functions.box._kept = warm.Functions(functions.box.launcher, idle=1.0)
    functions.call()
    assert waiting(functions)
    (spare,) = known(functions)
    pid = pid_of(spare)
    assert pid
    assert until(lambda: not alive(pid))
    outcome = functions.call()

    assert (outcome.ok, outcome.mode) == (True, "cold")


def test_a_spare_that_is_too_large_is_not_started_again(functions: Functions) -> None:
    functions.declare(OPENS + "def run():\n    return 1\n")
    kept = functions.box._kept
    assert kept is not None
    kept._spares._memory = 1
    functions.call()
    assert waiting(functions)

    assert [functions.call().mode, functions.call().mode] == ["cold", "cold"]
    assert known(functions) == []


def test_where_nothing_may_be_forked_a_spare_is_all_there_is(functions: Functions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm.sys, "platform", "darwin")
    functions.declare("import os\nif os.path.exists('look'): os.environ.get('MCC_CTX')\ndef run():\n    return 1\n")
    first = functions.call()
    assert waiting(functions)
    second = functions.call()

    assert [(one.mode, one.mode_reason) for one in (first, second)] == [("cold", "only Linux forks safely"), ("spare", "only Linux forks safely")]
    (functions.world.folder / "look").touch()
    assert until(lambda: functions.call().mode == "cold" and not known(functions))


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_keeps_no_spare_of_its_parent(functions: Functions) -> None:
    functions.declare(OPENS + "def run():\n    return 1\n")
    functions.call()
    assert waiting(functions)
    (spare,) = known(functions)
    kept = functions.box._kept
    assert kept is not None
    kept._owner = -1
    functions.call()

    assert spare.control.fileno() == -1


def test_a_spare_does_not_outlive_its_toolbox(functions: Functions) -> None:
    functions.declare(OPENS + "def run():\n    return 1\n")
    functions.call()
    assert waiting(functions)
    (spare,) = known(functions)
    pid = pid_of(spare)
    assert pid
    functions.box.close()

    assert until(lambda: not alive(pid))


REQUEST = Request(("x",), {}, "/", payload=marshal.dumps({"target": "m:f", "source": None}), result=True)


def made() -> tuple[spares.Spare, socket.socket]:
    """A spare without a process, and the other end of its control socket."""
    spare = spares.Spare(REQUEST)
    other = spare._theirs.dup()
    spare._theirs.close()
    return spare, other


def test_what_a_spare_says_may_come_in_pieces() -> None:
    spare, other = made()
    data = marshal.dumps({"reasons": [], "files": (), "kib": 1})
    assert (spare.ready(), spare.ended()) == (False, False)
    other.sendall(len(data).to_bytes(8, "big"))
    assert spare.ready() is False
    other.sendall(data)
    assert (spare.ready(), spare.told) == (True, {"reasons": [], "files": (), "kib": 1})
    other.close()
    assert spare.ended()
    spare.close()
    assert spare.ended()


def test_a_spare_whose_socket_is_broken_has_ended() -> None:
    spare, other = made()
    other.close()
    spare.control.close()
    assert (spare.ready(), spare.told) == (True, {})
    spare.close()


class Nowhere:
    """Gives no supervisor."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def take(self, _: Request) -> socket.socket:
        raise self.error


def test_a_spare_that_cannot_be_started_is_none() -> None:
    for error in (OSError(11, "no"), KeyboardInterrupt()):
        known = spares.Spares(Nowhere(error), idle=60, memory_kib=1, most=8)  # type: ignore[arg-type]
        with pytest.raises(KeyboardInterrupt) if isinstance(error, KeyboardInterrupt) else contextlib.nullcontext(), known.around("key", REQUEST):
            assert known.run("key", REQUEST, print, print, Stop()) is None
        assert known._known == {}


def test_a_spare_that_ended_before_it_got_the_call_is_not_waited_for(functions: Functions, monkeypatch: pytest.MonkeyPatch) -> None:
    functions.declare(OPENS + "def run():\n    return 1\n")
    functions.call()
    assert waiting(functions)
    (spare,) = known(functions)
    pid = pid_of(spare)
    assert pid
    os.kill(pid, signal.SIGKILL)
    assert until(lambda: not alive(pid))
    monkeypatch.setattr(spare, "ended", lambda: False)
    spare.control.close()

    assert functions.call().mode == "cold"
