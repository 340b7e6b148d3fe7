"""``mcc.toml`` as plain data → an ``Authority``, or everything that is wrong with it (SPEC 9.2).

1. It is all or nothing: a file with one problem grants nothing, because what its author meant is not known.
2. A tool's fields are those of a cell, read by the same readers; only where they stand in the path is different.
3. A plugin gives what a tool of its type runs. What the tool may use is read from the file alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from . import fields as read
from .authority import Authority, PolicyTool, Profile, Rule, path_glob
from .credentials import looks_like_credential
from .declare import FIELDS, UNSUPPORTED, Place, declare_tool
from .errors import Problem, near
from .mcp_table import FORWARD, McpTable, read_mcp
from .names import any_of, is_reserved
from .reading import Node, kind_of, shown
from .references import bake_data
from .tool import WARNING, NoProcess, Text, Tool

Kind = Callable[[str, Mapping[str, object]], Mapping[str, object]]
"""A plugin's type: a tool's name and its own keys → its ``exec``, ``fn`` or ``curl`` and what belongs to that."""

TOP: Final = ("tools", "profiles", "workspaces", "grants", "env_floor")
POLICY_FIELDS: Final = ("type", "skills", "expose_env_to_workspace", "project_per_workspace", "enabled", "mcp")
RUNNING: Final = ("exec", "fn", "curl")
TYPES: Final = (*RUNNING, "mcp", "workspace")

GRANTING: Final = (
    "name", "groups", "env", "env_file", "env_passthrough", "required_env", "optional_env", "redact", "isolation",
)  # fmt: skip
"""Fields that say what a tool may use, or who may use it: no plugin sets them (SPEC 9.2)."""

_NAMES_ONLY: Final = ("description", "example", "groups", "required_env", "optional_env", "redact")
"""The fields of a tool that runs nothing here."""

_TOP_HINTS: Final = {
    "bundles": "compose profiles by `includes`",
    "skills": "a skill needs no table: it is a Markdown file, and what it needs is declared by its tool",
    "tool": "write `[tools.NAME]`",
    "mcp_servers": 'write `[tools.NAME]` with type = "mcp"',
}
_TOOL_HINTS: Final = {
    "env_forward": FORWARD,
    "name": "the table's own name is the tool's",
    "expose_env": "write `expose_env_to_workspace`",
}
_RESERVED: Final = ("bruin", "agent-runner", "mcc")
"""Names that no server has (SPEC 12.1)."""

_MOST_HINTS = 100
"""After so many problems no near names are looked for: a file of thousands of them is a mistake of another kind."""
_MOST_CYCLES = 8
_SKILL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", re.A)
_SKILL_ENV: Final = ("required_env", "optional_env", "env", "env_file", "env_passthrough", "env_forward")


@dataclass(frozen=True, slots=True)
class _Reader:
    """One reading: where the file stands, the types that plugins provide, and what the author should know."""

    place: Place
    kinds: Mapping[str, Kind]
    notes: list[str] = field(default_factory=list)

    def note(self, node: Node, message: str) -> None:
        warning = WARNING if message.startswith(WARNING) else ""
        self.notes.append(f"{warning}{node.path}: {message.removeprefix(WARNING)}")


def read_policy(
    document: Mapping[str, object], place: Place, kinds: Mapping[str, Kind] | None = None
) -> Authority | tuple[Problem, ...]:
    """What a policy file says. *place* is the file's: its ``origin.label`` names it in what people see.

    *kinds* are the types that plugins provide. Problems, in the order of the file, instead of an authority that nobody
    could rely on.
    """
    problems: list[Problem] = []
    root = Node(document, "", problems)
    top = root.fields(TOP, _TOP_HINTS)
    _refuse_credentials(root)
    floor = _floor(top["env_floor"]) if "env_floor" in top else None
    own = {kind: make for kind, make in (kinds or {}).items() if kind not in TYPES}
    reader = _Reader(replace(place, floor=floor or place.floor), own)

    tables = top["tools"].mapping("a table of tools") if "tools" in top else {}
    tools = {name: _tool(node, name, reader) for name, node in tables.items()}
    profile_nodes = top["profiles"].mapping("a table of profiles") if "profiles" in top else {}
    profiles = {name: _profile(node, tools, profile_nodes) for name, node in profile_nodes.items()}
    _refuse_cycles(profiles, profile_nodes)
    rules = top["workspaces"].mapping("a table of workspaces") if "workspaces" in top else {}
    workspaces = tuple(_rule(node, pattern, profiles, place) for pattern, node in rules.items())
    allow, deny = _grants(top["grants"], reader) if "grants" in top else ((), ())
    if problems:
        return tuple(dict.fromkeys(problems))
    return Authority(
        label=place.origin.label,
        folder=place.folder,
        tools=tools,
        profiles=profiles,
        workspaces=workspaces,
        allow=allow,
        deny=deny,
        floor=floor,
        notes=tuple(reader.notes),
    )


def _floor(node: Node) -> tuple[str, ...] | None:
    """SPEC 4.2: a floor that silently became empty would break every tool."""
    names = []
    for item, name in node.unique("a list of names"):
        if read.variable(item, name) and is_reserved(name):
            item.wrong(f"{name} belongs to the session; leave it out")
        names.append(name)
    if not names:
        node.wrong("names nothing; leave it out for the usual floor")
    return tuple(names) or None


def _tool(node: Node, name: str, reader: _Reader) -> PolicyTool:
    known = (*(key for key in FIELDS if key != "name"), *POLICY_FIELDS)
    if not isinstance(node.value, Mapping):
        node.wrong("expected a table that declares a tool")
        node = replace(node, value={"type": "workspace"}, problems=[])
    hints = {**_TOOL_HINTS, "skill": "write `skills`"}
    shallow = replace(node, problems=[])
    own = shallow.mapping("a table that declares a tool")
    kind = _type(node, own, reader)
    strange = {key: item for key, item in own.items() if key not in known and kind not in reader.kinds}
    for key in strange:
        hint = f"; {hints[key]}" if key in hints else near(key, known)
        if not hint and kind and kind not in TYPES:
            hint = f'; no plugin provides the type "{shown(kind)}" here, whose key it may be'
        node.wrong(f"unknown key `{shown(key)}`{hint}")
    if "env_forward" in own and kind in reader.kinds:
        node.wrong(f"unknown key `env_forward`; {FORWARD}")
    node.problems.extend(shallow.problems)

    server = _server(node, name, own, kind)
    tool = _declared(node, name, kind, own, server, reader)
    exposed = own.get("expose_env_to_workspace")
    is_exposed = _switch(exposed, kind == "workspace", node)
    if kind == "workspace" and exposed is not None and exposed.value is False:
        _at(exposed, node).wrong('a tool of type "workspace" has no other use for its names; remove it or the tool')
    if kind not in TYPES and kind not in reader.kinds:
        todo = "its names go to the workspace alone" if is_exposed else "it runs nothing and exposes nothing"
        reader.note(node, f'no plugin provides the type "{shown(kind)}"; {todo}')
    return PolicyTool(
        tool=tool,
        type=kind,
        skills=_skills(_at(own["skills"], node)) if "skills" in own else (),
        enabled=_switch(own.get("enabled"), True, node),
        exposed=is_exposed,
        project=_switch(own.get("project_per_workspace"), False, node),
        server=server,
    )


def _at(item: Node, node: Node) -> Node:
    """*item* with the problems of *node*."""
    return replace(item, problems=node.problems)


def _switch(item: Node | None, default: bool, node: Node) -> bool:
    return default if item is None else _at(item, node).boolean()


def _type(node: Node, own: Mapping[str, Node], reader: _Reader) -> str:
    """The type as written, or the one of the only key that tells it; empty where there is none."""
    if "type" in own:
        kind = _at(own["type"], node).filled("a type as text")
        if kind in (*RUNNING, "mcp") and kind not in own:
            node.wrong(f'the type "{kind}" needs `{kind}` beside it')
        return kind
    told = [key for key in (*RUNNING, "mcp") if key in own]
    if len(told) != 1:
        plugins = f" or {', '.join(sorted(reader.kinds))}" if reader.kinds else ""
        node.wrong(f"needs a `type`: one of {', '.join(TYPES)}{plugins}")
    return told[0] if len(told) == 1 else ""


def _server(node: Node, name: str, own: Mapping[str, Node], kind: str) -> McpTable | None:
    if "mcp" not in own:
        return None
    if name in _RESERVED:
        node.wrong(f"no server may be named `{name}`; give it another name")
    if kind and kind != "mcp":
        _at(own["mcp"], node).wrong(f'belongs to the type "mcp", not to "{shown(kind)}"')
        return None
    return read_mcp(_at(own["mcp"], node))


def _declared(
    node: Node, name: str, kind: str, own: Mapping[str, Node], server: McpTable | None, reader: _Reader
) -> Tool:
    """The tool itself, by the readers of a cell's tool."""
    table = {key: item.value for key, item in own.items() if key in FIELDS and key not in ("mcp", "name")}
    if not kind or (kind in RUNNING and kind not in own):  # told already: only the rest is read
        rest = {key: value for key, value in table.items() if key not in RUNNING}
        return declare_tool(replace(node, value={"name": name, **rest}), reader.place, NoProcess(kind, "plugin"))
    if kind in RUNNING:
        return declare_tool(replace(node, value={"name": name, **table}), reader.place)
    if kind in reader.kinds:
        keys = {key: item.value for key, item in own.items() if key not in POLICY_FIELDS}
        return _provided(node, name, kind, keys, reader)
    for key in table:
        if key not in _NAMES_ONLY and key not in UNSUPPORTED:
            _at(own[key], node).wrong(f'a tool of type "{shown(kind)}" runs nothing here and has none; remove it')
    kinds: Mapping[str, Literal["workspace", "mcp"]] = {"workspace": "workspace", "mcp": "mcp"}
    body = NoProcess(kind, kinds.get(kind, "plugin"))
    tool = declare_tool(replace(node, value={"name": name, **table}), reader.place, body)
    if server is not None:
        tool = replace(tool, env={key: Text(value, value) for key, value in server.env.items()})
    return tool


