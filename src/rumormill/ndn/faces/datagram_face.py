"""A face whose other end is spoken to in datagrams: one packet each, or one fragment."""

from __future__ import annotations

from random import Random

from rumormill.core.machine import Send
from rumormill.core.turn import Turn
from rumormill.ndn.faces.face import NO_TOKEN
from rumormill.ndn.faces.transport_face import TransportFace
from rumormill.ndn.wire.data import Data
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.link import encode_link


class DatagramFace(TransportFace):
    """A face to an address. A datagram leaves at once; whether it arrives, nobody knows."""

    __slots__ = ("_mtu", "heard_at", "keep")

    def __init__(
        self,
        turn: Turn,
        random: Random,
        id: int,
        uri: str,
        to_flush: list[TransportFace],
        mtu: int,
    ) -> None:
        super().__init__(turn, random, id, uri, to_flush)
        self._mtu = mtu
        self.heard_at = turn.now
        """When its last datagram came."""
        self.keep = False
        """Whether it stays however long it is silent."""

    @property
    def origin(self) -> str | int:
        """The address: it may send fragments before it has a number."""
        return self.uri

    def send_interest(self, interest: Interest, token: bytes = NO_TOKEN) -> None:
        """Send an Interest."""
        if self._send(interest.raw, token):
            self.out_interests += 1

    def send_data(self, data: Data, token: bytes = NO_TOKEN) -> None:
        """Send a Data."""
        if self._send(data.raw, token):
            self.out_data += 1

    def send_nack(self, interest: Interest, reason: int, token: bytes = NO_TOKEN) -> None:
        """Say that an Interest cannot be answered."""
        if self._send(interest.raw, token, reason):
            self.out_nacks += 1

    def _send(self, packet: bytes, token: bytes, nack: int | None = None) -> bool:
        if not self.up:
            self.lose("packet", "face_closed")
            return False
        if not self._queued:
            self.queue()
        raw = packet if not token and nack is None else encode_link(packet, token, nack)
        if len(raw) <= self._mtu:
            self.out_bytes += len(raw)
            self._turn.add(Send(self.uri, raw))
            return True
        found = self.in_fragments(packet, token, nack, self._mtu)
        for raw in found:
            self.out_bytes += len(raw)
            self._turn.add(Send(self.uri, raw))
        return bool(found)
