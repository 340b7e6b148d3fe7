"""SPEC 2.8: signatures are read in children, one for all functions that share a world; each function fails alone."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from mcc_jupyter.core.command import Request
from mcc_jupyter.core.policy import resolve
from mcc_jupyter.core.resolution import Context, Resolution
from mcc_jupyter.core.tool import MISSING, Function, Limits, Origin, Param, Text, Tool
from mcc_jupyter.core.values import ValueClass
from mcc_jupyter.runtime.introspect import Introspected, frames, introspect
from mcc_jupyter.runtime.launcher import Exit

from .conftest import FakeLauncher, Sink, World, frame

SECRET = "sk-live-0123456789"
PARENT = {"TOKEN": SECRET, "OTHER": "x"}


def tool(name: str, **fields: object) -> Tool:
    fields = {"body": Function(f"m:{name}"), "origin": Origin("cell", "cell"), "cwd": Text("/w", "/w"), **fields}
    return Tool(name=name, **fields)  # type: ignore[arg-type]


def pairs(*tools: Tool, parent: Mapping[str, str] = PARENT) -> list[tuple[Tool, Resolution]]:
    return [(item, resolve(item, parent=parent, floor=())) for item in tools]


def run(launcher: FakeLauncher, *tools: Tool, room: int = 1_000_000) -> Introspected:
    return introspect(pairs(*tools), context=Context(), launcher=launcher, interpreter="/py", room=room)  # type: ignore[arg-type]


def described(name: str, **more: object) -> bytes:
    params = [{"name": "x", "type": "int", "required": True, "schema": {"type": "integer"}}]
    return frame({"id": f"public.{name}", "ok": True, "params": params, "signature": True, "description": f"about {name}", **more})


def everything(request: Request, stdout: Sink, stderr: Sink) -> Exit:
    """Describes every function it is asked for."""
    asked = marshal.loads(request.payload or b"")
    return Exit(code=0, result=b"".join(described(item["id"].removeprefix("public.")) for item in asked["targets"]))


def test_functions_that_share_a_world_are_read_by_one_child() -> None:
    launcher = FakeLauncher(everything)
    result = run(launcher, tool("f"), tool("g"))
    assert len(launcher.requests) == 1
    assert [(item.name, item.introspected, item.description) for item in result.tools] == [
        ("f", True, "about f"),
        ("g", True, "about g"),
    ]
    assert [param.name for param in result.tools[0].params] == ["x"]
    assert (result.problems, result.printed) == ((), "")


WORLDS = [
    pytest.param({"cwd": Text("/other", "/other")}, id="folder"),
    pytest.param({"python": Text("/other/py", "/other/py")}, id="interpreter"),
    pytest.param({"passthrough": ("TOKEN",)}, id="environment"),
    pytest.param({"limits": Limits(timeout=1)}, id="limits"),
    pytest.param({"isolation": False}, id="isolation"),
]


@pytest.mark.parametrize("fields", WORLDS)
def test_another_world_is_another_child(fields: dict[str, object]) -> None:
    launcher = FakeLauncher(everything)
    result = run(launcher, tool("f"), tool("g", **fields), tool("h"))
    assert [[item["id"] for item in asked["targets"]] for asked in launcher.frames()] == [["public.f", "public.h"], ["public.g"]]  # type: ignore[attr-defined]
    assert sorted(item.name for item in result.tools) == ["f", "g", "h"]


def test_a_function_fails_alone_with_its_traceback() -> None:
    bad = frame({"id": "public.f", "ok": False, "error": "ValueError: no", "traceback": "  File m.py, line 3\n", "kind": "import"})
    result = run(FakeLauncher(Exit(code=0, result=bad + described("g"))), tool("f"), tool("g"))
    assert [item.name for item in result.tools] == ["g"]
    assert [str(problem) for problem in result.problems] == ["public.f: fn: ValueError: no\n  File m.py, line 3"]


def test_a_failure_without_a_traceback_is_its_text() -> None:
    bad = frame({"id": "public.f", "ok": False, "error": "`m:f`: there is no `f`", "traceback": ""})
    result = run(FakeLauncher(Exit(code=0, result=bad)), tool("f"))
    assert [str(problem) for problem in result.problems] == ["public.f: fn: `m:f`: there is no `f`"]


def test_parameters_that_do_not_fit_are_told_by_their_path() -> None:
    result = run(FakeLauncher(everything), tool("f", params=(Param("z", given=frozenset({"name"})),)))
    assert result.tools == ()
    assert [str(problem) for problem in result.problems] == [
        "public.f: params[0].name: the function has no parameter `z`; its parameters are `x`"
    ]


def test_an_import_that_ended_the_interpreter_takes_no_other_function_with_it() -> None:
    def ends_at_g(request: Request, stdout: Sink, stderr: Sink) -> Exit:
        asked = [item["id"] for item in marshal.loads(request.payload or b"")["targets"]]
        before = asked[: asked.index("public.g")] if "public.g" in asked else asked
        return Exit(code=0 if before == asked else 3, result=b"".join(described(key.removeprefix("public.")) for key in before))

    launcher = FakeLauncher(ends_at_g)
    result = run(launcher, tool("f"), tool("g"), tool("h"))
    assert sorted(item.name for item in result.tools) == ["f", "h"]
    assert [str(problem) for problem in result.problems] == [
        "public.g: fn: its interpreter ended while importing the module; run the import alone to see why"
    ]
    assert len(launcher.requests) == 3


@pytest.mark.parametrize(
    ("exit", "why"),
    [
        (Exit(error="`/no/py` does not exist"), "`/no/py` does not exist; run the import alone to see why"),
        (Exit(stopped="timeout"), "its import was stopped (limits.timeout); run the import alone to see why"),
    ],
)
def test_a_child_that_could_not_answer_says_why_for_each_function(exit: Exit, why: str) -> None:
    result = run(FakeLauncher(exit), tool("f"))
    assert [str(problem) for problem in result.problems] == [f"public.f: fn: {why}"]


def test_a_limit_that_may_have_kept_the_interpreter_from_starting_is_named() -> None:
    result = run(FakeLauncher(Exit(code=1)), tool("f", limits=Limits(mem_mb=4, nofile=3, cpu_sec=1, fsize_mb=1, timeout=9)))
    (problem,) = result.problems
    assert str(problem) == (
        "public.f: fn: its interpreter ended while importing the module; a limit may be too low for it: "
        "limits.mem_mb, limits.nofile, limits.cpu_sec, limits.fsize_mb"
    )


def test_a_child_that_could_not_start_is_not_tried_once_for_each_function() -> None:
    launcher = FakeLauncher(Exit(error="no process can be started"))
    result = run(launcher, tool("f"), tool("g"))
    assert len(launcher.requests) == 1
    assert [problem.path for problem in result.problems] == ["public.f", "public.g"]


def test_a_world_too_large_for_a_process_leaves_its_functions_for_their_first_call() -> None:
    launcher = FakeLauncher(everything)
    large = tool("f", env={"A": Text("x" * 200_000, "x" * 200_000)})
    result = run(launcher, large, tool("g"))
    assert [(item.name, item.introspected) for item in result.tools] == [("f", False), ("g", True)]
    assert result.problems == ()
    assert len(launcher.requests) == 1


def test_what_modules_print_and_say_is_redacted_for_every_function_of_the_batch() -> None:
    def leaks(request: Request, stdout: Sink, stderr: Sink) -> Exit:
        for piece in (b"token=sk-live", b"-0123456789\n", b"caf\xe9\n"):
            stdout(piece)
        stderr(f"warning {SECRET}\n".encode())
        answer = {"ok": False, "error": f"KeyError: {SECRET}", "traceback": f"  at {SECRET}", "kind": "import"}
        return Exit(code=0, result=frame({"id": "public.f", **answer}) + frame({"id": "public.g", **answer}))

    # The first does not count the token as a secret, the second does.
    open_ = tool("f", passthrough=("TOKEN",), never_redact=frozenset({"TOKEN"}))
    closed = tool("g", passthrough=("TOKEN",))
    result = run(FakeLauncher(leaks), open_, closed)
    assert result.printed == "token=[redacted:TOKEN]\ncaf\ufffd\nwarning [redacted:TOKEN]\n"
    assert [str(problem) for problem in result.problems] == [
        f"public.{name}: fn: KeyError: [redacted:TOKEN]\n  at [redacted:TOKEN]" for name in ("f", "g")
    ]
    assert SECRET not in repr(result)


def test_what_modules_print_is_not_in_the_repr() -> None:
    assert "hello" not in repr(Introspected(printed="hello"))


# ---- frames


FRAMES = [
    pytest.param(None, [], id="nothing"),
    pytest.param(b"", [], id="no byte"),
    pytest.param(frame({"a": 1}), [{"a": 1}], id="one"),
    pytest.param(frame({"a": "é"}) + frame({"b": [None]}), [{"a": "é"}, {"b": [None]}], id="two"),
    pytest.param(frame({"a": 1})[:-1], [], id="cut at its end"),
    pytest.param(frame({"a": 1}) + b"0000", [{"a": 1}], id="a second one cut in its head"),
    pytest.param(frame({"a": 1}) + frame({"b": 2})[:-3], [{"a": 1}], id="a second one cut in its body"),
    pytest.param(b"zzzzzzzz\n{}", [], id="no length"),
    pytest.param(b"-0000009\n{}", [], id="a negative length"),
    pytest.param(b"00000005\nnojson", [], id="no JSON"),
    pytest.param(frame([1]), [], id="no mapping"),
    pytest.param(frame({"a": 1}) + frame([1]) + frame({"b": 2}), [{"a": 1}], id="no mapping between others"),
    pytest.param(b"00030d40\n" + b"[" * 200_000, [], id="nested too deeply"),
]


@pytest.mark.parametrize(("data", "answers"), FRAMES)
def test_answers_are_read_as_far_as_they_are_whole(data: bytes | None, answers: list[object]) -> None:
    assert frames(data) == answers


def test_FN_09_integers_are_read_exactly_and_over_long_ones_make_no_answer() -> None:
    for number in (2**80, -(2**80), 10**4299, -(10**4299)):
        assert frames(frame({"n": number})) == [{"n": number}]
    for text in (b'{"n": 1%s}' % (b"0" * 4300), b'{"n": -1%s}' % (b"0" * 1_000_000)):
        assert frames(b"%08x\n" % len(text) + text + frame({"b": 2})) == []


# ---- what may be shown of a description


def test_LEAK_a_description_is_shown_without_the_secrets_in_it() -> None:
    deep: list[object] = []
    for _ in range(600):
        deep = [deep]
    params = [
        {"name": "a", "type": "str", "required": False, "default": SECRET, "description": f"is {SECRET}", "schema": {"type": "string"}},
        {"name": "b", "type": "str", "required": True, "enum": ["x", SECRET], "schema": {"enum": ["x", SECRET]}},
        {"name": "c", "type": "list", "required": True, "schema": {"type": "array", "items": {"enum": [SECRET]}}},
        {"name": "d", "type": "any", "required": True, "enum": [SECRET], "schema": {"enum": [SECRET]}},
        {"name": "e", "type": "str", "required": False, "default": "x", "enum": ["x"], "schema": {"enum": ["x"]}},
        {"name": "f", "type": "list", "required": False, "default": deep, "schema": {"type": "array"}},
        "no mapping",
    ]
    answer = described("f", params=params, description=f"with {SECRET}", notes=[f"note {SECRET}"])
    (found,) = run(FakeLauncher(Exit(code=0, result=answer)), tool("f", passthrough=("TOKEN",))).tools
    assert (found.description, found.notes) == ("with [redacted:TOKEN]", ("note [redacted:TOKEN]",))
    told = [(item.name, item.type, item.required, item.default, item.enum, item.schema) for item in found.params]
    assert told == [
        ("a", "str", False, MISSING, None, {"type": "string"}),
        ("b", "str", True, MISSING, None, {"type": "string"}),
        ("c", "list", True, MISSING, None, {"type": "array"}),
        ("d", "any", True, MISSING, None, {}),
        ("e", "str", False, "x", ("x",), {"enum": ["x"]}),
        ("f", "list", False, MISSING, None, {"type": "array"}),
    ]
    assert found.params[0].description == "is [redacted:TOKEN]"


def test_a_description_without_parameters_is_one_too() -> None:
    answer = described("f", params=None)
    (found,) = run(FakeLauncher(Exit(code=0, result=answer)), tool("f")).tools
    assert found.params == ()


def test_of_what_imports_print_the_head_and_the_tail_are_kept() -> None:
    def loud(request: Request, stdout: Sink, stderr: Sink) -> Exit:
        for _ in range(64):
            stdout(b"x" * 65536)
        return everything(request, stdout, stderr)

    printed = run(FakeLauncher(loud), tool("f", limits=Limits(output_mb=1))).printed
    assert len(printed) < 1_100_000
    assert "[… 3145728 bytes omitted …]" in printed


# ---- with a real child


def test_real_modules_are_read_with_the_environment_of_the_tools(make_world: Callable[..., World]) -> None:
    world = make_world({"GREETING": "hi"})
    world.module("m", 'import os\nprint("importing", os.environ["GREETING"])\ndef f(n: int = 3, context=None):\n    "About f."\n')
    world.module("broken", "import os\nX = os.environ['NOT_THERE']\ndef g(): ...\n")
    added = world.add([{"fn": "m:f", "optional_env": ["GREETING"]}, {"fn": "broken:g"}])
    (known,) = added.tools
    assert (known.description, known.takes_context, [param.name for param in known.params]) == ("About f.", True, ["n"])
    assert added.printed == "importing hi\n"
    (problem,) = added.problems
    assert str(problem).splitlines()[:2] == [
        "public.g: fn: cannot import `broken` (broken.py, line 2): KeyError: 'NOT_THERE'",
        "add NOT_THERE to required_env or env_passthrough",
    ]


def test_a_tool_keeps_everything_else_it_was_declared_with() -> None:
    given = tool("f", env={"A": Text("1", "1", ValueClass.SET)}, cache_ttl=5.0, notes=("a note",))
    (found,) = run(FakeLauncher(everything), given).tools
    assert replace(found, params=(), description="", introspected=False) == given


def test_an_answer_for_nobody_is_not_looked_at() -> None:
    stray = frame({"names": ["A"], "ok": True}) + frame({"id": "public.zzz", "ok": True, "params": []})
    result = run(FakeLauncher(Exit(code=0, result=stray + described("f"))), tool("f"))
    assert [item.name for item in result.tools] == ["f"]
