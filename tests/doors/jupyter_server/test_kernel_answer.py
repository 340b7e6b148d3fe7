"""Kernels are asked for what they know, one after the other; one that does not answer is no failure."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mcc_jupyter.core.saved import Checked
from mcc_jupyter.core.scan import Finding, Where
from mcc_jupyter.doors.jupyter_server.kernel_answer import KernelAnswer, asker, merged

LOG = logging.getLogger("test")
Reply = tuple[Mapping[str, Any], Sequence[Any]]


def document() -> bytes:
    return b"as it arrived"


def world(replies: Mapping[str, Reply | Exception]) -> tuple[Any, list[tuple[str, bytes, bool]]]:
    """What asks kernels that reply so, and what they were asked."""
    asked: list[tuple[str, bytes, bool]] = []

    async def kernels_of(path: str) -> Sequence[str]:
        return list(replies) if path == "x.ipynb" else []

    async def scan(kernel: str, notebook: bytes, clean: bool) -> Reply:
        asked.append((kernel, notebook, clean))
        reply = replies[kernel]
        if isinstance(reply, Exception):
            raise reply
        return reply

    return asker(kernels_of, scan, LOG), asked


async def test_each_kernel_redacts_what_those_before_it_left() -> None:
    first, second = {"findings": [{"name": "A"}], "cleaned": True}, {"findings": [{"name": "B"}], "cleaned": True}
    ask, asked = world({"k1": (first, [memoryview(b"without A")]), "k2": ({"findings": [], "cleaned": False}, []), "k3": (second, [b"without A, B"])})

    assert await ask("x.ipynb", document, True) == KernelAnswer([{"name": "A"}, {"name": "B"}], b"without A, B", 0)
    assert asked == [("k1", b"as it arrived", True), ("k2", b"without A", True), ("k3", b"without A", True)]


async def test_a_kernel_that_fails_or_answers_something_else_is_silent() -> None:
    odd: dict[str, Reply | Exception] = {
        "gone": ValueError("n0t-f0r-any-eyes"),
        "none": ({}, []),
        "text": ({"findings": "A"}, []),
        "lost": ({"findings": [], "cleaned": True}, []),
        "good": ({"findings": [{"name": "A"}], "cleaned": False}, []),
    }
    ask, asked = world(odd)

    assert await ask("x.ipynb", document, False) == KernelAnswer([{"name": "A"}], None, 4)
    assert [kernel for kernel, _, _ in asked] == list(odd)


async def test_without_a_kernel_the_notebook_is_not_even_written() -> None:
    ask, asked = world({"k1": ({}, [])})

    assert await ask("other.ipynb", lambda: json.loads("fails"), False) is None
    assert asked == []


FOUND = {"part": "output", "cell": 1, "output": 1, "line": None, "name": "A", "format": None, "redacted": True}
CODE = {"cell_type": "code", "source": "x", "outputs": [{"text": "secret"}]}
CONTENT = {"cells": [CODE, {"cell_type": "markdown", "source": "y"}, 7], "metadata": {"z": 1}}


def test_of_a_kernels_notebook_only_outputs_are_taken() -> None:
    theirs = {"cells": [{"source": "changed", "outputs": [{"text": "mark"}]}, {"outputs": [1]}, {"outputs": [2]}], "metadata": {}, "more": 1}
    made = merged(Checked(CONTENT), KernelAnswer([FOUND], json.dumps(theirs).encode()))

    assert made.content == {**CONTENT, "cells": [{**CODE, "outputs": [{"text": "mark"}]}, *CONTENT["cells"][1:]]}
    assert made.findings == (Finding(Where("output", 1, 1), "A", redacted=True),)


@pytest.mark.parametrize("theirs", [b"", b"[]", b"7", b"{}", b'{"cells": 7}', b"\xff", b"[" * 100_000, b'{"cells": []}', b'{"cells": [1, 2, 3, 4]}'])
@pytest.mark.parametrize("content", [CONTENT, 7, {"worksheets": []}])
def test_a_notebook_that_is_another_one_changes_nothing(content: object, theirs: bytes) -> None:
    made = merged(Checked(content), KernelAnswer([FOUND], theirs))

    assert made.content is content
    assert made.findings == (Finding(Where("output", 1, 1), "A"),)


@pytest.mark.parametrize("cell", [7, {}, {"outputs": 7}])
def test_a_cell_without_outputs_is_left_as_it_is(cell: object) -> None:
    made = merged(Checked({"cells": [CODE]}), KernelAnswer([], json.dumps({"cells": [cell]}).encode()))

    assert made.content == {"cells": [CODE]}


def test_so_many_findings_are_taken() -> None:
    answer = KernelAnswer([{**FOUND, "cell": at} for at in range(1, 3000)])

    assert len(merged(Checked(CONTENT), answer).findings) == 1000


@pytest.mark.parametrize(
    "odd",
    [None, 7, [], {}, {**FOUND, "name": "n0t-f0r-any-eyes"}, {**FOUND, "name": None}, {**FOUND, "format": "github-token"}, {**FOUND, "name": None, "format": "x"}, {**FOUND, "cell": "1"}, {**FOUND, "cell": 0}, {**FOUND, "output": True}, {**FOUND, "part": "x"}, {**FOUND, "name": ["x"]}, {**FOUND, "name": None, "format": ["x"]}, {**FOUND, "part": ["x"]}],
)  # fmt: skip
def test_of_findings_only_names_and_places_are_taken(odd: object) -> None:
    known = {**FOUND, "name": None, "format": "github-token", "cell": 9, "more": "n0t-f0r-any-eyes"}

    assert merged(Checked(CONTENT), KernelAnswer([odd, known])).findings == (Finding(Where("output", 9, 1), format="github-token"),)
