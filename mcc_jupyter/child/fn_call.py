"""One request to its answers: find the function, arrange its arguments, call it, write JSON (SPEC 7.3).

1. What a plain call does not need is not imported: ``json`` alone would cost as much as starting the interpreter.
2. An answer is sent once, by the process that got the request: forks and grandchildren hold no descriptor of ours.
3. A failure is told by its ``kind``: ``import``, ``signature``, ``exception``, ``exit`` or ``result``.
"""

import marshal
import os
import sys
from _json import encode_basestring_ascii as quoted

TYPE_CHECKING = False  # ``typing`` is not imported: it would delay the call
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

REQUEST, ANSWER = 9, 8
MOST_ITEMS = 100_000
"""How many items a generator may yield."""
MOST = 10**4300
"""An integer has fewer digits than this: Python reads no longer ones, because that takes ever longer."""

_PLAIN = frozenset(
    "str int float bool list dict None NoneType Any object Optional Union List Dict typing class builtins".split()
)
_MARKS = str.maketrans("[],|.<>'\"", "         ")


class Trouble(Exception):
    """A failure that we describe ourselves, in one text without a value."""

    def __init__(self, kind: str, text: str) -> None:
        self.kind = kind
        super().__init__(text)


class Channel:
    """The way back: frames of eight hexadecimal digits, a newline and so many bytes of JSON."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.pid = os.getpid()
        os.set_inheritable(descriptor, False)
        os.register_at_fork(after_in_child=self.close)

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def send(self, text: str) -> None:
        if self.descriptor < 0 or self.pid != os.getpid():
            return
        data = f"{len(text):08x}\n{text}".encode("ascii")
        try:
            while data:
                data = data[os.write(self.descriptor, data) :]
        except BrokenPipeError:  # whoever asked is gone
            self.close()


def main(load: "Callable[[str], ModuleType]") -> int:
    """Serves the request on descriptor 9 and returns the exit status."""
    chunks = []
    while True:
        chunk = os.read(REQUEST, 1 << 20)
        if not chunk:
            break
        chunks.append(chunk)
    os.close(REQUEST)
    request = marshal.loads(b"".join(chunks))
    settle(request)
    if "idle" in request:
        return int(load("warm_fn").main(request, sys.modules["_mcc_fn_call"], load))
    channel = Channel(ANSWER)
    status = 0
    if request["mode"] == "names":
        channel.send(encode({"ok": True, "names": sorted(os.environ)}, load))
    elif request["mode"] == "introspect":
        for item in request["targets"]:
            tell(channel, item, describe(item, load), load)
    else:
        answer_text, status = call(request, load)
        flush()
        channel.send(answer_text)
    channel.close()
    return status


def settle(request: "dict[str, Any]") -> None:
    """Makes the environment exactly the resolved one, and gives ``sys.path`` its ``PYTHONPATH`` (SPEC 4.7)."""
    if "LC_CTYPE" in os.environ and "LC_CTYPE" not in request.get("names", ()):
        del os.environ["LC_CTYPE"]  # Python's own addition where neither LANG nor LC_ALL is set
    given = request.get("pythonpath")
    if not given:
        return
    os.environ["PYTHONPATH"] = given
    library = os.path.dirname(os.__file__)
    ours = [at for at, path in enumerate(sys.path) if path == library or path.endswith("lib-dynload")]
    at = ours[-1] + 1 if ours else len(sys.path)
    sys.path[at:at] = dict.fromkeys(os.path.abspath(path) for path in given.split(os.pathsep))


def describe(
    item: "dict[str, Any]", load: "Callable[[str], ModuleType]", found: "Callable[..., object] | None" = None
) -> "dict[str, object]":
    """The answer for one target of an introspection; it fails alone, even when its module calls ``sys.exit``."""
    try:
        function = found or locate(item["target"], item["source"])
        return {"ok": True, **load("fn_describe").describe(function, load("fn_types"), load("fn_docs"))}
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is told
        return failed(error, "import", item, load)


def tell(
    channel: Channel, item: "dict[str, Any]", answer: "dict[str, object]", load: "Callable[[str], ModuleType]"
) -> None:
    """Sends the answer for one target of an introspection."""
    flush()
    try:
        text = encode({"id": item["id"], **answer}, load)
    except Trouble as trouble:  # a default or a choice that is no JSON
        text = encode({"id": item["id"], **failed(trouble, "import", item, load)}, load)
    channel.send(text)


def call(
    request: "dict[str, Any]", load: "Callable[[str], ModuleType]", found: "Callable[..., object] | None" = None
) -> "tuple[str, int]":
    """The answer's JSON, and the exit status. *found* is the function where it is imported already."""
    stage = "import"
    try:
        function = found or locate(request["target"], request["source"])
        stage = "signature"
        arguments, keywords, context = arrange(function, request, load)
        before = {key: encode(value, load) for key, value in (context or {}).items()}
        stage = "exception"
        value = function(*arguments, **keywords)
        kind = type(value)
        if hasattr(kind, "__await__") or hasattr(kind, "__anext__") or hasattr(kind, "__aiter__"):
            value = load("fn_async").finish(value, MOST_ITEMS, Trouble)
        text = encode(value, load)
        change, note = difference(before, context, load)
        return f'{{"ok":true,"value":{text},"context":{change},"notes":{note}}}', 0
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is told
        answer = failed(error, stage, request, load)
        code = error.code if answer["kind"] == "exit" else 1  # type: ignore[attr-defined]
        return encode(answer, load), code if issubclass(type(code), int) else int(code is not None)


