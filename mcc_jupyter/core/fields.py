"""Fields of a tool that say something about its environment: node → frozen value (SPEC 2.6, 3, 4.3-4.6, 7.8).

1. Names, patterns and groups are never subject to load-time references; every other text is (SPEC 3.1).
2. What is legal but surely not meant becomes a note, not an error.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, Literal

from .names import NAME
from .reading import Node, positive, shown
from .references import bake, bake_data, mentioned
from .tool import WARNING, Grant, Limits, Reference, Text

Note = Callable[[Node, str], None]
"""Takes a node and what its author should know of it; ``WARNING`` before it is put before the node's path."""

LIMITS: Final = {
    "timeout": ("seconds", False),
    "mem_mb": ("MiB", True),
    "cpu_sec": ("seconds", True),
    "fsize_mb": ("MiB", True),
    "nofile": ("open files", True),
    "output_mb": ("MiB", False),
}
"""Limit → its unit, and whether it is a whole number."""

LARGEST: Final = 10**9
"""More of a limit than this would not fit the system's own counters."""


class Substitution:
    """The load-time references of one tool: what stands for them, what was used, what the parent did not have."""

    def __init__(self, parent: Mapping[str, str]) -> None:
        self.parent = parent
        self.references: dict[Reference, None] = {}
        self.unresolved: dict[str, None] = {}
        self.mentioned: dict[str, None] = {}

    def text(self, written: str) -> Text:
        baked = bake(written, self.parent)
        self._keep(written, baked.references, baked.unresolved)
        return baked

    def data(self, value: object) -> tuple[object, tuple[Reference, ...], tuple[str, ...]]:
        found = bake_data(value, self.parent)
        self._keep(value, found[1], found[2])
        return found

    def _keep(self, written: object, references: tuple[Reference, ...], unresolved: tuple[str, ...]) -> None:
        self.mentioned.update(dict.fromkeys(mentioned(written)))
        self.references.update(dict.fromkeys(references))
        self.unresolved.update(dict.fromkeys(unresolved))


def variable(node: Node, name: str) -> bool:
    """Whether *name* may name an environment variable (SPEC 4.6)."""
    if NAME.fullmatch(name):
        return True
    node.wrong(f"`{shown(name)}` is no variable name; use letters, digits and `_`, and no digit first")
    return False


def groups(node: Node) -> tuple[str, ...]:
    expected = "a list of group names"
    if node.value is None:
        node.wrong(f"expected {expected}")
    found = []
    for item, group in node.unique(expected):
        if re.fullmatch(r"[A-Za-z0-9_-]+", group, re.A):
            found.append(group)
        else:
            item.wrong(f"`{shown(group)}` is no group name; use letters, digits, `_` and `-`")
    return tuple(found)


_CLASS = r"\[\[\][^\[\]]*\]|\[!?[^\]\[!][^\]]*\]"
_REFUSED = (
    (re.compile(r"\A\Z"), "an empty pattern matches nothing; leave it out"),
    (re.compile(r"\s"), "no name holds white space; write one pattern an item"),
    (re.compile(r"\A!"), "a pattern cannot exclude; list what may pass"),
    (re.compile(r"\[\^"), "`[^…]` would let in what it names; write `[!…]`"),
)
_DOUBTFUL = (
    (re.compile(r"[{},]"), "`{`, `}` and `,` stand for themselves in a pattern; write one pattern an item"),
    (re.compile(rf"\A(?:{_CLASS}|[^\[\]])*+[\[\]]"), "a bracket that makes no class stands for itself; write `[…]`"),
    (re.compile(r"\.\*|[\\^$|]"), "a pattern is no regular expression; `*` alone stands for any text"),
)


def patterns(node: Node, note: Note) -> tuple[str, ...] | Literal[True]:
    """``env_passthrough`` (SPEC 4.3): never a bare string, whose letters could be taken for patterns."""
    if node.value is True:
        return True
    found = []
    for item, pattern in () if node.value is False else node.unique("true, false or a list of patterns"):
        wrong = next((message for sign, message in _REFUSED if sign.search(pattern)), None)
        if wrong is not None:
            item.wrong(wrong)
            continue
        for message in [message for sign, message in _DOUBTFUL if sign.search(pattern)]:
            note(item, f"{WARNING}{message}")
        found.append(pattern)
    return tuple(found)


