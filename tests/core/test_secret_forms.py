"""Which spellings a value has: what real encoders write of it is hidden, wherever it stands, and ordinary text is not."""

from __future__ import annotations

import base64
import csv
import html
import io
import itertools
import json
import re
import shlex
import subprocess
import textwrap
import xml.sax.saxutils
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus, urlencode
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcc_jupyter.core.redact import Redactor
from mcc_jupyter.core.secret_forms import SHORTEST, as_bytes, is_ordinary, spellings

MARK = re.compile(rb"\[redacted:[^]]*\]")


def visible(needle: bytes, shown: bytes) -> int:
    """The size of the longest piece of *needle* that stands in *shown*, marks apart."""
    shown = MARK.sub(b"\0", shown)
    size = 0
    for start in range(len(needle)):
        while start + size < len(needle) and needle[start : start + size + 1] in shown:
            size += 1
    return size


def leaked(shown: bytes, other: bytes) -> int:
    """How many bytes in a row are visible beside what stands around the value, as *other* shows it with another value."""
    first, *between, last = MARK.split(shown)
    before = next((at for at, pair in enumerate(zip(first, other, strict=False)) if pair[0] != pair[1]), len(first))
    after = next((at for at, pair in enumerate(zip(last[::-1], other[::-1], strict=False)) if pair[0] != pair[1]), len(last))
    return max([len(first) - before, len(last) - after, *(len(part) for part in between if part not in other)])


def redacted(value: str, data: bytes) -> bytes:
    out = Redactor({"V": value}).stream()
    return out.feed(data) + out.close()


PEM = "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----".format(
    "\n".join(textwrap.wrap(base64.b64encode(bytes((number * number + 77) % 251 for number in range(310))).decode(), 64))
)
SPECIAL = "p@ss/w+rd'\"<&> $x\\é!~`%()*;,?:=#{}[]^|"

