"""Which toolbox is the current one: one a shell, and one a process where there is no shell (SPEC 7.12).

A shell is only looked at here, never imported: any object with a ``config`` and, in a notebook, ``get_parent``.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from weakref import WeakKeyDictionary

from ..core.errors import PolicyError
from ..core.floor import read_floor
from ..core.tool import DEFAULT_FLOOR, Origin
from .identity import Identity, local_user
from .parent import initial_environment
from .policy_search import Start, find, start_of
from .toolbox import Toolbox

_lock = threading.Lock()
_of_shells: WeakKeyDictionary[object, Toolbox] = WeakKeyDictionary()
_of_process: list[tuple[int, Toolbox]] = []


def toolbox_for(shell: object | None, parent: Callable[[], Mapping[str, str]]) -> Toolbox:
    """The toolbox of *shell*, or of the process; made at the first use with *parent* (SPEC 4.2 decides its floor).

    Tools and session outlive ``%reload_ext``, because they are kept here and not by the extension.
    """
    with _lock:
        if shell is None:
            # A forked process has its own: the launcher and its calls belong to the process that started them.
            if not _of_process or _of_process[0][0] != os.getpid():
                _of_process[:] = [(os.getpid(), _make(None, parent))]
            return _of_process[0][1]
        if shell not in _of_shells:
            _of_shells[shell] = _make(shell, parent)
        return _of_shells[shell]


def new_toolbox(parent: Callable[[], Mapping[str, str]], start: Start) -> Toolbox:
    """A toolbox for one command, whose door says how it was started."""
    return _make(None, parent, start)


def _make(shell: object | None, parent: Callable[[], Mapping[str, str]], start: Start | None = None) -> Toolbox:
    configured = _configured(shell)
    place = "this process" if shell is None else "this kernel" if hasattr(shell, "kernel") else "this shell"
    start = start or start_of(shell, parent)
    identity = _identity(start, configured.get("groups"))
    policy = find(start)
    if policy is None:
        return Toolbox(parent, place=place, floor=_floor(configured, parent), identity=identity)
    from .governed import Governed

    return Toolbox(parent, place=place, identity=identity, governed=Governed(policy, start, identity))


def _identity(start: Start, groups: object) -> Identity:
    """Who this process works for: as the server says, which goes before what is configured in the kernel (SPEC 6.6)."""
    own = None if groups is None else _names(groups, "groups")
    handed = start.handed
    if handed is None or handed.user is None:
        return Identity(local_user(), groups=own, notebook=None if handed is None else handed.notebook)
    given = own if handed.groups is None else handed.groups
    return Identity(handed.user, groups=given, by_server=True, notebook=handed.notebook)


def _configured(shell: object | None) -> Mapping[str, object]:
    config = getattr(shell, "config", None)
    found = config.get("MccMagics", {}) if config is not None else {}
    unknown = sorted(set(found) - {"env_floor", "groups", "guard"})
    if unknown:
        raise PolicyError(f"c.MccMagics.{unknown[0]} is no setting; there are env_floor, groups and guard")
    return dict(found)


def _floor(configured: Mapping[str, object], parent: Callable[[], Mapping[str, str]]) -> tuple[str, ...]:
    if "env_floor" in configured:
        return read_floor(json.dumps(_names(configured["env_floor"], "env_floor")), origin="c.MccMagics.env_floor")
    text = initial_environment(parent()).get("MCC_ENV_FLOOR")
    return DEFAULT_FLOOR if text is None else read_floor(text)


def _names(value: object, setting: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple | set) or not all(isinstance(name, str) for name in value):
        raise PolicyError(f"c.MccMagics.{setting} must be a list of names, for example ['PATH', 'HOME']")
    return tuple(value)


def toolbox_known(shell: object) -> Toolbox | None:
    """The toolbox of *shell* if it has one already; asking makes none."""
    return _of_shells.get(shell)


def cell_origin(shell: object | None, label: str) -> Origin:
    """Where a declaration made now stands: a cell, with its id where the host tells one (SPEC 2.5)."""
    if shell is None:
        return Origin("python", label)
    return Origin("cell", label, *running_cell(shell))


def running_cell(shell: object) -> tuple[str | None, str | None]:
    """The id of the cell that is running and of this run of it, from the message that asked for it."""
    get_parent = getattr(shell, "get_parent", None)
    message = get_parent() if get_parent is not None else None
    if not isinstance(message, dict):
        return None, None
    cell = (message.get("metadata") or {}).get("cellId")
    run = (message.get("header") or {}).get("msg_id")
    return (cell, run) if isinstance(cell, str) else (None, None)
