"""Annotations → JSON Schema, and JSON arguments → what the annotation promises (SPEC 2.7).

1. One annotation that cannot be read fails alone: that parameter takes text, with a note.
2. Plain types pass untouched. Enum, date, datetime, time, Path, UUID, Decimal, sets, tuples, dataclasses and pydantic
   models are made from their JSON, in containers too.
3. No message holds a value.
"""

import ast
import enum
import sys
import types
import typing
from collections import abc
from typing import Any

_JSON = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}
_SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "list", "object": "dict"}
_SETS = (set, frozenset, abc.Set, abc.MutableSet)
_LISTS = (list, *_SETS, abc.Sequence, abc.MutableSequence, abc.Collection, abc.Iterable)
_MAPPINGS = (dict, abc.Mapping, abc.MutableMapping)
_TEXTS = {  # module, name → format
    ("datetime", "datetime"): "date-time",
    ("datetime", "date"): "date",
    ("datetime", "time"): "time",
    ("uuid", "UUID"): "uuid",
    ("decimal", "Decimal"): None,
}


_GENERIC = {"list": "List", "dict": "Dict", "set": "Set", "frozenset": "FrozenSet", "tuple": "Tuple"}


class Unknown(Exception):
    """No rule for this annotation."""


class Mismatch(Exception):
    """An argument is not what its annotation says."""

    kind = "signature"


def describe(annotation: Any, namespace: Any) -> Any:
    """``type``, ``schema``, ``nullable``, ``description`` and, for a closed choice, ``enum``. Raises ``Unknown``."""
    inner, description = _bare(resolve(annotation, namespace))
    nullable = False
    if _is_union(inner):
        members = [member for member in typing.get_args(inner) if member is not type(None)]
        nullable = len(members) < len(typing.get_args(inner))
        inner = typing.Union[tuple(members)]
        inner, within = _bare(inner)
        description = description or within
    fragment = schema(inner)
    if None in fragment.get("enum", ()):
        nullable = True
        fragment["enum"] = [choice for choice in fragment["enum"] if choice is not None]
    found = {"type": simple(fragment), "schema": fragment, "nullable": nullable, "description": description}
    if "enum" in fragment:
        found["enum"] = fragment["enum"]
    return found


def simple(fragment: Any) -> Any:
    """The type of SPEC 2.7 that *fragment* is at its top, or ``any``."""
    if "enum" in fragment:
        kinds = {type(choice) for choice in fragment["enum"]}
        return _SIMPLE[_JSON[kinds.pop()]] if len(kinds) == 1 and kinds <= set(_JSON) else "any"
    return _SIMPLE.get(fragment.get("type"), "any")


def resolve(annotation: Any, namespace: Any) -> Any:
    """*annotation* with its texts evaluated in *namespace*. Raises ``Unknown``."""
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    extras: Any = {"include_extras": True} if sys.version_info >= (3, 9) else {}
    try:
        return typing.get_type_hints(holder, namespace, **extras)["it"]
    except Exception as error:
        if not isinstance(annotation, str):
            raise Unknown from error
    try:  # ``list[str] | None`` is text that Python 3.8 cannot evaluate, but it can be told what is meant
        tree = ast.fix_missing_locations(_Older().visit(ast.parse(annotation, mode="eval")))
        return eval(compile(tree, "<annotation>", "eval"), {**namespace, "__typing": typing})
    except Exception as error:
        raise Unknown from error


class _Older(ast.NodeTransformer):
    """Writes an annotation in the words of Python 3.8."""

    def visit_BinOp(self, node: Any) -> Any:
        members = ast.Tuple([self.visit(node.left), self.visit(node.right)], ast.Load())
        union = _typing("Union")
        return ast.Subscript(union, members if sys.version_info >= (3, 9) else ast.Index(members), ast.Load())

    def visit_Subscript(self, node: Any) -> Any:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id in _GENERIC:
            node.value = _typing(_GENERIC[node.value.id])
        return node


def _typing(name: Any) -> Any:
    return ast.Attribute(ast.Name("__typing", ast.Load()), name, ast.Load())


