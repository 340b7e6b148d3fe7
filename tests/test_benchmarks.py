"""The benchmarks run, measure what they say and leave nothing; no test here depends on how fast anything is."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import peers
from benchmarks.goals import GOALS, calls, mcc, output, server
from benchmarks.harness import Figure, Goal, Load, Measured, Times, Unmeasured, Way, Ways, compare, load, measure

NUMBERS = "N1 N2 N3 N4 N5 N6 N7 N8 N9 N10 N11 N12 N14 N15 N17 N18 N19 N20".split()
"""Every goal that can be reached without a server (N13) and without the proxy (N16)."""


class Clock:
    """A clock that only moves when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += seconds


def goal(*readings: float, figures: tuple[Figure, ...] = (), limit: float | None = 2.0, **fields: object) -> Goal:
    """A goal whose ways are ``a``, ``b``… with these constant readings."""

    @contextmanager
    def ways() -> Iterator[tuple[Ways, tuple[Figure, ...]]]:
        yield {name: Way(lambda reading=reading: reading) for name, reading in zip("abc", readings, strict=False)}, figures

    return Goal("N0", "a thing", limit, ways, **fields)


# ---- the harness


def test_every_round_runs_every_way_once_and_the_first_round_does_not_count() -> None:
    ran: list[str] = []
    ways = {"a": Way(lambda: ran.append("a")), "b": Way(lambda: ran.append("b"))}

    times = compare(ways, rounds=3, shuffle=list.reverse)

    assert ran == ["b", "a"] * 4
    assert [len(times.readings[name]) for name in ways] == [3, 3]


def test_a_way_that_is_long_is_not_warmed_up() -> None:
    ran: list[str] = []

    compare({"a": Way(lambda: ran.append("a"))}, rounds=2, warm_up=False)

    assert ran == ["a", "a"]


def test_a_ratio_is_the_median_of_the_ratios_inside_the_rounds() -> None:
    times = Times({"a": [1.0, 8.0, 30.0], "b": [1.0, 2.0, 10.0]})

    assert times.ratio("a", "b") == 3.0
    assert times.median("a") == 8.0


def test_preparation_is_outside_the_clock_and_several_calls_are_shared_out() -> None:
    clock = Clock()
    way = Way(lambda: clock.pass_(0.5), number=4, prepare=lambda: clock.pass_(100))

    assert compare({"a": way}, rounds=2, clock=clock).readings["a"] == [0.5, 0.5]


def test_a_way_that_returns_a_float_is_believed() -> None:
    assert compare({"a": Way(lambda: 0.25)}, rounds=1).readings["a"] == [0.25]


@pytest.mark.parametrize(
    ("made", "value", "reach", "verdict"),
    [
        (goal(3.0, 2.0), 1.5, "≤ 2×", "reached"),
        (goal(5.0, 2.0), 2.5, "≤ 2×", "MISSED"),
        (goal(2.0, 5.0, faster=True), 2.5, "≥ 2×", "reached"),
        (goal(5.0, 2.0, faster=True), 0.4, "≥ 2×", "MISSED"),
        (goal(0.5, limit=400, unit=" ms", reading=lambda seconds: seconds * 1000), 500.0, "≤ 400 ms", "MISSED"),
        (goal(3.0, 2.0, limit=None), 1.5, "–", ""),
    ],
)
def test_a_line_has_the_value_of_its_goal(made: Goal, value: float, reach: str, verdict: str) -> None:
    (line,) = measure(made, 4)

    assert (line.value, line.reach, line.verdict, line.rounds) == (value, reach, verdict, 4)


