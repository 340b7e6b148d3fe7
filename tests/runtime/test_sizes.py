"""SPEC 4.10: what this machine allows, and a real process that has so much."""

from __future__ import annotations

import os
import resource
import subprocess

import pytest

from mcc_jupyter.runtime.sizes import environment_room

MIB = 1024 * 1024
RESERVE = 64 * 1024

ROOM = [
    (8 * MIB, 2 * MIB - RESERVE),
    (32 * MIB, 6 * MIB - RESERVE),
    (resource.RLIM_INFINITY, 6 * MIB - RESERVE),
    (1 * MIB, 256 * 1024 - RESERVE),
    (128 * 1024, 0),
]


@pytest.mark.parametrize(("stack", "room"), ROOM)
def test_the_room_is_a_quarter_of_the_stack_less_a_reserve_and_bounded(
    stack: int, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda what: (stack, stack) if what == resource.RLIMIT_STACK else (0, 0))
    assert environment_room() == room


def test_a_real_process_starts_with_as_much_as_the_room_allows() -> None:
    per_variable = 100_000 + len("V00=") + 9  # a terminator and a pointer
    count = environment_room() // per_variable
    environ = {f"V{at:02}": "x" * 100_000 for at in range(count)}
    assert subprocess.run(["/bin/true"], env=environ).returncode == 0
    assert count >= 1
    assert os.sysconf("SC_ARG_MAX") >= environment_room()
