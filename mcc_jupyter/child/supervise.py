"""The supervisor: the forked process of one call. Starts the tool, passes orders on, ends what is left (SPEC 7.1).

1. The tool is told by its process group as long as it is not reaped. Afterwards its orphans, which come to us, are
   ended a generation at a time. Only our own children and the group we made are ever signalled.
2. Escalation is decided here, so that it goes on when the kernel is busy, stopped or dead (SPEC 7.7 to 7.9).
3. Standard library only, as few modules as possible: ``signal`` and ``socket`` import ``enum``, which takes as long as
   starting the interpreter; their C halves do not. Runs on Python 3.8 and later. ``launch.py`` has the protocol.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]
import _socket as socket
import errno
import marshal
import os
import resource
import select
import sys
import time

GRACE = 0.5
"""Seconds that what a tool left behind has to end by itself (SPEC 7.7)."""
PATIENCE = 2.0
"""Seconds after a KILL until a process counts as one that cannot be ended (a dead file server, for instance)."""
SIGNALS = [number for number in range(1, 32) if number not in (signal.SIGKILL, signal.SIGSTOP)]
SUBREAPER, DUMPABLE, NAME, NO_NEW_PRIVS = 36, 4, 15, 38
SHELLS = {b"sh", b"bash", b"dash", b"zsh", b"ksh", b"fish"}

try:
    import ctypes

    _libc = ctypes.CDLL(None)
except (ImportError, OSError):  # an interpreter without libffi
    _libc = None  # type: ignore[assignment]


def prctl(option: int, argument: object) -> bool:
    """Whether the kernel did as told; never outside Linux."""
    if not sys.platform.startswith("linux") or _libc is None:
        return False
    return bool(_libc.prctl(option, argument, 0, 0, 0) == 0)


REAPS = prctl(SUBREAPER, 0)
"""Whether orphans come to us. Where they do not (macOS), only the tool's process group can be ended."""


class Refused(Exception):
    """The tool cannot be started; the text is for people and holds no value."""


class Gone(Exception):
    """The kernel went away, or an order to end arrived, before the call was known."""


