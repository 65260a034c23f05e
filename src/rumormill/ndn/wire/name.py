"""Names: what Interests ask for and Data are called.

A name is the value of its TLV: its components as they travel, one after another. So it is a slice
of the packet that it came in, a key of tables, and a prefix of it is a prefix of its bytes.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.wire.tlv import BYTE, read_head, tlv, too_short, variable
from rumormill.ndn.wire.uri import GENERIC, name_from_uri, name_to_uri

__all__ = [
    "GENERIC",
    "IMPLICIT_DIGEST",
    "KEYWORD",
    "MOST_COMPONENTS",
    "NAME",
    "PARAMETERS_DIGEST",
    "SEGMENT",
    "VERSION",
    "Name",
    "check_name",
    "component",
    "components",
    "is_prefix",
    "name_from_uri",
    "name_tlv",
    "name_to_uri",
    "prefix_ends",
    "scan_name",
    "type_of",
    "value_of",
]

Name: TypeAlias = bytes
"""The value of a Name element; ``b""`` is the root, of which all names are below."""

NAME: Final = 0x07
"""The type of the element that a name is the value of."""

IMPLICIT_DIGEST: Final = 1
PARAMETERS_DIGEST: Final = 2
KEYWORD: Final = 32
SEGMENT: Final = 50
VERSION: Final = 54
"""Types of components. Those of a version, a segment and the like hold a number."""

LARGEST_COMPONENT_TYPE: Final = 0xFFFF
DIGEST_SIZE: Final = 32

MOST_COMPONENTS: Final = 256
"""More have no use, and each prefix of a name may be looked up in a table."""


def component(value: bytes, type: int = GENERIC) -> bytes:
    """One component as it travels.

    >>> component(b"hi").hex()
    '08026869'
    """
    size = len(value)
    if type == GENERIC and size < 253:
        return b"\x08" + BYTE[size] + value
    return tlv(type, value)


def name_tlv(name: Name) -> bytes:
    """The element that a name is the value of."""
    size = len(name)
    return b"\x07" + (BYTE[size] if size < 253 else variable(size)) + name


def components(name: Name) -> list[bytes]:
    """The components of a name, each a name of its own; put together they are the name again.

    >>> components(name_from_uri("/a/bc"))
    [b'\\x08\\x01a', b'\\x08\\x02bc']
    """
    ends = prefix_ends(name)
    return [name[ends[place] : ends[place + 1]] for place in range(len(ends) - 1)]


def value_of(component: bytes) -> bytes:
    """What is in a component.

    >>> value_of(component(b"hi"))
    b'hi'
    """
    _, start, _ = read_head(component, 0, len(component))
    return component[start:]


def type_of(component: bytes) -> int:
    """The type of a component.

    >>> type_of(component(b"\\0", SEGMENT))
    50
    """
    return read_head(component, 0, len(component))[0]


def prefix_ends(name: Name) -> list[int]:
    """Where each prefix of a name ends, from the root's 0 to the whole name's length.

    The name must be one that was checked: whatever a decoder or :func:`name_from_uri` returned.

    >>> name = name_from_uri("/a/bc")
    >>> [name_to_uri(name[:end]) for end in prefix_ends(name)]
    ['/', '/a', '/a/bc']
    """
    ends = [0]
    at, end = 0, len(name)
    while at < end:
        size = name[at + 1]
        if size < 253 > name[at]:
            at += size + 2
        else:
            at = read_head(name, at, end)[2]
        ends.append(at)
    return ends


def is_prefix(prefix: Name, name: Name) -> bool:
    """Whether a name is ``prefix`` or below it.

    Bytes are enough to tell: both begin with a component, each component says itself where it ends,
    and has only one form; so as long as bytes are the same, components begin at the same places,
    and the prefix ends at the end of one.

    >>> is_prefix(name_from_uri("/a"), name_from_uri("/a/b"))
    True
    >>> is_prefix(name_from_uri("/a"), name_from_uri("/ab"))
    False
    """
    return name.startswith(prefix)


def check_name(name: Name, most: int = MOST_COMPONENTS) -> None:
    """Raise :class:`RemoteProtocolError` if bytes are no name, or one of too many components."""
    scan_name(name, 0, len(name), most)


def scan_name(data: bytes, at: int, end: int, most: int = MOST_COMPONENTS) -> int:
    """Check the name between two places of a packet.

    Returns where the component with the digest of parameters begins, or -1 if there is none.
    """
    found = -1
    try:
        for _ in range(most):
            if at >= end:
                break
            size = data[at + 1]
            # Nearly all: neither a digest nor a long form.
            if 2 < data[at] < 253 > size:
                at += size + 2
            else:
                type, start, stop = read_head(data, at, end)
                _check_component(type, stop - start)
                if type == PARAMETERS_DIGEST:
                    if found >= 0:
                        raise RemoteProtocolError("bad_name", "two digests of parameters")
                    found = at
                at = stop
    except IndexError:
        raise too_short() from None
    if at != end:
        if at > end:
            raise RemoteProtocolError("bad_tlv", "a component goes beyond its name")
        raise RemoteProtocolError("bad_name", f"more than {most} components")
    return found


def _check_component(type: int, size: int) -> None:
    if type > LARGEST_COMPONENT_TYPE:
        raise RemoteProtocolError("bad_name", f"a component of the type {type}")
    if type <= PARAMETERS_DIGEST and size != DIGEST_SIZE:
        raise RemoteProtocolError("bad_name", f"a digest of {size} bytes")