def _provided(node: Node, name: str, kind: str, keys: Mapping[str, object], reader: _Reader) -> Tool:
    """What the plugin makes of a tool's keys, under what the file itself says."""
    made = reader.kinds[kind](name, deepcopy(dict(keys)))
    wide = [key for key in (*GRANTING, *POLICY_FIELDS) if key in made]
    if wide:
        node.wrong(f'the plugin of type "{kind}" sets {", ".join(wide)}, which only this file may')
    granted = {"name": name, **{key: value for key, value in keys.items() if key in GRANTING}}
    file_s = declare_tool(replace(node, value=granted, problems=[]), reader.place, NoProcess(kind, "plugin"))
    place = replace(reader.place, parent=_seen_by_a_plugin(file_s, keys, reader.place))
    texts = {key: value for key, value in made.items() if key not in (*GRANTING, *POLICY_FIELDS)}
    return declare_tool(replace(node, value={**texts, **granted}), place)


def _seen_by_a_plugin(file_s: Tool, keys: Mapping[str, object], place: Place) -> Mapping[str, str]:
    """The part of the parent that its texts may refer to, since a reference asks: what the file asks for (SPEC 9.2)."""
    named = {grant.parent for grant in (*file_s.required_env, *file_s.optional_env)}
    named |= {reference.name for reference in bake_data(keys, place.parent)[1]} | {*place.floor}
    passed = any_of(("*",) if file_s.passthrough is True else file_s.passthrough).match
    return {name: value for name, value in place.parent.items() if name in named or passed(name)}


