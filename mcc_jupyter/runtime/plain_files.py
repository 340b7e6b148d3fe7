"""A path → the bytes of an ordinary file, or why there are none. A pipe or device is never waited for.

Only what a shell hands over is: ``/dev/stdin`` and ``<(…)``, which stand for a descriptor of this process. Waiting for
it can be interrupted, and it has a size, too.
"""

from __future__ import annotations

import os
import re
import select
import stat

LARGEST = 256 * 1024 * 1024
"""Bytes of a notebook, or of a file that is looked through."""

LARGEST_TOOLS = 4 * 1024 * 1024
"""Bytes of a file of tools."""

_HANDED_OVER = re.compile(r"/dev/stdin|(?:/dev|/proc/self)/fd/[0-9]+")


class Unfit(Exception):
    """Why a file cannot be used, without a subject: ``is no regular file``."""


def read_plain(path: str, limit: int) -> bytes:
    """The content of *path*, of at most *limit* bytes, which are whole MiB. Raises ``Unfit``."""
    try:
        return read_file(path, limit, handed_over=False)
    except IsADirectoryError:
        raise Unfit("is no regular file") from None
    except OSError as error:
        raise Unfit(f"cannot be read ({os.strerror(error.errno or 0).lower()})") from None


def read_file(path: str, limit: int, *, handed_over: bool = True) -> bytes:
    """The content of *path*, of at most *limit* bytes, which are whole MiB. Raises ``OSError`` and ``Unfit``.

    *handed_over*: what a shell hands over may be of any kind.
    """
    any_kind = handed_over and _HANDED_OVER.fullmatch(path) is not None
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or any_kind):  # reading a folder says that it is one
            raise Unfit("is no regular file")
        chunks = []
        size = 0
        while size <= limit and (chunk := _chunk(descriptor, limit + 1 - size)):
            chunks.append(chunk)
            size += len(chunk)
    finally:
        os.close(descriptor)
    if size > limit:
        raise Unfit(f"is larger than {limit // (1024 * 1024)} MiB")
    return b"".join(chunks)


def _chunk(descriptor: int, size: int) -> bytes:
    while True:
        try:
            return os.read(descriptor, min(size, 1 << 24))
        except BlockingIOError:
            waiting = select.poll()
            waiting.register(descriptor, select.POLLIN)
            waiting.poll()
