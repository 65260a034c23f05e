"""The routing table of one topic: whom a node passes new values on to, and tells others about.

Bucket ``i`` holds nodes whose ids share exactly ``i`` leading bits with ours; the last one, the
home bucket, holds those that share as many or more. Home and its sibling (the one before) have room
for eight, all others for one (K = 1). When home is full it splits: its sibling of before is a far
bucket then, and shrinks to one. A network of nine or less fits into home and is a full mesh.

**Who has the place in a full bucket** is drawn by lot. The BitTorrent DHT keeps the oldest; with
one place a bucket, and everybody starting from the same few nodes, all tables would name the same
few, and their end would cost deliveries. Each address has a lot, made with a secret of the table,
and the lowest stays: a newcomer replaces with a chance of one in the contacts seen (the reservoir),
and who comes twice does not draw twice. An IP address has one lot for all its ports, so that many
nodes on one machine have no more chances than one. ``replacement = "oldest"`` keeps the oldest.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from operator import attrgetter
from random import Random
from typing import NamedTuple

from rumormill.bep50.guards.sources import network_of
from rumormill.bep50.overlay.members.buckets import Bucket, Entry
from rumormill.bep50.overlay.parameters import OverlayParameters
from rumormill.bep50.wire.addresses import NodeInfo
from rumormill.core.machine import Peer

__all__ = ["Change", "Entry", "RoutingTable"]

ID_BITS = 160

MOST_CANDIDATES = 512
"""Nodes that wait to be verified, at most: a state file of any length is no burden."""

_BY_LOT = attrgetter("rank")
_BY_AGE = attrgetter("since")


class Change(NamedTuple):
    """An entry came into the table, or left it."""

    entry: Entry
    joined: bool


class RoutingTable:
    """The entries of one topic's overlay, one for each address and one for each id.

    After :meth:`heard`, :meth:`failed` and :meth:`remove` the owner calls :meth:`take_changes` and
    :meth:`candidates_to_verify`.
    """

    __slots__ = (
        "_buckets", "_by_id", "_by_peer", "_candidates", "_changes", "_lottery", "_number",
        "_own_id", "_parameters", "entries", "version",
    )  # fmt: skip

    def __init__(
        self, own_id: bytes, parameters: OverlayParameters, random: Random, now: float = 0.0
    ) -> None:
        self._own_id = own_id
        self._number = int.from_bytes(own_id, "big")
        self._parameters = parameters
        self._lottery = random.randbytes(16)
        self._buckets = [Bucket(now)]
        self._by_peer: dict[Peer, Entry] = {}
        self._by_id: dict[bytes, Entry] = {}
        self._candidates: dict[NodeInfo, None] = {}
        self._changes: list[Change] = []
        self.entries: list[Entry] = []
        """All entries, for reading. A change makes a new list, so it can be walked meanwhile."""
        self.version = 0
        """Grows with every change of the entries: what is made of them can be kept until then."""

    def __len__(self) -> int:
        return len(self._by_peer)

    # ---- what was seen of others

    def heard(self, id: bytes, peer: Peer, now: float) -> Entry | None:
        """A node answered a query of ours about the topic; its entry, if it has one now.

        Only for answers: who asks us something, or is named by another, is nobody yet.
        """
        entry = self._by_peer.get(peer)
        if entry is not None and entry.id == id:
            entry.answered_at = now
            entry.failures = 0
            return entry
        if id == self._own_id:
            return None
        if entry is not None and not self.failed(peer, now):
            return None  # the address has another id now; should that last, it gets the place
        twin = self._by_id.get(id)
        if twin is not None:
            if twin.failures == 0:
                self._nominate(twin.info)  # does it still live? Until we know, it stays
                return None
            self.remove(twin.peer, now)
        if self._is_crowded(peer):
            return None
        return self._take(Entry(id, peer, self._lot(peer), now), now)

    def failed(self, peer: Peer, now: float) -> bool:
        """``peer`` did not answer; whether that cost it its entry."""
        entry = self._by_peer.get(peer)
        if entry is not None:
            entry.failures += 1
            if entry.failures < self._parameters.most_failures:
                return False
            self.remove(peer, now)
            return True
        for index, bucket in enumerate(self._buckets):
            if bucket.drop_spare(peer) and len(bucket.entries) < self._capacity(index):
                self._nominate_spare(bucket)
        return False

    def remove(self, peer: Peer, now: float) -> Entry | None:
        """Take ``peer`` out at once; returns its entry, if it had one. A spare may succeed it."""
        entry = self._by_peer.get(peer)
        if entry is None:
            return None
        bucket = self._buckets[self._index(entry.number)]
        bucket.entries.remove(entry)
        self._note(entry, joined=False)
        self._nominate_spare(bucket)
        self._merge(now)
        return entry

    # ---- questions

    def entry(self, peer: Peer) -> Entry | None:
        """The entry at this address."""
        return self._by_peer.get(peer)

    def by_id(self, id: bytes) -> Entry | None:
        """The entry with this id."""
        return self._by_id.get(id)

    def closest(self, target: bytes, count: int) -> list[Entry]:
        """The ``count`` entries closest to ``target``, the closest first."""
        goal = int.from_bytes(target, "big")
        return sorted(self.entries, key=lambda entry: entry.number ^ goal)[:count]

    def wants(self, id: bytes, peer: Peer) -> bool:
        """Whether a node that was only heard of is worth a query: it would get a place."""
        if id == self._own_id or peer in self._by_peer or id in self._by_id:
            return False
        if self._is_crowded(peer):
            return False
        index = self._index(int.from_bytes(id, "big"))
        bucket = self._buckets[index]
        if len(bucket.entries) < self._capacity(index) or self._may_split(index):
            return True
        if self._parameters.replacement != "reservoir":
            return False
        return self._lot(peer) < max(bucket.entries, key=_BY_LOT).rank

    def take_changes(self) -> list[Change]:
        """Who came and who left since the last call, in order."""
        if not self._changes:
            return []
        changes, self._changes = self._changes, []
        return changes

    def candidates_to_verify(self) -> list[NodeInfo]:
        """Nodes to ask something now, for whom there is a place if they answer; each said once."""
        if not self._candidates:
            return []
        candidates = list(self._candidates)
        self._candidates.clear()
        return candidates

    # ---- upkeep

    def buckets_to_refresh(self, now: float) -> list[int]:
        """The buckets that saw no new node for ``refresh_interval``, each said once in that time.

        A bucket is named by the bits that it shares with our id, as ``random_id_with_prefix`` of
        ``node_ids`` takes it to make the id to look for.
        """
        # As in `next_refresh`, to the last bit: else one says "now" and the other "not yet".
        interval = self._parameters.refresh_interval
        buckets = enumerate(self._buckets)
        stale = [index for index, each in buckets if each.changed_at + interval <= now]
        for index in stale:
            self._buckets[index].changed_at = now
        return stale

    def next_refresh(self) -> float:
        """When a bucket is to be refreshed next."""
        oldest = min(each.changed_at for each in self._buckets)
        return oldest + self._parameters.refresh_interval

    def dump(self) -> list[NodeInfo]:
        """The nodes to remember for the next run: the entries, then the spares."""
        spares = [spare for bucket in self._buckets for spare in bucket.spares]
        return [entry.info for entry in self.entries] + spares

    def load(self, nodes: Iterable[NodeInfo]) -> None:
        """Nodes of an earlier run become candidates: who is still there has to show it."""
        for node in nodes:
            if node.id != self._own_id and node.peer not in self._by_peer:
                self._nominate(node)

    def sizes(self) -> dict[str, int]:
        """How much is held, for tests of its bounds."""
        return {
            "buckets": len(self._buckets),
            "entries": len(self._by_peer),
            "spares": sum(len(bucket.spares) for bucket in self._buckets),
            "candidates": len(self._candidates),
        }

    # ---- buckets

    def _index(self, number: int) -> int:
        shared = ID_BITS - (self._number ^ number).bit_length()
        return min(shared, len(self._buckets) - 1)

    def _capacity(self, index: int) -> int:
        if index >= len(self._buckets) - 2:
            return self._parameters.home_capacity
        return self._parameters.bucket_size

    def _may_split(self, index: int) -> bool:
        # It ends: after 159 splits there is one id left for home, so it is never too full.
        return index == len(self._buckets) - 1

    def _take(self, entry: Entry, now: float) -> Entry | None:
        """Give a newcomer its place, or keep it as a spare."""
        index = self._index(entry.number)
        while len(self._buckets[index].entries) >= self._capacity(index) and self._may_split(index):
            self._split(now)
            index = self._index(entry.number)
        bucket = self._buckets[index]
        bucket.changed_at = now
        bucket.drop_spare(entry.peer, entry.id)
        if len(bucket.entries) >= self._capacity(index):
            loser = self._loser(bucket, entry)
            if loser is entry:
                bucket.add_spare(entry.info, self._parameters.replacement_cache)
                return None
            self._move_out(bucket, loser)
        bucket.entries.append(entry)
        self._note(entry, joined=True)
        return entry

    def _split(self, now: float) -> None:
        """Halve home; what was its sibling keeps only what a far bucket has room for.

        Home has no spares to share out: it splits before it turns anyone away.
        """
        old = self._buckets[-1]
        new = Bucket(now)
        self._buckets.append(new)
        home = len(self._buckets) - 1
        kept: list[Entry] = []
        moved: list[Entry] = []
        for entry in old.entries:
            (moved if self._index(entry.number) == home else kept).append(entry)
        old.entries, new.entries = kept, moved
        if home >= 2:
            uncle = self._buckets[home - 2]
            while len(uncle.entries) > self._parameters.bucket_size:
                self._move_out(uncle, self._loser(uncle))

    def _merge(self, now: float) -> None:
        """Undo splits that the network has become too small for.

        Else a node that has seen a large network, or many nodes come and go, would keep one place
        for each far half of a small one. Half full, so that the next newcomer does not split again.
        """
        buckets = self._buckets
        enough = self._parameters.home_capacity // 2
        while len(buckets) > 1 and len(buckets[-1].entries) + len(buckets[-2].entries) <= enough:
            last, home = buckets.pop(), buckets[-1]
            home.entries += last.entries
            for spare in last.spares:
                home.add_spare(spare, self._parameters.replacement_cache)
            if len(buckets) > 1:  # it is the sibling now and has room: look who is there
                sibling = buckets[-2]
                sibling.changed_at = min(
                    sibling.changed_at, now - self._parameters.refresh_interval
                )
                self._nominate_spare(sibling)

    def _loser(self, bucket: Bucket, newcomer: Entry | None = None) -> Entry:
        """Who has to go of a bucket with too many."""
        entries = bucket.entries if newcomer is None else [*bucket.entries, newcomer]
        # Looked at from the end, so that among equals it is the newest.
        if self._parameters.replacement == "reservoir":
            return max(reversed(entries), key=_BY_LOT)
        return max(reversed(entries), key=_BY_AGE)

    def _move_out(self, bucket: Bucket, entry: Entry) -> None:
        bucket.entries.remove(entry)
        bucket.add_spare(entry.info, self._parameters.replacement_cache)
        self._note(entry, joined=False)

    def _lot(self, peer: Peer) -> bytes:
        host = network_of(peer).encode()
        first = blake2b(host, digest_size=8, key=self._lottery).digest()
        return first + blake2b(peer.encode(), digest_size=8, key=self._lottery).digest()

    def _is_crowded(self, peer: Peer) -> bool:
        most = self._parameters.most_per_ip
        if most is None:
            return False
        host = network_of(peer)
        return sum(network_of(each) == host for each in self._by_peer) >= most

    # ---- books

    def _note(self, entry: Entry, *, joined: bool) -> None:
        self.version += 1
        self._changes.append(Change(entry, joined))
        if joined:
            self._by_peer[entry.peer] = entry
            self._by_id[entry.id] = entry
            self.entries = [*self.entries, entry]
        else:
            del self._by_peer[entry.peer]
            del self._by_id[entry.id]
            self.entries = [each for each in self.entries if each is not entry]

    def _nominate(self, node: NodeInfo) -> None:
        if len(self._candidates) < MOST_CANDIDATES:
            self._candidates[node] = None

    def _nominate_spare(self, bucket: Bucket) -> None:
        if bucket.spares:
            self._nominate(bucket.spares[-1])
