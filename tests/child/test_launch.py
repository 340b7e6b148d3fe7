"""The launcher and its supervisors, spoken to directly: the protocol, and what they do where Linux's help is missing."""

from __future__ import annotations

import array
import ast
import marshal
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.processes import CHILD, alive, changed_launcher, children, loaded, until

ENVIRON = {b"PATH": b"/usr/local/bin:/usr/bin:/bin"}

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def rights(*descriptors: int) -> list[tuple[int, int, array.array[int]]]:
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]


def frame(script: str, *numbers: int, **fields: object) -> dict[str, object]:
    return {
        "argv": [b"/bin/sh", b"-c", script.encode()],
        "environ": b"\0".join(part for pair in ENVIRON.items() for part in pair),
        "cwd": b"/",
        "files": {},
        "limits": {},
        "timeout": 20,
        "umask": 0o022,
        "numbers": list(numbers),
        **fields,
    }


class Spoken:
    """A launcher, and calls by hand."""

    def __init__(self, script: Path = CHILD / "launch.py", flags: tuple[str, ...] = ("-I", "-S")) -> None:
        self.control, theirs = socket.socketpair()
        with theirs:
            fd = theirs.fileno()
            self.process = subprocess.Popen(
                [sys.executable, *flags, str(script), str(fd), "-1"], env={}, pass_fds=[fd], start_new_session=True
            )

    def slot(self, order: bytes = b"") -> tuple[bytes, socket.socket | None]:
        """What the launcher offers next, and its socket."""
        self.control.sendall(order)
        message, ancillary, _, _ = self.control.recvmsg(8, socket.CMSG_SPACE(4))
        fds = array.array("i", ancillary[0][2] if ancillary else b"")
        return message, socket.socket(fileno=fds[0]) if fds else None

    def call(self, data: dict[str, object] | None = None, *descriptors: int) -> socket.socket:
        _, ours = self.slot(b"c")
        assert ours is not None
        if data is not None:
            body = marshal.dumps(data, 2)
            ours.sendmsg([len(body).to_bytes(8, "big")], rights(*descriptors))
            ours.sendall(body)
        return ours

    @property
    def launcher(self) -> int:
        return children(self.process.pid)[0]

    def children(self) -> list[int]:
        """The supervisors but the one that waits."""
        return children(self.launcher)[:-1]

    def close(self) -> None:
        self.control.close()
        self.process.wait(10)


def report(call: socket.socket) -> dict[str, object]:
    """What the supervisor says at the end."""
    with call:
        size = int.from_bytes(call.recv(8, socket.MSG_WAITALL), "big")
        found = dict(marshal.loads(call.recv(size, socket.MSG_WAITALL)))
        if not found.pop("again"):
            assert call.recv(1) == b""
        return found


@pytest.fixture
def launcher() -> Iterator[Spoken]:
    launcher = Spoken()
    yield launcher
    launcher.close()


@pytest.fixture
def processes() -> ModuleType:
    return loaded("processes")


@pytest.fixture
def start() -> Iterator[ModuleType]:
    umask = os.umask(0o022)
    yield loaded("start")
    os.umask(umask)


def test_a_call_is_answered_by_one_report(launcher: Spoken) -> None:
    read, write = os.pipe()
    call = launcher.call(frame("echo hi; exit 3", 1), write)
    os.close(write)

    assert report(call) == {"status": 3 << 8, "stopped": None, "notes": [], "error": None}
    assert os.read(read, 100) == b"hi\n"
    os.close(read)


@pytest.mark.parametrize(("before", "after", "status"), [(b"", b"k", 9), (b"ik", b"", 0)], ids=["its own", "the last one's"])
def test_an_order_that_comes_together_with_a_call_is_its_own_and_one_before_it_is_not(
    launcher: Spoken, before: bytes, after: bytes, status: int
) -> None:
    call = launcher.call()
    data = marshal.dumps(frame("sleep 0.3"), 2)
    call.sendall(before + len(data).to_bytes(8, "big") + data + after)

    assert report(call)["status"] == status


def test_a_call_may_arrive_in_pieces(launcher: Spoken) -> None:
    call = launcher.call()
    read, write = os.pipe()
    data = marshal.dumps(frame("echo hi", 1), 2)
    data = len(data).to_bytes(8, "big") + data
    call.sendmsg([data[:3]], rights(write))
    os.close(write)
    for at in range(3, len(data), 50):
        time.sleep(0.001)
        call.sendall(data[at : at + 50])

    assert report(call)["status"] == 0
    assert os.read(read, 100) == b"hi\n"
    os.close(read)


