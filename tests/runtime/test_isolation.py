"""What a tool cannot reach, and what it still can: in a process namespace of their own, as root and as an ordinary user."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from mcc_jupyter.core.command import Request
from mcc_jupyter.core.isolation import Isolation
from mcc_jupyter.runtime.launcher import Launcher
from tests.processes import REPOSITORY, changed_launcher

ENVIRON = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


CLOSED = "Isolation: Landlock, no new privileges: a tool cannot read or trace other processes. Nothing keeps it from files."
SETPRIV = ("setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups")


def _namespace() -> bool:
    """Whether a process namespace with its own /proc can be had, and a Landlock that scopes signals."""
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("setpriv"):
        return False
    trial = ["unshare", "--pid", "--fork", "--mount-proc", "true"]
    if subprocess.run(trial, env=ENVIRON, capture_output=True).returncode:
        return False
    launcher = Launcher(ENVIRON)
    try:
        return launcher.isolation.scoped
    finally:
        launcher.close()


PRELUDE = """
import json, os, signal, sys, threading, time
sys.path.insert(0, {repository!r})
from mcc_jupyter.core.command import Request
from mcc_jupyter.runtime import launcher as module
from mcc_jupyter.runtime.launcher import Launcher
ENVIRON = {{"PATH": os.environ["PATH"], "HOME": {folder!r}}}
module._LAUNCH = {launch!r} or module._LAUNCH
launcher = Launcher(ENVIRON)

def run(script, **more):
    out = bytearray()
    request = Request(("/bin/sh", "/dev/fd/9"), more.pop("environ", ENVIRON), {folder!r}, payload=script.encode(), **more)
    exit = launcher.run(request, stdout=out.extend, stderr=out.extend)
    return exit, out.decode("utf-8", "replace")

os.environ["IN_THE_KERNEL"] = "kernel-secret"
answer = None
{body}
launcher.close()
print(json.dumps(answer))
"""


def inside(body: str, folder: Path, user: str, launch: Path | str = "") -> object:
    """What *body* puts into ``answer``, run by a process that stands for the kernel; *launch*: another launcher's script."""
    folder.chmod(0o777)
    for parent in folder.parents[:2]:
        parent.chmod(parent.stat().st_mode | 0o055)
    script = PRELUDE.format(repository=str(REPOSITORY), folder=str(folder), launch=str(launch), body=textwrap.dedent(body))
    who = () if user == "root" else SETPRIV
    command = ["unshare", "--pid", "--fork", "--mount-proc", *who, PYTHONS[user], "-B", "-c", script]
    environ = {**ENVIRON, "KERNEL_SECRET": "kernel-secret", "HOME": str(folder)}
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


def _pythons() -> dict[str, str]:
    """By user: an interpreter that this user may run."""
    found = {"root": sys.executable}
    check = f"import os, sys; sys.path.insert(0, {str(REPOSITORY)!r}); import mcc_jupyter.runtime.launcher; assert os.access(sys.executable, os.X_OK)"
    for python in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        command = [*SETPRIV, python, "-B", "-c", check]
        if shutil.which("setpriv") and os.path.exists(python) and not subprocess.run(command, env=ENVIRON, capture_output=True).returncode:
            found["ordinary"] = python
            break
    return found


AVAILABLE = _namespace()
PYTHONS = _pythons() if AVAILABLE else {"root": sys.executable}
confined = pytest.mark.skipif(not AVAILABLE, reason="needs root, unshare, setpriv and Landlock 6")
users = pytest.mark.parametrize("user", PYTHONS)


@confined
@users
def test_ENV_18_a_tool_cannot_read_the_kernel_nor_our_processes(user: str, tmp_path: Path) -> None:
    body = """
    deeper = "sh -c 'sh -c \\"%s\\"'"
    look = "cat /proc/%d/environ /proc/%d/mem /proc/%d/maps 2>/dev/null | wc -c"
    found = {}
    launcher.isolation
    keeper = launcher._process.pid
    ours = [os.getpid(), keeper, int(open(f"/proc/{keeper}/task/{keeper}/children").read())]
    for pid in ours:
        line = look % (pid, pid, pid)
        found[str(len(found))] = [run(line)[1].strip(), run(deeper % line)[1].strip(), run(line, isolation=False)[1].strip() != "0"]
    answer = found
    """
    found = inside(body, tmp_path, user)

    assert isinstance(found, dict)
    # Without isolation the kernel can be read by anybody; what is ours is not dumpable, which stops an ordinary user.
    assert found == {"0": ["0", "0", True], "1": ["0", "0", user == "root"], "2": ["0", "0", user == "root"]}


