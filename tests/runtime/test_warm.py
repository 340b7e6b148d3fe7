"""Functions that stay imported: when they are, when not, and that a call is the same either way (SPEC 7.3)."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mcc_jupyter.core.command import Request
from mcc_jupyter.core.outcome import Outcome
from mcc_jupyter.runtime import supervised, warm, warm_calls
from mcc_jupyter.runtime.descriptors import socketpair
from mcc_jupyter.runtime.launcher import Stop
from tests.processes import alive, until

from .conftest import World

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks safely")

FORKED = "forked from a process that has imported it"


class Functions:
    """A world with one module of functions."""

    def __init__(self, world: World) -> None:
        self.world, self.box = world, world.box

    def declare(self, source: str, *, name: str = "t", function: str = "run", **fields: object) -> None:
        self.world.module("mod", source)
        self.world.declare({"name": name, "fn": f"mod:{function}", **fields})

    def forget(self) -> None:
        """The process that read the signature is not kept."""
        assert self.box._kept is not None
        self.box._kept.close()

    def call(self, tool: str = "t", **arguments: object) -> Outcome:
        return self.box.call(tool, arguments)


@pytest.fixture
def functions(make_world: Callable[..., World]) -> Functions:
    return Functions(make_world({"TOKEN": "a-value-of-the-parent"}))


def test_every_call_is_a_process_of_its_own_below_the_one_that_imported(functions: Functions) -> None:
    functions.declare("import os\nSEEN = []\ndef run(x: int = 1):\n    print('out', x)\n    SEEN.append(x)\n    return [os.getpid(), os.getppid(), len(SEEN), os.getcwd()]\n")
    outcomes = [functions.call(x=number) for number in range(3)]

    assert [(one.mode, one.mode_reason) for one in outcomes] == [("warm", FORKED)] * 3
    assert len({one.value[0] for one in outcomes}) == 3
    assert len({one.value[1] for one in outcomes}) == 1
    assert [one.value[2] for one in outcomes] == [1, 1, 1]
    assert [one.stdout for one in outcomes] == ["out 0\n", "out 1\n", "out 2\n"]
    assert [one.exit_code for one in outcomes] == [0, 0, 0]


def test_a_forked_call_has_exactly_the_environment_of_a_cold_one(functions: Functions) -> None:
    source = "import os, ctypes\nC = ctypes.CDLL(None); C.getenv.restype = ctypes.c_char_p\ndef run():\n    return [dict(os.environ), (C.getenv(b'MCC_CTX') or b'').decode()]\n"
    functions.declare(source, env_passthrough=["TOKEN"])
    first = functions.call()
    functions.box.session["note"] = "one"
    second = functions.call()
    functions.declare(source, env_passthrough=["TOKEN"], fresh=True)
    third = functions.call()

    assert [first.mode, second.mode, third.mode] == ["warm", "warm", "cold"]
    assert third.mode_reason == "fresh: true"
    assert second.value == third.value
    assert first.value != second.value
    assert first.value[0]["MCC_CTX"] == first.value[1]


@pytest.mark.parametrize(("name", "mode"), [("jemalloc_bg_thd", "warm"), ("jemalloc_other", "cold")])
def test_a_thread_of_which_a_fork_takes_care_is_no_reason_not_to_fork(functions: Functions, name: str, mode: str) -> None:
    """As pandas has it with pyarrow: the allocator's thread, and no other."""
    functions.declare(
        "import ctypes, threading, time\nUP = threading.Event()\n"
        f"def idle():\n    ctypes.CDLL(None).prctl(15, b'{name}', 0, 0, 0)\n    UP.set()\n    time.sleep(60)\n"
        "threading.Thread(target=idle, daemon=True).start()\nUP.wait()\ndef run():\n    return threading.active_count()\n"
    )
    outcome = functions.call()
    assert outcome.mode == mode
    assert outcome.value == (1 if mode == "warm" else 2)


