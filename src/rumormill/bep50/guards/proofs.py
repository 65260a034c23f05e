"""Which addresses have proven that they get what is sent to them.

The source address of a datagram can be forged. Who answers a query of ours, or brings a token that
we gave to that address, has it. Until then our answers to it stay small.
"""

from __future__ import annotations

from collections import OrderedDict

from rumormill.core.machine import Peer


class ProvenAddresses:
    """The addresses that proved themselves in the last ``lifetime`` seconds, at most ``most``.

    >>> proofs = ProvenAddresses(lifetime=600.0, most=1000)
    >>> proofs.prove("10.0.0.1:6881", now=0.0)
    >>> proofs.proven("10.0.0.1:6881", now=600.0), proofs.proven("10.0.0.1:6882", now=600.0)
    (True, False)
    """

    __slots__ = ("_lifetime", "_most", "_proven_at", "_sweep_at")

    def __init__(self, lifetime: float, most: int) -> None:
        self._lifetime = lifetime
        self._most = most
        self._proven_at: OrderedDict[Peer, float] = OrderedDict()  # the oldest proof comes first
        self._sweep_at = 0.0

    def __len__(self) -> int:
        return len(self._proven_at)

    def proven(self, peer: Peer, now: float) -> bool:
        """Whether ``peer`` has proven itself, and not too long ago."""
        at = self._proven_at.get(peer)
        return at is not None and now - at <= self._lifetime

    def prove(self, peer: Peer, now: float) -> None:
        """``peer`` has just proven itself; the oldest proof goes if there are too many."""
        if now >= self._sweep_at:
            self._sweep(now)
        proven_at = self._proven_at
        if proven_at.pop(peer, None) is None and len(proven_at) >= self._most:
            proven_at.popitem(last=False)
        proven_at[peer] = now

    def _sweep(self, now: float) -> None:
        """Forget what is too old: a node that talks to many over time keeps few in mind."""
        self._sweep_at = now + self._lifetime
        lifetime = self._lifetime
        kept = ((peer, at) for peer, at in self._proven_at.items() if now - at <= lifetime)
        self._proven_at = OrderedDict(kept)