def _bare(annotation: Any) -> Any:
    """*annotation* without ``Annotated``, ``NewType`` and aliases, and the description that ``Annotated`` gives."""
    description = ""
    while True:
        if hasattr(annotation, "__metadata__"):
            for extra in annotation.__metadata__:
                for text in (extra, getattr(extra, "documentation", None), getattr(extra, "description", None)):
                    description = description or (text if isinstance(text, str) else "")
            annotation = annotation.__origin__
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        elif str(_origin(annotation)).endswith(("Required", "ReadOnly")):  # of a ``TypedDict``
            annotation = annotation.__args__[0]
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        elif isinstance(annotation, typing.TypeVar):
            annotation = annotation.__bound__ or typing.Any
        else:
            return annotation, description


def _origin(annotation: Any) -> Any:
    return typing.get_origin(annotation)


def _is_union(annotation: Any) -> Any:
    return _origin(annotation) is typing.Union or type(annotation).__name__ == "UnionType"


def schema(annotation: Any, around: Any = ()) -> Any:
    """The JSON Schema of *annotation*; *around* are the dataclasses that are being read. Raises ``Unknown``."""
    annotation, description = _bare(annotation)
    fragment = _schema(annotation, around)
    return {**fragment, "description": description} if description and around else fragment


def _schema(annotation: Any, around: Any) -> Any:
    origin, members = _origin(annotation), typing.get_args(annotation)
    if annotation in (typing.Any, object):
        return {}
    if annotation is None or annotation is type(None):
        return {"type": "null"}
    if _is_union(annotation):
        found = []
        for member in members:
            fragment = schema(member, around)
            if fragment not in found:
                found.append(fragment)
        return {"anyOf": found} if {} not in found else {}
    if origin is typing.Literal:
        return {"enum": [_choice(member) for member in members]}
    if isinstance(annotation, type) and annotation in _JSON:
        return {"type": _JSON[annotation]}
    kind = origin or annotation
    if kind is tuple:
        return _tuple(members, around)
    if kind in _LISTS:
        fragment = {"type": "array"}
        items = schema(members[0], around) if members else {}
        return {**fragment, "items": items} if items else fragment
    if kind in _MAPPINGS:
        values = schema(members[1], around) if len(members) == 2 else {}
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
    if isinstance(annotation, type):
        return _class(annotation, around)
    raise Unknown


def _tuple(members: Any, around: Any) -> Any:
    if not members or members == ((),):
        return {"type": "array"}
    if members[-1] is Ellipsis:
        return {"type": "array", "items": schema(members[0], around)}
    items = [schema(member, around) for member in members]
    return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}


def _class(annotation: Any, around: Any) -> Any:
    if issubclass(annotation, enum.Enum):
        return {"enum": [_choice(member) for member in annotation]}
    for (module, name), form in _TEXTS.items():
        if annotation is _loaded(module, name):
            return {"type": "string", "format": form} if form else {"type": "string"}
    if _is_path(annotation):
        return {"type": "string"}
    if hasattr(annotation, "__dataclass_fields__") or hasattr(annotation, "__total__"):
        if annotation in around:
            return {"type": "object"}
        fields, required = _fields(annotation)
        properties = {name: schema(field, (*around, annotation)) for name, field in fields.items()}
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    if _is_model(annotation):
        return {"type": "object"}
    raise Unknown


def _choice(member: Any) -> Any:
    """What stands for one choice in JSON: its value, or the name of an Enum member whose value is no plain one."""
    if isinstance(member, enum.Enum):
        plain = member.value is None or type(member.value) in (str, int, float, bool)
        return member.value if plain else member.name
    if member is None or type(member) in (str, int, bool):
        return member
    raise Unknown


def _fields(kind: Any) -> Any:
    """The fields of a dataclass or ``TypedDict``: their annotations, and which are required."""
    space = vars(sys.modules.get(kind.__module__, typing))
    if hasattr(kind, "__total__"):
        required = sorted(getattr(kind, "__required_keys__", ()))  # since Python 3.9
        return {name: resolve(field, space) for name, field in kind.__annotations__.items()}, required
    missing = sys.modules["dataclasses"].MISSING
    fields = [field for field in sys.modules["dataclasses"].fields(kind) if field.init]
    required = [field.name for field in fields if field.default is missing and field.default_factory is missing]
    return {field.name: resolve(field.type, space) for field in fields}, required


def _loaded(module: Any, name: Any) -> Any:
    """A class of the standard library, if the tool has imported it."""
    return getattr(sys.modules.get(module), name, None)


