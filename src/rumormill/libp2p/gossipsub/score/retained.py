"""Scores of peers that left: who comes back finds what it left behind."""

from __future__ import annotations

from collections import OrderedDict

from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.score.peer_record import PeerRecord


class Retained:
    """Records of peers that are not there, for so many seconds and so many of them."""

    def __init__(self, seconds: float, most: int) -> None:
        self._seconds = seconds
        self._most = most
        self._records: OrderedDict[Peer, PeerRecord] = OrderedDict()
        """In the order in which the peers left."""

    def __len__(self) -> int:
        return len(self._records)

    def get(self, peer: Peer) -> PeerRecord | None:
        """What is kept of a peer."""
        return self._records.get(peer)

    def all(self) -> tuple[PeerRecord, ...]:
        """All that is kept."""
        return tuple(self._records.values())

    def keep(self, record: PeerRecord) -> PeerRecord | None:
        """A peer left; returns the record that had to make room for its own."""
        self._records[record.peer] = record
        if len(self._records) <= self._most:
            return None
        return self._records.popitem(last=False)[1]

    def take(self, peer: Peer, now: float) -> PeerRecord | None:
        """The peer is back: what was kept of it, if it is not too old."""
        record = self._records.pop(peer, None)
        if record is not None and now - record.left_at > self._seconds:
            return None
        return record

    def expire(self, now: float) -> list[PeerRecord]:
        """Forget, and return, what is too old."""
        expired: list[PeerRecord] = []
        for record in self._records.values():
            if now - record.left_at <= self._seconds:
                break
            expired.append(record)
        for record in expired:
            del self._records[record.peer]
        return expired
