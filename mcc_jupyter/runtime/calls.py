"""One call: request → process → outcome. The straight line of ``Toolbox.call`` after the tool has been found.

1. The redactor is armed before the process starts; nothing that came from the child is kept, shown or raised without it.
2. A call changes nothing here but the session store, and that only by a successful function.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ..core import command
from ..core.errors import MccError
from ..core.outcome import Outcome, describe_exit
from ..core.policy import Resolution
from ..core.redact import Redactor, Stream
from ..core.report import Report
from ..core.tool import Function, Tool
from .hints import mentions, program_paths
from .introspect import frames
from .launcher import Exit, Launcher, Stop
from .output import Capture, Live, plain
from .session import SessionStore

Show = Callable[[Literal["stdout", "stderr"], str], None]
"""Called with each piece of output while the tool runs."""

SHOWN_BYTES = 256 * 1024
"""How much of one stream is shown live: under the rate at which a Jupyter server begins to drop output."""

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
    report: Report
    timeout: float | None = None


@dataclass(slots=True)
class _Watched:
    """One stream of a child: redacted, then kept and shown."""

    stream: Stream
    capture: Capture
    live: Live | None
    raw: list[bytes] | None = None
    size: int = 0

    def feed(self, chunk: bytes) -> None:
        self.size += len(chunk)
        if self.raw is not None and self.size <= TRANSFORM_BYTES:
            self.raw.append(chunk)
        self._pass_on(self.stream.feed(chunk))

    def close(self) -> None:
        self._pass_on(self.stream.close())
        if self.live is not None:
            self.live.close()

    def _pass_on(self, safe: bytes) -> None:
        if safe:
            self.capture.feed(safe)
            if self.live is not None:
                self.live.feed(safe)


def run(call: Call, *, launcher: Launcher, session: SessionStore, show: Show | None, stop: Stop | None) -> Outcome:
    """Runs *call* and returns its outcome, also when the tool fails. ``KeyboardInterrupt`` passes through."""
    tool = call.tool
    redactor = Redactor(call.plan.secrets)
    started = time.monotonic()
    out, err, exit = _launch(call, call.plan.request, redactor, launcher, show, stop, hide_stdout=tool.transform is not None)
    notes = [*call.plan.notes, *exit.notes]
    outcome = Outcome(tool.name, ok=False, exit_code=exit.code, signal=exit.signal, stopped=exit.stopped, report=call.report)
    outcome = (
        _function_outcome(outcome, tool, exit, redactor, session, notes)
        if isinstance(tool.body, Function)
        else _command_outcome(outcome, exit)
    )
    if tool.transform is not None and outcome.ok:
        spent = time.monotonic() - started
        outcome, out, err = _transformed(call, outcome, out, err, redactor, launcher, show, stop, spent, notes)
    stdout, stderr = out.capture.text(), err.capture.text()
    if outcome.ok and (tool.transform is not None or not isinstance(tool.body, Function)):
        outcome = replace(outcome, value=plain(stdout), returned=False)
    if not outcome.ok:
        text = "\n".join((stdout, stderr, outcome.failure or "", outcome.traceback))
        notes.extend(mentions(text, call.resolution, call.parent))
        missing = [name for name, path in program_paths(tool, call.resolution).items() if path is None]
        if missing and outcome.exit_code == 127:
            notes.append(f"not found on this tool's PATH: {', '.join(missing)}")
    return replace(
        outcome,
        stdout=stdout,
        stderr=stderr,
        cut=bool(out.capture.omitted),
        seconds=time.monotonic() - started,
        redactions=dict(redactor.counts),
        notes=tuple(notes),
        mode=outcome.mode or ("cold" if isinstance(tool.body, Function) else "process"),
    )


def _launch(
    call: Call,
    request: command.Request,
    redactor: Redactor,
    launcher: Launcher,
    show: Show | None,
    stop: Stop | None,
    *,
    hide_stdout: bool = False,
) -> tuple[_Watched, _Watched, Exit]:
    limit = int(call.tool.limits.output_mb * 1024 * 1024)

    def watched(name: Literal["stdout", "stderr"], shown: bool) -> _Watched:
        write = show
        live = Live(lambda text: write(name, text), SHOWN_BYTES) if write is not None and shown else None
        return _Watched(redactor.stream(), Capture(limit), live)

    out, err = watched("stdout", not hide_stdout), watched("stderr", True)
    out.raw = [] if hide_stdout else None
    try:
        exit = launcher.run(request, stdout=out.feed, stderr=err.feed, stop=stop)
    finally:
        out.close()
        err.close()
    return out, err, exit


def _command_outcome(outcome: Outcome, exit: Exit) -> Outcome:
    failure = _failure(outcome, exit)
    return replace(outcome, ok=failure is None, failure=failure)


def _failure(outcome: Outcome, exit: Exit) -> str | None:
    """Why a process counts as failed; None when it ended well."""
    if exit.error is not None:
        return f"could not start: {exit.error}"
    if exit.stopped == "timeout":
        return "was stopped at its time limit (limits.timeout)"
    if exit.stopped == "interrupt":
        return "was interrupted"
    if exit.stopped is not None:
        return f"was stopped by limits.{exit.stopped}"
    return None if exit.code == 0 else describe_exit(exit.code, exit.signal)


def _function_outcome(
    outcome: Outcome, tool: Tool, exit: Exit, redactor: Redactor, session: SessionStore, notes: list[str]
) -> Outcome:
    answers = frames(exit.result)
    if not answers or exit.error is not None or exit.stopped is not None:
        ended = "with exit code 0" if exit.code == 0 else describe_exit(exit.code, exit.signal).removeprefix("failed ")
        stopped = exit.error is not None or exit.stopped is not None
        failure = _failure(outcome, exit) if stopped else f"ended without a result ({ended})"
        if not stopped and _limited(tool):
            notes.append(f"a limit may be too low for this interpreter: {_limited(tool)}")
        return replace(outcome, failure=failure)
    answer = answers[0]
    if not answer.get("ok"):
        error = redactor.text(str(answer.get("error")))
        return replace(outcome, failure=f"failed: {error}", traceback=redactor.text(str(answer.get("traceback") or "")))
    if exit.code != 0:
        notes.append(f"after its result the process {describe_exit(exit.code, exit.signal)}")
    changes = answer.get("context")
    if isinstance(changes, dict) and (changes.get("set") or changes.get("deleted")):
        note = session.apply(changes.get("set") or {}, changes.get("deleted") or [])
        if note:
            notes.append(note)
    return replace(outcome, ok=True, returned=True, value=redactor.data(answer.get("value")))


def _limited(tool: Tool) -> str:
    limits = tool.limits
    named = {"mem_mb": limits.mem_mb, "nofile": limits.nofile, "cpu_sec": limits.cpu_sec, "fsize_mb": limits.fsize_mb}
    return ", ".join(f"limits.{name}" for name, value in named.items() if value is not None)


def _transformed(
    call: Call,
    outcome: Outcome,
    out: _Watched,
    err: _Watched,
    redactor: Redactor,
    launcher: Launcher,
    show: Show | None,
    stop: Stop | None,
    spent: float,
    notes: list[str],
) -> tuple[Outcome, _Watched, _Watched]:
    from ..core.context import encode

    if out.size > TRANSFORM_BYTES:
        text = f"printed {out.size:,} bytes and transform takes at most {TRANSFORM_BYTES:,}; print less"
        return replace(outcome, ok=False, failure=text), out, err
    # What a function returned goes in as JSON; a command's output as it is. Both unredacted, as a pipe would carry them.
    if isinstance(call.tool.body, Function):
        given = encode(outcome.value).encode()
    else:
        given = b"".join(out.raw or [])
    limit = call.timeout if call.timeout is not None else call.tool.limits.timeout
    left = None if limit is None else max(0.05, limit - spent)
    try:
        request = command.transform(call.tool, call.plan, call.arguments, given, left)
    except MccError as error:
        return replace(outcome, ok=False, failure=f"failed: {error}"), out, err
    transformed, complaints, exit = _launch(call, request, redactor, launcher, show, stop)
    notes.extend(exit.notes)
    failure = _failure(outcome, exit)
    outcome = replace(outcome, exit_code=exit.code, signal=exit.signal, stopped=exit.stopped)
    if failure is not None:
        return replace(outcome, ok=False, failure=f"failed in transform: it {failure}"), transformed, complaints
    return outcome, transformed, complaints
