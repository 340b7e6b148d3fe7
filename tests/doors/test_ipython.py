"""The magics in an IPython shell, in every form of SPEC 2 and 7.12. ``test_kernel.py`` drives a real kernel."""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from IPython.core import page
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

import mcc_jupyter
from mcc_jupyter.core.cell import CALL_OPTIONS, SH_OPTIONS, TOOL_OPTIONS
from mcc_jupyter.core.errors import (
    ArgumentError,
    DeclarationError,
    MccError,
    SecretError,
    ToolFailed,
    ToolUnavailable,
    UnknownTool,
)
from mcc_jupyter.core.outcome import Outcome
from mcc_jupyter.core.tool import Shell as ShellBody
from mcc_jupyter.doors import ipython
from mcc_jupyter.runtime.current import toolbox_known
from mcc_jupyter.runtime.toolbox import Toolbox
from tests.processes import alive, until

MARK = "n0t-f0r-any-eyes-4711"
"""The value of a variable that no text may hold."""


@dataclass(frozen=True)
class Ran:
    """One cell: what it printed, what it displayed as text, and how it ended."""

    out: str
    err: str
    shown: list[str]
    value: object
    error: BaseException | None

    @property
    def text(self) -> str:
        return "\n".join([self.out, self.err, *self.shown])


class Notebook:
    """Cells of one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell

    def __call__(self, source: str) -> Ran:
        with capture_output() as captured:
            result = self.shell.run_cell(source, store_history=True)
        shown = [output.data.get("text/plain", "") for output in captured.outputs]
        return Ran(captured.stdout, captured.stderr, shown, result.result, result.error_before_exec or result.error_in_exec)

    def fine(self, source: str) -> Ran:
        ran = self(source)
        assert ran.error is None, ran.text
        return ran

    def declare(self, text: str) -> Ran:
        return self.fine("%%mcc_tool\n" + textwrap.dedent(text))

    def fails(self, source: str, kind: type[MccError], text: str) -> Ran:
        """The cell ends in one line: the error's class and its text."""
        ran = self(source)
        assert type(ran.error) is kind, ran.text
        assert str(ran.error) == text
        assert ran.out.endswith(f"{kind.__name__}: {text}\n")
        assert "Traceback" not in ran.text
        assert "UsageError" not in ran.text
        return ran

    @property
    def toolbox(self) -> Toolbox:
        known = toolbox_known(self.shell)
        assert known is not None
        return known

    @property
    def keys(self) -> list[str]:
        return [tool.key for tool in self.toolbox.registry]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InteractiveShell]:
    main = sys.modules["__main__"]
    config = Config(HistoryManager={"enabled": False})
    shell = InteractiveShell.instance(config=config, ipython_dir=str(tmp_path_factory.mktemp("ipython")))
    shell.run_line_magic("colors", "nocolor")
    shell.set_hook("show_in_pager", page.as_hook(page.display_page), 99)  # help without a program that pages
    shell.run_line_magic("load_ext", "mcc_jupyter")
    assert shell.run_cell("%%mcc_sh\ntrue").success  # the launcher is not one test's
    yield shell
    known = toolbox_known(shell)
    assert known is not None
    known.close()
    atexit.unregister(shell.atexit_operations)
    InteractiveShell.clear_instance()
    sys.modules["__main__"] = main


