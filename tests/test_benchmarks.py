"""The harness measures what it says; no test here depends on how fast anything is."""

from __future__ import annotations

from benchmarks.harness import Times, Way, compare


class Clock:
    """A clock that only moves when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += seconds


def test_every_round_runs_every_way_once_and_the_first_round_does_not_count() -> None:
    ran: list[str] = []
    ways = {"a": Way(lambda: ran.append("a")), "b": Way(lambda: ran.append("b"))}

    times = compare(ways, rounds=3, shuffle=list.reverse)

    assert ran == ["b", "a"] * 4
    assert [len(times.seconds[name]) for name in ways] == [3, 3]


def test_a_ratio_is_the_median_of_the_ratios_inside_the_rounds() -> None:
    times = Times({"a": [1.0, 8.0, 30.0], "b": [1.0, 2.0, 10.0]})

    assert times.ratio("a", "b") == 3.0
    assert times.median("a") == 8.0


def test_preparation_is_outside_the_clock_and_several_calls_are_shared_out() -> None:
    clock = Clock()
    way = Way(lambda: clock.pass_(0.5), number=4, prepare=lambda: clock.pass_(100))

    assert compare({"a": way}, rounds=2, clock=clock).seconds["a"] == [0.5, 0.5]


def test_a_way_that_returns_seconds_is_believed() -> None:
    assert compare({"a": Way(lambda: 0.25)}, rounds=1).seconds["a"] == [0.25]
