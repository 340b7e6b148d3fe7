"""Reads the signatures of functions in a child, before they can be called (SPEC 2.8).

One child for each environment, interpreter, folder and limits; each function in it fails alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ..core import command
from ..core.errors import DeclarationError, Problem, ToolUnavailable
from ..core.redact import Redactor
from ..core.resolution import Context, Resolution
from ..core.schema import complete
from ..core.tool import Function, Tool
from .launcher import Exit, Launcher
from .output import Capture, Colours
from .resolved import Resolved
from .warm import Functions, module

RUN_FN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "child", "run_fn.py")
"""The child script for functions; started by path, because the interpreter may not have this package."""

_KEY = os.urandom(32)
_DIGITS = 4300
_JSON_TYPES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
}


@dataclass(frozen=True, slots=True)
class Introspected:
    """Completed tools, what failed (by tool key), and what the imports printed."""

    tools: tuple[Tool, ...] = ()
    problems: tuple[Problem, ...] = ()
    printed: str = field(default="", repr=False)


def read_signatures(
    tools: list[Resolved], ask: Callable[[Sequence[tuple[Tool, Resolution]]], Introspected]
) -> tuple[list[Resolved], list[Problem], str]:
    """*tools* with those whose signature *ask* could read in their place; an unavailable one waits for its use.

    Also what is wrong with the others, which are left out, and what was printed meanwhile.
    """
    pairs = [
        (item.tool, item.resolution)
        for item in tools
        if isinstance(item.tool.body, Function) and not item.tool.introspected and item.resolution.available
    ]
    if not pairs:
        return tools, [], ""
    result = ask(pairs)
    done = {tool.key: tool for tool in result.tools}
    failed = {tool.key for tool, _ in pairs} - done.keys()
    kept = [item.of(done.get(item.tool.key, item.tool)) for item in tools if item.tool.key not in failed]
    return kept, list(result.problems), result.printed


def introspect(
    pairs: Sequence[tuple[Tool, Resolution]],
    *,
    context: Context,
    launcher: Launcher,
    interpreter: str,
    room: int,
    functions: Functions | None = None,
) -> Introspected:
    """Completes the tools of *pairs*. Never raises for a function that fails.

    *functions* keep a process that imported what a call would import, and nothing else (SPEC 7.3).
    """
    batches: dict[object, list[tuple[Tool, Resolution]]] = {}
    for tool, resolution in pairs:
        python = tool.python.value if tool.python is not None else interpreter
        files = tuple(tool.secret_files.items())
        world = (python, tool.cwd.value, tool.limits, tool.isolation, files, command.digest(resolution, _KEY))
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
        output = _Printed(redactor, int(batch[0][0].limits.output_mb * 1024 * 1024))
        if functions is None or all(tool.fresh for tool in by_key.values()) or len(_imported(by_key.values())) > 1:
            exit = launcher.run(plan.request, stdout=output.feed, stderr=output.feed)
        else:
            exit = functions.introspect(plan.request, output.feed)
        printed.append(output.close())
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


def _imported(tools: Iterable[Tool]) -> set[object]:
    """What is imported for functions: another one's module in its process could change how it behaves."""
    bodies = [tool.body for tool in tools if isinstance(tool.body, Function)]
    return {body.source or module(body.target) for body in bodies}


def start_error(tool: Tool, error: str, redactor: Redactor) -> str:
    """Why *tool* could not start, with its folder and interpreter as they were written: a reference may be in them."""
    for text in (tool.cwd, tool.python):
        if text is not None and text.references:
            error = error.replace(f"`{text.value}`", f"`{text.written}`")
    return redactor.text(error)


def limited(tool: Tool) -> str:
    """The limits of a tool that may keep an interpreter from starting, by name; empty for none (PROC-34)."""
    limits = tool.limits
    named = {"mem_mb": limits.mem_mb, "nofile": limits.nofile, "cpu_sec": limits.cpu_sec, "fsize_mb": limits.fsize_mb}
    return ", ".join(f"limits.{name}" for name, value in named.items() if value is not None)


def _described(tool: Tool, answer: dict[str, object] | None, exit: Exit, redactor: Redactor) -> dict[str, object]:
    if answer is None:
        ended = f"its import was stopped (limits.{exit.stopped})" if exit.stopped else ""
        start = start_error(tool, exit.error, redactor) if exit.error is not None else ""
        why = start or ended or "its interpreter ended while importing the module"
        low = limited(tool) if exit.error is None else ""
        advice = f"a limit may be too low for it: {low}" if low else "run the import alone to see why"
        raise DeclarationError(Problem("fn", f"{why}; {advice}"))
    if not answer.get("ok"):
        error = str(answer.get("error"))
        trace = str(answer.get("traceback") or "").rstrip().removesuffix(error).splitlines()
        shown = [] if trace == ["Traceback (most recent call last):"] else trace  # the error stands before it
        raise DeclarationError(Problem("fn", redactor.text("\n".join([error, *shown]))))
    return _without_secrets(answer, redactor)


def _integer(text: str) -> int:
    """No tool sends a longer one, and reading it would take ever longer, where Python does not refuse it anyway."""
    if len(text.removeprefix("-")) > _DIGITS:
        raise ValueError
    return int(text)


def _without_secrets(answer: dict[str, object], redactor: Redactor) -> dict[str, object]:
    """A description that may be shown. What holds a secret and is no text is left out: a default, choices, a schema."""
    params = answer.get("params")
    told = dict(answer)
    for key in ("description", "notes"):
        told[key] = redactor.data(answer.get(key))
    if isinstance(params, list):
        told["params"] = [_param(item, redactor) if isinstance(item, dict) else item for item in params]
    return told


def _param(item: dict[str, object], redactor: Redactor) -> dict[str, object]:
    told = {**item, "description": redactor.data(item.get("description"))}
    if _holds_secret(item.get("default"), redactor):
        del told["default"]
    if _holds_secret([item.get("enum"), item.get("schema")], redactor):
        told.pop("enum", None)
        json_type = _JSON_TYPES.get(str(item.get("type")))
        told["schema"] = {} if json_type is None else {"type": json_type}
    return told


def _holds_secret(value: object, redactor: Redactor) -> bool:
    try:
        return redactor.data(value) != value
    except RecursionError:  # too deep to be looked through
        return True


class _Printed:
    """What imports print: redacted, then its head and its tail are kept."""

    def __init__(self, redactor: Redactor, limit_bytes: int) -> None:
        self._colours = Colours()
        self._stream = redactor.stream()
        self._capture = Capture(limit_bytes)

    def feed(self, chunk: bytes) -> None:
        self._capture.feed(self._stream.feed(self._colours.feed(chunk)))

    def close(self) -> str:
        self._capture.feed(self._stream.close())
        return self._capture.text()