@pytest.fixture
def notebook(shell: InteractiveShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    """A shell whose extension is loaded, with no tool, an empty session, and a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_TOKEN", MARK)
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    yield Notebook(shell)
    if "mcc_tool" not in shell.magics_manager.magics["cell"]:
        mcc_jupyter.load_ipython_extension(shell)
    toolbox = Notebook(shell).toolbox
    for tool in toolbox.registry:
        toolbox.registry.remove(tool.key)
    toolbox.session.clear()
    for name in set(shell.user_ns) & {"x", "a", "answer", "cap", "mcc", "tool"}:
        del shell.user_ns[name]


ECHO = """\
name: t
exec: printf '%s\\n' {{ a | quote }}
params: [{name: a, type: str}]
"""


# Loading


def added(shell: InteractiveShell) -> dict[str, list[str]]:
    """Everything in a shell that is ours."""
    manager = shell.magics_manager
    return {
        "line": sorted(name for name in manager.magics["line"] if "mcc" in name),
        "cell": sorted(name for name in manager.magics["cell"] if "mcc" in name),
        "registry": [name for name in manager.registry if "Mcc" in name],
        "configurables": [type(item).__name__ for item in shell.configurables if "Mcc" in type(item).__name__],
        "hooks": [hook.__qualname__ for hook in shell.events.callbacks["post_run_cell"] if "mcc_jupyter" in hook.__module__],
        "matchers": [m.matcher_identifier for m in shell.Completer.custom_matchers if "mcc" in getattr(m, "matcher_identifier", "")],
    }


LOADED = {
    "line": ["mcc_call", "mcc_diff", "mcc_env", "mcc_guard", "mcc_load", "mcc_policy", "mcc_probe", "mcc_session", "mcc_skills", "mcc_tools", "mcc_use"],
    "cell": ["mcc_sh", "mcc_tool"],
    "registry": ["MccMagics"],
    "configurables": ["MccMagics"],
    "hooks": ["MccMagics.forget_left", "Publishing.after_cell"],
    "matchers": ["mcc_jupyter"],
}


def test_MAGIC_05_loading_twice_says_so_and_adds_nothing(notebook: Notebook) -> None:
    assert added(notebook.shell) == LOADED
    assert "already loaded" in notebook.fine("%load_ext mcc_jupyter").out
    assert added(notebook.shell) == LOADED
    mcc_jupyter.load_ipython_extension(notebook.shell)
    assert added(notebook.shell) == LOADED


def test_MAGIC_05_tools_and_session_survive_a_reload_and_nothing_is_doubled(notebook: Notebook) -> None:
    notebook.declare(ECHO)
    notebook.fine("%mcc_session set note=kept")
    notebook.fine("%reload_ext mcc_jupyter")

    assert added(notebook.shell) == LOADED
    assert notebook.keys == ["public.t"]
    assert notebook.fine("%mcc_call t a=1").out == "1\n"
    assert notebook.fine("%mcc_session get note").value == "kept"


def test_unloading_takes_everything_back_and_loading_again_finds_tools_and_session(notebook: Notebook) -> None:
    notebook.declare(ECHO)
    notebook.fine("%mcc_session set note=kept")
    notebook.fine("%unload_ext mcc_jupyter")

    assert added(notebook.shell) == {name: [] for name in LOADED}
    assert isinstance(notebook("%mcc_tools").error, UsageError)

    notebook.fine("%load_ext mcc_jupyter")
    assert added(notebook.shell) == LOADED
    assert notebook.fine("%mcc_call t a=1").out == "1\n"
    assert notebook.fine("%mcc_session get note").value == "kept"


def test_unloading_what_was_never_loaded_does_nothing(notebook: Notebook) -> None:
    ipython.unload(notebook.shell)
    ipython.unload(notebook.shell)
    assert added(notebook.shell) == {name: [] for name in LOADED}


def test_on_windows_loading_is_a_clear_error(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(ipython.sys, "platform", "win32")
        with pytest.raises(ImportError) as caught:
            ipython.load(notebook.shell)
    assert str(caught.value) == "mcc_jupyter runs on Linux and macOS; on Windows use it inside WSL"


# Help


@pytest.mark.parametrize("magic", [*(f"%{name}" for name in LOADED["line"]), *(f"%%{name}" for name in LOADED["cell"])])
def test_every_magic_has_help_that_begins_with_a_sentence_and_shows_the_line(notebook: Notebook, magic: str) -> None:
    text = notebook.fine(f"{magic}?").text
    sentence, _, rest = text.partition("Docstring:\n")[2].partition("\n")

    assert sentence.endswith(".")
    assert f"\n{magic}" in rest


@pytest.mark.parametrize(("magic", "options"), [("%%mcc_tool", TOOL_OPTIONS), ("%%mcc_sh", SH_OPTIONS), ("%mcc_call", CALL_OPTIONS)])
def test_the_help_names_every_option(notebook: Notebook, magic: str, options: tuple[object, ...]) -> None:
    text = notebook.fine(f"{magic}?").text

    assert [option.flag for option in options if option.flag not in text] == []


def test_the_help_of_a_call(notebook: Notebook) -> None:
    text = notebook.fine("%mcc_call?").text

    assert "%mcc_call NAME k=v … [--json '{…}'] [--timeout SECONDS] [-o VAR] [--spill FILE] [--no-raise-error]\n" in text
    assert "A failed tool raises ToolFailed unless --no-raise-error is given." in text


# Declaring with YAML (SPEC 2.1)


@pytest.mark.parametrize(
    ("body", "keys"),
    [
        ("name: one\nexec: x\n", ["public.one"]),
        ("- name: one\n  exec: x\n- name: two\n  exec: [echo]\n", ["public.one", "public.two"]),
        ("groups: [ops]\nenv: {A: b}\ntools:\n  - name: one\n    exec: x\n  - name: two\n    exec: x\n    groups: [public]\n", ["ops.one", "public.two"]),
    ],
    ids=["mapping", "list", "file form"],
)
def test_the_body_is_one_tool_or_a_list_or_the_file_form(notebook: Notebook, body: str, keys: list[str]) -> None:
    ran = notebook.fine(f"%%mcc_tool\n{body}")

    assert notebook.keys == keys
    assert [text.splitlines()[0].split()[:3] for text in ran.shown] == [[key.rpartition(".")[2], "exec", "available"] for key in keys]
    assert ran.value is None


def test_declaring_runs_no_tool(notebook: Notebook, tmp_path: Path) -> None:
    notebook.declare("name: t\nexec: touch ran\n")
    assert list(tmp_path.iterdir()) == []


def test_a_report_has_text_and_html_and_a_versioned_json(notebook: Notebook) -> None:
    with capture_output() as captured:
        notebook.shell.run_cell(f"%%mcc_tool\n{ECHO}")
    [report] = captured.outputs

    assert sorted(report.data) == ["application/vnd.mcc.report.v1+json", "text/html", "text/plain"]
    assert report.data["application/vnd.mcc.report.v1+json"]["version"] == 1


def test_a_cell_of_many_tools_shows_a_list_of_them(notebook: Notebook) -> None:
    [shown] = notebook.declare("\n".join(f"- {{name: t{at}, exec: x, description: Number {at}}}" for at in range(6))).shown

    lines = [line.split(maxsplit=3) for line in shown.splitlines()]
    assert lines[0] == ["TOOL", "KIND", "STATE", "DESCRIPTION"]
    assert lines[1] == ["t0", "exec", "available", "Number 0"]
    assert len(lines) == 7


def test_every_error_is_listed_and_the_good_tools_stand(notebook: Notebook) -> None:
    ran = notebook("%%mcc_tool\n- name: good\n  exec: echo\n- name: bad\n  exec: 5\n- name: worse\n  exec: x\n  params: [{name: a, type: uuid}]\n")

    assert isinstance(ran.error, DeclarationError)
    assert [problem.path for problem in ran.error.problems] == ["tools[1].exec", "tools[2].params[0].type"]
    assert notebook.keys == ["public.good"]
    assert len(ran.shown) == 1
    assert ran.out == f"DeclarationError: {ran.error}\n"


def test_MAGIC_02_a_body_of_yaml_is_never_expanded(notebook: Notebook) -> None:
    notebook.shell.user_ns["x"] = "EXPANDED"
    notebook.declare("name: t\nexec: |\n  echo {{ a | quote }} {x} $x é\n  %cd /\n  !ls\nparams: [{name: a}]\n")

    body = notebook.toolbox.registry.find("t").body
    assert isinstance(body, ShellBody)
    assert body.written == "echo {{ a | quote }} {x} $x é\n%cd /\n!ls\n"


def test_MAGIC_02_a_body_of_shell_arrives_byte_for_byte(notebook: Notebook) -> None:
    notebook.shell.user_ns["x"] = "EXPANDED"
    text = "%cd x\n!ls {x} $x\t \n\techo {{ 1 }} \\\n  é  \n? help\n"
    notebook.fine(f"%%mcc_tool t\n{text}")

    body = notebook.toolbox.registry.find("t").body
    assert isinstance(body, ShellBody)
    assert body.written == text


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("name: t\r\nexec: |\r\n  echo a\r\n  echo b\r\n", None, id="MAGIC-19 CRLF"),
        pytest.param("name: t\nlimits:\n\ttimeout: 3\n", "YAML line 4, column 1: a TAB; indent with blanks", id="MAGIC-19 TAB"),
        pytest.param("name: t\nexec: x\nexec: y\n", "YAML line 4, column 1: the key `exec` stands twice; keep one", id="MAGIC-20 duplicate key"),
        pytest.param("name: t\nexec: x\n---\nname: u\nexec: x\n", "document", id="MAGIC-20 two documents"),
        pytest.param("- name: t\n  exec: x\n", None, id="MAGIC-20 list"),
        pytest.param("name: t\nexec: x\nenv_passthru: true\n", "unknown key `env_passthru` (did you mean `env_passthrough`?) (line 4)", id="MAGIC-20 near match"),
        pytest.param("name: t\nexec: echo hi: there\n", "line 3", id="MAGIC-20 colon"),
        pytest.param("name: t\nexec: {{ x }}\n", "line 3", id="MAGIC-20 braces"),
        pytest.param("a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n", "alias", id="MAGIC-20 anchors"),
        pytest.param("name: t\nexec: !!python/object/apply:os.system ['touch ran']\n", "YAML line 3, column 7: a tag `!…` is not allowed", id="MAGIC-20 tag"),
    ],
)
def test_yaml_in_a_cell(notebook: Notebook, tmp_path: Path, body: str, expected: str | None) -> None:
    ran = notebook(f"%%mcc_tool\n{body}")

    if expected is None:
        assert ran.error is None
        assert notebook.keys == ["public.t"]
    else:
        assert isinstance(ran.error, DeclarationError)
        assert expected in str(ran.error)
        assert notebook.keys == []
    assert list(tmp_path.iterdir()) == []


# Declaring with shell (SPEC 2.2)


def test_a_name_and_every_option_on_the_line(notebook: Notebook, tmp_path: Path) -> None:
    (tmp_path / "one.env").write_text("FROM_FILE=file\n")
    (tmp_path / "sub").mkdir()
    line = (
        "t --param who --param n:int=2 --param 'tag?' --env A=1 --env 'B=two words' --env-file one.env --pass 'AWS_*' --require GITHUB_TOKEN "
        "--optional NOT_THERE --cwd sub --timeout 30 --group ops --group public --stdin --description 'Says it'"
    )
    body = "echo {{ who | quote }} {{ n }} $A '${B}' $FROM_FILE $AWS_REGION ${GITHUB_TOKEN:+set}\npwd\ncat\necho\n"
    shown = notebook.fine(f"%%mcc_tool {line}\n{body}").shown[0]
    tool = notebook.toolbox.registry.find("t")

    assert (tool.key, tool.description, tool.limits.timeout, tool.stdin) == ("public.ops.t", "Says it", 30.0, True)
    assert [(param.name, param.type, param.required) for param in tool.params] == [("who", "str", True), ("n", "int", False), ("tag", "str", False)]
    for name in ("A", "B", "FROM_FILE", "AWS_REGION", "GITHUB_TOKEN", "NOT_THERE"):
        assert name in shown
    first, folder, given, _ = notebook.fine("%mcc_call t who='you there'").out.splitlines()
    assert first == "you there 2 1 two words file eu-north-1 set"
    assert json.loads(given)["who"] == "you there"
    assert folder == str(tmp_path / "sub")


@pytest.mark.parametrize(
    ("cell", "kind", "text"),
    [
        ("%%mcc_tool t --parm a\nx", DeclarationError, "unknown option `--parm` (did you mean `--param`?)"),
        ("%%mcc_tool t u\nx", DeclarationError, "write one name before the options: `%%mcc_tool NAME [options]`"),
        ("%%mcc_tool --stdin\nx", DeclarationError, "write one name before the options: `%%mcc_tool NAME [options]`"),
        ("%%mcc_tool t --timeout soon\nx", DeclarationError, "--timeout: expected a number of seconds above 0"),
        ("%%mcc_tool t --env\nx", DeclarationError, "--env: needs a value: `--env NAME=VALUE`"),
        ("%%mcc_tool t 'open\nx", DeclarationError, "a quote or a backslash on the line of the magic has no end"),
        ("%%mcc_sh --param a\nx", DeclarationError, "unknown option `--param` (did you mean `--pass`?)"),
        ("%%mcc_sh t\nx", DeclarationError, "takes options only; the commands stand in the cell"),
        ("%mcc_load", ArgumentError, "%mcc_load: write `%mcc_load PATH…`; `%mcc_load?` shows the help"),
        ("%mcc_load --all x", ArgumentError, "%mcc_load: write `%mcc_load PATH…`; `%mcc_load?` shows the help"),
        ("%mcc_load 'x", ArgumentError, "%mcc_load: write `%mcc_load PATH…`; `%mcc_load?` shows the help"),
        ("%mcc_call", ArgumentError, "write the tool's name first: `%mcc_call NAME name=value …`"),
        ("%mcc_call --bad", ArgumentError, "unknown option `--bad`"),
        ("%mcc_call t a=1 --timout 3", ArgumentError, "unknown option `--timout` (did you mean `--timeout`?)\nargument 2: expected NAME=VALUE; quote a value that holds blanks"),
        ("%mcc_call t -o 5", ArgumentError, "-o: expected the name of a variable"),
        ("%mcc_call t a='x", ArgumentError, "a quote is not closed; quote a value that holds one as a whole"),
        ("%mcc_tools rm", ArgumentError, "%mcc_tools: write `%mcc_tools [rm NAME…]`; `%mcc_tools?` shows the help"),
        ("%mcc_tools remove t", ArgumentError, "%mcc_tools: write `%mcc_tools [rm NAME…]`; `%mcc_tools?` shows the help"),
        ("%mcc_tools --all", ArgumentError, "%mcc_tools: write `%mcc_tools [rm NAME…]`; `%mcc_tools?` shows the help"),
        ("%mcc_env t u", ArgumentError, "%mcc_env: write `%mcc_env [TOOL] [--all]`; `%mcc_env?` shows the help"),
        ("%mcc_env --all", ArgumentError, "%mcc_env: write `%mcc_env [TOOL] [--all]`; `%mcc_env?` shows the help"),
        ("%mcc_env t --al", ArgumentError, "%mcc_env: write `%mcc_env [TOOL] [--all]`; `%mcc_env?` shows the help"),
        ("%mcc_env t --all=x", ArgumentError, "%mcc_env: write `%mcc_env [TOOL] [--all]`; `%mcc_env?` shows the help"),
        *(
            (f"%mcc_diff {line}", ArgumentError, "%mcc_diff: write `%mcc_diff [TOOL] [--lock | --lock=FILE]`; `%mcc_diff?` shows the help")
            for line in ("t u", "--lock --lock", "--lok", "t --all", "a b c")
        ),
        ("%mcc_probe", ArgumentError, "%mcc_probe: write `%mcc_probe TOOL`; `%mcc_probe?` shows the help"),
        ("%mcc_probe t u", ArgumentError, "%mcc_probe: write `%mcc_probe TOOL`; `%mcc_probe?` shows the help"),
        *(
            (f"%mcc_session {line}", ArgumentError, "%mcc_session: write `%mcc_session set KEY=VALUE … | get KEY | del KEY | list | clear`; `%mcc_session?` shows the help")
            for line in ("set", "set a", "get", "del", "list all", "wat", "--help")
        ),
    ],
)
def test_a_wrong_line_is_our_error_in_one_line_a_problem(notebook: Notebook, cell: str, kind: type[MccError], text: str) -> None:
    notebook.fails(cell, kind, text)


# Files (SPEC 2.4)


def test_files_folders_and_globs_are_loaded(notebook: Notebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for path in ("a.yaml", "folder/b.yml", "folder/c.yaml", "folder/no.txt", "globbed/d1.yaml", "globbed/e.yaml", "home/h.yaml"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(f"name: {Path(path).stem}\nexec: pwd\n")
    ran = notebook.fine("%mcc_load a.yaml folder globbed/d*.yaml ~/h.yaml")

    assert notebook.keys == ["public.a", "public.b", "public.c", "public.d1", "public.h"]
    assert len(ran.shown) == 5
    assert notebook.fine("%mcc_call b").out == f"{tmp_path}/folder\n"


def test_the_same_key_from_two_files_is_an_error_that_names_both(notebook: Notebook, tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text("name: t\nexec: x\n")
    notebook.fails("%mcc_load a.yaml b.yaml", DeclarationError, "b.yaml: public.t: declared in a.yaml and in b.yaml; rename one or give it another group")
    assert notebook.keys == ["public.t"]


def test_one_bad_file_stops_no_other(notebook: Notebook, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(f"name: t\nexec: x\nenv: {{PW: [{MARK}]}}\n")
    (tmp_path / "good.yaml").write_text("name: good\nexec: x\n")
    ran = notebook("%mcc_load missing.yaml bad.yaml good.yaml")

    assert isinstance(ran.error, DeclarationError)
    assert [str(problem).partition(":")[0] for problem in ran.error.problems] == ["missing.yaml", "bad.yaml"]
    assert notebook.keys == ["public.good"]
    assert MARK not in ran.text


# Declaring again (SPEC 2.5); with cell ids in test_kernel.py


def test_MAGIC_09_running_a_cell_again_replaces_and_a_failed_declaration_keeps_the_old_tool(notebook: Notebook) -> None:
    notebook.declare(ECHO)
    assert notebook.declare(ECHO).out == ""
    ran = notebook("%%mcc_tool\nname: t\nexec: echo new\nenv_passthru: true\n")

    assert isinstance(ran.error, DeclarationError)
    assert notebook.fine("%mcc_call t a=old").out == "old\n"


def test_tools_are_listed_and_removed(notebook: Notebook) -> None:
    assert notebook.fine("%mcc_tools").shown == ["no tools are declared"]
    notebook.declare("- {name: b, exec: x, required_env: [NOT_THERE]}\n- {name: a, exec: x, description: First line}\n- {fn: 'json:loads', name: f}\n")
    assert [line.split()[:3] for line in notebook.fine("%mcc_tools").shown[0].splitlines()] == [
        ["TOOL", "KIND", "STATE"],
        ["a", "exec", "available"],
        ["b", "exec", "unavailable"],
        ["f", "fn", "available"],
    ]
    assert notebook.fine("%mcc_tools rm b").out == "removed public.b\n"
    assert notebook.keys == ["public.a", "public.f"]
    notebook.fails("%mcc_tools rm b", UnknownTool, "No tool 'b' is declared here")
    notebook.declare("- {name: x, exec: x}\n- {name: y, exec: x}\n")
    assert notebook.fine("%mcc_tools rm x y").out == "removed public.x\nremoved public.y\n"


def test_a_function_that_prints_when_it_is_imported_prints_in_the_cell(notebook: Notebook, tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text("print('imported')\ndef f(): return 1\n")
    assert notebook.declare("fn: loud:f\n").out == "imported\n"


# Running once (SPEC 2.10)


def test_a_cell_of_shell_runs_once_with_just_its_environment(notebook: Notebook, tmp_path: Path) -> None:
    (tmp_path / "one.env").write_text("FROM_FILE=file\n")
    ran = notebook.fine("%%mcc_sh --pass 'AWS_*' --env A='x y' --env-file one.env --timeout 60\necho $AWS_REGION $A $FROM_FILE ${GITHUB_TOKEN-none} {x} {{ y }}")

    assert ran.out.splitlines()[0] == "eu-north-1 x y file none {x} {{ y }}"
    assert notebook.keys == []


def test_a_cell_of_shell_that_fails_stops_the_notebook(notebook: Notebook) -> None:
    ran = notebook.fails("%%mcc_sh\necho before; exit 3", ToolFailed, "Tool 'mcc_sh' failed with exit code 3")
    assert ran.out.startswith("before\n")


# Calling (SPEC 7.12)


@pytest.mark.parametrize(
    "line",
    ["a={100}", "a=$x", 'a={"k":1}', "a={{x}}", "a={x}", "a={x!r}", "a=${HOME}", "a=don't", "a=[1, 2]", "a=é"],
)
@pytest.mark.parametrize("defined", [False, True], ids=["without a variable", "with a variable of that name"])
def test_MAGIC_01_a_line_is_taken_as_it_stands(notebook: Notebook, line: str, defined: bool) -> None:
    notebook.declare(ECHO)
    if defined:
        notebook.shell.user_ns |= {"x": "EXPANDED", "a": "EXPANDED"}

    out = notebook.fine(f"%mcc_call t {line}").out
    assert [said for said in out.splitlines() if not said.startswith("note: `a` is the text as you typed it")] == [line.removeprefix("a=")]


def test_arguments_are_split_outside_quotes_and_brackets_and_coerced(notebook: Notebook) -> None:
    notebook.declare(
        """
        name: t
        exec: printf '%s|' {{ text | quote }} {{ number + 1 }} {{ flag }} {{ items | quote }} {{ table['k'] }}
        params:
          - {name: text}
          - {name: number, type: int}
          - {name: flag, type: bool}
          - {name: items, type: list}
          - {name: table, type: dict}
        """
    )
    expected = "two words|42|true|1|b c|v|"

    assert notebook.fine("""%mcc_call t text="two words" number=41 flag=yes items=[1, "b c"] table={"k": "v"}""").out == expected
    assert notebook.fine("""%mcc_call t --json '{"text": "two words", "number": 41, "flag": true, "items": [1, "b c"], "table": {"k": "v"}}'""").out == expected


def test_wrong_arguments_are_all_told_and_none_is_shown(notebook: Notebook) -> None:
    notebook.declare("name: t\nexec: x\nparams: [{name: number, type: int}, {name: kind, enum: [a, b]}]\n")
    ran = notebook(f"%mcc_call t number={MARK} kind={MARK} numbr=1")

    assert isinstance(ran.error, ArgumentError)
    assert "unknown argument `numbr` (did you mean `number`?)" in str(ran.error)
    assert len(str(ran.error).splitlines()) == 3
    assert ran.out == f"ArgumentError: {ran.error}\n"
    assert MARK not in ran.text


def test_a_failed_tool_raises_so_that_run_all_stops(notebook: Notebook) -> None:
    notebook.declare("name: t\nexec: echo out; echo err >&2; exit 3\n")
    ran = notebook.fails("%mcc_call t", ToolFailed, "Tool 't' failed with exit code 3")

    assert ran.out == "out\nToolFailed: Tool 't' failed with exit code 3\n"
    assert ran.err == "err\n"


def test_a_failure_can_be_shown_and_kept_instead(notebook: Notebook) -> None:
    notebook.declare("name: t\nexec: echo out; exit 3\n")
    ran = notebook.fine("%mcc_call t --no-raise-error -o answer")
    answer = notebook.shell.user_ns["answer"]

    assert ran.out == "out\nTool 't' failed with exit code 3\n"
    assert isinstance(answer, Outcome)
    assert (answer.ok, answer.exit_code, answer.stdout) == (False, 3, "out\n")


def test_the_outcome_is_kept_also_when_the_tool_raises(notebook: Notebook) -> None:
    notebook.declare("name: t\nexec: exit 3\n")
    assert isinstance(notebook("%mcc_call t -o answer").error, ToolFailed)
    assert notebook.shell.user_ns["answer"].exit_code == 3


def test_a_call_has_a_time_limit_of_its_own(notebook: Notebook) -> None:
    notebook.declare("name: t\nexec: echo begun; sleep 60\n")
    ran = notebook.fails("%mcc_call t --timeout 0.5", ToolFailed, "Tool 't' was stopped at its time limit, 0.5 s (of this call)")

    assert ran.out.startswith("begun\n")


def test_a_functions_prints_and_its_result_are_shown(notebook: Notebook, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def f(n: int):\n    print('working')\n    return {'n': n}\n\ndef nothing():\n    pass\n\ndef bad():\n    raise ValueError('no such thing')\n")
    notebook.declare("- fn: mine:f\n- fn: mine:nothing\n- fn: mine:bad\n")

    ran = notebook.fine("%mcc_call f n=3")
    assert (ran.out, ran.shown) == ("working\n", ["{'n': 3}"])
    assert notebook.fine("%mcc_call nothing").shown == []
    failed = notebook("%mcc_call bad")
    assert failed.out == "ToolFailed: Tool 'bad' failed: ValueError: no such thing\n"
    assert failed.err == f"""Traceback (most recent call last):
  File "{tmp_path}/mine.py", line 9, in bad
    raise ValueError('no such thing')
ValueError: no such thing
"""


def test_a_cached_outcome_is_shown_again(notebook: Notebook, tmp_path: Path) -> None:
    notebook.declare("name: t\nexec: echo x >> count; echo out\ncache_ttl: 600\n")

    assert [notebook.fine("%mcc_call t").out for _ in range(2)] == ["out\n", "out\n"]
    assert (tmp_path / "count").read_text() == "x\n"


def test_notes_of_a_call_are_shown(notebook: Notebook) -> None:
    notebook.declare("name: t\nexec: echo GITHUB_TOKEN is needed >&2; exit 1\n")

    assert "note: mentions GITHUB_TOKEN, which exists here and is not granted" in notebook("%mcc_call t").out


def test_MAGIC_08_output_goes_through_pythons_streams(notebook: Notebook) -> None:
    notebook.declare("name: t\nexec: echo out; echo err >&2\n")
    ran = notebook.fine("%%capture cap\n%mcc_call t")

    assert (ran.out, ran.err) == ("", "")
    assert (notebook.shell.user_ns["cap"].stdout, notebook.shell.user_ns["cap"].stderr) == ("out\n", "err\n")


def test_MAGIC_11_a_stream_needs_no_descriptor(notebook: Notebook) -> None:
    notebook.declare(ECHO)
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        notebook.shell.run_line_magic("mcc_call", "t a=here")

    assert text.getvalue() == "here\n"


def test_MAGIC_17_what_is_not_declared_in_this_kernel_says_which_is_near(notebook: Notebook) -> None:
    notebook.declare(ECHO.replace("name: t", "name: forecast"))
    notebook.fails("%mcc_call forcast a=1", UnknownTool, "No tool 'forcast' is declared here (did you mean `forecast`?); run the cell that declares it")


def test_an_unavailable_tool_says_what_is_missing_and_starts_nothing(notebook: Notebook, tmp_path: Path) -> None:
    shown = notebook.declare("name: linear\nexec: touch ran\nrequired_env: [LINEAR_API_KEY]\n").shown[0]
    notice = "Tool 'linear' is unavailable; missing required environment: LINEAR_API_KEY"

    assert notice in shown
    notebook.fails("%mcc_call linear", ToolUnavailable, notice)
    assert list(tmp_path.iterdir()) == []


def test_a_variable_set_in_the_notebook_counts_from_the_next_call(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook.declare("name: t\nexec: echo ${LATE:+there}\nrequired_env: [LATE]\n")
    assert isinstance(notebook("%mcc_call t").error, ToolUnavailable)
    monkeypatch.setenv("LATE", "long-enough-value")
    assert notebook.fine("%mcc_call t").out == "there\n"


# Seeing


def test_the_environment_of_a_tool_and_of_all_tools_by_name(notebook: Notebook) -> None:
    notebook.declare("- {name: t, exec: x, env_passthrough: ['GIT*']}\n- {name: u, exec: git log}\n")

    one, everything, all_tools = (notebook.fine(f"%mcc_env {line}").shown[0] for line in ("t", "u --all", ""))
    assert "GITHUB_TOKEN" in one
    assert "passthrough" in one
    assert "withheld" not in one
    assert "withheld" in everything
    assert "GITHUB_TOKEN" in everything
    assert "git" in everything
    assert "GITHUB_TOKEN" in all_tools
    assert ["t", "P"] in [line.split()[:2] for line in all_tools.splitlines()]
    assert MARK not in one + everything + all_tools
    notebook.fails("%mcc_env w", UnknownTool, "No tool 'w' is declared here; run the cell that declares it")


def test_a_report_is_the_same_in_two_runs(notebook: Notebook) -> None:
    assert notebook.declare(ECHO).shown == notebook.declare(ECHO).shown
    assert notebook.fine("%mcc_env t").shown == notebook.fine("%mcc_env t").shown


def test_a_diff_tells_what_a_declaration_changes(notebook: Notebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    notebook.declare("name: dt\nexec: x\nrequired_env: [HOST_NAME]\n")
    assert notebook.fine("%mcc_diff dt").out == "dt +exec tool\ndt +HOST_NAME required\n"
    notebook.declare("name: dt\nexec: x\nenv_passthrough: [GITHUB_TOKEN]\nrequired_env: [HOST_NAME]\n")
    assert notebook.fine("%mcc_diff").out == "dt +GITHUB_TOKEN passthrough\n"
    notebook.declare("name: dt\nexec: x\nenv_passthrough: [GITHUB_TOKEN]\nrequired_env: [HOST_NAME]\n")
    assert notebook.fine("%mcc_diff dt").out == "nothing changed\n"

    notebook.fails("%mcc_diff dt --lock", DeclarationError, f"{tmp_path}/mcc.lock: there is no such lock; write it with `mcc-jupyter check --update`")
    (tmp_path / "mcc.lock").write_text('version = 1\n[files."nb.ipynb".dt]\ntool = ["exec"]\nrequired = ["HOST_NAME"]\ngroups = ["public"]\n')
    assert notebook.fine("%mcc_diff dt --lock").out == "dt +GITHUB_TOKEN passthrough\n"
    assert notebook.fine("%mcc_diff --lock=mcc.lock").out == "dt +GITHUB_TOKEN passthrough\n"


@pytest.mark.parametrize("body", ["name: t\nexec: x\nenv: {A: b}\nenv_passthrough: ['AWS_*', GITHUB_TOKEN]\n", "name: t\nfn: json:loads\nenv: {PYTHONPATH: /nowhere}\n", "name: t\nexec: x\nenv_passthrough: true\n"], ids=["exec", "fn", "all"])
def test_a_probe_finds_the_names_of_the_report(notebook: Notebook, body: str) -> None:
    notebook.declare(body)
    text = notebook.fine("%mcc_probe t").out

    assert text.startswith("t: the child received exactly the ")
    assert text.endswith(" names of the report\n")


# The session (SPEC 6.2)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5), ("1.0", 1.0), ("true", True), ("null", None), ('"5"', "5"), ("[1, 2]", [1, 2]), ('{"k": "v"}', {"k": "v"}),
        ("'two words'", "two words"), ('"two words"', "two words"), (r'"a\nb"', "a\nb"), ("'5'", "5"), ("['a']", "['a']"), ("", ""), ("a=b", "a=b"), ("{x}", "{x}"), ("$x", "$x"), ("NaN", "NaN"),
    ],
)  # fmt: skip
def test_the_session_keeps_json_and_other_text_as_it_is(notebook: Notebook, text: str, value: object) -> None:
    notebook.shell.user_ns["x"] = "EXPANDED"
    notebook.fine(f"%mcc_session set k = {text}")
    got = notebook.fine("%mcc_session get k").value

    assert (got, type(got)) == (value, type(value))


def test_several_entries_are_set_at_once_or_none_of_them(notebook: Notebook) -> None:
    notebook.fine("%mcc_session set a=1 b='x y' c=[1, 2]  d=\"z\"  # and a comment")
    assert {key: notebook.toolbox.session[key] for key in "abcd"} == {"a": 1, "b": "x y", "c": [1, 2], "d": "z"}
    notebook.fails("%mcc_session set a=2 user=root", ArgumentError, "session: `user` belongs to the identity and cannot be changed; use another key")
    notebook.fails("%mcc_session set a=2 hello there", ArgumentError, "arguments 2, 3: expected NAME=VALUE; quote a value that holds blanks")
    notebook.fails("%mcc_session set a=2 a=3", ArgumentError, "the argument `a` is given twice; keep one")
    assert notebook.toolbox.session["a"] == 1


def test_a_python_variable_on_the_line_of_a_magic_is_told_not_to_be_expanded(notebook: Notebook) -> None:
    notebook.shell.user_ns["city"] = "Oslo"
    notebook.declare("name: t\nexec: echo {{ city | quote }}\nparams: [{name: city}]\n")
    told = "is the text as you typed it, because no variable is expanded here"
    assert notebook.fine("%mcc_call t city={city}").out == f"note: `city` {told}; call it from Python: mcc.tools.NAME(city=…)\n{{city}}\n"
    assert notebook.fine('%mcc_call t city="in $city"').out == f"note: `city` {told}; call it from Python: mcc.tools.NAME(city=…)\nin $city\n"
    assert notebook.fine("%mcc_session set a={city}").out == f'note: `a` {told}; set it from Python: mcc.session["a"] = …\n'
    assert notebook.fine("%mcc_call t city=Oslo").out == "Oslo\n"


def test_a_variable_that_is_not_there_to_be_passed_is_told(notebook: Notebook) -> None:
    ran = notebook.fine("%%mcc_sh --pass GITHUB_TOKE --pass HOME\necho hi\n")
    assert ran.out == "hi\nnote: env_passthrough: the name GITHUB_TOKE matches no variable (did you mean `GITHUB_TOKEN`?)\n"


def test_the_session_is_listed_by_key_type_and_size_and_cleared(notebook: Notebook) -> None:
    notebook.fine("%mcc_session set note=secret")
    for line in ("", "list"):
        rows = [row.split(maxsplit=2) for row in notebook.fine(f"%mcc_session {line}").shown[0].splitlines()]
        assert rows[0] == ["KEY", "TYPE", "SIZE"]
        assert ["user", "text", "identity"] in rows
        assert rows[-1] == ["note", "text", "8 bytes"]
    assert notebook.fine("%mcc_session del note").value is None
    notebook.fails("%mcc_session get note", ArgumentError, "session: there is no entry `note`; `%mcc_session list` shows them")
    notebook.fine("%mcc_session set other=1")
    notebook.fine("%mcc_session clear")
    assert sorted(notebook.toolbox.session) == ["groups", "tools", "user"]


def test_what_the_session_refuses(notebook: Notebook) -> None:
    notebook.fails("%mcc_session set user=root", ArgumentError, "session: `user` belongs to the identity and cannot be changed; use another key")
    notebook.fails("%mcc_session del user", ArgumentError, "session: `user` belongs to the identity and cannot be changed; use another key")
    notebook.fails("%mcc_session set Big=1", ArgumentError, "session: a key is not valid; keys are lower-case letters, digits and _, like `row_count`")
    notebook.fails("%mcc_session del none", ArgumentError, "session: there is no entry `none`; `%mcc_session list` shows them")


def test_a_tool_reads_the_session(notebook: Notebook) -> None:
    notebook.fine("%mcc_session set city=Oslo")
    notebook.declare("name: t\nexec: echo $MCC_CTX_CITY\n")

    assert notebook.fine("%mcc_call t").out == "Oslo\n"


# Errors (SPEC 14)


@pytest.fixture(params=["Plain", "Context", "Verbose", "Minimal", "Docs"])
def mode(request: pytest.FixtureRequest, notebook: Notebook) -> Iterator[str]:
    notebook.fine(f"%xmode {request.param}")
    yield request.param
    notebook.fine("%xmode Context")


def test_an_error_is_one_line_without_a_traceback_or_a_value_in_every_mode(notebook: Notebook, mode: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import os\ndef f(key): raise ValueError(f'no {key} {os.environ[\"GITHUB_TOKEN\"]}')\n")
    notebook.declare(
        """
        - {name: t, exec: 'echo $GITHUB_TOKEN; exit 3', env_passthrough: [GITHUB_TOKEN]}
        - {name: n, exec: x, params: [{name: number, type: int}, {name: hidden, override: $GITHUB_TOKEN}]}
        - {name: u, exec: x, required_env: [NOT_THERE], env: {PW: $GITHUB_TOKEN}}
        - {fn: 'mine:f', env_passthrough: [GITHUB_TOKEN], params: [{name: key, override: $GITHUB_TOKEN}]}
        """
    )
    cells: list[tuple[str, type[MccError]]] = [
        ("%mcc_call t", ToolFailed),
        (f"%mcc_call n number={MARK}", ArgumentError),
        ("%mcc_call n number=1 hidden=1", ArgumentError),
        ("%mcc_call u", ToolUnavailable),
        ("%mcc_call f", ToolFailed),
        ("%mcc_call nope", UnknownTool),
        (f"%mcc_session set k=x{MARK}", SecretError),
        (f"%%mcc_tool\nname: x\nexec: x\nenv: {{PW: [{MARK}]}}", DeclarationError),
        (f"%%mcc_tool x --env {MARK}\nx", DeclarationError),
        (f"%%mcc_sh --timeout {MARK}\nx", DeclarationError),
        ("import mcc_jupyter as mcc\nmcc.tools.t()", ToolFailed),
        ("import mcc_jupyter as mcc\nmcc.tools.nope", UnknownTool),
        (f"import mcc_jupyter as mcc\nmcc.call('n', {{'number': '{MARK}'}})", ArgumentError),
    ]
    for cell, kind in cells:
        ran = notebook(cell)
        assert type(ran.error) is kind, cell
        assert f"{kind.__name__}: " in ran.out, cell
        assert "\n" not in str(ran.error), cell
        assert ran.out.endswith(f"{kind.__name__}: {ran.error}\n"), cell
        assert "Traceback (most" not in ran.out, cell
        assert MARK not in ran.text, cell


def test_another_error_on_the_way_out_shows_no_value_of_ours_either(notebook: Notebook) -> None:
    """A frame of ours may be shown when the user's own code fails on top; its variables hide what they hold."""
    notebook.declare("- {name: t, exec: 'exit 3', env: {PW: $GITHUB_TOKEN}, env_passthrough: [GITHUB_TOKEN]}\n- {name: u, exec: x, required_env: [NOT_THERE], env: {PW: $GITHUB_TOKEN}}\n")
    notebook.fine("%xmode Verbose")
    try:
        for call in ("mcc.tools.t()", "mcc.call('u')", "mcc.call('t', {'b': 1})", "mcc.call('nope')"):
            ran = notebook(f"import mcc_jupyter as mcc\ntry:\n    {call}\nexcept Exception:\n    1 / 0")
            assert isinstance(ran.error, ZeroDivisionError)
            assert "ZeroDivisionError" in ran.out
            assert MARK not in ran.text, call
    finally:
        notebook.fine("%xmode Context")


# Functions in a cell (SPEC 2.3)


def test_a_function_of_a_cell_is_a_tool_and_is_called_like_one(notebook: Notebook) -> None:
    ran = notebook.fine(
        "from mcc_jupyter import tool\nimport os\nFACTOR = 3\n"
        "@tool(env_passthrough=['AWS_*'])\ndef f(n: int = 2) -> str:\n    \"\"\"Says it.\"\"\"\n    print('working')\n    return os.environ['AWS_REGION'] * n * FACTOR"
    )
    assert ran.shown[0].startswith("f  fn  available\nSays it.\n")
    called = notebook.fine("f(n=1)")
    assert (called.out.partition("Out[")[0], called.value) == ("working\n", "eu-north-1" * 3)
    assert notebook.fine("%mcc_call f n=1").shown == [repr("eu-north-1" * 3)]
    assert notebook("f(m=1)").out.startswith("ArgumentError: Tool 'f': unknown argument `m`")


def test_what_a_function_needs_from_elsewhere_is_listed(notebook: Notebook) -> None:
    notebook.fine("x = 5")
    notebook.fails("from mcc_jupyter import tool\n@tool\ndef f(): return x + y", DeclarationError, "f: uses `x`, `y`, which its cell does not define; define or import them in the same cell")
    assert notebook.keys == []


# The floor (SPEC 4.2) and other processes


def ipython_process(code: str, environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "IPython", "--colors=nocolor", "--no-banner", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, stdin=subprocess.DEVNULL)


def shown_names(code: str, environment: dict[str, str], folder: Path) -> list[str]:
    script = "import os\nos.environ.update(MCC_ENV_FLOOR='TOO_LATE', TOO_LATE='1')\nget_ipython().run_line_magic('load_ext', 'mcc_jupyter')\n" + code
    ran = ipython_process(script, environment, folder)
    assert ran.stderr == ""
    return ran.stdout.splitlines()


NAMES = "get_ipython().run_cell_magic('mcc_sh', '', 'env | sed s/=.*// | grep -v -e ^_$ -e ^PWD$ -e ^OLDPWD$ -e ^SHLVL$ -e ^MCC_CTX_ | sort')"


def test_the_floor_is_what_the_variable_said_when_the_process_started(outside: dict[str, str], tmp_path: Path) -> None:
    assert shown_names(NAMES, outside, tmp_path) == ["HOME", "LANG", "PATH"]
    assert shown_names(NAMES, {**outside, "MCC_ENV_FLOOR": "PATH EXTRA", "EXTRA": "1"}, tmp_path) == ["EXTRA", "PATH"]


def test_a_wrong_floor_is_a_loud_error_and_no_tool_runs(outside: dict[str, str], tmp_path: Path) -> None:
    first, *rest = shown_names(NAMES, {**outside, "MCC_ENV_FLOOR": "{PATH"}, tmp_path)
    assert first == "PolicyError: MCC_ENV_FLOOR: it begins like JSON and does not parse; write names separated by commas, for example PATH,HOME,LANG"
    assert rest == []


def test_a_configured_floor_goes_before_the_variable_and_warns_of_nothing(outside: dict[str, str], tmp_path: Path) -> None:
    profile = tmp_path / "ipython" / "profile_default"
    profile.mkdir(parents=True)
    (profile / "ipython_config.py").write_text("c = get_config()\nc.MccMagics.env_floor = ['PATH', 'LANG']\nc.MccMagics.groups = ['ops']\n")
    declared = "get_ipython().run_cell_magic('mcc_tool', '', 'name: t\\nexec: x\\ngroups: [admin]')\nget_ipython().run_line_magic('mcc_call', 't')"

    assert shown_names(NAMES, {**outside, "MCC_ENV_FLOOR": "HOME"}, tmp_path) == ["LANG", "PATH"]
    assert shown_names(declared, outside, tmp_path)[-1].startswith("ToolUnavailable: Tool 't' is unavailable; not granted")


def test_MAGIC_14_a_terminal_without_jupyter_has_it_all(outside: dict[str, str], tmp_path: Path) -> None:
    """What is typed at the prompt of a plain IPython, without colours or a completer."""
    typed = "%load_ext mcc_jupyter\n%mcc_session set city=Oslo\n%%mcc_tool t --param a\necho {{ a | quote }} $MCC_CTX_CITY\n\n\n%mcc_call t a=hello\n%mcc_call u\n"
    command = [sys.executable, "-m", "IPython", "--simple-prompt", "--no-banner", "--colors=nocolor"]
    ran = subprocess.run(command, input=typed, capture_output=True, text=True, env=outside, cwd=tmp_path)

    assert "t  exec  available\n" in ran.stdout
    assert "hello Oslo\n" in ran.stdout
    assert "UnknownTool: No tool 'u' is declared here" in ran.stdout
    assert ran.stderr == ""


def test_a_script_is_run_by_ipython(outside: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "script.ipy").write_text("%load_ext mcc_jupyter\nimport mcc_jupyter as mcc\n@mcc.tool\ndef double(n: int): return 2 * n\nprint(double(21))\n")
    ran = subprocess.run([sys.executable, "-m", "IPython", "--colors=nocolor", "script.ipy"], capture_output=True, text=True, env=outside, cwd=tmp_path, stdin=subprocess.DEVNULL)

    assert ran.stdout.splitlines()[-1] == "42", ran.stdout
    assert ran.stderr == ""


def test_ctrl_c_in_a_terminal_ends_the_tool_and_not_the_shell(outside: dict[str, str], tmp_path: Path) -> None:
    """The terminal sends the signal to the whole group."""
    code = "%load_ext mcc_jupyter\n%mcc_call t\nprint('still', 'here')\n"
    (tmp_path / "tools.yaml").write_text("name: t\nexec: echo $$ > pid; sleep 300 & echo $! >> pid; wait\n")
    command = [sys.executable, "-m", "IPython", "--simple-prompt", "--no-banner", "--colors=nocolor"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=outside, cwd=tmp_path, start_new_session=True) as process:
        assert process.stdin is not None
        process.stdin.write(code.replace("\n%mcc_call", "\n%mcc_load tools.yaml\n%mcc_call"))
        process.stdin.flush()
        assert until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().count("\n") == 2)
        pids = [int(line) for line in (tmp_path / "pid").read_text().split()]
        os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate()

    assert "KeyboardInterrupt" in out
    assert "Traceback" not in out
    assert "still here" in out
    assert until(lambda: not any(map(alive, pids)))


