"""Documents → tools and problems (SPEC 2.5, 2.6)."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcc_jupyter.core.declare import FIELDS, Declared, Place, declare
from mcc_jupyter.core.errors import Problem
from mcc_jupyter.core.params import KEYS as PARAM_KEYS
from mcc_jupyter.core.tool import DEFAULT_FLOOR, Limits, Origin

TOOL = {"name": "t", "exec": "true"}
NAME = "use letters, digits, `_`, `.` and `-`, no digit first"
ONE = "write exactly one of fn, exec, curl; found"


# ---- the document


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (None, "expected a tool, a list of tools, or `tools:`"),
        ({}, "expected a tool, a list of tools, or `tools:`"),
        ("text", "expected a tool, a list of tools, or `tools:`"),
        ({"tools": None}, "tools: expected a list of tools"),
        ({"tools": {"name": "t"}}, "tools: expected a list of tools"),
        (["text"], "tools[0]: expected a mapping that declares a tool"),
        ({"tools": [TOOL, "text"]}, "tools[1]: expected a mapping that declares a tool"),
    ],
)
def test_documents_that_declare_nothing(document, problem):
    found = declare(document, Place({}, (), "/nb", None, Origin("cell", "cell")))
    assert [str(item) for item in found.problems] == [problem]


@pytest.mark.parametrize("document", [[], {"tools": []}])
def test_an_empty_list_is_no_mistake(declared, document):
    assert declared(document) == Declared((), ())


@pytest.mark.parametrize(
    ("document", "prefix"),
    [(lambda tool: tool, ""), (lambda tool: [tool], "tools[0]."), (lambda tool: {"tools": [tool]}, "tools[0].")],
)
def test_a_path_begins_at_the_document(declared, document, prefix):
    found = declared(document({**TOOL, "params": [{"name": "q", "type": "uuid"}]}))
    assert found.problems == (
        Problem(f"{prefix}params[0].type", "unknown type `uuid`; choose str, int, float, bool, list or dict"),
    )


def test_one_bad_tool_never_stops_the_others(declared):
    found = declared(
        [{"name": "a", "exec": ""}, {"name": "b", "exec": "true"}, {"name": "c", "exec": "true", "stdin": 5}]
    )
    assert [tool.name for tool in found.tools] == ["b"]
    assert [str(item) for item in found.problems] == [
        "tools[0].exec: expected a command, or a list of arguments",
        "tools[2].stdin: expected true or false",
    ]


def test_of_two_tools_with_one_key_the_later_counts_and_says_so(declared):
    found = declared([TOOL, {**TOOL, "groups": ["admin"]}, {**TOOL, "exec": "false"}])
    assert [tool.key for tool in found.tools] == ["admin.t", "public.t"]
    assert found.problems == ()
    assert found.tools[1].notes == ("replaces tools[0], which has the same key; rename one to keep both",)


def test_problems_of_a_yaml_text_tell_their_line(problems):
    text = "tools:\n- name: a\n- name: b\n  exec: 'true'\n  params:\n  - name: q\n  - type: int\n"
    assert problems(text) == [
        f"tools[0]: {ONE} none (line 2)",
        "tools[1].params[1]: a parameter needs a `name` (line 7)",
    ]


# ---- the file level


def test_a_file_s_fields_stand_in_each_tool(declared):
    found = declared(
        {
            "groups": ["ops"],
            "env": {"A": "file", "B": "file"},
            "env_file": "file.env",
            "tools": [TOOL, {**TOOL, "name": "u", "groups": ["admin"], "env": {"B": "own"}, "env_file": ["own.env"]}],
        }
    )
    first, second = found.tools
    assert found.problems == ()
    assert [first.key, second.key] == ["ops.t", "admin.u"]
    assert {name: text.value for name, text in first.env.items()} == {"A": "file", "B": "file"}
    assert {name: text.value for name, text in second.env.items()} == {"A": "file", "B": "own"}
    assert [file.written for file in (*first.env_files, *second.env_files)] == ["file.env", "own.env"]


def test_a_file_s_env_is_given_to_the_shell(one):
    tool = one({"env": {"DB_PASSWORD": "x"}, "tools": [{"name": "t", "exec": "echo $DB_PASSWORD"}]})
    assert tool.body.references == ()


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"groups": "ops"}, "groups: expected a list of group names"),
        ({"env": {"A": True}}, "env.A: read as true or false; quote it"),
        ({"env": ["A"]}, "env: expected a mapping, `{NAME: text}`"),
        ({"env_file": ""}, "env_file: expected a path"),
        ({"grups": ["admin"]}, "unknown key `grups` (did you mean `groups`?)"),
        ({"env_passthrough": ["A"]}, "unknown key `env_passthrough`; it belongs to each tool"),
    ],
)
def test_a_problem_at_file_level_concerns_every_tool_and_is_told_once(declared, fields, problem):
    found = declared({**fields, "tools": [TOOL, {**TOOL, "name": "u"}]})
    assert found.tools == ()
    assert [str(item) for item in found.problems] == [problem]


def test_anchors_merges_and_x_keys(declared):
    found = declared("""\
