"""A reference of an env template → its value, for the providers that are built in (SPEC 8.5).

1. A message names the variable and the template, never the value, and nothing that a provider printed.
2. Nothing is kept: the value goes to the process that is about to replace this one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..core.env_template import Template
from ..core.errors import SecretError
from ..core.values import VARIABLE_LIMIT
from . import errands


@dataclass(frozen=True, slots=True)
class Providers:
    """Resolves the references of one template, in the environment that ``launch`` was started with."""

    template: Template
    environ: Mapping[str, str] = field(repr=False)

    def __call__(self, name: str, provider: str, locator: str) -> str:
        """The value. Raises ``SecretError``, by *name*."""
        by_name: dict[str, Callable[[str, str], str]] = {
            "file": self._file,
            "keyring": self._keyring,
            "pass": self._pass,
        }
        value = by_name[provider](name, locator)
        if not value:
            raise self._error(name, "the provider gave an empty value; store one")
        if "\0" in value:
            raise self._error(name, "the value holds a NUL character, which no variable can")
        if len(name) + 1 + len(os.fsencode(value)) > VARIABLE_LIMIT:
            raise self._error(name, f"the value is larger than a variable may be ({VARIABLE_LIMIT:,} bytes)")
        return value

    def _error(self, name: str, text: str) -> SecretError:
        return SecretError(f"{self.template.written}: {name}: {text}")

    def _file(self, name: str, locator: str) -> str:
        home = self.environ.get("HOME")
        if locator.startswith("~/") and home:
            locator = os.path.join(home, locator[2:])
        path = os.path.join(os.path.dirname(self.template.path), locator)
        try:
            if not os.path.isfile(path):
                raise self._error(name, "the file it refers to is not there; correct the reference")
            with open(path, "rb") as file:
                data = file.read(VARIABLE_LIMIT + 2)
        except OSError as error:
            why = os.strerror(error.errno or 0)
            raise self._error(name, f"the file it refers to cannot be read ({why})") from None
        return os.fsdecode(data).removesuffix("\n").removesuffix("\r")

    def _keyring(self, name: str, locator: str) -> str:
        service, _, user = locator.rpartition("/")
        if not (service and user):
            raise self._error(name, "write the reference as keyring:SERVICE/USER")
        try:
            import keyring
        except ImportError:
            text = "the package keyring is not installed; pip install mcc-jupyter[keyring]"
            raise self._error(name, text) from None
        try:
            value = keyring.get_password(service, user)
        except Exception as error:  # noqa: BLE001 - a back end raises what it likes, and its text may hold anything
            raise self._error(name, f"the keyring failed with {type(error).__name__}; unlock or install one") from None
        if value is None:
            raise self._error(name, "the keyring has no such entry; store it with `keyring set SERVICE USER`")
        return str(value)

    def _pass(self, name: str, locator: str) -> str:
        program = shutil.which("pass", path=self.environ.get("PATH", os.defpath))
        if program is None:
            raise self._error(name, "the program pass is not on PATH; install it (Debian: the package pass)")
        home = self.environ.get("HOME", "")
        store = self.environ.get("PASSWORD_STORE_DIR") or os.path.join(home, ".password-store")
        # For the name of a folder ``pass show`` prints a list and succeeds.
        if not os.path.isfile(os.path.join(store, f"{locator}.gpg")):
            raise self._error(name, "the password-store has no such entry; correct the reference")
        try:
            status, printed = errands.output([program, "show", locator], self.environ)
        except OSError as error:
            why = os.strerror(error.errno or 0)
            raise self._error(name, f"the program pass cannot be started ({why}); correct {program}") from None
        if status:
            raise self._error(name, f"pass failed with exit code {status}; try `pass show` yourself")
        return os.fsdecode(printed.partition(b"\n")[0].removesuffix(b"\r"))
