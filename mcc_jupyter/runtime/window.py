"""The output of one call → numbered pieces for a requester elsewhere, never more of them than it keeps up with.

1. At most ``WINDOW`` bytes are on their way and not acknowledged. Then the call's thread waits, and so does the tool.
2. A requester that says nothing while something waits for its word, or for longer than it promised, has gone: its call
   ends as by an interrupt.
3. Once the call is to end nothing waits any more; what has no room is left out.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Literal

from ..core.errors import ArgumentError
from .calls import Whole
from .launcher import Stop
from .output import Pace

WINDOW = 1024 * 1024
"""Bytes of text that may be unacknowledged."""
LEASE = 30.0
"""Seconds in which a requester acknowledges something, unless it promised another time."""

_PIECE = 64 * 1024
"""Characters of one message."""
_SMALL = 8 * 1024
"""Smaller pieces than this are paced; larger ones are slow enough by what they hold."""

Send = Callable[[int, str, str], None]
"""Sends one piece: its number, its stream, its text."""


class Window(Whole):
    """What one call may send. It is the ``show`` of that call, and tells ``stop`` when the requester has gone."""

    def __init__(
        self,
        send: Send,
        *,
        lease: float | None = None,
        size: int = WINDOW,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.stop = Stop()
        self.lost = False
        """Whether the requester went away."""
        self.left_out = 0
        """Bytes that were not sent because the call was to end."""
        self._send, self._size, self._clock = send, size, clock
        self._promised = lease is not None
        self._lease = LEASE if lease is None else lease
        self._changed = threading.Condition()
        self._waiting: deque[tuple[int, int]] = deque()
        """Number and size of each piece that is not acknowledged."""
        self._bytes = self._last = 0
        self._heard = clock()
        self._pace = Pace()

    def __call__(self, stream: Literal["stdout", "stderr"], text: str) -> None:
        for at in range(0, len(text), _PIECE):
            self._put(stream, text[at : at + _PIECE])
        if len(text) < _SMALL and not self.stop.requested:
            self._pace()

    def _put(self, stream: str, piece: str) -> None:
        size = len(piece.encode())
        with self._changed:
            while self._bytes and self._bytes + size > self._size and not self.stop.requested:
                self._changed.wait(self.remaining())
                self._look()
            if self._bytes and self._bytes + size > self._size:
                self.left_out += size
                return
            if not self._waiting:
                self._heard = max(self._heard, self._clock())  # what waits for an answer waits from now on
            self._last += 1
            self._bytes += size
            self._waiting.append((self._last, size))
            self._send(self._last, stream, piece)

    def ack(self, seq: int) -> None:
        """Everything up to *seq* has arrived; raises ``ArgumentError`` for what was never sent."""
        with self._changed:
            if seq > self._last:
                raise ArgumentError("mcc_request: `seq` must be the number of an output that was sent")
            self._heard = self._clock()
            while self._waiting and self._waiting[0][0] <= seq:
                self._bytes -= self._waiting.popleft()[1]
            self._changed.notify_all()

    def end(self) -> None:
        """Ends the call; whoever waits goes on."""
        self.stop.interrupt()
        with self._changed:
            self._changed.notify_all()

    def remaining(self) -> float | None:
        """Seconds until the requester counts as gone if it says nothing; None: its word is not waited for."""
        with self._changed:
            if self.stop.requested or not (self._promised or self._waiting):
                return None
            return max(0.0, self._heard + self._lease - self._clock())

    def look(self) -> None:
        """Ends the call if the requester has gone."""
        with self._changed:
            self._look()

    def _look(self) -> None:
        if self.remaining() == 0.0:
            self.lost = True
            self.end()
