"""Kernels that are started with their workspace, session environment and credential: by a manager, and by a real server."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.multikernelmanager import AsyncMultiKernelManager
from jupyter_client.provisioning import KernelProvisionerFactory
from traitlets import Unicode

from mcc_jupyter.doors.kernel_provisioner import MccProvisioner
from mcc_jupyter.runtime import credentials, workspaces
from mcc_jupyter.runtime.manifest import read_manifests
from tests.doors.kernels import PATIENCE
from tests.processes import environment, until

VALUE = "n0t-f0r-any-eyes-4711"


@pytest.fixture(autouse=True)
def opted_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setattr(workspaces, "HERE", workspaces.Workspaces())
    monkeypatch.setattr(credentials, "HERE", credentials.Credentials())
    KernelProvisionerFactory.clear_instance()
    KernelProvisionerFactory.instance().default_provisioner_name = "mcc-jupyter"
    yield
    KernelProvisionerFactory.clear_instance()


class Server(AsyncMultiKernelManager):
    """As far as a provisioner sees one: kernels below a root."""

    root_dir = Unicode().tag(config=False)


Ask = Callable[[str, str], Coroutine[Any, Any, str]]


class Kernels:
    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.root.mkdir()
        self.environment = {**environment(folder), "MCC_WORKSPACE": "the servers own", "MCC_KERNEL_FD": "0"}
        self.manager = Server(root_dir=str(self.root))
        self.clients: dict[str, Any] = {}

    async def start(self, notebook: str | None, **options: Any) -> str:
        named = {} if notebook is None else {"JPY_SESSION_NAME": notebook}
        kernel: str = await self.manager.start_kernel(kernel_name="python3", env={**self.environment, **named}, cwd=str(self.root), **options)
        return kernel

    def of(self, kernel: str) -> AsyncKernelManager:
        found = self.manager.get_kernel(kernel)
        assert isinstance(found, AsyncKernelManager)
        return found

    async def value(self, kernel: str, expression: str, code: str = "import os, sys") -> str:
        if kernel not in self.clients:
            self.clients[kernel] = client = self.of(kernel).client()
            client.session.session = uuid4().hex
            client.start_channels()
            await client.wait_for_ready(timeout=PATIENCE)
        reply = await self.clients[kernel].execute_interactive(code, user_expressions={"it": expression}, timeout=PATIENCE, output_hook=lambda _: None)
        found = reply["content"]["user_expressions"]["it"]
        assert found["status"] == "ok", found
        return str(found["data"]["text/plain"]).replace("\n", "")

    def again(self, kernel: str) -> None:
        self.clients.pop(kernel).stop_channels()

    async def close(self) -> None:
        for client in self.clients.values():
            client.stop_channels()
        await self.manager.shutdown_all(now=True)
        self.manager.context.destroy(linger=0)


def run(tmp_path: Path, test: Callable[[Kernels], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        kernels = Kernels(tmp_path)
        try:
            await test(kernels)
        finally:
            await kernels.close()

    asyncio.run(whole())


def of_process(pid: int, what: str) -> str:
    return Path(f"/proc/{pid}/{what}").read_text()


CREDENTIAL = "get_ipython()._mcc_credential.text"


def test_a_kernel_gets_its_workspace_its_session_environment_and_a_credential_of_its_own(tmp_path: Path) -> None:
    async def test(kernels: Kernels) -> None:
        (kernels.root / "real.ipynb").write_text("{}")
        (kernels.root / "link.ipynb").symlink_to("real.ipynb")
        workspaces.HERE.create(str(kernels.root / "real.ipynb"), {"STAGE": VALUE})
        one = await kernels.start(str(kernels.root / "link.ipynb"))
        two = await kernels.start(str(kernels.root / "other.ipynb"))

        assert isinstance(kernels.of(one).provisioner, MccProvisioner)
        assert await kernels.value(one, "os.environ['MCC_WORKSPACE'], os.environ['STAGE']") == repr((str(kernels.root / "real.ipynb"), VALUE))
        assert await kernels.value(two, "os.environ['MCC_WORKSPACE'], os.environ.get('STAGE')") == repr((str(kernels.root / "other.ipynb"), None))
        given = [json.loads((await kernels.value(kernel, CREDENTIAL, "%load_ext mcc_jupyter\nimport os, sys")).replace("'", '"')) for kernel in (one, two)]
        assert [credentials.HERE.holder(credential) for credential in given] == [one, two]
        pids = [kernels.of(kernel).provisioner.pid for kernel in (one, two)]  # type: ignore[union-attr]
        assert credentials.HERE.holder(given[0], pid=pids[0]) == one
        assert credentials.HERE.holder(given[0], pid=pids[1]) is None  # another kernel that came by it
        assert await kernels.value(one, "'MCC_KERNEL_FD' in os.environ") == "False"
        assert given[0] not in of_process(pids[0], "environ") + of_process(pids[0], "cmdline")
        assert await kernels.value(one, "repr(get_ipython()._mcc_credential)") == repr("Credential()")

    run(tmp_path, test)


def test_a_restart_keeps_the_workspace_and_renews_the_credential_and_an_end_revokes_it(tmp_path: Path) -> None:
    async def test(kernels: Kernels) -> None:
        workspaces.HERE.create(str(kernels.root / "a.ipynb"), {"STAGE": "one"})
        kernel = await kernels.start(str(kernels.root / "a.ipynb"))
        first = (await kernels.value(kernel, CREDENTIAL, "%load_ext mcc_jupyter"))[1:-1]
        (kernels.root / "elsewhere.ipynb").write_text("{}")
        (kernels.root / "a.ipynb").symlink_to("elsewhere.ipynb")  # the name means another notebook by now
        kernels.again(kernel)
        await kernels.of(kernel).restart_kernel()
        second = (await kernels.value(kernel, CREDENTIAL, "%load_ext mcc_jupyter\nimport os, sys"))[1:-1]

        assert first != second
        assert (credentials.HERE.holder(first), credentials.HERE.holder(second)) == (None, kernel)
        assert await kernels.value(kernel, "os.environ['MCC_WORKSPACE'], os.environ['STAGE']") == repr((str(kernels.root / "a.ipynb"), "one"))
        pid = kernels.of(kernel).provisioner.pid  # type: ignore[union-attr]
        os.kill(pid, 9)
        assert until(lambda: credentials.HERE.holder(second) is None)
        await kernels.manager.shutdown_kernel(kernel, now=True)
        assert repr(credentials.HERE) == "<credentials of 0 kernels>"
        kernels.again(kernel)

    run(tmp_path, test)


@pytest.mark.parametrize("notebook", [None, "../outside.ipynb", "out/a.ipynb", "/etc/passwd"], ids=["none", "above", "a link out", "absolute"])
def test_what_is_not_below_the_root_is_no_workspace(tmp_path: Path, notebook: str | None) -> None:
    async def test(kernels: Kernels) -> None:
        (tmp_path / "out").mkdir()
        (kernels.root / "out").symlink_to(tmp_path / "out")
        named = None if notebook is None else os.path.join(kernels.root, notebook)
        workspaces.HERE.create(str(tmp_path / "out" / "a.ipynb"), {"STAGE": "one"})
        kernel = await kernels.start(named)
        assert await kernels.value(kernel, "os.environ.get('MCC_WORKSPACE'), os.environ.get('STAGE')") == "(None, None)"

    run(tmp_path, test)


def test_tools_see_nothing_of_what_a_kernel_was_handed(tmp_path: Path) -> None:
    async def test(kernels: Kernels) -> None:
        kernel = await kernels.start(str(kernels.root / "a.ipynb"))
        declare = "%load_ext mcc_jupyter\nimport mcc_jupyter as mcc\nget_ipython().run_cell_magic('mcc_tool', '', 'name: t\\nexec: env\\nenv_passthrough: true')"
        seen = await kernels.value(kernel, "sorted(line.partition('=')[0] for line in mcc.call('t').stdout.splitlines() if line.startswith('MCC_'))", declare)
        assert seen == "['MCC_CTX_GROUPS', 'MCC_CTX_NOTEBOOK', 'MCC_CTX_TOOLS', 'MCC_CTX_USER']"

    run(tmp_path, test)


def test_an_interrupt_and_a_failed_start_are_the_local_provisioners(tmp_path: Path) -> None:
    async def test(kernels: Kernels) -> None:
        kernel = await kernels.start(str(kernels.root / "a.ipynb"))
        await kernels.value(kernel, "1")
        client = kernels.clients[kernel]
        message = client.execute("open('begun', 'w').close()\nimport time\ntime.sleep(60)")
        assert until((kernels.root / "begun").exists)
        await kernels.of(kernel).interrupt_kernel()
        while (reply := await client.get_shell_msg(timeout=PATIENCE))["parent_header"]["msg_id"] != message:
            pass
        assert reply["content"]["ename"] == "KeyboardInterrupt"
        nothing = AsyncKernelManager(parent=kernels.manager, kernel_name="python3", connection_file=str(tmp_path / "nothing.json"))
        assert nothing.kernel_spec is not None
        nothing.kernel_spec.argv = ["/no/such/program"]
        before = len(os.listdir("/proc/self/fd"))
        with pytest.raises(FileNotFoundError):
            await nothing.start_kernel(env=kernels.environment)
        assert len(os.listdir("/proc/self/fd")) <= before

    run(tmp_path, test)


def test_a_kernelspec_can_ask_for_it(tmp_path: Path) -> None:
    KernelProvisionerFactory.clear_instance()

    spec = KernelSpec(argv=["x"], display_name="x", metadata={"kernel_provisioner": {"provisioner_name": "mcc-jupyter"}})
    made = KernelProvisionerFactory.instance().create_provisioner_instance("id", spec, parent=None)
    assert isinstance(made, MccProvisioner)


# A real server


class Jupyter:
    """``jupyter server`` in a process of its own, with kernels of this provisioner."""

    TOKEN = "only-for-this-test"

    def __init__(self, folder: Path) -> None:
        self.root = folder / "notebooks"
        self.root.mkdir()
        command = [
            sys.executable, "-m", "jupyter_server", "--no-browser", "--port=0", f"--ServerApp.root_dir={self.root}", "--allow-root",
            f"--IdentityProvider.token={self.TOKEN}", "--KernelProvisionerFactory.default_provisioner_name=mcc-jupyter",
            "--ServerApp.jpserver_extensions={}",
        ]  # fmt: skip
        self.runtime = folder / "runtime"
        variables = {**environment(folder), "JUPYTER_RUNTIME_DIR": str(self.runtime), "JUPYTER_CONFIG_DIR": str(folder / "config"), "JUPYTER_PLATFORM_DIRS": "1"}
        self.log = (folder / "server.log").open("wb")
        self.process = subprocess.Popen(command, env=variables, cwd=folder, stdout=self.log, stderr=self.log)
        assert until(lambda: list(self.runtime.glob("jpserver-*.json")), 90), (folder / "server.log").read_text()
        [info] = self.runtime.glob("jpserver-*.json")
        assert until(lambda: info.read_text().endswith("}"))
        self.url = json.loads(info.read_text())["url"]
        assert until(self.listens, 90), (folder / "server.log").read_text()

    def listens(self) -> bool:
        """The file is there before anybody is answered."""
        try:
            self.ask("GET", "api")
        except urllib.error.URLError:
            return False
        return True

    def ask(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Authorization": f"token {self.TOKEN}"}, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=PATIENCE)
        self.log.close()


def ready(client: BlockingKernelClient) -> bool:
    """A client without a manager takes a kernel for dead that is slow to start."""
    try:
        client.wait_for_ready(timeout=PATIENCE)
    except RuntimeError:
        return False
    return True


def test_a_servers_session_gives_its_kernel_the_workspace_of_its_notebook(tmp_path: Path) -> None:
    server = Jupyter(tmp_path)
    try:
        (server.root / "team").mkdir()
        (server.root / "team" / "real.ipynb").write_text("{}")
        (server.root / "link.ipynb").symlink_to("team/real.ipynb")
        body = {"path": "link.ipynb", "name": "link.ipynb", "type": "notebook", "kernel": {"name": "python3"}}
        kernel = server.ask("POST", "api/sessions", body)["kernel"]["id"]
        alone = server.ask("POST", "api/kernels", {"name": "python3"})["id"]
        found = []
        for one in (kernel, alone):
            file = str(server.runtime / f"kernel-{one}.json")
            client = BlockingKernelClient(connection_file=file)
            client.load_connection_file()
            client.start_channels()
            assert until(partial(ready, client), 90)
            code = "%load_ext mcc_jupyter\nimport os"
            it = "(os.environ.get('MCC_WORKSPACE'), len(get_ipython()._mcc_credential.text))"
            reply = client.execute_interactive(code, user_expressions={"it": it}, timeout=PATIENCE, output_hook=lambda _: None)
            found.append(ast.literal_eval(reply["content"]["user_expressions"]["it"]["data"]["text/plain"]))
            client.stop_channels()
            client.context.destroy(linger=0)
        assert found == [(str(server.root / "team" / "real.ipynb"), 43), (None, 43)]
        folder = str(server.runtime / "mcc")
        assert until(lambda: len(read_manifests(folder)) == 2, 60)
        workspace = {one.kernel_id: one.content["workspace"] for one in read_manifests(folder)}
        assert workspace == {kernel: str(server.root / "team" / "real.ipynb"), alone: None}
        server.ask("DELETE", f"api/kernels/{kernel}")
        assert until(lambda: [one.kernel_id for one in read_manifests(folder)] == [alone], 60)
    finally:
        server.close()
