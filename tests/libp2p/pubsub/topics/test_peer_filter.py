"""A filter of peers by topic: who may not take part is as good as not there, for this topic."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rumormill.core import trace
from rumormill.core.machine import Drop
from rumormill.libp2p.effects import FilterPeers
from rumormill.libp2p.wire import Rpc, Subscription
from tests.helpers.libp2p.workbench import (
    FLOODSUB,
    MESHSUB_1_0,
    RANDOMSUB,
    Workbench,
    floodsub,
    gossipsub,
    origin_id,
    randomsub,
    signed,
)

SUN = signed("author", "open", b"sun", 1)
RAIN = signed("author", "closed", b"rain", 2)


def but_eve(peer: str, topic: str) -> bool:
    return topic != "closed" or peer != "eve"


def listening(make: Callable[[], Workbench] = gossipsub, protocol: str = MESHSUB_1_0) -> Workbench:
    """A node on two topics, one of them without eve."""
    bench = make()
    bench.feed(FilterPeers(but_eve))
    bench.subscribe("open", "closed")
    for peer in ("ann", "eve"):
        bench.join(peer, "open", "closed", protocol=protocol)
    return bench


@pytest.mark.parametrize(
    ("make", "protocol"), [(gossipsub, MESHSUB_1_0), (floodsub, FLOODSUB), (randomsub, RANDOMSUB)]
)
def test_who_may_not_take_part_gets_nothing_of_the_topic_and_all_of_the_others(
    make: Callable[[], Workbench], protocol: str
) -> None:
    bench = listening(make, protocol)
    assert bench.publish("closed", b"1").peers == ("ann",)
    assert set(bench.publish("open", b"2").peers) == {"ann", "eve"}
    bench.send_message("ann", RAIN)
    bench.send_message("ann", SUN)
    told = [message.data for rpc in bench.took("eve") for message in rpc.messages]
    assert sorted(told) == [b"2", b"sun"]


def test_it_does_not_count_as_a_listener_and_that_is_traced() -> None:
    bench = listening()
    assert tuple(bench.pubsub.subscribers("closed")) == ("ann",) == bench.pubsub.mesh("closed")
    assert bench.events(trace.IGNORED, topic="closed", peer="eve", reason="peer_not_allowed")
    assert not bench.events(trace.PEER_SUBSCRIBED, topic="closed", peer="eve")


def test_what_it_sends_on_the_topic_is_ignored_and_it_is_not_to_blame() -> None:
    bench = listening()
    bench.send_message("eve", RAIN)
    bench.send_message("eve", SUN)
    assert [each.data for each in bench.delivered()] == [b"sun"]
    assert bench.events(trace.IGNORED, topic="closed", peer="eve", reason="peer_not_allowed")
    assert not bench.events(trace.REJECTED)
    bench.send_message("ann", RAIN)
    assert [each.data for each in bench.delivered()] == [b"sun", b"rain"], "it was not marked seen"


def test_its_graft_is_refused_and_it_is_told_to_stay_away() -> None:
    bench = listening()
    bench.forget()
    bench.graft("eve", "closed")
    assert bench.pubsub.mesh("closed") == ("ann",)
    assert ("prune", "closed") in bench.took_items("eve")
    assert bench.events(trace.IGNORED, peer="eve", reason="graft_peer_not_allowed")
    assert "eve" not in bench.pubsub.subscribers("closed")


def test_its_gossip_of_the_topic_is_not_heeded() -> None:
    bench = listening()
    bench.forget()
    bench.ihave("eve", "closed", b"unknown")
    assert bench.took_items("eve") == []
    assert bench.events(trace.IGNORED, peer="eve", reason="ihave_peer_not_allowed")
    bench.ihave("eve", "open", b"unknown too")
    assert bench.took_items("eve") == [("iwant", frozenset([b"unknown too"]))]


def test_a_message_of_the_topic_is_not_sent_to_it_though_it_asks_by_id() -> None:
    bench = listening()
    bench.send_message("ann", RAIN)
    bench.forget()
    bench.iwant("eve", origin_id(RAIN))
    assert bench.took_items("eve") == []
    assert bench.events(trace.IGNORED, peer="eve", reason="iwant_peer_not_allowed")
    bench.iwant("ann", origin_id(RAIN))
    assert bench.took_items("ann") == [("message", RAIN.raw)]


def test_it_is_never_told_of_messages_of_the_topic() -> None:
    bench = listening()
    bench.send_message("ann", RAIN)
    for _ in range(3):
        bench.heartbeat()
    assert not [item for item in bench.took_items("eve") if item[:2] == ("ihave", "closed")]


def test_a_copy_of_what_came_from_another_is_ignored_too() -> None:
    bench = listening()
    bench.send_message("ann", RAIN)
    bench.forget()
    bench.send_message("eve", RAIN)
    assert bench.events(trace.IGNORED, topic="closed", peer="eve", reason="peer_not_allowed")
    assert not bench.events(trace.DUPLICATE)


# ---- when the answer changes


def test_a_new_filter_counts_at_once_for_those_who_are_there() -> None:
    bench = gossipsub()
    bench.subscribe("open", "closed")
    bench.join("ann", "open", "closed")
    bench.join("eve", "open", "closed")
    assert "eve" in bench.pubsub.mesh("closed")
    bench.forget()
    bench.feed(FilterPeers(but_eve))
    assert bench.pubsub.mesh("closed") == ("ann",)
    assert bench.took_items("eve") == [("prune", "closed")]
    assert bench.events(trace.PRUNED, peer="eve", topic="closed", reason="peer_not_allowed")
    assert bench.events(trace.PEER_UNSUBSCRIBED, peer="eve", topic="closed")
    assert bench.publish("closed").peers == ("ann",)


def test_who_may_take_part_again_does_so_without_having_to_say_it_again() -> None:
    bench = listening()
    bench.forget()
    bench.feed(FilterPeers(None))
    assert set(bench.pubsub.subscribers("closed")) == {"ann", "eve"}
    assert bench.events(trace.PEER_SUBSCRIBED, peer="eve", topic="closed")
    assert bench.took_items("eve") == [("graft", "closed")]
    assert bench.pubsub.sizes()["barred_topics"] == 0


def test_who_left_the_topic_meanwhile_does_not_come_back() -> None:
    bench = listening()
    bench.say("eve", Rpc(subscriptions=(Subscription(False, "closed"),)))
    bench.feed(FilterPeers(None))
    assert tuple(bench.pubsub.subscribers("closed")) == ("ann",)


# ---- bounds and faults


def test_a_filter_that_fails_keeps_the_peer_out_and_does_no_harm() -> None:
    def broken(peer: str, topic: str) -> bool:
        raise KeyError(peer)

    bench = gossipsub()
    bench.feed(FilterPeers(broken))
    bench.subscribe("t")
    bench.join("ann", "t")
    bench.send_message("ann", signed("author", "t", b"rain", 1))
    assert bench.delivered() == []
    assert bench.events(trace.IGNORED, reason="peer_filter_failed", detail="KeyError")
    assert not bench.of(Drop)


def test_what_is_kept_of_those_who_may_not_is_bounded_and_ends_with_them() -> None:
    bench = floodsub(max_topics_per_peer=3)
    bench.feed(FilterPeers(lambda peer, topic: False))
    bench.join("eve", *(f"t{number}" for number in range(5)), protocol=FLOODSUB)
    assert bench.pubsub.sizes()["barred_topics"] == 3
    assert len(bench.events(trace.IGNORED, peer="eve", reason="too_many_topics")) == 2
    bench.join("eva", "t1", protocol=FLOODSUB)
    bench.leave("eve")
    assert bench.pubsub.sizes()["barred_topics"] == 1
    bench.leave("eva")
    assert bench.pubsub.sizes()["barred_topics"] == 0
