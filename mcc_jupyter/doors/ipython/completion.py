"""What may stand on the lines of our magics, and in a YAML cell of tools: fields, types, names of variables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...runtime.guard import guarded

if TYPE_CHECKING:
    from IPython.core.completer import CompletionContext

    from ...runtime.toolbox import Toolbox

_WORD = re.compile(r"[A-Za-z0-9_]*\Z")


@guarded
def candidates(before: str, toolbox: Toolbox) -> Iterable[str]:
    """What may stand at the end of the line *before*, which begins with one of our magics."""
    from ...core.cell import CALL_OPTIONS, SH_OPTIONS, TOOL_OPTIONS

    magic, *words = before[: before.rindex(" ")].split()
    words.append(before[before.rindex(" ") + 1 :])
    first = len(words) == 1
    match magic:
        case "%mcc_call" if first:
            return _tools(toolbox)
        case "%mcc_call":
            return [*_params(toolbox, words), *(option.flag for option in CALL_OPTIONS)]
        case "%mcc_probe" if first:
            return _tools(toolbox)
        case "%mcc_env":
            return [*(_tools(toolbox, all_of_them=True) if first else ()), "--all"]
        case "%mcc_diff":
            return [*(_tools(toolbox, all_of_them=True) if first else ()), "--lock"]
        case "%mcc_tools":
            return ["rm"] if first else _tools(toolbox, all_of_them=True) if words[0] == "rm" else ()
        case "%mcc_session":
            return ["set", "get", "del", "list", "clear"] if first else toolbox.session
        case "%mcc_guard":
            return ["on", "off", "status"] if first else ()
        case "%mcc_use":
            return [profile for profile in toolbox.governed.profiles if profile not in words[:-1]]
        case "%mcc_skills" if first:
            return sorted(toolbox.governed.skill_names())
        case "%%mcc_tool":
            return [option.flag for option in TOOL_OPTIONS]
        case "%%mcc_sh":
            return [option.flag for option in SH_OPTIONS]
        case _:
            return ()


def in_body(context: CompletionContext, before: str) -> Any:
    """The matcher's answer below the first line of a ``%%mcc_tool`` cell; *before*: its line up to the cursor."""
    from IPython.core.completer import SimpleCompletion

    from ...core.cell_help import suggestions
    from .magics import parent_names

    lines = context.full_text.split("\n")[1 : context.cursor_line]
    token = _WORD.search(before)[0]  # type: ignore[index]  # an empty word is one
    above = "".join(f"{line}\n" for line in lines)
    found = [word for word in suggestions(above, before, parent_names()) if word.startswith(token) and word != token]
    return {
        "completions": [SimpleCompletion(text=word, type="mcc") for word in found],
        "matched_fragment": token,
        # Python's own completions have no meaning in YAML.
        "suppress": True,
    }


def _tools(toolbox: Toolbox, *, all_of_them: bool = False) -> list[str]:
    """Tools that can be called, or all of them, by name; by key where two share a name."""
    tools = [tool for tool in toolbox.registry if all_of_them or toolbox.is_available(tool)]
    names = Counter(tool.name for tool in tools)
    return sorted({tool.name if names[tool.name] == 1 else tool.key for tool in tools})


def _params(toolbox: Toolbox, words: list[str]) -> list[str]:
    from ...core.errors import UnknownTool
    from ...core.tool import MISSING

    try:
        tool = toolbox.registry.find(words[0])
    except UnknownTool:
        return []
    given = {word.partition("=")[0] for word in words[1:] if "=" in word}
    return [f"{param.name}=" for param in tool.params if param.override is MISSING and param.name not in given]
