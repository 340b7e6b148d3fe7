"""The child script for functions, each test with a real child of its own."""

from __future__ import annotations

import json
import marshal
import os
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

RUN_FN = Path(__file__).resolve().parents[2] / "mcc_jupyter" / "child" / "run_fn.py"
WRAPPER = 'exec 9<&0 8>&1 0</dev/null 1>"$3"; exec "$0" "$1" "$2"'
"""Puts the request on 9, the answer on 8 and the tool's output into a file, as the launcher does with pipes."""


def interpreters() -> list[str]:
    """The running Python, and the oldest and newest supported ones that this machine has."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [sys.executable]
    for version in ("3.8", "3.13"):
        installed = [str(path) for path in sorted(root.glob(f"{version}.*/bin/python"))]
        path = shutil.which(f"python{version}") if not installed else installed[-1]
        found += [path] if path else []
    return found


@dataclass
class Ended:
    answers: list[dict[str, Any]]
    stdout: str
    stderr: str
    code: int

    @property
    def answer(self) -> dict[str, Any]:
        (answer,) = self.answers
        return answer

    @property
    def value(self) -> Any:
        assert self.answer["ok"], self.answer
        return self.answer["value"]


def frames(data: bytes) -> list[dict[str, Any]]:
    found = []
    while data:
        size = int(data[:8], 16)
        assert data[8:9] == b"\n"
        found.append(json.loads(data[9 : 9 + size]))
        data = data[9 + size :]
    return found


def request(text: str, **changes: Any) -> dict[str, Any]:
    """A call of ``t`` in a cell with this text."""
    source = {"text": textwrap.dedent(text), "filename": "<cell 1>", "function": "t"}
    plain = {"mode": "call", "target": "t", "source": source, "arguments": {}, "positional": None, "context": None}
    return {**plain, "names": ["PATH"], "pythonpath": None, **changes}


class Child:
    """Starts children in one folder, with one interpreter."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        self.folder = folder
        self.python = python

    def write(self, **files: str) -> Child:
        for name, text in files.items():
            (self.folder / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
        return self

    def start(self, env: dict[str, str]) -> subprocess.Popen[bytes]:
        environ = {"PATH": os.environ["PATH"], **env}
        command = ["/bin/sh", "-c", WRAPPER, self.python, "-u", str(RUN_FN), str(self.folder / "stdout")]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=self.folder, env=environ, stdin=pipe, stdout=pipe, stderr=pipe)

    def run(self, frame: dict[str, Any], env: dict[str, str] | None = None) -> Ended:
        frame = {"pythonpath": str(self.folder), "names": sorted({"PATH", *(env or {})}), **frame}
        with self.start(env or {}) as process:
            data, errors = process.communicate(marshal.dumps(frame, 2), timeout=30)
        printed = (self.folder / "stdout").read_text(encoding="utf-8")
        return Ended(frames(data), printed, errors.decode(), process.returncode)

    def call(self, text: str, *, env: dict[str, str] | None = None, **changes: Any) -> Ended:
        """Calls ``t`` of a cell with this text. *changes* are fields of the request, the others are arguments."""
        fields = {name: changes.pop(name) for name in ("target", "source", "positional", "context") if name in changes}
        names = sorted({"PATH", *(env or {})})
        return self.run(request(text, arguments=changes, names=names, pythonpath=str(self.folder), **fields), env)

    def target(self, target: str, **changes: Any) -> Ended:
        return self.call("", target=target, source=None, **changes)

    def describe(self, text: str, function: str = "t", env: dict[str, str] | None = None) -> dict[str, Any]:
        source = {"text": textwrap.dedent(text), "filename": "<cell 1>", "function": function}
        return self.run({"mode": "introspect", "targets": [{"id": "1", "target": "t", "source": source}]}, env).answer

    def describe_targets(self, *targets: str, env: dict[str, str] | None = None) -> Ended:
        items = [{"id": target, "target": target, "source": None} for target in targets]
        return self.run({"mode": "introspect", "targets": items}, env)


@pytest.fixture
def child(tmp_path: Path) -> Child:
    return Child(tmp_path)


@pytest.fixture(params=interpreters(), ids=lambda path: Path(path).parents[1].name)
def any_child(request: pytest.FixtureRequest, tmp_path: Path) -> Child:
    return Child(tmp_path, request.param)


def test_FN_01_what_a_tool_prints_is_output_and_its_result_is_intact(any_child: Child) -> None:
    ended = any_child.call('def t(): print("noise"); return {"ok": 1}')

    assert ended.answers == [{"ok": True, "value": {"ok": 1}, "context": None, "notes": []}]
    assert (ended.stdout, ended.stderr, ended.code) == ("noise\n", "", 0)


def test_FN_02_writes_below_python_do_not_reach_the_result(child: Child) -> None:
    ended = child.call("""
        import os, subprocess, sys
        def t():
            os.write(1, b"X"); os.system("echo Y"); subprocess.run(["echo", "Z"]); sys.__stdout__.write("W")
            return [1]
    """)

    assert (ended.value, ended.stdout) == ([1], "XY\nZ\nW")


def test_FN_03_what_atexit_prints_still_comes_out(child: Child) -> None:
    ended = child.call('import atexit\natexit.register(print, "late")\ndef t(): return 1')

    assert (ended.value, ended.stdout, ended.code) == (1, "late\n", 0)


