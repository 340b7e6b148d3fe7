"""Secrets in notebooks and texts: what is told, what is changed, and that nothing else is."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcc_jupyter.core import dotenv
from mcc_jupyter.core.errors import DeclarationError
from mcc_jupyter.core.scan import Cleaned, Finding, Scanner, Where, env_file_secrets, parent_secrets

VALUE = "n0t-f0r-any-eyes"
GITHUB = "ghp_" + "a1B2" * 9
OPENAI = "sk-proj-" + "Zz9_" * 10
PEM = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw\n" * 3 + "Ab12==\n-----END PRIVATE KEY-----\n"
KNOWN = Scanner([("API_TOKEN", VALUE)])
IMAGE = base64.b64encode(bytes(range(256)) * 8).decode()


def code(source: object = "", *outputs: dict[str, Any], **more: object) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": 1, "id": "deadbeef", "metadata": {}, "outputs": list(outputs), "source": source, **more}


def markdown(source: object, **more: object) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": "c0ffee00", "metadata": {}, "source": source, **more}


def stream(text: object) -> dict[str, Any]:
    return {"name": "stdout", "output_type": "stream", "text": text}


def display(**data: object) -> dict[str, Any]:
    return {"output_type": "display_data", "metadata": {}, "data": {key.replace("_", "/", 1).replace("__", "+"): item for key, item in data.items()}}


def error(*traceback: str, ename: str = "ValueError", evalue: str = "") -> dict[str, Any]:
    return {"output_type": "error", "ename": ename, "evalue": evalue, "traceback": list(traceback)}


def notebook(*cells: object, **metadata: object) -> str:
    document = {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def told(document: str, scanner: Scanner = KNOWN) -> list[str]:
    return [str(finding) for finding in scanner.notebook(document)]


# What is told


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param(notebook(code(), code(f'client = OpenAI(api_key="{OPENAI}")')), ["cell 2, line 1: looks like an OpenAI key"], id="quotes"),
        pytest.param(notebook(code(["import os\n", "\n", f"key = '{VALUE}'"])), ["cell 1, line 3: holds API_TOKEN"], id="lines"),
        pytest.param(notebook(code(f"\n{VALUE}\n{VALUE} {VALUE} {GITHUB}")), ["cell 1, line 2: holds API_TOKEN", "cell 1, line 3: holds API_TOKEN", "cell 1, line 3: looks like a GitHub token"], id="several"),
        pytest.param(notebook(markdown(f"a\n{GITHUB}")), ["cell 1, line 2: looks like a GitHub token"], id="markdown"),
        pytest.param(notebook(code(VALUE, stream("x"), stream([f"{VALUE}\n", "x"]))), ["cell 1, line 1: holds API_TOKEN", "cell 1, output 2: holds API_TOKEN"], id="order"),
        pytest.param(notebook(code("", display(text_plain=VALUE, text_html=[f"<p>{VALUE}</p>"]))), ["cell 1, output 1: holds API_TOKEN"], id="once an output"),
        pytest.param(notebook(code("", error(f"\x1b[31mTypeError\x1b[0m: {VALUE}"))), ["cell 1, output 1: holds API_TOKEN"], id="traceback"),
        pytest.param(notebook(code("", error(evalue=VALUE))), ["cell 1, output 1: holds API_TOKEN"], id="evalue"),
        pytest.param(notebook(code("", error(f"\x1b[31m{GITHUB[:9]}\x1b[1;32m{GITHUB[9:]}\x1b[0m"))), ["cell 1, output 1: looks like a GitHub token"], id="colours"),
        pytest.param(notebook(code("", display(application_json={"a": [{"b": VALUE}]}))), ["cell 1, output 1: holds API_TOKEN"], id="json"),
        pytest.param(notebook(code("", display(application_json={VALUE: 1}))), ["cell 1, output 1: holds API_TOKEN"], id="json key"),
        pytest.param(notebook(code("", {**display(), "metadata": {VALUE: {}}})), ["cell 1, output 1: holds API_TOKEN"], id="key of an output's metadata"),
        pytest.param(notebook(code("", display(**{VALUE: "x"}))), ["cell 1, output 1: holds API_TOKEN"], id="MIME type"),
        pytest.param(notebook(code("", {**display(), VALUE: 1})), ["cell 1, output 1: holds API_TOKEN"], id="key of an output"),
        pytest.param(notebook(code("", {"output_type": VALUE, "text": "x"})), ["cell 1, output 1: holds API_TOKEN"], id="output_type"),
        pytest.param(notebook(code("", {"output_type": "stream", "name": VALUE, "text": "x"})), ["cell 1, output 1: holds API_TOKEN"], id="name of a stream"),
        pytest.param(notebook({**code(""), "id": VALUE}), ["cell 1, metadata: holds API_TOKEN"], id="id of a cell"),
        pytest.param(notebook({**code(""), VALUE: 1}), ["cell 1, metadata: holds API_TOKEN"], id="key of a cell"),
        pytest.param(notebook(code("", stream(list(PEM.splitlines(keepends=True))))), ["cell 1, output 1: looks like a private key"], id="key over lines"),
        pytest.param(notebook(code("", stream(base64.b64encode(f"user:{VALUE}".encode()).decode()))), ["cell 1, output 1: holds API_TOKEN"], id="base64"),
        pytest.param(notebook(markdown("", attachments={"a.txt": {"text/plain": VALUE}})), ["cell 1, attachment: holds API_TOKEN"], id="attachment"),
        pytest.param(notebook(markdown("", attachments={"a.txt": {"text/plain": [VALUE[:8], VALUE[8:]]}})), ["cell 1, attachment: holds API_TOKEN"], id="attachment lines"),
        pytest.param(notebook(code("", metadata={"papermill": {"parameters": {"token": VALUE}}})), ["cell 1, metadata: holds API_TOKEN"], id="cell metadata"),
        pytest.param(notebook(code("", {"output_type": "stream", "text": "", "metadata": {"x": VALUE}})), ["cell 1, output 1: holds API_TOKEN"], id="output metadata"),
        pytest.param(notebook(code(VALUE), papermill={"x": {VALUE: 1}}), ["cell 1, line 1: holds API_TOKEN", "metadata: holds API_TOKEN"], id="metadata"),
        pytest.param(notebook(code("", VALUE)), ["cell 1, metadata: holds API_TOKEN"], id="no output"),
        pytest.param("\ufeff" + notebook(code(VALUE)), ["cell 1, line 1: holds API_TOKEN"], id="byte order mark"),
        pytest.param(json.dumps({"worksheets": [{"cells": [{"cell_type": "code", "input": ["\n", VALUE], "outputs": [{"output_type": "pyout", "html": [GITHUB[:9], GITHUB[9:]], "png": IMAGE}]}]}]}), ["cell 1, line 2: holds API_TOKEN", "cell 1, output 1: looks like a GitHub token"], id="nbformat 3"),
    ],
)  # fmt: skip
def test_a_secret_is_told_with_its_place_and_name(document: str, expected: list[str]) -> None:
    assert told(document) == expected


@pytest.mark.parametrize(
    "document",
    [
        notebook(),
        notebook(code("print('hello')", stream("hello\n"))),
        notebook(code("", display(image_png=IMAGE, text_plain="<Figure size 640x480>"))),
        notebook(code("", display(image_jpeg=[IMAGE + "\n", IMAGE]))),
        notebook(code("", display(image_png=VALUE.replace("-", "+"), text_plain=""))),
        notebook(markdown("![a](attachment:a.png)", attachments={"a.png": {"image/png": IMAGE}})),
        notebook(code(id="sk-" + "a" * 40)),
        notebook(interpreter={"hash": "31f2aee4e71d21fbe5cf8b01ff0e069b9275f58929596ceb00d14d90e3e16cd6"}),
        notebook(code("a = '[redacted:API_TOKEN]' + '[redacted:github-token]'")),
        notebook(code("short", stream("short"))),
        notebook(code(["import os\n", "os.environ['API_TOKEN']\n"])),
        notebook(code("", display(text_html='<div id="sk-container-id-1" class="sk-top-container sk-estimator-doc-link">'))),
        notebook(code("create_engine('postgresql://user:password@localhost/db')")),
        notebook(code("", stream("commit 9b74c9897bac770ffc029102a200c5deadbeef00 SKU 12345678 ask-me-anything\n"))),
    ],
)
def test_of_everything_else_nothing_is_told_and_nothing_changed(document: str) -> None:
    assert told(document) == []
    assert KNOWN.clean_notebook(document) == Cleaned(document)


def test_an_image_that_is_no_base64_is_searched() -> None:
    assert told(notebook(code("", display(image_png=f"{VALUE} is no image")))) == ["cell 1, output 1: holds API_TOKEN"]
    assert told(notebook(code("", display(image_svg__xml=GITHUB)))) == ["cell 1, output 1: looks like a GitHub token"]


def test_a_known_value_goes_before_the_format_it_has_or_stands_in() -> None:
    scanner = Scanner([("GITHUB_TOKEN", GITHUB), ("PGPASSWORD", "hunter2-hunter2")])

    assert told(notebook(code("", stream(f"{GITHUB} {GITHUB.replace('a', 'c')}"))), scanner) == ["cell 1, output 1: holds GITHUB_TOKEN", "cell 1, output 1: looks like a GitHub token"]
    assert told(notebook(code("", stream("postgres://ana:hunter2-hunter2@db/x"))), scanner) == ["cell 1, output 1: holds PGPASSWORD"]
    assert told(notebook(code("", stream("postgres://ana:xhunter2-hunter2x@db/x"))), scanner) == ["cell 1, output 1: holds PGPASSWORD"]


def test_two_formats_in_one_place_are_one_finding() -> None:
    [only] = told(notebook(code("", stream(f"https://ana:{GITHUB}@github.com/a/b"))))

    assert only == "cell 1, output 1: looks like a GitHub token"


def test_what_is_ignored_is_not_told() -> None:
    document = notebook(code(f"{VALUE} {GITHUB}"))

    assert told(document, Scanner([("API_TOKEN", VALUE)], ["API_*"])) == ["cell 1, line 1: looks like a GitHub token"]
    assert told(document, Scanner([("API_TOKEN", VALUE)], ["github-token"])) == ["cell 1, line 1: holds API_TOKEN"]


def test_names_of_short_and_common_values_are_listed() -> None:
    assert Scanner([("PIN", "1234"), ("MODE", "production"), ("EMPTY", ""), ("API_TOKEN", VALUE)]).skipped == ("PIN", "MODE")


def test_one_name_may_have_several_values() -> None:
    scanner = Scanner([("TOKEN", VALUE), ("TOKEN", "another-value")])
    assert told(notebook(code(f"{VALUE}\nanother-value")), scanner) == ["cell 1, line 1: holds TOKEN", "cell 1, line 2: holds TOKEN"]


def test_a_text_is_told_by_line() -> None:
    text = f"a\n{VALUE} {VALUE}\r\nb {GITHUB}\n{PEM}"

    assert [str(finding) for finding in KNOWN.text(text)] == ["line 2: holds API_TOKEN", "line 3: looks like a GitHub token", "line 4: looks like a private key"]


def test_LEAK_14_a_secret_in_two_pieces_of_a_stream_is_one_secret() -> None:
    outputs = [stream("a " + VALUE[:7]), stream([VALUE[7:] + " b\n", f"c {VALUE}"]), {**stream(VALUE[:7]), "name": "stderr"}, stream(VALUE[7:])]
    document = notebook(code("", *outputs), code("", stream(VALUE[:7])), code("", stream(VALUE[7:]), display(text_plain="x"), stream(VALUE[:3])))
    cleaned = KNOWN.clean_notebook(document)

    assert told(document) == ["cell 1, output 1: holds API_TOKEN", "cell 1, output 2: holds API_TOKEN"]
    texts = [output["text"] for output in json.loads(cleaned.text)["cells"][0]["outputs"]]
    assert texts == ["a [redacted:API_TOKEN]", [" b\n", "c [redacted:API_TOKEN]"], VALUE[:7], VALUE[7:]]
    assert json.loads(cleaned.text)["cells"][1:] == json.loads(document)["cells"][1:]


@pytest.mark.parametrize("odd", ['{"cells": [7, {"outputs": 7}, {"outputs": [7, {"output_type": "stream"}]}]}', '{"worksheets": []}'])
def test_what_is_hardly_a_notebook_is_read_as_far_as_it_goes(odd: str) -> None:
    assert told(odd) == []


def test_a_finding_is_data_too() -> None:
    [known] = KNOWN.notebook(notebook(code("", stream(VALUE))))
    [format] = KNOWN.clean_text(f"\n{GITHUB}").redacted

    assert known.json() == {"part": "output", "cell": 1, "output": 1, "line": None, "name": "API_TOKEN", "format": None, "redacted": False}
    assert format.json() == {"part": "text", "cell": None, "output": None, "line": 2, "name": None, "format": "github-token", "redacted": True}
    assert str(format) == "line 2: redacted what looks like a GitHub token"


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("", "the file is no notebook: it is no JSON"),
        ("{'cells': []}", "the file is no notebook: it is no JSON"),
        ("<<<<<<< HEAD\n{}", "the file is no notebook: it is no JSON"),
        ("[" * 100_000, "the file is no notebook: it is nested too deeply"),
        ("[]", "this is no notebook: it has no cells"),
        ('{"cells": {}}', "this is no notebook: it has no cells"),
    ],
)
def test_what_is_no_notebook_is_an_error(document: str, expected: str) -> None:
    for look in (KNOWN.notebook, KNOWN.clean_notebook):
        with pytest.raises(DeclarationError) as caught:
            look(document)
        assert str(caught.value) == expected


# What is changed


def test_outputs_are_redacted_and_sources_told() -> None:
    document = notebook(code(f"token = '{VALUE}'", stream([f"a {VALUE} b\n", "c\n"]), display(text_plain=GITHUB)))
    cleaned = KNOWN.clean_notebook(document)

    expected = document.replace(f"a {VALUE} b", "a [redacted:API_TOKEN] b").replace(GITHUB, "[redacted:github-token]")
    assert cleaned == Cleaned(
        expected,
        (Finding(Where("output", 1, 1), "API_TOKEN", redacted=True), Finding(Where("output", 1, 2), format="github-token", redacted=True)),
        (Finding(Where("source", 1, line=1), "API_TOKEN"),),
    )
    assert [str(finding) for finding in cleaned.redacted] == ["cell 1, output 1: redacted API_TOKEN", "cell 1, output 2: redacted what looks like a GitHub token"]


def test_metadata_and_attachments_are_told_and_not_changed() -> None:
    document = notebook(markdown("", attachments={"a.txt": {"text/plain": VALUE}}), code(metadata={"a": VALUE}), kernel=VALUE)
    cleaned = KNOWN.clean_notebook(document)

    assert cleaned.text == document
    assert [str(finding) for finding in cleaned.standing] == ["cell 1, attachment: holds API_TOKEN", "cell 2, metadata: holds API_TOKEN", "metadata: holds API_TOKEN"]


def test_a_key_over_many_lines_leaves_one_mark_and_as_many_strings() -> None:
    lines = ["before\n", "x " + PEM.splitlines(keepends=True)[0], *PEM.splitlines(keepends=True)[1:], "after é\n"]
    cleaned = KNOWN.clean_notebook(notebook(code("", stream(lines))))
    text = json.loads(cleaned.text)["cells"][0]["outputs"][0]["text"]

    assert text == ["before\n", "x [redacted:private-key]", "", "", "", "", "\n", "after é\n"]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (rf"\u00e9\/\"{VALUE}\"\ud83d\ude00 é\t{VALUE}\\", r"\u00e9\/\"[redacted:API_TOKEN]\"\ud83d\ude00 é\t[redacted:API_TOKEN]\\"),
        (VALUE.replace("n", r"\u006e"), "[redacted:API_TOKEN]"),
        (rf"\ud800{VALUE}\udfff", r"\ud800[redacted:API_TOKEN]\udfff"),
        (rf"\"{GITHUB}\\n{GITHUB}\\nb", r"\"[redacted:github-token]\\n[redacted:github-token]\\nb"),
        (rf"\u001b[31m{GITHUB[:5]}\u001b[0m{GITHUB[5:]}\u001b[0m", r"\u001b[31m[redacted:github-token]\u001b[0m"),
        (rf"\u001b[31m{VALUE[:5]}\u001b[0m{VALUE[5:]} \u001b[1m{GITHUB}", r"\u001b[31m[redacted:API_TOKEN] \u001b[1m[redacted:github-token]"),
    ],
)
def test_what_is_not_replaced_keeps_its_spelling(raw: str, expected: str) -> None:
    document = '{ "nbformat":4,"cells" : [{"outputs":[{"text":"%s"}],\t"cell_type":"code"}]}  '

    assert KNOWN.clean_notebook(document % raw).text == document % expected


@pytest.mark.parametrize("text", [f"password={VALUE}\r\nurl=https://ana:hunter2@h.test\n", f"\ufeff{VALUE}", f"é{VALUE}\udc80"])
def test_a_text_is_redacted_whole(text: str) -> None:
    cleaned = KNOWN.clean_text(text)

    assert cleaned.text == text.replace(VALUE, "[redacted:API_TOKEN]").replace("hunter2", "[redacted:url-password]")
    assert cleaned.standing == ()
    assert KNOWN.text(cleaned.text) == []


def test_what_has_no_finding_is_the_same_text() -> None:
    text = "nothing\r\n\tin it"
    assert KNOWN.clean_text(text).text is text
    assert KNOWN.clean_text("").text == ""


def test_a_value_that_is_in_a_mark_is_not_redacted_again() -> None:
    scanner = Scanner([("NAME_OF_IT", "API_TOKEN"), ("API_TOKEN", VALUE), ("WORD", "redacted")])
    cleaned = scanner.clean_notebook(notebook(code("", stream(f"{VALUE} API_TOKEN"))))

    assert json.loads(cleaned.text)["cells"][0]["outputs"][0]["text"] == "[redacted:API_TOKEN] [redacted:NAME_OF_IT]"
    assert scanner.notebook(cleaned.text) == []


def test_no_value_is_in_a_repr() -> None:
    cleaned = KNOWN.clean_notebook(notebook(code(VALUE, stream(VALUE))))
    assert VALUE not in repr(cleaned) + repr(KNOWN)


# For any notebook

PIECES = [
    VALUE, VALUE[:5], VALUE[5:], VALUE[:7], VALUE[7:], GITHUB, OPENAI, "eyJhbGciOi.eyJzdWIiOi.sig", "https://ana:", "hunter2", "@h.test", PEM, *PEM.splitlines(keepends=True)[:2],
    "another-value", "AKIA" + "A2" * 8, "\x1b[31m", "\x1b[", "\n", "\r\n  ", '"', "\\", "\\n", "é", "😀", "\ud83d", "x", " ", "[redacted:", "API_TOKEN]", "[redacted:X]", "%3D", "/",
    base64.b64encode(VALUE.encode()).decode(),
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
LINES = TEXTS | st.lists(TEXTS, max_size=4)
JSON = st.recursive(TEXTS | st.integers() | st.none(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=5)
OUTPUTS = (
    LINES.map(stream)
    | st.fixed_dictionaries({"text_plain": LINES, "application_json": JSON}).map(lambda data: display(**data))
    | st.lists(TEXTS, max_size=3).map(lambda frames: error(*frames))
)
CELLS = st.builds(lambda source, outputs, extra: code(source, *outputs, metadata={"x": extra}), LINES, st.lists(OUTPUTS, max_size=3), JSON) | LINES.map(markdown)
STYLES = st.fixed_dictionaries({"indent": st.sampled_from([None, 1, 2]), "ensure_ascii": st.booleans(), "sort_keys": st.booleans()})
SCANNER = Scanner([("API_TOKEN", VALUE), ("API_TOKEN", "another-value"), ("URL_PW", "hunter2-hunter2")])


def without_outputs(document: str) -> object:
    loaded = json.loads(document)
    for cell in loaded["cells"]:
        cell.pop("outputs", None)
    return loaded


def shape(node: object) -> object:
    """Data without its texts; a key that was redacted may meet another one."""
    if isinstance(node, list):
        return [shape(item) for item in node]
    if isinstance(node, dict):
        return {}
    return "" if isinstance(node, str) else node


@given(st.lists(CELLS, max_size=3), STYLES)
def test_what_is_cleaned_has_nothing_in_its_outputs_and_is_otherwise_the_same(cells: list[Any], style: dict[str, Any]) -> None:
    document = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}, **style) + "\n"
    cleaned = SCANNER.clean_notebook(document)
    standing = SCANNER.notebook(cleaned.text)

    assert [str(finding) for finding in standing if finding.where.part == "output"] == []
    assert tuple(standing) == cleaned.standing
    assert without_outputs(cleaned.text) == without_outputs(document)
    assert [shape(cell.get("outputs")) for cell in json.loads(cleaned.text)["cells"]] == [shape(cell.get("outputs")) for cell in json.loads(document)["cells"]]
    assert SCANNER.clean_notebook(cleaned.text) == Cleaned(cleaned.text, (), cleaned.standing)
    assert (cleaned.text == document) is (not cleaned.redacted)


@given(TEXTS)
def test_a_cleaned_text_holds_nothing(text: str) -> None:
    cleaned = SCANNER.clean_text(text)

    assert SCANNER.text(cleaned.text) == []
    assert (cleaned.text == text) is (not cleaned.redacted)


# What is known


def test_of_an_environment_all_is_secret_but_the_floor_and_what_is_known_to_be_none() -> None:
    parent = {"API_TOKEN": VALUE, "PATH": "/usr/bin:/bin", "_": "/usr/bin/env", "AWS_REGION": "eu-north-1", "BASH_FUNC_x%%": "() { :; }", "OTHER": "something"}

    assert parent_secrets(parent) == {"API_TOKEN": VALUE, "OTHER": "something"}


def test_of_an_env_file_every_value_is_secret_with_its_variables_filled_in() -> None:
    text = "A=one-value\nB=${A}-${HOME}-${NONE:-default}-${NONE}\nAWS_REGION=eu-north-1\nHOME=/srv/somewhere\nA=another-value\nC=${AWS_REGION}-1\n"
    content = dotenv.parse(text, path=".env")
    assert isinstance(content, dotenv.Dotenv)

    assert env_file_secrets(content.entries, {"HOME": "/home/ana"}) == [
        ("A", "one-value"), ("B", "one-value-/home/ana-default-"), ("A", "another-value"), ("C", "eu-north-1-1"),
    ]  # fmt: skip


def test_keys_that_become_the_same_all_stay_in_the_file() -> None:
    scanner = Scanner([("A", "first-value-1"), ("A", "other-value-2"), ("A", "third-value-3")])
    document = notebook(code("", {**display(application_json={"first-value-1": 1, "[redacted:A]#2": 2, "other-value-2": 3, "b": {"first-value-1": 4}}), "metadata": {"third-value-3": 5, "x third-value-3": 6, "other-value-2": 7}}))

    output = json.loads(scanner.clean_notebook(document).text)["cells"][0]["outputs"][0]
    assert output["data"]["application/json"] == {"[redacted:A]": 1, "[redacted:A]#2": 2, "[redacted:A]#3": 3, "b": {"[redacted:A]": 4}}
    assert output["metadata"] == {"[redacted:A]": 5, "x [redacted:A]": 6, "[redacted:A]#2": 7}


@pytest.mark.parametrize("output", [{"output_type": VALUE, "text": "x"}, {"output_type": "stream", "name": VALUE, "text": "x"}, {**display(), "metadata": {VALUE: VALUE}}, display(**{VALUE: VALUE})])
def test_what_an_output_has_for_the_notebooks_sake_is_cleaned_too(output: dict[str, object]) -> None:
    document = notebook(code("", output))
    cleaned = KNOWN.clean_notebook(document)

    assert cleaned.text == document.replace(VALUE, "[redacted:API_TOKEN]")
    assert KNOWN.notebook(cleaned.text) == []
