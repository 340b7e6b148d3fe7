"""What is kept of a tool's output, and what is shown of it."""

from __future__ import annotations

import re

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell, new_notebook, new_output

from mcc_jupyter.runtime.output import Capture, Colours, Live, Pace, plain

CHUNKS = st.lists(st.binary(max_size=12) | st.text(max_size=6).map(str.encode), max_size=12)


def captured(*chunks: bytes, limit: int = 1024) -> Capture:
    capture = Capture(limit)
    for chunk in chunks:
        capture.feed(chunk)
    return capture


def shown(*chunks: bytes, budget: int = 10_000, close: bool = True) -> list[str]:
    written: list[str] = []
    live = Live(written.append, budget)
    for chunk in chunks:
        live.feed(chunk)
    if close:
        live.close()
    return written


@pytest.mark.parametrize(
    ("limit", "chunks", "text", "omitted"),
    [
        pytest.param(10, [b"all", b" of it"], "all of it", 0, id="whole"),
        pytest.param(10, [b"0123456789"], "0123456789", 0, id="exactly the limit"),
        pytest.param(10, [b"0123456789a"], "01234\n[… 1 byte omitted …]\n6789a", 1, id="one too many"),
        pytest.param(10, [b"head\n", b"x" * 100, b"tail\n"], "head\n[… 100 bytes omitted …]\ntail\n", 100, id="on a line of its own"),
        pytest.param(9, [b"01234", b"5678", b"9"], "01234\n[… 1 byte omitted …]\n6789", 1, id="an odd limit"),
        pytest.param(0, [b"gone"], "[… 4 bytes omitted …]\n", 4, id="nothing is kept"),
        pytest.param(10, ["abcd€".encode(), b"x" * 10, "€abcd".encode()], "abcd\n[… 16 bytes omitted …]\nabcd", 16, id="a cut splits no character"),
        pytest.param(10, [b"\xff\xfe ok"], "\ufffd\ufffd ok", 0, id="not UTF-8"),
    ],
)
def test_head_and_tail_are_kept_and_the_rest_is_counted(limit: int, chunks: list[bytes], text: str, omitted: int) -> None:
    capture = captured(*chunks, limit=limit)

    assert capture.text() == text
    assert capture.omitted == omitted


def test_PROC_14_what_is_kept_of_a_flood_stays_within_its_limit() -> None:
    capture = Capture(1000)
    for _ in range(5000):
        capture.feed(b"y\n" * 1000)

    assert capture.omitted == 10_000_000 - 1000
    assert len(capture._head) + len(capture._tail._data) <= 2000


@given(CHUNKS, st.integers(0, 40))
def test_the_chunks_of_a_stream_make_no_difference_to_what_is_kept(chunks: list[bytes], limit: int) -> None:
    one = captured(b"".join(chunks), limit=limit)
    many = captured(*chunks, limit=limit)

    assert (many.text(), many.omitted) == (one.text(), one.omitted)


@given(CHUNKS)
def test_a_capture_that_omitted_nothing_is_the_stream(chunks: list[bytes]) -> None:
    assert captured(*chunks, limit=1000).text() == b"".join(chunks).decode("utf-8", "replace")


def test_PROC_17_a_character_in_two_pieces_is_one_character() -> None:
    assert shown(b"caf\xc3", b"\xa9 \xe2", b"\x82", b"\xac\n") == ["caf", "é ", "€\n"]
    assert captured(b"\xe2\x82", b"\xac").text() == "€"


def test_PROC_17_bytes_that_are_not_utf_8_are_replaced() -> None:
    assert shown(b"caf\xe9\n") == ["caf\ufffd\n"]
    assert "".join(shown(b"caf", b"\xe2")) == "caf\ufffd"


def test_PROC_16_carriage_returns_pass_when_shown_and_collapse_when_stored() -> None:
    assert shown(b"10%\r50%", b"\r100%\n") == ["10%\r50%", "\r100%\n"]
    assert plain("10%\r50%\r100%\n") == "100%\n"


def test_PROC_18_colours_pass_when_shown_and_everything_else_goes() -> None:
    output = b"\033[31mred\033[0m \033]0;t\007 \033[2J"

    assert shown(output) == ["\033[31mred\033[0m  "]
    assert plain(output.decode()) == "red  "


