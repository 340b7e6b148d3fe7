"""A kernel's control channel → its toolbox: ``mcc_request`` and ``mcc_reply`` (SPEC 13).

The channel has a thread of its own, so requests are answered while a cell runs. A shell that is no kernel has none.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from ...runtime.desk import Desk

CREDENTIAL = "_mcc_credential"
"""The shell's attribute with what its server's provisioner gave it to prove which kernel it is."""

_DESCRIPTOR = "MCC_KERNEL_FD"
_REQUEST, _REPLY = "mcc_request", "mcc_reply"


def add(shell: InteractiveShell) -> None:
    """Answers requests from now on. Nothing else is imported before the first of them."""
    if (number := os.environ.pop(_DESCRIPTOR, None)) is not None:
        from ...runtime.credentials import taken

        vars(shell)[CREDENTIAL] = taken(number)
    handlers = _handlers(shell)
    if handlers is not None:
        handlers[_REQUEST] = Control(shell)


def remove(shell: InteractiveShell) -> None:
    """Answers no more, and ends the calls that came this way."""
    control = (_handlers(shell) or {}).pop(_REQUEST, None)
    if control is not None:
        control.close()


def _handlers(shell: InteractiveShell) -> dict[str, Any] | None:
    found = getattr(getattr(shell, "kernel", None), "control_handlers", None)
    return found if isinstance(found, dict) else None


class Control:
    """The handler of one shell's requests, called in the thread of the control channel."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._desk: Desk | None = None

    async def __call__(self, stream: Any, ident: Sequence[bytes], parent: Mapping[str, Any]) -> None:
        self.desk.handle(
            parent.get("content"),
            tuple(ident),
            partial(self._reply, stream, list(ident), parent["header"]),
            [bytes(buffer) for buffer in parent.get("buffers") or ()],
        )

    @property
    def desk(self) -> Desk:
        if self._desk is None:
            from ...runtime.desk import Desk
            from . import publish
            from .magics import toolbox_of

            shell = self._shell
            self._desk = Desk(
                partial(toolbox_of, shell), manifest=partial(publish.manifest, shell), secrets=self._secrets
            )
        return self._desk

    def close(self) -> None:
        if self._desk is not None:
            self._desk.close()

    def _reply(self, stream: Any, ident: list[bytes], header: Any, content: Any, buffers: Sequence[bytes]) -> None:
        """A socket belongs to its thread: there the message is sent."""
        send = self._shell.kernel.session.send  # type: ignore[attr-defined]
        stream.io_loop.add_callback(send, stream, _REPLY, content, header, ident, buffers=list(buffers) or None)

    def _secrets(self) -> Iterable[tuple[str, str]]:
        from .guard import known_values
        from .magics import toolbox_of

        return known_values(self._shell, toolbox_of(self._shell))
