"""What other processes may know of a kernel, and what counts as such a document when anybody may have written it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcc_jupyter.core.isolation import Isolation
from mcc_jupyter.core.manifest import Contents, Process, encoded, entry, is_manifest, manifest, with_revision
from mcc_jupyter.core.report import Report
from mcc_jupyter.core.tool import Argv, Origin, Param, Text, Tool

TOOL = Tool(
    name="t", body=Argv(("x",), ("x",)), origin=Origin("cell", "%%mcc_tool t", "c1", "run7"), cwd=Text("/", "/"), description="says \ud800",
    params=(Param("n", "int", required=False, default=3), Param("secret", override="swordfish")),
)  # fmt: skip
REPORT = Report("t", "public.t", "exec", "says \ud800", ("public",), available=False, notice="Tool 't' is unavailable", rows=())
PROCESS = Process("1.2.3", 7, "99 boot")


def document(contents: Contents) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(with_revision(manifest(PROCESS, contents), 4))
    return found


def test_a_kernel_without_anything_has_a_manifest() -> None:
    assert document(Contents()) == {
        "v": 1, "package": "1.2.3", "pid": 7, "started": "99 boot", "workspace": None, "notebook": None, "policy": None, "guard": False,
        "isolation": None, "session": [], "tools": [], "revision": 4,
    }  # fmt: skip


def test_it_holds_tools_session_keys_isolation_and_policy_and_no_override() -> None:
    contents = Contents(
        tools=(encoded(entry(TOOL, REPORT)),), session=(("user", "text", None), ("rows", "number", 2)),
        isolation=Isolation("linux", 1), guard=True, workspace="/w/a.ipynb", notebook="a.ipynb", policy={"label": None, "notes": []},
    )  # fmt: skip
    found = document(contents)
    [tool] = found["tools"]

    assert {key: tool[key] for key in ("name", "key", "kind", "description", "groups", "available", "notice", "origin")} == {
        "name": "t", "key": "public.t", "kind": "exec", "description": "says ?", "groups": ["public"], "available": False,
        "notice": "Tool 't' is unavailable", "origin": {"kind": "cell", "label": "%%mcc_tool t", "cell": "c1"},
    }  # fmt: skip
    assert list(tool["parameters"]["properties"]) == ["n"]
    assert tool["report"] == {**REPORT.json(), "description": "says ?"}
    assert found["session"] == [{"key": "user", "type": "text", "size": None}, {"key": "rows", "type": "number", "size": 2}]
    assert found["isolation"]["line"].startswith("Isolation: own process; not confined")
    assert (found["guard"], found["workspace"], found["notebook"], found["policy"]) == (True, "/w/a.ipynb", "a.ipynb", {"label": None, "notes": []})
    assert "swordfish" not in json.dumps(found)
    assert is_manifest(found)


def test_another_run_of_a_cell_is_no_change() -> None:
    from dataclasses import replace

    again = replace(TOOL, origin=replace(TOOL.origin, run="run8"))
    assert entry(again, REPORT) == entry(TOOL, REPORT)


WHOLE = document(Contents(tools=(encoded(entry(TOOL, REPORT)),), session=(("a", "text", 1),)))
FORGED: list[object] = [
    None, [], {}, "text", {**WHOLE, "v": 2}, {**WHOLE, "package": 1}, {**WHOLE, "started": None}, {**WHOLE, "pid": True}, {**WHOLE, "pid": "7"},
    {**WHOLE, "revision": 1.5}, {**WHOLE, "workspace": 1}, {**WHOLE, "notebook": []}, {**WHOLE, "policy": "x"}, {**WHOLE, "isolation": 3},
    {**WHOLE, "guard": None}, {**WHOLE, "tools": {}}, {**WHOLE, "session": {}}, {**WHOLE, "session": ["a"]}, {**WHOLE, "session": [{"key": 1}]},
    {**WHOLE, "tools": [1]}, *({**WHOLE, "tools": [{**WHOLE["tools"][0], key: 7}]} for key in ("name", "key", "kind", "description", "available", "notice", "groups", "parameters", "report")),
    {**WHOLE, "tools": [{**WHOLE["tools"][0], "groups": [7]}]},
]  # fmt: skip


@pytest.mark.parametrize("forged", FORGED)
def test_what_has_not_the_form_is_no_manifest(forged: object) -> None:
    assert is_manifest(WHOLE)
    assert not is_manifest(forged)