def _skills(node: Node) -> tuple[str, ...]:
    """Names of skills. One that asks for an environment has its own message (SPEC 9.2)."""
    found: dict[str, None] = {}
    for item in node.sequence("a list of skill names"):
        if isinstance(item.value, Mapping):
            asked = [key for key in _SKILL_ENV if key in item.value]
            item.wrong(
                f"a skill has no {' or '.join(asked)}; declare it on the tool that the skill comes with"
                if asked
                else "expected the name of a skill"
            )
        elif not isinstance(item.value, str):
            item.wrong(f"expected text, not {kind_of(item.value)}; quote it")
        elif not _SKILL.fullmatch(item.value):
            item.wrong(f"`{shown(item.value)}` is no name for a skill; use letters, digits, `_`, `.` and `-`")
        elif item.value in found:
            item.wrong(f"`{item.value}` stands twice; keep one")
        else:
            found[item.value] = None
    return tuple(found)


def _profile(node: Node, tools: Mapping[str, PolicyTool], profiles: Mapping[str, Node]) -> Profile:
    hints = dict.fromkeys(_SKILL_ENV, "declare it on a tool")
    found = node.fields(("includes", "tools", "skills"), hints, "a table that declares a profile")
    return Profile(
        includes=_known(found["includes"], profiles, "profile") if "includes" in found else (),
        tools=_known(found["tools"], tools, "tool") if "tools" in found else (),
        skills=_skills(found["skills"]) if "skills" in found else (),
    )


