"""A process that has imported one module and forks itself for each call of its functions (SPEC 7.3).

1. It tells first what forbids forking it: then it is not used. What an import did to the process (threads, open files,
   an environment that was looked at) would reach every call.
2. A call's process is forked ahead and confined once more, so that two calls cannot reach each other. It gets the call
   from the kernel itself and answers like a process that was started for it. This one watches over its end.
3. Standard library only, Python 3.8 and newer. It ends with its control socket, or when nobody has called for a while.

Descriptor 7 is the control socket. First goes out 8 bytes length and a ``marshal`` dict, ``{reasons, files, kib}``; a
byte comes if it is to be kept, the end of the socket if not. Then goes out for each ``c`` that came, and once unasked,
8 bytes with two sockets: the call's, which takes a frame as ``launch.py`` has it and gives one byte, the exit status;
and the watch's, with the orders and the report of a call socket and one order more: ``t`` and 8 bytes, the call begins
and may take so many milliseconds (0: any number).
"""

import _signal as signal  # type: ignore[import-not-found]
import _socket as socket
import marshal
import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable, Dict, List, Optional

CONTROL = 7
PARENT_DEATH = 1


def main(request: "Dict[str, Any]", fn: "ModuleType", load: "Callable[[str], ModuleType]") -> int:
    """Imports, answers who wants to know what it imported, tells what it found, and serves calls as long as wanted."""
    checks = load("warm_checks")
    os.set_inheritable(CONTROL, False)
    before, state = checks.descriptors(), checks.state()
    channel = fn.Channel(fn.ANSWER)
    functions: "Dict[str, Any]" = {}
    reasons = []
    os.environ.update(request["session"])  # who looks at it is not kept, and sees what a call would see
    for item in request["targets"]:
        kinds = [(space, type(space)) for space in (os.environ, getattr(os, "environb", None)) if space is not None]
        for environ, _ in kinds:
            environ.__class__ = checks.Reads
        answer = None
        try:
            functions[item["target"]] = fn.locate(item["target"], item["source"])
        except BaseException as error:  # noqa: BLE001 - a call in a process of its own will say what it was
            answer = fn.failed(error, "import", item, load)
            reasons = ["its import fails"]
        finally:
            for environ, kind in kinds:
                environ.__class__ = kind
        if request["mode"] == "introspect":
            fn.tell(channel, item, answer or fn.describe(item, load, functions[item["target"]]), load)
    for name in request["session"]:
        os.environ.pop(name, None)
    fn.flush()
    alone = request["mode"] == "spare"
    reasons += [] if reasons else checks.changes(*state) + checks.hazards(before, alone)
    confinement = load("confine").Confinement() if not alone and request["confined"] else None
    if not reasons and confinement is not None and not once_more(confinement):
        reasons.append("it is confined too many times to be confined once more for each call")
    if request["idle"] <= 0:
        reasons.append("no process is to be kept")
    control = socket.socket(fileno=CONTROL)
    data = marshal.dumps({"reasons": reasons, "files": checks.files(), "kib": checks.resident()}, 2)
    control.sendall(len(data).to_bytes(8, "big") + data)
    if alone:
        return one_call(control, channel, functions, fn, load) if not reasons else 0
    if not control.recv(1):  # it is not wanted: it ends like any other
        control.close()
        channel.close()
        return 0
    channel.close()
    null = os.open(os.devnull, os.O_RDWR)
    for number in (1, 2, fn.ANSWER):
        os.dup2(null, number)
    os.close(null)
    Server(control, functions, request, fn, load, confinement).run()
    os._exit(0)


def once_more(confinement: "Any") -> bool:
    """Whether a forked process can be confined, as one finds out: a system allows only so many domains in another."""
    pid = os.fork()
    if not pid:
        try:
            os._exit(int(not confinement.nest()))
        finally:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def one_call(
    control: "Any", channel: "Any", functions: "Dict[str, Any]", fn: "ModuleType", load: "Callable[[str], ModuleType]"
) -> int:
    """Waits for the call this process was started for, and serves it as one that was started now."""
    processes = load("processes")
    processes.prctl(processes.DUMPABLE, 0)  # nobody is to read it while it waits
    frame = marshal.loads(exactly(control, int.from_bytes(exactly(control, 8), "big")))
    control.close()
    processes.prctl(processes.DUMPABLE, 1)
    settle(frame)
    text, status = fn.call(frame, load, functions.get(frame["target"]))
    fn.flush()
    channel.send(text)
    channel.close()
    return int(status)


