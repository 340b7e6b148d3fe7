"""Real kernels, and clients that ask them on the control channel as a server does."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from jupyter_client.manager import KernelManager

PATIENCE = 30.0
"""Seconds after which a test that hangs is ended."""


class Asking:
    """A client of the control channel with an identity of its own: a shared one takes another's replies away."""

    def __init__(self, manager: KernelManager) -> None:
        self.client = manager.client()
        self.client.session.session = uuid4().hex
        self.channel = self.client.control_channel
        self.channel.start()
        self.early: list[dict[str, Any]] = []

    def send(self, content: object, buffers: list[bytes] | None = None) -> str:
        message = self.client.session.msg("mcc_request", {})
        message["content"] = json.dumps(content).encode()  # whatever it is
        self.client.session.send(self.channel.socket, message, buffers=buffers)
        return str(message["header"]["msg_id"])

    def request(self, op: str, **fields: object) -> str:
        return self.send({"v": 1, "op": op, **fields})

    def next(self, of: str | None = None, timeout: float = PATIENCE) -> dict[str, Any]:
        """The content of the next reply, of the next one to a request where one is named; its buffers are ``buffers``."""
        for at, message in enumerate(self.early):
            if of is None or message["parent_header"]["msg_id"] == of:
                return self._content(self.early.pop(at))
        deadline = time.monotonic() + timeout
        while True:
            message = self.channel.get_msg(timeout=max(0.0, deadline - time.monotonic()))
            assert message["header"]["msg_type"] == "mcc_reply"
            if of is None or message["parent_header"]["msg_id"] == of:
                return self._content(message)
            self.early.append(message)

    @staticmethod
    def _content(message: dict[str, Any]) -> dict[str, Any]:
        content: dict[str, Any] = message["content"]
        assert content.pop("v") == 1
        if message["buffers"]:
            content["buffers"] = [bytes(buffer) for buffer in message["buffers"]]
        return content

    def ask(self, op: str, **fields: object) -> dict[str, Any]:
        return self.next(self.request(op, **fields))

    def call(self, tool: str, call: str | None = None, **fields: object) -> list[dict[str, Any]]:
        """All events of a call, each piece of output acknowledged."""
        call = call or uuid4().hex
        return self.rest(self.request("call", call=call, tool=tool, **fields), call)

    def rest(self, of: str, call: str) -> list[dict[str, Any]]:
        events = []
        while not events or events[-1]["event"] not in ("done", "error"):
            events.append(self.next(of))
            if events[-1]["event"] == "output":
                self.request("ack", call=call, seq=events[-1]["seq"])
        return events

    def close(self) -> None:
        self.client.stop_channels()


def text(events: list[dict[str, Any]], stream: str = "stdout") -> str:
    return "".join(event["text"] for event in events if event["event"] == "output" and event["stream"] == stream)


def started(environment: dict[str, str], folder: Path, name: str = "kernel", **options: Any) -> KernelManager:
    """A kernel in *folder* whose standard error is the file ``<name>.log``."""
    manager = KernelManager(connection_file=str(folder / f"{name}.json"))
    manager.log_of_kernel = (folder / f"{name}.log").open("ab")  # a restart writes there, too
    manager.start_kernel(env=environment, cwd=str(folder), stderr=manager.log_of_kernel, **options)
    return manager


class Notebook:
    """The cells of a kernel."""

    def __init__(self, manager: KernelManager) -> None:
        self.client = manager.client()
        self.client.session.session = uuid4().hex
        self.client.start_channels()
        self.client.wait_for_ready(timeout=PATIENCE)

    def run(self, source: str) -> dict[str, Any]:
        reply: dict[str, Any] = self.client.execute_interactive(source, timeout=PATIENCE, output_hook=lambda _: None)["content"]
        assert reply["status"] == "ok", reply
        return reply

    def value(self, expression: str) -> str:
        reply = self.client.execute_interactive("", user_expressions={"it": expression}, timeout=PATIENCE, output_hook=lambda _: None)
        found: dict[str, Any] = reply["content"]["user_expressions"]["it"]
        assert found["status"] == "ok", found
        return str(found["data"]["text/plain"])

    def start(self, source: str) -> str:
        return str(self.client.execute(source))

    def close(self) -> None:
        self.client.stop_channels()


def ended(manager: KernelManager) -> None:
    if manager.has_kernel:
        manager.shutdown_kernel(now=True)
    manager.cleanup_resources()
    manager.log_of_kernel.close()
