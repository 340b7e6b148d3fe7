"""A real kernel, driven as a front end drives it: cells with ids, live output, interrupts, restarts, and what stays behind."""

from __future__ import annotations

import copy
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.processes import alive, environment, until

MARK = "n0t-f0r-any-eyes-4711"
"""The value of a variable that no text may hold."""

PATIENCE = 30.0
"""Seconds after which a test that hangs is ended."""


@dataclass
class Cell:
    """One execution: the messages in their order, each with the time it came, and the reply."""

    id: str
    messages: list[tuple[float, str, dict[str, Any]]] = field(default_factory=list)
    reply: dict[str, Any] = field(default_factory=dict)

    def stream(self, name: str) -> str:
        return "".join(content["text"] for _, kind, content in self.messages if kind == "stream" and content["name"] == name)

    @property
    def out(self) -> str:
        return self.stream("stdout")

    @property
    def shown(self) -> list[str]:
        return [content["data"]["text/plain"] for _, kind, content in self.messages if kind in ("display_data", "execute_result")]

    @property
    def error(self) -> str:
        """The error as the notebook keeps it, without colours."""
        lines = [content["traceback"] for _, kind, content in self.messages if kind == "error"]
        return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(line for trace in lines for line in trace))

    @property
    def whole(self) -> str:
        return json.dumps([content for _, _, content in self.messages]) + json.dumps(self.reply)


class Kernel:
    """A kernel and a client."""

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        self.folder = folder
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self.manager = KernelManager(connection_file=str(folder / "kernel.json"))
        self.manager.start_kernel(env={**environment, "TMPDIR": str(self.temporary), "GITHUB_TOKEN": MARK}, cwd=str(folder))
        self.client = self.manager.client()
        self.client.start_channels()
        self.ready()

    def ready(self) -> None:
        self.client.wait_for_ready(timeout=PATIENCE)
        assert self.run("%load_ext mcc_jupyter").reply["status"] == "ok"

    @property
    def pid(self) -> int:
        return int(self.manager.provisioner.pid)

    def start(self, source: str, cell: str | None = None) -> Cell:
        """Sends a cell, as JupyterLab does, and does not wait for it."""
        content = {"code": source, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False, "stop_on_error": True}
        message = self.client.session.msg("execute_request", content, metadata={} if cell is None else {"cellId": cell})
        self.client.shell_channel.send(message)
        return Cell(message["header"]["msg_id"])

    def finish(self, cell: Cell) -> Cell:
        while True:
            message = self.client.get_iopub_msg(timeout=PATIENCE)
            if message["parent_header"].get("msg_id") != cell.id:
                continue
            kind, content = message["header"]["msg_type"], message["content"]
            cell.messages.append((time.monotonic(), kind, content))
            if kind == "status" and content["execution_state"] == "idle":
                break
        while True:
            reply = self.client.get_shell_msg(timeout=PATIENCE)
            if reply["parent_header"].get("msg_id") == cell.id:
                cell.reply = reply["content"]
                return cell

    def run(self, source: str, cell: str | None = None) -> Cell:
        return self.finish(self.start(source, cell))

    def fine(self, source: str, cell: str | None = None) -> Cell:
        ran = self.run(source, cell)
        assert ran.reply["status"] == "ok", ran.error
        return ran

    def begun(self, source: str, pids: int = 1) -> tuple[Cell, list[int]]:
        """Sends a cell whose tool writes that many process ids into the file ``pids``."""
        file = self.folder / "pids"
        file.unlink(missing_ok=True)
        cell = self.start(source)
        assert until(lambda: file.exists() and file.read_text().count("\n") == pids)
        found = [int(line) for line in file.read_text().split()]
        assert all(map(alive, found))
        return cell, found

    def close(self) -> None:
        self.client.stop_channels()
        if self.manager.has_kernel:
            self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()


@pytest.fixture(autouse=True)
def nothing_in_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jupyter keeps the files of running kernels there."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))


