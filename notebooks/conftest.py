"""Fails the cell that nbval would pass by mistake.

nbval sees an error only where IPython sends one. A ``UsageError`` (an unknown magic, a forgotten ``%load_ext``) is
a line on stderr and nothing more.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    result = yield
    for output in getattr(item, "test_outputs", None) or ():
        text = output.get("text", "") if output.get("name") == "stderr" else ""
        if "UsageError" in text:
            raise AssertionError(f"the cell ended in a UsageError: {text.strip()}")
    return result
