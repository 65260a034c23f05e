"""Which peers may take part in which topics: the application's say, by a function of its own.

A peer that may not take part in a topic is as good as not there, as far as this topic goes: it is
in no mesh and no fanout, is told of no message and sent none, also if it asks for one, and what it
sends is ignored. It is not to blame for any of that, as nobody told it. It still sees that we
listen: that is said to everybody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rumormill.core import trace
from rumormill.core.machine import Peer
from rumormill.libp2p.effects import FilterPeers, PeerFilter
from rumormill.libp2p.pubsub.topics.subscriptions import SubscriptionTable

if TYPE_CHECKING:
    from rumormill.libp2p.pubsub.pubsub import Pubsub

NOT_ALLOWED = "peer_not_allowed"


class Admittance:
    """Asks the application, and remembers who is kept out: the answer may change."""

    def __init__(self, pubsub: Pubsub) -> None:
        self._pubsub = pubsub
        self.allows: PeerFilter | None = None
        """What the application says; None, as nearly always: everybody may."""
        self.barred = SubscriptionTable(pubsub.parameters.max_topics_per_peer)
        """Who listens to what, and may not."""

    def admits(self, peer: Peer, topic: str) -> bool:
        """Whether the peer may take part in the topic; not, if the application cannot say."""
        if self.allows is None:
            return True
        try:
            return bool(self.allows(peer, topic))
        except Exception as error:
            self._pubsub.emit(
                trace.IGNORED, topic, peer=peer, reason="peer_filter_failed",
                detail=type(error).__name__,
            )  # fmt: skip
            return False

    def admits_all(self, peer: Peer, topics: tuple[str, ...]) -> bool:
        """Whether the peer may take part in each of the topics."""
        return all(self.admits(peer, topic) for topic in topics)

    def bar(self, peer: Peer, topic: str) -> bool:
        """Note that a peer listens that may not; False if it names too many topics."""
        self._pubsub.emit(trace.IGNORED, topic, peer=peer, reason=NOT_ALLOWED)
        return self.barred.add(peer, topic) is not None

    def set(self, command: FilterPeers, now: float) -> None:
        """Ask another function from now on, and that at once about everybody who is there."""
        self.allows = command.allows
        pubsub = self._pubsub
        for peer in list(pubsub.peers):
            for topic in self.barred.topics(peer):
                if self.admits(peer, topic):
                    self._let_in(peer, topic, now)
            for topic in pubsub.table.topics(peer):
                if not self.admits(peer, topic):
                    self._turn_out(peer, topic, now)

    def _let_in(self, peer: Peer, topic: str, now: float) -> None:
        pubsub = self._pubsub
        self.barred.remove(peer, topic)
        if pubsub.table.add(peer, topic):
            pubsub.emit(trace.PEER_SUBSCRIBED, topic, peer=peer)
            for tell in pubsub.listeners.peer_subscribed:
                tell(peer, topic, now)

    def _turn_out(self, peer: Peer, topic: str, now: float) -> None:
        pubsub = self._pubsub
        for tell in pubsub.listeners.peer_barred:
            tell(peer, topic, now)
        pubsub.table.remove(peer, topic)
        self.barred.add(peer, topic)
        pubsub.emit(trace.PEER_UNSUBSCRIBED, topic, peer=peer, reason=NOT_ALLOWED)
        for tell in pubsub.listeners.peer_unsubscribed:
            tell(peer, topic, now)
