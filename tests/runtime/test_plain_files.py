"""What is read, and of what nobody waits for the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from mcc_jupyter.core.errors import ArgumentError, DeclarationError
from mcc_jupyter.core.scan import Scanner
from mcc_jupyter.runtime import plain_files, scanned
from mcc_jupyter.runtime.catalog import notebook_file, text_file
from mcc_jupyter.runtime.plain_files import Unfit, read_file, read_plain

MIB = 1024 * 1024


@pytest.mark.parametrize("name", ["pipe.yaml", "/dev/zero", "/dev/null"])
def test_a_pipe_or_a_device_is_not_read_as_tools_and_not_looked_through(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "pipe.yaml":
        os.mkfifo(path)
    with pytest.raises(DeclarationError) as caught:
        text_file("written", str(path))
    assert str(caught.value) == "written: is no regular file and is not read"
    for look in (lambda: scanned.scan_file(str(path), Scanner([])), lambda: scanned.clean_file(str(path), Scanner([]))):
        with pytest.raises(ArgumentError) as refused:
            look()
        assert str(refused.value) == f"{path}: is no regular file and is not read"
    with pytest.raises(Unfit, match="is no regular file"):
        read_plain(str(path), MIB)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(4 * MIB + 1)
    with pytest.raises(DeclarationError) as caught:
        text_file("large", str(large))
    assert str(caught.value) == "large: is larger than 4 MiB and is not read"
    monkeypatch.setattr(scanned, "LARGEST", 4 * MIB)
    with pytest.raises(ArgumentError) as refused:
        scanned.scan_file(str(large), Scanner([]))
    assert str(refused.value) == f"{large}: is larger than 4 MiB and is not read"
    assert len(read_file(str(large), 5 * MIB)) == 4 * MIB + 1


def test_what_a_shell_hands_over_is_read_to_its_end_and_has_a_size_too() -> None:
    for size, limit in ((300_000, MIB), (2 * MIB, MIB)):
        ours, theirs = os.pipe()

        def write(size: int = size, theirs: int = theirs) -> None:
            time.sleep(0.05)  # so that the reader has to wait for it
            try:
                os.write(theirs, b"x" * 10)
                time.sleep(0.05)
                with open(theirs, "wb") as file:
                    file.write(b"x" * (size - 10))
            except BrokenPipeError:  # nobody wants the rest
                return

        writer = threading.Thread(target=write)
        writer.start()
        try:
            if size > limit:
                with pytest.raises(Unfit, match="is larger than 1 MiB"):
                    read_file(f"/dev/fd/{ours}", limit)
            else:
                assert len(read_file(f"/dev/fd/{ours}", limit)) == size
            with pytest.raises(Unfit, match="is no regular file"):
                read_plain(f"/dev/fd/{ours}", limit)
        finally:
            os.close(ours)
            writer.join()


def test_waiting_for_what_a_shell_hands_over_can_be_interrupted(tmp_path: Path) -> None:
    script = "import sys\nfrom mcc_jupyter.runtime.plain_files import read_file\nprint('now', flush=True)\ntry:\n    read_file('/dev/stdin', 10)\nexcept KeyboardInterrupt:\n    print('interrupted')"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "now\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "interrupted\n"


def test_a_folder_and_what_is_not_there_are_said_as_they_were(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        read_file(str(tmp_path), MIB)
    with pytest.raises(FileNotFoundError):
        read_file(str(tmp_path / "none"), MIB)
    with pytest.raises(Unfit, match=r"cannot be read \(no such file or directory\)"):
        read_plain(str(tmp_path / "none"), MIB)


def test_a_notebook_that_is_nested_too_deeply_is_told_as_that(tmp_path: Path) -> None:
    path = tmp_path / "deep.ipynb"
    path.write_text("[" * 100_000)
    with pytest.raises(DeclarationError) as caught:
        notebook_file(str(path), "deep.ipynb")
    assert str(caught.value) == "deep.ipynb: the file is no notebook: it is nested too deeply"
    assert plain_files.LARGEST == 256 * MIB
