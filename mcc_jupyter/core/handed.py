"""What a Jupyter server tells a kernel that it starts → one variable of the kernel's first environment, and back.

1. It holds names and paths, and no value: whoever reads the environment may read it.
2. What is not said, or not understood, grants nothing: groups that are no list of names are no groups.
3. Read whenever the extension is loaded in a server's kernel: a plain class, and nothing is imported but ``json``.
"""

from __future__ import annotations

import json
from typing import Final

VARIABLE: Final = "MCC_SERVER"
"""Reserved: no tool gets it (SPEC 4.8)."""


class Handed:
    """What a server says of a kernel. It never changes."""

    __slots__ = ("groups", "kernel", "policy", "root", "user", "workspace")

    def __init__(
        self,
        *,
        policy: str | None = None,
        root: str | None = None,
        user: str | None = None,
        groups: tuple[str, ...] | None = (),
        workspace: str | None = None,
        kernel: str | None = None,
    ) -> None:
        self.policy = policy
        """The policy file that the server found; None: none (SPEC 9.1)."""
        self.root = root
        """The folder that the server serves."""
        self.user = user
        """Who had the kernel started; None: the server does not say (SPEC 6.6)."""
        self.groups = groups
        """The user's; None: all. They mean something only where there is a user."""
        self.workspace = workspace
        """The notebook's real path (SPEC 9.2); empty: the kernel is no notebook's; None: the server does not say."""
        self.kernel = kernel
        """The kernel's id."""

    @property
    def notebook(self) -> tuple[str, str] | None:
        """The notebook and its kernel, where both are known (SPEC 6.1)."""
        return (self.workspace, self.kernel) if self.workspace and self.kernel else None

    def text(self) -> str:
        """As the variable has it."""
        return json.dumps({name: getattr(self, name) for name in self.__slots__})

    def under(self, policy: str | None) -> Handed:
        """The same with another policy file."""
        said = {name: getattr(self, name) for name in self.__slots__}
        return Handed(**{**said, "policy": policy})


def read(text: str) -> Handed | None:
    """What the variable says; None where it is none that a server wrote."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    texts = {name: _text(found.get(name)) for name in ("policy", "root", "user", "workspace", "kernel")}
    return Handed(**texts, groups=None if found.get("groups", ()) is None else _names(found.get("groups")))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and "\0" not in value else None


def _names(value: object) -> tuple[str, ...]:
    return tuple(name for name in value if isinstance(name, str)) if isinstance(value, list) else ()
