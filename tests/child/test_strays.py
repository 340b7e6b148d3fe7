"""Processes and folders that nobody watches any more: what is ended, and above all what is not (SPEC 7.9)."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.processes import CHILD, alive, children, name, parent, until, written

ENVIRON = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

PRELUDE = f"""
import ctypes, os, resource, signal, sys, time
sys.argv[1:] = []
exec(compile(open({str(CHILD / "supervise.py")!r}).read(), {str(CHILD / "supervise.py")!r}, "exec"), dict(__name__="x", __file__={str(CHILD / "supervise.py")!r}))
exec(open({str(CHILD / "processes.py")!r}).read())
strays = type(sys)("strays")
exec(open({str(CHILD / "strays.py")!r}).read(), vars(strays))
def orphan():
    if os.fork(): os._exit(0)
    os.setsid()
def tell(what="pid"):
    with open(what + ".new", "w") as file: print(os.getpid(), file=file)
    os.rename(what + ".new", what)
"""


@pytest.fixture
def strays(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module in this process, which has no mark."""
    for one in ("processes", "removal", "strays"):
        spec = importlib.util.spec_from_file_location(f"_mcc_{one}", CHILD / f"{one}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, f"_mcc_{one}", module)
        spec.loader.exec_module(module)
    return module


@pytest.fixture
def bits() -> int:
    """The bits of the mark, as a process that marks itself finds them."""
    script = PRELUDE + "print(strays.mark(), strays.mark())"
    first, second = subprocess.run([sys.executable, "-c", script], env=ENVIRON, capture_output=True, check=True).stdout.split()
    assert first == second
    assert int(first)
    return int(first)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., int]]:
    """``start(script)``: runs it, and gives the number it tells."""
    started: list[subprocess.Popen[bytes]] = []
    pids: list[int] = []

    def run(script: str) -> int:
        folder = tmp_path / str(len(started))
        folder.mkdir()
        folder.chmod(0o777)
        started.append(subprocess.Popen([sys.executable, "-B", "-c", PRELUDE + script], env=ENVIRON, cwd=folder))
        pids.append(written(folder / "pid"))
        return pids[-1]

    yield run
    for pid in pids:
        if alive(pid):
            os.kill(pid, signal.SIGKILL)
    for one in started:
        one.kill()
        one.wait()


LONG = "tell(); os.execv('/bin/sleep', ['sleep', '30'])"


def test_an_orphan_with_the_mark_is_ended(strays: ModuleType, bits: int, start: Callable[..., int]) -> None:
    pid = start(f"strays.mark(); orphan(); {LONG}")
    assert until(lambda: name(pid) == "sleep")

    strays.end_all(bits)

    assert until(lambda: not alive(pid))


def test_so_is_all_below_it_whatever_it_did(strays: ModuleType, bits: int, start: Callable[..., int], tmp_path: Path) -> None:
    shell = "sleep 30 & setsid sleep 30 & env -i sh -c '(exec setsid sleep 30) & echo $! > last; exec sleep 30' & echo $$ > pid; wait"
    pid = start(f"strays.mark(); orphan(); os.execv('/bin/sh', ['sh', '-c', {shell!r}])")
    written(tmp_path / "0" / "last")
    assert until(lambda: len(children(pid)) == 3)
    all_below = [pid, *children(pid), *(one for child in children(pid) for one in children(child))]

    strays.end_all(bits)

    assert len(all_below) == 5
    assert until(lambda: not any(alive(one) for one in all_below))


NOT_MARKED = [
    pytest.param("orphan()", id="it has nothing of the mark"),
    pytest.param("resource.setrlimit(10, (strays.LABEL,) * 2); orphan()", id="it has the limit, which another process can give it"),
    pytest.param("strays.processes.prctl(strays.POLICY, strays.SET); orphan()", id="it has a policy of its own"),
    pytest.param("strays.mark(); strays.processes.prctl(strays.POLICY, strays.CLEAR); orphan()", id="it has laid the mark down"),
]
WATCHED = [
    pytest.param("strays.mark(); strays.processes.prctl(15, b'mcc-keeper'); orphan(); tell(); time.sleep(30)", id="it is one of ours"),
    pytest.param(
        "strays.mark(); strays.processes.prctl(15, b'mcc-supervisor'); orphan()\n"
        "if os.fork():\n    time.sleep(30)\nos.setsid()\nif os.fork():\n    time.sleep(30)\n"
        f"{LONG}",
        id="one of ours is above it",
    ),
]


@pytest.mark.parametrize("script", [*(pytest.param(f"{one.values[0]}; {LONG}", id=one.id) for one in NOT_MARKED), *WATCHED])
def test_what_is_left_alone(strays: ModuleType, bits: int, start: Callable[..., int], script: str) -> None:
    pid = start(script)
    above = parent(pid)

    for _ in range(3):
        strays.end_all(bits)

    assert alive(pid)
    if "fork():" in script:
        for one in (parent(above), above):
            os.kill(one, signal.SIGKILL)


def test_a_watcher_that_its_tool_has_stopped_and_nobody_watches_goes_with_it(strays: ModuleType, bits: int, start: Callable[..., int]) -> None:
    script = f"strays.mark(); strays.processes.prctl(15, b'mcc-supervisor'); orphan()\nif os.fork():\n    time.sleep(30)\n{LONG}"
    pid = start(script)
    watcher = parent(pid)
    strays.end_all(bits)
    assert alive(pid)
    os.kill(watcher, signal.SIGSTOP)
    assert until(lambda: strays.Seen(watcher).state == b"T")

    strays.end_all(bits)

    assert until(lambda: not alive(pid) and not alive(watcher))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user; CI is root")
