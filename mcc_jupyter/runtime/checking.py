"""Notebooks and files → what their tools may get, and the lock file it is compared with (SPEC 9.8).

1. Files are read and nothing in them runs: no cell, no import, no template, and no parent is asked for a variable.
2. Whatever cannot be read is a problem with its place. Of two declarations of one name the lock holds both.
3. A path is told relative to the lock's folder, so that a lock is the same on every machine.
"""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..core.access import Access, Everything, access, made, printable
from ..core.access_policy import policy_access
from ..core.clients import free_texts
from ..core.declare import Declared, Place, declare
from ..core.errors import DeclarationError, Problem
from ..core.lock import Change, Lock, compare, conflict, lock_of, named, text_of
from ..core.references import mentioned
from ..core.static import Declaration, Reader
from ..core.tool import DEFAULT_FLOOR, Function, Origin, Source, Tool
from . import policy_files
from .catalog import ToolFile, notebook_file, text_file, tool_files
from .scanned import is_notebook, write_file

LOCK_NAME = "mcc.lock"

LARGEST_NOTEBOOK = 256 * 1024 * 1024
LARGEST_FILE = 4 * 1024 * 1024
"""Bytes of a notebook, and of any other file, that are read."""

LOADED = "%mcc_load"
"""Under this name, which no tool can have, a file's entry tells the files it loads and runs."""

_SH = "%%mcc_sh"
_NUMBER = "1"
_PARENTS: tuple[Mapping[str, str], ...] = ({}, Everything(_NUMBER))
"""A limit that refers to a variable must be a number to be read: what is wrong for both of them is wrong."""
_CODE = (".py", ".ipy")
NOTEBOOK, CODE, TOOLS, POLICY = "notebook", "code", "tools", "policy"
_POLICY_NAME = "mcc.toml"
_LEFT_OUT = frozenset({"node_modules", "site-packages", "__pycache__"})


@dataclass(slots=True)
class Read:
    """What was found: the lock of the files read, and what there is to say. ``warnings`` and ``notes`` fail nothing."""

    lock: dict[str, dict[str, Access]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)
    """Files of which not all could be read: what they seem to have lost may only be out of sight."""
    covered: set[str] = field(default_factory=set)
    """The files that were read and the folders that were asked for, as the lock names them: what they lost is gone."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The files beside their lock."""

    read: Read
    changes: list[Change]
    lock: dict[str, dict[str, Access]]
    """What the lock is after an update."""


def read_lock(path: str) -> Lock | None:
    """The lock file, None where there is none yet. Raises ``DeclarationError``."""
    import tomllib

    if not os.path.lexists(path):
        return None
    text = _text(path, path)
    at = conflict(text)
    if at is not None:
        message = f"holds a merge conflict (line {at}); resolve it, or delete the file and write it with --update"
        raise DeclarationError(Problem(path, message))
    try:
        return lock_of(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError):
        message = "is no TOML; restore it, or delete it and write it with --update"
        raise DeclarationError(Problem(path, message)) from None
    except DeclarationError as error:
        raise DeclarationError(*(problem.under(path) for problem in error.problems)) from None


def write_lock(path: str, lock: Lock) -> None:
    """In one step; raises ``ArgumentError``."""
    write_file(path, text_of(lock))


def check(
    paths: Sequence[str],
    lock: Lock | None,
    *,
    folder: str,
    home: str | None = None,
    further: Mapping[str, Mapping[str, Tool]] | None = None,
) -> Checked:
    """Reads *paths*, or without any the notebooks under *folder* and what *lock* lists, and compares with *lock*.

    *folder* is the lock's. *further* are tools that come from elsewhere, such as a policy file, by file and key.
    """
    known = {} if lock is None else lock
    read = read_files(paths, folder=folder, home=home, listed=() if paths else known, further=further)
    kept = {file: dict(tools) for file, tools in known.items() if not _covers(read, file)}
    now = {**kept, **read.lock}
    changes = [change for change in compare(known, now) if change.wider or change.file not in read.failed]
    return Checked(read, changes, now)


def _covers(read: Read, file: str) -> bool:
    folders = file.split("/")
    return not read.covered.isdisjoint({".", *("/".join(folders[:end]) for end in range(1, len(folders) + 1))})


def read_files(
    paths: Sequence[str],
    *,
    folder: str,
    home: str | None,
    listed: Iterable[str] = (),
    further: Mapping[str, Mapping[str, Tool]] | None = None,
) -> Read:
    """What *paths* declare, and what the notebooks among them load and run. *listed* are a lock's files, if there."""
    reading = _Reading(os.path.abspath(folder), home)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a compiler thinks of a notebook's code is not the question
        for path in paths or [folder]:
            reading.given(path)
        for file in listed:
            reading.listed(file)
        for file, tools in (further or {}).items():
            reading.tools(file, tools)
    return reading.result()


