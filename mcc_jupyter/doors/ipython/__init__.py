"""The door for IPython: a notebook's kernel or a terminal (SPEC 2, 7.12, 11, 14)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from . import completion, control, publish
from .magics import MccMagics

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


_GUARD_LEFT = "_mcc_guard_left"
"""The shell's attribute that tells in which cell the guard was on when the extension was unloaded: a reload is both."""


def load(shell: InteractiveShell) -> None:
    """Adds the magics, the completer, the control channel's door and what follows each cell.

    Nothing else is imported yet.
    """
    if sys.platform == "win32":
        raise ImportError("mcc_jupyter runs on Linux and macOS; on Windows use it inside WSL")
    unload(shell)
    magics = MccMagics(shell)
    shell.register_magics(magics)
    shell.events.register("post_run_cell", magics.forget_left)
    completion.add(shell)
    control.add(shell)
    publish.add(shell)
    magics.start_guard(again=vars(shell).pop(_GUARD_LEFT, None) == shell.execution_count)


def unload(shell: InteractiveShell) -> None:
    """Takes back everything ``load`` added, and the guard. Tools, session and the cells' calls stay."""
    guard = sys.modules.get(f"{__name__}.guard")  # a guard that was never on costs no import
    if guard is not None and guard.switch_off(shell):
        vars(shell)[_GUARD_LEFT] = shell.execution_count
        print("The guard is off: what cells display is not searched for secrets.")
    manager = shell.magics_manager
    for kind in ("line", "cell"):
        for name in [name for name in manager.magics[kind] if name.startswith("mcc_")]:
            del manager.magics[kind][name]
    manager.registry.pop(MccMagics.__name__, None)
    # By name and by object: a developer's reload may have made another class of what was loaded before.
    for item in list(shell.configurables):
        if type(item).__name__ == MccMagics.__name__:
            shell.configurables.remove(item)
            for hook in list(shell.events.callbacks["post_run_cell"]):
                if getattr(hook, "__self__", None) is item:
                    shell.events.unregister("post_run_cell", hook)
    completion.remove(shell)
    control.remove(shell)
    publish.remove(shell)
