"""Processes that tests start, what is below them, and patience without a clock in the assertions."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parent.parent
CHILD = REPOSITORY / "mcc_jupyter" / "child"
OURS = ("mcc-keeper", "mcc-launcher", "mcc-supervisor")


class Process(NamedTuple):
    """What the system tells of a process. ``state`` is one letter; ``started`` tells two with one number apart."""

    name: str
    state: str
    parent: int
    group: int
    session: int
    started: int


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


def process(pid: int) -> Process | None:
    """None where there is none, or only one that waits to be reaped."""
    try:
        head, _, rest = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")
    except OSError:
        return None
    words = rest.split()
    if words[0] in "ZX":
        return None
    return Process(head.partition("(")[2], words[0], int(words[1]), int(words[2]), int(words[3]), int(words[19]))


def alive(pid: int) -> bool:
    """Whether the process runs; one that only waits to be reaped does not."""
    return process(pid) is not None


def name(pid: int) -> str:
    """The process's name; empty where there is none."""
    found = process(pid)
    return "" if found is None else found.name


def parent(pid: int) -> int:
    """The parent of a process that runs."""
    found = process(pid)
    assert found is not None
    return found.parent


def children(pid: int) -> list[int]:
    """The children of a process whose only thread is its first one, those that wait to be reaped among them."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def below(pid: int) -> list[int]:
    """The living children of a process and theirs, but for the launcher and supervisors, which wait for calls."""
    found = [child for one in children(pid) for child in (one, *below(one)) if alive(child)]
    return [one for one in found if name(one) not in OURS]


def everyone() -> dict[int, Process]:
    """All that live, by number."""
    found = {int(number): process(int(number)) for number in os.listdir("/proc") if number.isdigit()}
    return {pid: one for pid, one in found.items() if one is not None}


def family(root: int) -> dict[int, Process]:
    """*root* and everything below it that lives, by number."""
    table = everyone()
    found: dict[int, Process] = {}
    new = {root} & table.keys()
    while new:
        found.update({pid: table[pid] for pid in new})
        new = {pid for pid, one in table.items() if one.parent in new}
    return found


def written(path: Path) -> int:
    """The number a process writes into a file, as soon as it is there."""
    assert until(lambda: path.exists() and path.read_text().endswith("\n"))
    return int(path.read_text())


def changed_launcher(folder: Path, changes: dict[str, tuple[str, str]]) -> Path:
    """A launcher's script beside its modules, in each of which something is another."""
    shutil.copytree(CHILD, folder / "child", ignore=shutil.ignore_patterns("__pycache__"))
    for name, (old, new) in changes.items():
        path = folder / "child" / f"{name}.py"
        source = path.read_text(encoding="utf-8")
        assert source.count(old) == 1
        path.write_text(source.replace(old, new), encoding="utf-8")
    return folder / "child" / "launch.py"


def loaded(name: str) -> ModuleType:
    """A module of the launcher, in this process, and not the one that another test may have changed."""
    spec = importlib.util.spec_from_file_location(f"{name}_under_test", CHILD / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
