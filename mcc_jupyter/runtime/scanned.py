"""Files → their text for a scan, and the cleaned text back into them (SPEC 8.4).

1. A file is replaced in one step by one with the same permissions, or it stays as it was. A link stays a link, and
   what another program wrote meanwhile, such as a Jupyter that saves, is not lost.
2. No error holds content of a file.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..core.access import printable
from ..core.dotenv import Unreadable
from ..core.errors import ArgumentError, DeclarationError
from ..core.scan import Cleaned, Finding, Scanner, env_file_secrets, parent_secrets
from ..core.tool import EnvFile
from .catalog import EnvFiles
from .plain_files import LARGEST, Unfit, read_file


def scanner(
    env_files: Sequence[str], parent: Mapping[str, str], *, of_parent: bool = False, ignored: Iterable[str] = ()
) -> tuple[Scanner, list[str]]:
    """A scanner that knows the values of *env_files* and, if asked to, of *parent*; and what to tell about the files.

    Raises ``ArgumentError`` for an env file that cannot be used: nothing would be found, and look clean.
    """
    files = [EnvFile(printable(written), os.path.abspath(written)) for written in env_files]
    secrets: list[tuple[str, str]] = []
    notes = []
    for file, content in zip(files, EnvFiles().read(files), strict=True):
        if isinstance(content, Unreadable):
            raise ArgumentError(content.text)
        secrets += env_file_secrets(content.entries, parent)
        notes += [f"{file.written}: {warning}" for warning in content.warnings]
    listed = {name for name, _ in secrets}
    if of_parent:
        secrets += parent_secrets(parent).items()
    made = Scanner(secrets, ignored)
    # Of an environment most variables are switches and numbers; whoever writes a file means what is in it.
    short = [name for name in made.skipped if name in listed]
    return made, [*notes, *(f"{name} is too short or too common to be looked for" for name in short)]


def scan_file(path: str, made: Scanner) -> list[Finding]:
    """What one file holds; raises ``ArgumentError`` or ``DeclarationError``."""
    text = _read(path, handed_over=True)
    if not is_notebook(path):
        return made.text(text)
    with _in_file(path):
        return made.notebook(text)


def clean_file(path: str, made: Scanner, *, env_files: Iterable[str] = ()) -> Cleaned:
    """Redacts the outputs of a notebook, or all of another file; raises ``ArgumentError`` or ``DeclarationError``.

    One of *env_files* is never changed: the values in it are why it is there.
    """
    text = _read(path)
    if any(os.path.samefile(path, other) for other in env_files if os.path.exists(other)):
        raise ArgumentError(f"{printable(path)}: is the env file itself and is not changed")
    with _in_file(path):
        cleaned = made.clean_notebook(text) if is_notebook(path) else made.clean_text(text)
    if cleaned.text != text:
        if _read(path) != text:
            raise ArgumentError(f"{printable(path)}: was changed meanwhile and is left as it is; try again")
        write_file(path, cleaned.text)
    return cleaned


@contextlib.contextmanager
def _in_file(path: str) -> Iterator[None]:
    try:
        yield
    except DeclarationError as error:
        raise DeclarationError(*(problem.under(printable(path)) for problem in error.problems)) from None


def is_notebook(path: str) -> bool:
    return path.endswith(".ipynb")


def _read(path: str, *, handed_over: bool = False) -> str:
    try:
        return read_file(path, LARGEST, handed_over=handed_over).decode()
    except OSError as error:
        raise ArgumentError(f"{printable(path)}: cannot be read ({os.strerror(error.errno or 0)})") from None
    except Unfit as why:
        raise ArgumentError(f"{printable(path)}: {why} and is not read") from None
    except UnicodeDecodeError:
        raise ArgumentError(f"{printable(path)}: is not UTF-8; only text is scanned") from None


def write_file(path: str, text: str) -> None:
    """In one step, so that no reader sees half a file and no failure leaves one; raises ``ArgumentError``."""
    target = os.path.realpath(path)
    made = None
    try:
        before = None
        with contextlib.suppress(FileNotFoundError):
            before = os.stat(target)
        descriptor, made = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".mcc-")
        with open(descriptor, "wb") as file:
            with contextlib.suppress(PermissionError):  # another owner's file that the group may write
                os.fchown(descriptor, *((before.st_uid, before.st_gid) if before else (-1, -1)))
            os.fchmod(descriptor, before.st_mode & 0o7777 if before else 0o644)
            file.write(text.encode())
            file.flush()
            os.fsync(descriptor)
        os.replace(made, target)
    except OSError as error:
        if made is not None:
            os.unlink(made)
        raise ArgumentError(f"{printable(path)}: cannot be written ({os.strerror(error.errno or 0)})") from None
