"""An environment → what in it counts as secret (SPEC 8.1), for whoever searches texts for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .names import is_credential_like, is_known_not_secret, is_reserved

_OF_THE_HOST = frozenset("_ JPY_PARENT_PID JPY_SESSION_NAME MPLBACKEND CLICOLOR GIT_PAGER".split())
"""What the shell and Jupyter set by themselves: paths of programs and of the notebook, a number, a module's name."""


def secret_values(parent: Mapping[str, str], floor: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Name and value of what counts as secret in an environment (SPEC 8.1).

    A value that a variable which is no secret has, too, is none, unless the name is one of a credential: the home
    folder under another name would else be a mark in every path.
    """
    plain = {name for name in parent if name in floor or _is_plain(name)}
    shown = {parent[name] for name in plain}
    for name, value in parent.items():
        if name not in plain and (value not in shown or is_credential_like(name)):
            yield name, value


def _is_plain(name: str) -> bool:
    return name in _OF_THE_HOST or is_reserved(name) or is_known_not_secret(name)
