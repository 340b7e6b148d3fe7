"""``mcc-jupyter policy``, and how each command learns its policy file and its workspace (SPEC 9.1, 9.2)."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from ...core.errors import PolicyError
from ...runtime.current import new_toolbox
from ...runtime.policy_search import Start
from ...runtime.toolbox import Toolbox


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--policy", metavar="FILE", help="the operator's policy file; else the one that is found")
    parser.add_argument("--workspace", metavar="NAME", help="a name, or the path of a notebook; else MCC_WORKSPACE")


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    policy = commands.add_parser(
        "policy",
        help="show the policy file that holds here: tools, names, what cells may ask for",
        description="Shows names and availability, never a value. The status is 7 where the file cannot be used.",
    )
    policy.add_argument("--format", choices=("text", "json"), default="text")
    policy.add_argument("--json", action="store_const", const="json", dest="format", help="--format json")
    add_options(policy)
    policy.set_defaults(command=_policy, file="")


def toolbox_of(parent: Callable[[], Mapping[str, str]], options: argparse.Namespace) -> Toolbox:
    """The toolbox of one command. Raises ``PolicyError`` where its policy file cannot be used."""
    try:
        folder = os.getcwd()
    except FileNotFoundError:
        folder = None
    file: str = options.file
    start = Start(
        parent(),
        folder,
        policy=options.policy or (file if file.endswith(".toml") else None),
        workspace=options.workspace,
        beside=os.path.realpath(file) if file else None,
        began=folder,
    )
    toolbox = new_toolbox(parent, start)
    if options.command is not _policy:
        toolbox.governed.raise_for_problems()
    return toolbox


def is_policy(toolbox: Toolbox, file: str) -> bool:
    """Whether *file* is the policy file that holds, whose tools are there already."""
    holding = toolbox.governed.path
    return holding is not None and file.endswith(".toml") and os.path.realpath(file) == os.path.realpath(holding)


def _policy(toolbox: Toolbox, options: argparse.Namespace) -> int:
    standing = toolbox.standing()
    print(json.dumps(standing.json(), indent=2, ensure_ascii=False) if options.format == "json" else standing.text())
    return PolicyError.exit_status if standing.problems else 0
