"""What is started for a call, byte by byte: no value in an argv, the environment exact, errors without a value."""

from __future__ import annotations

import json
import marshal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from mcc_jupyter.core import command, context
from mcc_jupyter.core.command import Plan, Request
from mcc_jupyter.core.curl_config import config
from mcc_jupyter.core.dotenv import Dotenv, Entry, Unreadable, parse
from mcc_jupyter.core.errors import MccError, ToolUnavailable
from mcc_jupyter.core.policy import resolve
from mcc_jupyter.core.resolution import Context, Resolution
from mcc_jupyter.core.schema import bind, complete
from mcc_jupyter.core.tool import Function, Limits, Param, Source, Tool

SECRET = "sk-live-0123456789"
PARENT = {"PATH": "/usr/bin", "HOME": "/home/ana", "TOKEN": SECRET, "AWS_REGION": "eu-north-1", "QUOTED": "a'b\"c $d"}
FLOOR = ("PATH", "HOME")
ROOM = 1_000_000
Make = Callable[..., Tool]


@pytest.fixture
def make(one: Callable[..., Tool]) -> Make:
    """``make(fields)``: the one tool of a declaration, in the world above."""
    return lambda document, **more: one({"name": "t", **document}, parent=PARENT, **more)


def resolution(tool: Tool, *, files: tuple[Dotenv | Unreadable, ...] = (), store: Mapping[str, object] | None = None) -> tuple[Resolution, Context]:
    built = context.build(tool.kind, store or {})
    return resolve(tool, parent=PARENT, floor=FLOOR, files=files, context=built), built


def plan(
    tool: Tool,
    arguments: Mapping[str, object] | None = None,
    *,
    files: tuple[Dotenv | Unreadable, ...] = (),
    store: Mapping[str, object] | None = None,
    timeout: float | None = None,
    room: int = ROOM,
) -> Plan:
    resolved, built = resolution(tool, files=files, store=store)
    return command.plan(
        tool,
        bind(tool.params, arguments or {}, tool=tool.name),
        resolved,
        prepared=command.prepare(tool, resolved, context=built, room=room),
        store=store or {},
        runner="/child/run_fn.py",
        interpreter="/usr/bin/python3",
        timeout=timeout,
    )


def frame(request: Request) -> dict[str, object]:
    assert request.payload is not None
    return dict(marshal.loads(request.payload))


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(MccError) as caught:
        action()
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return f"{type(caught.value).__name__}: {caught.value}"


# ---- exec


def test_a_script_is_read_from_a_descriptor_that_is_closed_before_its_first_command(make: Make) -> None:
    tool = make({"exec": "echo $TOKEN\necho 2\n", "cwd": "/work", "limits": {"timeout": 5}})
    assert plan(tool, timeout=2.5).request == Request(
        argv=("/bin/sh", "/dev/fd/9"),
        environ={"PATH": "/usr/bin", "HOME": "/home/ana", "TOKEN": SECRET},
        cwd="/work",
        payload=b"exec 9<&-; echo $TOKEN\necho 2\n",
        limits=Limits(timeout=5),
        timeout=2.5,
        tool="public.t",
    )


def test_what_comes_before_a_script_adds_no_line(make: Make) -> None:
    payload = plan(make({"exec": "one\ntwo"})).request.payload
    assert payload is not None
    assert payload.count(b"\n") == 1


def test_arguments_are_rendered_into_the_script_and_not_into_the_argv(make: Make) -> None:
    tool = make({"exec": "echo {{ x | quote }} {{ n }} {{ items | quote }}", "params": [{"name": "x"}, {"name": "n", "type": "int"}, {"name": "items", "type": "list"}]})
    made = plan(tool, {"x": "a'; id #", "n": 3, "items": ["a b", "c"]}).request
    assert made.payload == b"exec 9<&-; echo 'a'\"'\"'; id #' 3 'a b' c"
    assert made.argv == ("/bin/sh", "/dev/fd/9")


