"""``mcc-jupyter scan`` and ``clean`` as a terminal and pre-commit see them: lines, JSON, exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from mcc_jupyter.core.credentials import SHAPES
from mcc_jupyter.doors import cli
from tests.docs_examples import blocks
from tests.processes import REPOSITORY

VALUE = "n0t-f0r-any-eyes-4711"
GITHUB = "ghp_" + "a1B2" * 9


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two notebooks, a text and an env file, and a variable of the environment."""
    output = {"output_type": "stream", "name": "stdout", "text": [f"token: {VALUE}\n"]}
    cells = [{"cell_type": "markdown", "metadata": {}, "source": "# A"}, {"cell_type": "code", "metadata": {}, "source": f'x = "{GITHUB}"', "outputs": [output]}]
    for name, content in (("nb.ipynb", cells), ("out.ipynb", [{**cells[1], "source": ""}])):
        (tmp_path / name).write_text(json.dumps({"cells": content, "metadata": {}, "nbformat": 4}, indent=1) + "\n")
    (tmp_path / "notes.txt").write_text(f"a\nb {VALUE}\n")
    (tmp_path / "clean.txt").write_text("nothing\n")
    (tmp_path / ".env").write_text(f"API_TOKEN={VALUE}\nPIN=1234\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOME_TOKEN", VALUE)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], list[str]]:
    status = cli.main(arguments)
    out, err = capsys.readouterr()
    assert VALUE not in out + err
    assert GITHUB not in out + err
    return status, out.splitlines(), err.splitlines()


FORMATS = "note: looks for keys of well-known formats only; --env-file and --parent name values to look for"


def test_scan_tells_a_line_for_each_finding_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    before = {path.name: path.read_bytes() for path in Path().iterdir()}

    assert run(capsys, "scan", "nb.ipynb", "notes.txt", "clean.txt", "--env-file", ".env") == (
        1,
        ["nb.ipynb: cell 2, line 1: looks like a GitHub token", "nb.ipynb: cell 2, output 1: holds API_TOKEN", "notes.txt: line 2: holds API_TOKEN"],
        ["note: PIN is too short or too common to be looked for"],
    )
    assert run(capsys, "scan", "notes.txt", "--parent") == (1, ["notes.txt: line 2: holds SOME_TOKEN"], [])
    assert run(capsys, "scan", "nb.ipynb", "notes.txt") == (1, ["nb.ipynb: cell 2, line 1: looks like a GitHub token"], [FORMATS])
    assert before == {path.name: path.read_bytes() for path in Path().iterdir()}


def test_scan_succeeds_where_nothing_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "scan", "clean.txt", "notes.txt") == (0, [], [FORMATS])
    assert run(capsys, "scan", "nb.ipynb", "--ignore", "github-*") == (0, [], [FORMATS])
    assert run(capsys, "scan", "clean.txt", "--json") == (0, ["[]"], [FORMATS])


def test_findings_are_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    for option in (["--json"], ["--format", "json"]):
        status, out, _ = run(capsys, "scan", "notes.txt", "nb.ipynb", "--parent", *option)
        found = json.loads("\n".join(out))

        assert status == 1
        assert found[0] == {"file": "notes.txt", "part": "text", "cell": None, "output": None, "line": 2, "name": "SOME_TOKEN", "format": None, "redacted": False}
        assert [(item["file"], item["part"], item["name"] or item["format"]) for item in found[1:]] == [("nb.ipynb", "source", "github-token"), ("nb.ipynb", "output", "SOME_TOKEN")]


def test_clean_redacts_outputs_and_texts_and_tells_what_stands(capsys: pytest.CaptureFixture[str]) -> None:
    before = Path("nb.ipynb").read_text()

    assert run(capsys, "clean", "nb.ipynb", "notes.txt", "--parent") == (
        1,
        ["nb.ipynb: cell 2, output 1: redacted SOME_TOKEN", "nb.ipynb: cell 2, line 1: looks like a GitHub token", "notes.txt: line 2: redacted SOME_TOKEN"],
        [],
    )
    assert Path("nb.ipynb").read_text() == before.replace(VALUE, "[redacted:SOME_TOKEN]")
    assert Path("notes.txt").read_text() == "a\nb [redacted:SOME_TOKEN]\n"
    assert run(capsys, "clean", "nb.ipynb", "notes.txt", "--parent") == (1, ["nb.ipynb: cell 2, line 1: looks like a GitHub token"], [])


