"""Two locks: what is wider, what is narrower, one line a change; and the text of a lock there and back."""

from __future__ import annotations

import tomllib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcc_jupyter.core.access import FULL_COPY, KINDS, access, made
from mcc_jupyter.core.errors import DeclarationError
from mcc_jupyter.core.lock import Lock, compare, conflict, lock_of, named, text_of

BASE = "name: pg_query\nexec: echo"

CHANGES = [
    # before, after, the lines
    (BASE, BASE, []),
    (BASE, f"{BASE}\nenv_passthrough: [GITHUB_TOKEN]", ["pg_query +GITHUB_TOKEN passthrough"]),
    (f"{BASE}\nenv_passthrough: [GITHUB_TOKEN]", BASE, ["pg_query -GITHUB_TOKEN passthrough"]),
    (f"{BASE}\nenv_passthrough: [AWS_REGION]", f"{BASE}\nenv_passthrough: [AWS_*]", ["pg_query +AWS_* passthrough"]),
    (f"{BASE}\nenv_passthrough: [AWS_*]", f"{BASE}\nenv_passthrough: [AWS_REGION]", ["pg_query -AWS_* passthrough"]),
    (f"{BASE}\nenv_passthrough: [AWS_*]", f"{BASE}\nenv_passthrough: [AWS_*, AWS_REGION]", []),
    (BASE, f"{BASE}\nenv_passthrough: true", [f"pg_query +{FULL_COPY} passthrough"]),
    (f"{BASE}\nenv_passthrough: [A]", f"{BASE}\nenv_passthrough: [B]", ["pg_query -A passthrough", "pg_query +B passthrough"]),
    (f"{BASE}\noptional_env: [A]", f"{BASE}\nrequired_env: [A]", []),
    (f"{BASE}\nrequired_env: [A]", f"{BASE}\noptional_env: [A]", []),
    (f"{BASE}\nenv_passthrough: [A]", f"{BASE}\nrequired_env: [A]", []),
    (f"{BASE}\nrequired_env: [A]", f"{BASE}\nrequired_env: {{A: B}}", ["pg_query -A required", "pg_query +A (from B) required"]),
    (BASE, f"{BASE} $A", ["pg_query +A reference"]),
    (BASE, f"{BASE}\nenv: {{A: b}}", ["pg_query +A env"]),
    (f"{BASE}\nenv: {{A: b}}", f"{BASE}\nenv: {{A: c}}", []),
    (BASE, f"{BASE}\nenv_file: .env", ["pg_query +.env env_file"]),
    (BASE, f"{BASE}\nsecret_files: {{A: x}}", ["pg_query +A secret_file"]),
    (BASE, f"{BASE}; curl https://evil.example/", ["pg_query +evil.example host", "pg_query +curl program"]),
    (BASE, f"{BASE}\nisolation: off", ["pg_query +off isolation"]),
    (f"{BASE}\nisolation: off", BASE, ["pg_query -off isolation"]),
    (f"{BASE}\ngroups: [ops]", BASE, ["pg_query +public group"]),
    (BASE, f"{BASE}\ngroups: [ops]", ["pg_query -public group"]),
    (f"{BASE}\ngroups: [ops]", f"{BASE}\ngroups: [ops, admin]", []),
    (BASE, f"{BASE}\nredact: {{never: [A]}}", ["pg_query +A unredacted"]),
    (BASE, "name: pg_query\nexec: [./run]", ["pg_query +./run program"]),
    (BASE, f"{BASE} again\nparams: [{{name: a}}]\ndescription: x\nlimits: {{timeout: 5}}\nstdin: true\ncwd: /x\ncache_ttl: 4", []),
    ("fn: m:pg_query", "fn: other:pg_query", ["pg_query -m:pg_query function", "pg_query +other:pg_query function"]),
    ("fn: m:pg_query", "fn: m:pg_query\npython: python3.9", ["pg_query +python3.9 interpreter"]),
    (BASE, "fn: m:pg_query", ["pg_query -exec tool", "pg_query +fn tool", "pg_query +m:pg_query function"]),
    ("[]", f"{BASE}\nenv_passthrough: [A]\nrequired_env: [B]", ["pg_query +exec tool", "pg_query +A passthrough", "pg_query +B required"]),
    (f"{BASE}\nrequired_env: [B]", "[]", ["pg_query -exec tool", "pg_query -B required"]),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "expected"), CHANGES)
def test_a_change_of_access_is_one_line_with_its_sign(declared: Callable[..., object], before: str, after: str, expected: list[str]) -> None:
    def lock(text: str) -> Lock:
        return {"nb.ipynb": {tool.name: access(tool) for tool in declared(text).tools}}  # type: ignore[attr-defined]

    found = compare(lock(before), lock(after))

    assert [str(change) for change in found] == expected
    assert [change.wider for change in found] == ["+" in line for line in expected]
    assert all(change.file == "nb.ipynb" for change in found)


def test_changes_are_sorted_by_file_tool_and_kind() -> None:
    new = {"b": {"t": made({"env": ["Z", "A"], "tool": ["exec"]})}, "a": {"z": made({"tool": ["exec"]}), "y": made({"tool": ["fn"]})}}

    assert [(change.file, str(change)) for change in compare({}, new)] == [
        ("a", "y +fn tool"), ("a", "z +exec tool"), ("b", "t +exec tool"), ("b", "t +A env"), ("b", "t +Z env"),
    ]  # fmt: skip


