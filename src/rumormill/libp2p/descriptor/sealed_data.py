"""Encrypted data of a message as it stands on the wire, and what it is bound to.

    1 byte    the form: 1
    8 bytes   which key: the beginning of its hash
    24 bytes  the nonce
    the rest  the data, encrypted by XChaCha20-Poly1305, and its tag of 16 bytes

Bound to it, without being sent once more, are the topic, the author and the author's number of the
message: on another topic, or under another name, nobody can open it.
"""

from __future__ import annotations

import functools
from typing import Final

from rumormill.core.errors import RemoteProtocolError
from rumormill.libp2p.descriptor.xchacha import NONCE_SIZE, TAG_SIZE

FORM: Final = b"\x01"
KEY_ID_SIZE: Final = 8
HEAD_SIZE: Final = 1 + KEY_ID_SIZE
OVERHEAD: Final = HEAD_SIZE + NONCE_SIZE + TAG_SIZE
"""Bytes that encryption adds to a message."""

DOMAIN: Final = b"libp2p-topic-data:"


def key_id_of(data: bytes) -> bytes:
    """Which key encrypted data is under; :class:`RemoteProtocolError` if it is no such data.

    >>> key_id_of(FORM + b"12345678" + bytes(40))
    b'12345678'
    """
    if len(data) < OVERHEAD or data[:1] != FORM:
        raise RemoteProtocolError("not_sealed", f"{len(data)} bytes that are not encrypted")
    return data[1:HEAD_SIZE]


def about(digest: bytes, author: bytes, sequence: bytes) -> bytes:
    """What encrypted data is bound to: each part has its length, or is the last.

    ``digest`` is the descriptor's; a sequence number counts without leading zeros, which some
    peers leave out.

    >>> about(b"d" * 32, b"ann", b"\\x00\\x07") == about(b"d" * 32, b"ann", b"\\x07")
    True
    """
    return _about(digest, author) + (sequence if len(sequence) == 8 else sequence.rjust(8, b"\0"))


@functools.lru_cache(1024)
def _about(digest: bytes, author: bytes) -> bytes:
    """What is the same for all messages of an author."""
    return b"".join((DOMAIN, digest, len(author).to_bytes(2, "big"), author))
