"""A function → what a caller must know of it: parameters, description, session (SPEC 2.7, 2.8).

A default is told only if it is JSON and holds no value of the environment: Python fills in the others itself.
"""

import functools
import inspect
import os
import sys
from typing import Any

_JSON_TYPES = (str, int, float, bool, type(None), list, dict)
_MOST = 10**4300  # as ``fn_call.MOST``


def describe(function: Any, types: Any, docs: Any) -> Any:
    """The part of an introspection's answer that is read off *function*."""
    summary, texts = docs.read(inspect.getdoc(function))
    found = signature(function)
    answer = {"description": summary, "params": [], "context": False, "varkw": False, "signature": found is not None}
    notes = answer["notes"] = []
    space = namespace(function)
    for name, parameter in found.parameters.items() if found is not None else ():
        if parameter.kind is parameter.VAR_POSITIONAL:
            notes.append(f"`*{name}` is left out: a call names its arguments")
        elif parameter.kind is parameter.VAR_KEYWORD:
            answer["varkw"] = True
        elif name == "context" and parameter.kind is not parameter.POSITIONAL_ONLY:
            answer["context"] = True
        else:
            answer["params"].append(_parameter(parameter, space, types, texts.get(name, ""), notes))
    return answer


def _parameter(parameter: Any, space: Any, types: Any, text: Any, notes: Any) -> Any:
    default = parameter.default
    known = True
    try:
        if parameter.annotation is parameter.empty:
            item = _unannotated(default)
        else:
            item = types.describe(parameter.annotation, space)
    except types.Unknown:
        shown = parameter.annotation
        shown = shown if isinstance(shown, str) else getattr(shown, "__name__", repr(shown))
        notes.append(f"`{parameter.name}` takes text: its annotation `{shown}` is not understood here")
        item = {"type": "str", "schema": {"type": "string"}, "nullable": False, "description": ""}
        known = isinstance(default, str)
    item["name"], item["required"] = parameter.name, default is parameter.empty
    item["description"] = item["description"] or text
    item["nullable"] = item["nullable"] or default is None
    if known and not item["required"] and _tellable(default, [value for value in os.environ.values() if value]):
        item["default"] = default
    return item


def _unannotated(default: Any) -> Any:
    """What a default tells of a parameter without annotation. A whole number may stand for any number."""
    kinds: "dict[type, tuple[str, object]]" = {
        str: ("str", "string"),
        bool: ("bool", "boolean"),
        int: ("any", ["integer", "number"]),
        float: ("float", "number"),
        list: ("list", "array"),
        tuple: ("list", "array"),
        dict: ("dict", "object"),
    }
    simple, json_type = kinds.get(type(default), ("any", None))
    return {"type": simple, "schema": {"type": json_type} if json_type else {}, "nullable": False, "description": ""}


def _tellable(value: Any, secrets: Any) -> Any:
    if type(value) not in _JSON_TYPES:
        return False
    if isinstance(value, dict):
        return all(type(key) is str and _tellable(item, secrets) for key, item in value.items())
    if isinstance(value, list):
        return all(_tellable(item, secrets) for item in value)
    if isinstance(value, str):
        return not any(secret == value or (len(secret) >= 8 and secret in value) for secret in secrets)
    if isinstance(value, float):
        return value - value == 0
    return value is None or -_MOST < value < _MOST


def signature(function: Any) -> Any:
    """The signature of *function*; None for a builtin that has none."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def shape(function: Any) -> Any:
    """Names to pass by position, names to pass by keyword, and annotations; nothing without a signature."""
    found = signature(function)
    if found is None:
        return (), (), {}
    named = [item for item in found.parameters.values() if item.kind not in (item.VAR_POSITIONAL, item.VAR_KEYWORD)]
    first = [item.name for item in named if item.kind is item.POSITIONAL_ONLY]
    annotations = {item.name: item.annotation for item in named if item.annotation is not item.empty}
    return first, [item.name for item in named if item.name not in first], annotations


def default(function: Any, name: Any) -> Any:
    """The default of one parameter, for a call that must pass it by position."""
    return signature(function).parameters[name].default


def namespace(function: Any) -> Any:
    """Where the names in the annotations of *function* are looked up."""
    function = inspect.unwrap(function)
    while isinstance(function, functools.partial):
        function = inspect.unwrap(function.func)
    if not isinstance(function, type) and not hasattr(function, "__globals__"):
        function = getattr(type(function), "__call__", function)  # noqa: B004 - an object with this method
    found = getattr(function, "__globals__", None)
    return found if found is not None else vars(sys.modules.get(getattr(function, "__module__", None) or "", sys))
