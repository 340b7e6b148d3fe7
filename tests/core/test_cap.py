"""What cells may ask of the parent under a policy file: ``Cap`` alone, and what ``resolve`` makes of it (SPEC 9.3)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcc_jupyter.core import dotenv
from mcc_jupyter.core.cap import Cap
from mcc_jupyter.core.cell import parse_yaml
from mcc_jupyter.core.declare import Place, declare
from mcc_jupyter.core.policy import resolve, withheld
from mcc_jupyter.core.report import Report, State, matrix, report
from mcc_jupyter.core.resolution import Reason, Resolution
from mcc_jupyter.core.tool import DEFAULT_FLOOR, Origin, Tool, command_references

PARENT = {
    "PATH": "/usr/bin",
    "HOME": "/home/ana",
    "GITHUB_TOKEN": "t0ken-of-github",
    "AWS_REGION": "eu-north-1",
    "AWS_SECRET": "s3cret-of-aws",
    "DB_URL": "postgres://made-up",
}
NOTHING = Cap()
SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "report-v1.schema.json").read_text(encoding="utf-8"))


def place(parent: dict[str, str] = PARENT, cap: Cap | None = NOTHING) -> Place:
    return Place(parent, DEFAULT_FLOOR, "/nb", "/home/ana", Origin("cell", "cell"), cap)


def cell(text: str, *, cap: Cap | None = NOTHING, parent: dict[str, str] = PARENT) -> Tool:
    """The only tool of a cell, declared under *cap*."""
    found = declare(parse_yaml(f"name: t\n{text}" if "exec" in text or "curl" in text or "fn:" in text else f"name: t\nexec: env\n{text}"), place(parent, cap))
    assert found.problems == ()
    [tool] = found.tools
    return tool


def run(text: str, *, cap: Cap | None = NOTHING, parent: dict[str, str] = PARENT, env_file: str | None = None, **more: Any) -> Resolution:
    tool = cell(text, cap=cap, parent=parent)
    files = () if env_file is None else (dotenv.parse(env_file, path="x.env"),)
    return resolve(tool, parent=parent, floor=DEFAULT_FLOOR, files=files, cap=cap, **more)


def shown(text: str, **world: Any) -> Report:
    tool = cell(text, cap=world.get("cap", NOTHING), parent=world.get("parent", PARENT))
    return report(tool, run(text, **world))


def refused(text: str, **world: Any) -> dict[str, str]:
    """Each refused row: its name, and the source and rule that asked."""
    return {row.name: f"{row.source}: {row.rule}" for row in shown(text, **world).rows if row.state is State.REFUSED}


# ---- the cap alone


@pytest.mark.parametrize(
    ("cap", "allowed"),
    [
        (Cap(), set()),
        (Cap(allow=("AWS_*",)), {"AWS_REGION", "AWS_SECRET"}),
        (Cap(allow=("AWS_*", "GITHUB_TOKEN"), deny=("*_SECRET",)), {"AWS_REGION", "GITHUB_TOKEN"}),
        (Cap(allow=("*",), deny=("AWS_*", "DB_URL")), {"GITHUB_TOKEN", "PATH", "HOME"}),
        (Cap(allow=("GITHUB_TOKEN",), deny=("GITHUB_TOKEN",)), set()),
        (Cap(allow=("GITHUB_TOKEN",), deny=("*",)), set()),
        (Cap(deny=("X",)), set()),
        (Cap(allow=("aws_*", "github_token")), set()),
        (Cap(allow=("*",), within=Cap(allow=("DB_URL",))), {"DB_URL"}),
        (Cap(allow=("*",), within=Cap(allow=("AWS_*",), deny=("AWS_SECRET",), within=Cap(allow=("*",)))), {"AWS_REGION"}),
        (Cap(allow=("AWS_*",), within=Cap()), set()),
    ],
    ids=lambda value: str(value) if isinstance(value, set) else f"{value.allow} not {value.deny} within {value.within is not None}",
)
def test_a_name_needs_allow_and_deny_goes_before_allow_in_every_cap_that_has_to_agree(cap: Cap, allowed: set[str]) -> None:
    assert {name for name in PARENT if cap.allows(name)} == allowed
    assert {name for name in PARENT if cap.refusal(name) is None} == allowed


def test_a_refusal_tells_the_rule_and_what_to_do() -> None:
    cap = Cap(allow=("AWS_*",), deny=("*_SECRET",), label="team/mcc.toml", within=Cap(allow=("AWS_SECRET",)))
    unknown = "team/mcc.toml does not grant it to cells; who keeps the file can add it to `[grants] allow`"

    assert cap.refusal("AWS_SECRET") == "team/mcc.toml never grants it to cells: `[grants] deny` has *_SECRET"
    assert cap.refusal("GITHUB_TOKEN") == unknown
    assert cap.refusal("AWS_REGION") == unknown.replace("team/", "")


CAP_PATTERNS = st.lists(st.sampled_from(["*", "A*", "A", "B", "[AB]", "?_X", "PATH"]), max_size=3, unique=True).map(tuple)
CAPS = st.builds(Cap, allow=CAP_PATTERNS, deny=CAP_PATTERNS)
NAMES = ["A", "B", "AX", "A_X", "B_X", "PATH", "C"]


@given(CAPS, CAPS, CAPS)
def test_what_stands_within_another_cap_never_allows_more(one: Cap, two: Cap, three: Cap) -> None:
    narrower = replace(one, within=replace(two, within=three))
    for name in NAMES:
        assert narrower.allows(name) is (one.allows(name) and two.allows(name) and three.allows(name))
        assert narrower.test()(name) is narrower.allows(name) is (narrower.refusal(name) is None)


# ---- what counts as asking, and what that gives

ASKING: dict[str, tuple[str, str, str]] = {
    "required_env": ("required_env: [GITHUB_TOKEN]", "GITHUB_TOKEN", "grant: required_env"),
    "required_env, renamed": ("required_env: {TOKEN: GITHUB_TOKEN}", "TOKEN", "grant: required_env (from GITHUB_TOKEN)"),
    "exec": ("exec: curl -H $GITHUB_TOKEN", "GITHUB_TOKEN", "reference: ${GITHUB_TOKEN}"),
    "exec, with a default": ("exec: curl -H ${GITHUB_TOKEN|none}", "GITHUB_TOKEN", "reference: ${GITHUB_TOKEN}"),
    "curl": ("curl: -H $GITHUB_TOKEN http://h.test", "GITHUB_TOKEN", "reference: ${GITHUB_TOKEN}"),
    "curl, no plain arguments": ("curl: http://h.test -H $GITHUB_TOKEN | jq .", "GITHUB_TOKEN", "reference: ${GITHUB_TOKEN}"),
    "transform": ("exec: env\ntransform: sed s/$GITHUB_TOKEN/x/", "GITHUB_TOKEN", "reference: ${GITHUB_TOKEN}"),
    "exec under its own pattern": ("exec: curl -H $GITHUB_TOKEN\nenv_passthrough: [GITHUB_*]", "GITHUB_TOKEN", "reference: ${GITHUB_TOKEN}"),
    "env": ("env: {TOKEN: $GITHUB_TOKEN}", "GITHUB_TOKEN", "reference: ${GITHUB_TOKEN}"),
    "env, inside a text": ("env: {TOKEN: 'Bearer ${GITHUB_TOKEN:-none}'}", "GITHUB_TOKEN", "reference: ${GITHUB_TOKEN}"),
    "secret_files": ("secret_files: {FILE: '${GITHUB_TOKEN}'}", "GITHUB_TOKEN", "reference: ${GITHUB_TOKEN}"),
    "cwd": ("cwd: /w/$GITHUB_TOKEN", "GITHUB_TOKEN", "reference: ${GITHUB_TOKEN}"),
    "env_file's path": ("env_file: /w/$GITHUB_TOKEN.env", "GITHUB_TOKEN", "reference: ${GITHUB_TOKEN}"),
    "python": ("fn: m:f\npython: /w/$GITHUB_TOKEN", "GITHUB_TOKEN", "reference: ${GITHUB_TOKEN}"),
    "override": ("params: [{name: a, override: $GITHUB_TOKEN}]", "GITHUB_TOKEN", "reference: ${GITHUB_TOKEN}"),
    "default": ("params: [{name: a, default: '-$GITHUB_TOKEN'}]", "GITHUB_TOKEN", "reference: ${GITHUB_TOKEN}"),
    "override, nested": ("params: [{name: a, type: dict, override: {b: [$GITHUB_TOKEN]}}]", "GITHUB_TOKEN", "reference: ${GITHUB_TOKEN}"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "name", "asked"), ASKING.values(), ids=ASKING)
def test_whatever_asks_for_a_parent_name_is_refused_and_makes_the_tool_unavailable(text: str, name: str, asked: str) -> None:
    files = "" if "env_file" in text else None
    denied = Cap(allow=("*",), deny=("GITHUB_TOKEN",))
    told = {
        NOTHING: "GITHUB_TOKEN: mcc.toml does not grant it to cells; who keeps the file can add it to `[grants] allow`",
        denied: "GITHUB_TOKEN: mcc.toml never grants it to cells: `[grants] deny` has GITHUB_TOKEN",
    }
    for cap, note in told.items():
        resolution = run(text, cap=cap, env_file=files)
        shown_name = f"{name} (from GITHUB_TOKEN)" if "renamed" in asked or "(from" in asked else name

        assert [reason.code for reason in resolution.reasons] == ["not granted"]
        assert resolution.notice == f"Tool 't' is unavailable; not granted by mcc.toml: {shown_name}"
        assert refused(text, cap=cap, env_file=files) == {name: asked}
        assert note in shown(text, cap=cap, env_file=files).notes
        assert resolution.environ().keys() <= {"PATH", "HOME", "PYTHONPATH"}


@pytest.mark.parametrize(("text", "name", "asked"), ASKING.values(), ids=ASKING)
def test_what_is_allowed_arrives_as_without_a_policy_file(text: str, name: str, asked: str) -> None:
    files = "" if "env_file" in text else None
    free, capped = (run(text, cap=cap, env_file=files) for cap in (None, Cap(allow=("GITHUB_TOKEN",))))

    assert capped == free
    assert capped.available
    assert refused(text, cap=Cap(allow=("GITHUB_TOKEN",)), env_file=files) == {}


def test_an_optional_name_is_refused_and_the_tool_goes_on() -> None:
    resolution = run("optional_env: {TOKEN: GITHUB_TOKEN, GONE: GONE}")

    assert (resolution.available, resolution.environ()) == (True, {"PATH": "/usr/bin", "HOME": "/home/ana"})
    assert refused("optional_env: {TOKEN: GITHUB_TOKEN}") == {"TOKEN": "grant: optional_env (from GITHUB_TOKEN)"}
    assert resolution.unset == ()
    assert refused("optional_env: [GONE]") == {"GONE": "grant: optional_env"}


PASSED: dict[str, tuple[str, Cap, set[str], dict[str, str], tuple[str, ...]]] = {
    "a pattern": (
        '["AWS_*"]', Cap(allow=("AWS_REGION",)), {"AWS_REGION"}, {},
        ("env_passthrough: mcc.toml does not grant AWS_SECRET",),
    ),
    "a pattern under deny": (
        '["*"]', Cap(allow=("*",), deny=("AWS_S*", "DB*")), {"AWS_REGION", "GITHUB_TOKEN"}, {},
        ("env_passthrough: mcc.toml does not grant AWS_SECRET, DB_URL",),
    ),
    "a name": (
        "[GITHUB_TOKEN]", NOTHING, set(), {"GITHUB_TOKEN": "passthrough: GITHUB_TOKEN"},
        ("GITHUB_TOKEN: mcc.toml does not grant it to cells; who keeps the file can add it to `[grants] allow`",),
    ),
    "a name that the parent has not": (
        "[GONE]", NOTHING, set(), {},
        (
            "GONE: mcc.toml does not grant it to cells; who keeps the file can add it to `[grants] allow`",
            "env_passthrough: the name GONE matches no variable",
        ),
    ),
    "true": (
        "true", Cap(allow=("DB_URL",)), {"DB_URL"}, {},
        (
            "env_passthrough: mcc.toml does not grant AWS_REGION, AWS_SECRET, GITHUB_TOKEN",
            "warning: env_passthrough: true copies the whole environment of the parent; list the names the tool needs instead",
        ),
    ),
    "nothing": ("false", Cap(allow=("*",)), set(), {}, ()),
}  # fmt: skip


@pytest.mark.parametrize(("patterns", "cap", "arrives", "rows", "notes"), PASSED.values(), ids=PASSED)
def test_a_pattern_lets_in_what_the_cap_lets_it(patterns: str, cap: Cap, arrives: set[str], rows: dict[str, str], notes: tuple[str, ...]) -> None:
    text = f"env_passthrough: {patterns}"
    resolution = run(text, cap=cap)

    assert resolution.available
    assert resolution.environ().keys() == {"PATH", "HOME"} | arrives
    assert refused(text, cap=cap) == rows
    assert resolution.notes == notes


def test_of_many_refused_names_some_are_told() -> None:
    parent = {f"NAME_{at:02}": "x" for at in range(20)}
    names = [f"NAME_{at:02}" for at in range(20)]

    assert run('env_passthrough: ["NAME_*"]', parent=parent).notes == (
        f"env_passthrough: mcc.toml does not grant {', '.join(names[:8])} and 12 more",
    )
    assert len(run(f"optional_env: [{', '.join(names)}]", parent=parent).notes) == 8


@pytest.mark.parametrize(
    "text",
    ["exec: ls $HOME", "env: {A: '$PATH'}", "required_env: [HOME]", "required_env: {A: PATH}", "cwd: $HOME", "env_passthrough: [PATH, HOME]", "env_passthrough: ['[PH]*']"],
)
def test_the_floor_is_not_subject_to_the_cap(text: str) -> None:
    for cap in (NOTHING, Cap(deny=("PATH", "HOME")), Cap(allow=("*",), deny=("*",))):
        resolution = run(text, cap=cap)
        assert resolution.available
        assert {"PATH": "/usr/bin", "HOME": "/home/ana"}.items() <= resolution.environ().items()
        assert resolution.refused == {}
        assert not [note for note in resolution.notes if "mcc.toml" in note]


def test_literals_and_files_that_the_user_can_read_are_no_asking() -> None:
    resolution = run("env: {A: text, COSTS: $$5}\nenv_file: x.env", env_file="B=of the file\nC=${A_OF_THE_FILE:-d}\n")

    assert resolution.available
    assert {name: resolution.environ()[name] for name in ("A", "COSTS", "B", "C")} == {"A": "text", "COSTS": "$5", "B": "of the file", "C": "d"}


def test_an_env_file_expands_nothing_of_the_parent_that_the_cap_keeps_out() -> None:
    text = 'env_passthrough: ["AWS_*"]\nenv_file: x.env'
    resolution = run(text, cap=Cap(allow=("AWS_REGION",)), env_file="A=${AWS_REGION}\nB=-${AWS_SECRET}-\nC=${GITHUB_TOKEN}\n")

    assert {name: resolution.environ()[name] for name in "ABC"} == {"A": "eu-north-1", "B": "--", "C": ""}
    lack = "is not available to this tool; mcc.toml does not grant it to cells; who keeps the file can add it to `[grants] allow`"
    assert [note for note in resolution.notes if "env_file" in note] == [
        f"warning: env_file x.env, line 2: AWS_SECRET {lack}",
        f"warning: env_file x.env, line 3: GITHUB_TOKEN {lack}",
    ]
    granted = run(text, cap=Cap(allow=("*",)), env_file="C=${GITHUB_TOKEN}\n").notes
    assert granted == ("warning: env_file x.env, line 1: GITHUB_TOKEN is not available to this tool; grant it with env_passthrough or optional_env",)


def test_a_required_name_that_the_declaration_itself_gives_asks_the_parent_for_nothing() -> None:
    resolution = run("required_env: [GITHUB_TOKEN]\nenv: {GITHUB_TOKEN: of-the-cell}")

    assert resolution.available
    assert resolution.environ()["GITHUB_TOKEN"] == "of-the-cell"


def test_a_default_is_used_where_the_parent_has_no_such_name_and_that_is_no_asking() -> None:
    resolution = run("env: {A: '${GONE:-plain}'}")

    assert (resolution.available, resolution.environ()["A"]) == (True, "plain")


def test_a_name_that_nobody_has_is_asked_for_all_the_same_and_told_in_one_row() -> None:
    rows = [(row.name, row.source, str(row.state)) for row in shown("env: {A: $GONE, B: $GONE}").rows if row.source not in ("floor", "session")]

    assert rows == [("GONE", "reference", "refused")]
    assert run("env: {A: $GONE}").notice == "Tool 't' is unavailable; not granted by mcc.toml: GONE"


def test_all_names_are_told_at_once_beside_the_other_reasons() -> None:
    text = "exec: echo $DB_URL\nrequired_env: {T: GITHUB_TOKEN, GONE: GONE}\nenv: {A: $AWS_SECRET}"
    off = Reason("disabled", "disabled by mcc.toml")
    resolution = run(text, cap=Cap(allow=("GONE",)), refusal=off)

    assert [reason.code for reason in resolution.reasons] == ["disabled", "not granted", "missing"]
    assert resolution.notice == (
        "Tool 't' is unavailable; disabled by mcc.toml; not granted by mcc.toml: T (from GITHUB_TOKEN), AWS_SECRET, DB_URL; "
        "missing required environment: GONE"
    )


def test_a_refusal_alone_makes_unavailable_and_one_that_switches_off_is_silent() -> None:
    off = run("", refusal=Reason("disabled", "disabled by mcc.toml"))
    no = run("", refusal=Reason("not granted", "not granted here"))

    assert (off.available, off.silent, off.notice) == (False, True, "Tool 't' is unavailable; disabled by mcc.toml")
    assert (no.available, no.silent, no.notice) == (False, False, "Tool 't' is unavailable; not granted here")
    assert report(cell(""), off).notice is None
    assert report(cell(""), off).notes == ("disabled by mcc.toml",)


def test_a_tool_of_the_operator_is_resolved_without_a_cap() -> None:
    tool = replace(cell("required_env: [GITHUB_TOKEN]"), origin=Origin("policy", "mcc.toml"))
    resolution = resolve(tool, parent=PARENT, floor=DEFAULT_FLOOR)

    assert resolution.environ()["GITHUB_TOKEN"] == "t0ken-of-github"
    assert [row.rule for row in report(tool, resolution).rows if row.name == "GITHUB_TOKEN"] == ["mcc.toml: required_env"]


def test_what_a_cap_refuses_is_no_name_that_was_merely_withheld() -> None:
    text = "optional_env: [GITHUB_TOKEN]"

    assert withheld(run(text), cell(text), PARENT) == ("AWS_REGION", "AWS_SECRET", "DB_URL")


def test_the_overview_marks_what_was_refused() -> None:
    one = shown("optional_env: [GITHUB_TOKEN]")

    assert "t  x  available" in matrix([one]).text()
    assert dict(matrix([one]).legend) == {"x": "refused"}


def test_the_cap_of_the_last_answer_is_not_the_cap_of_the_next() -> None:
    tool = cell('env_passthrough: ["*"]')
    caps: list[Cap | None] = [None, NOTHING, Cap(allow=("AWS_*",)), NOTHING, None]
    found = [len(resolve(tool, parent=PARENT, floor=DEFAULT_FLOOR, cap=cap).environ()) for cap in caps]

    assert found == [6, 2, 4, 2, 6]


STATES: dict[str, tuple[dict[str, str], str, str | None, list[tuple[str, str, tuple[str, ...]]]]] = {
    "set": ({"A": "x"}, "required_env: [A]", None, [("A", "set", ())]),
    "missing": ({}, "required_env: [A]", "missing required environment: A", [("A", "missing", ())]),
    "missing, renamed": ({}, "required_env: {B: A}", "missing required environment: B (from A)", [("B (from A)", "missing", ())]),
    "empty": ({"A": ""}, "required_env: [A]", "missing required environment: A", [("A", "missing", ("empty",))]),
    "blank": ({"A": " "}, "required_env: [A]", None, [("A", "set", ("blank",))]),
    "unresolved reference": ({"A": "pass://v/i"}, "required_env: [A]", "unresolved reference in: A", [("A", "unresolved", ())]),
    "not granted": ({"X": "x"}, "required_env: [X]", "not granted by mcc.toml: X", [("X", "refused", ())]),
    "group": ({}, "groups: [ops]", "not granted: it is for ops", []),
    "optional": ({}, "optional_env: [A]", None, [("A", "unset", ())]),
    "optional, not granted": ({"X": "x"}, "optional_env: [X]", None, [("X", "refused", ())]),
    "optional, unresolved": ({"A": "op://v/i"}, "optional_env: [A]", None, [("A", "unresolved", ())]),
}  # fmt: skip


@pytest.mark.parametrize(("parent", "text", "reason", "rows"), STATES.values(), ids=STATES)
def test_every_state_has_its_own_words_under_a_policy_file(
    parent: dict[str, str], text: str, reason: str | None, rows: list[tuple[str, str, tuple[str, ...]]]
) -> None:
    one = shown(text, parent=parent, cap=Cap(allow=("A", "B")), groups=frozenset())

    assert one.notice == (None if reason is None else f"Tool 't' is unavailable; {reason}")
    assert [(row.name, str(row.state), row.flags) for row in one.rows] == rows


@pytest.mark.parametrize("text", [text for text, _, _ in ASKING.values() if "env_file" not in text])
def test_the_report_of_a_refused_tool_fits_its_schema(text: str) -> None:
    import fastjsonschema

    fastjsonschema.compile(SCHEMA)(shown(text).json())


# ---- laws

PIECES = st.sampled_from(["A", "B", "C", "AX", "PATH"])
MARK = "value-of-"


@st.composite
def documents(draw: Callable[..., Any]) -> dict[str, object]:
    """A tool that asks in as many ways as there are."""
    refer = st.one_of(PIECES.map("${{{}}}".format), PIECES.map("x${{{}|d}}".format), st.just("text"))
    found: dict[str, object] = {"name": "t", "exec": draw(st.one_of(refer, PIECES.map("echo ${}".format)))}
    required = draw(st.lists(PIECES, unique=True, max_size=2))
    optional = draw(st.dictionaries(st.sampled_from(["O1", "O2"]), PIECES, max_size=2))
    more: dict[str, object] = {
        "env": draw(st.dictionaries(st.sampled_from(["E1", "E2", "A"]), refer, max_size=2)),
        "required_env": required,
        "optional_env": optional,
        "env_passthrough": draw(st.one_of(st.just(True), CAP_PATTERNS.map(list))),
        "transform": draw(st.one_of(refer, st.just("cat"))),
        "cwd": draw(st.one_of(st.just("/w"), PIECES.map("/w/${{{}}}".format))),
        "secret_files": draw(st.dictionaries(st.sampled_from(["F1"]), refer, max_size=1)),
        "params": [{"name": "p", "override": draw(refer)}],
        "env_file": "x.env",
    }
    return found | {key: value for key, value in more.items() if value}


@given(documents(), CAPS, CAPS, st.sets(PIECES), st.lists(st.tuples(st.sampled_from(["F", "G"]), PIECES), max_size=2))
def test_no_parent_value_outside_the_allowed_names_reaches_a_tool_and_narrowing_never_adds(
    document: dict[str, object], cap: Cap, other: Cap, present: set[str], lines: list[tuple[str, str]]
) -> None:
    parent = {name: MARK + name.lower() + ";" for name in sorted(present)}
    files = (dotenv.parse("".join(f"{name}=${{{refers}}}\n" for name, refers in lines), path="x.env"),)
    narrower = replace(cap, within=other)
    answers = []
    for one in (cap, narrower):
        found = declare(document, place(parent, one))
        assert found.problems == ()
        [tool] = found.tools
        resolution = resolve(tool, parent=parent, floor=("PATH",), files=files, cap=one)
        answers.append(resolution)
        allowed = {name for name in parent if name == "PATH" or one.allows(name)}
        everything = "".join(resolution.environ().values())
        assert {name for name in parent if MARK + name.lower() + ";" in everything} <= allowed
        if resolution.available:  # then nothing else of it may hold one either
            used = {reference.name for reference in (*tool.references, *command_references(tool))}
            assert used <= allowed
            held = f"{tool.cwd.value}{tool.params[0].override}{[text.value for text in tool.secret_files.values()]}"
            assert {name for name in parent if MARK + name.lower() + ";" in held} <= allowed
    wide, narrow = answers
    assert narrow.bindings.keys() <= wide.bindings.keys()
    assert wide.available or not narrow.available
