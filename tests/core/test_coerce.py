"""One argument: what fits, what is converted without loss, what is refused without its value (SPEC 2.7)."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import pathlib
import subprocess
import sys
import uuid
from collections.abc import Mapping
from typing import Any

import pytest

from mcc_jupyter.core.coerce import coerce
from mcc_jupyter.core.errors import ArgumentError
from mcc_jupyter.core.plain_json import read_json
from mcc_jupyter.core.tool import Param


def label(value: object) -> str:
    """A test's name must stay short, and no integer may be too long for one."""
    return value[:30] if isinstance(value, str) else type(value).__name__


LIST = 'must be a list as JSON, like ["a", "b"]'
MAPPING = 'must be a mapping as JSON, like {"a": 1}'


class Color(enum.Enum):
    RED = "red"


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("type", "value", "expected"),
    [
        # text to int, float, bool (true false yes no on off 1 0), list and dict (JSON)
        ("int", "5", 5), ("int", " -5 ", -5), ("int", "+5", 5), ("int", "5.0", 5), ("int", "007", 7), ("int", "9" * 4300, int("9" * 4300)),
        ("float", "1.5", 1.5), ("float", "-.5", -0.5), ("float", "1e3", 1000.0), ("float", "5", 5.0), ("float", "0.10", 0.1), ("float", " 2. ", 2.0),
        ("bool", "true", True), ("bool", "false", False), ("bool", "yes", True), ("bool", "no", False), ("bool", "on", True),
        ("bool", "off", False), ("bool", "1", True), ("bool", "0", False), ("bool", "True", True), ("bool", True, True), ("bool", False, False),
        ("list", "[1, [2]]", [1, [2]]), ("list", "[]", []), ("dict", '{"a": {"b": null}}', {"a": {"b": None}}),
        # int to float, 5.0 to int
        ("float", 5, 5.0), ("float", -(2**53), -float(2**53)), ("float", 10**22, 1e22), ("float", 1.5, 1.5),
        ("int", 5.0, 5), ("int", -0.0, 0), ("int", 1e22, 10**22), ("int", 2**80, 2**80),
        # numbers to str
        ("str", 5, "5"), ("str", 1.5, "1.5"), ("str", 5.0, "5.0"), ("str", "", ""), ("str", " x\n", " x\n"), ("str", "5", "5"),
        # as they are
        ("list", [1, "a", None], [1, "a", None]), ("list", (1, (2,)), [1, [2]]), ("dict", {"a": 1}, {"a": 1}),
        ("any", 5, 5), ("any", "5", "5"), ("any", None, None), ("any", {"a": [True]}, {"a": [True]}),
        # what a Python caller holds
        ("str", dt.date(2024, 1, 2), "2024-01-02"), ("str", dt.time(3, 4), "03:04:00"), ("str", decimal.Decimal("1.10"), "1.10"),
        ("str", pathlib.PurePosixPath("a/b"), "a/b"), ("str", uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ("str", Color.RED, "red"), ("str", Text("a"), "a"), ("list", [Color.RED], ["red"]),
    ],
    ids=label,
)  # fmt: skip
def test_coercion_loses_nothing(type: str, value: object, expected: object) -> None:
    found = coerce(Param("x", type), value)

    assert found == expected
    assert found.__class__ is expected.__class__


