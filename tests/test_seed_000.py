"""The environment rules as the Model Context Catalog's documentation tells them: one test for each of its examples.

The tools are those of the text. What they call is a small stand-in that writes down what it got: a file shows values as they
arrived, where a result would be redacted.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mcc_jupyter.core.floor import read_floor
from mcc_jupyter.core.outcome import Outcome
from mcc_jupyter.core.tool import DEFAULT_FLOOR, Origin
from mcc_jupyter.runtime.identity import local_user
from mcc_jupyter.runtime.toolbox import Added, Toolbox

STAND_IN = """\
import json, os
def {name}(**arguments):
    '''Writes down what it got.'''
    with open({path!r}, "w") as file:
        json.dump({{"arguments": arguments, "environment": dict(os.environ)}}, file)
"""

SHELL_STAND_IN = """\
#!{python} -IS
import json, os, sys
with open({path!r}, "w") as file:
    json.dump({{"arguments": sys.argv[1:], "environment": dict(os.environ)}}, file)
"""


class Catalog:
    """A server with a tools file: its environment, its toolbox, and what the last tool wrote down."""

    def __init__(self, toolbox: Toolbox, folder: Path, environment: dict[str, str]) -> None:
        self.toolbox = toolbox
        self.folder = folder
        self.environment = environment
        self.wrote = folder / "got.json"

    def package(self, name: str, function: str, before: str = "") -> None:
        """A module ``name`` in a package beside the tools file."""
        package, _, module = name.partition(".")
        (self.folder / package).mkdir(exist_ok=True)
        (self.folder / package / "__init__.py").touch()
        (self.folder / package / f"{module}.py").write_text(before + STAND_IN.format(name=function, path=str(self.wrote)))

    def program(self, name: str, folder: str = "bin") -> str:
        """A program on the server's PATH."""
        (self.folder / folder).mkdir(exist_ok=True)
        path = self.folder / folder / name
        path.write_text(SHELL_STAND_IN.format(python=sys.executable, path=str(self.wrote)))
        path.chmod(0o755)
        return str(path.parent)

    def load(self, text: str) -> Added:
        (self.folder / "tools.yaml").write_text(text)
        added = self.toolbox.load("tools.yaml", folder=str(self.folder))
        assert added.problems == ()
        return added

    def call(self, name: str, **arguments: object) -> SimpleNamespace:
        """Calls a tool that succeeds; gives the arguments and the environment it got."""
        self.wrote.unlink(missing_ok=True)
        outcome = self.toolbox.call(name, arguments)
        assert outcome.ok, (outcome.failure, outcome.stderr, outcome.traceback)
        return SimpleNamespace(**json.loads(self.wrote.read_text()), outcome=outcome)

    def names(self, name: str) -> set[str]:
        """The names that the report of a tool shows."""
        return {row.name for row in self.toolbox.report(name).rows}


FLOOR = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/home/ana", "USER": "ana", "LOGNAME": "ana", "LANG": "C.UTF-8", "SHELL": "/bin/sh"}
"""What the server has of the floor."""

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "AKIA-not-a-real-key",
    "AWS_REGION": "eu-north-1",
    "GIT_AUTHOR_NAME": "Ana",
    "GITHUB_TOKEN": "ghp-not-a-real-token",
    "DATABASE_URL": "postgres://db.internal/prod",
    "PYTHONPATH": "/srv/lib",
    "MCC_CTX_USER": "somebody else",
}


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Toolbox, dict[str, str]]]:
    environment: dict[str, str] = dict(FLOOR)
    toolbox = Toolbox(lambda: dict(environment), place="this server")
    assert toolbox.once({"name": "first", "exec": "true"}, Origin("python", "first")).ok
    yield toolbox, environment
    toolbox.close()