# Each encoder takes the secret and gives what a program would print of it.
PLAIN: dict[str, Callable[[str], str]] = {
    "base64": lambda v: base64.b64encode(v.encode()).decode(),
    "base64 of user:S": lambda v: base64.b64encode(f"user:{v}".encode()).decode(),
    "base64 of u:S@host/x": lambda v: base64.b64encode(f"u:{v}@host/x".encode()).decode(),
    "base64 of us:S@host/x": lambda v: base64.b64encode(f"us:{v}@host/x".encode()).decode(),
    "base64url": lambda v: base64.urlsafe_b64encode(v.encode()).decode(),
    "base64url without padding": lambda v: base64.urlsafe_b64encode(b"-" + v.encode()).decode().rstrip("="),
    "base64 wrapped at 76": lambda v: base64.encodebytes(v.encode()).decode(),
    "base64 wrapped at 64, indented": lambda v: textwrap.indent("\n".join(textwrap.wrap(base64.b64encode(b"x" + v.encode()).decode(), 64)), "    "),
    "base64 in a URL": lambda v: quote(base64.b64encode(v.encode()).decode(), safe=""),
    "base64 in a URL, lower case": lambda v: re.sub("%..", lambda code: code.group().lower(), quote(base64.b64encode(v.encode()).decode(), safe="")),
    "base64 in JSON with escaped slashes": lambda v: base64.b64encode(v.encode()).decode().replace("/", "\\/"),
    "base64 wrapped at 76, in JSON": lambda v: json.dumps(base64.encodebytes(v.encode()).decode()),
    "base64 wrapped at 64, in JSON": lambda v: json.dumps("\n".join(textwrap.wrap(base64.b64encode(v.encode()).decode(), 64))),
    "base64 of JSON": lambda v: base64.b64encode(json.dumps({"password": v}).encode()).decode(),
    "base64 of JSON in UTF-8": lambda v: base64.b64encode(json.dumps({"p": v}, ensure_ascii=False).encode()).decode(),
    "base64 of a quoted user and password (OAuth)": lambda v: base64.b64encode(f"id:{quote(v, safe='')}".encode()).decode(),
    "UTF-16LE base64": lambda v: base64.b64encode(v.encode("utf-16-le")).decode(),
    "UTF-16LE base64 of a command": lambda v: base64.b64encode(f"$k='{v}'; go".encode("utf-16-le")).decode(),
    "UTF-16BE base64": lambda v: base64.b64encode(v.encode("utf-16-be")).decode(),
    "hex": lambda v: v.encode().hex(),
    "hex, upper case": lambda v: v.encode().hex().upper(),
    "hex with colons": lambda v: v.encode().hex(":"),
    "hex with blanks, upper case": lambda v: v.encode().hex(" ").upper(),
    "hex wrapped by xxd -p": lambda v: "\n".join(textwrap.wrap(v.encode().hex(), 60)),
    "quote": quote,
    "quote without safe": lambda v: quote(v, safe=""),
    "quote, lower case": lambda v: re.sub("%..", lambda code: code.group().lower(), quote(v, safe="")),
    "quote_plus": quote_plus,
    "urlencode": lambda v: urlencode({"k": v, "n": 1}),
    "encodeURIComponent": lambda v: quote(v, safe="~!*'()"),
    "encodeURI": lambda v: quote(v, safe="~!*'();,/?:@&=+$#"),
    "form data by the URL standard": lambda v: quote_plus(v, safe="*").replace("~", "%7E"),
    "Go's PathEscape": lambda v: quote(v, safe="~$&+=:@"),
    "every byte percent-encoded": lambda v: "".join(f"%{byte:02X}" for byte in v.encode()),
    "every byte percent-encoded, lower case": lambda v: "".join(f"%{byte:02x}" for byte in v.encode()),
    "JSON": json.dumps,
    "JSON in UTF-8": lambda v: json.dumps(v, ensure_ascii=False),
    "JSON in JSON": lambda v: json.dumps({"body": json.dumps({"k": v})}),
    "JSON in JSON in UTF-8": lambda v: json.dumps({"body": json.dumps({"k": v}, ensure_ascii=False)}, ensure_ascii=False),
    "JSON with escaped slashes (PHP)": lambda v: json.dumps(v).replace("/", "\\/"),
    "JSON by Go": lambda v: re.sub("[<>&]", lambda found: f"\\u{ord(found.group()):04x}", json.dumps(v, ensure_ascii=False)),
    "JSON by Django": lambda v: re.sub("[<>&]", lambda found: f"\\u{ord(found.group()):04X}", json.dumps(v)),
    "JSON with upper-case digits": lambda v: re.sub(r"\\(?:u....|.)", lambda found: found.group()[:2] + found.group()[2:].upper(), json.dumps(v)),
    "repr": repr,
    "ascii": ascii,
    "repr with both quotes around": lambda v: repr(f"'\"{v}"),
    "repr with a double quote around": lambda v: repr(f'"{v}'),
    "repr of a list": lambda v: repr([v, {"k": v}]),
    "repr of bytes": lambda v: repr(v.encode()),
    "repr of bytes with both quotes around": lambda v: repr(f"'\"{v}".encode()),
    "shlex.quote": lambda v: shlex.quote(f"a {v}"),
    "single quotes": lambda v: "'" + v.replace("'", "'\\''") + "'",
    "double quotes": lambda v: '"' + re.sub(r'[\\"$`]', r"\\\g<0>", v) + '"',
    "double quotes in a history": lambda v: '"' + re.sub(r'[\\"$`!]', r"\\\g<0>", v) + '"',
    "SQL": lambda v: v.replace("'", "''"),
    "html.escape": html.escape,
    "html.escape without quotes": lambda v: html.escape(v, quote=False),
    "HTML with &#39;": lambda v: html.escape(v).replace("&#x27;", "&#39;"),
    "HTML by Go": lambda v: html.escape(v).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
    "XML": lambda v: html.escape(v).replace("&#x27;", "&apos;"),
    "xml.sax.saxutils": xml.sax.saxutils.escape,
    "HTML in ASCII": lambda v: html.escape(v, quote=False).encode("ascii", "xmlcharrefreplace").decode(),
}


def csv_field(value: str) -> str:
    out = io.StringIO()
    csv.writer(out).writerow(["1", value, "x"])
    return out.getvalue()


def xml_element(value: str) -> str:
    element = ET.Element("a", k=value)
    element.text = value
    return ET.tostring(element, encoding="unicode")