RESULTS = {
    "datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)": "2024-01-02T03:04:05+00:00",
    "datetime.date(2024, 1, 2)": "2024-01-02",
    "datetime.time(3, 4)": "03:04:00",
    'decimal.Decimal("1.10")': "1.10",
    "{3, 1, 2}": [1, 2, 3],
    'frozenset({"b", 1})': [1, "b"],
    "(1, (2,))": [1, [2]],
    'pathlib.Path("a/b")': "a/b",
    "uuid.UUID(int=1)": "00000000-0000-0000-0000-000000000001",
    "Color.RED": "red",
    "[Level.LOW]": [1],
    "Point(1, Point(2, None))": {"x": 1, "y": {"x": 2, "y": None}},
    "Pair(1, 2)": [1, 2],
    "collections.OrderedDict(a=1)": {"a": 1},
    "collections.deque([1])": [1],
    "{'a': 1}.keys()": ["a"],
    "{'a': 1}.values()": [1],
    "range(3)": [0, 1, 2],
    "map(str, [1])": ["1"],
    "Text('a')": "a",
    "Number(2.5)": 2.5,
    "{datetime.date(2024, 1, 2): Color.RED}": {"2024-01-02": "red"},
    "{1: 'a', None: 0, True + 1: 2, 1.5: 3, Color.RED: 4}": {"1": "a", "null": 0, "2": 2, "1.5": 3, "red": 4},
    "2**80": 2**80,
    "2**53 + 1": 2**53 + 1,
    "[True, False, None, -0.0, 1e22]": [True, False, None, -0.0, 1e22],
    r"'é\ud800\n'": "é\ud800\n",
}
TYPES = """
import collections, dataclasses, datetime, decimal, enum, pathlib, uuid
class Color(enum.Enum): RED = "red"
class Level(enum.IntEnum): LOW = 1
class Text(str): pass
class Number(float): pass
@dataclasses.dataclass
class Point:
    x: int
    y: object
Pair = collections.namedtuple("Pair", "a b")
"""


def test_FN_07_each_documented_type_becomes_its_json(any_child: Child) -> None:
    ended = any_child.call(f"{TYPES}\ndef t(): return [{', '.join(RESULTS)}]")

    assert dict(zip(RESULTS, ended.value, strict=True)) == RESULTS


ADVICE = "return JSON: text, numbers, true, false, None, lists and mappings of them"
REFUSED = {
    "b'..'": ("a `bytes` at value", "decode it to text, or encode it with base64"),
    "{'a': [1, 2, object()]}": ("a `object` at value['a'][2]", ADVICE),
    "{'a': [float('nan')]}": ("a `float` that is nan at value['a'][0]", "JSON has no such number; return None or text"),
    "-float('inf')": ("a `float` that is -inf at value", "JSON has no such number; return None or text"),
    "1j": ("a `complex` at value", ADVICE),
    "{1: 'a', '1': 'b'}": ("a mapping with two keys '1' at value", "JSON's keys are text"),
    "[{(1, 2): 3}]": ("a key of type `tuple` at value[0]", "JSON's keys are text"),
    "{float('nan'): 1}": ("a `float` that is nan at value", "JSON has no such number; return None or text"),
    "CYCLE": ("a `list` that holds itself at value[0]", "return a tree"),
    "int": ("a `type` at value", ADVICE),
    "(i for i in range(100_001))": ("a `generator` at value", "it yielded more than 100,000 items; return fewer"),
    "{'k' * 60: object()}": ("a `object` at value[…]", ADVICE),
}


def test_FN_08_FN_12_a_result_that_is_no_json_is_an_error_that_names_type_and_place(child: Child) -> None:
    for expression, (what, advice) in REFUSED.items():
        ended = child.call(f"CYCLE = []\nCYCLE.append(CYCLE)\ndef t(): return {expression}")

        expected = {"ok": False, "error": f"cannot return {what}; {advice}", "traceback": "", "kind": "result"}
        assert ended.answer == expected, expression
        assert ended.code == 1


def test_a_result_that_is_nested_too_deeply_is_an_error(child: Child) -> None:
    ended = child.call("def t():\n value = []\n for _ in range(100_000): value = [value]\n return value")

    assert ended.answer["error"] == "cannot return value: it is nested too deeply"


def test_FN_09_integers_keep_all_their_digits_and_over_long_ones_are_an_error(child: Child) -> None:
    assert child.call("def t(): return [2**80, 10**4299, -10**4299]").value == [2**80, 10**4299, -(10**4299)]
    for number, place in (("10**5000", ""), ("[-10**5000]", "[0]"), ("{10**5000: 1}", "")):
        ended = child.call(f"import sys\nif hasattr(sys, 'set_int_max_str_digits'): sys.set_int_max_str_digits(0)\ndef t(): return {number}")
        assert ended.answer["error"] == f"cannot return an integer of 5,001 digits at value{place}; return it as text"


def test_a_session_keeps_no_integer_that_is_too_long(child: Child) -> None:
    ended = child.call("def t(context): context['n'] = 10**5000", context={})
    assert ended.answer["notes"] == [
        "the session was not changed: cannot keep an integer of 5,001 digits at context['n']; keep it as text"
    ]


def test_a_default_that_is_too_long_is_not_told_and_a_choice_is_an_error(child: Child) -> None:
    (param,) = child.describe("def t(n: int = 10**5000): ...")["params"]
    assert "default" not in param
    answer = child.describe("import enum\nclass C(enum.Enum):\n A = 10**5000\ndef t(n: C): ...")
    assert answer == {
        "id": "1",
        "ok": False,
        "error": "cannot return an integer of 5,001 digits at value['params'][0]['schema']['enum'][0]; return it as text",
        "traceback": "",
        "kind": "result",
    }


HOSTILE = {
    "text": ("class E(Exception):\n def __str__(self): raise SystemExit(1)\ndef t(): raise E()", "E: (its text cannot be read)"),
    "notes": (
        "class E(Exception):\n __notes__ = property(lambda self: 1 / 0)\ndef t(): raise E('x')",
        "E: x",
    ),
    "a note": (
        "class N:\n def __str__(self): raise SystemExit(1)\nclass E(Exception): __notes__ = [N()]\ndef t(): raise E('x')",
        "E: x\n(a note cannot be read)",
    ),
    "exit": (
        "import sys\nclass C:\n def __repr__(self): raise SystemExit(0)\n __str__ = lambda self: 'c'\ndef t(): sys.exit(C())",
        "the tool ended with sys.exit(a `C`) and returned nothing",
    ),
    "class": (
        "class M(type):\n def __getattribute__(cls, name): raise SystemExit(1)\nclass E(Exception, metaclass=M): pass\ndef t(): raise E()",
        "E: (its text cannot be read)",
    ),
}


