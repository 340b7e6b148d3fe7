"""One call: request → process → outcome. The straight line of ``Toolbox.call`` after the tool has been found.

1. The redactor is armed before the process starts; nothing that came from the child is kept, shown or raised without
   it. Only ``transform`` gets what the tool gave as it was.
2. A call changes nothing here but the session store, and that only by a successful function.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from ..core import command
from ..core.cap import Cap
from ..core.context import encode_bytes
from ..core.errors import Interrupted, MccError
from ..core.outcome import Outcome, describe_exit
from ..core.redact import Redactor, Stream
from ..core.report import Report
from ..core.resolution import Resolution
from ..core.tool import Function, Tool
from .hints import mentions, program_paths
from .introspect import frames, limited, start_error
from .launcher import Exit, Launcher, Stop
from .output import Capture, Colours, Live, Pace, plain
from .session import SessionStore
from .spill import Spill
from .warm import Functions

Show = Callable[[Literal["stdout", "stderr"], str], None]
"""Called with each piece of output while the tool runs."""


class Whole:
    """A ``Show`` that gets all of the output, and not what a notebook has room for. While it waits, the tool waits."""

    def __call__(self, stream: Literal["stdout", "stderr"], text: str) -> None:
        """Takes the next piece of one stream."""


@dataclass(frozen=True, slots=True)
class Showing:
    """A ``Show`` that takes not every stream, or takes one *whole*: each byte of it, redacted, as it comes.

    Who is slow to take a stream whole holds up the tool, as a pipe does; what it raises ends the call.
    """

    write: Show
    hidden: frozenset[str] = frozenset()
    whole: Mapping[str, Callable[[bytes], None]] = field(default_factory=dict)

    def __call__(self, stream: Literal["stdout", "stderr"], text: str) -> None:
        if stream in self.whole:
            self.whole[stream](text.encode())
        elif stream not in self.hidden:
            self.write(stream, text)


SHOWN_BYTES = 48 * 1024
"""How much of one stream is shown live: a call that floods both adds less than 128 KB to a notebook file, and stays
under the rate at which a Jupyter server begins to drop output."""

SPILL_HINT = "write all of it to a file: `--spill FILE` with %mcc_call and mcc-jupyter call, `spill=` with mcc.call"
"""How a caller gets what was too much to be shown or kept."""

TRANSFORM_BYTES = 64 * 1024 * 1024
"""How much output ``transform`` can take; more is a failure that says so, never a part of it."""


@dataclass(frozen=True, slots=True)
class Call:
    """Everything one call needs, resolved."""

    tool: Tool
    arguments: Mapping[str, object] = field(repr=False)
    plan: command.Plan
    resolution: Resolution
    parent: Mapping[str, str] = field(repr=False)
    redactor: Redactor = field(repr=False)
    notes: Callable[[], Iterable[str]]
    report: Callable[[], Report]
    """These two are made while the tool runs."""
    timeout: float | None = None
    spill: Spill | None = None
    cap: Cap | None = None
    """What a policy file lets the tool ask of the parent; None: everything."""


@dataclass(slots=True)
class _Watched:
    """One stream of a child: redacted, then kept and shown."""

    stream: Stream
    capture: Capture
    live: Live | None
    sinks: tuple[Callable[[bytes], None], ...] = ()
    """Take all of it, redacted."""
    raw: list[bytes] | None = None
    """What ``transform`` gets, as a pipe would carry it: not redacted."""
    size: int = 0
    colours: Colours = field(default_factory=Colours)

    def feed(self, chunk: bytes) -> None:
        self.size += len(chunk)
        if self.raw is not None and self.size <= TRANSFORM_BYTES:
            self.raw.append(chunk)
        self._pass_on(self.stream.feed(self.colours.feed(chunk)))

    def close(self) -> None:
        self._pass_on(self.stream.close())
        if self.live is not None:
            self.live.close()

    def _pass_on(self, safe: bytes) -> None:
        if safe:
            self.capture.feed(safe)
            for sink in self.sinks:
                sink(safe)
            if self.live is not None:
                self.live.feed(safe)


@dataclass(frozen=True, slots=True)
class _Ended:
    """A process that has ended, and what it printed."""

    out: _Watched
    err: _Watched
    exit: Exit


def run(
    call: Call,
    *,
    launcher: Launcher,
    session: SessionStore,
    show: Show | None,
    stop: Stop | None,
    functions: Functions | None = None,
) -> Outcome:
    """Runs *call* and returns its outcome, also when the tool fails. an interrupt raises ``Interrupted`` with it.

    *functions* are what is kept imported; without them a function always gets a new interpreter.
    """
    return _Running(call, launcher, session, show, stop, functions).to_its_end()


class _Running:
    """One call on its way from a request to an outcome."""

    def __init__(
        self,
        call: Call,
        launcher: Launcher,
        session: SessionStore,
        show: Show | None,
        stop: Stop | None,
        functions: Functions | None,
    ) -> None:
        self.call, self.tool = call, call.tool
        self.functions = functions if isinstance(call.tool.body, Function) else None
        self.mode, self.mode_reason = ("cold" if isinstance(call.tool.body, Function) else "process"), ""
        self.launcher, self.session = launcher, session
        self.show, self.stop = show, stop
        self.redactor = call.redactor
        self.notes: list[str] = []
        self.report: Report | None = None
        self.started = time.monotonic()
        self.interrupted = False
        self.told = False
        """Whether a function said that it was interrupted, and ended by itself."""
        self.pace = Pace()

    def to_its_end(self) -> Outcome:
        tool = self.tool
        is_function = isinstance(tool.body, Function)
        first = last = self.launch(self.call.plan.request, piped=tool.transform is not None and not is_function)
        answer: Mapping[str, object] = {}
        if is_function:
            failure, answer = self.function_ended(first.exit)
        else:
            failure = self.failed(first.exit)
        traceback = self.redactor.text(str(answer.get("traceback") or ""))
        stdout, stderr = first.out.capture.text(), first.err.capture.text()
        if tool.transform is not None and failure is None and not self.interrupted:
            last, failure = self.transformed(first, answer.get("value") if is_function else None)
            if last is not first:
                stdout, stderr = last.out.capture.text(), stderr + last.err.capture.text()
        if self.interrupted and failure is None:
            failure = "was interrupted"  # too late for the process, and early enough for what would have come next
        returned = is_function and tool.transform is None
        value: object = None
        if failure is None:
            try:
                value = self.redactor.data(answer.get("value")) if returned else self.plain(stdout)
            except RecursionError:
                failure = "failed: its result is nested too deeply"
            except ValueError:  # this process was told to write fewer digits than Python does of itself
                failure = "failed: its result holds a number of too many digits"
        if failure is None:
            self.write_back(answer)
        else:
            if first.out.raw is not None and last is first and self.show is not None:
                self.show("stdout", plain(stdout))  # it was kept for ``transform``, which did not come to it
            self.explain(f"{stdout}\n{stderr}\n{failure}\n{traceback}", last.exit)
        self.notes += (*self.left_out("stdout", last.out), *self.left_out("stderr", last.err))
        if self.call.spill is not None:
            self.notes += self.call.spill.notes()
        outcome = Outcome(
            tool.name,
            ok=failure is None,
            value=value,
            returned=returned and failure is None,
            stdout=stdout,
            stderr=stderr,
            exit_code=last.exit.code,
            signal=last.exit.signal,
            seconds=time.monotonic() - self.started,
            stopped="interrupt" if self.told else last.exit.stopped,
            failure=failure,
            traceback=traceback,
            mode=self.mode,
            mode_reason=self.mode_reason,
            cut=bool(last.out.capture.omitted),
            redactions=dict(self.redactor.counts),
            notes=tuple(self.notes),
            report=self.report,
        )
        if self.interrupted:
            raise Interrupted(f"Tool {tool.name!r} was interrupted", outcome=outcome) from None
        return outcome

    def plain(self, shown: str) -> str:
        """Output as it is stored: redacted once more, if what was left out could join the halves of a secret."""
        text = plain(shown)
        return text if text == shown else self.redactor.text(text)

    def launch(self, request: command.Request, *, piped: bool = False) -> _Ended:
        """Starts a process and waits for its end. *piped*: its output is for ``transform`` and not shown."""
        out, err = self.watched("stdout", not piped), self.watched("stderr", True)
        out.raw = [] if piped else None
        try:
            if self.functions is not None and request.result:
                ran = self.functions.run(
                    request,
                    fresh=self.tool.fresh,
                    stdout=out.feed,
                    stderr=err.feed,
                    stop=self.stop,
                    meanwhile=self.tell,
                )
                exit, self.mode, self.mode_reason = ran.exit, ran.mode, ran.reason
            else:
                exit = self.launcher.run(
                    request, stdout=out.feed, stderr=err.feed, stop=self.stop, meanwhile=self.tell
                )
        except KeyboardInterrupt as interrupt:
            ended = getattr(interrupt, "exit", None)
            if ended is None:
                raise
            exit, self.interrupted = ended, True
        finally:
            out.close()
            err.close()
        if exit.error is not None:
            exit = replace(exit, error=start_error(self.tool, exit.error, self.redactor))
        self.tell()
        self.notes += exit.notes
        return _Ended(out, err, exit)

    def tell(self) -> None:
        """What is to be said of the call whatever becomes of it."""
        if self.report is None:
            self.notes += self.call.notes()
            self.report = self.call.report()

    def watched(self, name: Literal["stdout", "stderr"], shown: bool) -> _Watched:
        """What becomes of a stream. *shown*: it is for people, not for ``transform``."""
        show, whole = self.show, self.show.whole if isinstance(self.show, Showing) else {}
        hidden = show is None or (isinstance(show, Showing) and name in show.hidden)
        sinks = []
        live = None
        if shown and name in whole:
            sinks.append(whole[name])
        elif shown and show is not None and not hidden:
            budget, pace = (sys.maxsize, None) if isinstance(show, Whole) else (SHOWN_BYTES, self.pace)
            live = Live(partial(show, name), budget, pace)
        if shown and self.call.spill is not None:
            sinks.append(getattr(self.call.spill, name).feed)
        capture = Capture(int(self.tool.limits.output_mb * 1024 * 1024))
        return _Watched(self.redactor.stream(), capture, live, tuple(sinks))

    def left_out(self, name: str, watched: _Watched) -> Iterator[str]:
        """That a part of a stream was shown or kept to nobody, and how to have all of it (SPEC 7.6)."""
        if watched.sinks:
            return
        if watched.capture.omitted:
            most = f"limits.output_mb ({self.tool.limits.output_mb:g} MiB)"
            yield f"{name} is longer than {most} and kept without its middle; raise the limit, or {SPILL_HINT}"
        elif watched.live is not None and watched.live.cut:
            yield f"{name} is shown without its middle; {SPILL_HINT}"

    def function_ended(self, exit: Exit) -> tuple[str | None, Mapping[str, object]]:
        """Why a function failed, None if it did not, and its answer."""
        if exit.error is not None or exit.stopped is not None:
            return self.failed(exit), {}
        answers = frames(exit.result)
        if not answers:
            ended = describe_exit(exit.code, exit.signal).removeprefix("failed ").removeprefix("ended ")
            if low := limited(self.tool):
                self.notes.append(f"a limit may be too low for this interpreter: {low}")
            return f"ended without a result ({ended})", {}
        answer = answers[0]
        if answer.get("error") == "KeyboardInterrupt" and (self.interrupted or (self.stop and self.stop.requested)):
            self.told = True
            return "was interrupted", answer
        if str(answer.get("error")).startswith("MemoryError") and self.tool.limits.mem_mb is not None:
            self.notes.append(f"it may take {self.tool.limits.mem_mb:,} MiB (limits.mem_mb)")
        if not answer.get("ok"):
            return f"failed: {self.redactor.text(str(answer.get('error')))}", answer
        if exit.code != 0:
            self.notes.append(f"after its result the process {describe_exit(exit.code, exit.signal)}")
        return None, answer

    def failed(self, exit: Exit) -> str | None:
        return _failure(exit, self.tool, self.call.timeout)

    def transformed(self, first: _Ended, value: object) -> tuple[_Ended, str | None]:
        """The end of ``transform`` (of *first*, if that could not start), and why it failed (SPEC 7.10)."""
        size, raw = first.out.size, first.out.raw
        if raw is not None and size > TRANSFORM_BYTES:
            return first, f"printed {size:,} bytes and transform takes at most {TRANSFORM_BYTES:,}; print less"
        try:
            given = encode_bytes(value) if raw is None else b"".join(raw)
        except (ValueError, RecursionError):
            return first, "returned what transform cannot take: a number of too many digits, or too deep a nesting"
        limit = self.call.timeout if self.call.timeout is not None else self.tool.limits.timeout
        left = None if limit is None else max(0.05, limit - (time.monotonic() - self.started))
        try:
            request = command.transform(self.tool, self.call.plan, self.call.arguments, given, left)
        except MccError as error:
            return first, f"failed: {error}"
        last = self.launch(request)
        failure = self.failed(last.exit)
        return last, None if failure is None else f"failed in transform: it {failure}"

    def write_back(self, answer: Mapping[str, object]) -> None:
        """What a function changed in ``context``, once nothing can fail any more (SPEC 6.7)."""
        self.notes += [self.redactor.text(str(note)) for note in _list(answer.get("notes"))]
        changes = answer.get("context") if self.tool.takes_context else None
        if changes is None:
            return
        parts: Mapping[str, object] = changes if isinstance(changes, dict) else {"set": changes}
        changed, deleted = parts.get("set") or {}, parts.get("deleted") or []
        if isinstance(changed, dict) and isinstance(deleted, list) and all(isinstance(key, str) for key in deleted):
            note = self.session.apply(changed, deleted)
        else:
            note = "the tool's changes to the session were not stored: they are not in the form a function sends"
        self.notes += [note] if note else []

    def explain(self, text: str, exit: Exit) -> None:
        """What a failed call's output tells about the environment it did not get (SPEC 7.13)."""
        self.notes += mentions(text, self.call.resolution, self.call.parent, self.call.cap)
        missing = [name for name, path in program_paths(self.tool, self.call.resolution).items() if path is None]
        if missing and exit.code == 127:
            self.notes.append(f"not found on this tool's PATH: {', '.join(missing)}")


def _failure(exit: Exit, tool: Tool, timeout: float | None) -> str | None:
    """Why a process counts as failed; None when it ended well. *timeout* is what the caller gave."""
    if exit.error is not None:
        return f"could not start: {exit.error}"
    if exit.stopped == "timeout":
        limit, whose = (tool.limits.timeout, "limits.timeout") if timeout is None else (timeout, "of this call")
        return f"was stopped at its time limit{'' if limit is None else f', {limit:g} s'} ({whose})"
    if exit.stopped == "interrupt":
        return "was interrupted"
    if exit.stopped is not None:
        return f"was stopped by limits.{exit.stopped}"
    return None if exit.code == 0 else describe_exit(exit.code, exit.signal)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
