"""The output of a call for a requester elsewhere: numbered, bounded, and ended when nobody listens any more."""

from __future__ import annotations

import threading

import pytest

from mcc_jupyter.core.errors import ArgumentError
from mcc_jupyter.runtime.window import Window
from tests.processes import until


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_pieces_are_numbered_and_cut_and_their_text_is_whole() -> None:
    sent: list[tuple[int, str, str]] = []
    window = Window(lambda *piece: sent.append(piece))
    window("stdout", "x" * 100_000)
    window("stderr", "ü")
    assert [(seq, stream) for seq, stream, _ in sent] == [(1, "stdout"), (2, "stdout"), (3, "stderr")]
    assert "".join(text for _, _, text in sent) == "x" * 100_000 + "ü"


def test_what_has_no_room_waits_for_an_acknowledgement() -> None:
    sent: list[int] = []
    window = Window(lambda seq, *_: sent.append(seq), size=10)
    done = threading.Event()

    def tool() -> None:
        for _ in range(4):
            window("stdout", "x" * 5)
        done.set()

    threading.Thread(target=tool, daemon=True).start()
    assert until(lambda: sent == [1, 2])
    assert not done.wait(0.1)
    window.ack(1)
    assert until(lambda: sent == [1, 2, 3])
    window.ack(3)
    assert done.wait(20)
    assert sent == [1, 2, 3, 4]


def test_one_piece_larger_than_the_window_is_sent_alone() -> None:
    sent: list[str] = []
    window = Window(lambda _seq, _stream, text: sent.append(text), size=3)
    window("stdout", "longer than three")
    assert sent == ["longer than three"]


def test_nothing_is_acknowledged_that_was_not_sent() -> None:
    window = Window(lambda *_: None)
    window("stdout", "x")
    window.ack(1)
    window.ack(0)
    with pytest.raises(ArgumentError) as error:
        window.ack(2)
    assert str(error.value) == "mcc_request: `seq` must be the number of an output that was sent"


def test_who_says_nothing_while_output_waits_has_gone_and_who_has_nothing_to_say_has_not() -> None:
    clock = Clock()
    window = Window(lambda *_: None, clock=clock)
    clock.now = 1000
    window.look()
    assert (window.remaining(), window.lost) == (None, False)
    window("stdout", "x")
    clock.now += 29
    window.look()
    assert (window.remaining(), window.lost) == (1.0, False)
    window.ack(0)
    clock.now += 29
    window.look()
    assert not window.lost
    clock.now += 1
    window.look()
    assert (window.lost, window.stop.requested, window.remaining()) == (True, True, None)


def test_who_promised_a_word_has_to_keep_it_even_while_nothing_is_sent() -> None:
    clock = Clock()
    window = Window(lambda *_: None, lease=5, clock=clock)
    clock.now = 4
    window.ack(0)
    clock.now = 8
    window.look()
    assert not window.lost
    clock.now = 9
    window.look()
    assert window.lost


def test_a_tool_that_waits_for_somebody_who_has_gone_is_let_go() -> None:
    sent: list[int] = []
    window = Window(lambda seq, *_: sent.append(seq), lease=1, size=4)
    window("stdout", "xxxx")
    window("stdout", "waits for a second, and then there is nobody")
    assert (sent, window.lost, window.left_out) == ([1], True, 44)


def test_once_the_call_is_to_end_nothing_waits() -> None:
    sent: list[int] = []
    window = Window(lambda seq, *_: sent.append(seq), size=4)
    window("stdout", "xxxx")
    waiting = threading.Thread(target=window, args=("stdout", "yyyy"), daemon=True)
    waiting.start()
    waiting.join(0.1)
    assert waiting.is_alive()
    window.end()
    waiting.join(20)
    assert not waiting.is_alive()
    window.ack(1)
    window("stdout", "zz")
    assert (sent, window.left_out, window.lost) == ([1, 2], 4, False)
