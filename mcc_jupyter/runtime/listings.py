"""A toolbox → small tables for people: its tools, its session's entries, its skills. Names and texts, never a value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from ..core.listing import Listing
from ..core.report import printable
from ..core.tool import Tool
from .session import SessionStore
from .sizes import sized
from .skills import Skill


def tools_listing(tools: Iterable[Tool], known: Iterable[Tool], is_available: Callable[[Tool], bool]) -> Listing:
    """*tools*: name (the key where two of the *known* share a name), kind, availability, description."""
    rows = []
    shared = {name for name, count in Counter(tool.name for tool in known).items() if count > 1}
    for tool in tools:
        state = "available" if is_available(tool) else "unavailable"
        name = tool.key if tool.name in shared else tool.name
        rows.append((name, tool.kind, state, tool.description.partition("\n")[0]))
    return Listing(("tool", "kind", "state", "description"), tuple(sorted(rows)), "no tools are declared")


def session_listing(session: SessionStore) -> Listing:
    """The session's keys, types and sizes in bytes (SPEC 6.2)."""
    shown = [(key, kind, "identity" if size is None else sized(size)) for key, kind, size in session.rows()]
    return Listing(("key", "type", "size"), tuple(shown))


def skills_listing(found: Iterable[tuple[str, str | None, Skill | str]]) -> Listing:
    """Skills, the tools that they come with, and what they say of themselves or why they cannot be had (SPEC 9.4)."""
    rows = []
    for name, tool, skill in found:
        told = skill if isinstance(skill, str) else skill.description
        rows.append((name, tool or "", printable(told)))
    return Listing(("skill", "tool", "description"), tuple(sorted(rows)), "there are no skills")
