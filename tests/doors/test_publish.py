"""The manifest of real kernels: written when something changed, announced, and gone when its kernel has gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcc_jupyter.runtime.manifest import read_manifests
from tests.doors.kernels import PATIENCE, Asking, Notebook, ended, started
from tests.processes import until

if TYPE_CHECKING:
    from jupyter_client.manager import KernelManager

MARK = "n0t-f0r-any-eyes-4711"


class World:
    """Kernels that share one runtime folder."""

    def __init__(self, folder: Path, outside: dict[str, str]) -> None:
        self.folder = folder
        self.runtime = folder / "runtime"
        self.environment = {**outside, "GITHUB_TOKEN": MARK, "JUPYTER_RUNTIME_DIR": str(self.runtime)}
        self.managers: list[KernelManager] = []
        self.notebooks: list[Notebook] = []

    def kernel(self, name: str) -> tuple[KernelManager, Notebook]:
        manager = started(self.environment, self.folder, name)
        self.managers.append(manager)
        return manager, self.notebook(manager)

    def notebook(self, manager: KernelManager) -> Notebook:
        self.notebooks.append(Notebook(manager))
        self.notebooks[-1].run("%load_ext mcc_jupyter")
        return self.notebooks[-1]

    def file(self, name: str) -> Path:
        return self.runtime / "mcc" / f"{name}.json"

    def content(self, name: str = "kernel-1") -> dict[str, Any]:
        """Empty where there is no file, which may go at any moment."""
        try:
            return json.loads(self.file(name).read_text())
        except FileNotFoundError:
            return {}

    def tool(self, name: str = "t") -> dict[str, Any]:
        return next((tool for tool in self.content().get("tools", []) if tool["name"] == name), {})

    def close(self) -> None:
        for notebook in self.notebooks:
            notebook.close()
        for manager in self.managers:
            ended(manager)


@pytest.fixture
def world(tmp_path: Path, outside: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    world = World(tmp_path, outside)
    yield world
    world.close()


def test_a_declaration_is_in_the_file_and_announced_and_a_cell_that_changes_nothing_writes_nothing(world: World) -> None:
    manager, notebook = world.kernel("kernel-1")
    assert until(lambda: world.content().get("tools") == [])
    listening = manager.client()
    listening.start_channels(shell=False, stdin=False, hb=False, control=False)
    notebook.run("%%mcc_tool t --param n:int=3 --require GITHUB_TOKEN\necho $GITHUB_TOKEN {{ n }}")
    assert until(world.tool)

    content = world.content()
    assert (content["v"], content["pid"], content["guard"], content["policy"]) == (1, manager.provisioner.pid, False, None)
    tool = world.tool()
    assert (tool["key"], tool["kind"], tool["available"], tool["notice"]) == ("public.t", "exec", True, None)
    assert tool["parameters"]["properties"]["n"]["default"] == 3
    assert tool["report"]["schema"] == "mcc.report"
    assert tool["origin"] == {"kind": "cell", "label": "%%mcc_tool t", "cell": None}
    assert MARK not in json.dumps(content)
    assert [world.file("kernel-1").stat().st_mode & 0o777, world.file("kernel-1").parent.stat().st_mode & 0o777] == [0o600, 0o700]
    while (message := listening.get_iopub_msg(timeout=PATIENCE))["header"]["msg_type"] != "mcc_event":
        pass
    while message["content"]["revision"] < content["revision"]:
        message = listening.get_iopub_msg(timeout=PATIENCE)
    listening.stop_channels()
    assert message["content"] == {"v": 1, "event": "changed", "revision": content["revision"]}

    notebook.run("%%mcc_tool t --param n:int=3 --require GITHUB_TOKEN\necho $GITHUB_TOKEN {{ n }}")
    notebook.run("%mcc_call t")
    notebook.run("import time; time.sleep(0.5)")
    assert world.content()["revision"] == content["revision"]


def test_environment_session_guard_and_threads_are_followed(world: World) -> None:
    _, notebook = world.kernel("kernel-1")
    notebook.run("%%mcc_tool t --require LATER\ntrue")
    assert until(lambda: world.tool().get("available") is False)
    assert world.tool()["notice"] == "Tool 't' is unavailable; missing required environment: LATER"
    notebook.run("import os; os.environ['LATER'] = 'x'")
    assert until(lambda: world.tool().get("available") is True)
    notebook.run("import mcc_jupyter as mcc; mcc.session['rows'] = 'n0t-f0r-any-eyes'")
    assert until(lambda: {"key": "rows", "type": "text", "size": 18} in world.content().get("session", ()))
    assert "n0t-f0r-any-eyes" not in world.file("kernel-1").read_text()
    notebook.run("%mcc_guard on")
    assert until(lambda: world.content().get("guard") is True)
    notebook.run("import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.3), mcc.session.clear())).start()")
    assert until(lambda: "rows" not in [entry["key"] for entry in world.content()["session"]])
    notebook.start("mcc.session['late'] = 1\nwhile not os.path.exists('go'): time.sleep(0.01)")  # while a cell runs
    try:
        assert until(lambda: "late" in [entry["key"] for entry in world.content()["session"]])
    finally:
        (world.folder / "go").touch()


def test_the_control_door_gives_the_same_manifest(world: World) -> None:
    manager, notebook = world.kernel("kernel-1")
    notebook.run("%%mcc_tool t\ntrue")
    assert until(world.tool)
    asking = Asking(manager)
    assert asking.ask("tools") == {"event": "tools", "manifest": world.content()}
    asking.close()


def test_unloading_takes_the_file_away_and_loading_brings_it_back_with_a_greater_revision(world: World) -> None:
    _, notebook = world.kernel("kernel-1")
    notebook.run("%%mcc_tool t\ntrue")
    assert until(world.tool)
    before = world.content()["revision"]
    notebook.run("%unload_ext mcc_jupyter")
    notebook.run("import mcc_jupyter as mcc; mcc.session['a'] = 1; import time; time.sleep(0.3)")
    assert not world.file("kernel-1").exists()
    notebook.run("%load_ext mcc_jupyter")
    assert until(world.tool)
    assert world.content()["revision"] > before
    notebook.run("%reload_ext mcc_jupyter")
    assert until(lambda: world.tool() and world.content().get("revision", 0) > before + 1)


def test_shutdown_and_restart_take_the_file_away_and_a_killed_kernels_is_recognised(world: World) -> None:
    manager, notebook = world.kernel("kernel-1")
    assert until(world.content)
    [found] = read_manifests(str(world.runtime / "mcc"))
    assert (found.name, found.kernel_id, found.pid) == ("kernel-1", "1", manager.provisioner.pid)
    manager.restart_kernel()
    assert not world.file("kernel-1").exists()
    notebook.close()
    world.notebook(manager)
    assert until(lambda: world.content().get("pid") == manager.provisioner.pid)
    os.kill(manager.provisioner.pid, 9)
    assert until(lambda: read_manifests(str(world.runtime / "mcc")) == [])
    assert not world.file("kernel-1").exists()
    manager.restart_kernel()
    world.notebook(manager)
    assert until(world.content)
    manager.shutdown_kernel()
    assert not world.file("kernel-1").exists()


def test_two_kernels_have_a_file_each_and_a_forked_child_takes_none_away(world: World) -> None:
    _, one = world.kernel("kernel-1")
    _, two = world.kernel("kernel-2")
    one.run("%%mcc_tool t\ntrue")
    two.run("%%mcc_tool other\ntrue")
    assert until(lambda: world.tool() and world.content("kernel-2").get("tools"))
    assert [tool["name"] for tool in world.content("kernel-2")["tools"]] == ["other"]
    one.run("import os\nimport mcc_jupyter as mcc\nif not (pid := os.fork()):\n    mcc.session['child'] = 1\n    get_ipython()._mcc_publishing.publisher.close()\n    os._exit(7)\nstatus = os.waitpid(pid, 0)[1]")
    assert one.value("os.waitstatus_to_exitcode(status)") == "7"
    assert len(read_manifests(str(world.runtime / "mcc"))) == 2
    assert "child" not in world.file("kernel-1").read_text()


def test_a_kernel_without_a_place_for_the_file_works_all_the_same(world: World) -> None:
    world.runtime.mkdir()
    (world.runtime / "mcc").write_text("a file")
    _, notebook = world.kernel("kernel-1")
    notebook.run("%%mcc_tool t\necho fine")
    notebook.run("answer = __import__('mcc_jupyter').call('t'); import time; time.sleep(0.3)")
    assert notebook.value("answer.value") == "'fine\\n'"
    assert (world.folder / "kernel-1.log").read_text().count("Traceback") == 0


def test_a_terminal_is_told_by_its_number_and_leaves_nothing(world: World) -> None:
    script = (
        "import json, os, time\nfrom IPython.terminal.interactiveshell import TerminalInteractiveShell as Shell\nshell = Shell.instance()\n"
        "shell.run_cell('%load_ext mcc_jupyter')\nshell.run_cell_magic('mcc_tool', 't', 'true')\nshell.run_cell('1')\n"
        f"path = {str(world.runtime / 'mcc')!r} + f'/ipython-{{os.getpid()}}.json'\n"
        "deadline = time.monotonic() + 20\nwhile not os.path.exists(path) and time.monotonic() < deadline: time.sleep(0.01)\n"
        "print('tools:', [tool['name'] for tool in json.load(open(path))['tools']])\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], env=world.environment, cwd=world.folder, capture_output=True, text=True, timeout=60)
    assert ran.stdout.splitlines()[-1:] == ["tools: ['t']"], ran.stderr
    assert list((world.runtime / "mcc").iterdir()) == []
