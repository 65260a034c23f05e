"""The table of what nodes of other make answer, row by row over TLS, while honest SDKs talk.

The rows themselves are looked at one by one, without sockets, in
``tests/bcos/channel/test_answers_of_the_reference.py``.
"""

from __future__ import annotations

import pytest

from rumormill.bcos.errors import AmopError
from rumormill.bcos.wire.channel_packet import ChannelPacket, ChannelType, Result
from rumormill.bcos.wire.topic_body import encode_body
from tests.helpers.bcos.besieged import Town

SEQ = b"0123456789abcdef" * 2
BODY = encode_body("nowhere", b"hello")
HANDSHAKE = b'{"minimumSupport":%d,"maximumSupport":%d,"clientType":"java-sdk"}'


def packet(kind: int, data: bytes = b"", result: int = 0) -> ChannelPacket:
    return ChannelPacket(kind, SEQ, result, data)


ANSWERED = {
    "unicast to a topic that is nowhere": (
        packet(0x30, BODY), packet(0x31, b"", 100),
    ),
    "multicast to a topic that is nowhere": (
        packet(0x35, BODY), packet(0x31, BODY),
    ),
    "heartbeat of protocol 1": (packet(0x13, b"0"), packet(0x13, b"1")),
    "handshake up to 9": (
        packet(0x14, HANDSHAKE % (1, 9)),
        packet(0x14, b'{"nodeVersion":"2.9.1","protocol":3}\n'),
    ),
    "n beyond the body, where the reference reads past its buffer": (
        packet(0x30, b"\xffnews"), packet(0x31, b"", 100),
    ),
    "n = 0, where the reference aborts": (
        packet(0x30, b"\x00news"), packet(0x31, b"", 100),
    ),
    "multicast with n = 0": (packet(0x35, b"\x00news"), packet(0x31, b"", 100)),
}  # fmt: skip

UNANSWERED = {
    "empty heartbeat of protocol 1": packet(0x13),
    "unknown type": packet(0x99, b"hello"),
    "unicast without a body": packet(0x30),
    "subscription that is no JSON": packet(0x32, b"news"),
    "topic status that is no JSON": packet(0x38, b"{"),
    "handshake that is no JSON": packet(0x14, b"hello"),
}

LAST: dict[str, tuple[bytes | ChannelPacket, str]] = {
    "handshake from 7 on": (packet(0x14, HANDSHAKE % (7, 9)), "no_common_protocol"),
    "length of 41, where the reference hangs": (b"\0\0\0\x29" + bytes(38), "packet_too_short"),
    "length of 0": (bytes(42), "packet_too_short"),
    "length beyond 100 MiB": (b"\x06\x40\x00\x01" + bytes(38), "packet_too_large"),
    "length of 4 GiB": (b"\xff" * 42, "packet_too_large"),
}


async def test_each_row_is_answered_as_by_nodes_of_other_make(town: Town) -> None:
    async with town.honest_traffic():
        for name, (sent, answer) in ANSWERED.items():
            sdk = await town.attacker()
            sdk.write(sent)
            assert await sdk.channel_packet() == answer, name
            assert await sdk.is_served(), name


async def test_rows_without_an_answer_have_none_and_the_session_goes_on(town: Town) -> None:
    async with town.honest_traffic():
        for name, sent in UNANSWERED.items():
            sdk = await town.attacker()
            sdk.write(sent)
            assert await sdk.is_served(), name
    for reason in "unknown_type", "bad_topic_body", "bad_json":
        assert town.blamed("protocol_error", reason) == {town.called()}


async def test_rows_that_end_the_session_end_that_one_alone(town: Town) -> None:
    async with town.honest_traffic():
        beside = await town.attacker()
        for name, (sent, reason) in LAST.items():
            sdk = await town.attacker()
            sdk.write(sent)
            assert await sdk.is_closed(), name
            assert await beside.is_served(), name
            assert town.blamed("protocol_error", reason) == {town.called()}, name
    assert town.node.sizes()["channel_sessions"] == 3  # the honest ones here, and the one beside


async def test_a_silent_subscriber_on_another_node_brings_104_with_the_body(
    idle_town: Town,
) -> None:
    town = idle_town
    await town.start(subscriber_timeout=0.2)
    silent, publisher = await town.attacker(), await town.sdk(4, town.other)
    async with town.honest_traffic():
        silent.write(packet(ChannelType.SUBSCRIBE, b'["silence"]'))
        await publisher.wait_for_peers("silence", timeout=30)
        with pytest.raises(AmopError) as caught:
            await publisher.unicast("silence", b"?")
    assert caught.value.code == Result.NO_SUBSCRIBER
    assert town.blamed("dropped", "timed_out") == {town.called()}
