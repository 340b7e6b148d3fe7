"""Trouble that functions are known for, with the right answer, in a forked process and in a new one (SPEC 2.7, 2.8, 7.3)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from mcc_jupyter.core.errors import ArgumentError

from .conftest import World

MODES = [pytest.param(False, id="imported"), pytest.param(True, id="started anew")]


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world()


def declare(world: World, source: str, *names: str, **fields: object) -> None:
    world.module("mod", source)
    world.add([{"name": name, "fn": f"mod:{name}", **fields} for name in names or ("t",)]).raise_for_problems()


OUTPUT = [
    pytest.param("print('noise'); return {'ok': 1}", {"ok": 1}, "noise\n", id="FN-01 print"),
    pytest.param(
        "sys.stdout.flush(); os.write(1, b'X'); os.system('echo Y'); subprocess.run(['echo', 'Z']); sys.__stdout__.write('W'); return 1",
        1,
        "XY\nZ\nW",
        id="FN-02 below Python",
    ),
    pytest.param("atexit.register(print, 'late'); return {'ok': 1}", {"ok": 1}, "late\n", id="FN-03 at exit"),
    pytest.param("threading.Thread(target=lambda: (time.sleep(.1), print('late'))).start(); return 1", 1, "late\n", id="FN-03 a thread"),
    pytest.param("return 'child' if os.fork() == 0 else 'parent'", "parent", "", id="FN-18 a fork"),
    pytest.param("return 2**80", 2**80, "", id="FN-09 a large integer"),
]
IMPORTS = "import atexit, os, subprocess, sys, threading, time\n"


@pytest.mark.parametrize("fresh", MODES)
@pytest.mark.parametrize(("body", "value", "stdout"), OUTPUT)
def test_the_result_and_the_output_are_kept_apart(world: World, body: str, value: object, stdout: str, fresh: bool) -> None:
    declare(world, f"{IMPORTS}def t():\n    {body}\n", fresh=fresh)
    outcome = world.box.call("t")

    assert (outcome.ok, outcome.value, outcome.stdout) == (True, value, stdout)
    if sys.platform == "linux":
        assert outcome.mode == ("cold" if fresh else "warm")


VALUES = [
    ("datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)", "2024-01-02T03:04:05+00:00"),
    ("datetime.date(2024, 1, 2)", "2024-01-02"),
    ("decimal.Decimal('1.50')", "1.50"),
    ("{3, 1, 2}", [1, 2, 3]),
    ("(1, 2)", [1, 2]),
    ("pathlib.Path('/a/b')", "/a/b"),
    ("Colour.RED", "red"),
    ("Point(1, 2)", {"x": 1, "y": 2}),
]
KINDS = (
    "import dataclasses, datetime, decimal, enum, pathlib\n"
    "class Colour(enum.Enum):\n    RED = 'red'\n"
    "@dataclasses.dataclass\nclass Point:\n    x: int\n    y: int\n"
)


@pytest.mark.parametrize("fresh", MODES)
def test_fn_07_values_of_other_types_are_converted(world: World, fresh: bool) -> None:
    listed = ", ".join(text for text, _ in VALUES)
    declare(world, f"{KINDS}def t():\n    return [{listed}]\ndef raw():\n    return b'bytes'\n", "t", "raw", fresh=fresh)

    assert world.box.call("t").value == [value for _, value in VALUES]
    assert str(world.box.call("raw").failure).startswith("failed: cannot return a `bytes` at value; ")


def test_fn_09_an_argument_of_too_many_digits_is_refused(world: World) -> None:
    declare(world, "def t(n: int):\n    return n\n")
    assert world.box.call("t", {"n": 2**53 + 1}).value == 2**53 + 1
    with pytest.raises(ArgumentError) as caught:
        world.box.call("t", {"n": "9" * 5000})
    assert "Traceback" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "999" not in str(caught.value)


@pytest.mark.parametrize("fresh", MODES)
@pytest.mark.parametrize(
    "source",
    [
        "def t():\n    yield 1\n    yield 2\n",
        "async def t():\n    return [1, 2]\n",
        "async def t():\n    yield 1\n    yield 2\n",
        "async def co():\n    return [1, 2]\ndef t():\n    return co()\n",
    ],
    ids=["a generator", "a coroutine", "an async generator", "a returned awaitable"],
)
def test_fn_11_generators_and_coroutines_are_run_to_their_end(world: World, source: str, fresh: bool) -> None:
    declare(world, source, fresh=fresh)
    assert world.box.call("t").value == [1, 2]


def test_fn_20_one_module_with_trouble_at_import_takes_no_other_with_it(world: World) -> None:
    world.module("needs", "import os\nX = os.environ['NEEDED_NAME']\ndef t(): return 1\n")
    world.module("ends", "import sys\nsys.exit(3)\n")
    world.module("broken", "def t(:\n")
    world.module("lacks", "import no_such_module_anywhere\n")
    world.module("prints", "print('loading')\ndef t(): return 1\n")
    added = world.add([{"name": name, "fn": f"{name}:t"} for name in ("needs", "ends", "broken", "lacks", "prints")])

    problems = {problem.path: str(problem) for problem in added.problems}
    assert [tool.name for tool in added.tools] == ["prints"]
    assert added.printed == "loading\n"
    assert sorted(problems) == ["public.broken", "public.ends", "public.lacks", "public.needs"]
    assert "NEEDED_NAME" in problems["public.needs"]
    assert "required_env" in problems["public.needs"]
    assert "SystemExit: 3" in problems["public.ends"]
    assert "broken.py" in problems["public.broken"]
    assert "no_such_module_anywhere" in problems["public.lacks"]


def schemas(world: World, name: str = "t") -> dict[str, Any]:
    return {param.name: param.schema for param in world.box.registry.find(name).params}


def test_fn_21_annotations_that_are_text_are_understood(world: World) -> None:
    declare(world, "from __future__ import annotations\ndef t(a: int, b: list[str] | None = None, c: Missing = ''):\n    return 1\n")
    found = schemas(world)

    assert found["a"] == {"type": "integer"}
    assert "array" in str(found["b"])
    assert found["c"] == {"type": "string"}


def test_fn_22_rich_annotations_become_schemas(world: World) -> None:
    declare(
        world,
        "import enum, pathlib\nfrom typing import Annotated, Literal, Optional, Union\n"
        "class Colour(enum.Enum):\n    RED = 'red'\n"
        "def t(a: Literal['r', 'w'], b: Optional[int], c: Annotated[int, 'x'], d: Union[int, str], e: dict[str, int], f: pathlib.Path, g: Colour):\n"
        "    return 1\n",
    )
    found = schemas(world)

    assert "r" in str(found["a"])
    assert "integer" in str(found["b"])
    assert found["c"]["type"] == "integer"
    assert "integer" in str(found["d"])
    assert "string" in str(found["d"])
    assert found["e"]["type"] == "object"
    assert found["f"]["type"] == "string"
    assert "red" in str(found["g"])


@pytest.mark.parametrize("fresh", MODES)
def test_fn_23_every_kind_of_parameter_is_passed_as_the_function_takes_it(world: World, fresh: bool) -> None:
    source = "def f(a, /, b=2): return [a, b]\ndef g(*, a): return a\ndef h(*a): return len(a)\ndef k(a, **kw): return [a, kw]\n"
    declare(world, source, *"fghk", fresh=fresh)

    assert world.box.call("f", {"a": 1}).value == [1, 2]
    assert world.box.call("g", {"a": 1}).value == 1
    assert world.box.call("h").value == 0
    assert world.box.call("k", {"a": 1}).value == [1, {}]
    with pytest.raises(ArgumentError):
        world.box.call("k", {"a": 1, "other": 2})


@pytest.mark.parametrize("fresh", MODES)
def test_fn_24_a_default_that_is_no_json_is_the_functions_own(world: World, fresh: bool) -> None:
    source = (
        "import datetime\nTHING = object()\n"
        "def t(a=[], b=THING, c=float('nan'), d=datetime.date(2024, 1, 2)):\n    return [a == [], b is THING, c != c, type(d).__name__]\n"
    )
    declare(world, source, fresh=fresh)

    assert world.box.call("t").value == [True, True, True, "date"]
    assert "object at 0x" not in str(world.box.registry.find("t").params)


def test_fn_32_an_interpreter_that_is_not_there_is_told_with_its_path_as_written(world: World) -> None:
    world.module("mod", "def t(): return 1\n")
    added = world.add({"name": "t", "fn": "mod:t", "python": "/no/such"})

    assert added.tools == ()
    assert "`/no/such`" in str(added.problems[0])
