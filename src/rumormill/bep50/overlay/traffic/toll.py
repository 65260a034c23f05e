"""The toll: what sources pay for the packets that they send, and what is told of who cannot.

Whoever does work for a packet charges its source. One that has used up its allowance is turned away
at the gate (:mod:`rumormill.core.gate`): its packets are dropped before they are read.
"""

from __future__ import annotations

from rumormill.bep50.guards.prices import Price
from rumormill.bep50.overlay.traffic.drops import Wakeable
from rumormill.bep50.overlay.traffic.outbox import Outbox
from rumormill.core import trace
from rumormill.core.gate import Gate, Held
from rumormill.core.machine import Peer
from rumormill.core.timers import Timers


class Toll:
    """Charges the sources of one node, and traces by name who is turned away."""

    __slots__ = ("_outbox", "_timers", "gate")

    def __init__(self, gate: Gate, outbox: Outbox, timers: Timers[Wakeable]) -> None:
        self.gate = gate
        self._outbox = outbox
        self._timers = timers

    def charge(self, peer: Peer, price: Price, *, proven: bool = False) -> None:
        """A packet made us do work; ``proven`` if the peer has shown that it is its own.

        Proven is what bore a token of ours, or was the answer to a query: anything else may have
        been sent by another, in the name of the peer's address.
        """
        gate = self.gate
        held = gate.charge(
            peer, price.kind, price.cost, self._outbox.now, proven=proven, blame=price.blame
        )
        if held is not None:
            self._tell(peer, held)
        if gate.alert and (due := gate.next_wake()) is not None:
            self._timers.at_latest(self, due)

    def _tell(self, peer: Peer, held: Held) -> None:
        self._outbox.emit(trace.HELD_BACK, peer=peer, reason=held.reason, seconds=held.seconds)
        if held.worn_out:
            detail = f"it is not heard for {held.seconds:g} s, mostly for {held.reason}"
            self._outbox.emit(
                trace.PROTOCOL_ERROR, peer=peer, reason="too_much_work", detail=detail
            )

    def wake(self, now: float) -> None:
        """Tell how many packets were dropped of those whose rest is over."""
        for each in self.gate.due(now):
            if each.packets:
                self._outbox.emit(
                    trace.DROPPED, peer=each.peer, what="datagram",
                    reason="held_back" if each.peer else each.reason, count=each.packets,
                )  # fmt: skip
            if each.held is not None and each.peer is not None:
                self._tell(each.peer, each.held)
        if (due := self.gate.next_wake()) is not None:
            self._timers.set(self, due)
