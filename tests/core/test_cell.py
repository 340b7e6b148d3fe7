from __future__ import annotations

import subprocess

import pytest

from mcc_jupyter.core.cell import SH_NAME, SH_OPTIONS, TOOL_OPTIONS, parse_cell, parse_sh
from mcc_jupyter.core.errors import DeclarationError
from mcc_jupyter.core.template import compile_template

NAME_FIRST = "write one name before the options: `%%mcc_tool NAME [options]`"
OPEN = "a quote or a backslash on the line of the magic has no end"


def test_without_an_argument_the_body_is_yaml():
    assert parse_cell("  ", "name: t\nexec: echo {{ a | quote }} {x} $x\n") == {
        "name": "t",
        "exec": "echo {{ a | quote }} {x} $x",
    }


def test_lines_of_a_cell_are_counted_from_its_magic():
    """MAGIC-19"""
    with pytest.raises(DeclarationError) as caught:
        parse_cell("", "name: t\n\texec: true")
    assert str(caught.value) == "YAML line 3, column 1: a TAB; indent with blanks"


def test_windows_line_ends():
    """MAGIC-19"""
    assert parse_cell("", "name: t\r\nexec: |\r\n  a\r\n  b\r\n") == {"name": "t", "exec": "a\nb\n"}
    assert parse_cell("t", "a\r\nb\r\n") == {"name": "t", "exec": "a\nb\n"}


def test_with_a_name_the_body_is_taken_byte_for_byte():
    """MAGIC-02"""
    body = "%cd x\n!ls\t \n\techo {{ a | quote }} {x} $x \\\n  é  \n\n"
    assert parse_cell("t", body) == {"name": "t", "exec": body}


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("t", {}),
        ("--stdin t", {"stdin": True}),
        ("t --param q", {"params": [{"name": "q"}]}),
        ("t --param n:int=5 --param q?", {"params": [{"name": "n", "type": "int", "default": "5"}, {"name": "q", "required": False}]}),
        ("t --param 'q?:list' --param=s='a b=c'", {"params": [{"name": "q", "type": "list", "required": False}, {"name": "s", "default": "a b=c"}]}),
        ("t --param q=", {"params": [{"name": "q", "default": ""}]}),
        ("t --param u=http://h:1/?a", {"params": [{"name": "u", "default": "http://h:1/?a"}]}),
        ("t --env A=1 --env 'B=a b' --env=C=", {"env": {"A": "1", "B": "a b", "C": ""}}),
        ("t --env PW='${DB_PASSWORD}'", {"env": {"PW": "${DB_PASSWORD}"}}),
        ("t --env-file a --env-file 'b c'", {"env_file": ["a", "b c"]}),
        ("t --pass AWS_* --pass 'GIT_*'", {"env_passthrough": ["AWS_*", "GIT_*"]}),
        ("t --require A --require B --optional C", {"required_env": ["A", "B"], "optional_env": ["C"]}),
        ("t --cwd ~/x --group ops --group admin", {"cwd": "~/x", "groups": ["ops", "admin"]}),
        ("t --timeout 1.5", {"limits": {"timeout": 1.5}}),
        ("t --description 'what it does'", {"description": "what it does"}),
        ("t --description=--x", {"description": "--x"}),
    ],
)  # fmt: skip
def test_options_of_a_tool(line, fields):
    assert parse_cell(line, "true") == {"name": "t", "exec": "true", **fields}


@pytest.mark.parametrize(
    ("line", "problems"),
    [
        ("--stdin", [NAME_FIRST]),
        ("a b", [NAME_FIRST]),
        ("t --timout 5", ["unknown option `--timout` (did you mean `--timeout`?)"]),
        ("t -x", ["unknown option `-x`"]),
        ("t --password=hunter2", ["unknown option `--password`"]),
        ("t --cwd", ["--cwd: needs a value: `--cwd FOLDER`"]),
        ("t --cwd --stdin", ["--cwd: needs a value: `--cwd FOLDER`"]),
        ("t --cwd a --cwd=b", ["--cwd: given twice; keep one"]),
        ("t --stdin --stdin", ["--stdin: given twice; keep one"]),
        ("t --stdin=yes", ["--stdin: takes no value"]),
        ("t --env hunter2", ["--env: expected NAME=VALUE"]),
        ("t --env A=hunter2 --env A=hunter3", ["--env: `A` is given twice; keep one"]),
        ("t --param ?:x", ["--param: expected NAME[?][:TYPE][=DEFAULT]"]),
        ("t --param a?b=hunter2", ["--param: expected NAME[?][:TYPE][=DEFAULT]"]),
        ("t --timeout soon", ["--timeout: expected a number of seconds above 0"]),
        ("t --param 'x", [OPEN]),
        ("t \\", [OPEN]),
        ("--env x --pas y --cwd", ["--cwd: needs a value: `--cwd FOLDER`", "unknown option `--pas` (did you mean `--pass`?)", "--env: expected NAME=VALUE"]),
    ],
)  # fmt: skip
def test_wrong_lines(line, problems):
    with pytest.raises(DeclarationError) as caught:
        parse_cell(line, "true")
    assert sorted(str(caught.value).splitlines()) == sorted(problems)


