"""Multicasts: all who listen get each, wherever they are."""

from __future__ import annotations

import pytest

from rumormill.bcos.amop.ports import Kind
from rumormill.bcos.wire.channel_packet import ChannelPacket, ChannelType
from rumormill.bcos.wire.topic_body import encode_body
from rumormill.core import trace
from tests.helpers.bcos.sdk_side import SdkSide, node_id, seq

B, C, D = node_id("b"), node_id("c"), node_id("d")


def multicast(number: int, data: bytes = b"hello") -> ChannelPacket:
    return ChannelPacket(ChannelType.MULTICAST, seq(number), 0, encode_body("news", data))


def test_each_node_that_has_the_topic_gets_it_once_and_each_subscriber_here() -> None:
    side = SdkSide()
    side.node_has(B, "news")
    side.node_has(C, "other")
    side.node_has(D, "news")
    publisher, first, second, deaf = side.sdk(), side.sdk("news"), side.sdk("news"), side.sdk()
    answer = publisher.multicast("news", b"hello", seq(1))
    assert answer == [ChannelPacket(ChannelType.RESPONSE, seq(1), 0, multicast(1).data)]
    assert side.nodes.pushed == [
        (B, Kind.MULTICAST, multicast(1)),
        (D, Kind.MULTICAST, multicast(1)),
    ]
    assert first.take() == second.take() == [multicast(1)]
    assert deaf.take() == []
    [event] = side.traced("forwarded")
    assert event.fields == {"size": 5, "mode": "multicast", "peers": 3, "here": 2, "dropped": 0}


def test_the_publisher_itself_gets_only_its_answer() -> None:
    side = SdkSide()
    publisher = side.sdk("news")
    assert [packet.type for packet in publisher.multicast("news", b"", seq(1))] == [0x31]


def test_a_node_that_cannot_take_it_is_counted() -> None:
    side = SdkSide()
    side.node_has(B, "news")
    side.nodes.broken = {B}
    side.sdk().multicast("news", b"", seq(1))
    [event] = side.traced(trace.DROPPED)
    assert (event.peer, event.fields["reason"]) == (B, "queue_full")


def test_what_comes_from_another_node_goes_to_all_subscribers_and_no_further() -> None:
    side = SdkSide()
    side.node_has(C, "news")
    first, second = side.sdk("news"), side.sdk("news")
    side.arrives(B, multicast(1), Kind.MULTICAST)
    assert first.take() == second.take() == [multicast(1)]
    assert side.nodes.pushed == []


def test_what_comes_twice_is_delivered_twice_unless_messages_are_relayed() -> None:
    """As with nodes of other make: the same seq may be of two publishers."""
    side = SdkSide()
    subscriber = side.sdk("news")
    side.arrives(B, multicast(1), Kind.MULTICAST)
    side.arrives(B, multicast(1), Kind.MULTICAST)
    assert len(subscriber.take()) == 2


def test_relayed_messages_go_on_and_are_delivered_once() -> None:
    side = SdkSide()
    side.nodes.relays = True
    side.node_has(B, "news")
    side.node_has(C, "news")
    side.node_has(D, "other")
    subscriber = side.sdk("news")
    side.arrives(B, multicast(1), Kind.MULTICAST)
    side.arrives(C, multicast(1), Kind.MULTICAST)
    assert subscriber.take() == [multicast(1)]
    assert side.nodes.pushed == [(C, Kind.MULTICAST, multicast(1))]
    assert len(side.traced(trace.DUPLICATE)) == 1
    assert side.useful
    side.arrives(B, multicast(1, b"another with the same seq"), Kind.MULTICAST)
    assert len(subscriber.take()) == 1


def test_our_own_message_that_comes_back_is_known() -> None:
    side = SdkSide()
    side.nodes.relays = True
    publisher, subscriber = side.sdk(), side.sdk("news")
    publisher.multicast("news", b"hello", seq(1))
    side.arrives(B, multicast(1), Kind.MULTICAST)
    assert len(subscriber.take()) == 1


def test_a_broadcast_that_is_relayed_goes_to_every_node() -> None:
    side = SdkSide()
    side.nodes.relays = True
    side.node_has(B, "news")
    side.node_has(C, "other")
    side.arrives(B, multicast(1), Kind.BROADCAST)
    assert side.nodes.pushed == [(C, Kind.BROADCAST, multicast(1))]


def test_a_message_that_nobody_listens_to_is_of_no_use() -> None:
    side = SdkSide()
    side.arrives(B, multicast(1), Kind.MULTICAST)
    assert not side.useful
    assert side.reasons(trace.IGNORED) == ["not_subscribed"]
    side.arrives(B, multicast(2), Kind.BROADCAST)
    assert side.useful


@pytest.mark.parametrize(
    "packet",
    [
        ChannelPacket(ChannelType.RESPONSE, seq(1), 0, b"\x02x"),
        ChannelPacket(ChannelType.VERIFY, seq(1), 0, b"{}"),
        ChannelPacket(ChannelType.MULTICAST, seq(1), 0, b""),
        ChannelPacket(ChannelType.REQUEST, seq(1), 0, b"\x00"),
        ChannelPacket(ChannelType.REQUEST, seq(1), 0, b"\xff"),
    ],
)
def test_other_packets_of_nodes_are_refused(packet: ChannelPacket) -> None:
    side = SdkSide()
    side.sdk("news")
    side.arrives(B, packet)
    assert not side.useful
    assert len(side.traced(trace.PROTOCOL_ERROR)) == 1
