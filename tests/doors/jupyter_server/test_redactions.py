"""Outputs of a cell with marks in place of values: what only the server knows, and what only a kernel knows (SPEC 8.4)."""

from __future__ import annotations

from typing import Any

import pytest
from jupyter_server.auth.authorizer import Authorizer

from tests.core.test_scan import display, stream
from tests.doors.jupyter_server.servers import Server, eventually
from tests.doors.jupyter_server.test_access import Mine, Named
from tests.doors.jupyter_server.test_guarding import LOAD, MADE_UP, OF_SERVER, notebook, save, with_kernel

WRONG_OUTPUTS = "outputs: must be a list of the outputs of a cell, as a notebook has them"


@pytest.fixture
def jp_environ(jp_environ: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_SERVER_TOKEN", OF_SERVER)


def finding(output: int, name: str, line: int | None = None) -> dict[str, Any]:
    return {"output": output, "line": line, "name": name, "format": None, "redacted": True}


async def redacted(server: Server, body: object, **more: Any) -> Any:
    return await server.ask("POST", "/redactions", body, **more)


async def test_what_the_server_knows_becomes_marks_in_every_kind_of_output(server: Server) -> None:
    outputs = [stream(f"a {OF_SERVER}\n"), display(text_plain="nothing"), display(application_json={"k": [OF_SERVER]})]
    answer = await redacted(server, {"outputs": outputs})

    assert answer.status == 200
    assert answer.document == {
        "outputs": [stream("a [redacted:OF_SERVER_TOKEN]\n"), display(text_plain="nothing"), display(application_json={"k": ["[redacted:OF_SERVER_TOKEN]"]})],
        "findings": [finding(1, "OF_SERVER_TOKEN"), finding(3, "OF_SERVER_TOKEN")],
        "notes": [],
    }


async def test_what_holds_nothing_comes_back_as_it_was(server: Server) -> None:
    outputs = [stream("nothing")]
    for body in ({"outputs": outputs}, {"outputs": outputs, "path": None}, {"outputs": outputs, "path": "nowhere.ipynb"}):
        assert (await redacted(server, body)).document == {"outputs": outputs, "findings": [], "notes": []}
    assert (await redacted(server, {"outputs": []})).document["outputs"] == []


async def test_the_notebooks_kernels_are_asked_and_nothing_is_remembered_or_saved(server: Server) -> None:
    await with_kernel(server, LOAD)
    outputs = [stream(f"{OF_SERVER} {MADE_UP}")]

    alone = await redacted(server, {"outputs": outputs})
    both = await redacted(server, {"outputs": outputs, "path": "/x.ipynb"})

    assert alone.document["outputs"] == [stream(f"[redacted:OF_SERVER_TOKEN] {MADE_UP}")]
    assert both.document["outputs"] == [stream("[redacted:OF_SERVER_TOKEN] [redacted:ONLY_THERE]")]
    assert [found["name"] for found in both.document["findings"]] == ["OF_SERVER_TOKEN", "ONLY_THERE"]
    kept = await server.ask("GET", "/api/contents/x.ipynb")
    assert [cell.get("outputs") for cell in kept.document["content"]["cells"]] == [None]
    assert server.app.web_app.settings["mcc_save_guard"].findings("x.ipynb").outcome == "clean"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, WRONG_OUTPUTS),
        ({"outputs": {}}, WRONG_OUTPUTS),
        ({"outputs": ["x"]}, WRONG_OUTPUTS),
        ({"outputs": [], "path": 3}, "path: must be the path of a notebook, or null"),
        ({"outputs": [], "cell": 1}, "the body has a field that is none of outputs, path"),
    ],
)
async def test_what_are_no_outputs_is_422(body: object, message: str, server: Server) -> None:
    answer = await redacted(server, body)

    assert (answer.status, answer.document["code"], answer.document["message"]) == (422, "argument", message)


@pytest.mark.parametrize("output", [{}, {"output_type": None}, {"output_type": "stream"}, {"output_type": "stream", "text": 3}, {"output_type": "display_data", "data": 1}, {"output_type": "error", "traceback": {"a": OF_SERVER}}, {"output_type": "stream", "name": 1, "text": [OF_SERVER, 3]}])
async def test_an_output_of_another_form_is_answered_without_a_value(output: dict[str, Any], server: Server) -> None:
    answer = await redacted(server, {"outputs": [output]})

    assert answer.status in (200, 422)
    assert OF_SERVER not in answer.text


# ---- what was found at the last save


async def test_the_last_save_of_a_notebook_is_told_by_name_and_place(server: Server) -> None:
    await save(server, notebook(OF_SERVER))

    found = await server.ask("GET", "/findings?path=x.ipynb")
    other = await server.ask("GET", "/findings?path=y.ipynb")
    none = await server.ask("GET", "/findings")

    assert found.document == {
        "looked": True, "path": "x.ipynb", "mode": "warn", "outcome": "told", "notes": [],
        "findings": [{"part": "output", "cell": 2, "cell_id": "cell-0", "output": 1, "line": None, "name": "OF_SERVER_TOKEN", "format": None, "redacted": False}],
    }  # fmt: skip
    assert other.document == {"looked": False, "path": "y.ipynb", "mode": "warn", "outcome": "clean", "findings": [], "notes": []}
    assert (none.status, none.document["message"]) == (422, "path: must be the path of a notebook")


class NoContents(Authorizer):
    """Lets nobody read contents."""

    def is_authorized(self, handler: Any, user: Any, action: str, resource: str) -> bool:
        return resource != "contents"


class TestContents:
    @pytest.fixture
    def settings(self) -> dict[str, Any]:
        return {"ServerApp": {"authorizer_class": NoContents}}

    async def test_who_may_not_read_contents_is_told_nothing_of_them(self, server: Server) -> None:
        answer = await server.ask("GET", "/findings?path=x.ipynb")

        assert (answer.status, answer.document["code"]) == (403, "forbidden")


class TestBounds:
    @pytest.fixture
    def settings(self) -> dict[str, Any]:
        return {"MccServer": {"max_body_bytes": 2048}}

    async def test_more_than_a_body_may_have_is_413(self, server: Server) -> None:
        answer = await redacted(server, {"outputs": [stream("x" * 2048)]})

        assert (answer.status, answer.document["message"]) == (413, "the body is larger than 2,048 bytes")


class TestOthers:
    @pytest.fixture
    def settings(self) -> dict[str, Any]:
        return {"ServerApp": {"identity_provider_class": Named, "authorizer_class": Mine, "disable_check_xsrf": True}}

    async def test_another_users_kernel_is_not_asked(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Mine, "owners", {})
        outputs = [stream(MADE_UP)]
        kernel = await server.start_as("alice")
        await server.connect(kernel)
        await server.run(kernel, LOAD)
        await eventually(lambda: server.manifest(kernel).exists())
        await server.app.session_manager.create_session(path="x.ipynb", name="x", type="notebook", kernel_id=kernel)
        monkeypatch.setattr(Mine, "owners", {kernel: "alice"})
        body = {"outputs": outputs, "path": "x.ipynb"}

        own = await redacted(server, body, headers={"X-User": "alice"})
        theirs = await redacted(server, body, headers={"X-User": "bob"})

        assert own.document["outputs"] == [stream("[redacted:ONLY_THERE]")]
        assert (theirs.document["outputs"], theirs.document["findings"]) == (outputs, [])
