"""The report: a row for every name, no value anywhere, the same bytes for the same names and classes (SPEC 11.1, 11.2)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import fastjsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcc_jupyter.core import dotenv
from mcc_jupyter.core.policy import resolve, withheld
from mcc_jupyter.core.references import bake
from mcc_jupyter.core.report import MARKS, MIME, Matrix, Report, Row, State, matrix, report
from mcc_jupyter.core.resolution import Context, Resolution, Source
from mcc_jupyter.core.tool import DEFAULT_FLOOR, EnvFile, Function, Grant, Origin, Param, Reference, Shell, Text, Tool
from mcc_jupyter.core.values import VARIABLE_LIMIT

REPOSITORY = Path(__file__).resolve().parents[2]
GOLDEN = REPOSITORY / "tests" / "golden" / "report.v1.json"
SCHEMA = REPOSITORY / "docs" / "report-v1.schema.json"
FN = Function("m:f")


def make(parent: Mapping[str, str] = MappingProxyType({}), **given: object) -> Tool:
    """A tool whose ``env`` is baked from *parent*."""
    env = {name: bake(text, parent) for name, text in given.pop("env", {}).items()}  # type: ignore[attr-defined]
    unresolved = given.pop(
        "unresolved", tuple(dict.fromkeys(name for text in env.values() for name in text.unresolved))
    )
    base = {"name": "t", "body": Shell("env", "env"), "origin": Origin("cell", "cell"), "cwd": Text("/w", "/w")}
    return Tool(**{**base, **given}, env=env, unresolved=unresolved)  # type: ignore[arg-type]


def run(tool: Tool, parent: Mapping[str, str] = MappingProxyType({}), **given: object) -> Report:
    return report(tool, resolve(tool, parent=parent, floor=DEFAULT_FLOOR, **given))  # type: ignore[arg-type]


def states(shown: Report) -> list[tuple[str, str, str, str]]:
    return [(row.name, row.source, row.rule, str(row.state)) for row in shown.rows]


# ---- rows


def test_a_row_for_every_binding_missing_unset_refused_and_unresolved_name_by_source_then_name() -> None:
    parent = {"PATH": "p", "HOME": "h", "AWS_B": "1", "AWS_A": "1", "MCC_CTX_ROLE": "x", "U": "op://v/i"}
    tool = make(
        parent,
        passthrough=("AWS_*", "MCC_*"),
        required_env=(Grant("NEED", "NEED"), Grant("CHILD", "THEIRS"), Grant("U", "U"), Grant("E", "E")),
        optional_env=(Grant("MAYBE", "MAYBE"), Grant("MINE", "YOURS")),
        env={"E": "", "T": "${NOPE}", "L": "x"},
        env_files=(EnvFile("a.env", "/w/a.env"),),
        body=Shell("x", "x", (Reference("R", "r"),)),
        unresolved=("NOPE", "FOLDER"),
    )
    shown = run(
        tool, parent, files=(dotenv.parse("F=1\n", path="a.env"),), context=Context(variables={"MCC_CTX_USER": "u"})
    )
    assert states(shown) == [
        ("HOME", "floor", "HOME", "set"),
        ("PATH", "floor", "PATH", "set"),
        ("AWS_A", "passthrough", "AWS_*", "set"),
        ("AWS_B", "passthrough", "AWS_*", "set"),
        ("MCC_CTX_ROLE", "passthrough", "MCC_*", "refused"),
        ("CHILD (from THEIRS)", "grant", "required_env", "missing"),
        ("MAYBE", "grant", "optional_env", "unset"),
        ("MINE (from YOURS)", "grant", "optional_env", "unset"),
        ("NEED", "grant", "required_env", "missing"),
        ("U", "grant", "required_env", "unresolved"),
        ("FOLDER", "reference", "${FOLDER}", "unresolved"),
        ("R", "reference", "${R}", "set"),
        ("F", "env_file", "a.env", "set"),
        ("E", "env", "literal", "missing"),
        ("L", "env", "literal", "set"),
        ("T", "env", "${NOPE}", "unresolved"),
        ("MCC_CTX_USER", "session", "identity", "set"),
    ]


def test_a_name_that_is_refused_and_set_by_the_session_has_a_row_for_each() -> None:
    shown = run(make(env={"MCC_CTX_USER": "eve"}), context=Context(variables={"MCC_CTX_USER": "ana"}))
    assert states(shown) == [
        ("MCC_CTX_USER", "env", "literal", "refused"),
        ("MCC_CTX_USER", "session", "identity", "set"),
    ]


def test_a_required_name_with_an_empty_value_is_missing_and_says_where_the_empty_value_is_from() -> None:
    shown = run(make(required_env=(Grant("A", "B"),)), {"B": ""})
    assert shown.rows == (Row("A (from B)", "grant", "required_env (from B)", State.MISSING, flags=("empty",)),)
    assert shown.rows[0].variable == "A"


def test_a_reference_that_an_env_entry_hides_under_another_layer_is_still_told() -> None:
    shown = run(make(body=FN, env={"PYTHONPATH": "${NOPE}"}))
    assert states(shown) == [
        ("NOPE", "reference", "${NOPE}", "unresolved"),
        ("PYTHONPATH", "runtime", "cwd", "set"),
    ]
    refused = run(make(env={"MCC_CTX": "${NOPE}"}))
    assert [row.name for row in refused.rows] == ["NOPE", "MCC_CTX"]


def test_a_row_tells_what_it_shadows_nearest_first() -> None:
    parent = {"A": "1"}
    tool = make(parent, passthrough=("A*",), env={"A": "2"}, env_files=(EnvFile("a.env", "/a.env"),))
    (row,) = run(tool, parent, files=(dotenv.parse("A=1\n", path="a.env"),)).rows
    assert [(shadow.source, shadow.rule) for shadow in row.shadows] == [("env_file", "a.env"), ("passthrough", "A*")]


def test_what_the_tool_and_the_resolution_note_is_told_once() -> None:
    tool = make(notes=("one", "two", "one"), passthrough=("GONE",))
    assert run(tool).notes == ("one", "two", "env_passthrough: the name GONE matches no variable")


def test_the_head_of_a_report() -> None:
    tool = make(name="q", groups=("data", "admin"), description="Does\na thing.", required_env=(Grant("A", "B"),))
    shown = report(tool, resolve(tool, parent={}, floor=()), footer=["kernel", "no isolation of files"])
    assert (shown.tool, shown.key, shown.kind, shown.groups) == ("q", "admin.data.q", "exec", ("data", "admin"))
    assert shown.description == "Does\na thing."
    assert shown.available is False
    assert shown.notice == "Tool 'q' is unavailable; missing required environment: A (from B)"
    assert shown.footer == ("kernel", "no isolation of files")
    assert run(make()).notice is None


def test_withheld_names_and_programs_are_there_only_when_asked_for() -> None:
    parent = {"PATH": "/b", "SECRET": "s", "OTHER": "o"}
    tool = make()
    resolution = resolve(tool, parent=parent, floor=DEFAULT_FLOOR)
    plain = report(tool, resolution).json()
    assert {"withheld", "programs"}.isdisjoint(plain)
    programs = {"jq": None, "psql": "/b/psql"}
    full = report(tool, resolution, withheld=withheld(resolution, tool, parent), programs=programs).json()
    assert full["withheld"] == ["OTHER", "SECRET"]
    assert full["programs"] == programs
    empty = report(tool, resolution, withheld=(), programs={}).json()
    assert (empty["withheld"], empty["programs"]) == ([], {})


HOSTILE = "A\x1b[31m\u202e\udcff\n\u00a0B"


def test_a_hostile_name_is_escaped_before_anything_shows_it() -> None:
    parent = {HOSTILE: "x", "Ünï": "y"}
    tool = make(passthrough=True, notes=(HOSTILE,))
    resolution = resolve(tool, parent=parent, floor=())
    shown = report(tool, resolution, footer=[HOSTILE], withheld=[HOSTILE], programs={HOSTILE: HOSTILE, "b": None})
    escaped = r"A\x1b[31m\u202e\udcff\n\xa0B"
    assert [row.name for row in shown.rows] == [escaped, "Ünï"]
    assert (shown.notes[0], shown.footer, shown.withheld) == (escaped, (escaped,), (escaped,))
    assert shown.programs == ((escaped, escaped), ("b", None))
    for text in (shown.text(), shown.html(), json.dumps(shown.json(), ensure_ascii=False)):
        text.encode()
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_a_description_keeps_its_own_spaces_and_joiners() -> None:
    text = "prix\u00a0: 5\u202f€ 👩\u200d💻\r\nnext\x1b"
    assert run(make(description=text)).description == "prix\u00a0: 5\u202f€ 👩\u200d💻\nnext\\x1b"


# ---- manners


def test_the_representation_is_short() -> None:
    assert repr(run(make(name="pg_query"), {"PATH": "p", "HOME": "h"})) == "<Report pg_query: available, 2 names>"
    assert repr(run(make(required_env=(Grant("A", "A"),)))) == "<Report t: unavailable, 1 name>"
    assert repr(matrix([run(make(env={"A": "1"}))])) == "<Matrix: 1 tool, 1 name>"
    assert repr(matrix([], more=1_500)) == "<Matrix: 1,500 tools, 0 names>"


@pytest.mark.parametrize("shown", [run(make()), matrix([run(make())])], ids=["report", "matrix"])
def test_a_notebook_gets_text_HTML_and_JSON_or_what_it_asks_for(shown: Report | Matrix) -> None:
    bundle = shown._repr_mimebundle_()
    assert bundle == {"text/plain": shown.text(), "text/html": shown.html(), MIME: shown.json()}
    assert list(shown._repr_mimebundle_(include=["text/plain"])) == ["text/plain"]
    assert list(shown._repr_mimebundle_(exclude={"text/html"})) == ["text/plain", MIME]
    assert shown._repr_mimebundle_(include=[MIME], exclude=[MIME]) == {}


# ---- the contract


def golden() -> Report:
    """A report that has every state, flag and source."""
    parent = {
        "PATH": "/usr/bin", "HOME": "/home/ana", "LANG": "C.UTF-8", "AWS_REGION": "eu-north-1", "AWS_SECRET_ACCESS_KEY": "x",
        "LD_PRELOAD": "", "PGHOST": "h", "MCC_CTX_ROLE": "r", "API_KEY": "op://team/key", "TEAM_USER": "ana", "GITHUB_TOKEN": "g",
        "PGSSLMODE": "require",
    }  # fmt: skip
    tool = make(
        parent,
        name="pg_query",
        groups=("data",),
        description="Run one read-only query & print <rows> as CSV.\nAt most 1,000 of them.",
        body=Shell("psql", "psql", (Reference("PGSSLMODE", "require"),)),
        passthrough=("AWS_*", "LD_*", "PGHOST", "MCC_*"),
        required_env=(Grant("PGPASSWORD", "TEAM_PG_PASSWORD"), Grant("API_KEY", "API_KEY")),
        optional_env=(Grant("PGOPTIONS", "PGOPTIONS"),),
        params=(
            Param("q"),
            Param("rows", "int", required=False, default=100),
            Param("format", required=False, enum=("csv", "json")),
            Param("host", required=False, default="from-a-reference", default_hidden=True),
            Param("user", required=False, override="hidden"),
        ),
        env={"PGHOST": "db.internal", "PGUSER": "${TEAM_USER}", "PGSERVICE": "${NOPE}", "BLANK": "  "},
        env_files=(EnvFile("conf/pg.env", "/w/conf/pg.env"),),
        secret_files={"PGPASSFILE": Text("${PG_PASS_TEXT}", "h:5432:db:ana:hunter2-hunter2")},
        notes=("exec: {{ q }} is not quoted; write {{ q | quote }}",),
    )
    resolution = resolve(
        tool,
        parent=parent,
        floor=DEFAULT_FLOOR,
        files=(dotenv.parse("PGHOST=f\nPGDATABASE=main\nPGDATABASE=main\n", path="conf/pg.env"),),
        context=Context(variables={"MCC_CTX_USER": "ana", "MCC_CTX_STEP": "2"}),
        groups=frozenset({"data"}),
    )
    return report(
        tool,
        resolution,
        footer=(
            "Environment of this kernel, isolated by Landlock.",
            "Filtering an environment does not isolate files.",
        ),
        withheld=withheld(resolution, tool, parent),
        programs={"psql": "/usr/bin/psql", "jq": None},
    )


def test_the_JSON_of_a_report_is_the_contract_that_python_and_typescript_read() -> None:
    assert json.loads(GOLDEN.read_text("utf-8")) == golden().json()
    assert list(json.loads(GOLDEN.read_text("utf-8"))) == list(golden().json())


def test_the_contract_shows_every_state_and_source() -> None:
    rows = golden().rows
    assert {row.state for row in rows} == set(State)
    assert {row.source for row in rows} == {str(source) for source in Source} - {"runtime"}
    assert {flag for row in rows for flag in row.flags} == {"risky", "empty", "blank", "credential-like"}


def test_reports_and_matrices_fit_the_schema_in_the_docs() -> None:
    fits = fastjsonschema.compile(json.loads(SCHEMA.read_text("utf-8")))
    plain, shown = run(make(body=FN)), golden()
    for document in (shown.json(), plain.json(), matrix([shown, plain], footer=["f"]).json(), matrix([]).json()):
        fits(document)
    for wrong in (
        {**shown.json(), "value": "x"},
        {**shown.json(), "version": 2},
        {**shown.json(), "rows": [{**shown.rows[0].json(), "value": "x"}]},
        {**shown.json(), "rows": [{**shown.rows[0].json(), "state": "odd"}]},
    ):
        with pytest.raises(fastjsonschema.JsonSchemaValueException):
            fits(wrong)


def test_the_JSON_is_complete_where_text_and_HTML_are_short() -> None:
    shown = run(make(passthrough=("V*",)), {f"V{number:05}": "x" for number in range(10_000)})
    assert len(shown.json()["rows"]) == 10_000  # type: ignore[arg-type]
    assert shown.text().count("V0") < 200
    assert "… and 9,900 more names, all in .json()" in shown.text()


# ---- the law of SPEC 11.2

CLASSES: list[list[str]] = [
    [""],
    [" ", "\n\t"],
    ["() { :; }", "() { a; }"],
    ["op://v/i", "vault:x", "pass://a/b"],
    ["x" * VARIABLE_LIMIT, "y" * (VARIABLE_LIMIT + 9)],
    ["x", "s3cret", "a longer value = with ${A} 'signs'", "/usr/bin:/bin", "0"],
]
NAMES = st.sampled_from(
    [
        "A",
        "B",
        "C_TOKEN",
        "PATH",
        "LANG",
        "AWS_KEY",
        "LD_PRELOAD",
        "BASH_FUNC_f%%",
        "MCC_CTX",
        "MCC_CTX_ROLE",
        "PYTHONPATH",
    ]
)
TEXTS = st.sampled_from(
    [
        "",
        " ",
        "lit",
        "${A}",
        "$B",
        "x${A}$B",
        "${NOPE}",
        "op://v/${A}",
        "pass:${B}",
        "${A:-d}",
        "${A|d}",
        "${NOPE|d}",
        "${B} ",
    ]
)
LINES = st.sampled_from(
    ["", "lit", "${A}", "${B}${A}", "x${C_TOKEN}", "${NOPE:-d}", "op://${A}", "${PATH}:/x", "'${A} '"]
)


@st.composite
def twins(draw: st.DrawFn) -> tuple[dict[str, str], dict[str, str]]:
    """Two parents with the same names and classes, with other values and in another order."""
    classes = draw(st.dictionaries(NAMES, st.sampled_from(CLASSES), max_size=9))
    one = {name: draw(st.sampled_from(values)) for name, values in classes.items()}
    order = draw(st.permutations(list(classes)))
    return one, {name: draw(st.sampled_from(classes[name])) for name in order}


@given(st.data(), twins())
def test_two_parents_that_agree_in_names_and_classes_give_the_same_bytes(
    data: st.DataObject, parents: tuple[dict[str, str], dict[str, str]]
) -> None:
    names = data.draw(st.lists(NAMES, unique=True, max_size=4))
    cut = data.draw(st.integers(0, len(names)))
    env = data.draw(st.dictionaries(NAMES, TEXTS, max_size=3))
    lines = data.draw(st.lists(st.tuples(NAMES, LINES), max_size=4))
    text = "".join(f"{name}={value}\n" for name, value in lines)
    given = {
        "passthrough": data.draw(st.sampled_from([(), True, ("*",), ("A*", "B"), ("BASH_FUNC_f%%", "M*"), ("[!A]*",)])),
        "required_env": tuple(Grant(name, name) for name in names[:cut]),
        "optional_env": tuple(Grant(name, data.draw(NAMES)) for name in names[cut:]),
        "env_files": (EnvFile(".env", "/w/.env"),),
    }
    referred = data.draw(st.sampled_from([None, "A", "B"]))
    fn = data.draw(st.booleans())
    shown = []
    for parent in parents:
        references = (Reference(referred, parent[referred]),) if referred in parent else ()
        tool = make(parent, env=env, body=FN if fn else Shell("x", "x", references), **given)
        resolution = resolve(
            tool,
            parent=parent,
            floor=DEFAULT_FLOOR,
            files=(dotenv.parse(text, path=".env"),),
            context=Context(variables={"MCC_CTX_USER": str(len(shown))}),
        )
        one = report(tool, resolution, withheld=withheld(resolution, tool, parent))
        many = matrix([one])
        shown.append(
            (one.text(), one.html(), json.dumps(one.json()), many.text(), many.html(), json.dumps(many.json()))
        )
    assert shown[0] == shown[1]


@given(st.data(), twins())
def test_the_names_of_a_report_are_the_names_of_the_resolution(
    data: st.DataObject, parents: tuple[dict[str, str], dict[str, str]]
) -> None:
    parent, _ = parents
    granted = tuple(Grant(name, name) for name in data.draw(st.lists(NAMES, unique=True, max_size=4)))
    tool = make(
        parent, passthrough=("A*", "MCC_*"), required_env=granted[:2], optional_env=granted[2:], env={"E": "${A}"}
    )
    resolution: Resolution = resolve(tool, parent=parent, floor=DEFAULT_FLOOR)
    shown = report(tool, resolution)
    has = {row.variable for row in shown.rows if row.state in (State.SET, State.UNRESOLVED) or row.flags}
    lacks = {row.variable for row in shown.rows if row.state in (State.MISSING, State.UNSET)}
    assert has == {*resolution.environ(), *resolution.withdrawn}
    assert {grant.child for grant in (*resolution.missing, *resolution.unset)} - has == lacks - has
    assert {row.name for row in shown.rows if row.state is State.REFUSED} == set(resolution.refused)


MARKED = "M4RK3D-value"


@given(st.data())
def test_no_report_holds_a_value(data: st.DataObject) -> None:
    parent = dict.fromkeys(data.draw(st.lists(NAMES, unique=True)), f"{MARKED}-{data.draw(st.integers())}")
    tool = make(
        parent,
        passthrough=data.draw(st.sampled_from([True, ("*",), ()])),
        env={"X": f"{MARKED}${{A}}"},
        env_files=(EnvFile(".env", "/w/.env"),),
    )
    files = (dotenv.parse(f"F={MARKED}\nG=${{A:-{MARKED}}}\n{MARKED}\n!{MARKED}=1\n", path=".env"),)
    one = run(tool, parent, files=files, context=Context(variables={"MCC_CTX_A": MARKED}))
    for shown in (one, matrix([one])):
        for text in (shown.text(), shown.html(), json.dumps(shown.json()), repr(shown)):
            assert MARKED not in text


# ---- many tools


def test_a_matrix_is_tools_by_names_with_one_mark_a_cell() -> None:
    parent = {"PATH": "p", "AWS_REGION": "r", "GH": "g", "U": "op://v/i"}
    one = run(
        make(
            parent,
            name="one",
            passthrough=("AWS_*",),
            required_env=(Grant("GH", "GH"), Grant("U", "U")),
            optional_env=(Grant("MAYBE", "NO"),),
            env={"E": "1", "MCC_CTX_ROLE": "x"},
            body=Shell("x", "x", (Reference("REF", "r"),)),
            env_files=(EnvFile(".env", "/.env"),),
        ),
        parent,
        files=(dotenv.parse("D=1\n", path=".env"),),
        context=Context(variables={"MCC_CTX_USER": "u"}),
    )
    two = run(make(name="two", groups=("data",), body=FN, required_env=(Grant("LACK", "GONE"),)), parent)
    shown = matrix([one, two])
    assert shown.names == ("AWS_REGION", "D", "E", "GH", "LACK", "MAYBE", "MCC_CTX_ROLE", "PYTHONPATH", "REF", "U")
    assert [(row.tool, row.available, row.marks) for row in shown.rows] == [
        ("one", False, "PDEG.-x.R?"),
        ("data.two", False, "....!..U.."),
    ]
    assert shown.notices == (
        "Tool 'one' is unavailable; unresolved reference in: U",
        "Tool 'two' is unavailable; missing required environment: LACK (from GONE)",
    )
    assert dict(shown.legend) == {
        "P": "passthrough", "G": "grant", "R": "reference", "D": "env_file", "E": "env", "U": "runtime", "!": "missing",
        "?": "unresolved", "-": "unset", "x": "refused",
    }  # fmt: skip
    assert shown.common == (("floor", ("PATH",)), ("session", ("MCC_CTX_USER",)))
    assert shown.more_tools == shown.more_names == 0


def test_every_mark_is_one_character_and_tells_one_thing() -> None:
    assert len(set(MARKS.values())) == len(MARKS)
    assert all(len(mark) == 1 for mark in MARKS.values())
    assert set(MARKS) == {str(source) for source in Source} | {str(state) for state in State} - {"set"}


def test_what_is_urgent_wins_the_cell_of_a_name_with_two_rows() -> None:
    tool = make(env={"MCC_CTX_USER": "eve"})
    other = run(make(name="o", env={"MCC_CTX_USER": "eve"}))
    shown = matrix([run(tool, context=Context(variables={"MCC_CTX_USER": "ana"})), other])
    assert [row.marks for row in shown.rows] == ["S", "x"]


def test_a_floor_name_that_a_tool_sets_itself_has_a_column() -> None:
    parent = {"PATH": "p", "HOME": "h"}
    shown = matrix([run(make(), parent), run(make(name="u", env={"PATH": "x"}), parent)])
    assert shown.names == ("PATH",)
    assert [row.marks for row in shown.rows] == ["F", "E"]
    assert shown.common == (("floor", ("HOME",)),)


def test_a_cell_of_ten_thousand_tools_stays_small() -> None:
    def tool(number: int) -> Report:
        names = [f"A_RATHER_LONG_NAME_{number * 7 % 60 + offset}" for offset in range(8)]
        needed = tuple(Grant(name, name) for name in names[:3])
        return run(make(name=f"tool_number_{number}", env=dict.fromkeys(names[3:], "x"), required_env=needed))

    shown = matrix((tool(number) for number in range(300)), more=9_700)
    assert (len(shown.rows), shown.more_tools) == (100, 9_900)
    assert (len(shown.names), shown.more_names) == (20, 47)
    assert "… and 9,900 more tools" in shown.text()
    assert "… and 47 more names" in shown.html()
    assert (len(shown.notices), shown.more_notices) == (20, 80)
    assert "… and 80 more notices" in shown.text()
    size = len(shown.text().encode()) + len(shown.html().encode()) + len(json.dumps(shown.json()).encode())
    assert size <= 64 * 1024


def test_a_long_notice_is_cut_in_a_matrix_only() -> None:
    needed = tuple(Grant(f"NAME_{number}", f"NAME_{number}") for number in range(60))
    one = run(make(required_env=needed))
    (notice,) = matrix([one]).notices
    assert notice.startswith("Tool 't' is unavailable; missing required environment: NAME_0, NAME_1")
    assert notice.endswith("…")
    assert len(notice) <= 201
    assert "NAME_59" in one.text()
