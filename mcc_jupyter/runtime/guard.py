"""What leaves a door: an error of ours in one line, or what the caller's own code raised (SPEC 14).

1. No frame of this package goes with an error: in a verbose traceback its variables would show what they hold.
2. A call that does not fit a door's function is ``ArgumentError``, with how it is written (``written``).
3. An interrupt is ``Interrupted``; an exception that is nobody's is ``InternalError``, which says where, not of what.
4. What a stream or a display of the caller's raises while a door shows something is the caller's, and stays as it is.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_DOORS = os.path.join(_PACKAGE, "doors") + os.sep


def guarded(function: Callable[P, T]) -> Callable[P, T]:
    """*function* as a door shows it: what it raises has no frame of this package but this one."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - whatever it is, it is told
            told = _told(error, function)
        raise told

    return call


def written(form: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Says how the function below is called, for whoever gives it other arguments than it takes."""

    def mark(function: Callable[P, T]) -> Callable[P, T]:
        function.written = form  # type: ignore[attr-defined]
        return function

    return mark


def guarded_async(function: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """The same for ``await``."""

    @functools.wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await function(*args, **kwargs)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is told
            ours = isinstance(error, Exception | KeyboardInterrupt)
            told = _told(error, function) if ours else error.with_traceback(None)  # cancelled, or closed
        raise told

    return call


def _told(error: BaseException, function: object) -> BaseException:
    """What to raise for *error* of *function*."""
    # Here, so that loading the extension stays quick.
    from ..core.errors import ArgumentError, InternalError, Interrupted, MccError

    if isinstance(error, MccError | Interrupted):
        error.__context__ = None
        return error.with_traceback(None)
    if isinstance(error, KeyboardInterrupt):
        return Interrupted("interrupted", outcome=getattr(error, "outcome", None))
    if isinstance(error, TypeError) and error.__traceback__ is not None and error.__traceback__.tb_next is None:
        return ArgumentError(f"{error}; write `{getattr(function, 'written', 'help()')}`")  # it never began
    last = _last_of_ours(error.__traceback__ and error.__traceback__.tb_next)  # behind the frame of ``call``
    if last is not None and _is_the_callers(error, last):
        return error.with_traceback(last.tb_next)
    return InternalError(f"internal error: {_where(error, last)}; please report it")


def where_it_failed(error: BaseException) -> str:
    """The type of *error*, and the place in this package; what it says may hold a value."""
    return _where(error, _last_of_ours(error.__traceback__))


def _last_of_ours(at: TracebackType | None) -> TracebackType | None:
    last = None
    while at is not None:
        last = at if at.tb_frame.f_code.co_filename.startswith(_PACKAGE) else last
        at = at.tb_next
    return last


def _where(error: BaseException, last: TracebackType | None) -> str:
    where = "" if last is None else f" in {os.path.basename(last.tb_frame.f_code.co_filename)}, line {last.tb_lineno}"
    return f"{type(error).__name__}{where}"


def _is_the_callers(error: BaseException, last: TracebackType) -> bool:
    """Whether what a door called is not ours: code of the caller or host, or a stream that is closed or full."""
    in_a_door = last.tb_frame.f_code.co_filename.startswith(_DOORS)
    return in_a_door and (last.tb_next is not None or isinstance(error, OSError | ValueError))
