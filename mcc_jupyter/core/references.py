"""``${VAR}`` in a string field → the field as it stands, and which parent variables it used (SPEC 3.1-3.3).

1. Four forms refer: ``$NAME``, ``${NAME}``, ``${NAME|default}``, ``${NAME:-default}``; ``$$`` is a ``$``. Others stay.
2. A value is data: what stands in it is never looked at again. Only a default, which its author wrote, may refer.
3. A name without value and default stays as written and is listed; nothing is raised.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from .names import NAME
from .tool import Reference, Text
from .values import ValueClass, classify, compose

_NAME = NAME.pattern
_TOKEN = re.compile(rf"(?P<dollar>\$\$)|\$(?P<bare>{_NAME})|\$\{{(?P<braced>{_NAME})(?P<then>\||:-|\}})|(?P<close>\}})")

T = TypeVar("T")
Build = Callable[[str, str, "list[str | T] | None", bool], "list[str | T]"]
"""(name, as written, the parts of its default, whether an empty value counts as unset) → what stands there instead."""


def scan(text: str, build: Build[T]) -> list[str | T]:
    """Split *text* into literal strings and what *build* makes of each reference; one pass, raises nothing.

    A default ends at the first ``}`` that closes no reference inside it, as in the shell. One that never ends is text.
    """
    parts: list[str | T] = []
    opened: list[tuple[re.Match[str], list[str | T]]] = []
    at = 0
    for token in _TOKEN.finditer(text):
        if token["close"] and not opened:
            continue
        parts.append(text[at : token.start()])
        at = token.end()
        if token["dollar"]:
            parts.append("$")
        elif token["close"]:
            begin, outer = opened.pop()
            outer += build(begin["braced"], text[begin.start() : at], parts, begin["then"] == ":-")
            parts = outer
        elif token["bare"] or token["then"] == "}":
            parts += build(token["bare"] or token["braced"], token[0], None, False)
        else:
            opened.append((token, parts))
            parts = []
    parts.append(text[at:])
    while opened:
        begin, outer = opened.pop()
        parts = [*outer, begin[0], *parts]
    return parts


@dataclass(frozen=True, slots=True)
class _Found:
    """What stands for one reference: the parent's value if ``known``, else the text as written."""

    name: str
    text: str = field(repr=False)
    known: bool


def bake(text: str, parent: Mapping[str, str]) -> Text:
    """Replace the references of one string field by the values of *parent* (SPEC 3.1, 3.2).

    ``references`` are the parent variables whose value stands in the text and ``unresolved`` the names left literal,
    each once and in order. The class is composed of the parts' classes, so that it tells nothing of the values
    (SPEC 11.2).
    """

    def build(name: str, written: str, default: list[str | _Found] | None, if_empty: bool) -> list[str | _Found]:
        value = parent.get(name)
        if value or (value is not None and not if_empty):
            return [_Found(name, value, known=True)]
        return [_Found(name, written, known=False)] if default is None else default

    parts = scan(text, build)
    found = [part for part in parts if isinstance(part, _Found)]
    return Text(
        written=text,
        value="".join(part if isinstance(part, str) else part.text for part in parts),
        value_class=_class_of(parts),
        references=_once(Reference(part.name, part.text) for part in found if part.known),
        unresolved=_once(part.name for part in found if not part.known),
    )


def bake_data(value: object, parent: Mapping[str, str]) -> tuple[object, tuple[Reference, ...], tuple[str, ...]]:
    """The same for every string in lists and in the values of mappings: data, references, unresolved names.

    Keys and other types pass as they are, and a baked string stays a string (SPEC 3.3).
    """
    if isinstance(value, str):
        text = bake(value, parent)
        return text.value, text.references, text.unresolved
    if not isinstance(value, list | Mapping):
        return value, (), ()
    baked = [bake_data(item, parent) for item in (value.values() if isinstance(value, Mapping) else value)]
    items = [item for item, _, _ in baked]
    return (
        dict(zip(value, items, strict=True)) if isinstance(value, Mapping) else items,
        _once(reference for _, references, _ in baked for reference in references),
        _once(name for _, _, unresolved in baked for name in unresolved),
    )


def mentioned(value: object) -> Iterator[str]:
    """Every name that *value* refers to as it is written, also in a default; strings, lists and mappings of them."""
    if isinstance(value, str):
        names: list[str] = []

        def build(name: str, _written: str, _default: list[str] | None, _if_empty: bool) -> list[str]:
            names.append(name)
            return []

        scan(value, build)
        yield from names
    elif isinstance(value, list | Mapping):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from mentioned(item)


def _class_of(parts: list[str | _Found]) -> ValueClass:
    """Literals that touch are one literal: the ``$`` of ``$$`` is no part of its own."""
    kinds: list[str | ValueClass] = [""]
    for part in parts:
        if isinstance(part, _Found) and part.known:
            kinds += [classify(part.text), ""]
        else:
            kinds[-1] = f"{kinds[-1]}{part if isinstance(part, str) else part.text}"
    return compose(kinds)


def _once(items: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(items))
