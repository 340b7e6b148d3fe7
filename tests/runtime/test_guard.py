"""What leaves a door holds no frame of the package, in every form of a traceback."""

from __future__ import annotations

import asyncio
import io
import sys
import traceback
from collections.abc import Callable

import pytest

from mcc_jupyter.core.errors import ArgumentError, InternalError, Interrupted
from mcc_jupyter.doors import cli
from mcc_jupyter.doors import python as door
from mcc_jupyter.runtime import guard
from mcc_jupyter.runtime.session import SessionStore

SECRET = "n0t-f0r-any-eyes-4711"


def raising(error: BaseException) -> Callable[[], object]:
    def function() -> object:
        raise error

    return function


def caught(function: Callable[[], object]) -> BaseException:
    with pytest.raises(BaseException) as found:
        function()
    return found.value


def shown(error: BaseException) -> str:
    """The most that a traceback tells: the variables of every frame of it and of what it chains."""
    return "".join(traceback.TracebackException(type(error), error, error.__traceback__, capture_locals=True).format())


@pytest.mark.parametrize("kind", ["plain", "awaited"])
@pytest.mark.parametrize(
    ("error", "expected", "text"),
    [
        (ArgumentError("one line"), ArgumentError, "one line"),
        (KeyboardInterrupt(), Interrupted, "interrupted"),
        (Interrupted("Tool 't' was interrupted", outcome=1), Interrupted, "Tool 't' was interrupted"),
        (TypeError(SECRET), InternalError, "internal error: TypeError; please report it"),
    ],
)
def test_an_error_is_one_line_without_frames(kind: str, error: BaseException, expected: type, text: str) -> None:
    function = raising(error.with_traceback(None))
    if kind == "plain":
        found = caught(guard.guarded(function))
    else:

        async def awaited() -> object:
            return function()

        found = caught(lambda: asyncio.run(guard.guarded_async(awaited)()))
    assert (type(found), str(found)) == (expected, text)
    assert SECRET not in shown(found)
    assert (found.__context__, found.__cause__) == (None, None)


def test_what_goes_well_is_passed_on() -> None:
    async def awaited(value: int) -> int:
        return value

    assert guard.guarded(lambda value: value)(3) == 3
    assert asyncio.run(guard.guarded_async(awaited)(3)) == 3


def test_an_internal_error_names_its_place_and_nothing_it_was_about() -> None:
    session = SessionStore(dict, lambda text, *, folded: text.nothing)  # type: ignore[attr-defined]
    found = caught(guard.guarded(lambda: session.update(k=SECRET)))
    assert str(found).startswith("internal error: AttributeError in session.py, line ")
    assert str(found).endswith("; please report it")
    assert found._render_traceback_() == [f"InternalError: {found}"]  # type: ignore[attr-defined]


class Stream(io.StringIO):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def write(self, text: str) -> int:
        raise self.error


