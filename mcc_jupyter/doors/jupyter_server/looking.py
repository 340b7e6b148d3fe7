"""GET of what kernels say of themselves: tools, reports, session keys. Nothing here runs or changes anything."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Callable, Mapping

from jupyter_server.auth.decorator import authorized
from tornado import web

from ... import __version__
from ...core.report import MATRIX_TOOLS, Matrix, matrix
from ...core.report_json import read_report
from .base import Handler
from .errors import ApiError, unknown_tool
from .kernels import Kernel
from .mirror import Mirror
from .paging import limit_of, page
from .people import Person

RESOURCE = "mcc_jupyter:tools"


def tools_of(manifest: Mirror | None, person: Person) -> list[Mapping[str, object]]:
    """The tools of a kernel that *person* may use."""
    return [tool for tool in manifest.tools if person.may_use(tool)] if manifest is not None else []


def find_tool(manifest: Mirror | None, name: str, person: Person) -> Mapping[str, object]:
    """By key, or by name where one tool alone has it. Raises ``ApiError`` 404."""
    tools = tools_of(manifest, person)
    found = [tool for tool in tools if tool.get("key") == name] or [tool for tool in tools if tool.get("name") == name]
    if len(found) != 1:
        raise unknown_tool()
    return found[0]


def tag_of(manifest: Mirror | None, person: Person, *more: object) -> str | None:
    """What an answer depends on: the manifest's revision, who asks, and what for."""
    state = manifest.mark if manifest is not None else "not loaded"
    if state is None:
        return None
    text = repr((__version__, state, person.groups, more))
    return f'W/"{hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]}"'


def told(kernel: Kernel, manifest: Mirror | None, person: Person) -> dict[str, object]:
    """A kernel as *person* sees it."""
    known = {"id": kernel.id, "state": kernel.state, "remote": kernel.remote, "loaded": manifest is not None}
    if manifest is None:
        return known
    shown = {key: manifest.content.get(key) for key in ("workspace", "notebook", "policy", "guard", "isolation")}
    return {
        **known,
        "package": manifest.package,
        "state_mark": tag_of(manifest, person),
        "revision": manifest.revision,
        "tools": len(tools_of(manifest, person)),
        **shown,
    }


def matrix_of(tools: list[Mapping[str, object]]) -> Matrix:
    """The tools side by side. One whose report cannot be read is counted and not shown."""
    reports = []
    for tool in tools[:MATRIX_TOOLS]:
        document = tool.get("report")
        with contextlib.suppress(ValueError):
            reports.append(read_report(document if isinstance(document, Mapping) else {}))
    return matrix(reports, more=len(tools) - len(reports), footer=reports[0].footer if reports else ())


class StatusHandler(Handler):
    auth_resource = RESOURCE

    @web.authenticated
    @authorized(action="read", resource=RESOURCE)
    async def get(self) -> None:
        services = self.services
        await services.kernels.forget_the_gone()
        visible = await services.kernels.visible(self)
        await self.answer(
            {
                "version": __version__,
                "api": 1,
                "user": self.person.json(),
                "kernels": len(visible),
                "calls": {"running": services.calls.running, "most": services.calls.most},
            }
        )


class KernelsHandler(Handler):
    auth_resource = RESOURCE

    @web.authenticated
    @authorized(action="read", resource=RESOURCE)
    async def get(self) -> None:
        limit, cursor = limit_of(self.query("limit")), self.query("cursor")
        visible = await self.services.kernels.visible(self)
        found, following = page(visible, lambda kernel: kernel.id, limit=limit, cursor=cursor)
        await self.answer({"kernels": [await self._told(kernel) for kernel in found], "next_cursor": following})

    async def _told(self, kernel: Kernel) -> dict[str, object]:
        if kernel.remote:  # it would have to be asked
            return {**told(kernel, None, self.person), "loaded": None}
        try:
            manifest = await self.services.kernels.manifest(kernel)
        except ApiError as error:
            problem = {"code": error.code, "message": error.text}
            return {**told(kernel, None, self.person), "problem": problem}
        return told(kernel, manifest, self.person)


