"""Who exchanges parts with whom: what we want of each topic, and what our peers said they want."""

from __future__ import annotations

from collections.abc import Container

from rumormill.core.machine import Peer
from rumormill.libp2p.wire.extensions import NO_OPTIONS, SubscriptionOptions


class PartialOptions:
    """The options of all subscriptions, ours and theirs; only of peers in ``agreed`` they count."""

    def __init__(self, agreed: Container[Peer]) -> None:
        self._agreed = agreed
        self._ours: dict[str, SubscriptionOptions] = {}
        self._theirs: dict[Peer, dict[str, SubscriptionOptions]] = {}
        self.spared: dict[str, dict[Peer, None]] = {}
        """By topic, peers that get parts of us and so no whole messages. Not to be changed."""

    def __len__(self) -> int:
        return sum(map(len, self._theirs.values()))

    # ---- what is said

    def open(self, topic: str, request: bool) -> SubscriptionOptions:
        """We exchange parts on the topic; returns what peers should know of it."""
        options = self._ours[topic] = SubscriptionOptions(request, supports=True)
        for peer in self._theirs:
            self._sort(peer, topic)
        return options

    def close(self, topic: str) -> None:
        """We no longer do."""
        self._ours.pop(topic, None)
        self.spared.pop(topic, None)

    def set(self, peer: Peer, topic: str, options: SubscriptionOptions) -> None:
        """A peer said what it wants; nothing in particular is not kept."""
        if options != NO_OPTIONS:
            self._theirs.setdefault(peer, {})[topic] = options
        elif topics := self._theirs.get(peer):
            topics.pop(topic, None)
            if not topics:
                del self._theirs[peer]
        self._sort(peer, topic)

    def sort(self, peer: Peer) -> None:
        """Whether the peer is among those that agreed has changed."""
        for topic in self._theirs.get(peer, ()):
            self._sort(peer, topic)

    def remove_peer(self, peer: Peer) -> None:
        """The peer is gone."""
        for topic in list(self._theirs.get(peer, ())):
            self.set(peer, topic, NO_OPTIONS)

    def _sort(self, peer: Peer, topic: str) -> None:
        if self.gives(peer, topic):
            self.spared.setdefault(topic, {})[peer] = None
        elif peers := self.spared.get(topic):
            peers.pop(peer, None)
            if not peers:
                del self.spared[topic]

    # ---- what follows from it

    def is_open(self, topic: str) -> bool:
        """Whether we exchange parts on the topic."""
        return topic in self._ours

    def requests(self, topic: str) -> bool:
        """Whether we want parts of the topic ourselves."""
        return self._ours.get(topic, NO_OPTIONS).requests

    def gives(self, peer: Peer, topic: str) -> bool:
        """Whether the peer wants parts of us, and gets them."""
        return topic in self._ours and self._of(peer, topic).requests

    def takes(self, peer: Peer, topic: str) -> bool:
        """Whether we want parts of the peer, and it sends such."""
        return self.requests(topic) and self._of(peer, topic).supports

    def speaks(self, peer: Peer, topic: str) -> bool:
        """Whether the peer and we tell each other which parts we have."""
        return self.gives(peer, topic) or self.takes(peer, topic)

    def _of(self, peer: Peer, topic: str) -> SubscriptionOptions:
        if peer not in self._agreed:
            return NO_OPTIONS
        return self._theirs.get(peer, {}).get(topic, NO_OPTIONS)
