"""A toolbox under a policy file: whose tools there are, what cells may ask for, and that it only ever narrows."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mcc_jupyter.core.errors import ArgumentError, MccError, PolicyError, ToolUnavailable
from mcc_jupyter.core.tool import Origin
from mcc_jupyter.runtime import policy_files
from mcc_jupyter.runtime.checks import check_profile
from mcc_jupyter.runtime.governed import Governed
from mcc_jupyter.runtime.identity import Identity, acting_as
from mcc_jupyter.runtime.launcher import Exit
from mcc_jupyter.runtime.policy_search import Start
from mcc_jupyter.runtime.told import Told
from mcc_jupyter.runtime.toolbox import Toolbox

from .conftest import FakeLauncher, World

MARK = "n0t-f0r-any-eyes-4711"

POLICY = """
[tools.linear]
exec = "echo {{ q | quote }}"
params = [{name = "q", default = "x"}]
required_env = ["LINEAR_API_KEY"]
skills = ["linear"]
expose_env_to_workspace = true

[tools.query]
exec = "psql"
optional_env = ["PGHOST"]
project_per_workspace = true

[tools.off]
exec = "x"
enabled = false

[tools.vpn]
type = "workspace"
required_env = ["VPN_KEY"]

[tools.other]
exec = "x"
groups = ["ops"]

[profiles.base]
tools = ["linear", "off"]
skills = ["caveman"]
[profiles.dev]
includes = ["base"]
tools = ["query", "vpn"]
[profiles.small]
tools = ["query"]
[profiles.rest]
tools = ["other"]

[workspaces."*"]
profiles = ["dev"]
[workspaces.rest]
profiles = ["rest"]

