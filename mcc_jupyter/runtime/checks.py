"""What a caller in Python may pass where a type says otherwise → one line that says what to pass (SPEC 14)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..core.errors import ArgumentError


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


def check_map(arguments: object, workers: object) -> None:
    """The arguments of many calls, and how many of them may run at a time."""
    if not isinstance(arguments, Sequence) or isinstance(arguments, str | bytes):
        raise ArgumentError("map: arguments are a list of mappings, one for each call")
    if workers is not None and (not isinstance(workers, int) or workers < 1):
        raise ArgumentError("map: workers must be a whole number above 0, or None")


def check_spill(tool: str, path: object, home: str | None) -> str:
    """The path of a file for a call's output; ``~/`` is the caller's *home*."""
    if not isinstance(path, str) or not path:
        raise ArgumentError(f"Tool {tool!r}: spill is the path of a new file, like `output.log`")
    return f"{home}{path[1:]}" if home and path.startswith("~/") else path
