"""``python -m benchmarks [--only N1,N8] [--rounds 120]``: measure, print the table, write ``results.json``."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from .goals import GOALS, Measured
from .harness import ROUNDS

RESULTS = Path(__file__).with_name("results.json")


def table(measured: list[Measured]) -> Iterator[str]:
    """The rows as a Markdown table, the goal beside what was measured."""
    rows = [("#", "what", "reach", "measured", "")]
    rows += [(m.goal, m.what, m.reach, m.text, "reached" if m.reached else "MISSED") for m in measured]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for at, row in enumerate(rows):
        yield "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        if at == 0:
            yield "|" + "|".join("-" * (width + 2) for width in widths) + "|"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure against the goals.")
    parser.add_argument("--only", default="", metavar="N1,N8", help="measure these goals alone")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds of each comparison (default {ROUNDS})")
    options = parser.parse_args()
    wanted = [name for name in options.only.split(",") if name] or list(GOALS)
    unknown = [name for name in wanted if name not in GOALS]
    if unknown:
        parser.error(f"no such goal: {', '.join(unknown)} (there are {', '.join(GOALS)})")

    measured: list[Measured] = []
    for name in wanted:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        measured += GOALS[name](options.rounds)
    print("\n".join(table(measured)))
    document = {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "rounds": options.rounds,
        "results": [{**asdict(m), "reached": m.reached} for m in measured],
    }
    RESULTS.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0 if all(m.reached for m in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
