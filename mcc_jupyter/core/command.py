"""Tool + arguments + resolution → the request the launcher carries out.

1. This is the only place where values leave a ``Resolution`` (SPEC 4.9).
2. No value is in an argv: a script, a curl config and a function's arguments travel on descriptor 9 (SPEC 3.4, 7.2).
3. What cannot be started is said here, by name, before any process exists (SPEC 4.10).
"""

from __future__ import annotations

import json
import marshal
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn

from .context import encode, encode_bytes
from .curl_config import LONGEST_LINE, TooLong, config
from .errors import ArgumentError, ToolUnavailable
from .names import is_known_not_secret
from .resolution import Binding, Context, Resolution, Source
from .secret_files import file_secrets
from .secret_forms import is_ordinary
from .tool import (
    MISSING,
    Argv,
    Curl,
    Function,
    Limits,
    NoProcess,
    Reference,
    Shell,
    Text,
    Tool,
    command_references,
)
from .values import SECRET_LIMIT, VARIABLE_LIMIT

PAYLOAD = "/dev/fd/9"
"""Where a child reads its script, its curl config or its arguments."""

_CLOSE_PAYLOAD = b"exec 9<&-; "
"""Stands before a script, on its first line, so that line numbers stay and no grandchild inherits the script."""


_HALF = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Surrogates that stand for no byte: JSON may hold one that stands alone, and no command line can."""


@dataclass(frozen=True, slots=True)
class Request:
    """One process to start. ``repr`` shows the command only; every field that can hold a value is left out."""

    argv: tuple[str, ...]
    environ: Mapping[str, str] = field(repr=False)
    cwd: str
    payload: bytes | None = field(default=None, repr=False)
    """Bytes the child reads on descriptor 9."""
    stdin: bytes | None = field(default=None, repr=False)
    """None is ``/dev/null`` (SPEC 7.5)."""
    result: bool = False
    """Whether descriptor 8 is open for an answer (SPEC 7.3)."""
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Variable → content of a private file; the launcher sets the variable to the file's path (SPEC 6.5)."""
    limits: Limits = field(default_factory=Limits)
    timeout: float | None = None
    """Seconds; None is ``limits.timeout``."""
    isolation: bool = True
    """Whether the process is confined as far as this machine can (SPEC 7.1)."""
    tool: str = ""
    """Whose call this is: what watched over one call may watch over the next of the same tool."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A call, ready to be launched."""

    request: Request
    secrets: Mapping[str, str] = field(repr=False)
    """What the output is searched for, by name (SPEC 8.1)."""
    notes: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The resolved environment, for ``transform``: a function's request has its ``PYTHONPATH`` elsewhere."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What all calls of one tool have in common while its resolution stays the same."""

    base: Request
    secrets: Mapping[str, str] = field(repr=False)
    room: int
    """Bytes that this machine allowed all variables together when their sizes were checked."""


def prepare(tool: Tool, resolution: Resolution, *, context: Context, room: int) -> Prepared:
    """Raises ``ToolUnavailable`` for variables that no process can be given (SPEC 4.10)."""
    environ = resolution.environ()
    check_sizes(tool, environ, room)
    return Prepared(_base(tool, resolution, environ, context), secrets(tool, resolution), room)


def plan(
    tool: Tool,
    arguments: Mapping[str, object],
    resolution: Resolution,
    *,
    prepared: Prepared,
    store: Mapping[str, object],
    runner: str,
    interpreter: str,
    timeout: float | None = None,
) -> Plan:
    """The request for one call with *arguments* already bound by ``schema.bind``.

    *runner* is the path of the child script for functions, *interpreter* the default one. Raises ``ArgumentError``.
    """
    base = prepared.base if timeout is None else replace(prepared.base, timeout=timeout)
    notes: tuple[str, ...] = ()
    body = tool.body
    if isinstance(body, Function):
        request = _function_request(tool, base, _call_frame(tool, body, arguments, store), runner, interpreter)
    elif isinstance(body, Argv):
        lookup = _Lookup(tool, resolution.bindings, argv=True)
        request = replace(base, argv=tuple(_render(tool, "exec", item, arguments, lookup) for item in body.templates))
    elif isinstance(body, NoProcess):
        raise _nothing_to_run(tool, body)
    elif isinstance(body, Curl):
        request, notes = _curl_request(tool, body, base, arguments, resolution.bindings)
    else:
        request = _shell_request(tool, "exec", body, base, arguments)
    if tool.stdin and not isinstance(tool.body, Function):
        request = replace(request, stdin=encode_bytes(dict(arguments)))
    return Plan(request, prepared.secrets, notes, prepared.base.environ)


