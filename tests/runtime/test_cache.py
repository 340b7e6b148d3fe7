"""SPEC 7.11: what may be used again, for how long, and what never."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from mcc_jupyter.core.outcome import Outcome
from mcc_jupyter.core.policy import resolve
from mcc_jupyter.core.resolution import Resolution
from mcc_jupyter.core.tool import Origin, Shell, Text, Tool
from mcc_jupyter.runtime.cache import OutcomeCache

TOOL = Tool(name="t", body=Shell("true", "true"), origin=Origin("cell", "cell"), cwd=Text("/", "/"), passthrough=("A",))
STORE: dict[str, object] = {"user": "ana", "rows": 3}
ARGUMENTS: dict[str, object] = {"n": 1}
OUTCOME = Outcome("t", ok=True, value={"rows": [1]}, stdout="out")


def resolution(value: str = "secret-value", tool: Tool = TOOL) -> Resolution:
    return resolve(tool, parent={"A": value, "NOT_GRANTED": value}, floor=())


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def filled() -> OutcomeCache:
    cache = OutcomeCache()
    cache.put(cache.key(TOOL, ARGUMENTS, STORE, resolution()), OUTCOME, TOOL, 60)
    return cache


def test_the_same_call_again_gets_the_same_outcome() -> None:
    cache = filled()
    assert cache.get(cache.key(TOOL, dict(ARGUMENTS), dict(STORE), resolution())) == OUTCOME


MISSES = [
    pytest.param(replace(TOOL), ARGUMENTS, STORE, "secret-value", id="another declaration, even an equal one"),
    pytest.param(TOOL, {"n": 2}, STORE, "secret-value", id="another argument"),
    pytest.param(TOOL, {"n": "1"}, STORE, "secret-value", id="an argument of another type"),
    pytest.param(TOOL, {}, STORE, "secret-value", id="no argument"),
    pytest.param(TOOL, ARGUMENTS, {**STORE, "user": "eve"}, "secret-value", id="another identity"),
    pytest.param(TOOL, ARGUMENTS, {**STORE, "rows": 4}, "secret-value", id="another session entry"),
    pytest.param(TOOL, ARGUMENTS, {**STORE, "new": None}, "secret-value", id="one session entry more"),
    pytest.param(TOOL, ARGUMENTS, STORE, "other-value", id="another environment"),
]


@pytest.mark.parametrize(("tool", "arguments", "store", "value"), MISSES)
def test_any_difference_is_a_miss(tool: Tool, arguments: dict[str, object], store: dict[str, object], value: str) -> None:
    cache = filled()
    assert cache.get(cache.key(tool, arguments, store, resolution(value, tool))) is None


def test_what_the_tool_does_not_get_makes_no_difference() -> None:
    cache = filled()
    wider = resolve(TOOL, parent={"A": "secret-value", "OTHER": "x"}, floor=())
    assert cache.get(cache.key(TOOL, ARGUMENTS, STORE, wider)) == OUTCOME


def test_an_outcome_lives_as_long_as_its_seconds_and_no_longer(clock: Clock) -> None:
    cache = filled()
    key = cache.key(TOOL, ARGUMENTS, STORE, resolution())
    clock.now += 60
    assert cache.get(key) == OUTCOME
    clock.now += 0.001
    assert cache.get(key) is None


def test_a_new_outcome_replaces_the_old_one_and_its_time(clock: Clock) -> None:
    cache = filled()
    key = cache.key(TOOL, ARGUMENTS, STORE, resolution())
    clock.now += 59
    newer = replace(OUTCOME, stdout="newer")
    cache.put(key, newer, TOOL, 60)
    clock.now += 59
    assert cache.get(key) == newer


def test_expired_outcomes_go_when_another_comes(clock: Clock) -> None:
    cache = filled()
    clock.now += 61
    cache.put(cache.key(TOOL, {"n": 2}, STORE, resolution()), OUTCOME, TOOL, 60)
    assert len(cache._entries) == 1


def test_the_oldest_goes_when_there_are_too_many() -> None:
    cache = OutcomeCache(size=2)
    keys = [cache.key(TOOL, {"n": n}, STORE, resolution()) for n in range(3)]
    for key in keys:
        cache.put(key, OUTCOME, TOOL, 60)
    assert [cache.get(key) for key in keys] == [None, OUTCOME, OUTCOME]


def test_what_a_caller_does_with_a_value_changes_no_outcome_of_another() -> None:
    cache = OutcomeCache()
    key = cache.key(TOOL, ARGUMENTS, STORE, resolution())
    mine = replace(OUTCOME, value={"rows": [1]})
    cache.put(key, mine, TOOL, 60)
    mine.value["rows"].append(2)
    first = cache.get(key)
    assert first is not None
    first.value["rows"].append(3)
    second = cache.get(key)
    assert second is not None
    assert second.value == {"rows": [1]}


def test_a_key_holds_no_value_and_differs_from_one_cache_to_another() -> None:
    one, other = OutcomeCache(), OutcomeCache()
    keys = [cache.key(TOOL, {}, {}, resolution()) for cache in (one, other)]
    assert "secret-value" not in repr(keys)
    assert keys[0] != keys[1]


def test_a_key_stays_the_tools_own_while_its_outcome_is_kept() -> None:
    # A tool that is gone could leave its id to another one; the entry keeps it.
    cache = OutcomeCache()
    tool = replace(TOOL)
    cache.put(cache.key(tool, {}, {}, resolution()), OUTCOME, tool, 60)
    known = id(tool)
    del tool
    assert all(id(replace(TOOL)) != known for _ in range(100))
