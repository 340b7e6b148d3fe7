"""Keys of well-known formats are found, exactly; what only resembles one is left alone."""

from __future__ import annotations

import base64
import hashlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcc_jupyter.core.credentials import SHAPES, credentials_in, looks_like_credential

LETTERS = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7" * 8
HEX = "0123456789abcdef" * 6
BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw"

EXAMPLES = [
    ("aws-access-key", "AKIA" + "A2B3" * 4),
    ("aws-access-key", "ASIA" + "Z7Y6" * 4),
    ("github-token", "ghp_" + LETTERS[:36]),
    ("github-token", "gho_" + LETTERS[:36]),
    ("github-token", "ghs_" + LETTERS[:36]),
    ("github-token", "github_pat_" + LETTERS[:22] + "_" + LETTERS[:59]),
    ("gitlab-token", "glpat-" + LETTERS[:20]),
    ("gitlab-token", "glpat-" + LETTERS[:27] + ".01.0123abcde"),
    ("slack-token", "xoxb-123456789012-1234567890123-" + LETTERS[:24]),
    ("slack-token", "xoxp-123456789012-" + LETTERS[:24]),
    ("slack-token", "xapp-1-A0B1C2D3-123456-" + HEX[:64]),
    ("slack-webhook", "hooks.slack.com/services/T01234567/B01234567/" + LETTERS[:24]),
    ("stripe-key", "sk_live_" + LETTERS[:24]),
    ("stripe-key", "rk_live_" + LETTERS[:99]),
    ("stripe-key", "whsec_" + LETTERS[:32]),
    ("openai-key", "sk-" + LETTERS[:48]),
    ("openai-key", "sk-proj-" + LETTERS[:40] + "_-" + LETTERS[:40]),
    ("anthropic-key", "sk-ant-api03-" + LETTERS[:93] + "-AA"),
    ("openrouter-key", "sk-or-v1-" + HEX[:64]),
    ("langfuse-key", "sk-lf-01234567-89ab-cdef-0123-456789abcdef"),
    ("groq-key", "gsk_" + LETTERS[:52]),
    ("google-key", "AIza" + LETTERS[:33] + "_-"),
    ("google-oauth", "GOCSPX-" + LETTERS[:28]),
    ("google-oauth", "ya29." + LETTERS[:100]),
    ("jwt", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0." + LETTERS[:43]),
    ("npm-token", "npm_" + LETTERS[:36]),
    ("pypi-token", "pypi-AgEIcHlwaS5vcmc" + LETTERS[:120]),
    ("sendgrid-key", "SG." + LETTERS[:22] + "." + LETTERS[:43]),
    ("twilio-key", "SK" + HEX[:32]),
    ("huggingface-token", "hf_" + LETTERS[:34]),
    ("databricks-token", "dapi" + HEX[:32]),
    ("digitalocean-token", "dop_v1_" + HEX[:64]),
    ("docker-token", "dckr_pat_" + LETTERS[:27]),
    ("linear-key", "lin_api_" + LETTERS[:40]),
    ("notion-token", "ntn_" + LETTERS[:46]),
    ("shopify-token", "shpat_" + HEX[:32]),
    ("azure-storage-key", (LETTERS + "+/")[-86:] + "=="),
    ("private-key", f"-----BEGIN PRIVATE KEY-----\n{BODY}\n{BODY}\nAb12==\n-----END PRIVATE KEY-----"),
    ("private-key", f"-----BEGIN OPENSSH PRIVATE KEY-----\r\n{BODY}\r\n-----END OPENSSH PRIVATE KEY-----"),
    ("private-key", f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123ABCD\n\n{BODY}\n-----END RSA PRIVATE KEY-----"),
    ("private-key", f"-----BEGIN PRIVATE KEY-----\\n{BODY}\\n{BODY}\\nAb12==\\n-----END PRIVATE KEY-----"),
    ("private-key", f'-----BEGIN EC PRIVATE KEY-----", "{BODY}", "{BODY}", "-----END EC PRIVATE KEY-----'),
    ("private-key", f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{BODY}\nAb12==\n=aB3d\n-----END PGP PRIVATE KEY BLOCK-----"),
    ("private-key", f"-----BEGIN PRIVATE KEY-----\n{BODY}\n{BODY}"),
    ("url-password", "hunter2"),
]  # fmt: skip
AROUND = {"azure-storage-key": "DefaultEndpointsProtocol=https;AccountKey=%s", "url-password": "postgresql+psycopg2://ana:%s@db.test:5432/x"}


def found(text: str) -> list[tuple[str, str]]:
    return [(shape.slug, text[start:end]) for start, end, shape in credentials_in(text)]


@pytest.mark.parametrize(("slug", "key"), EXAMPLES)
@pytest.mark.parametrize("around", ["%s", "key = '%s'", "(%s)", 'OpenAI(api_key=\\"%s\\")', "Authorization: Bearer %s\n", "a=1&token=%s&b=2", "token%%3D%s", "line\\n%s\\nline", "\\u0022%s\\u0022", "a,%s,b"])
def test_a_key_is_found_from_its_first_to_its_last_character(slug: str, key: str, around: str) -> None:
    text = around % (AROUND.get(slug, "%s") % key)
    assert found(text) == [(slug, key)]


def test_every_format_has_an_example() -> None:
    assert {slug for slug, _ in EXAMPLES} == {shape.slug for shape in SHAPES}
    assert len({shape.slug for shape in SHAPES}) == len(SHAPES)


@pytest.mark.parametrize(("slug", "key"), [pair for pair in EXAMPLES if pair[0] not in ("url-password", "azure-storage-key", "private-key", "slack-webhook")])
def test_a_key_inside_a_word_or_cut_short_is_none(slug: str, key: str) -> None:
    assert found("x" + key) == []
    assert found(key[:12]) == []


@pytest.mark.parametrize(
    "text",
    [
        hashlib.md5(b"").hexdigest(),
        hashlib.sha256(b"").hexdigest(),
        hashlib.sha512(b"").hexdigest().upper(),
        "0b0e5f3c-7d0c-4a37-9f4b-5a1c0e4a9f11",
        '<div id="sk-container-id-12" class="sk-top-container"><label class="sk-toggleable__label sk-toggleable__label-arrow">',
        "export OPENAI_API_KEY=sk-... GITHUB_TOKEN=ghp_xxx HF=hf_your_token_here SLACK=xoxb-your-token-goes-here",
        "pip install pypi-simple npm_config_cache npm_lifecycle_event_of_a_package hf_hub_download",
        "task-0123456789abcdef0123456789abcdef0123",
        "SKU SKETCH SK1234 skip",
        "begin with -----BEGIN PRIVATE KEY----- and end with -----END PRIVATE KEY-----",
        f"-----BEGIN PUBLIC KEY-----\n{BODY}\n-----END PUBLIC KEY-----",
        f"-----BEGIN CERTIFICATE-----\n{BODY}\n-----END CERTIFICATE-----",
        "postgresql://user:password@localhost/db",
        "postgres://user:PASSWORD@h/db mysql://u:secret@h amqp://u:***@h redis://:xxxx@h http://u:your_password@h",
        "postgres://u:${PW}@h postgres://u:{pw}@h postgres://u:<pw>@h postgres://u:%s@h",
        'the {"url":"http://h.test:8080","mail":"a@h.test"} and http://h:80, b@h.test and http://h:80/x?y=a@b',
        "http://127.0.0.1:8888/tree?token=… ssh://git@h.test:22/a/b.git file:///a:b@c",
        "eyJhbGciOiJIUzI1NiJ9",
        "AccountKey=…",
        "-----BEGIN PRIVATE KEY-----" * 50,
    ],
)  # fmt: skip
def test_ordinary_text_holds_none(text: str) -> None:
    assert found(text) == []


def test_an_encoded_picture_holds_none() -> None:
    data = random.Random(4711).randbytes(1_500_000)

    assert found(base64.b64encode(data).decode()) == []
    assert found(base64.encodebytes(data).decode()) == []
    assert found(data.hex()) == []


@pytest.mark.parametrize(
    "text",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "ASIAIOSFODNN7EXAMPLE",
        "Authorization: Bearer ghp_" + "a1B2" * 9,
        "github_pat_" + "a" * 30,
        "glpat-" + "x" * 20,
        "sk-" + "a" * 40,
        "sk-proj-" + "a" * 40,
        "sk_live_" + "a" * 24,
        "xoxb-123456789012-abcdef",
        "xoxp-123456789012-abcdef",
        "AIza" + "S" * 35,
        "hf_" + "a" * 30,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig",
        "-----BEGIN RSA PRIVATE KEY-----\nMII",
        "-----BEGIN PRIVATE KEY-----",
        "postgres://ana:hunter2@db.test/x",
        "https://:token@h.test",
    ],
)
def test_a_key_of_a_well_known_format_is_recognised(text):
    assert looks_like_credential(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "eu-north-1",
        "AKIA",
        "ask-me-anything-you-like-here",
        "task-0123456789abcdef0123",
        "${DB_PASSWORD}",
        "postgres://ana:${DB_PASSWORD}@db.test/x",
        "postgres://ana:$DB_PASSWORD@db.test/x",
        "https://h.test:8080/@x",
        "postgres://db.test/x",
        "-----BEGIN PUBLIC KEY-----",
        "git@h.test:a/b.git",
    ],
)
def test_everything_else_is_left_alone(text):
    assert not looks_like_credential(text)


FRAGMENTS = [
    *(example for _, example in EXAMPLES), *(example[3:] for _, example in EXAMPLES), *(prefix for shape in SHAPES for prefix in shape.prefixes),
    "https://ana:pw@h", "a+b.c://u:p@", "postgres://u:", "x", "-", "_", ".", "\\n", "%3D", " ", "\n", "@", ":", "/", "A", "9",
]  # fmt: skip


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=7).map("".join))
def test_where_no_prefix_stands_no_expression_would_have_matched(text: str) -> None:
    found = {shape.slug: [(start, end) for start, end, other in credentials_in(text) if other is shape] for shape in SHAPES}

    for shape in SHAPES:
        group = "secret" if "secret" in shape.expression.groupindex else 0
        assert found[shape.slug] == [match.span(group) for match in shape.expression.finditer(text)]
