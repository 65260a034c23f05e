"""The packet between an SDK and its node: 42 bytes of header, then whatever its type says.

length 4 | type 2 | seq 32 | result 4 | data
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError

HEADER: Final = Struct("!IH32si")
HEADER_SIZE: Final = HEADER.size
SEQ_SIZE: Final = 32

NO_SEQ: Final = b"0" * SEQ_SIZE
"""Of what a node sends by itself and nobody answers."""


class ChannelType:
    """What a packet is."""

    RPC: Final = 0x12
    HEARTBEAT: Final = 0x13
    HANDSHAKE: Final = 0x14
    EVENT_REGISTER: Final = 0x15
    EVENT_UNREGISTER: Final = 0x16
    REQUEST: Final = 0x30
    RESPONSE: Final = 0x31
    SUBSCRIBE: Final = 0x32
    MULTICAST: Final = 0x35
    VERIFY: Final = 0x37
    TOPIC_STATUS: Final = 0x38
    BLOCK_NOTIFY: Final = 0x1001


class Result:
    """The result codes of a response, and what each means to a publisher."""

    OK: Final = 0
    UNREACHABLE: Final = 99
    """An SDK's own: it has no connection to any node."""
    NO_NODE: Final = 100
    """No node holds the topic, or all that do have failed."""
    UNAVAILABLE: Final = 101
    """The other node has no connection to the subscriber."""
    TIMED_OUT: Final = 102
    """No answer in time."""
    BANDWIDTH: Final = 103
    """The node's limit of outgoing bytes refused it."""
    NO_SUBSCRIBER: Final = 104
    """The subscriber's node has no subscriber left that answers."""
    BAD_ANSWER: Final = 105
    """An SDK's own: the answer cannot be read."""


class ChannelPacket(NamedTuple):
    """One packet.

    >>> packet = ChannelPacket(ChannelType.HEARTBEAT, NO_SEQ, 0, b"hi")
    >>> decode_channel(encode_channel(packet)) == packet
    True
    """

    type: int
    seq: bytes
    """32 bytes, nearly always a uuid in hex."""
    result: int = 0
    data: bytes = b""


def encode_channel(packet: ChannelPacket) -> bytes:
    """The packet as it travels."""
    kind, seq, result, data = packet
    if len(seq) != SEQ_SIZE:  # it would be cut or filled with zeros, and no answer would match
        raise LocalProtocolError(f"a seq has {SEQ_SIZE} bytes, this one {len(seq)}")
    return HEADER.pack(HEADER_SIZE + len(data), kind, seq, result) + data


def decode_channel(raw: bytes) -> ChannelPacket:
    """Read one whole packet, as :class:`FrameReader` cuts it out."""
    if len(raw) < HEADER_SIZE:
        raise RemoteProtocolError("packet_too_short", f"{len(raw)} bytes")
    length, kind, seq, result = HEADER.unpack_from(raw)
    if length != len(raw):
        raise RemoteProtocolError("bad_length", f"{length} said, {len(raw)} there")
    return ChannelPacket(kind, seq, result, raw[HEADER_SIZE:])


def id_of_seq(seq: bytes) -> bytes:
    """The id of a message, by the seq of its packet: what its hex stands for, if it is hex.

    >>> id_of_seq(b"00112233445566778899aabbccddeeff").hex(), id_of_seq(b"?" * 32)
    ('00112233445566778899aabbccddeeff', b'????????????????????????????????')
    """
    try:
        message_id = bytes.fromhex(seq.decode("ascii"))
    except ValueError:
        return seq
    return message_id if 2 * len(message_id) == SEQ_SIZE else seq
