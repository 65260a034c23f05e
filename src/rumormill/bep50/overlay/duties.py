"""What an overlay is given: what all overlays of a node share, and who hears how queries end."""

from __future__ import annotations

from enum import Enum
from random import Random
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rumormill.bep50.guards.proofs import ProvenAddresses
from rumormill.bep50.overlay.members.buckets import Entry
from rumormill.bep50.overlay.members.peer_book import PeerBook
from rumormill.bep50.overlay.parameters import OverlayParameters
from rumormill.bep50.overlay.traffic.drops import Drops, Wakeable
from rumormill.bep50.overlay.traffic.outbox import Outbox
from rumormill.bep50.overlay.traffic.toll import Toll
from rumormill.bep50.overlay.traffic.transactions import Pending
from rumormill.bep50.wire.bencode import Dict
from rumormill.bep50.wire.krpc import Failure
from rumormill.core.machine import Peer
from rumormill.core.timers import Timers

if TYPE_CHECKING:
    from rumormill.bep50.overlay.overlay import Overlay, Purpose


class Search(Enum):
    """How far the search for our own place among the members has come."""

    NOT_BEGUN = "not_begun"
    UNDER_WAY = "under_way"
    DONE = "done"


class Common(NamedTuple):
    """What all overlays of a node have in common."""

    id: bytes
    parameters: OverlayParameters
    random: Random
    entropy: Random
    outbox: Outbox
    timers: Timers[Wakeable]
    drops: Drops
    book: PeerBook
    proofs: ProvenAddresses
    toll: Toll


class Forwards(Protocol):
    """Puts the newest value to those who lack it: how a put of its own ended."""

    def acknowledged(
        self, overlay: Overlay, peer: Peer, entry: Entry | None, purpose: Purpose
    ) -> None:
        """The peer has it."""
        ...

    def refused(
        self, overlay: Overlay, peer: Peer, entry: Entry | None, purpose: Purpose, failure: Failure
    ) -> None:
        """The peer does not take it."""
        ...

    def unanswered(self, overlay: Overlay, peer: Peer, purpose: Purpose) -> None:
        """The peer is silent."""
        ...


class Keeps(Protocol):
    """Asks the entries now and then, and takes what a ``get`` brought."""

    def expect(self, overlay: Overlay, now: float) -> None:
        """There is an entry."""
        ...

    def due(self, overlay: Overlay, now: float) -> None:
        """Perhaps it is time to ask."""
        ...

    def told(
        self,
        overlay: Overlay,
        peer: Peer,
        entry: Entry | None,
        purpose: Purpose,
        values: Dict,
        now: float,
    ) -> None:
        """The answer to a ``get``."""
        ...

    def unanswered(self, overlay: Overlay, pending: Pending[Purpose]) -> bool:
        """A ``get`` had no answer; whether the peer is asked again."""
        ...


class Joins(Protocol):
    """Finds members."""

    def due(self, overlay: Overlay, now: float) -> None:
        """Perhaps it is time to search."""
        ...

    def found(
        self, overlay: Overlay, peer: Peer, purpose: Purpose, values: Dict, now: float
    ) -> None:
        """The answer to ``find_node``."""
        ...

    def silent(self, overlay: Overlay, pending: Pending[Purpose], now: float) -> None:
        """A node did not answer, or is no member."""
        ...


class Duties(NamedTuple):
    """Who is told how a query ended."""

    forwarding: Forwards
    keepalive: Keeps
    joining: Joins
