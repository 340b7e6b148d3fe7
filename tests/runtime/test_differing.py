"""What a declaration changes against the last one, or the lock."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcc_jupyter.core.declare import Place, declare
from mcc_jupyter.core.errors import DeclarationError, UnknownTool
from mcc_jupyter.core.tool import DEFAULT_FLOOR, Origin
from mcc_jupyter.runtime.checking import check, write_lock
from mcc_jupyter.runtime.differing import diff, lines, lock_file
from mcc_jupyter.runtime.registry import Registry

CELL = Origin("cell", "%%mcc_tool", "c1")


def put(registry: Registry, *documents: dict[str, object], parent: dict[str, str] | None = None) -> None:
    declared = declare(list(documents), Place(parent or {}, DEFAULT_FLOOR, "/", None, CELL))
    assert declared.problems == ()
    registry.put(declared.tools, CELL, complete=True)


def told(registry: Registry, *name: str, lock: Path | None = None) -> list[str]:
    return lines(diff(registry, *name, lock=None if lock is None else str(lock)))


def test_against_the_last_declaration() -> None:
    registry = Registry()
    put(registry, {"name": "t", "exec": "echo", "required_env": ["A"]}, {"name": "u", "exec": "echo"})
    assert told(registry, "t") == ["t +exec tool", "t +A required"]

    put(registry, {"name": "t", "exec": "echo", "env_passthrough": ["A*"]}, {"name": "u", "exec": "echo $B"})
    assert told(registry, "t") == ["t +A* passthrough"]
    assert told(registry) == ["t +A* passthrough", "u +B reference"]

    put(registry, {"name": "t", "exec": "echo", "env_passthrough": ["A*"], "groups": ["ops"]}, {"name": "u", "exec": "echo $B"})
    assert told(registry, "t") == ["t -public group"]
    assert told(registry, "ops.t") == ["t -public group"]
    assert told(registry, "u") == []
    with pytest.raises(UnknownTool):
        told(registry, "nope")


def test_two_tools_of_one_name_are_told_by_key() -> None:
    registry = Registry()
    put(registry, {"name": "t", "exec": "echo"}, {"name": "t", "exec": "echo", "groups": ["ops"]})

    assert told(registry) == ["ops.t +exec tool", "public.t +exec tool"]
    assert told(registry, "ops.t") == ["ops.t +exec tool"]


def test_against_the_lock_whatever_this_parent_has(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("{name: t, exec: echo $A, params: [{name: p, default: '${B:-${C:-d}}'}]}\n")
    lock = tmp_path / "mcc.lock"
    write_lock(str(lock), check([str(tmp_path / "a.yaml")], None, folder=str(tmp_path)).lock)
    same: dict[str, object] = {"name": "t", "exec": "echo $A", "params": [{"name": "p", "default": "${B:-${C:-d}}"}]}

    for parent in ({}, {"A": "1", "B": "1"}, {"C": "1"}):
        registry = Registry()
        put(registry, same, parent=parent)
        assert told(registry, "t", lock=lock) == []

    put(registry, {**same, "env": {"X": "$D"}}, {"name": "new", "exec": "echo"})
    assert told(registry, lock=lock) == ["new +exec tool", "a.yaml: t +D reference", "a.yaml: t +X env"]
    assert told(registry, "t", lock=lock) == ["t +D reference", "t +X env"]


def test_a_name_that_several_files_have_is_compared_with_each(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("{name: t, exec: echo $A}\n")
    (tmp_path / "b.yaml").write_text("{name: t, exec: echo $B}\n")
    lock = tmp_path / "mcc.lock"
    write_lock(str(lock), check([str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")], None, folder=str(tmp_path)).lock)
    registry = Registry()
    put(registry, {"name": "t", "exec": "echo $C"})

    assert told(registry, "t", lock=lock) == ["a.yaml: t -A reference", "a.yaml: t +C reference", "b.yaml: t -B reference", "b.yaml: t +C reference"]


def test_a_lock_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError) as caught:
        told(Registry(), lock=tmp_path / "mcc.lock")

    assert str(caught.value) == f"{tmp_path}/mcc.lock: there is no such lock; write it with `mcc-jupyter check --update`"


def test_the_nearest_lock_above_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert lock_file(str(tmp_path / "a" / "b")) == str(tmp_path / "a" / "b" / "mcc.lock")
    (tmp_path / "mcc.lock").touch()
    assert lock_file(str(tmp_path / "a" / "b")) == str(tmp_path / "mcc.lock")
    monkeypatch.chdir(tmp_path / "a")
    (tmp_path / "a" / "mcc.lock").touch()
    assert lock_file() == str(tmp_path / "a" / "mcc.lock")
