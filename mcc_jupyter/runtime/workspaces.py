"""Notebooks of a server and the session environment of each, in memory and nowhere else (SPEC 13.1).

1. A workspace's environment is set when it is created and stays while it lives. Another one is refused; an empty one
   changes nothing.
2. It goes into the process environment of the kernels that are started for the notebook, and no value of it is shown.
3. A workspace is its notebook's real path: two names of one file are one workspace.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from ..core.errors import ArgumentError
from ..core.names import NAME

MOST_NAMES = 256
LARGEST_VALUE = 128 * 1024
LARGEST = 256 * 1024
"""Bytes of one value, and of all names and values of a workspace."""

_OF_JUPYTER = ("JPY_", "JUPYTER_", "MCC_")
"""What names the kernel, the server, and what both may do."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """One notebook. ``path`` is its real path, ``owner`` who created it, ``names`` the variables it was given."""

    id: str
    path: str
    owner: str | None = None
    _environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._environment))

    def merged(self, environment: Mapping[str, str]) -> dict[str, str]:
        """*environment* as a kernel of this workspace gets it."""
        return {**environment, **self._environment}


class Workspaces:
    """The workspaces of one server. Safe to use from several threads."""

    def __init__(self, new_id: Callable[[], str] = lambda: secrets.token_hex(8)) -> None:
        self._new_id = new_id
        self._lock = threading.Lock()
        self._by_id: dict[str, Workspace] = {}

    def __iter__(self) -> Iterator[Workspace]:
        with self._lock:
            return iter(list(self._by_id.values()))

    def create(self, path: str, environment: object = None, *, owner: str | None = None) -> tuple[Workspace, bool]:
        """The workspace of *path*, and whether it is a new one; raises ``ArgumentError``.

        One that exists is given as it is: its environment was set when it was created.
        """
        given = checked(environment)
        real = os.path.realpath(path)
        with self._lock:
            known = self._of(real)
            if known is not None:
                _refuse(given)
                return known, False
            made = Workspace(self._new_id(), real, owner, given)
            self._by_id[made.id] = made
            return made, True

    def update(self, id: str, environment: object = None) -> Workspace | None:
        """The workspace, unchanged: raises ``ArgumentError`` for an environment that is not empty. None: no such."""
        with self._lock:
            known = self._by_id.get(id)
        if known is not None:
            _refuse(checked(environment))
        return known

    def get(self, id: str) -> Workspace | None:
        with self._lock:
            return self._by_id.get(id)

    def for_path(self, path: str, *, real: bool = False) -> Workspace | None:
        """The workspace of the notebook at *path*, by whatever name of the file.

        *real*: it is the real path already, as it was when that was looked up.
        """
        found = path if real else os.path.realpath(path)
        with self._lock:
            return self._of(found)

    def delete(self, id: str) -> bool:
        """Whether there was one. Its environment is forgotten; kernels that have it keep it to their end."""
        with self._lock:
            return self._by_id.pop(id, None) is not None

    def _of(self, real: str) -> Workspace | None:
        return next((one for one in self._by_id.values() if one.path == real), None)


def checked(environment: object) -> Mapping[str, str]:
    """A session environment as it was sent, copied; raises ``ArgumentError``, which names a place and a type only."""
    if environment is None:
        return {}
    if not isinstance(environment, Mapping):
        raise ArgumentError(f"environment: must be an object of names and texts, not {_type(environment)}")
    if len(environment) > MOST_NAMES:
        raise ArgumentError(f"environment: at most {MOST_NAMES} names; give the workspace fewer")
    total = 0
    for name, value in environment.items():
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ArgumentError("environment: a name must be letters, digits and `_`, and not begin with a digit")
        if name.startswith(_OF_JUPYTER):
            raise ArgumentError(f"environment.{name}: this name is reserved; use another")
        if not isinstance(value, str):
            raise ArgumentError(f"environment.{name}: must be text, not {_type(value)}")
        size = _size(name, value)
        total += len(name) + size
        if size > LARGEST_VALUE or total > LARGEST:
            raise ArgumentError(f"environment.{name}: is too large; use a file and name its path")
    return dict(environment)


def _size(name: str, value: str) -> int:
    try:
        data = value.encode()
    except UnicodeEncodeError:
        data = b"\0"
    if b"\0" in data:
        raise ArgumentError(f"environment.{name}: holds a character that no variable can hold")
    return len(data)


def _refuse(given: Mapping[str, str]) -> None:
    if given:
        listed = ", ".join(sorted(given))
        raise ArgumentError(
            f"environment: {listed}: is set when a workspace is created and not again; delete the workspace first"
        )


def _type(value: object) -> str:
    kinds = {bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "an object", str: "a text"}
    return kinds.get(type(value), "null" if value is None else "something else")


HERE = Workspaces()
"""Those of this process: the server's extension fills them, and its kernels are started with them."""
