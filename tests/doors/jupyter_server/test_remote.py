"""A kernel behind a gateway: it is asked by the control request, with an identity of its own (SPEC 13.2)."""

from __future__ import annotations

from typing import Any

import pytest
from jupyter_server.gateway.gateway_client import GatewayClient
from jupyter_server.gateway.managers import GatewayKernelManager

from mcc_jupyter.doors.jupyter_server.kernels import Kernel
from mcc_jupyter.doors.jupyter_server.link import Link
from tests.doors.jupyter_server.servers import Server, eventually
from tests.doors.jupyter_server.test_calls import GREET, with_tools


@pytest.fixture
def gateway(server: Server, jp_asyncio_loop: Any) -> Any:
    """This server as the gateway of a kernel of its own: the kernel, as a server elsewhere would have it."""
    GatewayClient.clear_instance()
    client = GatewayClient.instance(url=server.base, auth_token=server.token["Authorization"].removeprefix("token "))
    yield client
    GatewayClient.clear_instance()


async def test_a_remote_kernel_is_asked_and_called(server: Server, gateway: Any) -> None:
    local = await with_tools(server, GREET, "greet")
    manager = GatewayKernelManager(parent=server.app.kernel_manager)
    manager.kernel_id = local
    manager.kernel = {"id": local}
    kernel = Kernel(local, manager, remote=True)
    link = Link(manager, remote=True)

    reply, _ = await link.ask(10, "tools")
    heard: list[Any] = []
    await link.call({"call": "one", "tool": "greet", "arguments": {"who": "Ada"}}, lambda content, _: heard.append(content), heard.append)
    await eventually(lambda: heard and heard[-1]["event"] in ("done", "error"))
    await link.close()

    assert [tool["name"] for tool in reply["manifest"]["tools"]] == ["greet"]
    assert "".join(event["text"] for event in heard if event["event"] == "output" and event["stream"] == "stdout") == "hello Ada\n"
    assert kernel.remote
