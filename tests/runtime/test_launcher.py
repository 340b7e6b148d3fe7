"""Real processes through the launcher: how they are started, watched, stopped, and that nothing stays."""

from __future__ import annotations

import fcntl
import gc
import marshal
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mcc_jupyter.core.command import Request
from mcc_jupyter.core.tool import Limits
from mcc_jupyter.runtime import descriptors, frames, supervised
from mcc_jupyter.runtime import launcher as module
from mcc_jupyter.runtime.launcher import Exit, Launcher, Stop
from tests.processes import REPOSITORY, alive, below, changed_launcher, children, until, written

ENVIRON = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
FAR = 30.0
"""Seconds a tool would take if nothing stopped it; every test is over long before."""

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


class Ran:
    """A call: its exit and its output."""

    def __init__(self, launcher: Launcher, request: Request, stop: Stop | None = None) -> None:
        self.out, self.err = bytearray(), bytearray()
        self.exit = launcher.run(request, stdout=self.out.extend, stderr=self.err.extend, stop=stop)


def sh(script: str, **fields: object) -> Request:
    values = {"environ": ENVIRON, "cwd": "/", **fields}
    return Request(("/bin/sh", "/dev/fd/9"), payload=b"exec 9<&-; " + script.encode(), **values)  # type: ignore[arg-type]


def command(*argv: str, **fields: object) -> Request:
    return Request(argv, **{"environ": ENVIRON, "cwd": "/", **fields})  # type: ignore[arg-type]


def launcher_of(launcher: Launcher) -> int:
    """The launcher's process; the one that was started is its keeper."""
    assert launcher._process is not None
    return children(launcher._process.pid)[0]


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    launcher = Launcher(ENVIRON)
    Ran(launcher, command("true"))
    yield launcher
    launcher.close()


@pytest.fixture(autouse=True)
def nothing_is_left(launcher: Launcher) -> Iterator[None]:
    """No descriptor more than before, and no process below the launcher."""

    def opened() -> int:
        gc.collect()
        return len(os.listdir("/dev/fd")) - len(launcher._idle) - len(launcher._ready)

    before = opened()
    yield
    assert opened() <= before
    assert launcher._process is not None
    pid = launcher._process.pid
    assert until(lambda: not below(pid)), f"left: {[Path(f'/proc/{one}/cmdline').read_bytes() for one in below(pid)]}"


# Starting


def test_a_call_gives_output_code_and_time(launcher: Launcher) -> None:
    ran = Ran(launcher, sh("echo out; echo err >&2; exit 3"))

    assert ran.out == b"out\n"
    assert ran.err == b"err\n"
    assert ran.exit == Exit(code=3, seconds=ran.exit.seconds)
    assert 0 < ran.exit.seconds < FAR


def test_a_tool_gets_exactly_its_environment(launcher: Launcher) -> None:
    ran = Ran(launcher, command("env", environ={"PATH": ENVIRON["PATH"], "ONE": "1", "NOTHING": "", "BYTES": "\udce9"}))

    assert sorted(bytes(ran.out).split(b"\n")[:-1]) == [b"BYTES=\xe9", b"NOTHING=", b"ONE=1", b"PATH=" + ENVIRON["PATH"].encode()]


def test_an_empty_environment_is_not_inherited(launcher: Launcher) -> None:
    assert Ran(launcher, command("/usr/bin/env", environ={})).out == b""


def test_an_environment_larger_than_one_message_arrives(launcher: Launcher) -> None:
    environ = {**ENVIRON, **{f"V{number}": "x" * 100_000 for number in range(15)}}

    ran = Ran(launcher, sh("echo ${#V0} ${#V14}", environ=environ))

    assert ran.out == b"100000 100000\n"


@linux
def test_what_a_process_cannot_be_given_is_one_line_without_a_value(launcher: Launcher) -> None:
    environ = {**ENVIRON, **{f"V{number}": "secret" * 15_000 for number in range(60)}}

    assert Ran(launcher, command("true", environ=environ)).exit.error == (
        "cannot start `true`: Argument list too long: its arguments and variables together; give it less"
    )
    nothing = "an argument, or a variable's name or value, holds a character that no process can be given"
    assert Ran(launcher, command("true", environ={**ENVIRON, "A": "secret\0"})).exit.error == "a variable holds a NUL character, which no process can be given"
    assert Ran(launcher, command("true", "secret\0")).exit.error == f"cannot start `true`: {nothing}"
    limited = command("true", "secret\0", limits=Limits(nofile=64))
    assert Ran(launcher, limited).exit.error == f"cannot start `true`: {nothing}"
    assert Ran(launcher, command("true", "secret\ud800")).exit.error == (
        "the command or a variable holds a character that has no form in this system's encoding"
    )


def test_arguments_and_the_folder_need_not_be_utf_8(launcher: Launcher, tmp_path: Path) -> None:
    folder = tmp_path / "caf\udce9"
    folder.mkdir()

    assert Ran(launcher, command("printf", "%s", "\udce9")).out == b"\xe9"
    assert Ran(launcher, command("pwd", cwd=str(folder))).out.endswith(b"/caf\xe9\n")


@linux
def test_a_tool_holds_no_descriptor_but_its_own(launcher: Launcher) -> None:
    held = "import os; print([fd for fd in map(int, os.listdir('/proc/self/fd')) if os.path.exists(f'/proc/self/fd/{fd}')])"

    assert Ran(launcher, command(sys.executable, "-I", "-S", "-c", held)).out == b"[0, 1, 2]\n"
    every = command(sys.executable, "-I", "-S", "-c", held, payload=b"x", stdin=b"x", result=True)
    assert Ran(launcher, every).out == b"[0, 1, 2, 8, 9]\n"


@linux
def test_a_tool_has_its_own_group_no_terminal_and_plain_signals(launcher: Launcher) -> None:
    script = "import os; print(os.getpgid(0) == os.getpid() != os.getsid(0)); print(open('/proc/self/status').read()); open('/dev/tty')"
    ran = Ran(launcher, command("/usr/bin/env", sys.executable, "-I", "-S", "-c", script))
    status = dict(line.split(":\t", 1) for line in ran.out.decode().splitlines()[1:] if ":\t" in line)

    assert ran.out.startswith(b"True\n")
    assert b"/dev/tty" in ran.err
    assert status["SigBlk"] == "0" * 16
    assert status["NoNewPrivs"] == "1"
    for limits in (Limits(), Limits(nofile=64)):
        ignored = Ran(launcher, sh("grep SigIgn /proc/self/status", limits=limits)).out.split()[1]
        assert int(ignored, 16) & 0x7FFFFFFF == 0  # of 32 and 33, the C library's own, it makes what it likes


