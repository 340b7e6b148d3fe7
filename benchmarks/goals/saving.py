"""The save guard on a notebook of 10 MB (N18), against the parse of the request that brings it."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from ..harness import Goal, Way, Ways
from .common import secrets
from .output import log

BYTES = 10_000_000


@contextmanager
def n18(number: int, *, again: bool) -> Iterator[Ways]:
    """*again*: the notebook was saved before, and one cell has another output since."""
    from mcc_jupyter.core.saved import Checker

    known = list(secrets(number).items())
    body = json.dumps(notebook(), ensure_ascii=False, separators=(",", ":")).encode()
    if not len(body) >= BYTES:
        raise RuntimeError("the notebook is too small")
    content: dict[str, Any] = {}
    checker = Checker(known)
    turn = 0

    def arrive() -> None:
        """What is looked at are new objects each time, as they are in a server."""
        nonlocal checker, content, turn
        content = json.loads(body)
        if again:
            turn += 1
            content["cells"][3]["outputs"][0]["text"] = log(50_000) + str(turn)
        else:
            checker = Checker(known)
            checker.check({"cells": []})

    def look() -> None:
        if checker.check(content).findings:
            raise RuntimeError("there is nothing to find in it")

    checker.check(json.loads(body))
    yield {"look": Way(look, prepare=arrive), "json.loads": Way(lambda: json.loads(body.decode()))}


def notebook() -> dict[str, Any]:
    """Logs, tables and pictures; always the same."""
    chance = random.Random(11)
    text = log(1 << 20)
    rows = "".join(f"<tr><td>{at}</td><td>{chance.random()}</td><td>name {at}</td></tr>\n" for at in range(3_000))
    cells: list[dict[str, Any]] = []
    size = 0
    while size < BYTES:
        at = chance.randrange(500_000)
        picture = base64.b64encode(chance.randbytes(60_000)).decode()
        outputs = [
            {"output_type": "stream", "name": "stdout", "text": text[at : at + 100_000]},
            {"output_type": "display_data", "metadata": {}, "data": {"image/png": picture, "text/plain": "<Figure>"}},
            {"output_type": "execute_result", "metadata": {}, "data": {"text/html": f"<table>{rows}</table>"}},
        ]
        source = f"frame = read({len(cells)})\nframe.plot()\n"
        cells.append(
            {"cell_type": "code", "id": f"cell-{len(cells)}", "metadata": {}, "source": source, "outputs": outputs}
        )
        size += 100_000 + len(picture) + len(rows)
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


_WHAT = "a notebook of 10 MB"

GOALS = (
    Goal("N18", f"{_WHAT} is saved again, 10 secrets: looked at / json.loads", 2, partial(n18, 10, again=True)),
    Goal(
        "N18",
        f"{_WHAT} is saved for the first time, 10 secrets: looked at / json.loads",
        2,
        partial(n18, 10, again=False),
    ),
    Goal(
        "N18",
        f"{_WHAT} is saved for the first time, none known: looked at / json.loads",
        2,
        partial(n18, 0, again=False),
    ),
)
