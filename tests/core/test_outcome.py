"""SPEC 7.12: what a call gave back, and how its end is told."""

from __future__ import annotations

import json
import signal

import pytest

from mcc_jupyter.core.errors import ToolFailed
from mcc_jupyter.core.outcome import Outcome, describe_exit, signal_name

EXITS = [
    (1, None, "failed with exit code 1"),
    (3, None, "failed with exit code 3"),
    (126, None, "failed with exit code 126 (not executable)"),
    (127, None, "failed with exit code 127 (command not found)"),
    (128, None, "failed with exit code 128"),
    (139, None, "failed with exit code 139 (killed by signal 11, SIGSEGV)"),
    (141, None, "failed with exit code 141 (killed by signal 13, SIGPIPE)"),
    (137, None, "failed with exit code 137 (killed by signal 9, SIGKILL)"),
    (255, None, "failed with exit code 255"),
    (None, 11, "was killed by signal 11 (SIGSEGV)"),
    (None, 9, "was killed by signal 9 (SIGKILL)"),
    (None, 6, "was killed by signal 6 (SIGABRT)"),
    (None, 40, "was killed by signal 40 (signal 40)"),
]


@pytest.mark.parametrize(("code", "number", "text"), EXITS, ids=[f"PROC-19 {code} {number}" for code, number, _ in EXITS])
def test_an_exit_is_told_in_words(code: int | None, number: int | None, text: str) -> None:
    assert describe_exit(code, number) == text


def test_a_signal_without_a_name_is_told_by_its_number() -> None:
    assert signal_name(signal.SIGTERM) == "SIGTERM"
    assert signal_name(99) == "signal 99"


def test_an_outcome_that_succeeded_is_itself() -> None:
    outcome = Outcome("t", ok=True, value=1)
    assert outcome.raise_for_failure() is outcome


def test_an_outcome_that_failed_raises_with_its_failure_and_brings_itself() -> None:
    outcome = Outcome("t", ok=False, failure="failed with exit code 3", exit_code=3, stdout="partial")
    with pytest.raises(ToolFailed) as caught:
        outcome.raise_for_failure()
    assert str(caught.value) == "Tool 't' failed with exit code 3"
    assert (caught.value.tool, caught.value.outcome) == ("t", outcome)


def test_an_outcome_shows_its_tool_and_state_and_nothing_it_holds() -> None:
    held = {"value": "SENTINEL", "stdout": "SENTINEL", "stderr": "SENTINEL", "notes": ("SENTINEL",), "traceback": "SENTINEL"}
    assert repr(Outcome("t", ok=True, **held)) == "<Outcome t: ok>"  # type: ignore[arg-type]
    assert repr(Outcome("t", ok=False, failure="was interrupted", **held)) == "<Outcome t: was interrupted>"  # type: ignore[arg-type]


JSON = [
    ('{"a": [1, null]}\n', {"a": [1, None]}),
    (" 3 ", 3),
    ('"text"', "text"),
    ("null", None),
]


@pytest.mark.parametrize(("text", "value"), JSON)
def test_the_text_of_a_command_is_parsed_as_json(text: str, value: object) -> None:
    assert Outcome("t", ok=True, value=text).json() == value


@pytest.mark.parametrize("value", ["plain text", '{"a": 1}', {"a": 1}, [1], 3, None, True])
def test_what_a_function_returned_is_its_json_already(value: object) -> None:
    assert Outcome("t", ok=True, value=value, returned=True).json() == value


NO_JSON = [
    ("SENTINEL", "(line 1)"),
    ("", "(line 1)"),
    ('{"a": 1}\nSENTINEL', "(line 2)"),
    ('{\n"a": SENTINEL}', "(line 2)"),
    ("[" * 100_000, "(its text)"),
    ("1" * 5000, "(its text)"),
]


@pytest.mark.parametrize(("text", "where"), NO_JSON, ids=["a word", "nothing", "a second line", "inside", "too deep", "too long a number"])
def test_text_that_is_no_json_is_told_by_its_line(text: str, where: str) -> None:
    outcome = Outcome("t", ok=True, value=text)
    with pytest.raises(ToolFailed) as caught:
        outcome.json()
    assert str(caught.value) == f"Tool 't': its output is no JSON {where}"
    assert caught.value.outcome is outcome
    assert caught.value.__suppress_context__


def test_an_outcome_that_failed_has_no_json() -> None:
    with pytest.raises(ToolFailed) as caught:
        Outcome("t", ok=False, failure="failed with exit code 3").json()
    assert str(caught.value) == "Tool 't' failed with exit code 3"


CUT = (
    "Tool 't': its output is longer than limits.output_mb and is not whole; raise the limit, "
    "or write all of it to a file by `mcc.call(…, spill=FILE)`"
)


def test_output_that_was_cut_is_not_parsed_even_where_what_is_left_would_be_json() -> None:
    outcome = Outcome("t", ok=True, value="[1]", cut=True)
    with pytest.raises(ToolFailed) as caught:
        outcome.json()
    assert str(caught.value) == CUT
    assert caught.value.outcome is outcome


def test_a_value_of_which_the_middle_is_gone_is_not_given_as_a_whole_one() -> None:
    outcome = Outcome("t", ok=True, value="head\n[… 1 bytes omitted …]\ntail", cut=True)
    with pytest.raises(ToolFailed) as caught:
        outcome.whole()
    assert str(caught.value) == CUT
    assert caught.value.outcome is outcome
    assert repr(outcome) == "<Outcome t: ok, cut>"
    assert Outcome("t", ok=True, value="all").whole() == "all"
    assert Outcome("t", ok=True, value=[1], returned=True, cut=True).whole() == [1]
    with pytest.raises(ToolFailed, match="Tool 't' was interrupted"):
        Outcome("t", ok=False, failure="was interrupted").whole()


def test_a_value_that_was_returned_is_whole_although_the_prints_beside_it_were_cut() -> None:
    assert Outcome("t", ok=True, value={"a": 1}, returned=True, cut=True).json() == {"a": 1}
    assert Outcome("t", ok=True, value="text", returned=True, cut=True).json() == "text"


def test_a_document_is_json_that_every_reader_takes() -> None:
    value = {"a\ud800": [float("nan"), float("inf"), 1.5, True, None, ("x\udc00y", "\U0001f600")]}
    outcome = Outcome("t", ok=True, value=value, returned=True, stdout="out\ud800", notes=("n",), seconds=1.5, redactions={"K": 2})
    document = outcome.document()

    assert json.loads(json.dumps(document, allow_nan=False).encode()) == document
    assert document["result"] == {"a\ufffd": ["nan", "inf", 1.5, True, None, ["x\ufffdy", "\U0001f600"]]}
    assert (document["status"], document["stdout"], document["notes"], document["duration_s"], document["redactions"]) == ("ok", "out\ufffd", ["n"], 1.5, {"K": 2})
    assert document["report"] is None


@pytest.mark.parametrize(("stopped", "status"), [(None, "failed"), ("timeout", "timeout"), ("interrupt", "interrupt")])
def test_a_documents_status_is_how_it_ended(stopped: str | None, status: str) -> None:
    document = Outcome("t", ok=False, value="text", stopped=stopped, failure="why").document()
    assert (document["status"], document["failure"], document["result"]) == (status, "why", None)