@pytest.fixture
def own_kernel(outside: dict[str, str], tmp_path: Path) -> Iterator[Kernel]:
    """A kernel that a test may end."""
    kernel = Kernel(outside, tmp_path)
    yield kernel
    kernel.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("kernel")
    kernel = Kernel({**environment(folder), "MCC_CTX": '{"user": "outer"}', "MCC_CTX_USER": "outer", "MCC_CTX_ROLE": "root"}, folder)
    yield kernel
    kernel.close()


@pytest.fixture
def kernel(shared: Kernel) -> Iterator[Kernel]:
    """One kernel for many tests, without tools when a test begins."""
    shared.fine("import mcc_jupyter as mcc\nfor key in mcc.tools: get_ipython().run_line_magic('mcc_tools', f'rm {key}')\nmcc.session.clear()")
    yield shared
    assert list(shared.temporary.glob("mcc*")) == []


SLOW = "%%mcc_tool slow\necho begun\nsleep 300 &\necho $$ > pids\necho $! >> pids\nwait\n"
"""A shell and its background job, which does not get the terminal's Ctrl-C (PROC-05)."""


# Declaring and calling


def test_a_cell_declares_and_a_line_calls(kernel: Kernel) -> None:
    declared = kernel.fine("%%mcc_tool greet --param who\necho hello {{ who | quote }}")
    assert declared.shown[0].startswith("greet  exec  available\n")
    assert "From this kernel" in declared.shown[0]
    assert kernel.fine("%mcc_call greet who=Ada").out == "hello Ada\n"


def test_an_error_is_one_line_of_the_notebook_and_in_the_reply(kernel: Kernel) -> None:
    kernel.fine("%%mcc_tool\nname: linear\nexec: x\nrequired_env: [LINEAR_API_KEY]\nenv: {PW: $GITHUB_TOKEN}\n")
    ran = kernel.run("%mcc_call linear")

    notice = "Tool 'linear' is unavailable; missing required environment: LINEAR_API_KEY"
    assert (ran.reply["status"], ran.reply["ename"], ran.reply["evalue"]) == ("error", "ToolUnavailable", notice)
    assert ran.error == f"ToolUnavailable: {notice}"
    assert MARK not in ran.whole


def test_ENV_20_a_kernel_that_is_itself_a_tool_passes_nothing_of_its_callers_session_on(kernel: Kernel) -> None:
    kernel.fine("%mcc_session set city=Oslo")
    kernel.fine("%%mcc_tool t\nenv | grep ^MCC_CTX | sort")
    kernel.fine("%%mcc_tool\n- name: all\n  exec: env | grep ^MCC_CTX | sort\n  env_passthrough: true\n- name: some\n  exec: env | grep ^MCC_CTX | sort\n  env_passthrough: [MCC_*]\n")
    lines = kernel.fine("%mcc_call t").out.splitlines()

    assert [line.partition("=")[0] for line in lines] == ["MCC_CTX_CITY", "MCC_CTX_GROUPS", "MCC_CTX_TOOLS", "MCC_CTX_USER"]
    assert "outer" not in "".join(lines)
    for name in ("all", "some"):
        assert [line for line in kernel.fine(f"%mcc_call {name}").out.splitlines() if not line.startswith("note: ")] == lines
    assert kernel.fine("mcc.session['user']").shown != ["'outer'"]


def test_PROC_11_output_comes_while_the_tool_runs(kernel: Kernel) -> None:
    kernel.fine("%%mcc_tool t\necho 1; sleep 2; echo 2")
    ran = kernel.fine("%mcc_call t")
    [first, *_] = [when for when, kind, content in ran.messages if kind == "stream" and "1" in content["text"]]
    idle = ran.messages[-1][0]

    assert ran.out == "1\n2\n"
    assert idle - first > 1


