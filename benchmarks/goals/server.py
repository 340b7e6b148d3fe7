"""A Jupyter server that hands on much output answers others as before (N19)."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import quantiles

from ..harness import Goal, Unmeasured, Way, Ways
from .common import FLOOR, REPOSITORY

FLOOD_BYTES = 100_000_000
PINGS = 200
"""Of an idle server; while it is flooded it is asked as often as there is time."""
PAUSE = 0.005
PATIENCE = 60.0

_TOKEN = "a-token-of-this-benchmark"
_DECLARE = """
get_ipython().run_line_magic("load_ext", "mcc_jupyter")
get_ipython().run_cell_magic("mcc_tool", "flood", "yes 0123456789012345678901234567890 | head -c {size}")
"""


class Server:
    """A Jupyter server in a process of its own, with one kernel and a tool that prints much."""

    def __init__(self, folder: Path) -> None:
        log = folder / "server.log"
        environment = {
            **FLOOR,
            "PATH": f"{Path(sys.executable).parent}:{FLOOR['PATH']}",
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "PYTHONPATH": str(REPOSITORY),
            **{f"JUPYTER_{name}_DIR": str(folder / name) for name in ("RUNTIME", "CONFIG", "DATA")},
        }
        options = ["--no-browser", "--port=0", "--allow-root", f"--IdentityProvider.token={_TOKEN}"]
        options += [f"--ServerApp.root_dir={folder}", "--ServerApp.jpserver_extensions=mcc_jupyter=True"]
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "jupyter_server", *options],
                env=environment,
                cwd=folder,
                stdout=output,
                stderr=output,
            )
        try:
            self.port = self._port(log)
            self.kernel = str(self.ask("POST", "/api/kernels", {"name": "python3"})["id"])
            self._declare()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE)

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(self, verb: str, path: str, body: object = None, accept: str = "*/*") -> dict[str, object]:
        connection = self.connection()
        headers = {"Authorization": f"token {_TOKEN}", "Content-Type": "application/json", "Accept": accept}
        connection.request(verb, path, None if body is None else json.dumps(body), headers)
        found: dict[str, object] = json.load(connection.getresponse())
        connection.close()
        return found

    def flood(self) -> int:
        """Calls the tool and reads its stream to the end; the bytes that came."""
        connection = self.connection()
        headers = {"Authorization": f"token {_TOKEN}", "Content-Type": "application/json"}
        headers["Accept"] = "application/x-ndjson"
        path = f"/mcc/api/kernels/{self.kernel}/calls"
        connection.request("POST", path, json.dumps({"tool": "flood"}), headers)
        answer = connection.getresponse()
        size = 0
        while piece := answer.read1(1 << 20):
            size += len(piece)
        connection.close()
        return size

    def slow_ping(self, enough: Callable[[int], bool]) -> float:
        """Seconds below which 95 of 100 pings are answered; *enough* is told how many there were."""
        connection = self.connection()
        taken: list[float] = []
        while not enough(len(taken)):
            begin = time.perf_counter()
            connection.request("GET", "/api/status", headers={"Authorization": f"token {_TOKEN}"})
            connection.getresponse().read()
            taken.append(time.perf_counter() - begin)
            time.sleep(PAUSE)
        connection.close()
        return quantiles(taken, n=20)[-1] if len(taken) > 1 else taken[0]

    def flooded_ping(self) -> float:
        got: list[int] = []
        thread = threading.Thread(target=lambda: got.append(self.flood()))
        thread.start()
        found = self.slow_ping(lambda number: number > 1 and not thread.is_alive())
        thread.join()
        if not got or got[0] < FLOOD_BYTES:
            raise RuntimeError("the stream was not whole")
        return found

    def _port(self, log: Path) -> int:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self.process.poll() is None:
            if found := re.search(r"http://(?:localhost|127\.0\.0\.1):(\d+)/", log.read_text()):
                with suppress(OSError), socket.create_connection(("127.0.0.1", int(found[1])), PATIENCE):
                    return int(found[1])  # it tells its address before it listens there
            time.sleep(0.05)
        raise Unmeasured("no Jupyter server could be started")

    def _declare(self) -> None:
        """Runs the declaring cell through the server's own WebSocket."""
        from websocket import create_connection

        address = f"ws://127.0.0.1:{self.port}/api/kernels/{self.kernel}/channels"
        channels = create_connection(address, header=[f"Authorization: token {_TOKEN}"], timeout=PATIENCE)
        header = {"msg_id": "1", "msg_type": "execute_request", "username": "", "session": "s", "version": "5.3"}
        content = {"code": _DECLARE.format(size=FLOOD_BYTES), "silent": False, "store_history": False}
        content |= {"user_expressions": {}, "allow_stdin": False, "stop_on_error": True}
        message = {"channel": "shell", "header": header, "parent_header": {}, "metadata": {}, "content": content}
        channels.send(json.dumps({**message, "buffers": []}))
        while json.loads(channels.recv())["msg_type"] != "execute_reply":
            pass
        channels.close()
        deadline = time.monotonic() + PATIENCE
        while not self.ask("GET", f"/mcc/api/kernels/{self.kernel}/tools")["tools"]:
            if time.monotonic() > deadline:
                raise Unmeasured("the kernel told the server of no tool")
            time.sleep(0.05)


@contextmanager
def n19() -> Iterator[Ways]:
    """The slowest of 20 pings while a tool prints 100 MB to another client, and while nothing is done."""
    if os.name != "posix":
        raise Unmeasured("the extension runs on Linux and macOS")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        server = Server(Path(name))
        try:
            idle = Way(lambda: server.slow_ping(lambda number: number >= PINGS))
            yield {"flooded": Way(server.flooded_ping), "idle": idle}
        finally:
            server.close()


GOALS = (Goal("N19", "p95 of a server's pings while a tool prints 100 MB / while idle", 2, n19, most=10),)
