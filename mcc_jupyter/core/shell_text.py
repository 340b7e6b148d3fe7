"""A command text as written → a template that is safe to hand to a shell, or plain words for a program (SPEC 3.4, 7.2).

1. A value is never put into the text: the shell expands a variable where it stands, so no value changes the parse.
2. Only the four forms of SPEC 3.1 refer to the parent. All else that begins with ``$`` is the shell's own business.
3. Notes and problems name variables and parameters, never what they hold, and end with what to do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from .references import scan
from .shell_code import arguments, code_program, code_reader
from .shell_lexer import Expansion, Quote, Script, Tag, Word, lex
from .shell_names import SHELL_OWN, kept_names, unset_names
from .shell_template import GONE, TAG, Exposure, spans
from .tool import WARNING, Reference


@dataclass(frozen=True, slots=True)
class Prepared:
    """A command text, ready. ``notes`` are what its author should know, ``problems`` the declaration's errors."""

    template: str = field(repr=False)
    references: tuple[Reference, ...]
    notes: tuple[str, ...]
    problems: tuple[str, ...]


def prepare(
    text: str,
    *,
    provided: Callable[[str], bool],
    parent: Mapping[str, str],
    params: Mapping[str, str],
    given: frozenset[str] | None = None,
    runs: bool = True,
) -> Prepared:
    """Read *text*, a template of a shell script; raises nothing (Jinja2's own syntax is checked in ``template``).

    ``provided`` tells by name what floor, patterns, grants or ``env`` bring: those names are left to the shell. Another
    name that *parent* has becomes a reference. *params* gives the type of each parameter, for the warnings of SPEC 7.2.
    *given* are the names that the declaration brings by name; None: it may bring any, so that none can be missed.
    *runs*: a shell reads the text; where it does not, nobody can run a command through a parameter.
    """
    script = lex(text)
    edits: list[tuple[int, int, str]] = []
    references: dict[str, Reference] = {}
    notes: list[str] = []
    problems: list[str] = []
    for found in script.expansions:
        # `${X%y}`, `${X:=d}` and their like are no references: SPEC 3.1 leaves them as they are. The parent's value
        # would come as a surprise there, because scripts use them on variables of their own.
        if found.operator not in ("", "}", "|", ":-") or found.quote is Quote.COMMENT:
            continue
        expands = found.quote in (Quote.NONE, Quote.DOUBLE, Quote.HEREDOC)
        obstacle = None if expands else _obstacle(found, text)
        if obstacle:
            notes.append(f"{WARNING}{_shown(found)} {obstacle}")
            continue
        if found.escaped:
            edits.append((found.start, found.start + 1, ""))
            continue
        if not expands:
            edits.append((found.start, found.end, f"'\"${{{found.name}-\\${{{found.name}\\}}}}\"'"))
            notes.append(
                f"{_shown(found)} in single quotes is expanded; use double quotes to say so, or write "
                f"$${{{found.name}}} to keep it as written"
            )
        if found.operator == "|":
            start, end = found.operand
            edits.append((start - 1, start, "-"))
            if re.search(r"""['"`\\{]""", script.masked[start:end]):
                problems.append(
                    f"the default of {_shown(found)} holds a quote or a brace; write it the shell's way, "
                    f"${{{found.name}-…}}"
                )
        if found.name in parent and found.name not in SHELL_OWN and not provided(found.name):
            references[found.name] = Reference(found.name, parent[found.name])
    if given is not None:
        notes += unset_names(script, parent=parent, given=given, params=params)
    notes += kept_names(text, parent=parent, given=given or ())
    notes += [note for note in _warnings(script, params) if runs or not note.startswith(_DANGER)]
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return Prepared(text, tuple(references.values()), tuple(dict.fromkeys(notes)), tuple(dict.fromkeys(problems)))


def _shown(found: Expansion) -> str:
    return f"${{{found.name}{found.operator}…}}" if found.operator in ("|", ":-") else f"${{{found.name}}}"


def _obstacle(found: Expansion, text: str) -> str | None:
    """Why ``${NAME}``, which the shell does not expand where it stands, is not made an expansion (SPEC 3.4)."""
    if found.quote is Quote.QUOTED_HEREDOC:
        return "stays as written in a here-document with a quoted delimiter; write the delimiter without quotes"
    reader = code_program(found, text)
    if reader:
        return f"stays as written in an argument of {reader}, which reads it as code; pass it as an argument of its own"
    if found.operator != "}":
        return "stays as written in single quotes; use double quotes"
    if found.backquoted:
        return "stays as written in single quotes inside backquotes; use $( ) instead of backquotes"
    return None


