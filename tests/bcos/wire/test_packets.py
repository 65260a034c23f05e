"""Packets of both kinds and the body with a topic: as nodes and SDKs of other make write them."""

from __future__ import annotations

import tracemalloc
from random import Random

import pytest
from cramjam import snappy
from hypothesis import given
from hypothesis import strategies as st

from rumormill.bcos.wire import channel_packet, p2p_packet
from rumormill.bcos.wire.channel_packet import (
    NO_SEQ,
    ChannelPacket,
    ChannelType,
    decode_channel,
    encode_channel,
)
from rumormill.bcos.wire.frames import MOST_BYTES
from rumormill.bcos.wire.p2p_packet import (
    COMPRESS_ABOVE,
    COMPRESSED,
    MOST_UNPACKED,
    Module,
    P2PPacket,
    decode_p2p,
    encode_p2p,
)
from rumormill.bcos.wire.topic_body import LONGEST_TOPIC, decode_body, encode_body, topic_of
from rumormill.core.errors import LocalProtocolError, RemoteProtocolError

SEQ = b"92be6ce4dbd311eaae5a983b8fda4e0e"

CHANNEL_PACKETS = st.builds(
    ChannelPacket,
    st.integers(0, 0xFFFF),
    st.binary(min_size=32, max_size=32),
    st.integers(-(2**31), 2**31 - 1),
    st.binary(max_size=100),
)
P2P_PACKETS = st.builds(
    P2PPacket,
    st.integers(-(2**31), 2**31 - 1),
    st.integers(0, 0xFFFF),
    st.integers(0, 2**32 - 1),
    st.binary(max_size=100) | st.binary(min_size=1, max_size=20).map(lambda part: part * 200),
    st.integers(0, 0x7FFF),
)


# ---- between an SDK and its node


def test_a_channel_packet_looks_as_the_protocol_says() -> None:
    raw = encode_channel(ChannelPacket(ChannelType.REQUEST, SEQ, 0, b"\x06hello!"))
    assert raw.hex() == "00000031" + "0030" + SEQ.hex() + "00000000" + "0668656c6c6f21"
    assert encode_channel(ChannelPacket(ChannelType.RESPONSE, SEQ, 100)) == bytes.fromhex(
        "0000002a" + "0031" + SEQ.hex() + "00000064"
    )
    assert encode_channel(ChannelPacket(ChannelType.BLOCK_NOTIFY, NO_SEQ, -5000))[:6].hex() == (
        "0000002a1001"
    )


@given(CHANNEL_PACKETS)
def test_a_channel_packet_is_read_as_it_was_written(packet: ChannelPacket) -> None:
    raw = encode_channel(packet)
    assert decode_channel(raw) == packet
    for size in range(len(raw)):
        with pytest.raises(RemoteProtocolError, match=r"packet_too_short|bad_length"):
            decode_channel(raw[:size])
    with pytest.raises(RemoteProtocolError, match="bad_length"):
        decode_channel(raw + b"x")


@pytest.mark.parametrize("size", range(channel_packet.HEADER_SIZE))
def test_a_channel_packet_is_no_shorter_than_its_header(size: int) -> None:
    raw = size.to_bytes(4, "big") + bytes(38)
    with pytest.raises(RemoteProtocolError, match="packet_too_short"):
        decode_channel(raw[:size])
    with pytest.raises(RemoteProtocolError, match="bad_length"):
        decode_channel(raw)


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_seq_is_neither_cut_nor_filled(size: int) -> None:
    with pytest.raises(LocalProtocolError, match=f"a seq has 32 bytes, this one {size}"):
        encode_channel(ChannelPacket(ChannelType.REQUEST, b"7" * size))


# ---- between nodes

SAMPLES = {
    "SendTopicSeq": (
        "00000011 0000 00000002 0001 00000000" + b"1".hex(),
        P2PPacket(Module.TOPIC, 1, 0, b"1"),
    ),
    "RequestTopics": ("00000010 0000 00000002 0002 00000002", P2PPacket(Module.TOPIC, 2, 2)),
    "SendTopics": (
        "0000001a 0000 fffffffe 0003 00000065" + b"1\tcpptopic".hex(),
        P2PPacket(-Module.TOPIC, 3, 0x65, b"1\tcpptopic"),
    ),
    "unicast": (
        "00000050 0000 00000001 0000 00000003" + "61" * 64,
        P2PPacket(Module.AMOP, 0, 3, b"a" * 64),
    ),
    "answer": (
        "0000004f 0000 ffffffff 0000 00000385" + "61" * 63,
        P2PPacket(-Module.AMOP, 0, 0x385, b"a" * 63),
    ),
    "multicast": (
        "0000004e 0000 00000001 0001 00000005" + "61" * 62,
        P2PPacket(Module.AMOP, 1, 5, b"a" * 62),
    ),
}
"""Headers as nodes of version 2.11.1 write them."""


