"""What is offered at a cursor in a YAML cell: ``|`` is where it stands."""

from __future__ import annotations

import pytest

from mcc_jupyter.core.cell_help import suggestions
from mcc_jupyter.core.declare import FIELDS
from mcc_jupyter.core.tool import TYPES

NAMES = ("PGPASSWORD", "PGHOST", "HOME")


def at(text: str) -> list[str]:
    before = text.partition("|")[0]
    above, newline, line = before.rpartition("\n")
    return suggestions(above + newline, line, NAMES)


def fields(text: str) -> set[str]:
    found = at(text)
    assert all(field.endswith(": ") for field in found)
    return {field.removesuffix(": ") for field in found}


@pytest.mark.parametrize(
    "text",
    [
        "required_env: [|",
        "required_env: [PGHOST, PG|",
        "optional_env:\n  - PG|",
        "optional_env:\n- A\n- PG|",
        "- name: x\n  env_passthrough:\n    - |",
        "env:\n  A: ${PG|",
        "exec: echo ${|",
    ],
)
def test_where_a_name_is_wanted_the_names_are_offered(text: str) -> None:
    assert at(text) == ["HOME", "PGHOST", "PGPASSWORD"]


@pytest.mark.parametrize("text", ["|", "na|", "- |", "- name: a\n- |", "tools:\n  - |"])
def test_a_tool_has_its_fields(text: str) -> None:
    assert {"name", "exec", "required_env", "secret_files"} <= fields(text) <= {*FIELDS, "tools"}


def test_a_field_that_stands_there_is_not_offered_again() -> None:
    assert not {"name", "exec"} & fields("name: x\nexec: |\n  echo\nre|")
    assert "name" not in fields("- name: a\n  exec: x\n  |")
    assert "exec" in fields("- name: a\n  exec: x\n- name: b\n  |")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("params:\n  - |", {"name", "type", "required", "default", "description", "example", "override", "enum"}),
        ("params:\n  - name: a\n    ty|", {"type", "required", "default", "description", "example", "override", "enum"}),
        ("params:\n- na|", {"name", "type", "required", "default", "description", "example", "override", "enum"}),
        ("redact:\n  |", {"never"}),
    ],
)
def test_what_stands_under_a_key_has_its_own_keys(text: str, expected: set[str]) -> None:
    assert fields(text) == expected


def test_limits_and_types() -> None:
    assert {"timeout", "output_mb"} <= fields("name: x\nlimits:\n  |")
    assert at("params:\n  - {name: a, type: |") == list(TYPES)
    assert at("params:\n  - name: a\n    type: i|") == list(TYPES)


@pytest.mark.parametrize(
    "text",
    ["name: x|", "name: x\n  re|", "env:\n  A|", "required_env: [A] |", "exec: |-|", "  re|", "params:\n  - {na|", "- - |"],
)
def test_elsewhere_nothing_is_offered(text: str) -> None:
    assert at(text.replace("|-|", ">-|")) == []