def test_the_session_and_the_context_travel(functions: Functions) -> None:
    functions.declare("def run(context):\n    context['count'] = context.get('count', 0) + 1\n    return context['count']\n")

    assert [functions.call().value for _ in range(3)] == [1, 2, 3]
    assert functions.call().mode == "warm"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        pytest.param("import os\nos.chdir('/')", "its import changes its folder or its umask", id="the folder"),
        pytest.param("import os\nos.umask(0o027)", "its import changes its folder or its umask", id="the umask"),
        pytest.param("print('loading')", "its import prints", id="output"),
        pytest.param("import sys\nsys.stderr.write('loading')", "its import prints", id="output on stderr"),
        pytest.param("import os\nX = os.environ.get('MCC_CTX')", "its import looks for MCC_CTX, or at all variables", id="MCC_CTX"),
        pytest.param("import os\nX = 'MCC_CTX' in os.environ", "its import looks for MCC_CTX, or at all variables", id="whether MCC_CTX"),
        pytest.param("import os\nX = os.getenvb(b'MCC_CTX')", "its import looks for MCC_CTX, or at all variables", id="MCC_CTX in bytes"),
        pytest.param("import os\nX = dict(os.environ)", "its import looks for MCC_CTX, or at all variables", id="all variables"),
    ],
)
def test_what_a_fork_would_share_makes_it_cold(functions: Functions, source: str, reason: str) -> None:
    functions.declare(source + "\ndef run():\n    return 1\n")
    outcomes = [functions.call(), functions.call()]

    assert [(one.value, one.mode, one.mode_reason) for one in outcomes] == [(1, "cold", reason)] * 2


def test_numpy_draws_anew_in_each_call_and_its_generators_make_it_cold(functions: Functions) -> None:
    pytest.importorskip("numpy")
    functions.declare("import numpy, random, uuid\ndef run():\n    return [numpy.random.rand(), random.random(), str(uuid.uuid4())]\n")
    drawn = [functions.call() for _ in range(4)]

    assert {one.mode for one in drawn} == {"warm"}
    assert [len({one.value[at] for one in drawn}) for at in range(3)] == [4, 4, 4]

    functions.declare("import numpy\nG = numpy.random.default_rng()\ndef run():\n    return G.random()\n")
    drawn = [functions.call() for _ in range(2)]
    assert {(one.mode, one.mode_reason) for one in drawn} == {("cold", "a module holds a random generator, which would repeat itself")}
    assert drawn[0].value != drawn[1].value


def test_a_changed_source_is_imported_again(functions: Functions) -> None:
    functions.world.module("helper", "VALUE = 1\n")
    functions.declare("import os, helper\ndef run():\n    return [helper.VALUE, os.getppid()]\n")
    first = functions.call().value
    functions.world.module("helper", "VALUE = 'two'\n")
    second = functions.call()

    assert (first[0], second.value[0], second.mode) == (1, "two", "warm")
    assert first[1] != second.value[1]
    assert until(lambda: not alive(first[1]))
    (functions.world.folder / "helper.py").unlink()
    third = functions.call()
    assert (third.ok, third.mode, third.mode_reason) == (False, "cold", "its import fails")
    functions.world.module("helper", "VALUE = 3\n")
    assert functions.call().value[0] == 3
    assert functions.call().mode == "warm"


def test_a_changed_environment_is_another_process(functions: Functions) -> None:
    functions.declare("import os\nTOKEN = os.environ['TOKEN']\ndef run():\n    return [TOKEN, os.getppid()]\n", env_passthrough=["TOKEN"])
    first = functions.call().value
    functions.world.variables["TOKEN"] = "another-value-of-it"
    second = functions.call()

    assert (second.mode, second.redactions) == ("warm", {"TOKEN": 1})
    assert first[1] != second.value[1]


def test_a_process_that_died_is_replaced_and_a_call_it_took_along_is_not_made_again(functions: Functions, tmp_path: Path) -> None:
    functions.declare("import os\ndef run(die: bool = False):\n    open('calls', 'a').write('x')\n    if die:\n        os.kill(os.getppid(), 9)\n        import time; time.sleep(30)\n    return os.getppid()\n")
    parent = functions.call().value
    os.kill(parent, signal.SIGKILL)
    assert until(lambda: not alive(parent))
    second = functions.call()
    assert (second.mode, second.value != parent) == ("warm", True)

    third = functions.call(die=True)
    if functions.box.launcher.isolation.scoped:  # a call cannot reach the process that watches over it
        assert third.failure == "failed: PermissionError: [Errno 1] Operation not permitted"
    assert third.ok is False
    assert (functions.world.folder / "calls").read_text() == "xxx"

    functions.declare("import os, time\ndef run():\n    open('calls', 'a').write('x')\n    time.sleep(30)\n")
    threading.Timer(0.0, lambda: until(lambda: (functions.world.folder / "calls").read_text() == "xxxx") and kill_parents()).start()

    def kill_parents() -> None:
        functions.box._kept.close()  # type: ignore[union-attr]

    fourth = functions.call()
    assert fourth.ok is False
    assert (functions.world.folder / "calls").read_text() == "xxxx"


