"""What a machine and its transport say to each other, the same in every family.

A machine on **byte streams** (TCP, TLS, Unix sockets) sees numbers instead of sockets: it asks with
:class:`OpenTransport`, hears :class:`TransportOpened`, answers with :class:`WriteBytes` and
:class:`CloseTransport`. A machine on **datagrams** has :class:`~rumormill.core.machine.Send` and
:class:`~rumormill.core.machine.Received`, and no connections. Both are told where they listen.

Addresses are text in the family's own notation; only the family reads them.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from rumormill.core.machine import Peer

# ---- inputs


class TransportOpened(NamedTuple):
    """A connection stands. ``dial`` says which :class:`OpenTransport` it answers, if any."""

    connection: int
    address: str
    """The other end, in the family's own notation."""
    dial: int | None = None
    service: str = ""
    """At which of our listeners it came in, where a machine has several; "" is the first."""
    credentials: bytes = b""
    """What the other end has proved itself by: its certificate (DER), on a transport that asks for
    one; empty on others."""


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
    """The addresses that we can be reached at."""

    addresses: tuple[str, ...]


class Dial(NamedTuple):
    """The user wants ``address``; with ``keep``, whenever the connection is lost, again."""

    address: str
    keep: bool = False


# ---- effects


class OpenTransport(NamedTuple):
    """Open a connection; answer with :class:`TransportOpened` or :class:`TransportFailed`."""

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


class RestTransport(NamedTuple):
    """Take no bytes of a connection for so many seconds: its peer has used up its allowance.

    What it sends waits on its side, by the transport's own flow control. When its turn comes again,
    a :class:`BytesReceived` without bytes comes first: the machine may have kept a part of what it
    was given, and goes on with it. So a rest of no seconds only lets others have their turn.
    """

    connection: int
    seconds: float


class RestPeer(NamedTuple):
    """Take nothing of ``peer`` for so many seconds: it has used up its allowance.

    What it sends waits, by :class:`RestTransport` on each of its connections, and a packet without
    bytes is what comes next. Datagrams cannot wait: for them there is :mod:`rumormill.core.gate`.
    """

    peer: Peer
    seconds: float


class HoldPeer(NamedTuple):
    """While ``held``, grant ``peer`` no room for more bytes: its messages wait to be checked."""

    peer: Peer
    held: bool


TransportInput: TypeAlias = (
    TransportOpened | TransportFailed | BytesReceived | TransportClosed | WriteReady | Listening
)
"""What a transport of byte streams tells its machine."""

TransportEffect: TypeAlias = (
    OpenTransport | CancelTransport | WriteBytes | CloseTransport | RestTransport
)
"""What a machine wants of a transport of byte streams."""
