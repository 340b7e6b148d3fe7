"""A YAML cell of tools and a cursor in it → what may be written there (SPEC 13.4). Names only.

The text is not parsed: while somebody writes, it is no valid YAML. Lines and their indentation tell enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .declare import FIELDS, FILE_FIELDS, UNSUPPORTED
from .fields import LIMITS
from .params import KEYS
from .tool import TYPES

_NAME_LISTS = ("required_env", "optional_env", "env_passthrough")
_FIELD_AT = re.compile(r"(?P<lead>\s*(?:- )?)(?P<word>[a-z_]*)")
_KEY = re.compile(r"(?P<lead>\s*(?:- )?)(?P<key>[a-z_]+)\s*:")
_IN_BRACKETS = re.compile(rf"\s*(?:- )?(?:{'|'.join(_NAME_LISTS)})\s*:\s*\[[^\]]*")
_ITEM = re.compile(r"(?P<lead>\s*-\s+)[A-Za-z0-9_]*")
_REFERENCE = re.compile(r"\$\{[A-Za-z0-9_]*\Z")
_TYPE_AT = re.compile(r"(?:.*[{,]|\s*(?:- )?)\s*type:\s*[a-z]*\Z")


def suggestions(above: str, line: str, names: Iterable[str]) -> list[str]:
    """What may stand at the end of *line*, whose lines *above* are those of the cell's body.

    *names* are the parent's variables. Fields end with ``: ``.
    """
    lines = above.split("\n")[:-1]
    if _REFERENCE.search(line) or _IN_BRACKETS.fullmatch(line):
        return sorted(names)
    if _TYPE_AT.match(line):
        return list(TYPES)
    item = _ITEM.fullmatch(line)
    if item is not None and _owner(lines, len(item["lead"])) in _NAME_LISTS:
        return sorted(names)
    at = _FIELD_AT.fullmatch(line)
    if at is None:
        return []
    column, is_first = len(at["lead"]), at["lead"].endswith("- ")
    beside = set() if is_first else set(_beside(lines, column))
    owner = _owner(lines, column)
    if owner is None and column and not is_first and not beside:
        return []  # indented under nothing
    return [f"{field}: " for field in _fields(owner) if field not in beside]


def _fields(owner: str | None) -> Iterable[str]:
    """The keys that belong under *owner*."""
    match owner:
        case None:
            return [name for name in dict.fromkeys((*FIELDS, *FILE_FIELDS)) if name not in UNSUPPORTED]
        case "tools":
            return [name for name in FIELDS if name not in UNSUPPORTED]
        case "params":
            return KEYS
        case "limits":
            return tuple(LIMITS)
        case "redact":
            return ("never",)
        case _:
            return ()


def _owner(lines: list[str], column: int) -> str | None:
    """The key that a line at *column* stands under: None at the top, empty where nothing can stand."""
    for above in reversed(lines):
        key = _KEY.match(above)
        if key is not None and len(key["lead"]) < column:
            return key["key"] if above.rstrip().endswith(":") else ""
    return None


def _beside(lines: list[str], column: int) -> Iterator[str]:
    """The keys of the same mapping that stand above."""
    for above in reversed(lines):
        key = _KEY.match(above)
        is_beside = key is not None and len(key["lead"]) == column
        if key is not None and is_beside:
            yield key["key"]
        depth = len(above) - len(above.lstrip(" "))
        if above.strip() and depth < column:  # what the mapping stands in, or its first key, after a dash
            return
