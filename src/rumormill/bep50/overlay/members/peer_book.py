"""Who is who to a node, beyond single topics: neighbours, awaited contacts, and we ourselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rumormill.core.machine import Peer

if TYPE_CHECKING:
    from rumormill.bep50.overlay.overlay import Overlay


class PeerBook:
    """What a node keeps in mind of peers."""

    __slots__ = ("_awaited", "_tables", "own")

    def __init__(self) -> None:
        self.own: dict[Peer, None] = {}
        """Our own addresses: nobody to talk to."""
        self._tables: dict[Peer, int] = {}
        self._awaited: dict[Peer, list[Overlay]] = {}

    @property
    def neighbours(self) -> tuple[Peer, ...]:
        """Everybody in any table."""
        return tuple(self._tables)

    def is_neighbour(self, peer: Peer) -> bool:
        """Whether the peer is in any table."""
        return peer in self._tables

    def count(self, peer: Peer, change: int) -> int:
        """The peer entered a table (1) or left one (-1); in how many it is now."""
        count = self._tables.get(peer, 0) + change
        if count:
            self._tables[peer] = count
        else:
            self._tables.pop(peer, None)
        return count

    # ---- contacts

    def expect(self, peer: Peer, overlay: Overlay) -> None:
        """The overlay asks an address that may belong to the main DHT only."""
        self._awaited.setdefault(peer, []).append(overlay)

    def settle(self, peer: Peer, overlay: Overlay) -> None:
        """It is known what became of it."""
        awaiting = self._awaited.get(peer, [])
        if overlay in awaiting:
            awaiting.remove(overlay)
        if not awaiting:
            self._awaited.pop(peer, None)

    def awaiting(self, peer: Peer) -> list[Overlay]:
        """The overlays that wait to hear what becomes of a contact."""
        return self._awaited.get(peer, [])

    def sizes(self) -> dict[str, int]:
        """How much is held, for tests of its bounds."""
        return {
            "peers": len(self._tables),
            "awaited": len(self._awaited),
        }
