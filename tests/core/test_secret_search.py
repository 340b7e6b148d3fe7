"""Where spellings stand in a stream: the quick search against a slow and obvious one, and what has to wait."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mcc_jupyter.core import secret_search, secret_views
from mcc_jupyter.core.redact import Redactor
from mcc_jupyter.core.secret_forms import as_bytes, is_ordinary, spellings
from mcc_jupyter.core.secret_search import OVERLAP, PIECE, Search
from mcc_jupyter.core.secret_views import GAP, VISIBLE, View, unjoined, unjoined_end

TOKEN = re.compile(secret_views._SEQUENCE)


# The model: byte by byte, by the rules at the top of the modules, with no index, no cache and no shortcut. How a text is
# read where literals are joined is a table in ``test_secret_views``.


def kept(data: bytes, bare: bool) -> list[int]:
    """The places of the bytes that are compared."""
    places, at = [], 0
    while at < len(data):
        byte = data[at : at + 1]
        token = TOKEN.match(data, at) if bare else None
        if token is not None:
            at = token.end()
            continue
        if not byte.isspace():
            places.append(at)
        at += 1
    return places


def has_break(gap: bytes) -> bool:
    return b"\n" in gap or b"\r" in gap


class Model:
    def __init__(self, secrets: dict[str, str]) -> None:
        self.limit = Search(secrets.items())._limit
        self.names: dict[bytes, str] = {}
        self.may: dict[bytes, set[int]] = {}
        self.must: dict[bytes, set[int]] = {}
        self.own = set()
        for name, value in secrets.items():
            for spelling in spellings(value):
                places = kept(spelling, False)
                text = bytes(spelling[place] for place in places)
                gaps = {size: spelling[places[size - 1] + 1 : places[size]] for size in range(1, len(places)) if places[size] > places[size - 1] + 1}
                must = {size for size, gap in gaps.items() if not has_break(gap)}
                self.own |= {text[:size] for size, gap in gaps.items() if has_break(gap) and size <= VISIBLE}
                self.must[text] = self.must[text] & must if text in self.names else must
                self.may.setdefault(text, set()).update(gaps)
                self.names.setdefault(text, name)

    def hidden(self, data: bytes, places: Sequence[int], spelling: bytes, until: int | None = None) -> int | None:
        """The first byte to be hidden of a match at *places*, which may go on at *until*; None if it is none."""
        after = [*places[1:], *([until] if until is not None else [])]
        hidden, gaps = places[0], set()
        for size, (place, following) in enumerate(zip(places, after, strict=until is not None), 1):
            gap = data[place + 1 : following]
            if len(gap) > secret_views.GAP:
                return None
            seen = size + len(gaps)
            if gap and size < len(places):
                gaps.add(size)
                if not has_break(gap) and any(bytes([byte]).isspace() for byte in TOKEN.sub(b"", gap)) and size not in self.may[spelling]:
                    return None
            if seen <= VISIBLE and has_break(gap) and spelling[:size] not in self.own:
                hidden = following
        if any(size < len(places) and size not in gaps for size in self.must[spelling]):
            return None
        end = places[-1] + 1 if until is None else until
        # A match in one piece is never too long.
        in_one_piece = end - places[0] == len(places)
        return hidden if in_one_piece or end - places[0] <= self.limit else None

    def views(self, *readings: bytes) -> Iterator[tuple[bytes, list[int], bytes]]:
        for data in readings:
            for bare in (False, True):
                places = kept(data, bare)
                yield data, places, bytes(data[place] for place in places)

    def spans(self, data: bytes) -> set[tuple[int, int, str]]:
        found = set()
        for reading, places, text in self.views(data, unjoined(data)):
            for spelling, name in self.names.items():
                for start in range(len(text) - len(spelling) + 1):
                    if text.startswith(spelling, start):
                        match = places[start : start + len(spelling)]
                        hidden = self.hidden(reading, match, spelling)
                        if hidden is not None:
                            found.add((hidden, match[-1] + 1, name))
        return found

    def redacted(self, data: bytes) -> bytes:
        out, end = b"", 0
        for start, negative, name in sorted((start, -end, name) for start, end, name in self.spans(data)):
            if start >= end:
                out += data[end:start] + f"[redacted:{name}]".encode()
            end = max(end, -negative)
        return out + data[end:]

    def waiting(self, data: bytes) -> int:
        wait = len(data)
        for reading, places, text in self.views(data, unjoined(data), unjoined_end(data, unjoined(data))):
            for start in range(len(text)):
                rest = text[start:]
                for spelling in self.names:
                    if len(spelling) > len(rest) and spelling.startswith(rest):
                        hidden = self.hidden(reading, places[start:], spelling, len(data))
                        wait = wait if hidden is None else min(wait, hidden)
        return wait


NOISE = [b"\n", b"\r\n", b"\n\t  ", b"\r", b" ", b"\x1b[31m", b"\x1b[0m", b"\x1b[", b"\x1b", b"\x1b]0;ab\x07", b"\x1b]8;;a\x1b\\", b"\x1b(B", b"\x1b[3\n", b"\x1b[0m\n\x1b[1m  ", b"'\n '", b'"\r\n\tb"', b"'", b"\\n", b"\\\n  ", b"\\", b"  "]
VALUES = st.one_of(
    st.text("ab", min_size=8, max_size=12),
    st.text("abn\n\r ", min_size=10, max_size=14).filter(lambda text: len(re.sub(r"[\r\n]\s*", "", text.strip())) >= 8),
    st.text(st.sampled_from("aé€😀\udcff"), min_size=8, max_size=10),
    st.sampled_from(["abcdefgh", "31mabcdef", "m]0;abab", "key-0123456789-abcdef", "ab\ncdefghij", "a\nb\nabababab", "a\rbcdefgh", "ab cdefgh", "a b  a\tb a b", "abab  \n a bab"]),
)
SECRETS = st.lists(VALUES.filter(lambda value: not is_ordinary(value)), min_size=1, max_size=3, unique=True).map(
    lambda values: {f"S{at}": value for at, value in enumerate(values)}
)


@st.composite
def traffic(draw: st.DrawFn) -> tuple[dict[str, str], bytes, list[bytes]]:
    """Secrets, a text made of their spellings, of pieces of these and of noise, and the text cut into chunks."""
    secrets = draw(SECRETS)
    known = [as_bytes(value) for value in secrets.values()]
    for value in secrets.values():
        known += draw(st.lists(st.sampled_from(sorted(spellings(value))), max_size=2))
    noise = st.sampled_from(NOISE)

    def broken(spelling: bytes) -> st.SearchStrategy[bytes]:
        places = st.lists(st.tuples(st.integers(0, len(spelling)), noise), max_size=4).map(sorted)

        def insert(items: list[tuple[int, bytes]]) -> bytes:
            out, at = b"", 0
            for place, item in items:
                out, at = out + spelling[at:place] + item, place
            return out + spelling[at:]

        return places.map(insert)

    one = st.sampled_from(known)
    pieces = st.one_of(
        one,
        one.flatmap(broken),
        one.flatmap(lambda v: st.integers(0, len(v)).map(lambda n: v[:n])),
        one.flatmap(lambda v: st.integers(0, len(v)).map(lambda n: v[n:])),
        noise,
        st.sampled_from([b"a", b"b", b"ab", b"m", b"x"]),
    )
    data = b"".join(draw(st.lists(pieces, max_size=6)))
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=6)))
    return secrets, data, [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def stream(secrets: dict[str, str], chunks: Sequence[bytes]) -> tuple[bytes, dict[str, int]]:
    redactor = Redactor(secrets)
    out = redactor.stream()
    return b"".join([*(out.feed(chunk) for chunk in chunks), out.close()]), redactor.counts


@pytest.fixture(params=[(4096, 32), (3, 32), (8, 1)], ids=["as it is", "short gaps", "short matches"])
def caps(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(secret_search, "GAP", request.param[0])
    monkeypatch.setattr(secret_views, "GAP", request.param[0])
    monkeypatch.setattr(secret_search, "STRETCH", request.param[1])
    secret_search.search_for.cache_clear()
    yield
    secret_search.search_for.cache_clear()


fixed = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)


@pytest.mark.usefixtures("caps")
@fixed
@given(traffic())
@example(({"S0": "31mabcdef"}, b"\x1b[31mabcdef", [b"\x1b[31m", b"abcdef"]))
@example(({"S0": "abcdefgh"}, b"\x1b]0;abc\x1b[0mdefgh", [b"\x1b]0;ab", b"c\x1b[0mdefgh"]))
@example(({"S0": "abcdefgh"}, b"a\n  \x1b[0m  bcdefgh", [b"a\n ", b" \x1b[", b"0m  bcde", b"fgh"]))
@example(({"S0": "aaaaaaaa"}, b"a\naaaaaaa", [b"a\naaaaaaa"]))
@example(({"S0": "ab\ncdefghij"}, b"ab\r\n cdefghij", [b"ab\r", b"\n cde", b"fghij"]))
def test_the_search_finds_what_the_obvious_one_finds_and_any_chunking_gives_the_same(
    case: tuple[dict[str, str], bytes, list[bytes]],
) -> None:
    secrets, data, chunks = case
    model = Model(secrets)
    whole = stream(secrets, [data])
    assert whole[0] == model.redacted(data)
    assert stream(secrets, chunks) == whole
    assert stream(secrets, [bytes([byte]) for byte in data]) == whole
    assert as_bytes(Redactor(secrets).text(data.decode("utf-8", "surrogateescape"))) == whole[0]


@pytest.mark.usefixtures("caps")
@fixed
@given(traffic())
def test_what_waits_is_an_end_that_may_become_a_match_and_no_byte_more(
    case: tuple[dict[str, str], bytes, list[bytes]],
) -> None:
    secrets, _, chunks = case
    model = Model(secrets)
    out = Redactor(secrets).stream()
    shown, fed = b"", b""
    for chunk in chunks:
        fed += chunk
        shown += out.feed(chunk)
        assert len(out._kept) - out._shown == len(fed) - model.waiting(fed)
        assert model.redacted(fed).startswith(shown)


@fixed
@given(traffic())
@example(({"S0": "abcdefgh", "S1": "cdefghij"}, b"abcdefghij", [b"abc", b"def", b"ghij"]))
@example(({"S0": "abcdefgh"}, b"abc\ndefgh", [b"abc", b"\nd", b"efgh"]))
def test_what_is_released_after_a_pause_is_six_bytes_of_a_secret_at_most(case: tuple[dict[str, str], bytes, list[bytes]]) -> None:
    secrets, data, chunks = case
    marks = re.compile(rb"(\[redacted:S\d\])")
    whole = marks.split(stream(secrets, [data])[0])
    shown = rb"(?:%b|\s)*(?:[^\s](?:%b|\s)*){0,6}" % (secret_views._SEQUENCE, secret_views._SEQUENCE)
    expected = b"".join(shown + rb"\[redacted:S\d\]" if at % 2 else re.escape(part) for at, part in enumerate(whole))
    for pieces in (chunks, [bytes([byte]) for byte in data]):
        out = Redactor(secrets).stream()
        told = b"".join([*(out.feed(piece) + out.release() for piece in pieces), out.close()])
        assert re.fullmatch(expected, told, re.S)


def test_a_prompt_that_looks_like_a_beginning_is_released_and_the_rest_of_the_secret_is_not() -> None:
    out = Redactor({"KEY": "abcdefghijklmnop"}).stream()
    assert (out.feed(b"Name: ab"), out.waits, out.release(), out.waits) == (b"Name: ", True, b"ab", False)
    assert (out.feed(b"cdef"), out.release(), out.feed(b"g"), out.release()) == (b"", b"cdef", b"", b"")
    assert (out.waits, out.feed(b"hijklmnop!"), out.waits) == (True, b"[redacted:KEY]!", False)
    assert (out.feed(b"ab"), out.release(), out.feed(b"x abcdefghijklmnop"), out.close()) == (b"", b"ab", b"x [redacted:KEY]", b"")


@given(st.lists(st.sampled_from([*NOISE, b"a", b"b c", b"\x0c", b"\v", b"\x1c", b"\x85"]), max_size=12).map(b"".join), st.booleans())
@example(b"\na\n\na\n", False)
def test_a_view_knows_where_each_of_its_bytes_stands(data: bytes, bare: bool) -> None:
    view = View(data, bare=bare)
    places = kept(data, bare)
    assert view.text == bytes(data[place] for place in places)
    found = [view.place(at, 1, 0, frozenset()) for at in range(len(view.text))]
    assert found == [(place, place, place + 1, 0, 0) for place in places]


def secrets_like(size: int, number: int = 1) -> dict[str, str]:
    """*number* values of *size* characters that have no three neighbours in common."""
    return {f"S{n}": "".join(chr(65 + (n * 7 + at * at * 5 + at) % 58) for at in range(size)).replace("\\", "_") for n in range(number)}


@pytest.mark.parametrize("number", [1, 3, 30])
@pytest.mark.parametrize("size", [8, 9, 12, 16, 20, 40])
def test_every_spelling_is_found_at_every_place_of_a_text(size: int, number: int) -> None:
    search = Search(secrets_like(size, number).items())
    for spelling in search._names:
        for before in range(17):
            data = b"." * before + spelling + b"." * 9
            assert (before, -before - len(spelling)) in {span[:2] for span in search.spans(search.views(data))}


@pytest.mark.parametrize("value", ["=" * 8, "=" * 60, "ab" * 20, "-=" * 4 + "x"], ids=["8", "60", "two letters", "nearly"])
@pytest.mark.parametrize("others", [0, 20])
def test_a_value_that_repeats_itself_is_found_wherever_it_begins(value: str, others: int) -> None:
    secrets = {**secrets_like(30, others), "V": value}
    model = Model({"V": value})
    for before in range(4):
        data = value[:before].encode() + value.encode() * 3 + b"\n" + value.encode() + b"." + value[1:].encode() * 2
        assert stream(secrets, [data])[0] == model.redacted(data)
        assert stream(secrets, [data[:9], data[9:31], data[31:]])[0] == model.redacted(data)


# Caps


def test_more_than_a_gap_between_two_bytes_ends_a_match() -> None:
    secrets = {"KEY": "abcdefghijklmnop"}
    near = b"abcdefgh\n" + b" " * (GAP - 1) + b"ijklmnop"
    far = b"abcdefgh\n" + b" " * GAP + b"ijklmnop"
    assert stream(secrets, [near])[0] == b"[redacted:KEY]"
    for chunks in ([far], [far[:100], far[100:4000], far[4000:4108], far[4108:]], [far[:-8], far[-8:]]):
        assert stream(secrets, chunks)[0] == far


def test_blanks_without_end_do_not_wait_without_end() -> None:
    out = Redactor({"KEY": "abcdefghijklmnop"}).stream()
    shown = out.feed(b"abcdefgh\n")
    for _ in range(100):
        shown += out.feed(b" " * 100)
        assert len(out._kept) <= GAP + 200
    assert shown == b"abcdefgh\n" + b" " * 10_000


def test_a_title_that_is_never_ended_does_not_wait_without_end() -> None:
    out = Redactor({"KEY": "abcdefghijklmnop"}).stream()
    shown = b"".join([out.feed(b"abcdefgh\x1b]0;"), *(out.feed(b"x" * 100) for _ in range(100))])
    assert shown == b"abcdefgh\x1b]0;" + b"x" * 10_000
    assert len(out._kept) <= GAP + 200


def test_what_stands_in_a_title_is_text_too() -> None:
    data = b"\x1b]0;abcdefghijklmnop\x07 \x1b]8;;https://x/?k=abcdefghijklmnop\x1b\\link\x1b]8;;\x1b\\"
    shown = data.replace(b"abcdefghijklmnop", b"[redacted:KEY]")
    assert stream({"KEY": "abcdefghijklmnop"}, [data])[0] == shown
    assert stream({"KEY": "abcdefghijklmnop"}, [bytes([byte]) for byte in data])[0] == shown


def test_colouring_each_character_hides_nothing() -> None:
    data = b"".join(b"\x1b[38;2;%d;200;100m%c\x1b[39m" % (number * 9, byte) for number, byte in enumerate(b"abcdefghijklmnop"))
    first, last = data[: data.index(b"a")], b"\x1b[39m"
    assert stream({"KEY": "abcdefghijklmnop"}, [b"<", data, b">"])[0] == b"<" + first + b"[redacted:KEY]" + last + b">"


def test_a_match_is_at_most_so_many_times_as_long_as_the_longest_spelling() -> None:
    secrets = {"KEY": "abcdefghijklmnop"}
    search = Search(secrets.items())
    gap = b"\n" + b" " * (search._limit // 15 + 1)
    data = gap.join(bytes([byte]) for byte in b"abcdefghijklmnop")
    assert len(gap) < GAP
    assert stream(secrets, [data])[0] == data
    assert stream(secrets, [data[at : at + 50] for at in range(0, len(data), 50)])[0] == data


# Line breaks near the beginning


@pytest.mark.parametrize("visible", range(1, 17))
def test_a_line_break_after_the_first_six_bytes_or_less_leaves_these_visible(visible: int) -> None:
    data = b"abcdefghijklmnop"[:visible] + b"\n  " + b"abcdefghijklmnop"[visible:]
    shown = data[: visible + 3] + b"[redacted:KEY]" if visible <= VISIBLE else b"[redacted:KEY]" + data[19:]
    for chunks in ([data], [bytes([byte]) for byte in data]):
        assert stream({"KEY": "abcdefghijklmnop"}, chunks)[0] == (shown if visible < 16 else b"[redacted:KEY]\n  ")


@pytest.mark.parametrize("width", range(1, 17))
def test_folded_to_any_width_at_most_six_bytes_are_visible(width: int) -> None:
    value = b"abcdefghijklmnopqrstuvwxyz012345"
    data = b"\n".join(value[at : at + width] for at in range(0, len(value), width))
    shown = stream({"KEY": value.decode()}, [data])[0]
    assert shown.count(b"[redacted:KEY]") == 1
    assert len(shown.replace(b"[redacted:KEY]", b"").replace(b"\n", b"")) <= VISIBLE


def test_a_line_is_shown_at_its_end_even_if_its_last_letter_may_begin_a_secret() -> None:
    out = Redactor({"KEY": "abcdefghijklmnop"}).stream()
    assert out.feed(b"Looking for a\n") == b"Looking for a\n"
    assert out.feed(b"bcdefghijklmnop\n") == b"[redacted:KEY]\n"
    assert out.feed(b"\x1b[1ma\x1b[0m\n") == b"\x1b[1ma\x1b[0m\n"
    assert out.feed(b"\x1b[31mbcdefghijklmnop") == b"\x1b[31m[redacted:KEY]"


def test_a_value_with_a_line_break_of_its_own_is_hidden_from_its_first_byte_on() -> None:
    secrets = {"LOGIN": "ana\nhunter2-hunter2"}
    assert stream(secrets, [b"<ana\nhunter2-hunter2>"])[0] == b"<[redacted:LOGIN]>"
    assert stream(secrets, [b"<ana\r\n", b"  hunter2-hunter2>"])[0] == b"<[redacted:LOGIN]>"


# Long values


def test_a_long_value_is_one_mark_and_only_a_piece_of_it_waits() -> None:
    value = "".join(f"{number:x}." for number in range(2000))
    redactor = Redactor({"LONG": value})
    out = redactor.stream()
    shown = out.feed(b"<")
    for at in range(0, len(value), 100):
        shown += out.feed(value[at : at + 100].encode())
        assert len(out._kept) <= PIECE
    assert shown + out.feed(b">") == b"<[redacted:LONG]>"
    assert redactor.counts == {"LONG": 1}


@pytest.mark.parametrize("size", [PIECE - 1, PIECE, PIECE + 1, 2 * PIECE - OVERLAP, 2 * PIECE - OVERLAP + 1])
def test_the_pieces_of_a_spelling_cover_it_and_overlap(size: int) -> None:
    spelling = bytes(65 + number % 50 for number in range(size))
    pieces = [piece for piece, _, _ in secret_search._pieces(spelling, set())]
    assert all(len(piece) <= PIECE for piece in pieces)
    starts = [spelling.find(piece) if at == 0 else size - PIECE if at == len(pieces) - 1 else at * (PIECE - OVERLAP) for at, piece in enumerate(pieces)]
    assert starts[-1] + len(pieces[-1]) == size
    assert all(later - earlier <= PIECE - OVERLAP for earlier, later in pairwise(starts))


def test_a_piece_of_blanks_is_no_spelling() -> None:
    value = "begin-of-it" + " " * 3 * PIECE + "end-of-it"
    assert min(map(len, Search([("V", value)])._names)) >= 8
    assert Redactor({"V": value}).text("a" + " " * 2 * PIECE + "b") == "a" + " " * 2 * PIECE + "b"


def test_of_a_value_with_a_wide_gap_each_side_that_is_long_enough_is_searched_for() -> None:
    redactor = Redactor({"KEY": f"abcdefghijklmnop{' ' * 2000}short"})
    assert redactor.text("x abcdefghijklmnop y") == "x [redacted:KEY] y"
    assert redactor.text("x short y") == "x short y"
