"""Functions in real children: what comes back, how they fail, what they may change."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import pytest

from mcc_jupyter.core.errors import MccError
from mcc_jupyter.core.outcome import Outcome
from mcc_jupyter.core.tool import Origin, Source
from mcc_jupyter.runtime.identity import Identity

from .conftest import World

SECRET = "sk-live-0123456789"
MakeWorld = Callable[..., World]


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    return make_world({"TOKEN": SECRET, "LANG": "C.UTF-8"}, identity=Identity("ana"))


def call(world: World, text: str, arguments: dict[str, object] | None = None, **fields: object) -> Outcome:
    """Calls ``f`` of a module with this text."""
    world.module("m", text)
    world.declare({"fn": "m:f", "env_passthrough": ["TOKEN"], **fields}, cell="f")
    return world.box.call("f", arguments)


# ---- results and output


def test_FN_01_prints_are_output_and_no_part_of_the_result(world: World) -> None:
    outcome = call(world, "def f():\n    print('noise')\n    return {'ok': 1}")
    assert (outcome.value, outcome.returned, outcome.stdout, outcome.mode) == ({"ok": 1}, True, "noise\n", "warm")


def test_FN_02_what_is_written_below_python_is_output_too(world: World) -> None:
    text = """
import os, subprocess, sys
def f():
    os.write(1, b"X\\n")
    os.system("echo Y")
    subprocess.run(["echo", "Z"])
    sys.__stdout__.write("W\\n")
    return {"X": 1}
"""
    outcome = call(world, text)
    assert outcome.value == {"X": 1}
    assert sorted(outcome.stdout.split()) == ["W", "X", "Y", "Z"]


def test_FN_03_what_is_printed_after_the_result_harms_nothing(world: World) -> None:
    outcome = call(world, "import atexit\ndef f():\n    atexit.register(print, 'late')\n    return 1")
    assert (outcome.value, outcome.stdout) == (1, "late\n")


def test_FN_07_values_beyond_json_convert_by_rules(world: World) -> None:
    text = """
import dataclasses, datetime, decimal, enum, pathlib, uuid
class Colour(enum.Enum):
    RED = "red"
@dataclasses.dataclass
class Point:
    x: int
    y: int
def f():
    return {"date": datetime.datetime(2024, 1, 2, 3, 4, 5), "decimal": decimal.Decimal("1.10"), "set": {3, 1, 2},
            "tuple": (1, 2), "path": pathlib.Path("/a/b"), "enum": Colour.RED, "point": Point(1, 2),
            "uuid": uuid.UUID(int=1)}
