"""Shell text that is a Jinja2 template → its commands, words, ``$`` expansions and tags, each with its quoting.

1. A tag is opaque: no character in ``{{ }}`` is shell text. What stands in a ``{% raw %}`` block is.
2. It reads what ``sh`` reads and never fails: of a text that ``sh`` would refuse, it finds what it can.
3. Positions are offsets in the text as given, so that a reader can edit it in place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

from .names import NAME
from .shell_template import GONE, TAG, mask


class Quote(Enum):
    """Who reads the characters at a place."""

    NONE = "outside quotes"
    DOUBLE = "in double quotes"
    SINGLE = "in single quotes"
    HEREDOC = "in a here-document"
    QUOTED_HEREDOC = "in a here-document with a quoted delimiter"
    COMMENT = "in a comment"


@dataclass(slots=True, eq=False)
class Word:
    """One word: literal text (quotes removed), expansions and tags.

    ``special``: it holds more than that, ``$( )`` or ``$1`` for example. ``pattern``: outside quotes it holds a
    character of a pattern, a brace or a leading ``~``.
    """

    start: int
    end: int = 0
    pieces: list[str | Expansion | Tag] = field(default_factory=list)
    special: bool = False
    pattern: bool = False

    @property
    def literal(self) -> str | None:
        """The text of a word in which nothing is expanded, else None."""
        text = "".join(piece for piece in self.pieces if isinstance(piece, str))
        return None if self.special or any(not isinstance(piece, str) for piece in self.pieces) else text


@dataclass(slots=True, eq=False)
class Command:
    """One simple command. Redirections are no words of it."""

    words: list[Word] = field(default_factory=list)


@dataclass(slots=True, eq=False, kw_only=True)
class Place:
    """Where something stands: in which quoting, and in word ``index`` of ``command``."""

    start: int
    end: int
    quote: Quote
    command: Command
    index: int
    backquoted: bool


@dataclass(slots=True, eq=False, kw_only=True)
class Expansion(Place):
    """``$NAME`` or ``${NAME…}``, whether the shell expands it or, for its quoting, does not."""

    name: str
    operator: str
    """What follows the name: ``}``, ``|``, ``:-``, ``-`` or whatever else; empty for ``$NAME``."""
    operand: tuple[int, int]
    """Where the text between operator and ``}`` stands."""
    default: Word
    """The same, read."""
    escaped: bool
    """Written ``$$NAME``; ``start`` is the first ``$``."""


@dataclass(slots=True, eq=False, kw_only=True)
class Tag(Place):
    """``{{ … }}`` or ``{% … %}``. ``leads``: an argument begins with it, outside quotes."""

    text: str
    leads: bool

    @property
    def is_expression(self) -> bool:
        return self.text.startswith("{{")


@dataclass(slots=True)
class Script:
    """All that ``lex`` found. ``plain``: one command at most, and no word or operator that needs a shell."""

    source: str = field(repr=False)
    masked: str = field(repr=False)
    commands: list[Command] = field(default_factory=list)
    expansions: list[Expansion] = field(default_factory=list)
    tags: list[Tag] = field(default_factory=list)
    functions: set[str] = field(default_factory=set)
    ends: list[int] = field(default_factory=list)
    """Where a command that is inside no other may end: newlines, comments, operators, here-documents; in order."""
    plain: bool = True


def lex(text: str) -> Script:
    """Read *text* as ``sh`` would; raises nothing."""
    lexer = _Lexer(text)
    lexer.script("")
    lexer.found.expansions.sort(key=lambda expansion: expansion.start)
    return lexer.found


_RESERVED = frozenset("if then else elif fi do done while until ! { }".split())
_DEPTH = 40
"""Deeper nesting is read as text, so that no text exhausts Python's stack."""

_NAME = NAME.pattern
_RUN = re.compile(r"[\w./:=,@%+^-]+")
_PATTERN = frozenset("*?[]{}")
_PARAMETER = re.compile(rf"(\$(?=\$\{{?[A-Za-z_]))?\$(?:({_NAME})|\{{({_NAME})(:-|[|}}-]|))")
_SPECIAL_PARAMETER = re.compile(r"\$[0-9@*#?$!-]")
_WRITTEN = re.compile(rf"(\$)?\$\{{({_NAME})(\}}|:-|\|)(?:(?<=\}})|([^}}{GONE}{TAG}]*)\}})")
_FUNCTION = re.compile(r"\([ \t]*\)")
_REDIRECTION = re.compile(r"<<-|<<<|<<|[<>]&|>>|>\||<>|[<>]")
_DELIMITER = re.compile(r"""[ \t]*((?:\\.|'[^']*'|"[^"]*"|[^\s;&|<>()'"\\])+)""", re.S)
_QUOTING = re.compile(r"""\\(.)|['"]""", re.S)