SEQUENCES = [
    pytest.param("\x1b[1;38:2:10:20:30mx\x1b[m", "\x1b[1;38:2:10:20:30mx\x1b[m", "x", id="colours"),
    pytest.param("a\x1b[2K\x1b[1Ab\x1b[?25l\x1b[>4;2mc", "abc", "abc", id="cursor, erasing, modes"),
    pytest.param("\x1b]8;;http://x\x1b\\link\x1b]8;;\x07", "link", "link", id="links"),
    pytest.param("\x1bP1$q\x1b\\a\x1b_x\x1b\\b\x1b^y\x1b\\c\x1bXz\x1b\\", "abc", "abc", id="DCS and its like"),
    pytest.param("\x1b(Ba\x1b7b\x1bcc\x1b#8d\x1b\\e", "abcde", "abcde", id="short ones"),
    pytest.param("\x1b]0;never ended\nnext", "\nnext", "\nnext", id="a string without an end stops with its line"),
    pytest.param("\x1b]0;cut\x1b[1mbold", "\x1b[1mbold", "bold", id="a string that another sequence cuts"),
    pytest.param("\x1b[31\nx", "31\nx", "31\nx", id="no sequence at all"),
    pytest.param("a\x1b\x07b", "a\x07b", "a\x07b", id="a lone escape"),
    pytest.param("end\x1b[3", "end", "end", id="one that is still to come at the end"),
    pytest.param("end\x1b]0;t\x1b", "end", "end", id="a string that is still to come at the end"),
]


@pytest.mark.parametrize(("text", "live", "stored"), SEQUENCES)
def test_control_sequences(text: str, live: str, stored: str) -> None:
    assert "".join(shown(text.encode())) == live
    assert plain(text) == stored


@pytest.mark.parametrize(("text", "live", "stored"), SEQUENCES)
def test_a_control_sequence_may_come_byte_by_byte(text: str, live: str, stored: str) -> None:
    assert "".join(shown(*(bytes([byte]) for byte in text.encode()))) == live


@given(st.lists(st.sampled_from(["\x1b", "[", "]", "0", ";", "m", "K", "\x07", "\\", "(", "B", "\n", "€", "\r"]), max_size=14), st.data())
def test_the_chunks_of_a_stream_make_no_difference_to_what_is_shown(pieces: list[str], data: st.DataObject) -> None:
    raw = "".join(pieces).encode()
    cut = data.draw(st.integers(0, len(raw)))

    assert "".join(shown(raw[:cut], raw[cut:])) == "".join(shown(raw))


def test_a_long_sequence_is_recognised_without_being_kept() -> None:
    written: list[str] = []
    live = Live(written.append, 1_000_000)
    live.feed(b"a\x1b]1337;File=")
    for _ in range(100):
        live.feed(b"QUJD" * 100)
        assert len(live._begun) <= 100
    live.feed(b"QUJD\x1b")
    live.feed(b"\\b")

    assert "".join(written) == "ab"


def test_text_is_shown_at_once() -> None:
    assert shown(b"prompt: ", close=False) == ["prompt: "]


@pytest.mark.parametrize(
    ("chunks", "text"),
    [
        pytest.param([b"x" * 80], "x" * 80, id="exactly the budget"),
        pytest.param([b"x" * 80, b"0123456789"], "x" * 80 + "0123456789", id="the last part is all of the rest"),
        pytest.param([b"x" * 66 + b"\n", b"y" * 500, b"0123456789"], "x" * 66 + "\n[… 500 bytes omitted …]\n0123456789", id="cut"),
        pytest.param([b"x" * 80 + b"y" * 20], "x" * 80 + "\n[… 10 bytes omitted …]\n" + "y" * 10, id="in one chunk"),
        pytest.param([b"x" * 79 + "€".encode() + b"0123456"], "x" * 79 + "€0123456", id="no character is split by the budget"),
        pytest.param([b"x" * 79 + "€".encode(), "ab€01234567".encode()], "x" * 79 + "\n[… 8 bytes omitted …]\n01234567", id="nor by the last part"),
        pytest.param([b"x" * 73 + b"\x1b[", b"31m", b"y" * 10], "x" * 73 + "\n[… 3 bytes omitted …]\n" + "y" * 10, id="a sequence that was cut"),
    ],
)
def test_after_the_budget_only_the_last_part_is_shown(chunks: list[bytes], text: str) -> None:
    assert "".join(shown(*chunks, budget=80)) == text


