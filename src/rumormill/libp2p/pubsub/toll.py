"""The toll: what peers pay for the work that they make pubsub do, and what becomes of who cannot.

Each peer has an allowance of work (:class:`~rumormill.core.limits.Work`). Whoever does work for a
peer charges it; at the end of the turn those that have used up their allowance are held back, for
as long as it takes to refill, and whoever does nothing else is dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rumormill.core import trace
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.limits import WORN_OUT
from rumormill.core.machine import Peer
from rumormill.core.transport import RestPeer
from rumormill.libp2p.pubsub.peers import PeerState

if TYPE_CHECKING:
    from rumormill.libp2p.pubsub.pubsub import Pubsub


class Toll:
    """Charges the peers of one node."""

    __slots__ = ("_burst", "_pubsub", "overdrawn")

    def __init__(self, pubsub: Pubsub) -> None:
        self._pubsub = pubsub
        self._burst = pubsub.parameters.work_limits.burst_cost
        self.overdrawn: dict[Peer, None] = {}
        """Peers that may have to rest at the end of this turn."""

    def charge(
        self, peer: Peer, state: PeerState, kind: str, cost: float, *, blame: bool = True
    ) -> None:
        """The peer made us do work of a kind; see :meth:`Work.spend`."""
        work = state.work
        work.spend(kind, cost, blame=blame)
        if work.debt > self._burst:
            self.overdrawn[peer] = None

    def collect(self, now: float) -> None:
        """Hold those back that have used up their allowance."""
        overdrawn, self.overdrawn = self.overdrawn, {}
        for peer in overdrawn:
            state = self._pubsub.peers.get(peer)
            if state is not None:
                self._hold_back(peer, state, now)

    def _hold_back(self, peer: Peer, state: PeerState, now: float) -> None:
        seconds, pubsub = state.work.rest(now), self._pubsub
        if not seconds:
            return
        reason = state.work.reason
        if seconds == WORN_OUT:
            detail = f"it has been held back too long, mostly for {reason}"
            pubsub.punish(peer, RemoteProtocolError("too_much_work", detail))
            return
        pubsub.emit(trace.HELD_BACK, peer=peer, reason=reason, seconds=seconds)
        pubsub.effects.append(RestPeer(peer, seconds))
        for tell in pubsub.listeners.held_back:
            tell(peer, reason, seconds, now)
