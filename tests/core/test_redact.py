"""The redactor: marks, counts, data and texts; and what holds no secret passes untouched.

Where a secret stands is tested in ``test_secret_search``, how it may be spelled in ``test_secret_forms``.
"""

from __future__ import annotations

import argparse
import asyncio.base_events
import base64
import hashlib
import json
import os
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcc_jupyter.core.redact import Redactor

KEY = "sk-live-0123456789"


def stream(secrets: dict[str, str], chunks: Sequence[bytes]) -> tuple[bytes, Counter[str]]:
    redactor = Redactor(secrets)
    out = redactor.stream()
    return b"".join([*(out.feed(chunk) for chunk in chunks), out.close()]), redactor.counts


def whole(secrets: dict[str, str], data: bytes) -> tuple[bytes, Counter[str]]:
    return stream(secrets, [data])


# Ordinary text


def like_a_token(number: int) -> str:
    """A value of 20 to 60 characters that looks like chance and is the same in every run."""
    return base64.urlsafe_b64encode(hashlib.sha512(b"%d" % number).digest()).decode()[: 20 + number % 41]


MANY = {f"S{number}": like_a_token(number) for number in range(100)} | {
    "PASSWORD": "correct horse battery staple",
    "URL": "postgresql://ana:hunter2-hunter2@db.example.com:5432/inventory?sslmode=require",
    "KEY": "-----BEGIN PRIVATE KEY-----\n" + "\n".join(like_a_token(number) * 2 for number in range(200, 220)) + "\n-----END PRIVATE KEY-----",
    "ACCOUNT": json.dumps({"type": "service_account", "private_key_id": like_a_token(300), "auth_uri": "https://accounts.google.com/o/oauth2/auth"}, indent=2),
}


def noise(size: int) -> bytes:
    return hashlib.shake_256(b"noise").digest(size)


def picture() -> bytes:
    """A notebook's picture: base64 with an unlucky part in it that begins like a secret's."""
    data = noise(60_000)
    return base64.b64encode(data[:30_000] + MANY["S1"][:6].encode() + data[30_000:])


