"""The policy file, read → what a workspace may use: profiles, workspaces, skills, exposure, narrowing (SPEC 9.2–9.5)."""

from __future__ import annotations

import posixpath
import tomllib
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcc_jupyter.core.authority import (
    Access,
    Authority,
    PolicyTool,
    Profile,
    Rule,
    Workspace,
    access,
    cell_cap,
    expand,
    exposed,
    matches,
    narrowed,
    project,
    secret_names,
    shown_to,
    skills,
)
from mcc_jupyter.core.authority_reading import read_policy
from mcc_jupyter.core.cap import Cap
from mcc_jupyter.core.declare import Place
from mcc_jupyter.core.errors import PolicyError
from mcc_jupyter.core.tool import DEFAULT_FLOOR, Origin

TEAM = """
[tools.linear]
type = "workspace"
skills = ["linear", "shared"]
required_env = ["LINEAR_API_KEY"]
optional_env = {TEAM = "LINEAR_TEAM_KEY", KEY = "LINEAR_API_KEY"}

[tools.log]
exec = "git log"
skills = ["git", "shared"]
required_env = ["GITHUB_TOKEN"]

[tools.deploy]
exec = "./deploy"
required_env = ["DEPLOY_KEY"]
expose_env_to_workspace = true
project_per_workspace = true
enabled = true

[profiles.base]
tools = ["linear"]
skills = ["plain", "git"]
[profiles.dev]
includes = ["base"]
tools = ["log", "linear"]
skills = ["more", "plain"]
[profiles.ops]
includes = ["base", "dev"]
tools = ["deploy"]

[workspaces."*"]
profiles = ["base"]
[workspaces."reports/**/*.ipynb"]
profiles = ["dev"]
[workspaces.ops]
profiles = ["ops"]
users = ["olga"]
groups = ["operators"]

[grants]
allow = ["AWS_*"]
deny = ["AWS_SECRET*", "DEPLOY_KEY"]
"""
FOLDER = "/srv/team"


def read(text: str) -> Authority:
    found = read_policy(tomllib.loads(text), Place({}, DEFAULT_FLOOR, FOLDER, None, Origin("policy", "mcc.toml")))
    assert isinstance(found, Authority)
    return found


def has(authority: Authority, workspace: str, *, user: str = "ana", groups: frozenset[str] | None = frozenset()) -> Access:
    return access(authority, Workspace.of(workspace), user=user, groups=groups)


def everything(_: PolicyTool) -> bool:
    return True


def but(*names: str) -> Callable[[PolicyTool], bool]:
    """All tools are available but these."""
    return lambda item: item.tool.name not in names


# ---- profiles


def test_includes_come_first_in_their_order_and_of_duplicates_the_first_stays() -> None:
    assert expand(read(TEAM), ["ops"]) == (("linear", "log", "deploy"), ("plain", "git", "more"))
    assert expand(read(TEAM), ["dev"]) == (("linear", "log"), ("plain", "git", "more"))
    assert expand(read(TEAM), []) == ((), ())


@pytest.mark.parametrize(
    ("profiles", "wanted", "tools"),
    [
        ({"a": "1", "b": "2"}, "ab", "12"),
        ({"a": "1", "b": "2"}, "ba", "21"),
        ({"a": "c:1", "b": "c:2", "c": "3"}, "ab", "312"),
        ({"a": "cb:1", "b": "2", "c": "b:3"}, "a", "231"),
        ({"a": "b:1", "b": "c:12", "c": "31"}, "a", "312"),
        ({"a": "1"}, "aa", "1"),
    ],
)
def test_profiles_compose_in_the_order_they_expand(profiles: dict[str, str], wanted: str, tools: str) -> None:
    parts = {name: text.rpartition(":") for name, text in profiles.items()}
    authority = Authority("mcc.toml", "/", profiles={name: Profile(tuple(left), tuple(right)) for name, (left, _, right) in parts.items()})

    assert "".join(expand(authority, wanted)[0]) == tools


# ---- workspaces


