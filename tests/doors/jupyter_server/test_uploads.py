"""The chunks of several uploads: each is whole or given up, and none grows without end."""

from __future__ import annotations

from typing import Any

import pytest
from tornado.web import HTTPError

from mcc_jupyter.doors.jupyter_server import uploads
from mcc_jupyter.doors.jupyter_server.uploads import Uploads


def chunk(number: int, content: str = "{}", **more: Any) -> dict[str, Any]:
    return {"type": "file", "format": "text", "content": content, "chunk": number, **more}


def refused(made: Uploads, path: str, number: int, content: str = "{}") -> int:
    with pytest.raises(HTTPError) as caught:
        made.take(chunk(number, content), path)
    return caught.value.status_code


def test_the_last_chunk_gives_the_whole() -> None:
    made = Uploads()

    assert made.take(chunk(1, "a", path="x.ipynb"), "x.ipynb") is None
    assert made.take(chunk(2, "Yg==", format="base64"), "x.ipynb") is None
    assert made.take(chunk(-1, "c"), "x.ipynb") == {"type": "file", "format": "text", "content": "abc"}
    assert refused(made, "x.ipynb", -1) == 400


def test_a_first_chunk_begins_anew() -> None:
    made = Uploads()
    made.take(chunk(1, "a"), "x.ipynb")
    made.take(chunk(1, "b"), "x.ipynb")

    whole = made.take(chunk(-1, "c"), "x.ipynb")
    assert whole is not None
    assert whole["content"] == "bc"


def test_of_too_many_the_one_that_waits_longest_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MOST", 2)
    made = Uploads()
    for path, number in [("a", 1), ("b", 1), ("a", 2), ("c", 1), ("c", 1)]:
        made.take(chunk(number), path)

    assert refused(made, "b", -1) == 400
    assert made.take(chunk(-1), "a") is not None
    assert made.take(chunk(-1), "c") is not None


def test_one_that_is_too_large_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MOST_BYTES", 10)
    made = Uploads()
    made.take(chunk(1, "12345"), "a")
    made.take(chunk(1, "12345"), "b")

    assert refused(made, "a", 2, "6") == 413
    assert refused(made, "a", -1) == 400
    assert made.take(chunk(-1, "67890"), "b") is not None


@pytest.mark.parametrize("content", [None, 7, "\ud83d"])
def test_what_is_no_content_is_an_error(content: Any) -> None:
    assert refused(Uploads(), "a", 1, content) == 400
