"""The engine: the layers and their order, availability, and the laws that hold whatever is declared (SPEC 4, 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcc_jupyter.core import dotenv, names, policy
from mcc_jupyter.core.availability import may_call
from mcc_jupyter.core.policy import resolve, withheld
from mcc_jupyter.core.references import bake
from mcc_jupyter.core.report import report
from mcc_jupyter.core.resolution import Context, Provenance, Reason, Resolution, Source
from mcc_jupyter.core.tool import (
    DEFAULT_FLOOR,
    Argv,
    Curl,
    EnvFile,
    Function,
    Grant,
    Origin,
    Reference,
    Shell,
    Text,
    Tool,
)
from mcc_jupyter.core.values import VARIABLE_LIMIT, ValueClass

FLOOR = {"PATH": "/usr/bin", "HOME": "/home/u", "LANG": "C"}
FN = Function("m:f")
SPOOF = ("MCC_CTX", "MCC_CTX_USER", "MCC_CTX_ROLE", "MCC_SESSION_FILE")


def grants(*listed: str) -> tuple[Grant, ...]:
    """``CHILD`` or ``CHILD:PARENT``."""
    return tuple(Grant(child, parent or child) for child, _, parent in (text.partition(":") for text in listed))


def make(parent: Mapping[str, str] = MappingProxyType({}), **given: object) -> Tool:
    """A tool; ``env`` is baked from *parent*, ``env_file`` is one file's text."""
    env = {name: bake(text, parent) for name, text in given.pop("env", {}).items()}  # type: ignore[attr-defined]
    for field in ("required_env", "optional_env"):
        if field in given:
            given[field] = grants(*given[field])  # type: ignore[misc]
    unresolved = tuple(dict.fromkeys(name for text in env.values() for name in text.unresolved))
    base = {"name": "t", "body": Shell("env", "env"), "origin": Origin("cell", "cell"), "cwd": Text("/w", "/w")}
    return Tool(**{**base, **given}, env=env, unresolved=unresolved)  # type: ignore[arg-type]


def run(
    parent: Mapping[str, str],
    *,
    env_file: str | None = None,
    session: Mapping[str, str] | None = None,
    floor: tuple[str, ...] = DEFAULT_FLOOR,
    groups: frozenset[str] | None = None,
    kernel: bool = True,
    **given: object,
) -> Resolution:
    files: tuple[dotenv.Dotenv | dotenv.Unreadable, ...] = ()
    if env_file is not None:
        given["env_files"] = (EnvFile(".env", "/w/.env"),)
        files = (dotenv.parse(env_file, path=".env"),)
    context = None if session is None else Context(variables=session)
    return resolve(make(parent, **given), parent=parent, floor=floor, files=files, context=context, groups=groups, kernel=kernel)  # fmt: skip


def why(resolution: Resolution, name: str) -> str:
    """``source: rule`` of a name, and what it shadows."""
    binding = resolution.bindings[name]
    shadows = ", ".join(shadow.source for shadow in binding.shadows)
    return f"{binding.provenance.source}: {binding.provenance.rule}" + (f" (shadows {shadows})" if shadows else "")


# ---- SPEC 4.1: the order


def test_ENV_01_the_five_steps_of_precedence_one_by_one() -> None:
    parent = {"A": "k", "PATH": "floor"}
    given: dict[str, object] = {"passthrough": ("A",), "env_file": "A=f\n", "env": {"A": "e"}}
    all_of_them = run(parent, **given)
    assert all_of_them.environ()["A"] == "e"
    assert why(all_of_them, "A") == "env: literal (shadows env_file, passthrough)"
    assert "shadows env_file, passthrough" in report(make(parent, env={"A": "e"}), all_of_them).text()
    del given["env"]
    without_env = run(parent, **given)
    assert (without_env.environ()["A"], why(without_env, "A")) == ("f", "env_file: .env (shadows passthrough)")
    del given["env_file"]
    without_file = run(parent, **given)
    assert (without_file.environ()["A"], why(without_file, "A")) == ("k", "passthrough: A")
    del given["passthrough"]
    assert run(parent, **given).environ() == {"PATH": "floor"}


STEPS = [
    ("floor", {}, "floor: PATH"),
    ("passthrough over floor", {"passthrough": ("P*",)}, "passthrough: P* (shadows floor)"),
    ("env_file over passthrough", {"env_file": "PATH=/f\n"}, "env_file: .env (shadows passthrough, floor)"),
    ("env over env_file", {"env": {"PATH": "/e"}}, "env: literal (shadows env_file, passthrough, floor)"),
]


@pytest.mark.parametrize("step", range(len(STEPS)), ids=[name for name, _, _ in STEPS])
def test_SPEC_4_1_each_layer_stands_over_the_one_before(step: int) -> None:
    given = {key: value for _, more, _ in STEPS[: step + 1] for key, value in more.items()}
    assert why(run(FLOOR, **given), "PATH") == STEPS[step][2]


def test_SPEC_4_1_the_whole_order_in_one_stack() -> None:
    parent = {"PYTHONPATH": "/parent", "X": "1"}
    resolution = run(
        parent,
        floor=("PYTHONPATH",),
        passthrough=("PYTHON*",),
        required_env=["PYTHONPATH:X"],
        body=FN,
        transform=Shell("x", "x", (Reference("PYTHONPATH", "/ref"),)),
        env_file="PYTHONPATH=/file\n",
        env={"PYTHONPATH": "/env"},
        secret_files={"PYTHONPATH": Text("x", "x")},
    )
    binding = resolution.bindings["PYTHONPATH"]
    assert [shadow.source for shadow in (binding.provenance, *binding.shadows)] == list(reversed(Source))[1:]
    assert binding.value == "/w"


