"""The launcher: two small processes beside the kernel, and a confined supervisor ready for the next call (SPEC 7.1).

    kernel ── keeper ── launcher ── supervisor ── tool

1. The launcher never sees a call. It forks a supervisor ahead, which confines itself and offers its own socket to the
   kernel: a slot. What belongs to a call (command, environment, descriptors) goes over that socket, so no argv and
   environ of ours holds a value.
2. Nothing survives. A supervisor ends what its tool left; the launcher does so for a supervisor that was killed; the
   keeper does so for a launcher that was killed. Killed in one instant they leave what the next keeper of this user
   finds by a mark (``strays.py``). All watch the kernel, by the end of their socket and by a pidfd (a process forked
   from the kernel keeps the socket open). A tool may stop its supervisor: whoever is to end is continued, and killed
   when it has not ended in time.
3. Standard library only, Python 3.8 and later, started by path. This file is compiled at every start; the others are
   not.

Command line: ``launch.py CONTROL KERNEL``, the descriptors of the control socket and of a pidfd of the kernel (or -1).
Control socket, from the kernel: ``c`` for each slot that is wanted, ``o`` for one that is not confined. One confined
slot comes unasked. ``k`` and the four bytes of a supervisor's number: it is to be killed, with all it watches. Its end
is the order to end everything. Back comes for each slot the descriptor of its call socket with eight bytes: ``c``,
``o`` or ``x`` (there is none, for the error that follows), Landlock's version, what holds (bits of ``confine.py``), an
error number, the supervisor's number.
Call socket, from the kernel: 8 bytes length and the descriptors, the frame (``marshal``, a dict), then orders of one
byte: ``i`` interrupt (a second one kills), ``k`` kill, ``a`` the answer on descriptor 8 is complete, ``n`` it stays,
without a time limit, ``t`` (with 8 bytes) it begins now and may take so many milliseconds (0: any number); its end
means that the kernel is gone. Back comes one report in the same form: ``{status, stopped, notes, error, again}``; with
``again`` the supervisor waits for another call of the same tool in the same environment.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]
import _socket as socket
import errno
import gc
import os
import sys
import time
from _frozen_importlib_external import SourceFileLoader

RESERVED = 20
"""Descriptors below stay taken, so that the tool's own numbers (0, 1, 2, 7, 8, 9) never hold one of ours."""
PATIENCE = 3.0
"""Seconds after the kernel's end until a launcher that does not end is killed, and then its supervisors."""
OVERDUE = 2.5
"""Seconds until a launcher kills a supervisor that does not end: longer than one needs, shorter than the keeper's."""
TICK = 200
"""Milliseconds between two looks at who is overdue."""
SETTLE = 100
"""Milliseconds until a keeper looks for what others left behind: the first call goes first."""
PART = 0.25
"""Seconds of a look, in which a keeper does nothing else."""
SWEEP = 10.0
"""Seconds after which a keeper leaves the rest to the next."""

supervise = type(sys)("_mcc_supervise")
supervise.__file__ = os.path.join(os.path.dirname(os.path.abspath(__file__)), "supervise.py")
exec(SourceFileLoader("_mcc_supervise", supervise.__file__).get_code("_mcc_supervise") or "", vars(supervise))
processes, removal = supervise.processes, supervise.removal
confine, strays = supervise.load("confine"), supervise.load("strays")


