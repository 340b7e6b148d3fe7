"""GET of the server's own documents: the policy's status, the OpenAPI document; and 404 for what is no path."""

from __future__ import annotations

import asyncio

from jupyter_server.auth.decorator import authorized
from tornado import web

from ... import __version__
from ...core.errors import ArgumentError
from .base import Handler
from .errors import ApiError
from .looking import RESOURCE
from .openapi import document
from .paging import limit_of

POLICY, AUDIT = "mcc_jupyter:policy", "mcc_jupyter:audit"


class PolicyHandler(Handler):
    auth_resource = POLICY

    @web.authenticated
    @authorized(action="read", resource=POLICY)
    async def get(self) -> None:
        person = self.person
        seen = await asyncio.to_thread(self.services.policy.look)
        groups = None if person.groups is None else frozenset(person.groups)
        told = None if seen is None else seen.json(person.name, groups, everything=person.sees_all)
        await self.answer({"policy": told})


class AuditHandler(Handler):
    auth_resource = AUDIT

    @web.authenticated
    @authorized(action="read", resource=AUDIT)
    async def get(self) -> None:
        limit, cursor = limit_of(self.query("limit")), self.query("cursor")
        audit, person = self.services.ledger.audit, self.person
        if audit is None:
            await self.answer({"kept": False, "entries": [], "next_cursor": None})
            return
        try:
            found = await asyncio.to_thread(audit.read, limit, cursor)
        except ArgumentError:
            raise ApiError(422, "argument", "cursor: must be a cursor that a page before gave") from None
        entries = [entry for entry in found.entries if person.sees_all or entry.get("who") == person.name]
        await self.answer({"kept": True, "entries": entries, "next_cursor": found.cursor})


class OpenApiHandler(Handler):
    auth_resource = RESOURCE

    @web.authenticated
    @authorized(action="read", resource=RESOURCE)
    async def get(self) -> None:
        from .routes import OPERATIONS

        await self.answer(document(OPERATIONS, version=__version__, base_url=self.base_url))


class NothingHandler(Handler):
    """What is below ``/mcc/api`` and no path of it: JSON too, for those who may use the server."""

    auth_resource = RESOURCE

    async def _nothing(self) -> None:
        raise ApiError(404, "not-found", "there is no such path; GET /mcc/api/openapi.json lists them")

    @web.authenticated
    async def get(self) -> None:
        await self._nothing()

    @web.authenticated
    async def post(self) -> None:
        await self._nothing()

    @web.authenticated
    async def put(self) -> None:
        await self._nothing()

    @web.authenticated
    async def patch(self) -> None:
        await self._nothing()

    @web.authenticated
    async def delete(self) -> None:
        await self._nothing()