def test_another_users_process_is_left_alone(strays: ModuleType, bits: int, start: Callable[..., int]) -> None:
    pid = start(f"strays.mark(); orphan(); os.setresuid(12345, 12345, 12345); {LONG}")
    assert until(lambda: name(pid) == "sleep")

    strays.end_all(bits)

    assert alive(pid)


def test_what_cannot_be_seen_in_full_is_left_alone(strays: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of processes, for what cannot be made here: number → name, state, parent, flags, the limit."""
    table = {
        1: (b"init", b"S", 0, 0, False),
        10: (b"sh", b"S", 0, 128, True),  # from another process namespace
        11: (b"sh", b"S", 10, 128, True),
        12: (b"sh", b"S", 99, 128, True),  # its parent has just ended
        13: (b"sh", b"Z", 1, 128, True),
        14: (b"sh", b"S", 1, 128, True),
        15: (b"sh", b"S", 14, 128, True),
        16: (b"mcc-launcher", b"R", 1, 128, True),
        17: (b"mcc-supervisor", b"T", 16, 128, True),
        18: (b"sh", b"S", 17, 128, True),
    }

    class Seen:
        def __init__(self, pid: int) -> None:
            if pid not in table:
                raise FileNotFoundError
            self.name, self.state, self.parent, self.flags, self.labelled = table[pid]

    monkeypatch.setattr(strays, "Seen", Seen)
    monkeypatch.setattr(strays, "marked", lambda pid, bits: Seen(pid).flags & bits == bits and Seen(pid).labelled)
    monkeypatch.setattr(strays, "ours", lambda pid: True)

    assert [pid for pid in (*table, 99) if strays.stray(pid, 128)] == [14, 15]


def test_where_the_system_has_no_such_mark_nothing_is_ended(strays: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strays.processes, "prctl", lambda *_: False)
    assert strays.mark() == 0
    monkeypatch.setattr(strays.processes, "prctl", lambda *_: True)
    monkeypatch.setattr(resource, "setrlimit", lambda *_: (_ for _ in ()).throw(ValueError))
    assert strays.mark() == 0
    monkeypatch.setattr(strays, "stray", lambda *_: pytest.fail("it looked"))
    strays.end_all(0)


def test_a_number_that_is_another_process_by_now_is_not_signalled(strays: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    process = subprocess.Popen(["sleep", "30"], env=ENVIRON)
    try:
        assert strays.end(process.pid, 128) is False
        assert strays.end(2**22 + 1, 128) is False
        assert process.poll() is None
        monkeypatch.setattr(strays, "stray", lambda *_: True)
        monkeypatch.delattr(os, "pidfd_open", raising=False)
        assert strays.end(process.pid, 128) is True
    finally:
        process.kill()
        assert process.wait() == -signal.SIGKILL


# Folders


def gone(strays: ModuleType, path: Path) -> bool:
    assert strays.remove_all(["/no/such/place", str(path.parent)], time.monotonic() + 20)
    return not os.path.lexists(path)


def ended() -> int:
    process = subprocess.Popen(["true"], env=ENVIRON)
    process.wait()
    return process.pid


def test_a_folder_that_nobody_holds_is_removed_with_all_in_it(strays: ModuleType, tmp_path: Path) -> None:
    folder = tmp_path / f"mcc-0123456789abcdef-{ended()}"
    folder.mkdir()
    (folder / "A").write_text("a value")
    assert gone(strays, folder)

    folder = tmp_path / f"mcc-0123456789abcdef-{os.getpid()}"  # the number is another process's by now
    folder.mkdir()
    assert gone(strays, folder)


@pytest.mark.parametrize("file", ["notes", "mcc-notes", "mcc-0123456789abcdef", "mcc-0123456789abcdef-x", "mcc-short-1", "file", "link"])
def test_what_is_no_folder_of_ours_is_left_alone(strays: ModuleType, tmp_path: Path, file: str) -> None:
    ours = tmp_path / "place" / f"mcc-0123456789abcdef-{ended()}"
    path = ours if file in ("file", "link") else ours.with_name(file)
    (tmp_path / "place").mkdir()
    if file == "file":
        path.touch()
    elif file == "link":
        (tmp_path / "target").mkdir()
        path.symlink_to(tmp_path / "target")
    else:
        path.mkdir()

    assert not gone(strays, path)
    assert file != "link" or (tmp_path / "target").exists()


def test_a_folder_that_is_held_or_belongs_to_another_user_is_left_alone(strays: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / f"mcc-0123456789abcdef-{ended()}"
    folder.mkdir()
    fd = os.open(folder, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_SH)
    assert not gone(strays, folder)
    os.close(fd)
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    assert not gone(strays, folder)
    monkeypatch.undo()
    assert gone(strays, folder)


def test_a_folder_that_is_being_made_is_left_alone(strays: ModuleType, tmp_path: Path, start: Callable[..., int]) -> None:
    pid = start("strays.processes.prctl(15, b'mcc-supervisor'); tell(); time.sleep(30)")
    folder = tmp_path / f"mcc-0123456789abcdef-{pid}"
    folder.mkdir()

    assert not gone(strays, folder)
    os.kill(pid, signal.SIGKILL)
    assert until(lambda: strays.Seen(pid).state == b"Z")
    assert gone(strays, folder)