@pytest.fixture
def catalog(shared: tuple[Toolbox, dict[str, str]], tmp_path: Path) -> Iterator[Catalog]:
    toolbox, environment = shared
    yield Catalog(toolbox, tmp_path, environment)
    for tool in toolbox.registry:
        toolbox.registry.remove(tool.key)
    toolbox.session.clear()
    environment.clear()
    environment.update(FLOOR)


def own(environment: dict[str, str]) -> dict[str, str]:
    """Without the session, the interpreter's import path, and what a C library or a shell adds by itself."""
    return {name: value for name, value in environment.items() if not name.startswith("MCC_CTX") and name not in ("PYTHONPATH", "LC_CTYPE", "PWD", "OLDPWD", "SHLVL", "_")}


# Load-time substitution (${VAR})

API = """\
groups: [internal]
tools:
  - fn: mypackage.api:call
    description: Calls the internal API
    params:
      - name: api_key
        type: str
        override: $INTERNAL_API_KEY      # substituted at load time

      - name: base_url
        type: str
        override: ${API_BASE_URL}
"""


def test_load_time_substitution(catalog: Catalog) -> None:
    catalog.package("mypackage.api", "call")
    catalog.environment |= {"INTERNAL_API_KEY": "secret123", "API_BASE_URL": "https://api.internal.example.com"}
    catalog.load(API)
    catalog.environment["API_BASE_URL"] = "https://changed.example.com"
    got = catalog.call("internal.call")

    assert got.arguments == {"api_key": "secret123", "base_url": "https://api.internal.example.com"}
    assert own(got.environment) == FLOOR
    assert "secret123" not in catalog.toolbox.report("call").text() + repr(got.outcome)


def test_behavior_when_a_variable_is_unset(catalog: Catalog) -> None:
    catalog.package("mypackage.api", "call")
    catalog.environment["API_BASE_URL"] = "https://api.internal.example.com"
    catalog.load(API)

    assert catalog.call("call").arguments == {"api_key": "$INTERNAL_API_KEY", "base_url": "https://api.internal.example.com"}
    assert "INTERNAL_API_KEY" in catalog.toolbox.report("call").text()


# Runtime environment


def test_env(catalog: Catalog) -> None:
    catalog.package("mypackage.db", "query")
    catalog.load(
        """\
tools:
  - fn: mypackage.db:query
    env:
      DATABASE_URL: postgres://localhost/mydb
      LOG_LEVEL: warning
"""
    )

    assert own(catalog.call("query").environment) == {**FLOOR, "DATABASE_URL": "postgres://localhost/mydb", "LOG_LEVEL": "warning"}


DOTENV = """\
API_KEY=secret123
DATABASE_URL=postgres://db.internal/prod
TIMEOUT=30
# lines starting with # are comments
"""


def test_env_file(catalog: Catalog) -> None:
    catalog.package("mypackage.api", "call")
    (catalog.folder / "secrets.env").write_text(DOTENV)
    catalog.load(f"tools:\n  - fn: mypackage.api:call\n    env_file: {catalog.folder}/secrets.env\n")

    assert own(catalog.call("call").environment) == {**FLOOR, "API_KEY": "secret123", "DATABASE_URL": "postgres://db.internal/prod", "TIMEOUT": "30"}


def test_combining_env_and_env_file(catalog: Catalog) -> None:
    catalog.package("mypackage.api", "call")
    (catalog.folder / "secrets.env").write_text("API_KEY=secret123\nLOG_LEVEL=info\n")
    catalog.load(
        f"""\
tools:
  - fn: mypackage.api:call
    env_file: {catalog.folder}/secrets.env    # API_KEY=..., LOG_LEVEL=info
    env:
      LOG_LEVEL: debug                  # overrides the value from the file
"""
    )

    assert own(catalog.call("call").environment) == {**FLOOR, "API_KEY": "secret123", "LOG_LEVEL": "debug"}


