"""Snapshots of the environment: never changing, and the same object while nothing changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcc_jupyter.runtime import parent
from mcc_jupyter.runtime.parent import Parent, initial_environment

REPOSITORY = Path(__file__).resolve().parents[2]


def test_a_snapshot_is_the_same_object_while_the_environment_is_unchanged() -> None:
    environ = {"A": "1"}
    snapshots = Parent(environ)
    first = snapshots()
    assert first == {"A": "1"}
    assert snapshots() is first
    environ["A"] = "1"
    assert snapshots() is first


@pytest.mark.parametrize(
    ("change", "after"),
    [
        ({"A": "2"}, {"A": "2"}),
        ({"B": ""}, {"A": "1", "B": ""}),
        ({"A": None}, {}),
    ],
    ids=["another value", "another name", "a name less"],
)
def test_a_change_makes_a_new_snapshot_and_leaves_the_old_one_as_it_was(
    change: dict[str, str | None], after: dict[str, str]
) -> None:
    environ = {"A": "1"}
    snapshots = Parent(environ)
    before = snapshots()
    for name, value in change.items():
        if value is None:
            del environ[name]
        else:
            environ[name] = value
    assert snapshots() == after
    assert snapshots() is not before
    assert snapshots() is snapshots()
    assert before == {"A": "1"}


def test_nobody_can_change_a_snapshot() -> None:
    with pytest.raises(TypeError):
        Parent({"A": "1"})()["A"] = "2"  # type: ignore[index]


def test_a_snapshot_is_shown_without_its_values() -> None:
    snapshot = Parent({"A": "n0t-f0r-any-eyes", "B": ""})()
    assert repr(snapshot.copy()) == "<environment: 2 names>"  # type: ignore[attr-defined]
    assert repr(snapshot) == "mappingproxy(<environment: 2 names>)"


def test_an_empty_environment_is_a_snapshot_too() -> None:
    snapshots = Parent({})
    assert snapshots() == {}
    assert snapshots() is snapshots()


def test_the_process_environment_is_read_whole_and_changes_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots = Parent(os.environ)
    assert snapshots() == dict(os.environ)
    assert snapshots() is snapshots()
    monkeypatch.setenv("MCC_TEST_NAME", "value")
    monkeypatch.setenv("MCC_TEST_BYTES", os.fsdecode(b"\xff\xe9"))
    assert snapshots()["MCC_TEST_NAME"] == "value"
    assert snapshots()["MCC_TEST_BYTES"] == "\udcff\udce9"
    assert snapshots() == dict(os.environ)
    monkeypatch.delenv("MCC_TEST_NAME")
    assert "MCC_TEST_NAME" not in snapshots()


def test_the_initial_environment_is_the_one_the_process_was_started_with() -> None:
    script = (
        "import os; os.environ['A'] = 'changed'; os.environ['NEW'] = '1'; del os.environ['GONE']\n"
        "from mcc_jupyter.runtime.parent import initial_environment as i; print(ascii(i(os.environ)))"
    )
    started = {b"A": b"a=b", b"GONE": b"", b"BYTES": b"\xff", b"PYTHONPATH": os.fsencode(REPOSITORY)}
    done = subprocess.run([sys.executable, "-c", script], env=started, capture_output=True, text=True)
    assert done.stderr == ""
    expected = {"A": "a=b", "GONE": "", "BYTES": "\udcff", "PYTHONPATH": str(REPOSITORY)}
    assert done.stdout == f"{expected!a}\n" or sys.platform != "linux"


def test_an_entry_without_an_equals_sign_is_no_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "environ").write_bytes(b"A=1\0nonsense\0B=2\0\0")
    monkeypatch.setattr(parent, "open", lambda *_: (tmp_path / "environ").open("rb"), raising=False)
    assert initial_environment({"X": "1"}) == {"A": "1", "B": "2"}


def test_where_the_system_cannot_say_the_environment_of_now_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(parent, "open", unreadable, raising=False)
    now = {"A": "1"}
    assert initial_environment(now) is now
