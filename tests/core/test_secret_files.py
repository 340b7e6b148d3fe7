"""``secret_files``: declared, resolved, reported and handed to the launcher (SPEC 8.7)."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mcc_jupyter.core import command, context
from mcc_jupyter.core.policy import resolve
from mcc_jupyter.core.report import report
from mcc_jupyter.core.resolution import Resolution
from mcc_jupyter.core.secret_files import file_secrets
from mcc_jupyter.core.tool import Tool

CONTENT = "apiVersion: v1\ntoken: sk-live-0123456789abcdef\n"
PARENT = {"PATH": "/usr/bin", "KUBE_TEXT": CONTENT, "EMPTY_TEXT": "", "STORED": "op://vault/kube/config"}
Make = Callable[..., Tool]


@pytest.fixture
def make(one: Callable[..., Tool]) -> Make:
    """``make(secret_files, …)``: an exec tool in the world above."""
    return lambda files, **more: one({"name": "t", "exec": "x", "secret_files": files, **more}, parent=PARENT)


def resolved(tool: Tool) -> Resolution:
    return resolve(tool, parent=PARENT, floor=("PATH",))


def request(tool: Tool, store: Mapping[str, object] | None = None) -> command.Request:
    built = context.build(tool.kind, store or {})
    resolution = resolve(tool, parent=PARENT, floor=("PATH",), context=built)
    prepared = command.prepare(tool, resolution, context=built, room=1_000_000)
    return command.plan(
        tool, {}, resolution, prepared=prepared, store={}, runner="/run_fn.py", interpreter="/usr/bin/python3"
    ).request


def test_the_text_becomes_a_private_file_of_the_call_and_is_in_no_variable(make: Make) -> None:
    made = request(make({"KUBECONFIG": "${KUBE_TEXT}"}))
    assert made.files == {"KUBECONFIG": CONTENT.encode()}
    assert made.environ == {"PATH": "/usr/bin", "KUBECONFIG": ""}
    assert "sk-live" not in repr(made)


def test_the_report_names_source_and_rule_and_what_it_shadows(make: Make) -> None:
    tool = make({"KUBECONFIG": "${KUBE_TEXT}"}, env={"KUBECONFIG": "/old"})
    (row,) = [row for row in report(tool, resolved(tool)).rows if row.name == "KUBECONFIG"]
    assert (row.source, row.rule, row.state.value, row.flags) == ("secret", "secret_files", "set", ())
    assert [(shadow.source, shadow.rule) for shadow in row.shadows] == [("env", "literal")]


def test_a_file_may_be_larger_than_a_variable_and_look_like_a_function(one: Callable[..., Tool]) -> None:
    parent = {**PARENT, "BIG": "() " + "x" * 300_000}
    tool = one({"name": "t", "exec": "x", "secret_files": {"A": "$BIG", "B": "${BIG}!"}}, parent=parent)
    resolution = resolve(tool, parent=parent, floor=("PATH",))
    assert resolution.available
    assert [row.flags for row in report(tool, resolution).rows if row.source == "secret"] == [(), ()]


@pytest.mark.parametrize(
    ("text", "more", "notice"),
    [
        ("${NOT_SET}", {}, "missing required environment: KUBECONFIG (from NOT_SET)"),
        ("a: ${NOT_SET}\nb: ${NOR_THIS}", {}, "missing required environment: KUBECONFIG (from NOT_SET, NOR_THIS)"),
        ("${EMPTY_TEXT}", {}, "missing required environment: KUBECONFIG (from EMPTY_TEXT)"),
        ("${NOT_SET}", {"required_env": ["KUBECONFIG"]}, "missing required environment: KUBECONFIG"),
        ("${STORED}", {}, "unresolved reference in: KUBECONFIG"),
    ],
)
def test_a_file_that_would_hold_nothing_makes_the_tool_unavailable(text, more, notice, make: Make) -> None:
    resolution = resolved(make({"KUBECONFIG": text}, **more))
    assert resolution.notice == f"Tool 't' is unavailable; {notice}"


def test_the_note_of_a_missing_reference_says_what_to_do(make: Make) -> None:
    tool = make({"KUBECONFIG": "${KUBE_TXT}"})
    (note,) = resolved(tool).notes
    assert note == (
        "KUBECONFIG: set KUBE_TXT before the kernel starts or with %env, and declare the tool again "
        "(did you mean `KUBE_TEXT`?)"
    )
    (row,) = [row for row in report(tool, resolved(tool)).rows if row.name.startswith("KUBE")]
    assert (row.name, row.source, row.state.value) == ("KUBECONFIG (from KUBE_TXT)", "secret", "missing")


def test_a_reference_that_stands_in_the_declaration_is_told_where_it_belongs(make: Make) -> None:
    (note,) = resolved(make({"KUBECONFIG": "op://a/b/c"})).notes
    assert note == (
        "KUBECONFIG: only a template of `mcc-jupyter launch` resolves a reference; "
        "put it there and write `secret_files: {KUBECONFIG: $KUBECONFIG}` here"
    )
    assert resolved(make({"KUBECONFIG": "$STORED"})).notes == (
        "KUBECONFIG: nothing resolved this reference; start the kernel by `mcc-jupyter launch`",
    )


def test_the_session_keeps_its_names_and_a_function_its_path(one: Callable[..., Tool], make: Make) -> None:
    tool = make({"MCC_CTX_USER": "x" * 20})
    assert (request(tool).files, list(resolved(tool).refused)) == ({}, ["MCC_CTX_USER"])
    missing = make({"MCC_CTX_USER": "$NOT_SET"})
    assert resolved(missing).available
    function = one({"fn": "json:loads", "secret_files": {"PYTHONPATH": "text"}}, parent=PARENT)
    assert request(function).files == {}


def test_both_the_session_and_a_secret_may_be_private_files(make: Make) -> None:
    made = request(make({"KUBECONFIG": "$KUBE_TEXT"}), {"blob": "x" * 200_000})
    assert sorted(made.files) == ["KUBECONFIG", "MCC_SESSION_FILE"]


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"A-B": "x"}, "secret_files.A-B: `A-B` is no variable name; use letters, digits and `_`, and no digit first"),
        ({"A": ""}, "secret_files.A: expected the file's text"),
        ({"A": "x" * 524_289}, "secret_files.A: the text is too large; output is searched for it, and 524,288 bytes are the most"),
        ({"A": 5}, "secret_files.A: expected the file's text"),
        ({"A": ["/x"]}, "secret_files.A: expected the file's text; a path goes into `env`"),
        ("x", "secret_files: expected a mapping"),
    ],
)
def test_what_is_wrong_is_told_by_its_path(problems, files, problem) -> None:
    assert problems({"name": "t", "exec": "x", "secret_files": files}) == [problem]


@pytest.mark.parametrize("key", ["secret_file", "secrets_files", "files"])
def test_the_field_is_found_by_a_near_name(problems, key) -> None:
    (problem,) = problems({"name": "t", "exec": "x", key: {"A": "x"}})
    assert problem.startswith(f"unknown key `{key}`")
    assert "`secret_files`" in problem


def test_a_literal_that_looks_like_a_credential_is_warned_of(make: Make) -> None:
    (note,) = make({"NETRC": "ghp_" + "a1B2" * 9}).notes
    assert note == (
        "warning: secret_files.NETRC: looks like a credential and stands in the notebook; use a reference"
    )


def test_the_content_is_secret_whatever_its_name_unless_the_author_opts_out(make: Make) -> None:
    tool = make({"KUBECONFIG": "${KUBE_TEXT}"})
    assert command.secrets(tool, resolved(tool)) == {
        "KUBECONFIG": CONTENT.strip(),
        "KUBECONFIG[2]": "sk-live-0123456789abcdef",
        "KUBE_TEXT": CONTENT,
    }
    free = make({"KUBECONFIG": "${KUBE_TEXT}"}, redact={"never": ["KUBECONFIG"]})
    assert command.secrets(free, resolved(free)) == {}


@pytest.mark.parametrize(
    ("line", "end"),
    [
        ("    token: sk-live-0123456789abcdef", "sk-live-0123456789abcdef"),
        ('  "private_key_id": "0123456789abcdef0123",', "0123456789abcdef0123"),
        ("password=0123456789abcdef==", "0123456789abcdef=="),
        ("machine h.test login ana password 0123456789abcdef", "0123456789abcdef"),
        ("server: https://ana:0123456789@h.test", "https://ana:0123456789@h.test"),
        ("server: https://10.0.0.1:6443/kubernetes", None),
        ("token: short", None),
        ("certificate-authority-data:", None),
    ],
)
def test_the_end_of_a_line_counts_by_itself(line: str, end: str | None) -> None:
    assert file_secrets("F", f"first\n{line}\n").get("F[2]") == end


def test_curl_gets_the_path_from_the_started_process_and_no_other_name_with_it(
    one: Callable[..., Tool], tmp_path: Path
) -> None:
    fields = {"curl": '-q --netrc-file "$NETRC" -H "A: \ufdd2PATH\ufdd2" https://h.test/', "secret_files": {"NETRC": "t" * 20}}
    made = request(one({"name": "t", **fields}, parent=PARENT))
    assert made.argv == ("/bin/sh", "/dev/fd/9")
    assert made.files == {"NETRC": b"t" * 20}
    fake = tmp_path / "curl"
    fake.write_text('#!/bin/sh\ncat "$3"\n')
    fake.chmod(0o755)
    assert made.payload is not None
    script = made.payload.removeprefix(b"exec 9<&-; ")
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "NETRC": "/private/NETRC"}
    done = subprocess.run(["/bin/sh"], input=script, env=environ, cwd=tmp_path, stdout=subprocess.PIPE, check=True)
    assert '--netrc-file "/private/NETRC"' in done.stdout.decode()
    assert "A: \ufdd2PATH\ufdd2" in done.stdout.decode()
