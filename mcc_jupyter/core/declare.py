"""Mapping → ``Tool``s: every error with its path, good tools beside bad ones (SPEC 2.5, 2.6).

1. The document is plain data: one tool, a list of tools, or the file form (``tools`` and what they share). What
   stands at file level is read once more for each tool, as if it stood there.
2. A tool with a problem is not declared. A problem at file level concerns every tool, so none is.
3. Command texts keep their references for the shell; all other texts are frozen here (SPEC 3).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, TypeVar

from . import bodies
from . import fields as read
from .cap import Cap
from .credentials import looks_like_credential
from .errors import Problem, near
from .names import any_of, is_reserved
from .params import read_params
from .reading import Node, shown
from .tool import WARNING, EnvFile, Function, Limits, NoProcess, Origin, Text, Tool
from .values import SECRET_LIMIT

KINDS: Final = ("fn", "exec", "curl", "mcp")
UNSUPPORTED: Final = ("mcp", "secret_env_vars", "egress", "swap")
"""Fields that SPEC knows and this version does not."""

FIELDS: Final = (
    *KINDS, "name", "description", "example", "params", "groups", "env", "env_file", "env_passthrough", "required_env",
    "optional_env", "cwd", "python", "stdin", "limits", "transform", "cache_ttl", "fresh", "isolation", "redact",
    "secret_files",
    *UNSUPPORTED[1:],
)  # fmt: skip
"""The keys of a tool (SPEC 2.6)."""

FILE_FIELDS: Final[tuple[str, ...]] = ("groups", "env", "env_file", "tools")

_HINTS: Final[Mapping[str, str]] = {
    **{key: f"write `limits: {{{key}: …}}`" for key in read.LIMITS},
    "env_floor": "the floor is set per deployment by MCC_ENV_FLOOR",
    "return_type": "the result keeps its own type",
    "tools": "it stands at the top, beside `groups` and `env`",
    **dict.fromkeys(("command", "cmd", "shell", "script", "run", "bash"), "write `exec`"),
    "url": "write `curl`",
    "function": "write `fn`",
    "parameters": "write `params`",
    "passthrough": "write `env_passthrough`",
    "required": "write `required_env`",
    "optional": "write `optional_env`",
    "files": "write `secret_files`",
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*", re.A)
_ENV_FORM = "a mapping, `{NAME: text}`"
_STANDS_IN = {"cell": "notebook", "file": "file", "python": "code", "policy": "policy file"}

T = TypeVar("T")
D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class Place:
    """What a declaration sees of the world: the parent, the floor, and where relative paths begin."""

    parent: Mapping[str, str] = field(repr=False)
    floor: tuple[str, ...]
    folder: str
    """Absolute: the declaring file's folder, or the kernel's at declaration."""
    home: str | None
    origin: Origin
    cap: Cap | None = None
    """What a policy file lets this declaration ask of the parent; None: everything (SPEC 9.3)."""


@dataclass(frozen=True, slots=True)
class Declared:
    """The tools that can be used and everything that is wrong with the others."""

    tools: tuple[Tool, ...]
    problems: tuple[Problem, ...]


def declare(document: object, place: Place) -> Declared:
    """The tools of *document* (plain data, as from ``cell.parse_yaml``). Raises nothing: see ``Declared.problems``."""
    root = Node(document, "", [])
    if isinstance(document, Mapping) and "tools" in document:
        return _declare_file(root, place)
    if isinstance(document, list | tuple):
        return _declare_all(replace(root, path="tools").sequence(), {}, place)
    if isinstance(document, Mapping) and document:
        return _declare_all([root], {}, place)
    root.wrong("expected a tool, a list of tools, or `tools:`")
    return Declared((), tuple(root.problems))


def declare_tool(node: Node, place: Place, body: NoProcess | None = None) -> Tool:
    """The tool that *node* declares. What is wrong is added to the node's problems; with one, the tool may not be used.

    *body*: it runs nothing, so that none of ``fn``, ``exec``, ``curl`` belongs to it.
    """
    return _Draft(node, {}, place).tool(body)


def _declare_file(root: Node, place: Place) -> Declared:
    extra = [key for key in root.mapping() if key.startswith("x-")]
    found = root.fields((*FILE_FIELDS, *extra), dict.fromkeys(FIELDS, "it belongs to each tool"))
    tools = found.pop("tools")
    if tools.value is None:
        tools.wrong("expected a list of tools")
    inherited = {key: found[key] for key in FILE_FIELDS if key in found}
    _Draft(replace(root, value=None), inherited, place).shared()
    declared = _declare_all(tools.sequence("a list of tools"), inherited, place)
    if not root.problems:
        return declared
    return Declared((), tuple(dict.fromkeys((*root.problems, *declared.problems))))


def _declare_all(nodes: list[Node], inherited: Mapping[str, Node], place: Place) -> Declared:
    """The tools by key. Of two with the same key in one document the later counts, as in two cells."""
    tools: dict[str, tuple[Tool, Node]] = {}
    found: list[Problem] = []
    for node in nodes:
        draft = _Draft(replace(node, problems=[]), inherited, place)
        if isinstance(node.value, Mapping | None):
            tool = draft.tool()
            if not draft.problems:
                _, earlier = tools.pop(tool.key, (None, node))
                if earlier is not node:
                    note = f"replaces {earlier.path}, which has the same key; rename one to keep both"
                    tool = replace(tool, notes=(note, *tool.notes))
                tools[tool.key] = (tool, node)
        found += draft.problems
    return Declared(tuple(tool for tool, _ in tools.values()), tuple(dict.fromkeys(found)))


class _Draft:
    """One tool while it is read: its fields, the file's under them, and what the reading collects."""

    def __init__(self, node: Node, inherited: Mapping[str, Node], place: Place) -> None:
        self.node = node
        self.place = place
        self.problems = node.problems
        self.notes: list[str] = []
        self.substitution = read.Substitution(place.parent)
        below = {key: replace(item, problems=node.problems) for key, item in inherited.items()}
        own = node.fields(FIELDS, _HINTS, "a mapping that declares a tool")
        self.fields = {**below, **own}
        self.env_nodes = {
            name: item
            for fields in (below, own)
            if "env" in fields
            for name, item in fields["env"].mapping(_ENV_FORM).items()
        }
        for key in UNSUPPORTED:
            if key in own:
                own[key].wrong("not supported by this version")

    def shared(self) -> None:
        """Read what a file may hold for all its tools, for its problems alone."""
        self._get("groups", read.groups, ())
        self._get("env_file", self._env_files, ())
        self._env()

    def tool(self, nothing: NoProcess | None = None) -> Tool:
        """The tool; it may only be used while ``problems`` is empty. It runs *nothing* where that is given."""
        kinds = [key for key in KINDS if key in self.fields]
        if nothing is None and (len(kinds) > 1 or not (kinds or self._nearly_a_kind())):
            self.node.wrong(f"write exactly one of fn, exec, curl; found {' and '.join(kinds) or 'none'}")
        kind = kinds[0] if len(kinds) == 1 else ""
        for key in ("python", "fresh"):
            if key in self.fields and kind != "fn":
                self.fields[key].wrong("only a `fn` tool has it; remove it")

        name = self._name(kind)
        env = self._env()
        passthrough = self._get("env_passthrough", lambda node: read.patterns(node, self._note), ())
        required = self._get("required_env", read.grants, ())
        optional = self._get("optional_env", read.grants, ())
        for grant in optional:
            if any(grant.child == other.child for other in required):
                self.fields["optional_env"].wrong(f"`{grant.child}` is both required and optional; keep one")
        params = self._get(
            "params", lambda node: read_params(node, self.substitution, self._inspect, signature=kind == "fn"), ()
        )
        stdin = self._get("stdin", Node.boolean, False)

        secret_files = self._get("secret_files", self._secret_files, {})
        provided = {*self.place.floor, *env, *secret_files, *(grant.child for grant in (*required, *optional))}
        allowed = any_of(("*",) if passthrough is True else passthrough)
        scope = bodies.Scope(
            tool=name,
            params=params,
            signature=kind == "fn",
            listed="params" in self.fields,
            floor=self.place.floor,
            parent=self.place.parent,
            provided=lambda name: (
                name in provided
                or is_reserved(name)
                # A pattern does not provide what the policy file withholds: then the text asks for it by name.
                or (allowed.match(name) is not None and (self.place.cap is None or self.place.cap.allows(name)))
            ),
            note=self._note,
            inspect=self._inspect,
            given=None if "env_file" in self.fields else frozenset(provided),
        )
        body: bodies.Body | NoProcess = nothing or Function("")
        if kind in bodies.READERS:
            body = bodies.READERS[kind](self.fields[kind], scope, stdin)
        tool = Tool(
            name=name,
            body=body,
            origin=self.place.origin,
            cwd=self._get("cwd", self._path, None) or Text(self.place.folder, self.place.folder),
            groups=self._get("groups", read.groups, ("public",)),
            description=self._get("description", Node.text, ""),
            example=self._get("example", Node.text, ""),
            params=params,
            env=MappingProxyType(env),
            env_files=self._get("env_file", self._env_files, ()),
            secret_files=MappingProxyType(secret_files),
            passthrough=passthrough,
            required_env=required,
            optional_env=optional,
            python=self._get("python", lambda node: self._path(node, command=True), None),
            stdin=stdin,
            limits=self._get("limits", lambda node: read.limits(node, self.substitution), Limits()),
            transform=self._get("transform", lambda node: bodies.transform(node, scope), None),
            cache_ttl=self._get("cache_ttl", lambda node: read.number(node, self.substitution, "seconds"), None),
            fresh=self._get("fresh", Node.boolean, False),
            isolation=self._get("isolation", read.switch, True),
            never_redact=self._get("redact", read.never_redact, frozenset()),
        )
        return replace(
            tool,
            references=tuple(self.substitution.references),
            unresolved=tuple(self.substitution.unresolved),
            mentioned=tuple(self.substitution.mentioned),
            notes=tuple(dict.fromkeys(self.notes)),
        )

    def _get(self, key: str, reader: Callable[[Node], T], default: D) -> T | D:
        return reader(self.fields[key]) if key in self.fields else default

    def _nearly_a_kind(self) -> bool:
        """Whether an unknown key was told already to be meant as one that says what the tool runs."""
        strange = [key for key in self.node.value if key not in FIELDS] if isinstance(self.node.value, Mapping) else []
        meant = [_HINTS.get(key) or near(key, FIELDS) for key in strange if isinstance(key, str)]
        return any(f"`{kind}`" in hint for hint in meant for kind in KINDS)

    def _note(self, node: Node, message: str) -> None:
        prefix = f"{self.node.path}." if self.node.path else ""
        warning = WARNING if message.startswith(WARNING) else ""
        self.notes.append(f"{warning}{node.path.removeprefix(prefix)}: {message.removeprefix(WARNING)}")

    def _inspect(self, node: Node, text: str) -> None:
        """Warn of a literal that should be a reference (SPEC 8.1)."""
        if looks_like_credential(text):
            where = _STANDS_IN[self.place.origin.kind]
            self._note(node, f"{WARNING}looks like a credential and stands in the {where}; use a reference")

    def _path(self, node: Node, *, command: bool = False) -> Text | None:
        return read.path(node, self.substitution, folder=self.place.folder, home=self.place.home, command=command)

    def _name(self, kind: str) -> str:
        if "name" in self.fields:
            node = self.fields["name"]
            name = node.filled("a name as text")
        elif kind == "fn":
            node = self.fields["fn"]
            name = bodies.callable_name(node.value)
        else:
            if kind:
                self.node.wrong(f"`{kind}` needs a `name` beside it")
            return ""
        if name and not _NAME.fullmatch(name):
            node.wrong(f"`{shown(name)}` is no name for a tool; use letters, digits, `_`, `.` and `-`, no digit first")
        return name

    def _env(self) -> dict[str, Text]:
        found = {}
        for name, node in self.env_nodes.items():
            written = node.literal()
            if read.variable(node, name):
                self._inspect(node, written)
                found[name] = self.substitution.text(written)
        return found

    def _secret_files(self, node: Node) -> dict[str, Text]:
        found = {}
        for name, item in node.mapping().items():
            if isinstance(item.value, Mapping | list | tuple):
                item.wrong("expected the file's text; a path goes into `env`")
                continue
            written = item.filled("the file's text")
            if read.variable(item, name) and written:
                self._inspect(item, written)
                found[name] = self.substitution.text(written)
                size = len(found[name].value.encode("utf-8", "surrogateescape"))
                if size > SECRET_LIMIT:
                    most = f"{SECRET_LIMIT:,} bytes are the most"
                    item.wrong(f"the text is too large; output is searched for it, and {most}")
        return found

    def _env_files(self, node: Node) -> tuple[EnvFile, ...]:
        if isinstance(node.value, list | tuple):
            nodes = [item for item, _ in node.unique("a path or a list of paths")]
        else:
            nodes = [node]
        read_ = [(item, self._path(item)) for item in nodes]
        return tuple(EnvFile(str(item.value), text.value) for item, text in read_ if text is not None)