def grants(node: Node) -> tuple[Grant, ...]:
    """``required_env`` and ``optional_env``: a list of names, or CHILD: PARENT (SPEC 4.5)."""
    if not isinstance(node.value, Mapping):
        names = node.unique("a list of names, `[NAME]`, or a mapping CHILD: PARENT")
        return tuple(Grant(name, name) for item, name in names if variable(item, name))
    found = []
    for child, item in node.mapping().items():
        parent = item.text("the parent's name as text")
        if variable(item, child) and parent and variable(item, parent):
            found.append(Grant(child, parent))
    return tuple(found)


def names(node: Node) -> frozenset[str]:
    """A list of variable names whose order has no meaning."""
    return frozenset(name for item, name in node.unique("a list of names") if variable(item, name))


def path(
    node: Node, substitution: Substitution, *, folder: str, home: str | None, command: bool = False
) -> Text | None:
    """A path, absolute as of now; ``~`` expands where it is written. A *command* without ``/`` stays a name."""
    written = node.filled("a path")
    if not written:
        return None
    if written != written.strip() or "\0" in written:
        node.wrong("the path begins or ends with a blank or holds a NUL character; remove it")
        return None
    baked = substitution.text(written)
    value = baked.value
    if not value:
        node.wrong("the path is empty, because what it refers to is empty here")
        return None
    if written.startswith("~"):
        if written.partition("/")[0] != "~":
            node.wrong("`~` stands for your own home only; write another one in full")
            return None
        if home is None:
            node.wrong("`~` cannot be expanded without HOME; write the path in full")
            return None
        value = home + value[1:]
    if command and "/" not in value:
        return baked
    return replace(baked, value=_absolute(value, folder))


def _absolute(path: str, folder: str) -> str:
    joined = posixpath.join(folder, path)
    # `a/../b` is left to the file system: `a` may be a symbolic link.
    return joined if ".." in joined.split("/") else posixpath.normpath(joined)


def number(node: Node, substitution: Substitution, unit: str, *, whole: bool = False) -> float | None:
    """A positive number of *unit*. A text is none, unless it refers to a variable that holds one (SPEC 3.3)."""
    value = node.value
    if isinstance(value, str):
        baked = substitution.text(value)
        if baked.value == value and not baked.unresolved:
            node.wrong(f"write a number of {unit}, without quotes")
            return None
        try:
            value = float(baked.value)
        except ValueError:
            node.wrong(f"what it refers to is no number of {unit} here; set it, or write a number")
            return None
    if not positive(value) or value > LARGEST:  # type: ignore[operator]
        node.wrong(f"expected a number of {unit} above 0 and at most {LARGEST}")
        return None
    if whole and value != int(value):  # type: ignore[call-overload]
        node.wrong(f"expected a whole number of {unit}")
        return None
    return int(value) if whole else float(value)  # type: ignore[call-overload, arg-type]


def limits(node: Node, substitution: Substitution) -> Limits:
    found = node.fields(LIMITS, {"memory": "write `mem_mb`", "cpu": "write `cpu_sec`"}, "a mapping of limits")
    read = {}
    for key, item in found.items():
        unit, whole = LIMITS[key]
        value = number(item, substitution, unit, whole=whole)
        if value is not None:
            read[key] = value
    return Limits(**read)  # type: ignore[arg-type]


def never_redact(node: Node) -> frozenset[str]:
    never = node.fields(("never",), {}, "a mapping `never: [NAME…]`").get("never")
    return names(never) if never is not None else frozenset()


def switch(node: Node) -> bool:
    """``on`` or ``off``, which YAML 1.1 gives as true and false."""
    if isinstance(node.value, bool):
        return node.value
    if node.value not in ("on", "off"):
        node.wrong("expected on or off")
    return node.value == "on"
