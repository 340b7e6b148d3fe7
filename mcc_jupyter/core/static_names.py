"""The syntax trees of a notebook → which of its names come from this package (SPEC 9.8).

1. A name that is bound twice, once by us, is ours: to look at too much is no harm.
2. Nothing is resolved beyond names: what a function returns is not known, and says nothing.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

_STARRED = ("tool", "load", "toolbox")
_VALUES = frozenset({"tools", "session"})
"""Attributes of the package that hold names of the notebook's author."""


@dataclass(slots=True)
class Origins:
    """Where the names of a notebook come from, as far as its code tells: from this package, or from elsewhere."""

    ours: set[str] = field(default_factory=set)
    elsewhere: set[str] = field(default_factory=set)
    shells: set[str] = field(default_factory=lambda: {"get_ipython"})

    def learn(self, tree: ast.Module) -> None:
        """Take in what *tree* binds; a second time, for what its names are bound from."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self._bind(alias.asname or alias.name.partition(".")[0], _is_package(alias.name))
            elif isinstance(node, ast.ImportFrom):
                ours = _is_package(node.module or "")
                for alias in node.names:
                    for name in _STARRED if alias.name == "*" and ours else (alias.asname or alias.name,):
                        self._bind(name, ours)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self._bind(node.name, False)
            elif isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
                self._assign(node.targets if isinstance(node, ast.Assign) else [node.target], node.value)

    def _assign(self, targets: list[ast.expr], value: ast.expr) -> None:
        named = [part.id for part in ast.walk(value) if isinstance(part, ast.Name)]
        imports = any(isinstance(part, ast.Constant) and _is_package(part.value) for part in ast.walk(value))
        ours = imports or not self.ours.isdisjoint(named)
        for name in [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]:
            # What a call of ours gives is a value; only of a `tool` it may be one that declares.
            self._bind(name, ours and (imports or name == "tool" or not isinstance(value, ast.Call)))
            if root(value) in self.shells:
                self.shells.add(name)

    def _bind(self, name: str, ours: bool) -> None:
        (self.ours if ours else self.elsewhere).add(name)

    def may_be_ours(self, node: ast.expr) -> bool:
        """Whether the name that *node* begins with may come from this package."""
        name = root(node)
        return name in self.ours or name not in self.elsewhere

    def is_ours(self, node: ast.expr) -> bool:
        """Whether *node* is a name of this package: not of what its calls give, nor one of the author's tools."""
        while isinstance(node, ast.Attribute):
            node = node.value
            if isinstance(node, ast.Attribute) and node.attr in _VALUES:
                return False
        return isinstance(node, ast.Name) and node.id in self.ours

    def is_shell(self, node: ast.expr) -> bool:
        """Whether *node* is something of the running shell."""
        return root(node) in self.shells


def _is_package(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == "mcc_jupyter"


def root(node: ast.AST) -> str:
    """The name that an expression of attributes and calls begins with."""
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
