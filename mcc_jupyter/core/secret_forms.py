"""A secret value → every spelling in which a program may print it, as bytes (SPEC 8.2).

1. A spelling is what a published encoder writes of the value, at any place of a longer text: an encoder that works on
   groups of bytes has one spelling for each alignment, cut down to the characters that the value alone decides.
2. Line breaks do not matter here: ``secret_search`` compares without them. A value of several lines is also searched
   for line by line, and a JSON document text by text, where a line or a text is long enough to be a secret itself.
3. What ordinary text holds anyway is no secret, however it came here: short values, common words, the markers of a key.
"""

from __future__ import annotations

import json
import re
from binascii import b2a_base64
from collections.abc import Callable, Iterator
from functools import lru_cache

SHORTEST = 8
"""Characters a value needs to be redacted (SPEC 8.1)."""

MANY_FORMS = 16 * 1024
"""Characters of a value up to which it is searched for in all encodings; a longer one only in the usual ones."""

_TAIL = 1024
"""Bytes at the end of a long spelling, in which two of them differ."""

LINE = 16
"""Bytes that a line of a longer value needs to be redacted by itself (SPEC 8.2)."""

_COMMON = frozenset(
    "password passw0rd changeme administrator anonymous undefined disabled enabled localhost 127.0.0.1 development"
    " production staging default testing postgres postgresql database username example.com service_account"
    " authorized_user external_account googleapis.com".split()
)

_PUBLIC_KEYS = frozenset(
    "type kind apiversion auth_uri token_uri token_url auth_provider_x509_cert_url client_x509_cert_url universe_domain"
    " project_id quota_project_id subject_token_type region host hostname port engine dbname database kty alg use crv"
    " scheme".split()
)
"""Keys of well-known documents whose values every other document of the kind has too, or that name a place."""

_LINE_BREAK = re.compile(r"\s*[\r\n]\s*", re.A)
_BLANKS = re.compile(r"\s+", re.A)
_MARKER = re.compile(r"-----(?:BEGIN|END) [A-Z0-9 ]+-----")
_UNRESERVED = re.compile(r"[A-Za-z0-9_.-]*")
"""Characters that only base64, hex and a full percent-encoding change."""


def is_ordinary(value: str) -> bool:
    """Whether so much text holds *value* that marks would harm it (SPEC 8.1)."""
    text = _BLANKS.sub(" ", _LINE_BREAK.sub("", value.strip()))  # wrapping may change them
    return len(text) < SHORTEST or (len(text) < 10 and text.isdigit()) or text.lower() in _COMMON


@lru_cache(maxsize=128)
def spellings(value: str) -> frozenset[bytes]:
    """Every spelling of *value*, which is not ordinary; none begins or ends with white space."""
    text = value.strip()
    encoded = _encoded if len(text) <= MANY_FORMS else _usual
    found = set(encoded(text))
    leaves = _leaves(text)
    if leaves is not None:
        found.update(*map(spellings if encoded is _encoded else _as_it_is, leaves))
    lines = _lines(text)
    if leaves is None and len(lines) > 1:
        real = "\n".join(lines)
        for variant in {real, real.replace("\n", "\r\n")} - {text}:
            found.update(encoded(variant))
        stripped = [line.strip() for line in lines]
        body = "".join(line for line in stripped if not _MARKER.fullmatch(line))
        for part in [body, *stripped]:
            if not _is_plain(part):
                found.update(_as_it_is(part))
    return frozenset(found)


def _as_it_is(part: str) -> set[bytes]:
    """A part of a longer value, and as JSON has it."""
    if _UNRESERVED.fullmatch(part):
        return {part.encode()}
    return {*map(as_bytes, (part, part.translate(_JSON), part.translate(_JSON_UTF8)))}


def _usual(text: str) -> Iterator[bytes]:
    """A long *text* in the encodings that are usual."""
    data = as_bytes(text)
    yield data
    for before in range(3):
        whole, decided = _aligned(data, before)
        for spelled in (whole, whole[-_TAIL:].rstrip(b"="), whole[:decided][-_TAIL:]):
            yield spelled
            yield spelled.translate(_URL_ALPHABET)
    yield from _base64_lines(data)
    for digits in (data.hex(), data.hex(" ")):
        yield digits.encode()
        yield digits.upper().encode()
    latin = data.decode("latin-1")
    for safe in _URL_USUAL:
        special = set(_UNRESERVED.sub("", latin)).difference(safe)
        url = latin.translate({ord(character): f"%{ord(character):02X}" for character in special}).encode("latin-1")
        yield url
        yield url.replace(b"%20", b"+")
    for table in (_JSON, _JSON_UTF8, _JSON_HTML, _PYTHON, _PYTHON_QUOTED, _SHELL, _SHLEX, _HTML_TEXT):
        yield as_bytes(text.translate(table))




