"""Two or more ways to do a thing → the ratio of their times.

1. Every round runs every way once, in a random order, so that a drift of the machine meets all of them.
2. A ratio is taken inside a round; what is reported is the median over the rounds.
3. What is not the thing itself (``prepare``) is outside the clock.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median

ROUNDS = 120
"""Rounds of a comparison; below 100 a median of pairs is not to be trusted."""


@dataclass(frozen=True)
class Way:
    """One way to do the thing. ``number`` calls are timed together; a float from ``run`` is taken as the seconds."""

    run: Callable[[], object]
    number: int = 1
    prepare: Callable[[], object] | None = None


@dataclass(frozen=True)
class Times:
    """Seconds for one call, a list entry a round; the lists of two ways belong together by position."""

    seconds: Mapping[str, list[float]] = field(repr=False)

    def ratio(self, subject: str, peer: str) -> float:
        """How many times as long *subject* takes as *peer*."""
        return median(a / b for a, b in zip(self.seconds[subject], self.seconds[peer], strict=True))

    def median(self, way: str) -> float:
        return median(self.seconds[way])


def compare(
    ways: Mapping[str, Way],
    *,
    rounds: int = ROUNDS,
    shuffle: Callable[[list[str]], None] = random.shuffle,
    clock: Callable[[], float] = time.perf_counter,
) -> Times:
    """Time all *ways*, *rounds* times, after one round that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(rounds + 1):
        order = list(ways)
        shuffle(order)
        for name in order:
            taken = _time(ways[name], clock)
            if turn:
                seconds[name].append(taken)
    return Times(seconds)


def _time(way: Way, clock: Callable[[], float]) -> float:
    if way.prepare is not None:
        way.prepare()
    collecting = gc.isenabled()
    gc.disable()
    try:
        begin = clock()
        for _ in range(way.number):
            answer = way.run()
        taken = (clock() - begin) / way.number
    finally:
        if collecting:
            gc.enable()
    return answer if isinstance(answer, float) else taken
