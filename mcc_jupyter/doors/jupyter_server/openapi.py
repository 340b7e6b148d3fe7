"""The table of operations → the OpenAPI 3.1 document. Pure; the routes are made from the same table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .paging import MOST, USUAL
from .schemas import SCHEMAS, Schema, ref

BASE = "/mcc/api"


@dataclass(frozen=True, slots=True)
class Query:
    """A query parameter."""

    name: str
    schema: Schema
    description: str
    required: bool = False

    def json(self) -> Schema:
        found = {"name": self.name, "in": "query", "schema": self.schema, "description": self.description}
        return {**found, "required": True} if self.required else found


LIMIT = Query("limit", {"type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL}, "Most items of a page.")
CURSOR = Query("cursor", {"type": "string"}, "`next_cursor` of the page before, as it is.")
PAGED = (LIMIT, CURSOR)


@dataclass(frozen=True, slots=True)
class Operation:
    """One verb of one path. ``answers``: status to schema name, None for no body; ``errors``: other statuses."""

    verb: str
    path: str
    resource: str
    action: str
    summary: str
    answers: dict[int, str | None]
    errors: tuple[int, ...] = ()
    query: tuple[Query, ...] = ()
    body: str | None = None
    body_required: bool = True
    streams: str | None = None
    """The media type of a stream of events, which the answer may be instead."""
    tagged: bool = False
    """Whether the answer has an ETag."""
    websocket: bool = False
    extra: Schema = field(default_factory=dict)

    @property
    def name(self) -> str:
        words = re.findall(r"[a-z]+", self.path.replace("{", "").replace("}", ""))
        return "_".join([self.verb, *words])

    def json(self) -> Schema:
        parameters = [_path_parameter(name) for name in re.findall(r"\{(\w+)\}", self.path)]
        parameters += [query.json() for query in self.query]
        if self.tagged:
            parameters.append({"name": "If-None-Match", "in": "header", "schema": {"type": "string"}})
        found: Schema = {
            "operationId": self.name,
            "summary": self.summary,
            "description": f"Authorized as `{self.action}` of `{self.resource}`.",
            "tags": [self.resource],
            "responses": self._responses(),
        }
        if parameters:
            found["parameters"] = parameters
        if self.body is not None:
            media = {"application/json": {"schema": ref(self.body)}}
            found["requestBody"] = {"required": self.body_required, "content": media}
        return found

    def _responses(self) -> Schema:
        found: Schema = {}
        for status, name in self.answers.items():
            found[str(status)] = {"description": _MEANING[status]}
            if name is not None:
                found[str(status)]["content"] = {"application/json": {"schema": ref(name)}}
            if self.tagged and status == 200:
                found[str(status)]["headers"] = {"ETag": {"schema": {"type": "string"}}}
        if self.streams is not None:
            content = {self.streams: {"schema": {"type": "string", "description": "An `Event` a line."}}}
            found["200"] = {"description": "The call's events, until the last.", "content": content}
        if self.tagged:
            found["304"] = {"description": _MEANING[304]}
        for status in sorted({*_ALWAYS, *self.errors}):
            found[str(status)] = {"description": _MEANING[status], "content": _ERROR}
        return found


_ERROR = {"application/json": {"schema": ref("Error")}}
_ALWAYS = (400, 403, 413)
_MEANING = {
    101: "The WebSocket is open.",
    200: "The answer.",
    201: "Made.",
    202: "Taken on.",
    204: "Done.",
    304: "The client has it already.",
    400: "The request is no valid HTTP, or its path no text.",
    403: "Not authenticated, or not authorized for this.",
    404: "There is no such thing for you.",
    409: "The kernel, the tool or the name is in a state in which this cannot be.",
    413: "The body is too large.",
    415: "The body is no JSON.",
    422: "An argument is wrong; the message names it.",
    426: "This path is for WebSockets.",
    429: "Too many calls are running.",
    500: "A mistake of this package.",
    502: "The kernel gave an answer that this server does not understand.",
    504: "The kernel did not answer in time.",
}

_DESCRIPTIONS = {
    "kernel_id": "A kernel's id, as Jupyter has it.",
    "tool": "A tool's key, or its name where one tool alone has it.",
    "call": "A call's id.",
    "workspace_id": "A workspace's id.",
}


def _path_parameter(name: str) -> Schema:
    schema = {"type": "string", "minLength": 1}
    return {"name": name, "in": "path", "required": True, "schema": schema, "description": _DESCRIPTIONS[name]}


def document(operations: Iterable[Operation], *, version: str, base_url: str) -> dict[str, Any]:
    """The whole document; *base_url* is the Jupyter server's."""
    paths: dict[str, Schema] = {}
    for operation in operations:
        paths.setdefault(BASE + operation.path, {})[operation.verb] = operation.json()
    token = {"type": "apiKey", "in": "header", "name": "Authorization", "description": "`token …`"}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "mcc_jupyter",
            "version": version,
            "description": "Tools of notebooks, by name and never by value. Errors are `Error` objects.",
            "license": {"name": "BSD-3-Clause", "identifier": "BSD-3-Clause"},
        },
        "servers": [{"url": base_url.rstrip("/") or "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {"securitySchemes": {"token": token}, "schemas": SCHEMAS},
    }
