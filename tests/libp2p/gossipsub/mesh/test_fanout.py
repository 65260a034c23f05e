"""Fanout: publishing on topics that we do not listen to."""

from __future__ import annotations

from typing import Any

from rumormill.libp2p.gossipsub import GossipsubRouter
from rumormill.libp2p.wire import Graft, IHave, Rpc, Subscription
from tests.helpers.libp2p.workbench import FLOODSUB, Workbench, gossipsub, signed


def fanout_of(bench: Workbench, topic: str = "t") -> set[str]:
    assert isinstance(bench.router, GossipsubRouter)
    return set(bench.router.fanout(topic))


def publishing(count: int, **parameters: Any) -> Workbench:
    """A node that has published once to some of ``count`` peers, without listening itself."""
    bench = gossipsub(**parameters)
    bench.join_many(count, "t")
    bench.publish("t", b"first")
    bench.forget()
    return bench


def test_we_publish_to_d_listeners_of_a_topic_we_are_not_in() -> None:
    bench = gossipsub()
    bench.join_many(20, "t")
    receipt = bench.publish("t")
    assert len(receipt.peers) == 6
    assert fanout_of(bench) == set(receipt.peers)


def test_the_next_message_goes_to_the_same_peers() -> None:
    bench = publishing(20)
    assert set(bench.publish("t").peers) == set(bench.publish("t").peers) == fanout_of(bench)


def test_nobody_is_told_of_being_in_a_fanout() -> None:
    bench = publishing(20)
    bench.heartbeat()
    for rpcs in bench.sent.values():
        assert all(not rpc.control or not rpc.control.of(Graft) for rpc in rpcs)
    assert bench.pubsub.mesh("t") == ()


def test_without_listeners_there_is_no_fanout_and_the_next_message_tries_again() -> None:
    bench = gossipsub()
    assert not bench.publish("t")
    assert bench.pubsub.sizes()["fanout"] == 0
    bench.join("ann", "t")
    assert bench.publish("t").peers == ("ann",)


def test_a_floodsub_peer_is_never_in_a_fanout_but_gets_the_message() -> None:
    bench = gossipsub()
    bench.join("floods", "t", protocol=FLOODSUB)
    bench.join("ann", "t")
    assert set(bench.publish("t").peers) == {"floods", "ann"}
    assert fanout_of(bench) == {"ann"}


def test_a_fanout_is_forgotten_when_nothing_was_published_for_its_time() -> None:
    bench = publishing(20, fanout_ttl=60.0)
    bench.run_until(59.0)
    assert fanout_of(bench)
    bench.run_until(62.0)
    assert not fanout_of(bench)
    assert bench.pubsub.sizes()["fanout"] == 0


def test_every_message_keeps_the_fanout_alive() -> None:
    bench = publishing(20, fanout_ttl=10.0)
    before = fanout_of(bench)
    for second in range(1, 40, 5):
        bench.run_until(second)
        bench.publish("t")
    assert fanout_of(bench) == before


def test_the_heartbeat_fills_a_fanout_up_to_d() -> None:
    bench = publishing(3)
    assert len(fanout_of(bench)) == 3
    for index in range(10):
        bench.join(f"late{index}", "t")
    bench.heartbeat()
    assert len(fanout_of(bench)) == 6
    assert {"peer0", "peer1", "peer2"} <= fanout_of(bench)


def test_a_peer_that_leaves_or_unsubscribes_leaves_the_fanout() -> None:
    bench = publishing(6)
    bench.leave("peer0")
    bench.say("peer1", Rpc(subscriptions=(Subscription(False, "t"),)))
    assert fanout_of(bench) == {"peer2", "peer3", "peer4", "peer5"}
    assert set(bench.publish("t").peers) == fanout_of(bench)


def test_a_fanout_that_everyone_left_is_chosen_anew() -> None:
    bench = publishing(2)
    for peer in ("peer0", "peer1"):
        bench.leave(peer)
    bench.join("ann", "t")
    assert bench.publish("t").peers == ("ann",)


def test_listening_turns_the_fanout_into_the_mesh() -> None:
    bench = publishing(20)
    before = fanout_of(bench)
    bench.subscribe("t")
    assert set(bench.pubsub.mesh("t")) == before
    assert not fanout_of(bench)


def test_a_fanout_that_was_too_small_is_filled_up_on_joining() -> None:
    bench = publishing(2)
    for index in range(10):
        bench.join(f"late{index}", "t")
    bench.subscribe("t")
    assert len(bench.pubsub.mesh("t")) == 6
    assert {"peer0", "peer1"} <= set(bench.pubsub.mesh("t"))


def test_after_leaving_a_topic_we_publish_through_a_new_fanout() -> None:
    bench = gossipsub()
    bench.join_many(3, "t")
    bench.subscribe("t")
    bench.unsubscribe("t")
    assert len(bench.publish("t").peers) == 3
    assert len(fanout_of(bench)) == 3


def test_others_messages_do_not_travel_through_our_fanout() -> None:
    bench = publishing(6)
    bench.send_message("peer0", signed("author", "t", b"rain", 1))
    assert bench.sent == {}


def test_listeners_outside_the_fanout_hear_of_our_message_by_gossip() -> None:
    bench = publishing(20, D_lazy=4)
    inside = fanout_of(bench)
    bench.heartbeat()
    told = {
        peer for peer, rpcs in bench.sent.items() if rpcs[0].control and rpcs[0].control.of(IHave)
    }
    assert len(told) == 4
    assert not told & inside
