"""The drawing of a multicast of AMOP in the protocol's documents, packet by packet.

Nodes 0, 1 and 2 are ``a``, ``b`` and ``c``.
"""

from __future__ import annotations

from tests.helpers.bcos.nodes import Nodes
from tests.helpers.bcos.scripted_sdk import (
    add_sdk,
    carries,
    lines,
    multicast,
    response,
    subscribe,
    topic_list,
    topic_question,
    topic_seq,
)


def connected() -> Nodes:
    network = Nodes()
    network.start("abc")
    network.dial("b", "a")
    network.dial("c", "a", "b")
    add_sdk(network, "subscriber0", "a")
    add_sdk(network, "subscriber1", "b")
    add_sdk(network, "publisher", "c")
    network.run(1.0)
    lines(network)
    return network


def test_the_drawing_of_a_multicast() -> None:
    network = connected()
    network.feed("subscriber0", subscribe("topic1"))
    network.run(1.0)
    assert lines(network) == [
        ("subscriber0", "a", subscribe("topic1")),  # subscribes topic1, 0x32
        ("a", "b", topic_seq(1)),  # node 0 has changed its list of topics
        ("a", "c", topic_seq(1)),
        ("b", "a", topic_question(2)),  # node 1 asks for the list
        ("c", "a", topic_question(2)),  # node 2 asks for the list
        ("a", "b", topic_list(2, 1, "topic1")),  # node 0 answers
        ("a", "c", topic_list(2, 1, "topic1")),  # node 0 answers
    ]
    network.feed("subscriber1", subscribe("topic1"))
    network.run(1.0)
    assert lines(network) == [
        ("subscriber1", "b", subscribe("topic1")),  # subscribes topic1, 0x32
        ("b", "a", topic_seq(1)),  # node 1 has changed its list of topics
        ("b", "c", topic_seq(1)),
        ("a", "b", topic_question(2)),  # node 0 asks for the list
        ("c", "b", topic_question(3)),  # node 2 asks for the list
        ("b", "a", topic_list(2, 1, "topic1")),  # node 1 answers
        ("b", "c", topic_list(3, 1, "topic1")),  # node 1 answers
    ]
    message = multicast(7, "topic1", b"hello")
    network.feed("publisher", message)
    network.run(1.0)
    assert lines(network) == [
        ("publisher", "c", message),  # a multicast to topic1, 0x35
        ("c", "a", carries(4, message, kind=1)),  # passed on by the node
        ("c", "b", carries(5, message, kind=1)),  # passed on by the node
        ("c", "publisher", response(7, "topic1", b"hello")),  # the answer, 0x31
        ("a", "subscriber0", message),  # passed on by the node
        ("b", "subscriber1", message),  # passed on by the node
    ]


def test_a_multicast_is_answered_without_any_subscriber() -> None:
    network = connected()
    message = multicast(7, "topic1", b"hello")
    network.feed("publisher", message)
    network.run(1.0)
    assert lines(network) == [
        ("publisher", "c", message),
        ("c", "publisher", response(7, "topic1", b"hello")),
    ]
