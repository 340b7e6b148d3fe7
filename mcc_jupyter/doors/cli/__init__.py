"""The door for a terminal: ``mcc-jupyter tools|report|call FILE …`` (SPEC 2.4, 7.12, 11, 14).

FILE is a tools file, a folder or glob of them, or a notebook: its declarations are read, its other code is not run.
``scan`` and ``clean``, which take any files and need no tools, stand in ``secrets``,
and ``check`` and ``launch`` in their own files.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import BinaryIO, Literal, NoReturn

from ... import __version__
from ...core.errors import ArgumentError, MccError, UnknownTool, near
from ...runtime.calls import Show, Showing
from ...runtime.guard import guarded
from ...runtime.parent import Parent
from ...runtime.toolbox import Toolbox
from . import check, launch, policy, secrets, streams

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit status: 0, an error's own, or 130 after an interrupt."""
    streams.make_usable()
    try:
        own, started = launch.split(sys.argv[1:] if arguments is None else arguments)
        options = _options(own)
        options.started = started
        return guarded(_run)(options)
    except MccError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever reads has seen enough; the interpreter must not complain when it flushes at exit.
        _let_go_of_stdout()
        return 0
    except OSError as error:  # one that is nobody else's: ``guarded`` tells them apart
        _let_go_of_stdout()
        print(f"mcc-jupyter: the output cannot be written: {error.strerror or error}", file=sys.stderr)
        return 1


def _let_go_of_stdout() -> None:
    """What is left in its buffer goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _options(own: Sequence[str]) -> argparse.Namespace:
    try:
        return _parser().parse_args(own)
    except SystemExit:
        sys.stdout.flush()  # what it printed is help
        raise


def _run(options: argparse.Namespace) -> int:
    try:
        os.getcwd()
    except FileNotFoundError:
        raise ArgumentError("the working directory no longer exists; change to another one") from None
    parent = Parent(os.environ)
    if "run" in options:
        status: int = options.run(parent(), options)
        sys.stdout.flush()
        return status
    toolbox = policy.toolbox_of(parent, options)
    try:
        status = options.command(toolbox, options)
        sys.stdout.flush()
        return status
    finally:
        toolbox.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mcc-jupyter", description="Tools that get exactly the environment they declare."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)

    tools = commands.add_parser("tools", help="list the tools of a file or notebook")
    tools.add_argument("file", metavar="FILE", help="a YAML file, folder, glob or .ipynb")
    tools.add_argument("--format", choices=("text", "json"), default="text")
    tools.set_defaults(command=_tools)

    report = commands.add_parser("report", help="show which variables tools get and why, by name")
    report.add_argument("file", metavar="FILE", help="a YAML file, folder, glob or .ipynb")
    report.add_argument("tool", metavar="TOOL", nargs="?", help="a name or key; without it, all of them")
    report.add_argument("--all", action="store_true", help="add the names that are withheld, and program paths")
    report.add_argument("--format", choices=("text", "json", "html"), default="text")
    report.set_defaults(command=_report)

    call = commands.add_parser(
        "call", help="call a tool", description="Arguments that follow TOOL are k=v, coerced by the parameter's type."
    )
    call.add_argument("file", metavar="FILE", help="a YAML file, folder, glob or .ipynb")
    call.add_argument("tool", metavar="TOOL", help="a name or key")
    call.add_argument("arguments", metavar="K=V", nargs="*", default=[], help="the tool's arguments")
    call.add_argument("--json", metavar="OBJECT", help="all arguments as one JSON object; - reads it from stdin")
    call.add_argument("--timeout", type=float, metavar="SECONDS", help="goes before the tool's own limit")
    call.add_argument("--spill", metavar="FILE", help="write all of its output, redacted, to this new file")
    call.set_defaults(command=_call)
    for command in (tools, report, call):
        policy.add_options(command)

    policy.add_commands(commands)
    secrets.add_commands(commands)
    check.add_commands(commands)
    launch.add_commands(commands)
    return parser


class _Parser(argparse.ArgumentParser):
    """A command's parser, which knows where the name of a tool is to be found."""

    def error(self, message: str) -> NoReturn:
        wanted = message.endswith(" required: TOOL")
        super().error(message + "; `mcc-jupyter tools FILE` lists them" * wanted)