def test_who_does_not_call_for_a_while_is_forgotten(functions: Functions) -> None:
    functions.declare("import os\ndef run():\n    return os.getppid()\n")
    functions.forget()
    functions.box._kept = warm.Functions(functions.box.launcher, idle=0.3)
    first = functions.call()
    assert until(lambda: not alive(first.value))
    second = functions.call()

    assert (first.mode, second.mode) == ("warm", "warm")
    functions.box._kept.close()
    functions.box._kept = warm.Functions(functions.box.launcher, idle=0)
    assert functions.call().mode_reason == "no process is to be kept"


def test_a_large_import_is_not_kept(functions: Functions) -> None:
    functions.declare("DATA = bytearray(range(256)) * 40_000\ndef run():\n    return len(DATA)\n")
    functions.forget()
    functions.box._kept = warm.Functions(functions.box.launcher, memory_kib=4096)

    assert (functions.call().value, functions.call().mode_reason) == (10_240_000, "it takes more than 4 MiB after its import")


def test_only_so_many_are_kept(functions: Functions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "MOST", 2)
    for name in "abc":
        functions.world.module(f"mod_{name}", f"import os\ndef {name}(): return os.getppid()\n")
        functions.world.declare({"name": name, "fn": f"mod_{name}:{name}"})
    pids = [functions.call(name).value for name in "abc"]

    assert until(lambda: not alive(pids[0]))
    assert [functions.call(name).value for name in "bc"] == pids[1:]


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        ("raise ValueError('no')", "failed: ValueError: no"),
        ("import sys; sys.exit(3)", "failed: SystemExit: 3"),
        ("import os; os._exit(4)", "ended without a result (with exit code 4)"),
        ("import os; os.kill(os.getpid(), 11)", "ended without a result (was killed by signal 11 (SIGSEGV))"),
        ("return object()", "failed: cannot return a `object` at value; return JSON: text, numbers, true, false, None, lists and mappings of them"),
    ],
)
def test_a_failure_is_the_same_as_in_a_new_process(functions: Functions, body: str, failure: str) -> None:
    found = []
    for fresh in (False, True):
        functions.declare(f"def run():\n    {body}\n", fresh=fresh)
        outcome = functions.call()
        found.append((outcome.ok, outcome.failure, outcome.exit_code, outcome.signal, outcome.traceback))
        assert outcome.mode == ("cold" if fresh else "warm")

    assert found[0] == found[1]
    assert found[0][0] is False


def test_time_limits_and_stops_reach_a_forked_call(functions: Functions) -> None:
    functions.declare("import signal, time\ndef run(deaf: bool = False):\n    print('on', flush=True)\n    if deaf: signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    time.sleep(30)\n", limits={"timeout": 0.6})
    for deaf in (False, True):
        outcome = functions.call(deaf=deaf)
        assert (outcome.mode, outcome.stopped, outcome.stdout) == ("warm", "timeout", "on\n")

    stop = Stop()
    outcome = functions.box.call("t", timeout=30, stop=stop, show=lambda *_: stop.kill())
    assert (outcome.mode, outcome.stopped) == ("warm", "interrupt")
    assert functions.call().mode == "warm"


def test_what_a_forked_call_leaves_behind_is_ended(functions: Functions) -> None:
    functions.declare("import subprocess\ndef run(own: bool):\n    more = {} if own else dict(stdout=-3, stderr=-3, stdin=-3)\n    return subprocess.Popen(['sleep', '60'], start_new_session=True, **more).pid\n")
    held, let_go = functions.call(own=True), functions.call(own=False)

    assert (held.mode, held.notes) == ("warm", ("background process was ended",))
    assert until(lambda: not alive(held.value) and not alive(let_go.value))
    assert functions.call(own=False).mode == "warm"


