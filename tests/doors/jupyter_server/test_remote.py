"""A kernel behind a gateway: it is asked by the control request, with an identity of its own (SPEC 13.2)."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import websocket
from jupyter_server.gateway.gateway_client import GatewayClient
from jupyter_server.gateway.managers import GatewayKernelManager

from mcc_jupyter.doors.jupyter_server.kernels import Kernel, _is_remote
from tests.doors.jupyter_server.servers import Server
from tests.doors.jupyter_server.test_calls import GREET, NDJSON, events, printed, with_tools


@pytest.fixture
def gateway(server: Server, monkeypatch: pytest.MonkeyPatch) -> Any:
    """This server as the gateway of a kernel of its own: the kernel, as a server elsewhere would have it."""
    # Jupyter's client opens the WebSocket without a token.
    monkeypatch.setattr(websocket, "create_connection", partial(websocket.create_connection, header=server.token))
    GatewayClient.clear_instance()
    client = GatewayClient.instance(url=server.base, auth_token=server.token["Authorization"].removeprefix("token "))
    yield client
    GatewayClient.clear_instance()


async def test_a_remote_kernel_is_asked_and_called(server: Server, gateway: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = await with_tools(server, GREET, "greet")
    manager = GatewayKernelManager(parent=server.app.kernel_manager)
    manager.kernel_id, manager.kernel = kernel, {"id": kernel, "execution_state": "idle"}
    get = server.app.kernel_manager.get_kernel
    # For the extension it is remote; the gateway, which this server is too, has it.
    monkeypatch.setattr(server.services.kernels, "_kernel", lambda one: Kernel(one, manager, _is_remote(manager)))
    server.manifest(kernel).unlink()

    listed = await server.ask("GET", "/kernels")
    tools = await server.ask("GET", f"/kernels/{kernel}/tools")
    call = await server.ask("POST", f"/kernels/{kernel}/calls", {"tool": "greet", "arguments": {"who": "Ada"}}, headers=NDJSON)
    await server.services.kernels.close()

    assert [(found["remote"], found["loaded"]) for found in listed.document["kernels"]] == [(True, None)]
    assert [tool["name"] for tool in tools.document["tools"]] == ["greet"]
    assert printed(events(call)) == "hello Ada\n"
    assert get(kernel).execution_state == "idle"
