"""The side panel, as a person uses it: declare, see, run, cancel, restart."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.ui.actions import command, open_notebook, run_all

LOAD = "%load_ext mcc_jupyter"
TOOLS = """%%mcc_tool
- name: pg_query
  description: Rows of a table.
  exec: echo {{ query | quote }} as $PGPASSWORD
  params:
    - {name: query, type: str, description: what to ask}
    - {name: rows, type: int, default: 10}
  required_env: [PGPASSWORD]
- name: slow
  description: Takes its time.
  exec: echo begun; sleep 600
"""


def test_a_tool_is_seen_before_it_runs_and_run(lab, page: Page, traffic) -> None:
    path = lab.notebook("panel.ipynb", LOAD, TOOLS)
    open_notebook(page, lab.url, lab.token, path)
    command(page, "mcc-jupyter:open-panel")
    panel = page.locator(".mcc-panel")
    page.wait_for_timeout(500)
    page.screenshot(path="/tmp/p0.png")
    expect(panel).to_contain_text("This kernel has not loaded mcc_jupyter.")
    run_all(page)
    page.wait_for_timeout(1500)
    page.screenshot(path="/tmp/p1.png")
    expect(panel.get_by_role("option")).to_have_count(2)
    page.screenshot(path="/tmp/p1.png")
    panel.get_by_role("option", name="pg_query").click()
    page.wait_for_timeout(500)
    page.screenshot(path="/tmp/p2.png")
    panel.get_by_role("option", name="slow").click()
    panel.get_by_role("button", name="Run…").click()
    panel.get_by_role("button", name="Run slow").click()
    page.wait_for_timeout(1500)
    page.screenshot(path="/tmp/p3.png")
    panel.get_by_role("tab", name="Matrix").click()
    page.wait_for_timeout(500)
    page.screenshot(path="/tmp/p4.png")
    print(traffic.console)
