"""floodsub: every message to every peer that listens to its topic. Simple, robust, and costly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rumormill.core.machine import Peer
from rumormill.libp2p.pubsub.router import Router
from rumormill.libp2p.wire.message import WireMessage

FLOODSUB = "/floodsub/1.0.0"


class FloodsubRouter(Router):
    """Sends to all who listen; pubsub sees to it that nobody gets it back or twice."""

    protocols: ClassVar[tuple[str, ...]] = (FLOODSUB,)

    def targets(self, message: WireMessage, own: bool, now: float) -> Iterable[Peer]:
        """All subscribers of all the topics."""
        return self.would_reach(message.topics)

    def would_reach(self, topics: tuple[str, ...]) -> Iterable[Peer]:
        """All subscribers of all the topics."""
        if len(topics) == 1:
            return self.pubsub.subscribers(topics[0])
        return [peer for topic in topics for peer in self.pubsub.subscribers(topic)]

    def mesh(self, topic: str) -> tuple[Peer, ...]:
        """In floodsub everyone who listens is a full-message peer."""
        return tuple(self.pubsub.subscribers(topic))
