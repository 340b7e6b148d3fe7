"""The life of a workspace: its environment is set once, before its kernel, and is never shown (SPEC 13.1)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.provisioning.factory import KernelProvisionerFactory

from mcc_jupyter.runtime.workspaces import HERE
from tests.doors.jupyter_server.servers import Server, eventually
from tests.doors.jupyter_server.test_access import Named

MARK = "s3cr3t-v4lue-of-nobody"


@pytest.fixture(autouse=True)
def none_is_left() -> Iterator[None]:
    yield
    for workspace in HERE:
        HERE.delete(workspace.id)


async def test_an_environment_is_set_once_and_an_empty_one_is_nothing(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    again = "environment: STAGE: is set when a workspace is created and not again; delete the workspace first"

    made = await server.ask("POST", "/workspaces", {"path": "a/nb.ipynb", "environment": {"STAGE": MARK}})
    path = f"/workspaces/{made.document['id']}"
    answers = [
        await server.ask("PATCH", path, {"environment": {"STAGE": MARK}}),
        await server.ask("POST", "/workspaces", {"path": "/a/../a/nb.ipynb", "environment": {"STAGE": MARK}}),
    ]
    nothing = [
        await server.ask("PATCH", path, {"environment": {}}),
        await server.ask("PATCH", path, {"environment": None}),
        await server.ask("PATCH", path, {}),
        await server.ask("POST", "/workspaces", {"path": "a/nb.ipynb"}),
        await server.ask("GET", path),
    ]
    listed = await server.ask("GET", "/workspaces")
    gone = [(await server.ask("DELETE", path)).status for _ in range(2)]

    assert (made.status, made.headers["Location"]) == (201, f"/a%40b/mcc/api{path}")
    assert {key: made.document[key] for key in ("path", "names", "kernels")} == {"path": "a/nb.ipynb", "names": ["STAGE"], "kernels": []}
    assert [(answer.status, answer.document["message"]) for answer in answers] == [(422, again)] * 2
    assert [(answer.status, answer.document) for answer in nothing] == [(200, made.document)] * 5
    assert listed.document == {"workspaces": [made.document], "next_cursor": None}
    assert gone == [204, 404]
    assert MARK not in "".join(answer.text for answer in (made, *answers, *nothing, listed))
    assert MARK not in caplog.text


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "path: must be the path of a notebook below the server's root"),
        ({"path": "../x.ipynb"}, "path: must be the path of a notebook below the server's root"),
        ({"path": "/"}, "path: must be the path of a notebook below the server's root"),
        ({"path": "a\0b"}, "path: must be the path of a notebook below the server's root"),
        ({"path": 1}, "path: must be the path of a notebook below the server's root"),
        ({"path": "a", MARK: 1}, "the body has a field that is none of path, environment"),
        ({"path": "a", "environment": [MARK]}, "environment: must be an object of names and texts, not a list"),
        ({"path": "a", "environment": {MARK: "x"}}, "environment: a name must be letters, digits and `_`, and not begin with a digit"),
        ({"path": "a", "environment": {"A": 1}}, "environment.A: must be text, not a number"),
        ({"path": "a", "environment": {"A": f"{MARK}\0"}}, "environment.A: holds a character that no variable can hold"),
        ({"path": "a", "environment": {"MCC_X": MARK}}, "environment.MCC_X: this name is reserved; use another"),
    ],
)
async def test_a_wrong_workspace_is_422(body: dict[str, Any], message: str, server: Server) -> None:
    answer = await server.ask("POST", "/workspaces", body)

    assert (answer.status, answer.document["code"], answer.document["message"]) == (422, "argument", message)
    assert (await server.ask("GET", "/workspaces")).document["workspaces"] == []


async def test_a_notebook_whose_kernel_runs_gets_no_environment(server: Server) -> None:
    session = await server.ask("POST", "/api/sessions", {"path": "nb.ipynb", "type": "notebook", "name": "nb.ipynb", "kernel": {"name": "python3"}})

    with_one = await server.ask("POST", "/workspaces", {"path": "nb.ipynb", "environment": {"A": MARK}})
    without = await server.ask("POST", "/workspaces", {"path": "nb.ipynb"})

    assert (with_one.status, with_one.document["message"]) == (422, "environment: the notebook's kernel runs already; shut it down, then create the workspace")
    assert (without.status, without.document["kernels"]) == (201, [session.document["kernel"]["id"]])


class TestProvisioned:
    @pytest.fixture
    def settings(self) -> Iterator[dict[str, Any]]:
        KernelProvisionerFactory.clear_instance()  # one a process, and a test before had it
        yield {"KernelProvisionerFactory": {"default_provisioner_name": "mcc-jupyter"}}
        KernelProvisionerFactory.clear_instance()

    async def test_the_notebooks_kernel_has_the_environment(self, server: Server) -> None:
        made = await server.ask("POST", "/workspaces", {"path": "nb.ipynb", "environment": {"STAGE": "a-stage"}})
        session = await server.ask("POST", "/api/sessions", {"path": "nb.ipynb", "type": "notebook", "name": "nb.ipynb", "kernel": {"name": "python3"}})
        kernel = session.document["kernel"]["id"]
        await server.connect(kernel)

        await server.run(kernel, "get_ipython().run_line_magic('load_ext', 'mcc_jupyter')\nimport os; assert os.environ['STAGE'] == 'a-stage'")

        async def told() -> Any:
            listed = (await server.ask("GET", "/kernels")).document["kernels"]
            return listed[0] if listed[0]["loaded"] else None

        assert (await eventually(told))["workspace"].endswith("/nb.ipynb")
        found = (await server.ask("GET", f"/workspaces/{made.document['id']}")).document
        assert found["kernels"] == [kernel]


class TestUsers:
    @pytest.fixture
    def settings(self) -> dict[str, Any]:
        return {"ServerApp": {"identity_provider_class": Named, "disable_check_xsrf": True}}

    async def test_another_users_workspace_is_not_there_but_cannot_be_taken(self, server: Server) -> None:
        alice, bob = {"X-User": "alice"}, {"X-User": "bob"}
        made = (await server.ask("POST", "/workspaces", {"path": "nb.ipynb"}, headers=alice)).document

        for verb, body in (("GET", None), ("PATCH", {}), ("DELETE", None)):
            answer = await server.ask(verb, f"/workspaces/{made['id']}", body, headers=bob)
            assert (answer.status, answer.document["code"]) == (404, "unknown-workspace")
        taken = await server.ask("POST", "/workspaces", {"path": "nb.ipynb"}, headers=bob)
        assert (taken.status, taken.document["code"]) == (409, "workspace-taken")
        assert (await server.ask("GET", "/workspaces", headers=bob)).document["workspaces"] == []
        assert made["owner"] == "alice"
