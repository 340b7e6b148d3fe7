"""Every test leaves the world as it found it.

An autouse fixture fails a test that changes ``os.environ``, leaves a child process or a listening port of this process, or
(where CI is set, since an editor may save a file meanwhile) makes a file in the repository.

What a fixture of a wider scope started before the test is not the test's: such a fixture starts its process while it is
set up, not at the first use.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent

GRACE = 3.0
"""Seconds that a process or a port that is on its way out is given."""

NOT_WATCHED = frozenset(
    {".git", ".venv", ".bench", ".demo", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache", "__pycache__", "htmlcov", "node_modules", ".yarn"}
)
_PROC = Path("/proc/self/task")


def children() -> dict[int, str]:
    """The living children of this process: process id to command name. Those that only wait to be reaped do not count."""
    if not any(_PROC.glob("*/children")):
        import psutil

        return {child.pid: child.name() for child in psutil.Process().children()}
    found = {}
    for listing in _PROC.glob("*/children"):
        try:
            pids = listing.read_text().split()
        except OSError:  # the thread has ended
            continue
        for pid in pids:
            try:
                stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
            except OSError:
                continue
            name, _, rest = stat.partition("(")[2].rpartition(")")
            if rest.split()[0] not in ("Z", "X"):
                found[int(pid)] = name
    return found


def listening() -> set[str]:
    """The addresses this process listens on, in the kernel's notation."""
    if not Path("/proc/self/fd").exists():
        import psutil

        return {str(c.laddr) for c in psutil.Process().net_connections("inet") if c.status == psutil.CONN_LISTEN}
    inodes = set()
    for descriptor in os.scandir("/proc/self/fd"):
        try:
            target = os.readlink(descriptor.path)
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    found = set()
    for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        if inodes and os.path.exists(table):
            rows = [line.split() for line in Path(table).read_text().splitlines()[1:]]
            found |= {row[1] for row in rows if row[3] == "0A" and row[9] in inodes}
    return found


def files(folder: Path = REPOSITORY) -> set[str]:
    """Every path below *folder* but those that Python, its tools and make keep there."""
    found: set[str] = set()
    waiting = [str(folder)]
    while waiting:
        for entry in os.scandir(waiting.pop()):
            if entry.name in NOT_WATCHED or entry.name.startswith(".coverage"):
                continue
            found.add(os.path.relpath(entry.path, folder))
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where CI is set, a test that skips has failed: what it needs is for the project to install or start."""
    report = yield
    if report.skipped and os.environ.get("CI"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} skipped, and none may in CI: {report.longreprtext}"
    return report


@pytest.fixture(autouse=True)
def leaves_the_world_as_it_was() -> Iterator[None]:
    """See the text at the top of this file."""
    environment, processes, ports = dict(os.environ), set(children()), listening()
    tree = files() if os.environ.get("CI") else None

    yield

    problems = []
    after = dict(os.environ)
    changed = sorted(name for name in {*environment, *after} if environment.get(name) != after.get(name))
    changed = [name for name in changed if name != "PYTEST_CURRENT_TEST"]
    if changed:
        for name in changed:
            if name in environment:
                os.environ[name] = environment[name]
            else:
                del os.environ[name]
        problems.append(f"it changed os.environ: {', '.join(changed)}")
    deadline = time.monotonic() + GRACE
    while True:
        left = {pid: name for pid, name in children().items() if pid not in processes}
        open_ports = listening() - ports
        if not (left or open_ports) or time.monotonic() > deadline:
            break
        time.sleep(0.01)
    if left:
        problems.append(f"it left child processes: {', '.join(f'{name} ({pid})' for pid, name in left.items())}")
    if open_ports:
        problems.append(f"it left listening ports: {', '.join(sorted(open_ports))}")
    if tree is not None and (new := sorted(files() - tree)):
        problems.append(f"it left files in the repository: {', '.join(new)}")
    if problems:
        pytest.fail("The test did not leave the world as it found it: " + "; ".join(problems), pytrace=False)
