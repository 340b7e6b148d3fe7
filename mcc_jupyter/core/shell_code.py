"""A quoted parameter in a command → the program that reads it as code all the same (SPEC 7.2).

1. ``quote`` makes one word; what a program does with the word is its own affair, and ``eval`` runs it.
2. Only the word that is code counts: in ``sh -c '… "$1"' sh {{ x | quote }}`` the parameter is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .shell_lexer import Expansion, Tag, Word

SHELLS = re.compile(r"(?:ba|da|a|k|mk|z|fi)?sh|su|busybox|python[\d.]*|pypy[\d.]*", re.A)
SCRIPTING = re.compile(r"perl|ruby|node|php|lua|Rscript|julia|osascript", re.A)

STARTERS = frozenset("builtin command doas env exec nice nohup setsid sudo time timeout xargs".split())
"""Programs that start what their arguments name, so that more than the first word may be a program."""

_PRINTING = frozenset("echo printf".split())
_WITH_ARGUMENT = {"ssh": "BbcDEeFIiJLlmOopQRSWw", "awk": "Ffv"}
_VALUED = ("-o", "-O", "-W", "-X")
_AWKS = frozenset("awk gawk mawk nawk".split())


_READERS = frozenset("eval ssh awk gawk mawk nawk jq gojq jaq yq trap envsubst".split())


def code_program(found: Expansion, text: str) -> str | None:
    """The program that reads its argument as code or as a pattern of its own: ``ssh``, ``sh -c`` …

    Any word before it counts, because programs start others: ``sudo sh -c``, ``xargs awk``, ``docker exec box sh -c``.
    """
    words = found.command.words[: found.index + 1]
    for at, word in enumerate(words[: found.index]):
        program = (word.literal or "").rpartition("/")[2]
        if program in _READERS:
            return program
        letters = "eEpr" if SCRIPTING.fullmatch(program) else "c"
        if letters == "c" and not (SHELLS.fullmatch(program) or (at == 0 and word.literal is None)):
            continue
        for option in words[at + 1 :]:
            flag = re.match(rf"-[A-Za-z]*[{letters}]", text[option.start : option.end], re.A)
            if flag:
                return f"{program or 'a program named by a variable'} {flag[0]}"
    return None


def arguments(words: list[Word]) -> list[Word]:
    """The words of a command without the assignments before it."""
    for at, word in enumerate(words):
        if not isinstance(word.pieces[0], str) or not re.match(r"[A-Za-z_]\w*=", word.pieces[0], re.A):
            return words[at:]
    return []


def code_reader(tag: Tag, source: str) -> tuple[str, str] | None:
    """The program that reads the word of *tag* as code, and what to do instead; None where it is an argument.

    *source* is the text that the tag stands in.
    """
    words = arguments(tag.command.words[: tag.index + 1])
    index = len(words) - 1
    if index < 1 or words[0].literal in _PRINTING or tag not in words[index].pieces:
        return None  # the last of it: the tag stands in a redirection
    for at, word in enumerate(words[:index]):
        program = (word.literal or "").rpartition("/")[2]
        if (at == 0 or words[0].literal in STARTERS) and (instead := _alone(program, words, at, index)):
            return f"`{program}`", instead
        letters = "eEpr" if SCRIPTING.fullmatch(program) else "c" if SHELLS.fullmatch(program) else ""
        if letters and (flag := _flag(program, letters, words, at, tag, source)):
            return f"`{program} {flag}`", "pass it as an argument after the code"
    return None


def _alone(program: str, words: list[Word], at: int, index: int) -> str:
    """What to do instead, for a program that takes code without an option; empty where the word is none."""
    if program == "eval":
        return "leave `eval` out"
    if program == "trap" and index == at + 1:
        return "put it into a variable before, and name that in the code"
    if program == "ssh" and index > next(_operands("ssh", words, at), index):
        return "send it on standard input"
    if program in _AWKS and index == next(_operands("awk", words, at), 0):
        return "give it with -v"
    return ""


def _operands(program: str, words: list[Word], at: int) -> Iterator[int]:
    """Where the arguments of the program at *at* stand that are no option and no option's value."""
    value = False
    for place in range(at + 1, len(words)):
        first = words[place].pieces[0]
        text = first if isinstance(first, str) else ""
        if value or text.startswith("-"):
            taking = rf"-[A-Za-z0-9]*[{_WITH_ARGUMENT[program]}]"
            value = not value and re.fullmatch(taking, words[place].literal or "") is not None
        else:
            yield place


def _flag(program: str, letters: str, words: list[Word], at: int, tag: Tag, source: str) -> str:
    """The option after which the word of *tag* is code, or with which it begins; empty where there is none."""
    index = len(words) - 1
    for place in range(at + 1, index + 1):
        option = words[place]
        text = source[option.start : min(option.end, tag.start)]
        flag = re.match(rf"-[A-Za-z]*[{letters}][A-Za-z]*", text, re.A)
        if flag:
            # Options may stand between: `sh -c -e CODE`.
            code = [later for later in range(place + 1, index) if not (words[later].literal or "").startswith("-")]
            attached = flag.end() < len(text) and place < index
            return "" if code or attached else flag[0]
        if not text.startswith("-") and program != "su" and words[place - 1].literal not in _VALUED:
            break  # a script's name: the options that follow are its own
    return ""