def test_the_session_stands_over_all_of_them_by_emptying_them_first() -> None:
    resolution = run({}, env={"MCC_CTX_USER": "eve"}, session={"MCC_CTX_USER": "ana"})
    assert resolution.environ() == {"MCC_CTX_USER": "ana"}
    assert why(resolution, "MCC_CTX_USER") == "session: identity"
    assert resolution.refused == {"MCC_CTX_USER": Provenance(Source.ENV, "literal")}


def test_SPEC_4_1_an_empty_environment_is_a_mapping() -> None:
    assert run({}).environ() == {}
    assert run({"SECRET": "x"}, floor=()).environ() == {}


def test_resolved_anew_for_every_call_from_the_parent_given() -> None:
    tool = make(passthrough=("A",))
    parents: list[dict[str, str]] = [{"F": "f", "A": "1"}, {"F": "f", "A": "2"}, {"A": "2"}, {}, {"F": "f", "A": "1"}]
    assert [resolve(tool, parent=parent, floor=("F",)).environ() for parent in parents] == parents


def test_the_same_parent_gives_the_same_answer_again_and_no_call_spoils_the_next() -> None:
    tool, parent = make(passthrough=("*",)), {"A": "1", "MCC_CTX": "outer"}
    first = resolve(tool, parent=parent, floor=())
    assert resolve(tool, parent=parent, floor=()) == first
    assert resolve(tool, parent=parent, floor=()).refused == first.refused
    assert resolve(tool, parent={**parent, "B": "2"}, floor=()).environ() == {"A": "1", "B": "2"}


def test_answers_for_many_tools_are_let_go_again() -> None:
    parent = {"A": "1"}
    for _ in range(200):
        resolve(make(passthrough=("A",)), parent=parent, floor=())
    assert len(policy._memo._answers) == 64


# ---- SPEC 4.2: the floor


def test_ENV_02_a_tool_with_no_environment_fields_gets_only_the_floor() -> None:
    assert run({**FLOOR, "SECRET": "1"}).environ() == FLOOR


def test_the_floor_is_the_ten_names_of_the_specification_and_only_where_the_parent_has_them() -> None:
    assert tuple("PATH HOME USER LOGNAME TMPDIR LANG LC_ALL TZ TERM SHELL".split()) == DEFAULT_FLOOR
    everything = dict.fromkeys((*DEFAULT_FLOOR, "X"), "v")
    assert list(run(everything).environ()) == list(DEFAULT_FLOOR)


def test_a_floor_value_that_is_a_shell_function_is_skipped() -> None:
    assert run({"PATH": "() { :; }", "HOME": "/h"}).environ() == {"HOME": "/h"}


def test_a_floor_given_by_the_deployment_replaces_the_default() -> None:
    parent = {**FLOOR, "FOO": "1"}
    assert run(parent, floor=("PATH", "FOO")).environ() == {"PATH": "/usr/bin", "FOO": "1"}


@pytest.mark.parametrize("passthrough", [(), True, ("AWS_*",), ("PATH",), ("[A]",)], ids=str)
def test_the_floor_lies_under_every_form_of_passthrough(passthrough: tuple[str, ...] | Literal[True]) -> None:
    resolution = run({**FLOOR, "AWS_REGION": "r", "SECRET": "s"}, passthrough=passthrough)
    assert FLOOR.items() <= resolution.environ().items()
    for name in FLOOR:
        binding = resolution.bindings[name]
        assert Source.FLOOR in {shadow.source for shadow in (binding.provenance, *binding.shadows)}


def test_ENV_16_declaring_env_does_not_drop_the_floor() -> None:
    assert run(FLOOR, env={"A": "1"}).environ() == {**FLOOR, "A": "1"}


def test_GLOB_17_an_empty_list_is_the_same_as_false() -> None:
    parent = {**FLOOR, "SECRET": "s"}
    assert Tool.__dataclass_fields__["passthrough"].default == ()
    assert run(parent, passthrough=()).environ() == run(parent).environ() == FLOOR


# ---- SPEC 4.3: passthrough

GLOB_NAMES = [
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "aws_profile", "AWS", "GITHUB_TOKEN", "GIT_DIR", "PATH", "PATHEXT", "LC_ALL",
    "LC_CTYPE", "LANG", "LANGUAGE", "A.B", "A-B", "BASH_FUNC_f%%", "X[1]", "_", "PYTHONPATH", "MCC_CTX", "MCC_CTX_USER",
    "JUPYTERHUB_API_TOKEN",
]  # fmt: skip
AWS = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]
GLOBS = {
    "GLOB-01": (("AWS_*", "GIT_*"), [*AWS, "GIT_DIR"]),
    "GLOB-03": (("[^A]*",), [*AWS, "AWS", "A.B", "A-B"]),
    "GLOB-05": (("!AWS_*",), []),
    "GLOB-06": (("AWS_{ACCESS,SECRET}_*", "AWS_*,GIT_*"), []),
    "GLOB-08": (("[A", "A]", "[]]"), []),
    "GLOB-09": (("X[[]1]", "X[1]"), ["X[1]"]),
    "GLOB-10": (("LC_*", "LANG*"), ["LC_ALL", "LC_CTYPE", "LANG", "LANGUAGE"]),
    "GLOB-11": (("JUPYTER*",), ["JUPYTERHUB_API_TOKEN"]),
    "all": (("*",), [name for name in GLOB_NAMES if not names.is_reserved(name)]),
    "one character": (("?",), ["_"]),
    "a class": (("[a-z]*", "[!A-Z]"), ["aws_profile", "_"]),
}  # fmt: skip


@pytest.mark.parametrize(("patterns", "expected"), GLOBS.values(), ids=GLOBS)
def test_patterns_let_in_exactly_these_names(patterns: tuple[str, ...], expected: list[str]) -> None:
    resolution = run(dict.fromkeys(GLOB_NAMES, "v"), floor=(), passthrough=patterns)
    assert list(resolution.bindings) == expected


