"""Files of tools and env files: what is read, in which order, and what is said of a file that cannot be used."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mcc_jupyter.core.dotenv import Dotenv, Unreadable, parse
from mcc_jupyter.core.errors import DeclarationError
from mcc_jupyter.core.tool import EnvFile
from mcc_jupyter.runtime import catalog
from mcc_jupyter.runtime.catalog import ENV_FILE_LIMIT, EnvFiles, notebook_file, tool_files

REPOSITORY = Path(__file__).resolve().parents[2]


def read(path: Path, written: str = "./a.env", files: EnvFiles | None = None) -> Dotenv | Unreadable:
    (found,) = (files or EnvFiles()).read([EnvFile(written, str(path))])
    return found


def values(found: Dotenv | Unreadable) -> dict[str, str]:
    assert isinstance(found, Dotenv)
    return {entry.name: "".join(str(atom) for atom in entry.atoms) for entry in found.entries}


# ---- env files


def test_env_files_are_read_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("A=1\n")
    (tmp_path / "b").write_text("B=2\n")
    found = EnvFiles().read([EnvFile("b", str(tmp_path / "b")), EnvFile("a", str(tmp_path / "a")), EnvFile("c", "/no")])
    assert found == (parse("B=2\n", path="b"), parse("A=1\n", path="a"), Unreadable("env_file not found: c"))
    assert EnvFiles().read([]) == ()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\xef\xbb\xbfA=1\n", {"A": "1"}),
        (b"A=1\r\nB='x'\r\n", {"A": "1", "B": "x"}),
        (b"A=1\rB=2\r", {"A": "1", "B": "2"}),
        (b"A='l1\r\nl2'\r\n", {"A": "l1\nl2"}),
        ("A=é€\n".encode(), {"A": "é€"}),
        (b"", {}),
    ],
    ids=["DOT-09 BOM", "DOT-08 Windows", "old Mac", "DOT-08 inside quotes", "UTF-8", "DOT-36 empty"],
)
def test_bytes_become_text(content: bytes, expected: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "a.env").write_bytes(content)
    assert values(read(tmp_path / "a.env")) == expected


def place(tmp_path: Path, what: str) -> Path:
    path = tmp_path / "a.env"
    match what:
        case "a directory":
            path.mkdir()
        case "a link to nowhere":
            path.symlink_to(tmp_path / "nowhere")
        case "a link to itself":
            path.symlink_to(path)
        case "a link to a directory":
            path.symlink_to(tmp_path)
        case "a file taken for a folder":
            (tmp_path / "file").write_text("")
            return tmp_path / "file" / "a.env"
        case "a name too long":
            return tmp_path / ("x" * 300)
        case "not UTF-8":
            path.write_bytes(b"TOKEN=SENTINEL\xe9\n")
        case "UTF-16":
            path.write_text("TOKEN=SENTINEL\n", encoding="utf-16")
        case "one byte too many":
            path.write_bytes(b"#" * (ENV_FILE_LIMIT + 1))
        case "a 5 MB value":
            path.write_bytes(b"TOKEN=" + b"x" * 5_000_000)
        case "endless":
            return Path("/dev/zero")
    return path


UNREADABLE = [
    ("nothing", "env_file not found: ./a.env", "DOT-34"),
    ("a directory", "env_file is a directory: ./a.env", "DOT-36"),
    ("a link to nowhere", "env_file is a broken link: ./a.env", "DOT-36"),
    ("a link to itself", "env_file is a broken link: ./a.env", "DOT-36"),
    ("a link to a directory", "env_file is a directory: ./a.env", "DOT-36"),
    ("a file taken for a folder", "env_file not found: ./a.env", "DOT-36"),
    ("a name too long", "env_file cannot be read (File name too long): ./a.env", "DOT-36"),
    ("not UTF-8", "env_file is not UTF-8: ./a.env", "LEAK-03"),
    ("UTF-16", "env_file is not UTF-8: ./a.env", "LEAK-03"),
    ("one byte too many", "env_file is larger than 1 MiB: ./a.env", "DOT-44"),
    ("a 5 MB value", "env_file is larger than 1 MiB: ./a.env", "DOT-44"),
    ("endless", "env_file is larger than 1 MiB: ./a.env", "DOT-44"),
]


@pytest.mark.parametrize(("what", "text"), [row[:2] for row in UNREADABLE], ids=[f"{row[2]} {row[0]}" for row in UNREADABLE])
def test_an_env_file_that_cannot_be_used_is_told_by_its_path_as_written(what: str, text: str, tmp_path: Path) -> None:
    found = read(place(tmp_path, what))
    assert found == Unreadable(text)
    assert str(tmp_path) not in repr(found)


def test_a_file_of_exactly_one_mebibyte_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.env").write_bytes(b"A=1\n#" + b"x" * (ENV_FILE_LIMIT - 5))
    assert values(read(tmp_path / "a.env")) == {"A": "1"}


def test_DOT_36_dev_null_is_empty_and_a_link_to_a_good_file_is_followed(tmp_path: Path) -> None:
    assert read(Path("/dev/null")) == Dotenv(())
    (tmp_path / "good").write_text("A=1\n")
    (tmp_path / "link").symlink_to(tmp_path / "good")
    assert values(read(tmp_path / "link")) == {"A": "1"}


UNPRIVILEGED = """
import os, sys
sys.path.insert(0, sys.argv[1])
from mcc_jupyter.runtime.catalog import EnvFiles, tool_files
from mcc_jupyter.core.errors import DeclarationError
from mcc_jupyter.core.tool import EnvFile
os.chdir("/")
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
folder = sys.argv[2]
for name in ("closed.env", "folder/a.env"):
    print(EnvFiles().read([EnvFile(name, os.path.join(folder, name))])[0].text)
