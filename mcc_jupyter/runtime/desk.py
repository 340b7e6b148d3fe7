"""Requests of other processes → answers of this kernel's toolbox: see, call, cancel, scan (SPEC 6.6, 8.4, 13.1).

1. ``handle`` returns at once, whatever was sent, and raises nothing: what takes time is done by threads of its own.
2. A call belongs to the requester who began it; for everybody else it does not exist.
3. What leaves is redacted already: the texts and outcomes of the toolbox, names, reports. A requester's identity holds
   for its request alone.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from ..core import requests
from ..core.errors import ArgumentError, Busy, InternalError, MccError
from ..core.outcome import Outcome
from ..core.reading import positive
from ..core.requests import VERSION, Caller
from ..core.saved import Checkers
from ..core.schema import bind
from .checks import check_arguments
from .crew import Crew
from .guard import guarded
from .identity import Identity, acting_as
from .toolbox import Toolbox
from .window import Window

Reply = Callable[[Mapping[str, object], Sequence[bytes]], None]
"""Sends content and buffers to the requester, in the order of the calls. From any thread; it does not wait."""

AT_ONCE = 32
"""Calls that run at a time; the others wait, and the callers take turns."""
WAITING = 1000
_LOOKS = 4
"""Requests that only look, at a time: they wait for no call."""
_REMEMBERED = 1024
"""Calls that have ended and for which a word that was on its way is no mistake."""
_LOOK_UP = 1.0
"""Seconds after which it is looked whether a requester has gone, while there are calls."""
LARGEST_SCAN = 128 * 1024 * 1024
"""Bytes of a notebook, and of all that are here to be scanned."""

_Key = tuple[object, str]


@dataclass(slots=True)
class _Running:
    """A call on its way, or before it."""

    request: requests.CallOf
    window: Window
    reply: Callable[..., None] = field(repr=False)
    job: Callable[[], None] = field(default=lambda: None, repr=False)


class Desk:
    """Answers requests for one toolbox. *toolbox*, *manifest* and *secrets* are asked in a thread, when needed."""

    def __init__(
        self,
        toolbox: Callable[[], Toolbox],
        *,
        manifest: Callable[[], Mapping[str, object]],
        secrets: Callable[[], Iterable[tuple[str, str]]],
    ) -> None:
        self._toolbox, self._manifest, self._secrets = toolbox, manifest, secrets
        self._lock = threading.Lock()
        self._calls: dict[_Key, _Running] = {}
        self._ended: OrderedDict[_Key, None] = OrderedDict()
        self._crew = Crew(AT_ONCE, WAITING, "mcc-call")
        self._checkers = Checkers()
        self._looks = Crew(_LOOKS, WAITING, "mcc-look")
        self._watching = False
        self._scanning = 0

    def handle(self, content: object, requester: object, reply: Reply, buffers: Sequence[bytes] = ()) -> None:
        """Answers a request by *reply*, now or later. *requester* tells who asks from others."""
        answered(reply, partial(self._handle, content, requester, reply, buffers))

    def close(self) -> None:
        """Ends every call, as an interrupt does; their requesters are still answered."""
        for key in list(self._calls):
            self._end(key)

    def _handle(self, content: object, requester: object, reply: Reply, buffers: Sequence[bytes]) -> None:
        request = requests.read(content)
        match request:
            case requests.Ack():
                if (running := self._known(requester, request.call)) is not None:
                    running.window.ack(request.seq)
            case requests.Cancel():
                if self._known(requester, request.call) is not None:
                    self._end((requester, request.call))
            case requests.CallOf():
                self._begin(request, requester, reply)
            case requests.Scan():
                self._begin_scan(request, requester, reply, buffers)
            case requests.ReportOf():
                self._look(requester, reply, lambda: self._report(request, reply))
            case _:  # ``Tools``: there is no other
                self._look(requester, reply, lambda: say(reply, "tools", manifest=self._manifest()))

    # ---- looking

    def _look(self, requester: object, reply: Reply, answer: Callable[[], None]) -> None:
        self._looks.submit(requester, partial(answered, reply, answer))

    def _report(self, request: requests.ReportOf, reply: Reply) -> None:
        with acting_as(_identity(request.caller)):
            found = self._toolbox().report(request.tool, everything=request.everything)
        say(reply, "report", report=found.json())

    def _begin_scan(self, request: requests.Scan, requester: object, reply: Reply, buffers: Sequence[bytes]) -> None:
        if len(buffers) != 1 or len(buffers[0]) > LARGEST_SCAN:
            raise ArgumentError(f"mcc_request: send one notebook of at most {LARGEST_SCAN:,} bytes")
        [data] = buffers

        def scan() -> None:
            try:
                answered(reply, lambda: self._scan(request, reply, data))
            finally:
                self._held(-len(data))

        self._held(len(data))
        try:
            self._looks.submit(requester, scan)
        except MccError:
            self._held(-len(data))
            raise

    def _held(self, change: int) -> None:
        """Counts the bytes of notebooks that are here to be scanned; raises ``Busy`` where they would be too many."""
        with self._lock:
            if change > 0 and self._scanning and self._scanning + change > LARGEST_SCAN:
                raise Busy("this kernel has too many notebooks to scan already; try again later")
            self._scanning += change

    def _scan(self, request: requests.Scan, reply: Reply, data: bytes) -> None:
        try:
            document = data.decode()
        except UnicodeDecodeError:
            raise ArgumentError("mcc_request: the notebook is not UTF-8") from None
        try:
            notebook = json.loads(document)
        except (ValueError, RecursionError):
            raise ArgumentError("mcc_request: the notebook is no JSON") from None
        checked = self._checkers.knowing(self._secrets()).check(notebook, clean=request.clean)
        changed = checked.content is not notebook
        findings = [finding.json() for finding in checked.findings]
        content = {"v": VERSION, "event": "scanned", "findings": findings, "cleaned": changed}
        reply(content, [json.dumps(checked.content).encode()] if changed else [])

    # ---- calling

    def _known(self, requester: object, call: str) -> _Running | None:
        """A call of *requester*; None for one that has ended. Raises ``ArgumentError`` for any other."""
        key = requester, call
        with self._lock:
            running = self._calls.get(key)
            if running is None and key not in self._ended:
                raise ArgumentError("mcc_request: `call` must be the id of a call that you began")
            return running

    def _begin(self, request: requests.CallOf, requester: object, reply: Reply) -> None:
        key = requester, request.call
        tell = partial(say, reply, call=request.call)
        window = Window(
            lambda seq, stream, text: tell("output", seq=seq, stream=stream, text=text), lease=request.lease
        )
        running = _Running(request, window, tell)
        running.job = partial(self._run, key, running, reply)
        with self._lock:
            if key in self._calls or key in self._ended:
                raise ArgumentError("mcc_request: `call` must be an id that you have not used before")
            self._calls[key] = running
        try:
            self._crew.submit(requester if request.caller is None else request.caller.user, running.job)
        except MccError:
            self._forget(key, remember=False)
            raise
        self._watch()

    def _run(self, key: _Key, running: _Running, reply: Reply) -> None:
        try:
            answered(reply, lambda: self._call(running), call=running.request.call)
        finally:
            self._forget(key)

    def _call(self, running: _Running) -> None:
        request, window = running.request, running.window
        with acting_as(_identity(request.caller)):
            toolbox = self._toolbox()
            tool = toolbox.available(request.tool)
            check_arguments(tool.name, request.arguments)
            bind(tool.params, request.arguments, tool=tool.name)
            if request.timeout is not None and not positive(request.timeout):
                raise ArgumentError(f"Tool {tool.name!r}: timeout must be a number of seconds above 0")
            running.reply("started")
            outcome = toolbox.call(
                request.tool,
                request.arguments,
                timeout=request.timeout,  # type: ignore[arg-type]
                show=window,
                stop=window.stop,
            )
        self._done(running, outcome)

    def _done(self, running: _Running, outcome: Outcome) -> None:
        window, document = running.window, outcome.document()
        notes = [*outcome.notes]
        if window.lost:
            notes.append("ended because the requester was not heard of any more")
        if window.left_out:
            notes.append(f"{window.left_out:,} bytes of output were not sent, because the call was to end")
        running.reply("done", outcome={**document, "notes": notes})

    def _end(self, key: _Key) -> None:
        running = self._calls.get(key)
        if running is not None:
            running.window.end()
            self._drop(key, running)

    def _drop(self, key: _Key, running: _Running) -> None:
        """A call that was to wait for its turn and shall not start is answered now."""
        if self._crew.drop(running.job):
            failure = "did not start: was interrupted"
            self._done(running, Outcome(running.request.tool, ok=False, stopped="interrupt", failure=failure))
            self._forget(key)

    def _forget(self, key: _Key, *, remember: bool = True) -> None:
        with self._lock:
            del self._calls[key]
            if remember:
                self._ended[key] = None
                if len(self._ended) > _REMEMBERED:
                    self._ended.popitem(last=False)

    def _watch(self) -> None:
        with self._lock:
            if self._watching:
                return
            self._watching = True
        threading.Thread(target=self._look_for_the_lost, name="mcc-leases", daemon=True).start()

    def _look_for_the_lost(self) -> None:
        while True:
            with self._lock:
                running = dict(self._calls)
                self._watching = bool(running)
            if not running:
                return
            for key, one in running.items():
                one.window.look()
                if one.window.lost:
                    self._drop(key, one)
            time.sleep(_LOOK_UP)


def say(reply: Reply, event: str, /, **content: object) -> None:
    """Sends one event."""
    reply({"v": VERSION, "event": event, **content}, ())


def answered(reply: Reply, answer: Callable[[], None], **about: str) -> None:
    """Has *answer* done; what it raises is an event and nothing else."""
    try:
        guarded(answer)()
    except MccError as error:
        say(reply, "error", code=error.code, text=str(error), **about)
    except BaseException as error:  # noqa: BLE001 - a requester waits, and a kernel's log is not the place
        text = f"internal error: {type(error).__name__}; please report it"
        say(reply, "error", code=InternalError.code, text=text, **about)


def _identity(caller: Caller | None) -> Identity | None:
    return None if caller is None else Identity(caller.user, caller.email, caller.groups, by_server=True)
