"""The 27 forms in which a secret gets into output, each with its number, judged by the longest visible fragment.

"The value as a whole is not there" is no test: a redactor that lets 73 of 74 bytes drip passes it.
"""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
import textwrap
from collections.abc import Sequence
from urllib.parse import quote

import pytest

from mcc_jupyter.core.redact import Redactor

S = "aB3/xK+q'9Z\"w<L7&m>Vr2=tY5"
"""One with ``/ + ' " < & >``."""
PEM = "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n".format(
    "\n".join(textwrap.wrap(base64.b64encode(bytes((n * n * 3 + n * 7 + 11) % 257 % 256 for n in range(400))).decode(), 64))
)
LETTERS = "Mörderische-Ünglücks-Äpfel-42"
SHORT, LONG = "prefix12345678", "prefix12345678suffix87654321"
SECRETS = {"S": S, "PEM": PEM, "LETTERS": LETTERS, "WORD": "true", "LONG": LONG, "SHORT": SHORT}

LINES = PEM.strip().split("\n")
GO = re.sub("[<>&]", lambda found: f"\\u{ord(found.group()):04x}", json.dumps(S, ensure_ascii=False))
COLOURED = "".join(f"\x1b[3{at % 8}m{S[at : at + 5]}\x1b[0m" for at in range(0, len(S), 5))


def b64(text: str) -> bytes:
    return base64.b64encode(text.encode())


def chunks(data: str, *cuts: int) -> list[bytes]:
    return [data[start:end].encode() for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


FORMS: dict[str, tuple[Sequence[bytes], Sequence[bytes]]] = {
    # What is printed, and what must not be seen of it: the value or its encoded form.
    "01 raw": ([S.encode()], [S.encode()]),
    "02 split in two chunks": (chunks(S, 11), [S.encode()]),
    "03 split with a pause": ([*chunks(S, 20)[:1], *[b""] * 50, *chunks(S, 20)[1:]], [S.encode()]),
    "04 byte by byte": ([bytes([byte]) for byte in S.encode()], [S.encode()]),
    "05 base64": ([b64(S)], [b64(S)]),
    "06 base64 of user:S": ([b"Basic " + b64(f"user:{S}")], [b64(f"user:{S}")[7:]]),
    "07 base64 of u:S@host/x": ([b64(f"u:{S}@host/x")], [b64(f"u:{S}@host/x")[3:-11]]),
    "07 base64 of uu:S@host/x": ([b64(f"uu:{S}@host/x")], [b64(f"uu:{S}@host/x")[4:-11]]),
    "07 base64 of uuu:S@host/x": ([b64(f"uuu:{S}@host/x")], [b64(f"uuu:{S}@host/x")[6:-11]]),
    "08 base64url": ([base64.urlsafe_b64encode(S.encode())], [base64.urlsafe_b64encode(S.encode())]),
    "09 base64 of the key, wrapped at 76": ([base64.encodebytes(PEM.encode())], base64.encodebytes(PEM.encode()).split(b"\n")),
    "10 hex": ([S.encode().hex().encode()], [S.encode().hex().encode()]),
    "11 hex, upper case": ([S.encode().hex().upper().encode()], [S.encode().hex().upper().encode()]),
    "12 URL": ([quote(S, safe="").encode()], [S.encode(), quote(S, safe="").encode()]),
    "13 URL, lower case": ([re.sub("%..", lambda code: code.group().lower(), quote(S, safe="")).encode()], [quote(S, safe="").lower().encode()]),
    "14 JSON with \\u": ([json.dumps(LETTERS).encode()], [json.dumps(LETTERS).encode()]),
    "15 JSON of several lines": ([json.dumps({"key": PEM}).encode()], [json.dumps(PEM)[1:-1].encode()]),
    "16 JSON by Go": ([GO.encode()], [GO.encode()]),
    "17 repr of several lines": ([repr(PEM).encode()], [repr(PEM)[1:-1].encode()]),
    "18 the key, printed": ([PEM.encode()], [line.encode() for line in LINES]),
    "19 one line of the key": ([b"line 4: " + LINES[4].encode()], [LINES[4].encode()]),
    "20 the key with CRLF, indented": ([textwrap.indent(PEM, "    ").replace("\n", "\r\n").encode()], [line.encode() for line in LINES]),
    "21 HTML": ([html.escape(S).encode()], [html.escape(S).encode(), S.encode()]),
    "22 shell": ([shlex.quote(S).encode(), b" ", ("'" + S.replace("'", "'\\''") + "'").encode()], [S.encode(), S.replace("'", "'\\''").encode()]),
    "23 ANSI colours inside": ([COLOURED.encode()], [S.encode(), COLOURED.encode()]),
    "24 hard-wrapped": ([f"token {S[:14]}\n{S[14:]} end".encode()], [S[:14].encode(), S[14:].encode()]),
    "25 UTF-16LE base64": ([base64.b64encode(S.encode("utf-16-le"))], [base64.b64encode(S.encode("utf-16-le"))]),
    "26 nested": ([f"{LONG} {SHORT}".encode()], [LONG.encode(), b"suffix87654321"]),
    "27 nested, cut after the short one": ([SHORT.encode(), LONG.removeprefix(SHORT).encode()], [LONG.encode(), b"suffix87654321"]),
}


def redacted(parts: Sequence[bytes]) -> bytes:
    out = Redactor(SECRETS).stream()
    return b"".join([*map(out.feed, parts), out.close()])


def longest_visible(hidden: bytes, shown: bytes) -> int:
    """The size of the longest piece of *hidden* in *shown*; a mark parts what stands before and after it."""
    shown = re.sub(rb"\[redacted:\w+\]", b"\0", shown)
    size = 0
    for start in range(len(hidden)):
        while start + size < len(hidden) and hidden[start : start + size + 1] in shown:
            size += 1
    return size


@pytest.mark.parametrize(("printed", "hidden"), FORMS.values(), ids=FORMS)
def test_of_each_form_at_most_six_bytes_are_visible(printed: Sequence[bytes], hidden: Sequence[bytes]) -> None:
    for parts in (printed, [b"".join(printed)], [bytes([byte]) for byte in b"".join(printed)]):
        shown = redacted([b"before ", *parts, b" after"])
        assert shown.startswith(b"before ")
        assert shown.endswith(b" after")
        assert b"[redacted:" in shown
        assert max(longest_visible(form, shown) for form in hidden) <= 6


def test_the_judge_sees_what_a_leaky_redactor_lets_through() -> None:
    assert longest_visible(b"abcdefghij", b"x abcdefghi") == 9
    assert longest_visible(b"abcdefghij", b"abc[redacted:S]defghij") == 7
    assert longest_visible(b"abcdefghij", b"[redacted:abcdefghij]") == 0
    assert longest_visible(b"abcdefghij", b"none of it") == 1


def test_a_word_that_is_too_common_stays_and_is_named() -> None:
    assert redacted([b"construed as true"]) == b"construed as true"
    assert Redactor(SECRETS).skipped == ("WORD",)


def test_every_number_has_its_form() -> None:
    assert sorted({int(name[:2]) for name in FORMS}) == list(range(1, 28))
