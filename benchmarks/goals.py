"""The goals, one function each: what is measured, against what, and how far it should reach.

A goal is a ratio of two things timed in the same run. Its number is the one used in ``docs/performance.md``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from .harness import Way, compare

REPOSITORY = Path(__file__).resolve().parent.parent
FLOOR = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"}
SECRETS = {f"BENCH_TOKEN_{number}": f"tok-{number:04d}-{'x7Kq' * 8}" for number in range(10)}


@dataclass(frozen=True)
class Measured:
    """One row: ``value`` in ``unit`` should be at most ``limit``; ``milliseconds`` are medians, to show the size."""

    goal: str
    what: str
    value: float
    limit: float
    unit: str = "×"
    milliseconds: dict[str, float] = field(default_factory=dict)

    @property
    def reached(self) -> bool:
        return self.value <= self.limit

    @property
    def reach(self) -> str:
        return f"≤ {self.limit:g}{self.unit}"

    @property
    def text(self) -> str:
        return f"{self.value:.3g}{self.unit}"


def _ratio(goal: str, what: str, limit: float, ways: dict[str, Way], rounds: int) -> Measured:
    """The first way against the second."""
    subject, peer = ways
    times = compare(ways, rounds=rounds)
    milliseconds = {name: round(times.median(name) * 1000, 4) for name in ways}
    return Measured(goal, what, times.ratio(subject, peer), limit, milliseconds=milliseconds)


@contextmanager
def _toolbox(parent: dict[str, str]) -> Iterator[Any]:
    from mcc_jupyter.runtime.toolbox import Toolbox

    toolbox = Toolbox(lambda: parent, place="this benchmark")
    try:
        yield toolbox
    finally:
        toolbox.close()


def _add(toolbox: Any, document: object, folder: str = "/") -> None:
    from mcc_jupyter.core.tool import Origin

    toolbox.add(document, Origin("python", "benchmark"), folder=folder).raise_for_problems()


def _settle() -> None:
    """What the other way left to do behind its answer is not this way's."""
    time.sleep(0.005)


def _pause() -> None:
    """Long enough for what is made ready after a call."""
    time.sleep(0.015)


