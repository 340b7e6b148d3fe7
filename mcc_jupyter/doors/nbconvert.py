"""The door for nbconvert: ``RedactPreprocessor`` redacts the outputs of a notebook that is converted (SPEC 8.4).

    c.Exporter.preprocessors = ["mcc_jupyter.doors.nbconvert.RedactPreprocessor"]
    c.RedactPreprocessor.env_files = [".env"]

The class is made when it is first asked for: nbconvert is an extra, and nothing else of the package needs it.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from ..core.errors import SecretError
from ..runtime.scanned import scanner

if TYPE_CHECKING:
    from nbconvert.preprocessors import Preprocessor

NAME = "RedactPreprocessor"


def __getattr__(name: str) -> Any:
    if name == NAME:
        return _preprocessor()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _preprocessor() -> type[Preprocessor]:
    try:
        from nbconvert.preprocessors import Preprocessor
    except ModuleNotFoundError as error:
        raise ImportError("nbconvert is not installed; install mcc-jupyter[nbconvert]") from error
    from nbformat import from_dict
    from traitlets import Bool, List, Unicode

    class RedactPreprocessor(Preprocessor):
        """Outputs with marks where secrets were. What stands in a source is a warning, or with ``strict`` an error."""

        enabled = Bool(True, help="Whether it does anything.").tag(config=True)
        env_files = List(Unicode(), help="Env files whose values are looked for.").tag(config=True)
        parent_values = Bool(False, help="Whether the values of this process's variables are too.").tag(config=True)
        ignored = List(Unicode(), help="Globs of names and formats that are not told.").tag(config=True)
        strict = Bool(False, help="Whether a secret that is not in an output is an error.").tag(config=True)

        def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
            known, notes = scanner(self.env_files, os.environ, of_parent=self.parent_values, ignored=self.ignored)
            cleaned = known.clean_notebook(json.dumps(nb))
            standing = [str(finding) for finding in cleaned.standing]
            if standing and self.strict:
                raise SecretError("\n".join(standing))
            for line in (*notes, *standing):
                self.log.warning("%s", line)
            if cleaned.redacted:
                nb = from_dict(json.loads(cleaned.text))  # type: ignore[no-untyped-call]
            # nbconvert's own preprocessors go first, and some exporters have taken drawings out of the outputs by now.
            extracted = resources.get("outputs") or {}
            for name, data in extracted.items():
                with suppress(UnicodeDecodeError):  # a picture
                    extracted[name] = known.clean_text(data.decode()).text.encode()
            return nb, resources

    RedactPreprocessor.__qualname__ = NAME
    return RedactPreprocessor
