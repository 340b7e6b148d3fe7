"""``params``: node → ``Param``s (SPEC 2.7).

1. What is shown (description, example, enum) stays as written; a default or override may refer (SPEC 3.1).
2. A default and an override are coerced like a call's value. Of a function they wait until its signature is known,
   unless their type is declared.
"""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from .coerce import coerce
from .errors import ArgumentError, near
from .fields import Note, Substitution
from .reading import Node, shown
from .references import bake_data
from .tool import MISSING, TYPES, Param

KEYS: Final = ("name", "type", "required", "default", "description", "example", "override", "enum")
RESERVED: Final = {"context": "is given by the session", "mcc_env": "is a word of command templates"}
TEMPLATE_WORDS: Final = frozenset(("self", "true", "false", "none", "loop", "caller", "varargs", "kwargs", "super"))
"""Jinja2's own in an expression, some of them only in a loop, a macro or a block: there a parameter is never seen."""

_OTHER_WORDS = {
    "string": "str", "text": "str", "integer": "int", "number": "float", "double": "float", "boolean": "bool",
    "array": "list", "object": "dict", "mapping": "dict",
}  # fmt: skip


def read_params(node: Node, substitution: Substitution, inspect: Note, *, signature: bool) -> tuple[Param, ...]:
    """The parameters, each name once. *signature*: a function's own signature will fill in what is not written."""
    found: dict[str, Param] = {}
    for item in node.sequence("a list of parameters"):
        param = _param(item, substitution, inspect, signature)
        if param.name in found:
            item.wrong(f"the parameter `{param.name}` is declared twice; keep one")
        elif param.name:
            found[param.name] = param
    return tuple(found.values())


def _param(node: Node, substitution: Substitution, inspect: Note, signature: bool) -> Param:
    found = node.fields(KEYS, {"optional": "write `required: false`"}, "a mapping with `name`")
    if not isinstance(node.value, Mapping | None):
        return Param("")
    if "default" in found and "override" in found:
        node.wrong("`default` and `override` exclude each other; keep one")
    given = frozenset(found)
    param = Param(
        name=_name(node, found, of_template=not signature),
        type=_type(found["type"]) if "type" in found else "str",
        required=found["required"].boolean() if "required" in found else given.isdisjoint({"default", "override"}),
        description=found["description"].text() if "description" in found else "",
        example=plain(found["example"].value) if "example" in found else MISSING,
        given=given,
    )
    typed = not signature or "type" in found
    if "enum" in found:
        param = replace(param, enum=_enum(found["enum"], param, substitution, typed))
    for key in ("default", "override"):
        if key in found:
            inspect(found[key], str(found[key].value))
            param = _fill(param, key, found[key], substitution, typed)
    return param


def _name(node: Node, found: Mapping[str, Node], *, of_template: bool) -> str:
    if "name" not in found:
        node.wrong("a parameter needs a `name`")
        return ""
    node = found["name"]
    name = node.filled("a name")
    if name in RESERVED:
        node.wrong(f"`{name}` {RESERVED[name]}; choose another name")
    elif of_template and name in TEMPLATE_WORDS:
        node.wrong(f"`{name}` is a word of command templates; choose another name")
    elif name and (not name.isidentifier() or keyword.iskeyword(name)):
        node.wrong(f"`{shown(name)}` is no parameter name; use a Python identifier")
    return name


def _type(node: Node) -> str:
    written = node.filled("a type")
    if written in TYPES or not written:
        return written
    other = _OTHER_WORDS.get(written)
    hint = f" (did you mean `{other}`?)" if other else near(written, TYPES)
    node.wrong(f"unknown type `{shown(written)}`{hint}; choose {', '.join(TYPES[:-1])} or {TYPES[-1]}")
    return ""


def _enum(node: Node, param: Param, substitution: Substitution, typed: bool) -> tuple[object, ...] | None:
    values: list[object] = []
    for item in node.sequence("a list of values"):
        value = plain(item.value, as_text=param.type == "str")
        if any(bake_data(value, substitution.parent)[1:]):
            item.wrong("a reference cannot stand in what is shown to callers; write the value")
        value = _coerced(item, param, value) if typed else value
        if value in values:
            item.wrong("the value stands twice; keep one")
        values.append(value)
    if not values:
        node.wrong("expected a list of at least one value")
    return tuple(values)


def _fill(param: Param, key: str, node: Node, substitution: Substitution, typed: bool) -> Param:
    value, references, unresolved = substitution.data(plain(node.value, as_text=param.type == "str"))
    if key == "default":
        param = replace(param, nullable=value is None, default_hidden=bool(references))
    else:
        param = replace(param, nullable=value is None, required=False)
    # A name the parent does not have stays as written, whatever the type: SPEC 3.2 raises nothing.
    if typed and not unresolved:
        value = _coerced(node, param, value)
    return replace(param, **{key: value})  # type: ignore[arg-type]


def _coerced(node: Node, param: Param, value: object) -> object:
    if param.type not in TYPES:  # said already
        return value
    try:
        return coerce(param, value)
    except ArgumentError:
        node.wrong(f"does not fit type `{param.type}`" + (" and its `enum`" if param.enum is not None else ""))
        return value


def plain(value: object, *, as_text: bool = False) -> object:
    """Plain JSON data without the marks of ``parse_yaml``; *as_text*: a number for a text is what was written."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if as_text and hasattr(value, "written"):
        return str(value.written)
    return next((base(value) for base in (bool, int, float, str) if isinstance(value, base)), value)
