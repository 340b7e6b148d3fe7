"""What real tools do to their output: floods, binary data, silence, streams that are closed (SPEC 7.6)."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mcc_jupyter.core.outcome import Outcome
from mcc_jupyter.runtime import descriptors

from .conftest import World

MIB = 1024 * 1024
FAR = 30.0
"""Seconds after which a test that hangs goes on and fails."""
MakeWorld = Callable[..., World]


class Shown:
    """What a call shows, piece by piece, and a way to wait for it from another thread."""

    def __init__(self) -> None:
        self.pieces: list[tuple[str, str]] = []
        self._came = threading.Condition()

    def __call__(self, stream: str, text: str) -> None:
        with self._came:
            self.pieces.append((stream, text))
            self._came.notify_all()

    def text(self, stream: str = "stdout") -> str:
        return "".join(text for name, text in self.pieces if name == stream)

    def wait(self, text: str) -> bool:
        with self._came:
            return self._came.wait_for(lambda: text in self.text(), FAR)


class Running:
    """A tool that runs in a thread, and goes on from each step when it is told to."""

    def __init__(self, world: World, script: str) -> None:
        self.world, self.shown = world, Shown()
        self.outcome: Outcome | None = None
        steps = "step() { while ! [ -e go$1 ]; do sleep 0.01; done; }\n"
        world.declare({"name": "t", "exec": steps + script, "limits": {"timeout": FAR}, "env_passthrough": ["TOKEN"]})
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self.outcome = self.world.box.call("t", show=self.shown)

    def go(self, step: int) -> None:
        (self.world.folder / f"go{step}").touch()

    def end(self) -> Outcome:
        self._thread.join(FAR + 10)
        assert self.outcome is not None
        return self.outcome


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    return make_world({"TOKEN": "sk-live-0123456789", "LANG": "C.UTF-8"})


def called(world: World, script: str, **fields: object) -> tuple[Outcome, Shown]:
    shown = Shown()
    world.declare({"name": "t", "exec": script, "limits": {"timeout": FAR}, "env_passthrough": ["TOKEN"], **fields})
    outcome = world.box.call("t", show=shown)
    assert outcome.ok, outcome.failure
    return outcome, shown


_FLOODED = """
import json, resource, sys
from mcc_jupyter.core.tool import Origin
from mcc_jupyter.runtime.toolbox import Toolbox

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

script, folder = sys.argv[1:]
parent = {"PATH": "/usr/bin:/bin", **{f"SECRET_{n}": f"{n}-sk-live-{n * 7919}-abcdef" for n in range(10)}}
toolbox = Toolbox(lambda: parent)
for name, text in (("first", "yes | head -c 3000000"), ("flood", script)):
    toolbox.add({"name": name, "exec": text, "env_passthrough": ["SECRET_*"]}, Origin("python", "test"), folder=folder)
