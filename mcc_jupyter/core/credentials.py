"""Well-known shapes of credentials: does a literal look like one (SPEC 8.1)?

The shapes are the issuers' own prefixes; a text that only *may* be a password is left alone.
"""

from __future__ import annotations

import re

_SHAPES = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:AKIA|ASIA)[0-9A-Z]{12,}"  # AWS access key
    r"|gh[oprsu]_[A-Za-z0-9]{16,}|github_pat_\w{16,}"  # GitHub
    r"|glpat-[\w-]{12,}"  # GitLab
    r"|sk-[\w-]{16,}"  # OpenAI, Anthropic
    r"|[rs]k_(?:live|test)_[0-9A-Za-z]{10,}"  # Stripe
    r"|xox[abeoprs]-[0-9A-Za-z-]{10,}"  # Slack
    r"|AIza[\w-]{20,}"  # Google
    r"|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{20,}|pypi-[\w-]{20,}"
    r"|eyJ[\w-]{6,}\.eyJ[\w-]{6,}\.[\w-]*"  # JSON Web Token
    r")"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\b[a-z][a-z0-9+.-]*://[^\s/:@]*:(?![${<*])[^\s/@]+@",  # a URL with its password
    re.A,
)


def looks_like_credential(text: str) -> bool:
    """Whether *text* holds a key of a well-known format, or a URL with a password that is no reference."""
    return _SHAPES.search(text) is not None