def test_PROC_14_a_flood_is_cut_and_the_tool_still_ends(kernel: Kernel) -> None:
    kernel.fine("%%mcc_tool t\nyes | head -c 60000000; echo the end >&2")
    ran = kernel.fine("%mcc_call t -o answer")
    size = sum(len(json.dumps(content)) for _, _, content in ran.messages)

    assert size < 1_000_000
    assert "omitted" in ran.out
    assert ran.stream("stderr") == "the end\n"
    assert kernel.fine("print(answer.ok, answer.exit_code, answer.cut)").out == "True 0 True\n"


def test_ten_thousand_lines_a_second_stay_under_what_a_server_lets_through_and_none_is_lost(kernel: Kernel) -> None:
    """jupyter_server drops what is more than 1,000 messages or 1,000,000 bytes a second, over three seconds."""
    (kernel.folder / "lines.py").write_text("import time\nfor n in range(20000):\n    print(n, flush=True)\n    time.sleep(0.00004)\n")
    kernel.fine(f"%%mcc_tool t\n{sys.executable} lines.py")
    ran = kernel.fine("%mcc_call t -o answer")
    came = [(when, len(json.dumps(content))) for when, kind, content in ran.messages if kind == "stream"]

    for since, _ in came:
        window = [size for when, size in came if since <= when < since + 3]
        assert len(window) < 1_000  # a kernel has more to tell than one call
        assert sum(window) < 3_000_000
    lines = ran.out.splitlines()
    assert lines[:500] == [str(n) for n in range(500)]
    assert lines[-2] == "19999"
    assert lines[-1].startswith("note: stdout is shown without its middle; ")
    assert kernel.fine("answer.stdout == ''.join(f'{n}\\n' for n in range(20000)), answer.cut").shown == ["(True, False)"]


def test_PROC_11_a_prompt_without_a_line_end_is_in_the_notebook_before_the_tool_goes_on(kernel: Kernel) -> None:
    kernel.fine("%%mcc_tool t\nprintf 'name: '; while ! [ -e go ]; do sleep 0.01; done; echo Ada")
    cell = kernel.start("%mcc_call t")
    try:
        while True:
            message = kernel.client.get_iopub_msg(timeout=PATIENCE)
            if message["header"]["msg_type"] == "stream":
                break
        assert message["content"] == {"name": "stdout", "text": "name: "}
    finally:
        (kernel.folder / "go").touch()
    assert kernel.finish(cell).out == "Ada\n"


def test_all_of_a_flood_can_go_to_a_private_file(kernel: Kernel) -> None:
    kernel.fine('%%mcc_tool t --require GITHUB_TOKEN\nyes | head -c 20000000; echo "$GITHUB_TOKEN"')
    ran = kernel.fine("%mcc_call t --spill all.log")
    written = (kernel.folder / "all.log").read_bytes()

    assert written == b"y\n" * 10_000_000 + b"[redacted:GITHUB_TOKEN]\n"
    assert ran.out.endswith(f"note: all of stdout is in `all.log` ({len(written):,} bytes)\n")
    assert (kernel.folder / "all.log").stat().st_mode & 0o777 == 0o600
    told = kernel.run("%mcc_call t --spill all.log").reply["evalue"]
    assert told == "Tool 't': spill: `all.log` exists already; give another name or remove it"


# Cells and their ids (SPEC 2.5)


def tools(kernel: Kernel) -> list[str]:
    return kernel.fine("print(*mcc.tools)").out.split()


def test_MAGIC_09_running_a_cell_again_replaces_its_tools_and_says_nothing(kernel: Kernel) -> None:
    for _ in range(2):
        assert kernel.fine("%%mcc_tool t\ntrue", "c1").out == ""
    assert tools(kernel) == ["public.t"]


