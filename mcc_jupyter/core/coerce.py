"""One argument → the value its JSON Schema describes, or an ``ArgumentError`` (SPEC 2.7).

1. Coercion loses nothing: what would round, overflow or drop a digit is refused.
2. A message is made from the place and the rule. It holds no value, and of a caller's mapping no key that the schema
   does not name itself.
3. What a signature or a declaration can say is checked here; fastjsonschema looks at schemas that say more.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache
from typing import NoReturn

from .errors import ArgumentError
from .plain_json import MOST_DIGITS, Misfit, read_json
from .plain_json import plain as plain_value
from .tool import Param

JSON_TYPES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
}
"""The types of SPEC 2.7 in JSON Schema's words."""

_BOOLS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
_INTEGER = re.compile(r"([+-]?[0-9]+)(?:\.0*)?")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_EXPECTED = {
    "string": "must be text",
    "integer": "must be an integer",
    "number": "must be a number",
    "boolean": "must be true or false",
    "array": "must be a list",
    "object": "must be a mapping",
    "null": "must be null",
}
_LIKE = {"array": '["a", "b"]', "object": '{"a": 1}'}
_ANNOTATIONS = frozenset({"title", "description", "default", "examples", "format"})
_CHECKED = _ANNOTATIONS | frozenset(
    "type enum anyOf items prefixItems minItems maxItems properties required additionalProperties".split()
)
Schema = Mapping[str, object]


def fragment(param: Param) -> dict[str, object]:
    """The JSON Schema of one parameter, without null, description and default."""
    found = dict(param.schema) if param.schema is not None else {}
    if param.schema is None and param.type in JSON_TYPES:
        found["type"] = JSON_TYPES[param.type]
    if param.enum is not None:
        found["enum"] = list(param.enum)
    return found


def coerce(param: Param, value: object, *, called: str = "argument") -> object:
    """*value* as *param* describes it (SPEC 2.7). *called* is what a message calls it before its name.

    Raises ``ArgumentError`` without the value.
    """
    plain: object = None
    try:
        plain = plain_value(value)
        if plain is None and (param.nullable or not param.required or param.default is None):
            return None
        schema = fragment(param)
        fitted = _null(schema) if plain is None else _fit(schema, plain, exact=False)
        if param.schema is not None:
            _check_rest(schema, fitted)
    except Misfit as misfit:
        detail = misfit.detail
        if isinstance(plain, str) and VARIABLE.fullmatch(plain.strip()):
            detail = f"; Python variables are not expanded here, call it from Python: mcc.tools.NAME({param.name}=…)"
        raise ArgumentError(f"{called} `{param.name}{misfit.place}` {misfit.rule}{detail}") from None
    return fitted


VARIABLE = re.compile(r"\$\{?[^\W\d][\w.]*\}?|\{[^\W\d][\w.]*\}")
"""How a Python variable is written into the commands of IPython."""


def _fit(schema: Schema, value: object, *, exact: bool) -> object:
    """*value* as *schema* describes it; with *exact* nothing is converted. Raises ``Misfit``."""
    branches = schema.get("anyOf")
    if isinstance(branches, list):
        return _first(branches, value, exact=exact, otherwise="fits none of the types it may have")
    choices = schema.get("enum")
    if isinstance(choices, list):
        return _choose(choices, value, exact=exact)
    types = schema.get("type")
    if isinstance(types, list):
        each: list[Schema] = [{**schema, "type": item} for item in types]
        expected = " or ".join(_EXPECTED[str(item)].removeprefix("must be ") for item in types)
        return _first(each, value, exact=exact, otherwise=f"must be {expected}")
    if isinstance(types, str):
        value = _EXACT[types](value) if exact else _CONVERT[types](value)
    if isinstance(value, list):
        return _items(schema, value, exact=exact)
    if isinstance(value, dict):
        return _members(schema, value, exact=exact)
    if isinstance(value, str) and schema.get("format") in _FORMATS:
        _FORMATS[str(schema["format"])](value)
    return value


def _null(schema: Schema) -> object:
    try:
        return _fit(schema, None, exact=True)
    except Misfit:
        raise Misfit("must not be null") from None


