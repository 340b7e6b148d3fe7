"""The launcher: one small process beside the kernel that forks a supervisor for each call (SPEC 7.1).

    kernel ── launcher ── supervisor ── tool

1. The launcher never sees a call. It gets one descriptor, the call's socket, and forks a supervisor that owns it. What
   belongs to a call (command, environment, descriptors) goes over that socket, so no argv and environ of ours holds a
   value, and a supervisor may as well be forked ahead.
2. Nothing survives. A supervisor ends what its tool left; the launcher does so for a supervisor that was killed; both
   watch the kernel, by the end of their socket and by a pidfd (a process forked from the kernel keeps the socket open).
3. Standard library only, Python 3.8 and later, started by path. This file is compiled at every start; ``supervise.py``
   is not.

Command line: ``launch.py CONTROL KERNEL``, the descriptors of the control socket and of a pidfd of the kernel (or -1).
Control socket: one byte and one descriptor for each call. Its end is the order to end everything.
Call socket, from the kernel: 8 bytes length and the descriptors, the frame (``marshal``, a dict), then orders of one
byte: ``i`` interrupt (a second one kills), ``k`` kill, ``a`` the answer on descriptor 8 is complete; its end means that
the kernel is gone. Back comes one report in the same form: ``{status, stopped, notes, error}``.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]
import _socket as socket
import gc
import os
import sys
from _frozen_importlib_external import SourceFileLoader

RESERVED = 20
"""Descriptors below stay taken, so that the tool's own numbers (0, 1, 2, 8, 9) never hold one of ours."""

supervise = type(sys)("_mcc_supervise")
_path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "supervise.py")
exec(SourceFileLoader("_mcc_supervise", _path).get_code("_mcc_supervise") or "", vars(supervise))


class Launcher:
    """Forks a supervisor for each socket it is given, and cleans up behind one that did not end well."""

    def __init__(self, control: int, kernel: int) -> None:
        self.control, self.kernel = control, kernel
        self.supervisors: set[int] = set()
        places = [place for place in ("/dev/shm", os.environ.get("TMPDIR", ""), "/tmp") if os.path.isabs(place)]
        usable = [place for place in places if os.access(place, os.W_OK | os.X_OK)]
        # In memory where possible: what a private file holds need not reach a disk.
        self.folders = os.path.join((usable or places)[0], f"mcc-{os.urandom(8).hex()}")
        self.wakeup = supervise.wakeup()
        self.poll = supervise.watching(control, kernel, self.wakeup[0])
        self.open, self.left = True, False

    def run(self) -> None:
        control = socket.socket(fileno=self.control)
        while self.open or self.left:
            for fd, _ in self.poll.poll():
                if fd == self.wakeup[0]:
                    if signal.SIGTERM in os.read(fd, 512):
                        self.finish()
                    self.reap()
                elif not self.open:
                    continue
                elif fd == self.kernel or not self.take(control):
                    self.finish()

    def take(self, control: socket.socket) -> bool:
        try:
            data, ancillary, _, _ = control.recvmsg(1, socket.CMSG_SPACE(4))
        except OSError:
            return False
        for fd in supervise.received(ancillary):
            # A signal for the supervisor must not be taken for one of ours before it has its own pipe.
            signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCHLD, signal.SIGTERM))
            pid = os.fork()
            if not pid:
                self.serve(fd)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            os.close(fd)
            self.supervisors.add(pid)
            self.left = True
        return bool(data)

    def serve(self, fd: int) -> None:
        try:
            os.setpgid(0, 0)
            for own in (self.control, *self.wakeup):
                os.close(own)
            supervise.prctl(supervise.NAME, b"mcc-supervisor")
            supervisor = supervise.Supervisor(socket.socket(fileno=fd), self.kernel, f"{self.folders}-{os.getpid()}")
            supervisor.run()
            os._exit(1 if supervisor.tool and supervisor.left else 0)
        finally:
            os._exit(1)

    def finish(self) -> None:
        """The kernel has gone or wants no more: every supervisor ends its call at once."""
        if self.open:
            self.open = False
            for fd in (self.control, self.kernel):
                if fd >= 0:
                    self.poll.unregister(fd)
            for pid in self.supervisors:
                os.kill(pid, signal.SIGTERM)

    def reap(self) -> None:
        lost = False
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    break
                if pid in self.supervisors and status:
                    supervise.remove(f"{self.folders}-{pid}")
                lost = lost or pid not in self.supervisors or status != 0
                self.supervisors.discard(pid)
        except ChildProcessError:
            self.left = False
        if lost:
            # A child that is no supervisor was the tool of one. Its own orphans come to us for the next round.
            for pid in supervise.children():
                if pid not in self.supervisors:
                    supervise.kill(pid)


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
    supervise.prctl(supervise.NAME, b"mcc-launcher")
    supervise.prctl(supervise.DUMPABLE, 0)
    supervise.prctl(supervise.SUBREAPER, 1)
    gc.disable()
    gc.freeze()
    Launcher(*moved).run()


if __name__ == "__main__":
    main()
