"""Joining a topic: from one address to a table, and back after everybody was gone."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.bep50.effects import Contact, ContactEnded
from rumormill.bep50.overlay.parameters import OverlayParameters
from rumormill.bep50.wire.addresses import compact
from rumormill.bep50.wire.node_ids import shared_prefix
from rumormill.core.machine import Subscribe, Unsubscribe
from tests.helpers.bep50.overlay_network import (
    OTHER_TOPIC,
    TOPIC,
    OverlayNetwork,
    address_of,
    value_of,
)

TEXT = TOPIC.text


def test_nine_nodes_that_know_only_the_first_become_a_full_mesh() -> None:
    network = OverlayNetwork()
    addresses = network.add_many(9)
    for address in addresses:
        node = network.nodes[address]
        assert set(node.subscribers(TEXT)) == set(addresses) - {address}
        assert node.joined(TEXT)


def test_nodes_that_begin_at_the_same_instant_find_each_other() -> None:
    network = OverlayNetwork()
    first = network.add()
    others = [network.add(contacts=[first]) for _ in range(5)]
    network.run(30)
    for address in others:
        assert len(network.nodes[address].subscribers(TEXT)) == 5


def test_in_a_larger_network_each_node_knows_those_nearest_to_it() -> None:
    network = OverlayNetwork()
    addresses = network.add_many(60)
    ids = {address: network.nodes[address].id for address in addresses}
    for address, own in ids.items():
        table = network.nodes[address].subscribers(TEXT)
        nearest = sorted(
            (int.from_bytes(id, "big") ^ int.from_bytes(own, "big"), other)
            for other, id in ids.items()
            if other != address
        )
        assert sum(other in table for _, other in nearest[:4]) >= 3
        assert any(shared_prefix(ids[other], own) == 0 for other in table)
        assert len(table) < 30


def test_a_joiner_is_not_joined_before_it_knows_the_newest_value() -> None:
    network = OverlayNetwork()
    addresses = network.add_many(4)
    network.publish(addresses[1], b"seven")
    network.run(2)
    newcomer = network.add(contacts=[addresses[3]])
    node = network.nodes[newcomer]
    for _ in range(100):
        if node.joined(TEXT):
            break
        network.run(0.01)
    latest = node.latest(TEXT)
    assert latest is not None and latest.value == b"5:seven"
    assert network.texts(newcomer) == ["seven"]


def test_who_waits_for_the_check_of_a_newer_value_has_not_joined_yet() -> None:
    network = OverlayNetwork()
    first = network.add()
    network.publish(first, b"x")
    network.hold_checks = True
    second = network.add(contacts=[first])
    network.run(10)
    assert network.held and not network.nodes[second].joined(TEXT)
    network.hold_checks = False
    network.release()
    assert network.nodes[second].joined(TEXT)
    assert len(network.events(second, "joined")) == 1


def test_who_waits_for_a_newer_value_has_not_joined_yet_but_does_not_wait_for_ever() -> None:
    network = OverlayNetwork()
    first = network.add()
    network.publish(first, b"x")
    network.loses = lambda source, target, packet: b"3:sig64" in packet
    second = network.add(contacts=[first])
    network.run(1.5)
    assert first in network.nodes[second].peers() and not network.nodes[second].joined(TEXT)
    network.run(10)
    assert network.nodes[second].joined(TEXT)


def test_a_node_with_nobody_is_not_joined() -> None:
    network = OverlayNetwork()
    alone = network.add(contacts=[address_of(99)])
    network.run(60)
    assert not network.nodes[alone].joined(TEXT)
    network.forget()
    network.run(3600)
    assert 100 <= len(network.queries(alone, "get")) <= 140, "it tries every half minute"


def test_dead_contacts_of_the_other_ip_family_do_not_hold_a_node_up() -> None:
    network = OverlayNetwork()
    first = network.add()
    second = network.add(contacts=[first, "[2001:db8::9]:6881"])
    network.run(10)
    assert network.nodes[second].joined(TEXT)


def test_a_contact_that_is_no_member_is_told_as_such() -> None:
    network = OverlayNetwork()
    stranger = network.add(subscribe=[OTHER_TOPIC])
    asker = network.add(contacts=[stranger, address_of(99)])
    network.run(10)
    assert network.of_type(asker, ContactEnded) == [
        ContactEnded(stranger, TOPIC.target, "unknown_topic"),
        ContactEnded(address_of(99), TOPIC.target, "no_answer"),
    ]


def test_a_contact_that_is_a_member_is_told_once() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.run(400)
    assert network.of_type(second, ContactEnded) == [ContactEnded(first, TOPIC.target, "")]


def test_a_node_of_the_main_dht_is_no_member_though_it_answers() -> None:
    network = OverlayNetwork()
    plain = "10.5.5.5:6881"
    asker = network.add(contacts=[plain])
    query = network.queries(asker, "get", plain)[0]
    network.send(plain, asker, {b"r": {b"id": b"p" * 20}, b"t": query[b"t"], b"y": b"r"})
    assert network.of_type(asker, ContactEnded) == [
        ContactEnded(plain, TOPIC.target, "not_a_member")
    ]
    assert not network.nodes[asker].subscribers(TEXT)


def test_an_answer_with_another_topic_is_none() -> None:
    network = OverlayNetwork()
    liar = "10.5.5.5:6881"
    asker = network.add(contacts=[liar], subscribe=[TOPIC, OTHER_TOPIC])
    query = next(each for each in network.queries(asker, "get", liar) if each[b"c"] == TOPIC.target)
    answer = {b"r": {b"id": b"p" * 20}, b"t": query[b"t"], b"y": b"r", b"c": OTHER_TOPIC.target}
    network.send(liar, asker, answer)
    assert not network.nodes[asker].peers()


def test_an_answer_from_another_address_is_none() -> None:
    network = OverlayNetwork()
    asker = network.add(contacts=["10.5.5.5:6881"])
    query = network.queries(asker, "get")[0]
    answer = {b"r": {b"id": b"p" * 20}, b"t": query[b"t"], b"y": b"r", b"c": TOPIC.target}
    network.send("10.5.5.6:6881", asker, answer)
    assert not network.nodes[asker].peers()
    network.send("10.5.5.5:6881", asker, answer)
    assert network.nodes[asker].peers() == ("10.5.5.5:6881",)


def test_contacts_are_tried_again_until_somebody_is_there() -> None:
    network = OverlayNetwork()
    late = address_of(50)
    early = network.add(contacts=[late])
    network.run(300)
    network.add(late)
    network.run(45)
    assert network.nodes[early].joined(TEXT)
    assert set(network.nodes[early].subscribers(TEXT)) == {late}


@pytest.mark.parametrize("number", [0, 2], ids=["without contacts", "with contacts"])
def test_who_lost_all_its_neighbours_finds_those_who_come_back(number: int) -> None:
    network = OverlayNetwork()
    addresses = network.add_many(5)
    survivor = addresses[number]
    dead = {address: network.kill(address) for address in addresses if address != survivor}
    network.run(700)
    assert not network.nodes[survivor].subscribers(TEXT)
    network.nodes.update(dead)
    network.forget()
    for other in dead:  # they do not begin: they forgot everybody
        network.nodes[other].handle(Unsubscribe(TEXT), network.now)
        network.nodes[other].handle(Subscribe(TEXT), network.now)
    network.run(60)
    assert network.nodes[survivor].joined(TEXT)


def test_two_parts_of_a_network_find_together_after_a_partition() -> None:
    network = OverlayNetwork()
    addresses = network.add_many(12)
    left = set(addresses[:6])
    network.loses = lambda source, target, packet: (source in left) != (target in left)
    network.run(900)
    for address in addresses:
        assert {each in left for each in network.nodes[address].subscribers(TEXT)} == {
            address in left
        }
    network.publish(addresses[0], b"on the left")
    network.run(5)
    network.loses = lambda source, target, packet: False
    network.run(600)
    assert all(network.texts(address) == ["on the left"] for address in addresses)
    assert any(
        each not in left for address in left for each in network.nodes[address].subscribers(TEXT)
    )


def test_contacts_given_before_a_topic_is_joined_are_used_for_it() -> None:
    network = OverlayNetwork()
    first = network.add()
    second = network.add(subscribe=[])
    network.feed(second, Contact(None, (first,)))
    network.run(5)
    network.feed(second, Subscribe(TEXT))
    network.run(5)
    assert network.nodes[second].joined(TEXT)


def test_who_leaves_a_topic_is_taken_out_of_the_tables() -> None:
    network = OverlayNetwork()
    first, second, third = network.add_many(3)
    network.feed(second, Unsubscribe(TEXT))
    assert network.nodes[second].topics == ()
    network.run(300)
    assert set(network.nodes[first].subscribers(TEXT)) == {third}
    assert network.nodes[second].next_wake() is None


def test_a_table_is_built_over_ipv6_too_and_the_item_is_one_for_both() -> None:
    network = OverlayNetwork()
    both = network.add("10.0.0.1:6881")
    network.aliases["[2001:db8::1]:6881"] = both
    four = network.add("10.0.0.4:6881", contacts=[both])
    six = network.add("[2001:db8::2]:6881", contacts=["[2001:db8::1]:6881"])
    network.run(5)
    assert set(network.nodes[six].subscribers(TEXT)) == {"[2001:db8::1]:6881"}
    assert set(network.nodes[both].subscribers(TEXT)) == {four, six}
    network.publish(four, b"over both")
    network.run(3)
    assert network.texts(six) == network.texts(both) == ["over both"]


def test_nodes_of_answers_are_kept_apart_by_family() -> None:
    network = OverlayNetwork()
    addresses = network.add_many(3)
    asker = "10.7.7.7:1"
    get: dict[bytes, Any] = {
        b"a": {b"id": b"a" * 20, b"target": TOPIC.target},
        b"q": b"get",
        b"y": b"q",
    }
    network.send(asker, addresses[0], {**get, b"c": TOPIC.target, b"t": b"aa"})
    answer = next(each for each in network.sent(addresses[0], asker) if b"r" in each)
    assert b"nodes" in answer[b"r"] and b"nodes6" not in answer[b"r"]
    network.send("[2001:db8::7]:1", addresses[0], {**get, b"c": TOPIC.target, b"t": b"aa"})
    answer = next(each for each in network.sent(addresses[0], "[2001:db8::7]:1") if b"r" in each)
    assert b"nodes6" in answer[b"r"] and b"nodes" not in answer[b"r"]


def test_a_table_that_answers_name_holds_the_asked_target_near_not_the_topic() -> None:
    """``get`` names the same nodes to all, so tables are built with ``find_node``."""
    network = OverlayNetwork()
    addresses = network.add_many(20)
    targets = {
        query[b"a"][b"target"]
        for address in addresses
        for query in network.queries(address, "find_node")
    }
    assert {network.nodes[address].id for address in addresses[1:]} <= targets
    assert TOPIC.target not in targets


def test_who_is_asked_names_up_to_eight_nodes_though_k_is_one() -> None:
    network = OverlayNetwork()
    network.add_many(30)
    counts = [
        len(value_of(packet)[b"r"].get(b"nodes", b"")) // 26
        for _, _, _, packet in network.packets
        if b"1:rd" in packet
    ]
    assert max(counts) == 8
    assert OverlayParameters().bucket_size == 1


def test_equal_seeds_give_equal_traces() -> None:
    def run() -> list[object]:
        network = OverlayNetwork(seed=5)
        addresses = network.add_many(12)
        network.publish(addresses[3], b"again")
        network.run(300)
        return [network.packets, dict(network.effects)]

    assert run() == run()


def test_bep_42_can_be_enforced() -> None:
    network = OverlayNetwork()
    stranger = network.add("93.184.216.34:6881")
    strict = network.add("93.184.216.35:6881", contacts=[stranger], enforce_bep42=True)
    network.run(5)
    assert not network.nodes[strict].subscribers(TEXT)
    tolerant = network.add("93.184.216.36:6881", contacts=[stranger])
    network.run(5)
    assert stranger in network.nodes[tolerant].subscribers(TEXT)


def test_peers_tell_a_node_its_address() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    answers = [packet for packet in network.sent(first, second) if packet[b"y"] == b"r"]
    assert answers and {packet[b"ip"] for packet in answers} == {compact(second)}


@pytest.mark.parametrize("away", [1.0, 4.0, 20.0])
def test_a_node_that_comes_back_at_its_address_is_pushed_to_again_at_once(away: float) -> None:
    network = OverlayNetwork()
    addresses = network.add_many(5)
    gone = addresses[4]
    dead = network.kill(gone)
    for number in range(int(away)):
        network.publish(addresses[0], b"%d" % number)
        network.run(1)
    network.add(gone, id=dead.id, contacts=addresses[:1])
    network.run(3)
    assert all(gone in network.nodes[each].subscribers(TEXT) for each in addresses[:4])
    network.forget()
    network.publish(addresses[0], b"back")
    network.run(1)
    assert network.texts(gone) == ["back"]


def test_what_is_left_of_a_large_network_becomes_a_full_mesh_again() -> None:
    network = OverlayNetwork()
    addresses = network.add_many(40)
    for address in addresses[7:]:
        network.kill(address)
    network.run(1800)
    for address in addresses[:7]:
        assert set(network.nodes[address].subscribers(TEXT)) == set(addresses[:7]) - {address}
