"""The examples of a Markdown document → what they print, as in a notebook.

A comment above a fence says what the block is; a fence without one is only checked for its syntax.

    <!-- example: parent -->        NAME=value lines: variables of the kernel, from the start
    <!-- example: file NAME -->     a file in the folder the examples run in
    <!-- example: cell -->          a notebook cell; all cells of a document run in order, in one shell
    <!-- example: error NAME -->    a cell that ends in the error NAME
    <!-- example: shell -->         a command in a terminal, which succeeds
    <!-- example: output -->        what the block before printed; … stands for anything

``python -m tests.docs_examples README.md …`` runs them and writes the outputs anew.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")])

_FENCE = re.compile(
    r"(?:^<!-- example: (?P<kind>\w+)(?: (?P<name>\S+))? -->\n)?^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """One fence. ``kind`` is empty where no comment stands above it; ``start`` and ``end`` are the body's place in the text."""

    kind: str
    name: str
    language: str
    body: str
    line: int
    start: int
    end: int


def blocks(text: str) -> list[Block]:
    return [
        Block(
            kind=match["kind"] or "",
            name=match["name"] or "",
            language=match["language"],
            body=match["body"],
            line=text.count("\n", 0, match.start("body")) + 1,
            start=match.start("body"),
            end=match.end("body"),
        )
        for match in _FENCE.finditer(text)
    ]


def matches(expected: str, printed: str) -> bool:
    """Whether *printed* is *expected*; line ends apart, and with … for anything."""
    pattern, text = ("\n".join(line.rstrip() for line in side.strip("\n").splitlines()) for side in (expected, printed))
    return re.fullmatch(re.escape(pattern).replace("…", ".*?"), text, re.DOTALL) is not None


_DRIVER = r"""
import contextlib, io, json, re, subprocess, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
steps = json.load(sys.stdin)
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("colors", "nocolor")
shell.kernel = None  # so that a report says what it says in a notebook
answers = []
for kind, name, body in steps:
    printed, error = io.StringIO(), ""
    if kind == "file":
        Path(name).write_text(body, encoding="utf-8")
    elif kind == "shell":
        done = subprocess.run(["sh", "-c", body], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        printed.write(done.stdout)
        error = f"exit status {done.returncode}" if done.returncode else ""
    else:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            result = shell.run_cell(body, store_history=True)
        failure = result.error_before_exec or result.error_in_exec
        error = type(failure).__name__ if failure is not None else ""
    answers.append([re.sub(r"^Out\[\d+\]: ?\n?", "", printed.getvalue(), flags=re.M), error])
print("\n" + json.dumps(answers))
"""


def run(examples: list[Block]) -> list[tuple[Block, str, str]]:
    """Each block that does something, with what it printed and the error (a class name) it ended in, or nothing."""
    steps = [block for block in examples if block.kind in ("file", "cell", "error", "shell")]
    if not steps:
        return []
    with tempfile.TemporaryDirectory() as folder:
        environment = {"PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8"}
        environment |= {"IPYTHONDIR": f"{folder}/.ipython", "PYTHONDONTWRITEBYTECODE": "1"}
        for block in examples:
            if block.kind == "parent":
                environment |= dict(line.split("=", 1) for line in block.body.splitlines() if line)
        answer = subprocess.run(
            [sys.executable, "-c", _DRIVER, str(REPOSITORY)],
            input=json.dumps([(block.kind, block.name, block.body) for block in steps]),
            capture_output=True, text=True, env=environment, cwd=folder,
        )  # fmt: skip
    if answer.returncode:
        raise RuntimeError(f"the examples could not be run:\n{answer.stdout}\n{answer.stderr}")
    printed = json.loads(answer.stdout.splitlines()[-1])
    return [(block, text, error) for block, (text, error) in zip(steps, printed, strict=True)]


def outputs(examples: list[Block]) -> dict[Block, Block]:
    """The block that does something → the output block that follows it."""
    found: dict[Block, Block] = {}
    last: Block | None = None
    for block in examples:
        if block.kind == "output" and last is not None:
            found[last] = block
        elif block.kind:
            last = block
    return found


def update(path: Path) -> None:
    """Write the outputs of a document anew, but for those that still match."""
    text = path.read_text(encoding="utf-8")
    examples = blocks(text)
    expected = outputs(examples)
    for block, printed, _ in reversed(run(examples)):
        output = expected.get(block)
        if output is not None and not matches(output.body, printed):
            text = text[: output.start] + printed.strip("\n") + "\n" + text[output.end :]
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        update(Path(argument))
