"""Parameters ↔ one JSON Schema, arguments → the values of a call, a signature → parameters (SPEC 2.7).

1. The schema that validates a call is the one that clients see; overrides and hidden defaults are in neither.
2. All problems of a call are reported at once, one line each, without a value.
3. What an author wrote wins over what a signature says; a signature fills in the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from .coerce import JSON_TYPES, coerce, fragment
from .errors import ArgumentError, DeclarationError, Problem, near
from .plain_json import read_json
from .tool import MISSING, Param, Tool


def read_arguments(text: str) -> dict[str, object]:
    """The arguments of a call from JSON text: one object, no key twice, no NaN. Raises ``ArgumentError``."""
    try:
        found = read_json(text)
    except ValueError as error:
        raise ArgumentError(f"the arguments must be one JSON object; the text {error}") from None
    if not isinstance(found, dict):
        raise ArgumentError('the arguments must be one JSON object, like {"name": "value"}')
    return found


def bind(params: Iterable[Param], arguments: Mapping[str, object], *, tool: str) -> dict[str, object]:
    """The values of a call: *arguments* coerced, overrides set, defaults filled in (SPEC 2.7).

    A parameter that a function's own signature has a default for is left out, so that Python fills it in. Raises
    ``ArgumentError`` with a line for each problem.
    """
    if not isinstance(arguments, Mapping):
        raise ArgumentError(f"Tool {tool!r}: the arguments must be one mapping of names to values")
    params = tuple(params)
    visible = {param.name for param in params if param.override is MISSING}
    problems = [f"unknown argument {_named(name, visible)}" for name in arguments if name not in visible]
    bound: dict[str, object] = {}
    for param in params:
        try:
            if param.override is not MISSING:
                bound[param.name] = coerce(param, param.override, called="the override of")
            elif _is_given(param, arguments):
                bound[param.name] = coerce(param, arguments[param.name])
            elif param.required:
                problems.append(f"missing argument `{param.name}`")
            elif param.default is not MISSING and (param.schema is None or "default" in param.given):
                bound[param.name] = coerce(param, param.default, called="the default of")
            elif param.schema is None:  # a command template has no default of its own
                bound[param.name] = None
        except ArgumentError as error:
            problems.append(str(error))
    if problems:
        raise ArgumentError("\n".join(f"Tool {tool!r}: {problem}" for problem in problems))
    return bound


def _named(name: object, known: Iterable[str]) -> str:
    """An argument's name, if it looks like one: anything else could be a value in the wrong place."""
    if isinstance(name, str) and name.isidentifier() and len(name) <= 64:
        return f"`{name}`{near(name, known)}"
    return "with a name that is no identifier"


def _is_given(param: Param, arguments: Mapping[str, object]) -> bool:
    """Whether the call gives *param*. Null for what is optional, but cannot be null, counts as not given."""
    if param.name not in arguments:
        return False
    return arguments[param.name] is not None or param.nullable or param.required or param.default is None


def json_schema(params: Iterable[Param]) -> dict[str, object]:
    """The JSON Schema of a call's arguments, as clients see it (SPEC 2.7)."""
    visible = [param for param in params if param.override is MISSING]
    return {
        "type": "object",
        "properties": {param.name: _property(param) for param in visible},
        "required": [param.name for param in visible if param.required],
        "additionalProperties": False,
    }


def _property(param: Param) -> dict[str, object]:
    found = fragment(param)
    if param.nullable or param.default is None:
        found = _or_null(found)
    if param.description:
        found["description"] = param.description
    if param.default is not MISSING and not param.default_hidden:
        with suppress(ArgumentError):  # reported when it is used
            found["default"] = coerce(param, param.default)
    if param.example is not MISSING:
        found["examples"] = [param.example]
    return found


def _or_null(schema: dict[str, object]) -> dict[str, object]:
    found = dict(schema)
    for key, null in (("anyOf", {"type": "null"}), ("enum", None)):
        options = found.get(key)
        if isinstance(options, list) and null not in options:
            found[key] = [*options, null]
    kind = found.get("type")
    if isinstance(kind, str):
        found["type"] = [kind, "null"]
    elif isinstance(kind, list):
        found["type"] = [*kind, "null"]
    return found


