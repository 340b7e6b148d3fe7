"""A policy file in a lock: what its tools, workspaces and cells get, and what counts as more."""

from __future__ import annotations

import tomllib

import pytest

from mcc_jupyter.core.access_policy import policy_access
from mcc_jupyter.core.authority import Authority
from mcc_jupyter.core.authority_reading import read_policy
from mcc_jupyter.core.declare import Place
from mcc_jupyter.core.lock import compare, lock_of, text_of
from mcc_jupyter.core.tool import DEFAULT_FLOOR, Origin

TOOLS = """
[tools.db]
exec = "psql"
required_env = ["PGPASSWORD"]
[tools.web]
exec = "x"
[profiles.a]
tools = ["db"]
[profiles.b]
includes = ["a"]
tools = ["web"]
"""


def lines(old: str, new: str) -> list[str]:
    """What the second of two files has more and less than the first, as `check` tells it."""
    locks = []
    for text in (old, new):
        place = Place({}, DEFAULT_FLOOR, "/w", "/h", Origin("policy", "mcc.toml"))
        authority = read_policy(tomllib.loads(text + TOOLS if text.startswith("env_floor") else TOOLS + text), place)
        assert isinstance(authority, Authority), authority
        lock = {"mcc.toml": policy_access(authority)}
        assert lock_of(tomllib.loads(text_of(lock))) == lock
        locks.append(lock)
    assert compare(locks[0], locks[0]) == []
    return [str(change) for change in compare(*locks)]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # what cells may ask
        ('[grants]\nallow = ["AWS_*"]', '[grants]\nallow = ["AWS_*"]', []),
        ('[grants]\nallow = ["AWS_*"]', '[grants]\nallow = ["AWS_REGION"]', ["[grants] -AWS_* allowed"]),
        ('[grants]\nallow = ["AWS_REGION"]', '[grants]\nallow = ["AWS_*"]', ["[grants] +AWS_* allowed"]),
        ("", '[grants]\nallow = ["A"]\ndeny = ["B*"]', ["[grants] +A except B* allowed"]),
        ('[grants]\nallow = ["A*"]\ndeny = ["AB*"]', '[grants]\nallow = ["A*"]', ["[grants] +A* allowed"]),
        ('[grants]\nallow = ["A*"]', '[grants]\nallow = ["A*"]\ndeny = ["AB*"]', ["[grants] -A* allowed"]),
        ('[grants]\nallow = ["A*"]\ndeny = ["ABC"]', '[grants]\nallow = ["A*"]\ndeny = ["AB*"]', ["[grants] -A* except ABC allowed"]),
        # which workspaces have what
        ('[workspaces]\nx = {profiles = ["a"]}', '[workspaces]\nx = {profiles = ["b"]}', ["[workspaces.x] +web granted"]),
        ('[workspaces]\nx = {profiles = ["b"]}', '[workspaces]\nx = {profiles = ["a"]}', ["[workspaces.x] -web granted"]),
        (
            '[workspaces]\nx = {profiles = ["a"], users = ["ana"]}',
            '[workspaces]\nx = {profiles = ["a"]}',
            ["[workspaces.x] +everyone user"],
        ),
        (
            '[workspaces]\nx = {profiles = ["a"]}',
            '[workspaces]\nx = {profiles = ["a"], users = ["ana"], groups = ["ops"]}',
            ["[workspaces.x] -everyone user"],
        ),
        (
            '[workspaces]\nx = {profiles = ["a"], users = ["ana"]}',
            '[workspaces]\nx = {profiles = ["a"], groups = ["ops"]}',
            ["[workspaces.x] +group ops user", "[workspaces.x] -user ana user"],
        ),
        # the floor
        ("", 'env_floor = ["PATH", "TEAM_NAME"]', ["env_floor = +TEAM_NAME floor"]),
        ("", 'env_floor = ["PATH"]', []),
    ],
)
def test_what_counts_as_more(old: str, new: str, expected: list[str]) -> None:
    assert lines(old, new) == expected


def test_a_tool_that_is_exposed_or_switched_off() -> None:
    more = '[tools.own]\ntype = "workspace"\nrequired_env = ["TOKEN"]\n'
    assert lines("", more) == ["own +workspace tool", "own +TOKEN required", "own +TOKEN exposed"]
    assert lines(more + "enabled = false\n", more) == lines("", more)
    off = '[tools.hid]\nexec = "x"\nrequired_env = ["T"]\n'
    assert lines(off, off + "expose_env_to_workspace = true\n") == ["hid +T exposed"]
