"""The frames of yamux: twelve bytes of header, and behind data frames their payload."""

from __future__ import annotations

import struct

from rumormill.core.errors import RemoteProtocolError

HEADER = struct.Struct(">HHII")
"""Version and type in one number (the version is 0), flags, stream, length."""
HEADER_SIZE = HEADER.size

DATA = 0
WINDOW_UPDATE = 1
PING = 2
GO_AWAY = 3

SYN = 1
ACK = 2
FIN = 4
RST = 8
ALL_FLAGS = SYN | ACK | FIN | RST

LARGEST_UINT32 = (1 << 32) - 1

NORMAL_TERMINATION = 0
PROTOCOL_ERROR = 1
INTERNAL_ERROR = 2


def encode_header(kind: int, flags: int, stream: int, length: int) -> bytes:
    """One header.

    >>> encode_header(WINDOW_UPDATE, ACK, 2, 65536).hex()
    '000100020000000200010000'
    """
    return HEADER.pack(kind, flags, stream, length)


def check_header(kind: int, flags: int, stream: int) -> None:
    """Raise :class:`RemoteProtocolError` for a header that nobody may send.

    >>> check_header(DATA, SYN | FIN, 1)
    >>> check_header(PING, SYN, 1)
    Traceback (most recent call last):
    ...
    rumormill.core.errors.RemoteProtocolError: bad_frame: type 2 with flags 1 on stream 1
    """
    if kind > 0xFF:
        raise RemoteProtocolError("bad_version", f"version {kind >> 8}")
    if kind <= WINDOW_UPDATE:
        good = stream != 0 and flags <= ALL_FLAGS
    elif kind == PING:
        good = stream == 0 and flags in (SYN, ACK)
    else:
        good = kind == GO_AWAY and stream == 0 and flags == 0
    if not good:
        raise RemoteProtocolError("bad_frame", f"type {kind} with flags {flags} on stream {stream}")
