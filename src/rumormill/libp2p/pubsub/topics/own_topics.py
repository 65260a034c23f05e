"""Our own topics: those that the application wants, and those that we only relay.

To the network both are the same: peers are told, the router joins, messages are passed on. Only
what is subscribed is delivered. A topic is left when it is neither any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Subscribe, Unsubscribe
from rumormill.core.topic import check_topic
from rumormill.libp2p.effects import BeginRelay, EndRelay

if TYPE_CHECKING:
    from rumormill.libp2p.pubsub.pubsub import Pubsub


class OwnTopics:
    """Joins and leaves topics; keeps ``Pubsub.listening`` and ``Pubsub.subscribed``."""

    def __init__(self, pubsub: Pubsub) -> None:
        self._pubsub = pubsub
        self._listening = pubsub.listening
        self._subscribed = pubsub.subscribed
        self._relayed: dict[str, None] = {}
        rules = pubsub.parameters.topic_rules
        self._fanout_only = frozenset(topic for topic, each in rules.items() if each.fanout_only)

    def sizes(self) -> dict[str, int]:
        """How many topics there are, and how many of them are relayed."""
        return {"topics": len(self._listening), "relays": len(self._relayed)}

    def subscribe(self, command: Subscribe, now: float) -> None:
        """Deliver the messages of a topic from now on."""
        topic = check_topic(command.topic)
        if topic not in self._subscribed:
            self._check_allowed(topic, "subscribed to")
            self._subscribed[topic] = None
            self._pubsub.emit(trace.SUBSCRIBED, topic)
            self._join(topic, now)

    def unsubscribe(self, command: Unsubscribe, now: float) -> None:
        """Deliver them no longer."""
        topic = command.topic
        if topic in self._subscribed:
            del self._subscribed[topic]
            self._pubsub.emit(trace.UNSUBSCRIBED, topic)
            self._leave(topic, command.quietly, now)

    def begin_relay(self, command: BeginRelay, now: float) -> None:
        """Pass the messages of a topic on from now on."""
        topic = check_topic(command.topic)
        if topic not in self._relayed:
            self._check_allowed(topic, "relayed")
            self._relayed[topic] = None
            self._pubsub.emit(trace.RELAY_BEGAN, topic)
            self._join(topic, now)

    def end_relay(self, command: EndRelay, now: float) -> None:
        """Pass them on no longer, unless they are wanted."""
        topic = command.topic
        if topic in self._relayed:
            del self._relayed[topic]
            self._pubsub.emit(trace.RELAY_ENDED, topic)
            self._leave(topic, command.quietly, now)

    def _check_allowed(self, topic: str, what: str) -> None:
        if not self._pubsub.allows(topic):
            raise LocalProtocolError(f"the topic {topic!r} is not among the allowed ones")
        if topic in self._fanout_only:
            raise LocalProtocolError(
                f"the topic {topic!r} is fanout-only here: it is published on, never {what}"
            )

    def _join(self, topic: str, now: float) -> None:
        pubsub = self._pubsub
        if topic in self._listening:
            return
        self._listening[topic] = None
        for peer in pubsub.peers:
            pubsub.outbox.announce(peer, topic, True, pubsub.descriptions.get(topic, b""))
        for tell in pubsub.listeners.join:
            tell(topic, now)

    def _leave(self, topic: str, quietly: bool, now: float) -> None:
        pubsub = self._pubsub
        if topic in self._subscribed or topic in self._relayed:
            return
        del self._listening[topic]
        if not quietly:
            for peer in pubsub.peers:
                pubsub.outbox.announce(peer, topic, False)
        for tell in pubsub.listeners.leave:
            tell(topic, quietly, now)
