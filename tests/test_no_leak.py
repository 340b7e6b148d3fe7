"""One marked value for each way a tool gets one, printed in every encoding, and every way by which a text leaves searched for them.

What is searched for is not the value but any piece of it, or of an encoding of it, that is longer than what may be visible
(SPEC 8.2). The values are made anew for each run, so no file can hold one by accident.
"""

from __future__ import annotations

import base64
import html
import http.server
import json
import os
import random
import re
import sqlite3
import string
import subprocess
import sys
import threading
import urllib.parse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import pytest
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

from tests.processes import environment

VISIBLE = 6
"""Characters of a secret that may be shown."""

NAMES = ("BY_PATTERN", "BY_GRANT", "IN_ENV", "IN_COMMAND", "IN_FILE", "IN_PARAM", "IN_HEADER", "IN_SECRET", "IN_ERROR", "IN_SESSION", "AT_IMPORT")

ENCODINGS = {
    "raw": lambda v: v,
    "base64": lambda v: base64.b64encode(v.encode()).decode(),
    "base64 of user:value": lambda v: base64.b64encode(f"user:{v}".encode()).decode()[len("dXNlcjp") :],
    "hex": lambda v: v.encode().hex(),
    "URL": lambda v: urllib.parse.quote(v, safe=""),
    "JSON": json.dumps,
    "Python": ascii,
    "HTML": html.escape,
    "UTF-16 base64": lambda v: base64.b64encode(v.encode("utf-16-le")).decode(),
}

PRINTER = """\
import base64, html, json, os, sampled, sys, urllib.parse
v = sys.stdin.read() if sys.argv[1:] == ["-"] else os.environ[sys.argv[1]]
texts = [v, base64.b64encode(v.encode()).decode(), base64.b64encode(f"user:{v}".encode()).decode(), v.encode().hex(),
         urllib.parse.quote(v, safe=""), json.dumps(v), ascii(v), html.escape(v), base64.b64encode(v.encode("utf-16-le")).decode()]
for text in texts:
    print(text)
if not os.path.exists("same-bytes"):  # which of two streams comes first is not certain
    print(" ".join(texts), file=sys.stderr)
print("command lines with a value:", sampled.command_lines(v))
"""

COMMAND_LINES = """\
import glob
def command_lines(value):
    found = 0
    for name in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            found += value.encode() in open(name, "rb").read()
        except OSError:
            pass
    return found
"""

FUNCTIONS = """\
import os

def fails(name: str):
    print(os.environ[name])
    raise ValueError(os.environ[name], os.environ[name].encode().hex())

def keeps(context):
    context["kept"] = {"value": [os.environ["IN_SESSION"]]}
    return {"answer": os.environ["IN_SESSION"], os.environ["IN_SESSION"]: [os.environ["IN_SESSION"].encode().hex()]}
"""

BROKEN = "import os\nprint(os.environ['AT_IMPORT'])\nraise RuntimeError('no ' + os.environ['AT_IMPORT'])\n"

TOOLS = """\
- {{name: by_pattern, exec: python {folder}/printer.py BY_PATTERN, env_passthrough: [BY_PATT*]}}
- {{name: by_grant, exec: python {folder}/printer.py BY_GRANT, required_env: [BY_GRANT]}}
- {{name: in_env, exec: python {folder}/printer.py OTHER, env: {{OTHER: 'a ${{IN_ENV}}'}}}}
- {{name: in_command, exec: 'printf %s "$IN_COMMAND" | python {folder}/printer.py -'}}
- {{name: in_file, exec: python {folder}/printer.py IN_FILE, env_file: '{folder}/some.env'}}
- name: in_param
  exec: 'printf %s {{{{ secret | quote }}}} | python {folder}/printer.py -'
  params: [{{name: secret, override: '${{IN_PARAM}}'}}]
- {{name: in_header, curl: '-sS -H "Authorization: Bearer ${{IN_HEADER}}" http://127.0.0.1:{port}/'}}
- {{name: in_secret, exec: 'python {folder}/printer.py - < "$THE_FILE"', secret_files: {{THE_FILE: '${{IN_SECRET}}'}}}}
- {{name: exits, exec: 'printf "%s\\n" "$IN_ERROR" >&2; exit 3'}}
- {{name: fails, fn: functions.fails, required_env: [IN_ERROR], env: {{PYTHONPATH: '{folder}'}}}}
- {{name: keeps, fn: functions.keeps, required_env: [IN_SESSION], env: {{PYTHONPATH: '{folder}'}}}}
- {{name: broken, fn: broken.f, required_env: [AT_IMPORT], env: {{PYTHONPATH: '{folder}'}}}}
"""