@pytest.mark.parametrize(
    ("type", "value", "rule"),
    [
        ("int", "5.5", "must be an integer"), ("int", 5.5, "must be an integer"), ("int", True, "must be an integer"), ("int", "1_000", "must be an integer"),
        ("int", "0x1f", "must be an integer"), ("int", "1e3", "must be an integer"), ("int", "", "must be an integer"), ("int", "٣", "must be an integer"),
        ("int", [1], "must be an integer"), ("int", "9" * 4301, "must be an integer of at most 4,300 digits"),
        ("int", 10**4300, "holds an integer of more than 4,300 digits"), ("any", [-(10**4300)], "[0] holds an integer of more than 4,300 digits"),
        ("float", "nan", "must be a number"), ("float", "inf", "must be a number"), ("float", "1_0", "must be a number"), ("float", True, "must be a number"),
        ("float", "9" * 4301, "must be a number"), ("float", [], "must be a number"),
        ("float", float("nan"), "holds a number that is not finite; pass None instead"), ("any", {"a": [0, float("inf")]}, "[…][1] holds a number that is not finite; pass None instead"),
        ("float", 10**400, "must be a number that a float can hold"), ("float", "1e400", "must be a number that a float can hold"),
        ("float", 2**53 + 1, "must be a number with no more digits than a float keeps"), ("float", "0.12345678901234567890123", "must be a number with no more digits than a float keeps"),
        ("float", "1e-400", "must be a number with no more digits than a float keeps"),
        ("bool", "maybe", "must be true or false"), ("bool", 1, "must be true or false"), ("bool", "t", "must be true or false"), ("bool", 0.0, "must be true or false"),
        ("str", True, "must be text"), ("str", ["a"], "must be text"), ("str", None, "must not be null"), ("int", None, "must not be null"),
        ("list", "a,b", f"{LIST}; the text is no JSON at line 1, column 1"), ("dict", "a", f"{MAPPING}; the text is no JSON at line 1, column 1"), ("list", '{"a": 1}', "must be a list"), ("list", {"a": 1}, "must be a list"),
        ("list", 5, "must be a list"), ("list", "[NaN]", f"{LIST}; the text holds NaN or Infinity, which is no JSON"),
        ("list", "[" * 100_000, f"{LIST}; the text is nested too deeply"),
        ("dict", '{"a": 1, "a": 2}', f"{MAPPING}; the text has a mapping with the same key twice"),
        ("dict", '{"a": %s}' % ("9" * 4301), f"{MAPPING}; the text holds an integer of more than 4,300 digits"),
        ("dict", [1], "must be a mapping"), ("dict", {1: 2}, "has a key that is not text"), ("list", [{1}], "[0] holds a `set`, which is no JSON; pass a list"), ("list", range(3), "holds a `range`, which is no JSON; pass a list"),
        ("dict", {("a", 1): 2}, "has a key of several parts; join them to one text (of a table: reset_index first)"),
        ("str", b"secret", "holds a `bytes`, which is no JSON; pass text"), ("any", object(), "holds a `object`, which is no JSON"),
    ],
    ids=label,
)  # fmt: skip
def test_FN_09_what_would_lose_something_is_refused_without_the_value(type: str, value: object, rule: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        coerce(Param("x", type), value)

    assert str(caught.value) == (f"argument `x{rule.replace(' ', '` ', 1)}" if rule.startswith("[") else f"argument `x` {rule}")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


PYTHON = "Python variables are not expanded here, call it from Python: mcc.tools.NAME(x=…)"


@pytest.mark.parametrize("value", ["$files", "${files}", "{files}", " {df.columns} ", "$größe"])
@pytest.mark.parametrize(
    ("type", "rule"), [("list", LIST), ("dict", MAPPING), ("int", "must be an integer"), ("float", "must be a number"), ("bool", "must be true or false")]
)  # fmt: skip
def test_a_python_variable_in_a_call_is_told_where_it_works(type: str, rule: str, value: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        coerce(Param("x", type), value)
    assert str(caught.value) == f"argument `x` {rule}; {PYTHON}"


@pytest.mark.parametrize("value", ["$5", "{}", "{a b}", "$a,$b", '{"a"}', "$", "{{x}}"])
def test_other_texts_are_no_python_variables(value: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        coerce(Param("x", "int"), value)
    assert str(caught.value) == "argument `x` must be an integer"
    assert coerce(Param("x"), "$files") == "$files"


def test_a_value_that_holds_itself_is_refused() -> None:
    value: list[object] = []
    value.append(value)

    with pytest.raises(ArgumentError, match=r"^argument `x` is nested too deeply$"):
        coerce(Param("x", "list"), value)


def test_numpy_values_are_taken_as_what_they_hold() -> None:
    numpy = pytest.importorskip("numpy")

    assert coerce(Param("x", "int"), numpy.int64(5)) == 5
    assert coerce(Param("x", "list"), numpy.arange(2)) == [0, 1]
    with pytest.raises(ArgumentError, match=r"^argument `x` holds a `longdouble`, which is no JSON$"):
        coerce(Param("x", "float"), numpy.longdouble(2))


@pytest.mark.parametrize(
    "param",
    [Param("x", "int", nullable=True), Param("x", "int", required=False), Param("x", "int", required=False, default=None), Param("x", schema={})],
)
def test_null_is_for_what_is_optional(param: Param) -> None:
    assert coerce(param, None) is None


@pytest.mark.parametrize(
    ("choices", "type", "value", "expected"),
    [
        (("r", "w"), "str", "r", "r"), ((1, 2), "int", "2", 2), ((1, 2), "int", 2.0, 2), (("1", "2"), "str", 1, "1"), ((0.5, 1.5), "float", "0.5", 0.5),
        ((True,), "bool", "yes", True), (("a", 1), "any", "1", 1), (("a", "1", 1), "any", "1", "1"), ((None, 1), "any", "1", 1),
    ],
)  # fmt: skip
def test_a_choice_is_found_by_value_or_by_its_text(choices: tuple[object, ...], type: str, value: object, expected: object) -> None:
    assert coerce(Param("x", type, enum=choices), value) == expected


@pytest.mark.parametrize(
    ("choices", "value", "shown"),
    [
        (("r", "w"), "secret", '"r", "w"'), ((1, 2), True, "1, 2"), ((1, 1.0), "1", "1, 1.0"), (("a",), ["a"], '"a"'), (("a",), 5, '"a"'),
        (tuple(range(9)), 10, "0, 1, 2, 3, 4, 5, 6, 7, …"),
    ],
)  # fmt: skip
def test_a_value_outside_the_choices_is_refused(choices: tuple[object, ...], value: object, shown: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        coerce(Param("x", "any", enum=choices), value)

    assert str(caught.value) == f"argument `x` must be one of {shown}"


NODE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "next": {"anyOf": [{"type": "object"}, {"type": "null"}]}},
    "required": ["name"],
    "additionalProperties": False,
}
PAIR = {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "array", "items": {"type": "integer"}}, ["1", 2.0, 3], [1, 2, 3]),
        ({"type": "array", "items": {"type": "number"}}, [1, 1.5], [1.0, 1.5]),
        ({"type": "array"}, "[1]", [1]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"a": "1"}, {"a": 1}),
        ({"type": "object"}, {"a": "1"}, {"a": "1"}),
        (NODE, {"name": 5, "next": None}, {"name": "5", "next": None}),
        (NODE, {"name": "a", "next": {"b": 1}}, {"name": "a", "next": {"b": 1}}),
        (PAIR, [1, "a"], [1, "a"]),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "5", "5"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, 5, 5),
        ({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, "5", 5),
        ({"anyOf": [{"enum": ["a"]}, {"type": "array", "items": {"anyOf": [{"type": "integer"}]}}]}, ["1"], [1]),
        ({"type": ["integer", "number"]}, 5, 5),
        ({"type": ["integer", "number"]}, "0.5", 0.5),
        ({"type": ["integer", "number"]}, "5", 5),
        ({"type": "string", "format": "date"}, "2024-01-31", "2024-01-31"),
        ({"type": "string", "format": "date-time"}, "2024-01-31T12:30:00Z", "2024-01-31T12:30:00Z"),
        ({"type": "string", "format": "time"}, "12:30", "12:30"),
        ({"type": "string", "format": "uuid"}, str(uuid.UUID(int=1)), str(uuid.UUID(int=1))),
        ({}, {"any": [None]}, {"any": [None]}),
        ({"type": "null"}, None, None),
    ],
)
def test_a_schema_reaches_inside(schema: Mapping[str, object], value: object, expected: object) -> None:
    found = coerce(Param("x", "any", schema=schema), value)

    assert found == expected
    assert repr(found) == repr(expected)


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"type": "array", "items": {"type": "integer"}}, [1, "secret"], "`x[1]` must be an integer"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"secret": "secret"}, "`x[…]` must be an integer"),
        ({"type": "object", "properties": {"a": {"type": "array", "items": NODE}}}, {"a": [{"name": []}]}, "`x.a[0].name` must be text"),
        (NODE, {"next": {}}, "`x` lacks the key `name`"),
        (NODE, {"name": "a", "secret": 1}, "`x` has an unknown key; it may have `name`, `next`"),
        ({"type": "object", "additionalProperties": False}, {"secret": 1}, "`x` has an unknown key; it may have none"),
        (PAIR, [1], "`x` must have at least 2 items"),
        (PAIR, [1, "a", 2], "`x` must have at most 2 items"),
        ({"anyOf": [{"type": "integer"}, {"type": "array"}]}, "secret", "`x` fits none of the types it may have"),
        ({"type": ["integer", "number"]}, "secret", "`x` must be an integer or a number"),
        ({"type": "null"}, "secret", "`x` must be null"),
        ({"type": "string", "format": "date"}, "20240131", "`x` must be a date like 2024-01-31"),
        ({"type": "string", "format": "date"}, "2024-02-31", "`x` must be a date like 2024-01-31"),
        ({"type": "string", "format": "date-time"}, "secret", "`x` must be a date and time like 2024-01-31T12:30:00"),
        ({"type": "string", "format": "time"}, "25:00", "`x` must be a time like 12:30:00"),
        ({"type": "string", "format": "uuid"}, "secret", "`x` must be a UUID"),
        ({"type": "integer", "minimum": 5}, 3, "`x` breaks the rule `minimum` of its JSON Schema"),
        ({"type": "object", "properties": {"a": {"items": {"pattern": "^b"}}}}, {"a": ["secret"]}, "`x.a[0]` breaks the rule `pattern` of its JSON Schema"),
        ({"patternProperties": {"^s": {"maxLength": 2}}}, {"secret": "secret"}, "`x[…]` breaks the rule `maxLength` of its JSON Schema"),
        ({"$ref": "#/$defs/n", "$defs": {"n": {"const": 5}}}, "secret", "`x` breaks the rule `const` of its JSON Schema"),
        ({"$ref": "https://example.invalid/schema"}, "secret", "`x` cannot be checked: its JSON Schema is not valid; correct the schema"),
        ({"type": "string", "pattern": "("}, "secret", "`x` cannot be checked: its JSON Schema is not valid; correct the schema"),
    ],
)  # fmt: skip
def test_a_schema_that_is_broken_inside_names_place_and_rule_only(schema: Mapping[str, object], value: object, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        coerce(Param("x", "any", schema=schema), value)

    assert str(caught.value) == f"argument {message}"
    assert "secret" not in str(caught.value)


def test_rules_beyond_types_are_checked_and_defaults_never_put_in() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"default": 1}, "b": {"minimum": 0, "enum": [{"minimum": 3}, 5]}}}

    assert coerce(Param("x", "dict", schema=schema), {"b": 5}) == {"b": 5}


def test_FN_31_json_with_the_same_key_twice_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^has a mapping with the same key twice$"):
        read_json('{"a":1,"a":2}')
    assert read_json('{"a": [1, 1.5, "x", null, true]}') == {"a": [1, 1.5, "x", None, True]}


def test_plain_types_need_no_library() -> None:
    script = (
        "import sys; from mcc_jupyter.core.coerce import coerce; from mcc_jupyter.core.tool import Param\n"
        "coerce(Param('x', 'list', schema={'type': 'array', 'items': {'type': 'integer'}}), [1])\n"
        "print('fastjsonschema' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "False\n"


@pytest.mark.parametrize(
    ("kind", "instead"),
    [("DataFrame", '`table.to_dict("records")`'), ("Series", "`series.tolist()`"), ("Index", "`index.tolist()`"), ("NAType", "None"), ("NaTType", "None"), ("dict_keys", "a list")],
)
def test_what_callers_often_have_is_told_how_to_pass(kind: str, instead: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        coerce(Param("x", "any"), [1, type(kind, (), {})()])
    assert str(caught.value) == f"argument `x[1]` holds a `{kind}`, which is no JSON; pass {instead}"
