"""What a policy file lets cells ask of the parent: ``Cap`` (SPEC 9.3).

1. Nothing is asked for unless ``allow`` names it, and ``deny`` goes before ``allow``.
2. A cap can only be narrowed: ``within`` holds another one that has to agree.
"""

from __future__ import annotations

from dataclasses import dataclass

from .names import any_of


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
        if any_of(self.allow).match(name) is None or any_of(self.deny).match(name) is not None:
            return False
        return self.within is None or self.within.allows(name)