@confined
@users
def test_ENV_18_nothing_that_holds_an_environment_can_be_read_from_a_tool_or_below_it(user: str, tmp_path: Path) -> None:
    """The kernel, our processes, one that waits with the last environment, one that has imported a function, tools."""
    body = f"""
    from mcc_jupyter.core.tool import Origin
    from mcc_jupyter.runtime.toolbox import Toolbox
    os.chdir(ENVIRON["HOME"])
    open("mod.py", "w").write("import os\\ndef run(): return [os.getppid(), os.getpid()]\\n")
    box = Toolbox(lambda: {{**ENVIRON, "TOKEN": "a-secret-of-the-function"}})
    launcher = box.launcher
    box.add([{{"name": "f", "fn": "mod:run", "python": {PYTHONS[user]!r}, "env_passthrough": ["TOKEN"]}}], Origin("cell", "c", "id"), folder=ENVIRON["HOME"]).raise_for_problems()
    below = lambda pid: [int(one) for one in open(f"/proc/{{pid}}/task/{{pid}}/children").read().split()]
    called = box.call("f", {{}})
    imported = called.value[0]
    while not below(imported): time.sleep(0.01)
    waiting = int(run("echo $PPID", environ={{**ENVIRON, "TOKEN": "a-secret-of-the-last-call"}}, tool="other")[1])
    thread = threading.Thread(target=run, args=("echo $$ > pid; exec sleep 30",), kwargs={{"environ": {{**ENVIRON, "TOKEN": "a-secret-of-a-tool"}}}})
    thread.start()
    while not os.path.exists("pid") or not open("pid").read().strip(): time.sleep(0.01)
    keeper = launcher._process.pid
    running = int(open("pid").read())
    mother, = below(keeper)
    known = {{"kernel": os.getpid(), "keeper": keeper, "launcher": mother, "waiting supervisor": waiting, "imported": imported, "forked ahead": below(imported)[-1], "running tool": running}}
    spare = launcher._taken(confined=True)
    known["spare supervisor"] = launcher._numbers[spare]
    look = "for file in environ mem maps; do ( : < /proc/%d/$file ) 2>/dev/null && printf %%s $file; done"
    open("look", "w").write("\\n".join(f"echo '{{who}}:'$({{look % pid}})" for who, pid in known.items()))
    tries = ["sh look", "sh -c 'sh look; :'", "sh -c 'sh -c \\"sh look; :\\"; :'", "setsid sh look"]
    answer = [called.mode, [run("echo " + str(at) + "; cd " + ENVIRON["HOME"] + "; " + one)[1].split("\\n")[1:-1] for at, one in enumerate(tries)]]
    answer.append(run("cd " + ENVIRON["HOME"] + "; sh look", isolation=False)[1].split("\\n")[:-1])
    answer.append(run(look.replace("%%", "%").replace("/%d/", "/$$/"))[1])
    os.kill(running, signal.SIGKILL)
    thread.join()
    spare.close()
    box.close()
    """
    found = inside(body, tmp_path, user)

    assert isinstance(found, list)
    who = ["kernel", "keeper", "launcher", "waiting supervisor", "imported", "forked ahead", "running tool", "spare supervisor"]
    assert found[:2] == ["warm", [[f"{one}:" for one in who]] * 4]
    # The look finds what can be read: without isolation root reads all, an ordinary user what does not protect itself.
    dumpable = who if user == "root" else ["kernel", "running tool"]
    assert found[2] == [f"{one}:environmemmaps" if one in dumpable else f"{one}:" for one in who]
    assert found[3] == "environmemmaps"


