"""A curl config file does what the same words on a command line would do, and a real curl says so."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcc_jupyter.core.curl_config import TooLong, config, options


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was asked: method, path, headers and body; and remembers it."""

    asked: ClassVar[list[dict[str, object]]] = []

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = [[name, value] for name, value in self.headers.items()]
        asked = {"method": self.command, "path": self.path, "headers": headers, "body": body.decode("latin-1")}
        self.asked.append(asked)
        data = json.dumps(asked).encode() + b"\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_HEAD = do_PATCH = answer  # noqa: N815 — the names http.server looks for

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    thread.join()
    httpd.server_close()


def curl(words: list[str], folder: Path, data: bytes = b"") -> tuple[int, str]:
    """Exit status and output, without what differs from one request to the next."""
    done = subprocess.run(["curl", "-q", "-sS", *words], input=data, cwd=folder, capture_output=True, timeout=30)
    text = re.sub(rb"-{20,}[0-9A-Za-z]{8,}", b"(boundary)", done.stdout)
    return done.returncode, re.sub(rb"Date: [^\r]*", b"Date:", text).decode("utf-8", "surrogateescape")


def by_config(words: list[str], folder: Path) -> list[str]:
    written = config(words)
    assert written is not None
    (folder / "config").write_bytes(written)
    return ["--config", "config"]


HOSTILE = [
    pytest.param('he said "hi"', id="double quotes"),
    pytest.param("it's", id="a single quote"),
    pytest.param("back\\slash \\n \\", id="backslashes, one at the end"),
    pytest.param("a\tb\vc", id="tab and vertical tab"),
    pytest.param("@config", id="a leading @"),
    pytest.param("-X", id="a leading dash"),
    pytest.param("--data", id="an option"),
    pytest.param("#no comment", id="a leading #"),
    pytest.param("= : x", id="separators"),
    pytest.param("$HOME `id` $(id) ${X}", id="shell syntax"),
    pytest.param("{{ 7*7 }} {a,b} [1-3]", id="templates and globs"),
    pytest.param("ä€😀\u200b", id="Unicode"),
    pytest.param("\udcff\udce9", id="bytes that are no UTF-8"),
    pytest.param("", id="nothing"),
    pytest.param("  ", id="blanks"),
    pytest.param("; rm -rf / ; %7B%0a", id="percent and semicolons"),
]


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_values_reach_the_server_as_from_a_command_line(value: str, server: str, tmp_path: Path) -> None:
    words = ["-g", "-H", f"X-Value: {value}", "--data-raw", value, f"{server}/path", "-A", f"agent {value}", "-u", f"user:{value}"]
    (tmp_path / "config").write_text("what @config would read")
    by_command = curl(words, tmp_path)
    assert by_command[0] == 0
    assert curl(by_config(words, tmp_path), tmp_path) == by_command
    asked = json.loads(by_command[1])
    assert asked["body"].encode("latin-1").decode("utf-8", "surrogateescape") == value


@pytest.mark.parametrize("value", ["a\nb", "a\r\nb", "\n", '"\n--url "http://127.0.0.1:1'])
def test_a_line_end_in_a_value_begins_no_option(value: str, server: str, tmp_path: Path) -> None:
    words = ["--data-binary", value, f"{server}/"]
    by_command = curl(words, tmp_path)
    assert curl(by_config(words, tmp_path), tmp_path) == by_command
    assert json.loads(by_command[1])["body"] == value


WORDS = [
    pytest.param(["{}/a", "{}/b"], id="two addresses"),
    pytest.param(["-I", "{}/a"], id="a flag"),
    pytest.param(["-sSLi", "{}/a"], id="flags in one word"),
    pytest.param(["-iXPUT", "{}/a"], id="flags and an argument in one word"),
    pytest.param(["-XPUT", "{}/a"], id="an argument in the word"),
    pytest.param(["-X", "PUT", "{}/a"], id="an argument in the next word"),
    pytest.param(["-d", "a=1", "-d", "b=2", "{}/a"], id="an option several times"),
    pytest.param(["-G", "-d", "a=1", "--data-urlencode", "b=x y&z", "{}/a"], id="a query"),
    pytest.param(["{}/a", "-o", "out1", "{}/b", "-o", "out2", "-w", "%{{http_code}}\n"], id="outputs in their order"),
    pytest.param(["-d", "x", "{}/a", "--next", "-H", "X: y", "{}/b"], id="--next begins another request"),
    pytest.param(["-d", "x", "{}/a", "-:", "{}/b"], id="-: is --next"),
    pytest.param(["--no-keepalive", "--compressed", "--no-compressed", "{}/a"], id="negated flags"),
    pytest.param(["--url", "{}/a", "--request", "PATCH", "--json", '{{"a": "b"}}'], id="long options"),
    pytest.param(["-F", 'field=a "b" c;type=text/plain', "-F", "file=@data.txt", "{}/a"], id="a form"),
    pytest.param(["-d", "@data.txt", "{}/a"], id="data from a file"),
    pytest.param(["-T", "data.txt", "{}/a"], id="an upload"),
    pytest.param(["-b", "a=1; b=2", "-e", "http://ref.test/", "-r", "0-3", "{}/a"], id="cookie, referer, range"),
    pytest.param(["--globoff", "{}/[1-2]{{a}}"], id="no globs"),
    pytest.param(["{}/[1-2]"], id="globs"),
    pytest.param(["-d", "", "{}/a"], id="an empty argument"),
    pytest.param(["--", "{}/a"], id="-- ends the options"),
    pytest.param(["{}/a", "--", "-d"], id="after -- a dash is no option"),
    pytest.param(["-d", "@-", "{}/a"], id="data from stdin"),
    pytest.param(["--data", "x" * 90_000, "{}/a"], id="a long argument"),
]


