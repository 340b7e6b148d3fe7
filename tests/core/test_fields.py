"""What a tool says of its environment (SPEC 2.6, 3, 4.3-4.6, 7.8): one table a field."""

from __future__ import annotations

import pytest

from mcc_jupyter.core.tool import EnvFile, Grant, Limits, Text
from mcc_jupyter.core.values import ValueClass

LIMIT = 10**9
NAME = "use letters, digits and `_`, and no digit first"


def exec_tool(**fields):
    return {"name": "t", "exec": "true", **fields}


# ---- env


def test_every_name_that_yaml_retypes_is_reported_at_once(problems):
    """SUB-22"""
    text = """\
name: t
exec: "true"
env:
  A: yes
  B: 0123
  C: 12:30
  D: 1.10
  E: 2024-01-02
  F: null
  G: 1e3
  H: true
"""
    assert problems(text) == [
        "env.A: read as true or false; quote it (line 4)",
        "env.B: read as another number; quote it (line 5)",
        "env.C: read as another number; quote it (line 6)",
        "env.D: read as a number with a point; quote it (line 7)",
        "env.E: read as a date; quote it (line 8)",
        "env.F: read as null; quote it (line 9)",
        "env.H: read as true or false; quote it (line 11)",
    ]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (True, "env.A: read as true or false; quote it"),
        (1.5, "env.A: read as a number with a point; quote it"),
        (None, "env.A: read as null; quote it"),
        (["hunter2"], "env.A: expected text, not a list"),
        ({"k": "hunter2"}, "env.A: expected text, not a mapping"),
        ({1}, "env.A: read as a set; quote it"),
        ("hunter2\0", "env.A: holds a NUL character, which no environment or argument can carry; leave it out"),
    ],
)
def test_a_value_is_text(problems, value, problem):
    assert problems(exec_tool(env={"A": value})) == [problem]


@pytest.mark.parametrize(
    ("env", "problem"),
    [
        ({"1X": "v"}, f"env['1X']: `1X` is no variable name; {NAME}"),
        ({"A=B": "v"}, f"env['A=B']: `A=B` is no variable name; {NAME}"),
        ({"": "v"}, f"env['']: `` is no variable name; {NAME}"),
        ({"É": "v"}, f"env['É']: `É` is no variable name; {NAME}"),
        ({"A\n": "v"}, f"env['A\\n']: `'A\\n'` is no variable name; {NAME}"),
        ({"A-B": "v"}, f"env.A-B: `A-B` is no variable name; {NAME}"),
        ({True: "v"}, "env: expected text as a key, not true or false; quote it"),
        (["A=v"], "env: expected a mapping, `{NAME: text}`"),
        ("A=v", "env: expected a mapping, `{NAME: text}`"),
    ],
)
def test_names_of_variables(problems, env, problem):
    assert problems(exec_tool(env=env)) == [problem]


@pytest.mark.parametrize(
    ("yaml", "value"),
    [("5", "5"), ("-7", "-7"), ("+7", "+7"), ("0", "0"), ("'0123'", "0123"), ("08", "08"), ("''", ""), ("1e3", "1e3"), ("x\\n", "x\\n")],
)  # fmt: skip
def test_decimal_integers_and_text_arrive_as_written(one, yaml, value):
    assert one(f"name: t\nexec: 'true'\nenv:\n  A: {yaml}\n").env["A"] == Text(
        value, value, ValueClass.SET if value else ValueClass.EMPTY
    )


def test_an_integer_from_python_is_text(one):
    assert one(exec_tool(env={"A": 5})).env["A"].value == "5"


def test_references_in_env_are_frozen(one):
    tool = one(exec_tool(env={"URL": "postgres://x:${DB_PASSWORD}@h", "B": "${NOPE} ${GONE|d}", "C": "$$X"}))
    assert tool.env["URL"].value == "postgres://x:hunter2-hunter2@h"
    assert [item.name for item in tool.env["URL"].references] == ["DB_PASSWORD"]
    assert (tool.env["B"].value, tool.env["B"].unresolved) == ("${NOPE} d", ("NOPE",))
    assert tool.env["C"].value == "$X"
    assert [item.name for item in tool.references] == ["DB_PASSWORD"]
    assert tool.unresolved == ("NOPE",)
    assert "hunter2" not in repr(tool)


@pytest.mark.parametrize("name", ["MCC_CTX", "MCC_CTX_ROLE", "MCC_SESSION_FILE", "PATH", "LD_PRELOAD"])
def test_reserved_and_risky_names_are_accepted_here(one, name):
    """ENV-05: the policy refuses them where it can say what they would have shadowed."""
    assert one(exec_tool(env={name: "x"})).env[name].value == "x"


