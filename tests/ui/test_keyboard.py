"""Without a mouse, and with a screen reader: everything is reached, seen to have the focus, and named (SPEC 13.4)."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.ui.actions import LOAD, TOOLS, Notebook
from tests.ui.conftest import missing

SOURCE = Path(__file__).parents[2] / "labextension"
OURS = (".mcc-panel", ".mcc-status", ".mcc-report", ".mcc-matrix", ".mcc-leak")

ALLOWED = TOOLS.replace(", PG_REPLICA", "") + "- {name: absent, exec: 'true', required_env: [NOT_THERE]}\n"


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """axe-core as the front end's packages have it, or installed for this test alone."""
    place = "node_modules/axe-core/axe.min.js"
    if (SOURCE / place).is_file():
        return (SOURCE / place).read_text()
    folder = tmp_path_factory.mktemp("axe")
    version = json.loads((SOURCE / "package.json").read_text())["devDependencies"]["axe-core"]
    if shutil.which("npm") is None:
        missing("the accessibility test needs npm, which brings axe-core; install it (Debian: apt-get install npm)")
    command = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts", f"axe-core@{version}"]
    installed = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if installed.returncode != 0:
        missing(f"axe-core could not be installed: {installed.stderr[-500:]}")
    return (folder / place).read_text()


FOCUS = """() => {
  const focused = document.activeElement;
  const style = getComputedStyle(focused);
  const ring = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
  return [focused.getAttribute('aria-label') || focused.textContent || focused.id, ring || style.boxShadow !== 'none'];
}"""


def focused(page: Page) -> str:
    """The name of what has the focus, which is seen."""
    name, is_seen = page.evaluate(FOCUS)
    assert is_seen, name
    return str(name)


def press(page: Page, *keys: str) -> str:
    for key in keys:
        page.keyboard.press(key)
    return focused(page)


def test_a_tool_is_chosen_and_run_by_keys_alone(notebook: Notebook, page: Page) -> None:
    panel = notebook.panel
    notebook.open(LOAD, ALLOWED)
    notebook.run()
    expect(panel.get_by_role("option")).to_have_count(3)

    # The status item opens the panel.
    notebook.command("application:toggle-right-area")
    expect(panel).to_be_hidden()
    page.locator(".mcc-status-button").focus()
    page.keyboard.press("Enter")
    expect(panel).to_be_visible()

    # Tabs are one stop, and the arrows move along them.
    panel.get_by_role("tab", name="Tools").focus()
    assert press(page, "ArrowRight") == "Matrix"
    assert press(page, "ArrowRight", "ArrowRight") == "Calls"
    assert press(page, "ArrowRight") == "Tools"
    assert press(page, "Tab") == "Search tools"
    page.keyboard.type("pg")
    expect(panel.get_by_role("option")).to_have_count(1)
    assert press(page, "Tab") == "Tools"
    assert focused(page)
    page.keyboard.press("ArrowDown")
    expect(notebook.tool("pg_query")).to_have_attribute("aria-selected", "true")
    assert press(page, "Tab") == "Run…"
    page.keyboard.press("Enter")

    # The form, from its first field to its end.
    assert press(page, "Tab") == "root_query"
    page.keyboard.type("by keys")
    assert press(page, "Tab") == "root_rows"
    page.keyboard.press("Enter")
    expect(panel.get_by_label("Output")).to_have_text("by keys as [redacted:DB_PASSWORD], 10 rows\n")
    assert press(page, "Tab") == "Run pg_query"
    assert press(page, "Tab") == "Insert as cell"
    page.keyboard.press("Enter")
    expect(page.locator(".jp-Notebook .cm-content").last).to_contain_text("%mcc_call pg_query --json")


def test_axe_finds_nothing_in_what_is_ours_in_both_themes(notebook: Notebook, page: Page, axe: str) -> None:
    panel = notebook.panel
    notebook.open(LOAD, ALLOWED, "%mcc_env pg_query", "%mcc_env", "print('x')")
    notebook.run()
    page.evaluate(axe)
    page.locator(".mcc-status-button").wait_for()
    found: list[Any] = []
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        notebook.light_or_dark(theme)
        notebook.tab("Tools")
        notebook.tool("absent").click()
        expect(panel.locator(".mcc-notice")).to_be_visible()
        found += violations(page, theme, "unavailable")
        notebook.tool("pg_query").click()
        panel.get_by_role("button", name="Run…").click()
        panel.get_by_role("textbox", name="query").fill("x")
        panel.get_by_role("button", name="Run pg_query").click()
        expect(panel.locator(".mcc-outcome")).to_contain_text("Done")
        found += violations(page, theme, "form")
        panel.get_by_role("button", name="Close the form").click()
        for tab in ("Matrix", "Session", "Calls"):
            notebook.tab(tab)
            expect(panel.locator(".mcc-page table").first).to_be_visible()
            found += violations(page, theme, tab)
    notebook.light_or_dark("JupyterLab Light")
    assert found == [], json.dumps(found, indent=1)


def violations(page: Page, *where: str) -> list[Any]:
    """The serious ones in our own nodes."""
    found = page.evaluate(
        """async ours => {
          const there = ours.filter(one => document.querySelector(one));
          const {violations} = await axe.run({include: there}, {resultTypes: ['violations'], rules: {region: {enabled: false}}});
          return violations.filter(one => ['serious', 'critical'].includes(one.impact))
            .map(one => [one.id, one.nodes.map(node => `${node.html.slice(0, 200)} ${node.failureSummary}`)]);
        }""",
        list(OURS),
    )
    return [[*where, *one] for one in found]


def test_the_check_of_axe_can_fail(page: Page, axe: str) -> None:
    page.set_content("<div class='mcc-panel'><button></button></div>")
    page.evaluate(axe)
    assert [one[1] for one in violations(page, "x")] == ["button-name"]