class _Reading:
    def __init__(self, folder: str, home: str | None) -> None:
        self.folder = folder
        self.home = home
        self.read = Read()
        self.seen: set[tuple[str, str]] = set()
        self.warned: dict[str, None] = {}

    def result(self) -> Read:
        self.read.lock = {file: tools for file, tools in sorted(self.read.lock.items()) if tools}
        self.read.warnings = list(self.warned)
        return self.read

    # ---- which files

    def given(self, path: str) -> None:
        absolute = os.path.abspath(path)
        name = self._name(absolute)
        if name.startswith("../") or name == "..":
            self._wrong(path, f"is outside the folder of the lock; put {LOCK_NAME} above it")
            return
        self.read.covered.add(name)
        for found in _walk(absolute, self.read.problems) if os.path.isdir(absolute) else [absolute]:
            self.file(found, self._name(found))

    def listed(self, file: str) -> None:
        """A file of the lock: one that is gone takes its tools along."""
        path = os.path.join(self.folder, _home(file, self.home))
        if os.path.lexists(path):
            self.file(os.path.abspath(path), file)
        else:
            self.read.covered.add(file)

    def _name(self, absolute: str) -> str:
        return printable(os.path.relpath(absolute, self.folder).replace(os.sep, "/"))

    def _wrong(self, place: str, message: str) -> None:
        self.read.problems.append(Problem(printable(place), message))

    # ---- one file

    def file(self, path: str, name: str, kind: str = "") -> None:
        """*kind*: as what a notebook uses the file; else its name tells."""
        kind = kind or (NOTEBOOK if is_notebook(path) else CODE if path.endswith(_CODE) else TOOLS)
        kind = POLICY if kind == TOOLS and path.endswith(".toml") else kind
        if (path, kind) in self.seen:
            return
        self.seen.add((path, kind))
        self.read.covered.add(name)
        reader = Reader()
        before = len(self.read.problems)
        try:
            if kind == NOTEBOOK:
                _regular(path, name, LARGEST_NOTEBOOK)
                reader.notebook(notebook_file(path, name))
            elif kind == POLICY:
                self._policy(path, name)
            elif kind == CODE:
                reader.module(_text(name, path))
            else:
                _regular(path, name, LARGEST_FILE)
                reader.found.append(Declaration("", "", document=ToolFile(name, path).document()))
        except DeclarationError as error:
            reader.found.clear()
            self.read.problems += error.problems
        self.read.problems += [problem.under(name) for problem in reader.problems]
        self.read.notes += [_excused(problem.under(name)) for problem in reader.excused]
        self.read.notes += [f"{name}: {note}" for note in reader.notes]
        places: dict[str, str] = {}
        for item in reader.found:
            if not item.paths:
                self._declare(item, name, places, item.where in reader.expected)
        loads = [pair for item in reader.found if item.paths for pair in self._loads(item, path, name)]
        if len(self.read.problems) > before:
            self.read.failed.add(name)
        for absolute, known, kind in loads:
            self.file(absolute, known, kind)

    def _policy(self, path: str, name: str) -> None:
        """A policy file: no plugin is asked what its type runs, because that would run it."""
        found = [policy_files.load(path, parent, Origin("policy", name), lambda _: {}) for parent in _PARENTS]
        loaded = next((one for one in found if one.authority is not None), found[0])
        if loaded.authority is None:
            raise DeclarationError(*loaded.problems)
        self.read.notes += [f"{name}: {note}" for note in loaded.authority.notes]
        for shown, access_ in policy_access(loaded.authority).items():
            self._add(name, printable(shown), access_)
        for shown, item in loaded.authority.tools.items():
            self._warn(name, printable(shown), item.tool)

    def _loads(self, item: Declaration, path: str, name: str) -> Iterator[tuple[str, str, str]]:
        """The files that a declaration loads or runs: where each is, what the lock calls it, and as what it is used."""
        place = f"{name}: {item.where}"
        for written in item.paths:
            folder = os.path.dirname(path)
            try:
                if item.runs:
                    files = [_run_file(written, os.path.join(folder, _home(written, self.home)))]
                else:
                    files = tool_files(written, folder=folder, home=self.home)
            except DeclarationError as error:
                self.read.problems += [problem.under(place) for problem in error.problems]
                continue
            for file in files:
                # A place that its author wrote in full is the author's word; any other is told from the lock's folder.
                absolute = os.path.normpath(file.path)
                own = file.written.startswith(("/", "~")) and os.path.relpath(absolute, self.folder).startswith("..")
                known = printable(file.written) if own else self._name(absolute)
                self._add(name, LOADED, made({"loads": [known]}))
                if os.path.lexists(absolute):
                    runs = NOTEBOOK if is_notebook(absolute) else CODE
                    yield absolute, known, runs if item.runs else TOOLS
                else:
                    self._wrong(place, f"{file.written}: file not found")

    def _declare(self, item: Declaration, name: str, places: dict[str, str], expected: bool) -> None:
        declared = _declared(item.document, name)
        problems = [problem.under(f"{name}: {item.where}" if item.where else name) for problem in declared.problems]
        if expected and not any(mentioned(item.document)):  # else a parent that has the names might make it right
            self.read.notes += map(_excused, problems)
        else:
            self.read.problems += problems
        tools = {tool.key: tool for tool in declared.tools}
        if item.function:
            tools = {key: replace(tool, body=_source_of(tool)) for key, tool in tools.items()}
        for shown, tool in named(tools).items():
            verbatim = item.label == _SH
            shown = _SH if verbatim else shown
            if shown in places and not verbatim:
                twice = f"is declared in {places[shown]} and in {item.where}; the lock holds what either gets"
                self.read.notes.append(f"{name}: {shown} {twice}")
            places[shown] = item.where or name
            self._add(name, shown, access(tool, verbatim=verbatim))
            self._warn(name, shown, tool)

    def tools(self, file: str, tools: Mapping[str, Tool]) -> None:
        """Tools that were read elsewhere."""
        self.read.covered.add(file)
        for shown, tool in named(tools).items():
            self._add(file, shown, access(tool))
            self._warn(file, shown, tool)

    def _warn(self, file: str, shown: str, tool: Tool) -> None:
        for param, program in free_texts(tool):
            told = f'{file}: tool {shown}: parameter "{param}" is free text handed to {program}'
            self.warned[told] = None

    def _add(self, file: str, shown: str, found: Access) -> None:
        tools = self.read.lock.setdefault(file, {})
        tools[shown] = tools[shown] | found if shown in tools else found