def test_a_tool_that_left_an_edited_cell_goes_too(kernel: Kernel) -> None:
    kernel.fine("%%mcc_tool\n- {name: a, exec: x}\n- {name: b, exec: x}\n", "c1")
    kernel.fine("%%mcc_tool c\ntrue", "c2")
    kernel.fine("%%mcc_tool\n- {name: b, exec: x}\n", "c1")
    assert sorted(tools(kernel)) == ["public.b", "public.c"]
    kernel.fine("%%mcc_tool renamed\ntrue", "c1")
    assert sorted(tools(kernel)) == ["public.c", "public.renamed"]
    kernel.fine("'no tool any more'", "c1")
    assert tools(kernel) == ["public.c"]


def test_a_function_that_left_an_edited_cell_goes_too(kernel: Kernel) -> None:
    two = "from mcc_jupyter import tool\n@tool\ndef f(): return 1\n@tool\ndef g(): return 2\n"
    kernel.fine(two, "c1")
    kernel.fine(two, "c1")
    assert sorted(tools(kernel)) == ["public.f", "public.g"]
    kernel.fine("from mcc_jupyter import tool\n@tool\ndef g(): return 3\n", "c1")
    assert tools(kernel) == ["public.g"]
    assert kernel.fine("mcc.tools.g()").shown == ["3"]


def test_a_module_of_functions_is_no_part_of_the_cell_that_imports_it(kernel: Kernel) -> None:
    """The cell's next run finds the module imported, and declares nothing."""
    (kernel.folder / "my_functions.py").write_text("from mcc_jupyter import tool\n@tool\ndef f(): return 1\n")
    for _ in range(2):
        kernel.fine("import my_functions", "c1")
        assert tools(kernel) == ["public.f"]
    assert kernel.fine("my_functions.f()").shown == ["1"]


def test_a_cell_that_fails_takes_nothing_away_and_the_old_tool_stays(kernel: Kernel) -> None:
    kernel.fine("%%mcc_tool\n- {name: a, exec: echo old}\n- {name: b, exec: x}\n", "c1")
    ran = kernel.run("%%mcc_tool\n- {name: a, exec: 5}\n", "c1")
    assert ran.reply["ename"] == "DeclarationError"
    assert sorted(tools(kernel)) == ["public.a", "public.b"]
    assert kernel.fine("%mcc_call a").out == "old\n"
    assert kernel.run("1 / 0", "c1").reply["ename"] == "ZeroDivisionError"
    assert sorted(tools(kernel)) == ["public.a", "public.b"]


def test_a_later_cell_with_the_same_key_replaces_with_a_notice_that_names_both(kernel: Kernel) -> None:
    kernel.fine("%%mcc_tool t\ntrue", "c1")
    ran = kernel.fine("%%mcc_tool\nname: t\nexec: echo second", "c2")

    assert ran.out == "public.t: replaces the declaration from an earlier cell (%%mcc_tool t) by this one (%%mcc_tool)\n"
    assert kernel.fine("%mcc_call t").out == "second\n"


def test_without_cell_ids_only_equal_names_are_replaced(kernel: Kernel) -> None:
    kernel.fine("%%mcc_tool\n- {name: a, exec: x}\n- {name: b, exec: x}\n")
    assert kernel.fine("%%mcc_tool b\ntrue").out == ""
    assert sorted(tools(kernel)) == ["public.a", "public.b"]


# Waiting without blocking (SPEC 7.12)


def test_a_call_can_be_awaited_in_a_cell(kernel: Kernel) -> None:
    kernel.fine("%%mcc_tool t --param n:int\nsleep 0.2; echo {{ n }}")
    ran = kernel.fine("import asyncio\n[outcome.value for outcome in await asyncio.gather(*(mcc.acall('t', {'n': n}) for n in range(3)))]")

    assert ran.shown == [repr(["0\n", "1\n", "2\n"])]


