"""Data: the answers of NDN, as packet format 0.3 writes them.

06 { 07 Name, [14 MetaInfo { [18 ContentType], [19 FreshnessPeriod], [1A FinalBlockId] }],
     [15 Content], 16 SignatureInfo, 17 SignatureValue }
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final, NamedTuple

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.wire.name import MOST_COMPONENTS, NAME, Name, name_tlv, scan_name
from rumormill.ndn.wire.signature import (
    SIGNATURE_INFO,
    SIGNATURE_VALUE,
    Signature,
    Signer,
    plain_info,
    read_info,
)
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

DATA: Final = 0x06
META_INFO: Final = 0x14
CONTENT: Final = 0x15
CONTENT_TYPE: Final = 0x18
FRESHNESS: Final = 0x19
FINAL_BLOCK: Final = 0x1A


class ContentType:
    """What the content of a Data is."""

    BLOB: Final = 0
    LINK: Final = 1
    KEY: Final = 2
    NACK: Final = 3


_PLAIN_META: Final = b"\x14\x03\x18\x01\x00"
_DIGEST_INFO: Final = b"\x16\x03\x1b\x01\x00"
"""What most packets of pubsub have, byte for byte."""


class _Fields(NamedTuple):
    name: Name
    content_type: int
    freshness: int | None
    """Milliseconds for which it is fresh; None or 0 if it never is."""
    final_block: bytes | None
    """The component that names the last segment, if that is told."""
    content_at: int
    """Where the content is in ``raw``; 0 if there is no such element."""
    content_end: int
    signature: Signature
    raw: bytes
    """The whole packet."""


class Data(_Fields):
    """One Data. It keeps the packet, and cuts the content out when that is asked for: most Data
    only pass by, or lie in a store.
    """

    __slots__ = ()

    @property
    def content(self) -> bytes | None:
        """The message; None if there is no Content element, as in an acknowledgement."""
        start = self[4]
        return self[7][start : self[5]] if start else None


# ---- reading


def decode_data(raw: bytes, most_components: int = MOST_COMPONENTS) -> Data:
    """Read one whole Data. Its signature is not checked.

    In one piece, with short lengths read in place: every Data that comes in passes here.
    """
    try:
        if raw[0] != DATA:
            raise RemoteProtocolError("bad_packet", f"the type {raw[0]}, a Data is expected")
        size = raw[1]
        # Lengths of two bytes are read here too: those of a Data and its content often are.
        if size < 253:
            begin, end = 2, 2 + size
        elif size == 253 and raw[2]:
            begin, end = 4, 4 + (raw[2] << 8 | raw[3])
        else:
            _, begin, end = read_head(raw, 0, len(raw))
        if end != len(raw):
            raise RemoteProtocolError("bad_tlv", f"{len(raw)} bytes, the Data ends at {end}")
        if raw[begin] != NAME:
            raise RemoteProtocolError("bad_packet", "a Data without a name")
        size = raw[begin + 1]
        if size < 253:
            start, at = begin + 2, begin + 2 + size
        else:
            _, start, at = read_head(raw, begin, end)
        if at > end:
            raise too_short()
        scan_name(raw, start, at, most_components)
        name = raw[start:at]

        content_type, freshness, final_block = 0, None, None
        content_at = content_end = 0
        last = 0
        while True:
            kind, size = raw[at], raw[at + 1]
            if kind < 253 > size:
                start = at + 2
                stop = start + size
            elif size == 253 > kind and raw[at + 2]:
                start = at + 4
                stop = start + (raw[at + 2] << 8 | raw[at + 3])
            else:
                kind, start, stop = read_head(raw, at, end)
            if stop > end:
                raise too_short()
            if kind == SIGNATURE_INFO:
                break
            if kind == CONTENT and last < 2:
                last = 2
                content_at, content_end = start, stop
            elif kind == META_INFO and not last:
                last = 1
                if raw[at:stop] != _PLAIN_META:
                    content_type, freshness, final_block = _read_meta(raw, start, stop)
            elif kind == 0:
                raise RemoteProtocolError("bad_tlv", "the type 0")
            else:
                skip(kind, "a Data")
            at = stop
    except IndexError:
        raise too_short() from None
    signature = _read_signature(raw, begin, (at, start, stop), end)
    return tuple.__new__(
        Data,
        (name, content_type, freshness, final_block, content_at, content_end, signature, raw),
    )


def _read_signature(raw: bytes, begin: int, info: tuple[int, int, int], end: int) -> Signature:
    """The signature of a Data; ``info``: where the element is, its value, and its end."""
    info_at, start, at = info
    spans = (begin, at)
    if raw[info_at:at] == _DIGEST_INFO:
        type: int = 0
        key_name = key_digest = nonce = time = seq = None
    else:
        type, key_name, key_digest, nonce, time, seq = read_info(raw, start, at)
    value: bytes | None = None
    # What nearly always follows: nothing but the value.
    if end - at > 2 and raw[at] == SIGNATURE_VALUE and raw[at + 1] == end - at - 2 < 253:
        value = raw[at + 2 : end]
        at = end
    while at < end:
        kind, start, at = read_head(raw, at, end)
        if kind == SIGNATURE_VALUE and value is None:
            value = raw[start:at]
        else:
            skip(kind, "a Data")
    if value is None:
        raise RemoteProtocolError("bad_signature", "a Data without a signature's value")
    return tuple.__new__(
        Signature, (type, key_name, key_digest, value, raw, spans, nonce, time, seq)
    )


def _read_meta(raw: bytes, at: int, end: int) -> tuple[int, int | None, bytes | None]:
    """The content's type, the freshness and the last segment's component."""
    content_type, freshness, final_block = 0, None, None
    last = 0
    while at < end:
        kind, start, at = read_head(raw, at, end)
        if kind == CONTENT_TYPE and last < 1:
            last = 1
            content_type = read_number(raw[start:at])
        elif kind == FRESHNESS and last < 2:
            last = 2
            freshness = read_number(raw[start:at])
        elif kind == FINAL_BLOCK and last < 3:
            last = 3
            scan_name(raw, start, at, 1)
            if at == start:
                raise RemoteProtocolError("bad_packet", "FinalBlockId without a component")
            final_block = raw[start:at]
        else:
            skip(kind, "MetaInfo")
    return content_type, freshness, final_block


# ---- writing


def encode_data(
    name: Name,
    content: bytes | None,
    signer: Signer,
    *,
    content_type: int | None = 0,
    freshness: int | None = None,
    final_block: bytes | None = None,
) -> Data:
    """Make a Data and sign it.

    The type of the content is said also if it is the usual one, as others do; with None it is not,
    and without anything else to say there is no MetaInfo.
    """
    before = name_tlv(name)
    if content_type == 0 and freshness is None and final_block is None:
        before += _PLAIN_META
    else:
        before += _meta(content_type, freshness, final_block)
    content_end = content_size = 0
    if content is not None:
        content_size = len(content)
        before += b"\x15" + (BYTE[content_size] if content_size < 253 else variable(content_size))
        before += content
        content_end = len(before)
    key_name = signer.key_name
    type = signer.type
    covered = before + plain_info(SIGNATURE_INFO, type, key_name)
    value = signer.sign(covered)
    tail = tlv(SIGNATURE_VALUE, value)
    size = len(covered) + len(tail)
    head = b"\x06" + (BYTE[size] if size < 253 else variable(size))
    begin = len(head)
    raw = head + covered + tail
    spans = (begin, begin + len(covered))
    signature: Signature = tuple.__new__(
        Signature, (type, key_name, None, value, raw, spans, None, None, None)
    )
    if content is not None:
        content_end += begin
    return tuple.__new__(
        Data,
        (name, content_type or 0, freshness, final_block, content_end - content_size, content_end,
         signature, raw),
    )  # fmt: skip


def _meta(content_type: int | None, freshness: int | None, final_block: bytes | None) -> bytes:
    value = b"" if content_type is None else number_tlv(CONTENT_TYPE, content_type)
    if freshness is not None:
        value += number_tlv(FRESHNESS, freshness)
    if final_block is not None:
        value += tlv(FINAL_BLOCK, final_block)
    return tlv(META_INFO, value) if value else b""


def full_name(data: Data) -> Name:
    """The name with the digest of the whole packet: there is only one Data of that name."""
    return data.name + b"\x01\x20" + sha256(data.raw).digest()