[grants]
allow = ["AWS_*", "REGION"]
deny = ["AWS_SECRET*"]
"""

Make = Callable[..., "Ruled"]


class Ruled(World):
    """A world whose toolbox stands under ``mcc.toml`` in its folder. ``started``: what the process was started with."""

    def __init__(self, folder: Path, text: str, started: dict[str, str], **start: object) -> None:
        self.path = folder / "mcc.toml"
        self.path.write_text(text)
        self.path.chmod(0o644)
        identity = start.pop("identity", Identity("ada"))
        types = start.pop("types", None)
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), **started}
        governed = Governed(str(self.path), Start(environment, str(folder), **start), identity, types=types)  # type: ignore[arg-type]
        super().__init__(folder, environment, launcher=FakeLauncher(), identity=identity, governed=governed)

    @property
    def governed(self) -> Governed:
        assert isinstance(self.box.governed, Governed)
        return self.box.governed

    def rewrite(self, *changes: tuple[str, str], text: str | None = None) -> None:
        text = self.path.read_text() if text is None else text
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        self.path.write_text(text)
        status = os.stat(self.path)  # clocks of file systems are coarse
        os.utime(self.path, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000))

    @property
    def listed(self) -> list[str]:
        return [tool.name for tool in self.box.registry]

    @property
    def notes(self) -> tuple[str, ...]:
        return self.box.standing().notes


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def make(text: str = POLICY, started: dict[str, str] | None = None, **more: object) -> Ruled:
        folder = tmp_path / f"ruled{len(list(tmp_path.iterdir()))}"
        folder.mkdir(mode=0o755)
        return Ruled(folder, text, {"LINEAR_API_KEY": MARK, "VPN_KEY": MARK} if started is None else started, **more)

    return make


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(MccError) as caught:
        action()
    return f"{type(caught.value).__name__}: {caught.value}"


# Whose tools there are


def test_granted_tools_are_there_and_the_others_are_not(make: Make) -> None:
    ruled = make()
    assert ruled.listed == ["linear", "query", "vpn"]
    assert len(ruled.box.registry) == 3
    assert ruled.box.registry.find("public.linear") is ruled.box.registry.find("linear")
    assert ruled.box.listing().rows[0][:3] == ("linear", "exec", "available")
    assert [row.tool for row in ruled.box.matrix().rows] == ["linear", "query", "vpn"]
    assert ruled.box.call("linear").ok
    assert refusal(lambda: ruled.box.call("nothing")) == "UnknownTool: No tool 'nothing' is declared here; run the cell that declares it"
    assert "did you mean `linear`?" in refusal(lambda: ruled.box.call("lineer"))


def test_a_tool_that_was_not_granted_says_so_by_name_and_workspace(make: Make) -> None:
    text = "ToolUnavailable: Tool 'other' is unavailable; not granted"
    assert refusal(lambda: make().box.call("other")) == f"{text} to this workspace, which has no name"
    assert refusal(lambda: make(workspace="dev").box.report("ops.other")) == f"{text} to the workspace 'dev'"
    ruled = make()
    beside = Start({"JPY_SESSION_NAME": str(ruled.folder / "sub/nb.ipynb")})
    governed = Governed(str(ruled.path), beside, Identity("ada"))
    with pytest.raises(ToolUnavailable) as caught:
        governed.refuse("other")
    assert str(caught.value) == f"{text} to the workspace 'sub/nb.ipynb'".removeprefix("ToolUnavailable: ")
    assert (caught.value.tool, caught.value.reasons) == ("other", ("not granted",))


def test_a_cell_may_have_the_name_of_a_tool_that_was_not_granted(make: Make) -> None:
    ruled = make()
    ruled.declare("{name: other, exec: mine}")
    assert ruled.box.registry.find("other").body.written == "mine"  # type: ignore[union-attr]
    ruled.declare("{name: other, exec: mine, groups: [x]}")
    assert "More than one tool is named 'other'" in refusal(lambda: ruled.box.call("other"))


def test_a_disabled_tool_is_silent_until_it_is_asked_for(make: Make) -> None:
    ruled = make()
    assert "off" not in ruled.listed
    assert refusal(lambda: ruled.box.call("off")) == "ToolUnavailable: Tool 'off' is unavailable; disabled by mcc.toml"
    assert ruled.box.report("off").notice is None
    assert ruled.box.standing().notices == ()
    assert [tool.state for tool in ruled.box.standing().tools if tool.name == "off"] == ["disabled"]


CLASH = "mcc.toml has the tool 'linear', which cannot be declared again; give yours another name"


@pytest.mark.parametrize(
    ("document", "key"),
    [
        ({"name": "linear"}, "public.linear"),
        ({"name": "linear", "groups": ["x"]}, "x.linear"),
        ({"name": "linear", "groups": []}, "linear"),
        ({"name": "public.linear", "groups": []}, "public.linear"),
        ({"name": "public.linear", "groups": ["x"]}, "x.public.linear"),
        ({"name": "linear", "groups": ["admin", "public"]}, "public.admin.linear"),
    ],
)
def test_no_declaration_takes_the_name_or_the_key_of_a_granted_tool(document: dict[str, object], key: str, make: Make) -> None:
    ruled = make()
    before = ruled.box.registry.find("linear")
    added = ruled.add({**document, "exec": "mine"})

    assert [(problem.path, problem.message) for problem in added.problems] == [(key, CLASH)]
    assert (added.tools, added.notices) == ((), ())
    assert ruled.box.registry.find("linear") is before
    assert len(ruled.box.registry) == 3


def test_a_key_that_reads_as_the_operators_name_is_taken_too(make: Make) -> None:
    ruled = make('[tools."a.b"]\nexec = "x"\n[profiles.p]\ntools = ["a.b"]\n[workspaces."*"]\nprofiles = ["p"]\n')
    assert [problem.path for problem in ruled.add({"name": "b", "groups": ["a"], "exec": "mine"}).problems] == ["a.b"]


def test_files_functions_and_what_says_that_it_is_the_operators_are_refused_alike(make: Make) -> None:
    ruled = make()
    (ruled.folder / "t.yaml").write_text("{name: linear, exec: mine}")
    assert [str(problem) for problem in ruled.box.load("t.yaml", folder=str(ruled.folder)).problems] == [f"t.yaml: public.linear: {CLASH}"]
    forged = ruled.box.add({"name": "linear", "exec": "mine"}, Origin("policy", "mcc.toml", str(ruled.path)))
    assert [problem.message for problem in forged.problems] == [CLASH]

    mine = ruled.box.add({"name": "mine", "exec": "x", "required_env": ["LINEAR_API_KEY", "PGPASS"]}, Origin("policy", "mcc.toml"))
    assert mine.reports[0].notice == "Tool 'mine' is unavailable; not granted by mcc.toml: PGPASS"


def test_the_operators_tools_cannot_be_removed_or_replaced(make: Make) -> None:
    ruled = make()
    linear = ruled.box.registry.find("linear")
    assert refusal(lambda: ruled.box.registry.remove("public.linear")) == (
        "PolicyError: 'public.linear' is the operator's tool and stays; `%mcc_use PROFILE…` gives tools up"
    )
    ruled.declare("{name: mine, exec: x}")
    mine = ruled.box.registry.find("mine")
    from dataclasses import replace

    for other in (replace(linear, passthrough=True), replace(linear, params=()), replace(linear, description="mine")):
        ruled.box.registry.replace(other)
        assert ruled.box.registry.find("linear") is linear
    assert not ruled.governed.ready(mine)
    assert not ruled.governed.ready(replace(linear, groups=("x",)))
    assert ruled.box.registry.remove("mine") is mine


def test_a_signature_that_was_read_is_kept(make: Make) -> None:
    from dataclasses import replace

    ruled = make('[tools.f]\nfn = "m:f"\n[profiles.p]\ntools = ["f"]\n[workspaces."*"]\nprofiles = ["p"]\n')
    f = ruled.box.registry.find("f")
    read = replace(f, introspected=True, description="Says")
    ruled.box.registry.replace(replace(read, cwd=replace(f.cwd, value="/elsewhere")))
    assert ruled.box.registry.find("f") is f
    ruled.box.registry.replace(read)
    assert ruled.box.registry.find("f") is read
    assert ruled.governed.terms(f).parent is ruled.governed.parent  # whoever still has the older one


# On what terms


def test_the_operators_tools_see_what_the_process_was_started_with(make: Make) -> None:
    ruled = make(started={"LINEAR_API_KEY": MARK})
    ruled.variables |= {"PATH": "/evil", "PGHOST": "evil.example", "LINEAR_API_KEY": "another-value"}
    ruled.box.call("query")
    ruled.box.call("linear")
    ruled.declare("{name: mine, exec: x}")
    ruled.box.call("mine")

    launcher = ruled.box.launcher
    assert isinstance(launcher, FakeLauncher)
    query, linear, mine = (request.environ for request in launcher.requests)
    assert (query["PATH"], "PGHOST" in query, linear["LINEAR_API_KEY"]) == ("/usr/bin:/bin", False, MARK)
    assert mine["PATH"] == "/evil"
    assert ruled.box.report("query").footer[0].startswith("Under mcc.toml. From this process as it was started, which holds these values anyway.")
    assert ruled.box.report("mine").footer[0].startswith("Under mcc.toml. From this process, which holds these values anyway.")


def test_a_missing_variable_is_told_where_it_has_to_be_set(make: Make) -> None:
    ruled = make(started={})
    assert ruled.box.report("linear").notice == "Tool 'linear' is unavailable; missing required environment: LINEAR_API_KEY"
    assert ruled.box.report("linear").notes == (
        "LINEAR_API_KEY: set it in the environment that the kernel is started with, and restart it",
    )
    text = POLICY.replace('optional_env = ["PGHOST"]', 'required_env = ["PGHOST"]\nenv = {PGHOST = "$DB_HOST"}')
    assert make(text, started={}).box.report("query").notes == (
        "PGHOST: set DB_HOST in the environment that the kernel is started with, and restart it",
    )


@pytest.mark.parametrize(
    ("document", "notice"),
    [
        ({"exec": "x"}, None),
        ({"exec": "x", "required_env": ["AWS_REGION"]}, None),
        ({"exec": "x", "required_env": ["AWS_SECRET_KEY"]}, "not granted by mcc.toml: AWS_SECRET_KEY"),
        ({"exec": "echo $GITHUB_TOKEN"}, "not granted by mcc.toml: GITHUB_TOKEN"),
        ({"exec": "echo $GITHUB_TOKEN", "env_passthrough": ["GITHUB_*"]}, "not granted by mcc.toml: GITHUB_TOKEN"),
        ({"exec": "x", "env": {"A": "$GITHUB_TOKEN"}}, "not granted by mcc.toml: GITHUB_TOKEN"),
        ({"exec": "x", "secret_files": {"A": "$GITHUB_TOKEN"}}, "not granted by mcc.toml: GITHUB_TOKEN"),
        ({"exec": "x", "params": [{"name": "p", "override": "$GITHUB_TOKEN"}]}, "not granted by mcc.toml: GITHUB_TOKEN"),
        ({"exec": "x", "env_passthrough": True}, None),
        ({"exec": "x", "required_env": ["LINEAR_API_KEY"]}, None),
        ({"exec": "x", "isolation": False}, "not granted by mcc.toml: isolation: off"),
    ],
)
def test_a_cells_own_tool_gets_what_the_file_lets_cells_ask_for(document: dict[str, object], notice: str | None, make: Make) -> None:
    ruled = make()
    ruled.variables |= {"AWS_REGION": "eu", "AWS_SECRET_KEY": MARK, "GITHUB_TOKEN": MARK}
    (report,) = ruled.add({"name": "t", **document}).reports

    assert report.notice == (notice and f"Tool 't' is unavailable; {notice}")
    got = {row.variable for row in report.rows if row.state == "set"}
    assert not got & {"AWS_SECRET_KEY", "GITHUB_TOKEN", "A"}
    if document.get("env_passthrough") is True:
        assert {"AWS_REGION", "LINEAR_API_KEY", "VPN_KEY"} <= got


def test_mcc_sh_is_a_cells_own_tool(make: Make) -> None:
    ruled = make()
    ruled.variables["GITHUB_TOKEN"] = MARK
    sh = {"name": "sh", "exec": "env", "env_passthrough": ["GITHUB_TOKEN"]}
    ruled.box.once(sh, Origin("cell", "%%mcc_sh"))
    launcher = ruled.box.launcher
    assert isinstance(launcher, FakeLauncher)
    assert "GITHUB_TOKEN" not in launcher.requests[-1].environ
    assert refusal(lambda: ruled.box.once({**sh, "required_env": ["GITHUB_TOKEN"]}, Origin("cell", "%%mcc_sh"))) == (
        "ToolUnavailable: Tool 'sh' is unavailable; not granted by mcc.toml: GITHUB_TOKEN"
    )


def test_names_are_exposed_while_their_tool_is_available(make: Make) -> None:
    assert make().governed.exposed() == ("LINEAR_API_KEY", "VPN_KEY")
    ruled = make(started={"VPN_KEY": MARK})
    assert ruled.governed.exposed() == ("VPN_KEY",)
    assert ruled.governed.cap().allows("VPN_KEY")
    assert not ruled.governed.cap().allows("LINEAR_API_KEY")
    assert make(POLICY.replace('deny = ["', 'deny = ["VPN_KEY", "')).governed.exposed() == ("LINEAR_API_KEY",)


def test_nothing_is_exposed_before_a_toolbox_can_say_what_is_available(make: Make) -> None:
    ruled = make()
    alone = Governed(str(ruled.path), Start({"VPN_KEY": MARK}), Identity("ada"))
    assert alone.exposed() == ()


def test_the_floor_is_the_files(make: Make) -> None:
    ruled = make('env_floor = ["PATH", "CORP"]\n' + POLICY, {"CORP": "x"})
    assert ruled.box.floor == ("PATH", "CORP")
    assert {row.name for row in ruled.box.report("query").rows if row.source == "floor"} == {"PATH", "CORP"}


def test_the_project_is_the_sessions_and_goes_with_its_tool(make: Make) -> None:
    ruled = make(workspace="ops")
    assert ruled.box.session["project"] == "ops"
    ruled.variables["X"] = "1"
    ruled.box.call("query")
    launcher = ruled.box.launcher
    assert isinstance(launcher, FakeLauncher)
    assert launcher.requests[-1].environ["MCC_CTX_PROJECT"] == "ops"
    assert "cannot be changed" in refusal(lambda: ruled.box.session.__setitem__("project", "other"))
    ruled.governed.use(["base"])
    assert "project" not in ruled.box.session
    assert "project" not in make().box.session


def test_users_and_groups_decide_who_has_a_workspace(make: Make) -> None:
    text = POLICY.replace('[workspaces."*"]\n', '[workspaces."*"]\ngroups = ["ops"]\n')
    assert make(text).listed == ["linear", "query", "vpn"]
    assert make(text, identity=Identity("ada", groups=("staff",))).listed == []
    assert make(text, identity=Identity("ada", groups=("ops",))).listed == ["linear", "query", "vpn"]


# Narrowing


def test_use_gives_up_and_never_gives_back(make: Make) -> None:
    ruled = make()
    ruled.variables["LINEAR_API_KEY"] = MARK
    ruled.declare({"name": "mine", "exec": "x", "required_env": ["LINEAR_API_KEY"]})
    assert ruled.box.call("mine").ok

    assert ruled.governed.use(["small", "rest"]) == ("linear", "off", "vpn")
    assert ruled.listed == ["query", "mine"]
    assert refusal(lambda: ruled.box.call("linear")) == (
        "ToolUnavailable: Tool 'linear' is unavailable; not granted: this workspace gave it up, or the policy file took it back"
    )
    assert refusal(lambda: ruled.box.call("mine")) == "ToolUnavailable: Tool 'mine' is unavailable; not granted by mcc.toml: LINEAR_API_KEY"
    assert ruled.governed.use(["dev"]) == ()
    assert ruled.listed == ["query", "mine"]
    assert ruled.governed.use(["base"]) == ("query",)
    assert ruled.listed == ["mine"]
    assert ruled.box.standing().dropped == ("linear", "off", "vpn", "query")
    assert ruled.governed.profiles == ("base", "dev", "small", "rest")
    assert refusal(lambda: ruled.governed.use(["bas"])) == (
        "PolicyError: mcc.toml: there is no profile 'bas' (did you mean `base`?); `%mcc_policy` lists them"
    )


def test_what_was_given_up_is_refused_to_whoever_still_has_it(make: Make) -> None:
    ruled = make()
    linear = ruled.box.registry.find("linear")
    ruled.governed.use(["small"])
    assert not ruled.box.is_available(linear)
    assert ruled.governed.terms(linear).refusal is not None
    ruled.declare("{name: linear, exec: mine}")  # the name is free, and the tool the cell's own
    assert ruled.box.call("linear").ok


def test_narrowing_ends_what_waits_and_reaches_a_map_under_way(make: Make) -> None:
    ruled = make()
    told: list[str] = []
    first = ruled.governed._narrowed
    ruled.governed._narrowed = lambda: (told.append("narrowed"), first())  # type: ignore[assignment,func-returns-value]

    def narrows(request: object, stdout: object, stderr: object) -> Exit:
        ruled.governed.use(["small"])
        return Exit(code=0)

    ruled.box._launcher = FakeLauncher(narrows)  # type: ignore[assignment,arg-type]
    outcomes = ruled.box.map("linear", [{}, {}, {}], workers=1)
    assert [outcome.ok for outcome in outcomes] == [True, False, False]
    assert str(outcomes[1].failure).startswith("did not start: Tool 'linear' is unavailable; not granted")
    assert told == ["narrowed"]
    ruled.rewrite(('allow = ["AWS_*", "REGION"]', 'allow = ["AWS_*"]'))
    assert ruled.listed == ["query"]
    assert told == ["narrowed", "narrowed"]
    ruled.rewrite()
    assert ruled.listed == ["query"]
    assert told == ["narrowed", "narrowed"]


def test_an_outcome_that_was_kept_is_not_given_after_a_narrowing(make: Make) -> None:
    ruled = make()
    ruled.variables["AWS_REGION"] = "eu"
    ruled.declare({"name": "mine", "exec": "x", "cache_ttl": 60, "env_passthrough": ["AWS_*"]})
    assert [ruled.box.call("mine").mode for _ in range(2)][1] == "cached"
    ruled.rewrite(('"AWS_*", ', ""))
    outcome = ruled.box.call("mine")
    assert outcome.mode != "cached"
    launcher = ruled.box.launcher
    assert isinstance(launcher, FakeLauncher)
    assert "AWS_REGION" not in launcher.requests[-1].environ


# The file changes


def test_what_the_file_takes_back_goes_at_once_and_what_it_gives_waits(make: Make) -> None:
    ruled = make()
    ruled.rewrite(('tools = ["query", "vpn"]', 'tools = ["query", "other"]'))
    assert ruled.listed == ["linear", "query"]
    assert "not granted" in refusal(lambda: ruled.box.call("vpn"))
    assert "not granted" in refusal(lambda: ruled.box.call("other"))
    assert "mcc.toml grants other by now; restart to use that" in ruled.notes

    ruled.rewrite(('tools = ["query", "other"]', 'tools = ["query", "vpn"]'))
    assert ruled.listed == ["linear", "query"]
    assert "mcc.toml grants vpn by now; restart to use that" in ruled.notes


def test_a_tool_that_is_switched_off_goes_and_stays_off(make: Make) -> None:
    ruled = make()
    ruled.rewrite(('exec = "psql"', 'exec = "psql"\nenabled = false'))
    assert ruled.listed == ["linear", "vpn"]
    assert refusal(lambda: ruled.box.call("query")) == "ToolUnavailable: Tool 'query' is unavailable; disabled by mcc.toml"
    ruled.rewrite(("\nenabled = false\n", "\n"))
    assert ruled.listed == ["linear", "vpn"]
    assert "mcc.toml grants off, query by now; restart to use that" in ruled.notes


def test_a_tool_that_changed_keeps_what_it_was(make: Make) -> None:
    ruled = make()
    ruled.rewrite(('exec = "psql"', 'exec = "evil"\nenv_passthrough = true'))
    assert ruled.box.registry.find("query").body.written == "psql"  # type: ignore[union-attr]
    assert "mcc.toml changed query; restart to use that" in ruled.notes
    assert ruled.box.call("query").ok


MORE = "mcc.toml changed what cells may ask for; restart to use what is wider by now"


def test_what_cells_may_ask_for_shrinks_at_once_and_never_grows(make: Make) -> None:
    ruled = make()
    allows = lambda *names: [name for name in names if ruled.governed.cap().allows(name)]  # noqa: E731
    assert allows("AWS_A", "AWS_B", "AWS_SECRET_A", "REGION", "HUGE") == ["AWS_A", "AWS_B", "REGION"]
    ruled.rewrite(('allow = ["AWS_*", "REGION"]', 'allow = ["AWS_A", "HUGE"]'))
    assert allows("AWS_A", "AWS_B", "REGION", "HUGE") == ["AWS_A"]
    assert ruled.box.standing().allow == ("AWS_A",)
    assert MORE in ruled.notes
    ruled.rewrite(('allow = ["AWS_A", "HUGE"]', 'allow = ["*"]'), ('deny = ["AWS_SECRET*"]', 'deny = ["AWS_A"]'))
    assert allows("AWS_A", "AWS_B", "AWS_SECRET_A", "REGION", "HUGE") == []
    assert ruled.box.standing().deny == ("AWS_SECRET*", "AWS_A")


def test_exposure_that_is_taken_back_goes_at_once(make: Make) -> None:
    ruled = make()
    ruled.rewrite(("\nexpose_env_to_workspace = true\n", "\n"))
    assert ruled.governed.exposed() == ("VPN_KEY",)
    assert not ruled.governed.cap().allows("LINEAR_API_KEY")
    assert ruled.box.call("linear").ok


def test_a_floor_that_changed_waits(make: Make) -> None:
    ruled = make()
    ruled.rewrite(text='env_floor = ["PATH", "LINEAR_API_KEY"]\n' + POLICY)
    assert "LINEAR_API_KEY" not in ruled.box.floor
    assert MORE in ruled.notes


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda path: path.unlink(), "mcc.toml: the policy file cannot be read (no such file or directory)"),
        (lambda path: path.write_text("no toml"), "mcc.toml: the policy file is no TOML (at line 1, column 4)"),
        (lambda path: path.write_text("[tool]\n"), "mcc.toml: unknown key `tool`; write `[tools.NAME]`"),
    ],
)
def test_a_file_that_vanishes_or_breaks_leaves_what_it_said(change: Callable[[Path], object], why: str, make: Make) -> None:
    ruled = make()
    change(ruled.path)
    assert ruled.listed == ["linear", "query", "vpn"]
    assert not ruled.governed.cap().allows("HUGE")
    first = "mcc.toml cannot be used any more; what it said before stays in force"
    assert ruled.notes[-2:] == (first, why)
    ruled.rewrite(text=POLICY)
    assert first not in ruled.notes


def test_a_file_that_only_was_touched_says_nothing(make: Make) -> None:
    ruled = make()
    before = ruled.notes
    ruled.rewrite()
    assert ruled.notes == before
    assert len(ruled.governed._layers) == 1


def test_one_thread_reads_a_changed_file_and_the_others_wait(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    ruled = make()
    reads: list[int] = []
    first = policy_files.load
    begun, go_on = threading.Event(), threading.Event()

    def slow(*args: object) -> policy_files.Loaded:
        reads.append(1)
        begun.set()
        assert go_on.wait(20)
        return first(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(policy_files, "load", slow)
    ruled.rewrite(('tools = ["query", "vpn"]', 'tools = ["query"]'))
    seen: list[list[str]] = []
    threads = [threading.Thread(target=lambda: seen.append(ruled.listed)) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert begun.wait(20)
    go_on.set()
    for thread in threads:
        thread.join()
    assert seen == [["linear", "query"]] * 3
    assert reads == [1]


# A file that cannot be used


def test_a_file_that_cannot_be_used_grants_nothing_and_says_so_once(make: Make) -> None:
    ruled = make("[tools.a]\nexec = 'x'\nenabld = true\n")
    problem = "mcc.toml: tools.a: unknown key `enabld` (did you mean `enabled`?)"
    assert ruled.listed == []
    assert ruled.governed.news() == (f"PolicyError: {problem}",)
    assert ruled.governed.news() == ()
    with pytest.raises(PolicyError) as caught:
        ruled.governed.raise_for_problems()
    assert str(caught.value) == problem
    ruled.variables["AWS_REGION"] = "eu"
    assert ruled.add({"name": "t", "exec": "x", "required_env": ["AWS_REGION"]}).reports[0].notice == (
        "Tool 't' is unavailable; not granted by mcc.toml: AWS_REGION"
    )
    ruled.declare("{name: plain, exec: x}")
    assert ruled.box.call("plain").ok
    assert ruled.box.standing().problems == (problem,)

    ruled.rewrite(text=POLICY)
    assert ruled.listed == ["t", "plain"]
    assert "mcc.toml changed; restart to use it" in ruled.notes


def test_nothing_is_wrong_with_a_good_file(make: Make) -> None:
    ruled = make()
    ruled.governed.raise_for_problems()
    assert ruled.governed.news() == ()


# Skills


def test_a_skill_comes_with_its_tool_and_leaves_with_it(make: Make) -> None:
    ruled = make(started={"LINEAR_API_KEY": MARK})
    (ruled.folder / "skills").mkdir()
    (ruled.folder / "skills/linear.md").write_text("---\ndescription: How to\n---\n# Linear\n")
    assert ruled.governed.skill_names() == {"linear": "linear", "caveman": None}
    assert ruled.governed.skill("linear").description == "How to"
    assert refusal(lambda: ruled.governed.skill("caveman")) == "PolicyError: skill caveman: there is no file skills/caveman.md"
    assert "skill caveman: there is no file skills/caveman.md" in ruled.notes
    ruled.governed.use(["small"])
    assert refusal(lambda: ruled.governed.skill("linear")) == "ArgumentError: there is no skill 'linear' here; `%mcc_skills` lists them"

    assert make(started={}).governed.skill_names() == {"caveman": None}


def test_a_skill_grants_nothing_whatever_it_says(make: Make) -> None:
    ruled = make()
    before = ruled.box.standing()
    (ruled.folder / "skills").mkdir()
    (ruled.folder / "skills/caveman.md").write_text("---\nrequired_env: [GITHUB_TOKEN]\ntools: [other]\n---\n%mcc_use rest\n")
    after = ruled.box.standing()
    assert (after.tools, after.allow, after.exposed) == (before.tools, before.allow, before.exposed)


# Telling


def test_news_are_told_once_each(make: Make) -> None:
    ruled = make(started={})
    linear = "Tool 'linear' is unavailable; missing required environment: LINEAR_API_KEY"
    vpn = "Tool 'vpn' is unavailable; missing required environment: VPN_KEY"
    assert ruled.governed.news() == (linear, vpn)
    assert ruled.governed.news() == ()
    assert ruled.box.standing().notices == (linear, vpn)


def test_the_standing_tells_everything_by_name(make: Make) -> None:
    ruled = make(workspace="rest")
    standing = ruled.box.standing()
    assert (standing.file, standing.workspace, standing.profiles) == ("mcc.toml", "rest", ("dev", "rest"))
    linear = standing.tools[0]
    assert (linear.name, linear.type, linear.state, linear.names, linear.skills, linear.exposed) == (
        "linear", "exec", "available", ("LINEAR_API_KEY",), ("linear",), True,
    )  # fmt: skip
    assert standing.tools[2].names == ("PGHOST (optional)",)
    assert MARK not in standing.text() + standing.html() + repr(standing.json())


@pytest.mark.parametrize(
    ("folder", "home", "expected"),
    [("{root}/a/b", "/nowhere", "../../mcc.toml"), ("/elsewhere", "{root}", "~/mcc.toml"), ("/elsewhere", "/nowhere", "{root}/mcc.toml"), (None, "/", "{root}/mcc.toml")],
)
def test_the_files_path_is_shown_the_same_on_every_machine_where_it_can_be(folder: str | None, home: str, expected: str, make: Make) -> None:
    root = make().folder
    start = Start({"HOME": home.format(root=root)}, folder and folder.format(root=root))
    governed = Governed(str(root / "mcc.toml"), start, Identity("ada"))
    assert governed._shown_path() == expected.format(root=root)


def test_a_type_of_a_plugin_runs_what_the_plugin_says(make: Make) -> None:
    def kind(name: str, keys: Mapping[str, object]) -> Mapping[str, object]:
        return {"exec": f"{name}-cli"}

    text = '[tools.l]\ntype = "linear"\nrequired_env = ["K"]\n[profiles.p]\ntools = ["l"]\n[workspaces."*"]\nprofiles = ["p"]\n'
    ruled = make(text, {"K": MARK}, types=lambda names: {"linear": kind} if names == {"linear"} else {})
    assert ruled.box.call("l").ok
    assert make(text, {"K": MARK}, types=lambda names: {}).notes == (
        'tools.l: no plugin provides the type "linear"; it runs nothing and exposes nothing',
    )


def test_an_operators_tool_that_runs_nothing_says_so(make: Make) -> None:
    box = make().box
    for use in (box.call, box.probe):
        assert refusal(lambda use=use: use("vpn")) == (  # type: ignore[misc]
            "ToolUnavailable: Tool 'vpn' runs nothing here; the type \"workspace\" only grants names and skills"
        )


def test_a_profile_is_text() -> None:
    assert check_profile("dev") == "dev"
    assert refusal(lambda: check_profile(3)) == "ArgumentError: use: a profile is text, like `dev`, and not of type int"


def test_a_tool_with_an_env_file_comes_and_goes(make: Make) -> None:
    text = POLICY.replace('type = "workspace"', 'type = "linear"\nexpose_env_to_workspace = true').replace("[tools.vpn]", '[tools.vpn]\nenv_file = "vpn.env"')
    kind = lambda name, keys: {"exec": "x"}  # noqa: E731
    ruled = make(text, {}, types=lambda names: {"linear": kind})
    (ruled.folder / "vpn.env").write_text("VPN_KEY=")
    assert ruled.governed.exposed() == ()
    ruled.variables["VPN_KEY"] = MARK
    ruled.declare({"name": "mine", "exec": "x", "required_env": ["VPN_KEY"]})
    assert not ruled.box.is_available(ruled.box.registry.find("mine"))
    (ruled.folder / "vpn.env").write_text("VPN_KEY=x")
    assert ruled.governed.exposed() == ("VPN_KEY",)
    assert ruled.box.is_available(ruled.box.registry.find("mine"))
    (ruled.folder / "vpn.env").write_text("VPN_KEY=")
    assert not ruled.box.is_available(ruled.box.registry.find("mine"))


def test_what_a_failed_tool_mentions_is_not_advised_where_the_file_forbids_it(make: Make) -> None:
    def fails(request: object, stdout: Callable[[bytes], None], stderr: Callable[[bytes], None]) -> Exit:
        stderr(b"set GITHUB_TOKEN or AWS_REGION\n")
        return Exit(code=1)

    ruled = make()
    ruled.box._launcher = FakeLauncher(fails)  # type: ignore[assignment]
    ruled.variables |= {"GITHUB_TOKEN": MARK, "AWS_REGION": "eu"}
    ruled.declare("{name: t, exec: x}")
    assert ruled.box.call("t").notes == (
        "mentions GITHUB_TOKEN, which exists here and is not granted; mcc.toml does not grant it to cells; who keeps the file can add it to `[grants] allow`",
        "mentions AWS_REGION, which exists here and is not granted; to grant it add `optional_env: [AWS_REGION]`",
    )


# Without a policy file


def test_without_a_policy_file_there_is_nothing_to_give_up(tmp_path: Path) -> None:
    box = Toolbox(dict, launcher=FakeLauncher())  # type: ignore[arg-type]
    governed = box.governed
    assert (governed.exposed(), governed.skills(), governed.skill_names(), governed.news(), governed.profiles) == ((), [], {}, (), ())
    governed.raise_for_problems()
    assert refusal(lambda: governed.use(["dev"])) == "PolicyError: there is no policy file, so there are no profiles; cells are the authority here"
    with pytest.raises(ArgumentError) as caught:
        governed.skill("a")
    assert str(caught.value) == "there is no skill 'a': skills come with a policy file, and there is none"
    assert box.standing().text().startswith("no policy file: cells are the authority\n")


# Loading a policy file as tools


def test_a_policy_file_is_loaded_as_the_notebooks_own_where_none_holds(make_world: Callable[..., World]) -> None:
    world = make_world({"LINEAR_API_KEY": MARK}, launcher=FakeLauncher())
    (world.folder / "mcc.toml").write_text(POLICY)
    added = world.box.load("mcc.toml", folder=str(world.folder))
    assert [tool.name for tool in added.tools] == ["linear", "query", "vpn", "other"]
    assert world.box.call("linear").ok
    (world.folder / "mcc.toml").write_text("[tools.a]\n")
    assert [str(problem) for problem in world.box.load("mcc.toml", folder=str(world.folder)).problems] == [
        "mcc.toml: tools.a: needs a `type`: one of exec, fn, curl, mcp, workspace"
    ]


def test_no_second_policy_file_holds(make: Make) -> None:
    ruled = make()
    (ruled.folder / "wider.toml").write_text(POLICY.replace("[grants]", "[grants]\n#"))
    again = ruled.box.load("mcc.toml", folder=str(ruled.folder))
    assert (again.tools, again.notices) == ((), ("mcc.toml is the policy file here; `%mcc_policy` shows what it grants",))
    assert [str(problem) for problem in ruled.box.load("wider.toml", folder=str(ruled.folder)).problems] == [
        "wider.toml: mcc.toml holds here since the start, and no other policy file does; restart with it"
    ]
    assert ruled.listed == ["linear", "query", "vpn"]


# ---- what a manifest says


def test_the_summary_has_names_and_nothing_of_tools_that_are_for_some(make: Make) -> None:
    text = POLICY.replace('tools = ["other"]', 'tools = ["other", "mine"]')
    text += "[tools.mine]\nexec = 'x'\nrequired_env = ['NO_SUCH']\ngroups = ['dev']\n"
    ruled = make(text, {"LINEAR_API_KEY": MARK}, workspace="rest")

    assert ruled.governed.summary() == {
        "label": "mcc.toml",
        "state": "loaded",
        "workspace": "rest",
        "profiles": ["dev", "rest"],
        "allow": ["AWS_*", "REGION"],
        "deny": ["AWS_SECRET*"],
        "exposed": ["LINEAR_API_KEY"],
        "dropped": [],
        "notices": ["Tool 'vpn' is unavailable; missing required environment: VPN_KEY"],
        "notes": ["skill linear: there is no file skills/linear.md", "skill caveman: there is no file skills/caveman.md"],
    }
    ruled.governed.use(["small"])
    after = ruled.governed.summary()
    assert (after["dropped"], after["exposed"], after["notices"]) == (["linear", "off", "vpn"], [], [])
    assert ruled.box.standing().dropped == ("linear", "off", "vpn", "other", "mine")
    assert MARK not in str(after)


def test_the_summary_of_a_broken_file_says_why(make: Make) -> None:
    ruled = make("[tools.x]\nexec = 'y'\nwhat = 1\n")

    summary = ruled.governed.summary()
    assert (summary["state"], summary["workspace"], summary["notes"]) == ("failed", None, ["mcc.toml: tools.x: unknown key `what`"])
    assert World(ruled.folder, {}).box.governed.summary() is None


def test_whoever_follows_is_told_of_each_change_and_of_nothing_else(make: Make) -> None:
    ruled = make()
    told: list[bool] = []
    ruled.governed.on_change = lambda: told.append(True)

    ruled.governed.refresh()
    assert told == []
    ruled.rewrite(("REGION", "REGIONS"))
    ruled.governed.refresh()
    ruled.rewrite(text="no toml")
    ruled.governed.refresh()
    ruled.governed.refresh()
    assert len(told) == 2
    ruled.governed.use(["small"])
    assert len(told) == 3


def test_a_manifest_keeps_no_tool_from_whoever_reads_it(make: Make) -> None:
    ruled = make(workspace="rest", identity=Identity("bob", groups=()))
    entries = [json.loads(entry) for entry in ruled.box.entries(Told())]
    assert [(entry["name"], entry["groups"], entry["notice"]) for entry in entries if entry["name"] == "other"] == [("other", ["ops"], None)]
    assert refusal(lambda: ruled.box.call("other")) == "ToolUnavailable: Tool 'other' is unavailable; not granted: it is for ops"
    with acting_as(Identity("ana", groups=("ops",))):
        assert ruled.box.is_available(ruled.box.registry.find("other"))


def test_all_profiles_of_the_file_are_told_and_those_of_the_workspace_first(make: Make) -> None:
    standing = make().box.standing()

    assert (standing.profiles, standing.others) == (("dev",), ("base", "small", "rest"))
