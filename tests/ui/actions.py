"""What a person does in JupyterLab, as functions on a page."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

IDLE = """() => {
  const current = window.jupyterapp?.shell?.currentWidget;
  return current?.sessionContext?.session?.kernel?.status === 'idle' && current.context.isReady;
}"""


def open_notebook(page: Page, url: str, token: str, path: str) -> None:
    """Opens the notebook in a layout of its own and waits for its kernel."""
    page.goto(f"{url}/lab/workspaces/{uuid.uuid4().hex}/tree/{path}?reset&token={token}")
    page.wait_for_selector(".jp-Notebook", timeout=60_000)
    page.wait_for_function(IDLE, timeout=60_000)


def command(page: Page, name: str, arguments: dict[str, object] | None = None) -> None:
    """Runs one of Lab's commands and waits for its end."""
    page.wait_for_function("name => window.jupyterapp.commands.hasCommand(name)", arg=name)
    page.evaluate("([name, given]) => window.jupyterapp.commands.execute(name, given)", [name, arguments or {}])


def run_all(page: Page) -> None:
    """Runs every cell and waits until the kernel is idle again."""
    command(page, "notebook:run-all-cells")
    page.wait_for_function(IDLE, timeout=60_000)
