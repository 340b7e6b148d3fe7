"""Names that a command text asks for and will not get."""

from __future__ import annotations

import pytest

from mcc_jupyter.core.shell_lexer import lex
from mcc_jupyter.core.shell_names import kept_names, unset_names

PARENT = {"WEATHER_API_KEY": "x", "A": "x"}
GIVEN = frozenset({"HOME", "DB_PASSWORD"})
ADVICE = "list it in required_env or optional_env, or write a default:"


def unset(text: str) -> list[str]:
    return list(unset_names(lex(text), parent=PARENT, given=GIVEN, params=("city",)))


@pytest.mark.parametrize(
    ("text", "name", "close"),
    [
        ('echo "$WEATHER_API_KY"', "WEATHER_API_KY", " (did you mean `WEATHER_API_KEY`?)"),
        ("echo ${WEATHER_API_KY}", "WEATHER_API_KY", " (did you mean `WEATHER_API_KEY`?)"),
        ("echo $DB_PASWORD", "DB_PASWORD", " (did you mean `DB_PASSWORD`?)"),
        ("echo $NOPE $NOPE", "NOPE", ""),
        ("cat <<E\n$NOPE\nE\n", "NOPE", ""),
        ("echo NOPE=$NOPE", "NOPE", ""),
        ("x=1 echo $(echo $NOPE)", "NOPE", ""),
        ('ssh host "echo $NOPE"', "NOPE", ""),
        ("echo $((NOP + 1)) $NOPE", "NOPE", ""),
        ("{{ city }} $NOPE", "NOPE", ""),
    ],
)
def test_a_name_that_is_empty_for_certain_is_told_with_a_near_one(text: str, name: str, close: str) -> None:
    assert unset(text) == [f"warning: ${name} is not set here and nothing gives it{close}; {ADVICE} ${{{name}:-…}}"]


def test_a_parameter_that_is_written_as_a_variable_is_told_how_it_is_written() -> None:
    assert unset("echo $city") == ["warning: $city is no variable but a parameter; write {{ city | quote }}"]


@pytest.mark.parametrize(
    "text",
    [
        "echo $HOME $A $DB_PASSWORD $PWD $HOSTNAME $MCC_CTX_CITY $1 $$ $$X",
        "X=1; echo $X",
        "X=$(date) ; echo $X",
        "for x in 1 2; do echo $x; done",
        "while IFS= read -r line rest; do echo $line $rest; done",
        "export X=1; echo $X",
        "f() { local x; echo $x; }",
        "getopts ab opt; echo $opt",
        "printf -v out %s 1; echo $out",
        "((n = 1)); echo $n",
        ": ${X:=1}; echo $X",
        "test -n ${X-} && echo $X",
        "echo ${X:-d} ${X?no} ${X%y}",
        ". ./env.sh; echo $X",
        "source env.sh; echo $X",
        'eval "$(tool env)"; echo $X',
        "echo '$X' # $X",
        "cat <<'E'\n${X}\nE\n",
        "echo \\$X",
        "echo nothing",
    ],
)
def test_what_the_text_may_set_itself_is_left_alone(text: str) -> None:
    assert unset(text) == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("curl -H 'Authorization: Bearer $WEATHER_API_KEY' h", "WEATHER_API_KEY"),
        ("echo '{$A}' \"$B\"", "A"),
        ("echo ${A} '${A} $DB_PASSWORD'", "DB_PASSWORD"),
        ("echo '{{ x }}$A'", "A"),
    ],
)
def test_a_name_that_single_quotes_keep_is_told(text: str, name: str) -> None:
    assert list(kept_names(text, parent=PARENT, given=GIVEN)) == [
        f"warning: ${name} stays as written in single quotes; use double quotes"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "echo '$NOPE' $A",
        "echo \"$A\" '${A}' '$$A' '\\$A'",
        "sh -c 'echo $A'",
        "awk '{print $A}' file",
        "jq '.[] | $A'",
        "ssh host 'echo $A'",
        "cat <<'E'\n$A it's\nE\n",
        "# it's $A",
        "it\\'s $A",
    ],
)
def test_what_is_no_variable_or_another_programs_is_left_alone(text: str) -> None:
    assert list(kept_names(text, parent=PARENT, given=GIVEN)) == []