def transform(tool: Tool, call: Plan, arguments: Mapping[str, object], stdout: bytes, timeout: float | None) -> Request:
    """The request for ``transform``: the tool's output on stdin, everything else as in the call (SPEC 7.10)."""
    assert tool.transform is not None
    base = replace(call.request, environ=call.environ, result=False, stdin=stdout, timeout=timeout)
    return _shell_request(tool, "transform", tool.transform, base, arguments)


def introspection(
    tools: Mapping[str, Tool], resolution: Resolution, *, context: Context, runner: str, interpreter: str, room: int
) -> Plan:
    """One request that reads the signatures of functions which share environment, interpreter and folder (SPEC 2.8)."""
    first = next(iter(tools.values()))
    environ = resolution.environ()
    check_sizes(first, environ, room)
    targets = []
    for key, tool in tools.items():
        assert isinstance(tool.body, Function)
        targets.append({"id": key, **_target(tool.body)})
    base = _base(first, resolution, environ, context)
    request = _function_request(first, base, {"mode": "introspect", "targets": targets}, runner, interpreter)
    return Plan(request, secrets(first, resolution))


def probe(tool: Tool, resolution: Resolution, *, context: Context, runner: str, interpreter: str, room: int) -> Plan:
    """A child with exactly this environment that answers with the names it received (SPEC 11.3).

    A function's names are read as its call would see them. For the other kinds the child is an interpreter that looks
    at no variable itself (``-I -S``), so that what it reports is what a shell would be started with.
    """
    if isinstance(tool.body, NoProcess):
        raise _nothing_to_run(tool, tool.body)
    environ = resolution.environ()
    check_sizes(tool, environ, room)
    base = _base(tool, resolution, environ, context)
    request = _function_request(tool, base, {"mode": "names"}, runner, interpreter)
    return Plan(request, secrets(tool, resolution))


def secrets(tool: Tool, resolution: Resolution) -> dict[str, str]:
    """Every value the output of *tool* is searched for, by the name that is shown instead (SPEC 8.1).

    Raises ``ToolUnavailable`` for one that is too large to be searched for.
    """
    found = {binding.name: binding.value for binding in resolution.bindings.values() if binding.secret}
    for name, text in _secret_files(tool, resolution).items():
        if name not in tool.never_redact:
            found.update(file_secrets(name, text.value))
    # Who opts a variable out means what it is made of, too.
    texts = [texts[name] for texts in (tool.env, tool.secret_files) for name in tool.never_redact if name in texts]
    through = {item.name for text in texts for item in text.references}
    for reference in (*tool.references, *command_references(tool)):
        if reference.name not in (tool.never_redact | through) and not is_known_not_secret(reference.name):
            found.setdefault(reference.name, reference.value)
    for param in tool.params:
        if param.override is not MISSING:
            leaves = [*_leaves(param.override), *_keys(param.override)]
            for at, leaf in enumerate(leaves):
                found.setdefault(param.name if len(leaves) == 1 else f"{param.name}[{at}]", leaf)
    for name, value in found.items():
        size = len(value.encode("utf-8", "surrogateescape")) if len(value) > SECRET_LIMIT // 4 else 0
        if size > SECRET_LIMIT:
            _too_large(tool, f"{name} is too large; output is searched for it, and {SECRET_LIMIT:,} bytes are the most")
    return found


def changed_references(tool: Tool, parent: Mapping[str, str]) -> tuple[str, ...]:
    """References whose value in the parent is another one by now, by name (SPEC 3.5)."""
    used: dict[str, Reference] = {item.name: item for item in (*tool.references, *command_references(tool))}
    return tuple(name for name, reference in used.items() if parent.get(name) != reference.value)


def digest(resolution: Resolution, key: bytes) -> bytes:
    """A keyed hash of the environment: equal for equal environments of one process, of no use to others (SPEC 7.11)."""
    from hashlib import blake2b

    pairs = sorted(resolution.environ().items())
    return blake2b(repr(pairs).encode("utf-8", "surrogateescape"), key=key, digest_size=16).digest()


def search_path(resolution: Resolution) -> str:
    """The ``PATH`` a program is looked up in (SPEC 7.13); empty when the child has none."""
    return resolution.environ().get("PATH", "")


def check_sizes(tool: Tool, environ: Mapping[str, str], room: int) -> None:
    """Raises ``ToolUnavailable`` naming the variable and its size in bytes (SPEC 4.10)."""
    sizes = {name: len(name) + 1 + len(value.encode("utf-8", "surrogateescape")) for name, value in environ.items()}
    for name, size in sizes.items():
        if size > VARIABLE_LIMIT:
            text = f"variable {name} has {size:,} bytes with its name; one variable may have {VARIABLE_LIMIT:,}"
            _too_large(tool, text)
    total = sum(sizes.values()) + 9 * len(sizes)
    if total > room:
        name = max(sizes, key=sizes.__getitem__)
        _too_large(
            tool,
            f"its {len(sizes):,} variables have {total:,} bytes and a process may have {room:,}; "
            f"the largest is {name} with {sizes[name]:,}",
        )