def test_PROC_14_a_flood_is_shown_within_its_budget() -> None:
    flood = [b"y\n" * 10_000] * 100

    text = "".join(shown(*flood, budget=8_000))

    assert 7_000 < saved(text) <= 8_000 + 1_000 + 100
    assert text.endswith("y\n")
    before, omitted, after = re.split(r"\n\[… (\d+) bytes? omitted …\]\n", text)
    assert len(before) + int(omitted) + len(after) == 2_000_000


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param(b"an ordinary line of a log, with numbers 123\n", id="lines"),
        pytest.param(b"y\n", id="short lines"),
        pytest.param(b"\0", id="zeros"),
        pytest.param(b"\xff\xfe", id="no UTF-8"),
        pytest.param("€".encode(), id="characters of three bytes"),
        pytest.param(b"\x1b[31mred\x1b[0m ", id="colours"),
        pytest.param(b'{"key": "C:\\\\x"}', id="quotation marks"),
        pytest.param(bytes(range(256)), id="every byte"),
        pytest.param(b"50%\r", id="progress"),
    ],
)
def test_whatever_is_printed_a_notebook_stays_small(piece: bytes) -> None:
    flood = piece * (200_000 // len(piece))

    for size in (7, 1000, len(flood)):
        text = "".join(shown(*(flood[at : at + size] for at in range(0, len(flood), size)), budget=8_000))
        assert 7_000 < saved(text) <= 8_000 + 1_000 + 100


def saved(text: str) -> int:
    """Bytes of an output in a notebook file, less those of one without text."""
    sizes = []
    for content in (text, ""):
        cell = new_code_cell(outputs=[new_output("stream", name="stdout", text=content)])
        sizes.append(len(nbformat.writes(new_notebook(cells=[cell])).encode()))
    return sizes[0] - sizes[1]


@given(CHUNKS, st.integers(0, 60))
def test_the_chunks_of_a_stream_make_no_difference_to_what_is_cut(chunks: list[bytes], budget: int) -> None:
    assert "".join(shown(*chunks, budget=budget)) == "".join(shown(b"".join(chunks), budget=budget))


def test_many_messages_in_a_row_are_paced_and_the_first_are_not() -> None:
    now = [0.0]
    rests: list[float] = []

    def sleep(seconds: float) -> None:
        rests.append(seconds)
        now[0] += seconds

    pace = Pace(lambda: now[0], sleep)
    for _ in range(100):
        pace()
    assert rests == []
    for _ in range(50):
        pace()
    assert len(rests) == 50
    assert now[0] == pytest.approx(1)
    now[0] += 60
    for _ in range(100):
        pace()
    assert len(rests) == 50


def test_a_rest_follows_what_was_shown_and_nothing_else() -> None:
    order: list[str] = []
    live = Live(order.append, 1000, lambda: order.append("rest"))
    live.feed(b"prompt: ")
    live.feed(b"\x1b[2K")
    live.close()
    assert order == ["prompt: ", "rest"]


@given(st.lists(st.sampled_from([b"\x1b[31m" * 60, b"\x1b[1;2m", b"\x1b[m", b"a", b"\x1b[2K", b"\n"]), max_size=14), st.data())
def test_how_colours_come_makes_no_difference_to_which_pass(pieces: list[bytes], data: st.DataObject) -> None:
    raw = b"".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=3)))
    one, many = Colours(), Colours()
    parts = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]

    assert b"".join(map(many.feed, parts)) == one.feed(raw)


def test_nothing_is_shown_of_a_stream_without_a_budget() -> None:
    assert shown(b"abc", budget=0) == ["[… 3 bytes omitted …]\n"]
    assert shown(budget=0) == []


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("no progress\nat all", "no progress\nat all"),
        ("windows\r\nlines\r\n", "windows\r\nlines\r\n"),
        ("10%\r100%\r\nnext\r\n", "100%\r\nnext\r\n"),
        ("50%\r", "50%\r"),
        ("50%\r100%", "100%"),
        ("50%\r\r", "50%\r"),
        ("a\rb\nc\rd\n", "b\nd\n"),
        ("\r", "\r"),
    ],
)
def test_of_a_line_that_was_drawn_again_the_last_state_is_stored(text: str, stored: str) -> None:
    assert plain(text) == stored


def test_PROC_15_many_updates_of_one_line() -> None:
    assert plain("\r".join(f"{at}" for at in range(200_001)) + "\n") == "200000\n"


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
@pytest.mark.parametrize(
    ("given", "passed"),
    [
        (b"", b""),
        (b"plain", b"plain"),
        (b"a\x1b[31mb\x1b[2Kc\x1b]0;title\x07d", b"a\x1b[31mbcd"),
        (b"a\x1b]0;" + b"x" * 5000 + b"\x1b\\b", b"ab"),
        (b"a" + b"\x1b[0m" * 200 + b"b\x1b[1m", b"a" + b"\x1b[0m" * 128 + b"b\x1b[1m"),
        (b"\x1b[1m\x1b[2K" * 200, b"\x1b[1m" * 128),
        (b"a\x1b]0;never ended", b"a"),
    ],
)
def test_only_colours_pass_before_redaction_however_the_bytes_come(given: bytes, passed: bytes, size: int) -> None:
    colours = Colours()
    assert b"".join(colours.feed(given[at : at + size]) for at in range(0, len(given), size)) == passed
