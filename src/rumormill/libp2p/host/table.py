"""The connections of a host: how many there may be, whose they are, which one to use."""

from __future__ import annotations

import ipaddress
from typing import Protocol

from rumormill.core.limits import Work
from rumormill.core.timers import Alarm
from rumormill.core.trace import TraceEvent, type_of_field
from rumormill.libp2p.host.dialer import Target
from rumormill.libp2p.host.effects import HostEffect
from rumormill.libp2p.host.parameters import HostParameters
from rumormill.libp2p.stack.connection import Connection
from rumormill.libp2p.stack.multiaddr import Multiaddr


class StreamOwner(Protocol):
    """A part of the host that streams belong to; each method is one event of a stream."""

    def opened(self, link: Link, stream: int, protocol: str, inbound: bool, now: float) -> None:
        """Both sides agreed on the protocol."""
        ...

    def data(self, link: Link, stream: int, data: bytes, now: float) -> None:
        """Bytes came in."""
        ...

    def drained(self, link: Link, stream: int, now: float) -> None:
        """What the peer's window had held back has left."""
        ...

    def ended(self, link: Link, stream: int, now: float) -> None:
        """The peer will send no more."""
        ...

    def lost(self, link: Link, stream: int, reason: str, now: float) -> None:
        """The stream was reset, or did not come about."""
        ...


class Link:
    """One transport with its connection machine, and what the host knows of it."""

    __slots__ = (
        "address", "connection", "dirty", "frames", "gone", "group", "id", "observed",
        "peer", "pubsub_streams", "stalls_at", "streams", "target", "timed", "work", "write_ready",
    )  # fmt: skip

    def __init__(
        self, id: int, address: Multiaddr, connection: Connection, target: Target | None
    ) -> None:
        self.id = id
        self.address = str(address)
        self.observed = address.without_peer().to_bytes()
        """The address as identify tells it to the other end."""
        self.group = address_group(address)
        self.connection = connection
        self.target = target
        """What we dialed to get it; None if the other end opened it."""
        self.peer = ""
        """Whose it is; empty until the handshake is done."""
        self.streams: dict[int, StreamOwner] = {}
        self.pubsub_streams = 0
        """Pubsub streams of ours that the peer has agreed to on it, one after the other."""
        self.write_ready = True
        self.stalls_at = 0.0
        """While the transport takes nothing: when we lose patience."""
        self.dirty = False
        """In :attr:`Turn.dirty`."""
        self.frames = 0
        """Frames of it that were paid for."""
        self.work: Work | None = None
        """What frames that carry little have cost us, once there was one."""
        self.timed = False
        """Its next timer is set, and only something out of the ordinary can bring it closer."""
        self.gone = False

    @property
    def outbound(self) -> bool:
        """Whether we opened it."""
        return self.target is not None


class Turn:
    """What the parts of a host want done, collected until one input has been dealt with."""

    __slots__ = ("alarm", "dirty", "effects", "node")

    def __init__(self, node: str) -> None:
        self.node = node
        self.alarm = Alarm()
        """When the first of the parts wants to be woken."""
        self.effects: list[HostEffect] = []
        self.dirty: list[Link] = []
        """Connections that may have something to send."""

    def touch(self, link: Link) -> None:
        """``link`` may have something to send."""
        if not link.dirty:
            link.dirty = True
            self.dirty.append(link)

    def trace(
        self, now: float, event: str, peer: str | None = None, **fields: type_of_field
    ) -> None:
        """Something happened."""
        self.effects.append(TraceEvent(now, self.node, event, peer=peer, fields=fields))


class ConnectionTable:
    """All connections, counted in every way that there is a limit for."""

    __slots__ = ("_by_peer", "_half_open", "_inbound", "_parameters", "links")

    def __init__(self, parameters: HostParameters) -> None:
        self._parameters = parameters
        self.links: dict[int, Link] = {}
        self._by_peer: dict[str, list[Link]] = {}
        self._inbound: dict[str, int] = {}
        self._half_open = 0

    def refusal(self, address: Multiaddr, *, outbound: bool) -> str | None:
        """Which limit forbids one more connection with ``address``; None if none does.

        What others may open is limited by address and by unfinished handshakes. What we dial is
        our own choice, and only the total holds for it.
        """
        limits = self._parameters
        if len(self.links) >= limits.max_connections:
            return "too_many_connections"
        if outbound:
            return None
        if self._half_open >= limits.max_half_open:
            return "too_many_half_open"
        group = address_group(address)
        if self._inbound.get(group, 0) < limits.max_connections_per_address:
            return None
        if group == LOOPBACK and not limits.limit_loopback:
            return None
        return "too_many_from_address"

    def add(self, link: Link) -> None:
        """A new connection whose handshake is yet to come."""
        self.links[link.id] = link
        if not link.outbound:
            self._half_open += 1
            self._inbound[link.group] = self._inbound.get(link.group, 0) + 1

    def establish(self, link: Link, peer: str) -> bool:
        """Say whose ``link`` is; False if that peer has all the connections it may have."""
        links = self._by_peer.get(peer, [])
        if len(links) >= self._parameters.max_connections_per_peer:
            return False
        link.peer = peer
        self._by_peer[peer] = [*links, link]
        if not link.outbound:
            self._half_open -= 1
        return True

    def remove(self, link: Link) -> None:
        """Forget ``link``."""
        del self.links[link.id]
        if link.peer:
            rest = [each for each in self._by_peer[link.peer] if each is not link]
            if rest:
                self._by_peer[link.peer] = rest
            else:
                del self._by_peer[link.peer]
        if not link.outbound:
            self._half_open -= not link.peer
            self._inbound[link.group] -= 1
            if not self._inbound[link.group]:
                del self._inbound[link.group]

    def of(self, peer: str) -> list[Link]:
        """The connections of ``peer``, oldest first: the first is the one to use."""
        return self._by_peer.get(peer, [])

    def connected(self, peer: str) -> bool:
        """Whether ``peer`` has a connection."""
        return peer in self._by_peer

    def dialed(self, peer: str) -> bool:
        """Whether we opened one of the connections of ``peer``."""
        return any(link.outbound for link in self.of(peer))

    def peers(self) -> tuple[str, ...]:
        """Everybody with a connection, in the order of coming."""
        return tuple(self._by_peer)


LOOPBACK = "loopback"


def address_group(address: Multiaddr) -> str:
    """What counts as one remote address: a host, of IPv6 the 64 bits that one host is given.

    >>> address_group(Multiaddr.parse("/ip4/192.0.2.7/tcp/4001"))
    '192.0.2.7'
    >>> address_group(Multiaddr.parse("/ip6/2001:db8::17/tcp/4001"))
    '2001:db8::/64'
    >>> address_group(Multiaddr.parse("/ip4/127.0.0.1/tcp/4001"))
    'loopback'
    """
    if address.family not in ("ip4", "ip6"):
        return address.host
    host = ipaddress.ip_address(address.host)
    if host.version == 6 and host.ipv4_mapped is not None:
        host = host.ipv4_mapped
    if host.is_loopback:
        return LOOPBACK
    if host.version == 6:
        return str(ipaddress.ip_network((host, 64), strict=False))
    return str(host)
