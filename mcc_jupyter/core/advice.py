"""What a tool lacks → a note that says what to do about it (SPEC 5.1).

1. A note depends on names and value classes only: the scheme of a reference is part of the value that holds it.
2. Near names are looked for only when something is missing, and once for each parent and name.
"""

from __future__ import annotations

from collections.abc import Mapping

from .errors import near
from .names import is_reserved
from .tool import Grant

REACH, CUTOFF = 5, 0.8
"""``LINEAR_KEY`` is near ``LINEAR_API_KEY``; ``WEATHER_API_KEY`` is another credential."""

_AT_START = "set {} in the environment that the kernel is started with, and restart it"


def missing(
    grant: Grant,
    parent: Mapping[str, str],
    *,
    refers: tuple[str, ...] = (),
    empty_in: str = "",
    at_start: bool = False,
    kernel: bool = True,
) -> str:
    """What to do where a required name has no value. *kernel*: the parent is that of a notebook or a shell of IPython.

    *at_start*: the tool is an operator's, and sees what the kernel was started with (SPEC 9.3).

    *refers*: the declaration's own ``env`` gives it, from these names that are not set. *empty_in*: the field that
    gives it and holds no text.
    """
    if is_reserved(grant.child):
        return f"{grant.child}: only the session gives it; see %mcc_session"
    where = "before the kernel starts or with %env" if kernel else "in the environment"
    if refers:
        listed = ", ".join(refers)
        near_to = nearest(refers[0], parent)
        if at_start:
            return f"{grant.child}: {_AT_START.format(listed)}{near_to}"
        return f"{grant.child}: set {listed} {where}, and declare the tool again{near_to}"
    if empty_in:
        return f"{grant.child}: {empty_in} gives it without a value; write one there"
    if at_start:
        return f"{grant.parent}: {_AT_START.format('it')}{nearest(grant.parent, parent)}"
    instead = "it" if grant.child == grant.parent else grant.child
    todo = f"set it {where}, or give {instead} in an env_file"
    return f"{grant.parent}: {todo}{nearest(grant.parent, parent)}"


def unresolved(name: str, *, stands_in: str = "", kernel: bool = True) -> str:
    """What to do where a value is a reference to a secret store. *stands_in*: the field of the declaration it is in."""
    if not stands_in:
        what = "the kernel" if kernel else "this command"
        return f"{name}: nothing resolved this reference; start {what} by `mcc-jupyter launch`"
    use = f"secret_files: {{{name}: ${name}}}" if stands_in == "secret_files" else f"required_env: [{name}]"
    return f"{name}: only a template of `mcc-jupyter launch` resolves a reference; put it there and write `{use}` here"


class _Nearest:
    """The near match of a name in the last parent seen, so that an unchanged parent is not searched again."""

    def __init__(self) -> None:
        self._last: tuple[Mapping[str, str], dict[str, str]] = {}, {}

    def __call__(self, name: str, parent: Mapping[str, str]) -> str:
        last = self._last
        if parent is not last[0]:
            # One assignment, so that no thread writes another parent's answers.
            self._last = last = parent, {}
        if name not in last[1]:
            last[1][name] = "" if name in parent else near(name, parent, reach=REACH, cutoff=CUTOFF)
        return last[1][name]


nearest = _Nearest()