@pytest.mark.parametrize(("text", "error"), HOSTILE.values(), ids=HOSTILE)
def test_an_error_that_raises_when_it_is_looked_at_is_told_all_the_same(any_child: Child, text: str, error: str) -> None:
    ended = any_child.call(text)
    assert (ended.answer["ok"], ended.answer["error"], ended.code) == (False, error, 1)


def test_a_stream_whose_flush_raises_loses_no_result(child: Child) -> None:
    text = "import sys\nclass S:\n def write(self, text): pass\n def flush(self): raise RuntimeError('x')\ndef t():\n sys.stdout = S()\n return 1"
    assert child.call(text).value == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def t():\n yield 1\n yield 2", [1, 2]),
        ("async def t(): return 5", 5),
        ("async def t():\n yield 1\n yield 2", [1, 2]),
        ("async def co(): return 7\ndef t(): return co()", 7),
        ("async def co(): return 7\nasync def t(): return co()", 7),
        ("def t(): return {'a': (i for i in 'xy')}", {"a": ["x", "y"]}),
        ("class T:\n async def __call__(self): return 3\nt = T()", 3),
    ],
    ids=["generator", "coroutine", "async generator", "returned coroutine", "nested coroutine", "inner generator", "callable object"],
)
def test_FN_11_coroutines_are_awaited_and_generators_become_lists(any_child: Child, text: str, expected: object) -> None:
    assert any_child.call(text).value == expected


def test_FN_11_endless_generators_are_refused(child: Child) -> None:
    ended = child.call("async def t():\n while True: yield 1")

    assert ended.answer["error"] == "the tool yielded more than 100,000 items; return fewer"
    assert ended.answer["kind"] == "result"


@pytest.mark.parametrize(
    ("exit", "shown", "code"),
    [("sys.exit(0)", "sys.exit(0)", 0), ("sys.exit()", "sys.exit()", 0), ("sys.exit(3)", "sys.exit(3)", 3), ("sys.exit('bye')", "sys.exit('bye')", 1)],
)
def test_FN_14_sys_exit_is_an_error(child: Child, exit: str, shown: str, code: int) -> None:
    ended = child.call(f"import sys\ndef t(): {exit}")

    assert (ended.answer["kind"], ended.answer["error"], ended.code) == ("exit", f"the tool ended with {shown} and returned nothing", code)


@pytest.mark.parametrize(
    ("text", "code"),
    [("os._exit(0)", 0), ("ctypes.string_at(0)", -11), ("os.abort()", -6)],
)
def test_FN_15_a_crash_leaves_no_answer(child: Child, text: str, code: int) -> None:
    ended = child.call(f"import ctypes, os, resource\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))\ndef t(): {text}")

    assert (ended.answers, ended.code) == ([], code)


def test_FN_16_the_answer_does_not_wait_for_threads(child: Child) -> None:
    text = "import threading, time\ndef t():\n threading.Thread(target=time.sleep, args=(60,)).start()\n return 1"
    with child.start({}) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(marshal.dumps(request(text), 2))
        process.stdin.close()
        try:
            assert frames(process.stdout.read())[0]["value"] == 1
            assert process.poll() is None
        finally:
            process.kill()


def test_FN_18_a_fork_gives_no_second_answer(child: Child) -> None:
    ended = child.call("""
        import os
        def t():
            pid = os.fork()
            if pid == 0:
                return "child"
            os.waitpid(pid, 0)
            return "parent"
    """)

    assert ended.answers == [{"ok": True, "value": "parent", "context": None, "notes": []}]


def test_the_tools_own_children_hold_no_descriptor_of_ours(child: Child) -> None:
    ended = child.call("""
        import os, subprocess
        def t():
            started = subprocess.run("ls /proc/self/fd || ls /dev/fd", shell=True, stdout=subprocess.PIPE, close_fds=False)
            read, write = os.pipe()
            if os.fork() == 0:
                held = []
                for number in (8, 9):
                    try: os.fstat(number); held.append(number)
                    except OSError: pass
                os.write(write, repr(held).encode())
                os._exit(0)
            os.wait()
            return [started.stdout.decode().split(), os.read(read, 99).decode()]
    """)

    assert not {"8", "9"} & set(ended.value[0])
    assert ended.value[1] == "[]"


def test_FN_19_recursion_is_shortened(any_child: Child) -> None:
    ended = any_child.call("def even(n): return odd(n + 1)\ndef odd(n): return even(n + 1)\ndef t(): return even(0)")

    lines = ended.answer["traceback"].splitlines()
    assert ended.answer["error"].startswith("RecursionError: maximum recursion depth exceeded")
    assert sum(line.startswith("  File ") for line in lines) == 20
    assert sum("frames are left out]" in line for line in lines) == 1
    assert "run_fn" not in ended.answer["traceback"]
    assert "fn_call" not in ended.answer["traceback"]


def test_FN_19_an_interrupt_that_the_tool_raises_is_its_failure(child: Child) -> None:
    ended = child.call("def t(): raise KeyboardInterrupt")

    assert (ended.answer["kind"], ended.answer["error"], ended.code) == ("exception", "KeyboardInterrupt", 1)


def test_FN_19_warnings_and_log_lines_are_output(child: Child) -> None:
    ended = child.call("import logging, warnings\ndef t():\n warnings.warn('careful')\n logging.warning('look')\n return 1")

    assert ended.value == 1
    assert "UserWarning: careful" in ended.stderr
    assert "WARNING:root:look" in ended.stderr


IMPORTS = {
    "prints": ('print("hello")\ndef f(): return 1', None),
    "needs": ('import os\n\nos.environ["DB_URL"]\ndef f(): return 1',
              "cannot import `needs` (needs.py, line 3): KeyError: 'DB_URL'\nadd DB_URL to required_env or env_passthrough"),
    "exits": ("import sys\nsys.exit(3)", "`exits` calls sys.exit() while it is imported (exits.py, line 2)"),
    "broken": ("def f(:", "cannot import `broken`: SyntaxError: invalid syntax (broken.py, line 1)"),
    "lacking": ("x = 1\nimport no_such_module", "cannot import `lacking` (lacking.py, line 2): ModuleNotFoundError: No module named 'no_such_module'"),
}  # fmt: skip