def test_bytes_that_are_no_utf_8_reach_the_script_as_they_were(make: Make) -> None:
    tool = make({"exec": "echo {{ x }}", "params": [{"name": "x"}]})
    assert plan(tool, {"x": "caf\udce9"}).request.payload == b"exec 9<&-; echo caf\xe9"


def test_SUB_17_a_value_that_looks_like_a_template_stays_in_the_environment(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PARENT, "T", "{{ 7*7 }}")
    made = plan(make({"exec": "echo ${T}"})).request
    assert made.payload == b"exec 9<&-; echo ${T}"
    assert made.environ["T"] == "{{ 7*7 }}"


@pytest.mark.parametrize("stdin", [True, False])
def test_stdin_is_the_arguments_as_one_json_object_or_nothing(stdin: bool, make: Make) -> None:
    tool = make({"exec": "cat", "stdin": stdin, "params": [{"name": "x"}, {"name": "n", "type": "int", "default": 2}]})
    given = plan(tool, {"x": "é"}).request.stdin
    assert given == ('{"x": "é", "n": 2}'.encode() if stdin else None)


def test_stdin_takes_half_of_a_character_as_json_writes_it(make: Make) -> None:
    tool = make({"exec": "cat", "stdin": True, "params": [{"name": "x"}]})
    given = plan(tool, {"x": "\ud800"}).request.stdin
    assert given is not None
    assert json.loads(given) == {"x": "\ud800"}


# ---- an argument list


def test_an_argument_list_is_the_argv_with_floor_names_in_it(make: Make) -> None:
    tool = make({"exec": ["prog", "$HOME/x", "${PATH}", "{{ x }}", "$$HOME", "${TZ:-utc}", "${TZ|none}", "${LANG}"], "params": [{"name": "x"}]})
    made = plan(tool, {"x": "a b; id"}).request
    assert made.argv == ("prog", "/home/ana/x", "/usr/bin", "a b; id", "$HOME", "utc", "none", "${LANG}")
    assert made.payload is None


def test_a_default_for_what_is_empty_is_taken_for_what_is_empty(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PARENT, "HOME", "")
    assert plan(make({"exec": ["prog", "${HOME:-x}", "${HOME|x}", "$HOME"]})).request.argv == ("prog", "x", "", "")


def test_a_floor_name_with_a_literal_of_its_own_may_stand_in_an_argument_list(make: Make) -> None:
    assert plan(make({"exec": ["prog", "$HOME"], "env": {"HOME": "/tmp"}})).request.argv == ("prog", "/tmp")


def test_a_floor_name_that_a_file_gives_may_not_stand_in_an_argument_list(make: Make) -> None:
    tool = make({"exec": ["prog", "$HOME"], "env_file": "a.env"})
    files = (parse("HOME=/secret/place\n", path="a.env"),)
    assert refusal(lambda: plan(tool, files=files)) == (
        "ArgumentError: Tool 't': exec: HOME comes from env_file here, and a value may not stand in an argument list; "
        "write exec as one text and let the shell expand it"
    )


def test_a_floor_name_that_another_layer_made_a_secret_may_not_stand_in_an_argument_list(make: Make) -> None:
    tool = make({"exec": ["prog", "$TZ"], "required_env": {"TZ": "TOKEN"}})
    resolved, built = resolution(tool)
    binding = replace(resolved.bindings["TZ"], secret=True)
    resolved = replace(resolved, bindings={**resolved.bindings, "TZ": binding})

    def action() -> Plan:
        prepared = command.prepare(tool, resolved, context=built, room=ROOM)
        return command.plan(tool, {}, resolved, prepared=prepared, store={}, runner="r", interpreter="p")

    assert refusal(action) == (
        "ArgumentError: Tool 't': exec: TZ comes from grant here, and a value may not stand in an argument list; "
        "write exec as one text and let the shell expand it"
    )


