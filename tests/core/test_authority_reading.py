"""``mcc.toml`` → an authority or everything that is wrong with it: each rule of SPEC 9.2, each message whole."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from mcc_jupyter.core.authority import Authority, Rule, expand
from mcc_jupyter.core.authority_reading import Kind, read_policy
from mcc_jupyter.core.declare import Place
from mcc_jupyter.core.tool import DEFAULT_FLOOR, Grant, NoProcess, Origin, Shell, command_references

SEED_003 = (Path(__file__).parents[1] / "data" / "mcc_seed_003.toml").read_text(encoding="utf-8")
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
        ("[tools]\nx = 1", ["tools.x: expected a table that declares a tool"]),
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
        (
            '[profiles.x]\nincludes = ["c"]\n[profiles.a]\nincludes = ["b"]\n[profiles.b]\nincludes = ["c"]\n[profiles.c]\nincludes = ["a"]',
            ["profiles.a: includes itself: a → b → c → a"],
        ),
        ('[workspaces.ops]\nprofiles = ["dev"]\ntools = []', ["workspaces.ops: unknown key `tools`; name a profile that has them", "workspaces.ops.profiles[0]: this file has no profile `dev`"]),
        ('[workspaces."~/x"]', ["workspaces['~/x']: `~` is not expanded in a pattern; write the folder in full"]),
        (
            '[workspaces."[z-a].ipynb"]',
            ["workspaces['[z-a].ipynb']: a class such as `[z-a]` that holds no character matches nothing; write `[a-z]`"],
        ),
        ('[workspaces.x]\nusers = [1, "a", "a"]\ngroups = ["b c"]', [
            "workspaces.x.users[0]: expected text, not a number; quote it",
            "workspaces.x.users[2]: `a` stands twice; keep one",
            "workspaces.x.groups[0]: `b c` is no group name; use letters, digits, `_` and `-`",
        ]),
        ('[workspaces."a/*.ipynb"]\nprofile = ["p"]', ["workspaces['a/*.ipynb']: unknown key `profile` (did you mean `profiles`?)"]),
        ("workspaces = []", ["workspaces: expected a table of workspaces"]),
        ("profiles = []", ["profiles: expected a table of profiles"]),
        ("grants = []", ["grants: expected a table with `allow` and `deny`"]),
        ("[profiles]\np = []", ["profiles.p: expected a table that declares a profile"]),
        ('[tools.mcc]\ntype = "mcp"\n[tools.mcc.mcp]\nruntime = "url"\nurl = "https://h"', ["tools.mcc: no server may be named `mcc`; give it another name"]),
        (
            '[tools.x]\ntype = "linear"\nteam = "a"\nenabeld = true',
            [
                'tools.x: unknown key `team`; no plugin provides the type "linear" here, whose key it may be',
                "tools.x: unknown key `enabeld` (did you mean `enabled`?)",
            ],
        ),
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
            "tools.x.mcp.transport: expected one of streamable_http, http, sse, stdio (did you mean `sse`?)",
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


def test_a_type_that_the_product_has_is_no_plugin_s() -> None:
    def taken(name: str, keys: Mapping[str, object]) -> Mapping[str, object]:
        raise AssertionError("never asked")

    authority = good('[tools.x]\ntype = "workspace"\nrequired_env = ["A"]', kinds={"workspace": taken, "mcp": taken})

    assert authority.tools["x"].tool.kind == "workspace"


def test_a_plugin_decides_nothing_that_belongs_to_the_policy() -> None:
    def greedy(name: str, keys: Mapping[str, object]) -> Mapping[str, object]:
        return {"exec": "true", "expose_env_to_workspace": True, "skills": ["x"], "isolation": False}

    assert wrong('[tools.x]\ntype = "linear"', kinds={"linear": greedy}) == [
        'tools.x: the plugin of type "linear" sets isolation, skills, expose_env_to_workspace, which only this file may'
    ]


def test_a_plugin_that_changes_what_it_was_given_changes_nothing() -> None:
    def sly(name: str, keys: Mapping[str, object]) -> Mapping[str, object]:
        keys["required_env"].append("SECRET")  # type: ignore[attr-defined]
        return {"exec": "true"}

    authority = good('[tools.x]\ntype = "linear"\nrequired_env = ["KEY"]', kinds={"linear": sly})

    assert authority.tools["x"].names == ("KEY",)


def test_a_plugin_s_texts_refer_only_to_what_the_file_asks_for() -> None:
    def text(name: str, keys: Mapping[str, object]) -> Mapping[str, object]:
        return {
            "exec": "curl -H $SECRET -H $KEY",
            "cwd": "/w/$PATH",
            "params": [{"name": name, "override": f"$SECRET $KEY $OWN $AWS_REGION {name}"} for name in ("a",)],
            "secret_files": {"FILE": "${SECRET}"},
        }

    parent = {"SECRET": "s3cret", "KEY": "k", "OWN": "o", "AWS_REGION": "r", "PATH": "p"}
    document = '[tools.x]\ntype = "linear"\nrequired_env = ["KEY"]\nenv_passthrough = ["AWS_*"]\nenv = {A = "$OWN"}'
    tool = good(document, parent=parent, kinds={"linear": text}).tools["x"].tool

    assert {reference.name for reference in (*tool.references, *command_references(tool))} == {"OWN", "KEY", "AWS_REGION", "PATH"}
    assert tool.params[0].override == "$SECRET k o r a"
    assert (tool.cwd.value, tool.unresolved) == ("/w/p", ("SECRET",))
    everything = good(document.replace('["AWS_*"]', "true"), parent=parent, kinds={"linear": text}).tools["x"].tool
    assert everything.params[0].override == "s3cret k o r a"


def test_a_plugin_reads_its_own_keys_and_the_file_s_fields_stay_over_its_answer() -> None:
    seen: dict[str, object] = {}

    def kind(name: str, keys: Mapping[str, object]) -> Mapping[str, object]:
        seen.update(keys)
        return {"exec": ["true"]}

    good('[tools.x]\ntype = "linear"\nteam = "core"\nskills = ["s"]\nrequired_env = ["A"]', kinds={"linear": kind})

    assert seen == {"team": "core", "required_env": ["A"]}


CHAIN = 10_000


def chain(last: list[str]) -> dict[str, object]:
    return {f"p{at}": {"includes": [f"p{at + 1}"]} for at in range(CHAIN)} | {f"p{CHAIN}": {"includes": last}}


def test_includes_may_be_as_deep_as_the_file_is_long() -> None:
    place = Place({}, DEFAULT_FLOOR, "/etc/mcc", None, Origin("policy", "mcc.toml"))
    authority = read_policy({"profiles": chain([])}, place)
    assert isinstance(authority, Authority)
    assert expand(authority, ["p0"]) == ((), ())


def test_a_long_cycle_is_told_short_and_of_many_cycles_some() -> None:
    place = Place({}, DEFAULT_FLOOR, "/etc/mcc", None, Origin("policy", "mcc.toml"))
    names = [f"p{at}" for at in range(CHAIN)]

    assert [str(problem) for problem in read_policy({"profiles": chain(["p0"])}, place)] == [  # type: ignore[union-attr]
        "profiles.p0: includes itself: p0 → p1 → p2 → p3 → p4 → p5 → … → p9997 → p9998 → p9999 → p10000 → p0"
    ]
    assert len(read_policy({"profiles": chain(names)}, place)) == 8  # type: ignore[arg-type]


def test_near_names_are_looked_for_in_a_file_with_few_mistakes() -> None:
    tools = "".join(f"[tools.tool_{at}]\nexec = 'true'\n" for at in range(3))
    found = wrong(tools + f"[profiles.p]\ntools = {[f'tool{at}' for at in range(101)]}")

    assert found[0] == "profiles.p.tools[0]: this file has no tool `tool0` (did you mean `tool_0`?)"
    assert found[100] == "profiles.p.tools[100]: this file has no tool `tool100`"