@confined
@users
def test_a_tool_cannot_read_or_signal_another_tool_that_runs(user: str, tmp_path: Path) -> None:
    body = """
    thread = threading.Thread(target=run, args=("echo $$ > pid; exec sleep 30",), kwargs={"environ": {**ENVIRON, "OTHER": "other-secret"}})
    thread.start()
    while not os.path.exists("pid") or not open("pid").read().strip():
        time.sleep(0.01)
    pid = int(open("pid").read())
    look = f"cat /proc/{pid}/environ 2>/dev/null | wc -c; sh -c 'sh -c \\"cat /proc/{pid}/mem 2>&1 | wc -l\\"'; kill -9 {pid} 2>/dev/null; echo $?; kill -9 -1; echo $?"
    answer = [run("cd .; (" + look + ")")[1].split()[:3]]
    answer.append(os.path.exists(f"/proc/{pid}"))
    os.kill(pid, signal.SIGKILL)
    thread.join()
    """
    assert inside("os.chdir(ENVIRON['HOME'])\n" + textwrap.dedent(body), tmp_path, user) == [["0", "1", "1"], True]


@confined
@users
def test_a_tools_own_processes_stay_readable_and_programs_work(user: str, tmp_path: Path) -> None:
    body = f"""
    script = '''set -e
    sleep 5 & cat /proc/$!/environ | tr '\\\\0' '\\\\n' | grep -c ^PATH=; kill $!
    ps -e > ps.txt; head -n 1 ps.txt | grep -c PID
    mkdir -p a b; echo x > a/file; mv a/file b/file; cat b/file
    git init -q repo; cd repo; echo 1 > one; git add one; git -c user.name=a -c user.email=a@b commit -qm one; git log --oneline | wc -l; cd ..
    {PYTHONS[user]} -m venv --without-pip made; made/bin/python -c 'print("venv")'
    timeout 1 sleep 0.1 && echo timed
    '''
    exit, out = run(script)
    answer = [exit.code, out.split()]
    """
    assert inside(body, tmp_path, user) == [0, ["1", "1", "x", "1", "venv", "timed"]]


@confined
@users
def test_what_holds_is_what_the_launcher_says(user: str, tmp_path: Path) -> None:
    body = """
    held = run("grep -E 'NoNewPrivs|CapEff|CapBnd' /proc/self/status; cat /proc/self/limits | grep -i core")[1].split()
    told = launcher.isolation
    answer = [told.domain, told.scoped, told.unprivileged, told.final, told.line(), held[1], held[3], held[5], held[-3:]]
    """
    found = inside(body, tmp_path, user)

    assert isinstance(found, list)
    assert found[:5] == [True, True, True, True, CLOSED]
    status = dict(zip(("CapEff", "CapBnd", "NoNewPrivs"), found[5:8], strict=True))
    assert status["NoNewPrivs"] == "1"
    for capability in (21, 38):
        assert not int(status["CapEff"], 16) >> capability & 1
        if user == "root":
            assert not int(status["CapBnd"], 16) >> capability & 1
    assert found[8] == ["0", "0", "bytes"]


def older(folder: Path, abi: int) -> Path:
    """A launcher that takes this system's Landlock for an older one, which a newer one can do as well."""
    return changed_launcher(folder, {"confine": ("max(0, call(CREATE_RULESET, None, 0, 1))", str(abi))})


LESS = """
    script = '''set -e
    mkdir -p a b; echo x > a/file; mv a/file b/file; ln b/file a/linked; cat a/linked
    mkdir -p a/folder; mv a/folder b/folder; ls -d b/folder
    ''' + f"cat /proc/{os.getpid()}/environ 2>/dev/null | tr '\\\\0' '\\\\n' | grep -c ^KERNEL_SECRET || true; kill -0 {os.getpid()} 2>/dev/null && echo signalled; setsid sleep 30 & echo done"
    exit, out = run(script)
    time.sleep(0.05)
    left = [line for line in os.popen("ps -e -o args").read().splitlines() if line == "sleep 30"]
    answer = [exit.code, list(exit.notes), out.split(), left, launcher.isolation.line()]
"""
DENIED = "Isolation: Landlock, no new privileges: a tool cannot read or trace other processes; it can signal them. Nothing keeps it from files."
OPEN = "Isolation: own process, no new privileges; not confined, because this system has no Landlock 2. A tool can read the first environment of the process that holds these values; files are not isolated."