class KernelHandler(Handler):
    auth_resource = RESOURCE

    @web.authenticated
    @authorized(action="read", resource=RESOURCE)
    async def get(self, kernel_id: str) -> None:
        kernel = await self.kernel(kernel_id, "read")
        manifest = await self.services.kernels.manifest(kernel)
        tag = tag_of(manifest, self.person, "kernel", kernel.state)
        await self.answer(told(kernel, manifest, self.person), tag=tag)


class MatrixHandler(Handler):
    auth_resource = RESOURCE

    @web.authenticated
    @authorized(action="read", resource=RESOURCE)
    async def get(self, kernel_id: str) -> None:
        kernel = await self.kernel(kernel_id, "read")
        manifest = await self.services.kernels.manifest(kernel)
        found = await asyncio.to_thread(matrix_of, tools_of(manifest, self.person))
        await self.answer(found.json(), tag=tag_of(manifest, self.person, "matrix", kernel_id))


class ToolsHandler(Handler):
    auth_resource = RESOURCE

    @web.authenticated
    @authorized(action="read", resource=RESOURCE)
    async def get(self, kernel_id: str) -> None:
        await answer_page(self, kernel_id, "tools", lambda manifest: tools_of(manifest, self.person))


class ToolHandler(Handler):
    auth_resource = RESOURCE

    @web.authenticated
    @authorized(action="read", resource=RESOURCE)
    async def get(self, kernel_id: str, tool: str) -> None:
        kernel = await self.kernel(kernel_id, "read")
        manifest = await self.services.kernels.manifest(kernel)
        found = find_tool(manifest, tool, self.person)
        await self.answer(found, tag=tag_of(manifest, self.person, "tool", kernel_id, tool))


class ReportHandler(Handler):
    auth_resource = RESOURCE

    @web.authenticated
    @authorized(action="read", resource=RESOURCE)
    async def get(self, kernel_id: str, tool: str) -> None:
        kernel = await self.kernel(kernel_id, "read")
        kernels = self.services.kernels
        everything = flag_of(self.query("all"), "all")
        manifest = await kernels.manifest(kernel)
        found = find_tool(manifest, tool, self.person)
        if not everything:
            await self.answer(found.get("report"), tag=tag_of(manifest, self.person, "report", kernel_id, tool))
            return
        # What was withheld, and where programs lie, changes without a new declaration: the kernel looks.
        link = await kernels.link(kernel)
        asked = {"tool": found.get("key"), "all": True, "caller": self.person.caller()}
        reply, _ = await link.ask(kernels.seconds, "report", asked)
        await self.answer(reply.get("report"))


class SessionHandler(Handler):
    auth_resource = RESOURCE

    @web.authenticated
    @authorized(action="read", resource=RESOURCE)
    async def get(self, kernel_id: str) -> None:
        await answer_page(self, kernel_id, "session", lambda manifest: manifest.session if manifest else [])


async def answer_page(
    handler: Handler, kernel_id: str, what: str, entries: Callable[[Mirror | None], list[Mapping[str, object]]]
) -> None:
    """Answers with one page of what a kernel has, by key; reports are asked for one by one."""
    kernel = await handler.kernel(kernel_id, "read")
    limit, cursor = limit_of(handler.query("limit")), handler.query("cursor")
    manifest = await handler.services.kernels.manifest(kernel)
    found, following = page(entries(manifest), lambda entry: str(entry.get("key")), limit=limit, cursor=cursor)
    document = {
        "loaded": manifest is not None,
        "revision": manifest.revision if manifest is not None else 0,
        what: [{key: value for key, value in entry.items() if key != "report"} for entry in found],
        "next_cursor": following,
    }
    await handler.answer(document, tag=tag_of(manifest, handler.person, what, kernel_id, limit, cursor))


def flag_of(text: str | None, name: str) -> bool:
    """A query parameter that is ``true`` or ``false``. Raises ``ApiError`` 422."""
    if text not in (None, "true", "false"):
        raise ApiError(422, "argument", f"{name}: must be true or false")
    return text == "true"