def _first(branches: list[Schema], value: object, *, exact: bool, otherwise: str) -> object:
    """*value* as the first branch it fits as it is, else as the first it can be converted to."""
    for strictly in (True,) if exact else (True, False):
        for branch in branches:
            try:
                return _fit(branch, value, exact=strictly)
            except Misfit:
                continue
    raise Misfit(otherwise)


def _choose(choices: list[object], value: object, *, exact: bool) -> object:
    for choice in choices:
        if choice == value and isinstance(choice, bool) == isinstance(value, bool):
            return choice
    if isinstance(value, str | int | float) and not exact:
        others = [choice for choice in choices if isinstance(choice, str) != isinstance(value, str)]
        same = [choice for choice in others if _equal(choice, value)]
        if len(same) == 1:
            return same[0]
    shown = ", ".join(json.dumps(choice, ensure_ascii=False) for choice in choices[:8])
    raise Misfit(f"must be one of {shown}{', …' if len(choices) > 8 else ''}")


def _equal(choice: object, value: str | float) -> bool:
    """Whether *value*, written as text or read from it, is *choice*."""
    types = {str: "string", bool: "boolean", int: "integer", float: "number"}
    try:
        return _CONVERT[types.get(type(choice), "null")](value) == choice
    except Misfit:
        return False


def _items(schema: Schema, values: list[object], *, exact: bool) -> list[object]:
    for rule, broken in (("minItems", int.__lt__), ("maxItems", int.__gt__)):
        bound = schema.get(rule)
        if isinstance(bound, int) and broken(len(values), bound):
            raise Misfit(f"must have {'at least' if rule == 'minItems' else 'at most'} {bound} items")
    first = schema.get("prefixItems")
    first = first if isinstance(first, list) else []
    rest = schema.get("items")
    fitted = []
    for at, value in enumerate(values):
        item = first[at] if at < len(first) else rest
        try:
            fitted.append(_fit(item, value, exact=exact) if isinstance(item, Mapping) else value)
        except Misfit as misfit:
            raise misfit.inside(f"[{at}]") from None
    return fitted


def _members(schema: Schema, values: dict[str, object], *, exact: bool) -> dict[str, object]:
    known = schema.get("properties")
    known = known if isinstance(known, Mapping) else {}
    rest = schema.get("additionalProperties")
    required = schema.get("required")
    missing = [name for name in required if name not in values] if isinstance(required, list) else []
    if missing:
        raise Misfit(f"lacks the key `{missing[0]}`")
    fitted = {}
    for name, value in values.items():
        if name not in known and rest is False:
            raise Misfit(f"has an unknown key; it may have {', '.join(f'`{key}`' for key in known) or 'none'}")
        member = known.get(name, rest)
        try:
            fitted[name] = _fit(member, value, exact=exact) if isinstance(member, Mapping) else value
        except Misfit as misfit:
            raise misfit.inside(f".{name}" if name in known else "[…]") from None
    return fitted


def _to_text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Misfit(_EXPECTED["string"])
    return value if isinstance(value, str) else repr(value)


def _to_integer(value: object) -> int:
    if isinstance(value, str):
        found = _INTEGER.fullmatch(value.strip())
        if found is None:
            raise Misfit(_EXPECTED["integer"])
        if len(found[1].lstrip("+-")) > MOST_DIGITS:
            raise Misfit(f"must be an integer of at most {MOST_DIGITS:,} digits")
        return int(found[1])
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise Misfit(_EXPECTED["integer"])
    return int(value)


def _to_number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Misfit(_EXPECTED["number"])
    if isinstance(value, float):
        return value
    if isinstance(value, str) and (len(value) > MOST_DIGITS or _NUMBER.fullmatch(value.strip()) is None):
        raise Misfit(_EXPECTED["number"])
    try:
        number = float(value)
    except OverflowError:  # an integer beyond every float
        number = math.inf
    if not math.isfinite(number):
        raise Misfit("must be a number that a float can hold")
    if Decimal(value) not in (Decimal(repr(number)), Decimal(number)):
        raise Misfit("must be a number with no more digits than a float keeps")
    return number


def _to_bool(value: object) -> bool:
    found = _BOOLS.get(value.strip().lower()) if isinstance(value, str) else value
    if not isinstance(found, bool):
        raise Misfit(_EXPECTED["boolean"])
    return found


