"""What a person does in JupyterLab, as methods on a page."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import Locator, Page, expect

if TYPE_CHECKING:
    from tests.ui.conftest import Server

IDLE = """() => {
  const current = window.jupyterapp?.shell?.currentWidget;
  const isIdle = current?.sessionContext?.session?.kernel?.status === 'idle' && current.context.isReady;
  return isIdle && current.isVisible;
}"""
CHOOSE = """place => {
  const notebook = window.jupyterapp.shell.currentWidget.content;
  notebook.deselectAll();
  notebook.activeCellIndex = place;
}"""

LOAD = "%load_ext mcc_jupyter"
TOOLS = """%%mcc_tool
- name: pg_query
  description: Rows of a table.
  exec: echo {{ query | quote }} as $DB_PASSWORD, {{ rows }} rows
  params:
    - {name: query, type: str, description: What to ask the database.}
    - {name: rows, type: int, default: 10, description: At most so many.}
  required_env: [DB_PASSWORD, PG_REPLICA]
- name: slow
  description: Takes its time.
  exec: echo $$; exec sleep 600
"""


class Notebook:
    """A page with a notebook, and the panel."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page, self.server = page, server

    @property
    def panel(self) -> Locator:
        return self.page.locator(".mcc-panel")

    def open(self, *sources: str, outputs: list[Any] | None = None, name: str = "") -> str:
        """A new notebook of these cells, in a layout of its own, with the panel; its kernel runs."""
        path = self.server.notebook(name or f"{uuid.uuid4().hex}.ipynb", *sources, outputs=outputs)
        self.page.goto(f"{self.server.url}/lab/workspaces/{uuid.uuid4().hex}/tree/{path}?reset&token={self.server.token}")
        self.ready()
        self.command("mcc-jupyter:open-panel")
        return path

    def ready(self) -> None:
        self.page.wait_for_function(IDLE, timeout=60_000)

    def command(self, name: str, arguments: dict[str, object] | None = None, *, wait: bool = True) -> None:
        """Runs one of Lab's commands and waits for its end."""
        self.page.wait_for_function("name => window.jupyterapp.commands.hasCommand(name)", arg=name)
        run = "([name, given]) => window.jupyterapp.commands.execute(name, given)"
        no_wait = "([name, given]) => void window.jupyterapp.commands.execute(name, given)"
        self.page.evaluate(run if wait else no_wait, [name, arguments or {}])

    def run(self, *places: int, wait: bool = True) -> None:
        """Runs cells by their place; all of them without one."""
        if not places:
            self.command("notebook:run-all-cells")
        for place in places:
            self.page.evaluate(CHOOSE, place)
            self.command("notebook:run-cell", wait=wait)
        if wait:
            self.page.wait_for_function(IDLE, timeout=60_000)

    def tool(self, name: str) -> Locator:
        return self.panel.get_by_role("option", name=name)

    def tab(self, name: str) -> None:
        self.panel.get_by_role("tab", name=name).click()

    def restart(self) -> None:
        """Restarts the kernel, as the dialog asks."""
        self.command("notebook:restart-kernel", wait=False)
        self.page.locator(".jp-Dialog .jp-mod-accept").click()
        expect(self.page.locator(".jp-Dialog")).to_have_count(0)

    def light_or_dark(self, theme: str) -> None:
        self.command("apputils:change-theme", {"theme": theme})
        self.page.wait_for_function("theme => document.body.dataset.jpThemeName === theme", arg=theme)


def is_gone(pid: int) -> bool:
    """Whether the process has ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state in "ZX"