# ---- curl


def test_curl_gets_its_arguments_by_a_config_and_none_by_argv(make: Make) -> None:
    tool = make({"curl": "-H 'Authorization: Bearer ${TOKEN}' https://h.test/{{ x }}", "params": [{"name": "x"}]})
    made = plan(tool, {"x": 'a"b'})
    assert made.request.argv == ("curl", "--config", "/dev/fd/9")
    assert made.request.payload == (
        b'-s\n-S\n-L\n-H "Authorization: Bearer %s"\n--url "https://h.test/a\\"b"\n' % SECRET.encode()
    )
    assert made.notes == ()
    assert made.request.environ["TOKEN"] == SECRET


@pytest.mark.parametrize("option", ["-q", "--disable"])
def test_curls_own_configuration_is_left_alone_where_the_text_says_so(option: str, make: Make) -> None:
    made = plan(make({"curl": f"{option} -d x https://h.test/"})).request
    assert made.argv == ("curl", "-q", "--config", "/dev/fd/9")


def test_curl_text_that_is_more_than_arguments_is_left_to_the_shell(make: Make) -> None:
    made = plan(make({"curl": "https://h.test/ | jq ."}))
    assert made.request.argv == ("/bin/sh", "/dev/fd/9")
    assert made.request.payload == b"exec 9<&-; curl -sSL https://h.test/ | jq ."
    assert made.notes == ()


UNKNOWN = "curl: an option that is not known or lacks its argument"


def test_curl_with_an_option_that_is_not_known_gets_its_arguments_by_argv_with_a_note(make: Make) -> None:
    """No shell may read them: the template has a value in double quotes."""
    made = plan(make({"curl": '-q --brand-new "{{ v }}" https://h.test/', "params": [{"name": "v"}]}), {"v": "$(touch x)"})
    assert made.request.argv == ("curl", "-q", "-sSL", "-q", "--brand-new", "$(touch x)", "https://h.test/")
    assert made.request.payload is None
    assert made.notes == (f"{UNKNOWN}; the arguments reach curl by its command line",)


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"curl": "--brand-new -H 'A: ${TOKEN}' https://h.test/"}, "TOKEN"),
        ({"curl": "--brand-new -H 'A: ${AWS_REGION}' https://h.test/"}, "AWS_REGION"),
        ({"curl": '--brand-new "a $TOKEN" https://h.test/', "required_env": ["TOKEN"]}, "TOKEN"),
        ({"curl": '--brand-new "a $FROM_FILE" https://h.test/', "env_file": "f"}, "FROM_FILE"),
        ({"curl": '--brand-new "a {{ pw }}" https://h.test/', "params": [{"name": "pw", "override": "x"}]}, "pw"),
        ({"curl": '--brand-new "a {{ pw }}" https://h.test/', "params": [{"name": "pw", "default": "$TOKEN"}]}, "pw"),
    ],
)
def test_and_none_of_them_may_be_what_only_the_author_or_the_parent_knows(
    fields: dict[str, object], name: str, make: Make
) -> None:
    tool = make(fields)
    files = tuple(parse("FROM_FILE=x", path="f") for _ in tool.env_files)
    assert refusal(lambda: plan(tool, files=files)) == (
        f"ArgumentError: Tool 't': {UNKNOWN} brings the arguments to curl's command line, "
        f"where `{name}` may not stand; check the options"
    )


def test_a_variable_of_the_floor_may_stand_in_curls_argv(make: Make) -> None:
    made = plan(make({"curl": '--brand-new "$HOME/x" https://h.test/', "params": [{"name": "pw", "override": "x"}]}))
    assert made.request.argv == ("curl", "-sSL", "--brand-new", "/home/ana/x", "https://h.test/")


