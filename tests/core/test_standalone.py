"""What of a cell goes with a function into its own process (SPEC 2.3)."""

from __future__ import annotations

import ast
import textwrap

import pytest

from mcc_jupyter.core.errors import DeclarationError
from mcc_jupyter.core.standalone import decorated, extract


def kept(cell: str, function: str = "f") -> list[str]:
    """The lines that stay, each with its number: ``3: x = 1``."""
    source = extract(textwrap.dedent(cell).lstrip("\n"), function, filename="<cell>")
    assert (source.filename, source.function) == ("<cell>", function)
    compile(source.text, "<cell>", "exec")
    return [f"{number}: {line}" for number, line in enumerate(source.text.splitlines(), 1) if line]


def refused(cell: str, function: str = "f", **options: list[str]) -> list[str]:
    with pytest.raises(DeclarationError) as caught:
        extract(textwrap.dedent(cell).lstrip("\n"), function, filename="<cell>", **options)
    return str(caught.value).splitlines()


def test_a_function_takes_what_it_uses_and_lines_stay() -> None:
    cell = """
        '''A cell.'''
        import os, sys
        import json as j
        import unused
        LIMIT = 1; print("now"); RATE = 2
        class Row:
            scale = RATE
        @mcc.tool(
            env={"A": "b"},
        )
        async def f(a=LIMIT, *, b=-1):
            return helper(a)

        def helper(x):
            return j.dumps([x, Row, os])
        f()
    """
    assert kept(cell) == [
        "2: import os, sys", "3: import json as j", "5: LIMIT = 1; RATE = 2", "6: class Row:", "7:     scale = RATE",
        "11: async def f(a=LIMIT, *, b=-1):", "12:     return helper(a)", "14: def helper(x):", "15:     return j.dumps([x, Row, os])",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("try:\n    import a\nexcept ImportError:\n    a = None\n@tool\ndef f(): return a", "1: try: 2:     import a 3: except ImportError: 4:     a = None 6: def f(): return a"),
        ("if 1:\n    a = 1\n@tool\ndef f(): return a", "1: if 1: 2:     a = 1 4: def f(): return a"),
        ("for i in (1, 2):\n    a = i\n@tool\ndef f(): return i", "1: for i in (1, 2): 2:     a = i 4: def f(): return i"),
        ("import a.b\nimport a.c\n@tool\ndef f(): return a.b", "1: import a.b 2: import a.c 4: def f(): return a.b"),
        ("from a import b as c\n@tool\ndef f(): return c", "1: from a import b as c 3: def f(): return c"),
        ("print(n := 5)\n@tool\ndef f(): return n", "1: print(n := 5) 3: def f(): return n"),
        ("a = b = 1\nx, (y, *z) = [1, [2]]\n@tool\ndef f(): return b, z", "1: a = b = 1 2: x, (y, *z) = [1, [2]] 4: def f(): return b, z"),
        ("n = 1\nn += 1\nn: int = n\n@tool\ndef f(): return n", "1: n = 1 2: n += 1 3: n: int = n 5: def f(): return n"),
        ("count = 0\n@tool\ndef f():\n    global count, made\n    count += 1\n    made = 1", "1: count = 0 3: def f(): 4:     global count, made 5:     count += 1 6:     made = 1"),
        ("@tool\ndef f(): return later\nlater = 1", "2: def f(): return later 3: later = 1"),
        ("@tool\ndef f(): return [f for f in g()]\ndef g(): return f", "2: def f(): return [f for f in g()] 3: def g(): return f"),
        ("@tool\ndef f(n): return f(n - 1) if n else open", "2: def f(n): return f(n - 1) if n else open"),
        ("x = [1,\n  2]; y = 'é'; z = 3\n@tool\ndef f(): return x, z", "1: x = [1, 2:   2]; z = 3 4: def f(): return x, z"),
        ("'é'; z = 'ü' # why\n@tool\ndef f(): return z", "1: z = 'ü' 3: def f(): return z"),
        ("@tool\ndef f(a=(1, [None, {'k': {-1, +2}}], ...)): return a", "2: def f(a=(1, [None, {'k': {-1, +2}}], ...)): return a"),
        ("import colors\nclass C:\n    RED = 1\n@tool\ndef f(a, b=C.RED, *, c=colors.X.y, d): return a", "1: import colors 2: class C: 3:     RED = 1 5: def f(a, b=C.RED, *, c=colors.X.y, d): return a"),
        ("def f(): return 1\ndef f(): return 2", "2: def f(): return 2"),
        ("@tool\ndef f(): return 1\ndef f(): return 2", "2: def f(): return 1"),
        ("@tool\ndef f(): return f()\ndef f(): return 2", "2: def f(): return f()"),
    ],
)  # fmt: skip
def test_every_way_to_bind_a_name_is_followed(cell: str, expected: str) -> None:
    assert " ".join(kept(cell)) == expected


