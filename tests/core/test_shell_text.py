"""What is rendered is run: by every shell at hand, with values made to break out."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping

import jinja2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcc_jupyter.core.shell_text import Prepared, argument, plain_words, prepare, programs
from mcc_jupyter.core.template import compile_template
from mcc_jupyter.core.tool import Reference

SHELLS = [path for path in map(shutil.which, ("sh", "dash", "bash")) if path]
HOSTILE = [
    "; echo PWN",
    "it's",
    'he said "hi"',
    "$(echo PWN)",
    "`echo PWN`",
    "*",
    "a\nb",
    "\\",
    "${X}",
    "} y",
    "{{ 7*7 }}",
    "-n",
    " a  b ",
]


def ready(text: str, parent: Mapping[str, str] | None = None, params: Mapping[str, str] | None = None) -> Prepared:
    return prepare(text, provided=lambda name: name == "HOME", parent=parent or {}, params=params or {})


def run(template: str, environ: Mapping[str, str], shell: str, **arguments: object) -> str:
    script = compile_template(template).render(arguments)
    done = subprocess.run(
        [shell], input=script.encode(), env={"PATH": "/usr/bin:/bin", **environ}, capture_output=True, timeout=20
    )
    return done.stdout.decode() + done.stderr.decode()


# Values never change the parse

IN_PLACE = {
    "SUB-18-double-quotes": ('printf "<%s>" "a ${X}"', "<a {}>"),
    "the-name-alone": ('printf "<%s>" "$X"', "<{}>"),
    "a-default": ('printf "<%s>" "${X|d}" "${X:-d}"', "<{}><{}>"),
    "defect-16-single-quotes": ("printf '<%s>' 'x-apikey: ${X}'", "<x-apikey: {}>"),
    "all-of-a-word": ("printf '<%s>' '${X}'", "<{}>"),
    "twice-in-single-quotes": ("printf '<%s>' 'a ${X} b ${X}'", "<a {} b {}>"),
    "here-document": ("cat <<E\n<$X ${X}>\nE\n", "<{} {}>\n"),
    "here-document-with-tabs": ("cat <<-E\n\t<$X>\n\tE\n", "<{}>\n"),
    "single-quotes-in-a-substitution": ("printf '<%s>' \"$(printf %s 'v ${X}')\"", "<v {}>"),
    "single-quotes-in-a-default": ("printf '<%s>' \"${NONE:-$(printf %s '${X}.')}\"", "<{}.>"),
    "single-quotes-in-a-case": ("case \"$X\" in '${X}') printf same;; *) printf other;; esac", "same"),
    "single-quotes-in-a-raw-block": ("{% raw %}printf '<%s>' '${X}'{% endraw %}", "<{}>"),
    "after-a-comment": ("# it's ${X}\nprintf '<%s>' '${X}'", "<{}>"),
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("text", "expected"), IN_PLACE.values(), ids=IN_PLACE)
def test_a_value_stands_where_the_text_says_and_is_never_parsed(shell: str, text: str, expected: str) -> None:
    for value in [*HOSTILE, ""]:
        prepared = ready(text, {"X": value})
        assert prepared.references == (Reference("X", value),)
        shown = "d" if not value and ":-" in text and "NONE" not in text else value
        wanted = expected.replace("{}", value) if shown == value else "<><d>"
        assert run(prepared.template, {"X": value}, shell) == wanted


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("printf '<%s>' 'x: ${X} y'", "<x: ${X} y>"),
        ("printf '<%s>' \"$(printf %s 'v ${X}')\"", "<v ${X}>"),
        ("printf '<%s>' ${N:-'a ${X} b'}", "<a ${X} b>"),
        ('printf \'<%s>\' "${X}" "$X" "${X|d e}" "${X:-f}"', "<><><d e><f>"),
        ("cat <<E\n${X|a  b}$X${X:-c}\nE\n", "a  bc\n"),
    ],
)
def test_an_unset_name_stays_literal_in_single_quotes_and_is_the_shells_elsewhere(
    shell: str, text: str, output: str
) -> None:
    assert run(ready(text).template, {}, shell) == output


@pytest.mark.parametrize("shell", SHELLS)
def test_SUB_13_a_loop_keeps_its_own_variable(shell: str) -> None:
    prepared = ready("for i in 1 2; do echo $i; done", {"i": "LOOPVAR"})
    assert prepared.references == (Reference("i", "LOOPVAR"),)
    assert run(prepared.template, {"i": "LOOPVAR"}, shell) == "1\n2\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_SUB_17_a_value_is_no_template(shell: str) -> None:
    assert run(ready("echo ${T}", {"T": "{{ 7*7 }}"}).template, {"T": "{{ 7*7 }}"}, shell) == "{{ 7*7 }}\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_two_dollars_are_one_before_a_name_and_the_process_number_elsewhere(shell: str) -> None:
    prepared = ready("echo $$X $${X} '$${X}' '$$X'; test $$ -gt 1 && echo /tmp/$$.log", {"X": "parent"})
    assert prepared.references == prepared.notes == ()
    assert prepared.template == "echo $X ${X} '${X}' '$$X'; test $$ -gt 1 && echo /tmp/$$.log"
    assert run(prepared.template, {"X": "child"}, shell).startswith("child child ${X} $$X\n/tmp/")


# Which names refer to the parent

EVERYTHING = {name: f"value of {name}" for name in "A B C D E F HOME PWD IFS RANDOM i x".split()}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param("$A ${B} ${C|x} ${D:-x}", "A B C D", id="the-four-forms"),
        pytest.param("${A%x} ${A#x} ${A-d} ${A:=d} ${A=d} ${A:?d} ${A+d} ${A/x} ${A[0]} ${A?}", "", id="no-other-form"),
        pytest.param("$1 $@ $* $# $? $! $- $$ $0 $5A $,A ${1} ${@} ${ A } $", "", id="the-shells-own-parameters"),
        pytest.param("{% raw %}${#A} ${#} ${!A}{% endraw %}", "", id="lengths"),
        pytest.param("$PWD $IFS $RANDOM", "", id="names-the-shell-sets"),
        pytest.param("$HOME ${HOME}", "", id="provided-names-are-left-to-the-shell-defect-15"),
        pytest.param('${X:-$A} ${X|$B} ${X%$C} "${X:-"$D"}"', "A B C D", id="inside-an-operand"),
        pytest.param("\\$A \\\\$B \"\\$C \\\\$D\" '\\'$E", "B D E", id="backslashes"),
        pytest.param("'$A' '${B}' \"'$C'\" \"'${D}'\"", "B C D", id="quotes"),
        pytest.param("echo # $A ${B}\necho a#$C; # '\n$D", "C D", id="comments-hold-none"),
        pytest.param("$(echo $A `echo $B`) $(case x in x) echo $C;; esac) $D", "A B C D", id="substitutions"),
        pytest.param('(echo $A; (echo "$(echo $B)")) $C', "A B C", id="parentheses"),
        pytest.param('$(( $A + (1 << ${B}) )) $C "$(( 16#ff ))" $D', "A B C D", id="arithmetic"),
        pytest.param("cat <<E; echo $A\n$B '${C}' \"${D}\" \\$x\nE\n$F", "A B C D F", id="here-document"),
        pytest.param("cat <<'E' <<\\F <<-G\n$A\nE\n$B\nF\n\t$C\n\tG\n$D", "C D", id="quoted-here-documents"),
        pytest.param("cat <<E\n$A", "A", id="here-document-without-end"),
        pytest.param("cat <<", "", id="here-document-without-delimiter"),
        pytest.param("cat <<<$A", "A", id="here-string"),
        pytest.param("x=$(cat <<E\n$A)\nE\n) $B", "A B", id="here-document-in-a-substitution"),
        pytest.param("`echo a # $A` $B", "B", id="a-comment-ends-with-the-backquotes"),
        pytest.param("{{ '$A' }} {% if '${B}' %}$C{% endif %}{# $D #}$E", "C E", id="tags-are-opaque"),
        pytest.param('{{ "}}$A" }}$B {{ {"a": {"k": "$C"}} }}$D', "B D", id="strings-and-brackets-in-tags"),
        pytest.param("{{ x }$A $B", "A B", id="a-tag-that-never-ends-is-text"),
        pytest.param("{#$A", "A", id="a-comment-that-never-ends-is-text"),
        pytest.param("{#", "", id="a-comment-that-begins-at-the-end"),
        pytest.param("$A{#", "A", id="a-comment-that-begins-at-the-end-of-more"),
        pytest.param("{% raw %}$A {{ $B", "A B", id="a-raw-block-that-never-ends"),
        pytest.param("{% raw %}$A{{ '$B' }}{% endraw %}", "A", id="a-raw-block-is-text"),
        pytest.param('{% raw %}${A}{{ "$B" }}{% endraw %}', "A B", id="a-raw-block-is-text-in-double-quotes"),
        pytest.param("echo {{- ' x' }}# $A", "A", id="a-tag-that-takes-white-space-before-it"),
        pytest.param("echo a {{ x -}}  # $A", "A", id="and-after-it"),
        pytest.param("# note {% if x %}\n$A{% endif %}\n$B {%- if x +%}\n$C{% endif %}", "C", id="a-statement-takes-its-newline"),
        pytest.param("${A ${B|$C", "C", id="a-brace-that-never-closes"),
        pytest.param("'${A}", "A", id="a-quote-that-never-closes"),
        pytest.param("echo \\", "", id="a-backslash-at-the-end"),
        pytest.param("a\\\n$A \\{{ x }}$B", "A B", id="a-line-goes-on"),
        pytest.param("f() { echo $A; }; g ( ) (echo $B)", "A B", id="functions"),
        pytest.param("case $A in (a|b) echo $B;; c) echo $C ;; esac; esac", "A B C", id="case"),
        pytest.param('echo 2>&1 >$A 3<> "$B" >| ; > <$C', "A B C", id="redirections"),
        pytest.param(")) $A ;; ) $B", "A B", id="closing-what-is-not-open"),
    ],
)  # fmt: skip
def test_a_reference_is_what_the_shell_would_expand_and_nobody_provides(text: str, names: str) -> None:
    prepared = ready(text, EVERYTHING)
    assert sorted(reference.name for reference in prepared.references) == names.split()
    assert all(reference.value == f"value of {reference.name}" for reference in prepared.references)


def test_a_reference_is_listed_once_in_the_order_of_the_text() -> None:
    assert [found.name for found in ready("$B ${X:-$A} $B ${A}", EVERYTHING).references] == ["B", "A"]


def test_no_representation_holds_a_value() -> None:
    assert "value of" not in repr(ready("$A '${B}'", EVERYTHING))


# The rewritten text

UNTOUCHED = [
    'echo $A ${A} ${A:-d} ${A-d} "${A%x}"',
    "awk '{print $1}' f",
    "sh -c 'echo ${A}'",
    "cat <<'E'\n${A}\nE\n",
    "echo '${A:-d}' '$A'",
    "# '${A}' $$A ${A|d}\n",
    "echo `printf '${A}'`",
]


@pytest.mark.parametrize("text", UNTOUCHED)
def test_what_needs_no_change_stays_byte_for_byte(text: str) -> None:
    assert ready(text, EVERYTHING).template == text


@pytest.mark.parametrize(
    ("text", "template"),
    [
        ('${X|d} "${X|a b}" ${X|}', '${X-d} "${X-a b}" ${X-}'),
        ("${X|{{ d }}}", "${X-{{ d }}}"),
        ("${X|${Y|z}", "${X|${Y-z}"),
        ("${X|$Y} ${HOME|/}", "${X-$Y} ${HOME-/}"),
        ("'a ${X}'", "'a '\"${X-\\${X\\}}\"''"),
        ("'a {{ 'b' }} ${X}'", "'a {{ 'b' }} '\"${X-\\${X\\}}\"''"),
        ("$${X:-d}", "${X:-d}"),
    ],
)  # fmt: skip
def test_only_the_reference_itself_is_rewritten(text: str, template: str) -> None:
    assert ready(text).template == template


# Notes and problems

STAYS = "warning: ${A} stays as written in an argument of %s, which reads it as code; pass it as an argument of its own"


@pytest.mark.parametrize(
    ("text", "reader"),
    [
        ("sh -c 'echo ${A}'", "sh -c"),
        ("sudo /bin/bash -lc 'echo ${A}'", "bash -lc"),
        ("bash -c'echo ${A}'", "bash -c"),
        ("eval 'echo ${A}'", "eval"),
        ("A=1 ssh host 'echo ${A}'", "ssh"),
        ("x | awk '{print \"${A}\"}'", "awk"),
        ("jq '.x == \"${A}\"' f", "jq"),
        ("python3.12 -c 'print(\"${A}\")'", "python3.12 -c"),
        ("perl -ne 'print \"${A}\"'", "perl -ne"),
        ("node -e '`${A}`'", "node -e"),
        ("xargs -0 sh -c '${A}'", "sh -c"),
        ("trap 'rm ${A}' EXIT", "trap"),
        ("envsubst '${A}' <f", "envsubst"),
        ("$SHELL -c '${A}'", "a program named by a variable -c"),
        ("echo \"$(ssh h '${A}')\"", "ssh"),
    ],
)  # fmt: skip
def test_in_code_for_another_program_a_name_stays_with_a_warning(text: str, reader: str) -> None:
    prepared = ready(text, {"A": "value"})
    assert (prepared.template, prepared.references) == (text, ())
    assert prepared.notes == (STAYS % reader,)


@pytest.mark.parametrize(
    "text", ["sh script '${A}'", "perl script '${A}'", "echo sh; echo -c '${A}'", "$CMD '${A}'", "[ '${A}' = x ]"]
)
def test_without_code_in_its_arguments_a_program_is_like_any_other(text: str) -> None:
    assert ready(text, EVERYTHING).references == (Reference("A", "value of A"),)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("'${A}'", "${A} in single quotes is expanded; use double quotes to say so, or write $${A} to keep it as written"),
        ("cat <<'E'\n${A}\nE", "warning: ${A} stays as written in a here-document with a quoted delimiter; write the delimiter without quotes"),
        ("'${A:-secret}'", "warning: ${A:-…} stays as written in single quotes; use double quotes"),
        ("'${A|d}'", "warning: ${A|…} stays as written in single quotes; use double quotes"),
        ("`echo '${A}'`", "warning: ${A} stays as written in single quotes inside backquotes; use $( ) instead of backquotes"),
    ],
)  # fmt: skip
def test_a_note_names_the_variable_and_says_what_to_do(text: str, note: str) -> None:
    assert ready(f"{text}\n: {text}", {"A": "value"}).notes == (note,)


@pytest.mark.parametrize("default", ["it's", '"a"', "`a`", "{", "a\\}", "${Y}"])
def test_a_quote_or_brace_in_a_default_is_an_error(default: str) -> None:
    prepared = ready(f'"${{X|{default}}}"')
    assert prepared.problems == ("the default of ${X|…} holds a quote or a brace; write it the shell's way, ${X-…}",)


def test_a_template_in_a_default_is_no_brace() -> None:
    assert ready('"${X|{{ {"a": 1} }}}"').problems == ()


TYPES = {"x": "str", "xs": "list", "d": "dict", "n": "int", "f": "float", "b": "bool"}


def not_quoted(name: str, where: str = "") -> str:
    place, outside = (f" {where}", " outside quotes") if where else ("", "")
    return f"warning: a caller can run commands through `{name}`{place}; write {{{{ {name} | quote }}}}{outside}"


def no_help(name: str, where: str) -> str:
    return f"warning: a caller can run commands through `{name}`, which `quote` does not protect {where}; take it out of there"


def backquotes(name: str) -> str:
    return f"warning: a caller can run commands through `{name}`, which `quote` does not protect in backquotes; use $( ) instead of backquotes"


def code(name: str, reader: str, instead: str) -> str:
    return f"warning: a caller can run commands through `{name}`, because `{reader}` reads it as code; {instead}"


def option(name: str) -> str:
    return f"warning: a caller can give options through `{name}`; write -- before {{{{ {name} | quote }}}}"


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        pytest.param('echo "{{ x | quote }}"', [no_help("x", "in double quotes")], id="PROC-30-double"),
        pytest.param("echo '{{ x | quote }}'", [no_help("x", "in single quotes")], id="PROC-30-single"),
        pytest.param("cat <<E\n{{ x | quote }}\nE", [no_help("x", "in a here-document")], id="PROC-30-here-document"),
        pytest.param("# {{ x | quote }}", [no_help("x", "in a comment")], id="PROC-30-comment"),
        pytest.param('echo "{{ xs | map("quote") | join(" ") }}"', [no_help("xs", "in double quotes")], id="PROC-30-map"),
        pytest.param("echo {{ x | quote }}", [], id="PROC-30-right"),
        pytest.param("echo {{ x }} {{ xs }} {{ d }}", [not_quoted("x"), not_quoted("xs"), not_quoted("d")], id="PROC-30-unquoted"),
        pytest.param("echo '{{ x }}'", [not_quoted("x", "in single quotes")], id="PROC-30-unquoted-single-defect-17"),
        pytest.param("echo {{ n }} {{ f }} {{ b }} {{ other }} {{ n | quote }}", [], id="numbers-need-no-quote"),
        pytest.param("echo {{ xs | length }} {{ x == 'a' }} {{ not x }} {{ x is defined }}", [], id="an-answer-about-a-value"),
        pytest.param("echo {{ 'a' if x else n }} {{ x if b else 'c' }} {{ 'a' if x }}", [not_quoted("x")], id="conditions"),
        pytest.param("echo {{ 'a' ~ x | quote }}", [], id="the-filter-binds-to-its-neighbour"),
        pytest.param("echo {{ x ~ 'a' | quote }}", [not_quoted("x")], id="and-not-further"),
        pytest.param("echo {{ x ~ xs | quote }}", [not_quoted("x")], id="one-of-two"),
        pytest.param("echo {{ xs | map('quote') | join(' ') }} {{ xs | map('upper') }}", [not_quoted("xs")], id="map"),
        pytest.param("curl h/{{ x | urlencode }} '{{ d | urlencode }}'", [], id="urlencode"),
        pytest.param("curl h/{{ d | urlencode }}", [not_quoted("d")], id="urlencode-of-a-mapping"),
        pytest.param("echo '{{ d | tojson }}'", [], id="json-is-safe-in-single-quotes"),
        pytest.param("# {{ d | tojson }}\ncat <<'E'\n{{ d | tojson }}\nE", [], id="and-in-a-quoted-here-document"),
        pytest.param("echo {{ d | tojson }}", [not_quoted("d")], id="and-nowhere-else"),
        pytest.param("{% for i in xs %}echo {{ i }}{% endfor %}", [not_quoted("i")], id="a-loop-over-a-list"),
        pytest.param("{% for i in range(n) %}echo {{ i }}{% endfor %}", [], id="a-loop-over-numbers"),
        pytest.param("{% for k, v in d.items() %}echo {{ v | quote }}{{ k }}{% endfor %}", [not_quoted("k")], id="a-loop-over-pairs"),
        pytest.param("{% set y = x %}echo {{ y }}", [not_quoted("y")], id="another-name"),
        pytest.param("{% set y %}a{% endset %}echo {{ y }}{% if x %}{% endif %}{% include 'y' %}", [], id="other-statements"),
        pytest.param("echo {{ x | }} {{ }}", [], id="jinja-says-what-is-wrong-there"),
        pytest.param("ls {{ x | quote }}", [option("x")], id="PROC-31"),
        pytest.param("A=1 ls -la {{ xs | quote }}.txt", [option("xs")], id="PROC-31-after-flags"),
        pytest.param("ls -- {{ x | quote }}", [], id="PROC-31-after-the-end-of-options"),
        pytest.param("grep -e {{ x | quote }} --file {{ x | quote }}", [], id="PROC-31-the-value-of-an-option"),
        pytest.param("ls ./{{ x | quote }} >{{ x | quote }}", [], id="PROC-31-not-at-the-start"),
        pytest.param("printf %s {{ x | quote }}; {{ x | quote }}; A={{ x | quote }} {{ x | quote }} y", [], id="PROC-31-no-argument"),
        pytest.param("echo `ls {{ x | quote }}`", [backquotes("x")], id="quote-is-no-help-in-backquotes"),
        pytest.param('echo "`ls {{ x | quote }}`"', [backquotes("x")], id="nor-in-quoted-backquotes"),
        pytest.param('echo "$(ls -- {{ x | quote }})"', [], id="but-in-a-substitution"),
        pytest.param("eval ls {{ x | quote }}", [code("x", "eval", "leave `eval` out")], id="code-and-no-option"),
        pytest.param("eval {{ n | quote }}", [], id="a-number-is-no-code"),
    ],
)  # fmt: skip
def test_parameters_are_checked_for_their_quoting(text: str, notes: list[str]) -> None:
    assert list(ready(text, params=TYPES).notes) == notes


@pytest.mark.parametrize("shell", SHELLS)
def test_PROC_30_the_right_form_is_one_word_whatever_it_holds(shell: str) -> None:
    for value in ["a'; echo PWN; '", *HOSTILE]:
        assert run(ready("printf '<%s>' {{ x | quote }}", params=TYPES).template, {}, shell, x=value) == f"<{value}>"


# Programs


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("psql -c 'x' | jq . && curl h", "psql jq curl"),
        ("cd /x; A=1 B='2' make -j; echo hi; [ -f x ]", "make"),
        ("if grep -q a f; then sort f; else ! wc f; fi", "grep sort wc"),
        ("for i in git hg; do $i; done; while read x; do tr a b; done", "tr"),
        ("case $(uname) in a|b) cat;; (c) ls;; esac", "uname cat ls"),
        ("f() { date; }; f; 'my prog' x; \"$P\" x; {{ p }} x", "date|my prog"),
        ("exec -a name psql; command -v jq; exec; A=1; $(nproc)", "name jq nproc"),
        ("{% if x %}ls{% else %}dir{% endif %}; {% if x %}make it{% endif %}", "make"),
        ("cat <<E\n$(id) `whoami`\nE\n2>/dev/null make >out", "cat id whoami make"),
        ("", ""),
    ],
)  # fmt: skip
def test_programs_are_the_literal_command_words(text: str, names: str) -> None:
    assert programs(text) == tuple(names.split("|") if "|" in names else names.split())


# An argument without a shell


def lookup(environ: Mapping[str, str]) -> object:
    def mcc_env(name: str, default: str | None = None, if_empty: bool = False) -> str:
        value = environ.get(name)
        if value is None or (if_empty and not value):
            return f"${{{name}}}" if default is None else default
        return value

    return mcc_env


@pytest.mark.parametrize(
    ("text", "template", "names"),
    [
        ("plain", "plain", ()),
        ("$HOME/x", "{{ mcc_env('HOME') }}/x", ("HOME",)),
        ("${A}${B|d}", "{{ mcc_env('A') }}{{ mcc_env('B', 'd') }}", ("A", "B")),
        ("${A:-it's}${A|}", "{{ mcc_env('A', \"it's\", true) }}{{ mcc_env('A', '') }}", ("A",)),
        ("${A|x$B}", "{{ mcc_env('A', 'x' ~ mcc_env('B')) }}", ("B", "A")),
        ("$$A {{ '$A' }}{# $A #}", "$A {{ '$A' }}{# $A #}", ()),
        ("{$A}", "{{ '{' }}{{ mcc_env('A') }}}", ("A",)),
        ("{% raw %}\n{$A} {{{% endraw %}$A", "{% raw %}\n{{%+ endraw %}{{ mcc_env('A') }}{% raw %}} {{{% endraw %}{{ mcc_env('A') }}", ("A",)),
        ("'$A' ${A%x} $1 ${A", "'{{ mcc_env('A') }}' ${A%x} $1 ${A", ("A",)),
    ],
)  # fmt: skip
def test_an_argument_becomes_a_template(text: str, template: str, names: tuple[str, ...]) -> None:
    assert argument(text) == (template, names)


@pytest.mark.parametrize("text", ["{$A}", "{% raw %}\n{$A} {{{% endraw %}$A", "${N|}$A{{ 1 }}", "${N:-{%$A}", "{$A{$A"])
def test_an_arguments_template_renders_to_the_text_with_its_values(text: str) -> None:
    rendered = compile_template(argument(text)[0]).render(mcc_env=lookup({"A": "{{ v }}"}))
    plain = (
        text.replace("{% raw %}", "")
        .replace("{% endraw %}", "")
        .replace("{{ 1 }}", "1")
        .replace("${N|}", "")
        .replace("${N:-{%$A}", "{%$A")
    )
    assert rendered == plain.replace("$A", "{{ v }}")


# The words of a command without a shell

WORDS = {
    "": [],
    "-s https://h/x": ["-s", "https://h/x"],
    "-H 'X-Key: ${A}' \"B: $A\" c:$A": ["-H", "X-Key: va", "B: va", "c:va"],
    "-H 'X: ${N}' \"X: ${N}\" x$N": ["-H", "X: ${N}", "X: ", "x"],
    "a'${A|d}' b'$${A}' \"$$A\"": ["a${A|d}", "b${A}", "va"],
    '"${N|a b}" "${A:-d}" "${E:-d}" "${E|d}" "${N-d}" x${N:-d}': ["a b", "va", "d", "", "d", "xd"],
    "\\\n  -d a\\ b \\\n  https://h\n": ["-d", "a b", "https://h"],
    "-d '{\"a\": {\"b\": 1}}' \"{\"{": None,
    "-d '{ {% raw %}{% {{ {% endraw %}{{ 1 }}'": ["-d", "{ {% {{ 1"],
    "-d '{\"a\": {\"b\": \"${A}\"}}'": ["-d", '{"a": {"b": "va"}}'],
    "if a=b '' \"\" # c": None,
    "if a=b '' \"\"": ["if", "a=b", "", ""],
    "https://h/x?a={{ x | urlencode }}#f": ["https://h/x?a=a%20b%27#f"],
    "https://h/{{ x }} {{ x | quote }} \"{{ x }}\" '{{ x }}'": ["https://h/a b'", "a b'", "a b'", "a b'"],
    "{{ n }} -n{{ n | quote }} {{ 'a b' | quote }} {{ x | quote() -}} ": ["3", "-n3", "a b", "a b'"],
    "'a {{- x -}} ' 'b{{ x -}}'\" c\" {{- n }}": ["aa b'", "ba b' c3"],
    '"a{% if n %} b{% else %}c{% endif %}" d{# e f #}': ["a b", "d"],
    '"{% for i in xs %}{{ i }}\n{% endfor %}"': ["1\n2\n"],
    "'x {%- if n -%} y {% endif %}'\"\n\"": ["xy \n"],
}  # fmt: skip


@pytest.mark.parametrize("text", WORDS)
def test_plain_words_are_what_the_shell_would_make_of_them(text: str) -> None:
    templates = plain_words(text, params=TYPES)
    if templates is None:
        assert WORDS[text] is None
        return
    environment = {"mcc_env": lookup({"A": "va", "E": ""}), "x": "a b'", "n": 3, "xs": [1, 2]}
    assert [compile_template(word).render(environment) for word in templates] == WORDS[text]


@pytest.mark.parametrize(
    "text",
    [
        "a | b", "a; b", "a &", "a > f", "a <<E\nx\nE", "(a)", "a\nb", "a # c", "$(a)", '"$(a)"', "`a`", "$1", "x$?", "$((1))", "${A%x}",
        '"${A:=x}"', "x${N:-a b}", "x${N:-*}", '"${N:-$A}"', '"$${A|d}"', '"${!A}"', "*.txt", "h/x?", "[a]", "{a,b}", "~/x", '"${N:-a\\}}"x', '"\\}"',
        "$A", "${A}", "{{ x }}", "{{ xs }}", "{{ xs | quote }}", '"{{ x | quote }}"', "{{ x ~ xs | quote }}", "{{ x | quote | trim }}",
        "{{ x | }}", "{% if n %}a b{% endif %}", "a{% if n %} b{% endif %}", "{% if n %}a{% endif %}", "{{ x",
    ],
)  # fmt: skip
def test_what_only_a_shell_can_do_is_left_to_a_shell(text: str) -> None:
    assert plain_words(text, params=TYPES) is None


def test_parameters_are_optional_for_plain_words() -> None:
    assert plain_words("a{{ x }}b") == ("a{{  x  }}b",)


# Properties

SHELLISH = st.text(alphabet="$A{}|:-'\"`\\()<>#%;& \n\t~=casein", max_size=60)
PIECES = st.lists(
    st.sampled_from(["$(", "${A", "${A|", "{{ x }}", "{% raw %}", "{% endraw %}", "<<E\n", "<<'E'\n", "E\n", "case ", "esac", "'", '"', "`", "$((", ")", "}", "#", "\\", "{{-", "-}}", "{%"]),
    max_size=25,
).map("".join)  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(st.one_of(st.text(), SHELLISH, PIECES))
def test_reading_never_raises(text: str) -> None:
    ready(text, EVERYTHING, TYPES)
    programs(text)
    argument(text)
    plain_words(text, params=TYPES)


@pytest.mark.parametrize("opening", ["$(", "`", "${A:-", '"${A:-', "$((", "{{ (", "${A|", "(", "$(case x in a) "])
def test_endless_nesting_is_read_too(opening: str) -> None:
    ready(opening * 3000 + "}}", EVERYTHING, TYPES)


def test_a_number_too_long_for_python_is_jinjas_affair() -> None:
    assert ready("echo {{ " + "9" * 5000 + " }}", params=TYPES).notes == ()


@given(st.one_of(st.text(), SHELLISH))
def test_a_text_without_reference_or_tag_is_returned_unchanged(text: str) -> None:
    plain = text.replace("$", "").replace("{", "")
    assert ready(plain, EVERYTHING) == Prepared(plain, (), (), ())


@settings(deadline=None, max_examples=100)
@given(st.one_of(SHELLISH, PIECES))
def test_text_that_jinja_accepts_is_still_accepted_afterwards(text: str) -> None:
    try:
        jinja2.Environment().parse(text)
    except jinja2.TemplateSyntaxError:
        return
    prepared = ready(text)
    if not prepared.problems:
        jinja2.Environment().parse(prepared.template)
    for word in [argument(text)[0], *(plain_words(text) or ())]:
        jinja2.Environment().parse(word)
