"""Files → what the engine takes: tool files as documents, env files as entries (SPEC 2.4, 4.4).

1. A path is shown as it was written, an error says what is wrong with it, and no content is ever in one.
2. An env file is read anew for each call; only parsing is saved, by content.
"""

from __future__ import annotations

import errno
import os
import select
import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob, has_magic

from ..core.access import printable
from ..core.cell import parse_yaml
from ..core.dotenv import Dotenv, Unreadable, parse
from ..core.errors import DeclarationError, Problem
from ..core.tool import EnvFile
from .plain_files import LARGEST, LARGEST_TOOLS, Unfit, read_file

ENV_FILE_LIMIT = 1024 * 1024
"""Bytes an env file may have (SPEC 4.4)."""

PIPE_SECONDS = 10.0
"""How long a pipe is waited for (SPEC 4.4)."""


@dataclass(frozen=True, slots=True)
class ToolFile:
    """One file of tools: its path as written, and the absolute one."""

    written: str
    path: str

    def document(self) -> object:
        """What the file holds, as plain data; raises ``DeclarationError``."""
        if self.path.endswith(".json"):
            text = "this version loads YAML files and policy files; MCP client files are not supported"
            raise DeclarationError(Problem(self.written, text))
        text = text_file(self.written, self.path)
        try:
            return parse_yaml(text)
        except DeclarationError as error:
            raise DeclarationError(*(problem.under(self.written) for problem in error.problems)) from None


_UNREAD = Dotenv((), unread=True)


class EnvFiles:
    """Reads env files; one of them keeps the parsed form of what it read last, by path and content."""

    def __init__(self) -> None:
        self._parsed: dict[EnvFile, tuple[bytes, Dotenv | Unreadable]] = {}

    def read(self, files: Sequence[EnvFile], *, pipes: bool = True) -> tuple[Dotenv | Unreadable, ...]:
        """The contents of *files*, in their order; each file is opened once.

        Without *pipes* a pipe is left alone, as ``unread``: what it gives, it gives once, to a call.
        """
        return tuple(self._read(file) if pipes or not _is_pipe(file.path) else _UNREAD for file in files)

    def _read(self, file: EnvFile) -> Dotenv | Unreadable:
        try:
            data = _content(file.path)
        except OSError as error:
            return Unreadable(f"env_file {_why(error, file.path)}: {file.written}")
        if data is None:
            return Unreadable(f"env_file is a pipe and nobody writes to it: {file.written}")
        if len(data) > ENV_FILE_LIMIT:
            return Unreadable(f"env_file is larger than 1 MiB: {file.written}")
        known = self._parsed.get(file)
        if known is not None and known[0] == data:
            return known[1]
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return Unreadable(f"env_file is not UTF-8: {file.written}")
        parsed = parse(text, path=file.written)
        self._parsed[file] = (data, parsed)
        return parsed


def _is_pipe(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False


def _content(path: str) -> bytes | None:
    """At most one byte more than the limit; None for a pipe without a writer."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "is a directory")
        pipe = stat.S_ISFIFO(mode)
        chunks: list[bytes] = []
        size = 0
        deadline = time.monotonic() + PIPE_SECONDS
        while size <= ENV_FILE_LIMIT:
            if pipe and not _readable(descriptor, deadline):
                return None
            chunk = os.read(descriptor, ENV_FILE_LIMIT + 1 - size)
            if not chunk:
                break
            chunks.append(chunk)
            size += len(chunk)
        return b"".join(chunks)
    finally:
        os.close(descriptor)


def _readable(descriptor: int, deadline: float) -> bool:
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(max(0.0, deadline - time.monotonic()) * 1000))


def _why(error: OSError, path: str) -> str:
    if error.errno == errno.ENOENT:
        return "is a broken link" if os.path.islink(path) else "not found"
    known = {
        errno.EISDIR: "is a directory",
        errno.ELOOP: "is a broken link",
        errno.EACCES: "cannot be read",
        errno.ENOTDIR: "not found",
    }
    return known.get(error.errno or 0, f"cannot be read ({os.strerror(error.errno or 0)})")


def tool_files(written: str, *, folder: str, home: str | None) -> list[ToolFile]:
    """The files that one path, folder or glob of ``%mcc_load`` names, sorted (SPEC 2.4). Raises ``DeclarationError``.

    A file that cannot be used is found when it is read, so that it stops no other.
    """
    begin = home if home is not None and (written == "~" or written.startswith("~/")) else ""
    path = os.path.join(folder, begin + written.removeprefix("~") if begin else written)
    if os.path.isdir(path):
        return [
            ToolFile(printable(os.path.join(written, name)), os.path.join(path, name))
            for name in _listed(written, path)
        ]
    if not has_magic(written) or os.path.exists(path):
        return [ToolFile(printable(written), os.path.abspath(path))]
    # Only what was written is a pattern: a folder may well be called `[2024]`.
    root = "" if os.path.isabs(written) else begin or folder
    found = sorted(glob(written.removeprefix("~/") if begin else written, root_dir=root or None, recursive=True))
    if not found:
        raise DeclarationError(Problem(printable(written), "no file matches"))
    return [ToolFile(printable(os.path.join("~", name) if begin else name), os.path.join(root, name)) for name in found]


def _listed(written: str, path: str) -> list[str]:
    try:
        found = sorted(name for name in os.listdir(path) if name.endswith((".yaml", ".yml")))
    except OSError as error:
        raise DeclarationError(Problem(printable(written), f"folder {_why(error, path)}")) from None
    if not found:
        raise DeclarationError(Problem(printable(written), "the folder holds no *.yaml or *.yml file"))
    return found


def notebook_file(path: str, written: str | None = None) -> object:
    """The JSON of a notebook, which a message calls *written*; raises ``DeclarationError``."""
    import json

    written = printable(path if written is None else written)
    try:
        return json.loads(text_file(written, path, LARGEST))
    except ValueError:
        raise DeclarationError(Problem(written, "the file is no notebook: it is no JSON")) from None
    except RecursionError:
        raise DeclarationError(Problem(written, "the file is no notebook: it is nested too deeply")) from None


def text_file(written: str, path: str, limit: int = LARGEST_TOOLS) -> str:
    """The text of a file, which a message calls *written*; raises ``DeclarationError``."""
    try:
        return read_file(path, limit).decode().removeprefix("\ufeff")
    except OSError as error:
        raise DeclarationError(Problem(written, f"file {_why(error, path)}")) from None
    except Unfit as why:
        raise DeclarationError(Problem(written, f"{why} and is not read")) from None
    except UnicodeDecodeError:
        raise DeclarationError(Problem(written, "file is not UTF-8")) from None
