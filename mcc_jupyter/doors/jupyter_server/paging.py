"""A whole list and what a client asks of it → one page.

1. A cursor is the key of the last item seen, so pages neither repeat nor skip what stays while other items come and go.
2. A cursor is opaque: clients hand it back as it is.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from typing import TypeVar

from .errors import ApiError

Item = TypeVar("Item")

MOST = 500
USUAL = 100


def limit_of(text: str | None) -> int:
    """How many items a page has. Raises ``ApiError`` (422)."""
    if text is None:
        return USUAL
    if not (text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= MOST):
        raise ApiError(422, "argument", f"limit: must be a whole number from 1 to {MOST}")
    return int(text)


def page(
    items: Sequence[Item], key: Callable[[Item], str], *, limit: int, cursor: str | None, newest_first: bool = False
) -> tuple[list[Item], str | None]:
    """Up to *limit* of *items* after *cursor* in the order of their keys, and the cursor of the next page.

    Raises ``ApiError`` (422) for a cursor that no page gave.
    """
    ordered = sorted(items, key=key, reverse=newest_first)
    if cursor is not None:
        last = _read(cursor)
        ordered = [item for item in ordered if (key(item) < last if newest_first else key(item) > last)]
    found = ordered[:limit]
    return found, _written(key(found[-1])) if len(ordered) > limit else None


def _written(key: str) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def _read(cursor: str) -> str:
    try:
        found = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        found = None
    if not isinstance(found, str):
        raise ApiError(422, "argument", "cursor: must be a cursor that a page before gave")
    return found
