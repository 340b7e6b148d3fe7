"""JupyterLab with the front end: a long list is as quick as a short one, and what is Lab's own is not slowed (N20)."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from ..harness import Goal, Unmeasured, Way, Ways
from .common import FLOOR, REPOSITORY

PATIENCE = 60.0
FEW, MANY = 10, 1000
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking")

_DECLARE = """get_ipython().run_line_magic('load_ext', 'mcc_jupyter')
get_ipython().run_cell_magic('mcc_tool', '', chr(10).join(
    "- {{name: t%04d, exec: 'true', description: Number %d}}" % (n, n) for n in range({number})))"""
_READY = """() => {
  const current = window.jupyterapp?.shell?.currentWidget;
  return current?.sessionContext?.session?.kernel?.status === 'idle' && current.context.isReady;
}"""
_OPENED = """async () => {
  const panel = document.querySelector('.mcc-panel');
  const frame = () => new Promise(requestAnimationFrame);
  window.jupyterapp.shell.collapseRight();
  panel.querySelector('#mcc-tab-session').click();
  await frame();
  const began = performance.now();
  await window.jupyterapp.commands.execute('mcc-jupyter:open-panel');
  panel.querySelector('#mcc-tab-tools').click();
  while (panel.querySelectorAll('[role=option]').length === 0) await frame();
  return performance.now() - began;
}"""
_SCROLLED = """async () => {
  const list = document.querySelector('.mcc-list');
  const frame = () => new Promise(requestAnimationFrame);
  list.scrollTop = 0;
  let last = await frame(), longest = 0;
  for (let step = 1; step <= 120; step++) {
    list.scrollTop = list.scrollHeight * step / 120;
    const now = await frame();
    longest = Math.max(longest, now - last);
    last = now;
  }
  return longest;
}"""
_TYPED = """async text => {
  const cell = window.jupyterapp.shell.currentWidget.content.widgets[1];
  const view = cell.editor.editor;
  const frame = () => new Promise(requestAnimationFrame);
  view.dispatch({changes: {from: 0, to: view.state.doc.length, insert: ''}});
  await frame();
  let taken = 0;
  for (const letter of text) {
    const began = performance.now();
    view.dispatch({changes: {from: view.state.doc.length, insert: letter}});
    taken += performance.now() - began;
    await frame();
  }
  return taken / text.length;
}"""
_TEXT = "%%mcc_tool\n- name: typed\n  exec: echo typed\n"


class Lab:
    """A JupyterLab in a process of its own; *enabled* says whether it has the front end."""

    def __init__(self, folder: Path, *, enabled: bool) -> None:
        (folder / "root").mkdir(parents=True)
        (folder / "CONFIG" / "labconfig").mkdir(parents=True)
        disabled = {"disabledExtensions": {} if enabled else {"mcc-jupyter": True}}
        (folder / "CONFIG" / "labconfig" / "page_config.json").write_text(json.dumps(disabled))
        environment = {
            **FLOOR,
            "PATH": f"{Path(sys.executable).parent}:{FLOOR['PATH']}",
            "HOME": str(folder),
            "PYTHONPATH": str(REPOSITORY),
            **{f"JUPYTER_{name}_DIR": str(folder / name) for name in ("RUNTIME", "CONFIG", "DATA")},
            **{f"JUPYTERLAB_{name}_DIR": str(folder / name) for name in ("SETTINGS", "WORKSPACES")},
        }
        self.root, self.token = folder / "root", secrets.token_hex(8)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        options = ["--no-browser", "--allow-root", f"--ServerApp.port={self.url.rpartition(':')[2]}"]
        options += [f"--IdentityProvider.token={self.token}", f"--ServerApp.root_dir={self.root}"]
        options += ["--LabApp.expose_app_in_browser=True", "--LabApp.extension_manager=readonly"]
        with (folder / "log").open("wb") as log:
            command = [sys.executable, "-m", "jupyterlab", *options]
            self.process = subprocess.Popen(command, env=environment, cwd=self.root, stdout=log, stderr=log)

    def wait(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/api", timeout=5):
                    return
            except OSError:
                time.sleep(0.1)
        raise Unmeasured("no JupyterLab could be started")

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE)

    def open(self, page: Any, *sources: str) -> float:
        """A new notebook of these cells in a layout of its own; seconds until its kernel is ready."""
        name = f"{uuid.uuid4().hex}.ipynb"
        empty = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
        cells = [{**empty, "id": f"cell-{number}", "source": source} for number, source in enumerate(sources)]
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
        (self.root / name).write_text(json.dumps(notebook))
        began = time.perf_counter()
        page.goto(f"{self.url}/lab/workspaces/{uuid.uuid4().hex}/tree/{name}?reset&token={self.token}")
        page.wait_for_function(_READY, timeout=PATIENCE * 1000)
        return time.perf_counter() - began


@contextmanager
def browser() -> Iterator[Any]:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None or os.name != "posix":
        raise Unmeasured("there is no Chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise Unmeasured("playwright is not installed") from None
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, headless=True, args=list(FLAGS))
        yield running
        running.close()


@contextmanager
def labs(*enabled: bool) -> Iterator[list[tuple[Lab, Any]]]:
    """Labs, each with a page."""
    with ExitStack() as stack:
        running = stack.enter_context(browser())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        found = [Lab(folder / str(number), enabled=on) for number, on in enumerate(enabled)]
        for lab in found:
            stack.callback(lab.close)
        for lab in found:
            lab.wait()
        size = {"width": 1280, "height": 800}
        yield [(lab, running.new_context(viewport=size).new_page()) for lab in found]


@contextmanager
def listed(script: str) -> Iterator[Ways]:
    """*script*, which tells milliseconds, in a notebook of many tools and in one of few."""
    with labs(True) as [(lab, first)]:
        pages: list[Any] = []
        for number in (MANY, FEW):
            page = first.context.new_page() if pages else first
            lab.open(page, _DECLARE.format(number=number))
            page.evaluate("() => window.jupyterapp.commands.execute('mcc-jupyter:open-panel')")
            page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
            page.wait_for_selector(".mcc-panel [role=option]", timeout=PATIENCE * 1000)
            pages.append(page)

        def reading(page: Any) -> Way:
            return Way(lambda: page.evaluate(script) / 1000, prepare=page.bring_to_front)

        many, few = map(reading, pages)
        yield {"1,000 tools": many, "10 tools": few}


@contextmanager
def scrolled() -> Iterator[Ways]:
    """The longest frame while the whole list of many tools goes by in two seconds."""
    with listed(_SCROLLED) as ways:
        yield {"1,000 tools": ways["1,000 tools"]}


@contextmanager
def started() -> Iterator[Ways]:
    """Lab with a notebook, until its kernel is ready: with the front end and with it switched off."""
    with labs(True, False) as [(one, page), (other, plain)]:
        yield {"with": Way(lambda: one.open(page, "1")), "without": Way(lambda: other.open(plain, "1"))}


@contextmanager
def typed() -> Iterator[Ways]:
    """A key in a cell that becomes a cell of tools."""
    with labs(True, False) as [(one, page), (other, plain)]:
        one.open(page, "1", "")
        other.open(plain, "1", "")

        def reading(page: Any) -> Way:
            return Way(lambda: page.evaluate(_TYPED, _TEXT) / 1000, prepare=page.bring_to_front)

        yield {"with": reading(page), "without": reading(plain)}


def _milliseconds(seconds: float) -> float:
    return seconds * 1000


GOALS = (
    Goal("N20", "the panel opens with 1,000 tools / with 10", 2, lambda: listed(_OPENED), most=30),
    Goal("N20", "longest frame while 1,000 tools scroll", 50, scrolled, most=10, unit=" ms", reading=_milliseconds),
    Goal("N20", "JupyterLab until a notebook's kernel is ready, with the front end / without", 1.1, started, most=10),
    Goal("N20", "a key typed in a cell, with the front end / without", 1.5, typed, most=30),
)
