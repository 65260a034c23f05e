"""randomsub: every message to some peers at random."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import ConfigError
from rumormill.libp2p.pubsub.randomsub import RandomsubParameters
from rumormill.libp2p.wire import Control, Graft, IHave, Rpc
from tests.helpers.libp2p.workbench import (
    FLOODSUB,
    RANDOMSUB,
    Workbench,
    identity,
    items,
    randomsub,
    signed,
)


def got_message(bench: Workbench) -> set[str]:
    """To whom messages went since this was last asked."""
    sent, bench.sent = bench.sent, {}
    return {peer for peer, rpcs in sent.items() if any(rpc.messages for rpc in rpcs)}


def test_it_speaks_randomsub_and_floodsub() -> None:
    assert randomsub().pubsub.protocols == ("/randomsub/1.0.0", "/floodsub/1.0.0")


@given(size=st.integers(1, 10**9), fewest=st.integers(1, 100))
def test_a_message_goes_to_the_square_root_of_the_network_rounded_up(
    size: int, fewest: int
) -> None:
    peers = RandomsubParameters(network_size=size, fewest_peers=fewest).peers_per_message
    assert peers == max(fewest, math.isqrt(size) + (math.isqrt(size) ** 2 < size))


@pytest.mark.parametrize(("size", "copies"), [(1, 6), (36, 6), (37, 7), (50, 8), (10_000, 30)])
def test_of_thirty_listeners_as_many_get_it_as_the_size_says(size: int, copies: int) -> None:
    bench = randomsub(network_size=size)
    bench.join_many(30, "t", protocol=RANDOMSUB)
    assert len(bench.publish("t").peers) == copies


def test_everyone_gets_it_if_they_are_few() -> None:
    bench = randomsub()
    peers = bench.join_many(6, "t", protocol=RANDOMSUB)
    bench.join("elsewhere", "other", protocol=RANDOMSUB)
    assert set(bench.publish("t").peers) == set(peers) == set(bench.pubsub.mesh("t"))


def test_each_message_goes_to_others_so_that_everyone_has_a_share() -> None:
    bench = randomsub(network_size=36)
    peers = bench.join_many(30, "t", protocol=RANDOMSUB)
    shares = Counter(peer for _ in range(200) for peer in bench.publish("t").peers)
    assert set(shares) == set(peers)
    assert all(15 < share < 75 for share in shares.values()), "40 of 200 are to be expected"
    assert bench.pubsub.mesh("t") == ()


def test_equal_dice_throw_equal_numbers() -> None:
    def chosen(seed: int) -> list[tuple[str, ...]]:
        bench = randomsub(seed=seed)
        bench.join_many(30, "t", protocol=RANDOMSUB)
        return [bench.publish("t").peers for _ in range(5)]

    assert chosen(1) == chosen(1) != chosen(2)


def test_floodsub_peers_get_everything_besides() -> None:
    bench = randomsub(network_size=36)
    bench.join_many(30, "t", protocol=RANDOMSUB)
    for index in range(5):
        bench.join(f"floods{index}", "t", protocol=FLOODSUB)
    for _ in range(10):
        reached = bench.publish("t").peers
        assert {f"floods{index}" for index in range(5)} <= set(reached)
        assert len(reached) == 11
    assert len(bench.pubsub.mesh("t")) == 5


def test_a_message_of_another_is_passed_on_by_a_throw_that_leaves_out_who_has_it() -> None:
    """As many as of our own: no throw is lost on its sender or author."""
    bench = randomsub(fewest_peers=3, network_size=9)
    bench.subscribe("t")
    author = identity("author").peer
    bench.join_many(4, "t", protocol=RANDOMSUB)
    bench.join(author, "t", protocol=RANDOMSUB)
    for number in range(20):
        got_message(bench)
        bench.send_message("peer0", signed("author", "t", b"rain", number))
        assert got_message(bench) == {"peer1", "peer2", "peer3"}


def test_a_peer_that_left_is_nobodys_guest() -> None:
    bench = randomsub()
    bench.join("floods", "t", protocol=FLOODSUB)
    assert bench.pubsub.sizes()["floodsub_peers"] == 1
    bench.leave("floods")
    assert bench.pubsub.sizes()["floodsub_peers"] == 0
    assert not bench.publish("t")


def test_what_would_be_reached_is_asked_without_a_throw_and_is_as_many() -> None:
    bench = randomsub(network_size=36)
    bench.join_many(30, "t", protocol=RANDOMSUB)
    bench.join("floods", "t", protocol=FLOODSUB)
    before = bench.pubsub.random.getstate()
    assert len(set(bench.router.would_reach(("t",)))) == 7
    assert bench.pubsub.has_targets(("t",)) and not bench.pubsub.has_targets(("other",))
    assert bench.pubsub.random.getstate() == before


def test_a_message_on_several_topics_goes_to_each_peer_once() -> None:
    bench = randomsub(multi_topic=True)
    for peer in ("ann", "bob", "cyd"):
        bench.join(peer, "a", "b", protocol=RANDOMSUB)
    assert sorted(bench.publish(("a", "b")).peers) == ["ann", "bob", "cyd"]


def test_it_sends_no_control_takes_none_and_needs_no_heartbeat() -> None:
    bench = randomsub()
    bench.subscribe("t")
    bench.join("ann", "t", protocol=RANDOMSUB)
    bench.publish("t")
    bench.say("ann", Rpc(control=Control((IHave("t", (b"id",)), Graft("t")))))
    said = [item for rpcs in bench.sent.values() for rpc in rpcs for item in items(rpc)]
    assert {each[0] for each in said} == {"subscribe", "message"}
    assert bench.router.next_wake() is None


def test_a_size_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="network_size"):
        RandomsubParameters(network_size=0)
