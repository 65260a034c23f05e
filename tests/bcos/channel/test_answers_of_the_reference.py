"""Each row of what nodes of other make answer, and what ours does where they hang or abort."""

from __future__ import annotations

import pytest

from rumormill.bcos.wire.channel_packet import ChannelPacket, ChannelType, encode_channel
from rumormill.bcos.wire.topic_body import encode_body
from rumormill.core import trace
from tests.helpers.bcos.sdk_side import Sdk, SdkSide, node_id, seq

HANDSHAKE = b'{"minimumSupport":%d,"maximumSupport":%d,"clientType":"java-sdk"}'


def response(number: int, result: int, data: bytes) -> ChannelPacket:
    return ChannelPacket(ChannelType.RESPONSE, seq(number), result, data)


def still_served(sdk: Sdk) -> bool:
    return sdk.multicast("any", b"", seq(99)) == [response(99, 0, encode_body("any", b""))]


def test_a_silent_subscriber_brings_104_with_the_original_body_after_5_s() -> None:
    side = SdkSide()
    side.sdk("news")
    body = encode_body("news", b"hello")
    outer = side.arrives(node_id("b"), ChannelPacket(ChannelType.REQUEST, seq(1), 0, body))
    side.passes(4.9)
    assert side.nodes.answered == []
    side.passes(0.1)
    assert side.nodes.answered == [(node_id("b"), outer, response(1, 104, body))]


def test_a_topic_that_is_nowhere_brings_100_with_an_empty_body_at_once() -> None:
    assert SdkSide().sdk().unicast("nowhere", b"hello", seq(1)) == [response(1, 100, b"")]


def test_the_only_subscriber_may_be_on_the_same_node() -> None:
    """The reference answers 100 after 30 s."""
    side = SdkSide()
    publisher, subscriber = side.sdk(), side.sdk("news")
    assert publisher.unicast("news", b"hello", seq(1)) == []
    [request] = subscriber.take()
    assert request == ChannelPacket(ChannelType.REQUEST, seq(1), 0, encode_body("news", b"hello"))
    subscriber.answer(request, b"thanks")
    assert publisher.take() == [response(1, 0, encode_body("news", b"thanks"))]


def test_a_multicast_to_nobody_is_answered_with_its_body() -> None:
    body = encode_body("nowhere", b"hello")
    assert SdkSide().sdk().multicast("nowhere", b"hello", seq(1)) == [response(1, 0, body)]


def test_heartbeats() -> None:
    sdk = SdkSide().sdk()
    beat = ChannelType.HEARTBEAT
    assert sdk.send(beat, seq(1)) == []
    assert sdk.send(beat, seq(2), b"0") == [ChannelPacket(beat, seq(2), 0, b"1")]
    sdk.send(ChannelType.HANDSHAKE, seq(3), HANDSHAKE % (1, 3))
    alive = b'{"heartBeat":1}\n'
    assert sdk.send(beat, seq(4)) == [ChannelPacket(beat, seq(4), 0, alive)]
    assert sdk.send(beat, seq(5), b'{"heartBeat":0}') == [ChannelPacket(beat, seq(5), 0, alive)]


@pytest.mark.parametrize(("low", "high", "protocol"), [(1, 9, 3), (1, 3, 3), (1, 2, 2), (3, 3, 3)])
def test_a_handshake_agrees_on_the_newest_that_both_speak(
    low: int, high: int, protocol: int
) -> None:
    told = b'{"nodeVersion":"2.9.1","protocol":%d}\n' % protocol
    answer = SdkSide().sdk().send(ChannelType.HANDSHAKE, seq(1), HANDSHAKE % (low, high))
    assert answer == [ChannelPacket(ChannelType.HANDSHAKE, seq(1), 0, told)]


@pytest.mark.parametrize(("low", "high"), [(7, 9), (0, 0), (3, 1)])
def test_a_handshake_without_a_common_protocol_ends_the_session(low: int, high: int) -> None:
    sdk = SdkSide().sdk()
    assert sdk.send(ChannelType.HANDSHAKE, seq(1), HANDSHAKE % (low, high)) == []
    assert sdk.closed == "no_common_protocol"


@pytest.mark.parametrize(
    ("kind", "data", "reason"),
    [
        (0x99, b"", "unknown_type"),
        (0x10, b"", "unknown_type"),
        (0x33, b"x", "unknown_type"),
        (ChannelType.VERIFY, b"{}", "unknown_type"),
        (ChannelType.REQUEST, b"", "bad_topic_body"),
        (ChannelType.MULTICAST, b"", "bad_topic_body"),
        (ChannelType.SUBSCRIBE, b"news", "bad_json"),
        (ChannelType.SUBSCRIBE, b'{"topics":[]}', "bad_json"),
        (ChannelType.SUBSCRIBE, b"[" * 100_000, "bad_json"),
        (ChannelType.TOPIC_STATUS, b"{}", "bad_json"),
        (ChannelType.HANDSHAKE, b"hello", "bad_json"),
        (ChannelType.HANDSHAKE, b'{"minimumSupport":"1"}', "bad_json"),
    ],
)
def test_what_cannot_be_read_gets_no_answer_and_is_counted(
    kind: int, data: bytes, reason: str
) -> None:
    side = SdkSide()
    sdk = side.sdk()
    assert sdk.send(kind, seq(1), data) == []
    assert side.reasons(trace.PROTOCOL_ERROR) == [reason]
    assert sdk.closed is None
    assert still_served(sdk)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"\xffnews", id="n beyond the body: the reference reads past its buffer"),
        pytest.param(b"\x00news", id="n = 0: the reference aborts"),
        pytest.param(b"\x03\xff\xfe", id="no UTF-8"),
    ],
)
@pytest.mark.parametrize("kind", [ChannelType.REQUEST, ChannelType.MULTICAST])
def test_a_topic_that_cannot_be_read_is_nowhere(kind: int, body: bytes) -> None:
    side = SdkSide()
    sdk = side.sdk()
    assert sdk.send(kind, seq(1), body) == [response(1, 100, b"")]
    assert side.reasons(trace.PROTOCOL_ERROR) == ["bad_topic_body"]
    assert still_served(sdk)


def test_a_topic_without_a_letter_is_one_that_nobody_has() -> None:
    sdk = SdkSide().sdk()
    assert sdk.send(ChannelType.REQUEST, seq(1), b"\x01hello") == [response(1, 100, b"")]
    echo = response(2, 0, b"\x01hello")
    assert sdk.send(ChannelType.MULTICAST, seq(2), b"\x01hello") == [echo]


@pytest.mark.parametrize("length", [0, 1, 41])
def test_a_length_below_the_header_ends_the_session(length: int) -> None:
    """The reference hangs."""
    side = SdkSide()
    sdk, other = side.sdk(), side.sdk()
    sdk.write(length.to_bytes(4, "big") + bytes(38))
    assert sdk.closed == "packet_too_short"
    assert still_served(other)


def test_a_length_beyond_the_limit_ends_the_session() -> None:
    side = SdkSide(largest_channel_packet=1024)
    sdk = side.sdk()
    sdk.write(encode_channel(ChannelPacket(0x30, seq(1), 0, bytes(1024 - 42))))
    assert sdk.closed is None
    sdk.write((1025).to_bytes(4, "big"))
    assert sdk.closed == "packet_too_large"
