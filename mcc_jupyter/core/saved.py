"""The content of a notebook that is about to be saved → the secrets in it, and its outputs without them (SPEC 8.4).

1. What is found and what is changed is what ``scan`` finds and changes; it is asked only about the parts of a notebook
   in which the sieve suspects something.
2. Outputs are redacted. Sources, attachments and metadata are the author's: they are told and never changed.
3. The content itself is not changed; what is to be put in its place is handed back.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .errors import DeclarationError
from .redact import Redactor
from .scan import FORMAT, Finding, Scanner, Where, is_binary, is_encoded
from .sieve import Sieve, Text

_NUMERIC = re.compile(r"\s*[-+]?[0-9][0-9.eE+-]*\s*", re.A)


@dataclass(frozen=True, slots=True)
class Checked:
    """What a notebook holds, and what to save instead of it; the same object where nothing was redacted."""

    content: object = field(repr=False)
    findings: tuple[Finding, ...] = ()

    @property
    def redacted(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.redacted)

    @property
    def standing(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if not finding.redacted)


class Checker:
    """Knows *secrets*, pairs of a name and a value, and looks for keys of the well-known formats. For any thread."""

    def __init__(self, secrets: Iterable[tuple[str, str]] = ()) -> None:
        pairs = tuple(dict.fromkeys(secrets))
        self._scanner = Scanner(pairs)
        self._sieve = Sieve(pairs)
        numbers = [(name, value) for name, value in pairs if _NUMERIC.fullmatch(value)]
        self._numbers = Redactor(numbers)
        """Those that a program may print as a number of a JSON document, which is no text."""
        self.skipped = self._scanner.skipped
        """Names whose values are too short or too common to be looked for."""

    def check(self, content: object, *, clean: bool = False) -> Checked:
        """What *content*, the data of a notebook, holds; *clean*: with its outputs redacted.

        Raises ``DeclarationError`` for what is no notebook.
        """
        cells = content.get("cells") if isinstance(content, Mapping) else None
        if not isinstance(content, Mapping) or not isinstance(cells, list):
            return self._other(content, clean=clean)
        rest = {key: value for key, value in content.items() if key != "cells"}
        texts = [text for at, cell in enumerate(cells) for text in _texts_of_cell(at, cell)]
        texts += _texts(len(cells), rest)
        if self._numbers:
            texts += [Text(at, number) for at, cell in enumerate(cells) for number in _numbers(_outputs(cell))]
        findings: list[Finding] = []
        changed = list(cells)
        for at in sorted(self._sieve.suspects(texts)):
            if at == len(cells):
                findings += self._scanner.notebook(json.dumps({"cells": [], **rest}))
                continue
            found, outputs = self._cell(cells[at], clean=clean)
            findings += [replace(item, where=replace(item.where, cell=at + 1)) for item in dict.fromkeys(found)]
            if outputs is not None:
                changed[at] = {**cells[at], "outputs": outputs}
        is_changed = any(finding.redacted for finding in findings)
        return Checked({**content, "cells": changed} if is_changed else content, tuple(findings))

    def text(self, text: str, *, clean: bool = False) -> Checked:
        """The same for the text of a file that should be a notebook; of another text all is told."""
        try:
            content = json.loads(text.removeprefix("\ufeff"))
            checked = self.check(content, clean=clean)
        except (ValueError, RecursionError, DeclarationError):
            return Checked(text, tuple(self._scanner.text(text)))
        if checked.content is content:
            return replace(checked, content=text)
        return replace(checked, content=json.dumps(checked.content, indent=1, ensure_ascii=False) + "\n")

    def _other(self, content: object, *, clean: bool) -> Checked:
        """A notebook of before 2015, in which the cells are in worksheets."""
        document = json.dumps(content)
        if not clean:
            return Checked(content, tuple(self._scanner.notebook(document)))
        cleaned = self._scanner.clean_notebook(document)
        changed = json.loads(cleaned.text) if cleaned.redacted else content
        return Checked(changed, (*cleaned.redacted, *cleaned.standing))

    def _cell(self, cell: object, *, clean: bool) -> tuple[list[Finding], list[Any] | None]:
        document = json.dumps({"cells": [cell]})
        if not clean:
            return [*self._scanner.notebook(document), *self._in_numbers(_outputs(cell), [])], None
        cleaned = self._scanner.clean_notebook(document)
        outputs = _outputs(json.loads(cleaned.text)["cells"][0])
        changed: list[Any] = []
        found = [replace(item, redacted=True) for item in self._in_numbers(outputs, changed)]
        findings = [*cleaned.redacted, *found, *cleaned.standing]
        return findings, changed if cleaned.redacted or found else None

    def _in_numbers(self, outputs: list[Any], changed: list[Any]) -> list[Finding]:
        """What the numbers of *outputs* spell; *changed* gets the outputs without it."""
        if not self._numbers:
            changed += outputs
            return []
        found = []
        for at, output in enumerate(outputs, 1):
            names = dict.fromkeys(filter(None, map(self._numbers.secret_in, _numbers(output))))
            found += [Finding(Where("output", 1, at), name) for name in names]
            changed.append(self._numbers.data(output) if names else output)
        return found


class Checkers:
    """A checker for what is secret now: the one before, which remembers what was clean, while that has not changed."""

    def __init__(self) -> None:
        self._last: tuple[tuple[tuple[str, str], ...], Checker] | None = None

    def knowing(self, secrets: Iterable[tuple[str, str]]) -> Checker:
        pairs = tuple(secrets)
        last = self._last
        if last is None or last[0] != pairs:
            self._last = last = pairs, Checker(pairs)
        return last[1]


def _outputs(cell: object) -> list[Any]:
    outputs = cell.get("outputs") if isinstance(cell, Mapping) else None
    return outputs if isinstance(outputs, list) else []


def _texts_of_cell(part: int, cell: object) -> Iterator[Text]:
    """What ``scan`` takes for one text is one here: lines, and what was printed though saved as several outputs."""
    if not isinstance(cell, Mapping):
        yield from _texts(part, cell)
        return
    yield from _keys(part, cell)
    for key, value in cell.items():
        if key in ("source", "input"):
            yield from _lines(part, value)
        elif key == "outputs" and isinstance(value, list):
            yield from _texts_of_outputs(part, value)
        elif key == "attachments" and isinstance(value, Mapping):
            for name, bundle in value.items():
                yield from _texts(part, [name, *bundle] if isinstance(bundle, Mapping) else name)
                yield from _bundle(part, bundle)
        elif key == "id" and isinstance(value, str):
            yield Text(part, value, is_picture=True)
        else:
            yield from _texts(part, value)


def _keys(part: int, mapping: Mapping[str, object]) -> Iterator[Text]:
    yield from (Text(part, key) for key in mapping if key not in FORMAT)


def _texts_of_outputs(part: int, outputs: list[Any]) -> Iterator[Text]:
    name, printed = None, ""
    for output in outputs:
        if not isinstance(output, Mapping):
            yield from _texts(part, output)
            continue
        if (stream := output.get("name") if output.get("output_type") == "stream" else None) != name:
            yield Text(part, printed)
            name, printed = stream, ""
        yield from _keys(part, output)
        for key, value in output.items():
            if key == "text" and name is not None:
                for text in _lines(part, value):
                    printed += text.text
            elif key == "data":
                yield from _bundle(part, value)
            elif key == "traceback":
                yield from _texts(part, value)
            else:
                yield from _lines(part, value, is_picture=is_binary(key))
    yield Text(part, printed)


def _bundle(part: int, bundle: object) -> Iterator[Text]:
    if not isinstance(bundle, Mapping):
        yield from _texts(part, bundle)
        return
    yield from _keys(part, bundle)
    for mime, value in bundle.items():
        if mime.endswith("json"):
            yield from _texts(part, value)
        else:
            yield from _lines(part, value, is_picture=is_binary(mime))


def _lines(part: int, value: object, *, is_picture: bool = False) -> Iterator[Text]:
    """*value* as one text if it is one, or a list of its lines."""
    if isinstance(value, list):
        with contextlib.suppress(TypeError):
            value = "".join(value)
    if isinstance(value, str):
        yield Text(part, value, is_picture and is_encoded(value))
    else:
        yield from _texts(part, value)


def _texts(part: int, value: object) -> Iterator[Text]:
    """Every text in *value*, each by itself, and keys too."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield Text(part, item)
        elif isinstance(item, Mapping):
            waiting += [*item, *item.values()]
        elif isinstance(item, list):
            waiting += item


def _numbers(value: object) -> Iterator[str]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Mapping):
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
        elif isinstance(item, int | float) and not isinstance(item, bool):
            yield str(item)
