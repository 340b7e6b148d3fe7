"""A kernel is asked for → it is started with what the server says of it: policy file, root, user (SPEC 6.6, 9.1, 9.2).

1. A session's path decides which notebook a kernel is for. What the client calls the session does not.
2. It stands in the first environment, which nothing in the kernel changes by ``os.environ``. The provisioner
   ``mcc-jupyter`` writes it again, after all that a kernel's specification sets.
3. A kernel behind a gateway is told nothing: it is another machine's.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from jupyter_server.base.call_context import CallContext
from jupyter_server.gateway.managers import GatewayMappingKernelManager
from jupyter_server.utils import ApiPath, to_os_path

from ...core.handed import VARIABLE
from ...runtime.serving import Serving
from .people import People, Person

_NOTEBOOK = "JPY_SESSION_NAME"


def who_asks(people: People) -> Person:
    """Whose request this is; the server's own where it is nobody's."""
    user = getattr(CallContext.get(CallContext.JUPYTER_HANDLER), "current_user", None)
    return people.own() if user is None else people.person(user)


def tell_kernels(server: Any, serving: Serving) -> Callable[[], None]:
    """Tells all kernels that *server*, a ``ServerApp``, starts from now on. Returns what ends that."""
    manager, sessions = server.kernel_manager, server.session_manager
    if isinstance(manager, GatewayMappingKernelManager):
        return lambda: None
    start_kernel, get_kernel_env = manager.start_kernel, sessions.get_kernel_env

    @functools.wraps(start_kernel)
    def told(*args: Any, **kwargs: Any) -> Any:
        environment = kwargs.get("env")
        if not environment:  # a notebook in which the server itself was started is none of its kernels'
            environment = {name: value for name, value in os.environ.items() if name != _NOTEBOOK}
        kwargs["env"] = {**environment, VARIABLE: serving.handed().text()}
        return start_kernel(*args, **kwargs)

    @functools.wraps(get_kernel_env)
    def by_path(path: str | None, name: str | None = None) -> dict[str, str]:
        found: dict[str, str] = get_kernel_env(path, name)
        if not path:
            return found
        return {**found, _NOTEBOOK: to_os_path(ApiPath(path), str(manager.root_dir))}

    manager.start_kernel, sessions.get_kernel_env = told, by_path

    def end() -> None:
        del manager.start_kernel, sessions.get_kernel_env

    return end