_BUILTIN = frozenset(
    """. : [ alias bg break case cd command continue echo eval exec exit export false fg for function getopts hash jobs
    kill local printf pwd read readonly return select set shift source test times trap true type ulimit umask unalias
    unset wait""".split()
)
_WITHOUT_OPTIONS = frozenset("echo printf test [ : exit return case for set".split())
"""Commands for which ``--`` is no help, or which have nothing to fear."""


_DANGER = f"{WARNING}a caller can run commands through"


def _warnings(script: Script, params: Mapping[str, str]) -> Iterator[str]:
    """SPEC 7.2: parameters that reach the shell unquoted, and ``quote`` where it does not protect."""
    exposure = Exposure(params)
    for tag in script.tags:
        if not tag.is_expression:
            exposure.statement(tag.text)
            continue
        tree = exposure.tree(tag.text)
        if tree is None:
            continue
        inside = tag.quote is not Quote.NONE
        single = tag.quote in (Quote.SINGLE, Quote.QUOTED_HEREDOC, Quote.COMMENT)
        bare = exposure.unquoted(tree, quoted=inside, single=single)
        for name in bare:
            place, outside = (f" {tag.quote.value}", " outside quotes") if inside else ("", "")
            yield f"{_DANGER} `{name}`{place}; write {{{{ {name} | quote }}}}{outside}"
        reader = code_reader(tag, script.source)
        for name in exposure.quoted(tree):
            if inside:
                yield f"{_DANGER} `{name}`, which `quote` does not protect {tag.quote.value}; take it out of there"
            elif tag.backquoted:
                instead = "use $( ) instead of backquotes"
                yield f"{_DANGER} `{name}`, which `quote` does not protect in backquotes; {instead}"
            elif reader is not None:
                yield f"{_DANGER} `{name}`, because {reader[0]} reads it as code; {reader[1]}"
            elif not bare and _may_be_an_option(tag):
                yield f"{WARNING}a caller can give options through `{name}`; write -- before {{{{ {name} | quote }}}}"


def _may_be_an_option(tag: Tag) -> bool:
    words = [word.literal or "" for word in arguments(tag.command.words[: tag.index])]
    if not tag.leads or not words or words[0] in _WITHOUT_OPTIONS or "--" in words:
        return False
    return re.fullmatch(r"-[A-Za-z0-9]|--[\w-]+", words[-1]) is None  # what follows `-H` is its value


def programs(text: str) -> tuple[str, ...]:
    """The programs a script starts, as far as it names them literally; in order, each once (SPEC 7.13)."""
    script = lex(text)
    found: dict[str, None] = {}
    for command in sorted(script.commands, key=lambda command: command.words[0].start):
        words = [word.literal for word in arguments(command.words)]
        while words and (words[0] in ("exec", "command") or (words[0] or "").startswith("-")):
            del words[0]
        if words and words[0] and words[0] not in _BUILTIN and words[0] not in script.functions:
            found[words[0]] = None
    return tuple(found)


class _Call(str):
    """A Jinja2 expression, told from literal text by its type."""

    __slots__ = ()


def argument(text: str) -> tuple[str, tuple[str, ...]]:
    """One item of an argv list → its Jinja2 template and the variables it refers to (SPEC 3.1, 3.4).

    Outside tags ``$NAME`` and its three sisters become calls of ``mcc_env``, which the renderer supplies.
    """
    names: dict[str, None] = {}

    def build(name: str, _written: str, default: list[str | _Call] | None, if_empty: bool) -> list[str | _Call]:
        names[name] = None
        return [_call(name, default, if_empty)]

    pieces: list[str] = []
    at, raw = 0, False
    for span in [*spans(text), None]:
        parts: list[str | _Call] = scan(text[at : span.start if span else len(text)], build)
        for part in parts:
            if not isinstance(part, _Call):
                pieces.append(part)
            elif raw:
                pieces.append(f"{{%+ endraw %}}{{{{ {part} }}}}{{% raw %}}")
            else:
                if pieces and pieces[-1].endswith("{"):  # {$X: two braces more would be one too many
                    pieces[-1] = pieces[-1][:-1] + _BRACE
                pieces.append(f"{{{{ {part} }}}}")
        if span:
            pieces.append(text[span.start : span.end])
            at, raw = span.end, span.kind == "raw"
    return "".join(pieces), tuple(names)


_BRACE = "{{ '{' }}"


def _call(name: str, default: list[str | _Call] | None, if_empty: bool) -> _Call:
    if default is None:
        return _Call(f"mcc_env('{name}')")
    parts = [part if isinstance(part, _Call) else repr(part) for part in default if part] or ["''"]
    return _Call(f"mcc_env('{name}', {' ~ '.join(parts)}{', true' * if_empty})")


