"""The front end: its own tests pass, and what is committed is what a build of its source gives."""

from __future__ import annotations

import filecmp
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "labextension"
BUILT = ROOT / "mcc_jupyter" / "labextension"


def _jlpm(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    registry = subprocess.run(["npm", "config", "get", "registry"], check=True, capture_output=True, text=True)
    environ = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "YARN_NPM_REGISTRY_SERVER": registry.stdout.strip(),
        "YARN_ENABLE_GLOBAL_CACHE": "1",
    }
    return subprocess.run(
        ["jlpm", *command], cwd=folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the source with its packages, somewhere else."""
    if shutil.which("npm") is None:
        text = "the front end is built with Node 20 and npm; install them (Debian: apt-get install nodejs npm)"
        if os.environ.get("CI"):
            pytest.fail(text)
        pytest.skip(text)
    folder = tmp_path_factory.mktemp("elsewhere")
    source = folder / "labextension"
    shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("node_modules", "lib", ".yarn"))
    (folder / "mcc_jupyter").mkdir()
    installed = _jlpm(source, "install", "--immutable")
    assert installed.returncode == 0, installed.stdout + installed.stderr
    yield folder
    shutil.rmtree(source / "node_modules")


def test_a_rebuild_gives_the_bytes_that_are_committed(checkout: Path) -> None:
    built = _jlpm(checkout / "labextension", "build:prod")
    assert built.returncode == 0, built.stdout + built.stderr
    again = checkout / "mcc_jupyter" / "labextension"
    files = sorted(path.relative_to(again) for path in again.rglob("*") if path.is_file())
    committed = sorted(path.relative_to(BUILT) for path in BUILT.rglob("*") if path.is_file())
    assert files == committed
    _, different, errors = filecmp.cmpfiles(again, BUILT, list(map(str, files)), shallow=False)
    assert (different, errors) == ([], [])


def test_its_pure_modules_pass_their_tests(checkout: Path) -> None:
    tested = _jlpm(checkout / "labextension", "test")
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_neither_the_lock_nor_the_bundle_names_a_host() -> None:
    lock = (SOURCE / "yarn.lock").read_text()
    assert "://" not in lock
    assert "__archiveUrl" not in lock


def test_the_bundle_is_small() -> None:
    size = sum(path.stat().st_size for path in (BUILT / "static").glob("*.js"))
    assert size <= 120 * 1024
