"""What tests of ``runtime`` share: a launcher that starts nothing, and toolboxes that are closed."""

from __future__ import annotations

import json
import marshal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from mcc_jupyter.core.cell import parse_yaml
from mcc_jupyter.core.command import Request
from mcc_jupyter.core.isolation import Isolation
from mcc_jupyter.core.tool import Origin
from mcc_jupyter.runtime.launcher import Exit, Stop
from mcc_jupyter.runtime.toolbox import Added, Toolbox

Sink = Callable[[bytes], None]


def frame(answer: object) -> bytes:
    """An answer as a function's child sends it."""
    text = json.dumps(answer).encode()
    return b"%08x\n" % len(text) + text


class FakeLauncher:
    """Starts nothing: remembers each request and answers as it was told, the last answer for all that follow."""

    def __init__(self, *answers: Exit | Callable[[Request, Sink, Sink], Exit]) -> None:
        self.answers = list(answers) or [Exit(code=0)]
        self.requests: list[Request] = []
        self.stops: list[Stop | None] = []

    def run(
        self,
        request: Request,
        *,
        stdout: Sink,
        stderr: Sink,
        stop: Stop | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> Exit:
        answer = self.answers[min(len(self.requests), len(self.answers) - 1)]
        self.requests.append(request)
        self.stops.append(stop)
        if meanwhile is not None:
            meanwhile()
        return answer if isinstance(answer, Exit) else answer(request, stdout, stderr)

    isolation = Isolation("linux", 7, domain=True, scoped=True, unprivileged=True, final=True)

    def close(self) -> None:
        """There is nothing to end."""

    def frames(self) -> list[dict[str, object]]:
        """What the functions' children were asked."""
        return [marshal.loads(request.payload) for request in self.requests if request.result and request.payload]


class World:
    """A parent that can change, a folder, and a toolbox in them."""

    def __init__(self, folder: Path, parent: dict[str, str], **settings: object) -> None:
        self.folder = folder
        self.variables = dict(parent)
        self._seen: Mapping[str, str] = {}
        self.box = Toolbox(self.parent, **settings)  # type: ignore[arg-type]
        self.cells = 0

    def parent(self) -> Mapping[str, str]:
        if self._seen != self.variables:
            self._seen = dict(self.variables)
        return self._seen

    def add(self, document: object, *, cell: str | None = None, folder: Path | None = None) -> Added:
        """Declares YAML text or plain data, in a new cell if *cell* names none."""
        self.cells += 1
        origin = Origin("cell", f"cell {self.cells}", cell or f"id-{self.cells}")
        data = parse_yaml(document) if isinstance(document, str) else document
        return self.box.add(data, origin, folder=str(folder or self.folder))

    def declare(self, document: object, **more: object) -> str:
        """Declares the tools of *document*, which has no problem; returns the last one's name."""
        return self.add(document, **more).raise_for_problems().tools[-1].name  # type: ignore[arg-type]

    def module(self, name: str, text: str) -> None:
        (self.folder / f"{name}.py").write_text(text)


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[Callable[..., World]]:
    """``make_world(parent, **settings)``; every toolbox is closed when the test ends."""
    worlds: list[World] = []

    def make(parent: dict[str, str] | None = None, **settings: object) -> World:
        folder = tmp_path / f"world{len(worlds)}"
        folder.mkdir()
        worlds.append(World(folder, {"PATH": "/usr/bin:/bin", "HOME": str(folder), **(parent or {})}, **settings))
        return worlds[-1]

    yield make
    for world in worlds:
        world.box.close()
