"""What a notebook's code declares is read without running it; what cannot be read is said with its place."""

from __future__ import annotations

from typing import Any

import pytest

from mcc_jupyter.core.static import Declaration, Reader


def code(source: object, *tags: str) -> dict[str, Any]:
    return {"cell_type": "code", "source": source, "metadata": {"tags": list(tags)} if tags else {}}


def reader(*cells: object) -> Reader:
    read = Reader()
    read.notebook({"cells": list(cells), "nbformat": 4})
    return read


def read(*cells: object) -> tuple[list[tuple[str, str]], list[str]]:
    """Labels with places, and problems."""
    found = reader(*cells)
    return [(item.label, item.where) for item in found.found], [str(problem) for problem in found.problems]


NOT_READ = "cannot be read without running it"
LITERAL = f"{NOT_READ}; write a literal"


def test_cells_are_counted_from_the_top_with_all_others() -> None:
    found = reader({"cell_type": "markdown", "source": "%%mcc_tool\nname: no"}, code("%%mcc_tool t\necho"), {"cell_type": "raw", "source": "%%mcc_tool u\necho"}, code("\n \n%%mcc_tool\nname: u\nexec: x"))

    assert found.problems == []
    assert found.found == [
        Declaration("%%mcc_tool", "cell 2", document={"name": "t", "exec": "echo"}),
        Declaration("%%mcc_tool", "cell 4", document={"name": "u", "exec": "x"}),
    ]


def test_a_shell_cell_is_its_anonymous_tool() -> None:
    (found,) = reader(code("%%mcc_sh --pass A_* --env B=$C\necho $D")).found

    assert (found.label, found.document) == ("%%mcc_sh", {"name": "mcc_sh", "exec": "echo $D", "env_passthrough": ["A_*"], "env": {"B": "$C"}})


@pytest.mark.parametrize("magic", ["%%capture out", "%%time", "%%timeit -n 1", "%%prun"])
def test_a_cell_around_a_cell_is_looked_into(magic: str) -> None:
    assert read(code(f"{magic}\n%%mcc_tool t\necho")) == ([("%%mcc_tool", "cell 1")], [])
    assert read(code(f"{magic}\nx = 1\n%mcc_load a.yaml")) == ([("%mcc_load", "cell 1, line 3")], [])


@pytest.mark.parametrize(
    "source",
    [
        "%%script false\n%%mcc_tool t\n%mcc_load a.yaml",
        "%%bash\n%mcc_load a.yaml",
        "%%writefile x.py\n@tool\ndef f(): ...",
        "# %mcc_load a.yaml",
        '"""\n%mcc_load a.yaml\n"""',
        "%mcc_loads a.yaml",
        "%mcc_load?",
        "%%mcc_tool?\nx",
        "%%px\nx = 1",
        "%%sql\nselect mcc_tool",
        "import mcc_jupyter as mcc\nmcc.tools.load(x)\nmcc.tools.tool(x)\nmcc.session.load(x)",
        "%%mcc_tools t\necho",
        "!%mcc_load a.yaml",
        "ip.run_line_magic('matplotlib', x)",
        "get_ipython().run_cell('x = 1')",
        "print('%%mcc_tool')",
        "this is no Python",
        "x = 1 +",
        "",
        "%run",
        "%alias_magic t timeit",
        "df = pd.load(name)",
        "mcc.load(name)",
        "tool(f)",
        "if True:\n    @tool\n    def f(): ...",
        "def f(): ...\n@other\ndef g(): ...",
        "x = '" + "a" * 1_000_001 + "'",
    ],
)
def test_other_code_is_left_alone(source: str) -> None:
    assert read(code(source)) == ([], [])


@pytest.mark.parametrize("cell", [None, "text", {"cell_type": "code"}, {"cell_type": "code", "source": 5}, {"cell_type": "code", "source": [5, None], "metadata": 3}])
def test_a_cell_that_is_none_declares_nothing(cell: object) -> None:
    assert read(cell) == ([], [])


FUNCTIONS = """\
import mcc_jupyter as mcc
from mcc_jupyter import tool
@tool
def plain(a): ...

!ls
%matplotlib inline
x = !ls
print?
@mcc.tool(env_passthrough=["AWS_*"], **{"groups": ["ops"]})
async def fields(b): ...
@tool(name="other")
@wrapped
def named(): ...
"""


def test_functions_come_with_the_fields_of_their_decorator() -> None:
    found = reader(code(FUNCTIONS))

    assert found.problems == []
    assert found.found == [
        Declaration("@tool plain", "cell 1, line 3", document={"name": "plain", "fn": "notebook:plain"}, function=True),
        Declaration("@tool fields", "cell 1, line 10", document={"name": "fields", "fn": "notebook:fields", "env_passthrough": ["AWS_*"], "groups": ["ops"]}, function=True),
        Declaration("@tool named", "cell 1, line 12", document={"name": "other", "fn": "notebook:named"}, function=True),
    ]


