"""The drawing of a unicast with verification in the protocol's documents, packet by packet.

Nodes 0, 1 and 2 are ``a``, ``b`` and ``c``. What publisher and subscriber tell each other is theirs
alone: the content here is that of the documents.
"""

from __future__ import annotations

from rumormill.bcos.wire.channel_packet import ChannelPacket, ChannelType
from rumormill.bcos.wire.topic_body import encode_body
from tests.helpers.bcos.nodes import Nodes, id_of
from tests.helpers.bcos.scripted_sdk import (
    Line,
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

NAME = "#!$TopicNeedVerify_hello"
PUSH = "#!$PushChannel_#!$TopicNeedVerify_hello"
CHANNEL = "#!$VerifyChannel_#!$TopicNeedVerify_hello_92be6ce4dbd311eaae5a983b8fda4e0e"
RANDOM_NUMBER = b'{"randValue":"14131f50ef730219d48e1f9c441db871c","topic":"hello"}'
SIGNATURE = (
    b'{"signature":"vU/Vzqn4MiP0nO1xN+M5TOk/YcyFtY/TLrgU38jFdooN66r3TzNVKEBpkNId8gCu'
    b'AeNpNPCo8vmTV3dcs/Xj1AE="}'
)

VERIFY = ChannelPacket(
    ChannelType.VERIFY,
    b"%032d" % 1,
    0,
    f'{{"nodeId":"{id_of("c")}","topic":"{NAME}","topicForCert":"{CHANNEL}"}}\n'.encode(),
)
TAKEN = ChannelPacket(
    ChannelType.RESPONSE, b"%032d" % 1, 0, encode_body("#!$VerifyChannel_" + CHANNEL, b"")
)


def status(result: int) -> ChannelPacket:
    """What the publisher says of node 2."""
    told = f'{{"checkResult":{result},"nodeId":"{id_of("c")}","topic":"{NAME}"}}'
    return ChannelPacket(ChannelType.TOPIC_STATUS, seq(3), 0, told.encode())


def said(network: Nodes, name: str, packet: ChannelPacket) -> list[Line]:
    """What is sent when an SDK says something; all is said before topic seqs are told again."""
    network.feed(name, packet)
    network.run(0.5)
    return lines(network)


def connected() -> Nodes:
    network = Nodes()
    network.start("abc")
    network.dial("b", "a")
    network.dial("c", "a", "b")
    publisher = add_sdk(network, "publisher", "a")
    publisher.hears = lambda packet: [TAKEN] if packet.type == ChannelType.VERIFY else []
    add_sdk(network, "subscriber0", "b")
    subscriber1 = add_sdk(network, "subscriber1", "c")
    subscriber1.hears = lambda packet: [
        response(1, CHANNEL, SIGNATURE) if RANDOM_NUMBER in packet.data else response(4, NAME, b"")
    ]
    network.run(0.5)
    lines(network)
    return network


def subscribed(network: Nodes) -> None:
    assert said(network, "publisher", subscribe(NAME, PUSH)) == [
        ("publisher", "a", subscribe(NAME, PUSH)),  # subscribes hello, 0x32
        ("a", "b", topic_seq(1)),
        ("a", "c", topic_seq(1)),
        ("b", "a", topic_question(2)),  # node 1 asks for the list
        ("c", "a", topic_question(2)),  # node 2 asks for the list
        ("a", "b", topic_list(2, 1, PUSH, NAME)),  # node 0 answers
        ("a", "c", topic_list(2, 1, PUSH, NAME)),  # node 0 answers
    ]
    assert said(network, "subscriber0", subscribe("world")) == [
        ("subscriber0", "b", subscribe("world")),  # subscribes world, 0x32
        ("b", "a", topic_seq(1)),
        ("b", "c", topic_seq(1)),
        ("a", "b", topic_question(2)),  # node 0 asks for the list
        ("c", "b", topic_question(3)),  # node 2 asks for the list
        ("b", "a", topic_list(2, 1, "world")),  # node 1 answers
        ("b", "c", topic_list(3, 1, "world")),  # node 1 answers
    ]
    assert said(network, "subscriber1", subscribe(NAME, CHANNEL)) == [
        ("subscriber1", "c", subscribe(NAME, CHANNEL)),  # subscribes hello, 0x32
        ("c", "a", topic_seq(1)),
        ("c", "b", topic_seq(1)),
        ("a", "c", topic_question(3)),  # node 0 asks for the list
        ("b", "c", topic_question(3)),  # node 1 asks for the list
        ("c", "a", topic_list(3, 1, NAME, CHANNEL)),  # node 2 answers
        ("c", "b", topic_list(3, 1, NAME, CHANNEL)),  # node 2 answers
        # The topic is to be verified.
        ("a", "publisher", VERIFY),  # 0x37
        ("publisher", "a", TAKEN),  # the answer, 0x31
    ]


def challenged(network: Nodes) -> None:
    challenge, proof = unicast(1, CHANNEL, RANDOM_NUMBER), response(1, CHANNEL, SIGNATURE)
    assert said(network, "publisher", challenge) == [
        ("publisher", "a", challenge),  # a random number to the VerifyChannel, 0x30
        ("a", "c", carries(4, challenge)),  # passed on by the node
        ("c", "subscriber1", challenge),  # passed on by the node
        ("subscriber1", "c", proof),  # the signature, 0x31
        ("c", "a", carries_back(4, proof)),  # passed on by the node
        ("a", "publisher", proof),  # passed on by the node
    ]


def test_the_drawing_of_a_unicast_with_verification() -> None:
    network = connected()
    subscribed(network)
    challenged(network)
    assert said(network, "publisher", status(0)) == [
        ("publisher", "a", status(0)),  # the state of the topic, 0x38
    ]
    message, answer = unicast(4, NAME, b"hello"), response(4, NAME, b"")
    assert said(network, "publisher", message) == [
        ("publisher", "a", message),  # a unicast, 0x30
        ("a", "c", carries(5, message)),  # passed on by the node
        ("c", "subscriber1", message),  # passed on by the node
        ("subscriber1", "c", answer),  # the answer, 0x31
        ("c", "a", carries_back(5, answer)),  # passed on by the node
        ("a", "publisher", answer),  # passed on by the node
    ]


def test_a_subscriber_that_fails_gets_nothing() -> None:
    network = connected()
    subscribed(network)
    challenged(network)
    said(network, "publisher", status(1))
    message = unicast(4, NAME, b"hello")
    assert said(network, "publisher", message) == [
        ("publisher", "a", message),
        # Only the publisher itself listens to it as far as its node knows.
        ("a", "publisher", message._replace(seq=b"%032d" % 2)),
    ]
    network.run(20.0)
    assert VERIFY not in [packet for _, _, packet in lines(network)]


def test_as_long_as_there_is_no_verdict_the_publisher_is_asked_every_five_seconds() -> None:
    network = connected()
    subscribed(network)
    network.run(15.0)
    asked = [packet.data for _, to, packet in lines(network) if to == "publisher"]  # type: ignore[union-attr]
    assert asked == [VERIFY.data] * 3


def test_after_a_lost_connection_the_node_is_verified_anew() -> None:
    network = connected()
    subscribed(network)
    challenged(network)
    said(network, "publisher", status(0))
    network.sever("a", "c")
    network.run(12.0)
    asked = [packet for source, to, packet in lines(network) if (source, to) == ("a", "publisher")]
    assert asked[0] == VERIFY._replace(seq=b"%032d" % 2)
