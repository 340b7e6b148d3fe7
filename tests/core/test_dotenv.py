"""env_file: python-dotenv's grammar, our own interpolation (SPEC 4.4). The tables hold real trouble with the right answer."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO

import pytest
from dotenv import dotenv_values
from dotenv.parser import parse_stream
from dotenv.variables import Variable, parse_variables
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcc_jupyter.core.dotenv import Dotenv, Interpolation, Unreadable, atoms, parse, statements
from mcc_jupyter.core.policy import resolve
from mcc_jupyter.core.report import report
from mcc_jupyter.core.resolution import Resolution, Source
from mcc_jupyter.core.tool import DEFAULT_FLOOR, EnvFile, Origin, Shell, Text, Tool

PARENT = {"HOME": "/home/u", "PATH": "/usr/bin:/bin", "PARENT_SECRET": "from-kernel"}


def tool(**fields: object) -> Tool:
    fields.setdefault("env_files", (EnvFile("conf/a.env", "/w/conf/a.env"),))
    return Tool(name="t", body=Shell("env", "env"), origin=Origin("cell", "cell"), cwd=Text("/w", "/w"), **fields)  # type: ignore[arg-type]


def resolved(text: str, *, parent: Mapping[str, str] = PARENT, **fields: object) -> Resolution:
    files = (parse(text, path="conf/a.env"),)
    return resolve(tool(**fields), parent=parent, floor=DEFAULT_FLOOR, files=files)


def from_file(resolution: Resolution) -> dict[str, str]:
    return {
        name: binding.value
        for name, binding in resolution.bindings.items()
        if binding.provenance.source is Source.ENV_FILE
    }


CASES = {
    "DOT-01": ("PW=ab#cd\nURL=http://h.test/p#frag\nCOLOR=#FF00AA\n",
               {"PW": "ab#cd", "URL": "http://h.test/p#frag", "COLOR": "#FF00AA"}),
    "DOT-03": ("A=\"x\"#c\nB='y'#c\n", {"A": "x", "B": "y"}),
    "DOT-04": ("A= # only a comment\nB=#x\nC=\nD=''\nE=\"\"\n", {"A": "", "B": "#x", "C": "", "D": "", "E": ""}),
    "DOT-06": ("export A=1\nexport\tB=2\n  export C=3\nexportD=4\nexport_E=5\n",
               {"A": "1", "B": "2", "C": "3", "exportD": "4", "export_E": "5"}),
    "DOT-07": ("A = 1\nB =2\nC= 3\n  D=4\n", {"A": "1", "B": "2", "C": "3", "D": "4"}),
    "DOT-08": ("A=1\r\nB='x'\r\nC=\"l1\r\nl2\"\r\nD=4\r\n", {"A": "1", "B": "x", "C": "l1\nl2", "D": "4"}),
    "DOT-09": ("\ufeffAPI_KEY=k1\nSECOND=2\n", {"API_KEY": "k1", "SECOND": "2"}),
    "DOT-11": ('A="a\\nb"\nB=\'a\\nb\'\nC=a\\nb\nD="t\\tq\\"q"\nE=\'it\\\'s\'\nF="\\\\n"\n',
               {"A": "a\nb", "B": "a\\nb", "C": "a\\nb", "D": 't\tq"q', "E": "it's", "F": "\\n"}),
    "DOT-13": ("A=1\nA=2\nB=${A}\nA=3\n", {"A": "3", "B": "2"}),
    "DOT-17": ("P=pa$$word\nQ=$HOME/x\nR='$HOME'\nS=$q7&*w#1)z$k\n",
               {"P": "pa$$word", "Q": "$HOME/x", "R": "$HOME", "S": "$q7&*w#1)z$k"}),
    "DOT-19": (("A=${NOPE:-dflt}\nB=${EMPTYF:-dflt}\nC=${NOPE-d}\nD=${NOPE:=d}\nE=${NOPE:?e}\nF=${A:-${NOPE:-z}}\n"
               "G=${NOPE:-a b # c}\n"),
               {"A": "dflt", "B": "dflt", "C": "", "D": "${NOPE:=d}", "E": "${NOPE:?e}", "F": "dflt}", "G": "${NOPE:-a b"}),
    "DOT-20": ("EMPTYF=\nB=${EMPTYF:-dflt}\n", {"EMPTYF": "", "B": ""}),
    "DOT-21": ("T=${PARENT_SECRET}\nU=${HOME}/x\n", {"T": "", "U": "/home/u/x"}),
    "DOT-22": ("A=${B}\nB=2\nPATH=/opt/x:${PATH}\nZ=${Z}\n", {"A": "", "B": "2", "PATH": "/opt/x:/usr/bin:/bin", "Z": ""}),
    "DOT-23": ("A=$(id -u)\nB=`id -u`\n", {"A": "$(id -u)", "B": "`id -u`"}),
    "DOT-25": ("A=\u00a0v\u00a0\nB=v\u200b\n\u200bC=3\nD=\u201csmart\u201d\n",
               {"A": "v", "B": "v\u200b", "D": "\u201csmart\u201d"}),
    "DOT-28": ("A=`x y`\n", {"A": "`x y`"}),
    "DOT-29": ('A="x" y\nB=2\n', {"B": "2"}),
    "DOT-31": ("[default]\naws_key = abc\n", {"aws_key": "abc"}),
    "DOT-41": ("A=\"6789\"\nB='x y'\nC=a # b\n", {"A": "6789", "B": "x y", "C": "a"}),
    "DOT-42": ("A=${:-x}\nB=${}\nC=${ HOME }\nD=$\nE=5$ each\n", {"A": "x", "B": "", "C": "", "D": "$", "E": "5$ each"}),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_a_file_gives_exactly_these_variables(text: str, expected: dict[str, str]) -> None:
    resolution = resolved(text)
    assert from_file(resolution) == expected
    assert {name: resolution.environ()[name] for name in expected} == expected
    assert resolution.environ().keys() - expected.keys() <= {"HOME", "PATH"}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_the_same_file_with_windows_or_translated_line_ends_gives_the_same(text: str, expected: dict[str, str]) -> None:
    plain = text.replace("\r\n", "\n")
    assert from_file(resolved(plain)) == expected
    assert from_file(resolved(plain.replace("\n", "\r\n"))) == expected


WARNINGS = {
    "DOT-13": ("A=1\nA=2\nB=${A}\nA=3\n", ["A is defined 3 times (lines 1, 2, 4); the last one counts"]),
    "DOT-25": ("A=1\n\u200bC=3\n", ["line 2 has an invalid name and is left out"]),
    "DOT-29": ('\n\nA="x" y\nB=2\n', ["line 3 does not parse and is left out"]),
    "DOT-31": ("[default]\naws_key = abc\n", ["line 1 has no `=` and is left out"]),
    "blank lines and comments": ("# a\n\n  # b\nJUNK\n\n\n'odd name'=1\n",
                                 ["line 4 has no `=` and is left out", "line 7 has an invalid name and is left out"]),
    "windows": ("\r\n\r\nJUNK\r\n", ["line 3 has no `=` and is left out"]),
    "after many lines of a quoted value": ("K='a\nb\nc'\nJUNK\n", ["line 4 has no `=` and is left out"]),
    "nothing wrong": ("A=1\n", []),
    "empty file": ("", []),
    "only blanks": ("\n \n", []),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), WARNINGS.values(), ids=WARNINGS)
def test_a_warning_names_the_line_and_nothing_that_stands_on_it(text: str, expected: list[str]) -> None:
    parsed = parse(text, path="a.env")
    assert isinstance(parsed, Dotenv)
    assert list(parsed.warnings) == expected
    assert [note for note in resolved(text).notes if "not available" not in note] == [
        f"warning: env_file conf/a.env: {warning}" for warning in expected
    ]


PEM = "K=-----BEGIN TEST KEY-----\nMIIBfakeline\nabcd=\n-----END TEST KEY-----\nZ=1\n"


def test_DOT_32_an_unquoted_key_is_an_error_and_no_piece_of_it_is_ever_shown() -> None:
    resolution = resolved(PEM)
    notice = "Tool 't' is unavailable; env_file conf/a.env, line 1: a multi-line value must be quoted"
    assert resolution.notice == notice
    assert [reason.code for reason in resolution.reasons] == ["env_file"]
    assert from_file(resolution) == {}
    shown = report(tool(), resolution)
    for text in (shown.text(), shown.html(), str(shown.json()), repr(resolution), repr(parse(PEM, path="a"))):
        assert "MIIBfakeline" not in text
        assert "abcd" not in text


@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_a_key_on_one_line_with_escaped_line_ends_is_a_value(quote: str) -> None:
    text = f"K={quote}-----BEGIN KEY-----\\nMIIB\\n-----END KEY-----\\n{quote}\nZ=1\n"
    assert list(from_file(resolved(text))) == ["K", "Z"]


def test_a_quoted_key_on_many_lines_is_a_value() -> None:
    text = 'K="-----BEGIN KEY-----\nMIIB\n-----END KEY-----"\nZ=1\n'
    assert from_file(resolved(text)) == {"K": "-----BEGIN KEY-----\nMIIB\n-----END KEY-----", "Z": "1"}


def test_DOT_24_a_NUL_byte_is_refused_before_any_process_and_by_name() -> None:
    assert parse("B=2\nA=ab\0cd\n", path="conf/a.env") == Unreadable(
        "env_file conf/a.env, line 2: variable A contains a NUL byte"
    )
    notice = "Tool 't' is unavailable; env_file conf/a.env, line 2: variable A contains a NUL byte"
    assert resolved("B=2\nA=ab\0cd\n").notice == notice


def test_DOT_21_a_file_reads_what_the_tool_was_granted_and_no_more_of_the_parent() -> None:
    text = "T=${PARENT_SECRET}\n"
    assert resolved(text).notes == (
        (
            "warning: env_file conf/a.env, line 1: PARENT_SECRET is not available to this tool; "
            "grant it with env_passthrough or optional_env"
        ),
    )
    granted = resolved(text, passthrough=("PARENT_SECRET",))
    assert from_file(granted) == {"T": "from-kernel"}
    assert granted.notes == ()


def test_a_default_is_used_silently() -> None:
    resolution = resolved("T=${PARENT_SECRET:-none}\n")
    assert from_file(resolution) == {"T": "none"}
    assert resolution.notes == ()


def test_a_later_file_stands_over_an_earlier_one_and_sees_its_keys() -> None:
    files = (EnvFile("a.env", "/w/a.env"), EnvFile("b.env", "/w/b.env"))
    contents = (parse("A=1\nB=1\n", path="a.env"), parse("B=${A}${B}2\n", path="b.env"))
    resolution = resolve(tool(env_files=files), parent=PARENT, floor=DEFAULT_FLOOR, files=contents)
    assert from_file(resolution) == {"A": "1", "B": "112"}
    b = resolution.bindings["B"]
    assert (b.provenance.rule, [shadow.rule for shadow in b.shadows]) == ("b.env", ["a.env"])


def test_a_name_twice_in_one_file_does_not_shadow_itself() -> None:
    assert resolved("A=1\nA=2\n").bindings["A"].shadows == ()


def test_a_file_that_cannot_be_used_leaves_the_others_alone() -> None:
    files = (EnvFile("a.env", "/w/a.env"), EnvFile("b.env", "/w/b.env"))
    contents = (Unreadable("env_file not found: a.env (looked in /w)"), parse("B=1\n", path="b.env"))
    resolution = resolve(tool(env_files=files), parent=PARENT, floor=DEFAULT_FLOOR, files=contents)
    assert from_file(resolution) == {"B": "1"}
    assert resolution.notice == "Tool 't' is unavailable; env_file not found: a.env (looked in /w)"


def test_an_entry_keeps_its_references_apart_and_shows_no_text() -> None:
    parsed = parse("\nA=x${B:-secret}y\n", path="a.env")
    assert isinstance(parsed, Dotenv)
    (entry,) = parsed.entries
    assert (entry.name, entry.line, entry.atoms) == ("A", 2, ("x", Interpolation("B", "secret"), "y"))
    assert "secret" not in repr(parsed)


# ---- python-dotenv itself is the oracle of the grammar

BLANKS = st.sampled_from(["", "", " ", "  ", "\t", "\v", "\f", "\x1c", "\x85", "\xa0", "\u2028", "\u3000"])
LINE_ENDS = st.sampled_from(["\n", "\n", "\n", "\r", "\r\n", "\n\n", " \n", ""])
SCRAPS = st.sampled_from(
    ["$", "${", "}", "${}", "${A}", "${A:-", "${A:-${B}}", "${:-x}", "${A-b}", "${A:b}", "${'", ":-", ":", "=", "#", " #",
     "'", '"', "\\", "\\\\", "\\'", '\\"', "\\n", "\\x41", "\\\n", "`", "a", "B_1", "\u00e9", "\u200b", "\ufeff", "\0"]
)  # fmt: skip
TEXTS = st.lists(st.one_of(SCRAPS, BLANKS, LINE_ENDS), max_size=8).map("".join)
QUOTED = st.one_of(
    TEXTS.map(lambda text: f"'{text}'"),
    TEXTS.map(lambda text: f'"{text}"'),
    TEXTS.map(lambda text: f"'{text}"),
    TEXTS.map(lambda text: f'"{text}'),
    TEXTS.map(lambda text: "'" + text.replace("'", "\\'") + "'"),
    TEXTS.map(lambda text: '"' + text.replace('"', '\\"') + '"'),
)
LINES = st.tuples(
    BLANKS,
    st.sampled_from(["", "", "export ", "export\t", "export\xa0\xa0", "export", "export\n"]),
    st.one_of(st.sampled_from(["A", "B_1", "odd-name", "'A'", "'two\nlines'", "''", "'open", "", "#"]), TEXTS),
    BLANKS,
    st.sampled_from(["=", "=", "=", "=", "", "=="]),
    BLANKS,
    st.one_of(QUOTED, TEXTS),
    BLANKS,
    st.sampled_from(["", "", "", "#c", " # c 'd", "junk", "="]),
    LINE_ENDS,
).map("".join)
FILES = st.tuples(
    st.sampled_from(["", "", "", "\ufeff", "\ufeff\ufeff"]), st.lists(LINES, max_size=6).map("".join)
).map("".join)


def by_python_dotenv(text: str) -> list[tuple[int, str | None, str | None]]:
    found = []
    for binding in parse_stream(StringIO(text, newline=None)):
        if binding.key is not None or binding.error:
            # It counts the blank lines before a statement as the statement's own.
            blank = binding.original.string.removesuffix(binding.original.string.lstrip())
            found.append((binding.original.line + blank.count("\n"), binding.key, binding.value))
    return found


CORNERS = [
    "A='x\nB=1\n", 'A="x\nB=1\n', "A='x\\\ny'\nB=1", 'A="x\\\ny" junk\nB=1', "A='x\ny'junk\nB=1", "A='x\\", "A=x'y'\"",
    "A='\\\\ \\' \\n \\\"'", 'A="\\\\ \\\' \\" \\a\\b\\f\\n\\r\\t\\v \\x41\\u0041\\101\\z \\\n"',
    "A=x\v#c\nB=x\xa0#c\nC=x#c #d\nD=\u2028#c\nE=\x85x\x85\nF=#\nG= #", "A=x \t#\t#", "A=x\x1c\x1d",
    "export", "export ", "export \nA=1", "export #c\nA=1", "export =1\nA=1", "export export A=1", "export\xa0A=1", "'export'=1",
    "'a\nb'=1", "'a\nb' c\nA=1", "''=1\nA=1", "'a=1\nA=1", "a'b=1", '"a"=1', "'a'b=1", "=1\nA=1", "A==1", "A\nB #c\nC#c\nD E\n#F=1", "A=\n'b'=1", 'A=\n"b"',
    "\ufeff\ufeffA=1", "\ufeff", "A=\ufeffx", "A=\0", "A\r=1\rB='x\r\ny'\r\n\rC", "\x85A=1\u2028B=2", "\n\n \n", "#", " \n # c",
]  # fmt: skip


@pytest.mark.parametrize("text", CORNERS)
def test_corners_of_the_grammar_are_those_of_python_dotenv(text: str) -> None:
    assert list(statements(text)) == by_python_dotenv(text)


@settings(max_examples=150)
@given(FILES)
def test_statements_and_their_lines_are_those_of_python_dotenv(text: str) -> None:
    assert list(statements(text)) == by_python_dotenv(text)


@settings(max_examples=150)
@given(TEXTS)
@example("${A:-${B}}x${C:-}y${}${:-}${D:e}${E-e}$F${G:-g")
def test_literals_and_variables_of_a_value_are_those_of_python_dotenv(text: str) -> None:
    expected = [
        Interpolation(atom.name, atom.default) if isinstance(atom, Variable) else vars(atom)["value"]
        for atom in parse_variables(text)
    ]
    assert list(atoms(text)) == (expected or [""])


VALUES = st.text("ab ${}:-AC", max_size=10)


@given(st.lists(st.tuples(st.sampled_from(["A", "C", "D"]), VALUES), max_size=5))
def test_interpolation_gives_what_python_dotenv_gives_when_the_parent_has_nothing(pairs: list[tuple[str, str]]) -> None:
    text = "".join(f"{name}='{value}'\n" for name, value in pairs)
    expected = dotenv_values(stream=StringIO(text), interpolate=True)
    assert from_file(resolved(text, parent={})) == expected
