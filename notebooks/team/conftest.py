"""The kernel of this folder's notebook is started with what ``launch.env`` says, as its first cell tells to do.

The operator's tools see the environment that their kernel was started with, so no cell can provide it.
"""

from __future__ import annotations

import os
from pathlib import Path

_SAME_EVERYWHERE = {
    "USER": "ana", "LOGNAME": "ana", "TMPDIR": "/tmp", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC",
    "TERM": "dumb", "SHELL": "/bin/sh",
}  # fmt: skip


def environment() -> dict[str, str]:
    """What the notebook's kernel is given beside what this process has."""
    lines = (Path(__file__).parent / "launch.env").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


for name, value in _SAME_EVERYWHERE.items():
    os.environ.setdefault(name, value)
os.environ.update(environment())
