"""Ids that were seen lately: a multicast message comes by each of our nodes, and is one message."""

from __future__ import annotations

from collections import OrderedDict


class RecentIds:
    """Remembers so many ids; then the oldest is forgotten.

    >>> ids = RecentIds(most=2)
    >>> [ids.add(each, source) for source, each in enumerate((b"a", b"a", b"b", b"c", b"a"))]
    [None, 0, None, None, None]
    """

    __slots__ = ("_ids", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        # Not a dict: to find its first key, that one walks over all places that were emptied.
        self._ids: OrderedDict[bytes, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, message_id: bytes, source: int) -> int | None:
        """Remember an id, and the connection that brought it; if it is known, who did so first."""
        first = self._ids.get(message_id)
        if first is None:
            self._ids[message_id] = source
            if len(self._ids) > self._most:
                self._ids.popitem(last=False)
        return first

    def forget(self, message_id: bytes) -> None:
        """The message was not taken after all: another copy may be."""
        self._ids.pop(message_id, None)
