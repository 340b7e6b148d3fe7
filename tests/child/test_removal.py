"""A private folder that a tool made much of is gone, and nothing outside it (SPEC 7.9, 8.7)."""

from __future__ import annotations

import errno
import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.processes import CHILD, alive, changed_launcher, name, until

DEPTH = 1500
MANY = 3000


@pytest.fixture
def removal() -> ModuleType:
    spec = importlib.util.spec_from_file_location("_removal", CHILD / "removal.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def deep(folder: Path) -> None:
    """As many folders in each other as no path can name."""
    folder.mkdir(exist_ok=True)
    fd = os.open(folder, os.O_RDONLY)
    for _ in range(DEPTH):
        os.mkdir("a", dir_fd=fd)
        inner = os.open("a", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(os.open("secret", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)


def many(folder: Path) -> None:
    for number in range(MANY):
        (folder / str(number)).touch()


def branched(folder: Path) -> None:
    for number in range(300):
        (folder / str(number) / "x" / "y" / "z").mkdir(parents=True)
        (folder / str(number) / "x" / "file").touch()


def strangely_named(folder: Path) -> None:
    for written in (b"\xff\xfe", b"new\nline", b"-rf", b" ", b"x" * 255):
        os.mkdir(os.path.join(os.fsencode(folder), written))
        os.mkfifo(os.path.join(os.fsencode(folder), written, b"\xff"))


def closed(folder: Path) -> None:
    (folder / "deep" / "deeper").mkdir(parents=True)
    (folder / "deep" / "deeper" / "file").touch()
    for path in (folder / "deep" / "deeper", folder / "deep", folder):
        path.chmod(0)


def nothing(folder: Path) -> None:
    folder.rmdir()


def a_file(folder: Path) -> None:
    folder.rmdir()
    folder.touch()


@pytest.mark.parametrize("make", [deep, many, branched, strangely_named, closed, nothing, a_file], ids=lambda one: one.__name__)
def test_whatever_a_tool_made_of_a_folder_it_is_gone(removal: ModuleType, tmp_path: Path, make: Callable[[Path], None]) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    make(folder)

    assert removal.remove(str(folder), time.monotonic() + 60)
    assert removal.remove(str(folder), time.monotonic() + 60)

    assert not os.path.lexists(folder)


def test_so_it_is_for_a_user_who_may_not_do_everything(tmp_path: Path) -> None:
    """Tests may run as root, who needs no permission: the script lays its rights down."""
    script = (
        "import os, sys, time; exec(sys.stdin.read(), vars(sys.modules['__main__']))\n"
        "if not os.getuid():\n    os.seteuid(65534)\n"
        "os.makedirs('f/a/b/c'); open('f/a/b/c/file', 'w').close()\n"
        "[os.chmod(one, 0) for one in ('f/a/b/c', 'f/a/b', 'f/a', 'f')]\n"
        "print(os.access('f', os.R_OK, effective_ids=True), remove(f'{os.getcwd()}/f'), os.path.lexists('f'))"
    )
    tmp_path.chmod(0o777)
    for above in tmp_path.parents[:3]:
        above.chmod(above.stat().st_mode | 0o011)
    source = (CHILD / "removal.py").read_text()
    ran = subprocess.run([sys.executable, "-I", "-S", "-c", script], input=source, cwd=tmp_path, text=True, capture_output=True)

    assert (ran.stdout, ran.stderr) == ("False True False\n", "")


def test_no_link_is_followed(removal: ModuleType, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    for link in (folder / "link", folder / "inner" / "link", tmp_path / "itself"):
        link.symlink_to(outside)
    (folder / "dangling").symlink_to("nowhere")

    assert removal.remove(str(folder))
    assert removal.remove(str(tmp_path / "itself"))

    assert sorted(os.listdir(tmp_path)) == ["outside"]
    assert (outside / "kept").exists()


def test_what_is_mounted_is_not_looked_into_and_stops_nothing_else(removal: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "folder"
    for path in ("mounted", "a", "z", "deep/mounted", "deep/z"):
        (folder / path).mkdir(parents=True)
        (folder / path / "file").touch()
    rename = os.rename

    def busy(old: str, new: str, **at: int) -> None:
        if old == "mounted":
            raise OSError(errno.EBUSY, "Device or resource busy")
        rename(old, new, **at)

    monkeypatch.setattr(os, "rename", busy)

    assert removal.remove(str(folder))

    left = [path.relative_to(folder).parts for path in folder.rglob("*")]
    assert sorted(parts[-1] for parts in left if not parts[-1].startswith(".mcc-")) == ["file", "file", "mounted", "mounted"]
    assert not [parts for parts in left if "z" in parts or "a" in parts]


def test_nothing_is_removed_of_a_folder_on_which_something_is_mounted(removal: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "theirs").touch()
    real = os.fstat

    class Other:
        st_dev = -1

    monkeypatch.setattr(os, "fstat", lambda fd: Other)
    assert removal.remove(str(folder))
    monkeypatch.setattr(os, "fstat", real)

    assert (folder / "theirs").exists()


def test_what_there_was_no_time_for_is_said_and_goes_the_next_time(removal: ModuleType, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    branched(folder)

    assert not removal.remove(str(folder), time.monotonic() - 1)
    assert folder.exists()
    assert removal.remove(str(folder), time.monotonic() + 60)
    assert not folder.exists()


def test_a_keeper_outlives_what_others_left_and_removes_it(tmp_path: Path) -> None:
    """The folder's number is no process's: nobody holds it. In this TMPDIR alone, since memory is not writable here."""
    place = tmp_path / "place"
    place.mkdir()
    left = [place / f"mcc-0123456789abcdef-{number}" for number in ("4000000", "4000001", "4000002")]
    for make, folder in zip((deep, branched, strangely_named), left, strict=True):
        folder.mkdir()
        make(folder)
    (place / "mcc-0123456789abcdef-\u00b2").mkdir()  # a digit that is no number
    launch = changed_launcher(tmp_path, {"launch": ('("/dev/shm", os.environ.get("TMPDIR", ""), "/tmp")', '(os.environ["TMPDIR"],)')})
    launch.write_text(launch.read_text().replace("SWEEP = 10.0", "SWEEP = 60.0"))
    script = f"import socket, sys, os; a, b = socket.socketpair(); b.set_inheritable(True); p = os.posix_spawn(sys.executable, [sys.executable, '-I', '-S', {str(launch)!r}, str(b.fileno()), '-1'], dict(os.environ)); b.close(); print(p, flush=True); sys.stdin.read(); a.close(); print(os.waitpid(p, 0)[1])"
    environ = {"PATH": "/usr/bin:/bin", "TMPDIR": str(place)}
    process = subprocess.Popen([sys.executable, "-c", script], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        keeper = int(process.stdout.readline())
        assert until(lambda: not any(map(os.path.lexists, left)), 60)
        assert alive(keeper)
        assert name(keeper) == "mcc-keeper"
        assert os.listdir(place) == ["mcc-0123456789abcdef-\u00b2"]
        assert process.communicate("", 20)[0] == "0\n"
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
