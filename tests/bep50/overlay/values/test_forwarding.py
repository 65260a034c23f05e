"""Passing on: who gets a value, over how many packets, and what if one is lost."""

from __future__ import annotations

import pytest

from rumormill.bep50.effects import Join
from rumormill.bep50.overlay.values.acknowledgements import ACKNOWLEDGED
from rumormill.core import trace
from rumormill.core.machine import Published, Received, Subscribe
from rumormill.core.receipt import Receipt
from tests.helpers.bep50.overlay_network import (
    OTHER_TOPIC,
    TOPIC,
    OverlayNetwork,
    address_of,
    count_puts,
    lose_puts_between,
)

TEXT = TOPIC.text


# ---- out to all


def test_a_value_reaches_every_node_of_a_network_in_which_nobody_knows_all() -> None:
    network = OverlayNetwork()
    addresses = network.add_many(40)
    assert max(len(network.nodes[each].subscribers(TEXT)) for each in addresses) < 39
    network.publish(addresses[17], b"rain at noon")
    network.run(3)
    assert all(network.texts(address) == ["rain at noon"] for address in addresses)


def test_the_receipt_names_the_whole_table() -> None:
    network = OverlayNetwork()
    first, second, third = network.add_many(3)
    network.publish(first, b"x")
    (published,) = network.of_type(first, Published)
    receipt: Receipt = published.receipt
    assert set(receipt.reached) == {second, third} and not receipt.queued and not receipt.dropped
    assert receipt.id == network.nodes[first].topic_nodes[TOPIC.target].message_id
    assert receipt.topic == TEXT


def test_a_value_is_put_to_each_entry_but_not_back_to_who_gave_it() -> None:
    network = OverlayNetwork()
    first, second, third = network.add_many(3)
    network.forget()
    network.publish(first, b"x")
    network.run(1)
    assert len(network.queries(first, "put")) == 2
    assert network.queries(second, "put", first) == []
    assert network.queries(third, "put", first) == []


def test_a_forwarded_put_is_a_query_of_our_own() -> None:
    network = OverlayNetwork()
    first, second, third = network.add_many(3)
    network.loses = lambda by, to, packet: (by, to) == (first, third)
    network.publish(first, b"x")
    network.run(1)
    (forwarded,) = network.queries(second, "put", third)
    (original,) = network.queries(first, "put", second)
    assert forwarded[b"a"][b"id"] == network.nodes[second].id
    assert forwarded[b"a"][b"token"] != original[b"a"][b"token"]
    assert forwarded[b"a"][b"sig"] == original[b"a"][b"sig"]
    assert forwarded[b"c"] == TOPIC.target


def test_topics_are_apart() -> None:
    network = OverlayNetwork()
    addresses = network.add_many(4, subscribe=[TOPIC, OTHER_TOPIC])
    network.publish(addresses[0], b"here", OTHER_TOPIC)
    network.run(1)
    for address in addresses:
        assert [message.topic for message in network.messages(address)] == [OTHER_TOPIC.text]
        assert network.nodes[address].latest(TEXT) is None


def test_who_has_joined_without_a_subscription_passes_on_and_keeps_but_is_not_bothered() -> None:
    network = OverlayNetwork()
    first = network.add()
    keeper = network.add(subscribe=[], contacts=[first])
    network.feed(keeper, Join(TEXT))
    network.run(5)
    network.publish(first, b"x")
    network.run(1)
    assert network.texts(keeper) == [] and network.nodes[keeper].latest(TEXT) is not None
    network.feed(keeper, Subscribe(TEXT))
    assert network.texts(keeper) == ["x"], "a new subscriber begins with the newest value"


# ---- how it is passed on


def test_a_small_value_is_put_at_once_and_a_large_one_asked_about_first() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.forget()
    network.publish(first, b"s" * 290)
    assert len(network.queries(first, "put")) == 1 and not network.queries(first, "get")
    network.run(1)
    network.forget()
    network.publish(first, b"l" * 310)
    assert len(network.queries(first, "get")) == 1 and not network.queries(first, "put")
    network.run(1)
    assert len(network.queries(first, "put")) == 1
    assert len(network.messages(second)) == 1


