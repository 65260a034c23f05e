"""Unicasts: one subscriber gets each, and its answer finds the publisher."""

from __future__ import annotations

import gc

from rumormill.bcos.amop.parcel import Parcel
from rumormill.bcos.amop.ports import Kind
from rumormill.bcos.wire.channel_packet import ChannelPacket, ChannelType
from rumormill.bcos.wire.topic_body import encode_body
from rumormill.core import trace
from tests.helpers.bcos.sdk_side import OUR_ID, SdkSide, node_id, seq

B, C, D = node_id("b"), node_id("c"), node_id("d")


def request(number: int, topic: str = "news", data: bytes = b"hello") -> ChannelPacket:
    return ChannelPacket(ChannelType.REQUEST, seq(number), 0, encode_body(topic, data))


def response(number: int, result: int, data: bytes) -> ChannelPacket:
    return ChannelPacket(ChannelType.RESPONSE, seq(number), result, data)


# ---- the publisher's node


def test_the_packet_goes_to_a_node_as_it_is_and_its_answer_comes_back() -> None:
    side = SdkSide()
    side.node_has(C, "news")
    publisher = side.sdk()
    assert publisher.unicast("news", b"hello", seq(1)) == []
    [asked] = side.nodes.asked
    assert asked[:4] == (C, Kind.UNICAST, request(1), 30.0)
    side.replies(asked, response(1, 0, encode_body("news", b"thanks")))
    assert publisher.take() == [response(1, 0, encode_body("news", b"thanks"))]
    assert [event.fields["result"] for event in side.traced("answered")] == [0]


def test_a_message_that_has_its_answer_takes_no_memory_until_the_collector_comes() -> None:
    def parcels() -> int:
        return sum(type(each) is Parcel for each in gc.get_objects())

    side = SdkSide()
    side.node_has(C, "news")
    publisher = side.sdk()
    gc.collect()
    gc.disable()
    try:
        before = parcels()
        for number in range(10):
            publisher.unicast("news", b"hello", seq(number))
            [asked] = side.nodes.asked
            side.replies(asked, response(number, 0, encode_body("news", b"thanks")))
            side.nodes.asked.clear()
            del asked
        assert parcels() == before
    finally:
        gc.enable()


def test_nodes_are_chosen_at_random_this_one_among_them() -> None:
    side = SdkSide()
    side.node_has(C, "news")
    side.node_has(D, "news")
    side.node_has(B, "other")
    subscriber, publisher = side.sdk("news"), side.sdk()
    for number in range(60):
        publisher.unicast("news", b"", seq(number))
    by_node = [asked.node for asked in side.nodes.asked]
    here = len(subscriber.take())
    assert here + len(by_node) == 60
    assert set(by_node) == {C, D}
    assert min(by_node.count(C), by_node.count(D), here) > 8


def test_a_node_that_fails_is_followed_by_another_until_none_is_left() -> None:
    side = SdkSide()
    for node in (B, C, D):
        side.node_has(node, "news")
    publisher = side.sdk()
    publisher.unicast("news", b"hello", seq(1))
    for tries in (1, 2, 3):
        assert len(side.nodes.asked) == tries
        assert publisher.take() == []
        side.fails(side.nodes.asked[-1], "timed_out")
    assert {asked.node for asked in side.nodes.asked} == {B, C, D}
    assert publisher.take() == [response(1, 100, b"")]
    assert side.reasons(trace.DROPPED) == ["timed_out"] * 3


def test_nodes_that_cannot_be_sent_anything_are_passed_over_at_once() -> None:
    side = SdkSide()
    nodes = [f"{number:0128x}" for number in range(2_000)]
    for node in nodes:
        side.nodes.topics[node] = ["news"]
    side.nodes.broken = set(nodes[:-1])
    publisher = side.sdk()
    publisher.unicast("news", b"hello", seq(1))
    assert [asked.node for asked in side.nodes.asked] == nodes[-1:]


