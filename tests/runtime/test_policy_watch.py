"""A server's policy file: found, told when it changes, shown by name to each user, and never lost."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from mcc_jupyter.runtime.policy_search import Start
from mcc_jupyter.runtime.policy_watch import PolicyWatch, Seen

MARK = "n0t-f0r-any-eyes-4711"

TEXT = """
[tools.numbers]
exec = "x"
required_env = ["DB_PASSWORD", "AWS_REGION", "NOT_SET", "HOME"]
skills = ["nowhere"]
[tools.nobodys]
exec = "x"
optional_env = {TOKEN = "SPARE_TOKEN"}
[profiles.base]
[profiles.dev]
includes = ["base"]
tools = ["numbers"]
[profiles.ops]
[workspaces."*"]
profiles = ["dev"]
[workspaces."ops/*"]
profiles = ["ops"]
groups = ["ops"]
"""
ENVIRONMENT = {"DB_PASSWORD": MARK, "AWS_REGION": "eu-west-1", "SPARE_TOKEN": "spare", "OTHER": "other", "HOME": "/home/u"}


class Watched:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "mcc.toml"
        self.found: str | None = None
        self.told: list[Seen] = []
        self.watch = PolicyWatch(Start(ENVIRONMENT, str(folder)), self.told.append, search=lambda start: self.found)

    def write(self, text: str) -> None:
        self.path.write_text(text)
        self.path.chmod(0o644)
        moment = 1_000_000_000 * (1 + len(self.told))
        os.utime(self.path, ns=(moment, moment))
        self.found = str(self.path)


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


def test_without_a_file_there_is_nothing(watched: Watched) -> None:
    assert (watched.watch.look(), watched.watch.path, watched.watch.secrets(), watched.told) == (None, None, {}, [])


def test_a_file_is_read_once_and_again_when_it_changes(watched: Watched) -> None:
    watched.write(TEXT)
    first = watched.watch.look()
    assert first is not None
    assert (watched.watch.look() is first, watched.told) == (True, [first])
    assert (first.state, first.label, first.problems, watched.watch.path) == ("loaded", "mcc.toml", (), str(watched.path))

    watched.write(TEXT + "\n[tools.x]\nexec = 'y'\n")
    second = watched.watch.look()
    assert (second is not first, watched.told) == (True, [first, second])


def test_a_file_that_breaks_fails_and_what_it_called_a_secret_stays_one(watched: Watched) -> None:
    watched.write(TEXT)
    assert watched.watch.secrets() == {"DB_PASSWORD": MARK, "AWS_REGION": "eu-west-1", "SPARE_TOKEN": "spare"}
    watched.write("[tools.numbers]\nexce = 'x'\n")

    assert watched.watch.secrets() == {"DB_PASSWORD": MARK, "AWS_REGION": "eu-west-1", "SPARE_TOKEN": "spare"}
    broken = watched.told[-1]
    assert (broken.state, broken.problems) == (
        "failed",
        ("mcc.toml: tools.numbers: needs a `type`: one of exec, fn, curl, mcp, workspace", "mcc.toml: tools.numbers: unknown key `exce` (did you mean `exec`?)"),
    )
    assert broken.json("ana", None, everything=True)["workspaces"] == []
    assert MARK not in repr(watched.told) + str(broken.json("ana", None))


def test_a_file_that_vanishes_is_still_the_one_and_grants_nothing(watched: Watched) -> None:
    watched.write(TEXT)
    watched.watch.look()
    watched.path.unlink()
    watched.found = None

    gone = watched.watch.look()
    assert gone is not None
    assert (gone.state, gone.problems, watched.watch.path) == ("failed", ("mcc.toml: the policy file cannot be read (no such file or directory)",), str(watched.path))


def test_a_file_that_goes_before_the_other_takes_its_place(watched: Watched, tmp_path: Path) -> None:
    watched.write(TEXT)
    watched.watch.look()
    other = tmp_path / "first.toml"
    other.write_text("")
    watched.found = str(other)

    assert watched.watch.path == str(other)
    assert [seen.label for seen in watched.told] == ["mcc.toml", "first.toml"]


@pytest.mark.parametrize(
    ("groups", "everything", "profiles", "workspaces"),
    [
        (frozenset(), False, ["dev", "base"], ["*"]),
        (frozenset({"ops"}), False, ["dev", "base", "ops"], ["*", "ops/*"]),
        (None, False, ["dev", "base", "ops"], ["*", "ops/*"]),
        (frozenset(), True, ["base", "dev", "ops"], ["*", "ops/*"]),
    ],
)
def test_a_user_sees_what_is_for_the_user(groups: frozenset[str] | None, everything: bool, profiles: list[str], workspaces: list[str], watched: Watched) -> None:
    watched.write(TEXT)
    watched.path.chmod(0o646)
    seen = watched.watch.look()

    assert seen is not None
    assert seen.json("ana", groups, everything=everything) == {
        "label": "mcc.toml",
        "state": "loaded",
        "problems": [],
        "notes": [],
        "warnings": ["the policy file may be written by others than its owner; `chmod go-w` takes that away"],
        "profiles": profiles,
        "workspaces": workspaces,
    }


def test_many_threads_that_look_at_once_are_told_of_once(watched: Watched) -> None:
    watched.write(TEXT)
    threads = [threading.Thread(target=watched.watch.look) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(watched.told) == 1
