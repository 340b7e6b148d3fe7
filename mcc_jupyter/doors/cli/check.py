"""``mcc-jupyter check [PATH…]``: what tools may get, compared with the lock file (SPEC 9.8).

Lines about access go to stdout, everything else to stderr. The status tells the worst: what cannot be read, then more
access than the lock has.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from typing import Any

from ...core.access import printable
from ...core.lock import Change
from ...runtime.checking import LOCK_NAME, Checked, check, read_lock, write_lock
from .streams import print_json

WIDENED = 1
"""The exit status where tools get more than the lock says, or there is no lock."""

UNREAD = 2
"""The exit status where something cannot be read, so that nobody knows."""


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "check",
        help="fail when tools may get more than mcc.lock says",
        description="Reads notebooks and tools files, runs nothing of them, and compares what tools may get with a "
        "lock file. Status: 0 no more than the lock says, 1 more, or there is no lock, 2 something cannot be read.",
    )
    parser.add_argument(
        "paths", metavar="PATH", nargs="*", help="files and folders; by default the lock's folder and what it lists"
    )
    parser.add_argument("--lock", metavar="FILE", default=LOCK_NAME, help=f"the lock file (default: {LOCK_NAME})")
    parser.add_argument("--update", action="store_true", help="write the lock instead of failing")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=_check)


def _check(parent: Mapping[str, str], options: argparse.Namespace) -> int:
    lock = read_lock(options.lock)
    folder = os.path.dirname(os.path.abspath(options.lock))
    checked = check(options.paths, lock, folder=folder, home=parent.get("HOME"))
    status = _status(checked, options, there=lock is not None)
    if options.update and status == 0:
        write_lock(options.lock, checked.lock)
    if options.json:
        print_json(_document(checked, status))
    else:
        if lock is not None or options.update:
            for change in checked.changes:
                print(f"{change.file}: {change}", flush=True)  # before what stderr says of it, also in a CI job's log
        _tell(checked)
    message = _message(checked, options, there=lock is not None)
    if message:
        print(f"{printable(options.lock)}: {message}", file=sys.stderr)
    return status


def _status(checked: Checked, options: argparse.Namespace, *, there: bool) -> int:
    if checked.read.problems:
        return UNREAD
    wider = not there or any(change.wider for change in checked.changes)
    return WIDENED if wider and not options.update else 0


def _tell(checked: Checked) -> None:
    for note in checked.read.notes:
        print(f"note: {note}", file=sys.stderr)
    for warning in checked.read.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    for problem in checked.read.problems:
        print(problem, file=sys.stderr)


def _message(checked: Checked, options: argparse.Namespace, *, there: bool) -> str:
    """What to do now."""
    if options.update:
        return "not written, because not everything could be read" if checked.read.problems else ""
    if not there:
        return "there is no lock yet; write it with `mcc-jupyter check --update`, review it and commit it"
    if any(change.wider for change in checked.changes):
        return "tools get more than it says; if they should, write it anew with --update and have that reviewed"
    return "tools get less than it says; write it anew with --update" if checked.changes else ""


def _document(checked: Checked, status: int) -> dict[str, object]:
    def listed(changes: list[Change], *, wider: bool) -> list[dict[str, object]]:
        return [change.json() for change in changes if change.wider is wider]

    return {
        "status": status,
        "wider": listed(checked.changes, wider=True),
        "narrower": listed(checked.changes, wider=False),
        "warnings": checked.read.warnings,
        "notes": checked.read.notes,
        "problems": [str(problem) for problem in checked.read.problems],
    }
