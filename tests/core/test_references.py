from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcc_jupyter.core.references import bake, bake_data, mentioned, scan
from mcc_jupyter.core.tool import Reference
from mcc_jupyter.core.values import ValueClass

PARENT = {
    "A": "va",
    "AB": "vab",
    "NUM": "007",
    "EMPTY": "",
    "_x1": "vx",
    "BLANK": " ",
    "DSN": "pass://v/i",
    "S": "s://v/i",
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("$A ${A}", "va va", id="SUB-01"),
        pytest.param("${NOPE} $NOPE", "${NOPE} $NOPE", id="SUB-02"),
        pytest.param("${NUM}", "007", id="SUB-09-a-string-stays-a-string"),
        pytest.param("${EMPTY}", "", id="SUB-09-an-empty-value-stays-empty"),
        pytest.param("${NOPE|d} ${NOPE:-d}", "d d", id="SUB-15-unset"),
        pytest.param("${A|d} ${A:-d}", "va va", id="SUB-15-set"),
        pytest.param("${EMPTY|d} ${EMPTY:-d}", " d", id="SUB-15-empty"),
        pytest.param("${NOPE|} ${NOPE:-}", " ", id="an-empty-default"),
        pytest.param("${NOPE|a|b:c}", "a|b:c", id="a-default-is-any-text"),
        pytest.param("${NOPE|a}b}", "ab}", id="a-default-ends-at-the-first-brace"),
        pytest.param("${NOPE|$A} ${NOPE:-<${A}>}", "va <va>", id="a-default-may-refer"),
        pytest.param("${NOPE|${NOPE:-${A}}}", "va", id="and-so-on"),
        pytest.param("${A|${NOPE}}", "va", id="an-unused-default-is-nothing"),
        pytest.param("$A$AB$ABC", "vavab$ABC", id="longest-match"),
        pytest.param("$_x1-$A.b", "vx-va.b", id="a-name-ends-where-it-cannot-go-on"),
        pytest.param("$Aé", "vaé", id="names-are-ascii"),
        pytest.param("$$A $${A} $$$A $$", "$A ${A} $va $", id="two-dollars-are-one"),
        pytest.param("$5 $(cmd) ${A%x} ${ A } ${} $ ${1A} ${A-d} ${A:=d}", "$5 $(cmd) ${A%x} ${ A } ${} $ ${1A} ${A-d} ${A:=d}", id="all-else-stays"),
        pytest.param("${A", "${A", id="a-brace-that-never-closes"),
        pytest.param("x ${NOPE|$A y", "x ${NOPE|va y", id="a-default-that-never-ends"),
        pytest.param("${B|${C|$A", "${B|${C|va", id="two-that-never-end"),
        pytest.param("a } b", "a } b", id="a-brace-alone"),
    ],
)  # fmt: skip
def test_a_string_field_is_baked(text: str, value: str) -> None:
    baked = bake(text, PARENT)
    assert (baked.written, baked.value) == (text, value)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("a: b", id="SUB-05"),
        pytest.param("x #y", id="SUB-06"),
        pytest.param("l1\nexec2: pwn", id="SUB-07"),
        pytest.param('he said "hi"', id="SUB-08-double"),
        pytest.param("it's", id="SUB-08-single"),
        pytest.param("yes", id="SUB-09"),
        pytest.param("{{ 7*7 }}", id="SUB-17"),
        pytest.param("$A ${A} $$", id="SPEC-3.3-never-a-reference"),
    ],
)
def test_a_value_is_data(value: str) -> None:
    assert bake("<${V}>", {"V": value, "A": "va"}).value == f"<{value}>"
    assert bake_data({"k": ["$V"]}, {"V": value, "A": "va"})[0] == {"k": [value]}


def test_a_text_lists_what_it_used_and_what_it_lacked_each_once_and_in_order() -> None:
    baked = bake("$B $A ${A} ${NOPE} $NOPE ${X|$Y} ${EMPTY:-$A}", {"A": "1", "B": "2", "EMPTY": ""})
    assert baked.references == (Reference("B", "2"), Reference("A", "1"))
    assert baked.unresolved == ("NOPE", "Y")


