"""``mcc.toml`` → an authority or everything that is wrong with it: each rule of SPEC 9.2, each message whole."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

import pytest

from mcc_jupyter.core.authority import Authority, Rule
from mcc_jupyter.core.authority_reading import Kind, read_policy
from mcc_jupyter.core.declare import Place
from mcc_jupyter.core.tool import DEFAULT_FLOOR, Grant, NoProcess, Origin, Shell

SEED_003 = """
[tools.linear]
type = "linear"
skills = ["linear"]
required_env = ["LINEAR_API_KEY"]
optional_env = ["LINEAR_TEAM_KEY"]

# The companion skill calls Linear directly.
expose_env_to_workspace = true
project_per_workspace = true

[tools.github-cli]
# Agent-side capability with no MCP or host service.
type = "workspace"
skills = [
  "github-auth",
  "github-code-review",
  "github-issues",
  "github-pr-workflow",
  "github-repo-management",
]
required_env = ["GITHUB_TOKEN"]

[tools.proton-mail]
type = "mcp"
skills = ["reading-proton-email"]
required_env = [
  "PYNCHY_PROTON_BRIDGE_USERNAME",
  "PYNCHY_PROTON_BRIDGE_PASSWORD_COMMAND",
]

# Default: credentials enter only the MCP subprocess.
expose_env_to_workspace = false

[tools.proton-mail.mcp]
runtime = "script"
command = "uv"
args = [
  "run",
  "python",
  "-m",
  "pynchy.plugins.integrations.proton_mail",
  "--port",
  "{port}",
]
port = 8475
transport = "streamable_http"

[profiles.base]
# Profiles remain the existing composition mechanism.
tools = ["linear"]
skills = ["ponytail", "caveman"]

[profiles.dev]
includes = ["base"]
tools = ["github-cli"]

[profiles.ops]
includes = ["base"]
tools = ["proton-mail"]

