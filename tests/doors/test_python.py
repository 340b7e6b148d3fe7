"""``import mcc_jupyter as mcc``: the same verbs for Python code, in a shell and without one."""

from __future__ import annotations

import asyncio
import functools
import importlib
import inspect
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

import mcc_jupyter as mcc
from mcc_jupyter.core.errors import ArgumentError, DeclarationError, ToolFailed, ToolUnavailable, UnknownTool
from mcc_jupyter.doors import python as door
from tests.processes import alive, until

TOOLS = """\
- name: greet
  description: Says hello.
  exec: printf 'hello %s%s' {{ who | quote }} {{ mark | quote }}; echo working >&2
  params: [{name: who}, {name: mark, default: "!"}, {name: key, override: hidden}]
- {name: failing, exec: "echo before; exit 3"}
- {name: linear, exec: x, required_env: [LINEAR_API_KEY]}
- {name: twice, exec: x}
- {name: twice, exec: x, groups: [ops]}
- {name: with-dash, exec: printf dash}
- {name: slow, exec: "echo $$ > pid; sleep 300"}
- {name: much, exec: "seq 300000"}
- {name: number, exec: "test {{ n }} -ge 0 && echo {{ n }}", params: [{name: n, type: int}]}
"""


@pytest.fixture(scope="module", autouse=True)
def process() -> Iterator[None]:
    """The toolbox of this process, with its launcher: what one test starts last is not another's child."""
    box = door.toolbox()
    assert box.once({"name": "first", "exec": "true"}, door.cell_origin(None, "first")).ok
    yield
    box.close()


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    box = door.toolbox()
    for tool in box.registry:
        box.registry.remove(tool.key)
    mcc.session.clear()