REPRS = """\
import gc, mcc_jupyter as mcc
from mcc_jupyter.runtime.current import toolbox_known
box = toolbox_known(get_ipython())
objects = [mcc.tools, mcc.session, box, *box.registry, *[box.report(t.key) for t in box.registry if t.name != 'broken'], outcome]
objects += [item for item in gc.get_objects() if str(type(item).__module__).startswith('mcc_jupyter.')]
with open('reprs', 'w') as file:
    for item in objects:
        print(repr(item), vars(item).keys() if hasattr(item, '__dict__') else '', file=file)
"""


def _value(seed: random.Random, length: int) -> str:
    """Characters that every encoder treats differently, among letters that occur nowhere else in this order."""
    letters = [seed.choice(string.ascii_letters), *(seed.choice(string.ascii_letters + string.digits) for _ in range(length - 1))]
    for at, character in enumerate("+/&'\"<%é$\\"):
        letters[8 + 2 * at] = character
    return "".join(letters)


def _pieces(text: str) -> set[str]:
    return {text[at : at + VISIBLE + 1] for at in range(len(text) - VISIBLE)}


@dataclass
class World:
    """The folder of one run, the values in it, and the texts that left."""

    folder: Path
    port: int
    values: dict[str, str]
    exits: dict[str, str] = field(default_factory=dict)

    @property
    def outside(self) -> dict[str, str]:
        return {**environment(self.folder), **{name: value for name, value in self.values.items() if name != "IN_FILE"}}

    def prepare(self) -> None:
        for name, text in (("printer.py", PRINTER), ("sampled.py", COMMAND_LINES), ("functions.py", FUNCTIONS), ("broken.py", BROKEN)):
            (self.folder / name).write_text(text)
        (self.folder / "tools.yaml").write_text(TOOLS.format(folder=self.folder, port=self.port))
        (self.folder / "some.env").write_text(f"IN_FILE='{self.values['IN_FILE']}'\n")

    def cells(self) -> list[str]:
        tools = TOOLS.format(folder=self.folder, port=self.port)
        calls = [f"%mcc_call {name}" for name in ("by_pattern", "by_grant", "in_env", "in_command", "in_file", "in_param", "in_header", "in_secret", "exits", "keeps")]
        return [
            "%load_ext mcc_jupyter\nimport logging\nlogging.basicConfig(level=logging.DEBUG, filename='debug.log')\nlogging.debug('begun')",
            "%%mcc_tool\n" + tools,
            *calls,
            "%mcc_call fails name=IN_ERROR",
            "%xmode Verbose",
            "%mcc_call fails name=IN_ERROR",
            "def f(name):\n    import mcc_jupyter as mcc\n    outcome = mcc.tools.keeps()\n    return mcc.tools.fails(name=name)\nf('IN_ERROR')",
            "%mcc_call by_grant -o outcome\noutcome",
            "%mcc_call broken",
            "%mcc_env",
            "%mcc_env keeps --all",
            "%mcc_session list",
            "%mcc_probe by_pattern",
            "%mcc_diff",
            REPRS,
        ]

    def leaks(self, text: str) -> dict[str, str]:
        """Where more of a value can be seen than may be: its name → the encoding and the piece's length, never the piece."""
        seen = _pieces(text)
        found = {}
        for name, value in self.values.items():
            for encoding, encode in ENCODINGS.items():
                if _pieces(encode(value)) & seen:
                    found[name] = encoding
        return found


