"""Every error a person can meet: one class for each party that has to act (SPEC 14).

1. A text is made from fields: what, where, what to do. It is one line for each problem and never holds a value.
2. ``code`` is stable. Only a door knows what its host wants; the table below is its hint.
3. IPython shows an ``MccError`` by its text alone, in every ``%xmode``: a frame could print a local variable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in a declaration, at ``path`` (``tools[2].params[0].type``; empty for the whole)."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message

    def under(self, place: str) -> Problem:
        """The same problem, with the file or cell it stands in before its path."""
        return Problem(f"{place}: {self.path}" if self.path else place, self.message)


class MccError(Exception):
    """The base of every error of this package.

    ``code`` names the error for programs, ``exit_status`` is the command line's, ``http_status`` the server's.
    """

    code: ClassVar[str] = "mcc-error"
    exit_status: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def _render_traceback_(self) -> list[str]:
        """IPython's hook: what is shown instead of a traceback."""
        return [f"{type(self).__name__}: {self}"]


class DeclarationError(MccError):
    """The author of a tool wrote something that cannot be used; ``problems`` lists all of it (SPEC 2.5)."""

    code = "declaration"
    exit_status = 2
    http_status = 422

    def __init__(self, *problems: Problem) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


class ArgumentError(MccError):
    """A call's arguments do not fit the tool's parameters (SPEC 2.7)."""

    code = "argument"
    exit_status = 2
    http_status = 422


class UnknownTool(MccError):
    """No declared tool has this key or name, or more than one has the name."""

    code = "unknown-tool"
    exit_status = 3
    http_status = 404


class ToolUnavailable(MccError):
    """The tool cannot start; ``reasons`` are the codes of SPEC 5.1 and the text is the notice of SPEC 5.2."""

    code = "unavailable"
    exit_status = 4
    http_status = 409

    def __init__(self, notice: str, *, tool: str, reasons: tuple[str, ...] = ()) -> None:
        self.tool = tool
        self.reasons = reasons
        super().__init__(notice)


class ToolFailed(MccError):
    """The tool ran and failed; ``outcome`` holds what it left (SPEC 7.12)."""

    code = "failed"
    exit_status = 5
    http_status = 502

    def __init__(self, text: str, *, tool: str, outcome: object = None) -> None:
        self.tool = tool
        self.outcome = outcome
        super().__init__(text)


class Interrupted(KeyboardInterrupt):
    """The user stopped a call, and nothing of the tool is left; ``outcome`` holds what it gave until then (SPEC 7.8).

    For hosts and for ``except`` it is a ``KeyboardInterrupt``, by name too, and shown as one line.
    """

    def __init__(self, text: str, *, outcome: object) -> None:
        self.outcome = outcome
        super().__init__(text)

    def _render_traceback_(self) -> list[str]:
        return [f"KeyboardInterrupt: {self}"]


Interrupted.__name__ = "KeyboardInterrupt"


class SecretError(MccError):
    """A secret cannot be had or may not go where it was sent; the text names it, never shows it."""

    code = "secret"
    exit_status = 6
    http_status = 409


class PolicyError(MccError):
    """The operator's configuration is wrong or forbids this (SPEC 4.2, 9)."""

    code = "policy"
    exit_status = 7
    http_status = 403


class Busy(MccError):
    """So much waits already that no more is taken on; nothing was begun."""

    code = "busy"
    exit_status = 75
    http_status = 429


class InternalError(MccError):
    """A mistake of this package: the text says where, and holds nothing of what it was about."""

    code = "internal"
    exit_status = 70
    http_status = 500


def near(word: object, known: object, *, reach: int = 3, cutoff: float = 0.6) -> str:
    """`` (did you mean `env`?)`` when a known word is close to *word*, else nothing (SPEC 2.6).

    Words whose length differs by more than *reach* characters are not looked at, and of the others 2,000 at most.
    """
    from difflib import get_close_matches

    text = str(word)  # what a caller gave as a name may be anything
    words = map(str, known)  # type: ignore[call-overload]
    candidates = [item for item in words if abs(len(item) - len(text)) <= reach]
    found = get_close_matches(text, candidates[:2000], n=1, cutoff=cutoff)
    return f" (did you mean `{found[0]}`?)" if found else ""
