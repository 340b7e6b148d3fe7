"""The text of a cell → plain data for ``declare`` (SPEC 2.1, 2.2, 2.10).

1. Nothing here expands anything: a body is taken byte for byte, and only line ends are made ``\\n``.
2. The options of a magic are a table; completion and help read it too.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final

from .call_line import CALL_OPTIONS, Call, parse_call, parse_entries, split_arguments, unexpanded
from .errors import DeclarationError, Problem
from .options import Given, Option, read_options, seconds_of
from .schema import read_arguments as json_object
from .yaml_text import parse_yaml

__all__ = [
    "CALL_OPTIONS", "SH_NAME", "SH_OPTIONS", "TOOL_OPTIONS", "Call", "Option", "json_object", "parse_call",
    "parse_cell", "parse_entries", "parse_sh", "parse_yaml", "split_arguments", "unexpanded",
]  # fmt: skip

SH_OPTIONS: Final = (
    Option("--pass", "PATTERN", "parent variables it may inherit", repeat=True),
    Option("--env", "NAME=VALUE", "a variable of its own; ${NAME} refers to the parent", repeat=True),
    Option("--env-file", "FILE", "a dotenv file", repeat=True),
    Option("--timeout", "SECONDS", "end it after this time"),
)
TOOL_OPTIONS: Final = (
    Option("--param", "NAME[?][:TYPE][=DEFAULT]", "a parameter; `?` makes it optional", repeat=True),
    *SH_OPTIONS,
    Option("--require", "NAME", "a parent variable it cannot do without", repeat=True),
    Option("--optional", "NAME", "a parent variable it can use", repeat=True),
    Option("--cwd", "FOLDER", "where it runs"),
    Option("--group", "GROUP", "who may call it", repeat=True),
    Option("--stdin", help="send it the parameters as JSON on standard input"),
    Option("--description", "TEXT", "what people and MCP clients see"),
)

SH_NAME: Final = "mcc_sh"
"""What the anonymous tool of a ``%%mcc_sh`` cell is called."""

_LISTS = {
    "--pass": "env_passthrough",
    "--env-file": "env_file",
    "--require": "required_env",
    "--optional": "optional_env",
    "--group": "groups",
}
_TEXTS = {"--cwd": "cwd", "--description": "description"}
_YAML = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*(?:- +)?(?:exec|curl|fn|tools|name):(?:\s|\Z)")
"""The first line of a body that says something is a declaration's, not a script's."""
_MAPPING = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*(?:- +)?[\w.-]+:(?:\s|\Z)")
"""The first line of a body that is YAML, whatever it declares."""
_SCRIPT = "for a shell script write `%%mcc_tool NAME`"
_BEGINS_TAG = re.compile(r"\{(?=[{%#])")
_PARAM = re.compile(r"(?P<name>[^:=?]+)(?P<optional>\?)?(?::(?P<type>[^=]+))?(?:=(?P<default>.*))?", re.S)


def parse_cell(line: str, body: str) -> object:
    """The declaration in a ``%%mcc_tool`` cell: YAML; or, with a NAME on the line, the body as a command template.

    Raises ``DeclarationError``: with every problem of the line, or the first of the YAML.
    """
    if not line.strip():
        return _yaml(body)
    given = _read(line, TOOL_OPTIONS)
    if len(given.words) != 1 and not given.problems:
        given.wrong("", "write one name before the options: `%%mcc_tool NAME [options]`")
    if _YAML.match(body):
        given.wrong("", "the body is YAML; leave the first line at `%%mcc_tool`, without a name and options")
    return _tool(given, "".join(given.words[:1]), _lines(body))


def _yaml(body: str) -> object:
    try:
        found = parse_yaml(body, first_line=2)
    except DeclarationError as error:
        if _MAPPING.match(body):
            raise
        raise DeclarationError(Problem("", f"{error}; {_SCRIPT}")) from None
    if isinstance(found, str) or (isinstance(found, dict) and any(" " in key for key in [*found][:1])):
        raise DeclarationError(Problem("", f"expected a tool, a list of tools, or `tools:`; {_SCRIPT}"))
    return found


def parse_sh(line: str, body: str) -> dict[str, object]:
    """The anonymous tool of a ``%%mcc_sh`` cell. Its body is no template: what works under ``%%bash`` works here.

    Raises ``DeclarationError`` with every problem of the line.
    """
    given = _read(line, SH_OPTIONS)
    if given.words and not given.problems:
        given.wrong("", "takes options only; the commands stand in the cell")
    # Not `raw`: a body may hold the words that end it, and it takes away white space at its ends.
    return _tool(given, SH_NAME, _BEGINS_TAG.sub("{{ '{' }}", _lines(body)))


def _lines(body: str) -> str:
    return body.replace("\r\n", "\n")


def _read(line: str, table: Sequence[Option]) -> Given:
    try:
        return read_options(shlex.split(line), table)
    except ValueError:
        raise DeclarationError(Problem("", "a quote or a backslash on the line of the magic has no end")) from None


def _tool(given: Given, name: str, body: str) -> dict[str, object]:
    tool: dict[str, object] = {"name": name, "exec": body}
    tool |= {_LISTS[flag]: values for flag, values in given.values.items() if flag in _LISTS}
    tool |= {_TEXTS[flag]: values[-1] for flag, values in given.values.items() if flag in _TEXTS}
    tool |= {"stdin": True} if "--stdin" in given.values else {}
    if "--param" in given.values:
        tool["params"] = [_param(given, text) for text in given.values["--param"]]
    if "--env" in given.values:
        tool["env"] = _env(given)
    timeout = seconds_of(given, "--timeout")
    if timeout is not None:
        tool["limits"] = {"timeout": timeout}
    if given.problems:
        raise DeclarationError(*given.problems)
    return tool


def _param(given: Given, text: str) -> dict[str, object]:
    found = _PARAM.fullmatch(text)
    if found is None:
        given.wrong("--param", "expected NAME[?][:TYPE][=DEFAULT]")
        return {}
    written: dict[str, object] = {key: found[key] for key in ("name", "type", "default") if found[key] is not None}
    return written | ({"required": False} if found["optional"] else {})


def _env(given: Given) -> dict[str, str]:
    env: dict[str, str] = {}
    for text in given.values["--env"]:
        name, equals, value = text.partition("=")
        if not equals:
            given.wrong("--env", "expected NAME=VALUE")
        elif name in env:
            given.wrong("--env", f"`{name}` is given twice; keep one")
        env[name] = value
    return env
