"""The gate: what is read of a graylisted peer."""

from __future__ import annotations

from rumormill.core import trace
from rumormill.core.machine import Drop
from rumormill.core.protobuf import bytes_field
from rumormill.libp2p.wire import Control, Graft, Rpc, Subscription, length_prefixed
from tests.helpers.libp2p.fake_standing import FakeStanding, judged
from tests.helpers.libp2p.workbench import Workbench, signed

RAIN = signed("author", "t", b"rain", 1)
BELOW = -80.1
"""The threshold of the graylist is -80."""


def graylisting() -> tuple[Workbench, FakeStanding]:
    """A node that listens to t, with ann, whom nobody wants to hear."""
    bench, standing = judged()
    bench.subscribe("t")
    bench.join("ann", "t")
    bench.forget()
    standing.scores["ann"] = BELOW
    return bench, standing


def test_neither_messages_nor_control_of_a_graylisted_peer_are_read() -> None:
    bench, _ = graylisting()
    bench.send_message("ann", RAIN)
    bench.prune("ann", "t")
    bench.ihave("ann", "t", b"id")
    assert bench.delivered() == []
    assert bench.pubsub.mesh("t") == ("ann",), "not even her PRUNE"
    assert bench.took("ann") == []
    assert len(bench.events(trace.IGNORED, peer="ann", reason="gate_closed")) == 3


def test_at_the_threshold_everything_is_read() -> None:
    bench, standing = graylisting()
    standing.scores["ann"] = -80.0
    bench.send_message("ann", RAIN)
    assert [each.data for each in bench.delivered()] == [b"rain"]


def test_who_comes_back_above_it_is_read_again() -> None:
    bench, standing = graylisting()
    bench.send_message("ann", RAIN)
    standing.scores["ann"] = 0.0
    bench.send_message("ann", RAIN)
    assert [each.data for each in bench.delivered()] == [b"rain"]


def test_what_a_graylisted_peer_listens_to_is_read_because_it_says_so_only_once() -> None:
    bench, _ = graylisting()
    bench.say("ann", Rpc(subscriptions=(Subscription(True, "u"), Subscription(False, "t"))))
    assert "ann" in bench.pubsub.subscribers("u")
    assert "ann" not in bench.pubsub.subscribers("t")
    assert bench.pubsub.mesh("t") == ()


def test_beside_subscriptions_nothing_of_the_same_rpc_is_read() -> None:
    bench, _ = graylisting()
    bench.say(
        "ann",
        Rpc(
            subscriptions=(Subscription(True, "u"),),
            messages=(RAIN,),
            control=Control((Graft("u"),)),
        ),
    )
    assert "ann" in bench.pubsub.subscribers("u")
    assert bench.delivered() == []
    assert not bench.events(trace.IGNORED, reason="graft_unknown_topic")


def test_the_limits_of_subscriptions_hold_whatever_the_score() -> None:
    bench, _ = graylisting()
    words = tuple(Subscription(True, f"topic{number}") for number in range(5001))
    bench.say("ann", Rpc(subscriptions=words))
    assert bench.of(Drop) == [Drop("ann", "too_many_subscriptions")]


def test_a_graylisted_peer_may_name_no_more_topics_than_others() -> None:
    bench, _ = graylisting()
    for start in range(0, 12_000, 1000):
        words = tuple(Subscription(True, f"topic{start + number}") for number in range(1000))
        bench.say("ann", Rpc(subscriptions=words))
        assert bench.pubsub.sizes()["peer_topics"] <= 5000
    assert bench.of(Drop) == [Drop("ann", "too_many_topics")]


def test_what_is_not_read_of_a_graylisted_peer_is_paid_for_by_the_field() -> None:
    bench, _ = graylisting()
    for _ in range(200):
        bench.say_bytes("ann", length_prefixed(bytes_field(99, b"") * 1000))
    assert bench.events(trace.HELD_BACK, peer="ann")


def test_messages_of_a_graylisted_peer_cost_it_no_more_than_others() -> None:
    bench, _ = graylisting()
    for number in range(200):
        bench.send_message("ann", signed("author", "t", bytes(1000), number))
    assert not bench.events(trace.HELD_BACK)


def test_malformed_bytes_of_a_graylisted_peer_cost_it_the_connection() -> None:
    bench, _ = graylisting()
    bench.say_bytes("ann", b"\x03\xff\xff\xff")
    assert bench.of(Drop) == [Drop("ann", "bad_protobuf")]


def test_fields_that_nobody_knows_are_not_looked_at() -> None:
    bench, _ = graylisting()
    bench.say_bytes("ann", b"\x06" + bytes_field(99, b"abc"))
    assert not bench.of(Drop)
