"""A template or a root ``.env`` → the process that replaces this one (SPEC 8.5).

1. Everything is found out before anything is started: what cannot be resolved starts nothing.
2. This process becomes the started one (``exec``). So signals, terminal and exit status are the started one's own, and
   nothing of ours stays that holds a value.
3. A value goes into the environment of the started process, nowhere else: no argv, no file, no message.
"""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from ..core import env_template
from ..core.dotenv import Dotenv, Unreadable
from ..core.env_template import Template
from ..core.errors import SecretError
from ..core.tool import EnvFile
from .catalog import EnvFiles
from .parent import initial_environment
from .providers import Providers

GIT_PATIENCE = 5.0
"""Seconds that git has to say whether it tracks a file."""


@dataclass(frozen=True, slots=True)
class Start:
    """The process to become, and what is to be told before."""

    argv: tuple[str, ...]
    environ: Mapping[str, str] = field(repr=False)
    notes: tuple[str, ...] = ()


def default_templates(parent: Mapping[str, str]) -> tuple[str, ...]:
    """Where a template is looked for when none is named: the machine's, then the user's. The first found counts."""
    config = parent.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(config):
        config = os.path.join(parent["HOME"], ".config") if parent.get("HOME") else ""
    users = (os.path.join(config, "mcc", "launch.env"),) if config else ()
    return ("/etc/mcc/launch.env", *users)


def prepare(
    command: Sequence[str],
    *,
    parent: Mapping[str, str],
    folder: str,
    env_files: Sequence[str] = (),
    provider: str | None = None,
    places: Sequence[str] | None = None,
) -> Start:
    """What to become for *command*. *env_files* are the templates that were named, *places* where others may be.

    Raises ``SecretError`` for what nothing resolves, by name.
    """
    environ = _own_environment(parent)
    notes: list[str] = []
    known = default_templates(parent) if places is None else places
    wanted = list(env_files) or [place for place in known if os.path.lexists(place)][:1]
    there = [path for path in wanted if os.path.lexists(os.path.join(folder, path))]
    instead = "starting without it" if there or not os.path.lexists(_dotenv(folder)) else ".env is loaded instead"
    notes += [f"there is no template {path}; {instead}" for path in wanted if path not in there]
    if not there:
        _load_dotenv(environ, folder, notes)
        return Start(tuple(command), environ, tuple(notes))
    words = _words(provider)
    templates = [_template(path, folder, notes) for path in there]
    steps = env_template.steps(templates, provider, words)
    for template, wrapper in steps.wrapped:
        _check_wrapper(template, wrapper[0], environ)
    before = dict(environ)
    for template in steps.own:
        environ |= env_template.evaluate(template.content, environ, Providers(template, before), provider)
    if steps.wrapped and shutil.which(command[0], path=environ.get("PATH", os.defpath)) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    return Start(env_template.wrap(steps, tuple(command)), environ, tuple(notes))


def become(start: Start) -> NoReturn:
    """Replaces this process. Raises ``OSError`` where that cannot be."""
    sys.stdout.flush()
    sys.stderr.flush()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and what is ignored stays so in ``exec``
        signal.signal(number, signal.SIG_DFL)
    os.execvpe(start.argv[0], start.argv, start.environ)


def _own_environment(parent: Mapping[str, str]) -> dict[str, str]:
    """*parent* without the variable that an interpreter without a locale gives itself as it starts."""
    initial = initial_environment(parent)
    return {name: value for name, value in parent.items() if name and (name != "LC_CTYPE" or name in initial)}


def _words(provider: str | None) -> tuple[str, ...]:
    if provider is None:
        return ()
    try:
        words = tuple(shlex.split(provider))
    except ValueError:
        words = ()
    if not words:
        raise SecretError("--provider: expected keyring, file, pass, or the command of a wrapper such as pass-cli")
    return words


def _template(written: str, folder: str, notes: list[str]) -> Template:
    path = os.path.abspath(os.path.join(folder, written))
    return Template(written, path, _content(EnvFile(written, path), notes))


def _content(file: EnvFile, notes: list[str]) -> Dotenv:
    (content,) = EnvFiles().read([file])
    if isinstance(content, Unreadable):
        raise SecretError(content.text)
    notes += [f"{file.written}: {warning}" for warning in content.warnings]
    return content


def _check_wrapper(template: Template, program: str, environ: Mapping[str, str]) -> None:
    names = env_template.listed(env_template.references(template.content))
    if shutil.which(program, path=environ.get("PATH", os.defpath)) is None:
        raise SecretError(
            f"{template.written}: {names or 'it'} needs {program}, which is not on PATH; "
            "install it, or name another provider with --provider"
        )
    if stat.S_ISFIFO(os.stat(template.path).st_mode):
        raise SecretError(f"{template.written}: a pipe can be read once, and {program} has to read it; give a file")


def _dotenv(folder: str) -> str:
    return os.path.join(folder, ".env")


def _load_dotenv(environ: dict[str, str], folder: str, notes: list[str]) -> None:
    """The ``.env`` of *folder*, under what the environment already has."""
    path = _dotenv(folder)
    if not os.path.lexists(path):
        return
    content = _content(EnvFile(".env", path), notes)
    if _tracked(path, environ):
        notes.append("git tracks .env, so that its values go to whoever gets the repository; git rm --cached .env")
    loaded = env_template.evaluate(content, environ)
    new = {name: value for name, value in loaded.items() if name not in environ}
    unresolved = [name for name in env_template.references(content) if name in new]
    if unresolved:
        notes.append(
            f".env: {env_template.listed(unresolved)}: nothing resolves a reference here; give it with --env-file"
        )
    environ |= new


def _tracked(path: str, environ: Mapping[str, str]) -> bool:
    folder, name = os.path.split(path)
    try:
        done = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", "ls-files", "--error-unmatch", "--", name],
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=GIT_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