class _Echo(http.server.BaseHTTPRequestHandler):
    """Answers with what it was sent, and says when a command line showed it."""

    in_command_lines = 0

    def do_GET(self) -> None:
        given = self.headers["Authorization"].removeprefix("Bearer ").encode("latin-1")
        for file in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                type(self).in_command_lines += given in file.read_bytes()
            except OSError:
                continue
        answer = b"got " + given + b" " + given.hex().encode() + b"\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


def _notebook(cells: list[str]) -> nbformat.NotebookNode:
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell, id=f"cell-{at}") for at, cell in enumerate(cells)])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return made


def _save(world: World, cells: list[str], path: Path) -> str:
    """Runs the cells as ``jupyter execute`` does, and saves them with their outputs."""
    made = _notebook(cells)
    client = NotebookClient(
        made, kernel_name="python3", timeout=60, allow_errors=True, record_timing=False, coalesce_streams=True, resources={"metadata": {"path": str(world.folder)}}
    )
    with (world.folder / "kernel.log").open("ab") as log, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client.execute(env=world.outside, stderr=log, stdout=log, cwd=str(world.folder))
    nbformat.write(made, path)
    return path.read_text(encoding="utf-8")


def _messages(world: World, cells: list[str]) -> str:
    """Everything a kernel sends while it runs the cells, on every channel."""
    manager = KernelManager(connection_file=str(world.folder / "kernel-2.json"))
    with (world.folder / "kernel.log").open("ab") as log:
        manager.start_kernel(env=world.outside, cwd=str(world.folder), stdout=log, stderr=log)
    client = manager.client()
    client.start_channels()
    found: list[object] = []
    try:
        client.wait_for_ready(timeout=30)
        for cell in cells:
            sent = client.execute(cell, allow_stdin=False)
            while True:
                message = client.get_iopub_msg(timeout=60)
                found.append(message["content"])
                if message["parent_header"].get("msg_id") == sent and message["content"].get("execution_state") == "idle":
                    break
            found.append(client.get_shell_msg(timeout=60)["content"])
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
    return json.dumps(found, ensure_ascii=False)


def _history(folder: Path) -> str:
    with sqlite3.connect(folder / "ipython" / "profile_default" / "history.sqlite") as database:
        tables = [row[0] for row in database.execute("select name from sqlite_master where type = 'table'")]
        rows = [row for table in tables for row in database.execute(f"select * from {table}")]
    database.close()
    return "\n".join(str(part) for row in rows for part in row)


def _command_line(world: World, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from mcc_jupyter.doors.cli import main; sys.exit(main())", *arguments],
        capture_output=True, text=True, env=world.outside, cwd=world.folder, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.stdout + done.stderr


def _world(folder: Path, port: int, lengths: int) -> World:
    seed = random.Random(os.urandom(16))
    values = {name: _value(seed, lengths) for name in NAMES}
    values["IN_FILE"] = values["IN_FILE"].replace("'", "_").replace("\\", "_")  # it stands between such marks there
    world = World(folder, port, values)
    world.prepare()
    return world


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, port: int) -> World:
    """Everything has been run once, and what left stands in ``exits``."""
    folder = tmp_path_factory.mktemp("leaks")
    world = _world(folder, port, 40)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))
        world.exits["notebook"] = _save(world, world.cells(), folder / "saved.ipynb")
        world.exits["messages"] = _messages(world, world.cells())
    world.exits["history"] = _history(folder)
    world.exits["logs"] = (folder / "debug.log").read_text()
    world.exits["stderr"] = (folder / "kernel.log").read_text()
    world.exits["reprs"] = (folder / "reprs").read_text()
    for format in ("text", "json", "html"):
        world.exits[f"report as {format}"] = _command_line(world, "report", "tools.yaml", "keeps", "--all", "--format", format)
    names = ("by_pattern", "in_env", "in_header", "keeps", "exits", "broken")
    world.exits["command line"] = "\n".join(_command_line(world, "call", "tools.yaml", name) for name in names)
    world.exits["command line"] += _command_line(world, "call", "tools.yaml", "fails", "name=IN_ERROR")
    return world


