"""The session store: identity plus what the notebook stashed (SPEC 6).

1. One store a kernel; it lives in memory and dies with it.
2. Every change is made under one lock, and a write-back is a difference, so concurrent calls lose no update.
3. Values are JSON and are copied on the way in and out: a stored list cannot change behind the store's back.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, Protocol

from ..core.context import as_variable, encode, reject
from ..core.errors import ArgumentError, MccError, SecretError
from ..core.names import IDENTITY, SESSION_KEY


class SecretIn(Protocol):
    """Finds a secret in a text; *folded*: the text is in lower case, whatever the case of the secret."""

    def __call__(self, text: str, /, *, folded: bool) -> str | None:
        """The name of the secret."""


class SessionStore(MutableMapping[str, Any]):
    """A mapping of session keys to JSON values. The identity keys are read-only and re-derived on every look."""

    def __init__(
        self,
        identity: Callable[[], Mapping[str, object]],
        secret_in: SecretIn = lambda _, *, folded: None,  # noqa: ARG005
    ) -> None:
        self._identity = identity
        self._secret_in = secret_in
        self._entries: dict[str, str] = {}
        self._lock = threading.RLock()
        self.on_change: Callable[[], None] = lambda: None
        """Told of every change, in its thread; it returns at once and raises nothing."""

    def __getitem__(self, key: str) -> Any:
        identity = self._identity()
        if key in identity:
            return json.loads(encode(identity[key]))
        with self._lock:
            if key not in self._entries:
                raise KeyError(key)
            return json.loads(self._entries[key])

    def __setitem__(self, key: str, value: object) -> None:
        self.put({key: value})

    def put(self, entries: Mapping[str, object]) -> None:
        """Stores all of them, or none if one is refused. Raises ``ArgumentError`` and ``SecretError``."""
        encoded = {key: self._checked(key, value) for key, value in entries.items()}
        with self._lock:
            self._entries.update(encoded)
        self.on_change()

    def __delitem__(self, key: str) -> None:
        self._refuse_reserved(key)
        with self._lock:
            if key not in self._entries:
                raise KeyError(key)
            del self._entries[key]
        self.on_change()

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            return iter([*self._identity(), *self._entries])

    def __len__(self) -> int:
        with self._lock:
            return len(self._identity()) + len(self._entries)

    def __repr__(self) -> str:
        return f"<session: {', '.join(self)}>"

    def clear(self) -> None:
        """Forgets everything the notebook stashed; identity stays."""
        with self._lock:
            self._entries.clear()
        self.on_change()

    def snapshot(self) -> dict[str, object]:
        """The whole store at one moment, identity on top."""
        with self._lock:
            entries = {key: json.loads(text) for key, text in self._entries.items()}
        return {**self._identity(), **entries}

    def apply(self, changed: Mapping[str, object], deleted: list[str]) -> str | None:
        """A tool's write-back, all or nothing; the note that says why it was rejected (SPEC 6.7)."""
        try:
            encoded = {key: self._checked(key, value) for key, value in changed.items() if key not in IDENTITY}
        except MccError as error:
            return f"the tool's changes to the session were not stored: {error}"
        with self._lock:
            self._entries.update(encoded)
            for key in deleted:
                self._entries.pop(key, None)
        self.on_change()
        return None

    def rows(self) -> list[tuple[str, str, int | None]]:
        """Key, JSON type and size in bytes of each entry; identity has no size, because it differs between machines."""
        identity = self._identity()
        with self._lock:
            stashed = dict(self._entries)
        return [(key, _type(identity[key]), None) for key in identity] + [
            (key, _type(json.loads(text)), len(text.encode())) for key, text in sorted(stashed.items())
        ]

    def _checked(self, key: str, value: object) -> str:
        if not SESSION_KEY.fullmatch(str(key)):
            advice = "keys are lower-case letters, digits and _, like `row_count`"
            raise ArgumentError(f"session: a key is not valid; {advice}")
        self._refuse_reserved(key)
        if name := self._secret_in(f"{key}\0mcc_ctx_{key}", folded=True):  # as ``fn`` sees it, and as ``exec`` does
            raise SecretError(f"session: a key holds {name}; give tools the variable instead")
        why = reject(value, f"`{key}`")
        if why:
            raise ArgumentError(f"session: {why}; store JSON: text, numbers, true, false, null, lists, objects")
        # No variable can hold what joins them, so nothing is found across two.
        name = self._secret_in("\0".join(_texts(value)), folded=False)
        if name:
            raise SecretError(f"session: the value of `{key}` holds {name}; give tools the variable instead")
        return encode(value)

    def _refuse_reserved(self, key: str) -> None:
        if key in IDENTITY:
            raise ArgumentError(f"session: `{key}` belongs to the identity and cannot be changed; use another key")


def _texts(value: object) -> Iterator[str]:
    """Every text and number in *value*, keys too, as a tool would see it and not as JSON escapes it."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    else:
        yield as_variable(value)


def _type(value: object) -> str:
    for name, kinds in (("null", type(None)), ("bool", bool), ("text", str), ("number", (int, float)), ("list", list)):
        if isinstance(value, kinds):
            return name
    return "object"
