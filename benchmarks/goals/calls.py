"""Calls of shell tools: against a bare start of the same shell (N1), and from a large process (N2)."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..harness import Goal, Unmeasured, Way, Ways
from .common import FLOOR, SCRIPT, Worker, python, settle, shell_tool

LARGE_BYTES = 4 << 30
"""Resident memory of the large process of N2."""


@contextmanager
def n1() -> Iterator[Ways]:
    """A shell tool's whole call: resolve, start, poll, redact."""
    command = ["sh", "-c", SCRIPT]

    def bare() -> None:
        with subprocess.Popen(command, env=FLOOR, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            process.wait()

    with shell_tool() as call:
        yield {"call": Way(call, prepare=settle), "Popen": Way(bare, prepare=settle)}


_KERNEL = """
import mmap, sys, threading, time
from benchmarks.goals.common import settle, shell_tool

size = int(sys.argv[1])
memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
if hasattr(mmap, "MADV_NOHUGEPAGE"):
    memory.madvise(mmap.MADV_NOHUGEPAGE)  # a heap that grew object by object has small pages
memory[::4096] = b"x" * len(range(0, size, 4096))
for _ in range(10):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
with shell_tool() as call:
    for line in sys.stdin:
        settle()
        begin = time.perf_counter()
        call()
        print(time.perf_counter() - begin, flush=True)
"""
"""As a kernel is: threads, and as much memory as was asked for, every page of it touched."""


@contextmanager
def n2() -> Iterator[Ways]:
    """The same call from two processes that differ in their memory alone."""
    free = _available()
    if free is not None and free < 1.5 * LARGE_BYTES:
        raise Unmeasured(f"it needs {1.5 * LARGE_BYTES / 2**30:g} GiB of free memory, and there are {free / 2**30:.1f}")
    with Worker(python(_KERNEL, str(LARGE_BYTES))) as large, Worker(python(_KERNEL, str(1 << 20))) as small:
        yield {"large": Way(large), "small": Way(small)}


def _available() -> int | None:
    """Bytes of memory that can be had; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


GOALS = (
    Goal("N1", "exec call, redacting 10 secrets / Popen(sh -c) and wait", 1.3, n1),
    Goal("N2", "exec call in a process of 4 GB / in a small one", 1.1, n2),
)