@pytest.mark.parametrize("words", WORDS)
def test_options_mean_in_the_file_what_they_mean_on_the_command_line(words: list[str], server: str, tmp_path: Path) -> None:
    words = [word.format(server) for word in words]
    results = []
    for way in ("command", "config"):
        folder = tmp_path / way
        folder.mkdir()
        (folder / "data.txt").write_text("content\n")
        given = words if way == "command" else by_config(words, folder)
        Echo.asked.clear()
        made = curl(given, folder, b"from stdin")
        files = {file.name: file.read_text() for file in sorted(folder.iterdir()) if file.name != "config"}
        asked = re.sub("-{20,}[0-9a-z]{8,}", "(boundary)", json.dumps(Echo.asked))
        results.append((made, files, asked))
    assert results[1] == results[0]
    assert results[0][2] != "[]", "no request was made"


PRINTABLE = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(value=PRINTABLE)
def test_any_text_arrives_as_it_was(server: str, tmp_path: Path, value: str) -> None:
    status, answer = curl(by_config(["--data-raw", value, f"{server}/x"], tmp_path), tmp_path)
    assert (status, json.loads(answer)["body"].encode("latin-1").decode()) == (0, value)


def test_the_file_is_one_line_an_option_in_the_order_of_the_words() -> None:
    written = config(["-sX", "PUT", "https://h.test/a b", "-H", 'A: "q"\\', "--compressed", "-dx\ny", "--", "-z", "--url"])
    assert written == (
        b'-s\n-X "PUT"\n--url "https://h.test/a b"\n-H "A: \\"q\\"\\\\"\n--compressed\n-d "x\\ny"\n--url "-z"\n--url "--url"\n'
    )
    assert config([]) == b""
    assert config(["-"]) == b'--url "-"\n'


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["--not-an-option", "x"], id="a long option"),
        pytest.param(["--no-data", "x"], id="a negated option that takes an argument"),
        pytest.param(["-s?"], id="a letter"),
        pytest.param(["http://h.test", "-H"], id="a letter without its argument"),
        pytest.param(["http://h.test", "--header"], id="a long option without its argument"),
        pytest.param(["-h"], id="help"),
        pytest.param(["--head=x"], id="a long option with ="),
    ],
)
def test_what_is_not_known_for_certain_is_left_to_the_command_line(words: list[str]) -> None:
    assert config(words) is None


def test_an_argument_that_not_every_curl_reads_is_refused(server: str, tmp_path: Path) -> None:
    room = 100 * 1024 - 1 - len('--data ""\n')
    fits, longer, unknown = (["--data", "x" * size, f"{server}/a"] for size in (room, room + 1, 100 * 1024))
    status, answer = curl(by_config(fits, tmp_path), tmp_path)
    assert (status, len(json.loads(answer)["body"])) == (0, room)
    for words, size in ((longer, 100 * 1024), (["--not-an-option", *unknown], 100 * 1024), (["-d", '"' * 60_000], 120_006)):
        with pytest.raises(TooLong) as caught:
            config(words)
        assert caught.value.size == size


def test_the_options_of_a_command_are_pairs() -> None:
    assert options(["-sX", "POST", "https://a.example", "-dx", "--", "b"]) == [("-s", ""), ("-X", "POST"), ("--url", "https://a.example"), ("-d", "x"), ("--url", "b")]
    assert options(["--not-an-option"]) is None


def test_every_option_of_the_curl_at_hand_is_known() -> None:
    listing = subprocess.run(["curl", "--help", "all"], capture_output=True, text=True).stdout
    listed = re.findall(r"^ *(?:-(\S), +)?--(\S+)( +(?:<\S|\[protocol)\S*)?", listing, re.M)
    assert len(listed) > 200
    # Help and manual take an optional argument or end at once; metalink was taken out of curl.
    listed = [option for option in listed if option[1] not in ("help", "manual", "metalink")]
    wrong = []
    for short, name, argument in listed:
        for option in [f"--{name}", *([f"-{short}"] if short else [])]:
            alone, followed = config([option]), config([option, "value"])
            right = (None, f'{option} "value"\n') if argument else (f"{option}\n", f'{option}\n--url "value"\n')
            if (alone, followed) != tuple(text if text is None else text.encode() for text in right):
                wrong.append(option)
    assert wrong == []
