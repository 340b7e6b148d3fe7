"""The guard: what a kernel and a terminal display holds no secret they know, and without the guard nothing is in the way (SPEC 8.4)."""

from __future__ import annotations

import base64
import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from mcc_jupyter.core.known import secret_values
from mcc_jupyter.doors.ipython import guard as guards
from mcc_jupyter.doors.ipython import guard_kernel, guard_text
from mcc_jupyter.runtime.toolbox import Toolbox
from tests.doors.test_kernel import Cell, Kernel
from tests.processes import environment, until

MARK = "n0t-f0r-any-eyes-4711"
"""The value of ``GITHUB_TOKEN`` in the kernels here, and of the shells."""

SHOWN = "[redacted:GITHUB_TOKEN]"
ON = "The guard is on; `%mcc_guard status` says what it covers.\n"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("kernel")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))
        kernel = Kernel({**environment(folder), "LINEAR_KEY": "lin_k3y_of_0urs", "AWS_REGION": "eu-north-1-the-region", "SHORT": "abc"}, folder)
    kernel.fine("import os, sys, json, base64, threading, time\nfrom IPython.display import display, update_display, HTML, JSON\ntoken = os.environ['GITHUB_TOKEN']")
    yield kernel
    kernel.close()


@pytest.fixture
def kernel(shared: Kernel) -> Iterator[Kernel]:
    """A kernel whose guard is on."""
    assert shared.fine("%mcc_guard on").out == ON
    yield shared
    shared.fine("%mcc_guard off")


def _clean(ran: Cell) -> Cell:
    for form in (MARK, base64.b64encode(MARK.encode()).decode()[:-4], MARK.encode().hex()):
        assert form not in ran.whole
    return ran


# ---- a notebook


def test_the_environment_is_printed_with_marks_and_what_is_no_secret_stays(kernel: Kernel) -> None:
    out = _clean(kernel.fine("print(os.environ)")).out

    assert f"'GITHUB_TOKEN': '{SHOWN}'" in out
    assert "'LINEAR_KEY': '[redacted:LINEAR_KEY]'" in out
    assert "'AWS_REGION': 'eu-north-1-the-region'" in out
    assert "'SHORT': 'abc'" in out
    assert f"'HOME': '{kernel.folder}'" in out


@pytest.mark.parametrize(
    "source",
    [
        "print(token)",
        "print(token, file=sys.stderr)",
        "token",
        "display(token)",
        "{'a': [token], token: 1}",
        "raise ValueError(token)",
        "%xmode Verbose\ndef f(inner): return 1 / len(inner[:0])\nf(token)",
        "def f(inner): raise KeyError(inner)\nf(token)",
        "print(base64.b64encode(token.encode()).decode())",
        "print(token.encode().hex())",
        "!echo $GITHUB_TOKEN",
        "os.system('echo $GITHUB_TOKEN'); time.sleep(0.3)",
        "%env GITHUB_TOKEN",
        "%%bash\necho $GITHUB_TOKEN",
        "t = threading.Thread(target=print, args=(token,)); t.start(); t.join()",
        "t = threading.Thread(target=lambda: 1 / len(token[:0]) if print(token) else display(token)); t.start(); t.join()",
        "handle = display('a', display_id=True); handle.update(token)",
        "display(HTML(f'<b>{token}</b>'))",
        "display(JSON({'a': (token, 1)}))",
        "display({'text/plain': 'a', 'application/json': {'b': (token,)}}, raw=True, metadata={'application/json': {'c': token}})",
        "from IPython.display import Image\ndisplay(Image(data=b'\\x89PNG', format='png', alt=token))",
        "display('a', metadata={'text/plain': {'b': [token]}, token: 1})",
        "display({'text/plain': 'a', f'text/{token}': 'b'}, raw=True)",
        "display('a', display_id=token)",
        "get_ipython().display_pub.publish({'text/plain': 'a'}, transient={'other': token})",
        "display({'image/svg+xml': f'<svg>{token}</svg>', 'text/plain': 'a'}, raw=True)",
        "get_ipython().set_next_input(token)",
        "from IPython.core import page\npage.page(token)",
        "token?",
        "print('\\x1b[31m'.join(token))",
        "from multiprocessing import get_context\nwith __import__('warnings').catch_warnings(action='ignore'):\n    p = get_context('fork').Process(target=print, args=(token,)); p.start(); p.join()",
    ],
)
def test_a_secret_is_not_displayed_in_any_way(kernel: Kernel, source: str) -> None:
    ran = _clean(kernel.run(source))
    kernel.run("%xmode Context")

    assert SHOWN in ran.whole


