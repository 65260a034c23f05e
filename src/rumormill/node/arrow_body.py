"""An Arrow IPC stream looked at before it is read: nothing in it may become more than was sent.

Buffers of a record batch can be compressed, and pyarrow decompresses them without asking: 62 KB
became 3.9 GB. Whether they are stands in the metadata, a flatbuffer, of which this reads the few
fields that it needs; pyarrow does not show them. The form is that of Arrow's ``Message.fbs``; it
has been the same since version 0.15.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from rumormill.node.guard import Refusal

SCHEMA, DICTIONARY, RECORDS = 1, 2, 3
"""Kinds of messages."""

CONTINUATION: Final = 0xFFFFFFFF
LARGEST_METADATA: Final = 64 << 10
"""Bytes. Ours have a few hundred; a larger schema would cost memory before it could be refused."""
MOST_PARTS: Final = 1024
"""Record batches in one stream: each costs some kilobytes, however few rows it has."""

_U16, _U32, _I32, _I64 = (struct.Struct(f"<{kind}") for kind in "HIiq")


class Part(NamedTuple):
    """One message of a stream, as its metadata tells it."""

    kind: int
    compressed: bool
    body_bytes: int


def check_stream(body: bytes | bytearray) -> None:
    """Raise :class:`Refusal` for what must not be handed to pyarrow."""
    parts = 0
    try:
        for part in parts_of(body):
            parts += 1
            if part.kind == DICTIONARY:
                raise Refusal(415, "the batch has a dictionary; send its columns as they are")
            if part.compressed:
                raise Refusal(415, "the batch has compressed buffers; send them as they are")
            if parts > MOST_PARTS:
                raise Refusal(413, f"the stream has more than {MOST_PARTS} parts")
    except (struct.error, ValueError) as error:
        raise Refusal(400, f"the body is no Arrow IPC stream: {error}") from None


def parts_of(body: bytes | bytearray) -> Iterator[Part]:
    """The messages of a stream, one by one; :class:`ValueError` if it is none."""
    at = 0
    while at < len(body):
        if _U32.unpack_from(body, at)[0] != CONTINUATION:
            raise ValueError("a message does not begin as messages do")
        size = _I32.unpack_from(body, at + 4)[0]
        if size == 0:
            return  # what comes behind the end is nobody's
        if not 0 < size <= LARGEST_METADATA:
            raise ValueError(f"{size} bytes of metadata")
        begin, at = at + 8, at + 8 + size
        if at > len(body):
            raise ValueError("it ends amid metadata")
        part = read_part(bytes(body[begin:at]))
        if not 0 <= part.body_bytes <= len(body) - at:
            raise ValueError("it ends amid a message")
        yield part
        at += part.body_bytes


def read_part(metadata: bytes) -> Part:
    """What the metadata of one message says."""
    message = _Table(metadata, _U32.unpack_from(metadata)[0])
    kind, body_bytes = message.byte(1), message.long(3)
    if kind not in (RECORDS, DICTIONARY):
        return Part(kind, False, body_bytes)
    header = message.table(2)
    if header is not None and kind == DICTIONARY:
        header = header.table(1)
    return Part(kind, header is not None and header.has(3), body_bytes)


class _Table:
    """A table of a flatbuffer: fields by their numbers, each of which may be left out."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = self._inside(at)
        self._fields = self._inside(at - _I32.unpack_from(data, at)[0])
        self._size = _U16.unpack_from(data, self._fields)[0]

    def _inside(self, at: int) -> int:
        # Python would count a negative place from the end.
        if not 0 <= at < len(self._data):
            raise ValueError("a place outside of the metadata")
        return at

    def _place(self, field: int) -> int:
        """Where a field is; 0 if it is left out."""
        entry = 4 + 2 * field
        if entry + 2 > self._size:
            return 0
        offset: int = _U16.unpack_from(self._data, self._fields + entry)[0]
        return self._at + offset if offset else 0

    def has(self, field: int) -> bool:
        """Whether the field is there."""
        return self._place(field) != 0

    def byte(self, field: int) -> int:
        """A small number; 0 if it is left out."""
        place = self._place(field)
        return self._data[self._inside(place)] if place else 0

    def long(self, field: int) -> int:
        """A large number; 0 if it is left out."""
        place = self._place(field)
        return int(_I64.unpack_from(self._data, place)[0]) if place else 0

    def table(self, field: int) -> _Table | None:
        """A table; None if it is left out."""
        place = self._place(field)
        if not place:
            return None
        return _Table(self._data, place + _U32.unpack_from(self._data, place)[0])
