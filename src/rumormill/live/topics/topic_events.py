"""Who comes to a topic and who leaves it, as it happens.

    async with network.topic_events("weather") as events:
        async for event in events:
            print(type(event).__name__, event.peer)

First come those who are there already. Nothing is kept for a reader that is slow but what it was
told last: what it has missed is the difference to what is true now. So a peer that came and left
again in the meantime is not told of at all, and no reader needs more memory than one entry a peer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import NamedTuple, Self, TypeAlias
from weakref import WeakSet

from rumormill.core.errors import ClosedError
from rumormill.core.trace import TraceEvent


class PeerJoinedTopic(NamedTuple):
    """``peer`` listens to ``topic``, as it says."""

    topic: str
    peer: str


class PeerLeftTopic(NamedTuple):
    """``peer`` no longer listens to ``topic``, or is gone."""

    topic: str
    peer: str


TopicEvent: TypeAlias = PeerJoinedTopic | PeerLeftTopic


class TopicEvents:
    """The comings and goings of one topic; iterate over it, or :meth:`get` them one by one.

    Close it with ``async with`` or :meth:`close`; an iteration that is under way then ends. One
    that nobody holds any more is forgotten.
    """

    def __init__(
        self,
        topic: str,
        listeners: Callable[[], Iterable[str]],
        left: Callable[[TopicEvents], None],
    ) -> None:
        self.topic = topic
        self._listeners = listeners
        self._left = left
        self._told: dict[str, None] = {}
        """Who is there, as far as the reader has been told."""
        self._changed = asyncio.Event()
        self._changed.set()
        self._untold: list[TopicEvent] = []
        """What is to be told next, the first last; void as soon as something changes."""
        self._closed = False

    def __repr__(self) -> str:
        return f"<TopicEvents {self.topic!r} {'closed' if self._closed else 'open'}>"

    @property
    def closed(self) -> bool:
        """Whether nothing more is told."""
        return self._closed

    # ---- the network's side

    def look_again(self) -> None:
        """Who listens may have changed."""
        self._changed.set()

    # ---- the reader's side

    async def get(self, timeout: float | None = None) -> TopicEvent:
        """The next event, waiting for it if there is none.

        Raises :class:`TimeoutError` after ``timeout`` seconds, and :class:`ClosedError` when there
        will be none any more.
        """
        async with asyncio.timeout(timeout):
            event = await self._next()
        if event is None:
            raise ClosedError(f"the events of {self.topic!r} are closed")
        return event

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TopicEvent:
        event = await self._next()
        if event is None:
            raise StopAsyncIteration
        return event

    async def _next(self) -> TopicEvent | None:
        while not self._closed:
            if self._changed.is_set():
                self._changed.clear()
                self._untold = self._difference()
            if self._untold:
                return self._tell(self._untold.pop())
            await self._changed.wait()
        return None

    def _difference(self) -> list[TopicEvent]:
        """What must be told for the reader to know who is there, the first last."""
        there = dict.fromkeys(self._listeners())
        gone = [PeerLeftTopic(self.topic, peer) for peer in self._told if peer not in there]
        come = [PeerJoinedTopic(self.topic, peer) for peer in there if peer not in self._told]
        return [*reversed(come), *reversed(gone)]

    def _tell(self, event: TopicEvent) -> TopicEvent:
        if isinstance(event, PeerJoinedTopic):
            self._told[event.peer] = None
        else:
            del self._told[event.peer]
        return event

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Tell nothing more. Closing twice is harmless."""
        if not self._closed:
            self._closed = True
            self._changed.set()
            self._left(self)


class TopicWatch:
    """All readers of topic events of a network; hears of what happens only while there is one.

    ``shifts`` are the trace events with which the listeners of a topic may change, ``on_trace``
    lets a function hear of all, ``listeners`` says who listens to a topic now.
    """

    def __init__(
        self,
        shifts: frozenset[str],
        on_trace: Callable[[Callable[[TraceEvent], None]], Callable[[], None]],
        listeners: Callable[[str], Iterable[str]],
    ) -> None:
        self._shifts = shifts
        self._on_trace = on_trace
        self._listeners = listeners
        self._readers: WeakSet[TopicEvents] = WeakSet()
        self._stop: Callable[[], None] | None = None

    def __len__(self) -> int:
        """How many readers there are."""
        return len(self._readers)

    def watch(self, topic: str) -> TopicEvents:
        """A new reader."""
        if self._stop is None:
            self._stop = self._on_trace(self._happened)
        events = TopicEvents(topic, lambda: self._listeners(topic), self._left)
        self._readers.add(events)
        return events

    def _happened(self, event: TraceEvent) -> None:
        if event.event not in self._shifts:
            return
        for reader in self._readers:
            reader.look_again()
        if not self._readers:  # those that were forgotten did not say that they go
            self._rest()

    def _left(self, reader: TopicEvents) -> None:
        self._readers.discard(reader)
        if not self._readers:
            self._rest()

    def _rest(self) -> None:
        if self._stop is not None:
            self._stop()
            self._stop = None

    def close(self) -> None:
        """End all of them."""
        for reader in list(self._readers):
            reader.close()