@pytest.mark.parametrize("option", ["", "--brand-new "])
def test_an_argument_that_is_too_long_for_curl_is_refused_and_no_shell_reads_it(option: str, make: Make) -> None:
    tool = make({"curl": f'{option}-d "{{{{ v }}}}" https://h.test/', "params": [{"name": "v"}]})
    size = "110,011" if option else "110,017"  # with `-d ""` and the line end
    assert refusal(lambda: plan(tool, {"v": "$(touch x) " + "a" * 110_000})) == (
        f"ArgumentError: Tool 't': curl: an argument takes {size} bytes, and a line of curl's config file may have "
        "102,399; send it with `stdin: true` or from a file"
    )


def test_curl_that_names_the_session_file_gets_its_path_from_the_started_process(make: Make, tmp_path: Path) -> None:
    tool = make(
        {
            "curl": "-q -d @$MCC_SESSION_FILE -H \"A: {{ v }}\" -H 'B: ${TOKEN}' https://h.test/${MCC_SESSION_FILE:-x}",
            "params": [{"name": "v"}],
        }
    )
    hostile = 'a"b\\ $(touch x) `touch x` $HOME\nE'
    made = plan(tool, {"v": hostile}, store={"blob": "x" * 200_000}).request
    assert made.argv == ("/bin/sh", "/dev/fd/9")
    assert SECRET not in repr(made)
    fake = tmp_path / "curl"
    fake.write_text('#!/bin/sh\necho "$@"\ncat "$3"\n')
    fake.chmod(0o755)
    assert made.payload is not None
    done = subprocess.run(
        ["/bin/sh"],
        input=made.payload.removeprefix(b"exec 9<&-; "),
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "MCC_SESSION_FILE": "/tmp/s"},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        check=True,
    )
    assert done.stdout == b"-q --config /dev/fd/7\n" + (
        config(
            ["-sSL", "-q", "-d", "@/tmp/s", "-H", f"A: {hostile}", "-H", f"B: {SECRET}", "https://h.test//tmp/s"]
        )
        or b""
    )
    assert [path.name for path in tmp_path.iterdir()] == ["curl"]
    assert plan(tool, {"v": "x"}).request.argv == ("curl", "-q", "--config", "/dev/fd/9")


def test_an_option_that_is_not_known_leaves_no_way_to_name_the_session_file(make: Make) -> None:
    tool = make({"curl": "--brand-new -d @$MCC_SESSION_FILE https://h.test/"})
    assert refusal(lambda: plan(tool, store={"blob": "x" * 200_000})) == (
        f"ArgumentError: Tool 't': {UNKNOWN} brings the arguments to curl's command line, "
        "where `MCC_SESSION_FILE` may not stand; check the options"
    )


# ---- functions


def described(tool: Tool, **answer: object) -> Tool:
    params = [{"name": "x", "type": "int", "required": True, "schema": {"type": "integer"}}]
    return complete(tool, {"params": params, "signature": True, **answer})


def test_a_function_gets_its_call_on_a_descriptor_and_its_pythonpath_in_it(make: Make) -> None:
    tool = described(make({"fn": "m:f", "env": {"PYTHONPATH": "/lib", "A": "1"}, "cwd": "/work"}))
    made = plan(tool, {"x": 3}, store={"user": "ana"}).request
    assert made.argv == ("/usr/bin/python3", "-u", "/child/run_fn.py")
    assert made.environ == {"PATH": "/usr/bin", "HOME": "/home/ana", "A": "1", "MCC_CTX": '{"user": "ana"}'}
    assert (made.result, made.stdin, made.cwd) == (True, None, "/work")
    assert frame(made) == {
        "mode": "call",
        "target": "m:f",
        "source": None,
        "arguments": {"x": 3},
        "positional": None,
        "context": None,
        "pythonpath": "/work:/lib",
        "names": ["A", "HOME", "MCC_CTX", "PATH", "PYTHONPATH"],
    }


def test_a_function_that_takes_the_session_gets_it(make: Make) -> None:
    tool = described(make({"fn": "m:f"}), context=True)
    assert frame(plan(tool, {"x": 3}, store={"user": "ana", "rows": [1]}).request)["context"] == {"user": "ana", "rows": [1]}


