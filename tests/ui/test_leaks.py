"""A notebook that was saved with a secret in an output: told at the cell, redacted by a button (SPEC 8.4)."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.ui.actions import LOAD, Notebook

OPENLY = "made-up-4711-of-a-cell"
SPELT = f"import os\nos.environ['API_TOKEN'] = bytes.fromhex('{OPENLY[::-1].encode().hex()}').decode()[::-1]"
PRINT = f"{SPELT}\nprint('it is', os.environ['API_TOKEN'])"
WRITTEN = f"import os\nos.environ['API_TOKEN'] = {OPENLY!r}"
TOLD = "Output 1 holds API_TOKEN: saved all the same"


def test_a_leak_is_told_at_its_cell_redacted_and_gone_with_the_next_save(notebook: Notebook, page: Page) -> None:
    path = notebook.open(LOAD, "1", PRINT)
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
    notebook.open(LOAD, WRITTEN)
    notebook.run()
    notebook.command("docmanager:save")
    leak = page.locator(".mcc-leak")
    expect(leak).to_have_text("The source holds API_TOKEN; take it out: saved all the same")
    expect(leak.get_by_role("button")).to_have_count(0)


def test_each_thing_in_cells_has_a_setting(notebook: Notebook, page: Page) -> None:
    """As Lab's own editor of settings reads it; what is switched off is not shown."""
    notebook.open(LOAD, WRITTEN)
    for plugin in ("leaks", "marks", "highlight"):
        found = page.evaluate(
            "async id => (await (await fetch(`/lab/api/settings/mcc-jupyter:${id}`)).json()).schema.properties", plugin
        )
        assert found["enabled"]["default"] is True
    put = """on => fetch('/lab/api/settings/mcc-jupyter:leaks', {
        method: 'PUT', body: JSON.stringify({raw: JSON.stringify({enabled: on})}), headers: {'X-XSRFToken': document.cookie.match(/_xsrf=([^;]*)/)[1]}})"""
    page.evaluate(put, False)
    try:
        page.reload()
        notebook.ready()
        notebook.run()
        with page.expect_response(lambda response: "/api/contents/" in response.url and response.request.method == "PUT"):
            notebook.command("docmanager:save")
        page.wait_for_timeout(1000)
        expect(page.locator(".mcc-leak")).to_have_count(0)
    finally:
        page.evaluate(put, True)
