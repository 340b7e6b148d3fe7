"""The one table of ``/mcc/api``: each operation and the handler that has it.

The server's routes and the OpenAPI document are made from it, so they cannot disagree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from . import calling, documents, looking, notebooks, redacting
from .openapi import BASE, PAGED, Operation, Query

if TYPE_CHECKING:
    from tornado.web import RequestHandler

_TOOLS, _CALLS = looking.RESOURCE, calling.RESOURCE
_POLICY, _WORKSPACES = documents.POLICY, notebooks.RESOURCE
_KERNEL = "/kernels/{kernel_id}"
_ASKED = (404, 409, 422, 502, 504)
"""What may be wrong with a kernel that is asked for its manifest."""


def _get(path: str, resource: str, summary: str, answer: str, *errors: int, **more: object) -> Operation:
    return Operation("get", path, resource, "read", summary, {200: answer}, errors, **more)  # type: ignore[arg-type]


_ALL = Query("all", {"type": "boolean"}, "Also what was withheld, and where programs lie: the kernel is asked.")

TABLE: tuple[tuple[type[RequestHandler], tuple[Operation, ...]], ...] = (
    (looking.StatusHandler, (_get("/status", _TOOLS, "This server, and who you are to it.", "Status"),)),
    (
        looking.KernelsHandler,
        (_get("/kernels", _TOOLS, "The kernels you may see.", "Kernels", 422, query=PAGED),),
    ),
    (looking.KernelHandler, (_get(_KERNEL, _TOOLS, "One kernel.", "Kernel", *_ASKED, tagged=True),)),
    (
        looking.MatrixHandler,
        (_get(f"{_KERNEL}/matrix", _TOOLS, "The tools by the names they get.", "Matrix", *_ASKED, tagged=True),),
    ),
    (
        looking.ToolsHandler,
        (_get(f"{_KERNEL}/tools", _TOOLS, "The tools you may use.", "Tools", *_ASKED, query=PAGED, tagged=True),),
    ),
    (
        looking.ToolHandler,
        (_get(_KERNEL + "/tools/{tool}", _TOOLS, "One tool, with its report.", "Tool", *_ASKED, tagged=True),),
    ),
    (
        looking.ReportHandler,
        (
            _get(
                _KERNEL + "/tools/{tool}/report",
                _TOOLS,
                "What the tool's process gets, by name.",
                "Report",
                *_ASKED,
                query=(_ALL,),
                tagged=True,
            ),
        ),
    ),
    (
        looking.SessionHandler,
        (
            _get(
                f"{_KERNEL}/session",
                _TOOLS,
                "The keys of the session store, with type and size.",
                "Session",
                *_ASKED,
                query=PAGED,
                tagged=True,
            ),
        ),
    ),
    (
        calling.CallsHandler,
        (
            Operation(
                "post",
                f"{_KERNEL}/calls",
                _CALLS,
                "execute",
                "Begin a call; or, with `Accept: application/x-ndjson`, have it on this connection.",
                {202: "Call"},
                (*_ASKED, 415, 429),
                body="NewCall",
                streams=calling.NDJSON,
            ),
            _get(f"{_KERNEL}/calls", _CALLS, "Your recent calls, the newest first.", "Calls", 404, 422, query=PAGED),
        ),
    ),
    (
        calling.CallHandler,
        (
            _get(_KERNEL + "/calls/{call}", _CALLS, "A call, and its output as far as it is kept.", "Call", 404),
            Operation(
                "delete",
                _KERNEL + "/calls/{call}",
                _CALLS,
                "execute",
                "End a call as an interrupt does. 200: it had ended.",
                {200: "Call", 202: "Call"},
                (404,),
            ),
        ),
    ),
    (
        calling.StreamHandler,
        (
            Operation(
                "get",
                _KERNEL + "/calls/{call}/stream",
                _CALLS,
                "execute",
                "A WebSocket: the call's events. `new` as the call's id: the first message begins a call.",
                {101: None},
                (404, 426),
                websocket=True,
            ),
        ),
    ),
    (
        notebooks.WorkspacesHandler,
        (
            _get("/workspaces", _WORKSPACES, "Your workspaces.", "Workspaces", 422, query=PAGED),
            Operation(
                "post",
                "/workspaces",
                _WORKSPACES,
                "write",
                "Create a notebook's workspace. 200: it was there.",
                {200: "Workspace", 201: "Workspace"},
                (409, 415, 422),
                body="NewWorkspace",
            ),
        ),
    ),
    (
        notebooks.OneWorkspaceHandler,
        (
            _get("/workspaces/{workspace_id}", _WORKSPACES, "One workspace.", "Workspace", 404),
            Operation(
                "patch",
                "/workspaces/{workspace_id}",
                _WORKSPACES,
                "write",
                "Nothing, for an empty environment; any other is 422.",
                {200: "Workspace"},
                (404, 415, 422),
                body="WorkspaceChange",
            ),
            Operation(
                "delete",
                "/workspaces/{workspace_id}",
                _WORKSPACES,
                "write",
                "Forget a workspace and its environment. Kernels that have it keep it to their end.",
                {204: None},
                (404,),
            ),
        ),
    ),
    (
        redacting.FindingsHandler,
        (
            _get(
                "/findings",
                redacting.RESOURCE,
                "What the save guard found when a notebook was last saved.",
                "Findings",
                422,
                query=(Query("path", {"type": "string", "minLength": 1}, "The notebook's.", required=True),),
            ),
        ),
    ),
    (
        redacting.RedactionsHandler,
        (
            Operation(
                "post",
                "/redactions",
                redacting.RESOURCE,
                "execute",
                "A cell's outputs with marks in place of values, as the save guard would save them. Nothing is kept.",
                {200: "Redacted"},
                (415, 422),
                body="Outputs",
            ),
        ),
    ),
    (documents.PolicyHandler, (_get("/policy", _POLICY, "The operator's policy file, if there is one.", "Policy"),)),
    (
        documents.AuditHandler,
        (
            _get(
                "/audit",
                documents.AUDIT,
                "Calls that came over HTTP, the newest first: yours, or everybody's for the group admin.",
                "Audit",
                422,
                query=PAGED,
            ),
        ),
    ),
    (documents.OpenApiHandler, (_get("/openapi.json", _TOOLS, "This document.", "OpenApi"),)),
)

OPERATIONS: tuple[Operation, ...] = tuple(operation for _, operations in TABLE for operation in operations)


def routes() -> Iterator[tuple[str, type[RequestHandler]]]:
    """For Tornado; the base URL goes before."""
    for handler, operations in TABLE:
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", operations[0].path.replace(".", r"\."))
        yield BASE + pattern, handler
    yield f"{BASE}(?:/.*)?", documents.NothingHandler
