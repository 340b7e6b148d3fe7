"""The hosts that a command names, and when another one could stand there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mcc_jupyter.core.hosts import hosts
from mcc_jupyter.core.tool import Tool


@pytest.mark.parametrize(
    ("curl", "expected"),
    [
        ("https://api.example/x?y=1", {"api.example"}),
        ("https://API.Example.:8443", {"api.example"}),
        ("https://user:pw@api.example/", {"api.example"}),
        ("https://[::1]:8000/x", {"[::1]"}),
        ("-X POST api.example/path -d x=y", {"api.example"}),
        ("--url https://api.example -H 'X: https://other.example'", {"api.example"}),
        ("-o out https://a.example https://b.example", {"a.example", "b.example"}),
        ("https://a.example/{{ x }}", {"a.example"}),
        ("https://a.example{{ x }}", {"dynamic"}),
        ("https://{{ x }}.example/", {"dynamic"}),
        ("https://a.example:{{ x }}/", {"dynamic"}),
        ("'{{ x }}/path'", {"dynamic"}),
        ("https://$HOST/x", {"dynamic"}),
        ("https://a.example/$TOKEN", {"a.example"}),
        ("https://${NAME}@a.example/", {"dynamic"}),
        ("https://{a,b}.example/", {"dynamic"}),
        ("https://[a-z].example/", {"dynamic"}),
        ("https://a.example\\\\@b.example/", {"a.example"}),
        ("https://dynamic/", {"dynamic."}),
        ("file:///etc/passwd", {"file:"}),
        ("@addresses", {"dynamic"}),
        ("-K config", {"dynamic"}),
        ("https://a.example --connect-to a.example:443:b.example:443", {"a.example", "dynamic"}),
        ("-x proxy.example:3128 https://a.example", {"a.example", "proxy.example"}),
        ("--new-option x https://a.example", {"a.example", "dynamic"}),
        ("-sS", {"dynamic"}),
        ("https://a.example/$(date) -d 1", {"a.example"}),
        ("https://$(host)/ -d 1", {"dynamic"}),
        ('"https://a.example/" | grep x', {"a.example"}),
    ],
)  # fmt: skip
def test_the_hosts_of_a_curl_tool(one: Callable[..., Tool], curl: str, expected: set[str]) -> None:
    assert hosts(one({"name": "t", "curl": curl})) == expected


@pytest.mark.parametrize(
    ("exec_", "expected"),
    [
        ("echo https://a.example", set()),
        ("psql -c 1", set()),
        ("TOKEN=x curl a.example/x", {"a.example"}),
        ("timeout 5 /usr/bin/curl -s https://a.example/", {"a.example"}),
        ("git clone ssh://git@a.example/x && wget https://b.example/y", {"a.example", "b.example"}),
        ("FOO=https://a.example", set()),
        ("ls //server/share", set()),
        (["curl", "https://a.example/{{ x }}"], {"a.example"}),
        (["curl", "https://{{ x }}/"], {"dynamic"}),
        (["curl", "https://$HOME/"], {"dynamic"}),
    ],
)
def test_the_hosts_of_a_command(one: Callable[..., Tool], exec_: object, expected: set[str]) -> None:
    assert hosts(one({"name": "t", "exec": exec_})) == expected


def test_a_filter_of_the_output_may_name_one_and_a_function_none(one: Callable[..., Tool]) -> None:
    assert hosts(one({"name": "t", "exec": "ls", "transform": "curl -d @- https://a.example"})) == {"a.example"}
    assert hosts(one({"fn": "a:b"})) == set()
