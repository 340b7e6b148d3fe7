"""What a tool runs (SPEC 2.6, 3.4, 7.2, 7.10)."""

from __future__ import annotations

import pytest

from mcc_jupyter.core.tool import Argv, Curl, Function, Shell

FORMS = "fn: expected `module:function` or `module.function`"
RAW_IT = "wrap it in {% raw %}…{% endraw %}"
LENGTH = "`${#…}` begins a template comment (`{#`)"
GO = "`{{.…}}` is read as a template expression"


# ---- fn


@pytest.mark.parametrize(
    ("target", "name"),
    [
        pytest.param("a.b:c", "c", id="FN-27-colon"),
        pytest.param("a.b.c", "c", id="FN-27-dots"),
        pytest.param("a:B.m", "m", id="FN-27-method"),
        pytest.param("a:_x", "_x", id="FN-27-private"),
        pytest.param("builtins:print", "print", id="FN-27-print"),
        pytest.param("math:hypot", "hypot", id="FN-27-hypot"),
        pytest.param("builtins:int", "int", id="FN-27-int"),
    ],
)
def test_paths_of_functions(one, target, name):
    tool = one({"fn": target})
    assert (tool.name, tool.body, tool.kind) == (name, Function(target), "fn")


@pytest.mark.parametrize(
    "target",
    [
        pytest.param("json", id="FN-27-no-attribute"),
        pytest.param("", id="FN-27-empty"),
        pytest.param("a:b:c", id="FN-27-two-colons"),
        ".a:b",
        "a.b:",
        "a/b.py:c",
        "a b:c",
        5,
        None,
        ["a:b"],
    ],
)
def test_what_is_no_path_is_told_both_forms(problems, target):
    assert problems({"fn": target}) == [FORMS]


def test_a_function_whose_name_is_no_tool_name_needs_one(problems, one):
    assert problems({"fn": "a:größe"}) == [
        "fn: `größe` is no name for a tool; use letters, digits, `_`, `.` and `-`, no digit first"
    ]
    assert one({"fn": "a:größe", "name": "size"}).name == "size"


# ---- exec


UNSET = "is not set here and nothing gives it"


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ({"exec": "echo $DB_PASWORD"}, f"exec: $DB_PASWORD {UNSET} (did you mean `DB_PASSWORD`?)"),
        ({"exec": "cat", "transform": "jq $NOPE"}, f"transform: $NOPE {UNSET}"),
        ({"curl": "http://h/$NOPE"}, f"curl: $NOPE {UNSET}"),
    ],
    ids=str,
)
def test_a_name_that_nothing_gives_is_told_at_declaration(one, fields, note):
    (told,) = [item for item in one({"name": "t", **fields}).notes if "$" in item]
    assert told.removeprefix("warning: ").startswith(f"{note}; list it in required_env")


@pytest.mark.parametrize(
    "fields",
    [{"required_env": ["NOPE"]}, {"optional_env": ["NOPE"]}, {"env": {"NOPE": "x"}}, {"env_file": ".env"}, {"secret_files": {"NOPE": "x"}}],
    ids=str,
)
def test_a_name_that_the_declaration_may_give_is_not_told_to_be_unset(one, fields):
    assert [note for note in one({"name": "t", "exec": "echo $NOPE", **fields}).notes if "$NOPE" in note] == []


def test_a_header_whose_quotes_keep_the_token_out_is_told(one):
    tool = one({"name": "t", "curl": "-H 'Authorization: Bearer $DB_PASSWORD' http://h"})
    assert tool.notes == ("warning: curl: $DB_PASSWORD stays as written in single quotes; use double quotes",)


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ('-H "X-Id: {{ id }}" http://h', False),
        ("-d k={{ id }} http://h", False),
        ('-H "X-Id: {{ id }}" http://h | jq .', True),
        ("-d {{ id }} http://h", True),
    ],
)
def test_a_parameter_runs_no_command_where_no_shell_reads_the_text(one, text, warned):
    tool = one({"name": "t", "curl": text, "params": [{"name": "id"}]})
    assert any("a caller can run commands through `id`" in note for note in tool.notes) is warned


@pytest.mark.parametrize("text", ["curl -sS http://h", " curl\n-d x http://h", "curl"])
def test_the_word_curl_is_no_part_of_a_curl_text(problems, text):
    assert problems({"name": "t", "curl": text}) == ["curl: leave out the word `curl`; write what follows it"]


def test_an_address_may_begin_with_the_word(one):
    assert one({"name": "t", "curl": "curl.se/x"}).kind == "curl"


def shell(tool):
    assert isinstance(tool.body, Shell)
    return tool.body


