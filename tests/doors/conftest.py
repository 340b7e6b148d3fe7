"""What the tests of the doors share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.processes import environment


@pytest.fixture
def outside(tmp_path: Path) -> dict[str, str]:
    """The environment of a process that is started as from a terminal."""
    return environment(tmp_path)
