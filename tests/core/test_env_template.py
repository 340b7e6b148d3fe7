"""Env templates: what is a reference, who resolves it, and in which order (SPEC 8.5)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mcc_jupyter.core.dotenv import Dotenv, Interpolation, parse
from mcc_jupyter.core.env_template import Template, evaluate, listed, references, steps, wrap
from mcc_jupyter.core.errors import SecretError


def content(text: str) -> Dotenv:
    found = parse(text, path="T")
    assert isinstance(found, Dotenv)
    return found


def template(text: str, name: str = "T") -> Template:
    return Template(name, f"/conf/{name}", content(text))


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(SecretError) as caught:
        action()
    return str(caught.value)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("pass://Vault/Proton Bridge/username", "pass://"),
        ("op://vault/item/field", "op://"),
        ("vault:secret/data/x#key", "vault:"),
        ("vault://secret/x", "vault://"),
        ("ref+awsssm://x", "ref+awsssm://"),
        ("keyring:service/user", "keyring"),
        ("keyring://service/user", "keyring"),
        ("file:/run/secrets/x", "file"),
        ("file:///run/secrets/x", "file"),
        ("pass:web/linear", "pass"),
        ("op://${VAULT}/item", "op://"),
        ("plain", None),
        ("", None),
        ("https://h.test/", None),
        ("op://", None),
        ("postgres://u:op://x@h", None),
        ("${OTHER}", None),
    ],
)
def test_which_values_are_references(value: str, kind: str | None) -> None:
    assert references(content(f"X='{value}'\n")) == ({} if kind is None else {"X": kind})


def test_the_last_definition_of_a_name_counts() -> None:
    assert references(content("A=op://a/b\nA=plain\nB=plain\nB=pass:b\n")) == {"B": "pass"}


def test_the_password_store_answers_for_pass_urls_where_the_operator_says_so() -> None:
    assert references(content("A=pass://a/b\nB=op://c\n"), "pass") == {"A": "pass", "B": "op://"}


def test_a_template_is_evaluated_from_its_top_and_only_what_counts_is_asked_for() -> None:
    asked = []

    def resolve(name: str, provider: str, locator: str) -> str:
        asked.append((name, provider, locator))
        return f"<{name} op://not-again ${{A}}>"

    text = (
        "A=file:first\nA=keyring:s/${USER_NAME}\nURL=postgres://u:${A}@h\nPLAIN='x y'\nNONE=${GONE}\n"
        "DEFAULT=${GONE:-d}\nHOME_OF=${HOME}\n"
    )
    values = evaluate(content("USER_NAME=ana\n" + text), {"HOME": "file:/h"}, resolve)
    assert asked == [("A", "keyring", "s/ana")]
    assert values == {
        "USER_NAME": "ana",
        "A": "<A op://not-again ${A}>",
        "URL": "postgres://u:<A op://not-again ${A}>@h",
        "PLAIN": "x y",
        "NONE": "",
        "DEFAULT": "d",
        "HOME_OF": "file:/h",
    }


def test_without_a_resolver_a_reference_stays_as_it_is() -> None:
    assert evaluate(content("A=file:x\n"), {}) == {"A": "file:x"}


OWN_TEMPLATE = "put it into a template of its own, and give both with --env-file"
OP, PROTON, OWN, PLAIN = "A=op://a\n", "B=pass://b\n", "C=file:c\n", "D=d\n"


@pytest.mark.parametrize(
    ("text", "provider", "command"),
    [
        (OP, None, "op run --env-file /conf/T -- cmd -x"),
        (PROTON, None, "pass-cli run --env-file /conf/T -- cmd -x"),
        (OP + PROTON, "both", "both run --env-file /conf/T -- cmd -x"),
        (PLAIN, "my-cli", "my-cli run --env-file /conf/T -- cmd -x"),
        (OP, "op run --no-masking", "op run --no-masking --env-file /conf/T -- cmd -x"),
        (OWN, None, "cmd -x"),
        (OWN, "my-cli", "cmd -x"),
        (PLAIN, None, "cmd -x"),
        (PROTON, "pass", "cmd -x"),
    ],
)
def test_who_resolves_a_template(text: str, provider: str | None, command: str) -> None:
    found = steps([template(text)], provider, tuple((provider or "").split()))
    assert " ".join(wrap(found, ("cmd", "-x"))) == command
    assert bool(found.own) is (command == "cmd -x")


def test_several_templates_wrap_one_another_in_their_order() -> None:
    found = steps([template(OP, "1"), template(OWN, "2"), template(PROTON, "3")], None, ())
    assert [item.written for item in found.own] == ["2"]
    assert wrap(found, ("cmd",)) == (
        *("op", "run", "--env-file", "/conf/1", "--"),
        *("pass-cli", "run", "--env-file", "/conf/3", "--", "cmd"),
    )


@pytest.mark.parametrize(
    ("text", "provider", "message"),
    [
        (
            OP + OWN,
            None,
            "T: C: op does not know this kind of reference; " + OWN_TEMPLATE,
        ),
        (
            OP + PROTON,
            None,
            "T: its references are for op and pass-cli; put those of each" + OWN_TEMPLATE.removeprefix("put it"),
        ),
        ("V=vault:x\nW=bws://y\n", None, "T: V, W: no provider resolves this reference; name one with --provider"),
        (OP, "keyring", "T: A: no provider resolves this reference; name one with --provider"),
        (OP + PROTON, "pass", "T: A: no provider resolves this reference; name one with --provider"),
    ],
)
def test_what_no_one_can_resolve_is_told_by_name(text: str, provider: str | None, message: str) -> None:
    assert refusal(lambda: steps([template(text)], provider, tuple((provider or "").split()))) == message


def test_of_many_names_the_first_are_told() -> None:
    assert listed("ABCDEFGHIJ") == "A, B, C, D, E, F, G, H and 2 more"


def test_a_repr_shows_nothing_of_a_template() -> None:
    shown = repr(template("A=file:my-place\nB=${X:-my-default}\n"))
    assert "my-" not in shown
    assert isinstance(content("B=${X:-d}\n").entries[0].atoms[0], Interpolation)
