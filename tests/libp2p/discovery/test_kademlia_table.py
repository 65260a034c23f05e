"""The routing table and the store of providers: who gets in, who stays, and their bounds."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.libp2p.discovery.kademlia.keys import common_prefix, place_of
from rumormill.libp2p.discovery.kademlia.providers import (
    MOST_KEYS,
    MOST_OF_KEY,
    MOST_OF_NETWORK,
    MOST_OF_PEER,
    MOST_TOLD,
    ProviderStore,
)
from rumormill.libp2p.discovery.kademlia.table import MOST_IN_BUCKET, RoutingTable
from rumormill.libp2p.discovery.kademlia.table import MOST_OF_NETWORK as MOST_IN_TABLE
from rumormill.libp2p.stack.peer_id import from_text, to_text
from tests.helpers.libp2p.host_net import key

OWN = key("alice").peer
PRIVATE, PUBLIC = "/ip4/10.0.0.1/tcp/1", "/ip4/8.8.8.8/tcp/1"
PEERS = [to_text(b"\x00\x04" + number.to_bytes(4, "big")) for number in range(600)]
OWN_PLACE = place_of(from_text(OWN))


def bucket_of(peer: str) -> int:
    return common_prefix(place_of(from_text(peer)), OWN_PLACE)


def test_a_bucket_takes_k_peers_and_keeps_those_that_came_first() -> None:
    table = RoutingTable(OWN, 20)
    far = [peer for peer in PEERS if bucket_of(peer) == 0]
    reasons = [table.answered(peer, PRIVATE, (PRIVATE,), 1.0) for peer in far]
    assert reasons[:20] == [""] * 20 and set(reasons[20:]) == {"bucket_full"}
    assert all(peer in table for peer in far[:20])
    assert table.answered(far[3], PRIVATE, (PUBLIC,), 9.0) == "", "who is in may answer again"
    entry = table.get(far[3])
    assert entry is not None and (entry.addresses, entry.answered_at) == ((PUBLIC,), 9.0)
    table.remove(far[0])
    assert table.answered(far[20], PRIVATE, (), 1.0) == "", "there is room again"


def test_of_one_public_network_only_a_few_get_in() -> None:
    table = RoutingTable(OWN, 20)
    taken = [peer for peer in PEERS if not table.answered(peer, PUBLIC, (PUBLIC,), 1.0)]
    assert len(taken) == MOST_IN_TABLE
    buckets = [bucket_of(peer) for peer in taken]
    assert max(buckets.count(bucket) for bucket in buckets) <= MOST_IN_BUCKET
    assert table.takes(PEERS[-1], PUBLIC) == "too_many_of_network"
    assert table.takes(PEERS[-1], "/ip4/8.8.4.4/tcp/1") == "", "of another network"
    table.remove(taken[0])
    assert len(table) == MOST_IN_TABLE - 1


def test_we_are_not_in_our_own_table() -> None:
    assert RoutingTable(OWN, 20).answered(OWN, PRIVATE, (), 1.0) == "ourselves"


@given(st.sets(st.sampled_from(PEERS)), st.binary(max_size=40))
def test_the_closest_are_the_closest(peers: set[str], target: bytes) -> None:
    table = RoutingTable(OWN, 64)
    for peer in sorted(peers):
        table.answered(peer, PRIVATE, (), 1.0)
    place = place_of(target)
    known = sorted((each.peer for each in table), key=lambda peer: _place(peer) ^ place)
    assert [each.peer for each in table.closest(place, 20)] == known[:20]


def _place(peer: str) -> int:
    return place_of(from_text(peer))


# ---- providers


def store(ttl: float = 100.0) -> ProviderStore:
    return ProviderStore(random.Random(1), ttl)


def test_what_is_provided_is_told_until_its_time_is_over() -> None:
    providers = store()
    assert providers.add(b"key", "bob", PRIVATE, (PRIVATE,), 0.0) == ""
    providers.add(b"key", "carol", PRIVATE, (PRIVATE,), 50.0)
    assert [each.peer for each in providers.of(b"key", 99.0)] == ["carol", "bob"]
    assert [each.peer for each in providers.of(b"key", 100.0)] == ["carol"]
    providers.add(b"key", "carol", PRIVATE, (PUBLIC,), 120.0)
    [carol] = providers.of(b"key", 200.0)
    assert carol.addresses == (PUBLIC,) and len(providers) == 1
    assert providers.of(b"key", 220.0) == [] and providers.keys == len(providers) == 0


def test_a_peer_may_provide_so_many_keys_only() -> None:
    providers = store()
    reasons = [
        providers.add(b"%d" % number, "bob", PRIVATE, (PRIVATE,), 0.0)
        for number in range(MOST_OF_PEER + 3)
    ]
    assert reasons == [""] * MOST_OF_PEER + ["too_many_keys_of_peer"] * 3
    assert providers.add(b"0", "bob", PRIVATE, (PRIVATE,), 1.0) == "", "what it provides, again"
    assert len(providers) == MOST_OF_PEER


@pytest.mark.parametrize(("address", "most"), [(PRIVATE, MOST_OF_KEY), (PUBLIC, MOST_OF_NETWORK)])
def test_a_key_has_so_many_providers_only_and_the_oldest_goes(address: str, most: int) -> None:
    providers = store()
    providers.add(b"key", "somebody else", "/ip4/1.1.1.1/tcp/1", (PRIVATE,), 0.0)
    for number in range(2000):
        providers.add(b"key", f"peer {number}", address, (PRIVATE,), 1.0)
    assert len(providers) <= most + 1
    told = providers.of(b"key", 2.0)
    assert len(told) <= MOST_TOLD and told[0].peer == "peer 1999"
    if address == PUBLIC:
        assert told[-1].peer == "somebody else", "no network pushes out others"


def test_a_flood_of_keys_pushes_out_the_one_that_was_provided_longest_ago() -> None:
    providers = store()
    providers.add(b"old", "alice", PRIVATE, (PRIVATE,), 0.0)
    providers.add(b"kept", "alice", PRIVATE, (PRIVATE,), 0.0)
    for number in range(MOST_KEYS - 1):
        providers.add(b"%d" % number, f"peer {number % 50}", PRIVATE, (PRIVATE,), 1.0)
        if number == 9:
            providers.add(b"kept", "alice", PRIVATE, (PRIVATE,), 1.0)
    assert providers.keys == MOST_KEYS
    assert not providers.of(b"old", 2.0) and providers.of(b"kept", 2.0)


def test_what_has_run_out_is_forgotten_as_new_things_come() -> None:
    providers = store(ttl=10.0)
    for number in range(100):
        providers.add(b"%d" % number, "bob", PRIVATE, (PRIVATE,), 0.0)
    for number in range(100):
        providers.add(b"new %d" % number, "carol", PRIVATE, (PRIVATE,), 20.0)
    assert len(providers) == 100
