"""Text and HTML of reports and matrices: whole texts, and what the markup may and must hold."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from mcc_jupyter.core.render import ROWS, _note, visible
from mcc_jupyter.core.report import Matrix, MatrixRow, Report, Row, Shadow, State


def report(*rows: Row, **given: object) -> Report:
    base: dict[str, object] = {
        "tool": "pg_query",
        "key": "public.pg_query",
        "kind": "exec",
        "description": "",
        "groups": ("public",),
        "available": True,
        "notice": None,
        "rows": rows,
    }
    return Report(**{**base, **given})  # type: ignore[arg-type]


NOTICE = "Tool 'pg_query' is unavailable; missing required environment: PGPASSWORD (from TEAM_PG)"
FULL = report(
    Row("PATH", "floor", "PATH", State.SET),
    Row("LD_PRELOAD", "passthrough", "LD_*", State.SET, ("risky", "empty")),
    Row("MCC_CTX_ROLE", "passthrough", "MCC_*", State.REFUSED),
    Row("PGPASSWORD (from TEAM_PG)", "grant", "required_env", State.MISSING),
    Row("TEAM", "grant", "optional_env", State.UNSET),
    Row("PGHOST", "env", "literal", State.SET, (), (Shadow("env_file", "a.env"), Shadow("passthrough", "PG*"))),
    Row("PGUSER", "env", "${NOPE}", State.UNRESOLVED),
    description="Run a query.\nMore of it.",
    groups=("admin", "data"),
    available=False,
    notice=NOTICE,
    notes=("one note",),
    footer=("this kernel", "files are not isolated"),
    withheld=("A", "B"),
    programs=(("psql", "/usr/bin/psql"), ("jq", None)),
)
MATRIX = Matrix(
    names=("DB", "TOKEN"),
    rows=(MatrixRow("pg_query", True, "G."), MatrixRow("admin.hub", False, ".!")),
    legend=(("G", "grant"), ("!", "missing")),
    common=(("floor", ("HOME", "PATH")), ("session", ("MCC_CTX",))),
    notices=("Tool 'hub' is unavailable; missing required environment: TOKEN",),
    more_tools=9_998,
    more_names=1,
    more_notices=2,
    footer=("this kernel",),
)


# ---- text


def test_the_whole_text_of_a_report() -> None:
    assert (
        FULL.text()
        == """\
pg_query  exec  unavailable  groups: admin, data
Tool 'pg_query' is unavailable; missing required environment: PGPASSWORD (from TEAM_PG)
Run a query.

  NAME                       SOURCE       RULE          STATE       REMARKS
  PATH                       floor        PATH          set
  LD_PRELOAD                 passthrough  LD_*          set         risky; empty
  MCC_CTX_ROLE               passthrough  MCC_*         refused
  PGPASSWORD (from TEAM_PG)  grant        required_env  missing
  TEAM                       grant        optional_env  unset
  PGHOST                     env          literal       set         shadows env_file, passthrough
  PGUSER                     env          ${NOPE}       unresolved

withheld: A, B

programs: psql = /usr/bin/psql, jq = not found

- one note

this kernel
files are not isolated"""
    )


def test_the_text_of_a_plain_report_has_no_column_or_line_that_it_does_not_need() -> None:
    assert (
        report(Row("PATH", "floor", "PATH", State.SET)).text()
        == """\
pg_query  exec  available

  NAME  SOURCE  RULE  STATE
  PATH  floor   PATH  set"""
    )


def test_a_tool_that_gets_nothing_says_so() -> None:
    assert report(groups=()).text() == "pg_query  exec  available\n\n  no variables"
    assert "no variables" in report().html()


def test_nothing_withheld_is_said_and_a_long_list_is_wrapped_and_cut() -> None:
    assert "\n\nwithheld: none" in report(withheld=()).text()
    text = report(withheld=tuple(f"NAME_{number:03}" for number in range(150))).text()
    lines = text.split("\n\n")[2].splitlines()
    assert all(len(line) <= 100 for line in lines)
    assert all(line.startswith("          NAME_") for line in lines[1:])
    assert text.endswith("NAME_099, … and 50 more names")


def test_one_long_rule_does_not_widen_its_column() -> None:
    text = report(Row("A", "env_file", "f" * 80, State.SET), Row("B", "env", "literal", State.SET)).text()
    assert text.splitlines()[-1] == "  B     env       literal  set"


def test_the_whole_text_of_a_matrix() -> None:
    assert (
        MATRIX.text()
        == """\
           ┌ DB
           │ ┌ TOKEN
pg_query   G .  available
admin.hub  . !  unavailable
… and 9,998 more tools

G grant   ! missing

floor: HOME PATH
session: MCC_CTX

… and 1 more name

Tool 'hub' is unavailable; missing required environment: TOKEN
… and 2 more notices