x-defaults: &d
  env: {A: "1"}
  limits: {timeout: 5}
tools:
- <<: *d
  name: a
  exec: "true"
- <<: *d
  name: b
  exec: "true"
  limits: {timeout: 6}
""")
    assert found.problems == ()
    assert [(tool.env["A"].value, tool.limits.timeout) for tool in found.tools] == [("1", 5), ("1", 6)]


# ---- the fields of a tool


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        pytest.param("env_passthru", " (did you mean `env_passthrough`?)", id="MAGIC-20-near"),
        pytest.param("env_floor", "; the floor is set per deployment by MCC_ENV_FLOOR", id="ENV-04"),
        ("timeout", "; write `limits: {timeout: …}`"),
        ("mem_mb", "; write `limits: {mem_mb: …}`"),
        ("command", "; write `exec`"),
        ("required", "; write `required_env`"),
        ("return_type", "; the result keeps its own type"),
        ("x-notes", ""),
        ("hunter2\n", ""),
    ],
)
def test_unknown_keys(problems, key, hint):
    assert problems({**TOOL, key: "hunter3"}) == [f"unknown key `{key if key.isprintable() else repr(key)}`{hint}"]


@pytest.mark.parametrize("key", ["secret_env_vars", "egress", "swap"])
def test_fields_of_another_version(problems, key):
    assert problems({**TOOL, key: []}) == [f"{key}: not supported by this version"]


def test_mcp_is_known_and_not_yet_here(problems):
    assert problems({"name": "t", "mcp": {"command": "x"}}) == ["mcp: not supported by this version"]


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"name": "t"}, f"{ONE} none"),
        ({"description": "x"}, f"{ONE} none"),
        ({"name": "t", "exec": "a", "curl": "b"}, f"{ONE} exec and curl"),
        ({"exec": "a"}, "`exec` needs a `name` beside it"),
        ({"curl": "a"}, "`curl` needs a `name` beside it"),
        ({"name": "", "exec": "a"}, "name: expected a name as text"),
        ({"name": 5, "exec": "a"}, "name: expected a name as text"),
        ({"name": "a b", "exec": "a"}, f"name: `a b` is no name for a tool; {NAME}"),
        ({"name": "1a", "exec": "a"}, f"name: `1a` is no name for a tool; {NAME}"),
        ({"name": "a/../b", "exec": "a"}, f"name: `a/../b` is no name for a tool; {NAME}"),
        ({"name": "é", "exec": "a"}, f"name: `é` is no name for a tool; {NAME}"),
        ({"name": "a\n", "exec": "a"}, f"name: `'a\\n'` is no name for a tool; {NAME}"),
        ({**TOOL, "python": "python3"}, "python: only a `fn` tool has it; remove it"),
        ({**TOOL, "fresh": True}, "fresh: only a `fn` tool has it; remove it"),
        ({"fn": "a:b", "fresh": "yes"}, "fresh: expected true or false"),
        ({**TOOL, "description": 5}, "description: expected text"),
        ({**TOOL, "example": ["x"]}, "example: expected text"),
        ({**TOOL, "stdin": "yes"}, "stdin: expected true or false"),
    ],
)
def test_wrong_tools(problems, document, problem):
    assert problems(document) == [problem]


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("execc", "unknown key `execc` (did you mean `exec`?)"),
        ("crul", "unknown key `crul` (did you mean `curl`?)"),
        ("command", "unknown key `command`; write `exec`"),
        ("url", "unknown key `url`; write `curl`"),
    ],
)
def test_a_misspelt_kind_is_told_once(problems, key, told):
    assert problems({"name": "t", key: "true"}) == [told]
    assert problems({"name": "t", "zzz": 1, 5: 6}) == ["expected text as a key, not a number; quote it", "unknown key `zzz`", f"{ONE} none"]


def test_all_problems_of_a_tool_are_listed(problems):
    assert problems({"exec": "", "env": {"A": 1.5}, "env_passthrough": "A", "timeout": 5}) == [
        "unknown key `timeout`; write `limits: {timeout: …}`",
        "`exec` needs a `name` beside it",
        "env.A: read as a number with a point; quote it",
        "env_passthrough: expected true, false or a list of patterns",
        "exec: expected a command, or a list of arguments",
    ]


def test_a_tool_with_every_field(one):
    tool = one(
        {
            "name": "a.b-c_1",
            "fn": "pkg.mod:f",
            "description": "reads $HOME",
            "example": "f(q=1)",
            "params": [{"name": "q"}],
            "groups": ["ops"],
            "env": {"A": "1"},
            "env_file": "a.env",
            "env_passthrough": ["AWS_*"],
            "required_env": ["B"],
            "optional_env": ["C"],
            "cwd": "sub",
            "python": "python3.9",
            "stdin": True,
            "limits": {"timeout": 5},
            "transform": "jq .",
            "cache_ttl": 60,
            "fresh": True,
            "isolation": False,
            "redact": {"never": ["A"]},
        }
    )
    assert tool.key == "ops.a.b-c_1"
    assert (tool.description, tool.example) == ("reads $HOME", "f(q=1)")
    assert (tool.stdin, tool.fresh, tool.isolation, tool.limits) == (True, True, False, Limits(timeout=5))
    assert tool.origin == Origin("cell", "cell")


def test_what_is_not_written_has_its_default(one):
    tool = one(TOOL)
    assert (tool.groups, tool.params, tool.passthrough, tool.env_files) == (("public",), (), (), ())
    assert (tool.python, tool.transform, tool.cache_ttl, tool.isolation, tool.limits) == (
        None,
        None,
        None,
        True,
        Limits(),
    )


def test_a_variable_named_like_a_field_never_becomes_the_field(one):
    """SUB-19"""
    tool = one(TOOL, parent={"env_file": "/x", "env": "ZZ", "groups": "g", "tools": "t"})
    assert (tool.env_files, dict(tool.env), tool.groups, tool.references) == ((), {}, ("public",), ())


def test_a_value_of_the_parent_adds_no_field_and_changes_no_type(one):
    """SUB-05 to SUB-09"""
    parent = {"A": "x\n  env_passthrough: true", "B": "007", "C": "a: b", "D": "x #y", "E": "yes", "F": ""}
    tool = one("name: t\nexec: 'true'\nenv:\n" + "".join(f"  V{name}: ${{{name}}}\n" for name in parent), parent=parent)
    assert {name: text.value for name, text in tool.env.items()} == {
        f"V{name}": value for name, value in parent.items()
    }
    assert tool.passthrough == ()


def test_no_problem_holds_a_value(problems):
    """Every text of a tool is a marked value; whatever is wrong with it, the mark is not told."""
    mark = "hunter2"
    wrong = [
        {"name": "t", "exec": "true", "env": {"A": [mark]}, "env_file": [f"{mark} "], "cwd": f"{mark} ", "limits": {"timeout": mark}},
        {"name": "t", "exec": "true", "env": {"A": f"{mark}\0"}, "cache_ttl": mark, "stdin": mark, "isolation": mark},
        {"name": "t", "exec": "true", "params": [{"name": "q", "type": "int", "default": mark}, {"name": "r", "type": "int", "override": mark}]},
        {"name": "t", "exec": "true", "redact": mark, "groups": mark, "params": mark, "required_env": mark, "env_passthrough": mark},
        {"fn": mark},
        {"tools": mark, "env": mark},
    ]  # fmt: skip
    for document in wrong:
        found = problems(document)
        assert found
        assert mark not in "\n".join(found)


TEXTS = st.sampled_from(
    ["", "t", "a:b", "$DB", "${N}", "${X|$E}", "{{ q }}", "{{ q", "{#", "'${DB}'", "https://h/$DB", "off", "int", "~/x", "[^A]", "A B", "\0"]
) | st.text(max_size=6)  # fmt: skip
DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(PARAM_KEYS) | TEXTS, inner, max_size=4),
    max_leaves=8,
)
TOOLS = st.dictionaries(st.sampled_from(FIELDS), DATA, max_size=6)


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    DATA
    | TOOLS
    | st.lists(TOOLS, max_size=2)
    | st.fixed_dictionaries({"tools": st.lists(TOOLS, max_size=2), "env": DATA})
)
def test_whatever_the_document_nothing_is_raised_and_no_value_is_told(document):
    parent = {"HOME": "/h", "DB": "hunter2", "E": "", "N": "5"}
    found = declare(document, Place(parent, DEFAULT_FLOOR, "/nb", "/h", Origin("cell", "cell")))
    assert "hunter2" not in repr(found)
    assert all(len(str(problem).splitlines()) == 1 for problem in found.problems)


def test_a_place_does_not_show_the_parent():
    assert "hunter2" not in repr(Place({"A": "hunter2"}, ("PATH",), "/nb", None, Origin("cell", "cell")))


# ---- what MCC's documentation shows (seed 000)

MCC_DOCUMENTS = [
    """\
