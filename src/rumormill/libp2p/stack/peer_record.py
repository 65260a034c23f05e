"""Peer records: where a peer says that it is, signed by itself (libp2p RFC 0003).

Whoever has one can pass it on, and whoever gets it knows that no one else has made it up. Of two
records of one peer the one with the higher sequence number holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import LENGTH_DELIMITED, VARINT, bytes_field, fields, varint_field
from rumormill.libp2p.stack.envelope import Envelope, decode_envelope, seal, verify
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.libp2p.stack.multiaddr import LONGEST_ADDRESS, Multiaddr
from rumormill.libp2p.stack.peer_id import check_peer_id, to_text

DOMAIN = "libp2p-peer-record"
PAYLOAD_TYPE = b"\x03\x01"
"""The code of peer records, 0x0301, as two bytes: everybody writes it so, and not as a varint."""

MOST_ADDRESSES = 64
"""Addresses that one record may have."""


class PeerRecord(NamedTuple):
    """What stands in a record.

    >>> record = PeerRecord(PrivateKey.from_seed(bytes(32)).peer_id, 7, (b"anywhere",))
    >>> decode_peer_record(encode_peer_record(record)) == record
    True
    """

    peer_id: bytes
    sequence: int
    addresses: tuple[bytes, ...] = ()
    """Binary multiaddrs, also of transports that we do not speak."""


class CertifiedRecord(NamedTuple):
    """A record whose signature was checked, as read and as it came."""

    peer: str
    sequence: int
    addresses: tuple[Multiaddr, ...]
    """Those of its addresses that we could dial, without the peer's name."""
    raw: bytes
    """The envelope: it can be passed on."""


def encode_peer_record(record: PeerRecord) -> bytes:
    """The inside of the envelope."""
    return (
        bytes_field(1, record.peer_id)
        + varint_field(2, record.sequence)
        + b"".join([bytes_field(3, bytes_field(1, each)) for each in record.addresses])
    )


def decode_peer_record(raw: bytes) -> PeerRecord:
    """Read the inside of the envelope.

    :class:`RemoteProtocolError` with the reason ``bad_peer_record`` for what is none.
    """
    peer_id, sequence = b"", 0
    addresses: list[bytes] = []
    try:
        for number, kind, start, end in fields(raw, 0, len(raw)):
            if number == 1 and kind == LENGTH_DELIMITED:
                peer_id = raw[start:end]
            elif number == 2 and kind == VARINT:
                sequence = start
            elif number == 3 and kind == LENGTH_DELIMITED:
                if len(addresses) >= MOST_ADDRESSES:
                    raise RemoteProtocolError("", f"more than {MOST_ADDRESSES} addresses")
                addresses.append(_decode_address(raw, start, end))
        return PeerRecord(check_peer_id(peer_id), sequence, tuple(addresses))
    except RemoteProtocolError as error:
        raise RemoteProtocolError("bad_peer_record", error.detail) from None


def _decode_address(raw: bytes, start: int, end: int) -> bytes:
    address = b""
    for number, kind, first, last in fields(raw, start, end):
        if number == 1 and kind == LENGTH_DELIMITED:
            address = raw[first:last]
    if len(address) > LONGEST_ADDRESS:
        raise RemoteProtocolError("", f"an address of {len(address)} bytes")
    return address


def sign_peer_record(key: PrivateKey, sequence: int, addresses: Iterable[Multiaddr]) -> bytes:
    """A record of our own, in its envelope."""
    raw = tuple([address.to_bytes() for address in addresses])
    record = PeerRecord(key.peer_id, sequence, raw[:MOST_ADDRESSES])
    return seal(key, DOMAIN, PAYLOAD_TYPE, encode_peer_record(record))


def read_envelope_of(raw: bytes, peer_id: bytes) -> tuple[Envelope, PeerRecord]:
    """The envelope and the record in it, if both are by and about the peer; nothing is checked
    that is dear.

    :class:`RemoteProtocolError`: ``bad_envelope``, ``bad_peer_record``, or
    ``record_of_other_peer``.
    """
    envelope = decode_envelope(raw)
    if envelope.payload_type != PAYLOAD_TYPE:
        raise RemoteProtocolError("bad_peer_record", f"type {envelope.payload_type[:16].hex()}")
    record = decode_peer_record(envelope.payload)
    if not record.peer_id == envelope.signer == peer_id:
        raise RemoteProtocolError("record_of_other_peer", f"not of {to_text(peer_id)}")
    return envelope, record


def certify(envelope: Envelope, record: PeerRecord, raw: bytes) -> CertifiedRecord:
    """Check the signature; :class:`RemoteProtocolError` with ``forged_record`` if it is wrong."""
    if not verify(envelope, DOMAIN):
        raise RemoteProtocolError("forged_record", "the signature is not by the peer")
    peer = to_text(record.peer_id)
    return CertifiedRecord(peer, record.sequence, _usable(peer, record.addresses), raw)


def open_peer_record(raw: bytes, peer_id: bytes) -> CertifiedRecord:
    """The record of ``peer_id`` in an envelope; :class:`RemoteProtocolError` if it is not that.

    >>> key = PrivateKey.from_seed(bytes(32))
    >>> raw = sign_peer_record(key, 7, [Multiaddr.parse("/ip4/192.0.2.7/tcp/4001")])
    >>> [str(each) for each in open_peer_record(raw, key.peer_id).addresses]
    ['/ip4/192.0.2.7/tcp/4001']
    """
    return certify(*read_envelope_of(raw, peer_id), raw)


def _usable(peer: str, addresses: tuple[bytes, ...]) -> tuple[Multiaddr, ...]:
    """The addresses that are of a transport of ours, and not of somebody else."""
    found: dict[Multiaddr, None] = {}
    for raw in addresses:
        try:
            address = Multiaddr.from_bytes(raw)
        except RemoteProtocolError:
            continue  # quic, a relay: nothing wrong with it
        if address.peer in (None, peer):
            found[address.without_peer()] = None
    return tuple(found)
