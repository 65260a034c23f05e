"""What faces to other programs have in common, be it a connection or datagrams."""

from __future__ import annotations

from random import Random
from typing import Final

from rumormill.core.trace import DROPPED
from rumormill.core.turn import Turn
from rumormill.ndn.faces.addresses import is_local, source_of
from rumormill.ndn.faces.face import Face
from rumormill.ndn.faces.fragments import fragments
from rumormill.ndn.faces.traffic import Traffic
from rumormill.ndn.wire.tlv import MOST_PACKET

SEQUENCE_BITS: Final = 64


class TransportFace(Face):
    """A face that somebody else is at the other end of.

    ``to_flush``: where it says, once a turn, that it has sent something.
    """

    __slots__ = (
        "_queued", "_random", "_sequence", "_to_flush", "_turn", "charged", "dialed", "in_bytes",
        "in_data", "in_interests", "in_nacks", "opened_at", "out_bytes", "out_data",
        "out_interests", "out_nacks", "source", "up",
    )  # fmt: skip

    def __init__(
        self, turn: Turn, random: Random, id: int, uri: str, to_flush: list[TransportFace]
    ) -> None:
        super().__init__(id, uri, local=is_local(uri))
        self._turn = turn
        self._random = random
        self._to_flush = to_flush
        self._queued = False
        self._sequence: int | None = None
        self.source = source_of(uri)
        """Whom the address belongs to."""
        self.dialed = ""
        """What was dialed, if it was us who wanted the face."""
        self.up = False
        """Whether packets go in and out."""
        self.opened_at = turn.now
        self.charged = False
        """Whether it has made us work for nothing since somebody looked."""
        self.in_interests = self.in_data = self.in_nacks = self.in_bytes = 0
        self.out_interests = self.out_data = self.out_nacks = self.out_bytes = 0

    @property
    def origin(self) -> str | int:
        """What tells its fragments from those of others."""
        return self.id

    @property
    def has_spoken(self) -> bool:
        """Whether a packet of it could be read."""
        return bool(self.in_interests or self.in_data or self.in_nacks)

    @property
    def traffic(self) -> Traffic:
        """What has gone over it so far."""
        return Traffic(
            self.in_interests, self.in_data, self.in_nacks, self.in_bytes,
            self.out_interests, self.out_data, self.out_nacks, self.out_bytes,
        )  # fmt: skip

    def in_fragments(self, packet: bytes, token: bytes, nack: int | None, mtu: int) -> list[bytes]:
        """Link packets of at most ``mtu`` bytes that hold a packet; none if it is too large."""
        if len(packet) > MOST_PACKET:
            self.lose("packet", "too_large")
            return []
        if self._sequence is None:
            self._sequence = self._random.getrandbits(SEQUENCE_BITS)
        found = fragments(packet, token, nack, self._sequence, mtu)
        self._sequence += len(found)
        return found

    def queue(self) -> None:
        """Something was sent: let it be seen to at the end of the turn."""
        if not self._queued:
            self._queued = True
            self._to_flush.append(self)

    def flush(self) -> None:
        """The turn is at its end."""
        self._queued = False

    def lose(self, what: str, reason: str, count: int = 1) -> None:
        """Something was not sent, or will never be whole."""
        self._turn.trace(
            DROPPED, peer=self.node, address=self.uri, what=what, reason=reason, count=count
        )
