"""Files and notebooks → declarations in a toolbox (SPEC 2.4, 12.3)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..core.errors import DeclarationError, Problem
from ..core.notebook import declarations
from ..core.tool import Origin
from .answers import Added, joined
from .catalog import ToolFile, notebook_file, tool_files

if TYPE_CHECKING:
    from .toolbox import Toolbox

NO_FOLDER = Problem("cwd", "the working directory no longer exists; change to another one")


def load_files(toolbox: Toolbox, paths: Sequence[str], *, folder: str | None) -> Added:
    """Declares the tools of files, folders and globs; one bad file stops no other."""
    home = toolbox.parent().get("HOME")
    results: list[Added] = []
    for path in paths:
        try:
            files = tool_files(path, folder=folder or os.getcwd(), home=home)
        except FileNotFoundError:
            results.append(Added(problems=(NO_FOLDER,)))
        except DeclarationError as error:
            results.append(Added(problems=error.problems))
        else:
            results += [_load(toolbox, file) for file in files]
    return joined(results)


def _load(toolbox: Toolbox, file: ToolFile) -> Added:
    if file.path.endswith(".toml"):
        return _load_policy(toolbox, file)
    try:
        document = file.document()
    except DeclarationError as error:
        return Added(problems=error.problems)
    origin = Origin("file", file.written, os.path.realpath(file.path))
    added = toolbox.add(document, origin, folder=os.path.dirname(file.path))
    return replace(added, problems=tuple(problem.under(file.written) for problem in added.problems))


def _load_policy(toolbox: Toolbox, file: ToolFile) -> Added:
    """The tools of a policy file as the notebook's own, where none holds; a second one never does (SPEC 9.1)."""
    from . import policy_files

    holding = toolbox.governed.path
    if holding is not None and os.path.realpath(holding) == os.path.realpath(file.path):
        return Added(notices=(f"{file.written} is the policy file here; `%mcc_policy` shows what it grants",))
    if holding is not None:
        text = f"{toolbox.governed.label} holds here since the start, and no other policy file does; restart with it"
        return Added(problems=(Problem(file.written, text),))
    origin = Origin("file", file.written, os.path.realpath(file.path))
    loaded = policy_files.load(file.path, toolbox.parent(), origin)
    if loaded.authority is None:
        return Added(problems=loaded.problems)
    tools = [item.tool for item in loaded.authority.tools.values() if item.enabled]
    return toolbox.add_tools(tools, origin)


def load_notebook(toolbox: Toolbox, path: str) -> Added:
    """Declares what a notebook declares, without running its other code; paths are relative to its folder."""
    folder = os.path.dirname(os.path.abspath(path))
    try:
        found, problems = declarations(notebook_file(path))
    except DeclarationError as error:
        return Added(problems=error.problems)
    results = [Added(problems=tuple(problems))]
    for item in found:
        origin = Origin("cell", item.label, item.cell)
        if item.paths:
            added = toolbox.load(*item.paths, folder=folder)
        elif item.source is not None:
            added = toolbox.add_function(item.source, item.fields, origin, folder=folder)
        else:
            added = toolbox.add(item.document, origin, folder=folder)
        results.append(replace(added, problems=tuple(problem.under(item.where) for problem in added.problems)))
    return joined(results)
