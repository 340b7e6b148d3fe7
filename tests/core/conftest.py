"""What tests of ``core`` share: a small world to declare tools in."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mcc_jupyter.core.cell import parse_yaml
from mcc_jupyter.core.declare import Declared, Place, declare
from mcc_jupyter.core.tool import DEFAULT_FLOOR, Origin

PARENT = {
    "HOME": "/home/ana",
    "PATH": "/usr/bin",
    "DB_PASSWORD": "hunter2-hunter2",
    "REGION": "eu-north-1",
    "SECONDS_TO_WAIT": "30",
    "EMPTY": "",
}


@pytest.fixture
def declared() -> Callable[..., Declared]:
    """``declared(document)``: YAML text or plain data, in a cell of a notebook in ``/nb``."""

    def run(
        document: object,
        *,
        parent: dict[str, str] = PARENT,
        home: str | None = "/home/ana",
        kind: str = "cell",
    ) -> Declared:
        data = parse_yaml(document) if isinstance(document, str) else document
        origin = Origin(kind, kind)  # type: ignore[arg-type]
        return declare(data, Place(parent, DEFAULT_FLOOR, "/nb", home, origin))

    return run


@pytest.fixture
def problems(declared: Callable[..., Declared]) -> Callable[..., list[str]]:
    """The problems of a document, as text."""
    return lambda document, **world: [str(problem) for problem in declared(document, **world).problems]


@pytest.fixture
def one(declared: Callable[..., Declared]) -> Callable[..., object]:
    """The only tool of a document that has no problem."""

    def run(document: object, **world: object) -> object:
        found = declared(document, **world)
        assert found.problems == ()
        (tool,) = found.tools
        return tool

    return run
