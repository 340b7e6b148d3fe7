"""Command texts as Jinja2 templates (SPEC 7.2): compiled once, checked at declaration.

1. Sandboxed and strict: a name that is no parameter is an error, never an empty text.
2. What stands in ``{{ }}`` is written as JSON (``true``, ``[1]``), text raw; ``quote`` makes it one word.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from .context import encode
from .errors import near
from .shell_template import spans
from .tool import WARNING

if TYPE_CHECKING:
    from jinja2 import Environment, Template

RAW_HINT = "wrap text that is no template in {% raw %}…{% endraw %}"
_RAW_IT = "wrap it in {% raw %}…{% endraw %}"
_LENGTH = "`${#…}` begins a template comment (`{#`)"


def is_template(text: str) -> bool:
    """Whether Jinja2 would see anything in *text*; most commands are spared its import."""
    return any(mark in text for mark in ("{{", "{%", "{#"))


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(
        undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True, lstrip_blocks=True, finalize=_plain
    )
    environment.filters["quote"] = quote
    return environment


@lru_cache(maxsize=512)
def compile_template(text: str) -> Template:
    """The template of *text*; ``render(mapping)`` raises ``jinja2.UndefinedError`` for a name it was not given.

    Raises ``jinja2.TemplateSyntaxError``, which ``problems`` finds at declaration.
    """
    return _environment().from_string(text)


def render(text: str, values: Mapping[str, object]) -> str:
    """*text* with *values* in it. Raises ``jinja2.UndefinedError`` and whatever its filters raise."""
    if not is_template(text) and "\r" not in text:  # Jinja2 makes a newline of it
        return text
    rendered: str = compile_template(text).render(values)
    return rendered


def undefined_names(text: str) -> tuple[str, ...]:
    """The names that *text* takes from its caller, sorted; Jinja2's own (``range``) are none."""
    from jinja2.meta import find_undeclared_variables

    environment = _environment()
    return tuple(sorted(find_undeclared_variables(environment.parse(text)) - environment.globals.keys()))


def problems(text: str, *, tool: str, names: Collection[str] | None) -> Iterator[str]:
    """What is wrong with *text* as a template of *tool*; *names* are its parameters, None when not yet known."""
    if not is_template(text):
        return
    if text.endswith("{#"):  # Jinja2 drops this one without a word
        yield f"in tool `{tool}`: {_what_begins(text, len(text) - 2) or f'a comment `{{#` is not closed; {RAW_HINT}'}"
        return
    from jinja2 import TemplateAssertionError, TemplateSyntaxError
    from jinja2.meta import find_referenced_templates

    try:
        compile_template(text)
        if any(True for _ in find_referenced_templates(_environment().parse(text))):
            yield f"in tool `{tool}`: a template cannot include another one; write it out"
        if names is not None:
            strange = [name for name in undefined_names(text) if name not in names]
            yield from (f"uses `{name}`, which is no parameter{near(name, names)}" for name in strange)
    except TemplateAssertionError as error:  # an unknown filter or test
        word = "".join(re.findall(r"'(\w+)'", str(error.message)))
        hint = near(word, [*_environment().filters, *_environment().tests])
        yield f"in tool `{tool}`, line {error.lineno} of its text: {str(error.message).rstrip('.')}{hint}"
    except TemplateSyntaxError as error:
        told = f"{str(error.message).rstrip('.')}; {RAW_HINT}"
        if error.message == "Missing end of comment tag":
            told = _what_begins(text, text.find("{#", max((span.end for span in spans(text)), default=0))) or told
        elif error.message == "unexpected '.'" and re.search(r"\{\{-?\s*\.", text.split("\n")[error.lineno - 1]):
            told = f"`{{{{.…}}}}` is read as a template expression; {_RAW_IT}"
        yield f"in tool `{tool}`, line {error.lineno} of its text: {told}"
    except (RecursionError, MemoryError, SyntaxError):
        yield f"in tool `{tool}`: the template is nested too deep; write a simpler one"


def _what_begins(text: str, at: int) -> str:
    """Who wrote the length of a variable meant no comment."""
    return f"{_LENGTH}; {_RAW_IT}" if text[:at].endswith("$") else ""


def doubts(text: str) -> Iterator[str]:
    """What Jinja2 accepts and the author can hardly mean."""
    if any(span.kind == "{#" and text[: span.start].endswith("$") for span in spans(text)):
        yield f"{WARNING}{_LENGTH}, and what stands up to the next `#}}` is gone; {_RAW_IT}"


def _plain(value: object) -> object:
    """How a value stands in a command: text raw, nothing for null, the rest as JSON (as SPEC 6.4 does it)."""
    if value is None:
        return ""
    return encode(value) if isinstance(value, bool | list | tuple | dict) else value


def quote(value: object) -> str:
    """The ``quote`` filter: one shell word, or one a item of a list."""
    import shlex

    if isinstance(value, list | tuple):
        return " ".join(quote(item) for item in value)
    # str(): the Markup that ``tojson`` gives would escape quotes as HTML.
    return shlex.quote(str(_plain(value)))
