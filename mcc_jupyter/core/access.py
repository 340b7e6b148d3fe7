"""A declared tool → what it may get, by name, and whether another one may get more (SPEC 9.8).

1. Only what its author wrote decides: no parent, no file, no machine. The same text gives the same access everywhere.
2. An item is a name, a pattern, a path as written or a host; never a value. Literals and files give their names only.
3. Wider is told by what can be read: a name that a pattern let in before is no news when it is required now.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from .clients import programs
from .hosts import DYNAMIC, hosts
from .names import first_match, has_wildcard, is_reserved
from .shell_text import prepare
from .tool import DEFAULT_FLOOR, Curl, Function, Grant, Shell, Tool

FULL_COPY: Final = "true (a full copy)"
"""``env_passthrough: true``. No pattern holds white space, so it is told from all of them."""


EVERYONE: Final = "everyone"
"""Whom a workspace's table is for that names no user and no group."""

EXCEPT: Final = " except "
"""Between a pattern that cells may ask by and what is denied all the same."""


@dataclass(frozen=True, slots=True)
class Access:
    """What a tool may get: items by kind. A kind without an item is not there."""

    items: Mapping[str, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))

    def of(self, *kinds: str) -> frozenset[str]:
        return frozenset().union(*(self.items.get(kind, ()) for kind in kinds))

    def __or__(self, other: Access) -> Access:
        """What either may get."""
        kinds = [kind for kind in KINDS if kind in self.items or kind in other.items]
        return Access({kind: self.of(kind) | other.of(kind) for kind in kinds})

    def reads(self, name: str) -> bool:
        """Whether a parent variable of this name reaches the tool under its own name, or in another one."""
        if name in DEFAULT_FLOOR or name in self.of("references") or FULL_COPY in self.of("passthrough"):
            return True
        if any(_parent(item) == name for item in self.of("required", "optional")):
            return True
        return first_match(sorted(self.of("passthrough")), name) is not None


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of item: the word for it in a line, and whether an access has an item, in this or another way."""

    word: str
    has: Callable[[Access, str], bool]
    of_new: bool = True
    """Whether it is told of a tool that is new as a whole."""


def _exactly(kind: str) -> Callable[[Access, str], bool]:
    return lambda access, item: item in access.of(kind)


def _passes(access: Access, item: str) -> bool:
    patterns = access.of("passthrough")
    if item in patterns or FULL_COPY in patterns:
        return True
    if item == FULL_COPY:
        return False
    return any(includes(pattern, item) for pattern in patterns) if has_wildcard(item) else access.reads(item)


def _grants(access: Access, item: str) -> bool:
    # A new name for a variable may steer the program: it counts although the variable was there.
    return item in access.of("required", "optional") or (_parent(item) == item and access.reads(item))


def _calls(access: Access, item: str) -> bool:
    return item == "admin" or bool(access.of("groups") & {item, "public"})


def _reaches(access: Access, item: str) -> bool:
    return bool(access.of("hosts") & {item, DYNAMIC})


def _serves(access: Access, item: str) -> bool:
    return bool(access.of("for") & {item, EVERYONE})


def _allows(access: Access, item: str) -> bool:
    """Whether a pattern that cells may ask by was there before, with no more exceptions than now."""
    pattern, denied = _allowed(item)
    return any(
        includes(wide, pattern) and all(any(includes(new, old) for new in denied) for old in exceptions)
        for wide, exceptions in map(_allowed, access.of("allow"))
    )


def _allowed(item: str) -> tuple[str, list[str]]:
    pattern, _, denied = item.partition(EXCEPT)
    return pattern, denied.split()


KINDS: Final[Mapping[str, Kind]] = {
    "tool": Kind("tool", _exactly("tool")),
    "passthrough": Kind("passthrough", _passes),
    "required": Kind("required", _grants),
    "optional": Kind("optional", _grants),
    "references": Kind("reference", Access.reads),
    "env_file": Kind("env_file", _exactly("env_file")),
    "env": Kind("env", _exactly("env")),
    "secret_files": Kind("secret_file", _exactly("secret_files")),
    "hosts": Kind("host", _reaches),
    "programs": Kind("program", _exactly("programs")),
    "fn": Kind("function", _exactly("fn")),
    "python": Kind("interpreter", _exactly("python")),
    "isolation": Kind("isolation", _exactly("isolation")),
    "groups": Kind("group", _calls, of_new=False),
    "unredacted": Kind("unredacted", _exactly("unredacted")),
    "loads": Kind("file", _exactly("loads")),
    "exposed": Kind("exposed", _exactly("exposed")),
    "grants": Kind("granted", _exactly("grants")),
    "for": Kind("user", _serves, of_new=False),
    "allow": Kind("allowed", _allows),
    "floor": Kind("floor", _exactly("floor")),
}
"""Every kind of item, in the order in which a lock and the lines of a comparison have them."""


def access(tool: Tool, *, verbatim: bool = False) -> Access:
    """What *tool* may get, as far as its declaration tells. *verbatim*: its script is run as it stands (SPEC 2.10)."""
    body = tool.body
    found: dict[str, Iterable[str]] = {
        "tool": [tool.kind],
        "passthrough": [FULL_COPY] if tool.passthrough is True else tool.passthrough,
        "required": map(str, tool.required_env),
        "optional": map(str, tool.optional_env),
        "references": [*tool.mentioned, *(() if verbatim else _expanded(tool))],
        "env_file": (file.written for file in tool.env_files),
        "env": tool.env,
        "secret_files": tool.secret_files,
        "hosts": hosts(tool),
        "programs": programs(tool),
        "fn": [body.target] if isinstance(body, Function) and body.source is None else (),
        "python": [tool.python.written] if tool.python is not None else (),
        "isolation": () if tool.isolation else ["off"],
        "groups": tool.groups or ["public"],
        "unredacted": tool.never_redact,
    }
    return made(found)


def made(items: Mapping[str, Iterable[str]]) -> Access:
    """An access without empty kinds, its items safe to show on one line."""
    sets = {kind: frozenset(map(printable, items.get(kind, ()))) for kind in KINDS}
    return Access(MappingProxyType({kind: found for kind, found in sets.items() if found}))


def printable(item: str) -> str:
    """*item* without a character that a terminal or a text file would act on."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in item)