def test_limits_hold_in_a_forked_call(functions: Functions) -> None:
    functions.declare("def run(what):\n    if what == 'cpu':\n        while True: pass\n    return len(bytearray(1 << 30))\n", limits={"mem_mb": 600, "cpu_sec": 1})

    assert functions.call(what="cpu").stopped == "cpu_sec"
    assert functions.call(what="memory").failure == "failed: MemoryError"
    assert functions.call(what="memory").mode == "warm"


def test_many_at_once_are_kept_apart(functions: Functions) -> None:
    functions.declare("import time\ndef run(n: int):\n    print(n)\n    time.sleep(0.05)\n    return n\n")
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda number: functions.call(n=number), range(24)))

    assert [(one.value, one.stdout, one.mode) for one in outcomes] == [(n, f"{n}\n", "warm") for n in range(24)]


def test_exit_functions_run_once_a_call_and_only_those_of_the_call(functions: Functions) -> None:
    functions.declare(
        "import atexit, logging, os, tempfile, threading, time, weakref\n"
        "atexit.register(lambda: print('of the import'))\n"
        "KEPT = tempfile.TemporaryDirectory()\n"
        "def run():\n"
        "    atexit.register(lambda: print('of the call'))\n"
        "    made = tempfile.TemporaryDirectory(); globals()['made'] = made\n"
        "    threading.Thread(target=lambda: (time.sleep(0.1), print('thread'))).start()\n"
        "    return [os.path.exists(KEPT.name), made.name]\n"
    )
    for _ in range(2):
        outcome = functions.call()
        assert (outcome.mode, outcome.value[0], outcome.stdout) == ("warm", True, "thread\nof the call\n")
        assert not os.path.exists(outcome.value[1])


def test_a_function_of_a_cell_stays_imported_too(make_world: Callable[..., World]) -> None:
    from mcc_jupyter.core.tool import Origin, Source

    world = make_world()
    text = "import os\nCOUNT = [0]\ndef run():\n    COUNT[0] += 1\n    return [COUNT[0], os.getppid()]\n"
    world.box.add_function(Source(text, "<cell>", "run"), {}, Origin("cell", "c", "id")).raise_for_problems()
    first, second = world.box.call("run"), world.box.call("run")

    assert first.value == second.value
    assert (second.mode, second.value[0]) == ("warm", 1)


def test_a_session_too_large_for_a_variable_makes_it_cold(functions: Functions) -> None:
    functions.declare("def run(context):\n    return len(context['big'])\n")
    functions.box.session["big"] = "x" * 200_000
    outcome = functions.call()

    assert (outcome.value, outcome.mode, outcome.mode_reason) == (200_000, "cold", "its session is larger than a variable may be")


def test_a_stop_while_importing_ends_the_import(functions: Functions, tmp_path: Path) -> None:
    (functions.world.folder / "fast").touch()
    functions.declare("import os, time\nif not os.path.exists('fast'):\n    open('began', 'w').close(); time.sleep(30)\ndef run():\n    return 1\n")
    (functions.world.folder / "fast").unlink()
    functions.forget()
    stop = Stop()
    thread = threading.Thread(target=lambda: until((functions.world.folder / "began").exists) and stop.kill())
    thread.start()
    outcome = functions.box.call("t", stop=stop)
    thread.join()
    assert (outcome.stopped, outcome.mode_reason) == ("interrupt", "it was stopped while it was imported")

    assert functions.box.call("t", timeout=0.5).stopped == "timeout"


