"""Fuzz what comes between an SDK and its node: packets in any cut, and all that is in them: bodies
with a topic, JSON about private topics, challenges and proofs."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from tests.helpers.fuzz.fuzzing import Choices, fuzz, instrumented

with instrumented(__name__):
    from rumormill.bcos.sdk.challenges.dialects import DIALECTS, detect
    from rumormill.bcos.sdk.topic_keys import TopicPrivateKey
    from rumormill.bcos.wire.channel_packet import (
        HEADER_SIZE,
        NO_SEQ,
        ChannelPacket,
        ChannelType,
        decode_channel,
        encode_channel,
    )
    from rumormill.bcos.wire.json_text import read_json, write_json
    from rumormill.bcos.wire.topic_body import decode_body, encode_body, topic_of
    from rumormill.bcos.wire.verification import (
        decode_topic_status,
        decode_verify_request,
        encode_topic_status,
        encode_verify_request,
        is_need_verify,
        name_of_verify_channel,
        need_verify,
        verify_channel,
        verify_channels,
        verify_channels_of,
    )
    from rumormill.core.errors import RemoteProtocolError
    from tests.helpers.bcos.packet_stream import packets_in

LARGEST = 4096
KEY, STRANGER = TopicPrivateKey(b"k" * 32), TopicPrivateKey(b"s" * 32)
NODE = "ab" * 64
NAME = need_verify("hello")
CHANNEL = verify_channel(NAME, "0" * 32)
KINDS = (0x12, 0x13, 0x14, 0x30, 0x31, 0x32, 0x35, 0x37, 0x38, 0x1001, 0x9999)


# ---- what holds for every packet


def look_at(raw: bytes) -> None:
    packet = decode_channel(raw)
    assert HEADER_SIZE <= len(raw) <= LARGEST
    assert encode_channel(packet) == raw, "two forms of one packet"
    for inside in (a_body, a_text, a_request, a_status):
        with contextlib.suppress(RemoteProtocolError):
            inside(packet.data)


def look_at_proofs(data: bytes) -> None:
    """A challenge, or a proof; each costs half a millisecond."""
    with contextlib.suppress(RemoteProtocolError):
        a_challenge(data)
    for dialect in DIALECTS.values():
        question = dialect.challenge(bytes(16), CHANNEL)
        assert not dialect.proves(question, data, [KEY.public_key]), "a guessed signature"


def a_body(data: bytes) -> None:
    topic, payload = decode_body(data)
    assert topic_of(data) == topic
    if topic:  # that without a letter is read, as nobody has it, and never written
        assert encode_body(topic, payload) == data
    a_list([topic, *payload.decode("latin-1").split("\t")])


def a_list(topics: Iterable[str]) -> None:
    for name, channels in verify_channels(topics).items():
        assert is_need_verify(name)
        assert verify_channels_of(name, topics) == channels
        assert all(name_of_verify_channel(channel) == name for channel in channels)


def a_text(data: bytes) -> None:
    found = read_json(data, LARGEST)
    if not isinstance(found, float):
        assert read_json(write_json(found), 8 * LARGEST) == found
    if isinstance(found, list) and all(isinstance(each, str) for each in found):
        a_list(found)
        for each in found:
            each.encode()


def a_request(data: bytes) -> None:
    request = decode_verify_request(data)
    assert decode_verify_request(encode_verify_request(*request)) == request


def a_status(data: bytes) -> None:
    status = decode_topic_status(data)
    assert decode_topic_status(encode_topic_status(*status)) == status


def a_challenge(data: bytes) -> None:
    dialect = detect(data)
    proof = dialect.prove(data, KEY)
    assert dialect.proves(data, proof, [KEY.public_key])
    assert not dialect.proves(data, proof, [STRANGER.public_key])


# ---- packets that nearly make sense


def content(choices: Choices) -> bytes:
    kind = choices.number(8)
    if kind == 0:
        return choices.take(choices.number(200))
    if kind == 1:
        return bytes((choices.number(256),)) + choices.take(choices.number(100))
    if kind == 2:
        topics = [CHANNEL, NAME, choices.take(choices.number(60)).decode("latin-1")]
        return write_json(topics[choices.number(3) :])
    if kind == 3:
        return altered(choices, encode_verify_request(NODE, NAME, CHANNEL))
    if kind == 4:
        return altered(choices, encode_topic_status(choices.number(2) == 0, NODE, NAME))
    dialect = list(DIALECTS.values())[choices.number(3)]
    challenge = altered(choices, dialect.challenge(bytes(16), CHANNEL))
    if kind == 5:
        return challenge
    if kind == 6:
        with contextlib.suppress(RemoteProtocolError):
            return altered(choices, dialect.prove(challenge, STRANGER))
    return encode_body(CHANNEL, challenge)


def altered(choices: Choices, data: bytes) -> bytes:
    made = bytearray(data)
    for _ in range(choices.number(3)):
        place = choices.number(256) % len(made)
        made[place : place + choices.number(3)] = choices.take(choices.number(4))
    return bytes(made)


def target(data: bytes) -> None:
    choices = Choices(data)
    cut, wire = choices.number(17), bytearray()
    while choices:
        if choices.number(8) == 0:
            wire += choices.take(choices.number(60))
        else:
            kind = KINDS[choices.number(len(KINDS))]
            wire += encode_channel(ChannelPacket(kind, NO_SEQ, 0, content(choices)))
    whole = packets_in(bytes(wire), 0, HEADER_SIZE, LARGEST)
    assert packets_in(bytes(wire), cut, HEADER_SIZE, LARGEST) == whole, "the cut matters"
    for raw in whole[0]:
        look_at(raw)
    for raw in whole[0][:1]:
        look_at_proofs(raw[HEADER_SIZE:])


SEEDS = [
    bytes((cut, 1, kind, inside, 20, *range(20)))
    for cut in (0, 1, 5)
    for kind in (3, 7)
    for inside in range(8)
] + [
    b"\x00\x01\x03\x00\xc8" + b"[" * 200,
    b"\x03\x00\x3c" + encode_channel(ChannelPacket(ChannelType.HEARTBEAT, NO_SEQ))[:40],
    b"\x00\x00\x04\x00\x00\x00\x29",
    b"\x00\x00\x04\xff\xff\xff\xff",
]

if __name__ == "__main__":
    fuzz(target, SEEDS)