def test_GLOB_11_a_credential_like_name_let_in_by_a_pattern_is_marked() -> None:
    parent = {"JUPYTERHUB_API_TOKEN": "v", "JUPYTER_PORT": "1"}
    by_pattern = run(parent, passthrough=("JUPYTER*",))
    assert by_pattern.bindings["JUPYTERHUB_API_TOKEN"].flags == ("credential-like",)
    assert by_pattern.bindings["JUPYTER_PORT"].flags == ()
    assert run(parent, passthrough=("JUPYTERHUB_API_TOKEN",)).bindings["JUPYTERHUB_API_TOKEN"].flags == ()
    assert run(parent, passthrough=()).environ() == {}


def test_true_is_a_full_copy_of_the_parent_shown_as_discouraged_with_all_its_names() -> None:
    parent = {**FLOOR, "SECRET": "s", "A.B": "1", "X[1]": "2"}
    resolution = run(parent, passthrough=True)
    assert resolution.environ() == parent
    assert resolution.notes == (
        (
            "warning: env_passthrough: true copies the whole environment of the parent; "
            "list the names the tool needs instead"
        ),
    )  # fmt: skip
    assert why(resolution, "A.B") == "passthrough: true"
    assert {row.name for row in report(make(), resolution).rows} == set(parent)


def test_exported_shell_functions_pass_only_when_named_exactly() -> None:
    parent = {"BASH_FUNC_f%%": "() { :; }", "f": "() { :; }"}
    assert run(parent, passthrough=("*",)).environ() == {}
    assert run(parent, passthrough=True).environ() == {}
    named = run(parent, passthrough=("*", "BASH_FUNC_f%%"))
    assert named.environ() == {"BASH_FUNC_f%%": "() { :; }"}
    assert named.bindings["BASH_FUNC_f%%"].flags == ("risky", "shell function")
    assert run(parent, required_env=["f"]).environ() == {"f": "() { :; }"}


RISKY = {"LD_PRELOAD": "/x.so", "BASH_ENV": "./e.sh", "PYTHONSTARTUP": "a.py", "NODE_OPTIONS": "--inspect"}


@pytest.mark.parametrize(
    ("parent", "given"),
    [({}, {"env": RISKY}), (RISKY, {"passthrough": ("*",)}), (RISKY, {"optional_env": list(RISKY)}),
     ({}, {"env_file": "".join(f"{name}={value}\n" for name, value in RISKY.items())})],
    ids=["env", "pattern", "grant", "env_file"],
)  # fmt: skip
def test_ENV_15_names_that_steer_a_loader_arrive_as_declared_but_are_marked(
    parent: dict[str, str], given: dict[str, object]
) -> None:
    resolution = run(parent, **given)
    assert resolution.environ() == RISKY
    assert {name: binding.flags for name, binding in resolution.bindings.items()} == dict.fromkeys(RISKY, ("risky",))


def test_the_floor_is_the_operators_and_not_marked() -> None:
    assert run({"LD_LIBRARY_PATH": "/l"}, floor=("LD_LIBRARY_PATH",)).bindings["LD_LIBRARY_PATH"].flags == ()


def test_the_rule_is_the_exact_name_or_else_the_first_pattern_that_matches() -> None:
    parent = {"AWS_A": "1", "AWS_B": "2"}
    resolution = run(parent, passthrough=("X*", "AWS_*", "*", "AWS_B"))
    assert (why(resolution, "AWS_A"), why(resolution, "AWS_B")) == ("passthrough: AWS_*", "passthrough: AWS_B")


