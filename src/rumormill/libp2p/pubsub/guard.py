"""Guards: what single topics ask of a message beyond its signature, and make of its data.

A topic may have a guard. It is asked twice about a message of a peer: when it arrives, before any
cryptography, and when its signature was found good, before it is delivered and passed on. What we
publish ourselves it seals. All guards of a node are one :class:`Guard`, a part of pubsub that hears
what happens like the others. ``rumormill.libp2p.descriptor`` has one; without it nothing is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, TypeVar

from rumormill.core.machine import Peer
from rumormill.core.receipt import Receipt
from rumormill.core.trace import type_of_field
from rumormill.libp2p.effects import RouterInput
from rumormill.libp2p.pubsub.part import Part
from rumormill.libp2p.pubsub.topics.rules import Rules
from rumormill.libp2p.wire.message import WireMessage
from rumormill.libp2p.wire.signing import Author

InputType = TypeVar("InputType", bound=RouterInput)


class Refusal(NamedTuple):
    """Why a message is not passed on."""

    reason: str
    blame: bool = True
    """Whether who sent it pays: not where it could not know."""


UNREADABLE: Final = Refusal("unreadable", blame=False)
"""Not refused: passed on like any other, but there is nothing to deliver, now or at all."""

GUARDED_WITH_OTHERS: Final = Refusal("guarded_with_others")
"""Of a message on several topics, one of which has a guard."""


class TopicGuard:
    """The guard of one topic. This one lets everything pass."""

    def refuses(self, message: WireMessage, now: float) -> Refusal | None:
        """Whether a message that came is refused, without any cryptography."""
        return None

    def admit(self, message: WireMessage, source: Peer, now: float) -> Refusal | None:
        """Whether a genuine message is refused; it may be opened for the application.

        :data:`UNREADABLE` passes it on and delivers nothing.
        """
        return None

    def seal(self, data: bytes, sequence: int, now: float) -> bytes:
        """What is on the wire for data of our own; :class:`LocalProtocolError` if it may not be."""
        return data


class GuardServices(Protocol):
    """What pubsub does for the guard."""

    author: Author
    node: Peer
    subscribed: dict[str, None]
    """The topics whose messages the application wants."""

    def on_input(self, kind: type[InputType], handler: Callable[[InputType, float], None]) -> None:
        """Take a kind of input that pubsub itself does not know. Only in :meth:`Guard.attach`."""
        ...

    def rules_of(self, topic: str) -> Rules:
        """The rules of a topic."""
        ...

    def publish_quietly(self, topic: str, data: bytes, now: float) -> Receipt:
        """Publish something that the application has not asked for, and is not told of."""
        ...

    def deliver_late(self, message: WireMessage, source: Peer, now: float) -> None:
        """Deliver a message that was passed on earlier and can be read only now."""
        ...

    def take_part(self, topic: str, wanted: bool, now: float) -> None:
        """Relay a topic, or no longer, as if the user had asked for it."""
        ...

    def charge(self, peer: Peer, kind: str, cost: float) -> None:
        """Let the peer pay for work of a kind, in microseconds, that it made us do for nothing."""
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


class Guard(Part):
    """All guards of a node; this one has none."""

    def __init__(self) -> None:
        self.topics: dict[str, TopicGuard] = {}
        """The guard of each topic that has one: looked up for every message."""

    def attach(self, pubsub: GuardServices) -> None:
        """Called once, before anything else."""

    def refuses(self, message: WireMessage, now: float) -> Refusal | None:
        """What the guard of the message's topic says when it comes; one with a guard goes alone."""
        topics = message.topics
        if len(topics) == 1:
            guard = self.topics.get(topics[0])
            return None if guard is None else guard.refuses(message, now)
        return None if self.topics.keys().isdisjoint(topics) else GUARDED_WITH_OTHERS

    def admit(self, message: WireMessage, source: Peer, now: float) -> Refusal | None:
        """What it says when the message was found genuine."""
        guard = self.topics.get(message.topics[0])
        return None if guard is None else guard.admit(message, source, now)

    def wake(self, now: float) -> None:
        """A timer may be due."""

    def next_wake(self) -> float | None:
        """When :meth:`wake` wants to be called."""
        return None
