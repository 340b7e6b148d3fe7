"""``mcc-jupyter launch [--env-file T] [--provider P] -- COMMAND…``: start it with an operator's secrets (SPEC 8.5).

The process becomes COMMAND, so that its exit status is COMMAND's own. What was not started: 1, a secret cannot be had;
126 and 127, as a shell says it of a command.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ...core.access import printable
from ...core.errors import SecretError
from ...runtime import launching

NO_SECRET, NOT_RUNNABLE, NOT_FOUND = 1, 126, 127


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    launch = commands.add_parser(
        "launch",
        usage="mcc-jupyter launch [-h] [--env-file T] [--provider P] -- COMMAND [ARGUMENT ...]",
        help="start a command, such as jupyter lab, with the secrets that an env template refers to",
        description="Resolves the references of an env template once and becomes COMMAND, with the values in its "
        "environment. Without a template, the values of a file .env in this folder are added, if there is one.",
    )
    launch.add_argument(
        "--env-file", metavar="T", action="append", default=[], help="a template with references; may be repeated"
    )
    launch.add_argument(
        "--provider",
        metavar="P",
        help="who resolves: pass, keyring, file, or a command that wraps others, such as pass-cli or op",
    )
    launch.add_argument("stray", nargs="*", help=argparse.SUPPRESS)
    launch.set_defaults(run=_launch, error=launch.error)


def split(arguments: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """Our own arguments, and the command that stands behind the first ``--`` of ``launch``; None for other commands."""
    own = list(arguments)
    if own[:1] != ["launch"]:
        return own, None
    if "--" in own:
        at = own.index("--")
        return own[:at], own[at + 1 :]
    at = 1
    while at < len(own) and own[at].startswith("-"):
        at += 2 if own[at] in ("--env-file", "--provider") else 1
    return own[: at + 1], []  # with a command that stands there all the same, but without its own options


def _launch(parent: Mapping[str, str], options: argparse.Namespace) -> int:
    command: list[str] = options.started
    if options.stray or not command or not command[0]:
        options.error("write what to start behind --, such as: mcc-jupyter launch -- jupyter lab")
    shown = printable(command[0])
    start = None
    try:
        start = launching.prepare(
            command, parent=parent, folder=os.getcwd(), env_files=options.env_file, provider=options.provider
        )
        for note in start.notes:
            _told(note)
        launching.become(start)
    except SecretError as error:
        return _told(str(error), NO_SECRET)
    except FileNotFoundError:
        return _told(f"command not found: {shown}", NOT_FOUND)
    except OSError as error:
        why = os.strerror(error.errno or 0)
        if error.errno == errno.E2BIG and start is not None:
            why += f"; the {printable(launching.largest(start))} takes most of the room"
        return _told(f"cannot start {shown}: {why}", NOT_RUNNABLE)


def _told(text: str, status: int = 0) -> int:
    print(f"mcc-jupyter launch: {text}", file=sys.stderr)
    return status
