"""Leads: peers that were named to us by peer exchange, dialed a few at each heartbeat."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from rumormill.core import trace
from rumormill.core.machine import Peer
from rumormill.libp2p.pubsub.router import PubsubServices

MOST_LEADS = 128
"""Peers that wait to be dialed, as in go; and as many that were dialed and are remembered."""

REMEMBERED = 60.0
"""Seconds after its dial in which a peer that comes has come because it was named to us."""


class Lead(NamedTuple):
    """What we know of a peer that was named to us."""

    topic: str
    """Of which it is said to be."""
    named_by: Peer
    addresses: tuple[str, ...]


class Leads:
    """Who waits to be dialed, and who was; ``enough`` says whether a topic needs no more peers."""

    __slots__ = ("_dialed", "_dials", "_dials_left", "_enough", "_pubsub", "_waiting")

    def __init__(self, pubsub: PubsubServices, dials: int, enough: Callable[[str], bool]) -> None:
        """``dials`` is how many are dialed between two heartbeats."""
        self._pubsub = pubsub
        self._dials = self._dials_left = dials
        self._enough = enough
        self._waiting: OrderedDict[Peer, Lead] = OrderedDict()
        self._dialed: OrderedDict[Peer, tuple[Peer, float]] = OrderedDict()
        """Whom we dialed, who had named them, and when that was."""

    def __contains__(self, peer: Peer) -> bool:
        """Whether the peer waits."""
        return peer in self._waiting

    def add(self, peer: Peer, lead: Lead) -> None:
        """Let a peer wait for its turn, if there is room."""
        if len(self._waiting) < MOST_LEADS:
            self._waiting[peer] = lead
            return
        self._pubsub.emit(
            trace.DROPPED, lead.topic, peer=lead.named_by, what="exchanged_peer",
            reason="queue_full", count=1,
        )  # fmt: skip

    def dial(self, now: float) -> None:
        """Dial those that wait, in the order in which they were named, as far as we may now."""
        while self._dials_left > 0 and self._waiting:
            peer, lead = self._waiting.popitem(last=False)
            if self._enough(lead.topic):
                self._pubsub.emit(
                    trace.IGNORED, lead.topic, peer=lead.named_by, reason="exchange_enough_peers",
                    count=1,
                )  # fmt: skip
                continue
            self._dials_left -= 1
            self._dialed[peer] = (lead.named_by, now)
            self._dialed.move_to_end(peer)
            if len(self._dialed) > MOST_LEADS:
                self._dialed.popitem(last=False)
            self._pubsub.connect(peer, lead.addresses)

    def heartbeat(self, now: float) -> None:
        """A new budget: dial some of those that wait. Forget whose dial was long ago."""
        self._dials_left = self._dials
        while self._dialed and next(iter(self._dialed.values()))[1] + REMEMBERED < now:
            self._dialed.popitem(last=False)
        if self._waiting:
            self.dial(now)

    def arrived(self, peer: Peer) -> None:
        """A peer is there, whoever dialed whom: it need not be dialed any more."""
        self._waiting.pop(peer, None)
        dialed = self._dialed.pop(peer, None)
        if dialed is not None:
            self._pubsub.emit(trace.EXCHANGE_CONNECTED, peer=peer, named_by=dialed[0])

    def sizes(self) -> dict[str, int]:
        """How many wait to be dialed, and of how many we remember that they were."""
        return {"exchange_waiting": len(self._waiting), "exchange_dialed": len(self._dialed)}
