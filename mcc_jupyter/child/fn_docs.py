"""A docstring → its summary and what it says of parameters, in the styles of Google, NumPy and Sphinx (SPEC 2.7)."""

import inspect
import re
from typing import Any

_GOOGLE = re.compile(r"(?:(?:keyword |other )?(?:args|arguments|parameters|params)):", re.I)
_NUMPY = re.compile(r"(?:other )?parameters", re.I)
_SPHINX = re.compile(r":(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:(.*)")
_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\(.*?\))?\s*:(?:\s+(.*)|$)")
_NAMES = re.compile(r"\*{0,2}(\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?")
_SECTION = re.compile(r"[A-Z][\w ]*:|:\w+")


def read(text: Any) -> Any:
    """The summary, and a mapping of parameter names to descriptions."""
    lines = inspect.cleandoc(text or "").splitlines()
    summary: "list[str]" = []
    for line in lines:
        if not line or (summary and _SECTION.fullmatch(line)) or line.startswith(":"):
            break
        summary.append(line.strip())
    found: "dict[str, str]" = {}
    for at, line in enumerate(lines):
        sphinx = _SPHINX.match(line.strip())
        if sphinx:
            found[sphinx[1]] = _joined([sphinx[2], *_deeper(lines, at)])
        elif _GOOGLE.fullmatch(line.strip()):
            _google(_deeper(lines, at), found)
        elif _NUMPY.fullmatch(line.strip()) and _is_rule(lines, at + 1):
            _numpy(lines[at + 2 :], found)
    return " ".join(summary), {name: text for name, text in found.items() if text}


def _google(lines: Any, found: Any) -> Any:
    """Entries ``name (type): text``, each at the indentation of the first."""
    depth = min((_depth(line) for line in lines if line.strip()), default=0)
    for at, line in enumerate(lines):
        entry = _ENTRY.fullmatch(line.strip())
        if entry and _depth(line) == depth:
            found[entry[1]] = _joined([entry[2] or "", *_deeper(lines, at)])


def _numpy(lines: Any, found: Any) -> Any:
    """Entries ``name, name : type`` with the text below, up to the next underlined heading."""
    for at, line in enumerate(lines):
        if _is_rule(lines, at + 1):
            return
        entry = _NAMES.fullmatch(line)
        if entry and not line.startswith(" "):
            for name in entry[1].split(","):
                found[name.strip(" *")] = _joined(_deeper(lines, at))


def _deeper(lines: Any, at: Any) -> Any:
    """The lines after *at* that stand deeper than it."""
    found = []
    for line in lines[at + 1 :]:
        if line.strip() and _depth(line) <= _depth(lines[at]):
            break
        found.append(line)
    return found


def _depth(line: Any) -> Any:
    return len(line) - len(line.lstrip())


def _is_rule(lines: Any, at: Any) -> Any:
    return at < len(lines) and len(lines[at].strip()) > 2 and not lines[at].strip(" -=")


def _joined(lines: Any) -> Any:
    """One paragraph of text."""
    return " ".join(" ".join(lines).split())
