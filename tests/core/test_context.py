"""The session as variables: what a tool of each kind gets, and what goes into the private file instead."""

from __future__ import annotations

import datetime as dt
import enum
import errno
import json
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcc_jupyter.core.context import TOTAL_LIMIT, as_variable, build, encode, encode_bytes, reject
from mcc_jupyter.core.resolution import Context
from mcc_jupyter.core.values import VARIABLE_LIMIT

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=4), inner, max_size=3),
    max_leaves=8,
)

STORE: dict[str, object] = {
    "t": True,
    "n": None,
    "i": 5,
    "f": 1.5,
    "s": "a\nb",
    "l": [1],
    "d": {"k": "é"},
    "big": 2**70,
}


def test_ENV_08_exec_gets_one_variable_an_entry_and_no_blob() -> None:
    assert build("exec", STORE).variables == {
        "MCC_CTX_T": "true",
        "MCC_CTX_N": "null",
        "MCC_CTX_I": "5",
        "MCC_CTX_F": "1.5",
        "MCC_CTX_S": "a\nb",
        "MCC_CTX_L": "[1]",
        "MCC_CTX_D": '{"k": "é"}',
        "MCC_CTX_BIG": "1180591620717411303424",
    }
    assert build("curl", STORE) == build("exec", STORE)


def test_fn_gets_one_json_object_and_no_variable_an_entry() -> None:
    built = build("fn", STORE)
    assert built == Context({"MCC_CTX": encode(STORE)})
    assert json.loads(built.variables["MCC_CTX"]) == STORE


def test_an_empty_store_is_nothing_for_exec_and_an_empty_object_for_fn() -> None:
    assert build("exec", {}) == Context()
    assert build("fn", {}) == Context({"MCC_CTX": "{}"})


def filled(size: int) -> dict[str, object]:
    """A store whose JSON has *size* bytes."""
    return {"k": "x" * (size - len('{"k": ""}'))}


def starts(environ: dict[str, str]) -> bool:
    """Whether this machine starts a process with these variables."""
    try:
        return subprocess.run(["/bin/true"], env=environ).returncode == 0
    except OSError as error:
        if error.errno != errno.E2BIG:
            raise
        return False


@pytest.mark.parametrize(("size", "fits"), [(131_063, True), (131_064, False)])
def test_ENV_09_the_boundary_of_one_variable_is_the_one_of_a_real_child(size: int, fits: bool) -> None:
    store = filled(size)
    blob = encode(store)
    assert len(blob) == size
    assert build("fn", store) == (
        Context({"MCC_CTX": blob}) if fits else Context({}, ("MCC_CTX",), blob.encode())
    )
    assert starts({"MCC_CTX": blob}) is fits


@pytest.mark.parametrize(("size", "fits"), [(VARIABLE_LIMIT - len("MCC_CTX_K="), True), (VARIABLE_LIMIT - len("MCC_CTX_K=") + 1, False)])
def test_the_boundary_counts_the_name_of_an_exec_variable(size: int, fits: bool) -> None:
    built = build("exec", {"k": "x" * size, "other": 1})
    assert ("MCC_CTX_K" in built.variables) is fits
    assert built.oversized == (() if fits else ("MCC_CTX_K",))
    assert starts({"MCC_CTX_K": "x" * size}) is fits


def test_the_boundary_counts_bytes_and_not_characters() -> None:
    assert build("exec", {"k": "€" * 43_687}).oversized == ()  # 131,061 bytes and the name's 10
    assert build("exec", {"k": "€" * 43_688}).oversized == ("MCC_CTX_K",)


def test_what_is_too_large_leaves_the_rest_where_it_was_and_the_file_holds_the_whole_store() -> None:
    store = {"user": "ana", "blob": "x" * 200_000, "rows": 3}
    assert build("exec", store) == Context(
        {"MCC_CTX_USER": "ana", "MCC_CTX_ROWS": "3"}, ("MCC_CTX_BLOB",), encode(store).encode()
    )


def test_a_text_with_a_nul_cannot_be_a_variable_and_stands_in_the_file() -> None:
    store = {"k": "a\0b", "z": 1}
    assert build("exec", store) == Context({"MCC_CTX_Z": "1"}, ("MCC_CTX_K",), b'{"k": "a\\u0000b", "z": 1}')
    assert build("fn", store) == Context({"MCC_CTX": '{"k": "a\\u0000b", "z": 1}'})


def test_all_variables_together_stay_below_the_total_and_the_largest_go_first() -> None:
    store: dict[str, object] = {name: name * size for name, size in (("a", 90_000), ("b", 100_000), ("c", 80_000), ("d", 10))}
    built = build("exec", store)
    assert built.oversized == ("MCC_CTX_B",)
    assert list(built.variables) == ["MCC_CTX_A", "MCC_CTX_C", "MCC_CTX_D"]
    assert built.document == encode(store).encode()


