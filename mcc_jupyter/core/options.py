"""The options of a magic: a table, and words → what was given (SPEC 2.2, 2.10, 7.12).

1. ``--name VALUE`` and ``--name=VALUE`` are the same; an option that names one thing stands once.
2. All problems are collected; a message names the option, never what was given for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .errors import Problem, near
from .reading import positive, shown


@dataclass(frozen=True, slots=True)
class Option:
    """One option: completion and help read these fields. Without *value* it is a flag."""

    flag: str
    value: str = ""
    help: str = ""
    repeat: bool = False
    """Whether it may be given again, each time for another thing."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a line holds: its words, the values of each option, and what is wrong with it."""

    words: list[str] = field(default_factory=list, repr=False)
    values: dict[str, list[str]] = field(default_factory=dict, repr=False)
    problems: list[Problem] = field(default_factory=list)

    def wrong(self, flag: str, message: str) -> None:
        self.problems.append(Problem(flag, message))

    def last(self, flag: str) -> str | None:
        """The value of an option that stands once."""
        return self.values[flag][-1] if flag in self.values else None


def seconds_of(given: Given, flag: str) -> float | None:
    """The positive number of seconds an option gives."""
    text = given.last(flag)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not positive(value):
        given.wrong(flag, "expected a number of seconds above 0")
    return value


def read_options(words: Sequence[str], table: Sequence[Option], unquote: Callable[[str], str] = str) -> Given:
    """Tell options from words. *unquote* turns an option's value into what it means."""
    known = {option.flag: option for option in table}
    given = Given()
    left = list(reversed(words))
    while left:
        word = left.pop()
        if not word.startswith("-"):
            given.words.append(word)
            continue
        flag, equals, value = word.partition("=")
        option = known.get(flag)
        if option is None:
            given.wrong("", f"unknown option `{shown(flag)}`{near(flag, known)}")
            continue
        if not option.value and equals:
            given.wrong(flag, "takes no value")
        elif option.value and not equals:
            if not left or left[-1].startswith("--"):
                given.wrong(flag, f"needs a value: `{flag} {option.value}`")
                continue
            value = left.pop()
        if flag in given.values and not option.repeat:
            given.wrong(flag, "given twice; keep one")
        given.values.setdefault(flag, []).append(unquote(value))
    return given