"""
    assert call(world, text).value == {
        "date": "2024-01-02T03:04:05",
        "decimal": "1.10",
        "set": [1, 2, 3],
        "tuple": [1, 2],
        "path": "/a/b",
        "enum": "red",
        "point": {"x": 1, "y": 2},
        "uuid": "00000000-0000-0000-0000-000000000001",
    }


def test_a_data_frame_is_its_records(world: World) -> None:
    pytest.importorskip("pandas")
    text = "import pandas as pd\ndef f():\n    return pd.DataFrame({'a': [1, 2], 'b': ['x', None]})"
    assert call(world, text, python=sys.executable).value == [{"a": 1, "b": "x"}, {"a": 2, "b": None}]


def test_FN_09_integers_arrive_in_full_and_over_long_ones_are_a_failure(world: World) -> None:
    assert call(world, "def f(): return [2**80, 2**53 + 1]").value == [2**80, 2**53 + 1]
    assert call(world, "def f(): return 2**14000").value == 2**14000
    outcome = call(world, "def f(): return [2**20000]")
    assert outcome.failure == "failed: cannot return an integer of 6,021 digits at value[0]; return it as text"


def test_FN_11_coroutines_are_awaited_and_generators_are_lists(world: World) -> None:
    assert call(world, "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 5").value == 5
    assert call(world, "def f():\n    yield 1\n    yield 2").value == [1, 2]


def test_half_a_character_comes_back_as_it_was(world: World) -> None:
    assert call(world, "import os\ndef f(): return '\\ud800' + os.environ['TOKEN']").value == "\ud800[redacted:TOKEN]"


def test_FN_18_a_fork_gives_the_parents_result_alone(world: World) -> None:
    text = "import os\ndef f():\n    pid = os.fork()\n    if pid == 0:\n        return 'child'\n    os.waitpid(pid, 0)\n    return 'parent'"
    assert call(world, text).value == "parent"


def test_FN_24_a_default_that_is_no_json_is_the_functions_own(world: World) -> None:
    text = "MARK = object()\ndef f(x=MARK, items=[]):\n    return [x is MARK, items]"
    assert call(world, text).value == [True, []]


def test_FN_27_a_builtin_without_a_signature_is_called_by_position(world: World) -> None:
    world.declare({"fn": "math:hypot", "params": [{"name": "a", "type": "float"}, {"name": "b", "type": "float"}]})
    assert world.box.call("hypot", {"a": 3, "b": 4}).value == 5.0


def test_arguments_arrive_with_their_types(world: World) -> None:
    text = "def f(n: int, s: str, items: list[float], flag: bool = False, d: dict | None = None):\n    return [n, s, items, flag, d]"
    given = {"n": "3", "s": 4, "items": "[1, 2.5]", "flag": "yes", "d": '{"a": 1}'}
    assert call(world, text, given).value == [3, "4", [1.0, 2.5], True, {"a": 1}]


# ---- failures


FAILURES = [
    pytest.param("def f(): raise ValueError('no luck')", "failed: ValueError: no luck", id="an exception"),
    pytest.param("def f(): return object()", "failed: cannot return a `object` at value; return JSON: text, numbers, true, false, None, lists and mappings of them", id="FN-12 an object"),
    pytest.param("def f(): return {'a': [1, float('nan')]}", "failed: cannot return a `float` that is nan at value['a'][1]; JSON has no such number; return None or text", id="NaN"),
    pytest.param("def f(): return {(1, 2): 3}", "failed: cannot return a key of type `tuple` at value; JSON's keys are text", id="FN-08 a tuple as key"),
    pytest.param("def f(): return {1: 'a', '1': 'b'}", "failed: cannot return a mapping with two keys '1' at value; JSON's keys are text", id="FN-08 keys that collide"),
    pytest.param("import sys\ndef f(): sys.exit(0)", "failed: the tool ended with sys.exit(0) and returned nothing", id="FN-14 sys.exit(0)"),
    pytest.param("import sys\ndef f(): sys.exit(3)", "failed: the tool ended with sys.exit(3) and returned nothing", id="FN-14 sys.exit(3)"),
    pytest.param("import sys\ndef f(): sys.exit('bye')", "failed: the tool ended with sys.exit('bye') and returned nothing", id="FN-14 sys.exit(text)"),
    pytest.param("import os\ndef f(): os._exit(0)", "ended without a result (with exit code 0)", id="FN-15 os._exit(0)"),
    pytest.param("import os\ndef f(): os._exit(4)", "ended without a result (with exit code 4)", id="FN-15 os._exit(4)"),
    pytest.param("import os\ndef f(): os.abort()", "ended without a result (was killed by signal 6 (SIGABRT))", id="FN-15 abort"),
    pytest.param("import os, signal\ndef f(): os.kill(os.getpid(), signal.SIGSEGV)", "ended without a result (was killed by signal 11 (SIGSEGV))", id="FN-15 a crash"),
    pytest.param("def f(): raise KeyboardInterrupt", "failed: KeyboardInterrupt", id="FN-19 KeyboardInterrupt"),
]


@pytest.mark.parametrize(("text", "failure"), FAILURES)
def test_every_way_to_fail_is_told_apart(text: str, failure: str, world: World) -> None:
    outcome = call(world, text)
    assert (outcome.ok, outcome.value, outcome.returned, outcome.failure) == (False, None, False, failure)
    assert outcome.stopped is None


def test_os_write_to_the_output_is_no_result(world: World) -> None:
    outcome = call(world, "import os\ndef f(): os.write(1, b'{\"ok\": true, \"value\": 1}')")
    assert (outcome.ok, outcome.value, outcome.stdout) == (True, None, '{"ok": true, "value": 1}')


def test_LEAK_22_an_exception_that_shows_a_secret_is_redacted_in_text_traceback_and_output(world: World) -> None:
    text = "import os, sys\ndef f():\n    print('to', os.environ['TOKEN'], file=sys.stderr)\n    raise ValueError(f\"bad {os.environ['TOKEN']}\")"
    outcome = call(world, text)
    assert outcome.failure == "failed: ValueError: bad [redacted:TOKEN]"
    assert outcome.stderr == "to [redacted:TOKEN]\n"
    assert 'm.py", line 4, in f' in outcome.traceback
    assert "ValueError: bad [redacted:TOKEN]" in outcome.traceback
    assert SECRET not in repr(outcome)


def test_FN_16_a_thread_that_goes_on_delays_no_result_for_long(world: World) -> None:
    text = "import threading, time\ndef f():\n    threading.Thread(target=time.sleep, args=(60,)).start()\n    return 1"
    outcome = call(world, text)
    assert (outcome.ok, outcome.value) == (True, 1)
    assert outcome.seconds < 30


def test_a_missing_variable_is_told_with_what_to_add(make_world: MakeWorld) -> None:
    world = make_world({"GITHUB_TOKEN": "x"})
    world.module("m", "import os\ndef f(): return os.environ['GITHUB_TOKEN']")
    world.declare("fn: m:f")
    outcome = world.box.call("f")
    assert outcome.failure == "failed: KeyError: 'GITHUB_TOKEN'\nadd GITHUB_TOKEN to required_env or env_passthrough"
    assert outcome.notes == (
        "mentions GITHUB_TOKEN, which exists here and is not granted; to grant it add `optional_env: [GITHUB_TOKEN]`",
    )


def test_FN_20_imports_that_fail_leave_the_others_alone(world: World) -> None:
    modules = {
        "needs": "import os\nX = os.environ['X_NEEDED']\ndef f(): ...",
        "exits": "import sys\nsys.exit(2)\ndef f(): ...",
        "dies": "import os\nos._exit(3)\ndef f(): ...",
        "syntax": "def f(:\n",
        "lacks": "import no_such_module_here\ndef f(): ...",
        "good": "print('loaded')\ndef f(): return 1",
    }
    for name, text in modules.items():
        world.module(name, text)
    added = world.add([{"name": name, "fn": f"{name}:f"} for name in modules])
    assert [tool.name for tool in added.tools] == ["good"]
    first = {problem.path: problem.message.splitlines()[0] for problem in added.problems}
    assert first.keys() == {f"public.{name}" for name in modules if name != "good"}
    assert first["public.needs"] == "fn: cannot import `needs` (needs.py, line 2): KeyError: 'X_NEEDED'"
    assert first["public.exits"] == "fn: `exits` calls sys.exit() while it is imported (exits.py, line 2)"
    assert first["public.dies"] == "fn: its interpreter ended while importing the module; run the import alone to see why"
    assert first["public.syntax"].startswith("fn: cannot import `syntax`: SyntaxError: ")
    assert first["public.lacks"] == "fn: cannot import `lacks` (lacks.py, line 1): ModuleNotFoundError: No module named 'no_such_module_here'"
    assert "loaded" in added.printed
    assert world.box.call("good").value == 1


def test_FN_32_an_interpreter_that_is_missing_is_told(world: World) -> None:
    world.module("m", "def f(): ...")
    (problem,) = world.add({"fn": "m:f", "python": "/no/such/python"}).problems
    assert problem.path == "public.f"
    assert "/no/such/python" in problem.message
    assert "\n" not in problem.message


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space hold on Linux")
@pytest.mark.parametrize("limits", [{"nofile": 3}, {"mem_mb": 4}], ids=["nofile", "mem_mb"])
def test_PROC_34_an_interpreter_that_a_limit_keeps_from_starting_says_which(limits: dict[str, int], world: World) -> None:
    world.module("m", "def f(): return 1")
    (name,) = limits
    (problem,) = world.add({"fn": "m:f", "limits": limits}).problems
    assert str(problem) == (
        f"public.f: fn: its interpreter ended while importing the module; a limit may be too low for it: limits.{name}"
    )


def test_a_time_limit_ends_a_function(world: World) -> None:
    outcome = call(world, "import time\ndef f():\n    print('begun', flush=True)\n    time.sleep(31)", limits={"timeout": 1})
    assert (outcome.failure, outcome.stopped, outcome.stdout) == ("was stopped at its time limit, 1 s (limits.timeout)", "timeout", "begun\n")


# ---- the environment, and what is imported


def test_the_names_inside_a_real_function_are_those_of_the_report(world: World) -> None:
    text = "import os\ndef f(): return sorted(os.environ)"
    names = call(world, text, env={"A": "1"}).value
    assert names == sorted(row.variable for row in world.box.report("f").rows if row.state == "set")
    assert names == ["A", "HOME", "LANG", "MCC_CTX", "PATH", "PYTHONPATH", "TOKEN"]


@pytest.mark.parametrize("fields", [{}, {"env": {"PYTHONPATH": "lib"}}])
def test_4_7_pythonpath_is_the_folder_and_then_what_the_layers_below_brought(fields: dict[str, object], world: World) -> None:
    lower = [":lib"] if fields else [""]
    assert call(world, "import os\ndef f(): return os.environ['PYTHONPATH']", **fields).value == f"{world.folder}{lower[0]}"


def test_modules_with_names_of_the_standard_library_break_nothing(world: World) -> None:
    for name in ("json", "types", "models", "enum", "os", "marshal", "sitecustomize"):
        world.module(name, "raise RuntimeError('shadowed')" if name not in ("models", "sitecustomize") else "MINE = 'mine'")
    text = "import json, types, enum, models\ndef f(): return json.dumps([models.MINE, types.SimpleNamespace(a=1).a])"
    assert call(world, text).value == '["mine", 1]'


def test_python_names_work_because_the_interpreter_starts_with_them(world: World) -> None:
    text = "import sys\ndef f():\n    assert False, 'asserts are off'\n    return sys.flags.optimize"
    assert call(world, text, env={"PYTHONOPTIMIZE": "1"}).value == 1


def test_a_function_of_a_cell_runs_from_its_source(world: World) -> None:
    source = Source("import os\n\ndef f(n: int = 2):\n    'Doubles.'\n    return [n * 2, os.environ['TOKEN']]\n", "<cell 3>", "f")
    added = world.box.add_function(source, {"env_passthrough": ["TOKEN"]}, Origin("cell", "cell 3", "c3"), folder=str(world.folder))
    assert (added.problems, added.tools[0].description) == ((), "Doubles.")
    assert world.box.call("f").value == [4, "[redacted:TOKEN]"]
    other = Source("def g(): return 1\n", "<cell 3>", "g")
    world.box.add_function(other, {"name": "other"}, Origin("cell", "cell 3", "c3"), folder=str(world.folder))
    assert sorted(tool.name for tool in world.box.registry) == ["f", "other"]
    assert world.box.call("other").value == 1


# ---- the session


def test_a_function_that_changes_its_context_writes_the_difference_back(world: World) -> None:
    world.box.session.update(kept=1, gone=2, rows=[1])
    text = "def f(context):\n    context['rows'].append(2)\n    context['new'] = {'a': None}\n    del context['gone']\n    context['user'] = 'eve'\n    return context['user']"
    outcome = call(world, text)
    assert (outcome.value, outcome.notes) == ("eve", ())
    assert dict(world.box.session) == {"user": "ana", "groups": ["admin"], "tools": [], "kept": 1, "rows": [1, 2], "new": {"a": None}}


def test_nothing_is_written_back_if_the_function_fails(world: World) -> None:
    assert not call(world, "def f(context):\n    context['k'] = 1\n    raise ValueError").ok
    assert "k" not in world.box.session


def test_a_change_that_is_no_json_is_a_note_and_the_result_stands(world: World) -> None:
    outcome = call(world, "def f(context):\n    context['k'] = {1, 2}\n    context['ok'] = 1\n    return 7")
    assert outcome.value == 7
    (note,) = outcome.notes
    assert note.startswith("the session was not changed: cannot keep a `set` at context['k']")
    assert "ok" not in world.box.session


def test_ENV_09_a_function_gets_a_session_too_large_for_a_variable_all_the_same(world: World) -> None:
    world.box.session["blob"] = "x" * 200_000
    text = "import json, os\ndef f(context):\n    whole = json.load(open(os.environ['MCC_SESSION_FILE']))\n    return [len(context['blob']), whole == context, 'MCC_CTX' in os.environ]"
    outcome = call(world, text)
    assert outcome.value == [200_000, True, False]
    assert world.box.report("f").notes[-1] == "too large for an environment variable, or not fit to be one; in MCC_SESSION_FILE instead: MCC_CTX"


def test_concurrent_functions_lose_no_update(world: World) -> None:
    world.module("m", "def f(n: int, context):\n    context[f'k{n}'] = n")
    world.declare("fn: m:f")
    outcomes = world.box.map("f", [{"n": n} for n in range(8)], workers=4)
    assert all(outcome.ok for outcome in outcomes)
    assert {key: world.box.session[key] for key in world.box.session if key.startswith("k")} == {f"k{n}": n for n in range(8)}


# ---- declarations


def test_the_session_that_a_signature_is_read_with_is_the_callers(world: World) -> None:
    world.box.session["k"] = "v"
    world.module("m", "import os, json\nprint(json.loads(os.environ['MCC_CTX'])['k'])\ndef f(): ...")
    assert world.add("fn: m:f").printed == "v\n"


def test_an_error_of_a_function_names_the_tool_and_the_tool_can_be_called_again(world: World) -> None:
    world.module("m", "import os\ndef f():\n    if not os.path.exists('ready'): raise RuntimeError('not yet')\n    return 1")
    world.declare("fn: m:f")
    with pytest.raises(MccError) as caught:
        world.box.call("f").raise_for_failure()
    assert str(caught.value) == "Tool 'f' failed: RuntimeError: not yet"
    (world.folder / "ready").touch()
    assert world.box.call("f").value == 1
    assert os.path.exists(world.folder / "ready")
