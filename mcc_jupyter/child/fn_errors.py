"""A failure → what is told of it: its text, and the frames that are the user's own.

1. Every line of an exception's text stays, its notes too; the frames of this folder and of the import system do not.
2. A long stack keeps its two ends: the twenty frames that say where it began and where it broke.
"""

import builtins
import linecache
import os
import sys
import traceback
from typing import Any

MOST_FRAMES = 20
_FOLDER = os.path.dirname(__file__)
_LIBRARY = os.path.dirname(os.__file__)
_NOT_THE_USERS = (
    _FOLDER + os.sep,
    *(os.path.join(_LIBRARY, name) for name in ("asyncio" + os.sep, "importlib" + os.sep, "os.py")),
)


def failure(error: Any, stage: Any, target: Any, source: Any) -> Any:
    """The answer for *error*, which was raised in *stage*; *target* and *source* are the request's."""
    if source is not None:
        lines = source["text"].splitlines(True)
        linecache.cache[source["filename"]] = (len(source["text"]), None, lines, source["filename"])
    if type(error).__module__.startswith("_mcc_fn_") and hasattr(error, "kind"):
        return {"ok": False, "error": str(error) + _near(error), "traceback": "", "kind": error.kind}
    whole = _read(lambda: traceback.TracebackException(type(error), error, error.__traceback__), None)
    if whole is None:  # an attribute of it raises: what the frames are is told by another one
        whole = traceback.TracebackException(Exception, Exception("(its text cannot be read)"), error.__traceback__)
    frames = _trim(whole)
    kind = "exit" if stage == "exception" and isinstance(error, SystemExit) else stage
    if kind == "exit":
        code = error.code
        shown = "" if code is None else _read(lambda: repr(code), f"a `{type(code).__name__}`")
        text = f"the tool ended with sys.exit({shown}) and returned nothing"
    else:
        text = _text(error)
    if kind == "import":
        verb = "load" if source is not None else "import"
        text = f"cannot {verb} `{_module(target, source)}`{_place(error, frames)}: {text}"
        if isinstance(error, SystemExit):
            text = f"`{_module(target, source)}` calls sys.exit() while it is {verb}ed{_place(error, frames)}"
    return {"ok": False, "error": text + _hint(error), "traceback": "".join(whole.format()), "kind": kind}


def _text(error: Any) -> Any:
    """``ValueError: text`` with all its lines, notes and, of a group, the members."""
    kind = type(error)
    name = kind.__qualname__
    if kind.__module__ not in ("builtins", "__main__"):
        name = f"{kind.__module__}.{name}"
    text = _read(lambda: str(error), "(its text cannot be read)")
    lines = [f"{name}: {text}" if text else name]
    notes = _read(lambda: getattr(error, "__notes__", None), None)
    unread = "(a note cannot be read)"
    lines += [_read(lambda: str(note), unread) for note in notes] if isinstance(notes, (list, tuple)) else []  # noqa: B023
    group = getattr(builtins, "BaseExceptionGroup", ())  # since Python 3.11
    for member in error.exceptions if isinstance(error, group) else ():
        lines += ["  " + line for line in _text(member).splitlines()]
    return "\n".join(lines)


def _read(read: Any, otherwise: Any) -> Any:
    """What *read* gives, or *otherwise* where the user's own code raises whatever it may."""
    try:
        return read()
    except BaseException:  # noqa: BLE001
        return otherwise


class Stack(traceback.StackSummary):
    """A stack that is never shown longer than ``MOST_FRAMES``."""

    def format(self, **options: Any) -> Any:
        frames = super().format(**options)
        left = len(frames) - MOST_FRAMES
        if left <= 0:
            return frames
        half = MOST_FRAMES // 2
        return [*frames[:half], f"  [{left:,} frames are left out]\n", *frames[-half:]]


def _trim(whole: Any) -> Any:
    """Leaves the user's frames in *whole* and in all that it chains; returns those of *whole*."""
    waiting, seen = [whole], set()
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            one.stack = Stack(frame for frame in one.stack if not _ours(frame.filename))
            waiting += [one.__cause__, one.__context__, *(getattr(one, "exceptions", None) or ())]
    return whole.stack


def _ours(filename: Any) -> Any:
    return filename.startswith(("<frozen ", *_NOT_THE_USERS))


def _module(target: Any, source: Any) -> Any:
    if source is not None:
        return source["function"]
    return target.partition(":")[0] if ":" in target else target.rpartition(".")[0]


def _place(error: Any, frames: Any) -> Any:
    """`` (models.py, line 3)``: where the user's code was when its import failed."""
    if isinstance(error, SyntaxError) and error.filename:
        return ""  # its text says so
    return f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""


def _hint(error: Any) -> Any:
    """What to do about a variable that the tool did not get, or a file that hides behind the standard library."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    if isinstance(error, KeyError) and error.args and at.tb_frame.f_locals.get("self") is os.environ:
        return f"\nadd {error.args[0]} to required_env or env_passthrough"
    return ""


def _near(error: Any) -> Any:
    """What is close to an attribute that does not exist."""
    owner = getattr(error, "owner", None)
    if owner is None:
        return ""
    from difflib import get_close_matches

    close = get_close_matches(error.attribute, [name for name in dir(owner) if not name.startswith("__")], n=1)
    if close:
        return f" (did you mean `{close[0]}`?)"
    name = getattr(owner, "__name__", "")
    for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        own = os.path.join(os.path.abspath(folder), *name.split(".")) + ".py"
        if isinstance(owner, type(sys)) and os.path.isfile(own) and getattr(owner, "__file__", own) != own:
            return f"; `{name}` is the standard library's here, so rename the file {os.path.basename(own)}"
    return ""
