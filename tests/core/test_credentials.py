from __future__ import annotations

import pytest

from mcc_jupyter.core.credentials import looks_like_credential


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