shown = []
toolbox.call("first", show=lambda *piece: None)
before = peak()
outcome = toolbox.call("flood", show=lambda stream, text: shown.append(text))
toolbox.close()
print(json.dumps([outcome.ok, peak() - before, len(outcome.stdout), outcome.redactions, "".join(shown)]))
"""


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("yes 'an ordinary line of a log, and 12345' | head -c 150000000", id="lines"),
        pytest.param("head -c 150000000 /dev/zero", id="zeros"),
        pytest.param("yes | head -c 30000000", id="the shortest lines"),
    ],
)
def test_PROC_14_N11_memory_stays_flat_under_a_flood_and_a_notebook_small(script: str, tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", _FLOODED, f"{script}; echo $SECRET_3", str(tmp_path)], capture_output=True, text=True, check=True)
    ok, growth, kept, redactions, shown = json.loads(ran.stdout)

    assert ok
    assert growth <= 32 * MIB
    assert MIB - 100 <= kept <= MIB + 100
    assert redactions == {"SECRET_3": 1}
    assert shown.endswith("[redacted:SECRET_3]\n")
    lines = [json.dumps(line, ensure_ascii=False) for line in shown.splitlines(keepends=True)]
    assert sum(len(line.encode()) + 10 for line in lines) <= 128 * 1024


def test_PROC_15_a_line_of_fifty_megabytes_without_an_end(world: World) -> None:
    outcome, shown = called(world, "head -c 50000000 /dev/zero | tr '\\0' x; printf end")

    half = MIB // 2
    assert outcome.stdout == "x" * half + f"\n[… {50_000_003 - MIB} bytes omitted …]\n" + "x" * (half - 3) + "end"
    assert shown.text().endswith("xend")


def test_PROC_17_binary_output_is_no_failure(world: World) -> None:
    (world.folder / "data").write_bytes(bytes(range(256)) * 2000)
    outcome, shown = called(world, "cat data")

    sequence = bytes([27, 28])  # ESC and what follows it: a control sequence, if not one that anybody knows
    assert outcome.stdout == (bytes(range(256)) * 2000).replace(sequence[:1], b"").decode("utf-8", "replace")
    assert "\ufffd" in shown.text()
    assert "omitted" in shown.text()


@pytest.mark.parametrize(
    ("script", "out", "err"),
    [
        pytest.param("echo before; exec >&-; echo after >&2", "before\n", "after\n", id="stdout"),
        pytest.param("echo before; exec >&- 2>&-; sleep 0.1; touch went-on", "before\n", "", id="both"),
        pytest.param("exec 2>&-; echo after", "after\n", "", id="stderr"),
    ],
)
def test_a_tool_that_closes_its_output_goes_on(script: str, out: str, err: str, world: World) -> None:
    outcome, _ = called(world, script)

    assert (outcome.stdout, outcome.stderr, outcome.exit_code, outcome.notes) == (out, err, 0, ())
    assert (world.folder / "went-on").exists() == ("went-on" in script)


def test_a_tool_that_never_reads_a_large_input_hangs_no_call(world: World) -> None:
    world.declare({"name": "t", "exec": "echo done", "stdin": True, "params": [{"name": "x"}], "limits": {"timeout": FAR}})
    outcome = world.box.call("t", {"x": "y" * 5_000_000})

    assert (outcome.ok, outcome.stdout) == (True, "done\n")


def test_a_tool_that_reads_half_of_a_large_input_hangs_no_call(world: World) -> None:
    world.declare({"name": "t", "exec": "head -c 12; exec <&-; echo", "stdin": True, "params": [{"name": "x"}], "limits": {"timeout": FAR}})
    outcome = world.box.call("t", {"x": "y" * 5_000_000})

    assert (outcome.ok, outcome.stdout) == (True, '{"x": "yyyyy\n')


def test_PROC_11_the_first_byte_and_a_prompt_without_a_line_end_are_shown_before_the_tool_goes_on(world: World) -> None:
    running = Running(world, "printf '?'; step 1; printf ' name: '; step 2; echo Ada")
    try:
        assert running.shown.wait("?")
        running.go(1)
        assert running.shown.wait("? name: ")
    finally:
        running.go(1)
        running.go(2)
    assert running.end().stdout == "? name: Ada\n"


def test_PROC_16_progress_is_shown_state_by_state(world: World) -> None:
    running = Running(world, "printf '10%%\\r'; step 1; printf '50%%\\r'; step 2; printf '100%%\\n'")
    try:
        for step, text in ((1, "10%\r"), (2, "10%\r50%\r")):
            assert running.shown.wait(text)
            running.go(step)
    finally:
        running.go(1)
        running.go(2)
    outcome = running.end()
    assert outcome.stdout == running.shown.text() == "10%\r50%\r100%\n"
    assert outcome.value == "100%\n"


def test_PROC_17_a_character_that_comes_in_pieces_with_pauses_is_one(world: World) -> None:
    running = Running(world, "printf 'a\\342'; step 1; printf '\\202'; sleep 0.05; printf '\\254b'")
    try:
        assert running.shown.wait("a")
    finally:
        running.go(1)
    assert running.end().stdout == running.shown.text() == "a€b"
    assert "\ufffd" not in running.shown.text()


def test_many_quick_lines_are_few_messages_and_nothing_is_lost(world: World) -> None:
    """A server drops what is more than 1,000 messages a second."""
    (world.folder / "lines.py").write_text("import time\nfor n in range(2000):\n    print(n, flush=True)\n    time.sleep(0.0002)\n")
    began = time.monotonic()
    outcome, shown = called(world, f"{sys.executable} lines.py")
    seconds = time.monotonic() - began

    assert outcome.stdout == shown.text() == "".join(f"{n}\n" for n in range(2000))
    assert len(shown.pieces) <= 101 + 50 * seconds


@pytest.mark.parametrize("enough", [True, False], ids=["allowed", "refused by the system"])
def test_a_pipe_that_was_found_full_is_read_in_larger_pieces(enough: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> int:
        raise PermissionError

    if not enough:
        monkeypatch.setattr(fcntl, "fcntl", refused)
    ours, theirs = os.pipe()
    try:
        size = descriptors.widened(ours)
    finally:
        os.close(ours)
        os.close(theirs)
    if sys.platform == "linux":
        assert size == (descriptors.CHUNK * 4 if enough else descriptors.CHUNK)
    else:
        assert size == descriptors.CHUNK
