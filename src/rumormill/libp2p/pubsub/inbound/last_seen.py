"""Ids of messages that were seen lately, each for its time after the last copy of it came."""

from __future__ import annotations

from collections import OrderedDict

from rumormill.core.timers import NEVER
from rumormill.libp2p.pubsub.inbound.seen import SWEEP_INTERVAL


class LastSeenCache:
    """Remembers ids for ``ttl`` seconds after they were last seen, and no more than ``most``.

    What circles for longer than ``ttl`` is not delivered again, as long as it does not rest; each
    further copy costs a little more than with
    :class:`~rumormill.libp2p.pubsub.inbound.seen.SeenCache`.

    >>> seen = LastSeenCache(ttl=120.0, most=1000)
    >>> seen.add(b"id", now=0.0)
    0
    >>> seen.renew(b"id", now=100.0)
    >>> seen.expire(now=121.0)
    >>> b"id" in seen
    True
    """

    __slots__ = ("_most", "_ttl", "expires", "ids")

    def __init__(self, ttl: float, most: int) -> None:
        self._ttl = ttl
        self._most = most
        self.ids: OrderedDict[bytes, float] = OrderedDict()
        """Each with its end, the next first. To look up in the midst of much work."""
        self.expires = NEVER
        """When it is worth calling :meth:`expire`: not for every single id."""

    def __contains__(self, message_id: bytes) -> bool:
        return message_id in self.ids

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, message_id: bytes, now: float) -> int:
        """Remember an id; returns how many had to be forgotten before their time to make room."""
        if not self.ids:
            self.expires = now + self._ttl + SWEEP_INTERVAL
        self.ids[message_id] = now + self._ttl
        self.ids.move_to_end(message_id)
        if len(self.ids) <= self._most:
            return 0
        self.expire(now)
        forgotten = max(0, len(self.ids) - self._most)
        for _ in range(forgotten):
            self.ids.popitem(last=False)
        return forgotten

    def renew(self, message_id: bytes, now: float) -> None:
        """Another copy of a message that is remembered came: its time begins anew."""
        self.ids[message_id] = now + self._ttl
        self.ids.move_to_end(message_id)

    def expire(self, now: float) -> None:
        """Forget what was not seen for ``ttl``."""
        ids = self.ids
        while ids and next(iter(ids.values())) <= now:
            ids.popitem(last=False)
        self.expires = next(iter(ids.values())) + SWEEP_INTERVAL if ids else NEVER
