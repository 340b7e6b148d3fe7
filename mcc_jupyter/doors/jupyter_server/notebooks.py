"""``/workspaces``: a notebook and the session environment that its kernels are started with (SPEC 13.1).

1. An environment is given when a workspace is created, before its kernel starts; later it is refused, an empty one is
   nothing. It stays in memory; no answer holds more than its names.
2. A workspace is its creator's. For everybody else it is not there, but its notebook cannot be another workspace.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from jupyter_core.utils import ensure_async
from jupyter_server.auth.decorator import authorized
from tornado import web

from ...core.errors import ArgumentError
from ...runtime.workspaces import HERE, Workspace
from .base import Handler, closed, http_error
from .errors import ApiError
from .paging import limit_of, page

RESOURCE = "mcc_jupyter:workspaces"


class WorkspaceHandler(Handler):
    """What both handlers of workspaces do."""

    auth_resource = RESOURCE

    @property
    def root(self) -> str:
        """The real path of the folder that this server serves."""
        return os.path.realpath(os.path.expanduser(str(self.settings["server_root_dir"])))

    def real(self, path: object) -> str:
        """The real path of a notebook named as Jupyter names it. Raises ``ApiError`` 422."""
        if isinstance(path, str) and path.strip("/") and "\0" not in path and path.isprintable():
            root = self.root
            real = os.path.realpath(os.path.join(root, *PurePosixPath(path.lstrip("/")).parts))
            if real != root and os.path.commonpath([root, real]) == root:
                return real
        raise ApiError(422, "argument", "path: must be the path of a notebook below the server's root")

    def found(self, workspace_id: str) -> Workspace:
        """A workspace of the user's. Raises ``ApiError`` 404."""
        workspace = HERE.get(workspace_id)
        if workspace is None or not self.owns(workspace):
            raise ApiError(404, "unknown-workspace", "there is no such workspace; GET /mcc/api/workspaces lists yours")
        return workspace

    def owns(self, workspace: Workspace) -> bool:
        person = self.person
        return workspace.owner == person.name or person.sees_all

    async def running(self) -> dict[str, list[str]]:
        """Real paths of notebooks to the ids of their kernels."""
        manager: Any = self.session_manager
        sessions = await ensure_async(manager.list_sessions())
        return await asyncio.to_thread(_by_path, sessions, self.root)

    async def told(self, workspace: Workspace, running: Mapping[str, list[str]]) -> dict[str, object]:
        visible = {kernel.id for kernel in await self.services.kernels.visible(self)}
        return {
            "id": workspace.id,
            "path": PurePosixPath(workspace.path).relative_to(self.root).as_posix(),
            "owner": workspace.owner,
            "names": list(workspace.names),
            "kernels": sorted(visible & set(running.get(workspace.path, ()))),
        }


class WorkspacesHandler(WorkspaceHandler):
    auth_resource = RESOURCE

    @web.authenticated
    @authorized(action="read", resource=RESOURCE)
    async def get(self) -> None:
        limit, cursor = limit_of(self.query("limit")), self.query("cursor")
        own = [workspace for workspace in HERE if self.owns(workspace)]
        found, following = page(own, lambda workspace: workspace.id, limit=limit, cursor=cursor)
        running = await self.running() if found else {}
        listed = [await self.told(workspace, running) for workspace in found]
        await self.answer({"workspaces": listed, "next_cursor": following})

    @web.authenticated
    @authorized(action="write", resource=RESOURCE)
    async def post(self) -> None:
        asked = closed(await self.document(), "path", "environment")
        real = self.real(asked.get("path"))
        environment = asked.get("environment")
        known = HERE.for_path(real, real=True)
        if known is not None and not self.owns(known):
            raise ApiError(409, "workspace-taken", "path: this notebook is the workspace of another user")
        running = await self.running()
        try:
            if known is None and environment and running.get(real):
                where = "environment: the notebook's kernel runs already; shut it down, then create the workspace"
                raise ArgumentError(where)
            workspace, new = HERE.create(real, environment, owner=self.person.name)
        except ArgumentError as error:
            raise http_error(error) from None
        self.set_header("Location", f"{self.base_url}mcc/api/workspaces/{workspace.id}")
        await self.answer(await self.told(workspace, running), 201 if new else 200)


class OneWorkspaceHandler(WorkspaceHandler):
    auth_resource = RESOURCE

    @web.authenticated
    @authorized(action="read", resource=RESOURCE)
    async def get(self, workspace_id: str) -> None:
        workspace = self.found(workspace_id)
        await self.answer(await self.told(workspace, await self.running()))

    @web.authenticated
    @authorized(action="write", resource=RESOURCE)
    async def patch(self, workspace_id: str) -> None:
        workspace = self.found(workspace_id)
        asked = closed(await self.document(), "environment")
        try:
            HERE.update(workspace.id, asked.get("environment"))
        except ArgumentError as error:
            raise http_error(error) from None
        await self.answer(await self.told(workspace, await self.running()))

    @web.authenticated
    @authorized(action="write", resource=RESOURCE)
    async def delete(self, workspace_id: str) -> None:
        HERE.delete(self.found(workspace_id).id)
        self.set_status(204)
        await self.finish()


def _by_path(sessions: Iterable[Mapping[str, Any]], root: str) -> dict[str, list[str]]:
    """Real paths of notebooks to the ids of their kernels."""
    found: dict[str, list[str]] = {}
    for session in sessions:
        path, kernel = session.get("path"), session.get("kernel") or {}
        if isinstance(path, str) and "id" in kernel:
            found.setdefault(os.path.realpath(os.path.join(root, path)), []).append(str(kernel["id"]))
    return found
