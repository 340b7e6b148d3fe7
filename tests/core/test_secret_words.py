"""Every way to look for spellings finds the same places, and which one is taken follows from the spellings and the text."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcc_jupyter.core import secret_words
from mcc_jupyter.core.redact import Redactor
from mcc_jupyter.core.secret_search import Search
from mcc_jupyter.core.secret_words import Lookup, Words, automaton
from tests.core.test_secret_search import secrets_like, traffic


def ways(lookup: Lookup) -> list[tuple[str, int]]:
    return [(words.code, words.stride) for words in lookup.words]


@pytest.mark.parametrize(
    ("size", "expected"),
    [(8, [("I", 4)]), (12, [("I", 8)]), (16, [("Q", 8)]), (20, [("I", 16), ("Q", 32)]), (24, [("Q", 16)]), (41, [("Q", 32)])],
)
def test_the_way_to_look_follows_from_the_sizes(size: int, expected: list[tuple[str, int]]) -> None:
    assert ways(Search(secrets_like(size, 60).items())._lookup) == expected


def test_a_few_short_spellings_do_not_slow_down_the_search_for_the_long_ones() -> None:
    lookup = Search({**secrets_like(24, 10), "SHORT": "hunter2-"}.items())._lookup
    assert ways(lookup) == [("Q", 8)]
    assert b"hunter2-" in lookup.singly


def test_very_few_spellings_are_looked_for_one_by_one() -> None:
    lookup = Lookup([b"a" * 20, b"b" * 20, b"c" * 30])
    assert (ways(lookup), len(lookup.singly), lookup.pays_after) == ([], 3, None)


def test_a_word_that_only_the_packing_has_is_none_of_a_spelling() -> None:
    words = Words("I", 4, [b"abcdefg", b"hijklmn", b"efg\0hij"])
    assert words.found(b"efg\0hij") == [(b"efg\0hij", 0)]
    assert words.found(b"efg\0hi") == []
    assert words.found(b"efg") == []


def test_a_spelling_is_found_in_every_block_of_a_text() -> None:
    words = Words("I", 4, [b"abcdefgh"])
    for before in (0, 5, 2046, 2047, 2048, 9_000):
        text = b"." * before + b"abcdefgh" + b"." * 5_000
        assert {*words.found(text)} == {(b"abcdefgh", before)}


SPELLINGS = st.lists(st.text("ab1", min_size=8, max_size=44).map(str.encode), min_size=1, max_size=40, unique=True)


@given(SPELLINGS, st.data())
def test_all_ways_find_the_same(spellings: list[bytes], data: st.DataObject) -> None:
    pieces = st.one_of(st.sampled_from(spellings), st.text("ab1x", max_size=9).map(str.encode))
    text = b"".join(data.draw(st.lists(pieces, max_size=8)))
    obvious = {(spelling, at) for spelling in spellings for at in range(len(text)) if text.startswith(spelling, at)}
    fast = automaton(spellings)
    assert fast is not None
    for found in (Lookup(spellings).found(text), fast(text)):
        anywhere = {spelling for spelling, at in found if at < 0}
        places = {pair for pair in found if pair[1] >= 0}
        assert places <= obvious
        assert {pair for pair in obvious if pair[0] not in anywhere} <= places


def redacted(secrets: dict[str, str], chunks: list[bytes], *, fast: bool) -> tuple[bytes, dict[str, int]]:
    """By words alone, or by an automaton alone."""
    redactor = Redactor(secrets)
    lookup = redactor._search()._lookup
    lookup.pays_after = None
    lookup._automaton = automaton(lookup._spellings) if fast else None
    out = redactor.stream()
    return b"".join([*map(out.feed, chunks), out.close()]), dict(redactor.counts)


@given(traffic())
def test_an_automaton_gives_the_same_bytes_and_the_same_marks(case: tuple[dict[str, str], bytes, list[bytes]]) -> None:
    secrets, data, chunks = case
    plain = redacted(secrets, [data], fast=False)
    assert redacted(secrets, [data], fast=True) == plain
    assert redacted(secrets, chunks, fast=True) == plain


def _short_lookup() -> Lookup:
    return Lookup([text.encode() for text in secrets_like(9, 60).values()])


def test_an_automaton_takes_over_after_as_much_text_as_pays_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    lookup = _short_lookup()
    assert lookup.pays_after is not None
    monkeypatch.setattr(lookup, "pays_after", 2_000)
    text = b"." * 991 + list(lookup._spellings)[7]
    for _ in range(2):
        assert (list(lookup._spellings)[7], 991) in lookup.found(text)
        assert lookup._automaton is None
    lookup.found(text)
    assert lookup._automaton is not None
    assert lookup.found(text) == [(list(lookup._spellings)[7], 991)]


def test_where_it_is_not_installed_words_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ahocorasick_rs", None)
    lookup = _short_lookup()
    monkeypatch.setattr(lookup, "pays_after", 10)
    text = b"." * 991 + list(lookup._spellings)[7]
    for _ in range(3):
        assert (list(lookup._spellings)[7], 991) in lookup.found(text)
    assert (lookup._automaton, lookup.pays_after) == (None, None)


def test_none_is_made_where_words_are_as_quick_or_where_it_would_be_large(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Search(secrets_like(41, 10).items())._lookup.pays_after is None
    monkeypatch.setattr(secret_words, "_LARGEST", 500)
    assert _short_lookup().pays_after is None
