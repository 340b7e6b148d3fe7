"""Which toolbox is the current one, with which floor and groups, and which cell a declaration stands in."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from traitlets.config import Config

from mcc_jupyter.core.errors import PolicyError
from mcc_jupyter.core.handed import VARIABLE, Handed
from mcc_jupyter.core.tool import DEFAULT_FLOOR, Origin
from mcc_jupyter.runtime import current
from mcc_jupyter.runtime.current import cell_origin, new_toolbox, running_cell, toolbox_for, toolbox_known
from mcc_jupyter.runtime.identity import Identity, acting_as, local_user
from mcc_jupyter.runtime.policy_search import Start
from mcc_jupyter.runtime.toolbox import Toolbox


class Shell:
    """What ``current`` looks at in a shell."""

    def __init__(self, message: object = None, **settings: object) -> None:
        self.config = Config(MccMagics=settings)
        self.message = message

    def get_parent(self) -> object:
        return self.message


def parent() -> dict[str, str]:
    return {"PATH": "/bin", "MCC_ENV_FLOOR": "ONLY_HERE"}


@pytest.fixture(autouse=True)
def start(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment as it stood when the process started; and no toolbox yet."""
    started: dict[str, str] = {}
    monkeypatch.setattr(current, "initial_environment", lambda fallback: started)
    monkeypatch.setattr(current, "_of_process", [])
    return started


@pytest.fixture
def shells() -> Iterator[None]:
    yield
    gc.collect()
    assert not any(isinstance(shell, Shell) for shell in current._of_shells)


def message(cell: object = "c1", run: str = "r1") -> dict[str, object]:
    return {"header": {"msg_id": run}, "metadata": {"cellId": cell}}


# One a shell, one a process


def test_a_shell_has_one_toolbox_which_goes_with_the_shell(shells: None) -> None:
    one, other = Shell(), Shell()

    assert toolbox_for(one, parent) is toolbox_for(one, parent)
    assert toolbox_for(one, parent) is not toolbox_for(other, parent)


def test_asking_for_a_known_toolbox_makes_none() -> None:
    shell = Shell()

    assert toolbox_known(shell) is None
    made = toolbox_for(shell, parent)
    assert toolbox_known(shell) is made


def test_a_process_has_one_toolbox_and_a_forked_one_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    made = toolbox_for(None, parent)

    assert toolbox_for(None, parent) is made
    monkeypatch.setattr(current.os, "getpid", lambda: -1)
    forked = toolbox_for(None, parent)
    assert forked is not made
    assert toolbox_for(None, parent) is forked


def test_a_report_names_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Shell()
    kernel.kernel = None

    assert [toolbox_for(shell, parent).place for shell in (None, Shell(), kernel)] == ["this process", "this shell", "this kernel"]


# Floor and groups


def made(**settings: object) -> Toolbox:
    return toolbox_for(Shell(**settings), parent)


def test_the_floor_is_the_default_where_nobody_set_another() -> None:
    """What the environment says by now does not count: ``parent`` has MCC_ENV_FLOOR."""
    assert made().floor == DEFAULT_FLOOR
    assert toolbox_for(BareShell(), parent).floor == DEFAULT_FLOOR


class BareShell(SimpleNamespace):
    """A shell without a configuration."""

    __hash__ = object.__hash__


def test_the_floor_is_the_variables_as_it_stood_when_the_process_started(start: dict[str, str]) -> None:
    start["MCC_ENV_FLOOR"] = "PATH, HOME"
    assert made().floor == ("PATH", "HOME")
    assert toolbox_for(None, parent).floor == ("PATH", "HOME")


def test_the_configured_floor_goes_before_the_variable(start: dict[str, str]) -> None:
    start["MCC_ENV_FLOOR"] = "HOME"
    assert made(env_floor=["PATH", "LANG", "PATH"]).floor == ("PATH", "LANG")
    assert made(env_floor=("PATH",)).floor == ("PATH",)


def test_groups_are_those_of_the_configuration_else_all() -> None:
    assert made().identity.groups is None
    assert made(groups=["ops", "dev"]).identity.groups == ("ops", "dev")
    assert made(groups=[]).identity.groups == ()


WANTED = "must be a list of names, for example ['PATH', 'HOME']"
LIKE = "write names separated by commas, for example PATH,HOME,LANG"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"env_floor": "PATH,HOME"}, f"c.MccMagics.env_floor {WANTED}"),
        ({"env_floor": [5]}, f"c.MccMagics.env_floor {WANTED}"),
        ({"env_floor": None}, f"c.MccMagics.env_floor {WANTED}"),
        ({"env_floor": {"PATH": 1}}, f"c.MccMagics.env_floor {WANTED}"),
        ({"groups": "ops"}, f"c.MccMagics.groups {WANTED}"),
        ({"env_floor": []}, f"c.MccMagics.env_floor: it names nothing; {LIKE}"),
        ({"env_floor": ["PATH", "HOME LANG"]}, f"c.MccMagics.env_floor: entry 2 is no variable name; {LIKE}"),
        ({"env_floor": ["MCC_CTX"]}, f"c.MccMagics.env_floor: MCC_CTX belongs to the session; {LIKE}"),
        ({"env_flor": ["PATH"]}, "c.MccMagics.env_flor is no setting; there are env_floor, groups and guard"),
    ],
)
def test_a_wrong_configuration_is_a_loud_error(settings: dict[str, object], expected: str) -> None:
    with pytest.raises(PolicyError) as caught:
        made(**settings)
    assert str(caught.value) == expected