def test_a_goal_caps_its_rounds_and_its_figures_are_lines_of_their_own() -> None:
    found = measure(goal(3.0, 2.0, most=2, figures=(Figure("its size", lambda: 70.0, 64, " KB"),)), 100)

    assert [(line.what, line.text, line.rounds, line.verdict) for line in found] == [
        ("a thing", "1.5×", 2, "reached"),
        ("its size", "70 KB", 2, "MISSED"),
    ]


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (Unmeasured("it needs 6 GiB"), "NOT MEASURED: it needs 6 GiB"),
        (RuntimeError("it broke"), "NOT MEASURED: RuntimeError: it broke"),
    ],
)
def test_what_cannot_be_measured_says_why_and_is_not_reached(error: Exception, verdict: str) -> None:
    @contextmanager
    def ways() -> Iterator[Ways]:
        raise error
        yield {}

    (line,) = measure(Goal("N0", "a thing", 2.0, ways), 3)

    assert (line.text, line.reached, line.verdict) == ("–", False, verdict)


def test_the_state_of_the_machine_is_read() -> None:
    seen = load(0.05)

    assert seen.cores >= 1
    assert seen.state in ("idle", "busy", "unknown")
    assert str(Load(2, 0.5, 1.25)) == "busy: 2 cores, 50% of them in use, load 1.25 over the last minute"
    assert str(Load(2, None, 0.0)) == "unknown: 2 cores, load 0.00 over the last minute"


# ---- the goals, each with one tiny round


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary files go; a benchmark leaves none. The autouse fixture of conftest.py looks for processes."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


CHEAP = "N1 N2 N3 N4 N5 N8 N9 N10 N11 N14 N15 N18 N19".split()


@pytest.mark.usefixtures("temporary")
@pytest.mark.parametrize(
    ("number", "at"), [(number, at) for number in CHEAP for at in range(len(GOALS[number])) if "pandas" not in GOALS[number][at].what]
)
def test_a_goal_is_measured(number: str, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "LARGE_BYTES", 8 << 20)
    monkeypatch.setattr(output, "PART_BYTES", 64 << 10)
    monkeypatch.setattr(output, "TEXT_BYTES", 64 << 10)
    monkeypatch.setattr(server, "FLOOD_BYTES", 64 << 10)
    monkeypatch.setattr(server, "PINGS", 3)

    found = measure(GOALS[number][at], 1)

    assert [(line.goal, line.note) for line in found] == [(number, "")] * len(found)
    assert all(line.value is not None and line.value > 0 for line in found if line.unit != " MB")


@pytest.mark.usefixtures("temporary")
@pytest.mark.parametrize(("number", "at"), [("N6", 0), ("N12", 0), ("N12", 1)])
def test_a_longer_goal_is_measured(number: str, at: int) -> None:
    (line,) = measure(GOALS[number][at], 1)

    assert line.note == ""
    assert line.value is not None


@pytest.mark.usefixtures("temporary")
def test_without_the_memory_the_large_process_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_available", lambda: 1 << 30)

    (line,) = measure(GOALS["N2"][0], 1)

    assert line.verdict == "NOT MEASURED: it needs 6 GiB of free memory, and there are 1.0"


@pytest.mark.usefixtures("temporary")
def test_where_the_other_catalogue_cannot_be_installed_its_lines_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcc, "FOLDER", mcc.REPOSITORY / ".bench" / "tests")
    monkeypatch.setattr(mcc, "REQUIREMENT", "not a requirement")

    (line,) = measure(GOALS["N17"][0], 1)

    assert line.verdict.startswith("NOT MEASURED: not a requirement could not be installed: ERROR: Invalid requirement: ")
    assert not mcc.FOLDER.exists()


@pytest.mark.usefixtures("temporary")
def test_a_kept_installation_is_called_and_its_answer_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the other catalogue: the same names, the same answers, once right and once wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bin").mkdir()
        (folder / ".installed").touch()
        (folder / "bin" / "python").write_text(f'#!/bin/sh\nPYTHONPATH={name} exec {sys.executable} "$@"\n')
        (folder / "bin" / "python").chmod(0o755)
        (folder / "mcc").mkdir()
        (folder / "mcc" / "models.py").write_text(STAND_IN)
        monkeypatch.setattr(mcc, "FOLDER", folder)

        right, wrong = (measure(one, 1)[0] for one in GOALS["N17"])

    assert (right.note, set(right.medians)) == ("", {"call", "MCC"})
    assert wrong.note == "RuntimeError: a helper process ended: an unexpected answer: 'wrong'"


