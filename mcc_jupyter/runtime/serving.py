"""A Jupyter server and who asks it → what it tells the kernels that it starts (SPEC 6.6, 9.1).

1. The server's extension says what there is to tell; without it kernels are told only what their provisioner knows.
2. It is asked while a kernel is started, in the context of the request for it: that is how the user is known.
"""

from __future__ import annotations

from collections.abc import Callable

from ..core.handed import Handed

Who = Callable[[], tuple[str, tuple[str, ...] | None]]
"""Name and groups of who asks now."""


class Serving:
    """What one server tells; nothing while there is none."""

    def __init__(self) -> None:
        self._says: tuple[str, Callable[[], str | None], Who] | None = None

    def start(self, root: str, policy: Callable[[], str | None], who: Who) -> None:
        """*root*: the folder that is served; *policy*: the policy file that holds now."""
        self._says = root, policy, who

    def stop(self) -> None:
        """Nothing is told any more."""
        self._says = None

    @property
    def policy(self) -> str | None:
        return None if self._says is None else self._says[1]()

    def handed(self, *, root: str | None = None, workspace: str | None = None, kernel: str | None = None) -> Handed:
        """What to tell *kernel*, which belongs to *workspace*; *root* counts where there is no server's."""
        if self._says is None:
            return Handed(root=root, workspace=workspace, kernel=kernel)
        own, policy, who = self._says
        user, groups = who()
        return Handed(policy=policy(), root=own, user=user, groups=groups, workspace=workspace, kernel=kernel)


HERE = Serving()
"""That of this process."""