@pytest.mark.parametrize(
    ("pattern", "workspace", "expected"),
    [
        ("*", "", True),
        ("**", "", True),
        ("*", "ops", True),
        ("*", "/anywhere/a.ipynb", True),
        ("ops", "ops", True),
        ("ops", "ops2", False),
        ("ops", "OPS", False),
        ("ops", "", False),
        ("ops", "/srv/team/ops", True),
        ("ops", "/srv/ops", False),
        ("op?", "ops", True),
        ("op[!a]", "ops", True),
        ("?*", "", False),
        ("a.ipynb", "/srv/team/a.ipynb", True),
        ("a.ipynb", "/srv/team/b/a.ipynb", False),
        ("*.ipynb", "/srv/team/a.ipynb", True),
        ("*.ipynb", "/srv/team/b/a.ipynb", False),
        ("*.ipynb", "/srv/a.ipynb", False),
        ("**/*.ipynb", "/srv/team/a.ipynb", True),
        ("**/*.ipynb", "/srv/team/b/c/a.ipynb", True),
        ("reports/**", "/srv/team/reports/b/a.ipynb", True),
        ("reports/", "/srv/team/reports", True),
        ("reports/**", "/srv/team/reportsX/a.ipynb", False),
        ("../other/*.ipynb", "/srv/other/a.ipynb", True),
        ("/home/*/ops/*.ipynb", "/home/ana/ops/a.ipynb", True),
        ("/home/*/ops/*.ipynb", "/home/ana/x/ops/a.ipynb", False),
        ("/home/**/ops/*.ipynb", "/home/ana/x/ops/a.ipynb", True),
        ("/x.y", "/xzy", False),
        ("/a[0-9].ipynb", "/a7.ipynb", True),
        ("/a[!0-9].ipynb", "/a7.ipynb", False),
        ("/a[!0-9]b", "/a/b", False),
        ("/a?b", "/a/b", False),
        ("/a\n*", "/a\nb", True),
        ("/home/*", "ops", False),
        ("/srv/team/a.ipynb", "/srv/team/../team/a.ipynb", True),
    ],
)
def test_a_workspace_is_matched_by_its_name_or_its_notebook_s_path(pattern: str, workspace: str, expected: bool) -> None:
    assert matches(pattern, Workspace.of(workspace), FOLDER) is expected


def test_a_workspace_is_a_path_or_a_name() -> None:
    assert Workspace.of("/a/../b.ipynb") == Workspace(path="/b.ipynb")
    assert Workspace.of("ops") == Workspace(name="ops")
    assert [str(Workspace.of(text)) for text in ("/b.ipynb", "ops", "")] == ["/b.ipynb", "ops", ""]


def test_a_workspace_has_what_all_matching_rules_say_in_the_order_of_the_file() -> None:
    authority = read(TEAM)

    assert has(authority, "").profiles == ("base",)
    assert has(authority, "/srv/team/reports/q/a.ipynb").profiles == ("base", "dev")
    assert has(authority, "/srv/team/reports/q/a.ipynb").tools == ("linear", "log")
    assert has(authority, "/elsewhere/reports/a.ipynb").tools == ("linear",)


def test_what_no_matching_rule_says_nobody_has() -> None:
    authority = read(TEAM.replace('[workspaces."*"]\nprofiles = ["base"]', ""))

    for workspace in ("", "other", "/home/ana/a.ipynb"):
        assert has(authority, workspace) == Access(Workspace.of(workspace), (), (), (), Cap(("AWS_*",), ("AWS_SECRET*", "DEPLOY_KEY")))
    assert has(Authority("mcc.toml", "/"), "x") == Access(Workspace("x"), (), (), (), Cap())


@pytest.mark.parametrize(
    ("users", "groups", "user", "caller", "expected"),
    [
        ((), (), "ana", frozenset(), True),
        (("olga",), (), "olga", frozenset(), True),
        (("olga",), (), "ana", frozenset(), False),
        (("olga",), (), "ana", frozenset({"admin"}), False),
        (("olga",), (), "ana", None, False),
        ((), ("data",), "ana", frozenset({"data", "x"}), True),
        ((), ("data",), "ana", frozenset({"x"}), False),
        ((), ("data",), "ana", frozenset({"admin"}), True),
        ((), ("data",), "ana", None, True),
        ((), ("public",), "ana", frozenset(), True),
        (("olga",), ("data",), "ana", frozenset({"data"}), True),
        (("olga",), ("data",), "olga", frozenset(), True),
        (("olga",), ("data",), "ana", frozenset(), False),
    ],
)
def test_a_rule_may_be_for_some_users_or_groups(
    users: tuple[str, ...], groups: tuple[str, ...], user: str, caller: frozenset[str] | None, expected: bool
) -> None:
    authority = Authority("mcc.toml", "/", profiles={"p": Profile()}, workspaces=(Rule("*", ("p",), users, groups),))

    assert (has(authority, "", user=user, groups=caller).profiles == ("p",)) is expected


def test_the_cap_is_the_file_s_grants_and_nothing_where_there_are_none() -> None:
    assert has(read(TEAM), "").cap == Cap(("AWS_*",), ("AWS_SECRET*", "DEPLOY_KEY"))
    assert has(read(""), "").cap == Cap()


# ---- skills


def test_a_companion_skill_comes_with_its_tool_and_leaves_with_it() -> None:
    authority = read(TEAM)
    granted = has(authority, "ops", user="olga")

    assert skills(authority, granted, everything) == {"linear": "linear", "shared": "linear", "git": "log", "plain": None, "more": None}
    assert skills(authority, granted, but("log")) == {"linear": "linear", "shared": "linear", "plain": None, "more": None}
    assert skills(authority, granted, but("linear")) == {"git": "log", "shared": "log", "plain": None, "more": None}


