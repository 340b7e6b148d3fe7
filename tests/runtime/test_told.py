"""The entries of a toolbox in its manifest: made again only when they would be others."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from mcc_jupyter.runtime import told as tolds
from mcc_jupyter.runtime.identity import Identity
from mcc_jupyter.runtime.told import Told

from .conftest import FakeLauncher, World


class Counted:
    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world, self.told, self.made = world, Told(), 0
        entry = tolds.entry

        def counted(*parts: Any) -> dict[str, object]:
            self.made += 1
            return entry(*parts)

        monkeypatch.setattr(tolds, "entry", counted)

    def now(self) -> list[dict[str, Any]]:
        self.made = 0
        return [json.loads(one) for one in self.world.box.entries(self.told)]


@pytest.fixture
def counted(make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(make_world({"TOKEN": "abc"}, launcher=FakeLauncher()), monkeypatch)


def test_what_cannot_have_changed_is_not_made_again(counted: Counted) -> None:
    world = counted.world
    assert counted.now() == []
    world.add("- {name: a, exec: x, required_env: [TOKEN]}\n- {name: b, exec: x}", cell="one")
    assert [one["name"] for one in counted.now()] == ["a", "b"]
    assert counted.made == 2
    counted.now()
    assert counted.made == 0
    world.add("name: c\nexec: x", cell="two")
    assert ([one["name"] for one in counted.now()], counted.made) == (["a", "b", "c"], 1)
    world.box.registry.remove("b")
    assert ([one["name"] for one in counted.now()], counted.made) == (["a", "c"], 0)
    world.variables["TOKEN"] = "another value of the same class"
    world.box.session["rows"] = 1
    counted.now()
    assert counted.made == 2  # a key of the session is new
    world.box.session["rows"] = 2
    counted.now()
    assert counted.made == 0
    world.variables["TOKEN"] = ""
    assert ([one["available"] for one in counted.now()], counted.made) == ([False, True], 2)
    world.variables["NEW"] = "x"
    counted.now()
    assert counted.made == 2
    world.box.identity = Identity("ana", groups=())
    counted.now()
    assert counted.made == 2


def test_a_changed_file_is_seen_and_a_pipe_is_left_alone(counted: Counted) -> None:
    world = counted.world
    world.add("- {name: a, exec: x, env_file: a.env, required_env: [KEY]}\n- {name: b, exec: x, env_file: b.env}")
    os.mkfifo(world.folder / "b.env")
    assert [one["available"] for one in counted.now()] == [False, True]
    (world.folder / "a.env").write_text("KEY=value\n")
    assert [one["available"] for one in counted.now()] == [True, True]
    assert counted.made > 0
    assert "value" not in json.dumps(counted.now()[0]["report"]["rows"])
