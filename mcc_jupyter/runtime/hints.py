"""What a failed call's output tells about the environment it did not get (SPEC 7.13), by name."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping

from ..core.command import search_path
from ..core.policy import Resolution
from ..core.shell_text import programs
from ..core.tool import Argv, Curl, Shell, Tool

_WORD = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z_][A-Za-z0-9_]{3,}(?![A-Za-z0-9_])", re.A)


def mentions(output: str, resolution: Resolution, parent: Mapping[str, str]) -> Iterator[str]:
    """One line for each variable the output names, that the parent has and that the tool was not granted."""
    for name in dict.fromkeys(_WORD.findall(output)):
        if name in parent and name not in resolution.bindings and name.upper() == name:
            yield f"mentions {name}, which exists here and is not granted; to grant it add `optional_env: [{name}]`"


def program_paths(tool: Tool, resolution: Resolution) -> dict[str, str | None]:
    """Where the child's own ``PATH`` finds the programs a tool starts; None is not found."""
    match tool.body:
        case Shell(written=text):
            wanted = programs(text)
        case Argv(written=items):
            wanted = items[:1]
        case Curl():
            wanted = ("curl",)
        case _:
            wanted = ()
    path = search_path(resolution)
    return {program: shutil.which(program, path=path) for program in wanted if "{" not in program}