class Launcher:
    """Forks a supervisor for each slot that is wanted, and cleans up behind one that did not end well."""

    def __init__(self, control: int, kernel: int, keeper: int, folders: str) -> None:
        self.control, self.kernel, self.keeper, self.folders = control, kernel, keeper, folders
        self.pid = os.getpid()
        self.confinement = confine.Confinement()
        self.supervisors: set[int] = set()
        self.wakeup = processes.wakeup()
        self.poll = processes.watching(control, kernel, self.wakeup[0])
        self.poll.register(keeper, 0)  # nothing to read; it tells when the other end has gone
        self.socket = socket.socket(fileno=control)
        self.open, self.left, self.retired = True, False, False
        self.orders = b""
        self.deadline = 0.0

    def run(self) -> None:
        self.fork("c")
        while self.open or self.left:
            for fd, _ in self.poll.poll(TICK if self.deadline or self.retired else None):
                if fd == self.wakeup[0]:
                    if signal.SIGTERM in os.read(fd, 512):
                        self.finish()
                    self.reap()
                elif fd == self.control:
                    self.serve_control()
                elif fd == self.keeper:
                    self.retire()
                else:
                    self.finish()
            if self.deadline and time.monotonic() > self.deadline:
                for pid in self.supervisors:
                    processes.kill(pid)
            elif self.retired:
                for pid in self.supervisors:  # no order to end one that its tool has stopped comes any more
                    processes.kill(pid, signal.SIGCONT)

    def serve_control(self) -> None:
        try:
            orders = self.socket.recv(64)
        except OSError:
            orders = b""
        if not orders:
            self.finish()
        self.orders += orders
        while self.orders:
            if self.orders[:1] != b"k":
                self.orders, order = self.orders[1:], self.orders[:1]
                self.fork(order.decode("ascii"))
            elif len(self.orders) < 5:
                break
            else:
                self.orders, number = self.orders[5:], int.from_bytes(self.orders[1:5], sys.byteorder)
                if number in self.supervisors:  # not reaped, so that it is still the one that was meant
                    processes.kill(number)

    def fork(self, kind: str) -> None:
        # A signal for the supervisor must not be taken for one of ours before it has its own pipe.
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCHLD, signal.SIGTERM))
        try:
            pid = os.fork()
        except OSError as error:
            self.socket.send(offer("x", 0, 0, error.errno or errno.EAGAIN))
            return
        finally:
            if os.getpid() == self.pid:
                signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if not pid:
            self.supervise(kind)
        self.supervisors.add(pid)
        self.left = True

    def supervise(self, kind: str) -> None:
        try:
            os.setpgid(0, 0)
            write(self.keeper, tell(os.getpid()))
            for own in self.wakeup:
                os.close(own)
            processes.prctl(processes.NAME, b"mcc-supervisor")
            processes.prctl(processes.SUBREAPER, 1)
            holds, trouble = self.confinement.enter(self.pid) if kind == "c" else (0, 0)
            ours, theirs = socket.socketpair()
            supervisor = supervise.Supervisor(
                ours, self.kernel, f"{self.folders}-{os.getpid()}", bool(holds & confine.SCOPED), refusal(trouble)
            )
            message = offer(kind, self.confinement.abi, holds, trouble)
            self.socket.sendmsg([message], processes.rights(theirs.fileno()))
            theirs.close()
            self.socket.close()
            os.close(self.keeper)
            supervisor.run()
            os._exit(1 if supervisor.tool and supervisor.left else 0)
        except BaseException as error:  # noqa: BLE001 - whoever waits for a slot is told that it does not come
            if self.socket.fileno() >= 0:
                self.socket.send(offer("x", 0, 0, getattr(error, "errno", None) or errno.EAGAIN))
        finally:
            os._exit(1)

    def retire(self) -> None:
        """The keeper has gone. The kernel starts another at its next call; what runs here goes on to its end."""
        self.retired = True
        self.ignore(self.keeper, self.control)
        self.socket.shutdown(socket.SHUT_RDWR)

    def finish(self) -> None:
        """The kernel has gone or wants no more: every supervisor ends its call at once."""
        self.ignore(self.control, self.kernel)
        self.deadline = self.deadline or time.monotonic() + OVERDUE
        for pid in self.supervisors:
            end(pid)

    def ignore(self, *descriptors: int) -> None:
        self.open = False
        for fd in descriptors:
            try:
                self.poll.unregister(fd)
            except (KeyError, ValueError):  # it is ignored already, or there is none
                continue

    def reap(self) -> None:
        lost = False
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    break
                if pid in self.supervisors:
                    self.supervisors.discard(pid)
                    write(self.keeper, tell(-pid))
                    if status:
                        removal.remove(f"{self.folders}-{pid}")
                else:
                    status = 1
                lost = lost or status != 0
        except ChildProcessError:
            self.left = False
        if lost:
            # A child that is no supervisor was the tool of one. Its own orphans come to us for the next round.
            for pid in processes.children():
                if pid not in self.supervisors:
                    processes.kill(pid)


