"""What AMOP asks of the two sides of a node: the other nodes, and those who listen on this one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import NamedTuple, Protocol

from rumormill.bcos.amop.parcel import Parcel
from rumormill.bcos.wire.channel_packet import ChannelPacket
from rumormill.bcos.wire.p2p_packet import P2PPacket

PacketDone = Callable[[ChannelPacket | None, str], None]
"""Hears the answer of a subscriber, or None and why there is none: ``timed_out``, ``left``."""

PayloadDone = Callable[[bytes | None, str], None]
"""Hears the payload of a node's answer, or None and why there is none."""


class Kind:
    """The type of a packet of AMOP between nodes; nodes of other make look at what is inside."""

    UNICAST = 0
    MULTICAST = 1
    BROADCAST = 2
    """A multicast for every node; it matters only to those who pass it on."""


class Subscriber(Protocol):
    """Somebody who listens on this node: an SDK, or the application in this process."""

    @property
    def name(self) -> str:
        """What its topics and messages are counted under: nobody else on this node has it."""
        ...

    @property
    def peer(self) -> str | None:
        """What it is called in trace events; None for the application, which is no peer."""
        ...

    @property
    def gone(self) -> bool:
        """Whether it has left: nothing can be handed to it any more."""
        ...

    @property
    def has_room(self) -> bool:
        """Whether it takes more now; one that is too slow is not chosen for a unicast."""
        ...

    def push(self, parcel: Parcel, origin: str | None) -> bool:
        """Hand over what nobody answers; False if there is no room for it.

        ``origin`` is the node that it came from, None if that is this one.
        """
        ...

    def ask(self, parcel: Parcel, origin: str | None, timeout: float, done: PacketDone) -> None:
        """Hand something over and wait for the answer; ``done`` may be called at once."""
        ...


class Subscribers(Protocol):
    """All who listen on this node."""

    def of(self, topic: str) -> Sequence[Subscriber]:
        """Those who listen to a topic, in an order that does not change by itself."""
        ...


class Board(Protocol):
    """Where the topics of this node stand, for the other nodes to ask."""

    def set(self, owner: Hashable, topics: Collection[str]) -> None:
        """``owner`` listens to these topics now, and to no others."""
        ...

    def remove(self, owner: Hashable) -> None:
        """``owner`` is gone."""
        ...


class NodeFacts(NamedTuple):
    """What SDKs are told of another node."""

    address: str
    agency: str
    name: str


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

    def facts(self, node: str) -> NodeFacts:
        """Where a node is, and what its certificate says; empty where that is not known."""
        ...

    def free(self, node: str) -> bool:
        """Whether what is sent to the node leaves at once."""
        ...

    def push(self, node: str, kind: int, payload: bytes) -> bool:
        """Send a packet of AMOP that nobody answers; False if it cannot leave."""
        ...

    def ask(self, node: str, kind: int, payload: bytes, timeout: float, done: PayloadDone) -> None:
        """Send a packet of AMOP and wait for the answer; ``done`` may be called at once."""
        ...

    def answer(self, node: str, packet: P2PPacket, payload: bytes) -> bool:
        """Answer a packet of a node; False if it cannot leave, or the node is gone."""
        ...

    @property
    def relays(self) -> bool:
        """Whether multicasts of others are passed on."""
        ...

    def first_time(self, message_id: bytes) -> bool:
        """Whether a multicast is to be handled: False if messages are relayed, and we had it."""
        ...

    def relay_targets(self, topic: str, source: str, everywhere: bool) -> Sequence[str]:
        """Whom a multicast that came from ``source`` is passed on to; nobody unless relaying."""
        ...