def test_decorators_of_helpers_stay_and_those_named_tool_go() -> None:
    cell = """
        import functools
        from mcc_jupyter import tool
        @functools.lru_cache(
            maxsize=None
        )
        @(
            functools.wraps(len)
        )
        def helper(): return 1
        @tool(name="other")
        def other(): return helper()
        @functools.total_ordering
        class C: pass
        @tool
        def f(): return other(), C
    """
    assert kept(cell) == [
        "1: import functools", "3: @functools.lru_cache(", "4:     maxsize=None", "5: )", "6: @(", "7:     functools.wraps(len)", "8: )",
        "9: def helper(): return 1", "11: def other(): return helper()", "12: @functools.total_ordering", "13: class C: pass", "15: def f(): return other(), C",
    ]  # fmt: skip


def test_statements_that_change_a_kept_name_before_the_function_stay() -> None:
    cell = """
        import functools, numpy as np
        np.random.seed(0)
        np.options["a"] = 1
        table = {}
        table["a"] = 1
        table["a"] += 1
        table.b.c: int = 5
        for i in range(3):
            table.update(a=i)
        other = []
        other.append(1)
        @functools.singledispatch
        def area(x): return 0
        @area.register
        def _(x: int): return np.pi
        @tool
        def f(): return table, area(1)
        table.clear()
        table["late"] = 1
    """
    assert [line.split(":")[0] for line in kept(cell)] == ["1", "4", "5", "6", "7", "8", "9", "12", "13", "14", "15", "17"]


def test_annotations_that_do_not_run_are_kept_if_the_cell_has_them() -> None:
    cell = """
        from __future__ import annotations
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from rows import Row
        class Box:
            size: int
        class Text: pass
        x: Text = Text()
        y: Odd
        @tool
        async def f(a: Row, b: "list[Box]", c: Nowhere, d: "not an annotation", *e) -> Lost:
            def inner(z: Gone): return x
            z: Gone
            return x
    """
    assert [line.split(":")[0] for line in kept(cell)] == ["1", "2", "3", "4", "5", "6", "7", "8", "11", "12", "13", "14"]


def test_the_future_import_always_stays() -> None:
    assert kept("from __future__ import annotations\n@tool\ndef f(): return 1")[0] == "1: from __future__ import annotations"


def test_annotations_that_run_are_needed() -> None:
    assert refused("@tool\ndef f(a: Row): return a") == [
        "f: uses `Row`, which its cell does not define; define or import it in the same cell",
    ]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("%%time\n@tool\ndef f(): return 1", "3: def f(): return 1"),
        ("%load_ext x\n!ls \"it's\nimport os\nos?\n?os\n@tool\ndef f(): return os", "3: import os 7: def f(): return os"),
        ("!ls \\\n  -l \\\n  -a\n@tool\ndef f(): return 1", "5: def f(): return 1"),
        ("if True:\n    %matplotlib inline\n    x = 1\n@tool\ndef f(): return x", "1: if True: 2:     pass 3:     x = 1 5: def f(): return x"),
        ("x = 5\nprint(x\n  % 2)\n@tool\ndef f(): return x", "1: x = 5 5: def f(): return x"),
        ("!ls \\", None),
        ("a, b = !ls\n@tool\ndef f(): return 1\r\n", "3: def f(): return 1"),
    ],
)
def test_magics_are_no_part_of_the_source(cell: str, expected: str | None) -> None:
    if expected is None:
        assert refused(cell) == ["f: no such function in this cell; define it with `def`"]
    else:
        assert " ".join(kept(cell)) == expected