def test_a_wrong_variable_is_a_loud_error_each_time_and_never_an_empty_floor(start: dict[str, str]) -> None:
    start["MCC_ENV_FLOOR"] = "[PATH"
    for shell in (None, None, Shell()):
        with pytest.raises(PolicyError) as caught:
            toolbox_for(shell, parent)
        assert str(caught.value) == f"MCC_ENV_FLOOR: it begins like JSON and does not parse; {LIKE}"


# The cell


def test_a_declaration_stands_in_the_cell_that_is_running() -> None:
    assert cell_origin(Shell(message()), "%%mcc_tool t") == Origin("cell", "%%mcc_tool t", "c1", "r1")


def test_without_a_shell_it_stands_in_python() -> None:
    assert cell_origin(None, "@tool f") == Origin("python", "@tool f")


@pytest.mark.parametrize(
    "shell",
    [
        Shell(None),
        Shell({}),
        Shell({"header": {"msg_id": "r1"}, "metadata": {}}),
        Shell({"header": None, "metadata": None}),
        Shell(message(cell=5)),
        BareShell(),
    ],
)
def test_a_host_that_tells_no_cell_id_has_none(shell: object) -> None:
    assert running_cell(shell) == (None, None)
    assert cell_origin(shell, "l") == Origin("cell", "l", None, None)


def test_a_message_without_an_id_gives_the_cell_alone() -> None:
    assert running_cell(Shell({"metadata": {"cellId": "c1"}})) == ("c1", None)


# The policy file


def test_a_policy_file_at_the_start_governs_the_toolbox_whatever_is_configured(tmp_path: Path) -> None:
    (tmp_path / "mcc.toml").write_text("env_floor = ['PATH', 'CORP']\n[tools.a]\nexec = 'x'\n[profiles.p]\ntools = ['a']\n[workspaces.'*']\nprofiles = ['p']\n")
    shell = Shell(env_floor=["PATH", "SECRET"], groups=["ops"])
    shell.starting_dir = str(tmp_path)  # type: ignore[attr-defined]
    box = toolbox_for(shell, parent)

    assert [tool.name for tool in box.registry] == ["a"]
    assert box.floor == ("PATH", "CORP")
    assert box.identity.groups == ("ops",)


def test_a_command_has_a_toolbox_of_its_own_and_says_how_it_was_started(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text("[grants]\nallow = ['A']\n")
    start = Start({}, str(tmp_path), policy="p.toml", workspace="w")

    one, other = new_toolbox(parent, start), new_toolbox(parent, start)
    assert one is not other
    assert (str(one.governed.workspace), one.governed.cap().allow) == ("w", ("A",))  # type: ignore[union-attr]


# Who a server says that it is


@pytest.mark.parametrize(
    ("said", "configured", "user", "groups", "by_server"),
    [
        (None, None, None, None, False),
        (Handed(), None, None, None, False),
        (Handed(groups=("ops",)), ["dev"], None, ("dev",), False),
        (Handed(user="ana"), None, "ana", (), True),
        (Handed(user="ana", groups=("ops",)), ["dev"], "ana", ("ops",), True),
        (Handed(user="ana", groups=None), ["dev"], "ana", ("dev",), True),
        (Handed(user="ana", groups=None), None, "ana", None, True),
    ],
)
def test_the_servers_word_goes_before_what_is_configured_in_the_kernel(said: Handed | None, configured: list[str] | None, user: str | None, groups: tuple[str, ...] | None, by_server: bool) -> None:
    start = Start({} if said is None else {VARIABLE: said.text()})
    identity = current._identity(start, configured)

    assert (identity.user, identity.groups, identity.by_server) == (user or local_user(), groups, by_server)


def test_the_notebook_and_its_kernel_are_in_the_session_whoever_acts(tmp_path: Path) -> None:
    said = Handed(user="ana", groups=("ops",), workspace="/r/a.ipynb", kernel="k1")
    box = new_toolbox(parent, Start({VARIABLE: said.text()}, str(tmp_path)))

    assert box.session["notebook"] == {"path": "/r/a.ipynb", "kernel": "k1"}
    with acting_as(Identity("bob", groups=())):
        assert (box.session["user"], box.session["notebook"]) == ("bob", {"path": "/r/a.ipynb", "kernel": "k1"})
    assert box.standing().footer[0].endswith("Identity: the server's user, groups ops.")
    alone = new_toolbox(parent, Start({VARIABLE: Handed(workspace="/r/a.ipynb", kernel="k1").text()}, str(tmp_path)))
    assert (alone.session["notebook"]["path"], alone.session["user"]) == ("/r/a.ipynb", local_user())
    nowhere = new_toolbox(parent, Start({}, str(tmp_path)))
    assert "notebook" not in nowhere.session
    for one in (box, alone, nowhere):
        one.close()
