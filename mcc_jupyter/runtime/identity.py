"""Who calls: the reserved keys of the session store (SPEC 6.1, 6.6)."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Identity:
    """``groups`` None: no server and no configuration, so the local user has all groups."""

    user: str
    email: str | None = None
    groups: tuple[str, ...] | None = None
    tools: tuple[str, ...] = ()

    @property
    def caller(self) -> frozenset[str] | None:
        """The groups as ``policy.resolve`` takes them."""
        return None if self.groups is None else frozenset(self.groups)

    @property
    def statement(self) -> str:
        """What a footer says of it (SPEC 6.6)."""
        groups = "all groups" if self.groups is None else f"groups {', '.join(self.groups) or 'none'}"
        return f"Identity: the local user, {groups}, by its own statement."

    def entries(self) -> dict[str, object]:
        """The reserved keys and their values, as a tool sees them."""
        groups = ["admin"] if self.groups is None else list(self.groups)
        known = {"user": self.user, "email": self.email, "groups": groups, "tools": list(self.tools)}
        return {key: value for key, value in known.items() if value is not None}


def local_user() -> str:
    """The OS user's name, from the uid and never from a variable."""
    import pwd

    uid = os.getuid()
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid-{uid}"
