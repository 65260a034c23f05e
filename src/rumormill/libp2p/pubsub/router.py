"""The router: the part of pubsub that decides who gets a message.

Pubsub itself knows peers, subscriptions, signatures, ids, checks and queues, and asks the router
for one thing: whom to send to. A router is the extension point of the protocol. To write another
one, derive from :class:`Router`, say which ``protocols`` it speaks and override :meth:`targets` and
:meth:`would_reach`; everything else has a default that does nothing.

    class OnlyTheFirst(Router):
        '''Sends everything to the one peer that subscribed first: a line, not a mesh.'''

        protocols = ("/only-the-first/1.0.0",)

        def targets(self, message, own, now):
            return self.would_reach(message.topics)

        def would_reach(self, topics):
            return [peer for topic in topics for peer in list(self.pubsub.subscribers(topic))[:1]]

    network = await rumormill.open("gossipsub", router=OnlyTheFirst())

Beyond that there are three seams. What happens to peers, topics and messages is heard by
overriding methods of :class:`~rumormill.libp2p.pubsub.part.Part`, in the router or in parts that it
is made of. New control messages are registered with :meth:`PubsubServices.on_control`. And
:meth:`Router.gate` is asked before anything of a peer is read.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, Literal, Protocol, TypeAlias, TypeVar

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.machine import Peer
from rumormill.core.trace import type_of_field
from rumormill.libp2p.effects import RouterInput
from rumormill.libp2p.pubsub.inbound.rejections import RejectionLimit
from rumormill.libp2p.pubsub.outbound.outbox import Outbox
from rumormill.libp2p.pubsub.parameters import PubsubParameters
from rumormill.libp2p.pubsub.part import Part
from rumormill.libp2p.stack.address_book import AddressBook
from rumormill.libp2p.wire.control import ControlKind, EntryType
from rumormill.libp2p.wire.message import WireMessage

Admission: TypeAlias = Literal["all", "control", "subscriptions", "nothing"]
"""How much of a peer's RPC is read: all, all but its messages, only what it listens to (it says so
once, and may be read again later), or nothing of it."""

USUAL_PEERS = 6
"""Peers of a topic that are enough for a router that does not say: the ``D`` of gossipsub."""

RouterInputType = TypeVar("RouterInputType", bound=RouterInput)


class PubsubServices(Protocol):
    """What pubsub does for its router."""

    node: Peer
    random: random.Random
    parameters: PubsubParameters
    outbox: Outbox
    """Where messages and control for a peer are put, and where it stands who wants none."""
    address_book: AddressBook
    """Signed records of where the peers are that we met."""
    name_of: Callable[[bytes], Peer]
    """The name of a peer id; :class:`RemoteProtocolError` if it is none."""
    id_of: Callable[[Peer], bytes]
    """The peer id of a name."""

    def subscribers(self, topic: str) -> Mapping[Peer, None]:
        """Connected peers that listen to the topic, in the order in which they said so."""
        ...

    def joined(self, topic: str) -> bool:
        """Whether we listen to the topic."""
        ...

    def admits(self, peer: Peer, topic: str) -> bool:
        """Whether the application lets the peer take part in the topic.

        Of :meth:`subscribers` it was asked already: this is for what others say and want.
        """
        ...

    def knows(self, message_id: bytes) -> bool:
        """Whether the message was seen, or is being checked right now."""
        ...

    def assume_subscribed(self, peer: Peer, topic: str) -> None:
        """Take it that the peer listens to the topic, though it has not said so."""
        ...

    def on_control(
        self,
        kind: ControlKind[EntryType],
        handler: Callable[[Peer, tuple[EntryType, ...], float], None],
    ) -> None:
        """Speak a kind of control: ``handler`` gets a peer's entries of each RPC, all at once.

        After the messages of the same RPC, and kind by kind in the order of registration. Only from
        within :meth:`Router.attach`: peers must not find a node that learns while it speaks.
        """
        ...

    def on_input(
        self, kind: type[RouterInputType], handler: Callable[[RouterInputType, float], None]
    ) -> None:
        """Take a kind of input that pubsub itself does not know. Only in :meth:`Router.attach`.

        What the application should be told in turn goes into :meth:`tell`.
        """
        ...

    def on_extension(self, number: int, handler: Callable[[Peer, bytes, float], None]) -> None:
        """Speak a further field of the RPC: ``handler`` gets its inside, once for each RPC.

        After the control of the same RPC. Only from within :meth:`Router.attach`. To be sent with
        :meth:`Outbox.extension`.
        """
        ...

    def tell(self, news: object) -> None:
        """Tell the application something that only it and the router understand."""
        ...

    def describe_topic(self, topic: str, fields: bytes) -> None:
        """Add fields to what we say of a topic when we tell that we listen to it; none if empty.

        Peers that know already that we listen are told again.
        """
        ...

    def first_rpc(self, peer: Peer) -> bool:
        """Whether the RPC of the peer that is being handled is the first one of its stream."""
        ...

    def connect(
        self, peer: Peer, addresses: tuple[str, ...] = (), *, trusted: bool = False
    ) -> None:
        """Ask for a connection to the peer; the addresses are where it may be found.

        ``trusted``: the user wants it, so no limit of connections by hearsay counts.
        """
        ...

    def charge(self, peer: Peer, kind: str, cost: float) -> None:
        """Let the peer pay for work of a kind, in microseconds, that it made us do for nothing.

        What stands in an RPC is paid for already; this is for what follows from it.
        """
        ...

    def punish(self, peer: Peer, error: RemoteProtocolError) -> None:
        """Drop the peer; the trace says why."""
        ...

    def emit(
        self,
        event: str,
        topic: str | None = None,
        message_id: bytes | None = None,
        peer: Peer | None = None,
        **fields: type_of_field,
    ) -> None:
        """Trace an event of this node at this time."""
        ...


class Router(Part):
    """The base of every router: does nothing, to nobody."""

    protocols: ClassVar[tuple[str, ...]] = ()
    """Protocol ids, best first."""

    pubsub: PubsubServices

    def attach(self, pubsub: PubsubServices) -> None:
        """Called once, before anything else."""
        self.pubsub = pubsub

    def offered(self) -> tuple[str, ...]:
        """Of :attr:`protocols`, those that peers are offered."""
        return self.protocols

    def parts(self) -> tuple[Part, ...]:
        """What the router is made of: each hears what happens, in this order, the router last.

        Asked for once, after :meth:`attach`.
        """
        return ()

    def discipline(self) -> Part:
        """The part that makes peers pay for rejected messages: by default, with the connection.

        A router that keeps a score returns that instead. Asked for once, after :meth:`attach`.
        """
        return RejectionLimit(self.pubsub)

    def gate(self, peer: Peer, now: float) -> Admission:
        """How much of the RPC that just came from the peer is read; asked before any of it is."""
        return "all"

    def targets(self, message: WireMessage, own: bool, now: float) -> Iterable[Peer]:
        """Whom to send a message now; ``own`` if we publish it ourselves.

        Pubsub leaves out the author and whoever sent us a copy; a peer may be named twice.
        """
        return ()

    def would_reach(self, topics: tuple[str, ...]) -> Iterable[Peer]:
        """Whom a message of ours on these topics would be sent to: a question that changes nothing.

        Where :meth:`targets` would choose by chance, any that it could choose, but no more than it
        would.
        """
        return ()

    def wake(self, now: float) -> None:
        """A timer may be due."""

    def next_wake(self) -> float | None:
        """When :meth:`wake` wants to be called."""
        return None

    def wanted_peers(self, topic: str) -> int:
        """How many peers of a topic are enough: below it, discovery looks for others."""
        return USUAL_PEERS

    def lacks_mesh(self, topic: str) -> int:
        """How many peers the mesh of a topic lacks, where there is one: those that are there may
        all have enough of their own.
        """
        return 0

    def mesh(self, topic: str) -> tuple[Peer, ...]:
        """The peers that get every message of the topic from us, where the router has such."""
        return ()

    def relied_on(self, topic: str) -> tuple[Peer, ...]:
        """The peers that a stranger must not push out, as far as the topic goes: its mesh."""
        return self.mesh(topic)
