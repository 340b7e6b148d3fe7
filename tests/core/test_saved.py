"""What is to be saved: the same is found and changed as in a file, and nothing else is touched."""

from __future__ import annotations

import base64
import html
import json
import re
import urllib.parse
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcc_jupyter.core.errors import DeclarationError
from mcc_jupyter.core.saved import Checked, Checker, Checkers
from mcc_jupyter.core.scan import Finding, Scanner, Where
from mcc_jupyter.core.secret_forms import is_ordinary
from mcc_jupyter.core.sieve import Sieve, Text
from tests.core.test_credentials import EXAMPLES
from tests.core.test_scan import CELLS, GITHUB, IMAGE, SCANNER, VALUE, code, display, error, markdown, stream

SECRETS = [("API_TOKEN", VALUE), ("API_TOKEN", "another-value"), ("URL_PW", "hunter2-hunter2")]
MARK = "[redacted:API_TOKEN]"


def content(*cells: object, **metadata: object) -> dict[str, Any]:
    return {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def told(content: dict[str, Any], secrets: list[tuple[str, str]] = SECRETS) -> list[str]:
    return [str(finding) for finding in Checker(secrets).check(content).findings]


def cleaned(content: dict[str, Any], secrets: list[tuple[str, str]] = SECRETS) -> Any:
    return Checker(secrets).check(content, clean=True).content


@given(st.lists(CELLS, max_size=3), st.booleans(), st.booleans())
def test_what_is_found_and_changed_is_what_a_scan_of_the_file_finds_and_changes(cells: list[Any], again: bool, with_metadata: bool) -> None:
    data = content(*cells, **({"x": [VALUE]} if with_metadata else {}))
    document = json.dumps(data)
    checker = Checker(SECRETS)
    if again:
        checker.check(data)  # what is remembered changes nothing
    in_file = SCANNER.clean_notebook(document)

    checked = checker.check(data, clean=True)

    assert list(checker.check(data).findings) == SCANNER.notebook(document)
    assert set(checked.redacted) == set(in_file.redacted)
    assert set(checked.standing) == set(in_file.standing)
    assert shape_of(checked.content) == shape_of(json.loads(in_file.text))
    assert (checked.content is data) is (not in_file.redacted)
    assert json.dumps(data) == document
    assert [finding for finding in checker.check(cleaned(data)).findings if finding.where.part == "output"] == []


def shape_of(node: Any) -> Any:
    """Data in which keys that were redacted may have met: a file keeps both, and data numbers them."""
    if isinstance(node, dict):
        return {key.partition("#")[0]: shape_of(item) for key, item in node.items() if "[redacted:" not in key}
    return [shape_of(item) for item in node] if isinstance(node, list) else node


@pytest.mark.parametrize(("slug", "example"), EXAMPLES)
@pytest.mark.parametrize("written", ["{}", "a {} b", "é\n{}\n", "\x1b[31m{}\x1b[0m", "<td>{}</td>"])
def test_every_format_is_suspected(slug: str, example: str, written: str) -> None:
    text = written.format(example if slug != "azure-storage-key" else f"AccountKey={example}")
    if slug == "url-password":
        text = written.format(f"https://ana:{example}@h.test")

    expected = [finding.format for finding in Scanner().notebook(json.dumps(content(code("", stream(text)))))]

    assert [finding.format for finding in Checker().check(content(code("", stream(text)))).findings] == expected
    assert slug in expected


@pytest.mark.parametrize("style", [str, list])
@pytest.mark.parametrize("spelled", [
    VALUE, base64.b64encode(b"user:" + VALUE.encode()).decode(), VALUE.encode().hex(), VALUE.encode().hex(" "), "".join(f"%{byte:02X}" for byte in VALUE.encode()),
    json.dumps(VALUE), VALUE[:9] + "\n    " + VALUE[9:], "\x1b[1m".join(VALUE), base64.b64encode(VALUE.encode("utf-16-le")).decode(),
])  # fmt: skip
def test_every_encoding_is_found_wherever_it_stands(spelled: str, style: type) -> None:
    lines: Any = spelled if style is str else spelled.splitlines(keepends=True)
    data = content(code("", stream(lines), display(text_html=lines, application_json={"a": [spelled]})), markdown("", attachments={"a": {"text/plain": lines}}), widgets={"state": {"x": {"value": spelled}}})

    assert told(data) == ["cell 1, output 1: holds API_TOKEN", "cell 1, output 2: holds API_TOKEN", "cell 2, attachment: holds API_TOKEN", "metadata: holds API_TOKEN"]
    after = cleaned(data)
    assert [finding for finding in Checker(SECRETS).check(after).findings if finding.where.part == "output"] == []
    assert {**after, "cells": after["cells"][1:]} == {**data, "cells": data["cells"][1:]}


@pytest.mark.parametrize("spelled", ["a&amp;b&lt;c&quot;d&#x27;e\\\\f", "a&b<c\\\"d'e\\\\\\\\f", "a%26b%3Cc%22d%27e%5C%5Cf", repr("a&b<c\"d'e\\\\f")])
def test_what_escapes_change_is_found(spelled: str) -> None:
    assert told(content(code("", stream(f"x {spelled}"))), [("ODD", "a&b<c\"d'e\\\\f")]) == ["cell 1, output 1: holds ODD"]


@pytest.mark.parametrize(("text", "is_found"), [("correct horse battery staple", True), ("correct ho\n  rse battery staple", True), ("correct  horse battery staple", True), ("['correct '\n 'horse battery staple']", True), ("correct\x1b[1m horse'\n\x1b[0m  ' battery staple", True), ("correct horsebattery staple", False)])
def test_a_value_with_blanks_in_it_is_found(text: str, is_found: bool) -> None:
    assert bool(told(content(code("", stream(f"a {text} b"))), [("WORDS", "correct horse battery staple")])) is is_found


def test_a_key_with_other_characters_in_its_body_is_found() -> None:
    assert told(content(code("", stream("whsec_" + "aB3/" * 8)))) == ["cell 1, output 1: looks like a Stripe key"]


AWS = "AKIA" + "A2B3" * 4


@pytest.mark.parametrize("cell", [
    code("", stream("abc"), {**stream(AWS), "name": "stderr"}), code("", error("abc", AWS)), code("", display(application_json=["abc", AWS])), code("", display(application_json={"abc": AWS})),
    code("", stream(["abc ", AWS[:9], AWS[9:]])), code("", stream(f"abc {AWS[:9]}"), stream(AWS[9:])), code("", display(text_html=["abc ", AWS[:9], AWS[9:]])),
])  # fmt: skip
def test_what_is_a_text_by_itself_is_one_here(cell: dict[str, Any]) -> None:
    assert Checker().check(content(cell)).findings == tuple(Scanner().notebook(json.dumps(content(cell)))) != ()


@pytest.mark.parametrize("attachments", [{VALUE: {"text/plain": "x"}}, {"a": {VALUE: "x"}}, {"a": {"text/plain": [VALUE[:7], VALUE[7:]]}}, {"a": [VALUE]}])
def test_attachments_are_searched_with_their_names(attachments: dict[str, Any]) -> None:
    assert told(content(markdown("", attachments=attachments))) == ["cell 1, attachment: holds API_TOKEN"]


def test_a_value_in_the_bytes_of_a_picture_is_found_and_ruins_it() -> None:
    picture = base64.b64encode(b"\x89PNG" + bytes(range(200)) + VALUE.encode() + bytes(99)).decode()
    data = content(code("", display(image_png=picture)), markdown("", attachments={"a.png": {"image/png": picture}}))

    assert told(data) == ["cell 1, output 1: holds API_TOKEN", "cell 2, attachment: holds API_TOKEN"]
    [output] = cleaned(data)["cells"][0]["outputs"]
    assert MARK in output["data"]["image/png"]


def test_in_a_picture_chance_makes_no_key_of_a_format() -> None:
    assert told(content(code("", display(image_png=IMAGE + "AKIA" + "A2" * 8 + "=")))) == []
    assert told(content(code("", display(image_png="no picture: AKIA" + "A2" * 8)))) == ["cell 1, output 1: looks like an AWS access key"]


def test_a_number_that_spells_a_secret_is_found_and_redacted() -> None:
    data = content(code("7000000001", display(application_json={"pin": 7000000001, "other": [1.5, True, 7000000002], "text": "7000000001"})), code("", stream("x")))
    secrets = [("PIN", "7000000001")]

    assert told(data, secrets) == ["cell 1, line 1: holds PIN", "cell 1, output 1: holds PIN"]
    [output] = cleaned(data, secrets)["cells"][0]["outputs"]
    assert output["data"]["application/json"] == {"pin": "[redacted:PIN]", "other": [1.5, True, 7000000002], "text": "[redacted:PIN]"}


def test_a_number_alone_is_reason_enough() -> None:
    data = content(code("", display(application_json={"a": 1, "pin": 7000000001})))
    checked = Checker([("PIN", "7000000001")]).check(data, clean=True)

    assert checked.findings == (Finding(Where("output", 1, 1), "PIN", redacted=True),)
    assert checked.content["cells"][0]["outputs"][0]["data"]["application/json"] == {"a": 1, "pin": "[redacted:PIN]"}


@pytest.mark.parametrize(
    "cell",
    [
        code("", {"output_type": VALUE, "text": "x"}),
        code("", {"output_type": "stream", "name": VALUE, "text": "x"}),
        code("", {**display(), "metadata": {VALUE: {}}}),
        code("", {**display(), VALUE: 1}),
        code("", display(**{VALUE: "x"})),
        {**code(""), "id": VALUE},
        {**code(""), VALUE: 1},
    ],
    ids=["output_type", "name", "metadata", "key of an output", "MIME type", "id", "key of a cell"],
)
def test_what_a_notebook_has_for_its_own_sake_is_searched_too(cell: dict[str, Any]) -> None:
    data = content(cell)
    findings = Checker(SECRETS).check(data, clean=True)

    assert [finding.name for finding in findings.findings] == ["API_TOKEN"]
    assert (VALUE in json.dumps(findings.content)) is not bool(findings.redacted)
    assert bool(findings.redacted) is bool(cell["outputs"])


def test_keys_that_become_the_same_all_stay() -> None:
    data = content(code("", display(application_json={VALUE: 1, "another-value": 2})))

    assert cleaned(data)["cells"][0]["outputs"][0]["data"]["application/json"] == {MARK: 1, f"{MARK}#2": 2}


@pytest.mark.parametrize("odd", [7, {"outputs": 7}, {"outputs": [7, {"output_type": "stream"}, {"data": 7}]}, {"source": 7}, {"source": ["a", 7]}, {"attachments": 7}, {"attachments": {"a": 7}}])
def test_what_is_hardly_a_notebook_is_read_as_far_as_it_goes(odd: object) -> None:
    data = content(odd)
    assert Checker(SECRETS).check(data, clean=True) == Checked(data)


@pytest.mark.parametrize("odd", [None, [], {}, {"cells": {}}])
def test_what_is_no_notebook_is_an_error(odd: object) -> None:
    with pytest.raises(DeclarationError) as caught:
        Checker(SECRETS).check(odd)
    assert str(caught.value) == "this is no notebook: it has no cells"


def test_a_notebook_with_worksheets_is_searched_and_redacted() -> None:
    data = {"worksheets": [{"cells": [{"cell_type": "code", "input": VALUE, "outputs": [{"output_type": "pyout", "text": [VALUE]}]}]}]}
    checked = Checker(SECRETS).check(data, clean=True)

    assert told(data) == ["cell 1, line 1: holds API_TOKEN", "cell 1, output 1: holds API_TOKEN"]
    assert [str(finding) for finding in checked.findings] == ["cell 1, output 1: redacted API_TOKEN", "cell 1, line 1: holds API_TOKEN"]
    assert checked.content == {"worksheets": [{"cells": [{"cell_type": "code", "input": VALUE, "outputs": [{"output_type": "pyout", "text": [MARK]}]}]}]}
    empty = {"worksheets": []}
    assert Checker(SECRETS).check(empty, clean=True).content is empty


def test_the_text_of_a_file_is_changed_only_where_a_value_is_redacted() -> None:
    checker = Checker(SECRETS)
    clean, dirty = '{"cells":   []}', json.dumps(content(code("é", stream(f"{VALUE}\n"))))
    checked = checker.text("\ufeff" + dirty, clean=True)

    assert checker.text(clean, clean=True) == Checked(clean)
    assert checker.text(dirty).content == dirty
    assert checked.content == json.dumps(content(code("é", stream(f"{MARK}\n"))), indent=1, ensure_ascii=False) + "\n"
    assert [str(finding) for finding in checked.findings] == ["cell 1, output 1: redacted API_TOKEN"]


@pytest.mark.parametrize("text", [f"no JSON\n{VALUE}", f"[\n{VALUE!r}]", f'{{"cells": 7,\n"x": "{VALUE}"}}', "[" * 100_000 + f"\n{VALUE}"])
def test_of_a_file_that_is_no_notebook_all_is_told(text: str) -> None:
    checked = Checker(SECRETS).text(text, clean=True)

    assert checked.content == text
    assert [str(finding) for finding in checked.findings] == ["line 2: holds API_TOKEN"]


def test_a_text_that_was_clean_is_searched_once_and_a_changed_one_again() -> None:
    seen: list[int] = []

    class Counting(Sieve):
        def _candidates(self, texts: Any) -> set[int]:
            seen.append(len(texts))
            return super()._candidates(texts)

    sieve = Counting(SECRETS)
    long = "long enough " * 40
    for texts, expected in [([long, "short text"], set()), ([long, "short text"], set()), ([long + VALUE, "short text"], {0}), ([long + VALUE, long], {0})]:
        assert sieve.suspects(Text(at, text) for at, text in enumerate(texts)) == expected
    assert seen == [2, 1, 2, 1]


def test_what_is_remembered_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcc_jupyter.core.sieve._REMEMBERED", 2)
    sieve = Sieve(())
    for at in range(9):
        sieve.suspects([Text(0, f"{at}" * 300)])

    assert len(sieve._clean) <= 3


def test_a_checker_is_kept_while_the_secrets_are_the_same() -> None:
    checkers = Checkers()
    first = checkers.knowing(SECRETS)

    assert checkers.knowing(iter(SECRETS)) is first
    other = checkers.knowing(SECRETS[:1])
    assert other is not first
    assert [str(finding) for finding in other.check(content(code("hunter2-hunter2"))).findings] == []


def test_a_picture_that_was_clean_is_no_clean_text() -> None:
    sieve = Sieve(())
    text = "ghp+" + "A" * 300 + " AKIA" + "A2" * 8
    assert sieve.suspects([Text(0, text, is_picture=True)]) == set()
    assert sieve.suspects([Text(0, text)]) == {0}


def test_halves_of_characters_hide_nothing() -> None:
    assert told(content(code("", stream(f"\ud83d{VALUE}\udc80{GITHUB}")))) == ["cell 1, output 1: holds API_TOKEN", "cell 1, output 1: looks like a GitHub token"]


def test_a_value_that_repeats_itself_is_found() -> None:
    assert told(content(code("", stream("x" + "ab" * 30))), [("ODD", "ab" * 20)]) == ["cell 1, output 1: holds ODD"]


def test_names_of_short_values_are_listed_and_no_value_is_in_a_repr() -> None:
    checker = Checker([("PIN", "1234"), *SECRETS])
    checked = checker.check(content(code(VALUE, stream(VALUE))), clean=True)

    assert checker.skipped == ("PIN",)
    assert VALUE not in repr(checker) + repr(checked) + repr(Text(0, VALUE))


# For any values and any notebook


def base64_of(data: bytes, before: int) -> str:
    return base64.b64encode(b"user:"[:before] + data + b"@host").decode()


ENCODINGS = [
    lambda value: value,
    *(lambda value, before=before: base64_of(value.encode(), before) for before in range(3)),
    lambda value: base64.urlsafe_b64encode(value.encode()).decode(),
    lambda value: value.encode().hex(),
    lambda value: value.encode().hex().upper(),
    lambda value: urllib.parse.quote(value, safe=""),
    urllib.parse.quote_plus,
    lambda value: json.dumps(value)[1:-1],
    repr,
    html.escape,
    lambda value: value[:9] + "\n  " + value[9:],
    lambda value: f"\x1b[1m{value[:4]}\x1b[31m{value[4:]}\x1b[0m",
]
VALUES = st.text(st.sampled_from("abcXYZ019-_+/=.&<>\"'\\ é€😀%$"), min_size=12, max_size=40).filter(lambda text: not is_ordinary(text) and len(set(text.strip())) > 6)
AROUND = st.text(st.sampled_from('ab 01\n<>"\\é'), max_size=12)


@st.composite
def notebooks(draw: st.DrawFn) -> tuple[dict[str, Any], list[str]]:
    """A notebook, and the values that are in it."""
    values = draw(st.lists(VALUES, min_size=1, max_size=3, unique=True))

    def text() -> str:
        parts = [draw(AROUND)]
        for _ in range(draw(st.integers(0, 3))):
            parts += [draw(st.sampled_from(ENCODINGS))(draw(st.sampled_from(values))), draw(AROUND)]
        return "".join(parts)

    def lines() -> Any:
        written = text()
        return written.splitlines(keepends=True) if draw(st.booleans()) else written

    def output() -> dict[str, Any]:
        kind = draw(st.integers(0, 3))
        if kind == 0:
            return stream(lines())
        if kind == 1:
            return display(text_html=lines(), text_plain=lines(), application_json={text(): [text(), draw(st.integers()), {"deep": text()}]})
        if kind == 2:
            return error(text(), text(), evalue=text())
        picture = base64.b64encode(b"\x89PNG" + draw(st.binary(max_size=40)) + draw(st.sampled_from(values)).strip().encode() + bytes(9)).decode()
        return display(image_png=picture)

    cells = [code(text(), *(output() for _ in range(draw(st.integers(0, 3)))), id=f"cell-{at}", metadata={"x": text()}) for at in range(draw(st.integers(0, 3)))]
    return content(*cells, note=text()), values


def leaves(node: Any) -> list[str]:
    """Every text, and every list of lines as one; without colours, which hide nothing."""
    if isinstance(node, dict):
        return [text for key, item in node.items() for text in [key, *leaves(item)]]
    if isinstance(node, list):
        whole = ["".join(node)] if all(isinstance(item, str) for item in node) else []
        return whole + [text for item in node for text in leaves(item)]
    return [re.sub(r"\x1b\[\d*m", "", node)] if isinstance(node, str) else []


@given(notebooks())
def test_of_any_value_nothing_is_left_in_the_outputs_and_all_else_stays_as_it_was(drawn: tuple[dict[str, Any], list[str]]) -> None:
    data, values = drawn
    before = json.dumps(data)
    after = Checker([(f"NAME_{at}", value) for at, value in enumerate(values)]).check(data, clean=True).content
    assert isinstance(after, dict)

    texts = [text for cell in after["cells"] for text in leaves(cell["outputs"])]
    for value in map(str.strip, values):
        for spelled in [value, *(base64_of(value.encode(), at)[8:-12] for at in range(3)), value.encode().hex(), value.encode().hex().upper(), urllib.parse.quote(value, safe="")]:
            assert [text for text in texts if len(spelled) >= 12 and spelled in re.sub(r"\n\s*", "", text)] == []

    assert json.dumps(data) == before
    for cell, other in zip(after["cells"], data["cells"], strict=True):
        assert json.dumps({**cell, "outputs": None}) == json.dumps({**other, "outputs": None})
        assert [sorted(output) for output in cell["outputs"]] == [sorted(output) for output in other["outputs"]]
    assert json.dumps({**after, "cells": None}) == json.dumps({**data, "cells": None})
