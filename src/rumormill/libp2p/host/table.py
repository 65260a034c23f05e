"""The connections of a host: how many there may be, whose they are, which one to use."""

from __future__ import annotations

import ipaddress
from typing import NamedTuple, Protocol

from rumormill.core.addresses import owner_of
from rumormill.core.limits import Work
from rumormill.core.timers import Alarm
from rumormill.core.trace import TraceEvent, type_of_field
from rumormill.libp2p.host.effects import HostEffect
from rumormill.libp2p.host.parameters import HostParameters
from rumormill.libp2p.host.target import Target
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
        "address", "connection", "dirty", "established_at", "frames", "gone", "group", "id",
        "networks", "observed", "opened_at", "peer", "pubsub_streams", "stalls_at", "streams",
        "target", "timed", "work", "write_ready",
    )  # fmt: skip

    def __init__(
        self,
        id: int,
        address: Multiaddr,
        connection: Connection,
        target: Target | None,
        now: float = 0.0,
    ) -> None:
        self.id = id
        self.address = str(address)
        self.observed = address.without_peer().to_bytes()
        """The address as identify tells it to the other end."""
        self.networks = networks_of(address)
        self.group = group_of(self.networks)
        """What counts as one remote address."""
        self.opened_at = now
        self.established_at = now
        """When the handshake was done, if it is."""
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


class Crowd(NamedTuple):
    """A limit that one more connection would break."""

    reason: str
    """Which one."""
    links: list[Link]
    """The connections that the newcomer would be one too many of, as far as others opened them."""
    room: int
    """How many of these there may be."""