def test_a_default_that_was_not_needed_lists_nothing() -> None:
    baked = bake("${A|$NOPE$B}", {"A": "1", "B": "2"})
    assert (baked.references, baked.unresolved) == ((Reference("A", "1"),), ())


def test_no_representation_holds_a_value() -> None:
    assert "s3cret" not in repr(bake("${A}", {"A": "s3cret"}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ValueClass.EMPTY),
        ("${EMPTY}", ValueClass.EMPTY),
        ("${BLANK}", ValueClass.BLANK),
        ("${DSN}", ValueClass.UNRESOLVED),
        ("x${DSN}", ValueClass.UNRESOLVED),
        ("${EMPTY}${DSN}", ValueClass.UNRESOLVED),
        ("pass://$A", ValueClass.UNRESOLVED),
        ("pas${S}", ValueClass.SET),
        ("$$", ValueClass.SET),
        ("${NOPE}", ValueClass.SET),
        (" ${BLANK} ", ValueClass.BLANK),
    ],
)
def test_the_class_comes_from_the_parts_and_never_from_the_composed_text(text: str, expected: ValueClass) -> None:
    assert bake(text, PARENT).value_class is expected


def test_data_is_baked_in_lists_and_values_but_not_in_keys_or_other_types() -> None:
    data = {"$A": ["$A", 1, None, {"k": "${NOPE}"}], "n": 1.5, "b": "${NUM}$A"}
    baked, references, unresolved = bake_data(data, PARENT)
    assert baked == {"$A": ["va", 1, None, {"k": "${NOPE}"}], "n": 1.5, "b": "007va"}
    assert references == (Reference("A", "va"), Reference("NUM", "007"))
    assert unresolved == ("NOPE",)
    assert data["$A"] == ["$A", 1, None, {"k": "${NOPE}"}]


def test_SUB_04_only_what_is_a_string_after_parsing_is_looked_at() -> None:
    assert bake_data({"v": 1}, {}) == ({"v": 1}, (), ())


def test_SUB_19_and_SUB_20_nothing_but_the_given_parent_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "shadow")
    assert bake("${API_KEY}", {}).value == "${API_KEY}"
    assert bake("${API_KEY}", {"API_KEY": "real", "env_file": "/x"}).value == "real"


def test_SUB_23_the_value_is_the_one_of_the_declaration() -> None:
    parent = {"X": "old"}
    baked = bake("${X}", parent)
    parent["X"] = "new"
    assert (baked.value, baked.references) == ("old", (Reference("X", "old"),))


@given(st.text())
def test_a_text_without_a_dollar_is_itself(text: str) -> None:
    plain = text.replace("$", "")
    baked = bake(plain, PARENT)
    assert (baked.value, baked.references, baked.unresolved) == (plain, (), ())


@given(st.text(alphabet="$A{}|:-B \n"))
def test_baking_never_raises_and_with_an_empty_parent_only_two_dollars_and_defaults_change(text: str) -> None:
    baked = bake(text, {})
    assert baked.references == ()
    if "$$" not in text and "|" not in text and ":-" not in text:
        assert baked.value == text


@pytest.mark.parametrize(
    ("value", "names"),
    [("$A ${B} $$C ${ D }", ["A", "B"]), ("${A:-${B|$C}}", ["C", "B", "A"]), (["$A", {"k": "${B}", "$K": 1}], ["A", "B"]), (5, []), ("", []), ("${A|", [])],
)
def test_what_a_value_mentions_is_what_any_parent_could_give(value: object, names: list[str]) -> None:
    assert list(mentioned(value)) == names


@given(st.text(alphabet="$AB{}|:-"))
def test_whatever_is_baked_is_mentioned(text: str) -> None:
    for parent in ({}, {"A": "1", "AA": "2", "B": ""}):
        baked = bake(text, parent)
        assert {*baked.unresolved, *(reference.name for reference in baked.references)} <= set(mentioned(text))


def test_a_long_text_of_defaults_that_never_end_is_read_in_one_pass() -> None:
    text = "${A|" * 5000
    assert "".join(scan(text, lambda *_: [""])) == text
    assert bake("${N|" * 5000 + "}" * 5000, {}).value == ""