def test_a_name_that_only_a_magic_binds_is_missing() -> None:
    assert refused("files = !ls\n@tool\ndef f(): return files") == [
        "f: uses `files`, which its cell does not define; define or import it in the same cell",
    ]


def test_everything_that_stands_in_the_way_is_told_at_once() -> None:
    cell = """
        from helpers import *
        from . import near
        @tool
        @cache.memo(60)
        def f(a=now(), b=os.environ["X"], *, c=f"{1}", d=-x): return np.sum(df, near)
    """
    assert refused(cell, known=["df", "x", "unrelated"]) == [
        "f: has the decorator `@cache.memo`; take it off, or decorate a function that the tool calls",
        "f: the default of `a` is no literal; use None and make the value inside the function",
        "f: the default of `b` is no literal; use None and make the value inside the function",
        "f: the default of `c` is no literal; use None and make the value inside the function",
        "f: the default of `d` is no literal; use None and make the value inside the function",
        "f: `from . import near` is relative to a package; import by the full name",
        "f: uses `cache`, `df`, `now`, `np`, `os`, `x`, which its cell does not define; define or import them in the same cell (`from helpers import *` does not tell its names: import them by name) (other cells have `df`, `x`)",
    ]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("df = df.dropna()\n@tool\ndef f(): return df", "uses `df`, which its cell does not define; define or import it in the same cell"),
        ("n += 1\n@tool\ndef f(): return n", "uses `n`, which its cell does not define; define or import it in the same cell"),
        ("@tool\ndef f(a=LATER): return a\nLATER = 1", "uses `LATER`, which its cell does not define; define or import it in the same cell"),
        ("@tool\ndef f(): return display(get_ipython())", "uses `display`, `get_ipython`, which its cell does not define; define or import them in the same cell"),
        ("table['a'] = 1\n@tool\ndef f(): return table", "uses `table`, which its cell does not define; define or import it in the same cell"),
        ("x = 1", "no such function in this cell; define it with `def`"),
        ("if True:\n    def f(): return 1", "is not at the top level of its cell, and a tool runs without what is around it; move it there"),
        ("def outer(a):\n    b = 1\n    def f(): return a + b\n    return f", "is not at the top level of its cell, and a tool runs without what is around it; move it there (it uses `a`, `b`)"),
        ("def f(:\n", "the cell cannot be read: invalid syntax (line 1)"),
        ("def f(): return '\0'", "the cell holds a character that no source can have; remove it"),
        ("def f(): return '\ud800'", "the cell holds a character that no source can have; remove it"),
        ("import a\nx = await a.b()\n@tool\ndef f(): return x", "cannot run alone: 'await' outside function (line 2)"),
    ],
)  # fmt: skip
def test_what_cannot_stand_alone_is_an_error(cell: str, message: str) -> None:
    assert refused(cell) == [f"f: {message}"]


def test_the_source_runs_where_nothing_else_is() -> None:
    cell = "import math\nRATE = 2\n\n@tool\ndef f(x: float = 1.5) -> float:\n    return scaled(x)\n\ndef scaled(x): return math.floor(x * RATE)\n"
    namespace: dict[str, object] = {}

    exec(extract(cell, "f", filename="<cell>").text, namespace)

    function = namespace["f"]
    assert callable(function)
    assert function(2.5) == 5
    assert function.__code__.co_firstlineno == 5


def test_the_tools_of_a_cell_are_found_without_running_it() -> None:
    cell = "%matplotlib inline\n@tool\ndef a(): pass\n@cache\n@mcc.tool(name='x')\nasync def b(): pass\ndef c(): pass\n@tool\nclass D: pass"

    assert [(name, call and ast.unparse(call)) for name, call in decorated(cell)] == [("a", None), ("b", "mcc.tool(name='x')")]
    assert decorated("SELECT 1") == []
