"""SPEC 4.2: the deployment's floor is clearly a list of names, or a loud error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcc_jupyter.core.errors import PolicyError
from mcc_jupyter.core.floor import read_floor
from mcc_jupyter.core.names import NAME

ADVICE = "write names separated by commas, for example PATH,HOME,LANG"

READ = [
    pytest.param("PATH,FOO", ("PATH", "FOO"), id="ENV-04 commas"),
    pytest.param("PATH FOO", ("PATH", "FOO"), id="spaces"),
    pytest.param("  PATH ,\n\tFOO,, BAR , ", ("PATH", "FOO", "BAR"), id="both, and more of them"),
    pytest.param('["PATH", "FOO"]', ("PATH", "FOO"), id="a JSON list"),
    pytest.param(' ["PATH"] \n', ("PATH",), id="a JSON list between blanks"),
    pytest.param("PATH,FOO,PATH", ("PATH", "FOO"), id="a name twice is there once, where it stood first"),
    pytest.param("_x1,mcc_ctx,MCC_CTXT", ("_x1", "mcc_ctx", "MCC_CTXT"), id="names that only look reserved"),
]


@pytest.mark.parametrize(("text", "names"), READ)
def test_a_floor_is_read_as(text: str, names: tuple[str, ...]) -> None:
    assert read_floor(text) == names


REFUSED = [
    ("", "it names nothing"),
    (" ,\n, ", "it names nothing"),
    ("[]", "it names nothing"),
    ("[", "it begins like JSON and does not parse"),
    ('["PATH"', "it begins like JSON and does not parse"),
    ("[PATH, HOME]", "it begins like JSON and does not parse"),
    ('{"PATH": 1}', "its JSON is no list of names"),
    ('"PATH"', "its JSON is no list of names"),
    ('["PATH", 1]', "its JSON is no list of names"),
    ("[null]", "its JSON is no list of names"),
    ('["PATH", ["HOME"]]', "its JSON is no list of names"),
    ("PATH,HO-ME", "entry 2 is no variable name"),
    ("PATH;HOME", "entry 1 is no variable name"),
    ("PATH:HOME", "entry 1 is no variable name"),
    ("LC_*", "entry 1 is no variable name"),
    ("A=secret-value", "entry 1 is no variable name"),
    ("PATH,É", "entry 2 is no variable name"),
    ("'PATH'", "entry 1 is no variable name"),
    ("1A", "entry 1 is no variable name"),
    ('["PATH\\n"]', "entry 1 is no variable name"),
    ('["PATH", ""]', "entry 2 is no variable name"),
    ("PATH,MCC_CTX", "MCC_CTX belongs to the session"),
    ("MCC_CTX_USER", "MCC_CTX_USER belongs to the session"),
    ('["MCC_SESSION_FILE"]', "MCC_SESSION_FILE belongs to the session"),
]


@pytest.mark.parametrize(("text", "why"), REFUSED, ids=[repr(text) for text, _ in REFUSED])
def test_what_is_not_clearly_a_list_of_names_is_a_loud_error_and_never_an_empty_floor(text: str, why: str) -> None:
    with pytest.raises(PolicyError) as caught:
        read_floor(text)
    assert str(caught.value) == f"MCC_ENV_FLOOR: {why}; {ADVICE}"


def test_the_error_names_where_the_floor_came_from_and_shows_nothing_of_it() -> None:
    with pytest.raises(PolicyError) as caught:
        read_floor("PATH,token=sk-live-0123456789", origin="mcc.toml, env_floor")
    assert str(caught.value) == f"mcc.toml, env_floor: entry 2 is no variable name; {ADVICE}"
    assert caught.value.__cause__ is None


@given(st.text())
def test_any_text_is_a_list_of_names_or_an_error(text: str) -> None:
    try:
        names = read_floor(text)
    except PolicyError:
        return
    assert names
    assert all(NAME.fullmatch(name) for name in names)
    assert len(set(names)) == len(names)
