"""Who may ask for what: each verb of each path is authenticated and authorised (SPEC 13.1), below any base URL."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

import pytest
from jupyter_server.auth.authorizer import AllowAllAuthorizer, Authorizer
from jupyter_server.auth.identity import IdentityProvider, PasswordIdentityProvider, User

from mcc_jupyter.doors.jupyter_server.base import verbs
from mcc_jupyter.doors.jupyter_server.openapi import Operation
from mcc_jupyter.doors.jupyter_server.people import People
from mcc_jupyter.doors.jupyter_server.routes import OPERATIONS, TABLE, routes
from mcc_jupyter.runtime.identity import local_user
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


# ---- browsers: cookies, XSRF and Origin


async def _browser(server: Server) -> dict[str, str]:
    """The cookies of a browser that has logged in."""
    answer = await server.ask("GET", "/status")
    cookies = re.findall(r"(username-[\w-]+|_xsrf)=([^;]*)", answer.headers["Set-Cookie"])
    assert answer.status == 200
    assert cookies
    page = await server.ask("GET", "/api/status", token=False, headers={"Cookie": "; ".join(f"{name}={value}" for name, value in cookies)})
    assert page.status == 200
    return dict(cookies)


def _cookie(cookies: dict[str, str]) -> str:
    return "; ".join(f"{name}={value}" for name, value in cookies.items())


POSTS = [operation for operation in OPERATIONS if operation.verb != "get"]


@pytest.mark.parametrize("operation", POSTS, ids=lambda operation: operation.name)
async def test_a_browser_that_changes_something_needs_its_xsrf_token(operation: Operation, server: Server) -> None:
    cookies = {**await _browser(server), "_xsrf": "2|12345678|"}

    without = await server.ask(operation.verb.upper(), concrete(operation), {"tool": "x"}, token=False, headers={"Cookie": _cookie(cookies)})

    assert (without.status, without.document["code"]) == (403, "forbidden")

    cookies["_xsrf"] = "abcdef0123456789"
    with_it = await server.ask(operation.verb.upper(), concrete(operation), {}, token=False, headers={"Cookie": _cookie(cookies), "X-XSRFToken": cookies["_xsrf"]})

    assert with_it.status in (404, 422)  # what is asked for is not there, or incomplete


async def test_another_site_is_answered_nothing(server: Server) -> None:
    cookie = _cookie(await _browser(server))

    own = await server.ask("GET", "/status", token=False, headers={"Cookie": cookie, "Origin": server.base.partition("/a%40b")[0], "Referer": server.base})
    foreign = await server.ask("GET", "/status", token=False, headers={"Cookie": cookie, "Origin": "https://elsewhere.example", "Referer": server.base})

    assert own.status == 200
    assert (foreign.status, foreign.document["code"]) == (404, "not-found")


# ---- paths


@pytest.mark.parametrize(
    "path",
    ["/", "/nothing", "/kernels/", f"/kernels/{NOBODY}/nothing", f"/kernels/{NOBODY}/tools/a/b", "/kernels/../../etc/tools", "/kernels/%2e%2e%2f/tools/"],
)
async def test_what_is_no_path_is_json_too(path: str, server: Server) -> None:
    for verb in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        answer = await server.ask(verb, path)
        assert (answer.status, answer.document["code"]) == (404, "not-found")


@pytest.mark.parametrize("kernel", [NOBODY, "x", "..%2f..%2fetc", "%00", "a" * 300, "%F0%9F%94%91", "%e2%80%ae"])
async def test_a_kernel_that_is_not_there_is_told_in_one_sentence(kernel: str, server: Server) -> None:
    for path in ("tools", "tools/x", "tools/x/report", "matrix", "session", "calls", "calls/x"):
        answer = await server.ask("GET", f"/kernels/{kernel}/{path}")
        assert (answer.status, answer.document) == (404, NO_KERNEL)
    answer = await server.ask("POST", f"/kernels/{kernel}/calls", {"tool": "x"})
    assert (answer.status, answer.document) == (404, NO_KERNEL)


async def test_another_verb_is_told_which_there_are(server: Server) -> None:
    answer = await server.ask("PUT", "/status", {})

    assert (answer.status, answer.document["code"], answer.headers["Allow"]) == (405, "method-not-allowed", "GET")


# ---- users and groups


class Named(IdentityProvider):
    """The user that a header names."""

    def get_user(self, handler: Any) -> User | None:
        name = handler.request.headers.get("X-User")
        return User(name) if name else None

    def should_check_origin(self, handler: Any) -> bool:
        return False


class Mine(Authorizer):
    """A kernel is its own user's: the one whom ``owners`` names."""

    owners: dict[str, str] = {}  # noqa: RUF012 - set by the test

    def is_authorized(self, handler: Any, user: User, action: str, resource: str) -> bool:
        kernel = handler.path_kwargs.get("kernel_id")
        return resource != "kernels" or kernel is None or self.owners.get(kernel) == user.username