def test_a_function_of_a_cell_travels_as_its_source(make: Make) -> None:
    source = Source("def f(x): return x\n", "<cell>", "f")
    tool = replace(described(make({"fn": "notebook:f"})), body=Function("f", source))
    assert frame(plan(tool, {"x": 3}).request)["source"] == {"text": source.text, "filename": "<cell>", "function": "f"}


def test_a_builtin_without_a_signature_gets_its_arguments_by_position(make: Make) -> None:
    tool = make({"fn": "math:hypot", "params": [{"name": "a", "type": "int"}, {"name": "b", "type": "int", "default": 4}]})
    made = frame(plan(complete(tool, {"params": [], "signature": False}), {"a": 3}).request)
    assert (made["arguments"], made["positional"]) == ({}, [3, 4])


def test_a_function_may_have_an_interpreter_of_its_own(make: Make) -> None:
    tool = described(make({"fn": "m:f", "python": "/opt/py/bin/python"}))
    assert plan(tool, {"x": 1}).request.argv == ("/opt/py/bin/python", "-u", "/child/run_fn.py")


def test_signatures_are_read_by_one_request_for_all_that_share_an_environment(make: Make) -> None:
    tools = {"public.f": make({"fn": "m:f"}), "public.g": make({"fn": "m.g"})}
    resolved, built = resolution(tools["public.f"], store={"big": "x" * 200_000})
    made = command.introspection(tools, resolved, context=built, runner="/r", interpreter="/py", room=ROOM).request
    assert made.argv == ("/py", "-u", "/r")
    assert made.result
    assert frame(made) == {
        "mode": "introspect",
        "targets": [
            {"id": "public.f", "target": "m:f", "source": None},
            {"id": "public.g", "target": "m.g", "source": None},
        ],
        "pythonpath": "/nb",
        "names": ["HOME", "MCC_SESSION_FILE", "PATH", "PYTHONPATH"],
    }
    assert json.loads(made.files["MCC_SESSION_FILE"]) == {"big": "x" * 200_000}


@pytest.mark.parametrize(
    ("document", "flags", "environ", "path"),
    [
        ({"exec": "env", "env": {"PYTHONPATH": "/lib"}}, ("-I", "-S"), {"PYTHONPATH": "/lib"}, ""),
        ({"fn": "m:f", "env": {"PYTHONPATH": "/lib"}}, ("-u",), {"MCC_CTX": "{}"}, "/nb:/lib"),
    ],
    ids=["exec", "fn"],
)
def test_a_probe_is_a_child_with_exactly_the_environment_of_a_call(
    document: dict[str, object], flags: tuple[str, ...], environ: dict[str, str], path: str, make: Make
) -> None:
    tool = make(document)
    resolved, built = resolution(tool)
    made = command.probe(tool, resolved, context=built, runner="/r", interpreter="/py", room=ROOM).request
    assert made.argv == ("/py", *flags, "/r")
    assert made.environ == {"PATH": "/usr/bin", "HOME": "/home/ana", **environ}
    assert frame(made) == {"mode": "names", "pythonpath": path, "names": sorted(resolved.bindings)}


# ---- transform


def test_a_transform_gets_the_output_and_otherwise_what_the_call_had(make: Make) -> None:
    tool = make({"exec": "prog", "transform": "jq {{ x | quote }}", "params": [{"name": "x"}], "stdin": True, "cwd": "/work", "limits": {"timeout": 9, "cpu_sec": 4}})
    call = plan(tool, {"x": ".a b"}, timeout=8)
    made = command.transform(tool, call, {"x": ".a b"}, b"output\xff", 3.5)
    assert made == replace(call.request, payload=b"exec 9<&-; jq '.a b'", stdin=b"output\xff", timeout=3.5)


