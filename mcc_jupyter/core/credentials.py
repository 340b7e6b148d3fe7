"""Well-known shapes of credentials → where a text holds one (SPEC 8.1, 8.4).

1. The shapes are the issuers' own prefixes, with the length and the letters that follow; a text that only *may* be a
   password is left alone, as are hashes, encoded images and the placeholders of a manual.
2. A shape begins where a word begins. What an escape leaves before it (``\\n``, ``%3D``) is no word.
3. The time is linear in the text: an expression is tried only where one of its prefixes stands, and none goes back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """One format. ``slug`` stands in marks and ``--ignore``, ``label`` in messages.

    *prefixes*: every match begins with one of them, or with a URL's scheme before it. The group ``secret`` of the
    expression, if it has one, is the secret.
    """

    slug: str
    label: str
    prefixes: tuple[str, ...]
    expression: re.Pattern[str]


_BEGIN = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4}))"
_END = r"(?![A-Za-z0-9])"
_KEY_GAP = r"(?:\\+[nrt]?|[\s\"',<>|])*+"
_KEY_NAME = r"(?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_PLACEHOLDER = (
    r"(?:password|passwd|pass|pwd|pw|secret|changeme|example|your\w*|my_?password|(?P<same>[^@])(?P=same)*|%s)@"
)


def _shape(slug: str, label: str, prefixes: str, expression: str) -> Shape:
    return Shape(slug, label, tuple(prefixes.split()), re.compile(f"{_BEGIN}(?:{expression}){_END}", re.A))


SHAPES = (
    _shape("aws-access-key", "an AWS access key", "AKIA ASIA ABIA ACCA", r"A(?:KI|SI|BI|CC)A[A-Z2-7]{16}"),
    _shape(
        "github-token", "a GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"gh[pousr]_[A-Za-z0-9]{36,}+|github_pat_\w{22,}+",
    ),
    _shape(
        "gitlab-token", "a GitLab token", "glpat- gldt- glrt- glptt- glcbt- glsoat- glft-",
        r"gl(?:pat|dt|rt|ptt|cbt|soat|ft)-[\w-]{20,}+(?:\.[0-9a-z]{2}\.[0-9a-z]{9})?",
    ),
    _shape("slack-token", "a Slack token", "xox xapp-", r"xox[abdeoprs]-\d[0-9A-Za-z-]{14,}+|xapp-\d-\w+-\d+-\w{32,}+"),
    _shape("slack-webhook", "a Slack webhook", "hooks.slack.com", r"hooks\.slack\.com/services/T\w+/B\w+/\w{20,}+"),
    _shape(
        "stripe-key", "a Stripe key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_",
        r"[rs]k_(?:live|test)_[0-9A-Za-z]{16,}+|whsec_[A-Za-z0-9+/]{32,}+",
    ),
    _shape("anthropic-key", "an Anthropic key", "sk-ant-", r"sk-ant-[a-z]{2,10}\d\d-[\w-]{20,}+"),
    _shape(
        "openai-key", "an OpenAI key", "sk-",
        r"sk-(?:proj|svcacct|admin)-[\w-]{20,}+|sk-[A-Za-z0-9]{32,}+(?![\w-])",
    ),
    _shape("openrouter-key", "an OpenRouter key", "sk-or-v1-", r"sk-or-v1-[0-9a-f]{64}"),
    _shape("langfuse-key", "a Langfuse key", "sk-lf-", r"sk-lf-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    _shape("groq-key", "a Groq key", "gsk_", r"gsk_[A-Za-z0-9]{48,}+"),
    _shape("google-key", "a Google API key", "AIza", r"AIza[\w-]{35}(?![\w-])"),
    _shape("google-oauth", "a Google OAuth secret", "GOCSPX- ya29.", r"GOCSPX-[\w-]{28}(?![\w-])|ya29\.[\w-]{40,}+"),
    _shape("jwt", "a JSON Web Token", "eyJ", r"eyJ[\w-]{6,}+\.eyJ[\w-]{6,}+\.[\w-]*+"),
    _shape("npm-token", "an npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _shape("pypi-token", "a PyPI token", "pypi-AgE", r"pypi-AgE[\w-]{50,}+"),
    _shape("sendgrid-key", "a SendGrid key", "SG.", r"SG\.[\w-]{22}\.[\w-]{43}(?![\w-])"),
    _shape("twilio-key", "a Twilio key", "SK", r"SK[0-9a-f]{32}"),
    _shape("huggingface-token", "a Hugging Face token", "hf_", r"hf_[A-Za-z0-9]{30,}+"),
    _shape("databricks-token", "a Databricks token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?"),
    _shape("digitalocean-token", "a DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", r"do[por]_v1_[0-9a-f]{64}"),
    _shape("docker-token", "a Docker token", "dckr_", r"dckr_[po]at_[\w-]{20,}+"),
    _shape("linear-key", "a Linear key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}+"),
    _shape("notion-token", "a Notion token", "ntn_", r"ntn_[A-Za-z0-9]{40,}+"),
    _shape("shopify-token", "a Shopify token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _shape("azure-storage-key", "an Azure storage key", "AccountKey=", r"AccountKey=(?P<secret>[A-Za-z0-9+/]{86}==)"),
    Shape(
        "private-key", "a private key", ("-----BEGIN ",),
        re.compile(
            rf"-----BEGIN {_KEY_NAME}(?:{_KEY_GAP}[A-Z][A-Za-z-]{{2,20}}: [^\n\\]{{1,80}})*+"
            rf"(?:{_KEY_GAP}[A-Za-z0-9+/=]{{16,}}+)++"
            rf"(?:(?:{_KEY_GAP}=?[A-Za-z0-9+/]++={{0,2}}){{1,2}}+(?={_KEY_GAP}-----END))?+"
            rf"(?:{_KEY_GAP}-----END {_KEY_NAME})?+",
            re.A,
        ),
    ),
    Shape(
        "url-password", "a URL with a password", ("://",),
        re.compile(
            r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@\"'<>`\\]*+:"
            rf"(?![${{\[<*]|(?i:{_PLACEHOLDER}))(?P<secret>[^\s/@\"'<>`\\^{{}}|,?#]++)@",
            re.A,
        ),
    ),
)  # fmt: skip

_SCHEME = 21
"""Characters of the longest scheme."""
_LOGIN = re.compile(r"://[^\s/:@\"'<>`\\]*+:[^\s/@\"'<>`\\]++@", re.A)
"""What every URL with a password has behind its scheme, and hardly one without."""

Place = tuple[int, int, Shape]
"""First character, end, and what it looks like."""


def credentials_in(text: str) -> Iterator[Place]:
    """Every key of a well-known format in *text*; one part may look like two of them."""
    for shape in SHAPES:
        group = "secret" if "secret" in shape.expression.groupindex else 0
        for match in _matches(shape, text):
            yield *match.span(group), shape


def _matches(shape: Shape, text: str) -> Iterator[re.Match[str]]:
    """What ``finditer`` of the expression gives, which would try at each character."""
    end = 0
    for prefix in sorted(_places(shape.prefixes, text)):
        if prefix < end:
            continue
        starts: Iterable[int] = (prefix,)
        if shape.prefixes == ("://",):
            starts = range(max(prefix - _SCHEME, end), prefix) if _LOGIN.match(text, prefix) else ()
        for start in starts:
            match = shape.expression.match(text, start)
            if match is not None:
                end = match.end()
                yield match
                break


def _places(prefixes: Iterable[str], text: str) -> Iterator[int]:
    for prefix in prefixes:
        at = text.find(prefix)
        while at >= 0:
            yield at
            at = text.find(prefix, at + 1)


_KEY_MARKER = re.compile(rf"-----BEGIN {_KEY_NAME}")


def looks_like_credential(text: str) -> bool:
    """Whether *text* holds a key of a well-known format, the first line of one, or a URL with a password."""
    return next(credentials_in(text), None) is not None or _KEY_MARKER.search(text) is not None