[workspaces.ops]
profiles = ["ops"]
"""
"""The complete example of the document that the policy file comes from, unchanged."""


def read(text: str, *, parent: Mapping[str, str] | None = None, kinds: Mapping[str, Kind] | None = None) -> object:
    place = Place(parent or {}, DEFAULT_FLOOR, "/etc/mcc", None, Origin("policy", "mcc.toml"))
    return read_policy(tomllib.loads(text), place, kinds)


def good(text: str, **world: object) -> Authority:
    authority = read(text, **world)  # type: ignore[arg-type]
    assert isinstance(authority, Authority), [str(problem) for problem in authority]  # type: ignore[attr-defined]
    return authority


def wrong(text: str, **world: object) -> list[str]:
    found = read(text, **world)  # type: ignore[arg-type]
    assert isinstance(found, tuple)
    return [str(problem) for problem in found]


def test_the_complete_example_loads_unchanged() -> None:
    authority = good(SEED_003)

    linear, github, mail = authority.tools.values()
    assert (linear.type, linear.skills, linear.exposed, linear.project) == ("linear", ("linear",), True, True)
    assert linear.tool.required_env == (Grant("LINEAR_API_KEY", "LINEAR_API_KEY"),)
    assert linear.tool.optional_env == (Grant("LINEAR_TEAM_KEY", "LINEAR_TEAM_KEY"),)
    assert linear.tool.body == NoProcess("linear", "plugin")
    assert (github.tool.kind, github.exposed, github.names) == ("workspace", True, ("GITHUB_TOKEN",))
    assert (mail.tool.kind, mail.exposed, mail.enabled) == ("mcp", False, True)
    assert mail.server is not None
    assert mail.server.args[-2:] == ("--port", "8475")
    assert authority.profiles["ops"].includes == ("base",)
    assert authority.workspaces == (Rule("ops", ("ops",)),)
    assert authority.notes == ('tools.linear: no plugin provides the type "linear"; its names go to the workspace alone',)


def test_an_empty_file_grants_nothing() -> None:
    assert good("") == Authority("mcc.toml", "/etc/mcc")


def test_a_tool_that_runs_has_the_fields_of_a_cell() -> None:
    authority = good(
        'env_floor = ["PATH"]\n[tools.log]\nexec = "git log -n {{ n }}"\nparams = [{name = "n", type = "int"}]\n'
        'env = {LEVEL = "info", RETRIES = 3, WHO = "$NAME"}\nlimits = {timeout = 5}\nenabled = false\n'
        'required_env = {TOKEN = "GITHUB_TOKEN"}\n',
        parent={"NAME": "ana"},
    )

    item = authority.tools["log"]
    assert isinstance(item.tool.body, Shell)
    assert (item.type, item.enabled, item.exposed, authority.floor) == ("exec", False, False, ("PATH",))
    assert {name: text.value for name, text in item.tool.env.items()} == {"LEVEL": "info", "RETRIES": "3", "WHO": "ana"}
    assert (item.tool.cwd.value, item.tool.origin.kind, item.tool.limits.timeout) == ("/etc/mcc", "policy", 5)
    assert item.names == ("GITHUB_TOKEN",)


def test_a_type_that_nobody_provides_is_a_note() -> None:
    assert good('[tools.x]\ntype = "odd"').notes == ('tools.x: no plugin provides the type "odd"; it runs nothing and exposes nothing',)


def test_grants_are_patterns_and_a_doubtful_one_is_a_note() -> None:
    authority = good('[grants]\nallow = ["AWS_*", "A,B"]\ndeny = ["AWS_SECRET*"]')

    assert (authority.allow, authority.deny) == (("AWS_*", "A,B"), ("AWS_SECRET*",))
    assert authority.notes == ("warning: grants.allow[1]: `{`, `}` and `,` stand for themselves in a pattern; write one pattern an item",)


EXEC = 'exec = "true"\n'
MCP = '[tools.x]\ntype = "mcp"\n[tools.x.mcp]\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tool = 1", ["unknown key `tool`; write `[tools.NAME]`"]),
        ("profles = {}", ["unknown key `profles` (did you mean `profiles`?)"]),
        ("[bundles]", ["unknown key `bundles`; compose profiles by `includes`"]),
        (
            '[skills.x]\nrequired_env = ["A"]',
            ["unknown key `skills`; a skill needs no table: it is a Markdown file, and what it needs is declared by its tool"],
        ),
        ("tools = 1", ["tools: expected a table of tools"]),
        ("[tools]\nx = 1", ["tools.x: expected a table that declares a tool", "tools.x: needs a `type`: one of exec, fn, curl, mcp, workspace"]),
        (f"[tools.x]\n{EXEC}enabeld = true", ["tools.x: unknown key `enabeld` (did you mean `enabled`?)"]),
        (f'[tools.x]\n{EXEC}name = "y"', ["tools.x: unknown key `name`; the table's own name is the tool's"]),
        (
            f'[tools.x]\n{EXEC}env_forward = ["A"]',
            ["tools.x: unknown key `env_forward`; there is no such thing; name each variable in the tool's required_env or optional_env"],
        ),
        (f'[tools.x]\n{EXEC}required_env = ["1A"]', ["tools.x.required_env[0]: `1A` is no variable name; use letters, digits and `_`, and no digit first"]),
        (f'[tools.x]\n{EXEC}required_env = ["A", "A"]', ["tools.x.required_env[1]: `A` stands twice; keep one"]),
        (f'[tools.x]\n{EXEC}required_env = ["A"]\noptional_env = ["A"]', ["tools.x.optional_env: `A` is both required and optional; keep one"]),
        (f"[tools.x]\n{EXEC}env = {{A = true}}", ["tools.x.env.A: read as true or false; quote it"]),
        (f'[tools.x]\n{EXEC}enabled = "no"', ["tools.x.enabled: expected true or false"]),
        (f'[tools.x]\n{EXEC}curl = "http://h"', ["tools.x: needs a `type`: one of exec, fn, curl, mcp, workspace"]),
        ('[tools.x]\ntype = "exec"', ['tools.x: the type "exec" needs `exec` beside it']),
        ('[tools.x]\ntype = "exec"\nexec = "a"\ncurl = "http://h"', ["tools.x: write exactly one of fn, exec, curl; found exec and curl"]),
        ("[tools.x]\ntype = 3", ["tools.x.type: expected a type as text"]),
        (
            '[tools.x]\ntype = "workspace"\nexpose_env_to_workspace = false',
            ['tools.x.expose_env_to_workspace: a tool of type "workspace" has no other use for its names; remove it or the tool'],
        ),
        ('[tools.x]\ntype = "workspace"\nexec = "a"', ['tools.x.exec: a tool of type "workspace" runs nothing here and has none; remove it']),
        ('[tools.x]\ntype = "workspace"\nmcp = {}', ['tools.x.mcp: belongs to the type "mcp", not to "workspace"']),
        ('[tools."a b"]\ntype = "workspace"', ["tools['a b'].name: `a b` is no name for a tool; use letters, digits, `_`, `.` and `-`, no digit first"]),
        (f'[tools.x]\n{EXEC}skills = ["a", "a", "../b", 3, {{}}]', [
            "tools.x.skills[1]: `a` stands twice; keep one",
            "tools.x.skills[2]: `../b` is no name for a skill; use letters, digits, `_`, `.` and `-`",
            "tools.x.skills[3]: expected text, not a number; quote it",
            "tools.x.skills[4]: expected the name of a skill",
        ]),
        (
            '[profiles.p]\nskills = [{name = "a", required_env = ["A"]}]',
            ["profiles.p.skills[0]: a skill has no required_env; declare it on the tool that the skill comes with"],
        ),
        ('[profiles.p]\nrequired_env = ["A"]', ["profiles.p: unknown key `required_env`; declare it on a tool"]),
        (
            f'[tools.github-cli]\n{EXEC}[profiles.p]\ntools = ["github_cli"]\nincludes = ["q"]',
            [
                "profiles.p.includes[0]: this file has no profile `q`",
                "profiles.p.tools[0]: this file has no tool `github_cli` (did you mean `github-cli`?)",
            ],
        ),
        ('[profiles.a]\nincludes = ["b"]\n[profiles.b]\nincludes = ["c", "d"]\n[profiles.c]\nincludes = ["a"]\n[profiles.d]', ["profiles.a: includes itself: a → b → c → a"]),
        ('[profiles.a]\nincludes = ["a"]', ["profiles.a: includes itself: a → a"]),
        ('[workspaces.ops]\nprofiles = ["dev"]\ntools = []', ["workspaces.ops: unknown key `tools`; name a profile that has them", "workspaces.ops.profiles[0]: this file has no profile `dev`"]),
        ('[workspaces.""]', ["workspaces['']: an empty pattern matches nothing; leave it out"]),
        ("[grants]\nallow = true\nalow = []", ["grants: unknown key `alow` (did you mean `allow`?)", "grants.allow: expected a list of patterns"]),
        ('[grants]\ndeny = ["!A"]', ["grants.deny[0]: a pattern cannot exclude; list what may pass"]),
        ("env_floor = []", ["env_floor: names nothing; leave it out for the usual floor"]),
        ('env_floor = ["MCC_CTX", "a b"]', [
            "env_floor[0]: MCC_CTX belongs to the session; leave it out",
            "env_floor[1]: `a b` is no variable name; use letters, digits and `_`, and no digit first",
        ]),
        (f'[tools.x]\n{EXEC}env = {{A = "ghp_{"a" * 36}"}}', ["tools.x.env.A: looks like a credential; name a variable that holds it"]),
        (f'{MCP}runtime = "url"\nurl = "https://h"\nheaders = {{A = "Bearer ghp_{"a" * 36}"}}', ["tools.x.mcp.headers.A: looks like a credential; name a variable that holds it"]),
        (f'{MCP}runtime = "stdio"\ncommand = "c"\nargs = ["--token=ghp_{"a" * 36}"]', ["tools.x.mcp.args[0]: looks like a credential; name a variable that holds it"]),
        ('[tools.x]\ntype = "mcp"', ['tools.x: the type "mcp" needs `mcp` beside it']),
        (MCP, ["tools.x.mcp: needs `runtime`, one of script, stdio, docker, url"]),
        (f'{MCP}runtime = "dokcer"', ["tools.x.mcp.runtime: expected one of script, stdio, docker, url (did you mean `docker`?)"]),
        (f'{MCP}runtime = "script"', ['tools.x.mcp: the runtime "script" needs `command`', 'tools.x.mcp: the runtime "script" needs `port`']),
        (f'{MCP}runtime = "stdio"', ['tools.x.mcp: the runtime "stdio" needs `command`']),
        (f'{MCP}runtime = "docker"', ['tools.x.mcp: the runtime "docker" needs `image`', 'tools.x.mcp: the runtime "docker" needs `port`']),
        (f'{MCP}runtime = "url"', ['tools.x.mcp: the runtime "url" needs `url`']),
        (f'{MCP}runtime = "url"\nurl = "ftp://h"\ncommand = "c"', [
            'tools.x.mcp.command: the runtime "url" has none; remove it',
            "tools.x.mcp.url: expected an address that begins with http:// or https://",
        ]),
        (f'{MCP}runtime = "stdio"\ncommand = "c"\nport = 0\ntransport = "ssh"\nenv = {{"1" = "a"}}\nenv_forward = []', [
            "tools.x.mcp: unknown key `env_forward`; there is no such thing; name each variable in the tool's required_env or optional_env",
            "tools.x.mcp.port: expected a port from 1 to 65535, as a number",
            "tools.x.mcp.transport: expected one of streamable_http, http, sse, stdio",
            "tools.x.mcp.env['1']: `1` is no variable name; use letters, digits and `_`, and no digit first",
        ]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_path(text: str, expected: list[str]) -> None:
    assert wrong(text) == expected


def test_every_problem_is_told_at_once_and_no_tool_is_left() -> None:
    assert wrong('[tools.good]\nexec = "true"\n[tools.bad]\ntype = 1\n[profiles.p]\ntools = ["nope"]\n[grants]\nallow = 1') == [
        "tools.bad.type: expected a type as text",
        "profiles.p.tools[0]: this file has no tool `nope`",
        "grants.allow: expected true, false or a list of patterns",
    ]


def test_a_server_s_constants_are_in_its_tool_s_environment_and_in_no_repr() -> None:
    item = good(f'{MCP}runtime = "stdio"\ncommand = "c"\nargs = ["-v", "{{port}}"]\nenv = {{BIND = "127.0.0.9"}}').tools["x"]

    assert item.tool.env["BIND"].value == "127.0.0.9"
    assert item.server is not None
    assert item.server.args == ("-v", "{port}")
    assert "127.0.0.9" not in repr(item)


def plugin(name: str, keys: Mapping[str, object]) -> Mapping[str, object]:
    return {"exec": f"linear {name} {keys['team']}", "description": "by a plugin"}


def test_a_plugin_adds_a_type_and_what_the_tool_may_use_stays_the_file_s() -> None:
    authority = good('[tools.x]\ntype = "linear"\nteam = "core"\nrequired_env = ["KEY"]', kinds={"linear": plugin})

    item = authority.tools["x"]
    assert isinstance(item.tool.body, Shell)
    assert (item.tool.body.written, item.tool.description, item.names) == ("linear x core", "by a plugin", ("KEY",))
    assert (item.exposed, authority.notes) == (False, ())


def test_a_plugin_grants_nothing() -> None:
    def greedy(name: str, keys: Mapping[str, object]) -> Mapping[str, object]:
        return {"exec": "true", "env_passthrough": True, "required_env": ["SECRET"]}

    assert wrong('[tools.x]\ntype = "linear"', kinds={"linear": greedy}) == [
        'tools.x: the plugin of type "linear" sets env_passthrough, required_env, which only this file may'
    ]


def test_a_plugin_s_tool_has_no_env_forward_either_and_its_type_is_told() -> None:
    assert wrong('[tools.x]\ntype = "linear"\nteam = "a"\nenv_forward = []\n[tools.y]', kinds={"linear": plugin}) == [
        "tools.x: unknown key `env_forward`; there is no such thing; name each variable in the tool's required_env or optional_env",
        "tools.y: needs a `type`: one of exec, fn, curl, mcp, workspace or linear",
    ]