class _Lexer:
    def __init__(self, text: str) -> None:
        self.source = text
        self.text, self.gone, self.spans = mask(text)
        self.found = Script(text, self.text)
        self.at, self.end = 0, len(text)
        self.command = Command()
        self.word: Word | None = None
        self.redirecting = False
        self.heredocs: list[tuple[str, bool, bool]] = []
        self.cases, self.in_pattern = 0, False
        self.depth = self.backquotes = 0

    # Commands

    def script(self, until: str) -> None:
        """Commands up to the character *until*, which is passed too."""
        outer = self.command, self.word, self.redirecting, self.cases, self.in_pattern
        self.command, self.word, self.redirecting, self.cases, self.in_pattern = Command(), None, False, 0, False
        self.depth += 1
        parentheses = 0
        while self.at < self.end:
            char = self.text[self.at]
            if char == until and (until == "`" or not (parentheses or self.cases)):
                break
            if char in " \t":
                self.end_word()
                self.at += 1
            elif char == "\n":
                self.may_end()
                self.end_command()
                self.at += 1
                self.read_heredocs()
            elif char == "#" and self.word is None:
                self.comment()
            elif char in "<>":
                self.redirection()
            elif char in ";&|()":
                parentheses = self.operator(char, parentheses)
            else:
                self.piece(Quote.NONE)
        self.end_command()
        self.at = min(self.at + 1, self.end)
        self.depth -= 1
        self.command, self.word, self.redirecting, self.cases, self.in_pattern = outer

    def end_word(self) -> None:
        word, self.word = self.word, None
        if word is None:
            return
        word.end = self.at
        if self.redirecting:
            self.redirecting = False
            return
        self.command.words.append(word)
        if len(self.command.words) > 1:
            return
        match self.source[word.start : word.end]:  # as written: a quoted `if` is a command
            case "case":
                self.cases, self.in_pattern = self.cases + 1, True
            case "esac":
                self.cases, self.in_pattern, self.command = max(self.cases - 1, 0), False, Command()
            case written if written in _RESERVED:
                self.command = Command()

    def end_command(self) -> None:
        self.end_word()
        if self.command.words and not self.in_pattern:
            self.found.commands.append(self.command)
        self.command, self.redirecting = Command(), False

    def may_end(self) -> None:
        if self.depth == 1:
            self.found.ends.append(self.at)

    def operator(self, char: str, parentheses: int) -> int:
        """``;`` ``&`` ``|`` ``(`` ``)``; answers how many parentheses are open."""
        self.found.plain = False
        self.may_end()
        self.end_word()
        definition = _FUNCTION.match(self.text, self.at, self.end)
        if definition and len(self.command.words) == 1:
            self.found.functions.add(self.command.words[0].literal or "")
            self.command, self.at = Command(), definition.end()
            return parentheses
        self.end_command()
        self.at += 1
        if char == "(" and not self.in_pattern:
            return parentheses + 1
        if char == ")" and parentheses:
            return parentheses - 1
        if char == ")":
            self.in_pattern = False
        elif char == ";" and self.cases and self.text.startswith(";", self.at, self.end):
            self.at, self.in_pattern = self.at + 1, True
        return parentheses

    def comment(self) -> None:
        self.found.plain = False
        self.may_end()
        self.word = Word(self.at)
        stop = self.find("`", self.at, self.end) if self.backquotes else self.end
        self.verbatim(Quote.COMMENT, self.find("\n", self.at, stop))
        self.word = None

    def redirection(self) -> None:
        self.found.plain = False
        if self.word is not None and self.source[self.word.start : self.at].isdigit():
            self.word = None  # 2>file: the digits name the descriptor
        self.end_word()
        match = _REDIRECTION.match(self.text, self.at, self.end)
        assert match is not None
        self.at = match.end()
        if match[0] not in ("<<", "<<-"):
            self.redirecting = True
        elif delimiter := _DELIMITER.match(self.text, self.at, self.end):
            self.may_end()
            plain = _QUOTING.sub(r"\1", delimiter[1])
            self.heredocs.append((plain, plain != delimiter[1], match[0] == "<<-"))
            self.at = delimiter.end()

    def read_heredocs(self) -> None:
        pending, self.heredocs = self.heredocs, []
        for delimiter, quoted, tabs in pending:
            stop = self.at
            line_end = self.end
            while stop < self.end:
                line_end = self.find("\n", stop, self.end)
                line = self.text[stop:line_end].replace(GONE, "")
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
                stop = min(line_end + 1, self.end)
            outer, self.end, self.word = self.end, stop, Word(self.at)
            if quoted:
                self.verbatim(Quote.QUOTED_HEREDOC, stop)
            else:
                self.body("", Quote.HEREDOC)
            self.end, self.word, self.at = outer, None, min(line_end + 1, outer)

    # Words

    def piece(self, quote: Quote) -> None:
        """The next part of a word."""
        char = self.text[self.at]
        if self.tag(quote):
            pass
        elif char == "\\":
            self.backslash(quote)
        elif char == "$":
            self.dollar(quote)
        elif char == "`" and self.depth < _DEPTH:
            self.needs_shell()
            self.at += 1
            self.backquotes += 1
            self.script("`")
            self.backquotes -= 1
        elif char == '"' and quote is not Quote.HEREDOC:
            self.add("")
            self.at += 1
            self.body('"', Quote.DOUBLE)
        elif char == "'" and quote is Quote.NONE:
            self.add("")
            self.at += 1
            self.verbatim(Quote.SINGLE, self.find("'", self.at, self.end))
            self.at = min(self.at + 1, self.end)
        else:
            pattern = quote is Quote.NONE and (char in _PATTERN or (char == "~" and self.word is None))
            word = self.text_run(self.end)
            word.pattern = word.pattern or pattern

    def body(self, closer: str, quote: Quote) -> bool:
        """Parts up to the character *closer*, which is passed too; False when the text ends first."""
        self.depth += 1
        while self.at < self.end and self.text[self.at] != closer:
            self.piece(quote)
        self.depth -= 1
        closed = self.at < self.end
        self.at += closed
        return closed

    def verbatim(self, quote: Quote, stop: int) -> None:
        """Text in which the shell expands nothing; what only looks like an expansion is found too."""
        while self.at < stop:
            if self.tag(quote):
                continue
            match = _WRITTEN.match(self.text, self.at, stop)
            if match is None:
                self.text_run(stop)
                continue
            escape, name, operator, default = match.groups()
            self.at = match.end()
            self.expansion(match.start(), quote, name, operator, match.span(4), Word(0, 0, [default or ""]), escape)

    def tag(self, quote: Quote) -> bool:
        """Pass a tag, if one stands here."""
        if self.at in self.gone:
            self.at = self.gone[self.at]
            return True
        span = self.spans.get(self.at)
        if span is None:
            return False
        tag = Tag(
            start=span.start,
            end=span.end,
            quote=quote,
            command=self.command,
            index=len(self.command.words),
            backquoted=self.backquotes > 0,
            text=self.source[span.start : span.end],
            leads=self.word is None and not self.redirecting,
        )
        self.found.tags.append(tag)
        if span.kind == "{{" or self.word is not None:  # a statement makes no word
            self.add(tag)
        self.at = span.end
        return True

    def backslash(self, quote: Quote) -> None:
        following = self.text[self.at + 1 : min(self.at + 2, self.end)]
        if following == "\n":
            self.at += 2
        elif not following or following in (GONE, TAG):
            self.add("\\")
            self.at += 1
        else:
            escapes = quote is Quote.NONE or following in '$`"\\'
            word = self.add(following if escapes else f"\\{following}")
            word.special = word.special or (following == "}" and not escapes)  # an escape in ${ } only
            self.at += 2

    def dollar(self, quote: Quote) -> None:
        begins = self.text.startswith
        if self.depth >= _DEPTH:
            self.text_run(self.end)
        elif match := _PARAMETER.match(self.text, self.at, self.end):
            self.parameter(match, quote)
        elif begins("$((", self.at, self.end):
            self.needs_shell()
            self.at += 3
            self.arithmetic()
        elif begins("$(", self.at, self.end):
            self.needs_shell()
            self.at += 2
            self.script(")")
        elif begins("${", self.at, self.end):
            self.needs_shell()
            self.at += 2
            self.body("}", quote)
        elif _SPECIAL_PARAMETER.match(self.text, self.at, self.end):
            self.needs_shell()
            self.at += 2
        else:
            self.text_run(self.end)

    def parameter(self, match: re.Match[str], quote: Quote) -> None:
        escape, bare, braced, operator = match.groups()
        self.add("")
        self.at = match.end()
        word, default = self.word, Word(self.at)
        if braced and operator != "}":
            self.word = default
            closed = self.body("}", quote)
            self.word = word
            if not closed:
                return
        name, operator = (bare, "") if bare else (braced, operator or "?")
        self.expansion(match.start(), quote, name, operator, (match.end(), self.at - 1), default, escape)

    def expansion(
        self,
        start: int,
        quote: Quote,
        name: str,
        operator: str,
        operand: tuple[int, int],
        default: Word,
        escape: str | None,
    ) -> None:
        found = Expansion(
            start=start,
            end=self.at,
            quote=quote,
            command=self.command,
            index=len(self.command.words),
            name=name,
            operator=operator,
            operand=operand,
            default=default,
            escaped=escape is not None,
            backquoted=self.backquotes > 0,
        )
        self.found.expansions.append(found)
        self.add(found)

    def arithmetic(self) -> None:
        """``$((`` has been passed; the shell reads the inside as in double quotes."""
        self.depth += 1
        parentheses = 2
        while self.at < self.end and parentheses:
            char = self.text[self.at]
            if char in "()":
                parentheses += 1 if char == "(" else -1
                self.at += 1
            else:
                self.piece(Quote.DOUBLE)
        self.depth -= 1

    def text_run(self, stop: int) -> Word:
        run = _RUN.match(self.text, self.at, stop)
        text = run[0] if run else self.text[self.at]
        word = self.add(text)
        self.at += len(text)
        return word

    def add(self, piece: str | Expansion | Tag) -> Word:
        if self.word is None:
            self.word = Word(self.at if isinstance(piece, str) else piece.start)
        self.word.pieces.append(piece)
        return self.word

    def needs_shell(self) -> None:
        self.add("").special = True

    def find(self, char: str, start: int, end: int) -> int:
        """Where *char* comes next, or the end."""
        return self.text.find(char, start, end) % (end + 1)