def test_the_transform_of_a_function_gets_its_pythonpath_as_a_variable(make: Make) -> None:
    tool = described(make({"fn": "m:f", "transform": "python3 -m tidy", "env": {"PYTHONPATH": "/lib"}}))
    call = plan(tool, {"x": 1})
    made = command.transform(tool, call, {"x": 1}, b"1", None)
    assert made.environ == {**call.request.environ, "PYTHONPATH": "/nb:/lib"}
    assert (made.argv, made.result, made.timeout) == (("/bin/sh", "/dev/fd/9"), False, None)


# ---- the session's private file


def test_what_is_too_large_for_a_variable_is_a_private_file_whose_variable_the_launcher_fills(make: Make) -> None:
    store = {"blob": "x" * 200_000, "rows": 3}
    made = plan(make({"exec": "env"}), store=store).request
    assert made.environ == {"PATH": "/usr/bin", "HOME": "/home/ana", "MCC_CTX_ROWS": "3", "MCC_SESSION_FILE": ""}
    assert made.files == {"MCC_SESSION_FILE": json.dumps(store).encode()}
    assert plan(make({"exec": "env"}), store={"rows": 3}).request.files == {}


# ---- 4.10: sizes


def test_DOT_44_a_variable_too_large_is_told_by_its_name_and_size_before_any_process(make: Make) -> None:
    tool = make({"exec": "env", "env_file": "a.env"})
    big = (Dotenv((Entry("TOKEN", ("x" * 200_000,), 1),)),)
    assert refusal(lambda: plan(tool, files=big)) == (
        "ToolUnavailable: Tool 't' is unavailable; variable TOKEN has 200,006 bytes with its name; one variable may have 131,071"
    )
    with pytest.raises(ToolUnavailable) as caught:
        plan(tool, files=big)
    assert (caught.value.tool, caught.value.reasons) == ("t", ("invalid",))


@pytest.mark.parametrize(("size", "fits"), [(131_071 - 2, True), (131_072 - 2, False)])
def test_the_boundary_of_one_variable_counts_name_and_sign(size: int, fits: bool, make: Make) -> None:
    tool = make({"exec": "env", "env": {"A": "x" * size}})
    if fits:
        assert plan(tool).request.environ["A"] == "x" * size
    else:
        assert "variable A has 131,072 bytes with its name" in refusal(lambda: plan(tool))


def test_bytes_are_counted_and_not_characters(make: Make) -> None:
    assert "variable A has 132,002 bytes with its name" in refusal(lambda: plan(make({"exec": "env", "env": {"A": "€" * 44_000}})))


def test_all_variables_together_have_a_limit_and_the_largest_is_named(make: Make) -> None:
    tool = make({"exec": "env", "env": {"A": "x" * 500, "B": "y" * 100}})
    sizes = [len("PATH=/usr/bin"), len("HOME=/home/ana"), 502, 102]
    total = sum(sizes) + 9 * len(sizes)
    assert plan(tool, room=total).request.environ["B"] == "y" * 100
    assert refusal(lambda: plan(tool, room=total - 1)) == (
        f"ToolUnavailable: Tool 't' is unavailable; its 4 variables have {total} bytes and a process may have {total - 1}; "
        "the largest is A with 502"
    )


def test_sizes_are_checked_for_every_kind_of_child(make: Make) -> None:
    tool = make({"fn": "m:f", "env": {"A": "x" * 200_000}})
    resolved, built = resolution(tool)
    more = {"context": built, "runner": "r", "interpreter": "p", "room": ROOM}
    text = "variable A has 200,002 bytes with its name; one variable may have 131,071"
    assert text in refusal(lambda: command.introspection({"public.t": tool}, resolved, **more))  # type: ignore[arg-type]
    assert text in refusal(lambda: command.probe(tool, resolved, **more))  # type: ignore[arg-type]
    assert text in refusal(lambda: plan(described(tool), {"x": 1}))


