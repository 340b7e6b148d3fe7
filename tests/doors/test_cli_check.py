"""``mcc-jupyter check`` as a terminal, pre-commit and a CI job see it: lines, JSON, exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from mcc_jupyter.doors import cli
from tests.processes import REPOSITORY

VALUE = "n0t-f0r-any-eyes-4711"


def notebook(path: str, *sources: str) -> None:
    cells = [{"cell_type": "code", "source": source, "metadata": {}} for source in sources]
    Path(path).write_text(json.dumps({"cells": cells, "nbformat": 4, "metadata": {}}))


QUERY = "%%mcc_tool pg_query --require DB_PASSWORD --param q\npsql -c {{ q | quote }}"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("DB_PASSWORD", "GITHUB_TOKEN"):
        monkeypatch.setenv(name, VALUE)
    notebook("nb.ipynb", QUERY)
    return tmp_path


WARNING = 'warning: nb.ipynb: tool pg_query: parameter "q" is free text handed to psql'


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], list[str]]:
    status = cli.main(["check", *arguments])
    out, err = capsys.readouterr()
    assert VALUE not in out + err
    return status, out.splitlines(), [line for line in err.splitlines() if line != WARNING]


def test_without_a_lock_it_fails_and_says_how_to_write_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys) == (1, [], ["mcc.lock: there is no lock yet; write it with `mcc-jupyter check --update`, review it and commit it"])
    assert not Path("mcc.lock").exists()
    Path("nb.ipynb").unlink()
    assert run(capsys)[0] == 1  # in CI a lock that is not there must not pass
    assert run(capsys, "--update") == (0, [], [])
    assert run(capsys) == (0, [], [])


def test_an_update_writes_the_lock_and_then_all_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "--update")
    written = Path("mcc.lock").read_bytes()

    assert (status, out, err) == (0, ["nb.ipynb: pg_query +exec tool", "nb.ipynb: pg_query +DB_PASSWORD required", "nb.ipynb: pg_query +psql program"], [])
    assert run(capsys) == (0, [], [])
    assert run(capsys, "--update") == (0, [], [])
    assert Path("mcc.lock").read_bytes() == written
    assert VALUE.encode() not in written


def test_more_access_fails_with_a_line_a_change(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "--update")
    notebook("nb.ipynb", QUERY.replace("--param", "--pass GITHUB_TOKEN --param"))

    expected = ["nb.ipynb: pg_query +GITHUB_TOKEN passthrough"]
    assert run(capsys) == (1, expected, ["mcc.lock: tools get more than it says; if they should, write it anew with --update and have that reviewed"])
    assert run(capsys, "--update") == (0, expected, [])
    assert run(capsys) == (0, [], [])


def test_less_access_is_told_and_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "--update")
    notebook("nb.ipynb", "%%mcc_tool pg_query\npsql")

    assert run(capsys) == (0, ["nb.ipynb: pg_query -DB_PASSWORD required"], ["mcc.lock: tools get less than it says; write it anew with --update"])


def test_what_cannot_be_read_is_status_2_and_no_update(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "--update")
    before = Path("mcc.lock").read_bytes()
    notebook("nb.ipynb", QUERY, "x = ['A']\n@tool(env_passthrough=x)\ndef f(): ...", "%%mcc_tool u\necho")
    problem = "nb.ipynb: cell 2, line 2: @tool f: env_passthrough: cannot be read without running it; write a literal"
    more = "mcc.lock: tools get more than it says; if they should, write it anew with --update and have that reviewed"

    assert run(capsys) == (2, ["nb.ipynb: u +exec tool"], [problem, more])
    assert run(capsys, "--update") == (2, ["nb.ipynb: u +exec tool"], [problem, "mcc.lock: not written, because not everything could be read"])
    assert Path("mcc.lock").read_bytes() == before


@pytest.mark.parametrize("update", [[], ["--update"]])
def test_a_lock_in_conflict_is_one_error(capsys: pytest.CaptureFixture[str], update: list[str]) -> None:
    Path("mcc.lock").write_text("version = 1\n<<<<<<< HEAD\n")

    assert run(capsys, *update) == (2, [], ["mcc.lock: holds a merge conflict (line 2); resolve it, or delete the file and write it with --update"])


def test_paths_and_another_lock(capsys: pytest.CaptureFixture[str]) -> None:
    notebook("other.ipynb", "%%mcc_tool u\necho")
    Path("tools.yaml").write_text("{name: y, exec: echo}\n")

    assert run(capsys, "--lock", "my.lock", "other.ipynb", "tools.yaml", "--update")[0] == 0
    assert run(capsys, "--lock", "my.lock", "other.ipynb") == (0, [], [])
    assert run(capsys, "--lock", "my.lock", "nb.ipynb")[0] == 1
    assert run(capsys, "--lock", "my.lock")[0] == 1
    Path("tools.yaml").unlink()
    assert run(capsys, "--lock", "my.lock", "other.ipynb", "tools.yaml") == (2, [], ["tools.yaml: file not found"])


def test_it_is_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    notebook("nb.ipynb", "%%mcc_tool t --pass A\necho", "%%mcc_tool t\necho", "%%mcc_tool u --param q\npsql {{ q | quote }}")
    status, out, err = run(capsys, "--json")
    found = json.loads("\n".join(out))

    assert status == 1
    assert len(err) == 1
    assert found == {
        "status": 1,
        "wider": [
            {"file": "nb.ipynb", "tool": "t", "wider": True, "item": "exec", "kind": "tool"},
            {"file": "nb.ipynb", "tool": "t", "wider": True, "item": "A", "kind": "passthrough"},
            {"file": "nb.ipynb", "tool": "u", "wider": True, "item": "exec", "kind": "tool"},
            {"file": "nb.ipynb", "tool": "u", "wider": True, "item": "psql", "kind": "program"},
        ],
        "narrower": [],
        "warnings": ['nb.ipynb: tool u: parameter "q" is free text handed to psql'],
        "notes": ["nb.ipynb: t is declared in cell 1 and in cell 2; the lock holds what either gets"],
        "problems": [],
    }


def test_notes_and_warnings_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    notebook("nb.ipynb", QUERY, QUERY)
    cli.main(["check", "--update"])

    assert capsys.readouterr().err.splitlines() == ["note: nb.ipynb: pg_query is declared in cell 1 and in cell 2; the lock holds what either gets", WARNING]


def test_it_loads_neither_ipython_nor_jupyter(folder: Path) -> None:
    code = "import sys; from mcc_jupyter.doors.cli import main; main(['check', '--update']); print(sorted(m for m in ('IPython', 'traitlets', 'jupyter_core', 'ipykernel', 'nbformat') if m in sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(REPOSITORY)}, cwd=folder)

    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, "[]")


def test_the_hook_of_pre_commit_is_this_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hooks = {hook["id"]: hook for hook in yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text())}
    hook = hooks["mcc-check"]
    assert (hook["entry"], hook["language"], hook["pass_filenames"], hook["files"]) == ("mcc-jupyter check", "python", False, r"\.(ipynb|ya?ml|i?py|lock)$")

    command = [sys.executable, "-m", "mcc_jupyter", *hook["entry"].split()[1:]]
    for more, expected in (([], 1), (["--update"], 0), ([], 0)):
        ran = subprocess.run([*command, *more], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(REPOSITORY)}, cwd=folder)
        assert ran.returncode == expected, ran.stderr


def test_the_notebooks_of_this_repository_get_what_their_lock_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "--lock", str(REPOSITORY / "notebooks" / "mcc.lock"), str(REPOSITORY / "notebooks")]) == 0
    assert capsys.readouterr().out == ""
