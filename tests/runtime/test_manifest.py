"""Manifests as files: written in one step and only when they changed, read with no trust; real kernels are in ``tests/doors/test_publish.py``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mcc_jupyter.core.manifest import Contents
from mcc_jupyter.runtime import manifest as manifests
from mcc_jupyter.runtime.manifest import Publisher, read_manifest, read_manifests, write
from mcc_jupyter.runtime.marks import place, start_mark
from tests.processes import until


class Kernel:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "mcc" / "kernel-1.json"
        self.contents = Contents()
        self.asked = 0
        self.announced: list[int] = []
        self.publisher = Publisher(lambda: str(self.path), self.now, self.announced.append, revision=6)

    def now(self) -> Contents:
        self.asked += 1
        return self.contents

    @property
    def document(self) -> dict[str, Any]:
        return json.loads(self.path.read_text())


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    kernel = Kernel(tmp_path)
    yield kernel
    kernel.publisher.close()
    thread = kernel.publisher._thread
    assert thread is None or until(lambda: not thread.is_alive())


def test_it_is_written_when_something_changed_and_then_announced(kernel: Kernel) -> None:
    kernel.publisher.poke()
    assert until(lambda: kernel.announced == [7])
    assert kernel.document == {**kernel.publisher.manifest(), "revision": 7}
    before = kernel.asked
    kernel.publisher.poke()
    assert until(lambda: kernel.asked > before)
    kernel.contents = Contents(guard=True)
    kernel.publisher.poke()
    assert until(lambda: kernel.announced == [7, 8])
    assert (kernel.document["guard"], kernel.document["revision"]) == (True, 8)
    assert [one.stat().st_mode & 0o777 for one in (kernel.path, kernel.path.parent)] == [0o600, 0o700]


def test_many_changes_at_once_are_one_writing(kernel: Kernel) -> None:
    for _ in range(1000):
        kernel.publisher.poke()
    assert until(lambda: kernel.announced == [7])
    assert kernel.asked < 10


def test_closing_takes_it_away_and_nothing_is_written_afterwards(kernel: Kernel) -> None:
    kernel.publisher.poke()
    assert until(lambda: kernel.announced)
    kernel.publisher.close()
    assert not kernel.path.exists()
    kernel.contents = Contents(guard=True)
    kernel.publisher.poke()
    kernel.publisher._publish()
    assert (kernel.path.exists(), kernel.announced) == (False, [7])
    kernel.publisher.close()


def test_closing_leaves_what_another_process_put_there(kernel: Kernel) -> None:
    kernel.publisher.poke()
    assert until(lambda: kernel.announced)
    kernel.path.write_text(json.dumps({**kernel.document, "pid": 1}))
    kernel.publisher.close()
    assert kernel.path.exists()


def test_a_forked_child_neither_writes_nor_removes(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel.publisher.poke()
    assert until(lambda: kernel.announced)
    with monkeypatch.context() as patched:
        patched.setattr(os, "getpid", lambda: 1)
        kernel.publisher.poke()
        kernel.publisher.close()
    assert kernel.path.exists()
    monkeypatch.undo()
    kernel.publisher._closed = False


def test_where_it_cannot_be_written_nothing_is_announced_and_a_later_change_tries_again(kernel: Kernel) -> None:
    kernel.path.parent.write_text("a file where the folder should be")
    kernel.publisher.poke()
    assert until(lambda: kernel.asked)
    assert kernel.announced == []
    kernel.path.parent.unlink()
    kernel.publisher.poke()
    assert until(lambda: kernel.announced == [7])


def test_without_a_thread_it_is_tried_again_at_the_next_change(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", none_left)
        kernel.publisher.poke()
    kernel.publisher.poke()
    assert until(lambda: kernel.announced == [7])


def test_the_end_of_a_process_does_not_wait_forever(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "_PATIENCE", 0.05)
    kernel.publisher.poke()
    assert until(lambda: kernel.announced)
    with kernel.publisher._lock:
        done = threading.Thread(target=kernel.publisher.close)
        done.start()
        done.join(20)
        assert not done.is_alive()


# ---- the file


def test_a_folder_that_others_may_read_becomes_private_and_anothers_folder_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "mcc"
    folder.mkdir(mode=0o755)
    write(str(folder / "a.json"), b"{}")
    assert folder.stat().st_mode & 0o777 == 0o700
    link = tmp_path / "link"
    link.symlink_to(folder)
    with pytest.raises(PermissionError):
        write(str(link / "b.json"), b"{}")
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    with pytest.raises(PermissionError):
        write(str(folder / "b.json"), b"{}")
    assert os.listdir(folder) == ["a.json"]


def test_a_writing_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mcc" / "a.json"
    write(str(path), b"1")
    (path.parent / f"a.json.{os.getpid()}.tmp").write_text("left by an earlier process of this number")

    def full(*_: object) -> None:
        raise OSError(28, "no space")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        with pytest.raises(OSError, match="no space"):
            write(str(path), b"2")
    assert (path.read_text(), os.listdir(path.parent)) == ("1", ["a.json"])


# ---- reading


def living(**changes: object) -> dict[str, Any]:
    document = {
        "v": 1, "package": "1", "pid": os.getpid(), "started": start_mark(os.getpid()), "revision": 1, "workspace": None, "notebook": None,
        "policy": None, "guard": False, "isolation": None, "session": [], "tools": [],
    }  # fmt: skip
    return {**document, **changes}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "mcc"


def put(folder: Path, name: str, document: object) -> Path:
    write(str(folder / name), json.dumps(document).encode())
    return folder / name


def test_the_manifests_of_living_processes_are_read_by_name(folder: Path) -> None:
    assert read_manifests(str(folder)) == []
    put(folder, "kernel-b.json", living())
    put(folder, "ipython-7.json", living(guard=True))
    (folder / "other.txt").write_text("x")
    found = read_manifests(str(folder))
    assert [(one.name, one.kernel_id, one.pid, one.content["guard"]) for one in found] == [("ipython-7", None, os.getpid(), True), ("kernel-b", "b", os.getpid(), False)]
    assert "content" not in repr(found)


def dead() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_what_a_process_left_is_taken_away_its_number_may_be_anothers_by_now(folder: Path) -> None:
    gone = put(folder, "kernel-a.json", living(pid=dead()))
    reused = put(folder, "kernel-b.json", living(started=f"1 {place()}"))
    elsewhere = put(folder, "kernel-c.json", living(started="1 another-boot pid:[1]"))
    huge = put(folder, "kernel-d.json", living(pid=10**30))
    assert read_manifests(str(folder)) == []
    assert [path.exists() for path in (gone, reused, elsewhere, huge)] == [False, False, True, False]


def test_a_file_that_a_new_kernel_wrote_meanwhile_stays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(folder, "kernel-a.json", living(pid=dead()))

    def restarted(pid: int) -> str | None:
        put(folder, "kernel-a.json", living())
        return start_mark(pid)

    monkeypatch.setattr(manifests, "start_mark", restarted)
    assert read_manifest(str(path)) is None
    monkeypatch.undo()
    assert read_manifest(str(path)) is not None


HOSTILE: list[tuple[str, Callable[[Path], object]]] = [
    ("half", lambda path: path.write_text(json.dumps(living())[:-5])),
    ("empty", lambda path: path.write_text("")),
    ("no text", lambda path: path.write_bytes(b"\xff\xfe")),
    ("deep", lambda path: path.write_text("[" * 100_000)),
    ("no manifest", lambda path: path.write_text('{"v": 1}')),
    ("a link", lambda path: (path.parent / "target").write_text(json.dumps(living())) and path.symlink_to(path.parent / "target")),
    ("a folder", lambda path: path.mkdir()),
    ("a pipe", os.mkfifo),
]


@pytest.mark.parametrize("make", [make for _, make in HOSTILE], ids=[name for name, _ in HOSTILE])
def test_a_hostile_file_is_not_read_and_keeps_nobody_waiting(folder: Path, make: Callable[[Path], object]) -> None:
    put(folder, "kernel-a.json", living())
    make(folder / "kernel-b.json")
    assert [one.name for one in read_manifests(str(folder))] == ["kernel-a"]
    assert os.path.lexists(folder / "kernel-b.json")


def test_a_file_of_another_user_or_too_large_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(folder, "kernel-a.json", living())
    with monkeypatch.context() as patched:
        patched.setattr(os, "geteuid", lambda: 4711)
        assert read_manifest(str(path)) is None
    with monkeypatch.context() as patched:
        patched.setattr(manifests, "FILE_LIMIT", 10)
        assert read_manifest(str(path)) is None
    assert read_manifest(str(path)) is not None


def test_what_a_killed_writer_left_half_is_cleared_and_a_living_ones_stays(folder: Path) -> None:
    put(folder, "kernel-a.json", living())
    left = [folder / f"kernel-b.json.{pid}.tmp" for pid in (dead(), os.getpid(), "x", "9" * 30)]
    for path in left:
        path.write_text("half")
    read_manifests(str(folder))
    assert [path.exists() for path in left] == [False, True, True, True]


def test_closing_before_anything_was_written_is_no_mistake(tmp_path: Path) -> None:
    Kernel(tmp_path).publisher.close()
    assert list(tmp_path.iterdir()) == []