def test_cancelling_an_awaited_call_ends_the_tool(kernel: Kernel) -> None:
    kernel.fine(SLOW)
    (kernel.folder / "pids").unlink(missing_ok=True)
    ran = kernel.fine(
        "import asyncio, os\n"
        "task = asyncio.ensure_future(mcc.acall('slow'))\n"
        "while not (os.path.exists('pids') and open('pids').read().count('\\n') == 2): await asyncio.sleep(0.01)\n"
        "task.cancel()\n"
        "try:\n    await task\nexcept asyncio.CancelledError:\n    print('cancelled')\n"
    )
    pids = [int(pid) for pid in (kernel.folder / "pids").read_text().split()]

    assert ran.out.endswith("cancelled\n")
    assert until(lambda: not any(map(alive, pids)))


def test_interrupting_an_awaited_call_ends_the_tool(kernel: Kernel) -> None:
    kernel.fine(SLOW)
    cell, pids = kernel.begun("await mcc.acall('slow')", pids=2)
    kernel.manager.interrupt_kernel()
    assert kernel.finish(cell).reply["ename"] in ("CancelledError", "KeyboardInterrupt")
    assert until(lambda: not any(map(alive, pids)))


# Interrupting (SPEC 7.8)


def test_PROC_04_PROC_05_an_interrupt_ends_the_tool_with_its_background_jobs(kernel: Kernel) -> None:
    kernel.fine(SLOW)
    cell, pids = kernel.begun("%mcc_call slow -o answer", pids=2)
    kernel.manager.interrupt_kernel()
    ran = kernel.finish(cell)

    assert (ran.reply["status"], ran.reply["ename"]) == ("error", "KeyboardInterrupt")
    assert ran.error.startswith("KeyboardInterrupt: ")
    assert ran.out == "begun\n"
    assert until(lambda: not any(map(alive, pids)))
    assert kernel.fine("answer.stopped, answer.stdout").shown == ["('interrupt', 'begun\\n')"]


def test_a_second_interrupt_ends_a_tool_that_takes_no_hint(kernel: Kernel) -> None:
    kernel.fine("%%mcc_tool deaf\ntrap 'echo no' INT TERM\necho $$ > pids\nwhile true; do sleep 0.05; done\n")
    cell, [pid] = kernel.begun("%mcc_call deaf")
    kernel.manager.interrupt_kernel()
    time.sleep(0.3)
    assert alive(pid)
    kernel.manager.interrupt_kernel()

    assert kernel.finish(cell).reply["ename"] == "KeyboardInterrupt"
    assert until(lambda: not alive(pid))


def test_an_interrupted_function_and_cell_of_shell_end_too(kernel: Kernel) -> None:
    kernel.fine("from mcc_jupyter import tool\nimport os, time\n@tool\ndef f():\n    open('pids', 'w').write(f'{os.getpid()}\\n')\n    time.sleep(300)\n")
    for source in ("f()", "%mcc_call f", "%%mcc_sh\necho $$ > pids; sleep 300"):
        cell, [pid] = kernel.begun(source)
        kernel.manager.interrupt_kernel()
        assert kernel.finish(cell).reply["ename"] == "KeyboardInterrupt", source
        assert until(lambda pid=pid: not alive(pid)), source


def test_an_interrupted_map_gives_the_notebook_what_is_done(kernel: Kernel) -> None:
    kernel.fine("%%mcc_tool --param n:int half\ntest {{ n }} = 0 && exit; echo $$ > pids; sleep 300\n")
    cell, [pid] = kernel.begun("half = mcc.map('half', [{'n': 0}, {'n': 1}, {'n': 2}], workers=1)")
    kernel.manager.interrupt_kernel()

    assert kernel.finish(cell).reply["status"] == "ok"
    assert until(lambda: not alive(pid))
    assert kernel.fine("[outcome.failure for outcome in half]").shown == ["[None, 'was interrupted', 'did not start: was interrupted']"]