def _nothing_to_run(tool: Tool, body: NoProcess) -> ToolUnavailable:
    text = f'Tool {tool.name!r} runs nothing here; the type "{body.type}" only grants names and skills'
    return ToolUnavailable(text, tool=tool.name, reasons=("invalid",))


def _too_large(tool: Tool, text: str) -> NoReturn:
    raise ToolUnavailable(f"Tool {tool.name!r} is unavailable; {text}", tool=tool.name, reasons=("invalid",))


def _secret_files(tool: Tool, resolution: Resolution) -> dict[str, Text]:
    """Those of the tool's secret files that no higher layer and no refusal took the variable from (SPEC 8.7)."""
    bound = resolution.bindings
    kept = {name for name in tool.secret_files if name in bound and bound[name].provenance.source is Source.SECRET}
    return {name: text for name, text in tool.secret_files.items() if name in kept}


def _base(tool: Tool, resolution: Resolution, environ: Mapping[str, str], context: Context) -> Request:
    secret_files = _secret_files(tool, resolution).items()
    files = {name: text.value.encode("utf-8", "surrogateescape") for name, text in secret_files}
    if context.document is not None:
        files["MCC_SESSION_FILE"] = context.document
    return Request(
        (),
        environ,
        tool.cwd.value,
        files=files,
        limits=tool.limits,
        isolation=tool.isolation,
        tool=tool.key,
    )


def _shell_request(tool: Tool, where: str, shell: Shell, base: Request, arguments: Mapping[str, object]) -> Request:
    script = _render(tool, where, shell.template, arguments, None)
    payload = _CLOSE_PAYLOAD + script.encode("utf-8", "surrogateescape")
    return replace(base, argv=("/bin/sh", PAYLOAD), payload=payload)


def _curl_request(
    tool: Tool, curl: Curl, base: Request, arguments: Mapping[str, object], bindings: Mapping[str, Binding]
) -> tuple[Request, tuple[str, ...]]:
    if curl.words is None:
        return _shell_request(tool, "curl", curl.shell, base, arguments), ()
    # From here on no shell reads an argument: what stands in quotes for the shell would be code for it again.
    lookup = _Lookup(tool, bindings, argv=False, paths=base.files)
    words = [_render(tool, "curl", word, arguments, lookup) for word in curl.words]
    # Only as the very first argument it keeps curl from reading ~/.curlrc.
    first = ("-q",) if "-q" in curl.words or "--disable" in curl.words else ()
    try:
        written = config(words)
    except TooLong as error:
        raise ArgumentError(
            f"Tool {tool.name!r}: curl: an argument takes {error.size:,} bytes, and a line of curl's config file "
            f"may have {LONGEST_LINE:,}; send it with `stdin: true` or from a file"
        ) from None
    if written is None:
        for name in (*lookup.hidden, *_hidden_parameters(tool, curl.words)):
            raise ArgumentError(
                f"Tool {tool.name!r}: curl: an option that is not known or lacks its argument brings the arguments "
                f"to curl's command line, where `{name}` may not stand; check the options"
            )
        note = "curl: an option that is not known or lacks its argument; the arguments reach curl by its command line"
        return replace(base, argv=("curl", *first, *words)), (note,)
    if lookup.paths:
        return replace(base, argv=("/bin/sh", PAYLOAD), payload=_with_paths(first, written, lookup.paths)), ()
    return replace(base, argv=("curl", *first, "--config", PAYLOAD), payload=written), ()


_PATH = "\ufdd2"
"""Around a name it stands for that private file's path, which only the started process knows: a noncharacter."""


def _with_paths(first: tuple[str, ...], written: bytes, names: Iterable[str]) -> bytes:
    """A script that gives curl the config file *written* with the paths of the private files *names* in it.

    Every line begins with ``-``, so that none ends the here-document, in which only the paths are left to the shell.
    """
    text = re.sub(rb"[\\$`]", rb"\\\g<0>", written)
    for name in names:
        text = text.replace(f"{_PATH}{name}{_PATH}".encode(), f"${{{name}}}".encode())
    options = " ".join((*first, "--config", "/dev/fd/7"))
    return _CLOSE_PAYLOAD + f"curl {options} 7<<E\n".encode() + text + b"E\n"


def _hidden_parameters(tool: Tool, templates: tuple[str, ...]) -> Iterator[str]:
    """Parameters in *templates* whose value the caller never sees."""
    from .template import undefined_names

    hidden = {param.name for param in tool.params if param.is_hidden}
    return (name for template in templates if hidden for name in undefined_names(template) if name in hidden)


