"""The routing table: peers that have answered us, many near our own place and ever fewer far off.

For each number of bits that a place may have in common with ours there is a bucket of k. Who comes
first stays for as long as it answers: to be there later, an attacker would have to be there first.
Of one network (24 bits of IPv4, 48 of IPv6) only a few are let in, unless it is a private one.
"""

from __future__ import annotations

import heapq
import ipaddress
from collections import Counter
from collections.abc import Iterator

from rumormill.core.addresses import owner_of
from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Peer
from rumormill.libp2p.discovery.kademlia.keys import common_prefix, place_of
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.libp2p.stack.peer_id import from_text
from rumormill.libp2p.stack.reach import Reach, reach_of

MOST_OF_NETWORK, MOST_IN_BUCKET = 3, 2
"""Peers of one public network in the table and in one bucket, as in go."""


class Entry:
    """A peer of the table."""

    __slots__ = ("addresses", "answered_at", "bucket", "network", "peer", "peer_id", "place")

    def __init__(self, peer: Peer, own_place: int) -> None:
        self.peer = peer
        self.peer_id = from_text(peer)
        self.place = place_of(self.peer_id)
        self.bucket = common_prefix(self.place, own_place)
        self.addresses: tuple[str, ...] = ()
        self.network = ""
        """Which public network it is of; empty if it is of none."""
        self.answered_at = 0.0


class RoutingTable:
    """Peers by bucket; ``size`` is k."""

    def __init__(self, own: Peer, size: int) -> None:
        self.own = own
        self.place = place_of(from_text(own))
        self._size = size
        self._entries: dict[Peer, Entry] = {}
        self._buckets: dict[int, dict[Peer, Entry]] = {}
        self._networks: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, peer: Peer) -> bool:
        return peer in self._entries

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def get(self, peer: Peer) -> Entry | None:
        """What is known of a peer."""
        return self._entries.get(peer)

    def takes(self, peer: Peer, address: str) -> str:
        """Why a peer that is connected by an address would not be let in; "" if it would."""
        if peer in self._entries:
            return ""
        if peer == self.own:
            return "ourselves"
        entry = Entry(peer, self.place)
        bucket = self._buckets.get(entry.bucket, {})
        if len(bucket) >= self._size:
            return "bucket_full"
        network = network_of(address)
        if network:
            in_bucket = sum(each.network == network for each in bucket.values())
            if in_bucket >= MOST_IN_BUCKET or self._networks[network] >= MOST_OF_NETWORK:
                return "too_many_of_network"
        return ""

    def answered(self, peer: Peer, address: str, addresses: tuple[str, ...], now: float) -> str:
        """A peer has answered: it is in the table from now on; or why it is not."""
        reason = self.takes(peer, address)
        if reason:
            return reason
        entry = self._entries.get(peer)
        if entry is None:
            entry = self._entries[peer] = Entry(peer, self.place)
            self._buckets.setdefault(entry.bucket, {})[peer] = entry
            entry.network = network_of(address)
            if entry.network:
                self._networks[entry.network] += 1
        entry.addresses = addresses or entry.addresses
        entry.answered_at = now
        return ""

    def remove(self, peer: Peer) -> bool:
        """Forget a peer: it does not answer any more, or does not want to be asked."""
        entry = self._entries.pop(peer, None)
        if entry is None:
            return False
        bucket = self._buckets[entry.bucket]
        del bucket[peer]
        if not bucket:
            del self._buckets[entry.bucket]
        if entry.network:
            self._networks[entry.network] -= 1
            if not self._networks[entry.network]:
                del self._networks[entry.network]
        return True

    def closest(self, place: int, count: int) -> list[Entry]:
        """The peers closest to a place, the closest first."""
        return heapq.nsmallest(count, self._entries.values(), key=lambda each: each.place ^ place)


def network_of(address: str) -> str:
    """The public network that an address is of; "" if it is of none.

    >>> network_of("/ip4/8.8.8.8/tcp/1"), network_of("/ip4/10.0.0.1/tcp/1"), network_of("")
    ('8.8.8.0/24', '', '')
    """
    try:
        parsed = Multiaddr.parse(address)
    except LocalProtocolError:
        return ""
    if parsed.family not in ("ip4", "ip6") or reach_of(parsed) is not Reach.PUBLIC:
        return ""
    host = ipaddress.ip_network(owner_of(parsed.host))
    return str(host.supernet(new_prefix=48 if host.version == 6 else 24))
