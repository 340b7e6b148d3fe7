"""What a policy file lets cells ask of the parent: ``Cap`` (SPEC 9.3).

1. Nothing is asked for unless ``allow`` names it, and ``deny`` goes before ``allow``.
2. A cap can only be narrowed: ``within`` holds another one that has to agree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from .names import any_of, first_match, has_wildcard


@dataclass(frozen=True, slots=True)
class Cap:
    """Case-sensitive patterns on parent names; the floor is not subject to them."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    label: str = "mcc.toml"
    """What says so, in reasons and notes."""
    within: Cap | None = None

    def allows(self, name: str) -> bool:
        """Whether a cell's own tool may have the parent's variable *name*."""
        return self.test()(name)

    def test(self) -> Callable[[str], bool]:
        """``allows``, made ready for many names."""
        allowed, denied = _any(self.allow), _any(self.deny)
        if self.within is None:
            return lambda name: allowed(name) and not denied(name)
        further = self.within.test()
        return lambda name: allowed(name) and not denied(name) and further(name)

    def refusal(self, name: str) -> str | None:
        """What to do where *name* is not allowed, and which rule it is that says so; None for an allowed one."""
        denied = first_match(self.deny, name)
        if denied is not None:
            return f"{self.label} never grants it to cells: `[grants] deny` has {denied}"
        if not _any(self.allow)(name):
            return f"{self.label} does not grant it to cells; who keeps the file can add it to `[grants] allow`"
        return None if self.within is None else self.within.refusal(name)


@lru_cache(maxsize=256)
def _any(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    """Names that are written out are looked up: of those a workspace may have hundreds."""
    exact = frozenset(pattern for pattern in patterns if not has_wildcard(pattern))
    wild = tuple(pattern for pattern in patterns if has_wildcard(pattern))
    if not wild:
        return exact.__contains__
    match = any_of(wild).match
    return lambda name: name in exact or match(name) is not None
