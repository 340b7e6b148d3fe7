"""A mark that tells one process from all that have had its number, here and elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcc_jupyter.runtime import marks
from mcc_jupyter.runtime.marks import place, start_mark


def test_a_living_process_has_one_mark_and_another_process_another() -> None:
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert start_mark(os.getpid()) == start_mark(os.getpid()) != start_mark(other.pid)
        assert str(start_mark(other.pid)).partition(" ")[2] == place()
        other.kill()
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
        assert start_mark(other.pid) is None  # it waits to be reaped
    finally:
        other.kill()
        other.communicate()
    assert start_mark(other.pid) is None


@pytest.mark.parametrize("pid", [0, -1, 10**30])
def test_what_is_no_process_has_none(pid: int) -> None:
    assert start_mark(pid) is None


def test_half_a_line_is_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "_PROC", str(tmp_path))
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "stat").write_text("7 (x) R 1")
    assert start_mark(7) is None


def test_a_system_without_proc_tells_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "_PROC", str(tmp_path / "none"))
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert start_mark(os.getpid()) == start_mark(os.getpid()) != start_mark(other.pid)
        assert str(start_mark(os.getpid())).partition(" ")[2] == place() == os.uname().nodename
        other.kill()
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
        assert start_mark(other.pid) is None
    finally:
        other.kill()
        other.communicate()
    assert [start_mark(pid) for pid in (other.pid, -1, 10**30)] == [None, None, None]
