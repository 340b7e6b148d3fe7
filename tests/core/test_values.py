"""Value classes: the table of SPEC 11.2, and how texts are composed of parts known by class only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcc_jupyter.core.values import VARIABLE_LIMIT, ValueClass, classify, compose

ABSENT, EMPTY, BLANK, FUNCTION, UNRESOLVED, OVERSIZED, SET = ValueClass


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ABSENT),
        ("", EMPTY),
        (" ", BLANK),
        ("\n\t \u00a0", BLANK),
        ("() { :; }", FUNCTION),
        ("()", FUNCTION),
        (" () { :; }", SET),
        ("pass://vault/item", UNRESOLVED),
        ("op://vault/item/field", UNRESOLVED),
        ("vault:secret/data/x#key", UNRESOLVED),
        ("vault://x", UNRESOLVED),
        ("keyring:service/user", UNRESOLVED),
        ("bws://x", UNRESOLVED),
        ("ref+vault://x", UNRESOLVED),
        ("see pass://x", SET),
        ("pass:", SET),
        ("pass: word", SET),
        ("https://h.test/", SET),
        ("op", SET),
        ("x", SET),
        ("x" * (VARIABLE_LIMIT - 1), SET),
        ("x" * VARIABLE_LIMIT, OVERSIZED),
        ("é" * (VARIABLE_LIMIT // 2), SET),
        ("é" * (VARIABLE_LIMIT // 2 + 1), OVERSIZED),
        ("\udcff" * VARIABLE_LIMIT, OVERSIZED),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_every_value_has_one_class(value: str | None, expected: ValueClass) -> None:
    assert classify(value) is expected


def test_the_classes_are_those_of_the_specification() -> None:
    assert [one.value for one in ValueClass] == [
        "absent", "empty", "blank", "shell function", "unresolved reference", "oversized", "set",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((), EMPTY),
        (("",), EMPTY),
        (("", EMPTY, ABSENT), EMPTY),
        ((SET,), SET),
        ((BLANK,), BLANK),
        ((BLANK, " ", EMPTY), BLANK),
        ((BLANK, "x"), SET),
        ((FUNCTION,), FUNCTION),
        (("f", FUNCTION), SET),
        ((UNRESOLVED,), UNRESOLVED),
        ((EMPTY, UNRESOLVED), UNRESOLVED),
        (("postgres://u:", UNRESOLVED, "@h"), UNRESOLVED),
        ((OVERSIZED, "x"), OVERSIZED),
        ((UNRESOLVED, OVERSIZED), OVERSIZED),
        (("op://", SET), UNRESOLVED),
        (("pass:", SET), SET),
        (("pas", SET), SET),
        ((SET, "pass://x"), SET),
        (("x" * VARIABLE_LIMIT, SET), OVERSIZED),
        (("pass://v", ""), UNRESOLVED),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_composed_text_has_the_class_its_parts_give(
    parts: tuple[str | ValueClass, ...], expected: ValueClass
) -> None:
    assert compose(iter(parts)) is expected


@given(st.text(max_size=12))
def test_one_literal_composed_is_the_literal_classified(text: str) -> None:
    assert compose([text]) is classify(text)


@given(st.sampled_from([EMPTY, BLANK, FUNCTION, UNRESOLVED, OVERSIZED, SET]))
def test_one_value_alone_keeps_its_class(value_class: ValueClass) -> None:
    assert compose([value_class]) is value_class
    assert compose(["", value_class, ""]) is value_class
