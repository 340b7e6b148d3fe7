"""An object that makes several forms of itself → the forms that a notebook asks for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

Makers = Mapping[str, Callable[[], object]]
"""By MIME type."""


def bundle(makers: Makers, include: Collection[str] | None, exclude: Collection[str] | None) -> dict[str, object]:
    """What ``_repr_mimebundle_`` gives: only what is asked for is made."""
    return {
        mime: make()
        for mime, make in makers.items()
        if (not include or mime in include) and (not exclude or mime not in exclude)
    }