VALUES = st.text(
    st.one_of(st.sampled_from("/+'\"<>&=$`\\ !%é€😀\n"), st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"])), min_size=8, max_size=24
).filter(lambda value: not is_ordinary(value) and "\\n" not in value)


@pytest.mark.parametrize("encoder", PLAIN.values(), ids=PLAIN)
@settings(max_examples=25)
@given(value=VALUES)
@example(value=SPECIAL)
@example(value=PEM)
@example(value="sk-live-0123456789")
def test_whatever_an_encoder_writes_of_a_value_is_hidden(encoder: Callable[[str], str], value: str) -> None:
    value = value.strip()
    shown = redacted(value, b"k=" + as_bytes(encoder(value)) + b";")
    assert MARK.search(shown)
    if value == SPECIAL:
        assert leaked(shown, b"k=" + as_bytes(encoder(SPECIAL[::-1])) + b";") <= 2


ODD: dict[str, tuple[str, bytes]] = {
    "CSV": (SPECIAL, as_bytes(csv_field(SPECIAL))),
    "XML element and attribute": (SPECIAL, as_bytes(xml_element(SPECIAL))),
    "XML attribute with line breaks": ("abc<d\nefgh\tij", as_bytes(xml_element("abc<d\nefgh\tij"))),
    "printf %q": ("it's <a> $x & b", rb"it\'s\ \<a\>\ \$x\ \&\ b"),
    "Ruby's shellescape": ("it's ~x=#1% {y}", rb"it\'s\ \~x\=\#1\%\ \{y\}"),
    "$'…'": ("it's\na \\ b", rb"$'it\'s\na \\ b'"),
    "$'…' with octal codes": ("it's a é€", rb"$'it\'s a \303\251\342\202\254'"),
    "git": ('path "é" x', rb'"path \"\303\251\" x"'),
    "Gson": ("a=b&c='<d>'", rb"a\u003db\u0026c\u003d\u0027\u003cd\u003e\u0027"),
    ".NET": ('a+b"c\'d<é>`', rb"a\u002Bb\u0022c\u0027d\u003C\u00E9\u003E\u0060"),
    "PHP's htmlspecialchars": ("it's <a>", b"it&#039;s &lt;a&gt;"),
    "Mustache": ("a/b=c`d'e", b"a&#x2F;b&#x3D;c&#x60;d&#39;e"),
    "a key whose lines became blanks": (PEM, PEM.replace("\n", " ").encode()),
    "a key in one line": (PEM, PEM.replace("\n", "").encode()),
    "a key without its markers in one line": (PEM, "".join(PEM.split("\n")[1:-1]).encode()),
    "a key given in one line, printed in several": (PEM.replace("\n", "\\n"), PEM.encode()),
    "a key given in one line with \\r\\n, printed in several": (PEM.replace("\n", "\\r\\n"), PEM.encode()),
    "a key in base64 with CRLF": (PEM, base64.b64encode(b"x: " + PEM.replace("\n", "\r\n").encode())),
    "a key with CRLF in base64 without": (PEM.replace("\n", "\r\n"), base64.b64encode(b"x: " + PEM.encode())),
    "no UTF-8": ("caf\udce9-au-lait", b"caf\xe9-au-lait"),
    "no UTF-8, quoted": ("caf\udce9-au-lait", b"caf%E9-au-lait"),
    "no UTF-8, hex": ("caf\udce9-au-lait", b"caf\xe9-au-lait".hex().encode()),
    "no UTF-8, JSON": ("caf\udce9-au-lait", rb"caf\udce9-au-lait"),
    "blanks around the value": ("  hunter2-hunter2\n", b"<hunter2-hunter2>"),
}


@pytest.mark.parametrize(("value", "printed"), ODD.values(), ids=ODD)
def test_so_are_the_less_usual_ways(value: str, printed: bytes) -> None:
    shown = redacted(value, b"(" + printed + b")")
    assert MARK.search(shown)
    assert visible(as_bytes(value), shown) <= 6
    assert all(len(part) <= 8 for part in MARK.split(shown))


READ = [r"hunter2\\n-hunter2", r"hunter\tnext\nhunter2", r"one\060two\0three\101four", r"one-\x41\e-two-\u00e9", r"long-enough\chidden-part", r"a\\clong-enough\q\\", "tail-is-one\\", r"over-\777-\U0001F600-\u00e9"]


@pytest.mark.parametrize("value", READ)
@pytest.mark.parametrize(
    ("shell", "script"), [("sh", 'echo "$V"'), ("sh", "printf '%b\\n' \"$V\""), ("bash", 'echo -e "$V"'), ("bash", "printf '%b\\n' \"$V\"")]
)
def test_what_a_shell_makes_of_the_backslashes_in_a_value_is_hidden(shell: str, script: str, value: str) -> None:
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "V": value}
    printed = subprocess.run([shell, "-c", script], env=environment, capture_output=True, check=True).stdout
    shown = redacted(value, printed)

    assert b"[redacted:V]" in shown
    assert visible(printed.strip(), shown) <= 1


def test_of_a_value_that_a_shell_cuts_short_an_ordinary_rest_stays() -> None:
    assert redacted(r"local\cand-the-rest", b"local and the rest") == b"local and the rest"