def test_FN_20_a_module_that_cannot_be_imported_fails_alone(any_child: Child) -> None:
    any_child.write(**{name: text for name, (text, _) in IMPORTS.items()})

    ended = any_child.describe_targets(*(f"{name}:f" for name in IMPORTS), "absent:f")

    assert [answer["id"] for answer in ended.answers] == [*(f"{name}:f" for name in IMPORTS), "absent:f"]
    assert [answer.get("error") for answer in ended.answers[:-1]] == [error for _, error in IMPORTS.values()]
    assert ended.answers[-1]["error"] == "cannot import `absent`: ModuleNotFoundError: No module named 'absent'"
    assert ended.stdout == "hello\n"


def test_FN_20_the_same_import_gets_through_with_its_variable(child: Child) -> None:
    child.write(needs=IMPORTS["needs"][0])

    assert child.describe_targets("needs:f", env={"DB_URL": "x"}).answer["ok"]
    failed = child.target("needs:f").answer
    assert (failed["kind"], failed["error"]) == ("import", IMPORTS["needs"][1])


def simple(answer: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    assert answer["ok"], answer
    return {item["name"]: (item["type"], item["schema"], item["nullable"], item["required"]) for item in answer["params"]}


def test_FN_21_annotations_that_are_text_are_read(any_child: Child) -> None:
    answer = any_child.describe("""
        from __future__ import annotations
        def t(a: int, b: list[str] | None = None, c: NoSuchName = None, d: dict[str, list[int]] | str = ""): pass
    """)

    assert simple(answer) == {
        "a": ("int", {"type": "integer"}, False, True),
        "b": ("list", {"type": "array", "items": {"type": "string"}}, True, False),
        "c": ("str", {"type": "string"}, True, False),
        "d": ("any", {"anyOf": [{"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}}, {"type": "string"}]}, False, False),
    }
    assert answer["notes"] == ["`c` takes text: its annotation `NoSuchName` is not understood here"]


RICH = {
    'Literal["r", "w"]': ("str", {"enum": ["r", "w"]}, False),
    'Literal["r", None]': ("str", {"enum": ["r"]}, True),
    'Literal["r", 1]': ("any", {"enum": ["r", 1]}, False),
    "Optional[int]": ("int", {"type": "integer"}, True),
    "Union[int, str]": ("any", {"anyOf": [{"type": "integer"}, {"type": "string"}]}, False),
    "Union[int, str, None]": ("any", {"anyOf": [{"type": "integer"}, {"type": "string"}]}, True),
    "Dict[str, int]": ("dict", {"type": "object", "additionalProperties": {"type": "integer"}}, False),
    "dict": ("dict", {"type": "object"}, False),
    "List[Optional[int]]": ("list", {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}, False),
    "List": ("list", {"type": "array"}, False),
    "Sequence[str]": ("list", {"type": "array", "items": {"type": "string"}}, False),
    "Set[int]": ("list", {"type": "array", "items": {"type": "integer"}}, False),
    "Tuple[int, str]": ("list", {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2}, False),
    "Tuple[int, ...]": ("list", {"type": "array", "items": {"type": "integer"}}, False),
    "tuple": ("list", {"type": "array"}, False),
    "pathlib.Path": ("str", {"type": "string"}, False),
    "datetime.date": ("str", {"type": "string", "format": "date"}, False),
    "datetime.datetime": ("str", {"type": "string", "format": "date-time"}, False),
    "datetime.time": ("str", {"type": "string", "format": "time"}, False),
    "uuid.UUID": ("str", {"type": "string", "format": "uuid"}, False),
    "decimal.Decimal": ("str", {"type": "string"}, False),
    "Color": ("str", {"enum": ["red", "blue"]}, False),
    "Level": ("int", {"enum": [1, 2]}, False),
    "Strange": ("str", {"enum": ["A"]}, False),
    "Any": ("any", {}, False),
    "object": ("any", {}, False),
    "float": ("float", {"type": "number"}, False),
    "None": ("any", {"type": "null"}, False),
    "UserId": ("int", {"type": "integer"}, False),
    "T": ("any", {}, False),
    "Node": ("dict", {"type": "object", "properties": {"name": {"type": "string"}, "next": {"anyOf": [{"type": "object"}, {"type": "null"}]}}, "required": ["name"], "additionalProperties": False}, False),
    '"Color"': ("str", {"enum": ["red", "blue"]}, False),
    "bytes": ("str", {"type": "string"}, False),
    "Callable[[int], int]": ("str", {"type": "string"}, False),
    '"not an annotation"': ("str", {"type": "string"}, False),
}  # fmt: skip
RICH_TYPES = """
import dataclasses, datetime, decimal, enum, pathlib, uuid
from typing import *
class Color(enum.Enum): RED = "red"; BLUE = "blue"
class Level(enum.IntEnum): LOW = 1; HIGH = 2
class Strange(enum.Enum): A = (1, 2)
UserId = NewType("UserId", int)
T = TypeVar("T")
@dataclasses.dataclass
class Node:
    name: str
    next: Optional["Node"] = None
"""


def test_FN_22_rich_annotations_become_their_schema(any_child: Child) -> None:
    names = {f"p{at}": annotation for at, annotation in enumerate(RICH)}
    answer = any_child.describe(f"{RICH_TYPES}\ndef t({', '.join(f'{name}: {text}' for name, text in names.items())}): pass")

    found = {names[name]: row[:3] for name, row in simple(answer).items()}
    assert found == RICH
    assert [note.split("annotation ")[1] for note in answer["notes"]] == [
        "`bytes` is not understood here",
        "`Callable` is not understood here" if "Callable[[int], int]" not in answer["notes"][1] else "`typing.Callable[[int], int]` is not understood here",
        "`not an annotation` is not understood here",
    ]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the words of newer Pythons")
def test_FN_22_newer_annotations_become_their_schema(child: Child) -> None:
    answer = child.describe("""
        import typing
        from typing import Annotated, NotRequired, TypedDict
        class Options(TypedDict):
            depth: Annotated[int, "how deep"]
            name: NotRequired[str]
        class Doc:
            documentation = "from Doc"
        def t(a: Annotated[int, "x"], b: int | str | None, c: Annotated[str | None, Doc()], d: list[dict[str, int]], e: Options = None): pass
    """)

    assert [(item["name"], item["type"], item["schema"], item["nullable"], item["description"]) for item in answer["params"]] == [
        ("a", "int", {"type": "integer"}, False, "x"),
        ("b", "any", {"anyOf": [{"type": "integer"}, {"type": "string"}]}, True, ""),
        ("c", "str", {"type": "string"}, True, "from Doc"),
        ("d", "list", {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "integer"}}}, False, ""),
        ("e", "dict", {"type": "object", "properties": {"depth": {"type": "integer", "description": "how deep"}, "name": {"type": "string"}},
                       "required": ["depth"], "additionalProperties": False}, True, ""),
    ]  # fmt: skip


def test_FN_23_positional_only_parameters_are_passed_by_position(any_child: Child) -> None:
    assert any_child.call("def t(a, /, b=2): return [a, b]", a=1).value == [1, 2]
    assert any_child.call("def t(a=1, b=2, /, c=3): return [a, b, c]", b=5, c=6).value == [1, 5, 6]
    assert any_child.call("def t(*, a): return a", a=1).value == 1
    assert any_child.call("def t(a, **kw): return [a, kw]", a=1, b=2).value == [1, {"b": 2}]
    assert any_child.call("def t(*a): return a").value == []

    described = any_child.describe("def t(a, /, *rest, b, **kw): pass")
    assert [item["name"] for item in described["params"]] == ["a", "b"]
    assert described["varkw"] is True
    assert described["notes"] == ["`*rest` is left out: a call names its arguments"]


def test_FN_24_defaults_that_are_no_json_stay_with_python(child: Child) -> None:
    text = """
        import datetime
        MARK = object()
        def t(a=[], b=MARK, c=float("nan"), d=datetime.date(2024, 1, 2), e=5, f=0.5, g=True, h="x", i=None, j=(), k={"a": [1]}):
            return [a, b is MARK, c != c, d, e]
    """
    answer = child.describe(text)

    assert child.call(text).value == [[], True, True, "2024-01-02", 5]
    assert {item["name"]: item.get("default", "dropped") for item in answer["params"]} == {
        "a": [], "b": "dropped", "c": "dropped", "d": "dropped", "e": 5, "f": 0.5, "g": True, "h": "x", "i": None, "j": "dropped", "k": {"a": [1]},
    }  # fmt: skip
    assert {name: row[:2] for name, row in simple(answer).items() if name in "aefghij"} == {
        "a": ("list", {"type": "array"}),
        "e": ("any", {"type": ["integer", "number"]}),
        "f": ("float", {"type": "number"}),
        "g": ("bool", {"type": "boolean"}),
        "h": ("str", {"type": "string"}),
        "i": ("any", {}),
        "j": ("list", {"type": "array"}),
    }


def test_a_default_that_holds_a_value_of_the_environment_is_not_told(child: Child) -> None:
    answer = child.describe(
        'import os\ndef t(a=os.environ["TOKEN"], b="https://me:" + os.environ["TOKEN"] + "@x", c=[os.environ["PIN"]], d="1234-5"): pass',
        env={"TOKEN": "s3cr3t-value", "PIN": "1234"},
    )

    assert {item["name"]: item.get("default", "dropped") for item in answer["params"]} == {"a": "dropped", "b": "dropped", "c": "dropped", "d": "1234-5"}


FORMS = "write `module:name` or `module.name`"
PATHS = {
    "pkg.mod:f": 1,
    "pkg.mod.f": 1,
    "pkg:B.m": 2,
    "a:_x": 3,
    "math:hypot": 5,
    "json": f"`json` names no function; {FORMS}",
    "": f"`` names no function; {FORMS}",
    "a:b:c": f"`a:b:c` names no function; {FORMS}",
    "a:": f"`a:` names no function; {FORMS}",
    "a:lmit": "`a:lmit`: there is no `lmit` (did you mean `limit`?)",
    "a:limit": "`a:limit` cannot be called; it is of type `int`",
}


def test_FN_27_the_forms_of_a_path(child: Child) -> None:
    (child.folder / "pkg").mkdir()
    (child.folder / "pkg/__init__.py").write_text("class B:\n    m = staticmethod(lambda: 2)\n")
    (child.folder / "pkg/mod.py").write_text("def f(): return 1\n")
    child.write(a="limit = 5\ndef _x(): return 3")

    for target, expected in PATHS.items():
        answer = child.target(target, positional=[3, 4] if target == "math:hypot" else None).answer
        assert answer.get("error", answer.get("value")) == expected, target


def test_FN_27_builtins_without_signature_take_their_arguments_by_position(any_child: Child) -> None:
    any_child.write(sized="class Sized:\n def __init__(self, n=2): self.n = n\n")

    described = any_child.describe_targets("builtins:dict", "builtins:print")
    assert [answer["signature"] for answer in described.answers] == [False, "3.8" not in any_child.python]
    assert any_child.target("builtins:max", positional=[3, 4]).value == 4


@pytest.mark.parametrize("name", ["json", "types", "random", "typing", "os", "re", "fn_call", "inspect", "traceback", "enum"])
def test_a_file_beside_the_notebook_hides_nothing_of_the_standard_library(child: Child, name: str) -> None:
    child.write(**{name: "raise SystemError('shadow')", "models": "import json, random\ndef predict(x: 'int | None'): 1 / x"})

    answer = child.target("models:predict", x=0).answer

    assert answer["error"] == "ZeroDivisionError: division by zero"
    assert [item["name"] for item in child.describe_targets("models:predict").answer["params"]] == ["x"]


def test_a_tool_in_a_file_named_like_the_standard_library_is_told_to_move(child: Child) -> None:
    child.write(random="def predict(): return 1")

    assert child.target("random:predict").answer["error"] == (
        "`random:predict`: there is no `predict`; `random` is the standard library's here, so rename the file random.py"
    )


def test_the_notebooks_folder_comes_before_site_packages(any_child: Child) -> None:
    any_child.write(pip="def f(): import sys, os; return [os.environ['PYTHONPATH'], sys.path]")

    variable, path = any_child.target("pip:f").value

    assert variable == str(any_child.folder)
    assert str(RUN_FN.parent) not in path
    packages = [at for at, entry in enumerate(path) if entry.endswith("site-packages")]
    assert path.index(variable) < min(packages)
    assert path.index(variable) > max(at for at, entry in enumerate(path) if entry.endswith("lib-dynload"))


def test_FN_32_names_are_exactly_the_resolved_ones(any_child: Child) -> None:
    frame = {"mode": "names", "pythonpath": "", "names": ["A"]}

    assert set(any_child.run(frame, {"A": "1"}).answer["names"]) - {"PWD", "OLDPWD"} == {"A", "PATH"}
    kept = any_child.run({**frame, "names": ["LC_CTYPE"]}, {"LC_CTYPE": "C.UTF-8"}).answer["names"]
    assert "LC_CTYPE" in kept


def test_an_exception_keeps_all_its_lines_and_notes(child: Child) -> None:
    ended = child.call("""
        class Odd(ValueError): pass
        def t():
            error = Odd("line one\\nline two")
            error.add_note("and a note")
            raise error
    """)

    assert ended.answer["error"] == "Odd: line one\nline two\nand a note"
    assert ended.answer["traceback"].startswith('Traceback (most recent call last):\n  File "<cell 1>", line 6, in t\n    raise error\n')


def test_the_members_of_a_group_are_told(child: Child) -> None:
    ended = child.call('def t(): raise ExceptionGroup("two", [ValueError("a\\nb"), ExceptionGroup("in", [KeyError("k")])])')

    assert ended.answer["error"] == (
        "ExceptionGroup: two (2 sub-exceptions)\n  ValueError: a\n  b\n  ExceptionGroup: in (1 sub-exception)\n    KeyError: 'k'"
    )


def test_an_exception_whose_text_fails_is_told_nevertheless(child: Child) -> None:
    ended = child.call("import decimal\nclass Bad(Exception):\n def __str__(self): 1 / 0\ndef t(): raise Bad")

    assert ended.answer["error"] == "Bad: (its text cannot be read)"
    assert child.call("import decimal\ndef t(): raise decimal.DivisionByZero").answer["error"] == "decimal.DivisionByZero"


def test_a_chain_shows_the_frames_of_the_user_only(child: Child) -> None:
    text = child.call("""
        import asyncio
        async def inner(): return {}["k"]
        async def t():
            try: await asyncio.wait_for(inner(), 1)
            except KeyError as error: raise ValueError("bad") from error
    """).answer["traceback"]

    assert "KeyError: 'k'" in text
    assert "direct cause" in text
    assert {line.strip().split(",")[0] for line in text.splitlines() if line.startswith("  File ")} == {'File "<cell 1>"'}


def test_the_session_is_injected_and_its_difference_returned(any_child: Child) -> None:
    text = """
        def t(x, context):
            context["list"].append(1)
            context["new"] = {"a": (1, 2)}
            context["same"] = "s"
            context["user"] = "root"
            context["one"] = True
            del context["gone"], context["groups"]
            return x
    """
    session = {"list": [], "same": "s", "gone": 1, "user": "ada", "groups": [], "one": 1}

    answer = any_child.call(text, x=5, context=session).answer
    described = any_child.describe(text)

    assert answer["value"] == 5
    assert answer["context"] == {"set": {"list": [1], "new": {"a": [1, 2]}, "one": True}, "deleted": ["gone"]}
    assert (described["context"], [item["name"] for item in described["params"]]) == (True, ["x"])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("context['bad'] = {'d': datetime.date.today()}", "cannot keep a `date` at context['bad']['d']; return JSON: text, numbers, true, false, None, lists and mappings of them"),
        ("context[5] = 1", "a key of `context` is of type `int`; keys are text"),
        ("context['n'] = float('inf')", "cannot keep a `float` that is inf at context['n']; JSON has no such number; return None or text"),
    ],
)
def test_a_session_that_cannot_be_kept_is_left_as_it_was(child: Child, change: str, why: str) -> None:
    answer = child.call(f"import datetime\ndef t(context):\n context['ok'] = 1\n {change}\n return 1", context={}).answer

    assert answer == {"ok": True, "value": 1, "context": None, "notes": [f"the session was not changed: {why}"]}


def test_a_tool_that_fails_changes_no_session(child: Child) -> None:
    answer = child.call("def t(context=None):\n context['a'] = 1\n raise ValueError", context=None).answer

    assert (answer["ok"], answer["error"]) == (False, "ValueError")
    assert "context" not in answer


@pytest.mark.parametrize("signature", ["context, /", "**context", "*context"])
def test_a_context_that_takes_no_keyword_is_not_the_session(child: Child, signature: str) -> None:
    assert child.describe(f"def t({signature}): pass")["context"] is False


ARGUMENTS = {
    "d: datetime.date": ("2024-01-02", "datetime.date(2024, 1, 2)"),
    "d: datetime.datetime": ("2024-01-02T03:04:05Z", "datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)"),
    "d: Optional[datetime.time]": ("03:04:05", "datetime.time(3, 4, 5)"),
    "d: Optional[datetime.date]": (None, "None"),
    "d: 'Color'": ("red", "<Color.RED: 'red'>"),
    "d: Strange": ("A", "<Strange.A: (1, 2)>"),
    "d: Literal['a', Color.RED]": ("red", "<Color.RED: 'red'>"),
    "d: pathlib.PurePosixPath": ("a/b", "PurePosixPath('a/b')"),
    "d: uuid.UUID": ("00000000-0000-0000-0000-000000000001", "UUID('00000000-0000-0000-0000-000000000001')"),
    "d: decimal.Decimal": ("1.10", "Decimal('1.10')"),
    "d: List[datetime.date]": (["2024-01-02"], "[datetime.date(2024, 1, 2)]"),
    "d: Dict[str, Color]": ({"a": "red"}, "{'a': <Color.RED: 'red'>}"),
    "d: Tuple[int, datetime.date]": ([1, "2024-01-02"], "(1, datetime.date(2024, 1, 2))"),
    "d: Set[int]": ([1, 1], "{1}"),
    "d: Node": ({"name": "a", "next": {"name": "b"}}, "Node(name='a', next=Node(name='b', next=None))"),
    "d: Union[int, datetime.date]": ("2024-01-02", "datetime.date(2024, 1, 2)"),
    "d: Union[str, datetime.date]": ("2024-01-02", "'2024-01-02'"),
    "d: Union[datetime.date, str]": ("soon", "'soon'"),
    "d: Union[Color, int]": (7, "7"),
    "d: bytes": ("text", "'text'"),
    "d: list": (["2024"], "['2024']"),
    "d: UserId": (4, "4"),
}  # fmt: skip


@pytest.mark.parametrize("parameter", ARGUMENTS)
def test_an_argument_arrives_as_its_annotation_says(any_child: Child, parameter: str) -> None:
    given, expected = ARGUMENTS[parameter]

    assert any_child.call(f"{RICH_TYPES}\ndef t({parameter}): return repr(d)", d=given).value == expected


@pytest.mark.parametrize(
    ("parameter", "given", "named"),
    [
        ("d: datetime.date", "soon", "date"), ("d: Color", "green", "Color"), ("d: uuid.UUID", "x", "UUID"), ("d: decimal.Decimal", "x", "Decimal"),
        ("d: Node", {"nome": "x"}, "Node"), ("d: List[datetime.date]", "x", "list"), ("d: Union[Color, datetime.date]", "x", "Color or date"),
        ("d: Dict[str, Color]", [], "dict"),
    ],
)  # fmt: skip
def test_an_argument_that_is_not_what_it_should_be_is_refused_without_its_value(child: Child, parameter: str, given: object, named: str) -> None:
    answer = child.call(f"{RICH_TYPES}\ndef t({parameter}): return repr(d)", d=given).answer

    assert answer == {"ok": False, "error": f"argument `d` is no `{named}`", "traceback": "", "kind": "signature"}


def test_wrapped_partial_and_class_callables_are_described_and_called(child: Child) -> None:
    child.write(shapes="""
        import datetime, functools
        def plain(function):
            @functools.wraps(function)
            def wrapper(*args, **kwargs): return function(*args, **kwargs)
            return wrapper
        @plain
        def wrapped(a: datetime.date, /, b: int = 1): return [repr(a), b]
        half = functools.partial(wrapped, b=2)
        class Box:
            def __init__(self, size: "int", context: dict): self.size = size
            def area(self: "Box"): return 1
            async def __call__(self, day: "datetime.date"): return repr(day)
        box = Box(1, {})
        cached = functools.lru_cache(None)(lambda n: n + 1)
    """)

    described = child.describe_targets("shapes:wrapped", "shapes:half", "shapes:Box", "shapes:box", "shapes:cached", "shapes:box.area")

    assert [[item["name"] for item in answer["params"]] for answer in described.answers] == [["a", "b"], ["a", "b"], ["size"], ["day"], ["n"], []]
    assert described.answers[2]["context"] is True
    assert described.answers[3]["params"][0]["schema"] == {"type": "string", "format": "date"}
    assert child.target("shapes:wrapped", a="2024-01-02").value == ["datetime.date(2024, 1, 2)", 1]
    assert child.target("shapes:half", a="2024-01-02").value == ["datetime.date(2024, 1, 2)", 2]
    assert child.target("shapes:box", day="2024-01-02").value == "datetime.date(2024, 1, 2)"
    assert child.target("shapes:cached", n=1).value == 2


@pytest.mark.parametrize(
    "doc",
    [
        "Counts rows\n    of a table.\n\n    More.\n\n    Args:\n        table (str): which\n            table\n        limit: how many\n\n    Returns:\n        int: x\n",
        "Counts rows\n    of a table.\n\n    Parameters\n    ----------\n    table : str\n        which\n        table\n    limit, other : int, optional\n        how many\n\n    Returns\n    -------\n    x : int\n        the count\n",
        "Counts rows\n    of a table.\n\n    :param str table: which\n        table\n    :param limit: how many\n    :type limit: int\n    :returns: x\n",
    ],
    ids=["Google", "NumPy", "Sphinx"],
)
def test_a_docstring_gives_descriptions(any_child: Child, doc: str) -> None:
    answer = any_child.describe(f'def t(table, limit, x=0):\n    """{doc}    """\n')

    assert answer["description"] == "Counts rows of a table."
    assert {item["name"]: item["description"] for item in answer["params"]} == {"table": "which table", "limit": "how many", "x": ""}


def test_a_cell_is_main_and_its_errors_show_its_lines(child: Child) -> None:
    ended = child.call("\n\nimport pickle\nclass A: pass\ndef t(): return [__name__, type(pickle.loads(pickle.dumps(A()))).__name__]")

    assert ended.value == ["__main__", "A"]
    failed = child.call("\n\n1 / 0\ndef t(): pass").answer
    assert failed["error"] == "cannot load `t` (<cell 1>, line 3): ZeroDivisionError: division by zero"
    assert 'File "<cell 1>", line 3, in <module>\n    1 / 0\n' in failed["traceback"]


NUMPY = {
    "np.float64(1.5)": 1.5,
    "np.int64(3)": 3,
    "np.bool_(True)": True,
    "np.longdouble(2)": 2.0,
    "np.arange(4).reshape(2, 2)": [[0, 1], [2, 3]],
    "np.array('2024-01-02', 'M8[D]')": "2024-01-02",
    "np.array(['2024-01-02', 'NaT'], 'M8[D]')": ["2024-01-02", None],
    "np.array([object, None])[1:]": [None],
    "{np.int64(1): 2}": {"1": 2},
}
COLLIDES = "has the name of another column; rename one, or use reset_index(drop=True)"
PANDAS = {
    "pd.DataFrame({'a': [1, None], 'b': ['x', pd.NaT], 't': [pd.Timestamp('2024-01-02'), pd.NaT]})": [
        {"a": 1.0, "b": "x", "t": "2024-01-02T00:00:00"},
        {"a": None, "b": None, "t": None},
    ],
    "pd.DataFrame({'a': [1, 2, 3]})[:2]": [{"a": 1}, {"a": 2}],
    "pd.DataFrame({'a': [1, 2]}, index=[0, 1])": [{"a": 1}, {"a": 2}],
    "pd.DataFrame({'a': [1, 2, 3]})[1:]": [{"index": 1, "a": 2}, {"index": 2, "a": 3}],
    "pd.DataFrame({'a': [1, 2]}, index=[False, True])": [{"index": False, "a": 1}, {"index": True, "a": 2}],
    "pd.DataFrame({'a': [1, 2, 3]}).query('a != 2')": [{"index": 0, "a": 1}, {"index": 2, "a": 3}],
    "pd.DataFrame({'a': [1, 2]}).rename_axis('row')": [{"row": 0, "a": 1}, {"row": 1, "a": 2}],
    "pd.DataFrame({'a': [1]}, index=[pd.Timestamp('2024-01-02')])": [{"index": "2024-01-02T00:00:00", "a": 1}],
    "pd.DataFrame({'a': [1]}, index=pd.Index([float('nan')], name='k'))": [{"k": None, "a": 1}],
    "pd.DataFrame({'c': ['x', 'x', 'y'], 'd': [1, 2, 1], 'v': [1, 2, 3]}).groupby(['c', 'd']).sum()": [
        {"c": "x", "d": 1, "v": 1}, {"c": "x", "d": 2, "v": 2}, {"c": "y", "d": 1, "v": 3},
    ],
    "pd.DataFrame({'v': [1]}, index=pd.MultiIndex.from_tuples([('a', 2)], names=[None, 'k']))": [{"level_0": "a", "k": 2, "v": 1}],
    "pd.DataFrame({'v': []}, index=pd.Index([], name='k'))": [],
    "pd.Series([1, 2])": [1, 2],
    "pd.Series([1, 2], index=['a', 'b'])": {"a": 1, "b": 2},
    "pd.Index(['a'])": ["a"],
    "pd.NA": None,
    "pd.Categorical(['a'])": ["a"],
}


def test_numpy_values_become_json(child: Child) -> None:
    pytest.importorskip("numpy")
    ended = child.call(f"import numpy as np\ndef t(): return [{', '.join(NUMPY)}]")

    assert dict(zip(NUMPY, ended.value, strict=True)) == NUMPY
    refused = child.call("import numpy as np\ndef t(): return np.array([1j])").answer
    assert refused["error"] == "cannot return a `ndarray` at value; convert it to numbers or text"
    refused = child.call("import numpy as np\ndef t(): return [np.array([[1, np.nan]])]").answer
    assert refused["error"] == "cannot return a `float` that is nan at value[0][0][1]; JSON has no such number; return None or text"


def test_tables_become_records(child: Child) -> None:
    pytest.importorskip("pandas")
    ended = child.call(f"import pandas as pd\ndef t(): return [{', '.join(PANDAS)}]")

    assert dict(zip(PANDAS, ended.value, strict=True)) == PANDAS
    for text, why in (
        ("pd.DataFrame([[1, 2]], columns=['a', 'a'])", "a `DataFrame` at value; two of its columns have the same name; rename one"),
        ("pd.DataFrame({'k': [1]}, index=pd.Index(['x'], name='k'))", f"a `DataFrame` at value; its index `k` {COLLIDES}"),
        ("pd.DataFrame({'index': [1]}, index=['x'])", f"a `DataFrame` at value; its index `index` {COLLIDES}"),
        ("pd.DataFrame({'v': [1]}, index=pd.MultiIndex.from_tuples([(1, 2)], names=['k', 'k']))", f"a `DataFrame` at value; its index `k` {COLLIDES}"),
        ("pd.Series([1, 2], index=['a', 'a'])", "a `Series` at value; its index has equal entries; use reset_index()"),
    ):
        assert child.call(f"import pandas as pd\ndef t(): return {text}").answer["error"] == f"cannot return {why}"


def test_pydantic_models_are_taken_and_returned(child: Child) -> None:
    pytest.importorskip("pydantic")
    text = "import pydantic\nclass M(pydantic.BaseModel):\n a: int\n b: list = []\ndef t(m: M): return [type(m).__name__, m]"

    assert child.call(text, m={"a": 1}).value == ["M", {"a": 1, "b": []}]
    assert child.call(text, m={"a": "secret"}).answer["error"] == "argument `m` is no `M`"
    assert simple(child.describe(text)) == {"m": ("dict", {"type": "object"}, False, True)}


def test_pydantic_models_of_version_1_are_returned(child: Child) -> None:
    pytest.importorskip("pydantic.v1")
    assert child.call("import pydantic.v1 as p\nclass M(p.BaseModel):\n a: int\ndef t(): return M(a=1)").value == {"a": 1}


def test_a_plain_call_imports_nothing_that_costs(any_child: Child) -> None:
    any_child.write(plain="import sys\ndef f(a: int, b: 'list[str] | None' = None): return sorted(sys.modules)")

    loaded = set(any_child.target("plain:f", a=1, b=[]).value)

    assert not loaded & {"json", "inspect", "typing", "asyncio", "traceback", "subprocess", "ast", "tokenize", "importlib.util"}
