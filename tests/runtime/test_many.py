"""Many calls, one after another and at once: nothing is left of them, and memory stays flat (SPEC 7.1, 7.3)."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.processes import alive, family, until

from .conftest import World

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

FLAT = 3 * 1024
"""KiB that a process may grow by; a leak of 4 KiB in each call would be more."""
TOOLS = [{"name": "shell", "exec": "echo {{ n }}", "params": [{"name": "n", "type": "int"}]}, {"name": "function", "fn": "mod:run"}]


class Left:
    """What there is of ours: processes and their descriptors, threads, files, memory."""

    def __init__(self, world: World) -> None:
        gc.collect()
        assert world.box.launcher._process is not None  # type: ignore[union-attr]
        self.keeper = world.box.launcher._process.pid  # type: ignore[union-attr]
        self.processes = family(self.keeper)
        self.descriptors = {pid: self.opened(pid) for pid in (os.getpid(), *self.processes)}
        self.threads = (threading.active_count(), len(os.listdir("/proc/self/task")))
        places = [folder for folder in ("/dev/shm", tempfile.gettempdir()) if os.path.isdir(folder)]
        ours = {str(pid) for pid in self.processes}
        self.files = sorted(os.listdir(world.folder)), [name for place in places for name in os.listdir(place) if name.startswith("mcc-") and name.rpartition("-")[2] in ours]
        self.memory = {pid: self.kib(pid) for pid in (os.getpid(), *self.processes)}

    @staticmethod
    def opened(pid: int) -> int:
        try:
            return len(os.listdir(f"/proc/{pid}/fd"))
        except OSError:  # it has ended, or is not dumpable and this is no root
            return 0

    @staticmethod
    def kib(pid: int) -> int:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return 0
        return int((status.partition("RssAnon:")[2].split() or ["0"])[0])


def settled(world: World, before: Left) -> Left:
    """What there is once those that were forked for more calls at once have gone."""
    found = [Left(world)]

    def same() -> bool:
        found[0] = Left(world)
        return len(found[0].processes) <= len(before.processes) and found[0].threads == before.threads

    assert until(same), (before.processes, found[0].processes)
    return found[0]


@pytest.mark.parametrize("tool", ["shell", "function"])
def test_a_thousand_calls_in_a_row_and_a_hundred_at_once_leave_nothing(tool: str, make_world: Callable[..., World]) -> None:
    world = make_world()
    world.module("mod", "import os\ndef run(n: int):\n    print(n)\n    return os.getppid()\n")
    world.declare(TOOLS)
    box = world.box

    def call(number: int) -> bool:
        outcome = box.call(tool, {"n": number})
        return (outcome.ok, outcome.stdout, outcome.mode) == (True, f"{number}\n", "process" if tool == "shell" else "warm")

    assert all(call(number) for number in range(100))
    before = Left(world)
    assert all(call(number) for number in range(1000))
    after = settled(world, before)
    assert (after.keeper, after.files) == (before.keeper, before.files)
    stayed = before.descriptors.keys() & after.descriptors.keys()
    assert os.getpid() in stayed
    assert {pid: after.descriptors[pid] for pid in stayed} == {pid: before.descriptors[pid] for pid in stayed}
    assert [(pid, before.memory[pid], after.memory[pid]) for pid in stayed if after.memory[pid] > before.memory[pid] + FLAT] == []

    with ThreadPoolExecutor(100) as pool:
        assert all(pool.map(call, range(100)))
    assert until(lambda: len([pid for pid in family(after.keeper) if alive(pid)]) <= len(before.processes) + 4)
    last = Left(world)
    assert (last.threads, last.files) == (before.threads, before.files)
    assert last.descriptors[os.getpid()] <= before.descriptors[os.getpid()] + 4  # supervisors that wait for the tool's next calls
