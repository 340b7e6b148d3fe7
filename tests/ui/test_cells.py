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


def test_the_body_of_a_tool_is_coloured_as_yaml_or_shell_and_other_cells_as_python(notebook: Notebook, page: Page) -> None:
    notebook.open("%%mcc_tool\n- name: a\n  exec: for as in b", "%%mcc_sh\nfor x in $(ls); do true; done", "for x in range(3): pass", "%%time\nname = 1")
    cells = page.locator(".jp-Notebook .cm-content")
    # In YAML a key is coloured and no word of Python is.
    expect(cells.nth(0).locator("span", has_text="name")).to_have_count(1)
    expect(cells.nth(0).locator("span", has_text="for")).to_have_count(0)
    expect(cells.nth(1).locator("span", has_text="done")).to_have_count(1)
    expect(cells.nth(2).locator("span", has_text="pass")).to_have_count(1)
    expect(cells.nth(3).locator("span", has_text="name")).to_have_count(0)
    cells.nth(2).click()
    page.keyboard.press("Control+a")
    page.keyboard.type("%%mcc_sh\necho pass; done")
    expect(cells.nth(2).locator("span", has_text="done")).to_have_count(1)
    expect(cells.nth(2).locator("span", has_text="pass")).to_have_count(0)