class Supervisor:
    """One call: read it, start the tool, pass on orders, end what is left, report."""

    def __init__(self, call: socket.socket, kernel: int, folder: str) -> None:
        self.call, self.kernel, self.folder = call, kernel, folder
        self.wake, _ = wakeup()
        self.poll = watching(call.fileno(), self.wake, kernel)
        self.made_files = False
        self.tool = 0
        self.status: int | None = None
        self.cpu = 0.0
        self.left = True
        self.steps: list[tuple[float, int, str]] = []
        """(when, signal, why): what is still going to happen to the tool."""
        self.killed_at = 0.0
        self.orders = 0
        self.stopped: str | None = None
        self.notes: list[str] = []

    def run(self) -> None:
        try:
            frame, descriptors = self.receive()
            error = None
            try:
                self.start(frame, descriptors)
                self.watch()
            except Refused as refused:
                error = str(refused)
        except Gone:
            return
        finally:
            if self.made_files:
                remove(self.folder)
        if self.stopped is None:
            self.stopped = self.limit(frame["limits"])
        report = {"status": self.status, "stopped": self.stopped, "notes": self.notes, "error": error}
        data = marshal.dumps(report, 2)
        try:
            self.call.sendall(len(data).to_bytes(8, "big") + data)
        except OSError:  # the kernel has gone
            return

    def receive(self) -> tuple[dict, list[int]]:  # type: ignore[type-arg]
        self.until_readable()
        header, control, _, _ = self.call.recvmsg(8, socket.CMSG_SPACE(5 * 4))
        descriptors = received(control)
        size = int.from_bytes(header + self.read(8 - len(header)), "big")
        return marshal.loads(self.read(size)), descriptors

    def read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            self.until_readable()
            chunk = self.call.recv(min(size - len(data), 1 << 20))
            if not chunk:
                raise Gone
            data += chunk
        return bytes(data)

    def until_readable(self) -> None:
        while True:
            ready = [fd for fd, _ in self.poll.poll()]
            if self.kernel in ready or (self.wake in ready and signal.SIGTERM in os.read(self.wake, 512)):
                raise Gone
            if self.call.fileno() in ready:
                return

    def start(self, frame: dict, descriptors: list[int]) -> None:  # type: ignore[type-arg]
        if len(descriptors) < len(frame["numbers"]):
            raise Refused(f"cannot start: {os.strerror(errno.EMFILE)}; close some, or raise the limit of this process")
        for number, fd in zip(frame["numbers"], descriptors):
            os.dup2(fd, number)
            os.close(fd)
        try:
            self.spawn(frame)
        finally:
            # From here on the tool alone holds its ends, so that the kernel sees when it closes them.
            for number in frame["numbers"]:
                os.close(number)

    def spawn(self, frame: dict) -> None:  # type: ignore[type-arg]
        enter(frame["cwd"])
        environ = dict(frame["environ"])
        if frame["files"]:
            self.made_files = True
            environ.update(private_files(self.folder, frame["files"]))
        argv = frame["argv"]
        program = find(argv[0], environ.get(b"PATH"))
        if frame["confined"]:
            prctl(NO_NEW_PRIVS, 1)
        prctl(SUBREAPER, 1)
        os.umask(frame["umask"])
        began = time.monotonic()
        try:
            if frame["limits"]:
                self.tool = spawn_limited(program, argv, environ, frame["limits"])
            else:
                self.tool = os.posix_spawn(program, argv, environ, setpgroup=0, setsigmask=(), setsigdef=SIGNALS)
        except (OSError, ValueError) as error:
            raise Refused(f"cannot start `{shown(argv[0])}`: {reason(error, frame['limits'])}") from None
        if frame["timeout"] is not None:
            deadline = began + frame["timeout"]
            self.steps += [(deadline, signal.SIGTERM, "timeout"), (deadline + 2, signal.SIGKILL, "timeout")]

    def watch(self) -> None:
        while True:
            was_running = self.status is None
            self.reap()
            now = time.monotonic()
            if self.status is not None:
                if not self.left:
                    return
                if was_running:
                    at_once = self.killed_at or any(number == signal.SIGKILL for _, number, _ in self.due(now))
                    self.steps = [(now + (0.0 if at_once else GRACE), signal.SIGKILL, "background")]
            for step in self.due(now):
                self.steps.remove(step)
                self.take(step[1], step[2])
            if self.killed_at:
                if now > self.killed_at + PATIENCE:
                    self.notes.append("a process could not be ended")
                    return
                self.kill_left()
            self.listen(0.01 if self.killed_at else min(self.steps)[0] - now if self.steps else None)

    def due(self, now: float) -> list[tuple[float, int, str]]:
        return sorted(step for step in self.steps if step[0] <= now)

    def listen(self, timeout: float | None) -> None:
        """Wait for a child, an order, the kernel's end or the next step."""
        for fd, _ in self.poll.poll(None if timeout is None else max(0, int(min(timeout, 3600) * 1000) + 1)):
            if fd == self.wake:
                if signal.SIGTERM in os.read(self.wake, 512):
                    self.order(b"k")
            elif fd == self.kernel:
                self.poll.unregister(fd)
                self.order(b"k")
            else:
                try:
                    orders = self.call.recv(64)
                except OSError:
                    orders = b""
                if not orders:
                    self.poll.unregister(fd)
                self.order(orders or b"k")

    def order(self, orders: bytes) -> None:
        now = time.monotonic()
        for order in orders:
            if order == ord("a"):
                if all(why != "answered" for _, _, why in self.steps):
                    self.steps.append((now + 1, signal.SIGKILL, "answered"))
            elif order == ord("k") or self.orders or self.status is not None:
                self.steps.append((now, signal.SIGKILL, "interrupt"))
            else:
                self.orders += 1
                for after, number in ((0, signal.SIGINT), (1, signal.SIGTERM), (3, signal.SIGKILL)):
                    self.steps.append((now + after, number, "interrupt"))

    def take(self, number: int, why: str) -> None:
        if self.status is None:
            # The tool is not reaped yet, so that this number is still its group and nobody else's.
            kill(-self.tool, number)
            if number == signal.SIGKILL:
                kill(self.tool)  # it may have left its group
            if why == "answered":
                self.notes.append("still running 1 s after its answer: ended")
            elif self.stopped is None:
                self.stopped = why
        elif not self.killed_at:
            self.notes.append("background process was ended")
        if number == signal.SIGKILL:
            self.killed_at = self.killed_at or time.monotonic()

    def kill_left(self) -> None:
        """End our children; the orphans of each come to us for the next round. So no number is another's by now."""
        if not REAPS:
            kill(-self.tool)
        elif self.status is not None:
            for pid in children():
                kill(pid)

    def reap(self) -> None:
        try:
            while True:
                pid, status, usage = os.wait3(os.WNOHANG)
                if not pid:
                    self.left = True
                    return
                if pid == self.tool:
                    self.status, self.cpu = status, usage.ru_utime + usage.ru_stime
        except ChildProcessError:
            self.left = not REAPS and kill(-self.tool, 0)

    def limit(self, limits: dict[str, int]) -> str | None:
        """The limit that ended the tool, or a program that its shell waited for; None unless it is known."""
        if self.status is None or not limits:
            return None
        code = os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else os.WEXITSTATUS(self.status) - 128
        if "fsize_mb" in limits and code == signal.SIGXFSZ:
            return "fsize_mb"
        # The system counts in ticks, so that it may strike a little before its own sum says so.
        used_up = self.cpu > limits.get("cpu_sec", float("inf")) - 0.2
        return "cpu_sec" if used_up and code in (signal.SIGXCPU, signal.SIGKILL) else None


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


