"""SPEC 7.13: what a failed call's output tells about the environment it did not get."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcc_jupyter.core.bodies import Body
from mcc_jupyter.core.policy import resolve
from mcc_jupyter.core.resolution import Resolution
from mcc_jupyter.core.tool import Argv, Curl, Function, Grant, Origin, Shell, Text, Tool
from mcc_jupyter.runtime.hints import mentions, program_paths

PARENT = {"GITHUB_TOKEN": "x", "AWS_PROFILE": "x", "GRANTED": "x", "lower_name": "x", "API": "x", "HTTPS_PROXY": "x"}


def tool(body: Body, cwd: str = "/", **fields: object) -> Tool:
    return Tool(name="t", body=body, origin=Origin("cell", "cell"), cwd=Text(cwd, cwd), **fields)  # type: ignore[arg-type]


def resolution(path: str | None = None) -> Resolution:
    granted = tool(Shell("true", "true"), optional_env=(Grant("GRANTED", "GRANTED"),))
    return resolve(granted, parent=PARENT if path is None else {**PARENT, "PATH": path}, floor=("PATH",))


def line(name: str) -> str:
    return f"mentions {name}, which exists here and is not granted; to grant it add `optional_env: [{name}]`"


MENTIONS = [
    ("error: GITHUB_TOKEN is not set", ["GITHUB_TOKEN"]),
    ("KeyError: 'AWS_PROFILE'\nset GITHUB_TOKEN or $AWS_PROFILE", ["AWS_PROFILE", "GITHUB_TOKEN"]),
    ("${GITHUB_TOKEN}", ["GITHUB_TOKEN"]),
    ("MY_GITHUB_TOKEN GITHUB_TOKEN2 xGITHUB_TOKEN", []),
    ("GRANTED is there already", []),
    ("NOT_IN_THE_PARENT is missing", []),
    ("lower_name", []),
    ("API", []),
    ("github_token", []),
    ("the key [redacted:GITHUB_TOKEN] is wrong", []),
    ("[redacted:AWS_PROFILE] GITHUB_TOKEN", ["GITHUB_TOKEN"]),
    ("ÄGITHUB_TOKEN", ["GITHUB_TOKEN"]),
    ("", []),
]


@pytest.mark.parametrize(("output", "names"), MENTIONS)
def test_what_the_output_names_the_parent_has_and_the_tool_lacks_is_told_once_with_the_line_to_add(
    output: str, names: list[str]
) -> None:
    assert list(mentions(output, resolution(), PARENT)) == [line(name) for name in names]


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    for name in ("bin/git", "bin/jq", "bin/curl", "work/run.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "bin" / "plain").write_text("")
    return tmp_path


def test_a_programs_path_is_the_one_that_the_childs_own_path_gives(programs: Path) -> None:
    found = program_paths(tool(Shell("git log | jq . && nothere; plain", "")), resolution(str(programs / "bin")))
    assert found == {"git": f"{programs}/bin/git", "jq": f"{programs}/bin/jq", "nothere": None, "plain": None}


def test_a_program_with_a_slash_begins_at_the_tools_folder(programs: Path) -> None:
    found = program_paths(tool(Shell("./run.sh; ./gone.sh; /bin/sh -c x", ""), str(programs / "work")), resolution("/nowhere"))
    assert found == {"./run.sh": f"{programs}/work/./run.sh", "./gone.sh": None, "/bin/sh": "/bin/sh"}


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (Argv(("git", "log"), ("git", "log")), ["git"]),
        (Argv(("$HOME/bin/x",), ("x",)), []),
        (Argv(("{{ program }}",), ("{{ program }}",)), []),
        (Curl(Shell("https://h.test/", "")), ["curl"]),
        (Curl(Shell("-s https://h.test/ | jq .", "")), ["curl", "jq"]),
        (Function("m:f"), []),
    ],
    ids=["a list", "a list with a variable", "a list with a template", "curl", "curl and more", "a function"],
)
def test_each_kind_of_tool_has_its_programs(body: Body, names: list[str], programs: Path) -> None:
    assert program_paths(tool(body), resolution(str(programs / "bin"))) == {name: f"{programs}/bin/{name}" for name in names}


def test_a_child_without_a_path_finds_nothing_on_it() -> None:
    assert program_paths(tool(Shell("git log", "")), resolution()) == {"git": None}
