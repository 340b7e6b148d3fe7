"""A call uses its tool's last resolution and report while nothing they were made of has changed."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from mcc_jupyter.runtime import toolbox

from .conftest import FakeLauncher, World


def test_a_resolution_is_used_again_until_something_changes(make_world: Callable[..., World]) -> None:
    world = make_world({"TOKEN": "first-value-of-it"}, launcher=FakeLauncher())
    (world.folder / "a.env").write_text("A=1\n")
    tool = "name: t\nexec: x\nenv_passthrough: [TOKEN]\nenv_file: a.env\n"
    world.declare(tool)

    def now() -> object:
        return world.box._resolve(world.box.registry.find("t"))

    def changed(before: object) -> bool:
        return now() is not before and now() is now()

    first = now()
    assert now() is first
    world.variables["TOKEN"] = "second-value-of-it"
    assert changed(first)
    second = now()
    world.box.session["note"] = "x"
    assert changed(second)
    third = now()
    (world.folder / "a.env").write_text("A=2\n")
    assert changed(third)
    fourth = now()
    world.declare(tool)
    assert changed(fourth)


def test_a_report_is_made_once_and_one_with_everything_each_time(make_world: Callable[..., World]) -> None:
    world = make_world(launcher=FakeLauncher())
    world.declare("name: t\nexec: x\n")

    assert world.box.report("t") is world.box.report("t")
    assert world.box.report("t", everything=True) is not world.box.report("t", everything=True)
    assert world.box.report("t", everything=True).json() != world.box.report("t").json()
    world.box.place = "another place"
    assert "From another place" in world.box.report("t").text()


def test_only_so_many_are_remembered(make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolbox, "_REMEMBERED", 2)
    world = make_world(launcher=FakeLauncher())
    for name in "abcd":
        world.declare(f"name: {name}\nexec: x\n")

    assert len(world.box._last) <= 2


@pytest.mark.skipif(sys.platform != "linux", reason="names Landlock")
def test_ENV_18_the_footer_says_what_confines_this_tool(make_world: Callable[..., World]) -> None:
    world = make_world(launcher=FakeLauncher())
    world.declare("- {name: t, exec: x}\n- {name: open, exec: x, isolation: false}\n")

    assert world.box.report("t").footer[1] == "Isolation: Landlock, no new privileges: a tool cannot read or trace other processes. Nothing keeps it from files."
    assert world.box.report("open").footer[1].startswith("Isolation: off for this tool: own process, nothing is confined.")
