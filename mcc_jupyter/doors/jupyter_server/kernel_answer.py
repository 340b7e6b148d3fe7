"""What the kernels of a notebook say of it → what the save guard takes from that (SPEC 8.4).

A kernel runs the user's code and may answer anything: of a finding only names and places are taken, and of a notebook
only the outputs.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...core.saved import Checked
from ...core.scan import finding_from
from ...runtime.guard import where_it_failed

_MOST = 1000
"""Findings that are taken."""


@dataclass(frozen=True, slots=True)
class KernelAnswer:
    """What the kernels found: entries as of ``Finding.json``, and the notebook as they redacted it."""

    findings: Sequence[object] = ()
    notebook: bytes | None = field(default=None, repr=False)
    silent: int = 0
    """Kernels that did not answer."""


AskKernels = Callable[[str, Callable[[], bytes], bool], Awaitable[KernelAnswer | None]]
"""Path, what makes the notebook's JSON where it is wanted, whether to redact it; None: no kernel has this notebook."""


KernelsOf = Callable[[str], Awaitable[Sequence[str]]]
"""Path of a notebook → the ids of its kernels in which the package is loaded; of others none would answer."""

Scan = Callable[[str, bytes, bool], Awaitable[tuple[Mapping[str, Any], Sequence[Any]]]]
"""Kernel, notebook, whether to redact → content and buffers of the reply to the control request ``scan``."""


def asker(kernels_of: KernelsOf, scan: Scan, log: logging.Logger | logging.LoggerAdapter[Any]) -> AskKernels:
    """Asks one kernel after the other, each for what those before it have left. One that fails counts as silent."""

    async def ask(path: str, notebook: Callable[[], bytes], clean: bool) -> KernelAnswer | None:
        kernels = await kernels_of(path)
        if not kernels:
            return None
        document = await asyncio.to_thread(notebook)
        found: list[object] = []
        redacted, silent = None, 0
        for kernel in kernels:
            try:
                content, buffers = await scan(kernel, document, clean)
                findings = content.get("findings")
                if not isinstance(findings, list):
                    raise TypeError
                if content.get("cleaned") is True:
                    redacted = document = bytes(buffers[0])
                found += findings
            except Exception as error:  # noqa: BLE001 - a kernel may be anything
                log.info("save guard: kernel %s: no answer: %s", kernel, where_it_failed(error))
                silent += 1
        return KernelAnswer(found, redacted, silent)

    return ask


def merged(checked: Checked, answer: KernelAnswer) -> Checked:
    """What was found and what the kernels found, with the outputs as they redacted them."""
    found = [finding for entry in answer.findings[:_MOST] if (finding := finding_from(entry)) is not None]
    content = checked.content if answer.notebook is None else _with_outputs(checked.content, answer.notebook)
    if content is checked.content:  # whatever they say, nothing was redacted
        found = [replace(finding, redacted=False) for finding in found]
    return Checked(content, tuple(dict.fromkeys((*checked.findings, *found))))


def _with_outputs(content: object, notebook: bytes) -> object:
    """*content* with the outputs of *notebook*; the same object if that is no notebook of as many cells."""
    try:
        redacted = json.loads(notebook)["cells"]
    except (ValueError, TypeError, LookupError, RecursionError):
        return content
    cells = content.get("cells") if isinstance(content, Mapping) else None
    if not isinstance(content, Mapping) or not isinstance(cells, list) or not isinstance(redacted, list):
        return content
    if len(redacted) != len(cells):
        return content
    return {**content, "cells": [_with_outputs_of(cell, other) for cell, other in zip(cells, redacted, strict=True)]}


def _with_outputs_of(cell: object, other: object) -> object:
    outputs = other.get("outputs") if isinstance(other, Mapping) else None
    if not isinstance(cell, Mapping) or "outputs" not in cell or not isinstance(outputs, list):
        return cell
    return {**cell, "outputs": outputs}
