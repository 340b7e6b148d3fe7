"""Standard streams as a command may find them → streams that can be written to, or say why not (SPEC 14).

1. A descriptor below 3 that is closed is opened, so that no file of ours gets its number. Nothing can be written to it.
2. What cannot be shown in the terminal's encoding is escaped. JSON stays JSON.
3. A message that stderr does not take is lost, and changes neither another stream nor the exit status.
"""

from __future__ import annotations

import io
import json
import os
import sys
from typing import TextIO


def make_usable() -> None:
    """Before anything else is opened or written."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # the lowest that is free, which is this one
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for as long as the process
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is sys.__stderr__:
        sys.stderr = _forgiving(sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def print_json(document: object) -> None:
    """With the characters themselves where stdout can show all of them."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(document, indent=2)
    print(text)


class _Forgiving(io.FileIO):
    """Takes everything, also where the descriptor does not."""

    def write(self, data: object, /) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except OSError:
            return len(memoryview(data).cast("B"))  # type: ignore[arg-type]


def _forgiving(stream: TextIO | None) -> TextIO:
    raw = _Forgiving(2, "w", closefd=False)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, line_buffering=True)
