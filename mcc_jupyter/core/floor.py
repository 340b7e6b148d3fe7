"""The deployment's floor: text of ``MCC_ENV_FLOOR`` → names (SPEC 4.2).

Whatever is not clearly a list of names is an error: a floor that silently became empty would break every tool.
"""

from __future__ import annotations

import json
import re
from typing import NoReturn

from .errors import PolicyError
from .names import NAME, is_reserved


def read_floor(text: str, *, origin: str = "MCC_ENV_FLOOR") -> tuple[str, ...]:
    """Names by comma, space or as a JSON list; raises ``PolicyError``."""
    stripped = text.strip()
    if stripped.startswith(("[", "{", '"')):
        try:
            names = json.loads(stripped)
        except ValueError:
            _refuse(origin, "it begins like JSON and does not parse")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            _refuse(origin, "its JSON is no list of names")
    else:
        names = [name for name in re.split(r"[\s,]+", stripped) if name]
    for at, name in enumerate(names):
        if not NAME.fullmatch(name):
            _refuse(origin, f"entry {at + 1} is no variable name")
        if is_reserved(name):
            _refuse(origin, f"{name} belongs to the session")
    if not names:
        _refuse(origin, "it names nothing")
    return tuple(dict.fromkeys(names))


def _refuse(origin: str, why: str) -> NoReturn:
    raise PolicyError(f"{origin}: {why}; write names separated by commas, for example PATH,HOME,LANG")
