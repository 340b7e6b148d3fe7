"""SPEC 4.10: what this machine allows, and a real process that has so much."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mcc_jupyter.core.errors import ToolUnavailable
from mcc_jupyter.core.tool import Limits
from mcc_jupyter.runtime.sizes import environment_room, sized, too_low, what_to_do

from .conftest import World

MIB = 1024 * 1024
RESERVE = 64 * 1024

ROOM = [
    (8 * MIB, 2 * MIB - RESERVE),
    (32 * MIB, 6 * MIB - RESERVE),
    (resource.RLIM_INFINITY, 6 * MIB - RESERVE),
    (1 * MIB, 256 * 1024 - RESERVE),
    (512 * 1024, 128 * 1024 - RESERVE),
    (256 * 1024, 128 * 1024 - RESERVE),
    (0, 128 * 1024 - RESERVE),
]


@pytest.mark.parametrize(("stack", "room"), ROOM)
def test_the_room_is_a_quarter_of_the_stack_and_bounded_less_a_reserve(
    stack: int, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda what: (stack, stack) if what == resource.RLIMIT_STACK else (0, 0))
    assert environment_room() == room


def test_a_real_process_starts_with_as_much_as_the_room_allows() -> None:
    per_variable = 100_000 + len("V00=") + 9  # a terminator and a pointer
    count = environment_room() // per_variable
    environ = {f"V{at:02}": "x" * 100_000 for at in range(count)}
    assert subprocess.run(["/bin/true"], env=environ).returncode == 0
    assert count >= 1
    assert os.sysconf("SC_ARG_MAX") >= environment_room()


KINDS = [pytest.param({"exec": "touch ran"}, id="exec"), pytest.param({"fn": "work:f"}, id="fn")]
MODULE = "import pathlib\n\ndef f():\n    pathlib.Path('ran').touch()\n    return 1\n"


def refusal(world: World, name: str) -> str:
    with pytest.raises(ToolUnavailable) as caught:
        world.box.call(name)
    assert not (world.folder / "ran").exists()
    return str(caught.value)


@pytest.mark.parametrize("body", KINDS)
def test_one_variable_that_grew_too_large_is_named_at_the_call_and_nothing_starts(body: dict[str, str], make_world: Callable[..., World]) -> None:
    world = make_world({"BIG": "x"})
    world.module("work", MODULE)
    world.declare({"name": "t", **body, "env_passthrough": ["BIG"]})
    world.variables["BIG"] = "x" * 200_000
    assert refusal(world, "t") == "Tool 't' is unavailable; variable BIG has 200,004 bytes with its name; one variable may have 131,071"
    world.variables["BIG"] = "x" * (131_071 - len("BIG="))
    assert world.box.call("t").ok


@pytest.mark.parametrize("body", KINDS)
def test_variables_that_are_too_large_together_are_told_with_the_largest(
    body: dict[str, str], make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = (1 * MIB, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    world = make_world()
    world.module("work", MODULE)
    world.declare({"name": "t", **body, "env_passthrough": ["BIG_*"]})
    world.variables |= {f"BIG_{at}": "x" * (60_000 + at) for at in range(4)}
    text = refusal(world, "t")
    assert text.startswith("Tool 't' is unavailable; its ")
    assert text.endswith(f"bytes and a process may have {256 * 1024 - RESERVE:,}; the largest is BIG_3 with 60,009")


_SMALL_STACK = """
import json, pathlib, resource, sys
resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))
from mcc_jupyter.core.errors import ToolUnavailable
from mcc_jupyter.core.tool import Origin
from mcc_jupyter.runtime.toolbox import Toolbox
parent = {"PATH": "/usr/bin:/bin"}
toolbox = Toolbox(lambda: dict(parent))
found = []
for body in ({"exec": "true"}, {"fn": "work:f"}):
    toolbox.add({"name": "t", **body, "env_passthrough": ["BIG*"]}, Origin("python", "test"), folder=sys.argv[1])
    for count in (170, 200):
        parent.update({f"BIG_{at:03}": "x" * 1000 for at in range(count)})
        try:
            found.append(toolbox.call("t").ok)
        except ToolUnavailable as error:
            found.append(str(error).partition("; ")[2])
    parent = {"PATH": parent["PATH"]}
