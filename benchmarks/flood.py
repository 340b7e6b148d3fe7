"""One gigabyte of a tool's output, and the same read from a pipe and thrown away: ``python -m benchmarks.flood``.

It runs in a process of its own, so that its memory is its own. Arguments: secrets, megabytes, which comes first.
Standard output is JSON: seconds of each, growth of memory in bytes, bytes that the notebook file has for it.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LINE = "2026-11-30 12:00:{0:02d}.{1:03d} INFO worker[{2}] id={3:016x} path=/api/items/{4} status=200 took {5:.1f} ms\n"
PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


def main(secrets: int, megabytes: int, raw_first: bool) -> dict[str, float]:
    from mcc_jupyter.core.tool import Origin
    from mcc_jupyter.runtime.toolbox import Toolbox

    parent = {**PATH, **{f"BENCH_{n}": hashlib.sha256(b"%d" % n).hexdigest()[:40] for n in range(secrets)}}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "log")
        numbers = (n * 11400714819323198485 % 2**64 for n in range(80_000))
        log = (LINE.format(n % 60, n % 1000, n % 64, n, n % 9973, n % 977 / 7) for n in numbers)
        data = "".join(log).encode()[:8_000_000]
        file.write_bytes(data)
        command = f"i=0; while [ $i -lt {megabytes // 8} ]; do echo {file}; i=$((i+1)); done | xargs cat"
        toolbox = Toolbox(lambda: parent, place="this benchmark")
        origin = Origin("python", "benchmark")
        for name, text in (("first", f"head -c 3000000 {file}"), ("flood", command)):
            document = {"name": name, "exec": text, "env_passthrough": ["BENCH_*"]}
            toolbox.add(document, origin, folder=folder).raise_for_problems()
        toolbox.call("first")
        raw = _raw(command) if raw_first else 0.0
        shown: list[str] = []
        before, begin = _peak(), time.perf_counter()
        outcome = toolbox.call("flood", show=lambda _, text: shown.append(text))
        call, growth = time.perf_counter() - begin, _peak() - before
        toolbox.close()
        if not outcome.ok or not outcome.cut:
            raise RuntimeError(outcome.failure)
        raw = raw or _raw(command)
    return {"raw": raw, "call": call, "growth": growth, "notebook": _notebook("".join(shown))}


def _raw(command: str) -> float:
    begin = time.perf_counter()
    with subprocess.Popen(["sh", "-c", command], env=PATH, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while os.read(process.stdout.fileno(), 64 * 1024):
            pass
    return time.perf_counter() - begin


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _notebook(text: str) -> int:
    import nbformat
    from nbformat.v4 import new_code_cell, new_notebook, new_output

    cell = new_code_cell(outputs=[new_output("stream", name="stdout", text=text)])  # type: ignore[no-untyped-call]
    notebook = new_notebook(cells=[cell])  # type: ignore[no-untyped-call]
    return len(nbformat.writes(notebook).encode())  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "raw")))
