"""What a kernel has → its manifest: what other processes may know of it, as JSON data (SPEC 13.2).

1. It holds names, classes and sizes: reports, schemas, session keys. No value, no argument, no session value.
2. It is the same as long as nothing of this changes; a revision, which grows, tells one writing from the next.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from .isolation import Isolation
from .report import Report
from .schema import json_schema
from .tool import Tool

VERSION: Final = 1
FILE_LIMIT: Final = 64 * 1024 * 1024
"""Bytes of a manifest that anybody reads."""


@dataclass(frozen=True, slots=True)
class Process:
    """Whose manifest it is. ``started`` tells two processes with one number apart."""

    package: str
    pid: int
    started: str


@dataclass(frozen=True, slots=True)
class Contents:
    """What a kernel has at one moment."""

    tools: tuple[bytes, ...] = field(default=(), repr=False)
    """The entry of each tool, encoded: with many of them most are the same as before."""
    session: tuple[tuple[str, str, int | None], ...] = ()
    isolation: Isolation | None = None
    """None: nothing has needed to know it yet."""
    guard: bool = False
    workspace: str | None = None
    notebook: str | None = None
    policy: Mapping[str, object] | None = field(default=None)
    """What the operator's policy file says of itself; None: there is none."""


def manifest(process: Process, contents: Contents) -> bytes:
    """The manifest as version 1 of its form, without its ``revision``, which whoever writes it knows."""
    isolation = contents.isolation
    head = {
        "v": VERSION,
        "package": process.package,
        "pid": process.pid,
        "started": process.started,
        "workspace": contents.workspace,
        "notebook": contents.notebook,
        "policy": None if contents.policy is None else dict(contents.policy),
        "guard": contents.guard,
        "isolation": None if isolation is None else {**asdict(isolation), "line": isolation.line(kernel=True)},
        "session": [{"key": key, "type": kind, "size": size} for key, kind, size in contents.session],
    }
    return b'%b,"tools":[%b]}' % (encoded(head)[:-1], b",".join(contents.tools))


def with_revision(document: bytes, revision: int) -> bytes:
    """*document*, a manifest, with its number."""
    return b'%b,"revision":%d}' % (document[:-1], revision)


def entry(tool: Tool, report: Report) -> dict[str, object]:
    """What a manifest says of one tool."""
    return {
        "name": report.tool,
        "key": report.key,
        "kind": report.kind,
        "description": report.description,
        "groups": list(report.groups),
        "available": report.available,
        "notice": report.notice,
        "origin": {"kind": tool.origin.kind, "label": tool.origin.label, "cell": tool.origin.id},
        "parameters": json_schema(tool.params),
        "report": report.json(),
    }


def encoded(document: Mapping[str, object]) -> bytes:
    """As JSON without blanks; half a character is ``?``."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def is_manifest(document: object) -> bool:
    """Whether *document*, which anybody may have written, has the form of a manifest."""
    if not isinstance(document, dict) or document.get("v") != VERSION:
        return False
    texts = all(isinstance(document.get(key), str) for key in ("package", "started"))
    optional = all(isinstance(document.get(key), str | None) for key in ("workspace", "notebook"))
    numbers = all(type(document.get(key)) is int for key in ("pid", "revision"))
    maps = all(isinstance(document.get(key), dict | None) for key in ("policy", "isolation"))
    return texts and optional and numbers and maps and isinstance(document.get("guard"), bool) and _lists(document)


def _lists(document: Mapping[str, object]) -> bool:
    tools, session = document.get("tools"), document.get("session")
    if not isinstance(tools, list) or not isinstance(session, list):
        return False
    named = all(isinstance(one, dict) and isinstance(one.get("name"), str) and _is_tool(one) for one in tools)
    return named and all(isinstance(one, dict) and isinstance(one.get("key"), str) for one in session)


def _is_tool(tool: Mapping[str, object]) -> bool:
    groups = tool.get("groups")
    texts = all(isinstance(tool.get(key), str) for key in ("key", "kind", "description"))
    parts = isinstance(tool.get("parameters"), dict) and isinstance(tool.get("report"), dict)
    known = isinstance(tool.get("available"), bool) and isinstance(tool.get("notice"), str | None)
    return texts and parts and known and isinstance(groups, list) and all(isinstance(one, str) for one in groups)
