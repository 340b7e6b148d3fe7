"""The search of what reached the browser finds a value in every usual form, and the console what is ours."""

from __future__ import annotations

import base64

import pytest

from tests.ui.conftest import SECRET, Traffic

VALUE = SECRET.encode()


@pytest.mark.parametrize(
    "text",
    [f"a {SECRET} b", VALUE.hex(), *(base64.b64encode(b"y" * before + VALUE + b"z").decode() for before in range(4))],
)
def test_a_value_is_found_in_each_form(text: str) -> None:
    assert Traffic(texts=["nothing", text]).leaks() == [text[:200]]


def test_what_holds_nothing_is_not_found() -> None:
    assert Traffic(texts=["[redacted:DB_PASSWORD]", base64.b64encode(VALUE[:8]).decode()]).leaks() == []


def test_of_the_console_what_is_ours_is_told() -> None:
    said = [("warning", "of Lab", "http://x/static/lab.js"), ("log", "x", "http://x/lab/extensions/mcc-jupyter/a.js")]
    assert Traffic(console=said).of_ours() == ["log: x (http://x/lab/extensions/mcc-jupyter/a.js)"]
