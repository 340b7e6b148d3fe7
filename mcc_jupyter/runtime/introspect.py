"""Reads the signatures of functions in a child, before they can be called (SPEC 2.8).

One child for each environment, interpreter, folder and limits; each function in it fails alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..core import command
from ..core.errors import DeclarationError, Problem, ToolUnavailable
from ..core.redact import Redactor
from ..core.resolution import Context, Resolution
from ..core.schema import complete
from ..core.tool import Tool
from .launcher import Exit, Launcher

RUN_FN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "child", "run_fn.py")
"""The child script for functions; started by path, because the interpreter may not have this package."""

_KEY = os.urandom(32)


@dataclass(frozen=True, slots=True)
class Introspected:
    """Completed tools, what failed (by tool key), and what the imports printed."""

    tools: tuple[Tool, ...] = ()
    problems: tuple[Problem, ...] = ()
    printed: str = field(default="", repr=False)


def introspect(
    pairs: Sequence[tuple[Tool, Resolution]], *, context: Context, launcher: Launcher, interpreter: str, room: int
) -> Introspected:
    """Completes the tools of *pairs*. Never raises for a function that fails."""
    batches: dict[object, list[tuple[Tool, Resolution]]] = {}
    for tool, resolution in pairs:
        python = tool.python.value if tool.python is not None else interpreter
        world = (python, tool.cwd.value, tool.limits, tool.isolation, command.digest(resolution, _KEY))
        batches.setdefault(world, []).append((tool, resolution))
    tools: list[Tool] = []
    problems: list[Problem] = []
    printed: list[str] = []
    waiting = list(batches.values())
    while waiting:
        batch = waiting.pop(0)
        by_key = {tool.key: tool for tool, _ in batch}
        try:
            plan = command.introspection(
                by_key, batch[0][1], context=context, runner=RUN_FN, interpreter=interpreter, room=room
            )
        except ToolUnavailable:  # more than a process may have: a call says so, by name
            tools += by_key.values()
            continue
        # A name may be no secret to the first of them and one to another.
        redactor = Redactor({name: value for pair in batch for name, value in command.secrets(*pair).items()})
        output: list[bytes] = []
        exit = launcher.run(plan.request, stdout=_into(output), stderr=_into(output))
        printed.append(redactor.text(b"".join(output).decode("utf-8", "replace")))
        answers = {str(answer["id"]): answer for answer in frames(exit.result) if "id" in answer}
        lost = [pair for pair in batch if pair[0].key not in answers]
        if exit.error is None and len(batch) > 1:
            # An import that ended the interpreter took the others with it: each of them is asked alone.
            waiting += [[pair] for pair in lost]
            by_key = {key: tool for key, tool in by_key.items() if key in answers}
        for key, tool in by_key.items():
            try:
                tools.append(complete(tool, _described(tool, answers.get(key), exit, redactor)))
            except DeclarationError as error:
                problems.extend(Problem(key, redactor.text(str(problem))) for problem in error.problems)
    return Introspected(tuple(tools), tuple(problems), "".join(printed))


def frames(data: bytes | None) -> list[dict[str, object]]:
    """The answers a child wrote on its descriptor: each 8 hex digits, a newline, and that many bytes of JSON."""
    found: list[dict[str, object]] = []
    at = 0
    while data and at + 9 <= len(data):
        try:
            end = at + 9 + int(data[at : at + 8], 16)
            answer = json.loads(data[at + 9 : end], parse_int=_integer)
        except (ValueError, RecursionError):
            break
        if end > len(data) or not isinstance(answer, dict):
            break
        found.append(answer)
        at = end
    return found


def limited(tool: Tool) -> str:
    """The limits of a tool that may keep an interpreter from starting, by name; empty for none (PROC-34)."""
    limits = tool.limits
    named = {"mem_mb": limits.mem_mb, "nofile": limits.nofile, "cpu_sec": limits.cpu_sec, "fsize_mb": limits.fsize_mb}
    return ", ".join(f"limits.{name}" for name, value in named.items() if value is not None)


def _described(
    tool: Tool, answer: dict[str, object] | None, exit: Exit, redactor: Redactor
) -> dict[str, object]:
    if answer is None:
        ended = f"its import was stopped (limits.{exit.stopped})" if exit.stopped else ""
        why = exit.error or ended or "its interpreter ended while importing the module"
        low = limited(tool) if exit.error is None else ""
        advice = f"a limit may be too low for it: {low}" if low else "run the import alone to see why"
        raise DeclarationError(Problem("fn", f"{why}; {advice}"))
    if not answer.get("ok"):
        trace = str(answer.get("traceback") or "").rstrip()
        text = str(answer.get("error")) + (f"\n{trace}" if trace else "")
        raise DeclarationError(Problem("fn", redactor.text(text)))
    return answer


def _integer(text: str) -> int:
    """Python refuses to read integers of more than 4,300 digits, unless they are read in another base."""
    if len(text) <= 4300:
        return int(text)
    from decimal import Decimal

    return int(Decimal(text))


def _into(output: list[bytes]) -> Callable[[bytes], None]:
    return output.append