def test_a_value_that_the_front_end_asks_for_is_searched_too(kernel: Kernel) -> None:
    kernel.client.inspect("token", 3)
    reply = kernel.client.get_shell_msg(timeout=30)["content"]
    assert MARK not in json.dumps(reply)
    assert SHOWN in reply["data"]["text/plain"]

    asked = kernel.client.execute("", user_expressions={"a": "token"}, silent=True)
    reply = kernel.client.get_shell_msg(timeout=30)
    assert reply["parent_header"]["msg_id"] == asked
    assert reply["content"]["user_expressions"]["a"]["data"]["text/plain"] == f"'{SHOWN}'"


def test_a_display_whose_id_is_a_secret_is_updated_all_the_same(kernel: Kernel) -> None:
    ran = _clean(kernel.run("display('a', display_id=token); update_display('b', display_id=token)"))

    ids = [content["transient"]["display_id"] for _, kind, content in ran.messages if kind in ("display_data", "update_display_data")]
    assert ids == [SHOWN, SHOWN]


@pytest.mark.parametrize("jedi", [True, False])
def test_completions_that_hold_a_secret_are_left_out(kernel: Kernel, jedi: bool) -> None:
    kernel.fine(f"table = {{token: 1, 'other': 2}}\nget_ipython().Completer.use_jedi = {jedi}")
    kernel.client.complete("table['", 7)
    reply = kernel.client.get_shell_msg(timeout=30)["content"]

    assert reply["status"] == "ok"
    assert any("other" in match for match in reply["matches"])
    assert MARK not in json.dumps(reply)
    assert SHOWN not in json.dumps(reply["matches"])


def test_a_secret_in_two_prints_is_one_mark_also_with_a_pause_between_them(kernel: Kernel) -> None:
    ran = kernel.fine("print('a ' + token[:9], end='', flush=True); time.sleep(0.5); print(token[9:] + ' b')")

    assert ran.out == f"a {SHOWN} b\n"
    assert next(content["text"] for _, kind, content in ran.messages if kind == "stream") == "a "


def test_text_without_an_end_of_line_is_shown_at_once(kernel: Kernel) -> None:
    ran = kernel.fine("print('50 %', end='', flush=True); time.sleep(1.5); print('\\r100 %')")

    texts = [(when, content["text"]) for when, kind, content in ran.messages if kind == "stream"]
    assert [text for _, text in texts] == ["50 ", "%", "\r100 %\n"]  # a value in URL's escapes begins like that
    assert texts[2][0] - texts[1][0] > 0.5


def test_a_prompt_that_looks_like_a_secrets_beginning_is_shown_after_a_moment(kernel: Kernel) -> None:
    ran = kernel.fine("print('name: ' + token[:4], end='', flush=True); time.sleep(1.5); print(token[4:] + '|' + token[:9], end='', flush=True); time.sleep(0.5)")
    texts = [(when, content["text"]) for when, kind, content in ran.messages if kind == "stream"]

    assert [text for _, text in texts] == ["name: ", MARK[:4], f"{SHOWN}|", MARK[:9]]
    assert texts[2][0] - texts[1][0] > 0.5


def test_what_a_thread_prints_after_its_cell_does_not_wait_for_another_cell(kernel: Kernel) -> None:
    ran = kernel.fine("def late():\n    time.sleep(0.5)\n    print('late ' + token[:4], end='', flush=True)\nt = threading.Thread(target=late); t.start()")
    texts: list[str] = []

    def came() -> bool:
        with contextlib.suppress(Exception):
            message = kernel.client.get_iopub_msg(timeout=0.1)
            if message["header"]["msg_type"] == "stream":
                assert message["parent_header"]["msg_id"] == ran.id
                texts.append(message["content"]["text"])
        return len(texts) == 2

    assert until(came)
    assert texts == ["late ", MARK[:4]]


