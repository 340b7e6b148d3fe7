"""What people use in a notebook today, in a real kernel, timed there: it sets no goal, it shows the size of things.

``!`` forks the kernel, which slows the start of a program after it. It has a kernel of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from .goals.common import SCRIPT
from .goals.output import declare
from .harness import Way, compare
from .kernel import Kernel, kernel

_TIMED = "import time; _begin = time.perf_counter(); {}; taken = time.perf_counter() - _begin"
_START = f"""
import subprocess, sys
run = lambda *command: subprocess.run(command, capture_output=True, check=True)
script = {SCRIPT!r}
"""
_FUNCTION = """%%mcc_tool
name: work_{module}
fn: bench_{module}:work
"""
COMMANDS = {
    "subprocess.run": "run('sh', '-c', script)",
    "%mcc_call": "get_ipython().run_line_magic('mcc_call', 'line')",
    "%%mcc_sh": "get_ipython().run_cell_magic('mcc_sh', '', script)",
    "%%bash": "get_ipython().run_cell_magic('bash', '', script)",
    "!cmd": "get_ipython().system(script)",
}
"""One line of output from a shell, by every way a notebook has; the first is what the others are divided by."""
FORKING = ("!cmd",)
ROUNDS = {"commands": 100, "numpy": 30, "pandas": 15}


@dataclass(frozen=True)
class Peer:
    """One row: a way, its median in milliseconds, and how many times as long as the first way of its task it takes."""

    task: str
    way: str
    milliseconds: float
    ratio: float
    rounds: int


def peers(rounds: int) -> list[Peer]:
    """All rows. *rounds* caps those of each task."""
    with ExitStack() as stack:
        plain, forking = (stack.enter_context(kernel()) for _ in range(2))
        for running in (plain, forking):
            running.run(_START)
            declare(running, "line", SCRIPT)

        def way(name: str, code: str) -> Way:
            running = forking if name in FORKING else plain
            return Way(_timed(running, code))

        ways = {name: way(name, code) for name, code in COMMANDS.items()}
        found = _rows("one line from a shell", ways, min(rounds, ROUNDS["commands"]))
        for module in ("numpy", "pandas"):
            (plain.folder / f"bench_{module}.py").write_text(f"import {module}\n\ndef work():\n    return 1\n")
            plain.run(_FUNCTION.format(module=module))
            ways = {
                "subprocess.run(python -c)": way("", f"run(sys.executable, '-c', 'import {module}')"),
                "%mcc_call, kept imported": way("", f"get_ipython().run_line_magic('mcc_call', 'work_{module}')"),
            }
            found += _rows(f"a function that uses {module}", ways, min(rounds, ROUNDS[module]))
        return found


def _timed(running: Kernel, code: str) -> Callable[[], float]:
    return lambda: running.number(_TIMED.format(code), "taken")


def _rows(task: str, ways: Mapping[str, Way], rounds: int) -> list[Peer]:
    times = compare(ways, rounds=rounds)
    base = next(iter(ways))
    return [Peer(task, name, round(times.median(name) * 1000, 3), times.ratio(name, base), rounds) for name in ways]
