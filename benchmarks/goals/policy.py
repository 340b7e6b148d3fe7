"""What happens before a process: resolving (N8), env files (N9), loading the extension (N10), many tools (N14)."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..harness import Figure, Goal, Way, Ways
from .common import FLOOR, REPOSITORY, add, toolbox


@contextmanager
def n8() -> Iterator[Ways]:
    """Resolving again while the parent is unchanged."""
    from mcc_jupyter.core.policy import resolve
    from mcc_jupyter.core.tool import DEFAULT_FLOOR, Origin, Shell, Text, Tool

    parent = {**FLOOR, **{f"GROUP{number % 45}_NAME_{number}": f"value {number}" for number in range(10_000)}}
    tool = Tool(
        name="bench",
        body=Shell("true", "true"),
        origin=Origin("cell", "cell"),
        cwd=Text("/", "/"),
        passthrough=tuple(f"GROUP{number}_*" for number in range(10)),
    )
    yield {
        "resolve": Way(lambda: resolve(tool, parent=parent, floor=DEFAULT_FLOOR), number=5),
        "dict": Way(lambda: dict(parent), number=5),
    }


@contextmanager
def n9(*, again: bool) -> Iterator[Ways]:
    """Reading an env file: for the first time, and again while it is unchanged."""
    from dotenv import dotenv_values

    from mcc_jupyter.core.tool import EnvFile
    from mcc_jupyter.runtime.catalog import EnvFiles

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.env"
        path.write_text("".join(f"NAME_{number}='value {number} of a file'\n" for number in range(1_000)))
        declared = [EnvFile("bench.env", str(path))]
        known = EnvFiles()
        first = Way(lambda: EnvFiles().read(declared))
        if again:
            yield {"again": Way(lambda: known.read(declared), number=10), "first": first}
        else:
            yield {"first": first, "dotenv_values": Way(lambda: dotenv_values(path, interpolate=False))}


_LOAD = """
import sys, time
sys.path.insert(0, sys.argv[1])
import ipykernel.ipkernel
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
begin = time.perf_counter()
shell.run_line_magic("load_ext", "mcc_jupyter")
print(time.perf_counter() - begin)
"""
_IMPORT = "import time; begin = time.perf_counter(); import json; print(time.perf_counter() - begin)"


@contextmanager
def n10() -> Iterator[Ways]:
    """Loading the extension in a shell as a kernel has it."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**FLOOR, "HOME": home, "IPYTHONDIR": f"{home}/ipython"}

        def fresh(script: str, *arguments: str) -> Callable[[], float]:
            command = [sys.executable, "-I", "-c", script, *arguments]
            return lambda: float(subprocess.run(command, capture_output=True, check=True, env=environment).stdout)

        yield {"load_ext": Way(fresh(_LOAD, str(REPOSITORY))), "import json": Way(fresh(_IMPORT))}


@contextmanager
def n14() -> Iterator[tuple[Ways, tuple[Figure, ...]]]:
    """Ten thousand tools: finding one, and what their overviews put into a notebook."""
    with toolbox(FLOOR) as tools:
        add(tools, [{"name": f"tool_{number}", "exec": "true"} for number in range(10_000)])
        plain = {f"tool_{number}": number for number in range(10_000)}

        def largest() -> float:
            shown = [item._repr_mimebundle_() for item in (tools.listing(), tools.matrix())]
            return max(len(json.dumps(bundle, ensure_ascii=False).encode()) for bundle in shown) / 1024

        ways = {
            "find": Way(lambda: tools.registry.find("tool_7421"), number=1_000),
            "dict": Way(lambda: plain.get("tool_7421"), number=1_000),
        }
        yield ways, (Figure("10,000 tools: the larger of list and overview in the notebook", largest, 64, " KB"),)


def _team(tools: int) -> dict[str, object]:
    """A policy file's content: *tools* commands, a tenth as many profiles that include each other, a workspace each."""
    profiles = tools // 10
    return {
        "tools": {
            f"tool_{at}": {
                "exec": f"report --part {at} {{{{ day | quote }}}}",
                "params": [{"name": "day", "description": "which day"}],
                "required_env": [f"KEY_{at}", f"SHARED_{at % 20}"],
                "optional_env": [f"TEAM_{at}"],
                "env": {"LEVEL": "info"},
                "skills": [f"skill_{at}"],
            }
            for at in range(tools)
        },
        "profiles": {
            f"profile_{at}": {
                "includes": [f"profile_{at - 1}"] if at else [],
                "tools": [f"tool_{number}" for number in range(at * 10, min(tools, at * 10 + 20))],
                "skills": [f"plain_{at}"],
            }
            for at in range(profiles)
        },
        "workspaces": {f"team_{at}/**/*.ipynb": {"profiles": [f"profile_{at}"]} for at in range(profiles)},
        "grants": {"allow": ["AWS_*"], "deny": ["AWS_SECRET*"]},
    }


