"""The operator's policy file, read → what one workspace may use: ``Authority`` → ``Access`` (SPEC 9).

1. Nothing is granted that no profile of the workspace names; what the file does not say, nobody has.
2. Whatever narrows an ``Access`` gives another one that holds no more. Nothing here widens one.
3. No value of the parent decides anything here but through *available*, which the caller answers.

``authority_reading`` makes an ``Authority`` of plain data.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import translate
from functools import lru_cache

from .availability import may_call
from .cap import Cap
from .errors import PolicyError, near
from .mcp_table import McpTable
from .names import is_reserved
from .tool import DEFAULT_FLOOR, Tool


@dataclass(frozen=True, slots=True)
class PolicyTool:
    """One ``[tools.NAME]``: the tool, and what the operator says beside it (SPEC 9.2)."""

    tool: Tool
    type: str
    skills: tuple[str, ...] = ()
    enabled: bool = True
    exposed: bool = False
    """Its names go to the workspace too (SPEC 9.5)."""
    project: bool = False
    server: McpTable | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The parent names it asks for."""
        return tuple(dict.fromkeys(grant.parent for grant in (*self.tool.required_env, *self.tool.optional_env)))


@dataclass(frozen=True, slots=True)
class Profile:
    """``[profiles.NAME]``: what it includes comes before its own (SPEC 9.3)."""

    includes: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """``[workspaces."PATTERN"]``. Without users and groups it is for everyone."""

    pattern: str
    profiles: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Workspace:
    """One notebook and its kernel: the notebook's real path where it is known, else a name, else neither (SPEC 9.2)."""

    name: str = ""
    path: str | None = None

    @classmethod
    def of(cls, text: str) -> Workspace:
        """As ``--workspace`` and ``MCC_WORKSPACE`` give it: an absolute path, or a name."""
        return cls(path=posixpath.normpath(text)) if text.startswith("/") else cls(name=text)

    def __str__(self) -> str:
        return self.path or self.name


@dataclass(frozen=True, slots=True)
class Authority:
    """What a policy file says."""

    label: str
    folder: str
    tools: Mapping[str, PolicyTool] = field(default_factory=dict)
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    workspaces: tuple[Rule, ...] = ()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    floor: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

    @property
    def companions(self) -> dict[str, tuple[str, ...]]:
        """Each skill that comes with tools, and those tools (SPEC 9.4)."""
        found: dict[str, list[str]] = {}
        for name, item in self.tools.items():
            for skill in item.skills:
                found.setdefault(skill, []).append(name)
        return {skill: tuple(names) for skill, names in found.items()}


@dataclass(frozen=True, slots=True)
class Access:
    """What one workspace may use. Unavailable and disabled tools are in ``tools``, too: they are granted."""

    workspace: Workspace
    profiles: tuple[str, ...]
    tools: tuple[str, ...]
    skills: tuple[str, ...]
    """Those a profile names and no tool brings."""
    cap: Cap
    dropped: tuple[str, ...] = ()
    """What ``%mcc_use`` gave up."""


def access(authority: Authority, workspace: Workspace, *, user: str, groups: frozenset[str] | None) -> Access:
    """What *workspace* may use. *groups* None: a local user without configuration, who has all of them (SPEC 6.6)."""
    rules = [rule for rule in authority.workspaces if _is_for(rule, workspace, authority.folder, user, groups)]
    profiles = tuple(dict.fromkeys(name for rule in rules for name in rule.profiles))
    tools, named = expand(authority, profiles)
    companions = authority.companions
    skills = tuple(skill for skill in named if skill not in companions)
    return Access(workspace, profiles, tools, skills, Cap(authority.allow, authority.deny))