def test_of_base64_at_most_eight_bits_of_a_value_are_visible_at_each_end_together() -> None:
    for size in range(8, 80):
        value = "".join(chr(33 + (7 * size + at * at * 5 + at) % 90) for at in range(size))
        for before, after in itertools.product(range(3), range(3)):
            raw = (b"u" * before) + value.encode() + b"@" * after
            for text in (base64.b64encode(raw), base64.urlsafe_b64encode(raw).rstrip(b"="), base64.encodebytes(raw)):
                first, last = (part.replace(b"\n", b"").rstrip(b"=") for part in redacted(value, text).split(b"[redacted:V]"))
                whole = text.replace(b"\n", b"").rstrip(b"=")
                bits = max(0, 6 * len(first) - 8 * before) + max(0, 8 * (before + size) - 6 * (len(whole) - len(last)))
                assert bits <= 8


@pytest.mark.parametrize("value", ["sk-live-0123456789", SPECIAL, "ab cd/é\n'x'"])
def test_spellings_are_all_long_and_neither_begin_nor_end_with_white_space(value: str) -> None:
    for spelling in spellings(value):
        assert len(spelling) >= SHORTEST
        assert spelling == spelling.strip()


def test_a_value_of_letters_and_digits_has_few_spellings() -> None:
    ends = set()  # of base64 at the end of a text
    for coding, before in itertools.product(("utf-8", "utf-16-le", "utf-16-be"), range(3)):
        end = base64.b64encode(bytes(before) + "abcdefgh".encode(coding))[before and before + 1 :]
        if b"=" in end:
            ends |= {end, end.rstrip(b"="), end.replace(b"=", b"%3D"), end.replace(b"=", b"%3d")}
    assert ends >= {b"YWJjZGVmZ2g=", b"hYmNkZWZnaA=="}
    assert spellings("abcdefgh") == ends | {
        b"abcdefgh",
        *(b"YWJjZGVmZ2", b"FiY2RlZmdo", b"hYmNkZWZna"),  # base64 at each place in a group
        *(b"YQBiAGMAZABlAGYAZwBoA", b"EAYgBjAGQAZQBmAGcAaA", b"hAGIAYwBkAGUAZgBnAGgA"),  # of UTF-16LE
        *(b"AGEAYgBjAGQAZQBmAGcAa", b"BhAGIAYwBkAGUAZgBnAG", b"AYQBiAGMAZABlAGYAZwBo"),  # and UTF-16BE
        b"6162636465666768",
        b"61:62:63:64:65:66:67:68",
        b"61 62 63 64 65 66 67 68",
        b"%61%62%63%64%65%66%67%68",
    }


# Lines


def test_a_line_of_sixteen_bytes_or_more_is_a_secret_by_itself() -> None:
    value = "first line is long\n  second, indented, too\nshort line\r\nfünfzehn zeich."
    redactor = Redactor({"V": value})
    assert redactor.text("first line is long!") == "[redacted:V]!"
    assert redactor.text("> second, indented, too") == "> [redacted:V]"
    assert redactor.text("short line") == "short line"
    assert redactor.text("fünfzehn zeich.") == "[redacted:V]"  # 15 characters, 16 bytes


def test_a_line_inside_json_is_hidden_too() -> None:
    value = 'first line is long\nthe "second" line é\nend'
    assert Redactor({"V": value}).text(json.dumps(['the "second" line é'])) == '["[redacted:V]"]'
    assert Redactor({"V": value}).text(json.dumps(['the "second" line é'], ensure_ascii=False)) == '["[redacted:V]"]'


