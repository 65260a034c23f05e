"""Messages between nodes of several hops: relayed, as the drawings have it, and not."""

from __future__ import annotations

import pytest

from rumormill.bcos.effects import Multicast
from rumormill.bcos.node.relay import Relay
from rumormill.bcos.wire.p2p_packet import Module
from rumormill.core.machine import Deliver
from tests.helpers.bcos.nodes import Nodes, id_of


def delivered(network: Nodes, names: str) -> dict[str, int]:
    return {name: len(network.of(name, Deliver)) for name in names}


def amop_packets(network: Nodes) -> list[tuple[str, str]]:
    return [(s.source, s.destination) for s in network.sent if s.p2p.protocol == Module.AMOP]


def ring(network: Nodes, names: str) -> None:
    network.line(names + names[0])


def nodes(names: str, relay: bool) -> Nodes:
    network = Nodes()
    network.start(names, relay=relay)
    return network


@pytest.mark.parametrize("everywhere", [False, True])
def test_a_relayed_message_reaches_all_in_a_ring_once(everywhere: bool) -> None:
    network = nodes("abcdef", relay=True)
    ring(network, "abcdef")
    for name in "bcdef":
        network.subscribe(name, "news")
    network.run_accepting(1.0)
    network.sent.clear()
    network.feed("a", Multicast(1, "news", b"hello", 5.0, everywhere))
    network.run_accepting(2.0)
    assert delivered(network, "bcdef") == dict.fromkeys("bcdef", 1)
    assert len(amop_packets(network)) <= 2 * 6


def test_a_relayed_message_in_a_full_mesh_ends() -> None:
    network = nodes("abcd", relay=True)
    network.mesh("abcd")
    for name in "abcd":
        network.subscribe(name, "news")
    network.run_accepting(1.0)
    network.sent.clear()
    network.feed("a", Multicast(1, "news", b"hello", 5.0))
    network.run_accepting(2.0)
    assert delivered(network, "bcd") == dict.fromkeys("bcd", 1)
    # The drawing: A to B, C, D; each of them to those that it did not come from.
    packets = amop_packets(network)
    assert [each for each in packets if each[0] == "a"] == [("a", "b"), ("a", "c"), ("a", "d")]
    assert len(packets) == 3 + 3 * 2
    assert not [each for each in packets if each[1] == "a"]


def test_without_relay_a_message_goes_one_hop() -> None:
    network = nodes("abc", relay=False)
    network.line("abc")
    network.subscribe("b", "news")
    network.subscribe("c", "news")
    network.run_accepting(1.0)
    network.feed("a", Multicast(1, "news", b"hello", 5.0))
    network.run_accepting(1.0)
    assert delivered(network, "bc") == {"b": 1, "c": 0}
    assert amop_packets(network) == [("a", "b")]


@pytest.mark.parametrize("everywhere", [False, True])
def test_a_message_of_a_private_topic_is_not_relayed(everywhere: bool) -> None:
    network = nodes("abc", relay=True)
    network.line("abc")
    topic = "#!$TopicNeedVerify_secret"
    for name in "bc":
        network.own(name, [topic])
    network.run_accepting(1.0)
    peers = network.node("b").peers
    assert list(peers.holders(topic)) == [id_of("c")]
    assert list(peers.relay_targets(topic, id_of("a"), everywhere)) == []
    assert list(peers.relay_targets("news", id_of("a"), True)) == [id_of("c")]


def test_the_memory_of_messages_is_bounded() -> None:
    relay = Relay(most=100)
    for number in range(1000):
        assert not relay.seen(b"%d" % number, now=0.0)
    assert len(relay) <= 101
    assert relay.seen(b"999", now=1.0)
    relay.seen(b"new", now=1000.0)
    assert len(relay) == 1
