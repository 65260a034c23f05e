"""Private topics of an SDK: what nodes are told, who is verified, and what the application sees."""

from __future__ import annotations

import json

import pytest

from rumormill.bcos.effects import Multicast, Unicast, Watch
from rumormill.bcos.sdk.challenges.dialect import Dialect
from rumormill.bcos.sdk.challenges.dialects import DIALECTS, KECCAK256
from rumormill.bcos.sdk.private_topics import TopicKeys
from rumormill.bcos.sdk.topic_keys import TopicPrivateKey
from rumormill.bcos.wire.channel_packet import ChannelType
from rumormill.bcos.wire.topic_body import decode_body, encode_body
from rumormill.bcos.wire.verification import (
    decode_topic_status,
    encode_verify_request,
    need_verify,
    push_channel,
    verify_channel,
)
from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Deliver, Subscribe
from tests.helpers.bcos.sdk_bench import SEQ, ScriptedNode, SdkBench, seq

KEY = TopicPrivateKey(bytes([7] * 32))
OTHER_KEY = TopicPrivateKey(bytes([8] * 32))
READER = TopicKeys(private_key=KEY)
PUBLISHER = TopicKeys(public_keys=(OTHER_KEY.public_key, KEY.public_key))
NAME = need_verify("secret")
CHANNEL = verify_channel(NAME, "0" * 32)
NODE = "ab" * 64


def reading() -> tuple[SdkBench, ScriptedNode, str]:
    """A reader of a private topic, its node, and where it can be asked who it is."""
    bench = SdkBench(READER)
    bench.feed(Subscribe("secret"))
    node = bench.node()
    name, channel = node.topics()
    assert name == NAME
    return bench, node, channel


def publishing(keys: TopicKeys = PUBLISHER) -> tuple[SdkBench, ScriptedNode]:
    """A publisher of a private topic, whose node knows that it is one."""
    bench = SdkBench(keys)
    bench.feed(Watch("secret", True))
    node = bench.node()
    assert node.topics() == [push_channel(NAME)]
    return bench, node


def ask(node: ScriptedNode, number: int = 1, channel: str = CHANNEL) -> None:
    """The publisher's node wants a reader verified, and hears that it was asked."""
    node.send(ChannelType.VERIFY, seq(number), encode_verify_request(NODE, NAME, channel))
    acknowledged = node.packet(ChannelType.VERIFY)
    assert (acknowledged.seq, acknowledged.data) == (seq(number), b"")


# ---- the reader


@pytest.mark.parametrize("dialect", list(DIALECTS.values()), ids=list(DIALECTS))
def test_a_reader_proves_who_it_is_in_every_dialect(dialect: Dialect) -> None:
    bench, node, channel = reading()
    challenge = dialect.challenge(bytes(16), channel)
    node.message(channel, challenge, kind=ChannelType.REQUEST)
    answer = node.packet(ChannelType.RESPONSE)
    topic, proof = decode_body(answer.data)
    assert (answer.seq, topic) == (SEQ, channel)
    assert dialect.proves(challenge, proof, [KEY.public_key])
    assert bench.take(Deliver) == []
    (event,) = bench.events("verification")
    assert (event.topic, event.fields["passed"], event.fields["role"]) == ("secret", True, "reader")


def test_a_reader_sees_the_plain_topic_and_answers_on_the_name() -> None:
    bench, node, _ = reading()
    node.message(NAME, b"psst", kind=ChannelType.REQUEST)
    assert bench.take(Deliver)[0].message.topic == "secret"
    assert decode_body(node.packet(ChannelType.RESPONSE).data) == (NAME, b"")


def test_each_connection_has_a_verify_channel_of_its_own() -> None:
    bench, node, first = reading()
    node.vanish()
    again = bench.node()
    _, second = again.topics()
    assert first != second
    again.message(first, KECCAK256.challenge(bytes(16), first), kind=ChannelType.REQUEST)
    assert again.packets(ChannelType.RESPONSE) == []
    assert bench.events("ignored")[-1].fields["reason"] == "not_subscribed"


def test_a_reader_answers_nothing_to_what_is_no_challenge() -> None:
    bench, node, channel = reading()
    node.message(channel, b"sign this! " * 100, kind=ChannelType.REQUEST)
    assert node.packets(ChannelType.RESPONSE) == []
    assert node.closed == []
    assert bench.events("verification")[0].fields["reason"] == "bad_challenge"


# ---- the publisher


def test_a_publisher_verifies_a_reader_that_has_one_of_the_keys() -> None:
    bench, node = publishing()
    ask(node)
    packet = node.packet(ChannelType.REQUEST)
    topic, challenge = decode_body(packet.data)
    assert topic == CHANNEL
    proof = KECCAK256.prove(challenge, KEY)
    node.send(ChannelType.RESPONSE, packet.seq, encode_body(CHANNEL, proof))
    status = decode_topic_status(node.packet(ChannelType.TOPIC_STATUS).data)
    assert status == (True, NODE, NAME)
    (event,) = bench.events("verification")
    assert (event.topic, event.peer) == ("secret", NODE)
    assert event.fields == {"passed": True, "role": "publisher", "reason": ""}


