"""Ways to do a thing → readings in pairs → a line of the table.

1. Every round runs every way once, in a random order, so that a drift of the machine meets all of them.
2. A ratio is taken inside a round; what is reported is the median over the rounds.
3. What is not the thing itself (``prepare``) is outside the clock.
4. A goal is data and the ways it opens. What cannot be measured here says why; it is never left out.
"""

from __future__ import annotations

import gc
import os
import random
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

ROUNDS = 120
"""Rounds of a comparison; below 100 a median of pairs is not to be trusted where a round is short."""


class Unmeasured(Exception):
    """It cannot be measured on this machine; the text says why, in one line."""


@dataclass(frozen=True)
class Way:
    """One way to do the thing. ``number`` runs are timed together. A float from ``run`` is taken as the reading."""

    run: Callable[[], object]
    number: int = 1
    prepare: Callable[[], object] | None = None


@dataclass(frozen=True)
class Figure:
    """A number that is there once the rounds are over: a size, or a peak that was seen in them."""

    what: str
    read: Callable[[], float]
    limit: float
    unit: str


@dataclass(frozen=True)
class Times:
    """Readings of one run each (seconds, where nothing else is said), an entry a round.

    The lists of two ways belong together by position.
    """

    readings: Mapping[str, list[float]] = field(repr=False)

    def ratios(self, subject: str, peer: str) -> list[float]:
        return [a / b for a, b in zip(self.readings[subject], self.readings[peer], strict=True)]

    def ratio(self, subject: str, peer: str) -> float:
        """How many times as much *subject* takes as *peer*."""
        return median(self.ratios(subject, peer))

    def median(self, way: str) -> float:
        return median(self.readings[way])


Ways = Mapping[str, Way]


@dataclass(frozen=True)
class Goal:
    """One line of the table. The first way of ``open`` is the subject and the second its peer.

    ``faster``: the value is how many times as fast the subject is, and ``limit`` the least it should be. Without a
    peer the value is ``reading`` of the subject's readings. No ``limit``: the line only informs. ``most`` caps the
    rounds where one is long. ``shown`` scales the medians that are shown beside the value.
    """

    number: str
    what: str
    limit: float | None
    open: Callable[[], AbstractContextManager[Ways | tuple[Ways, tuple[Figure, ...]]]]
    faster: bool = False
    most: int | None = None
    warm_up: bool = True
    unit: str = "×"
    reading: Callable[[float], float] = lambda seconds: seconds
    shown: tuple[float, str] = (1000.0, "ms")


@dataclass(frozen=True)
class Measured:
    """One line with its value. ``value`` is None where it was not measured; then ``note`` says why."""

    goal: str
    what: str
    value: float | None
    limit: float | None
    unit: str = "×"
    least: bool = False
    rounds: int = 0
    quartiles: tuple[float, float] | None = None
    medians: Mapping[str, float] = field(default_factory=dict)
    medians_unit: str = "ms"
    note: str = ""

    @property
    def reached(self) -> bool | None:
        """None where there is nothing to reach."""
        if self.limit is None:
            return None
        return self.value is not None and (self.value >= self.limit if self.least else self.value <= self.limit)

    @property
    def reach(self) -> str:
        return "–" if self.limit is None else f"{'≥' if self.least else '≤'} {self.limit:g}{self.unit}"

    @property
    def text(self) -> str:
        return "–" if self.value is None else f"{number(self.value)}{self.unit}"

    @property
    def verdict(self) -> str:
        if self.value is None:
            return f"NOT MEASURED: {self.note}"
        return {None: "", True: "reached", False: "MISSED"}[self.reached]


def number(value: float) -> str:
    """Three digits, and never an exponent."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}" if abs(value) >= 0.0001 else "0"


def compare(
    ways: Ways,
    *,
    rounds: int = ROUNDS,
    warm_up: bool = True,
    shuffle: Callable[[list[str]], None] = random.shuffle,
    clock: Callable[[], float] = time.perf_counter,
) -> Times:
    """Time all *ways*, *rounds* times; with *warm_up*, after one round that does not count."""
    readings: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(-warm_up, rounds):
        order = list(ways)
        shuffle(order)
        for name in order:
            taken = _time(ways[name], clock)
            if turn >= 0:
                readings[name].append(taken)
    return Times(readings)


def measure(goal: Goal, rounds: int = ROUNDS) -> list[Measured]:
    """The line of *goal*, and one for each figure that its rounds gave. Raises nothing: a line says what went wrong."""
    rounds = min(rounds, goal.most or rounds)
    try:
        with goal.open() as opened:
            ways, figures = opened if isinstance(opened, tuple) else (opened, ())
            lines = [_line(goal, ways, rounds)] if ways else []
            return lines + [
                Measured(
                    goal.number, figure.what, figure.read(), figure.limit, figure.unit, rounds=rounds if ways else 1
                )
                for figure in figures
            ]
    except Unmeasured as error:
        why = str(error)
    except Exception as error:  # noqa: BLE001 - one goal that fails leaves the others alone
        why = f"{type(error).__name__}: {error}"
    return [Measured(goal.number, goal.what, None, goal.limit, goal.unit, goal.faster, note=why)]


def _line(goal: Goal, ways: Ways, rounds: int) -> Measured:
    times = compare(ways, rounds=rounds, warm_up=goal.warm_up)
    subject, *peers = ways
    if peers:
        values = times.ratios(peers[0], subject) if goal.faster else times.ratios(subject, peers[0])
    else:
        values = [goal.reading(reading) for reading in times.readings[subject]]
    lower, _, upper = quantiles(values, n=4) if len(values) > 1 else (values[0],) * 3
    scale, unit = goal.shown
    return Measured(
        goal.number,
        goal.what,
        median(values),
        goal.limit,
        goal.unit,
        goal.faster,
        rounds,
        (lower, upper),
        {name: round(times.median(name) * scale, 4) for name in ways},
        unit,
    )


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


@dataclass(frozen=True)
class Load:
    """How busy the machine is while nothing is measured: the busy part of its cores (None: it cannot be read)."""

    cores: int
    busy: float | None
    minute: float

    @property
    def state(self) -> str:
        return "unknown" if self.busy is None else "idle" if self.busy < 0.1 else "busy"

    def __str__(self) -> str:
        share = "" if self.busy is None else f", {self.busy:.0%} of them in use"
        return f"{self.state}: {self.cores} cores{share}, load {self.minute:.2f} over the last minute"


def load(seconds: float = 1.0) -> Load:
    """Watches the machine for *seconds*."""
    before = _ticks()
    time.sleep(seconds)
    after = _ticks()
    busy = None
    if before and after and after[1] > before[1]:
        busy = 1 - (after[0] - before[0]) / (after[1] - before[1])
    return Load(os.cpu_count() or 1, busy, os.getloadavg()[0])


def _ticks() -> tuple[int, int] | None:
    """Idle and all clock ticks of the machine since it started."""
    try:
        ticks = [int(word) for word in Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]]
    except OSError:
        return None
    return ticks[3] + ticks[4], sum(ticks)
