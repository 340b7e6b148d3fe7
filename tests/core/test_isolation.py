"""The footer's line about isolation: what holds, and what it leaves open."""

from __future__ import annotations

import pytest

from mcc_jupyter.core.isolation import Isolation

OPEN = "A tool can read the first environment of the process that holds these values; files are not isolated."
FULL = {"domain": True, "scoped": True, "unprivileged": True, "final": True}


@pytest.mark.parametrize(
    ("isolation", "asked", "line"),
    [
        (Isolation("linux", 7, **FULL), {}, "Isolation: Landlock, no new privileges: a tool cannot read or trace other processes. Nothing keeps it from files."),
        (
            Isolation("linux", 7, **FULL),
            {"kernel": True},
            "Isolation: Landlock, no new privileges: a tool cannot read or trace other processes. Nothing keeps it from files or from code run in this kernel through its connection file.",
        ),
        (Isolation("linux", 4, **{**FULL, "scoped": False}), {}, "Isolation: Landlock, no new privileges: a tool cannot read or trace other processes; it can signal them. Nothing keeps it from files."),
        (Isolation("linux", 7, **{**FULL, "final": False}), {}, "Isolation: Landlock: a tool cannot read or trace other processes. Nothing keeps it from files."),
        (Isolation("linux", 7, **{**FULL, "unprivileged": False}), {}, f"Isolation: Landlock, but the tool keeps a privilege that reads other processes. {OPEN}"),
        (Isolation("linux", 1, final=True, unprivileged=True), {}, f"Isolation: own process, no new privileges; not confined, because this system has no Landlock 2. {OPEN}"),
        (Isolation("linux", known=False), {}, "Isolation: not known, since no process can be started; a call will say why."),
        (Isolation("linux", 7, final=True), {}, "Isolation: this process cannot be confined any further; a call is refused and says why."),
        (Isolation("darwin"), {"kernel": True}, f"Isolation: own process; not confined, because this system is not Linux. {OPEN}"),
        (Isolation("linux", 7, **FULL), {"on": False}, f"Isolation: off for this tool: own process, nothing is confined. {OPEN}"),
    ],
)
def test_ENV_18_the_line_claims_no_more_than_what_holds(isolation: Isolation, asked: dict[str, bool], line: str) -> None:
    assert isolation.line(**asked) == line
