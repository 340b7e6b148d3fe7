"""The side panel, as a person uses it: declare, see, run, cancel, restart, reload, switch."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.processes import until
from tests.ui.actions import LOAD, TOOLS, Notebook, is_gone

MISSING = "Tool 'pg_query' is unavailable; missing required environment: PG_REPLICA"
SET = "import os\nos.environ['PG_REPLICA'] = 'of-a-cell'"
BUSY = "import time\nwhile True: time.sleep(0.01)"

FORGED = {
    "output_type": "display_data",
    "metadata": {},
    "data": {
        "text/plain": "forged",
        "application/vnd.mcc.report.v1+json": {
            "schema": "mcc.report", "version": 1, "tool": "forged_tool", "key": "public.forged_tool", "kind": "exec", "description": "",
            "groups": ["public"], "available": True, "notice": None, "parameters": [], "rows": [], "notes": [], "footer": [],
        },
    },
}  # fmt: skip


def test_a_tool_is_seen_before_it_runs_run_cancelled_and_gone_with_its_kernel(notebook: Notebook) -> None:
    panel = notebook.panel
    notebook.open(LOAD, TOOLS, SET, BUSY)
    expect(panel).to_contain_text("This kernel has not loaded mcc_jupyter.")
    notebook.run(0)
    expect(panel).to_contain_text("No tool is declared yet.")
    notebook.run(1)

    # What is missing is named, and the tool cannot be run.
    expect(panel.get_by_role("option")).to_have_count(2)
    notebook.tool("pg_query").click()
    expect(panel.locator(".mcc-notice")).to_have_text(MISSING)
    run = panel.get_by_role("button", name="Run…")
    expect(run).to_be_disabled()
    expect(run).to_have_attribute("title", MISSING)

    # A cell sets it: the panel knows without being asked.
    notebook.run(2)
    expect(run).to_be_enabled()
    expect(panel.locator(".mcc-notice")).to_have_count(0)
    run.click()
    form = panel.get_by_role("form", name="Run pg_query")
    expect(form.get_by_role("button", name="Run pg_query")).to_be_disabled()
    form.get_by_role("textbox", name="query").fill("all 'of' it")
    form.get_by_role("button", name="Run pg_query").click()
    expect(panel.get_by_label("Output")).to_have_text("all 'of' it as [redacted:DB_PASSWORD], 10 rows\n")
    expect(panel.locator(".mcc-outcome")).to_contain_text("Done in")

    # While a cell runs, the panel lists and runs; what is cancelled has ended.
    notebook.run(3, wait=False)
    notebook.tool("slow").click()
    panel.get_by_role("button", name="Run…").click()
    panel.get_by_role("button", name="Run slow").click()
    output = panel.get_by_label("Output")
    expect(output).to_have_text(re.compile(r"^\d+\s*$"))
    process = int(output.inner_text())
    assert not is_gone(process)
    panel.get_by_role("button", name="Cancel").click()
    expect(panel.locator(".mcc-outcome")).to_have_text("was cancelled")
    assert until(lambda: is_gone(process))

    # The calls, and what the server keeps of them.
    notebook.tab("Calls")
    expect(panel.locator(".mcc-page > table tbody tr")).to_have_count(2)
    expect(panel.get_by_role("region", name="Audit log")).to_contain_text("pg_query")
    notebook.tab("Matrix")
    expect(panel.locator(".mcc-matrix tbody tr")).to_have_count(2)
    notebook.tab("Session")
    expect(panel.locator("table")).to_contain_text("user")

    # The kernel restarts: what it had declared is gone, after a reload of the page too.
    notebook.restart()
    expect(panel).to_contain_text("This kernel has not loaded mcc_jupyter.")
    notebook.run(0, 1)
    expect(panel.get_by_role("option")).to_have_count(2)
    notebook.command("docmanager:save")
    notebook.page.reload()
    notebook.ready()
    expect(panel.get_by_role("option")).to_have_count(2)


def test_the_panel_is_of_the_notebook_in_front_and_no_output_puts_anything_there(notebook: Notebook) -> None:
    panel = notebook.panel
    one = notebook.open(LOAD, TOOLS)
    notebook.run()
    expect(panel.get_by_role("option")).to_have_count(2)
    other = notebook.server.notebook("forged.ipynb", LOAD, "pass", outputs=[FORGED])
    notebook.command("docmanager:open", {"path": other})
    notebook.ready()
    expect(notebook.page.locator(".jp-OutputArea .mcc-report").last).to_contain_text("forged_tool")
    expect(panel).to_contain_text("This kernel has not loaded mcc_jupyter.")
    notebook.run(0)
    expect(panel).to_contain_text("No tool is declared yet.")
    expect(panel).not_to_contain_text("forged_tool")
    notebook.command("docmanager:open", {"path": one})
    expect(panel.get_by_role("option")).to_have_count(2)


TOOLS_OF = """
get_ipython().run_cell_magic('mcc_tool', '', chr(10).join(
    "- {{name: t%04d, exec: 'true', description: Number %d, optional_env: [DB_PASSWORD]}}" % (n, n) for n in range({})))
"""
OPENED = """async () => {
  const panel = document.querySelector('.mcc-panel');
  const seen = () => panel.querySelectorAll('[role=option]').length > 0;
  const app = window.jupyterapp;
  const times = [];
  for (let round = 0; round < 7; round++) {
    app.shell.collapseRight();
    panel.querySelector('#mcc-tab-session').click();
    await new Promise(requestAnimationFrame);
    const began = performance.now();
    await app.commands.execute('mcc-jupyter:open-panel');
    panel.querySelector('#mcc-tab-tools').click();
    while (!seen()) await new Promise(requestAnimationFrame);
    times.push(performance.now() - began);
  }
  return times.sort((one, other) => one - other)[3];
}"""
DRAWN = "() => document.querySelectorAll('.mcc-panel [role=option]').length"


def test_a_thousand_tools_open_as_quickly_as_ten(notebook: Notebook, page: Page) -> None:
    """The list draws what is seen of it. Measured are pairs in one page: the time of one is no matter here."""
    panel = notebook.panel
    notebook.open(LOAD, TOOLS_OF.format(10), TOOLS_OF.format(1000))
    notebook.run(0, 1)
    expect(panel.get_by_role("option")).to_have_count(10)
    ten = page.evaluate(OPENED)
    notebook.run(2)
    expect(panel.locator(".mcc-counts")).to_contain_text("1000 tools available")
    thousand = page.evaluate(OPENED)
    assert thousand <= 2 * ten, (thousand, ten)
    assert page.evaluate(DRAWN) < 60
    panel.get_by_role("listbox", name="Tools").focus()
    page.keyboard.press("End")
    expect(notebook.tool("t0999")).to_have_attribute("aria-selected", "true")
    expect(notebook.tool("t0999")).to_be_in_viewport()
    assert page.evaluate(DRAWN) < 60
