"""The door for Python code: ``import mcc_jupyter as mcc`` (SPEC 2.3, 7.12).

What a tool's value is not is shown while it runs: a function's prints, and every tool's stderr. The value is returned.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from types import FunctionType
from typing import Any, Literal, overload

from ..core.errors import ArgumentError, DeclarationError, Problem
from ..core.outcome import Outcome
from ..core.report import Report
from ..core.tool import MISSING, Function, Tool
from ..runtime.calls import Show
from ..runtime.current import cell_origin, toolbox_for
from ..runtime.parent import Parent
from ..runtime.toolbox import Added, Toolbox

_parent = Parent(os.environ)


def toolbox() -> Toolbox:
    """The current toolbox: the running shell's, or this process's."""
    return toolbox_for(_shell(), _parent)


def call(name: str, arguments: Mapping[str, object] | None = None, *, timeout: float | None = None) -> Outcome:
    """Calls a tool; a failed call is an outcome too, with ``ok`` false.

    *timeout* in seconds goes before the tool's own. Raises ``UnknownTool``, ``ToolUnavailable`` and ``ArgumentError``.
    """
    box = toolbox()
    return box.call(name, arguments, timeout=timeout, show=_shown(box.registry.find(name)))


async def acall(name: str, arguments: Mapping[str, object] | None = None, *, timeout: float | None = None) -> Outcome:
    """``call`` for ``await``: the event loop stays free; cancelling ends the tool."""
    box = toolbox()
    return await box.acall(name, arguments, timeout=timeout, show=_shown(box.registry.find(name)))


def map(  # the field's name for it; the built-in is not used in this module
    name: str,
    arguments: Sequence[Mapping[str, object]],
    *,
    workers: int | None = None,
    timeout: float | None = None,
    progress: bool = True,
) -> list[Outcome]:
    """Calls a tool once for each item of *arguments*, *workers* at a time; outcomes in the order of the items.

    The progress bar is tqdm's (``pip install mcc_jupyter[progress]``); without tqdm there is none.
    """
    bar = _bar(len(arguments), name) if progress else None
    try:
        return toolbox().map(
            name, arguments, workers=workers, timeout=timeout, progress=None if bar is None else lambda _: bar.update(1)
        )
    finally:
        if bar is not None:
            bar.close()


def load(*paths: str) -> tuple[str, ...]:
    """Declares the tools of YAML files, folders and globs; returns their keys. Raises ``DeclarationError``."""
    added = toolbox().load(*paths)
    return tuple(tool.key for tool in added.raise_for_problems().tools)


def report(name: str, *, everything: bool = False) -> Report:
    """What the tool would get, by name; *everything* adds withheld names and program paths."""
    return toolbox().report(name, everything=everything)


class CallableTool:
    """A declared tool as a callable: its value, or ``ToolFailed``."""

    def __init__(self, key: str, function: FunctionType | None = None) -> None:
        self._key = key
        self.__name__ = key.rpartition(".")[2]
        if function is not None:
            self.__wrapped__ = function

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return call(self._key, self._named(args, kwargs)).raise_for_failure().value

    def _named(self, args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object]:
        if not args:
            return kwargs
        visible = [param.name for param in self._tool.params if param.override is MISSING]
        if len(args) > len(visible):
            raise ArgumentError(f"Tool {self._tool.name!r}: takes {len(visible)} arguments and got {len(args)}")
        positional = dict(zip(visible, args, strict=False))
        twice = positional.keys() & kwargs.keys()
        if twice:
            raise ArgumentError(f"Tool {self._tool.name!r}: argument `{sorted(twice)[0]}` is given twice")
        return {**positional, **kwargs}

    @property
    def _tool(self) -> Tool:
        return toolbox().registry.find(self._key)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return self._tool.description

    @property
    def __signature__(self) -> Any:
        """For help and completion in a notebook."""
        from inspect import Parameter, Signature

        shown = [param for param in self._tool.params if param.override is MISSING]
        return Signature(
            [
                Parameter(param.name, Parameter.KEYWORD_ONLY, default=Parameter.empty if param.required else None)
                for param in shown
                if param.name.isidentifier()
            ]
        )

    def __repr__(self) -> str:
        return f"<tool {self._key}>"


class Tools:
    """``mcc.tools``: the declared tools as attributes and items, by name or key."""

    def __getattr__(self, name: str) -> CallableTool:
        if name.startswith("__") or (name.startswith("_") and name not in self):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> CallableTool:
        return CallableTool(toolbox().registry.find(name).key)

    def __contains__(self, name: object) -> bool:
        return any(name in (tool.name, tool.key) for tool in toolbox().registry)

    def __iter__(self) -> Iterator[str]:
        return iter([tool.key for tool in toolbox().registry])

    def __len__(self) -> int:
        return len(toolbox().registry)

    def __dir__(self) -> list[str]:
        return sorted({tool.name for tool in toolbox().registry if tool.name.isidentifier()})

    def __repr__(self) -> str:
        return f"<tools: {', '.join(self)}>" if len(self) else "<tools: none declared yet>"


@overload
def tool(function: FunctionType, /) -> CallableTool: ...
@overload
def tool(**fields: object) -> Callable[[FunctionType], CallableTool]: ...
def tool(
    function: FunctionType | None = None, /, **fields: object
) -> CallableTool | Callable[[FunctionType], CallableTool]:
    """Declares a function as a tool whose source runs in its own process (SPEC 2.3).

    *fields* are those of a tool in YAML (``env_passthrough``, ``required_env``, ``limits``, …). The result is called like
    the function and runs the tool. Raises ``DeclarationError``.
    """
    if function is None:
        return lambda decorated: _declare(decorated, fields)
    return _declare(function, {})


def _declare(function: object, fields: Mapping[str, object]) -> CallableTool:
    from ..core.standalone import extract

    if not isinstance(function, FunctionType):
        raise DeclarationError(Problem("@tool", "must stand on a plain function, below any other decorator"))
    text, filename = _source(function)
    source = extract(text, function.__name__, filename=filename)
    shell = _shell()
    added = toolbox().add_function(source, fields, cell_origin(shell, f"@tool {function.__name__}"))
    _show_added(shell, added)
    added.raise_for_problems()
    return CallableTool(added.tools[0].key, function)


def _source(function: FunctionType) -> tuple[str, str]:
    """The text of the cell or module a function was written in, and the file name its tracebacks show."""
    import linecache

    path = function.__code__.co_filename
    text = "".join(linecache.getlines(path, function.__globals__))
    if not text:
        raise DeclarationError(Problem(f"@tool {function.__name__}", "its source cannot be read; write it in a cell or a file"))
    in_cell = function.__globals__.get("__name__") == "__main__" and _shell() is not None
    return text, "<cell>" if in_cell else path


def _show_added(shell: object | None, added: Added) -> None:
    """In a shell a declaration shows its report, as ``%%mcc_tool`` does."""
    if shell is None:
        return
    from IPython.display import display

    for line in added.notices:
        print(line)
    for item in added.reports:
        display(item)  # type: ignore[no-untyped-call]


def _shown(declared: Tool) -> Show:
    """Shows what is not the value."""
    prints = isinstance(declared.body, Function) and declared.transform is None

    def show(stream: Literal["stdout", "stderr"], text: str) -> None:
        if stream == "stderr" or prints:
            target = sys.stdout if stream == "stdout" else sys.stderr
            target.write(text)
            target.flush()

    return show


def _bar(total: int, name: str) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=total, desc=name)


def _shell() -> object | None:
    """The running IPython shell, if this process has one; IPython is never imported for the question."""
    ipython = sys.modules.get("IPython")
    get = getattr(ipython, "get_ipython", None)
    return get() if get is not None else None


tools = Tools()


class _Session(MutableMapping[str, Any]):
    """``mcc.session``: the current toolbox's session store (SPEC 6.2)."""

    def __getitem__(self, key: str) -> Any:
        return toolbox().session[key]

    def __setitem__(self, key: str, value: object) -> None:
        toolbox().session[key] = value

    def __delitem__(self, key: str) -> None:
        del toolbox().session[key]

    def __iter__(self) -> Iterator[str]:
        return iter(toolbox().session)

    def __len__(self) -> int:
        return len(toolbox().session)

    def clear(self) -> None:
        toolbox().session.clear()

    def __repr__(self) -> str:
        return repr(toolbox().session)


session = _Session()
