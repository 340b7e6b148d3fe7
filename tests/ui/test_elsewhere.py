"""Where it is not JupyterLab, or not the whole of it: Notebook 7, and a server without our side."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.ui.actions import IDLE, LOAD, TOOLS, Notebook
from tests.ui.conftest import Server


def test_notebook_7_has_the_panel_and_the_report(notebook_7: Server, page: Page) -> None:
    notebook = Notebook(page, notebook_7)
    path = notebook_7.notebook("seven.ipynb", LOAD, TOOLS, "%mcc_env slow")
    page.goto(f"{notebook_7.url}/notebooks/{path}?token={notebook_7.token}")
    page.wait_for_function(IDLE, timeout=60_000)
    notebook.run()
    expect(page.locator(".jp-OutputArea .mcc-report").last).to_contain_text("slow")
    page.get_by_role("menuitem", name="View").click()
    page.get_by_role("menuitem", name="Show MCC tools").click()
    expect(notebook.panel).to_be_visible()
    expect(notebook.panel.get_by_role("option")).to_have_count(2)
    notebook.tool("slow").click()
    notebook.panel.get_by_role("button", name="Run…").click()
    notebook.panel.get_by_role("button", name="Run slow").click()
    expect(notebook.panel.get_by_label("Output")).to_have_text(re.compile(r"^\d+\s*$"))
    notebook.panel.get_by_role("button", name="Cancel").click()
    expect(notebook.panel.locator(".mcc-outcome")).to_have_text("was cancelled")


@pytest.mark.noisy  # the browser itself tells each 404
def test_without_the_server_extension_the_panel_says_so_and_reports_are_drawn(bare_lab: Server, page: Page) -> None:
    notebook = Notebook(page, bare_lab)
    notebook.open(LOAD, TOOLS, "%mcc_env slow")
    notebook.run()
    expect(page.locator(".jp-OutputArea .mcc-report").last).to_contain_text("slow")
    expect(notebook.panel).to_contain_text("This Jupyter server has no mcc_jupyter.")
    expect(notebook.panel.get_by_role("button", name="Try again")).to_be_visible()
    expect(page.locator(".mcc-leak")).to_have_count(0)
