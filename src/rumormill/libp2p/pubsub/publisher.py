"""Publishing: from the application's data to frames in the queues, and the receipt for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rumormill.core.errors import LocalProtocolError, MessageTooLargeError
from rumormill.core.machine import Peer, Publish, Published
from rumormill.core.receipt import Receipt
from rumormill.core.topic import check_topic
from rumormill.core.trace import PUBLISHED, TraceEvent
from rumormill.libp2p.pubsub.intake import Intake
from rumormill.libp2p.pubsub.message_id import LONGEST_MESSAGE_ID, usable
from rumormill.libp2p.pubsub.queue import BEHIND, NEXT
from rumormill.libp2p.pubsub.rules import RuleBook, Rules
from rumormill.libp2p.pubsub.transforms import DataTransform, outbound
from rumormill.libp2p.wire.message import WireMessage, build_message
from rumormill.libp2p.wire.rpc import message_frame
from rumormill.libp2p.wire.signing import signed_message

if TYPE_CHECKING:
    from rumormill.libp2p.pubsub.pubsub import Pubsub

FIELD_HEAD = 6
"""Bytes at most of tag and length before a message in its RPC."""


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
        self._next_sequence = first_sequence
        self._terms: dict[tuple[str, ...], Rules] = {}
        """Of topics that we published on lately: what they agree on."""
        self._deliver_own = pubsub.parameters.deliver_own

    def publish(self, command: Publish, now: float) -> None:
        """Publish; raises :class:`LocalProtocolError` for what no peer would take."""
        topics, data = command.topics, command.data
        if len(topics) > 1:
            topics = tuple(dict.fromkeys(topics))
        terms = self._terms.get(topics) or self._agree(topics)
        message = self._make(topics, data, terms, now)
        pubsub, intake = self._pubsub, self._intake
        if message.id in intake.seen.ids or message.id in intake.checks.by_id:
            raise LocalProtocolError(
                f"a message with this id is known already on {topics[0]!r}: it would go nowhere"
            )
        intake.remember(message, now)
        if message.topics != self._usefulness.last_topics:
            self._usefulness.publish_on(message.topics)
        for tell in self._tell_accepted:
            tell(message, None, _NOBODY, now)
        receipt = self._send(message, now)
        # Made without `emit`: there is one for each message.
        reached = len(receipt.reached) + len(receipt.queued)
        traced = {"size": len(data), "peers": reached, "dropped": len(receipt.dropped)}
        pubsub.effects.append(
            TraceEvent(now, pubsub.node, PUBLISHED, topics[0], message.id, None, traced)
        )
        if self._deliver_own and not pubsub.listening.keys().isdisjoint(topics):
            self._deliver(message, data, terms, now)
        pubsub.effects.append(Published(receipt))

    def _agree(self, topics: tuple[str, ...]) -> Rules:
        """The terms that all the topics agree on; raises if there are none."""
        if not topics:
            raise LocalProtocolError("a message needs a topic")
        if len(topics) > 1:
            self._allow_several(topics)
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

    def _make(self, topics: tuple[str, ...], data: bytes, terms: Rules, now: float) -> WireMessage:
        """A message of ours, as it is on the wire, with its id."""
        wire = data if terms.transform is None else self._outbound(topics[0], data, terms.transform)
        if len(wire) > terms.max_message_size:
            raise MessageTooLargeError(len(wire), terms.max_message_size, topics[0])
        if terms.signing == "StrictSign":
            # Nanoseconds at the first message, then one more each: never the same twice, even if
            # the node was restarted in between.
            sequence = int(now * 1e9) if self._next_sequence is None else self._next_sequence
            self._next_sequence = sequence + 1
            message = signed_message(self._pubsub.author, wire, topics, sequence)
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
        return message

    def _deliver(self, message: WireMessage, data: bytes, terms: Rules, now: float) -> None:
        """Deliver our own message to ourselves, as the application wrote it."""
        if terms.transform is None:
            self._intake.deliver(message, None, now)
            return
        message.open(data)
        self._intake.deliver(message, None, now)
        message.close()

    def _outbound(self, topic: str, data: bytes, transform: DataTransform) -> bytes:
        if len(data) > transform.max_size:  # what no peer would inflate
            raise MessageTooLargeError(len(data), transform.max_size, topic)
        return outbound(topic, data, transform)

    def _send(self, message: WireMessage, now: float) -> Receipt:
        pubsub = self._pubsub
        reached: list[Peer] = []
        queued: list[Peer] = []
        dropped: dict[Peer, str] = {}
        frame = message_frame(message)
        message_frame_to = pubsub.outbox.message_frame
        targets = pubsub.router.targets(message, True, now)
        if len(message.topics) > 1:
            targets = dict.fromkeys(targets)
        for peer in targets:
            place = message_frame_to(peer, message, frame)
            if place is NEXT:
                reached.append(peer)
            elif place is BEHIND:
                queued.append(peer)
            else:
                dropped[peer] = "queue_full"
        return Receipt(message.id, message.topics[0], tuple(reached), tuple(queued), dropped)


_NOBODY: dict[Peer, None] = {}
