"""A message on its way: the packet of an SDK as it travels, and what has to be known of it.

The packet goes from publisher to subscriber as it is, across both nodes. So it is read once, kept
in one piece, and written as it came.
"""

from __future__ import annotations

from typing import NamedTuple

from rumormill.bcos.wire.channel_packet import (
    HEADER_SIZE,
    SEQ_SIZE,
    ChannelPacket,
    ChannelType,
    decode_channel,
    encode_channel,
    id_of_seq,
)
from rumormill.bcos.wire.topic_body import encode_body, topic_of
from rumormill.core.errors import RemoteProtocolError

SEQ_AT = 6
"""Where the seq is in a packet."""


class Parcel(NamedTuple):
    """A unicast (0x30) or a multicast (0x35).

    >>> parcel = new_parcel(ChannelType.REQUEST, b"7" * 32, "hello", b"!")
    >>> parcel.topic, parcel.payload, read_parcel(parcel.raw) == parcel
    ('hello', b'!', True)
    """

    type: int
    seq: bytes
    topic: str
    raw: bytes
    """The whole packet."""

    @property
    def body(self) -> bytes:
        """Topic and payload, as they travel."""
        return self.raw[HEADER_SIZE:]

    @property
    def payload(self) -> bytes:
        """What the publisher wants to say."""
        return self.raw[HEADER_SIZE + self.raw[HEADER_SIZE] :]

    @property
    def id(self) -> bytes:
        """The id of the message: the seq, as bytes if it is written in hex."""
        return id_of_seq(self.seq)

    def with_seq(self, seq: bytes) -> Parcel:
        """The same under another seq."""
        raw = b"".join((self.raw[:SEQ_AT], seq, self.raw[SEQ_AT + SEQ_SIZE :]))
        return Parcel(self.type, seq, self.topic, raw)


def new_parcel(kind: int, seq: bytes, topic: str, payload: bytes) -> Parcel:
    """A message of our own."""
    return Parcel(
        kind, seq, topic, encode_channel(ChannelPacket(kind, seq, 0, encode_body(topic, payload)))
    )


def parcel_of(packet: ChannelPacket, raw: bytes) -> Parcel:
    """The message in a packet; raises :class:`RemoteProtocolError` if its topic cannot be read."""
    return Parcel(packet.type, packet.seq, topic_of(packet.data), raw)


def read_parcel(raw: bytes) -> Parcel:
    """The message that another node has sent."""
    packet = decode_channel(raw)
    if packet.type not in (ChannelType.REQUEST, ChannelType.MULTICAST):
        raise RemoteProtocolError("unexpected_packet", f"type {packet.type:#x} for a subscriber")
    return parcel_of(packet, raw)