tools:
  # Explicit values — only what's needed
  - fn: mydjango.app:run_task
    env:
      DJANGO_SETTINGS_MODULE: mydjango.settings.production
      DATABASE_URL: postgres://localhost/mydb

  # Allowlist a parent var the import relies on
  - fn: mypackage.app:run_task
    env_passthrough: ["VIRTUAL_ENV"]
""",
    """\
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
""",
    """\
tools:
  - fn: mypackage.db:query
    env:
      DATABASE_URL: postgres://localhost/mydb
      LOG_LEVEL: warning
  - fn: mypackage.api:call
    env_file: /etc/myapp/secrets.env    # API_KEY=..., LOG_LEVEL=info
    env:
      LOG_LEVEL: debug                  # overrides the value from the file
  - fn: mypackage.deploy:push
    env_passthrough: ["AWS_*", "GIT_*"]
""",
    """\
tools:
  - fn: mypackage.deploy:push
    env:
      DEPLOY_ENV: production
    env_passthrough: true
""",
    """\
tools:
  - name: pg_query
    exec: psql -U myapp -d mydb -c {{ sql | quote }}
    env:
      PGPASSWORD: ${DB_PASSWORD}    # ${} resolved at load time; PGPASSWORD set at call time
    params:
      - name: sql
        type: str
        required: true
""",
    """\
tools:
  - name: deploy
    exec: kubectl apply -f {{ manifest | quote }}
    env:
      KUBECONFIG: /etc/deploy/kubeconfig
  - name: deploy_pinned
    exec: kubectl apply -f {{ manifest | quote }}
    env:
      PATH: /usr/local/bin:/usr/bin:/bin
      KUBECONFIG: /etc/deploy/kubeconfig
""",
]


@pytest.mark.parametrize(
    "parent",
    [{}, {"INTERNAL_API_KEY": "k", "API_BASE_URL": "https://h", "DB_PASSWORD": "p"}],
    ids=["absent", "present"],
)
@pytest.mark.parametrize("text", MCC_DOCUMENTS)
def test_mcc_s_own_examples_declare(declared, text, parent):
    found = declared(text, parent=parent)
    assert found.problems == ()
    targets = re.findall(r"^  - (?:fn: .*[.:]|name: )(\w+)", text, re.M)
    assert [tool.name for tool in found.tools] == list(dict.fromkeys(targets))
