"""SPEC 8.1: what counts as secret in an environment, for whoever searches texts for it."""

from __future__ import annotations

from mcc_jupyter.core.known import secret_values

PARENT = {"PATH": "/bin", "HOME": "/home/ada", "AWS_REGION": "eu-1", "MCC_CTX": "{}", "JPY_PARENT_PID": "1", "DB_URL": "postgres://x", "OTHER": "/home/ada", "DB_PASSWORD": "/home/ada"}


def test_everything_is_secret_but_the_floor_what_is_known_not_to_be_and_their_values_under_plain_names() -> None:
    assert list(secret_values(PARENT, ("PATH", "HOME"))) == [("DB_URL", "postgres://x"), ("DB_PASSWORD", "/home/ada")]