# ---- errors of a template


TEMPLATES = [
    pytest.param("{{ y }}", {}, "'y' is undefined; give it as an argument", id="an unknown name"),
    pytest.param("{{ x.part }}", {"x": {"a": 1}}, "the template takes a part of a value that does not have it; give it as an argument", id="an unknown part"),
    pytest.param("{{ x['a'][x.b] }}", {"x": {"a": {}, "b": "SENTINEL"}}, "the template takes a part of a value that does not have it; give it as an argument", id="a part named by a value"),
    pytest.param("{{ x.a | sum }}", {"x": {"a": "SENTINEL"}}, "the template failed with TypeError", id="a filter"),
    pytest.param("{{ 1 / x.n }}", {"x": {"n": 0}}, "the template failed with ZeroDivisionError", id="an operator"),
    pytest.param("{{ x.a.format.__globals__ }}", {"x": {"a": "SENTINEL"}}, "the template failed with SecurityError", id="outside the sandbox"),
    pytest.param("{{ x.a }}", {"x": {"a": "SENTINEL\0"}}, "an argument holds a NUL character; leave it out", id="NUL"),
    pytest.param("{{ x.a }}", {"x": {"a": "SENTINEL\ud800"}}, "an argument holds half of a character; leave it out", id="half a character"),
]


@pytest.mark.parametrize(("template", "arguments", "why"), TEMPLATES)
def test_a_template_that_cannot_be_rendered_is_told_without_a_value(
    template: str, arguments: dict[str, object], why: str, make: Make
) -> None:
    tool = make({"exec": f"echo {template}"})
    tool = replace(tool, params=(Param("x", type="dict", required=False),))
    assert refusal(lambda: plan(tool, arguments)) == f"ArgumentError: Tool 't': exec: {why}"


def test_the_error_of_a_template_says_which_text_it_stands_in(make: Make) -> None:
    params = (Param("x", type="dict", required=False),)
    curl = replace(make({"curl": "https://h.test/{{ y }}"}), params=params)
    assert refusal(lambda: plan(curl)) == "ArgumentError: Tool 't': curl: 'y' is undefined; give it as an argument"
    piped = replace(make({"exec": "true", "transform": "jq {{ y }}"}), params=params)
    assert refusal(lambda: command.transform(piped, plan(piped), {}, b"", None)) == (
        "ArgumentError: Tool 't': transform: 'y' is undefined; give it as an argument"
    )


# ---- what the output is searched for


def test_secrets_are_what_the_layers_brought_references_and_overrides(make: Make) -> None:
    tool = make(
        {
            "exec": "echo $QUOTED",
            "env_passthrough": ["TOKEN", "AWS_REGION"],
            "env": {"LITERAL": "in the notebook", "BAKED": "x-${TOKEN}"},
            "params": [
                {"name": "key", "override": "override-value"},
                {"name": "many", "type": "dict", "override": {"a": ["v1", 2], "b": {"c": "v3"}, "d": None, "e": True}},
                {"name": "shown"},
            ],
        }
    )
    assert plan(tool, {"shown": "an argument"}).secrets == {
        "TOKEN": SECRET,
        "QUOTED": PARENT["QUOTED"],
        "BAKED": f"x-{SECRET}",
        "key": "override-value",
        "many[0]": "v1",
        "many[1]": "2",
        "many[2]": "v3",
    }


@pytest.mark.parametrize(
    ("override", "secrets"),
    [
        ({"Zx9-topSecret_value77": 1}, {"p[0]": "1", "p[1]": "Zx9-topSecret_value77"}),
        ({"Zx9-topSecret_value77": None}, {"p": "Zx9-topSecret_value77"}),
        ({"a": [{"deep-key-of-many": "v", "username": "w"}]}, {"p[0]": "v", "p[1]": "w", "p[2]": "deep-key-of-many"}),
    ],
)
def test_keys_of_a_hidden_mapping_are_secrets_unless_they_are_short_or_common(make: Make, override: object, secrets: dict[str, str]) -> None:
    tool = make({"exec": "x", "params": [{"name": "p", "type": "dict", "override": override}]})
    assert plan(tool).secrets == secrets


