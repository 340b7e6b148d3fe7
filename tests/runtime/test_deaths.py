"""Whatever of ours is killed, at whatever moment: nothing is left, and the next call works (SPEC 7.9)."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent.parent
ENVIRON = {"PATH": "/usr/local/bin:/usr/bin:/bin"}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

KERNEL = """
import os, sys, threading, time
sys.path.insert(0, {repository!r})
from mcc_jupyter.core.command import Request
from mcc_jupyter.runtime.launcher import Launcher
launcher = Launcher({environ!r})
launcher.isolation
print(launcher._process.pid, flush=True)
script = b"trap '' INT TERM HUP; setsid sleep 77 & sleep 77 & while :; do sleep 0.02; done"
def call():
    while True:
        try:
            launcher.run(Request(("/bin/sh", "/dev/fd/9"), {environ!r}, "/", payload=script, tool="x"), stdout=print, stderr=print)
        except BaseException:
            pass
for _ in range(2):
    threading.Thread(target=call, daemon=True).start()
for line in sys.stdin:
    out = bytearray()
    for _ in range(2):
        exit = launcher.run(Request(("echo", "next"), {environ!r}, "/"), stdout=out.extend, stderr=out.extend)
        if exit.code == 0: break
    print(out.decode().strip(), launcher._process.pid, flush=True)
"""


def parents() -> dict[int, tuple[int, str, int]]:
    """Process id → parent, name, group, of all that live."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                head, _, rest = Path(f"/proc/{name}/stat").read_text(errors="replace").rpartition(")")
            except OSError:
                continue
            state, parent, group = rest.split()[:3]
            if state not in "ZX":
                found[int(name)] = (int(parent), head.partition("(")[2], int(group))
    return found


def family(root: int) -> dict[int, str]:
    """*root* and everything below it: process id → name."""
    table = parents()
    found: dict[int, str] = {}
    new = {root} & table.keys()
    while new:
        found.update({pid: table[pid][1] for pid in new})
        new = {pid for pid, (parent, _, _) in table.items() if parent in new}
    return found


def round_of(seed: int) -> str:
    """One death: starts a kernel with two running calls, kills, looks. What was wrong, if anything."""
    draw = random.Random(seed)
    source = KERNEL.format(repository=str(REPOSITORY), environ=ENVIRON)
    kernel = subprocess.Popen([sys.executable, "-c", source], env=ENVIRON, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert kernel.stdin is not None
    assert kernel.stdout is not None
    seen: dict[int, str] = {}
    try:
        keeper = int(kernel.stdout.readline())
        time.sleep(draw.uniform(0.0, 0.25))
        seen = family(kernel.pid)
        ours = {name: [pid for pid, own in seen.items() if own == name] for name in ("mcc-keeper", "mcc-launcher", "mcc-supervisor")}
        choices = [("kernel", [kernel.pid]), ("keeper", [keeper]), ("launcher", ours["mcc-launcher"])]
        choices += [("supervisor", [draw.choice(ours["mcc-supervisor"])])] if ours["mcc-supervisor"] else []
        choices += [("group", [-keeper])]
        what, victims = draw.choice(choices)
        if draw.random() < 0.4:
            # Keeper, launcher and supervisor in one instant leave nobody who could tell what the tool's processes were.
            never = ("group", "supervisor", "launcher", "keeper") if what == "group" else (what, "group")
            other, more = draw.choice([item for item in choices if item[0] not in never] or [("kernel", [kernel.pid])])
            what, victims = f"{what} and {other}", [*victims, *more]
        for victim in victims:
            try:
                os.killpg(-victim, signal.SIGKILL) if victim < 0 else os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                continue
        # The calls that run may go on unless theirs was killed; after the kernel's end nothing may.
        trouble = ""
        if "kernel" not in what:
            kernel.stdin.write("\n")
            kernel.stdin.flush()
            answer = kernel.stdout.readline().split()
            trouble = "" if answer[:1] == ["next"] else f"the next call gave {answer}"
            seen |= family(kernel.pid)
            kernel.kill()
        kernel.wait(10)
        deadline = time.monotonic() + 1.0
        while left := {pid: name for pid, name in seen.items() if pid != kernel.pid and parents().get(pid, (0, "", 0))[1] == name}:
            if time.monotonic() > deadline:
                return f"seed {seed}, {what}: left {left}"
            time.sleep(0.01)
        return f"seed {seed}, {what}: {trouble}" if trouble else ""
    finally:
        kernel.kill()
        kernel.wait()
        kernel.stdin.close()
        kernel.stdout.close()
        for pid, name in seen.items():
            if parents().get(pid, (0, "", 0))[1] == name and name.startswith(("mcc-", "sleep", "sh")):
                os.kill(pid, signal.SIGKILL)


def test_PROC_07_nothing_is_left_whatever_is_killed() -> None:
    assert [text for text in map(round_of, range(40)) if text] == []


if __name__ == "__main__":
    troubles = [text for text in map(round_of, range(int(sys.argv[1]), int(sys.argv[2]))) if text]
    print("\n".join(troubles) or "nothing was left")