def test_a_script_keeps_its_references_for_the_shell(one):
    body = shell(one({"name": "t", "exec": "psql -p ${DB_PASSWORD|x} $HOME $NOPE"}))
    assert (body.written, body.template) == (
        "psql -p ${DB_PASSWORD|x} $HOME $NOPE",
        "psql -p ${DB_PASSWORD-x} $HOME $NOPE",
    )
    assert [item.name for item in body.references] == ["DB_PASSWORD"]


@pytest.mark.parametrize(
    "grant",
    [
        {"env": {"DB_PASSWORD": "x"}},
        {"env_passthrough": ["DB_*"]},
        {"env_passthrough": True},
        {"required_env": ["DB_PASSWORD"]},
        {"optional_env": {"DB_PASSWORD": "REGION"}},
    ],
    ids=str,
)
def test_what_the_tool_gets_anyway_is_no_reference(one, grant):
    assert shell(one({"name": "t", "exec": "echo $DB_PASSWORD", **grant})).references == ()


def test_reserved_names_are_never_references(one):
    parent = {"MCC_CTX_USER": "x", "MCC_CTX": "{}", "PATH": "/bin"}
    assert shell(one({"name": "t", "exec": "echo $MCC_CTX_USER $MCC_CTX $PATH"}, parent=parent)).references == ()


def test_an_env_file_does_not_stop_a_reference(one):
    """SPEC 3.4: it overrides by order."""
    assert shell(one({"name": "t", "exec": "echo $DB_PASSWORD", "env_file": "a"})).references != ()


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"exec": ""}, "exec: expected a command, or a list of arguments"),
        ({"exec": " \n"}, "exec: expected a command, or a list of arguments"),
        ({"exec": None}, "exec: expected a command, or a list of arguments"),
        ({"exec": {"a": 1}}, "exec: expected a command, or a list of arguments"),
        pytest.param({"exec": "echo ${#x}"}, f"exec: in tool `t`, line 1 of its text: {LENGTH}; {RAW_IT}", id="PROC-32-comment"),
        pytest.param({"exec": "docker ps --format '{{.Names}}'"}, f"exec: in tool `t`, line 1 of its text: {GO}; {RAW_IT}", id="PROC-32-docker"),
        ({"exec": "echo {{ nmae | quote }}", "params": [{"name": "name"}]}, "exec: uses `nmae`, which is no parameter (did you mean `name`?)"),
        ({"exec": "echo ${X|'a'}"}, "exec: the default of ${X|…} holds a quote or a brace; write it the shell's way, ${X-…}"),
        ({"exec": []}, "exec: expected a program, and then its arguments"),
        ({"exec": ["", "a"]}, "exec: expected a program, and then its arguments"),
        ({"exec": ["a", None]}, "exec[1]: read as null; quote it"),
        ({"exec": ["a", 0x1F, True]}, "exec[2]: read as true or false; quote it"),
        ({"exec": ["a", "{{ q }}"], "params": []}, "exec[1]: uses `q`, which is no parameter"),
        ({"exec": ["a", "{{ mcc_env('DB_PASSWORD') }}"], "params": []}, "exec[1]: uses `mcc_env`, which is no parameter"),
        ({"exec": ["a", "{{ mcc_env('DB_PASSWORD') }}"]}, "exec[1]: `mcc_env` cannot be used by name; write $NAME"),
        ({"exec": ["a", "$DB_PASSWORD"]}, "exec[1]: `DB_PASSWORD` may not stand in an argument list; use env, and write `exec` as one text"),
        ({"exec": ["a", "x", "-p{{ pw }}"], "params": [{"name": "pw", "override": "hunter2"}]}, "exec[2]: `pw` may not stand in an argument list; use env, and write `exec` as one text"),
        ({"exec": ["a", "x", "-p{{ pw }}"], "params": [{"name": "pw", "default": "$DB_PASSWORD"}]}, "exec[2]: `pw` may not stand in an argument list; use env, and write `exec` as one text"),
    ],
)  # fmt: skip
def test_wrong_commands(problems, fields, problem):
    assert problems({"name": "t", **fields}) == [problem]


def test_without_params_a_name_is_noted(one):
    tool = one({"name": "t", "exec": "apply {{ manifest | quote }}"})
    assert tool.notes == ("warning: exec: uses `manifest`, which is no parameter; declare it in `params`",)


def test_notes_of_a_script_name_their_field(one):
    tool = one({"name": "t", "exec": "echo {{ q }}", "transform": "grep {{ q }}", "params": [{"name": "q"}]})
    assert tool.notes == (
        "warning: exec: a caller can run commands through `q`; write {{ q | quote }}",
        "warning: transform: a caller can run commands through `q`; write {{ q | quote }}",
    )


