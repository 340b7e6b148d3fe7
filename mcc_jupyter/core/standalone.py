"""A cell and the name of a function in it → the source that runs alone in another process (SPEC 2.3).

1. What is kept is what the function uses, transitively: imports, definitions and assignments of the same cell. All
   other lines become empty, so line numbers stay.
2. What the cell does not define cannot come along, and nothing is pickled: one ``DeclarationError`` lists all such
   names.
3. A cell is text for IPython: lines of magics are no Python and are never kept.
"""

from __future__ import annotations

import ast
import builtins
import re
import symtable
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from .errors import DeclarationError, Problem
from .tool import Source

_BUILTINS = frozenset(dir(builtins)) - {"__IPYTHON__", "display", "get_ipython"} | {"__annotations__", "__file__"}
"""Names every module has. IPython adds some of its own, which the tool's process does not have."""

MAGIC = re.compile(r"\s*(?:[%!]|\?|.*\?\s*$|[\w.,\s]+=\s*[%!])")
"""A line that IPython reads and Python does not."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_COMPOUND = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match)


@dataclass(frozen=True, slots=True, eq=False)
class _Statement:
    """A top-level statement of the cell."""

    node: ast.stmt
    position: int
    binds: frozenset[str]
    changes: frozenset[str]
    """Names it alters in place: ``TABLE["a"] = 1``, ``TABLE.append(1)``, ``@TABLE.register``."""
    at_once: frozenset[str]
    """Names it needs when it runs, so an earlier statement must have bound them."""
    later: frozenset[str]
    """Names it needs when what it defines is called."""
    wishes: frozenset[str]
    """Names that are kept if the cell has them: annotations under ``from __future__ import annotations``."""


def extract(cell: str, function: str, *, filename: str, known: Collection[str] = ()) -> Source:
    """The part of *cell* that *function* needs to run alone, on its own lines.

    *known* are names that the notebook has; a message tells them from names that nothing defines. Raises
    ``DeclarationError`` with every decorator, default and name that stands in the way.
    """
    tree, lines = parse_code(cell, function)
    own = _find(tree, function)
    lazy = any(_is_future(node) for node in tree.body)
    statements = [_statement(node, at, lazy) for at, node in enumerate(tree.body)]
    start = next(statement for statement in statements if statement.node is own)
    kept, missing = _reachable(start, statements)
    problems = [
        *(Problem(function, text) for text in _decorator_problems(own)),
        *(Problem(function, text) for text in _default_problems(own)),
        *(Problem(function, text) for text in _relative_imports(kept)),
    ]
    if missing:
        problems.append(Problem(function, _missing_text(missing, tree, known)))
    if problems:
        raise DeclarationError(*problems)
    text = _keep(lines, [item.node for item in statements if item in kept or _is_future(item.node)])
    try:
        compile(text, filename, "exec", dont_inherit=True)
    except SyntaxError as error:  # a top-level await
        raise DeclarationError(Problem(function, f"cannot run alone: {error.msg} (line {error.lineno})")) from None
    return Source(text, filename, function)


def _reachable(start: _Statement, statements: list[_Statement]) -> tuple[set[_Statement], list[str]]:
    """The statements that *start* uses, itself included, and the names that none of them defines."""
    binders: dict[str, list[_Statement]] = {}
    changers: dict[str, list[_Statement]] = {}
    for statement in statements:
        for name in statement.binds:
            binders.setdefault(name, []).append(statement)
        for name in statement.changes if statement.position < start.position else ():
            changers.setdefault(name, []).append(statement)
    kept: set[_Statement] = set()
    missing: dict[str, None] = {}
    waiting = [start]
    while waiting:
        statement = waiting.pop()
        if statement in kept:
            continue
        kept.add(statement)
        for name in sorted((statement.at_once | statement.later | statement.wishes) - start.binds):
            found = binders.get(name, [])
            if name in statement.at_once:
                earlier = [item for item in found if item.position < statement.position]
                defined = bool(earlier) or name in _BUILTINS
            else:
                defined = bool(found) or name in _BUILTINS or name in statement.wishes
            if not defined:
                missing[name] = None
            waiting += found
            if not all(isinstance(item.node, ast.Import | ast.ImportFrom) for item in found):
                waiting += changers.get(name, [])
    return kept, sorted(missing)


def decorated(cell: str) -> list[tuple[str, ast.Call | None]]:
    """The functions of *cell* that stand under ``@tool``, each with the decorator's call if it is one; for readers that
    run nothing. A cell that is no Python has none."""
    try:
        tree, _ = parse_code(cell, "")
    except DeclarationError:
        return []
    return [
        (node.name, decorator if isinstance(decorator, ast.Call) else None)
        for node in tree.body
        if isinstance(node, _FUNCTIONS)
        for decorator in node.decorator_list
        if is_tool(decorator)
    ]


def parse_code(cell: str, function: str) -> tuple[ast.Module, list[str]]:
    """The cell's syntax tree and its lines, those of magics made empty. Raises ``DeclarationError``."""
    if "\0" in cell or any("\ud800" <= character <= "\udfff" for character in cell):
        raise DeclarationError(Problem(function, "the cell holds a character that no source can have; remove it"))
    lines = cell.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[0].startswith("%%"):
        lines[0] = ""
    while True:
        try:
            return ast.parse("\n".join(lines)), lines
        except SyntaxError as error:
            at = _magic_at(lines, error.lineno or 1)
            if at is None:
                text = f"the cell cannot be read: {error.msg} (line {error.lineno})"
                raise DeclarationError(Problem(function, text)) from None
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        while lines[at].endswith("\\") and at + 1 < len(lines):
            lines[at], at = "", at + 1
        lines[at] = f"{indent}pass" if indent else ""