@pytest.mark.parametrize("status", [True, False])
def test_a_tool_has_the_umask_of_this_process(launcher: Launcher, status: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def refuse(path: str, *rest: int) -> int:
        if path == "/proc/self/status":
            raise FileNotFoundError
        return real(path, *rest)

    if not status:
        monkeypatch.setattr(os, "open", refuse)
    before = os.umask(0o027)
    try:
        assert Ran(launcher, sh("umask")).out == b"0027\n"
    finally:
        assert os.umask(before) == 0o027


def test_a_program_is_looked_up_on_the_path_of_the_tool(launcher: Launcher, tmp_path: Path) -> None:
    program = tmp_path / "only-here"
    program.write_text("#!/bin/sh\necho found $1\n")
    program.chmod(0o755)

    assert Ran(launcher, command("only-here", "it", environ={"PATH": f"/nowhere:{tmp_path}"})).out == b"found it\n"
    assert Ran(launcher, command("only-here", "here", environ={"PATH": ":/bin"}, cwd=str(tmp_path))).out == b"found here\n"
    assert Ran(launcher, command("./only-here", "too", cwd=str(tmp_path))).out == b"found too\n"
    assert Ran(launcher, command("sh", "-c", "echo default", environ={})).out == b"default\n"


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        pytest.param("no-such-program", "program not found: `no-such-program`; it is in no folder of the tool's PATH", id="name"),
        pytest.param("/no/such", "program not found: `/no/such`; install it or correct the path", id="path"),
        pytest.param("/no/sh", "shell not found: `/no/sh`; install it or correct the path", id="PROC-24"),
        pytest.param("", "program not found: ``; it is in no folder of the tool's PATH", id="empty"),
        pytest.param("{tmp}", "program not found: `{tmp}`; install it or correct the path", id="a folder"),
        pytest.param("{tmp}/plain", "program is not executable: `{tmp}/plain`; make it so with chmod +x", id="not executable"),
        pytest.param("plain", "program is not executable: `{tmp}/plain`; make it so with chmod +x", id="not executable on PATH"),
        pytest.param("{tmp}/lost", "cannot start `{tmp}/lost`: No such file or directory: the interpreter that its first line names", id="interpreter"),
        pytest.param("{tmp}/text", "cannot start `{tmp}/text`: Exec format error; a script needs a first line like #!/bin/sh", id="no first line"),
        pytest.param("two\nlines", "program not found: `two\\nlines`; it is in no folder of the tool's PATH", id="one line"),
    ],
)
@pytest.mark.parametrize("limits", [Limits(), Limits(nofile=64)], ids=["spawned", "limited"])
def test_a_program_that_cannot_be_started_is_named(launcher: Launcher, argv: str, error: str, limits: Limits, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    for name, text in (("lost", "#!/no/interpreter\n"), ("text", "words\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)

    ran = Ran(launcher, command(argv.format(tmp=tmp_path), environ={"PATH": f"/bin:{tmp_path}"}, limits=limits))

    assert ran.exit == Exit(seconds=ran.exit.seconds, error=error.format(tmp=tmp_path))


@pytest.mark.parametrize(
    ("folder", "what"),
    [
        pytest.param("no/such", "does not exist, or no longer", id="PROC-22 missing"),
        pytest.param("file", "is not a directory", id="PROC-22 a file"),
        pytest.param("nul\0", "cannot be entered (Invalid argument)", id="NUL"),
    ],
)
def test_PROC_22_a_working_directory_that_cannot_be_used_is_named(launcher: Launcher, folder: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    error = Ran(launcher, command("true", cwd=f"{tmp_path}/{folder}")).exit.error

    assert error == f"working directory `{tmp_path}/{folder}` {what}; set cwd to a folder that is there"


def test_PROC_22_a_working_directory_that_was_deleted(launcher: Launcher, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    assert Ran(launcher, command("pwd", cwd=str(folder))).exit.code == 0
    folder.rmdir()

    error = Ran(launcher, command("pwd", cwd=str(folder))).exit.error

    assert error == f"working directory `{folder}` does not exist, or no longer; set cwd to a folder that is there"


# What goes in


def test_stdin_is_empty_or_what_was_given(launcher: Launcher) -> None:
    assert Ran(launcher, command("cat")).out == b""
    assert Ran(launcher, command("cat", stdin=b"given")).out == b"given"
    assert Ran(launcher, command("cat", stdin=b"")).out == b""


@linux
def test_a_payload_cannot_be_changed(launcher: Launcher) -> None:
    ran = Ran(launcher, command("sh", "-c", "cat <&9; echo x 2>/dev/null >&9 || echo sealed", payload=b"script\n"))

    assert ran.out == b"script\nsealed\n"


@pytest.mark.parametrize("lacking", ["memfd_create", "MFD_NOEXEC_SEAL", "permission"])
def test_where_sealed_memory_is_lacking_something_else_carries_it(launcher: Launcher, lacking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if lacking == "memfd_create":
        monkeypatch.delattr(os, "memfd_create", raising=False)
    else:
        real = getattr(os, "memfd_create", None)
        if real is None:
            pytest.skip("no memfd here")

        def create(name: str, flags: int) -> int:
            if lacking == "permission" or flags & descriptors._NOEXEC_SEAL:
                raise OSError
            return int(real(name, flags))

        monkeypatch.setattr(os, "memfd_create", create)
    large = os.urandom(1_000_000)

    assert Ran(launcher, command("cat", "/dev/fd/9", payload=large)).out == large
    assert Ran(launcher, command("cat", stdin=large)).out == large
    assert Ran(launcher, command("true", stdin=large)).exit.code == 0
    assert Ran(launcher, command("sh", "-c", "exec <&-; sleep 0.2", stdin=large)).exit.code == 0
    assert Ran(launcher, sh("cat", stdin=b"")).out == b""


@linux
def test_private_files_are_private_and_gone_afterwards(launcher: Launcher) -> None:
    script = 'stat -c "%a %u" "$A" "$(dirname "$A")"; cat "$A" "$B"; mkdir -p "$A.d/x"; ln -s / "$A.l"; chmod 0 "$A.d"; echo "$A"'
    ran = Ran(launcher, sh(f"umask; {script}", files={"A": b"one\n", "B": b"two\n"}))
    *lines, path = ran.out.decode().splitlines()

    assert lines == [f"{descriptors.umask():04o}", f"600 {os.getuid()}", f"700 {os.getuid()}", "one", "two"]
    assert not Path(path).parent.exists()


def test_private_files_go_with_a_call_that_could_not_start(launcher: Launcher, tmp_path: Path) -> None:
    before = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()

    assert Ran(launcher, command("/no/such", files={"A": b"one"})).exit.error is not None
    assert Ran(launcher, command("true", files={"no/folder": b"one"})).exit.error.startswith("cannot write a private file in /")  # type: ignore[union-attr]
    assert (set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()) <= before


# What comes out


def test_a_line_that_is_written_in_pieces_arrives_as_one(launcher: Launcher) -> None:
    pieces: list[bytes] = []
    script = "for n in range(200): print('working', 'on', n, 'of 200')"

    launcher.run(command(sys.executable, "-u", "-c", script), stdout=pieces.append, stderr=pieces.append)

    assert b"".join(pieces) == b"".join(b"working on %d of 200\n" % n for n in range(200))
    assert len(pieces) < 800  # written in 8 pieces each


def test_PROC_11_output_comes_while_the_tool_runs(launcher: Launcher, tmp_path: Path) -> None:
    seen: list[bytes] = []

    def sink(chunk: bytes) -> None:
        seen.append(chunk)
        (tmp_path / "go").touch()

    exit = launcher.run(sh("echo 1; while [ ! -e go ]; do sleep 0.01; done; echo 2", cwd=str(tmp_path), timeout=FAR), stdout=sink, stderr=sink)

    assert exit.code == 0
    assert seen == [b"1\n", b"2\n"]


@linux
def test_PROC_14_memory_stays_flat_under_a_flood(launcher: Launcher) -> None:
    size = 0

    def count(chunk: bytes) -> None:
        nonlocal size
        size += len(chunk)
        assert len(chunk) <= 5 * descriptors.CHUNK

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    exit = launcher.run(sh("yes | head -c 100000000"), stdout=count, stderr=count)

    assert (exit.code, size) == (0, 100_000_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 * 1024


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("import sys; sys.stdout.write('x' * 70000)", id="PROC-15 a long line"),
        pytest.param("import sys; sys.stdout.write('x' * 5_000_000)", id="PROC-15 a very long line"),
        pytest.param("import sys; sys.stdout.write('\\r'.join(map(str, range(200_000))))", id="PROC-15 many updates"),
        pytest.param("import sys; sys.stdout.write('10%\\r50%\\r100%\\n')", id="PROC-16"),
        pytest.param("import sys; sys.stdout.buffer.write(b'caf\\xe9\\n')", id="PROC-17 not UTF-8"),
        pytest.param("import sys; sys.stdout.write('\\033[31mred\\033[0m \\033]0;t\\007')", id="PROC-18"),
    ],
)
def test_output_arrives_byte_for_byte(launcher: Launcher, script: str) -> None:
    here = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, check=True, env={})

    assert Ran(launcher, command(sys.executable, "-I", "-S", "-c", script)).out == here.stdout


@pytest.mark.parametrize(
    ("script", "code", "number"),
    [
        pytest.param("exit 0", 0, None, id="PROC-19 ok"),
        pytest.param("kill -SEGV $$", None, signal.SIGSEGV, id="PROC-19 direct"),
        pytest.param("sh -c 'kill -SEGV $$'; exit $?", 128 + signal.SIGSEGV, None, id="PROC-19 under the shell"),
        pytest.param("no-such-program", 127, None, id="PROC-19 not found"),
        pytest.param("/etc/passwd", 126, None, id="PROC-19 not executable"),
        pytest.param("kill -PIPE $$", None, signal.SIGPIPE, id="PROC-19 SIGPIPE"),
    ],
)
def test_PROC_19_a_call_has_a_code_or_a_signal(launcher: Launcher, script: str, code: int | None, number: int | None) -> None:
    exit = Ran(launcher, sh(script)).exit

    assert (exit.code, exit.signal, exit.stopped, exit.notes) == (code, number, None, ())


def test_an_answer_comes_back_as_it_was_written(launcher: Launcher) -> None:
    assert Ran(launcher, sh("printf '00000004\\nnull' >&8", result=True)).exit.result == b"00000004\nnull"
    assert Ran(launcher, sh(":", result=True)).exit.result == b""
    assert Ran(launcher, sh(":")).exit.result is None
    assert "null" not in repr(Ran(launcher, sh("printf '00000004\\nnull' >&8", result=True)).exit)


def test_an_answer_without_bounds_is_dropped_with_a_note(launcher: Launcher, monkeypatch: pytest.MonkeyPatch) -> None:
    for one in (frames, supervised):
        monkeypatch.setattr(one, "ANSWER_LIMIT", 1 << 20)

    exit = Ran(launcher, sh("head -c 3000000 /dev/zero >&8", result=True)).exit

    assert (exit.code, exit.result, exit.notes) == (0, b"", ("its answer was larger than 1 MiB and was dropped",))


# Until nothing is left


@pytest.mark.parametrize("script", ["sleep 30 & echo started", "setsid sleep 30 & echo started", "setsid sh -c 'setsid sleep 30 & setsid sleep 30' >/dev/null 2>&1 & echo started"])
def test_PROC_01_what_a_tool_leaves_behind_is_ended(launcher: Launcher, script: str) -> None:
    ran = Ran(launcher, sh(script))

    assert ran.out == b"started\n"
    assert (ran.exit.code, ran.exit.notes) == (0, ("background process was ended",))
    assert ran.exit.seconds < FAR / 3


def test_PROC_01_what_ends_by_itself_is_not_noted(launcher: Launcher) -> None:
    ran = Ran(launcher, sh("(sleep 0.1; echo late) & echo started"))

    assert ran.out == b"started\nlate\n"
    assert (ran.exit.code, ran.exit.notes) == (0, ())


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("printf '00000004\\nnull' >&8; exec sleep 30", id="FN-16 the answer is whole"),
        pytest.param("exec 8>&-; exec sleep 30", id="FN-16 its descriptor is closed"),
    ],
)
def test_FN_16_after_its_answer_a_process_has_a_second_to_exit(launcher: Launcher, script: str) -> None:
    exit = Ran(launcher, sh(script, result=True)).exit

    assert (exit.signal, exit.stopped, exit.notes) == (signal.SIGKILL, None, ("still running 1 s after its answer: ended",))
    assert exit.seconds < FAR / 3


def test_FN_16_one_of_several_answers_ends_nothing(launcher: Launcher) -> None:
    """Between two functions that are described, an import may take longer than a second."""
    exit = Ran(launcher, sh("printf '0000000a\\n{\"id\": \"a\"}' >&8; sleep 1.5; printf '0000000a\\n{\"id\": \"b\"}' >&8", result=True)).exit

    assert (exit.code, exit.notes) == (0, ())
    assert exit.result == b'0000000a\n{"id": "a"}0000000a\n{"id": "b"}'


# Limits


def test_PROC_29_what_came_before_the_time_limit_is_kept(launcher: Launcher) -> None:
    ran = Ran(launcher, sh("echo a; exec sleep 30", timeout=0.3, limits=Limits(timeout=FAR)))

    assert ran.out == b"a\n"
    assert (ran.exit.signal, ran.exit.stopped) == (signal.SIGTERM, "timeout")


def test_a_tool_that_ignores_its_time_limit_is_killed(launcher: Launcher) -> None:
    ran = Ran(launcher, sh("trap 'echo TERM' TERM; while :; do sleep 0.1; done", limits=Limits(timeout=0.3)))

    assert ran.out == b"TERM\n"
    assert (ran.exit.signal, ran.exit.stopped, ran.exit.notes) == (signal.SIGKILL, "timeout", ())


def test_a_time_limit_may_be_far_away(launcher: Launcher) -> None:
    assert Ran(launcher, sh("sleep 0.01", timeout=1e12)).exit.code == 0


@linux
def test_limits_hold_for_every_process_of_a_tool_and_not_for_the_next(launcher: Launcher) -> None:
    limits = Limits(mem_mb=1000, cpu_sec=50, fsize_mb=3, nofile=40)
    shown = "sh -c 'ulimit -Sv; ulimit -Hv; ulimit -St; ulimit -Ht; ulimit -Sf; ulimit -Hf; ulimit -Sn; ulimit -Hn'"

    assert Ran(launcher, sh(shown, limits=limits)).out.split() == b"1024000 1024000 50 51 6144 6144 40 40".split()
    assert b"1024000" not in Ran(launcher, sh(shown)).out


@linux
def test_a_limit_cannot_be_raised_above_what_this_process_may_have(launcher: Launcher) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

    assert int(Ran(launcher, sh("ulimit -n", limits=Limits(nofile=1 << 40))).out) == hard
    assert Ran(launcher, sh(":", limits=Limits(mem_mb=1 << 60))).exit.code == 0


@linux
@pytest.mark.parametrize("script", ["while :; do :; done", "sh -c 'while :; do :; done'; exit $?"])
def test_a_tool_that_used_up_its_processor_time_says_so(launcher: Launcher, script: str) -> None:
    exit = Ran(launcher, sh(script, limits=Limits(cpu_sec=1))).exit

    assert exit.stopped == "cpu_sec"
    assert signal.SIGXCPU in (exit.signal, (exit.code or 0) - 128)


@linux
def test_a_tool_that_wrote_too_much_says_so(launcher: Launcher, tmp_path: Path) -> None:
    exit = Ran(launcher, sh("exec dd if=/dev/zero of=large bs=1M count=5", cwd=str(tmp_path), limits=Limits(fsize_mb=1))).exit

    assert (exit.signal, exit.stopped) == (signal.SIGXFSZ, "fsize_mb")


def test_a_limit_that_did_not_strike_is_not_named(launcher: Launcher) -> None:
    limits = Limits(cpu_sec=50, fsize_mb=50)

    assert Ran(launcher, sh("kill -KILL $$", limits=limits)).exit.stopped is None
    assert Ran(launcher, sh("exit 3", limits=limits)).exit.stopped is None


@linux
@pytest.mark.parametrize(
    ("limits", "name"),
    [pytest.param(Limits(nofile=3), "limits.nofile", id="PROC-34 nofile"), pytest.param(Limits(mem_mb=3), "limits.mem_mb", id="PROC-34 mem_mb")],
)
def test_PROC_34_a_limit_too_low_to_start_is_named(launcher: Launcher, limits: Limits, name: str) -> None:
    exit = Ran(launcher, command(sys.executable, "-c", "pass", limits=limits)).exit

    assert exit.code != 0
    assert any(name in text for text in (*exit.notes, exit.error or ""))


# Stopping


def test_PROC_04_an_interrupt_ends_the_tool(launcher: Launcher) -> None:
    stop = Stop()
    timer = threading.Timer(0.3, stop.interrupt)
    timer.start()

    exit = Ran(launcher, sh("exec sleep 30"), stop).exit
    timer.join()

    assert (exit.signal, exit.stopped) == (signal.SIGINT, "interrupt")


def test_PROC_05_background_jobs_that_ignore_an_interrupt_are_ended(launcher: Launcher, tmp_path: Path) -> None:
    stop = Stop()

    def sink(_: bytes) -> None:
        stop.interrupt()

    exit = launcher.run(sh("sleep 30 & echo $! > pid; echo; wait", cwd=str(tmp_path)), stdout=sink, stderr=sink, stop=stop)

    assert (exit.signal, exit.stopped) == (signal.SIGINT, "interrupt")
    assert not alive(written(tmp_path / "pid"))


def test_an_interrupt_escalates(launcher: Launcher) -> None:
    stop, out = Stop(), bytearray()

    def sink(chunk: bytes) -> None:
        if not out:
            stop.interrupt()
        out.extend(chunk)

    script = "trap 'echo INT' INT; trap 'echo TERM' TERM; echo ready; while :; do sleep 0.05; done"
    exit = launcher.run(sh(script), stdout=sink, stderr=bytearray().extend, stop=stop)

    assert out == b"ready\nINT\nTERM\n"
    assert (exit.signal, exit.stopped) == (signal.SIGKILL, "interrupt")


@pytest.mark.parametrize("orders", [("interrupt", "interrupt"), ("kill",)])
def test_a_second_interrupt_kills_at_once(launcher: Launcher, orders: tuple[str, ...], tmp_path: Path) -> None:
    stop = Stop()

    def sink(_: bytes) -> None:
        for order in orders:
            getattr(stop, order)()

    script = "trap '' INT TERM; setsid sleep 30 & echo $! > pid; echo; while :; do sleep 0.05; done"
    exit = launcher.run(sh(script, cwd=str(tmp_path)), stdout=sink, stderr=sink, stop=stop)

    assert (exit.signal, exit.stopped, exit.notes) == (signal.SIGKILL, "interrupt", ())
    assert exit.seconds < 1.0 + FAR / 3
    assert not alive(written(tmp_path / "pid"))


def test_an_interrupt_during_the_grace_ends_it_and_is_not_what_stopped_the_tool(launcher: Launcher, tmp_path: Path) -> None:
    stop = Stop()

    def press() -> None:
        tool = written(tmp_path / "tool")
        until(lambda: not alive(tool))
        stop.interrupt()
        stop.interrupt()

    timer = threading.Thread(target=press)
    timer.start()
    exit = Ran(launcher, sh("sleep 30 & echo $! > pid; echo $$ > tool; exit 3", cwd=str(tmp_path)), stop).exit
    timer.join()

    assert (exit.code, exit.stopped, exit.notes) == (3, None, ("background process was ended",))
    assert exit.seconds < FAR / 3
    assert not alive(written(tmp_path / "pid"))


def test_a_time_limit_that_only_what_was_left_behind_would_reach_stopped_nothing(launcher: Launcher) -> None:
    exit = Ran(launcher, sh("sleep 30 & exit 3", timeout=0.3)).exit

    assert (exit.code, exit.stopped, exit.notes) == (3, None, ("background process was ended",))


def test_a_tool_that_left_its_group_is_killed_all_the_same(launcher: Launcher) -> None:
    script = "import os, time; pid = os.fork(); os.setpgid(pid, pid) if pid else time.sleep(30); os.setpgid(0, pid); time.sleep(30)"

    exit = Ran(launcher, command(sys.executable, "-I", "-S", "-c", script, timeout=0.3)).exit

    assert (exit.signal, exit.stopped) == (signal.SIGKILL, "timeout")


def test_a_stop_that_came_before_starts_nothing(launcher: Launcher, tmp_path: Path) -> None:
    stop = Stop()
    stop.interrupt()

    exit = Ran(launcher, sh("touch started", cwd=str(tmp_path)), stop).exit

    assert exit == Exit(seconds=exit.seconds, stopped="interrupt")
    assert not (tmp_path / "started").exists()


def test_one_stop_may_end_several_calls(launcher: Launcher) -> None:
    stop = Stop()
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(Ran, launcher, sh("exec sleep 30"), stop) for _ in range(4)]
        assert until(lambda: len(stop._calls) == 4)
        stop.interrupt()
        assert [call.result().exit.stopped for call in calls] == ["interrupt"] * 4
    assert stop._calls == []


# KeyboardInterrupt


def interrupted(run: Callable[[], object]) -> Exit:
    with pytest.raises(KeyboardInterrupt) as caught:
        run()
    exit = caught.value.exit  # type: ignore[attr-defined]
    assert isinstance(exit, Exit)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    return exit


def test_PROC_04_ctrl_c_is_raised_when_the_tool_has_gone(launcher: Launcher, tmp_path: Path) -> None:
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()

    exit = interrupted(lambda: Ran(launcher, sh("echo $$ > pid; exec sleep 30", cwd=str(tmp_path))))
    timer.join()

    assert (exit.signal, exit.stopped) == (signal.SIGINT, "interrupt")
    assert not alive(written(tmp_path / "pid"))


def test_a_second_ctrl_c_kills_and_a_third_is_raised(launcher: Launcher) -> None:
    def press(times: int) -> Callable[[bytes], None]:
        return lambda _: [signal.raise_signal(signal.SIGINT) for _ in range(times)] and None  # type: ignore[return-value]

    script = sh("trap '' INT TERM; echo; while :; do sleep 0.05; done")

    assert interrupted(lambda: launcher.run(script, stdout=press(2), stderr=press(2))).signal == signal.SIGKILL
    with pytest.raises(KeyboardInterrupt) as caught:
        launcher.run(script, stdout=press(3), stderr=press(3))
    assert not hasattr(caught.value, "exit")


def test_ctrl_c_before_the_tool_starts(launcher: Launcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pipe

    def press() -> object:
        monkeypatch.setattr(os, "pipe", real)
        signal.raise_signal(signal.SIGINT)
        return real()

    monkeypatch.setattr(os, "pipe", press)

    exit = interrupted(lambda: Ran(launcher, sh("exec sleep 30")))

    assert (exit.stopped, exit.signal in (signal.SIGINT, None)) == ("interrupt", True)


def test_ctrl_c_while_the_launcher_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def press(self: Launcher) -> socket.socket:
        signal.raise_signal(signal.SIGINT)
        return real(self)

    real = Launcher._start
    monkeypatch.setattr(Launcher, "_start", press)
    fresh = Launcher(ENVIRON)
    try:
        exit = interrupted(lambda: Ran(fresh, sh("exec sleep 30")))
        assert (exit.stopped, exit.signal) == ("interrupt", signal.SIGINT)
        assert Ran(fresh, sh("echo next")).out == b"next\n"
    finally:
        fresh.close()


@pytest.mark.parametrize("handler", ["ours", "another"])
def test_ctrl_c_while_what_stands_in_the_pipes_is_read(launcher: Launcher, handler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool has ended by itself, which the exit says; the interrupt is raised all the same."""

    def press(self: supervised.Call) -> None:
        monkeypatch.setattr(supervised.Call, "drain", real)
        if handler == "another":
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)
        real(self)

    real = supervised.Call.drain
    monkeypatch.setattr(supervised.Call, "drain", press)
    out = bytearray()
    exit = interrupted(lambda: launcher.run(sh("echo all; exit 3", tool="drained"), stdout=out.extend, stderr=out.extend))

    assert (exit.code, exit.stopped, out) == (3, None, b"all\n")
    assert Ran(launcher, sh("echo next", tool="drained")).out == b"next\n"


def test_a_keyboard_interrupt_out_of_another_handler_is_passed_on(launcher: Launcher) -> None:
    raised: list[int] = []

    def sink(chunk: bytes) -> None:
        if not raised:
            raised.append(1)
            raise KeyboardInterrupt

    exit = interrupted(lambda: launcher.run(sh("echo a; exec sleep 30"), stdout=sink, stderr=sink))

    assert (exit.signal, exit.stopped) == (signal.SIGINT, "interrupt")


@pytest.mark.parametrize("at", ["pipe", "take"])
def test_a_keyboard_interrupt_out_of_another_handler_before_the_start(launcher: Launcher, at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os if at == "pipe" else launcher, at, interrupt)

    exit = interrupted(lambda: Ran(launcher, sh("exec sleep 30")))

    assert exit == Exit(seconds=exit.seconds, stopped="interrupt")


def test_a_handler_of_the_user_is_left_alone(launcher: Launcher) -> None:
    seen: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: seen.append(number))
    try:
        exit = launcher.run(sh("echo; sleep 0.1; exit 5"), stdout=lambda _: signal.raise_signal(signal.SIGINT), stderr=bytearray().extend)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    assert (exit.code, seen) == (5, [signal.SIGINT])


def test_what_a_sink_raises_ends_the_call(launcher: Launcher, tmp_path: Path) -> None:
    def sink(_: bytes) -> None:
        raise ValueError("full")

    with pytest.raises(ValueError, match="full"):
        launcher.run(sh("echo $$ > pid; echo; exec sleep 30", cwd=str(tmp_path)), stdout=sink, stderr=sink)

    assert not alive(written(tmp_path / "pid"))


# Many calls


def test_a_hundred_calls_at_once_keep_their_output_apart(launcher: Launcher) -> None:
    with ThreadPoolExecutor(100) as pool:
        outputs = list(pool.map(lambda number: Ran(launcher, sh(f"sleep 0.1; echo {number}; sleep 0.1; echo {number}")).out, range(100)))

    assert outputs == [b"%d\n" % number * 2 for number in range(100)]


@linux
def test_PROC_28_timeouts_leave_no_zombie(launcher: Launcher) -> None:
    with ThreadPoolExecutor(25) as pool:
        stopped = list(pool.map(lambda _: Ran(launcher, sh("exec sleep 30", timeout=0.2)).exit.stopped, range(50)))

    assert stopped == ["timeout"] * 50
    ours = [int(pid) for tasks in Path("/proc/self/task").glob("*/children") for pid in tasks.read_text().split()]
    assert [pid for pid in ours if not alive(pid)] == []


def test_without_descriptors_a_call_says_so(launcher: Launcher) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    try:
        for spare in range(1, 9):
            resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + spare, hard))
            ran = Ran(launcher, sh("echo hi", stdin=b"x", result=True))
            assert ran.exit.error == "no process can be started: Too many open files"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert Ran(launcher, sh("echo hi")).out == b"hi\n"


# Deaths


@linux
def test_neither_argv_nor_environ_of_ours_holds_a_value(launcher: Launcher, tmp_path: Path) -> None:
    found: list[bytes] = []

    def read(path: str) -> bytes:
        try:
            return Path(path).read_bytes()
        except PermissionError:  # they are not dumpable: an ordinary user may not even look
            return b""

    def look(_: bytes) -> None:
        keeper, parent = launcher._process.pid, launcher_of(launcher)  # type: ignore[union-attr]
        for one in (keeper, parent, next(one for one in children(parent) if children(one))):
            found.extend(read(f"/proc/{one}/{name}") for name in ("cmdline", "environ", "comm"))
        (tmp_path / "seen").touch()

    request = sh("echo; while [ ! -e seen ]; do sleep 0.01; done", cwd=str(tmp_path), environ={**ENVIRON, "TOKEN": "s3cr3t-value"}, stdin=b"s3cr3t-value")
    launcher.run(request, stdout=look, stderr=look)

    assert len(found) == 9
    assert b"s3cr3t-value" not in b"".join(found)
    assert found[2::3] == [b"mcc-keeper\n", b"mcc-launcher\n", b"mcc-supervisor\n"]
    assert b"TOKEN" not in b"".join(found[1::3])


def test_PROC_08_the_launcher_outlives_the_thread_that_started_it() -> None:
    launcher = Launcher(ENVIRON)
    try:
        with ThreadPoolExecutor(1) as pool:
            parent = pool.submit(Ran, launcher, sh("echo $PPID")).result()
        pid = launcher._process.pid  # type: ignore[union-attr]
        assert parent.out
        assert Ran(launcher, sh("sleep 0.1; echo again")).out == b"again\n"
        assert launcher._process.pid == pid  # type: ignore[union-attr]
    finally:
        launcher.close()


@linux
@pytest.mark.parametrize("which", ["keeper", "launcher", "both"])
def test_what_was_killed_is_replaced_and_running_calls_go_on(which: str) -> None:
    launcher = Launcher(ENVIRON)
    first: list[int] = []

    def sink(_: bytes) -> None:
        if not first:
            first.extend((launcher._process.pid, launcher_of(launcher)))  # type: ignore[union-attr]
            for pid in {"keeper": first[:1], "launcher": first[1:], "both": first}[which]:
                os.kill(pid, signal.SIGKILL)

    out = bytearray()
    try:
        exit = launcher.run(sh("echo; sleep 0.2; echo on >&2; sleep 30 & exit 4"), stdout=sink, stderr=out.extend)
        assert (exit.code, exit.notes, out) == (4, ("background process was ended",), b"on\n")
        for number in range(3):
            assert Ran(launcher, sh(f"echo {number}")).out == b"%d\n" % number
        assert launcher._process.pid != first[0]  # type: ignore[union-attr]
        assert until(lambda: not any(alive(pid) for pid in first))
    finally:
        launcher.close()


@linux
def test_what_a_killed_supervisor_watched_is_ended(launcher: Launcher, tmp_path: Path) -> None:
    def sink(_: bytes) -> None:
        tool = written(tmp_path / "pid")
        os.kill(int(Path(f"/proc/{tool}/stat").read_text().rpartition(")")[2].split()[1]), signal.SIGKILL)

    script = 'setsid sh -c "sleep 30 & sleep 30" & echo "$A" > file; echo $$ > pid; echo; exec sleep 30'
    exit = launcher.run(sh(script, cwd=str(tmp_path), files={"A": b"x"}), stdout=sink, stderr=sink)

    assert exit == Exit(seconds=exit.seconds, error="the process that watched over this call was killed; call again")
    assert exit.seconds < FAR / 3
    assert until(lambda: not alive(written(tmp_path / "pid")))
    assert until(lambda: not Path((tmp_path / "file").read_text().strip()).parent.exists())


@linux
def test_what_was_left_by_three_killed_in_one_instant_is_ended_without_another_call(tmp_path: Path) -> None:
    launcher = Launcher(ENVIRON)

    def sink(_: bytes) -> None:
        for pid in (launcher._process.pid, launcher_of(launcher), written(tmp_path / "watcher")):  # type: ignore[union-attr]
            os.kill(pid, signal.SIGKILL)

    script = 'setsid sleep 30 & echo $! > other; (setsid sleep 30 & echo $! > third); echo "$A" > file; echo $PPID > watcher; echo $$ > tool; echo; exec sleep 30'
    try:
        exit = launcher.run(sh(script, cwd=str(tmp_path), files={"A": b"x"}), stdout=sink, stderr=sink)
        assert exit == Exit(seconds=exit.seconds, error="the process that watched over this call was killed; call again")
        assert exit.seconds < FAR / 3
        assert until(lambda: not any(alive(written(tmp_path / name)) for name in ("tool", "other", "third")))
        assert until(lambda: not Path((tmp_path / "file").read_text().strip()).parent.exists())
        assert Ran(launcher, sh("echo next")).out == b"next\n"
    finally:
        launcher.close()


@linux
def test_what_runs_goes_on_while_its_launcher_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 1.0)  # it is not waited for
    launcher = Launcher(ENVIRON)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(Ran, launcher, sh("echo $$ > tool; while [ ! -e go ]; do sleep 0.01; done; exit 5", cwd=str(tmp_path)))
        written(tmp_path / "tool")
        keeper = launcher._process.pid  # type: ignore[union-attr]
        os.kill(launcher_of(launcher), signal.SIGKILL)
        assert Ran(launcher, sh("echo next")).out == b"next\n"
        assert ([one.pid for one in launcher._former], alive(keeper)) == ([keeper], True)
        (tmp_path / "go").touch()
        assert running.result().exit.code == 5
    assert until(lambda: not alive(keeper))
    launcher.close()


@linux
def test_closing_ends_what_runs_below_a_launcher_that_was_replaced(tmp_path: Path) -> None:
    launcher = Launcher(ENVIRON)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(Ran, launcher, sh("trap '' INT TERM; echo $$ > tool; while :; do sleep 0.05; done", cwd=str(tmp_path)))
        tool = written(tmp_path / "tool")
        keeper = launcher._process.pid  # type: ignore[union-attr]
        os.kill(launcher_of(launcher), signal.SIGKILL)
        assert Ran(launcher, sh("echo next")).out == b"next\n"
        launcher.close()
        assert running.result().exit.signal == signal.SIGKILL
    assert not alive(tool)
    assert not alive(keeper)


@linux
def test_closing_ends_running_calls_and_the_launcher() -> None:
    launcher = Launcher(ENVIRON)
    started: list[bytes] = []
    request = sh("trap '' INT TERM; echo; while :; do sleep 0.05; done")
    with ThreadPoolExecutor(3) as pool:
        calls = [pool.submit(launcher.run, request, stdout=started.append, stderr=started.append) for _ in range(3)]
        assert until(lambda: len(started) == 3)
        pid = launcher._process.pid  # type: ignore[union-attr]
        launcher.close()
        assert [call.result().signal for call in calls] == [signal.SIGKILL] * 3
    assert not alive(pid)
    launcher.close()


@linux
@pytest.mark.parametrize("which", ["keeper", "launcher"])
def test_what_does_not_end_is_killed(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.2 if which == "keeper" else 1.0)
    launcher = Launcher(ENVIRON)
    Ran(launcher, command("true"))
    pids = [launcher._process.pid, launcher_of(launcher)]  # type: ignore[union-attr]
    os.kill(pids[which == "launcher"], signal.SIGSTOP)

    launcher.close()

    assert until(lambda: not any(alive(pid) for pid in pids))


def test_a_keeper_that_takes_no_hint_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.1)
    keeper = subprocess.Popen(["sh", "-c", "trap '' TERM; echo; while :; do sleep 0.05; done"], stdout=subprocess.PIPE)
    assert keeper.stdout is not None
    keeper.stdout.readline()

    module._wait(keeper)

    keeper.stdout.close()
    assert keeper.returncode == -signal.SIGKILL


def test_a_launcher_that_cannot_be_started_says_so() -> None:
    ran = Ran(Launcher(ENVIRON, python="/no/python"), command("true"))

    assert ran.exit.error == "no process can be started: No such file or directory (/no/python)"


def test_a_launcher_that_ends_at_once_says_so() -> None:
    launcher = Launcher(ENVIRON, python="/bin/false")

    errors = {Ran(launcher, sh("echo", environ={**ENVIRON, "A": "x" * 100_000})).exit.error for _ in range(5)}
    launcher.close()

    assert errors <= {"the launcher ended; call again", "the process that watched over this call was killed; call again"}


def test_a_launcher_that_ends_twice_in_a_row_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(self: Launcher) -> socket.socket:
        ours, theirs = socket.socketpair()
        theirs.close()
        opened.append(ours)
        return ours

    opened: list[socket.socket] = []
    monkeypatch.setattr(Launcher, "_start", start)

    assert Ran(Launcher(ENVIRON), command("true")).exit.error == "the launcher ended; call again"
    assert len(opened) == 2
    for one in opened:
        one.close()


def test_a_process_that_holds_the_pipes_open_delays_nothing(launcher: Launcher, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    real = os.pipe

    def pipe() -> tuple[int, int]:
        ours, theirs = real()
        held.append(os.dup(theirs))
        return ours, theirs

    monkeypatch.setattr(os, "pipe", pipe)
    ran = Ran(launcher, sh("echo hi; exit 3", result=True))
    for fd in held:
        os.close(fd)

    assert (ran.out, ran.exit.code, ran.exit.notes) == (b"hi\n", 3, ())


@linux
def test_memory_that_cannot_be_sealed_is_given_back(launcher: Launcher, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(fcntl, "fcntl", refuse)

    assert Ran(launcher, sh("echo hi")).exit.error == "no process can be started: Operation not permitted"


def test_a_report_may_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    call = supervised.Call(sh(":"), bytearray().extend, bytearray().extend, Stop())
    call.given[9] = call.source(b"nobody reads this")
    call.socket, theirs = descriptors.socketpair()
    call.poll.register(call.socket)
    call.started = call.running = True
    report = marshal.dumps({"status": 0, "stopped": None, "notes": ["a note"], "error": None}, 2)
    for piece in (b"\0" * 7, len(report).to_bytes(1, "big") + report[:5], report[5:]):
        assert call.running
        theirs.sendall(piece)
        call.receive()
    theirs.close()
    call.drain()
    call.close()

    assert not call.running
    assert (call.exit().code, call.exit().notes) == (0, ("a note",))


def test_without_a_pidfd_the_socket_tells_of_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    launcher = Launcher(ENVIRON)
    try:
        assert Ran(launcher, sh("echo hi")).out == b"hi\n"
    finally:
        launcher.close()


def test_a_default_timeout_of_sockets_changes_nothing() -> None:
    socket.setdefaulttimeout(0.05)
    launcher = Launcher(ENVIRON)
    try:
        assert Ran(launcher, sh("sleep 0.2; echo hi")).out == b"hi\n"
    finally:
        socket.setdefaulttimeout(None)
        launcher.close()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_starts_its_own_launcher(launcher: Launcher) -> None:
    ours = launcher._process.pid  # type: ignore[union-attr]
    pid = os.fork()
    if not pid:
        status = 1
        try:
            fine = Ran(launcher, sh("echo hi")).out == b"hi\n" and launcher._process.pid != ours  # type: ignore[union-attr]
            launcher.close()
            status = 0 if fine else 2
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0
    pid = os.fork()
    if not pid:
        status = 1
        try:
            launcher.close()
            launcher.close()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0

    assert Ran(launcher, sh("echo hi")).out == b"hi\n"
    assert launcher._process.pid == ours  # type: ignore[union-attr]


def test_forgetting_in_the_same_process_is_what_a_fork_would_do(launcher: Launcher) -> None:
    """The same as above, where coverage sees it."""
    other = Launcher(ENVIRON)
    Ran(other, command("true"))
    process, control = other._process, other._control
    assert process is not None
    assert control is not None
    copy = control.dup()
    other._owner = -1
    assert Ran(other, sh("echo hi")).out == b"hi\n"
    assert other._process is not process
    second = other._process
    assert second is not None
    other._owner = -1
    other.close()
    assert second.returncode == 0
    other._owner = -1
    other._former.append(second)
    other.close()
    assert (other._process, other._former) == (None, [])
    copy.shutdown(socket.SHUT_RDWR)
    copy.close()
    for one in (process, second):
        one.returncode = None
        one.wait(10)


KERNEL = """
import os, sys, threading, time
sys.path.insert(0, {repository!r})
from mcc_jupyter.core.command import Request
from mcc_jupyter.runtime.launcher import Launcher
launcher = Launcher({environ!r})
script = b"trap '' INT TERM HUP; setsid sleep 30 & echo $! > other; echo $A > file; echo $$ > tool; while :; do sleep 0.05; done"
def call():
    launcher.run(Request(("/bin/sh", "/dev/fd/9"), {environ!r}, {folder!r}, payload=script, files={{"A": b"x"}}), stdout=print, stderr=print)
threading.Thread(target=call, daemon=True).start()
while not os.path.exists({folder!r} + "/tool"): time.sleep(0.01)
with open({folder!r} + "/launcher", "w") as file: print(launcher._process.pid, file=file)
{then}
"""


@linux
@pytest.mark.parametrize(
    ("then", "number"),
    [
        pytest.param("time.sleep(30)", signal.SIGKILL, id="PROC-07 kill -9"),
        pytest.param("time.sleep(30)", signal.SIGTERM, id="PROC-07 terminate"),
        pytest.param("time.sleep(0.1)", None, id="PROC-07 shutdown"),
        pytest.param("os.execv('/bin/sleep', ['sleep', '0.2'])", None, id="PROC-07 restart in place"),
        pytest.param("os.fork() or time.sleep(4); time.sleep(30)", signal.SIGKILL, id="PROC-07 kill -9 with a forked copy"),
        pytest.param("os.kill(launcher._process.pid, 19); time.sleep(30)", signal.SIGKILL, id="PROC-07 kill -9 with a stopped launcher"),
    ],
)
def test_PROC_07_nothing_outlives_the_kernel(then: str, number: int | None, tmp_path: Path) -> None:
    source = KERNEL.format(repository=str(REPOSITORY), environ=ENVIRON, folder=str(tmp_path), then=then)
    kernel = subprocess.Popen([sys.executable, "-c", source], env=ENVIRON, start_new_session=True, stdout=subprocess.DEVNULL)
    try:
        pids = [written(tmp_path / name) for name in ("tool", "other", "launcher")]
        private = Path((tmp_path / "file").read_text().strip())
        if number is not None:
            kernel.send_signal(number)
        kernel.wait(FAR)
        watched = pids[:2] if "19" in then else pids
        assert until(lambda: not any(alive(pid) for pid in watched), 3), [alive(pid) for pid in watched]
        assert until(lambda: not private.parent.exists(), 3)
    finally:
        kernel.kill()
        kernel.wait()
        if "19" in then:
            os.kill(pids[2], signal.SIGKILL)


# Supervisors that wait


@linux
def test_a_supervisor_serves_the_next_call_of_its_tool_and_environment(launcher: Launcher) -> None:
    parents = []
    different: tuple[dict[str, object], ...] = ({}, {"stdin": b"in"}, {}, {"environ": {**ENVIRON, "A": "1"}}, {"tool": "other"}, {}, {"isolation": False}, {"isolation": False})
    for number, fields in enumerate(different):
        ran = Ran(launcher, sh(f"echo $PPID; cat; echo {number} >&2; ls /proc/self/fd", **{"tool": "one", **fields}))
        parent, _, rest = bytes(ran.out).partition(b"\n")
        parents.append(int(parent))
        assert (rest, ran.err) == (fields.get("stdin", b"") + b"0\n1\n2\n3\n", b"%d\n" % number)  # type: ignore[operator]

    assert parents[0] == parents[1] == parents[2] == parents[5]
    assert parents[6] == parents[7]
    assert len(set(parents)) == 4


@linux
def test_a_supervisor_that_was_killed_while_it_waited_is_passed_over(launcher: Launcher) -> None:
    parent = int(Ran(launcher, sh("echo $PPID", tool="killed")).out)
    os.kill(parent, signal.SIGKILL)
    assert until(lambda: not alive(parent))

    assert Ran(launcher, sh("echo hi", tool="killed")).out == b"hi\n"


@linux
def test_a_supervisor_that_waited_too_long_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LAUNCH", str(changed_launcher(tmp_path, {"supervise": ("\nIDLE = 60\n", "\nIDLE = 1\n")})))
    launcher = Launcher(ENVIRON)
    try:
        parents = [int(Ran(launcher, sh("echo $PPID", tool="seldom")).out) for _ in range(2)]
        assert parents[0] == parents[1]
        assert until(lambda: not alive(parents[0]))
        assert int(Ran(launcher, sh("echo $PPID", tool="seldom")).out) != parents[0]
    finally:
        launcher.close()


@linux
def test_only_few_supervisors_wait(launcher: Launcher) -> None:
    for number in range(8):
        assert Ran(launcher, sh("echo hi", tool=f"tool {number}")).out == b"hi\n"

    assert until(lambda: len(children(launcher_of(launcher))) <= module._IDLE + 1)


def test_a_late_order_is_not_taken_for_a_call(launcher: Launcher) -> None:
    """An answer that comes with the end of its process tells the supervisor so when it waits for the next call."""
    for number in range(5):
        assert Ran(launcher, sh("printf '%08x\\n{}' 2 >&8", tool="late", result=True)).exit.result == b"00000002\n{}", number


def test_a_supervisor_that_cannot_be_had_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = Launcher(ENVIRON)
    ours, theirs = descriptors.socketpair()
    launcher._control = ours
    theirs.sendall(b"x\0\0\x0b\0\0\0\0")

    assert Ran(launcher, command("true")).exit.error == "no process can be started: Resource temporarily unavailable"

    theirs.close()
    ours.close()


class Dead:
    """Gives sockets of supervisors that are gone."""

    def __init__(self, *, closed: bool) -> None:
        self.closed, self.taken = closed, 0

    def take(self, _: Request) -> socket.socket:
        ours, theirs = descriptors.socketpair()
        theirs.close()
        if self.closed:
            ours.close()
        self.taken += 1
        return ours

    def give_back(self, _: Request, taken: socket.socket) -> None:
        raise AssertionError

    def end(self, taken: socket.socket) -> None:
        raise AssertionError


@pytest.mark.parametrize(
    ("closed", "times", "error"),
    [(False, supervised._TRIES, "the launcher ended; call again"), (True, 1, "no process can be started: Bad file descriptor")],
)
def test_supervisors_that_are_gone_are_passed_over_a_few_times(closed: bool, times: int, error: str) -> None:
    supply = Dead(closed=closed)
    call = supervised.Call(sh(":"), bytearray().extend, bytearray().extend, Stop())
    call.advance(supply)
    call.close()

    assert (supply.taken, call.exit().error) == (times, error)


def test_a_frame_may_leave_in_two_parts() -> None:
    class Narrow:
        sent = b""

        def sendmsg(self, parts: list[bytes], *_: object) -> int:
            self.sent += parts[0][:3]
            return 3

        def sendall(self, rest: memoryview, _: int) -> None:
            self.sent += rest

    narrow = Narrow()
    descriptors.send(narrow, b"a whole frame", [])  # type: ignore[arg-type]

    assert narrow.sent == b"a whole frame"


def test_a_report_that_is_announced_or_never_comes() -> None:
    call = supervised.Call(sh(":"), bytearray().extend, bytearray().extend, Stop())
    call.socket, theirs = descriptors.socketpair()
    call.running = True
    theirs.sendall(bytes(8))
    call.receive()
    assert (call.running, call.expected, call.came) == (True, True, b"")
    call.poll.register(call.socket)
    number = call.socket.fileno()
    call.socket.sendall(b"an order that nobody reads")
    theirs.close()  # with something unread, which resets the connection
    call.receive()

    assert (call.running, call.report, call.socket.fileno()) == (False, None, number)
    call.socket.close()


def test_a_forked_process_asks_a_launcher_of_its_own_what_holds() -> None:
    launcher = Launcher(ENVIRON)
    launcher._owner = -1
    assert launcher.isolation.known
    launcher.close()


# A tool that stops its supervisor


STOPPERS = [
    pytest.param("kill -STOP $PPID", id="once"),
    pytest.param("(while :; do kill -STOP $PPID; done) 2>/dev/null & until grep -q '^State:.T' /proc/$PPID/status; do :; done", id="again and again"),
]


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has patience with a supervisor that cannot report anyway."""
    monkeypatch.setattr(supervised, "_SLACK", 0.3)


@linux
@pytest.mark.parametrize("stopper", STOPPERS)
@pytest.mark.parametrize("why", ["timeout", "interrupt"])
def test_a_tool_that_stops_its_supervisor_is_ended_all_the_same(stopper: str, why: str, tmp_path: Path, hasty: None) -> None:
    launcher = Launcher(ENVIRON)
    stop = Stop()

    def sink(_: bytes) -> None:
        if why == "interrupt":
            stop.interrupt()
            stop.interrupt()

    script = f'echo $$ > tool; echo $PPID > watcher; echo "$A" > file; sleep 96 & echo $! > other; {stopper}\necho; exec sleep 96'
    try:
        request = sh(script, cwd=str(tmp_path), files={"A": b"x"}, timeout=0.5 if why == "timeout" else None)
        exit = launcher.run(request, stdout=sink, stderr=sink, stop=stop)
        note = "the process that watched over this call did not answer and was killed, with everything it watched"

        assert exit == Exit(seconds=exit.seconds, stopped=why, notes=(note,))
        assert exit.seconds < FAR
        pids = [written(tmp_path / name) for name in ("tool", "watcher", "other")]
        assert until(lambda: not any(alive(pid) for pid in pids))
        assert until(lambda: not Path((tmp_path / "file").read_text().strip()).parent.exists())
        assert Ran(launcher, sh("echo next")).out == b"next\n"
    finally:
        launcher.close()


@linux
@pytest.mark.parametrize("stopper", STOPPERS)
@pytest.mark.parametrize("killed", ["kernel", "kernel and launcher", "nobody"])
def test_a_stopped_supervisor_does_not_outlive_the_kernel(stopper: str, killed: str, tmp_path: Path) -> None:
    then = "time.sleep(0.1)" if killed == "nobody" else "time.sleep(96)"
    script = f"sleep 96 & echo $! > other; echo $A > file; echo $PPID > watcher; {stopper}\necho $$ > tool; exec sleep 96"
    source = KERNEL.replace("trap '' INT TERM HUP; setsid sleep 30 & echo $! > other; echo $A > file; echo $$ > tool; while :; do sleep 0.05; done", script.replace("\n", "\\n"))
    source = source.format(repository=str(REPOSITORY), environ=ENVIRON, folder=str(tmp_path), then=then)
    kernel = subprocess.Popen([sys.executable, "-c", source], env=ENVIRON, start_new_session=True, stdout=subprocess.DEVNULL)
    try:
        pids = [written(tmp_path / name) for name in ("tool", "other", "watcher", "launcher")]
        private = Path((tmp_path / "file").read_text().strip())
        if "launcher" in killed:
            os.kill(children(pids[3])[0], signal.SIGKILL)
        if killed != "nobody":
            kernel.kill()
        kernel.wait(FAR)
        assert until(lambda: not any(alive(pid) for pid in pids), FAR), [alive(pid) for pid in pids]
        assert until(lambda: not private.parent.exists())
    finally:
        kernel.kill()
        kernel.wait()


@linux
@pytest.mark.parametrize("stopped", ["the launcher", "the keeper, too"])
def test_a_call_whose_launcher_is_stopped_too_is_given_up_and_the_next_one_has_another(
    stopped: str, tmp_path: Path, hasty: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervised, "_LOST_PATIENCE", 1.3)  # some looks at whether the launcher has done it
    launcher = Launcher(ENVIRON)
    assert launcher.isolation.known  # now a supervisor waits
    pids = [launcher_of(launcher), launcher._process.pid]  # type: ignore[union-attr]
    try:
        for pid in pids[: 1 + (stopped != "the launcher")]:
            os.kill(pid, signal.SIGSTOP)
        exit = Ran(launcher, sh("echo $$ > pid; kill -STOP $PPID; exec sleep 96", cwd=str(tmp_path), timeout=0.5)).exit
        note = "the process that watched over this call did not answer and could not be ended"
        # A stopped keeper may be ended by another's at any time; then the launcher goes on.
        assert exit == Exit(seconds=exit.seconds, stopped="timeout", notes=(note,)) or stopped != "the launcher"
        assert exit.stopped == "timeout"
        assert Ran(launcher, sh("echo hi")).out == b"hi\n"
        assert until(lambda: not alive(written(tmp_path / "pid")))
    finally:
        launcher.close()
    assert until(lambda: not any(alive(pid) for pid in pids))


@linux
def test_a_supervisor_that_its_tool_has_stopped_ends_it_also_where_the_keeper_was_killed(tmp_path: Path) -> None:
    launcher = Launcher(ENVIRON)
    assert launcher.isolation.known
    launcher._process.kill()  # type: ignore[union-attr]
    try:
        exit = Ran(launcher, sh("echo $$ > pid; kill -STOP $PPID; exec sleep 96", cwd=str(tmp_path), timeout=0.5)).exit
        assert exit.stopped == "timeout"
        assert until(lambda: not alive(written(tmp_path / "pid")))
    finally:
        launcher.close()


@linux
def test_a_launcher_that_does_not_answer_is_an_error() -> None:
    launcher = Launcher(ENVIRON)
    assert launcher.isolation.known
    pid = launcher_of(launcher)
    assert launcher._control is not None
    launcher._control.settimeout(0.2)
    try:
        os.kill(pid, signal.SIGSTOP)
        assert Ran(launcher, command("true", isolation=False)).exit.error == "no process can be started: the launcher does not answer"
    finally:
        os.kill(pid, signal.SIGCONT)
        launcher.close()


def test_what_holds_is_unknown_without_a_launcher() -> None:
    assert not Launcher(ENVIRON, python="/no/python").isolation.known


@linux
def test_what_a_sink_raises_ends_a_call_whose_supervisor_is_stopped(tmp_path: Path, hasty: None) -> None:
    def sink(_: bytes) -> None:
        raise ValueError("full")

    launcher = Launcher(ENVIRON)
    try:
        with pytest.raises(ValueError, match="full"):
            launcher.run(sh("echo $$ > pid; kill -STOP $PPID; echo; exec sleep 96", cwd=str(tmp_path)), stdout=sink, stderr=sink)
        assert until(lambda: not alive(written(tmp_path / "pid")))
    finally:
        launcher.close()


def test_only_what_this_process_has_started_is_ended(launcher: Launcher) -> None:
    ours, theirs = descriptors.socketpair()
    launcher.end(ours)
    Launcher(ENVIRON).end(ours)
    before = launcher._process
    launcher.replace(ours)
    Launcher(ENVIRON).replace(ours)
    assert launcher._process is before
    call = supervised.Call(sh(":"), bytearray().extend, bytearray().extend, Stop())
    call.end()
    ours.close()
    theirs.close()

    assert Ran(launcher, sh("echo hi")).out == b"hi\n"


def test_who_dribbles_characters_is_shown_them(launcher: Launcher) -> None:
    read, write = os.pipe()
    os.write(write, b"no end of a line")
    assert descriptors.rest_of_line(read) == b"no end of a line"
    os.write(write, b"rest")
    os.close(write)
    assert descriptors.rest_of_line(read) == b"rest"
    os.close(read)