def as_bytes(text: str) -> bytes:
    """As the text stands in a stream; what an environment holds that is no UTF-8 becomes its bytes again."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a character, which a JSON text may hold
        return text.encode("utf-8", "surrogatepass")


def _lines(text: str) -> list[str]:
    r"""The lines of *text*; a key that was put on one line with ``\n`` in it has lines, too."""
    if "\n" not in text:
        text = text.replace("\\r\\n", "\n").replace("\\n", "\n")
    return text.replace("\r\n", "\n").split("\n")


def _is_plain(line: str) -> bool:
    """Whether a line of a longer value is not searched for by itself."""
    return len(as_bytes(line)) < LINE or len(set(line)) < 5 or _MARKER.fullmatch(line) is not None or is_ordinary(line)


def _leaves(text: str) -> list[str] | None:
    """The texts inside a JSON document that are secrets like the document; None if *text* is no such document."""
    if text[0] not in "{[":
        return None
    try:
        return [leaf for leaf in _texts(json.loads(text), "") if not is_ordinary(leaf)]
    except (ValueError, RecursionError):
        return None


def _texts(node: object, key: str) -> Iterator[str]:
    if isinstance(node, str) and key.lower() not in _PUBLIC_KEYS:
        yield node
    elif isinstance(node, dict):
        for name, item in node.items():
            yield from _texts(item, name)
    elif isinstance(node, list):
        for item in node:
            yield from _texts(item, key)


def _encoded(text: str) -> Iterator[bytes]:
    """*text* in every encoding."""
    data = as_bytes(text)
    yield data
    yield from _base64(data)
    yield from _base64_lines(data)
    for coding in ("utf-16-le", "utf-16-be"):
        yield from _base64(text.encode(coding, "surrogatepass"))
    for digits in (data.hex(), data.hex(":"), data.hex(" "), "%" + data.hex("%")):
        yield digits.encode()
        yield digits.upper().encode()
    special = [ord(character) for character in set(_UNRESERVED.sub("", text))]
    if not special:
        return
    for table in {tuple([table[code] for code in special]): table for table in _TABLES}.values():
        yield as_bytes(text.translate(table))
    for table in (_JSON, _JSON_UTF8, _JSON_HTML):  # a JSON text inside a JSON text, as logs have it
        yield as_bytes(text.translate(table).translate(table))
    if "\\" in text:
        yield from _read(data)
    for table in (_PYTHON_BYTES, _PYTHON_BYTES_QUOTED):
        yield data.decode("latin-1").translate(table).encode()
    yield from _url(data)
    # The text of a JSON document or a form is often what is put into base64.
    inside = {as_bytes(text.translate(_JSON)), as_bytes(text.translate(_JSON_UTF8)), next(_url(data))}
    for other in inside - {data}:
        yield from _base64(other)


def _read(data: bytes) -> Iterator[bytes]:
    """*data* as ``echo`` or ``printf %b`` prints it, which read its backslashes; shells differ in which they know."""
    end = _END.match(data)
    printed = data if end is None else end[1]
    for known in _ESCAPES:
        text = known.sub(_escape, printed).strip()
        if not is_ordinary(text.decode("utf-8", "surrogateescape")):
            yield text


def _escape(found: re.Match[bytes]) -> bytes:
    code = found[0][1:]
    if code in _LETTERS:
        return _LETTERS[code]
    if code[:1] in b"uU":
        number = int(code[1:], 16)
        return as_bytes(chr(number)) if number < 0x110000 else found[0]
    return bytes([int(code[1:], 16) if code[:1] == b"x" else int(code, 8) & 255])


def _base64(data: bytes) -> Iterator[bytes]:
    """The characters that *data* alone decides, at each of the three places in a group, in both alphabets.

    Where a text ends with *data*, a last character and the padding follow, of which the value decides some bits and its
    length the rest. The standard alphabet may be escaped again in a URL or in JSON.
    """
    for before in range(3):
        whole, decided = _aligned(data, before)
        for text in {whole[:decided], whole.rstrip(b"="), whole}:
            yield text
            if b"+" in text or b"/" in text:
                yield text.translate(_URL_ALPHABET)
                yield text.replace(b"/", b"\\/")
            if not text.isalnum():
                for digits in (b"%2B%2F%3D", b"%2b%2f%3d"):
                    yield text.replace(b"+", digits[:3]).replace(b"/", digits[3:6]).replace(b"=", digits[6:])


def _aligned(data: bytes, before: int) -> tuple[bytes, int]:
    """Base64 of *data* behind so many bytes, and how many of its characters *data* alone decides."""
    whole = b2a_base64(bytes(before) + data, newline=False)[before and before + 1 :]
    return whole, (before + len(data)) * 8 // 6 - (before and before + 1)


def _base64_lines(data: bytes) -> Iterator[bytes]:
    r"""Wrapped base64 in a JSON text, where a line break is ``\n``."""
    text = b2a_base64(data, newline=False).rstrip(b"=\n")
    for width in (64, 76):
        if len(text) > width:
            yield b"\\n".join(text[at : at + width] for at in range(0, len(text), width))


_LETTERS = {b"\\": b"\\", b"a": b"\a", b"b": b"\b", b"e": b"\x1b", b"E": b"\x1b", b"f": b"\f", b"n": b"\n", b"r": b"\r"}
_LETTERS |= {b"t": b"\t", b"v": b"\v"}
_ESCAPES = (
    re.compile(rb"\\(?:[abfnrtv\\]|0[0-7]{0,3}|[1-7][0-7]{0,2})"),  # POSIX
    re.compile(rb"\\(?:[abefnrtv\\]|0[0-7]{0,3}|[1-7][0-7]{0,2})"),  # dash of today
    re.compile(rb"\\(?:[abefnrtvE\\]|0[0-7]{0,3}|x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8})"),  # bash, zsh
    re.compile(rb"\\(?:[abefnrtvE\\]|0[0-7]{0,3}|[1-7][0-7]{0,2}|x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8})"),
)
"""What is read after a backslash; the last is bash's ``printf %b``."""
_END = re.compile(rb"((?:[^\\]|\\[^c])*)\\c", re.S)
"""Nothing is printed of what comes after it."""