def test_naming_a_companion_skill_in_a_profile_grants_nothing() -> None:
    authority = read(TEAM)
    granted = has(authority, "")

    assert expand(authority, ["base"])[1] == ("plain", "git")
    assert granted.skills == ("plain",)
    assert "git" not in skills(authority, granted, everything)
    assert "log" not in granted.tools


def test_each_companion_skill_is_listed_with_its_tools() -> None:
    assert read(TEAM).companions == {"linear": ("linear",), "shared": ("linear", "log"), "git": ("log",)}


# ---- exposure


def test_names_go_to_the_workspace_where_a_granted_and_available_tool_exposes_them() -> None:
    authority = read(TEAM)
    granted = has(authority, "ops", user="olga")

    assert exposed(authority, granted, everything) == ("LINEAR_API_KEY", "LINEAR_TEAM_KEY", "DEPLOY_KEY")
    assert exposed(authority, granted, but("linear")) == ("DEPLOY_KEY",)
    assert exposed(authority, has(authority, ""), everything) == ("LINEAR_API_KEY", "LINEAR_TEAM_KEY")
    assert "GITHUB_TOKEN" not in exposed(authority, granted, everything)


def test_cells_may_ask_for_what_is_exposed_but_not_for_what_is_denied() -> None:
    authority = read(TEAM)
    granted = has(authority, "ops", user="olga")
    cap = cell_cap(authority, granted, everything)

    assert cap.allow == ("AWS_*", "LINEAR_API_KEY", "LINEAR_TEAM_KEY", "DEPLOY_KEY")
    assert [cap.allows(name) for name in ("LINEAR_API_KEY", "AWS_REGION", "DEPLOY_KEY", "AWS_SECRET_KEY", "GITHUB_TOKEN")] == [True, True, False, False, False]
    assert cell_cap(authority, has(authority, ""), but("linear")) == granted.cap


# ---- project


@pytest.mark.parametrize(
    ("workspace", "expected"),
    [
        ("", None),
        ("ops", "ops"),
        ("/srv/team/reports/a.ipynb", "reports/a"),
        ("/srv/teamwork/a.ipynb", "/srv/teamwork/a"),
        ("/srv/team/notes.md", "notes.md"),
    ],
)
def test_a_project_is_the_workspace_s_own_name(workspace: str, expected: str | None) -> None:
    authority = read(TEAM.replace('profiles = ["base"]', 'profiles = ["ops"]', 1))

    assert project(authority, has(authority, workspace)) == expected


def test_a_project_needs_a_granted_tool_that_asks_for_it_and_is_switched_on() -> None:
    assert project(read(TEAM), has(read(TEAM), "other")) is None
    off = read(TEAM.replace("enabled = true", "enabled = false"))
    assert project(off, has(off, "ops", user="olga")) is None
    assert project(read(TEAM), has(read(TEAM), "ops", user="olga")) == "ops"


# ---- narrowing


def test_using_a_profile_drops_every_tool_it_has_not() -> None:
    authority = read(TEAM)
    granted = has(authority, "ops", user="olga")
    base = narrowed(authority, granted, ["base"])

    assert (base.tools, base.skills, base.dropped) == (("linear",), ("plain",), ("log", "deploy"))
    assert narrowed(authority, base, ["ops"]) == base
    assert narrowed(authority, granted, ["base", "dev"]).dropped == ("deploy",)
    assert narrowed(authority, base, []).dropped == ("log", "deploy", "linear")
    assert exposed(authority, base, everything) == ("LINEAR_API_KEY", "LINEAR_TEAM_KEY")


def test_a_profile_that_the_workspace_was_not_given_gives_it_nothing() -> None:
    authority = read(TEAM)

    assert narrowed(authority, has(authority, ""), ["ops"]).tools == ("linear",)


def test_an_unknown_profile_is_an_error_with_a_near_match() -> None:
    authority = read(TEAM)
    with pytest.raises(PolicyError) as near:
        narrowed(authority, has(authority, ""), ["base", "bsae"])
    assert str(near.value) == "mcc.toml: there is no profile 'bsae' (did you mean `base`?); `%mcc_policy` lists them"
    with pytest.raises(PolicyError) as far:
        narrowed(authority, has(authority, ""), ["something else"])
    assert str(far.value) == "mcc.toml: there is no profile 'something else'; `%mcc_policy` lists them"


TOOLS = [f"t{at}" for at in range(5)]
PROFILES = [f"p{at}" for at in range(5)]