def failed(
    error: BaseException, stage: str, request: "dict[str, Any]", load: "Callable[[str], ModuleType]"
) -> "dict[str, object]":
    """The answer for *error*, even for one whose own attributes raise."""
    try:
        return dict(load("fn_errors").failure(error, stage, request["target"], request["source"]))
    except BaseException:  # noqa: BLE001 - of the user's own making, as its class may be
        name = type.__dict__["__name__"].__get__(type(error))
        return {"ok": False, "error": f"{name}: (its text cannot be read)", "traceback": "", "kind": stage}


def locate(target: str, source: "dict[str, str] | None") -> "Callable[..., object]":
    """The function behind ``module:name``, ``module.name`` or the source of a cell."""
    if source is not None:
        module = sys.modules["__main__"] = type(sys)("__main__")  # where a notebook's names live, too
        exec(compile(source["text"], source["filename"], "exec", dont_inherit=True), vars(module))
        found: "Any" = getattr(module, source["function"], None)
    else:
        name, colon, rest = target.partition(":")
        if not colon:
            name, _, rest = target.rpartition(".")
        if not all(part.isidentifier() for part in (*name.split("."), *rest.split("."))):
            raise Trouble("import", f"`{target}` names no function; write `module:name` or `module.name`")
        __import__(name)
        found = sys.modules[name]
        for attribute in rest.split("."):
            try:
                found = getattr(found, attribute)
            except AttributeError:
                raise Missing(target, attribute, found) from None
    if not callable(found):
        raise Trouble("import", f"`{target}` cannot be called; it is of type `{type(found).__name__}`")
    function: "Callable[..., object]" = found
    return function


class Missing(Trouble):
    """A module or class has no such attribute."""

    def __init__(self, target: str, attribute: str, owner: object) -> None:
        super().__init__("import", f"`{target}`: there is no `{attribute}`")
        self.attribute = attribute
        self.owner = owner


def arrange(
    function: "Callable[..., object]", request: "dict[str, Any]", load: "Callable[[str], ModuleType]"
) -> "tuple[list[object], dict[str, object], dict[str, object] | None]":
    """What to pass by position, what by keyword, and the session if the function takes it as ``context``."""
    if request["positional"] is not None:  # a builtin that tells no signature
        return list(request["positional"]), {}, None
    keywords = dict(request["arguments"])
    extra = vars(function) if type(function) is type(arrange) else None
    if extra is not None and "__wrapped__" not in extra and "__signature__" not in extra:
        code = function.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        first, later = names[: code.co_posonlyargcount], names[code.co_posonlyargcount :]
        annotations = function.__annotations__
    else:
        first, later, annotations = load("fn_describe").shape(function)
    context = None
    if "context" in later:
        context = keywords["context"] = request["context"] or {}
    if not all(is_plain(annotations[name]) for name in keywords if name in annotations and name != "context"):
        load("fn_types").fit(function, keywords, load("fn_describe"))
    last = max((at for at, name in enumerate(first) if name in keywords), default=-1)
    arguments = []
    for name in first[: last + 1]:
        if name not in keywords:
            keywords[name] = load("fn_describe").default(function, name)
        arguments.append(keywords.pop(name))
    return arguments, keywords, context


def is_plain(annotation: object) -> bool:
    """Whether an argument for *annotation* is used as it came, without looking at the annotation any closer."""
    text = annotation if isinstance(annotation, str) else repr(annotation)
    return _PLAIN.issuperset(text.translate(_MARKS).split())


def difference(
    before: "dict[str, str]", context: "dict[str, object] | None", load: "Callable[[str], ModuleType]"
) -> "tuple[str, str]":
    """What the function changed in its session, and notes, as JSON (SPEC 6.7)."""
    if context is None:
        return "null", "[]"
    reserved = ("user", "email", "groups", "tools", "notebook", "project")
    try:
        changed = []
        for key, value in context.items():
            if key in reserved:
                continue
            if type(key) is not str:
                raise Trouble("result", f"a key of `context` is of type `{type(key).__name__}`; keys are text")
            text = encode(value, load, f"context[{shown(key)}]", strict=True)
            if before.get(key) != text:
                changed.append(f"{quoted(key)}:{text}")
        gone = [quoted(key) for key in before if key not in context and key not in reserved]
    except Trouble as trouble:
        return "null", f"[{quoted(f'the session was not changed: {trouble}')}]"
    return f'{{"set":{{{",".join(changed)}}},"deleted":[{",".join(gone)}]}}', "[]"