def test_what_the_options_say_is_declared(one):
    tool = one(parse_cell("t --param n:int=3 --pass 'GIT_*' --env A=1 --timeout 5 --group ops", "git log -n {{ n }}"))
    assert (tool.key, tool.passthrough, tool.env["A"].value, tool.limits.timeout) == ("ops.t", ("GIT_*",), "1", 5)
    assert tool.params[0].default == 3


def test_an_empty_cell_declares_nothing(problems):
    assert problems(parse_cell("t", "")) == ["exec: expected a command, or a list of arguments"]


YAML = "the body is YAML; leave the first line at `%%mcc_tool`, without a name and options"


@pytest.mark.parametrize(
    "body",
    ["exec: echo\n", "name: t\nexec: |\n  a\n", "\n# a comment\n  \ncurl: https://h\n", "fn: a:b", "tools:\n- name: x\n", "- name: x\n", "exec:", "\r\nexec: a\r\n"],
)  # fmt: skip
def test_a_name_before_yaml_is_a_mistake(body):
    with pytest.raises(DeclarationError) as caught:
        parse_cell("b --timeout 5", body)
    assert str(caught.value) == YAML


@pytest.mark.parametrize("body", ["exec ls", " exec: a", "echo\nexec: a", "executor: x", "exec:x", "name=1", "#exec: a\n", ""])
def test_a_script_is_no_yaml(body):
    assert parse_cell("b", body) == {"name": "b", "exec": body}


SCRIPT = "for a shell script write `%%mcc_tool NAME`"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("echo hello", f"expected a tool, a list of tools, or `tools:`; {SCRIPT}"),
        ("#!/bin/sh\necho hunter2\nls", f"expected a tool, a list of tools, or `tools:`; {SCRIPT}"),
        ("curl -H 'A: b' x", f"expected a tool, a list of tools, or `tools:`; {SCRIPT}"),
        ("[ -f x ] && y", f"YAML line 2, column 11: no valid YAML; look at quotes and indentation; {SCRIPT}"),
        ("name: a: b", "YAML line 2, column 8: `: ` inside a text, or an indentation that does not fit; quote the text"),
        ("# hi\n- any-key: a: b", "YAML line 3, column 13: `: ` inside a text, or an indentation that does not fit; quote the text"),
    ],
)
def test_a_script_without_a_name_before_it_is_told_where_that_stands(body, message):
    with pytest.raises(DeclarationError) as caught:
        parse_cell("  ", body)
    assert str(caught.value) == message


# ---- %%mcc_sh


def test_a_script_with_just_its_environment():
    assert parse_sh("", "echo $HOME\r\n") == {"name": SH_NAME, "exec": "echo $HOME\n"}
    assert parse_sh("--pass 'AWS_*' --env A=1 --env-file f --timeout 5", "a") == {
        "name": SH_NAME,
        "exec": "a",
        "env_passthrough": ["AWS_*"],
        "env": {"A": "1"},
        "env_file": ["f"],
        "limits": {"timeout": 5},
    }


@pytest.mark.parametrize(
    "body", ["echo '{{.Names}}'\n", "x=abc; echo ${#x}\n", "\n\necho '{% raw %}'", "echo a", "echo '{%-'\n  \n", "echo '{% endraw %}'", "echo '{{{ {%- raw -%} {% endraw %} {#'", "\n  echo '{{'\n  "]
)
def test_its_body_is_no_template(one, body):
    tool = one(parse_sh("", body))
    script = compile_template(tool.body.template).render({})
    assert compile_template(tool.body.written).render({}) == body
    expected = subprocess.run(["/bin/sh", "-c", body], capture_output=True, check=True).stdout
    assert subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True).stdout == expected


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("t", "takes options only; the commands stand in the cell"),
        ("--cwd x", "unknown option `--cwd`"),
        ("--pas x", "unknown option `--pas` (did you mean `--pass`?)"),
    ],
)
def test_wrong_lines_of_a_script(line, problem):
    with pytest.raises(DeclarationError) as caught:
        parse_sh(line, "true")
    assert str(caught.value) == problem


def test_options_are_data_with_help():
    for option in (*TOOL_OPTIONS, *SH_OPTIONS):
        assert option.flag.startswith("--")
        assert option.help
