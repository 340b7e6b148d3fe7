"""The content of a secret file → what output is searched for (SPEC 8.1, 8.7).

1. The whole content counts, and with it each of its lines, as for any value of several lines.
2. A program shows a setting without the name that stands before it in the file, so what ends a line counts by itself.
"""

from __future__ import annotations

import re

SHORTEST = 16
"""Characters of the end of a line that counts by itself; shorter ones are too often words."""

_END = re.compile(rf"""[:=\s"']([^\s"']{{{SHORTEST},}})["',;]*\s*\Z""")
_ADDRESS = re.compile(r"https?://[^@]*\Z")
"""Where a server is, without a password, is no secret, and an error has to name it."""


def file_secrets(name: str, content: str) -> dict[str, str]:
    """What to search for, by the name shown instead: ``KUBECONFIG``, and ``KUBECONFIG[3]`` for the end of line 3."""
    found = {name: content.strip()}
    for number, line in enumerate(content.splitlines(), 1):
        end = _END.search(line)
        if end is not None and not _ADDRESS.match(end[1]):
            found[f"{name}[{number}]"] = end[1]
    return found