def test_clean_succeeds_where_nothing_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "clean", "out.ipynb", "clean.txt", "--env-file", ".env")[:2] == (0, ["out.ipynb: cell 1, output 1: redacted API_TOKEN"])
    assert run(capsys, "scan", "out.ipynb", "--env-file", ".env")[:2] == (0, [])


def test_a_name_that_is_no_text_can_be_told(folder: Path) -> None:
    try:
        with open(b"caf\xe9.txt", "wb") as file:
            file.write(GITHUB.encode())
    except OSError:
        pytest.skip("this file system takes no such name")
    command = [sys.executable, "-m", "mcc_jupyter", "scan", b"caf\xe9.txt"]
    ran = subprocess.run(command, capture_output=True, env={"PYTHONPATH": str(REPOSITORY), "PYTHONIOENCODING": "utf-8:strict"}, cwd=folder)

    assert (ran.returncode, ran.stdout, ran.stderr) == (1, b"caf\\udce9.txt: line 1: looks like a GitHub token\n", f"{FORMATS}\n".encode())


def test_one_bad_file_stops_no_other_and_the_status_is_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.ipynb").write_text("{")
    status, out, err = run(capsys, "scan", "bad.ipynb", "missing", "notes.txt", "--parent")

    assert (status, out) == (2, ["notes.txt: line 2: holds SOME_TOKEN"])
    assert err == ["bad.ipynb: the file is no notebook: it is no JSON", "missing: cannot be read (No such file or directory)"]


def test_without_its_env_file_nothing_is_scanned(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "scan", "notes.txt", "--env-file", "missing.env") == (2, [], ["env_file not found: missing.env"])
    assert run(capsys, "clean", ".env", "--env-file", ".env")[0] == 2
    assert VALUE in Path(".env").read_text()


def test_an_env_file_may_be_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    reading, writing = os.pipe()
    os.write(writing, Path(".env").read_bytes())
    os.close(writing)
    try:
        assert run(capsys, "scan", "notes.txt", "--env-file", f"/dev/fd/{reading}")[:2] == (1, ["notes.txt: line 2: holds API_TOKEN"])
    finally:
        os.close(reading)


@pytest.mark.parametrize("arguments", [["scan"], ["clean", "--env-file"], ["scan", "a", "--format", "html"]])
def test_a_wrong_command_line_shows_the_usage(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)

    assert caught.value.code == 2
    assert capsys.readouterr().err.startswith("usage: mcc-jupyter ")


def test_the_formats_in_the_documents_are_the_programs() -> None:
    section = (REPOSITORY / "docs" / "command-line.md").read_text(encoding="utf-8").partition("Keys of well-known formats are always looked for:\n")[2]
    [block] = [block for block in blocks(section) if block.language == "text" and not block.kind][:1]

    assert block.body.split() == [shape.slug for shape in SHAPES]


def test_the_hooks_of_pre_commit_are_these_commands(folder: Path) -> None:
    hooks = {hook["id"]: hook for hook in yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text())}
    assert {name: (hook["entry"], hook["language"], hook["types"]) for name, hook in hooks.items() if name != "mcc-check"} == {
        "mcc-scan": ("mcc-jupyter scan", "python", ["text"]),
        "mcc-clean": ("mcc-jupyter clean", "python", ["jupyter"]),
    }

    for name, expected in (("mcc-scan", 1), ("mcc-clean", 0), ("mcc-scan", 0)):
        command = [sys.executable, "-m", "mcc_jupyter", *hooks[name]["entry"].split()[1:], "--env-file", ".env", "--ignore", "github-token", "out.ipynb"]
        ran = subprocess.run(command, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(REPOSITORY)}, cwd=folder)
        assert ran.returncode == expected, ran.stderr
        assert VALUE not in ran.stdout + ran.stderr
