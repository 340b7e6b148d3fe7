"""POST, GET, DELETE of calls, and their streams: NDJSON in the answer of the POST, or a WebSocket (SPEC 13.1)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from jupyter_server.auth.decorator import authorized, ws_authenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from jupyter_server.extension.handler import ExtensionHandlerMixin
from tornado import web, websocket
from tornado.iostream import StreamClosedError

from ...core.errors import MccError
from .base import Asked, Handler, Services, closed, http_error, read_body, where
from .calls import Call, Wanted
from .errors import ApiError
from .kernels import Kernel
from .ledger import names_of
from .looking import find_tool
from .paging import limit_of, page
from .people import Person

RESOURCE = "mcc_jupyter:calls"
NDJSON = "application/x-ndjson"
NEW = "new"
"""In the path of a WebSocket: it begins the call, by its first message."""

_LARGE = 32 * 1024


async def begin(handler: Any, kernel: Kernel, asked: Mapping[str, object], *, followed: bool) -> Call:
    """Begins the call that a client asks for. Raises ``ApiError``."""
    tool, arguments, timeout = asked.get("tool"), asked.get("arguments", {}), asked.get("timeout")
    closed(asked, "tool", "arguments", "timeout")
    if not isinstance(tool, str):
        raise ApiError(422, "argument", "tool: must be the name or the key of a tool")
    if not isinstance(arguments, Mapping):
        raise ApiError(422, "argument", "arguments: must be an object of names and values")
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout <= 0):
        raise ApiError(422, "argument", "timeout: must be a number of seconds above 0, or null")
    services: Services = handler.services
    person: Person = handler.person
    found = None
    try:
        manifest = await services.kernels.loaded(kernel)
        found = find_tool(manifest, tool, person)
        wanted = Wanted(str(found["name"]), str(found["key"]), names_of(found), manifest.workspace)
        return await services.calls.begin(kernel, wanted, person, arguments, timeout, followed=followed)
    except ApiError as error:
        services.ledger.refused(person, kernel.id, found, error)
        raise


class CallsHandler(Handler):
    auth_resource = RESOURCE
    _own: Call | None = None
    """The call that ends with this request."""
    _gone = False

    @web.authenticated
    @authorized(action="execute", resource=RESOURCE)
    async def post(self, kernel_id: str) -> None:
        kernel = await self.kernel(kernel_id, "execute")
        asked = await self.document()
        streamed = NDJSON in self.request.headers.get("Accept", "")
        call = await begin(self, kernel, asked, followed=streamed)
        path = f"{self.base_url}mcc/api/kernels/{kernel_id}/calls/{call.id}"
        self.set_header("Location", path)
        if not streamed:
            await self.answer(call.json(), 202)
            return
        self._own = call
        if self._gone:
            call.cancel()
        self.set_header("Content-Type", f"{NDJSON}; charset=utf-8")
        self.set_header("X-Accel-Buffering", "no")
        try:
            async with aclosing(events(call)) as lines:
                async for line in lines:
                    self.write(line + "\n")
                    await self.flush()
        except StreamClosedError:
            call.cancel()
            raise web.Finish from None
        self._own = None
        await self.finish(set_content_type=f"{NDJSON}; charset=utf-8")

    @web.authenticated
    @authorized(action="read", resource=RESOURCE)
    async def get(self, kernel_id: str) -> None:
        kernel = await self.kernel(kernel_id, "read")
        limit, cursor = limit_of(self.query("limit")), self.query("cursor")
        calls = self.services.calls.recent(kernel, self.person)
        found, following = page(calls, lambda call: f"{call.number:012}", limit=limit, cursor=cursor, newest_first=True)
        await self.answer({"calls": [call.json() for call in found], "next_cursor": following})

    def on_connection_close(self) -> None:
        self._gone = True
        if self._own is not None:
            self._own.cancel()
        super().on_connection_close()


class CallHandler(Handler):
    auth_resource = RESOURCE

    @web.authenticated
    @authorized(action="read", resource=RESOURCE)
    async def get(self, kernel_id: str, call: str) -> None:
        kernel = await self.kernel(kernel_id, "read")
        await self.answer(self.services.calls.find(kernel, call, self.person).json(whole=True))

    @web.authenticated
    @authorized(action="execute", resource=RESOURCE)
    async def delete(self, kernel_id: str, call: str) -> None:
        kernel = await self.kernel(kernel_id, "execute")
        found = self.services.calls.find(kernel, call, self.person)
        found.cancel()
        await self.answer(found.json(), 200 if found.ended else 202)


class StreamHandler(Asked, ExtensionHandlerMixin, WebSocketMixin, websocket.WebSocketHandler, JupyterHandler):
    """Text messages: each event a JSON object, the last is ``done`` or ``error``; then it closes.

    A client may send ``{"op": "cancel"}``. On ``…/calls/new/stream`` it first sends what it would POST.
    """

    auth_resource = RESOURCE
    _call: Call | None = None
    _task: asyncio.Task[None] | None = None

    def initialize(self, name: str = "mcc_jupyter") -> None:
        super().initialize(name=name)
        self.hide_query()

    @ws_authenticated
    @authorized(action="execute", resource=RESOURCE)
    async def get(self, kernel_id: str, call: str) -> None:  # type: ignore[override]
        self._kernel = await self.kernel(kernel_id, "execute")
        self._begins = call == NEW
        if not self._begins:
            self._call = self.services.calls.find(self._kernel, call, self.person)
        await super().get(kernel_id, call)

    @property
    def max_message_size(self) -> int:
        return self.services.largest_body

    def open(self, *args: Any, **kwargs: Any) -> None:
        super().open(*args, **kwargs)
        if self._call is not None:
            self._task = asyncio.create_task(self._send(self._call))

    async def on_message(self, message: str | bytes) -> None:
        try:
            asked = read_body(message.encode("utf-8", "replace") if isinstance(message, str) else message)
        except MccError as error:
            await self._fail(http_error(error))
            return
        if self._begins and self._task is None:
            self._task = asyncio.create_task(self._begin(asked))
        elif asked.get("op") == "cancel" and self._call is not None:
            self._call.cancel()

    async def _begin(self, asked: Mapping[str, object]) -> None:
        try:
            call = self._call = await begin(self, self._kernel, asked, followed=True)
        except ApiError as error:
            await self._fail(error)
            return
        except Exception as error:  # noqa: BLE001 - a task's exception would be told by nobody
            self.log.error("mcc_jupyter: internal error: %s", where(error))
            await self._fail(ApiError(500, "internal", "internal error; please report it"))
            return
        if self.ws_connection is None:
            call.cancel()
        await self._send(call)

    async def _send(self, call: Call) -> None:
        try:
            async with aclosing(events(call)) as lines:
                async for line in lines:
                    await self.write_message(line)
            self.close(1000)
        except websocket.WebSocketClosedError:
            self.on_close()

    async def _fail(self, error: ApiError) -> None:
        try:
            await self.write_message(json.dumps({"event": "error", "code": error.code, "message": error.text}))
            self.close(1008, error.code)
        except websocket.WebSocketClosedError:
            self.on_close()

    def on_close(self) -> None:
        if self._begins and self._call is not None:
            self._call.cancel()

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(self.tell_error(status_code, kwargs.get("exc_info", (None, None, None))[1])))

    def log_exception(self, kind: Any, value: BaseException | None, trace: Any) -> None:
        if not isinstance(value, web.HTTPError | websocket.WebSocketClosedError):
            self.log.error("mcc_jupyter: internal error: %s", where(value))


async def events(call: Call) -> AsyncGenerator[str]:
    """The lines of a call's stream. The first names the call."""
    yield json.dumps({"event": "started", "call": call.id, "tool": call.tool})
    async with aclosing(call.follow()) as found:
        async for event in found:
            if len(event.get("text", "")) > _LARGE or event["event"] == "done":
                yield await asyncio.to_thread(json.dumps, event, ensure_ascii=False)
            else:
                yield json.dumps(event, ensure_ascii=False)
