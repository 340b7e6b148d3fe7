"""From a frame to a started process: its folder, private files, program and limits (SPEC 4.10, 7.8).

1. What cannot be started is ``Refused`` with a text for people, without a value.
2. Standard library only, Python 3.8 and later.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]
import errno
import os
import resource

HELD = 4
"""A descriptor of those that are reserved: the private folder's."""
SIGNALS = [number for number in range(1, 32) if number not in (signal.SIGKILL, signal.SIGSTOP)]
SHELLS = {b"sh", b"bash", b"dash", b"zsh", b"ksh", b"fish"}
RLIMITS = {"mem_mb": "RLIMIT_AS", "cpu_sec": "RLIMIT_CPU", "fsize_mb": "RLIMIT_FSIZE", "nofile": "RLIMIT_NOFILE"}


class Refused(Exception):
    """The tool cannot be started; the text is for people and holds no value."""


def enter(cwd: bytes) -> None:
    try:
        os.chdir(cwd)
    except (OSError, ValueError) as error:
        number = int(getattr(error, "errno", errno.EINVAL))
        what = {errno.ENOENT: "does not exist, or no longer", errno.ENOTDIR: "is not a directory"}.get(
            number, f"cannot be entered ({os.strerror(number)})"
        )
        raise Refused(f"working directory `{shown(cwd)}` {what}; set cwd to a folder that is there") from None


def private_files(folder: str, files: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """Each content in a file that only this user can read; the variables that name them."""
    names = {}
    os.umask(0o077)
    try:
        os.mkdir(folder, 0o700)
        hold(folder)
        for name, content in files.items():
            path = os.path.join(os.fsencode(folder), name)
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(fd, "wb") as file:
                file.write(content)
            names[name] = path
    except OSError as error:
        text = os.strerror(error.errno or errno.EIO)
        raise Refused(f"cannot write a private file in {os.path.dirname(folder)}: {text}; make room there") from None
    return names


def hold(folder: str) -> None:
    """Locks *folder* until this process ends or makes another: no sweep takes it for one that was left behind."""
    import fcntl

    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    os.dup2(fd, HELD, inheritable=False)
    os.close(fd)
    try:
        fcntl.flock(HELD, fcntl.LOCK_SH)
    except OSError:  # a file system without locks, where no sweep removes anything either
        return


def find(name: bytes, path: bytes | None) -> bytes:
    """The program's path, looked up as the tool itself would look (after ``chdir``, on its own PATH)."""
    candidates = [name]
    if b"/" not in name:
        folders = (os.fsencode(os.defpath) if path is None else path).split(b":")
        candidates = [os.path.join(folder or b".", name) for folder in folders]
    there = [candidate for candidate in candidates if name and os.path.isfile(candidate)]
    for candidate in there:
        if os.access(candidate, os.X_OK):
            return candidate
    kind = "shell" if os.path.basename(name) in SHELLS else "program"
    if there:
        raise Refused(f"{kind} is not executable: `{shown(there[0])}`; make it so with chmod +x")
    where = "install it or correct the path" if b"/" in name else "it is in no folder of the tool's PATH"
    raise Refused(f"{kind} not found: `{shown(name)}`; {where}")


def shown(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace").replace("\n", "\\n")


def reason(error: Exception, limits: dict[str, int]) -> str:
    number = getattr(error, "errno", None)
    if number is None:
        return "an argument, or a variable's name or value, holds a character that no process can be given"
    advice = {
        errno.E2BIG: ": its arguments and variables together; give it less",
        errno.ENOENT: ": the interpreter that its first line names",
        errno.ENOEXEC: "; a script needs a first line like #!/bin/sh",
    }.get(number, "")
    if number == errno.ENOMEM and "mem_mb" in limits:
        advice = f"; raise limits.mem_mb, which is {limits['mem_mb']}"
    return os.strerror(number) + advice


def spawn_limited(program: bytes, argv: list[bytes], environ: dict[bytes, bytes], limits: dict[str, int]) -> int:
    """As ``posix_spawn``, with limits that hold from the first instruction on, for every process the tool starts.

    ``prlimit`` after the start would leave a gap in which a tool can start children without limits, and limits of the
    supervisor's own would break it; a fork of this small process costs 0.2 ms.
    """
    ours, theirs = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.setpgid(0, 0)
            for number in SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            for name, value in limits.items():
                kind = getattr(resource, RLIMITS[name])
                most = resource.getrlimit(kind)[1]
                soft, hard = (value, value + 1) if name == "cpu_sec" else (value, value)
                if name.endswith("_mb"):
                    soft = hard = min(value << 20, 1 << 62)
                if most != resource.RLIM_INFINITY:
                    soft, hard = min(soft, most), min(hard, most)
                resource.setrlimit(kind, (soft, hard))
            os.execve(program, argv, environ)
        except BaseException as error:  # noqa: BLE001 - the forked process must not go on as a supervisor
            number = 0 if isinstance(error, ValueError) else getattr(error, "errno", errno.ENOMEM)
            os.write(theirs, b"%d" % number)
        finally:
            os._exit(127)
    os.close(theirs)
    failure = os.read(ours, 16)  # the pipe closes without a word when exec succeeds
    os.close(ours)
    if failure:
        os.waitpid(pid, 0)
        raise OSError(int(failure), "") if int(failure) else ValueError
    return pid
