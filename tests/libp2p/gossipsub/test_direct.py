"""Direct peers: always connected, always served, in no mesh, above all scores."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.core import trace
from rumormill.core.errors import ConfigError
from rumormill.core.machine import Connect
from rumormill.libp2p.gossipsub import (
    AddDirectPeer,
    GossipsubParameters,
    GossipsubRouter,
    RemoveDirectPeer,
)
from rumormill.libp2p.wire import Control, Prune
from tests.helpers.libp2p.fake_standing import FakeStanding, judged
from tests.helpers.libp2p.workbench import FLOODSUB, Workbench, gossipsub, identity, signed

FRIEND = identity("friend").peer
ADDRESS = f"/ip4/192.0.2.7/tcp/4001/p2p/{FRIEND}"
RAIN = signed("author", "t", b"rain", 1)


def befriended(**parameters: Any) -> tuple[Workbench, FakeStanding]:
    """A node that listens to t, with its friend and two others."""
    bench, standing = judged(direct_peers=[ADDRESS], **parameters)
    bench.subscribe("t")
    bench.join(FRIEND, "t")
    bench.join("ann", "t")
    bench.join("bob", "t")
    bench.forget()
    return bench, standing


# ---- parameters


@pytest.mark.parametrize("address", ["/ip4/192.0.2.7/tcp/4001", "friend", "", f"/p2p/{FRIEND}"])
def test_an_address_without_host_or_peer_is_refused_with_its_key(address: str) -> None:
    with pytest.raises(ConfigError) as caught:
        GossipsubParameters(direct_peers=(address,))
    assert caught.value.key == "direct_peers"


# ---- keeping them connected


def dials(bench: Workbench) -> list[Connect]:
    return bench.of(Connect)


def test_a_direct_peer_is_dialed_though_there_is_neither_peer_nor_topic() -> None:
    bench = gossipsub(direct_peers=[ADDRESS])
    bench.now = 100.0
    bench.run_until(101.0)
    assert dials(bench) == [Connect(FRIEND, (ADDRESS,), trusted=True)]


def test_one_that_does_not_answer_is_dialed_again_every_so_many_heartbeats() -> None:
    bench = gossipsub(direct_peers=[ADDRESS], direct_connect_ticks=10)
    bench.run_until(35.0)
    assert len(dials(bench)) == 4


def test_one_that_is_there_is_not_dialed() -> None:
    bench, _ = befriended()
    bench.run_until(300.0)
    assert dials(bench) == []


def test_one_that_left_is_dialed_at_the_next_heartbeat() -> None:
    bench, _ = befriended(direct_connect_ticks=1000)
    bench.run_until(30.0)
    bench.leave(FRIEND)
    bench.heartbeat()
    assert dials(bench) == [Connect(FRIEND, (ADDRESS,), trusted=True)]


def test_several_addresses_of_one_are_dialed_together() -> None:
    other = f"/ip6/2001:db8::7/tcp/4001/p2p/{FRIEND}"
    bench = gossipsub(direct_peers=[ADDRESS, other])
    bench.run_until(1.0)
    assert dials(bench) == [Connect(FRIEND, (ADDRESS, other), trusted=True)]


# ---- being served


def test_they_get_every_message_of_their_topics_and_are_in_no_mesh() -> None:
    bench, _ = befriended()
    bench.run_until(10.0)
    assert set(bench.pubsub.mesh("t")) == {"ann", "bob"}
    bench.forget()
    bench.send_message("ann", RAIN)
    assert set(bench.sent) == {FRIEND, "bob"}
    assert sorted(bench.publish("t").peers) == sorted([FRIEND, "ann", "bob"])


def test_they_get_no_message_of_topics_that_they_do_not_listen_to() -> None:
    bench, _ = befriended()
    bench.join("cyd", "u")
    assert bench.publish("u").peers == ("cyd",)


def test_they_get_our_messages_beside_the_fanout() -> None:
    bench, _ = judged(direct_peers=[ADDRESS], D=2, D_low=1)
    bench.join_many(10, "t")
    bench.join(FRIEND, "t")
    receipt = bench.publish("t")
    assert FRIEND in receipt.peers
    assert len(receipt.peers) == 3
    assert isinstance(bench.router, GossipsubRouter)
    assert FRIEND not in bench.router.fanout("t")


def test_a_direct_peer_that_speaks_floodsub_gets_each_message_once() -> None:
    bench, _ = judged(direct_peers=[ADDRESS])
    bench.subscribe("t")
    bench.join(FRIEND, "t", protocol=FLOODSUB)
    assert bench.publish("t").peers == (FRIEND,)


def test_the_question_who_would_be_reached_knows_them() -> None:
    bench, _ = befriended()
    assert FRIEND in set(bench.router.would_reach(("t",)))


def test_they_are_told_nothing_by_gossip() -> None:
    bench, _ = judged(direct_peers=[ADDRESS], D=0, D_low=0, D_high=0, D_lazy=10)
    bench.subscribe("t")
    for peer in (FRIEND, "ann"):
        bench.join(peer, "t")
    bench.publish("t")
    bench.forget()
    bench.heartbeat()
    assert set(bench.sent) == {"ann"}


# ---- being trusted


def test_their_score_changes_nothing() -> None:
    bench, standing = befriended()
    standing.scores[FRIEND] = -1000.0
    bench.send_message(FRIEND, RAIN)
    assert [each.data for each in bench.delivered()] == [b"rain"]
    bench.ihave(FRIEND, "t", b"id")
    assert ("iwant", frozenset([b"id"])) in bench.took_items(FRIEND)
    assert FRIEND in bench.publish("t").peers
    bench.iwant(FRIEND, bench.publish("t").id)
    assert not bench.events(trace.IGNORED)


def test_their_score_does_not_keep_flooded_messages_from_them() -> None:
    bench, standing = befriended(flood_publish=True)
    standing.scores |= {FRIEND: -1000.0, "ann": -1000.0}
    assert set(bench.publish("t").peers) == {FRIEND, "bob"}


def test_a_graft_of_theirs_is_answered_by_prune_without_penalty() -> None:
    bench, standing = befriended()
    for _ in range(2):
        bench.graft(FRIEND, "t")
        said = [rpc.control or Control() for rpc in bench.took(FRIEND)]
        assert [each for control in said for each in control.of(Prune)] == [Prune("t", 60)]
    assert FRIEND not in bench.pubsub.mesh("t")
    assert standing.penalties == []
    assert len(bench.events(trace.IGNORED, peer=FRIEND, reason="graft_from_direct_peer")) == 2


# ---- at run time


def test_a_peer_can_become_direct_and_leaves_mesh_and_fanout() -> None:
    bench, standing = judged()
    bench.subscribe("t")
    bench.join("ann", "t", "u")
    bench.publish("u")
    bench.feed(AddDirectPeer("ann"))
    assert isinstance(bench.router, GossipsubRouter)
    assert bench.router.direct_peers == ("ann",)
    assert bench.pubsub.mesh("t") == bench.router.fanout("u") == ()
    assert ("prune", "t") in bench.took_items("ann")
    assert bench.events(trace.PRUNED, peer="ann", by="us", reason="direct_peer")
    assert bench.publish("t").peers == bench.publish("u").peers == ("ann",)
    standing.scores["ann"] = -1000.0
    bench.send_message("ann", RAIN)
    assert bench.delivered()[-1].data == b"rain"


def test_one_that_is_not_there_is_dialed_once_it_became_direct() -> None:
    bench = gossipsub()
    bench.feed(AddDirectPeer(FRIEND, (ADDRESS,)))
    bench.run_until(1.0)
    assert dials(bench) == [Connect(FRIEND, (ADDRESS,), trusted=True)]


def test_a_direct_peer_can_become_one_like_others() -> None:
    bench, standing = befriended()
    bench.feed(RemoveDirectPeer(FRIEND))
    bench.heartbeat()
    assert FRIEND in bench.pubsub.mesh("t")
    standing.scores[FRIEND] = -1000.0
    bench.send_message(FRIEND, RAIN)
    assert bench.delivered() == []
    bench.leave(FRIEND)
    bench.run_until(200.0)
    assert dials(bench) == []


def test_who_comes_and_goes_leaves_nothing_behind() -> None:
    bench = gossipsub()
    for number in range(100):
        bench.feed(AddDirectPeer(f"peer{number}", (ADDRESS,)))
        bench.feed(RemoveDirectPeer(f"peer{number}"))
    sizes = bench.pubsub.sizes()
    assert sizes["direct_peers"] == sizes["direct_dials"] == 0
