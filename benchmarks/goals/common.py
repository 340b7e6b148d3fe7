"""What several goals set up: a toolbox with a tool, a helper process that times itself, pauses."""

from __future__ import annotations

import random
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from ..harness import Unmeasured

REPOSITORY = Path(__file__).resolve().parent.parent.parent
FLOOR = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"}
SCRIPT = "echo one line of output"
"""What a shell tool and everything it is compared with runs."""

KINDS = {"": "imports nothing", "import numpy": "numpy", "import pandas": "pandas"}
"""The functions that are called: by what their module imports, with the words for it."""


def secrets(number: int) -> dict[str, str]:
    """Variables whose values are secret: of a length and kind that keys have, always the same."""
    chance = random.Random(7)
    letters = string.ascii_letters + string.digits
    return {f"BENCH_TOKEN_{at}": "tok-" + "".join(chance.choices(letters, k=36)) for at in range(number)}


@contextmanager
def toolbox(parent: Mapping[str, str]) -> Iterator[Any]:
    """A toolbox that is closed in the end, with everything it started."""
    from mcc_jupyter.runtime.toolbox import Toolbox

    made = Toolbox(lambda: parent, place="this benchmark")
    try:
        yield made
    finally:
        made.close()


def add(tools: Any, document: object, folder: str = "/") -> None:
    from mcc_jupyter.core.tool import Origin

    tools.add(document, Origin("python", "benchmark"), folder=folder).raise_for_problems()


@contextmanager
def shell_tool(number: int = 10) -> Iterator[Callable[[], object]]:
    """A call of a shell tool that has *number* secrets."""
    known = secrets(number)
    with toolbox({**FLOOR, **known}) as tools:
        add(tools, {"name": "bench", "exec": SCRIPT, "env_passthrough": list(known)})

        def call() -> object:
            outcome = tools.call("bench")
            if not outcome.ok:
                raise RuntimeError(f"the shell tool {outcome.failure}")
            return outcome

        yield call


@contextmanager
def functions(imports: str, body: str = "return 1", arguments: str = "", **fields: object) -> Iterator[Any]:
    """A toolbox with ``bench``, a function whose module has *imports*. It has been called once if it takes nothing."""
    needed(imports)
    with tempfile.TemporaryDirectory() as folder, toolbox({**FLOOR, "HOME": folder}) as tools:
        Path(folder, "bench_module.py").write_text(f"{imports}\n\ndef work({arguments}):\n    {body}\n")
        add(tools, {"name": "bench", "fn": "bench_module:work", **fields}, folder)
        if not arguments:
            checked(tools.call("bench"), fresh=bool(fields.get("fresh")))
        yield tools


@contextmanager
def function(imports: str, **fields: object) -> Iterator[Callable[[], object]]:
    """A call of a function whose module has *imports*, once it has been called."""
    with functions(imports, **fields) as tools:
        yield lambda: checked(tools.call("bench"), fresh=bool(fields.get("fresh"))).value


def checked(outcome: Any, *, fresh: bool) -> Any:
    """*outcome*, if it was a success in the mode that is to be measured."""
    if not outcome.ok or outcome.mode != ("cold" if fresh else "warm"):
        raise RuntimeError(f"a function's call: {outcome.failure or f'{outcome.mode}, {outcome.mode_reason}'}")
    return outcome


def needed(imports: str) -> None:
    """Raises ``Unmeasured`` where the module that *imports* names is not installed here."""
    from importlib.util import find_spec

    module = imports.rpartition(" ")[2]
    if module and find_spec(module) is None:
        raise Unmeasured(f"{module} is not installed; `pip install -e '.[test]'` installs it")


class Worker:
    """A process that answers every line with the seconds that what it names took, by its own clock.

    What forks does so in a process of its own: the first Popen after a fork pays for the pages that fork protected.
    """

    def __init__(self, command: list[str], environment: Mapping[str, str] = FLOOR) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in ``__exit__``
        self._process = subprocess.Popen(
            command,
            env=dict(environment),
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()

    def __call__(self, word: str = "") -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{word}\n")
            self._process.stdin.flush()
            return float(self._process.stdout.readline())
        except (OSError, ValueError):
            self._errors.seek(0)
            last = self._errors.read().decode(errors="replace").strip().rpartition("\n")[2]
            raise RuntimeError(f"a helper process ended: {last}") from None


def python(source: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", source, *arguments]


def settle() -> None:
    """What the other way left to do behind its answer is not this way's."""
    time.sleep(0.005)


def pause() -> None:
    """Long enough for what is made ready after a call."""
    time.sleep(0.015)
