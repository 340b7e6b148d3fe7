"""Binding a call, the schema clients see, and completing a tool by its signature (SPEC 2.7)."""

from __future__ import annotations

from typing import Any

import pytest

from mcc_jupyter.core.errors import ArgumentError, DeclarationError
from mcc_jupyter.core.schema import bind, complete, json_schema, read_arguments
from mcc_jupyter.core.tool import Function, Origin, Param, Text, Tool

NAME = Param("name")
LIMIT = Param("limit", "int", required=False, default="10", given=frozenset({"type", "default"}))
TOKEN = Param("token", required=False, override="s3cr3t")
SIGNED = Param("depth", "int", required=False, default=3, schema={"type": "integer"})


def refused(params: tuple[Param, ...], arguments: Any) -> str:
    with pytest.raises(ArgumentError) as caught:
        bind(params, arguments, tool="pg")
    return str(caught.value)


def test_a_call_is_coerced_completed_and_overridden() -> None:
    optional = Param("note", required=False)

    assert bind((NAME, LIMIT, TOKEN, SIGNED, optional), {"name": 5}, tool="pg") == {
        "name": "5", "limit": 10, "token": "s3cr3t", "note": None,
    }  # fmt: skip
    assert bind((NAME, LIMIT), {"name": "a", "limit": "7"}, tool="pg") == {"name": "a", "limit": 7}


def test_FN_24_a_default_of_a_signature_is_left_to_python_and_a_declared_one_is_sent() -> None:
    declared = Param("depth", "int", required=False, default="4", schema={"type": "integer"}, given=frozenset({"default"}))

    assert bind((SIGNED,), {}, tool="pg") == {}
    assert bind((SIGNED,), {"depth": "5"}, tool="pg") == {"depth": 5}
    assert bind((declared,), {}, tool="pg") == {"depth": 4}
    assert bind((Param("mode", required=False, schema={}),), {}, tool="pg") == {}


@pytest.mark.parametrize(
    ("param", "bound"),
    [
        (LIMIT, {"limit": 10}),
        (SIGNED, {}),
        (Param("x", "int", required=False, nullable=True, schema={}), {"x": None}),
        (Param("x", required=False, default=None), {"x": None}),
        (Param("x", nullable=True), {"x": None}),
    ],
)
def test_null_for_what_is_optional_counts_as_not_given_unless_it_may_be_null(param: Param, bound: dict[str, object]) -> None:
    assert bind((param,), {param.name: None}, tool="pg") == bound


def test_all_problems_of_a_call_are_told_at_once_and_hold_no_value() -> None:
    arguments = {"nmae": "secret", "limit": "secret", "token": "secret", "not a name secret": 1, "x" * 65: 1}

    assert refused((NAME, LIMIT, TOKEN), arguments) == (
        "Tool 'pg': unknown argument `nmae` (did you mean `name`?)\n"
        "Tool 'pg': unknown argument `token`\n"
        "Tool 'pg': unknown argument with a name that is no identifier\n"
        "Tool 'pg': unknown argument with a name that is no identifier\n"
        "Tool 'pg': missing argument `name`\n"
        "Tool 'pg': argument `limit` must be an integer"
    )


def test_a_default_or_override_that_does_not_fit_is_told_without_its_value() -> None:
    default = Param("n", "int", required=False, default="secret")
    override = Param("m", "int", override="secret")

    assert refused((default, override), {}) == (
        "Tool 'pg': the default of `n` must be an integer\nTool 'pg': the override of `m` must be an integer"
    )


