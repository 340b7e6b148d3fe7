"""The audit log: each call is one line, whatever its names are, however many write, and whatever the disk says."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcc_jupyter.core.errors import ArgumentError
from mcc_jupyter.runtime import audit
from mcc_jupyter.runtime.audit import LONGEST, Audit, CallEvent
from tests.conftest import REPOSITORY

EVENT = CallEvent("ana", "pg_query", "rest", "ok", key="public.pg_query", call="c1", kernel="k1", workspace="a/x.ipynb", names=("PATH", "PGPASSWORD"), exit_code=0, duration_s=0.1234567)


class World:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "mcc" / "audit.jsonl"
        self.said: list[str] = []

    def audit(self, **more: Any) -> Audit:
        return Audit(str(self.path), say=self.said.append, **more)

    def lines(self, number: int = 0) -> list[dict[str, Any]]:
        path = self.path.with_name(f"{self.path.name}.{number}") if number else self.path
        return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def event(tool: str) -> CallEvent:
    return CallEvent("ana", tool, "rest", "ok")


def tools(entries: Any) -> list[str]:
    return [entry["tool"] for entry in entries]


# Lines


def test_a_call_is_one_line_with_its_time(world: World) -> None:
    world.audit().record(EVENT)

    [line] = world.lines()
    time = line.pop("time")
    assert len(time) == len("2026-01-01T00:00:00.000Z")
    assert time.endswith("Z")
    assert line == {
        "v": 1, "who": "ana", "tool": "pg_query", "door": "rest", "outcome": "ok", "key": "public.pg_query", "call": "c1", "kernel": "k1", "workspace": "a/x.ipynb",
        "names": ["PATH", "PGPASSWORD"], "more_names": 0, "exit_code": 0, "duration_s": 0.123457, "reason": None,
    }  # fmt: skip


def test_the_file_and_its_folder_are_private(world: World) -> None:
    before = os.umask(0)
    try:
        world.audit().record(EVENT)
    finally:
        os.umask(before)

    assert stat.S_IMODE(world.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(world.path.with_name("audit.jsonl.lock").stat().st_mode) == 0o600
    assert stat.S_IMODE(world.path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("text", ["a\nb", "a\r\x85\u2028b", "\ud83d", '"}{', "\0", "😀" * 9, ""])
def test_a_hostile_text_is_one_line(world: World, text: str) -> None:
    world.audit().record(CallEvent(text, text, text, text, key=text, names=(text,), reason=text))

    [line] = world.lines()
    assert (line["who"], line["tool"], line["names"], line["reason"]) == (text, text, [text], text)


@given(st.text(max_size=3000), st.lists(st.text(max_size=400), max_size=300))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_no_line_is_longer_than_what_is_written_in_one_piece(world: World, text: str, names: list[str]) -> None:
    text = text * 9
    world.audit().record(CallEvent(*[text] * 4, key=text, call=text, kernel=text, workspace=text, names=tuple(names), reason=text, exit_code=-(2**31), duration_s=1e9 / 7))

    raw = world.path.read_bytes().splitlines()[-1]
    assert len(raw) < LONGEST
    line = json.loads(raw)
    assert len(line["names"]) + line["more_names"] == len(names)


def test_what_is_cut_ends_with_dots(world: World) -> None:
    world.audit().record(CallEvent("a" * 300, "b" * 256, "rest", "ok", names=tuple(f"NAME_{at:03}" for at in range(200)), reason="c" * 600))

    [line] = world.lines()
    assert line["tool"] == "b" * 256
    assert line["who"].endswith("a…")
    assert 180 < len(line["who"]) <= 256
    assert line["reason"].endswith("c…")
    assert line["names"][-1] == f"NAME_{len(line['names']) - 1:03}"
    assert line["more_names"] == 200 - len(line["names"]) > 0


# Files


def test_a_file_that_has_grown_is_put_beside_and_so_many_are_kept(world: World) -> None:
    log = world.audit(most_bytes=1000, keep=2)
    for at in range(30):
        log.record(event(f"t{at}"))

    assert sorted(file.name for file in world.path.parent.iterdir()) == ["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2", "audit.jsonl.lock"]
    kept = [*tools(world.lines(2)), *tools(world.lines(1)), *tools(world.lines())]
    assert kept == [f"t{at}" for at in range(30 - len(kept), 30)]
    assert all(file.stat().st_size <= 1000 for file in world.path.parent.iterdir())


def test_without_old_files_it_begins_anew(world: World) -> None:
    log = world.audit(most_bytes=300, keep=0)
    for at in range(9):
        log.record(event(f"t{at}"))

    assert sorted(file.name for file in world.path.parent.iterdir()) == ["audit.jsonl", "audit.jsonl.lock"]
    assert tools(log.read().entries)[0] == "t8"


WRITER = """
import sys
sys.path.insert(0, sys.argv[2])
from mcc_jupyter.runtime.audit import Audit, CallEvent
log = Audit(sys.argv[1], say=print, most_bytes=20_000, keep=50)
for at in range(150):
    log.record(CallEvent("x" * 40, f"{sys.argv[3]}-{at}", "rest", "ok"))
