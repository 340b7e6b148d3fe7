"""What an author declares: a ``Tool`` and its parts, frozen (SPEC 2).

1. Parsed once, in ``declare``; afterwards nobody checks again.
2. A tool holds no value of the parent except what SPEC 3 freezes, and a ``repr`` shows none of it.
3. What is shown to people is the text as written (SPEC 3.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Final, Literal

from .values import ValueClass


class _Missing(Enum):
    MISSING = "MISSING"

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing.MISSING
"""No default, no override, no example: ``None`` is a value."""

DEFAULT_FLOOR: Final = ("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LANG", "LC_ALL", "TZ", "TERM", "SHELL")
"""The names every tool gets when the parent has them (SPEC 4.2)."""

TYPES: Final = ("str", "int", "float", "bool", "list", "dict")
"""The types a parameter may be declared with (SPEC 2.7); ``any`` only comes from a signature."""

EMPTY: Final[Mapping[str, object]] = MappingProxyType({})

WARNING: Final = "warning: "
"""How a note begins that tells of a danger or a mistake; the others only explain."""


@dataclass(frozen=True, slots=True)
class Reference:
    """One parent variable a declaration used, with its value frozen then (SPEC 3.4, 3.5)."""

    name: str
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Text:
    """A string field: as written, and as it stands after load-time references (SPEC 3)."""

    written: str = field(repr=False)
    value: str = field(repr=False)
    value_class: ValueClass = ValueClass.SET
    references: tuple[Reference, ...] = ()
    unresolved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter (SPEC 2.7). ``given`` are the keys its author wrote; a signature fills in the rest."""

    name: str
    type: str = "str"
    required: bool = True
    default: object = field(default=MISSING, repr=False)
    default_hidden: bool = False
    description: str = ""
    example: object = MISSING
    override: object = field(default=MISSING, repr=False)
    enum: tuple[object, ...] | None = None
    nullable: bool = False
    schema: Mapping[str, object] | None = None
    """A JSON Schema fragment read off a signature; None: made of ``type`` and ``enum``."""
    given: frozenset[str] = frozenset()

    @property
    def is_hidden(self) -> bool:
        """Whether its value, or the default of one, is nothing a caller may see."""
        return self.override is not MISSING or self.default_hidden


@dataclass(frozen=True, slots=True)
class Shell:
    """A ``/bin/sh`` script template, made safe by ``shell_text.prepare`` (SPEC 3.4)."""

    written: str = field(repr=False)
    template: str = field(repr=False)
    references: tuple[Reference, ...] = ()
    """Become bindings of source ``reference``; the shell expands them where they stand."""


@dataclass(frozen=True, slots=True)
class Argv:
    """A command without a shell: one template an argument. ``$HOME`` and other floor names are ``mcc_env('HOME')``."""

    written: tuple[str, ...] = field(repr=False)
    templates: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Curl:
    """The rest of a ``curl`` command. ``words``: one template an argument, where the text is plain arguments."""

    shell: Shell
    words: tuple[str, ...] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a function declared with ``@tool``, able to stand alone (SPEC 2.3)."""

    text: str = field(repr=False)
    filename: str
    function: str


@dataclass(frozen=True, slots=True)
class Function:
    """A Python function: ``target`` is ``module:attr.attr``; with ``source``, a name inside that source."""

    target: str
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class NoProcess:
    """The body of an operator's tool that runs nothing here: its names go to the workspace or a server (SPEC 9.5)."""

    type: str
    kind: Literal["workspace", "mcp", "plugin"]


@dataclass(frozen=True, slots=True)
class EnvFile:
    """One ``env_file``: as written, and its absolute path."""

    written: str
    path: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Grant:
    """One parent name let in by ``required_env`` or ``optional_env``, under the name ``child`` (SPEC 4.5)."""

    child: str
    parent: str

    def __str__(self) -> str:
        return self.child if self.child == self.parent else f"{self.child} (from {self.parent})"


@dataclass(frozen=True, slots=True)
class Limits:
    """SPEC 7.8. Seconds for ``timeout`` and ``cpu_sec``, MiB for ``mem_mb``, ``fsize_mb`` and ``output_mb``."""

    timeout: float | None = None
    mem_mb: int | None = None
    cpu_sec: int | None = None
    fsize_mb: int | None = None
    nofile: int | None = None
    output_mb: float = 1.0


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a tool was declared.

    ``label`` is shown (``tools.yaml``, ``%%mcc_tool``); ``id`` tells cells and files apart, ``run`` one execution of a
    cell from another.
    """

    kind: Literal["cell", "file", "python", "policy"]
    label: str
    id: str | None = None
    run: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A declared unit of work (SPEC 2.6)."""

    name: str
    body: Shell | Argv | Curl | Function | NoProcess
    origin: Origin
    cwd: Text
    groups: tuple[str, ...] = ("public",)
    description: str = ""
    example: str = ""
    params: tuple[Param, ...] = ()
    env: Mapping[str, Text] = field(default_factory=lambda: MappingProxyType({}))
    env_files: tuple[EnvFile, ...] = ()
    secret_files: Mapping[str, Text] = field(default_factory=lambda: MappingProxyType({}))
    """Variable → what its private file holds (SPEC 8.7)."""
    passthrough: tuple[str, ...] | Literal[True] = ()
    required_env: tuple[Grant, ...] = ()
    optional_env: tuple[Grant, ...] = ()
    python: Text | None = None
    stdin: bool = False
    limits: Limits = Limits()
    transform: Shell | None = None
    cache_ttl: float | None = None
    fresh: bool = False
    isolation: bool = True
    never_redact: frozenset[str] = frozenset()
    references: tuple[Reference, ...] = ()
    """Every reference of every field but command texts: what SPEC 3.5 compares and SPEC 8.1 redacts."""
    unresolved: tuple[str, ...] = ()
    """Names that a string field refers to and that the parent did not have (SPEC 3.2)."""
    mentioned: tuple[str, ...] = ()
    """Names that every field but command texts refers to as it is written, whatever the parent has."""
    notes: tuple[str, ...] = ()
    """What the author should know: warnings of the declaration, each one line without a value."""
    takes_context: bool = False
    """A function with a ``context`` parameter (SPEC 2.7)."""
    introspected: bool = False
    """A function whose signature has been read (SPEC 2.8)."""
    unsigned: bool = False
    """A builtin that has no signature: its declared parameters are passed by position, in their order."""

    @property
    def key(self) -> str:
        """``public``, ``admin``, the other groups, then the name, joined by ``.`` (SPEC 2.6)."""
        first = [group for group in ("public", "admin") if group in self.groups]
        return ".".join([*first, *(group for group in self.groups if group not in first), self.name])

    @property
    def kind(self) -> Literal["exec", "curl", "fn", "workspace", "mcp", "plugin"]:
        if isinstance(self.body, NoProcess):
            return self.body.kind
        if isinstance(self.body, Function):
            return "fn"
        return "curl" if isinstance(self.body, Curl) else "exec"


def command_references(tool: Tool) -> tuple[Reference, ...]:
    """The references of the command texts: ``exec``, ``curl`` and ``transform`` (SPEC 3.4)."""
    shells = [tool.body if isinstance(tool.body, Shell) else tool.body.shell if isinstance(tool.body, Curl) else None]
    shells.append(tool.transform)
    found = {reference.name: reference for shell in shells if shell is not None for reference in shell.references}
    return tuple(found.values())