def test_what_a_node_answers_is_final() -> None:
    side = SdkSide()
    side.node_has(C, "news")
    side.node_has(D, "news")
    publisher = side.sdk()
    publisher.unicast("news", b"hello", seq(1))
    side.replies(side.nodes.asked[0], response(1, 104, request(1).data))
    assert publisher.take() == [response(1, 104, request(1).data)]
    assert len(side.nodes.asked) == 1


def test_an_answer_that_cannot_be_read_counts_as_none() -> None:
    side = SdkSide()
    side.node_has(C, "news")
    publisher = side.sdk()
    publisher.unicast("news", b"hello", seq(1))
    side.nodes.asked[0].done(b"junk", "")
    side.settle()
    assert publisher.take() == [response(1, 100, b"")]
    assert side.reasons(trace.PROTOCOL_ERROR) == ["bad_answer"]


def test_the_seq_and_type_of_an_answer_are_ours_whatever_the_other_node_says() -> None:
    side = SdkSide()
    side.node_has(C, "news")
    publisher = side.sdk()
    publisher.unicast("news", b"hello", seq(1))
    side.replies(side.nodes.asked[0], ChannelPacket(ChannelType.VERIFY, seq(9), 0, b"\x02x"))
    assert publisher.take() == [response(1, 0, b"\x02x")]


def test_nothing_is_tried_any_more_when_the_publisher_has_left() -> None:
    side = SdkSide()
    side.node_has(C, "news")
    side.node_has(D, "news")
    publisher = side.sdk()
    publisher.unicast("news", b"hello", seq(1))
    publisher.leave()
    side.fails(side.nodes.asked[0])
    assert len(side.nodes.asked) == 1
    assert side.sizes()["requests_in_flight"] == 0


def test_two_publishers_may_use_the_same_seq_at_the_same_time() -> None:
    side = SdkSide()
    side.node_has(C, "news")
    first, second = side.sdk(), side.sdk()
    first.unicast("news", b"1", seq(5))
    second.unicast("news", b"2", seq(5))
    for asked in reversed(side.nodes.asked):
        side.replies(asked, response(5, 0, asked.packet.data))
    assert first.take() == [response(5, 0, encode_body("news", b"1"))]
    assert second.take() == [response(5, 0, encode_body("news", b"2"))]


# ---- the same node


def test_local_unicasts_with_the_same_seq_do_not_collide() -> None:
    side = SdkSide()
    first, second, subscriber = side.sdk(), side.sdk(), side.sdk("news")
    first.unicast("news", b"1", seq(5))
    second.unicast("news", b"2", seq(5))
    for packet in reversed(subscriber.take()):
        subscriber.answer(packet, b"to " + packet.data[-1:])
    assert first.take() == [response(5, 0, encode_body("news", b"to 1"))]
    assert second.take() == [response(5, 0, encode_body("news", b"to 2"))]


def test_a_publisher_that_listens_itself_gets_its_message_only_if_nobody_else_does() -> None:
    side = SdkSide()
    publisher, other = side.sdk("news"), side.sdk("news")
    for number in range(20):
        assert publisher.unicast("news", b"", seq(number)) == []
    assert len(other.take()) == 20
    other.leave()
    side.node_has(C, "news")
    for number in range(20, 40):
        publisher.unicast("news", b"", seq(number))
    assert len(side.nodes.asked) == 20


def test_a_publisher_alone_answers_its_own_message_under_another_seq() -> None:
    """Under its own it would take the message for the answer."""
    side = SdkSide()
    publisher = side.sdk("news")
    [packet] = publisher.unicast("news", b"hello", seq(1))
    assert (packet.type, packet.data) == (ChannelType.REQUEST, encode_body("news", b"hello"))
    assert packet.seq != seq(1)
    assert publisher.answer(packet, b"me") == [response(1, 0, encode_body("news", b"me"))]


def test_a_subscriber_here_that_has_no_room_leaves_the_message_to_other_nodes() -> None:
    side = SdkSide(session_queue_bytes=1024)
    publisher, slow = side.sdk(), side.sdk("news")
    slow.full(True)
    publisher.multicast("news", bytes(2000), seq(0))
    side.node_has(C, "news")
    for number in range(1, 21):
        publisher.unicast("news", b"", seq(number))
    assert len(side.nodes.asked) == 20
    side.node_leaves(C)
    assert publisher.unicast("news", b"", seq(21)) == [response(21, 100, b"")]


