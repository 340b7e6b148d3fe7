"""Saves through a real Jupyter server: what is told, redacted and refused, by every way a notebook gets on the disk."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError
from tornado.web import HTTPError

from mcc_jupyter.doors.jupyter_server import save_guard, uploads
from mcc_jupyter.doors.jupyter_server.kernel_answer import KernelAnswer
from mcc_jupyter.doors.jupyter_server.looked import Looked
from mcc_jupyter.doors.jupyter_server.save_guard import SaveGuard
from tests.core.test_scan import GITHUB, VALUE, code, display, markdown, stream

pytestmark = pytest.mark.filterwarnings("ignore:The synchronous ContentsManager classes are deprecated:DeprecationWarning")

PARENT = {"API_TOKEN": VALUE, "HOME": "/home/ana-and-others", "WORK_ROOT": "/home/ana-and-others", "AWS_REGION": "eu-north-1"}
MARK = "[redacted:API_TOKEN]"
KERNELS = "of-a-kernel-alone"

SYNC = "jupyter_server.services.contents.largefilemanager.LargeFileManager"


@pytest.fixture(params=["async", "sync"])
def manager(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def jp_server_config(manager: str) -> dict[str, Any]:
    of_manager = {"contents_manager_class": SYNC} if manager == "sync" else {}
    return {"ServerApp": {"jpserver_extensions": {"jupyter_server_terminals": False}, **of_manager}}


class Server:
    """A server with the guard, and its REST interface."""

    def __init__(self, app: Any, fetch: Any, root: Path) -> None:
        self.app, self._fetch, self.root = app, fetch, root
        self.contents = app.contents_manager
        self.events: list[Looked] = []
        self.guard: SaveGuard

    def install(self, mode: Any = "warn", **more: Any) -> SaveGuard:
        given = {"parent": PARENT, "log": self.app.log, "mode": mode, "emit": self.events.append, **more}
        self.guard = save_guard.install(self.contents, **given)
        return self.guard

    async def rest(self, method: str, path: str, body: object = None, *, at: str = "") -> Any:
        sent = {"body": json.dumps(body)} if method != "GET" else {}
        answer = await self._fetch("api", "contents", *path.split("/"), *at.split("/"), method=method, allow_nonstandard_methods=True, **sent)
        return json.loads(answer.body or "null")

    async def put(self, notebook: object, path: str = "x.ipynb", **model: object) -> Any:
        return await self.rest("PUT", path, {"type": "notebook", "format": "json", "content": notebook, **model})

    async def upload(self, data: bytes, path: str = "x.ipynb", *, pieces: int = 3, format: str = "base64") -> list[Any]:
        size = -(-len(data) // pieces)
        answers = []
        for number in range(pieces):
            piece = data[number * size : (number + 1) * size]
            content = base64.b64encode(piece).decode() if format == "base64" else piece.decode()
            chunk = number + 1 if number + 1 < pieces else -1
            answers.append(await self.rest("PUT", path, {"type": "file", "format": format, "content": content, "chunk": chunk}))
        return answers

    def on_disk(self, path: str = "x.ipynb") -> Any:
        return json.loads((self.root / path).read_text())

    def texts(self) -> str:
        """Everything below the root, checkpoints too."""
        return "\0".join(file.read_text() for file in self.root.rglob("*") if file.is_file())

    def found(self, path: str = "x.ipynb") -> tuple[str, list[str]]:
        looked = self.guard.findings(path)
        assert looked is not None
        return looked.outcome, [str(finding) for finding in looked.findings]


@pytest.fixture
def server(jp_serverapp: Any, jp_fetch: Any, jp_root_dir: Path) -> Server:
    return Server(jp_serverapp, jp_fetch, jp_root_dir)


def notebook(*cells: object, **metadata: object) -> dict[str, Any]:
    return {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


CLEAN = notebook(code("1 + 1", stream("2")))
DIRTY = notebook(markdown("Hello"), code("print(token)", stream(f"a {VALUE}\n"), display(text_plain="x")))
IN_SOURCE = notebook(code(f"token = '{VALUE}'", stream("x")))
REDACTED = json.loads(json.dumps(DIRTY).replace(VALUE, MARK))
REFUSAL = "x.ipynb: not saved: cell 2, output 1: holds API_TOKEN; clear that output and save again"


async def refused(action: Any) -> str:
    with pytest.raises(HTTPClientError) as caught:
        await action
    assert caught.value.code == 422
    assert caught.value.response is not None
    return json.loads(caught.value.response.body)["message"]


def saved(notebook: dict[str, Any]) -> Any:
    """As nbformat writes it: with lines."""

    def lines(text: str) -> list[str]:
        return text.splitlines(keepends=True)

    written = json.loads(json.dumps(notebook))
    for cell in written["cells"]:
        cell["source"] = lines(cell["source"])
        for output in cell.get("outputs", ()):
            if "text" in output:
                output["text"] = lines(output["text"])
            for mime, value in output.get("data", {}).items():
                output["data"][mime] = lines(value) if isinstance(value, str) and not mime.startswith("image/") else value
    return written


# What becomes of a save


async def test_warn_saves_it_and_tells(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    server.install()
    with caplog.at_level(logging.WARNING):
        await server.put(DIRTY)

    assert server.on_disk() == saved(DIRTY)
    assert server.found() == ("told", ["cell 2, output 1: holds API_TOKEN"])
    assert [record.getMessage() for record in caplog.records if "save guard" in record.getMessage()] == ["save guard: 'x.ipynb': cell 2, output 1: holds API_TOKEN"]
    assert [looked.json() for looked in server.events] == [
        {
            "path": "x.ipynb", "mode": "warn", "outcome": "told", "notes": [],
            "findings": [{"part": "output", "cell": 2, "output": 1, "line": None, "name": "API_TOKEN", "format": None, "redacted": False, "cell_id": "deadbeef"}],
        }
    ]  # fmt: skip


async def test_redact_saves_marks_in_outputs_and_tells_of_the_rest(server: Server) -> None:
    server.install("redact")
    await server.put(DIRTY)
    assert server.on_disk() == saved(REDACTED)
    assert VALUE not in server.texts()
    assert server.found() == ("redacted", ["cell 2, output 1: redacted API_TOKEN"])

    await server.put(IN_SOURCE)
    assert server.on_disk() == saved(IN_SOURCE)
    assert server.found() == ("told", ["cell 1, line 1: holds API_TOKEN"])


async def test_refuse_leaves_the_file_and_its_checkpoint_as_they_were(server: Server) -> None:
    server.install("refuse")
    await server.put(CLEAN)
    before = server.texts()

    assert await refused(server.put(DIRTY)) == REFUSAL
    assert await refused(server.put(IN_SOURCE)) == "x.ipynb: not saved: cell 1, line 1: holds API_TOKEN; take it out of the cell and save again"
    assert await refused(server.put(notebook(code(""), x=[VALUE, GITHUB]))) == "x.ipynb: not saved: metadata: holds API_TOKEN (and 1 more); take it out and save again"
    assert server.texts() == before
    assert server.found() == ("refused", ["metadata: holds API_TOKEN", "metadata: looks like a GitHub token"])
    await server.put(CLEAN)
    assert server.found() == ("clean", [])
    assert [looked.outcome for looked in server.events] == ["refused", "refused", "refused", "clean"]


async def test_a_new_notebook_that_is_refused_is_not_there(server: Server) -> None:
    server.install("refuse")
    assert await refused(server.put(DIRTY)) == REFUSAL
    assert list(server.root.rglob("*.ipynb")) == []


async def test_off_looks_at_nothing(server: Server) -> None:
    server.install("off")
    await server.put(DIRTY)

    assert server.on_disk() == saved(DIRTY)
    assert server.guard.findings("x.ipynb") is None
    assert server.events == []


async def test_the_mode_may_change_while_the_server_runs(server: Server) -> None:
    modes = ["refuse", "off"]
    server.install(lambda: modes[0])

    assert await refused(server.put(DIRTY)) == REFUSAL
    modes.pop(0)
    await server.put(DIRTY)


async def test_what_is_found_again_is_told_once(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    server.install()
    with caplog.at_level(logging.WARNING):
        for document in (DIRTY, DIRTY, CLEAN, DIRTY):
            await server.put(document)

    assert len([record for record in caplog.records if "save guard" in record.getMessage()]) == 2
    assert [looked.outcome for looked in server.events] == ["told", "clean", "told"]


async def test_many_findings_are_one_line(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    server.install()
    with caplog.at_level(logging.WARNING):
        await server.put(notebook(*(code("", stream(VALUE), id=f"cell-{at}") for at in range(8))))

    [line] = [record.getMessage() for record in caplog.records if "save guard" in record.getMessage()]
    assert line == "save guard: 'x.ipynb': " + "; ".join(f"cell {at}, output 1: holds API_TOKEN" for at in range(1, 6)) + " and 3 more"


async def test_values_known_at_the_time_of_a_save_are_searched_for_too(server: Server) -> None:
    known: dict[str, str] = {}
    server.install(known=lambda: known)
    await server.put(notebook(code("", stream("s3cret-of-the-operator"))))
    assert server.found() == ("clean", [])

    known["PG_PASSWORD"] = "s3cret-of-the-operator"
    await server.put(notebook(code("", stream("s3cret-of-the-operator"))))
    assert server.found() == ("told", ["cell 1, output 1: holds PG_PASSWORD"])


async def test_a_value_that_is_no_secret_under_another_name_is_none(server: Server) -> None:
    server.install("refuse")
    await server.put(notebook(code("", stream("/home/ana-and-others eu-north-1"))))


async def test_no_value_is_in_the_log_an_event_or_an_answer(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    server.install("refuse")
    with caplog.at_level(logging.DEBUG):
        message = await refused(server.put(DIRTY))

    assert VALUE not in caplog.text + message + repr(server.events) + repr(server.guard.findings("x.ipynb")) + json.dumps([looked.json() for looked in server.events])


# Other ways to the disk


async def test_other_files_are_not_looked_at(server: Server) -> None:
    server.install("refuse")
    await server.rest("PUT", "x.txt", {"type": "file", "format": "text", "content": VALUE})
    await server.rest("PUT", "folder", {"type": "directory"})

    assert (server.root / "x.txt").read_text() == VALUE
    assert server.guard.findings("x.txt") is None


@pytest.mark.parametrize("format", ["text", "base64"])
async def test_a_notebook_that_is_sent_as_a_file_is_one(server: Server, format: str) -> None:
    text = json.dumps(DIRTY)
    sent = {"type": "file", "format": format, "content": text if format == "text" else base64.b64encode(text.encode()).decode()}

    server.install(lambda: modes[0])
    modes = ["warn"]
    await server.rest("PUT", "x.ipynb", sent)
    assert (server.root / "x.ipynb").read_text() == text
    assert server.found() == ("told", ["cell 2, output 1: holds API_TOKEN"])
    modes[0] = "redact"
    await server.rest("PUT", "x.ipynb", sent)
    assert server.on_disk() == REDACTED
    modes[0] = "refuse"
    assert await refused(server.rest("PUT", "x.ipynb", sent)) == REFUSAL


async def test_a_file_that_is_no_notebook_but_for_its_name_is_read_as_text(server: Server) -> None:
    server.install("refuse")
    sent = {"type": "file", "format": "text", "content": f"a\n{VALUE}"}

    assert await refused(server.rest("PUT", "x.ipynb", sent)) == "x.ipynb: not saved: line 2: holds API_TOKEN; take it out and save again"
    await server.rest("PUT", "x.ipynb", {"type": "file", "format": "base64", "content": base64.b64encode(b"\xff\xfe" * 9).decode()})
    assert (server.root / "x.ipynb").read_bytes() == b"\xff\xfe" * 9


@pytest.mark.parametrize("format", ["text", "base64"])
@pytest.mark.parametrize(("mode", "expected"), [("warn", DIRTY), ("redact", REDACTED)])
async def test_an_upload_in_chunks_is_looked_at_as_a_whole(server: Server, format: str, mode: str, expected: object) -> None:
    server.install(mode)
    text = json.dumps(DIRTY).encode()
    answers = await server.upload(text, pieces=text.index(VALUE.encode()) and 40, format=format)

    assert server.on_disk() == expected
    assert server.found()[0] == ("told" if mode == "warn" else "redacted")
    assert {answer["path"] for answer in answers} == {"x.ipynb"}


async def test_an_upload_that_is_refused_leaves_its_target_as_it_was(server: Server) -> None:
    server.install("refuse")
    await server.put(CLEAN)
    before = server.texts()

    assert await refused(server.upload(json.dumps(DIRTY).encode(), pieces=5)) == REFUSAL
    assert server.texts() == before
    await server.upload(json.dumps(CLEAN).encode(), pieces=5)
    assert server.on_disk() == CLEAN


async def test_an_upload_of_what_is_no_text_arrives_as_it_is(server: Server) -> None:
    server.install("refuse")
    await server.upload(bytes(range(256)) * 9)
    assert (server.root / "x.ipynb").read_bytes() == bytes(range(256)) * 9


async def test_an_upload_of_another_file_is_left_to_the_server(server: Server) -> None:
    server.install("refuse")
    await server.upload(VALUE.encode() * 9, "x.bin")
    assert (server.root / "x.bin").read_bytes() == VALUE.encode() * 9


@pytest.mark.parametrize(
    ("model", "code", "message"),
    [
        ({"chunk": 2, "content": ""}, 400, "x.ipynb: the upload is not complete; upload the file again"),
        ({"chunk": 1, "content": 7}, 400, "x.ipynb: a chunk of the upload cannot be decoded"),
        ({"chunk": 1, "content": "é"}, 400, "x.ipynb: a chunk of the upload cannot be decoded"),
        ({"chunk": 1, "content": "QUJDREVGR0hJSktMTU5P"}, 413, "x.ipynb: is too large to be looked at; copy it to its folder instead"),
    ],
)
async def test_a_chunk_that_cannot_be_used_is_an_error(server: Server, model: dict[str, Any], code: int, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MOST_BYTES", 9)
    server.install("refuse")
    with pytest.raises(HTTPClientError) as caught:
        await server.rest("PUT", "x.ipynb", {"type": "file", "format": "base64", **model})

    assert caught.value.code == code
    assert caught.value.response is not None
    assert json.loads(caught.value.response.body)["message"] == message


async def test_of_too_many_uploads_the_oldest_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MOST", 2)
    server.install("refuse")

    async def chunk(path: str, number: int) -> Any:
        return await server.rest("PUT", path, {"type": "file", "format": "text", "content": "{}", "chunk": number})

    for path in ("a.ipynb", "b.ipynb", "c.ipynb"):
        await chunk(path, 1)
    await chunk("b.ipynb", -1)
    with pytest.raises(HTTPClientError):
        await chunk("a.ipynb", -1)
    await chunk("c.ipynb", -1)
    assert sorted(file.name for file in server.root.iterdir()) == ["b.ipynb", "c.ipynb"]


async def test_a_copy_is_a_save(server: Server) -> None:
    (server.root / "x.ipynb").write_text(json.dumps(DIRTY))
    modes = ["refuse"]
    server.install(lambda: modes[0])

    assert (await refused(server.rest("POST", "", {"copy_from": "x.ipynb"}))).startswith("x-Copy1.ipynb: not saved: cell 2, output 1")
    assert not (server.root / "x-Copy1.ipynb").exists()
    modes[0] = "redact"
    await server.rest("POST", "", {"copy_from": "x.ipynb"})
    assert server.on_disk("x-Copy1.ipynb") == saved(REDACTED)


async def test_a_new_untitled_notebook_is_none_of_our_business(server: Server) -> None:
    server.install("refuse")
    assert (await server.rest("POST", "", {"type": "notebook"}))["path"] == "Untitled.ipynb"


async def test_what_was_found_moves_with_its_notebook_and_goes_with_it(server: Server) -> None:
    server.install()
    (server.root / "a").mkdir()
    await server.put(DIRTY, "a/x.ipynb")
    await server.put(DIRTY, "ab.ipynb")

    await server.rest("PATCH", "a/x.ipynb", {"path": "a/y.ipynb"})
    assert server.guard.findings("a/x.ipynb") is None
    await server.rest("PATCH", "a", {"path": "b"})
    assert server.found("b/y.ipynb")[0] == "told"
    looked = server.guard.findings("/b/y.ipynb")
    assert looked is not None
    assert looked.path == "b/y.ipynb"
    await server.put(DIRTY, "bc.ipynb")
    await server.rest("DELETE", "b")
    assert server.guard.findings("b/y.ipynb") is None
    assert [server.found(path)[0] for path in ("ab.ipynb", "bc.ipynb")] == ["told", "told"]


@pytest.mark.parametrize("mode", ["warn", "redact", "refuse", "off"])
async def test_what_becomes_a_notebook_by_its_name_is_looked_at(server: Server, mode: str) -> None:
    (server.root / "x.txt").write_text(json.dumps(DIRTY))
    server.install(mode)

    if mode == "refuse":
        assert await refused(server.rest("PATCH", "x.txt", {"path": "x.ipynb"})) == REFUSAL
        assert not (server.root / "x.ipynb").exists()
        return
    await server.rest("PATCH", "x.txt", {"path": "x.ipynb"})
    assert server.on_disk() == (saved(REDACTED) if mode == "redact" else DIRTY)
    assert (server.guard.findings("x.ipynb") is None) is (mode == "off")


# Checkpoints


async def test_in_refuse_no_checkpoint_is_made_of_what_came_to_the_disk_another_way(server: Server) -> None:
    server.install("refuse")
    (server.root / "x.ipynb").write_text(json.dumps(DIRTY))
    assert await refused(server.rest("POST", "x.ipynb", at="checkpoints")) == REFUSAL
    assert [file.name for file in server.root.rglob("*") if file.is_file()] == ["x.ipynb"]

    await server.put(CLEAN)
    await server.rest("POST", "x.ipynb", at="checkpoints")
    assert len([file for file in server.root.rglob("*") if file.is_file()]) == 2


@pytest.mark.parametrize("mode", ["warn", "redact", "refuse", "off"])
async def test_a_checkpoint_that_is_restored_is_looked_at(server: Server, mode: str) -> None:
    modes = ["off"]
    server.install(lambda: modes[0])
    await server.put(DIRTY)  # and its checkpoint
    await server.put(CLEAN)
    modes[0] = mode

    if mode == "refuse":
        assert await refused(server.rest("POST", "x.ipynb", at="checkpoints/checkpoint")) == REFUSAL
        assert server.on_disk() == saved(CLEAN)
        return
    await server.rest("POST", "x.ipynb", at="checkpoints/checkpoint")
    assert server.on_disk() == saved(REDACTED if mode == "redact" else DIRTY)
    assert (server.guard.findings("x.ipynb") is None) is (mode == "off")


@pytest.mark.parametrize("mode", ["redact", "refuse"])
async def test_a_clean_checkpoint_is_restored(server: Server, mode: str) -> None:
    server.install(mode)
    await server.put(CLEAN)
    await server.put(notebook(code("2")))
    await server.rest("POST", "x.ipynb", at="checkpoints/checkpoint")

    assert server.on_disk() == saved(CLEAN)


async def test_a_checkpoint_that_is_not_there_is_the_servers_to_tell(server: Server) -> None:
    server.install("refuse")
    await server.put(CLEAN)
    with pytest.raises(HTTPClientError) as caught:
        await server.rest("POST", "x.ipynb", at="checkpoints/another")
    assert caught.value.code in (404, 500)


async def test_checkpoints_of_another_kind_are_looked_at(server: Server, manager: str) -> None:
    class Generic:
        def get_notebook_checkpoint(self, checkpoint_id: str, path: str) -> Any:
            return {"type": "notebook", "content": DIRTY}

    guard = server.install("refuse")
    content = guard._checkpoint("checkpoint", "x.ipynb")
    server.contents, guard._manager = None, type("Manager", (), {"checkpoints": Generic()})()
    assert await content == DIRTY


# Beside others


async def test_the_hooks_of_others_run_once_and_first(server: Server) -> None:
    seen = []

    def strips(model: Any, path: str, contents_manager: Any) -> None:
        seen.append(path)
        if model["type"] == "notebook":
            for cell in model["content"]["cells"]:
                if "outputs" in cell:
                    cell["outputs"] = []

    server.contents.register_pre_save_hook(strips)
    server.install("refuse")
    await server.put(DIRTY)

    assert seen == ["x.ipynb"]
    assert server.on_disk()["cells"][1]["outputs"] == []


async def test_uninstalled_it_leaves_the_manager_as_it_was(server: Server) -> None:
    before = {name: getattr(server.contents, name) for name in ("save", "rename", "create_checkpoint", "run_pre_save_hooks")}
    server.install("refuse").uninstall()

    assert {name: getattr(server.contents, name) for name in before} == before
    await server.put(DIRTY)


async def test_the_last_findings_of_so_many_notebooks_are_kept(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(save_guard, "_REMEMBERED", 2)
    server.install()
    for path in ("a.ipynb", "b.ipynb", "c.ipynb"):
        await server.put(DIRTY, path)

    assert [path for path in ("a.ipynb", "b.ipynb", "c.ipynb") if server.guard.findings(path)] == ["b.ipynb", "c.ipynb"]


# When something of ours fails


def fails(*_: object, **__: object) -> Any:
    raise ValueError(VALUE)


@pytest.mark.parametrize("mode", ["warn", "redact"])
async def test_a_failure_of_ours_loses_no_save(server: Server, mode: str, caplog: pytest.LogCaptureFixture) -> None:
    server.install(mode, known=fails)
    with caplog.at_level(logging.ERROR):
        await server.put(DIRTY)

    assert server.on_disk() == saved(DIRTY)
    [line] = [record.getMessage() for record in caplog.records if "save guard" in record.getMessage()]
    assert line.startswith("save guard: 'x.ipynb' could not be looked at: ValueError in save_guard.py, line ")
    assert VALUE not in caplog.text
    [looked] = server.events
    assert looked.outcome == "failed"


async def test_in_refuse_nothing_passes_unseen(server: Server) -> None:
    server.install("refuse", known=fails)
    with pytest.raises(HTTPClientError) as caught:
        await server.put(CLEAN)

    assert caught.value.code == 500
    assert caught.value.response is not None
    message = json.loads(caught.value.response.body)["message"]
    assert message.startswith("x.ipynb: not saved: the save guard failed (ValueError in save_guard.py, line ")
    assert message.endswith("); report it, and set save_guard to 'warn' to save meanwhile")
    assert list(server.root.rglob("*.ipynb")) == []


async def test_an_event_that_cannot_be_sent_is_no_failure(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    server.install(emit=fails)
    with caplog.at_level(logging.ERROR):
        await server.put(DIRTY)

    assert server.on_disk() == saved(DIRTY)
    assert [record.getMessage() for record in caplog.records if "save guard" in record.getMessage()] == ["save guard: no event could be sent: ValueError in save_guard.py, line " + str(line_of("self._emit(looked)"))]


async def test_what_cannot_be_looked_at_afterwards_is_told(server: Server) -> None:
    server.install()
    await server.upload(bytes(range(256)))  # no text

    assert server.found()[0] == "failed"


async def test_what_is_no_notebook_is_the_servers_to_tell(server: Server) -> None:
    server.install("redact")
    with pytest.raises(HTTPClientError):
        await server.put({"cells": 7, "x": VALUE})
    assert server.found() == ("told", ["line 1: holds API_TOKEN"])


async def test_a_path_of_several_lines_is_one_line(server: Server) -> None:
    server.install("refuse")
    assert (await refused(server.put(DIRTY, "a\nb.ipynb"))).startswith(r"'a\nb.ipynb': not saved: cell 2")


def line_of(text: str) -> int:
    lines = Path(save_guard.__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip() == text)


# What kernels know

OF_KERNEL = notebook(code("", stream(f"a {KERNELS}"), id="cell-of-it"), code("x"))
FOUND = {"part": "output", "cell": 1, "output": 1, "line": None, "name": "ONLY_THERE", "format": None, "redacted": True}
CLEANED = json.dumps({**OF_KERNEL, "cells": [code("changed", stream("a [redacted:ONLY_THERE]")), code("y")]}).encode()


def answers(answer: KernelAnswer | None, asked: list[Any] | None = None) -> Callable[..., Any]:
    async def ask(path: str, notebook: Callable[[], bytes], clean: bool) -> KernelAnswer | None:
        if asked is not None:
            asked.append((path, json.loads(notebook()), clean))
        await asyncio.sleep(0)
        return answer

    return ask


async def settled(server: Server) -> None:
    """A manager that is not async asks afterwards."""
    await asyncio.gather(*server.guard._asking)


async def test_what_a_kernel_finds_is_told(server: Server) -> None:
    asked: list[Any] = []
    server.install(ask_kernels=answers(KernelAnswer([FOUND]), asked))
    await server.put(OF_KERNEL)
    await settled(server)

    assert asked == [("x.ipynb", OF_KERNEL, False)]
    assert server.found() == ("told", ["cell 1, output 1: holds ONLY_THERE"])
    looked = server.guard.findings("x.ipynb")
    assert looked is not None
    assert looked.cell_ids == {1: "cell-of-it"}


async def test_what_a_kernel_redacts_is_saved_but_for_what_is_no_output(server: Server, manager: str) -> None:
    server.install("redact", ask_kernels=answers(KernelAnswer([FOUND], CLEANED)))
    await server.put(OF_KERNEL)
    await settled(server)

    if manager == "async":
        assert server.on_disk() == saved(json.loads(json.dumps(OF_KERNEL).replace(KERNELS, "[redacted:ONLY_THERE]")))
        assert server.found() == ("redacted", ["cell 1, output 1: redacted ONLY_THERE"])
    else:  # it could not be asked in time
        assert server.on_disk() == saved(OF_KERNEL)
        assert server.found() == ("told", ["cell 1, output 1: holds ONLY_THERE"])


async def test_what_a_kernel_finds_is_refused(server: Server, manager: str) -> None:
    server.install("refuse", ask_kernels=answers(KernelAnswer([FOUND])))
    if manager == "async":
        assert (await refused(server.put(OF_KERNEL))) == "x.ipynb: not saved: cell 1, output 1: holds ONLY_THERE; clear that output and save again"
    else:
        await server.put(OF_KERNEL)
        await settled(server)
        assert server.found() == ("told", ["cell 1, output 1: holds ONLY_THERE"])


async def test_of_a_file_that_is_uploaded_no_kernel_is_asked(server: Server) -> None:
    asked: list[Any] = []
    server.install(ask_kernels=answers(KernelAnswer([FOUND]), asked))
    await server.rest("PUT", "x.ipynb", {"type": "file", "format": "text", "content": json.dumps(OF_KERNEL)})
    await settled(server)

    assert (asked, server.found()) == ([], ("clean", []))


async def test_with_no_kernel_nothing_is_said(server: Server) -> None:
    server.install(ask_kernels=answers(None))
    await server.put(OF_KERNEL)
    await settled(server)

    assert server.found() == ("clean", [])
    assert server.events == []


NOTE = "the kernel did not answer; what only it knows was not looked for"


async def never(path: str, notebook: Callable[[], bytes], clean: bool) -> KernelAnswer | None:
    await asyncio.Event().wait()
    return None


@pytest.mark.parametrize(("ask", "line"), [(never, None), (answers(KernelAnswer(silent=1)), None), (fails, "asking the kernel failed: ValueError in save_guard.py, line ")])
@pytest.mark.parametrize("mode", ["warn", "refuse"])
async def test_a_kernel_that_does_not_answer_stops_no_save(server: Server, mode: str, ask: Any, line: str | None, caplog: pytest.LogCaptureFixture) -> None:
    server.install(mode, ask_kernels=ask, kernel_timeout=0.05)
    with caplog.at_level(logging.INFO):
        await server.put(OF_KERNEL)
        await settled(server)

    assert server.on_disk() == saved(OF_KERNEL)
    looked = server.guard.findings("x.ipynb")
    assert looked is not None
    assert (looked.outcome, looked.notes) == ("clean", (NOTE,))
    told = [record.getMessage() for record in caplog.records if "save guard" in record.getMessage()]
    assert told[-1] == f"save guard: 'x.ipynb': {NOTE}"
    assert line is None or told[0].startswith(f"save guard: 'x.ipynb': {line}")
    assert [event.notes for event in server.events] == [(NOTE,)]


def test_a_manager_without_a_loop_saves_without_asking(tmp_path: Path) -> None:
    from jupyter_server.services.contents.largefilemanager import LargeFileManager

    manager = LargeFileManager(root_dir=str(tmp_path))
    guard = save_guard.install(manager, parent=PARENT, log=logging.getLogger("test"), ask_kernels=answers(KernelAnswer([FOUND])))
    manager.save({"type": "notebook", "format": "json", "content": DIRTY}, "x.ipynb")

    looked = guard.findings("x.ipynb")
    assert looked is not None
    assert looked.outcome == "told"


def test_a_manager_that_waits_though_it_is_not_async_is_an_error(tmp_path: Path) -> None:
    from jupyter_server.services.contents.largefilemanager import LargeFileManager

    class Odd(LargeFileManager):
        def save(self, model: Any, path: str = "") -> Any:
            return asyncio.sleep(0)

    manager = Odd(root_dir=str(tmp_path))
    save_guard.install(manager, parent={}, log=logging.getLogger("test"))
    with pytest.raises(RuntimeError) as caught:
        manager.save({"type": "notebook", "content": CLEAN}, "x.ipynb")
    assert str(caught.value) == "save of a contents manager that is not async waited"


def test_the_error_of_a_save_is_an_error_of_the_server(tmp_path: Path) -> None:
    from jupyter_server.services.contents.largefilemanager import LargeFileManager

    manager = LargeFileManager(root_dir=str(tmp_path))
    save_guard.install(manager, parent=PARENT, log=logging.getLogger("test"), mode="refuse")
    with pytest.raises(HTTPError) as caught:
        manager.save({"type": "notebook", "format": "json", "content": DIRTY}, "a%b.ipynb")
    assert str(caught.value) == "HTTP 422: Unprocessable Entity (a%b.ipynb: not saved: cell 2, output 1: holds API_TOKEN; clear that output and save again)"
