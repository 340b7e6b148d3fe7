"""What a policy file lets one workspace do, for people: ``Standing`` (SPEC 5.3, 9).

1. Names and availability only: nothing here can hold a value, and no path but those that a door was given.
2. A tool that the operator switched off is listed here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from . import render
from .displayed import bundle
from .listing import Listing


@dataclass(frozen=True, slots=True)
class Granted:
    """One tool that the workspace was granted. ``state``: ``available``, ``unavailable`` or ``disabled``."""

    name: str
    type: str
    state: str
    names: tuple[str, ...] = ()
    """The parent names it asks for: ``LINEAR_API_KEY``, ``LINEAR_TEAM_KEY (optional)``."""
    skills: tuple[str, ...] = ()
    exposed: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class Standing:
    """The status of a policy file in one workspace. ``file`` None: there is none."""

    file: str | None
    workspace: str = ""
    profiles: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    """The profiles of the file that no rule gives to this workspace; ``%mcc_use`` takes these, too."""
    tools: tuple[Granted, ...] = ()
    skills: tuple[str, ...] = ()
    """Those that stand alone."""
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    exposed: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    footer: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return self.text()

    def text(self) -> str:
        """Aligned plain text, without a newline at its end."""
        blocks = ["\n".join(self._lead())]
        if self.tools:
            blocks.append(self._table().text())
        return "\n\n".join((*blocks, *render.end(self._remarks(), self.footer)))

    def html(self) -> str:
        """The same as a table, as reports have it."""
        parts = [render.paragraph(line) for line in self._lead()]
        if self.tools:
            parts.append(self._table().html())
        return render.fragment((*parts, *render.bullets(self._remarks()), *render.small(self.footer)))

    def json(self) -> dict[str, object]:
        """Everything, by name."""
        return {
            "schema": "mcc.policy",
            "version": 1,
            "file": self.file,
            "workspace": self.workspace or None,
            "profiles": list(self.profiles),
            "other_profiles": list(self.others),
            "tools": [
                {
                    "name": tool.name,
                    "type": tool.type,
                    "state": tool.state,
                    "names": list(tool.names),
                    "skills": list(tool.skills),
                    "exposed": tool.exposed,
                }
                for tool in self.tools
            ],
            "skills": list(self.skills),
            "grants": {"allow": list(self.allow), "deny": list(self.deny)},
            "exposed": list(self.exposed),
            "dropped": list(self.dropped),
            "notices": list(self.notices),
            "problems": list(self.problems),
            "notes": list(self.notes),
            "footer": list(self.footer),
        }

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, object]:
        return bundle({"text/plain": self.text, "text/html": self.html}, include, exclude)

    def _lead(self) -> Iterator[str]:
        if self.file is None:
            yield "no policy file: cells are the authority"
            return
        yield f"policy file: {self.file}"
        if self.problems:
            yield "the policy file cannot be used: no tool and no name is granted"
            return
        yield f"workspace: {self.workspace or 'not named'}"
        yield f"profiles: {_listed(self.profiles)}{f'; others: {_listed(self.others)}' if self.others else ''}"
        yield f"cells may ask for: {_listed(self.allow)}{f'; never {_listed(self.deny)}' if self.deny else ''}"
        if self.exposed:
            yield f"exposed to the workspace: {_listed(self.exposed)}"
        if self.skills:
            yield f"skills: {_listed(self.skills)}"
        if self.dropped:
            yield f"given up: {_listed(self.dropped)}"
        if not self.tools:
            yield "tools: none"

    def _table(self) -> Listing:
        rows = [
            (
                tool.name,
                tool.type,
                tool.state,
                ", ".join(tool.names) + (" → workspace" if tool.exposed and tool.names else ""),
                ", ".join(tool.skills),
            )
            for tool in self.tools
        ]
        return Listing(("tool", "type", "state", "names", "skills"), tuple(rows))

    def _remarks(self) -> tuple[str, ...]:
        return (*self.problems, *self.notices, *self.notes)


def _listed(items: tuple[str, ...]) -> str:
    return ", ".join(items) or "none"