def test_orders_end_a_call(launcher: Spoken) -> None:
    for orders, numbers in ((b"i", {signal.SIGINT}), (b"ii", {signal.SIGINT, signal.SIGKILL}), (b"k", {signal.SIGKILL})):
        read, write = os.pipe()
        call = launcher.call(frame("echo; exec sleep 30", 1), write)
        os.close(write)
        assert os.read(read, 1) == b"\n"
        call.sendall(orders)
        answer = report(call)
        os.close(read)
        assert answer["stopped"] == "interrupt"
        assert -os.waitstatus_to_exitcode(answer["status"]) in numbers  # type: ignore[arg-type]


def test_an_answer_that_is_told_twice_counts_once(launcher: Spoken) -> None:
    call = launcher.call(frame("exec sleep 30"))
    call.sendall(b"aa")

    assert report(call)["notes"] == ["still running 1 s after its answer: ended"]


def test_descriptors_that_did_not_arrive_are_an_error(launcher: Spoken) -> None:
    assert report(launcher.call(frame("echo", 1, 2))) == {
        "status": None,
        "stopped": None,
        "notes": [],
        "error": "cannot start: Too many open files; close some, or raise the limit of this process",
    }


@linux
@pytest.mark.parametrize("sent", ["nothing", "half a header", "half a frame"])
def test_a_call_that_is_never_made_ends_with_its_socket(launcher: Spoken, sent: str) -> None:
    call = launcher.call()
    assert until(launcher.children)
    if sent != "nothing":
        call.sendall(b"\0\0\0" if sent == "half a header" else b"\0" * 6 + b"\1\0" + b"x" * 10)
    call.close()

    assert until(lambda: not launcher.children())


def answered(call: socket.socket, script: str) -> dict[str, object]:
    """One of several calls of one supervisor."""
    body = marshal.dumps(frame(script), 2)
    call.sendall(len(body).to_bytes(8, "big") + body)
    size = int.from_bytes(call.recv(8, socket.MSG_WAITALL), "big")
    return dict(marshal.loads(call.recv(size, socket.MSG_WAITALL)))


@linux
def test_a_supervisor_that_has_served_a_call_does_not_wait_for_ever(tmp_path: Path) -> None:
    """Its memory holds the environment of the last one. One that has served none waits on."""
    launcher = Spoken(changed_launcher(tmp_path, {"supervise": ("\nIDLE = 60\n", "\nIDLE = 0.3\n")}))
    slots = [launcher.slot(), launcher.slot(b"c")]
    unused, served = (int.from_bytes(message[4:8], sys.byteorder) for message, _ in slots)
    calls = [call for _, call in slots if call is not None]
    assert [answered(calls[1], "exit 3")["status"] for _ in range(3)] == [3 << 8] * 3

    assert until(lambda: not alive(served))
    assert calls[1].recv(1) == b""
    with pytest.raises(BrokenPipeError):
        calls[1].sendall(b"a call")
    assert alive(unused)
    for call in calls:
        call.close()
    launcher.close()


@linux
def test_the_end_of_the_control_socket_ends_everything() -> None:
    launcher = Spoken()
    waiting = launcher.call()
    read, write = os.pipe()
    running = launcher.call(frame("trap '' INT TERM; setsid sleep 30 & echo; while :; do sleep 0.05; done", 1), write)
    os.close(write)
    assert os.read(read, 1) == b"\n"
    os.close(read)

    launcher.control.shutdown(socket.SHUT_RDWR)

    assert os.waitstatus_to_exitcode(report(running)["status"]) == -signal.SIGKILL  # type: ignore[arg-type]
    assert waiting.recv(1) == b""
    waiting.close()
    launcher.close()
    assert launcher.process.returncode == 0


@linux
def test_a_signal_to_the_launcher_ends_everything() -> None:
    launcher = Spoken()
    read, write = os.pipe()
    running = launcher.call(frame("echo; exec sleep 30", 1), write)
    os.close(write)
    assert os.read(read, 1) == b"\n"
    os.close(read)
    for number in (signal.SIGINT, signal.SIGHUP):
        launcher.process.send_signal(number)
    time.sleep(0.05)
    assert launcher.process.poll() is None

    launcher.process.send_signal(signal.SIGTERM)

    assert os.waitstatus_to_exitcode(report(running)["status"]) == -signal.SIGKILL  # type: ignore[arg-type]
    assert launcher.process.wait(10) == 0
    launcher.close()


