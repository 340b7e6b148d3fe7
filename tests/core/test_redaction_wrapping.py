"""A value that was wrapped at its blanks, or put into several literals: at most six bytes of it can be seen (SPEC 8.2)."""

from __future__ import annotations

import argparse
import base64
import html
import json
import pprint
import re
import shlex
import subprocess
import textwrap
from collections.abc import Callable
from urllib.parse import quote

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mcc_jupyter.core.redact import Redactor
from mcc_jupyter.core.scan import Scanner
from mcc_jupyter.core.secret_forms import is_ordinary
from tests.core.test_redaction_forms import longest_visible

AUTH = "Bearer tok-4711-abcdefgh-ijklmnop-4242 and a long tail of words"
LINES = "[db]\n  user = ana maria\n  password = hunter2 hunter2\nhost = db.example.com and so on"
VALUES = {"one line": AUTH, "two blanks": AUTH.replace(" ", "  "), "tabs": AUTH.replace(" ", "\t"), "several lines": LINES}


def program(*command: str) -> Callable[[str], str]:
    def run(text: str) -> str:
        return subprocess.run(command, input=text + "\n", capture_output=True, text=True, check=True).stdout

    return run


def usage(text: str) -> str:
    parser = argparse.ArgumentParser(prog="x", formatter_class=lambda prog: argparse.ArgumentDefaultsHelpFormatter(prog, width=40))
    parser.add_argument("--auth", default=text, help="what is sent")
    return parser.format_help()


def coloured(text: str) -> str:
    return re.sub(r"(\S+)", "\x1b[32m\\1\x1b[0m", textwrap.fill(text, 24))


WRAPPINGS: dict[str, Callable[[str], str]] = {
    "fmt": program("fmt", "-w", "30"),
    "fold": program("fold", "-w", "6"),
    "fold at blanks": program("fold", "-s", "-w", "20"),
    "tr": program("tr", " ", "\\n"),
    "echo $X": lambda text: " ".join(text.split()),
    "expand": lambda text: text.expandtabs(8),
    "textwrap": lambda text: textwrap.fill(text, 30, initial_indent="  ", subsequent_indent="    "),
    "textwrap, its repr": lambda text: repr(textwrap.fill(text, 30)),
    "textwrap, as JSON": lambda text: json.dumps([textwrap.fill(text, 30)]),
    "textwrap, as JSON in JSON": lambda text: json.dumps(json.dumps([textwrap.fill(text, 30)])),
    "textwrap with CRLF": lambda text: textwrap.fill(text, 30).replace("\n", "\r\n"),
    "the break before the blank": lambda text: text.replace(" ", "\n "),
    "the break after the blank": lambda text: text.replace(" ", " \n"),
    "an empty line": lambda text: text.replace(" ", "\n\n"),
    "a line that goes on": lambda text: text.replace(" ", " \\\n    "),
    "argparse": usage,
    "YAML": lambda text: yaml.safe_dump({"a": {"b": text}}, width=30),
    "YAML, single": lambda text: yaml.safe_dump({"a": {"b": text}}, default_style="'", width=30),
    "YAML, double": lambda text: yaml.safe_dump({"a": {"b": text}}, default_style='"', width=30),
    "YAML, folded": lambda text: yaml.safe_dump({"a": {"b": text}}, default_style=">", width=30),
    "pprint": lambda text: pprint.pformat({"a": text}, width=30),
    "pprint, bytes": lambda text: pprint.pformat([text.encode()], width=30),
    "pprint, coloured": lambda text: re.sub("('[^'\n]*')", "\x1b[33m\\1\x1b[39m", pprint.pformat({"a": text}, width=30)),
    "double quotes": lambda text: "x = (\n" + "\n".join(f'    "{line}"' for line in re.findall(r".{1,20}", text, re.S)) + "\n)",
    "a colour in every word": coloured,
    "HTML": lambda text: f"<td>{html.escape(textwrap.fill(text, 30))}</td>",
}
FORMS: dict[str, Callable[[str], str]] = {
    "raw": str,
    "base64": lambda text: base64.b64encode(b"user:" + text.encode()).decode(),
    "hex": lambda text: text.encode().hex(" "),
    "URL": quote,
    "JSON": lambda text: json.dumps(text)[1:-1],
    "shell": shlex.quote,
}


def words(text: str) -> bytes:
    """*text* without what wrapping changes: white space, marks of literals, and colours."""
    plain = re.sub("\x1b\\[[0-9]*m", "", text)
    plain = re.sub(r"\\+[nt]|\\\n", "", plain)
    return re.sub(r"""\s+|b?['"]""", "", plain).encode()


def visible(form: str, shown: str) -> int:
    return longest_visible(words(form), words(shown))


@pytest.mark.parametrize("wrap", WRAPPINGS.values(), ids=WRAPPINGS)
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_wrapped_value_shows_at_most_six_bytes(value: str, wrap: Callable[[str], str]) -> None:
    printed = wrap(value)
    assert visible(value, printed) > 20
    for parts in ([printed.encode()], [printed[at : at + 7].encode() for at in range(0, len(printed), 7)], [bytes([byte]) for byte in printed.encode()]):
        for release in (False, True):
            out = Redactor({"AUTH": value}).stream()
            shown = b"".join([*(out.feed(part) + (out.release() if release else b"") for part in parts), out.close()])
            assert visible(value, shown.decode()) <= 6
            assert shown.count(b"[redacted:AUTH]") >= 1
    assert visible(value, Redactor({"AUTH": value}).text(printed)) <= 6
    assert visible(value, Scanner([("AUTH", value)]).clean_text(printed).text) <= 6


