"""Files for a call's output: what is in them, what is said of them, and what goes wrong without harm (SPEC 7.6)."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from mcc_jupyter.core.errors import ArgumentError, Interrupted
from mcc_jupyter.core.outcome import Outcome
from mcc_jupyter.runtime import spill
from mcc_jupyter.runtime.launcher import Exit

from .conftest import FakeLauncher, World

SECRET = "sk-live-0123456789"
MakeWorld = Callable[..., World]


@pytest.fixture
def world(make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch) -> World:
    world = make_world({"TOKEN": SECRET})
    monkeypatch.chdir(world.folder)
    return world


def spilled(world: World, script: str, path: str = "out.log", **fields: object) -> Outcome:
    """The outcome of a real child whose output went to *path*."""
    world.declare({"name": "t", "exec": script, "env_passthrough": ["TOKEN"], **fields})
    return world.box.call("t", spill=path)


def test_all_of_the_output_is_in_new_private_files_and_the_outcome_says_where(world: World) -> None:
    before = os.umask(0)
    try:
        outcome = spilled(world, "head -c 3000000 /dev/zero; echo done; echo why >&2")
    finally:
        os.umask(before)

    assert (world.folder / "out.log").read_bytes() == bytes(3_000_000) + b"done\n"
    assert (world.folder / "out.log.stderr").read_bytes() == b"why\n"
    assert [stat.S_IMODE((world.folder / name).stat().st_mode) for name in ("out.log", "out.log.stderr")] == [0o600, 0o600]
    assert outcome.cut
    assert outcome.notes == ("all of stdout is in `out.log` (3,000,005 bytes)", "all of stderr is in `out.log.stderr` (4 bytes)")


def test_without_output_on_stderr_there_is_no_file_for_it(world: World) -> None:
    assert spilled(world, "true").notes == ("all of stdout is in `out.log` (0 bytes)",)
    assert (world.folder / "out.log").read_bytes() == b""
    assert not (world.folder / "out.log.stderr").exists()


def test_LEAK_no_value_is_in_a_file_also_when_it_came_in_two_pieces(world: World) -> None:
    outcome = spilled(world, 'printf %.9s "$TOKEN"; sleep 0.1; printf "%s\\n" "${TOKEN#?????????}"; echo "<$TOKEN>" >&2')

    assert (world.folder / "out.log").read_bytes() == b"[redacted:TOKEN]\n"
    assert (world.folder / "out.log.stderr").read_bytes() == b"<[redacted:TOKEN]>\n"
    assert outcome.redactions == {"TOKEN": 2}


def test_a_failed_call_has_its_files_too(world: World) -> None:
    outcome = spilled(world, "echo partial; exit 3")

    assert outcome.failure == "failed with exit code 3"
    assert (world.folder / "out.log").read_bytes() == b"partial\n"


def test_a_file_that_exists_is_never_written_over_and_the_tool_does_not_start(world: World) -> None:
    (world.folder / "mine").write_text("precious")
    (world.folder / "new.stderr").symlink_to(world.folder / "elsewhere")
    for path, told in (("mine", "mine"), ("new", "new.stderr")):
        with pytest.raises(ArgumentError) as caught:
            spilled(world, "touch ran", path)
        assert str(caught.value) == f"Tool 't': spill: `{told}` exists already; give another name or remove it"

    assert (world.folder / "mine").read_text() == "precious"
    assert sorted(path.name for path in world.folder.iterdir()) == ["mine", "new.stderr"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("no/such/folder", "Tool 't': spill: `no/such/folder` cannot be written: No such file or directory"),
        ("a\0b", "Tool 't': spill: `a\\x00b` cannot be written: it is no name of a file"),
        ("", "Tool 't': spill is the path of a new file, like `output.log`"),
        (7, "Tool 't': spill is the path of a new file, like `output.log`"),
    ],
)
def test_what_is_no_path_of_a_new_file_is_told_in_a_line(path: object, text: str, world: World) -> None:
    with pytest.raises(ArgumentError) as caught:
        spilled(world, "touch ran", path)  # type: ignore[arg-type]

    assert str(caught.value) == text
    assert not (world.folder / "ran").exists()


def test_the_home_of_a_path_is_the_callers(world: World) -> None:
    spilled(world, "echo x", "~/at-home.log")

    assert (world.folder / "at-home.log").read_bytes() == b"x\n"


def test_what_is_too_much_for_a_file_is_left_out_and_said(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "SPILL_BYTES", 100_000)
    outcome = spilled(world, "yes | head -c 250000")

    assert (world.folder / "out.log").read_bytes() == b"y\n" * 50_000
    assert outcome.ok
    assert outcome.notes == ("the first 100,000 of 250,000 bytes of stdout are in `out.log`: a file takes at most 100,000",)


def test_a_full_disk_is_a_note_and_never_a_failure_of_the_tool(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made = spill.SpillFile.__init__

    def on_a_full_disk(self: spill.SpillFile, path: str) -> None:
        made(self, path)
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, self._fd, inheritable=False)
        os.close(full)

    monkeypatch.setattr(spill.SpillFile, "__init__", on_a_full_disk)
    outcome = spilled(world, "yes | head -c 250000")

    assert outcome.ok
    assert outcome.notes == ("the first 0 of 250,000 bytes of stdout are in `out.log`: No space left on device",)


def test_a_file_without_output_that_somebody_removed_is_no_trouble(world: World) -> None:
    assert spilled(world, "rm out.log.stderr").ok


def test_a_cached_outcome_is_not_taken_for_a_call_with_a_file(world: World) -> None:
    world.declare({"name": "t", "exec": "echo x", "cache_ttl": 60})
    assert [world.box.call("t", spill=path).mode for path in (None, "one.log", None)] == ["process", "process", "cached"]
    assert (world.folder / "one.log").read_bytes() == b"x\n"


def test_with_a_transform_the_file_has_what_it_gives(world: World) -> None:
    outcome = spilled(world, "echo raw; echo one >&2", transform="tr a-z A-Z; echo two >&2")

    assert outcome.value == "RAW\n"
    assert (world.folder / "out.log").read_bytes() == b"RAW\n"
    assert (world.folder / "out.log.stderr").read_bytes() == b"one\ntwo\n"


def test_an_awaited_call_has_files_too(world: World) -> None:
    world.declare({"name": "t", "exec": "echo x"})
    asyncio.run(world.box.acall("t", spill="out.log"))
    assert (world.folder / "out.log").read_bytes() == b"x\n"


def test_what_an_interrupted_call_printed_is_in_the_file(make_world: MakeWorld, tmp_path: Path) -> None:
    def interrupted(request: object, stdout: Callable[[bytes], None], stderr: Callable[[bytes], None]) -> Exit:
        stdout(b"begun\n")
        interrupt = KeyboardInterrupt()
        interrupt.exit = Exit(signal=2, stopped="interrupt")  # type: ignore[attr-defined]
        raise interrupt

    world = make_world(launcher=FakeLauncher(interrupted))
    world.declare({"name": "t", "exec": "x"})
    with pytest.raises(Interrupted) as caught:
        world.box.call("t", spill=str(tmp_path / "out.log"))

    assert (tmp_path / "out.log").read_bytes() == b"begun\n"
    assert caught.value.outcome.notes == (f"all of stdout is in `{tmp_path}/out.log` (6 bytes)",)


def test_the_prints_of_a_function_are_in_the_file_and_its_value_is_not(world: World) -> None:
    world.module("work", "def f():\n    print('printed')\n    return 'value'\n")
    world.declare({"name": "t", "fn": "work:f"})

    assert world.box.call("t", spill="out.log").value == "value"
    assert (world.folder / "out.log").read_bytes() == b"printed\n"
