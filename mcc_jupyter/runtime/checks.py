"""What a caller in Python may pass where a type says otherwise → one line that says what to pass (SPEC 14)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ..core.errors import ArgumentError
from ..core.schema import bind
from ..core.tool import Tool

MOST_TOLD: Final = 8
"""So many mistakes in the arguments of many calls are told."""


def check_name(name: object) -> str:
    """*name*, if it is text."""
    if isinstance(name, str):
        return name
    raise ArgumentError(f"a tool's name is text, like `query`, and not of type {type(name).__name__}")


def check_profile(name: object) -> str:
    """*name*, if it is text."""
    if isinstance(name, str):
        return name
    raise ArgumentError(f"use: a profile is text, like `dev`, and not of type {type(name).__name__}")


def check_path(path: object, *, verb: str = "load") -> None:
    """A path to load, or to compare with, is text that a file can have for its name."""
    if not isinstance(path, str):
        raise ArgumentError(f"{verb}: a path is text, like `tools.yaml`, and not of type {type(path).__name__}")
    if "\0" in path:
        raise ArgumentError(f"{verb}: a path holds a NUL byte, which no file's name can; remove it")


def check_arguments(tool: str, arguments: object) -> None:
    """The arguments of one call are a mapping, and their names are text."""
    if not isinstance(arguments, Mapping) or not all(isinstance(key, str) for key in arguments):
        raise ArgumentError(f"Tool {tool!r}: arguments are a mapping of parameter names to values, like {{'n': 3}}")


def check_map(arguments: object, workers: object) -> Sequence[Any]:
    """The arguments of many calls, and how many of them may run at a time; the arguments as a sequence."""
    if not isinstance(arguments, Iterable) or isinstance(arguments, str | bytes | Mapping):
        raise ArgumentError("map: arguments are a list of mappings, one for each call")
    if workers is not None and (not isinstance(workers, int) or workers < 1):
        raise ArgumentError("map: workers must be a whole number above 0, or None")
    return arguments if isinstance(arguments, Sequence) else list(arguments)


def check_items(tool: Tool, arguments: Sequence[Mapping[str, object]]) -> None:
    """Each of them fits the tool; the error names those that do not by their place, the first few of many."""
    wrong = []
    for at, item in enumerate(arguments):
        try:
            check_arguments(tool.name, item)
            bind(tool.params, item, tool=tool.name)
        except ArgumentError as error:
            wrong += [f"arguments[{at}]: {line}" for line in str(error).splitlines()]
        if len(wrong) > MOST_TOLD:
            wrong[MOST_TOLD:] = ["… and there may be more"]
            break
    if wrong:
        raise ArgumentError("\n".join(wrong))


def check_spill(tool: str, path: object, home: str | None) -> str:
    """The path of a file for a call's output; ``~/`` is the caller's *home*."""
    if not isinstance(path, str) or not path:
        raise ArgumentError(f"Tool {tool!r}: spill is the path of a new file, like `output.log`")
    return f"{home}{path[1:]}" if home and path.startswith("~/") else path
