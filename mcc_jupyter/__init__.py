"""Tools declared in notebook cells, each run as its own process with exactly the environment it declared.

``%load_ext mcc_jupyter`` brings the magics; ``import mcc_jupyter as mcc`` the same verbs for Python:
``mcc.tools.NAME(...)``, ``mcc.call``, ``mcc.acall``, ``mcc.map``, ``mcc.diff``, ``mcc.session`` and the decorator
``mcc.tool``; ``mcc.policy()``, ``mcc.use()`` and ``mcc.skills()`` where an operator's policy file holds.

Every name is loaded when it is first used: importing this package loads no third-party module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from .core.errors import (
        ArgumentError,
        DeclarationError,
        MccError,
        PolicyError,
        SecretError,
        ToolFailed,
        ToolUnavailable,
        UnknownTool,
    )
    from .core.outcome import Outcome
    from .doors.python import acall, call, diff, load, map, policy, report, session, skills, tool, tools, use

__version__ = "0.1.0"

_ERRORS = (
    "ArgumentError",
    "DeclarationError",
    "MccError",
    "PolicyError",
    "SecretError",
    "ToolFailed",
    "ToolUnavailable",
    "UnknownTool",
)
_VERBS = ("acall", "call", "diff", "load", "map", "policy", "report", "session", "skills", "tool", "tools", "use")

__all__ = [
    "ArgumentError",
    "DeclarationError",
    "MccError",
    "Outcome",
    "PolicyError",
    "SecretError",
    "ToolFailed",
    "ToolUnavailable",
    "UnknownTool",
    "__version__",
    "acall",
    "call",
    "diff",
    "load",
    "map",
    "policy",
    "report",
    "session",
    "skills",
    "tool",
    "tools",
    "use",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _VERBS:
        # Not kept: ``session`` and ``tools`` follow the shell that is running.
        return getattr(import_module(".doors.python", __name__), name)
    if name in _ERRORS:
        return getattr(import_module(".core.errors", __name__), name)
    if name == "Outcome":
        return import_module(".core.outcome", __name__).Outcome
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """``%load_ext mcc_jupyter``."""
    from .doors import ipython

    ipython.load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """``%unload_ext mcc_jupyter``. Declared tools and the session stay for a later ``%load_ext``."""
    from .doors import ipython

    ipython.unload(shell)


def _jupyter_server_extension_points() -> list[dict[str, object]]:
    """For the Jupyter server, which asks every enabled extension what it consists of."""
    from .doors.jupyter_server.app import MccServer

    return [{"module": "mcc_jupyter", "app": MccServer}]


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Where the built front end lies, for those who develop it."""
    return [{"src": "labextension", "dest": "mcc-jupyter"}]
