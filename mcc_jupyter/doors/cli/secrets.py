"""``mcc-jupyter scan|clean FILE…``: secrets in notebooks and other texts, by name and place (SPEC 8.4).

One file that cannot be read stops no other. The status tells the worst: an error, then a secret that stands.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ...core.errors import MccError
from ...core.scan import Finding, Scanner
from ...runtime.scanned import clean_file, scan_file, scanner

FOUND = 1
"""The exit status for a secret that stands in a file."""


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    scan = commands.add_parser(
        "scan",
        help="find secrets in notebooks and text files",
        description="Tells where files hold a secret, by name. Keys of well-known formats are always looked for.",
    )
    scan.set_defaults(run=_scan)
    clean = commands.add_parser(
        "clean",
        help="redact secrets in the outputs of notebooks, and in text files",
        description="Redacts the outputs of notebooks, and the whole of other files. What stands in a source is told.",
    )
    clean.set_defaults(run=_clean)
    for parser in (scan, clean):
        parser.add_argument("files", metavar="FILE", nargs="+", help="an .ipynb file, or any text")
        parser.add_argument(
            "--env-file", metavar="F", action="append", default=[], help="look for the values in it; may be repeated"
        )
        parser.add_argument("--parent", action="store_true", help="look for the values of this command's environment")
        parser.add_argument(
            "--ignore", metavar="GLOB", action="append", default=[], help="a name or a format that is not told"
        )
        parser.add_argument("--format", choices=("text", "json"), default="text")
        parser.add_argument("--json", action="store_const", const="json", dest="format", help="--format json")


def _scan(parent: Mapping[str, str], options: argparse.Namespace) -> int:
    return _each(parent, options, scan_file)


def _clean(parent: Mapping[str, str], options: argparse.Namespace) -> int:
    def clean(path: str, known: Scanner) -> list[Finding]:
        cleaned = clean_file(path, known, env_files=options.env_file)
        return [*cleaned.redacted, *cleaned.standing]

    return _each(parent, options, clean)


def _each(parent: Mapping[str, str], options: argparse.Namespace, look: Callable[[str, Scanner], list[Finding]]) -> int:
    known, notes = scanner(options.env_file, parent, of_parent=options.parent, ignored=options.ignore)
    only = "looks for keys of well-known formats only; --env-file and --parent name values to look for"
    for note in (*notes, *([] if options.env_file or options.parent else [only])):
        print(f"note: {note}", file=sys.stderr)
    status = 0
    documents = []
    for path in options.files:
        try:
            findings = look(path, known)
        except MccError as error:
            print(error, file=sys.stderr)
            status = max(status, error.exit_status)
            continue
        if any(not finding.redacted for finding in findings):
            status = max(status, FOUND)
        documents += [{"file": path, **finding.json()} for finding in findings]
        if options.format == "text":
            shown = path.encode(errors="backslashreplace").decode()  # a name may hold bytes that are no text
            for finding in findings:
                print(f"{shown}: {finding}")
    if options.format == "json":
        print(json.dumps(documents, indent=2))
    return status