def _is_path(annotation: Any) -> Any:
    path = _loaded("pathlib", "PurePath")
    return path is not None and issubclass(annotation, path)


def _is_model(annotation: Any) -> Any:
    return any(base.__name__ == "BaseModel" and base.__module__.startswith("pydantic") for base in annotation.__mro__)


def fit(function: Any, arguments: Any, describe: Any) -> Any:
    """Makes each of *arguments* what the annotation of *function* says, in place. Raises ``Mismatch``."""
    space = describe.namespace(function)
    for name, parameter in describe.signature(function).parameters.items():
        if name in arguments and name != "context" and parameter.annotation is not parameter.empty:
            try:
                annotation = resolve(parameter.annotation, space)
                schema(annotation)
            except Unknown:  # takes text, as its description says
                continue
            try:
                arguments[name] = convert(annotation, arguments[name])
            except _Unlike as unlike:
                raise Mismatch(f"argument `{name}` is no `{unlike}`") from None


class _Unlike(Exception):
    """A value is not of this type."""


def convert(annotation: Any, value: Any) -> Any:
    """*value*, which is JSON, as *annotation* says. Raises ``_Unlike``."""
    annotation, _ = _bare(annotation)
    origin, members = _origin(annotation), typing.get_args(annotation)
    kind = origin or annotation
    if _is_union(annotation):
        return _first(members, value)
    if origin is typing.Literal or (isinstance(annotation, type) and issubclass(annotation, enum.Enum)):
        for member in members or annotation:
            choice = _choice(member)
            if choice == value and type(choice) is type(value):
                return member
        raise _Unlike(getattr(annotation, "__name__", "Literal"))
    if annotation is None or annotation is type(None) or (isinstance(annotation, type) and annotation in _JSON):
        return value
    if kind is tuple or kind in _LISTS:
        if not isinstance(value, list):
            raise _Unlike("list")
        same = kind is not tuple or not members or members[-1] is Ellipsis
        inner = (members[:1] or (typing.Any,)) * len(value) if same else members
        items = [convert(member, item) for member, item in zip(inner, value)]
        make = set if kind in _SETS and kind is not frozenset else kind
        return make(items) if make in (tuple, set, frozenset) else items
    if kind in _MAPPINGS:
        if not isinstance(value, dict):
            raise _Unlike("dict")
        return {key: convert(members[1], item) for key, item in value.items()} if len(members) == 2 else value
    return _convert_class(annotation, value) if isinstance(annotation, type) else value


def _convert_class(annotation: Any, value: Any) -> Any:
    name = annotation.__name__
    if hasattr(annotation, "__dataclass_fields__") or hasattr(annotation, "__total__"):
        fields, required = _fields(annotation)
        if not isinstance(value, dict) or not set(required) <= set(value) <= set(fields):
            raise _Unlike(name)
        return annotation(**{key: convert(fields[key], item) for key, item in value.items()})
    if _is_model(annotation):
        try:
            validate = "model_validate" if hasattr(annotation, "model_validate") else "parse_obj"
            return getattr(annotation, validate)(value)
        except ValueError:  # its own text quotes the input
            raise _Unlike(name) from None
    try:
        if (annotation.__module__, name) == ("datetime", "datetime") and isinstance(value, str):
            value = value[:-1] + "+00:00" if value.endswith(("Z", "z")) else value  # read since Python 3.11
        if annotation in (_loaded("datetime", form) for form in ("date", "datetime", "time")):
            return annotation.fromisoformat(value)
        if _is_path(annotation) or annotation in (_loaded("uuid", "UUID"), _loaded("decimal", "Decimal")):
            return annotation(value)
    except (ArithmeticError, AttributeError, TypeError, ValueError):
        raise _Unlike(name) from None
    return value


def _first(members: Any, value: Any) -> Any:
    """*value* as the first member of a union that it is like: as it is if possible, else made into something."""
    kinds = [member for member in (_bare(member)[0] for member in members) if isinstance(member, type)]
    if type(value) in kinds or (value is None and None in members):
        return value
    for member in members:
        if isinstance(value, bool) or member is type(None) or _bare(member)[0] in _JSON:
            continue
        try:
            return convert(member, value)
        except _Unlike:
            pass
    if any(_bare(member)[0] in _JSON for member in members):
        return value
    raise _Unlike(" or ".join(getattr(member, "__name__", str(member)) for member in members))
