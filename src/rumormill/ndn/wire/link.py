"""Link packets (NDNLPv2): what two neighbours say to each other around an Interest or a Data.

    64 { [51 Sequence], [52 FragIndex], [53 FragCount], [62 PitToken], [0320 Nack { 0321 Reason }],
         [032C IncomingFaceId], [0330 NextHopFaceId], [0340 CongestionMark], ..., [50 Fragment] }

Fields come in the order of their types, the fragment last. Of unknown fields, those from 800 to 959
whose two lowest bits are 0 are ignored; any other makes the packet unreadable.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.wire.tlv import (
    BYTE,
    number_tlv,
    read_head,
    read_number,
    skip,
    tlv,
    too_short,
    variable,
)

LINK_PACKET: Final = 0x64
FRAGMENT: Final = 0x50
SEQUENCE: Final = 0x51
INDEX: Final = 0x52
COUNT: Final = 0x53
TOKEN: Final = 0x62
NACK: Final = 0x0320
NACK_REASON: Final = 0x0321
INCOMING_FACE: Final = 0x032C
NEXT_HOP: Final = 0x0330
CONGESTION: Final = 0x0340
ACKNOWLEDGEMENT: Final = 0x0344
"""May come several times; we ask for none and pass over them."""

LONGEST_TOKEN: Final = 32
SEQUENCE_SIZE: Final = 8

IGNORED_FROM: Final = 800
IGNORED_TO: Final = 959
IGNORED_MASK: Final = 3


class NackReason:
    """Why an Interest is not answered."""

    NONE: Final = 0
    CONGESTION: Final = 50
    DUPLICATE: Final = 100
    NO_ROUTE: Final = 150


class LinkPacket(NamedTuple):
    """A link packet, or a bare Interest or Data, which is one without fields.

    >>> decode_link(encode_link(b"\\x05\\x00", token=b"7")).token
    b'7'
    """

    fragment: bytes
    """The packet inside, or a part of it if ``count`` is more than 1; empty if there is none."""
    token: bytes = b""
    """What comes back with the answer; empty if none."""
    nack: int | None = None
    """The reason, if it says that the Interest in it is not answered."""
    sequence: int | None = None
    index: int = 0  # type: ignore[assignment]  # nobody searches in it as in a tuple
    count: int = 1  # type: ignore[assignment]
    """Which of how many parts the fragment is; all have sequences that follow each other."""
    congestion: int = 0
    incoming_face: int | None = None
    next_hop: int | None = None


_NOTHING_MORE: Final = LinkPacket(b"")[2:]
_NOTHING: Final = LinkPacket(b"")[1:]


# ---- reading


def decode_link(raw: bytes) -> LinkPacket:
    """Read what comes in by a face: a link packet, or anything else as it is."""
    try:
        if raw[0] != LINK_PACKET:
            return tuple.__new__(LinkPacket, (raw, *_NOTHING))
        size = raw[1]
        if size < 253:
            at, end = 2, 2 + size
        elif size == 253 and raw[2]:
            at, end = 4, 4 + (raw[2] << 8 | raw[3])
        else:
            _, at, end = read_head(raw, 0, len(raw))
        if end != len(raw):
            raise RemoteProtocolError("bad_tlv", f"{len(raw)} bytes, the packet ends at {end}")
        token = b""
        # Nearly all have a token, or nothing, before the packet inside.
        if at < end and raw[at] == TOKEN:
            start = at + 2
            at = start + raw[at + 1]
            token = raw[start:at]
            if not 0 < len(token) <= LONGEST_TOKEN or at > end:
                raise RemoteProtocolError("bad_link", "the size of a token")
            if at == end:
                return LinkPacket(b"", token)
        if at < end and raw[at] == FRAGMENT:
            size = raw[at + 1]
            if size < 253:
                start, at = at + 2, at + 2 + size
            elif size == 253 and raw[at + 2]:
                start, at = at + 4, at + 4 + (raw[at + 2] << 8 | raw[at + 3])
            else:
                _, start, at = read_head(raw, at, end)
            if at != end:
                raise RemoteProtocolError("bad_link", "the fragment is not the last field")
            return tuple.__new__(LinkPacket, (raw[start:], token, *_NOTHING_MORE))
    except IndexError:
        raise too_short() from None
    return _decode_fields(raw, at, end, token)


def _decode_fields(raw: bytes, at: int, end: int, token: bytes) -> LinkPacket:
    """Read the rest of a link packet, whatever it has."""
    last = TOKEN if token else 0
    fragment = b""
    nack = sequence = incoming_face = next_hop = None
    index, count, congestion = 0, 1, 0
    while at < end:
        kind, start, at = read_head(raw, at, end)
        if kind == FRAGMENT:
            if at != end:
                raise RemoteProtocolError("bad_link", "the fragment is not the last field")
            fragment = raw[start:at]
            break
        known = kind in _FIELDS
        if not known and (not IGNORED_FROM <= kind <= IGNORED_TO or kind & IGNORED_MASK):
            raise RemoteProtocolError("unknown_critical", f"the type {kind} in a link packet")
        if not known:
            continue
        if kind < last or (kind == last and kind != ACKNOWLEDGEMENT):
            raise RemoteProtocolError("bad_link", f"the field {kind} after {last}")
        last = kind
        if kind == TOKEN:
            token = raw[start:at]
            if not 0 < len(token) <= LONGEST_TOKEN:
                raise RemoteProtocolError("bad_link", f"a token of {len(token)} bytes")
        elif kind == SEQUENCE:
            if at - start != SEQUENCE_SIZE:
                raise RemoteProtocolError("bad_link", f"a sequence of {at - start} bytes")
            sequence = int.from_bytes(raw[start:at], "big")
        elif kind == INDEX:
            index = read_number(raw[start:at])
        elif kind == COUNT:
            count = read_number(raw[start:at])
        elif kind == NACK:
            nack = _read_nack(raw, start, at)
        elif kind == INCOMING_FACE:
            incoming_face = read_number(raw[start:at])
        elif kind == NEXT_HOP:
            next_hop = read_number(raw[start:at])
        elif kind == CONGESTION:
            congestion = read_number(raw[start:at])
    if index >= count:
        raise RemoteProtocolError("bad_link", f"the fragment {index} of {count}")
    return LinkPacket(
        fragment, token, nack, sequence, index, count, congestion, incoming_face, next_hop
    )


_FIELDS: Final = frozenset(
    (SEQUENCE, INDEX, COUNT, TOKEN, NACK, INCOMING_FACE, NEXT_HOP, CONGESTION, ACKNOWLEDGEMENT)
)


def _read_nack(raw: bytes, at: int, end: int) -> int:
    reason: int | None = None
    while at < end:
        kind, start, at = read_head(raw, at, end)
        if kind == NACK_REASON and reason is None:
            reason = read_number(raw[start:at])
        else:
            skip(kind, "a Nack")
    return NackReason.NONE if reason is None else reason


# ---- writing


def encode_link(
    fragment: bytes,
    token: bytes = b"",
    nack: int | None = None,
    sequence: int | None = None,
    index: int = 0,
    count: int = 1,
    congestion: int = 0,
) -> bytes:
    """A packet with what neighbours want to know; the packet itself if that is nothing.

    >>> encode_link(b"\\x05\\x00", nack=NackReason.NO_ROUTE).hex()
    '640dfd032005fd0321019650020500'
    """
    if nack is None and sequence is None and not congestion:
        if not token:
            return fragment
        fields = b"\x62" + BYTE[len(token)] + token
    else:
        fields = _fields(token, nack, sequence, index, count, congestion)
    size = len(fragment)
    head = fields + b"\x50" + (BYTE[size] if size < 253 else variable(size))
    size += len(head)
    return b"\x64" + (BYTE[size] if size < 253 else variable(size)) + head + fragment


def _fields(
    token: bytes, nack: int | None, sequence: int | None, index: int, count: int, congestion: int
) -> bytes:
    fields = b""
    if sequence is not None:
        fields += b"\x51\x08" + sequence.to_bytes(SEQUENCE_SIZE, "big")
        if count > 1:
            fields += number_tlv(INDEX, index) + number_tlv(COUNT, count)
    if token:
        fields += tlv(TOKEN, token)
    if nack is not None:
        # Also if there is none: python-ndn takes an empty element for no Nack.
        fields += tlv(NACK, number_tlv(NACK_REASON, nack))
    if congestion:
        fields += number_tlv(CONGESTION, congestion)
    return fields