def test_the_beginning_of_a_secret_that_never_comes_is_shown_with_its_cell(kernel: Kernel) -> None:
    ran = kernel.fine("print(token[:6], end='')")

    assert ran.out == MARK[:6]
    assert [kind for _, kind, _ in ran.messages][-2:] == ["stream", "status"]


def test_the_order_of_text_and_displays_is_kept(kernel: Kernel) -> None:
    ran = kernel.fine("print(token[:6], end='')\ndisplay(1)\nprint('b')\ndisplay(2)\n3")
    seen = [content.get("text") or content["data"]["text/plain"] for _, kind, content in ran.messages if kind in ("stream", "display_data", "execute_result")]

    assert seen == [MARK[:6], "1", "b\n", "2", "3"]


def test_a_thread_may_go_on_after_its_cell(kernel: Kernel) -> None:
    ran = kernel.fine("def late():\n    time.sleep(0.5)\n    print('late ' + token[:8], end='', flush=True)\n    print(token[8:], flush=True)\nt = threading.Thread(target=late); t.start()")
    texts: list[str] = []

    def came() -> bool:
        with contextlib.suppress(Exception):
            message = kernel.client.get_iopub_msg(timeout=0.1)
            if message["header"]["msg_type"] == "stream":
                assert message["parent_header"]["msg_id"] == ran.id
                texts.append(message["content"]["text"])
        return "".join(texts).endswith("\n")

    assert until(came)
    assert "".join(texts) == f"late {SHOWN}\n"


def test_LEAK_16_a_picture_is_left_as_it_is(kernel: Kernel) -> None:
    ran = kernel.fine("display({'image/png': base64.b64encode(token.encode()).decode()}, raw=True)")
    [picture] = [content["data"]["image/png"] for _, kind, content in ran.messages if kind == "display_data"]

    assert base64.b64decode(picture) == MARK.encode()


def test_what_is_kept_is_the_users(kernel: Kernel) -> None:
    kernel.fine("token")
    assert kernel.fine("Out[max(Out)] == _ == token").shown == ["True"]


def test_what_is_captured_is_the_users_and_is_redacted_when_it_is_shown(kernel: Kernel) -> None:
    kernel.fine("%%capture cap\nprint(token)\ndisplay(token)")
    assert kernel.fine("assert cap.stdout == token + '\\n'; cap.show()").out == f"{SHOWN}\n"
    kernel.fine("import io, contextlib\nfile = io.StringIO()\nwith contextlib.redirect_stdout(file): print(token)\nassert file.getvalue() == token + '\\n'")


def test_a_value_that_comes_or_changes_in_a_cell_counts_in_that_cell(kernel: Kernel) -> None:
    ran = kernel.fine("os.environ['NEW_KEY'] = 'br4nd-new-value'\nprint('br4nd-new-value', flush=True)\nos.environ['NEW_KEY'] = 'an0ther-n3w-value'\nprint('an0ther-n3w-value', flush=True)\ndel os.environ['NEW_KEY']\nprint('br4nd-new-value')")

    assert ran.out.split() == ["[redacted:NEW_KEY]"] * 3


def test_what_a_tool_was_given_is_known_from_then_on(kernel: Kernel) -> None:
    kernel.fine("open('some.env', 'w').write('FROM_FILE=s0me-value-in-a-file\\n');")
    kernel.fine("%%mcc_sh --env-file some.env\ntrue")

    assert kernel.fine("print('s0me-value-' + 'in-a-file')").out == "[redacted:FROM_FILE]\n"


def test_the_status_names_what_is_known_and_what_is_not_covered(kernel: Kernel) -> None:
    kernel.fine("%mcc_guard off")
    kernel.fine("%mcc_guard on")
    kernel.fine("print(token, token)")
    lines = _clean(kernel.fine("%mcc_guard status")).out.splitlines()

    assert lines[0].startswith("The guard is on. Searched for: ")
    assert {"GITHUB_TOKEN", "LINEAR_KEY"} <= set(lines[0].removesuffix(".").partition(": ")[2].split(", "))
    assert "AWS_REGION" not in lines[0]
    assert lines[1].startswith("Not searched for, because short or common: ")
    assert "SHORT" in lines[1]
    assert lines[2] == "Marks so far: GITHUB_TOKEN 2."
    assert lines[3:] == ["Not covered:", *(f"- {line}" for line in (*guards.NOT_COVERED, guard_kernel.IN_A_KERNEL))]


