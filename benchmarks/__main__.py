"""``python -m benchmarks [--only N1,N8] [--rounds 120]``: measure, print the tables, write ``results.json``."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from .goals import GOALS
from .harness import ROUNDS, Load, Measured, load, measure, number
from .peers import Peer, peers

RESULTS = Path(__file__).with_name("results.json")
PEERS = "peers"
"""Asks for the second table."""


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """*rows*, the first of them the head, as a Markdown table."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for at, row in enumerate(rows):
        yield "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        if at == 0:
            yield "|" + "|".join("-" * (width + 2) for width in widths) + "|"


def goal_rows(measured: Sequence[Measured]) -> list[tuple[str, ...]]:
    """The lines of the table of goals; the middle half of the rounds stands beside their median."""
    rows = [("#", "what", "reach", "measured", "half of the rounds", "medians", "rounds", "")]
    for line in measured:
        spread = "" if line.quartiles is None else "–".join(number(value) for value in line.quartiles)
        medians = ", ".join(f"{name} {number(value)}" for name, value in line.medians.items())
        medians += f" {line.medians_unit}" if medians else ""
        rounds = str(line.rounds or "")
        rows.append((line.goal, line.what, line.reach, line.text, spread, medians, rounds, line.verdict))
    return rows


def peer_rows(found: Sequence[Peer]) -> list[tuple[str, ...]]:
    head = ("task", "way", "median ms", "× the first", "rounds")
    return [head, *((p.task, p.way, number(p.milliseconds), number(p.ratio), str(p.rounds)) for p in found)]


def document(
    machine: Load, rounds: int, seconds: float, measured: Sequence[Measured], found: Sequence[Peer]
) -> dict[str, object]:
    """What ``results.json`` holds; ``docs/performance.md`` describes it."""
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "load": {**asdict(machine), "state": machine.state},
        "rounds": rounds,
        "seconds": round(seconds, 1),
        "results": [{**asdict(m), "reach": m.reach, "reached": m.reached} for m in measured],
        "peers": [asdict(peer) for peer in found],
    }


def main(arguments: Sequence[str] | None = None, results: Path = RESULTS) -> int:
    """Measures what *arguments* ask for. 0 when everything was measured, reached or not; else 1."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure against the goals.")
    parser.add_argument(
        "--only", default="", metavar="N1,N8", help=f"measure these goals alone ({PEERS}: the second table)"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"most rounds of each comparison (default {ROUNDS})")
    options = parser.parse_args(arguments)
    known = [*GOALS, PEERS]
    wanted = [name for name in options.only.split(",") if name] or known
    unknown = [name for name in wanted if name not in known]
    if unknown:
        parser.error(f"no such goal: {', '.join(unknown)} (there are {', '.join(known)})")
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")

    machine = load()
    print(f"The machine is {machine}.", file=sys.stderr, flush=True)
    if machine.state == "busy":
        print("Something else is running; the ratios suffer less than the times, but they do.", file=sys.stderr)
    begin = time.monotonic()
    measured: list[Measured] = []
    for goal in (goal for name in wanted if name != PEERS for goal in GOALS[name]):
        print(f"measuring {goal.number}: {goal.what} …", file=sys.stderr, flush=True)
        measured += measure(goal, options.rounds)
    found: list[Peer] = []
    if PEERS in wanted:
        print("measuring what notebooks use today …", file=sys.stderr, flush=True)
        found = peers(options.rounds)

    if measured:
        print("\n".join(table(goal_rows(measured))))
    if found:
        print("", *table(peer_rows(found)), sep="\n")
    seconds = time.monotonic() - begin
    print(f"\nThe machine was {machine}. It took {seconds:.0f} s.")
    written = document(machine, options.rounds, seconds, measured, found)
    results.write_text(json.dumps(written, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0 if all(line.value is not None for line in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
