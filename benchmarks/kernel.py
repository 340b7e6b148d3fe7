"""A real kernel and its client: a cell goes in, its outputs come back with the time they came."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .goals.common import FLOOR, REPOSITORY

PATIENCE = 300.0
"""Seconds without a message after which a kernel is given up."""


@dataclass
class Ran:
    """One execution: seconds until it was over and until its first output (None: there was none), and its outputs."""

    seconds: float = 0.0
    first: float | None = None
    outputs: list[dict[str, Any]] = field(default_factory=list)
    """As a notebook keeps them."""
    values: dict[str, Any] = field(default_factory=dict)
    """The expressions that were asked for, as text."""
    error: str = ""


class Kernel:
    """A running kernel with the extension loaded."""

    def __init__(self, manager: Any, folder: Path) -> None:
        self.folder = folder
        self._manager = manager
        self._client = manager.client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=PATIENCE)

    @property
    def pid(self) -> int:
        return int(self._manager.provisioner.pid)

    def interrupt(self) -> None:
        self._manager.interrupt_kernel()

    def close(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=False)
        self._manager.cleanup_resources()

    def run(self, code: str, *values: str, on_output: Callable[[], object] | None = None, failing: bool = False) -> Ran:
        """Runs a cell and waits for its end. *on_output* is called when the first output has come.

        Raises ``RuntimeError`` when the cell fails, unless *failing*.
        """
        from nbformat.v4 import output_from_msg

        ran = Ran()
        begin = time.perf_counter()
        asked = self._client.execute(code, user_expressions={value: value for value in values}, stop_on_error=False)
        while True:
            message = self._client.get_iopub_msg(timeout=PATIENCE)
            now = time.perf_counter() - begin
            if message["parent_header"].get("msg_id") != asked:
                continue
            kind, content = message["header"]["msg_type"], message["content"]
            if kind in ("stream", "display_data", "execute_result", "error"):
                if ran.first is None:
                    ran.first = now
                    if on_output is not None:
                        on_output()
                _keep(ran.outputs, output_from_msg(message))
                if kind == "error":
                    ran.error = f"{content['ename']}: {content['evalue']}"
            elif kind == "status" and content["execution_state"] == "idle":
                ran.seconds = now
                break
        reply = self._client.get_shell_msg(timeout=PATIENCE)
        while reply["parent_header"].get("msg_id") != asked:
            reply = self._client.get_shell_msg(timeout=PATIENCE)
        for name, answer in reply["content"].get("user_expressions", {}).items():
            ran.values[name] = answer.get("data", {}).get("text/plain")
        if ran.error and not failing:
            raise RuntimeError(f"a cell failed: {ran.error}")
        return ran

    def number(self, code: str, name: str) -> float:
        """Runs a cell, and what *name* is after it."""
        return float(self.run(code, name).values[name])


def _keep(outputs: list[dict[str, Any]], output: dict[str, Any]) -> None:
    """Adds an output as a front end does: a stream goes on where it stopped."""
    last = outputs[-1] if outputs else {}
    if output["output_type"] == "stream" == last.get("output_type") and output["name"] == last["name"]:
        last["text"] += output["text"]
    else:
        outputs.append(output)


@contextmanager
def kernel(variables: Mapping[str, str] | None = None) -> Iterator[Kernel]:
    """A kernel in an empty folder of its own, with an environment that has nothing of this machine's configuration."""
    from jupyter_client.manager import KernelManager

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {
            **FLOOR,
            "PATH": f"{Path(sys.executable).parent}:{FLOOR['PATH']}",
            "HOME": name,
            "TMPDIR": name,
            "IPYTHONDIR": f"{name}/ipython",
            "PYTHONPATH": str(REPOSITORY),
            **(variables or {}),
        }
        manager = KernelManager(connection_file=str(folder / "kernel.json"))
        with open(os.devnull, "w") as null:  # a kernel warns on its standard error, which is not ours to fill
            manager.start_kernel(env=environment, cwd=name, stdout=null, stderr=null)
        running = None
        try:
            running = Kernel(manager, folder)
            running.run("%load_ext mcc_jupyter")
            yield running
        finally:
            if running is not None:
                running.close()
            else:
                manager.shutdown_kernel(now=True)