CITY = "warning: exec: a caller can run commands through `city`; write {{ city | quote }}"


@pytest.mark.parametrize(
    ("choices", "notes"),
    [
        (["oslo", "a-b_c.d,e:f/g@h%i+j=k", 5, 1.5, True], ()),
        (["-rf"], ()),
        (["oslo", "new york"], (CITY,)),
        (["oslo", "a;b"], (CITY,)),
        (["oslo", ""], (CITY,)),
        (["*"], (CITY,)),
        (["å"], (CITY,)),
        (["a\n"], (CITY,)),
    ],
)
def test_a_choice_among_harmless_words_needs_no_quote(one, choices, notes):
    param = {"name": "city", "enum": list(map(str, choices))}
    assert one({"name": "t", "exec": "echo {{ city }}", "params": [param]}).notes == notes


def test_a_choice_among_harmless_words_is_no_option_either(one):
    param = {"name": "city", "enum": ["-l", "-a"]}
    assert one({"name": "t", "exec": "ls {{ city | quote }}", "params": [param]}).notes == ()


def test_what_a_template_comment_swallows_is_told(one):
    tool = one({"name": "t", "exec": "x=a; echo ${#x} is #} long"})
    assert tool.notes == (f"warning: exec: {LENGTH}, and what stands up to the next `#}}` is gone; {RAW_IT}",)
    assert one({"name": "t", "exec": "echo {# a $5 #}{#- b -#}"}).notes == ()


def test_in_a_list_of_tools_a_note_names_the_field_alone(declared):
    found = declared([{"name": "t", "exec": "curl -H 'X: ghp_" + "a1B2" * 9 + "'"}])
    assert found.tools[0].notes == (
        "warning: exec: looks like a credential and stands in the notebook; use a reference",
    )


def test_an_argument_list_has_no_shell(one):
    tool = one(
        {
            "name": "t",
            "exec": ["git", "-C", "$HOME/x", "{{ q }}", 5, "$$A", "a b;c"],
            "params": [{"name": "q"}, {"name": "o", "override": "x"}],
        }
    )
    assert tool.body == Argv(
        ("git", "-C", "$HOME/x", "{{ q }}", "5", "$$A", "a b;c"),
        ("git", "-C", "{{ mcc_env('HOME') }}/x", "{{ q }}", "5", "$A", "a b;c"),
    )


# ---- curl


@pytest.mark.parametrize(
    ("written", "template", "words"),
    [
        ("https://h.test/a?b=1&c=2", 'curl -sSL "https://h.test/a?b=1&c=2"', ("-sSL", "https://h.test/a?b=1&c=2")),
        (
            "http://h.test/{{ q | urlencode }}?k=${DB_PASSWORD}\n",
            'curl -sSL "http://h.test/{{ q | urlencode }}?k=${DB_PASSWORD}"',
            ("-sSL", "http://h.test/{{ q | urlencode }}?k={{ mcc_env('DB_PASSWORD') }}"),
        ),
        (
            'https://h.test/"`$(id)\\',
            'curl -sSL "https://h.test/\\"\\`\\$(id)\\\\"',
            ("-sSL", 'https://h.test/"`$(id)\\'),
        ),
        (
            "-X POST 'https://h.test/{{ q }}' -d @f",
            "curl -sSL -X POST 'https://h.test/{{ q }}' -d @f",
            ("-sSL", "-X", "POST", "https://h.test/{{  q  }}", "-d", "@f"),
        ),
        ("https://h.test/a -H 'A: b'", "curl -sSL https://h.test/a -H 'A: b'", ("-sSL", "https://h.test/a", "-H", "A: b")),
        ("https://h.test/a | jq .", "curl -sSL https://h.test/a | jq .", None),
    ],
)  # fmt: skip
def test_curl(one, written, template, words):
    body = one({"name": "t", "curl": written, "params": [{"name": "q"}]}).body
    assert isinstance(body, Curl)
    assert (body.shell.written, body.shell.template, body.words) == (written, template, words)


LINES = 'curl: |\n  -sS  # quiet\n\n  # who asks\n  -H "Authorization: Bearer $DB_PASSWORD"\n  https://h.test/a\n'