def _known(node: Node, known: Mapping[str, object], what: str) -> tuple[str, ...]:
    """Names that the file has."""
    found = []
    for item, name in node.unique(f"a list of {what} names"):
        if name in known:
            found.append(name)
        else:
            hint = near(name, known) if len(node.problems) < _MOST_HINTS else ""
            item.wrong(f"this file has no {what} `{shown(name)}`{hint}")
    return tuple(found)


def _refuse_cycles(profiles: Mapping[str, Profile], nodes: Mapping[str, Node]) -> None:
    """Tells each cycle at the first of its profiles, with its whole path. Not by recursion, as in ``expand``."""
    order = {name: at for at, name in enumerate(profiles)}
    done: set[str] = set()
    told = 0
    for start in profiles:
        opened = {} if start in done else {start: iter(profiles[start].includes)}
        while opened:
            at = next(reversed(opened))
            include = next(opened[at], None)
            if include is None:
                del opened[at]
                done.add(at)
            elif include in opened:
                path = list(opened)
                cycle = path[path.index(include) :]
                first = min(range(len(cycle)), key=lambda place: order[cycle[place]])
                nodes[cycle[first]].wrong(f"includes itself: {_way([*cycle[first:], *cycle[: first + 1]])}")
                told += 1
                if told == _MOST_CYCLES:
                    return
            elif include not in done:
                opened[include] = iter(profiles[include].includes)


def _way(cycle: list[str]) -> str:
    shown_ = cycle if len(cycle) <= 12 else [*cycle[:6], "…", *cycle[-5:]]
    return " → ".join(shown_)


def _rule(node: Node, pattern: str, profiles: Mapping[str, Profile], place: Place) -> Rule:
    found = node.fields(("profiles", "users", "groups"), {"tools": "name a profile that has them"}, "a table")
    if not pattern.strip():
        node.wrong("an empty pattern matches nothing; leave it out")
    if pattern.startswith("~"):
        node.wrong("`~` is not expanded in a pattern; write the folder in full")
    try:
        path_glob(pattern, place.folder)
    except re.error:
        node.wrong("a class such as `[z-a]` that holds no character matches nothing; write `[a-z]`")
    return Rule(
        pattern=pattern,
        profiles=_known(found["profiles"], profiles, "profile") if "profiles" in found else (),
        users=tuple(name for _, name in found["users"].unique("a list of user names")) if "users" in found else (),
        groups=read.groups(found["groups"]) if "groups" in found else (),
    )


def _grants(node: Node, reader: _Reader) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found = node.fields(("allow", "deny"), {}, "a table with `allow` and `deny`")
    lists = []
    for key in ("allow", "deny"):
        item = found.get(key)
        if item is not None and isinstance(item.value, bool):
            item.wrong("expected a list of patterns")
        patterns = () if item is None or isinstance(item.value, bool) else read.patterns(item, reader.note)
        lists.append(() if patterns is True else patterns)
    return lists[0], lists[1]


def _refuse_credentials(root: Node) -> None:
    """A policy file is read by many: no key of a well-known format may stand in it (SPEC 9.2)."""
    texts = list(_texts(root))
    if not looks_like_credential("\n".join(str(item.value) for item in texts)):  # one look at all of them is quicker
        return
    for item in texts:
        if looks_like_credential(str(item.value)):
            item.wrong("looks like a credential; name a variable that holds it")


def _texts(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node.value, Mapping):
            waiting += reversed(node.mapping().values())
        elif isinstance(node.value, list):
            waiting += reversed(node.sequence())
        elif isinstance(node.value, str):
            yield node
