"""The guard of a node that knows descriptors: one for each topic, one for its control topic.

It is a part of pubsub that works in virtual time like the rest: the time is given, and so is
entropy. Nothing is asked of topics whose descriptor this node does not know.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Peer
from rumormill.core.timers import NEVER, Alarm
from rumormill.libp2p.descriptor.commands import ForgetTopic, KnowEdges, KnowTopic, Trust
from rumormill.libp2p.descriptor.control_guard import ControlGuard
from rumormill.libp2p.descriptor.control_message import SUFFIX
from rumormill.libp2p.descriptor.data_guard import DataGuard
from rumormill.libp2p.descriptor.descriptor import AuthMode, TopicDescriptor
from rumormill.libp2p.descriptor.edges import LARGEST_NUMBER, TrustEdge, sign_edge
from rumormill.libp2p.descriptor.events import KEY_LEARNED
from rumormill.libp2p.descriptor.private_topic import PrivateTopic
from rumormill.libp2p.descriptor.telling import Telling
from rumormill.libp2p.pubsub.guard import Guard, GuardServices

MOST_TOPICS = 1024
"""Descriptors that one node knows."""


class _Known(NamedTuple):
    """One topic, and who looks after it."""

    topic: PrivateTopic
    telling: Telling
    data: DataGuard
    control: ControlGuard


class PrivateTopics(Guard):
    """All topics whose descriptors a node knows."""

    def __init__(
        self,
        entropy: random.Random,
        random: random.Random | None = None,
        judged: Callable[[str], bool] = lambda topic: False,
    ) -> None:
        """``entropy`` makes keys, so it is a :class:`random.SystemRandom` wherever it matters;
        ``random`` chooses when to speak. Messages of a topic that is ``judged`` by a validator do
        not wait for keys: nobody would judge them when they can be read.
        """
        super().__init__()
        self._entropy = entropy
        self._random = random or entropy
        self._judged = judged
        self._known: dict[str, _Known] = {}
        self._by_control: dict[str, _Known] = {}
        self._alarm = Alarm()
        """When something is due, or a little earlier: asked after every message."""

    def attach(self, pubsub: GuardServices) -> None:
        """See :class:`Guard`."""
        self._pubsub = pubsub
        pubsub.on_input(KnowTopic, self._know)
        pubsub.on_input(ForgetTopic, self._forget)
        pubsub.on_input(Trust, self._trust)
        pubsub.on_input(KnowEdges, self._know_edges)

    # ---- what others may know

    def topic(self, topic_id: str) -> PrivateTopic | None:
        """What is known of a topic; None if its descriptor is not."""
        known = self._known.get(topic_id)
        return None if known is None else known.topic

    def data_guard(self, topic_id: str) -> DataGuard | None:
        """The guard of a topic's messages."""
        known = self._known.get(topic_id)
        return None if known is None else known.data

    def sizes(self) -> dict[str, int]:
        """How many topics, edges, authors with keys and messages that wait there are."""
        topics = [known.topic for known in self._known.values()]
        return {
            "described_topics": len(topics),
            "trust_edges": sum(len(topic.trust) for topic in topics),
            "epoch_authors": sum(len(topic.epochs) for topic in topics if topic.epochs),
            "unread_messages": sum(len(topic.waiting) for topic in topics),
        }

    # ---- commands

    def _know(self, command: KnowTopic, now: float) -> None:
        descriptor = command.descriptor
        if not descriptor.guarded:
            return
        known = self._known.get(descriptor.topic_id)
        if known is None:
            known = self._begin(descriptor, now)
        shared = known.topic.shared
        if command.keys and shared is None:
            raise LocalProtocolError(f"{descriptor.name!r} has no shared keys")
        if shared is not None and shared.add(command.keys):
            self._pubsub.emit(KEY_LEARNED, descriptor.topic_id)
            for key_id in shared.ids:
                if not shared.missing(key_id):
                    known.topic.key_came((b"", key_id), now)

    def _begin(self, descriptor: TopicDescriptor, now: float) -> _Known:
        topic_id, pubsub = descriptor.topic_id, self._pubsub
        if len(self._known) >= MOST_TOPICS:
            raise LocalProtocolError(f"{MOST_TOPICS} descriptors are known, no more are kept")
        _check_rules(descriptor, pubsub)
        topic = PrivateTopic(descriptor, pubsub, self._entropy, self._alarm, now)
        telling = Telling(topic, pubsub, self._random, self._alarm, now)
        data = DataGuard(topic, pubsub, telling, self._judged)
        control = ControlGuard(topic, pubsub, telling)
        known = _Known(topic, telling, data, control)
        self._known[topic_id] = known
        self.topics[topic_id] = data
        if topic.has_control:
            self._by_control[topic.control] = known
            self.topics[topic.control] = control
            pubsub.take_part(topic.control, True, now)
        return known

    def _forget(self, command: ForgetTopic, now: float) -> None:
        known = self._known.pop(command.topic, None)
        if known is None:
            return
        del self.topics[command.topic]
        if self._by_control.pop(known.topic.control, None) is not None:
            del self.topics[known.topic.control]
            self._pubsub.take_part(known.topic.control, False, now)
        self._set_alarm()

    def _trust(self, command: Trust, now: float) -> None:
        known = self._of_trust(command.topic)
        topic = known.topic
        sequence = topic.trust.last_sequence(topic.us, command.subject) + 1
        edge = sign_edge(
            self._pubsub.author, topic.descriptor.digest, command.subject,
            sequence=min(max(sequence, int(now * 1000)), LARGEST_NUMBER), until=command.until,
        )  # fmt: skip
        if not topic.trust.trusts(topic.us, now):
            raise LocalProtocolError(
                f"{self._pubsub.node} is not trusted on {topic.descriptor.name!r}, so its word "
                "counts for nothing"
            )
        if topic.trust.add(edge, now) == "full":
            raise LocalProtocolError(f"{topic.descriptor.name!r} has no room for more trust")
        topic.look_at_trust(now)
        known.telling.news([edge], now)

    def _know_edges(self, command: KnowEdges, now: float) -> None:
        known = self._of_trust(command.topic)
        news: list[TrustEdge] = known.control.take_edges(tuple(command.edges), None, now)
        if news:
            known.telling.news(news, now)

    def _of_trust(self, topic_id: str) -> _Known:
        known = self._known.get(topic_id)
        if known is None:
            raise LocalProtocolError(f"the descriptor of {topic_id!r} is not known here")
        if known.topic.descriptor.auth.mode is not AuthMode.WOT:
            name = known.topic.descriptor.name
            raise LocalProtocolError(f"{name!r} has no web of trust: its auth is not 'wot'")
        return known

    # ---- what happens

    def peer_subscribed(self, peer: Peer, topic: str, now: float) -> None:
        """A peer takes part in a topic: if it is a control topic, tell it what we know."""
        known = self._by_control.get(topic)
        if known is not None:
            known.telling.peer_came(now)

    def wake(self, now: float) -> None:
        """Tell and ask what is due, lose what has waited too long, notice trust that has ended."""
        for known in list(self._known.values()):
            topic = known.topic
            for each in topic.waiting.expire(now):
                topic.lose(each, "key_missing")
            topic.look_at_trust(now)
            known.telling.wake(now)
        self._set_alarm()

    def _set_alarm(self) -> None:
        times = [
            time
            for topic, telling, _, _ in self._known.values()
            for time in (telling.next_wake(), topic.waiting.next_expiry())
            if time is not None
        ]
        self._alarm.soonest = min(times, default=NEVER)

    def next_wake(self) -> float | None:
        """See :class:`Guard`."""
        soonest = self._alarm.soonest
        return None if soonest == NEVER else soonest


def _check_rules(descriptor: TopicDescriptor, pubsub: GuardServices) -> None:
    """Authors and their numbers are what everything here is bound to."""
    for topic in (descriptor.topic_id, descriptor.topic_id + SUFFIX):
        rules = pubsub.rules_of(topic)
        if rules.signing != "StrictSign":
            raise LocalProtocolError(
                f"{descriptor.name!r} needs signed messages: signing=StrictSign, or the same in "
                f"topic_rules for {topic}"
            )
        if rules.transform is not None:
            problem = f"{descriptor.name!r} has a descriptor, so it takes no transform"
            raise LocalProtocolError(problem)
