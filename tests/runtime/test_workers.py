"""Calls in threads, seen from a coroutine in a forked process."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time

import pytest

from mcc_jupyter.runtime.launcher import Stop
from mcc_jupyter.runtime.workers import Workers, each


def test_a_forked_process_has_threads_of_its_own() -> None:
    workers = Workers()

    async def wait() -> int:
        return await workers.wait_for(lambda _: os.getpid())

    assert asyncio.run(wait()) == os.getpid()
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)  # a call that waits for a thread of the parent waits for ever
        try:
            os._exit(0 if asyncio.run(wait()) == os.getpid() else 1)
        finally:
            os._exit(2)
    assert os.waitpid(pid, 0)[1] == 0
    workers.close()
    assert asyncio.run(wait()) == os.getpid()
    workers.close()


def test_an_error_of_one_of_many_calls_ends_the_others_and_is_raised() -> None:
    begun, ended = threading.Event(), list[bool]()

    def call(at: int, stop: Stop) -> int:
        if at == 0:
            assert begun.wait(20)
            raise RuntimeError("of the first")
        begun.set()
        while not stop.requested:
            time.sleep(0.001)
        ended.append(True)
        return at

    with pytest.raises(RuntimeError, match="of the first"):
        each(call, 2, left_out=lambda at: at, workers=2)
    assert ended == [True]


def test_another_process_is_told_by_its_id() -> None:
    workers = Workers()
    workers._pid = -1

    async def wait() -> int:
        return await workers.wait_for(lambda _: os.getpid())

    assert asyncio.run(wait()) == workers._pid == os.getpid()
    workers.close()