def test_the_traceback_of_an_interrupt_holds_no_value_even_with_all_variables(kernel: Kernel) -> None:
    kernel.fine("%xmode Verbose")
    kernel.fine("%%mcc_tool\nname: t\nexec: echo $$ > pids; sleep 300; echo {{ key }}\nenv: {PW: $GITHUB_TOKEN}\nenv_passthrough: [GITHUB_TOKEN]\nparams: [{name: key, override: $GITHUB_TOKEN}]\n")
    kernel.fine("import os\nmcc.session['note'] = 'n0t' + '-t0-be-seen'")
    for source in ("%mcc_call t", "mcc.tools.t()"):
        cell, _ = kernel.begun(source)
        kernel.manager.interrupt_kernel()
        ran = kernel.finish(cell)
        assert ran.reply["ename"] == "KeyboardInterrupt", source
        assert MARK not in ran.whole, source
        assert "n0t-t0-be-seen" not in ran.whole, source
    kernel.fine("%xmode Context")


# The end of a kernel (SPEC 7.9)


def gone(kernel: Kernel, pids: list[int]) -> bool:
    return until(lambda: not any(map(alive, pids)))


def family(pid: int) -> list[int]:
    """Every living process below *pid*: the launcher, supervisors and tools."""
    try:
        direct = [int(child) for thread in Path(f"/proc/{pid}/task").iterdir() for child in (thread / "children").read_text().split()]
    except OSError:
        return []
    return [child for one in direct for child in (one, *family(one)) if alive(child)]


def test_PROC_07_a_restart_leaves_no_process_and_MAGIC_17_no_tool(own_kernel: Kernel) -> None:
    own_kernel.fine(SLOW)
    _, pids = own_kernel.begun("%mcc_call slow", pids=2)
    below = family(own_kernel.pid)
    assert set(pids) < set(below)
    own_kernel.manager.restart_kernel()

    assert gone(own_kernel, below)
    own_kernel.ready()
    ran = own_kernel.run("%mcc_call slow")
    assert ran.error == "UnknownTool: No tool 'slow' is declared here, nor any other; run the cell that declares it"

    own_kernel.fine(SLOW)
    _, pids = own_kernel.begun("%mcc_call slow", pids=2)
    below = family(own_kernel.pid)
    own_kernel.manager.shutdown_kernel(now=True)
    assert gone(own_kernel, [*pids, *below])
    assert list(own_kernel.temporary.glob("mcc*")) == []


def test_PROC_07_a_killed_kernel_leaves_no_process(own_kernel: Kernel) -> None:
    own_kernel.fine(SLOW)
    _, pids = own_kernel.begun("%mcc_call slow", pids=2)
    below = family(own_kernel.pid)
    os.kill(own_kernel.pid, signal.SIGKILL)

    assert gone(own_kernel, [*pids, *below])
    assert list(own_kernel.temporary.glob("mcc*")) == []


# Notebooks that run without a front end (SPEC 9.7)


def notebook(*sources: str, parameters: int | None = None) -> nbformat.NotebookNode:
    cells = [nbformat.v4.new_code_cell(source, id=f"cell-{at}") for at, source in enumerate(sources)]
    if parameters is not None:
        cells[parameters].metadata["tags"] = ["parameters"]
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}})


def python(*arguments: str, environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment, cwd=folder, stdin=subprocess.DEVNULL)


def execute(source: nbformat.NotebookNode, path: Path, environment: dict[str, str]) -> list[Any]:
    """Runs a notebook with nbclient in that environment, writes it to *path*, and returns each cell's outputs."""
    ran = copy.deepcopy(source)
    NotebookClient(ran, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}).execute(env=environment)
    nbformat.write(ran, path)
    return [[output.get("text") or output.get("data") for output in cell["outputs"]] for cell in ran.cells]


