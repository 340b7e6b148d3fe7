"""The door for Python code: ``import mcc_jupyter as mcc`` (SPEC 2.3, 7.12).

What a tool's value is not is shown while it runs: a function's prints, and every tool's stderr. The value is returned.
"""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from types import FunctionType
from typing import Any, Literal, overload

from ..core.errors import ArgumentError, DeclarationError, Problem
from ..core.listing import Listing
from ..core.lock import Change
from ..core.outcome import Outcome
from ..core.report import Report
from ..core.standing import Standing
from ..core.tool import MISSING, Function, Origin, Tool
from ..runtime.answers import Added
from ..runtime.calls import Show, Showing
from ..runtime.checks import check_map, check_name, check_path, check_profile
from ..runtime.current import cell_origin, toolbox_for
from ..runtime.guard import guarded, guarded_async, written
from ..runtime.parent import Parent
from ..runtime.toolbox import Toolbox

_parent = Parent(os.environ)

_TAIL = 4000
"""Characters of a failed command's output that are shown."""


@guarded
def toolbox() -> Toolbox:
    """The current toolbox: the running shell's, or this process's."""
    return toolbox_for(_shell(), _parent)


@guarded
@written('mcc.call("NAME", {"parameter": value}, timeout=None, spill=None)')
def call(
    name: str,
    arguments: Mapping[str, object] | None = None,
    *,
    timeout: float | None = None,
    spill: str | os.PathLike[str] | None = None,
) -> Outcome:
    """Calls a tool; a failed call is an outcome too, with ``ok`` false.

    *timeout* in seconds goes before the tool's own. *spill* is a new private file for all of its output, redacted.
    Raises ``UnknownTool``, ``ToolUnavailable`` and ``ArgumentError``.
    """
    box = toolbox()
    show = _shown(box.registry.find(check_name(name)))
    return box.call(name, arguments, timeout=timeout, show=show, spill=_path_of(spill))


@guarded_async
@written('await mcc.acall("NAME", {"parameter": value}, timeout=None, spill=None)')
async def acall(
    name: str,
    arguments: Mapping[str, object] | None = None,
    *,
    timeout: float | None = None,
    spill: str | os.PathLike[str] | None = None,
) -> Outcome:
    """``call`` for ``await``: the event loop stays free; cancelling ends the tool."""
    box = toolbox()
    show = _shown(box.registry.find(check_name(name)))
    return await box.acall(name, arguments, timeout=timeout, show=show, spill=_path_of(spill))


@guarded
@written('mcc.map("NAME", [{"parameter": value}, …], workers=None, timeout=None, progress=True)')
def map(  # the field's name for it; the built-in is not used in this module
    name: str,
    arguments: Iterable[Mapping[str, object]],
    *,
    workers: int | None = None,
    timeout: float | None = None,
    progress: bool = True,
) -> list[Outcome]:
    """Calls a tool once for each item of *arguments*, *workers* at a time; outcomes in the order of the items.

    An interrupt stops every running call, starts no other and returns what is done; a second one kills. The progress
    bar is tqdm's (``pip install mcc_jupyter[progress]``); without tqdm there is none.
    """
    items = check_map(arguments, workers)
    bar = _bar(len(items), name) if progress else None
    try:
        return toolbox().map(
            name, items, workers=workers, timeout=timeout, progress=None if bar is None else lambda _: bar.update(1)
        )
    finally:
        if bar is not None:
            bar.close()


@guarded
@written('mcc.load("tools.yaml", …)')
def load(*paths: str) -> tuple[str, ...]:
    """Declares the tools of YAML files, folders and globs; returns their keys. Raises ``DeclarationError``."""
    added = toolbox().load(*paths)
    return tuple(tool.key for tool in added.raise_for_problems().tools)


@guarded
@written('mcc.report("NAME", everything=False)')
def report(name: str, *, everything: bool = False) -> Report:
    """What the tool would get, by name; *everything* adds withheld names and program paths."""
    return toolbox().report(name, everything=everything)


