"""The bytes of a file, unpacked if need be, a piece at a time.

gzip is told by its first bytes, not by the file's name. Several gzip members one after the other
are one file. Where the packed data is damaged or cut short, the pieces end, after everything that
could still be unpacked, and ``damage`` says why.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

GZIP_MAGIC = b"\x1f\x8b"
PARQUET_MAGIC = b"PAR1"

PIECE = 1 << 20
"""Bytes that are unpacked at a time, at most."""

PACKED_PIECE = 1 << 16

_GZIP = 16 + zlib.MAX_WBITS


class ByteSource:
    """One file; iterate it once."""

    def __init__(self, path: Path, piece: int = PIECE) -> None:
        self.path = path
        self._piece = piece
        self.size = path.stat().st_size
        self.consumed = 0
        """Bytes of the file that have been read."""
        self.damage = ""
        """Why the pieces ended before the file did; empty if all is well."""

    def __iter__(self) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            first = self._read(file, min(PACKED_PIECE, self._piece))
            if first.startswith(GZIP_MAGIC):
                yield from self._unpack(file, first)
                return
            while first:
                yield first
                first = self._read(file, self._piece)

    def _read(self, file: BinaryIO, size: int) -> bytes:
        data = file.read(size)
        self.consumed += len(data)
        return data

    def _unpack(self, file: BinaryIO, data: bytes) -> Iterator[bytes]:
        """Member after member."""
        while data:
            unpacker = zlib.decompressobj(_GZIP)
            while True:
                before = unpacker.copy()
                try:
                    piece = unpacker.decompress(data, self._piece)
                except zlib.error as error:
                    self.damage = f"the gzip data is damaged ({str(error).split(': ')[-1]})"
                    if piece := _salvage(before, data):
                        yield piece
                    return
                if piece:
                    yield piece
                if unpacker.eof:
                    break
                if not data and not piece:
                    self.damage = "the gzip data is cut short"
                    return
                # What did not fit into this piece comes first.
                data = unpacker.unconsumed_tail or self._read(file, PACKED_PIECE)
            data = self._next_member(file, unpacker.unused_data)

    def _next_member(self, file: BinaryIO, data: bytes) -> bytes:
        """What follows a member: nothing, padding with zeros, or another one."""
        while not (data := data.lstrip(b"\0")):
            if not (data := self._read(file, PACKED_PIECE)):
                return b""
        data += self._read(file, PACKED_PIECE) if len(data) < len(GZIP_MAGIC) else b""
        if data.startswith(GZIP_MAGIC):
            return data
        self.damage = "something that is no gzip follows the gzip data"
        return b""


def _salvage(unpacker: zlib._Decompress, data: bytes) -> bytes:
    """What can be unpacked before the fault, a byte at a time."""
    found: list[bytes] = []
    for at in range(len(data)):
        try:
            found.append(unpacker.decompress(data[at : at + 1]))
        except zlib.error:
            break
    return b"".join(found)