class Keeper:
    """Outlives a launcher that is killed: its supervisors go on to their end, what they left behind is ended.

    It also ends what earlier keepers of this user left: processes with the *bits* of the mark, folders in *places*.
    """

    def __init__(self, kernel: int, registry: int, launcher: int, folders: str, places: list[str], bits: int) -> None:
        self.kernel, self.registry, self.launcher, self.folders = kernel, registry, launcher, folders
        self.places, self.bits = places, bits
        self.swept = False
        self.settled = time.monotonic() + SETTLE / 1000
        self.supervisors: set[int] = set()
        self.came = b""
        self.wakeup = processes.wakeup()
        self.poll = processes.watching(kernel, registry, self.wakeup[0])
        self.left = True
        self.deadline = 0.0

    def run(self) -> None:
        while self.left:
            if not self.swept and time.monotonic() > self.settled:
                self.sweep()
            for fd, _ in self.poll.poll(TICK if self.deadline else None if self.swept else SETTLE):
                if fd == self.registry:
                    self.read()
                elif fd == self.kernel:
                    self.poll.unregister(fd)
                    self.finish(PATIENCE)
                elif signal.SIGTERM in os.read(fd, 512):
                    self.finish(0.0)
            self.reap()
            late = time.monotonic() - self.deadline if self.deadline else 0.0
            if late > 0 and self.launcher:
                processes.kill(self.launcher)
            if late > PATIENCE:
                for pid in self.own():
                    processes.kill(pid)
        if not self.swept:
            self.sweep()

    def sweep(self) -> None:
        """Part by part, between its other work, and for a limited time in all."""
        now = time.monotonic()
        try:
            self.swept = True
            strays.end_all(self.bits)
            self.swept = strays.remove_all(self.places, now + PART) or now > self.settled + SWEEP
        except Exception:  # noqa: BLE001 - what others left is never why this one ends
            return

    def finish(self, patience: float) -> None:
        self.deadline = time.monotonic() + patience
        for pid in self.own():
            end(pid)

    def read(self) -> None:
        """Which processes are supervisors: each tells its number before it takes a call."""
        while self.registry >= 0:
            try:
                data = os.read(self.registry, 4096)
            except BlockingIOError:
                break
            if not data:  # nobody is left who could tell
                self.poll.unregister(self.registry)
                os.close(self.registry)
                self.registry = -1
            self.came += data
        while len(self.came) >= 4:
            number = int.from_bytes(self.came[:4], sys.byteorder, signed=True)
            self.came = self.came[4:]
            self.supervisors.add(number) if number > 0 else self.supervisors.discard(-number)

    def own(self) -> list[int]:
        """Our children that are not what somebody else left behind."""
        known = {self.launcher, *self.supervisors}
        return [pid for pid in processes.children() if pid in known]

    def reap(self) -> None:
        ended = False
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    break
                ended = True
                if pid == self.launcher:
                    self.launcher = 0
                elif status:
                    removal.remove(f"{self.folders}-{pid}")
                self.supervisors.discard(pid)
        except ChildProcessError:
            self.left = False
            return
        if ended:
            self.read()
            mine = self.own()
            for pid in processes.children():
                if pid not in mine:
                    processes.kill(pid)
                elif self.deadline:
                    end(pid)


def offer(kind: str, abi: int, holds: int, trouble: int) -> bytes:
    return kind.encode() + bytes((min(abi, 255), holds, min(trouble, 255))) + os.getpid().to_bytes(4, sys.byteorder)


def end(pid: int) -> None:
    """The order to end everything, also for one that its tool has stopped."""
    processes.kill(pid, signal.SIGTERM)
    processes.kill(pid, signal.SIGCONT)


def refusal(trouble: int) -> str | None:
    if not trouble:
        return None
    why = "this process is already confined too many times" if trouble == errno.E2BIG else os.strerror(trouble)
    return f"cannot be confined: {why}; start the notebook elsewhere, or declare the tool with isolation: off"


def tell(number: int) -> bytes:
    return number.to_bytes(4, sys.byteorder, signed=True)


def write(fd: int, data: bytes) -> None:
    try:
        os.write(fd, data)
    except OSError:  # the keeper has gone
        return


def main() -> None:
    control, kernel = (int(word) for word in sys.argv[1:3])
    os.chdir("/")
    while True:
        fd = os.open(os.devnull, os.O_RDWR)
        if fd >= RESERVED:
            os.close(fd)
            break
    moved = [os.dup(fd) if fd >= 0 else fd for fd in (control, kernel)]
    for fd in (control, kernel):
        if 0 <= fd < RESERVED:
            os.dup2(2, fd, inheritable=False)
        elif fd >= 0:
            os.close(fd)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    processes.prctl(processes.DUMPABLE, 0)
    processes.prctl(processes.SUBREAPER, 1)
    places = [place for place in ("/dev/shm", os.environ.get("TMPDIR", ""), "/tmp") if os.path.isabs(place)]
    usable = [place for place in places if os.access(place, os.W_OK | os.X_OK)]
    # In memory where possible: what a private file holds need not reach a disk.
    folders = os.path.join((usable or places)[0], f"mcc-{os.urandom(8).hex()}")
    processes.prctl(processes.NAME, b"mcc-keeper")  # before it has the mark, so that nobody takes it for a stray
    bits = strays.mark()
    gc.disable()
    gc.freeze()
    registry, keeper = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCHLD, signal.SIGTERM))
    pid = os.fork()
    if pid:
        os.close(keeper)
        os.close(moved[0])
        os.set_blocking(registry, False)
        Keeper(moved[1], registry, pid, folders, usable, bits).run()
    else:
        os.close(registry)
        os.setpgid(0, 0)  # one signal to a group does not reach both
        processes.prctl(processes.NAME, b"mcc-launcher")
        processes.prctl(processes.SUBREAPER, 1)
        Launcher(moved[0], moved[1], keeper, folders).run()


if __name__ == "__main__":
    main()
