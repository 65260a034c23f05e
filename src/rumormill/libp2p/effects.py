"""Inputs and effects of the libp2p machines, beyond those that every family shares.

Two machines, one inside the other:

* :class:`~rumormill.libp2p.pubsub.Pubsub` knows peers, topics and messages, and no connection;
* :class:`~rumormill.libp2p.host.Host` is a whole node: connections, identify, ping, and a
  ``Pubsub`` on top. Its driver only moves bytes.
"""

from __future__ import annotations

from typing import NamedTuple

from rumormill.core.machine import Peer

# ---- Pubsub: inputs


class Publish(NamedTuple):
    """The application publishes ``data``; several topics only where the network allows it."""

    topics: tuple[str, ...]
    data: bytes


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


# ---- Pubsub: effects


class RoomAgain(NamedTuple):
    """``peer``'s queue was full and now has room: a waiting publisher may go on."""

    peer: Peer


class HoldPeer(NamedTuple):
    """While ``held``, grant ``peer`` no room for more bytes: its messages wait to be checked."""

    peer: Peer
    held: bool


# ---- Host: inputs from its transport


class TransportOpened(NamedTuple):
    """A TCP connection stands. ``dial`` says which :class:`OpenTransport` it answers, if any."""

    connection: int
    address: str
    """The other end, as a multiaddr."""
    dial: int | None = None


class TransportFailed(NamedTuple):
    """An :class:`OpenTransport` came to nothing."""

    dial: int
    reason: str


class BytesReceived(NamedTuple):
    """Bytes came in on a connection."""

    connection: int
    data: bytes


class TransportClosed(NamedTuple):
    """A connection is gone."""

    connection: int
    reason: str = "closed"


class WriteReady(NamedTuple):
    """Whether the transport takes more bytes now."""

    connection: int
    ready: bool


class Listening(NamedTuple):
    """The addresses that we can be reached at, as multiaddrs without our peer id."""

    addresses: tuple[str, ...]


# ---- Host: commands of its user


class Dial(NamedTuple):
    """Connect to ``address``; with ``keep``, whenever the connection is lost, again."""

    address: str
    keep: bool = False


class HangUp(NamedTuple):
    """Close every connection to ``peer`` and forget its address."""

    peer: Peer


class Hold(NamedTuple):
    """While ``paused``, grant no peer room for more pubsub bytes (the application is behind)."""

    paused: bool


class Shutdown(NamedTuple):
    """Leave: say goodbye on every connection and close it."""


# ---- Host: effects


class OpenTransport(NamedTuple):
    """Open a TCP connection; answer with :class:`TransportOpened` or :class:`TransportFailed`."""

    dial: int
    address: str


class CancelTransport(NamedTuple):
    """No longer wanted: an :class:`OpenTransport` that took too long."""

    dial: int


class WriteBytes(NamedTuple):
    """Write to a connection."""

    connection: int
    data: bytes


class CloseTransport(NamedTuple):
    """Close a connection once what was written has left."""

    connection: int
    reason: str


class DialEnded(NamedTuple):
    """How a :class:`Dial` went, the first time it was tried; ``peer`` is None if it failed."""

    address: str
    peer: Peer | None
    problem: str = ""
