"""A notebook's guard: every message of the kernel goes through its session, output of threads and programs too."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .guard_text import Text

if TYPE_CHECKING:
    from .guard import Guard

IN_A_KERNEL = "what the kernel itself writes to the terminal it was started in"

_STREAMS = 64
"""Streams of cells that may wait at once; a thread may go on printing for a cell that has ended."""

_PAUSE = 0.2
"""Seconds after which a beginning of a secret that is short enough to be seen waits no longer."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """A message of a stream, and how it is sent."""

    socket: Any
    message: dict[str, Any] = field(repr=False)
    ident: Any


@dataclass(slots=True)
class _Waiting:
    """A stream of one cell, and the last that was sent for it."""

    text: Text
    sent: _Sent


_SHOWN = frozenset({"execute_result", "display_data", "update_display_data"})
_DISPLAYS = _SHOWN | {"inspect_reply"}
_BOUNDARIES = _SHOWN | {"error", "clear_output", "input_request"}
"""Messages that stand after what has been printed before them."""

_WHOLE = frozenset({"error", "execute_reply", "input_request"})
"""Messages of which every text is searched."""


class Kernel:
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
        waiting = self._waiting.pop(key, None) or _Waiting(Text(self._guard), sent)
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
