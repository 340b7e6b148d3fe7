"""A server and its settings → a watch over its policy file that tells of it in the log and by events (SPEC 9.1, 13.3).

1. Each file and each change of it is told once. An event has the file's label, and no value.
2. Events are sent on the event loop, whichever thread looked.
"""

from __future__ import annotations

import logging
import os
from typing import Any, Literal

from ...runtime.policy_search import Start
from ...runtime.policy_watch import PolicyWatch, Seen
from .events import Events


def watch_policy(
    server: Any, named: str, root: str, events: Events, log: logging.Logger | logging.LoggerAdapter[Any]
) -> PolicyWatch:
    """The policy file of *server*, a ``ServerApp``, that serves *root*. *named*: the file that its configuration names.

    Looks once, to begin with.
    """

    def emit(seen: Seen) -> None:
        state: Literal["loaded", "failed"] = "failed" if seen.problems else "loaded"
        events.policy(state, seen.label, (*seen.problems, *seen.warnings, *seen.notes))

    def changed(seen: Seen) -> None:
        for problem in seen.problems:
            log.error("mcc_jupyter: the policy file cannot be used: %s", problem)
        for warning in seen.warnings:
            log.warning("mcc_jupyter: %s: %s", seen.label, warning)
        server.io_loop.add_callback(emit, seen)

    watch = PolicyWatch(_start(named, root), changed)
    watch.look()
    return watch


def _start(named: str, root: str) -> Start:
    """As the kernels see it that are started now: they get the server's environment."""
    environment = dict(os.environ)
    pwd = environment.get("PWD", "")
    began = pwd if os.path.isabs(pwd) else os.getcwd()
    file = os.path.join(os.getcwd(), os.path.expanduser(named)) if named else None
    return Start(environment, root, began=began, policy=file)
