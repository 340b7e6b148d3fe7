"""SPEC 6, sentence by sentence: identity, what the notebook stashed, and what a tool writes back."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcc_jupyter.core.errors import ArgumentError, MccError, SecretError
from mcc_jupyter.core.redact import Redactor
from mcc_jupyter.runtime.session import SessionStore

IDENTITY = {"user": "ana", "groups": ["admin"], "tools": []}


def store(**entries: object) -> SessionStore:
    found = SessionStore(lambda: IDENTITY)
    found.update(entries)
    return found


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(MccError) as caught:
        action()
    return f"{type(caught.value).__name__}: {caught.value}"


# ---- 6.1: one mapping, identity in it


def test_the_store_is_identity_and_what_the_notebook_stashed() -> None:
    session = store(rows=3, note="hi")
    assert dict(session) == {"user": "ana", "groups": ["admin"], "tools": [], "rows": 3, "note": "hi"}
    assert len(session) == 5
    assert session.snapshot() == dict(session)
    assert "rows" in session
    assert "nothing" not in session


@pytest.mark.parametrize("key", ["user", "email", "groups", "tools", "notebook", "project"])
def test_identity_keys_are_read_only_even_those_the_session_does_not_have(key: str) -> None:
    session = store()
    text = f"ArgumentError: session: `{key}` belongs to the identity and cannot be changed; use another key"
    before = session.snapshot()
    assert refusal(lambda: session.__setitem__(key, "eve")) == text
    assert refusal(lambda: session.__delitem__(key)) == text
    assert refusal(lambda: session.update({"a": 1, key: "eve"})) == text
    assert session.snapshot() == {**before, "a": 1}


def test_identity_is_derived_again_on_every_look() -> None:
    who = {"user": "ana"}
    session = SessionStore(lambda: dict(who))
    assert session["user"] == "ana"
    who["user"] = "eve"
    who["email"] = "eve@h.test"
    assert (session["user"], session["email"]) == ("eve", "eve@h.test")
    assert session.snapshot() == who
    assert session.rows() == [("user", "text", None), ("email", "text", None)]


# ---- 6.2: a MutableMapping of valid keys and JSON values


@pytest.mark.parametrize("key", ["a", "_", "row_count", "x1", "__", "a" * 500])
def test_keys_are_lower_case_letters_digits_and_underscores(key: str) -> None:
    session = store()
    session[key] = 1
    assert session[key] == 1


BAD_KEYS = ["user id", "a.b", "a-b", "é", "", "a=b", "x\0", "1x", "A", "Rows", "a\n", "\na", " a", "k\u0131"]


@pytest.mark.parametrize("key", BAD_KEYS, ids=[f"ENV-06 {key!r}" for key in BAD_KEYS])
def test_any_other_key_is_refused_when_it_is_stored_and_the_others_stay(key: str) -> None:
    session = store(kept=1)
    text = "ArgumentError: session: a key is not valid; keys are lower-case letters, digits and _, like `row_count`"
    assert refusal(lambda: session.__setitem__(key, "SENTINEL")) == text
    assert dict(session) == {**IDENTITY, "kept": 1}


@pytest.mark.parametrize("key", [1, None, b"a", ("a",), True])
def test_a_key_that_is_no_text_is_refused(key: object) -> None:
    text = "ArgumentError: session: a key is not valid; keys are lower-case letters, digits and _, like `row_count`"
    assert refusal(lambda: store().__setitem__(key, 1)) == text  # type: ignore[index]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(JSON)
def test_a_value_comes_back_as_it_was_and_keeps_its_type(value: object) -> None:
    session = store(k=value)
    assert session["k"] == value
    assert type(session["k"]) is type(value)
    assert repr(session["k"]) == repr(value)


REFUSED = [
    pytest.param(float("nan"), "`k` is not a finite number", id="ENV-08 NaN"),
    pytest.param({"a": [1, float("-inf")]}, "`k`[…][1] is not a finite number", id="infinity inside"),
    pytest.param(dt.date(2024, 1, 2), "`k` is of type date, which is no JSON", id="a date"),
    pytest.param({"SENTINEL": {1: 2}}, "`k`[…] has a key of type int; JSON keys are text", id="a key that is no text"),
    pytest.param(["SENTINEL\ud800"], "`k`[0] holds text that is not valid Unicode", id="half a character"),
    pytest.param(b"SENTINEL", "`k` is of type bytes, which is no JSON", id="bytes"),
]


@pytest.mark.parametrize(("value", "why"), REFUSED)
def test_what_is_no_json_is_refused_by_name_without_its_value(value: object, why: str) -> None:
    session = store(k="before")
    advice = "store JSON: text, numbers, true, false, null, lists, objects"
    assert refusal(lambda: session.__setitem__("k", value)) == f"ArgumentError: session: {why}; {advice}"
    assert session["k"] == "before"


PEM = 'line one "quoted"\nline two\\end'
SECRETS = {"DB_PASSWORD": "hunter2-hunter2", "PEM": PEM, "PIN": "1234567890", "APP_KEY": "aB3dE5gH7jK9", "CTX": "MCC_CTX_ROWS_OF_X"}


def guarded() -> SessionStore:
    def secret_in(text: str, /, *, folded: bool) -> str | None:
        known = {name: value.lower() if folded else value for name, value in SECRETS.items()}
        return next((name for name, value in known.items() if Redactor({name: value}).holds_secret(text)), None)

    return SessionStore(lambda: IDENTITY, secret_in)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        pytest.param("hunter2-hunter2", "DB_PASSWORD", id="the value"),
        pytest.param("postgres://u:hunter2-hunter2@h/db", "DB_PASSWORD", id="inside a text"),
        pytest.param({"a": [1, {"b": "hunter2-hunter2"}]}, "DB_PASSWORD", id="deep inside"),
        pytest.param({"hunter2-hunter2": 1}, "DB_PASSWORD", id="as a key"),
        pytest.param(PEM, "PEM", id="several lines"),
        pytest.param([{"key": PEM}], "PEM", id="several lines, deep inside, where JSON would escape them"),
        pytest.param({PEM: None}, "PEM", id="several lines, as a key"),
        pytest.param(1234567890, "PIN", id="a number"),
        pytest.param((1234567890,), "PIN", id="a number in a tuple"),
    ],
)
def test_a_known_secret_is_refused_by_its_name(value: object, name: str) -> None:
    session = guarded()
    text = f"SecretError: session: the value of `k` holds {name}; give tools the variable instead"
    assert refusal(lambda: session.__setitem__("k", value)) == text
    assert session.apply({"k": value}, []) == (
        f"the tool's changes to the session were not stored: {text.removeprefix('SecretError: ')}"
    )
    assert "k" not in session


@pytest.mark.parametrize(("key", "name"), [("ab3de5gh7jk9", "APP_KEY"), ("x_ab3de5gh7jk9_y", "APP_KEY"), ("rows_of_x", "CTX")])
def test_a_key_holds_no_secret_in_any_case_and_is_not_shown(key: str, name: str) -> None:
    session = guarded()
    text = f"SecretError: session: a key holds {name}; give tools the variable instead"
    assert refusal(lambda: session.__setitem__(key, 1)) == text
    assert session.apply({"a": 1, key: 1}, []) == (
        f"the tool's changes to the session were not stored: {text.removeprefix('SecretError: ')}"
    )
    assert dict(session) == IDENTITY


def test_two_texts_side_by_side_are_not_taken_for_a_secret() -> None:
    session = guarded()
    session["k"] = ["hunter2-", "hunter2", {"12345": 67890}, True, None]
    assert session["k"] == ["hunter2-", "hunter2", {"12345": 67890}, True, None]


def test_a_list_that_was_stored_cannot_change_behind_the_store() -> None:
    given_list = [1]
    session = store(k=given_list)
    given_list.append(2)
    session["k"].append(3)
    session["groups"].append("root")
    session.snapshot()["k"].append(4)  # type: ignore[attr-defined]
    assert session["k"] == [1]
    assert session["groups"] == ["admin"]


def test_entries_are_deleted_and_cleared_and_identity_stays() -> None:
    session = store(a=1, b=2, c=3)
    del session["a"]
    assert session.pop("b") == 2
    assert session.pop("b", "gone") == "gone"
    with pytest.raises(KeyError, match=r"^'a'$"):
        session["a"]
    with pytest.raises(KeyError, match=r"^'a'$"):
        del session["a"]
    assert dict(session) == {**IDENTITY, "c": 3}
    session.clear()
    assert dict(session) == IDENTITY
    assert len(session) == 3


def test_rows_tell_key_type_and_size_and_of_identity_no_size() -> None:
    session = store(t=True, n=None, i=5, f=1.5, s="a\nb", li=[1], d={"k": "é"})
    assert session.rows() == [
        ("user", "text", None),
        ("groups", "list", None),
        ("tools", "list", None),
        ("d", "object", 11),
        ("f", "number", 3),
        ("i", "number", 1),
        ("li", "list", 3),
        ("n", "null", 4),
        ("s", "text", 6),
        ("t", "bool", 4),
    ]


def test_the_store_shows_its_keys_and_no_value_when_it_is_printed() -> None:
    assert repr(store(rows=3, note="SENTINEL")) == "<session: user, groups, tools, rows, note>"


def test_stores_never_share_an_entry() -> None:
    one, other = store(a=1), store()
    other["b"] = 2
    assert ("b" in one, "a" in other) == (False, False)


# ---- 6.7: what a tool writes back


def test_a_write_back_is_a_difference_and_touches_nothing_else() -> None:
    session = store(a=1, b=2, c=3)
    assert session.apply({"a": [1, 2], "new": None}, ["b", "never_there"]) is None
    assert dict(session) == {**IDENTITY, "a": [1, 2], "c": 3, "new": None}
    assert session.apply({}, []) is None


def test_reserved_keys_of_a_write_back_are_ignored_and_the_rest_is_stored() -> None:
    session = store(a=1)
    assert session.apply({"user": "eve", "project": "x", "a": 2}, ["groups", "tools"]) is None
    assert dict(session) == {**IDENTITY, "a": 2}


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        pytest.param({"a": 2, "Bad Key": 1}, "session: a key is not valid; keys are lower-case letters, digits and _, like `row_count`", id="a key"),
        pytest.param(
            {"a": 2, "b": float("nan")},
            "session: `b` is not a finite number; store JSON: text, numbers, true, false, null, lists, objects",
            id="a value",
        ),
    ],
)
def test_one_invalid_key_rejects_the_whole_write_back_with_a_note(changed: dict[str, object], why: str) -> None:
    session = store(a=1, c=3)
    assert session.apply(changed, ["c"]) == f"the tool's changes to the session were not stored: {why}"
    assert dict(session) == {**IDENTITY, "a": 1, "c": 3}


def test_concurrent_writers_lose_no_update() -> None:
    session = store()
    start = threading.Barrier(8)

    def write(who: int) -> None:
        start.wait()
        for at in range(50):
            if at % 2:
                session[f"w{who}_{at}"] = at
            else:
                assert session.apply({f"w{who}_{at}": at}, [f"w{who}_{at - 2}"]) is None

    threads = [threading.Thread(target=write, args=(who,)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = {f"w{who}_{at}": at for who in range(8) for at in [*range(1, 50, 2), 48]}
    assert dict(session) == {**IDENTITY, **expected}


def test_a_write_back_is_seen_whole_or_not_at_all() -> None:
    session = store(a=0, b=0)
    done = threading.Event()
    torn = []

    def read() -> None:
        while not done.is_set():
            seen = session.snapshot()
            if seen["a"] != seen["b"]:
                torn.append(seen)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(1000):
        session.apply({"a": number, "b": number}, [])
    done.set()
    reader.join()
    assert torn == []


def test_a_secret_error_is_what_a_door_can_tell_apart() -> None:
    with pytest.raises(SecretError):
        guarded()["k"] = "hunter2-hunter2"
    with pytest.raises(ArgumentError):
        guarded()["K"] = 1
