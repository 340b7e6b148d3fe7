"""An environment → what in it counts as secret (SPEC 8.1), for whoever searches texts for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from .names import is_credential_like, is_known_not_secret, is_reserved

_OF_THE_HOST = frozenset(("JPY_SESSION_NAME", "GIT_PAGER"))
"""What Jupyter sets by itself: the path of the notebook, and a program."""


def secret_values(
    parent: Mapping[str, str], floor: tuple[str, ...], learned: Iterable[tuple[str, str]] = ()
) -> Iterator[tuple[str, str]]:
    """Name and value of what counts as secret in an environment, and of what tools had (*learned*; SPEC 8.1).

    A value that a variable which is no secret has, too, is none, unless the name is one of a credential: the home
    folder under another name would else be a mark in every path.
    """
    plain = {name for name in parent if name in floor or _is_plain(name)}
    shown = {parent[name] for name in plain}
    for name, value in (*parent.items(), *learned):
        if name not in plain and (value not in shown or is_credential_like(name)):
            yield name, value


def _is_plain(name: str) -> bool:
    return name in _OF_THE_HOST or is_reserved(name) or is_known_not_secret(name)
