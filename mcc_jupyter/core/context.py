"""The session store → the variables a tool gets (SPEC 6.4, 6.5).

1. ``fn`` gets one JSON object, ``MCC_CTX``; ``exec`` gets one variable an entry, strings raw.
2. What is too large for a variable, or cannot be one, stands in the private file named by ``MCC_SESSION_FILE``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from .resolution import Context
from .values import VARIABLE_LIMIT

TOTAL_LIMIT = 256 * 1024
"""Bytes that all session variables of a call may have together, so that no store can fill up an environment."""

_LONGEST_NUMBER = 14_000
"""Bits of an integer; Python neither writes nor reads more than 4,300 digits."""


def encode(value: object) -> str:
    """JSON as every door writes it: Unicode as is, no NaN."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def encode_bytes(value: object) -> bytes:
    """``encode`` in UTF-8; half a character, which a function may return, is written as an escape."""
    try:
        return encode(value).encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False).encode()


def as_variable(value: object) -> str:
    """One entry for ``exec``: strings raw, the rest as JSON."""
    return value if isinstance(value, str) else encode(value)


def build(kind: str, store: Mapping[str, object]) -> Context:
    """The variables of *store* for a tool of *kind* (``exec``, ``curl`` or ``fn``)."""
    if kind == "fn":
        wanted = {"MCC_CTX": encode(dict(store))}
    else:
        wanted = {f"MCC_CTX_{key.upper()}": as_variable(value) for key, value in store.items()}
    sizes = {name: len(name) + 1 + len(value.encode()) for name, value in wanted.items()}
    oversized = {name for name, value in wanted.items() if sizes[name] > VARIABLE_LIMIT or "\0" in value}
    total = sum(size for name, size in sizes.items() if name not in oversized)
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        if total > TOTAL_LIMIT and name not in oversized:
            oversized.add(name)
            total -= sizes[name]
    return Context(
        variables={name: value for name, value in wanted.items() if name not in oversized},
        oversized=tuple(name for name in wanted if name in oversized),
        document=encode_bytes(dict(store)) if oversized else None,
    )


def reject(value: object, where: str = "value") -> str | None:
    """Why *value* is no JSON, naming the place and no value; None when it is (SPEC 6.2)."""
    try:
        return _reject(value, where)
    except RecursionError:
        return f"{where} is nested too deeply"


def _reject(value: object, where: str) -> str | None:
    if isinstance(value, int):
        return None if value.bit_length() <= _LONGEST_NUMBER else f"{where} is a number of too many digits"
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return f"{where} holds text that is not valid Unicode"
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{where} is not a finite number"
    if isinstance(value, list | tuple):
        return next(filter(None, (_reject(item, f"{where}[{at}]") for at, item in enumerate(value))), None)
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                return f"{where} has a key of type {type(key).__name__}; JSON keys are text"
            found = _reject(key, f"a key of {where}") or _reject(item, f"{where}[…]")
            if found:
                return found
        return None
    return None if value is None else f"{where} is of type {type(value).__name__}, which is no JSON"