"""


def test_several_processes_and_threads_lose_no_line(world: World) -> None:
    environment = {"PATH": "/usr/bin:/bin"}
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(world.path), str(REPOSITORY), str(at)], env=environment) for at in range(3)]
    log = world.audit(most_bytes=20_000, keep=50)
    threads = [threading.Thread(target=lambda at=at: [log.record(event(f"thread-{at}-{number}")) for number in range(50)]) for at in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]

    entries = log.read(10_000).entries
    assert sorted(tools(entries)) == sorted([*(f"{at}-{number}" for at in range(3) for number in range(150)), *(f"thread-{at}-{number}" for at in range(3) for number in range(50))])
    assert (world.path.with_name("audit.jsonl.2")).exists()


# Trouble


def test_that_nothing_can_be_written_is_said_once_and_breaks_nothing(world: World) -> None:
    world.path.parent.write_text("no folder")
    log = world.audit()
    log.record(EVENT)
    log.record(EVENT)
    world.path.parent.unlink()
    log.record(EVENT)
    world.path.unlink()
    world.path.mkdir()
    log.record(EVENT)

    assert world.said == [
        f"audit log {str(world.path)!r}: not written: File exists; calls go on without it",
        f"audit log {str(world.path)!r}: not written: Is a directory; calls go on without it",
    ]


def test_a_link_is_not_followed(world: World, tmp_path: Path) -> None:
    world.path.parent.mkdir()
    world.path.symlink_to(tmp_path / "elsewhere")
    world.audit().record(EVENT)

    assert not (tmp_path / "elsewhere").exists()
    assert len(world.said) == 1


def full(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    write = os.write
    monkeypatch.setattr(audit.os, "write", lambda descriptor, data: write(descriptor, data[:room]))


def test_of_a_full_disk_no_half_line_is_left(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    log = world.audit()
    log.record(event("before"))
    with monkeypatch.context() as patched:
        full(patched, 40)
        log.record(event("lost"))
    log.record(event("after"))

    assert tools(world.lines()) == ["before", "after"]
    assert world.said == [f"audit log {str(world.path)!r}: not written: {os.strerror(errno.ENOSPC)}; calls go on without it"]


def test_a_lock_that_is_not_given_back_stops_no_call(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    log = world.audit(most_bytes=400)
    log.record(event("first"))
    with open(world.path.with_name("audit.jsonl.lock")) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        log.record(event("second"))
        log.record(event("third"))
        assert tools(world.lines()) == ["first", "second", "third"]  # and none was put beside
        with monkeypatch.context() as patched:
            full(patched, 40)
            log.record(event("lost"))
    assert tools(log.read().entries) == ["third", "second", "first"]
    log.record(event("fourth"))
    assert tools(world.lines()) == ["fourth"]


def test_a_line_is_on_the_disk_where_that_is_asked_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []
    monkeypatch.setattr(audit.os, "fsync", synced.append)
    world.audit().record(EVENT)
    assert synced == []
    world.audit(fsync=True).record(EVENT)
    assert len(synced) == 1


# Reading


def test_pages_go_from_the_newest_to_the_oldest_over_all_files(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "_BLOCK", 70)
    log = world.audit(most_bytes=1500, keep=9)
    for at in range(40):
        log.record(event(f"t{at}"))

    for limit in (1, 3, 40):
        seen: list[str] = []
        cursor = None
        while True:
            page = log.read(limit, cursor)
            assert len(page.entries) <= limit
            seen += tools(page.entries)
            cursor = page.cursor
            if cursor is None:
                break
        assert seen == [f"t{at}" for at in reversed(range(40))]


def test_a_page_goes_on_where_the_last_ended_though_the_log_has_grown_and_was_put_beside(world: World) -> None:
    log = world.audit(most_bytes=900, keep=3)
    for at in range(6):
        log.record(event(f"t{at}"))
    page = log.read(2)
    assert tools(page.entries) == ["t5", "t4"]
    log.record(event("t6"))
    log.record(event("t7"))
    assert tools(log.read(2, page.cursor).entries) == ["t3", "t2"]

    for at in range(50):
        log.record(event(f"u{at}"))
    assert log.read(2, page.cursor).entries == ()


def test_no_log_is_no_entries(world: World) -> None:
    assert world.audit().read() == audit.Page(())


def test_what_is_no_entry_is_left_out(world: World) -> None:
    log = world.audit()
    log.record(event("a"))
    with world.path.open("ab") as file:
        file.write(b"half a li\n[1]\n\xff\n\n")
    log.record(event("b"))
    with world.path.open("ab") as file:
        file.write(b'{"tool": "being written"')

    page = log.read(9)
    assert tools(page.entries) == ["b", "a"]
    assert page.cursor is None
    world.path.write_bytes(b"no line break")
    assert log.read() == audit.Page(())


@pytest.mark.parametrize("cursor", ["", "x", "1", "1-2-3", "-1-2", "١-٢", "1-2\n"])
def test_an_unknown_cursor_is_an_error(world: World, cursor: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        world.audit().read(9, cursor)
    assert str(caught.value) == "audit: unknown cursor; leave it out to begin with the newest entry"
