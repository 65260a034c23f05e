"""Publishing: what becomes of the application's data, and the receipt for it."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError, MessageTooLargeError
from rumormill.core.machine import Publish
from rumormill.libp2p.pubsub.parameters import TopicRules
from rumormill.libp2p.wire.frames import FrameReader
from rumormill.libp2p.wire.message import WireMessage, decode_message
from rumormill.libp2p.wire.signing import verify
from tests.helpers.libp2p.workbench import Workbench, floodsub, gossipsub


def sent_to(bench: Workbench, peer: str) -> list[WireMessage]:
    return [decode_message(each[1]) for each in bench.took_items(peer) if each[0] == "message"]


def with_peers(count: int = 1, topic: str = "t", **parameters: Any) -> Workbench:
    bench = floodsub(**parameters)
    bench.join_many(count, topic)
    return bench


# ---- what is sent


def test_a_published_message_is_signed_and_numbered() -> None:
    bench = with_peers(first_sequence=41)
    for _ in range(3):
        bench.publish("t", b"rain")
    messages = sent_to(bench, "peer0")
    assert all(map(verify, messages))
    numbers = [int.from_bytes(each.sequence or b"", "big") for each in messages]
    assert numbers == [41, 42, 43]
    assert {each.sender_id for each in messages} == {bench.key.peer_id}


def test_the_first_number_is_the_time_so_that_a_restart_repeats_none() -> None:
    bench = with_peers(first_sequence=None)
    bench.now = 1_700_000_000.5
    first, second = bench.publish("t").id, bench.publish("t").id
    numbers = [int.from_bytes(each[-8:], "big") for each in (first, second)]
    assert abs(numbers[0] - 1_700_000_000_500_000_000) < 1000
    assert numbers[1] == numbers[0] + 1


def test_an_unsigned_topic_gets_neither_author_nor_number() -> None:
    bench = with_peers(signing="StrictNoSign")
    bench.publish("t", b"rain")
    (message,) = sent_to(bench, "peer0")
    assert (message.sender_id, message.sequence, message.signature, message.key) == (None,) * 4


def test_each_message_goes_to_each_peer_once() -> None:
    bench = with_peers(3)
    bench.publish("t", b"rain")
    assert [len(sent_to(bench, f"peer{index}")) for index in range(3)] == [1, 1, 1]


# ---- our own subscription


def test_we_receive_our_own_messages_if_we_listen() -> None:
    bench = with_peers()
    bench.subscribe("t")
    receipt = bench.publish("t", b"mine")
    (message,) = bench.delivered()
    assert (message.data, message.id, message.received_from) == (b"mine", receipt.id, None)
    assert message.sender == bench.key.peer


def test_we_receive_nothing_on_topics_we_only_publish_on() -> None:
    bench = with_peers()
    bench.publish("t")
    assert bench.delivered() == []


def test_our_own_messages_can_be_left_out() -> None:
    bench = with_peers(deliver_own=False)
    bench.subscribe("t")
    bench.publish("t")
    assert bench.delivered() == []


# ---- the receipt


def test_without_peers_a_message_goes_nowhere_and_the_receipt_says_so() -> None:
    bench = floodsub()
    receipt = bench.publish("t")
    assert not receipt
    assert (receipt.peers, dict(receipt.dropped), receipt.topic) == ((), {}, "t")
    (event,) = bench.events(trace.PUBLISHED, message_id=receipt.id)
    assert event.fields == {"size": 4, "peers": 0, "dropped": 0}


def test_the_receipt_tells_reached_from_queued_from_dropped() -> None:
    bench = with_peers(3, queue_messages=2)
    bench.writable("peer1", False)
    bench.publish("t")
    bench.writable("peer2", False)
    bench.publish("t")
    receipt = bench.publish("t")
    assert receipt.reached == ("peer0",)
    assert receipt.queued == ("peer2",)
    assert receipt.dropped == {"peer1": "queue_full"}
    assert bench.events(trace.DROPPED, peer="peer1", what="message", reason="queue_full")
    assert bench.events(trace.PUBLISHED)[-1].fields["dropped"] == 1


# ---- what cannot be published


def refused(bench: Workbench, topics: tuple[str, ...], data: bytes = b"data") -> str:
    before = len(bench.effects), bench.pubsub.sizes()
    with pytest.raises(LocalProtocolError) as caught:
        bench.feed(Publish(topics, data))
    assert (len(bench.effects), bench.pubsub.sizes()) == before
    return str(caught.value)


@pytest.mark.parametrize("topic", ["", "t" * 1025])
def test_a_message_needs_a_topic_that_can_be_one(topic: str) -> None:
    assert "topic" in refused(floodsub(), (topic,))


def test_a_message_needs_a_topic() -> None:
    assert refused(floodsub(), ()) == "a message needs a topic"


def test_data_above_the_limit_is_refused_and_the_limit_named() -> None:
    bench = with_peers(max_rpc_size=4096, max_control_size=2048)
    bench.publish("t", bytes(3072))
    with pytest.raises(MessageTooLargeError) as caught:
        bench.feed(Publish(("t",), bytes(3073)))
    assert (caught.value.size, caught.value.limit) == (3073, 3072)


def test_data_above_its_topics_limit_is_refused() -> None:
    bench = with_peers(topic_rules={"t": TopicRules(max_message_size=10)})
    bench.publish("t", bytes(10))
    with pytest.raises(MessageTooLargeError):
        bench.feed(Publish(("t",), bytes(11)))
    bench.publish("other", bytes(11))


def test_the_largest_message_on_the_longest_topic_is_not_larger_than_peers_read() -> None:
    topic = "t" * 1024
    bench = with_peers(topic=topic, max_rpc_size=4096, max_control_size=2048)
    with pytest.raises(MessageTooLargeError) as caught:
        bench.feed(Publish((topic,), bytes(3072)))
    bench.publish(topic, bytes(caught.value.limit))
    reader = FrameReader(largest=4096)
    for effect in bench.effects:
        if hasattr(effect, "packet"):
            reader.feed(effect.packet)


def test_the_same_message_twice_is_refused_because_it_would_go_nowhere() -> None:
    bench = with_peers(signing="StrictNoSign")
    bench.publish("t", b"rain")
    assert "a message with this id is known already on 't'" in refused(bench, ("t",), b"rain")
    bench.publish("t", b"snow")


def test_signed_the_same_data_may_be_published_again() -> None:
    bench = with_peers()
    assert bench.publish("t", b"rain").id != bench.publish("t", b"rain").id


def test_an_id_function_that_returns_no_id_is_refused_with_its_topic() -> None:
    for wrong in (b"", "text", 7, None, bytes(1025)):
        bench = with_peers(message_id=lambda _, wrong=wrong: wrong)
        assert "the id function of 't' must return 1 to 1024 bytes" in refused(bench, ("t",))


# ---- several topics


def test_several_topics_have_to_be_allowed() -> None:
    assert "needs multi_topic" in refused(with_peers(), ("a", "b"))


def test_a_message_on_several_topics_goes_once_to_each_peer() -> None:
    bench = floodsub(multi_topic=True)
    bench.join("both", "a", "b")
    bench.join("one", "b")
    receipt = bench.publish(("a", "b"), b"rain")
    assert receipt.peers == ("both", "one")
    (message,) = sent_to(bench, "both")
    assert message.topics == ("a", "b")
    assert verify(message)


def test_we_receive_our_own_message_on_each_of_its_topics_once() -> None:
    bench = floodsub(multi_topic=True)
    bench.subscribe("a", "b")
    bench.publish(("a", "b", "a"), b"rain")
    assert [each.topic for each in bench.delivered()] == ["a", "b"]


def test_several_topics_must_agree_on_the_signature() -> None:
    bench = floodsub(multi_topic=True, topic_rules={"open": TopicRules(signing="StrictNoSign")})
    assert "different signature policies" in refused(bench, ("t", "open"))


def test_more_topics_than_peers_read_are_refused() -> None:
    bench = floodsub(multi_topic=True)
    assert "33 topics for one message" in refused(bench, tuple(map(str, range(33))))
    bench.publish(tuple(map(str, range(32))))


def test_many_long_topics_do_not_make_an_rpc_that_peers_refuse() -> None:
    bench = floodsub(multi_topic=True, max_rpc_size=4096, max_control_size=2048)
    topics = tuple(str(number) * 1000 for number in range(5))
    with pytest.raises(MessageTooLargeError):
        bench.feed(Publish(topics, b""))


# ---- asking beforehand


def test_one_can_ask_whether_a_message_would_reach_anyone() -> None:
    bench = gossipsub()
    assert not bench.pubsub.has_targets(("t",))
    bench.join("ann", "t")
    assert bench.pubsub.has_targets(("t",))
    assert not bench.pubsub.has_targets(("other",))


def test_one_can_ask_whether_a_message_would_find_room() -> None:
    bench = with_peers(queue_bytes=10_000)
    assert not bench.pubsub.room.full(("t",), 20_000), "one message always fits"
    bench.writable("peer0", False)
    bench.publish("t", bytes(5000))
    assert not bench.pubsub.room.full(("t",), 3000)
    assert bench.pubsub.room.full(("t",), 6000)
    assert not bench.pubsub.room.full(("other",), 6000)
