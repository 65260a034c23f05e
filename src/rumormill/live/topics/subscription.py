"""A subscription: the messages of one topic, in a buffer that cannot grow without end.

    async with network.subscribe("weather") as messages:
        async for message in messages:
            print(message.data)

What happens when the reader is slower than the network is the user's choice (``when_full``):

* ``"wait"``: peers are held back until half the buffer is free again; nothing is lost here. All
  peers and topics of the network wait, since they share connections.
* ``"drop_oldest"``: the message that waited longest makes room.
* ``"drop_newest"``: the message that just came is left out.

Every drop is counted (``subscription.dropped``) and traced.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Literal, NamedTuple, Self

from rumormill.core.errors import ClosedError, ConfigError
from rumormill.core.message import Message

WhenFull = Literal["wait", "drop_oldest", "drop_newest"]
POLICIES: tuple[WhenFull, ...] = ("wait", "drop_oldest", "drop_newest")

OVERHANG_MESSAGES, OVERHANG_BYTES = 65_536, 64 * 1024 * 1024
"""What may still come after peers were told to wait: bytes that were on their way already. Past
this even ``"wait"`` drops, since no buffer may be without a bound."""


class SubscriptionHooks(NamedTuple):
    """What a subscription asks of its network."""

    closed: Callable[[Subscription], None]
    full: Callable[[Subscription, bool], None]
    """Called with True when peers should be held back, with False when they may go on."""
    dropped: Callable[[Subscription, Message], None]


class Subscription:
    """The messages of one topic; iterate over it, or :meth:`get` them one by one.

    Close it with ``async with`` or :meth:`close`. An iteration that is under way then ends after
    the messages that had arrived; a new one raises :class:`ClosedError`.
    """

    def __init__(
        self,
        topic: str,
        hooks: SubscriptionHooks,
        *,
        buffer: int = 1024,
        buffer_bytes: int = 16 * 1024 * 1024,
        when_full: WhenFull = "wait",
    ) -> None:
        _check(buffer, buffer_bytes, when_full)
        self.topic = topic
        self.when_full = when_full
        self.dropped = 0
        """Messages of this topic that were lost because the buffer was full."""
        self.filtered = 0
        """Messages of this topic that the filter of this subscription left out, if it has one."""
        self._hooks = hooks
        self._buffer, self._buffer_bytes = buffer, buffer_bytes
        self._messages: deque[Message] = deque()
        self._bytes = 0
        self._waiter: asyncio.Future[None] | None = None
        self._holding = False
        self._closed = False

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return (
            f"<Subscription {self.topic!r} {state} pending={self.pending} dropped={self.dropped}>"
        )

    @property
    def pending(self) -> int:
        """Messages that arrived and were not read yet."""
        return len(self._messages)

    @property
    def pending_bytes(self) -> int:
        """Bytes of data in the messages that were not read yet."""
        return self._bytes

    @property
    def closed(self) -> bool:
        """Whether no more messages will arrive."""
        return self._closed

    @property
    def full(self) -> bool:
        """Whether the buffer has no room."""
        return len(self._messages) >= self._buffer or self._bytes >= self._buffer_bytes

    # ---- the network's side

    def push(self, message: Message) -> None:
        """Take a message from the network."""
        messages = self._messages
        self._bytes += len(message.data)
        messages.append(message)
        if len(messages) >= self._buffer or self._bytes >= self._buffer_bytes:
            self._make_room()
        waiter = self._waiter
        if waiter is not None:
            self._waiter = None
            if not waiter.done():
                waiter.set_result(None)

    def _make_room(self) -> None:
        """The buffer is full, or one message more than that."""
        if self.when_full == "wait":
            if not self._holding:
                self._holding = True
                self._hooks.full(self, True)
            most, most_bytes = OVERHANG_MESSAGES, OVERHANG_BYTES
        else:
            most = most_bytes = 0
        messages = self._messages
        newest = self.when_full != "drop_oldest"
        while messages and (
            len(messages) > self._buffer + most or self._bytes > self._buffer_bytes + most_bytes
        ):
            message = messages.pop() if newest else messages.popleft()
            self._bytes -= len(message.data)
            self.dropped += 1
            self._hooks.dropped(self, message)

    # ---- the reader's side

    async def get(self, timeout: float | None = None) -> Message:
        """The next message, waiting for it if there is none.

        Raises :class:`TimeoutError` after ``timeout`` seconds, and :class:`ClosedError` when the
        subscription is closed and everything that arrived was read.
        """
        if not self._messages:
            async with asyncio.timeout(timeout):
                await self._arrival()
            if not self._messages:
                raise ClosedError(f"the subscription of {self.topic!r} is closed")
        return self._take()

    def __aiter__(self) -> Self:
        if self._closed and not self._messages:
            raise ClosedError(f"the subscription of {self.topic!r} is closed")
        return self

    async def __anext__(self) -> Message:
        if not self._messages:
            await self._arrival()
            if not self._messages:
                raise StopAsyncIteration
        return self._take()

    def _take(self) -> Message:
        message = self._messages.popleft()
        self._bytes -= len(message.data)
        if self._holding and self._half_free():
            self._release()
        return message

    def _half_free(self) -> bool:
        return len(self._messages) <= self._buffer // 2 and self._bytes <= self._buffer_bytes // 2

    def _release(self) -> None:
        self._holding = False
        self._hooks.full(self, False)

    async def _arrival(self) -> None:
        """Return when there is a message, or there will be none any more.

        One future serves all readers. The first awaits it as it is; others watch it, so that the
        first may be cancelled without them.
        """
        while not self._messages and not self._closed:
            waiter = self._waiter
            if waiter is None or waiter.done():
                self._waiter = asyncio.get_running_loop().create_future()
                await self._waiter
            else:
                await asyncio.wait((waiter,))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave the topic; messages that arrived can still be read. Closing twice is harmless."""
        if self._closed:
            return
        self._closed = True
        if self._holding:
            self._release()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        self._hooks.closed(self)


def _check(buffer: int, buffer_bytes: int, when_full: str) -> None:
    if when_full not in POLICIES:
        raise ConfigError("when_full", f"must be one of {', '.join(POLICIES)}, not {when_full!r}")
    if buffer < 1:
        raise ConfigError("buffer", f"must be at least 1, not {buffer}")
    if buffer_bytes < 1:
        raise ConfigError("buffer_bytes", f"must be at least 1, not {buffer_bytes}")