@linux
def test_the_launcher_runs_with_low_descriptors_taken(tmp_path: Path) -> None:
    """Whatever numbers it is given, the tool's numbers are the tool's."""
    script = tmp_path / "low.py"
    script.write_text(
        "import os, sys, runpy\n"
        "os.dup2(int(sys.argv[1]), 9)\n"
        "os.close(int(sys.argv[1]))\n"
        f"sys.argv[:] = [{str(CHILD / 'launch.py')!r}, '9', '-1']\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    launcher = Spoken(script, ("-I",))
    (read, write), (payload, feed) = os.pipe(), os.pipe()
    os.write(feed, b"payload\n")
    call = launcher.call(frame("cat <&9; ls /proc/self/fd", 9, 1), payload, write)
    for fd in (write, payload, feed):
        os.close(fd)

    assert report(call)["status"] == 0
    assert os.read(read, 1000).split() == b"payload 0 1 2 3 9".split()
    os.close(read)
    launcher.close()


@linux
def test_the_launcher_loads_little() -> None:
    """Every module costs each call: a supervisor is a fork of the launcher."""
    file = str(CHILD / "launch.py")
    program = f"import os, sys; __file__ = {file!r}; __name__ = 'x'; before = set(sys.modules); exec(open(__file__).read()); print(set(sys.modules) - before)"
    loaded = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, check=True, env={})
    more = {name.partition(".")[0] for name in ast.literal_eval(loaded.stdout.decode()) if not name.startswith("_mcc_")}

    assert more <= {"__future__", "_ctypes", "_signal", "_socket", "_struct", "ctypes", "errno", "gc", "marshal", "resource", "select", "struct", "time", "types"}


# Where orphans do not come to us (macOS), the tool's group is all there is


@pytest.fixture
def plain_unix(tmp_path: Path) -> Iterator[Spoken]:
    linux = ('sys.platform.startswith("linux")', "False")
    launcher = Spoken(changed_launcher(tmp_path, {"processes": linux, "confine": linux}))
    yield launcher
    launcher.close()


def test_without_a_subreaper_the_group_is_ended(plain_unix: Spoken) -> None:
    read, write = os.pipe()
    call = plain_unix.call(frame("sleep 30 & echo $!", 1), write)
    os.close(write)
    answer = report(call)
    pid = int(os.read(read, 100))
    os.close(read)

    assert (answer["status"], answer["notes"]) == (0, ["background process was ended"])
    assert until(lambda: not alive(pid))


def test_without_a_subreaper_a_call_ends_when_nothing_is_left(plain_unix: Spoken) -> None:
    assert report(plain_unix.call(frame("exit 2")))["notes"] == []
    assert report(plain_unix.call(frame("trap '' TERM; while :; do sleep 0.05; done", timeout=0.1)))["stopped"] == "timeout"


# Parts


@linux
def test_children_are_found_either_way(processes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    process = subprocess.Popen(["sleep", "30"], env={"PATH": "/usr/bin:/bin"})
    try:
        assert process.pid in processes.children()
        assert process.pid in processes.children_by_parent(os.getpid())

        real = open

        def missing(path: str, *rest: str) -> object:
            if path.endswith("/children"):
                raise FileNotFoundError
            return real(path, *rest)

        monkeypatch.setattr(processes, "open", missing, raising=False)
        assert process.pid in processes.children()
    finally:
        process.kill()
        process.wait()
    monkeypatch.setattr(os.path, "isdir", lambda _: False)
    assert processes.children_by_parent(os.getpid()) == []


def test_private_files_that_cannot_be_removed_in_time_are_said(tmp_path: Path) -> None:
    changes = {"removal": ("\nTIME = 2.0\n", "\nTIME = -1.0\n"), "launch": ('places = [place for place in ("/dev/shm",', f'places = [place for place in ("{tmp_path}",')}
    launcher = Spoken(changed_launcher(tmp_path, changes))
    read, write = os.pipe()
    call = launcher.call(frame('dirname "$F" >&7', 7, files={b"F": b"x"}), write)
    os.close(write)
    folder = os.read(read, 200).decode().rstrip()
    os.close(read)

    assert report(call)["notes"] == [f"its private files could not be removed; delete {folder}"]
    launcher.close()


def test_a_private_file_that_cannot_be_written_is_said_without_its_content(start: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(start.Refused) as caught:
        start.private_files(str(tmp_path / "no" / "folder"), {b"A": b"secret"})

    assert str(caught.value) == f"cannot write a private file in {tmp_path}/no: No such file or directory; make room there"


def test_what_a_start_failed_of_is_said_with_what_to_do(start: ModuleType) -> None:
    no_memory = OSError(12, "Cannot allocate memory")

    assert start.reason(no_memory, {"mem_mb": 3}) == "Cannot allocate memory; raise limits.mem_mb, which is 3"
    assert start.reason(no_memory, {"nofile": 3}) == "Cannot allocate memory"


def test_a_signal_to_nobody_is_no_error(processes: ModuleType) -> None:
    process = subprocess.Popen(["true"], env={"PATH": "/usr/bin:/bin"})
    process.wait()

    assert processes.kill(process.pid) is False
