"""Lists in segments: what was said in the first one holds until the last one is fetched."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

from rumormill.core.timers import Alarm, Timers
from rumormill.core.turn import Turn
from rumormill.ndn.wire.data import Data, encode_data
from rumormill.ndn.wire.name import SEGMENT, VERSION, Name, component
from rumormill.ndn.wire.signature import Signer
from rumormill.ndn.wire.tlv import number

SEGMENT_SIZE: Final = 7168
"""Bytes of a list in one Data: the largest packet has 8800, and there is a name in it."""
FRESH: Final = 1.0
"""Seconds for which the same list is given again."""
BYTES_PER_SECOND: Final = 500_000
"""Of a list: a long one holds for longer, so that making lists takes but a part of the time."""
KEPT: Final = 10.0
"""Seconds that segments of a list can be fetched."""
MOST: Final = 8
"""Lists that are kept."""


class Snapshot(NamedTuple):
    """A list as it was at some time."""

    name: Name
    """With its version."""
    content: bytes
    made: float

    @property
    def segments(self) -> int:
        """How many there are; an empty list has one."""
        return max(1, -(-len(self.content) // SEGMENT_SIZE))


class Snapshots:
    """The last few lists that were asked for."""

    def __init__(self, turn: Turn, signer: Signer, alarm: Alarm) -> None:
        self._turn = turn
        self._signer = signer
        self._kept: OrderedDict[Name, Snapshot] = OrderedDict()
        self._newest: dict[Name, Snapshot] = {}
        """Of each list, by its name without a version: there are as many as kinds of lists."""
        self._timers: Timers[Name] = Timers(alarm)

    def first(self, list_name: Name, make: Callable[[], bytes]) -> Data:
        """The first segment of a list, made anew if the last one is too old."""
        now = self._turn.now
        newest = self._newest.get(list_name)
        if newest is None or not newest.made <= now < newest.made + _holds(newest):
            newest = self._make(list_name, make, newest)
        return self._segment(newest, 0)

    def segment(self, list_name: Name, version: bytes, index: int) -> Data | None:
        """A segment of a list that was begun; None if it is gone, or has no such segment."""
        snapshot = self._kept.get(list_name + version)
        if snapshot is None or not 0 <= index < snapshot.segments:
            return None
        return self._segment(snapshot, index)

    def _make(
        self, list_name: Name, make: Callable[[], bytes], earlier: Snapshot | None
    ) -> Snapshot:
        now = self._turn.now
        version = component(number(max(0, int(now * 1000))), VERSION)
        if earlier is not None:
            # Made in the same millisecond, or the clock was set back: it is no list of its own.
            self._kept.pop(list_name + version, None)
        made = Snapshot(list_name + version, make(), now)
        self._kept[made.name] = self._newest[list_name] = made
        self._timers.set(made.name, now + KEPT)
        while len(self._kept) > MOST:
            self._forget(next(iter(self._kept)))
        return made

    def _segment(self, snapshot: Snapshot, index: int) -> Data:
        start = index * SEGMENT_SIZE
        return encode_data(
            snapshot.name + component(number(index), SEGMENT),
            snapshot.content[start : start + SEGMENT_SIZE],
            self._signer,
            freshness=int(FRESH * 1000),
            final_block=component(number(snapshot.segments - 1), SEGMENT),
        )

    def wake(self, now: float) -> None:
        """Forget those that are old."""
        for name in self._timers.due(now):
            self._forget(name)

    def next_wake(self) -> float | None:
        """When the first of them is old."""
        return self._timers.next_wake()

    def __len__(self) -> int:
        return len(self._kept)

    def _forget(self, name: Name) -> None:
        gone = self._kept.pop(name, None)
        self._timers.cancel(name)
        for list_name, newest in list(self._newest.items()):
            if newest is gone:
                del self._newest[list_name]


def _holds(snapshot: Snapshot) -> float:
    return max(FRESH, len(snapshot.content) / BYTES_PER_SECOND)
