"""Requests → one kernel's control channel → its replies (SPEC 13.2).

1. The client has an identity of its own: with the manager's it would take over answers to the server's own requests.
2. One channel a kernel; a reply is handed to whoever sent the message it answers.
3. Nothing waits for ever: a question has a time, and a call ends when its kernel does.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty
from typing import Any

from jupyter_core.utils import ensure_async

from .errors import ApiError, kernel_ended, no_answer, not_understood, of_kernel

REQUEST, REPLY = "mcc_request", "mcc_reply"
VERSION = 1

_LOOK = 0.3
"""Seconds between two looks at the kernel's process, while something is awaited of it."""
_REMOTE_WAIT = 0.02
_SIGN_OF_LIFE = 15.0
LEASE = 60.0
"""Seconds after which a kernel ends the calls of a server that it does not hear of any more."""

Content = Mapping[str, Any]
Listener = Callable[[Content, Sequence[Any]], None]


@dataclass(slots=True)
class _Call:
    """A call on its way: the message that began it, and up to where its output was acknowledged."""

    sent: str = ""
    seq: int = 0


class Link:
    """The conversation with one kernel, as long as it is the same process. Use it in the server's event loop only."""

    def __init__(self, manager: Any, *, remote: bool) -> None:
        self._manager, self._remote = manager, remote
        self._client: Any = None
        self._opening: asyncio.Lock = asyncio.Lock()
        self._listeners: dict[str, tuple[Listener, Callable[[ApiError], None]]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._calls: dict[str, _Call] = {}
        self._process = process_of(manager)
        self._wanted = asyncio.Event()
        self.ended = False

    @property
    def current(self) -> bool:
        """Whether the kernel still is the process that this conversation is with."""
        return not self.ended and self._process == process_of(self._manager)

    async def ask(
        self, seconds: float, op: str, content: Content | None = None, buffers: Sequence[bytes] = ()
    ) -> tuple[Content, Sequence[Any]]:
        """The one reply to a request: its content and its buffers. Raises ``ApiError``."""
        answer: asyncio.Future[tuple[Content, Any]] = asyncio.get_running_loop().create_future()

        def listen(reply: Content, parts: Sequence[Any]) -> None:
            if not answer.done():
                answer.set_result((reply, parts))

        def fail(error: ApiError) -> None:
            if not answer.done():
                answer.set_exception(error)

        sent = await self._send({**(content or {}), "op": op}, listen, fail, buffers)
        try:
            async with asyncio.timeout(seconds):
                reply, parts = await answer
        except TimeoutError:
            raise no_answer(seconds) from None
        finally:
            self._listeners.pop(sent, None)
        if reply.get("event") == "error":
            raise of_kernel(reply.get("code"), reply.get("text"))
        return reply, parts

    async def answers(self, seconds: float) -> bool:
        """Whether the kernel answers at all. A question that it does not know is answered without any work."""
        try:
            await self.ask(seconds, "hello")
        except ApiError as error:
            return error.status_code not in (504, 409)
        return True

    async def call(self, content: Content, listen: Listener, fail: Callable[[ApiError], None]) -> None:
        """Begins a call; *listen* gets its events until the last, or *fail* the error that ended it."""
        number = str(content["call"])

        def heard(reply: Content, parts: Sequence[Any]) -> None:
            if reply.get("event") in ("done", "error"):
                self.forget(number)
            listen(reply, parts)

        def failed(error: ApiError) -> None:
            self._calls.pop(number, None)
            fail(error)

        call = self._calls[number] = _Call()
        call.sent = await self._send({"op": "call", "lease": LEASE, **content}, heard, failed)

    def forget(self, number: str) -> None:
        """Hears no more of a call."""
        call = self._calls.pop(number, None)
        if call is not None:
            self._listeners.pop(call.sent, None)

    def acknowledge(self, number: str, seq: int) -> None:
        """The output of a call up to *seq* has arrived where it was going."""
        if number in self._calls:
            self._calls[number].seq = seq
            self._say({"op": "ack", "call": number, "seq": seq})

    def cancel(self, number: str) -> None:
        self._say({"op": "cancel", "call": number})

    async def close(self) -> None:
        """Ends the conversation: what still waits fails."""
        if self.ended:
            return
        self.ended = True
        for task in self._tasks:
            task.cancel()
        self._fail_all(kernel_ended())
        client, self._client = self._client, None
        if client is not None:
            if self._remote:  # it joins a thread that reads a socket
                with suppress(Exception):
                    await asyncio.to_thread(client.stop_channels)
            else:
                client.stop_channels()

    # ---- inside

    async def _send(
        self, content: Content, listen: Listener, fail: Callable[[ApiError], None], buffers: Sequence[bytes] = ()
    ) -> str:
        await self._open()
        message = self._message(content, buffers)
        sent = str(message["header"]["msg_id"])
        self._listeners[sent] = listen, fail
        self._wanted.set()
        self._put(message)
        return sent

    def _say(self, content: Content) -> None:
        if self._client is not None:
            self._put(self._message(content))

    def _put(self, message: dict[str, Any]) -> None:
        if self._remote:
            # A gateway takes a message that names no channel for one of the shell's.
            self._client.control_channel.send({**message, "channel": "control"})
            return
        # The channel's own ``send`` uses the socket behind asyncio's back: a reply that comes meanwhile is not seen.
        parts = self._client.session.serialize(message)
        sending = self._client.control_channel.socket.send_multipart([*parts, *message.get("buffers", ())])
        sending.add_done_callback(lambda done: done.cancelled() or done.exception())

    def _message(self, content: Content, buffers: Sequence[bytes] = ()) -> dict[str, Any]:
        message: dict[str, Any] = self._client.session.msg(REQUEST, {"v": VERSION, **content})
        if buffers:
            message["buffers"] = list(buffers)
        return message

    async def _open(self) -> None:
        async with self._opening:
            if self.ended:
                raise kernel_ended()
            if self._client is not None:
                return
            client = self._manager.client()
            client.session.session = uuid.uuid4().hex
            if self._remote:
                # It connects and hands out in threads; a queue for every channel, or it fails at the first message.
                await asyncio.to_thread(lambda: asyncio.run(client.start_channels()))
            else:
                await ensure_async(client.start_channels(shell=False, iopub=False, stdin=False, hb=False, control=True))
            self._client = client
            self._tasks = [asyncio.create_task(work()) for work in (self._receive, self._watch, self._live)]

    async def _receive(self) -> None:
        while True:
            message = await (self._next_remote() if self._remote else self._next())
            if message is None or message.get("msg_type", message["header"].get("msg_type")) != REPLY:
                continue
            listener = self._listeners.get(message.get("parent_header", {}).get("msg_id", ""))
            content = message.get("content")
            if listener is not None and isinstance(content, Mapping):
                try:
                    listener[0](content, message.get("buffers") or ())
                except (TypeError, ValueError):  # of a form that no version of the package gives
                    listener[1](not_understood())
            await asyncio.sleep(0)  # a flood of one kernel leaves the loop to others

    async def _next(self) -> dict[str, Any] | None:
        parts = await self._client.control_channel.socket.recv_multipart()
        session = self._client.session
        try:
            found: dict[str, Any] = session.deserialize(session.feed_identities(parts)[1])
        except ValueError:  # not signed with this kernel's key
            return None
        return found

    async def _next_remote(self) -> dict[str, Any] | None:
        """The queues of a gateway's client can only be looked at; that is done while something is awaited."""
        client = self._client
        for channel in (client.shell_channel, client.iopub_channel, client.stdin_channel):
            with suppress(Empty):
                while True:
                    channel.get(block=False)
        try:
            found: dict[str, Any] = client.control_channel.get(block=False)
        except Empty:
            await asyncio.sleep(_REMOTE_WAIT)
            return None
        return found

    async def _watch(self) -> None:
        """Ends what waits for a kernel that has gone."""
        while True:
            if not self._listeners:
                self._wanted.clear()
                await self._wanted.wait()
            await asyncio.sleep(_LOOK)
            if not self.current or not await self._alive():
                self._process = None
                self._fail_all(kernel_ended())

    async def _alive(self) -> bool:
        try:
            return bool(await ensure_async(self._manager.is_alive()))
        except Exception:  # noqa: BLE001 - a gateway that cannot be asked says nothing of its kernel
            return True

    async def _live(self) -> None:
        """Tells the kernel that its calls are still wanted; one that does not know them is not the one they ran in."""
        while True:
            await asyncio.sleep(_SIGN_OF_LIFE)
            for number, call in list(self._calls.items()):
                message = self._message({"op": "ack", "call": number, "seq": call.seq})
                sent = str(message["header"]["msg_id"])
                self._listeners[sent] = self._unknown_to_kernel(sent, number), lambda _: None
                self._put(message)
                asyncio.get_running_loop().call_later(_SIGN_OF_LIFE, self._listeners.pop, sent, None)

    def _unknown_to_kernel(self, sent: str, number: str) -> Listener:
        def heard(reply: Content, parts: Sequence[Any]) -> None:
            self._listeners.pop(sent, None)
            call = self._calls.pop(number, None)
            if call is not None and (waiting := self._listeners.pop(call.sent, None)) is not None:
                waiting[1](kernel_ended())

        return heard

    def _fail_all(self, error: ApiError) -> None:
        listeners, self._listeners = self._listeners, {}
        self._calls.clear()
        for _, fail in listeners.values():
            fail(error)


def process_of(manager: Any) -> object:
    """What tells a kernel's process from the one that a restart makes; the same for all of a remote kernel's."""
    provisioner = getattr(manager, "provisioner", None)
    return id(provisioner), getattr(provisioner, "pid", None)