this kernel"""
    )


def test_a_matrix_without_names_or_tools() -> None:
    bare = Matrix(names=(), rows=(MatrixRow("t", True, ""),), legend=())
    assert bare.text() == "t  available"
    assert "t" in page(bare).text
    empty = Matrix(names=(), rows=(), legend=(), footer=("this kernel",))
    assert empty.text() == "no tools\n\nthis kernel"
    assert page(empty).text == "no tools this kernel"


# ---- many names


def test_up_to_a_hundred_rows_are_shown_as_they_are() -> None:
    rows = tuple(Row(f"N{number}", "passthrough", "*", State.SET) for number in range(ROWS))
    assert visible(rows) == (rows, 0)


def test_of_more_rows_those_that_need_attention_are_kept_in_their_order() -> None:
    plain = [Row(f"N{number:05}", "passthrough", "*", State.SET) for number in range(10_000)]
    urgent = [
        Row("N_FLAG", "passthrough", "*", State.SET, ("risky",)),
        Row("N_SHADOW", "passthrough", "*", State.SET, (), (Shadow("floor", "X"),)),
        Row("Z", "grant", "required_env", State.MISSING),
        Row("A", "env", "literal", State.SET),
    ]
    kept, more = visible([*plain, *urgent])
    assert list(kept) == [*plain[:96], *urgent]
    assert more == 9_904
    shown = report(*plain, *urgent)
    assert "  … and 9,904 more names, all in .json()" in shown.text()
    assert "… and 9,904 more names, all in .json()" in shown.html()
    assert len(shown.html()) < 40_000


def test_one_name_more_is_one_name() -> None:
    rows = [Row(f"N{number:03}", "passthrough", "*", State.SET) for number in range(ROWS + 1)]
    assert "… and 1 more name, all in .json()" in report(*rows).text()


# ---- HTML

OPTIONAL = {"td", "tr"}
"""Elements whose closing tag HTML lets one leave out."""


class Page(HTMLParser):
    """What a browser makes of a fragment; fails on tags that do not fit."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(markup)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if self.open and self.open[-1] == tag == "td":
            self.open.pop()
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open[-1] != tag and self.open[-1] in OPTIONAL:
            self.open.pop()
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.extend(data.split())

    @property
    def text(self) -> str:
        return " ".join(self.words)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def page(shown: Report | Matrix) -> Page:
    return Page(shown.html())


@pytest.mark.parametrize("shown", [FULL, MATRIX, report()], ids=["report", "matrix", "empty"])
def test_the_markup_holds_no_script_style_sheet_id_or_address(shown: Report | Matrix) -> None:
    parsed = page(shown)
    assert {tag for tag, _ in parsed.tags} <= set(
        "div p table caption thead tbody tr th td span strong br ul li".split()
    )
    assert {name for _, attributes in parsed.tags for name in attributes} <= {"style", "scope", "title"}
    assert "url(" not in shown.html()
    assert "://" not in shown.html()


@pytest.mark.parametrize("shown", [FULL, MATRIX], ids=["report", "matrix"])
def test_the_colour_of_text_is_the_themes(shown: Report | Matrix) -> None:
    for _, attributes in page(shown).tags:
        for rule in (attributes.get("style") or "").split(";"):
            name, _, value = rule.partition(":")
            assert name != "color" or value == "inherit"
            assert name != "background" or value.startswith("rgba(")


def test_a_report_is_a_table_with_a_caption_and_headings_for_rows_and_columns() -> None:
    parsed = page(FULL)
    assert len(parsed.all("caption")) == 1
    scopes = [attributes["scope"] for attributes in parsed.all("th")]
    assert scopes == ["col"] * 5 + ["row"] * 7
    assert "environment of pg_query name source rule state remarks PATH floor PATH set" in parsed.text


def test_the_HTML_says_what_the_text_says_and_colour_never_says_it_alone() -> None:
    text = page(FULL).text
    for part in (
        "pg_query exec ✗ unavailable groups: admin, data",
        f"{NOTICE} Run a query. environment",
        "PGPASSWORD (from TEAM_PG) grant required_env ✗ missing",
        "PGUSER env ${NOPE} ? unresolved",
        "MCC_CTX_ROLE passthrough MCC_* ⊘ refused",
        "TEAM grant optional_env unset",
        "LD_PRELOAD passthrough LD_* set ⚠ risky ; empty",
        "PGHOST env literal set shadows env_file, passthrough",
        "withheld: A, B programs: psql = /usr/bin/psql, jq = not found one note this kernel files are not isolated",
    ):
        assert part in text
    assert "✓ available" in page(report()).text
    assert {"env_file: a.env, passthrough: PG*"} == {tag["title"] for tag in page(FULL).all("span") if "title" in tag}


