"""Calls of Python functions: started anew (N3), kept imported (N4), forked on demand (N5), many at once (N6, N7)."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import mean

from ..harness import Goal, Unmeasured, Way, Ways
from .common import FLOOR, KINDS, Worker, checked, function, functions, pause, python, settle

AT_ONCE = 8


@contextmanager
def n3() -> Iterator[Ways]:
    """A function's call in a new interpreter."""
    imports = "import decimal, json"
    command = [sys.executable, "-I", "-c", imports]
    with function(imports, fresh=True) as call:
        yield {
            "call": Way(call, prepare=settle),
            "python -I": Way(lambda: subprocess.run(command, env=FLOOR, check=True), prepare=settle),
        }


@contextmanager
def n4(imports: str) -> Iterator[Ways]:
    """A function that stays imported, against the smallest program."""

    def true() -> None:
        subprocess.run(["true"], env=FLOOR, capture_output=True, check=True)

    with function(imports) as call:
        yield {"call": Way(call, prepare=pause), "true": Way(true, prepare=pause)}


_FORK = """
import os, sys, time
{imports}
for line in sys.stdin:
    begin = time.perf_counter()
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
    print(time.perf_counter() - begin, flush=True)
"""


@contextmanager
def n5(imports: str) -> Iterator[Ways]:
    """A call when none is forked ahead, against the bare fork of a process with the same imports."""
    with function(imports) as call, Worker(python(_FORK.format(imports=imports))) as fork:

        def taken() -> None:
            pause()
            call()  # takes the one that was forked ahead, so that the next one waits for its fork

        yield {"call": Way(call, prepare=taken), "fork": Way(fork, prepare=pause)}


@contextmanager
def n6(imports: str) -> Iterator[Ways]:
    """Seconds a call, eight at once, kept imported and started anew."""

    def batch(tools: object, number: int, *, fresh: bool) -> Callable[[], float]:
        def run() -> float:
            begin = time.perf_counter()
            outcomes = tools.map("bench", [{}] * number, workers=AT_ONCE)  # type: ignore[attr-defined]
            taken = (time.perf_counter() - begin) / number
            for outcome in outcomes:
                checked(outcome, fresh=fresh)
            return taken

        return run

    with functions(imports) as warm, functions(imports, fresh=True) as cold:
        yield {
            "warm": Way(batch(warm, 8 * AT_ONCE, fresh=False), prepare=pause),
            "cold": Way(batch(cold, AT_ONCE, fresh=True), prepare=pause),
        }


_HOLD = """import os, time
    frame = pandas.DataFrame({"a": range(10000)})
    frame.groupby(frame.a % 7).sum()
    def meet(step):
        open(os.path.join(folder, f"{step}-{os.getpid()}"), "w").close()
        deadline = time.monotonic() + 60
        while sum(name.startswith(step) for name in os.listdir(folder)) < 2 and time.monotonic() < deadline:
            time.sleep(0.005)
    meet("worked")
    with open("/proc/self/smaps_rollup") as file:
        private = sum(int(line.split()[1]) for line in file if line.startswith("Private"))
    meet("read")
    return private"""
"""Two calls meet, so that each is read while the other runs: what is shared between them belongs to neither."""


@contextmanager
def n7() -> Iterator[Ways]:
    """KiB that one of two concurrent calls has for itself, and would give back if it ended."""

    def private(tools: object, *, fresh: bool) -> Callable[[], float]:
        def run() -> float:
            with tempfile.TemporaryDirectory() as folder:
                outcomes = tools.map("bench", [{"folder": folder}] * 2, workers=2)  # type: ignore[attr-defined]
            return mean(float(checked(outcome, fresh=fresh).value) for outcome in outcomes)

        return run

    what = {"imports": "import pandas", "body": _HOLD, "arguments": "folder: str"}
    if not Path("/proc/self/smaps_rollup").exists():
        raise Unmeasured("this system does not tell how much of a process is its own")
    with functions(**what) as warm, functions(**what, fresh=True) as cold:
        yield {"warm": Way(private(warm, fresh=False)), "cold": Way(private(cold, fresh=True))}


def _each(
    number: str, what: str, limits: tuple[float, ...], make: Callable[[str], object], **fields: object
) -> tuple[Goal, ...]:
    """A goal for each kind of function."""
    kinds = zip(KINDS.items(), limits, strict=True)
    return tuple(
        Goal(number, what.format(words), limit, partial(make, imports), **fields) for (imports, words), limit in kinds
    )  # type: ignore[arg-type]


GOALS = (
    Goal("N3", "cold fn call / python -I -c 'import the same modules'", 1.1, n3),
    *_each("N4", "warm fn call ({}) / subprocess.run(true, capture_output)", (0.8, 0.8, 0.8), n4),
    *_each("N5", "fn call right after another ({}) / fork with the same imports", (3.5, 2.2, 1.3), n5),
    *_each("N6", "fn calls a second, 8 at once ({}), warm / cold", (5.0, 30.0, 30.0), n6, faster=True, most=10),
    Goal("N7", "memory of one more concurrent pandas call, warm / cold", 0.25, n7, most=5, shown=(1.0, "KiB")),
)
