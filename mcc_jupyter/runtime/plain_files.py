"""A path → the bytes of an ordinary file, or why there are none. A pipe or device is never waited for."""

from __future__ import annotations

import os
import stat


class Unfit(Exception):
    """Why a file cannot be used, without a subject: ``is no regular file``."""


def read_plain(path: str, limit: int) -> bytes:
    """The content of *path*, of at most *limit* bytes, which are whole MiB. Raises ``Unfit``."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Unfit("is no regular file")
            chunks = []
            size = 0
            while size <= limit and (chunk := os.read(descriptor, limit + 1 - size)):
                chunks.append(chunk)
                size += len(chunk)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise Unfit(f"cannot be read ({os.strerror(error.errno or 0).lower()})") from None
    if size > limit:
        raise Unfit(f"is larger than {limit // (1024 * 1024)} MiB")
    return b"".join(chunks)
