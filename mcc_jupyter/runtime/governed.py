"""What the operator's policy file lets one toolbox do: whose tools there are, and what cells may ask for (SPEC 9).

1. It is fixed when it is made. Afterwards it only narrows: by ``use``, and by what the file takes back.
2. The operator's tools see the environment that the process was started with. Kernel code cannot put a variable,
   a folder or a program under them; it passes arguments (SPEC 9.3).
3. A tool is the operator's because it is the one that was read from the file, not because of what it says of itself.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from ..core import authority as core
from ..core.authority import Access, Authority, PolicyTool, Workspace
from ..core.availability import may_call
from ..core.cap import Cap
from ..core.errors import PolicyError, Problem, ToolUnavailable
from ..core.names import any_of, is_reserved
from ..core.report import printable
from ..core.resolution import Reason, Resolution
from ..core.standing import Granted, Standing
from ..core.tool import DEFAULT_FLOOR, Function, Origin, Tool
from . import policy_files
from .identity import Identity
from .parent import Parent
from .policy_search import Start, jupyter_folders, workspace_of
from .resolved import Terms
from .skills import Skill, Skills, pick

_NO_GROUP: frozenset[str] = frozenset()


class Governed:
    """The authority over one toolbox. Safe to use from several threads."""

    def __init__(self, path: str, start: Start, identity: Identity, *, types: policy_files.Types | None = None) -> None:
        self.path = path
        self.origin = Origin("policy", os.path.basename(path), path)
        self.parent = Parent(start.environment)()
        """The environment that the process was started with."""
        self.workspace = Workspace.of(workspace_of(start))
        self._start = start
        self._identity = identity
        self._types = types
        self._lock = threading.RLock()
        loaded = policy_files.load(path, self.parent, self.origin, types)
        self.problems: tuple[Problem, ...] = loaded.problems
        self._stamp = loaded.stamp
        self._exposure = policy_files.exposure(path)
        self._reload_notes: tuple[str, ...] = ()
        self._told: set[str] = set()
        first = loaded.authority or Authority(self.label, os.path.dirname(os.path.realpath(path)))
        self.floor = first.floor or DEFAULT_FLOOR
        self._first = first
        self._layers = [first]
        """What the file said, each time that it said something else: all of it has to agree."""
        self._access = self._granted_by(first)
        self._off = {name for name, item in first.tools.items() if not item.enabled}
        self._own = {name: first.tools[name].tool for name in self._access.tools}
        self._settled: dict[str, bool] = {}
        """Whether tools are available, where nothing can change that: a workspace may have hundreds."""
        self._lookup: dict[str, Tool] = {}
        self._index()
        folders = (os.path.realpath(os.path.dirname(path) or "."), *jupyter_folders(start.environment))
        self._skills = Skills(os.path.join(folder, "skills") for folder in dict.fromkeys(folders))
        self._resolve: Callable[[Tool], Resolution] | None = None
        self._narrowed: Callable[[], None] = lambda: None
        self.on_change: Callable[[], None] = lambda: None
        """Told whenever the status may be another one, in that thread; it returns at once and raises nothing."""

    def bind(self, resolve: Callable[[Tool], Resolution], narrowed: Callable[[], None]) -> None:
        """*resolve* gives a tool's resolution as it is now; *narrowed* is called after something was taken away."""
        self._resolve, self._narrowed = resolve, narrowed

    @property
    def label(self) -> str:
        return self.origin.label

    # ---- whose tools there are

    def find(self, name: str) -> Tool | None:
        """The operator's tool of that name or key, if it was granted."""
        self.refresh()
        return self._lookup.get(name)

    def refuse(self, name: str) -> None:
        """Raises ``ToolUnavailable`` where the file has such a tool and this workspace was not granted it."""
        if name in self._own or name not in self._known():
            return
        tool = self._known()[name]
        reason = self._not_granted(tool.name)
        notice = f"Tool {tool.name!r} is unavailable; {reason.text}"
        raise ToolUnavailable(notice, tool=tool.name, reasons=(reason.code,))

    def __iter__(self) -> Iterator[Tool]:
        """The granted tools, without those that are switched off."""
        self.refresh()
        with self._lock:
            return iter([tool for name, tool in self._own.items() if name not in self._off])

    def clash(self, tool: Tool) -> str | None:
        """Why a cell or a file may not declare *tool*: a granted one would be hidden or could not be told from it."""
        self.refresh()
        taken = self._lookup.get(tool.name) or self._lookup.get(tool.key)
        if taken is None:
            return None
        return f"{self.label} has the tool {taken.name!r}, which cannot be declared again; give yours another name"

    def ready(self, tool: Tool) -> bool:
        """Takes the operator's *tool* with its signature read in place of the one without; whether it was one."""
        with self._lock:
            own = self._own.get(tool.name)
            if own is None or own.key != tool.key:
                return False
            if _same(own, tool):
                self._own[tool.name] = tool
                self._index()
            return True

    def _index(self) -> None:
        found = {tool.name: tool for tool in self._own.values()}
        self._lookup = found | {tool.key: tool for tool in self._own.values()}

    def _known(self) -> dict[str, Tool]:
        tools = [item.tool for item in self._first.tools.values()]
        return {tool.key: tool for tool in tools} | {tool.name: tool for tool in tools}

    # ---- on what terms

    def terms(self, tool: Tool) -> Terms:
        """How *tool* is resolved: as the operator's, or as one of the notebook's own."""
        self.refresh()
        granted = self._own.get(tool.name)
        if granted is not None and (granted is tool or _same(granted, tool)):
            off = Reason("disabled", f"disabled by {self.label}") if tool.name in self._off else None
            return Terms(None, off, self.parent)
        item = self._first.tools.get(tool.name)
        if item is not None and _same(item.tool, tool):  # it was given up since whoever asks looked it up
            return Terms(None, self._not_granted(tool.name), self.parent)
        loose = None if tool.isolation else Reason("not granted", f"not granted by {self.label}: isolation: off")
        return Terms(self.cap(), loose)

    def cap(self) -> Cap:
        """What cells may ask for now (SPEC 9.3): everything that the file ever said since the start has to allow it."""
        self.refresh()
        found: Cap | None = None
        for layer in self._layers:
            access = replace(self._access, cap=Cap(layer.allow, layer.deny, self.label))
            found = replace(core.cell_cap(layer, access, self._is_available), within=found)
        assert found is not None
        return found

    def exposed(self) -> tuple[str, ...]:
        """The parent names that go to the workspace (SPEC 9.5): for whoever gives a kernel its environment."""
        self.refresh()
        names = core.exposed(self._first, self._access, self._is_available)
        cap = self.cap()
        return tuple(name for name in names if cap.allows(name))

    def entries(self) -> dict[str, object]:
        """The session's reserved ``project``, where there is one (SPEC 9.2)."""
        self.refresh()
        project = core.project(self._first, self._access)
        return {} if project is None else {"project": project}

    def _is_available(self, item: PolicyTool) -> bool:
        name = item.tool.name
        if name in self._off or not item.enabled or self._resolve is None:
            return False
        if name not in self._settled:
            tool = self._own[name]
            available = self._resolve(tool).available
            if not _may_come_and_go(tool):
                self._settled[name] = available
            return available
        return self._settled[name]

    def _not_granted(self, name: str) -> Reason:
        if name in self._access.dropped:
            return Reason("not granted", "not granted: this workspace gave it up, or the policy file took it back")
        workspace = self.shown_workspace
        where = f"to the workspace {workspace!r}" if workspace else "to this workspace, which has no name"
        return Reason("not granted", f"not granted {where}")

    @property
    def shown_workspace(self) -> str:
        """The workspace as people see it: below the policy file's folder without the folder's own path."""
        text, folder = str(self.workspace), self._first.folder
        return printable(text.removeprefix(folder.rstrip("/") + "/"))

    # ---- narrowing

    def use(self, profiles: Sequence[str]) -> tuple[str, ...]:
        """Gives up what none of *profiles* has; returns the tools that went (SPEC 9.3). Raises ``PolicyError``."""
        self.refresh()
        with self._lock:
            before = self._access
            after = core.narrowed(self._first, before, profiles)
            self._set(after)
        if after.tools != before.tools:
            self._narrowed()
        self.on_change()
        return tuple(name for name in before.tools if name not in after.tools)

    def refresh(self) -> None:
        """Looks whether the file changed; takes back at once what it takes back, and grants nothing (SPEC 9.1)."""
        if policy_files.stamp(self.path) == self._stamp:
            return
        narrowed = False
        with self._lock:
            if policy_files.stamp(self.path) == self._stamp:
                return  # another thread was quicker
            now = policy_files.load(self.path, self.parent, self.origin, self._types)
            if self.problems:
                self._reload_notes = (f"{self.label} changed; restart to use it",)
            elif now.authority is None:
                why = f"{self.label} cannot be used any more; what it said before stays in force"
                self._reload_notes = (why, *(str(problem) for problem in now.problems))
            else:
                narrowed = self._narrow(now.authority)
            self._stamp = now.stamp  # last: until then nobody goes by what held before
        if narrowed:
            self._narrowed()
        self.on_change()

    def _narrow(self, now: Authority) -> bool:
        granted = self._granted_by(now)
        before = self._access
        kept = tuple(name for name in before.tools if name in granted.tools)
        gone = tuple(name for name in before.tools if name not in kept)
        skills = tuple(name for name in before.skills if name in granted.skills)
        self._set(replace(before, tools=kept, skills=skills, dropped=(*before.dropped, *gone)))
        off = {name for name in kept if not now.tools[name].enabled} - self._off
        self._off |= off
        last = self._layers[-1]
        first = self._first.tools
        changed = [name for name in kept if _switched_on(now.tools[name]) != _switched_on(first[name])]
        wider = [name for name in granted.tools if name not in kept or (name in self._off and now.tools[name].enabled)]
        more = {*now.allow} - {*last.allow} or {*last.deny} - {*now.deny} or (now.floor or DEFAULT_FLOOR) != self.floor
        self._reload_notes = (
            *([f"{self.label} changed {', '.join(changed)}; restart to use that"] if changed else []),
            *([f"{self.label} grants {', '.join(wider)} by now; restart to use that"] if wider else []),
            *([f"{self.label} changed what cells may ask for; restart to use what is wider by now"] if more else []),
        )
        if now != last:
            self._layers.append(now)
        return now != last

    def _set(self, access: Access) -> None:
        self._access = access
        self._own = {name: self._own[name] for name in access.tools}
        self._index()

    def _granted_by(self, authority: Authority) -> Access:
        identity = self._identity
        return core.access(authority, self.workspace, user=identity.user, groups=identity.caller)

    # ---- skills

    def skill_names(self) -> dict[str, str | None]:
        """Each skill of this workspace and the tool that it comes with."""
        self.refresh()
        return core.skills(self._first, self._access, self._is_available)

    def skills(self) -> list[tuple[str, str | None, Skill | str]]:
        """Name, tool, and the skill or why it cannot be had."""
        return [(name, tool, self._skills.find(name)) for name, tool in self.skill_names().items()]

    def skill(self, name: str) -> Skill:
        """One skill of this workspace; raises ``ArgumentError`` and ``PolicyError``."""
        found = self._skills.find(pick(name, self.skill_names()))
        if isinstance(found, str):
            raise PolicyError(found)
        return found

    # ---- telling

    @property
    def profiles(self) -> tuple[str, ...]:
        """The profiles that ``use`` takes."""
        return tuple(self._first.profiles)

    def notices(self) -> tuple[str, ...]:
        """Why granted tools are unavailable (SPEC 5.2); nothing of those that are switched off."""
        assert self._resolve is not None
        found = [self._resolve(tool).notice for tool in self]
        return tuple(printable(notice) for notice in found if notice is not None)

    def news(self) -> tuple[str, ...]:
        """What a door shows when it is opened, each line once: problems of the file, warnings about it, notices."""
        problems = tuple(printable(f"PolicyError: {problem}") for problem in self.problems)
        lines = (*problems, *self._exposure, *self.notices())
        new = [line for line in lines if line not in self._told]
        self._told.update(new)
        return tuple(new)

    def raise_for_problems(self) -> None:
        """``PolicyError`` with all problems of the file, if it has any."""
        if self.problems:
            raise PolicyError("\n".join(map(str, self.problems)))

    def standing(self, footer: Iterable[str]) -> Standing:
        """The status, by name."""
        skills = self.skills()
        missing = [skill for _, _, skill in skills if isinstance(skill, str)]
        notes = (*self._exposure, *self._first.notes, *missing, *self._reload_notes)
        granted = [self._first.tools[name] for name in self._access.tools]
        return Standing(
            file=printable(self._shown_path()),
            workspace=self.shown_workspace,
            profiles=tuple(map(printable, self._access.profiles)),
            others=tuple(printable(name) for name in self.profiles if name not in self._access.profiles),
            tools=tuple(map(self._told_of, granted)),
            skills=self._access.skills,
            allow=self._allowed(),
            deny=tuple(dict.fromkeys(name for layer in self._layers for name in layer.deny)),
            exposed=self.exposed(),
            dropped=self._access.dropped,
            notices=self.notices(),
            problems=tuple(printable(str(problem)) for problem in self.problems),
            notes=tuple(dict.fromkeys(map(printable, notes))),
            footer=tuple(footer),
        )

    def summary(self) -> dict[str, object]:
        """The status as a manifest has it: by name, with no notice of a tool that is not for everyone (SPEC 6.6)."""
        standing = self.standing(())
        for_all = [tool for tool in self if may_call(tool.groups, _NO_GROUP)]
        assert self._resolve is not None
        notices = [self._resolve(tool).notice for tool in for_all]
        known = self._known()
        return {
            "label": self.label,
            "state": "failed" if standing.problems else "loaded",
            "workspace": standing.workspace or None,
            "profiles": list(standing.profiles),
            "allow": list(standing.allow),
            "deny": list(standing.deny),
            "exposed": list(standing.exposed),
            "dropped": [name for name in standing.dropped if may_call(known[name].groups, _NO_GROUP)],
            "notices": [printable(notice) for notice in notices if notice is not None],
            "notes": [*standing.problems, *standing.notes],
        }

    def _allowed(self) -> tuple[str, ...]:
        """The patterns that all that the file said agrees on."""
        found = dict.fromkeys(pattern for layer in self._layers for pattern in layer.allow)
        return tuple(pattern for pattern in found if all(any_of(layer.allow).match(pattern) for layer in self._layers))

    def _told_of(self, item: PolicyTool) -> Granted:
        name = item.tool.name
        off = name in self._off
        required = [str(grant) for grant in item.tool.required_env]
        optional = [f"{grant} (optional)" for grant in item.tool.optional_env]
        return Granted(
            name=name,
            type=printable(item.type),
            state="disabled" if off else "available" if self._is_available(item) else "unavailable",
            names=(*required, *optional),
            skills=item.skills,
            exposed=item.exposed,
        )

    def _shown_path(self) -> str:
        """The same on every machine where it can be: as seen from where the notebook is, or from the home."""
        folder, home = self._start.folder, self.parent.get("HOME", "")
        above = os.path.dirname(os.path.realpath(self.path)).rstrip("/") + "/"
        if folder is not None and (os.path.realpath(folder).rstrip("/") + "/").startswith(above):
            return os.path.relpath(os.path.realpath(self.path), os.path.realpath(folder))
        return f"~{self.path[len(home) :]}" if len(home) > 1 and self.path.startswith(home + "/") else self.path


def _may_come_and_go(tool: Tool) -> bool:
    """Whether the tool's availability depends on more than the environment of the start."""
    given = any(is_reserved(grant.child) for grant in tool.required_env)  # by the session
    return bool(tool.env_files) or given or "public" not in tool.groups


def _switched_on(item: PolicyTool) -> PolicyTool:
    return replace(item, enabled=True)


def _same(one: Tool, other: Tool) -> bool:
    """Whether two tools are one declaration, and differ at most in what was read of a function's signature."""
    if not isinstance(one.body, Function):
        return one == other
    read = ("params", "takes_context", "introspected", "unsigned", "description", "example")
    return replace(one, **{name: getattr(other, name) for name in read}) == other