@confined
@users
@pytest.mark.parametrize(("abi", "read", "line"), [(5, "0", DENIED), (2, "0", DENIED), (1, "1", OPEN), (0, "1", OPEN)])
def test_an_older_landlock_works_with_less_and_the_footer_says_what_is_missing(user: str, abi: int, read: str, line: str, tmp_path: Path) -> None:
    found = inside("os.chdir(ENVIRON['HOME'])\n" + textwrap.dedent(LESS), tmp_path, user, older(tmp_path, abi))

    assert found == [0, ["background process was ended"], ["x", "b/folder", read, "signalled", "done"], [], line]


@confined
@users
@pytest.mark.parametrize(("layers", "abi"), [(15, 7), (16, 7), (15, 4), (16, 4)])
def test_a_kernel_that_is_confined_many_times_refuses_calls_at_the_systems_limit(user: str, layers: int, abi: int, tmp_path: Path) -> None:
    """A kernel in a tool's kernel in … Linux allows 16 domains; a function's forked call would need one more."""
    body = f"""
    import importlib.util
    spec = importlib.util.spec_from_file_location("confine", os.path.dirname(module._LAUNCH) + "/confine.py")
    confine = importlib.util.module_from_spec(spec); spec.loader.exec_module(confine)
    for _ in range({layers}):
        held, trouble = confine.Confinement().enter(1)
        assert held & 1 and not trouble
    exit, out = run("echo fine")
    loose = run("echo loose", isolation=False)[1]
    from mcc_jupyter.core.tool import Origin
    from mcc_jupyter.runtime.toolbox import Toolbox
    open(ENVIRON["HOME"] + "/mod.py", "w").write("def run(): return 1\\n")
    box = Toolbox(lambda: ENVIRON)
    added = box.add([{{"name": "f", "fn": "mod:run", "python": {PYTHONS[user]!r}}}], Origin("cell", "c", "id"), folder=ENVIRON["HOME"])
    called = box.call("f", {{}}) if added.tools else None
    problem = str(added.problems[0]) if added.problems else ""
    answer = [exit.code, exit.error, out, loose, launcher.isolation.line(), called and [called.value, called.mode, called.mode_reason], problem]
    box.close()
    """
    found = inside(body, tmp_path, user, older(tmp_path, abi))

    assert isinstance(found, list)
    if layers == 15:
        cold = [1, "cold", "it is confined too many times to be confined once more for each call"]
        assert found == [0, None, "fine\n", "loose\n", DENIED if abi == 4 else CLOSED, cold, ""]
    else:
        why = "cannot be confined: this process is already confined too many times; start the notebook elsewhere, or declare the tool with isolation: off"
        line = "Isolation: this process cannot be confined any further; a call is refused and says why."
        assert found == [None, why, "", "loose\n", line, None, f"public.f: fn: {why}; run the import alone to see why"]


@confined
@users
def test_a_tool_that_multiplies_is_ended_with_everything(user: str, tmp_path: Path) -> None:
    body = """
    bomb = "import os, time\\nfor _ in range(40):\\n    if os.fork() == 0:\\n        os.setsid()\\n        for _ in range(4):\\n            if os.fork() == 0: os.setsid()\\n        time.sleep(30); os._exit(0)\\n"
    open("bomb.py", "w").write(bomb)
    exit, out = run(sys.executable + " bomb.py; exit 3")
    left = [line for line in os.popen("ps -e -o args").read().splitlines() if line.endswith(" bomb.py")]
    answer = [exit.code, list(exit.notes), exit.seconds < 8, left]
    """
    assert inside("os.chdir(ENVIRON['HOME'])\n" + textwrap.dedent(body), tmp_path, user) == [3, ["background process was ended"], True, []]


def test_this_process_writes_no_core_file_once_a_launcher_runs() -> None:
    launcher = Launcher(ENVIRON)
    first, second = launcher.isolation, launcher.isolation
    launcher.close()

    assert first is second
    assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)


def test_isolation_can_be_asked_again_and_calls_use_the_supervisor_that_told() -> None:
    launcher = Launcher(ENVIRON)
    out = bytearray()
    try:
        told = launcher.isolation
        exit = launcher.run(Request(("echo", "hi"), ENVIRON, "/"), stdout=out.extend, stderr=out.extend)
    finally:
        launcher.close()

    assert (exit.code, out, told.platform) == (0, b"hi\n", sys.platform)


def test_a_launcher_that_does_not_start_confines_nothing_that_is_known() -> None:
    assert Launcher(ENVIRON, python="/no/python").isolation == Isolation(sys.platform, known=False)