toolbox.close()
print(json.dumps(found))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the stack limit says nothing about the environment")
def test_with_a_stack_of_one_mib_what_starts_is_told_from_what_does_not(tmp_path: Path) -> None:
    (tmp_path / "work.py").write_text("def f():\n    return 1\n")
    ran = subprocess.run([sys.executable, "-c", _SMALL_STACK, str(tmp_path)], capture_output=True, text=True, check=True)
    fits, told, fits_too, told_too = json.loads(ran.stdout)
    assert (fits, fits_too) == (True, True)
    for text in (told, told_too):
        assert text.startswith("its 20")
        assert text.endswith(f"bytes and a process may have {256 * 1024 - RESERVE:,}; the largest is BIG_000 with 1,008")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the stack limit says nothing about the environment")
def test_with_a_stack_of_256_kib_a_tool_with_few_variables_starts(tmp_path: Path) -> None:
    script = _SMALL_STACK.replace("1 << 20, 1 << 20", "1 << 18, 1 << 18").replace('({"exec": "true"}, {"fn": "work:f"})', '({"exec": "true"},)').replace("(170, 200)", "(40, 200)")
    ran = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    fits, told = json.loads(ran.stdout)
    assert fits is True
    assert told.endswith(f"bytes and a process may have {128 * 1024 - RESERVE:,}; the largest is BIG_000 with 1,008")


@pytest.mark.parametrize(
    ("few", "text"),
    [
        (16, "it needs 32 descriptors and this process may have 16; raise the limit (`ulimit -n`)"),
        (31, "it needs 32 descriptors and this process may have 31; raise the limit (`ulimit -n`)"),
        (32, "call again"),
        (resource.RLIM_INFINITY, "call again"),
    ],
)
def test_a_launcher_that_has_too_few_descriptors_is_told_as_that(few: int, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda what: (few, few) if what == resource.RLIMIT_NOFILE else (0, 0))
    assert what_to_do() == text


_FEW = """
import resource, sys
from mcc_jupyter.core.tool import Origin
from mcc_jupyter.runtime.toolbox import Toolbox
import mcc_jupyter.runtime.calls
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
toolbox = Toolbox(lambda: {"PATH": "/usr/bin:/bin"})
toolbox.add({"name": "t", "exec": "true"}, Origin("python", "test"), folder="/")
print(toolbox.call("t").failure)
"""


def test_with_too_few_descriptors_a_call_says_so() -> None:
    ran = subprocess.run([sys.executable, "-c", _FEW], capture_output=True, text=True, check=True)
    told = "could not start: the launcher ended; it needs 32 descriptors and this process may have 20; raise the limit (`ulimit -n`)\n"
    assert ran.stdout == told


@pytest.mark.parametrize(
    ("limits", "code", "low"),
    [
        ({"nofile": 5}, 2, ("limits.nofile",)),
        ({"nofile": 5}, 0, ()),
        ({"nofile": 5}, None, ()),
        ({"nofile": 16}, 2, ()),
        ({"nofile": 16}, 127, ("limits.nofile",)),
        ({"mem_mb": 10}, 2, ()),
        ({"mem_mb": 10}, -9, ("limits.mem_mb",)),
        ({"mem_mb": 10, "nofile": 64}, 126, ("limits.mem_mb", "limits.nofile")),
        ({}, 127, ()),
    ],
)
def test_the_limits_that_may_be_too_low_for_a_program(limits: dict[str, int], code: int | None, low: tuple[str, ...]) -> None:
    assert too_low(Limits(**limits), code) == low  # type: ignore[arg-type]


def test_any_low_number_of_files_is_told_where_a_shell_fails_of_it(make_world: Callable[..., World]) -> None:
    world = make_world()
    for nofile in (1, 3, 5, 9):
        world.declare({"name": "t", "exec": "echo hi", "limits": {"nofile": nofile}})
        outcome = world.box.call("t")
        assert outcome.notes == ("a limit may be too low for it: limits.nofile",)


@pytest.mark.parametrize(("size", "text"), [(0, "0 bytes"), (1, "1 byte"), (2, "2 bytes"), (12_345, "12,345 bytes")])
def test_bytes_in_words(size: int, text: str) -> None:
    assert sized(size) == text
