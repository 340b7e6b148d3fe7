"""A client of ``/mcc/api`` that says what it got, and the kernels of the server it talks to."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from tornado.httpclient import AsyncHTTPClient, HTTPRequest, HTTPResponse

from mcc_jupyter.runtime.marks import start_mark

PATIENCE = 30.0
"""Seconds after which a test that hangs is ended."""


@dataclass(frozen=True)
class Answer:
    """A response: its status, its JSON document if it has one, and its headers."""

    status: int
    document: Any
    headers: Mapping[str, str]
    text: str = field(repr=False, default="")


class Server:
    """*app* is the running ``ServerApp``."""

    def __init__(self, app: Any, ws_fetch: Any, base_url: str, port: int, token: Mapping[str, str]) -> None:
        self.app, self.websocket = app, ws_fetch
        self.base = f"http://localhost:{port}{base_url.rstrip('/')}"
        self.token = dict(token)
        self.clients: dict[str, Any] = {}

    @property
    def services(self) -> Any:
        return self.app.web_app.settings["mcc_services"]

    async def ask(self, verb: str, path: str, body: object = None, *, headers: Mapping[str, str] | None = None, token: bool = True, raw: bytes | None = None) -> Answer:
        """*path* below ``/mcc/api``, or from ``/api`` on."""
        url = self.base + (path if path.startswith("/api/") else "/mcc/api" + path)
        sent = {**(self.token if token else {}), **(headers or {})}
        data = raw if raw is not None else json.dumps(body).encode() if body is not None else None
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        request = HTTPRequest(url, method=verb, headers=sent, body=data, allow_nonstandard_methods=True, follow_redirects=False, request_timeout=PATIENCE * 2)
        response: HTTPResponse = await AsyncHTTPClient(force_instance=False, max_clients=1000).fetch(request, raise_error=False)
        text = response.body.decode() if response.body else ""
        with contextlib.suppress(ValueError):
            return Answer(response.code, json.loads(text), dict(response.headers), text)
        return Answer(response.code, None, dict(response.headers), text)

    # ---- kernels

    async def start(self, source: str = "") -> str:
        """A new kernel in which *source* was run."""
        answer = await self.ask("POST", "/api/kernels", {"name": "python3"})
        assert answer.status == 201, answer
        kernel_id = str(answer.document["id"])
        await self.connect(kernel_id)
        if source:
            await self.run(kernel_id, source)
        return kernel_id

    async def start_as(self, user: str) -> str:
        """A new kernel, of the user whom the header names; no cell is run in it."""
        answer = await self.ask("POST", "/api/kernels", {"name": "python3"}, headers={"X-User": user})
        assert answer.status == 201, answer
        return str(answer.document["id"])

    async def connect(self, kernel_id: str) -> None:
        """The cells' client, anew after a restart."""
        if kernel_id in self.clients:
            self.clients.pop(kernel_id).stop_channels()
        client = self.app.kernel_manager.get_kernel(kernel_id).client()
        client.session.session = uuid4().hex
        client.start_channels()
        self.clients[kernel_id] = client
        await client.wait_for_ready(timeout=PATIENCE)

    async def run(self, kernel_id: str, source: str) -> None:
        client = self.clients[kernel_id]
        reply = await client.execute(source, reply=True, timeout=PATIENCE)
        assert reply["content"]["status"] == "ok", reply["content"]

    def begin(self, kernel_id: str, source: str) -> None:
        """Runs a cell and does not wait."""
        self.clients[kernel_id].execute(source)

    def manifest(self, kernel_id: str) -> Path:
        connection = Path(self.app.kernel_manager.get_kernel(kernel_id).connection_file)
        return connection.parent / "mcc" / connection.name

    def plant(self, kernel_id: str, *tools: Mapping[str, object], **changes: object) -> None:
        """Writes a kernel's manifest as another version of the package would."""
        pid = self.app.kernel_manager.get_kernel(kernel_id).provisioner.pid
        told = {"v": 1, "package": "0.1.0", "pid": pid, "started": start_mark(pid), "revision": 1, "workspace": None, "notebook": None, "policy": None, "guard": False, "isolation": None, "session": [], "tools": list(tools)}
        path = self.manifest(kernel_id)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps({**told, **changes}))
        os.replace(fresh, path)

    async def close(self) -> None:
        for client in self.clients.values():
            client.stop_channels()
        await self.app.kernel_manager.shutdown_all(now=True)


async def eventually(condition: Any, *, patience: float = PATIENCE) -> Any:
    """What *condition* gives once it is true; it may be a coroutine function."""
    deadline = time.monotonic() + patience
    while True:
        found = condition()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return found
        assert time.monotonic() < deadline, "it did not come true"
        await asyncio.sleep(0.05)


def tool(name: str, groups: tuple[str, ...] = ("public",), **more: object) -> dict[str, object]:
    """A tool as a manifest has it."""
    return {"name": name, "key": ".".join([*groups, name]), "kind": "exec", "description": "", "groups": list(groups), "available": True, "notice": None, "origin": "", "parameters": {}, "report": {}, **more}