RLIMITS = {"mem_mb": "RLIMIT_AS", "cpu_sec": "RLIMIT_CPU", "fsize_mb": "RLIMIT_FSIZE", "nofile": "RLIMIT_NOFILE"}


def wakeup() -> tuple[int, int]:
    """A pipe that gives a byte, the signal's number, for each SIGCHLD and SIGTERM."""
    ours, theirs = os.pipe()
    for fd in (ours, theirs):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    return ours, theirs


def watching(*descriptors: int) -> select.poll:
    poll = select.poll()
    for fd in descriptors:
        if fd >= 0:  # no pidfd where the system or the kernel's Python has none
            poll.register(fd, select.POLLIN)
    return poll


def received(control: list[tuple[int, int, bytes]]) -> list[int]:
    """The descriptors in a message's ancillary data."""
    data = b"".join(item for level, kind, item in control if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS))
    found = [int.from_bytes(data[at : at + 4], sys.byteorder) for at in range(0, len(data) - 3, 4)]
    for fd in found:
        os.set_inheritable(fd, False)
    return found


def children() -> list[int]:
    """Our own children, the only processes beside the tool's group that we may signal."""
    own = os.getpid()
    try:
        with open(f"/proc/{own}/task/{own}/children") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:  # a system built without it
        return children_by_parent(own)


def children_by_parent(own: int) -> list[int]:
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError):  # it has just ended
                continue
            if parent == own:
                found.append(int(name))
    return found


def kill(pid: int, number: int = signal.SIGKILL) -> bool:
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True


def remove(path: str) -> None:
    """The folder with everything in it, whatever the tool made of it."""
    try:
        if os.path.islink(path) or not os.path.isdir(path):
            os.unlink(path)
            return
        os.chmod(path, 0o700)
        for name in os.listdir(path):
            remove(os.path.join(path, name))
        os.rmdir(path)
    except OSError:
        return
