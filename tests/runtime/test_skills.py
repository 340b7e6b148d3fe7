"""Skills as files: where they are found, what their front matter may be, and that nothing in one is run."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from mcc_jupyter.core.errors import ArgumentError
from mcc_jupyter.runtime import skills
from mcc_jupyter.runtime.listings import skills_listing
from mcc_jupyter.runtime.skills import LIMIT, Skill, Skills, pick, provided_folders


@pytest.fixture(autouse=True)
def points(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What installed plugins name as folders."""
    known: list[object] = []
    made = lambda group: [SimpleNamespace(load=lambda item=item: item) for item in known]  # noqa: E731
    monkeypatch.setattr(importlib.metadata, "entry_points", made)
    return known


def written(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def found(folders: list[Path], name: str) -> Skill:
    skill = Skills(map(str, folders)).find(name)
    assert isinstance(skill, Skill)
    return skill


def test_a_skill_is_a_file_or_a_folder_and_the_first_folder_goes_first(tmp_path: Path, points: list[object]) -> None:
    one, other, plugin = tmp_path / "one", tmp_path / "other", tmp_path / "plugin"
    points.append(plugin)
    order = [
        written(one / "a.md", "1"),
        written(one / "a" / "SKILL.md", "2"),
        written(other / "a.md", "3"),
        written(plugin / "a.md", "4"),
    ]
    for path in order:
        assert found([one, other], "a").path == path
        os.unlink(path)
    assert Skills([str(one)]).find("a") == "skill a: there is no file skills/a.md"


@pytest.mark.parametrize(
    ("text", "description", "title"),
    [
        ("# Plain\n", "", ""),
        ("", "", ""),
        ("---\nname: linear\ndescription: How to\n---\n# Linear\n", "How to", "linear"),
        ("\ufeff---\ndescription: >\n  Two\n  lines\n---\n", "Two lines", ""),
        ("---\ndescription: 3\nname: [x]\n---\n", "", ""),
        ("---\n: broken: [\n---\n", "", ""),
        ("---\n- a list\n---\n", "", ""),
        ("---\nname: never ends\n", "", ""),
    ],
)
def test_front_matter_is_read_where_it_can_be(text: str, description: str, title: str, tmp_path: Path) -> None:
    written(tmp_path / "a.md", text)
    skill = found([tmp_path], "a")
    assert (skill.description, skill.title, skill.text) == (description, title, text.removeprefix("\ufeff"))


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda path: path.mkdir(), "skill a: its file is no regular file"),
        (os.mkfifo, "skill a: its file is no regular file"),
        (lambda path: path.symlink_to("gone"), "skill a: its file cannot be read (no such file or directory)"),
        (lambda path: path.write_bytes(b"#" * (LIMIT + 1)), "skill a: its file is larger than 1 MiB"),
    ],
)
def test_what_cannot_be_read_is_told(make: Callable[[Path], object], expected: str, tmp_path: Path) -> None:
    make(tmp_path / "a.md")
    assert Skills([str(tmp_path)]).find("a") == expected


def test_what_is_not_utf_8_is_shown_as_far_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"caf\xe9")
    assert found([tmp_path], "a").text == "caf\ufffd"


def test_plugins_name_folders_in_several_ways_and_a_broken_one_provides_none(tmp_path: Path, points: list[object]) -> None:
    points += ["/a", tmp_path, ["/b", tmp_path / "c"], lambda: "/d", lambda: ["/e"], 3, lambda: 1 / 0]
    assert list(provided_folders()) == ["/a", str(tmp_path), "/b", str(tmp_path / "c"), "/d", "/e"]


def test_plugins_are_asked_once_and_only_when_a_file_was_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(skills, "provided_folders", lambda: asked.append(1) or ())
    written(tmp_path / "a.md", "")
    one = Skills([str(tmp_path)])
    one.find("a")
    assert asked == []
    one.find("b")
    one.find("c")
    assert asked == [1]


def test_an_unknown_skill_is_an_error_with_a_near_match() -> None:
    assert pick("linear", {"linear": None}) == "linear"
    with pytest.raises(ArgumentError) as caught:
        pick("liner", {"linear": None})
    assert str(caught.value) == "there is no skill 'liner' here (did you mean `linear`?); `%mcc_skills` lists them"


def test_the_listing_is_one_printable_line_each() -> None:
    listing = skills_listing([("b", None, "skill b: there is no file skills/b.md"), ("a", "t", Skill("a", "/a", "", "x\x1b[31m"))])
    assert listing.rows == (("a", "t", "x\\x1b[31m"), ("b", "", "skill b: there is no file skills/b.md"))
    assert skills_listing([]).text() == "there are no skills"
