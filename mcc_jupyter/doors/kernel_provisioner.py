"""Jupyter starts a kernel → the same local kernel, with its workspace, its session environment and a credential.

Used where a kernel's specification or ``KernelProvisionerFactory.default_provisioner_name`` names ``mcc-jupyter``.

1. The workspace is the notebook's real path, below the server's root, as it is at the first start. It stays what it is
   at restarts, whatever the notebook is called by then.
2. The credential is another one at each start. It comes by a pipe, so that it is in nobody's environment.
3. All else is ``LocalProvisioner``'s.

For brokered mode (SPEC 10): ``launch_kernel`` is where a kernel is bound to its credential, and so where a broker is to
be told of both; ``pre_launch`` is where governed names are to be left out of the environment. Nothing else would
change: a kernel asks with the credential that it has already.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from ..runtime import credentials, workspaces

if TYPE_CHECKING:
    from jupyter_client.connect import KernelConnectionInfo

_WORKSPACE = "MCC_WORKSPACE"
_NOTEBOOK = "JPY_SESSION_NAME"
_INHERITED = os.environ.get(_NOTEBOOK)
"""The notebook in which this server was started, if it was: it is none of its kernels'."""


class MccProvisioner(LocalProvisioner):
    """Starts local kernels of mcc_jupyter."""

    _workspace: str | None = None
    """The notebook's real path once the kernel was started; empty: it belongs to no notebook below the root."""

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Adds the workspace and its session environment to what the kernel is started with."""
        prepared: dict[str, Any] = await super().pre_launch(**kwargs)
        environment = {name: value for name, value in prepared["env"].items() if name != credentials.VARIABLE}
        if self._workspace is None:
            self._workspace = self._found(environment, prepared.get("cwd"))
        environment.pop(_WORKSPACE, None)
        if self._workspace:
            known = workspaces.HERE.for_path(self._workspace, real=True)
            environment = environment if known is None else known.merged(environment)
            environment[_WORKSPACE] = self._workspace
        return {**prepared, "env": environment}

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Starts the kernel with a new credential."""
        kernel = str(self.kernel_id)
        pipe = credentials.pipe_with(credentials.HERE.issue(kernel))
        try:
            kwargs["env"] = {**kwargs["env"], credentials.VARIABLE: str(pipe)}
            kwargs["pass_fds"] = (*kwargs.get("pass_fds", ()), pipe)
            info = await super().launch_kernel(cmd, **kwargs)
        finally:
            os.close(pipe)
        if self.pid is not None:
            credentials.HERE.started(kernel, self.pid)
        return info

    async def cleanup(self, restart: bool = False) -> None:
        """Forgets the credential of a kernel that has ended."""
        credentials.HERE.revoke(str(self.kernel_id))
        await super().cleanup(restart=restart)

    def _found(self, environment: dict[str, str], cwd: object) -> str:
        """The notebook's real path, if it lies below the server's root where there is a server; else nothing."""
        named = environment.get(_NOTEBOOK)
        if not named or named == _INHERITED:
            return ""
        real = os.path.realpath(os.path.join(str(cwd or os.getcwd()), named))
        root = getattr(getattr(self.parent, "parent", None), "root_dir", None)
        if not root:
            return real
        top = os.path.realpath(str(root))
        return real if os.path.commonpath([top, real]) == top else ""
