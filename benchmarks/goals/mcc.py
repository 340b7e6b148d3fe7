"""Against MCC 0.4.0 in the same run (N17), in a virtual environment that is made at the first run and kept.

Its own functions are called as its server calls them, without the database that only its catalogue needs.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..harness import Goal, Unmeasured, Way, Ways
from .common import FLOOR, REPOSITORY, SCRIPT, Worker, function, pause, shell_tool

REQUIREMENT = "model-context-catalog==0.4.0"
FOLDER = REPOSITORY / ".bench" / "mcc-0.4.0"
"""Git does not see it; ``make clean`` removes it."""

_PEER = """
import asyncio, sys, time
from mcc.models import ToolModel

folder, script = sys.argv[1:]
tools = {
    "fn": ToolModel(name="bench", fn="bench_module:work", params=[], return_type="int", cwd=folder),
    "exec": ToolModel(name="bench", exec=script),
}
expected = {"fn": "1", "exec": "one line of output\\n"}
loop = asyncio.new_event_loop()
for line in sys.stdin:
    kind = line.strip()
    call = tools[kind].callable
    begin = time.perf_counter()
    answer = loop.run_until_complete(call())
    taken = time.perf_counter() - begin
    if answer != expected[kind]:
        raise SystemExit(f"an unexpected answer: {answer!r}")
    print(taken, flush=True)
"""


def installed() -> Path:
    """The interpreter of MCC's environment, which is made when it is not there. Raises ``Unmeasured``."""
    python, done = FOLDER / "bin" / "python", FOLDER / ".installed"
    if done.exists():
        return python
    print(f"installing {REQUIREMENT} into {FOLDER.relative_to(REPOSITORY)}, once …", file=sys.stderr, flush=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--no-input", REQUIREMENT]
    for command in ([sys.executable, "-m", "venv", str(FOLDER)], pip):
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode:
            shutil.rmtree(FOLDER, ignore_errors=True)
            said = [line for line in made.stderr.splitlines() if "error" in line.lower()]
            last = said[-1] if said else "no reason given"
            raise Unmeasured(f"{REQUIREMENT} could not be installed: {last.strip()}")
    done.touch()
    return python


@contextmanager
def peer() -> Iterator[Worker]:
    """MCC in a process of its own, as a server that has started; a line ``fn`` or ``exec`` is a call."""
    interpreter = installed()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "bench_module.py").write_text("def work():\n    return 1\n")
        environment = {**FLOOR, "HOME": folder, "ENV_FOR_DYNACONF": "production", "MCC_SKIP_AUTOLOAD": "1"}
        with Worker([str(interpreter), "-c", _PEER, folder, SCRIPT], environment) as worker:
            yield worker


@contextmanager
def n17_function() -> Iterator[Ways]:
    with peer() as worker, function("") as call:
        yield {"call": Way(call, prepare=pause), "MCC": Way(lambda: worker("fn"), prepare=pause)}


@contextmanager
def n17_exec() -> Iterator[Ways]:
    with peer() as worker, shell_tool(0) as call:
        yield {"call": Way(call, prepare=pause), "MCC": Way(lambda: worker("exec"), prepare=pause)}


GOALS = (
    Goal("N17", "fn call: times as fast as MCC 0.4.0", 50, n17_function, faster=True),
    Goal("N17", "exec call: times as fast as MCC 0.4.0", 1.5, n17_exec, faster=True),
)
