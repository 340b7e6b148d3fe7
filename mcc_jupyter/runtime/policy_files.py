"""A policy file on disk → an ``Authority`` and what there is to say about the file (SPEC 9.1, 9.2).

1. It fails closed: what cannot be read, or has one mistake, gives no authority and all of its problems.
2. A file is read anew only when the system says that it changed; its text is never in an error.
3. A plugin is loaded only where the file uses its type, and what it does wrong is a problem of the file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..core.authority import Authority
from ..core.authority_reading import TYPES, Kind, read_policy
from ..core.declare import Place
from ..core.errors import DeclarationError, Problem
from ..core.tool import DEFAULT_FLOOR, WARNING, Origin
from .plain_files import Unfit, read_plain

LIMIT = 1024 * 1024
"""Bytes that a policy file may have."""
TOOL_TYPES = "mcc_jupyter.tool_types"
"""The entry points that provide types."""

Types = Callable[[set[str]], Mapping[str, Kind]]
"""Names of types → those that plugins provide."""

Stamp = tuple[int, ...]
"""Which file it was and when it changed; empty where there was none."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a file gave: an authority, or problems."""

    authority: Authority | None
    problems: tuple[Problem, ...]
    stamp: Stamp


def stamp(path: str) -> Stamp:
    """Changes whenever the file does. Cheap enough for every call."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def load(path: str, environment: Mapping[str, str], origin: Origin, types: Types | None = None) -> Loaded:
    """Reads the file at *path*. References in it are those of *environment*; *types* gives the types of plugins."""
    seen = stamp(path)
    try:
        document = _document(path)
        authority = read_policy(document, place(path, environment, origin), (types or plugin_types)(_strange(document)))
    except DeclarationError as error:
        return Loaded(None, _under(origin.label, error.problems), seen)
    if not isinstance(authority, Authority):
        return Loaded(None, _under(origin.label, authority), seen)
    return Loaded(authority, (), seen)


def place(path: str, environment: Mapping[str, str], origin: Origin) -> Place:
    """Where the file's paths begin: at its real folder, so that a link to it brings none of its own."""
    folder = os.path.dirname(os.path.realpath(path))
    return Place(environment, DEFAULT_FLOOR, folder, environment.get("HOME"), origin)


def exposure(path: str) -> tuple[str, ...]:
    """Where others than its owner may change the file, or put another one in its place: a warning each."""
    found = []
    files = (path, os.path.realpath(path))
    for at in dict.fromkeys((*files, *map(os.path.dirname, files))):
        try:
            status = os.stat(at)
        except OSError:
            continue
        is_folder = stat.S_ISDIR(status.st_mode)
        if is_folder and status.st_mode & stat.S_ISVTX:
            continue
        if status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not _is_own_group(status)):
            what = "the folder of the policy file" if is_folder else "the policy file"
            found.append(f"{WARNING}{what} may be written by others than its owner; `chmod go-w` takes that away")
    return tuple(dict.fromkeys(found))


def _is_own_group(status: os.stat_result) -> bool:
    """Whether the group is one that many systems make for each user alone."""
    import grp
    import pwd

    try:
        group, owner = grp.getgrgid(status.st_gid), pwd.getpwuid(status.st_uid).pw_name
    except KeyError:
        return False
    return group.gr_name == owner and set(group.gr_mem) <= {owner}


def plugin_types(wanted: set[str]) -> Mapping[str, Kind]:
    """The types among *wanted* that an installed plugin provides."""
    if not wanted:
        return {}
    from importlib.metadata import entry_points

    return {point.name: _guarded(point.name, point) for point in entry_points(group=TOOL_TYPES) if point.name in wanted}


def _guarded(name: str, point: Any) -> Kind:
    def kind(tool: str, keys: Mapping[str, object]) -> Mapping[str, object]:
        try:
            made: object = point.load()(tool, keys)
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything, and its text may hold anything
            raise DeclarationError(Problem(f"tools.{tool}", _failed(name, f"raised {type(error).__name__}"))) from None
        if not isinstance(made, Mapping):
            raise DeclarationError(Problem(f"tools.{tool}", _failed(name, f"gave {type(made).__name__}, no mapping")))
        return made

    return kind


def _failed(name: str, why: str) -> str:
    return f'the plugin of type "{name}" {why}; ask who maintains it'


def _strange(document: Mapping[str, object]) -> set[str]:
    tools = document.get("tools")
    tables = tools.values() if isinstance(tools, Mapping) else ()
    found = {table.get("type") for table in tables if isinstance(table, Mapping)}
    return {kind for kind in found if isinstance(kind, str)} - set(TYPES)


def _document(path: str) -> Mapping[str, object]:
    import tomllib

    try:
        data = read_plain(path, LIMIT)
    except Unfit as why:
        raise DeclarationError(Problem("", f"the policy file {why}")) from None
    try:
        return tomllib.loads(data.decode().removeprefix("\ufeff"))
    except UnicodeDecodeError:
        raise DeclarationError(Problem("", "the policy file is not UTF-8")) from None
    except tomllib.TOMLDecodeError as error:
        raise DeclarationError(Problem("", f"the policy file is no TOML{_where(str(error))}")) from None
    except RecursionError:
        raise DeclarationError(Problem("", "the policy file is nested too deeply")) from None


def _where(text: str) -> str:
    """The place that a message ends with: the rest of it may quote the file."""
    _, found, place = text.rpartition("(at ")
    return f" (at {place}" if found else ""


def _under(label: str, problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    return tuple(problem.under(label) for problem in problems)
