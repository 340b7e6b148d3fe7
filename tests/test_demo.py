"""The demonstration runs, and shows no credential."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, str(REPOSITORY / "notebooks" / "demo" / "run_demo.py"), "--folder", str(folder)]
    environment = {**os.environ, "IPYTHONDIR": str(folder / ".ipython"), "PYTHONPATH": str(REPOSITORY)}
    return subprocess.run(command, capture_output=True, text=True, env=environment), folder


def test_it_succeeds(demonstration: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    answer, _ = demonstration

    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_every_tool_gives_its_answer(demonstration: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    answer, _ = demonstration

    assert "507.9" in answer.stdout
    assert "572.5" in answer.stdout
    assert "Tool 'refund' is unavailable; missing required environment: REFUND_KEY" in answer.stdout
    if shutil.which("curl"):
        assert '"state": "on its way"' in answer.stdout
        assert "Bearer [redacted:SHOP_API_TOKEN]" in answer.stdout


def test_no_credential_is_shown_or_kept(demonstration: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    answer, folder = demonstration
    kept = (folder / "demo.ipynb").read_text(encoding="utf-8")
    address = (folder / "shop.env").read_text(encoding="utf-8").split("'")[1]

    for text in (answer.stdout, answer.stderr, kept):
        assert re.search(r"shop-token-[0-9a-f]|bank-[0-9a-f]{8}", text) is None
        assert address not in text
