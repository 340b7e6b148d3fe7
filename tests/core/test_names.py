"""What a name tells, as tables."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcc_jupyter.core import names


@pytest.mark.parametrize("name", ["A", "_", "_a1", "aB_9", "x" * 300])
def test_SPEC_4_6_these_are_names(name: str) -> None:
    assert names.NAME.fullmatch(name)


@pytest.mark.parametrize("name", ["", "1A", "A-B", "A.B", "A B", "A\n", "É", "Ａ", "A١", "A=B", "A\0", "BASH_FUNC_f%%"])
def test_SPEC_4_6_these_are_none(name: str) -> None:
    assert not names.NAME.fullmatch(name)


@pytest.mark.parametrize("key", ["Role", "1x", "a-b", "a.b", "é", "", "x\n", "a=b", "x\0", "user id"])
def test_SPEC_6_2_session_keys_are_lower_case_and_match_in_full(key: str) -> None:
    assert names.SESSION_KEY.fullmatch("a_1")
    assert not names.SESSION_KEY.fullmatch(key)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MCC_CTX", True),
        ("MCC_CTX_USER", True),
        ("MCC_CTX_", True),
        ("MCC_SESSION_FILE", True),
        ("MCC_SESSION_FILE_2", False),
        ("MCC_CTXT", False),
        ("MCC_ENV_FLOOR", False),
        ("mcc_ctx", False),
        ("X_MCC_CTX", False),
    ],
)
def test_SPEC_4_8_the_reserved_names(name: str, expected: bool) -> None:
    assert names.is_reserved(name) is expected


RISKY = (
    "LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES BASH_ENV ENV IFS PS4 PROMPT_COMMAND BASH_FUNC_ls%% PYTHONSTARTUP PYTHONHOME "
    "NODE_OPTIONS PERL5OPT RUBYOPT JAVA_TOOL_OPTIONS GIT_SSH_COMMAND GIT_CONFIG_COUNT DIRENV_DIFF LESSOPEN PAGER"
).split()


@pytest.mark.parametrize("name", RISKY)
def test_SPEC_4_3_names_that_steer_a_loader_or_interpreter_are_risky(name: str) -> None:
    assert names.is_risky(name)


@pytest.mark.parametrize(
    "name", ["PATH", "PYTHONPATH", "AWS_PROFILE", "OLD_LD", "ENVIRONMENT", "ld_preload", "PS1", "MALLOC"]
)
def test_other_names_are_not_risky(name: str) -> None:
    assert not names.is_risky(name)


@pytest.mark.parametrize(
    "name",
    [
        "JUPYTERHUB_API_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "PGPASSWORD_PASSWORD", "DB_PASSWD", "MYSQL_PWD",
        "API_KEY", "OPENAI_APIKEY", "GITHUB_PAT", "SENTRY_DSN", "DATABASE_URL", "REDIS_URI", "secret", "Session_Cookie", "PASS",
        "GOOGLE_APPLICATION_CREDENTIALS", "SSH_PRIVATE_KEY",
    ],
)  # fmt: skip
def test_names_that_look_like_a_credential(name: str) -> None:
    assert names.is_credential_like(name)


@pytest.mark.parametrize(
    "name", ["PATH", "PWD", "OLDPWD", "COMPASS_URL", "TOKENIZERS_PARALLELISM", "KEYBOARD", "PATTERN", "A_URL"]
)
def test_names_that_do_not(name: str) -> None:
    assert not names.is_credential_like(name)


@pytest.mark.parametrize(
    "name",
    [
        "AWS_REGION",
        "AWS_PROFILE",
        "PGHOST",
        "DB_HOST",
        "LOG_LEVEL",
        "APP_LOG_LEVEL",
        "GIT_AUTHOR_EMAIL",
        "LC_CTYPE",
        "no_proxy",
    ],
)
def test_SPEC_8_1_well_known_non_secrets(name: str) -> None:
    assert names.is_known_not_secret(name)


@pytest.mark.parametrize("name", ["AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "HTTPS_PROXY", "REGION_KEY", "X"])
def test_other_names_may_be_secret(name: str) -> None:
    assert not names.is_known_not_secret(name)


def test_the_first_pattern_that_lets_a_name_in_is_told() -> None:
    assert names.first_match(["X_*", "AWS_*", "*"], "AWS_REGION") == "AWS_*"
    assert names.first_match(["X_*"], "AWS_REGION") is None
    assert names.first_match([], "AWS_REGION") is None


def test_no_pattern_matches_nothing() -> None:
    assert not names.any_of(()).match("")
    assert not names.any_of(()).match("A")


@pytest.mark.parametrize(
    ("pattern", "expected"), [("A", False), ("A*", True), ("A?", True), ("[A]", True), ("A]", False), ("", False)]
)
def test_a_wildcard_is_a_star_a_question_mark_or_an_open_bracket(pattern: str, expected: bool) -> None:
    assert names.has_wildcard(pattern) is expected


PATTERNS = st.lists(st.text("AB_*?[]!-^\\", max_size=6), max_size=4)


@given(PATTERNS, st.text("AB_[]!\n", max_size=5))
def test_patterns_match_as_fnmatchcase_does(patterns: list[str], name: str) -> None:
    expected = next((pattern for pattern in patterns if fnmatchcase(name, pattern)), None)
    assert names.first_match(patterns, name) == expected
    assert (names.any_of(tuple(patterns)).match(name) is not None) == (expected is not None)
