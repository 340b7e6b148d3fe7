"""SPEC 13.1: a workspace's environment is set when it is created, lives as long as it does, and is shown nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcc_jupyter.core.errors import ArgumentError
from mcc_jupyter.runtime.workspaces import Workspaces, checked

VALUE = "n0t-f0r-any-eyes-4711"


def test_an_environment_is_set_once_and_an_empty_one_changes_nothing(tmp_path: Path) -> None:
    known = Workspaces()
    made, new = known.create(str(tmp_path / "a.ipynb"), {"STAGE": VALUE, "B": ""}, owner="ada")
    assert (new, made.names, made.owner, made.path) == (True, ("B", "STAGE"), "ada", str(tmp_path / "a.ipynb"))
    for empty in (None, {}):
        assert known.create(str(tmp_path / "a.ipynb"), empty) == (made, False)
        assert known.update(made.id, empty) is made
    again = "environment: A, STAGE: is set when a workspace is created and not again; delete the workspace first"
    for action in (lambda: known.create(str(tmp_path / "a.ipynb"), {"STAGE": "x", "A": "y"}), lambda: known.update(made.id, {"STAGE": "x", "A": "y"})):
        with pytest.raises(ArgumentError) as error:
            action()
        assert str(error.value) == again
    assert made.merged({"STAGE": "old", "PATH": "/bin"}) == {"STAGE": VALUE, "PATH": "/bin", "B": ""}
    assert VALUE not in repr(made) + repr(known.get(made.id)) + repr(list(known))


def test_a_workspace_is_found_by_id_and_by_any_name_of_its_file_until_it_is_deleted(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text("{}")
    (tmp_path / "link.ipynb").symlink_to("a.ipynb")
    known = Workspaces(new_id=iter("12").__next__)
    made, _ = known.create(str(tmp_path / "link.ipynb"), {"STAGE": VALUE})
    assert (made.id, known.get("1"), known.for_path(str(tmp_path / "." / "a.ipynb"))) == ("1", made, made)
    assert known.for_path(made.path, real=True) is made
    assert known.for_path(str(tmp_path / "link.ipynb"), real=True) is None
    assert (known.get("2"), known.update("2", {"A": "b"}), known.for_path(str(tmp_path))) == (None, None, None)
    other, _ = known.create(str(tmp_path / "b.ipynb"))
    assert list(known) == [made, other]
    assert [known.delete("1"), known.delete("1")] == [True, False]
    assert (known.for_path(made.path), list(known)) == (None, [other])


REFUSED = [
    ([], "environment: must be an object of names and texts, not a list"),
    ("A=b", "environment: must be an object of names and texts, not a text"),
    (3, "environment: must be an object of names and texts, not a number"),
    ({str(n): "" for n in range(257)}, "environment: at most 256 names; give the workspace fewer"),
    ({"1A": VALUE}, "environment: a name must be letters, digits and `_`, and not begin with a digit"),
    ({"A\n": VALUE}, "environment: a name must be letters, digits and `_`, and not begin with a digit"),
    ({7: VALUE}, "environment: a name must be letters, digits and `_`, and not begin with a digit"),
    ({"MCC_CTX_USER": VALUE}, "environment.MCC_CTX_USER: this name is reserved; use another"),
    ({"MCC_POLICY": VALUE}, "environment.MCC_POLICY: this name is reserved; use another"),
    ({"JPY_SESSION_NAME": VALUE}, "environment.JPY_SESSION_NAME: this name is reserved; use another"),
    ({"A": 3}, "environment.A: must be text, not a number"),
    ({"A": True}, "environment.A: must be text, not a boolean"),
    ({"A": None}, "environment.A: must be text, not null"),
    ({"A": {}}, "environment.A: must be text, not an object"),
    ({"A": b"x"}, "environment.A: must be text, not something else"),
    ({"A": f"{VALUE}\0"}, "environment.A: holds a character that no variable can hold"),
    ({"A": f"{VALUE}\ud800"}, "environment.A: holds a character that no variable can hold"),
    ({"A": "x" * (128 * 1024 + 1)}, "environment.A: is too large; use a file and name its path"),
    ({"A": "x" * 100_000, "B": "x" * 100_000, "C": "x" * 100_000}, "environment.C: is too large; use a file and name its path"),
]


@pytest.mark.parametrize(("environment", "text"), REFUSED)
def test_what_cannot_be_an_environment_is_told_by_place_and_type(environment: object, text: str) -> None:
    with pytest.raises(ArgumentError) as error:
        checked(environment)
    assert str(error.value) == text


def test_what_was_given_is_copied() -> None:
    given = {"A": "b"}
    kept = checked(given)
    given["A"] = "c"
    assert kept == {"A": "b"}