@st.composite
def authorities(draw: Callable[..., object]) -> Authority:
    """Profiles that include later ones, so that there is no cycle, and rules for some workspaces."""

    def some(of: list[str]) -> tuple[str, ...]:
        return tuple(draw(st.lists(st.sampled_from(of), unique=True, max_size=3))) if of else ()  # type: ignore[call-overload]

    lines = [f'[tools.{name}]\ntype = "workspace"\nrequired_env = ["{name.upper()}"]\nskills = ["of-{name}"]\n' for name in TOOLS]
    skill_names = [f"of-{name}" for name in TOOLS[:3]] + ["s1", "s2"]
    for at, name in enumerate(PROFILES):
        lines.append(f"[profiles.{name}]\nincludes = {list(some(PROFILES[at + 1:]))}\ntools = {list(some(TOOLS))}\nskills = {list(some(skill_names))}\n")
    lines += [f'[workspaces."{pattern}"]\nprofiles = {list(some(PROFILES))}\n' for pattern in ("*", "a", "b")]
    return read("".join(lines))


@given(authorities(), st.sampled_from(["a", "b", "c"]), st.lists(st.lists(st.sampled_from(PROFILES), max_size=3), max_size=3), st.sets(st.sampled_from(TOOLS)))
def test_whatever_narrows_an_access_adds_nothing(authority: Authority, workspace: str, uses: list[list[str]], gone: set[str]) -> None:
    available = but(*gone)
    before = first = has(authority, workspace)
    for use in uses:
        after = narrowed(authority, before, use)
        assert set(after.tools) == set(before.tools) & set(expand(authority, use)[0])
        assert set(after.skills) <= set(before.skills)
        assert skills(authority, after, available).keys() <= skills(authority, before, available).keys()
        assert set(exposed(authority, after, available)) <= set(exposed(authority, before, available))
        narrow, wide = cell_cap(authority, after, available), cell_cap(authority, before, available)
        assert all(wide.allows(name) for name in map(str.upper, TOOLS) if narrow.allows(name))
        assert set(after.tools) | set(after.dropped) == set(first.tools)
        before = after


@given(authorities(), st.sampled_from(["a", "b", "c"]))
def test_no_skill_comes_without_its_tool(authority: Authority, workspace: str) -> None:
    granted = has(authority, workspace)
    found = skills(authority, granted, everything)
    companions = authority.companions

    assert all((tool in granted.tools) if skill in companions else tool is None for skill, tool in found.items())
    assert all(set(companions[skill]) & set(granted.tools) for skill in found if skill in companions)


def test_a_path_pattern_begins_at_the_policy_file_s_folder() -> None:
    authority = replace(read(TEAM), folder="/other")

    assert has(authority, "/srv/team/reports/a.ipynb").profiles == ("base",)
    assert has(authority, posixpath.join("/other", "reports/a.ipynb")).profiles == ("base", "dev")


# ---- who may see what of it, and what its tools are given

SEEN = """
[profiles.base]
[profiles.more]
[profiles.dev]
includes = ["base", "more"]
[profiles.ops]
includes = ["base"]
[profiles.unused]
[workspaces."*"]
profiles = ["dev"]
[workspaces."ops/**"]
profiles = ["ops"]
groups = ["ops"]
[workspaces."ana.ipynb"]
profiles = ["ops", "dev"]
users = ["ana"]
"""


@pytest.mark.parametrize(
    ("user", "groups", "patterns", "profiles"),
    [
        ("bob", frozenset(), ("*",), ("dev", "base", "more")),
        ("bob", frozenset({"ops"}), ("*", "ops/**"), ("dev", "base", "more", "ops")),
        ("bob", frozenset({"admin"}), ("*", "ops/**"), ("dev", "base", "more", "ops")),
        ("bob", None, ("*", "ops/**"), ("dev", "base", "more", "ops")),
        ("ana", frozenset(), ("*", "ana.ipynb"), ("dev", "base", "more", "ops")),
    ],
)
def test_a_user_is_shown_the_workspaces_that_are_for_the_user(user: str, groups: frozenset[str] | None, patterns: tuple[str, ...], profiles: tuple[str, ...]) -> None:
    found = shown_to(read(SEEN), user, groups)

    assert found == (patterns, profiles)


def test_the_names_of_all_tools_are_secret_but_the_floors_the_reserved_and_those_that_are_never_redacted() -> None:
    text = """
    env_floor = ["PATH", "SITE"]
    [tools.a]
    exec = "x"
    required_env = ["ONE", "HOME", "SITE", "AWS_REGION"]
    optional_env = {OTHER = "TWO"}
    enabled = false
    [tools.b]
    exec = "x"
    required_env = ["THREE", "FOUR", "MCC_WORKSPACE"]
    redact = {never = ["THREE", "FOUR"]}
    [tools.c]
    exec = "x"
    optional_env = {MINE = "FOUR"}
    """
    assert secret_names(read(text)) == ("ONE", "AWS_REGION", "TWO", "FOUR")
