"""What the author of a ``curl`` text is told of files that a caller may name."""

from __future__ import annotations

import pytest

from mcc_jupyter.core.curl_text import file_notes, variables

PARAMS = {"v": "str", "xs": "list", "n": "int", "a": "any", "e": "enum"}
RAW = "by @; use --data-raw"
HEADER = "by @; write the header's name before it"
FORM = "by @ or <; use --form-string"
COOKIE = "by its name; write the cookie's name and = before it"
UPLOAD = "by its name; write the name of the file, or use --data-raw"


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("-d {{ v | quote }} h", RAW),
        ('-d "{{ v }}" h', RAW),
        ("-d '{{ v | trim }}' h", RAW),
        ("--data '{{ v }}x' h", RAW),
        ("-d{{ v | quote }} h", RAW),
        ("-sSd {{ v | quote }} h", RAW),
        ("-sSd{{ v | quote }} h", RAW),
        ("h --data-binary {{ v | quote }}", RAW),
        ("h --data-ascii {{ v | quote }} | jq .", RAW),
        ("h --data-urlencode {{ v | quote }}", "by @; write = before it"),
        ("h --json {{ v | quote }}", "by @; use --data-raw and the header Content-Type"),
        ("-H {{ v | quote }} h", HEADER),
        ("--header {{ v | quote }} h", HEADER),
        ("--proxy-header {{ v | quote }} h", HEADER),
        ("-F {{ v | quote }} h", FORM),
        ("-F f={{ v | quote }} h", FORM),
        ('-Ff="{{ v }}" h', FORM),
        ("--form 'f={{ v }}' h", FORM),
        ("-b {{ v | quote }} h", COOKIE),
        ("--cookie {{ v | quote }} h", COOKIE),
        ("-T {{ v | quote }} h", UPLOAD),
        ("--upload-file {{ v | quote }} h", UPLOAD),
    ],
)
def test_an_option_that_reads_a_file_by_its_value_is_told(text: str, how: str) -> None:
    assert list(file_notes(text, PARAMS)) == [f"warning: a caller can send a file through `v` {how}"]


@pytest.mark.parametrize(
    "text",
    [
        "--data-raw {{ v | quote }} --form-string f={{ v | quote }} -o {{ v | quote }} {{ v | quote }}",
        "-d x{{ v | quote }} -d 'k={{ v }}' -dk={{ v | quote }} --data-urlencode k={{ v | quote }} h",
        "-H 'A: {{ v }}' -b c={{ v | quote }} -F 'f=x{{ v }}' -F =a=b{{ v }} h",
        '-d "$X{{ v }}" h',
        "-d {{ n }} -d {{ e }} -d '{{ xs }}' -d {{ other }} h",
        "-d {{ v | urlencode }} -d '{{ v | tojson }}' -d {{ v | length }} -d {{ 'k=' ~ v | quote }} h",
        "-d {{ | }} -d {{ }} h",
        "h | other -d {{ v | quote }}; x=$(curl -d {{ v | quote }})",
        ">{{ v | quote }}",
        "-d x >{{ v | quote }} h; > {{ v }}",
        "{# c #} h",
    ],
)
def test_what_sends_no_file_of_the_callers_choice_is_left_alone(text: str) -> None:
    assert [note for note in file_notes(text, PARAMS) if "`v`" in note and "x=$(" not in text] == []


def test_names_made_from_a_parameter_are_its_callers_too() -> None:
    assert list(file_notes("{% for x in xs %} -d {{ x | quote }}{% endfor %} -d {{ a | quote }} h", PARAMS)) == [
        f"warning: a caller can send a file through `{name}` {RAW}" for name in ("x", "a")
    ]


def test_variables_are_those_that_the_shell_puts_into_a_word_of_curl() -> None:
    assert variables("\"$A\" '${B}' '${C:-d}' '$D' $$E ${F%x}$A >$G; curl2 $H; $(curl3 $I) # $J") == ("A", "B", "F")
