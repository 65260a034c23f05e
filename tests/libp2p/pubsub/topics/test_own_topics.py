"""Our own topics: subscribed, relayed, both, or only published on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError
from rumormill.libp2p.effects import BeginRelay, EndRelay
from tests.helpers.libp2p.workbench import (
    Workbench,
    floodsub,
    gossipsub,
    origin_id,
    randomsub,
    signed,
)

EVERY_ROUTER = pytest.mark.parametrize("make", [gossipsub, floodsub, randomsub])


def passed_on(bench: Workbench, peer: str) -> list[bytes]:
    return [message.data for rpc in bench.took(peer) for message in rpc.messages]


def subscriptions(bench: Workbench, peer: str) -> list[tuple[str, bool]]:
    """What we said to the peer of our topics."""
    words = [each for rpc in bench.took(peer) for each in rpc.subscriptions]
    return [(each.topic, each.subscribe) for each in words]


# ---- relaying


@EVERY_ROUTER
def test_what_is_relayed_is_passed_on_and_delivered_to_nobody(
    make: Callable[[], Workbench],
) -> None:
    bench = make()
    bench.relay("t")
    bench.join_many(2, "t")
    bench.forget()
    message = signed("author", "t", b"rain", 1)
    bench.send_message("peer0", message)
    assert passed_on(bench, "peer1") == [b"rain"]
    assert passed_on(bench, "peer0") == []
    assert bench.delivered() == []
    [event] = bench.events(trace.RELAYED)
    assert (event.topic, event.message_id, event.peer) == ("t", origin_id(message), "peer0")
    assert event.fields["size"] == 4 and bench.events(trace.DELIVERED) == []


@EVERY_ROUTER
def test_peers_are_told_of_a_relay_as_of_a_subscription(make: Callable[[], Workbench]) -> None:
    bench = make()
    bench.join("ann")
    bench.relay("t")
    assert subscriptions(bench, "ann") == [("t", True)]
    bench.join("late")
    assert subscriptions(bench, "late") == [("t", True)]
    bench.end_relay("t")
    assert subscriptions(bench, "ann") == [("t", False)]
    assert bench.pubsub.sizes()["relays"] == bench.pubsub.sizes()["topics"] == 0


def test_a_relay_has_a_mesh_and_gives_it_up() -> None:
    bench = gossipsub()
    bench.join_many(8, "t")
    bench.relay("t")
    assert len(bench.pubsub.mesh("t")) == 6
    bench.end_relay("t")
    assert bench.pubsub.mesh("t") == ()
    assert len(bench.events(trace.PRUNED, reason="leave")) == 6


def test_a_relay_is_no_subscription_in_the_trace() -> None:
    """Whoever is subscribed is expected to get every message; a relay is not."""
    bench = gossipsub()
    bench.relay("t")
    bench.end_relay("t")
    kinds = [event.event for event in bench.of(trace.TraceEvent)]
    assert kinds == [trace.RELAY_BEGAN, trace.RELAY_ENDED]


def test_who_subscribes_to_what_is_relayed_gets_messages_and_nothing_else_changes() -> None:
    bench = gossipsub()
    bench.join_many(3, "t")
    bench.relay("t")
    bench.forget()
    bench.subscribe("t")
    assert bench.sent == {} and [each.event for each in bench.of(trace.TraceEvent)] == [
        trace.SUBSCRIBED
    ]
    bench.send_message("peer0", signed("author", "t", b"rain", 1))
    assert [each.data for each in bench.delivered()] == [b"rain"]
    assert bench.events(trace.RELAYED) == []


def test_a_relay_goes_on_when_the_subscription_ends_and_the_other_way_round() -> None:
    bench = gossipsub()
    bench.join("ann", "t")
    bench.relay("t")
    bench.subscribe("t")
    bench.unsubscribe("t")
    assert bench.pubsub.mesh("t") == ("ann",)
    bench.send_message("ann", signed("author", "t", b"rain", 1))
    assert bench.delivered() == []
    bench.subscribe("t")
    bench.end_relay("t")
    assert bench.pubsub.mesh("t") == ("ann",)
    bench.send_message("ann", signed("author", "t", b"sun", 2))
    assert [each.data for each in bench.delivered()] == [b"sun"]
    bench.unsubscribe("t")
    assert bench.pubsub.mesh("t") == ()


def test_our_own_message_on_a_relayed_topic_leaves_and_does_not_come_back_to_us() -> None:
    bench = gossipsub()
    bench.join("ann", "t")
    bench.relay("t")
    assert bench.publish("t").peers == ("ann",)
    assert bench.delivered() == [] and bench.events(trace.RELAYED) == []


def test_a_message_on_two_topics_is_delivered_on_the_one_that_we_listen_to() -> None:
    bench = floodsub()
    bench.subscribe("a")
    bench.relay("b")
    bench.join("ann", "b")
    bench.join("bob", "b")
    bench.send_message("ann", signed("author", ("a", "b"), b"rain", 1))
    assert [each.topic for each in bench.delivered()] == ["a"]
    assert [each.topic for each in bench.events(trace.RELAYED)] == ["b"]


def test_a_bad_message_is_rejected_by_a_relay_too() -> None:
    bench = gossipsub()
    bench.relay("t")
    bench.join_many(2, "t")
    bench.verdicts[b"rain"] = "reject"
    bench.forget()
    bench.send_message("peer0", signed("author", "t", b"rain", 1))
    assert bench.events(trace.REJECTED) and passed_on(bench, "peer1") == []


def test_who_shuts_down_ends_its_relays_without_a_word() -> None:
    bench = gossipsub()
    bench.join("ann", "t")
    bench.relay("t")
    bench.forget()
    bench.feed(EndRelay("t", quietly=True))
    assert bench.sent == {}


def test_a_topic_that_is_not_allowed_is_not_relayed() -> None:
    bench = gossipsub(allowed_topics=("weather",))
    with pytest.raises(LocalProtocolError, match="'news' is not among the allowed ones"):
        bench.relay("news")
    with pytest.raises(LocalProtocolError, match="a topic is a text"):
        bench.feed(BeginRelay(""))
    assert bench.pubsub.sizes()["relays"] == 0


ACTIONS = st.sampled_from(["subscribe", "unsubscribe", "relay", "end_relay"])


@given(st.lists(st.tuples(ACTIONS, st.sampled_from("ab")), max_size=30))
def test_we_take_part_in_what_is_subscribed_or_relayed_and_our_peers_know(
    script: list[tuple[str, str]],
) -> None:
    bench = gossipsub()
    bench.join("ann", "a", "b")
    subscribed: set[str] = set()
    relayed: set[str] = set()
    known: dict[str, bool] = {}
    for action, topic in script:
        getattr(bench, action)(topic)
        ours = subscribed if "subscribe" in action else relayed
        (ours.add if action in ("subscribe", "relay") else ours.discard)(topic)
        known.update(subscriptions(bench, "ann"))
        joined = subscribed | relayed
        assert set(bench.pubsub.topics) == joined
        assert {each for each, there in known.items() if there} == joined
        assert set(bench.pubsub.subscribed) == subscribed
        assert bench.pubsub.sizes()["relays"] == len(relayed)


# ---- topics that are only published on


def fanout_only() -> Workbench:
    bench = gossipsub(topic_rules={"t": {"fanout_only": True}})
    bench.join_many(8, "t")
    bench.forget()
    return bench


def test_a_fanout_only_topic_is_published_on_and_no_peer_hears_that_we_are_there() -> None:
    bench = fanout_only()
    assert len(bench.publish("t").peers) == 6
    bench.heartbeat()
    assert all(not rpc.subscriptions for rpcs in bench.sent.values() for rpc in rpcs)
    assert bench.events(trace.GRAFTED) == [] and bench.pubsub.mesh("t") == ()


def test_a_fanout_only_topic_is_not_subscribed_to_and_not_relayed() -> None:
    bench = fanout_only()
    for attempt, verb in ((bench.subscribe, "subscribed to"), (bench.relay, "relayed")):
        with pytest.raises(LocalProtocolError, match=f"fanout-only here: .*never {verb}"):
            attempt("t")
    assert bench.sent == {} and not bench.pubsub.topics
    bench.subscribe("other")
    assert bench.pubsub.topics == ("other",)


def test_a_graft_for_a_fanout_only_topic_finds_no_mesh() -> None:
    bench = fanout_only()
    bench.graft("peer0", "t")
    assert bench.events(trace.IGNORED, reason="graft_unknown_topic")
    bench.send_message("peer0", signed("author", "t", b"rain", 1))
    assert bench.events(trace.IGNORED, reason="not_subscribed")