def test_two_calls_at_once_cannot_reach_each_other(functions: Functions) -> None:
    functions.declare(
        "import os, time\n"
        "def run(look: bool):\n"
        "    if not look:\n"
        "        open('pid.new', 'w').write(str(os.getpid())); os.rename('pid.new', 'pid'); time.sleep(30)\n"
        "    while not os.path.exists('pid'): time.sleep(0.01)\n"
        "    pid = open('pid').read(); found = []\n"
        "    for what in (lambda: open(f'/proc/{pid}/environ').read(), lambda: open(f'/proc/{pid}/mem'), lambda: os.kill(int(pid), 0), lambda: open(f'/proc/{os.getppid()}/environ').read(), lambda: open('/proc/self/environ').read()):\n"
        "        try: what(); found.append('reached')\n"
        "        except OSError as error: found.append(error.errno)\n"
        "    return found\n"
    )
    if not functions.box.launcher.isolation.scoped:
        pytest.skip("needs Landlock 6")
    stop = Stop()
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(functions.box.call, "t", {"look": False}, stop=stop)
        found = functions.call(look=True)
        stop.kill()
        assert other.result().mode == "warm"

    assert (found.mode, found.value) == ("warm", [13, 13, 1, 13, "reached"])


def test_a_process_that_ends_between_two_calls_is_noticed(functions: Functions) -> None:
    functions.declare("import os\ndef run():\n    return os.getppid()\n")
    first = functions.call()
    kept = functions.box._kept
    assert kept is not None
    (process,) = kept._known.values()
    with process.lock:
        process.leave()
    assert functions.call().value != first.value

    with pytest.raises(ConnectionResetError):
        warm._Process().slot()
    ours, theirs = socketpair()
    theirs.close()
    with pytest.raises(ConnectionError):
        warm._Process(ours).slot()
    ours.close()
    ours, theirs = socketpair()
    ours.shutdown(socket.SHUT_RD)
    with pytest.raises(ConnectionResetError):
        warm._Process(ours).slot()
    ours.close()
    theirs.close()


def test_a_call_whose_process_was_killed_while_it_waited_goes_to_another(functions: Functions) -> None:
    functions.declare("import os\ndef run():\n    return os.getppid()\n")
    parent = functions.call().value
    waiting: list[int] = []

    def found() -> list[int]:
        text = Path(f"/proc/{parent}/task/{parent}/children").read_text()
        waiting[:] = [pid for pid in map(int, text.split()) if alive(pid)]
        return waiting

    assert until(found)
    time.sleep(0.1)  # the one that served the call has gone
    for pid in found():
        os.kill(pid, signal.SIGKILL)
    assert until(lambda: not any(alive(pid) for pid in waiting))

    assert functions.call().ok


def test_a_process_that_fails_at_its_end_says_so(functions: Functions) -> None:
    functions.declare("import atexit, os\ndef run():\n    atexit.register(os._exit, 9)\n    return 1\n")
    outcome = functions.call()

    assert (outcome.value, outcome.mode, outcome.exit_code) == (1, "warm", 9)
    assert outcome.notes == ("after its result the process failed with exit code 9",)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_keeps_nothing_of_its_parent(functions: Functions) -> None:
    functions.declare("import os\ndef run():\n    return os.getppid()\n")
    first = functions.call()
    kept = functions.box._kept
    assert kept is not None
    known, kept._owner = kept._known, -1
    ours, theirs = socketpair()
    kept._ending.append(ours)
    second = functions.call()
    assert ours.fileno() == -1
    theirs.close()

    assert (second.mode, second.value != first.value) == ("warm", True)
    assert not known or all(process.control is None for process in known.values())


def test_elsewhere_than_on_linux_a_function_is_cold(functions: Functions, monkeypatch: pytest.MonkeyPatch) -> None:
    functions.declare("def run():\n    return 1\n")
    functions.call()
    monkeypatch.setattr(warm.sys, "platform", "darwin")

    assert functions.call().mode_reason == "only Linux forks safely"


def test_a_process_that_dies_while_importing_is_not_waited_for(functions: Functions) -> None:
    functions.declare("import os\nif os.path.exists('die'): os._exit(7)\ndef run():\n    return 1\n")
    (functions.world.folder / "die").touch()
    functions.forget()
    outcome = functions.call()
    assert (outcome.failure, outcome.mode_reason) == ("ended without a result (with exit code 7)", "the process that was to be kept ended while importing")
    (functions.world.folder / "die").unlink()
    assert functions.call().mode == "warm"


