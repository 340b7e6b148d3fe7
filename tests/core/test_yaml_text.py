from __future__ import annotations

import pytest

from mcc_jupyter.core.errors import DeclarationError
from mcc_jupyter.core.yaml_text import WrittenDate, parse_yaml

TAB = "a TAB; indent with blanks"
TAG = "a tag `!…` is not allowed; quote a text that begins with `!`"
LEFT_OVER = "text after a closed quote or bracket, or an indentation that does not fit; quote the whole text"
DEEP = "lists and mappings stand too deep inside each other, or an alias holds itself"
BRACKET = "a bracket is not closed, or a text begins with one; quote the text"
COLON = "`: ` inside a text, or an indentation that does not fit; quote the text"
COLON_IN = "`: ` inside a text, or an indentation that does not fit"
LEFT = "text after a closed quote or bracket, or an indentation that does not fit"
OWN_LINES = "put the text on its own lines:"
TYPE = "this is no value of its type; quote it"


@pytest.fixture(params=["libyaml", "python"])
def loader(request, monkeypatch):
    """Both of PyYAML's parsers: the fast one is not on every machine."""
    if request.param == "python":
        monkeypatch.delattr("yaml.CSafeLoader")


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("env:\n  A: 1\n  A: 2", "line 3, column 3: the key `A` stands twice; keep one", id="MAGIC-20-duplicate"),
        pytest.param("a: 1\n--- \nb: 2", "line 2, column 1: a second document; write one list of tools instead of `---`", id="MAGIC-20-documents"),
        pytest.param("name: hi: there", f"line 1, column 9: {COLON}", id="MAGIC-20-colon"),
        pytest.param("name: {{ x }}", "line 1, column 8: a list or mapping as a key; quote a text such as `{{ … }}`", id="MAGIC-20-jinja"),
        pytest.param("name: {{ x }} y", f"line 1, column 15: {LEFT_OVER}", id="MAGIC-20-jinja-and-more"),
        pytest.param('exec: echo "hunter2: ok"', f"line 1, column 20: {COLON_IN}; {OWN_LINES} `exec: |`, then indent it", id="exec-colon"),
        pytest.param('name: t\ncurl: -sS -H "Authorization: Bearer $T" https://h', f"line 2, column 28: {COLON_IN}; {OWN_LINES} `curl: >-`, then indent it", id="curl-colon"),
        pytest.param("- exec: a: b", f"line 1, column 10: {COLON_IN}; {OWN_LINES} `exec: |`, then indent it", id="exec-in-a-list"),
        pytest.param("tools:\n  - transform: a: b", f"line 2, column 17: {COLON_IN}; {OWN_LINES} `transform: |`, then indent it", id="transform"),
        pytest.param("exec: {{ x }}", f"line 1, column 8: a list or mapping as a key; {OWN_LINES} `exec: |`, then indent it", id="exec-jinja"),
        pytest.param('exec: "$X" hunter2', f"line 1, column 12: {LEFT}; {OWN_LINES} `exec: |`, then indent it", id="exec-quoted-word"),
        pytest.param('exec: "hunter2\nname: t', f"line 2, column 8: a quote is not closed; {OWN_LINES} `exec: |`, then indent it", id="exec-open-quote"),
        pytest.param('name: "hunter2\nexec: t', "line 2, column 8: a quote is not closed", id="open-quote-elsewhere"),
        pytest.param("exec: [ -f x ] && y", f"line 1, column 17: no valid YAML; {OWN_LINES} `exec: |`, then indent it", id="exec-test"),
        pytest.param("exec: |\n  a: b\n c: d", f"line 3, column 2: {LEFT_OVER}", id="exec-on-its-own-lines"),
        pytest.param("exec: a\n--- \nb: 2", "line 2, column 1: a second document; write one list of tools instead of `---`", id="exec-documents"),
        pytest.param("a: !!python/object/apply:os.system [x]", f"line 1, column 4: {TAG}", id="MAGIC-20-python-tag"),
        pytest.param("a: !!python/name:os.system ''", f"line 1, column 4: {TAG}", id="MAGIC-20-python-name"),
        pytest.param("name: x\n\texec: y", f"line 2, column 1: {TAB}", id="MAGIC-19-tab"),
        pytest.param("env:\n\tA: 1", f"line 2, column 1: {TAB}", id="MAGIC-19-tab-in-mapping"),
        pytest.param("name: t\nexec: echo\n env: {A: b}", "line 3, column 5: `env` begins in column 2, and the fields before it in column 1; indent them alike", id="indent-one"),
        pytest.param("name: t\n  exec: echo hi", "line 2, column 7: `exec` begins in column 3, and the fields before it in column 1; indent them alike", id="indent-two"),
        pytest.param("- name: t1\nexec: x", "line 2, column 1: `exec` begins in column 1, and the fields before it in column 3; indent them alike", id="indent-item"),
        pytest.param("- name: a\n  params:\n  - name: p\n exec: x", "line 4, column 2: `exec` begins in column 2, and the fields before it in column 5; indent them alike", id="indent-after-params"),
        ("- !!set {a}", f"line 1, column 3: {TAG}"),
        ("- !!binary aGk=", f"line 1, column 3: {TAG}"),
        ("a: !hunter2", f"line 1, column 4: {TAG}"),
        ("a: !x!hunter2 z", f"line 1, column 4: {TAG}"),
        ("- !!int hunter2", f"line 1, column 3: {TYPE}"),
        ("- !!bool hunter2", f"line 1, column 3: {TYPE}"),
        ("a: " + "9" * 5000, f"line 1, column 4: {TYPE}"),
        ("a: *hunter2", "line 1, column 4: an alias `*…` without its anchor; quote a text that begins with `*`"),
        ("a: @hunter2", "line 1, column 4: a text cannot begin with this character; quote it"),
        ("a: %hunter2", "line 1, column 4: a text cannot begin with this character; quote it"),
        ('a: "hunter2', "line 1, column 12: a quote is not closed"),
        ("a: 'it's'", f"line 1, column 8: {LEFT_OVER}"),
        ("a: ]", "line 1, column 4: no valid YAML; look at quotes and indentation"),
        ("a: 1\n b: 2", f"line 2, column 3: {COLON}"),
        ("a: hunter2\x1b", 'line 1, column 11: a control character; write it as an escape inside double quotes ("\\x1b")'),
        ("a: 1\nb: \ud800", 'line 2, column 4: a control character; write it as an escape inside double quotes ("\\x1b")'),
        ("a: &a [*a]", f"line 1, column 4: {DEEP}"),
        ("a: &a\n  <<: *a", f"line 1, column 4: {DEEP}"),
        ("a: 1\n<<: hunter2", "line 2, column 5: `<<` takes a mapping, or a list of mappings"),
        ("<<: [1]", "line 1, column 6: `<<` takes a mapping, or a list of mappings"),
        ("<<: {a: 1}\n<<: {b: 1}", "line 2, column 1: the key `<<` stands twice; keep one"),
        ("[" * 70 + "]" * 70, f"line 1, column 66: {DEEP}"),
    ],
)  # fmt: skip
def test_an_error_tells_line_column_and_kind_and_never_the_text(text, message):
    with pytest.raises(DeclarationError) as caught:
        parse_yaml(text)
    assert str(caught.value) == f"YAML {message}"
    assert "hunter2" not in repr(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1, 2", f"line 2, column 1: {BRACKET}"),
        ('exec: ["a" "b"]', f"line 1, column 12: {BRACKET}"),
        ('a: "\\q"', "line 1, column 5: double quotes do not know this escape; use single quotes, or `\\\\`"),
        ("[" * 3000, f"line 1, column 1001: {DEEP}"),
    ],
)
def test_the_same_with_the_positions_of_libyaml(text, message):
    with pytest.raises(DeclarationError) as caught:
        parse_yaml(text)
    assert str(caught.value) == f"YAML {message}"


