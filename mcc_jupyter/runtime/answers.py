"""What a toolbox answers to a declaration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..core.errors import DeclarationError, Problem
from ..core.report import Report
from ..core.tool import Tool


@dataclass(frozen=True, slots=True)
class Added:
    """What a declaration did: its tools with their reports, notices of replacement, and everything that is wrong."""

    tools: tuple[Tool, ...] = ()
    reports: tuple[Report, ...] = ()
    notices: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    printed: str = field(default="", repr=False)
    """What modules printed while they were imported."""

    @property
    def shown(self) -> tuple[Report, ...]:
        """The reports as a declaration shows them: brief, and what all of them end with said once."""
        brief = [replace(one, brief=True, footer=()) for one in self.reports[:-1]]
        return (*brief, *(replace(one, brief=True) for one in self.reports[-1:]))

    def raise_for_problems(self) -> Added:
        """Itself, or ``DeclarationError`` with all problems."""
        if self.problems:
            raise DeclarationError(*self.problems)
        return self


def joined(results: Sequence[Added]) -> Added:
    """One answer of several, in their order."""
    return Added(
        tools=tuple(tool for added in results for tool in added.tools),
        reports=tuple(item for added in results for item in added.reports),
        notices=tuple(notice for added in results for notice in added.notices),
        problems=tuple(problem for added in results for problem in added.problems),
        printed="".join(added.printed for added in results),
    )