@pytest.mark.parametrize(
    ("written", "template"),
    [
        ("-s\n-H 'A: b'\n \t\n  https://h.test", "-s -H 'A: b'  \t   https://h.test"),
        ("-s # c\n# d {\n-S\n", "-s     -S"),
        ("-s\n{{ q }}\nhttp://h.test", "-s {{ q }} http://h.test"),
        ("-s {# c\n#c #} \n-S", "-s {# c\n#c #}  -S"),
        ("-s\n{% if q %}\n-H 'A: {{ q }}'\n{% endif %}\n'h'", "-s {% if q %}\n-H 'A: {{ q }}' {% endif %}\n'h'"),
        ('-d $(id\n-u) >f\n"h"', '-d $(id\n-u) >f "h"'),
        # What the shell means stays.
        ("https://h.test |\n  jq -r\n  -c", "https://h.test |\n  jq -r\n  -c"),
        ("https://h.test\necho done\n-x", "https://h.test\necho done\n-x"),
        ("'a\n-b' \\\n-d", "'a\n-b' \\\n-d"),
        ('"a\n-b" \\\n-d', '"a\n-b" \\\n-d'),
        ("-d @- h <<E\n-a\nE\n-b", "-d @- h <<E\n-a\nE\n-b"),
        ("h # {{ q }}\n-b", "h # {{ q }}\n-b"),
        ("h # c\necho", "h # c\necho"),
        ("h; (a\n-b)", "h; (a\n-b)"),
    ],
)  # fmt: skip
def test_a_line_that_can_only_be_an_argument_continues_the_curl_command(one, written, template):
    """The request went out without its header, and the shell looked for a program called -H."""
    body = one({"name": "t", "curl": written, "params": [{"name": "q"}]}).body
    assert (body.shell.written, body.shell.template) == (written, f"curl -sSL {template}")


def test_a_curl_command_on_several_lines_is_plain_arguments(one):
    body = one(f"name: t\n{LINES}").body
    assert body.words == (
        "-sSL", "-sS", "-H", "Authorization: Bearer {{ mcc_env('DB_PASSWORD', '') }}", "https://h.test/a",
    )  # fmt: skip
    assert [item.name for item in body.shell.references] == ["DB_PASSWORD"]


def test_curl_gets_the_parameters_as_json_where_stdin_says_so(one):
    body = one({"name": "t", "curl": "https://h.test", "stdin": True}).body
    assert (body.shell.template, body.words) == (
        'curl -sSL --json @- "https://h.test"',
        ("-sSL", "--json", "@-", "https://h.test"),
    )


def test_a_reference_in_an_address_is_frozen(one):
    body = one({"name": "t", "curl": "https://h.test?k=$DB_PASSWORD"}).body
    assert [item.name for item in body.shell.references] == ["DB_PASSWORD"]
    assert "hunter2" not in repr(body)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('-H "A: $DB_PASSWORD" -H "B: $REGION" -H "C: $DB_PASSWORD" https://h.test | jq .', ["DB_PASSWORD", "REGION"]),
        ("-H 'A: ${OWN}' https://h.test/a -o *.x", ["OWN"]),
        ('-H "A: $DB_PASSWORD" https://h.test', []),
        ("-o $HOME/x -H 'A: ${REGION:-x}' https://h.test/$NOPE | jq .", []),
        ('https://h.test/a-$$REGION | grep "$REGION" >$REGION', []),
    ],
)
def test_a_variable_that_the_shell_puts_on_curls_command_line_is_told(one, text, names):
    notes = one({"name": "t", "curl": text, "env": {"OWN": "x"}}).notes
    assert [note for note in notes if note.startswith("warning: curl: ") and "command line" in note] == [
        f"warning: curl: {name} reaches curl's command line, because the text needs a shell; keep to plain arguments, "
        "with `transform` for what comes after a pipe"
        for name in names
    ]


def test_a_caller_who_may_name_a_file_for_curl_to_send_is_told(one):
    tool = one({"name": "t", "curl": "-d {{ v | quote }} https://h.test", "params": [{"name": "v"}]})
    assert tool.notes == ("warning: curl: a caller can send a file through `v` by @; use --data-raw",)


def test_curl_needs_a_text(problems):
    assert problems({"name": "t", "curl": ["-X", "GET"]}) == ["curl: expected the rest of a curl command"]


# ---- transform


def test_transform_is_a_command_or_several(one, problems):
    assert one({"name": "t", "exec": "a", "transform": "jq ."}).transform.template == "jq ."
    assert one({"name": "t", "exec": "a", "transform": ["sort", "uniq -c"]}).transform.template == "sort | uniq -c"
    assert problems({"name": "t", "exec": "a", "transform": []}) == [
        "transform: expected a command, or a list of commands"
    ]
    assert problems({"name": "t", "exec": "a", "transform": ["sort", ""]}) == ["transform[1]: expected a command"]


def test_a_function_s_parameters_are_known_only_from_its_signature(one):
    assert (
        one({"fn": "a:b", "transform": "grep {{ anything | quote }}"}).transform.template
        == "grep {{ anything | quote }}"
    )
