"""Files are read as they are, replaced in one step or not at all, and no error holds what is in them."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path

import pytest

from mcc_jupyter.core.errors import ArgumentError, DeclarationError
from mcc_jupyter.core.scan import Cleaned, Scanner
from mcc_jupyter.runtime.scanned import clean_file, scan_file, scanner

VALUE = "n0t-f0r-any-eyes"
KNOWN = Scanner([("API_TOKEN", VALUE)])


def a_notebook(folder: Path, *, source: str = "", output: str = VALUE) -> Path:
    cell = {"cell_type": "code", "metadata": {}, "source": source, "outputs": [{"output_type": "stream", "name": "stdout", "text": output}]}
    path = folder / "nb.ipynb"
    path.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4}))
    return path


def test_a_notebook_is_scanned_by_cell_and_another_file_by_line(tmp_path: Path) -> None:
    path, text = a_notebook(tmp_path), tmp_path / "a.py"
    text.write_text(f"\ntoken = '{VALUE}'\n")

    assert [str(finding) for finding in scan_file(str(path), KNOWN)] == ["cell 1, output 1: holds API_TOKEN"]
    assert [str(finding) for finding in scan_file(str(text), KNOWN)] == ["line 2: holds API_TOKEN"]


def test_a_cleaned_file_keeps_its_mode_its_line_ends_and_its_links(tmp_path: Path) -> None:
    path, text = a_notebook(tmp_path), tmp_path / "a.txt"
    text.write_bytes(b"\xef\xbb\xbfa\r\n" + VALUE.encode() + b"\r\n")
    text.chmod(0o640)
    folder = tmp_path / "links"
    folder.mkdir()
    (folder / "nb.ipynb").symlink_to("../nb.ipynb")

    assert [str(finding) for finding in clean_file(str(folder / "nb.ipynb"), KNOWN).redacted] == ["cell 1, output 1: redacted API_TOKEN"]
    clean_file(str(text), KNOWN)

    assert (folder / "nb.ipynb").is_symlink()
    assert VALUE not in path.read_text()
    assert text.read_bytes() == b"\xef\xbb\xbfa\r\n[redacted:API_TOKEN]\r\n"
    assert stat.S_IMODE(text.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "links", "nb.ipynb"]


def test_a_file_without_a_finding_is_not_written(tmp_path: Path) -> None:
    path = a_notebook(tmp_path, source=VALUE, output="nothing")
    os.utime(path, (1, 1))
    before = path.stat()

    assert [str(finding) for finding in clean_file(str(path), KNOWN).standing] == ["cell 1, line 1: holds API_TOKEN"]
    assert (path.stat().st_mtime, path.stat().st_ino) == (1, before.st_ino)


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("latin.txt").write_bytes(b"caf\xe9 " + VALUE.encode())
    Path("no.ipynb").write_text(f"{{{VALUE}")
    Path("empty.ipynb").write_text("{}")
    Path("folder").mkdir()

    for path, error, expected in (
        ("missing.txt", ArgumentError, "missing.txt: cannot be read (No such file or directory)"),
        ("folder", ArgumentError, "folder: cannot be read (Is a directory)"),
        ("latin.txt", ArgumentError, "latin.txt: is not UTF-8; only text is scanned"),
        ("no.ipynb", DeclarationError, "no.ipynb: the file is no notebook: it is no JSON"),
        ("empty.ipynb", DeclarationError, "empty.ipynb: this is no notebook: it has no cells"),
    ):
        for look in (scan_file, clean_file):
            with pytest.raises(error) as caught:
                look(path, KNOWN)
            assert str(caught.value) == expected


@pytest.mark.parametrize("call", ["stat", "replace"])
def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    path = a_notebook(tmp_path)
    before = path.read_bytes()

    def refused(*_: object) -> None:
        raise PermissionError(errno.EACCES, f"{VALUE}")

    monkeypatch.setattr(os, call, refused)
    with pytest.raises(ArgumentError) as caught:
        clean_file(str(path), KNOWN)
    monkeypatch.undo()

    assert str(caught.value) == f"{path}: cannot be written (Permission denied)"
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["nb.ipynb"]


def test_what_was_written_meanwhile_is_not_lost(tmp_path: Path) -> None:
    path = a_notebook(tmp_path)

    class Slow(Scanner):
        def clean_notebook(self, document: str) -> Cleaned:
            path.write_text("saved by another")
            return super().clean_notebook(document)

    with pytest.raises(ArgumentError) as caught:
        clean_file(str(path), Slow([("API_TOKEN", VALUE)]))

    assert str(caught.value) == f"{path}: was changed meanwhile and is left as it is; try again"
    assert path.read_text() == "saved by another"


def test_a_file_of_another_owner_becomes_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(errno.EPERM, "")

    path = a_notebook(tmp_path)
    monkeypatch.setattr(os, "fchown", refused)
    clean_file(str(path), KNOWN)

    assert VALUE not in path.read_text()


def test_an_env_file_is_never_cleaned(tmp_path: Path) -> None:
    env = tmp_path / ".env"
    env.write_text(f"API_TOKEN={VALUE}\n")
    (tmp_path / "link").symlink_to(".env")

    for path in (env, tmp_path / "link"):
        with pytest.raises(ArgumentError) as caught:
            clean_file(str(path), KNOWN, env_files=["missing.env", str(env)])
        assert str(caught.value) == f"{path}: is the env file itself and is not changed"
    assert VALUE in env.read_text()


def test_what_is_known_comes_from_env_files_and_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.env").write_text("API_TOKEN=one-value-of-it\nPIN=1234\nno equals\nSHARED=${BASE}-suffix\n")
    Path("b.env").write_text("API_TOKEN=another-value\n")
    parent = {"BASE": "base-value", "OTHER": "other-value", "DEPTH": "3", "PATH": "/usr/bin:/bin"}
    text = "one-value-of-it another-value base-value-suffix other-value /usr/bin:/bin"

    files, notes = scanner(["a.env", "b.env"], parent)
    assert {finding.name for finding in files.text(text)} == {"API_TOKEN", "SHARED"}
    assert notes == ["a.env: line 3 does not parse and is left out", "PIN is too short or too common to be looked for"]

    both, notes = scanner(["a.env"], parent, of_parent=True, ignored=["SHARED"])
    assert {finding.name for finding in both.text(text)} == {"API_TOKEN", "BASE", "OTHER"}
    assert notes[1:] == ["PIN is too short or too common to be looked for"]


def test_an_env_file_that_cannot_be_used_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArgumentError) as caught:
        scanner(["missing.env"], {})
    assert str(caught.value) == "env_file not found: missing.env"