@pytest.mark.parametrize("name", SAMPLES)
def test_a_packet_between_nodes_looks_as_nodes_of_other_make_write_it(name: str) -> None:
    text, packet = SAMPLES[name]
    assert encode_p2p(packet).hex() == text.replace(" ", "")
    assert decode_p2p(bytes.fromhex(text)) == packet


def test_the_header_of_a_compressed_packet_is_that_of_other_nodes() -> None:
    """A payload of 5050 bytes that has 263 on the wire."""
    header = bytes.fromhex("00000117 8000 00000001 0000 00000004")
    payload = bytes(range(22)) + b"a" * (5050 - 22)
    packed = bytes(snappy.compress_raw(payload))
    assert len(packed) == 263
    assert decode_p2p(header + packed) == P2PPacket(Module.AMOP, 0, 4, payload)
    assert encode_p2p(P2PPacket(Module.AMOP, 0, 4, payload)) == header + packed


@given(P2P_PACKETS, st.booleans())
def test_a_packet_between_nodes_is_read_as_it_was_written(
    packet: P2PPacket, compress: bool
) -> None:
    raw = encode_p2p(packet, compress)
    assert decode_p2p(raw) == packet
    if raw[4] & 0x80:
        assert compress and len(packet.payload) > COMPRESS_ABOVE
        assert len(raw) < p2p_packet.HEADER_SIZE + len(packet.payload)
    for size in range(len(raw)):
        with pytest.raises(RemoteProtocolError, match=r"packet_too_short|bad_length"):
            decode_p2p(raw[:size])
    with pytest.raises(RemoteProtocolError, match="bad_length"):
        decode_p2p(raw + b"x")


@pytest.mark.parametrize("size", range(p2p_packet.HEADER_SIZE))
def test_a_packet_between_nodes_is_no_shorter_than_its_header(size: int) -> None:
    raw = size.to_bytes(4, "big") + bytes(12)
    with pytest.raises(RemoteProtocolError, match="packet_too_short"):
        decode_p2p(raw[:size])
    with pytest.raises(RemoteProtocolError, match="bad_length"):
        decode_p2p(raw)


@pytest.mark.parametrize("size", [COMPRESS_ABOVE, COMPRESS_ABOVE + 1])
def test_only_what_has_more_than_1024_bytes_is_compressed(size: int) -> None:
    raw = encode_p2p(P2PPacket(Module.AMOP, 0, 7, b"a" * size))
    assert (raw[4:6] == b"\x80\x00") == (size > 1024) == (len(raw) < 200)
    raw = encode_p2p(P2PPacket(Module.AMOP, 0, 7, b"a" * size), compress=False)
    assert len(raw) == 16 + size and raw[4:6] == b"\x00\x00"


def test_what_compression_would_not_make_shorter_is_sent_as_it_is() -> None:
    payload = Random(1).randbytes(2 * COMPRESS_ABOVE)
    assert len(snappy.compress_raw(payload)) > len(payload)
    raw = encode_p2p(P2PPacket(Module.AMOP, 0, 7, payload))
    assert raw[4:6] == b"\x00\x00" and raw[16:] == payload
    assert decode_p2p(raw).payload == payload


# ---- snappy


def compressed(packed: bytes) -> bytes:
    """A packet around what says that it is compressed."""
    return p2p_packet.HEADER.pack(16 + len(packed), COMPRESSED, Module.AMOP, 0, 7) + packed


def claim(size: int) -> bytes:
    """The beginning of something compressed: how long it will be."""
    parts = bytearray()
    while size > 0x7F:
        parts.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes((*parts, size))


