"""A lane: messages of one source that wait for one peer, and since when.

Most leave with the next flush. Only what a flush has left behind is given a time, so a message
that does not have to wait costs no look at the clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from operator import itemgetter
from typing import TypeAlias

Parcel: TypeAlias = tuple[bytes, bytes, str]
"""A message on its way: the whole frame, its id, its (first) topic. One for all peers. What an
extension sends has no id, and perhaps no topic."""

FRAME = itemgetter(0)


class Lane:
    """Messages in the order in which they came."""

    __slots__ = ("bytes", "fresh", "late", "taken")

    def __init__(self) -> None:
        self.fresh: deque[Parcel] = deque()
        """Those that no flush has passed by yet."""
        self.late: deque[tuple[float, Parcel]] | None = None
        """Those before them: each with the time of the first flush that it did not leave with."""
        self.bytes = 0
        """Of all that wait."""
        self.taken = 0
        """Bytes that left in this turn of the lane."""

    def __bool__(self) -> bool:
        return bool(self.fresh or self.late)

    def __len__(self) -> int:
        return len(self.fresh) + len(self.late or ())

    def frames(self) -> list[bytes]:
        """All frames, in order."""
        if not self.late:
            return list(map(FRAME, self.fresh))
        return [*[parcel[0] for _, parcel in self.late], *map(FRAME, self.fresh)]

    def clear(self) -> None:
        """All have left: it is as if new."""
        self.fresh.clear()
        self.late = None
        self.bytes = self.taken = 0

    def first(self) -> Parcel:
        """The one that leaves next; there has to be one."""
        return self.late[0][1] if self.late else self.fresh[0]

    def pop_first(self) -> Parcel:
        """Let the oldest leave."""
        parcel = self.late.popleft()[1] if self.late else self.fresh.popleft()
        self.bytes -= len(parcel[0])
        return parcel

    def pop_last(self) -> Parcel:
        """Lose the newest."""
        late = self.late
        parcel = self.fresh.pop() if self.fresh or late is None else late.pop()[1]
        self.bytes -= len(parcel[0])
        return parcel

    def put_off(self, now: float) -> None:
        """A flush has passed by: whatever is fresh is late from now on."""
        if self.fresh:
            if self.late is None:
                self.late = deque()
            self.late.extend([(now, parcel) for parcel in self.fresh])
            self.fresh.clear()

    def since(self) -> float | None:
        """The time of the oldest that is late."""
        return self.late[0][0] if self.late else None

    def expire(self, before: float) -> list[Parcel]:
        """Lose those that are late since ``before`` or longer; returns them."""
        lost: list[Parcel] = []
        while self.late and self.late[0][0] <= before:
            lost.append(self.pop_first())
        return lost

    def remove(self, message_ids: Container[bytes]) -> list[Parcel]:
        """Take out the messages with these ids; returns them."""
        late = self.late or ()
        removed = [parcel for _, parcel in late if parcel[1] in message_ids]
        removed += [parcel for parcel in self.fresh if parcel[1] in message_ids]
        if removed:
            self.late = deque([each for each in late if each[1][1] not in message_ids])
            self.fresh = deque([each for each in self.fresh if each[1] not in message_ids])
            self.bytes -= sum(len(parcel[0]) for parcel in removed)
        return removed
