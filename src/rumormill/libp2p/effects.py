"""Inputs and effects of the libp2p machines, beyond those that every family shares.

Two machines, one inside the other:

* :class:`~rumormill.libp2p.pubsub.pubsub.Pubsub` knows peers, topics and messages, and no
  connection;
* :class:`~rumormill.libp2p.host.host.Host` is a whole node: connections, identify, ping, and a
  ``Pubsub`` on top. Its driver only moves bytes.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from rumormill.core.machine import (
    Check,
    Checked,
    CheckedMany,
    Connect,
    Deliver,
    Drop,
    Peer,
    PeerJoined,
    PeerLeft,
    Publish,
    Published,
    PublishedMany,
    PublishMany,
    Received,
    RoomAgain,
    Send,
    Subscribe,
    Unsubscribe,
    Writable,
)
from rumormill.core.trace import TraceEvent
from rumormill.core.transport import HoldPeer, RestPeer


class StreamRestarted(NamedTuple):
    """``peer`` began a new stream towards us: what was half read of the old one is void."""

    peer: Peer


class StreamLost(NamedTuple):
    """Our stream to ``peer`` broke, with all that was on its way; the peer itself has stayed."""

    peer: Peer


class StreamRenewed(NamedTuple):
    """There is a new stream to ``peer`` after :class:`StreamLost`.

    What the peer told us still holds; what we told it must be said again.
    """

    peer: Peer


class BeginRelay(NamedTuple):
    """Take part in ``topic`` and pass its messages on, though nobody here wants them."""

    topic: str


class EndRelay(NamedTuple):
    """Relay ``topic`` no longer; ``quietly`` as with ``Unsubscribe``."""

    topic: str
    quietly: bool = False


class HeldBack(NamedTuple):
    """Nothing is read of ``peer`` for some seconds, for work that pubsub knows nothing of."""

    peer: Peer
    reason: str
    seconds: float


class RouterInput:
    """The base of what only a router, or a part of one, takes: a command of the user's to it.

    Registered with :meth:`~rumormill.libp2p.pubsub.router.PubsubServices.on_input`.
    """

    __slots__ = ()


class FromRouter(NamedTuple):
    """What the router has to tell the application."""

    news: object


class Blacklist(NamedTuple):
    """Have nothing to do with ``peer`` any more, nor with messages that it wrote; or again."""

    peer: Peer
    listed: bool = True


TopicCommand: TypeAlias = PublishMany | BeginRelay | EndRelay
"""What only this family's applications can want of a topic."""

PubsubInput: TypeAlias = (
    Received
    | Checked
    | CheckedMany
    | Publish
    | Writable
    | PeerJoined
    | PeerLeft
    | StreamRestarted
    | StreamLost
    | StreamRenewed
    | HeldBack
    | Subscribe
    | Unsubscribe
    | Blacklist
    | RouterInput
    | TopicCommand
)
"""What :class:`~rumormill.libp2p.pubsub.pubsub.Pubsub` takes."""

PubsubEffect: TypeAlias = (
    Send
    | Deliver
    | Check
    | Connect
    | Drop
    | Published
    | PublishedMany
    | RoomAgain
    | HoldPeer
    | RestPeer
    | FromRouter
    | TraceEvent
)
"""What :class:`~rumormill.libp2p.pubsub.pubsub.Pubsub` wants done."""
