"""Calls in threads: one that a coroutine waits for, or many with their outcomes in order (SPEC 7.12).

A call that nobody waits for any more is ended, not left behind.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from typing import TypeVar

from .launcher import Stop

T = TypeVar("T")

_WAKE = 0.2
"""Seconds after which a coroutine that waits for a tool looks up."""
_AT_ONCE = 32
"""Calls that coroutines may wait for at a time; the others wait for a thread."""


class Workers:
    """The threads of a toolbox, started when they are first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._pid = os.getpid()

    async def wait_for(self, call: Callable[[Stop], T]) -> T:
        """The result of *call*, run in a thread. A cancellation ends it, and goes on when nothing of it is left."""
        stop = Stop()
        if self._pid != os.getpid():  # a forked process has none of the threads, and a lock that may never open
            self._lock, self._threads, self._pid = threading.Lock(), None, os.getpid()
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(max_workers=_AT_ONCE, thread_name_prefix="mcc")
        future = self._threads.submit(call, stop)
        waiting = asyncio.wrap_future(future)
        try:
            # A kernel notices an interrupt of an awaiting cell only when its event loop wakes up (ipykernel#881).
            while not waiting.done():
                await asyncio.wait((waiting,), timeout=_WAKE)
            return waiting.result()
        except asyncio.CancelledError:
            stop.kill()
            if not future.cancel():  # it runs: nothing of it is left once it has come to its end
                await asyncio.wait((waiting,))
                waiting.exception()  # whatever it is, nobody waits for it any more
            raise

    def close(self) -> None:
        """Lets running calls end, starts no other."""
        with self._lock:
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=False, cancel_futures=True)


def each(
    call: Callable[[int, Stop], T],
    count: int,
    *,
    left_out: Callable[[int], T],
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[T]:
    """``call(0), call(1), …`` at most *workers* at a time (default: twice the cores); results in order.

    *progress* gets the number of calls that have ended. An interrupt ends those that run and starts no other: what is
    done is returned, with ``left_out(n)`` for each that did not start. A second interrupt kills. An error of one call
    ends the others too, and is raised when nothing of them is left.
    """
    stops = [Stop() for _ in range(count)]
    with ThreadPoolExecutor(workers or 2 * (os.cpu_count() or 1), thread_name_prefix="mcc-map") as threads:
        futures = [threads.submit(call, at, stop) for at, stop in enumerate(stops)]
        try:
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                if progress is not None:
                    progress(done)
        except BaseException as error:
            for future in futures:
                future.cancel()
            for stop in stops:
                stop.interrupt()
            ended = False
            while not ended:
                try:
                    ended = not wait(futures).not_done
                except KeyboardInterrupt:
                    for stop in stops:
                        stop.kill()
            if not isinstance(error, KeyboardInterrupt):
                raise
        return [left_out(at) if future.cancelled() else future.result() for at, future in enumerate(futures)]
