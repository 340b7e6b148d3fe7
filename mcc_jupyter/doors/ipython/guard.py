"""Everything a shell displays → the same with marks in place of the secrets it knows (SPEC 8.4).

1. In a notebook every message is searched where the kernel sends it, so output of threads and of programs is, too. In a
   terminal it is what is written to ``sys.stdout`` and ``sys.stderr``.
2. A beginning of a secret at the end of what was printed waits for what comes next, at the longest for the end of its
   cell, and one of six bytes only for a moment. Everything else is shown at once and in its order.
3. Off, nothing stays in the way of output.
"""

from __future__ import annotations

import codecs
import os
import sys
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ...core.known import secret_values
from ...core.redact import Redactor
from .publish import GUARD

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from ...runtime.toolbox import Toolbox

_EARLIER = 256
"""Values that variables had before and that are still searched for."""

_STREAMS = 64
"""Streams of cells that may wait at once; a thread may go on printing for a cell that has ended."""

_PAUSE = 0.2
"""Seconds after which a beginning of a secret that is short enough to be seen waits no longer."""

_BINARY = ("image/", "audio/", "video/", "application/pdf", "application/octet-stream")

NOT_COVERED = (
    "pictures, sound and other binary data",
    "widgets (comm messages and their buffers) and the debugger's view of variables",
    "your own variables (In, Out, _), the code of your cells, and what is captured or written to files",
    "values that the program has shortened or changed, or that a forked process prints in pieces",
    "other kernels, and files that are saved already",
)
IN_A_KERNEL = "what the kernel itself writes to the terminal it was started in"
IN_A_TERMINAL = (
    "what programs write to the terminal themselves (!cmd), sys.stdout.buffer, the prompt of input(), "
    "and writers that took the stream before the guard was on, such as logging handlers"
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
        self.exit: _Exit = _Terminal(shell, self) if session is None else _Kernel(session, self)

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


class _Text:
    """One stream of text through the redactor."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._stream = guard.redactor().stream()
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def feed(self, text: str) -> str:
        """What can be shown now."""
        redactor = self._guard.redactor()  # the stream is this one's
        try:
            data = text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:  # half of a character, which no stream of bytes holds
            return self.close() + redactor.text(text)
        return self._decoder.decode(self._stream.feed(data))

    @property
    def waits(self) -> bool:
        return self._stream.waits

    def release(self) -> str:
        """What waits, if it is so little that it may be seen of a secret."""
        return self._decoder.decode(self._stream.release())

    def close(self) -> str:
        """The rest. The stream may go on."""
        rest = self._decoder.decode(self._stream.close(), final=True)
        self._stream = self._guard.redactor().stream()
        self._decoder.reset()
        return rest


# ---- a notebook: every message of the kernel goes through its session


@dataclass(frozen=True, slots=True)
class _Sent:
    """A message of a stream, and how it is sent."""

    socket: Any
    message: dict[str, Any] = field(repr=False)
    ident: Any


@dataclass(slots=True)
class _Waiting:
    """A stream of one cell, and the last that was sent for it."""

    text: _Text
    sent: _Sent


_SHOWN = frozenset({"execute_result", "display_data", "update_display_data"})
_DISPLAYS = _SHOWN | {"inspect_reply"}
_BOUNDARIES = _SHOWN | {"error", "clear_output", "input_request"}
"""Messages that stand after what has been printed before them."""

_WHOLE = frozenset({"error", "execute_reply", "input_request"})
"""Messages of which every text is searched."""


class _Kernel:
    """Stands in for the ``send`` of a kernel's session, which all its threads use."""

    not_covered = IN_A_KERNEL

    def __init__(self, session: Any, guard: Guard) -> None:
        self._session, self._guard = session, guard
        self._send: Callable[..., Any] = session.send
        self._waiting: dict[tuple[object, str], _Waiting] = {}
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._on = False
        self._timer: threading.Timer | None = None

    def open(self) -> None:
        self._on = True
        self._own = self.send
        self._before = vars(self._session).get("send")
        vars(self._session)["send"] = self._own

    def close(self) -> None:
        with self._lock:
            rest = self._rest(list(self._waiting))
            self._on = False
            # Somebody else may have put theirs before ours meanwhile; then ours only hands on.
            if vars(self._session).get("send") is self._own:
                if self._before is None:
                    del vars(self._session)["send"]
                else:
                    vars(self._session)["send"] = self._before
        self._show(rest)

    def send(
        self, stream: Any, msg_or_type: Any, content: Any = None, parent: Any = None, ident: Any = None, **others: Any
    ) -> Any:
        """``Session.send`` with what it sends redacted."""
        if isinstance(msg_or_type, str):
            kind, of = msg_or_type, _id(parent)
        else:
            kind, of = msg_or_type["header"]["msg_type"], _id(msg_or_type.get("parent_header"))
            content = msg_or_type["content"]
        if os.getpid() != self._process:  # a forked child: its locks and what waits belong to its parent
            return self._pass(stream, msg_or_type, self._redacted(kind, content), parent, ident, others)
        # Nothing is sent under the lock: sending may wait for the thread that waits for the lock.
        rest: list[_Sent] = []
        with self._lock:
            if not self._on:
                redacted = content
            elif kind == "stream" and not isinstance(msg_or_type, str):
                text, rest = self._text(_Sent(stream, msg_or_type, ident), of)
                redacted = {**content, "text": text} if text else None
            else:
                if kind == "status":
                    self._guard.redactor()  # it may be the last to see a variable that the next cell changes
                if kind in _BOUNDARIES or (kind == "status" and content.get("execution_state") == "idle"):
                    rest = self._rest([key for key in self._waiting if key[0] == of])
                redacted = self._redacted(kind, content)
        self._show(rest)
        return msg_or_type if redacted is None else self._pass(stream, msg_or_type, redacted, parent, ident, others)

    def _pass(self, stream: Any, msg_or_type: Any, content: Any, parent: Any, ident: Any, others: Any) -> Any:
        if not isinstance(msg_or_type, str):
            msg_or_type, content = {**msg_or_type, "content": content}, None
        return self._send(stream, msg_or_type, content, parent, ident, **others)

    def _redacted(self, kind: str, content: Any) -> Any:
        if kind in _DISPLAYS:
            return self._guard.display(content)
        if kind == "stream":
            return {**content, "text": self._guard.redactor().text(content["text"])}
        if kind == "complete_reply":
            return self._guard.completions(content)
        return self._guard.data(content) if kind in _WHOLE else content

    def _text(self, sent: _Sent, of: object) -> tuple[str, list[_Sent]]:
        """What can be shown of a stream's text, and what is to be shown before it, because too many wait."""
        key = of, sent.message["content"]["name"]
        waiting = self._waiting.pop(key, None) or _Waiting(_Text(self._guard), sent)
        waiting.sent = sent
        self._waiting[key] = waiting  # the last one used is the last
        rest = self._rest([next(iter(self._waiting))]) if len(self._waiting) > _STREAMS else []
        text = waiting.text.feed(sent.message["content"]["text"])
        if waiting.text.waits and self._timer is None:
            self._timer = threading.Timer(_PAUSE, self._release)
            self._timer.daemon = True
            self._timer.start()
        return text, rest

    def _release(self) -> None:
        """After a pause: what is so short that it may be seen, such as a prompt, is shown."""
        with self._lock:
            self._timer = None
            waiting = list(self._waiting.values()) if self._on else []
            shown = [self._message(item, text) for item in waiting if (text := item.text.release())]
        self._show(shown)

    def _rest(self, keys: list[tuple[object, str]]) -> list[_Sent]:
        """Ends these streams; what waited in them, as messages."""
        ended = map(self._waiting.pop, keys)
        return [self._message(waiting, rest) for waiting in ended if (rest := waiting.text.close())]

    def _message(self, waiting: _Waiting, text: str) -> _Sent:
        last = waiting.sent.message
        message = self._session.msg("stream", {**last["content"], "text": text}, parent=last["parent_header"])
        return _Sent(waiting.sent.socket, message, waiting.sent.ident)

    def _show(self, messages: list[_Sent]) -> None:
        for item in messages:
            self._send(item.socket, item.message, ident=item.ident)


def _id(parent: Any) -> object:
    """The id of the request that a message answers; *parent* is that request or its header."""
    if not isinstance(parent, Mapping):
        return None
    return (parent.get("header") or parent).get("msg_id")


# ---- a terminal: what is written to Python's streams


class Guarded:
    """Stands in for a text stream; what is not about writing is the stream's own."""

    def __init__(self, stream: Any, guard: Guard) -> None:
        self._stream, self._text = stream, _Text(guard)
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


class _Terminal:
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