def test_MAGIC_13_a_child_gets_the_same_names_whoever_runs_the_notebook(outside: dict[str, str], tmp_path: Path) -> None:
    """And MAGIC-12: nbval finds the same outputs again."""
    source = notebook(
        "%load_ext mcc_jupyter",
        "%%mcc_tool names\nenv | sed 's/=.*//' | sort | tr '\\n' ' '",
        "%mcc_call names",
        "import mcc_jupyter as mcc\n@mcc.tool\ndef names_of_f():\n    import os\n    return sorted(os.environ)\nnames_of_f()",
        "%mcc_env names",
        "%mcc_tools",
    )
    other = {**outside, "GITHUB_TOKEN": MARK, "AWS_PROFILE": "prod", "MCC_CTX": "{}", "MCC_CTX_USER": "outer", "PYTHONSTARTUP": "", "MY_OWN": "1"}
    one, two = execute(source, tmp_path / "one.ipynb", outside), execute(source, tmp_path / "two.ipynb", other)

    assert "MCC_CTX_USER" in one[2][0]
    assert one == two
    assert MARK not in (tmp_path / "two.ipynb").read_text()

    check = ("-m", "pytest", "--nbval", "--nbval-current-env", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path))
    ran = python(*check, "one.ipynb", "two.ipynb", environment=other, folder=tmp_path)
    assert "12 passed" in ran.stdout, ran.stdout


def test_a_notebook_with_a_parameter_runs_under_papermill(outside: dict[str, str], tmp_path: Path) -> None:
    nbformat.write(
        notebook("city = 'Oslo'", "%load_ext mcc_jupyter\nimport mcc_jupyter as mcc", "%%mcc_tool greet --param who\necho hello {{ who | quote }}", "print(mcc.tools.greet(who=city))", parameters=0),
        tmp_path / "in.ipynb",
    )
    ran = python("-m", "papermill", "in.ipynb", "out.ipynb", "-p", "city", "New York", "--no-progress-bar", environment=outside, folder=tmp_path)

    assert ran.returncode == 0, ran.stderr
    [*_, last] = json.loads((tmp_path / "out.ipynb").read_text())["cells"]
    assert "".join(last["outputs"][0]["text"]).strip() == "hello New York"


def test_a_failing_tool_stops_a_notebook_that_runs_alone(outside: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(CellExecutionError) as caught:
        execute(notebook("%load_ext mcc_jupyter", "%%mcc_sh\nexit 3", "open('reached', 'w')"), tmp_path / "failing.ipynb", outside)
    assert (caught.value.ename, caught.value.evalue) == ("ToolFailed", "Tool 'mcc_sh' failed with exit code 3")
    assert not (tmp_path / "reached").exists()


def test_LEAK_01_an_interrupt_between_processes_shows_no_variable_of_ours(own_kernel: Kernel) -> None:
    os.mkfifo(own_kernel.folder / "never.env")
    (own_kernel.folder / "hangs.py").write_text(
        "import os, time\nprint(os.environ['GITHUB_TOKEN'], flush=True)\nopen('begun', 'w').close()\ntime.sleep(300)\ndef f(): ...\n"
    )
    own_kernel.fine("%xmode Verbose")
    writer = os.open(own_kernel.folder / "never.env", os.O_RDWR)  # so that the kernel waits for what it writes
    try:
        own_kernel.fine("%%mcc_tool\nname: a\nexec: 'true'\nenv_file: never.env\nrequired_env: [GITHUB_TOKEN]\n")
        waiting = own_kernel.start("%mcc_call a")
        time.sleep(1)
        own_kernel.manager.interrupt_kernel()
        ended = own_kernel.finish(waiting)
    finally:
        os.close(writer)
    assert (ended.error, MARK in ended.whole) == ("KeyboardInterrupt: interrupted", False)
    importing = own_kernel.start("%%mcc_tool\nname: b\nfn: hangs:f\nrequired_env: [GITHUB_TOKEN]\n")
    assert until((own_kernel.folder / "begun").exists)
    own_kernel.manager.interrupt_kernel()
    ended = own_kernel.finish(importing)
    assert (ended.error, MARK in ended.whole) == ("KeyboardInterrupt: interrupted", False)
