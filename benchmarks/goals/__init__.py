"""The goals by their number, which is the one used in ``docs/performance.md``."""

from __future__ import annotations

from ..harness import Goal
from . import calls, functions, lab, mcc, output, policy, saving, server

_MODULES = (calls, functions, policy, output, mcc, saving, server, lab)
_ALL = sorted((goal for module in _MODULES for goal in module.GOALS), key=lambda goal: int(goal.number[1:]))

GOALS: dict[str, tuple[Goal, ...]] = {
    number: tuple(goal for goal in _ALL if goal.number == number)
    for number in dict.fromkeys(goal.number for goal in _ALL)
}
"""A number has several lines where it says several things."""
