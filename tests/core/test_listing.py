"""A small table as text, HTML and JSON; what is too much is counted."""

from __future__ import annotations

from mcc_jupyter.core.listing import SHOWN, Listing

TOOLS = Listing(("tool", "kind"), (("public.a", "exec"), ("public.longer", "fn")), "no tools are declared")
EMPTY = Listing(("tool", "kind"), (), "no <tools> are declared")


def test_the_text_is_aligned_and_ends_no_line_in_blanks() -> None:
    assert TOOLS.text() == "TOOL           KIND\npublic.a       exec\npublic.longer  fn"
    assert repr(TOOLS) == TOOLS.text()


def test_the_html_is_a_table_whose_headings_a_screen_reader_finds() -> None:
    left = ' style="text-align:left"'
    assert TOOLS.html() == (
        f'<div style="overflow-x:auto"><table><thead><tr><th scope="col"{left}>tool</th><th scope="col"{left}>kind</th></tr></thead>'
        f'<tbody><tr><th scope="row"{left}>public.a</th><td{left}>exec</td></tr>'
        f'<tr><th scope="row"{left}>public.longer</th><td{left}>fn</td></tr></tbody></table></div>'
    )


def test_every_text_is_escaped() -> None:
    page = Listing(("<b>",), (("<i>&",),)).html()
    assert "<b>" not in page
    assert "<i>" not in page
    assert "&lt;b&gt;" in page
    assert "&lt;i&gt;&amp;" in page


def test_an_empty_table_says_so() -> None:
    assert (EMPTY.text(), EMPTY.html(), EMPTY.json()) == ("no <tools> are declared", "<p>no &lt;tools&gt; are declared</p>", [])
    assert Listing(("a",), ()).text() == "nothing"


def test_json_is_one_object_a_row() -> None:
    assert TOOLS.json() == [{"tool": "public.a", "kind": "exec"}, {"tool": "public.longer", "kind": "fn"}]


def test_what_is_too_much_is_counted_and_is_still_in_the_json() -> None:
    many = Listing(("tool",), tuple((f"t{at:04}",) for at in range(SHOWN + 1234)))
    assert many.text().splitlines()[-2:] == ["t0099", "… and 1,234 more"]
    assert many.html().endswith("</table><p>… and 1,234 more</p></div>")
    assert "t0100" not in many.html()
    assert len(many.json()) == SHOWN + 1234
    exactly = Listing(("tool",), tuple((f"t{at:04}",) for at in range(SHOWN)))
    assert exactly.text().splitlines()[-1] == "t0099"


def test_a_notebook_gets_text_and_html() -> None:
    assert TOOLS._repr_mimebundle_() == {"text/plain": TOOLS.text(), "text/html": TOOLS.html()}
    assert TOOLS._repr_mimebundle_(include=set(), exclude=set()) == TOOLS._repr_mimebundle_()


def test_a_notebook_gets_only_what_it_asks_for() -> None:
    assert TOOLS._repr_mimebundle_(include={"text/html", "image/png"}) == {"text/html": TOOLS.html()}
    assert TOOLS._repr_mimebundle_(exclude={"text/html"}) == {"text/plain": TOOLS.text()}