def test_off_shows_everything_and_leaves_nothing_wrapped(kernel: Kernel) -> None:
    kernel.fine("session = get_ipython().kernel.session")
    assert kernel.fine("'send' in vars(session)").shown == ["True"]
    assert kernel.fine("%mcc_guard off").out == "The guard is off: what cells display is not searched for secrets.\n"
    assert kernel.fine("'send' in vars(session), '_mcc_guard' in vars(get_ipython())").shown == ["(False, False)"]
    assert kernel.fine("print(token)").out == f"{MARK}\n"
    assert kernel.fine("%mcc_guard").out == "The guard is off; `%mcc_guard on` switches it on.\n"


def test_what_somebody_else_put_before_it_stays_when_it_goes(kernel: Kernel) -> None:
    kernel.fine("session, own = get_ipython().kernel.session, get_ipython().kernel.session.send\ndef send(*a, **k): return own(*a, **k)\nsession.send = send")
    kernel.fine("%mcc_guard off")
    assert kernel.fine("assert session.send is send; print(token)").out == f"{MARK}\n"
    kernel.fine("%mcc_guard on")
    assert kernel.fine("print(token)").out == f"{SHOWN}\n"
    kernel.fine("%mcc_guard off")
    assert kernel.fine("assert session.send is send; del session.send; print(token)").out == f"{MARK}\n"


def test_unloading_switches_it_off_and_says_so(kernel: Kernel) -> None:
    assert kernel.fine("%unload_ext mcc_jupyter").out == "The guard is off: what cells display is not searched for secrets.\n"
    assert kernel.fine("print(token)").out == f"{MARK}\n"
    kernel.fine("%load_ext mcc_jupyter")


def test_reloading_leaves_it_on(kernel: Kernel) -> None:
    off, on = "The guard is off: what cells display is not searched for secrets.\n", "The guard is on again.\n"
    assert kernel.fine("%reload_ext mcc_jupyter").out == off + on
    assert kernel.fine("print(token)").out == f"{SHOWN}\n"


def test_switched_off_every_object_is_the_one_it_was_before(kernel: Kernel) -> None:
    kernel.fine("%mcc_guard off")
    look = "(s.kernel.session.send.__func__, sys.stdout, sys.stderr, sys.displayhook, s.display_pub, s.displayhook, s.showtraceback.__func__, {k: [*v] for k, v in s.events.callbacks.items()})"
    kernel.fine(f"s = get_ipython(); before = {look}")
    kernel.fine("%mcc_guard on")
    kernel.fine("print(token)")
    kernel.fine("%mcc_guard off")
    assert kernel.fine(f"after = {look}; [type(b).__name__ for b, a in zip(before, after) if b is not a and b != a]").shown == ["[]"]


# ---- a terminal and a shell