def expand(authority: Authority, profiles: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Tools and skills of *profiles*: includes first, in their order; of duplicates the first stays (SPEC 9.3)."""
    tools: dict[str, None] = {}
    skills: dict[str, None] = {}
    seen: set[str] = set()
    # Not by recursion: a chain of includes may be as long as the file.
    waiting = [(name, False) for name in reversed(tuple(profiles))]
    while waiting:
        name, opened = waiting.pop()
        profile = authority.profiles[name]
        if opened:
            tools.update(dict.fromkeys(profile.tools))
            skills.update(dict.fromkeys(profile.skills))
        elif name not in seen:
            seen.add(name)
            waiting.append((name, True))
            waiting += [(include, False) for include in reversed(profile.includes)]
    return tuple(tools), tuple(skills)


def narrowed(authority: Authority, current: Access, profiles: Iterable[str]) -> Access:
    """*current* without what none of *profiles* has (SPEC 9.3). Raises ``PolicyError`` for an unknown profile."""
    wanted = tuple(profiles)
    for name in wanted:
        if name not in authority.profiles:
            hint = near(name, authority.profiles)
            raise PolicyError(f"{authority.label}: there is no profile {name!r}{hint}; `%mcc_policy` lists them")
    tools, skills = map(frozenset, expand(authority, wanted))
    return replace(
        current,
        tools=tuple(name for name in current.tools if name in tools),
        skills=tuple(skill for skill in current.skills if skill in skills),
        dropped=(*current.dropped, *(name for name in current.tools if name not in tools)),
    )


def exposed(authority: Authority, current: Access, available: Callable[[PolicyTool], bool]) -> tuple[str, ...]:
    """The parent names that go to the workspace: those of its available tools that expose them (SPEC 9.5)."""
    found = [item for item in map(authority.tools.__getitem__, current.tools) if item.exposed and available(item)]
    return tuple(dict.fromkeys(name for item in found for name in item.names))


def cell_cap(authority: Authority, current: Access, available: Callable[[PolicyTool], bool]) -> Cap:
    """What the cells of a workspace may ask for: ``[grants]``, and what granted tools expose; not ``deny``."""
    names = exposed(authority, current, available)
    return replace(current.cap, allow=(*current.cap.allow, *names)) if names else current.cap


def skills(authority: Authority, current: Access, available: Callable[[PolicyTool], bool]) -> dict[str, str | None]:
    """Each skill of a workspace and the tool it comes with; None for one that stands alone (SPEC 9.4)."""
    found: dict[str, str | None] = {}
    for name in current.tools:
        if available(authority.tools[name]):
            for skill in authority.tools[name].skills:
                found.setdefault(skill, name)
    return found | dict.fromkeys(current.skills)


def project(authority: Authority, current: Access) -> str | None:
    """The session's reserved ``project``: the workspace, where a granted tool asks for one each (SPEC 9.2)."""
    asked = any(authority.tools[name].project and authority.tools[name].enabled for name in current.tools)
    if not asked or not str(current.workspace):
        return None
    path = current.workspace.path
    if path is None:
        return current.workspace.name
    inside = posixpath.relpath(path, authority.folder) if path.startswith(authority.folder + "/") else path
    return inside.removesuffix(".ipynb")


def shown_to(authority: Authority, user: str, groups: frozenset[str] | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The patterns of the workspaces that are for *user*, and their profiles with what these include: by name."""
    rules = [rule for rule in authority.workspaces if _is_of(rule, user, groups)]
    profiles: dict[str, None] = {}
    waiting = [name for rule in reversed(rules) for name in reversed(rule.profiles)]
    while waiting:
        name = waiting.pop()
        if name not in profiles:
            profiles[name] = None
            waiting += reversed(authority.profiles[name].includes)
    return tuple(dict.fromkeys(rule.pattern for rule in rules)), tuple(profiles)


def secret_names(authority: Authority) -> tuple[str, ...]:
    """The parent names that tools ask for by name, whoever may use them, but those that count as no secret (SPEC 8.1).

    These are the floor's, the reserved ones, and those that every tool which asks for them has in ``redact.never``.
    """
    floor = (*DEFAULT_FLOOR, *(authority.floor or ()))
    found = [
        grant.parent
        for item in authority.tools.values()
        for grant in (*item.tool.required_env, *item.tool.optional_env)
        if grant.child not in item.tool.never_redact
    ]
    return tuple(dict.fromkeys(name for name in found if name not in floor and not is_reserved(name)))


def _is_for(rule: Rule, workspace: Workspace, folder: str, user: str, groups: frozenset[str] | None) -> bool:
    return matches(rule.pattern, workspace, folder) and _is_of(rule, user, groups)


def _is_of(rule: Rule, user: str, groups: frozenset[str] | None) -> bool:
    if user in rule.users:
        return True
    # Naming users alone is for them alone, but no group means everyone.
    return may_call(rule.groups, groups) if rule.groups else not rule.users


def matches(pattern: str, workspace: Workspace, folder: str) -> bool:
    """Whether ``[workspaces."PATTERN"]`` is for *workspace* (SPEC 9.2).

    ``*`` and ``**`` alone are for every workspace, also one nobody named. A name is matched as a name, a real
    path by a pattern from the root or from *folder*, the policy file's. In a path ``*`` stays inside a folder.
    """
    if pattern in ("*", "**"):
        return True
    if workspace.path is None:
        return re.match(translate(pattern), workspace.name) is not None
    return path_glob(pattern, folder).match(workspace.path) is not None


@lru_cache(maxsize=1024)
def path_glob(pattern: str, folder: str) -> re.Pattern[str]:
    """A path's pattern from *folder*; raises ``re.error`` for a class such as ``[z-a]``."""
    pattern = posixpath.normpath(posixpath.join(folder, pattern))
    parts = []
    for piece in re.split(r"(\*\*/|\*\*|\*|\?|\[!?[A-Za-z0-9_.-]+\])", pattern):
        if piece == "**/":
            parts.append(r"(?:[^/]+/)*")
        elif piece == "**":
            parts.append(r".*")
        elif piece == "*":
            parts.append(r"[^/]*")
        elif piece == "?":
            parts.append(r"[^/]")
        elif piece.startswith("[") and piece.endswith("]"):
            inside = piece[1:-1]
            parts.append(f"[^/{inside[1:]}]" if inside.startswith("!") else f"[{inside}]")
        else:
            parts.append(re.escape(piece))
    return re.compile(rf"(?s:{''.join(parts)})\Z")
