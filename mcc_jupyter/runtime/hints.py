"""What a failed call's output tells about the environment it did not get (SPEC 7.13), by name."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping

from ..core.cap import Cap
from ..core.command import search_path
from ..core.names import is_known_not_secret
from ..core.resolution import Resolution, Source
from ..core.shell_text import programs
from ..core.tool import Argv, Curl, Shell, Text, Tool

_WORD = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z_][A-Za-z0-9_]{3,}(?![A-Za-z0-9_])", re.A)

_MARK = re.compile(r"\[redacted:[^\]\n]*\]")


def mentions(output: str, resolution: Resolution, parent: Mapping[str, str], cap: Cap | None = None) -> Iterator[str]:
    """One line for each variable the output names, that the parent has and that the tool was not granted.

    *cap*: what a policy file lets the tool ask for; where it does not, there is nothing to add.
    """
    for name in dict.fromkeys(_WORD.findall(_MARK.sub("", output))):
        if name in parent and name not in resolution.bindings and name.upper() == name:
            refused = None if cap is None else cap.refusal(name)
            todo = f"to grant it add `optional_env: [{name}]`" if refused is None else refused
            yield f"mentions {name}, which exists here and is not granted; {todo}"


def program_paths(tool: Tool, resolution: Resolution) -> dict[str, str | None]:
    """Where the child's own ``PATH`` finds the programs a tool starts; None is not found.

    A place that may hold what only the parent knows is ``not shown``: in a folder's name a value is readable, too.
    """
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
            hidden = _is_hidden_path(tool, resolution) if "/" not in program else _holds_value(tool, tool.cwd)
            at = shutil.which(place, path=path)
            found[program] = "not shown" if at is not None and hidden and not os.path.isabs(program) else at
    return found


def _is_hidden_path(tool: Tool, resolution: Resolution) -> bool:
    binding = resolution.bindings.get("PATH")
    if binding is None:
        return False
    source = binding.provenance.source
    holds = source is Source.ENV and _holds_value(tool, tool.env["PATH"])
    return binding.secret or source is Source.ENV_FILE or holds


def _holds_value(tool: Tool, text: Text) -> bool:
    """Whether a reference in it brought more than a well-known path or name."""
    used = {reference.name for reference in text.references} - tool.never_redact
    return not all(map(is_known_not_secret, used))