@pytest.mark.parametrize("proof", [b"", b"\xff", encode_body(CHANNEL, b"no proof"), "stranger"])
def test_a_reader_that_cannot_prove_itself_fails(proof: bytes | str) -> None:
    bench, node = publishing()
    ask(node)
    packet = node.packet(ChannelType.REQUEST)
    if isinstance(proof, str):
        stranger = TopicPrivateKey(bytes([9] * 32))
        challenge = decode_body(packet.data)[1]
        proof = encode_body(CHANNEL, KECCAK256.prove(challenge, stranger))
    node.send(ChannelType.RESPONSE, packet.seq, proof)
    assert not decode_topic_status(node.packet(ChannelType.TOPIC_STATUS).data).passed
    assert bench.events("verification")[0].fields["reason"] == "bad_proof"
    assert node.closed == []


def test_a_reader_that_does_not_answer_has_not_failed_and_may_be_asked_again() -> None:
    bench, node = publishing()
    ask(node, 1)
    ask(node, 2)  # while the first is under way
    packet = node.packet(ChannelType.REQUEST)
    node.send(ChannelType.RESPONSE, packet.seq, b"", 104)
    assert node.packets(ChannelType.TOPIC_STATUS) == []
    assert bench.events("verification")[0].fields["reason"] == "result_104"
    ask(node, 3)
    second = decode_body(node.packet(ChannelType.REQUEST).data)[1]
    assert second != decode_body(packet.data)[1]
    bench.advance(10)
    assert node.packets(ChannelType.TOPIC_STATUS) == []
    assert bench.machine.sizes()["verifications"] == 0


def test_verifications_under_way_are_bounded() -> None:
    bench, node = publishing()
    for number in range(400):
        ask(node, number, verify_channel(NAME, f"{number:032x}"))
    assert bench.machine.sizes()["verifications"] == 256
    node.vanish()
    assert bench.machine.sizes()["verifications"] == 0


def test_what_we_do_not_publish_to_is_not_verified() -> None:
    bench, node = publishing(TopicKeys(("secret",), public_keys=(KEY.public_key,)))
    name = need_verify("other")
    request = encode_verify_request(NODE, name, verify_channel(name, "0" * 32))
    node.send(ChannelType.VERIFY, SEQ, request)
    assert node.packets(ChannelType.REQUEST) == []
    assert bench.events("ignored")[0].fields["reason"] == "not_published"


def test_a_request_that_cannot_be_read_costs_the_node_its_connection() -> None:
    _, node = publishing()
    node.send(ChannelType.VERIFY, SEQ, b'{"nodeId":"","topic":"","topicForCert":""}')
    assert node.closed


def test_messages_of_a_publisher_go_to_the_name_and_nodes_are_told_before() -> None:
    bench = SdkBench(PUBLISHER)
    node = bench.node()
    assert node.topics() == []
    bench.feed(Multicast(1, "secret", b"psst", 5))
    bench.wake()
    assert node.topics() == [push_channel(NAME)]
    assert decode_body(node.packet(ChannelType.MULTICAST).data) == (NAME, b"psst")
    calls = [json.loads(packet.data)["params"] for packet in node.packets(ChannelType.RPC)]
    assert calls == [[NAME]]


# ---- which topics are private


def test_only_the_topics_that_are_named_are_private() -> None:
    keys = TopicKeys(("secret",), private_key=KEY, public_keys=(KEY.public_key,))
    bench = SdkBench(keys)
    bench.feed(Subscribe("weather"))
    bench.feed(Subscribe("secret"))
    node = bench.node()
    names = node.topics()
    assert names[:3] == ["weather", NAME, push_channel(NAME)]
    assert len(names) == 4
    bench.feed(Unicast(1, "weather", b"rain", 5))
    assert decode_body(node.packet(ChannelType.REQUEST).data)[0] == "weather"


def test_without_the_key_a_private_topic_can_be_neither_read_nor_published_to() -> None:
    with pytest.raises(LocalProtocolError, match="no private_key"):
        SdkBench(PUBLISHER).feed(Subscribe("secret"))
    bench = SdkBench(READER)
    for input in (
        Multicast(1, "secret", b"", 5),
        Unicast(2, "secret", b"", 5),
        Watch("secret", True),
    ):
        with pytest.raises(LocalProtocolError, match="no public_keys"):
            bench.feed(input)
    assert bench.machine.sizes()["publications"] == 0


def test_a_private_topic_must_leave_room_for_its_channel() -> None:
    bench = SdkBench(READER)
    bench.feed(Subscribe("x" * 185))
    with pytest.raises(LocalProtocolError, match="185"):
        bench.feed(Subscribe("x" * 186))
    assert len(bench.node().topics()[1].encode()) == 254


def test_private_topics_that_we_publish_to_are_bounded() -> None:
    bench = SdkBench(PUBLISHER._replace(max_topics=2))
    bench.feed(Multicast(1, "one", b"", 5))
    bench.feed(Multicast(2, "two", b"", 5))
    with pytest.raises(LocalProtocolError, match="2 private topics"):
        bench.feed(Multicast(3, "three", b"", 5))