def _function_request(tool: Tool, base: Request, frame: Mapping[str, object], runner: str, interpreter: str) -> Request:
    # PYTHONPATH travels in the frame: the interpreter must not see it before the script has its modules (SPEC 4.7).
    environ, path = dict(base.environ), ""
    flags: tuple[str, ...] = ("-I", "-S")
    if isinstance(tool.body, Function):
        flags, path = ("-u",), environ.pop("PYTHONPATH", "")
    frame = {**frame, "pythonpath": path, "names": sorted({*base.environ, *base.files})}
    python = tool.python.value if tool.python is not None else interpreter
    return replace(base, argv=(python, *flags, runner), environ=environ, payload=marshal.dumps(frame, 2), result=True)


def _call_frame(
    tool: Tool, body: Function, arguments: Mapping[str, object], store: Mapping[str, object]
) -> dict[str, object]:
    plain: dict[str, object] = json.loads(encode(dict(arguments))) if arguments else {}
    return {
        "mode": "call",
        **_target(body),
        "arguments": {} if tool.unsigned else plain,
        "positional": [plain[param.name] for param in tool.params if param.name in plain] if tool.unsigned else None,
        "context": dict(store) if tool.takes_context else None,
    }


def _target(body: Function) -> dict[str, object]:
    source = body.source
    if source is None:
        return {"target": body.target, "source": None}
    return {
        "target": body.target,
        "source": {"text": source.text, "filename": source.filename, "function": source.function},
    }


class _Lookup:
    """``mcc_env`` of a template: what ``$NAME`` stands for where no shell expands it."""

    def __init__(
        self, tool: Tool, bindings: Mapping[str, Binding], *, argv: bool, paths: Iterable[str] = ()
    ) -> None:
        self._tool, self._bindings, self._argv, self._paths = tool, bindings, argv, frozenset(paths)
        self.paths: dict[str, None] = {}
        """The private files whose path it gave, by name."""
        self.hidden: dict[str, None] = {}
        """What it gave that may not stand in an argv, by name."""

    def __call__(self, name: str, default: str | None = None, if_empty: bool = False) -> str:
        if name in self._paths:
            self.hidden[name] = self.paths[name] = None
            return f"{_PATH}{name}{_PATH}"
        binding = self._bindings.get(name)
        if binding is None or (if_empty and not binding.value):
            return f"${{{name}}}" if default is None else default
        source = binding.provenance.source
        if binding.secret or source in (Source.ENV_FILE, Source.REFERENCE):
            self.hidden[name] = None
        if self._argv and (binding.secret or source is Source.ENV_FILE):
            raise ArgumentError(
                f"Tool {self._tool.name!r}: exec: {name} comes from {source} here, and a value "
                "may not stand in an argument list; write exec as one text and let the shell expand it"
            )
        return binding.value


def _render(tool: Tool, where: str, template: str, arguments: Mapping[str, object], lookup: _Lookup | None) -> str:
    from .template import render

    try:
        text = render(template, {**arguments, "mcc_env": lookup})
    except ArgumentError:
        raise
    except Exception as error:  # noqa: BLE001 - a filter's own message may hold the value it was given
        _refuse(tool, where, error)
    if "\0" in text:
        raise ArgumentError(f"Tool {tool.name!r}: {where}: an argument holds a NUL character; leave it out")
    if _HALF.search(text):
        raise ArgumentError(f"Tool {tool.name!r}: {where}: an argument holds half of a character; leave it out")
    return text


def _refuse(tool: Tool, where: str, error: Exception) -> NoReturn:
    from jinja2 import UndefinedError

    if isinstance(error, UndefinedError):
        message = str(error.message)
        if not message.endswith(" is undefined"):  # it may name what was looked for, and that may be a value
            message = "the template takes a part of a value that does not have it"
        raise ArgumentError(f"Tool {tool.name!r}: {where}: {message}; give it as an argument") from None
    raise ArgumentError(f"Tool {tool.name!r}: {where}: the template failed with {type(error).__name__}") from None


def _keys(value: object) -> list[str]:
    """The keys in a hidden value; one that is too short or common to be searched for is no more than a word."""
    if isinstance(value, Mapping):
        inner = [key for item in value.values() for key in _keys(item)]
        return [*(key for key in map(str, value) if not is_ordinary(key)), *inner]
    return [key for item in value for key in _keys(item)] if isinstance(value, list | tuple) else []


def _leaves(value: object) -> list[str]:
    if isinstance(value, Mapping):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in _leaves(item)]
    return [] if value is None or isinstance(value, bool) else [str(value)]
