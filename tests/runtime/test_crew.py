"""Jobs in threads: a fixed number at a time, each party in its turn, nothing lost."""

from __future__ import annotations

import threading

import pytest

from mcc_jupyter.core.errors import Busy
from mcc_jupyter.runtime.crew import Crew
from tests.processes import until


def test_parties_take_turns_and_nothing_is_lost() -> None:
    crew = Crew(1, 100, "t")
    go, done = threading.Event(), []
    crew.submit("a", lambda: go.wait() and None)
    for n in range(3):
        crew.submit("a", lambda n=n: done.append(f"a{n}"))
    crew.submit("b", lambda: done.append("b0"))
    crew.submit("c", lambda: done.append("c0"))
    go.set()
    assert until(lambda: len(done) == 5)
    assert done == ["a0", "b0", "c0", "a1", "a2"]


def test_no_more_than_its_size_run_at_a_time_and_its_threads_end() -> None:
    crew, running, most, lock = Crew(4, 1000, "mcc-test-crew"), [0], [0], threading.Lock()
    done = []

    def job() -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        threading.Event().wait(0.001)
        with lock:
            running[0] -= 1
            done.append(1)

    for n in range(200):
        crew.submit(n % 3, job)
    assert until(lambda: len(done) == 200)
    assert most[0] <= 4
    assert until(lambda: not [one for one in threading.enumerate() if one.name == "mcc-test-crew"])
    crew.submit("again", job)
    assert until(lambda: len(done) == 201)


def test_too_many_that_wait_are_refused_and_one_that_waits_can_be_dropped() -> None:
    crew, go, done = Crew(1, 3, "t"), threading.Event(), []
    first, second, other = lambda: done.append(1), lambda: done.append(2), lambda: done.append(3)
    crew.submit("a", lambda: go.wait() and None)
    for party, job in (("a", first), ("a", second), ("b", other)):
        crew.submit(party, job)
    with pytest.raises(Busy) as error:
        crew.submit("c", first)
    assert str(error.value) == "this kernel has 3 requests waiting already; try again later"
    assert [crew.drop(other), crew.drop(other), crew.drop(second)] == [True, False, True]
    go.set()
    assert until(lambda: done == [1])


def test_a_system_without_threads_is_busy_and_nothing_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    crew, done = Crew(1, 3, "t"), []
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", none_left)
        with pytest.raises(Busy) as error:
            crew.submit("a", lambda: done.append(1))
    assert str(error.value) == "this kernel cannot start another thread; try again later"
    crew.submit("a", lambda: done.append(2))
    assert until(lambda: done == [2])