def _magic_at(lines: list[str], number: int) -> int | None:
    """The index of the line of a magic that a syntax error at line *number* is about, which may be a later one."""
    above = range(min(number, len(lines)) - 1, -1, -1)
    return next((at for at in above if MAGIC.match(lines[at])), None)


def _find(tree: ast.Module, function: str) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """The last top-level definition of *function*."""
    found = [node for node in tree.body if isinstance(node, _FUNCTIONS) and node.name == function]
    if found:
        tools = [node for node in found if any(is_tool(decorator) for decorator in node.decorator_list)]
        return (tools or found)[-1]
    inner = [node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS) and node.name == function]
    if not inner:
        raise DeclarationError(Problem(function, "no such function in this cell; define it with `def`"))
    text = "is not at the top level of its cell, and a tool runs without what is around it; move it there"
    around = sorted(set(_free_names(tree, function)))
    raise DeclarationError(Problem(function, f"{text} (it uses {_listed(around)})" if around else text))


def _free_names(tree: ast.Module, function: str) -> Iterator[str]:
    for table in _tables(symtable.symtable(ast.unparse(tree), "cell", "exec")):
        if isinstance(table, symtable.Function) and table.get_name() == function:
            yield from table.get_frees()


def _statement(node: ast.stmt, position: int, lazy: bool) -> _Statement:
    """What *node* binds and uses, read from Python's own symbol tables."""
    bare, wishes = _without_tool(node), set[str]()
    if lazy:
        bare, wishes = _without_annotations(bare)
    binds: set[str] = set()
    at_once: set[str] = set()
    later: set[str] = set()
    top = symtable.symtable(ast.unparse(bare), "cell", "exec")
    for table in _tables(top):
        for symbol in table.get_symbols():
            name = symbol.get_name()
            if table is top and (symbol.is_assigned() or symbol.is_imported()):
                binds.add(name)
            if table is top and symbol.is_referenced():
                (later if isinstance(node, _COMPOUND) else at_once).add(name)
            elif table is not top and symbol.is_global():
                (later if symbol.is_referenced() else wishes).add(name)  # a global that is only set need not exist
    if isinstance(node, ast.AugAssign):
        at_once |= binds
    sets = (binds, _changed(bare), at_once, later, wishes)
    return _Statement(node, position, *(frozenset(names) for names in sets))


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)


def _without_tool(node: ast.stmt) -> ast.stmt:
    if not isinstance(node, _FUNCTIONS):
        return node
    return _copy(node, decorator_list=[item for item in node.decorator_list if not is_tool(item)])


def _copy(node: ast.stmt, **changes: object) -> ast.stmt:
    fields = {name: getattr(node, name) for name in node._fields if hasattr(node, name)}
    copy: ast.stmt = ast.copy_location(type(node)(**{**fields, **changes}), node)
    return copy