class ConnectionTable:
    """All connections, counted in every way that there is a limit for.

    A connection that others open is in the table from its first byte, among the handshakes, and
    counts as a connection when its handshake is done. What we dial counts at once.
    """

    __slots__ = ("_by_group", "_by_peer", "_parameters", "handshakes", "inbound", "links")

    def __init__(self, parameters: HostParameters) -> None:
        self._parameters = parameters
        self.links: dict[int, Link] = {}
        self.handshakes: dict[int, Link] = {}
        """Those that others have begun, the oldest first."""
        self.inbound: dict[int, Link] = {}
        """Those that others opened and that stand, the oldest first."""
        self._by_group: dict[str, int] = {}
        """How many of :attr:`inbound` there are from each address."""
        self._by_peer: dict[str, list[Link]] = {}

    # ---- limits

    def crowd_at_the_door(self, group: str) -> Crowd | None:
        """Which limit one more handshake with an address would break; None if none."""
        limits = self._parameters
        if self._limited(group) and len(self.handshakes) >= limits.max_connections_per_address:
            links = [link for link in self.handshakes.values() if link.group == group]
            if len(links) >= limits.max_connections_per_address:
                return Crowd(TOO_MANY_FROM_ADDRESS, links, limits.max_connections_per_address)
        if len(self.handshakes) < limits.max_half_open:
            return None
        return Crowd(TOO_MANY_HALF_OPEN, list(self.handshakes.values()), limits.max_half_open)

    def crowd_inside(self, group: str) -> Crowd | None:
        """Which limit one more connection that an address opened would break; None if none."""
        most = self._parameters.max_connections_per_address
        if self._limited(group) and self._by_group.get(group, 0) >= most:
            links = [link for link in self.inbound.values() if link.group == group]
            return Crowd(TOO_MANY_FROM_ADDRESS, links, most)
        if len(self.inbound) >= self._parameters.inbound_room:
            return self._everybody()
        return self.crowd_for_dial()

    def crowd_for_dial(self) -> Crowd | None:
        """Whether one more connection that we dial would break the limit of all connections."""
        connections = len(self.links) - len(self.handshakes)
        return self._everybody() if connections >= self._parameters.max_connections else None

    def _everybody(self) -> Crowd:
        room = self._parameters.inbound_room
        return Crowd(TOO_MANY_CONNECTIONS, list(self.inbound.values()), room)

    def _limited(self, group: str) -> bool:
        """Whether there is a limit for each address on this one."""
        return group != LOOPBACK or self._parameters.limit_loopback

    def takes(self, peer: str) -> bool:
        """Whether ``peer`` may have one more connection."""
        return len(self.of(peer)) < self._parameters.max_connections_per_peer

    # ---- connections come and go

    def add(self, link: Link) -> None:
        """A new connection whose handshake is yet to come."""
        self.links[link.id] = link
        if not link.outbound:
            self.handshakes[link.id] = link

    def establish(self, link: Link, peer: str, now: float) -> None:
        """Say whose ``link`` is."""
        link.peer = peer
        link.established_at = now
        self._by_peer[peer] = [*self.of(peer), link]
        if not link.outbound:
            del self.handshakes[link.id]
            self.inbound[link.id] = link
            self._by_group[link.group] = self._by_group.get(link.group, 0) + 1

    def remove(self, link: Link) -> None:
        """Forget ``link``."""
        del self.links[link.id]
        self.handshakes.pop(link.id, None)
        if link.peer:
            rest = [each for each in self._by_peer[link.peer] if each is not link]
            if rest:
                self._by_peer[link.peer] = rest
            else:
                del self._by_peer[link.peer]
        if self.inbound.pop(link.id, None) is not None:
            self._by_group[link.group] -= 1
            if not self._by_group[link.group]:
                del self._by_group[link.group]

    # ---- who is there

    def of(self, peer: str) -> list[Link]:
        """The connections of ``peer``, oldest first: the first is the one to use."""
        return self._by_peer.get(peer, [])

    def connected(self, peer: str) -> bool:
        """Whether ``peer`` has a connection."""
        return peer in self._by_peer

    def dialed(self, peer: str) -> bool:
        """Whether we opened one of the connections of ``peer``."""
        return any(link.outbound for link in self.of(peer))

    def told(self) -> int:
        """How many connections there are to peers that others told us of."""
        targets = [link.target for link in self.links.values() if link.target is not None]
        return sum(each.hearsay and not (each.keep or each.visit) for each in targets)

    def peers(self) -> tuple[str, ...]:
        """Everybody with a connection, in the order of coming."""
        return tuple(self._by_peer)


LOOPBACK = "loopback"

TOO_MANY_CONNECTIONS = "too_many_connections"
TOO_MANY_FROM_ADDRESS = "too_many_from_address"
TOO_MANY_HALF_OPEN = "too_many_half_open"


def group_of(networks: tuple[str, str]) -> str:
    """What counts as one address against the limits: of loopback, all of it."""
    network, address = networks
    return LOOPBACK if network == LOOPBACK else address


def networks_of(address: Multiaddr) -> tuple[str, str]:
    """The network that an address is of, and what counts as one address in it.

    One host is an IPv4 address, of IPv6 the 64 bits that a host is given; a network is what one
    owner has for little: 24 bits of IPv4, 48 of IPv6.

    >>> networks_of(Multiaddr.parse("/ip4/192.0.2.7/tcp/4001"))
    ('192.0.2.0/24', '192.0.2.7')
    >>> networks_of(Multiaddr.parse("/ip6/2001:db8::17/tcp/4001"))
    ('2001:db8::/48', '2001:db8::/64')
    >>> networks_of(Multiaddr.parse("/ip4/127.0.0.1/tcp/4001"))
    ('loopback', '127.0.0.1')
    """
    if address.family not in ("ip4", "ip6"):
        return address.host, address.host
    owner = owner_of(address.host)
    host = ipaddress.ip_network(owner)
    if ipaddress.ip_address(address.host).is_loopback or host.is_loopback:
        return LOOPBACK, address.host
    return str(host.supernet(new_prefix=48 if host.version == 6 else 24)), owner
