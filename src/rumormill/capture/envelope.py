"""An envelope: a key and headers, packed together with a value into the data of one message.

No peer-to-peer network carries keys or headers, but Spark's sink may be given them. So they travel
inside of the data, in a form that says of itself what it is; whoever captures the message unpacks
them. Data that is not exactly one envelope, to the last byte, is plain data.

    magic "\\x89RMENV\\r\\n"  |  version, 1 byte  |  flags, 1 byte
    key        if flag 1: length, bytes
    headers    if flag 2: count; for each: length, UTF-8 name; length + 1, bytes, or 0 for null
    value      length + 1, bytes to the end; or 0 for null

Numbers are variable-length integers of 7 bits a byte, lowest first, in their shortest form, so one
content has one form only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.core.protobuf import decode_varint, encode_varint

MAGIC: Final = b"\x89RMENV\r\n"
VERSION: Final = 1
MOST_HEADERS: Final = 256
LONGEST_NAME: Final = 1024

_KEY, _HEADERS = 1, 2

Headers = tuple[tuple[str, bytes | None], ...]


class Envelope(NamedTuple):
    """What a message carries besides its value.

    >>> Envelope(b"rain", key=b"Bern").headers
    ()
    """

    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()


def encode(
    value: bytes | None, key: bytes | None = None, headers: Sequence[tuple[str, bytes | None]] = ()
) -> bytes:
    """The data of a message with this value, key and headers.

    A value alone is sent as it is, unless it would be taken for an envelope.

    >>> encode(b"rain")
    b'rain'
    >>> decode(encode(b"rain", key=b"Bern", headers=[("unit", b"mm")]))
    Envelope(value=b'rain', key=b'Bern', headers=(('unit', b'mm'),))
    """
    if value is not None and key is None and not headers and not value.startswith(MAGIC):
        return value
    if len(headers) > MOST_HEADERS:
        raise LocalProtocolError(
            f"a message has at most {MOST_HEADERS} headers, not {len(headers)}"
        )
    flags = (_KEY if key is not None else 0) | (_HEADERS if headers else 0)
    parts = [MAGIC, bytes((VERSION, flags))]
    if key is not None:
        parts += [encode_varint(len(key)), key]
    if headers:
        parts.append(encode_varint(len(headers)))
        for name, content in headers:
            parts += [_name(name), _optional(content)]
    parts.append(_optional(value))
    return b"".join(parts)


def decode(data: bytes) -> Envelope | None:
    """The envelope that the data is, or None if it is plain data."""
    if not data.startswith(MAGIC):
        return None
    try:
        return _Reader(data, len(MAGIC)).envelope()
    except (_PlainDataError, UnicodeDecodeError):
        return None


def _optional(content: bytes | None) -> bytes:
    return b"\0" if content is None else encode_varint(len(content) + 1) + content


def _name(name: str) -> bytes:
    try:
        encoded = name.encode()
    except UnicodeEncodeError:
        raise LocalProtocolError(f"the name of a header must be UTF-8 text: {name!r}") from None
    if len(encoded) > LONGEST_NAME:
        raise LocalProtocolError(
            f"the name of a header has {len(encoded)} bytes, at most {LONGEST_NAME} are allowed"
        )
    return encode_varint(len(encoded)) + encoded


class _PlainDataError(Exception):
    """It looked like an envelope, but is none."""


class _Reader:
    """Reads the parts of an envelope one after the other."""

    def __init__(self, data: bytes, position: int) -> None:
        self._data = data
        self._position = position

    def envelope(self) -> Envelope:
        version, flags = self._bytes(2)
        if version != VERSION or flags & ~(_KEY | _HEADERS):
            raise _PlainDataError
        key = self._bytes(self._number()) if flags & _KEY else None
        headers = self._headers() if flags & _HEADERS else ()
        value = self._optional()
        if self._position != len(self._data):
            raise _PlainDataError
        if value is not None and not flags and not value.startswith(MAGIC):
            raise _PlainDataError  # needed no envelope, so this is not what we write
        return Envelope(value, key, headers)

    def _headers(self) -> Headers:
        count = self._number()
        if not 0 < count <= MOST_HEADERS:
            raise _PlainDataError
        return tuple([(self._name(), self._optional()) for _ in range(count)])

    def _name(self) -> str:
        length = self._number()
        if length > LONGEST_NAME:
            raise _PlainDataError
        return self._bytes(length).decode()

    def _optional(self) -> bytes | None:
        length = self._number()
        return self._bytes(length - 1) if length else None

    def _bytes(self, length: int) -> bytes:
        end = self._position + length
        if end > len(self._data):
            raise _PlainDataError
        found = self._data[self._position : end]
        self._position = end
        return found

    def _number(self) -> int:
        begin = self._position
        try:
            number, self._position = decode_varint(self._data, begin, len(self._data))
        except RemoteProtocolError:
            raise _PlainDataError from None
        if self._position - begin > 1 and not self._data[self._position - 1]:
            raise _PlainDataError  # a longer form than needed
        return number
