"""What an import did to a process, so that a fork of it would not be like a new one (SPEC 7.3).

Standard library only, Python 3.8 and newer. Wrong only to the safe side: a call that is not forked is slower, no more.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Set, Tuple

CONTROL = 7
HARMLESS = ("jemalloc_bg_thd",)
"""Threads of which a fork is known to take care. jemalloc's, which pyarrow starts, only gives memory back: its handlers
of a fork hold every lock of the allocator meanwhile, and in the child it goes on without such a thread."""
RANDOM = ("Random", "Generator", "RandomState")


class Reads(os._Environ):  # type: ignore[type-arg]
    """The environment while the function is imported: it notes who asks for what only a call has."""

    asked = False

    def __getitem__(self, key: "Any") -> "Any":
        Reads.note(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        Reads.note(key)
        return super().__contains__(key)

    def __iter__(self) -> "Any":
        Reads.asked = True
        return super().__iter__()

    @staticmethod
    def note(key: object) -> None:
        text = key.decode("ascii", "replace") if isinstance(key, bytes) else str(key)
        Reads.asked = Reads.asked or text.startswith(("MCC_CTX", "MCC_SESSION"))


def state() -> "Tuple[str, str]":
    """What a call is given anew, so that an import may not change it: folder and umask."""
    folder, mask = "", ""
    try:
        folder = os.getcwd()
        with open("/proc/self/status") as file:
            mask = file.read().partition("\nUmask:")[2].split()[0]
    except (OSError, IndexError):  # the folder is gone, or a system without such a file
        pass
    return folder, mask


def changes(folder: str, mask: str) -> "List[str]":
    """Whether the import changed what a call is given anew."""
    return [] if state() == (folder, mask) else ["its import changes its folder or its umask"]


def hazards(before: "Set[int]", alone: bool = False) -> "List[str]":
    """Why a call in a fork of this process, or *alone* in this one, would not be like one in a new process."""
    found = []
    if Reads.asked:
        found.append("its import looks for MCC_CTX, or at all variables")
    if alone:
        return found
    try:
        os.waitpid(-1, os.WNOHANG)
        found.append("its import leaves a process running")
    except ChildProcessError:
        pass
    if descriptors() - before:
        found.append("its import opens files or sockets")
    if holds_generator():
        found.append("a module holds a random generator, which would repeat itself")
    if sys.platform.startswith("linux"):
        # A library may end its threads before a fork, and only then.
        pid = os.fork()
        if not pid:
            os._exit(0)
        os.waitpid(pid, 0)
        if others():
            found.append("its import starts threads")
    else:
        found.append("only Linux forks safely")
    return found


def others() -> "List[str]":
    """The names of this process's other threads, but for those that a fork does no harm."""
    found = []
    for task in os.listdir("/proc/self/task"):
        if task != str(os.getpid()):
            try:
                with open("/proc/self/task/" + task + "/comm") as file:
                    found.append(file.read().strip())
            except OSError:  # it has just ended
                continue
    return [name for name in found if name not in HARMLESS]


def descriptors() -> "Set[int]":
    try:
        return {int(name) for name in os.listdir("/proc/self/fd")} - {CONTROL}
    except OSError:
        return set()


def own_modules() -> "List[Any]":
    """What is neither Python's nor installed: the tool's own modules."""
    library = os.path.dirname(os.__file__) + os.sep
    found = []
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if name.startswith("_mcc_") or name == "__main__":
            continue
        if isinstance(path, str) and (not path.startswith(library) or "-packages" + os.sep in path):
            found.append(module)
    return found


def installed(path: str) -> bool:
    return "site-packages" + os.sep in path or "dist-packages" + os.sep in path


def holds_generator() -> bool:
    modules = [module for module in own_modules() if not installed(module.__file__)]
    main = sys.modules.get("__main__")
    for module in [*modules, main]:
        for value in list(vars(module).values()) if module is not None else ():
            near = [value]
            if isinstance(value, (list, tuple, set)):
                near += list(value)
            elif isinstance(value, dict):
                near += list(value.values())
            elif type(value).__module__ != "builtins" and hasattr(value, "__dict__"):
                near += list(vars(value).values())
            if any(type(item).__name__ in RANDOM and "random" in type(item).__module__ for item in near):
                return True
    return False


def files() -> "List[Tuple[str, int, int]]":
    """The tool's own sources, and the folders of what is installed: path, time of change, size."""
    paths = {module.__file__ for module in own_modules() if not installed(module.__file__)}
    paths |= {path for path in sys.path if path.endswith(("site-packages", "dist-packages"))}
    found = []
    for path in sorted(paths):
        try:
            status = os.stat(path)
        except OSError:
            continue
        found.append((path, status.st_mtime_ns, status.st_size))
    return found


def resident() -> int:
    """KiB of memory."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * (os.sysconf("SC_PAGE_SIZE") // 1024)
    except OSError:
        return 0
