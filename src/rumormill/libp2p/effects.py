"""Inputs and effects of the libp2p machines, beyond those that every family shares.

Two machines, one inside the other:

* :class:`~rumormill.libp2p.pubsub.pubsub.Pubsub` knows peers, topics and messages, and no
  connection;
* :class:`~rumormill.libp2p.host.host.Host` is a whole node: connections, identify, ping, and a
  ``Pubsub`` on top. Its driver only moves bytes.
"""

from __future__ import annotations

from collections.abc import Callable
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
from rumormill.libp2p.wire.signing import Author


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
    """Have nothing to do with ``peer`` any more, nor with messages that it wrote; or again.

    ``seconds``: for how long; for good if None.
    """

    peer: Peer
    listed: bool = True
    seconds: float | None = None


PeerFilter: TypeAlias = Callable[[Peer, str], bool]
"""Whether the peer may take part in the topic. It is asked in the midst of the work: be quick."""


class FilterPeers(NamedTuple):
    """Let ``allows`` say which peers may take part in which topics; all of them, if it is None."""

    allows: PeerFilter | None


class PublishOtherwise(NamedTuple):
    """Publish ``data`` otherwise than ``Publish`` does; answered by the same ``Published``."""

    topics: tuple[str, ...]
    data: bytes
    local: bool = False
    """Only to our own subscriptions: no peer hears of it."""
    gossip: bool = True
    """Whether the message is kept for peers that ask for it, and told of to some others."""
    author: Author | None = None
    """Who signs it, in place of ourselves."""


TopicCommand: TypeAlias = PublishMany | PublishOtherwise | BeginRelay | EndRelay | FilterPeers
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
