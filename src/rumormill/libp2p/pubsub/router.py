"""The router: the part of pubsub that decides who gets a message.

Pubsub itself knows peers, subscriptions, signatures, ids, checks and queues, and asks the router
for one thing: whom to send to. A router is the extension point of the protocol. To write another
one, derive from :class:`Router`, say which ``protocols`` it speaks and override :meth:`targets`;
everything else has a default that does nothing.

    class OnlyTheFirst(Router):
        '''Sends everything to the one peer that subscribed first: a line, not a mesh.'''

        protocols = ("/only-the-first/1.0.0",)

        def targets(self, topics, own, now):
            return [peer for topic in topics for peer in list(self.pubsub.subscribers(topic))[:1]]

    network = await rumormill.open("gossipsub", router=OnlyTheFirst())
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import ClassVar, Protocol

from rumormill.core.machine import Peer
from rumormill.core.trace import type_of_field
from rumormill.libp2p.pubsub.outbox import Outbox
from rumormill.libp2p.wire.message import WireMessage
from rumormill.libp2p.wire.rpc import Control


class PubsubServices(Protocol):
    """What pubsub does for its router."""

    node: Peer
    random: random.Random
    outbox: Outbox
    """Where messages and control for a peer are put."""

    def subscribers(self, topic: str) -> Mapping[Peer, None]:
        """Connected peers that listen to the topic, in the order in which they said so."""
        ...

    def joined(self, topic: str) -> bool:
        """Whether we listen to the topic."""
        ...

    def knows(self, message_id: bytes) -> bool:
        """Whether the message was seen, or is being checked right now."""
        ...

    def assume_subscribed(self, peer: Peer, topic: str) -> None:
        """Take it that the peer listens to the topic, though it has not said so."""
        ...

    def emit(
        self,
        event: str,
        topic: str | None = None,
        message_id: bytes | None = None,
        peer: Peer | None = None,
        **fields: type_of_field,
    ) -> None:
        """Trace an event of this node at this time."""
        ...


class Router:
    """The base of every router: does nothing, to nobody."""

    protocols: ClassVar[tuple[str, ...]] = ()
    """Protocol ids, best first."""

    pubsub: PubsubServices

    def attach(self, pubsub: PubsubServices) -> None:
        """Called once, before anything else."""
        self.pubsub = pubsub

    def targets(self, topics: tuple[str, ...], own: bool, now: float) -> Iterable[Peer]:
        """Whom to send a message on these topics; ``own`` if we publish it ourselves.

        Pubsub leaves out the author and whoever sent us a copy; a peer may be named twice.
        """
        return ()

    def accepted(self, message: WireMessage, now: float) -> None:
        """A message, our own or another's, is valid and is being passed on."""

    def duplicate(self, peer: Peer, message: WireMessage, now: float) -> None:
        """``peer`` sent a copy of a message that was seen before."""

    def add_peer(self, peer: Peer, protocol: str, outbound: bool, now: float) -> None:
        """A peer is there."""

    def remove_peer(self, peer: Peer, now: float) -> None:
        """A peer is gone."""

    def renew_peer(self, peer: Peer) -> None:
        """A peer may have forgotten what we told it: tell it again."""

    def peer_subscribed(self, peer: Peer, topic: str, now: float) -> None:
        """A peer began to listen."""

    def peer_unsubscribed(self, peer: Peer, topic: str, now: float) -> None:
        """A peer no longer listens."""

    def join(self, topic: str, now: float) -> None:
        """We begin to listen."""

    def leave(self, topic: str, now: float) -> None:
        """We no longer listen."""

    def handle_control(self, peer: Peer, control: Control, now: float) -> None:
        """A peer's control messages, after the messages of the same RPC."""

    def wake(self, now: float) -> None:
        """A timer may be due."""

    def next_wake(self) -> float | None:
        """When :meth:`wake` wants to be called."""
        return None

    def sizes(self) -> dict[str, int]:
        """How many entries each table of the router has."""
        return {}

    def mesh(self, topic: str) -> tuple[Peer, ...]:
        """The peers that get every message of the topic from us, where the router has such."""
        return ()
