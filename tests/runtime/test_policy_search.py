"""Which policy file holds, and which workspace a process is: the order of SPEC 9.1, and what kernel code cannot change."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from mcc_jupyter.core.handed import VARIABLE, Handed
from mcc_jupyter.runtime import policy_search
from mcc_jupyter.runtime.policy_search import Start, find, jupyter_folders, start_of, workspace_of
from tests.processes import REPOSITORY


def file(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    return str(path)


def searched(start: Start, tmp_path: Path) -> str | None:
    """With a system of its own."""
    return find(start, str(tmp_path / "etc/mcc/mcc.toml"), (str(tmp_path / "etc/jupyter"),))


def test_the_first_found_wins_in_the_order_of_the_specification(tmp_path: Path) -> None:
    user, work = tmp_path / "home/.jupyter", tmp_path / "work"
    work.mkdir()
    environment = {"HOME": str(tmp_path / "home"), "MCC_POLICY": str(tmp_path / "named.toml"), "JUPYTER_CONFIG_PATH": str(tmp_path / "path")}
    start = Start(environment, str(work), began=str(work), policy=str(tmp_path / "traitlet.toml"))
    order = [
        file(tmp_path / "etc/mcc/mcc.toml"),
        file(tmp_path / "traitlet.toml"),
        file(tmp_path / "etc/jupyter/mcc.toml"),
        file(tmp_path / "path/mcc.toml"),
        file(user / "mcc.toml"),
        file(tmp_path / "named.toml"),
        file(work / "mcc.toml"),
        file(tmp_path / "mcc.toml"),
    ]

    for at, expected in enumerate(order):
        assert searched(start, tmp_path) == expected
        os.unlink(expected)
        if at == 1:
            start.policy = None
        if at == 5:
            del environment["MCC_POLICY"]
    assert searched(start, tmp_path) is None


@pytest.mark.parametrize(
    ("written", "expected"),
    [("/abs/p.toml", "/abs/p.toml"), ("sub/p.toml", "/began/sub/p.toml"), ("~/p.toml", "/home/u/p.toml"), ("~u/p.toml", "/began/~u/p.toml")],
)
def test_a_named_file_is_found_whether_it_is_there_or_not(written: str, expected: str, tmp_path: Path) -> None:
    assert searched(Start({"HOME": "/home/u"}, "/folder", began="/began", policy=written), tmp_path) == expected
    assert searched(Start({"HOME": "/home/u", "MCC_POLICY": written}, "/folder", began="/began"), tmp_path) == expected


def test_a_named_file_is_relative_to_the_folder_where_nothing_else_is_known(tmp_path: Path) -> None:
    assert searched(Start({"MCC_POLICY": "p.toml"}, "/folder"), tmp_path) == "/folder/p.toml"
    assert searched(Start({"MCC_POLICY": "p.toml"}), tmp_path) == "/p.toml"
    assert searched(Start({"MCC_POLICY": ""}, str(tmp_path)), tmp_path) is None


def test_where_the_server_was_started_goes_before_the_notebooks_folder(tmp_path: Path) -> None:
    notebook = tmp_path / "root/evil/nb.ipynb"
    file(notebook.parent / "mcc.toml")
    start = Start({"JPY_SESSION_NAME": str(notebook)}, str(notebook.parent), began=str(tmp_path / "root"))

    assert searched(start, tmp_path) == str(notebook.parent / "mcc.toml")
    above = file(tmp_path / "mcc.toml")
    assert searched(start, tmp_path) == above
    nearer = file(tmp_path / "root/mcc.toml")
    assert searched(start, tmp_path) == nearer


def test_of_several_above_a_notebook_the_outermost_holds(tmp_path: Path) -> None:
    notebook = tmp_path / "a/b/c/nb.ipynb"
    file(notebook.parent / "mcc.toml")
    outermost = file(tmp_path / "a/mcc.toml")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    for start in (
        Start({"JPY_SESSION_NAME": str(notebook)}, began=str(elsewhere)),
        Start({}, str(notebook.parent), began=str(elsewhere)),
        Start({}, str(elsewhere), beside=str(notebook)),
    ):
        assert searched(start, tmp_path) == outermost


def test_a_broken_link_and_a_folder_that_may_not_be_looked_into_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mcc.toml").symlink_to(tmp_path / "gone")
    assert searched(Start({}, str(tmp_path)), tmp_path) == str(tmp_path / "mcc.toml")

    def closed(path: str) -> os.stat_result:
        raise PermissionError(13, "closed")

    monkeypatch.setattr(policy_search.os, "lstat", closed)
    assert searched(Start({}), tmp_path) == str(tmp_path / "etc/mcc/mcc.toml")
    assert not policy_search._is_planted(str(tmp_path / "mcc.toml"))


def test_a_stranger_plants_no_file_in_a_folder_that_is_open_to_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file(tmp_path / "open/mcc.toml")
    start = Start({}, str(tmp_path / "open"))
    os.chmod(tmp_path / "open", 0o1777)
    assert searched(start, tmp_path) == path  # it is our own

    monkeypatch.setattr(policy_search.os, "geteuid", lambda: os.getuid() + 1)
    if os.getuid() == 0:
        os.chown(path, 12345, 12345)
    assert searched(start, tmp_path) is None
    os.chmod(tmp_path / "open", 0o755)
    assert searched(start, tmp_path) == path


def test_jupyters_folders_are_the_systems_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/env")
    both = {"HOME": "/home/u", "JUPYTER_CONFIG_PATH": "/p1:relative:/p2", "JUPYTER_CONFIG_DIR": "/own"}

    assert jupyter_folders(both) == ("/etc/jupyter", "/usr/local/etc/jupyter", "/env/etc/jupyter", "/p1", "/p2", "/own")
    assert jupyter_folders({"HOME": "/home/u"})[-1] == "/home/u/.jupyter"
    assert jupyter_folders({})[-1] == "/env/etc/jupyter"


@pytest.mark.parametrize(
    ("environment", "given", "expected"),
    [
        ({}, None, ""),
        ({"MCC_WORKSPACE": "ops"}, None, "ops"),
        ({"MCC_WORKSPACE": "/w/../w/nb.ipynb"}, None, "/w/nb.ipynb"),
        ({"MCC_WORKSPACE": "sub/nb.ipynb"}, None, "sub/nb.ipynb"),
        ({"JPY_SESSION_NAME": "/w/nb.ipynb"}, None, "/w/nb.ipynb"),
        ({"JPY_SESSION_NAME": "/w/nb.ipynb", "MCC_WORKSPACE": "ops"}, None, "/w/nb.ipynb"),
        ({"JPY_SESSION_NAME": "nb.ipynb", "MCC_WORKSPACE": "ops"}, None, "ops"),
        ({"JPY_SESSION_NAME": "/w/nb.ipynb", "MCC_WORKSPACE": "ops"}, "mine", "mine"),
        ({}, "nb.ipynb", "/folder/nb.ipynb"),
        ({}, "sub/x", "/folder/sub/x"),
        ({}, "/w/nb.ipynb", "/w/nb.ipynb"),
        ({"MCC_WORKSPACE": "ops"}, "", ""),
    ],
)
def test_the_workspace_is_the_notebook_or_what_was_named_at_the_start(environment: dict[str, str], given: str | None, expected: str) -> None:
    assert workspace_of(Start(environment, "/folder", workspace=given)) == expected


def test_a_workspace_is_a_real_path(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real").mkdir()

    assert workspace_of(Start({"JPY_SESSION_NAME": str(tmp_path / "link/nb.ipynb")})) == str(tmp_path / "real/nb.ipynb")


def test_the_start_is_the_shells_folder_and_the_processes_first_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_search, "initial_environment", lambda fallback: {"PWD": "/pwd"})
    start = start_of(SimpleNamespace(starting_dir="/shell"), dict)
    assert (start.folder, start.began, start.environment) == ("/shell", "/pwd", {"PWD": "/pwd"})

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(policy_search, "initial_environment", lambda fallback: fallback)
    start = start_of(None, lambda: {"PWD": "relative"})
    assert (start.folder, start.began, start.environment) == (str(tmp_path), None, {"PWD": "relative"})


def test_a_folder_that_is_gone_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> str:
        raise FileNotFoundError

    with monkeypatch.context() as patched:
        patched.setattr(policy_search.os, "getcwd", gone)
        assert start_of(None, dict).folder is None
    script = (
        "import os, sys; os.rmdir(os.getcwd()); from mcc_jupyter.runtime.policy_search import start_of, find\n"
        "start = start_of(None, dict); print(start.folder, find(start))"
    )
    (tmp_path / "gone").mkdir()
    ran = subprocess.run([sys.executable, "-c", script], cwd=tmp_path / "gone", env={"PYTHONPATH": str(REPOSITORY)}, capture_output=True, text=True)

    assert (ran.stdout, ran.stderr) == ("None None\n", "")


def test_without_a_policy_file_nothing_else_is_imported() -> None:
    script = "import sys; before = set(sys.modules); import mcc_jupyter.runtime.policy_search; print(sorted(set(sys.modules) - before))"
    ran = subprocess.run([sys.executable, "-S", "-c", script], env={"PYTHONPATH": str(REPOSITORY)}, capture_output=True, text=True)

    found = [name for name in eval(ran.stdout) if name.startswith("mcc_jupyter.")]
    assert found == ["mcc_jupyter.runtime", "mcc_jupyter.runtime.parent", "mcc_jupyter.runtime.policy_search"]
    assert "tomllib" not in ran.stdout


# What a server handed to its kernel


def handed(environment: dict[str, str] | None = None, **said: object) -> dict[str, str]:
    return {**(environment or {}), VARIABLE: Handed(**said).text()}  # type: ignore[arg-type]


def test_the_servers_policy_goes_before_all_but_the_systems(tmp_path: Path) -> None:
    system = file(tmp_path / "etc/mcc/mcc.toml")
    file(tmp_path / "etc/jupyter/mcc.toml")
    start = Start(handed({"MCC_POLICY": "/named.toml"}, policy="/servers.toml"), policy="/commands.toml")

    assert searched(start, tmp_path) == system
    os.unlink(system)
    assert searched(start, tmp_path) == "/servers.toml"
    assert searched(Start(handed(), policy="/commands.toml"), tmp_path) == "/commands.toml"


def test_the_servers_root_is_searched_before_the_folder_where_it_was_started(tmp_path: Path) -> None:
    root, began, notebook = tmp_path / "up/root", tmp_path / "began", tmp_path / "nb"
    paths = [file(root / "mcc.toml"), file(tmp_path / "up/mcc.toml"), file(began / "mcc.toml"), file(notebook / "mcc.toml")]
    start = Start(handed(root=str(root), workspace=str(notebook / "a.ipynb")), began=str(began))

    for path in paths:
        assert searched(start, tmp_path) == path
        os.unlink(path)
    assert searched(start, tmp_path) is None


def test_the_workspace_that_a_server_validated_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").symlink_to(tmp_path / "ops.ipynb")
    there = str(tmp_path / "a.ipynb")
    forged = {"JPY_SESSION_NAME": "/elsewhere.ipynb", "MCC_WORKSPACE": "ops"}

    assert workspace_of(Start(handed(forged, workspace=there))) == there
    assert workspace_of(Start(handed(forged))) == "/elsewhere.ipynb"
    assert workspace_of(Start(handed({"JPY_SESSION_NAME": "/elsewhere.ipynb"}, workspace=""))) == ""


@pytest.mark.parametrize("text", ["", "garbage", "[]"])
def test_what_no_server_wrote_changes_nothing(text: str, tmp_path: Path) -> None:
    start = Start({VARIABLE: text, "MCC_WORKSPACE": "ops"})

    assert (start.handed, workspace_of(start), searched(start, tmp_path)) == (None, "ops", None)
