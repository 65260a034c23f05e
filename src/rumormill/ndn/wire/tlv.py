"""Type, length, value: the one form of everything in NDN, and how its numbers are written.

Types and lengths are one byte up to 252; above that a byte that says so (253, 254, 255) and two,
four or eight more. Only the shortest form is right: otherwise one name had many encodings.

Readers of hot packets look at the short form by themselves and call :func:`read_head` for the rest.
"""

from __future__ import annotations

from typing import Final

from rumormill.core.errors import RemoteProtocolError

MOST_PACKET: Final = 8800
"""Bytes of the largest packet that forwarders carry."""

LARGEST_TYPE: Final = 0xFFFFFFFF

BYTE: Final = tuple(bytes((value,)) for value in range(256))
"""Each byte by itself: looking one up is the cheapest way to write it."""


def variable(value: int) -> bytes:
    """A type or a length as it travels.

    >>> variable(252).hex(), variable(253).hex(), variable(65536).hex()
    ('fc', 'fd00fd', 'fe00010000')
    """
    if value < 253:
        return BYTE[value]
    if value < 0x10000:
        return b"\xfd" + value.to_bytes(2, "big")
    if value < 0x100000000:
        return b"\xfe" + value.to_bytes(4, "big")
    return b"\xff" + value.to_bytes(8, "big")


def tlv(type: int, value: bytes) -> bytes:
    """One element.

    >>> tlv(8, b"hi").hex(), tlv(0x0320, b"").hex()
    ('08026869', 'fd032000')
    """
    size = len(value)
    if type < 253 and size < 253:
        return BYTE[type] + BYTE[size] + value
    return variable(type) + variable(size) + value


def number(value: int) -> bytes:
    """A number as the value of an element: one, two, four or eight bytes.

    >>> number(0).hex(), number(4000).hex(), number(65536).hex()
    ('00', '0fa0', '00010000')
    """
    if value < 0x100:
        return BYTE[value]
    if value < 0x10000:
        return value.to_bytes(2, "big")
    if value < 0x100000000:
        return value.to_bytes(4, "big")
    return value.to_bytes(8, "big")


def number_tlv(type: int, value: int) -> bytes:
    """An element that holds a number.

    >>> number_tlv(0x0C, 4000).hex()
    '0c020fa0'
    """
    return tlv(type, number(value))


NUMBER_SIZES: Final = frozenset((1, 2, 4, 8))


def read_number(value: bytes) -> int:
    """The number that is the value of an element; it need not be in its shortest form.

    >>> read_number(bytes.fromhex("0fa0"))
    4000
    """
    if len(value) not in NUMBER_SIZES:
        raise RemoteProtocolError("bad_number", f"{len(value)} bytes")
    return int.from_bytes(value, "big")


def read_head(data: bytes, at: int, end: int) -> tuple[int, int, int]:
    """The type of the element at a place, where its value starts, and where that ends.

    >>> read_head(bytes.fromhex("08026869"), 0, 4)
    (8, 2, 4)
    """
    try:
        type = data[at]
        start = at + 1
        if type >= 253:
            type, start = read_long(data, start, type)
        size = data[start]
        start += 1
        if size >= 253:
            size, start = read_long(data, start, size)
    except IndexError:
        raise RemoteProtocolError("bad_tlv", "it ends within a type or length") from None
    if not 0 < type <= LARGEST_TYPE:
        raise RemoteProtocolError("bad_tlv", f"the type {type}")
    stop = start + size
    if stop > end:
        raise RemoteProtocolError("bad_tlv", f"{size} bytes said, {max(0, end - start)} there")
    return type, start, stop


WIDTHS: Final = {253: (2, 253), 254: (4, 0x10000), 255: (8, 0x100000000)}
"""By the first byte of a long form: how many follow, and the least that is not shorter."""


def read_long(data: bytes, at: int, form: int) -> tuple[int, int]:
    """A type or length of more than one byte, behind the one that says so; and where it ends.

    Raises :class:`IndexError` if not all of its bytes are there.
    """
    width, least = WIDTHS[form]
    stop = at + width
    written = data[at:stop]
    if len(written) < width:
        raise IndexError
    value = int.from_bytes(written, "big")
    if value < least:
        raise RemoteProtocolError("bad_tlv", f"{value} in {width} bytes")
    return value, stop


def is_critical(type: int) -> bool:
    """Whether who does not know a type must not go on as if it were not there.

    >>> is_critical(0xF0), is_critical(0xF1), is_critical(0x1E)
    (False, True, True)
    """
    return type <= 31 or type & 1 == 1


def skip(type: int, inside: str) -> None:
    """Pass over an element that is unknown or stands where it should not, if that is allowed."""
    if is_critical(type):
        raise RemoteProtocolError("unknown_critical", f"the type {type} in {inside}")


def too_short() -> RemoteProtocolError:
    """What readers raise that come to the end of the packet too early."""
    return RemoteProtocolError("bad_tlv", "the packet ends too early")
