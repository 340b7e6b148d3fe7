"""A real JupyterLab, a real Notebook 7 and a real browser for the tests of the front end.

The servers have a secret in their environment. Whatever reaches the browser in any test is searched for it when the test
ends, and the front end may have written nothing to the console.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import expect

from tests.ui.actions import Notebook

expect.set_options(timeout=15_000)

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip

SECRET = f"n0t-f0r-any-browser-{secrets.token_hex(8)}"
"""The value of ``DB_PASSWORD`` in the environment of the servers."""


def missing(what: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


@dataclass
class Server:
    """One running Jupyter server, with its own folders."""

    url: str
    token: str
    root: Path
    log: Path

    def notebook(self, name: str, *sources: str, outputs: list[Any] | None = None) -> str:
        """A notebook of these code cells; its path as the server has it. *outputs* are those of the last one."""
        cells = [nbformat.v4.new_code_cell(source) for source in sources]
        if outputs is not None:
            cells[-1].outputs = [nbformat.from_dict(output) for output in outputs]
        kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernelspec}), self.root / name)
        return name


@dataclass
class Traffic:
    """Everything that reached the browser or left it, as text."""

    texts: list[str] = field(default_factory=list)
    console: list[tuple[str, str, str]] = field(default_factory=list)
    """Kind, text, and the address of the script or of what could not be loaded."""

    def record(self, page: Any) -> None:
        page.on("console", lambda said: self.console.append((said.type, said.text, said.location.get("url", ""))))
        page.on("pageerror", lambda error: self.console.append(("error", str(error), error.stack or "")))
        page.on("websocket", self._websocket)
        page.on("request", lambda request: self.texts.append(f"{request.url} {request.post_data or ''}"))
        page.on("requestfinished", self._finished)

    def _websocket(self, socket: Any) -> None:
        for direction in ("framereceived", "framesent"):
            socket.on(direction, self._frame)

    def _frame(self, payload: str | bytes) -> None:
        self.texts.append(payload if isinstance(payload, str) else payload.decode("utf-8", "replace"))

    def _finished(self, request: Any) -> None:
        try:
            response = request.response()
            self.texts.append(json.dumps(response.headers))
            self.texts.append(response.body().decode("utf-8", "replace"))
        except Exception:  # noqa: BLE001 - a redirect or a closed page has no body
            return

    def of_ours(self) -> list[str]:
        """What the front end itself wrote to the console, and what of our paths could not be loaded."""
        return [f"{kind}: {text} ({where})" for kind, text, where in self.console if "mcc" in f"{text}{where}".lower()]

    def leaks(self) -> list[str]:
        """The beginnings of texts that hold the secret in some form."""
        raw = SECRET.encode()
        forms = [SECRET, raw.hex(), urllib.parse.quote(SECRET)]
        # The middle of a base64 text is the same wherever in it the secret stands, in one of three ways.
        forms += [base64.b64encode(b"x" * shift + raw).decode()[4:-4] for shift in range(3)]
        return [text[:200] for text in self.texts if any(form in text for form in forms)]


def _serve(home: Path, module: str, *options: str) -> Iterator[Server]:
    root, config = home / "root", home / "config"
    root.mkdir()
    (config / "labconfig").mkdir(parents=True)
    (config / "labconfig" / "default_setting_overrides.json").write_text(
        json.dumps({"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}})
    )
    folders = {
        "JUPYTER_CONFIG_DIR": config,
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": home / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
        "IPYTHONDIR": home / "ipython",
        "HOME": home,
    }
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = secrets.token_hex(16)
    log = home / "server.log"
    command = [
        sys.executable, "-m", module, "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--ServerApp.root_dir={root}",
        f"--IdentityProvider.token={token}", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.extension_manager=readonly", *options,
    ]  # fmt: skip
    environ = {**os.environ, **{name: str(folder) for name, folder in folders.items()}, "DB_PASSWORD": SECRET}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=environ, cwd=root, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_for(url, process, log)
        yield Server(url, token, root, log)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{url}/api", timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"the server did not start:\n{log.read_text(errors='replace')[-4000:]}")


@pytest.fixture(scope="package")
def lab(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from _serve(tmp_path_factory.mktemp("lab"), "jupyterlab", "--LabApp.expose_app_in_browser=True")


@pytest.fixture
def bare_lab(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A Lab whose server has not our side of it."""
    off = "--ServerApp.jpserver_extensions=mcc_jupyter=False"
    yield from _serve(tmp_path_factory.mktemp("bare"), "jupyterlab", "--LabApp.expose_app_in_browser=True", off)


@pytest.fixture
def notebook_7(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if importlib.util.find_spec("notebook") is None:
        missing("the tests of Notebook 7 need it; install it (pip install notebook)")
    exposed = "--JupyterNotebookApp.expose_app_in_browser=True"
    yield from _serve(tmp_path_factory.mktemp("notebook"), "notebook", exposed)


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        missing("the tests of the front end need a browser; install it (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, headless=True, args=list(CHROMIUM_FLAGS))
        yield running
        running.close()


@pytest.fixture
def traffic() -> Traffic:
    return Traffic()


@pytest.fixture
def page(browser: Any, traffic: Traffic, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A page of its own. At its end nothing that reached it may hold the secret, and the console nothing of ours."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(20_000)
    traffic.record(page)
    yield page
    traffic.texts.append(page.content())
    context.close()
    assert traffic.leaks() == []
    if request.node.get_closest_marker("noisy") is None:
        assert traffic.of_ours() == []


@pytest.fixture
def notebook(page: Any, lab: Server) -> Notebook:
    """The actions of a person in Lab."""
    return Notebook(page, lab)
