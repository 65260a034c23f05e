"""The whole machine: overlays, publications and the main DHT, side by side in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.bep50.effects import Bootstrap, Contact, ContactEnded, Drain, Drained
from rumormill.bep50.main_dht.effects import ItemRead, ReadItem, TableSize, WriteItem
from rumormill.bep50.wire.bencode import encode
from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Deliver, Subscribe, Unsubscribe
from rumormill.core.trace import TraceEvent
from tests.helpers.bep50.machine_network import MachineNetwork
from tests.helpers.bep50.overlay_network import KEY, LATENCY, TOPIC

TEXT = TOPIC.text
SESSION = {"main_dht_pause": 0.1}


def copies(network: MachineNetwork) -> list[int]:
    """The numbers of the values that nodes of the main DHT hold."""
    return [node.item.seq for node in network.dht.nodes if node.item is not None]


# ---- the main DHT


def test_members_find_each_other_on_the_main_dht() -> None:
    network = MachineNetwork(dht=20)
    nodes = [network.start(main_dht=True) for _ in range(4)]
    network.run(60.0)
    for node in nodes:
        others = set(nodes) - {node}
        assert set(network.machine(node).subscribers(TEXT)) == others


def test_what_is_published_is_on_the_main_dht_too() -> None:
    network = MachineNetwork(dht=20)
    node = network.start(main_dht=True, session=SESSION)
    token = network.publish_value(node, b"rain")
    network.run(5.0)
    receipt = network.done(node, token).receipt
    assert receipt.fields == {"seq": 1, "stored": 8}
    assert copies(network) == [1] * 8


def test_a_publisher_that_forgot_everything_goes_on_with_the_next_number() -> None:
    network = MachineNetwork(dht=20)
    for node in network.dht.nearest(TOPIC.target)[:8]:
        node.item = KEY.item(b"", 4, encode(b"old"))
    publisher = network.start(main_dht=True)
    token = network.publish_value(publisher, b"new")
    network.run(8.0)
    assert network.done(publisher, token).receipt.fields == {"seq": 5, "stored": 8}
    assert copies(network) == [5] * 8


def test_a_value_that_others_put_there_is_delivered() -> None:
    network = MachineNetwork(dht=20)
    for node in network.dht.nearest(TOPIC.target)[:8]:
        node.item = KEY.item(b"", 4, encode(b"old"))
    reader = network.start(main_dht=True)
    network.run(5.0)
    assert network.texts(reader) == ["old"]


def test_with_a_main_dht_nobody_need_be_ready() -> None:
    network = MachineNetwork(dht=20)
    node = network.start(main_dht=True)
    token = network.publish_value(node, b"rain", ready=2.0)
    network.run(1.9)
    assert network.end_of(node, token) is None
    network.run(6.0)
    assert network.done(node, token).receipt.fields == {"seq": 1, "stored": 8}


def test_a_dht_that_is_not_there_costs_its_time_and_no_more() -> None:
    network = MachineNetwork()
    node = network.start(main_dht=True)
    token = network.publish_value(node, b"rain", timeout=2.0)
    network.run(1.9)
    assert network.end_of(node, token) is None, "it has not been read"
    network.run(2.2)
    assert network.done(node, token).receipt.fields == {"seq": 1, "stored": 0}


def test_a_publication_that_a_neighbour_took_does_not_wait_for_the_main_dht() -> None:
    network = MachineNetwork(dht=20)
    first, second = network.start(main_dht=True), network.start()
    network.feed(second, Bootstrap((first,)))
    network.run(10.0)
    for node in network.dht.nodes:
        node.silent = True
    token = network.publish_value(first, b"rain")
    network.run(3 * LATENCY)
    assert network.done(first, token).receipt.reached == (second,)


def test_a_topic_that_was_left_is_announced_no_more() -> None:
    network = MachineNetwork(dht=5)
    node = network.start(main_dht=True)
    network.run(10.0)
    network.feed(node, Unsubscribe(TEXT))
    network.forget()
    network.run(5000.0)
    assert network.packets == []
    assert network.machine(node).next_wake() is None


def test_the_clients_business_stays_inside() -> None:
    network = MachineNetwork(dht=10)
    node = network.start(main_dht=True)
    network.publish_value(node, b"rain")
    network.run(100.0)
    inside = (ReadItem, WriteItem, ItemRead, Contact, ContactEnded)
    assert not [each for each in network.effects[node] if isinstance(each, inside)]


def test_without_the_main_dht_its_inputs_are_the_callers_mistake() -> None:
    network = MachineNetwork()
    with pytest.raises(LocalProtocolError, match="does not use the main DHT"):
        network.feed(network.start(), TableSize(3))


def test_all_parts_have_the_same_name_in_traces() -> None:
    network = MachineNetwork(dht=5)
    node = network.start(main_dht=True)
    network.run(100.0)
    events = network.of_type(node, TraceEvent)
    assert {event.event for event in events} >= {"subscribed", "main_dht_announced"}
    assert {event.node for event in events} == {node}


# ---- closing


def test_with_nothing_on_its_way_it_is_drained_at_once() -> None:
    network = MachineNetwork()
    node = network.start()
    assert Drained(True) in network.feed(node, Drain(5.0))


def test_what_is_on_its_way_to_neighbours_is_waited_for() -> None:
    network = MachineNetwork()
    first, second = network.start(), network.start()
    network.feed(second, Bootstrap((first,)))
    network.run(5.0)
    network.publish_value(first, b"x" * 900)
    network.feed(first, Drain(5.0))
    assert not network.of_type(first, Drained)
    network.run(1.0)
    assert network.of_type(first, Drained) == [Drained(True)]
    assert len(network.messages(second)) == 1


def test_what_waits_for_the_main_dht_is_put_without_a_pause() -> None:
    network = MachineNetwork(dht=20)
    node = network.start(main_dht=True, session={"main_dht_pause": 3600.0})
    for data in (b"one", b"two"):
        network.publish_value(node, data)
        network.run(5.0)
    network.feed(node, Drain(5.0))
    network.run(2.0)
    assert network.of_type(node, Drained) == [Drained(True)]
    assert copies(network) == [2] * 8


def test_closing_does_not_wait_for_ever() -> None:
    network = MachineNetwork()
    node = network.start(main_dht=True)
    network.publish_value(node, b"one", timeout=0.1)
    network.run(1.0)
    network.feed(node, Drain(5.0))
    network.run(4.9)
    assert not network.of_type(node, Drained)
    network.run(0.2)
    assert network.of_type(node, Drained) == [Drained(False)]


# ---- all in all


def test_equal_seeds_give_equal_traces() -> None:
    def run(seed: int) -> list[Any]:
        network = MachineNetwork(seed=seed, dht=15)
        nodes = [network.start(main_dht=True, session=SESSION) for _ in range(5)]
        network.loses = lambda by, to, packet: network.random.random() < 0.1
        network.run(40.0)
        for number in range(5):
            network.publish_value(nodes[number % 2], b"%d" % number, ready=5.0)
            network.run(2.0)
        network.run(2000.0)
        lines = [
            each.to_json_line() for node in nodes for each in network.of_type(node, TraceEvent)
        ]
        return [lines, network.packets]

    assert run(4) == run(4)
    assert run(4) != run(5)


def test_topics_that_come_and_go_leave_nothing_behind() -> None:
    network = MachineNetwork(dht=5)
    node = network.start(main_dht=True, subscribe=False)
    for _ in range(30):
        network.feed(node, Subscribe(TEXT))
        network.publish_value(node, b"x", timeout=0.5)
        network.run(1.0)
        network.feed(node, Unsubscribe(TEXT))
    network.run(60.0)
    sizes = network.machine(node).sizes()
    for table in ("topics", "publications", "reaching", "main_topics", "main_errands", "timers"):
        assert sizes[table] == 0, table
    assert len(network.of_type(node, Deliver)) >= 30