@pytest.mark.parametrize("wrap", [WRAPPINGS[name] for name in ("fold", "textwrap", "textwrap, as JSON", "pprint", "YAML, double")], ids=lambda wrap: wrap.__name__)
@pytest.mark.parametrize("form", [FORMS[name] for name in FORMS if name != "JSON"], ids=[name for name in FORMS if name != "JSON"])
def test_so_does_an_encoded_one(form: Callable[[str], str], wrap: Callable[[str], str]) -> None:
    encoded = form(AUTH)
    shown = Redactor({"AUTH": AUTH}).text(wrap(encoded))
    assert "[redacted:AUTH]" in shown
    hidden = base64.b64encode(b"user:" + AUTH.encode()).decode()[8:-4] if form is FORMS["base64"] else encoded
    assert visible(hidden, shown) <= 6


WORD = st.text(st.sampled_from("abcXYZ019-_.:/é"), min_size=1, max_size=9)
SPACED = st.lists(st.tuples(WORD, st.sampled_from([" ", "  ", "\t", "\n", "\n  "])), min_size=2, max_size=8).map(lambda pairs: "".join(word + space for word, space in pairs).strip())
HOW = {
    "fill": lambda text, width: textwrap.fill(text, width, subsequent_indent="  "),
    "fold": lambda text, width: "\n".join(text[at : at + width] for at in range(0, len(text), width)),
    "literals": lambda text, width: "\n  ".join(f"'{text[at : at + width]}'" for at in range(0, len(text), width)),
    "pprint": lambda text, width: pprint.pformat([text], width=width + 6),
    "YAML": lambda text, width: yaml.safe_dump([text], width=width + 3, allow_unicode=True),
}


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@example("0\t00000\n0", "YAML", 4, None)
@example("0\t00000\n0", "pprint", 4, None)
@given(SPACED.filter(lambda value: not is_ordinary(value)), st.sampled_from(sorted(HOW)), st.integers(4, 40), st.data())
def test_any_value_wrapped_in_any_width_and_cut_anywhere_shows_at_most_six_bytes(value: str, how: str, width: int, data: st.DataObject | None) -> None:
    printed = HOW[how](value, width).encode()
    cuts = [] if data is None else sorted(data.draw(st.lists(st.integers(0, len(printed)), max_size=5)))
    parts = [printed[start:end] for start, end in zip([0, *cuts], [*cuts, len(printed)], strict=True)]
    out = Redactor({"V": value}).stream()
    shown = b"".join([*(out.feed(part) + out.release() for part in parts), out.close()])
    assert b"[redacted:V]" in shown
    assert visible(value, shown.decode(errors="replace").replace("[redacted:V]", "\0")) <= 6


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("correct horse battery", "correcthorse battery", id="no blank where the value has one"),
        pytest.param("correcthorse", "correct horse", id="a blank where the value has none"),
        pytest.param("correct horse battery", "correct horse, battery", id="another word between"),
        pytest.param("abcdefghij", "'abcde', 'fghij'", id="two texts of a list"),
        pytest.param("abcdefghij", "'abcde'\n, 'fghij'", id="two texts of a list, on two lines"),
        pytest.param("abcdefghij", "'abcde' 'fghij'", id="two words of a shell"),
        pytest.param("a b  c d", "a b c d", id="short, because a run of blanks counts once"),
    ],
)
def test_what_is_not_wrapped_is_no_secret(value: str, text: str) -> None:
    assert Redactor({"V": value}).text(text) == text


@pytest.mark.parametrize("text", ["x = 'Bearer", "x = 'Bearer '\n", "path C:\\new", "it's it", 'end "', "a \\"])
def test_what_may_become_a_joint_is_shown_at_once_unless_a_secret_may_go_on_there(text: str) -> None:
    out = Redactor({"KEY": "sk-live-0123456789"}).stream()
    assert out.feed(text.encode()) == text.encode()
    assert out.feed(b"...") == b"..."


def test_a_blank_at_the_end_waits_with_the_letters_before_it_and_is_released_with_them() -> None:
    out = Redactor({"AUTH": AUTH}).stream()
    assert (out.feed(b"Name: B         "), out.release()) == (b"Name: ", b"B         ")
    assert (out.feed(b"Bearer   "), out.release(), out.feed(b"x")) == (b"", b"", b"Bearer   x")


@example("a b\tc d e")
@example("aa aa aa")
@given(st.text("ab \n", min_size=8, max_size=14))
def test_a_value_is_searched_for_exactly_if_it_is_not_listed_as_short(value: str) -> None:
    redactor = Redactor({"V": value})
    assert bool(redactor) is not is_ordinary(value)
    assert (redactor.text(f"<{value}>") == f"<{value}>") is is_ordinary(value)


def test_a_long_value_that_looks_like_a_dump_is_found_as_such_and_wrapped() -> None:
    value = " ".join(f"{n * n % 251:02x}" for n in range(900))
    redactor = Redactor({"V": value})
    assert redactor.text(f"<{value}>") == "<[redacted:V]>"
    assert redactor.text(textwrap.fill(value, 60)) == "[redacted:V]"
