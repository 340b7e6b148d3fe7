"""Who calls: the reserved keys of the session store (SPEC 6.1, 6.6)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Identity:
    """``groups`` None: no server and no configuration, so the local user has all groups."""

    user: str
    email: str | None = None
    groups: tuple[str, ...] | None = None
    tools: tuple[str, ...] = ()
    by_server: bool = False
    """Whether a server says so, and not this process itself."""
    notebook: tuple[str, str] | None = None
    """The notebook's real path and the id of its kernel, where a server told both."""

    @property
    def caller(self) -> frozenset[str] | None:
        """The groups as ``policy.resolve`` takes them."""
        return None if self.groups is None else frozenset(self.groups)

    def entries(self) -> dict[str, object]:
        """The reserved keys and their values, as a tool sees them."""
        groups = ["admin"] if self.groups is None else list(self.groups)
        known = {"user": self.user, "email": self.email, "groups": groups, "tools": list(self.tools)}
        return {key: value for key, value in known.items() if value is not None}

    def of_kernel(self) -> dict[str, object]:
        """The reserved keys that are this process's, whoever acts in it."""
        return {} if self.notebook is None else {"notebook": dict(zip(("path", "kernel"), self.notebook, strict=True))}

    def line(self) -> str:
        """What a report's footer says of it (SPEC 11.5)."""
        groups = "all groups" if self.groups is None else f"groups {', '.join(self.groups) or 'none'}"
        if self.by_server:
            return f"Identity: the server's user, {groups}."
        return f"Identity: the local user, {groups}, by its own statement."


def local_user() -> str:
    """The OS user's name, from the uid and never from a variable."""
    import pwd

    uid = os.getuid()
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid-{uid}"


_acting: ContextVar[Identity | None] = ContextVar("mcc_acting", default=None)


@contextmanager
def acting_as(identity: Identity | None) -> Iterator[None]:
    """What this thread, or this task, does meanwhile is done by *identity*; None: by whom it would be otherwise."""
    token = _acting.set(identity)
    try:
        yield
    finally:
        _acting.reset(token)


def acting(own: Identity) -> Identity:
    """Who acts here: *own*, the user of this process, unless something is done for somebody else."""
    return _acting.get() or own
