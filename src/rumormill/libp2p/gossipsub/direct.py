"""Direct peers: operators who know each other, and want each other's messages whatever happens.

A direct peer is in no mesh and no fanout. It gets every message of the topics that it listens to,
nothing of it is gated, its score changes nothing, and if it is not there we dial it.
"""

from __future__ import annotations

from dataclasses import dataclass

from rumormill.core.machine import Peer
from rumormill.libp2p.effects import RouterInput
from rumormill.libp2p.gossipsub.candidates import Candidates
from rumormill.libp2p.gossipsub.heartbeat import HeartbeatPart
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.pubsub.router import PubsubServices
from rumormill.libp2p.stack.multiaddr import Multiaddr


@dataclass(frozen=True, slots=True)
class AddDirectPeer(RouterInput):
    """From now on ``peer`` is a direct one, to be found at ``addresses``."""

    peer: Peer
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RemoveDirectPeer(RouterInput):
    """``peer`` is like any other again."""

    peer: Peer


class DirectPeers(HeartbeatPart):
    """Who they are, and when to dial them."""

    def __init__(
        self, pubsub: PubsubServices, parameters: GossipsubParameters, candidates: Candidates
    ) -> None:
        self._pubsub = pubsub
        self._candidates = candidates
        self._every = parameters.direct_connect_ticks
        self.addresses: dict[Peer, tuple[str, ...]] = {}
        """Of each of them, where it may be found. Not to be changed from outside."""
        self._wait: dict[Peer, int] = {}
        """Of those that are not there: heartbeats until they are dialed."""
        for text in parameters.direct_peers:
            address = Multiaddr.parse(text)
            assert address.peer is not None  # the parameters have looked
            self.add(address.peer, (str(address),))

    def __contains__(self, peer: Peer) -> bool:
        return peer in self.addresses

    @property
    def peers(self) -> tuple[Peer, ...]:
        """All of them, connected or not."""
        return tuple(self.addresses)

    def listening(self, topic: str) -> list[Peer]:
        """Those that are there and listen to the topic."""
        subscribers = self._pubsub.subscribers(topic)
        return [peer for peer in self.addresses if peer in subscribers]

    def sizes(self) -> dict[str, int]:
        """How many there are, as many as the user wants, and how many of them are to be dialed."""
        return {"direct_peers": len(self.addresses), "direct_dials": len(self._wait)}

    # ---- what the user wants

    def add(self, peer: Peer, addresses: tuple[str, ...]) -> None:
        """One more, or one more place where it may be found; dialed at the next heartbeat."""
        known = self.addresses.get(peer, ())
        self.addresses[peer] = tuple(dict.fromkeys((*known, *addresses)))
        if peer not in self._candidates.peers:
            self._wait[peer] = 0

    def remove(self, peer: Peer) -> None:
        """One less; it stays connected, as a peer like others."""
        self.addresses.pop(peer, None)
        self._wait.pop(peer, None)

    # ---- keeping them connected

    def remove_peer(self, peer: Peer, now: float) -> None:
        """Dial it at the next heartbeat, and then again and again."""
        if peer in self.addresses:
            self._wait[peer] = 0

    def heartbeat(self, now: float) -> None:
        """Dial those that are not there and whose turn it is."""
        for peer in list(self._wait):
            if peer in self._candidates.peers:
                del self._wait[peer]
            elif self._wait[peer]:
                self._wait[peer] -= 1
            else:
                self._wait[peer] = self._every - 1
                self._pubsub.connect(peer, self.addresses[peer], trusted=True)
