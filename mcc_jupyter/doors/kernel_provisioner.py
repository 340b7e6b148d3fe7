"""Jupyter starts a kernel → the same local kernel, with its workspace, its session environment and a credential.

Used where a kernel's specification or ``KernelProvisionerFactory.default_provisioner_name`` names ``mcc-jupyter``.

1. The workspace is the notebook's real path, below the server's root, as it is at the first start. It stays what it is
   at restarts, whatever the notebook is called by then.
2. What the server says of the kernel is fixed with it: who had it started, and the policy file. Neither a name that a
   client chose for the session nor a kernel's specification changes it.
3. The credential is another one at each start. It comes by a pipe, so that it is in nobody's environment.
4. All else is ``LocalProvisioner``'s.

For brokered mode (SPEC 10): ``launch_kernel`` is where a kernel is bound to its credential, and so where a broker is to
be told of both; ``pre_launch`` is where governed names are to be left out of the environment. Nothing else would
change: a kernel asks with the credential that it has already.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from ..core import handed
from ..runtime import credentials, serving, workspaces

if TYPE_CHECKING:
    from jupyter_client.connect import KernelConnectionInfo

_WORKSPACE = "MCC_WORKSPACE"
_NOTEBOOK = "JPY_SESSION_NAME"
_INHERITED = os.environ.get(_NOTEBOOK)
"""The notebook in which this server was started, if it was: it is none of its kernels'."""


class MccProvisioner(LocalProvisioner):
    """Starts local kernels of mcc_jupyter."""

    _handed: handed.Handed | None = None
    """What the kernel was told when it was first started."""

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Adds the workspace, its session environment and the server's word to what the kernel is started with."""
        asked = kwargs.get("env", {}).get(_NOTEBOOK)  # a kernel's specification comes later and has no say
        prepared: dict[str, Any] = await super().pre_launch(**kwargs)
        ours = (credentials.VARIABLE, _WORKSPACE, _NOTEBOOK)
        environment = {name: value for name, value in prepared["env"].items() if name not in ours}
        if self._handed is None:
            self._handed = self._told(asked, prepared.get("cwd"))
        else:
            self._handed = self._handed.under(serving.HERE.policy or self._handed.policy)
        if workspace := self._handed.workspace:
            known = workspaces.HERE.for_path(workspace, real=True)
            environment = environment if known is None else known.merged(environment)
            environment |= dict.fromkeys((_WORKSPACE, _NOTEBOOK), workspace)
        environment[handed.VARIABLE] = self._handed.text()
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

    def _told(self, notebook: str | None, cwd: object) -> handed.Handed:
        root = getattr(getattr(self.parent, "parent", None), "root_dir", None)
        top = None if not root else os.path.realpath(str(root))
        real = _found(notebook, str(cwd or os.getcwd()), top)
        return serving.HERE.handed(root=top, workspace=real, kernel=str(self.kernel_id))


def _found(notebook: str | None, folder: str, top: str | None) -> str:
    """The notebook's real path, if it lies below *top*, the server's root, where there is a server; else nothing."""
    if not notebook or notebook == _INHERITED:
        return ""
    real = os.path.realpath(os.path.join(folder, notebook))
    return real if top is None or os.path.commonpath([top, real]) == top else ""
