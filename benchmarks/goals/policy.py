"""What happens before a process: resolving (N8), env files (N9), loading the extension (N10), finding a tool (N14)."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..harness import Figure, Goal, Way, Ways
from .common import FLOOR, REPOSITORY, add, toolbox


@contextmanager
def n8() -> Iterator[Ways]:
    """Resolving again while the parent is unchanged."""
    from mcc_jupyter.core.policy import resolve
    from mcc_jupyter.core.tool import DEFAULT_FLOOR, Origin, Shell, Text, Tool

    parent = {**FLOOR, **{f"GROUP{number % 45}_NAME_{number}": f"value {number}" for number in range(10_000)}}
    tool = Tool(
        name="bench",
        body=Shell("true", "true"),
        origin=Origin("cell", "cell"),
        cwd=Text("/", "/"),
        passthrough=tuple(f"GROUP{number}_*" for number in range(10)),
    )
    yield {
        "resolve": Way(lambda: resolve(tool, parent=parent, floor=DEFAULT_FLOOR), number=5),
        "dict": Way(lambda: dict(parent), number=5),
    }


@contextmanager
def n9(*, again: bool) -> Iterator[Ways]:
    """Reading an env file: for the first time, and again while it is unchanged."""
    from dotenv import dotenv_values

    from mcc_jupyter.core.tool import EnvFile
    from mcc_jupyter.runtime.catalog import EnvFiles

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.env"
        path.write_text("".join(f"NAME_{number}='value {number} of a file'\n" for number in range(1_000)))
        declared = [EnvFile("bench.env", str(path))]
        known = EnvFiles()
        first = Way(lambda: EnvFiles().read(declared))
        if again:
            yield {"again": Way(lambda: known.read(declared), number=10), "first": first}
        else:
            yield {"first": first, "dotenv_values": Way(lambda: dotenv_values(path, interpolate=False))}


_LOAD = """
import sys, time
sys.path.insert(0, sys.argv[1])
import ipykernel.ipkernel
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
begin = time.perf_counter()
shell.run_line_magic("load_ext", "mcc_jupyter")
print(time.perf_counter() - begin)
"""
_IMPORT = "import time; begin = time.perf_counter(); import json; print(time.perf_counter() - begin)"


@contextmanager
def n10() -> Iterator[Ways]:
    """Loading the extension in a shell as a kernel has it."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**FLOOR, "HOME": home, "IPYTHONDIR": f"{home}/ipython"}

        def fresh(script: str, *arguments: str) -> Callable[[], float]:
            command = [sys.executable, "-I", "-c", script, *arguments]
            return lambda: float(subprocess.run(command, capture_output=True, check=True, env=environment).stdout)

        yield {"load_ext": Way(fresh(_LOAD, str(REPOSITORY))), "import json": Way(fresh(_IMPORT))}


@contextmanager
def n14() -> Iterator[tuple[Ways, tuple[Figure, ...]]]:
    """Ten thousand tools: finding one, and what their overviews put into a notebook."""
    with toolbox(FLOOR) as tools:
        add(tools, [{"name": f"tool_{number}", "exec": "true"} for number in range(10_000)])
        plain = {f"tool_{number}": number for number in range(10_000)}

        def largest() -> float:
            shown = [item._repr_mimebundle_() for item in (tools.listing(), tools.matrix())]
            return max(len(json.dumps(bundle, ensure_ascii=False).encode()) for bundle in shown) / 1024

        ways = {
            "find": Way(lambda: tools.registry.find("tool_7421"), number=1_000),
            "dict": Way(lambda: plain.get("tool_7421"), number=1_000),
        }
        yield ways, (Figure("10,000 tools: the larger of list and overview in the notebook", largest, 64, " KB"),)


_FILE = "dotenv of 1,000 lines"

GOALS = (
    Goal("N8", "resolve 10,000 variables, 10 patterns, parent unchanged / a dict copy", 3, n8),
    Goal("N9", f"{_FILE}, read first / dotenv_values(interpolate=False)", 1, lambda: n9(again=False)),
    Goal("N9", f"{_FILE}, read again / read first", 0.01, lambda: n9(again=True)),
    Goal("N10", "%load_ext mcc_jupyter / import json in a bare Python", 0.5, n10),
    Goal("N14", "10,000 tools: finding one / dict.get", 2, n14),
)
