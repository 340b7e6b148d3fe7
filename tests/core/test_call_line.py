from __future__ import annotations

import pytest

from mcc_jupyter.core.call_line import Call, parse_call, split_arguments, unexpanded
from mcc_jupyter.core.errors import ArgumentError

NAME_FIRST = "write the tool's name first: `%mcc_call NAME name=value …`"
PAIR = "expected NAME=VALUE; quote a value that holds blanks"
CLOSED = "is not closed; quote a value that holds one as a whole"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", "5"),
        ("", ""),
        ("a=b", "a=b"),
        ("'a b'", "a b"),
        ('"a b"', "a b"),
        (r'"say \"hi\" \\ \n"', r'say "hi" \ \n'),
        (r"'a\'", "a\\"),
        ("don't", "don't"),
        ("$HOME", "$HOME"),
        ("{{x}}", "{{x}}"),
        ('["a b", "c"]', '["a b", "c"]'),
        ('{"k": [1, {"n": "}"}]}', '{"k": [1, {"n": "}"}]}'),
        ("count(*, 1)", "count(*, 1)"),
        ("a,'b c'", "a,'b c'"),
        (":)", ":)"),
        ("'a''b'", "'a''b'"),
        ("é", "é"),
    ],
)
def test_values(text, value):
    """MAGIC-01: nothing is expanded."""
    assert parse_call(f"t x={text} y=1").arguments == {"x": value, "y": "1"}


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("t", Call("t", {})),
        ("  public.t   a=1\t", Call("public.t", {"a": "1"})),
        ("--no-raise-error t a=1", Call("t", {"a": "1"}, raise_error=False)),
        ("t -o out --timeout 1.5", Call("t", {}, output="out", timeout=1.5)),
        ("t --json '{\"a\": 1}'", Call("t", {"a": 1})),
        ('t --json {"a": [1, 2]}', Call("t", {"a": [1, 2]})),
        ('t --json={"a": null} -o=x', Call("t", {"a": None}, output="x")),
        ("t a=1   # a comment it's", Call("t", {"a": "1"})),
        ("t #a=1", Call("t", {})),
        ("t a=x#y b='# c' c=[1 # 2]", Call("t", {"a": "x#y", "b": "# c", "c": "[1 # 2]"})),
    ],
)
def test_calls(line, call):
    assert parse_call(line) == call


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("", NAME_FIRST),
        ("a=1", NAME_FIRST),
        ("t hunter2", f"argument 1: {PAIR}"),
        ("t a=1 b=hello hunter2", f"argument 3: {PAIR}"),
        ("t hunter2-hunter2=1", f"argument 1: {PAIR}"),
        ("t a=1 hello hunter2 b=2 x", f"arguments 2, 3, 5: {PAIR}"),
        ("t" + " x" * 8, f"arguments 1, 2, 3, 4, 5, 6, 7, 8: {PAIR}"),
        ("t" + " x" * 20, f"arguments 1, 2, 3, 4, 5, 6, 7, 8, …: {PAIR}"),
        ("# t", NAME_FIRST),
        ("t a=hunter2 a=hunter3", "the argument `a` is given twice; keep one"),
        ("t a='hunter2", f"a quote {CLOSED}"),
        ("t a=:(", f"a bracket {CLOSED}"),
        ("t --jsn '{}'", "unknown option `--jsn` (did you mean `--json`?)\nargument 1: " + PAIR),
        ("t --json", "--json: needs a value: `--json OBJECT`"),
        ("t a=1 --json '{}'", "--json: give it or NAME=VALUE arguments, not both"),
        pytest.param("t --json '[1]'", '--json: the arguments must be one JSON object, like {"name": "value"}', id="FN-31-list"),
        pytest.param("t --json '\"hunter2\"'", '--json: the arguments must be one JSON object, like {"name": "value"}', id="FN-31-text"),
        pytest.param('t --json {"a":1,"a":2}', "--json: the arguments must be one JSON object; the text has a mapping with the same key twice", id="FN-31-twice"),
        ("t --json {hunter2}", "--json: the arguments must be one JSON object; the text is no JSON at line 1, column 2"),
        ("t -o 1x", "-o: expected the name of a variable"),
        ("t -o class", "-o: expected the name of a variable"),
        ("t --timeout soon", "--timeout: expected a number of seconds above 0"),
        ("t --timeout 0", "--timeout: expected a number of seconds above 0"),
        ("t --timeout nan", "--timeout: expected a number of seconds above 0"),
        ("t --no-raise-error=1", "--no-raise-error: takes no value"),
    ],
)  # fmt: skip
def test_wrong_calls(line, problem):
    with pytest.raises(ArgumentError) as caught:
        parse_call(line)
    assert str(caught.value) == problem
    assert "hunter" not in str(caught.value)


def test_a_call_does_not_show_its_arguments():
    assert repr(parse_call("t a=hunter2")) == "Call(name='t', raise_error=True, output=None, timeout=None, spill=None)"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("{city}", True), ("$city", True), ("${city}", True), ("{nope}", True), ("$nope", True), (" {city} ", True), ("in {city}!", True), ("in $city!", True),
        ("in {nope}", False), ("in $nope", False), ("city", False), ("", False), (5, False), (["{city}"], False), ("{}", False), ("$5", False), ("{{city}}", False),
    ],
)  # fmt: skip
def test_text_that_was_meant_to_be_a_python_variable_is_noticed(value, told):
    assert unexpanded({"a": value, "b": "x"}, {"city"}) == (["a"] if told else [])


def test_words_that_a_shell_has_split_keep_their_quotes():
    assert split_arguments(["a=x y", "b='q'", "c="]) == {"a": "x y", "b": "'q'", "c": ""}
    with pytest.raises(ArgumentError) as caught:
        split_arguments(["hunter2", "a=1", "a=2"])
    assert str(caught.value) == f"argument 1: {PAIR}\nthe argument `a` is given twice; keep one"
