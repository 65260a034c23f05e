"""The protobuf wire format: read under limits, written byte for byte.

Why not the protobuf library: a generated decoder allocates everything a packet claims before we
can look at it, and gives back a message that encodes to other bytes than came in. Here a limit is
checked before the thing it limits is made, unknown fields stay where they were, and what a
signature covers is a slice of the bytes that arrived. For a signed message of 1 KiB it costs the
same (``bench/``).
"""

from __future__ import annotations

from collections.abc import Iterator

from rumormill.core.errors import RemoteProtocolError

VARINT = 0
FIXED64 = 1
LENGTH_DELIMITED = 2
FIXED32 = 5

LARGEST_UINT64 = (1 << 64) - 1

MOST_FIELDS = 16384
"""Fields that one message may have: each costs time to walk, and two bytes are enough for one."""


def encode_varint(value: int) -> bytes:
    """An unsigned number as a varint.

    >>> encode_varint(300).hex()
    'ac02'
    """
    if value < 0x80:
        return bytes((value,))
    if value < 0x4000:  # the length of most messages
        return bytes((value & 0x7F | 0x80, value >> 7))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode_varint(buffer: bytes, offset: int, end: int) -> tuple[int, int]:
    """The number at ``offset`` and the offset behind it; nothing at or past ``end`` is read.

    >>> decode_varint(bytes.fromhex("ac02"), 0, 2)
    (300, 2)
    """
    value = shift = 0
    while offset < end:
        byte = buffer[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > LARGEST_UINT64:
                raise RemoteProtocolError("bad_protobuf", "a varint above 64 bits")
            return value, offset
        shift += 7
        if shift > 63:
            raise RemoteProtocolError("bad_protobuf", "a varint of more than 10 bytes")
    raise RemoteProtocolError("bad_protobuf", "a varint is cut short")


def fields(
    buffer: bytes, offset: int, end: int, most: int = MOST_FIELDS
) -> Iterator[tuple[int, int, int, int]]:
    """Walk the fields of the message in ``buffer[offset:end]``.

    Yields ``(number, wire type, a, b)``: for :data:`VARINT` ``a`` is the value and ``b`` is 0; for
    the other types the value is ``buffer[a:b]``. Nothing is copied.

    >>> list(fields(bytes.fromhex("0801120161"), 0, 5))
    [(1, 0, 1, 0), (2, 2, 4, 5)]
    """
    while offset < end:
        most -= 1
        if most < 0:
            raise RemoteProtocolError("too_many_fields", "a message of too many fields")
        tag, offset = decode_varint(buffer, offset, end)
        number, kind = tag >> 3, tag & 7
        if number == 0 or number > 0x1FFFFFFF:
            raise RemoteProtocolError("bad_protobuf", f"field number {number}")
        if kind == LENGTH_DELIMITED:
            length, start = decode_varint(buffer, offset, end)
            offset = start + length
            if offset > end:
                raise RemoteProtocolError("bad_protobuf", f"field {number} is cut short")
            yield number, kind, start, offset
        elif kind == VARINT:
            value, offset = decode_varint(buffer, offset, end)
            yield number, kind, value, 0
        elif kind in (FIXED64, FIXED32):
            start = offset
            offset += 8 if kind == FIXED64 else 4
            if offset > end:
                raise RemoteProtocolError("bad_protobuf", f"field {number} is cut short")
            yield number, kind, start, offset
        else:
            raise RemoteProtocolError("bad_protobuf", f"wire type {kind}")


def bytes_field(number: int, value: bytes) -> bytes:
    """One length-delimited field, tag included.

    >>> bytes_field(2, b"abc").hex()
    '1203616263'
    """
    tag = _BYTES_TAGS[number] if number < 16 else encode_varint(number << 3 | LENGTH_DELIMITED)
    return tag + encode_varint(len(value)) + value


_BYTES_TAGS = tuple(bytes((number << 3 | LENGTH_DELIMITED,)) for number in range(16))


def varint_field(number: int, value: int) -> bytes:
    """One varint field, tag included.

    >>> varint_field(1, 1).hex()
    '0801'
    """
    return encode_varint(number << 3) + encode_varint(value)


def raw_field(buffer: bytes, number: int, kind: int, start: int, end: int) -> bytes:
    """A field that :func:`fields` came upon, as bytes again, tag included."""
    if kind == VARINT:
        return varint_field(number, start)
    if kind == LENGTH_DELIMITED:
        return bytes_field(number, buffer[start:end])
    return encode_varint(number << 3 | kind) + buffer[start:end]
