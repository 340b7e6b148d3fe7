"""The Jinja2 side of a command text: where its tags stand, and which parameters they let through unquoted (SPEC 7.2).

1. Tags are found as Jinja2 finds them, set up as in ``template``; one that does not end is text, and an error there.
2. What an expression lets through is read off its syntax tree: ``{{ a ~ b | quote }}`` quotes only ``b``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment, nodes

GONE, TAG = "\ufdd0", "\ufdd1"
"""What a masked text holds for characters that render to nothing and for those of an expression: noncharacters, which
are no shell syntax and no part of a name."""

TEXTUAL = frozenset({"str", "list", "dict", "any"})
"""The parameter types whose values can hold shell syntax."""

_RAW = re.compile(r"\{%[-+]?\s*raw\s*-?%\}")
_ENDRAW = re.compile(r"\{%[-+]?\s*endraw\s*[-+]?%\}")
_OPEN = re.compile(r"\{\{|\{%|\{#")
_CLOSE = {"{{": "}}", "{%": "%}"}
_INSIDE = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[(\[{}\])]|%\}""", re.S)
_FOR = re.compile(r"\{%[-+]?\s*for\b")
_NUMBERS = frozenset("int float length count wordcount".split())


@dataclass(frozen=True, slots=True)
class Span:
    """One tag. ``kind`` is ``{{``, ``{%``, ``{#``, ``raw`` or ``endraw``; between the last two stands text."""

    start: int
    end: int
    kind: str


def spans(text: str) -> Iterator[Span]:
    """The tags of a template, in order."""
    at = 0
    while begin := _OPEN.search(text, at):
        start, kind = begin.start(), begin[0]
        if raw := _RAW.match(text, start):
            yield Span(start, raw.end(), "raw")
            ending = _ENDRAW.search(text, raw.end())
            if ending is None:
                return
            start, at, kind = ending.start(), ending.end(), "endraw"
        else:
            at = _comment_end(text, start + 2) if kind == "{#" else _end(text, start + 2, _CLOSE[kind])
            if not at:
                return
        yield Span(start, at, kind)


def _comment_end(text: str, at: int) -> int:
    """Where a comment ends; 0 is nowhere."""
    found = text.find("#}", at)
    return found + 2 if found >= 0 else 0


def _end(text: str, at: int, close: str) -> int:
    """Where an expression ends, minding its strings and brackets; 0 is nowhere."""
    depth = 0
    for token in _INSIDE.finditer(text, at):
        if depth <= 0 and text.startswith(close, token.start()):
            return token.start() + 2
        depth += (token[0] in "([{") - (token[0] in ")]}")
    return 0


def mask(text: str) -> tuple[str, dict[int, int], dict[int, Span]]:
    """*text* with every tag blotted out; where what renders to nothing starts and ends; the other tags by start.

    White space that a tag takes away (``{{-``, or the newline after ``%}``) renders to nothing too.
    """
    pieces: list[str] = []
    gone: dict[int, int] = {}
    tags: dict[int, Span] = {}
    at = 0
    for span in spans(text):
        before, after = span.start, span.end
        if text[before + 2] == "-":
            before = at + len(text[at:before].rstrip())
        if text[after - 3] == "-":
            after = len(text) - len(text[after:].lstrip())
        elif span.kind in ("{%", "{#", "endraw") and text[after - 3] != "+" and text.startswith("\n", after):
            after += 1
        pieces += text[at:before], GONE * (span.start - before)
        pieces += (TAG if span.kind == "{{" else GONE) * (span.end - span.start), GONE * (after - span.end)
        if before < span.start:
            gone[before] = span.start
        if span.kind in ("{{", "{%"):
            tags[span.start] = span
        else:
            gone[span.start] = span.end
        if span.end < after:
            gone[span.end] = after
        at = after
    pieces.append(text[at:])
    return "".join(pieces), gone, tags


class Exposure:
    """Which parameters, and names made from them, stand where the shell reads them.

    Feed it the tags in order: ``{% for f in files %}`` makes ``f`` as textual as ``files`` is.
    """

    def __init__(self, params: Mapping[str, str]) -> None:
        self._types = dict(params)

    def statement(self, text: str) -> None:
        """Learn the names that a ``for`` or ``set`` statement makes."""
        from jinja2 import nodes

        tree = _parse(text + "{% endfor %}" if _FOR.match(text) else text)
        for node in tree.body if tree is not None else ():
            if isinstance(node, nodes.For | nodes.Assign):
                made = [name for name in node.find_all(nodes.Name) if name.ctx == "store"]
                if self.unquoted(node.iter if isinstance(node, nodes.For) else node.node):
                    self._types |= {name.name: "any" for name in made}

    def tree(self, text: str) -> nodes.Template | None:
        """The syntax tree of a template; None where Jinja2 refuses it."""
        return _parse(text)

    def has_quote(self, tree: nodes.Node) -> bool:
        return any(True for _ in _quotes(tree))

    def quoted(self, tree: nodes.Node) -> list[str]:
        """Textual names that pass through ``quote``."""
        return list(dict.fromkeys(name for found in _quotes(tree) if found.node for name in self.unquoted(found.node)))

    def leading(self, text: str) -> str:
        """The parameter that the expression *text* shows as its caller wrote it; empty where there is more to it."""
        from jinja2 import nodes

        tree = _parse(text)
        output = tree.body[0] if tree is not None and tree.body else None
        node = output.nodes[0] if isinstance(output, nodes.Output) else None
        while isinstance(node, nodes.Filter) and node.name not in (*_NUMBERS, "tojson", "urlencode", "map"):
            node = node.node
        return node.name if isinstance(node, nodes.Name) and self._types.get(node.name) in ("str", "any") else ""

    def is_list(self, name: str) -> bool:
        return self._types[name] in ("list", "any")

    def unquoted(self, node: nodes.Node, *, quoted: bool = False, single: bool = False) -> list[str]:
        """Textual names that *node* lets through as they are; *quoted*: in quotes, *single*: where only ``'`` ends."""
        from jinja2 import nodes

        match node:
            case nodes.Filter() if _is_quote(node) or node.name in _NUMBERS or (node.name == "tojson" and single):
                return []  # tojson writes ' as \u0027
            case nodes.Filter(name="urlencode", node=nodes.Node() as inner):
                found = self.unquoted(inner)
                return [] if quoted else [name for name in found if self._types[name] != "str"]  # a mapping gives &
            case nodes.Compare() | nodes.Not() | nodes.Test():
                return []
            case nodes.CondExpr():
                parts: list[nodes.Node] = [part for part in (node.expr1, node.expr2) if part is not None]
            case nodes.Name(name=name):
                return [name] if self._types.get(name) in TEXTUAL else []
            case _:
                parts = [*node.iter_child_nodes()]
        return list(dict.fromkeys(name for part in parts for name in self.unquoted(part, quoted=quoted, single=single)))


def _is_quote(node: nodes.Filter) -> bool:
    """``x | quote`` or ``xs | map('quote')``."""
    first = node.args[0] if node.args else None
    return node.name == "quote" or (node.name == "map" and getattr(first, "value", None) == "quote")


def _quotes(tree: nodes.Node) -> Iterator[nodes.Filter]:
    from jinja2 import nodes

    return filter(_is_quote, tree.find_all(nodes.Filter))


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment

    return Environment()  # noqa: S701 - it only parses; nothing is rendered


def _parse(text: str) -> nodes.Template | None:
    from jinja2 import TemplateSyntaxError

    try:
        return _environment().parse(text)
    except (TemplateSyntaxError, ValueError, RecursionError):  # an endless number, an endless nesting
        return None