def _shell(folder: Path, source: str, **config: object) -> str:
    """What a shell without a kernel writes to both streams."""
    driver = f"""
import sys
from traitlets.config import Config
from IPython.core.interactiveshell import InteractiveShell
config = Config(MccMagics={config!r}, HistoryManager={{"enabled": False}})
shell = InteractiveShell.instance(config=config, colors="nocolor")
for cell in ["%load_ext mcc_jupyter", "import os, sys, threading, logging; token = os.environ['GITHUB_TOKEN']", *{source.split(chr(10) + "---" + chr(10))!r}]:
    shell.run_cell(cell)
"""
    done = subprocess.run(
        [sys.executable, "-c", driver], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder,
        env={**environment(folder), "GITHUB_TOKEN": MARK}, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("print(token)", f"{SHOWN}\n"),
        ("print(token, file=sys.stderr)", f"{SHOWN}\n"),
        ("token", f"Out[0]: '{SHOWN}'\n"),
        ("t = threading.Thread(target=print, args=(token,)); t.start(); t.join()", f"{SHOWN}\n"),
        ("print(token[:5], end='', flush=True); print(token[5:])", f"{SHOWN}\n"),
        ("print(token[:5], end='')\n---\nprint('|')", f"{MARK[:5]}|\n"),
        ("sys.stdout.writelines(['a', token, chr(10)])", f"a{SHOWN}\n"),
        ("assert sys.stdout.write('abc\\n') == 4 and sys.stdout.encoding and not sys.stdout.isatty()", "abc\n"),
        ("print('é' + token + 'ü')", f"é{SHOWN}ü\n"),
        ("%%capture cap\nprint(token)\n---\nassert cap.stdout == token + chr(10); cap.show()", f"{SHOWN}\n"),
        ("out = sys.stdout\n%mcc_guard off\nassert sys.stdout is not out; print(token); n = out.write('x' + token[:3] + chr(10))", f"The guard is off: what cells display is not searched for secrets.\n{MARK}\nxn0t\n"),
        ("%unload_ext mcc_jupyter\nprint(type(sys.stdout).__name__)", "The guard is off: what cells display is not searched for secrets.\nTextIOWrapper\n"),
    ],
)  # fmt: skip
def test_a_shell_without_a_kernel_guards_what_is_written_to_its_streams(tmp_path: Path, source: str, expected: str) -> None:
    assert _shell(tmp_path, source, guard=True).replace("\n\n", "\n") == expected


def test_a_traceback_in_a_shell_holds_no_secret(tmp_path: Path) -> None:
    text = _shell(tmp_path, "%xmode Verbose\n---\ndef f(inner): raise KeyError(inner)\nf(token)", guard=True)

    assert f"KeyError: '{SHOWN}'" in text
    assert MARK not in text


def test_a_guard_that_was_switched_on_while_output_was_captured_guards_the_next_cell(tmp_path: Path) -> None:
    assert _shell(tmp_path, "%%capture\n%mcc_guard on\n---\nprint(token)\n---\n%mcc_guard status").splitlines()[0] == SHOWN


def test_a_wrong_setting_is_a_loud_error(tmp_path: Path) -> None:
    assert "PolicyError: c.MccMagics.guard must be True or False\n" in _shell(tmp_path, "1", guard="on")


@pytest.mark.parametrize("line", ["%mcc_guard maybe", "%mcc_guard on off", "%mcc_guard on --never"])
def test_a_wrong_line_says_what_to_write(tmp_path: Path, line: str) -> None:
    assert "ArgumentError: %mcc_guard: write `%mcc_guard on [--never NAME…] | off | status`; `%mcc_guard?` shows the help\n" in _shell(tmp_path, line)


# ---- what it knows


class _Environment:
    def __init__(self, **values: str) -> None:
        self.values = values

    def __call__(self) -> dict[str, str]:
        return self.values


def _guard(parent: _Environment) -> guards.Guard:
    shell = SimpleNamespace(kernel=SimpleNamespace(session=SimpleNamespace(send=None)))
    return guards.Guard(shell, Toolbox(parent))  # type: ignore[arg-type]


def test_the_floor_what_is_no_secret_the_session_and_what_the_host_sets_are_not_searched_for() -> None:
    parent = {"PATH": "/usr/bin:/bin", "HOME": "/home/ada", "AWS_REGION": "eu-north-1", "MCC_CTX_USER": "ada@example.org", "_": "/usr/bin/python3", "DB_URL": "postgres://x"}

    assert list(secret_values(parent, ("PATH", "HOME"))) == [("DB_URL", "postgres://x")]


def test_a_value_that_is_shown_anyway_is_no_secret_but_for_a_credentials_name() -> None:
    parent = {"HOME": "/home/ada", "WORK_ROOT": "/home/ada", "DB_PASSWORD": "/home/ada"}

    assert list(secret_values(parent, ("HOME",))) == [("DB_PASSWORD", "/home/ada")]


def test_that_holds_for_what_tools_were_declared_with_as_well() -> None:
    parent = {"HOME": "/home/ada", "WORK_ROOT": "/home/ada"}
    learned = [("WORK_ROOT", "/home/ada"), ("OTHER", "of an env file")]

    assert list(guards.secret_values(parent, ("HOME",), learned)) == [("OTHER", "of an env file")]


