"""A real Jupyter server with the extension, below a base URL that has to be quoted, and real kernels."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pytest_jupyter.jupyter_server import *  # noqa: F403 - fixtures and hooks

from tests.doors.jupyter_server.servers import Server


@pytest.fixture
def settings() -> dict[str, Any]:
    """What a test adds to the server's configuration."""
    return {}


@pytest.fixture
def jp_server_config(settings: dict[str, Any]) -> dict[str, Any]:
    configured = {
        "ServerApp": {
            "jpserver_extensions": {"mcc_jupyter": True, "jupyter_server_terminals": False},
            "allow_unauthenticated_access": False,
        },
        "MccServer": {"kernel_timeout": 10.0},
    }
    for section, values in settings.items():
        configured.setdefault(section, {}).update(values)
    return configured


@pytest.fixture
def server(jp_serverapp: Any, jp_fetch: Any, jp_ws_fetch: Any, jp_base_url: str, jp_http_port: int, jp_auth_header: dict[str, str], jp_asyncio_loop: asyncio.AbstractEventLoop) -> Any:
    """The server; its kernels end with the test."""
    found = Server(jp_serverapp, jp_ws_fetch, jp_base_url, jp_http_port, jp_auth_header)
    yield found
    jp_asyncio_loop.run_until_complete(found.close())
