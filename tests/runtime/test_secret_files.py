"""Secret files in real children: private, there for the call, gone afterwards whatever dies (SPEC 8.7)."""

from __future__ import annotations

import base64
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ..processes import environment, until
from .conftest import World

TOKEN = "sk-live-0123456789abcdef"
CONTENT = f"apiVersion: v1\nusers:\n  token: {TOKEN}\n"
MakeWorld = Callable[..., World]


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    return make_world({"KUBE_TEXT": CONTENT, "LANG": "C.UTF-8"})


def declare(world: World, **fields: object) -> None:
    world.declare({"name": "t", "secret_files": {"KUBECONFIG": "${KUBE_TEXT}"}, **fields}, cell="t")


def held(path: str) -> str:
    """What the tool said of its file: private while it ran, gone now."""
    assert path.endswith("/KUBECONFIG")
    assert not os.path.exists(path)
    assert not os.path.exists(os.path.dirname(path))
    return path


SHOW = 'wc -c < "$KUBECONFIG"; stat -c %a "$KUBECONFIG" "$(dirname "$KUBECONFIG")"; echo "$KUBECONFIG"'


def test_a_script_finds_a_file_that_only_its_user_can_read_and_that_is_gone_afterwards(world: World) -> None:
    declare(world, exec=SHOW)
    paths = set()
    for _ in range(2):
        outcome = world.box.call("t")
        size, *modes, path = outcome.value.split()
        assert (size, modes) == (str(len(CONTENT)), ["600", "700"])
        paths.add(held(path))
    if os.access("/dev/shm", os.W_OK):
        assert all(path.startswith("/dev/shm/") for path in paths)


def test_what_it_holds_is_redacted_whole_by_line_and_by_the_end_of_a_line_in_every_encoding(world: World) -> None:
    declare(world, exec='cat "$KUBECONFIG"; base64 -w0 "$KUBECONFIG"; sed -n "s/.*token: //p" "$KUBECONFIG" | base64; sed -n 3p "$KUBECONFIG"; sed -n "s/.*token: //p" "$KUBECONFIG" >&2')
    outcome = world.box.call("t")
    shown = outcome.stdout + outcome.stderr
    for secret in (TOKEN, base64.b64encode(TOKEN.encode()).decode()[:12], base64.b64encode(CONTENT.encode()).decode()[:12]):
        assert secret not in shown
    assert "[redacted:KUBECONFIG[3]]" in outcome.stderr


def test_a_transform_finds_it_too(world: World) -> None:
    declare(world, exec="true", transform=SHOW)
    size, *_, path = world.box.call("t").value.split()
    assert size == str(len(CONTENT))
    held(path)


def test_a_function_finds_it_at_each_call_and_while_it_is_imported(world: World) -> None:
    world.module("kube", "import os\nAT_IMPORT = os.path.getsize(os.environ['KUBECONFIG'])\ndef f():\n    path = os.environ['KUBECONFIG']\n    return [AT_IMPORT, os.path.getsize(path), path]\n")
    declare(world, fn="kube:f")
    for _ in range(2):
        outcome = world.box.call("t")
        assert outcome.value[:2] == [len(CONTENT)] * 2
        held(outcome.value[2])
        assert (outcome.mode, outcome.mode_reason) == ("cold", "its secret files are there for one call only")


def test_functions_with_different_files_are_not_imported_as_one(world: World) -> None:
    world.variables["OTHER"] = "other-text-of-a-file"
    world.module("sizes", "import os\nSIZE = os.path.getsize(os.environ['F'])\ndef a(n=SIZE): return n\ndef b(n=SIZE): return n\n")
    world.declare([
        {"fn": "sizes:a", "secret_files": {"F": "$KUBE_TEXT"}},
        {"fn": "sizes:b", "secret_files": {"F": "$OTHER"}},
    ])
    shown = [world.box.report(name).parameters for name in "ab"]
    assert shown == [(f"n: any = {len(CONTENT)}",), (f"n: any = {len('other-text-of-a-file')}",)]


def test_an_argument_list_cannot_name_it_and_env_reaches_it(world: World) -> None:
    declare(world, exec=["env"])
    (line,) = [line for line in world.box.call("t").value.splitlines() if line.startswith("KUBECONFIG=")]
    held(line.removeprefix("KUBECONFIG="))


def test_a_failing_and_a_stopped_tool_leave_nothing(world: World) -> None:
    declare(world, exec=f"{SHOW}; exit 3")
    held(world.box.call("t").stdout.split()[-1])
    declare(world, exec=f"{SHOW}; sleep 60", limits={"timeout": 0.5})
    held(world.box.call("t").stdout.split()[-1])


KERNEL = """
import os, sys
from mcc_jupyter.core.tool import Origin
from mcc_jupyter.runtime.toolbox import Toolbox
parent = dict(os.environ)
box = Toolbox(lambda: parent)
box.add({"name": "t", "exec": 'echo "$KUBECONFIG" > path.new; mv path.new path; sleep 60', "secret_files": {"KUBECONFIG": "$KUBE_TEXT"}}, Origin("python", "x"), folder=os.getcwd()).raise_for_problems()
try:
    box.call("t")
except BaseException:
    pass
sys.stdin.read()
"""


def named(root: int, name: str) -> list[int]:
    """The processes called *name* below *root*."""
    found, new = [], [root]
    while new:
        pid = new.pop()
        try:
            new += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
            if Path(f"/proc/{pid}/comm").read_text().strip() == name:
                found.append(pid)
        except OSError:
            continue
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("victim", ["kernel", "mcc-keeper", "mcc-launcher", "mcc-supervisor", "kernel and supervisor"])
def test_whoever_is_killed_the_file_goes(victim: str, tmp_path: Path) -> None:
    kernel = subprocess.Popen(
        [sys.executable, "-c", KERNEL], env={**environment(tmp_path), "KUBE_TEXT": CONTENT}, cwd=tmp_path, stdin=subprocess.PIPE
    )
    try:
        assert until((tmp_path / "path").exists)
        path = (tmp_path / "path").read_text().strip()
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        supervisors = [pid for pid in named(kernel.pid, "mcc-supervisor") if path.split("/")[-2].endswith(f"-{pid}")]
        victims = {
            "kernel": [kernel.pid],
            "mcc-supervisor": supervisors,
            "kernel and supervisor": [kernel.pid, *supervisors],
        }.get(victim) or named(kernel.pid, victim)
        assert victims
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        if victim in ("mcc-keeper", "mcc-launcher"):
            # A call goes on without them, and its own supervisor takes the file away at its end.
            time.sleep(0.1)
            kernel.kill()
        assert until(lambda: not os.path.exists(os.path.dirname(path)), 10)
    finally:
        kernel.kill()
        kernel.wait()
        assert kernel.stdin is not None
        kernel.stdin.close()
