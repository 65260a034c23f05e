"""Ids that were seen lately: a multicast message comes by each of our nodes, and is one message."""

from __future__ import annotations

from collections import OrderedDict


class RecentIds:
    """Remembers so many ids; then the oldest is forgotten.

    >>> ids = RecentIds(most=2)
    >>> [ids.add(each) for each in (b"a", b"a", b"b", b"c", b"a")]
    [True, False, True, True, True]
    """

    __slots__ = ("_ids", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        # Not a dict: to find its first key, that one walks over all places that were emptied.
        self._ids: OrderedDict[bytes, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, message_id: bytes) -> bool:
        """Remember an id; False if it is known."""
        if message_id in self._ids:
            return False
        self._ids[message_id] = None
        if len(self._ids) > self._most:
            self._ids.popitem(last=False)
        return True

    def forget(self, message_id: bytes) -> None:
        """The message was not taken after all: another copy may be."""
        self._ids.pop(message_id, None)
