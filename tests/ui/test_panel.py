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
    expect(panel).to_contain_text("This kernel has not loaded mcc_jupyter.")
    run_all(page)
    expect(panel.get_by_role("option")).to_have_count(2)
    panel.get_by_role("option", name="pg_query").click()
    expect(panel.locator(".mcc-notice")).to_have_text(
        "Tool 'pg_query' is unavailable; missing required environment: PGPASSWORD"
    )
    expect(panel.get_by_role("button", name="Run…")).to_be_disabled()
    panel.get_by_role("option", name="slow").click()
    panel.get_by_role("button", name="Run…").click()
    panel.get_by_role("button", name="Run slow").click()
    expect(panel.get_by_label("Output")).to_have_text("begun\n")
    panel.get_by_role("button", name="Cancel").click()
    expect(panel.locator(".mcc-outcome")).to_have_text("was cancelled")
    panel.get_by_role("tab", name="Matrix").click()
    expect(panel.locator(".mcc-matrix tbody tr")).to_have_count(2)
    assert [line for line in traffic.console if line.startswith(("error", "warning"))] == []
