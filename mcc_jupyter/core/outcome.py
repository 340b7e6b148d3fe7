"""What a call gave back (SPEC 7.12). Everything in it has been redacted before it got here."""

from __future__ import annotations

import json
import math
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import ToolFailed
from .report import Report

_SHELL_MEANING = {126: "not executable", 127: "command not found"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one call.

    ``value`` is a function's result or an exec tool's plain stdout text. ``seconds`` is wall time. ``stopped`` is the
    limit that ended the call, or ``interrupt``, only when it is known. ``failure`` is one line: why the call failed.
    """

    tool: str
    ok: bool
    value: Any = None
    returned: bool = False
    """Whether ``value`` is what a function returned; otherwise it is the text that was shown."""
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    signal: int | None = None
    seconds: float = 0.0
    stopped: str | None = None
    failure: str | None = None
    traceback: str = ""
    mode: str = ""
    """``process``; for a function ``warm`` (a fork of what has imported it), ``spare`` or ``cold``; ``cached``."""
    mode_reason: str = ""
    """Why a function ran in this mode."""
    cut: bool = False
    """Whether stdout was longer than ``limits.output_mb`` and its middle is gone."""
    redactions: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    report: Report | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"<Outcome {self.tool}: {'ok' if self.ok else self.failure}{', cut' * self.cut}>"

    def json(self) -> Any:
        """A function's value, or the stdout text parsed as JSON.

        Raises ``ToolFailed`` when the call failed, and when the text was cut or is no JSON.
        """
        self.raise_for_failure()
        if self.returned:
            return self.value
        try:
            return json.loads(self.whole())
        except (ValueError, RecursionError) as error:
            where = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else "its text"
            text = f"Tool {self.tool!r}: its output is no JSON ({where})"
            raise ToolFailed(text, tool=self.tool, outcome=self) from None

    def document(self) -> dict[str, object]:
        """The outcome as other programs get it: valid JSON, and every text valid Unicode."""
        document = {
            "tool": self.tool,
            "status": "ok" if self.ok else self.stopped or "failed",
            "failure": self.failure,
            "exit_code": self.exit_code,
            "signal": self.signal,
            "stopped": self.stopped,
            "returned": self.returned,
            "result": self.value if self.returned else None,
            "stdout": self.stdout,
            "stderr": self.stderr,
            "cut": self.cut,
            "traceback": self.traceback,
            "mode": self.mode,
            "mode_reason": self.mode_reason,
            "redactions": dict(self.redactions),
            "notes": list(self.notes),
            "duration_s": self.seconds,
            "report": None if self.report is None else self.report.json(),
        }
        return {key: plain_json(value) for key, value in document.items()}

    def whole(self) -> Any:
        """The value, of which nothing is left out. Raises ``ToolFailed`` when the call failed or its text was cut."""
        self.raise_for_failure()
        if self.cut and not self.returned:
            raise ToolFailed(
                f"Tool {self.tool!r}: its output is longer than limits.output_mb and is not whole; raise the limit, "
                "or write all of it to a file by `mcc.call(…, spill=FILE)`",
                tool=self.tool,
                outcome=self,
            )
        return self.value

    def raise_for_failure(self) -> Outcome:
        """Itself when the call succeeded; raises ``ToolFailed`` otherwise."""
        if self.ok:
            return self
        raise ToolFailed(f"Tool {self.tool!r} {self.failure}", tool=self.tool, outcome=self)


def plain_json(value: object) -> Any:
    """*value* as every JSON reader takes it: half a character is U+FFFD, and what is no finite number a text."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {plain_json(key): plain_json(item) for key, item in value.items()}
    return [plain_json(item) for item in value] if isinstance(value, list | tuple) else value


def describe_exit(code: int | None, number: int | None) -> str:
    """``failed with exit code 3``, ``was killed by signal 11 (SIGSEGV)`` (PROC-19)."""
    if number is not None:
        return f"was killed by signal {number} ({signal_name(number)})"
    if code is not None and code > 128 and signal_name(code - 128).startswith("SIG"):
        return f"failed with exit code {code} (killed by signal {code - 128}, {signal_name(code - 128)})"
    if code == 0:
        return "ended with exit code 0"
    meaning = _SHELL_MEANING.get(code or 0)
    return f"failed with exit code {code}" + (f" ({meaning})" if meaning else "")


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
