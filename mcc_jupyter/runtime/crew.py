"""Jobs of several parties → threads, a fixed number at a time, each party in its turn.

1. A job starts at once while fewer than *size* run; then it waits, and more than *waiting* of them are refused.
2. Of those that wait, the parties take turns: who has asked for much delays nobody else by more than one job.
3. The threads are daemons and end with their last job: nothing here keeps a process from its end.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable

from ..core.errors import Busy

Job = Callable[[], None]
"""Raises nothing: whoever makes one answers for it."""


class Crew:
    """See the text at the top of this file. Thread-safe."""

    def __init__(self, size: int, waiting: int, name: str) -> None:
        self._size, self._room, self._name = size, waiting, name
        self._lock = threading.Lock()
        self._running = 0
        self._queues: OrderedDict[Hashable, deque[Job]] = OrderedDict()

    def submit(self, party: Hashable, job: Job) -> None:
        """Has *job* done, now or in its turn; raises ``Busy``."""
        with self._lock:
            if self._running >= self._size:
                if sum(map(len, self._queues.values())) >= self._room:
                    raise Busy(f"this kernel has {self._room:,} requests waiting already; try again later")
                self._queues.setdefault(party, deque()).append(job)
                return
            self._running += 1
        try:
            threading.Thread(target=self._work, args=(job,), name=self._name, daemon=True).start()
        except RuntimeError:  # the system has none left
            with self._lock:
                self._running -= 1
            raise Busy("this kernel cannot start another thread; try again later") from None

    def drop(self, job: Job) -> bool:
        """Whether *job* was still waiting; then it never starts."""
        with self._lock:
            for party, queue in self._queues.items():
                if job in queue:
                    queue.remove(job)
                    if not queue:
                        del self._queues[party]
                    return True
        return False

    def _work(self, job: Job) -> None:
        following: Job | None = job
        while following is not None:
            following()
            with self._lock:
                following = self._next()
                self._running -= following is None

    def _next(self) -> Job | None:
        if not self._queues:
            return None
        party, queue = self._queues.popitem(last=False)
        job = queue.popleft()
        if queue:
            self._queues[party] = queue  # behind the others
        return job
