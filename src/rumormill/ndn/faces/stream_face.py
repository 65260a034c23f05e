"""A face on a byte stream: TCP or a Unix socket.

All packets of one turn leave in one write. While the socket takes no more they wait, in order, and
what finds no room is dropped and counted. **Interests are dropped first**: they may use one half of
the room, Data and Nacks all of it. An Interest that is lost costs little, and whoever sent it sends
it again; a Data has come all the way already, and its Interest is used up. (Nothing that waits is
thrown out for what comes later: it is older, and its turn is nearer.)
"""

from __future__ import annotations

from random import Random
from typing import Final

from rumormill.core.limits import Work
from rumormill.core.transport import CloseTransport, WriteBytes
from rumormill.core.turn import Turn
from rumormill.ndn.faces.addresses import is_local, source_of
from rumormill.ndn.faces.face import NO_TOKEN
from rumormill.ndn.faces.transport_face import TransportFace
from rumormill.ndn.wire.data import DATA, Data
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.link import encode_link
from rumormill.ndn.wire.stream import Packets
from rumormill.ndn.wire.tlv import MOST_PACKET

CLOSED: Final = -1
"""Room for nothing at all."""


class StreamFace(TransportFace):
    """A face whose connection may still have to be opened; ``room``: bytes that may wait."""

    __slots__ = (
        "_data_room", "_interest_room", "_out", "_room", "connection", "full_since", "packets",
        "slow_bytes", "waiting", "work",
    )  # fmt: skip

    def __init__(
        self,
        turn: Turn,
        random: Random,
        id: int,
        uri: str,
        to_flush: list[TransportFace],
        room: int,
    ) -> None:
        super().__init__(turn, random, id, uri, to_flush)
        self._room = room
        self._interest_room = self._data_room = CLOSED
        self._out: list[bytes] = []
        self.connection = 0
        """The number of its connection, once that stands."""
        self.packets = Packets()
        self.work: Work
        """What it made us do for nothing; all faces of one source have the same."""
        self.waiting = 0
        """Bytes that wait to be written."""
        self.slow_bytes = 0
        """Those that the socket did not take, as they were counted last."""
        self.full_since: float | None = None
        """Since when the socket takes no more."""

    def open(self, connection: int, uri: str, work: Work) -> None:
        """Its connection stands: who is there, and whose account it goes on."""
        self.connection = connection
        self.uri = self.peer = uri
        self.local = is_local(uri)
        self.source = source_of(uri)
        self.work = work
        self.opened_at = self._turn.now
        self.up = True
        self._interest_room = self._room // 2
        self._data_room = self._room

    # ---- packets out

    def send_interest(self, interest: Interest, token: bytes = NO_TOKEN) -> None:
        """Send an Interest."""
        raw = encode_link(interest.raw, token) if token else interest.raw
        size = len(raw)
        waiting = self.waiting + size
        if size > MOST_PACKET or waiting > self._interest_room:
            self._send_otherwise(interest.raw, token, None, self._interest_room)
            return
        self.waiting = waiting
        self._out.append(raw)
        self.out_interests += 1
        if not self._queued:
            self._queued = True
            self._to_flush.append(self)

    def send_data(self, data: Data, token: bytes = NO_TOKEN) -> None:
        """Send a Data."""
        raw = encode_link(data.raw, token) if token else data.raw
        size = len(raw)
        waiting = self.waiting + size
        if size > MOST_PACKET or waiting > self._data_room:
            self._send_otherwise(data.raw, token, None, self._data_room)
            return
        self.waiting = waiting
        self._out.append(raw)
        self.out_data += 1
        if not self._queued:
            self._queued = True
            self._to_flush.append(self)

    def send_nack(self, interest: Interest, reason: int, token: bytes = NO_TOKEN) -> None:
        """Say that an Interest cannot be answered."""
        raw = encode_link(interest.raw, token, reason)
        if len(raw) > MOST_PACKET or self.waiting + len(raw) > self._data_room:
            self._send_otherwise(interest.raw, token, reason, self._data_room)
            return
        self.waiting += len(raw)
        self._out.append(raw)
        self.out_nacks += 1
        self.queue()

    def _send_otherwise(self, packet: bytes, token: bytes, nack: int | None, room: int) -> None:
        """A packet that is too large with what is around it, or for which there is no room."""
        if not self.up:
            self.lose("packet", "face_closed")
        elif self.waiting + len(packet) > room:
            self.lose("packet", "queue_full")
        elif found := self.in_fragments(packet, token, nack, MOST_PACKET):
            self._out += found
            self.waiting += sum(map(len, found))
            self.out_nacks += nack is not None
            self.out_data += nack is None and packet[0] == DATA
            self.out_interests += nack is None and packet[0] != DATA
            self.queue()

    def flush(self) -> None:
        """Write what the turn brought, if the socket takes it."""
        self._queued = False
        if self.full_since is None and self._out:
            out = self._out
            data = out[0] if len(out) == 1 else b"".join(out)
            out.clear()
            self.waiting = 0
            self.out_bytes += len(data)
            self._turn.add(WriteBytes(self.connection, data))

    def set_ready(self, ready: bool) -> None:
        """The socket is full, or has room again."""
        if not ready:
            if self.full_since is None:
                self.full_since = self._turn.now
        elif self.full_since is not None:
            self.full_since = None
            if self._out:
                self.queue()

    def close(self, reason: str) -> None:
        """Close the connection, once what was written has left; what waits for a slow one is
        dropped.
        """
        self.flush()
        if self._out:
            self.lose("packet", reason, len(self._out))
            self._out.clear()
            self.waiting = 0
        self.up = False
        self._interest_room = self._data_room = CLOSED
        self._turn.add(CloseTransport(self.connection, reason))

    def gone(self) -> None:
        """The connection is no more, and what waited for it neither."""
        self.up = False
        self._interest_room = self._data_room = CLOSED
        self._out.clear()
        self.waiting = 0
