"""Processes that the tests of the doors start, and patience without a clock in the assertions."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent


def environment(folder: Path) -> dict[str, str]:
    """A small environment that has nothing of this machine's configuration; *folder* is the home."""
    return {
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "IPYTHONDIR": str(folder / "ipython"),
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


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
