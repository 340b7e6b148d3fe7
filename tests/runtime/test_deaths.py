"""Whatever of ours is killed, at whatever moment: nothing is left, and the next call works (SPEC 7.9).

``python -m tests.runtime.test_deaths FROM TO [ordinary]`` makes more rounds, as another user where it is told to.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from tests.processes import REPOSITORY, Process, everyone, family

ENVIRON = {"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
WATCHERS = ("keeper", "launcher", "every supervisor", "warm")
KINDS = [
    ("kernel",),
    ("keeper",),
    ("launcher",),
    ("supervisor",),
    ("warm",),
    ("group",),
    ("kernel", "keeper"),
    ("kernel", "launcher"),
    ("kernel", "supervisor"),
    ("kernel", "warm"),
    ("keeper", "launcher"),
    ("keeper", "supervisor"),
    ("keeper", "warm"),
    ("launcher", "supervisor"),
    ("launcher", "warm"),
    ("supervisor", "warm"),
    ("group", "kernel"),
    ("group", "supervisor"),
    ("keeper", "launcher", "supervisor"),
    ("keeper", "launcher", "every supervisor"),
    WATCHERS,
    ("kernel", *WATCHERS),
]
"""What is killed in one instant. Of the last only another keeper can end what it leaves."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

KERNEL = """
import json, os, sys, threading, time
sys.path.insert(0, {repository!r})
from mcc_jupyter.core.command import Request
from mcc_jupyter.core.tool import Origin
from mcc_jupyter.runtime.toolbox import Toolbox
ENVIRON = {{**{environ!r}, "HOME": {folder!r}}}
with open({folder!r} + "/mod.py", "w") as file:
    file.write("import os, subprocess, time\\ndef run(last: bool = False):\\n    if last: subprocess.Popen(['sleep', '77'], start_new_session=True)\\n    while last: time.sleep(0.02)\\n    return os.getppid()\\n")
box = Toolbox(lambda: ENVIRON)
box.add([{{"name": "run", "fn": "mod:run", "python": {python!r}}}], Origin("cell", "cell", "id"), folder={folder!r}).raise_for_problems()
script = b"trap '' INT TERM HUP; setsid sleep 77 & sleep 77 & (setsid sleep 77 &); while :; do sleep 0.02; done"
def again(call):
    while True:
        try:
            call()
        except BaseException:
            pass
def execute():
    box.launcher.run(Request(("/bin/sh", "/dev/fd/9"), ENVIRON, "/", payload=script, files={{"A": b"x"}}, tool="x"), stdout=print, stderr=print)
def tell():
    found = box.call("run", {{}})
    print(json.dumps([box.launcher._process.pid, found.value, found.mode]), flush=True)
tell()
for call in (execute, execute, lambda: box.call("run", {{"last": True}})):
    threading.Thread(target=again, args=(call,), daemon=True).start()
time.sleep(0.2)
print(flush=True)
for line in sys.stdin:
    out = bytearray()
    for _ in range(2):
        exit = box.launcher.run(Request(("echo", "next"), ENVIRON, "/"), stdout=out.extend, stderr=out.extend)
        if exit.code == 0: break
    print(json.dumps(out.decode()), flush=True)
    tell()
"""

ANOTHER = """
import sys
sys.path.insert(0, {repository!r})
from mcc_jupyter.runtime.launcher import Launcher
launcher = Launcher({environ!r})
launcher.isolation
launcher.close()
"""


