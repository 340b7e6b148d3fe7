"""``mcc-jupyter launch`` as a terminal sees it: what is started, how it ends, and where its values are not (SPEC 8.5)."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..processes import alive, until, written

MARK = "n0t-f0r-any-eyes-4711"
LAUNCH = [sys.executable, "-m", "mcc_jupyter", "launch"]

STUB = """\
#!{python}
# A wrapper in the form of `op run` and `pass-cli run`: resolves what it knows, then becomes the command.
import os, sys
assert sys.argv[1:3] == ["run", "--env-file"] and sys.argv[4] == "--", sys.argv
open("wrapper-argv", "w").write("\\n".join(sys.argv))
for line in open(sys.argv[3]):
    name, _, value = line.strip().partition("=")
    if value == "pass://Vault/gone":
        sys.exit("pass-cli: no such item")
    os.environ[name] = "{mark}" if value.startswith("pass://") else value
os.execvp(sys.argv[5], sys.argv[5:])
"""


class Terminal:
    """Launches in a folder of its own, with a ``bin`` for stand-ins."""

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        (folder / "tmp").mkdir()
        self.environment = {**environment, "TMPDIR": str(folder / "tmp"), "PATH": f"{folder / 'bin'}:{environment['PATH']}"}

    def wrapper(self) -> None:
        (self.folder / "bin" / "pass-cli").write_text(STUB.format(python=sys.executable, mark=MARK))
        (self.folder / "bin" / "pass-cli").chmod(0o755)

    def write(self, text: str, name: str = "T") -> None:
        (self.folder / name).write_text(text)

    def start(self, *arguments: str, **more: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*LAUNCH, *arguments], env=self.environment, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more
        )  # type: ignore[call-overload, no-any-return]

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=60)
        assert "Traceback" not in err
        assert MARK not in err
        return process.returncode, out, err


@pytest.fixture
def launch(outside: dict[str, str], tmp_path: Path) -> Terminal:
    return Terminal(outside, tmp_path)


SEES = 'test "$KEY" = ' + MARK + " && echo it has it"


def test_without_a_template_a_command_starts_as_it_would_alone(launch: Terminal) -> None:
    alone = subprocess.run(["env"], env=launch.environment, text=True, stdout=subprocess.PIPE, check=True).stdout
    status, out, err = launch("--", "env")
    assert (status, sorted(out.splitlines()), err) == (0, sorted(alone.splitlines()), "")


def test_python_adds_no_variable_of_its_own(launch: Terminal) -> None:
    launch.environment = {"PATH": launch.environment["PATH"], "PYTHONPATH": launch.environment["PYTHONPATH"]}
    _, out, _ = launch("--", "env")
    assert {line.partition("=")[0] for line in out.splitlines()} == {"PATH", "PYTHONPATH"}


def test_a_dotenv_file_is_loaded_and_what_there_is_already_wins(launch: Terminal) -> None:
    launch.write(f"KEY={MARK}\nLANG=xx\n", ".env")
    assert launch("--", "sh", "-c", f"{SEES}; echo $LANG") == (0, "it has it\nC.UTF-8\n", "")


def test_the_users_own_template_is_found(launch: Terminal) -> None:
    (launch.folder / ".config" / "mcc").mkdir(parents=True)
    launch.write(MARK, ".config/mcc/key")
    launch.write("KEY=file:key\n", ".config/mcc/launch.env")
    assert launch("--", "sh", "-c", SEES) == (0, "it has it\n", "")


def test_a_wrapper_resolves_and_starts_the_command_with_its_arguments_as_they_are(launch: Terminal) -> None:
    launch.wrapper()
    launch.write("KEY=pass://Vault/item/field\n")
    status, out, err = launch("--env-file", "T", "--", "sh", "-c", f'{SEES}; printf "<%s>" "$@"', "x", "--", "a b", "")
    assert (status, out, err) == (0, "it has it\n<--><a b><>", "")
    argv = (launch.folder / "wrapper-argv").read_text().split("\n")
    assert argv[1:6] == ["run", "--env-file", str(launch.folder / "T"), "--", "sh"]


def test_a_reference_that_the_wrapper_does_not_have_starts_nothing(launch: Terminal) -> None:
    launch.wrapper()
    launch.write("KEY=pass://Vault/gone\n")
    assert launch("--env-file", "T", "--", "touch", "started") == (1, "", "pass-cli: no such item\n")
    assert not (launch.folder / "started").exists()


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("KEY=pass://Vault/x\n", "T: KEY needs pass-cli, which is not on PATH; install it, or name another provider with --provider"),
        ("KEY=vault:x\n", "T: KEY: no provider resolves this reference; name one with --provider"),
        ("KEY=file:gone\n", "T: KEY: the file it refers to is not there; correct the reference"),
    ],
)
def test_a_template_that_cannot_be_resolved_is_one_line_and_starts_nothing(template: str, message: str, launch: Terminal) -> None:
    launch.write(template)
    assert launch("--env-file", "T", "--", "touch", "started") == (1, "", f"mcc-jupyter launch: {message}\n")
    assert not (launch.folder / "started").exists()


@pytest.mark.parametrize(
    ("command", "status", "message"),
    [("no-such-program", 127, "command not found: no-such-program"), ("./T", 126, "cannot start ./T: Permission denied")],
)
def test_a_command_that_cannot_be_started_ends_as_in_a_shell(command: str, status: int, message: str, launch: Terminal) -> None:
    launch.write("A=1\n")
    assert launch("--", command) == (status, "", f"mcc-jupyter launch: {message}\n")


@pytest.mark.parametrize("arguments", [(), ("--",), ("--env-file", "T"), ("jupyter", "lab")])
def test_without_a_command_it_says_how_to_write_one(arguments: tuple[str, ...], launch: Terminal) -> None:
    status, out, err = launch(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("usage: mcc-jupyter launch")


def test_notes_go_to_stderr_by_name(launch: Terminal) -> None:
    launch.write("KEY=op://a/b\n", ".env")
    note = "mcc-jupyter launch: .env: KEY: nothing resolves a reference here; give it with --env-file\n"
    assert launch("--", "true") == (0, "", note)


# ---- how it ends


@pytest.mark.parametrize("wrapped", [False, True])
def test_the_exit_status_is_the_commands_own(wrapped: bool, launch: Terminal) -> None:
    launch.wrapper()
    launch.write("KEY=pass://Vault/x\n" if wrapped else "KEY=1\n")
    assert launch("--env-file", "T", "--", "sh", "-c", "exit 37")[0] == 37


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_signals_reach_the_command_itself_and_a_shell_sees_how_it_ended(number: signal.Signals, launch: Terminal) -> None:
    process = launch.start("--", "sh", "-c", "echo $$; exec sleep 60")
    assert process.stdout is not None
    assert int(process.stdout.readline()) == process.pid
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == -number
    shell = f'"$@" & pid=$!; read x < fifo; kill -{int(number)} $pid; wait $pid; exit $?'
    os.mkfifo(launch.folder / "fifo")
    # SIGINT is ignored by what a shell starts in the background.
    if number is not signal.SIGINT:
        command = ["sh", "-c", shell, "sh", *LAUNCH, "--", "sh", "-c", "echo > fifo; exec sleep 60"]
        done = subprocess.run(command, env=launch.environment, cwd=launch.folder, stderr=subprocess.PIPE, timeout=60, check=False)
        assert done.returncode == 128 + number


def test_a_reader_that_goes_away_ends_the_command_quietly(launch: Terminal) -> None:
    script = '"$@" | head -1'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *LAUNCH, "--", "sh", "-c", "yes; echo $? >&2"],
        env=launch.environment, cwd=launch.folder, capture_output=True, text=True, timeout=60, check=False,
    )
    assert (done.stdout, done.stderr) == ("y\n", f"{128 + signal.SIGPIPE}\n")


def test_the_command_has_the_terminal_with_ctrl_c_and_its_size(launch: Terminal) -> None:
    import pexpect

    script = "trap 'stty size; exit 7' INT; echo ready; while :; do sleep 0.05; done"
    child = pexpect.spawn(LAUNCH[0], [*LAUNCH[1:], "--", "sh", "-c", script], env=launch.environment, cwd=str(launch.folder), timeout=60)
    child.expect("ready")
    child.setwinsize(33, 77)
    child.sendintr()
    child.expect("33 77")
    child.expect(pexpect.EOF)
    child.close()
    assert (child.exitstatus, child.signalstatus) == (7, None)


# ---- where its values are not


def every_argv() -> Iterator[tuple[int, bytes]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                yield int(folder.name), (folder / "cmdline").read_bytes()
            except OSError:
                continue


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("wrapped", [False, True])
def test_no_file_and_no_argument_list_holds_a_value_while_it_runs_and_afterwards(wrapped: bool, launch: Terminal) -> None:
    if wrapped:
        launch.wrapper()
        (launch.folder / "bin" / "pass-cli").write_text(STUB.format(python=sys.executable, mark='" + "-".join("n0t f0r any eyes 4711".split()) + "'))
        launch.write("KEY=pass://Vault/x\n")
    # The stored secret itself stands outside of the folders that are searched.
    children: list[str] = []
    with tempfile.TemporaryDirectory() as elsewhere:
        Path(elsewhere, "key").write_text(MARK)
        if not wrapped:
            launch.write(f"KEY=file:{elsewhere}/key\n")
        process = launch.start("--env-file", "T", "--", "sh", "-c", "echo ${#KEY}; sleep 60", start_new_session=True)
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == f"{len(MARK)}\n"
            assert [pid for pid, argv in every_argv() if MARK.encode() in argv] == []
            assert holding(launch.folder) == []
            # No process of ours stays beside the command: its only child is its own.
            listing = Path(f"/proc/{process.pid}/task/{process.pid}/children")
            assert until(lambda: [Path(f"/proc/{pid}/comm").read_text() for pid in listing.read_text().split()] == ["sleep\n"])
            children = listing.read_text().split()
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
        assert until(lambda: not any(alive(int(pid)) for pid in children))
        assert MARK not in out + err
        assert holding(launch.folder) == []
        assert list((launch.folder / "tmp").iterdir()) == []


def holding(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and MARK.encode() in path.read_bytes()]


# ---- the real password-store


@pytest.fixture
def store(launch: Terminal) -> Iterator[Callable[[str, str], None]]:
    """Stores entries in a new password-store with a new key; both are gone afterwards."""
    if shutil.which("pass") is None or shutil.which("gpg") is None:
        pytest.skip("needs pass and gpg: apt-get install pass")
    home = tempfile.mkdtemp(dir="/tmp", prefix="gpg-")  # the agent's socket may not have a long path
    launch.environment |= {"GNUPGHOME": home, "PASSWORD_STORE_DIR": str(launch.folder / "store")}

    def run(*command: str, given: str = "") -> None:
        subprocess.run(command, env=launch.environment, input=given, text=True, capture_output=True, check=True)

    run("gpg", "--batch", "--passphrase", "", "--quick-generate-key", "ana@h.test", "rsa2048", "encr", "never")
    run("pass", "init", "ana@h.test")
    yield lambda name, text: run("pass", "insert", "--multiline", name, given=text)
    run("gpgconf", "--kill", "all")
    shutil.rmtree(home, ignore_errors=True)


def test_the_real_password_store_gives_the_first_line_of_an_entry(launch: Terminal, store: Callable[[str, str], None]) -> None:
    store("web/linear key", f"{MARK}\nuser: ana\n")
    launch.write("KEY=pass:web/linear key\n")
    assert launch("--env-file", "T", "--", "sh", "-c", SEES) == (0, "it has it\n", "")
    launch.write("KEY='pass://web/linear key'\n")
    assert launch("--env-file", "T", "--provider", "pass", "--", "sh", "-c", SEES) == (0, "it has it\n", "")
    assert holding(launch.folder) == []


def test_the_real_password_store_without_its_key_starts_nothing(launch: Terminal, store: Callable[[str, str], None]) -> None:
    store("here", MARK)
    launch.write("KEY=pass:here\n")
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="gpg-") as other:
        launch.environment["GNUPGHOME"], ours = other, launch.environment["GNUPGHOME"]
        status, out, err = launch("--env-file", "T", "--", "touch", "started")
        subprocess.run(["gpgconf", "--kill", "all"], env=launch.environment, check=False)
        launch.environment["GNUPGHOME"] = ours
    assert (status, out) == (1, "")
    assert err.startswith("mcc-jupyter launch: T: KEY: pass failed with exit code ")
    launch.write("KEY=pass:gone\n")
    message = "mcc-jupyter launch: T: KEY: the password-store has no such entry; correct the reference\n"
    assert launch("--env-file", "T", "--", "touch", "started") == (1, "", message)
    assert not (launch.folder / "started").exists()


@pytest.mark.parametrize("words", [("sh", "-c", "echo hi"), ("--env-file", "T", "jupyter", "lab", "--port=1"), ("--env-file=T", "sh"), ("--provider", "op"), ()])
def test_a_command_that_does_not_stand_behind_two_dashes_is_told_so(launch: Terminal, words: tuple[str, ...]) -> None:
    status, out, err = launch(*words)
    assert (status, out) == (2, "")
    assert err.endswith("\nmcc-jupyter launch: error: write what to start behind --, such as: mcc-jupyter launch -- jupyter lab\n")


# ---- what is not started


@pytest.mark.parametrize(("text", "why"), [("garbage", "Exec format error"), ("#!/no/such", "No such file or directory")])
def test_a_pass_that_cannot_be_started_is_told_with_the_variable(launch: Terminal, text: str, why: str) -> None:
    program = launch.folder / "bin" / "pass"
    program.write_text(text + "\n")
    program.chmod(0o755)
    store = launch.folder / ".password-store"
    store.mkdir()
    (store / "k.gpg").touch()
    launch.write("KEY=pass:k\n")
    message = f"mcc-jupyter launch: T: KEY: the program pass cannot be started ({why}); correct {program}\n"
    assert launch("--env-file", "T", "--", "touch", "started") == (1, "", message)


def test_too_large_an_environment_is_told_with_what_is_the_largest_in_it(launch: Terminal) -> None:
    launch.write("".join(f"V{at}={'x' * (30_000 + at)}\n" for at in range(10)), ".env")

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))

    process = launch.start("--", "true", preexec_fn=small)
    message = "mcc-jupyter launch: cannot start true: Argument list too long; the variable V9 takes most of the room\n"
    assert process.communicate(timeout=60) == ("", message)
    assert process.returncode == 126
    process = launch.start("--", "true", *["y" * 100_000] * 2, preexec_fn=small)
    assert "; the command itself, with its arguments, takes most of the room" in process.communicate(timeout=60)[1]


def test_a_command_without_a_name_is_none(launch: Terminal) -> None:
    status, out, err = launch("--", "")
    assert (status, out) == (2, "")
    assert err.endswith("mcc-jupyter launch: error: write what to start behind --, such as: mcc-jupyter launch -- jupyter lab\n")


def test_a_note_is_no_output_where_there_is_no_stderr(launch: Terminal) -> None:
    process = launch.start("--env-file", "gone", "--", "echo", "hi", preexec_fn=lambda: [os.close(fd) for fd in (0, 2)])
    assert process.communicate(timeout=60)[0] == "hi\n"
    assert process.returncode == 0


def test_a_pass_that_is_waited_for_ends_with_launch(launch: Terminal) -> None:
    program = launch.folder / "bin" / "pass"
    program.write_text("#!/bin/sh\nsleep 60 & echo $! > below.new; mv below.new below; wait\n")
    program.chmod(0o755)
    store = launch.folder / ".password-store"
    store.mkdir()
    (store / "k.gpg").touch()
    launch.write("KEY=pass:k\n")
    process = launch.start("--env-file", "T", "--", "touch", "started")
    below = written(launch.folder / "below")
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM
    assert until(lambda: not alive(below))
    assert not (launch.folder / "started").exists()