CORPUS = {
    "Python source": lambda: b"".join(Path(module.__file__).read_bytes() for module in (json, argparse, asyncio.base_events, textwrap)),
    "JSON": lambda: json.dumps([{"id": n, "name": f"item {n}", "tags": ["a", "b"], "url": f"https://example.com/{n}"} for n in range(2000)], indent=2).encode(),
    "compact JSON": lambda: json.dumps([{"type": "service_account", "n": n * 1.25, "ok": True, "none": None} for n in range(2000)]).encode(),
    "a picture in base64": picture,
    "a picture in base64, wrapped": lambda: base64.encodebytes(noise(60_000)),
    "binary": lambda: noise(100_000),
    "git log": lambda: b"".join(
        b"commit %s\nAuthor: Ana <ana@example.com>\nDate:   Mon Oct 5 12:00:%02d 2026 +0200\n\n    Fix number %d\n\n" % (hashlib.sha1(b"%d" % n).hexdigest().encode(), n % 60, n)
        for n in range(1000)
    ),
    "coloured log": lambda: b"".join(b"\x1b[32mINFO\x1b[0m \x1b[1mworker %d\x1b[22m: correct horse, done\r\n" % n for n in range(1000)),
    "progress": lambda: b"".join(b"\rDownloading %3d%% |%s|" % (n, b"#" * (n // 2)) for n in range(100)),
    "UTF-8": lambda: "Grüße, Jürgen ❤ 😀 Ελληνικά עברית 日本語\n\tтекст «кавычки» e\u0301\n".encode() * 500,
    "hex dump": lambda: b"\n".join(b"%08x  %s" % (at, noise(4096)[at : at + 16].hex(" ").encode()) for at in range(0, 4096, 16)),
}


@pytest.mark.parametrize("corpus", CORPUS.values(), ids=CORPUS)
@pytest.mark.parametrize("size", [97, 4096, 65536])
def test_ordinary_text_passes_unharmed(corpus: Callable[[], bytes], size: int) -> None:
    data = corpus()
    redacted, counts = stream(MANY, [data[at : at + size] for at in range(0, len(data), size)])
    assert redacted == data
    assert not counts


@pytest.mark.parametrize("corpus", CORPUS.values(), ids=CORPUS)
def test_in_ordinary_text_a_secret_is_hidden_and_nothing_else_is_touched(corpus: Callable[[], bytes]) -> None:
    data, secret = corpus(), MANY["S7"].encode()
    middle = len(data) // 2
    for printed in (secret, base64.b64encode(b"user:" + secret)[7:-2], secret.hex().upper().encode()):
        whole = data[:middle] + b" " + printed + b" " + data[middle:]
        redacted, counts = stream(MANY, [whole[at : at + 5000] for at in range(0, len(whole), 5000)])
        before, after = redacted.split(b"[redacted:S7]")
        assert (before, after[-len(data) // 2 :]) == (data[:middle] + b" ", data[-len(data) // 2 :])
        assert len(after) <= len(data) - middle + 4
        assert counts == {"S7": 1}


@given(st.text(max_size=200))
@example("\ud800\udcff")
def test_a_text_without_a_secret_is_the_same_object(text: str) -> None:
    assert Redactor(MANY).text(text) is text


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


def test_no_entry_is_lost_when_keys_have_the_same_mark() -> None:
    redactor = Redactor([("KEY", KEY), ("KEY", "an0ther-v4lue"), ("PIN", "9876543210")])
    mark = "[redacted:KEY]"
    value = {KEY: 1, f"{mark}#2": 2, "an0ther-v4lue": 3, mark: 4, 7: 5, f"{mark}#2#2": 6, 9876543210: 7}

    assert redactor.data(value) == {f"{mark}#3": 1, f"{mark}#2": 2, f"{mark}#4": 3, mark: 4, "7": 5, f"{mark}#2#2": 6, "[redacted:PIN]": 7}
    assert redactor.data({KEY: 1, "an0ther-v4lue": 2}) == {mark: 1, f"{mark}#2": 2}
    assert redactor.data({1: "a", "1": "b"}) == {"1": "a", "1#2": "b"}
    assert redactor.counts["KEY"] == 4


def test_a_number_of_more_digits_than_python_writes_cannot_be_looked_through() -> None:
    redactor = Redactor({"PIN": "9876543210"})
    assert redactor.data([3 * 10**4000]) == [3 * 10**4000]
    assert redactor.data([9876543210 * 10**4000]) == [f"[redacted:PIN]{'0' * 4000}"]
    with pytest.raises(ValueError, match="Exceeds the limit"):
        redactor.data([3 * 10**5000])


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


@pytest.mark.parametrize(
    ("text", "name"), [("..abcdefgh 01234567x", "A"), ("01234567x abcdefgh", "B"), ("\ud800YWJjZGVmZ2g=", "A"), ("\ud800", None), ("abc", None)]
)
def test_the_first_secret_in_a_text_is_named_in_whatever_encoding_it_stands(text: str, name: str | None) -> None:
    assert Redactor({"A": "abcdefgh", "B": "01234567x", "SHORT": "abc"}).secret_in(text) == name
    assert Redactor({"SHORT": "abc"}).secret_in(text) is None


def test_one_name_may_have_several_values_and_every_mark_has_that_name() -> None:
    redactor = Redactor([("A", "abcdefgh"), ("A", "01234567x"), ("B", "ijklmnop"), ("A", "abc"), ("A", "def"), ("A", "abcdefgh")])

    assert redactor.text("abcdefgh 01234567x ijklmnop abc") == "[redacted:A] [redacted:A] [redacted:B] abc"
    assert redactor.counts == {"A": 2, "B": 1}
    assert redactor.skipped == ("A",)


def test_what_becomes_known_later_is_redacted_from_then_on_also_where_it_has_begun() -> None:
    redactor = Redactor({"A": "abcdefgh"})
    out = redactor.stream()
    shown = [out.feed(b"01234567x abcd")]
    redactor.know({"A": "abcdefgh", "B": "abcd_and_more", "C": "0"})
    shown += [out.feed(b"_and_"), out.feed(b"more abcdefgh"), out.close()]

    assert shown == [b"01234567x ", b"", b"[redacted:B] [redacted:A]", b""]
    assert redactor.skipped == ("C",)


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