def n1(rounds: int) -> list[Measured]:
    """A shell tool's whole call: resolve, start, poll, redact."""
    script = "echo one line of output"
    command = ["sh", "-c", script]

    def bare() -> None:
        with subprocess.Popen(command, env=FLOOR, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            process.wait()

    with _toolbox({**FLOOR, **SECRETS}) as toolbox:
        _add(toolbox, {"name": "bench", "exec": script, "env_passthrough": list(SECRETS)})
        ways = {"call": Way(lambda: toolbox.call("bench"), prepare=_settle), "Popen": Way(bare, prepare=_settle)}
        return [_ratio("N1", "exec call, redacting 10 secrets / Popen(sh -c) and wait", 1.3, ways, rounds)]


def n3(rounds: int) -> list[Measured]:
    """A function's call in a new interpreter."""
    with tempfile.TemporaryDirectory() as folder, _toolbox(FLOOR) as toolbox:
        Path(folder, "bench_module.py").write_text("import decimal, json\n\ndef work():\n    return 1\n")
        _add(toolbox, {"name": "bench", "fn": "bench_module:work", "fresh": True}, folder)
        command = [sys.executable, "-I", "-c", "import decimal, json"]
        ways = {
            "call": Way(lambda: toolbox.call("bench"), prepare=_settle),
            "python -I": Way(lambda: subprocess.run(command, env=FLOOR, check=True), prepare=_settle),
        }
        return [_ratio("N3", "cold fn call / python -I -c 'import the same modules'", 1.1, ways, rounds)]


@contextmanager
def _function(imports: str, body: str = "return 1", **fields: object) -> Iterator[Callable[[], object]]:
    """A call of a function whose module has *imports*, once it has been called."""
    with tempfile.TemporaryDirectory() as folder, _toolbox({**FLOOR, "HOME": folder}) as toolbox:
        Path(folder, "bench_module.py").write_text(f"{imports}\n\ndef work():\n    {body}\n")
        _add(toolbox, {"name": "bench", "fn": "bench_module:work", **fields}, folder)

        def call() -> object:
            outcome = toolbox.call("bench")
            if not outcome.ok or outcome.mode != ("cold" if fields.get("fresh") else "warm"):
                raise RuntimeError(f"{imports}: {outcome.mode}: {outcome.failure or outcome.mode_reason}")
            return outcome.value

        call()
        yield call


def n4(rounds: int) -> list[Measured]:
    """A function that stays imported, against the smallest program."""

    def true() -> None:
        subprocess.run(["true"], env=FLOOR, capture_output=True, check=True)

    found = []
    for imports in ("", "import numpy", "import pandas"):
        with _function(imports) as call:
            ways = {"call": Way(call, prepare=_pause), "true": Way(true, prepare=_pause)}
            what = f"warm fn call ({imports or 'imports nothing'}) / subprocess.run(true, capture_output)"
            found.append(_ratio("N4", what, 0.8, ways, rounds))
    return found


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


def n5(rounds: int) -> list[Measured]:
    """A call when none is forked ahead, against the bare fork of a process with the same imports."""
    found = []
    for imports, limit in (("", 3.5), ("import numpy", 2.2), ("import pandas", 1.3)):
        source = _FORK.format(imports=imports)
        command = [sys.executable, "-c", source]
        with (
            _function(imports) as call,
            subprocess.Popen(command, env=FLOOR, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process,
        ):
            assert process.stdin is not None
            assert process.stdout is not None
            stdin, stdout = process.stdin, process.stdout

            def fork(stdin: Any = stdin, stdout: Any = stdout) -> float:
                stdin.write("\n")
                stdin.flush()
                return float(stdout.readline())

            # The call before takes the one that was forked ahead, so that this one waits for its fork.
            ways = {"call": Way(call, prepare=lambda call=call: (_pause(), call())), "fork": Way(fork, prepare=_pause)}
            what = f"fn call right after another ({imports or 'imports nothing'}) / fork with the same imports"
            found.append(_ratio("N5", what, limit, ways, rounds))
    return found


def n6(rounds: int) -> list[Measured]:
    """Calls a second, eight at once."""
    found = []
    for imports, limit in (("", 5.0), ("import numpy", 30.0), ("import pandas", 30.0)):
        rates = []
        for fresh in (False, True):
            with _function(imports, fresh=fresh) as call, ThreadPoolExecutor(8) as pool:
                number = max(16, rounds if not fresh else rounds // 6)
                begin = time.perf_counter()
                list(pool.map(lambda _, call=call: call(), range(number)))
                rates.append(number / (time.perf_counter() - begin))
        what = f"fn calls a second, 8 at once ({imports or 'imports nothing'}), cold / warm"
        shown = {"warm calls/s": rates[0], "cold calls/s": rates[1]}
        found.append(Measured("N6", what, rates[1] / rates[0], 1 / limit, milliseconds=shown))
    return found


def n7(rounds: int) -> list[Measured]:
    """Memory of one more call with pandas that works on a frame, forked and cold."""
    work = "frame = pandas.DataFrame({'a': range(10000)}); frame.groupby(frame.a % 7).sum(); "
    sizes = []
    for fresh in (False, True):
        with _function("import pandas", work + _PRIVATE, fresh=fresh) as call:
            sizes.append(median(float(str(call())) for _ in range(max(3, min(rounds // 20, 7)))))
    what = "private memory of a pandas call, warm / cold"
    return [Measured("N7", what, sizes[0] / sizes[1], 0.25, milliseconds={"warm KiB": sizes[0], "cold KiB": sizes[1]})]


_PRIVATE = "return sum(int(line.split()[1]) for line in open('/proc/self/smaps_rollup') if line.startswith('Private'))"


def n8(rounds: int) -> list[Measured]:
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
    ways = {
        "resolve": Way(lambda: resolve(tool, parent=parent, floor=DEFAULT_FLOOR), number=5),
        "dict": Way(lambda: dict(parent), number=5),
    }
    return [_ratio("N8", "resolve 10,000 variables, 10 patterns, parent unchanged / a dict copy", 3, ways, rounds)]


def n9(rounds: int) -> list[Measured]:
    """Reading an env file: for the first time, and again while it is unchanged."""
    from dotenv import dotenv_values

    from mcc_jupyter.core.tool import EnvFile
    from mcc_jupyter.runtime.catalog import EnvFiles

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.env"
        path.write_text("".join(f"NAME_{number}='value {number} of a file'\n" for number in range(1_000)))
        declared = [EnvFile("bench.env", str(path))]
        known = EnvFiles()
        ways = {
            "first": Way(lambda: EnvFiles().read(declared)),
            "dotenv_values": Way(lambda: dotenv_values(path, interpolate=False)),
            "again": Way(lambda: known.read(declared), number=10),
        }
        times = compare(ways, rounds=rounds)
    milliseconds = {name: round(times.median(name) * 1000, 4) for name in ways}
    first, again = times.ratio("first", "dotenv_values"), times.ratio("again", "first")
    what = "dotenv of 1,000 lines"
    return [
        Measured("N9", f"{what}, read first / dotenv_values(interpolate=False)", first, 1, milliseconds=milliseconds),
        Measured("N9", f"{what}, read again / read first", again, 0.01, milliseconds=milliseconds),
    ]


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


def n10(rounds: int) -> list[Measured]:
    """Loading the extension in a shell as a kernel has it."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**FLOOR, "HOME": home, "IPYTHONDIR": f"{home}/ipython"}

        def fresh(script: str, *arguments: str) -> Callable[[], float]:
            command = [sys.executable, "-I", "-c", script, *arguments]
            return lambda: float(subprocess.run(command, capture_output=True, check=True, env=environment).stdout)

        ways = {"load_ext": Way(fresh(_LOAD, str(REPOSITORY))), "import json": Way(fresh(_IMPORT))}
        return [_ratio("N10", "%load_ext mcc_jupyter / import json in a bare Python", 0.5, ways, rounds)]


def n11(rounds: int) -> list[Measured]:
    """A gigabyte of output: the time against a plain read of it, the memory, and what it puts into a notebook."""
    found = []
    for secrets in (10, 100):
        runs: list[dict[str, float]] = []
        for turn in range(max(3, min(rounds // 20, 7))):
            command = [sys.executable, "-m", "benchmarks.flood", str(secrets), "1000", "raw" if turn % 2 else "call"]
            ran = subprocess.run(command, capture_output=True, check=True, cwd=REPOSITORY)
            runs.append(json.loads(ran.stdout))
        middle = {name: median(run[name] for run in runs) for name in runs[0]}
        milliseconds = {"call": middle["call"] * 1000, "read": middle["raw"] * 1000}
        ratio = median(run["call"] / run["raw"] for run in runs)
        what = f"1 GB of a tool's log lines with {secrets} secrets"
        found += [
            Measured("N11", f"{what} / os.read of 64 KiB", ratio, 10, milliseconds=milliseconds),
            Measured("N11", f"{what}: growth of memory", middle["growth"] / 2**20, 32, " MB"),
            Measured("N11", f"{what}: in the notebook file", middle["notebook"] / 1024, 128, " KB"),
        ]
    return found


def n14(rounds: int) -> list[Measured]:
    """Ten thousand tools: finding one, and what their overviews put into a notebook."""
    with _toolbox(FLOOR) as toolbox:
        _add(toolbox, [{"name": f"tool_{number}", "exec": "true"} for number in range(10_000)])
        plain = {f"tool_{number}": number for number in range(10_000)}
        ways = {
            "find": Way(lambda: toolbox.registry.find("tool_7421"), number=1_000),
            "dict": Way(lambda: plain.get("tool_7421"), number=1_000),
        }
        found = _ratio("N14", "10,000 tools: finding one / dict.get", 2, ways, rounds)
        shown = [item._repr_mimebundle_() for item in (toolbox.listing(), toolbox.matrix())]
    largest = max(len(json.dumps(bundle, ensure_ascii=False).encode()) for bundle in shown) / 1024
    return [found, Measured("N14", "10,000 tools: the larger of list and overview in the notebook", largest, 64, " KB")]


GOALS: dict[str, Callable[[int], list[Measured]]] = {
    "N1": n1,
    "N3": n3,
    "N4": n4,
    "N5": n5,
    "N6": n6,
    "N7": n7,
    "N8": n8,
    "N9": n9,
    "N10": n10,
    "N11": n11,
    "N14": n14,
}
