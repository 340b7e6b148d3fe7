"""The one way through: declaring, reports, files, the session, the cache; what a call needs before any process exists."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mcc_jupyter.core import policy
from mcc_jupyter.core.command import Request
from mcc_jupyter.core.errors import ArgumentError, DeclarationError, MccError, Problem, ToolUnavailable, UnknownTool
from mcc_jupyter.core.tool import Origin
from mcc_jupyter.runtime import catalog
from mcc_jupyter.runtime.identity import Identity
from mcc_jupyter.runtime.launcher import Exit
from mcc_jupyter.runtime.listings import session_listing
from mcc_jupyter.runtime.toolbox import Added, Probe, Toolbox

from .conftest import FakeLauncher, Sink, World, frame

SECRET = "sk-live-0123456789"
MakeWorld = Callable[..., World]


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    """A world with a secret, in which no process starts."""
    return make_world({"TOKEN": SECRET, "REGION": "eu"}, launcher=FakeLauncher())


def requests(world: World) -> list[Request]:
    launcher = world.box.launcher
    assert isinstance(launcher, FakeLauncher)
    return launcher.requests


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(MccError) as caught:
        action()
    return f"{type(caught.value).__name__}: {caught.value}"


# ---- declaring


def test_a_declaration_gives_its_tools_and_their_reports_and_starts_nothing(world: World) -> None:
    added = world.add("name: a\nexec: echo $TOKEN\nenv_passthrough: [TOKEN]")
    assert [tool.key for tool in added.tools] == ["public.a"]
    assert [(report.tool, report.available) for report in added.reports] == [("a", True)]
    assert (added.notices, added.problems, added.printed) == ((), (), "")
    assert added.raise_for_problems() is added
    assert requests(world) == []


def test_one_bad_tool_never_stops_the_others_and_every_error_is_listed_with_its_path(world: World) -> None:
    added = world.add("- {name: a, exec: 'true'}\n- {name: b}\n- {name: c, exec: 'true', envv: {}}\n- {name: d, exec: 'true'}")
    assert [tool.name for tool in added.tools] == ["a", "d"]
    assert [problem.path for problem in added.problems] == ["tools[1]", "tools[2]"]
    with pytest.raises(DeclarationError) as caught:
        added.raise_for_problems()
    assert caught.value.problems == added.problems


def test_a_failed_re_declaration_keeps_the_old_tool(world: World) -> None:
    world.add("- {name: a, exec: echo 1}\n- {name: b, exec: echo 2}", cell="c1")
    world.add("- {name: a, exec: echo 3}\n- {name: b}", cell="c1")
    assert [tool.body.written for tool in world.box.registry] == ["echo 3", "echo 2"]  # type: ignore[union-attr]
    world.add("{name: a, exec: echo 4}", cell="c1")
    assert [tool.name for tool in world.box.registry] == ["a"]


def test_a_later_cell_replaces_with_a_notice(world: World) -> None:
    world.add("{name: a, exec: echo 1}")
    assert world.add("{name: a, exec: echo 2}").notices == (
        "public.a: replaces the declaration from an earlier cell (cell 1) by this one (cell 2)",
    )


def test_a_function_whose_import_fails_keeps_its_earlier_declaration_with_a_notice(make_world: MakeWorld) -> None:
    good = {"id": "public.f", "ok": True, "signature": True, "params": []}
    bad = {"id": "public.f", "ok": False, "error": "ImportError: no", "traceback": ""}
    world = make_world(launcher=FakeLauncher(*(Exit(code=0, result=frame(answer)) for answer in (good, bad))))
    world.declare("fn: m:f", cell="c1")
    added = world.add("{fn: m:f, description: new}", cell="c1")
    assert [str(problem) for problem in added.problems] == ["public.f: fn: ImportError: no"]
    assert added.notices == ("public.f: its earlier declaration stays",)
    assert (added.tools, added.reports) == ((), ())
    assert world.box.registry.find("f").description == ""


def test_what_is_shown_of_a_declaration_is_brief_and_ends_with_what_its_reports_share(world: World) -> None:
    added = world.add("- {name: a, exec: 'true'}\n- {name: b, exec: 'true'}")
    assert [(report.brief, bool(report.footer)) for report in added.shown] == [(True, False), (True, True)]
    assert [(report.brief, bool(report.footer)) for report in added.reports] == [(False, True), (False, True)]
    assert Added().shown == ()


def test_removing_forgets_a_tool(world: World) -> None:
    world.declare("{name: a, exec: 'true'}")
    assert world.box.registry.remove("a").key == "public.a"
    assert refusal(lambda: world.box.call("a")) == (
        "UnknownTool: No tool 'a' is declared here, nor any other; run the cell that declares it"
    )


def test_SUB_19_a_variable_named_like_a_field_is_no_field(make_world: MakeWorld) -> None:
    world = make_world({"env_file": "/x", "env": "ZZ", "groups": "g", "tools": "t"}, launcher=FakeLauncher())
    world.declare("{name: a, exec: 'true'}")
    tool = world.box.registry.find("a")
    assert (tool.env_files, dict(tool.env), tool.groups) == ((), {}, ("public",))
    assert world.box.report("a").available


def test_ENV_04_the_floor_is_no_field_of_a_tool(world: World) -> None:
    added = world.add("{name: a, exec: 'true', env_floor: []}")
    assert [str(problem) for problem in added.problems] == [
        "unknown key `env_floor`; the floor is set per deployment by MCC_ENV_FLOOR (line 1)"
    ]


def test_PROC_22_a_working_directory_that_is_gone_is_told(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    problem = Problem("cwd", "the working directory no longer exists; change to another one")
    origin = Origin("cell", "cell", "c1")
    try:
        assert world.box.add({"name": "a", "exec": "true"}, origin) == Added(problems=(problem,))
        assert world.box.load("tools.yaml") == Added(problems=(problem,))
        assert refusal(lambda: world.box.once({"name": "a", "exec": "true"}, origin)) == f"DeclarationError: {problem}"
    finally:
        os.chdir("/")


def test_without_a_folder_a_declaration_stands_in_the_working_directory(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    world.box.add({"name": "a", "exec": "true"}, Origin("cell", "cell", "c1"))
    assert world.box.registry.find("a").cwd.value == str(tmp_path)


def test_a_tilde_needs_the_home_in_the_floor(make_world: MakeWorld) -> None:
    document = {"name": "a", "exec": "true", "cwd": "~/x"}
    world = make_world(launcher=FakeLauncher())
    world.declare(document)
    assert world.box.registry.find("a").cwd.value == f"{world.folder}/x"
    without = make_world(launcher=FakeLauncher(), floor=("PATH",))
    assert [str(problem) for problem in without.add(document).problems] == [
        "cwd: `~` cannot be expanded without HOME; write the path in full"
    ]


# ---- files


def test_files_folders_and_globs_are_loaded_and_one_bad_file_stops_no_other(world: World) -> None:
    for name, text in {
        "tools/a.yaml": "name: a\nexec: pwd",
        "tools/b.yaml": "name: [\n",
        "tools/c.yaml": "- {name: c, exec: 'true'}\n- {name: d}",
        "more/e.yml": "tools: [{name: e, exec: 'true'}]",
    }.items():
        (world.folder / name).parent.mkdir(exist_ok=True)
        (world.folder / name).write_text(text)
    added = world.box.load("gone.yaml", "tools", "none/*.yaml", "more/*.yml", folder=str(world.folder))
    assert [tool.key for tool in added.tools] == ["public.a", "public.c", "public.e"]
    assert [report.tool for report in added.reports] == ["a", "c", "e"]
    assert [str(problem) for problem in added.problems] == [
        "gone.yaml: file not found",
        "tools/b.yaml: YAML line 2, column 1: no valid YAML; look at quotes and indentation",
        "tools/c.yaml: tools[1]: write exactly one of fn, exec, curl; found none (line 2)",
        "none/*.yaml: no file matches",
    ]
    assert world.box.registry.find("a").cwd.value == str(world.folder / "tools")


def test_loading_a_file_again_replaces_its_tools_also_by_another_path_to_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    path = world.folder / "t.yaml"
    path.write_text("- {name: a, exec: echo 1}\n- {name: b, exec: 'true'}")
    (world.folder / "link.yaml").symlink_to(path)
    world.box.load("t.yaml", folder=str(world.folder))
    path.write_text("- {name: a, exec: echo 2}")
    monkeypatch.chdir(world.folder)
    assert world.box.load("link.yaml").notices == ()
    assert [tool.key for tool in world.box.registry] == ["public.a"]


def test_the_same_key_from_two_files_is_an_error_that_names_both(world: World) -> None:
    for name in ("one.yaml", "two.yaml"):
        (world.folder / name).write_text("{name: a, exec: 'true'}")
    added = world.box.load("*.yaml", folder=str(world.folder))
    assert [str(problem) for problem in added.problems] == [
        "two.yaml: public.a: declared in one.yaml and in two.yaml; rename one or give it another group"
    ]
    assert [tool.origin.label for tool in added.tools] == ["one.yaml"]


def notebook(*cells: str) -> str:
    return json.dumps({"cells": [{"cell_type": "code", "id": f"c{at}", "source": text} for at, text in enumerate(cells)]})


def test_a_notebook_is_declared_without_running_its_other_code(make_world: MakeWorld) -> None:
    def describes(request: Request, stdout: Sink, stderr: Sink) -> Exit:
        return Exit(code=0, result=frame({"id": "public.add", "ok": True, "signature": True, "params": []}))

    world = make_world(launcher=FakeLauncher(describes))
    (world.folder / "more.yaml").write_text("{name: loaded, exec: 'true'}")
    (world.folder / "n.ipynb").write_text(
        notebook(
            "raise SystemExit('ran')",
            "%%mcc_tool\nname: a\nexec: 'true'",
            "%mcc_load more.yaml",
            "from mcc_jupyter import tool\n@tool(description='adds')\ndef add(a, b):\n    return a + b",
            "%%mcc_tool\nname: bad",
            "%mcc_load gone.yaml",
        )
    )
    added = world.box.load_notebook(str(world.folder / "n.ipynb"))
    assert [tool.key for tool in added.tools] == ["public.a", "public.loaded", "public.add"]
    assert [str(problem) for problem in added.problems] == [
        "cell 5: write exactly one of fn, exec, curl; found none",
        "cell 6: gone.yaml: file not found",
    ]
    assert world.box.registry.find("add").description == "adds"
    assert world.box.registry.find("a").cwd.value == str(world.folder)


def test_a_notebook_that_cannot_be_read_is_a_problem(world: World) -> None:
    path = world.folder / "gone.ipynb"
    assert [str(problem) for problem in world.box.load_notebook(str(path)).problems] == [f"{path}: file not found"]
    path.write_text("{}")
    assert [str(problem) for problem in world.box.load_notebook(str(path)).problems] == ["this is no notebook: it has no cells"]


# ---- availability


def test_an_unavailable_tool_raises_its_notice_and_starts_nothing(world: World) -> None:
    world.add("{name: linear, exec: 'true', required_env: [LINEAR_API_KEY, OTHER]}")
    with pytest.raises(ToolUnavailable) as caught:
        world.box.call("linear")
    notice = "Tool 'linear' is unavailable; missing required environment: LINEAR_API_KEY, OTHER"
    assert (str(caught.value), caught.value.tool, caught.value.reasons) == (notice, "linear", ("missing",))
    assert world.box.report("linear").notice == notice
    assert refusal(lambda: world.box.probe("linear")) == f"ToolUnavailable: {notice}"
    assert refusal(lambda: world.box.map("linear", [{}])) == f"ToolUnavailable: {notice}"
    assert requests(world) == []
    world.variables.update(LINEAR_API_KEY="x", OTHER="y")
    assert world.box.call("linear").ok


def test_groups_decide_who_may_call(make_world: MakeWorld) -> None:
    world = make_world(launcher=FakeLauncher(), identity=Identity("ana", groups=("dev",)))
    world.add("- {name: a, exec: 'true', groups: [ops]}\n- {name: b, exec: 'true', groups: [dev]}\n- {name: c, exec: 'true'}")
    with pytest.raises(ToolUnavailable) as caught:
        world.box.call("a")
    assert (str(caught.value), caught.value.reasons) == ("Tool 'a' is unavailable; not granted: it is for ops", ("not granted",))
    assert world.box.call("b").ok
    assert world.box.call("c").ok
    footer = " ".join(world.box.report("c").footer)
    assert "groups dev" in footer


def test_a_function_that_is_not_available_waits_for_its_first_use(make_world: MakeWorld) -> None:
    described = Exit(code=0, result=frame({"id": "public.f", "ok": True, "signature": True, "params": []}))
    launcher = FakeLauncher(described, Exit(code=0, result=frame({"ok": True, "value": 5})))
    world = make_world(launcher=launcher)
    added = world.add("{fn: m:f, required_env: [KEY]}")
    assert [(tool.name, tool.introspected) for tool in added.tools] == [("f", False)]
    assert launcher.requests == []
    world.variables["KEY"] = "x"
    assert world.box.call("f").value == 5
    assert world.box.registry.find("f").introspected
    assert [asked["mode"] for asked in launcher.frames()] == ["introspect", "call"]


def test_a_function_that_cannot_be_read_at_its_first_use_says_why(make_world: MakeWorld) -> None:
    launcher = FakeLauncher(Exit(code=0, result=frame({"id": "public.f", "ok": False, "error": "ImportError: no"})))
    world = make_world(launcher=launcher)
    world.add("{fn: m:f, required_env: [KEY]}")
    world.variables["KEY"] = "x"
    text = "DeclarationError: public.f: fn: ImportError: no"
    assert refusal(lambda: world.box.call("f")) == text
    assert refusal(lambda: world.box.report("f")) == text


def test_a_tool_is_asked_for_as_its_next_call_would_use_it(world: World) -> None:
    world.add("- {name: a, exec: 'true'}\n- {name: b, exec: 'true', required_env: [NOPE]}")
    assert world.box.available("a") is world.box.registry.find("a")
    assert refusal(lambda: world.box.available("b")).startswith("ToolUnavailable: Tool 'b' is unavailable; missing")
    assert refusal(lambda: world.box.available("c")).startswith("UnknownTool: No tool 'c'")


def test_arguments_are_checked_before_any_process(world: World) -> None:
    world.declare("{name: a, exec: 'echo {{ n }}', params: [{name: n, type: int}]}")
    with pytest.raises(ArgumentError) as caught:
        world.box.call("a", {"n": "SENTINEL", "m": 1})
    assert str(caught.value).splitlines() == [
        "Tool 'a': unknown argument `m`",
        "Tool 'a': argument `n` must be an integer",
    ]
    assert requests(world) == []


# ---- seeing


def test_ENV_22_report_and_call_are_resolved_by_one_function_each_time_anew(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    real = policy.resolve

    def counting(tool: object, **more: object) -> policy.Resolution:
        seen.append(getattr(tool, "name", None))
        return real(tool, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(policy, "resolve", counting)
    world.add("{name: a, exec: 'true', required_env: [A]}")
    assert not world.box.report("a").available
    assert refusal(lambda: world.box.call("a")).startswith("ToolUnavailable")
    world.variables["A"] = "1"
    assert world.box.report("a").available
    outcome = world.box.call("a")
    assert outcome.report == world.box.report("a")
    assert requests(world)[0].environ["A"] == "1"
    world.variables["A"] = "2"
    world.box.call("a")
    assert requests(world)[1].environ["A"] == "2"
    assert seen == ["a"] * 3  # declared, and once for each change of the environment


def test_the_full_report_has_withheld_names_and_program_paths(world: World) -> None:
    world.declare("{name: a, exec: 'sh -c x; no-such-program'}")
    full = world.box.report("a", everything=True)
    assert full.withheld is not None
    assert "TOKEN" in full.withheld
    assert dict(full.programs or ()) == {"sh": shutil.which("sh", path="/usr/bin:/bin"), "no-such-program": None}
    plain = world.box.report("a")
    assert (plain.withheld, plain.programs) == (None, None)


def test_the_footer_says_whose_values_these_are_and_what_is_not_isolated(make_world: MakeWorld) -> None:
    world = make_world(launcher=FakeLauncher(), place="this kernel")
    world.declare("{name: a, exec: 'true'}")
    whose, isolation = world.box.report("a").footer
    assert whose == (
        "From this kernel, which holds these values anyway. Identity: the local user, all groups, by its own statement."
    )
    assert isolation == FakeLauncher().isolation.line(kernel=True)
    nobody = make_world(launcher=FakeLauncher(), identity=Identity("ana", groups=()))
    nobody.declare("{name: a, exec: 'true'}")
    assert "the local user, groups none, by its own statement" in nobody.box.report("a").footer[0]


def test_a_matrix_shows_all_tools_and_counts_those_beyond_its_size(world: World) -> None:
    world.declare("- {name: a, exec: 'true', env_passthrough: [TOKEN]}\n- {name: b, exec: 'true', required_env: [NOPE]}")
    matrix = world.box.matrix()
    assert [(row.tool, row.available) for row in matrix.rows] == [("a", True), ("b", False)]
    assert matrix.more_tools == 0
    assert matrix.footer == world.box.report("a").footer
    world.declare([{"name": f"t{number}", "exec": "true"} for number in range(103)])
    assert (len(world.box.matrix().rows), world.box.matrix().more_tools) == (100, 5)


def test_tools_are_listed_with_kind_state_and_the_first_line_of_their_description(world: World) -> None:
    world.declare("- {name: b, exec: 'true', description: \"one\\ntwo\"}\n- {name: a, curl: 'https://h.test', required_env: [NOPE]}")
    listing = world.box.listing()
    assert listing.columns == ("tool", "kind", "state", "description")
    assert listing.rows == (("a", "curl", "unavailable", ""), ("b", "exec", "available", "one"))
    assert world.box.listing([world.box.registry.find("b")]).rows == listing.rows[1:]
    assert world.box.listing([]).text() == "no tools are declared"
    assert world.box.is_available(world.box.registry.find("b"))
    world.declare("{name: b, exec: 'true', groups: [ops]}")
    assert [row[0] for row in world.box.listing().rows] == ["a", "ops.b", "public.b"]
    assert world.box.listing([world.box.registry.find("public.b")]).rows[0][0] == "public.b"


def test_the_session_is_listed_by_key_type_and_size(world: World) -> None:
    world.box.session["rows"] = "SENTINEL" * 200
    listing = session_listing(world.box.session)
    assert listing.columns == ("key", "type", "size")
    assert listing.rows[0][::2] == ("user", "identity")
    assert listing.rows[-1] == ("rows", "text", "1,602 bytes")
    assert "SENTINEL" not in listing.text()


def test_nothing_that_a_toolbox_gives_shows_a_value_when_it_is_printed(world: World) -> None:
    (world.folder / "a.env").write_text(f"FROM_FILE={SECRET}x\n")
    document = {
        "name": "a",
        "exec": "echo $TOKEN {{ key }} {{ arg }}",
        "env": {"BAKED": "${TOKEN}"},
        "env_file": "a.env",
        "params": [{"name": "key", "override": "${TOKEN}"}, {"name": "arg"}, {"name": "other", "default": "${TOKEN}"}],
        "cwd": "/",
    }
    added = world.add(document)
    world.box.session["k"] = "session-value"
    outcome = world.box.call("a", {"arg": "argument-value"})
    resolved = world.box._available("a")
    for item in (added, added.tools[0], added.reports[0], outcome, resolved, resolved.resolution, resolved.resolution.bindings, resolved.context, requests(world)[0], world.box, world.box.session, world.box.registry, world.box.matrix(), world.box.listing()):
        for value in (SECRET, "session-value", "argument-value"):
            assert value not in repr(item), type(item)


# ---- session


def test_the_session_takes_no_value_of_a_variable_that_is_named_like_a_credential(make_world: MakeWorld) -> None:
    box = make_world({"DB_PASSWORD": SECRET, "SOME_NAME": "a-value-of-no-secret"}).box
    text = "SecretError: session: the value of `k` holds DB_PASSWORD; give tools the variable instead"
    assert refusal(lambda: box.session.__setitem__("k", f"x{SECRET}")) == text
    box.session["k"] = "a-value-of-no-secret"


def test_a_secret_whose_name_tells_nothing_is_known_from_its_declaration_on_and_before_it_by_nobody(world: World) -> None:
    world.variables["LINE"] = "a-line-of-no-name"
    world.box.session["early"] = "a-line-of-no-name"
    world.declare("{name: a, exec: 'true', env_passthrough: [LINE]}")
    text = "SecretError: session: the value of `k` holds LINE; give tools the variable instead"
    assert refusal(lambda: world.box.session.__setitem__("k", "xa-line-of-no-name")) == text
    world.variables["LINE"] = "Sk_Live_Another_One"
    assert world.box.report("a").available
    text = "SecretError: session: a key holds LINE; give tools the variable instead"
    assert refusal(lambda: world.box.session.__setitem__("sk_live_another_one", 1)) == text


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (lambda box: box.call(5), "a tool's name is text, like `query`, and not of type int"),
        (lambda box: box.report(5), "a tool's name is text, like `query`, and not of type int"),
        (lambda box: box.load(5), "load: a path is text, like `tools.yaml`, and not of type int"),
        (lambda box: box.load("a.yaml", "\0"), "load: a path holds a NUL byte, which no file's name can; remove it"),
        (lambda box: box.call("a", 5), "Tool 'a': arguments are a mapping of parameter names to values, like {'n': 3}"),
        (lambda box: box.call("a", {1: 2}), "Tool 'a': arguments are a mapping of parameter names to values, like {'n': 3}"),
        (lambda box: box.map("a", 5), "map: arguments are a list of mappings, one for each call"),
        (lambda box: box.map("a", "ab"), "map: arguments are a list of mappings, one for each call"),
        (lambda box: box.map("a", {"n": 1}), "map: arguments are a list of mappings, one for each call"),
        (lambda box: box.map("a", [5]), "arguments[0]: Tool 'a': arguments are a mapping of parameter names to values, like {'n': 3}"),
        (lambda box: box.map("a", [{}], workers=-1), "map: workers must be a whole number above 0, or None"),
        (lambda box: box.map("a", [{}], workers=1.5), "map: workers must be a whole number above 0, or None"),
    ],
)
def test_what_is_of_a_wrong_type_is_told_in_one_line(world: World, action: Callable[[Toolbox], object], text: str) -> None:
    world.declare("{name: a, exec: 'true'}")
    assert refusal(lambda: action(world.box)) == f"ArgumentError: {text}"


def test_a_value_that_a_call_used_is_refused_by_the_session(world: World) -> None:
    world.declare("{name: a, exec: 'true', env_passthrough: [TOKEN]}")
    text = "SecretError: session: the value of `k` holds TOKEN; give tools the variable instead"
    assert refusal(lambda: world.box.session.__setitem__("k", f"x{SECRET}")) == text
    world.variables["TOKEN"] = "sk-live-another-one"
    world.box.call("a")
    assert refusal(lambda: world.box.session.__setitem__("k", "sk-live-another-one")) == text
    assert refusal(lambda: world.box.session.__setitem__("k", SECRET)) == text, "the earlier value is still a secret"
    world.box.session["k"] = "harmless"


def test_every_call_sees_the_session_as_it_is_then(world: World) -> None:
    world.declare("{name: a, exec: 'true'}")
    world.box.session["rows"] = 1
    world.box.call("a")
    world.box.session["rows"] = 2
    world.box.identity = Identity("eve", groups=("dev",))
    world.box.call("a")
    first, second = (request.environ for request in requests(world))
    assert (first["MCC_CTX_ROWS"], first["MCC_CTX_GROUPS"]) == ("1", '["admin"]')
    assert (second["MCC_CTX_ROWS"], second["MCC_CTX_USER"], second["MCC_CTX_GROUPS"]) == ("2", "eve", '["dev"]')


def test_ENV_20_a_session_of_an_outer_caller_is_nobodys_here(make_world: MakeWorld) -> None:
    outer = {"MCC_CTX": '{"user": "outer"}', "MCC_CTX_USER": "outer", "MCC_CTX_ROLE": "admin", "MCC_SESSION_FILE": "/x"}
    world = make_world(outer, launcher=FakeLauncher(), identity=Identity("ana"))
    world.declare("{name: a, exec: 'true', env_passthrough: ['MCC_*']}")
    world.box.call("a")
    environ = requests(world)[0].environ
    assert {name: value for name, value in environ.items() if name.startswith("MCC")} == {
        "MCC_CTX_USER": "ana",
        "MCC_CTX_GROUPS": '["admin"]',
        "MCC_CTX_TOOLS": "[]",
    }


# ---- notes of a call


def test_a_reference_that_has_another_value_by_now_is_told_by_name(world: World) -> None:
    world.declare("{name: a, exec: 'echo $TOKEN', env: {R: '${REGION}'}}")
    assert world.box.call("a").notes == ("not redacted, because short or common: R, REGION",)
    world.variables["TOKEN"] = "sk-live-another-one"
    note = "declared earlier: TOKEN has another value by now; declare the tool again to use it"
    assert world.box.call("a").notes == (note, "not redacted, because short or common: R, REGION")
    assert requests(world)[1].environ["TOKEN"] == SECRET


# ---- the cache


def counter(*, code: int = 0) -> FakeLauncher:
    """Prints how many calls there have been."""
    launcher = FakeLauncher()

    def answer(request: Request, stdout: Sink, stderr: Sink) -> Exit:
        stdout(f"{len(launcher.requests)}\n".encode())
        return Exit(code=code)

    launcher.answers = [answer]
    return launcher


def test_an_outcome_is_used_again_while_nothing_it_depends_on_changed(make_world: MakeWorld) -> None:
    world = make_world({"A": "1", "B": "1"}, launcher=counter())
    document = "{name: a, exec: 'true {{ n }}', cache_ttl: 60, env_passthrough: [A], params: [{name: n, default: '1'}]}"
    world.declare(document, cell="c1")

    def value(**arguments: object) -> tuple[str, str]:
        outcome = world.box.call("a", arguments)
        assert outcome.ok
        return outcome.value, outcome.mode

    assert value() == ("1\n", "process")
    assert value(n="1") == ("1\n", "cached")
    world.variables["B"] = "2"
    assert value() == ("1\n", "cached")
    assert value(n="2") == ("2\n", "process")
    world.variables["A"] = "2"
    assert value() == ("3\n", "process")
    world.box.session["k"] = 1
    assert value() == ("4\n", "process")
    world.box.identity = Identity("eve")
    assert value() == ("5\n", "process")
    world.declare(document, cell="c1")
    assert value() == ("6\n", "process")
    assert value() == ("6\n", "cached")
    assert world.box.call("a").seconds == 0


def test_a_failure_is_not_cached_nor_is_a_tool_that_did_not_ask_for_it(make_world: MakeWorld) -> None:
    failing = make_world(launcher=counter(code=1))
    failing.declare("{name: a, exec: 'true', cache_ttl: 60}")
    assert [failing.box.call("a").stdout for _ in range(2)] == ["1\n", "2\n"]
    plain = make_world(launcher=counter())
    plain.declare("{name: a, exec: 'true'}")
    assert [plain.box.call("a").stdout for _ in range(2)] == ["1\n", "2\n"]


def test_a_cached_outcome_expires(make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    now, launcher = [1000.0], counter()
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    world = make_world(launcher=launcher)
    world.declare("{name: a, exec: 'true', cache_ttl: 60}")
    values = []
    for _ in range(4):
        values.append(world.box.call("a").value)
        now[0] += 30.5
    assert values == ["1\n", "1\n", "2\n", "2\n"]


# ---- env files


def test_DOT_34_an_env_file_that_is_missing_makes_the_tool_unavailable_with_the_path_as_written(world: World) -> None:
    world.add("{name: a, exec: 'true', env_file: ./not-there.env}")
    with pytest.raises(ToolUnavailable) as caught:
        world.box.call("a")
    assert str(caught.value) == "Tool 'a' is unavailable; env_file not found: ./not-there.env"
    assert caught.value.reasons == ("env_file",)
    assert requests(world) == []


@pytest.mark.parametrize("written", ["''", "null", "'a.env '", "' a.env'"])
def test_DOT_34_a_path_that_can_be_none_is_an_error_at_declaration(written: str, world: World) -> None:
    (problem,) = world.add(f"{{name: a, exec: 'true', env_file: {written}}}").problems
    assert problem.path == "env_file"


def test_DOT_39_a_relative_env_file_stays_where_it_was_declared(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    (world.folder / "conf").mkdir()
    (world.folder / "conf" / "a.env").write_text("A=declared\n")
    monkeypatch.chdir(world.folder)
    world.box.add({"name": "a", "exec": "true", "env_file": "conf/a.env"}, Origin("cell", "cell", "c1"))
    world.box.add({"name": "b", "exec": "true", "env_file": "~/conf/a.env"}, Origin("cell", "cell", "c2"))
    other = world.folder / "other"
    (other / "conf").mkdir(parents=True)
    (other / "conf" / "a.env").write_text("A=another\n")
    monkeypatch.chdir(other)
    assert world.box.call("a").ok
    assert world.box.call("b").ok
    assert [request.environ["A"] for request in requests(world)] == ["declared", "declared"]


def test_DOT_43_an_env_file_is_read_anew_for_each_call(world: World) -> None:
    path = world.folder / "a.env"
    path.write_text("A=1\n")
    world.declare("{name: a, exec: 'true', env_file: a.env}")
    for value in ("2", "3"):
        path.write_text(f"A={value}\n")
        os.utime(path, (1, 1))
        world.box.call("a")
    assert [request.environ["A"] for request in requests(world)] == ["2", "3"]


def test_DOT_44_a_value_too_large_for_a_variable_is_told_by_its_name_and_the_limit(world: World) -> None:
    (world.folder / "a.env").write_text("TOKEN=" + "x" * 200_000 + "\n")
    world.add("{name: a, exec: 'true', env_file: a.env}")
    assert refusal(lambda: world.box.call("a")) == (
        "ToolUnavailable: Tool 'a' is unavailable; variable TOKEN has 200,006 bytes with its name; one variable may have 131,071"
    )
    (world.folder / "a.env").write_text("TOKEN=" + "x" * 5_000_000 + "\n")
    assert refusal(lambda: world.box.call("a")) == "ToolUnavailable: Tool 'a' is unavailable; env_file is larger than 1 MiB: a.env"


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """One writer for one reader: what is written once can be read once."""
    thread = threading.Thread(target=path.write_text, args=("FIFO=yes\n",))
    thread.start()
    yield
    thread.join(10)
    assert not thread.is_alive(), "nobody read it"


@pytest.mark.parametrize("kind", ["exec", "fn"])
def test_DOT_37_a_pipe_is_read_once_by_a_declaration_a_report_and_a_call_each(kind: str, make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "PIPE_SECONDS", 3)  # a second read would wait for nobody
    described = Exit(code=0, result=frame({"id": "public.f", "ok": True, "signature": True, "params": []}))
    launcher = FakeLauncher(described, Exit(code=0, result=frame({"ok": True, "value": 5}))) if kind == "fn" else FakeLauncher()
    world = make_world(launcher=launcher)
    os.mkfifo(world.folder / "e.env")
    with writing(world.folder / "e.env"):
        world.declare({"name": "f", kind: "m:f" if kind == "fn" else "true", "env_file": "e.env"})
    with writing(world.folder / "e.env"):
        assert world.box.report("f").available
    with writing(world.folder / "e.env"):
        assert world.box.call("f").ok
    assert launcher.requests[-1].environ["FIFO"] == "yes"


def test_DOT_37_a_pipe_without_a_writer_makes_the_tool_unavailable(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "PIPE_SECONDS", 0.02)
    os.mkfifo(world.folder / "e.env")
    added = world.add("{name: a, exec: 'true', env_file: e.env}")
    notice = "Tool 'a' is unavailable; env_file is a pipe and nobody writes to it: e.env"
    assert added.reports[0].notice == world.box.report("a").notice == notice
    assert refusal(lambda: world.box.call("a")) == f"ToolUnavailable: {notice}"


# ---- a tool that runs once, and probes


def test_a_command_that_runs_once_is_run_as_it_is_written_and_naming_a_variable_grants_nothing(world: World) -> None:
    world.box.once({"name": "sh", "exec": "echo $TOKEN '${TOKEN}' ${A|b}"}, Origin("cell", "cell"))
    world.box.once({"name": "sh", "exec": ["echo", "$HOME"]}, Origin("cell", "cell"))
    first, second = requests(world)
    assert first.payload == b"exec 9<&-; echo $TOKEN '${TOKEN}' ${A|b}"
    assert "TOKEN" not in first.environ
    assert second.argv == ("echo", str(world.folder))


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), True, "5"])
def test_a_time_limit_of_a_call_is_a_number_of_seconds_above_zero(timeout: object, world: World) -> None:
    world.declare("{name: a, exec: 'true'}")
    assert refusal(lambda: world.box.call("a", timeout=timeout)) == (  # type: ignore[arg-type]
        "ArgumentError: Tool 'a': timeout must be a number of seconds above 0"
    )
    assert requests(world) == []


def test_a_tool_that_is_run_once_is_kept_nowhere(world: World) -> None:
    shown: list[str] = []
    document = {"name": "sh", "exec": "true", "env": {"A": "1"}}
    outcome = world.box.once(document, Origin("cell", "cell", "c1"), timeout=3, show=lambda _, text: shown.append(text))
    assert outcome.ok
    assert len(world.box.registry) == 0
    assert (requests(world)[0].environ["A"], requests(world)[0].timeout) == ("1", 3)
    assert refusal(lambda: world.box.once({"name": "sh"}, Origin("cell", "cell"))) == (
        "DeclarationError: write exactly one of fn, exec, curl; found none"
    )
    missing = {"name": "sh", "exec": "true", "required_env": ["NOPE"]}
    assert refusal(lambda: world.box.once(missing, Origin("cell", "cell"))) == (
        "ToolUnavailable: Tool 'sh' is unavailable; missing required environment: NOPE"
    )


PROBES = [
    (("A", "B"), ("A", "B"), (), (), True, "t: the child received exactly the 2 names of the report"),
    (("A", "B", "X", "Y"), ("A", "B"), ("X", "Y"), (), False, "t: received but not reported: X, Y"),
    (("A",), ("A", "B"), (), ("B",), False, "t: reported but not received: B"),
    (("X",), ("B",), ("X",), ("B",), False, "t: received but not reported: X; reported but not received: B"),
]


@pytest.mark.parametrize(("received", "reported", "unexpected", "absent", "ok", "text"), PROBES)
def test_a_probe_compares_what_was_received_with_what_was_reported(
    received: tuple[str, ...], reported: tuple[str, ...], unexpected: tuple[str, ...], absent: tuple[str, ...], ok: bool, text: str
) -> None:
    probe = Probe("t", received, reported)
    assert (probe.unexpected, probe.absent, probe.ok, str(probe)) == (unexpected, absent, ok, text)


@pytest.mark.parametrize(
    ("exit", "why"),
    [
        (Exit(error="`/no/py` does not exist"), "`/no/py` does not exist"),
        (Exit(code=1), "its interpreter gave no answer"),
        (Exit(code=0, result=frame({"ok": True})), "its interpreter gave no answer"),
    ],
)
def test_a_probe_without_an_answer_says_why(exit: Exit, why: str, make_world: MakeWorld) -> None:
    world = make_world(launcher=FakeLauncher(exit))
    world.declare("{name: a, exec: 'true'}")
    assert refusal(lambda: world.box.probe("a")) == f"ToolUnavailable: Tool 'a' could not be probed; {why}"


def test_a_probes_child_may_print_what_it_likes(make_world: MakeWorld) -> None:
    def noisy(request: Request, stdout: Sink, stderr: Sink) -> Exit:
        stdout(b"noise")
        stderr(b"noise")
        return Exit(code=0, result=frame({"ok": True, "names": sorted(request.environ)}))

    world = make_world(launcher=FakeLauncher(noisy))
    world.declare("{name: a, exec: 'true'}")
    assert world.box.probe("a").ok


def test_a_toolbox_starts_no_launcher_before_it_is_needed_and_can_be_closed_at_any_time() -> None:
    box = Toolbox(lambda: {"PATH": "/usr/bin"})
    box.close()
    assert box._launcher is None
    assert refusal(lambda: box.call("nothing")).startswith("UnknownTool")
    assert issubclass(UnknownTool, MccError)
