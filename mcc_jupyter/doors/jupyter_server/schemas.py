"""The JSON Schemas of what ``/mcc/api`` takes and gives, by name. ``routes`` says where each is used."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_FLAG: Schema = {"type": "boolean"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_ANY: Schema = {}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: dict[str, Schema], optional: dict[str, Schema] | None = None, *, closed: bool = False) -> Schema:
    found: Schema = {"type": "object", "properties": {**required, **(optional or {})}, "required": list(required)}
    return {**found, "additionalProperties": False} if closed else found


def _page(name: str, item: Schema, **more: Schema) -> Schema:
    cursor = {"type": ["string", "null"], "description": "Of the next page; null on the last."}
    return _object({**more, name: {"type": "array", "items": item}, "next_cursor": cursor})


_STATE: Schema = {"enum": ["loaded", "failed"], "description": "failed: it cannot be used, and grants nothing."}

_POLICY: Schema = {
    "type": ["object", "null"],
    "description": "What the operator's policy file lets the kernel's workspace do, by name; null without a file.",
    "properties": {
        "label": _TEXT,
        "state": _STATE,
        "workspace": {**_TEXT_OR_NULL, "description": "As seen from the policy file's folder; null: not named."},
        "profiles": {**_TEXTS, "description": "Those of the workspace."},
        "allow": {**_TEXTS, "description": "Patterns of names that cells may ask for."},
        "deny": _TEXTS,
        "exposed": {**_TEXTS, "description": "Names that cells may ask for because a tool exposes them."},
        "dropped": {**_TEXTS, "description": "Tools that were given up or taken back."},
        "notices": {**_TEXTS, "description": "Why tools that are for everyone cannot be called."},
        "notes": {**_TEXTS, "description": "The file's problems, then warnings and what else is to be said."},
    },
}

SCHEMAS: dict[str, Schema] = {
    "Error": _object(
        {
            "message": {**_TEXT, "description": "One line for people: what, and what to do."},
            "reason": {**_TEXT, "description": "The phrase of the HTTP status."},
            "code": {**_TEXT, "description": "Stable, for programs: docs/errors.md and docs/server.md."},
        }
    ),
    "Person": _object(
        {
            "name": _TEXT,
            "groups": {"type": ["array", "null"], "items": _TEXT, "description": "null: all groups."},
            "groups_from": {"enum": ["configuration", "hub", "unrestricted", "none"]},
        }
    ),
    "Status": _object(
        {
            "version": _TEXT,
            "api": {"const": 1},
            "user": ref("Person"),
            "kernels": _COUNT,
            "calls": _object({"running": _COUNT, "most": _COUNT}),
        }
    ),
    "Kernel": _object(
        {
            "id": _TEXT,
            "state": {**_TEXT, "description": "Jupyter's word: starting, idle, busy, dead…"},
            "remote": _FLAG,
            "loaded": {
                "type": ["boolean", "null"],
                "description": "Whether mcc_jupyter is loaded in it; null: unknown, it is remote and was not asked.",
            },
        },
        {
            "package": _TEXT,
            "state_mark": {**_TEXT_OR_NULL, "description": "Another text after each change; null: unknown."},
            "revision": _COUNT,
            "tools": _COUNT,
            "workspace": _TEXT_OR_NULL,
            "notebook": _TEXT_OR_NULL,
            "policy": _POLICY,
            "guard": {"type": ["boolean", "null"]},
            "isolation": _ANY,
            "problem": _object({"code": _TEXT, "message": _TEXT}),
        },
    ),
    "Kernels": _page("kernels", ref("Kernel")),
    "Tool": _object(
        {"name": _TEXT, "key": _TEXT, "kind": _TEXT},
        {
            "description": _TEXT,
            "groups": _TEXTS,
            "available": _FLAG,
            "notice": {**_TEXT_OR_NULL, "description": "Why it cannot be called now."},
            "origin": _ANY,
            "parameters": {"type": "object", "description": "The JSON Schema of a call's arguments."},
            "report": ref("Report"),
        },
    ),
    "Tools": _page("tools", ref("Tool"), loaded=_FLAG, revision=_COUNT),
    "Report": {
        "type": "object",
        "description": "What the tool's environment is, by name and never by value: docs/report-v1.schema.json.",
        "properties": {"schema": {"const": "mcc.report"}, "version": {"const": 1}},
    },
    "Matrix": {
        "type": "object",
        "description": "Tools by names, with one mark each: docs/report-v1.schema.json.",
        "properties": {"schema": {"const": "mcc.matrix"}, "version": {"const": 1}},
    },
    "SessionKey": _object(
        {
            "key": _TEXT,
            "type": _TEXT,
            "size": {"type": ["integer", "null"], "minimum": 0, "description": "null for what is no entry of yours."},
        }
    ),
    "Session": _page("session", ref("SessionKey"), loaded=_FLAG, revision=_COUNT),
    "NewCall": _object(
        {"tool": {**_TEXT, "description": "Its key, or its name where one tool alone has it."}},
        {
            "arguments": {"type": "object", "description": "As the tool's parameters say."},
            "timeout": {
                "type": ["number", "null"],
                "exclusiveMinimum": 0,
                "description": "Seconds, before the tool's own limit.",
            },
        },
        closed=True,
    ),
    "Call": _object(
        {
            "call": _TEXT,
            "kernel": _TEXT,
            "tool": _TEXT,
            "user": _TEXT,
            "state": {"enum": ["waiting", "running", "done", "error"]},
            "cancelled": _FLAG,
            "began": {"type": "string", "format": "date-time"},
            "seconds": {"type": "number", "minimum": 0},
            "error": {"type": ["object", "null"], "properties": {"code": _TEXT, "message": _TEXT}},
        },
        {
            "output": {"type": "array", "items": _object({"seq": _COUNT, "stream": _TEXT, "text": _TEXT})},
            "dropped": {**_COUNT, "description": "Characters of output before the first that is kept."},
            "outcome": ref("Outcome"),
        },
    ),
    "Calls": _page("calls", ref("Call")),
    "Outcome": {
        "type": ["object", "null"],
        "description": "What the call gave back, redacted; null while it runs.",
        "properties": {
            "status": _TEXT,
            "exit_code": {"type": ["integer", "null"]},
            "result": _ANY,
            "notes": _TEXTS,
            "duration_s": {"type": "number"},
        },
    },
    "Event": {
        "description": "One line of a stream, one message of a WebSocket.",
        "oneOf": [
            _object({"event": {"const": "started"}, "call": _TEXT, "tool": _TEXT}),
            _object({"event": {"const": "dropped"}, "characters": _COUNT}),
            _object({"event": {"const": "output"}, "seq": _COUNT, "stream": _TEXT, "text": _TEXT}),
            _object({"event": {"const": "done"}, "outcome": ref("Outcome")}),
            _object({"event": {"const": "error"}, "code": _TEXT, "message": _TEXT}),
        ],
    },
    "NewWorkspace": _object(
        {"path": {**_TEXT, "minLength": 1, "description": "The notebook's, as Jupyter's contents API names it."}},
        {"environment": ref("Environment")},
        closed=True,
    ),
    "WorkspaceChange": _object({}, {"environment": ref("Environment")}, closed=True),
    "Environment": {
        "type": ["object", "null"],
        "description": "Names and texts for the process environment of the notebook's kernels.",
        "additionalProperties": _TEXT,
        "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
        "maxProperties": 256,
    },
    "Workspace": _object(
        {
            "id": _TEXT,
            "path": _TEXT,
            "owner": _TEXT_OR_NULL,
            "names": {**_TEXTS, "description": "Of the session environment; never a value."},
            "kernels": {**_TEXTS, "description": "The ids of its kernels that run and that you may see."},
        }
    ),
    "Workspaces": _page("workspaces", ref("Workspace")),
    "Outputs": _object(
        {"outputs": {"type": "array", "items": {"type": "object"}, "description": "As nbformat has them."}},
        {"path": {**_TEXT_OR_NULL, "description": "The notebook's, whose kernels are asked too."}},
        closed=True,
    ),
    "Finding": _object(
        {
            "output": {"type": ["integer", "null"], "minimum": 1, "description": "Counted from one."},
            "line": {"type": ["integer", "null"], "minimum": 1},
            "name": {**_TEXT_OR_NULL, "description": "The variable whose value it is."},
            "format": {**_TEXT_OR_NULL, "description": "Else the well-known format that it has."},
            "redacted": _FLAG,
        },
        {"part": _TEXT, "cell": {"type": ["integer", "null"], "minimum": 1}, "cell_id": _TEXT_OR_NULL},
    ),
    "Findings": _object(
        {
            "looked": {**_FLAG, "description": "Whether it was looked at since the server started."},
            "path": _TEXT,
            "mode": {"enum": ["warn", "redact", "refuse", "off"]},
            "outcome": {"enum": ["clean", "told", "redacted", "refused", "failed"]},
            "findings": {"type": "array", "items": ref("Finding")},
            "notes": _TEXTS,
        }
    ),
    "Redacted": _object(
        {
            "outputs": {"type": "array", "items": {"type": "object"}},
            "findings": {"type": "array", "items": ref("Finding")},
            "notes": {**_TEXTS, "description": "What was not looked for."},
        }
    ),
    "Audit": _page("entries", ref("AuditEntry"), kept={**_FLAG, "description": "Whether a log is kept at all."}),
    "AuditEntry": _object(
        {"v": {"const": 1}, "time": _TEXT, "who": _TEXT, "tool": _TEXT, "door": _TEXT, "outcome": _TEXT},
        {**dict.fromkeys(("key", "call", "kernel", "workspace", "reason"), _TEXT_OR_NULL), "names": _TEXTS},
    ),
    "OpenApi": {"type": "object"},
    "Policy": _object(
        {
            "policy": {
                "oneOf": [ref("PolicyFile"), {"type": "null"}],
                "description": "The operator's policy file as the server sees it; null without one.",
            }
        }
    ),
    "PolicyFile": _object(
        {
            "label": _TEXT,
            "state": _STATE,
            "problems": {**_TEXTS, "description": "Why it cannot be used."},
            "notes": _TEXTS,
            "warnings": {**_TEXTS, "description": "Where others than its owner may change it."},
            "profiles": {**_TEXTS, "description": "Those of your workspaces, and what they include."},
            "workspaces": {**_TEXTS, "description": "The patterns of those that are for you."},
        }
    ),
}
