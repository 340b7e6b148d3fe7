from __future__ import annotations

from dataclasses import replace

import pytest

from mcc_jupyter.core.template import render
from mcc_jupyter.core.tool import MISSING, Param

TYPES = "choose str, int, float, bool, list or dict"
IDENTIFIER = "use a Python identifier"


def tool(*params, **fields):
    return {"name": "t", "exec": "true", "params": list(params), **fields}


@pytest.mark.parametrize(
    ("written", "param"),
    [
        ({"name": "q"}, Param("q")),
        ({"name": "q", "required": False}, Param("q", required=False)),
        ({"name": "n", "type": "int", "default": "5"}, Param("n", type="int", required=False, default=5)),
        (
            {"name": "n", "type": "int", "required": True, "default": 5},
            Param("n", type="int", required=True, default=5),
        ),
        (
            {"name": "n", "type": "dict", "override": '{"a": 1}'},
            Param("n", type="dict", required=False, override={"a": 1}),
        ),
        ({"name": "q", "override": "x", "required": True}, Param("q", required=False, override="x")),
        ({"name": "q", "default": None}, Param("q", required=False, default=None, nullable=True)),
        ({"name": "q", "enum": ["a", "b"], "default": "b"}, Param("q", required=False, enum=("a", "b"), default="b")),
        ({"name": "q", "description": "$HOME", "example": [1]}, Param("q", description="$HOME", example=[1])),
    ],
)
def test_a_parameter(one, written, param):
    (found,) = one(tool(written)).params
    assert found == replace(param, given=frozenset(written))


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ({}, "params[0]: a parameter needs a `name`"),
        ("q", "params[0]: expected a mapping with `name`"),
        ({"name": "q", "optional": True}, "params[0]: unknown key `optional`; write `required: false`"),
        ({"name": "q", "defualt": "hunter2"}, "params[0]: unknown key `defualt` (did you mean `default`?)"),
        ({"name": 5}, "params[0].name: expected a name"),
        ({"name": ""}, "params[0].name: expected a name"),
        ({"name": "not-ident"}, f"params[0].name: `not-ident` is no parameter name; {IDENTIFIER}"),
        ({"name": "class"}, f"params[0].name: `class` is no parameter name; {IDENTIFIER}"),
        ({"name": "context"}, "params[0].name: `context` is given by the session; choose another name"),
        ({"name": "mcc_env"}, "params[0].name: `mcc_env` is a word of command templates; choose another name"),
        ({"name": "q", "type": "uuid"}, f"params[0].type: unknown type `uuid`; {TYPES}"),
        ({"name": "q", "type": "strr"}, f"params[0].type: unknown type `strr` (did you mean `str`?); {TYPES}"),
        ({"name": "q", "type": "integer"}, f"params[0].type: unknown type `integer` (did you mean `int`?); {TYPES}"),
        ({"name": "q", "type": None}, "params[0].type: expected a type"),
        ({"name": "q", "type": "uuid", "default": "hunter2"}, f"params[0].type: unknown type `uuid`; {TYPES}"),
        ({"name": "q", "required": "yes"}, "params[0].required: expected true or false"),
        ({"name": "q", "description": 5}, "params[0].description: expected text"),
        ({"name": "q", "default": "a", "override": "b"}, "params[0]: `default` and `override` exclude each other; keep one"),
        ({"name": "q", "type": "int", "default": "hunter2"}, "params[0].default: does not fit type `int`"),
        ({"name": "q", "type": "int", "override": "$DB_PASSWORD"}, "params[0].override: does not fit type `int`"),
        ({"name": "q", "enum": ["a"], "default": "hunter2"}, "params[0].default: does not fit type `str` and its `enum`"),
        ({"name": "q", "type": "int", "enum": [1, "hunter2"]}, "params[0].enum[1]: does not fit type `int`"),
        ({"name": "q", "type": "int", "enum": [1, "1"]}, "params[0].enum[1]: the value stands twice; keep one"),
        ({"name": "q", "enum": []}, "params[0].enum: expected a list of at least one value"),
        ({"name": "q", "enum": ["$HOME"]}, "params[0].enum[0]: a reference cannot stand in what is shown to callers; write the value"),
    ],
)  # fmt: skip
def test_wrong_parameters(problems, written, problem):
    assert problems(tool(written)) == [problem]