def test_a_changed_source_ends_no_call_that_runs(functions: Functions) -> None:
    functions.declare("import os, time\ndef run(wait: float = 0):\n    print('on', flush=True)\n    time.sleep(wait)\n    return os.getppid()\n")
    shown = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(functions.box.call, "t", {"wait": 1.0}, show=lambda *_: shown.set())
        assert shown.wait(10)
        functions.world.module("mod", "import os\ndef run(wait: float = 0):\n    return os.getppid() + 0\n")
        second = functions.call()
        first = running.result()

    assert (first.ok, first.mode, second.ok, second.mode) == (True, "warm", True, "warm")
    assert first.value != second.value
    assert until(lambda: not alive(first.value))
    functions.world.module("mod", "import os\ndef run(wait: float = 0):\n    return 'third'\n")
    assert functions.call().value == "third"


def test_what_waits_is_ended_at_once_and_a_call_that_runs_goes_on(functions: Functions) -> None:
    functions.declare("import os, time\ndef run(seconds: float):\n    open('began', 'a').write('x')\n    time.sleep(seconds)\n    return os.getppid()\n")
    first = functions.call(seconds=0)
    began = functions.world.folder / "began"
    ended = []
    thread = threading.Thread(target=lambda: ended.append(functions.call(seconds=1)))
    thread.start()
    assert until(lambda: began.read_text() == "xx")
    functions.box._retire()
    second = functions.call(seconds=0)
    thread.join()

    assert (ended[0].value, ended[0].mode) == (first.value, "warm")
    assert second.value != first.value
    assert until(lambda: not alive(first.value))


def test_a_report_that_is_there_goes_before_the_status(functions: Functions) -> None:
    ours, theirs = zip(*(socketpair() for _ in range(2)), strict=True)
    request = Request(("python",), {}, "/", result=True)
    call = warm_calls.Forked(request, (ours[0], ours[1]), bytearray().extend, bytearray().extend, Stop())
    assert call.answer is not None
    call.answer.feed(b"00000002\n{}")
    read, write = os.pipe()
    os.close(write)
    call.sinks[read] = call.answer.feed
    call.poll.register(read)
    call.running = True
    theirs[0].sendall(b"\0")
    theirs[1].sendall(b"a report")
    call.pull(read)

    assert (call.running, call.report) == (True, None)
    call.close()
    for one in theirs:
        one.close()


def test_a_forked_call_that_does_not_answer_ends_with_the_process_that_forked_it() -> None:
    ended: list[socket.socket] = []
    replaced: list[socket.socket] = []

    class Supplied:
        def take(self, _: Request) -> socket.socket:
            raise AssertionError

        def give_back(self, _: Request, taken: socket.socket) -> None:
            raise AssertionError

        def end(self, taken: socket.socket) -> None:
            ended.append(taken)

        def replace(self, taken: socket.socket) -> None:
            replaced.append(taken)

    pairs = [socketpair() for _ in range(3)]
    (call_socket, _), (watch, _), (supervisor, _) = pairs
    call = warm_calls.Forked(Request(("x",), {}, "/"), (call_socket, watch), bytearray().extend, bytearray().extend, Stop())
    call.end()
    call.supply = Supplied()
    call.end()
    assert ended == []
    call.supervisor = supervisor
    call.end()
    call.end(unended=True)

    assert (ended, replaced) == ([supervisor], [supervisor])
    for pair in pairs:
        for one in pair:
            one.close()


IMPORTS = "import os\nopen('imports', 'a').write('i')\n"


def imports(functions: Functions) -> int:
    return len((functions.world.folder / "imports").read_text())


def test_declaring_is_the_only_import_of_all_functions_of_a_module(functions: Functions) -> None:
    functions.world.module("mod", IMPORTS + "def a():\n    return os.getppid()\ndef b(x: int):\n    return os.getppid()\n")
    functions.world.add([{"name": "a", "fn": "mod:a"}, {"name": "b", "fn": "mod.b"}]).raise_for_problems()
    first, second = functions.call("a"), functions.call("b", x=1)

    assert imports(functions) == 1
    assert [(one.mode, one.mode_reason) for one in (first, second)] == [("warm", FORKED)] * 2
    assert first.value == second.value


