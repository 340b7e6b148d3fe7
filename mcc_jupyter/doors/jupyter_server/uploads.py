"""The chunks of an upload → the whole file, so that it can be looked at before any of it is on the disk (SPEC 8.4).

A front end sends what is large in pieces, and the server appends each to the file: a secret may lie across two of them,
and a file that is refused at its last chunk would have replaced the one before.
"""

from __future__ import annotations

import base64
import posixpath
from collections import OrderedDict
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tornado.web import HTTPError

MOST_BYTES = 512 * 1024 * 1024
"""Of all uploads that are not complete."""
MOST = 16
"""Uploads at a time. One of which nothing came for the longest time is given up for a new one."""

LAST = -1
"""The number of the last chunk."""


class Uploads:
    """What has arrived of the files that are being uploaded, in memory."""

    def __init__(self) -> None:
        self._parts: OrderedDict[str, list[bytes]] = OrderedDict()

    def take(self, model: Mapping[str, Any], path: str) -> dict[str, Any] | None:
        """One more chunk: None if more have to come, or the model of the whole file.

        Raises 400 for a chunk without those before it, and 413 for too much.
        """
        if model["chunk"] == 1:
            self._parts.pop(path, None)
            while len(self._parts) >= MOST:
                self._parts.popitem(last=False)
            self._parts[path] = []
        parts = self._parts.get(path)
        if parts is None:
            raise HTTPError(400, f"{path}: the upload is not complete; upload the file again")
        parts.append(_decoded(model, path))
        self._parts.move_to_end(path)
        if sum(len(part) for other in self._parts.values() for part in other) > MOST_BYTES:
            del self._parts[path]
            raise HTTPError(413, f"{path}: is too large to be looked at; copy it to its folder instead")
        if model["chunk"] != LAST:
            return None
        data = b"".join(self._parts.pop(path))
        whole = {key: value for key, value in model.items() if key != "chunk"}
        try:
            return {**whole, "format": "text", "content": data.decode()}
        except UnicodeDecodeError:
            return {**whole, "format": "base64", "content": base64.b64encode(data).decode("ascii")}


def waiting(path: str) -> dict[str, Any]:
    """What a front end is answered for a chunk that is not the last: the model of a file that is not there yet."""
    now = datetime.now(UTC)
    return {
        "name": posixpath.basename(path),
        "path": path,
        "type": "file",
        "writable": True,
        "created": now,
        "last_modified": now,
        "mimetype": None,
        "size": None,
        "content": None,
        "format": None,
    }


def _decoded(model: Mapping[str, Any], path: str) -> bytes:
    content = model.get("content")
    try:
        if not isinstance(content, str):
            raise TypeError
        return base64.b64decode(content.encode("ascii")) if model.get("format") == "base64" else content.encode()
    except (TypeError, ValueError):
        raise HTTPError(400, f"{path}: a chunk of the upload cannot be decoded") from None
