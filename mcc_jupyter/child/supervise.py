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
import select
import sys
import time
from _frozen_importlib_external import SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GRACE = 0.5
"""Seconds that what a tool left behind has to end by itself (SPEC 7.7)."""
PATIENCE = 2.0
"""Seconds after a KILL until a process counts as one that cannot be ended (a dead file server, for instance)."""
NULL = 3
"""A descriptor of /dev/null, below those that are reserved: it takes the place of what was the tool's."""
IDLE = 60
"""Seconds that a supervisor waits for another call: it has the last one's environment in its memory."""
CHUNK = 64 * 1024
"""Bytes of one read of a call's frame."""
LINGER = 3
"""Milliseconds that a supervisor stays after its report: its end would take the processor from who waits for it."""


def load(name: str) -> Any:
    """The module *name* of this folder, under a private name."""
    private = f"_mcc_{name}"
    if private not in sys.modules:
        module = type(sys)(private)
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.py")
        exec(SourceFileLoader(private, path).get_code(private) or "", vars(module))
        sys.modules[private] = module
    return sys.modules[private]


processes, start, removal = load("processes"), load("start"), load("removal")
kill, Refused = processes.kill, start.Refused


class Gone(Exception):
    """The kernel went away, or an order to end arrived, before the call was known."""


class Supervisor:
    """One call: read it, start the tool, pass on orders, end what is left, report."""

    def __init__(
        self, call: socket.socket, kernel: int, folder: str, scoped: bool = False, refusal: str | None = None
    ) -> None:
        self.call, self.kernel, self.folder = call, kernel, folder
        self.scoped = scoped
        """Whether it is proven that no signal of ours leaves our own domain."""
        self.refusal = refusal
        self.last = False
        """Whether no call may follow: an order to end came."""
        self.idle: int | None = None
        """Milliseconds until it waits no longer; one that has served no call yet waits for any time."""
        self.wake, _ = processes.wakeup()
        self.poll = processes.watching(call.fileno(), self.wake, kernel)
        self.reset()

    def reset(self) -> None:
        """Before each call."""
        self.made_files = False
        self.early = b""
        """Orders that came together with the call."""
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
        """Serves calls of one tool in one environment, as long as nothing of the last one is left."""
        while self.serve():
            os.chdir("/")
            self.reset()
            self.idle = IDLE * 1000

    def serve(self) -> bool:
        try:
            frame, descriptors = self.receive()
            error = None
            try:
                self.start(frame, descriptors)
                self.order(self.early)
                self.watch()
            except Refused as refused:
                error = str(refused)
        except Gone:
            return False
        finally:
            if self.made_files:
                self.remove_files()
        if self.stopped is None:
            self.stopped = self.limit(frame["limits"])
        again = processes.REAPS and error is None and not self.left and not self.last
        report = {"status": self.status, "stopped": self.stopped, "notes": self.notes, "error": error, "again": again}
        data = marshal.dumps(report, 2)
        try:
            self.call.sendall(len(data).to_bytes(8, "big") + data)
        except OSError:  # the kernel has gone
            return False
        if not again:
            self.call.shutdown(socket.SHUT_WR)
            select.poll().poll(LINGER)
        return bool(again)

    def remove_files(self) -> None:
        if removal.remove(self.folder) and not os.path.lexists(self.folder):
            return
        self.last = True  # the next supervisor has a folder of its own
        self.notes.append(f"its private files could not be removed; delete {self.folder}")

    def receive(self) -> tuple[dict, list[int]]:  # type: ignore[type-arg]
        data = bytearray()
        descriptors: list[int] = []
        size = -1
        while size < 0 or len(data) < size:
            self.until_readable()
            chunk, control, _, _ = self.call.recvmsg(CHUNK, socket.CMSG_SPACE(6 * 4))
            if not chunk:
                raise Gone
            data += chunk
            descriptors += processes.received(control)
            if size < 0:
                # A frame begins with a zero; what comes before is an order for a call that had just ended.
                del data[: data.find(0) if 0 in data else len(data)]
                size = 8 + int.from_bytes(data[:8], "big") if len(data) >= 8 else -1
        self.early = bytes(data[size:])
        return marshal.loads(data[8:size]), descriptors

    def until_readable(self) -> None:
        while True:
            ready = [fd for fd, _ in self.poll.poll(self.idle)]
            if not ready:
                # From here on the kernel cannot send a call that nobody would make. One that has come is made.
                self.call.shutdown(socket.SHUT_RD)
            if self.kernel in ready or (self.wake in ready and signal.SIGTERM in os.read(self.wake, 512)):
                raise Gone
            if self.call.fileno() in ready:
                return

    def start(self, frame: dict, descriptors: list[int]) -> None:  # type: ignore[type-arg]
        if self.refusal is not None:
            raise Refused(self.refusal)
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
                os.dup2(NULL, number, inheritable=number < 3)

    def spawn(self, frame: dict) -> None:  # type: ignore[type-arg]
        start.enter(frame["cwd"])
        variables = frame["environ"].split(b"\0")
        environ = dict(zip(variables[::2], variables[1::2]))
        if frame["files"]:
            self.made_files = True
            environ.update(start.private_files(self.folder, frame["files"]))
        argv = frame["argv"]
        program = start.find(argv[0], environ.get(b"PATH"))
        os.umask(frame["umask"])
        began = time.monotonic()
        try:
            if frame["limits"]:
                self.tool = start.spawn_limited(program, argv, environ, frame["limits"])
            else:
                self.tool = os.posix_spawn(program, argv, environ, setpgroup=0, setsigmask=(), setsigdef=start.SIGNALS)
        except (OSError, ValueError) as error:
            raise Refused(f"cannot start `{start.shown(argv[0])}`: {start.reason(error, frame['limits'])}") from None
        self.limited(None if frame["timeout"] is None else began + frame["timeout"])

    def limited(self, deadline: float | None) -> None:
        if deadline is not None:
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
                    self.last = True
                    self.order(b"k")
            elif fd == self.kernel:
                self.last = True
                self.poll.unregister(fd)
                self.order(b"k")
            else:
                try:
                    orders = self.call.recv(64)
                except OSError:
                    orders = b""
                if not orders:
                    self.last = True
                    self.poll.unregister(fd)
                self.order(orders or b"k")

    def order(self, orders: bytes) -> None:
        now = time.monotonic()
        while orders:
            order, orders = orders[0], orders[1:]
            if order == ord("t"):  # a spare has got its call
                milliseconds, orders = int.from_bytes(orders[:8], "big"), orders[8:]
                self.steps = [step for step in self.steps if step[2] == "interrupt"]
                self.limited(now + milliseconds / 1000 if milliseconds else None)
            elif order == ord("a"):
                if all(why != "answered" for _, _, why in self.steps):
                    self.steps.append((now + 1, signal.SIGKILL, "answered"))
            elif order == ord("n"):
                self.steps = [step for step in self.steps if step[2] == "interrupt"]
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
        if self.scoped:
            # The kernel refuses it for everything outside of our domain. Faster than a tool that starts new ones.
            kill(-1)
        elif not processes.REAPS:
            kill(-self.tool)
        elif self.status is not None:
            for pid in processes.children():
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
            self.left = not processes.REAPS and kill(-self.tool, 0)

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
