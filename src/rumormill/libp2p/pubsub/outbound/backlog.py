"""Messages that wait for one peer, in a lane for each source that they came from.

Lanes take turns, and where there is no room the longest one loses its newest: whoever floods us
fills its own lane, and the messages of others neither wait behind it nor are lost for it. Within a
lane the order stays. Our own lane comes first, and again after each turn of another.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container

from rumormill.core.machine import Peer
from rumormill.libp2p.pubsub.outbound.lane import Lane, Parcel

QUANTUM = 8 * 1024
"""Bytes of a lane that leave before it is the next one's turn."""

OWN_QUANTUM = 4 * QUANTUM
"""The same of our own lane: most of the line, but never all of it."""


class Backlog:
    """Messages that wait for one peer, no more than ``most_messages`` and ``most_bytes``.

    >>> flood, rain = (b"flood", b"1", "weather"), (b"rain", b"2", "weather")
    >>> backlog = Backlog(most_messages=3, most_bytes=100)
    >>> [backlog.add(flood, "eve") for _ in range(4)], backlog.add(rain, "alice")
    ([0, 1, 2, None], 2)
    >>> backlog.take_evicted(), backlog.take(most_bytes=100)
    (1, [b'flood', b'flood', b'rain'])
    """

    __slots__ = (
        "_half_bytes", "_half_messages", "_lanes", "_most_bytes", "_most_messages", "_spare",
        "bytes", "count", "crowded", "evicted", "was_full",
    )  # fmt: skip

    def __init__(self, most_messages: int, most_bytes: int) -> None:
        self._most_messages = most_messages
        self._most_bytes = most_bytes
        self._half_messages = most_messages // 2
        self._half_bytes = most_bytes // 2
        self._lanes: OrderedDict[Peer | None, Lane] = OrderedDict()
        self._spare: Lane | None = None
        """An empty lane for the next source: most have one message in it, and are gone again."""
        self.count = 0
        """How many wait. Read here, not by ``len``, where it is asked for every turn."""
        self.bytes = 0
        """Of all that wait."""
        self.evicted = 0
        """Messages of the longest lane that were lost for others, until they are counted."""
        self.crowded = False
        """Whether more than half of the room was taken since it was last half empty."""
        self.was_full = False
        """Whether a message found no room, or a publisher asked for it, since there was last room
        again."""

    def __len__(self) -> int:
        return self.count

    def half_empty(self) -> bool:
        """Whether there is so much room again that a waiting publisher should go on."""
        return self.count <= self._half_messages and self.bytes <= self._half_bytes

    # ---- filling

    def add(self, parcel: Parcel, source: Peer | None) -> int | None:
        """Let a message wait behind those of its source; without one it is our own.

        Returns how many there were before it, None if there is no room.
        """
        size, waiting = len(parcel[0]), self.count
        total = self.bytes + size
        # One question for every message to every peer: all others are for a crowd.
        if waiting >= self._half_messages or total > self._half_bytes:
            self.crowded = True
            if not self._admits(size, source):
                self.was_full = True
                return None
            waiting, total = self.count, self.bytes + size
        lane = self._lanes.get(source)
        if lane is None:
            lane, self._spare = self._spare, None
            lane = self._lanes[source] = Lane() if lane is None else lane
            if source is None and waiting:
                self._lanes.move_to_end(None, last=False)
        lane.fresh.append(parcel)
        lane.bytes += size
        self.count = waiting + 1
        self.bytes = total
        return waiting

    def _admits(self, size: int, source: Peer | None) -> bool:
        """Whether there is room for a message of this source, or could be made."""
        if not self._fits(size):
            if not self._is_modest(size, source):
                return False
            self._make_room(size, source)
        return True

    def _fits(self, size: int, count: int = 1) -> bool:
        """Whether there is room. One message always has it."""
        return self.count + count <= self._most_messages and (
            self.bytes + size <= self._most_bytes or (not self.count and count == 1)
        )

    def full(self, size: int = 0, source: Peer | None = None, count: int = 1) -> bool:
        """Whether ``count`` messages of this source, ``size`` bytes in all, would find no room."""
        return not self._fits(size, count) and not self._is_modest(size, source)

    def _is_modest(self, size: int, source: Peer | None) -> bool:
        """Whether another lane is longer than this source's would be with the message.

        Then those that are longest lose what it takes: they have more than is needed.
        """
        own = self._lanes.get(source)
        with_it = size + (own.bytes if own is not None else 0)
        return any(lane.bytes > with_it for lane in self._lanes.values())

    def _make_room(self, size: int, source: Peer | None) -> None:
        while not self._fits(size):
            others = (each for each in self._lanes if each != source)
            longest = max(others, key=lambda each: self._lanes[each].bytes)
            self._forget([self._lanes[longest].pop_last()])
            self.evicted += 1
            if not self._lanes[longest]:
                del self._lanes[longest]

    def take_evicted(self) -> int:
        """How many messages were lost since the last time, so that those of others had room."""
        evicted, self.evicted = self.evicted, 0
        return evicted

    # ---- emptying

    def first(self) -> bytes:
        """The frame that leaves next; there has to be one."""
        return next(iter(self._lanes.values())).first()[0]

    def take(self, most_bytes: int) -> list[bytes]:
        """Let those leave that are next, up to about so many bytes, but one at least."""
        lanes = self._lanes
        if len(lanes) == 1 and self.bytes <= most_bytes:  # as nearly always
            _, lane = lanes.popitem()
            self.count = self.bytes = 0
            frames = lane.frames()
            lane.clear()
            self._spare = lane
            return frames
        taken: list[bytes] = []
        left = most_bytes
        while lanes and (left > 0 or not taken):
            frame = self._take_one()
            left -= len(frame)
            taken.append(frame)
        return taken

    def _take_one(self) -> bytes:
        lanes = self._lanes
        source, lane = next(iter(lanes.items()))
        parcel = lane.pop_first()
        self._forget([parcel])
        lane.taken += len(parcel[0])
        if not lane:
            del lanes[source]
        elif lane.taken >= (QUANTUM if source is not None else OWN_QUANTUM):
            lane.taken = 0
            lanes.move_to_end(source)
        else:
            return parcel[0]
        if source is not None and None in lanes:
            lanes.move_to_end(None, last=False)
        return parcel[0]

    def clear(self) -> int:
        """Forget the messages; returns how many there were."""
        count = self.count
        self._lanes.clear()
        self.count = self.bytes = 0
        self.crowded = False
        return count

    # ---- what has to wait

    def put_off(self, now: float) -> None:
        """A flush has passed by: what came since the last one is late from now on."""
        for lane in self._lanes.values():
            lane.put_off(now)

    def expiry(self, own_seconds: float, other_seconds: float) -> float:
        """When the first of what is late will have waited so long; infinite if nothing is."""
        times = [
            since + (own_seconds if source is None else other_seconds)
            for source, lane in self._lanes.items()
            if (since := lane.since()) is not None
        ]
        return min(times, default=float("inf"))

    def expire(self, own_before: float, other_before: float) -> list[Parcel]:
        """Lose what is late since these times or longer; returns it."""
        lost: list[Parcel] = []
        for source, lane in self._lanes.items():
            lost += lane.expire(own_before if source is None else other_before)
        return self._lost(lost)

    def remove(self, message_ids: Container[bytes]) -> list[Parcel]:
        """Take out the messages with these ids; returns them."""
        removed = [each for lane in self._lanes.values() for each in lane.remove(message_ids)]
        return self._lost(removed)

    def _lost(self, parcels: list[Parcel]) -> list[Parcel]:
        if parcels:
            self._forget(parcels)
            for source in [source for source, lane in self._lanes.items() if not lane]:
                del self._lanes[source]
        return parcels

    def _forget(self, parcels: list[Parcel]) -> None:
        """These no longer wait."""
        self.count -= len(parcels)
        self.bytes -= sum([len(parcel[0]) for parcel in parcels])
