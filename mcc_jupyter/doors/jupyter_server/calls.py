"""Calls that came over HTTP → their events, for those who follow them and for those who look later (SPEC 13.1).

1. What a call printed waits in the kernel until those who follow it have taken it: a slow client slows the tool, and no
   memory grows. A call that nobody follows runs on; of its output the last 256 KB stay.
2. A call that was begun on a stream ends with the stream. One that was begun by itself ends by itself, or by DELETE.
3. Calls that have ended are remembered: the last 200, and 64 MB of them in all. Everything in them is redacted already.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any

from .errors import ApiError, kernel_ended, no_answer, of_kernel, unknown_call
from .kernels import Kernel, Kernels
from .link import Link
from .people import Person

KEPT = 256 * 1024
"""Characters of output that a call keeps beyond what its followers have still to take."""
PIECES = 1000
"""The same in pieces, which may be small."""
REMEMBERED = 200
REMEMBERED_SIZE = 64 * 1024 * 1024

_ACK_SIZE = 128 * 1024
_ACK_WAIT = 0.02
_LONG_TEXT = 128 * 1024

Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Piece:
    seq: int
    stream: str
    text: str = field(repr=False)

    def json(self) -> dict[str, object]:
        return {"event": "output", "seq": self.seq, "stream": self.stream, "text": self.text}


@dataclass(frozen=True, slots=True)
class Wanted:
    """The tool of a call. ``names``: the variables that it is given; ``workspace``: the kernel's."""

    name: str
    key: str
    names: tuple[str, ...] = ()
    workspace: str | None = None


class Follower:
    """One who takes a call's output piece by piece, and with that lets the tool go on."""

    def __init__(self, after: int) -> None:
        self.taken = after