for name in ("closed.yaml", "folder"):
    try:
        print([file.document() for file in tool_files(name, folder=folder, home=None)])
    except DeclarationError as error:
        print(error)
"""


def test_DOT_36_what_the_user_may_not_read_cannot_be_read(tmp_path: Path) -> None:
    world = tmp_path / "world"
    (world / "folder").mkdir(parents=True)
    for path in (world / "closed.env", world / "folder" / "a.env", world / "closed.yaml"):
        path.write_text("A: SENTINEL\n")
    (world / "closed.env").chmod(0)
    (world / "closed.yaml").chmod(0)
    (world / "folder").chmod(0)
    # The folders of pytest are closed to others; an open descriptor of the world is a way in for the child.
    opened = os.open(world, os.O_RDONLY | os.O_DIRECTORY)
    world.chmod(0o755)
    try:
        command = [sys.executable, "-c", UNPRIVILEGED, str(REPOSITORY), f"/proc/self/fd/{opened}"]
        done = subprocess.run(command, capture_output=True, text=True, pass_fds=[opened])
    finally:
        os.close(opened)
        (world / "folder").chmod(0o755)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "env_file cannot be read: closed.env",
        "env_file cannot be read: folder/a.env",
        "closed.yaml: file cannot be read",
        "folder: folder cannot be read",
    ]


def test_DOT_43_two_reads_within_the_same_second_see_two_contents(tmp_path: Path) -> None:
    path, files = tmp_path / "a.env", EnvFiles()
    for content in ("A=1\n", "A=2\n"):  # of the same length
        path.write_text(content)
        os.utime(path, (1, 1))
        assert values(read(path, files=files)) == {"A": content[2]}


def test_a_content_that_did_not_change_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []

    def counting(text: str, *, path: str) -> Dotenv | Unreadable:
        parsed.append(text)
        return parse(text, path=path)

    monkeypatch.setattr(catalog, "parse", counting)
    path, files = tmp_path / "a.env", EnvFiles()
    path.write_text("A=1\n")
    assert read(path, files=files) is read(path, files=files)
    assert parsed == ["A=1\n"]
    path.write_text("A=2\n")
    read(path, files=files)
    assert parsed == ["A=1\n", "A=2\n"]


def test_one_content_under_two_names_is_told_by_each(tmp_path: Path) -> None:
    path, files = tmp_path / "a.env", EnvFiles()
    path.write_text("K=-----BEGIN TEST KEY-----\nabc\n")
    assert read(path, "one.env", files) == Unreadable("env_file one.env, line 1: a multi-line value must be quoted")
    assert read(path, "two.env", files) == Unreadable("env_file two.env, line 1: a multi-line value must be quoted")


# ---- pipes


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "e.env"
    os.mkfifo(path)
    return path


@pytest.fixture
def writer(fifo: Path) -> Iterator[Callable[[str], threading.Thread]]:
    """``writer(text)`` writes the text into the pipe once, as soon as somebody reads."""
    threads = []

    def start(text: str) -> threading.Thread:
        thread = threading.Thread(target=fifo.write_text, args=(text,))
        thread.start()
        threads.append(thread)
        return thread

    yield start
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive(), "nobody read what was written"


def test_DOT_37_a_pipe_is_read_once_to_its_end(fifo: Path, writer: Callable[[str], threading.Thread]) -> None:
    writer("FIFO=yes\n" + "#" * 200_000 + "\nLAST=1\n")  # more than a pipe holds at once
    assert values(read(fifo)) == {"FIFO": "yes", "LAST": "1"}


def test_DOT_37_a_pipe_that_brings_too_much_is_no_different(fifo: Path) -> None:
    opened = threading.Event()

    def flood() -> None:
        with fifo.open("wb", buffering=0) as pipe:
            opened.set()
            try:
                while True:
                    pipe.write(b"#" * 65536)
            except BrokenPipeError:
                pass

    thread = threading.Thread(target=flood)
    thread.start()
    assert read(fifo) == Unreadable("env_file is larger than 1 MiB: ./a.env")
    thread.join(10)
    assert opened.is_set()
    assert not thread.is_alive()


def test_DOT_37_a_pipe_without_a_writer_is_waited_for_and_then_told(fifo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert catalog.PIPE_SECONDS == 10
    monkeypatch.setattr(catalog, "PIPE_SECONDS", 0.05)
    assert read(fifo) == Unreadable("env_file is a pipe and nobody writes to it: ./a.env")


def test_DOT_37_a_writer_that_stops_in_the_middle_is_not_waited_for_without_end(
    fifo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "PIPE_SECONDS", 0.2)
    held = os.open(fifo, os.O_RDWR)  # a writer that never closes
    try:
        os.write(held, b"FIFO=yes\n")
        assert read(fifo) == Unreadable("env_file is a pipe and nobody writes to it: ./a.env")
    finally:
        os.close(held)


def test_DOT_37_waiting_for_a_pipe_can_be_interrupted(fifo: Path) -> None:
    script = f"""
        import signal, threading, time
        from mcc_jupyter.runtime.catalog import EnvFiles
        from mcc_jupyter.core.tool import EnvFile
        main = threading.main_thread().ident
        threading.Timer(0.1, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
        try:
            EnvFiles().read([EnvFile("e", {str(fifo)!r})])
        except KeyboardInterrupt:
            print("interrupted")
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=8)
    assert (done.stdout, done.returncode) == ("interrupted\n", 0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# ---- tool files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """``tools/`` with three tool files and one that is none, ``[2024]/x.yaml`` and an empty folder."""
    for name in ("tools/b.yaml", "tools/a.yml", "tools/c.yaml", "tools/deep/d.yaml", "[2024]/x.yaml", "[2024]/y.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"name: {Path(name).stem}\n")
    (tmp_path / "tools" / "notes.txt").write_text("no tools")
    (tmp_path / "empty").mkdir()
    return tmp_path


def named(written: str, folder: Path, home: Path | None = None) -> dict[str, Path]:
    found = tool_files(written, folder=str(folder), home=None if home is None else str(home))
    assert list(dict.fromkeys(file.written for file in found)) == [file.written for file in found]
    return {file.written: Path(file.path) for file in found}


def test_a_path_is_one_file_shown_as_it_was_written(folder: Path) -> None:
    assert named("tools/b.yaml", folder) == {"tools/b.yaml": folder / "tools/b.yaml"}
    assert named("./tools/../tools/b.yaml", folder) == {"./tools/../tools/b.yaml": folder / "tools/b.yaml"}
    assert named(str(folder / "tools/b.yaml"), Path("/")) == {str(folder / "tools/b.yaml"): folder / "tools/b.yaml"}
    assert named("not/there.yaml", folder) == {"not/there.yaml": folder / "not/there.yaml"}


def test_a_folder_is_its_yaml_files_sorted(folder: Path) -> None:
    found = named("tools", folder)
    assert found == {f"tools/{name}": folder / "tools" / name for name in ("a.yml", "b.yaml", "c.yaml")}
    assert list(found) == ["tools/a.yml", "tools/b.yaml", "tools/c.yaml"]
    assert list(named("tools/", folder)) == ["tools/a.yml", "tools/b.yaml", "tools/c.yaml"]


def test_a_glob_is_what_it_matches_sorted(folder: Path) -> None:
    assert named("tools/*.yaml", folder) == {f"tools/{n}": folder / "tools" / n for n in ("b.yaml", "c.yaml")}
    assert list(named("tools/[ab].y*ml", folder)) == ["tools/a.yml", "tools/b.yaml"]
    assert list(named("**/*.yaml", folder)) == ["[2024]/x.yaml", "[2024]/y.yaml", "tools/b.yaml", "tools/c.yaml", "tools/deep/d.yaml"]
    pattern = str(folder / "tools/*.yaml")
    assert named(pattern, Path("/")) == {str(folder / "tools" / n): folder / "tools" / n for n in ("b.yaml", "c.yaml")}


def test_a_name_that_looks_like_a_pattern_and_exists_is_a_name(folder: Path) -> None:
    assert named("[2024]/x.yaml", folder) == {"[2024]/x.yaml": folder / "[2024]/x.yaml"}
    assert list(named("[2024]", folder)) == ["[2024]/x.yaml", "[2024]/y.yaml"]


def test_the_folder_that_a_path_begins_in_is_no_pattern(folder: Path) -> None:
    assert named("x.yaml", folder / "[2024]") == {"x.yaml": folder / "[2024]/x.yaml"}
    assert list(named("*.yaml", folder / "[2024]")) == ["x.yaml", "y.yaml"]
    assert named("gone.yaml", folder / "[2024]") == {"gone.yaml": folder / "[2024]/gone.yaml"}
    assert named("~/*.yaml", Path("/"), folder / "[2024]")["~/x.yaml"] == folder / "[2024]/x.yaml"


def test_a_tilde_is_the_home_and_is_shown_as_written(folder: Path) -> None:
    assert named("~/tools/b.yaml", Path("/"), folder) == {"~/tools/b.yaml": folder / "tools/b.yaml"}
    assert list(named("~/tools", Path("/"), folder)) == ["~/tools/a.yml", "~/tools/b.yaml", "~/tools/c.yaml"]
    assert named("~/tools/*.yml", Path("/"), folder) == {"~/tools/a.yml": folder / "tools/a.yml"}
    assert list(named("~", Path("/"), folder / "tools")) == ["~/a.yml", "~/b.yaml", "~/c.yaml"]
    assert named("~/tools/b.yaml", folder) == {"~/tools/b.yaml": folder / "~/tools/b.yaml"}
    assert named("~ana/b.yaml", folder, folder) == {"~ana/b.yaml": folder / "~ana/b.yaml"}


def problem(written: str, folder: Path) -> str:
    with pytest.raises(DeclarationError) as caught:
        [file.document() for file in tool_files(written, folder=str(folder), home=None)]
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return str(caught.value)


def test_what_a_path_cannot_be(folder: Path) -> None:
    assert problem("gone.yaml", folder) == "gone.yaml: file not found"
    assert problem("gone/*.yaml", folder) == "gone/*.yaml: no file matches"
    assert problem("empty", folder) == "empty: the folder holds no *.yaml or *.yml file"
    unsupported = "this version loads YAML files and policy files; MCP client files are not supported"
    assert problem(".mcp.json", folder) == f".mcp.json: {unsupported}"
    (folder / "empty" / "folder.yaml").mkdir()
    assert problem("empty", folder) == "empty/folder.yaml: file is a directory"
    (folder / "latin.yaml").write_bytes(b"description: SENTINEL\xe9\n")
    assert problem("latin.yaml", folder) == "latin.yaml: file is not UTF-8"
    (folder / "loop.yaml").symlink_to(folder / "loop.yaml")
    assert problem("loop.yaml", folder) == "loop.yaml: file is a broken link"


def test_a_folder_that_cannot_be_listed_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(path: str) -> list[str]:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(os, "listdir", closed)
    assert problem("tools", folder) == "tools: folder cannot be read"


def test_a_file_is_read_when_it_is_asked_for_so_that_one_stops_no_other(folder: Path) -> None:
    (folder / "tools" / "a.yml").write_text("name: [\n")
    bad, *good = tool_files("tools", folder=str(folder), home=None)
    assert [file.document() for file in good] == [{"name": "b"}, {"name": "c"}]
    with pytest.raises(DeclarationError):
        bad.document()


def test_a_yaml_error_has_the_file_as_written_and_the_line_and_no_text_of_it(folder: Path) -> None:
    (folder / "bad.yaml").write_text("name: x\nenv:\n  TOKEN: abc: SENTINEL\n")
    text = problem("bad.yaml", folder)
    assert text.startswith("bad.yaml: YAML line 3, column ")
    assert "SENTINEL" not in text
    assert "\n" not in text


def test_a_byte_order_mark_and_windows_lines_are_no_part_of_a_file(folder: Path) -> None:
    (folder / "bom.yaml").write_bytes(b"\xef\xbb\xbfname: x\r\nexec: |\r\n  a\r\n  b\r\n")
    (file,) = tool_files("bom.yaml", folder=str(folder), home=None)
    assert file.document() == {"name": "x", "exec": "a\nb\n"}


def test_a_notebook_is_json_or_told(tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    path.write_text('{"cells": []}')
    assert notebook_file(str(path)) == {"cells": []}
    for content, text in ((b"SENTINEL", "the file is no notebook: it is no JSON"), (b"\xff", "file is not UTF-8")):
        path.write_bytes(content)
        with pytest.raises(DeclarationError) as caught:
            notebook_file(str(path))
        assert str(caught.value) == f"{path}: {text}"
    path.unlink()
    with pytest.raises(DeclarationError) as caught:
        notebook_file(str(path))
    assert str(caught.value) == f"{path}: file not found"


def test_a_pipe_is_left_alone_where_nobody_calls(tmp_path: Path) -> None:
    pipe = tmp_path / "e.env"
    os.mkfifo(pipe)
    missing = EnvFile("gone.env", str(tmp_path / "gone.env"))

    read = EnvFiles().read((EnvFile("e.env", str(pipe)), missing), pipes=False)

    assert read == (Dotenv((), unread=True), Unreadable("env_file not found: gone.env"))
