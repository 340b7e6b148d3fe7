"""How this process was started → which policy file holds for it, and which workspace it is (SPEC 9.1, 9.2).

1. Only what stood when the process started counts: kernel code changes ``os.environ`` and its folder at will.
2. The place that is harder to write to goes first, and a file that is there but cannot be read is found all the same.
3. Imported whenever the extension is loaded: without a policy file it is all that happens. It imports nothing else, but
   for what reads a server's word where there is one.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from .parent import initial_environment

if TYPE_CHECKING:
    from ..core.handed import Handed

SYSTEM_FILE = "/etc/mcc/mcc.toml"
NAME = "mcc.toml"
_SYSTEM_JUPYTER = ("/etc/jupyter", "/usr/local/etc/jupyter")
_ABSENT = (errno.ENOENT, errno.ENOTDIR)


class Start:
    """How the process came to be. A plain class: making a dataclass takes longer than the whole search."""

    __slots__ = ("began", "beside", "environment", "folder", "handed", "policy", "workspace")

    def __init__(
        self,
        environment: Mapping[str, str],
        folder: str | None = None,
        *,
        began: str | None = None,
        policy: str | None = None,
        workspace: str | None = None,
        beside: str | None = None,
    ) -> None:
        self.environment = environment
        """The one that the process was given."""
        self.folder = folder
        """Where it was started, as far as its host remembers; None: not known."""
        self.began = began
        """Where the server or the command was started that it belongs to; None: not known."""
        self.policy = policy
        """The file that the server's configuration or ``--policy`` names; what a server handed on goes before."""
        self.workspace = workspace
        """As ``--workspace`` gives it."""
        self.beside = beside
        """A file whose folder is searched, too."""
        self.handed = _handed(environment)
        """What the server said of this kernel when it started it; None: no server did."""

    @property
    def notebook(self) -> str | None:
        """The notebook's real path as the Jupyter server told it to this kernel; a relative one tells nothing.

        The path that a server has found is taken as it is: a link that was put in its place later leads nowhere.
        """
        if self.handed is not None and self.handed.workspace is not None:
            return self.handed.workspace or None
        told = self.environment.get("JPY_SESSION_NAME", "")
        return os.path.realpath(told) if os.path.isabs(told) else None

    @property
    def other_folders(self) -> tuple[str, ...]:
        """The real folders of the kernel and of the notebook, where they are others than ``began``."""
        notebook = self.beside or self.notebook
        found = [self.folder, os.path.dirname(notebook) if notebook else None]
        return tuple(dict.fromkeys(os.path.realpath(folder) for folder in found if folder and folder != self.began))


def start_of(shell: object | None, parent: Callable[[], Mapping[str, str]]) -> Start:
    """The start of this process. *parent*: its environment now, where the system does not tell the first one."""
    folder = getattr(shell, "starting_dir", None)
    if folder is None:
        try:
            folder = os.getcwd()
        except FileNotFoundError:
            folder = None
    unknown: dict[str, str] = {}
    environment = initial_environment(unknown)
    if environment is unknown:
        environment = parent()
    pwd = environment.get("PWD", "")
    return Start(environment, folder, began=pwd if os.path.isabs(pwd) else None)


def find(start: Start, system: str = SYSTEM_FILE, shared: tuple[str, ...] = _SYSTEM_JUPYTER) -> str | None:
    """The policy file that holds; None where there is none. One that is named need not be there to be found."""
    if _is_there(system):
        return system
    if named := (start.handed and start.handed.policy) or start.policy:
        return _named(named, start)
    for folder in jupyter_folders(start.environment, shared):
        path = os.path.join(folder, NAME)
        if _is_there(path):
            return path
    if given := start.environment.get("MCC_POLICY"):
        return _named(given, start)
    return _at_or_above(start)


def jupyter_folders(environment: Mapping[str, str], shared: tuple[str, ...] = _SYSTEM_JUPYTER) -> tuple[str, ...]:
    """Jupyter's config folders, the system's before the user's: the reverse of Jupyter's own order."""
    home = environment.get("HOME", "")
    listed = environment.get("JUPYTER_CONFIG_PATH", "").split(os.pathsep)
    own = environment.get("JUPYTER_CONFIG_DIR") or (os.path.join(home, ".jupyter") if home else "")
    found = [*shared, os.path.join(sys.prefix, "etc", "jupyter"), *listed, own]
    return tuple(dict.fromkeys(folder for folder in found if os.path.isabs(folder)))


def workspace_of(start: Start) -> str:
    """What ``Workspace.of`` takes: the real path of the notebook, or the name that was given; empty for neither.

    A kernel of a Jupyter server is the notebook's, whatever the server's own environment says (SPEC 9.2).
    """
    text = start.workspace
    if text is None:
        if start.notebook is not None:
            return start.notebook
        text = start.environment.get("MCC_WORKSPACE", "")
    if os.path.isabs(text):
        return os.path.realpath(text)
    is_path = start.workspace is not None and ("/" in text or text.endswith(".ipynb"))
    return os.path.realpath(os.path.join(start.folder or "/", text)) if is_path else text


def _handed(environment: Mapping[str, str]) -> Handed | None:
    text = environment.get("MCC_SERVER")
    if not text:
        return None
    from ..core.handed import read

    return read(text)


def _named(written: str, start: Start) -> str:
    home = start.environment.get("HOME")
    if home and written.startswith("~/"):
        return os.path.join(home, written[2:])
    return os.path.join(start.began or start.folder or "/", written)


def _at_or_above(start: Start) -> str | None:
    """The nearest one at or above the server's root, else where the server or the command was started.

    One that is only at or above the kernel's or the notebook's folder counts where there is no such one. Of several
    the outermost does: what lies beside a notebook may have come with it.
    """
    seen: set[str] = set()
    for top in (start.handed and start.handed.root, start.began):
        for path in _upwards(os.path.realpath(top), seen) if top else ():
            return path
    for folder in start.other_folders:
        *_, outermost = None, *_upwards(folder, seen)
        if outermost is not None:
            return outermost
    return None


def _upwards(folder: str, seen: set[str]) -> Iterator[str]:
    """The files in *folder* and above it, the nearest first, but for folders that were *seen* to have none."""
    while folder not in seen:
        seen.add(folder)
        path = f"{folder.rstrip('/')}/{NAME}"
        if _is_there(path) and not _is_planted(path):
            yield path
        folder = os.path.dirname(folder)


def _is_there(path: str) -> bool:
    try:
        os.lstat(path)
    except OSError as error:
        return error.errno not in _ABSENT
    return True


def _is_planted(path: str) -> bool:
    """Whether anyone may have put it there: somebody else's, in a folder that is open to all."""
    try:
        folder, file = os.stat(os.path.dirname(path)), os.lstat(path)
    except OSError:
        return False
    return bool(folder.st_mode & stat.S_IWOTH) and file.st_uid not in (0, os.geteuid())
