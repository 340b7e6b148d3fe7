"""What the save guard found, and outputs of a cell → the same with marks in place of values (SPEC 8.4).

1. Who sends outputs learns whether they hold a value that the server or a kernel knows: that is no question of reading,
   so it has a resource and an action of its own. Kernels are asked as far as the user may execute in them.
2. Nothing that is sent is saved, logged or remembered.
3. What was found in a notebook is for those who may read the contents of the server.
"""

from __future__ import annotations

from jupyter_core.utils import ensure_async
from jupyter_server.auth.decorator import authorized
from tornado import web

from ...core.errors import DeclarationError
from .base import Handler, closed
from .errors import ApiError
from .guarding import kernels_of_notebooks
from .looked import Looked
from .save_guard import SaveGuard

RESOURCE = "mcc_jupyter:redactions"


class FindingsHandler(Handler):
    auth_resource = RESOURCE

    @web.authenticated
    @authorized(action="read", resource=RESOURCE)
    async def get(self) -> None:
        path = self.query("path")
        if not path:
            raise ApiError(422, "argument", "path: must be the path of a notebook")
        if not await ensure_async(self.authorizer.is_authorized(self, self.current_user, "read", "contents")):
            raise web.HTTPError(403)
        guard = self.settings["mcc_save_guard"]
        assert isinstance(guard, SaveGuard)
        looked = guard.findings(path)
        await self.answer({"looked": looked is not None, **(looked or Looked(path, guard.mode, "clean")).json()})


class RedactionsHandler(Handler):
    auth_resource = RESOURCE

    @web.authenticated
    @authorized(action="execute", resource=RESOURCE)
    async def post(self) -> None:
        asked = closed(await self.document(), "outputs", "path")
        outputs, path = asked.get("outputs"), asked.get("path")
        if not isinstance(outputs, list) or not all(isinstance(output, dict) for output in outputs):
            raise ApiError(422, "argument", "outputs: must be a list of the outputs of a cell, as a notebook has them")
        if path is not None and not isinstance(path, str):
            raise ApiError(422, "argument", "path: must be the path of a notebook, or null")
        guard = self.settings["mcc_save_guard"]
        assert isinstance(guard, SaveGuard)
        kernels = self.services.kernels
        ask = None
        if path:
            ask = kernels_of_notebooks(
                self.session_manager, kernels, self.log, lambda kernel: kernels.allows(self, kernel, "execute")
            )
        try:
            redacted, looked = await guard.redact(outputs, (path or "").strip("/"), ask)
        except (DeclarationError, RecursionError):
            raise ApiError(422, "argument", "outputs: cannot be read as the outputs of a cell") from None
        keys = ("output", "line", "name", "format", "redacted")
        findings = [{key: finding.json()[key] for key in keys} for finding in looked.findings]
        await self.answer({"outputs": redacted, "findings": findings, "notes": list(looked.notes)})