def _read(document: dict[str, object], place: Any) -> Any:
    from mcc_jupyter.core.authority import Authority
    from mcc_jupyter.core.authority_reading import read_policy

    found = read_policy(document, place)
    if not isinstance(found, Authority):
        raise RuntimeError(f"the policy of this benchmark is wrong: {found[0]}")
    return found


def _place(tools: int) -> Any:
    from mcc_jupyter.core.declare import Place
    from mcc_jupyter.core.tool import DEFAULT_FLOOR, Origin

    names = [*(f"KEY_{at}" for at in range(tools)), *(f"SHARED_{at}" for at in range(20))]
    parent = {**FLOOR, **dict.fromkeys(names, "made up")}
    return Place(parent, DEFAULT_FLOOR, "/srv/team", "/tmp", Origin("policy", "mcc.toml"))


@contextmanager
def n14_load() -> Iterator[Ways]:
    """Reading a policy file of 500 tools, and declaring the same tools in a notebook."""
    from mcc_jupyter.core.declare import declare

    document, place = _team(500), _place(500)
    tables: Any = document["tools"]
    plain = [{"name": name, **table} for name, table in tables.items()]
    for table in plain:
        del table["skills"]

    def declared() -> object:
        found = declare(plain, place)
        if found.problems or len(found.tools) != 500:
            raise RuntimeError("the tools of this benchmark are wrong")
        return found

    yield {"policy": Way(lambda: _read(document, place)), "cells": Way(declared)}


@contextmanager
def n14_resolve() -> Iterator[Ways]:
    """What a workspace with 500 tools may use, and all of it resolved; against resolving alone."""
    from mcc_jupyter.core.authority import Workspace, access
    from mcc_jupyter.core.policy import resolve

    place = _place(500)
    authority = _read(_team(500), place)
    tools = [item.tool for item in authority.tools.values()]
    workspace = Workspace(path="/srv/team/team_49/reports/a.ipynb")

    def resolved(listed: list[Any]) -> None:
        found = [resolve(tool, parent=place.parent, floor=place.floor) for tool in listed]
        if len(found) != 500 or not all(resolution.available for resolution in found):
            raise RuntimeError("a tool of this benchmark is unavailable")

    def governed() -> None:
        granted = access(authority, workspace, user="ana", groups=frozenset())
        resolved([authority.tools[name].tool for name in granted.tools])

    yield {"policy": Way(governed), "resolve": Way(lambda: resolved(tools))}


@contextmanager
def n14_growth() -> Iterator[Ways]:
    """Ten times as many tools and profiles: what one of them takes."""
    many, few = _team(2_500), _team(250)

    def each(document: dict[str, object], tools: int) -> float:
        place = _place(tools)
        begin = time.perf_counter()
        _read(document, place)
        return (time.perf_counter() - begin) / tools

    yield {"of 2,500": Way(lambda: each(many, 2_500)), "of 250": Way(lambda: each(few, 250))}


_FILE = "dotenv of 1,000 lines"
_POLICY = "policy of 500 tools, 50 profiles"

GOALS = (
    Goal("N8", "resolve 10,000 variables, 10 patterns, parent unchanged / a dict copy", 3, n8),
    Goal("N9", f"{_FILE}, read first / dotenv_values(interpolate=False)", 1, lambda: n9(again=False)),
    Goal("N9", f"{_FILE}, read again / read first", 0.01, lambda: n9(again=True)),
    Goal("N10", "%load_ext mcc_jupyter / import json in a bare Python", 0.5, n10),
    Goal("N14", "10,000 tools: finding one / dict.get", 2, n14),
    Goal("N14", f"{_POLICY}: reading it / declaring the same tools in a cell", 1.3, n14_load, most=20),
    Goal("N14", f"{_POLICY}: access and resolving all / resolving all", 1.1, n14_resolve, most=60),
    Goal("N14", "reading a policy, a tool: of 2,500 tools / of 250 tools", 1.3, n14_growth, most=5, warm_up=False),
)