STAND_IN = """
class ToolModel:
    def __init__(self, **fields):
        self.fn = fields.get("fn")

    async def callable(self):
        return "1" if self.fn else "wrong"
"""


@pytest.mark.usefixtures("temporary")
def test_the_second_table_has_every_way_of_a_notebook() -> None:
    rows = command.peer_rows(peers.peers(1))

    assert [row[1] for row in rows] == [
        "way",
        *peers.COMMANDS,
        *("subprocess.run(python -c)", "%mcc_call, kept imported") * 2,
    ]


# ---- the command


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every goal is there, and none is measured."""
    monkeypatch.setattr(command, "load", lambda: Load(2, 0.01, 0.5))
    monkeypatch.setattr(command, "measure", lambda goal, rounds: [Measured(goal.number, goal.what, 1.0, goal.limit, rounds=rounds)])
    monkeypatch.setattr(command, "peers", lambda rounds: [peers.Peer("a line", "%%bash", 4.0, 3.8, rounds)])


@pytest.mark.usefixtures("quick")
def test_the_table_names_every_goal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([], tmp_path / "results.json") == 0

    printed = capsys.readouterr().out
    numbers = [line.split()[1] for line in printed.splitlines() if line.startswith("| N")]
    assert list(dict.fromkeys(numbers)) == NUMBERS == list(GOALS)
    assert "The machine was idle: 2 cores, 1% of them in use, load 0.50 over the last minute." in printed


@pytest.mark.usefixtures("quick")
def test_the_results_have_the_documented_form(tmp_path: Path) -> None:
    command.main(["--only", "N1,N9,peers", "--rounds", "7"], tmp_path / "results.json")

    written = json.loads((tmp_path / "results.json").read_text())
    assert list(written) == ["python", "system", "machine", "load", "rounds", "seconds", "results", "peers"]
    assert written["load"] == {"cores": 2, "busy": 0.01, "minute": 0.5, "state": "idle"}
    assert [result["goal"] for result in written["results"]] == ["N1", "N9", "N9"]
    assert written["results"][0] == {
        "goal": "N1",
        "what": "exec call, redacting 10 secrets / Popen(sh -c) and wait",
        "value": 1.0,
        "limit": 1.3,
        "unit": "×",
        "least": False,
        "rounds": 7,
        "quartiles": None,
        "medians": {},
        "medians_unit": "ms",
        "note": "",
        "reach": "≤ 1.3×",
        "reached": True,
    }
    assert written["peers"] == [{"task": "a line", "way": "%%bash", "milliseconds": 4.0, "ratio": 3.8, "rounds": 7}]
    described = (mcc.REPOSITORY / "docs" / "performance.md").read_text()
    keys = {*written, *written["load"], *written["results"][0], *written["peers"][0]}
    assert [key for key in sorted(keys) if f"`{key}`" not in described] == []


@pytest.mark.usefixtures("quick")
def test_what_was_not_measured_fails_the_command_and_what_was_missed_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def status(value: float | None) -> int:
        line = Measured("N1", "a thing", value, 1.3, note="no pandas here")
        monkeypatch.setattr(command, "measure", lambda *_: [line])
        return command.main(["--only", "N1"], tmp_path / "results.json")

    assert (status(9.0), status(None)) == (0, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "N1,N99"], f"no such goal: N99 (there are {', '.join(NUMBERS)}, peers)"),
        (["--rounds", "0"], "--rounds must be at least 1"),
    ],
)
def test_a_mistake_is_told(arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(arguments, tmp_path / "results.json")

    assert capsys.readouterr().err.splitlines()[-1] == f"python -m benchmarks: error: {message}"
    assert not (tmp_path / "results.json").exists()