EXITS = ("notebook", "messages", "history", "logs", "stderr", "reprs", "report as text", "report as json", "report as html", "command line")


@pytest.mark.parametrize("exit", EXITS)
def test_LEAK_no_piece_of_a_value_leaves(world: World, exit: str) -> None:
    assert world.leaks(world.exits[exit]) == {}


def test_LEAK_no_piece_of_a_value_is_in_the_notebook_as_a_page(world: World) -> None:
    nbconvert = pytest.importorskip("nbconvert")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        page, _ = nbconvert.HTMLExporter().from_filename(str(world.folder / "saved.ipynb"))

    assert "[redacted:BY_GRANT]" in page
    assert world.leaks(page) == {}


def test_the_tools_ran_and_printed_what_was_searched_for(world: World) -> None:
    """Or the tests above would find nothing because there was nothing."""
    for exit in ("notebook", "messages"):
        text = world.exits[exit]
        marks = {name for name in NAMES if f"[redacted:{name}" in text}
        assert marks == {*NAMES} - {"IN_ENV", "IN_SECRET"}
        assert "[redacted:OTHER]" in text
        assert text.count("[redacted:THE_FILE]") >= len(ENCODINGS)
        assert text.count("[redacted:BY_GRANT]") >= 2 * len(ENCODINGS)
        assert "failed with exit code 3" in text
        assert "ValueError" in text
        assert "the tool's changes to the session were not stored" in text
    assert "%mcc_call by_grant" in world.exits["history"]
    assert "begun" in world.exits["logs"]
    assert "<report" in world.exits["reprs"] or "Report" in world.exits["reprs"]
    assert "[redacted:IN_SESSION]" in world.exits["command line"]
    assert "IN_SESSION" in world.exits["report as json"]


def test_LEAK_21_no_file_that_was_written_holds_a_piece_of_a_value(world: World) -> None:
    """Checkpoints, settings, connection files and whatever else there may be; all of it was run in one folder."""
    written = [path for path in world.folder.rglob("*") if path.is_file() and path.name != "some.env" and path.suffix != ".pyc"]
    assert {"saved.ipynb", "history.sqlite", "debug.log", "reprs"} <= {path.name for path in written}
    assert [path.name for path in written if world.leaks(path.read_bytes().decode("utf-8", "replace"))] == []


def test_LEAK_no_value_is_in_the_command_line_of_a_process(world: World) -> None:
    told = re.findall(r"command lines with a value: (\d+)", world.exits["notebook"])

    assert len(told) >= 6
    assert set(told) == {"0"}
    assert _Echo.in_command_lines == 0


def test_the_search_finds_a_piece_in_every_encoding(world: World) -> None:
    for name, value in world.values.items():
        for encoding, encode in ENCODINGS.items():
            text = encode(value)
            assert name in world.leaks(f"x{text[10 : 10 + VISIBLE + 1]}x"), encoding
            assert name not in world.leaks(f"{text[10 : 10 + VISIBLE]} {text[11 : 11 + VISIBLE]}"), encoding


def test_LEAK_other_values_of_other_lengths_give_the_same_bytes_on_disk(tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The values begin with a letter: of base64 one character shares two of its bits with what stands before a value."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    (tmp_path / "same-bytes").touch()
    saved = []
    for lengths in (40, 61):
        world = _world(tmp_path, port, lengths)
        saved.append(_save(world, world.cells()[:-1], tmp_path / "saved.ipynb"))

    assert saved[0] == saved[1]
    assert "[redacted:BY_GRANT]" in saved[0]
