"""The text of a ``curl`` tool → what its author should know of variables and parameters in it (SPEC 3.4, 7.2).

1. Where a shell reads the text, what a variable holds is in curl's argv.
2. Several options of curl read a file that their value names, and a value that is one parameter is the caller's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from .shell_lexer import Command, Expansion, Quote, Tag, lex
from .shell_template import Exposure
from .tool import WARNING

_RAW = "by @; use --data-raw"
_HEADER = "by @; write the header's name before it"
_FORM = "by @ or <; use --form-string"
_COOKIE = "by its name; write the cookie's name and = before it"

_SENDS: Final[Mapping[str, str]] = {
    "-d": _RAW,
    "--data": _RAW,
    "--data-ascii": _RAW,
    "--data-binary": _RAW,
    "--data-urlencode": "by @; write = before it",
    "--json": "by @; use --data-raw and the header Content-Type",
    "-H": _HEADER,
    "--header": _HEADER,
    "--proxy-header": _HEADER,
    "-F": _FORM,
    "--form": _FORM,
    "-b": _COOKIE,
    "--cookie": _COOKIE,
    "-T": "by its name; write the name of the file, or use --data-raw",
    "--upload-file": "by its name; write the name of the file, or use --data-raw",
}
"""How a value of the option names a file, and what to write instead."""


def variables(rest: str) -> tuple[str, ...]:
    """The variables that the shell puts into the arguments of curl, once each; *rest* follows ``curl``."""
    script = lex(f"curl {rest}")
    # Single quotes keep out all but ``${NAME}``. Here-documents and comments are in no word.
    found = (item for item in script.expansions if item.quote is not Quote.SINGLE or item.operator == "}")
    return tuple(dict.fromkeys(item.name for item in found if not item.escaped and _is_curl(item)))


def _is_curl(item: Expansion | Tag) -> bool:
    """Whether *item* stands in a word of curl, so not in a redirection, another command or a substitution."""
    words = item.command.words
    return item.index < len(words) and words[0].literal == "curl" and item in words[item.index].pieces


def file_notes(rest: str, params: Mapping[str, str]) -> Iterator[str]:
    """One note for each parameter by which a caller names a file that curl sends; *params* as in ``prepare``."""
    script = lex(f"curl {rest}")
    exposure = Exposure(params)
    for tag in script.tags:
        if not tag.is_expression:
            exposure.statement(tag.text)
            continue
        name = exposure.leading(tag.text)
        how = _sends(tag.command, tag) if name and _is_curl(tag) else ""
        if how:
            yield f"{WARNING}a caller can send a file through `{name}` {how}"


def _sends(command: Command, tag: Tag) -> str:
    """How the value that *tag* begins is a file's name; empty where it is none."""
    pieces = command.words[tag.index].pieces
    pieces = pieces[: pieces.index(tag)]
    before = "".join(piece for piece in pieces if isinstance(piece, str))
    if not all(isinstance(piece, str) for piece in pieces):
        return ""
    attached = re.match(r"-[A-Za-z0-9#]*?([dHFbT])", before) if not before.startswith("--") else None
    if attached:
        option, before = f"-{attached[1]}", before[attached.end() :]
    else:
        option = command.words[tag.index - 1].literal or ""
        if re.match(r"-[A-Za-z0-9#]+[dHFbT]\Z", option):  # -sSd
            option = f"-{option[-1]}"
    how = _SENDS.get(option, "")
    return how if not before or (how == _FORM and re.fullmatch("[^=]*=", before)) else ""
