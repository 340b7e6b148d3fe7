"""A program that is waited for, and what ends with the wait."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mcc_jupyter.runtime import errands

from ..processes import alive, written

ENVIRON = {"PATH": "/usr/bin:/bin"}
TREE = "sleep 60 & echo $! > below; echo $$ > self; echo out; wait"
STUBBORN = "trap '' TERM; echo $$ > self; while :; do sleep 0.05; done"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sh(script: str, **more: object) -> tuple[int, bytes]:
    return errands.output(["/bin/sh", "-c", script], ENVIRON, **more)  # type: ignore[arg-type]


def test_a_program_gives_its_exit_code_and_what_it_printed(place: Path) -> None:
    assert sh("echo out; echo err >&2; exit 3") == (3, b"out\n")
    assert sh("pwd", folder="/") == (0, b"/\n")
    assert sh("head -c 300000 /dev/zero; sleep 0.3")[1] == bytes(300_000)
    with pytest.raises(FileNotFoundError):
        errands.output(["/no/such/program"], ENVIRON)


def test_what_takes_too_long_is_ended_with_all_below_it(place: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        sh(TREE, limit=0.3)
    for name in ("self", "below"):
        assert not alive(int((place / name).read_text()))


def test_what_does_not_end_when_told_is_killed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errands, "PATIENCE", 0.2)
    with pytest.raises(subprocess.TimeoutExpired):
        sh(STUBBORN, limit=0.5)
    assert not alive(int((place / "self").read_text()))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_us_ends_it_first(place: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    last: list[tuple[int, bool]] = []
    monkeypatch.setattr(errands, "_signal_ourselves", lambda number: last.append((number, alive(int((place / "below").read_text())))))
    threading.Thread(target=lambda: (written(place / "self"), os.kill(os.getpid(), number))).start()

    assert sh(TREE) == (-signal.SIGTERM, b"")

    assert last == [(number, False)]
    assert signal.getsignal(number) is signal.SIG_DFL


def test_a_signal_that_is_somebody_elses_stays_so(place: Path) -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGHUP, lambda number, _: seen.append(number))
    try:
        assert sh(f"kill -HUP {os.getpid()}; sleep 0.3; echo on")[1] == b"on\n"
    finally:
        signal.signal(signal.SIGHUP, before)
    assert seen == [signal.SIGHUP]


def test_our_end_is_by_the_signal(place: Path) -> None:
    script = f"from mcc_jupyter.runtime import errands; errands.output(['/bin/sh', '-c', {TREE!r}], {ENVIRON!r})"
    errands._signal_ourselves(0)  # which tells only that there is such a process
    process = subprocess.Popen([sys.executable, "-c", script])
    number = written(place / "self")
    process.terminate()
    assert process.wait(30) == -signal.SIGTERM
    assert not alive(number)
    assert not alive(written(place / "below"))


def test_where_the_system_tells_less_the_program_itself_is_ended(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    with pytest.raises(subprocess.TimeoutExpired):
        sh(TREE, limit=0.3)
    assert not alive(int((place / "self").read_text()))
    os.kill(int((place / "below").read_text()), signal.SIGKILL)
