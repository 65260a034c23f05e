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


class HeldBack(NamedTuple):
    """Nothing is read of ``peer`` for some seconds, for work that pubsub knows nothing of."""

    peer: Peer
    reason: str
    seconds: float


class ToRouter(NamedTuple):
    """A command of the application that only the router understands, such as one for a part."""

    command: object


class FromRouter(NamedTuple):
    """What the router has to tell the application."""

    news: object


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
    | ToRouter
)
"""What :class:`~rumormill.libp2p.pubsub.pubsub.Pubsub` takes."""

PubsubEffect: TypeAlias = (
    Send
    | Deliver
    | Check
    | Connect
    | Drop
    | Published
    | RoomAgain
    | HoldPeer
    | RestPeer
    | FromRouter
    | TraceEvent
)
"""What :class:`~rumormill.libp2p.pubsub.pubsub.Pubsub` wants done."""
