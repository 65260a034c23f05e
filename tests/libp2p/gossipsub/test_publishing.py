"""Whom our own messages go to: flood publishing, and who is not worth it."""

from __future__ import annotations

from rumormill.libp2p.gossipsub import GossipsubRouter
from tests.helpers.libp2p.fake_standing import judged
from tests.helpers.libp2p.workbench import FLOODSUB, gossipsub, signed

BELOW = -50.1
"""The threshold of publishing is -50."""


def test_by_default_our_messages_go_to_the_mesh() -> None:
    bench = gossipsub()
    bench.subscribe("t")
    bench.join_many(20, "t")
    assert set(bench.publish("t").peers) == set(bench.pubsub.mesh("t"))


def test_with_flood_publish_our_messages_go_to_all_listeners() -> None:
    bench = gossipsub(flood_publish=True)
    bench.subscribe("t")
    everyone = bench.join_many(20, "t")
    bench.join("elsewhere", "u")
    assert set(bench.router.would_reach(("t",))) == set(everyone)
    assert set(bench.publish("t").peers) == set(everyone)


def test_with_flood_publish_they_do_so_on_topics_that_we_are_not_in_too() -> None:
    bench = gossipsub(flood_publish=True)
    everyone = bench.join_many(20, "t")
    assert set(bench.publish("t").peers) == set(everyone)
    assert isinstance(bench.router, GossipsubRouter)
    assert bench.router.fanout("t") == (), "nobody needs to be remembered"


def test_flood_publish_is_for_our_own_messages_only() -> None:
    bench = gossipsub(flood_publish=True)
    bench.subscribe("t")
    bench.join_many(20, "t")
    mesh = set(bench.pubsub.mesh("t"))
    bench.forget()
    bench.send_message("peer19", signed("author", "t", b"rain", 1))
    assert set(bench.sent) == mesh - {"peer19"}


def test_a_flooded_message_goes_to_nobody_below_the_publish_threshold() -> None:
    bench, standing = judged(flood_publish=True)
    bench.join_many(4, "t")
    bench.join("floods", "t", protocol=FLOODSUB)
    standing.scores = {"peer0": BELOW, "peer1": -50.0, "floods": BELOW}
    assert set(bench.publish("t").peers) == {"peer1", "peer2", "peer3"}


def test_a_fanout_takes_nobody_below_the_publish_threshold() -> None:
    bench, standing = judged()
    bench.join_many(4, "t")
    standing.scores = {"peer0": BELOW, "peer1": -50.0}
    assert set(bench.router.would_reach(("t",))) == {"peer1", "peer2", "peer3"}
    assert set(bench.publish("t").peers) == {"peer1", "peer2", "peer3"}


def test_the_heartbeat_replaces_who_fell_below_it() -> None:
    bench, standing = judged(D=2, D_low=1)
    bench.join_many(3, "t")
    first, second = bench.publish("t").peers
    standing.scores[first] = BELOW
    bench.heartbeat()
    after = set(bench.publish("t").peers)
    assert first not in after
    assert second in after
    assert len(after) == 2


def test_with_an_empty_mesh_our_message_goes_to_nobody_below_it() -> None:
    bench, standing = judged(graft_on_subscribe=False)
    bench.subscribe("t")
    bench.join_many(3, "t")
    standing.scores["peer1"] = BELOW
    assert set(bench.publish("t").peers) == {"peer0", "peer2"}


def test_a_floodsub_peer_below_it_gets_no_messages() -> None:
    bench, standing = judged()
    bench.subscribe("t")
    bench.join("floods", "t", protocol=FLOODSUB)
    bench.join("ann", "t")
    assert set(bench.publish("t").peers) == {"floods", "ann"}
    standing.scores["floods"] = BELOW
    assert bench.publish("t").peers == ("ann",)
    bench.forget()
    bench.send_message("ann", signed("author", "t", b"rain", 1))
    assert bench.sent == {}


def test_who_is_in_the_mesh_gets_everything_until_the_heartbeat_takes_it_out() -> None:
    bench, standing = judged()
    bench.subscribe("t")
    bench.join("ann", "t")
    standing.scores["ann"] = BELOW
    assert bench.publish("t").peers == ("ann",)
    bench.heartbeat()
    assert not bench.publish("t").peers
