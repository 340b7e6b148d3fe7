"""The redactor: no chunking, overlap or alphabet lets a byte of a secret through, and nothing else is touched."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcc_jupyter.core.redact import Redactor
from mcc_jupyter.core.secret_forms import SHORTEST

KEY = "sk-live-0123456789"


def stream(secrets: dict[str, str], chunks: Sequence[bytes]) -> tuple[bytes, Counter[str]]:
    redactor = Redactor(secrets)
    out = redactor.stream()
    return b"".join([*(out.feed(chunk) for chunk in chunks), out.close()]), redactor.counts


def whole(secrets: dict[str, str], data: bytes) -> tuple[bytes, Counter[str]]:
    return stream(secrets, [data])


def covered(secrets: dict[str, str], data: bytes) -> list[bool]:
    """Which bytes of *data* belong to an occurrence of a secret, found the slow and obvious way."""
    found = [False] * len(data)
    for value in secrets.values():
        secret = value.encode("utf-8", "surrogateescape")
        for at in range(len(data) - len(secret) + 1):
            if data[at : at + len(secret)] == secret:
                found[at : at + len(secret)] = [True] * len(secret)
    return found


def expected(secrets: dict[str, str], data: bytes) -> bytes:
    """Each run of overlapping occurrences as one mark; what touches without overlap stays two (the model)."""
    spans: list[tuple[int, int, str]] = []
    for name, value in secrets.items():
        secret = value.encode("utf-8", "surrogateescape")
        spans += [
            (at, at + len(secret), name)
            for at in range(len(data) - len(secret) + 1)
            if data[at : at + len(secret)] == secret
        ]
    spans.sort(key=lambda span: (span[0], -span[1]))
    out, at, first = b"", 0, 0
    while first < len(spans):
        start, end, name = spans[first]
        following = first + 1
        while following < len(spans) and spans[following][0] < end:
            end = max(end, spans[following][1])
            following += 1
        out += data[at:start] + f"[redacted:{name}]".encode()
        at, first = end, following
    return out + data[at:]


# Secrets over a two-letter alphabet overlap, nest and begin one another all the time; the others bring UTF-8 and
# bytes that are no UTF-8.
NARROW = st.text("ab", min_size=SHORTEST, max_size=12)
WIDE = st.text(st.sampled_from("aé€😀\udcff\n"), min_size=SHORTEST, max_size=10)
SECRETS = st.lists(st.one_of(NARROW, WIDE), min_size=1, max_size=4, unique=True).map(
    lambda values: {f"S{at}": value for at, value in enumerate(values)}
)


@st.composite
def traffic(draw: st.DrawFn) -> tuple[dict[str, str], bytes, list[bytes]]:
    """Secrets, a text made of them and of their pieces, and the text cut into chunks."""
    secrets = draw(SECRETS)
    values = [value.encode("utf-8", "surrogateescape") for value in secrets.values()]
    pieces = st.one_of(
        st.sampled_from(values),
        st.sampled_from(values).flatmap(lambda v: st.integers(0, len(v)).map(lambda n: v[:n])),
        st.sampled_from(values).flatmap(lambda v: st.integers(0, len(v)).map(lambda n: v[n:])),
        st.binary(max_size=3),
        st.sampled_from([b"a", b"b", b"ab", b"\n", "€".encode()]),
    )
    data = b"".join(draw(st.lists(pieces, max_size=8)))
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    chunks = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    return secrets, data, chunks


@given(traffic())
@example(({"S0": "abcdefgh", "S1": "ghijklmn"}, b"abcdefghijklmn", [b"abcdefgh", b"ijklmn"]))
@example(({"S0": "abcdefgh", "S1": "abcdefghij"}, b"abcdefghij", [b"abcdefgh", b"ij"]))
@example(({"S0": "a" * 8, "S1": "a" * 9}, b"a" * 16, [b"a" * 9, b"", b"a" * 7]))
def test_redacting_any_chunking_equals_redacting_the_whole(case: tuple[dict[str, str], bytes, list[bytes]]) -> None:
    secrets, data, chunks = case
    assert stream(secrets, chunks) == whole(secrets, data)
    assert stream(secrets, [bytes([byte]) for byte in data]) == whole(secrets, data)


@given(traffic())
def test_redacting_the_whole_is_what_the_obvious_way_gives(case: tuple[dict[str, str], bytes, list[bytes]]) -> None:
    secrets, data, _ = case
    redacted, counts = whole(secrets, data)
    assert redacted == expected(secrets, data)
    assert sum(counts.values()) == redacted.count(b"[redacted:S")


@given(traffic())
def test_no_byte_of_a_secret_passes_and_every_other_byte_does(case: tuple[dict[str, str], bytes, list[bytes]]) -> None:
    secrets, data, chunks = case
    redacted, _ = stream(secrets, chunks)
    for name in secrets:
        redacted = redacted.replace(f"[redacted:{name}]".encode(), b"\0MARK\0")
    kept = b"".join(redacted.split(b"\0MARK\0"))
    hidden = covered(secrets, data)
    assert kept == bytes(byte for byte, secret in zip(data, hidden, strict=True) if not secret)


@given(traffic())
def test_what_is_held_back_is_the_longest_end_that_may_begin_a_secret_and_no_byte_more(
    case: tuple[dict[str, str], bytes, list[bytes]],
) -> None:
    secrets, data, chunks = case
    redactor = Redactor(secrets)
    out = redactor.stream()
    shown = b"".join(out.feed(chunk) for chunk in chunks)
    values = [value.encode("utf-8", "surrogateescape") for value in secrets.values()]
    beginnings = [value[:size] for value in values for size in range(1, len(value))]
    longest = max((len(beginning) for beginning in beginnings if data.endswith(beginning)), default=0)
    assert shown == expected(secrets, data)[: len(shown)]
    assert len(out._kept) == longest


def test_ordinary_text_is_shown_at_once() -> None:
    out = Redactor({"KEY": KEY}).stream()
    assert out.feed(b"10%\r50%\r") == b"10%\r50%\r"
    assert out.feed(b"prompt> ") == b"prompt> "
    assert out.close() == b""


def test_a_beginning_waits_and_is_shown_when_it_turns_out_to_be_none() -> None:
    out = Redactor({"KEY": KEY}).stream()
    assert out.feed(b"see sk-li") == b"see "
    assert out.feed(b"st") == b"sk-list"
    assert out.feed(b" sk-live-01234567") == b" "
    assert out.close() == b"sk-live-01234567"
    assert out.close() == b""


@pytest.mark.parametrize(
    ("secrets", "data", "redacted"),
    [
        pytest.param({"A": "abcdefgh"}, b"<abcdefgh>", b"<[redacted:A]>", id="one"),
        pytest.param({"A": "abcdefgh"}, b"abcdefghabcdefgh", b"[redacted:A][redacted:A]", id="side by side: two marks"),
        pytest.param({"A": "abcdefgh", "B": "abcdefghij"}, b"abcdefghij", b"[redacted:B]", id="LEAK-17 the longest first"),
        pytest.param({"B": "abcdefghij", "A": "abcdefgh"}, b"abcdefghij", b"[redacted:B]", id="LEAK-17 in either order"),
        pytest.param({"A": "abcdefgh", "B": "abcdefghij"}, b"abcdefghiX", b"[redacted:A]iX", id="only the short one"),
        pytest.param({"A": "abcdefgh", "B": "xxabcdefghyy"}, b"xxabcdefghyy", b"[redacted:B]", id="one inside another"),
        pytest.param({"A": "abcdefgh", "B": "efghijkl"}, b"-abcdefghijkl-", b"-[redacted:A]-", id="overlap: the first names it"),
        pytest.param({"A": "abababab"}, b"xababababababx", b"x[redacted:A]x", id="overlap with itself"),
        pytest.param({"A": "same-value", "B": "same-value"}, b"same-value", b"[redacted:A]", id="equal values: the first name"),
        pytest.param({"A": "pässwörd"}, "=pässwörd=".encode(), b"=[redacted:A]=", id="UTF-8"),
        pytest.param({"A": "12345678\udcff"}, b"12345678\xff", b"[redacted:A]", id="a value that is no UTF-8"),
        pytest.param({"A": "line one\nline two"}, b"line one\nline two", b"[redacted:A]", id="several lines"),
        pytest.param({"A": "abcdefgh"}, b"abcdefg", b"abcdefg", id="a part of it is not it"),
        pytest.param({}, b"anything", b"anything", id="no secrets"),
    ],
)
def test_what_a_mark_stands_for(secrets: dict[str, str], data: bytes, redacted: bytes) -> None:
    assert whole(secrets, data)[0] == redacted


def test_a_mark_shows_no_character_and_no_length_of_the_value() -> None:
    assert {whole({"T": value}, value.encode())[0] for value in ("x" * 8, "y" * 900, KEY)} == {b"[redacted:T]"}


def test_marks_are_counted_by_name_over_all_streams_and_data() -> None:
    redactor = Redactor({"A": "abcdefgh", "B": "01234567x"})
    one, other = redactor.stream(), redactor.stream()
    one.feed(b"abcdefgh abcd")
    other.feed(b"01234567x.")
    one.feed(b"efgh")
    one.close()
    redactor.text("abcdefgh")
    redactor.data(["01234567x"])
    assert redactor.counts == {"A": 3, "B": 2}


SKIPPED = [
    ("seven characters", "abcdefg", True),
    ("eight characters", "abcdefgh", False),
    ("seven characters of two bytes", "äöüäöüä", True),
    ("a common word", "localhost", True),
    ("a common word in capitals", "PRODUCTION", True),
    ("nine digits", "123456789", True),
    ("ten digits", "1234567890", False),
    ("true", "true", True),
]


@pytest.mark.parametrize(("value", "skipped"), [row[1:] for row in SKIPPED], ids=[f"LEAK-13 {row[0]}" for row in SKIPPED])
def test_values_that_ordinary_text_holds_are_listed_and_not_redacted(value: str, skipped: bool) -> None:
    redactor = Redactor({"V": value})
    assert redactor.skipped == (("V",) if skipped else ())
    assert redactor.text(f"it is {value}!") == f"it is {value if skipped else '[redacted:V]'}!"
    assert bool(redactor) is not skipped


@pytest.mark.parametrize("value", ["", "   ", "\n" * 12], ids=["empty", "blank", "long and blank"])
def test_a_value_without_a_visible_character_is_neither_redacted_nor_listed(value: str) -> None:
    redactor = Redactor({"V": value})
    assert (redactor.skipped, bool(redactor)) == ((), False)
    assert redactor.text(f"a{value}b            \n\n\n\n\n\n\n\n\n\n\n\n\n") == f"a{value}b            \n\n\n\n\n\n\n\n\n\n\n\n\n"


def test_LEAK_13_a_secret_true_leaves_construed_and_every_true_unharmed() -> None:
    redactor = Redactor({"FLAG": "true", "A": "a", "EMPTY": ""})
    text = "construed as true: banana, 1, true"
    assert redactor.text(text) == text
    assert redactor.data({"true": True, "a": "true"}) == {"true": True, "a": "true"}
    assert redactor.skipped == ("FLAG", "A")


def test_data_is_redacted_in_keys_texts_and_numbers_and_keeps_its_shape() -> None:
    redactor = Redactor({"KEY": KEY, "PIN": "9876543210", "RATE": "1.2345678"})
    value = {
        "plain": [1, 2.5, None, True, "text"],
        f"<{KEY}>": {"deep": [f"Bearer {KEY}", [KEY]]},
        "numbers": [9876543210, 19876543210, 1.2345678, -9876543210],
    }
    assert redactor.data(value) == {
        "plain": [1, 2.5, None, True, "text"],
        "<[redacted:KEY]>": {"deep": ["Bearer [redacted:KEY]", ["[redacted:KEY]"]]},
        "numbers": ["[redacted:PIN]", "1[redacted:PIN]", "[redacted:RATE]", "-[redacted:PIN]"],
    }
    assert isinstance(redactor.data(True), bool)


def test_a_number_of_more_digits_than_python_writes_is_looked_through_too() -> None:
    redactor = Redactor({"PIN": "9876543210"})
    harmless = 3 * 10**5000
    assert redactor.data([harmless]) == [harmless]
    assert redactor.data([9876543210 * 10**5000]) == [f"[redacted:PIN]{'0' * 5000}"]


def test_without_secrets_data_and_text_are_the_same_objects() -> None:
    redactor = Redactor({"SHORT": "x"})
    value = {"a": ["x"]}
    text = "x" * 20
    assert redactor.data(value) is value
    assert redactor.text(text) is text


def test_a_text_that_no_encoding_takes_is_redacted_all_the_same() -> None:
    # json.loads makes such a text of what a function may return: a surrogate that stands alone.
    text = json.loads(rf'"\ud800 {KEY} \udfff\ud83d"')
    redactor = Redactor({"KEY": KEY})
    assert redactor.data([text]) == ["\ud800 [redacted:KEY] \udfff\ud83d"]
    assert redactor.holds_secret(text)
    assert not redactor.holds_secret("\ud800")


def test_bytes_that_are_no_utf_8_keep_their_place_in_a_text() -> None:
    value = os.fsdecode(b"caf\xe9-au-lait")
    assert Redactor({"V": value}).text(f"\udcff{value}\udcff") == "\udcff[redacted:V]\udcff"


def test_a_secret_that_repeats_itself_without_end_keeps_memory_flat() -> None:
    redactor = Redactor({"LINE": "=" * 8})
    out = redactor.stream()
    shown = [out.feed(b"=" * 4096) for _ in range(64)]
    assert b"".join(shown) == b"[redacted:LINE]"
    assert len(out._kept) < 8
    assert (out.feed(b"= done"), out.close()) == (b" done", b"")
    assert redactor.counts == {"LINE": 1}


def test_holds_secret_looks_for_any_of_them_anywhere() -> None:
    redactor = Redactor({"A": "abcdefgh", "SHORT": "abc"})
    assert redactor.holds_secret("..abcdefgh..")
    assert not redactor.holds_secret("abc defgh")


def test_LEAK_14_a_secret_in_two_chunks_is_one_mark_and_no_chunk_shows_a_part() -> None:
    out = Redactor({"KEY": KEY}).stream()
    shown = [out.feed(b"key=" + KEY[:9].encode()), out.feed(KEY[9:].encode()), out.feed(b"\n"), out.close()]
    assert shown == [b"key=", b"[redacted:KEY]", b"\n", b""]


def test_the_redactor_shows_no_secret_when_it_is_printed() -> None:
    redactor = Redactor({"KEY": KEY})
    out = redactor.stream()
    out.feed(KEY[:5].encode())
    assert KEY not in f"{redactor!r}{out!r}"
    assert KEY[:5] not in f"{redactor!r}{out!r}"
