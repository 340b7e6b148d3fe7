"""Skills: Markdown files for whoever works in the notebook (SPEC 9.4).

1. A skill is text. It is shown, never run, and nothing in it is asked for or granted.
2. Which skills a workspace has is the policy file's to say; here they are only found and read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..core.errors import ArgumentError, DeclarationError, near
from ..core.yaml_text import parse_yaml
from .plain_files import Unfit, read_plain

LIMIT = 1024 * 1024
"""Bytes that a skill may have."""
FOLDERS = "mcc_jupyter.skills"
"""The entry points that name folders of skills: a path, a list of paths, or a function that gives one of these."""


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill as its file has it."""

    name: str
    path: str
    text: str = field(repr=False)
    description: str = ""
    title: str = ""
    """What its front matter calls it."""


class Skills:
    """The skills of folders, the first folder first. Read anew at every look: editing one needs no restart."""

    def __init__(self, folders: Iterable[str]) -> None:
        self._folders = tuple(folders)
        self._provided: tuple[str, ...] | None = None

    def find(self, name: str) -> Skill | str:
        """The skill, or why there is none."""
        for path in self._paths(name):
            if os.path.lexists(path):
                return _read(name, path)
        return f"skill {name}: there is no file skills/{name}.md"

    def _paths(self, name: str) -> Iterator[str]:
        for folder in self._folders:
            yield from _in(folder, name)
        if self._provided is None:  # only now: looking through what is installed takes long
            self._provided = tuple(provided_folders())
        for folder in self._provided:
            yield from _in(folder, name)


def pick(name: str, known: Mapping[str, object]) -> str:
    """*name*, if it is one of the *known*; raises ``ArgumentError``."""
    if name in known:
        return name
    raise ArgumentError(f"there is no skill {name!r} here{near(name, known)}; `%mcc_skills` lists them")


def provided_folders() -> Iterator[str]:
    """The folders that installed plugins name; a plugin that fails provides none."""
    from importlib.metadata import entry_points

    for point in entry_points(group=FOLDERS):
        try:
            found = point.load()
            found = found() if callable(found) else found
            listed = found if isinstance(found, Sequence) and not isinstance(found, str) else [found]
            yield from [os.path.abspath(os.fspath(folder)) for folder in listed]
        except Exception:  # noqa: BLE001, S112 - a skill is never worth a failure
            continue


def _in(folder: str, name: str) -> tuple[str, str]:
    return os.path.join(folder, f"{name}.md"), os.path.join(folder, name, "SKILL.md")


def _read(name: str, path: str) -> Skill | str:
    try:
        data = read_plain(path, LIMIT)
    except Unfit as why:
        return f"skill {name}: its file {why}"
    text = data.decode(errors="replace").removeprefix("\ufeff")
    front = _front_matter(text)
    return Skill(name, path, text, _line(front.get("description")), _line(front.get("name")))


def _front_matter(text: str) -> Mapping[str, object]:
    """What stands between two ``---`` at the beginning; nothing where that is no mapping of YAML."""
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != "---":
        return {}
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), 0)
    try:
        found = parse_yaml("\n".join(lines[1:end]))
    except DeclarationError:
        return {}
    return found if isinstance(found, Mapping) else {}


def _line(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