class Death:
    """One round: a kernel with running calls, what is killed of it, and what is to be seen afterwards."""

    def __init__(self, seed: int, kind: tuple[str, ...], who: tuple[str, ...] = (), python: str = sys.executable) -> None:
        self.draw, self.kind, self.start = random.Random(seed), kind, (*who, python, "-c")
        self.what = f"seed {seed}, {' and '.join(kind)}"
        self.trouble: list[str] = []
        self.seen: dict[int, Process] = {}
        self.seconds = 0.0
        self.folder = tempfile.mkdtemp()
        os.chmod(self.folder, 0o777)
        self.fields = {"repository": str(REPOSITORY), "environ": ENVIRON, "folder": self.folder, "python": python}

    def run(self) -> None:
        command = [*self.start, KERNEL.format(**self.fields)]
        self.kernel = subprocess.Popen(command, env=ENVIRON, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        try:
            self.die()
        finally:
            self.kernel.kill()
            self.kernel.wait()
            for pipe in (self.kernel.stdin, self.kernel.stdout):
                assert pipe is not None
                pipe.close()
            for pid in self.left(self.seen):
                os.kill(pid, signal.SIGKILL)
            subprocess.run(["rm", "-r", self.folder], check=True)

    def die(self) -> None:
        keeper, warm, _ = self.told()
        self.heard()
        time.sleep(self.draw.uniform(0.0, 0.25))
        self.seen = family(self.kernel.pid)
        by_name = {name: [pid for pid, one in self.seen.items() if one.name == name] for name in ("mcc-launcher", "mcc-supervisor")}
        roles = {
            "kernel": [self.kernel.pid],
            "keeper": [keeper],
            "group": [-keeper],
            "launcher": by_name["mcc-launcher"],
            "supervisor": self.draw.sample(by_name["mcc-supervisor"], 1),
            "every supervisor": by_name["mcc-supervisor"],
            "warm": [warm],
        }
        victims = [pid for role in self.kind for pid in roles[role]]
        self.draw.shuffle(victims)
        watchers = [pid for pid in victims if pid == warm or pid in by_name["mcc-supervisor"]]
        lost = {pid: one for watcher in watchers for pid, one in family(watcher).items()}
        if {"keeper", "launcher"} <= {*self.kind} and "warm" not in self.kind:
            # It goes on for its kernel, without a supervisor, until another keeper comes or the kernel goes.
            lost = {pid: lost[pid] for pid in lost.keys() - family(warm).keys()}
        began = time.monotonic()
        for victim in victims:
            try:
                os.killpg(-victim, signal.SIGKILL) if victim < 0 else os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if "kernel" not in self.kind:
            # What lost its watcher ends at once, whether or not there is another call.
            self.clean(lost, began, "with its watcher gone")
            self.next()
            self.seen |= family(self.kernel.pid)
            began = time.monotonic()
            self.kernel.kill()
        self.kernel.wait(10)
        if self.kind == ("kernel", *WATCHERS):
            began = time.monotonic()
            subprocess.run([*self.start, ANOTHER.format(**self.fields)], env=ENVIRON, check=True)
        self.clean({pid: one for pid, one in self.seen.items() if pid != self.kernel.pid}, began, "without a kernel")
        folders = [name for name in os.listdir("/dev/shm") if name.startswith("mcc-") and int(name.rpartition("-")[2]) in self.seen]
        if folders:
            self.trouble.append(f"{self.what}: left {folders}")

    def next(self) -> None:
        assert self.kernel.stdin is not None
        self.kernel.stdin.write("\n")
        self.kernel.stdin.flush()
        answer, (_, value, _) = self.told(), self.told()
        if answer != "next\n" or not isinstance(value, int):
            self.trouble.append(f"{self.what}: the next calls gave {answer!r} and {value!r}")

    def heard(self) -> str:
        assert self.kernel.stdout is not None
        return self.kernel.stdout.readline()

    def told(self) -> object:
        return json.loads(self.heard())

    def left(self, those: dict[int, Process]) -> list[int]:
        """Which of *those* live on, by number and time of start."""
        now = everyone()
        return [pid for pid, one in those.items() if pid in now and now[pid].started == one.started]

    def clean(self, those: dict[int, Process], began: float, when: str) -> None:
        while left := self.left(those):
            if time.monotonic() > began + 5:
                self.trouble.append(f"{self.what}, {when}: left {[those[pid] for pid in left]}")
                return
            time.sleep(0.005)
        self.seconds = max(self.seconds, time.monotonic() - began)


@pytest.mark.parametrize("kind", KINDS, ids=" and ".join)
def test_PROC_07_nothing_is_left_whatever_is_killed(kind: tuple[str, ...]) -> None:
    for seed in range(2):
        death = Death(seed, kind)
        death.run()
        assert death.trouble == []


def main(first: int, last: int, *user: str) -> None:
    """Rounds of every kind in turn, and the worst of them."""
    who = ("setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups") if user else ()
    worst, left = (0.0, ""), 0
    for seed in range(first, last):
        death = Death(seed, KINDS[seed % len(KINDS)], who, "/usr/bin/python3" if user else sys.executable)
        death.run()
        for text in death.trouble:
            print(text, flush=True)
        left += bool(death.trouble)
        worst = max(worst, (death.seconds, death.what))
        print(f"{death.seconds:.3f} {death.what}") if death.seconds > 0.5 else None
    print(f"{last - first} rounds, {left} with something left; at worst clean after {worst[0]:.3f} s ({worst[1]})")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