class Call:
    """One call. ``state``: ``waiting``, ``running``, ``done`` or ``error``."""

    def __init__(self, number: int, kernel: str, wanted: Wanted, person: Person, *, followed: bool) -> None:
        self.id = uuid.uuid4().hex
        self.number, self.kernel, self.tool, self.person = number, kernel, wanted.key, person
        self.wanted = wanted
        self.state = "waiting"
        self.began = datetime.now(UTC)
        self._clock = time.monotonic()
        self._seconds: float | None = None
        self.outcome: Mapping[str, Any] | None = None
        self.error: ApiError | None = None
        self.link: Link | None = None
        self.cancelled = False
        self.announced = False
        """Whether it counts as begun; until then its end is the answer to who wanted to begin it."""
        self._pieces: deque[Piece] = deque()
        self._size = 0
        self.dropped = 0
        self._last = 0
        self._acknowledged = 0
        self._unsaid = 0
        self._timer: asyncio.TimerHandle | None = None
        # The stream that begins the call follows it from the first character.
        self._first = Follower(0) if followed else None
        self._followers: set[Follower] = set() if self._first is None else {self._first}
        self._weight = 0
        self._news = asyncio.Event()

    # ---- what the kernel says

    def heard(self, reply: Event, parts: Sequence[Any] = ()) -> None:
        """One event of the kernel."""
        match reply.get("event"):
            case "started":
                self.state = "running"
            case "output":
                self._output(reply)
            case "done":
                outcome = reply.get("outcome")
                self.outcome = outcome if isinstance(outcome, Mapping) else {}
                self._end("done")
            case "error":
                self.failed(of_kernel(reply.get("code"), reply.get("text")))
        self._wake()

    def failed(self, error: ApiError) -> None:
        """The call ended without an outcome."""
        if not self.ended:
            self.error = error
            self._end("error")
        self._wake()

    def _end(self, state: str) -> None:
        self.state, self._seconds = state, time.monotonic() - self._clock
        if self._timer is not None:
            self._timer.cancel()
        self._shorten()

    def _output(self, reply: Event) -> None:
        piece = Piece(int(reply.get("seq", 0)), str(reply.get("stream")), str(reply.get("text")))
        self._pieces.append(piece)
        self._size += len(piece.text)
        self._last = piece.seq
        self._trim()
        self._acknowledge()

    # ---- those who follow

    async def follow(self) -> AsyncGenerator[Event]:
        """The events from the oldest that is kept to the last. What was taken is taken once the next is asked for."""
        first, self._first = self._first, None
        follower = first or Follower(self._pieces[0].seq - 1 if self._pieces else self._last)
        self._followers.add(follower)
        try:
            if self.dropped:
                yield {"event": "dropped", "characters": self.dropped}
            while True:
                news = self._news
                for piece in [piece for piece in self._pieces if piece.seq > follower.taken]:
                    yield piece.json()
                    follower.taken = piece.seq
                    self._acknowledge()
                if self.ended and follower.taken >= self._last:
                    yield self.last()
                    return
                if follower.taken >= self._last:
                    await news.wait()
        finally:
            self._followers.discard(follower)
            self._trim()
            self._acknowledge()
            self._shorten()

    def last(self) -> Event:
        """The event that ends a stream."""
        if self.error is not None:
            return {"event": "error", "code": self.error.code, "message": self.error.text}
        return {"event": "done", "outcome": self.outcome}

    async def begun(self, seconds: float | None) -> bool:
        """Waits for the kernel's first word; False if there was none in *seconds*."""
        try:
            async with asyncio.timeout(seconds):
                while self.state == "waiting":
                    await self._news.wait()
        except TimeoutError:
            return False
        return True

    @property
    def ended(self) -> bool:
        return self.state in ("done", "error")

    @property
    def seconds(self) -> float:
        """Since it was asked for, until it ended."""
        return time.monotonic() - self._clock if self._seconds is None else self._seconds

    @property
    def size(self) -> int:
        """About how many characters are kept."""
        return self._size + self._weight

    def cancel(self) -> None:
        """Asks the kernel to end it; the last event comes all the same."""
        if not self.ended and self.link is not None:
            self.cancelled = True
            self.link.cancel(self.id)

    def json(self, *, whole: bool = False) -> dict[str, object]:
        found: dict[str, object] = {
            "call": self.id,
            "kernel": self.kernel,
            "tool": self.tool,
            "user": self.person.name,
            "state": self.state,
            "cancelled": self.cancelled,
            "began": self.began.isoformat(timespec="milliseconds"),
            "seconds": round(self.seconds, 3),
            "error": None if self.error is None else {"code": self.error.code, "message": self.error.text},
        }
        if whole:
            found["output"] = [{"seq": p.seq, "stream": p.stream, "text": p.text} for p in self._pieces]
            found["dropped"] = self.dropped
            found["outcome"] = self.outcome
        return found

    # ---- inside

    def _shorten(self) -> None:
        """What is remembered of a call that has ended, once those who follow it have all of it, is bounded."""
        if self.outcome is not None and not self._followers and not self._weight:
            self.outcome = {key: _short(value) for key, value in self.outcome.items() if key != "report"}
            self._weight = 1 + sum(len(value) for value in self.outcome.values() if isinstance(value, str))

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def _needed(self) -> int:
        """The last piece that every follower has taken; the very last where nobody follows."""
        return min((follower.taken for follower in self._followers), default=self._last)

    def _trim(self) -> None:
        needed = self._needed()
        while self._pieces and self._pieces[0].seq <= needed and (self._size > KEPT or len(self._pieces) > PIECES):
            gone = self._pieces.popleft()
            self._size -= len(gone.text)
            self.dropped += len(gone.text)

    def _acknowledge(self) -> None:
        """Tells the kernel in large steps, and otherwise soon."""
        needed = self._needed()
        if self.link is None or self.ended or needed <= self._acknowledged:
            return
        self._unsaid = sum(len(piece.text) for piece in self._pieces if self._acknowledged < piece.seq <= needed)
        if self._unsaid >= _ACK_SIZE:
            self._say()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_ACK_WAIT, self._say)

    def _say(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        needed = self._needed()
        if self.link is not None and not self.ended and needed > self._acknowledged:
            self._acknowledged = needed
            self.link.acknowledge(self.id, needed)
            self._trim()


class Calls:
    """All calls of a server. *most* of them run at a time."""

    def __init__(
        self, kernels: Kernels, *, most: int, started: Callable[[Call], None], ended: Callable[[Call], None]
    ) -> None:
        self._kernels, self.most = kernels, most
        self._started, self._ended = started, ended
        self._calls: dict[str, Call] = {}
        self._numbers = count(1)

    @property
    def running(self) -> int:
        return sum(not call.ended for call in self._calls.values())

    async def begin(
        self,
        kernel: Kernel,
        wanted: Wanted,
        person: Person,
        arguments: Mapping[str, object],
        timeout: object = None,
        *,
        followed: bool = False,
    ) -> Call:
        """Begins a call and waits until the kernel has taken it on. Raises ``ApiError``.

        *followed*: whoever begins it takes every piece of its output by ``follow``.
        """
        if self.running >= self.most:
            raise ApiError(429, "busy", f"{self.most} calls are running at this server; wait until one has ended")
        call = Call(next(self._numbers), kernel.id, wanted, person, followed=followed)
        self._calls[call.id] = call
        asked = {"call": call.id, "tool": call.tool, "arguments": arguments, "timeout": timeout}
        seconds = self._kernels.seconds
        try:
            call.link = await self._kernels.link(kernel)
            await call.link.call({**asked, "caller": person.caller()}, self._listener(call), self._ender(call))
            # No word, but an answer to another question: it waits for its turn.
            if not await call.begun(seconds) and not await call.link.answers(seconds):
                call.cancel()
                call.failed(no_answer(seconds))
            if call.error is not None:
                raise call.error
        except BaseException as error:
            # Not begun: nobody was told its id.
            if not call.ended:
                call.cancel()
                call.failed(error if isinstance(error, ApiError) else kernel_ended())
            del self._calls[call.id]
            raise
        call.announced = True
        self._started(call)
        if call.ended:
            self._ended(call)
        return call

    def find(self, kernel: Kernel, call_id: str, person: Person) -> Call:
        """A call of *person*, or of anybody for who sees all; else ``ApiError`` 404."""
        call = self._calls.get(call_id)
        if call is None or call.kernel != kernel.id or not _may_see(call, person):
            raise unknown_call()
        return call

    def recent(self, kernel: Kernel, person: Person) -> list[Call]:
        return [call for call in self._calls.values() if call.kernel == kernel.id and _may_see(call, person)]

    def end_all(self) -> None:
        for call in list(self._calls.values()):
            call.cancel()

    def _listener(self, call: Call) -> Any:
        def heard(reply: Event, parts: Sequence[Any]) -> None:
            call.heard(reply, parts)
            if call.ended:
                self._over(call)

        return heard

    def _ender(self, call: Call) -> Any:
        def failed(error: ApiError) -> None:
            call.failed(error)
            self._over(call)

        return failed

    def _over(self, call: Call) -> None:
        self._remember()
        if call.announced:
            self._ended(call)

    def _remember(self) -> None:
        """Forgets the oldest."""
        ended = [one for one in self._calls.values() if one.ended]
        size = 0
        for place, one in enumerate(reversed(ended)):
            size += one.size
            if place >= REMEMBERED or (size > REMEMBERED_SIZE and place):
                del self._calls[one.id]


def _may_see(call: Call, person: Person) -> bool:
    return call.person.name == person.name or person.sees_all


def _short(value: object) -> object:
    """A text without its middle; what is larger than a text may be is left out."""
    if isinstance(value, str):
        if len(value) <= _LONG_TEXT:
            return value
        half = _LONG_TEXT // 2
        return f"{value[:half]}\n… {len(value) - _LONG_TEXT:,} characters left out …\n{value[-half:]}"
    if isinstance(value, list | dict) and len(json.dumps(value)) > _LONG_TEXT:
        return None
    return value
