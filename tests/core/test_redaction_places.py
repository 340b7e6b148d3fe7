"""Where a redactor would set its marks, in characters."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcc_jupyter.core.redact import Redactor

VALUE = "correct-horse"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("nothing", []),
        (f"a {VALUE} b", [(2, 15, "PW")]),
        (f"é😀{VALUE}ü{VALUE}", [(2, 15, "PW"), (16, 29, "PW")]),
        (f"\ud83d{VALUE}\udfff\ud800é{VALUE}", [(1, 14, "PW"), (17, 30, "PW")]),
        (f"\udc80{VALUE}", [(1, 14, "PW")]),
    ],
)
def test_a_place_is_counted_in_characters(text: str, expected: list[tuple[int, int, str]]) -> None:
    assert Redactor({"PW": VALUE}).found(text) == expected


def test_overlapping_secrets_are_one_place_with_the_name_of_the_first() -> None:
    redactor = Redactor({"LATE": "horse-battery", "EARLY": "correct-horse", "NEXT": "staple-staple"})

    assert redactor.found("xcorrect-horse-batterystaple-staple") == [(1, 22, "EARLY"), (22, 35, "NEXT")]
    assert Redactor({}).found("correct-horse") == []


@given(st.lists(st.sampled_from([VALUE, "horse-battery", "é", "\n", " x", "\udfff", "correct", base64.b64encode(VALUE.encode()).decode()])).map("".join))
def test_marks_at_the_places_give_the_redacted_text(text: str) -> None:
    redactor = Redactor({"A": VALUE, "B": "horse-battery"})
    pieces, at = [], 0
    for start, end, name in redactor.found(text):
        pieces += [text[at:start], f"[redacted:{name}]"]
        at = end

    assert "".join([*pieces, text[at:]]) == redactor.text(text)
