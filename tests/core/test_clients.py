"""Free text that reaches an interpreter or client, and the programs that count as one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mcc_jupyter.core.clients import free_texts, is_client, programs
from mcc_jupyter.core.tool import Tool

Q = {"name": "q"}


@pytest.mark.parametrize(
    ("exec_", "expected"),
    [
        ("psql -c {{ q | quote }}", [("q", "psql")]),
        ("/usr/bin/psql -c {{ q | quote }}", [("q", "psql")]),
        ("PGUSER=x psql -c {{ q | quote }}", [("q", "psql")]),
        ("sudo -u me psql -c {{ q | quote }}", [("q", "psql")]),
        ("sqlite3 a.db {{ q | quote }}", [("q", "sqlite3")]),
        ("git log -- {{ q | quote }}", [("q", "git")]),
        ("ssh host -- {{ q | quote }}", [("q", "ssh")]),
        ("python3.11 -c {{ q | quote }}", [("q", "python3.11")]),
        ("python3 job.py {{ q | quote }}", [("q", "python3")]),
        ("bash -c {{ q | quote }}", [("q", "bash")]),
        ("sh -ec {{ q | quote }}", [("q", "sh")]),
        ("sh job.sh {{ q | quote }}", []),
        ("eval {{ q | quote }}", [("q", "eval")]),
        ("docker exec box psql -c {{ q | quote }}", [("q", "docker")]),
        ("curl https://a.example/{{ q }}", [("q", "curl")]),
        ("perl -e {{ q | quote }}", [("q", "perl")]),
        ("echo {{ q | quote }}", []),
        ("echo {{ q | quote }} | psql", [("q", "psql")]),
        ("printf %s {{ q | quote }} | tr a b | psql", [("q", "psql")]),
        ("echo {{ q | quote }} || psql", []),
        ("echo {{ q | quote }} >| psql", []),
        ("echo {{ q | quote }}\npsql", []),
        ("grep {{ q | quote }} | psql", []),
        ("psql <<EOF\nselect {{ q }};\nEOF", [("q", "psql")]),
        ("cat <<'EOF' | psql\nselect {{ q }};\nEOF", [("q", "psql")]),
        ("echo a\ncat <<EOF\n{{ q }}\nEOF\npsql", []),
        ("<<EOF\n{{ q }}\nEOF", []),
        ('Q={{ q | quote }}\npsql -c "$Q"', [("q", "psql")]),
        ('Q={{ q | quote }}\npsql -c "$OTHER"', []),
        ('for f in a {{ q | quote }}; do git show "$f"; done', [("q", "git")]),
        ("for {{ q | quote }}", []),
        ("psql -c 'select 1' > {{ q | quote }}", []),
        ("psql {% if q %}-c {{ q | quote }}{% endif %}", [("q", "psql")]),
        ("{% set x = q %}psql -c {{ x | quote }}", [("q", "psql")]),
        ("psql -c {{ q | length }}", []),
        ("psql -c {{ 'text' }}", []),
        ("{{ q | quote }} psql", []),
        (["psql", "-c", "{{ q }}"], [("q", "psql")]),
        (["env", "psql", "-c", "{{ q }}"], [("q", "psql")]),
        (["sh", "run.sh", "{{ q }}"], []),
        (["echo", "{{ q }}"], []),
    ],
)  # fmt: skip
def test_free_text_that_reaches_a_client_is_told(one: Callable[..., Tool], exec_: object, expected: list[tuple[str, str]]) -> None:
    assert free_texts(one({"name": "t", "exec": exec_, "params": [Q]})) == expected


@pytest.mark.parametrize(
    ("param", "told"),
    [
        (Q, True),
        ({"name": "q", "type": "list"}, True),
        ({"name": "q", "type": "int"}, False),
        ({"name": "q", "enum": ["a", "b; c"]}, False),
        ({"name": "q", "override": "x"}, False),
        ({"name": "q", "default": "x"}, True),
    ],
)
def test_what_a_caller_cannot_choose_freely_is_not(one: Callable[..., Tool], param: dict[str, object], told: bool) -> None:
    assert bool(free_texts(one({"name": "t", "exec": "echo {{ q | quote }} | psql", "params": [param]}))) is told


def test_of_a_curl_tool_only_the_filter_counts(one: Callable[..., Tool]) -> None:
    assert free_texts(one({"name": "t", "curl": "https://a.example/{{ q }}", "params": [Q]})) == []
    assert free_texts(one({"name": "t", "curl": "https://a.example/", "transform": "jq {{ q | quote }}", "params": [Q]})) == [("q", "jq")]


@pytest.mark.parametrize(
    ("exec_", "expected"),
    [
        ("ls | sort", set()),
        ("psql; echo | ssh host; nice python3 x", {"psql", "ssh", "python3"}),
        ("xargs curl", {"curl"}),
        ("$PROGRAM x", set()),
        (["/opt/x", "psql"], {"/opt/x"}),
        (["sudo", "psql"], {"sudo", "psql"}),
    ],
)
def test_the_programs_of_a_tool(one: Callable[..., Tool], exec_: object, expected: set[str]) -> None:
    assert programs(one({"name": "t", "exec": exec_})) == expected


@pytest.mark.parametrize(("program", "expected"), [("psql", True), ("bash", True), ("node", True), ("python3.12", True), ("sort", False), ("", False)])
def test_interpreters_and_clients(program: str, expected: bool) -> None:
    assert is_client(program) is expected
