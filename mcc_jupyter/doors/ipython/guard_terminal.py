"""A terminal's guard: what is written to Python's streams."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

from .guard_text import Text

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from .guard import Guard

IN_A_TERMINAL = (
    "what programs write to the terminal themselves (!cmd), sys.stdout.buffer, the prompt of input(), "
    "and writers that took the stream before the guard was on, such as logging handlers"
)


class Guarded:
    """Stands in for a text stream; what is not about writing is the stream's own."""

    def __init__(self, stream: Any, guard: Guard) -> None:
        self._stream, self._text = stream, Text(guard)
        self._lock = threading.RLock()
        self._on = True

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_stream"), name)

    def write(self, text: str) -> int:
        with self._lock:
            if not self._on or not isinstance(text, str):
                self._stream.write(text)
            elif safe := self._text.feed(text):
                self._stream.write(safe)
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def show_rest(self) -> None:
        with self._lock:
            if self._on and (rest := self._text.close()):
                self._stream.write(rest)
                self._stream.flush()

    def end(self) -> Any:
        """The stream itself. Whoever still has this object writes through it."""
        self.show_rest()
        self._on = False
        return self._stream


class Terminal:
    not_covered = IN_A_TERMINAL

    def __init__(self, shell: InteractiveShell, guard: Guard) -> None:
        self._shell, self._guard = shell, guard
        self._ours: dict[str, Guarded] = {}
        self._depth = 0
        """How many cells are running: ``%%capture`` runs one inside another, and what it captures is the user's."""

    def open(self) -> None:
        self._wrap()
        self._shell.events.register("pre_run_cell", self._cell_begins)
        self._shell.events.register("post_run_cell", self._cell_ended)

    def close(self) -> None:
        self._shell.events.unregister("pre_run_cell", self._cell_begins)
        self._shell.events.unregister("post_run_cell", self._cell_ended)
        for name, ours in self._ours.items():
            stream = ours.end()
            if getattr(sys, name) is ours:
                setattr(sys, name, stream)

    def _cell_begins(self, _: object) -> None:
        if self._depth == 0:  # a stream that was replaced while the guard was switched on has been put back since
            self._wrap()
        self._depth += 1

    def _wrap(self) -> None:
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream is not None and stream is not self._ours.get(name):
                if name in self._ours:
                    self._ours[name].show_rest()
                self._ours[name] = Guarded(stream, self._guard)
                setattr(sys, name, self._ours[name])

    def _cell_ended(self, _: object) -> None:
        self._depth = max(0, self._depth - 1)
        self._guard.redactor()
        for ours in self._ours.values():
            ours.show_rest()
