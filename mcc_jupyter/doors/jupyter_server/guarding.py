"""A server and its services → its save guard (SPEC 8.4): what it knows, and how it asks the kernels of a notebook."""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from jupyter_core.utils import ensure_async

from ...core.scan import parent_secrets
from ...runtime.workspaces import HERE
from .events import Events
from .kernel_answer import AskKernels, asker
from .kernels import Kernels
from .save_guard import SaveGuard, install

if TYPE_CHECKING:
    from .save_guard import Mode


def guard_saves(
    server: Any,
    kernels: Kernels,
    events: Events,
    *,
    mode: Callable[[], str],
    log: logging.Logger | logging.LoggerAdapter[Any],
    known: Callable[[], Mapping[str, str]] = dict,
) -> SaveGuard:
    """Guards the saves through *server*, a ``ServerApp``.

    Searched for is what counts as secret in the server's environment, what the session environments of workspaces
    hold, and what *known* gives at the time of a save.
    """

    def secrets() -> Iterator[tuple[str, str]]:
        yield from known().items()
        for workspace in HERE:
            yield from parent_secrets(workspace.merged({})).items()

    return install(
        server.contents_manager,
        parent=dict(os.environ),
        log=log,
        mode=lambda: cast("Mode", mode()),
        known=secrets,
        ask_kernels=kernels_of_notebooks(server.session_manager, kernels, log),
        emit=events.save_guard,
    )


def kernels_of_notebooks(
    sessions: Any,
    kernels: Kernels,
    log: logging.Logger | logging.LoggerAdapter[Any],
    may: Callable[[str], Awaitable[bool]] | None = None,
) -> AskKernels:
    """Asks the kernels of a notebook by *sessions*, the server's; only those that *may* says, if it is given."""

    async def kernels_of(path: str) -> Sequence[str]:
        running = await ensure_async(sessions.list_sessions())
        ids = [str(session["kernel"]["id"]) for session in running if session["path"] == path and session["kernel"]]
        return [one for one in dict.fromkeys(ids) if (may is None or await may(one)) and await kernels.speaks(one)]

    async def scan(kernel: str, notebook: bytes, clean: bool) -> tuple[Mapping[str, Any], Sequence[Any]]:
        return await kernels.ask(kernel, "scan", {"clean": clean}, [notebook])

    return asker(kernels_of, scan, log)
