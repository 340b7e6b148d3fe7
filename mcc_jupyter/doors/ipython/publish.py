"""A shell's tools, session and guard → its manifest in Jupyter's runtime folder, and a word on iopub (SPEC 13.2).

1. Changes of tools and session are told by the toolbox; after each cell only the environment and the guard are looked
   at, and that by identity.
2. All else is done in a thread. Nothing of it is imported before the first cell has ended.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from ...core.manifest import Contents
    from ...runtime.manifest import Publisher
    from ...runtime.told import Told
    from ...runtime.toolbox import Toolbox

GUARD = "_mcc_guard"
"""The shell's attribute that holds its guard while that is on."""

_KEPT_AS = "_mcc_publishing"
_REVISION = "_mcc_revision"
"""The shell's attribute with the last revision: a reload goes on from it."""
_EVENT = "mcc_event"


def add(shell: InteractiveShell) -> None:
    """Publishes the manifest from the end of this cell on."""
    vars(shell)[_KEPT_AS] = publishing = Publishing(shell)
    shell.events.register("post_run_cell", publishing.after_cell)


def remove(shell: InteractiveShell) -> None:
    """Takes the manifest away."""
    publishing = vars(shell).pop(_KEPT_AS, None)
    if publishing is not None:
        for hook in list(shell.events.callbacks["post_run_cell"]):
            if getattr(hook, "__self__", None) is publishing:  # by its object: a reload may have made another method
                shell.events.unregister("post_run_cell", hook)
        publishing.close()


def manifest(shell: InteractiveShell) -> Mapping[str, object]:
    """The manifest of *shell* as it is now."""
    publishing: Publishing | None = vars(shell).get(_KEPT_AS)
    if publishing is None:  # the extension was unloaded while somebody asked
        return {}
    return {**publishing.publisher.manifest(), "revision": publishing.publisher.revision}


class Publishing:
    """The manifest of one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._lock = threading.RLock()
        self._closed = False
        self._began: dict[str, str | None] | None = None
        """What this process was started for, as it stood then."""
        self._told: Told | None = None
        self._asking = threading.Lock()
        self._publisher: Publisher | None = None
        self._seen: tuple[object, object, bool] | None = None
        self._file: str | None = None

    def after_cell(self, _: object) -> None:
        """Looks for what may have changed and nobody tells."""
        current = sys.modules.get("mcc_jupyter.runtime.current")  # a toolbox that was never made costs no import
        toolbox = None if current is None else current.toolbox_known(self._shell)
        if toolbox is not None:
            toolbox.governed.refresh()
        parent = None if toolbox is None else toolbox.parent()
        guarded = GUARD in vars(self._shell)
        seen = self._seen
        if seen is not None and seen[0] is toolbox and seen[1] is parent and seen[2] is guarded:
            return
        self._seen = toolbox, parent, guarded
        if self._publisher is not None:
            self._follow(toolbox)
            return
        with contextlib.suppress(RuntimeError):  # where no thread can be had there is no manifest
            threading.Thread(target=self._follow, args=(toolbox,), name="mcc-publish", daemon=True).start()

    def _follow(self, toolbox: Toolbox | None) -> None:
        """Publishes now, and whenever *toolbox* tells of a change. The first time it imports what that takes."""
        with self._lock:
            if self._closed:
                return
            publisher = self.publisher
        if toolbox is not None:
            toolbox.registry.on_change = toolbox.session.on_change = toolbox.governed.on_change = publisher.poke
        publisher.poke()

    @property
    def publisher(self) -> Publisher:
        with self._lock:
            if self._publisher is None:
                from ...runtime.manifest import Publisher

                last = vars(self._shell).get(_REVISION, 0)
                self._publisher = Publisher(self._path, self._contents, self._announce, revision=last)
                atexit.register(self._publisher.close)
            return self._publisher

    def close(self) -> None:
        with self._lock:
            self._closed = True
        if self._publisher is not None:
            atexit.unregister(self._publisher.close)
            self._publisher.close()
            self._announce(self._publisher.revision + 1)

    def _path(self) -> str:
        """Named as the connection file: ``kernel-<id>.json`` of a server's kernel. A terminal has only a number."""
        if self._file is None:
            from jupyter_core.paths import jupyter_runtime_dir

            app = getattr(getattr(self._shell, "kernel", None), "parent", None)
            name = os.path.basename(getattr(app, "connection_file", "") or f"ipython-{os.getpid()}.json")
            self._file = os.path.join(jupyter_runtime_dir(), "mcc", name)
        return self._file

    def _contents(self) -> Contents:
        from ...core.manifest import Contents
        from ...runtime.current import toolbox_known
        from ...runtime.parent import initial_environment
        from ...runtime.told import Told

        if self._began is None:
            began = initial_environment(os.environ)
            self._began = {"workspace": began.get("MCC_WORKSPACE"), "notebook": began.get("JPY_SESSION_NAME")}
        facts: dict[str, Any] = {"guard": GUARD in vars(self._shell), **self._began}
        toolbox = toolbox_known(self._shell)
        if toolbox is None:
            return Contents(**facts)
        with self._asking:  # the publisher's thread, and who asks on the control channel
            self._told = self._told or Told()
            tools = toolbox.entries(self._told)
            policy = toolbox.governed.summary()
        return Contents(
            tools=tools,
            session=tuple(toolbox.session.rows()),
            isolation=toolbox.launcher.isolation if tools else None,
            policy=policy,
            **facts,
        )

    def _announce(self, revision: int) -> None:
        vars(self._shell)[_REVISION] = revision
        kernel: Any = getattr(self._shell, "kernel", None)
        if getattr(kernel, "iopub_socket", None) is not None:
            content = {"v": 1, "event": "changed", "revision": revision}
            kernel.session.send(kernel.iopub_socket, _EVENT, content, ident=b"mcc")
