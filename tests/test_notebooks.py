"""Every committed notebook is whole: executed from top to bottom, with its outputs, without an error.

``make test`` runs them with nbval, which skips what was never executed and does not see a ``UsageError``; both are caught here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted(path for path in (REPOSITORY / "notebooks").rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)


def unfinished(notebook: dict[str, Any]) -> list[str]:
    """What keeps a notebook from being whole, a line each."""
    found, last = [], 0
    for at, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] != "code" or not "".join(cell["source"]).strip():
            continue
        count, tags = cell["execution_count"], cell["metadata"].get("tags", [])
        if count is None:
            found.append(f"cell {at} was not executed")
            continue
        if count <= last:
            found.append(f"cell {at} was executed out of order")
        last = count
        for output in cell["outputs"]:
            if output["output_type"] == "error" and "raises-exception" not in tags:
                found.append(f"cell {at} ended in {output['ename']}")
            if output["output_type"] == "stream" and output["name"] == "stderr" and "UsageError" in "".join(output["text"]):
                found.append(f"cell {at} ended in a UsageError")
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_a_committed_notebook_is_whole(path: Path) -> None:
    assert unfinished(json.loads(path.read_text(encoding="utf-8"))) == []


def code(source: str, count: int | None = 1, outputs: list[dict[str, Any]] | None = None, tags: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"cell_type": "code", "id": f"c{abs(hash((source, count)))}"[:12], "metadata": {"tags": list(tags)}, "source": source, "execution_count": count, "outputs": outputs or []}


def document(*cells: dict[str, Any]) -> dict[str, Any]:
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return {"cells": list(cells), "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}


ERROR = {"output_type": "error", "ename": "ToolFailed", "evalue": "", "traceback": []}
USAGE = {"output_type": "stream", "name": "stderr", "text": ["UsageError: Cell magic `%%mcc_tool` not found.\n"]}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([code("1", 1), code("2", 2)], []),
        ([{"cell_type": "markdown", "metadata": {}, "source": "text"}, code("", None)], []),
        ([code("1", None)], ["cell 0 was not executed"]),
        ([code("1", 2), code("2", 1)], ["cell 1 was executed out of order"]),
        ([code("1", 1, [ERROR])], ["cell 0 ended in ToolFailed"]),
        ([code("1", 1, [ERROR], ("raises-exception",))], []),
        ([code("1", 1, [USAGE])], ["cell 0 ended in a UsageError"]),
    ],
)
def test_what_keeps_a_notebook_from_being_whole(cells: list[dict[str, Any]], expected: list[str]) -> None:
    assert unfinished(document(*cells)) == expected


def test_nbval_fails_a_cell_that_ends_in_a_usage_error(tmp_path: Path) -> None:
    unknown = {"output_type": "stream", "name": "stderr", "text": ["UsageError: Line magic function `%no_such_magic` not found.\n"]}
    planted = document(code("print('fine')", 1, [{"output_type": "stream", "name": "stdout", "text": ["fine\n"]}]), code("%no_such_magic", 2, [unknown]))
    (tmp_path / "planted.ipynb").write_text(json.dumps(planted))
    (tmp_path / "conftest.py").write_bytes((REPOSITORY / "notebooks" / "conftest.py").read_bytes())
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "-p", "no:cacheprovider", "-rA", "-q", "--rootdir", str(tmp_path), str(tmp_path)]
    environment = {**os.environ, "IPYTHONDIR": str(tmp_path / "ipython"), "COLUMNS": "200"}

    answer = subprocess.run(command, capture_output=True, text=True, env=environment)

    assert "1 failed, 1 passed" in answer.stdout
    assert "the cell ended in a UsageError: UsageError: Line magic function `%no_such_magic` not found." in answer.stdout
