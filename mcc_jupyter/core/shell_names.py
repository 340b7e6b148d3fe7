"""Names in a command text that will not be what their author meant (SPEC 3.2, 3.4): set by nobody, or kept by quotes.

1. It warns of what is surely a mistake: a name that the text itself may set, or asks for with a default, is none.
2. It looks at names only, those of the parent and those that the declaration gives.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from .errors import near
from .names import NAME, is_reserved
from .shell_code import arguments, code_program
from .shell_lexer import Quote, Script, Word, lex
from .tool import WARNING

SHELL_OWN = frozenset(
    """PWD OLDPWD IFS PPID OPTIND OPTARG OPTERR LINENO PS1 PS2 PS4 _ RANDOM SRANDOM SECONDS EPOCHSECONDS EPOCHREALTIME
    SHLVL UID EUID GROUPS BASH BASHPID BASHOPTS SHELLOPTS BASH_VERSION FUNCNAME PIPESTATUS DIRSTACK""".split()
)
"""The shell sets these itself; a value frozen at declaration would be wrong or ignored."""

_MAY_BE_SET = SHELL_OWN | frozenset("HOSTNAME HOSTTYPE OSTYPE MACHTYPE REPLY COLUMNS LINES BASH_REMATCH".split())
_SETTING = frozenset(
    "for select read getopts export local readonly declare typeset mapfile readarray printf let wait unset".split()
)
"""Commands that set the variables they name."""
_RUNNING = frozenset((".", "source", "eval"))
"""Commands that can set any variable."""
_BARE = re.compile(rf"(?<![$\\])\$({NAME.pattern})", re.A)
_IDENTIFIER = re.compile(NAME.pattern, re.A)


def unset_names(
    script: Script, *, parent: Mapping[str, str], given: frozenset[str], params: Collection[str]
) -> Iterator[str]:
    """A warning for each variable that is empty for certain: not in *parent*, not *given*, and not set in the text."""
    read = (Quote.NONE, Quote.DOUBLE, Quote.HEREDOC)
    asked = [item for item in script.expansions if item.quote in read and not item.escaped]
    plain = {item.name: None for item in asked if item.operator in ("", "}")}
    doubted = {item.name for item in asked if item.operator not in ("", "}")}
    known = parent.keys() | given | _MAY_BE_SET
    unknown = [name for name in plain if name not in known and not is_reserved(name)]
    if not unknown or any(_runs_anything(command.words) for command in script.commands):
        return
    doubted.update(_set_names(script))
    for name in unknown:
        if name in doubted or ("((" in script.masked and re.search(rf"(?<![\w$]){name}\b", script.masked, re.A)):
            continue
        if name in params:
            yield f"{WARNING}${name} is no variable but a parameter; write {{{{ {name} | quote }}}}"
            continue
        close = near(name, [*given, *parent], reach=5, cutoff=0.8)
        yield (
            f"{WARNING}${name} is not set here and nothing gives it{close}; "
            f"list it in required_env or optional_env, or write a default: ${{{name}:-…}}"
        )


def _runs_anything(words: list[Word]) -> bool:
    called = arguments(words)
    return bool(called) and called[0].literal in _RUNNING


def _set_names(script: Script) -> Iterator[str]:
    for command in script.commands:
        rest = arguments(command.words)
        assigned = command.words[: len(command.words) - len(rest)]
        named = rest[1:] if rest and rest[0].literal in _SETTING else []
        for word in (*assigned, *named):
            found = _IDENTIFIER.match("".join(piece for piece in word.pieces if isinstance(piece, str)))
            if found is not None:
                yield found[0]


def kept_names(text: str, *, parent: Mapping[str, str], given: Collection[str]) -> Iterator[str]:
    """A warning for each ``$NAME`` that single quotes keep from the shell, and no program reads as code."""
    if "'" not in text or not any(name in parent or name in given for name in _BARE.findall(text)):
        return
    # With braces the lexer tells where they stand: without, they are nothing to it in single quotes.
    pieces, starts, size, last = [], set(), 0, 0
    for found in _BARE.finditer(text):
        pieces += [text[last : found.start()], f"${{{found[1]}}}"]
        starts.add(size + len(pieces[-2]))
        size += len(pieces[-2]) + len(pieces[-1])
        last = found.end()
    braced = "".join([*pieces, text[last:]])
    for item in lex(braced).expansions:
        known = item.name in parent or item.name in given
        if item.start in starts and item.quote is Quote.SINGLE and known and not code_program(item, braced):
            yield f"{WARNING}${item.name} stays as written in single quotes; use double quotes"
