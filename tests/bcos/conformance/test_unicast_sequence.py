"""The drawing of a unicast of AMOP in the protocol's documents, packet by packet.

Node 0 is ``a``, node 1 is ``b``.
"""

from __future__ import annotations

from rumormill.bcos.wire.channel_packet import ChannelPacket, ChannelType
from tests.helpers.bcos.nodes import Nodes
from tests.helpers.bcos.scripted_sdk import (
    add_sdk,
    carries,
    carries_back,
    lines,
    response,
    seq,
    subscribe,
    topic_list,
    topic_question,
    topic_seq,
    unicast,
)


def connected() -> Nodes:
    network = Nodes()
    network.start("ab")
    network.dial("b", "a")
    add_sdk(network, "subscriber", "a")
    add_sdk(network, "publisher", "b")
    network.run(1.0)
    lines(network)
    return network


def test_the_drawing_of_a_unicast() -> None:
    network = connected()
    network.feed("subscriber", subscribe("topic1"))
    network.run(1.0)
    assert lines(network) == [
        ("subscriber", "a", subscribe("topic1")),  # subscribes topic1, 0x32
        ("a", "b", topic_seq(1)),  # node 0 has changed its list of topics
        ("b", "a", topic_question(2)),  # node 1 asks for the list
        ("a", "b", topic_list(2, 1, "topic1")),  # node 0 answers
    ]
    message, answer = unicast(7, "topic1", b"hello"), response(7, "topic1", b"")
    network.feed("publisher", message)
    network.run(1.0)
    assert lines(network) == [
        ("publisher", "b", message),  # a unicast to topic1, 0x30
        ("b", "a", carries(3, message)),  # passed on by the node
        ("a", "subscriber", message),  # passed on by the node
        ("subscriber", "a", answer),  # the answer, 0x31
        ("a", "b", carries_back(3, answer)),  # passed on by the node
        ("b", "publisher", answer),  # passed on by the node
    ]


def test_without_a_subscriber_the_publisher_gets_100() -> None:
    network = connected()
    network.feed("publisher", unicast(7, "topic1", b"hello"))
    network.run(1.0)
    assert lines(network) == [
        ("publisher", "b", unicast(7, "topic1", b"hello")),
        ("b", "publisher", ChannelPacket(ChannelType.RESPONSE, seq(7), 100)),
    ]


def test_of_several_subscribers_one_is_chosen_at_random() -> None:
    network = Nodes()
    network.start("abc")
    network.mesh("abc")
    subscribers = [add_sdk(network, f"s{number}", node) for number, node in enumerate("aab")]
    add_sdk(network, "publisher", "c")
    network.run(1.0)
    for number in range(3):
        network.feed(f"s{number}", subscribe("topic1"))
    network.run(1.0)
    for number in range(100):
        network.feed("publisher", unicast(number, "topic1", b""))
    network.run(1.0)
    counts = [len(subscriber.got) for subscriber in subscribers]
    assert sum(counts) == 100
    assert min(counts) > 10