@guarded
def diff(name: str | None = None, *, lock: str | os.PathLike[str] | Literal[True] | None = None) -> tuple[Change, ...]:
    """What a tool, or each, gets more and less than its last declaration gave it, by name; ``str`` of one is a line.

    With *lock* than that file says; True is the nearest ``mcc.lock`` here or above. Raises ``UnknownTool``, and
    ``DeclarationError`` for a lock that cannot be read.
    """
    from ..runtime import differing

    if lock is not None and lock is not True:
        lock = _path_of(lock)
        check_path(lock, verb="diff")
    wanted = differing.lock_file() if lock is True else _path_of(lock)
    return tuple(differing.diff(toolbox().registry, None if name is None else check_name(name), lock=wanted))


@guarded
def policy() -> Standing:
    """What the operator's policy file lets this workspace do, by name."""
    return toolbox().standing()


@guarded
def use(*profiles: str) -> tuple[str, ...]:
    """Gives up the operator's tools that none of *profiles* has, until the process ends; returns those that went.

    Raises ``PolicyError``.
    """
    return toolbox().governed.use([check_profile(profile) for profile in profiles])


@guarded
def skills(name: str | None = None) -> Listing | str:
    """The skills of this workspace as a table; with *name*, the text of one. Raises ``ArgumentError``."""
    from ..runtime.listings import skills_listing

    governed = toolbox().governed
    return skills_listing(governed.skills()) if name is None else governed.skill(name).text


class CallableTool:
    """A declared tool as a callable: its value, or ``ToolFailed``."""

    def __init__(self, key: str, function: FunctionType | None = None) -> None:
        self._key = key
        self.__name__ = key.rpartition(".")[2]
        if function is not None:
            self.__wrapped__ = function

    @guarded
    def __call__(self, *args: object, **kwargs: object) -> Any:
        outcome = call(self._key, self._named(args, kwargs))
        if not outcome.ok and not isinstance(self._tool.body, Function) and outcome.stdout:
            # The value of a command is its output, which an error would otherwise take with it.
            _write("stdout", outcome.stdout[-_TAIL:])
        if outcome.traceback:
            _write("stderr", outcome.traceback.rstrip("\n") + "\n")
        return outcome.whole()

    @guarded
    def _named(self, args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object]:
        if not args:
            return kwargs
        tool = toolbox().available(self._key)  # so that its signature has been read
        parameters = self.__signature__.parameters
        visible = list(parameters)
        given = args[0]
        named = isinstance(given, Mapping) and given.keys() <= parameters.keys() and len(args) == 1
        if visible and named and parameters[visible[0]].annotation not in ("dict", "any"):
            raise ArgumentError(f"Tool {tool.name!r}: takes each argument by itself; write ** before the mapping")
        if len(args) > len(visible):
            raise ArgumentError(f"Tool {tool.name!r}: takes {len(visible)} arguments and got {len(args)}")
        positional = dict(zip(visible, args, strict=False))
        twice = positional.keys() & kwargs.keys()
        if twice:
            raise ArgumentError(f"Tool {tool.name!r}: argument `{min(twice)}` is given twice")
        return {**positional, **kwargs}

    @property
    def _tool(self) -> Tool:
        return toolbox().registry.find(self._key)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return self._tool.description or f"Calls the tool {self._key}."

    @property
    def __signature__(self) -> Any:
        """For help and completion in a notebook."""
        from inspect import Parameter, Signature

        shown = [param for param in self._tool.params if param.override is MISSING]
        by_kind = {True: Parameter.empty, False: None}
        listed = [
            Parameter(
                param.name,
                Parameter.POSITIONAL_OR_KEYWORD,
                default=by_kind[param.required] if param.default is MISSING or param.default_hidden else param.default,
                annotation=param.type,
            )
            for param in shown
        ]
        # Python wants parameters with a default last; a call may give any of them by name.
        return Signature(sorted(listed, key=lambda parameter: parameter.default is not Parameter.empty))

    def __repr__(self) -> str:
        return f"<tool {self._key}>"


