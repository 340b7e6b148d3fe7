"""A policy file through every door: magics, Python, the command line, nbclient, papermill; and that no kernel widens it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from mcc_jupyter.doors import cli
from tests.doors.test_kernel import MARK, PATIENCE, Cell, Kernel
from tests.processes import environment, until

LINEAR, GITHUB, DATABASE = "linear-n0t-f0r-any-eyes", MARK, "database-n0t-f0r-any-eyes"
VALUES = {"LINEAR_API_KEY": LINEAR, "GITHUB_TOKEN": GITHUB, "DB_PASSWORD": DATABASE}

POLICY = """
[tools.linear]
exec = "echo asked {{ q | quote }} $(printf %s $LINEAR_API_KEY | wc -c)"
params = [{name = "q", default = "all"}]
required_env = ["LINEAR_API_KEY"]
skills = ["linear"]
[tools.gh]
exec = "printf %s $GITHUB_TOKEN | wc -c"
required_env = ["GITHUB_TOKEN"]
skills = ["github"]
[tools.absent]
exec = "x"
required_env = ["NOT_SET_HERE"]
skills = ["absent"]
[tools.off]
exec = "x"
enabled = false
[profiles.dev]
tools = ["linear", "absent", "off"]
skills = ["caveman"]
[profiles.small]
skills = ["caveman"]
[profiles.ops]
tools = ["gh"]
[workspaces."*"]
profiles = ["dev"]
[workspaces."ops*"]
profiles = ["ops"]
[grants]
allow = ["AWS_*"]
"""

WIDE = """
[tools.linear]
exec = "env"
env_passthrough = ["*"]
[tools.gh]
exec = "env"
env_passthrough = ["*"]
[tools.absent]
exec = "x"
[tools.off]
exec = "x"
[profiles.dev]
tools = ["linear", "gh", "absent", "off"]
[workspaces."*"]
profiles = ["dev"]
[grants]
allow = ["*"]
"""

ABSENT = "Tool 'absent' is unavailable; missing required environment: NOT_SET_HERE"


class Governed(Kernel):
    """A kernel whose extension is not loaded yet, in a folder with ``mcc.toml``."""

    def __init__(self, folder: Path, policy: str = POLICY, **more: str) -> None:
        self.policy = folder / "mcc.toml"
        self.policy.write_text(policy)
        self.policy.chmod(0o644)
        (folder / "skills").mkdir()
        (folder / "skills/linear.md").write_text("---\ndescription: How to ask\n---\n# Ask\n")
        (folder / "wide").mkdir()
        (folder / "wide/mcc.toml").write_text(WIDE)
        super().__init__({**environment(folder), **VALUES, **more}, folder)

    def ready(self) -> None:
        self.client.wait_for_ready(timeout=PATIENCE)

    def asked(self, source: str) -> str:
        """What a cell printed, with its error."""
        ran = self.run(source)
        assert not any(value in ran.whole for value in VALUES.values())
        return ran.out + ran.error


@pytest.fixture(autouse=True)
def nothing_in_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Governed]]:
    kernels: list[Governed] = []

    def start(**more: Any) -> Governed:
        folder = tmp_path / f"kernel{len(kernels)}"
        folder.mkdir(mode=0o755)
        kernels.append(Governed(folder, **more))
        return kernels[-1]

    yield start
    for kernel in kernels:
        kernel.close()


# ---- nothing running in a kernel can widen its access

SPY = """\
import mcc_jupyter as mcc, json
from mcc_jupyter.doors.python import toolbox
from mcc_jupyter.core.tool import Origin
names = set()
toolbox().add({"name": "spy_all", "exec": "env | cut -d= -f1", "env_passthrough": True}, Origin("python", "spy")).raise_for_problems()
names |= set(mcc.call("spy_all").stdout.split())
refused = []
for name in ("LINEAR_API_KEY", "GITHUB_TOKEN", "DB_PASSWORD"):
    for at, asks in enumerate([
        {"required_env": [name]}, {"optional_env": [name]}, {"required_env": {"X": name}}, {"env_passthrough": [name]},
        {"env": {"X": "$" + name}}, {"secret_files": {"X": "$" + name}}, {"exec": "printf %s $" + name + " | wc -c"}, {"exec": "echo $" + name},
    ]):
        tool = {"exec": "env", **asks, "name": f"spy_{name}_{at}"}
        toolbox().add(tool, Origin("python", "spy")).raise_for_problems()
        try:
            out = mcc.call(tool["name"]).stdout
            names |= {line.partition("=")[0] for line in out.splitlines() if line.partition("=")[0] in ("LINEAR_API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "X")}
        except mcc.ToolUnavailable:
            refused.append(tool["name"])
try:
    linear = mcc.call("linear").stdout
except mcc.MccError as error:
    linear = str(error)
try:
    gh = mcc.call("gh").stdout
except mcc.MccError as error:
    gh = type(error).__name__
print(json.dumps([sorted(names & {"LINEAR_API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "X"}), len(refused), linear, gh]))
"""


def held(kernel: Governed, linear: str = f"asked all {len(LINEAR)}\n") -> None:
    """No tool of a cell gets a governed name, and the operator's tool is the operator's."""
    ran = kernel.fine(SPY)
    assert not any(value in ran.whole for value in VALUES.values())
    names, refused, told, gh = json.loads(ran.out.splitlines()[-1])
    assert names == []
    assert refused == 3 * 6  # optional names and patterns refuse no call, they give nothing
    assert told == linear
    assert "GITHUB_TOKEN" not in gh  # a cell may have declared one of its own
    assert gh != f"{len(GITHUB)}\n"


BEFORE = {
    "its environment": """
import os
os.environ.update(MCC_POLICY=os.path.abspath("wide/mcc.toml"), MCC_WORKSPACE="ops", JPY_SESSION_NAME=os.path.abspath("ops.ipynb"), PWD=os.path.abspath("wide"),
                  MCC_ENV_FLOOR="PATH GITHUB_TOKEN DB_PASSWORD", JUPYTER_CONFIG_DIR=os.path.abspath("wide"), HOME=os.path.abspath("wide"))
""",
    "its folder": "%cd -q wide",
    "a folder without a policy file": "import os; os.chdir('/')",
    "its configuration": "get_ipython().config.MccMagics.env_floor = ['PATH', 'GITHUB_TOKEN', 'DB_PASSWORD']",
    "the Python API first": "import mcc_jupyter as mcc, os; os.chdir('wide'); mcc.policy()",
}  # fmt: skip


@pytest.mark.parametrize("way", BEFORE)
def test_nothing_that_ran_before_the_extension_widens(way: str, start: Callable[..., Governed]) -> None:
    kernel = start()
    kernel.fine(BEFORE[way])
    kernel.fine("%load_ext mcc_jupyter")
    held(kernel)


AFTER = {
    "redeclaring": ["%%mcc_tool linear --pass *\nenv", "%%mcc_tool linear --group ops --pass *\nenv", "%%mcc_tool gh --pass *\nenv"],
    "redeclaring in YAML": ["%%mcc_tool\n{name: public.linear, groups: [], exec: env, env_passthrough: true}", "%%mcc_tool\n{name: gh, exec: env, required_env: [GITHUB_TOKEN]}"],
    "a function": ["import mcc_jupyter as mcc\n@mcc.tool(env_passthrough=True)\ndef linear():\n    import os\n    return dict(os.environ)"],
    "the API": [
        "from mcc_jupyter.doors.python import toolbox\nfrom mcc_jupyter.core.tool import Origin",
        "toolbox().add({'name': 'linear', 'exec': 'env', 'env_passthrough': True}, Origin('policy', 'mcc.toml'))",
        "toolbox().registry.remove('linear')", "toolbox().registry.remove('public.linear')", "%mcc_tools rm linear",
    ],
    "another policy file": ["%mcc_load wide/mcc.toml", "import mcc_jupyter as mcc\nmcc.load('wide/mcc.toml')", "%mcc_load mcc.toml"],
    "a tools file": ["open('t.yaml', 'w').write('{name: linear, exec: env, env_passthrough: true}')", "%mcc_load t.yaml"],
    "its environment, and the extension again": [
        "import os\nos.environ.update(MCC_POLICY=os.path.abspath('wide/mcc.toml'), MCC_WORKSPACE='ops', JPY_SESSION_NAME='/ops.ipynb', PWD=os.path.abspath('wide'))",
        "%reload_ext mcc_jupyter", "%unload_ext mcc_jupyter", "%load_ext mcc_jupyter",
    ],
    "its folder, and the extension again": ["%cd -q wide", "%unload_ext mcc_jupyter", "%load_ext mcc_jupyter", "%cd -q .."],
    "another profile": ["%mcc_use ops dev", "import mcc_jupyter as mcc\nmcc.use('dev', 'ops', 'small')", "%mcc_use dev ops"],
    "a skill": ["open('skills/linear.md', 'w').write('---\\nrequired_env: [GITHUB_TOKEN]\\ntools: [gh]\\n---\\n%mcc_use ops')", "%mcc_skills linear", "%mcc_skills"],
    "rewriting the file": ["open('mcc.toml', 'w').write(open('wide/mcc.toml').read())", "%mcc_policy", "%reload_ext mcc_jupyter"],
    "removing the file": ["import os; os.remove('mcc.toml')", "%reload_ext mcc_jupyter", "%mcc_policy"],
    "breaking the file": ["open('mcc.toml', 'w').write('[')", "%reload_ext mcc_jupyter", "%mcc_policy"],
    "another program under the operator's tool": [
        "import os\nos.mkdir('bin')\nopen('bin/sh', 'w').write('#!/bin/sh\\nenv')\nopen('bin/echo', 'w').write('#!/bin/sh\\nenv')",
        "os.chmod('bin/sh', 0o755); os.chmod('bin/echo', 0o755)",
        "os.environ.update(PATH=os.path.abspath('bin') + ':' + os.environ['PATH'], LINEAR_API_KEY='x', ENV='/x')",
    ],
}  # fmt: skip


ALONE = ("another profile", "rewriting the file", "removing the file", "breaking the file", "another program under the operator's tool")
"""What leaves its kernel in another state than the next way should find."""


def test_nothing_that_runs_under_the_extension_widens(start: Callable[..., Governed]) -> None:
    shared = start()
    shared.fine("%load_ext mcc_jupyter")
    for way, cells in AFTER.items():
        kernel = shared
        if way in ALONE:
            kernel = start()
            kernel.fine("%load_ext mcc_jupyter")
        for cell in cells:
            ran = kernel.run(cell)
            assert not any(value in ran.whole for value in VALUES.values()), way
        held(kernel)
        if way in ALONE:
            kernel.close()


def test_what_was_given_up_stays_so(start: Callable[..., Governed]) -> None:
    kernel = start()
    kernel.fine("%load_ext mcc_jupyter")
    assert kernel.asked("%mcc_call linear") == f"asked all {len(LINEAR)}\n"
    assert kernel.asked("%mcc_use small") == "given up: linear, absent, off\n"
    for again in ("%mcc_use dev", "%reload_ext mcc_jupyter", "%unload_ext mcc_jupyter", "%load_ext mcc_jupyter", "import mcc_jupyter as mcc; mcc.use('dev')"):
        kernel.run(again)
    gone = "Tool 'linear' is unavailable; not granted: this workspace gave it up, or the policy file took it back"
    assert kernel.asked("%mcc_call linear").strip() == f"ToolUnavailable: {gone}"
    held(kernel, gone)


def test_a_function_of_the_operators_that_is_kept_ready_is_not_called_after_a_narrowing(start: Callable[..., Governed]) -> None:
    text = POLICY.replace('exec = "echo asked {{ q | quote }} $(printf %s $LINEAR_API_KEY | wc -c)"\nparams = [{name = "q", default = "all"}]', 'fn = "asking:ask"')
    kernel = start(policy=text)
    (kernel.folder / "asking.py").write_text("import os\ndef ask(): return len(os.environ['LINEAR_API_KEY'])\n")
    kernel.fine("%load_ext mcc_jupyter\nimport mcc_jupyter as mcc")
    assert kernel.fine("print(mcc.call('linear').value, mcc.call('linear').mode)").out == f"{len(LINEAR)} warm\n"
    kernel.fine("def own(): pass\n@mcc.tool(env_passthrough=['AWS_*'])\ndef mine():\n    import os\n    return sorted(n for n in os.environ if n.startswith('AWS'))")
    kernel.fine("import os; os.environ['AWS_REGION'] = 'eu'")
    assert kernel.fine("print(mcc.call('mine').value)").out == "['AWS_REGION']\n"

    kernel.policy.write_text(text.replace('allow = ["AWS_*"]', "").replace('tools = ["linear", ', "tools = ["))
    assert kernel.fine("print(mcc.call('mine').value)").out == "[]\n"
    assert "ToolUnavailable: Tool 'linear' is unavailable; not granted" in kernel.asked("mcc.call('linear')")


# ---- what the server and the panel are told


def test_the_manifest_has_the_authority_by_name_and_follows_it(start: Callable[..., Governed], tmp_path: Path) -> None:
    kernel = start(JUPYTER_RUNTIME_DIR=str(tmp_path / "runtime"))

    def told() -> dict[str, Any]:
        files = list((tmp_path / "runtime" / "mcc").glob("*.json"))
        return (json.loads(files[0].read_text())["policy"] or {}) if files else {}

    kernel.fine("%load_ext mcc_jupyter")
    assert until(told)
    assert {key: told()[key] for key in ("label", "state", "workspace", "profiles", "allow", "deny")} == {"label": "mcc.toml", "state": "loaded", "workspace": None, "profiles": ["dev"], "allow": ["AWS_*"], "deny": []}
    kernel.policy.write_text(kernel.policy.read_text().replace('allow = ["AWS_*"]', ""))
    kernel.asked("%mcc_use small")
    assert until(lambda: told()["allow"] == [])


# ---- the magics


def test_loading_the_extension_tells_notices_once_and_the_magics_tell_the_rest(start: Callable[..., Governed]) -> None:
    kernel = start()
    assert kernel.asked("%load_ext mcc_jupyter") == f"{ABSENT}\n"
    assert kernel.asked("%reload_ext mcc_jupyter") == ""
    shown = kernel.fine("%mcc_policy").shown[0]
    assert shown.startswith("policy file: mcc.toml\nworkspace: not named\nprofiles: dev; others: small, ops\ncells may ask for: AWS_*\nskills: caveman\n")
    assert f"- {ABSENT}\n" in shown
    assert "off     exec  disabled" in shown
    assert kernel.fine("%mcc_tools").shown[0].split()[4:] == ["absent", "exec", "unavailable", "linear", "exec", "available"]
    assert kernel.fine("%mcc_skills").shown[0].splitlines()[1:] == [
        "caveman          skill caveman: there is no file skills/caveman.md",
        "linear   linear  How to ask",
    ]
    (message,) = [content for _, kind, content in kernel.fine("%mcc_skills linear").messages if kind == "display_data"]
    assert message["data"]["text/markdown"] == "---\ndescription: How to ask\n---\n# Ask\n"
    assert kernel.asked("%mcc_skills absent") == "ArgumentError: there is no skill 'absent' here; `%mcc_skills` lists them"
    assert kernel.asked("%mcc_use dve") == "PolicyError: mcc.toml: there is no profile 'dve' (did you mean `dev`?); `%mcc_policy` lists them"
    assert kernel.asked("%mcc_use dev") == "nothing was given up: these profiles have every tool\n"
    assert kernel.asked("%mcc_use") == "ArgumentError: %mcc_use: write `%mcc_use PROFILE…`; `%mcc_use?` shows the help"
    assert kernel.asked("%mcc_policy x") == "ArgumentError: %mcc_policy: write `%mcc_policy`; `%mcc_policy?` shows the help"
    assert kernel.asked("%mcc_call off") == "ToolUnavailable: Tool 'off' is unavailable; disabled by mcc.toml"
    assert kernel.asked("%mcc_call gh") == "ToolUnavailable: Tool 'gh' is unavailable; not granted to this workspace, which has no name"

    found = kernel.fine(
        "from mcc_jupyter.doors.ipython.completion import candidates\nfrom mcc_jupyter.doors.python import toolbox\n"
        "import mcc_jupyter as mcc\n"
        "for line in ('%mcc_use ', '%mcc_use dev ', '%mcc_skills ', '%mcc_skills linear ', '%mcc_call '):\n    print(list(candidates(line, toolbox())))\n"
        "print(mcc.skills('linear')[:3], len(mcc.skills().rows), mcc.policy().profiles, mcc.use('dev'))"
    ).out  # fmt: skip
    assert found.splitlines() == [
        "['dev', 'small', 'ops']", "['small', 'ops']", "['caveman', 'linear']", "[]", "['linear']", "--- 2 ('dev',) ()",
    ]  # fmt: skip
    assert kernel.asked("mcc.use(3)") == "ArgumentError: use: a profile is text, like `dev`, and not of type int"


def test_a_file_that_cannot_be_used_is_told_where_it_is_wrong_and_nothing_is_granted(start: Callable[..., Governed]) -> None:
    kernel = start(policy=POLICY.replace("skills = ", "skils = ", 1))
    problem = "mcc.toml: tools.linear: unknown key `skils` (did you mean `skills`?)"
    assert kernel.asked("%load_ext mcc_jupyter") == f"PolicyError: {problem}\n"
    assert kernel.asked("%mcc_call linear") == "UnknownTool: No tool 'linear' is declared here, nor any other; run the cell that declares it"
    assert kernel.fine("%mcc_policy").shown[0].startswith(
        f"policy file: mcc.toml\nthe policy file cannot be used: no tool and no name is granted\n\n- {problem}\n"
    )
    kernel.fine("import os; os.environ['AWS_REGION'] = 'eu'")
    kernel.fine("%%mcc_tool t --require AWS_REGION\nenv")
    assert kernel.asked("%mcc_call t") == "ToolUnavailable: Tool 't' is unavailable; not granted by mcc.toml: AWS_REGION"


def test_without_a_policy_file_the_magics_say_so(tmp_path: Path) -> None:
    kernel = Kernel(environment(tmp_path), tmp_path)
    try:
        assert kernel.fine("%mcc_policy").shown[0].startswith("no policy file: cells are the authority\n\nFrom this kernel, which holds these values anyway.")
        assert kernel.run("%mcc_use dev").error == "PolicyError: there is no policy file, so there are no profiles; cells are the authority here"
        assert kernel.fine("%mcc_skills").shown == ["there are no skills"]
    finally:
        kernel.close()


# ---- the same access everywhere

NOTEBOOK = ["%load_ext mcc_jupyter", "import mcc_jupyter as mcc, json\nprint('ACCESS', json.dumps(mcc.policy().json()))", "print('LINEAR', mcc.call('linear').stdout)"]


def access(document: Any) -> Any:
    """What does not depend on where it was asked."""
    return {key: document[key] for key in ("workspace", "profiles", "tools", "skills", "grants", "exposed", "notices")}


def written(path: Path) -> Path:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in NOTEBOOK])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, path)
    return path


def told(path: Path) -> Any:
    text = "".join(output.get("text", "") for cell in nbformat.read(path, 4).cells for output in cell.get("outputs", []))
    assert f"LINEAR asked all {len(LINEAR)}" in text
    return access(json.loads(text.partition("ACCESS ")[2].partition("\n")[0]))


@pytest.mark.parametrize(("workspace", "profiles"), [("ops-1", ["dev", "ops"]), ("{folder}/ops/nb.ipynb", ["dev", "files"]), (None, ["dev"])])
def test_a_notebook_has_the_same_access_however_it_is_run(workspace: str | None, profiles: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "work"
    (folder / "ops").mkdir(parents=True)
    (folder / "mcc.toml").write_text(POLICY + '[profiles.files]\ntools = ["gh"]\n[workspaces."ops/*.ipynb"]\nprofiles = ["files"]\n')
    path = written(folder / "ops/nb.ipynb")
    given = {**environment(tmp_path), **VALUES, "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime")}
    if workspace is not None:
        workspace = workspace.format(folder=folder)
        given["MCC_WORKSPACE"] = workspace

    def run(*command: str, where: Path) -> str:
        ran = subprocess.run([sys.executable, *command], env=given, cwd=where, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    by_command = access(json.loads(run("-m", "mcc_jupyter", "policy", "--json", where=folder)))
    assert by_command["profiles"] == profiles
    if workspace is not None:
        elsewhere = json.loads(run("-m", "mcc_jupyter", "policy", "--json", "--workspace", workspace, "--policy", str(folder / "mcc.toml"), where=tmp_path))
        assert access(elsewhere) == by_command
    run("-m", "jupyter", "execute", "--inplace", str(path), where=tmp_path)
    assert told(path) == by_command
    run("-m", "papermill", "--no-progress-bar", str(path), str(tmp_path / "out.ipynb"), where=folder)
    assert told(tmp_path / "out.ipynb") == by_command


def test_a_kernel_of_a_jupyter_server_is_its_notebooks(start: Callable[..., Governed]) -> None:
    """The server tells a kernel its notebook in the environment that it is started with."""
    rule = '[profiles.files]\ntools = ["gh"]\n[workspaces."ops/*.ipynb"]\nprofiles = ["files"]\n'
    kernel = start(policy=POLICY + rule, JPY_SESSION_NAME="/nowhere/ops/nb.ipynb", MCC_WORKSPACE="ops")
    kernel.fine("%load_ext mcc_jupyter")
    assert "workspace: /nowhere/ops/nb.ipynb\nprofiles: dev; others: small, ops, files\n" in kernel.fine("%mcc_policy").shown[0]
    kernel.close()

    folder = kernel.folder.parent / "kernel1"
    other = start(policy=POLICY + rule, JPY_SESSION_NAME=str(folder / "ops/nb.ipynb"), MCC_WORKSPACE="elsewhere")
    other.fine("%load_ext mcc_jupyter")
    assert "workspace: ops/nb.ipynb\nprofiles: dev, files; others: small, ops\n" in other.fine("%mcc_policy").shown[0]
    assert other.asked("%mcc_call gh") == f"{len(GITHUB)}\n"


# ---- the command line

Ran = tuple[int, str, str]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """``mcc-jupyter`` in this process, in a folder with a policy file."""
    monkeypatch.chdir(tmp_path)
    for name, value in VALUES.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "mcc.toml").write_text(POLICY)
    (tmp_path / "tools.yaml").write_text("- {name: mine, exec: echo mine}\n- {name: token, exec: x, required_env: [GITHUB_TOKEN]}\n")

    def run(*arguments: str) -> Ran:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = cli.main(arguments)
            except SystemExit as exit:
                status = int(exit.code or 0)
        assert not any(value in out.getvalue() + err.getvalue() for value in VALUES.values())
        return status, out.getvalue(), err.getvalue()

    return run


def test_the_operators_tools_are_called_beside_those_of_a_file(here: Callable[..., Ran]) -> None:
    assert here("call", "tools.yaml", "mine") == (0, "mine\n", "")
    assert here("call", "tools.yaml", "linear", "q=3") == (0, f"asked 3 {len(LINEAR)}\n", "")
    assert here("call", "mcc.toml", "linear") == (0, f"asked all {len(LINEAR)}\n", "")
    assert here("call", "mcc.toml", "public.linear") == (0, f"asked all {len(LINEAR)}\n", "")
    assert here("call", "tools.yaml", "gh") == (4, "", "Tool 'gh' is unavailable; not granted to this workspace, which has no name\n")
    assert here("call", "tools.yaml", "gh", "--workspace", "ops") == (0, f"{len(GITHUB)}\n", "")
    assert here("call", "tools.yaml", "off") == (4, "", "Tool 'off' is unavailable; disabled by mcc.toml\n")
    assert here("call", "tools.yaml", "token") == (4, "", "Tool 'token' is unavailable; not granted by mcc.toml: GITHUB_TOKEN\n")
    status, out, err = here("call", "tools.yaml", "lineer")
    assert (status, out) == (3, "")
    assert err == "tools.yaml declares no tool 'lineer' (did you mean `linear`?); its tools: linear, absent, mine, token\n"


def test_tools_and_report_show_both(here: Callable[..., Ran]) -> None:
    rows = json.loads(here("tools", "tools.yaml", "--format", "json")[1])
    assert [(row["tool"], row["state"]) for row in rows] == [
        ("absent", "unavailable"), ("linear", "available"), ("mine", "available"), ("token", "unavailable"),
    ]  # fmt: skip
    assert [row["tool"] for row in json.loads(here("tools", "mcc.toml", "--format", "json")[1])] == ["absent", "linear"]
    assert here("report", "mcc.toml", "linear")[1].startswith("linear  exec  available\n")


def test_a_file_cannot_declare_what_the_operator_did(here: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text("{name: linear, exec: env}")
    clash = "tools.yaml: public.linear: mcc.toml has the tool 'linear', which cannot be declared again; give yours another name\n"
    assert here("tools", "tools.yaml") == (2, "", clash)
    assert here("call", "tools.yaml", "linear") == (0, f"asked all {len(LINEAR)}\n", "")


def test_a_policy_file_that_cannot_be_used_stops_a_command(here: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "mcc.toml").write_text("[tools.a]\nexec = 'x'\nenabld = true\n")
    problem = "mcc.toml: tools.a: unknown key `enabld` (did you mean `enabled`?)\n"
    assert here("call", "tools.yaml", "mine") == (7, "", problem)
    assert here("tools", "tools.yaml", "--policy", "gone.toml") == (7, "", "gone.toml: the policy file cannot be read (no such file or directory)\n")
    status, out, _ = here("policy")
    assert status == 7
    assert f"- {problem}" in out


def test_another_policy_file_and_workspace_are_named_at_the_start(here: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "p.toml").write_text(WIDE)
    assert json.loads(here("policy", "--policy", "p.toml", "--json")[1])["grants"]["allow"] == ["*"]
    assert "p.toml" in here("tools", "p.toml", "--policy", "mcc.toml")[2]
    monkeypatch.setenv("MCC_POLICY", str(tmp_path / "p.toml"))
    monkeypatch.setenv("MCC_WORKSPACE", "ops")
    document = json.loads(here("policy", "--json")[1])
    assert (document["file"], document["workspace"]) == ("p.toml", "ops")


def test_a_command_in_a_folder_that_is_gone_says_so(here: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> str:
        raise FileNotFoundError

    monkeypatch.setattr(os, "getcwd", gone)
    assert here("policy") == (2, "", "the working directory no longer exists; change to another one\n")


def test_a_kernels_cell(start: Callable[..., Governed]) -> None:
    """What ``held`` reports would be seen: under no policy file the spy gets everything."""
    kernel = start()
    kernel.policy.unlink()
    kernel.fine("%load_ext mcc_jupyter")
    ran: Cell = kernel.fine(SPY)
    names, refused, _, gh = json.loads(ran.out.splitlines()[-1])
    assert names == ["DB_PASSWORD", "GITHUB_TOKEN", "LINEAR_API_KEY", "X"]
    assert (refused, gh) == (0, "UnknownTool")
