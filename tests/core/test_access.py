"""What a declaration says a tool may get, kind by kind, and what counts as more than before."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcc_jupyter.core.access import FULL_COPY, KINDS, Access, access, includes, made, printable
from mcc_jupyter.core.declare import Place, declare
from mcc_jupyter.core.tool import DEFAULT_FLOOR, Curl, Origin, Tool

PLAIN = {"tool": {"exec"}, "groups": {"public"}}


def items(tool: Tool, **how: bool) -> dict[str, set[str]]:
    return {kind: set(found) for kind, found in access(tool, **how).items.items()}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("exec: echo", {}),
        ("env_passthrough: [AWS_*, HOME2]\nexec: echo", {"passthrough": {"AWS_*", "HOME2"}}),
        ("env_passthrough: true\nexec: echo $ANYTHING", {"passthrough": {FULL_COPY}}),
        ("required_env: [A]\nexec: echo $A", {"required": {"A"}}),
        ("required_env: {A: B}\nexec: echo", {"required": {"A (from B)"}}),
        ("optional_env: {A: B, C: C}\nexec: echo", {"optional": {"A (from B)", "C"}}),
        ("env: {A: one, B: $SECRET}\nexec: echo $A", {"env": {"A", "B"}, "references": {"SECRET"}}),
        ("env: {A: '${X:-${Y|$Z}}'}\nexec: echo", {"env": {"A"}, "references": {"X", "Y", "Z"}}),
        ("exec: echo $DB_PASSWORD ${NOT_SET:-x} ${own%x} $1", {"references": {"DB_PASSWORD", "NOT_SET"}}),
        ("exec: 'echo ${A:-${B:-$C}}'", {"references": {"A", "B", "C"}}),
        ("exec: echo $PWD $HOME $MCC_CTX_ROLE", {}),
        ("exec: echo\ntransform: grep $A", {"references": {"A"}}),
        ("exec: echo\ntransform: jq .", {"programs": {"jq"}}),
        ("exec: echo\ncwd: $PROJECT/x", {"references": {"PROJECT"}}),
        ("exec: echo\nparams: [{name: a, default: '${A:-5}', type: int}]", {"references": {"A"}}),
        ("exec: echo\nparams: [{name: a, override: $A}]", {"references": {"A"}}),
        ("exec: echo\nlimits: {timeout: '${T:-5}'}", {"references": {"T"}}),
        ("exec: echo\nenv_file: [.env, ~/x.env]", {"env_file": {".env", "~/x.env"}}),
        ("exec: echo\nsecret_files: {KUBECONFIG: $KUBE}", {"secret_files": {"KUBECONFIG"}, "references": {"KUBE"}}),
        ("exec: psql -c 1 | sudo ssh host", {"programs": {"psql", "ssh"}}),
        ("exec: [./deploy.sh, now]", {"programs": {"./deploy.sh"}}),
        ("exec: echo\nisolation: off", {"isolation": {"off"}}),
        ("exec: echo\ngroups: [ops, admin]", {"groups": {"ops", "admin"}}),
        ("exec: echo\ngroups: []", {"groups": {"public"}}),
        ("exec: echo\nredact: {never: [A]}", {"unredacted": {"A"}}),
        ('curl: >-\n  https://api.example/x -H "Authorization: $TOKEN"', {"tool": {"curl"}, "hosts": {"api.example"}, "references": {"TOKEN"}, "programs": {"curl"}}),
    ],
)  # fmt: skip
def test_the_access_of_a_tool_is_what_its_author_wrote(one: Callable[..., Tool], fields: str, expected: dict[str, set[str]]) -> None:
    """The same for a parent that has the names and one that has none."""
    for parent in ({}, dict.fromkeys(("SECRET", "DB_PASSWORD", "X", "A", "TOKEN"), "7")):
        assert items(one(f"name: t\n{fields}", parent=parent)) == PLAIN | expected


_fragments = st.lists(
    st.sampled_from(
        ["$A ", "${B} ", "'${C}' ", '"$D" ', "${E:-$F} ", "${G|${H}} ", "sh -c '${I}' ", "# $J\n", "cat <<X\n$K\nX\n", "cat <<'X'\n${L}\nX\n", "$(echo $M) ", "`echo ${N}` ", "${O%x} ", "$$P ", "| awk '${Q}' ", "; R=1 ", "$R "]
    ),
    min_size=1,
    max_size=6,
).map("".join)  # fmt: skip


@given(_fragments, st.lists(_fragments, max_size=2), st.booleans())
def test_whatever_a_declaration_takes_from_a_parent_is_in_its_access(script: str, env: list[str], curl: bool) -> None:
    document = {"name": "t", "curl" if curl else "exec": f"-d x {script}", "env": {f"E{at}": text for at, text in enumerate(env)}}
    parent = dict.fromkeys("ABCDEFGHIJKLMNOPQR", "7")
    for tool in declare(document, Place(parent, DEFAULT_FLOOR, "/", None, Origin("cell", "c"))).tools:
        shell = tool.body.shell if isinstance(tool.body, Curl) else tool.body
        taken = {reference.name for reference in (*tool.references, *shell.references)}  # type: ignore[union-attr]
        assert taken <= access(tool).of("references")


def test_a_function_is_told_by_its_target_and_interpreter(one: Callable[..., Tool]) -> None:
    assert items(one("fn: tools.db:query\npython: ~/venv/bin/python")) == {"tool": {"fn"}, "groups": {"public"}, "fn": {"tools.db:query"}, "python": {"~/venv/bin/python"}}


def test_of_a_script_that_runs_as_it_stands_no_name_is_a_reference(one: Callable[..., Tool]) -> None:
    tool = one("name: t\nexec: echo $A\nenv: {B: $C}")

    assert items(tool, verbatim=True) == PLAIN | {"env": {"B"}, "references": {"C"}}


def test_no_value_is_in_an_access(one: Callable[..., Tool]) -> None:
    tool = one("name: t\nexec: echo $DB_PASSWORD 'exec-text'\nenv: {A: literal-value, B: $DB_PASSWORD}\nsecret_files: {F: file-text}")

    shown = repr(access(tool))
    assert not [word for word in ("hunter2", "literal-value", "file-text", "exec-text") if word in shown]


def of(**kinds: list[str]) -> Access:
    return made(kinds)


COVERED = [
    # kind, item, what the access has, whether it has the item
    ("passthrough", "A", of(passthrough=["A"]), True),
    ("passthrough", "A", of(passthrough=["B"]), False),
    ("passthrough", "AWS_REGION", of(passthrough=["AWS_*"]), True),
    ("passthrough", "AWS_*", of(passthrough=["AWS_REGION"]), False),
    ("passthrough", "AWS_*", of(passthrough=["A*"]), True),
    ("passthrough", "AWS_*", of(passthrough=[FULL_COPY]), True),
    ("passthrough", FULL_COPY, of(passthrough=["*"]), False),
    ("passthrough", FULL_COPY, of(passthrough=[FULL_COPY]), True),
    ("passthrough", "A", of(required=["A"]), True),
    ("passthrough", "B", of(optional=["A (from B)"]), True),
    ("passthrough", "A", of(optional=["A (from B)"]), False),
    ("passthrough", "A", of(references=["A"]), True),
    ("passthrough", "A", of(env=["A"]), False),
    ("passthrough", "PATH", of(), True),
    ("required", "A", of(optional=["A"]), True),
    ("optional", "A", of(required=["A"]), True),
    ("required", "A", of(passthrough=["A*"]), True),
    ("required", "A", of(), False),
    ("required", "A (from B)", of(required=["A (from B)"]), True),
    ("required", "A (from B)", of(optional=["A (from B)"]), True),
    ("required", "A (from B)", of(passthrough=["*"]), False),
    ("required", "A (from B)", of(required=["A (from C)"]), False),
    ("references", "A", of(passthrough=["A"]), True),
    ("references", "A", of(passthrough=[FULL_COPY]), True),
    ("references", "A", of(env=["A"]), False),
    ("env_file", ".env", of(env_file=[".env"]), True),
    ("env_file", ".env.local", of(env_file=[".env"]), False),
    ("env", "A", of(env=["A"]), True),
    ("env", "A", of(passthrough=["*"]), False),
    ("secret_files", "A", of(secret_files=["B"]), False),
    ("hosts", "a.example", of(hosts=["a.example"]), True),
    ("hosts", "a.example", of(hosts=["b.example"]), False),
    ("hosts", "a.example", of(hosts=["dynamic"]), True),
    ("hosts", "dynamic", of(hosts=["a.example"]), False),
    ("hosts", "dynamic", of(hosts=["dynamic."]), False),
    ("programs", "ssh", of(programs=["psql"]), False),
    ("fn", "a:f", of(fn=["a:g"]), False),
    ("python", "python3", of(), False),
    ("isolation", "off", of(), False),
    ("groups", "public", of(groups=["ops"]), False),
    ("groups", "ops", of(groups=["public"]), True),
    ("groups", "ops", of(groups=["dev"]), False),
    ("groups", "admin", of(groups=["ops"]), True),
    ("unredacted", "A", of(env=["A"]), False),
    ("loads", "a.yaml", of(loads=["b.yaml"]), False),
    ("exposed", "A", of(required=["A"]), False),
    ("grants", "db", of(grants=["web"]), False),
    ("for", "user ana", of(**{"for": ["everyone"]}), True),
    ("for", "everyone", of(**{"for": ["user ana"]}), False),
    ("allow", "A_B", of(allow=["A_*"]), True),
    ("allow", "A_*", of(allow=["A_* except A_B"]), False),
    ("floor", "TZ", of(), False),
    ("tool", "exec", of(), False),
    ("tool", "exec", of(tool=["exec"]), True),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "item", "had", "expected"), COVERED)
def test_an_item_is_news_only_where_nothing_gave_it_before(kind: str, item: str, had: Access, expected: bool) -> None:
    assert KINDS[kind].has(had, item) is expected


def test_every_kind_is_in_the_table_above() -> None:
    assert {kind for kind, *_ in COVERED} == set(KINDS)


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"),
    [
        ("A*", "AB*", True),
        ("AB*", "A*", False),
        ("*", "?", True),
        ("?", "*", False),
        ("?", "[AB]", True),
        ("[AB]", "?", False),
        ("[AB]", "A", True),
        ("[AB]", "C", False),
        ("[AB]X*", "[AB]X*", True),
        ("[AB]*", "[AB]Y*", True),
        ("[ABC]", "[AB]", False),
        ("A*C", "A*B*C", True),
        ("A*B", "A*", False),
        ("**", "*", True),
        ("*A", "?A", True),
        ("A", "?", False),
        ("[!A]", "B", True),
        ("*A*B*", "AXB", True),
        ("B", "A*", False),
        ("*" + "a*" * 1000, "b*" * 1001, False),
        ("b*", "a" * 2001 + "*", False),
    ],
)
def test_a_pattern_includes_another_one(wide: str, narrow: str, expected: bool) -> None:
    assert includes(wide, narrow) is expected


_pattern = st.text("AB*?", min_size=1, max_size=5) | st.sampled_from(["[AB]*", "[!A]B", "[A", "*]", "A[B", "[]A]"])


@given(_pattern, _pattern, st.text("ABC[]", max_size=6))
def test_what_a_pattern_includes_it_lets_in(wide: str, narrow: str, name: str) -> None:
    if includes(wide, narrow) and fnmatchcase(name, narrow):
        assert fnmatchcase(name, wide)


def test_two_accesses_together_are_what_either_gets() -> None:
    both = of(env=["A"], hosts=["x"]) | of(env=["B"], isolation=["off"])

    assert both == of(env=["A", "B"], hosts=["x"], isolation=["off"])


@pytest.mark.parametrize(("item", "expected"), [("a b", "a b"), ("a\x1b[31m\n", "a\\x1b[31m\\n"), ("\ud800", "\\ud800"), ("ä\u202e", "ä\\u202e"), ("\x7f", "\\x7f")])
def test_an_item_stands_on_one_line_and_steers_no_terminal(item: str, expected: str) -> None:
    assert printable(item) == expected
    assert printable(expected) == expected
