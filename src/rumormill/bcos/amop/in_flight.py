"""How many messages wait for their answers, and how many bytes they have: each is kept until then.

Who sends more than its share is refused, so that it cannot take the room of others.
"""

from __future__ import annotations

from typing import NamedTuple


class Room(NamedTuple):
    """How much may be in flight."""

    requests: int
    """Of one who sends."""
    bytes_each: int
    """Of one who sends."""
    bytes_of_all: int


class InFlight:
    """Counts what is in flight, by who sent it.

    >>> flights = InFlight(Room(requests=2, bytes_each=100, bytes_of_all=150))
    >>> flights.take("a", 90), flights.take("a", 90), flights.take("b", 90)
    (True, False, False)
    >>> flights.give_back("a", 90); flights.take("b", 90)
    True
    """

    __slots__ = ("_by_sender", "_bytes", "_room")

    def __init__(self, room: Room) -> None:
        self._room = room
        self._by_sender: dict[str, tuple[int, int]] = {}
        self._bytes = 0

    def take(self, sender: str, size: int) -> bool:
        """One more of ``sender``; False if there is no room for it."""
        room = self._room
        count, held = self._by_sender.get(sender, (0, 0))
        if (
            count >= room.requests
            or held + size > room.bytes_each
            or self._bytes + size > room.bytes_of_all
        ):
            return False
        self._by_sender[sender] = (count + 1, held + size)
        self._bytes += size
        return True

    def give_back(self, sender: str, size: int) -> None:
        """One of them has ended."""
        count, held = self._by_sender[sender]
        self._bytes -= size
        if count == 1:
            del self._by_sender[sender]
        else:
            self._by_sender[sender] = (count - 1, held - size)

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of its bounds."""
        return {
            "senders_in_flight": len(self._by_sender),
            "requests_in_flight": sum(count for count, _ in self._by_sender.values()),
            "bytes_in_flight": self._bytes,
        }
