"""What the tests of the doors share: a place to find Python's children, and patience without a clock in the assertions."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent.parent


def until(true: Callable[[], object], seconds: float = 20.0) -> bool:
    """Whether it became true; the time is only there to end a test that would hang."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def alive(pid: int) -> bool:
    """Whether the process runs; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture
def outside(tmp_path: Path) -> dict[str, str]:
    """An environment for a process that is started as from a terminal: nothing of this machine's configuration."""
    return {
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONDONTWRITEBYTECODE": "1",
        **{name: os.environ[name] for name in ("COVERAGE_PROCESS_START",) if name in os.environ},
    }
