"""A toolbox without a policy file: cells are the authority (SPEC 9.1). The same questions as ``governed``'s."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn

from ..core.errors import ArgumentError, PolicyError
from ..core.resolution import Resolution
from ..core.standing import Standing
from ..core.tool import Tool
from .resolved import FREE, Terms

if TYPE_CHECKING:
    from .skills import Skill


class Ungoverned:
    """Nothing is granted here, because nothing is withheld."""

    label = ""
    path = None
    floor = None
    profiles: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.on_change: Callable[[], None] = lambda: None
        """Never told of anything."""

    def bind(self, resolve: Callable[[Tool], Resolution], narrowed: Callable[[], None]) -> None:
        """Nothing is ever narrowed."""

    def terms(self, tool: Tool) -> Terms:  # noqa: ARG002 - the same for every tool
        return FREE

    def cap(self) -> None:
        """Cells may ask for everything."""

    def exposed(self) -> tuple[str, ...]:
        return ()

    def entries(self) -> dict[str, object]:
        return {}

    def use(self, profiles: Sequence[str]) -> NoReturn:  # noqa: ARG002
        raise PolicyError("there is no policy file, so there are no profiles; cells are the authority here")

    def skill_names(self) -> dict[str, str | None]:
        return {}

    def skills(self) -> list[tuple[str, str | None, Skill | str]]:
        return []

    def skill(self, name: str) -> NoReturn:
        raise ArgumentError(f"there is no skill {name!r}: skills come with a policy file, and there is none")

    def news(self) -> tuple[str, ...]:
        return ()

    def raise_for_problems(self) -> None:
        """There is no file that could have any."""

    def refresh(self) -> None:
        """There is no file that could change."""

    def summary(self) -> None:
        """There is nothing to say."""

    def standing(self, footer: Iterable[str]) -> Standing:
        return Standing(None, footer=tuple(footer))