def settle(frame: "Dict[str, Any]") -> None:
    """What only the call has."""
    os.umask(frame["umask"])
    os.chdir(frame["cwd"])
    for name, value in frame["environ"].items():
        os.environ[name] = value


class Server:
    """Forks a process for each call that is wanted, and watches over all of them."""

    def __init__(
        self,
        control: "Any",
        functions: "Dict[str, Any]",
        request: "Dict[str, Any]",
        fn: "ModuleType",
        load: "Callable[[str], ModuleType]",
        confinement: "Any",
    ) -> None:
        self.control, self.functions, self.request, self.fn, self.load = control, functions, request, fn, load
        self.supervise = load("supervise")
        self.processes = load("processes")
        self.confinement = confinement
        self.pid = os.getpid()
        self.processes.prctl(self.processes.DUMPABLE, 0)
        self.processes.prctl(self.processes.SUBREAPER, 1)
        gc: "Any" = __import__("gc")
        gc.collect()
        gc.freeze()  # a collection would copy every page that holds an object
        self.handlers = {number: signal.getsignal(number) for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT)}
        self.wakeup = self.processes.wakeup()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.poll = self.processes.watching(CONTROL, self.wakeup[0])
        self.calls: "Dict[int, Any]" = {}
        self.watches: "Dict[int, Any]" = {}
        self.used = time.monotonic()
        self.broken, self.closing = False, False
        self.callbacks = 0
        """Exit functions of our own in a forked process."""
        self.watched = watched_by(self)

    def run(self) -> None:
        self.fork()
        while not self.broken and (self.calls or not self.closing):
            now = time.monotonic()
            busy = [call for call in self.calls.values() if call.begun]
            if not busy and not self.closing and now > self.used + self.request["idle"]:
                return
            after = min([call.next(now) for call in busy], default=self.used + self.request["idle"] - now)
            for fd, _ in self.poll.poll(int(min(max(after, 0), 3600) * 1000) + 1):
                if fd == CONTROL:
                    orders = self.control.recv(64)
                    if not orders:
                        # What runs goes on. What waits in the socket for its call ends with it.
                        self.closing = True
                        self.poll.unregister(CONTROL)
                    for _ in orders:
                        self.fork()
                elif fd == self.wakeup[0]:
                    if signal.SIGTERM in os.read(fd, 512):
                        return
                else:
                    self.watches[fd].listen()
            self.reap()
            for call in list(self.calls.values()):
                if call.over():
                    self.forget(call)

    def fork(self) -> None:
        ours, theirs = socket.socketpair()
        watch, watched = socket.socketpair()
        pid = os.fork()
        if not pid:
            self.become(ours, [theirs, watch, watched])
        ours.close()
        try:
            self.control.sendmsg([bytes(8)], self.processes.rights(theirs.fileno(), watched.fileno()))
        except OSError:  # the kernel has gone, which the next round sees
            pass
        theirs.close()
        watched.close()
        call = self.watched(pid, watch)
        self.calls[pid] = self.watches[watch.fileno()] = call
        self.poll.register(watch, select.POLLIN)
        self.used = time.monotonic()

    def forget(self, call: "Any") -> None:
        del self.calls[call.tool]
        del self.watches[call.call.fileno()]
        call.silence()
        call.call.close()
        self.used = time.monotonic()

    def reap(self) -> None:
        try:
            while True:
                pid, status, usage = os.wait3(os.WNOHANG)
                if not pid:
                    break
                if pid in self.calls:
                    self.calls[pid].ended(status, usage.ru_utime + usage.ru_stime)
        except ChildProcessError:
            pass

    def strays(self) -> "List[int]":
        """What calls that have ended left behind. It came to us; while a call runs, its own orphans go to itself."""
        return [pid for pid in self.processes.children() if pid not in self.calls or self.calls[pid].status is not None]

    def become(self, call: "Any", others: "List[Any]") -> None:
        """The forked process: one call."""
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            for number, handler in self.handlers.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)
            self.processes.prctl(PARENT_DEATH, signal.SIGKILL)
            self.processes.prctl(self.processes.SUBREAPER, 1)
            os.setpgid(0, 0)
            for one in (self.control, *others, *(known.call for known in self.calls.values())):
                one.close()
            for fd in self.wakeup:
                os.close(fd)
            nested = self.confinement is None or self.confinement.nest()
            if not nested or os.getppid() != self.pid:
                return
            self.callbacks = prepare_exit()
            numpy = sys.modules.get("numpy.random")
            if numpy is not None:
                numpy.seed()
            if not self.processes.watching(call.fileno()).poll(2):  # nobody waits for it yet
                self.rehearse()
            status = self.serve(call)
            call.send(bytes([status]))
            for number in (1, 2):
                os.close(number)
            select.poll().poll(self.supervise.LINGER)
        finally:
            os._exit(status)

    def rehearse(self) -> None:
        """The way of a call, with another function: what is touched first is copied, and better now than then."""
        ours, theirs = socket.socketpair()
        mask = os.umask(0o077)
        numbers = [1, 2, self.fn.ANSWER]
        frame = {"numbers": numbers, "environ": {"MCC_CTX": "{}"}, "umask": mask, "cwd": os.getcwd()}
        data = marshal.dumps({**frame, "arguments": {}, "positional": None, "context": None}, 2)
        theirs.sendmsg([len(data).to_bytes(8, "big") + data], self.processes.rights(*numbers))
        self.serve(ours, nothing)
        os.environ.pop("MCC_CTX")
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, self.fn.ANSWER)
        for one in (ours, theirs):
            one.close()
        os.close(null)

    def serve(self, call: "Any", stand_in: "Any" = None) -> int:
        came, control, _, _ = call.recvmsg(1 << 16, socket.CMSG_SPACE(6 * 4))
        given = self.processes.received(control)
        came += exactly(call, 8 - len(came))
        frame = marshal.loads(came[8:] + exactly(call, 8 + int.from_bytes(came[:8], "big") - len(came)))
        if len(given) < len(frame["numbers"]):
            return 1
        for number, fd in zip(frame["numbers"], given):
            os.dup2(fd, number)
            os.close(fd)
        self.processes.prctl(self.processes.DUMPABLE, int(stand_in is None))
        settle(frame)
        channel = self.fn.Channel(self.fn.ANSWER)
        text, status = self.fn.call(frame, self.load, stand_in or self.functions.get(frame["target"]))
        self.fn.flush()
        done = ends_without_a_word(self.callbacks)
        channel.send(text)
        channel.close()
        if not done and stand_in is None:
            finish()
            self.fn.flush()
        return int(status & 255)


