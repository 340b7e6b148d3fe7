"""The one way through: add, report, call (SPEC 2–7). Every door is this and its host's manners.

1. ``call`` = find → resolve → available? → bind → plan → launch → outcome. Nothing else starts a tool.
2. A report and a call use the same resolution; neither is kept for the other.
3. The toolbox holds tools, the session and the launcher; it reads the parent only through the callable it was given.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..core import command, context, policy
from ..core.declare import Place, declare
from ..core.errors import ArgumentError, DeclarationError, Problem
from ..core.listing import Listing
from ..core.outcome import Outcome
from ..core.reading import positive
from ..core.redact import Redactor
from ..core.report import MATRIX_TOOLS, Matrix, Report, matrix, report
from ..core.schema import bind
from ..core.standing import Standing
from ..core.tool import DEFAULT_FLOOR, Function, Origin, Shell, Source, Tool
from . import calls
from .answers import Added
from .cache import OutcomeCache
from .catalog import EnvFiles
from .checks import check_arguments, check_items, check_map, check_name, check_path, check_spill
from .hints import program_paths
from .identity import Identity, acting, local_user
from .introspect import RUN_FN, introspect, read_signatures
from .known_secrets import KnownSecrets
from .launcher import Launcher, Stop
from .listings import tools_listing
from .loading import NO_FOLDER, load_files, load_notebook
from .mapping import mapped
from .probing import Probe, probe
from .registry import Registry
from .resolved import Resolved
from .session import SessionStore
from .sizes import environment_room
from .spill import Spill
from .told import Told
from .ungoverned import Ungoverned
from .warm import Functions
from .workers import Workers

if TYPE_CHECKING:
    from .governed import Governed

_REMEMBERED = 64
"""Tools whose last resolution is kept, to be used again while nothing it was made of has changed."""


class Toolbox:
    """The tools of one kernel or process. Safe to use from several threads.

    *parent* gives the current snapshot of the environment; *place* names it in reports ("this kernel"). *floor* are the
    deployment's floor names. *identity* is who calls, by default the local OS user. *governed*: a policy file's say.
    """

    def __init__(
        self,
        parent: Callable[[], Mapping[str, str]],
        *,
        place: str = "this process",
        floor: tuple[str, ...] = DEFAULT_FLOOR,
        identity: Identity | None = None,
        launcher: Launcher | None = None,
        interpreter: str = sys.executable,
        governed: Governed | None = None,
    ) -> None:
        self.parent = parent
        self.place = place
        self.governed = governed or Ungoverned()
        self.floor = self.governed.floor or floor
        self.identity = identity or Identity(local_user())
        self._secrets = KnownSecrets(parent)
        self.session = SessionStore(self._identity, self._secrets.found_in)
        self.registry = Registry()
        self._interpreter = interpreter
        self._launcher = launcher
        self._files, self._cache = EnvFiles(), OutcomeCache()
        self._lock = threading.Lock()
        self._workers = Workers()
        self._kept: Functions | None = None
        self._last: dict[str, Resolved] = {}
        if governed is not None:
            self.registry.govern(governed)
        self.governed.bind(lambda tool: self._resolve(tool, pipes=False).resolution, self._retire)

    # ---- declaring

    def add(self, document: object, origin: Origin, *, folder: str | None = None) -> Added:
        """Declares the tools of *document* (SPEC 2). Nothing raises: ``problems`` holds all that is wrong."""
        declared = self.declare(document, origin, folder=folder)
        return self.add_tools(declared.tools, origin, declared.problems)

    def declare(self, document: object, origin: Origin, *, folder: str | None = None) -> Added:
        """Reads *document* against the parent as it is now, and takes nothing in."""
        parent = self.parent()
        home = parent.get("HOME") if "HOME" in self.floor else None
        try:
            base = folder or os.getcwd()
        except FileNotFoundError:
            return Added(problems=(NO_FOLDER,))
        declared = declare(document, Place(parent, self.floor, base, home, origin, self.governed.cap()))
        return Added(tools=declared.tools, problems=declared.problems)

    def add_tools(
        self, tools: Iterable[Tool], origin: Origin, problems: Sequence[Problem] = (), *, partial: bool = False
    ) -> Added:
        """Takes declared tools in: reads the signatures of functions, then replaces what they replace (SPEC 2.5).

        *partial*: these are not all tools of their cell, so none goes for not being among them.
        """
        ready, failed, printed = self._introspected([self._resolve(tool, pipes=False) for tool in tools])
        problems = [*problems, *failed]
        complete = not problems and not partial
        notices, clashes = self.registry.put([item.tool for item in ready], origin, complete=complete)
        problems += clashes
        known = {id(tool) for tool in self.registry}
        added = [item for item in ready if id(item.tool) in known]
        if problems:
            declared = {tool.key for tool in self.registry if tool.origin.kind != "policy"}
            kept = sorted({problem.path for problem in problems} & declared)
            notices += [f"{key}: its earlier declaration stays" for key in kept]
        reports = tuple(self._report(item) for item in added)
        return Added(tuple(item.tool for item in added), reports, tuple(notices), tuple(problems), printed)

    def load(self, *paths: str, folder: str | None = None) -> Added:
        """Declares the tools of files, folders and globs (SPEC 2.4); one bad file stops no other."""
        for path in paths:
            check_path(path)
        return load_files(self, paths, folder=folder)

    def load_notebook(self, path: str) -> Added:
        """Declares what a notebook declares, without running its other code; paths are relative to its folder."""
        return load_notebook(self, path)

    def add_function(
        self, source: Source, fields: Mapping[str, object], origin: Origin, *, folder: str | None = None
    ) -> Added:
        """Declares a function whose source stands alone; *fields* are those of a tool in YAML (SPEC 2.3)."""
        document = {"name": source.function, **fields, "fn": f"notebook:{source.function}"}
        declared = self.declare(document, origin, folder=folder)
        tools = [replace(tool, body=Function(source.function, source)) for tool in declared.tools]
        # Other functions of the same cell come by their own decorators, so none goes for not being among these.
        return self.add_tools(tools, origin, declared.problems, partial=True)

    # ---- seeing

    def report(self, name: str, *, everything: bool = False) -> Report:
        """The report of one tool; *everything* adds withheld parent names and program paths (SPEC 11.1, 7.13)."""
        return self._report(self._ready(name, pipes=False), everything=everything)

    def matrix(self) -> Matrix:
        """All tools × names."""
        tools = list(self.registry)
        reports = [self._report(self._resolve(tool, pipes=False)) for tool in tools[:MATRIX_TOOLS]]
        return matrix(reports, more=max(0, len(tools) - MATRIX_TOOLS), footer=self._footer())

    def entries(self, told: Told) -> tuple[bytes, ...]:
        """Every tool as a manifest has it, as far as can be seen without reading a pipe; *told* keeps them.

        For whom a tool is, whoever reads the manifest has to ask its groups: here none is kept from anybody.
        """
        footer, store = self._footer() if len(self.registry) else (), self.session.snapshot()
        state = lambda tool: (*self._files.read(tool.env_files, pipes=False), self.governed.terms(tool))  # noqa: E731
        read = lambda tool: self._report(self._resolve(tool, pipes=False, for_all=True))  # noqa: E731
        return told.entries(self.registry, self.parent(), store, footer, state, read)

    def available(self, name: str) -> Tool:
        """The tool as the next call would use it; raises ``UnknownTool``, ``ToolUnavailable``, ``DeclarationError``."""
        return self._available(name, pipes=False).tool

    def is_available(self, tool: Tool) -> bool:
        """Whether a call of *tool* could start now, as far as can be seen without reading a pipe."""
        return self._resolve(tool, pipes=False).resolution.available

    def listing(self, tools: Iterable[Tool] | None = None) -> Listing:
        """The declared tools as a table: name (the key where two share a name), kind, availability, description."""
        known = list(self.registry)
        return tools_listing(known if tools is None else tools, known, self.is_available)

    def standing(self) -> Standing:
        """What the policy file lets this workspace do, by name (SPEC 9)."""
        return self.governed.standing(self._footer())

    def probe(self, name: str) -> Probe:
        """Starts a child with exactly the tool's environment and reads the names it received (SPEC 11.3)."""
        resolved = self._available(name, pipes=False)
        return probe(resolved, self.launcher, interpreter=self._interpreter, room=environment_room())

    # ---- calling

    def once(
        self,
        document: Mapping[str, object],
        origin: Origin,
        *,
        timeout: float | None = None,
        show: calls.Show | None = None,
    ) -> Outcome:
        """Declares one tool, calls it without arguments, and keeps nothing (SPEC 2.10). Raises ``DeclarationError``.

        Its command is run as it is written: naming a variable in it grants nothing, only the options of the magic do.
        """
        tool = self.declare(document, origin).raise_for_problems().tools[0]
        if isinstance(tool.body, Shell):
            tool = replace(tool, body=Shell(tool.body.written, tool.body.written))
        resolved = self._resolve(tool).checked()
        outcome = self._call(resolved, {}, timeout=timeout, show=show)
        return replace(outcome, notes=(*resolved.resolution.notes, *outcome.notes))

    def call(
        self,
        name: str,
        arguments: Mapping[str, object] | None = None,
        *,
        timeout: float | None = None,
        show: calls.Show | None = None,
        stop: Stop | None = None,
        spill: str | None = None,
    ) -> Outcome:
        """Calls a tool and returns its outcome, also when the tool failed (SPEC 7.12).

        *timeout* in seconds goes before ``limits.timeout``. *show* gets output while the tool runs. *stop* lets another
        thread end the call. *spill* is a new file for all of the output (SPEC 7.6). Raises ``UnknownTool``,
        ``ToolUnavailable``, ``ArgumentError``; ``KeyboardInterrupt`` once nothing of the tool is left.
        """
        resolved = self._available(name)
        given = {} if arguments is None else arguments
        return self._call(resolved, given, timeout=timeout, show=show, stop=stop, spill=spill)

    async def acall(
        self,
        name: str,
        arguments: Mapping[str, object] | None = None,
        *,
        timeout: float | None = None,
        show: calls.Show | None = None,
        spill: str | None = None,
    ) -> Outcome:
        """``call`` for ``await``; cancelling ends the tool before the cancellation goes on."""
        return await self._workers.wait_for(
            lambda stop: self.call(name, arguments, timeout=timeout, show=show, stop=stop, spill=spill)
        )

    def map(
        self,
        name: str,
        arguments: Iterable[Mapping[str, object]],
        *,
        workers: int | None = None,
        timeout: float | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> list[Outcome]:
        """Calls a tool once for each item, *workers* at a time (default: twice the cores); outcomes in order.

        All arguments are checked before the first call starts. An interrupt stops every running call, starts no
        other and returns what is done; a second one kills. *progress* is called with the number of calls that have
        ended.
        """
        items = check_map(arguments, workers)
        tool = self._available(name, pipes=False).tool
        check_items(tool, items)

        def call(at: int, stop: Stop) -> Outcome:
            return self._call(self._available(name), items[at], timeout=timeout, stop=stop)

        return mapped(tool.name, call, len(items), workers=workers, progress=progress)

    @property
    def launcher(self) -> Launcher:
        """Started at the first call, with the floor as its whole environment (SPEC 7.1)."""
        with self._lock:
            if self._launcher is None:
                parent = self.parent()
                floor = {name: parent[name] for name in self.floor if name in parent}
                self._launcher = Launcher(floor, python=self._interpreter)
            return self._launcher

    def _functions(self) -> Functions | None:
        """The functions that are kept imported (SPEC 7.3); None for a launcher of another kind."""
        launcher = self.launcher
        with self._lock:
            if self._kept is None and isinstance(launcher, Launcher):
                self._kept = Functions(launcher)
            return self._kept

    def _retire(self) -> None:
        """What was taken away, no waiting process keeps: those that have no call end, the others after theirs."""
        self._last.clear()
        with self._lock:
            kept = self._kept
        if kept is not None:
            kept.retire()

    def close(self) -> None:
        """Ends every running call and the launcher."""
        with self._lock:
            launcher, kept, self._launcher, self._kept = self._launcher, self._kept, None, None
        if kept is not None:
            kept.close()
        if launcher is not None:
            launcher.close()
        self._workers.close()

    # ---- the parts of the straight line

    def _ready(self, name: str, *, pipes: bool = True) -> Resolved:
        """The tool, resolved once, with its signature read: a function that could not be imported is tried again."""
        resolved = self._resolve(self.registry.find(check_name(name)), pipes=pipes)
        ready, problems, _ = self._introspected([resolved])
        if problems:
            raise DeclarationError(*problems)
        if ready[0].tool is not resolved.tool:
            self.registry.replace(ready[0].tool)
        return ready[0]

    def _introspected(self, tools: list[Resolved]) -> tuple[list[Resolved], list[Problem], str]:
        return read_signatures(
            tools,
            lambda pairs: introspect(
                pairs,
                context=context.build("fn", self.session.snapshot()),
                launcher=self.launcher,
                interpreter=self._interpreter,
                room=environment_room(),
                functions=self._functions(),
            ),
        )

    def _resolve(self, tool: Tool, *, pipes: bool = True, for_all: bool = False) -> Resolved:
        terms = self.governed.terms(tool)
        parent = self.parent() if terms.parent is None else terms.parent
        store, groups = self.session.snapshot(), None if for_all else acting(self.identity).caller
        files = self._files.read(tool.env_files, pipes=pipes)
        last = self._last.get(tool.key)
        if last is not None and last.holds(tool, parent, store, files, groups, terms):
            return last
        built = context.build(tool.kind, store)
        resolution = policy.resolve(
            tool,
            parent=parent,
            floor=self.floor,
            files=files,
            context=built,
            groups=groups,
            cap=terms.cap,
            refusal=terms.refusal,
            kernel=self.place != "this process",
        )
        self._secrets.learn(command.secrets(tool, resolution))  # before a call: the session takes none of them either
        if len(self._last) >= _REMEMBERED:
            self._last.clear()
        resolved = self._last[tool.key] = Resolved(tool, resolution, built, store, parent, files, groups, terms)
        return resolved

    def _available(self, name: str, *, pipes: bool = True) -> Resolved:
        return self._ready(name, pipes=pipes).checked()

    def _call(
        self,
        resolved: Resolved,
        arguments: Mapping[str, object],
        *,
        timeout: float | None = None,
        show: calls.Show | None = None,
        stop: Stop | None = None,
        spill: str | None = None,
    ) -> Outcome:
        tool = resolved.tool
        check_arguments(tool.name, arguments)
        bound = bind(tool.params, arguments, tool=tool.name)
        if timeout is not None and not positive(timeout):
            raise ArgumentError(f"Tool {tool.name!r}: timeout must be a number of seconds above 0")
        plan = command.plan(
            tool,
            bound,
            resolved.resolution,
            prepared=resolved.prepared(environment_room()),
            store=resolved.store,
            runner=RUN_FN,
            interpreter=self._interpreter,
            timeout=timeout,
        )
        self._secrets.learn(plan.secrets)
        key = None
        if tool.cache_ttl is not None and spill is None:  # what is kept has no file
            key = self._cache.key(tool, bound, resolved.store, resolved.resolution)
            known = self._cache.get(key)
            if known is not None:
                return replace(known, mode="cached", seconds=0.0)
        redactor = Redactor(plan.secrets)
        call = calls.Call(
            tool,
            bound,
            plan,
            resolved.resolution,
            resolved.parent,
            redactor,
            notes=lambda: (*plan.notes, *resolved.notes(redactor.skipped)),
            report=lambda: self._report(resolved),
            timeout=timeout,
            cap=resolved.terms.cap,
        )
        path = None if spill is None else check_spill(tool.name, spill, resolved.parent.get("HOME"))
        with nullcontext() if path is None else Spill(tool.name, path) as files:
            outcome = calls.run(
                call if files is None else replace(call, spill=files),
                launcher=self.launcher,
                session=self.session,
                show=show,
                stop=stop,
                functions=self._functions(),
            )
        if key is not None and tool.cache_ttl is not None and outcome.ok:
            self._cache.put(key, outcome, tool, tool.cache_ttl)
        return outcome

    def _report(self, resolved: Resolved, *, everything: bool = False) -> Report:
        extra: dict[str, Any] = {}
        if everything:
            extra["withheld"] = policy.withheld(resolved.resolution, resolved.tool, resolved.parent)
            extra["programs"] = program_paths(resolved.tool, resolved.resolution)
        footer = self._footer(isolation=resolved.tool.isolation, started=resolved.terms.parent is not None)
        make = partial(report, resolved.tool, resolved.resolution, footer=footer, **extra)
        return make() if everything else resolved.report(footer, make)

    def _footer(self, *, isolation: bool = True, started: bool = False) -> tuple[str, ...]:
        """SPEC 11.5, 6.6: what these lines leave open, they say. *started*: it has the environment of the start."""
        under = f"Under {self.governed.label}. " if self.governed.label else ""
        when = " as it was started" if started else ""
        whose = f"{under}From {self.place}{when}, which holds these values anyway. {acting(self.identity).line()}"
        return whose, self.launcher.isolation.line(on=isolation, kernel="kernel" in self.place)

    def _identity(self) -> dict[str, object]:
        return {**acting(self.identity).entries(), **self.identity.of_kernel(), **self.governed.entries()}

    def known_secrets(self) -> tuple[tuple[str, str], ...]:
        """Name and value of every secret that calls have had so far: for a redactor, and for nothing else."""
        return self._secrets.pairs()
