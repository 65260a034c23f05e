"""Fuzz what comes between two nodes: packets in any cut, compressed and not, and what is in them:
a channel packet, topics and what has changed of them, and what is about nodes further away."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from tests.helpers.fuzz.fuzzing import Choices, fuzz, instrumented

with instrumented(__name__):
    from cramjam import snappy

    from rumormill.bcos.wire.channel_packet import (
        NO_SEQ,
        ChannelPacket,
        ChannelType,
        decode_channel,
        encode_channel,
    )
    from rumormill.bcos.wire.p2p_packet import (
        COMPRESSED,
        HEADER,
        HEADER_SIZE,
        MOST_UNPACKED,
        Module,
        P2PPacket,
        decode_p2p,
        encode_p2p,
    )
    from rumormill.bcos.wire.routed import (
        decode_carried,
        decode_routes,
        encode_carried,
        encode_routes,
    )
    from rumormill.bcos.wire.topic_body import decode_body, encode_body
    from rumormill.bcos.wire.topic_state import (
        decode_changes,
        decode_list,
        decode_question,
        encode_changes,
        encode_list,
    )
    from rumormill.bcos.wire.verification import (
        need_verify,
        verify_channel,
        verify_channels,
        verify_channels_of,
    )
    from rumormill.core.errors import RemoteProtocolError
    from tests.helpers.bcos.packet_stream import packets_in

LARGEST, MOST_TOPICS = 20_000, 20
TOPICS = ["weather", need_verify("hello"), verify_channel(need_verify("hello"), "0" * 32)]
PROTOCOLS = (Module.AMOP, Module.TOPIC, -Module.AMOP, -Module.TOPIC, 1 << 16, -(1 << 31))


# ---- what holds for every packet


def look_at(raw: bytes) -> None:
    packet = decode_p2p(raw, LARGEST)
    compressed = bool(raw[4] & 0x80)
    assert not packet.version & COMPRESSED
    assert HEADER_SIZE + len(packet.payload) <= LARGEST
    assert len(packet.payload) <= (MOST_UNPACKED if compressed else 1) * len(raw)
    if not compressed:
        assert encode_p2p(packet, compress=False) == raw, "two forms of one packet"
    for compress in (False, True):
        again = encode_p2p(packet, compress)
        assert decode_p2p(again, LARGEST) == packet, "a packet changes on its way"
    for inside in (a_message, a_list, some_changes, routes, a_carried_packet):
        with contextlib.suppress(RemoteProtocolError):
            inside(packet.payload)


def a_message(raw: bytes) -> None:
    inside = decode_channel(raw)
    assert encode_channel(inside) == raw
    decode_body(inside.data)


def a_list(raw: bytes) -> None:
    decode_question(raw)
    seq, topics, strange = decode_list(raw, MOST_TOPICS)
    assert len(topics) <= MOST_TOPICS
    assert len(topics) + strange == raw.count(b"\t")
    assert decode_list(encode_list(seq, topics), MOST_TOPICS) == (seq, topics, 0)
    for name, channels in verify_channels(topics).items():
        assert verify_channels_of(name, topics) == channels


def some_changes(raw: bytes) -> None:
    changes = decode_changes(raw, MOST_TOPICS)
    assert len(changes.added) + len(changes.removed) <= MOST_TOPICS
    assert decode_changes(encode_changes(changes), MOST_TOPICS) == changes


def routes(raw: bytes) -> None:
    assert encode_routes(decode_routes(raw)) == raw


def a_carried_packet(raw: bytes) -> None:
    assert encode_carried(decode_carried(raw)) == raw


# ---- packets that nearly make sense


def payload(choices: Choices) -> bytes:
    kind = choices.number(4)
    if kind == 0:
        return choices.take(choices.number(200))
    if kind == 1:
        return choices.take(choices.number(30)) * (1 + choices.number(256))
    if kind == 2:
        chosen = [TOPICS[choices.number(3)] for _ in range(choices.number(6))]
        sign = ("", "+", "-")[choices.number(3)]
        since = [b"6"] if sign else []
        return b"\t".join([b"7", *since, *((sign + topic).encode() for topic in chosen)])
    data = encode_body(TOPICS[choices.number(3)], choices.take(choices.number(40)))
    return encode_channel(ChannelPacket(ChannelType.REQUEST, NO_SEQ, 0, data))


def packet(choices: Choices) -> bytes:
    protocol, content = PROTOCOLS[choices.number(len(PROTOCOLS))], payload(choices)
    how = choices.number(4)
    if how == 0:
        # Compressed by hand: whatever its size, with a bit or two flipped.
        packed = bytearray(snappy.compress_raw(content))
        for _ in range(choices.number(3)):
            packed[choices.number(256) % len(packed)] ^= 1 << choices.number(8)
        return HEADER.pack(HEADER_SIZE + len(packed), COMPRESSED, protocol, 0, 7) + packed
    if how == 1:
        return HEADER.pack(HEADER_SIZE + len(content), COMPRESSED, protocol, 0, 7) + content
    return encode_p2p(P2PPacket(protocol, choices.number(4), 7, content), compress=how == 2)


def target(data: bytes) -> None:
    choices = Choices(data)
    cut, wire = choices.number(17), bytearray()
    while choices:
        if choices.number(8) == 0:
            wire += choices.take(choices.number(60))
        else:
            wire += packet(choices)
    # An input that repeats itself must not become so many pieces that nothing else is tried.
    size = cut if len(wire) < 2 * LARGEST else 1000 + cut
    whole = packets_in(bytes(wire), 0, HEADER_SIZE, LARGEST)
    assert packets_in(bytes(wire), size, HEADER_SIZE, LARGEST) == whole, "the cut matters"
    for raw in whole[0]:
        with contextlib.suppress(RemoteProtocolError):
            look_at(raw)


SEEDS = [
    bytes((cut, 1, protocol, kind, 20, *range(20), how))
    for cut in (0, 1, 5)
    for protocol in (0, 3)
    for kind in range(4)
    for how in range(4)
] + [
    b"\x00\x01\x00\x00\x05\x80\x80\x80\x32\x00\x01",
    b"\x00\x01\x00\x00\x05\xff\xff\xff\xff\x0f\x01",
    b"\x00\x01\x00\x01\x01a\xff\x02",
    b"\x00\x00\x04\x00\x00\x00\x0f",
    b"\x00\x00\x04\xff\xff\xff\xff",
]

if __name__ == "__main__":
    fuzz(target, SEEDS)
