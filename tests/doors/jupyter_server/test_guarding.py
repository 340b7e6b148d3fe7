"""The save guard of a real server with real kernels: each party finds what it alone knows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcc_jupyter.runtime.workspaces import HERE
from tests.core.test_scan import code, display, markdown, stream
from tests.doors.jupyter_server.servers import Server, eventually

MADE_UP = "made-up-4711-in-the-kernel"
OF_SERVER = "made-up-4711-in-the-server"
OF_SESSION = "made-up-4711-in-a-workspace"
LOAD = f"%load_ext mcc_jupyter\nimport os\nos.environ['ONLY_THERE'] = {MADE_UP!r}"


@pytest.fixture
def jp_environ(jp_environ: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_SERVER_TOKEN", OF_SERVER)


def notebook(*texts: str) -> dict[str, Any]:
    return {"cells": [markdown("x"), *(code("", stream(text), id=f"cell-{at}") for at, text in enumerate(texts))], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


async def save(server: Server, content: object, path: str = "x.ipynb") -> Any:
    return await server.ask("PUT", f"/api/contents/{path}", {"type": "notebook", "format": "json", "content": content})


async def with_kernel(server: Server, source: str) -> None:
    """A kernel for the notebook x.ipynb."""
    await save(server, notebook())
    answer = await server.ask("POST", "/api/sessions", {"path": "x.ipynb", "type": "notebook", "name": "x.ipynb", "kernel": {"name": "python3"}})
    kernel = str(answer.document["kernel"]["id"])
    await server.connect(kernel)
    await server.run(kernel, source)
    if "load_ext" in source:
        await eventually(lambda: server.manifest(kernel).exists())


def found(server: Server) -> tuple[str, list[str], tuple[str, ...]]:
    looked = server.app.web_app.settings["mcc_save_guard"].findings("x.ipynb")
    return looked.outcome, [str(finding) for finding in looked.findings], looked.notes


def mode(server: Server, mode: str) -> None:
    server.app.extension_manager.extensions["mcc_jupyter"].extension_points["mcc_jupyter"].app.save_guard = mode


async def test_a_value_that_only_the_kernel_knows_is_told_redacted_and_refused(server: Server) -> None:
    await with_kernel(server, LOAD)
    content = notebook(f"a {MADE_UP}")

    await save(server, content)
    assert found(server) == ("told", ["cell 2, output 1: holds ONLY_THERE"], ())
    mode(server, "redact")
    await save(server, content)
    assert found(server) == ("redacted", ["cell 2, output 1: redacted ONLY_THERE"], ())
    kept = await server.ask("GET", "/api/contents/x.ipynb")
    assert kept.document["content"]["cells"][1]["outputs"][0]["text"] == "a [redacted:ONLY_THERE]"
    mode(server, "refuse")
    refused = await save(server, content)
    assert (refused.status, refused.document["message"]) == (422, "x.ipynb: not saved: cell 2, output 1: holds ONLY_THERE; clear that output and save again")
    assert MADE_UP not in refused.text + kept.text


async def test_the_server_and_workspaces_know_values_too(server: Server) -> None:
    workspace, _ = HERE.create("/srv/of-a-test/y.ipynb", {"SESSION_TOKEN": OF_SESSION}, owner="ana")
    try:
        await save(server, notebook(OF_SERVER, OF_SESSION))
    finally:
        HERE.delete(workspace.id)

    assert found(server) == ("told", ["cell 2, output 1: holds OF_SERVER_TOKEN", "cell 3, output 1: holds SESSION_TOKEN"], ())


async def test_a_kernel_without_the_package_is_not_asked(server: Server) -> None:
    await with_kernel(server, "x = 1")
    await save(server, notebook("text"))

    assert found(server) == ("clean", [], ())


async def test_a_large_notebook_is_looked_at_by_both(server: Server) -> None:
    await with_kernel(server, LOAD)
    content = notebook(*(f"line {at} of a log\n" * 5000 for at in range(30)), f"{OF_SERVER} {MADE_UP}")
    content["cells"].append(code("", display(application_json={"a": [MADE_UP]}), id="last"))
    mode(server, "redact")
    answer = await save(server, content)

    assert answer.status == 200
    assert found(server) == ("redacted", ["cell 32, output 1: redacted OF_SERVER_TOKEN", "cell 32, output 1: redacted ONLY_THERE", "cell 33, output 1: redacted ONLY_THERE"], ())
    kept = await server.ask("GET", "/api/contents/x.ipynb")
    assert MADE_UP not in kept.text
    assert OF_SERVER not in kept.text
    assert json.dumps(kept.document["content"]["cells"][1]["outputs"][0]["text"]) == json.dumps(content["cells"][1]["outputs"][0]["text"])
