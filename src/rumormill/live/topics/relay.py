"""Relaying: taking part in a topic for others, without a message for oneself.

    async with network.relay("weather"):
        await asyncio.sleep(3600)

A topic is relayed as long as one of its handles is open. Subscribing to it at the same time is
fine, and neither ends the other.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self


class Relay:
    """Keeps a topic relayed until it is closed, with ``async with`` or :meth:`close`."""

    def __init__(self, topic: str, left: Callable[[Relay], None]) -> None:
        self.topic = topic
        self._left = left
        self._closed = False

    def __repr__(self) -> str:
        return f"<Relay {self.topic!r} {'closed' if self._closed else 'open'}>"

    @property
    def closed(self) -> bool:
        """Whether this handle no longer keeps the topic relayed."""
        return self._closed

    def close(self) -> None:
        """Let go of the topic; the last of its handles ends the relay. Twice is harmless."""
        if not self._closed:
            self._closed = True
            self._left(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class Relays:
    """The handles of all topics: ``begin`` is called at a topic's first, ``end`` after its last."""

    def __init__(self, begin: Callable[[str], None], end: Callable[[str], None]) -> None:
        self._begin = begin
        self._end = end
        self._open: dict[str, dict[Relay, None]] = {}

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that are relayed."""
        return tuple(self._open)

    def __len__(self) -> int:
        """How many handles are open."""
        return sum(map(len, self._open.values()))

    def add(self, topic: str) -> Relay:
        """One more handle of the topic."""
        if topic not in self._open:
            self._begin(topic)
        relay = Relay(topic, self._left)
        self._open.setdefault(topic, {})[relay] = None
        return relay

    def _left(self, relay: Relay) -> None:
        others = self._open[relay.topic]
        del others[relay]
        if not others:
            del self._open[relay.topic]
            self._end(relay.topic)

    def close(self) -> None:
        """Close every handle."""
        for relay in [each for several in self._open.values() for each in several]:
            relay.close()
