"""A kernel's manifest → a file that other processes of the same user read (SPEC 13.2).

1. It is written in one step, 0600 in a folder 0700, by a thread, and only when something in it has changed.
2. Only the process that wrote a file takes it away; a forked child does neither. What a killed process left is
   recognised by whoever reads: its number is gone, or is another's by now.
3. Readers trust no file: not its owner, its kind, its size, its form.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from .. import __version__
from ..core.manifest import FILE_LIMIT, Contents, Process, is_manifest, manifest, with_revision
from .marks import place, start_mark

_DELAY = 0.05
"""Seconds in which further changes join the one that is to be written."""
_PATIENCE = 2.0
"""Seconds for which the end of a process waits for one that is being written."""
_TEMPORARY = ".tmp"


class Publisher:
    """Keeps the manifest at *path* as *contents* are, which are asked in a thread; *announce* gets each revision.

    *revision* is the last one of an earlier publisher. Where no file can be written there is none, and nothing is told.
    """

    def __init__(
        self,
        path: Callable[[], str],
        contents: Callable[[], Contents],
        announce: Callable[[int], None],
        *,
        revision: int = 0,
    ) -> None:
        self.revision = revision
        self._path, self._contents, self._announce = path, contents, announce
        self._process = Process(__version__, os.getpid(), start_mark(os.getpid()) or "")
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._written: str | None = None
        self._last = b""
        """A digest of what was written last: the whole of it can be large."""

    def poke(self) -> None:
        """Something may have changed. Returns at once, from any thread."""
        if self._closed or os.getpid() != self._process.pid:
            return
        self._changed.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="mcc-manifest", daemon=True)
            try:
                self._thread.start()
            except RuntimeError:  # no thread can be had, or the interpreter ends
                self._thread = None

    def manifest(self) -> dict[str, object]:
        """The manifest as it is now, written or not, with the last revision."""
        found: dict[str, object] = json.loads(with_revision(self._document(), self.revision))
        return found

    def close(self) -> None:
        """Takes the file away and writes no other."""
        self._closed = True
        self._changed.set()
        if os.getpid() != self._process.pid:
            return
        held = self._lock.acquire(timeout=_PATIENCE)
        try:
            if self._written is not None:
                _remove(self._written, self._process)
        finally:
            if held:
                self._lock.release()

    def _document(self) -> bytes:
        return manifest(self._process, self._contents())

    def _work(self) -> None:
        while not self._closed:
            self._changed.wait()
            time.sleep(_DELAY)
            self._changed.clear()  # a change from here on is written by the next turn
            with contextlib.suppress(Exception), self._lock:  # nobody waits for this thread, and no cell hears of it
                self._publish()

    def _publish(self) -> None:
        document = self._document()
        digest = hashlib.blake2b(document).digest()
        if self._closed or digest == self._last:
            return
        path = self._path()
        write(path, with_revision(document, self.revision + 1))
        self.revision += 1
        self._written, self._last = path, digest
        self._announce(self.revision)


def write(path: str, data: bytes) -> None:
    """Puts *data* at *path* in one step, for this user alone; raises ``OSError``."""
    folder, name = os.path.split(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    of_folder = os.lstat(folder)
    if not stat.S_ISDIR(of_folder.st_mode) or of_folder.st_uid != os.geteuid():
        raise PermissionError("the folder is another's")
    if of_folder.st_mode & 0o077:
        os.chmod(folder, 0o700)
    made = os.path.join(folder, f"{name}.{os.getpid()}{_TEMPORARY}")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(made)
    try:
        with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.write(data)
        os.replace(made, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(made)
        raise


# ---- reading


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest of a process that lives. ``name`` is the file's, without ``.json``: ``kernel-<id>``."""

    name: str
    content: Mapping[str, object] = field(repr=False)

    @property
    def pid(self) -> int:
        return int(str(self.content["pid"]))

    @property
    def kernel_id(self) -> str | None:
        """The id of a server's kernel, which is in the name of its connection file."""
        return self.name.removeprefix("kernel-") if self.name.startswith("kernel-") else None


def read_manifests(folder: str) -> list[Manifest]:
    """The manifests in *folder* by name; what a process that has ended left there is taken away."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    found = []
    for name in names:
        if name.endswith(_TEMPORARY):
            _clear(os.path.join(folder, name))
        elif name.endswith(".json"):
            found.append(read_manifest(os.path.join(folder, name)))
    return [one for one in found if one is not None]


def read_manifest(path: str) -> Manifest | None:
    """The manifest at *path*; None where there is none of a living process of this user."""
    with _opened(path) as (document, inode):
        if not is_manifest(document):
            return None
        assert isinstance(document, dict)
        if start_mark(document["pid"]) == document["started"]:
            return Manifest(os.path.basename(path).removesuffix(".json"), document)
        # One from another machine, boot or container is not for this process to judge.
        if document["started"].partition(" ")[2] == place():
            _unlink(path, inode)
        return None


@contextlib.contextmanager
def _opened(path: str) -> Iterator[tuple[object, int]]:
    """The JSON in a plain file of this user, and the file's number; None for anything else."""
    document: object = None
    number = -1
    with contextlib.suppress(OSError, ValueError, RecursionError):
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(path, flags), "rb") as file:
            found = os.fstat(file.fileno())
            if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_size <= FILE_LIMIT:
                document, number = json.loads(file.read(FILE_LIMIT + 1)), found.st_ino
    yield document, number


def _unlink(path: str, inode: int) -> None:
    """Takes a file away, unless another stands there by now."""
    with contextlib.suppress(OSError):
        if os.lstat(path).st_ino == inode:
            os.unlink(path)


def _remove(path: str, process: Process) -> None:
    with _opened(path) as (document, inode):
        if isinstance(document, dict) and (document.get("pid"), document.get("started")) == (
            process.pid,
            process.started,
        ):
            _unlink(path, inode)


def _clear(path: str) -> None:
    """What a process that was killed while it wrote left behind."""
    pid = path.removesuffix(_TEMPORARY).rpartition(".")[2]
    with contextlib.suppress(OSError):
        found = os.lstat(path)
        if pid.isdecimal() and len(pid) < 10 and found.st_uid == os.geteuid() and start_mark(int(pid)) is None:
            _unlink(path, found.st_ino)