@pytest.fixture
def declared(tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text(TOOLS)
    mcc.load("tools.yaml")


# mcc.tools


def test_a_tool_is_an_attribute_and_an_item_by_name_and_by_key(declared: None) -> None:
    assert mcc.tools.greet(who="Ada") == "hello Ada!"
    assert mcc.tools["greet"](who="Ada") == "hello Ada!"
    assert mcc.tools["public.greet"](who="Ada") == "hello Ada!"
    assert mcc.tools["with-dash"]() == "dash"


def test_arguments_may_be_given_by_position(declared: None) -> None:
    assert mcc.tools.greet("Ada", "?") == mcc.tools.greet("Ada", mark="?") == "hello Ada?"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda tool: tool("a", "b", "c"), "Tool 'greet': takes 2 arguments and got 3"),
        (lambda tool: tool("a", who="b"), "Tool 'greet': argument `who` is given twice"),
        (lambda tool: tool(), "Tool 'greet': missing argument `who`"),
        (lambda tool: tool(who="a", whom="b"), "Tool 'greet': unknown argument `whom` (did you mean `who`?)"),
        (lambda tool: tool("a", key="mine"), "Tool 'greet': unknown argument `key`"),
        (lambda tool: tool(["a"]), "Tool 'greet': argument `who` must be text"),
    ],
)
def test_wrong_arguments(declared: None, call: Callable[[object], object], text: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        call(mcc.tools.greet)
    assert str(caught.value).startswith(text)


def test_an_unknown_tool_is_told_with_a_near_match(declared: None) -> None:
    for ask in (lambda: mcc.tools.gret, lambda: mcc.tools["gret"], lambda: mcc.call("gret"), lambda: mcc.report("gret"), lambda: mcc.map("gret", [])):
        with pytest.raises(UnknownTool) as caught:
            ask()
        assert str(caught.value) == "No tool 'gret' is declared here (did you mean `greet`?); run the cell that declares it"
    with pytest.raises(UnknownTool) as caught:
        mcc.tools.twice  # noqa: B018
    assert str(caught.value) == "More than one tool is named 'twice'; call it by key: ops.twice, public.twice"


def test_what_python_itself_asks_for_is_no_tool() -> None:
    for name in ("__wrapped__", "_repr_html_", "_ipython_canary_method_should_not_exist_"):
        assert not hasattr(mcc.tools, name)


def test_a_tool_may_begin_with_a_line(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("name: _hidden\nexec: printf here\n")
    mcc.load("one.yaml")

    assert mcc.tools._hidden() == "here"


def test_the_tools_can_be_looked_at(declared: None) -> None:
    keys = ["public.greet", "public.failing", "public.linear", "public.twice", "ops.twice", "public.with-dash", "public.slow", "public.much", "public.number"]

    assert list(mcc.tools) == keys
    assert len(mcc.tools) == 9
    assert "greet" in mcc.tools
    assert "public.greet" in mcc.tools
    assert "nope" not in mcc.tools
    assert dir(mcc.tools) == ["failing", "greet", "linear", "much", "number", "slow", "twice"]
    assert repr(mcc.tools) == f"<tools: {', '.join(keys)}>"


def test_where_nothing_is_declared_it_says_so() -> None:
    assert repr(mcc.tools) == "<tools: none declared yet>"
    assert dir(mcc.tools) == []


def test_a_tool_can_be_looked_at_without_what_is_hidden(declared: None) -> None:
    tool = mcc.tools.greet

    assert repr(tool) == "<tool public.greet>"
    assert (tool.__name__, tool.__doc__) == ("greet", "Says hello.")
    assert str(inspect.signature(tool)) == "(who: 'str', mark: 'str' = '!')"


def test_a_signature_has_what_is_required_first_and_positions_follow_it(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("name: t\nexec: printf '%s ' {{ a }} {{ b }} {{ c }}\nparams: [{name: a, type: int, default: 1}, {name: b, type: int}, {name: c, type: int, required: false}]\n")
    mcc.load("one.yaml")

    assert str(inspect.signature(mcc.tools.t)) == "(b: 'int', a: 'int' = 1, c: 'int' = None)"
    assert mcc.tools.t(5, c=6) == "1 5 6 "
    assert mcc.tools.t(5, 7, 6) == "7 5 6 "


def test_a_hidden_default_is_in_no_signature(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "n0t-f0r-any-eyes")
    (tmp_path / "one.yaml").write_text("name: t\nexec: echo {{ a | quote }}\nparams: [{name: a, default: $GITHUB_TOKEN}]\n")
    mcc.load("one.yaml")

    assert str(inspect.signature(mcc.tools.t)) == "(a: 'str' = None)"


def test_a_failed_tool_raises_and_shows_and_has_what_it_printed(declared: None, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ToolFailed) as caught:
        mcc.tools.failing()
    assert str(caught.value) == "Tool 'failing' failed with exit code 3"
    assert caught.value.outcome.stdout == "before\n"
    assert capfd.readouterr().out == "before\n"


def test_an_unavailable_tool_says_what_is_missing_whatever_it_is_given(declared: None) -> None:
    for call in (mcc.tools.linear, lambda: mcc.tools.linear("a"), lambda: mcc.call("linear"), lambda: mcc.map("linear", [{}], progress=False)):
        with pytest.raises(ToolUnavailable) as caught:
            call()
        assert str(caught.value) == "Tool 'linear' is unavailable; missing required environment: LINEAR_API_KEY"
        assert caught.value.reasons == ("missing",)


# mcc.call and the others


def test_a_call_gives_an_outcome_also_when_the_tool_fails(declared: None, capfd: pytest.CaptureFixture[str]) -> None:
    outcome = mcc.call("greet", {"who": "Ada"})
    failed = mcc.call("failing")

    assert (outcome.ok, outcome.value, outcome.stderr, outcome.report.tool) == (True, "hello Ada!", "working\n", "greet")
    assert (failed.ok, failed.exit_code, failed.stdout, failed.failure) == (False, 3, "before\n", "failed with exit code 3")
    assert (repr(outcome), repr(failed)) == ("<Outcome greet: ok>", "<Outcome failing: failed with exit code 3>")
    assert capfd.readouterr() == ("", "working\n")


def test_a_call_has_a_time_limit_in_seconds(declared: None) -> None:
    outcome = mcc.call("slow", timeout=0.3)

    assert (outcome.ok, outcome.stopped) == (False, "timeout")


def test_what_a_function_prints_is_shown_and_its_value_returned(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.py").write_text("import sys\ndef f(n):\n    print('out')\n    print('err', file=sys.stderr)\n    return [n]\n")
    (tmp_path / "one.yaml").write_text("fn: mine:f\n")
    mcc.load("one.yaml")

    assert mcc.tools.f(3) == [3]
    assert capfd.readouterr() == ("out\n", "err\n")


def test_a_call_can_be_awaited(declared: None) -> None:
    async def many() -> list[str]:
        return [outcome.value for outcome in await asyncio.gather(*(mcc.acall("greet", {"who": who}) for who in "abc"))]

    assert asyncio.run(many()) == ["hello a!", "hello b!", "hello c!"]


def test_all_of_a_calls_output_goes_to_a_file_named_by_text_or_path(declared: None, tmp_path: Path) -> None:
    mcc.call("greet", {"who": "a"}, spill=str(tmp_path / "one.log"))
    asyncio.run(mcc.acall("greet", {"who": "b"}, spill=tmp_path / "two.log"))
    assert [(tmp_path / name).read_text() for name in ("one.log", "two.log")] == ["hello a!", "hello b!"]
    with pytest.raises(ArgumentError) as caught:
        mcc.call("greet", {"who": "a"}, spill=7)  # type: ignore[arg-type]
    assert str(caught.value) == "Tool 'greet': spill is the path of a new file, like `output.log`"


def test_an_awaited_call_raises_what_a_call_raises(declared: None) -> None:
    for name, kind in (("nope", UnknownTool), ("linear", ToolUnavailable), ("greet", ArgumentError)):
        with pytest.raises(kind):
            asyncio.run(mcc.acall(name))


def test_cancelling_an_awaited_call_ends_the_tool_first(declared: None, tmp_path: Path) -> None:
    async def cancelled() -> int:
        task = asyncio.ensure_future(mcc.acall("slow"))
        assert await asyncio.to_thread(until, lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith("\n"))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return int((tmp_path / "pid").read_text())

    pid = asyncio.run(cancelled())
    assert until(lambda: not alive(pid))


@pytest.mark.parametrize("progress", [True, False])
def test_a_map_gives_outcomes_in_order_with_a_bar_or_without(declared: None, progress: bool, capfd: pytest.CaptureFixture[str]) -> None:
    outcomes = mcc.map("number", [{"n": n} for n in (3, -1, 2)], workers=2, progress=progress)

    assert [(outcome.ok, outcome.value) for outcome in outcomes] == [(True, "3\n"), (False, None), (True, "2\n")]
    shown = capfd.readouterr().err
    assert ("number: 100%" in shown) is progress
    assert ("3/3" in shown) is progress


def test_without_tqdm_there_is_no_bar(declared: None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)

    assert [outcome.value for outcome in mcc.map("number", [{"n": 1}])] == ["1\n"]
    assert capfd.readouterr().err == ""


def test_a_map_checks_all_arguments_before_the_first_call(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("name: t\nexec: touch ran\nparams: [{name: n, type: int}]\n")
    mcc.load("one.yaml")
    with pytest.raises(ArgumentError):
        mcc.map("t", [{"n": 1}, {"n": "none"}], progress=False)

    assert not (tmp_path / "ran").exists()
    assert mcc.map("t", [], progress=False) == []


def test_files_are_loaded_by_path_folder_and_glob(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for path in ("a.yaml", "folder/b.yaml", "c1.yaml"):
        (tmp_path / path).write_text(f"name: {Path(path).stem}\nexec: x\n")

    assert mcc.load("a.yaml", "folder", "c*.yaml") == ("public.a", "public.b", "public.c1")


def test_what_is_wrong_with_a_file_is_raised_and_the_rest_is_declared(tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text("- {name: good, exec: x}\n- {name: bad, exec: 5}\n")
    with pytest.raises(DeclarationError) as caught:
        mcc.load("tools.yaml", "missing.yaml")

    assert str(caught.value) == "tools.yaml: tools[1].exec: expected a command, or a list of arguments (line 2)\nmissing.yaml: file not found"
    assert list(mcc.tools) == ["public.good"]


def test_a_report_is_text_html_and_json_by_name(declared: None) -> None:
    report = mcc.report("linear")

    assert "LINEAR_API_KEY" in report.text()
    assert "LINEAR_API_KEY" in report.html()
    assert report.json()["available"] is False
    assert "withheld" not in report.text()
    assert "withheld" in mcc.report("linear", everything=True).text()


def test_the_session_is_a_mapping_that_tools_read(tmp_path: Path) -> None:
    mcc.session["city"] = "Oslo"
    mcc.session.update(numbers=[1, 2])

    assert dict(mcc.session) == {**{key: mcc.session[key] for key in ("user", "groups", "tools")}, "city": "Oslo", "numbers": [1, 2]}
    assert "city" in mcc.session
    assert "city" in repr(mcc.session)
    assert "Oslo" not in repr(mcc.session)
    (tmp_path / "one.yaml").write_text("name: t\nexec: printf %s $MCC_CTX_CITY\n")
    mcc.load("one.yaml")
    assert mcc.tools.t() == "Oslo"
    del mcc.session["city"]
    assert len(mcc.session) == 4
    with pytest.raises(KeyError):
        mcc.session["city"]
    mcc.session.clear()
    assert sorted(mcc.session) == ["groups", "tools", "user"]
    with pytest.raises(ArgumentError):
        mcc.session["user"] = "root"


def test_a_function_changes_the_session_it_was_given(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def count(context):\n    context['n'] = context.get('n', 0) + 1\n")
    (tmp_path / "one.yaml").write_text("fn: mine:count\n")
    mcc.load("one.yaml")
    for _ in range(3):
        mcc.tools.count()

    assert mcc.session["n"] == 3


def test_threads_call_at_once(declared: None) -> None:
    results: list[str] = []
    threads = [threading.Thread(target=lambda n=n: results.append(mcc.tools.number(n=n))) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(results) == [f"{n}\n" for n in range(6)]


# @tool


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ModuleType]]:
    """Writes and imports a module."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    names: list[str] = []

    def write(text: str, name: str = "") -> ModuleType:
        name = name or f"decorated_{len(names)}_{tmp_path.name}"
        names.append(name)
        (tmp_path / f"{name}.py").write_text("from mcc_jupyter import tool\nimport mcc_jupyter as mcc\n" + textwrap.dedent(text))
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield write
    for name in names:
        sys.modules.pop(name, None)


def test_a_function_of_a_module_is_a_tool_and_is_called_like_one(module: Callable[..., ModuleType]) -> None:
    f = module(
        """
        import os
        WIDTH = 3

        def helper(n):
            return n * WIDTH

        @tool
        def f(n: int, times: int = 1) -> int:
            '''Multiplies.'''
            return helper(n) * times
        """
    ).f

    assert (f(2), f(2, times=2), f(n=1), mcc.tools.f("2", 2)) == (6, 12, 3, 12)
    assert (f.__name__, f.__doc__, repr(f)) == ("f", "Multiplies.", "<tool public.f>")
    assert str(inspect.signature(f)) == "(n: 'int', times: 'int' = 1)"
    with pytest.raises(ArgumentError):
        f("two")


def test_its_fields_are_those_of_a_tool(module: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    monkeypatch.setenv("GITHUB_TOKEN", "n0t-f0r-any-eyes")
    f = module(
        """
        @mcc.tool(name="other", description="Mine", env_passthrough=["AWS_*"], env={"A": "b"}, groups=["ops"], limits={"timeout": 60})
        def f():
            import os
            return [os.environ.get(name) for name in ("AWS_REGION", "GITHUB_TOKEN", "A")]
        """
    ).f

    assert repr(f) == "<tool ops.other>"
    assert f() == ["eu-north-1", None, "b"]


def test_an_unavailable_function_says_so_and_its_signature_is_read_when_it_can_be(module: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    f = module("@tool(required_env=['LINEAR_API_KEY'])\ndef f(n: int): return n + 1\n").f
    with pytest.raises(ToolUnavailable):
        f(1)
    monkeypatch.setenv("LINEAR_API_KEY", "long-enough-value")

    assert f("1") == 2


def test_the_line_numbers_of_a_module_stay(module: Callable[..., ModuleType], tmp_path: Path) -> None:
    loaded = module("\n\n@tool\ndef f():\n    raise ValueError('no')\n")
    outcome = mcc.call("f")

    assert outcome.failure == "failed: ValueError: no"
    assert f'File "{loaded.__file__}", line 7, in f' in outcome.traceback


def test_an_async_function_and_a_generator_are_tools_too(module: Callable[..., ModuleType]) -> None:
    loaded = module("@tool\nasync def f(): return 1\n@tool\ndef g():\n    yield 1\n    yield 2\n")

    assert (loaded.f(), loaded.g()) == (1, [1, 2])


def test_a_module_imported_again_replaces_its_tools_and_another_ones_says_so(module: Callable[..., ModuleType]) -> None:
    loaded = module("@tool\ndef f(): return 1\n", "first_module")
    (Path(loaded.__file__ or "")).write_text("from mcc_jupyter import tool\n@tool\ndef f(): return 22\n")
    importlib.reload(loaded)
    assert mcc.tools.f() == 22
    box = door.toolbox()
    assert [tool.origin.label for tool in box.registry] == ["@tool f in first_module"]
    module("@tool\ndef f(): return 3\n", "second_module")
    assert mcc.tools.f() == 3
    assert [tool.origin.label for tool in box.registry] == ["@tool f in second_module"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tool(int)", "@tool: must stand on a plain function, below any other decorator"),
        ("@tool\nclass C: ...", "@tool: must stand on a plain function, below any other decorator"),
        ("tool(len)", "@tool: must stand on a plain function, below any other decorator"),
        ("@tool()\n@staticmethod\ndef f(): ...", "@tool: must stand on a plain function, below any other decorator"),
        ("tool('f')", "@tool: must stand on a plain function, below any other decorator"),
        ("tool(lambda: 1)", "<lambda>: no such function in this cell; define it with `def`"),
        ("exec('@tool\\ndef f(): ...')", "@tool f: its source cannot be read; write it in a cell or a file"),
        ("@tool\ndef f(a=object()): ...", "f: the default of `a` is no literal; use None and make the value inside the function"),
        ("def outer():\n    n = 1\n    @tool\n    def inner(): return n\nouter()", "inner: is not at the top level of its cell, and a tool runs without what is around it; move it there (it uses `n`)"),
        ("import contextlib\n@tool\n@contextlib.contextmanager\ndef f(): yield", "f: has the decorator `@contextlib.contextmanager`; take it off, or decorate a function that the tool calls"),
        ("@tool(env_passthru=True)\ndef f(): ...", "unknown key `env_passthru` (did you mean `env_passthrough`?)"),
        ("@tool(env_passthrough='AWS_*')\ndef f(): ...", "env_passthrough: expected true, false or a list of patterns"),
        ("@tool(exec='x')\ndef f(): ...", "exactly one of"),
    ],
)
def test_what_cannot_be_a_tool_says_why(module: Callable[..., ModuleType], text: str, expected: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        module(text)
    assert expected in str(caught.value)
    assert len(mcc.tools) == 0


def test_a_tool_is_not_decorated_again(module: Callable[..., ModuleType]) -> None:
    with pytest.raises(DeclarationError) as caught:
        module("@tool\n@tool\ndef f(): ...")
    assert str(caught.value) == "@tool: must stand on a plain function, below any other decorator"


def test_a_failed_declaration_keeps_the_tool_that_was_there(module: Callable[..., ModuleType]) -> None:
    module("@tool\ndef f(): return 1\n")
    with pytest.raises(DeclarationError):
        module("@tool\ndef f(): return missing\n")

    assert mcc.tools.f() == 1


def test_a_decorated_function_can_be_wrapped(module: Callable[..., ModuleType]) -> None:
    f = module("@tool\ndef f(n): return n\n").f

    assert functools.partial(f, n=5)() == 5


# The package


def test_every_public_name_is_there_and_no_other() -> None:
    assert dir(mcc) == sorted(mcc.__all__)
    assert all(hasattr(mcc, name) for name in mcc.__all__)
    assert not hasattr(mcc, "nope")


WITHOUT_IPYTHON = """
import sys
import mcc_jupyter as mcc
open("tools.yaml", "w").write("name: t\\nexec: printf here\\n")
mcc.load("tools.yaml")
from mcc_jupyter.doors.python import toolbox
assert toolbox() is toolbox()
assert toolbox().place == "this process"
print(mcc.tools.t(), mcc.call("t").value, [o.value for o in mcc.map("t", [{}], progress=False)])
assert "IPython" not in sys.modules
assert "traitlets" not in sys.modules
"""


def test_without_ipython_a_process_has_one_toolbox_and_imports_none(outside: dict[str, str], tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", WITHOUT_IPYTHON], capture_output=True, text=True, env=outside, cwd=tmp_path)

    assert (ran.stdout, ran.stderr, ran.returncode) == ("here here ['here']\n", "", 0)


def test_a_script_declares_its_own_functions(outside: dict[str, str], tmp_path: Path) -> None:
    script = "from mcc_jupyter import tool\nLIMIT = 2\n@tool\ndef f(n: int): return n * LIMIT\nif __name__ == '__main__':\n    print(f(21))\n"
    (tmp_path / "script.py").write_text(script)
    ran = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, env=outside, cwd=tmp_path)

    assert (ran.stdout, ran.stderr, ran.returncode) == ("42\n", "", 0)


def test_a_forked_process_has_a_toolbox_of_its_own(outside: dict[str, str], tmp_path: Path) -> None:
    script = (
        "import os, mcc_jupyter as mcc\nfrom mcc_jupyter.doors.python import toolbox\n"
        "open('t.yaml', 'w').write('name: t\\nexec: printf here\\n')\nmcc.load('t.yaml')\nprint(mcc.tools.t(), flush=True)\nfirst = toolbox()\n"
        "if os.fork() == 0:\n    assert toolbox() is not first\n    print(len(mcc.tools), mcc.load('t.yaml'), mcc.tools.t(), flush=True)\nelse:\n    os.wait()\n    print(mcc.tools.t())\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=outside, cwd=tmp_path)

    assert (ran.stdout, ran.stderr, ran.returncode) == ("here\n0 ('public.t',) here\nhere\n", "", 0)


def test_a_diff_is_the_changes_of_a_declaration_or_against_a_lock(tmp_path: Path) -> None:
    (tmp_path / "d.yaml").write_text("{name: differing, exec: x, env: {A: b}}\n")
    mcc.load("d.yaml")
    assert [str(change) for change in mcc.diff("differing")] == ["differing +exec tool", "differing +A env"]
    assert mcc.diff("differing") == mcc.diff()

    (tmp_path / "mcc.lock").write_text('version = 1\n[files."d.yaml".differing]\ntool = ["exec"]\ngroups = ["public"]\n')
    for lock in (True, "mcc.lock", tmp_path / "mcc.lock"):
        assert [str(change) for change in mcc.diff("differing", lock=lock)] == ["differing +A env"]
    with pytest.raises(UnknownTool):
        mcc.diff("nope")
def test_a_text_of_which_the_middle_is_gone_is_never_given_as_the_value(declared: None) -> None:
    with pytest.raises(ToolFailed) as caught:
        mcc.tools.much()
    assert str(caught.value) == (
        "Tool 'much': its output is longer than limits.output_mb and is not whole; raise the limit, "
        "or write all of it to a file by `mcc.call(…, spill=FILE)`"
    )
    assert caught.value.outcome.cut  # type: ignore[attr-defined]
    outcome = mcc.call("much")
    assert repr(outcome) == "<Outcome much: ok, cut>"
    (note,) = outcome.notes
    assert note == (
        "stdout is longer than limits.output_mb (1 MiB) and kept without its middle; raise the limit, or "
        "write all of it to a file: `--spill FILE` with %mcc_call and mcc-jupyter call, `spill=` with mcc.call"
    )


def test_where_a_function_failed_is_shown_as_the_magic_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.py").write_text("def look(table: dict):\n    return table['zz']\n")
    (tmp_path / "one.yaml").write_text("fn: broken:look\n")
    mcc.load("one.yaml")
    with pytest.raises(ToolFailed) as caught:
        mcc.tools.look(table={})
    assert str(caught.value) == "Tool 'look' failed: KeyError: 'zz'"
    err = capsys.readouterr().err
    assert err == caught.value.outcome.traceback  # type: ignore[attr-defined]
    assert 'broken.py", line 2, in look' in err


def test_a_mapping_of_all_arguments_is_told_to_want_two_stars(declared: None) -> None:
    for wrong in ({"who": "Ada"}, {}):
        with pytest.raises(ArgumentError) as caught:
            mcc.tools.greet(wrong)
        assert str(caught.value) == "Tool 'greet': takes each argument by itself; write ** before the mapping"
    with pytest.raises(ArgumentError) as caught:
        mcc.tools.greet({"other": 1})
    assert str(caught.value) == "Tool 'greet': argument `who` must be text"


def test_a_map_takes_any_iterable_and_tells_each_argument_that_does_not_fit(declared: None) -> None:
    assert [outcome.value for outcome in mcc.map("number", ({"n": n} for n in range(2)), progress=False)] == ["0\n", "1\n"]
    with pytest.raises(ArgumentError) as caught:
        mcc.map("number", [{"n": 1}, {"n": "x"}, {"m": 1}, 5], progress=False)  # type: ignore[list-item]
    assert str(caught.value).splitlines() == [
        "arguments[1]: Tool 'number': argument `n` must be an integer",
        "arguments[2]: Tool 'number': unknown argument `m`",
        "arguments[2]: Tool 'number': missing argument `n`",
        "arguments[3]: Tool 'number': arguments are a mapping of parameter names to values, like {'n': 3}",
    ]
    with pytest.raises(ArgumentError) as caught:
        mcc.map("number", [{"n": "x"}] * 100, progress=False)
    told = str(caught.value).splitlines()
    assert (len(told), told[-1]) == (9, "… and there may be more")


def test_an_entry_that_the_session_does_not_have_is_a_key_error_in_one_line() -> None:
    with pytest.raises(KeyError) as caught:
        mcc.session["nope"]
    assert caught.value._render_traceback_() == ["KeyError: session: there is no entry 'nope'; `%mcc_session list` shows them"]  # type: ignore[attr-defined]
    assert mcc.session.get("nope", 3) == 3


def test_a_tool_without_a_description_says_what_it_is(declared: None) -> None:
    assert mcc.tools.failing.__doc__ == "Calls the tool public.failing."
