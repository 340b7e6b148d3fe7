"""``[tools.NAME.mcp]``: how a server is started or reached (SPEC 9.2). Read and checked here; nothing is started.

1. Each runtime needs its own keys, and each missing one has its own message.
2. Texts are as written: they are constants, and a credential among them is refused by whoever reads the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from .errors import near
from .fields import variable
from .reading import Node

KEYS: Final = ("runtime", "command", "args", "env", "port", "transport", "url", "image", "headers")

NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    "script": ("command", "port"),
    "stdio": ("command",),
    "docker": ("image", "port"),
    "url": ("url",),
}
"""What each runtime cannot do without."""

FOREIGN: Final[Mapping[str, tuple[str, ...]]] = {
    "script": ("url", "image", "headers"),
    "stdio": ("url", "image", "headers"),
    "docker": ("url", "headers"),
    "url": ("command", "args", "env", "port", "image"),
}
"""What would have no meaning for each runtime."""

TRANSPORTS: Final = ("streamable_http", "http", "sse", "stdio")

FORWARD: Final = "there is no such thing; name each variable in the tool's required_env or optional_env"
"""What is said of ``env_forward`` (SPEC 9.2)."""


@dataclass(frozen=True, slots=True)
class McpTable:
    """A server's start. ``{port}`` in ``args`` is replaced."""

    runtime: str
    command: str | None = None
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    port: int | None = None
    transport: str | None = None
    url: str | None = field(default=None, repr=False)
    image: str | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)


def read_mcp(node: Node) -> McpTable:
    """The table at *node*; what is wrong is added to its problems, and then the table may not be used."""
    hints = {"env_forward": FORWARD, "type": "write `runtime`"}
    found = node.fields(KEYS, hints, "a table that says how the server is started")
    runtime = found["runtime"].text("a runtime as text") if "runtime" in found else ""
    if runtime not in NEEDS:
        where = found.get("runtime", node)
        where.wrong(
            f"expected one of {', '.join(NEEDS)}{near(runtime, NEEDS)}" if "runtime" in found else _no_runtime()
        )
    for key in NEEDS.get(runtime, ()):
        if key not in found:
            node.wrong(f'the runtime "{runtime}" needs `{key}`')
    for key in FOREIGN.get(runtime, ()):
        if key in found:
            found[key].wrong(f'the runtime "{runtime}" has none; remove it')

    def filled(key: str) -> str | None:
        return found[key].filled("text") if key in found else None

    port = _port(found["port"]) if "port" in found else None
    args = tuple(item.text() for item in found["args"].sequence("a list of texts")) if "args" in found else ()
    transport = filled("transport")
    if transport and transport not in TRANSPORTS:
        found["transport"].wrong(f"expected one of {', '.join(TRANSPORTS)}{near(transport, TRANSPORTS)}")
    url = filled("url")
    if url and not url.startswith(("http://", "https://")):
        found["url"].wrong("expected an address that begins with http:// or https://")
    env = found["env"].mapping("a table of texts") if "env" in found else {}
    headers = found["headers"].mapping("a table of texts") if "headers" in found else {}
    return McpTable(
        runtime=runtime,
        command=filled("command"),
        args=tuple(text.replace("{port}", str(port)) for text in args) if port is not None else args,
        env=MappingProxyType({name: item.literal() for name, item in env.items() if variable(item, name)}),
        port=port,
        transport=transport,
        url=url,
        image=filled("image"),
        headers=MappingProxyType({name: item.text() for name, item in headers.items()}),
    )


def _no_runtime() -> str:
    return f"needs `runtime`, one of {', '.join(NEEDS)}"


def _port(node: Node) -> int:
    value = node.value
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 65536:
        return value
    node.wrong("expected a port from 1 to 65535, as a number")
    return 0
