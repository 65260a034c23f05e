"""The protobuf wire format: read under limits, written byte for byte.

Why not the protobuf library: a generated decoder allocates everything a packet claims before we
can look at it, and gives back a message that encodes to other bytes than came in. Here a limit is
checked before the thing it limits is made, unknown fields stay where they were, and what a
signature covers is a slice of the bytes that arrived. For a signed message of 1 KiB it costs the
same (``bench/``).

Whoever reads what no peer sent (a file) catches :class:`RemoteProtocolError`, too, and says in its
own words whose fault that is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

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
    if offset < end and buffer[offset] < 0x80:  # most of them
        return buffer[offset], offset + 1
    value = shift = 0
    while offset < end:
        byte = buffer[offset]
        offset += 1
        if byte < 0x80:
            value |= byte << shift
            if value > LARGEST_UINT64:
                raise RemoteProtocolError("bad_protobuf", "a varint above 64 bits")
            return value, offset
        value |= (byte & 0x7F) << shift
        shift += 7
        if shift > 63:
            raise RemoteProtocolError("bad_protobuf", "a varint of more than 10 bytes")
    raise RemoteProtocolError("bad_protobuf", "a varint is cut short")


def read_field(buffer: bytes, offset: int, end: int) -> tuple[int, int, int, int]:
    """The field at ``offset``: ``(number, wire type, first, last)``.

    ``last`` is the offset behind it. The value is ``buffer[first:last]``; for :data:`VARINT`,
    ``first`` is the value itself. Nothing is copied, and nothing at or past ``end`` is read.

    >>> read_field(bytes.fromhex("0801120161"), 2, 5)
    (2, 2, 4, 5)
    """
    if offset < end and buffer[offset] < 0x80:
        tag, offset = buffer[offset], offset + 1
    else:
        tag, offset = decode_varint(buffer, offset, end)
    number, kind = tag >> 3, tag & 7
    if not 0 < number <= 0x1FFFFFFF:
        raise RemoteProtocolError("bad_protobuf", f"field number {number}")
    if kind == LENGTH_DELIMITED:
        length, offset = decode_varint(buffer, offset, end)
    elif kind == VARINT:
        value, offset = decode_varint(buffer, offset, end)
        return number, kind, value, offset
    elif kind in (FIXED64, FIXED32):
        length = 8 if kind == FIXED64 else 4
    else:
        raise RemoteProtocolError("bad_protobuf", f"wire type {kind}")
    last = offset + length
    if last > end:
        raise RemoteProtocolError("bad_protobuf", f"field {number} is cut short")
    return number, kind, offset, last


def fields(
    buffer: bytes, offset: int, end: int, most: int = MOST_FIELDS
) -> Iterator[tuple[int, int, int, int]]:
    """Walk the fields of the message in ``buffer[offset:end]``, each as of :func:`read_field`.

    >>> list(fields(bytes.fromhex("0801120161"), 0, 5))
    [(1, 0, 1, 2), (2, 2, 4, 5)]
    """
    while offset < end:
        most -= 1
        if most < 0:
            raise RemoteProtocolError("too_many_fields", "a message of too many fields")
        field = read_field(buffer, offset, end)
        offset = field[3]
        yield field


def read_message(
    buffer: bytes,
    offset: int,
    end: int,
    number_at: Callable[[bytes, int, int], tuple[int, int]] = decode_varint,
) -> dict[int, int | bytes]:
    """The fields of the message in ``buffer[offset:end]``, by number; of each the last one.

    For messages without repeated fields whose values are wanted all: it takes half the time of
    walking them. ``number_at`` reads the value of a varint field.

    >>> read_message(bytes.fromhex("0801120161"), 0, 5)
    {1: 1, 2: b'a'}
    """
    found: dict[int, int | bytes] = {}
    while offset + 1 < end:
        tag, length = buffer[offset], buffer[offset + 1]
        if 7 < tag < 0x80:
            if tag & 7 == VARINT:
                found[tag >> 3], offset = number_at(buffer, offset + 1, end)
                continue
            if tag & 7 == LENGTH_DELIMITED and length < 0x80:
                first = offset + 2
                offset = first + length
                if offset > end:
                    raise RemoteProtocolError("bad_protobuf", f"field {tag >> 3} is cut short")
                found[tag >> 3] = buffer[first:offset]
                continue
        number, kind, first, offset = read_field(buffer, offset, end)
        found[number] = first if kind == VARINT else buffer[first:offset]
    if offset < end:
        raise RemoteProtocolError("bad_protobuf", "a field is cut short")
    return found


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
