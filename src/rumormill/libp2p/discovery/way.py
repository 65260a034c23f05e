"""A way to find peers: what every one of them is told, and what it may ask for.

To bring another one, derive from :class:`Way` and override what it wants to hear; it is given to
:class:`~rumormill.libp2p.discovery.discovery.Discovery` with the others.

    class OldFriends(Way):
        '''Dials whom we knew by name.'''

        name = "friends"

        def seek(self, topic, lacking, now):
            for peer, addresses in FRIENDS:
                self.node.found(self, peer, addresses, topic=topic)
            return True
"""

from __future__ import annotations

import random
from collections.abc import Collection
from typing import ClassVar, Protocol

from rumormill.core.machine import Peer
from rumormill.core.trace import type_of_field
from rumormill.libp2p.discovery.effects import (
    Answered,
    Asked,
    DatagramReceived,
    LinkChanged,
    Unanswered,
)
from rumormill.libp2p.discovery.parameters import DiscoveryParameters
from rumormill.libp2p.stack.reach import reach_of_text


class Acquaintance:
    """What is known of a peer while it is connected."""

    __slots__ = ("address", "addresses", "outbound", "peer", "protocols", "reach")

    def __init__(self, peer: Peer, address: str, outbound: bool) -> None:
        self.peer = peer
        self.address = address
        """The other end of its connection."""
        self.reach = reach_of_text(address)
        """How near it is, by the address of its connection."""
        self.outbound = outbound
        self.protocols: tuple[str, ...] = ()
        """Empty until it was identified."""
        self.addresses: tuple[str, ...] = ()
        """Where it says that it listens, as far as we may believe and tell it."""


class DiscoveryServices(Protocol):
    """What discovery does for its ways."""

    node: Peer
    random: random.Random
    parameters: DiscoveryParameters
    addresses: tuple[str, ...]
    """Where we can be dialed."""
    record: bytes
    """Our own signed record of it; empty while we cannot be dialed."""
    acquaintances: dict[Peer, Acquaintance]
    """Who is connected; not to be changed."""

    @property
    def topics(self) -> Collection[str]:
        """The topics that we take part in."""
        ...

    def found(
        self,
        way: Way,
        peer: Peer,
        addresses: tuple[str, ...],
        *,
        topic: str | None = None,
        told_by: Peer | None = None,
        trusted: bool = False,
    ) -> bool:
        """A peer was found, of the topic it was looked for by: dial it, if there is reason to.

        Without a topic it is dialed while any topic of ours, or the node itself, lacks peers.
        ``trusted``: the user named it, so no limit on what others say counts. Returns whether it is
        dialed.
        """
        ...

    def ask(
        self,
        way: Way,
        peer: Peer,
        protocols: tuple[str, ...],
        message: bytes,
        *,
        addresses: tuple[str, ...] = (),
        answered: bool = True,
        largest: int = 65_536,
    ) -> int:
        """Put a question to a peer; the number returned comes back with what becomes of it, in
        :meth:`Way.answered` or :meth:`Way.unanswered`.
        """
        ...

    def answer(self, exchange: int, message: bytes = b"") -> None:
        """Answer a question of a peer."""
        ...

    def refuse(self, exchange: int, reason: str, detail: str = "", *, fault: bool = True) -> None:
        """Give no answer. A question that breaks the rules costs the peer, one that is only none of
        our business is not its fault.
        """
        ...

    def send_datagram(self, way: Way, destination: str, data: bytes) -> None:
        """Send from the socket of a way."""
        ...

    def hurry(self) -> None:
        """There is reason to believe that looking is of more use than before: do not wait."""
        ...

    def lacks_peers(self, topic: str | None = None) -> bool:
        """Whether a topic of ours has fewer peers than it wants; without one, whether any has, or
        we have no peers at all.
        """
        ...

    def emit(
        self,
        way: Way,
        event: str,
        topic: str | None = None,
        peer: Peer | None = None,
        **fields: type_of_field,
    ) -> None:
        """Trace an event of a way at this time."""
        ...


class Way:
    """The base of every way to find peers: hears nothing, finds nobody."""

    name: ClassVar[str] = ""
    """What trace events and settings call it."""

    node: DiscoveryServices

    def attach(self, node: DiscoveryServices) -> None:
        """Called once, before anything else."""
        self.node = node

    @property
    def protocols(self) -> tuple[str, ...]:
        """The protocols that it answers questions of; identify tells them. They never change."""
        return ()

    # ---- looking

    def seek(self, topic: str, lacking: int, now: float) -> bool:
        """A topic lacks so many peers: look for some. Returns whether it could begin to.

        Called again, with growing delays, for as long as they are lacking.
        """
        return False

    def join(self, topic: str, now: float) -> None:
        """We take part in a topic from now on: let others find us by it."""

    def leave(self, topic: str, now: float) -> None:
        """We do so no longer."""

    # ---- peers

    def connected(self, acquaintance: Acquaintance, now: float) -> None:
        """A peer is there."""

    def identified(self, acquaintance: Acquaintance, now: float) -> None:
        """A peer has said what it speaks and where it listens, perhaps not for the first time."""

    def disconnected(self, peer: Peer, now: float) -> None:
        """A peer is gone."""

    def unreached(self, peer: Peer, reason: str, now: float) -> None:
        """A peer that this way has found could not be reached."""

    def listening(self, now: float) -> None:
        """``node.addresses`` and ``node.record`` have changed."""

    # ---- questions and answers

    def asked(self, question: Asked, now: float) -> None:
        """A peer asks, on one of :attr:`protocols`. :class:`RemoteProtocolError` costs it."""

    def answered(self, answer: Answered, now: float) -> None:
        """A peer has answered. :class:`RemoteProtocolError` is traced and costs it nothing more."""

    def unanswered(self, answer: Unanswered, now: float) -> None:
        """A question came to nothing."""

    def datagram(self, datagram: DatagramReceived, now: float) -> None:
        """A datagram came in. :class:`RemoteProtocolError` is traced."""

    def link_changed(self, change: LinkChanged, now: float) -> None:
        """A network on which it has a socket is there, has changed, or is gone."""

    # ---- time and size

    def wake(self, now: float) -> None:
        """A timer may be due."""

    def next_wake(self) -> float | None:
        """When :meth:`wake` wants to be called."""
        return None

    def sizes(self) -> dict[str, int]:
        """How many entries each table of this way has."""
        return {}
