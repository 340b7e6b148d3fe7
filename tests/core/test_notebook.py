"""What a notebook declares is read from its JSON; nothing in it runs, and each declaration fails alone."""

from __future__ import annotations

from typing import Any

import pytest

from mcc_jupyter.core.errors import DeclarationError
from mcc_jupyter.core.notebook import Found, declarations
from mcc_jupyter.core.tool import Source


def code(source: object, cell_id: str | None = None) -> dict[str, Any]:
    return {"cell_type": "code", "source": source} | ({} if cell_id is None else {"id": cell_id})


def read(*cells: object) -> tuple[list[Found], list[str]]:
    found, problems = declarations({"cells": list(cells)})
    return found, [str(problem) for problem in problems]


def test_a_tool_cell_is_a_document() -> None:
    found, problems = read(code("import os", "c0"), code("%%mcc_tool\nname: t\nexec: echo hi\n", "c1"), code("%%mcc_tool t --param a\necho {{ a | quote }}", "c2"))

    assert problems == []
    assert found == [
        Found("%%mcc_tool", "c1", "cell 2", document={"name": "t", "exec": "echo hi"}),
        Found("%%mcc_tool t", "c2", "cell 3", document={"name": "t", "exec": "echo {{ a | quote }}", "params": [{"name": "a"}]}),
    ]


def test_a_cell_without_an_id_is_known_by_its_place_among_the_code_cells() -> None:
    found, _ = read({"cell_type": "markdown", "source": "%%mcc_tool\nname: no"}, code("%%mcc_tool\nname: t\nexec: x"), code("%%mcc_tool\nname: u\nexec: x", ""))

    assert [(item.cell, item.where) for item in found] == [("cell 1", "cell 1"), ("cell 2", "cell 2")]


@pytest.mark.parametrize("source", ["%%mcc_tool t\nset -e\ntrue", ["%%mcc_tool t\n", "set -e\n", "true"], "\n  \t\n%%mcc_tool t\nset -e\ntrue", "%%mcc_tool t  \r\nset -e\r\ntrue"])
def test_the_text_of_a_cell_may_be_one_text_or_its_lines_and_begin_with_empty_lines(source: object) -> None:
    found, problems = read(code(source))

    assert problems == []
    assert [(item.label, item.document) for item in found] == [("%%mcc_tool t", {"name": "t", "exec": "set -e\ntrue"})]


def test_load_lines_are_paths_wherever_they_stand() -> None:
    found, problems = read(code("import os\n%mcc_load a.yaml 'b c.yaml'\nif True:\n    %mcc_load tools/*.yaml\n# %mcc_load no.yaml\n", "c1"))

    assert problems == []
    assert found == [
        Found("%mcc_load", "c1", "cell 1", paths=("a.yaml", "b c.yaml")),
        Found("%mcc_load", "c1", "cell 1", paths=("tools/*.yaml",)),
    ]


FUNCTIONS = """\
import os, json
from mcc_jupyter import tool
import mcc_jupyter as mcc

OTHER = os.getcwd()

@tool
def plain(a: int) -> int:
    return a

%matplotlib inline
@mcc.tool(env_passthrough=["AWS_*"], limits={"timeout": 3}, **{"groups": ["ops"]})
async def with_fields(b):
    return json.dumps(b)

def helper(): ...
"""


def test_functions_under_the_decorator_come_with_what_they_use_on_their_own_lines() -> None:
    found, problems = read(code(FUNCTIONS, "c1"))

    assert problems == []
    assert [(item.label, item.fields) for item in found] == [
        ("@tool plain", {}),
        ("@tool with_fields", {"env_passthrough": ["AWS_*"], "limits": {"timeout": 3}, "groups": ["ops"]}),
    ]
    plain, fields = (item.source for item in found)
    assert plain is not None
    assert fields is not None
    assert plain == Source(plain.text, "<cell 1>", "plain")
    assert plain.text.splitlines()[7:9] == ["def plain(a: int) -> int:", "    return a"]
    assert "getcwd" not in plain.text
    assert "import os, json" in fields.text


