"""The fixture of conftest.py catches what it promises to catch."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PLANTED = """
import os, socket, subprocess, threading, time
from pathlib import Path

kept = []

def test_clean():
    subprocess.run(["true"], check=True)

def test_environment():
    os.environ["LEFT_BEHIND"] = "1"

def test_environment_is_put_back_for_the_next():
    assert "LEFT_BEHIND" not in os.environ

def test_process():
    kept.append(subprocess.Popen(["sleep", "20"]))

def test_process_that_ends_soon_is_fine():
    kept.append(subprocess.Popen(["sleep", "0.2"]))

def test_port():
    server = socket.create_server(("127.0.0.1", 0))
    kept.append(server)

def test_file():
    Path(__file__).with_name("left.txt").write_text("x")

def test_end_what_was_kept():
    kept[0].kill()
    for process in kept[:2]:
        process.wait()
    kept[2].close()
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest reports for the planted tests, run beside a copy of our conftest."""
    tests = tmp_path_factory.mktemp("planted") / "tests"
    tests.mkdir()
    shutil.copy(Path(__file__).with_name("conftest.py"), tests)
    (tests / "conftest.py").write_text((tests / "conftest.py").read_text().replace("GRACE = 3.0", "GRACE = 0.5"))
    (tests / "test_planted.py").write_text(PLANTED)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--tb=short", "-rA", "--rootdir", str(tests.parent), str(tests)]
    answer = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "CI": "true", "COLUMNS": "300"})
    return answer.stdout


def _verdicts(outcome: str, test: str) -> list[str]:
    return sorted(line.split()[0] for line in outcome.splitlines() if line.split(" - ")[0].endswith(f"::{test}"))


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("test_environment", "it changed os.environ: LEFT_BEHIND"),
        ("test_process", "it left child processes: sleep ("),
        ("test_port", "it left listening ports: 0100007F:"),
        ("test_file", "it left files in the repository: tests/left.txt"),
    ],
)
def test_what_a_test_leaves_behind_fails_it(outcome: str, test: str, message: str) -> None:
    assert _verdicts(outcome, test) == ["ERROR", "PASSED"]
    assert f"The test did not leave the world as it found it: {message}" in outcome


@pytest.mark.parametrize(
    "test", ["test_clean", "test_environment_is_put_back_for_the_next", "test_process_that_ends_soon_is_fine", "test_end_what_was_kept"]
)
def test_a_clean_test_passes(outcome: str, test: str) -> None:
    assert _verdicts(outcome, test) == ["PASSED"]


@pytest.mark.parametrize(("ci", "outcome"), [("", "1 skipped"), ("1", "1 failed")])
def test_a_test_that_skips_fails_where_CI_is_set(tmp_path: Path, ci: str, outcome: str) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    shutil.copy(Path(__file__).with_name("conftest.py"), tests)
    (tests / "test_planted.py").write_text("import pytest\n\ndef test_it():\n    pytest.skip('no such program')\n")
    environ = {**{name: value for name, value in os.environ.items() if name != "CI"}, **({"CI": ci} if ci else {})}

    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)],
        capture_output=True,
        text=True,
        env=environ,
        cwd=tmp_path,
    )

    assert outcome in ran.stdout, ran.stdout + ran.stderr
