"""Bounds: whatever peers send, and however long it lasts, a node's tables stay small."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.bep50.effects import Contact, Join, Publish
from rumormill.bep50.wire.addresses import NodeInfo, compact_nodes
from rumormill.bep50.wire.bencode import encode
from rumormill.bep50.wire.keys import ItemKey
from rumormill.bep50.wire.topics import TopicName
from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Checked, Received, Subscribe, Unsubscribe, Verdict
from tests.helpers.bep50.overlay_network import KEY, OTHER_TOPIC, TOPIC, OverlayNetwork, value_of

TEXT = TOPIC.text


def test_topics_are_bounded() -> None:
    network = OverlayNetwork()
    node = network.add(subscribe=[], most_topics=3)
    for number in range(3):
        network.feed(node, Join(TopicName(KEY.public_key, b"%d" % number).text))
    with pytest.raises(LocalProtocolError, match="most_topics"):
        network.feed(node, Subscribe(TEXT))
    network.feed(node, Unsubscribe(TopicName(KEY.public_key, b"1").text))
    network.feed(node, Subscribe(TEXT))
    assert network.nodes[node].sizes()["topics"] == 3


def test_contacts_are_bounded_and_asked_a_few_at_a_time() -> None:
    network = OverlayNetwork()
    node = network.add(most_contacts=200)
    peers = tuple(f"10.7.{number // 250}.{number % 250 + 1}:6881" for number in range(500))
    network.feed(node, Contact(TOPIC.target, peers))
    assert len(network.queries(node, "get")) == 64
    sizes = network.nodes[node].sizes()
    assert sizes["overlay_contacts"] == sizes["overlay_owed"] == 200
    network.run(1.1)
    assert {"what": "contact", "reason": "too_many", "count": 300} in [
        each.fields for each in network.events(node, trace.DROPPED)
    ]


def test_queries_on_their_way_are_bounded() -> None:
    network = OverlayNetwork()
    node = network.add(most_queries=10)
    peers = tuple(f"10.7.0.{number}:6881" for number in range(1, 60))
    network.feed(node, Contact(TOPIC.target, peers))
    assert network.nodes[node].sizes()["overlay_queries"] == 10
    network.run(2)
    reasons = [each.fields["reason"] for each in network.events(node, trace.DROPPED)]
    assert reasons == ["queries_full"]


def test_items_under_check_are_bounded() -> None:
    network = OverlayNetwork()
    node = network.add(most_checks=8)
    network.hold_checks = True
    machine = network.nodes[node]
    topic = machine.topic_nodes[TOPIC.target]
    for number in range(1, 30):
        machine.checks.put(topic, KEY.item(b"", number, b"1:x"), f"10.6.0.{number}:1", b"tt")
    assert len(machine.checks) == 8
    machine.handle(Unsubscribe(TEXT), network.now)
    assert machine.checks.sizes() == {"checks": 0, "waiting": 0}


def test_a_verdict_that_comes_after_the_topic_was_left_is_harmless() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.hold_checks = True
    network.publish(first, b"x")
    network.run(0.2)
    assert network.held
    network.feed(second, Unsubscribe(TEXT))
    network.release()
    assert network.nodes[second].topics == () and network.texts(second) == []


def test_when_a_network_is_quiet_nothing_is_left_under_way() -> None:
    network = OverlayNetwork()
    addresses = network.add_many(15)
    network.publish(addresses[0], b"x" * 600)
    network.run(100)
    for address in addresses:
        sizes = network.nodes[address].sizes()
        assert sizes["overlay_queries"] == sizes["overlay_lookups"] == sizes["overlay_owed"] == 0
        assert sizes["overlay_asking"] == sizes["checks"] == sizes["awaited"] == 0


def test_nodes_that_come_and_go_leave_nothing_behind() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    for number in range(60):
        passer = network.add(f"10.5.0.{number + 1}:6881", contacts=[first])
        network.run(5)
        network.kill(passer)
        network.run(5)
    network.run(700)
    node = network.nodes[first]
    sizes = node.sizes()
    assert set(node.peers()) == {second}
    assert sizes["peers"] == sizes["overlay_entries"] == 1
    assert sizes["overlay_former"] <= 32 and sizes["overlay_asking"] == 0
    assert sizes["timers"] <= 2


def test_a_thousand_topics_that_are_joined_and_left_leave_nothing_behind() -> None:
    network = OverlayNetwork()
    first = network.add(subscribe=[])
    second = network.add(subscribe=[], contacts=[first])
    for number in range(200):
        topic = TopicName(KEY.public_key, b"%d" % number)
        for address in (first, second):
            network.feed(address, Subscribe(topic.text))
        network.feed(second, Contact(topic.target, (first,)))
        network.run(0.5)
        network.publish(first, b"x", topic)
        network.run(0.5)
        for address in (first, second):
            network.feed(address, Unsubscribe(topic.text))
    assert len(network.texts(second)) == 200
    network.run(5)
    for address in (first, second):
        sizes = network.nodes[address].sizes()
        assert {key for key, count in sizes.items() if count} <= {
            "accounts", "contacts", "proofs", "sights",
        }  # fmt: skip


# ---- whatever comes

ids = st.sampled_from([b"a" * 20, b"b" * 20, TOPIC.target, bytes(20)])
words = st.sampled_from([b"put", b"get", b"ping", b"find_node", b"get_peers", b"x"])
values = st.recursive(
    st.integers(-3, 3) | st.binary(max_size=8) | ids,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.binary(max_size=3), inner),
    max_leaves=4,
)
arguments = st.fixed_dictionaries(
    {b"id": ids},
    optional={
        b"target": ids | values,
        b"token": st.binary(max_size=8) | values,
        b"seq": st.integers(-1, 2**63) | values,
        b"cas": values,
        b"k": st.just(KEY.public_key) | values,
        b"sig": st.binary(min_size=64, max_size=64) | values,
        b"salt": values,
        b"v": values,
        b"want": values,
        b"nodes": st.binary(max_size=60) | values,
        b"nodes6": st.binary(max_size=80) | values,
    },
)
packets = st.fixed_dictionaries(
    {b"t": st.binary(max_size=5), b"y": st.sampled_from([b"q", b"r", b"e"])},
    optional={
        b"a": arguments | values,
        b"c": st.sampled_from([TOPIC.target, OTHER_TOPIC.target]) | values,
        b"e": st.lists(values, max_size=3) | values,
        b"q": words | values,
        b"r": arguments | values,
        b"ip": values,
        b"ro": values,
    },
)


@given(
    st.lists(
        st.tuples(packets, st.booleans(), st.sampled_from(["10.1.1.1:1", "10.1.1.2:1", "[::5]:1"])),
        max_size=12,
    ),
    st.integers(0, 3),
)
def test_no_packet_raises_and_none_makes_a_node_forget_its_value(
    told: list[tuple[dict[bytes, Any], bool, str]], seed: int
) -> None:
    network = OverlayNetwork(seed=seed)
    node = network.add(contacts=["10.1.1.1:1", "[::5]:1"])
    network.publish(node, b"kept")
    for packet, as_answer, source in told:
        if as_answer:  # to a query that was really asked
            asked = network.sent(node, source)
            if asked:
                packet[b"t"] = Random(seed).choice(asked)[b"t"]
        network.send(source, node, encode(packet))
        network.run(0.5)
    network.run(5)
    item = network.nodes[node].latest(TEXT)
    assert item is not None and item.value == b"4:kept"


@given(st.binary(max_size=200))
def test_any_bytes_are_taken_without_a_word(raw: bytes) -> None:
    network = OverlayNetwork()
    node = network.add()
    network.feed(node, Received("10.1.1.1:1", raw))
    network.run(2)


def test_verdicts_that_nobody_waits_for_are_harmless() -> None:
    network = OverlayNetwork()
    node = network.add()
    network.feed(node, Checked(77, Verdict.ACCEPT))
    assert network.effects[node][-1] is not None


def test_an_input_that_is_none_is_our_callers_fault() -> None:
    network = OverlayNetwork()
    node = network.add()
    with pytest.raises(LocalProtocolError, match="knows no input int"):
        network.feed(node, 7)
    with pytest.raises(LocalProtocolError):
        network.feed(node, Contact(None, ("nonsense",)))


def test_two_publishers_of_one_topic_end_with_the_same_value() -> None:
    network = OverlayNetwork(seed=9)
    addresses = network.add_many(20, keys=[KEY, ItemKey.from_seed(b"2" * 32)])
    for number in range(10):
        network.feed(addresses[1], Publish(TEXT, b"1:a"))
        network.run(0.02 * number)
        network.feed(addresses[2], Publish(TEXT, b"1:b"))
        network.run(1)
    network.run(600)
    newest = {network.nodes[address].latest(TEXT) for address in addresses}
    assert len({item.seq for item in newest if item is not None}) == 1


def test_liars_about_nodes_do_not_fill_the_searches() -> None:
    network = OverlayNetwork()
    liar = "10.4.4.4:1"
    node = network.add(contacts=[liar])
    random = Random(1)
    for _ in range(300):
        for query in network.sent(node, liar)[-3:]:
            nodes = [
                NodeInfo(random.randbytes(20), f"10.3.{random.randrange(256)}.{port}:1")
                for port in range(1, 17)
            ]
            answer = {b"id": b"l" * 20, b"nodes": compact_nodes(nodes), b"token": b"t"}
            packet = {b"r": answer, b"t": query[b"t"], b"y": b"r", b"c": TOPIC.target}
            network.send(liar, node, packet)
        network.run(1)
    sizes = network.nodes[node].sizes()
    assert sizes["overlay_lookup_nodes"] <= 4 * 128 and sizes["overlay_tried"] <= 1024
    assert sizes["overlay_queries"] <= 4096 and len(network.packets) < 30 * 300
    assert value_of(network.packets[0][3])[b"y"] == b"q"
