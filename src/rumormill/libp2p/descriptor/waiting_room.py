"""Messages that were passed on and cannot be read yet, as their key has not come.

They are delivered when it comes. What waits too long, or finds no room, is lost here, and counted.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple, TypeAlias

from rumormill.core.machine import Peer
from rumormill.libp2p.wire.message import WireMessage

MOST: Final = 256
MOST_BYTES: Final = 4 * 1024 * 1024
LONGEST: Final = 10.0
"""Seconds."""

KeyName: TypeAlias = tuple[bytes, bytes]
"""The author of a key, or nobody if it is shared; and its id."""


class Waiting(NamedTuple):
    """A message that waits."""

    key: KeyName
    message: WireMessage
    source: Peer
    until: float


class WaitingRoom:
    """Keeps messages until their key comes."""

    def __init__(self) -> None:
        self._messages: OrderedDict[int, Waiting] = OrderedDict()
        self._next = 0
        self._bytes = 0

    def __len__(self) -> int:
        """How many wait."""
        return len(self._messages)

    def add(self, key: KeyName, message: WireMessage, source: Peer, now: float) -> list[Waiting]:
        """Let a message wait; those that had to go for it, the oldest first."""
        self._messages[self._next] = Waiting(key, message, source, now + LONGEST)
        self._next += 1
        self._bytes += len(message.raw)
        gone = []
        while len(self._messages) > MOST or (self._bytes > MOST_BYTES and len(self) > 1):
            gone.append(self._remove(next(iter(self._messages))))
        return gone

    def take(self, key: KeyName) -> list[Waiting]:
        """Those that waited for a key, in the order in which they came."""
        numbers = [number for number, each in self._messages.items() if each.key == key]
        return [self._remove(number) for number in numbers]

    def expire(self, now: float) -> list[Waiting]:
        """Those whose time is up."""
        gone = []
        while self._messages and next(iter(self._messages.values())).until <= now:
            gone.append(self._remove(next(iter(self._messages))))
        return gone

    def next_expiry(self) -> float | None:
        """When the first has waited too long."""
        return next(iter(self._messages.values())).until if self._messages else None

    def keys(self) -> list[KeyName]:
        """The keys that are waited for."""
        return list(dict.fromkeys(each.key for each in self._messages.values()))

    def _remove(self, number: int) -> Waiting:
        found = self._messages.pop(number)
        self._bytes -= len(found.message.raw)
        return found
