"""Cells of tools while they are written: colours, problems at their lines."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.ui.actions import LOAD, Notebook

WRONG = """%%mcc_tool
name: shout
exec: echo {{ text | quote }}
parms:
  - text
"""


def test_a_problem_stands_at_its_line_until_the_cell_is_edited(notebook: Notebook, page: Page) -> None:
    notebook.open(LOAD, WRONG, "%%mcc_sh\necho hi")
    notebook.run()
    line = page.locator(".cm-line.mcc-problem")
    expect(line).to_have_count(1)
    expect(line).to_have_text("parms:")
    line.click()
    page.keyboard.type("x")
    expect(line).to_have_count(0)
