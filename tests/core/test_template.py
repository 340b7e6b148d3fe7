from __future__ import annotations

import subprocess

import pytest
from jinja2 import UndefinedError
from jinja2.exceptions import SecurityError

from mcc_jupyter.core.template import compile_template, is_template, problems, undefined_names

RAW = "wrap text that is no template in {% raw %}…{% endraw %}"
RAW_IT = "wrap it in {% raw %}…{% endraw %}"
LENGTH = "`${#…}` begins a template comment (`{#`)"
GO = "`{{.…}}` is read as a template expression"


@pytest.mark.parametrize(
    ("text", "values", "rendered"),
    [
        ("a {{ x }}\n", {"x": "b"}, "a b\n"),
        ("{{ x | quote }}", {"x": "it's; rm"}, "'it'\"'\"'s; rm'"),
        ("{{ x | quote }}", {"x": ["a b", "c", 1]}, "'a b' c 1"),
        ("{{ x | quote }}", {"x": []}, ""),
        ("{{ x | quote }}", {"x": {"k": ["é", 1]}}, "'{\"k\": [\"é\", 1]}'"),
        ("{{ x | quote }} {{ y | quote }}", {"x": True, "y": False}, "true false"),
        ("{{ x | quote }}", {"x": None}, "''"),
        ("{{ x | quote }}", {"x": 1.5}, "1.5"),
        ("{{ x | tojson | quote }}", {"x": {"k": "it's"}}, "'{\"k\": \"it\\u0027s\"}'"),
        ("{{ x }} {{ y }} {{ z }}|{{ n }}", {"x": True, "y": [1, "a"], "z": {"k": None}, "n": None}, 'true [1, "a"] {"k": null}|'),
        ("{{ x | urlencode }}", {"x": "a b&c"}, "a%20b%26c"),
        ("{% if x %}\n  y\n{% endif %}\nz", {"x": True}, "  y\nz"),
        ("{% for i in x %}{{ i | quote }},{% endfor %}", {"x": ["a b", "c"]}, "'a b',c,"),
    ],
)  # fmt: skip
def test_rendering(text, values, rendered):
    assert compile_template(text).render(values) == rendered


def test_an_unknown_name_is_never_an_empty_text():
    for text in ("{{ x }}", "{{ x | quote }}"):
        with pytest.raises(UndefinedError):
            compile_template(text).render({})


def test_a_template_reaches_no_interpreter():
    with pytest.raises(SecurityError):
        compile_template("{{ x.__class__.__mro__ }}").render({"x": ""})


def test_what_is_quoted_is_one_word_for_a_shell():
    nasty = "'\"\\ $HOME `id` $(id) ;|&<>*?[]{}~#!\n\té"
    script = compile_template("printf %s {{ x | quote }}").render({"x": nasty})
    assert subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True).stdout.decode() == nasty


def test_a_template_is_compiled_once():
    assert compile_template("a {{ b }}") is compile_template("a {{ b }}")


@pytest.mark.parametrize("text", ["{{ x }}", "{% if x %}", "{# x #}", "${#x}"])
def test_what_jinja_would_look_at_is_a_template(text):
    assert is_template(text)


def test_a_plain_command_is_none():
    assert not is_template("ls -l ${HOME} | awk '{print $1}'")
    assert list(problems("ls", tool="t", names=())) == []


def test_undefined_names():
    assert undefined_names("{% set a = 1 %}{% for i in xs %}{{ i }}{{ a }}{{ range(n) }}{% endfor %}{{ b }}") == (
        "b",
        "n",
        "xs",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("echo ${#x}", f"in tool `t`, line 1 of its text: {LENGTH}; {RAW_IT}", id="PROC-32-comment"),
        pytest.param("{# a #}\necho ${#x} {#", f"in tool `t`: a comment `{{#` is not closed; {RAW}", id="PROC-32-comment-twice"),
        pytest.param("{# a #}\necho ${#x} {#y", f"in tool `t`, line 2 of its text: {LENGTH}; {RAW_IT}", id="PROC-32-comment-after-another"),
        pytest.param("echo ${#", f"in tool `t`: {LENGTH}; {RAW_IT}", id="PROC-32-comment-at-the-end"),
        pytest.param("echo {#x", f"in tool `t`, line 1 of its text: Missing end of comment tag; {RAW}", id="PROC-32-comment-alone"),
        pytest.param('\ndocker ps --format "{{.Names}}"', f"in tool `t`, line 2 of its text: {GO}; {RAW_IT}", id="PROC-32-docker"),
        pytest.param("docker ps --format '{{- .Names}}'", f"in tool `t`, line 1 of its text: {GO}; {RAW_IT}", id="PROC-32-docker-trimmed"),
        ("{{ 1 + . }}", f"in tool `t`, line 1 of its text: unexpected '.'; {RAW}"),
        ("echo {#", f"in tool `t`: a comment `{{#` is not closed; {RAW}"),
        ("{{ x | quot }}", "in tool `t`, line 1 of its text: No filter named 'quot' (did you mean `quote`?)"),
        ("{{ x is foo }}", "in tool `t`, line 1 of its text: No test named 'foo'"),
        ("{% include 'x' %}", "in tool `t`: a template cannot include another one; write it out"),
        ("{% for x in y %}" * 30 + "{% endfor %}" * 30, "in tool `t`: the template is nested too deep; write a simpler one"),
        ("{{ nmae }}", "uses `nmae`, which is no parameter (did you mean `name`?)"),
        ("{{ mcc_env('A') }}", "uses `mcc_env`, which is no parameter"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_found_at_declaration(text, message):
    assert list(problems(text, tool="t", names=["name", "x", "y"])) == [message]


def test_names_are_not_checked_before_they_are_known():
    assert list(problems("{{ anything }}", tool="t", names=None)) == []
