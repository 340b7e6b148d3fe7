"""What a server tells a kernel: there and back as one text, and nothing is granted by what is not understood."""

from __future__ import annotations

import json

import pytest

from mcc_jupyter.core.handed import VARIABLE, Handed, read
from mcc_jupyter.core.names import is_reserved


def said(handed: Handed | None) -> dict[str, object] | None:
    return None if handed is None else {name: getattr(handed, name) for name in Handed.__slots__}


FULL = Handed(policy="/p/mcc.toml", root="/r", user="ana\u00e9", groups=("ops", "dev"), workspace="/r/a.ipynb", kernel="k1")


@pytest.mark.parametrize("handed", [FULL, Handed(), Handed(user="ana", groups=None), Handed(workspace="")])
def test_what_is_said_is_what_is_understood(handed: Handed) -> None:
    assert said(read(handed.text())) == said(handed)
    assert handed.text().isascii()


@pytest.mark.parametrize("text", ["", "x", "[]", "null", '"a"', "1", "[" * 100_000])
def test_what_no_server_wrote_is_nothing(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize("groups", ["ops", {"ops": 1}, 1, [1, None]])
def test_groups_that_are_no_names_are_no_groups(groups: object) -> None:
    found = read(json.dumps({"user": "ana", "groups": groups}))
    assert found is not None
    assert found.groups == ()


def test_groups_that_are_not_said_are_none_and_null_is_all() -> None:
    assert [found.groups for found in (read("{}"), read('{"groups": null}')) if found is not None] == [(), None]


@pytest.mark.parametrize("name", ["policy", "root", "user", "workspace", "kernel"])
@pytest.mark.parametrize("value", [1, None, [], {}, "a\0b"])
def test_what_is_no_text_is_not_said(name: str, value: object) -> None:
    assert said(read(json.dumps({name: value}))) == said(Handed())


def test_the_notebook_is_known_where_both_halves_are() -> None:
    assert FULL.notebook == ("/r/a.ipynb", "k1")
    assert [Handed(workspace=workspace, kernel=kernel).notebook for workspace, kernel in (("", "k"), (None, "k"), ("/a", None))] == [None] * 3


def test_another_policy_changes_nothing_else() -> None:
    assert said(FULL.under("/q.toml")) == {**(said(FULL) or {}), "policy": "/q.toml"}


def test_no_tool_gets_it() -> None:
    assert is_reserved(VARIABLE)
