"""An env template → which provider each of its values needs (SPEC 8.5).

1. A value is a reference when its text begins with a scheme of the table. What an interpolated variable holds is never
   looked at: only the author of the template says what is resolved.
2. A template that a wrapper reads is not resolved here, not even in part.
3. Names only: no message holds what a template says of a variable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from .dotenv import Dotenv, Entry
from .errors import SecretError

OWN = ("keyring", "file", "pass")
"""The providers that are built in, by name. Any other name is a command that wraps: ``<cli> run --env-file F -- …``."""

WRAPPERS: Mapping[str, str] = {"pass://": "pass-cli", "op://": "op"}
"""The command that a scheme means where the operator names none."""

_SCHEME = re.compile(
    r"(?P<wrapped>(?:pass|op|vault|bws|akv|awssm|gcpsm|secret|ref\+\w+)://|vault:)(?=\S)"
    r"|(?P<own>keyring|file|pass):(?://)?(?=\S)",
    re.A,
)
_MOST_NAMES = 8


@dataclass(frozen=True, slots=True)
class Template:
    """A template that can be read: its path as written, the absolute one, and what stands in it."""

    written: str
    path: str = field(repr=False)
    content: Dotenv


@dataclass(frozen=True, slots=True)
class Steps:
    """What ``launch`` does: the templates it resolves itself, and those it hands to a wrapper, with its words."""

    own: tuple[Template, ...]
    wrapped: tuple[tuple[Template, tuple[str, ...]], ...]


def scheme(entry: Entry, provider: str | None = None) -> str | None:
    """``keyring``, ``file`` or ``pass`` for what is built in, ``op://`` and the like for a wrapper, else None.

    With the *provider* ``pass`` the password-store answers for ``pass://`` too.
    """
    first = entry.atoms[0] if entry.atoms else ""
    more = "x" if len(entry.atoms) > 1 else ""  # stands for what an interpolated variable will hold
    found = _SCHEME.match(first + more) if isinstance(first, str) else None
    if found is None:
        return None
    if found["wrapped"] == "pass://" and provider == "pass":
        return "pass"
    return found["wrapped"] or found["own"]


def locator(text: str) -> str:
    """What stands behind the scheme of a composed reference."""
    return _SCHEME.sub("", text, count=1)


def references(content: Dotenv, provider: str | None = None) -> dict[str, str]:
    """The names whose last definition is a reference, and its scheme."""
    found = {entry.name: scheme(entry, provider) for entry in content.entries}
    return {name: kind for name, kind in found.items() if kind is not None}


def evaluate(
    content: Dotenv,
    environ: Mapping[str, str],
    resolve: Callable[[str, str, str], str] | None = None,
    provider: str | None = None,
) -> dict[str, str]:
    """Every variable of a template with its value. ``${X}`` sees the template's earlier names, then *environ*.

    *resolve* takes the name, the provider and the locator of a reference; a name that is defined again later is not
    asked for. Without it a reference stays as it is.
    """
    values: dict[str, str] = {}
    last = {entry.name: at for at, entry in enumerate(content.entries)}
    for at, entry in enumerate(content.entries):
        text = "".join(
            atom if isinstance(atom, str) else values.get(atom.name, environ.get(atom.name, atom.default or ""))
            for atom in entry.atoms
        )
        kind = scheme(entry, provider)
        if kind is not None and resolve is not None and last[entry.name] == at:
            text = resolve(entry.name, kind, locator(text))
        values[entry.name] = text
    return values


def steps(templates: Iterable[Template], provider: str | None, words: tuple[str, ...]) -> Steps:
    """Who resolves which template. *provider* is the operator's choice and *words* the same, split; None is no choice.

    Raises ``SecretError`` for a template that no single provider can resolve.
    """
    own: list[Template] = []
    wrapped: list[tuple[Template, tuple[str, ...]]] = []
    chosen = words if provider is not None and provider not in OWN else ()
    for template in templates:
        kinds = references(template.content, provider)
        outside = {name: kind for name, kind in kinds.items() if kind not in OWN}
        inside = [name for name, kind in kinds.items() if kind in OWN]
        if not outside and (inside or not chosen):
            own.append(template)
            continue
        command = chosen or _wrapper(template, outside, provider)
        if inside:
            raise SecretError(
                f"{template.written}: {listed(inside)}: {command[0]} does not know this kind of reference; "
                "put it into a template of its own, and give both with --env-file"
            )
        wrapped.append((template, command if len(command) > 1 else (*command, "run")))
    return Steps(tuple(own), tuple(wrapped))


def _wrapper(template: Template, outside: Mapping[str, str], provider: str | None) -> tuple[str, ...]:
    meant = {kind: WRAPPERS.get(kind) if provider is None else None for kind in outside.values()}
    unknown = [name for name, kind in outside.items() if meant[kind] is None]
    if unknown:
        raise SecretError(
            f"{template.written}: {listed(unknown)}: no provider resolves this reference; name one with --provider"
        )
    commands = sorted({command for command in meant.values() if command is not None})
    if len(commands) > 1:
        raise SecretError(
            f"{template.written}: its references are for {' and '.join(commands)}; put those of each into a template "
            "of its own, and give both with --env-file"
        )
    return (commands[0],)


def listed(names: Iterable[str]) -> str:
    """*names* for a message, the first few of many."""
    every = list(names)
    more = f" and {len(every) - _MOST_NAMES} more" if len(every) > _MOST_NAMES else ""
    return ", ".join(every[:_MOST_NAMES]) + more


def wrap(step: Steps, command: tuple[str, ...]) -> tuple[str, ...]:
    """The command to start: ``<cli> run --env-file F -- COMMAND``, once for each template that is wrapped."""
    for template, words in reversed(step.wrapped):
        command = (*words, "--env-file", template.path, "--", *command)
    return command
