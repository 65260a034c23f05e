"""Keeping alive: neighbours are asked for their value, and whoever is behind is brought forward."""

from __future__ import annotations

import pytest

from rumormill.bep50.effects import Join, Offer
from rumormill.core import trace
from rumormill.core.machine import Subscribe
from tests.helpers.bep50.overlay_network import KEY, TOPIC, OverlayNetwork

TEXT = TOPIC.text


def cut_puts(network: OverlayNetwork) -> None:
    """Every push is lost."""
    network.loses = lambda by, to, packet: b"1:q3:put" in packet


def test_each_entry_is_asked_for_its_value_every_four_minutes() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.publish(first, b"x")
    network.run(1)
    network.forget()
    network.run(2400)
    asked = network.queries(first, "get", second)
    assert 9 <= len(asked) <= 13
    assert all(each[b"a"][b"seq"] == 1 for each in asked), "with our own number"
    assert all(each[b"a"][b"target"] == each[b"c"] == TOPIC.target for each in asked)


def test_a_neighbour_that_does_not_answer_twice_is_gone_within_five_minutes() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.kill(second)
    network.run(300)
    assert network.nodes[first].peers() == ()


def test_one_lost_answer_does_not_cost_a_neighbour_its_place() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.forget()
    lost: list[str] = []

    def lose_every_other_get(by: str, to: str, packet: bytes) -> bool:
        if b"1:q3:get" in packet:
            lost.append(by)
            return lost.count(by) % 2 == 1
        return False

    network.loses = lose_every_other_get
    network.run(1500)
    assert network.events(first, trace.PEER_LEFT) == []
    assert network.nodes[first].peers() == (second,)


def test_a_push_that_was_lost_is_made_good_by_the_one_who_has_the_value() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    cut_puts(network)
    network.publish(first, b"x")
    network.run(3)
    network.loses = lambda by, to, packet: False
    assert network.texts(second) == []
    network.run(300)
    assert network.texts(second) == ["x"]


def test_a_push_that_was_lost_is_made_good_by_the_one_who_lacks_the_value() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    cut_puts(network)  # and they stay cut: only an answer to get can bring it
    network.publish(first, b"x")
    network.run(300)
    assert network.texts(second) == ["x"]
    (asked,) = network.events(second, trace.ASKED)
    assert asked.message_id == network.messages(second)[0].id and asked.peer == first


def test_a_value_that_was_published_to_nobody_goes_to_those_who_come_later() -> None:
    network = OverlayNetwork()
    first = network.add()
    network.publish(first, b"early")
    second = network.add(contacts=[first])
    network.run(5)
    assert network.texts(second) == ["early"]


def test_who_hears_that_its_value_is_too_old_asks_for_the_newer_one() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    newer = network.nodes[second].topic_nodes[TOPIC.target]
    newer.hold(KEY.item(b"", 7, b"5:newer"), None)
    network.publish(first, b"mine")
    network.run(1)
    errors = [packet[b"e"][0] for packet in network.sent(second) if b"e" in packet]
    assert errors == [302]
    assert network.texts(first) == ["mine", "newer"]


def test_a_value_from_outside_is_checked_delivered_and_passed_on() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    item = KEY.item(b"", 3, b"7:outside")
    network.feed(first, Offer(item._replace(value=b"7:forged!")))
    network.run(1)
    assert network.texts(first) == []
    network.feed(first, Offer(item))
    network.run(1)
    assert network.texts(first) == network.texts(second) == ["outside"]
    assert network.messages(first)[0].received_from is None
    network.checks = 0
    network.feed(first, Offer(item))
    assert network.checks == 0, "it is known"
    network.feed(first, Offer(KEY.item(b"unknown topic", 9, b"1:x")))
    assert network.checks == 0


def test_a_value_from_outside_that_is_not_ours_is_told_to_no_publisher() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.feed(first, Offer(KEY.item(b"", 3, b"1:x")))
    network.run(1)
    assert network.texts(second) == ["x"]
    assert not network.nodes[first].topic_nodes[TOPIC.target].acknowledgements


# ---- read-only nodes


def test_a_read_only_node_is_in_nobodys_table_answers_nothing_and_polls() -> None:
    network = OverlayNetwork()
    addresses = network.add_many(3)
    reader = network.add(contacts=addresses[:1], read_only=True)
    network.run(10)
    assert network.nodes[reader].joined(TEXT)
    assert set(network.nodes[reader].subscribers(TEXT)) == set(addresses)
    assert all(reader not in network.nodes[each].subscribers(TEXT) for each in addresses)
    assert all(packet[b"ro"] == 1 and packet[b"y"] == b"q" for packet in network.sent(reader))
    network.publish(addresses[0], b"x")
    network.run(0.5)
    assert network.texts(reader) == []
    network.run(17)
    assert network.texts(reader) == ["x"]


def test_a_read_only_node_gets_the_value_though_it_answers_no_ping() -> None:
    network = OverlayNetwork()
    first = network.add()
    network.publish(first, b"x")
    reader = network.add(contacts=[first], read_only=True)
    network.run(1)
    assert network.texts(reader) == ["x"]


def test_a_read_only_node_can_publish() -> None:
    network = OverlayNetwork()
    first = network.add()
    writer = network.add(contacts=[first], read_only=True)
    network.run(2)
    network.publish(writer, b"x")
    network.run(1)
    assert network.texts(first) == ["x"]


# ---- time


def test_a_node_without_topics_never_wakes() -> None:
    network = OverlayNetwork()
    node = network.nodes[network.add(subscribe=[])]
    assert node.next_wake() is None


@pytest.mark.parametrize("early", [0.0, 0.5, 1.0])
def test_waking_early_is_harmless(early: float) -> None:
    network = OverlayNetwork()
    first, _ = network.add_many(2)
    node = network.nodes[first]
    due = node.next_wake()
    assert due is not None
    assert node.wake(network.now + early * 0.001) == []


def test_joining_is_traced_when_the_newest_value_is_known() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    assert len(network.events(second, "joined")) == 1
    network.kill(first)
    network.run(400)
    assert not network.nodes[second].joined(TEXT)
    again = network.add(first)
    network.feed(again, Join(TEXT))
    network.feed(again, Subscribe(TEXT))
    network.run(60)
    assert len(network.events(second, "joined")) == 2
