"""What the overlay traces: the same events, with the same fields, as every family."""

from __future__ import annotations

from collections import Counter

import pytest

from rumormill.core import trace
from rumormill.core.machine import Unsubscribe
from rumormill.core.trace import TraceEvent
from tests.helpers.bep50.overlay_network import TOPIC, OverlayNetwork

TEXT = TOPIC.text


def test_a_publication_and_its_deliveries_share_an_id_and_name_who_gave_it() -> None:
    network = OverlayNetwork()
    addresses = network.add_many(5)
    network.publish(addresses[0], b"12345")
    network.run(2)
    (published,) = network.events(addresses[0], trace.PUBLISHED)
    assert published.fields == {"size": 5, "peers": 4, "dropped": 0, "seq": 1}
    assert published.topic == TEXT and published.node == addresses[0]
    for address in addresses[1:]:
        (delivered,) = network.events(address, trace.DELIVERED)
        assert delivered.message_id == published.message_id
        assert delivered.node == address and delivered.peer in addresses
        assert delivered.fields == {"size": 5, "sender": TOPIC.public_key.hex()}


def test_every_copy_is_counted() -> None:
    network = OverlayNetwork()
    addresses = network.add_many(9)
    network.forget()
    network.publish(addresses[0], b"x")
    network.run(3)
    puts = sum(b"1:q3:put" in packet for _, _, _, packet in network.packets)
    seen = Counter(
        event.event
        for address in addresses
        for event in network.of_type(address, TraceEvent)
        if event.peer is not None
    )
    assert seen[trace.DELIVERED] == 8
    assert seen[trace.DELIVERED] + seen[trace.DUPLICATE] == puts


def test_copies_of_a_later_message_are_told_from_it() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.publish(first, b"one")
    network.run(1)
    packet = next(raw for _, by, _, raw in network.packets if by == first and b"3:put" in raw)
    network.publish(first, b"two")
    network.run(1)
    network.forget()
    network.send(first, second, packet)
    (ignored,) = network.events(second, trace.IGNORED)
    assert ignored.fields["reason"] == "old_seq"
    assert ignored.message_id not in (
        None,
        network.nodes[second].topic_nodes[TOPIC.target].message_id,
    )


def test_who_enters_and_leaves_the_table_is_told_for_the_mesh() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    kinds = (trace.PEER_JOINED, trace.PEER_SUBSCRIBED, trace.GRAFTED)
    for kind in kinds:
        assert [event.peer for event in network.events(first, kind)] == [second]
    network.kill(second)
    network.run(400)
    for kind in (trace.PRUNED, trace.PEER_UNSUBSCRIBED, trace.PEER_LEFT):
        (event,) = network.events(first, kind)
        assert event.peer == second
    assert network.events(first, trace.PRUNED)[0].fields == {"by": "us", "reason": "no_answer"}


def test_subscribing_and_leaving_are_told() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.feed(first, Unsubscribe(TEXT))
    assert [event.topic for event in network.events(first, trace.SUBSCRIBED)] == [TEXT]
    assert [event.topic for event in network.events(first, trace.UNSUBSCRIBED)] == [TEXT]
    assert [event.peer for event in network.events(first, trace.PRUNED)] == [second]


def test_packets_are_traced_if_wanted() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2, trace_packets=True)
    network.forget()
    network.publish(first, b"x")
    network.run(1)
    (put,) = [
        each for each in network.events(first, trace.PACKET_SENT) if each.fields["kind"] == "put"
    ]
    assert put.fields == {"size": put.fields["size"], "messages": 1, "kind": "put"}
    assert put.peer == second
    received = network.events(second, trace.PACKET_RECEIVED)
    assert [each.fields["size"] for each in received] == [put.fields["size"]]
    sent = sum(len(packet) for _, by, _, packet in network.packets if by == first)
    assert sum(int(str(e.fields["size"])) for e in network.events(first, trace.PACKET_SENT)) == sent


def test_packets_are_not_traced_otherwise() -> None:
    network = OverlayNetwork()
    first, _ = network.add_many(2)
    network.publish(first, b"x")
    assert network.events(first, trace.PACKET_SENT) == []


@pytest.mark.parametrize("garbage", [b"", b"de", b"x" * 100, b"d1:y1:qe", b"li1ee"])
def test_garbage_is_counted_and_told_once_a_second(garbage: bytes) -> None:
    network = OverlayNetwork()
    node = network.add()
    for _ in range(20):
        network.send("10.9.9.9:1", node, garbage)
    network.run(3)
    (dropped,) = network.events(node, trace.DROPPED)
    assert dropped.fields["what"] == "packet" and dropped.fields["count"] == 20


def test_of_who_sends_nothing_but_garbage_all_is_counted_and_the_rest_is_not_read() -> None:
    network = OverlayNetwork()
    node = network.add()
    for _ in range(50):
        network.send("10.9.9.9:1", node, b"de")
    network.run(3)
    read, unread = network.events(node, trace.DROPPED)
    assert (read.fields["reason"], unread.fields["reason"]) == ("bad_packet", "held_back")
    assert unread.peer == "10.9.9.9:1"
    assert int(str(read.fields["count"])) + int(str(unread.fields["count"])) == 50