def exactly(call: "Any", size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = call.recv(min(size - len(data), 1 << 20))
        if not chunk:
            os._exit(0)  # nobody needed this call
        data += chunk
    return bytes(data)


def nothing(a: int = 1) -> "Dict[str, object]":
    """Stands for the function until there is a call."""
    return {"a": [a, 1.5, "text", None]}


def prepare_exit() -> int:
    """What was to be done at the end of the importing process is not to be done at the end of each call.

    How many exit functions there are then.
    """
    atexit: "Any" = __import__("atexit")
    atexit._clear()
    weak: "Any" = sys.modules.get("weakref")
    if weak is not None:
        for finalizer in list(weak.finalize._registry):
            finalizer.atexit = False
        atexit.register(weak.finalize._exitfunc)
    if "logging" in sys.modules:
        atexit.register(sys.modules["logging"].shutdown)  # it flushes
    return int(atexit._ncallbacks())


def ends_without_a_word(callbacks: int) -> bool:
    """Whether ``finish`` would find nothing to do: the way to it is longer than most calls."""
    modules = sys.modules
    threading, weak, logging = (modules.get(name) for name in ("threading", "weakref", "logging"))
    known: "Any" = () if logging is None else (type(None), logging.NullHandler, type(logging.lastResort))
    return (
        (threading is None or threading.active_count() == 1)
        and __import__("atexit")._ncallbacks() == callbacks
        and (weak is None or not any(item.atexit for item in list(weak.finalize._registry)))
        and (logging is None or all(type(handler()) in known for handler in logging._handlerList))
        and not files_of_the_call()
    )


def files_of_the_call() -> "List[Any]":
    """What it left open. What was imported before is frozen, so that it is not among these."""
    kind: "Any" = __import__("_io")._IOBase  # the abstract class above it would be asked for each of them
    return [item for item in __import__("gc").get_objects() if isinstance(item, kind)]


def finish() -> None:
    """What an interpreter does at its end: waits for threads, runs exit functions."""
    threading: "Any" = sys.modules.get("threading")
    try:
        if threading is not None and threading.active_count() > 1:
            threading._shutdown()
        __import__("atexit")._run_exitfuncs()
        for file in files_of_the_call():
            if not file.closed:
                file.flush()
    except BaseException as error:  # noqa: BLE001 - the answer is on its way already
        sys.stderr.write(f"{type(error).__name__} at exit\n")


def watched_by(server: Server) -> "Any":
    """The class of a call as ``supervise.py`` ends it, by this process for many at once."""
    base: "Any" = server.supervise.Supervisor
    kill: "Any" = server.supervise.kill

    class Watched(base):  # type: ignore[misc]
        def __init__(self, pid: int, watch: "Any") -> None:
            self.call, self.begun, self.alone, self.came = watch, False, False, b""
            self.scoped = False  # what runs beside it is in the same domain
            super().reset()
            self.tool = pid
            self.status: "Optional[int]" = None
            self.stopped: "Optional[str]" = None

        def listen(self) -> None:
            try:
                came = self.call.recv(64)
            except OSError:
                came = b""
            if not came:
                self.silence()
                self.alone = True
                self.order(b"k")
            self.came += came
            while self.came:
                if self.came[:1] != b"t":
                    self.order(self.came[:1])
                    self.came = self.came[1:]
                elif len(self.came) < 9:
                    break
                else:
                    self.begin(int.from_bytes(self.came[1:9], "big"))
                    self.came = self.came[9:]

        def silence(self) -> None:
            try:
                server.poll.unregister(self.call)
            except KeyError:
                pass

        def begin(self, milliseconds: int) -> None:
            self.begun = True
            if milliseconds:
                deadline = time.monotonic() + milliseconds / 1000
                self.steps += [(deadline, signal.SIGTERM, "timeout"), (deadline + 2, signal.SIGKILL, "timeout")]

        def next(self, now: float) -> float:
            if self.killed_at:
                return 0.01
            return float(min(self.steps)[0] - now) if self.steps else 3600.0

        def ended(self, status: int, cpu: float) -> None:
            self.status, self.cpu = status, cpu
            now = time.monotonic()
            at_once = self.killed_at or any(number == signal.SIGKILL for _, number, _ in self.due(now))
            self.steps = [(now + (0.0 if at_once else server.supervise.GRACE), signal.SIGKILL, "background")]
            self.begun = True

        def over(self) -> bool:
            """Does what is due; whether nothing is left to do."""
            now = time.monotonic()
            if self.status is not None and not server.strays():
                self.tell()
                return True
            for step in self.due(now):
                self.steps.remove(step)
                if self.status is not None and not self.alone:
                    # What is left holds its pipes, maybe. Their end is not to be taken for the end of it all.
                    self.send(bytes(8))
                self.take(step[1], step[2])
            if self.killed_at and self.status is not None:
                if now > self.killed_at + server.supervise.PATIENCE:
                    # Whoever watches over us can end all that is here at once.
                    self.notes.append("a process could not be ended")
                    server.broken = True
                    self.tell()
                    return True
                for stray in server.strays():
                    kill(stray)
            return False

        def tell(self) -> None:
            if self.alone:
                return
            if self.stopped is None:
                self.stopped = self.limit(server.request["limits"])
            report = {"status": self.status, "stopped": self.stopped, "notes": self.notes, "error": None}
            data = marshal.dumps(report, 2)
            self.send(len(data).to_bytes(8, "big") + data)

        def send(self, data: bytes) -> None:
            try:
                self.call.sendall(data)
            except OSError:  # the kernel has gone, or wants to know no more
                self.alone = True

    return Watched
