"""``mcc-jupyter`` as a terminal and a script see it: output, exit status, signals. Nothing in it prints a value."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import fastjsonschema
import pytest

from mcc_jupyter.core.errors import ArgumentError, MccError, PolicyError, SecretError
from mcc_jupyter.doors import cli
from mcc_jupyter.runtime import current
from tests.processes import REPOSITORY, alive, until

MARK = "n0t-f0r-any-eyes-4711"

TOOLS = """\
- name: greet
  description: Says hello
  exec: echo hello {{ who | quote }}; echo working >&2
  params: [{name: who}]
- {name: linear, exec: x, required_env: [LINEAR_API_KEY], env: {PW: $GITHUB_TOKEN}, params: [{name: key, override: $GITHUB_TOKEN}]}
- {name: failing, exec: "echo before; exit 3"}
- {name: slow, exec: "echo $$ > pid; sleep 300 & echo $! >> pid; wait"}
- {name: many, exec: "seq 200000"}
- {name: token, exec: "printf %s $GITHUB_TOKEN", required_env: [GITHUB_TOKEN]}
- {fn: "json:loads", name: parse}
"""


class Terminal:
    """Commands in a folder that holds ``tools.yaml``."""

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        self.environment = {**environment, "GITHUB_TOKEN": MARK}
        self.folder = folder
        (folder / "tools.yaml").write_text(TOOLS)

    def __call__(self, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "mcc_jupyter", *arguments]
        given = changes.pop("given", "")
        ran = subprocess.run(command, input=given, capture_output=True, text=True, env={**self.environment, **changes}, cwd=self.folder)
        assert "Traceback" not in ran.stderr
        assert MARK not in ran.stdout + ran.stderr
        return ran

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """In a process group of its own, as a shell starts it, and told to ignore no signal (as ``nohup`` does)."""
        command = [sys.executable, "-m", "mcc_jupyter", *arguments]
        ignored = signal.signal(signal.SIGHUP, signal.SIG_DFL)
        try:
            return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment, cwd=self.folder, start_new_session=True)
        finally:
            signal.signal(signal.SIGHUP, ignored)


@pytest.fixture
def terminal(outside: dict[str, str], tmp_path: Path) -> Terminal:
    return Terminal(outside, tmp_path)


Ran = tuple[int, str, str]
"""Exit status, stdout, stderr."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """The same command in this process, which is quicker; each with a toolbox of its own, as each process has one."""
    known: list[object] = []
    monkeypatch.setattr(current, "_of_process", known)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_TOKEN", MARK)
    (tmp_path / "tools.yaml").write_text(TOOLS)

    def run(*arguments: str) -> Ran:
        known.clear()
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = cli.main(arguments)
            except SystemExit as exit:
                status = int(exit.code or 0)
        return status, out.getvalue(), err.getvalue()

    return run


# Listing and reporting


def test_the_tools_of_a_file_are_listed(here: Callable[..., Ran]) -> None:
    status, out, err = here("tools", "tools.yaml")

    assert (status, err) == (0, "")
    lines = [line.split(maxsplit=3) for line in out.splitlines()]
    assert lines[0] == ["TOOL", "KIND", "STATE", "DESCRIPTION"]
    assert [(line[0].removeprefix("public."), *line[1:3]) for line in lines[1:]] == [
        ("failing", "exec", "available"), ("greet", "exec", "available"), ("linear", "exec", "unavailable"), ("many", "exec", "available"),
        ("parse", "fn", "available"), ("slow", "exec", "available"), ("token", "exec", "available"),
    ]  # fmt: skip
    assert lines[2][3] == "Says hello"


def test_the_list_is_json_too(here: Callable[..., Ran]) -> None:
    status, out, _ = here("tools", "tools.yaml", "--format", "json")

    assert status == 0
    assert json.loads(out)[1] | {"tool": "greet"} == {"tool": "greet", "kind": "exec", "state": "available", "description": "Says hello"}


SCHEMA = json.loads((REPOSITORY / "docs" / "report-v1.schema.json").read_text())


def test_a_report_is_text_html_and_json_by_name(here: Callable[..., Ran]) -> None:
    status, text, err = here("report", "tools.yaml", "linear")
    assert (status, err) == (0, "")
    assert text.startswith("linear  exec  unavailable\nTool 'linear' is unavailable; missing required environment: LINEAR_API_KEY\n")
    assert "GITHUB_TOKEN" not in here("report", "tools.yaml", "greet")[1]
    assert "GITHUB_TOKEN" in here("report", "tools.yaml", "greet", "--all")[1]
    page = here("report", "tools.yaml", "linear", "--format", "html")[1]
    assert page.startswith("<")
    assert "LINEAR_API_KEY" in page
    document = json.loads(here("report", "tools.yaml", "linear", "--format", "json")[1])
    fastjsonschema.validate(SCHEMA, document)
    assert (document["tool"], document["available"]) == ("linear", False)
    assert MARK not in text + page + json.dumps(document)


def test_the_reports_of_all_tools(here: Callable[..., Ran]) -> None:
    documents = json.loads(here("report", "tools.yaml", "--format", "json")[1])
    for document in documents:
        fastjsonschema.validate(SCHEMA, document)

    assert [document["tool"] for document in documents] == ["greet", "linear", "failing", "slow", "many", "token", "parse"]
    assert here("report", "tools.yaml")[1].count("\n\n\n") == 0


# Calling


def test_a_tool_is_called_with_words_or_with_json(terminal: Terminal) -> None:
    """stdout has what the tool printed there, and nothing else: it can be piped on."""
    for arguments, given in ((["who=Ada"], ""), (["--json", '{"who": "Ada"}'], ""), (["--json", "-"], '{"who": "Ada"}')):
        ran = terminal("call", "tools.yaml", "greet", *arguments, given=given)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "hello Ada\n", "working\n")


def test_words_are_taken_as_the_terminals_shell_gave_them(here: Callable[..., Ran]) -> None:
    for word in ("who=two words", "who='x'", "who=a=b", "who=", "who={{ x }}", "who=$HOME", "who=-5"):
        assert here("call", "tools.yaml", "greet", word)[:2] == (0, f"hello {word.removeprefix('who=')}\n")
    assert here("call", "tools.yaml", "greet", "--", "who=--x")[:2] == (0, "hello --x\n")


def test_a_functions_value_is_json(here: Callable[..., Ran]) -> None:
    assert here("call", "tools.yaml", "parse", 's={"é": [1]}') == (0, '{\n  "é": [\n    1\n  ]\n}\n', "")


def test_what_a_tool_prints_is_redacted_and_notes_go_to_stderr(terminal: Terminal) -> None:
    ran = terminal("call", "tools.yaml", "token")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "[redacted:GITHUB_TOKEN]", "")
    (terminal.folder / "short.yaml").write_text("name: t\nexec: 'true'\nenv_passthrough: [SHORT]\n")
    ran = terminal("call", "short.yaml", "t", SHORT="abc")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "note: not redacted, because short or common: SHORT\n")


# Exit statuses


@pytest.mark.parametrize(
    ("arguments", "status", "err"),
    [
        (["tools", "missing.yaml"], 2, "missing.yaml: file not found\n"),
        (["report", "missing.yaml", "greet"], 2, "missing.yaml: file not found\n"),
        (["call", "missing.yaml", "greet"], 2, "missing.yaml: file not found\n"),
        (["call", "tools.yaml", "greet"], 2, "Tool 'greet': missing argument `who`\n"),
        (["call", "tools.yaml", "greet", "whom=a"], 2, "Tool 'greet': unknown argument `whom` (did you mean `who`?)\nTool 'greet': missing argument `who`\n"),
        (["call", "tools.yaml", "greet", "who"], 2, "argument 1: expected NAME=VALUE; quote a value that holds blanks\n"),
        (["call", "tools.yaml", "greet", "who=a", "who=b"], 2, "the argument `who` is given twice; keep one\n"),
        (["call", "tools.yaml", "greet", "--json", "{"], 2, "the arguments must be one JSON object; the text is no JSON at line 1, column 2\n"),
        (["call", "tools.yaml", "greet", "--json", "[]"], 2, "the arguments must be one JSON object"),
        (["call", "tools.yaml", "greet", "who=a", "--timeout", "0"], 2, "Tool 'greet': timeout must be a number of seconds above 0\n"),
        (["call", "tools.yaml", "greet", "who=a", "--timeout", "nan"], 2, "Tool 'greet': timeout must be a number of seconds above 0\n"),
        (["report", "tools.yaml", "gret"], 3, "tools.yaml declares no tool 'gret' (did you mean `greet`?); its tools: greet, linear, failing, slow, many, token, parse\n"),
        (["call", "tools.yaml", "gret"], 3, "tools.yaml declares no tool 'gret' (did you mean `greet`?); its tools: greet, linear, failing, slow, many, token, parse\n"),
        (["call", "tools.yaml", "linear"], 4, "Tool 'linear' is unavailable; missing required environment: LINEAR_API_KEY\n"),
        (["call", "tools.yaml", "failing"], 5, "Tool 'failing' failed with exit code 3\n"),
        (["call", "tools.yaml", "slow", "--timeout", "0.3"], 5, "Tool 'slow' was stopped at its time limit, 0.3 s (of this call)\n"),
    ],
)
def test_an_error_is_told_on_stderr_and_by_the_exit_status(here: Callable[..., Ran], arguments: list[str], status: int, err: str) -> None:
    got = here(*arguments)

    assert got[0] == status
    assert got[2] == err or (not err.endswith("\n") and got[2].startswith(err))
    assert got[1] == ("before\n" if "failing" in arguments else "")


def test_a_functions_failure_shows_its_own_frames(here: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def f(): raise ValueError('no')\n")
    (tmp_path / "fn.yaml").write_text("fn: mine:f\n")
    status, out, err = here("call", "fn.yaml", "f")

    assert (status, out) == (5, "")
    assert err.splitlines()[-1] == "Tool 'f' failed: ValueError: no"
    assert "mine.py" in err
    assert "run_fn" not in err


@pytest.mark.parametrize(("error", "status"), [(SecretError("no secret"), 6), (PolicyError("not allowed"), 7), (MccError("other"), 1), (KeyboardInterrupt(), 130)])
def test_every_other_error_has_its_status_too(here: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int) -> None:
    def raises(*_: object) -> int:
        raise error

    monkeypatch.setattr(cli, "_tools", raises)
    assert here("tools", "tools.yaml") == (status, "", f"{error}\n" if status != 130 else "")


def test_a_wrong_floor_is_a_configuration_error(terminal: Terminal) -> None:
    ran = terminal("tools", "tools.yaml", MCC_ENV_FLOOR="[PATH")

    assert (ran.returncode, ran.stdout) == (7, "")
    assert ran.stderr == "MCC_ENV_FLOOR: it begins like JSON and does not parse; write names separated by commas, for example PATH,HOME,LANG\n"


def test_the_floor_is_that_of_the_variable(terminal: Terminal) -> None:
    (terminal.folder / "env.yaml").write_text("name: t\nexec: [/usr/bin/env]\n")
    ran = terminal("call", "env.yaml", "t", MCC_ENV_FLOOR="PATH EXTRA", EXTRA="1")

    assert sorted(line.partition("=")[0] for line in ran.stdout.splitlines() if not line.startswith("MCC_CTX")) == ["EXTRA", "PATH"]


@pytest.mark.parametrize("arguments", [[], ["nope"], ["tools"], ["call", "tools.yaml"], ["tools", "tools.yaml", "--format", "xml"], ["call", "tools.yaml", "greet", "--who"], ["call", "tools.yaml", "greet", "--timeout", "soon"]])
def test_a_wrong_command_line_shows_the_usage(here: Callable[..., Ran], arguments: list[str]) -> None:
    status, out, err = here(*arguments)

    assert (status, out) == (2, "")
    assert err.startswith("usage: mcc-jupyter ")


def test_a_call_without_a_tool_says_where_their_names_are(here: Callable[..., Ran]) -> None:
    status, _, err = here("call", "tools.yaml")
    assert status == 2
    assert err.endswith("\nmcc-jupyter call: error: the following arguments are required: TOOL; `mcc-jupyter tools FILE` lists them\n")


def test_a_report_in_a_terminal_speaks_of_no_kernel(here: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("{name: t, exec: x, required_env: [NOT_THERE_KEY]}\n")
    out = here("report", "one.yaml", "t")[1]
    assert "NOT_THERE_KEY: set it in the environment, or give it in an env_file" in out


def test_help_and_version(here: Callable[..., Ran]) -> None:
    assert here("--version")[:2] == (0, f"mcc-jupyter {cli.__version__}\n")
    for command in ("tools", "report", "call"):
        status, out, _ = here(command, "--help")
        assert status == 0
        assert "a YAML file, folder, glob or .ipynb" in " ".join(out.split())


def test_the_console_script_is_the_same(terminal: Terminal) -> None:
    script = shutil.which("mcc-jupyter", path=terminal.environment["PATH"])
    if script is None:
        pytest.skip("the package is not installed")
    ran = subprocess.run([script, "call", "tools.yaml", "greet", "who=Ada"], capture_output=True, text=True, env=terminal.environment, cwd=terminal.folder)

    assert (ran.returncode, ran.stdout) == (0, "hello Ada\n")


def test_the_good_tools_of_a_file_with_problems_stand_and_the_status_says_so(here: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "mixed.yaml").write_text(f"- {{name: good, exec: echo good}}\n- {{name: bad, exec: 5, env: {{PW: [{MARK}]}}}}\n")
    problems = "mixed.yaml: tools[1].exec: expected a command, or a list of arguments (line 2)"
    status, out, err = here("tools", "mixed.yaml")

    assert status == 2
    assert "good" in out
    assert problems in err
    assert here("call", "mixed.yaml", "good")[:2] == (0, "good\n")
    assert MARK not in out + err


def test_a_folder_and_a_glob_are_files_too(here: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.yaml").write_text("{name: a, exec: pwd}\n")
    (tmp_path / "folder" / "b.yml").write_text("{name: b, exec: pwd}\n")

    assert here("call", "folder", "b")[1] == f"{tmp_path}/folder\n"
    assert here("call", "fold*/*.yaml", "a")[1] == f"{tmp_path}/folder\n"


# Notebooks


def notebook(*sources: str) -> str:
    cells = [{"cell_type": "code", "id": f"c{at}", "metadata": {}, "source": source.splitlines(keepends=True), "outputs": [], "execution_count": None} for at, source in enumerate(sources)]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def test_a_notebooks_declarations_are_read_and_its_other_code_does_not_run(here: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "more.yaml").write_text("{name: more, exec: pwd}\n")
    (tmp_path / "work" / "analysis.ipynb").write_text(
        notebook(
            "open('/'.join(['RAN']), 'w')\n!touch RAN",
            "%load_ext mcc_jupyter\nfrom mcc_jupyter import tool",
            "%%mcc_tool\nname: greet\nexec: echo hello; pwd\n",
            "%%bash\ntouch RAN",
            "%mcc_load more.yaml\nopen('RAN', 'w')",
            "@tool(env={'A': 'b'})\ndef f(n: int):\n    import os\n    return [n + 1, os.environ['A']]\nopen('RAN', 'w')",
            "%mcc_call greet",
            "this cell is broken (",
        )
    )
    listed = json.loads(here("tools", "work/analysis.ipynb", "--format", "json")[1])

    assert [tool["tool"].removeprefix("public.") for tool in listed] == ["f", "greet", "more"]
    assert here("call", "work/analysis.ipynb", "greet") == (0, f"hello\n{tmp_path}/work\n", "")
    assert here("call", "work/analysis.ipynb", "more")[1] == f"{tmp_path}/work\n"
    assert json.loads(here("call", "work/analysis.ipynb", "f", "n=1")[1]) == [2, "b"]
    assert not any("RAN" in path.name for path in tmp_path.rglob("*"))


def test_what_is_wrong_in_a_notebook_is_told_with_its_cell_and_stops_no_other(here: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "bad.ipynb").write_text(
        notebook(
            "%%mcc_tool\nname: greet\nexec: 5\n",
            "%%mcc_tool\nname: good\nexec: echo good\n",
            "@tool(env_passthrough='AWS_*')\ndef f(): ...\n@tool\ndef g(): return missing\n@tool\ndef h(): return 1\n",
            "%mcc_load missing.yaml",
        )
    )
    status, out, err = here("tools", "bad.ipynb")

    assert status == 2
    assert [line.split()[0].removeprefix("public.") for line in out.splitlines()[1:]] == ["good", "h"]
    assert sorted(err.splitlines()) == [
        "cell 1: exec: expected a command, or a list of arguments (line 3)",
        "cell 3: env_passthrough: expected true, false or a list of patterns",
        "cell 3: g: uses `missing`, which its cell does not define; define or import it in the same cell",
        "cell 4: missing.yaml: file not found",
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "bad.ipynb: file not found\n"),
        ("not JSON", "bad.ipynb: the file is no notebook: it is no JSON\n"),
        ("{}", "this is no notebook: it has no cells\n"),
        ("[]", "this is no notebook: it has no cells\n"),
    ],
)
def test_what_is_no_notebook(here: Callable[..., Ran], tmp_path: Path, content: str | None, expected: str) -> None:
    if content is not None:
        (tmp_path / "bad.ipynb").write_text(content)

    assert here("tools", "bad.ipynb") == (2, "", expected)


def test_a_notebook_that_declares_nothing_has_no_tools(here: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "plain.ipynb").write_text(notebook("print('hello')"))

    assert here("tools", "plain.ipynb") == (0, "no tools are declared\n", "")
    assert here("tools", "plain.ipynb", "--format", "json")[1] == "[]\n"


# Signals and pipes


def pids(terminal: Terminal) -> list[int]:
    file = terminal.folder / "pid"
    assert until(lambda: file.exists() and file.read_text().count("\n") == 2)
    return [int(line) for line in file.read_text().split()]


def test_an_interrupt_ends_the_tool_and_the_status_is_130(terminal: Terminal) -> None:
    """As Ctrl-C does: the signal goes to the whole group."""
    with terminal.start("call", "tools.yaml", "slow") as process:
        found = pids(terminal)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate()

    assert (process.returncode, out, err) == (130, "", "")
    assert until(lambda: not any(map(alive, found)))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_a_signal_that_ends_the_command_ends_the_tool(terminal: Terminal, number: signal.Signals) -> None:
    with terminal.start("call", "tools.yaml", "slow") as process:
        found = pids(terminal)
        process.send_signal(number)
        process.communicate()

    assert process.returncode == -number
    assert until(lambda: not any(map(alive, found)))


@pytest.mark.parametrize(("arguments", "first"), [("call tools.yaml many", "1"), ("report tools.yaml --all", "greet  exec  available"), ("call tools.yaml slow", "")])
def test_a_reader_that_has_seen_enough_is_no_error(terminal: Terminal, arguments: str, first: str) -> None:
    (terminal.folder / "tools.yaml").write_text(TOOLS.replace("echo $$ > pid; sleep 300 & echo $! >> pid; wait", "while echo line; do sleep 0.05; done"))
    command = f"{{ '{sys.executable}' -m mcc_jupyter {arguments}; echo status $? >&2; }} | head -1"
    ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=terminal.environment, cwd=terminal.folder)

    assert ran.stdout == f"{first or 'line'}\n"
    assert ran.stderr == "status 0\n"


ALL = "".join(f"{n}\n" for n in range(1, 200_001))


def test_where_no_terminal_reads_it_all_of_the_output_comes_out(terminal: Terminal) -> None:
    ran = terminal("call", "tools.yaml", "many")
    assert ran.stdout == ALL
    assert (ran.returncode, ran.stderr) == (0, "")


def test_at_a_terminal_much_output_is_shown_without_its_middle_and_a_line_says_how_to_have_it(terminal: Terminal) -> None:
    ours, theirs = os.openpty()
    ran = subprocess.Popen([sys.executable, "-m", "mcc_jupyter", "call", "tools.yaml", "many"], stdout=theirs, stderr=subprocess.PIPE, text=True, env=terminal.environment, cwd=terminal.folder)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while chunk := os.read(ours, 65536):
            shown += chunk
    os.close(ours)
    _, err = ran.communicate()

    assert len(shown) < 120_000
    assert re.search(rb"\n\[\xe2\x80\xa6 \d+ bytes omitted \xe2\x80\xa6\]\r\n", shown)
    assert shown.endswith(b"\n200000\r\n")
    assert err == (
        "note: stdout is longer than limits.output_mb (1 MiB) and kept without its middle; raise the limit, or write all of it to a file: "
        "`--spill FILE` with %mcc_call and mcc-jupyter call, `spill=` with mcc.call\n"
    )


def test_output_that_cannot_be_written_is_an_error_in_one_line(terminal: Terminal) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("only Linux has /dev/full")
    command = [sys.executable, "-m", "mcc_jupyter", "call", "tools.yaml", "many"]
    with open("/dev/full", "wb") as full:
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=terminal.environment, cwd=terminal.folder)
    assert (ran.returncode, ran.stderr) == (1, "mcc-jupyter: the output cannot be written: No space left on device\n")


def test_all_of_the_output_goes_to_a_file_where_one_is_named(terminal: Terminal) -> None:
    ran = terminal("call", "tools.yaml", "many", "--spill", "all.log")
    written = (terminal.folder / "all.log").read_text()
    assert written == ran.stdout == ALL
    assert ran.stderr == f"note: all of stdout is in `all.log` ({len(written):,} bytes)\n"
    again = terminal("call", "tools.yaml", "many", "--spill", "all.log")
    assert again.stderr == "Tool 'many': spill: `all.log` exists already; give another name or remove it\n"
    assert again.returncode == ArgumentError.exit_status


def test_what_is_wrong_with_other_tools_is_not_told_where_one_is_wanted(here: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "mixed.yaml").write_text("- name: good\n  exec: echo fine\n- name: bad\n  exek: echo\n")

    assert here("call", "mixed.yaml", "good") == (0, "fine\n", "")
    assert here("tools", "mixed.yaml")[0] == 2
    status, out, err = here("call", "mixed.yaml", "bad")
    assert (status, out) == (3, "")
    assert "tools[1]: unknown key `exek` (did you mean `exec`?)" in err
    assert err.endswith("mixed.yaml declares no tool 'bad'; its tools: good\n")