@pytest.mark.parametrize("size", [524_288, 524_289])
def test_a_secret_that_is_too_large_to_be_searched_for_makes_the_tool_unavailable(make: Make, size: int) -> None:
    tool = make({"exec": "x", "params": [{"name": "p", "override": "é" * (size // 2) + "x" * (size % 2)}]})
    if size == 524_288:
        assert len(plan(tool).secrets["p"].encode()) == size
        return
    with pytest.raises(ToolUnavailable) as caught:
        plan(tool)
    assert str(caught.value) == "Tool 't' is unavailable; p is too large; output is searched for it, and 524,288 bytes are the most"
    assert caught.value.reasons == ("invalid",)


def test_what_redact_never_names_is_no_secret(make: Make) -> None:
    tool = make({"exec": "echo $QUOTED", "env_passthrough": ["TOKEN"], "redact": {"never": ["TOKEN", "QUOTED"]}})
    assert plan(tool).secrets == {}


# ---- small answers


def test_changed_references_are_told_by_name(make: Make) -> None:
    tool = make({"exec": "echo $QUOTED ${AWS_REGION}", "description": "x", "env": {"A": "${TOKEN}"}})
    assert command.changed_references(tool, PARENT) == ()
    assert command.changed_references(tool, {**PARENT, "TOKEN": "new"}) == ("TOKEN",)
    assert command.changed_references(tool, {"QUOTED": "new", "TOKEN": SECRET}) == ("QUOTED", "AWS_REGION")


def test_a_digest_is_equal_for_equal_environments_under_one_key(make: Make) -> None:
    one, _ = resolution(make({"exec": "env", "env": {"A": "1", "B": "2"}}))
    same, _ = resolution(make({"exec": "other", "env": {"B": "2", "A": "1"}}))
    others = [resolution(make({"exec": "env", "env": env}))[0] for env in ({"A": "1", "B": "3"}, {"A": "1"}, {"A": "1', 'B", "C": "2"})]
    key = b"k" * 32
    assert command.digest(one, key) == command.digest(same, key)
    assert len({command.digest(item, key) for item in (one, *others)}) == 4
    assert command.digest(one, key) != command.digest(one, b"l" * 32)


def test_programs_are_looked_for_on_the_childs_own_path(make: Make) -> None:
    assert command.search_path(resolution(make({"exec": "env"}))[0]) == "/usr/bin"
    assert command.search_path(resolution(make({"exec": "env", "env": {"PATH": "/opt"}}))[0]) == "/opt"
    nothing = resolve(make({"exec": "env"}), parent={}, floor=())
    assert command.search_path(nothing) == ""


def test_LEAK_20_nothing_that_is_planned_shows_a_value_when_it_is_printed(make: Make) -> None:
    tool = make({"exec": "echo {{ x }}", "env_passthrough": ["TOKEN"], "env": {"B": "literal-value"}, "params": [{"name": "x"}], "stdin": True, "transform": "cat"})
    made = plan(tool, {"x": "argument-value"}, store={"big": "session-value" * 20_000})
    shown = f"{made!r}{made.request!r}{command.transform(tool, made, {'x': 'argument-value'}, b'output-value', None)!r}"
    for value in (SECRET, "literal-value", "argument-value", "session-value", "output-value"):
        assert value not in shown


def test_who_opts_a_variable_out_of_redaction_means_what_it_is_made_of_too(make: Make) -> None:
    tool = make({"exec": "true", "env": {"DB": "x-${TOKEN}", "OTHER": "${TOKEN}"}, "redact": {"never": ["DB"]}})

    assert command.secrets(tool, resolution(tool)[0]) == {"OTHER": SECRET}
