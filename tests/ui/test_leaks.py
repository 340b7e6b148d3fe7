"""A notebook that was saved with a secret in an output: told at the cell, redacted by a button (SPEC 8.4)."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, expect

from tests.ui.actions import LOAD, Notebook

OPENLY = "made-up-4711-that-a-cell-prints"
PRINT = f"import os\nos.environ['API_TOKEN'] = {OPENLY!r}\nprint('it is', os.environ['API_TOKEN'])"
TOLD = "Output 1 holds API_TOKEN: saved all the same"


def test_a_leak_is_told_at_its_cell_redacted_and_gone_with_the_next_save(notebook: Notebook, page: Page) -> None:
    path = notebook.open(LOAD, "1", PRINT.replace(repr(OPENLY), "bytes.fromhex('%s').decode()" % OPENLY.encode().hex()))
    notebook.run()
    notebook.command("docmanager:save")
    leak = page.locator(".jp-Cell").nth(2).locator(".mcc-leak")
    expect(leak).to_contain_text(TOLD)
    expect(page.locator(".mcc-leak")).to_have_count(1)

    # It is still there for who opens the page later.
    page.reload()
    notebook.ready()
    expect(leak).to_contain_text(TOLD)

    leak.get_by_role("button", name="Redact output").click()
    output = page.locator(".jp-Cell").nth(2).locator(".jp-OutputArea-output")
    expect(output).to_contain_text("it is [redacted:API_TOKEN]")
    expect(leak).to_contain_text("Save the notebook to redact the file too.")
    assert OPENLY in (notebook.server.root / path).read_text()
    notebook.command("docmanager:save")
    expect(page.locator(".mcc-leak")).to_have_count(0)
    assert OPENLY not in (notebook.server.root / path).read_text()


def test_a_secret_in_a_source_is_told_without_a_button(notebook: Notebook, page: Page) -> None:
    notebook.open(LOAD, PRINT.partition("print")[0])
    notebook.run()
    notebook.command("docmanager:save")
    leak = page.locator(".mcc-leak")
    expect(leak).to_have_text("The source holds API_TOKEN; take it out: saved all the same")
    expect(leak.get_by_role("button")).to_have_count(0)


@pytest.mark.parametrize("plugin", ["leaks", "marks", "highlight"])
def test_each_has_a_setting(notebook: Notebook, page: Page, plugin: str) -> None:
    """The setting is what Lab's own editor of settings reads."""
    page.goto(f"{notebook.server.url}/lab?token={notebook.server.token}")
    found = page.evaluate(
        "async ([url, id]) => (await (await fetch(`${url}/lab/api/settings/mcc-jupyter:${id}`)).json()).schema",
        [notebook.server.url, plugin],
    )
    assert found["properties"]["enabled"]["default"] is True, json.dumps(found)
