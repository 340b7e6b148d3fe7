"""The laws of the package, read from its source (``docs/architecture.md``).

Each law is a function from a source text and its place in the package to the lines that break it, so every law is shown
to catch a planted violation. The laws about what an import loads are tried in fresh interpreters.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE = REPOSITORY / "mcc_jupyter"

PURE = frozenset(
    "__future__ abc ast base64 binascii bisect builtins codecs collections contextlib copy dataclasses datetime decimal "
    "difflib enum fnmatch fractions functools hashlib hmac html io itertools json keyword marshal math numbers operator posixpath re "
    "reprlib shlex signal string struct symtable textwrap token tokenize types typing unicodedata urllib.parse".split()
)
"""The modules of the standard library that decide nothing from the world (``signal`` for its names): no file, clock, randomness, process."""

LIBRARIES = frozenset({"ahocorasick_rs", "dotenv", "fastjsonschema", "jinja2", "markupsafe", "yaml"})
"""Third-party libraries that turn data into data: core may use them, inside a function."""

HOSTS = frozenset({"IPython", "ipykernel", "jupyter_client", "jupyter_core", "jupyter_events", "jupyter_server", "mcp", "notebook", "traitlets", "tornado"})

STARTERS = frozenset({"_posixsubprocess", "multiprocessing", "pexpect", "pty", "subprocess"})
STARTING_CALLS = frozenset(
    "fork forkpty posix_spawn posix_spawnp system popen startfile ProcessPoolExecutor create_subprocess_exec create_subprocess_shell "
    "execl execle execlp execlpe execv execve execvp execvpe spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe".split()
)
MAY_START = frozenset({"runtime/launcher.py", "runtime/launching.py", "runtime/errands.py", "runtime/egress.py", "child/launch.py", "child/start.py", "child/supervise.py", "child/warm_checks.py", "child/warm_fn.py"})

ENVIRONMENT = frozenset({"environ", "environb", "getenv", "getenvb"})
WORLDLY_CALLS = frozenset({"open", "input", "print", "breakpoint"})
CLOCKS = frozenset({"now", "utcnow", "today", "fromtimestamp"})


@dataclass(frozen=True)
class Import:
    """One imported module, by its absolute name; ``inside``: in a function; ``typing``: under ``if TYPE_CHECKING``."""

    module: str
    line: int
    inside: bool
    typing: bool

    @property
    def top(self) -> str:
        return self.module.partition(".")[0]


def imports(source: str, place: str) -> Iterator[Import]:
    """Every import of a module at *place* (``core/policy.py``). ``from . import x`` counts as ``x``, which may be a module."""
    package = ("mcc_jupyter", *place.split("/")[:-1])

    def walk(node: ast.AST, inside: bool, typing: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(alias.name, child.lineno, inside, typing)
            elif isinstance(child, ast.ImportFrom):
                base = ".".join(package[: len(package) - child.level + 1]) if child.level else ""
                module = ".".join(part for part in (base, child.module) if part)
                if module in ("mcc_jupyter", "urllib") or (child.level and not child.module):
                    for alias in child.names:
                        yield Import(f"{module}.{alias.name}", child.lineno, inside, typing)
                else:
                    yield Import(module, child.lineno, inside, typing)
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                yield from walk(child, inside, True)
            else:
                yield from walk(child, inside or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda), typing)

    yield from walk(ast.parse(source), False, False)


def _is_ours(module: str, room: str = "") -> bool:
    name = f"mcc_jupyter.{room}".rstrip(".")
    return module == name or module.startswith(name + ".")


def _third_party(top: str) -> bool:
    return top not in sys.stdlib_module_names and top != "mcc_jupyter"


def core_is_pure(source: str, place: str) -> list[str]:
    """Law 1. core imports core and pure standard library; libraries of data inside a function; and calls nothing worldly."""
    if not place.startswith("core/"):
        return []
    found = []
    for item in imports(source, place):
        if item.typing or _is_ours(item.module, "core"):
            continue
        if item.top in LIBRARIES:
            if not item.inside:
                found.append(f"{place}:{item.line}: {item.module} must be imported inside the function that needs it")
        elif item.module not in PURE and not (item.top in PURE and item.top != "urllib"):
            found.append(f"{place}:{item.line}: core may not import {item.module}")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            owner = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            if name in WORLDLY_CALLS or (owner, method) == ("io", "open") or (method in CLOCKS and owner.split(".")[-1] in ("date", "datetime")):
                found.append(f"{place}:{node.lineno}: core may not call {name or method}")
    return found


def runtime_knows_no_host(source: str, place: str) -> list[str]:
    """Law 1. runtime imports neither a door nor a host library, and third-party modules only inside functions."""
    if not place.startswith("runtime/"):
        return []
    found = []
    for item in imports(source, place):
        if _is_ours(item.module, "doors") or item.top in HOSTS:
            found.append(f"{place}:{item.line}: runtime may not import {item.module}")
        elif _third_party(item.top) and not item.inside and not item.typing:
            found.append(f"{place}:{item.line}: {item.module} must be imported inside the function that needs it")
    return found


def doors_stand_apart(source: str, place: str) -> list[str]:
    """Law 1. A door imports no other door: ``doors/x.py`` and ``doors/y/…`` meet only in runtime."""
    if not place.startswith("doors/"):
        return []
    own = place.split("/")[1].removesuffix(".py")
    return [
        f"{place}:{item.line}: a door may not import {item.module}"
        for item in imports(source, place)
        if _is_ours(item.module, "doors") and item.module not in ("mcc_jupyter.doors", f"mcc_jupyter.doors.{own}")
        and not item.module.startswith(f"mcc_jupyter.doors.{own}.")
    ]


def child_stands_alone(source: str, place: str) -> list[str]:
    """Law 1. child imports the standard library and nothing of ours: it runs in the interpreter of the tool."""
    if not place.startswith("child/"):
        return []
    return [f"{place}:{item.line}: child may not import {item.module}" for item in imports(source, place) if item.top not in sys.stdlib_module_names]


def environment_is_read_in_doors(source: str, place: str) -> list[str]:
    """Law 2. ``os.environ`` is read in doors, at one place each. In child it is the tool's own environment."""
    if place.startswith("child/"):
        return []
    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in ENVIRONMENT and ast.unparse(node.value) in ("os", "posix"):
            lines.append(node.lineno)
        elif isinstance(node, ast.ImportFrom) and node.module in ("os", "posix") and any(alias.name in ENVIRONMENT for alias in node.names):
            lines.append(node.lineno)
    if place.startswith("doors/"):
        return [f"{place}:{line}: a door reads os.environ once and hands it on" for line in sorted(lines)[1:]]
    return [f"{place}:{line}: only a door may read os.environ" for line in sorted(lines)]


