"""What ``mcc-jupyter launch`` becomes, and what it refuses before anything is started (SPEC 8.5)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mcc_jupyter.core.errors import SecretError
from mcc_jupyter.core.values import VARIABLE_LIMIT
from mcc_jupyter.runtime import launching
from mcc_jupyter.runtime.launching import Start, become, default_templates, prepare

VALUE = "n0t-f0r-any-eyes-4711"
MakeStart = Callable[..., Start]


@pytest.fixture
def start(tmp_path: Path) -> MakeStart:
    """``start(template, …)``: what ``launch -- cmd`` becomes in a folder of its own, which *template* is written to."""

    def run(template: str | None = None, *, parent: dict[str, str] | None = None, **more: object) -> Start:
        given = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path), **(parent or {})}
        if template is not None:
            (tmp_path / "T").write_text(template)
            more.setdefault("env_files", ["T"])
        return prepare(["true", "-x"], parent=given, folder=str(tmp_path), **{"places": (), **more})  # type: ignore[arg-type]

    return run


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str, str], None]:
    """``program(name, script)``: a stand-in on PATH."""

    def make(name: str, script: str = "exit 0") -> None:
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / name).chmod(0o755)

    return make


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(SecretError) as caught:
        action()
    assert VALUE not in str(caught.value)
    assert caught.value.__cause__ is None
    return str(caught.value)


# ---- no template


def test_without_a_template_and_without_a_dotenv_file_nothing_is_added(start: MakeStart) -> None:
    made = start(parent={"A": "1"})
    assert (made.argv, made.notes) == (("true", "-x"), ())
    assert set(made.environ) == {"PATH", "HOME", "A"}


def test_a_root_dotenv_file_goes_under_the_environment(start: MakeStart, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=file-a\nB=${A}-b\nC=op://x/y\nbroken line\n")
    made = start(parent={"A": "mine"})
    assert {name: made.environ[name] for name in "ABC"} == {"A": "mine", "B": "file-a-b", "C": "op://x/y"}
    assert made.notes == (
        ".env: line 4 does not parse and is left out",
        ".env: C: nothing resolves a reference here; give it with --env-file",
    )


def test_a_dotenv_file_that_git_tracks_is_warned_of(start: MakeStart, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=1\n")
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, env=environ, check=True)
    assert start().notes == ()
    subprocess.run(["git", "add", ".env"], cwd=tmp_path, env=environ, check=True)
    assert start().notes == (
        "git tracks .env, so that its values go to whoever gets the repository; git rm --cached .env",
    )


def test_a_machine_without_git_has_nothing_to_warn_of(start: MakeStart, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=1\n")
    assert start(parent={"PATH": str(tmp_path)}).notes == ()


@pytest.mark.parametrize(("data", "why"), [(b"\xff", "env_file is not UTF-8: .env"), (None, "env_file is a directory: .env")])
def test_a_dotenv_file_that_cannot_be_read_starts_nothing(data, why, start: MakeStart, tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir() if data is None else (tmp_path / ".env").write_bytes(data)
    assert refusal(start) == why


def test_a_template_that_is_not_there_starts_as_if_there_were_none(start: MakeStart, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=1\n")
    made = start(env_files=["gone.env"])
    assert made.environ["A"] == "1"
    assert made.notes == ("there is no template gone.env; .env is loaded instead",)
    (tmp_path / ".env").unlink()
    assert start(env_files=["gone.env"]).notes == ("there is no template gone.env; starting without it",)


def test_beside_a_template_that_is_there_nothing_is_loaded_instead_of_another(start: MakeStart, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=1\n")
    (tmp_path / "here.env").write_text("B=2\n")
    made = start(env_files=["gone.env", "here.env"])
    assert made.notes == ("there is no template gone.env; starting without it",)
    assert ("A" in made.environ, made.environ["B"]) == (False, "2")


# ---- where a template is


@pytest.mark.parametrize(
    ("parent", "places"),
    [
        ({"HOME": "/h"}, ("/etc/mcc/launch.env", "/h/.config/mcc/launch.env")),
        ({"HOME": "/h", "XDG_CONFIG_HOME": "/c"}, ("/etc/mcc/launch.env", "/c/mcc/launch.env")),
        ({"XDG_CONFIG_HOME": "relative"}, ("/etc/mcc/launch.env",)),
    ],
)
def test_where_a_template_is_looked_for(parent: dict[str, str], places: tuple[str, ...]) -> None:
    assert default_templates(parent) == places


def test_the_first_that_is_found_counts_and_a_named_one_before_all(start: MakeStart, tmp_path: Path) -> None:
    for name in ("1", "2"):
        (tmp_path / name).write_text(f"A={name}\n")
    places = (str(tmp_path / "0"), str(tmp_path / "1"), str(tmp_path / "2"))
    assert start(places=places).environ["A"] == "1"
    assert start("A=named\n", places=places).environ["A"] == "named"
    assert start(places=None).argv == ("true", "-x")


# ---- what is built in


def test_a_template_goes_over_the_environment_and_over_the_templates_before_it(start: MakeStart, tmp_path: Path) -> None:
    (tmp_path / "U").write_text("B=${A}+\n")
    made = start("A=1\nB=2\n", env_files=["T", "U"], parent={"A": "old"})
    assert (made.environ["A"], made.environ["B"]) == ("1", "1+")


@pytest.mark.parametrize("locator", ["file:key.txt", "file:~/key.txt", "file://{}/key.txt", "file:{}/key.txt"])
def test_a_file_gives_its_text_without_the_line_end(locator: str, start: MakeStart, tmp_path: Path) -> None:
    (tmp_path / "key.txt").write_bytes(f"{VALUE}\r\n".encode())
    assert start(f"A={locator.format(tmp_path)}\n").environ["A"] == VALUE


BACKEND = """
from keyring.backend import KeyringBackend
class Keyring(KeyringBackend):
    priority = 1
    def get_password(self, service, user):
        if service == "locked":
            raise RuntimeError("n0t-f0r-any-eyes-4711")
        return {("a/b", "ana"): "n0t-f0r-any-eyes-4711"}.get((service, user))
    def set_password(self, *_): raise AssertionError("launch writes to no keyring")