def test_functions_of_several_modules_are_read_by_one_process_and_kept_by_none(functions: Functions) -> None:
    for name in "ab":
        functions.world.module(f"mod_{name}", "import os, sys\ndef run():\n    return [os.getppid(), sorted({'mod_a', 'mod_b'} & set(sys.modules))]\n")
    functions.world.add([{"name": name, "fn": f"mod_{name}:run"} for name in "ab"]).raise_for_problems()
    first, second = functions.call("a").value, functions.call("b").value

    assert (first[1], second[1]) == (["mod_a"], ["mod_b"])
    assert first[0] != second[0]


def test_what_cannot_be_forked_is_not_imported_again_to_find_out(functions: Functions) -> None:
    functions.declare(IMPORTS + "FILE = open(os.devnull)\ndef run():\n    return 1\n")
    outcome = functions.call()

    assert (outcome.mode, outcome.mode_reason) == ("cold", "its import opens files or sockets")
    assert imports(functions) == 2


def test_an_import_that_looks_at_the_session_sees_it_and_is_not_kept(functions: Functions) -> None:
    functions.box.session["note"] = "at the declaration"
    functions.declare("import json, os\nSEEN = json.loads(os.environ['MCC_CTX'])['note']\ndef run(a: str = SEEN):\n    return SEEN\n")
    functions.box.session["note"] = "at the call"
    outcome = functions.call()

    assert functions.box.registry.find("t").params[0].default == "at the declaration"
    assert (outcome.value, outcome.mode, outcome.mode_reason) == ("at the call", "cold", "its import looks for MCC_CTX, or at all variables")


def test_declaring_again_imports_again(functions: Functions) -> None:
    functions.declare(IMPORTS + "def run():\n    return os.getppid()\n")
    first = functions.call().value
    functions.declare(IMPORTS + "def run():\n    return os.getppid()\n")
    second = functions.call()

    assert (imports(functions), second.mode, second.value != first) == (2, "warm", True)
    assert until(lambda: not alive(first))


def test_an_import_that_prints_ends_as_a_process_does(functions: Functions) -> None:
    functions.world.module("mod", "import atexit\nprint('loading')\natexit.register(print, 'ending')\ndef run():\n    return 1\n")
    added = functions.world.add({"name": "t", "fn": "mod:run"})

    assert added.printed == "loading\nending\n"
    assert (functions.call().stdout, functions.call().mode_reason) == ("loading\nending\n", "its import prints")


def test_fresh_functions_are_not_kept(functions: Functions) -> None:
    functions.declare("def run():\n    return 1\n", fresh=True)

    assert functions.box._kept is not None
    assert functions.box._kept._known == {}


