"""What a caller holds, or what stands in JSON → values of JSON's own types (SPEC 2.7).

A message is made from the place and the rule. It holds no value.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date, time
from decimal import Decimal
from enum import Enum
from typing import NoReturn

MOST_DIGITS = 4300
"""Python reads no longer integer from text, for good reason: the time it takes grows with the square."""

_HUGE = 10**MOST_DIGITS
_MOST_LEVELS = 100


class Misfit(Exception):
    """A value breaks a rule at a place inside the argument."""

    def __init__(self, rule: str, place: str = "", detail: str = "") -> None:
        self.rule = rule
        self.place = place
        self.detail = detail
        """What more is to say, if nothing better is known."""
        super().__init__(rule)

    def inside(self, place: str) -> Misfit:
        return Misfit(self.rule, place + self.place, self.detail)


def read_json(text: str) -> object:
    """JSON without duplicate keys, NaN and endless integers. Raises ``ValueError`` without any of *text*."""
    try:
        return json.loads(text, object_pairs_hook=_pairs, parse_constant=_constant, parse_int=_integer)
    except json.JSONDecodeError as error:
        raise ValueError(f"is no JSON at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("has a mapping with the same key twice")
    return found


def _constant(_: str) -> NoReturn:
    raise ValueError("holds NaN or Infinity, which is no JSON")


def _integer(text: str) -> int:
    if len(text.lstrip("-")) > MOST_DIGITS:
        raise ValueError(f"holds an integer of more than {MOST_DIGITS:,} digits")
    return int(text)


def plain(value: object, level: int = 0) -> object:
    """*value* made of JSON's own types; what a Python caller may hold beyond them becomes its usual text."""
    if level > _MOST_LEVELS:
        raise Misfit(_TOO_DEEP)
    if value is None or isinstance(value, bool) or type(value) is str:
        return value
    if isinstance(value, Enum):
        return plain(value.value, level + 1)
    if isinstance(value, int):
        if not -_HUGE < value < _HUGE:
            raise Misfit(f"holds an integer of more than {MOST_DIGITS:,} digits")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Misfit("holds a number that is not finite; pass None instead")
        return float(value)
    if isinstance(value, list | tuple):
        return [_part(item, f"[{at}]", level) for at, item in enumerate(value)]
    if isinstance(value, Mapping):
        if any(isinstance(key, tuple) for key in value):
            raise Misfit("has a key of several parts; join them to one text (of a table: reset_index first)")
        if not all(isinstance(key, str) for key in value):
            raise Misfit("has a key that is not text")
        return {str(key): _part(item, "[…]", level) for key, item in value.items()}
    if isinstance(value, date | time):
        return value.isoformat()
    kind = type(value)
    named = (kind.__module__, kind.__name__)
    if isinstance(value, str | Decimal) or hasattr(kind, "__fspath__") or named == ("uuid", "UUID"):
        return str(value)
    to_list = getattr(value, "tolist", None)
    if kind.__module__.startswith("numpy") and callable(to_list) and type(to_list()) is not kind:
        return plain(to_list(), level + 1)
    instead = _INSTEAD.get(kind.__name__, "")
    raise Misfit(f"holds a `{kind.__name__}`, which is no JSON" + (instead and f"; pass {instead}"))


def _part(value: object, place: str, level: int) -> object:
    try:
        return plain(value, level + 1)
    except Misfit as misfit:
        raise misfit.inside("" if misfit.rule == _TOO_DEEP else place) from None


_TOO_DEEP = "is nested too deeply"
_INSTEAD = {
    "DataFrame": '`table.to_dict("records")`',
    "Series": "`series.tolist()`",
    "Index": "`index.tolist()`",
    "NAType": "None",
    "NaTType": "None",
    **dict.fromkeys("range set frozenset generator map filter zip dict_keys dict_values".split(), "a list"),
    "bytes": "text",
}
"""What to pass where a value is of a type that callers in Python often have."""