def complete(tool: Tool, described: Mapping[str, object]) -> Tool:
    """*tool* with what its signature says: *described* is one answer of an introspection (SPEC 2.7, 2.8).

    Raises ``DeclarationError`` for parameters that do not fit the function, or if it could not be read.
    """
    if not described.get("ok", True):
        raise DeclarationError(Problem("fn", str(described.get("error"))))
    signed = bool(described.get("signature", True))
    items = _mappings(described.get("params"))
    found = {str(item["name"]): item for item in items}
    takes_context = bool(described.get("context"))
    notes = [*tool.notes, *_texts(described.get("notes"))]
    declared: dict[str, Param] = {}
    problems: list[Problem] = []
    for at, param in enumerate(tool.params):
        path = f"params[{at}]"
        if takes_context and param.name == "context":
            notes.append("`context` is filled in from the session; its entry in `params` is not used")
            continue
        if param.name in found:
            param = _merged(param, found[param.name])
            if not param.required and bool(found[param.name].get("required")) and _is_empty(param):
                problems.append(Problem(f"{path}.required", f"the function needs `{param.name}`; give it a `default`"))
        elif signed and not described.get("varkw"):
            names = ", ".join(f"`{name}`" for name in found) or "none"
            hint = near(param.name, found) or f"; its parameters are {names}"
            problems.append(Problem(f"{path}.name", f"the function has no parameter `{param.name}`{hint}"))
        else:
            param = replace(param, schema=fragment(param))
        if not signed and not param.required and _is_empty(param) and at + 1 < len(tool.params):
            problems.append(
                Problem(path, f"`{param.name}` is passed by position; give it a `default`, or let it be the last one")
            )
        declared[param.name] = param
    if problems:
        raise DeclarationError(*problems)
    if described.get("varkw") and declared.keys() <= found.keys():
        notes.append("the function takes any keyword, and a call gives only what is declared; list more in `params`")
    if not signed and not tool.params:
        notes.append("the function tells no signature, so it is called without arguments; declare its `params`")
    params = [declared.pop(name) if name in declared else _from_signature(item) for name, item in found.items()]
    return replace(
        tool,
        params=(*params, *declared.values()),
        description=tool.description or str(described.get("description") or ""),
        takes_context=takes_context,
        introspected=True,
        unsigned=not signed,
        notes=tuple(notes),
    )


def _is_empty(param: Param) -> bool:
    """Whether nothing stands in for a parameter that a call leaves out."""
    return param.override is MISSING and "default" not in param.given


def _from_signature(item: Mapping[str, object]) -> Param:
    choices = item.get("enum")
    schema = item.get("schema")
    return Param(
        name=str(item["name"]),
        type=str(item.get("type", "any")),
        required=bool(item.get("required", True)),
        default=item.get("default", MISSING),
        description=str(item.get("description") or ""),
        enum=tuple(choices) if isinstance(choices, list) else None,
        nullable=bool(item.get("nullable")),
        schema=schema if isinstance(schema, dict) else {},
    )


def _merged(param: Param, item: Mapping[str, object]) -> Param:
    """*param* with the keys its author did not write taken from the signature."""
    signature = _from_signature(item)
    settled = param.given & {"default", "override", "required"}
    merged = replace(
        signature,
        required=param.required if settled else signature.required,
        default=param.default if "default" in param.given else signature.default,
        default_hidden=param.default_hidden,
        description=param.description or signature.description,
        example=param.example,
        override=param.override,
        enum=param.enum if param.enum is not None else signature.enum,
        nullable=param.nullable or signature.nullable,
        given=param.given,
    )
    if "type" in param.given and param.type != signature.type:
        merged = replace(merged, type=param.type, schema={"type": JSON_TYPES[param.type]}, enum=param.enum)
    return merged


def _mappings(value: object) -> list[Mapping[str, object]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []
