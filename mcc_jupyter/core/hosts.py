"""The text of a command → the hosts it names (SPEC 9.8).

1. A host is told only where it stands in the text; where a template, a variable or an option nobody knows decides, it
   is ``dynamic``, which stands for every host.
2. User and password of an address are never part of an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .curl_config import options
from .shell_code import STARTERS, arguments
from .shell_lexer import Word, lex
from .shell_template import TAG
from .tool import Argv, Curl, Shell, Tool

DYNAMIC: Final = "dynamic"

_ADDRESS = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?//", re.A)
_HOST = re.compile(r"(?:[^@]*@)?([\w.-]+|\[[0-9A-Fa-f:.]+\])(?::\d*)?")
_ADDRESSES = frozenset("--url -x --proxy --preproxy --socks4 --socks4a --socks5 --socks5-hostname".split())
_ELSEWHERE = frozenset(
    "-K --config --connect-to --resolve --doh-url --variable --unix-socket --abstract-unix-socket".split()
)
"""Options that send a request to where the address does not say."""

_PRINTING = frozenset("echo printf".split())


def hosts(tool: Tool) -> frozenset[str]:
    """The hosts in a tool's commands, in small letters and without a port."""
    found: set[str] = set()
    if isinstance(tool.body, Argv):
        found.update(_in_command([_masked(text) for text in tool.body.written]))
    texts = [tool.body.template] if isinstance(tool.body, Shell) else []
    texts += [tool.body.shell.template] if isinstance(tool.body, Curl) else []
    texts += [tool.transform.template] if tool.transform is not None else []
    for text in texts:
        for command in lex(text).commands:
            found.update(_in_command([_skeleton(word, text) for word in arguments(command.words)]))
    if isinstance(tool.body, Curl) and not found:
        found.add(DYNAMIC)
    return frozenset(found)


def _masked(text: str) -> str:
    return re.sub(r"\{\{.*?\}\}|\{%.*?%\}|\$(?=[A-Za-z_{])", TAG, text, flags=re.S)


def _skeleton(word: Word, source: str) -> str:
    """The text of a word, with a mark for each part that is not known before it runs."""
    text = "".join(piece if isinstance(piece, str) else TAG for piece in word.pieces)
    if not word.special:
        return text
    begins = re.match(r"""["']?([a-z][a-z0-9+.-]*://[\w.-]+[/?#])""", source[word.start : word.end], re.A)
    return begins[1] if begins else TAG + text


def _in_command(words: list[str]) -> Iterator[str]:
    if not words or words[0] in _PRINTING:
        return
    for at, word in enumerate(words):
        if word.rpartition("/")[2] == "curl" and (at == 0 or words[0] in STARTERS):
            given = options(words[at + 1 :])
            if given is not None:
                yield from (_host(value) for option, value in given if option in _ADDRESSES)
                yield from (DYNAMIC for option, _ in given if option in _ELSEWHERE)
                return
            yield DYNAMIC
    yield from (_host(word) for word in words if _ADDRESS.match(word) and not word.startswith("//"))


def _host(address: str) -> str:
    if address.startswith("@"):  # a file of addresses
        return DYNAMIC
    scheme = _ADDRESS.match(address)
    if scheme and (scheme[1] or "").lower() == "file":
        return "file:"
    authority = re.split(r"[/?#\\]", address[scheme.end() if scheme else 0 :], maxsplit=1)[0]
    found = _HOST.fullmatch(authority) if TAG not in authority else None
    if found is None:
        return DYNAMIC
    host = found[1].lower().rstrip(".")
    return f"{DYNAMIC}." if host == DYNAMIC else host or DYNAMIC