def _from_json(name: str, kind: type[list[object] | dict[str, object]]) -> Callable[[object], object]:
    def convert(value: object) -> object:
        if isinstance(value, str):
            try:
                value = read_json(value)
            except ValueError as error:
                raise Misfit(f"{_EXPECTED[name]} as JSON, like {_LIKE[name]}", detail=f"; the text {error}") from None
        if not isinstance(value, kind):
            raise Misfit(_EXPECTED[name])
        return value

    return convert


def _only(name: str, *kinds: type) -> Callable[[object], object]:
    def check(value: object) -> object:
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise Misfit(_EXPECTED[name])
        return value

    return check


_CONVERT: Mapping[str, Callable[[object], object]] = {
    "string": _to_text,
    "integer": _to_integer,
    "number": _to_number,
    "boolean": _to_bool,
    "array": _from_json("array", list),
    "object": _from_json("object", dict),
    "null": _only("null", type(None)),
}
_EXACT: Mapping[str, Callable[[object], object]] = {
    "string": _only("string", str),
    "integer": _only("integer", int),
    "number": _only("number", int, float),
    "boolean": _only("boolean", bool),
    "array": _only("array", list),
    "object": _only("object", dict),
    "null": _only("null", type(None)),
}


def _format(pattern: str, parse: Callable[[str], object], rule: str) -> Callable[[str], None]:
    def check(value: str) -> None:
        try:
            if re.fullmatch(pattern, value, re.A) is None:
                raise ValueError
            parse(value)
        except ValueError:
            raise Misfit(rule) from None

    return check


_FORMATS: Mapping[str, Callable[[str], None]] = {
    "date": _format(r"\d{4}-\d\d-\d\d", date.fromisoformat, "must be a date like 2024-01-31"),
    "date-time": _format(r"\d{4}-.*", datetime.fromisoformat, "must be a date and time like 2024-01-31T12:30:00"),
    "time": _format(r"\d\d:.*", time.fromisoformat, "must be a time like 12:30:00"),
    "uuid": _format(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", str, "must be a UUID"),
}


def _check_rest(schema: Schema, value: object) -> None:
    """The rules of *schema* that this file does not know."""
    check = _validator(json.dumps(schema, sort_keys=True))
    if check is not None:
        check(value)


@lru_cache(maxsize=256)
def _validator(text: str) -> Callable[[object], None] | None:
    """A check by fastjsonschema for the schema in *text*; None if no rule of it is beyond this file."""
    schema = json.loads(text)
    if {key for part in _parts(schema) for key in part} <= _CHECKED:
        return None
    from fastjsonschema import JsonSchemaValueException, compile

    named = {name for part in _parts(schema) for name in _names(part.get("properties"))}
    try:
        validate = compile(schema, handlers=_Offline(), use_default=False)
    except Exception:  # noqa: BLE001 - the library fails in many ways on a schema that is none
        raise Misfit("cannot be checked: its JSON Schema is not valid; correct the schema") from None

    def check(value: object) -> None:
        try:
            validate(value)
        except JsonSchemaValueException as error:
            steps = [f"[{step}]" if step.isdigit() else "[…]" for step in error.path[1:]]
            steps = [f".{name}" if name in named else step for name, step in zip(error.path[1:], steps, strict=True)]
            raise Misfit(f"breaks the rule `{error.rule}` of its JSON Schema", "".join(steps)) from None

    return check


class _Offline(dict[str, Callable[[str], object]]):
    """Handlers for every scheme of a reference: nothing is fetched."""

    def __contains__(self, scheme: object) -> bool:
        return True

    def __missing__(self, scheme: str) -> NoReturn:
        raise ValueError(scheme)


def _names(value: object) -> Iterable[str]:
    return value if isinstance(value, dict) else ()


def _parts(schema: object) -> Iterator[dict[str, object]]:
    """*schema* and every schema inside it."""
    if not isinstance(schema, dict):
        return
    yield schema
    for key, value in schema.items():
        if key in ("properties", "$defs", "definitions", "patternProperties") and isinstance(value, dict):
            inner = list(value.values())
        else:
            inner = value if isinstance(value, list) else [value]
        for item in inner if key not in ("enum", "const", "default", "examples", "required") else ():
            yield from _parts(item)