class Tools:
    """``mcc.tools``: the declared tools as attributes and items, by name or key."""

    def __getattr__(self, name: str) -> CallableTool:
        if name.startswith("__") or (name.startswith("_") and name not in self):
            raise AttributeError(name)
        return self[name]

    @guarded
    def __getitem__(self, name: str) -> CallableTool:
        return CallableTool(toolbox().registry.find(check_name(name)).key)

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

    *fields* are those of a tool in YAML (``env_passthrough``, ``required_env``, ``limits``, …). The result is called
    like the function and runs the tool. Raises ``DeclarationError``.
    """
    if function is None:
        return lambda decorated: _declare(decorated, fields)
    return _declare(function, {})


@guarded
def _declare(function: object, fields: Mapping[str, object]) -> CallableTool:
    from ..core.standalone import extract

    if not isinstance(function, FunctionType):
        raise DeclarationError(Problem("@tool", "must stand on a plain function, below any other decorator"))
    shell = _shell()
    label, path = f"@tool {function.__name__}", _path(function)
    linecache.checkcache(path)  # a module that was edited and is imported again
    text = "".join(linecache.getlines(path, function.__globals__))
    if not text:
        raise DeclarationError(Problem(label, "its source cannot be read; write it in a cell or a file"))
    if function.__globals__.get("__name__") == "__main__":
        filename, origin = path if shell is None else "<cell>", cell_origin(shell, label)
    else:
        # A module is no part of the cell that imports it: the cell's next run finds it imported, and declares nothing.
        filename, origin = path, Origin("python", f"{label} in {function.__module__}", path)
    source = extract(text, function.__name__, filename=filename)
    added = toolbox().add_function(source, fields, origin)
    _show_added(shell, added)
    added.raise_for_problems()
    return CallableTool(added.tools[0].key, function)


def _path(function: object) -> str:
    """The cell or file a function was written in: the innermost one's, where decorators put others around it."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    return "" if code is None else str(code.co_filename)


def _show_added(shell: object | None, added: Added) -> None:
    """In a shell a declaration shows its report, as ``%%mcc_tool`` does."""
    if shell is None:
        return
    from IPython.display import display

    sys.stdout.write(added.printed)
    for line in added.notices:
        print(line)
    for item in added.shown:
        display(item)  # type: ignore[no-untyped-call]


def _shown(declared: Tool) -> Show:
    """Shows what is not the value."""
    prints = isinstance(declared.body, Function) and declared.transform is None
    return Showing(_write, hidden=frozenset(() if prints else ("stdout",)))


def _path_of(spill: object) -> Any:
    """What is no path is refused where it is checked."""
    return os.fspath(spill) if isinstance(spill, os.PathLike) else spill


def _write(stream: Literal["stdout", "stderr"], text: str) -> None:
    target = sys.stdout if stream == "stdout" else sys.stderr
    target.write(text)
    target.flush()


def _bar(total: int, name: str) -> Any:
    from importlib.util import find_spec

    if find_spec("tqdm") is None:
        return None
    if find_spec("ipywidgets") is None:  # without them tqdm.auto warns in a notebook
        from tqdm import tqdm
    else:
        from tqdm.auto import tqdm
    return tqdm(total=total, desc=name)


def _shell() -> object | None:
    """The running IPython shell, if this process has one; IPython is never imported for the question."""
    ipython = sys.modules.get("IPython")
    get = getattr(ipython, "get_ipython", None)
    return get() if get is not None else None


tools = Tools()


class _NoEntry(KeyError):
    """A key that the session does not have, which a shell tells in one line."""

    def _render_traceback_(self) -> list[str]:
        return [f"KeyError: session: there is no entry {self}; `%mcc_session list` shows them"]


_NoEntry.__name__ = "KeyError"


class _Session(MutableMapping[str, Any]):
    """``mcc.session``: the current toolbox's session store (SPEC 6.2)."""

    def __getitem__(self, key: str) -> Any:
        try:
            return toolbox().session[key]
        except KeyError:
            raise _NoEntry(key) from None

    @guarded
    def __setitem__(self, key: str, value: object) -> None:
        toolbox().session[key] = value

    def __delitem__(self, key: str) -> None:
        del toolbox().session[key]

    def __iter__(self) -> Iterator[str]:
        return iter(toolbox().session)

    def __len__(self) -> int:
        return len(toolbox().session)

    @guarded
    def clear(self) -> None:
        toolbox().session.clear()

    def __repr__(self) -> str:
        return repr(toolbox().session)


session = _Session()