def test_a_change_is_plain_data_too() -> None:
    (change,) = compare({}, {"a.ipynb": {"t": made({"tool": ["exec"]})}})

    assert change.json() == {"file": "a.ipynb", "tool": "t", "wider": True, "item": "exec", "kind": "tool"}


def test_tools_are_known_by_name_where_one_has_it(declared: Callable[..., object]) -> None:
    tools = declared("[{name: a, exec: x}, {name: b, exec: x}, {name: b, exec: x, groups: [ops]}]").tools  # type: ignore[attr-defined]

    assert list(named({tool.key: tool for tool in tools})) == ["a", "public.b", "ops.b"]


_names = st.sampled_from(["A", "B", "AB", "A*", "A?", "*", "PATH", "A (from B)", "B (from A)", FULL_COPY, "public", "admin", "ops", "dynamic", "a.example", 'x "y" \\ ü', "#", "off"])
_accesses = st.dictionaries(st.sampled_from(list(KINDS)), st.lists(_names, min_size=1, max_size=4), min_size=1, max_size=5).map(made)
_locks = st.dictionaries(
    st.sampled_from(["a.ipynb", "sub folder/b.yaml", 'c"é.ipynb', "d\\.x"]), st.dictionaries(st.sampled_from(["t", "u.v", "%%mcc_sh"]), _accesses, min_size=1), max_size=3
)  # fmt: skip


@given(_locks)
def test_equal_locks_are_silent(lock: Lock) -> None:
    assert compare(lock, lock) == []


@given(_locks)
def test_a_lock_survives_its_text(lock: Lock) -> None:
    text = text_of(lock)

    assert lock_of(tomllib.loads(text)) == lock
    assert text_of(lock_of(tomllib.loads(text))) == text


@given(_locks, _locks)
def test_what_is_wider_one_way_is_narrower_the_other(one: Lock, other: Lock) -> None:
    def told(old: Lock, new: Lock, *, wider: bool) -> list[tuple[str, str, str, str]]:
        return [(change.file, change.tool, change.item, change.word) for change in compare(old, new) if change.wider is wider]

    assert told(one, other, wider=True) == told(other, one, wider=False)


@given(_locks, _locks)
def test_a_lock_without_what_was_wider_has_nothing_wider(one: Lock, other: Lock) -> None:
    """Both locks together allow all that either does."""
    union = {file: {tool: one.get(file, {}).get(tool, made({})) | other.get(file, {}).get(tool, made({})) for tool in {*one.get(file, {}), *other.get(file, {})}} for file in {*one, *other}}

    assert not [change for change in compare(union, other) if change.wider]


def test_the_text_is_sorted_with_an_item_a_line_and_does_not_depend_on_the_order() -> None:
    lock = {"b.ipynb": {"t": made({"tool": ["fn"]})}, "a.ipynb": {"z": made({"env": ["B", "A"], "tool": ["exec"]})}}
    text = text_of(lock)

    assert text == text_of(dict(reversed(lock.items())))
    assert text.partition("version")[2] == (
        ' = 1\n\n[files."a.ipynb"."z"]\ntool = ["exec"]\nenv = [\n  "A",\n  "B",\n]\n\n[files."b.ipynb"."t"]\ntool = ["fn"]\n'
    )
    assert lock_of(tomllib.loads(text_of({}))) == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "has no version, and this program reads version 1 alone"),
        ("version = 2", "has version 2, and this program reads version 1 alone"),
        ("version = true", "has no version, and this program reads version 1 alone"),
        ('version = "1"', "has no version, and this program reads version 1 alone"),
        ("version = 1\nother = 2", "unknown key `other`; another version of this program wrote it"),
        ("version = 1\nfiles = 3", "files: expected a table"),
        ("version = 1\n[files]\na = 3", "a: expected a table"),
        ("version = 1\n[files.a]\nt = 3", "a: t: expected a table"),
        ("version = 1\n[files.a.t]\nenvy = []", "a: t: unknown key `envy`; another version of this program wrote it"),
        ('version = 1\n"\\u001b[2J" = 2', "unknown key `\\x1b[2J`; another version of this program wrote it"),
        ('version = 1\n[files."\\u001b"]\nt = 3', "\\x1b: t: expected a table"),
        ("version = 1\n[files.a.t]\nenv = 'A'", "a: t: env: expected a list of texts"),
        ("version = 1\n[files.a.t]\nenv = [1]", "a: t: env: expected a list of texts"),
    ],
)
def test_what_is_no_lock_is_one_clear_error(text: str, expected: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        lock_of(tomllib.loads(text))

    assert str(caught.value) == expected


def test_a_list_is_no_lock() -> None:
    with pytest.raises(DeclarationError) as caught:
        lock_of([])

    assert str(caught.value) == "has no version, and this program reads version 1 alone"


@pytest.mark.parametrize(("text", "line"), [("a\n<<<<<<< HEAD\n", 2), ("=======\n", 1), (">>>>>>> x", 1), ("||||||| y", 1), ("version = 1\n", None), ('"<<<<<<< "', None)])
def test_the_mark_of_a_merge_conflict_is_found(text: str, line: int | None) -> None:
    assert conflict(text) == line