class _Strip(ast.NodeTransformer):
    """Takes annotations off and keeps them in ``found``."""

    def __init__(self) -> None:
        self.found: list[ast.expr] = []

    def visit_arg(self, node: ast.arg) -> ast.arg:
        self.found += [node.annotation] if node.annotation else []
        return ast.arg(node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self.found += [node.returns] if node.returns else []
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.found.append(node.annotation)
        return ast.Assign([node.target], node.value or ast.Constant(None), lineno=node.lineno)


def _without_annotations(node: ast.stmt) -> tuple[ast.stmt, set[str]]:
    """*node* without its annotations, which do not run, and the names in them."""
    strip = _Strip()
    bare: ast.stmt = strip.visit(ast.parse(ast.unparse(node)).body[0])
    expressions = [_read(expression) for expression in strip.found]
    return bare, {item.id for expression in expressions for item in ast.walk(expression) if isinstance(item, ast.Name)}


def _read(annotation: ast.expr) -> ast.AST:
    """An annotation, read if it is written as text."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            return ast.parse(annotation.value, mode="eval")
        except SyntaxError:  # a text that is no annotation
            return annotation
    return annotation


def _changed(node: ast.stmt) -> Iterator[str]:
    """Names that *node* alters in place."""
    targets: list[ast.expr] = []
    waiting: list[ast.AST] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, _DEFINITIONS):
            targets += [item.func if isinstance(item, ast.Call) else item for item in part.decorator_list]
            continue
        if isinstance(part, ast.Assign):
            targets += part.targets
        elif isinstance(part, ast.AugAssign | ast.AnnAssign):
            targets.append(part.target)
        elif isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
            targets.append(part.value.func)
        waiting += ast.iter_child_nodes(part)
    for target in targets:
        root = target
        while isinstance(root, ast.Attribute | ast.Subscript):
            root = root.value
        if root is not target and isinstance(root, ast.Name):
            yield root.id


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def is_tool(decorator: ast.expr) -> bool:
    """``@tool``, ``@mcc.tool`` or a call of one."""
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", "")) == "tool"


def _decorator_problems(own: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for decorator in own.decorator_list:
        if not is_tool(decorator):
            named = decorator.func if isinstance(decorator, ast.Call) else decorator
            yield f"has the decorator `@{ast.unparse(named)}`; take it off, or decorate a function that the tool calls"


def _default_problems(own: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    given = own.args
    positional = [*given.posonlyargs, *given.args]
    pairs = [*zip(positional[len(positional) - len(given.defaults) :], given.defaults, strict=True)]
    pairs += [(name, default) for name, default in zip(given.kwonlyargs, given.kw_defaults, strict=True) if default]
    for name, default in pairs:
        if not (_is_literal(default) or _is_dotted(default)):
            yield f"the default of `{name.arg}` is no literal; use None and make the value inside the function"


def _is_literal(node: ast.expr | None) -> bool:
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub | ast.UAdd) and isinstance(node.operand, ast.Constant)
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return all(_is_literal(item) for item in node.elts)
    if isinstance(node, ast.Dict):
        return all(_is_literal(item) for item in (*node.keys, *node.values))
    return isinstance(node, ast.Constant)


def _is_dotted(node: ast.expr) -> bool:
    """A name, or an attribute of one: a constant or Enum member, which must come from the same cell like any name."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _relative_imports(kept: Iterable[_Statement]) -> Iterator[str]:
    nodes = [statement.node for statement in kept]
    for node in sorted(nodes, key=lambda node: node.lineno):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield f"`{ast.unparse(node)}` is relative to a package; import by the full name"


def _missing_text(missing: list[str], tree: ast.Module, known: Collection[str]) -> str:
    them = "it" if len(missing) == 1 else "them"
    text = f"uses {_listed(missing)}, which its cell does not define; define or import {them} in the same cell"
    stars = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"]
    elsewhere = [name for name in missing if name in known]
    if stars:
        text += f" (`{ast.unparse(stars[0])}` does not tell its names: import them by name)"
    if elsewhere:
        text += f" (other cells have {_listed(elsewhere)})"
    return text


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _keep(lines: list[str], nodes: Iterable[ast.stmt]) -> str:
    """The text of *nodes*, each where it was; decorators named ``tool`` are left out."""
    pieces: list[list[str]] = [[] for _ in lines]
    for node in nodes:
        for at in _decorator_lines(lines, node):
            pieces[at].append(lines[at])
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        for at in range(first, last + 1):
            start = node.col_offset if at == first else 0
            end = node.end_col_offset if at == last else None
            pieces[at].append(lines[at].encode()[start:end].decode())  # columns are counted in bytes
    return "\n".join("; ".join(line) for line in pieces).rstrip("\n") + "\n"


def _decorator_lines(lines: list[str], node: ast.stmt) -> Iterator[int]:
    if not isinstance(node, _DEFINITIONS):
        return
    starts = []
    for decorator in node.decorator_list:
        at = decorator.lineno - 1
        while not lines[at].lstrip().startswith("@"):
            at -= 1
        starts.append(at)
    for decorator, first, end in zip(node.decorator_list, starts, [*starts, node.lineno - 1][1:], strict=True):
        if not (isinstance(node, _FUNCTIONS) and is_tool(decorator)):
            yield from range(first, end)


def decorator_fields(call: ast.Call, label: str, why: str) -> dict[str, object]:
    """The fields that a decorator was given, where all are literals; raises ``DeclarationError`` with *why* if not."""
    fields: dict[str, object] = {}
    problems = [Problem(label, "takes fields by name: `@tool(env_passthrough=[…])`")] if call.args else []
    for keyword in call.keywords:
        try:
            value = ast.literal_eval(keyword.value)
            fields.update(value if keyword.arg is None else {keyword.arg: value})
        except (ValueError, TypeError):  # a TypeError: an unhashable key, or `**` of no mapping
            problems.append(Problem(f"{label}: {keyword.arg or '**'}", why))
    if problems:
        raise DeclarationError(*problems)
    return fields
