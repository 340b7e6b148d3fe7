"""Who may ask for what: each verb of each path is authenticated and authorised (SPEC 13.1), below any base URL."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest
from jupyter_server.auth.authorizer import Authorizer
from jupyter_server.auth.identity import IdentityProvider, User

from mcc_jupyter.doors.jupyter_server.base import verbs
from mcc_jupyter.doors.jupyter_server.openapi import Operation
from mcc_jupyter.doors.jupyter_server.routes import OPERATIONS, TABLE, routes
from tests.doors.jupyter_server.servers import Server, tool

NOBODY = "11111111-2222-4333-8444-555555555555"

NO_KERNEL = {"message": "there is no such kernel; GET /mcc/api/kernels lists yours", "reason": "Not Found", "code": "unknown-kernel"}
FORBIDDEN = {"message": "you may not do this here; ask the operator of the server", "reason": "Forbidden", "code": "forbidden"}
UNKNOWN = {"message": "Forbidden", "reason": "Forbidden", "code": "forbidden"}


def concrete(operation: Operation) -> str:
    return re.sub(r"\{\w+\}", NOBODY, operation.path)


class DenyingAuthorizer(Authorizer):
    """Denies one action on one resource."""

    denied: tuple[str, str] = ("", "")
    asked: list[tuple[str, str]] = []  # noqa: RUF012 - a test's notes

    def is_authorized(self, handler: Any, user: User, action: str, resource: str) -> bool:
        self.asked.append((action, resource))
        return (action, resource) != self.denied


def test_each_verb_of_each_handler_is_in_the_table_and_no_other() -> None:
    for handler, operations in TABLE:
        assert sorted(operation.verb.upper() for operation in operations) == sorted(verbs(handler)), handler
        assert len({operation.path for operation in operations}) == 1
    assert len(OPERATIONS) == len({(operation.verb, operation.path) for operation in OPERATIONS})


def test_each_verb_is_decorated_in_its_own_class_with_its_own_resource() -> None:
    for handler, operations in TABLE:
        for operation in operations:
            method = vars(handler)[operation.verb]
            kept: dict[str, Any] = {}
            while hasattr(method, "__wrapped__"):
                kept |= inspect.getclosurevars(method).nonlocals
                method = method.__wrapped__
            assert (kept["action"], kept["resource"]) == (operation.action, operation.resource), (handler, operation.verb)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
class TestNobody:
    async def test_without_a_token_nothing_is_told(self, operation: Operation, server: Server) -> None:
        answer = await server.ask(operation.verb.upper(), concrete(operation), token=False)

        assert answer.status == 403
        # A POST without a token fails at the XSRF check, which comes first.
        assert answer.document == UNKNOWN, answer


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
class TestDenied:
    @pytest.fixture
    def settings(self, operation: Operation, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        monkeypatch.setattr(DenyingAuthorizer, "denied", (operation.action, operation.resource))
        monkeypatch.setattr(DenyingAuthorizer, "asked", [])
        return {"ServerApp": {"authorizer_class": DenyingAuthorizer}}

    async def test_who_is_denied_the_resource_gets_403(self, operation: Operation, server: Server) -> None:
        body = {} if operation.body is not None else None
        answer = await server.ask(operation.verb.upper(), concrete(operation), body)

        assert (answer.status, answer.document) == (403, FORBIDDEN)
        assert DenyingAuthorizer.asked == [(operation.action, operation.resource)]
