"""What a failed call's output tells about the environment it did not get (SPEC 7.13), by name."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping

from ..core.command import search_path
from ..core.resolution import Resolution
from ..core.shell_text import programs
from ..core.tool import Argv, Curl, Shell, Tool

_WORD = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z_][A-Za-z0-9_]{3,}(?![A-Za-z0-9_])", re.A)

_MARK = re.compile(r"\[redacted:[^\]\n]*\]")


def mentions(output: str, resolution: Resolution, parent: Mapping[str, str]) -> Iterator[str]:
    """One line for each variable the output names, that the parent has and that the tool was not granted."""
    for name in dict.fromkeys(_WORD.findall(_MARK.sub("", output))):
        if name in parent and name not in resolution.bindings and name.upper() == name:
            yield f"mentions {name}, which exists here and is not granted; to grant it add `optional_env: [{name}]`"


def program_paths(tool: Tool, resolution: Resolution) -> dict[str, str | None]:
    """Where the child's own ``PATH`` finds the programs a tool starts; None is not found."""
    wanted: tuple[str, ...] = ()
    if isinstance(tool.body, Shell):
        wanted = programs(tool.body.written)
    elif isinstance(tool.body, Curl):
        wanted = programs(f"curl {tool.body.shell.written}")
    elif isinstance(tool.body, Argv):
        wanted = tool.body.written[:1]
    path = search_path(resolution)
    found = {}
    for program in wanted:
        if not any(sign in program for sign in "{$"):
            # One with a slash is no matter of PATH: it begins at the tool's folder.
            place = os.path.join(tool.cwd.value, program) if "/" in program else program
            found[program] = shutil.which(place, path=path)
    return found
