"""The drawings of unicast, multicast and broadcast between nodes in the protocol's documents.

The relayed forms are drawn there, and are a setting; real nodes send one hop, as ours do by
default. A drawing leaves out what comes back to a node that has the message already.
"""

from __future__ import annotations

from rumormill.bcos.effects import Multicast, Unicast
from rumormill.bcos.wire.channel_packet import ChannelType, decode_channel
from rumormill.bcos.wire.p2p_packet import Module
from tests.helpers.bcos.nodes import Nodes, id_of

Step = tuple[str, str, int, int]
"""From whom to whom, protocol, and the type of what is inside."""


def steps(network: Nodes) -> list[Step]:
    return [
        (sent.source, sent.destination, packet.protocol, decode_channel(packet.payload).type)
        for sent in network.sent
        if abs((packet := sent.p2p).protocol) == Module.AMOP
    ]


def mesh(relay: bool) -> Nodes:
    network = Nodes()
    network.start("abcd", relay=relay)
    network.mesh("abcd")
    network.run_accepting(1.0)
    return network


def test_the_drawing_of_a_unicast() -> None:
    network = mesh(relay=False)
    for name in "bcd":
        network.subscribe(name, "news")
    network.run_accepting(1.0)
    network.sent.clear()
    # A: chooses among the nodes that are there, by node id
    network.feed("a", Unicast(1, "news", b"hello", 5.0, id_of("b")))
    network.run_accepting(1.0)
    assert steps(network) == [
        ("a", "b", 1, ChannelType.REQUEST),  # A to B: the message
        ("b", "a", -1, ChannelType.RESPONSE),  # B to A: the answer
    ]


def test_the_drawing_of_a_multicast() -> None:
    network = mesh(relay=True)
    for name in "bc":
        network.subscribe(name, "topic 1")
    network.run_accepting(1.0)
    network.subscribe("d", "topic 1")
    network.sever("a", "d", for_good=True)  # A does not see D, so that it chooses B and C
    network.run_accepting(1.0)
    network.sent.clear()
    network.feed("a", Multicast(1, "topic 1", b"hello", 5.0))
    network.run_accepting(1.0)
    drawn = [("a", "b"), ("a", "c"), ("b", "c"), ("b", "d"), ("c", "d")]
    went = [step[:2] for step in steps(network)]
    assert went[:2] == drawn[:2]
    assert [each for each in went if each in drawn] == drawn
    # Not drawn: C and D cannot know that the others have it.
    assert set(went) - set(drawn) <= {("c", "b"), ("d", "b"), ("d", "c")}
    assert len(went) == len(set(went))


def test_the_drawing_of_a_broadcast() -> None:
    network = mesh(relay=True)
    network.sent.clear()
    network.feed("a", Multicast(1, "nobody has this", b"hello", 5.0, everywhere=True))
    network.run_accepting(1.0)
    drawn = [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")]
    went = [step[:2] for step in steps(network)]
    assert [each for each in went if each in drawn] == drawn
    assert set(went) - set(drawn) <= {("c", "b"), ("d", "b"), ("d", "c")}
    assert len(went) == len(set(went))


def test_by_default_a_multicast_and_a_broadcast_go_one_hop() -> None:
    network = mesh(relay=False)
    for name in "bc":
        network.subscribe(name, "topic 1")
    network.run_accepting(1.0)
    network.sent.clear()
    network.feed("a", Multicast(1, "topic 1", b"hello", 5.0))
    network.feed("a", Multicast(2, "topic 1", b"hello", 5.0, everywhere=True))
    network.run_accepting(1.0)
    multicast = ChannelType.MULTICAST
    assert steps(network) == [("a", to, 1, multicast) for to in "bcbcd"]
