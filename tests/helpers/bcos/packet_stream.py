"""A stream of packets, cut anywhere."""

from __future__ import annotations

from rumormill.bcos.wire.frames import FrameReader
from rumormill.core.errors import RemoteProtocolError
from tests.helpers.fuzz.fuzzing import pieces


def packets_in(data: bytes, size: int, smallest: int, largest: int) -> tuple[list[bytes], str, int]:
    """The packets of a stream in pieces of a size, why it ended, and how much is kept."""
    reader, seen = FrameReader(smallest, largest), []
    try:
        for piece in pieces(data, size):
            for raw in reader.feed(piece):
                seen.append(raw)
            assert reader.buffered < largest, "more than a packet is kept"
    except RemoteProtocolError as error:
        return seen, error.reason, reader.buffered
    return seen, "", reader.buffered
