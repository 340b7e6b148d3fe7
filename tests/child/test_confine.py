"""What is asked of the system for each version of Landlock, and what the footer then says (SPEC 7.1, 11.5)."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from types import ModuleType

import pytest

from mcc_jupyter.core.isolation import Isolation
from tests.processes import loaded

SCOPE = bytes(16) + (2).to_bytes(8, sys.byteorder)
REFER = (1 << 13).to_bytes(8, sys.byteorder)
READS = "A tool can read the first environment of the process that holds these values; files are not isolated."
WHOLE = "Isolation: Landlock, no new privileges: a tool cannot read or trace other processes. Nothing keeps it from files."
SIGNALS = "Isolation: Landlock, no new privileges: a tool cannot read or trace other processes; it can signal them. Nothing keeps it from files."
NONE = f"Isolation: own process, no new privileges; not confined, because this system has no Landlock 2. {READS}"
VERSION = ("create", b"", 1)


class System:
    """A kernel that has Landlock in one version, and remembers what it was asked. It confines nobody."""

    def __init__(self, abi: int, monkeypatch: pytest.MonkeyPatch, *, fails: str = "", error: int = 0) -> None:
        self.confine: ModuleType = loaded("confine")
        self.abi, self.fails, self.error = abi, fails, error
        self.asked: list[object] = []
        self.confined = False
        monkeypatch.setattr(self.confine, "_libc", self)
        monkeypatch.setattr(self.confine, "call", self.call)
        monkeypatch.setattr(self.confine, "drop", lambda: True)
        # A signal to outside is refused once there is a domain that scopes them.
        monkeypatch.setattr(self.confine, "reaches", lambda _: not (self.confined and self.abi >= 6))

    def prctl(self, *arguments: int) -> int:
        self.asked.append(("prctl", *arguments[:2]))
        return 0

    def call(self, number: int, *arguments: object) -> int:
        name = {444: "create", 445: "add", 446: "restrict"}[number]
        if name == "create":
            attributes, _, flags = arguments
            self.asked.append((name, attributes or b"", flags))
            if flags == 1:
                return self.abi
        elif name == "add":
            _, kind, rule, flags = arguments
            assert isinstance(rule, bytes)
            assert os.path.samefile(f"/dev/fd/{int.from_bytes(rule[8:], sys.byteorder)}", "/")
            self.asked.append((name, kind, rule[:8], flags))
        else:
            self.asked.append((name, *arguments))
        if name == self.fails:
            ctypes.set_errno(self.error)
            return -1
        self.confined = self.confined or name == "restrict"
        return 33 if name == "create" else 0

    def enter(self) -> tuple[int, int, str]:
        """What holds, the trouble, and the footer's line, as the runtime makes it of the two."""
        confinement = self.confine.Confinement()
        holds, trouble = confinement.enter(os.getppid())
        isolation = Isolation("linux", confinement.abi, *(bool(holds & 1 << bit) for bit in range(4)))
        return holds, trouble, isolation.line()


TABLE = [
    # Landlock's version, as the system tells it → what is asked of it, what holds, the footer's line
    pytest.param(-1, [], 12, NONE, id="no Landlock"),
    pytest.param(1, [], 12, NONE, id="ABI 1"),
    *(
        pytest.param(abi, [("create", REFER, 0), ("add", 1, REFER, 0), ("restrict", 33, 0)], 13, SIGNALS, id=f"ABI {abi}")
        for abi in (2, 3, 4, 5)
    ),
    *(pytest.param(abi, [("create", SCOPE, 0), ("restrict", 33, 0)], 15, WHOLE, id=f"ABI {abi}") for abi in (6, 7, 8, 99)),
]


@pytest.mark.parametrize(("abi", "asked", "holds", "line"), TABLE)
def test_each_version_of_landlock_is_asked_for_what_it_has(abi: int, asked: list[object], holds: int, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    system = System(abi, monkeypatch)

    assert system.enter() == (holds, 0, line)
    assert [one for one in system.asked if one != ("prctl", 38, 1)] == [VERSION, *asked]
    assert ("prctl", 38, 1) in system.asked


REFUSED = "Isolation: this process cannot be confined any further; a call is refused and says why."


@pytest.mark.parametrize(
    ("abi", "fails", "error", "trouble"),
    [
        pytest.param(7, "restrict", errno.E2BIG, errno.E2BIG, id="sixteen domains"),
        pytest.param(4, "restrict", errno.E2BIG, errno.E2BIG, id="sixteen domains of an older kind"),
        pytest.param(7, "create", errno.EPERM, errno.EINVAL, id="no ruleset"),
        pytest.param(4, "add", errno.EINVAL, errno.EINVAL, id="a right that is not given back"),
    ],
)
def test_a_domain_that_cannot_be_had_is_trouble_and_nothing_weaker(abi: int, fails: str, error: int, trouble: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")

    assert System(abi, monkeypatch, fails=fails, error=error).enter() == (12, trouble, REFUSED)


def test_a_root_that_cannot_be_opened_is_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    system = System(4, monkeypatch)
    monkeypatch.setattr(system.confine.os, "open", lambda *_: (_ for _ in ()).throw(PermissionError))

    assert system.enter() == (12, errno.EINVAL, REFUSED)


def test_a_scope_that_is_not_seen_to_hold_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    system = System(7, monkeypatch)
    monkeypatch.setattr(system.confine, "reaches", lambda _: True)
    assert system.enter() == (13, 0, SIGNALS)
    monkeypatch.setattr(system.confine, "reaches", lambda _: None)  # there is nobody to try it on
    assert system.enter() == (13, 0, SIGNALS)


def test_elsewhere_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    system = System(7, monkeypatch)
    confinement = system.confine.Confinement()

    assert (confinement.abi, confinement.enter(1), system.asked) == (0, (0, 0), [])
    line = f"Isolation: own process; not confined, because this system is not Linux. {READS}"
    assert Isolation("darwin").line() == line
