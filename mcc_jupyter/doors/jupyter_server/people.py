"""The server's user → a person with groups, for whom tools are listed and called (SPEC 6.6).

1. Groups come from the configured mapping, else from the user model of JupyterHub.
2. With neither, and if the server lets every user do everything (Jupyter's default), a user has all groups: whoever may
   run any code in a kernel is not held back by a group. Otherwise the user has none.
3. A shared token or password names nobody: Jupyter's random "anonymous" names count as the user who runs the server.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jupyter_server.auth.authorizer import AllowAllAuthorizer, Authorizer
from jupyter_server.auth.identity import IdentityProvider, LegacyIdentityProvider, PasswordIdentityProvider, User

from ...core.availability import may_call
from ...runtime.identity import local_user

EVERYBODY = "*"
"""Stands for every user in the configured mapping."""

_SHARED = (IdentityProvider, PasswordIdentityProvider, LegacyIdentityProvider)


@dataclass(frozen=True, slots=True)
class Person:
    """``groups`` None: all. ``source``: ``configuration``, ``hub``, ``unrestricted`` or ``none``."""

    name: str
    groups: tuple[str, ...] | None
    source: str

    def may_use(self, tool: Mapping[str, object]) -> bool:
        """Whether a tool of a manifest is for this person."""
        groups = tool.get("groups")
        named = tuple(map(str, groups)) if isinstance(groups, list) else ("admin",)
        return may_call(named, None if self.groups is None else frozenset(self.groups))

    @property
    def sees_all(self) -> bool:
        """Whether other users' calls and workspaces are shown: an operator."""
        return self.groups is not None and "admin" in self.groups

    @property
    def pair(self) -> tuple[str, tuple[str, ...] | None]:
        """Name and groups."""
        return self.name, self.groups

    def caller(self) -> dict[str, object]:
        """As a kernel gets it with a call."""
        return {"user": self.name, "email": None, "groups": None if self.groups is None else list(self.groups)}

    def json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "groups": None if self.groups is None else list(self.groups),
            "groups_from": self.source,
        }


class People:
    """Who the users of this server are. *configured*: user name to groups; None: nothing is configured."""

    def __init__(
        self, configured: Mapping[str, Iterable[str]] | None, provider: IdentityProvider, authorizer: Authorizer
    ) -> None:
        self._configured = configured
        self._shared = type(provider) in _SHARED
        self._unrestricted = type(authorizer) is AllowAllAuthorizer

    def person(self, user: User) -> Person:
        return self._of(local_user() if self._shared else _printable(user.username), user)

    def own(self) -> Person:
        """Who runs the server: for what no request asks for."""
        return self._of(local_user())

    def _of(self, name: str, user: User | None = None) -> Person:
        if self._configured is not None:
            named = (*self._configured.get(name, ()), *self._configured.get(EVERYBODY, ()))
            return Person(name, tuple(dict.fromkeys(named)), "configuration")
        model = getattr(user, "hub_user", None)
        if isinstance(model, Mapping) and isinstance(model.get("groups"), list):
            return Person(name, tuple(str(group) for group in model["groups"]), "hub")
        if self._unrestricted:
            return Person(name, None, "unrestricted")
        return Person(name, (), "none")


def _printable(name: str) -> str:
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in name)[:1024] or "unnamed"
