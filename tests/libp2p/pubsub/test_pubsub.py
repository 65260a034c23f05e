"""The pubsub machine: peers that come and go, and who listens to what."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, get_args

import pytest

from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import (
    Checked,
    CheckedMany,
    Drop,
    Peer,
    PeerJoined,
    PeerLeft,
    Publish,
    PublishMany,
    Received,
    RoomAgain,
    Send,
    Shutdown,
    Subscribe,
    Unsubscribe,
    Writable,
)
from rumormill.libp2p.effects import (
    BeginRelay,
    Blacklist,
    EndRelay,
    FilterPeers,
    HeldBack,
    PublishOtherwise,
    PubsubInput,
    RouterInput,
    StreamLost,
    StreamRenewed,
    StreamRestarted,
)
from rumormill.libp2p.gossipsub import AddDirectPeer
from rumormill.libp2p.gossipsub.features import MESHSUB_1_2
from rumormill.libp2p.pubsub.router import Router
from rumormill.libp2p.wire import ControlKinds, Graft, Rpc, Subscription, WireMessage
from rumormill.libp2p.wire.dont_want import IDONTWANT, IDontWant
from rumormill.libp2p.wire.frames import length_prefixed
from rumormill.libp2p.wire.gossip import GOSSIP_KINDS
from tests.helpers.libp2p.rpc_encoding import encode_rpc
from tests.helpers.libp2p.workbench import (
    FLOODSUB,
    MESHSUB_1_0,
    Workbench,
    floodsub,
    gossipsub,
    origin_id,
    signed,
)


def empty_sizes(bench: Workbench) -> dict[str, int]:
    """What is still held, apart from what only time takes away."""
    return {key: size for key, size in bench.pubsub.sizes().items() if size and key != "seen"}


# ---- the machine


def test_an_input_that_pubsub_does_not_know_is_our_callers_fault() -> None:
    with pytest.raises(LocalProtocolError, match="pubsub knows no input object"):
        floodsub().feed(object())


def test_waking_early_is_harmless() -> None:
    bench = gossipsub()
    bench.subscribe("t")
    bench.join_many(3, "t")
    bench.forget()
    for _ in range(10):
        assert bench.pubsub.wake(bench.now) == []


def test_nothing_is_sent_before_the_machine_is_woken() -> None:
    bench = floodsub()
    bench.subscribe("t")
    effects = bench.pubsub.handle(PeerJoined("ann", FLOODSUB), now=5.0)
    assert not [each for each in effects if isinstance(each, Send)]
    assert bench.pubsub.next_wake() == 5.0
    assert [each.peer for each in bench.pubsub.wake(5.0) if isinstance(each, Send)] == ["ann"]


def test_a_floodsub_node_with_nothing_to_do_wants_no_wake() -> None:
    assert floodsub().pubsub.next_wake() is None


def test_equal_seeds_and_inputs_give_equal_effects() -> None:
    def run(seed: int) -> list[object]:
        bench = gossipsub(seed=seed, D=2, D_low=1, D_high=3)
        bench.join_many(8, "t")
        bench.subscribe("t")
        bench.publish("t", b"data")
        bench.run_until(5.0)
        return bench.effects

    assert run(1) == run(1)
    assert run(1) != run(2)


# ---- peers


def test_a_peer_is_added_when_it_connects() -> None:
    bench = gossipsub()
    bench.join("ann")
    assert list(bench.pubsub.peers) == ["ann"]
    (event,) = bench.events(trace.PEER_JOINED, peer="ann")
    assert event.fields == {"protocol": MESHSUB_1_0, "outbound": False}


def test_the_hello_is_a_single_rpc_with_all_our_subscriptions() -> None:
    bench = floodsub()
    bench.subscribe("a", "b", "c")
    bench.join("ann")
    (hello,) = bench.took("ann")
    assert [(each.subscribe, each.topic) for each in hello.subscriptions] == [
        (True, "a"), (True, "b"), (True, "c"),
    ]  # fmt: skip


def test_without_subscriptions_there_is_no_hello() -> None:
    bench = gossipsub()
    bench.join("ann")
    assert bench.took("ann") == []


def test_peers_that_were_there_before_hear_of_a_later_subscription() -> None:
    bench = floodsub()
    bench.join_many(2)
    bench.subscribe("t")
    for peer in ("peer0", "peer1"):
        assert bench.took_items(peer) == [("subscribe", "t")]


def test_a_peer_that_joined_already_cannot_join_again() -> None:
    bench = floodsub()
    bench.join("ann")
    with pytest.raises(LocalProtocolError, match="ann has joined already"):
        bench.join("ann")


@pytest.mark.parametrize("bench", [floodsub(), gossipsub()], ids=["floodsub", "gossipsub"])
def test_a_peer_that_leaves_leaves_nothing_behind(bench: Workbench) -> None:
    bench.subscribe("t")
    before = empty_sizes(bench)
    bench.join("ann", "t", "u", "v")
    bench.publish("t")
    bench.leave("ann")
    bench.run_until(bench.now + 10.0)
    assert empty_sizes(bench) == before
    assert not bench.pubsub.subscribers("t")
    assert bench.pubsub.mesh("t") == ()


def test_a_peer_that_leaves_is_traced_with_the_reason() -> None:
    bench = floodsub()
    bench.join("ann")
    bench.feed(PeerLeft("ann", "timeout"))
    (event,) = bench.events(trace.PEER_LEFT, peer="ann")
    assert event.fields["reason"] == "timeout"
    bench.feed(PeerLeft("ann"))
    assert len(bench.events(trace.PEER_LEFT)) == 1, "it can leave only once"


def test_after_a_peer_left_others_still_get_messages() -> None:
    bench = floodsub()
    bench.join_many(2, "t")
    bench.leave("peer0")
    assert bench.publish("t").peers == ("peer1",)


def test_a_peer_that_comes_back_gets_a_hello_and_starts_from_nothing() -> None:
    bench = floodsub()
    bench.subscribe("t")
    bench.join("ann", "t")
    bench.leave("ann")
    bench.forget()
    bench.join("ann")
    assert bench.took_items("ann") == [("subscribe", "t")]
    assert not bench.pubsub.subscribers("t"), "it has not said yet what it listens to"
    bench.say("ann", Rpc(subscriptions=(Subscription(True, "t"),)))
    assert bench.publish("t").peers == ("ann",)


def test_bytes_of_a_peer_that_is_gone_are_ignored() -> None:
    bench = floodsub()
    bench.subscribe("t")
    bench.join("ann", "t")
    bench.leave("ann")
    assert bench.send_message("ann", signed("ann", "t", b"late", 1)) == []
    assert bench.feed(StreamRestarted("ann")) == []


# ---- the stream


def hello(*topics: str) -> bytes:
    subscriptions = tuple(Subscription(True, each) for each in topics)
    return length_prefixed(encode_rpc(Rpc(subscriptions=subscriptions)))


@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_a_stream_may_be_cut_anywhere(size: int) -> None:
    bench = floodsub()
    bench.join("ann")
    stream = hello("a") + hello("b", "c") + hello() + hello("d")
    for start in range(0, len(stream), size):
        bench.say_bytes("ann", stream[start : start + size])
    assert all(bench.pubsub.subscribers(topic) for topic in "abcd")


def test_a_stream_that_begins_anew_voids_what_was_half_read() -> None:
    bench = floodsub()
    bench.join("ann")
    bench.say_bytes("ann", hello("a")[:4])
    bench.feed(StreamRestarted("ann"))
    bench.say_bytes("ann", hello("b"))
    assert list(bench.pubsub.subscribers("b")) == ["ann"]
    assert not bench.events(trace.PROTOCOL_ERROR)


def test_on_a_new_stream_of_ours_we_say_again_what_we_listen_to() -> None:
    bench = gossipsub()
    bench.subscribe("t", "u")
    bench.join("ann", "t", "u")
    bench.forget()
    bench.feed(StreamRenewed("ann"))
    [rpc] = bench.took("ann")
    assert {(each.topic, each.subscribe) for each in rpc.subscriptions} == {
        ("t", True),
        ("u", True),
    }
    assert bench.events(trace.PEER_JOINED) == bench.events(trace.PEER_LEFT) == []


def test_on_a_new_stream_of_ours_the_peers_of_our_meshes_are_grafted_again() -> None:
    bench = gossipsub()
    bench.subscribe("t", "u")
    bench.join("ann", "t")
    assert bench.pubsub.mesh("t") == ("ann",)
    bench.forget()
    bench.feed(StreamRenewed("ann"))
    [rpc] = bench.took("ann")
    assert rpc.control is not None
    assert [each.topic for each in rpc.control.of(Graft)] == ["t"]


def test_on_a_new_stream_of_the_peers_we_say_all_of_it_again_too() -> None:
    """go forgets our topics when its stream towards us dies, and would send us nothing any more
    while we still have it in our mesh."""
    bench = gossipsub()
    bench.subscribe("t", "u")
    bench.join("ann", "t")
    assert bench.pubsub.mesh("t") == ("ann",)
    bench.forget()
    bench.feed(StreamRestarted("ann"))
    [rpc] = bench.took("ann")
    assert {each.topic for each in rpc.subscriptions if each.subscribe} == {"t", "u"}
    assert rpc.control is not None
    assert [each.topic for each in rpc.control.of(Graft)] == ["t"]
    bench.feed(StreamRestarted("nobody"))


def test_every_input_is_taken_and_what_is_none_is_refused() -> None:
    inputs: list[PubsubInput] = [
        PeerJoined("ann", MESHSUB_1_0), Received("ann", b""), Writable("ann", True),
        StreamRestarted("ann"), StreamLost("ann"), StreamRenewed("ann"), Subscribe("t"),
        Publish(("t",), b"rain"), Checked(7, "accept"), CheckedMany(()), Unsubscribe("t"),
        HeldBack("ann", "frames", 1.0), BeginRelay("t"), PublishMany(("t",), (b"sun",)),
        EndRelay("t"), PeerLeft("ann"), Blacklist("ann"), FilterPeers(None),
        PublishOtherwise(("t",), b"fog"),
        AddDirectPeer("bob"),
    ]  # fmt: skip
    kinds = set(get_args(PubsubInput)) - {RouterInput}
    assert {type(each) for each in inputs} == kinds | {AddDirectPeer}
    bench = gossipsub()
    for each in inputs:
        bench.feed(each)
    with pytest.raises(LocalProtocolError, match="no input RouterInput"):
        bench.feed(RouterInput())
    with pytest.raises(LocalProtocolError, match="no input Shutdown"):
        bench.feed(Shutdown())


def test_what_waits_when_our_stream_breaks_is_lost_and_counted() -> None:
    bench = gossipsub(queue_messages=1)
    bench.subscribe("t")
    bench.join("ann", "t")
    bench.writable("ann", False)
    bench.publish("t", b"rain")
    assert bench.pubsub.room.full(("t",))
    bench.pubsub.room.watch(("t",))
    bench.forget()
    bench.feed(StreamLost("ann"))
    [event] = bench.events(trace.DROPPED, reason="stream_lost")
    assert event.peer == "ann" and event.fields["count"] == 1
    assert bench.of(RoomAgain) == [RoomAgain("ann")]
    bench.feed(StreamRenewed("ann"))
    bench.writable("ann", True)
    assert [message for rpc in bench.took("ann") for message in rpc.messages] == []


def test_what_waited_while_our_stream_was_gone_is_sent_on_the_new_one() -> None:
    bench = gossipsub()
    bench.subscribe("t")
    bench.join("ann", "t")
    bench.writable("ann", False)
    bench.feed(StreamLost("ann"))
    bench.forget()
    bench.publish("t", b"rain")
    assert bench.took("ann") == []
    bench.feed(StreamRenewed("ann"))
    bench.writable("ann", True)
    assert [message.data for rpc in bench.took("ann") for message in rpc.messages] == [b"rain"]


def test_a_stream_that_begins_anew_keeps_what_was_said() -> None:
    bench = floodsub()
    bench.join("ann", "t")
    bench.feed(StreamRestarted("ann"))
    assert list(bench.pubsub.subscribers("t")) == ["ann"]


def test_an_empty_rpc_is_no_fault() -> None:
    bench = gossipsub()
    bench.join("ann")
    bench.say_bytes("ann", b"\x00\x00\x00")
    assert not bench.of(Drop)


# ---- our subscriptions


def test_subscribing_is_announced_to_every_peer() -> None:
    bench = floodsub()
    bench.join_many(3)
    bench.subscribe("t")
    assert [bench.took_items(f"peer{index}") for index in range(3)] == [[("subscribe", "t")]] * 3
    assert bench.pubsub.topics == ("t",)
    assert bench.events(trace.SUBSCRIBED, topic="t")


def test_subscribing_twice_is_announced_once() -> None:
    bench = floodsub()
    bench.join("ann")
    bench.subscribe("t", "t")
    assert bench.took_items("ann") == [("subscribe", "t")]
    assert len(bench.events(trace.SUBSCRIBED)) == 1


def test_unsubscribing_is_announced_and_ends_delivery() -> None:
    bench = floodsub()
    bench.subscribe("t")
    bench.join("ann", "t")
    bench.unsubscribe("t")
    assert bench.took_items("ann")[-1] == ("unsubscribe", "t")
    bench.send_message("ann", signed("ann", "t", b"late", 1))
    assert bench.delivered() == []
    assert bench.pubsub.topics == ()


def test_unsubscribing_from_what_we_never_joined_does_nothing() -> None:
    bench = floodsub()
    bench.join("ann")
    bench.unsubscribe("t")
    assert bench.took("ann") == []
    assert not bench.events(trace.UNSUBSCRIBED)


def test_an_announcement_waits_for_a_line_that_is_not_free() -> None:
    bench = floodsub()
    bench.join("ann")
    bench.writable("ann", False)
    bench.subscribe("t")
    assert bench.took("ann") == []
    bench.writable("ann", True)
    assert bench.took_items("ann") == [("subscribe", "t")]


def test_an_announcement_that_no_longer_holds_is_not_sent_late() -> None:
    bench = floodsub()
    bench.join("ann")
    bench.writable("ann", False)
    bench.subscribe("t")
    bench.unsubscribe("t")
    bench.writable("ann", True)
    assert ("subscribe", "t") not in bench.took_items("ann")


@pytest.mark.parametrize("topic", ["", "t" * 1025, "\ud800"])
def test_a_topic_that_cannot_be_one_is_refused(topic: str) -> None:
    bench = floodsub()
    with pytest.raises(LocalProtocolError, match="topic"):
        bench.subscribe(topic)
    assert bench.pubsub.topics == ()


def test_a_topic_that_the_filter_forbids_is_refused() -> None:
    bench = floodsub(allowed_topics=["weather"])
    bench.join("ann")
    bench.subscribe("weather")
    with pytest.raises(LocalProtocolError, match="'news' is not among the allowed"):
        bench.subscribe("news")
    assert bench.took_items("ann") == [("subscribe", "weather")]


# ---- their subscriptions


def test_subscriptions_of_peers_are_kept_and_traced() -> None:
    bench = floodsub()
    bench.join("ann", "a", "b")
    bench.join("bob", "b")
    assert list(bench.pubsub.subscribers("b")) == ["ann", "bob"]
    assert [(each.peer, each.topic) for each in bench.events(trace.PEER_SUBSCRIBED)] == [
        ("ann", "a"), ("ann", "b"), ("bob", "b"),
    ]  # fmt: skip


def test_a_peer_that_unsubscribes_gets_no_more_messages() -> None:
    bench = floodsub()
    bench.join("ann", "t")
    bench.say("ann", Rpc(subscriptions=(Subscription(False, "t"),)))
    assert not bench.publish("t")
    assert bench.events(trace.PEER_UNSUBSCRIBED, peer="ann", topic="t")


def test_the_last_unsubscribe_of_a_topic_removes_it_from_the_tables() -> None:
    bench = floodsub()
    bench.join("ann", "t")
    bench.say("ann", Rpc(subscriptions=(Subscription(False, "t"),)))
    sizes = bench.pubsub.sizes()
    assert sizes["peer_topics"] == sizes["topics_with_peers"] == sizes["peers_with_topics"] == 0


def test_what_is_said_twice_in_one_rpc_counts_once() -> None:
    bench = floodsub()
    bench.join("ann")
    bench.say("ann", Rpc(subscriptions=(Subscription(True, "t"),) * 3))
    assert len(bench.events(trace.PEER_SUBSCRIBED)) == 1


def test_of_a_contradiction_in_one_rpc_the_last_word_counts() -> None:
    bench = floodsub()
    bench.join("ann")
    on, off = Subscription(True, "t"), Subscription(False, "t")
    bench.say("ann", Rpc(subscriptions=(on, off)))
    assert not bench.pubsub.subscribers("t")
    bench.say("ann", Rpc(subscriptions=(off, on)))
    assert bench.pubsub.subscribers("t")


def test_topics_that_the_filter_forbids_are_not_kept() -> None:
    bench = floodsub(allowed_topic_pattern="weather/.*")
    bench.join("ann", "news", "weather/north")
    assert not bench.pubsub.subscribers("news")
    assert bench.pubsub.subscribers("weather/north")
    assert bench.events(trace.IGNORED, topic="news", peer="ann", reason="topic_not_allowed")


def test_topics_above_a_peers_limit_are_not_kept_and_the_peer_stays() -> None:
    bench = floodsub(max_topics_per_peer=3)
    bench.join("ann", *"abcde")
    assert bench.pubsub.sizes()["peer_topics"] == 3
    assert len(bench.events(trace.IGNORED, reason="too_many_topics")) == 2
    assert not bench.of(Drop)


def test_a_peer_that_insists_on_too_many_topics_is_dropped() -> None:
    bench = floodsub(max_topics_per_peer=3)
    bench.join("ann", *"abcdefg")
    assert [each.reason for each in bench.of(Drop)] == ["too_many_topics"]
    assert bench.pubsub.sizes()["peer_topics"] == 0
    assert bench.events(trace.PROTOCOL_ERROR, peer="ann", reason="too_many_topics")


def test_messages_before_subscriptions_in_one_rpc_are_taken_after_them() -> None:
    """Subscriptions, then messages, then control: as every implementation does."""
    bench = gossipsub()
    bench.subscribe("t")
    bench.join("ann")
    message = signed("ann", "t", b"rain", 1)
    bench.say("ann", Rpc(subscriptions=(Subscription(True, "t"),), messages=(message,)))
    kinds = [
        each.event
        for each in bench.effects
        if getattr(each, "peer", None) == "ann" and hasattr(each, "event")
    ]
    assert kinds.index(trace.PEER_SUBSCRIBED) < kinds.index(trace.DELIVERED)


# ---- a router of the user's own


class OnlyTheFirst(Router):
    """Sends everything to the one peer that subscribed first."""

    protocols: ClassVar[tuple[str, ...]] = ("/only-the-first/1.0.0",)

    def targets(self, message: WireMessage, own: bool, now: float) -> Iterable[Peer]:
        return self.would_reach(message.topics)

    def would_reach(self, topics: tuple[str, ...]) -> Iterable[Peer]:
        return [peer for topic in topics for peer in list(self.pubsub.subscribers(topic))[:1]]


def test_a_router_needs_no_more_than_protocols_and_targets() -> None:
    bench = Workbench(OnlyTheFirst())
    assert bench.pubsub.protocols == ("/only-the-first/1.0.0",)
    bench.subscribe("t")
    bench.join_many(3, "t", protocol="/only-the-first/1.0.0")
    assert bench.publish("t").peers == ("peer0",)
    bench.send_message("peer2", signed("author", "t", b"rain", 1))
    assert [each[0] for each in bench.took_items("peer0")] == ["subscribe", "message", "message"]
    assert bench.pubsub.mesh("t") == ()
    bench.unsubscribe("t")
    bench.leave("peer0")


# ---- traces


def test_packets_are_traced_only_on_request() -> None:
    for wanted in (True, False):
        bench = gossipsub(trace_packets=wanted)
        bench.subscribe("t")
        bench.join("ann", "t")
        bench.feed(Received("ann", hello("u")))
        assert bool(bench.events(trace.PACKET_SENT, peer="ann")) is wanted
        received = bench.events(trace.PACKET_RECEIVED, peer="ann")
        assert bool(received) is wanted
        if wanted:
            assert received[-1].fields["subscriptions"] == 1


def test_packets_sent_are_traced_with_what_the_peer_reads_in_them() -> None:
    bench = gossipsub(trace_packets=True)
    bench.kinds = ControlKinds(*GOSSIP_KINDS, IDONTWANT)
    bench.subscribe("t")
    bench.join("ann", "t", protocol=MESHSUB_1_2)
    bench.join("bob", "t")
    for number in range(3):
        bench.publish("t", b"rain %d" % number)
    bench.send_message("bob", signed("author", "t", bytes(20_000), 1))
    bench.run_until(5.0)
    packets = bench.events(trace.PACKET_SENT, peer="ann")
    rpcs = bench.took("ann")
    sent = {
        name: sum(int(each.fields[name] or 0) for each in packets)
        for name in ("subscriptions", "messages", "graft", "idontwant")
    }
    control = [rpc.control for rpc in rpcs if rpc.control is not None]
    assert sent == {
        "subscriptions": sum(len(rpc.subscriptions) for rpc in rpcs),
        "messages": sum(len(rpc.messages) for rpc in rpcs),
        "graft": sum(len(each.of(Graft)) for each in control),
        "idontwant": sum(len(each.of(IDontWant)) for each in control),
    }
    assert all(sent.values())


def test_every_event_carries_the_time_and_the_node() -> None:
    bench = floodsub()
    bench.run_until(12.5)
    bench.join("ann", "t")
    bench.subscribe("t")
    bench.send_message("ann", signed("ann", "t", b"rain", 1))
    events = bench.events(trace.DELIVERED) + bench.events(trace.PEER_SUBSCRIBED)
    assert {(each.time, each.node) for each in events} == {(12.5, bench.key.peer)}
    message_id = origin_id(signed("ann", "t", b"rain", 1))
    assert bench.events(trace.DELIVERED, message_id=message_id, topic="t")
