"""What AMOP asks of the two sides of a node: the other nodes, and those who listen on this one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from rumormill.bcos.wire.channel_packet import ChannelPacket
from rumormill.bcos.wire.p2p_packet import P2PPacket

PacketDone = Callable[[ChannelPacket | None, str], None]
"""Hears the answer of a subscriber, or None and why there is none: ``timed_out``, ``left``."""

PayloadDone = Callable[[bytes | None, str], None]
"""Hears the payload of a node's answer, or None and why there is none."""


class Subscriber(Protocol):
    """Somebody who listens on this node: an SDK, or the application in this process."""

    @property
    def name(self) -> str:
        """What it is called in trace events."""
        ...

    def push(self, packet: ChannelPacket, origin: str | None) -> bool:
        """Hand over a packet that nobody answers; False if there is no room for it.

        ``origin`` is the node that it came from, None if that is this one.
        """
        ...

    def ask(
        self, packet: ChannelPacket, origin: str | None, timeout: float, done: PacketDone
    ) -> None:
        """Hand over a packet and wait for the answer, which has the same seq."""
        ...


class Subscribers(Protocol):
    """All who listen on this node."""

    def of(self, topic: str) -> Sequence[Subscriber]:
        """Those who listen to a topic, in an order that does not change by itself."""
        ...


class Nodes(Protocol):
    """The other nodes, and what they say that they listen to."""

    def holders(self, topic: str) -> Sequence[str]:
        """Ids of those that can be reached and have the topic in their list."""
        ...

    def connected(self) -> Sequence[str]:
        """Ids of those that can be reached."""
        ...

    def topics_of(self, node: str) -> Collection[str]:
        """The topics of a node, sorted; empty if it is not there."""
        ...

    def push(self, node: str, kind: int, payload: bytes) -> bool:
        """Send a packet of AMOP that nobody answers; False if it cannot leave."""
        ...

    def ask(self, node: str, kind: int, payload: bytes, timeout: float, done: PayloadDone) -> None:
        """Send a packet of AMOP and wait for the answer."""
        ...

    def answer(self, node: str, packet: P2PPacket, payload: bytes) -> bool:
        """Answer a packet that a node has sent and waits for; False if it cannot leave."""
        ...

    def relay_targets(self, topic: str, source: str | None, everywhere: bool) -> Sequence[str]:
        """Whom a message that came from ``source`` is passed on to: nobody unless that is set."""
        ...

    def seen(self, message_id: bytes) -> bool:
        """Whether a message was here before; it is remembered from now on. For those that relay."""
        ...

    def charge(self, node: str, what: str, cost: float) -> None:
        """A node has made us do ``cost`` microseconds of work for nothing."""
        ...
