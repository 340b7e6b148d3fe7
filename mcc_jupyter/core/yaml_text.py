"""YAML text → plain data that remembers how it was written (SPEC 2.1, 2.6).

1. PyYAML only parses. What a scalar means is decided here: no tag builds an object, and no alias grows without bound.
2. A key is always its own text; a number keeps the text it was written with; mappings and lists know
   the lines of what they hold.
3. An error names line, column and kind, never a piece of the text, because that could be a value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from .errors import DeclarationError, Problem

DEPTH_LIMIT: Final = 64
EXPANSION_LIMIT: Final = 20_000
"""Values that aliases may add to what the text itself holds."""


class WrittenInt(int):
    """An integer, and the text it was written with (``0x1F``, ``12:30``, ``1_000``)."""

    written: str


class WrittenFloat(float):
    """A float, and the text it was written with (``1.10``)."""

    written: str


class WrittenDate(str):
    """A text that YAML 1.1 calls a date; kept as text."""

    __slots__ = ()


_Number = TypeVar("_Number", WrittenInt, WrittenFloat)


class Located(dict[str, object]):
    """A mapping that knows on which line each key stands (``lines``)."""

    lines: dict[str, int]


class LocatedList(list[object]):
    """A list that knows on which line each item stands (``lines``)."""

    lines: list[int]


def parse_yaml(text: str, *, first_line: int = 1) -> object:
    """The data of one YAML document; an empty one is None.

    *first_line* is the number of the first line, for messages: in a cell the magic stands on line 1.
    Raises ``DeclarationError`` for anything but one plain document: a repeated key, a tag, a TAB, several documents.
    """
    import yaml

    text = text.removeprefix("\ufeff")
    marks = _Marks(first_line, text)
    hidden = _UNREADABLE.search(text)
    if hidden is not None:
        line = text.count("\n", 0, hidden.start())
        raise marks.error(line, hidden.start() - text.rfind("\n", 0, hidden.start()) - 1, _CONTROL_CHARACTER)
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
        try:
            node = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        raise marks.broken(error, _kind(error, text)) from None
    except RecursionError:  # PyYAML without libyaml
        raise marks.error(0, 0, _TOO_DEEP) from None
    return None if node is None else _Builder(marks, len(text) + EXPANSION_LIMIT).build(node, 0)


_UNREADABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CONTROL_CHARACTER = 'a control character; write it as an escape inside double quotes ("\\x1b")'
_TOO_DEEP = "lists and mappings stand too deep inside each other, or an alias holds itself"
_TAB = "a TAB; indent with blanks"
_TAG = "a tag `!…` is not allowed; quote a text that begins with `!`"
_LEFT_OVER = "text after a closed quote or bracket, or an indentation that does not fit; quote the whole text"
_OTHER = "no valid YAML; look at quotes and indentation"
_NOT_CLOSED = "a quote is not closed"
_BRACKET = "a bracket is not closed, or a text begins with one; quote the text"
_DOCUMENTS = "a second document; write one list of tools instead of `---`"
_KEY = "a list or mapping as a key; quote a text such as `{{ … }}`"
_KINDS = (
    ("mapping values", "`: ` inside a text, or an indentation that does not fit; quote the text"),
    ("alias", "an alias `*…` without its anchor; quote a text that begins with `*`"),
    ("tag", _TAG),
    ("another document", _DOCUMENTS),
    ("cannot start any token", "a text cannot begin with this character; quote it"),
    ("end of stream", _NOT_CLOSED),
    ("unknown escape", "double quotes do not know this escape; use single quotes, or `\\\\`"),
    ("nesting depth", _TOO_DEEP),
    ("',' or", _BRACKET),
    ("expected key", _LEFT_OVER),
    ("<block end>", _LEFT_OVER),
)


def _kind(error: Any, text: str) -> str:
    if text[error.problem_mark.index : error.problem_mark.index + 1] == "\t":
        return _TAB
    return next((kind for sign, kind in _KINDS if sign in error.problem), _OTHER)


_FIELD = re.compile(
    r" *((?:- +)*)(name|fn|exec|curl|description|example|params|groups|env|env_file|env_passthrough|required_env|"
    r"optional_env|secret_files|cwd|python|stdin|limits|transform|cache_ttl|fresh|isolation|redact|tools):(?:\s|\Z)"
)
_COMMAND = re.compile(r"[ \t]*(?:- +)*(exec|curl|transform)[ \t]*:[ \t]+([^\s|>])")


class _Marks:
    """Where the text stands: lines and columns are counted from 1, as editors do."""

    def __init__(self, first_line: int, text: str) -> None:
        self.first_line = first_line
        self.lines = text.split("\n")

    def error(self, line: int, column: int, kind: str) -> DeclarationError:
        return DeclarationError(Problem("", f"YAML line {line + self.first_line}, column {column + 1}: {kind}"))

    def at(self, mark: Any, kind: str) -> DeclarationError:
        return self.error(mark.line, mark.column, kind)

    def broken(self, error: Any, kind: str) -> DeclarationError:
        """What the parser says. A quote that is not closed is told at the end of the text, though it opens before."""
        begins = error.context_mark if kind == _NOT_CLOSED else error.problem_mark
        if kind not in (_TAB, _DOCUMENTS, _TOO_DEEP):
            kind = self.advised(begins, kind)
        return self.at(error.problem_mark, kind)

    def advised(self, mark: Any, kind: str) -> str:
        """*kind*, with what to do where a field is indented by itself, or a command does not go with YAML."""
        indented = self.indented(mark.line)
        if indented:
            return indented
        command = _COMMAND.match(self.lines[mark.line]) if mark.line < len(self.lines) else None
        if command is None or (command[2] == "[" and kind == _BRACKET):  # a list of arguments
            return kind
        block = f"`{command[1]}: {'>-' if command[1] == 'curl' else '|'}`"
        return f"{kind.partition('; ')[0]}; put the text on its own lines: {block}, then indent it"


    def indented(self, line: int) -> str:
        """That a field begins in another column than those before it; empty where it does not."""
        found = _FIELD.match(self.lines[line]) if line < len(self.lines) else None
        above = [field for field in map(_FIELD.match, self.lines[:line]) if field is not None]
        if found is None or not above:
            return ""
        # Those of one tool begin where its first one does: behind the last dash, or at the top.
        first = next((field for field in reversed(above) if field[1]), above[0])
        here, there = found.start(2) + 1, first.start(2) + 1
        if here == there or found[1]:
            return ""
        return f"`{found[2]}` begins in column {here}, and the fields before it in column {there}; indent them alike"


class _Builder:
    """Nodes → data. Aliases are built anew each time, and counted."""

    def __init__(self, marks: _Marks, limit: int) -> None:
        from yaml.constructor import SafeConstructor

        read = SafeConstructor()
        self.marks = marks
        self.left = limit
        self.scalars: dict[str, Callable[[Any], object]] = {
            "str": lambda node: node.value,
            "value": lambda node: node.value,
            "merge": lambda node: node.value,
            "timestamp": lambda node: WrittenDate(node.value),
            "null": read.construct_yaml_null,
            "bool": read.construct_yaml_bool,
            "int": lambda node: _written(WrittenInt(read.construct_yaml_int(node)), node.value),
            "float": lambda node: _written(WrittenFloat(read.construct_yaml_float(node)), node.value),
        }

    def build(self, node: Any, depth: int) -> object:
        self.left -= 1
        if self.left < 0:
            raise self.marks.at(node.start_mark, "aliases repeat too much; write out what is meant")
        if depth > DEPTH_LIMIT:
            raise self.marks.at(node.start_mark, _TOO_DEEP)
        tag = node.tag.removeprefix("tag:yaml.org,2002:")
        if node.id == "scalar" and tag in self.scalars:
            try:
                return self.scalars[tag](node)
            except (ValueError, LookupError):
                raise self.marks.at(node.start_mark, "this is no value of its type; quote it") from None
        if node.id == "sequence" and tag == "seq":
            items = LocatedList(self.build(item, depth + 1) for item in node.value)
            items.lines = [item.start_mark.line + self.marks.first_line for item in node.value]
            return items
        if node.id == "mapping" and tag == "map":
            return self.mapping(node, depth + 1)
        raise self.marks.at(node.start_mark, _TAG)

    def mapping(self, node: Any, depth: int) -> Located:
        own, inherited = Located(), Located()
        own.lines, inherited.lines = {}, {}
        seen = set()
        for key_node, value_node in node.value:
            if key_node.id != "scalar":
                raise self.marks.at(key_node.start_mark, self.marks.advised(key_node.start_mark, _KEY))
            key = key_node.value
            if key in seen:
                raise self.marks.at(key_node.start_mark, f"the key `{key}` stands twice; keep one")
            seen.add(key)
            if key_node.tag == "tag:yaml.org,2002:merge":
                for source in self.merged(value_node, depth):
                    inherited.lines = {**source.lines, **inherited.lines}
                    for name, value in source.items():
                        inherited.setdefault(name, value)
            else:
                own.lines[key] = key_node.start_mark.line + self.marks.first_line
                own[key] = self.build(value_node, depth)
        result = Located({**inherited, **own})
        result.lines = {**inherited.lines, **own.lines}
        return result

    def merged(self, node: Any, depth: int) -> Iterator[Located]:
        for source in node.value if node.id == "sequence" else [node]:
            value = self.build(source, depth)
            if not isinstance(value, Located):
                raise self.marks.at(source.start_mark, "`<<` takes a mapping, or a list of mappings")
            yield value


def _written(number: _Number, text: str) -> _Number:
    number.written = text
    return number