_URL_ALPHABET = bytes.maketrans(b"+/", b"-_")

_URL_SAFE = (
    "~",  # RFC 3986, and Python's quote with safe=""
    "~/",  # Python's quote
    "*", "",  # forms: the URL standard and Java; PHP
    "~!*'()", "~!*'();,/?:@&=+$#",  # encodeURIComponent, encodeURI
    "~$&+,/:;=@", "~$&+=:@", "~$&+,;=",  # Go: path, segment, user
    "~!$&'()*+,;=", "~!$&'()*+,;=:@/",  # the same by RFC 3986
)  # fmt: skip
"""What the encoders leave as it is besides letters, digits and ``_.-``."""
_URL_USUAL = ("~", "~/", "~!*'()")


def _url(data: bytes) -> Iterator[bytes]:
    """*data* in a URL: encoders differ in what they escape, in the case of the digits and in how they write a blank."""
    text = data.decode("latin-1")
    special = set(_UNRESERVED.sub("", text))
    escaped = dict.fromkeys(frozenset(special.difference(safe)) for safe in _URL_SAFE)
    for characters in escaped:
        for digits in ("%{:02X}", "%{:02x}"):
            table = {ord(character): digits.format(ord(character)) for character in characters}
            yield text.translate(table).encode("latin-1")
            if " " in characters:
                yield text.translate({**table, 32: "+"}).encode("latin-1")


class _Table(dict[int, str]):
    """One escaper for ``str.translate``: some ASCII characters by table, controls and other characters by rule."""

    def __init__(
        self, table: dict[str, str], control: Callable[[str], str] = str, other: Callable[[str], str] = str
    ) -> None:
        super().__init__({ord(character): spelling for character, spelling in table.items()})
        self._control, self._other = control, other

    def __missing__(self, code: int) -> str:
        character = chr(code)
        rule = self._control if code < 32 else str if code < 127 else self._other
        spelling = self[code] = rule(character)
        return spelling


def _json(character: str) -> str:
    return json.dumps(character)[1:-1]


