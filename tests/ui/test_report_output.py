"""The report in a cell's output, as a person sees and uses it."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.ui.actions import LOAD, Notebook

TOOL = """%%mcc_tool
name: pg_query
description: Rows of a table.
exec: psql -c "$QUERY"
params:
  - {name: query, type: str}
required_env: [PGPASSWORD]
optional_env: [PGHOST]
"""


def test_a_report_is_drawn_searched_and_sorted(notebook: Notebook, page: Page) -> None:
    notebook.open(LOAD, TOOL, "%mcc_env pg_query", "%mcc_env")
    notebook.run()
    report = page.locator(".jp-OutputArea .mcc-report").last
    expect(report).to_contain_text("pg_query")
    expect(report.locator(".mcc-notice")).to_have_text(
        "Tool 'pg_query' is unavailable; missing required environment: PGPASSWORD"
    )
    report.get_by_label("Search the names of pg_query").fill("pg")
    expect(report.locator("tbody tr")).to_have_count(2)
    report.get_by_role("button", name="Name", exact=True).click()
    expect(report.locator("tbody th")).to_have_text(["PGHOST", "PGPASSWORD"])
    report.get_by_role("button", name="Name", exact=True).click()
    expect(report.locator("tbody th")).to_have_text(["PGPASSWORD", "PGHOST"])
    expect(page.locator(".mcc-matrix")).to_be_visible()