@pytest.mark.parametrize(
    ("source", "declares"),
    [
        ("@tool\ndef f(): ...", True),
        ("from mcc_jupyter import *\n@tool\ndef f(): ...", True),
        ("@mcc.tool\ndef f(): ...", True),
        ("@a.b.tool()\ndef f(): ...", True),
        ("from langchain.tools import tool\n@tool\ndef f(): ...", False),
        ("from langchain.tools import tool\nfrom mcc_jupyter import tool\n@tool\ndef f(): ...", True),
        ("mcp = FastMCP()\n@mcp.tool()\ndef f(): ...", False),
        ("import server\n@server.tool()\ndef f(): ...", False),
        ("def tool(f): ...\n@tool\ndef f(): ...", False),
        ("class tool: ...\n@tool\ndef f(): ...", False),
        ("import mcc_jupyter.doors.python as p\nq = p\n@q.tool\ndef f(): ...", True),
        ("m = importlib.import_module('mcc_jupyter')\n@m.tool\ndef f(): ...", True),
        ("import mcc_jupyter as mcc\ntool = functools.partial(mcc.tool, name='x')\n@tool\ndef f(): ...", True),
        ("import mcc_jupyter as mcc\nserver = mcc.call('x')\n@server.tool\ndef f(): ...", False),
        ("(m := mcc_jupyter)\nx: int\n@m.tool\ndef f(): ...", False),
    ],
)
def test_a_tool_of_another_package_is_none_of_ours(source: str, declares: bool) -> None:
    assert read(code(source)) == ([("@tool f", f"cell 1, line {source.count(chr(10))}")] if declares else [], [])


def test_the_first_tool_of_another_package_is_noted() -> None:
    found = reader(code("from langchain.tools import tool\n@tool\ndef f(): ...\n@tool\ndef g(): ..."), code("mcp = FastMCP()\n@mcp.tool()\ndef h(): ..."))

    assert found.found == []
    assert found.notes == ["cell 1, line 2: `tool` comes from elsewhere; its tools are not read", "cell 2, line 2: `mcp` comes from elsewhere; its tools are not read"]


def test_a_name_may_be_bound_in_another_cell() -> None:
    assert read(code("@tool\ndef f(): ..."), code("from langchain.tools import tool")) == ([], [])
    assert read(code("p.load('a.yaml')"), code("p = mcc"), code("import mcc_jupyter as mcc"))[0] == [("mcc.load", "cell 1, line 1")]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("%mcc_load a.yaml 'b c.yaml'", [("%mcc_load", "cell 1, line 1", ("a.yaml", "b c.yaml"), False)]),
        ("x = 1\nif x:\n    %mcc_load a.yaml", [("%mcc_load", "cell 1, line 3", ("a.yaml",), False)]),
        ("x = %mcc_load a.yaml", [("%mcc_load", "cell 1, line 1", ("a.yaml",), False)]),
        ("%time %mcc_load a.yaml", [("%mcc_load", "cell 1, line 1", ("a.yaml",), False)]),
        ("%mcc_load a.yaml \\\n  b.yaml\nx = 2", [("%mcc_load", "cell 1, line 2", ("a.yaml", "b.yaml"), False)]),
        ("%mcc_load a.yaml\nthis is no Python", [("%mcc_load", "cell 1, line 1", ("a.yaml",), False)]),
        ("%mcc_load {x}.yaml", [("%mcc_load", "cell 1, line 1", ("{x}.yaml",), False)]),
        ("%run -i other.py --flag", [("%run", "cell 1, line 1", ("other.py",), True)]),
        ("%run other", [("%run", "cell 1, line 1", ("other",), True)]),
        ("%run other.ipynb", [("%run", "cell 1, line 1", ("other.ipynb",), True)]),
        ("import mcc_jupyter as mcc\nmcc.load('a.yaml', 'b')\nmcc.load()\nmcc.tools.load(x)", [("mcc.load", "cell 1, line 2", ("a.yaml", "b"), False)]),
        ("from mcc_jupyter import load as l\nfrom mcc_jupyter import load\nload('a')", [("mcc.load", "cell 1, line 3", ("a",), False)]),
        ("get_ipython().run_line_magic('mcc_load', 'a.yaml')", [("%mcc_load", "cell 1, line 1", ("a.yaml",), False)]),
        ("sh = get_ipython()\nsh.magic('mcc_load a.yaml')", [("%mcc_load", "cell 1, line 2, line 1", ("a.yaml",), False)]),
        ("get_ipython().magic('mcc_load a.yaml')", [("%mcc_load", "cell 1, line 1", ("a.yaml",), False)]),
        ("get_ipython().run_cell('\\n%mcc_load a.yaml')", [("%mcc_load", "cell 1, line 1, line 2", ("a.yaml",), False)]),
        ("ip.run_cell_magic('time', '', '%mcc_load a.yaml')", [("%mcc_load", "cell 1, line 1, line 2", ("a.yaml",), False)]),
    ],
)  # fmt: skip
def test_files_that_a_cell_loads_or_runs(source: str, expected: list[tuple[str, str, tuple[str, ...], bool]]) -> None:
    found = reader(code(source))

    assert found.problems == []
    assert [(item.label, item.where.replace(", line 1, line 1", ", line 1"), item.paths, item.runs) for item in found.found] == expected