@pytest.mark.parametrize("arguments", [[1], "x", None])
def test_FN_31_arguments_are_one_mapping(arguments: object) -> None:
    assert refused((NAME,), arguments) == "Tool 'pg': the arguments must be one mapping of names to values"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a":1,"a":2}', "the arguments must be one JSON object; the text has a mapping with the same key twice"),
        ("[1]", 'the arguments must be one JSON object, like {"name": "value"}'),
        ('"x"', 'the arguments must be one JSON object, like {"name": "value"}'),
        ("{a: 1}", "the arguments must be one JSON object; the text is no JSON at line 1, column 2"),
        ('{"a": NaN}', "the arguments must be one JSON object; the text holds NaN or Infinity, which is no JSON"),
    ],
)
def test_FN_31_arguments_are_one_json_object(text: str, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        read_arguments(text)

    assert str(caught.value) == message
    assert read_arguments('{"a": 1}') == {"a": 1}


def test_the_schema_shows_what_a_caller_may_give() -> None:
    params = (
        Param("q", description="what to look for", example="cats"),
        LIMIT,
        TOKEN,
        Param("hidden", required=False, default="from parent", default_hidden=True),
        Param("mode", enum=("r", "w"), nullable=True),
        Param("odd", "int", required=False, default="odd"),
        Param("any", "any", required=False, default=None),
        Param("both", "any", schema={"anyOf": [{"type": "integer"}, {"type": "string"}]}, nullable=True),
        Param("number", "any", schema={"type": ["integer", "number"]}, nullable=True),
    )

    assert json_schema(params) == {
        "type": "object",
        "properties": {
            "q": {"type": "string", "description": "what to look for", "examples": ["cats"]},
            "limit": {"type": "integer", "default": 10},
            "hidden": {"type": "string"},
            "mode": {"type": ["string", "null"], "enum": ["r", "w", None]},
            "odd": {"type": "integer"},
            "any": {"default": None},
            "both": {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
            "number": {"type": ["integer", "number", "null"]},
        },
        "required": ["q", "mode", "both", "number"],
        "additionalProperties": False,
    }


def test_the_schema_of_nothing_is_an_empty_object() -> None:
    assert json_schema(()) == {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def function(*params: Param, **changes: Any) -> Tool:
    return Tool(name="f", body=Function("m:f"), origin=Origin("cell", "cell"), cwd=Text("/", "/"), params=params, **changes)


def item(name: str, type: str = "int", **changes: Any) -> dict[str, Any]:
    plain = {"name": name, "type": type, "required": True, "nullable": False, "description": "", "schema": {"type": "integer"}}
    return {**plain, **changes}


def described(*items: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"ok": True, "description": "Of the docstring.", "params": list(items), "context": False, "varkw": False, "signature": True, "notes": ["n"], **changes}


def test_a_signature_gives_what_the_author_did_not_write() -> None:
    tool = complete(
        function(Param("b", description="mine", given=frozenset({"name", "description"}))),
        described(item("a", enum=[1, 2], default=1, required=False), item("b", nullable=True, description="theirs"), context=True),
    )

    assert tool.params == (
        Param("a", "int", required=False, default=1, enum=(1, 2), schema={"type": "integer"}),
        Param("b", "int", description="mine", nullable=True, schema={"type": "integer"}, given=frozenset({"name", "description"})),
    )
    assert (tool.description, tool.takes_context, tool.introspected, tool.unsigned, tool.notes) == ("Of the docstring.", True, True, False, ("n",))


def test_what_the_author_wrote_wins_over_the_signature() -> None:
    given = frozenset({"name", "type", "default", "enum"})
    tool = complete(
        function(Param("a", "str", required=False, default="x", enum=("x",), given=given), description="Mine."),
        described(item("a", default=1, enum=[1])),
    )

    (param,) = tool.params
    assert (param.type, param.required, param.default, param.enum, param.schema) == ("str", False, "x", ("x",), {"type": "string"})
    assert tool.description == "Mine."


def test_a_declared_type_that_is_the_signatures_keeps_the_richer_schema() -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    tool = complete(function(Param("a", "list", given=frozenset({"name", "type"}))), described(item("a", "list", schema=schema)))

    assert tool.params[0].schema == schema


@pytest.mark.parametrize(
    ("params", "answer", "message"),
    [
        ((Param("nmae"),), described(item("name")), "params[0].name: the function has no parameter `nmae` (did you mean `name`?)"),
        ((Param("q"),), described(item("name")), "params[0].name: the function has no parameter `q`; its parameters are `name`"),
        ((Param("q"),), described(), "params[0].name: the function has no parameter `q`; its parameters are none"),
        ((Param("a", required=False, given=frozenset({"required"})),), described(item("a")), "params[0].required: the function needs `a`; give it a `default`"),
        (
            (Param("a", required=False, given=frozenset({"required"})), Param("b")),
            described(signature=False),
            "params[0]: `a` is passed by position; give it a `default`, or let it be the last one",
        ),
        ((), {"ok": False, "error": "cannot import `m`"}, "fn: cannot import `m`"),
    ],
)  # fmt: skip
def test_FN_23_params_that_do_not_fit_the_function_are_errors(params: tuple[Param, ...], answer: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        complete(function(*params), answer)

    assert str(caught.value) == message


def test_FN_23_extra_arguments_are_refused_unless_declared() -> None:
    tool = complete(function(Param("extra", "int", given=frozenset({"name", "type"}))), described(item("a"), varkw=True))
    assert tool.notes == ("n",)

    assert [param.name for param in tool.params] == ["a", "extra"]
    assert tool.params[1].schema == {"type": "integer"}
    with pytest.raises(ArgumentError, match=r"^Tool 'f': unknown argument `more`$"):
        bind(tool.params, {"a": 1, "extra": 2, "more": 3}, tool="f")


def test_FN_27_a_builtin_without_signature_takes_its_declared_params() -> None:
    params = (Param("x", "float"), Param("y", "float", required=False, given=frozenset({"required"})))
    tool = complete(function(*params), described(signature=False, notes=None))

    assert (tool.unsigned, [param.name for param in tool.params]) == (True, ["x", "y"])
    assert bind(tool.params, {"x": "3"}, tool="f") == {"x": 3.0}
    assert complete(function(), described(signature=False, params="?", notes=[])).notes == (
        "the function tells no signature, so it is called without arguments; declare its `params`",
    )


def test_a_declared_context_gives_way_to_the_session() -> None:
    tool = complete(function(Param("context")), described(item("a"), context=True, notes=[]))

    assert [param.name for param in tool.params] == ["a"]
    assert tool.notes == ("`context` is filled in from the session; its entry in `params` is not used",)
    assert complete(function(Param("context")), described(varkw=True)).params[0].name == "context"


def test_a_schema_that_is_none_is_anything() -> None:
    assert complete(function(), described(item("a", schema=None))).params[0].schema == {}


def test_that_a_call_cannot_give_any_keyword_is_told_where_no_more_are_listed() -> None:
    note = "the function takes any keyword, and a call gives only what is declared; list more in `params`"
    assert complete(function(), described(item("a"), varkw=True)).notes == ("n", note)
    assert complete(function(Param("a")), described(item("a"), varkw=True)).notes == ("n", note)
