"""One call from its request to its outcome, with a launcher that starts nothing: every way it can end."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from mcc_jupyter.core.command import Request
from mcc_jupyter.core.errors import Interrupted, ToolUnavailable
from mcc_jupyter.core.outcome import Outcome
from mcc_jupyter.runtime import calls
from mcc_jupyter.runtime.calls import Showing
from mcc_jupyter.runtime.launcher import Exit, Stop

from .conftest import FakeLauncher, Sink, World, frame

SECRET = "sk-live-0123456789"
FILE = "write all of it to a file: `--spill FILE` with %mcc_call and mcc-jupyter call, `spill=` with mcc.call"
MakeWorld = Callable[..., World]
Answer = Exit | Callable[[Request, Sink, Sink], Exit]


def printing(*pieces: bytes | tuple[bytes], exit: Exit = Exit(code=0)) -> Callable[[Request, Sink, Sink], Exit]:  # noqa: B008
    """Prints the pieces, those in a tuple to stderr."""

    def answer(request: Request, stdout: Sink, stderr: Sink) -> Exit:
        for piece in pieces:
            stderr(piece[0]) if isinstance(piece, tuple) else stdout(piece)
        return exit

    return answer


class Called:
    """One tool, called with a fake launcher."""

    def __init__(self, make_world: MakeWorld, document: dict[str, object], *answers: Answer) -> None:
        self.launcher = FakeLauncher(*answers)
        self.world = make_world({"TOKEN": SECRET, "GITHUB_TOKEN": "x"}, launcher=self.launcher)
        self.world.declare({"name": "t", "env_passthrough": ["TOKEN"], **document})
        self.launcher.requests.clear()
        self.shown: list[tuple[str, str]] = []

    def __call__(self, arguments: dict[str, object] | None = None, **options: object) -> Outcome:
        return self.world.box.call("t", arguments, show=lambda name, text: self.shown.append((name, text)), **options)  # type: ignore[arg-type]

    def text(self, stream: str) -> str:
        return "".join(text for name, text in self.shown if name == stream)


@pytest.fixture
def command(make_world: MakeWorld) -> Callable[..., Called]:
    """``command(answer, …)``: an exec tool."""
    return lambda *answers, **fields: Called(make_world, {"exec": "prog", **fields}, *answers)


@pytest.fixture
def function(make_world: MakeWorld) -> Callable[..., Called]:
    """``function(answer, …)``: a function that takes ``x`` and the session, and answers with *answer*."""
    described = {"id": "public.t", "ok": True, "signature": True, "context": True, "params": [{"name": "x", "type": "int", "required": False, "schema": {}}]}

    def make(*answers: Answer | dict[str, object] | None, exit: Exit = Exit(code=0), **fields: object) -> Called:  # noqa: B008
        first = Exit(code=0, result=frame(described))
        later = [
            answer if isinstance(answer, Exit) or callable(answer) else Exit(code=exit.code, signal=exit.signal, result=None if answer is None else frame(answer))
            for answer in answers
        ]
        called = Called(make_world, {"fn": "m:f", **fields}, lambda *_: first, *later)
        called.launcher.answers.pop(0)
        return called

    return make


# ---- commands


def test_a_command_that_ended_well_gives_its_text(command: Callable[..., Called]) -> None:
    called = command(printing(b"\x1b[31m10%\r100%\x1b[0m\n", (b"warn\n",)))
    outcome = called()
    assert outcome == Outcome(
        "t",
        ok=True,
        value="100%\n",
        stdout="\x1b[31m10%\r100%\x1b[0m\n",
        stderr="warn\n",
        exit_code=0,
        seconds=outcome.seconds,
        mode="process",
        report=outcome.report,
    )
    assert called.shown == [("stdout", "\x1b[31m10%\r100%\x1b[0m\n"), ("stderr", "warn\n")]
    assert outcome.seconds >= 0
    assert outcome.report is not None
    assert outcome.report.tool == "t"


FAILURES = [
    (Exit(code=3), "failed with exit code 3", None),
    (Exit(code=127), "failed with exit code 127 (command not found)", None),
    (Exit(signal=11), "was killed by signal 11 (SIGSEGV)", None),
    (Exit(signal=15, stopped="timeout"), "was stopped at its time limit (limits.timeout)", "timeout"),
    (Exit(signal=2, stopped="interrupt"), "was interrupted", "interrupt"),
    (Exit(code=0, stopped="interrupt"), "was interrupted", "interrupt"),
    (Exit(signal=24, stopped="cpu_sec"), "was stopped by limits.cpu_sec", "cpu_sec"),
    (Exit(error="`/no/dir` is no directory"), "could not start: `/no/dir` is no directory", None),
]


@pytest.mark.parametrize(("exit", "failure", "stopped"), FAILURES, ids=[row[1] for row in FAILURES])
def test_a_command_that_failed_says_why_and_keeps_what_it_printed(
    exit: Exit, failure: str, stopped: str | None, command: Callable[..., Called]
) -> None:
    outcome = command(printing(b"partial\n", (b"why\n",), exit=exit))()
    assert (outcome.ok, outcome.value, outcome.failure, outcome.stopped) == (False, None, failure, stopped)
    assert (outcome.stdout, outcome.stderr) == ("partial\n", "why\n")
    assert (outcome.exit_code, outcome.signal) == (exit.code, exit.signal)


def test_every_byte_is_redacted_before_it_is_shown_or_kept(command: Callable[..., Called]) -> None:
    called = command(printing(b"a sk-live", b"-0123456789 b", (f"<{SECRET}>".encode(),), b" sk-li"))
    outcome = called()
    assert outcome.stdout == outcome.value == "a [redacted:TOKEN] b sk-li"
    assert outcome.stderr == "<[redacted:TOKEN]>"
    assert outcome.redactions == {"TOKEN": 2}
    assert called.shown == [
        ("stdout", "a "),
        ("stdout", "[redacted:TOKEN] b"),
        ("stderr", "<[redacted:TOKEN]>"),
        ("stdout", " "),
        ("stdout", "sk-li"),
    ]


def test_without_somebody_to_show_it_to_output_is_kept_all_the_same(command: Callable[..., Called]) -> None:
    called = command(printing(b"out\n"))
    assert called.world.box.call("t").stdout == "out\n"
    assert called.shown == []


def test_what_is_too_much_is_cut_in_its_middle_and_said(command: Callable[..., Called]) -> None:
    outcome = command(printing(b"a" * 600, b"b" * 600), limits={"output_mb": 0.001})()
    assert outcome.cut
    assert outcome.notes == (f"stdout is longer than limits.output_mb (0.001 MiB) and kept without its middle; raise the limit, or {FILE}",)
    assert outcome.stdout == "a" * 524 + "\n[… 152 bytes omitted …]\n" + "b" * 524
    assert not command(printing(b"a" * 1000), limits={"output_mb": 0.001})().cut


def test_what_was_shown_without_its_middle_is_kept_and_the_notes_say_how_to_have_it(command: Callable[..., Called]) -> None:
    called = command(printing(b"a" * 60_000, (b"b" * 60_000,)))
    outcome = called()
    assert (outcome.stdout, outcome.stderr, outcome.cut) == ("a" * 60_000, "b" * 60_000, False)
    assert outcome.notes == (f"stdout is shown without its middle; {FILE}", f"stderr is shown without its middle; {FILE}")
    assert "bytes omitted" in called.text("stdout")


def test_a_stream_that_is_not_shown_is_told_to_be_cut_only_where_it_is(command: Callable[..., Called]) -> None:
    called = command(printing(b"a" * 60_000, (b"b" * 60_000,)))
    seen: list[tuple[str, str]] = []
    outcome = called.world.box.call("t", show=Showing(lambda name, text: seen.append((name, text)), hidden=frozenset({"stdout"})))
    assert {name for name, _ in seen} == {"stderr"}
    assert outcome.notes == (f"stderr is shown without its middle; {FILE}",)


def test_a_stream_that_is_taken_whole_is_passed_on_redacted_and_nothing_of_it_is_left_out(command: Callable[..., Called]) -> None:
    pieces = [b"a" * 1_500_000, b"\xff sk-live", b"-0123456789 ", b"b" * 1_500_000]
    called = command(printing(*pieces, (b"why",)))
    seen: list[tuple[str, str]] = []
    taken = bytearray()
    outcome = called.world.box.call("t", show=Showing(lambda name, text: seen.append((name, text)), whole={"stdout": taken.extend}))
    assert bytes(taken) == b"a" * 1_500_000 + b"\xff [redacted:TOKEN] " + b"b" * 1_500_000
    assert seen == [("stderr", "why")]
    assert (outcome.cut, outcome.notes) == (True, ())


def test_what_was_kept_for_a_transform_that_never_ran_goes_where_the_stream_goes(command: Callable[..., Called]) -> None:
    called = command(printing(b"partial\n", exit=Exit(code=3)), transform="cat")
    taken = bytearray()
    called.world.box.call("t", show=Showing(print, whole={"stdout": taken.extend}))
    assert bytes(taken) == b"partial\n"
    hidden = command(printing(b"partial\n", exit=Exit(code=3)), transform="cat")
    hidden.world.box.call("t", show=Showing(pytest.fail, hidden=frozenset({"stdout"})))


def test_the_notes_of_the_process_are_the_calls(command: Callable[..., Called]) -> None:
    assert command(Exit(code=0, notes=("a background process was ended",)))().notes == ("a background process was ended",)


def test_an_interrupt_passes_through_with_what_was_printed_shown(command: Callable[..., Called]) -> None:
    def interrupted(request: Request, stdout: Sink, stderr: Sink) -> Exit:
        stdout(b"partial sk-li")
        raise KeyboardInterrupt

    called = command(interrupted)
    with pytest.raises(KeyboardInterrupt):
        called()
    assert called.text("stdout") == "partial sk-li"


def stopping(exit: Exit, *pieces: bytes) -> Callable[[Request, Sink, Sink], Exit]:
    """Prints the pieces and is interrupted: what the launcher raises once nothing of the tool is left."""

    def answer(request: Request, stdout: Sink, stderr: Sink) -> Exit:
        for piece in pieces:
            stdout(piece)
        interrupt = KeyboardInterrupt()
        interrupt.exit = exit  # type: ignore[attr-defined]
        raise interrupt

    return answer


def interruption(called: Called) -> Outcome:
    with pytest.raises(KeyboardInterrupt) as caught:
        called()
    assert isinstance(caught.value, Interrupted)
    assert str(caught.value) == "Tool 't' was interrupted"
    assert isinstance(caught.value.outcome, Outcome)
    return caught.value.outcome


def test_an_interrupt_after_which_nothing_is_left_brings_the_outcome(command: Callable[..., Called]) -> None:
    outcome = interruption(command(stopping(Exit(signal=2, stopped="interrupt", notes=("a note",)), f"got {SECRET}".encode())))
    assert (outcome.ok, outcome.failure, outcome.stopped) == (False, "was interrupted", "interrupt")
    assert (outcome.stdout, outcome.notes) == ("got [redacted:TOKEN]", ("a note",))


def test_an_interrupt_that_came_too_late_for_the_process_is_one_all_the_same(
    command: Callable[..., Called], function: Callable[..., Called]
) -> None:
    outcome = interruption(command(stopping(Exit(code=0), b"all\n")))
    assert (outcome.ok, outcome.value, outcome.failure, outcome.stdout) == (False, None, "was interrupted", "all\n")
    answer = frame({"ok": True, "value": 1, "context": {"set": {"k": 1}, "deleted": []}})
    called = function(stopping(Exit(code=0, result=answer)))
    assert interruption(called).returned is False
    assert "k" not in called.world.box.session


def test_a_function_that_ended_by_its_interrupt_was_interrupted(function: Callable[..., Called]) -> None:
    stop = Stop()
    stop.interrupt()
    answer: dict[str, object] = {"ok": False, "error": "KeyboardInterrupt", "traceback": "where"}
    outcome = function(answer, exit=Exit(code=1))(stop=stop)
    assert (outcome.ok, outcome.failure, outcome.stopped, outcome.traceback) == (False, "was interrupted", "interrupt", "where")
    assert interruption(function(stopping(Exit(code=1, result=frame(answer))))).failure == "was interrupted"
    own = function(answer, exit=Exit(code=1))()
    assert (own.failure, own.stopped) == ("failed: KeyboardInterrupt", None), "nobody else interrupted it"


def test_after_an_interrupt_no_transform_starts_and_one_under_way_is_its_end(command: Callable[..., Called]) -> None:
    called = command(stopping(Exit(code=0), b"in\n"), transform="tidy")
    assert interruption(called).failure == "was interrupted"
    assert len(called.launcher.requests) == 1
    assert called.text("stdout") == "in\n"
    called = command(printing(b"in\n"), stopping(Exit(code=0), b"half"), transform="tidy")
    outcome = interruption(called)
    assert (outcome.ok, outcome.failure, outcome.stdout) == (False, "was interrupted", "half")


def test_the_stop_and_the_timeout_of_a_call_reach_the_process(command: Callable[..., Called]) -> None:
    called, stop = command(), Stop()
    called(stop=stop, timeout=2.5)
    assert called.launcher.stops == [stop]
    assert called.launcher.requests[0].timeout == 2.5


# ---- 7.13: what a failure's output tells


def test_a_failure_that_names_a_variable_that_was_not_granted_says_so(command: Callable[..., Called]) -> None:
    outcome = command(printing(b"using TOKEN\n", (b"GITHUB_TOKEN is not set\n",), exit=Exit(code=1)))()
    assert outcome.notes == (
        "mentions GITHUB_TOKEN, which exists here and is not granted; to grant it add `optional_env: [GITHUB_TOKEN]`",
    )


def test_a_success_that_names_one_says_nothing(command: Callable[..., Called]) -> None:
    assert command(printing(b"GITHUB_TOKEN is not set\n"))().notes == ()


def test_a_program_that_was_not_found_is_named(command: Callable[..., Called]) -> None:
    exit = Exit(code=127)
    assert command(exit, exec="no-such-prog | sh")().notes == ("not found on this tool's PATH: no-such-prog",)
    assert command(exit, exec="sh")().notes == ()
    assert command(Exit(code=1), exec="no-such-prog")().notes == ()


# ---- functions


def test_a_function_that_ended_well_gives_its_result_redacted(function: Callable[..., Called]) -> None:
    called = function({"ok": True, "value": {"t": SECRET, "n": [1, None]}, "context": None, "notes": []})
    outcome = called({"x": 3})
    assert (outcome.ok, outcome.value, outcome.returned, outcome.mode) == (True, {"t": "[redacted:TOKEN]", "n": [1, None]}, True, "cold")
    assert outcome.redactions == {"TOKEN": 1}
    assert called.launcher.frames()[0]["arguments"] == {"x": 3}


def test_what_a_function_prints_is_output_and_its_result_is_none_of_it(function: Callable[..., Called]) -> None:
    def answer(request: Request, stdout: Sink, stderr: Sink) -> Exit:
        stdout(b"noise\n")
        return Exit(code=0, result=frame({"ok": True, "value": 1}))

    called = function(answer)
    outcome = called()
    assert (outcome.value, outcome.stdout, called.shown) == (1, "noise\n", [("stdout", "noise\n")])


def test_an_exception_is_its_text_and_its_traceback_redacted(function: Callable[..., Called]) -> None:
    outcome = function({"ok": False, "error": f"ValueError: bad {SECRET}", "traceback": f"line with {SECRET}", "kind": "exception"}, exit=Exit(code=1))()
    assert (outcome.ok, outcome.value, outcome.returned) == (False, None, False)
    assert outcome.failure == "failed: ValueError: bad [redacted:TOKEN]"
    assert outcome.traceback == "line with [redacted:TOKEN]"
    assert outcome.redactions == {"TOKEN": 2}


def test_an_exception_that_names_a_variable_says_what_to_grant(function: Callable[..., Called]) -> None:
    outcome = function({"ok": False, "error": "KeyError: 'GITHUB_TOKEN'"}, exit=Exit(code=1))()
    assert outcome.failure == "failed: KeyError: 'GITHUB_TOKEN'"
    assert outcome.traceback == ""
    assert outcome.notes == (
        "mentions GITHUB_TOKEN, which exists here and is not granted; to grant it add `optional_env: [GITHUB_TOKEN]`",
    )


NO_RESULT = [
    (Exit(code=0), "ended without a result (with exit code 0)"),
    (Exit(code=3), "ended without a result (with exit code 3)"),
    (Exit(signal=11), "ended without a result (was killed by signal 11 (SIGSEGV))"),
    (Exit(code=0, result=b"garbage"), "ended without a result (with exit code 0)"),
    (Exit(signal=15, stopped="timeout", result=frame({"ok": True, "value": 1})), "was stopped at its time limit (limits.timeout)"),
    (Exit(error="no such interpreter"), "could not start: no such interpreter"),
]


@pytest.mark.parametrize(("exit", "failure"), NO_RESULT)
def test_FN_15_a_function_without_a_result_is_a_failure_that_says_so(exit: Exit, failure: str, function: Callable[..., Called]) -> None:
    outcome = function(exit)()
    assert (outcome.ok, outcome.value, outcome.failure, outcome.notes) == (False, None, failure, ())


def test_PROC_34_limits_that_may_be_too_low_are_named_and_only_those_that_are_set(function: Callable[..., Called]) -> None:
    outcome = function(Exit(signal=6), limits={"mem_mb": 16, "nofile": 3, "timeout": 9})()
    assert outcome.notes == ("a limit may be too low for this interpreter: limits.mem_mb, limits.nofile",)
    assert function(Exit(signal=15, stopped="timeout"), limits={"mem_mb": 16})().notes == ()


def test_a_process_that_ended_badly_after_its_result_is_a_note_and_the_result_stands(function: Callable[..., Called]) -> None:
    outcome = function({"ok": True, "value": 7}, exit=Exit(signal=11))()
    assert (outcome.ok, outcome.value) == (True, 7)
    assert outcome.notes == ("after its result the process was killed by signal 11 (SIGSEGV)",)


def test_only_the_first_answer_counts(function: Callable[..., Called]) -> None:
    two = frame({"ok": True, "value": "parent"}) + frame({"ok": True, "value": "child"})
    assert function(Exit(code=0, result=two))().value == "parent"


def test_a_result_nested_deeper_than_python_goes_is_a_failure(function: Callable[..., Called]) -> None:
    depth = 600  # json reads it, and a walk through it takes more than the thousand frames that Python has
    text = b'{"ok": true, "value": ' + b"[" * depth + b"]" * depth + b"}"
    called = function(Exit(code=0, result=b"%08x\n" % len(text) + text))
    outcome = called()
    assert (outcome.ok, outcome.returned, outcome.failure) == (False, False, "failed: its result is nested too deeply")


# ---- write-back


def test_what_a_function_changed_in_the_session_is_written_back(function: Callable[..., Called]) -> None:
    called = function({"ok": True, "value": None, "context": {"set": {"rows": [3], "user": "eve"}, "deleted": ["old"]}})
    called.world.box.session.update(old=1, other=2)
    user = called.world.box.session["user"]
    assert called().notes == ()
    assert {key: called.world.box.session.get(key) for key in ("rows", "old", "other", "user")} == {"rows": [3], "old": None, "other": 2, "user": user}


def test_a_write_back_that_was_rejected_is_a_note_and_the_result_stands(function: Callable[..., Called]) -> None:
    called = function({"ok": True, "value": 1, "context": {"set": {"ok": 1, "Bad": 2}, "deleted": []}})
    outcome = called()
    assert (outcome.ok, outcome.value) == (True, 1)
    (note,) = outcome.notes
    assert note == (
        "the tool's changes to the session were not stored: session: a key is not valid; keys are lower-case letters, "
        "digits and _, like `row_count`"
    )
    assert "ok" not in called.world.box.session


def test_a_secret_is_not_written_back(function: Callable[..., Called]) -> None:
    called = function({"ok": True, "value": 1, "context": {"set": {"k": ["line", SECRET]}, "deleted": []}})
    assert called().notes == (
        "the tool's changes to the session were not stored: session: the value of `k` holds TOKEN; give tools the variable instead",
    )


def test_the_childs_own_notes_are_told_redacted(function: Callable[..., Called]) -> None:
    called = function({"ok": True, "value": 1, "context": None, "notes": [f"the session was not changed: {SECRET}"]})
    assert called().notes == ("the session was not changed: [redacted:TOKEN]",)


@pytest.mark.parametrize(
    "answer",
    [
        {"ok": False, "error": "ValueError", "context": {"set": {"k": 1}}},
        Exit(signal=9, stopped="timeout", result=frame({"ok": True, "value": 1, "context": {"set": {"k": 1}}})),
    ],
    ids=["an exception", "a time-out"],
)
def test_nothing_is_written_back_if_the_tool_fails(answer: object, function: Callable[..., Called]) -> None:
    called = function(answer)
    assert not called().ok
    assert "k" not in called.world.box.session


def test_nothing_is_written_back_if_the_transform_fails(function: Callable[..., Called]) -> None:
    answer = Exit(code=0, result=frame({"ok": True, "value": 1, "context": {"set": {"k": 1}}}))
    called = function(answer, Exit(code=5), transform="jq .")
    assert called().failure == "failed in transform: it failed with exit code 5"
    assert "k" not in called.world.box.session
    called = function(answer, Exit(code=0), transform="jq .")
    assert called().ok
    assert called.world.box.session["k"] == 1


@pytest.mark.parametrize(
    "context",
    [
        1,
        [1],
        {"set": [1]},
        {"set": {"k": 1}, "deleted": 3},
        {"set": {"k": 1}, "deleted": [{}]},
        {"set": {"k": 1}, "deleted": ["a", None]},
        {"set": "k", "deleted": ["kept"]},
    ],
)
def test_a_change_in_another_form_changes_nothing_and_is_a_note(context: object, function: Callable[..., Called]) -> None:
    called = function({"ok": True, "value": 1, "context": context})
    called.world.box.session["kept"] = 1
    before = called.world.box.session.snapshot()
    assert called().notes == ("the tool's changes to the session were not stored: they are not in the form a function sends",)
    assert called.world.box.session.snapshot() == before


def test_a_function_that_takes_no_session_changes_none(make_world: MakeWorld) -> None:
    described = frame({"id": "public.t", "ok": True, "signature": True, "context": False, "params": []})
    answer = frame({"ok": True, "value": 1, "context": {"set": {"forged": 1}, "deleted": []}})
    called = Called(make_world, {"fn": "m:f"}, lambda *_: Exit(code=0, result=described), Exit(code=0, result=answer))
    called.launcher.answers.pop(0)
    assert called().notes == ()
    assert "forged" not in called.world.box.session


@pytest.mark.parametrize("kind", ["cwd", "python"])
def test_what_a_reference_stands_for_is_not_in_why_a_call_could_not_start(kind: str, make_world: MakeWorld) -> None:
    begin = "working directory" if kind == "cwd" else "interpreter not found:"
    launcher = FakeLauncher(Exit(error=f"{begin} `/data/{SECRET}` is missing ({SECRET})"))
    world = make_world({"SOME_TOKEN": SECRET}, launcher=launcher)
    if kind == "cwd":
        world.declare({"name": "t", "exec": "x", "cwd": "/data/$SOME_TOKEN"})
        assert world.box.call("t").failure == f"could not start: {begin} `/data/$SOME_TOKEN` is missing ([redacted:SOME_TOKEN])"
        with pytest.raises(ToolUnavailable) as caught:
            world.box.probe("t")
        assert str(caught.value) == f"Tool 't' could not be probed; {begin} `/data/$SOME_TOKEN` is missing ([redacted:SOME_TOKEN])"
    else:
        (problem,) = world.add({"name": "t", "fn": "m:f", "python": "/data/$SOME_TOKEN"}).problems
        assert str(problem) == (
            f"public.t: fn: {begin} `/data/$SOME_TOKEN` is missing ([redacted:SOME_TOKEN]); run the import alone to see why"
        )


@pytest.mark.parametrize("between", [b"\x1b]0;" + b"a" * 5000 + b"\x07", b"\x1b[" + b"1" * 5000 + b"m", b"\x1b[K" * 2000, b"\x1b[0m" * 2000])
def test_no_control_sequence_keeps_the_halves_of_a_secret_apart(between: bytes, command: Callable[..., Called]) -> None:
    called = command(printing(SECRET[:9].encode() + between[:100], between[100:], SECRET[9:].encode() + b"\n"))
    outcome = called()
    assert outcome.value == "[redacted:TOKEN]\n"
    assert called.text("stdout").endswith("\n")
    assert SECRET[9:] not in called.text("stdout")
    assert SECRET[9:] not in outcome.stdout


def test_what_plain_text_leaves_out_joins_no_secret(command: Callable[..., Called], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "plain", lambda text: text.replace("|", ""))
    assert command(printing(SECRET[:9].encode() + b"|" + SECRET[9:].encode()))().value == "[redacted:TOKEN]"


def test_a_result_with_more_digits_than_this_process_writes_is_a_failure(function: Callable[..., Called]) -> None:
    limit = sys.get_int_max_str_digits()
    called = function({"ok": True, "value": 16**999})
    called.world.box.available("t")
    sys.set_int_max_str_digits(0)
    answers = calls.frames

    def lowered(data: bytes | None) -> list[dict[str, object]]:
        found = answers(data)
        sys.set_int_max_str_digits(700)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calls, "frames", lowered)
        try:
            assert called().failure == "failed: its result holds a number of too many digits"
        finally:
            sys.set_int_max_str_digits(limit)


@pytest.mark.parametrize("context", [None, [], {}, {"set": None, "deleted": None}])
def test_a_change_that_is_none_changes_nothing(context: object, function: Callable[..., Called]) -> None:
    called = function({"ok": True, "value": 1, "context": context})
    before = called.world.box.session.snapshot()
    assert called().notes == ()
    assert called.world.box.session.snapshot() == before


# ---- transform


def test_a_transform_gets_the_output_as_it_was_and_gives_the_outcome(command: Callable[..., Called]) -> None:
    called = command(printing(f"raw {SECRET}\n".encode(), (b"first\n",)), printing(b"made of sk-live-", b"0123456789\n", (b"second\n",)), transform="tidy")
    outcome = called()
    assert called.launcher.requests[1].stdin == f"raw {SECRET}\n".encode()
    assert (outcome.ok, outcome.value, outcome.stdout) == (True, "made of [redacted:TOKEN]\n", "made of [redacted:TOKEN]\n")
    assert outcome.stderr == "first\nsecond\n"
    assert called.text("stdout") == "made of [redacted:TOKEN]\n"
    assert called.text("stderr") == "first\nsecond\n"


def test_a_transform_has_the_calls_environment_folder_and_limits(command: Callable[..., Called]) -> None:
    called = command(transform="tidy", limits={"cpu_sec": 5})
    called()
    first, second = called.launcher.requests
    assert (second.environ, second.cwd, second.limits) == (first.environ, first.cwd, first.limits)
    assert second.payload == b"exec 9<&-; tidy"


def test_a_transform_has_what_is_left_of_the_calls_time(command: Callable[..., Called], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(calls.time, "monotonic", lambda: now[0])

    def slow(request: Request, stdout: Sink, stderr: Sink) -> Exit:
        now[0] += 3
        return Exit(code=0)

    called = command(slow, Exit(code=0), transform="tidy", limits={"timeout": 10})
    called()
    assert [request.timeout for request in called.launcher.requests] == [None, 7]
    called = command(slow, Exit(code=0), transform="tidy", limits={"timeout": 10})
    called(timeout=3.01)
    assert called.launcher.requests[0].timeout == 3.01
    assert called.launcher.requests[1].timeout == 0.05
    called = command(slow, Exit(code=0), transform="tidy")
    called()
    assert [request.timeout for request in called.launcher.requests] == [None, None]


def test_a_transform_is_skipped_on_failure_and_what_was_kept_for_it_is_shown(command: Callable[..., Called]) -> None:
    called = command(printing(f"partial {SECRET}\n".encode(), exit=Exit(code=3)), transform="tidy")
    outcome = called()
    assert len(called.launcher.requests) == 1
    assert (outcome.failure, outcome.stdout) == ("failed with exit code 3", "partial [redacted:TOKEN]\n")
    assert called.text("stdout") == "partial [redacted:TOKEN]\n"
    assert called.world.box.call("t").stdout == "partial [redacted:TOKEN]\n"


def test_a_transform_that_fails_says_so_and_keeps_what_it_printed(command: Callable[..., Called]) -> None:
    exit = Exit(code=4, notes=("a note",))
    called = command(printing(b"in\n"), printing(b"half\n", (b"why\n",), exit=exit), transform="tidy")
    outcome = called()
    assert (outcome.ok, outcome.value, outcome.failure) == (False, None, "failed in transform: it failed with exit code 4")
    assert (outcome.exit_code, outcome.stdout, outcome.stderr, outcome.notes) == (4, "half\n", "why\n", ("a note",))
    stopped = command(printing(b"in\n"), Exit(signal=15, stopped="timeout"), transform="tidy")()
    assert (stopped.failure, stopped.stopped) == ("failed in transform: it was stopped at its time limit (limits.timeout)", "timeout")


def test_output_too_large_for_a_transform_is_a_failure_and_never_a_part_of_it(command: Callable[..., Called], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "TRANSFORM_BYTES", 10)
    assert command(printing(b"12345", b"67890"), Exit(code=0), transform="tidy")().ok
    called = command(printing(b"12345", b"678901"), transform="tidy")
    outcome = called()
    assert outcome.failure == "printed 11 bytes and transform takes at most 10; print less"
    assert outcome.stdout == called.text("stdout") == "12345678901"
    assert len(called.launcher.requests) == 1


def test_a_transform_whose_template_fails_is_a_failure_of_the_call(command: Callable[..., Called]) -> None:
    called = command(printing(b"in\n"), transform="jq {{ x | sum }}", params=[{"name": "x"}])
    outcome = called({"x": "an argument"})
    assert outcome.failure == "failed: Tool 't': transform: the template failed with TypeError"
    assert outcome.stdout == "in\n"


def test_the_transform_of_a_function_gets_its_result_as_json_unredacted_and_its_prints_are_shown(function: Callable[..., Called]) -> None:
    def answer(request: Request, stdout: Sink, stderr: Sink) -> Exit:
        stdout(b"noise\n")
        return Exit(code=0, result=frame({"ok": True, "value": {"t": SECRET, "half": "\ud800"}}))

    called = function(answer, printing(b"made\n"), transform="tidy")
    outcome = called()
    assert called.launcher.requests[1].stdin == b'{"t": "%s", "half": "\\ud800"}' % SECRET.encode()
    assert called.launcher.requests[1].environ["PYTHONPATH"] == str(called.world.folder)
    assert (outcome.value, outcome.returned, outcome.stdout) == ("made\n", False, "made\n")
    assert called.text("stdout") == "noise\nmade\n"


def test_a_number_that_no_json_holds_is_a_failure_of_the_transform(function: Callable[..., Called]) -> None:
    answer = b'{"ok": true, "value": NaN}'
    called = function(Exit(code=0, result=b"%08x\n" % len(answer) + answer), transform="tidy")
    outcome = called()
    assert (outcome.ok, outcome.failure) == (
        False,
        "returned what transform cannot take: a number of too many digits, or too deep a nesting",
    )
    assert len(called.launcher.requests) == 1


def test_LEAK_20_a_call_shows_no_value_when_it_is_printed(command: Callable[..., Called], monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    real = calls.run
    monkeypatch.setattr(calls, "run", lambda call, **more: (seen.append(repr(call)), real(call, **more))[1])
    command(printing(SECRET.encode()), params=[{"name": "x"}])({"x": "argument-value"})
    assert SECRET not in seen[0]
    assert "argument-value" not in seen[0]


def test_a_function_that_found_no_memory_is_told_its_limit(function: Callable[..., Called]) -> None:
    answer: dict[str, object] = {"ok": False, "error": "MemoryError", "traceback": ""}
    assert function(answer, exit=Exit(code=1), limits={"mem_mb": 2000})().notes == ("it may take 2,000 MiB (limits.mem_mb)",)
    assert function(answer, exit=Exit(code=1))().notes == ()


def test_a_time_limit_is_told_in_seconds_and_whose_it_is(command: Callable[..., Called]) -> None:
    exit = Exit(signal=15, stopped="timeout")
    assert command(exit, limits={"timeout": 90})().failure == "was stopped at its time limit, 90 s (limits.timeout)"
    assert command(exit, limits={"timeout": 90})(timeout=2.5).failure == "was stopped at its time limit, 2.5 s (of this call)"
