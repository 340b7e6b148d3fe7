"""``mcc-jupyter`` where a stream is closed or full, an encoding is poor, a name is odd, a folder is gone: a line, no traceback."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = shlex.join([sys.executable, "-m", "mcc_jupyter"])
TOOLS = "- {name: a, exec: 'echo hé ✓; echo oh >&2', description: dé ✓}\n- {name: f, fn: 'fm:f'}\n"
POOR = {"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
NO_SPACE = "mcc-jupyter: the output cannot be written: No space left on device"
BAD = "mcc-jupyter: the output cannot be written: Bad file descriptor"


class Shell:
    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        self.environment, self.folder = environment, folder
        (folder / "t.yaml").write_text(TOOLS)
        (folder / "fm.py").write_text("def f(): return {'k': 'é✓'}\n")
        (folder / "s.txt").write_text("key AKIAIOSFODNN7EXAMPLX\n")

    def __call__(self, arguments: str, **changes: str) -> tuple[int, str, str]:
        ran = subprocess.run(
            ["/bin/bash", "-c", f"{PROGRAM} {arguments}"], env={**self.environment, **changes}, cwd=self.folder, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        assert "Traceback" not in ran.stderr
        assert "internal error" not in ran.stderr
        return ran.returncode, ran.stdout, ran.stderr


@pytest.fixture
def shell(outside: dict[str, str], tmp_path: Path) -> Shell:
    return Shell(outside, tmp_path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no such device")
@pytest.mark.parametrize("command", ["tools t.yaml", "report t.yaml", "call t.yaml a", "call t.yaml f", "scan s.txt", "policy", "--version"])
def test_output_that_cannot_be_written_is_said_in_one_line(shell: Shell, command: str) -> None:
    for where, line in ((">/dev/full", NO_SPACE), (">&-", BAD)):
        status, _, err = shell(f"{command} {where}")
        assert (status, err.splitlines()[-1]) == (1, line)


@pytest.mark.parametrize(("command", "status", "out"), [("call t.yaml a", 0, "hé ✓\n"), ("tools gone.yaml", 2, ""), ("scan s.txt", 1, "s.txt: line 1: looks like an AWS access key\n"), ("bogus", 2, "")])
def test_a_message_that_stderr_does_not_take_changes_nothing_else(shell: Shell, command: str, status: int, out: str) -> None:
    for where in ("2>&-", "2>/dev/full", "<&- 2>&-"):
        assert shell(f"{command} {where}") == (status, out, "")
    assert shell(f"{command} <&- >&- 2>&-")[1:] == ("", "")


@pytest.mark.parametrize("environment", POOR, ids=["the encoding", "the locale"])
def test_what_an_encoding_cannot_show_is_escaped_and_json_stays_json(shell: Shell, environment: dict[str, str]) -> None:
    assert "d\\xe9 \\u2713" in shell("tools t.yaml", **environment)[1]
    assert shell("call t.yaml a", **environment)[1] == "hé ✓\n"  # a program's output is bytes
    assert json.loads(shell("call t.yaml f", **environment)[1]) == {"k": "é✓"}
    status, out, err = shell("tools ✓.yaml", **environment)
    assert (status, out) == (2, "")
    assert err.endswith(".yaml: file not found\n")
    assert err.isascii()


def test_json_shows_what_the_encoding_can(shell: Shell) -> None:
    assert "é✓" in shell("call t.yaml f", PYTHONIOENCODING="utf-8")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("tools $'a\\e\\nb'", "a\\x1b\\nb: file not found"),
        ("tools $'a\\e[31m\\nb'", "a\\x1b[31m\\nb: no file matches"),
        ("scan $'a\\e[31m\\nb'", "a\\x1b[31m\\nb: cannot be read (No such file or directory)"),
        ("clean $'a\\nb'", "a\\nb: cannot be read (No such file or directory)"),
        ("scan --env-file $'a\\nb' s.txt", "env_file not found: a\\nb"),
        ("check --lock $'a\\nb'", "a\\nb: there is no lock yet; write it with `mcc-jupyter check --update`, review it and commit it"),
        ("call t.yaml a --spill $'/no/a\\nb'", "Tool 'a': spill: `/no/a\\nb` cannot be written: No such file or directory"),
        ("launch --env-file $'a\\nb' -- true", "mcc-jupyter launch: there is no template a\\nb; starting without it"),
        ("launch -- $'a\\e\\nb'", "mcc-jupyter launch: command not found: a\\x1b\\nb"),
    ],
)
def test_a_file_name_s_control_characters_do_not_reach_the_terminal(shell: Shell, arguments: str, message: str) -> None:
    assert shell(arguments)[2].splitlines()[-1] == message


def test_a_file_with_such_a_name_is_told_by_it(shell: Shell) -> None:
    (shell.folder / "a\x1b\nb").write_text("key AKIAIOSFODNN7EXAMPLX\n")
    assert shell("scan $'a\\e\\nb'")[1] == "a\\x1b\\nb: line 1: looks like an AWS access key\n"


@pytest.mark.parametrize("command", ["tools x", "check x", "scan --env-file x y", "call x y", "launch -- true"])
def test_a_folder_that_is_gone_is_told(shell: Shell, command: str) -> None:
    (shell.folder / "gone").mkdir()
    process = subprocess.run(
        ["/bin/bash", "-c", f"rmdir ../gone; {PROGRAM} {command}"], env=shell.environment, cwd=shell.folder / "gone", capture_output=True, text=True
    )
    assert (process.returncode, process.stdout, process.stderr) == (2, "", "the working directory no longer exists; change to another one\n")