def _parent(item: str) -> str:
    """The parent's name in an item of a grant: ``CHILD``, or ``CHILD (from PARENT)``."""
    return item.partition(" (from ")[2].removesuffix(")") or item


class Everything(dict[str, str]):
    """A parent that has every variable, each with the same made-up value: for what is decided by names alone."""

    def __init__(self, value: str) -> None:
        super().__init__()
        self._value = value

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return self._value

    def get(self, name: str, default: object = None) -> str:  # noqa: ARG002
        return self._value


def _expanded(tool: Tool) -> Iterator[str]:
    """The names that a tool's commands refer to and nothing else gives it, whether or not a parent has them."""
    patterns = ("*",) if tool.passthrough is True else tool.passthrough
    grants: tuple[Grant, ...] = (*tool.required_env, *tool.optional_env)
    given = {*DEFAULT_FLOOR, *tool.env, *tool.secret_files, *(grant.child for grant in grants)}

    def provided(name: str) -> bool:
        return name in given or is_reserved(name) or first_match(patterns, name) is not None

    shell = tool.body.shell if isinstance(tool.body, Curl) else tool.body
    for text in (shell, tool.transform):
        if isinstance(text, Shell):
            prepared = prepare(text.written, provided=provided, parent=Everything(""), params={})
            yield from (reference.name for reference in prepared.references)


_PARTS = re.compile(r"\*+|\[!?\]?[^\]]*\]|.", re.S)
_LONGEST = 2_000


def includes(wide: str, narrow: str) -> bool:
    """Whether every name that the pattern *narrow* matches is one that *wide* matches; where in doubt, it is not."""
    if wide == narrow:
        return True
    if len(wide) > _LONGEST or len(narrow) > _LONGEST:
        return False
    tokens = _PARTS.findall(narrow)
    reached = {0}
    for part in _PARTS.findall(wide):
        if part.startswith("*"):
            reached = set(range(min(reached), len(tokens) + 1)) if reached else reached
        else:
            reached = {at + 1 for at in reached if at < len(tokens) and _takes(part, tokens[at])}
    return len(tokens) in reached


def _takes(part: str, other: str) -> bool:
    """Whether one character's pattern matches all that the other one does."""
    if other.startswith("*"):
        return False
    if part in (other, "?"):
        return True
    return len(part) > 1 and len(other) == 1 and other != "?" and first_match((part,), other) is not None