def test_the_python_parser_has_a_depth_too(monkeypatch):
    monkeypatch.delattr("yaml.CSafeLoader")
    with pytest.raises(DeclarationError) as caught:
        parse_yaml("[" * 3000)
    assert str(caught.value) == f"YAML line 1, column 1: {DEEP}"


@pytest.mark.usefixtures("loader")
def test_an_anchor_bomb_ends_early():
    """MAGIC-20"""
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10))
    with pytest.raises(DeclarationError) as caught:
        parse_yaml(bomb)
    assert str(caught.value) == "YAML line 1, column 5: aliases repeat too much; write out what is meant"


def test_in_a_cell_lines_are_counted_from_the_magic():
    with pytest.raises(DeclarationError) as caught:
        parse_yaml("name: x\n\texec: y", first_line=2)
    assert str(caught.value) == f"YAML line 3, column 1: {TAB}"


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# nothing\n", None),
        ("\ufeffa: 1", {"a": 1}),
        ("a: 1\r\nb: |\r\n  x\r\n  y\r\n", {"a": 1, "b": "x\ny\n"}),
        pytest.param("v: 1 # uses ${NOPE}\n  # ${ALSO}\n", {"v": 1}, id="SUB-04"),
        ("a: yes\nb: off\nc: ~\nd: 1.5\ne: [x, 1]", {"a": True, "b": False, "c": None, "d": 1.5, "e": ["x", 1]}),
        ("on: 1\n5: 2\nnull: 3\n2024-01-02: 4\n=: 5", {"on": 1, "5": 2, "null": 3, "2024-01-02": 4, "=": 5}),
        ("a: =\nb: <<\nc: !!str 5", {"a": "=", "b": "<<", "c": "5"}),
        ("x: &d {a: 1, b: 2}\ny: {<<: *d, b: 3}", {"x": {"a": 1, "b": 2}, "y": {"a": 1, "b": 3}}),
        ("p: &p {a: 1}\nq: &q {a: 2, b: 2}\nr: {<<: [*p, *q]}", {"p": {"a": 1}, "q": {"a": 2, "b": 2}, "r": {"a": 1, "b": 2}}),
        ("'<<': 1", {"<<": 1}),
    ],
)  # fmt: skip
def test_plain_yaml(text, value):
    assert parse_yaml(text) == value


@pytest.mark.parametrize(
    ("text", "value", "written"),
    [
        ("12:30", 750, "12:30"),
        ("0123", 83, "0123"),
        ("0x1F", 31, "0x1F"),
        ("1_000", 1000, "1_000"),
        ("1.10", 1.1, "1.10"),
    ],
)
def test_a_number_keeps_the_text_it_was_written_with(text, value, written):
    number = parse_yaml(text)
    assert (number, number.written) == (value, written)


def test_a_date_stays_text():
    assert parse_yaml("2024-13-45") == "2024-13-45"
    assert isinstance(parse_yaml("2024-01-02"), WrittenDate)


def test_lines_are_known_through_merges():
    found = parse_yaml("x: &d\n  a: 1\n  b: 2\ny:\n  <<: *d\n  b: 3\n")
    assert found.lines == {"x": 1, "y": 4}
    assert found["y"].lines == {"a": 2, "b": 6}
    assert parse_yaml("- a\n- b").lines == [1, 2]
