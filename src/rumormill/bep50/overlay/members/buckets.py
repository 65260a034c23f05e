"""What a routing table is made of: its entries, and the buckets that they lie in."""

from __future__ import annotations

from rumormill.bep50.wire.addresses import NodeInfo
from rumormill.core.machine import Peer


class Entry:
    """A node in the table: it answered a query of ours about the topic."""

    __slots__ = (
        "answered_at", "called_at", "failures", "id", "number", "peer", "put_seq", "puts", "rank",
        "seq", "since", "token", "token_at",
    )  # fmt: skip

    def __init__(self, id: bytes, peer: Peer, rank: bytes, now: float) -> None:
        self.id = id
        self.peer = peer
        self.number = int.from_bytes(id, "big")
        """The id as a number; the XOR of two is their distance."""
        self.rank = rank
        """Its lot in the draw for a place; the lowest stay."""
        self.token: bytes | None = None
        """The write token that it gave us last, if any."""
        self.token_at = 0.0
        self.seq = -1
        """The newest sequence number that it is known to hold; -1: none."""
        self.puts = 0
        """Puts to it that wait for an answer."""
        self.put_seq = -1
        """The newest sequence number that was put to it or is about to be."""
        self.since = now
        self.answered_at = now
        self.called_at = now
        """When it asked us something last."""
        self.failures = 0
        """Queries in a row that it did not answer."""

    @property
    def info(self) -> NodeInfo:
        """Its id and address, as they are told to others."""
        return NodeInfo(self.id, self.peer)

    def __repr__(self) -> str:
        return f"Entry({self.id.hex()[:8]} at {self.peer})"


class Bucket:
    """The entries that share a number of leading bits with our id, and spare ones for them."""

    __slots__ = ("changed_at", "entries", "spares")

    def __init__(self, now: float) -> None:
        self.entries: list[Entry] = []
        self.spares: list[NodeInfo] = []
        """Nodes that answered when there was no place, the latest last."""
        self.changed_at = now
        """When a node that was not in it answered last."""

    def add_spare(self, spare: NodeInfo, most: int) -> None:
        """Keep a node as a spare, in place of the oldest if there are too many."""
        self.drop_spare(spare.peer, spare.id)
        self.spares.append(spare)
        if len(self.spares) > most:
            del self.spares[0]

    def drop_spare(self, peer: Peer, id: bytes | None = None) -> bool:
        """Forget the spare with this address or id; whether there was one."""
        kept = [each for each in self.spares if each.peer != peer and each.id != id]
        dropped = len(kept) < len(self.spares)
        self.spares = kept
        return dropped
