"""The packet between two nodes: 16 bytes of header, then a payload that may be compressed.

    length 4 | version 2 | protocol 4 | type 2 | seq 4 | payload

The protocol is a group and a module; an answer has it negated, and the seq of its question. A seq
of 0 expects no answer. Bit 0x8000 of the version says that the payload is raw snappy.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from cramjam import DecompressionError, snappy

from rumormill.bcos.wire.frames import MOST_BYTES
from rumormill.core.errors import RemoteProtocolError

HEADER: Final = Struct("!IHiHI")
HEADER_SIZE: Final = HEADER.size

COMPRESSED: Final = 0x8000
COMPRESS_ABOVE: Final = 1024
"""Bytes of payload; smaller ones are sent as they are."""

MOST_UNPACKED: Final = 22
"""Bytes that one of snappy can stand for: its densest element has 3 and makes 64."""


class Module:
    """Whom a packet is for, in group 0."""

    AMOP: Final = 1
    TOPIC: Final = 2


class P2PPacket(NamedTuple):
    """One packet, its payload as it is when unpacked.

    >>> packet = P2PPacket(Module.TOPIC, 1, 0, b"1")
    >>> encode_p2p(packet).hex()
    '0000001100000000000200010000000031'
    """

    protocol: int
    type: int
    seq: int
    payload: bytes = b""
    version: int = 0


def encode_p2p(packet: P2PPacket, compress: bool = True) -> bytes:
    """The packet as it travels."""
    protocol, kind, seq, payload, version = packet
    if compress and len(payload) > COMPRESS_ABOVE:
        packed = snappy.compress_raw(payload)
        if len(packed) < len(payload):  # or it only costs the other end time
            payload = bytes(packed)
            version |= COMPRESSED
    return HEADER.pack(HEADER_SIZE + len(payload), version, protocol, kind, seq) + payload


def decode_p2p(raw: bytes, largest: int = MOST_BYTES) -> P2PPacket:
    """Read one whole packet, as :class:`FrameReader` cuts it out; ``largest`` when unpacked."""
    if len(raw) < HEADER_SIZE:
        raise RemoteProtocolError("packet_too_short", f"{len(raw)} bytes")
    length, version, protocol, kind, seq = HEADER.unpack_from(raw)
    if length != len(raw):
        raise RemoteProtocolError("bad_length", f"{length} said, {len(raw)} there")
    payload = raw[HEADER_SIZE:]
    if version & COMPRESSED:
        payload = _unpacked(payload, largest - HEADER_SIZE)
        version &= ~COMPRESSED
    return P2PPacket(protocol, kind, seq, payload, version)


def _unpacked(payload: bytes, largest: int) -> bytes:
    """What was compressed; how large it says that it is is looked at before it takes any memory."""
    try:
        size = snappy.decompress_raw_len(payload)
    except DecompressionError:
        raise RemoteProtocolError("bad_snappy", "no length") from None
    if size > largest:
        raise RemoteProtocolError("packet_too_large", f"{size} bytes unpacked, {largest} allowed")
    if size > MOST_UNPACKED * len(payload):
        raise RemoteProtocolError("bad_snappy", f"{len(payload)} bytes cannot become {size}")
    try:
        return bytes(snappy.decompress_raw(payload))
    except DecompressionError:
        raise RemoteProtocolError("bad_snappy", f"{len(payload)} bytes") from None