@pytest.mark.parametrize(("kind", "place"), [("cell", "notebook"), ("file", "file"), ("python", "code")])
def test_a_literal_that_looks_like_a_credential_is_noted(one, kind, place):
    tool = one(exec_tool(env={"API_KEY": "ghp_" + "a1B2" * 9, "URL": "https://x:${DB_PASSWORD}@h"}), kind=kind)
    assert tool.notes == (f"warning: env.API_KEY: looks like a credential and stands in the {place}; use a reference",)


# ---- env_file


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("conf/a.env", "/nb/conf/a.env"),
        ("./a.env", "/nb/a.env"),
        ("../a.env", "/nb/../a.env"),
        ("/etc/a.env", "/etc/a.env"),
        ("~/a.env", "/home/ana/a.env"),
        ("~", "/home/ana"),
        ("x~/a.env", "/nb/x~/a.env"),
        ("${REGION}.env", "/nb/eu-north-1.env"),
        ("${NOPE}.env", "/nb/${NOPE}.env"),
    ],
)
def test_an_env_file_is_stored_absolute_and_as_written(one, written, path):
    """DOT-39"""
    assert one(exec_tool(env_file=written)).env_files == (EnvFile(written, path),)


def test_several_env_files(one):
    assert one(exec_tool(env_file=["a.env", "b.env"])).env_files == (
        EnvFile("a.env", "/nb/a.env"),
        EnvFile("b.env", "/nb/b.env"),
    )
    assert one(exec_tool(env_file=[])).env_files == ()


BLANK = "the path begins or ends with a blank or holds a NUL character; remove it"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        pytest.param("", "env_file: expected a path", id="DOT-34-empty"),
        pytest.param(None, "env_file: expected a path", id="DOT-34-null"),
        pytest.param("a.env ", f"env_file: {BLANK}", id="DOT-34-trailing-blank"),
        ("a\0b", f"env_file: {BLANK}"),
        (5, "env_file: expected a path"),
        (["a", ""], "env_file[1]: expected a path"),
        (["a", "a"], "env_file[1]: `a` stands twice; keep one"),
        (["a", None], "env_file[1]: expected text, not null; quote it"),
        ("~bob/a.env", "env_file: `~` stands for your own home only; write another one in full"),
        ("${EMPTY}", "env_file: the path is empty, because what it refers to is empty here"),
    ],
)
def test_wrong_env_files(problems, value, problem):
    assert problems(exec_tool(env_file=value)) == [problem]


def test_without_a_home_there_is_no_tilde(problems):
    assert problems(exec_tool(env_file="~/a.env"), home=None) == [
        "env_file: `~` cannot be expanded without HOME; write the path in full"
    ]


# ---- cwd, python


def test_the_folder_of_the_declaration_is_the_default(one):
    assert one(exec_tool()).cwd == Text("/nb", "/nb")


def test_cwd_is_a_path(one, problems):
    assert one(exec_tool(cwd="~/work")).cwd.value == "/home/ana/work"
    assert one(exec_tool(cwd=".")).cwd == Text(".", "/nb")
    assert problems(exec_tool(cwd=["x"])) == ["cwd: expected a path"]


@pytest.mark.parametrize(
    ("written", "value"),
    [("python3.9", "python3.9"), ("venv/bin/python", "/nb/venv/bin/python"), ("~/py", "/home/ana/py")],
)
def test_an_interpreter_is_a_path_or_a_command(one, written, value):
    assert one({"fn": "a:b", "python": written}).python.value == value


# ---- env_passthrough

EXPECTED = "expected true, false or a list of patterns"


@pytest.mark.parametrize(
    ("value", "patterns"),
    [(True, True), (False, ()), (None, ()), ([], ()), (["AWS_*", "GIT_?", "[!A-C]X", "X[[]1]"], ("AWS_*", "GIT_?", "[!A-C]X", "X[[]1]"))],
)  # fmt: skip
def test_passthrough(one, value, patterns):
    tool = one(exec_tool(env_passthrough=value))
    assert (tool.passthrough, tool.notes) == (patterns, ())


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        pytest.param("AWS_*", f"env_passthrough: {EXPECTED}", id="GLOB-13"),
        pytest.param("false", f"env_passthrough: {EXPECTED}", id="GLOB-14-false"),
        pytest.param("no", f"env_passthrough: {EXPECTED}", id="GLOB-14-no"),
        pytest.param(0, f"env_passthrough: {EXPECTED}", id="GLOB-14-0"),
        pytest.param(1, f"env_passthrough: {EXPECTED}", id="GLOB-14-1"),
        pytest.param({}, f"env_passthrough: {EXPECTED}", id="GLOB-14-mapping"),
        pytest.param(["[^A]*"], "env_passthrough[0]: `[^…]` would let in what it names; write `[!…]`", id="GLOB-03"),
        pytest.param(["*", "!AWS_*"], "env_passthrough[1]: a pattern cannot exclude; list what may pass", id="GLOB-05"),
        ([""], "env_passthrough[0]: an empty pattern matches nothing; leave it out"),
        (["A B"], "env_passthrough[0]: no name holds white space; write one pattern an item"),
        ([" "], "env_passthrough[0]: no name holds white space; write one pattern an item"),
        (["A\n"], "env_passthrough[0]: no name holds white space; write one pattern an item"),
        (["A*", "A*"], "env_passthrough[1]: `A*` stands twice; keep one"),
        ([True], "env_passthrough[0]: expected text, not true or false; quote it"),
        ([["A"]], "env_passthrough[0]: expected text, not a list; quote it"),
    ],
)
def test_wrong_patterns(problems, value, problem):
    assert problems(exec_tool(env_passthrough=value)) == [problem]