@pytest.mark.parametrize("field", ["", "\n    env_passthrough: false", "\n    env_passthrough: []"])
def test_env_passthrough_false_is_the_floor_only(catalog: Catalog, field: str) -> None:
    catalog.package("mypackage.processor", "run")
    catalog.environment |= CREDENTIALS
    catalog.load(f"tools:\n  - fn: mypackage.processor:run\n    env:\n      INPUT_PATH: /data/input\n      OUTPUT_PATH: /data/output{field}\n")

    assert own(catalog.call("run").environment) == {**FLOOR, "INPUT_PATH": "/data/input", "OUTPUT_PATH": "/data/output"}


def test_env_passthrough_list_is_an_allowlist(catalog: Catalog) -> None:
    catalog.package("mypackage.deploy", "push")
    catalog.environment |= CREDENTIALS
    catalog.load('tools:\n  - fn: mypackage.deploy:push\n    env_passthrough: ["AWS_*", "GIT_*"]\n')
    expected = {name: CREDENTIALS[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_REGION", "GIT_AUTHOR_NAME")}

    assert own(catalog.call("push").environment) == {**FLOOR, **expected}


@pytest.mark.parametrize(
    ("pattern", "passes"),
    [("GITHUB_TOKEN", ["GITHUB_TOKEN"]), ("github_token", []), ("GITHUB_TOKE", []), ("GITHUB_TOKEN?", []), ("G[IJ]T*", ["GIT_AUTHOR_NAME", "GITHUB_TOKEN"]), ("AWS_???????", []), ("AWS_??????", ["AWS_REGION"])],
)
def test_names_are_matched_case_sensitively_and_an_exact_name_passes_that_one(catalog: Catalog, pattern: str, passes: list[str]) -> None:
    catalog.package("mypackage.deploy", "push")
    catalog.environment |= CREDENTIALS
    catalog.load(f'tools:\n  - fn: mypackage.deploy:push\n    env_passthrough: ["{pattern}"]\n')

    assert sorted(set(own(catalog.call("push").environment)) - set(FLOOR)) == sorted(passes)


def test_env_passthrough_true_is_the_full_environment(catalog: Catalog) -> None:
    catalog.package("mypackage.deploy", "push")
    catalog.environment |= CREDENTIALS
    catalog.load("tools:\n  - fn: mypackage.deploy:push\n    env:\n      DEPLOY_ENV: production\n    env_passthrough: true\n")
    got = catalog.call("push").environment
    expected = {**FLOOR, **CREDENTIALS, "DEPLOY_ENV": "production"}

    assert own(got) == own(expected)
    assert got["PYTHONPATH"].split(os.pathsep)[-1] == "/srv/lib"
    assert "warning: env_passthrough: true copies the whole environment of the parent; list the names" in catalog.toolbox.report("push").text()


# Env floor


def test_env_floor(catalog: Catalog) -> None:
    """Always there, if the server has it; and no tool can drop below it."""
    catalog.program("show", "here")
    catalog.environment.clear()
    catalog.environment |= {name: f"/{name}" for name in DEFAULT_FLOOR if name != "TMPDIR"} | {"OTHER": "1"}
    for field in ("", "env_passthrough: false", "env_passthrough: []"):
        catalog.load(f"tools:\n  - name: show\n    exec: {catalog.folder}/here/show\n    {field}\n")
        assert own(catalog.call("show").environment) == {name: f"/{name}" for name in DEFAULT_FLOOR if name != "TMPDIR"}


def test_the_floor_is_configured_for_a_deployment(catalog: Catalog) -> None:
    catalog.program("show", "here")
    catalog.environment["LICENSE_SERVER"] = "27000@license"
    other = Toolbox(lambda: dict(catalog.environment), floor=read_floor("PATH,LICENSE_SERVER"), launcher=catalog.toolbox.launcher)
    catalog.toolbox, kept = other, catalog.toolbox
    catalog.load(f"tools:\n  - name: show\n    exec: {catalog.folder}/here/show\n")

    assert own(catalog.call("show").environment) == {"PATH": FLOOR["PATH"], "LICENSE_SERVER": "27000@license"}
    catalog.toolbox = kept


# Session store (MCC_CTX)

SESSION = {"city": "Oslo", "count": 1000, "flag": True, "nothing": None, "rows": [1, "två"], "place": {"k": 0.5}}


def identity() -> dict[str, object]:
    return {"user": local_user(), "groups": ["admin"], "tools": []}


def test_session_store_a_python_tool_gets_the_whole_store_as_one_variable(catalog: Catalog) -> None:
    catalog.package("mypackage.api", "call")
    catalog.toolbox.session.update(SESSION)
    catalog.load("tools:\n  - fn: mypackage.api:call\n")
    got = catalog.call("call").environment

    assert [name for name in got if name.startswith("MCC_CTX")] == ["MCC_CTX"]
    assert json.loads(got["MCC_CTX"]) == {**identity(), **SESSION}


def test_session_store_a_shell_tool_gets_each_entry_as_its_own_variable(catalog: Catalog) -> None:
    catalog.program("show", "here")
    catalog.toolbox.session.update(SESSION)
    catalog.load(f"tools:\n  - name: show\n    exec: {catalog.folder}/here/show\n")
    got = catalog.call("show").environment

    assert {name: value for name, value in got.items() if name.startswith("MCC_CTX")} == {
        "MCC_CTX_USER": local_user(),
        "MCC_CTX_GROUPS": '["admin"]',
        "MCC_CTX_TOOLS": "[]",
        "MCC_CTX_CITY": "Oslo",
        "MCC_CTX_COUNT": "1000",
        "MCC_CTX_FLAG": "true",
        "MCC_CTX_NOTHING": "null",
        "MCC_CTX_ROWS": '[1, "två"]',
        "MCC_CTX_PLACE": '{"k": 0.5}',
    }


def test_session_store_a_tools_own_env_cannot_shadow_the_real_caller(catalog: Catalog) -> None:
    """Not even an identity that the session does not have."""
    catalog.package("mypackage.api", "call")
    catalog.program("show", "here")
    (catalog.folder / "own.env").write_text("MCC_CTX_USER=from-file\n")
    catalog.environment |= {"MCC_CTX_EMAIL": "ceo@corp.example", "MCC_CTX": '{"user": "root"}'}
    fields = "env: {MCC_CTX: '{\"user\": \"root\"}', MCC_CTX_USER: root, MCC_CTX_EMAIL: ceo@corp.example}\n    env_file: own.env\n    env_passthrough: true\n"
    catalog.load(f"tools:\n  - fn: mypackage.api:call\n    {fields}  - name: show\n    exec: {catalog.folder}/here/show\n    {fields}")
    fn, shell = catalog.call("call").environment, catalog.call("show").environment

    assert {name: json.loads(value) for name, value in fn.items() if name.startswith("MCC_CTX")} == {"MCC_CTX": identity()}
    assert {name: value for name, value in shell.items() if name.startswith("MCC_CTX")} == {"MCC_CTX_USER": local_user(), "MCC_CTX_GROUPS": '["admin"]', "MCC_CTX_TOOLS": "[]"}
    assert "refused" in catalog.toolbox.report("show").text()


# Exec tools: two mechanisms

PG_QUERY = """\
tools:
  - name: pg_query
    exec: psql -U myapp -d mydb -c {{ sql | quote }}
    env:
      PGPASSWORD: ${DB_PASSWORD}    # ${} resolved at load time; PGPASSWORD set at call time
    params:
      - name: sql
        type: str
        required: true
"""


def test_exec_tools_have_two_mechanisms(catalog: Catalog) -> None:
    catalog.environment |= {"PATH": f"{catalog.program('psql')}:{FLOOR['PATH']}", "DB_PASSWORD": "pa$$ 'word' #1"}
    catalog.load(PG_QUERY)
    catalog.environment["DB_PASSWORD"] = "changed-since-then"
    sql = "select 'it''s'; -- $HOME `id`"
    got = catalog.call("pg_query", sql=sql)

    assert got.arguments == ["-U", "myapp", "-d", "mydb", "-c", sql]
    assert own(got.environment) == {**FLOOR, "PATH": catalog.environment["PATH"], "PGPASSWORD": "pa$$ 'word' #1"}
    assert got.outcome.notes == ("declared earlier: DB_PASSWORD has another value by now; declare the tool again to use it",)


# PATH and shell commands

DEPLOY = """\
tools:
  # PATH comes from the floor; only the extra var is declared
  - name: deploy
    exec: kubectl apply -f {{ manifest | quote }}
    env:
      KUBECONFIG: /etc/deploy/kubeconfig
    params: [{name: manifest}]

  # Pin an explicit PATH when you don't want the floor's value
  - name: deploy_pinned
    exec: kubectl apply -f {{ manifest | quote }}
    env:
      PATH: /usr/local/bin:/usr/bin:/bin
      KUBECONFIG: /etc/deploy/kubeconfig
    params: [{name: manifest}]
"""


def test_path_and_shell_commands(catalog: Catalog) -> None:
    floor, pinned = catalog.program("kubectl"), catalog.program("kubectl", "pinned")
    catalog.environment["PATH"] = f"{floor}:{FLOOR['PATH']}"
    catalog.load(DEPLOY.replace("PATH: /usr/local/bin", f"PATH: {pinned}:/usr/local/bin"))

    for name, path in (("deploy", catalog.environment["PATH"]), ("deploy_pinned", f"{pinned}:/usr/local/bin:/usr/bin:/bin")):
        got = catalog.call(name, manifest="my app.yaml")
        assert got.arguments == ["apply", "-f", "my app.yaml"]
        assert own(got.environment) == {**FLOOR, "PATH": path, "KUBECONFIG": "/etc/deploy/kubeconfig"}


def test_a_pinned_path_is_the_only_one_searched(catalog: Catalog) -> None:
    catalog.environment["PATH"] = f"{catalog.program('kubectl_of_mine')}:{FLOOR['PATH']}"
    catalog.load(DEPLOY.replace("kubectl ", "kubectl_of_mine "))
    outcome = catalog.toolbox.call("deploy_pinned", {"manifest": "app.yaml"})

    assert (outcome.ok, outcome.exit_code) == (False, 127)
    assert not catalog.wrote.exists()


# Python tools: environment and imports


def test_python_tools_find_what_lies_in_their_folder(catalog: Catalog) -> None:
    catalog.package("mypackage.api", "call")
    catalog.load("tools:\n  - fn: mypackage.api:call\n")

    assert catalog.call("call").environment["PYTHONPATH"] == str(catalog.folder)


def test_python_tools_the_same_environment_is_there_when_a_module_is_imported(catalog: Catalog) -> None:
    """At load-time introspection, which would fail without it, and at the call."""
    catalog.package("mydjango.app", "run_task", "import os\nassert os.environ['DJANGO_SETTINGS_MODULE'] == 'mydjango.settings.production'\n")
    catalog.load(
        """\
tools:
  # Explicit values — only what's needed
  - fn: mydjango.app:run_task
    env:
      DJANGO_SETTINGS_MODULE: mydjango.settings.production
      DATABASE_URL: postgres://localhost/prod
"""
    )
    got = catalog.call("run_task").environment

    assert own(got) == {**FLOOR, "DJANGO_SETTINGS_MODULE": "mydjango.settings.production", "DATABASE_URL": "postgres://localhost/prod"}


def test_python_tools_a_variable_the_import_relies_on_is_allowed_by_name(catalog: Catalog) -> None:
    catalog.package("mypackage.app", "run_task", "import os\nassert os.environ['VIRTUAL_ENV']\n")
    catalog.environment |= {"VIRTUAL_ENV": "/srv/venv", **CREDENTIALS}
    catalog.load('tools:\n  # Allowlist a parent var the import relies on\n  - fn: mypackage.app:run_task\n    env_passthrough: ["VIRTUAL_ENV"]\n')

    assert own(catalog.call("run_task").environment) == {**FLOOR, "VIRTUAL_ENV": "/srv/venv"}


# A file of the documented form


@pytest.fixture
def toolset(catalog: Catalog) -> Catalog:
    (catalog.folder / "folder" / "inner").mkdir(parents=True)
    (catalog.folder / "folder" / "a.txt").write_text("".join(f"line {at}\n" for at in range(1, 21)))
    (catalog.folder / "folder" / "inner" / "b c.txt").write_text("x\n")
    (catalog.folder / "folder" / ".hidden").touch()
    catalog.environment["MCC_SEED_ONE"] = "1"
    catalog.load((Path(__file__).parent / "data" / "mcc_tools.yaml").read_text(encoding="utf-8"))
    return catalog


CALLS: list[tuple[str, dict[str, Any], object]] = [
    ("list_directory", {"path": "folder"}, ".hidden\na.txt\ninner\n"),
    ("read_lines", {"path": "folder/a.txt", "first": "3", "last": 4}, "line 3\nline 4\n"),
    ("count_files", {"path": "folder"}, "3\n"),
    ("count_files", {"path": "folder", "suffix": ".txt"}, "2\n"),
    ("grep_text", {"lines": ["one", "two $HOME", "it's"], "pattern": "'s"}, "3:it's\n"),
    ("word_count", {"text": "a b c"}, "4\n"),
    ("shorten", {"text": "hello  wide world", "width": 12}, "hello wide…"),
    ("format_time", {"seconds": 86400}, "1970-01-02 00:00\n"),
    ("isleap", {"year": 2024}, True),
    ("archive_create", {"archive": "made.tar", "folder": "folder"}, ""),
    ("python_version", {}, ".".join(map(str, sys.version_info[:3]))),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), CALLS, ids=[f"{at} {call[0]}" for at, call in enumerate(CALLS)])
def test_a_tool_of_a_documented_file_runs_as_it_stands(toolset: Catalog, name: str, arguments: dict[str, Any], expected: object) -> None:
    outcome = toolset.toolbox.call(name, arguments)

    assert outcome.ok, (outcome.failure, outcome.stderr)
    assert outcome.value == expected


def test_an_archive_made_by_one_tool_is_listed_by_another(toolset: Catalog) -> None:
    assert toolset.toolbox.call("archive_create", {"archive": "made.tar", "folder": "folder"}).ok

    assert value(toolset.toolbox.call("archive_list", {"archive": "made.tar"})) == "./.hidden\n./a.txt\n./inner/b c.txt\n"


def test_a_tool_of_the_file_gets_the_files_environment_and_its_own_patterns(toolset: Catalog) -> None:
    names = str(value(toolset.toolbox.call("admin.system.environment_names"))).split()

    assert {"LC_ALL", "MCC_SEED_ONE", "PATH", "HOME"} <= set(names)
    assert set(names) <= {*FLOOR, "LC_ALL", "MCC_SEED_ONE", "PWD", "OLDPWD", "SHLVL", "_", "MCC_CTX_USER", "MCC_CTX_GROUPS", "MCC_CTX_TOOLS"}


def test_keys_and_descriptions_of_the_file(toolset: Catalog) -> None:
    assert [tool.key for tool in toolset.toolbox.registry] == [
        "public.fs.list_directory", "fs.read_lines", "fs.count_files", "text.grep_text", "text.word_count", "text.shorten", "time.format_time",
        "time.isleap", "archive.archive_create", "archive.archive_list", "system.python_version", "admin.system.environment_names",
    ]  # fmt: skip
    assert all(tool.description for tool in toolset.toolbox.registry)


def value(outcome: Outcome) -> object:
    return outcome.raise_for_failure().value