def _load(toolbox: Toolbox, file: str, wanted: str | None = None) -> int:
    """Declares what *file* holds. Problems go to stderr; the others stand, and the status says that there were some.

    Where one tool is *wanted* and there, what is wrong with others is not told.
    """
    if policy.is_policy(toolbox, file):
        return 0
    added = toolbox.load_notebook(file) if file.endswith(".ipynb") else toolbox.load(file)
    sys.stderr.write(added.printed)
    if wanted is not None and _is_there(toolbox, wanted):
        return 0
    if not added.tools:
        added.raise_for_problems()
    for line in (*added.notices, *added.problems):
        print(line, file=sys.stderr)
    if wanted is not None:
        known = [name for tool in toolbox.registry for name in (tool.name, tool.key)]
        listed = ", ".join(dict.fromkeys(tool.name for tool in toolbox.registry)) or "none"
        raise UnknownTool(f"{file} declares no tool {wanted!r}{near(wanted, known)}; its tools: {listed}")
    return 2 if added.problems else 0


def _is_there(toolbox: Toolbox, name: str) -> bool:
    """Whether there is such a tool, or several. Raises ``ToolUnavailable`` for one that was not granted."""
    if any(name in (tool.name, tool.key) for tool in toolbox.registry):
        return True
    try:
        toolbox.registry.find(name)
    except UnknownTool:
        return False
    return True


def _tools(toolbox: Toolbox, options: argparse.Namespace) -> int:
    status = _load(toolbox, options.file)
    listing = toolbox.listing()
    print(json.dumps(listing.json(), indent=2) if options.format == "json" else listing.text())
    return status


def _report(toolbox: Toolbox, options: argparse.Namespace) -> int:
    status = _load(toolbox, options.file, options.tool)
    names = [options.tool] if options.tool else [tool.key for tool in toolbox.registry]
    reports = [toolbox.report(name, everything=options.all) for name in names]
    if options.format == "json":
        documents = [item.json() for item in reports]
        print(json.dumps(documents[0] if options.tool else documents, indent=2))
    else:
        print("\n\n".join(item.html() if options.format == "html" else item.text() for item in reports))
    return status


def _call(toolbox: Toolbox, options: argparse.Namespace) -> int:
    from ...core.cell import json_object, split_arguments

    _load(toolbox, options.file, options.tool)
    if options.json is not None:
        text = sys.stdin.read() if options.json == "-" else options.json
        arguments = json_object(text)
    else:
        arguments = split_arguments(options.arguments)
    outcome = toolbox.call(options.tool, arguments, timeout=options.timeout, show=_showing(), spill=options.spill)
    if outcome.ok and outcome.returned:
        streams.print_json(outcome.value)
    sys.stderr.write(outcome.traceback)
    for note in outcome.notes:
        print(f"note: {note}", file=sys.stderr)
    outcome.raise_for_failure()
    return 0


def _showing() -> Show:
    """A terminal gets the beginning and the end of much output; a file or another program gets all of it."""
    streams = {"stdout": sys.stdout, "stderr": sys.stderr}
    piped = {name: stream for name, stream in streams.items() if hasattr(stream, "buffer") and not stream.isatty()}
    return Showing(_show, whole={name: partial(_pass_on, stream.buffer) for name, stream in piped.items()})


def _pass_on(buffer: BinaryIO, data: bytes) -> None:
    buffer.write(data)
    buffer.flush()


def _show(stream: Literal["stdout", "stderr"], text: str) -> None:
    target = sys.stdout if stream == "stdout" else sys.stderr
    target.write(text)
    target.flush()
