"""What goes into the discovery of a node and what comes out: the seam between it and its host.

The host tells who is there and what they speak, carries questions to peers and brings answers, and
passes the questions of others in. Discovery wants connections, and asks.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from rumormill.core.machine import Connect, Peer
from rumormill.core.trace import TraceEvent

# ---- inputs


class PeerConnected(NamedTuple):
    """The first connection of ``peer`` stands."""

    peer: Peer
    address: str
    """The other end of it: if that is loopback, what the peer says of loopback is of use to us."""
    outbound: bool = False


class PeerIdentified(NamedTuple):
    """``peer`` has told what it speaks and where it listens; it may do so again."""

    peer: Peer
    protocols: tuple[str, ...]
    addresses: tuple[str, ...] = ()
    """Those of our transports, without its name; nothing of it is proven."""


class PeerDisconnected(NamedTuple):
    """The last connection of ``peer`` is gone."""

    peer: Peer


class PeerUnreached(NamedTuple):
    """None of the addresses of a :class:`Connect` has led to ``peer``, or there was no room."""

    peer: Peer
    reason: str


class OwnAddresses(NamedTuple):
    """Where we can be dialed now, and our signed record of it; empty while we cannot."""

    addresses: tuple[str, ...]
    record: bytes = b""


class TopicsChanged(NamedTuple):
    """We have joined or left topics: look at them soon."""


class PeersWanted(NamedTuple):
    """Find peers of topics that we take no part in: the user is about to publish on them."""

    topics: tuple[str, ...]
    seconds: float
    """How long that is of interest."""


class Asked(NamedTuple):
    """``peer`` asks something, on a stream of a protocol of ours. Answered by :class:`Answer`."""

    exchange: int
    peer: Peer
    protocol: str
    message: bytes


class Answered(NamedTuple):
    """The answer to an :class:`Ask`; empty where none was wanted, and the question has left."""

    request: int
    peer: Peer
    message: bytes


class Unanswered(NamedTuple):
    """An :class:`Ask` came to nothing."""

    request: int
    peer: Peer
    reason: str


class DatagramReceived(NamedTuple):
    """A datagram came in for a way that has a socket of its own, as mDNS does."""

    way: str
    source: str
    """Who sent it, as an IP address."""
    data: bytes
    link: str = ""
    """On which of our networks, if the way has sockets on several; see :class:`LinkChanged`."""


class LinkChanged(NamedTuple):
    """A network of ours on which a way has a socket: it is there, has changed, or is gone."""

    way: str
    link: str
    """One network and one version of IP: ``eth0/4``."""
    host: str | None
    """Our own IP address on it; None if it is gone."""
    addresses: tuple[str, ...] = ()
    """Where we can be dialed from it; none before we listen, and none when we are about to go."""


OfSockets: TypeAlias = DatagramReceived | LinkChanged
"""What comes from the sockets of a way."""

DiscoveryInput: TypeAlias = (
    PeerConnected
    | PeerIdentified
    | PeerDisconnected
    | PeerUnreached
    | OwnAddresses
    | TopicsChanged
    | PeersWanted
    | Asked
    | Answered
    | Unanswered
    | OfSockets
)
"""What the discovery of a node takes."""

# ---- effects


class Ask(NamedTuple):
    """Put a question to a peer: one message, on a stream of its own.

    A peer that is not connected is visited: dialed at ``addresses``, which may be hearsay, and left
    again unless it turns out to be of use. :class:`Answered` or :class:`Unanswered` follows.
    """

    request: int
    peer: Peer
    protocols: tuple[str, ...]
    """Best first."""
    message: bytes
    addresses: tuple[str, ...] = ()
    answered: bool = True
    """Whether there will be an answer."""
    largest: int = 65_536
    """Bytes of the answer."""


class Answer(NamedTuple):
    """The answer to an :class:`Asked`; without a message the question was one that has none."""

    exchange: int
    message: bytes = b""


class Refuse(NamedTuple):
    """An :class:`Asked` gets no answer: its stream is reset. If it breaks the rules, its peer
    pays.
    """

    exchange: int
    reason: str
    detail: str = ""
    fault: bool = True


class SendDatagram(NamedTuple):
    """Send ``data`` from the socket of a way, as mDNS has one."""

    way: str
    destination: str
    """A link, and all who are on it; the way's own matter."""
    data: bytes


DiscoveryEffect: TypeAlias = Connect | Ask | Answer | Refuse | SendDatagram | TraceEvent
"""What the discovery of a node wants done."""
