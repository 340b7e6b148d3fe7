"""What the name of a variable tells: valid, reserved, risky, credential-like, or known to be no secret.

Names only; no rule in this file looks at a value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import translate
from functools import lru_cache

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.A)
"""SPEC 4.6; use ``fullmatch``: ``$`` would let a trailing newline through."""

SESSION_KEY = re.compile(r"[a-z_][a-z0-9_]*", re.A)
"""SPEC 6.2; use ``fullmatch``."""

IDENTITY = ("user", "email", "groups", "tools", "notebook", "project")
"""The reserved keys of the session store (SPEC 6.1)."""


def is_reserved(name: str) -> bool:
    """Whether only the session may set this variable (SPEC 4.8), or it is a kernel's own and no tool's (SPEC 9.2)."""
    return name in _RESERVED or name.startswith("MCC_CTX_")


_RESERVED = ("MCC_CTX", "MCC_SESSION_FILE", "MCC_WORKSPACE", "MCC_KERNEL_FD", "MCC_SERVER")


@lru_cache(maxsize=1024)
def any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """One compiled expression for case-sensitive globs; ``match`` is exact, as ``fnmatchcase`` is (SPEC 4.3).

    Each pattern is a group, so that a match tells the first pattern that let the name in.
    """
    return re.compile("|".join(f"({translate(pattern)})" for pattern in patterns) or r"(?!)")


def first_match(patterns: Sequence[str], name: str) -> str | None:
    """The first pattern that lets *name* in."""
    found = any_of(tuple(patterns)).match(name)
    return patterns[found.lastindex - 1] if found is not None and found.lastindex else None


def has_wildcard(pattern: str) -> bool:
    return any(character in pattern for character in "*?[")


_RISKY = (
    "LD_*", "DYLD_*", "GCONV_PATH", "MALLOC_*", "GLIBC_TUNABLES", "IFS", "ENV", "BASH_ENV", "BASH_FUNC_*", "BASHOPTS",
    "SHELLOPTS", "PROMPT_COMMAND", "PS4", "CDPATH", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONINSPECT",
    "PYTHONBREAKPOINT", "PYTHONUSERBASE", "PYTHONEXECUTABLE", "PYTHONWARNINGS", "NODE_OPTIONS", "NODE_PATH",
    "NODE_EXTRA_CA_CERTS", "PERL5OPT", "PERL5LIB", "PERL5DB", "RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "GOFLAGS", "CLASSPATH", "DOTNET_STARTUP_HOOKS", "GIT_SSH", "GIT_SSH_COMMAND",
    "GIT_ASKPASS", "SSH_ASKPASS", "GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR", "GIT_CONFIG*",
    "GIT_TEMPLATE_DIR", "PAGER", "EDITOR", "VISUAL", "BROWSER", "LESSOPEN", "LESSCLOSE", "DIRENV_DIFF",
    "DIRENV_WATCHES", "OP_SESSION_*", "OP_SERVICE_ACCOUNT_TOKEN",
)  # fmt: skip

_CREDENTIAL_LIKE = re.compile(
    r"(?:^|_)(?:TOKEN|SECRET|SECRETS|PASSWORD|PASSWD|PASS|APIKEY|CREDENTIALS?|COOKIE)(?:_|$)|_PWD(?:_|$)"
    r"|(?:API|ACCESS|PRIVATE|AUTH)_?KEY|(?:^|_)(?:KEY|PAT|DSN|JWT)$|(?:DATABASE|REDIS|MONGO\w*|AMQP|BROKER)_UR[IL]$",
    re.I | re.A,
)

_NOT_SECRET = (
    "PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "COLORTERM", "SHELL",
    "SHLVL", "PWD", "OLDPWD", "HOSTNAME", "EDITOR", "VISUAL", "PAGER", "DISPLAY", "COLUMNS", "LINES", "NO_COLOR",
    "FORCE_COLOR", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYTHONPATH", "PYTHONUNBUFFERED",
    "PYTHONHASHSEED", "NODE_ENV", "DEBUG", "VERBOSE", "*LOG_LEVEL", "LOGLEVEL", "*_REGION", "*_PROFILE", "*_HOST",
    "*_HOSTNAME", "*_PORT", "*_ZONE", "PGHOST", "PGPORT", "PGDATABASE", "PGUSER", "KUBECONFIG",
    "DJANGO_SETTINGS_MODULE", "FLASK_APP", "FLASK_ENV", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_AUTHOR_*", "GIT_COMMITTER_*", "XDG_*", "_", "MPLBACKEND",
    "DEBIAN_FRONTEND", "CONTAINER_NAME", "PYENV_ROOT", "PYENV_VERSION", "NVM_DIR", "NVM_BIN", "CARGO_HOME",
    "RUSTUP_HOME", "GOPATH", "GOROOT", "JAVA_HOME", "CONDA_EXE", "CONDA_PYTHON_EXE", "CONDA_SHLVL", "MANPATH",
    "LS_COLORS", "LESS", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "SSH_AUTH_SOCK", "GPG_TTY", "WAYLAND_DISPLAY",
    "JPY_PARENT_PID", "CLICOLOR",
)  # fmt: skip

_REMEMBERED = 16_384
"""Names whose answers are kept: an environment is asked about again whenever one variable of it has changed."""


@lru_cache(maxsize=_REMEMBERED)
def is_risky(name: str) -> bool:
    """Whether the name steers a loader or an interpreter (SPEC 4.3)."""
    return any_of(_RISKY).match(name) is not None


@lru_cache(maxsize=_REMEMBERED)
def is_credential_like(name: str) -> bool:
    return _CREDENTIAL_LIKE.search(name) is not None


def credentials(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """The variables whose names are those of credentials, with their values."""
    return [(name, value) for name, value in environ.items() if is_credential_like(name)]


@lru_cache(maxsize=_REMEMBERED)
def is_known_not_secret(name: str) -> bool:
    """Regions, profiles, host names, log levels … (SPEC 8.1; the table stands in the docs)."""
    return any_of(_NOT_SECRET).match(name) is not None