def test_an_interrupt_while_signatures_are_read_leaves_nothing(functions: Functions, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = functions.box._functions()
    assert kept is not None
    serve, made = functions.box.launcher.serve, []

    def interrupted(call: warm_calls.Import) -> None:
        made.append(call)
        serve(call)
        raise KeyboardInterrupt

    monkeypatch.setattr(functions.box.launcher, "serve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        functions.declare("def run():\n    return 1\n")

    assert [one.fileno() for one in made[0].kept] == [-1, -1]


@pytest.fixture
def stopped() -> Iterator[Callable[[int], None]]:
    """Stops processes, which go on at the end of the test."""
    pids: list[int] = []

    def stop(pid: int) -> None:
        os.kill(pid, signal.SIGSTOP)
        pids.append(pid)

    yield stop
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


SLEEPS = "import os, time\ndef run(wait: float = 0):\n    open('calls', 'a').write('x')\n    print('on', flush=True)\n    time.sleep(wait)\n    return os.getppid()\n"


def test_a_call_goes_on_while_the_process_that_forked_it_is_stopped(functions: Functions, stopped: Callable[[int], None]) -> None:
    functions.declare(SLEEPS)
    parent = functions.call().value
    outcome = functions.box.call("t", {"wait": 0.3}, show=lambda *_: stopped(parent))

    assert (outcome.ok, outcome.value, outcome.mode) == (True, parent, "warm")


def test_a_call_that_has_to_end_does_so_while_the_process_that_forked_it_is_stopped(functions: Functions, stopped: Callable[[int], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervised, "_SLACK", 0.5)
    functions.declare(SLEEPS, limits={"timeout": 0.5})
    parent = functions.call().value
    outcome = functions.box.call("t", {"wait": 60}, show=lambda *_: stopped(parent))

    assert (outcome.ok, outcome.mode, outcome.stopped) == (False, "warm", "timeout")
    assert outcome.notes == ("the process that watched over this call did not answer and was killed, with everything it watched",)
    assert until(lambda: not alive(parent))
    assert functions.call().mode == "warm"
    assert (functions.world.folder / "calls").read_text() == "xxx"


def test_a_process_that_is_stopped_between_calls_is_replaced(functions: Functions, stopped: Callable[[int], None], monkeypatch: pytest.MonkeyPatch) -> None:
    functions.declare(SLEEPS)
    parent = functions.call().value
    kept = functions.box._kept
    assert kept is not None
    (process,) = kept._known.values()
    assert process.control is not None
    process.control.settimeout(0.3)
    stopped(parent)
    outcomes = [functions.call() for _ in range(2)]  # the first may still find the one that was forked ahead

    assert [one.ok for one in outcomes] == [True, True]
    assert outcomes[1].value != parent


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_process_that_dies_while_many_calls_run_loses_none_that_was_not_its_own(functions: Functions, number: signal.Signals) -> None:
    functions.declare(SLEEPS)
    parent = functions.call().value
    done: list[int] = []

    def progress(count: int) -> None:
        done.append(count)
        if count == 4:
            os.kill(parent, number)

    outcomes = functions.box.map("t", [{"wait": 0.02}] * 24, workers=4, progress=progress)

    assert len(outcomes) == 24
    assert done == list(range(1, 25))
    lost = [one for one in outcomes if not one.ok]
    assert len(lost) <= 5  # those that ran in it
    assert all(one.failure for one in lost)
    # A call that was handed over is never made twice.
    assert len((functions.world.folder / "calls").read_text()) <= 25
    assert outcomes[-1].ok
    assert functions.call().value != parent


def test_the_process_that_was_kept_does_not_outlive_its_toolbox(functions: Functions) -> None:
    functions.declare(SLEEPS)
    parent = functions.call().value
    functions.box.close()

    assert until(lambda: not alive(parent))


@pytest.mark.parametrize("fresh", [False, True])
def test_what_a_call_wrote_to_a_file_that_it_left_open_is_there(functions: Functions, fresh: bool) -> None:
    functions.declare("def run():\n    global FILE\n    FILE = open('left', 'w')\n    FILE.write('written')\n    return 1\n", fresh=fresh)

    assert functions.call().mode == ("cold" if fresh else "warm")
    assert (functions.world.folder / "left").read_text() == "written"


@pytest.mark.parametrize("fresh", [False, True])
def test_what_c_code_printed_is_output(functions: Functions, fresh: bool) -> None:
    functions.declare("import ctypes\nC = ctypes.CDLL(None)\ndef run():\n    C.printf(b'by C\\n')\n    return 1\n", fresh=fresh)
    outcome = functions.call()

    assert (outcome.stdout, outcome.mode) == ("by C\n", "cold" if fresh else "warm")


def test_what_c_code_printed_while_it_was_imported_counts_as_printed(functions: Functions) -> None:
    functions.declare("import ctypes\nctypes.CDLL(None).printf(b'loading\\n')\ndef run():\n    return 1\n")
    outcome = functions.call()

    assert (outcome.stdout, outcome.mode_reason) == ("loading\n", "its import prints")


def test_an_import_that_prints_is_noticed_where_nobody_asked_for_signatures(functions: Functions) -> None:
    functions.declare("print('loading')\ndef run():\n    return 1\n")
    functions.forget()
    outcome = functions.call()

    assert (outcome.stdout, outcome.mode, outcome.mode_reason) == ("loading\n", "cold", "its import prints")


def test_an_import_looks_at_nothing_but_its_output_when_it_is_decided_on() -> None:
    call = warm_calls.Import(Request(("x",), {}, "/", result=True), None, Stop(), 10)
    (ours, theirs), pipe = socketpair(), os.pipe()
    theirs.send(b"x")
    call.poll.register(ours)
    call.sinks[pipe[0]] = bytearray().extend
    call.poll.register(pipe[0])
    call.decide({"reasons": [], "files": (), "kib": 1})
    os.close(pipe[1])
    call.drain()

    assert (call.stays, call.printed, call.sinks) == (True, False, {})
    call.close()
    ours.close()
    theirs.close()
