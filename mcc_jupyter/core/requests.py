"""The content of an ``mcc_request``, which another process sent → what it asks, as one frozen type an operation.

1. Nothing of the content is trusted and nothing of it stands in an error: what is wrong is named by its field.
2. Fields that are not known are not looked at, so that a newer server can talk to an older kernel.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from .errors import ArgumentError

VERSION: Final = 1
"""Of the protocol: in every request and every reply."""

CALL_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.A)
"""Use ``fullmatch``."""

LONGEST_LEASE: Final = 3600.0
_LONGEST_NAME = 1024
_MOST_GROUPS = 1000


@dataclass(frozen=True, slots=True)
class Caller:
    """On whose behalf a request is made; ``groups`` None: nobody configured any, so all of them (SPEC 6.6)."""

    user: str
    email: str | None = None
    groups: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Tools:
    """``tools``: the manifest."""


@dataclass(frozen=True, slots=True)
class ReportOf:
    """``report``: the report of one tool."""

    tool: str
    everything: bool = False
    caller: Caller | None = None


@dataclass(frozen=True, slots=True)
class CallOf:
    """``call``. ``lease``: after so many seconds without a word of the requester the call is to end."""

    call: str
    tool: str
    arguments: Mapping[str, object] = field(default_factory=dict, repr=False)
    caller: Caller | None = None
    timeout: object = None
    lease: float | None = None


@dataclass(frozen=True, slots=True)
class Ack:
    """``ack``: output up to ``seq`` has arrived. With a number that is acknowledged already it is a sign of life."""

    call: str
    seq: int


@dataclass(frozen=True, slots=True)
class Cancel:
    """``cancel``: ends the call as an interrupt does."""

    call: str


@dataclass(frozen=True, slots=True)
class Scan:
    """``scan``: look for secrets in the notebook that came with the request, and with ``clean`` redact it."""

    clean: bool = False


Request = Tools | ReportOf | CallOf | Ack | Cancel | Scan


def read(content: object) -> Request:
    """What *content* asks; raises ``ArgumentError``."""
    if not isinstance(content, Mapping):
        raise _wrong("the content", "an object")
    version = content.get("v")
    if type(version) is not int or version != VERSION:
        raise ArgumentError(f"mcc_request: `v` must be {VERSION}, the version that this kernel understands")
    match content.get("op"):
        case "tools":
            return Tools()
        case "report":
            return ReportOf(_name(content, "tool"), _flag(content, "all"), _caller(content.get("caller")))
        case "call":
            return CallOf(
                _call_id(content),
                _name(content, "tool"),
                _arguments(content.get("arguments")),
                _caller(content.get("caller")),
                content.get("timeout"),
                _lease(content.get("lease")),
            )
        case "ack":
            seq = content.get("seq")
            if type(seq) is not int or seq < 0:
                raise _wrong("`seq`", "the number of an output")
            return Ack(_call_id(content), seq)
        case "cancel":
            return Cancel(_call_id(content))
        case "scan":
            return Scan(_flag(content, "clean"))
        case _:
            raise _wrong("`op`", "tools, report, call, ack, cancel or scan")


def _wrong(what: str, wanted: str) -> ArgumentError:
    return ArgumentError(f"mcc_request: {what} must be {wanted}")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME and value.isprintable()


def _name(content: Mapping[str, object], key: str) -> str:
    value = content.get(key)
    if not isinstance(value, str) or not _is_text(value):
        raise _wrong(f"`{key}`", "a name")
    return value


def _flag(content: Mapping[str, object], key: str) -> bool:
    value = content.get(key, False)
    if not isinstance(value, bool):
        raise _wrong(f"`{key}`", "true or false")
    return value


def _call_id(content: Mapping[str, object]) -> str:
    value = content.get("call")
    if not isinstance(value, str) or not CALL_ID.fullmatch(value):
        raise _wrong("`call`", "1 to 64 letters, digits, `_`, `.` or `-`")
    return value


def _arguments(value: object) -> Mapping[str, object]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _wrong("`arguments`", "an object")
    return value


def _lease(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= LONGEST_LEASE:
        raise _wrong("`lease`", f"1 to {LONGEST_LEASE:,.0f} seconds")
    return float(value)


def _caller(value: object) -> Caller | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise _wrong("`caller`", "an object")
    user, email, groups = value.get("user"), value.get("email"), value.get("groups")
    if not isinstance(user, str) or not _is_text(user):
        raise _wrong("`caller.user`", "a name")
    if email is not None and (not isinstance(email, str) or not _is_text(email)):
        raise _wrong("`caller.email`", "an address or null")
    if groups is None:
        return Caller(user, email)
    if not isinstance(groups, list) or len(groups) > _MOST_GROUPS or not all(map(_is_text, groups)):
        raise _wrong("`caller.groups`", "a list of names or null")
    return Caller(user, email, tuple(groups))
