"""What tools may get, by file and name → the text of a lock file and back, and what changed between two (SPEC 9.8).

1. The text is sorted, has an item a line where a kind has several, and holds no value, time or place of a machine.
2. ``compare`` says nothing of two equal locks, and what it calls wider one way round, it calls narrower the other.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from .access import KINDS, Access, made, printable
from .errors import DeclarationError, Problem
from .tool import Tool

VERSION: Final = 1
"""Raised when a text of one version means something else in the next."""

_HEAD = """\
# What the tools of these files may get, by name. `mcc-jupyter check` compares it with the files and fails
# when they ask for more; `mcc-jupyter check --update` writes it. Review a change of it like one of the code.
version = {version}
"""

Tools = Mapping[str, Access]
"""The tools of one file by name, or by key where several have the name."""

Lock = Mapping[str, Tools]
"""Tools by the path of their file, relative to the lock's folder, with ``/``."""

_NOTHING = Access()


@dataclass(frozen=True, slots=True)
class Change:
    """One item that a tool has in one lock and not in the other. ``str``: ``pg_query +GITHUB_TOKEN passthrough``."""

    file: str
    tool: str
    wider: bool
    item: str
    word: str
    """What the item is: the word of its kind."""

    def __str__(self) -> str:
        return f"{self.tool} {'+' if self.wider else '-'}{self.item} {self.word}"

    def json(self) -> dict[str, object]:
        return {"file": self.file, "tool": self.tool, "wider": self.wider, "item": self.item, "kind": self.word}


def named(tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """Tools by key → the same by name, but by key where several have the name."""
    names = Counter(tool.name for tool in tools.values())
    return {tool.name if names[tool.name] == 1 else key: tool for key, tool in tools.items()}


def compare(old: Lock, new: Lock) -> list[Change]:
    """What *new* has more than *old*, and less, by file, tool and kind."""
    return [
        change
        for file in sorted({*old, *new})
        for tool in sorted({*old.get(file, {}), *new.get(file, {})})
        for change in changes(file, tool, old.get(file, {}).get(tool), new.get(file, {}).get(tool))
    ]


def changes(file: str, tool: str, old: Access | None, new: Access | None) -> Iterator[Change]:
    """The same for one tool; None where it is not there."""
    before, after = old or _NOTHING, new or _NOTHING
    for key, kind in KINDS.items():
        if not kind.of_new and (old is None or new is None):
            continue
        told = [(item, True) for item in after.of(key) if not kind.has(before, item)]
        told += [(item, False) for item in before.of(key) if not kind.has(after, item)]
        yield from (Change(file, tool, wider, item, kind.word) for item, wider in sorted(told))


def text_of(lock: Lock) -> str:
    """The lock as TOML."""
    parts = [_HEAD.format(version=VERSION)]
    for file in sorted(lock):
        for tool, access in sorted(lock[file].items()):
            lines = [f"[files.{_quoted(file)}.{_quoted(tool)}]"]
            lines += [f"{kind} = {_list(sorted(access.of(kind)))}" for kind in KINDS if access.of(kind)]
            parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _quoted(text: str) -> str:
    """A string that JSON and TOML read alike: what they differ in, ``printable`` has replaced."""
    return json.dumps(text, ensure_ascii=False)


def _list(items: list[str]) -> str:
    if len(items) == 1:
        return f"[{_quoted(items[0])}]"
    return "[\n" + "".join(f"  {_quoted(item)},\n" for item in items) + "]"


def lock_of(document: object) -> dict[str, dict[str, Access]]:
    """The lock that plain data (TOML, read) holds; raises ``DeclarationError`` for anything else."""
    version = document.get("version") if isinstance(document, Mapping) else None
    if not isinstance(document, Mapping) or version != VERSION or isinstance(version, bool):
        shown = f"version {version}" if isinstance(version, int) and not isinstance(version, bool) else "no version"
        raise DeclarationError(Problem("", f"has {shown}, and this program reads version {VERSION} alone"))
    _only(document, ("version", "files"), "")
    return {
        file: {tool: _access(items, f"{file}: {tool}") for tool, items in _mapping(tools, file)}
        for file, tools in _mapping(document.get("files", {}), "files")
    }


def _access(items: object, place: str) -> Access:
    found = dict(_mapping(items, place))
    _only(found, KINDS, place)
    for kind, listed in found.items():
        if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
            raise DeclarationError(Problem(f"{place}: {kind}", "expected a list of texts"))
    return made({kind: list(listed) for kind, listed in found.items() if isinstance(listed, list)})


def _mapping(value: object, place: str) -> Iterator[tuple[str, object]]:
    """The keys of a table, safe to show, with what they hold."""
    if not isinstance(value, Mapping):
        raise DeclarationError(Problem(place, "expected a table"))
    yield from ((printable(key), item) for key, item in value.items())


def _only(found: Mapping[str, object], known: Mapping[str, object] | tuple[str, ...], place: str) -> None:
    for key in found:
        if key not in known:
            message = f"unknown key `{printable(key)}`; another version of this program wrote it"
            raise DeclarationError(Problem(place, message))


def conflict(text: str) -> int | None:
    """The line on which *text* has the mark of a merge conflict."""
    marks = ("<<<<<<< ", "=======", ">>>>>>> ", "||||||| ")
    return next((at for at, line in enumerate(text.splitlines(), 1) if line.startswith(marks)), None)