def test_the_total_is_reached_exactly_before_anything_is_left_out() -> None:
    names = ["a", "b", "c", "d"]
    share = TOTAL_LIMIT // len(names) - len("MCC_CTX_A=")
    full: dict[str, object] = dict.fromkeys(names, "x" * share)
    assert build("exec", full).oversized == ()
    assert build("exec", {**full, "d": "x" * (share + 1)}).oversized == ("MCC_CTX_D",)


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 140_000).map(lambda size: "x" * size), max_size=6))
def test_no_store_can_stop_a_process_from_starting(store: dict[str, object]) -> None:
    for kind in ("exec", "fn"):
        built = build(kind, store)
        sizes = [len(name) + 1 + len(value) for name, value in built.variables.items()]
        assert sum(sizes) <= TOTAL_LIMIT
        assert max(sizes, default=0) <= VARIABLE_LIMIT
        assert (built.document is None) == (not built.oversized)
        wanted = ["MCC_CTX"] if kind == "fn" else [f"MCC_CTX_{key.upper()}" for key in store]
        assert sorted([*built.variables, *built.oversized]) == sorted(wanted)


def test_a_context_shows_no_value_when_it_is_printed() -> None:
    assert "hidden-value" not in repr(build("exec", {"k": "hidden-value", "big": "hidden-value" * 20_000}))


@given(JSON)
def test_every_json_value_is_accepted_and_comes_back_as_it_was(value: object) -> None:
    assert reject(value) is None
    text = as_variable(value)
    assert (text if isinstance(value, str) else json.loads(text)) == value


class Colour(enum.Enum):
    RED = "red"


ring: list[object] = []
ring.append(ring)
deep: object = 1
for _ in range(100_000):
    deep = [deep]

REJECTED = [
    pytest.param(float("nan"), "`k` is not a finite number", id="ENV-08 NaN"),
    pytest.param([1, {"a": [float("inf")]}], "`k`[1][…][0] is not a finite number", id="infinity, deep inside"),
    pytest.param({1: "a"}, "`k` has a key of type int; JSON keys are text", id="a number as key"),
    pytest.param({None: "a"}, "`k` has a key of type NoneType; JSON keys are text", id="null as key"),
    pytest.param([{"a": {"b": {2.5: 1}}}], "`k`[0][…][…] has a key of type float; JSON keys are text", id="a key deep inside"),
    pytest.param("\ud800", "`k` holds text that is not valid Unicode", id="half a character"),
    pytest.param({"\udcff": 1}, "a key of `k` holds text that is not valid Unicode", id="half a character in a key"),
    pytest.param(b"x", "`k` is of type bytes, which is no JSON", id="bytes"),
    pytest.param({1, 2}, "`k` is of type set, which is no JSON", id="set"),
    pytest.param([dt.date(2024, 1, 2)], "`k`[0] is of type date, which is no JSON", id="date"),
    pytest.param(Colour.RED, "`k` is of type Colour, which is no JSON", id="enum"),
    pytest.param(1j, "`k` is of type complex, which is no JSON", id="complex"),
    pytest.param(object(), "`k` is of type object, which is no JSON", id="object"),
    pytest.param(10**4300, "`k` is a number of too many digits", id="more digits than Python writes"),
    pytest.param([-(10**5000)], "`k`[0] is a number of too many digits", id="negative, with too many digits"),
    pytest.param(ring, "`k` is nested too deeply", id="a list that holds itself"),
    pytest.param(deep, "`k` is nested too deeply", id="deeper than Python goes"),
]


@pytest.mark.parametrize(("value", "why"), REJECTED)
def test_what_is_no_json_is_rejected_with_its_place_and_without_its_value(value: object, why: str) -> None:
    assert reject(value, "`k`") == why


def test_a_place_has_a_name_without_being_given_one() -> None:
    assert reject([b""]) == "value[0] is of type bytes, which is no JSON"


@pytest.mark.parametrize("value", [2**70, 10**4000, -(2**70), 0.1, 1e300, (1, "a"), {"": {}}, "", "\0", True])
def test_what_is_json_after_all_is_accepted(value: object) -> None:
    assert reject(value) is None
    encode(value)


def test_json_as_bytes_is_utf_8_and_half_a_character_is_an_escape() -> None:
    assert encode_bytes({"k": "é"}) == '{"k": "é"}'.encode()
    assert encode_bytes(["\ud800é"]) == b'["\\ud800\\u00e9"]'
    with pytest.raises(ValueError, match="Out of range float values are not JSON compliant"):
        encode_bytes(["\ud800", float("inf")])


def test_json_is_written_in_one_way() -> None:
    assert encode({"k": ["é", 1.0, None, True]}) == '{"k": ["é", 1.0, null, true]}'
    with pytest.raises(ValueError, match="Out of range float values are not JSON compliant"):
        encode(float("nan"))
