"""Files and notebooks beside their lock: which are read, what is said, what an update keeps."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from mcc_jupyter.core.access import made
from mcc_jupyter.core.declare import Place, declare
from mcc_jupyter.core.errors import ArgumentError, DeclarationError
from mcc_jupyter.core.lock import Lock
from mcc_jupyter.core.tool import DEFAULT_FLOOR, Origin
from mcc_jupyter.runtime import checking, policy_files
from mcc_jupyter.runtime.checking import Checked, check, read_lock, write_lock


def notebook(path: Path, *sources: str, tags: list[str] | None = None) -> None:
    cells = [{"cell_type": "code", "source": source, "metadata": {} if tags is None else {"tags": tags}} for source in sources]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"cells": cells, "nbformat": 4, "metadata": {}}))


def checked(folder: Path, *paths: str, lock: Lock | None = None, **more: Any) -> Checked:
    return check([str(folder / path) for path in paths], lock, folder=str(folder), **{"home": "/no/home", **more})


def told(found: Checked) -> list[str]:
    return [f"{change.file}: {change}" for change in found.changes]


def problems(found: Checked) -> list[str]:
    return [str(problem) for problem in found.read.problems]


def test_a_notebook_and_what_it_loads_and_runs(tmp_path: Path) -> None:
    notebook(tmp_path / "nb" / "a.ipynb", "%%mcc_tool q --pass A\necho", "%mcc_load ../tools.yaml more/*.yml", "%run lib.py", "@tool(env={'X': '1'})\ndef f(): ...")
    (tmp_path / "tools.yaml").write_text("- {name: t, exec: echo $B}\n")
    (tmp_path / "nb" / "more").mkdir()
    (tmp_path / "nb" / "more" / "u.yml").write_text("fn: m:u\n")
    (tmp_path / "nb" / "lib.py").write_text("import mcc_jupyter as mcc\n@mcc.tool\ndef g(): ...\nmcc.load('more/u.yml')\n")

    found = checked(tmp_path, "nb/a.ipynb")

    assert problems(found) == []
    assert told(found) == [
        "nb/a.ipynb: %mcc_load +nb/lib.py file",
        "nb/a.ipynb: %mcc_load +nb/more/u.yml file",
        "nb/a.ipynb: %mcc_load +tools.yaml file",
        "nb/a.ipynb: f +fn tool",
        "nb/a.ipynb: f +X env",
        "nb/a.ipynb: q +exec tool",
        "nb/a.ipynb: q +A passthrough",
        "nb/lib.py: %mcc_load +nb/more/u.yml file",
        "nb/lib.py: g +fn tool",
        "nb/more/u.yml: u +fn tool",
        "nb/more/u.yml: u +m:u function",
        "tools.yaml: t +exec tool",
        "tools.yaml: t +B reference",
    ]  # fmt: skip
    assert found.lock["nb/a.ipynb"]["f"] == made({"tool": ["fn"], "env": ["X"], "groups": ["public"]})


def test_nothing_is_run_or_imported(tmp_path: Path) -> None:
    trap = f"open({str(tmp_path / 'trap')!r}, 'w')"
    notebook(tmp_path / "a.ipynb", f"{trap}\n@tool(name=str({trap}))\ndef f(a={trap}): ...", f"%%mcc_tool t\ntouch {tmp_path}/trap", "%run trap.py", "%%mcc_tool\nfn: trap:f")
    (tmp_path / "trap.py").write_text(f"import mcc_jupyter\n{trap}\n")

    checked(tmp_path)

    assert not (tmp_path / "trap").exists()


def test_a_folder_is_walked_without_what_is_not_its_own(tmp_path: Path) -> None:
    for name in ("b.ipynb", "sub/a.ipynb", ".hidden/c.ipynb", ".ipynb_checkpoints/b.ipynb", "venv/c.ipynb", "node_modules/c.ipynb", ".hidden.ipynb"):
        notebook(tmp_path / name, "%%mcc_tool t\necho")
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    (tmp_path / "ours.py").write_text("import mcc_jupyter as mcc\n@mcc.tool\ndef f(): ...\n")
    (tmp_path / "other.py").write_text("@tool\ndef f(): ...\n")
    (tmp_path / "tools.yaml").write_text("{name: t, exec: echo}\n")
    os.mkfifo(tmp_path / "pipe.py")

    assert list(checked(tmp_path).lock) == ["b.ipynb", "ours.py", "sub/a.ipynb"]
    assert list(checked(tmp_path, "sub").lock) == ["sub/a.ipynb"]
    assert list(checked(tmp_path, "other.py", "tools.yaml").lock) == ["other.py", "tools.yaml"]


def test_what_the_system_does_not_let_us_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "x.py").write_text("x")
    real = os.scandir

    def scandir(path: Any) -> Any:
        if str(path).endswith("sub"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    def refused(_: str) -> bytes:
        raise PermissionError(13, "")

    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr(checking, "_content", refused)

    assert problems(checked(tmp_path)) == [f"{tmp_path}/sub: the folder cannot be read"]


def test_two_declarations_of_one_name_are_locked_together_and_said(tmp_path: Path) -> None:
    notebook(tmp_path / "a.ipynb", "%%mcc_tool t --pass A\necho", "%%mcc_tool t --pass B\necho", "%%mcc_sh --pass C\necho", "%%mcc_sh --pass D\necho $E")

    found = checked(tmp_path)

    assert found.lock["a.ipynb"]["t"] == made({"tool": ["exec"], "passthrough": ["A", "B"], "groups": ["public"]})
    assert found.lock["a.ipynb"]["%%mcc_sh"] == made({"tool": ["exec"], "passthrough": ["C", "D"], "groups": ["public"]})
    assert found.read.notes == ["a.ipynb: t is declared in cell 1 and in cell 2; the lock holds what either gets"]


def test_free_text_for_a_client_is_a_warning_once(tmp_path: Path) -> None:
    notebook(tmp_path / "a.ipynb", *["%%mcc_tool t --param q\npsql -c {{ q | quote }}"] * 2)

    assert checked(tmp_path).read.warnings == ['a.ipynb: tool t: parameter "q" is free text handed to psql']


def test_a_limit_may_refer_to_a_variable(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text("- {name: t, exec: echo, limits: {timeout: $SECONDS_TO_WAIT}}\n- {name: u, exec: echo, params: [{name: a, type: list, default: $LIST}]}\n")
    (tmp_path / "bad.yaml").write_text("{name: t, exec: echo, env_pass: 1}\n")

    (tmp_path / "both.yaml").write_text("- {name: v, exec: echo, limits: {timeout: $T}, params: [{name: a, type: list, default: $LIST}]}\n- {name: w, exec: echo}\n")

    found = checked(tmp_path, "t.yaml")
    assert told(found) == ["t.yaml: t +exec tool", "t.yaml: t +SECONDS_TO_WAIT reference", "t.yaml: u +exec tool", "t.yaml: u +LIST reference"]
    assert problems(found) == []
    assert told(checked(tmp_path, "both.yaml")) == ["both.yaml: w +exec tool"]
    assert problems(checked(tmp_path, "both.yaml")) == ["both.yaml: tools[0].limits.timeout: what it refers to is no number of seconds here; set it, or write a number (line 1)"]
    assert problems(checked(tmp_path, "bad.yaml")) == ["bad.yaml: unknown key `env_pass` (line 1)"]


def test_a_mistake_where_an_error_is_expected_is_a_note_unless_another_parent_might_make_it_right(tmp_path: Path) -> None:
    for place, text in (("a", "%%mcc_tool\nname: t\nexec: echo\nenvv: 1"), ("b", "%%mcc_tool\n["), ("c", "%%mcc_tool\nname: t\nexec: echo\nlimits: {timeout: $T, mem_mb: x}")):
        notebook(tmp_path / f"{place}.ipynb", text, tags=["raises-exception"])

    found = checked(tmp_path)

    assert found.read.notes == [
        "a.ipynb: cell 1: unknown key `envv` (did you mean `env`?) (line 4); the cell is expected to fail and declares nothing",
        "b.ipynb: cell 1: YAML line 3, column 1: no valid YAML; look at quotes and indentation; for a shell script write `%%mcc_tool NAME`; the cell is expected to fail and declares nothing",
    ]
    assert problems(found) == ["c.ipynb: cell 1: limits.mem_mb: write a number of MiB, without quotes (line 4)"]


FILES = [
    ("a.ipynb", b"{", "a.ipynb: the file is no notebook: it is no JSON"),
    ("a.ipynb", b"\xff", "a.ipynb: file is not UTF-8"),
    ("a.ipynb", b"\0", "a.ipynb: the file is no notebook: it is no JSON"),
    ("a.ipynb", b"[" * 100_000, "a.ipynb: the file is no notebook: it is nested too deeply"),
    ("a.ipynb", b"9" * 5_000, "a.ipynb: the file is no notebook: it is no JSON"),
    ("a.ipynb", b'{"nbformat": 3, "worksheets": []}', "a.ipynb: the notebook has an old format; open and save it with a Jupyter of today"),
    ("a.yaml", b"a: !!python/object/apply:os.system [x]", "a.yaml: YAML line 1, column 4: a tag `!\u2026` is not allowed; quote a text that begins with `!`"),
    ("a.yaml", b"[" * 100_000, "a.yaml: YAML line 1, column 1001: lists and mappings stand too deep inside each other, or an alias holds itself"),
    ("a.yaml", b"#" * (4 * 1024 * 1024 + 1), "a.yaml: is larger than 4 MiB and is not read"),
    ("a.py", b"#" * (4 * 1024 * 1024 + 1), "a.py: is larger than 4 MiB and is not read"),
    ("mcc.toml", b"x =", "mcc.toml: the policy file is no TOML (at end of document)"),
    ("mcc.toml", b"[tools]\nx = 1", "mcc.toml: tools.x: expected a table that declares a tool"),
    ("a.ipynb", None, "a.ipynb: file not found"),
    ("a.yaml", None, "a.yaml: file not found"),
    ("a.py", None, "a.py: file not found"),
]


@pytest.mark.parametrize(("name", "content", "expected"), FILES)
def test_a_file_that_cannot_be_read_is_said(tmp_path: Path, name: str, content: bytes | None, expected: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)

    found = checked(tmp_path, name)

    assert problems(found) == [expected]
    assert found.changes == []


def test_a_notebook_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook(tmp_path / "a.ipynb", "x" * 2_000_000)
    monkeypatch.setattr(checking, "LARGEST_NOTEBOOK", 1024 * 1024)

    assert problems(checked(tmp_path)) == ["a.ipynb: is larger than 1 MiB and is not read"]


@pytest.mark.parametrize("name", ["a.ipynb", "a.yaml", "a.py"])
def test_nobody_waits_for_a_pipe(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)

    assert problems(checked(tmp_path, name)) == [f"{name}: is no regular file and is not read"]


def test_what_a_notebook_loads_and_is_not_there_is_said_with_its_place(tmp_path: Path) -> None:
    notebook(tmp_path / "a.ipynb", "%mcc_load no.yaml", "x = 1\n%mcc_load no/*.yaml", "%run no.py", "%mcc_load ~/no.yaml")

    assert problems(checked(tmp_path)) == [
        "a.ipynb: cell 1, line 1: no.yaml: file not found",
        "a.ipynb: cell 2, line 2: no/*.yaml: no file matches",
        "a.ipynb: cell 3, line 1: no.py: file not found",
        "a.ipynb: cell 4, line 1: ~/no.yaml: file not found",
    ]


def test_a_path_is_told_from_the_locks_folder_or_as_its_author_wrote_it(tmp_path: Path) -> None:
    folder, home = tmp_path / "repo", tmp_path / "home"
    for place in (home / "h.yaml", tmp_path / "abs.yaml", tmp_path / "up.yaml", folder / "in.yaml"):
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"{{name: {place.stem}, exec: echo}}\n")
    (home / "lib.py").write_text("")
    notebook(folder / "a.ipynb", f"%mcc_load ~/h.yaml {tmp_path}/abs.yaml ../up.yaml {folder}/in.yaml", "%run ~/lib.py")

    found = checked(folder, home=str(home))

    assert problems(found) == []
    assert list(found.lock) == sorted(["../up.yaml", f"{tmp_path}/abs.yaml", "a.ipynb", "in.yaml", "~/h.yaml"])
    again = checked(folder, home=str(home), lock=found.lock)
    assert (again.changes, again.lock) == ([], found.lock)


def test_a_path_outside_the_locks_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()

    assert problems(checked(tmp_path / "repo", "..")) == [f"{tmp_path}/repo/..: is outside the folder of the lock; put mcc.lock above it"]
    assert problems(checked(tmp_path / "repo", "../a.ipynb")) == [f"{tmp_path}/repo/../a.ipynb: is outside the folder of the lock; put mcc.lock above it"]


ONE = {"t": made({"tool": ["exec"], "groups": ["public"]})}


def test_what_was_not_asked_for_stays_in_the_lock(tmp_path: Path) -> None:
    notebook(tmp_path / "a.ipynb", "%%mcc_tool t --pass A\necho")
    lock = {"a.ipynb": ONE, "b.ipynb": ONE, "sub/c.ipynb": ONE, "subway.ipynb": ONE}
    (tmp_path / "sub").mkdir()

    found = checked(tmp_path, "a.ipynb", lock=lock)
    assert told(found) == ["a.ipynb: t +A passthrough"]
    assert sorted(found.lock) == ["a.ipynb", "b.ipynb", "sub/c.ipynb", "subway.ipynb"]
    assert told(checked(tmp_path, "sub", lock=lock)) == ["sub/c.ipynb: t -exec tool"]


def test_a_file_that_is_loaded_and_has_no_tools_any_more_leaves_the_lock(tmp_path: Path) -> None:
    notebook(tmp_path / "a.ipynb", "%mcc_load t.yaml")
    (tmp_path / "t.yaml").write_text("[]\n")

    found = checked(tmp_path, "a.ipynb", lock={"t.yaml": ONE})

    assert told(found) == ["a.ipynb: %mcc_load +t.yaml file", "t.yaml: t -exec tool"]
    assert list(found.lock) == ["a.ipynb"]


def test_without_paths_all_that_the_lock_lists_is_read(tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text("{name: t, exec: echo, env_passthrough: [A]}\n")
    lock = {"tools.yaml": ONE, "gone.ipynb": ONE, "../gone.yaml": ONE}

    found = checked(tmp_path, lock=lock)

    assert told(found) == ["../gone.yaml: t -exec tool", "gone.ipynb: t -exec tool", "tools.yaml: t +A passthrough"]
    assert list(found.lock) == ["tools.yaml"]


def test_a_file_that_cannot_be_read_loses_nothing(tmp_path: Path) -> None:
    notebook(tmp_path / "a.ipynb", "%%mcc_tool t --pass A\necho", "%%mcc_tool u\necho", "@tool(groups=X)\ndef f(): ...")
    (tmp_path / "b.ipynb").write_text("{")
    lock = {"a.ipynb": {**ONE, "f": made({"tool": ["fn"]})}, "b.ipynb": ONE}

    assert told(checked(tmp_path, lock=lock)) == ["a.ipynb: t +A passthrough", "a.ipynb: u +exec tool"]


def test_tools_from_elsewhere_are_compared_too(tmp_path: Path) -> None:
    document = [{"name": "q", "exec": "psql -c {{ x | quote }}", "params": [{"name": "x"}]}]
    tools = declare(document, Place({}, DEFAULT_FLOOR, "/", None, Origin("file", "mcc.toml"))).tools

    found = checked(tmp_path, further={"mcc.toml": {tool.key: tool for tool in tools}})

    assert told(found) == ["mcc.toml: q +exec tool", "mcc.toml: q +psql program"]
    assert found.read.warnings == ['mcc.toml: tool q: parameter "x" is free text handed to psql']
    assert told(checked(tmp_path, "", lock=found.lock, further={"mcc.toml": {}})) == ["mcc.toml: q -exec tool", "mcc.toml: q -psql program"]


# ---- the lock file


def test_a_lock_is_written_in_one_step_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "mcc.lock"
    assert read_lock(str(path)) is None

    write_lock(str(path), {"a.ipynb": ONE})

    assert read_lock(str(path)) == {"a.ipynb": ONE}
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    path.chmod(0o600)
    write_lock(str(path), {})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["mcc.lock"]


def test_a_lock_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError) as caught:
        write_lock(str(tmp_path / "no" / "mcc.lock"), {})

    assert str(caught.value) == f"{tmp_path}/no/mcc.lock: cannot be written (No such file or directory)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("version = 1\n<<<<<<< HEAD\n=======\n", "holds a merge conflict (line 2); resolve it, or delete the file and write it with --update"),
        ("version = ", "is no TOML; restore it, or delete it and write it with --update"),
        ("version = " + "[" * 100_000, "is no TOML; restore it, or delete it and write it with --update"),
        ("version = 9", "has version 9, and this program reads version 1 alone"),
        ("version = 1\nfiles = 1", "files: expected a table"),
    ],
)
def test_a_lock_that_is_none_is_one_clear_error(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "mcc.lock"
    path.write_text(text)

    with pytest.raises(DeclarationError) as caught:
        read_lock(str(path))

    assert str(caught.value) == f"{path}: {expected}"
    assert len(caught.value.problems) == 1


def test_a_lock_that_is_a_folder_is_no_lock(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError) as caught:
        read_lock(str(tmp_path))

    assert str(caught.value) == f"{tmp_path}: file is a directory"


def test_a_file_is_read_as_what_it_is_used_whatever_its_name(tmp_path: Path) -> None:
    both = '{"name": "t", "exec": "echo", "env_passthrough": ["A"]}\n'
    for name in ("both.py", "plain"):
        (tmp_path / name).write_text(both)
    (tmp_path / "code.yaml").write_text("@tool\ndef f(): ...\n")
    (tmp_path / "lib.py").write_text("@tool\ndef g(): ...\n")
    notebook(tmp_path / "a.ipynb", "%mcc_load both.py plain\n%run both.py\n%run code.yaml\n%run lib\n%run b.ipynb")
    notebook(tmp_path / "b.ipynb", "from langchain.tools import tool\n@tool\ndef f(): ...")

    found = checked(tmp_path, "a.ipynb")

    assert problems(found) == []
    assert {file: sorted(tools) for file, tools in found.lock.items() if file != "a.ipynb"} == {"both.py": ["t"], "code.yaml": ["f"], "lib.py": ["g"], "plain": ["t"]}
    assert found.read.notes == ["b.ipynb: cell 1, line 2: `tool` comes from elsewhere; its tools are not read"]
    assert checked(tmp_path, "a.ipynb", lock=found.lock).changes == []


def test_a_policy_file_is_locked_too(tmp_path: Path) -> None:
    (tmp_path / "mcc.toml").write_text(
        '[tools.db]\nexec = "psql $HOST"\nlimits = {mem_mb = "${MB}"}\nrequired_env = ["PGPASSWORD"]\n'
        'expose_env_to_workspace = true\n[tools.own]\ntype = "linear"\n[profiles.ops]\ntools = ["db"]\n'
        '[workspaces."ops/*"]\nprofiles = ["ops"]\ngroups = ["ops"]\n[grants]\nallow = ["AWS_*"]\n'
    )
    found = checked(tmp_path)

    assert problems(found) == []
    assert found.read.notes == ['mcc.toml: tools.own: no plugin provides the type "linear"; it runs nothing and exposes nothing']
    assert [str(change) for change in found.changes] == [
        "[grants] +AWS_* allowed", "[workspaces.ops/*] +db granted", "db +exec tool", "db +PGPASSWORD required",
        "db +HOST reference", "db +MB reference", "db +psql program", "db +PGPASSWORD exposed", "own +plugin tool",
    ]  # fmt: skip


def test_no_plugin_runs_for_a_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mcc.toml").write_text('[tools.own]\ntype = "linear"\n')
    monkeypatch.setattr(policy_files, "plugin_types", lambda _: pytest.fail("a plugin was asked"))

    assert problems(checked(tmp_path)) == []
