"""Which programs read a quoted parameter as code, and which only take it as an argument."""

from __future__ import annotations

import pytest

from mcc_jupyter.core.shell_code import code_reader
from mcc_jupyter.core.shell_lexer import lex

AFTER = "pass it as an argument after the code"
TRAP = "put it into a variable before, and name that in the code"
X = "{{ x | quote }}"


@pytest.mark.parametrize(
    ("text", "reader", "instead"),
    [
        (f"eval {X}", "eval", "leave `eval` out"),
        (f"A=1 eval 'echo '{X} b", "eval", "leave `eval` out"),
        (f"sudo ssh -p 22 -4 host ls {X}", "ssh", "send it on standard input"),
        (f"/usr/bin/ssh host {X}", "ssh", "send it on standard input"),
        (f"trap {X} EXIT", "trap", TRAP),
        (f"sh -c {X}", "sh -c", AFTER),
        (f"bash -ec 'echo '{X}", "bash -ec", AFTER),
        (f"bash -ce {X}", "bash -ce", AFTER),
        (f"bash -o pipefail -c {X}", "bash -c", AFTER),
        (f"sh -c -e {X}", "sh -c", AFTER),
        (f"bash -c'echo '{X}", "bash -c", AFTER),
        (f"xargs -0 sh -c {X}", "sh -c", AFTER),
        (f"docker exec box sh -c {X}", "sh -c", AFTER),
        (f"su ana -c {X}", "su -c", AFTER),
        (f"python3 -c {X}", "python3 -c", AFTER),
        (f"perl -ne {X} f", "perl -ne", AFTER),
        (f"awk {X} f", "awk", "give it with -v"),
        (f"gawk -F: -v a=b -- {X} f", "gawk", "give it with -v"),
    ],
)
def test_what_is_read_as_code_is_named_with_what_to_do(text: str, reader: str, instead: str) -> None:
    (tag,) = lex(text).tags
    assert code_reader(tag, text) == (f"`{reader}`", instead)


@pytest.mark.parametrize(
    "text",
    [
        f"sh -c 'ls \"$1\"' sh {X}",
        f"bash -c'ls \"$1\"' sh {X}",
        f"sh script -c {X}",
        f"python3 script.py -c {X}",
        f"python3 -m tool -c {X}",
        f"sh {X}",
        f"bash -o -{X}",
        f"bash -x{X}",
        f"awk -v a={X} '{{print a}}' f",
        f"awk -v {X} '{{print a}}' f",
        f"awk '{{print}}' {X}",
        f"ssh {X} uptime",
        f"ssh -p {X} host",
        f"trap 'rm x' {X}",
        f"echo eval {X}",
        f"git log eval {X}",
        f"$P -c {X}",
        f"eval >{X}",
        f"eval x >{X}",
        f"{X} a",
        f"A={X}",
        f">{X}",
        f"eval ${{A-{X}}}",
    ],
)
def test_what_is_an_argument_is_left_alone(text: str) -> None:
    (tag,) = lex(text).tags
    assert code_reader(tag, text) is None
