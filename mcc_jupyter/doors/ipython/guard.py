"""Everything a shell displays → the same with marks in place of the secrets it knows (SPEC 8.4).

1. In a notebook every message is searched where the kernel sends it, so output of threads and of programs is, too. In a
   terminal it is what is written to ``sys.stdout`` and ``sys.stderr``.
2. A beginning of a secret at the end of what was printed waits for what comes next, at the longest for the end of its
   cell, and one of six bytes only for a moment. Everything else is shown at once and in its order.
3. Off, nothing stays in the way of output.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ...core.known import secret_values
from ...core.redact import Redactor
from .guard_kernel import Kernel
from .guard_terminal import Terminal
from .publish import GUARD

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from ...runtime.toolbox import Toolbox

_EARLIER = 256
"""Values that variables had before and that are still searched for."""

_BINARY = ("image/", "audio/", "video/", "application/pdf", "application/octet-stream")

NOT_COVERED = (
    "pictures, sound and other binary data",
    "widgets (comm messages and their buffers) and the debugger's view of variables",
    "your own variables (In, Out, _), the code of your cells, and what is captured or written to files",
    "values that the program has shortened or changed, or that a forked process prints in pieces",
    "other kernels, and files that are saved already",
)


def guard_of(shell: InteractiveShell) -> Guard | None:
    """The guard of *shell* while it is on."""
    found: Guard | None = vars(shell).get(GUARD)
    return found


def switch_on(shell: InteractiveShell, toolbox: Toolbox, *, never: Collection[str] | None = None) -> Guard:
    """The guard of *shell*, on from now on; the same one if it is on already. *never*: names not to search for."""
    guard = guard_of(shell)
    if guard is not None and never is not None:
        guard.except_for(never)
    if guard is None:
        guard = Guard(shell, toolbox, never or ())
        guard.redactor()
        guard.exit.open()
        vars(shell)[GUARD] = guard
    return guard


def switch_off(shell: InteractiveShell) -> bool:
    """Whether the guard was on. What waited is shown first."""
    guard = vars(shell).pop(GUARD, None)
    if guard is not None:
        guard.exit.close()
    return guard is not None


def known_values(shell: InteractiveShell, toolbox: Toolbox) -> tuple[tuple[str, str], ...]:
    """Name and value of every secret that this shell knows, whether its guard is on or not: for a search only."""
    guard = guard_of(shell)
    if guard is not None:
        return guard.known()
    return tuple(secret_values(toolbox.parent(), toolbox.floor, toolbox.known_secrets()))


class _Exit(Protocol):
    """The way by which a shell's output leaves."""

    not_covered: str

    def open(self) -> None: ...

    def close(self) -> None: ...


class Guard:
    """What one shell knows, and the exit it watches."""

    def __init__(self, shell: InteractiveShell, toolbox: Toolbox, never: Collection[str] = ()) -> None:
        self._toolbox = toolbox
        self._never = frozenset(never)
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], None] = {}
        self._seen: tuple[Mapping[str, str], tuple[tuple[str, str], ...]] | None = None
        self._redactor = Redactor(())
        kernel = getattr(shell, "kernel", None)
        session = getattr(kernel, "session", None)
        self.exit: _Exit = Terminal(shell, self) if session is None else Kernel(session, self)

    def redactor(self) -> Redactor:
        """With what is in the environment now, what was in it since the guard is on, and what calls have had."""
        parent, learned = self._toolbox.parent(), self._toolbox.known_secrets()
        held = self._lock.acquire(timeout=1)  # in a forked child nobody may be left to release it
        try:
            if self._seen is None or self._seen[0] is not parent or self._seen[1] != learned:
                self._know(tuple(secret_values(parent, self._toolbox.floor, learned)))
                self._seen = parent, learned
        finally:
            if held:
                self._lock.release()
        return self._redactor

    def except_for(self, never: Collection[str]) -> None:
        """From now on the values of these names, and of no others, are not searched for."""
        with self._lock:
            self._never, self._seen = frozenset(never), None

    def _know(self, current: tuple[tuple[str, str], ...]) -> None:
        known = dict.fromkeys(pair for pair in current if pair[0] not in self._never)
        earlier = [pair for pair in self._known if pair not in known and pair[0] not in self._never]
        known = dict.fromkeys([*earlier[-_EARLIER:], *known])
        if known.keys() != self._known.keys():
            self._known = known
            self._redactor.know(tuple(known))

    def known(self) -> tuple[tuple[str, str], ...]:
        """Name and value of all it searches for."""
        self.redactor()
        return tuple(self._known)

    def data(self, value: Any) -> Any:
        """JSON data with its marks; as IPython hands it on, with tuples and other mappings in it."""
        return self.redactor().data(_plain_json(value))

    def display(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """What a message displays, with all that belongs to it.

        An id with a secret in it gets the same mark each time, so that an update finds its display.
        """
        return {part: self._bundle(item) if part == "data" else self.data(item) for part, item in content.items()}

    def _bundle(self, data: Any) -> Any:
        """Representations by MIME type: binary ones stay as they are."""
        if not isinstance(data, Mapping):
            return self.data(data)
        binary = {kind: value for kind, value in data.items() if _is_binary(kind)}
        return {**self.data({kind: value for kind, value in data.items() if kind not in binary}), **binary}

    def completions(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Without those that hold a secret: with a mark in it, a completion would be none."""
        redactor, metadata = self.redactor(), _plain_json(content.get("metadata", {}))
        for key, items in metadata.items():
            if isinstance(items, list):
                metadata[key] = [item for item in items if not redactor.holds_secret(str(item))]
        matches = [match for match in content.get("matches", ()) if not redactor.holds_secret(match)]
        return {**content, "matches": matches, "metadata": self.data(metadata)}

    def status(self) -> str:
        """What it knows, did and leaves open, by name."""
        redactor = self.redactor()
        names = sorted({name for name, _ in self._known} - {*redactor.skipped})
        lines = [f"The guard is on. Searched for: {', '.join(names) or 'nothing'}."]
        if self._never:
            lines.append(f"Not searched for, as you said: {', '.join(sorted(self._never))}.")
        if redactor.skipped:
            lines.append(f"Not searched for, because short or common: {', '.join(sorted(redactor.skipped))}.")
        marks = ", ".join(f"{name} {count:,}" for name, count in sorted(redactor.counts.items()))
        lines.append(f"Marks so far: {marks or 'none'}.")
        lines += ["Not covered:", *(f"- {line}" for line in (*NOT_COVERED, self.exit.not_covered))]
        return "\n".join(lines)


def _is_binary(kind: object) -> bool:
    return isinstance(kind, str) and kind.startswith(_BINARY) and not kind.startswith("image/svg")


def _plain_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain_json(item) for key, item in value.items()}
    return [_plain_json(item) for item in value] if isinstance(value, list | tuple) else value
