"""What the engine answers with: bindings that know where they come from, and what is missing, refused or unresolved.

A value is in a ``Binding`` and nowhere else, its ``repr`` leaves it out, and only ``command`` takes it from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from .tool import Grant
from .values import ValueClass


class Source(StrEnum):
    """Where a variable comes from, in the order of the layers (SPEC 4.1)."""

    FLOOR = "floor"
    PASSTHROUGH = "passthrough"
    GRANT = "grant"
    REFERENCE = "reference"
    ENV_FILE = "env_file"
    ENV = "env"
    SECRET = "secret"  # noqa: S105 - the layer's name
    RUNTIME = "runtime"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class Provenance:
    """The source of a binding and the rule that let it in: ``AWS_*``, a file's path as written, ``${DB_PASSWORD}``."""

    source: Source
    rule: str


@dataclass(frozen=True, slots=True)
class Binding:
    """One resolved variable (SPEC 4.9)."""

    name: str
    value: str = field(repr=False)
    value_class: ValueClass
    provenance: Provenance
    shadows: tuple[Provenance, ...] = ()
    flags: tuple[str, ...] = ()
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a tool is unavailable: ``missing``, ``unresolved reference``, ``env_file``, … (SPEC 5.1)."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Context:
    """The session as variables (SPEC 6.4); ``oversized`` names stand in the private file instead (SPEC 6.5)."""

    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    oversized: tuple[str, ...] = ()
    document: bytes | None = field(default=None, repr=False)
    """The whole store, when it has to go by ``MCC_SESSION_FILE``."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """All bindings of one tool, and what is missing, refused or unresolved (SPEC 4)."""

    tool: str
    kind: str
    bindings: Mapping[str, Binding] = field(repr=False)
    withdrawn: Mapping[str, Binding] = field(default_factory=dict, repr=False)
    """What the parent gave and the child does not get: a reference that nothing resolved is no value (SPEC 5.1)."""
    missing: tuple[Grant, ...] = ()
    unset: tuple[Grant, ...] = ()
    refused: Mapping[str, Provenance] = field(default_factory=dict)
    reasons: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def available(self) -> bool:
        return not self.reasons

    @property
    def notice(self) -> str | None:
        """The same text everywhere (SPEC 5.2); None for an available tool."""
        if not self.reasons:
            return None
        return f"Tool {self.tool!r} is unavailable; {'; '.join(reason.text for reason in self.reasons)}"

    @property
    def silent(self) -> bool:
        """Whether the only reason is that the operator switched the tool off: nobody has to be told (SPEC 5.1)."""
        return bool(self.reasons) and all(reason.code == "disabled" for reason in self.reasons)

    def environ(self) -> dict[str, str]:
        """The variables with their values, for ``command`` alone (SPEC 4.9)."""
        return {name: binding.value for name, binding in self.bindings.items()}