COMMA = "`{`, `}` and `,` stand for themselves in a pattern; write one pattern an item"
BRACKET = "a bracket that makes no class stands for itself; write `[…]`"


@pytest.mark.parametrize(
    ("pattern", "note"),
    [
        pytest.param("AWS_{ACCESS,SECRET}_*", COMMA, id="GLOB-06-braces"),
        pytest.param("AWS_*,GIT_*", COMMA, id="GLOB-06-comma"),
        pytest.param("[A", BRACKET, id="GLOB-08-open"),
        pytest.param("A]", BRACKET, id="GLOB-08-close"),
        pytest.param("[]]", BRACKET, id="GLOB-08-empty"),
        ("AWS_.*", "a pattern is no regular expression; `*` alone stands for any text"),
        ("^AWS", "a pattern is no regular expression; `*` alone stands for any text"),
    ],
)
def test_doubtful_patterns_are_noted(one, pattern, note):
    tool = one(exec_tool(env_passthrough=["X", pattern]))
    assert (tool.passthrough, tool.notes) == (("X", pattern), (f"warning: env_passthrough[1]: {note}",))


# ---- required_env, optional_env


@pytest.mark.parametrize(
    ("value", "grants"),
    [
        (["A", "B"], (Grant("A", "A"), Grant("B", "B"))),
        ({"CHILD": "PARENT", "A": "A"}, (Grant("CHILD", "PARENT"), Grant("A", "A"))),
        ([], ()),
        (None, ()),
        (["MCC_CTX_USER"], (Grant("MCC_CTX_USER", "MCC_CTX_USER"),)),
    ],
)
@pytest.mark.parametrize("field", ["required_env", "optional_env"])
def test_grants(one, field, value, grants):
    assert getattr(one(exec_tool(**{field: value})), field) == grants


GRANTS = "expected a list of names, `[NAME]`, or a mapping CHILD: PARENT"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("A", f"required_env: {GRANTS}"),
        (True, f"required_env: {GRANTS}"),
        (["A", "A"], "required_env[1]: `A` stands twice; keep one"),
        ([{"A": "B"}], "required_env[0]: expected text, not a mapping; quote it"),
        (["A\n"], f"required_env[0]: `'A\\n'` is no variable name; {NAME}"),
        (["A*"], f"required_env[0]: `A*` is no variable name; {NAME}"),
        (["${A}"], f"required_env[0]: `${{A}}` is no variable name; {NAME}"),
        (["x" * 80 + " "], f"required_env[0]: `{'x' * 64!r}` is no variable name; {NAME}"),
        ({"A": None}, "required_env.A: expected the parent's name as text"),
        ({"A": "1B"}, f"required_env.A: `1B` is no variable name; {NAME}"),
        ({"1A": "B"}, f"required_env['1A']: `1A` is no variable name; {NAME}"),
    ],
)
def test_wrong_grants(problems, value, problem):
    assert problems(exec_tool(required_env=value)) == [problem]


def test_a_name_is_required_or_optional(problems):
    assert problems(exec_tool(required_env=["A", "B"], optional_env={"B": "C"})) == [
        "optional_env: `B` is both required and optional; keep one"
    ]


# ---- groups

GROUP = "use letters, digits, `_` and `-`"


@pytest.mark.parametrize(
    ("groups", "key"),
    [(["ops", "admin", "public"], "public.admin.ops.t"), ([], "t"), (["on-call_1"], "on-call_1.t")],
)
def test_groups_make_the_key(one, groups, key):
    assert one(exec_tool(groups=groups)).key == key


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("ops", "groups: expected a list of group names"),
        (None, "groups: expected a list of group names"),
        ([""], f"groups[0]: `` is no group name; {GROUP}"),
        (["a.b"], f"groups[0]: `a.b` is no group name; {GROUP}"),
        (["é"], f"groups[0]: `é` is no group name; {GROUP}"),
        (["ops", "ops"], "groups[1]: `ops` stands twice; keep one"),
        ([True], "groups[0]: expected text, not true or false; quote it"),
    ],
)
def test_wrong_groups(problems, value, problem):
    assert problems(exec_tool(groups=value)) == [problem]