AUTORELOAD = """
import os, sys, time
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
def run(cell):
    assert shell.run_cell(cell).success, cell
run("%colors nocolor")
run("%load_ext autoreload")
run("%autoreload " + sys.argv[1])
run("%load_ext mcc_jupyter")
import mcc_jupyter
assert mcc_jupyter.__file__.startswith(os.getcwd()), mcc_jupyter.__file__
DECLARE = "%%mcc_tool\\n- {name: t, exec: 'echo {{ a }}', params: [{name: a, type: int}]}\\n- {fn: 'helper:f'}"
CALL = "%mcc_call t a=1\\n%mcc_call f"
run(DECLARE)
run(CALL)
with open("helper.py", "w") as file:
    file.write("def f(): return 'edited'\\n")
run(CALL)
later = time.time() + 100
for folder, _, names in os.walk("mcc_jupyter"):
    for name in names:
        path = os.path.join(folder, name)
        with open(path, "a") as file:
            file.write("\\nclass Edited:\\n    pass\\n")
        os.utime(path, (later, later))
run("print('touched')")
assert hasattr(sys.modules["mcc_jupyter.runtime.current"], "Edited")
if sys.argv[2] == "kept":
    run(CALL)
run(DECLARE)
run(CALL)
run("%reload_ext mcc_jupyter")
run(CALL)
"""


@pytest.mark.parametrize(("mode", "tools"), [("2", "kept"), ("2-", "lost")], ids=["what changed", "whole modules"])
def test_MAGIC_07_edited_code_is_used_at_the_next_call_and_our_own_package_may_be_reloaded(outside: dict[str, str], tmp_path: Path, mode: str, tools: str) -> None:
    """A reload of whole modules forgets the tools, as a new kernel does."""
    shutil.copytree(Path(mcc_jupyter.__file__).parent, tmp_path / "mcc_jupyter", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "helper.py").write_text("def f(): return 'first'\n")
    command = [sys.executable, "-c", AUTORELOAD, mode, tools]
    ran = subprocess.run(command, capture_output=True, text=True, env={**outside, "PYTHONPATH": str(tmp_path)}, cwd=tmp_path)

    assert ran.returncode == 0, ran.stdout + ran.stderr
    printed = [line for line in ran.stdout.splitlines() if line in ("1", "'first'", "'edited'")]
    assert printed == ["1", "'first'", *(["1", "'edited'"] * (4 if tools == "kept" else 3))]
    assert "autoreload of" not in ran.stdout + ran.stderr