@pytest.mark.parametrize(
    ("packed", "reason"),
    [
        (b"", "bad_snappy"),
        (b"\xff", "bad_snappy"),
        (b"\xff" * 10, "bad_snappy"),
        (claim(5) + b"\x00a", "bad_snappy"),
        (claim(5) + b"\x10abcdef", "bad_snappy"),
        (claim(1 << 20), "bad_snappy"),
        (claim(MOST_BYTES - 16) + b"\x00a", "bad_snappy"),
        (claim(MOST_BYTES - 15) + b"\x00a", "packet_too_large"),
        (claim((1 << 32) - 1) + bytes(100), "packet_too_large"),
        (claim(1 << 32) + bytes(100), "bad_snappy"),
        (claim(1 << 62) + bytes(100), "bad_snappy"),
    ],
)
def test_a_few_bytes_that_claim_to_be_many_take_no_memory(packed: bytes, reason: str) -> None:
    tracemalloc.start()
    with pytest.raises(RemoteProtocolError, match=reason):
        decode_p2p(compressed(packed))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000


def test_a_claim_beyond_what_snappy_can_do_is_not_even_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Watched:
        decompress_raw_len = staticmethod(snappy.decompress_raw_len)

        @staticmethod
        def decompress_raw(_: bytes) -> bytes:
            raise AssertionError("it was tried")

    monkeypatch.setattr(p2p_packet, "snappy", Watched)
    with pytest.raises(RemoteProtocolError, match="1005 bytes cannot become 104857584"):
        decode_p2p(compressed(claim(MOST_BYTES - 16) + bytes(1001)))


@pytest.mark.parametrize("size", [1, 64, 1000, 1 << 16, 1 << 20])
def test_the_best_that_snappy_can_do_is_allowed(size: int) -> None:
    packed = bytes(snappy.compress_raw(bytes(size)))
    assert size <= MOST_UNPACKED * len(packed)
    assert decode_p2p(compressed(packed)).payload == bytes(size)


def test_what_is_unpacked_has_a_limit_of_its_own() -> None:
    packed = bytes(snappy.compress_raw(bytes(2000)))
    assert len(decode_p2p(compressed(packed), largest=2016).payload) == 2000
    with pytest.raises(RemoteProtocolError, match="2000 bytes unpacked, 1999 allowed"):
        decode_p2p(compressed(packed), largest=2015)


@given(st.binary(min_size=1, max_size=40).map(lambda part: part * 40), st.data())
def test_what_was_damaged_when_compressed_is_refused_or_something_else(
    payload: bytes, data: st.DataObject
) -> None:
    packed = bytearray(snappy.compress_raw(payload))
    packed[data.draw(st.integers(0, len(packed) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        found = decode_p2p(compressed(bytes(packed)))
    except RemoteProtocolError as error:
        assert error.reason in ("bad_snappy", "packet_too_large")
    else:
        assert len(found.payload) <= MOST_UNPACKED * len(packed)


@given(st.binary(max_size=100))
def test_any_bytes_are_a_packet_or_a_protocol_error(data: bytes) -> None:
    for raw in (data, (4 + len(data)).to_bytes(4, "big") + data, compressed(data)):
        for decode in (decode_p2p, decode_channel):
            try:
                decode(raw)
            except RemoteProtocolError:
                continue


# ---- the body with a topic


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=60), st.binary(max_size=50))
def test_a_body_is_read_as_it_was_written(topic: str, payload: bytes) -> None:
    data = encode_body(topic, payload)
    assert data[0] == len(topic.encode()) + 1
    assert decode_body(data) == (topic, payload)
    assert topic_of(data) == topic
    for size in range(data[0]):
        with pytest.raises(RemoteProtocolError, match="bad_topic_body"):
            decode_body(data[:size])


def test_the_longest_topic_has_254_bytes() -> None:
    assert decode_body(encode_body("t" * LONGEST_TOPIC, b"!")) == ("t" * LONGEST_TOPIC, b"!")
    assert encode_body("ä" * 127, b"")[0] == 255
    for topic in ("t" * 255, "ä" * 128, ""):
        with pytest.raises(LocalProtocolError, match="1 to 254 can be sent"):
            encode_body(topic, b"")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"\x00hello",
        b"\x02",
        b"\x07hello",
        b"\xff" + b"t" * 253,
        b"\x03\xff\xfe",
    ],
)
def test_a_length_that_is_not_within_its_body_is_refused(data: bytes) -> None:
    for decode in (decode_body, topic_of):
        with pytest.raises(RemoteProtocolError, match="bad_topic_body"):
            decode(data)
