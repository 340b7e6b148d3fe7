"""What another process asks of a kernel: read into types, or refused by the name of a field and nothing of its content."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcc_jupyter.core.errors import ArgumentError
from mcc_jupyter.core.requests import Ack, Caller, CallOf, Cancel, ReportOf, Scan, Tools, read

ASKED = [
    ({"op": "tools"}, Tools()),
    ({"op": "tools", "unknown": 1}, Tools()),
    ({"op": "report", "tool": "t"}, ReportOf("t")),
    ({"op": "report", "tool": "t", "all": True, "caller": {"user": "a"}}, ReportOf("t", everything=True, caller=Caller("a"))),
    ({"op": "call", "call": "c-1.x_Y", "tool": "t"}, CallOf("c-1.x_Y", "t")),
    (
        {"op": "call", "call": "c", "tool": "t", "arguments": {"a": 1}, "caller": {"user": "a", "email": "a@b", "groups": ["g"]}, "timeout": 3, "lease": 5},
        CallOf("c", "t", {"a": 1}, Caller("a", "a@b", ("g",)), 3, 5.0),
    ),
    ({"op": "ack", "call": "c", "seq": 0}, Ack("c", 0)),
    ({"op": "cancel", "call": "c"}, Cancel("c")),
    ({"op": "scan"}, Scan()),
    ({"op": "scan", "clean": True}, Scan(clean=True)),
]


@pytest.mark.parametrize(("content", "expected"), ASKED)
def test_a_request_is_read(content: dict[str, object], expected: object) -> None:
    assert read({"v": 1, **content}) == expected


CALL = {"v": 1, "op": "call", "call": "c", "tool": "t"}
VERSION = "mcc_request: `v` must be 1, the version that this kernel understands"
ID = "mcc_request: `call` must be 1 to 64 letters, digits, `_`, `.` or `-`"
REFUSED: list[tuple[object, str]] = [
    ("text", "mcc_request: the content must be an object"),
    ({"op": "tools"}, VERSION),
    ({"v": True, "op": "tools"}, VERSION),
    ({"v": 2, "op": "tools"}, VERSION),
    ({"v": 1}, "mcc_request: `op` must be tools, report, call, ack, cancel or scan"),
    ({"v": 1, "op": "report"}, "mcc_request: `tool` must be a name"),
    ({"v": 1, "op": "report", "tool": ""}, "mcc_request: `tool` must be a name"),
    ({"v": 1, "op": "report", "tool": "a\nb"}, "mcc_request: `tool` must be a name"),
    ({"v": 1, "op": "report", "tool": "t", "all": 1}, "mcc_request: `all` must be true or false"),
    ({**CALL, "call": "a b"}, ID),
    ({**CALL, "call": "a\n"}, ID),
    ({**CALL, "call": "x" * 65}, ID),
    ({**CALL, "arguments": []}, "mcc_request: `arguments` must be an object"),
    ({**CALL, "lease": 0.5}, "mcc_request: `lease` must be 1 to 3,600 seconds"),
    ({**CALL, "lease": True}, "mcc_request: `lease` must be 1 to 3,600 seconds"),
    ({**CALL, "lease": float("nan")}, "mcc_request: `lease` must be 1 to 3,600 seconds"),
    ({**CALL, "caller": "root"}, "mcc_request: `caller` must be an object"),
    ({**CALL, "caller": {}}, "mcc_request: `caller.user` must be a name"),
    ({**CALL, "caller": {"user": "a", "email": 1}}, "mcc_request: `caller.email` must be an address or null"),
    ({**CALL, "caller": {"user": "a", "email": ""}}, "mcc_request: `caller.email` must be an address or null"),
    ({**CALL, "caller": {"user": "a", "groups": "admin"}}, "mcc_request: `caller.groups` must be a list of names or null"),
    ({**CALL, "caller": {"user": "a", "groups": [1]}}, "mcc_request: `caller.groups` must be a list of names or null"),
    ({**CALL, "caller": {"user": "a", "groups": ["g"] * 1001}}, "mcc_request: `caller.groups` must be a list of names or null"),
    ({"v": 1, "op": "ack", "call": "c", "seq": -1}, "mcc_request: `seq` must be the number of an output"),
    ({"v": 1, "op": "ack", "call": "c", "seq": True}, "mcc_request: `seq` must be the number of an output"),
]


@pytest.mark.parametrize(("content", "text"), REFUSED)
def test_a_wrong_request_is_told_by_its_field(content: object, text: str) -> None:
    with pytest.raises(ArgumentError) as error:
        read(content)
    assert str(error.value) == text


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
FIELDS = st.sampled_from(["v", "op", "call", "tool", "arguments", "caller", "timeout", "lease", "seq", "clean", "all"])
VALUES = JSON | st.sampled_from([1, "tools", "report", "call", "ack", "cancel", "scan"])


@given(JSON | st.dictionaries(FIELDS, VALUES))
def test_whatever_is_sent_is_a_request_or_an_argument_error(content: object) -> None:
    told = ""
    try:
        read(content)
    except ArgumentError as error:
        told = str(error)
    assert len(told) < 120


def test_arguments_are_in_no_repr() -> None:
    assert "swordfish" not in repr(read({**CALL, "arguments": {"a": "swordfish"}}))
