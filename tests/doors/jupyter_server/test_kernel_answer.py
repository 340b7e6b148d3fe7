"""Kernels are asked for what they know, one after the other; one that does not answer is no failure."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from mcc_jupyter.doors.jupyter_server.kernel_answer import KernelAnswer, asker

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
