"""Who provides what, as others told us: what a server keeps, for a time and within bounds."""

from __future__ import annotations

import random
from collections import OrderedDict
from typing import NamedTuple

from rumormill.core.machine import Peer
from rumormill.libp2p.discovery.kademlia.table import network_of

MOST_KEYS = 4096
"""Keys of which providers are kept; past it the one goes that nobody has provided for the longest
time."""

MOST_OF_KEY = 256
"""Providers of one key; past it the oldest goes."""

MOST_OF_NETWORK = 8
"""Providers of one key in one public network; past it the oldest of them goes."""

MOST_OF_PEER = 256
"""Keys that one peer may provide at a time."""

MOST_TOLD = 32
"""Providers in one answer: half of them the newest, which are the likeliest to be there, the others
at random, so that nobody is told of alone by coming often."""


class Provider(NamedTuple):
    """A record: who, where, until when."""

    peer: Peer
    addresses: tuple[str, ...]
    network: str
    expires: float


class ProviderStore:
    """Records by key and peer, each until its time is over."""

    def __init__(self, random: random.Random, ttl: float) -> None:
        self._random = random
        self._ttl = ttl
        # Ordered, the one provided last at the end; so are the providers of each key.
        self._keys: OrderedDict[bytes, OrderedDict[Peer, Provider]] = OrderedDict()
        self._by_peer: dict[Peer, int] = {}
        self._count = 0

    def __len__(self) -> int:
        """How many records there are."""
        return self._count

    @property
    def keys(self) -> int:
        """How many keys somebody provides."""
        return len(self._keys)

    def add(
        self, key: bytes, peer: Peer, address: str, addresses: tuple[str, ...], now: float
    ) -> str:
        """A peer that is connected by an address provides a key; returns why that is not kept."""
        self._expire_some(now)
        providers = self._keys.get(key)
        new = providers is None or peer not in providers
        if new and self._by_peer.get(peer, 0) >= MOST_OF_PEER:
            return "too_many_keys_of_peer"
        if providers is None:
            if len(self._keys) >= MOST_KEYS:
                self._drop_key(next(iter(self._keys)))
            providers = self._keys[key] = OrderedDict()
        self._remove(providers, peer)
        network = network_of(address)
        self._make_room(providers, network)
        providers[peer] = Provider(peer, addresses, network, now + self._ttl)
        self._by_peer[peer] = self._by_peer.get(peer, 0) + 1
        self._count += 1
        self._keys.move_to_end(key)
        return ""

    def _make_room(self, providers: OrderedDict[Peer, Provider], network: str) -> None:
        if network:
            same = [each.peer for each in providers.values() if each.network == network]
            if len(same) >= MOST_OF_NETWORK:
                self._remove(providers, same[0])
        if len(providers) >= MOST_OF_KEY:
            self._remove(providers, next(iter(providers)))

    def of(self, key: bytes, now: float) -> list[Provider]:
        """Some that provide the key."""
        providers = self._keys.get(key)
        if providers is None:
            return []
        while providers and next(iter(providers.values())).expires <= now:
            self._remove(providers, next(iter(providers)))
        if not providers:
            del self._keys[key]
            return []
        newest = list(providers.values())
        newest.reverse()
        if len(newest) <= MOST_TOLD:
            return newest
        half = MOST_TOLD // 2
        return newest[:half] + self._random.sample(newest[half:], MOST_TOLD - half)

    def _expire_some(self, now: float) -> None:
        """Look at the key that nobody has provided for the longest time."""
        oldest = next(iter(self._keys), None)
        if oldest is not None:
            last = next(reversed(self._keys[oldest].values()))
            if last.expires <= now:
                self._drop_key(oldest)

    def _drop_key(self, key: bytes) -> None:
        providers = self._keys.pop(key)
        for peer in list(providers):
            self._remove(providers, peer)

    def _remove(self, providers: OrderedDict[Peer, Provider], peer: Peer) -> None:
        if providers.pop(peer, None) is None:
            return
        self._count -= 1
        self._by_peer[peer] -= 1
        if not self._by_peer[peer]:
            del self._by_peer[peer]