def _json_upper(character: str) -> str:
    return _json(character).upper().replace("\\U", "\\u")


def _python(character: str) -> str:
    return repr(character)[1:-1]


def _ascii(character: str) -> str:
    return ascii(character)[1:-1]


def _octal(character: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in as_bytes(character))


def _reference(character: str) -> str:
    return f"&#{ord(character)};"


def _codes(characters: str, form: str) -> dict[str, str]:
    return {character: form.format(ord(character)) for character in characters}


_QUOTED = {'"': '\\"', "\\": "\\\\"}
_SLASH = {**_QUOTED, "/": "\\/"}
_HTML = {**_QUOTED, **_codes("<>&", "\\u{:04x}")}
_HTML_UPPER = {**_QUOTED, **_codes("<>&", "\\u{:04X}")}
_JSON = _Table(_QUOTED, _json, _json)
_JSON_UTF8 = _Table(_QUOTED, _json)
_JSON_HTML = _Table(_HTML, _json)
_BACKSLASH = {"\\": "\\\\"}
_PYTHON = _Table(_BACKSLASH, _python, _python)
_SINGLE = {**_BACKSLASH, "'": "\\'"}
_PYTHON_QUOTED = _Table(_SINGLE, _python, _python)
_PYTHON_BYTES = _Table(_BACKSLASH, _ascii, _ascii)
_PYTHON_BYTES_QUOTED = _Table(_SINGLE, _ascii, _ascii)
_C = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_TEXT = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_SHELL = _Table({"'": "'\\''"})
_SHLEX = _Table({"'": "'\"'\"'"})
_HTML_TEXT = _Table({**_TEXT, '"': "&quot;", "'": "&#x27;"})

_TABLES = (
    _JSON,
    _JSON_UTF8,
    _JSON_HTML,  # Go
    _Table(_HTML, _json, _json),
    _Table(_HTML_UPPER, _json),
    _Table(_HTML_UPPER, _json, _json),  # Django, Rails
    _Table(_SLASH, _json),
    _Table(_SLASH, _json, _json),  # PHP
    _Table(_QUOTED, _json, _json_upper),
    _Table({**_HTML, **_codes("='", "\\u{:04x}")}, _json),  # Gson
    _Table({**_BACKSLASH, **_codes("\"'+<>&`", "\\u{:04X}")}, _json, _json_upper),  # .NET
    _PYTHON,  # repr; it takes the quotes that need no backslash …
    _PYTHON_QUOTED,  # … unless there are both
    _Table(_BACKSLASH, _ascii, _ascii),
    _Table(_SINGLE, _ascii, _ascii),
    _Table({**_QUOTED, **_C}, _octal, _octal),  # C, git
    _Table({**_SINGLE, **_C}, _octal, _octal),  # $'…'
    _Table({**_SINGLE, **_C}, _octal),
    _SHELL,
    _SHLEX,
    _Table({"'": "''"}),  # PowerShell, SQL, YAML
    _Table({'"': '""'}),  # CSV
    _Table({character: f"\\{character}" for character in '"\\$`'}),  # "…"
    _Table({character: f"\\{character}" for character in '"\\$`!'}),
    _Table({character: f"\\{character}" for character in " !\"$&'()*,;<>?[\\]^`{|}"}),  # printf %q
    _Table({character: f"\\{character}" for character in " !\"#$%&'()*;<=>?[\\]^`{|}~"}),  # Ruby
    _Table(_TEXT),
    _Table(_TEXT, other=_reference),
    _Table({**_TEXT, '"': "&quot;"}),
    _Table({**_TEXT, '"': "&quot;"}, other=_reference),
    _Table({**_TEXT, '"': "&quot;", **_codes("\n\r\t", "&#{:02d};")}),  # ElementTree
    _HTML_TEXT,  # Python
    _Table({**_TEXT, '"': "&quot;", "'": "&#39;"}),
    _Table({**_TEXT, '"': "&quot;", "'": "&#039;"}),  # PHP
    _Table({**_TEXT, '"': "&quot;", "'": "&apos;"}),  # XML
    _Table({**_TEXT, **_codes("\"'", "&#{};")}),  # Go, Jinja
    _Table({**_TEXT, '"': "&quot;", "'": "&#39;", **_codes("/`=", "&#x{:02X};")}),  # Mustache
)
