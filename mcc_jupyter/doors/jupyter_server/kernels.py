"""The server's kernels → what each mirrors of itself, and a link to it; for those a person may see (SPEC 13.1, 13.2).

1. A kernel that the authorizer denies does not exist: it is asked for the resource ``kernels`` with the kernel's id in
   the handler's ``path_kwargs``, as Jupyter's own handlers have it.
2. A kernel of this machine is never asked what its file says; one behind a gateway is asked by control request.
3. A kernel without mcc_jupyter costs nothing: it has no file.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from jupyter_core.utils import ensure_async
from jupyter_server.gateway.managers import GatewayKernelManager

from ... import __version__
from ...core.manifest import is_manifest
from .errors import ApiError, not_understood, unknown_kernel
from .link import Link
from .mirror import Mirror, Mirrors

OLDEST = "0.1.0"
"""The oldest mcc_jupyter in a kernel that this server understands."""

_ID = re.compile(r"[\w-]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel that somebody may see."""

    id: str
    manager: Any
    remote: bool

    @property
    def state(self) -> str:
        """Jupyter's word for it: ``starting``, ``idle``, ``busy``, ``dead``…"""
        return str(getattr(self.manager, "execution_state", "unknown"))


class Kernels:
    """The kernels of a server. *manager* is its kernel manager, *seconds* how long a kernel has for an answer."""

    def __init__(self, manager: Any, folder: Path, *, seconds: float) -> None:
        self._manager, self._folder, self.seconds = manager, folder, seconds
        self._mirrors = Mirrors()
        self._links: dict[str, Link] = {}

    async def visible(self, handler: Any) -> list[Kernel]:
        """All kernels that the user of *handler* may read."""
        ids = sorted(self._manager.list_kernel_ids())
        found = [self._kernel(one) for one in ids if await self.allows(handler, one, "read")]
        return [kernel for kernel in found if kernel is not None]

    async def find(self, handler: Any, kernel_id: str, action: str) -> Kernel:
        """The kernel, if the user may do *action* to it; else ``ApiError`` 404."""
        known = _ID.fullmatch(kernel_id) is not None and kernel_id in self._manager
        if not await self.allows(handler, kernel_id, action) or not known:
            raise unknown_kernel()
        kernel = self._kernel(kernel_id)
        if kernel is None:
            raise unknown_kernel()
        return kernel

    async def allows(self, handler: Any, kernel_id: str, action: str) -> bool:
        """Whether the user of *handler* may do *action* to the kernel."""
        before = handler.path_kwargs
        handler.path_kwargs = {**before, "kernel_id": kernel_id}
        try:
            asked = handler.authorizer.is_authorized(handler, handler.current_user, action, "kernels")
            return bool(await ensure_async(asked))
        finally:
            handler.path_kwargs = before

    async def manifest(self, kernel: Kernel) -> Mirror | None:
        """What the kernel says of itself; None if mcc_jupyter is not loaded in it.

        Raises ``ApiError``: 409 for a kernel that does not run, 422 for one of a version that does not fit, 504.
        """
        await self._running(kernel)
        if kernel.remote:
            reply, _ = await (await self.link(kernel)).ask(self.seconds, "tools")
            content = reply.get("manifest")
            if not isinstance(content, dict) or not is_manifest({"revision": 0, **content}):
                raise not_understood()
            manifest: Mirror | None = Mirror(content)
        else:
            name = Path(kernel.manager.connection_file).name
            manifest = await asyncio.to_thread(self._mirrors.read, self._folder / name)
        if manifest is not None:
            check_version(manifest)
        return manifest

    async def loaded(self, kernel: Kernel) -> Mirror:
        """As ``manifest``; a kernel without mcc_jupyter is an error too, 409."""
        manifest = await self.manifest(kernel)
        if manifest is None:
            raise ApiError(409, "not-loaded", "mcc_jupyter is not loaded in this kernel; run %load_ext mcc_jupyter")
        return manifest

    async def speaks(self, kernel_id: str) -> bool:
        """Whether mcc_jupyter is loaded in the kernel, in a version that this server understands."""
        kernel = self._kernel(kernel_id)
        try:
            return kernel is not None and await self.manifest(kernel) is not None
        except ApiError:
            return False

    async def link(self, kernel: Kernel) -> Link:
        """The conversation with the kernel's present process."""
        link = self._links.get(kernel.id)
        if link is not None and link.current:
            return link
        self._links[kernel.id] = fresh = Link(kernel.manager, remote=kernel.remote)
        await self.forget_the_gone()
        if link is not None:
            await link.close()
        return fresh

    async def ask(
        self,
        kernel_id: str,
        op: str,
        content: Mapping[str, Any] | None = None,
        buffers: Sequence[bytes] = (),
        *,
        seconds: float | None = None,
    ) -> tuple[Mapping[str, Any], Sequence[Any]]:
        """A request of the server itself, not of a user. Raises ``ApiError``."""
        kernel = self._kernel(kernel_id)
        if kernel is None:
            raise unknown_kernel()
        await self._running(kernel)
        return await (await self.link(kernel)).ask(seconds or self.seconds, op, content, buffers)

    async def forget_the_gone(self) -> None:
        """Closes conversations with kernels that are no more."""
        for kernel_id in [one for one in self._links if one not in self._manager]:
            await self._links.pop(kernel_id).close()

    async def close(self) -> None:
        links, self._links = self._links, {}
        for link in links.values():
            await link.close()

    # ---- inside

    def _kernel(self, kernel_id: str) -> Kernel | None:
        try:
            manager = self._manager.get_kernel(kernel_id)
        except KeyError:  # it was shut down meanwhile
            return None
        return Kernel(kernel_id, manager, _is_remote(manager))

    async def _running(self, kernel: Kernel) -> None:
        if kernel.state == "dead":
            raise _dead()
        if not kernel.manager.has_kernel:
            raise ApiError(409, "kernel-not-ready", "the kernel is starting; try again in a moment")
        if not kernel.remote and not await ensure_async(kernel.manager.is_alive()):
            raise _dead()


def _is_remote(manager: Any) -> bool:
    """Whether the kernel may be on another machine. One that is only being started has no provisioner yet."""
    if isinstance(manager, GatewayKernelManager):
        return True
    provisioner = getattr(manager, "provisioner", None)
    return provisioner is not None and not isinstance(provisioner, LocalProvisioner)


def _dead() -> ApiError:
    return ApiError(409, "kernel-dead", "the kernel is dead; restart it")


def check_version(manifest: Mirror) -> None:
    """Raises ``ApiError`` (422) for a kernel whose package this server does not understand (SPEC 13.1)."""
    if _version(manifest.package) < _version(OLDEST):
        where = f"the kernel has mcc_jupyter {_told(manifest.package)}, too old for the server's {__version__}"
        raise ApiError(422, "kernel-too-old", f"{where}; upgrade it where the kernel runs and restart the kernel")


def _told(version: str) -> str:
    return version if re.fullmatch(r"[\w.+-]{1,40}", version, re.ASCII) else "of no known version"


def _version(text: str) -> tuple[int, ...]:
    """The numbers a version begins with; none for what is no version, which is older than any."""
    found = re.match(r"\d{1,9}(\.\d{1,9})*", text, re.ASCII)
    return tuple(int(part) for part in found[0].split(".")) if found else ()
