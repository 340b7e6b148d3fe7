"""The known leaks of other systems, each tried here: what a declaration, a report, a failure and a log may say."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from mcc_jupyter.core.errors import DeclarationError, ToolFailed
from mcc_jupyter.core.report import Report

from .conftest import World

SECRET = "s3nt1nel-0f-th1s-f1le"
MakeWorld = Callable[..., World]


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    return make_world({"TOKEN": SECRET})


def shown(report: Report) -> str:
    return f"{report.text()}\n{report.html()}\n{json.dumps(report.json())}\n{report!r}"


@pytest.mark.parametrize("text", [f"name: t\nexec: x\nTOKEN: abc: {SECRET}", f"name: t\nexec: x\nenv: {{A: {SECRET}", f"- {SECRET}\n :"])
def test_LEAK_04_an_error_in_yaml_quotes_no_line(world: World, text: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        world.add(text)
    assert "line " in str(caught.value)
    assert SECRET not in f"{caught.value}{caught.value!r}"
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


FIELDS = (
    "fn", "exec", "curl", "params", "groups", "env", "env_file", "env_passthrough", "required_env", "optional_env", "cwd", "python", "stdin", "limits",
    "transform", "cache_ttl", "fresh", "isolation", "secret_files", "redact",
)  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
def test_LEAK_05_a_wrong_field_is_told_without_what_stands_in_it_or_beside_it(world: World, field: str) -> None:
    wrong = {"unexpected": {"deep": [SECRET, 1.5, True]}}
    document: dict[str, object] = {"name": "t", "env": {"PW": SECRET}}
    document |= {"exec": "x"} if field not in ("fn", "curl", "python", "fresh") else {"fn": "json:loads"} if field != "curl" else {}
    added = world.add({**document, field: wrong})

    assert added.problems
    assert not added.tools
    assert SECRET not in "".join(map(repr, added.problems)) + "".join(map(str, added.problems))


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"limits": {"timeout": 0.2}, "exec": "echo $TOKEN; sleep 9"}, id="a time-out"),
        pytest.param({"exec": "echo $TOKEN >&2; exit 3"}, id="an exit code"),
        pytest.param({"exec": ["no-such-program", "{{ secret }}"], "params": [{"name": "secret", "default": SECRET}]}, id="no program"),
        pytest.param({"exec": "echo", "cwd": "$TOKEN"}, id="no folder"),
    ],
)
def test_LEAK_06_a_failure_does_not_tell_the_command(world: World, fields: dict[str, object]) -> None:
    world.declare({"name": "t", "required_env": ["TOKEN"], **fields})
    outcome = world.box.call("t")

    assert not outcome.ok
    with pytest.raises(ToolFailed) as caught:
        outcome.raise_for_failure()
    assert SECRET not in f"{outcome!r}{outcome.failure}{outcome.stdout}{outcome.stderr}{outcome.notes}{caught.value}{caught.value!r}"


def test_LEAK_08_a_credential_written_into_a_cell_is_warned_of_without_it(world: World) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 4
    added = world.add(f"name: t\nexec: x\nenv: {{GITHUB_TOKEN: {token}}}")

    notes = [note for report in added.reports for note in report.notes]
    assert notes == ["warning: env.GITHUB_TOKEN: looks like a credential and stands in the notebook; use a reference"]
    assert token not in "".join(map(shown, added.reports))


def test_LEAK_11_a_report_shows_no_length_no_beginning_and_no_change_of_a_value(make_world: MakeWorld) -> None:
    reports = []
    for value in ("a-value", "an0ther-value-that-is-much-longer" * 3):
        world = make_world({"TOKEN": value})
        world.declare({"name": "t", "exec": "echo ${TOKEN}", "env": {"COPY": "${TOKEN}"}, "required_env": ["TOKEN"], "cwd": "/"})
        first = shown(world.box.report("t"))
        world.variables["TOKEN"] = f"changed-{value}"
        reports += [first, shown(world.box.report("t"))]

    assert len(set(reports)) == 1


def test_LEAK_12_a_report_shows_a_path_as_it_was_written(make_world: MakeWorld) -> None:
    reports = []
    for _ in range(2):
        world = make_world()
        (world.folder / "prod.env").write_text("A=1\n")
        world.declare({"name": "t", "exec": "x", "env_file": "./prod.env"})
        reports.append(shown(world.box.report("t")))
        assert str(world.folder) not in reports[-1]

    assert reports[0] == reports[1]


def test_LEAK_19_a_log_holds_no_argument_no_command_and_no_value(world: World, caplog: pytest.LogCaptureFixture) -> None:
    override = "0verride-0f-the-param"
    params = [{"name": "said"}, {"name": "key", "override": override}]
    world.declare({"name": "t", "exec": "echo {{ said|quote }} {{ key|quote }} $TOKEN", "params": params, "required_env": ["TOKEN"]})
    with caplog.at_level(logging.DEBUG):
        outcome = world.box.call("t", {"said": "an-argument-0f-the-call"})

    assert outcome.ok
    for text in (SECRET, override, "an-argument-0f-the-call", "echo"):
        assert text not in caplog.text


def test_PROC_12_what_a_function_prints_is_shown_before_it_ends(world: World, tmp_path: Path) -> None:
    go = tmp_path / "go"
    world.module("slow", f"import os, time\ndef run():\n    print('begun')\n    while not os.path.exists({str(go)!r}):\n        time.sleep(0.01)\n")
    world.declare({"name": "t", "fn": "slow:run", "fresh": True, "limits": {"timeout": 30}})

    outcome = world.box.call("t", show=lambda _, text: go.touch() if "begun" in text else None)

    assert (outcome.ok, outcome.stdout) == (True, "begun\n")