def test_a_cell_magic_that_is_called_is_read() -> None:
    (found,) = reader(code("get_ipython().run_cell_magic('mcc_tool', 't --pass A', 'echo\\n')")).found
    (inner,) = reader(code("get_ipython().run_cell('@tool\\ndef f(): ...')")).found

    assert (found.label, found.document) == ("%%mcc_tool", {"name": "t", "exec": "echo\n", "env_passthrough": ["A"]})
    assert (inner.label, inner.where) == ("@tool f", "cell 1, line 1, line 1")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("@tool(env_passthrough=NAMES)\ndef f(): ...", f"cell 1, line 1: @tool f: env_passthrough: {LITERAL}"),
        ("x = 1\n\n@tool(\n  groups=[x])\ndef f(): ...", f"cell 1, line 3: @tool f: groups: {LITERAL}"),
        ("@tool(**fields)\ndef f(): ...", f"cell 1, line 1: @tool f: **: {LITERAL}"),
        ("@tool(**{[]: 1})\ndef f(): ...", f"cell 1, line 1: @tool f: **: {LITERAL}"),
        ("@tool(1)\ndef f(): ...", "cell 1, line 1: @tool f: takes fields by name: `@tool(env_passthrough=[…])`"),
        ("import mcc_jupyter as mcc\ng = mcc.tool(name='x')(f)", f"cell 1, line 2: a tool that is made by a call {NOT_READ}; decorate a function with `@tool`"),
        ("from mcc_jupyter import tool\ntool(f)", f"cell 1, line 2: a tool that is made by a call {NOT_READ}; decorate a function with `@tool`"),
        ("import mcc_jupyter as mcc\nmcc.load(name)", f"cell 1, line 2: mcc.load: {LITERAL}"),
        ("import mcc_jupyter as mcc\nmcc.load(*names)", f"cell 1, line 2: mcc.load: {LITERAL}"),
        ("import mcc_jupyter as mcc\nmcc.load(**names)", f"cell 1, line 2: mcc.load: {LITERAL}"),
        ("ip.run_cell_magic('mcc_tool', '', text)", f"cell 1, line 1: run_cell_magic: {LITERAL}"),
        ("ip.run_line_magic(magic, '')", f"cell 1, line 1: run_line_magic: {LITERAL}"),
        ("ip.run_line_magic()", f"cell 1, line 1: run_line_magic: {LITERAL}"),
        ("ip.run_line_magic(magic_name='mcc_load', line='x')", f"cell 1, line 1: run_line_magic: {LITERAL}"),
        ("get_ipython().run_cell(text)", f"cell 1, line 1: get_ipython().run_cell: {LITERAL}"),
        ("get_ipython().magic()", f"cell 1, line 1: get_ipython().magic: {LITERAL}"),
        ("%mcc_load", "cell 1, line 1: %mcc_load: write `%mcc_load PATH…`"),
        ("%mcc_load 'a.yaml", "cell 1, line 1: %mcc_load: a quote is not closed"),
        ("%run -m module", f"cell 1, line 1: %run: a module {NOT_READ}; run its file"),
        ("ip = get_ipython()\nip.ex(x)", f"cell 1, line 2: get_ipython().ex: {LITERAL}"),
        ("from mcc_jupyter.doors.python import toolbox\ntoolbox().add({})", f"cell 1, line 2: what a toolbox declares {NOT_READ}; use a cell, `@tool` or a file"),
        ("import mcc_jupyter.doors.python\nmcc_jupyter.doors.python.load(x)", f"cell 1, line 2: mcc.load: {LITERAL}"),
        ("%%px --local\n@tool\ndef f(): ...", "cell 1: may declare a tool under `%%px`, of which nothing is known here"),
        ("%run $name", f"cell 1, line 1: %run: {LITERAL}"),
        ("%run {name}.py", f"cell 1, line 1: %run: {LITERAL}"),
        ("%alias_magic -c t mcc_tool", f"cell 1, line 1: %alias_magic: cells under another name {NOT_READ}; use the magic's own"),
        ("@tool\ndef f(): ...\nx = 1 +", f"cell 1: may declare a tool and {NOT_READ}: the cell cannot be read: invalid syntax (line 3)"),
        ("mcc_load a.yaml", f"cell 1: may declare a tool and {NOT_READ}: the cell cannot be read: invalid syntax (line 1)"),
        ("@tool\ndef f(): ...\0", f"cell 1: may declare a tool and {NOT_READ}: the cell holds a character that no source can have; remove it"),
        ("@tool\ndef f(): ...\n" + "-" * 100_000 + "1", f"cell 1: may declare a tool and {NOT_READ}: nested too deep"),
        ("@tool\ndef f(): ...\nx = '" + "a" * 1_000_001 + "'", "cell 1: is longer than 1000000 characters and is not read"),
        ("%%mcc_sh\n" + "a" * 1_000_001, "cell 1: is longer than 1000000 characters and is not read"),
        ("%%mcc_tool t\nname: x", "cell 1: the body is YAML; leave the first line at `%%mcc_tool`, without a name and options"),
        ("%%mcc_tool\nname: !!python/object/apply:os.system [x]", "cell 1: YAML line 2, column 7: a tag `!…` is not allowed; quote a text that begins with `!`"),
        ("%%mcc_tool\n" + "[" * 100_000, "cell 1: YAML line 2, column 1001: lists and mappings stand too deep inside each other, or an alias holds itself; for a shell script write `%%mcc_tool NAME`"),
        ("%%mcc_sh word\necho", "cell 1: takes options only; the commands stand in the cell"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_with_its_place(source: str, expected: str) -> None:
    assert read(code(source)) == ([], [expected])


def test_one_bad_declaration_stops_no_other() -> None:
    found, problems = read(code("@tool(groups=X)\ndef f(): ...\n@tool\ndef g(): ..."), code("%%mcc_tool\n["), code("%%mcc_tool t\necho"))

    assert found == [("%%mcc_tool", "cell 3"), ("@tool g", "cell 1, line 3")]
    assert len(problems) == 2


def test_a_value_that_is_nested_too_deep_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    import ast

    def deep(_: object) -> object:
        raise RecursionError

    monkeypatch.setattr(ast, "literal_eval", deep)
    assert read(code("@tool(groups=[])\ndef f(): ..."))[1] == ["cell 1, line 1: is nested too deep to be read"]


def test_a_mistake_where_an_error_is_expected_is_excused() -> None:
    found = reader(code("%%mcc_tool\n[", "raises-exception"), code("@tool(groups=X)\ndef f(): ...", "raises-exception", "x"), code("x", "other"))

    assert [str(problem) for problem in found.excused] == ["cell 1: YAML line 3, column 1: no valid YAML; look at quotes and indentation; for a shell script write `%%mcc_tool NAME`"]
    assert [str(problem) for problem in found.problems] == [f"cell 2, line 1: @tool f: groups: {LITERAL}"]
    assert found.expected == {"cell 1", "cell 2"}


@pytest.mark.parametrize(
    ("notebook", "expected"),
    [
        ({"nbformat": 3, "worksheets": []}, "the notebook has an old format; open and save it with a Jupyter of today"),
        ({"worksheets": []}, "the notebook has an old format; open and save it with a Jupyter of today"),
        ({"nbformat": 5, "cells": []}, "this is no notebook of format 4, the only one that is read"),
        ({"nbformat": 4}, "this is no notebook of format 4, the only one that is read"),
        ([], "this is no notebook of format 4, the only one that is read"),
        (None, "this is no notebook of format 4, the only one that is read"),
    ],
)
def test_what_is_no_notebook_of_today_is_said(notebook: object, expected: str) -> None:
    found = Reader()
    found.notebook(notebook)

    assert [str(problem) for problem in found.problems] == [expected]


def test_a_module_is_read_by_line() -> None:
    found = Reader()
    found.module("\ufeffimport mcc_jupyter as mcc\n@mcc.tool\ndef f(): ...\n@mcc.tool(groups=X)\ndef g(): ...\n")

    assert [(item.label, item.where) for item in found.found] == [("@tool f", "line 2")]
    assert [str(problem) for problem in found.problems] == [f"line 4: @tool g: groups: {LITERAL}"]


def test_a_module_with_lines_of_ipython_is_read_too() -> None:
    found = Reader()
    found.module("%mcc_load a.yaml\n@tool\ndef f(): ...\n")

    assert [(item.label, item.where) for item in found.found] == [("%mcc_load", "line 1"), ("@tool f", "line 2")]


def test_a_broken_module_is_said_without_a_cell() -> None:
    found = Reader()
    found.module("import mcc_jupyter\nprint 'x'\n")

    assert [str(problem) for problem in found.problems] == [f"may declare a tool and {NOT_READ}: the cell cannot be read: Missing parentheses in call to 'print'. Did you mean print(...)? (line 2)"]