def test_local_subscribers_that_fail_bring_104() -> None:
    side = SdkSide()
    publisher, subscriber = side.sdk(), side.sdk("news")
    publisher.unicast("news", b"hello", seq(1))
    subscriber.leave()
    assert publisher.take() == [response(1, 104, request(1).data)]


# ---- the subscriber's node


def test_a_subscriber_gets_the_packet_as_it_is_and_answers_with_any_type() -> None:
    side = SdkSide()
    subscriber = side.sdk("news")
    outer = side.arrives(B, request(1))
    assert subscriber.take() == [request(1)]
    body = encode_body("news", b"thanks")
    subscriber.send(ChannelType.REQUEST, seq(1), body)
    assert side.nodes.answered == [(B, outer, response(1, 0, body))]


def test_subscribers_are_chosen_at_random() -> None:
    side = SdkSide()
    subscribers = [side.sdk("news") for _ in range(3)]
    for number in range(60):
        side.arrives(B, request(number))
    counts = [len(subscriber.take()) for subscriber in subscribers]
    assert sum(counts) == 60
    assert min(counts) > 8


def test_a_subscriber_that_is_silent_is_followed_by_another() -> None:
    side = SdkSide()
    subscribers = [side.sdk("news"), side.sdk("news")]
    side.arrives(B, request(1))
    first, second = sorted(subscribers, key=lambda each: not each.take())
    side.passes(4.9)
    assert second.take() == []
    side.passes(0.1)
    [packet] = second.take()
    first.answer(request(1), b"too late")
    assert side.nodes.answered == []
    second.answer(packet, b"thanks")
    [(_, _, answer)] = side.nodes.answered
    assert answer == response(1, 0, encode_body("news", b"thanks"))


def test_a_subscriber_that_leaves_is_followed_by_another_at_once() -> None:
    side = SdkSide()
    subscribers = [side.sdk("news"), side.sdk("news")]
    side.arrives(B, request(1))
    first, second = sorted(subscribers, key=lambda each: not each.take())
    first.leave()
    assert second.take() == [request(1)]


def test_nobody_is_tried_after_the_publishers_node_has_given_up() -> None:
    side = SdkSide()
    subscribers = [side.sdk("news") for _ in range(20)]
    side.arrives(B, request(1))
    for _ in range(8):
        side.passes(5)
    assert sum(len(subscriber.take()) for subscriber in subscribers) == 6
    assert side.nodes.answered[0][2] == response(1, 104, request(1).data)


def test_a_message_that_nobody_here_listens_to_goes_back() -> None:
    side = SdkSide()
    outer = side.arrives(B, request(1))
    assert side.nodes.answered == [(B, outer, response(1, 104, request(1).data))]


def test_answers_to_a_node_that_has_left_are_counted() -> None:
    side = SdkSide()
    subscriber = side.sdk("news")
    side.arrives(B, request(1))
    side.nodes.broken = {B}
    subscriber.answer(request(1))
    assert side.reasons(trace.DROPPED) == ["not_sent"]


def test_one_node_cannot_have_more_in_flight_than_its_share() -> None:
    side = SdkSide(max_session_requests=3)
    side.sdk("news")
    for number in range(5):
        side.arrives(B, request(number))
    assert [answer for _, _, answer in side.nodes.answered] == [
        response(3, 103, b""),
        response(4, 103, b""),
    ]


def test_messages_are_traced_where_they_go_on() -> None:
    side = SdkSide()
    side.sdk("news")
    side.arrives(B, request(1))
    [event] = side.traced("forwarded")
    assert (event.node, event.topic, event.message_id, event.peer) == (
        OUR_ID, "news", bytes.fromhex(seq(1).decode()), B,
    )  # fmt: skip
    assert event.fields == {"mode": "unicast", "size": 5}
