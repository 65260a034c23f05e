"""Telling the DHT what we provide: as soon as we join a topic, and before it is forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rumormill.core.timers import Timers
from rumormill.libp2p.discovery import events
from rumormill.libp2p.discovery.addresses import usable
from rumormill.libp2p.discovery.kademlia.keys import topic_key
from rumormill.libp2p.discovery.kademlia.lookup import Candidate
from rumormill.libp2p.discovery.kademlia.parameters import KademliaParameters
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.libp2p.stack.reach import Reach, reach_of_text

if TYPE_CHECKING:
    from rumormill.libp2p.discovery.kademlia.kademlia import Kademlia

FIRST_AGAIN = 30.0
"""Seconds after which a topic is told for the second time; doubles up to the usual interval: while
a network forms, those closest to a key are not the same for long."""

FIRST_RETRY, LONGEST_RETRY = 2.0, 60.0
"""Seconds after which it is tried again if there was nobody to tell; doubles each time."""


class _Topic:
    """How well a topic is known to others."""

    __slots__ = ("again", "due", "retry")

    def __init__(self) -> None:
        self.again = FIRST_AGAIN
        self.retry = FIRST_RETRY
        self.due = True
        """Whether it is to be told at the next opportunity."""


class Advertising:
    """Keeps for each of our topics when to tell it next; the way itself looks for whom to tell."""

    def __init__(self, way: Kademlia, parameters: KademliaParameters) -> None:
        self._way = way
        self._parameters = parameters
        self._topics: dict[str, _Topic] = {}
        self._timers: Timers[str] = Timers()

    def join(self, topic: str, now: float) -> None:
        """A topic is to be told. A search for its peers, which comes at once, serves both."""
        self._topics[topic] = _Topic()
        self._timers.set(topic, now + FIRST_RETRY)

    def leave(self, topic: str) -> None:
        """A topic is to be told no more."""
        self._topics.pop(topic, None)
        self._timers.cancel(topic)

    def moved(self, now: float) -> None:
        """We have other addresses: everything is to be told anew."""
        for topic, state in self._topics.items():
            state.due = True
            state.again = FIRST_AGAIN
            state.retry = FIRST_RETRY
            self._timers.set(topic, now + FIRST_RETRY)

    def looked(self, topic: str, closest: list[Candidate], now: float) -> None:
        """The peers closest to a topic are known: tell them, if it is time."""
        state = self._topics.get(topic)
        if state is None or not state.due:
            return
        told = sum(self._way.tell(topic_key(topic), each) for each in closest)
        if not told:
            return
        state.due = False
        state.retry = FIRST_RETRY
        again = min(state.again, self._parameters.kademlia_advertise)
        state.again = 2 * again
        self._timers.set(topic, now + again * (0.75 + 0.5 * self._way.node.random.random()))
        self._way.node.emit(
            self._way, events.DISCOVERY_ADVERTISED, topic, peers=told,
            ttl=self._parameters.kademlia_provider_ttl,
        )  # fmt: skip

    def wake(self, now: float) -> None:
        """Look for whom to tell what is due."""
        for topic in self._timers.due(now):
            state = self._topics[topic]
            state.due = True
            self._timers.set(topic, now + state.retry)
            state.retry = min(2 * state.retry, LONGEST_RETRY)
            if self._way.node.addresses:
                self._way.seek(topic, 0, now)

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        return self._timers.next_wake()

    def addresses_for(self, near: Reach) -> tuple[bytes, ...]:
        """Those of our addresses that are of use to somebody who is so near."""
        node = self._way.node
        only_public = node.parameters.discovery_only_public
        told = usable(node.node, node.addresses, near=near, only_public=only_public)
        return tuple(Multiaddr.parse(each).to_bytes() for each in told)

    @staticmethod
    def nearest(addresses: tuple[str, ...]) -> Reach:
        """How near a peer with these addresses is."""
        reaches = {reach_of_text(each) for each in addresses}
        for near in (Reach.LOOPBACK, Reach.PRIVATE):
            if near in reaches:
                return near
        return Reach.PUBLIC
