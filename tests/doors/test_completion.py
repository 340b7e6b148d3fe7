"""Completion on the lines of our magics, asked as a front end asks IPython's completer."""

from __future__ import annotations

import atexit
import contextlib
import io
import sys
from collections.abc import Iterator

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from mcc_jupyter.runtime.current import toolbox_known

DECLARATIONS = """\
%%mcc_tool
- {name: forecast, exec: x, params: [{name: city}, {name: days, type: int, default: 1}, {name: key, override: hidden}]}
- {name: gone, exec: x, required_env: [NOT_THERE_ANYWHERE]}
- {name: twice, exec: x}
- {name: twice, exec: x, groups: [ops]}
"""


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InteractiveShell]:
    main = sys.modules["__main__"]
    shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}), ipython_dir=str(tmp_path_factory.mktemp("ipython")))
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in ("%load_ext mcc_jupyter", DECLARATIONS, "%mcc_session set row_count=1"):
            assert shell.run_cell(cell).success
    yield shell
    toolbox = toolbox_known(shell)
    assert toolbox is not None
    toolbox.close()
    atexit.unregister(shell.atexit_operations)
    InteractiveShell.clear_instance()
    sys.modules["__main__"] = main


@pytest.fixture(autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty one: IPython offers file names where it may."""
    monkeypatch.chdir(tmp_path_factory.mktemp("empty"))


def completions(shell: InteractiveShell, text: str) -> list[tuple[str, str]]:
    """What stands where the cursor (``|``) is, with each completion in its place; and its type."""
    before, _, after = text.partition("|")
    with provisionalcompleter():
        found = list(shell.Completer.completions(before + after, len(before)))
    return [((before + after)[: item.start] + item.text + (before + after)[item.end :], item.type) for item in found]


def ours(shell: InteractiveShell, text: str) -> list[str]:
    """The completed words of our own completions of a cell whose cursor is at its end."""
    return [whole[text.rindex(" ") + 1 :] for whole, kind in completions(shell, f"{text}|") if kind == "mcc"]


CALL_OPTIONS = ["--json", "--no-raise-error", "--spill", "--timeout", "-o"]
TOOL_OPTIONS = "--cwd --description --env --env-file --group --optional --param --pass --require --stdin --timeout".split()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("%mcc_call ", ["forecast", "ops.twice", "public.twice"]),
        ("%mcc_call for", ["forecast"]),
        ("%mcc_call   for", ["forecast"]),
        ("%mcc_call pub", ["public.twice"]),
        ("%mcc_call forecast ", ["city=", "days=", *CALL_OPTIONS]),
        ("%mcc_call forecast c", ["city="]),
        ("%mcc_call forecast  city=Oslo ", ["days=", *CALL_OPTIONS]),
        ("%mcc_call forecast city=Oslo d", ["days="]),
        ("%mcc_call forecast city=", []),
        ("%mcc_call forecast --", ["--json", "--no-raise-error", "--spill", "--timeout"]),
        ("%mcc_call forecast k", []),
        ("%mcc_call nope ", CALL_OPTIONS),
        ("%mcc_env ", ["--all", "forecast", "gone", "ops.twice", "public.twice"]),
        ("%mcc_env forecast ", ["--all"]),
        ("%mcc_diff ", ["--lock", "forecast", "gone", "ops.twice", "public.twice"]),
        ("%mcc_diff forecast ", ["--lock"]),
        ("%mcc_probe f", ["forecast"]),
        ("%mcc_probe forecast ", []),
        ("%mcc_tools ", ["rm"]),
        ("%mcc_tools rm f", ["forecast"]),
        ("%mcc_tools other ", []),
        ("%mcc_guard ", ["off", "on", "status"]),
        ("%mcc_guard on ", []),
        ("%mcc_session ", ["clear", "del", "get", "list", "set"]),
        ("%mcc_session s", ["set"]),
        ("%mcc_session get r", ["row_count"]),
        ("%mcc_session del us", ["user"]),
        ("%mcc_load x", []),
        ("%%mcc_tool ", TOOL_OPTIONS),
        ("%%mcc_tool t --param a --p", ["--param", "--pass"]),
        ("%%mcc_sh --", ["--env", "--env-file", "--pass", "--timeout"]),
    ],
)
def test_a_line_of_ours_is_completed(shell: InteractiveShell, line: str, words: list[str]) -> None:
    assert ours(shell, line) == words


def test_an_unavailable_tool_is_not_offered_until_it_is_available(shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ours(shell, "%mcc_call g") == []
    monkeypatch.setenv("NOT_THERE_ANYWHERE", "x")
    assert ours(shell, "%mcc_call g") == ["gone"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1\n%mcc_call for|\ny = 2", "x = 1\n%mcc_call forecast\ny = 2"),
        ("if x:\n    %mcc_call for|", "if x:\n    %mcc_call forecast"),
        ("%mcc_call for| city=Oslo", "%mcc_call forecast city=Oslo"),
        ("%%mcc_tool t --para| a\necho", "%%mcc_tool t --param a\necho"),
    ],
)
def test_a_line_is_completed_wherever_it_stands_in_the_cell(shell: InteractiveShell, text: str, expected: str) -> None:
    assert completions(shell, text) == [(expected, "mcc")]


@pytest.mark.parametrize(
    "text",
    ["for|", "%mcc_call|", "%mcc_ca|", "%mcc_|", "forecast(|", "# %mcc_call for|", "print('%mcc_call for|", "%%mcc_tool t\necho --pa|", "%%mcc_tool\n- name: t\n  exec: --pa|", "x\n%%mcc_tool --pa|", "%timeit for|", "|"],
)
def test_what_is_not_ours_is_left_to_others(shell: InteractiveShell, text: str) -> None:
    assert [item for item in completions(shell, text) if item[1] == "mcc"] == []


def test_where_we_have_an_answer_no_other_is_mixed_in(shell: InteractiveShell) -> None:
    assert [kind for _, kind in completions(shell, "%mcc_call f|")] == ["mcc"]
    assert "path" not in {kind for _, kind in completions(shell, "%mcc_session |")}


@pytest.mark.filterwarnings("ignore:.Completer.complete. is pending deprecation:PendingDeprecationWarning")  # it is what we ask
def test_the_older_question_has_the_same_answer(shell: InteractiveShell) -> None:
    assert shell.complete(None, "%mcc_call for", 13) == ("for", ["forecast"])
    assert shell.complete(None, "%mcc_call forecast ", 19) == ("", ["city=", "days=", *CALL_OPTIONS])


def test_a_shell_without_a_completer_needs_none() -> None:
    from mcc_jupyter.doors import ipython

    bare = type("Bare", (), {})()
    ipython.add_matcher(bare)
    ipython.remove_matcher(bare)
    assert vars(bare) == {}


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("%%mcc_tool\nname: x\nrequ|", ["required_env: "]),
        ("%%mcc_tool\nname: x\nrequired_env: [MCC_TEST_N|]", ["MCC_TEST_NAME"]),
        ("%%mcc_tool\nparams:\n  - {name: a, type: fl|", ["float"]),
        ("%%mcc_tool\nname: MCC_TEST_N|", []),
        ("%%mcc_tool x\nrequ|", []),
    ],
)
def test_the_body_of_a_yaml_cell_is_completed(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch, cell: str, words: list[str]
) -> None:
    monkeypatch.setenv("MCC_TEST_NAME", "not to be shown")
    before, _, after = cell.partition("|")
    with provisionalcompleter():
        found = list(shell.Completer.completions(before + after, len(before)))
    assert [item.text for item in found if item.type == "mcc"] == words
    assert not any("not to be shown" in item.text for item in found)


def test_python_is_not_offered_in_the_body_of_a_yaml_cell(shell: InteractiveShell) -> None:
    assert completions(shell, "%%mcc_tool\nname: impor|") == []
