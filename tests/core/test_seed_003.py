"""The document that the policy file comes from ("Tool Access and Secrets"), sentence by sentence, as far as core decides it.

Its complete example is in ``tests/data/mcc_seed_003.toml``, unchanged. What needs files, processes or a reload is tested in
``tests/runtime``.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from mcc_jupyter.core import authority as core
from mcc_jupyter.core import docker
from mcc_jupyter.core.authority import Access, Authority, PolicyTool, Workspace
from mcc_jupyter.core.authority_reading import read_policy
from mcc_jupyter.core.declare import Place
from mcc_jupyter.core.policy import resolve
from mcc_jupyter.core.report import report
from mcc_jupyter.core.resolution import Reason, Resolution
from mcc_jupyter.core.tool import DEFAULT_FLOOR, Origin

EXAMPLE = (Path(__file__).parents[1] / "data" / "mcc_seed_003.toml").read_text(encoding="utf-8")
MAIL = ("PYNCHY_PROTON_BRIDGE_USERNAME", "PYNCHY_PROTON_BRIDGE_PASSWORD_COMMAND")
PARENT = {
    "PATH": "/usr/bin",
    "UNRELATED_TOKEN": "value-of-unrelated",
    "LINEAR_API_KEY": "value-of-linear",
    "LINEAR_TEAM_KEY": "value-of-team",
    "GITHUB_TOKEN": "value-of-github",
    **dict.fromkeys(MAIL, "value-of-mail"),
}


def read(text: str = EXAMPLE) -> object:
    return read_policy(tomllib.loads(text), Place({}, DEFAULT_FLOOR, "/etc/mcc", None, Origin("policy", "mcc.toml")))


def example(**change: str) -> Authority:
    """The example; *change* maps a line of it, by a name, to nothing but what stands here."""
    text = EXAMPLE
    for old, new in change.items():
        assert CHANGES[old] in text
        text = text.replace(CHANGES[old], new)
    found = read(text)
    assert isinstance(found, Authority)
    return found


CHANGES = {
    "linear_exposed": "expose_env_to_workspace = true\n",
    "mail_hidden": "expose_env_to_workspace = false\n",
    "base_skills": 'skills = ["ponytail", "caveman"]',
    "linear_skills": 'skills = ["linear"]',
    "workspace": "[workspaces.ops]",
}


def problems(text: str) -> list[str]:
    found = read(text)
    assert isinstance(found, tuple)
    return [str(problem) for problem in found]


def has(authority: Authority, workspace: str = "ops") -> Access:
    return core.access(authority, Workspace.of(workspace), user="ana", groups=None)


def resolved(authority: Authority, name: str, parent: Mapping[str, str] = PARENT, refusal: Reason | None = None) -> Resolution:
    return resolve(authority.tools[name].tool, parent=parent, floor=DEFAULT_FLOOR, refusal=refusal)


def without(*names: str) -> dict[str, str]:
    return {name: value for name, value in PARENT.items() if name not in names}


def available(authority: Authority, parent: Mapping[str, str]):  # type: ignore[no-untyped-def]
    return lambda item: item.enabled and resolved(authority, item.tool.name, parent).available


def everything(_: PolicyTool) -> bool:
    return True


# ---- its first paragraph


def test_configure_tools_as_the_only_authority_for_provider_credentials_and_companion_skills() -> None:
    nothing = example(workspace="[workspaces.other]")

    assert (has(nothing).tools, has(nothing).skills, has(nothing).cap.allow) == ((), (), ())
    assert core.skills(nothing, has(nothing), everything) == {}


def test_this_limits_each_credential_to_the_process_that_needs_it() -> None:
    authority = example()

    assert {name: set(resolved(authority, name).environ()) - {"PATH"} for name in authority.tools} == {
        "linear": {"LINEAR_API_KEY", "LINEAR_TEAM_KEY"},
        "github-cli": {"GITHUB_TOKEN"},
        "proton-mail": set(MAIL),
    }


# ---- Define Tools


def test_declare_credential_names_and_companion_skills_on_the_tool() -> None:
    linear, github, mail = example().tools.values()

    assert (linear.names, linear.skills) == (("LINEAR_API_KEY", "LINEAR_TEAM_KEY"), ("linear",))
    assert (github.names, len(github.skills)) == (("GITHUB_TOKEN",), 5)
    assert (mail.names, mail.skills) == (MAIL, ("reading-proton-email",))


def test_store_credential_values_in_the_host_process_environment_not_in_toml() -> None:
    token = "ghp_" + "a" * 36

    assert problems(f'{EXAMPLE}\n[tools.x]\nexec = "true"\nenv = {{ TOKEN = "{token}" }}') == [
        "tools.x.env.TOKEN: looks like a credential; name a variable that holds it"
    ]


def test_required_env_controls_availability() -> None:
    assert [name for name in example().tools if resolved(example(), name).available] == ["linear", "github-cli", "proton-mail"]
    assert [name for name in example().tools if resolved(example(), name, {}).available] == []


@pytest.mark.parametrize("gone", [MAIL[:1], MAIL[1:], MAIL])
@pytest.mark.parametrize("how", ["unset", "empty"])
def test_the_tool_is_disabled_when_any_named_variable_has_no_value(gone: tuple[str, ...], how: str) -> None:
    parent = without(*gone) | ({} if how == "unset" else dict.fromkeys(gone, ""))

    assert resolved(example(), "proton-mail", parent).notice == (
        f"Tool 'proton-mail' is unavailable; missing required environment: {', '.join(gone)}"
    )


def test_optional_env_never_controls_availability_and_is_passed_when_it_has_a_value() -> None:
    with_it, without_it = resolved(example(), "linear"), resolved(example(), "linear", without("LINEAR_TEAM_KEY"))

    assert with_it.available
    assert without_it.available
    assert with_it.environ().keys() - without_it.environ().keys() == {"LINEAR_TEAM_KEY"}


def test_keep_non_secret_runtime_constants_in_the_server_s_env() -> None:
    found = read(EXAMPLE.replace("port = 8475", 'port = 8475\nenv = { BIND = "127.0.0.1" }'))

    assert isinstance(found, Authority)
    assert resolved(found, "proton-mail").environ()["BIND"] == "127.0.0.1"


def test_declare_secrets_with_required_env_or_optional_env_and_env_forward_is_not_supported() -> None:
    message = "there is no such thing; name each variable in the tool's required_env or optional_env"

    assert problems(EXAMPLE.replace("port = 8475", 'port = 8475\nenv_forward = ["A"]')) == [f"tools.proton-mail.mcp: unknown key `env_forward`; {message}"]
    assert problems(EXAMPLE.replace('type = "mcp"', 'type = "mcp"\nenv_forward = ["A"]')) == [f"tools.proton-mail: unknown key `env_forward`; {message}"]


# ---- Select Tools


def test_profiles_remain_the_composition_mechanism() -> None:
    assert core.expand(example(), ["dev"]) == (("linear", "github-cli"), ("ponytail", "caveman"))
    assert core.expand(example(), ["ops"]) == (("linear", "proton-mail"), ("ponytail", "caveman"))
    assert has(example()).tools == ("linear", "proton-mail")


def test_selecting_a_tool_also_installs_its_companion_skills() -> None:
    assert core.skills(example(), has(example()), everything) == {
        "linear": "linear", "reading-proton-email": "proton-mail", "ponytail": None, "caveman": None,
    }  # fmt: skip


def test_do_not_add_a_separate_bundles_layer() -> None:
    assert problems(f'{EXAMPLE}\n[bundles.all]\ntools = ["linear"]') == ["unknown key `bundles`; compose profiles by `includes`"]


def test_secret_free_instructional_skills_remain_directly_selectable_in_profiles() -> None:
    assert has(example()).skills == ("ponytail", "caveman")


def test_do_not_declare_environment_requirements_on_a_skill() -> None:
    changed = EXAMPLE.replace('skills = ["ponytail", "caveman"]', 'skills = [{ name = "ponytail", required_env = ["A"] }]')

    assert problems(changed) == ["profiles.base.skills[0]: a skill has no required_env; declare it on the tool that the skill comes with"]


def test_naming_a_companion_skill_directly_in_a_profile_cannot_grant_its_credential_access() -> None:
    authority = example(base_skills='skills = ["ponytail", "github-auth"]')
    granted = has(authority)

    assert granted.tools == ("linear", "proton-mail")
    assert "github-auth" not in core.skills(authority, granted, everything)
    assert "GITHUB_TOKEN" not in core.exposed(authority, granted, everything)


def test_standalone_skills_never_request_or_receive_environment_variables() -> None:
    only_skills = example(workspace="[workspaces.x]")
    plain = read('[profiles.p]\nskills = ["ponytail"]\n[workspaces."*"]\nprofiles = ["p"]')

    assert isinstance(plain, Authority)
    assert has(plain).skills == ("ponytail",)
    assert core.exposed(plain, has(plain), everything) == ()
    assert core.cell_cap(only_skills, has(only_skills), everything).allow == ()


def test_plugins_contribute_implementations_and_toml_still_declares_the_authorization_bearing_tool() -> None:
    def linear(name: str, keys: Mapping[str, object]) -> Mapping[str, object]:
        return {"exec": "linear-cli $UNRELATED_TOKEN"}

    place = Place(PARENT, DEFAULT_FLOOR, "/etc/mcc", None, Origin("policy", "mcc.toml"))
    found = read_policy(tomllib.loads(EXAMPLE), place, {"linear": linear})
    nothing = read_policy({}, place, {"linear": linear})

    assert isinstance(found, Authority)
    assert isinstance(nothing, Authority)
    assert found.tools["linear"].tool.kind == "exec"
    assert set(resolved(found, "linear").environ()) == {"PATH", "LINEAR_API_KEY", "LINEAR_TEAM_KEY"}
    assert nothing.tools == {}


# ---- Choose the Exposure Boundary


def test_runtime_backed_tools_default_expose_env_to_workspace_to_false() -> None:
    assert example(linear_exposed="").tools["linear"].exposed is False
    assert example(mail_hidden="").tools["proton-mail"].exposed is False
    assert example().tools["github-cli"].exposed is True


def test_true_is_for_a_companion_skill_that_calls_the_provider_directly() -> None:
    assert core.exposed(example(), has(example()), everything) == ("LINEAR_API_KEY", "LINEAR_TEAM_KEY")


def test_docker_gets_value_free_names_in_its_arguments() -> None:
    arguments = docker.run("team/mail", resolution=resolved(example(), "proton-mail"))

    assert [arguments[at + 1] for at, word in enumerate(arguments) if word == "-e"] == sorted(MAIL)
    assert not [argument for argument in arguments if "value-of" in argument]


def test_processes_receive_a_small_operational_environment_plus_their_selected_variables() -> None:
    assert "UNRELATED_TOKEN" not in {name for tool in example().tools for name in resolved(example(), tool).environ()}


# ---- Handle Missing Access


def test_only_the_affected_tool_and_its_companion_skills_are_removed() -> None:
    authority, parent = example(), without(MAIL[0])
    ready = available(authority, parent)

    assert core.skills(authority, has(authority), ready) == {"linear": "linear", "ponytail": None, "caveman": None}
    assert [name for name in has(authority).tools if ready(authority.tools[name])] == ["linear"]


def test_a_notice_names_the_tool_and_the_missing_variables_without_values() -> None:
    assert resolved(example(), "linear", {}).notice == "Tool 'linear' is unavailable; missing required environment: LINEAR_API_KEY"
    assert resolved(example(), "linear", {"LINEAR_API_KEY": "pass://Pynchy/Linear/password"}).notice == (
        "Tool 'linear' is unavailable; unresolved reference in: LINEAR_API_KEY"
    )


def test_a_tool_that_is_switched_off_gives_no_notice() -> None:
    off = read(EXAMPLE.replace('type = "linear"', 'type = "linear"\nenabled = false'))
    assert isinstance(off, Authority)
    resolution = resolved(off, "linear", refusal=Reason("disabled", "disabled by mcc.toml"))

    assert report(off.tools["linear"].tool, resolution).notice is None
    assert "linear" not in core.skills(off, has(off), available(off, PARENT))


def test_it_cannot_change_the_running_grant() -> None:
    authority = example()
    used = core.narrowed(authority, has(authority), ["dev"])

    assert used.tools == ("linear",)
    assert core.narrowed(authority, used, ["ops", "dev", "base"]).tools == ("linear",)


@pytest.mark.parametrize("parent", [PARENT, without("LINEAR_API_KEY"), {**PARENT, "LINEAR_API_KEY": "op://value-of/x"}])
def test_status_notices_and_context_expose_names_and_availability_only(parent: dict[str, str]) -> None:
    for name, item in example().tools.items():
        resolution = resolved(example(), name, parent)
        one = report(item.tool, resolution)
        told = [one.text(), one.html(), json.dumps(one.json()), repr(resolution), repr(item), resolution.notice or ""]
        assert not [text for text in told if "value-of" in text]


def test_profile_composition_determines_the_selected_tools() -> None:
    assert has(example(), "dev").tools == ()
    assert has(example(workspace='[workspaces."**/*.ipynb"]'), "/etc/mcc/job.ipynb").tools == ("linear", "proton-mail")


# ---- Materialize Host Secrets


@pytest.mark.parametrize("reference", ["pass://Pynchy/Linear/password", "op://Work/Linear/key", "vault:kv/linear"])
def test_a_reference_that_nothing_resolved_counts_as_no_value(reference: str) -> None:
    parent = {**PARENT, "LINEAR_API_KEY": reference}
    optional = {**PARENT, "LINEAR_TEAM_KEY": reference}

    assert not resolved(example(), "linear", parent).available
    assert resolved(example(), "linear", optional).available
    assert "LINEAR_TEAM_KEY" not in resolved(example(), "linear", optional).environ()
