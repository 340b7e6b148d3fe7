"""Every save of a notebook through the server → told, redacted or refused, if it holds a secret (SPEC 8.4).

1. ``warn`` tells; ``redact`` saves outputs with marks, and tells what stands in sources, which it never changes;
   ``refuse`` answers 422 and leaves the file, its checkpoint and the target of an upload as they were.
2. A save is never lost by a mistake of ours: it passes, with an error in the log. Only ``refuse`` then refuses: what
   could not be looked at would be on the disk.
3. It stands where the contents manager saves, behind the pre-save hooks of others: a server awaits no hook, and here
   kernels are asked and much text is searched beside the event loop. A manager that is not async is served on the
   loop, on which it saves itself, and its kernels are asked afterwards, to tell.
4. What is kept, logged and sent as an event has names and places, and no value.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import json
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from inspect import isawaitable, iscoroutinefunction
from pathlib import Path
from typing import Any, Literal, TypeVar

from tornado.web import HTTPError

from ...core.errors import DeclarationError
from ...core.known import secret_values
from ...core.saved import Checked, Checkers
from ...core.tool import DEFAULT_FLOOR
from ...runtime.guard import where_it_failed
from .kernel_answer import AskKernels, merged
from .looked import Looked, cell_ids, listed, refusal, shown
from .uploads import LAST, Uploads, waiting

T = TypeVar("T")
Mode = Literal["warn", "redact", "refuse", "off"]
Known = Callable[[], Mapping[str, str] | Iterable[tuple[str, str]]]
"""Names and values; a name may have several."""
Log = logging.Logger | logging.LoggerAdapter[Any]

_REMEMBERED = 1000
"""Notebooks whose last findings are kept."""

_passing: ContextVar[object] = ContextVar("mcc_save_guard_passing", default=None)
"""The model that has been looked at and is being saved: its hooks have run."""

_WRAPPED = ("save", "create_checkpoint", "restore_checkpoint", "rename", "delete")
"""Methods of a contents manager; each has one of ours with its name."""


def install(
    manager: Any,
    *,
    parent: Mapping[str, str],
    log: Log,
    mode: Mode | Callable[[], Mode] = "warn",
    floor: tuple[str, ...] = DEFAULT_FLOOR,
    known: Known = dict,
    ask_kernels: AskKernels | None = None,
    kernel_timeout: float = 2.0,
    emit: Callable[[Looked], None] | None = None,
) -> SaveGuard:
    """Guards the saves of *manager*, a contents manager, from now on.

    Searched for is what counts as secret in *parent*, the server's environment, and what *known* gives by name at the
    time of a save. *kernel_timeout*: seconds. *emit* is told of whatever is not clean.
    """
    return SaveGuard(manager, parent, log, mode, floor, known, ask_kernels, kernel_timeout, emit)


class SaveGuard:
    """The guard of one contents manager; see ``install``."""

    def __init__(
        self,
        manager: Any,
        parent: Mapping[str, str],
        log: Log,
        mode: Mode | Callable[[], Mode],
        floor: tuple[str, ...],
        known: Known,
        ask_kernels: AskKernels | None,
        kernel_timeout: float,
        emit: Callable[[Looked], None] | None,
    ) -> None:
        self._manager, self._log, self._mode, self._emit = manager, log, mode, emit
        self._own = tuple(secret_values(parent, floor))
        self._known, self._ask, self._kernel_timeout = known, ask_kernels, kernel_timeout
        self._checkers = Checkers()
        self._last: OrderedDict[str, Looked] = OrderedDict()
        self._asking: set[asyncio.Task[None]] = set()
        self._uploads = Uploads()
        self._is_async = iscoroutinefunction(manager.save)
        self._was = {name: getattr(manager, name) for name in (*_WRAPPED, "run_pre_save_hooks")}
        for name in _WRAPPED:
            setattr(manager, name, self._instead_of(name))
        manager.run_pre_save_hooks = self._run_pre_save_hooks

    def uninstall(self) -> None:
        """The manager is as it was before."""
        for name in self._was:
            delattr(self._manager, name)

    def findings(self, path: str) -> Looked | None:
        """What the last look at the notebook *path* found; None if there was none."""
        return self._last.get(path.strip("/"))

    async def redact(self, outputs: Sequence[object], path: str, ask: AskKernels | None) -> tuple[list[Any], Looked]:
        """*outputs*, those of one cell, as a save in ``redact`` would leave them; and what was found in them.

        *ask* is how the kernels of the notebook *path* are asked. Nothing is kept or sent as an event. Raises
        ``DeclarationError`` for what are no outputs.
        """
        cell = {"cell_type": "code", "metadata": {}, "source": "", "outputs": list(outputs)}
        content = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        checked = await asyncio.to_thread(self._check, content, True)
        notes: tuple[str, ...] = ()
        if ask is not None:
            checked, notes = await self._with_kernels("redact", path, checked, ask)
        assert isinstance(checked.content, Mapping)
        return checked.content["cells"][0]["outputs"], Looked(path, "redact", "told", checked.findings, notes)

    @property
    def mode(self) -> Mode:
        return self._mode() if callable(self._mode) else self._mode

    # ---- in place of the manager's methods

    def _instead_of(self, name: str) -> Callable[..., Any]:
        """Our method for the manager's: awaited where that one is, and else run at once, for then nothing waits."""
        ours: Callable[..., Coroutine[Any, Any, Any]] = getattr(self, f"_{name}")

        @functools.wraps(self._was[name])
        def at_once(*args: Any, **kwargs: Any) -> Any:
            try:
                ours(*args, **kwargs).send(None)
            except StopIteration as done:
                return done.value
            raise RuntimeError(f"{name} of a contents manager that is not async waited")

        @functools.wraps(self._was[name])
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            return await ours(*args, **kwargs)

        return awaited if self._is_async else at_once

    def _run_pre_save_hooks(self, model: Any, path: str, **more: Any) -> None:
        if _passing.get() is not model:
            self._was["run_pre_save_hooks"](model=model, path=path, **more)

    async def _save(self, model: dict[str, Any], path: str = "") -> Any:
        mode, path = self.mode, path.strip("/")
        if mode == "off" or not _is_notebook(model, path):
            return await self._do("save", model, path)
        if model.get("chunk") is not None and model.get("type") == "file":
            if mode == "warn":
                saved = await self._do("save", model, path)
                if model["chunk"] == LAST:
                    await self._look_at_file(mode, path)
                return saved
            whole = self._uploads.take(model, path)
            if whole is None:
                return waiting(path)
            model = whole
        self._run_pre_save_hooks(model, path)
        with self._safely(mode, path):
            content = _content(model)
            if content is not None:
                model.update(_model_of(await self._pass(mode, path, content), model))
        with _saving(model):
            return await self._do("save", model, path)

    async def _create_checkpoint(self, path: str) -> Any:
        """In ``refuse`` there is no second copy of what is on the disk already, however it came there."""
        path = path.strip("/")
        if self.mode == "refuse" and _passing.get() is None and path.endswith(".ipynb"):
            with self._safely("refuse", path):
                await self._pass("refuse", path, await self._file(path))
        return await self._do("create_checkpoint", path)

    async def _restore_checkpoint(self, checkpoint_id: str, path: str) -> Any:
        path = path.strip("/")
        mode = self.mode if path.endswith(".ipynb") else "off"
        if mode == "refuse":
            with self._safely(mode, path):
                await self._pass(mode, path, await self._checkpoint(checkpoint_id, path))
        restored = await self._do("restore_checkpoint", checkpoint_id, path)
        if mode in ("warn", "redact"):
            await self._look_at_file(mode, path)
        return restored

    async def _rename(self, old_path: str, new_path: str) -> Any:
        """What is no notebook by its name may become one."""
        old, new = old_path.strip("/"), new_path.strip("/")
        mode = self.mode if new.endswith(".ipynb") and not old.endswith(".ipynb") else "off"
        if mode == "refuse":
            with self._safely(mode, new):
                await self._pass(mode, new, await self._file(old))
        renamed = await self._do("rename", old_path, new_path)
        for path in [path for path in self._last if path == old or path.startswith(f"{old}/")]:
            looked = self._last.pop(path)
            self._last[new + path[len(old) :]] = replace(looked, path=new + path[len(old) :])
        if mode in ("warn", "redact"):
            await self._look_at_file(mode, new)
        return renamed

    async def _delete(self, path: str) -> Any:
        deleted = await self._do("delete", path)
        gone = path.strip("/")
        for other in [other for other in self._last if other == gone or other.startswith(f"{gone}/")]:
            del self._last[other]
        return deleted

    async def _do(self, name: str, *args: Any) -> Any:
        return await _awaited(self._was[name](*args))

    # ---- looking

    async def _pass(self, mode: Mode, path: str, content: object) -> object:
        """What to save instead of *content*; raises 422 if it must not be saved."""
        is_text = isinstance(content, str)
        checked = await self._beside(self._check, content, mode == "redact")
        notes: tuple[str, ...] = ()
        if self._ask is not None and not is_text:
            if self._is_async:
                checked, notes = await self._with_kernels(mode, path, checked, self._ask)
            else:
                self._ask_later(mode, path, checked, self._ask)
        self._found(mode, path, checked, notes)
        if mode == "refuse" and checked.findings:
            raise HTTPError(422, refusal(path, checked.findings))
        return checked.content

    def _check(self, content: object, clean: bool) -> Checked:
        known = self._known()
        pairs = known.items() if isinstance(known, Mapping) else known
        checker = self._checkers.knowing((*self._own, *pairs))
        if isinstance(content, str):
            return checker.text(content, clean=clean)
        try:
            return checker.check(content, clean=clean)
        except DeclarationError:  # the server will say so itself
            return replace(checker.text(json.dumps(content)), content=content)

    async def _with_kernels(
        self, mode: Mode, path: str, checked: Checked, ask: AskKernels
    ) -> tuple[Checked, tuple[str, ...]]:
        """The same with what the notebook's kernels know."""
        clean = mode == "redact"
        silent = ("the kernel did not answer; what only it knows was not looked for",)
        try:
            asked = ask(path, lambda: json.dumps(checked.content).encode(), clean)
            answer = await asyncio.wait_for(asked, self._kernel_timeout)
            if answer is None:
                return checked, ()
            answer = answer if clean else replace(answer, notebook=None)
            return await self._beside(merged, checked, answer), silent if answer.silent else ()
        except TimeoutError:
            return checked, silent
        except Exception as error:  # noqa: BLE001 - a kernel's failure is no reason to lose a save
            self._log.error("save guard: %r: asking the kernel failed: %s", path, where_it_failed(error))
            return checked, silent

    def _ask_later(self, mode: Mode, path: str, checked: Checked, ask: AskKernels) -> None:
        """Of a manager that cannot wait: tells what the kernels find, once it is saved."""

        async def tell() -> None:
            told, notes = await self._with_kernels("warn", path, checked, ask)
            if told.findings != checked.findings or notes:
                self._found("warn" if mode == "refuse" else mode, path, told, notes)

        try:
            task = asyncio.get_running_loop().create_task(tell())
        except RuntimeError:  # no loop: nobody to ask
            return
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _look_at_file(self, mode: Mode, path: str) -> None:
        """What is saved already: told, and in ``redact`` saved again. Never an error: what was asked for is done."""
        try:
            text = await self._file(path)
            content = await self._pass(mode, path, text)
            if content is not text:
                model = {"type": "notebook", "format": "json", "content": json.loads(str(content))}
                with _saving(model):
                    await self._do("save", model, path)
        except Exception as error:  # noqa: BLE001
            self._failed(mode, path, error)

    async def _file(self, path: str) -> str:
        model = await _awaited(self._manager.get(path, content=True, type="file", format="text"))
        return str(model["content"])

    async def _checkpoint(self, checkpoint_id: str, path: str) -> object:
        """What a checkpoint holds; an error if its kind cannot be looked at."""
        checkpoints = self._manager.checkpoints
        if hasattr(checkpoints, "get_notebook_checkpoint"):
            model = await _awaited(checkpoints.get_notebook_checkpoint(checkpoint_id, path))
            return model["content"]
        return await self._beside(_read, Path(checkpoints.checkpoint_path(checkpoint_id, path)))

    async def _beside(self, function: Callable[..., T], *args: Any) -> T:
        """Beside the event loop, where that is possible."""
        return await asyncio.to_thread(function, *args) if self._is_async else function(*args)

    # ---- telling

    @contextmanager
    def _safely(self, mode: Mode, path: str) -> Iterator[None]:
        try:
            yield
        except HTTPError:
            raise
        except Exception as error:  # noqa: BLE001 - see the second rule
            self._failed(mode, path, error)
            if mode == "refuse":
                what = f"{shown(path)}: not saved: the save guard failed ({where_it_failed(error)})"
                raise HTTPError(500, f"{what}; report it, and set save_guard to 'warn' to save meanwhile") from None

    def _failed(self, mode: Mode, path: str, error: Exception) -> None:
        self._log.error("save guard: %r could not be looked at: %s", path, where_it_failed(error))
        self._keep(Looked(path, mode, "failed", notes=(f"the save guard failed: {where_it_failed(error)}",)))

    def _found(self, mode: Mode, path: str, checked: Checked, notes: tuple[str, ...]) -> None:
        findings = checked.findings
        is_redacted = any(finding.redacted for finding in findings)
        found = "refused" if mode == "refuse" else "redacted" if is_redacted else "told"
        looked = Looked(path, mode, found if findings else "clean", findings, notes, cell_ids(checked))
        if looked != self._last.get(path):
            for note in notes:
                self._log.info("save guard: %r: %s", path, note)
            if findings:
                self._log.warning("save guard: %r: %s", path, listed(findings))
        self._keep(looked)

    def _keep(self, looked: Looked) -> None:
        """The event is sent when something has changed: a front end saves every other minute."""
        before = self._last.pop(looked.path, None)
        self._last[looked.path] = looked
        while len(self._last) > _REMEMBERED:
            self._last.popitem(last=False)
        is_news = looked != before and (before is not None or looked.outcome != "clean" or bool(looked.notes))
        if self._emit is not None and is_news:
            try:
                self._emit(looked)
            except Exception as error:  # noqa: BLE001 - nor is an event
                self._log.error("save guard: no event could be sent: %s", where_it_failed(error))


@contextmanager
def _saving(model: object) -> Iterator[None]:
    token = _passing.set(model)
    try:
        yield
    finally:
        _passing.reset(token)


def _read(file: Path) -> str:
    return file.read_text("utf-8") if file.exists() else ""  # the manager says best that it is not there


async def _awaited(value: Any) -> Any:
    return await value if isawaitable(value) else value


def _is_notebook(model: Mapping[str, Any], path: str) -> bool:
    """Whether it is one, or becomes one by its name: what is uploaded in chunks is a file."""
    return model.get("type") == "notebook" or (model.get("type") == "file" and path.endswith(".ipynb"))


def _content(model: Mapping[str, Any]) -> object | None:
    """The data of a notebook, the text of a file; None for what is no text, or missing."""
    content = model.get("content")
    if model["type"] == "notebook" or not isinstance(content, str) or model.get("format") != "base64":
        return content
    try:
        return base64.b64decode(content).decode()
    except ValueError:
        return None


def _model_of(content: object, model: Mapping[str, Any]) -> dict[str, Any]:
    """What changes in *model*; nothing, if the content is the same."""
    if content == _content(model):
        return {}
    return {"content": content, "format": "text"} if isinstance(content, str) else {"content": content}
