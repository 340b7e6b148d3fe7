"""One kernel, and its matrix, as a person may see them: what a front end asks first (SPEC 13.1, 13.4)."""

from __future__ import annotations

from typing import Any

import pytest

from mcc_jupyter import __version__
from mcc_jupyter.core.report import MATRIX_TOOLS
from tests.core.test_report import golden
from tests.doors.jupyter_server.servers import Server, tool
from tests.doors.jupyter_server.test_access import NO_KERNEL, Mine, Named
from tests.doors.jupyter_server.test_calls import GREET, with_tools
from tests.doors.jupyter_server.test_requests import planted


def reported(name: str, groups: tuple[str, ...] = ("public",)) -> dict[str, object]:
    """A tool with a report of its own."""
    key = ".".join([*groups, name])
    return tool(name, groups, report={**golden().json(), "tool": name, "key": key, "groups": list(groups), "notice": f"Tool {name!r} is unavailable; x"})


class TestGroups:
    @pytest.fixture
    def settings(self) -> dict[str, Any]:
        return {
            "ServerApp": {"identity_provider_class": Named, "authorizer_class": Mine, "disable_check_xsrf": True},
            "MccServer": {"user_groups": {"alice": ["ops"]}},
        }

    @pytest.mark.parametrize(("user", "names", "rows"), [("alice", ["all", "run"], ["all", "ops.run"]), ("bob", ["all"], ["all"])])
    async def test_only_the_tools_of_the_person_are_counted_and_stand_in_the_matrix(self, user: str, names: list[str], rows: list[str], server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Mine, "owners", {})
        kernel = await server.start_as(user)
        monkeypatch.setattr(Mine, "owners", {kernel: user})
        server.plant(kernel, reported("all"), reported("run", ("ops",)), reported("dev", ("dev",)))

        one = await server.ask("GET", f"/kernels/{kernel}", headers={"X-User": user})
        matrix = await server.ask("GET", f"/kernels/{kernel}/matrix", headers={"X-User": user})

        assert (one.document["tools"], one.document["loaded"]) == (len(names), True)
        assert [row["tool"] for row in matrix.document["rows"]] == rows
        assert matrix.document["notices"] == [f"Tool {name!r} is unavailable; x" for name in names]
        assert "dev" not in matrix.text

    async def test_another_users_kernel_has_neither(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Mine, "owners", {})
        kernel = await server.start_as("alice")
        monkeypatch.setattr(Mine, "owners", {kernel: "alice"})
        server.plant(kernel, reported("all"))

        for path in (f"/kernels/{kernel}", f"/kernels/{kernel}/matrix"):
            answer = await server.ask("GET", path, headers={"X-User": "bob"})
            assert (answer.status, answer.document) == (404, NO_KERNEL)


async def test_a_kernel_tells_of_itself_and_of_its_tools_side_by_side(server: Server) -> None:
    kernel = await with_tools(server, GREET, "greet")

    one = (await server.ask("GET", f"/kernels/{kernel}")).document
    matrix = (await server.ask("GET", f"/kernels/{kernel}/matrix")).document

    assert {key: one[key] for key in ("id", "loaded", "package", "tools", "guard", "policy")} == {"id": kernel, "loaded": True, "package": __version__, "tools": 1, "guard": False, "policy": None}
    assert (matrix["schema"], matrix["version"]) == ("mcc.matrix", 1)
    assert [row["tool"] for row in matrix["rows"]] == ["greet"]
    assert matrix["footer"] == (await server.ask("GET", f"/kernels/{kernel}/tools/greet/report")).document["footer"]


async def test_the_mark_is_another_after_each_change_and_no_other_time(server: Server) -> None:
    kernel = await planted(server, reported("one"))
    path = f"/kernels/{kernel}"

    first = await server.ask("GET", path)
    again = await server.ask("GET", path)
    server.plant(kernel, reported("one"), reported("two"), revision=2)
    changed = await server.ask("GET", path, headers={"If-None-Match": first.headers["Etag"]})

    assert first.document["state_mark"] == again.document["state_mark"]
    assert changed.status == 200
    assert changed.document["state_mark"] != first.document["state_mark"]
    same = await server.ask("GET", f"{path}/matrix", headers={"If-None-Match": (await server.ask("GET", f"{path}/matrix")).headers["Etag"]})
    assert (same.status, same.text) == (304, "")


async def test_a_kernel_without_the_extension_is_not_loaded_and_its_matrix_empty(server: Server) -> None:
    kernel = await server.start()

    one = await server.ask("GET", f"/kernels/{kernel}")
    matrix = await server.ask("GET", f"/kernels/{kernel}/matrix")

    assert one.document == {"id": kernel, "state": one.document["state"], "remote": False, "loaded": False}
    assert (matrix.document["rows"], matrix.document["more_tools"]) == ([], 0)


async def test_a_report_that_cannot_be_read_is_counted_and_a_matrix_has_its_most(server: Server) -> None:
    kernel = await planted(server, tool("broken"), *(reported(f"t{number:04}") for number in range(MATRIX_TOOLS + 3)))

    matrix = (await server.ask("GET", f"/kernels/{kernel}/matrix")).document

    assert len(matrix["rows"]) == MATRIX_TOOLS - 1
    assert matrix["more_tools"] == 5
    assert "broken" not in [row["tool"] for row in matrix["rows"]]


async def test_the_policy_of_a_kernel_is_told_as_its_manifest_has_it(server: Server) -> None:
    policy = {"label": "mcc.toml", "workspace": "ops/x.ipynb", "profiles": ["dev"], "allow": ["AWS_*"], "deny": [], "exposed": [], "problems": [], "notes": ["n"]}
    kernel = await planted(server, policy=policy)

    assert (await server.ask("GET", f"/kernels/{kernel}")).document["policy"] == policy
