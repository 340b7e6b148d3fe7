"""The status of a policy file as text, HTML and JSON."""

from __future__ import annotations

from mcc_jupyter.core.standing import Granted, Standing

FULL = Standing(
    file="mcc.toml",
    workspace="ops/<nb>.ipynb",
    profiles=("base", "dev"),
    others=("ops", "small"),
    tools=(
        Granted("linear", "linear", "available", ("LINEAR_API_KEY", "TEAM (optional)"), ("linear",), exposed=True),
        Granted("off", "exec", "disabled"),
        Granted("none", "workspace", "available", exposed=True),
    ),
    skills=("caveman",),
    allow=("AWS_*",),
    deny=("AWS_SECRET*",),
    exposed=("LINEAR_API_KEY",),
    dropped=("query",),
    notices=("Tool 'x' is unavailable; missing required environment: X",),
    notes=("warning: the policy file may be written by others",),
    footer=("From this kernel.",),
)

TEXT = """\
policy file: mcc.toml
workspace: ops/<nb>.ipynb
profiles: base, dev; others: ops, small
cells may ask for: AWS_*; never AWS_SECRET*
exposed to the workspace: LINEAR_API_KEY
skills: caveman
given up: query

TOOL    TYPE       STATE      NAMES                                        SKILLS
linear  linear     available  LINEAR_API_KEY, TEAM (optional) → workspace  linear
off     exec       disabled
none    workspace  available

- Tool 'x' is unavailable; missing required environment: X
- warning: the policy file may be written by others

From this kernel."""


def test_everything_stands_in_the_text() -> None:
    assert FULL.text() == TEXT
    assert repr(FULL) == TEXT


def test_a_file_that_says_little_says_what_it_does_not_grant() -> None:
    assert Standing("mcc.toml").text() == "policy file: mcc.toml\nworkspace: not named\nprofiles: none\ncells may ask for: none\ntools: none"
    assert Standing(None).text() == "no policy file: cells are the authority"
    assert Standing("mcc.toml", problems=("mcc.toml: tools.a: wrong",)).text() == (
        "policy file: mcc.toml\nthe policy file cannot be used: no tool and no name is granted\n\n- mcc.toml: tools.a: wrong"
    )


def test_html_says_the_same_and_escapes_it() -> None:
    page = FULL.html()
    assert "ops/&lt;nb&gt;.ipynb" in page
    assert page.count("<table>") == 1
    assert "⚠ warning" in page
    for word in ("script", "id=", "href"):
        assert word not in page.replace("description", "")
    assert "<table>" not in Standing("mcc.toml").html()


def test_a_notebook_gets_what_it_asks_for() -> None:
    assert FULL._repr_mimebundle_() == {"text/plain": TEXT, "text/html": FULL.html()}
    assert list(FULL._repr_mimebundle_(include={"text/html"})) == ["text/html"]
    assert list(FULL._repr_mimebundle_(exclude={"text/html"})) == ["text/plain"]


def test_json_is_complete() -> None:
    document = FULL.json()
    assert document["tools"][0] == {  # type: ignore[index]
        "name": "linear", "type": "linear", "state": "available", "names": ["LINEAR_API_KEY", "TEAM (optional)"], "skills": ["linear"], "exposed": True,
    }  # fmt: skip
    assert (document["schema"], document["version"], document["file"]) == ("mcc.policy", 1, "mcc.toml")
    assert (document["profiles"], document["other_profiles"]) == (["base", "dev"], ["ops", "small"])
    assert (document["grants"], document["dropped"]) == ({"allow": ["AWS_*"], "deny": ["AWS_SECRET*"]}, ["query"])
    assert Standing(None).json()["workspace"] is None