def test_names_may_be_exempt_from_the_search_and_from_then_on_no_others(tmp_path: Path) -> None:
    text = _shell(tmp_path, "%mcc_guard on --never GITHUB_TOKEN\nprint(token)\n---\n%mcc_guard status\n---\n%mcc_guard on --never OTHER\nprint(token)")

    assert text.splitlines()[1] == MARK
    assert "Not searched for, as you said: GITHUB_TOKEN." in text
    assert text.splitlines()[-1] == SHOWN


def test_of_many_values_that_a_variable_had_the_last_are_known() -> None:
    parent = _Environment()
    guard = _guard(parent)
    for at in range(guards._EARLIER + 10):
        parent.values = {"STATE_ID": f"value-number-{at:05}"}
        guard.redactor()
    redactor = guard.redactor()

    assert redactor.text("value-number-00000") == "value-number-00000"
    assert redactor.text("value-number-00012") == "[redacted:STATE_ID]"
    assert redactor.text(parent.values["STATE_ID"]) == "[redacted:STATE_ID]"


def test_half_of_a_character_goes_through_and_a_secret_beside_it_does_not() -> None:
    text = guard_text.Text(_guard(_Environment(GITHUB_TOKEN=MARK)))

    assert text.feed("a " + MARK[:4]) == "a "
    assert text.feed(f"\ud800 {MARK}") == f"{MARK[:4]}\ud800 {SHOWN}"
    assert text.feed("b\udcff") + text.close() == "b\udcff"


def test_a_stream_goes_on_when_more_becomes_known() -> None:
    parent = _Environment(OTHER_VALUE="s0mething-else")
    text = guard_text.Text(_guard(parent))
    assert text.feed("n0t") == "n0t"
    parent.values = {**parent.values, "GITHUB_TOKEN": MARK}

    assert text.feed("|" + MARK[:10]) + text.feed(MARK[10:] + "|") + text.close() == f"|{SHOWN}|"


def test_too_many_waiting_streams_show_what_waited() -> None:
    sent: list[str] = []
    session = SimpleNamespace(send=lambda socket, message, *_, **__: sent.append(message["content"]["text"]))
    session.msg = lambda kind, content, parent: {"header": {"msg_type": kind}, "parent_header": parent, "content": content}
    guard = guards.Guard(SimpleNamespace(kernel=SimpleNamespace(session=session)), Toolbox(_Environment(GITHUB_TOKEN=MARK)))  # type: ignore[arg-type]
    guard.exit.open()
    for at in range(guard_kernel._STREAMS + 1):
        session.send(None, session.msg("stream", {"name": "stdout", "text": f"{at} n0"}, {"msg_id": str(at)}), ident=b"")

    assert sent[-2:] == ["n0", f"{guard_kernel._STREAMS} "]
    assert len(sent) == guard_kernel._STREAMS + 2
    guard.exit.close()
    assert sent.count("n0") == guard_kernel._STREAMS + 1


def test_nothing_is_sent_while_another_threads_output_has_to_wait() -> None:
    """Or a kernel whose queue of messages is full would wait for itself."""
    free: list[bool] = []

    def other() -> None:
        free.append(guard.exit._lock.acquire(timeout=1))  # type: ignore[attr-defined]
        if free[-1]:
            guard.exit._lock.release()  # type: ignore[attr-defined]

    def send(*_: object, **__: object) -> None:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    session = SimpleNamespace(send=send, msg=lambda kind, content, parent: {"content": content})
    guard = guards.Guard(SimpleNamespace(kernel=SimpleNamespace(session=session)), Toolbox(_Environment(GITHUB_TOKEN=MARK)))  # type: ignore[arg-type]
    guard.exit.open()
    message = {"header": {"msg_type": "stream"}, "parent_header": {"msg_id": "1"}, "content": {"name": "stdout", "text": "x" + MARK[:5]}}
    session.send(None, message, ident=b"")
    session.send(None, "comm_msg", {"data": MARK}, {"msg_id": "1"})
    session.send(None, "status", {"execution_state": "idle"}, {"header": {"msg_id": "1"}})
    guard.exit.close()

    assert free == [True] * 4
    assert session.send is send