# ---- limits, cache_ttl


def test_limits(one):
    limits = {"timeout": 1.5, "mem_mb": 512, "cpu_sec": 2.0, "fsize_mb": 1, "nofile": 64, "output_mb": 0.5}
    assert one(exec_tool(limits=limits)).limits == Limits(1.5, 512, 2, 1, 64, 0.5)
    assert one("name: t\nexec: 'true'\nlimits: {timeout: 1_000}").limits.timeout == 1000
    assert one(exec_tool(limits=None)).limits == Limits()


def test_a_limit_may_refer_to_a_number(one):
    tool = one(exec_tool(limits={"timeout": "${SECONDS_TO_WAIT}", "mem_mb": "${NOPE:-64}"}))
    assert (tool.limits.timeout, tool.limits.mem_mb) == (30, 64)
    assert [item.name for item in tool.references] == ["SECONDS_TO_WAIT"]


NO_NUMBER = "what it refers to is no number of seconds here; set it, or write a number"


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        (5, "limits: expected a mapping of limits"),
        ({"timeout": "5"}, "limits.timeout: write a number of seconds, without quotes"),
        ({"timeout": "hunter2"}, "limits.timeout: write a number of seconds, without quotes"),
        ({"timeout": "$DB_PASSWORD"}, f"limits.timeout: {NO_NUMBER}"),
        ({"timeout": "$NOPE"}, f"limits.timeout: {NO_NUMBER}"),
        ({"timeout": "${NOPE|-1}"}, f"limits.timeout: expected a number of seconds above 0 and at most {LIMIT}"),
        ({"timeout": 0}, f"limits.timeout: expected a number of seconds above 0 and at most {LIMIT}"),
        ({"timeout": float("nan")}, f"limits.timeout: expected a number of seconds above 0 and at most {LIMIT}"),
        ({"timeout": float("inf")}, f"limits.timeout: expected a number of seconds above 0 and at most {LIMIT}"),
        ({"timeout": True}, f"limits.timeout: expected a number of seconds above 0 and at most {LIMIT}"),
        ({"timeout": None}, f"limits.timeout: expected a number of seconds above 0 and at most {LIMIT}"),
        ({"mem_mb": 2**40}, f"limits.mem_mb: expected a number of MiB above 0 and at most {LIMIT}"),
        ({"mem_mb": 0.5}, "limits.mem_mb: expected a whole number of MiB"),
        ({"nofile": "64"}, "limits.nofile: write a number of open files, without quotes"),
        ({"timeuot": 5}, "limits: unknown key `timeuot` (did you mean `timeout`?)"),
        ({"memory": 5}, "limits: unknown key `memory`; write `mem_mb`"),
    ],
)
def test_wrong_limits(problems, limits, problem):
    assert problems(exec_tool(limits=limits)) == [problem]


def test_cache_ttl_is_a_number_of_seconds(one, problems):
    assert one(exec_tool(cache_ttl=60)).cache_ttl == 60
    assert problems(exec_tool(cache_ttl=-1)) == [f"cache_ttl: expected a number of seconds above 0 and at most {LIMIT}"]


# ---- redact, isolation


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (["A"], "redact: expected a mapping `never: [NAME…]`"),
        ({"nevr": ["A"]}, "redact: unknown key `nevr` (did you mean `never`?)"),
        ({"never": "A"}, "redact.never: expected a list of names"),
        ({"never": ["A B"]}, f"redact.never[0]: `A B` is no variable name; {NAME}"),
    ],
)
def test_wrong_redact(problems, value, problem):
    assert problems(exec_tool(redact=value)) == [problem]


def test_redact(one):
    assert one(exec_tool(redact={"never": ["A", "B"]})).never_redact == {"A", "B"}
    assert one(exec_tool(redact={})).never_redact == frozenset()


@pytest.mark.parametrize(("yaml", "isolation"), [("off", False), ("on", True), ("'off'", False), ("'on'", True)])
def test_isolation(one, yaml, isolation):
    assert one(f"name: t\nexec: 'true'\nisolation: {yaml}").isolation is isolation


@pytest.mark.parametrize("value", ["none", 0, None, ["off"]])
def test_wrong_isolation(problems, value):
    assert problems(exec_tool(isolation=value)) == ["isolation: expected on or off"]