@pytest.mark.parametrize(("forward", "method"), [("put", "put"), ("get_first", "get")])
def test_how_a_value_is_passed_on_can_be_chosen(forward: str, method: str) -> None:
    network = OverlayNetwork()
    first, _ = network.add_many(2, forward=forward)
    network.forget()
    network.publish(first, b"x" * (900 if forward == "put" else 9))
    assert len(network.queries(first, method)) == 1 and len(network.sent(first)) == 1


def test_asking_first_saves_most_of_the_copies() -> None:
    copies = {}
    for forward in ("put", "get_first"):
        network = OverlayNetwork(seed=2)
        addresses = network.add_many(40, forward=forward)
        network.forget()
        network.publish(addresses[0], b"x")
        network.run(5)
        assert all(network.texts(address) == ["x"] for address in addresses)
        copies[forward] = count_puts(network) / 40
    assert copies["put"] > 8 and copies["get_first"] < copies["put"] / 2


def test_a_value_is_not_put_to_a_neighbour_whose_token_is_stale() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    entry = network.nodes[first].topic_nodes[TOPIC.target].overlays[0].table.entries[0]
    entry.token_at -= 1000
    network.forget()
    network.publish(first, b"x")
    assert not network.queries(first, "put") and len(network.queries(first, "get")) == 1
    network.run(1)
    assert network.texts(second) == ["x"]


def test_a_token_that_the_neighbour_does_not_know_any_more_is_renewed_once() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    entry = network.nodes[first].topic_nodes[TOPIC.target].overlays[0].table.entries[0]
    entry.token = b"nonsense"
    network.forget()
    network.publish(first, b"x")
    network.run(1)
    assert network.texts(second) == ["x"]
    assert len(network.queries(first, "put")) == 2
    assert [each.peer for each in network.events(first, ACKNOWLEDGED)] == [second]


# ---- losses


def test_a_put_that_is_lost_is_sent_once_more() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.forget()
    lost: list[bytes] = []

    def lose_the_first(by: str, to: str, packet: bytes) -> bool:
        if b"1:q3:put" in packet and not lost:
            lost.append(packet)
            return True
        return False

    network.loses = lose_the_first
    network.publish(first, b"x")
    network.run(1.9)
    assert network.texts(second) == []
    network.run(0.3)
    assert network.texts(second) == ["x"] and count_puts(network) == 2


def test_an_overtaken_value_is_not_sent_again() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.forget()
    lose_puts_between(network, first, second)
    network.publish(first, b"old")
    network.run(1)
    network.loses = lambda by, to, packet: False
    network.publish(first, b"new")
    network.run(5)
    assert network.texts(second) == ["new"] and count_puts(network) == 2


def test_a_neighbour_that_never_answers_leaves_the_table() -> None:
    network = OverlayNetwork()
    first, second, third = network.add_many(3)
    network.kill(second)
    network.publish(first, b"x")
    network.run(10)
    assert set(network.nodes[first].subscribers(TEXT)) == {third}
    (left,) = network.events(first, trace.PEER_LEFT)
    assert left.peer == second and left.fields["reason"] == "no_answer"


def test_with_a_tenth_of_the_packets_lost_everybody_has_the_newest_value() -> None:
    network = OverlayNetwork(seed=4)
    addresses = network.add_many(40)
    network.loses = lambda by, to, packet: network.random.random() < 0.1
    for number in range(10):
        network.publish(addresses[number], b"%d" % number)
        network.run(10)
        assert all(network.texts(address)[-1] == str(number) for address in addresses)


# ---- a slow neighbour


def test_a_neighbour_that_is_slow_to_answer_gets_only_the_newest_value() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2, most_in_flight=4)
    network.forget()
    for number in range(20):
        network.publish(first, b"%d" % number)
    assert len(network.queries(first, "put")) == 4
    network.run(1)
    assert len(network.queries(first, "put")) == 5
    assert network.texts(second) == ["0", "1", "2", "3", "19"]


def test_addresses_without_a_node_are_harmless() -> None:
    network = OverlayNetwork()
    node = network.add(contacts=[address_of(200)])
    network.feed(node, Received(address_of(201), b""))
    network.run(1)
    assert network.nodes[node].peers() == ()