def test_a_report_without_remarks_has_no_column_for_them() -> None:
    parsed = page(report(Row("A", "env", "literal", State.SET)))
    assert "remarks" not in parsed.text
    assert len(parsed.all("td")) == 3


def test_a_matrix_has_a_cell_for_each_tool_and_name() -> None:
    parsed = page(MATRIX)
    assert [attributes["scope"] for attributes in parsed.all("th")] == ["col"] * 4 + ["row"] * 2
    assert len(parsed.all("td")) == 6
    for part in (
        "tool DB TOKEN state pg_query G available admin.hub ! ✗ unavailable … and 9,998 more tools",
        "G grant ! missing floor: HOME PATH session: MCC_CTX … and 1 more name Tool 'hub' is unavailable;",
        "… and 2 more notices this kernel",
    ):
        assert part in parsed.text


EVIL = "<img src=x onerror=alert(1)>\"'&"


def test_everything_is_escaped() -> None:
    row = Row(EVIL, "env", EVIL, State.SET, (EVIL,), (Shadow("env_file", EVIL),))
    shown = report(
        row,
        tool=EVIL,
        kind=EVIL,
        description=EVIL,
        groups=(EVIL,),
        available=False,
        notice=EVIL,
        notes=(EVIL,),
        footer=(EVIL,),
        withheld=(EVIL,),
        programs=((EVIL, EVIL),),
    )
    many = Matrix(
        names=(EVIL,),
        rows=(MatrixRow(EVIL, False, "x"),),
        legend=((EVIL, EVIL),),
        common=((EVIL, (EVIL,)),),
        notices=(EVIL,),
        footer=(EVIL,),
    )
    for one in (shown, many):
        parsed = page(one)
        assert parsed.all("img") == []
        assert parsed.text.count("<img src=x onerror=alert(1)>\"'&") >= 6


# ---- the brief form, which a declaration shows


FLOOR = (Row("HOME", "floor", "HOME", State.SET), Row("PATH", "floor", "PATH", State.SET))
USER = Row("MCC_CTX_USER", "session", "identity", State.SET)
TOKEN = Row("TOKEN", "passthrough", "TOKEN", State.SET)


def brief(*rows: Row, **given: object) -> Report:
    return report(*rows, **{"tool": "small", "brief": True, **given})


def test_a_brief_report_tells_what_every_tool_gets_in_a_line_each() -> None:
    assert brief(*FLOOR, USER).text() == "small  exec  available\n\n  floor: HOME PATH\n  session: MCC_CTX_USER"
    assert brief(*FLOOR, TOKEN, USER).text() == (
        "small  exec  available\n\n"
        "  NAME   SOURCE       RULE   STATE\n"
        "  TOKEN  passthrough  TOKEN  set\n\n"
        "  floor: HOME PATH\n"
        "  session: MCC_CTX_USER"
    )


def test_a_brief_report_has_no_line_for_what_is_not_there() -> None:
    assert brief().text() == "small  exec  available\n\n  no variables"
    assert brief(USER).text() == "small  exec  available\n\n  session: MCC_CTX_USER"


def test_every_name_of_a_brief_report_stands_in_its_HTML_too() -> None:
    for one in (brief(*FLOOR, USER), brief(*FLOOR, TOKEN, USER)):
        assert all(row.name in one.html() for row in one.rows)
        assert "no variables" not in one.html()


def test_a_common_name_of_which_something_is_to_be_said_keeps_its_row() -> None:
    flagged = Row("HOME", "floor", "HOME", State.SET, ("empty",))
    assert brief(flagged, FLOOR[1]).text() == (
        "small  exec  available\n\n"
        "  NAME  SOURCE  RULE  STATE  REMARKS\n"
        "  HOME  floor   HOME  set    empty\n\n"
        "  floor: PATH"
    )


def test_a_brief_report_is_complete_as_JSON() -> None:
    assert brief(*FLOOR, USER).json() == report(*FLOOR, USER, tool="small").json()


def test_the_parameters_are_shown_to_people() -> None:
    one = brief(*FLOOR, parameters=("city: str", "days: int = 3"))
    assert one.text().splitlines()[1] == "parameters: city: str; days: int = 3"
    assert "parameters: city: str; days: int = 3" in one.html()


def test_a_warning_has_a_mark_and_a_ground_and_other_notes_have_none() -> None:
    html = brief(*FLOOR, notes=("warning: a caller can run commands through `x`", "just a note")).html()

    assert "⚠ warning</span> a caller can run commands through <code>x</code></li>" in html
    assert "<li>just a note</li>" in html


def test_what_stands_between_backticks_is_code_in_HTML() -> None:
    assert _note("write `{{ x | quote }}` & go") == "write <code>{{ x | quote }}</code> &amp; go"
    assert _note("one ` alone") == "one ` alone"
