"""SPEC 14: one class for each party that has to act; texts are lines, and IPython shows them alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcc_jupyter.core import errors
from mcc_jupyter.core.errors import (
    ArgumentError,
    Busy,
    DeclarationError,
    InternalError,
    Interrupted,
    MccError,
    PolicyError,
    Problem,
    SecretError,
    ToolFailed,
    ToolUnavailable,
    UnknownTool,
    near,
)

CODES = {
    MccError: ("mcc-error", 1, 500),
    DeclarationError: ("declaration", 2, 422),
    ArgumentError: ("argument", 2, 422),
    UnknownTool: ("unknown-tool", 3, 404),
    ToolUnavailable: ("unavailable", 4, 409),
    ToolFailed: ("failed", 5, 502),
    SecretError: ("secret", 6, 409),
    PolicyError: ("policy", 7, 403),
    Busy: ("busy", 75, 429),
    InternalError: ("internal", 70, 500),
}


def test_every_error_has_a_code_an_exit_status_and_an_http_status() -> None:
    classes = {value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)}
    assert {kind: (kind.code, kind.exit_status, kind.http_status) for kind in classes} == CODES
    assert all(issubclass(kind, MccError) for kind in classes)
    assert len({kind.code for kind in classes}) == len(classes)


def test_a_problem_is_its_path_and_its_message() -> None:
    assert str(Problem("tools[2].params[0].type", "no such type")) == "tools[2].params[0].type: no such type"
    assert str(Problem("", "the whole is wrong")) == "the whole is wrong"


def test_a_problem_under_a_file_keeps_its_path_behind_it() -> None:
    assert Problem("tools[2].name", "is missing").under("a.yaml") == Problem("a.yaml: tools[2].name", "is missing")
    assert Problem("", "no tool").under("a.yaml") == Problem("a.yaml", "no tool")


def test_a_declaration_error_lists_all_problems_one_a_line() -> None:
    problems = (Problem("name", "is missing"), Problem("", "no tool"))
    error = DeclarationError(*problems)
    assert str(error) == "name: is missing\nno tool"
    assert error.problems == problems
    assert str(DeclarationError()) == ""


def test_an_unavailable_tool_is_told_by_its_notice_and_reasons() -> None:
    error = ToolUnavailable("Tool 'linear' is unavailable; missing required environment: K", tool="linear", reasons=("missing",))
    assert str(error) == "Tool 'linear' is unavailable; missing required environment: K"
    assert (error.tool, error.reasons) == ("linear", ("missing",))
    assert ToolUnavailable("x", tool="t").reasons == ()


def test_a_failed_tool_brings_its_outcome_and_its_text_shows_nothing_of_it() -> None:
    error = ToolFailed("Tool 't' failed with exit code 3", tool="t", outcome={"stdout": "output"})
    assert str(error) == "Tool 't' failed with exit code 3"
    assert (error.tool, error.outcome) == ("t", {"stdout": "output"})
    assert "output" not in repr(error)
    assert ToolFailed("x", tool="t").outcome is None


@pytest.mark.parametrize("mode", ["Plain", "Context", "Verbose", "Minimal"])
def test_LEAK_01_ipython_shows_the_text_alone_in_every_xmode(
    mode: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    shell = InteractiveShell(ipython_dir=str(tmp_path), config=Config(HistoryAccessor={"enabled": False}))
    try:
        shell.InteractiveTB.set_mode(mode)
        shell.user_ns["error"] = ArgumentError("Tool 't': argument `n` is missing")
        shell.run_cell("def call():\n    PW = 'SENTINEL'\n    raise error\ncall()")
        shell.run_line_magic("tb", "")
    finally:
        InteractiveShell.clear_instance()
    shown = "".join(capsys.readouterr())
    assert "ArgumentError: Tool 't': argument `n` is missing" in shown
    assert "SENTINEL" not in shown
    assert "Traceback" not in shown


NEAR = [
    ("env_passthru", ["env", "env_passthrough", "exec"], " (did you mean `env_passthrough`?)"),
    ("en", ["env", "name"], " (did you mean `env`?)"),
    ("nmae", ["name", "env"], " (did you mean `name`?)"),
    ("zzz", ["name", "env"], ""),
    ("name", [], ""),
    ("env", ["env_passthrough"], ""),
    ("tools", {"tool": 1, "env": 2}, " (did you mean `tool`?)"),
]


@pytest.mark.parametrize(("word", "known", "hint"), NEAR)
def test_a_near_match_is_named_and_a_far_one_is_not(word: str, known: object, hint: str) -> None:
    assert near(word, known) == hint


def test_what_is_no_text_is_near_what_is_written_like_it() -> None:
    assert near(12345, ["1234"]) == " (did you mean `1234`?)"
    assert near(None, []) == ""


def test_how_near_a_match_must_be_is_the_callers_to_say() -> None:
    assert near("LINEAR_API_KEY", ["LINEAR_KEY"]) == ""
    assert near("LINEAR_API_KEY", ["LINEAR_KEY"], reach=5) == " (did you mean `LINEAR_KEY`?)"
    assert near("WEATHER_API_KEY", ["LINEAR_API_KEY"]) == " (did you mean `LINEAR_API_KEY`?)"
    assert near("WEATHER_API_KEY", ["LINEAR_API_KEY"], cutoff=0.8) == ""


def test_a_near_match_is_sought_among_the_first_of_very_many() -> None:
    many = [f"tool_{number:05d}" for number in range(5000)]
    assert near("tool_00001x", many) == " (did you mean `tool_00001`?)"
    assert near("qqqqqqqqqq", many) == ""


def test_an_interrupt_is_a_KeyboardInterrupt_of_one_line_that_keeps_the_outcome() -> None:
    outcome = object()

    interrupt = Interrupted("Tool 'crunch' was interrupted", outcome=outcome)

    assert isinstance(interrupt, KeyboardInterrupt)
    assert type(interrupt).__name__ == "KeyboardInterrupt"
    assert interrupt.outcome is outcome
    assert interrupt._render_traceback_() == ["KeyboardInterrupt: Tool 'crunch' was interrupted"]
