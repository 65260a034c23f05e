"""Messages above the size of a packet: a manifest, and segments. Our own; others do not know it.

The Data of the message holds the manifest instead of the message, and says so by the type of its
content: who does not know that type sees a message of a strange type, not a wrong message. Segments
are named below it, by their number from 0.

    81 number of segments, 83 bytes of the message, 85 SHA-256 of the message
"""

from __future__ import annotations

from typing import Final, NamedTuple

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.wire.name import SEGMENT, Name, component
from rumormill.ndn.wire.records import elements
from rumormill.ndn.wire.tlv import number, number_tlv, read_number, skip, tlv

MANIFEST_CONTENT_TYPE: Final = 0x524D
"""Far from the numbers that are assigned."""

SEGMENTS: Final = 0x81
SIZE: Final = 0x83
DIGEST: Final = 0x85
DIGEST_SIZE: Final = 32


class Manifest(NamedTuple):
    """How many segments make which message.

    >>> manifest = Manifest(3, 20_000, bytes(32))
    >>> decode_manifest(encode_manifest(manifest)) == manifest
    True
    """

    segments: int
    size: int
    digest: bytes


def encode_manifest(manifest: Manifest) -> bytes:
    """The content of the Data."""
    segments, size, digest = manifest
    return number_tlv(SEGMENTS, segments) + number_tlv(SIZE, size) + tlv(DIGEST, digest)


def decode_manifest(content: bytes) -> Manifest:
    """Read the content of the Data. Who fetches has limits of its own for both numbers."""
    segments = size = 0
    digest = b""
    for type, value in elements(content):
        if type == SEGMENTS and not segments:
            segments = read_number(value)
        elif type == SIZE and not size:
            size = read_number(value)
        elif type == DIGEST and not digest:
            digest = value
        else:
            skip(type, "a manifest")
    # No segment is empty: so nobody fetches a million of nothing.
    if not 1 <= segments <= size or len(digest) != DIGEST_SIZE:
        raise RemoteProtocolError("bad_manifest", f"{segments} segments of {size} bytes")
    return Manifest(segments, size, digest)


def segment_name(message: Name, index: int) -> Name:
    """What a segment of a message is called.

    >>> segment_name(component(b"m"), 1)
    b'\\x08\\x01m2\\x01\\x01'
    """
    return message + component(number(index), SEGMENT)
