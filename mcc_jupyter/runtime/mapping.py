"""Many calls of one tool → their outcomes in order, also of those that did not start (SPEC 7.12)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..core.errors import ToolUnavailable
from ..core.outcome import Outcome
from .launcher import Stop
from .workers import each


def mapped(
    tool: str,
    call: Callable[[int, Stop], Outcome],
    count: int,
    *,
    workers: int | None,
    progress: Callable[[int], None] | None,
) -> list[Outcome]:
    """``call(0), call(1), …`` as ``each`` has them; one that became unavailable meanwhile is an outcome, too."""
    unstarted = partial(Outcome, tool, ok=False)

    def one(at: int, stop: Stop) -> Outcome:
        try:
            return call(at, stop)
        except ToolUnavailable as error:  # since the first of them began
            return unstarted(failure=f"did not start: {error}")

    def left_out(_: int) -> Outcome:
        return unstarted(stopped="interrupt", failure="did not start: was interrupted")

    return each(one, count, left_out=left_out, workers=workers, progress=progress)
