"""The toll: what peers pay for the work that they make pubsub do, and what becomes of who cannot.

Each peer has an allowance of work (:class:`~rumormill.core.limits.Work`). Whoever does work for a
peer charges it; at the end of the turn those that have used up their allowance are held back, for
as long as it takes to refill, and whoever does nothing else is dropped.

Messages that are of use cost nothing, but they take time that others might need. So peers that send
very many share a part of our time (``busy_share``) while others are connected, and are held back
when that is used up: never dropped for it. A peer that is alone with us has all of it.

A peer that leaves in debt and comes again, under whatever name, has nothing at once: debts are kept
for the address that they were made from. Who comes first from there has them, be it another peer;
an honest one needs little of its allowance, and hardly notices.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from rumormill.core import trace
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.limits import WORN_OUT, Work, WorkLimits
from rumormill.core.machine import Peer
from rumormill.core.transport import RestPeer
from rumormill.libp2p.pubsub.inbound import prices
from rumormill.libp2p.pubsub.peers import PeerState

if TYPE_CHECKING:
    from rumormill.libp2p.pubsub.pubsub import Pubsub


BUSY_BURST = 0.01
"""Seconds of messages that those who send many may bring at once before they are held back: others
wait for as long as that takes."""


MOST_DEBTORS = 1024
"""Addresses that somebody left in debt, whose accounts are kept."""


class Toll:
    """Charges the peers of one node."""

    __slots__ = ("_burst", "_busy", "_debtors", "_pot", "_pubsub", "overdrawn")

    def __init__(self, pubsub: Pubsub) -> None:
        self._pubsub = pubsub
        self._burst = pubsub.parameters.work_limits.burst_cost
        busy_share = pubsub.parameters.busy_share
        self._pot = Work(WorkLimits(busy_share, BUSY_BURST, patience=WORN_OUT), 0.0)
        self._debtors: OrderedDict[str, Work] = OrderedDict()
        self._busy: dict[Peer, None] = {}
        self.overdrawn: dict[Peer, None] = {}
        """Peers that may have to rest at the end of this turn."""

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of its bounds."""
        return {"debtors": len(self._debtors)}

    def joined(self, state: PeerState, now: float) -> None:
        """A peer came: perhaps it has been here before."""
        earlier = self._debtors.pop(state.place, None)
        if earlier is not None:
            state.work.spend("debts", min(earlier.owed(now), self._burst), blame=False)

    def left(self, state: PeerState, now: float) -> None:
        """A peer is gone: if it owes something, its account waits for it."""
        if state.place and state.work.owed(now) > self._burst / 2:
            self._debtors[state.place] = state.work
            self._debtors.move_to_end(state.place)
            if len(self._debtors) > MOST_DEBTORS:
                self._debtors.popitem(last=False)

    def charge(
        self, peer: Peer, state: PeerState, kind: str, cost: float, *, blame: bool = True
    ) -> None:
        """The peer made us do work of a kind; see :meth:`Work.spend`."""
        work = state.work
        work.spend(kind, cost, blame=blame)
        if work.debt > self._burst:
            self.overdrawn[peer] = None

    def owes(self, state: PeerState) -> bool:
        """Whether a peer has used up its allowance."""
        return state.work.debt > self._burst

    def arrived(
        self, peer: Peer, state: PeerState, now: float, cost: float = prices.MESSAGE
    ) -> None:
        """The peer sent a message that is worth a check."""
        if not state.messages.take(cost, now):  # its own share, before the common one
            self._share(peer, cost)

    def sent(self, peer: Peer, state: PeerState, count: int, now: float) -> None:
        """A message of the peer was of use, and went on to so many others."""
        cost = count * prices.MESSAGE_SENT
        if not state.messages.take(cost, now):
            self._share(peer, cost)

    def _share(self, peer: Peer, cost: float) -> None:
        self._pot.spend("messages", cost, blame=False)
        self.overdrawn[peer] = self._busy[peer] = None

    def collect(self, now: float) -> None:
        """Hold those back that have used up their allowance."""
        if self._busy:
            self._collect_busy(now)
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
        self._let_rest(peer, reason, seconds)
        for tell in pubsub.listeners.held_back:
            tell(peer, reason, seconds, now)

    def _collect_busy(self, now: float) -> None:
        """Let those that send many rest until there is time for more of it."""
        busy, self._busy = self._busy, {}
        seconds = self._pot.rest(now)
        if seconds:
            for peer in busy:
                if peer in self._pubsub.peers:
                    self._let_rest(peer, self._pot.reason, seconds)

    def _let_rest(self, peer: Peer, reason: str, seconds: float) -> None:
        self._pubsub.emit(trace.HELD_BACK, peer=peer, reason=reason, seconds=seconds)
        self._pubsub.effects.append(RestPeer(peer, seconds))