@pytest.mark.parametrize(
    "source",
    [
        "print('%%mcc_tool')",
        "",
        "%%bash\n%mcc_load tools.yaml\n",
        "%%mcc_tools\nname: t",
        "%%mcc_tool?",
        "%mcc_tools rm x\n%mcc_call t",
        "%mcc_load?",
        "this is no Python",
        "def f(): ...\n@other.decorator\ndef g(): ...",
    ],
)
def test_every_other_code_is_left_alone(source: str) -> None:
    assert read(code(source)) == ([], [])


@pytest.mark.parametrize("cell", [None, "text", {"cell_type": "code"}, {"cell_type": "code", "source": 5}, {"cell_type": "code", "source": [5, None]}, {"cell_type": "raw", "source": "%%mcc_tool\nname: t"}])
def test_a_cell_that_is_none_declares_nothing(cell: object) -> None:
    assert read(cell) == ([], [])


@pytest.mark.parametrize("notebook", [None, [], "text", {}, {"cells": {}}, {"worksheets": []}])
def test_what_is_no_notebook_is_an_error(notebook: object) -> None:
    with pytest.raises(DeclarationError) as caught:
        declarations(notebook)
    assert str(caught.value) == "this is no notebook: it has no cells"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("%%mcc_tool\nname: t\n\texec: true", "cell 1: YAML line 3, column 1: a TAB; indent with blanks"),
        ("%%mcc_tool --parm a\ntrue", "cell 1: unknown option `--parm` (did you mean `--param`?)"),
        ("%mcc_load 'a.yaml", "cell 1: %mcc_load: a quote is not closed"),
        ("%mcc_load", "cell 1: %mcc_load: write `%mcc_load PATH…`"),
        ("@tool\ndef f(): return missing", "cell 1: f: uses `missing`, which its cell does not define; define or import it in the same cell"),
        ("@tool(env={'A': value})\ndef f(): ...", "cell 1: @tool f: env: is no literal; a notebook's code is not run to read it"),
        ("@tool(env={[]: 1})\ndef f(): ...", "cell 1: @tool f: env: is no literal; a notebook's code is not run to read it"),
        ("@tool(**fields)\ndef f(): ...", "cell 1: @tool f: **: is no literal; a notebook's code is not run to read it"),
        ("@tool(**5)\ndef f(): ...", "cell 1: @tool f: **: is no literal; a notebook's code is not run to read it"),
        ("@tool('f')\ndef f(): ...", "cell 1: @tool f: takes fields by name: `@tool(env_passthrough=[…])`"),
    ],
)
def test_what_is_wrong_is_told_with_its_cell(source: str, expected: str) -> None:
    assert read(code(source)) == ([], [expected])


def test_one_bad_declaration_stops_no_other_and_all_problems_are_told() -> None:
    cell = "%mcc_load 'a\n%mcc_load b.yaml\n@tool(env=e, cwd=c)\ndef bad(): ...\n@tool\ndef good(): ...\n"
    found, problems = read(code(cell), code("%%mcc_tool\nname: [", "x"), code("%%mcc_tool t\ntrue"))

    assert [item.label for item in found] == ["%mcc_load", "@tool good", "%%mcc_tool t"]
    assert problems[:3] == [
        "cell 1: %mcc_load: a quote is not closed",
        "cell 1: @tool bad: env: is no literal; a notebook's code is not run to read it",
        "cell 1: @tool bad: cwd: is no literal; a notebook's code is not run to read it",
    ]
    assert [problem.partition(":")[0] for problem in problems[3:]] == ["cell 2"]


def test_nothing_of_a_document_or_a_source_is_in_its_repr() -> None:
    found, _ = read(code("%%mcc_tool\nname: t\nexec: x\nenv: {PW: hunter2-hunter2}"), code("@tool(env={'PW': 'hunter2-hunter2'})\ndef f(): return 'hunter2-hunter2'"))

    assert len(found) == 2
    assert "hunter2" not in repr(found)
