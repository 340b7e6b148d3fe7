"""Output: a gigabyte of it (N11), its first byte and an interrupt (N12), redaction alone (N15)."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from ..harness import Figure, Goal, Unmeasured, Way, Ways
from ..kernel import Kernel, kernel
from .common import secrets

PART_BYTES, PARTS = 64 << 20, 16
"""The flood is a file of so many bytes, printed so many times: a gigabyte."""
TEXT_BYTES = 4 << 20
"""What the redactor alone is given."""
CHUNK = 64 * 1024
GRACE_MS = {"INT": 1000.0, "INT TERM": 3000.0}
"""Until a tool that ignores these signals is ended by the next one (SPEC 7.8)."""

_RAW = """
import os, subprocess, time
begin = time.perf_counter()
with subprocess.Popen(["sh", "-c", {script!r}], stdout=subprocess.PIPE) as process:
    fd = process.stdout.fileno()
    while os.read(fd, 65536):
        pass
taken = time.perf_counter() - begin
"""
_CALL = """
import time
open("/proc/self/clear_refs", "w").write("5")  # the peak begins anew
size = lambda name: next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name))
before = size("VmRSS")
begin = time.perf_counter()
get_ipython().run_line_magic("mcc_call", "flood")
taken = time.perf_counter() - begin
grown = (size("VmHWM") - before) / 1024
"""


@contextmanager
def n11(number: int) -> Iterator[tuple[Ways, tuple[Figure, ...]]]:
    """A flood through a tool that has *number* secrets, and the same through a pipe that is read and forgotten."""
    if not Path("/proc/self/clear_refs").exists():
        raise Unmeasured("this system does not tell a process's peak of memory")
    grown, kept = [], []
    with kernel(secrets(number)) as running:
        part = running.folder / "part.log"
        text = log(PART_BYTES >> 3).encode()
        part.write_bytes((text * (PART_BYTES // len(text) + 1))[:PART_BYTES])
        script = "cat" + f" {part}" * PARTS
        declare(running, "flood", script, "BENCH_TOKEN_*")
        declare(running, "small", "echo small")
        running.run("%mcc_call small")  # what the first call of all brings in is not the flood's

        def call() -> float:
            ran = running.run(_CALL, "taken", "grown")
            grown.append(float(ran.values["grown"]))
            kept.append(len(json.dumps(ran.outputs, ensure_ascii=False).encode()) / 1024)
            return float(ran.values["taken"])

        figures = (
            Figure(f"1 GB of output, {number} secrets: growth of the kernel, at most", lambda: max(grown), 32, " MB"),
            Figure(f"1 GB of output, {number} secrets: outputs in the notebook", lambda: max(kept), 128, " KB"),
        )
        yield {"call": Way(call), "raw pipe": Way(lambda: running.number(_RAW.format(script=script), "taken"))}, figures


@contextmanager
def n12_first_byte() -> Iterator[Ways]:
    """From a cell's way to the kernel until its client has the first output."""
    script = "echo first; sleep 0.02"
    with kernel() as running:
        declare(running, "first", script)

        def first(code: str) -> Callable[[], float]:
            return lambda: running.run(code).first or 0.0

        yield {"%mcc_call": Way(first("%mcc_call first")), "%%bash": Way(first(f"%%bash\n{script}"))}


@contextmanager
def n12_interrupt(ignored: str) -> Iterator[Ways]:
    """From the interrupt until the kernel is idle, with a tool that ignores the signals *ignored*."""
    import time

    with kernel() as running:
        declare(running, "stubborn", f"trap '' {ignored}; echo ready; while :; do sleep 0.02; done")

        def interrupted() -> float:
            sent = []

            def interrupt() -> None:
                time.sleep(0.1)  # it is well in its loop
                sent.append(time.perf_counter())
                running.interrupt()

            ran = running.run("%mcc_call stubborn", on_output=interrupt, failing=True)
            if "interrupted" not in ran.error and "KeyboardInterrupt" not in ran.error:
                raise RuntimeError(f"an interrupt did not end the tool: {ran.error}")
            return time.perf_counter() - sent[0]

        yield {"interrupt": Way(interrupted)}


