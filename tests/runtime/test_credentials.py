"""Which kernel is which: a credential for each start, held by one living process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcc_jupyter.runtime.credentials import Credential, Credentials, pipe_with, taken


def test_a_credential_holds_for_one_living_kernel_and_is_renewed_and_revoked() -> None:
    alive = {7: "mark 7", 8: "mark 8"}
    held = Credentials(alive.get)
    one, two = held.issue("one"), held.issue("two")
    assert held.holder(one) is None  # it has not started yet
    held.started("one", 7)
    held.started("two", 8)
    assert [held.holder(one), held.holder(two), held.holder("guess"), held.holder("\ud800")] == ["one", "two", None, None]
    assert [held.holder(one, pid=7), held.holder(one, pid=8)] == ["one", None]
    again = held.issue("one")
    held.started("one", 7)
    assert [held.holder(one), held.holder(again)] == [None, "one"]
    alive[7] = "another process of this number"
    assert held.holder(again) is None
    del alive[8]
    assert held.holder(two) is None
    held.revoke("two")
    held.revoke("two")
    held.started("two", 8)  # it was revoked before it came up
    assert (held.holder(two), repr(held)) == (None, "<credentials of 1 kernels>")
    held.started("one", 9)
    assert held.holder(again) is None


def test_nothing_here_shows_one() -> None:
    held = Credentials()
    made = held.issue("one")
    assert made not in repr(vars(held))
    assert repr(Credential(made)) == "Credential()"


def test_it_is_read_once_from_the_pipe_that_was_inherited() -> None:
    pipe = pipe_with("the credential")
    found = taken(str(pipe))
    assert found is not None
    assert found.text == "the credential"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(pipe)
    assert taken(str(pipe)) is None


@pytest.mark.parametrize("number", ["", "x", "-1", "0", "2", "²", "9" * 50])
def test_what_names_no_descriptor_of_a_kernel_is_left_alone(number: str) -> None:
    assert taken(number) is None


def test_a_descriptor_that_is_something_else_is_left_open(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w+") as file:
        file.write("x")
        assert taken(str(file.fileno())) is None
        os.fstat(file.fileno())


def test_a_pipe_with_nothing_in_it_keeps_nobody_waiting() -> None:
    ours, other = os.pipe()
    assert taken(str(ours)) is None
    os.close(other)
    ours, other = os.pipe()
    os.close(other)
    assert taken(str(ours)) is None