@pytest.mark.parametrize("word", ["self", "true", "false", "none", "loop", "caller", "varargs", "kwargs", "super"])
def test_a_word_of_templates_is_no_parameter_of_a_command_and_may_be_one_of_a_function(problems, one, word):
    where = f"params[0].name: `{word}` is a word of command templates; choose another name"
    assert problems(tool({"name": word})) == [where]
    assert [param.name for param in one({"name": "f", "fn": "m:f", "params": [{"name": word}]}).params] == [word]


@pytest.mark.parametrize("word", ["range", "dict", "lipsum", "cycler", "joiner", "namespace", "block", "filter", "call", "recursive", "id"])
def test_a_name_that_a_template_sees_as_the_parameter_may_be_one(one, word):
    found = one({**tool({"name": word}), "exec": f"echo {{{{ {word} }}}}{{% for q in [1] %}}{{{{ {word} }}}}{{% endfor %}}"})
    assert render(found.body.written, {word: "v"}) == "echo vv"


def test_params_is_a_list(problems, one):
    assert problems(tool() | {"params": {"q": {}}}) == ["params: expected a list of parameters"]
    assert one(tool() | {"params": None}).params == ()


def test_a_name_stands_once(problems):
    assert problems(tool({"name": "q"}, {"name": "q"})) == ["params[1]: the parameter `q` is declared twice; keep one"]


def test_a_default_from_a_reference_is_hidden_and_data(one):
    found = one(
        tool(
            {"name": "q", "default": "{{ $DB_PASSWORD }}"},
            {"name": "r", "type": "list", "override": ["$REGION", "$NOPE"]},
        )
    )
    q, r = found.params
    assert (q.default, q.default_hidden) == ("{{ hunter2-hunter2 }}", True)
    assert r.override == ["eu-north-1", "$NOPE"]
    assert [item.name for item in found.references] == ["DB_PASSWORD", "REGION"]
    assert found.unresolved == ("NOPE",)
    assert "hunter2" not in repr(found)


def test_a_reference_that_is_not_set_stays_as_written_whatever_the_type(one):
    found = one(tool({"name": "n", "type": "int", "override": "$NOPE"}))
    assert (found.params[0].override, found.unresolved) == ("$NOPE", ("NOPE",))


def test_a_number_for_a_text_is_what_was_written(one):
    found = one(
        "name: t\nexec: 'true'\nparams:\n- {name: a, default: 0123}\n- {name: b, default: 1.10}\n- {name: c, enum: [12:30]}"
    )
    assert [found.params[0].default, found.params[1].default, found.params[2].enum] == ["0123", "1.10", ("12:30",)]


def test_no_mark_of_the_yaml_reader_stays_in_a_value(one):
    found = one("name: t\nexec: 'true'\nparams:\n- {name: a, type: dict, default: {k: [1, 1.5, 2024-01-02, yes, ~]}}")
    default = found.params[0].default
    assert default == {"k": [1, 1.5, "2024-01-02", True, None]}
    assert [type(default), *map(type, default["k"])] == [dict, int, float, str, bool, type(None)]


def test_a_function_s_untyped_default_waits_for_its_signature(one):
    found = one(
        {
            "fn": "a:b",
            "params": [
                {"name": "q", "default": "5"},
                {"name": "r", "type": "int", "default": "5"},
                {"name": "s", "enum": [1]},
            ],
        }
    )
    assert [param.default for param in found.params] == ["5", 5, MISSING]
    assert found.params[2].enum == (1,)


def test_a_literal_override_that_looks_like_a_credential_is_noted(one):
    found = one(tool({"name": "q", "override": "sk_live_" + "a" * 24}))
    assert found.notes == (
        "warning: params[0].override: looks like a credential and stands in the notebook; use a reference",
    )


def test_a_value_that_is_no_json_is_left_to_the_type(problems):
    assert problems(tool({"name": "q", "type": "list", "default": {1, 2}})) == [
        "params[0].default: does not fit type `list`"
    ]
