"""Messages that wait for one peer, in a lane for each source that they came from.

Lanes take turns, and where there is no room the longest one loses its newest: whoever floods us
fills its own lane, and the messages of others neither wait behind it nor are lost for it. Within a
lane the order stays.
"""

from __future__ import annotations

from collections import OrderedDict, deque

from rumormill.core.machine import Peer

QUANTUM = 8 * 1024
"""Bytes of a lane that leave before it is the next one's turn."""


class Lane:
    """Frames that wait, of one source."""

    __slots__ = ("bytes", "frames", "taken")

    def __init__(self) -> None:
        self.frames: deque[bytes] = deque()
        self.bytes = 0
        self.taken = 0
        """Bytes that left in this turn of it."""


class Backlog:
    """Frames that wait for one peer, no more than ``most_messages`` and ``most_bytes``.

    >>> backlog = Backlog(most_messages=3, most_bytes=100)
    >>> [backlog.add(b"flood", "eve") for _ in range(4)], backlog.add(b"rain", "alice")
    ([0, 1, 2, None], 2)
    >>> backlog.evicted, backlog.take(most_bytes=100)
    (1, [b'flood', b'flood', b'rain'])
    """

    __slots__ = (
        "_count", "_lanes", "_most_bytes", "_most_messages", "bytes", "evicted", "half_bytes",
        "half_messages",
    )  # fmt: skip

    def __init__(self, most_messages: int, most_bytes: int) -> None:
        self._most_messages = most_messages
        self._most_bytes = most_bytes
        self.half_messages = most_messages // 2
        self.half_bytes = most_bytes // 2
        """From here on there is a crowd."""
        self._lanes: OrderedDict[Peer | None, Lane] = OrderedDict()
        self._count = 0
        self.bytes = 0
        """Of all that wait."""
        self.evicted = 0
        """Frames of the longest lane that were lost for others; whoever counts them clears it."""

    def __len__(self) -> int:
        return self._count

    @property
    def crowded(self) -> bool:
        """Whether more than half of the room is taken."""
        return self._count > self.half_messages or self.bytes > self.half_bytes

    def add(self, frame: bytes, source: Peer | None) -> int | None:
        """Let a frame wait behind those of its source.

        Returns how many there were before it, None if there is no room.
        """
        size, waiting = len(frame), self._count
        # As _fits, spelled out: this runs for every message to every peer.
        if waiting >= self._most_messages or (self.bytes + size > self._most_bytes and waiting):
            if not self._is_modest(size, source):
                return None
            self._make_room(size, source)
            waiting = self._count
        lane = self._lanes.get(source)
        if lane is None:
            lane = self._lanes[source] = Lane()
        lane.frames.append(frame)
        lane.bytes += size
        self._count = waiting + 1
        self.bytes += size
        return waiting

    def _fits(self, size: int, count: int = 1) -> bool:
        """Whether there is room. One frame always has it."""
        return self._count + count <= self._most_messages and (
            self.bytes + size <= self._most_bytes or (not self._count and count == 1)
        )

    def full(self, size: int, source: Peer | None, count: int = 1) -> bool:
        """Whether ``count`` frames of this source, ``size`` bytes in all, would find no room."""
        return not self._fits(size, count) and not self._is_modest(size, source)

    def _is_modest(self, size: int, source: Peer | None) -> bool:
        """Whether another lane is longer than this source's would be with the frame.

        Then those that are longest lose what it takes: they have more than is needed.
        """
        own = self._lanes.get(source)
        with_it = size + (own.bytes if own is not None else 0)
        return any(lane.bytes > with_it for lane in self._lanes.values())

    def _make_room(self, size: int, source: Peer | None) -> None:
        while not self._fits(size):
            others = (each for each in self._lanes if each != source)
            longest = max(others, key=lambda each: self._lanes[each].bytes)
            lane = self._lanes[longest]
            frame = lane.frames.pop()
            lane.bytes -= len(frame)
            self._count -= 1
            self.bytes -= len(frame)
            self.evicted += 1
            if not lane.frames:
                del self._lanes[longest]

    def first(self) -> bytes:
        """The frame that leaves next; there has to be one."""
        return next(iter(self._lanes.values())).frames[0]

    def take(self, most_bytes: int) -> list[bytes]:
        """Let those leave that are next, up to about so many bytes, but one at least."""
        lanes = self._lanes
        if len(lanes) == 1 and self.bytes <= most_bytes:  # as nearly always
            ((_, lane),) = lanes.items()
            self.clear()
            return list(lane.frames)
        taken: list[bytes] = []
        left = most_bytes
        while lanes and (left > 0 or not taken):
            frame = self._take_one()
            left -= len(frame)
            taken.append(frame)
        return taken

    def _take_one(self) -> bytes:
        source, lane = next(iter(self._lanes.items()))
        frame = lane.frames.popleft()
        size = len(frame)
        lane.bytes -= size
        self._count -= 1
        self.bytes -= size
        lane.taken += size
        if not lane.frames:
            del self._lanes[source]
        elif lane.taken >= QUANTUM:
            lane.taken = 0
            self._lanes.move_to_end(source)
        return frame

    def clear(self) -> None:
        """Forget everything."""
        self._lanes.clear()
        self._count = self.bytes = 0