@contextmanager
def n15(make: Callable[[int], str]) -> Iterator[Ways]:
    """Text through a redactor that knows 100 secrets in all their forms, in the pieces a pipe gives."""
    from mcc_jupyter.core.redact import Redactor

    known = secrets(100)
    data = make(TEXT_BYTES).encode()[:TEXT_BYTES]
    chunks = [data[at : at + CHUNK] for at in range(0, len(data), CHUNK)]

    def redact() -> None:
        stream = Redactor(known).stream()
        for chunk in chunks:
            stream.feed(chunk)
        stream.close()

    yield {"redact": Way(redact)}


def declare(running: Kernel, name: str, script: str, *patterns: str) -> None:
    granted = "".join(f" --pass {pattern}" for pattern in patterns)
    running.run(f"%%mcc_tool {name}{granted}\n{script}")


def log(size: int) -> str:
    """Lines of a service's log, always the same."""

    def line(chance: random.Random) -> str:
        when = f"2026-03-{chance.randint(1, 28):02d}T10:{chance.randint(0, 59):02d}:07Z"
        request = f"GET /api/items/{chance.getrandbits(40):x} 200 {chance.randint(1, 900)}ms"
        return f"{when} INFO worker-{chance.randint(1, 64)} {request} cache=hit\n"

    return _lines(size, line)


def coloured(size: int) -> str:
    """A colour for every few characters."""

    def word(chance: random.Random) -> str:
        return f"\x1b[3{chance.randint(1, 7)}m{chance.getrandbits(24):06x}\x1b[0m "

    return _lines(size, lambda chance: "".join(word(chance) for _ in range(12)) + "\n")


def secretive(size: int) -> str:
    """A secret in every line."""
    known = list(secrets(100).values())
    return _lines(size, lambda chance: f"authorization: Bearer {chance.choice(known)} for {chance.getrandbits(40):x}\n")


def _lines(size: int, line: Callable[[random.Random], str]) -> str:
    chance = random.Random(17)
    lines = []
    left = size
    while left > 0:
        lines.append(line(chance))
        left -= len(lines[-1])
    return "".join(lines)


def _megabytes_a_second(seconds: float) -> float:
    return TEXT_BYTES / seconds / 1e6


def _redactor(what: str, make: Callable[[int], str], limit: float | None, most: int | None = None) -> Goal:
    what = f"redactor, 100 secrets in all forms, {what}"
    rate: dict[str, Any] = {"faster": True, "unit": " MB/s", "reading": _megabytes_a_second, "most": most}
    return Goal("N15", what, limit, partial(n15, make), **rate)


def _interrupt(ignored: str, most: int) -> Goal:
    grace = f"the grace of {GRACE_MS[ignored] / 1000:g} s"
    what = f"interrupt of a tool that ignores {ignored.replace(' ', ' and ')}: beyond {grace}"
    over: dict[str, Any] = {"unit": " ms", "reading": lambda seconds: seconds * 1000 - GRACE_MS[ignored]}
    return Goal("N12", what, 50, partial(n12_interrupt, ignored), most=most, warm_up=False, **over)


GOALS = (
    Goal("N11", "1 GB of output, 10 secrets: as fast as a raw pipe", 0.10, partial(n11, 10), True, 3, False),
    Goal("N11", "1 GB of output, 100 secrets: as fast as a raw pipe", 0.10, partial(n11, 100), True, 3, False),
    Goal("N12", "first byte of output at the client, %mcc_call / %%bash", 1, n12_first_byte),
    _interrupt("INT", 8),
    _interrupt("INT TERM", 3),
    _redactor("a log", log, 70, 30),
    _redactor("a colour in every word", coloured, None, 10),
    _redactor("a secret in every line", secretive, None, 5),
)