class TestUsers:
    @pytest.fixture
    def settings(self) -> dict[str, Any]:
        return {
            "ServerApp": {"identity_provider_class": Named, "authorizer_class": Mine, "disable_check_xsrf": True},
            "MccServer": {"user_groups": {"alice": ["ops"], "root": ["admin"]}},
        }

    async def test_another_users_kernel_does_not_exist(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Mine, "owners", {})
        kernel = await server.start_as("alice")
        monkeypatch.setattr(Mine, "owners", {kernel: "alice"})
        server.plant(kernel, tool("one"))

        own = await server.ask("GET", f"/kernels/{kernel}/tools", headers={"X-User": "alice"})
        listed = await server.ask("GET", "/kernels", headers={"X-User": "alice"})
        theirs = await server.ask("GET", f"/kernels/{kernel}/tools", headers={"X-User": "bob"})
        call = await server.ask("POST", f"/kernels/{kernel}/calls", {"tool": "one"}, headers={"X-User": "bob"})
        nothing = await server.ask("GET", "/kernels", headers={"X-User": "bob"})

        assert [found["name"] for found in own.document["tools"]] == ["one"]
        assert [found["id"] for found in listed.document["kernels"]] == [kernel]
        assert (theirs.status, theirs.document) == (call.status, call.document) == (404, NO_KERNEL)
        assert nothing.document["kernels"] == []

    @pytest.mark.parametrize(
        ("user", "names", "groups"),
        [("alice", ["all", "ops"], ["ops"]), ("bob", ["all"], []), ("root", ["adm", "all", "dev", "ops"], ["admin"])],
    )
    async def test_groups_decide_which_tools_there_are(self, user: str, names: list[str], groups: list[str], server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Mine, "owners", {})
        kernel = await server.start_as(user)
        monkeypatch.setattr(Mine, "owners", {kernel: user})
        server.plant(kernel, tool("all"), tool("ops", ("ops",)), tool("dev", ("dev",)), tool("adm", ("admin",)))
        told = {"X-User": user}

        listed = await server.ask("GET", f"/kernels/{kernel}/tools", headers=told)
        status = await server.ask("GET", "/status", headers=told)

        assert sorted(found["name"] for found in listed.document["tools"]) == names
        assert status.document["user"] == {"name": user, "groups": groups, "groups_from": "configuration"}
        for name in ("all", "ops", "dev", "adm"):
            one = await server.ask("GET", f"/kernels/{kernel}/tools/{name}", headers=told)
            report = await server.ask("GET", f"/kernels/{kernel}/tools/{name}/report", headers=told)
            assert one.status == report.status == (200 if name in names else 404)
            if name not in names:
                call = await server.ask("POST", f"/kernels/{kernel}/calls", {"tool": name}, headers=told)
                assert one.document == report.document == call.document == {"message": "the kernel has no such tool for you; GET …/tools lists yours", "reason": "Not Found", "code": "unknown-tool"}


async def test_whoever_may_do_everything_has_all_groups_where_none_are_configured(server: Server) -> None:
    answer = await server.ask("GET", "/status")

    assert answer.document["user"]["groups"] is None
    assert answer.document["user"]["groups_from"] == "unrestricted"


@dataclasses.dataclass
class HubUser(User):
    """As JupyterHub's extension of the server makes one."""

    hub_user: dict[str, Any] = dataclasses.field(default_factory=dict)


@pytest.mark.parametrize(
    ("configured", "model", "provider", "authorizer", "expected"),
    [
        (None, {"groups": ["ops"]}, Named, Mine, ("ann", ("ops",), "hub")),
        (None, {"groups": []}, Named, AllowAllAuthorizer, ("ann", (), "hub")),
        ({"ann": ["dev"]}, {"groups": ["ops"]}, Named, Mine, ("ann", ("dev",), "configuration")),
        ({"ann": ["dev"], "*": ["all", "dev"]}, {}, Named, Mine, ("ann", ("dev", "all"), "configuration")),
        ({"bob": ["dev"]}, {}, Named, AllowAllAuthorizer, ("ann", (), "configuration")),
        ({}, {}, Named, AllowAllAuthorizer, ("ann", (), "configuration")),
        (None, {}, Named, AllowAllAuthorizer, ("ann", None, "unrestricted")),
        (None, {}, Named, Mine, ("ann", (), "none")),
        (None, {}, IdentityProvider, AllowAllAuthorizer, (local_user(), None, "unrestricted")),
        ({local_user(): ["dev"]}, {}, PasswordIdentityProvider, Mine, (local_user(), ("dev",), "configuration")),
    ],
)
def test_groups_come_from_the_configuration_else_from_the_hub(configured: Any, model: Any, provider: Any, authorizer: Any, expected: Any) -> None:
    found = People(configured, provider(), authorizer()).person(HubUser("ann", hub_user=model))

    assert (found.name, found.groups, found.source) == expected


def test_every_route_answers_below_the_base_url() -> None:
    assert all(pattern.startswith("/mcc/api") for pattern, _ in routes())
