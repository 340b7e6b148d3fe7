"""The engine: a tool and its parent → the environment of one call, and why (SPEC 4, 5).

1. The layers stand in one place, ``resolve``, each over the one before. Nothing else ever reaches a child.
2. A ``Binding`` knows its source, its rule and what it shadows. Its value leaves a ``Resolution`` in ``command`` only.
3. Which rows there are and what they say depends on names and value classes, never on a value (SPEC 11.2).

A mapping given as ``parent`` must not change afterwards: while a caller hands on the same object, the layers that
depend on it alone are reused, and from another one only what differs is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from . import availability, names
from .cap import Cap
from .dotenv import Dotenv, Unreadable
from .resolution import Binding, Context, Provenance, Reason, Resolution, Source
from .tool import WARNING, Function, Tool, command_references
from .values import ValueClass, classify, compose


@dataclass(slots=True)
class _Offer:
    """One variable as a layer gives it. Not frozen, which would take twice as long: it is gone once it is laid."""

    name: str
    value: str = field(repr=False)
    value_class: ValueClass
    rule: str
    secret: bool = False
    flags: tuple[str, ...] = ()


_Stack = dict[str, Binding]
_OF_THE_PARENT = (Source.FLOOR, Source.PASSTHROUGH, Source.GRANT)


@dataclass(frozen=True, slots=True)
class _Base:
    """The layers that depend on the parent alone, and which of their names a resolution has to look at again."""

    parent: Mapping[str, str] = field(repr=False)
    below: _Stack = field(repr=False)
    """``stack`` without the grants."""
    stack: _Stack = field(repr=False)
    reserved: tuple[str, ...]
    unresolved: tuple[str, ...]
    granted: tuple[str, ...]
    cap: Cap | None = None


def resolve(
    tool: Tool,
    *,
    parent: Mapping[str, str],
    floor: tuple[str, ...],
    files: tuple[Dotenv | Unreadable, ...] = (),
    context: Context | None = None,
    groups: frozenset[str] | None = None,
    cap: Cap | None = None,
    refusal: Reason | None = None,
    kernel: bool = True,
) -> Resolution:
    """The environment of one call of *tool* (SPEC 4.1).

    *files* are the contents of ``tool.env_files``, in that order. *context* is the session in the form the tool's kind
    takes. *groups* are the caller's groups; None is a local user without configuration, who has all of them (SPEC 6.6).
    *cap* is what a policy file lets this tool ask of the parent; None where nothing stands over it (SPEC 9.3).
    *refusal* is what the operator has against the tool as a whole.
    *kernel*: the parent is a kernel's environment, for what the notes advise.
    """
    context = context or Context()
    notes: list[str] = []
    base = _from_parent(tool, parent, floor, cap)
    kept_out = availability.Withheld(tool, floor, cap)
    stack = dict(base.stack)
    own = [
        *base.granted,
        *_lay(stack, Source.REFERENCE, _reference_layer(tool, kept_out)),
        *_lay(stack, Source.ENV_FILE, _env_file_layer(tool, files, stack, notes, kept_out)),
        *_lay(stack, Source.ENV, _env_layer(tool, kept_out)),
        *_lay(stack, Source.SECRET, _secret_layer(tool, kept_out)),
        *_lay(stack, Source.RUNTIME, _runtime_layer(tool, stack)),
    ]
    refused = _refuse(stack, (*base.reserved, *own))
    _lay(stack, Source.SESSION, _session_layer(context))

    unresolved = availability.unresolved_names(tool, [stack[name] for name in set(own) if name in stack])
    unresolved += availability.unresolved_references(tool, unresolved)
    lacking = [grant for grant in tool.required_env if not _has_value(stack.get(grant.child))]
    forbidden = [grant for grant in lacking if kept_out(grant.parent)]
    lacking = [grant for grant in lacking if grant not in forbidden] + availability.empty_files(tool, stack)
    missing = tuple(grant for grant in lacking if grant.child not in unresolved)
    unset = [grant for grant in tool.optional_env if grant.child not in stack]
    withdrawn = _withdraw(tool, stack, (*base.unresolved, *base.granted))
    asked = kept_out.asked(forbidden, unset, parent)
    refused |= {name: provenance for name, provenance in asked.items() if name not in stack}
    told = [*unresolved, *sorted(withdrawn)]
    notes = [*availability.notes(tool, missing, told, stack, parent, context, kept_out, kernel=kernel), *notes]
    return Resolution(
        tool=tool.name,
        kind=tool.kind,
        bindings=stack,
        withdrawn=withdrawn,
        missing=missing,
        unset=tuple(grant for grant in unset if not kept_out(grant.parent)),
        refused=refused,
        reasons=(
            *(() if refusal is None else (refusal,)),
            *kept_out.reasons(forbidden),
            *availability.reasons(tool, missing, unresolved, files, groups),
        ),
        notes=tuple(notes),
    )


def withheld(resolution: Resolution, tool: Tool, parent: Mapping[str, str]) -> tuple[str, ...]:
    """Parent names that this tool does not get, sorted (SPEC 11.1 ``--all``)."""
    known = resolution.bindings.keys() | resolution.withdrawn.keys() | resolution.refused.keys()
    renamed = {grant.parent for grant in (*tool.required_env, *tool.optional_env) if grant.child in resolution.bindings}
    return tuple(sorted(name for name in parent if name and name not in known and name not in renamed))


# ---- the layers, in their order


class _Memo:
    """The last answer of ``_from_parent`` for each tool. Small: a notebook has few tools in use at once."""

    def __init__(self, size: int = 64) -> None:
        self._size = size
        self._answers: dict[tuple[int, tuple[str, ...]], tuple[Tool, _Base]] = {}

    def get(self, tool: Tool, floor: tuple[str, ...]) -> _Base | None:
        found = self._answers.get((id(tool), floor))
        return found[1] if found is not None else None

    def put(self, tool: Tool, floor: tuple[str, ...], base: _Base) -> None:
        # The kept reference to the tool is what makes its id safe to use as a key.
        # Listed first, because another thread may put an answer meanwhile.
        for oldest in list(self._answers)[: max(0, len(self._answers) - self._size + 1)]:
            self._answers.pop(oldest, None)
        self._answers[id(tool), floor] = (tool, base)


_memo = _Memo()


def _from_parent(tool: Tool, parent: Mapping[str, str], floor: tuple[str, ...], cap: Cap | None) -> _Base:
    last = _memo.get(tool, floor)
    if last is not None and last.cap != cap:
        last = None
    if last is not None and last.parent is parent:
        return last
    below = _below_grants(tool, parent, floor, last, cap)
    stack = dict(below)
    kept_out = availability.Withheld(tool, floor, cap)
    granted = _lay(stack, Source.GRANT, _grant_layer(tool, parent, below, kept_out))
    unresolved = tuple(name for name, binding in below.items() if binding.value_class is ValueClass.UNRESOLVED)
    base = _Base(parent, below, stack, tuple(filter(names.is_reserved, stack)), unresolved, tuple(granted), cap)
    _memo.put(tool, floor, base)
    return base


def _below_grants(
    tool: Tool, parent: Mapping[str, str], floor: tuple[str, ...], last: _Base | None, cap: Cap | None
) -> _Stack:
    """Floor and passthrough. A binding there depends on its own variable alone, so only what changed is made anew."""
    stack: _Stack = {}
    changed = parent
    if last is not None:
        changed = {name: value for name, value in parent.items() if last.parent.get(name) != value}
        stack = {name: binding for name, binding in last.below.items() if name in parent and name not in changed}
    _lay(stack, Source.FLOOR, _floor_layer(changed, floor))
    _lay(stack, Source.PASSTHROUGH, _passthrough_layer(tool, changed, cap))
    # In the order that they have without a last answer.
    return stack if last is None else {name: stack[name] for name in (*floor, *parent) if name in stack}


def _floor_layer(parent: Mapping[str, str], floor: tuple[str, ...]) -> Iterator[_Offer]:
    for name in floor:
        value = parent.get(name)
        if value is not None and not value.startswith("()"):
            yield _Offer(name, value, classify(value), name)


def _passthrough_layer(tool: Tool, parent: Mapping[str, str], cap: Cap | None) -> Iterator[_Offer]:
    """SPEC 4.3. Shell functions pass only when named exactly."""
    patterns = ("*",) if tool.passthrough is True else tool.passthrough
    if not patterns:
        return
    exact = frozenset(pattern for pattern in patterns if not names.has_wildcard(pattern))
    matches = names.any_of(patterns).match
    allowed = None if cap is None else cap.test()
    for name, value in parent.items():
        if not name or not matches(name):  # `env =x` gives a variable without a name
            continue
        named = name in exact
        if (value.startswith("()") and not named) or (allowed is not None and not allowed(name)):
            continue
        rule = name if named else "true" if tool.passthrough is True else str(names.first_match(patterns, name))
        flags = ("credential-like",) if not named and names.is_credential_like(name) else ()
        yield _Offer(name, value, classify(value), rule, _may_be_secret(tool, name), flags)


def _grant_layer(
    tool: Tool, parent: Mapping[str, str], below: _Stack, withheld: availability.Withheld
) -> Iterator[_Offer]:
    """SPEC 4.5. What the operator grants says so in its rule."""
    by = f"{tool.origin.label}: " if tool.origin.kind == "policy" else ""
    for field_name, grants in (("optional_env", tool.optional_env), ("required_env", tool.required_env)):
        for grant in grants:
            value = parent.get(grant.parent)
            if value is not None and not withheld(grant.parent):
                value_class = classify(value)
                optional = field_name == "optional_env"
                if optional and value_class is ValueClass.UNRESOLVED and grant.child in below:
                    continue  # it counts as no value, and what lies below has one
                rule = by + field_name if grant.child == grant.parent else f"{by}{field_name} (from {grant.parent})"
                # Under another name it is what it was: the two names have to agree that it is no secret.
                secret = grant.child not in tool.never_redact and not (
                    names.is_known_not_secret(grant.child) and names.is_known_not_secret(grant.parent)
                )
                yield _Offer(grant.child, value, value_class, rule, secret)


def _reference_layer(tool: Tool, withheld: availability.Withheld) -> Iterator[_Offer]:
    for reference in command_references(tool):
        if withheld(reference.name):
            continue
        secret = _may_be_secret(tool, reference.name)
        # A command text that names a variable asks for it, which its author may not have meant.
        flags = ("credential-like",) if names.is_credential_like(reference.name) else ()
        rule = f"${{{reference.name}}}"
        yield _Offer(reference.name, reference.value, classify(reference.value), rule, secret, flags)


def _env_file_layer(
    tool: Tool,
    files: tuple[Dotenv | Unreadable, ...],
    below: Mapping[str, Binding],
    notes: list[str],
    withheld: availability.Withheld,
) -> Iterator[_Offer]:
    """SPEC 4.4: ``${X}`` sees earlier keys of the files, then what the layers below grant this tool, nothing else."""
    seen: dict[str, tuple[str, ValueClass]] = {}
    for declared, content in zip(tool.env_files, files, strict=True):
        if isinstance(content, Unreadable):
            continue
        notes.extend(f"{WARNING}env_file {declared.written}: {warning}" for warning in content.warnings)
        for entry in content.entries:
            texts: list[str] = []
            parts: list[str | ValueClass] = []
            for atom in entry.atoms:
                if isinstance(atom, str):
                    texts.append(atom)
                    parts.append(atom)
                    continue
                found = seen.get(atom.name)
                if found is None and atom.name in below:
                    found = below[atom.name].value, below[atom.name].value_class
                if found is None and atom.default is None and names.NAME.fullmatch(atom.name):
                    todo = withheld.refusal(atom.name) or "grant it with env_passthrough or optional_env"
                    where = f"{WARNING}env_file {declared.written}, line {entry.line}"
                    notes.append(f"{where}: {atom.name} is not available to this tool; {todo}")
                default = atom.default or ""
                texts.append(found[0] if found is not None else default)
                parts.append(found[1] if found is not None else default)
            value = "".join(texts)
            seen[entry.name] = (value, compose(parts))
            yield _Offer(entry.name, *seen[entry.name], declared.written, _may_be_secret(tool, entry.name))


def _env_layer(tool: Tool, withheld: availability.Withheld) -> Iterator[_Offer]:
    for name, text in tool.env.items():
        used = (*(reference.name for reference in text.references), *text.unresolved)
        if any(map(withheld, used)):
            continue
        rule = " ".join(f"${{{reference}}}" for reference in dict.fromkeys(used)) or "literal"
        value_class = ValueClass.UNRESOLVED if text.unresolved else text.value_class
        # A literal already stands in the notebook; what a reference brought does not (SPEC 8.1).
        secret = bool(text.references) and _may_be_secret(tool, name)
        yield _Offer(name, text.value, value_class, rule, secret)


def _secret_layer(tool: Tool, withheld: availability.Withheld) -> Iterator[_Offer]:
    """SPEC 8.7. The value is the path of a file that only the started process has; its content is in the tool."""
    for name, text in tool.secret_files.items():
        if any(map(withheld, (*(reference.name for reference in text.references), *text.unresolved))):
            continue
        value_class = ValueClass.ABSENT if text.unresolved else text.value_class
        if value_class in (ValueClass.OVERSIZED, ValueClass.FUNCTION):  # a file may hold what no variable can
            value_class = ValueClass.SET
        yield _Offer(name, "", value_class, "secret_files")


def _runtime_layer(tool: Tool, below: Mapping[str, Binding]) -> Iterator[_Offer]:
    """SPEC 4.7."""
    if not isinstance(tool.body, Function):
        return
    lower = below.get("PYTHONPATH")
    passed = lower is not None and lower.value and lower.value_class is not ValueClass.UNRESOLVED
    folders = [tool.cwd.value, *([lower.value] if lower is not None and passed else [])]
    yield _Offer("PYTHONPATH", ":".join(folders), ValueClass.SET, "cwd")


def _refuse(stack: _Stack, suspects: Iterable[str]) -> dict[str, Provenance]:
    """Empties the reserved names of whatever lower layers brought (SPEC 4.8)."""
    return {name: stack.pop(name).provenance for name in dict.fromkeys(suspects) if names.is_reserved(name)}


def _withdraw(tool: Tool, stack: _Stack, suspects: Iterable[str]) -> dict[str, Binding]:
    """Takes out what nothing resolved and no reason stands for: a reference is no value (SPEC 5.1)."""
    found = {}
    for name in dict.fromkeys(suspects):
        binding = stack.get(name)
        if binding is None or binding.value_class is not ValueClass.UNRESOLVED:
            continue
        if binding.provenance.source in _OF_THE_PARENT and not availability.insists(tool, binding):
            found[name] = stack.pop(name)
    return found


def _session_layer(context: Context) -> Iterator[_Offer]:
    for name, value in context.variables.items():
        yield _Offer(name, value, classify(value), "identity" if _is_identity(name) else "session")
    if context.document is not None:
        yield _Offer("MCC_SESSION_FILE", "", ValueClass.SET, "session")


# ---- what the layers are laid with


_FLAGGED = (ValueClass.EMPTY, ValueClass.BLANK, ValueClass.FUNCTION, ValueClass.OVERSIZED)


def _lay(stack: _Stack, source: Source, offers: Iterable[_Offer]) -> list[str]:
    """Lays one layer over *stack*; the names it brought."""
    laid = []
    provenance = Provenance(source, "")
    for offer in offers:
        laid.append(offer.name)
        under = stack.get(offer.name)
        if provenance.rule != offer.rule:
            provenance = Provenance(source, offer.rule)
        shadows = () if under is None else (under.provenance, *under.shadows)
        if provenance in shadows:
            # A name twice in one file is one source; the file's own warning tells of it.
            shadows = shadows[shadows.index(provenance) + 1 :]
        stack[offer.name] = Binding(
            name=offer.name,
            value=offer.value,
            value_class=offer.value_class,
            provenance=provenance,
            shadows=shadows,
            flags=_flags(source, offer),
            secret=offer.secret,
        )
    return laid


def _flags(source: Source, offer: _Offer) -> tuple[str, ...]:
    flags = offer.flags
    if source is not Source.SESSION and offer.value_class in _FLAGGED:
        flags = (offer.value_class.value, *flags)
    if source is not Source.FLOOR and names.is_risky(offer.name):
        flags = ("risky", *flags)
    return flags


def _may_be_secret(tool: Tool, name: str) -> bool:
    return name not in tool.never_redact and not names.is_known_not_secret(name)


def _is_identity(name: str) -> bool:
    return name.startswith("MCC_CTX_") and name.removeprefix("MCC_CTX_").lower() in names.IDENTITY


_VALUELESS = (ValueClass.ABSENT, ValueClass.EMPTY, ValueClass.UNRESOLVED)


def _has_value(binding: Binding | None) -> bool:
    return binding is not None and binding.value_class not in _VALUELESS