_CONTINUED = re.compile(rf"(?:#[^\n{GONE}{TAG}]*)?\n(?:[ \t\n{GONE}]|#[^\n{GONE}{TAG}]*\n)*(?=-|\"|'|https?://|{TAG})")
_LINE_END = re.compile(r"#[^\n]*|\n")


def one_line(text: str) -> str:
    """The arguments of ``curl`` with those lines joined that cannot be commands of their own.

    Only a line end that the shell would take for the end of the command, and only where the next line begins with
    ``-``, a quote, an address or ``{{``; comments between the two go. Every other line end keeps its meaning.
    """
    before = len("curl ")
    script = lex(f"curl {text}")
    edits: list[tuple[int, int]] = []
    joined = 0
    for at in script.ends:
        found = _CONTINUED.match(script.masked, at)
        if found is None and at >= joined:
            break
        if found is not None and at >= joined:
            joined = found.end()
            edits += [end.span() for end in _LINE_END.finditer(script.masked, at, joined)]
    for start, end in reversed(edits):
        text = f"{text[: start - before]} {text[end - before :]}"
    return text


def plain_words(text: str, *, params: Mapping[str, str] | None = None) -> tuple[str, ...] | None:
    """The arguments of a command → one Jinja2 template a word, quotes removed; None where only a shell will do.

    A variable becomes a call of ``mcc_env``, with what the shell makes of it when it is unset. None for operators,
    redirections, substitutions, patterns and comments, for a statement across words, and for a word that is one
    unquoted variable or textual parameter: the shell may make several words of it, or none. *params* as in ``prepare``.
    """
    script = lex(f"curl {text.lstrip()}")  # arguments: neither `if` nor `A=b` means anything to the shell here
    if not script.plain or len(script.commands) != 1:
        return None
    exposure = Exposure(params or {})
    statements = [tag for tag in script.tags if not tag.is_expression]
    for tag in statements:
        exposure.statement(tag.text)
    templates: list[str] = []
    for word in script.commands[0].words[1:]:
        pieces = [_without_shell(piece, word, script, exposure) for piece in word.pieces]
        template = "".join(piece for piece in pieces if piece)
        # The ? of an address matches no file.
        pattern = word.pattern and not (isinstance(word.pieces[0], str) and re.match("https?://", word.pieces[0]))
        if word.special or pattern or None in pieces:
            return None
        if "{%" in template and exposure.tree(template) is None:
            return None  # a statement that another word ends
        templates.append(template)
    whole = sum(piece in statements for word in script.commands[0].words for piece in word.pieces)
    return tuple(templates) if whole == len(statements) else None


def _without_shell(piece: str | Expansion | Tag, word: Word, script: Script, exposure: Exposure) -> str | None:
    """The template of one piece; None where the shell does more than put it there."""
    if isinstance(piece, str):
        return piece.replace("{", _BRACE)
    alone = piece.quote is Quote.NONE and all(other in ("", piece) for other in word.pieces)
    if isinstance(piece, Tag):
        return _tag_without_shell(piece, alone, exposure)
    if piece.quote is Quote.SINGLE:
        if piece.operator == "}" and not piece.escaped:
            return f"{{{{ {_call(piece.name, None, False)} }}}}"
        return script.masked[piece.start + piece.escaped : piece.end].replace("{", _BRACE)
    default = piece.default.literal
    splits = piece.default.pattern or (piece.quote is Quote.NONE and re.search(r"\s", default or ""))
    refused = piece.operator == "?" or (piece.operator == "|" and piece.escaped)
    if alone or refused or splits or default is None:
        return None
    return f"{{{{ {_call(piece.name, [default], piece.operator == ':-')} }}}}"


_QUOTE_AT_END = re.compile(r"\|\s*quote\s*(?:\(\s*\))?\s*$")


def _tag_without_shell(tag: Tag, alone: bool, exposure: Exposure) -> str | None:
    # White space around the tag is settled already: trimming again could take the word's own.
    inner = re.sub(r"^[-+]|[-+]$", "", tag.text[2:-2])
    if not tag.is_expression:
        return f"{{%+ {inner} +%}}"
    tree = exposure.tree(tag.text)
    if tree is None:
        return None
    if exposure.has_quote(tree):  # the shell would take the quotes off again
        if tag.quote is not Quote.NONE or exposure.unquoted(tree) or any(map(exposure.is_list, exposure.quoted(tree))):
            return None
        inner = _QUOTE_AT_END.sub("", inner)
        tree = exposure.tree(f"{{{{ {inner} }}}}")
        return None if tree is None or exposure.has_quote(tree) else f"{{{{ {inner} }}}}"
    return None if alone and exposure.unquoted(tree) else f"{{{{ {inner} }}}}"