def test_ENV_14_proxy_and_CA_variables_are_withheld_until_asked_for_in_both_cases() -> None:
    parent = dict.fromkeys(("HTTPS_PROXY", "https_proxy", "NO_PROXY", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"), "v")
    nothing = run(parent)
    assert nothing.environ() == {}
    assert withheld(nothing, make(), parent) == tuple(sorted(parent))
    some = run(parent, passthrough=("*_PROXY", "*_proxy", "SSL_*"))
    assert some.environ().keys() == parent.keys() - {"REQUESTS_CA_BUNDLE"}
    assert withheld(some, make(), parent) == ("REQUESTS_CA_BUNDLE",)


def test_a_pattern_or_name_that_matches_nothing_is_told() -> None:
    parent = {"A": "1"}
    tool = make(passthrough=("AWS_*", "GONE", "A*", "A"))
    expected = (
        "env_passthrough: the pattern AWS_* matches no variable",
        "env_passthrough: the name GONE matches no variable",
    )
    for _ in range(2):
        assert resolve(tool, parent=parent, floor=()).notes == expected
    assert resolve(tool, parent={"AWS_X": "1", "GONE": "", "A": ""}, floor=()).notes == ()


# ---- SPEC 3.4, 4.5: references and grants


def test_a_reference_of_a_command_text_is_a_binding_frozen_at_declaration() -> None:
    shell = Shell("psql $DB", "psql $DB", (Reference("DB", "then"),))
    for body in (shell, Curl(shell)):
        resolution = run({"DB": "now"}, body=body, transform=Shell("jq $Q", "jq $Q", (Reference("Q", "q"),)))
        assert resolution.environ() == {"DB": "then", "Q": "q"}
        assert why(resolution, "DB") == "reference: ${DB}"
        assert resolution.bindings["DB"].secret
    assert run({"DB": "now"}, body=Argv(("psql",), ("psql",))).environ() == {}


def test_a_grant_lets_in_one_name_or_renames_it_and_stands_over_the_patterns() -> None:
    parent = {"TEAM_DB": "x", "A": "1", "B": "2"}
    resolution = run(parent, passthrough=("A",), required_env=["DB:TEAM_DB", "A"], optional_env=["B"])
    assert resolution.environ() == {"DB": "x", "A": "1", "B": "2"}
    assert why(resolution, "DB") == "grant: required_env (from TEAM_DB)"
    assert why(resolution, "A") == "grant: required_env (shadows passthrough)"
    assert why(resolution, "B") == "grant: optional_env"
    assert withheld(resolution, make(required_env=["DB:TEAM_DB"]), parent) == ()


@pytest.mark.parametrize(
    ("grant", "secret"),
    [
        ("KUBECONFIG:KUBE_TOKEN", True),
        ("KUBE_TOKEN:KUBECONFIG", True),
        ("KUBECONFIG:HOME", False),
        ("KUBECONFIG", False),
        ("KUBE_TOKEN", True),
        ("NEVER:KUBE_TOKEN", False),
    ],
)
@pytest.mark.parametrize("field", ["required_env", "optional_env"])
def test_a_granted_value_is_no_secret_only_where_both_its_names_say_so(grant: str, secret: bool, field: str) -> None:
    parent = {"KUBE_TOKEN": "x", "KUBECONFIG": "x", "HOME": "x"}
    resolution = run(parent, never_redact=frozenset({"NEVER"}), **{field: [grant]})
    assert resolution.bindings[grant.partition(":")[0]].secret is secret


def test_a_variable_without_a_name_passes_nowhere() -> None:
    parent = {"": "x", "A": "1"}
    for passthrough in (True, ("*",)):
        resolution = run(parent, passthrough=passthrough)
        assert resolution.environ() == {"A": "1"}
        assert withheld(resolution, make(passthrough=passthrough), parent) == ()


def test_a_missing_required_name_makes_the_tool_unavailable_with_the_notice_of_SPEC_5_2() -> None:
    resolution = run({}, name="linear", required_env=["LINEAR_API_KEY"])
    assert not resolution.available
    assert resolution.notice == "Tool 'linear' is unavailable; missing required environment: LINEAR_API_KEY"
    assert resolution.reasons == (Reason("missing", "missing required environment: LINEAR_API_KEY"),)


def test_a_missing_renamed_name_is_shown_with_its_parent() -> None:
    resolution = run({}, required_env=["CHILD:PARENT", "B"])
    assert resolution.notice == "Tool 't' is unavailable; missing required environment: CHILD (from PARENT), B"


PUT_IT = "only a template of `mcc-jupyter launch` resolves a reference; put it there and write"
SET_IT = "set it before the kernel starts or with %env, or give"


@pytest.mark.parametrize(
    ("parent", "given", "note"),
    [
        ({}, {"required_env": ["A_KEY"]}, f"A_KEY: {SET_IT} it in an env_file"),
        ({"A_KEY": ""}, {"required_env": ["A_KEY"]}, f"A_KEY: {SET_IT} it in an env_file"),
        ({"LINEAR_KEY": "x"}, {"required_env": ["LINEAR_API_KEY"]}, f"LINEAR_API_KEY: {SET_IT} it in an env_file (did you mean `LINEAR_KEY`?)"),
        ({"LINEAR_API_KEY": "x"}, {"required_env": ["WEATHER_API_KEY"]}, f"WEATHER_API_KEY: {SET_IT} it in an env_file"),
        ({"TEAM_DB_PW": "x"}, {"required_env": ["PW:TEAM_DB_PWD"]}, f"TEAM_DB_PWD: {SET_IT} PW in an env_file (did you mean `TEAM_DB_PW`?)"),
        ({}, {"required_env": ["A"], "env": {"A": ""}}, "A: env gives it without a value; write one there"),
        ({}, {"required_env": ["A"], "env_file": "A=\n"}, "A: env_file gives it without a value; write one there"),
        ({}, {"required_env": ["A"], "env": {"A": "${X} ${Y}"}}, "A: set X, Y before the kernel starts or with %env, and declare the tool again"),
        ({}, {"required_env": ["MCC_CTX_ROLE"]}, "MCC_CTX_ROLE: only the session gives it; see %mcc_session"),
        ({"PW": "vault:x"}, {"required_env": ["PW"]}, "PW: nothing resolved this reference; start the kernel by `mcc-jupyter launch`"),
        ({"PW": "vault:x"}, {"env": {"A": "$PW"}}, "A: nothing resolved this reference; start the kernel by `mcc-jupyter launch`"),
        ({}, {"env": {"A": "op://a/b/c"}}, f"A: {PUT_IT} `required_env: [A]` here"),
        ({}, {"env_file": "A=op://a/b/c\n"}, f"A: {PUT_IT} `required_env: [A]` here"),
    ],
)  # fmt: skip
def test_what_a_tool_lacks_is_told_with_what_to_do(parent: dict[str, str], given: dict[str, object], note: str) -> None:
    for _ in range(2):
        assert run(parent, **given).notes == (note,)


@pytest.mark.parametrize(
    ("parent", "given", "note"),
    [
        ({}, {"required_env": ["A_KEY"]}, "A_KEY: set it in the environment, or give it in an env_file"),
        ({}, {"required_env": ["A"], "env": {"A": "$X"}}, "A: set X in the environment, and declare the tool again"),
        ({"PW": "vault:x"}, {"required_env": ["PW"]}, "PW: nothing resolved this reference; start this command by `mcc-jupyter launch`"),
    ],
)
def test_where_there_is_no_kernel_none_is_spoken_of(parent: dict[str, str], given: dict[str, object], note: str) -> None:
    assert run(parent, kernel=False, **given).notes == (note,)


def test_a_tool_that_lacks_nothing_is_told_nothing() -> None:
    assert run({"A": "x"}, required_env=["A"], optional_env=["B"]).notes == ()


def test_of_many_names_some_are_told_and_the_search_for_near_ones_is_bounded() -> None:
    parent = {f"NAME_{at:05}": "x" for at in range(10_000)}
    resolution = run(parent, required_env=[f"GONE_{at}" for at in range(100)])
    assert len(resolution.missing) == 100
    assert len(resolution.notes) == 8


@given(st.sampled_from(["op://a/b", "pass://s/t", "vault:z"]), st.sampled_from(["op://c/d", "keyring:k", "bws://q"]))
def test_SPEC_11_2_a_note_tells_no_scheme_of_a_value(one: str, other: str) -> None:
    notes = [run({"PW": value}, required_env=["PW"], env={"X": "$PW"}).notes for value in (one, other)]
    assert notes[0] == notes[1]


@pytest.mark.parametrize(
    ("parent", "given", "available"),
    [
        ({"A": "x"}, {}, True),
        ({"A": ""}, {}, False),
        ({"A": " "}, {}, True),
        ({"A": "op://vault/item"}, {}, False),
        ({}, {"env": {"A": "x"}}, True),
        ({"A": "x"}, {"env": {"A": ""}}, False),
        ({}, {"env": {"A": "${NOPE}"}}, False),
        ({}, {"env_file": "A=x\n"}, True),
        ({}, {"env_file": "A=\n"}, False),
    ],
    ids=["set", "empty", "blank", "unresolved", "env", "env empty", "env unresolved", "env_file", "env_file empty"],
)
def test_SPEC_4_5_a_required_name_needs_a_value_in_the_resolution_from_whichever_layer(
    parent: dict[str, str], given: dict[str, object], available: bool
) -> None:
    assert run(parent, required_env=["A"], **given).available is available


def test_SPEC_4_5_the_session_may_give_a_required_name() -> None:
    assert run({}, required_env=["MCC_CTX_ROLE"], session={"MCC_CTX_ROLE": "x"}).available
    assert not run({"MCC_CTX_ROLE": "x"}, required_env=["MCC_CTX_ROLE"]).available


def test_ENV_12_an_optional_name_never_matters_and_is_absent_when_unset() -> None:
    resolution = run({}, optional_env=["TEAM", "MINE:THEIRS"])
    assert resolution.available
    assert (resolution.notice, resolution.reasons) == (None, ())
    assert resolution.environ() == {}
    assert resolution.unset == grants("TEAM", "MINE:THEIRS")
    unresolved = run({"TEAM": "op://v/i"}, optional_env=["TEAM"])
    assert unresolved.available
    assert unresolved.unset == ()
    assert unresolved.environ() == {}


# ---- SPEC 4.4: more of it in test_dotenv


def test_a_class_of_an_env_file_value_comes_from_classes() -> None:
    parent = {"E": "", "S": "x", "U": "op://v/i"}
    text = "A=${E}\nB=${S}\nC=${U}\nD=op://${S}\nF=pre${U}\n"
    classes = {
        name: b.value_class for name, b in run(parent, passthrough=("E", "S", "U"), env_file=text).bindings.items()
    }
    unresolved = ValueClass.UNRESOLVED
    assert {name: classes[name] for name in "ABCDF"} == {
        "A": ValueClass.EMPTY, "B": ValueClass.SET, "C": unresolved, "D": unresolved, "F": unresolved,
    }  # fmt: skip


# ---- SPEC 4.7: runtime


def test_a_function_gets_its_cwd_and_then_the_lower_PYTHONPATH() -> None:
    assert run({}, body=FN).environ() == {"PYTHONPATH": "/w"}
    assert run({"PYTHONPATH": "/p"}, body=FN).environ() == {"PYTHONPATH": "/w"}
    passed = run({"PYTHONPATH": "/p"}, body=FN, passthrough=("PYTHONPATH",))
    assert passed.environ() == {"PYTHONPATH": "/w:/p"}
    assert why(passed, "PYTHONPATH") == "runtime: cwd (shadows passthrough)"
    assert run({}, body=FN, env={"PYTHONPATH": ""}).environ() == {"PYTHONPATH": "/w"}
    assert run({}).environ() == {}


# ---- SPEC 4.8: nobody can spoof the session

WAYS: dict[str, dict[str, object]] = {
    "env": {"env": dict.fromkeys(SPOOF, "evil")},
    "env_file": {"env_file": "".join(f"{name}=evil\n" for name in SPOOF)},
    "passthrough true": {"passthrough": True},
    "pattern": {"passthrough": ("MCC_*",)},
    "exact names": {"passthrough": SPOOF},
    "required_env": {"required_env": list(SPOOF)},
    "optional_env": {"optional_env": list(SPOOF)},
    "renamed": {"optional_env": [f"{name}:EVIL" for name in SPOOF]},
    "reference": {"transform": Shell("x", "x", tuple(Reference(name, "evil") for name in SPOOF))},
    "floor": {"floor": SPOOF},
}


@pytest.mark.parametrize("body", [Shell("x", "x"), FN], ids=["exec", "fn"])
@pytest.mark.parametrize("given", WAYS.values(), ids=WAYS)
def test_ENV_05_a_tool_cannot_spoof_an_identity_even_one_the_session_lacks(
    given: dict[str, object], body: Shell | Function
) -> None:
    outer = {**dict.fromkeys(SPOOF, "evil"), "EVIL": "evil", "PATH": "/b"}
    session = {"MCC_CTX_USER": "ana"}
    resolution = run(outer, body=body, session=session, **given)
    reserved = {name: value for name, value in resolution.environ().items() if names.is_reserved(name)}
    assert reserved == session
    assert set(resolution.refused) == set(SPOOF)
    states = {row.name: str(row.state) for row in report(make(), resolution).rows if row.name != "MCC_CTX_USER"}
    assert {states[name] for name in SPOOF if name != "MCC_CTX_USER"} == {"refused"}


def test_ENV_20_a_kernel_that_was_itself_started_as_a_tool_hands_nothing_of_it_on() -> None:
    outer = {"MCC_CTX": "{}", "MCC_CTX_USER": "outer", "PATH": "/b"}
    assert run(outer, session={}).environ() == {"PATH": "/b"}
    assert run(outer, session={}).refused == {}
    everything = run(outer, session={"MCC_CTX_USER": "mine"}, passthrough=True)
    assert everything.environ() == {"PATH": "/b", "MCC_CTX_USER": "mine"}
    assert everything.refused["MCC_CTX"] == Provenance(Source.PASSTHROUGH, "true")
    assert withheld(everything, make(), outer) == ()


def test_session_rows_tell_identity_from_what_the_notebook_stashed() -> None:
    resolution = run({}, session={"MCC_CTX_USER": "u", "MCC_CTX_ROLE": "r", "MCC_CTX": "{}"})
    assert {name: why(resolution, name) for name in resolution.bindings} == {
        "MCC_CTX_USER": "session: identity",
        "MCC_CTX_ROLE": "session: session",
        "MCC_CTX": "session: session",
    }


def test_SPEC_6_5_a_store_too_large_is_told_and_goes_by_a_file() -> None:
    context = Context(variables={"MCC_CTX_A": "1"}, oversized=("MCC_CTX_B", "MCC_CTX_C"), document=b"{}")
    resolution = resolve(make(), parent={}, floor=(), context=context)
    assert list(resolution.bindings) == ["MCC_CTX_A", "MCC_SESSION_FILE"]
    assert resolution.notes == (
        "too large for an environment variable, or not fit to be one; in MCC_SESSION_FILE instead: MCC_CTX_B, MCC_CTX_C",
    )
    assert resolution.available


def test_an_empty_session_value_is_a_value_and_not_flagged() -> None:
    assert run({}, session={"MCC_CTX_A": ""}).bindings["MCC_CTX_A"].flags == ()


# ---- SPEC 4.9: provenance, and no value


def test_no_representation_holds_a_value() -> None:
    secret = "s3cret-value"
    parent = {"A": secret, "B": secret, "PATH": secret}
    tool = make(parent, passthrough=True, env={"C": f"{secret} ${{A}}"}, required_env=["B"])
    resolution = resolve(tool, parent=parent, floor=DEFAULT_FLOOR, context=Context(variables={"MCC_CTX_A": secret}))
    assert set(resolution.environ().values()) == {secret, f"{secret} {secret}"}
    for shown in (tool, resolution, *resolution.bindings.values(), Context({"MCC_CTX_A": secret}), resolution.notes):
        assert secret not in repr(shown)


def test_the_rule_of_an_env_entry_is_its_references_or_literal() -> None:
    resolution = run({"A": "1", "B": "2"}, env={"X": "${A}${B}$A", "Y": "text", "Z": "${NOPE}$A"})
    assert [why(resolution, name) for name in "XYZ"] == ["env: ${A} ${B}", "env: literal", "env: ${A} ${NOPE}"]


@pytest.mark.parametrize(
    ("value", "flags"),
    [("", ("empty",)), (" ", ("blank",)), ("x", ()), ("op://v/i", ()), ("x" * VARIABLE_LIMIT, ("oversized",))],
    ids=["empty", "blank", "set", "unresolved", "oversized"],
)
def test_value_classes_are_flags(value: str, flags: tuple[str, ...]) -> None:
    for asked in ({"passthrough": ("A",)}, {"floor": ("A",)}):
        resolution = run({"A": value}, **asked)
        assert {**resolution.bindings, **resolution.withdrawn}["A"].flags == flags


# ---- SPEC 8.1: what is secret


def test_what_is_secret_depends_on_source_and_name() -> None:
    parent = {"PATH": "p", "TOKEN": "t", "AWS_REGION": "r", "GRANTED": "g", "OPEN": "o", "NEVER": "n"}
    resolution = run(
        parent,
        passthrough=("TOKEN", "AWS_*", "NEVER"),
        required_env=["GRANTED"],
        env_file="FILED=f\n",
        env={"LITERAL": "l", "REFERRED": "${OPEN}", "LOG_LEVEL": "${OPEN}"},
        never_redact=frozenset({"NEVER"}),
    )
    assert {name for name, binding in resolution.bindings.items() if binding.secret} == {
        "TOKEN", "GRANTED", "FILED", "REFERRED",
    }  # fmt: skip


# ---- SPEC 5.1: availability


def test_all_reasons_at_once_and_in_one_notice() -> None:
    tool = make(
        {"B": "op://v/i"},
        groups=("data", "ops"),
        required_env=["A", "B"],
        env={"C": "pass://x/y"},
        env_files=(EnvFile("gone.env", "/w/gone.env"),),
    )
    resolution = resolve(
        tool,
        parent={"B": "op://v/i"},
        floor=(),
        files=(dotenv.Unreadable("env_file not found: gone.env (looked in /w)"),),
        groups=frozenset({"x"}),
    )
    assert [reason.code for reason in resolution.reasons] == [
        "not granted",
        "missing",
        "unresolved reference",
        "env_file",
    ]
    assert resolution.notice == (
        "Tool 't' is unavailable; not granted: it is for data or ops; missing required environment: A; "
        "unresolved reference in: B, C; env_file not found: gone.env (looked in /w)"
    )


UNRESOLVED = {
    "required_env": ({"A": "op://v/i"}, {"required_env": ["A"]}, "A"),
    "renamed": ({"B": "op://v/i"}, {"required_env": ["A:B"]}, "A"),
    "env literal": ({}, {"env": {"A": "pass://v/i"}}, "A"),
    "env reference": ({"B": "op://v/i"}, {"env": {"A": "https://u:${B}@h"}}, "A"),
    "env_file": ({}, {"env_file": "A=vault:x\n"}, "A"),
    "reference": ({}, {"body": Shell("x", "x", (Reference("A", "op://v/i"),))}, "A"),
    "floor": ({"PATH": "op://v/i"}, {}, None),
    "passthrough": ({"A": "op://v/i"}, {"passthrough": ("A",)}, None),
    "optional_env": ({"A": "op://v/i"}, {"optional_env": ["A"]}, None),
    "env refers to what is unset": ({}, {"env": {"A": "${NOPE}"}}, None),
    "shadowed": ({"A": "op://v/i"}, {"required_env": ["A"], "env": {"A": "x"}}, None),
}


@pytest.mark.parametrize(("parent", "given", "name"), UNRESOLVED.values(), ids=UNRESOLVED)
def test_an_unresolved_reference_counts_where_the_tool_asked_for_the_name(
    parent: dict[str, str], given: dict[str, object], name: str | None
) -> None:
    codes = {reason.code: reason.text for reason in run(parent, **given).reasons}
    expected = None if name is None else f"unresolved reference in: {name}"
    assert codes.get("unresolved reference") == expected


SECRET_STORES = ["pass://Work/Linear/key", "op://v/i/f", "vault:kv/x", "vault://kv/x", "keyring:s/u", "ref+awsssm://x"]


@pytest.mark.parametrize("value", SECRET_STORES)
def test_SPEC_5_1_a_reference_that_nothing_resolved_never_reaches_a_tool(value: str) -> None:
    parent = {"HOME": value, "A": value, "B": value, "PATH": "/bin", "PYTHONPATH": value}
    everywhere: list[dict[str, object]] = [
        {"passthrough": ("A", "B*")},
        {"passthrough": True, "body": FN},
        {"optional_env": ["A", "C:B"]},
        {"required_env": ["A"]},
        {"env": {"X": "$A"}},
        {"env": {"X": "$A and $GONE"}},
        {"env": {"X": value}},
        {"env_file": f"X={value}\n"},
        {"passthrough": ("A",), "env_file": "X=-${A}-\n"},
        {"secret_files": {"X": bake("$A", parent)}},
        {"body": Shell("x", "x", (Reference("A", value),))},
        {"transform": Shell("x", "x", (Reference("A", value),))},
        {"references": (Reference("A", value),)},
    ]
    for asked in everywhere:
        resolution = run(parent, **asked)
        assert not resolution.available or not any(value in held for held in resolution.environ().values()), asked


def test_SPEC_5_1_what_is_withdrawn_is_told_and_needs_no_one() -> None:
    parent = {"HOME": "op://v/i", "A": "op://v/i", "B": "op://v/i", "C": "op://v/i"}
    tool = make(parent, passthrough=("A",), optional_env=["X:B"])
    resolution = resolve(tool, parent=parent, floor=DEFAULT_FLOOR)
    assert (resolution.available, resolution.environ()) == (True, {})
    assert sorted(resolution.withdrawn) == ["A", "HOME", "X"]
    todo = "nothing resolved this reference; start the kernel by `mcc-jupyter launch`"
    assert resolution.notes == (f"A: {todo}", f"HOME: {todo}", f"X: {todo}")
    assert [(row.name, row.source, str(row.state)) for row in report(tool, resolution).rows] == [
        ("HOME", "floor", "unresolved"), ("A", "passthrough", "unresolved"), ("X", "grant", "unresolved"),
    ]  # fmt: skip
    assert withheld(resolution, tool, parent) == ("B", "C")


def test_SPEC_5_1_an_optional_name_that_nothing_resolved_leaves_what_lies_below() -> None:
    parent = {"HOME": "/home/u", "B": "op://v/i"}
    resolution = run(parent, optional_env=["HOME:B"])
    assert (resolution.environ(), resolution.withdrawn) == ({"HOME": "/home/u"}, {})
    assert run({"A": "op://v/i"}, optional_env=["A"], env={"A": "x"}).environ() == {"A": "x"}


def test_SPEC_5_1_a_reference_of_another_field_is_told_by_the_name_it_refers_to() -> None:
    used = (Reference("A", "op://v/i"), Reference("B", "op://v/i"), Reference("C", "plain"))
    both = run({"A": "op://v/i"}, references=used, env={"X": "$A"})
    assert both.notice == "Tool 't' is unavailable; unresolved reference in: X, B"


def test_the_notice_does_not_depend_on_the_order_of_the_parent() -> None:
    parent = {"B": "op://x/y", "A": "op://x/y"}
    given = {"passthrough": ("A", "B"), "env": {"A": "op://x/y", "B": "op://x/y"}}
    assert run(parent, **given).notice == run(dict(reversed(parent.items())), **given).notice


@pytest.mark.parametrize(
    ("groups", "caller", "expected"),
    [
        (("public",), frozenset(), True),
        ((), frozenset(), True),
        (("data",), None, True),
        (("data",), frozenset(), False),
        (("data",), frozenset({"ops"}), False),
        (("data",), frozenset({"data", "ops"}), True),
        (("data", "public"), frozenset(), True),
        (("data",), frozenset({"admin"}), True),
        (("admin",), frozenset({"data"}), False),
    ],
)
def test_SPEC_6_6_access_is_by_group(groups: tuple[str, ...], caller: frozenset[str] | None, expected: bool) -> None:
    assert may_call(groups, caller) is expected
    resolution = (
        run({}, groups=caller) if not groups else resolve(make(groups=groups), parent={}, floor=(), groups=caller)
    )
    assert resolution.available is expected


def test_a_refusal_says_whom_the_tool_is_for() -> None:
    resolution = resolve(make(groups=("data",)), parent={}, floor=(), groups=frozenset())
    assert resolution.notice == "Tool 't' is unavailable; not granted: it is for data"
    assert [reason.code for reason in resolution.reasons] == ["not granted"]


# ---- laws

NAMES = st.sampled_from(
    ["A", "B", "PATH", "AWS_KEY", "AWS_REGION", "LD_PRELOAD", "MCC_CTX", "MCC_CTX_ROLE", "PYTHONPATH"]
)
VALUES = st.sampled_from(["", " ", "x", "y", "() { :; }", "op://v/i", "()x"])
ENVIRONMENTS = st.dictionaries(NAMES, VALUES, max_size=7)
TEXTS = st.sampled_from(["", "x", "${A}", "pre-$B-post", "${NOPE}", "op://v/i", "${AWS_KEY:-d}"])


@st.composite
def tools(draw: st.DrawFn, parent: Mapping[str, str]) -> Tool:
    listed = draw(st.lists(NAMES, unique=True, max_size=4))
    cut = draw(st.integers(0, len(listed)))
    return make(
        parent,
        passthrough=draw(st.sampled_from([(), True, ("AWS_*",), ("*",), ("A", "L*"), ("MCC_*",)])),
        required_env=listed[:cut],
        optional_env=[f"{name}:{draw(NAMES)}" for name in listed[cut:]],
        env=draw(st.dictionaries(NAMES, TEXTS, max_size=3)),
        env_files=(EnvFile(".env", "/w/.env"),),
        body=draw(st.sampled_from([Shell("x", "x"), Shell("x", "x", (Reference("B", "then"),)), FN])),
    )


FILES = st.lists(st.tuples(NAMES, TEXTS), max_size=4).map(
    lambda lines: (dotenv.parse("".join(f"{name}={text}\n" for name, text in lines), path=".env"),)
)
SESSIONS = st.dictionaries(st.sampled_from(["MCC_CTX", "MCC_CTX_USER", "MCC_CTX_ROLE"]), VALUES)


@given(st.data(), ENVIRONMENTS, FILES, SESSIONS)
def test_the_session_wins_over_everything(
    data: st.DataObject, parent: dict[str, str], files: tuple[dotenv.Dotenv], session: dict[str, str]
) -> None:
    tool = data.draw(tools(parent))
    resolution = resolve(tool, parent=parent, floor=DEFAULT_FLOOR, files=files, context=Context(session))
    found = {name: value for name, value in resolution.environ().items() if names.is_reserved(name)}
    assert found == session


@given(st.data(), ENVIRONMENTS, FILES)
def test_what_a_tool_gets_does_not_depend_on_what_its_parent_was_before(
    data: st.DataObject, parent: dict[str, str], files: tuple[dotenv.Dotenv]
) -> None:
    tool = data.draw(tools(parent))
    change = st.dictionaries(NAMES, st.one_of(VALUES, st.none()), min_size=1, max_size=2)
    for changed in data.draw(st.lists(change, min_size=2, max_size=4)):
        again = resolve(tool, parent=parent, floor=DEFAULT_FLOOR, files=files)
        anew = resolve(replace(tool), parent=parent, floor=DEFAULT_FLOOR, files=files)
        assert again == anew
        assert list(again.bindings) == list(anew.bindings)
        parent = {name: value for name, value in {**parent, **changed}.items() if value is not None}


@given(st.data(), ENVIRONMENTS, FILES)
def test_adding_a_grant_removes_no_name(
    data: st.DataObject, parent: dict[str, str], files: tuple[dotenv.Dotenv]
) -> None:
    tool, name = data.draw(tools(parent)), data.draw(NAMES)
    patterns = () if tool.passthrough is True else tool.passthrough
    # A shell function passes when it is named, so that `true` in the place of its name is no addition.
    only_globs = all(map(names.has_wildcard, patterns))
    more = data.draw(
        st.sampled_from(
            [
                {"passthrough": True if tool.passthrough is True or only_globs else (*patterns, "*")},
                {"passthrough": tool.passthrough if tool.passthrough is True else (*patterns, name)},
                {"required_env": (*tool.required_env, Grant(name, name))},
                {"optional_env": (*tool.optional_env, Grant(name, name))},
            ]
        )
    )
    narrow = resolve(tool, parent=parent, floor=DEFAULT_FLOOR, files=files)
    wide = resolve(replace(tool, **more), parent=parent, floor=DEFAULT_FLOOR, files=files)
    assert narrow.bindings.keys() <= wide.bindings.keys()


@given(st.data(), ENVIRONMENTS, FILES)
def test_nothing_reaches_the_child_that_no_rule_let_in(
    data: st.DataObject, parent: dict[str, str], files: tuple[dotenv.Dotenv]
) -> None:
    tool = data.draw(tools(parent))
    resolution = resolve(tool, parent=parent, floor=DEFAULT_FLOOR, files=files)
    patterns = ("*",) if tool.passthrough is True else tool.passthrough
    for name, binding in resolution.bindings.items():
        assert {
            Source.FLOOR: lambda name: name in DEFAULT_FLOOR,
            Source.PASSTHROUGH: lambda name: names.first_match(patterns, name) is not None,
            Source.GRANT: lambda name: name in {grant.child for grant in (*tool.required_env, *tool.optional_env)},
            Source.REFERENCE: lambda name: name == "B",
            Source.ENV_FILE: lambda name: name in {entry.name for entry in files[0].entries},
            Source.ENV: lambda name: name in tool.env,
            Source.RUNTIME: lambda name: name == "PYTHONPATH" and tool.kind == "fn",
        }[binding.provenance.source](name)
        assert binding.provenance not in binding.shadows


def test_a_report_has_no_field_for_a_value() -> None:
    from mcc_jupyter.core import report as module

    for shown in (module.Row, module.Shadow, module.Report, module.MatrixRow, module.Matrix):
        assert "value" not in {field.name for field in fields(shown)}
