"""The messages of kad-dht: one protobuf for questions and answers of every kind.

A length stands before each on its stream. Value records are not kept here: they are passed over.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import LENGTH_DELIMITED, VARINT, bytes_field, fields, varint_field
from rumormill.libp2p.stack.multiaddr import LONGEST_ADDRESS
from rumormill.libp2p.stack.peer_id import LONGEST_PEER_ID

LONGEST_KEY = 512
"""Bytes of a key: a peer id, a multihash, or what an application of rust makes up."""

MOST_PEERS = 64
"""Peers of each list that are read; go and rust name 20 that are closer. The rest is passed over:
of a popular key there may be hundreds of providers."""

MOST_ADDRESSES = 32
"""Addresses of one peer that are read."""

LARGEST_ANSWER = 512 * 1024
"""Bytes. go and js fill up to 4 MiB where a key has thousands of providers."""


class Kind(enum.IntEnum):
    """What a message is about."""

    PUT_VALUE = 0
    GET_VALUE = 1
    ADD_PROVIDER = 2
    GET_PROVIDERS = 3
    FIND_NODE = 4
    PING = 5


CONNECTED = 1
"""What a peer's ``connection`` says of one that the speaker is connected to; 0 says nothing."""


class PeerInfo(NamedTuple):
    """A peer as another one names it; nothing of it is proven."""

    peer_id: bytes
    addresses: tuple[bytes, ...] = ()
    """Binary multiaddrs, also of transports that we do not speak."""
    connection: int = 0


class KademliaMessage(NamedTuple):
    """A question or an answer.

    >>> question = KademliaMessage(Kind.FIND_NODE, b"key")
    >>> decode_message(encode_message(question)) == question
    True
    """

    kind: Kind
    key: bytes = b""
    closer: tuple[PeerInfo, ...] = ()
    """Peers that are closer to the key."""
    providers: tuple[PeerInfo, ...] = ()


def encode_message(message: KademliaMessage) -> bytes:
    """The message, without the length that stands before it on the stream."""
    parts = [varint_field(1, message.kind)]
    if message.key:
        parts.append(bytes_field(2, message.key))
    parts += [bytes_field(8, _encode_peer(each)) for each in message.closer]
    parts += [bytes_field(9, _encode_peer(each)) for each in message.providers]
    return b"".join(parts)


def _encode_peer(info: PeerInfo) -> bytes:
    parts = [bytes_field(1, info.peer_id)]
    parts += [bytes_field(2, each) for each in info.addresses]
    if info.connection:
        parts.append(varint_field(3, info.connection))
    return b"".join(parts)


def decode_message(raw: bytes) -> KademliaMessage:
    """Read a message; :class:`RemoteProtocolError` with ``bad_kademlia`` for what is none."""
    kind, key = 0, b""
    closer: list[PeerInfo] = []
    providers: list[PeerInfo] = []
    try:
        for number, wire, start, end in fields(raw, 0, len(raw)):
            if number == 1 and wire == VARINT:
                kind = start
            elif number == 2 and wire == LENGTH_DELIMITED:
                if end - start > LONGEST_KEY:
                    raise RemoteProtocolError("", f"a key of {end - start} bytes")
                key = raw[start:end]
            elif number in (8, 9) and wire == LENGTH_DELIMITED:
                peers = closer if number == 8 else providers
                if len(peers) < MOST_PEERS:
                    peers.append(_decode_peer(raw, start, end))
        if kind not in Kind.__members__.values():
            raise RemoteProtocolError("", f"a message of kind {kind}")
    except RemoteProtocolError as error:
        raise RemoteProtocolError("bad_kademlia", error.detail) from None
    return KademliaMessage(Kind(kind), key, tuple(closer), tuple(providers))


def _decode_peer(raw: bytes, start: int, end: int) -> PeerInfo:
    peer_id, connection = b"", 0
    addresses: list[bytes] = []
    for number, wire, first, last in fields(raw, start, end):
        if number == 1 and wire == LENGTH_DELIMITED:
            if last - first > LONGEST_PEER_ID:
                raise RemoteProtocolError("", f"a peer id of {last - first} bytes")
            peer_id = raw[first:last]
        elif number == 2 and wire == LENGTH_DELIMITED:
            if len(addresses) < MOST_ADDRESSES and last - first <= LONGEST_ADDRESS:
                addresses.append(raw[first:last])
        elif number == 3 and wire == VARINT:
            connection = first & 0x7F
    return PeerInfo(peer_id, tuple(addresses), connection)