@pytest.mark.parametrize(
    "line", ["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "====================", "- - - - - - - - - -", "localhost"]
)
def test_markers_and_rulers_stay_readable(line: str) -> None:
    value = f"{line}\nthis is the secret line\n{line}"
    assert Redactor({"V": value}).text(f"{line}\nother") == f"{line}\nother"
    assert Redactor({"V": value}).text(f"{line}\nthis is the secret line") == f"{line}\n[redacted:V]"


# JSON documents

ACCOUNT = {
    "type": "service_account",
    "project_id": "project-of-ana-42",
    "private_key_id": "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c",
    "private_key": PEM + "\n",
    "client_email": "bot@project-of-ana-42.iam.example.com",
    "auth_uri": "https://accounts.example.com/o/oauth2/auth",
    "token_uri": "https://oauth2.example.com/token",
    "nested": {"list": ["hunter2-hunter2", 7, None, "short"], "region": "europe-north1"},
}


@pytest.mark.parametrize("indent", [None, 2], ids=["compact", "indented"])
def test_the_long_texts_of_a_json_document_are_secrets_and_its_keys_and_common_values_are_not(indent: int | None) -> None:
    redactor = Redactor({"V": json.dumps(ACCOUNT, indent=indent)})
    for secret in (ACCOUNT["private_key_id"], ACCOUNT["client_email"], "hunter2-hunter2", PEM, PEM.split("\n")[2]):
        assert redactor.text(f"<{secret}>") == "<[redacted:V]>"
        assert visible(base64.b64encode(str(secret).encode()), redactor.text(base64.b64encode(f"k:{secret}".encode()).decode()).encode()) <= 6
    ordinary = '{ "type": "service_account", "project_id": "project-of-ana-42", "auth_uri": "https://accounts.example.com/o/oauth2/auth" }, 7, null, "short", {"region": "europe-north1"}'
    assert redactor.text(ordinary) == ordinary


@pytest.mark.parametrize(
    ("layout", "is_one"), [({"indent": 2}, True), ({"indent": 4}, True), ({}, True), ({"separators": (",", ":")}, False)], ids=["the same", "wider", "one line", "compact"]
)
def test_the_document_itself_is_one_mark_and_in_another_layout_its_secrets_are(layout: dict[str, Any], is_one: bool) -> None:
    shown = Redactor({"V": json.dumps(ACCOUNT, indent=2)}).text(json.dumps(ACCOUNT, **layout))
    assert visible(PEM.encode(), shown.encode()) <= 6
    assert (shown == "[redacted:V]") is is_one
    assert "hunter2" not in shown


@pytest.mark.parametrize("value", ["{not json at all}", "[1, 2, 3, 4, 5", "[" * 5000 + "1" + "]" * 5000], ids=["braces", "open", "deep"])
def test_what_only_looks_like_a_document_is_a_value(value: str) -> None:
    assert Redactor({"V": value}).text(f"<{value}>") == "<[redacted:V]>"


def test_half_a_character_in_a_value_harms_nobody() -> None:
    assert Redactor({"V": "\ud800 hunter2-hunter2"}).text("hunter2-hunter2") == "hunter2-hunter2"


# What is ordinary

ORDINARY = [
    ("seven characters", "abcdefg", True),
    ("eight characters", "abcdefgh", False),
    ("seven characters of two bytes", "äöüäöüä", True),
    ("seven characters and blanks around", "  abcdefg\n", True),
    ("seven characters and line breaks", "abc\n\n   defg", True),
    ("eight characters and line breaks", "abc\r\n defgh", False),
    ("a common word", "localhost", True),
    ("a common word in capitals", "PRODUCTION", True),
    ("nine digits", "123456789", True),
    ("ten digits", "1234567890", False),
    ("true", "true", True),
    ("nothing", "", True),
    ("blanks", " " * 20, True),
]


@pytest.mark.parametrize(("value", "ordinary"), [row[1:] for row in ORDINARY], ids=[row[0] for row in ORDINARY])
def test_what_ordinary_text_holds_is_no_secret(value: str, ordinary: bool) -> None:
    assert is_ordinary(value) is ordinary


# Long values


@pytest.mark.parametrize("value", ["".join(chr(33 + (n * n * 7 + n * 3) % 94) for n in range(30_000)), "\n".join(f"line {n} of the text & {n * n:x}'s <end>" for n in range(900))], ids=["one line", "lines"])
def test_a_long_value_is_found_in_the_usual_encodings(value: str) -> None:
    redactor = Redactor({"V": value})
    data = value.encode()
    for printed in (
        value,
        base64.b64encode(b"u:" + data).decode(),
        base64.urlsafe_b64encode(data).decode(),
        base64.encodebytes(data).decode(),
        data.hex(),
        data.hex(" ").upper(),
        quote(value),
        quote(value, safe=""),
        quote_plus(value),
        json.dumps(value),
        json.dumps(value, ensure_ascii=False),
        repr(value),
        shlex.quote(value),
        html.escape(value),
    ):
        shown = redactor.text(printed)
        assert shown.count("[redacted:V]") == 1
        assert len(shown) < 32


def test_the_texts_of_a_long_document_are_found_as_they_are_and_as_json_has_them() -> None:
    texts = [f'secret "{number:04}" of many \u00e9' for number in range(900)]
    redactor = Redactor({"V": json.dumps(texts)})
    for text in (texts[7], json.dumps(texts[7]), json.dumps(texts[7], ensure_ascii=False)):
        assert "0007" not in redactor.text(f"<{text}>")


def test_the_spellings_of_a_long_value_grow_with_its_length() -> None:
    made = ["".join(chr(97 + (n * n * 7 + n * 3 + n // 977) % 26) for n in range(size)) for size in (20_000, 80_000)]
    sizes = [sum(map(len, spellings(value))) for value in made]
    assert sizes[1] < 4.2 * sizes[0]