"""


@pytest.fixture
def ring() -> Iterator[None]:
    """The real keyring with a back end that holds one entry."""
    import keyring

    names: dict[str, object] = {}
    exec(BACKEND, names)
    before = keyring.get_keyring()
    keyring.set_keyring(names["Keyring"]())  # type: ignore[operator]
    yield
    keyring.set_keyring(before)


@pytest.mark.usefixtures("ring")
def test_the_keyring_gives_an_entry(start: MakeStart) -> None:
    assert start("A=keyring:a/b/ana\n").environ["A"] == VALUE


@pytest.mark.usefixtures("ring")
@pytest.mark.parametrize(
    ("locator", "why"),
    [
        ("ana", "write the reference as keyring:SERVICE/USER"),
        ("a/b/eve", "the keyring has no such entry; store it with `keyring set SERVICE USER`"),
        ("locked/ana", "the keyring failed with RuntimeError; unlock or install one"),
    ],
)
def test_what_the_keyring_does_not_have(locator: str, why: str, start: MakeStart) -> None:
    assert refusal(lambda: start(f"A=keyring:{locator}\n")) == f"T: A: {why}"


def test_without_the_package_the_message_says_how_to_get_it(start: MakeStart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    why = "the package keyring is not installed; pip install mcc-jupyter[keyring]"
    assert refusal(lambda: start("A=keyring:a/b\n")) == f"T: A: {why}"


@pytest.mark.parametrize("reference", ["pass:web/linear", "pass://web/linear"])
def test_the_password_store_gives_the_first_line_of_an_entry(reference, start: MakeStart, program, tmp_path: Path) -> None:
    (tmp_path / ".password-store" / "web").mkdir(parents=True)
    (tmp_path / ".password-store" / "web" / "linear.gpg").write_text("")
    program("pass", f'test "$1 $2" = "show web/linear" && printf "{VALUE}\\nuser: ana\\n"')
    assert start(f"A={reference}\n", provider="pass").environ["A"] == VALUE


def test_what_the_password_store_does_not_give(start: MakeStart, program, tmp_path: Path) -> None:
    no_pass = {"PATH": str(tmp_path)}
    store = {"PASSWORD_STORE_DIR": str(tmp_path / "store")}
    (tmp_path / "store" / "folder").mkdir(parents=True)
    (tmp_path / "store" / "here.gpg").write_text("")
    assert refusal(lambda: start("A=pass:here\n", parent=no_pass)) == (
        "T: A: the program pass is not on PATH; install it (Debian: the package pass)"
    )
    program("pass", f"echo {VALUE} >&2; exit 3")
    assert refusal(lambda: start("A=pass:folder\n", parent=store)) == (
        "T: A: the password-store has no such entry; correct the reference"
    )
    assert refusal(lambda: start("A=pass:here\n", parent=store)) == (
        "T: A: pass failed with exit code 3; try `pass show` yourself"
    )


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (None, "the file it refers to is not there; correct the reference"),
        (b"\n", "the provider gave an empty value; store one"),
        (b"a\0b", "the value holds a NUL character, which no variable can"),
        (b"x" * VARIABLE_LIMIT, "the value is larger than a variable may be (131,071 bytes)"),
    ],
)
def test_a_value_that_cannot_be_had_starts_nothing_and_is_told_by_name(data, why, start: MakeStart, tmp_path: Path) -> None:
    if data is not None:
        (tmp_path / "key").write_bytes(data)
    assert refusal(lambda: start("A=file:key\n")) == f"T: A: {why}"


def test_a_file_that_may_not_be_read_is_told_by_name(start: MakeStart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text(VALUE)

    def no(path: object, *_: object) -> object:
        raise PermissionError(13, "no")

    monkeypatch.setattr("mcc_jupyter.runtime.providers.open", no, raising=False)
    assert refusal(lambda: start("A=file:key\n")) == "T: A: the file it refers to cannot be read (Permission denied)"


# ---- wrappers


def test_a_wrapper_gets_the_template_and_nothing_of_it_is_read_into_the_environment(start: MakeStart, program, tmp_path: Path) -> None:
    program("pass-cli")
    made = start("A=pass://x/y\nB=literal\n")
    assert made.argv == ("pass-cli", "run", "--env-file", str(tmp_path / "T"), "--", "true", "-x")
    assert not {"A", "B"} & set(made.environ)


@pytest.mark.parametrize(
    ("template", "provider", "why"),
    [
        ("A=op://x\nB=op://y\n", None, "T: A, B needs op, which is not on PATH; install it, or name another provider with --provider"),
        ("A=1\n", "gone-cli", "T: it needs gone-cli, which is not on PATH; install it, or name another provider with --provider"),
        ("A=1\n", "'", "--provider: expected keyring, file, pass, or the command of a wrapper such as pass-cli"),
        ("A=1\n", " ", "--provider: expected keyring, file, pass, or the command of a wrapper such as pass-cli"),
    ],
)
def test_a_template_without_a_provider_starts_nothing(template, provider, why, start: MakeStart) -> None:
    assert refusal(lambda: start(template, provider=provider)) == why


def test_a_pipe_is_no_template_for_a_wrapper(start: MakeStart, program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program("op")
    os.mkfifo(tmp_path / "pipe")
    writer = subprocess.Popen(["sh", "-c", 'echo A=op://x > "$0"', str(tmp_path / "pipe")], env={"PATH": "/usr/bin:/bin"})
    try:
        why = "pipe: a pipe can be read once, and op has to read it; give a file"
        assert refusal(lambda: start(env_files=["pipe"])) == why
    finally:
        writer.wait()


def test_a_command_that_is_not_there_is_known_before_a_wrapper_asks_for_a_password(start: MakeStart, program, tmp_path: Path) -> None:
    program("op")
    (tmp_path / "T").write_text("A=op://x\n")
    parent = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    with pytest.raises(FileNotFoundError):
        prepare(["gone"], parent=parent, folder=str(tmp_path), env_files=["T"])


# ---- becoming it


def test_what_python_ignores_is_not_ignored_by_what_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    became: list[object] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGPIPE, signal.SIGXFSZ)}

    def exec_(*arguments: object) -> None:
        became.append((arguments, [signal.getsignal(number) for number in before]))

    monkeypatch.setattr(launching.os, "execvpe", exec_)
    try:
        become(Start(("a", "b"), {"X": VALUE}))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert became == [(("a", ("a", "b"), {"X": VALUE}), [signal.SIG_DFL, signal.SIG_DFL])]
    assert VALUE not in repr(Start(("a",), {"X": VALUE}))


def test_the_variable_that_python_gives_itself_is_not_handed_on(start: MakeStart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launching, "initial_environment", lambda fallback: {})
    assert set(start(parent={"LC_CTYPE": "C.UTF-8", "": "x"}).environ) == {"PATH", "HOME"}


# ---- what cannot be started


def test_a_pass_that_cannot_be_started_is_told_with_the_variable(start: MakeStart, program: Callable[[str, str], None], tmp_path: Path) -> None:
    program("pass")
    (tmp_path / "bin" / "pass").write_text("#!/no/such\n")
    (tmp_path / ".password-store").mkdir()
    (tmp_path / ".password-store" / "k.gpg").touch()
    told = f"T: KEY: the program pass cannot be started (No such file or directory); correct {tmp_path}/bin/pass"
    assert refusal(lambda: start("KEY=pass:k\n")) == told


def test_the_largest_of_what_is_started_is_named_and_not_shown() -> None:
    assert launching.largest(Start(("a", "b"), {"A": VALUE, "B": VALUE * 2})) == "variable B"
    assert launching.largest(Start(("a", "b" * 99), {"A": VALUE})) == "command itself, with its arguments,"
