"""``%mcc_call NAME name=value …`` → a call, ``%mcc_session set name=value …`` → entries (SPEC 7.12, 6.2).

1. Words end at blanks outside quotes and brackets, and a word that begins with ``#`` there ends the line. A value that
   is quoted as a whole loses its quotes; every other one is text, which the parameter's type turns into what it means.
2. A message names arguments by name or position, never by value.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from .coerce import VARIABLE
from .errors import ArgumentError
from .options import Given, Option, read_options, seconds_of
from .schema import read_arguments

CALL_OPTIONS: Final = (
    Option("--json", "OBJECT", "all arguments as one JSON object"),
    Option("--no-raise-error", help="show a failure and go on"),
    Option("-o", "NAME", "keep the outcome in this variable"),
    Option("--spill", "FILE", "write all of its output to this new file"),
    Option("--timeout", "SECONDS", "end the tool after this time"),
)


@dataclass(frozen=True, slots=True)
class Call:
    """One call as written; ``arguments`` are not yet bound to parameters. ``timeout`` is in seconds."""

    name: str
    arguments: dict[str, object] = field(repr=False)
    raise_error: bool = True
    output: str | None = None
    timeout: float | None = None
    spill: str | None = None


def parse_call(line: str) -> Call:
    """The call on a magic line; raises ``ArgumentError`` with every problem, one a line."""
    given = read_options(_split(line), CALL_OPTIONS, _unquote)
    named = bool(given.words) and "=" not in given.words[0]
    if not named and not given.problems:
        given.wrong("", "write the tool's name first: `%mcc_call NAME name=value …`")
    arguments: dict[str, object] = {**_arguments(given.words[1 if named else 0 :], _unquote, given.wrong)}
    text = given.last("--json")
    if text is not None:
        if arguments:
            given.wrong("--json", "give it or NAME=VALUE arguments, not both")
        try:
            arguments = read_arguments(text)
        except ArgumentError as error:
            given.wrong("--json", str(error))
    output, timeout = given.last("-o"), seconds_of(given, "--timeout")
    if output is not None and (not output.isidentifier() or keyword.iskeyword(output)):
        given.wrong("-o", "expected the name of a variable")
    _raise(given)
    raising = "--no-raise-error" not in given.values
    return Call(given.words[0], arguments, raising, output, timeout, given.last("--spill"))


def unexpanded(entries: Mapping[str, object], variables: Container[str]) -> list[str]:
    """The names whose text looks as if IPython should have put one of its *variables* there, as ``!`` commands do."""
    return [
        name
        for name, value in entries.items()
        if isinstance(value, str)
        and (VARIABLE.fullmatch(value.strip()) or any(found[1] in variables for found in _EMBEDDED.finditer(value)))
    ]


_EMBEDDED = re.compile(r"(?:(?<!\{)\{|\$\{?)([^\W\d]\w*)")


def split_arguments(words: Sequence[str]) -> dict[str, object]:
    """NAME=VALUE words that a shell has already split; raises ``ArgumentError`` with every problem, one a line."""
    given = Given()
    arguments = _arguments(words, str, given.wrong)
    _raise(given)
    return {**arguments}


def parse_entries(line: str) -> dict[str, object]:
    """The entries of ``%mcc_session set KEY=VALUE …``: JSON where a value is JSON, else text; quoted it is always text.

    Blanks may stand around the first ``=``. Raises ``ArgumentError`` with every problem, one a line.
    """
    given = Given()
    found = _arguments(_split(_SPACED.sub(r"\1=", line)), str, given.wrong)
    _raise(given)
    return {key: _json_or_text(text) for key, text in found.items()}


_SPACED = re.compile(r"\A\s*(\w+)\s*=\s*")


def _json_or_text(written: str) -> object:
    try:
        return json.loads(written, parse_constant=str)
    except (ValueError, RecursionError):
        return _unquote(written)


def _raise(given: Given) -> None:
    if given.problems:
        raise ArgumentError("\n".join(str(problem) for problem in given.problems))


def _arguments(
    words: Sequence[str], unquote: Callable[[str], str], wrong: Callable[[str, str], None]
) -> dict[str, str]:
    pairs = [word.partition("=") for word in words]
    strange = [str(at) for at, (name, equals, _) in enumerate(pairs, 1) if not equals or not name.isidentifier()]
    if strange:
        listed = ", ".join((*strange[:_MOST_TOLD], *("…" for _ in strange[_MOST_TOLD : _MOST_TOLD + 1])))
        place = f"argument{'s' if len(strange) > 1 else ''} {listed}"
        wrong(place, "expected NAME=VALUE; quote a value that holds blanks")
    found: dict[str, str] = {}
    for name, equals, value in pairs:
        if not equals or not name.isidentifier():
            continue
        if name in found:
            wrong("", f"the argument `{name}` is given twice; keep one")
        else:
            found[name] = unquote(value)
    return found


_MOST_TOLD = 8
"""So many places of one mistake are told."""


_PAIRS = {"(": ")", "[": "]", "{": "}"}
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'", re.S)


def _split(line: str) -> list[str]:
    words, word, quote, escaped = [], "", "", False
    brackets: list[str] = []
    for character in line.strip() + " ":
        if quote:
            if not escaped and character == quote:
                quote = ""
            escaped = not escaped and character == "\\" and quote == '"'
        elif character == "#" and not word and not brackets:
            break
        elif character in "\"'" and not word[-1:].isalnum():  # the one in `don't` opens nothing
            quote = character
        elif character in _PAIRS:
            brackets.append(_PAIRS[character])
        elif brackets and character == brackets[-1]:
            brackets.pop()
        elif character.isspace() and not brackets:
            words += [word] if word else []
            word = ""
            continue
        word += character
    if quote or brackets:
        raise ArgumentError(
            f"a {'quote' if quote else 'bracket'} is not closed; quote a value that holds one as a whole"
        )
    return words


def _unquote(value: str) -> str:
    if not _QUOTED.fullmatch(value):
        return value
    return re.sub(r'\\(["\\])', r"\1", value[1:-1]) if value[0] == '"' else value[1:-1]