@pytest.mark.parametrize("error", [BrokenPipeError(), RuntimeError("mine")])
def test_what_the_callers_stream_raises_is_the_callers(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def show(text: str) -> None:
        value = SECRET
        door._write("stdout", "text" if value else "")

    monkeypatch.setattr(sys, "stdout", Stream(error))
    assert caught(guard.guarded(lambda: show("x"))) is error
    monkeypatch.undo()
    assert SECRET not in shown(error)


def test_a_stream_that_is_closed_is_the_callers_too(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stdout", closed)
    found = caught(guard.guarded(lambda: door._write("stdout", "x")))
    monkeypatch.undo()
    assert (type(found), str(found)) == (ValueError, "I/O operation on closed file")


def test_a_mistake_in_a_door_is_an_internal_error() -> None:
    found = caught(guard.guarded(lambda: door._shown(None)))  # type: ignore[arg-type]
    assert str(found).startswith("internal error: AttributeError in python.py, line ")


def test_the_command_line_tells_an_internal_error_by_its_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    monkeypatch.setattr(cli, "_load", raising(TypeError(SECRET)))
    assert cli.main(["tools", "x.yaml"]) == 70
    told = capsys.readouterr().err
    assert told.startswith("internal error: TypeError in __init__.py, line ")
    assert SECRET not in told


@pytest.mark.parametrize("verb", ["call", "acall", "map", "report", "load", "diff", "item"])
def test_every_verb_tells_an_interrupt_in_one_line(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    actions: dict[str, Callable[[], object]] = {
        "call": lambda: door.call("t"),
        "acall": lambda: asyncio.run(door.acall("t")),
        "map": lambda: door.map("t", [], progress=False),
        "report": lambda: door.report("t"),
        "load": lambda: door.load("t"),
        "diff": lambda: door.diff("t"),
        "item": lambda: door.tools["t"],
    }
    monkeypatch.setattr(door, "toolbox_for", lambda *_: raising(KeyboardInterrupt())())
    found = caught(actions[verb])
    monkeypatch.undo()
    assert type(found) is Interrupted
    assert found._render_traceback_() == ["KeyboardInterrupt: interrupted"]
    assert SECRET not in shown(found)


ONE = '"NAME", {"parameter": value}, timeout=None, spill=None'
MANY = '"NAME", [{"parameter": value}, …], workers=None, timeout=None, progress=True'


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (lambda: door.call(5), "a tool's name is text, like `query`, and not of type int"),  # type: ignore[arg-type]
        (lambda: asyncio.run(door.acall(5)), "a tool's name is text, like `query`, and not of type int"),  # type: ignore[arg-type]
        (lambda: door.report(5), "a tool's name is text, like `query`, and not of type int"),  # type: ignore[arg-type]
        (lambda: door.diff(5), "a tool's name is text, like `query`, and not of type int"),  # type: ignore[arg-type]
        (lambda: door.diff(lock=5), "diff: a path is text, like `tools.yaml`, and not of type int"),  # type: ignore[arg-type]
        (lambda: door.tools[5], "a tool's name is text, like `query`, and not of type int"),  # type: ignore[index]
        (lambda: door.map("t", 5), "map: arguments are a list of mappings, one for each call"),  # type: ignore[arg-type]
        (lambda: door.map("t", [], workers=-1), "map: workers must be a whole number above 0, or None"),
        (lambda: door.map("t", {"a": 1}), "map: arguments are a list of mappings, one for each call"),  # type: ignore[arg-type]
        (lambda: door.call("t", a=1), f"call() got an unexpected keyword argument 'a'; write `mcc.call({ONE})`"),  # type: ignore[call-arg]
        (door.call, f"call() missing 1 required positional argument: 'name'; write `mcc.call({ONE})`"),
        (lambda: asyncio.run(door.acall("t", args={})), f"acall() got an unexpected keyword argument 'args'; write `await mcc.acall({ONE})`"),  # type: ignore[call-arg]
        (lambda: door.map("t", [{}], n=2), f"map() got an unexpected keyword argument 'n'; write `mcc.map({MANY})`"),  # type: ignore[call-arg]
        (lambda: door.map("t", a=[1]), f"map() got an unexpected keyword argument 'a'; write `mcc.map({MANY})`"),  # type: ignore[call-arg]
        (door.report, "report() missing 1 required positional argument: 'name'; write `mcc.report(\"NAME\", everything=False)`"),
        (lambda: door.load(path="x"), "load() got an unexpected keyword argument 'path'; write `mcc.load(\"tools.yaml\", …)`"),  # type: ignore[call-arg]
    ],
)
def test_what_is_of_a_wrong_type_is_told_in_one_line(action: Callable[[], object], text: str) -> None:
    found = caught(action)
    assert (type(found), str(found)) == (ArgumentError, text)


def test_a_cancelled_call_shows_no_frame_of_the_package() -> None:
    async def waits() -> None:
        await asyncio.sleep(60)

    async def main() -> BaseException | None:
        task = asyncio.ensure_future(guard.guarded_async(waits)())
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError as error:
            return error
        return None

    found = asyncio.run(main())
    assert found is not None
    assert "in waits" not in "".join(traceback.format_exception(found))