def encode(value: object, load: "Callable[[str], ModuleType]", root: str = "value", *, strict: bool = False) -> str:
    """*value* as ASCII JSON by the rules of SPEC 7.3; with *strict*, nothing but JSON's own types."""
    out: "list[str]" = []
    try:
        Writer(out, load, root, strict).write(value, None)
    except RecursionError:
        raise Trouble("result", f"cannot return {root}: it is nested too deeply") from None
    return "".join(out)


class Writer:
    """Writes one value. A place is a chain ``(place around it, key)``, made into text only for an error."""

    def __init__(self, out: "list[str]", load: "Callable[[str], ModuleType]", root: str, strict: bool) -> None:
        self.out, self.load, self.root, self.strict = out.append, load, root, strict
        self.around: "set[int]" = set()

    def write(self, value: object, place: "tuple[Any, object] | None") -> None:
        kind = type(value)
        if kind is str:
            self.out(quoted(value))  # type: ignore[arg-type]
        elif value is None or value is True or value is False:
            self.out("null" if value is None else "true" if value else "false")
        elif kind is int:
            if not -MOST < value < MOST:  # type: ignore[operator]
                raise self.too_long(value, place)  # type: ignore[arg-type]
            self.out(repr(value))
        elif kind is float:
            if value - value != 0:  # type: ignore[operator]
                raise self.refused(f"`float` that is {value}", place, "JSON has no such number; return None or text")
            self.out(repr(value))
        elif kind is list or kind is tuple or kind is dict:
            if id(value) in self.around:
                raise self.refused(f"`{kind.__name__}` that holds itself", place, "return a tree")
            self.around.add(id(value))
            self.mapping(value, place) if kind is dict else self.items(value, place)  # type: ignore[arg-type]
            self.around.discard(id(value))
        else:
            self.write(self.simpler(value, place), place)

    def items(self, values: "list[object]", place: "tuple[Any, object] | None") -> None:
        self.out("[")
        for at, value in enumerate(values):
            if at:
                self.out(",")
            self.write(value, (place, at))
        self.out("]")

    def mapping(self, values: "dict[object, object]", place: "tuple[Any, object] | None") -> None:
        self.out("{")
        seen: "set[str]" = set()
        for key, value in values.items():
            text = key if type(key) is str else self.key(key, place)
            if text in seen:
                raise self.refused(f"mapping with two keys {shown(text)}", place, "JSON's keys are text")
            if seen:
                self.out(",")
            seen.add(text)
            self.out(quoted(text))
            self.out(":")
            self.write(value, (place, text))
        self.out("}")

    def key(self, key: object, place: "tuple[Any, object] | None") -> str:
        """The text that JSON would make of a key."""
        while not (key is None or type(key) in (str, bool, int, float)):
            if isinstance(key, (tuple, frozenset, bytes)):
                raise self.refused(f"key of type `{type(key).__name__}`", place, "JSON's keys are text")
            key = self.simpler(key, place)
        return key if type(key) is str else encode(key, self.load, where(self.root, place))

    def simpler(self, value: object, place: "tuple[Any, object] | None") -> object:
        """A value of another type by one step of the documented rules."""
        kind = type(value)
        name = kind.__qualname__
        advice = "return JSON: text, numbers, true, false, None, lists and mappings of them"
        if self.strict:
            raise self.refused(f"`{name}`", place, advice)
        rules = self.load("fn_values")
        try:
            simple = rules.simpler(value, MOST_ITEMS)
        except rules.Unfit as unfit:
            raise self.refused(f"`{name}`", place, str(unfit) or advice) from None
        return simple

    def refused(self, what: str, place: "tuple[Any, object] | None", advice: str) -> Trouble:
        verb = "keep" if self.strict else "return"
        return Trouble("result", f"cannot {verb} a {what} at {where(self.root, place)}; {advice}")

    def too_long(self, value: int, place: "tuple[Any, object] | None") -> Trouble:
        from math import log10

        verb = "keep" if self.strict else "return"
        many = f"an integer of {int(log10(abs(value))) + 1:,} digits"
        return Trouble("result", f"cannot {verb} {many} at {where(self.root, place)}; {verb} it as text")


def where(root: str, place: "tuple[Any, object] | None") -> str:
    """``value['a'][2]``"""
    parts = []
    while place is not None:
        place, key = place
        parts.append(f"[{shown(key)}]")
    return root + "".join(reversed(parts))


def shown(key: object) -> str:
    """A key as it is told; of a long one nothing, because a part of a secret could not be recognised as one."""
    text = repr(key)
    return text if len(text) <= 42 else "…"


def flush() -> None:
    """What the tool printed leaves before its answer does."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:  # noqa: BLE001 - the tool closed it, or put something of its own there
            pass
