"""What all handlers share: who asks, bodies of a bounded size, JSON answers, errors that repeat nothing of a request.

1. Every verb is decorated in the class that has it: Jupyter's ``authorized`` remembers the first resource it saw.
2. What a client sent stands in no log: neither its query, nor its body, nor the text of an error about them.
3. Documents that may be large are read and written in another thread; the server's loop is never blocked.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_server.base.handlers import APIHandler
from jupyter_server.extension.handler import ExtensionHandlerMixin
from tornado import web

from ...core.errors import ArgumentError, MccError
from ...core.schema import read_arguments
from . import errors
from .errors import ApiError
from .people import Person

if TYPE_CHECKING:
    from ...runtime.policy_watch import PolicyWatch
    from .calls import Calls
    from .kernels import Kernel, Kernels
    from .ledger import Ledger
    from .people import People

_LARGE = 64 * 1024
"""Bytes of a document that is left to another thread."""


@dataclass(frozen=True, slots=True)
class Services:
    """What the handlers ask: one a server, in its settings as ``mcc_services``."""

    kernels: Kernels
    calls: Calls
    people: People
    ledger: Ledger
    policy: PolicyWatch
    largest_body: int


class Asked:
    """Who asks and what for, for handlers of requests and of WebSockets."""

    settings: dict[str, Any]
    current_user: Any
    request: Any

    @property
    def services(self) -> Services:
        found = self.settings["mcc_services"]
        assert isinstance(found, Services)
        return found

    @property
    def person(self) -> Person:
        return self.services.people.person(self.current_user)

    def hide_query(self) -> None:
        """Takes the query from what the access log and the logs of errors show; its parameters are read already."""
        self.request.uri = self.request.path

    async def kernel(self, kernel_id: str, action: str) -> Kernel:
        """The kernel named in the path. Raises ``ApiError`` 404."""
        return await self.services.kernels.find(self, kernel_id, action)

    def tell_error(self, status: int, error: BaseException | None) -> dict[str, object]:
        """The JSON object of an error."""
        reason = HTTPStatus(status).phrase if status in set(HTTPStatus) else "error"
        if isinstance(error, ApiError):
            return {"message": error.text, "reason": reason, "code": error.code}
        message = reason
        if status == 403 and isinstance(error, web.HTTPError) and str(error.log_message).startswith("User is not auth"):
            message = "you may not do this here; ask the operator of the server"
        return {"message": message, "reason": reason, "code": errors.CODES.get(status, "error")}


def http_error(error: MccError) -> ApiError:
    """An error of the package as an answer."""
    return ApiError(error.http_status, error.code, str(error))


@web.stream_request_body
class Handler(Asked, ExtensionHandlerMixin, APIHandler):
    """The base of every request's handler."""

    auth_resource = "mcc_jupyter"

    def initialize(self, name: str = "mcc_jupyter") -> None:
        super().initialize(name=name)
        self.hide_query()
        self._received = bytearray()
        self._too_large = False

    async def prepare(self) -> None:  # type: ignore[override]  # as the host's own
        await super().prepare()
        length = self.request.headers.get("Content-Length", "0")
        if length.isdigit() and int(length) > self.services.largest_body:
            raise self._larger()

    def data_received(self, chunk: bytes) -> None:
        if len(self._received) + len(chunk) > self.services.largest_body:
            self._too_large = True
            self._received.clear()
        if not self._too_large:
            self._received += chunk

    async def document(self) -> dict[str, object]:
        """The request's JSON object. Raises ``ApiError``: 413, 415, 422."""
        if self._too_large:
            raise self._larger()
        kind = self.request.headers.get("Content-Type", "application/json").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise ApiError(415, "media-type", "the body must be application/json; set Content-Type")
        body = bytes(self._received)
        try:
            if len(body) > _LARGE:
                return await asyncio.to_thread(read_body, body)
            return read_body(body)
        except MccError as error:
            raise http_error(error) from None

    def no_body(self) -> None:
        """Raises ``ApiError`` 413 for a body that was too large to be looked at; others do not matter here."""
        if self._too_large:
            raise self._larger()

    def query(self, name: str) -> str | None:
        """The last value of a query parameter, as it is."""
        found = self.get_query_arguments(name, strip=False)
        return found[-1] if found else None

    async def answer(self, document: object, status: int = 200, tag: str | None = None) -> None:
        """Ends the request with *document*; with 304 if the client has the one of this *tag*."""
        if tag is not None:
            self.set_header("Etag", tag)
        if tag is not None and self.knows(tag):
            self.set_status(304)
            await self.finish()
            return
        text = await asyncio.to_thread(json.dumps, document, ensure_ascii=False)
        self.set_status(status)
        await self.finish(text)

    def knows(self, tag: str) -> bool:
        """Whether the client has the document of this tag already."""
        named = {one.strip().removeprefix("W/") for one in self.request.headers.get("If-None-Match", "").split(",")}
        return tag.removeprefix("W/") in named

    def compute_etag(self) -> None:
        """None of its own: ``answer`` has one where something tells what has changed."""

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        error = kwargs.get("exc_info", (None, None, None))[1]
        if status_code == 405:
            self.set_header("Allow", ", ".join(verbs(type(self))))
        self.finish(json.dumps(self.tell_error(status_code, error)))

    def log_exception(self, kind: Any, value: BaseException | None, trace: Any) -> None:
        """An error that is an answer is none for the log; of a mistake the log has the place, and no text of it."""
        if not isinstance(value, web.HTTPError):
            self.log.error("mcc_jupyter: internal error: %s", where(value))

    def _larger(self) -> ApiError:
        return ApiError(413, "too-large", f"the body is larger than {self.services.largest_body:,} bytes")


def where(error: BaseException | None) -> str:
    """What went wrong and in which line of which file."""
    place, trace = "", error.__traceback__ if error is not None else None
    while trace is not None:
        place = f" in {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__}{place}"


def verbs(handler: type) -> list[str]:
    """The verbs that a handler class has of its own, as HTTP writes them."""
    known = ("get", "post", "put", "patch", "delete")
    return [verb.upper() for verb in known if verb in vars(handler)]


def read_body(body: bytes) -> dict[str, object]:
    """An object of JSON that every reader takes: UTF-8, finite numbers. Raises ``ArgumentError``."""
    try:
        found = read_arguments(body.decode())
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        raise ArgumentError("the body must be UTF-8, its texts valid Unicode and its numbers finite") from None
    return found


def closed(document: Mapping[str, object], *fields: str) -> Mapping[str, object]:
    """*document*, which has no other than these fields. Raises ``ApiError`` 422."""
    if set(document) - set(fields):
        listed = ", ".join(fields)
        raise ApiError(422, "argument", f"the body has a field that is none of {listed}")
    return document