def processes_start_in_one_place(source: str, place: str) -> list[str]:
    """Law 3. Only the launcher, its child scripts, the egress proxy, and `mcc-jupyter launch` before there is a kernel start processes."""
    if place in MAY_START:
        return []
    found = [(item.line, item.module) for item in imports(source, place) if item.top in STARTERS]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in STARTING_CALLS and ast.unparse(node.value).split(".")[0] in ("os", "posix", "asyncio", "concurrent"):
            found.append((node.lineno, ast.unparse(node)))
        elif isinstance(node, ast.ImportFrom) and node.module in ("os", "posix", "asyncio", "concurrent.futures"):
            found += [(node.lineno, alias.name) for alias in node.names if alias.name in STARTING_CALLS]
    return [f"{place}:{line}: {name} may start a process; only the launcher does" for line, name in sorted(found)]


def values_leave_in_one_place(source: str, place: str) -> list[str]:
    """Law 4. ``.environ()`` of a Resolution is called in ``core/command.py`` and nowhere else."""
    if place == "core/command.py":
        return []
    return [
        f"{place}:{node.lineno}: only core/command.py may call .environ()"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "environ"
    ]


def nothing_is_inherited(source: str, place: str) -> list[str]:
    """Law 4. No ``env=None``, no process started without ``env``, and nothing that makes Python fork (``preexec_fn``)."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        if "env" in given and isinstance(given["env"], ast.Constant) and given["env"].value is None:
            found.append(f"{place}:{node.lineno}: env=None inherits everything")
        if "preexec_fn" in given:
            found.append(f"{place}:{node.lineno}: preexec_fn forks this process")
        if ast.unparse(node.func) in ("subprocess.Popen", "subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output", "Popen") and "env" not in given:
            found.append(f"{place}:{node.lineno}: a process without env= inherits everything")
    return found


Law = Callable[[str, str], list[str]]
LAWS: tuple[Law, ...] = (
    core_is_pure,
    runtime_knows_no_host,
    doors_stand_apart,
    child_stands_alone,
    environment_is_read_in_doors,
    processes_start_in_one_place,
    values_leave_in_one_place,
    nothing_is_inherited,
)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_the_package_keeps_the_law(law: Law) -> None:
    files = sorted(PACKAGE.rglob("*.py"))
    broken = [line for file in files for line in law(file.read_text(encoding="utf-8"), file.relative_to(PACKAGE).as_posix())]

    assert len(files) > 10
    assert broken == []


@pytest.mark.parametrize(
    ("law", "place", "source", "expected"),
    [
        (core_is_pure, "core/a.py", "import os", "core/a.py:1: core may not import os"),
        (core_is_pure, "core/a.py", "from pathlib import Path", "core/a.py:1: core may not import pathlib"),
        (core_is_pure, "core/a.py", "def f():\n    import time", "core/a.py:2: core may not import time"),
        (core_is_pure, "core/a.py", "from ..runtime import session", "core/a.py:1: core may not import mcc_jupyter.runtime"),
        (core_is_pure, "core/a.py", "from .. import runtime", "core/a.py:1: core may not import mcc_jupyter.runtime"),
        (core_is_pure, "core/a.py", "from mcc_jupyter import doors", "core/a.py:1: core may not import mcc_jupyter.doors"),
        (core_is_pure, "core/a.py", "import jinja2", "core/a.py:1: jinja2 must be imported inside the function that needs it"),
        (core_is_pure, "core/a.py", "def f():\n    import requests", "core/a.py:2: core may not import requests"),
        (core_is_pure, "core/a.py", "import urllib.request", "core/a.py:1: core may not import urllib.request"),
        (core_is_pure, "core/a.py", "from urllib import request", "core/a.py:1: core may not import urllib.request"),
        (core_is_pure, "core/a.py", "x = open('f').read()", "core/a.py:1: core may not call open"),
        (core_is_pure, "core/a.py", "import io\nx = io.open('f')", "core/a.py:2: core may not call open"),
        (core_is_pure, "core/a.py", "import datetime\nx = datetime.datetime.now()", "core/a.py:2: core may not call now"),
        (runtime_knows_no_host, "runtime/a.py", "from ..doors import cli", "runtime/a.py:1: runtime may not import mcc_jupyter.doors"),
        (runtime_knows_no_host, "runtime/a.py", "def f():\n    import IPython.display", "runtime/a.py:2: runtime may not import IPython.display"),
        (runtime_knows_no_host, "runtime/a.py", "import tqdm", "runtime/a.py:1: tqdm must be imported inside the function that needs it"),
        (doors_stand_apart, "doors/cli.py", "from .ipython import x", "doors/cli.py:1: a door may not import mcc_jupyter.doors.ipython"),
        (doors_stand_apart, "doors/cli.py", "from . import mcp", "doors/cli.py:1: a door may not import mcc_jupyter.doors.mcp"),
        (doors_stand_apart, "doors/server/a.py", "from ..cli import x", "doors/server/a.py:1: a door may not import mcc_jupyter.doors.cli"),
        (child_stands_alone, "child/a.py", "from ..core import tool", "child/a.py:1: child may not import mcc_jupyter.core"),
        (child_stands_alone, "child/a.py", "def f():\n    import numpy", "child/a.py:2: child may not import numpy"),
        (environment_is_read_in_doors, "runtime/a.py", "import os\nx = os.environ['A']", "runtime/a.py:2: only a door may read os.environ"),
        (environment_is_read_in_doors, "core/a.py", "import os\nx = os.getenv('A')", "core/a.py:2: only a door may read os.environ"),
        (environment_is_read_in_doors, "runtime/a.py", "from os import environ", "runtime/a.py:1: only a door may read os.environ"),
        (environment_is_read_in_doors, "__init__.py", "import os\ndef f(): return os.environb", "__init__.py:2: only a door may read os.environ"),
        (environment_is_read_in_doors, "doors/a.py", "import os\nx = os.environ\ny = os.environ", "doors/a.py:3: a door reads os.environ once and hands it on"),
        (processes_start_in_one_place, "runtime/a.py", "import subprocess", "runtime/a.py:1: subprocess may start a process; only the launcher does"),
        (doors_stand_apart, "doors/jupyter_server/a.py", "from ..kernel_provisioner import x", "doors/jupyter_server/a.py:1: a door may not import mcc_jupyter.doors.kernel_provisioner"),
        (runtime_knows_no_host, "runtime/a.py", "def f():\n    import jupyter_server.auth", "runtime/a.py:2: runtime may not import jupyter_server.auth"),
        (processes_start_in_one_place, "doors/a.py", "import os\nos.fork()", "doors/a.py:2: os.fork may start a process; only the launcher does"),
        (processes_start_in_one_place, "child/run_fn.py", "from os import posix_spawn", "child/run_fn.py:1: posix_spawn may start a process; only the launcher does"),
        (processes_start_in_one_place, "doors/a.py", "import asyncio\nasyncio.create_subprocess_exec('x')", "doors/a.py:2: asyncio.create_subprocess_exec may start a process; only the launcher does"),
        (processes_start_in_one_place, "runtime/a.py", "from multiprocessing import Pool", "runtime/a.py:1: multiprocessing may start a process; only the launcher does"),
        (processes_start_in_one_place, "runtime/a.py", "from concurrent.futures import ProcessPoolExecutor", "runtime/a.py:1: ProcessPoolExecutor may start a process; only the launcher does"),
        (values_leave_in_one_place, "runtime/toolbox.py", "x = resolution.environ()", "runtime/toolbox.py:1: only core/command.py may call .environ()"),
        (nothing_is_inherited, "runtime/launcher.py", "Popen(['x'], env=None)", "runtime/launcher.py:1: env=None inherits everything"),
        (nothing_is_inherited, "runtime/launcher.py", "subprocess.run(['x'])", "runtime/launcher.py:1: a process without env= inherits everything"),
        (nothing_is_inherited, "runtime/launcher.py", "Popen(['x'], env={}, preexec_fn=f)", "runtime/launcher.py:1: preexec_fn forks this process"),
    ],
)
def test_a_planted_violation_is_caught(law: Law, place: str, source: str, expected: str) -> None:
    assert law(source, place) == [expected]


@pytest.mark.parametrize(
    ("law", "place", "source"),
    [
        (core_is_pure, "core/a.py", "from __future__ import annotations\nimport collections.abc\nfrom urllib.parse import quote\nfrom . import tool"),
        (core_is_pure, "core/a.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pathlib import Path"),
        (core_is_pure, "core/a.py", "def f():\n    import jinja2.sandbox"),
        (core_is_pure, "runtime/a.py", "import os, time"),
        (runtime_knows_no_host, "runtime/a.py", "from ..core import tool\ndef f():\n    import tqdm"),
        (doors_stand_apart, "doors/server/a.py", "from .b import x\nfrom ...runtime import toolbox"),
        (child_stands_alone, "child/a.py", "import os, marshal"),
        (environment_is_read_in_doors, "child/run_fn.py", "import os\nos.environ.pop('A')"),
        (environment_is_read_in_doors, "runtime/a.py", "x = resolution.environ()"),
        (processes_start_in_one_place, "runtime/launcher.py", "import subprocess"),
        (processes_start_in_one_place, "runtime/a.py", "cursor.execv = 1"),
        (values_leave_in_one_place, "core/command.py", "x = resolution.environ()"),
        (nothing_is_inherited, "runtime/launcher.py", "subprocess.Popen(['x'], env=floor)"),
    ],
)
def test_what_keeps_a_law_passes(law: Law, place: str, source: str) -> None:
    assert law(source, place) == []


def _fresh(script: str, tmp_path: Path, *options: str) -> dict[str, list[str]]:
    """Run *script* in a new interpreter that finds the package; it prints one JSON object."""
    prelude = f"import sys\nsys.path.insert(0, {str(REPOSITORY)!r})\n"
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "IPYTHONDIR": str(tmp_path / "ipython"), "LANG": "C.UTF-8"}
    answer = subprocess.run([sys.executable, *options, "-c", prelude + script], capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout.splitlines()[-1])


def _foreign(modules: list[str]) -> list[str]:
    return sorted(name for name in modules if _third_party(name.partition(".")[0]))


def test_importing_the_package_loads_no_third_party_module(tmp_path: Path) -> None:
    script = "import json\nbefore = set(sys.modules)\nimport mcc_jupyter\nprint(json.dumps({'new': sorted(set(sys.modules) - before)}))"

    answer = _fresh(script, tmp_path, "-I")

    assert _foreign(answer["new"]) == []
    assert "mcc_jupyter" in answer["new"]


SHELL = """
import json
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
before = set(sys.modules)
shell.run_line_magic("load_ext", "mcc_jupyter")
loaded = set(sys.modules)
"""


def test_loading_the_extension_loads_no_third_party_module_but_ipython(tmp_path: Path) -> None:
    answer = _fresh(SHELL + "print(json.dumps({'new': sorted(loaded - before)}))", tmp_path, "-I")

    assert [name for name in _foreign(answer["new"]) if not name.startswith("IPython.")] == []
    assert "mcc_jupyter.doors.ipython" in answer["new"]


def test_a_kernel_loads_nothing_of_the_server(tmp_path: Path) -> None:
    kernel = _fresh(SHELL + "print(json.dumps({'all': sorted(sys.modules)}))", tmp_path, "-I")["all"]
    hook = "import json, mcc_jupyter\nmcc_jupyter._jupyter_server_extension_points()\nprint(json.dumps({'all': sorted(sys.modules)}))"

    assert [name for name in kernel if name.startswith(("jupyter_server", "tornado.web", "mcc_jupyter.doors.jupyter_server"))] == []
    assert "mcc_jupyter.doors.jupyter_server.app" in _fresh(hook, tmp_path, "-I")["all"]


def test_the_kernel_never_loads_jsonschema(tmp_path: Path) -> None:
    script = SHELL + """
shell.run_cell_magic("mcc_tool", "", "name: hello\\nexec: echo {{ who | quote }}\\nparams:\\n  - {name: who, type: str}")
shell.run_line_magic("mcc_call", "hello who=world")
print(json.dumps({'modules': sorted(sys.modules)}))
"""
    answer = _fresh(script, tmp_path, "-I")

    assert [name for name in answer["modules"] if name.partition(".")[0] == "jsonschema"] == []
    assert "yaml" in answer["modules"]
