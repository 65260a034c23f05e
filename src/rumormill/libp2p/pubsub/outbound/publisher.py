"""Publishing: from the application's data to frames in the queues, and the receipt for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from rumormill.core.errors import LocalProtocolError, MessageTooLargeError
from rumormill.core.machine import Deliver, Peer, Publish, Published, PublishedMany, PublishMany
from rumormill.core.receipt import Receipt
from rumormill.core.topic import check_topic
from rumormill.core.trace import PUBLISHED, TraceEvent
from rumormill.libp2p.effects import PublishOtherwise
from rumormill.libp2p.pubsub.inbound.intake import Intake
from rumormill.libp2p.pubsub.outbound.lane import Parcel
from rumormill.libp2p.pubsub.outbound.queue import BEHIND, NEXT, NOWHERE
from rumormill.libp2p.pubsub.outbound.round_robin import round_robin
from rumormill.libp2p.pubsub.topics.message_id import LONGEST_MESSAGE_ID, usable
from rumormill.libp2p.pubsub.topics.rules import RuleBook, Rules
from rumormill.libp2p.pubsub.topics.transforms import DataTransform, outbound
from rumormill.libp2p.wire.message import WireMessage, build_message
from rumormill.libp2p.wire.rpc import message_frame
from rumormill.libp2p.wire.signing import Author, signed_message

if TYPE_CHECKING:
    from rumormill.libp2p.pubsub.pubsub import Pubsub

FIELD_HEAD = 6
"""Bytes at most of tag and length before a message in its RPC."""


PUBLISHED_HERE = "published_here"
"""Trace event: a message for our own subscriptions only; fields: size, delivered."""

MOST_TERMS = 1024
"""Topics whose terms are kept; a publisher on more of them looks them up anew."""


class Publisher:
    """Makes our own messages and sees them off."""

    def __init__(
        self, pubsub: Pubsub, intake: Intake, rules: RuleBook, first_sequence: int | None
    ) -> None:
        self._pubsub = pubsub
        self._intake = intake
        self._rules = rules
        self._tell_accepted = pubsub.listeners.accepted
        self._usefulness = pubsub.use
        self._refusals = pubsub.outbox.refusals
        self._next_sequence = first_sequence
        self._terms: dict[tuple[str, ...], Rules] = {}
        """Of topics that we published on lately: what they agree on."""
        self._deliver_own = pubsub.parameters.deliver_own
        self._guards = pubsub.guard.topics

    def publish(self, command: Publish, now: float) -> None:
        """Publish; raises :class:`LocalProtocolError` for what no peer would take."""
        topics = command.topics
        if len(topics) > 1:
            topics = tuple(dict.fromkeys(topics))
        receipt = self.send_out(topics, command.data, now)
        self._pubsub.effects.append(Published(receipt))

    def send_out(self, topics: tuple[str, ...], data: bytes, now: float) -> Receipt:
        """Publish, and tell the application nothing of it."""
        message = self._make(topics, data, now)
        self._accept(message, now, self._tell_accepted)
        receipt = self._send(message, now)
        self._tell_published(message, data, receipt, now)
        return receipt

    def publish_otherwise(self, command: PublishOtherwise, now: float) -> None:
        """Publish, but only here, without keeping it for gossip, or in the name of another."""
        topics = tuple(dict.fromkeys(command.topics))
        message = self._make(topics, command.data, now, command.author)
        if command.local:
            receipt = Receipt(message.id, topics[0], fields={"local": True})
            self._intake.remember(message, now)
            self._deliver_here(message, command.data, now)
        else:
            listeners = self._pubsub.listeners
            told = listeners.accepted if command.gossip else listeners.accepted_unkept
            self._accept(message, now, told)
            receipt = self._send(message, now)
            self._tell_published(message, command.data, receipt, now)
        self._pubsub.effects.append(Published(receipt))

    def _deliver_here(self, message: WireMessage, data: bytes, now: float) -> None:
        """Deliver, also without ``deliver_own``. Not traced as published and delivered: whoever
        reads the trace of a network would wait for it at every other node.
        """
        first = len(self._pubsub.effects)
        self._deliver(message, data, now)
        brought = self._pubsub.effects[first:]
        here = [effect for effect in brought if isinstance(effect, Deliver)]
        self._pubsub.effects[first:] = here
        self._pubsub.emit(
            PUBLISHED_HERE, message.topics[0], message.id, size=len(data), delivered=len(here)
        )

    def publish_many(self, command: PublishMany, now: float) -> None:
        """Publish several messages at once, each peer's in another order: all of them, or none."""
        topics = tuple(dict.fromkeys(command.topics))
        messages = [self._make(topics, data, now) for data in command.several]
        if len({message.id for message in messages}) < len(messages):
            raise LocalProtocolError(
                f"two messages for {topics[0]!r} have the same id: one of them would go nowhere"
            )
        plans = []
        for message in messages:
            self._accept(message, now, self._tell_accepted)
            plans.append(tuple(self._targets(message, now)))
        receipts = self._send_in_turn(messages, plans)
        for message, data, receipt in zip(messages, command.several, receipts, strict=True):
            self._tell_published(message, data, receipt, now)
        self._pubsub.effects.append(PublishedMany(receipts))

    def _accept(
        self, message: WireMessage, now: float, told: Sequence[Callable[..., None]]
    ) -> None:
        """The message is ours: nobody can bring it to us any more, and the router hears of it."""
        self._intake.remember(message, now)
        if message.topics != self._usefulness.last_topics:
            self._usefulness.publish_on(message.topics)
        for tell in told:
            tell(message, None, _NOBODY, now)

    def _tell_published(
        self, message: WireMessage, data: bytes, receipt: Receipt, now: float
    ) -> None:
        pubsub, topics = self._pubsub, message.topics
        # Made without `emit`: there is one for each message.
        reached = len(receipt.reached) + len(receipt.queued)
        traced = {"size": len(data), "peers": reached, "dropped": len(receipt.dropped)}
        pubsub.effects.append(
            TraceEvent(now, pubsub.node, PUBLISHED, topics[0], message.id, None, traced)
        )
        subscribed = pubsub.subscribed
        if self._deliver_own and (
            topics[0] in subscribed or not subscribed.keys().isdisjoint(topics)
        ):
            self._deliver(message, data, now)

    def _agree(self, topics: tuple[str, ...]) -> Rules:
        """The terms that all the topics agree on; raises if there are none."""
        if not topics:
            raise LocalProtocolError("a message needs a topic")
        if len(topics) > 1:
            self._allow_several(topics)
            if not self._guards.keys().isdisjoint(topics):
                raise LocalProtocolError("a message on a topic with a guard is on no other topic")
        rules = [self._rules.of(check_topic(topic)) for topic in topics]
        policies = {each.signing for each in rules}
        if len(policies) > 1:
            raise LocalProtocolError("the topics have different signature policies")
        if any(each.transform != rules[0].transform for each in rules):
            raise LocalProtocolError("the topics have different transforms")
        if len(self._terms) >= MOST_TERMS:
            self._terms.clear()
        # What is the first topic's alone is its id function.
        terms = rules[0]._replace(
            max_message_size=min(each.max_message_size for each in rules),
            max_rpc_size=min(each.max_rpc_size for each in rules),
        )
        self._terms[topics] = terms
        return terms

    def _allow_several(self, topics: tuple[str, ...]) -> None:
        parameters = self._pubsub.parameters
        if not parameters.multi_topic:
            raise LocalProtocolError("one message on several topics needs multi_topic=true")
        most = parameters.rpc_limits.topics_per_message
        if len(topics) > most:
            raise LocalProtocolError(f"{len(topics)} topics for one message, {most} are allowed")

    def _make(
        self, topics: tuple[str, ...], data: bytes, now: float, author: Author | None = None
    ) -> WireMessage:
        """The message as it leaves; raises for one that no peer would take, or has already."""
        terms = self._terms.get(topics) or self._agree(topics)
        wire = data if terms.transform is None else self._outbound(topics[0], data, terms.transform)
        sequence = 0
        if terms.signing == "StrictSign":
            # Nanoseconds at the first message, then one more each: never the same twice, even if
            # the node was restarted in between.
            sequence = int(now * 1e9) if self._next_sequence is None else self._next_sequence
            self._next_sequence = sequence + 1
        elif author is not None:
            raise LocalProtocolError(f"messages of {topics[0]!r} have no author: nobody signs them")
        if self._guards and topics[0] in self._guards:
            if author is not None:
                raise LocalProtocolError(f"{topics[0]!r} has a descriptor: publish as yourself")
            wire = self._guards[topics[0]].seal(data, sequence, now)
        if len(wire) > terms.max_message_size:
            raise MessageTooLargeError(len(wire), terms.max_message_size, topics[0])
        if terms.signing == "StrictSign":
            message = signed_message(author or self._pubsub.author, wire, topics, sequence)
        else:
            message = build_message(data=wire, topics=topics)
        excess = len(message.raw) + FIELD_HEAD - terms.max_rpc_size
        if excess > 0:  # long topics: peers would drop us for such an RPC
            raise MessageTooLargeError(len(wire), max(0, len(wire) - excess), topics[0])
        if terms.transform is None:
            message.id = terms.message_id(message)
        else:
            message.open(data)
            message.id = terms.message_id(message)
            message.close()
        if not usable(message.id):
            raise LocalProtocolError(
                f"the id function of {topics[0]!r} must return 1 to {LONGEST_MESSAGE_ID} bytes"
            )
        if message.id in self._intake.seen.ids or message.id in self._intake.checks.by_id:
            raise LocalProtocolError(
                f"a message with this id is known already on {topics[0]!r}: it would go nowhere"
            )
        return message

    def _deliver(self, message: WireMessage, data: bytes, now: float) -> None:
        """Deliver our own message to ourselves, as the application wrote it."""
        if data is message.data:
            self._intake.deliver(message, None, now)
            return
        message.open(data)
        self._intake.deliver(message, None, now)
        message.close()

    def _outbound(self, topic: str, data: bytes, transform: DataTransform) -> bytes:
        if len(data) > transform.max_size:  # what no peer would inflate
            raise MessageTooLargeError(len(data), transform.max_size, topic)
        return outbound(topic, data, transform)

    def _targets(self, message: WireMessage, now: float) -> Iterable[Peer]:
        targets = self._pubsub.router.targets(message, True, now)
        if len(message.topics) > 1:
            targets = dict.fromkeys(targets)
        if self._refusals and message.id in self._refusals:
            targets = self._pubsub.forwarding.willing(message, targets, _NOBODY)
        return targets

    def _send(self, message: WireMessage, now: float) -> Receipt:
        reached: list[Peer] = []
        queued: list[Peer] = []
        dropped: dict[Peer, str] = {}
        parcel = _parcel(message)
        outbox = self._pubsub.outbox
        for peer in self._targets(message, now):
            place = outbox.send(peer, parcel)
            if place is NEXT:
                reached.append(peer)
            elif place is BEHIND:
                queued.append(peer)
            else:
                dropped[peer] = "queue_full"
        return Receipt(message.id, message.topics[0], tuple(reached), tuple(queued), dropped)

    def _send_in_turn(
        self, messages: Sequence[WireMessage], plans: Sequence[Sequence[Peer]]
    ) -> tuple[Receipt, ...]:
        """Queue each message for each peer of its plan, so that no two peers begin alike."""
        parcels = [_parcel(message) for message in messages]
        by_place: list[tuple[list[Peer], ...]] = [([], [], []) for _ in messages]
        send = self._pubsub.outbox.send
        for number, peer in round_robin(plans):
            by_place[number][send(peer, parcels[number])].append(peer)
        return tuple(map(_receipt, messages, by_place))


def _parcel(message: WireMessage) -> Parcel:
    return message_frame(message), message.id, message.topics[0]


def _receipt(message: WireMessage, peers: tuple[list[Peer], ...]) -> Receipt:
    dropped = dict.fromkeys(peers[NOWHERE], "queue_full")
    return Receipt(message.id, message.topics[0], tuple(peers[NEXT]), tuple(peers[BEHIND]), dropped)


_NOBODY: dict[Peer, None] = {}
