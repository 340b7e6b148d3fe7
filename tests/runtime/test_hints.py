"""SPEC 7.13: what a failed call's output tells about the environment it did not get."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcc_jupyter.core.bodies import Body
from mcc_jupyter.core.dotenv import parse
from mcc_jupyter.core.policy import resolve
from mcc_jupyter.core.resolution import Resolution
from mcc_jupyter.core.tool import Argv, Curl, EnvFile, Function, Grant, Origin, Reference, Shell, Text, Tool
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


SHOWN = "not shown"


def text(name: str, value: str) -> Text:
    return Text(f"${{{name}}}", value, references=(Reference(name, value),))


@pytest.mark.parametrize(
    ("fields", "parent", "at"),
    [
        pytest.param({"env": {"PATH": ("FOLDER", "bin")}}, {}, SHOWN, id="a reference"),
        pytest.param({"env": {"PATH": ("FOLDER", "bin")}, "never_redact": {"FOLDER"}}, {}, None, id="one that is no secret"),
        pytest.param({"env": {"PATH": ("HOME", "bin")}}, {}, None, id="a well-known reference"),
        pytest.param({"required_env": (Grant("PATH", "FOLDER"),)}, {"FOLDER": "bin"}, SHOWN, id="a grant of another name"),
        pytest.param({"env_files": (EnvFile("f", "/f"),)}, {}, SHOWN, id="an env_file"),
    ],
)
def test_a_place_that_only_the_parent_knows_is_not_shown(
    fields: dict[str, Any], parent: dict[str, str], at: str | None, programs: Path
) -> None:
    folder = str(programs / "bin")
    if "env" in fields:
        fields = {**fields, "env": {"PATH": text(fields["env"]["PATH"][0], folder)}}
    declared = tool(Shell("git log; nothere; /bin/sh x", ""), **fields)
    files = tuple(parse(f"PATH={folder}", path="f") for _ in declared.env_files)
    resolved = resolve(declared, parent=dict.fromkeys(parent, folder), floor=(), files=files)
    assert program_paths(declared, resolved) == {"git": at or f"{folder}/git", "nothere": None, "/bin/sh": "/bin/sh"}


def test_neither_is_one_in_a_folder_that_only_the_parent_knows(programs: Path) -> None:
    declared = replace(tool(Shell("./run.sh; ./gone.sh; git x; /bin/sh x", "")), cwd=text("FOLDER", str(programs / "work")))
    assert program_paths(declared, resolution(str(programs / "bin"))) == {
        "./run.sh": SHOWN,
        "./gone.sh": None,
        "git": f"{programs}/bin/git",
        "/bin/sh": "/bin/sh",
    }


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
