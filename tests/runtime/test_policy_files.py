"""A policy file on disk: it gives an authority or all that is wrong with it, and no byte of its text is in an error."""

from __future__ import annotations

import grp
import importlib.metadata
import os
import pwd
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from mcc_jupyter.core.tool import Origin
from mcc_jupyter.runtime import policy_files
from mcc_jupyter.runtime.policy_files import LIMIT, Loaded, exposure, load, plugin_types, stamp


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mcc.toml"


def loaded(path: Path, text: str | bytes | None = None, **environment: str) -> Loaded:
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load(str(path), environment, Origin("policy", "mcc.toml"))


def problems(found: Loaded) -> list[str]:
    assert found.authority is None
    return [str(problem) for problem in found.problems]


def test_a_file_gives_an_authority(path: Path) -> None:
    found = loaded(path, "\ufeff[tools.a]\nexec = 'echo'\ncwd = 'sub'\nenv_file = '~/x.env'\n", HOME="/home/u")
    assert found.authority is not None
    assert found.problems == ()
    tool = found.authority.tools["a"].tool
    assert (tool.cwd.value, tool.env_files[0].path) == (str(path.parent / "sub"), "/home/u/x.env")
    assert found.stamp == stamp(str(path))


def test_paths_begin_where_a_link_leads_to(path: Path) -> None:
    (path.parent / "real").mkdir()
    (path.parent / "real/policy").write_text("[tools.a]\nexec = 'echo'\n")
    path.symlink_to(path.parent / "real/policy")
    found = loaded(path)
    assert found.authority is not None
    assert found.authority.tools["a"].tool.cwd.value == str(path.parent / "real")


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda path: None, "mcc.toml: the policy file cannot be read (no such file or directory)"),
        (lambda path: path.symlink_to("gone"), "mcc.toml: the policy file cannot be read (no such file or directory)"),
        (lambda path: path.mkdir(), "mcc.toml: the policy file is no regular file"),
        (os.mkfifo, "mcc.toml: the policy file is no regular file"),
        (lambda path: path.write_bytes(b"#" * (LIMIT + 1)), "mcc.toml: the policy file is larger than 1 MiB"),
        (lambda path: path.write_bytes(b"# \xe9"), "mcc.toml: the policy file is not UTF-8"),
        (lambda path: path.write_text("a = SENTINEL\n"), "mcc.toml: the policy file is no TOML (at line 1, column 5)"),
        (lambda path: path.write_text("[tools.a]\n[tools.a]\n"), "mcc.toml: the policy file is no TOML (at line 2, column 9)"),
        (lambda path: path.write_text("a = " + "[" * 100_000), "mcc.toml: the policy file is nested too deeply"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_gives_nothing_and_says_why(make: Callable[[Path], object], expected: str, path: Path) -> None:
    make(path)
    assert problems(loaded(path)) == [expected]


def test_a_message_of_the_parser_without_a_place_says_no_place() -> None:
    assert policy_files._where("Expected 'SENTINEL'") == ""


def test_every_mistake_is_told_with_its_place(path: Path) -> None:
    assert problems(loaded(path, "[tools.a]\nexec = 'x'\nrequired_enc = ['A']\n[profiles.p]\ntools = ['b']\n")) == [
        "mcc.toml: tools.a: unknown key `required_enc` (did you mean `required_env`?)",
        "mcc.toml: profiles.p.tools[0]: this file has no tool `b`",
    ]


def test_the_stamp_tells_every_change(path: Path) -> None:
    assert stamp(str(path)) == ()
    path.write_text("")
    seen = stamp(str(path))
    assert stamp(str(path)) == seen
    os.utime(path, ns=(1, 1))
    assert stamp(str(path)) != seen


# Types of plugins


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Installed types by name; ``asked`` are the groups that were looked for."""
    known: dict[str, object] = {}

    def entry_points(group: str) -> list[object]:
        asked.append(group)
        return [SimpleNamespace(name=name, load=lambda kind=kind: kind) for name, kind in known.items()]

    asked: list[str] = []
    known_asked = asked
    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    known["_"] = known_asked
    return known


LINEAR = "[tools.linear]\ntype = 'linear'\nteam = 'core'\nrequired_env = ['LINEAR_API_KEY']\n"


def test_a_plugin_gives_a_type_and_is_only_looked_for_where_the_file_uses_it(path: Path, plugins: dict[str, object]) -> None:
    plugins["linear"] = lambda name, keys: {"exec": f"{name} {keys['team']}"}

    assert plugin_types(set()) == {}
    assert loaded(path, "[tools.a]\nexec = 'x'\n").authority is not None
    assert plugins["_"] == []
    found = loaded(path, LINEAR)
    assert found.authority is not None
    assert found.authority.tools["linear"].tool.body.written == "linear core"  # type: ignore[union-attr]
    assert plugins["_"] == [policy_files.TOOL_TYPES]


def broken(name: str, keys: Mapping[str, object]) -> Mapping[str, object]:
    raise ValueError("SENTINEL")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (broken, 'mcc.toml: tools.linear: the plugin of type "linear" raised ValueError; ask who maintains it'),
        (lambda name, keys: None, 'mcc.toml: tools.linear: the plugin of type "linear" gave NoneType, no mapping; ask who maintains it'),
    ],
)
def test_a_plugin_that_fails_is_a_problem_of_the_file(kind: object, expected: str, path: Path, plugins: dict[str, object]) -> None:
    plugins["linear"] = kind
    assert problems(loaded(path, LINEAR)) == [expected]


# Who may write it


def test_a_file_that_others_may_write_is_warned_of(path: Path) -> None:
    path.write_text("")
    path.chmod(0o600)
    path.parent.chmod(0o700)
    assert exposure(str(path)) == ()
    path.chmod(0o602)
    file = "warning: the policy file may be written by others than its owner; `chmod go-w` takes that away"
    folder = file.replace("the policy", "the folder of the policy")
    assert exposure(str(path)) == (file,)
    path.parent.chmod(0o777)
    assert exposure(str(path)) == (file, folder)
    path.parent.chmod(0o1777)
    assert exposure(str(path)) == (file,)
    path.unlink()
    assert exposure(str(path)) == ()


@pytest.mark.parametrize(
    ("name", "members", "own"), [("u", [], True), ("u", ["u"], True), ("u", ["u", "v"], False), ("staff", [], False), (None, [], False)]
)
def test_a_group_of_one_user_alone_is_no_other(name: str | None, members: list[str], own: bool, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def group(number: int) -> object:
        if name is None:
            raise KeyError
        return SimpleNamespace(gr_name=name, gr_mem=members)

    monkeypatch.setattr(grp, "getgrgid", group)
    monkeypatch.setattr(pwd, "getpwuid", lambda number: SimpleNamespace(pw_name="u"))
    path.write_text("")
    path.parent.chmod(0o700)
    path.chmod(stat.S_IRUSR | stat.S_IWUSR | stat.S_IWGRP)
    assert (exposure(str(path)) == ()) is own
