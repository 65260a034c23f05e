"""Who is who to a node, beyond single topics: neighbours, awaited contacts, and we ourselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rumormill.bep50.wire.addresses import from_compact
from rumormill.core.machine import Peer

if TYPE_CHECKING:
    from rumormill.bep50.overlay.overlay import Overlay

MOST_SIGHTS = 16
"""Addresses of ours, as peers tell them, that are counted."""


class PeerBook:
    """What a node keeps in mind of peers."""

    __slots__ = ("_awaited", "_sights", "_tables", "own")

    def __init__(self) -> None:
        self.own: dict[Peer, None] = {}
        """Our own addresses: nobody to talk to."""
        self._tables: dict[Peer, int] = {}
        self._awaited: dict[Peer, list[Overlay]] = {}
        self._sights: dict[bytes, int] = {}

    @property
    def neighbours(self) -> tuple[Peer, ...]:
        """Everybody in any table."""
        return tuple(self._tables)

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

    # ---- ourselves

    def count_sight(self, compact: bytes) -> None:
        """A peer told as whom it sees us."""
        sights = self._sights
        if compact not in sights and len(sights) >= MOST_SIGHTS:
            del sights[min(sights, key=lambda each: sights[each])]
        sights[compact] = sights.get(compact, 0) + 1

    def seen_as(self) -> tuple[Peer, ...]:
        """The addresses that peers see us at, what most of them say first."""
        by_count = sorted(self._sights.items(), key=lambda each: (-each[1], each[0]))
        return tuple(from_compact(compact) for compact, _ in by_count)

    def sizes(self) -> dict[str, int]:
        """How much is held, for tests of its bounds."""
        return {
            "peers": len(self._tables),
            "awaited": len(self._awaited),
            "sights": len(self._sights),
        }
