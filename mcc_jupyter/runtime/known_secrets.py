"""The values that calls have had so far, by name: for a redactor and the session store, and for nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from ..core import names
from ..core.redact import Redactor


class KnownSecrets:
    """Safe to use from several threads. Its ``repr`` tells nothing."""

    def __init__(self, parent: Callable[[], Mapping[str, str]]) -> None:
        self._parent = parent
        self._names: dict[str, str] = {}
        """Names by value: one name may have had several."""
        self._lock = threading.Lock()

    def learn(self, secrets: Mapping[str, str]) -> None:
        """Takes in values by name."""
        with self._lock:
            self._names.update({value: name for name, value in secrets.items()})

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Name and value of each."""
        with self._lock:
            return tuple((name, value) for value, name in self._names.items())

    def found_in(self, text: str, /, *, folded: bool) -> str | None:
        """The name of a secret that *text* holds, of those known and of the parent's credentials (SPEC 6.2).

        *folded*: as it would be in lower case.
        """
        known = (*self.pairs(), *names.credentials(self._parent()))
        return Redactor((name, value.lower() if folded else value) for name, value in known).secret_in(text)
