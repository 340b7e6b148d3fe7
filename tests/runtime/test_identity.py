"""SPEC 6.1, 6.6: who calls, by the uid and never by a variable."""

from __future__ import annotations

import os
import pwd
import threading

import pytest

from mcc_jupyter.runtime.identity import Identity, acting, acting_as, local_user


def test_the_os_user_comes_from_the_uid_and_never_from_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    real = pwd.getpwuid(os.getuid()).pw_name
    for name in ("USER", "LOGNAME", "LNAME", "USERNAME", "SUDO_USER"):
        monkeypatch.setenv(name, "mallory")
    assert local_user() == real


def test_a_uid_without_a_name_is_shown_as_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_001)
    assert local_user() == "uid-4000000001"


ENTRIES = [
    pytest.param(Identity("ana"), {"user": "ana", "groups": ["admin"], "tools": []}, None, id="no configuration: all groups"),
    pytest.param(Identity("ana", groups=()), {"user": "ana", "groups": [], "tools": []}, frozenset(), id="in no group"),
    pytest.param(
        Identity("ana", email="ana@h.test", groups=("ops", "dev"), tools=("q",)),
        {"user": "ana", "email": "ana@h.test", "groups": ["ops", "dev"], "tools": ["q"]},
        frozenset({"ops", "dev"}),
        id="everything known",
    ),
]


@pytest.mark.parametrize(("identity", "entries", "caller"), ENTRIES)
def test_identity_is_what_a_tool_sees_and_what_decides_access(
    identity: Identity, entries: dict[str, object], caller: frozenset[str] | None
) -> None:
    assert identity.entries() == entries
    assert identity.caller == caller


def test_changing_what_was_handed_out_changes_no_identity() -> None:
    identity = Identity("ana", groups=("ops",))
    identity.entries()["groups"].append("admin")  # type: ignore[attr-defined]
    assert identity.entries()["groups"] == ["ops"]


def test_somebody_acts_for_a_while_and_in_one_thread_only() -> None:
    own, ada = Identity("own"), Identity("ada", groups=("x",), by_server=True)
    with acting_as(ada):
        with acting_as(None):
            assert acting(own) is own
        assert acting(own) is ada
        seen: list[Identity] = []
        other = threading.Thread(target=lambda: seen.append(acting(own)))
        other.start()
        other.join()
        assert seen == [own]
    assert acting(own) is own


@pytest.mark.parametrize(
    ("identity", "line"),
    [
        (Identity("a"), "Identity: the local user, all groups, by its own statement."),
        (Identity("a", groups=()), "Identity: the local user, groups none, by its own statement."),
        (Identity("a", groups=("x", "y"), by_server=True), "Identity: the server's user, groups x, y."),
        (Identity("a", by_server=True), "Identity: the server's user, all groups."),
    ],
)
def test_the_footer_says_whose_word_an_identity_is(identity: Identity, line: str) -> None:
    assert identity.line() == line