def _excused(problem: Problem) -> str:
    return f"{problem}; the cell is expected to fail and declares nothing"


def _source_of(tool: Tool) -> Function:
    return Function(tool.name, Source("", "", tool.name))


def _declared(document: object, name: str) -> Declared:
    """The tools of *document*, whatever the parent has."""
    place = Place({}, DEFAULT_FLOOR, "/", "/", Origin("file", name))
    declared = declare(document, place)
    if not declared.problems:
        return declared
    # A limit that refers to a variable must be a number to be read. What is wrong for both parents is wrong.
    other = declare(document, replace(place, parent=Everything(_NUMBER)))
    known = {tool.key for tool in declared.tools}
    wrong = {_tool_at(problem) for problem in other.problems}
    both = [problem for problem in declared.problems if problem in other.problems]
    told = {_tool_at(problem) for problem in both}
    for_one = (problem for problem in declared.problems if _tool_at(problem) in wrong - told)
    return Declared((*declared.tools, *(tool for tool in other.tools if tool.key not in known)), (*both, *for_one))


def _tool_at(problem: Problem) -> str:
    """Which tool of the document a problem is about."""
    return problem.path.partition("]")[0] if problem.path.startswith("tools[") else ""


def _run_file(written: str, path: str) -> ToolFile:
    """``%run`` takes a file by any name, and adds ``.py`` where there is none."""
    end = "" if os.path.isfile(path) or path.endswith((*_CODE, ".ipynb")) else ".py"
    return ToolFile(written + end, path + end)


def _home(written: str, home: str | None) -> str:
    return home + written[1:] if home is not None and written.startswith("~/") else written


def _walk(folder: str, problems: list[Problem]) -> Iterator[str]:
    """The notebooks and policy files under *folder*, and the Python files that name this package; links to folders are
    not followed."""

    def failed(error: OSError) -> None:
        problems.append(Problem(printable(str(error.filename)), "the folder cannot be read"))

    for root, folders, files in os.walk(folder, onerror=failed):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in _LEFT_OUT
            and not os.path.exists(os.path.join(root, name, "pyvenv.cfg"))
        )
        for name in sorted(files):
            path = os.path.join(root, name)
            is_ours = is_notebook(name) or name == _POLICY_NAME or (name.endswith(_CODE) and _names_us(path))
            if is_ours and not name.startswith("."):
                yield path


def _names_us(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode) and b"mcc_" in _content(path)
    except OSError:
        return True  # it is told when it is read


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(LARGEST_FILE)


def _text(written: str, path: str) -> str:
    _regular(path, written, LARGEST_FILE)
    return text_file(written, path)


def _regular(path: str, written: str, largest: int) -> None:
    """Raises ``DeclarationError`` for a pipe, which would be waited for, and for what is too large to be read."""
    try:
        found = os.stat(path)
    except OSError:
        return  # told, with the reason, when it is read
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise DeclarationError(Problem(written, "is no regular file and is not read"))
    if found.st_size > largest:
        raise DeclarationError(Problem(written, f"is larger than {largest // (1024 * 1024)} MiB and is not read"))
