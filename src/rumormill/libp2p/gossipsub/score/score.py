"""The score: hears what peers do, and knows what each of them is worth.

::

    topics: weight * (P1 time in mesh + P2 first deliveries + P3 missing deliveries
                      + P3b those of the past + P4 invalid messages), the sum capped above
    score:  topics + P5 application + P6 shared addresses + P7 behaviour + slowness

What is good counts from the next decay on, what is bad at once. Asking for a score is one look into
a table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from rumormill.core import trace
from rumormill.core.machine import Peer, PeerJoined
from rumormill.libp2p.gossipsub.score.deliveries import Deliveries, validated
from rumormill.libp2p.gossipsub.score.parameters import ScoreParameters
from rumormill.libp2p.gossipsub.score.peer_book import PeerBook, bounded
from rumormill.libp2p.gossipsub.score.snapshot import PeerScore, peer_score
from rumormill.libp2p.gossipsub.score.telling import change, worth_telling
from rumormill.libp2p.gossipsub.score.topic_parameters import MOST, TopicScoreParameters
from rumormill.libp2p.gossipsub.score.topics import Topics
from rumormill.libp2p.gossipsub.standing import Standing
from rumormill.libp2p.pubsub.router import PubsubServices
from rumormill.libp2p.wire.message import WireMessage

OWN_MESSAGE = "own_message"
"""Why pubsub ignores a message that says it is ours."""


class Score(Standing):
    """Keeps the score of every peer."""

    def __init__(self, pubsub: PubsubServices, parameters: ScoreParameters) -> None:
        self._pubsub = pubsub
        self.parameters = parameters
        self.thresholds = parameters.thresholds
        self.judges_messages = parameters.punishes_invalid_messages
        self._seen_ttl = pubsub.parameters.seen_ttl
        self._topics = Topics(pubsub, parameters)
        self._book = PeerBook(pubsub, parameters)
        self._peers = self._book.connected
        self._deliveries = Deliveries(self._seen_ttl, parameters.max_records)
        self._valid = self._deliveries.valid
        self._invalid = self._deliveries.invalid
        self._began: float | None = None
        self._decayed_at: float | None = None

    def of(self, peer: Peer) -> float:
        """The peer's score; 0 of one that we know nothing of."""
        record = self._peers.get(peer) or self._book.retained.get(peer)
        return 0.0 if record is None else record.total

    def snapshot(self) -> dict[Peer, PeerScore]:
        """All scores with all that they are made of, also of peers that left."""
        return {
            each.peer: peer_score(each, self.parameters, each.peer in self._peers)
            for each in self._book
        }

    def set_topic(self, topic: str, parameters: TopicScoreParameters) -> None:
        """Conduct on the topic is worth this from now on; what was counted stays."""
        weights = self._topics.set(topic, parameters)
        for record in self._book:
            counts = record.topics.get(topic)
            if counts is not None:
                counts.reweigh(weights)
                record.look_again(counts, self.parameters)

    def sizes(self) -> dict[str, int]:
        """How many peers, topics of peers, addresses and messages are known."""
        messages = len(self._valid) + len(self._invalid)
        return {**self._book.sizes(), "score_deliveries": messages}

    # ---- peers

    def add_peer(self, joined: PeerJoined, now: float) -> None:
        """A peer is there."""
        if self._began is None:
            self._began = now
        self._book.open(joined, now)

    def remove_peer(self, peer: Peer, now: float) -> None:
        """A peer is gone."""
        self._book.close(peer, now)

    def grafted(self, peer: Peer, topic: str, now: float) -> None:
        """The peer came into our mesh of the topic."""
        record = self._peers.get(peer)
        counts = None if record is None else self._topics.record(record, topic)
        if counts is not None:
            counts.graft(now)

    def pruned(self, peer: Peer, topic: str, now: float) -> None:
        """The peer left our mesh of the topic."""
        record = self._peers.get(peer)
        counts = None if record is None else record.topics.get(topic)
        if record is not None and counts is not None and counts.in_mesh:
            counts.prune()
            record.look_again(counts, self.parameters)

    # ---- messages

    def accepted(
        self, message: WireMessage, source: Peer | None, holders: Mapping[Peer, None], now: float
    ) -> None:
        """Whoever brought it first has earned something."""
        if source is None:
            return
        copies_count = False
        record = self._peers.get(source)
        if record is None:  # it left before the verdict
            copies_count = self._topics.copies_count(message.topics)
        else:
            topics = record.topics
            for topic in message.topics:
                counts = topics.get(topic) or self._topics.record(record, topic)
                if counts is not None and counts.count_first():
                    copies_count = True
        if copies_count:
            self._deliveries.add_valid(message.id, source, now)
        if self._invalid:
            self._invalid.pop(message.id, None)  # it was bad once, and forgotten since

    def duplicate(self, message: WireMessage, source: Peer, now: float) -> None:
        """A copy counts if it came in time, and once; a copy of a bad message is bad."""
        brought = self._valid.get(message.id)
        if brought is None:
            if message.id in self._invalid:
                self._count_invalid(message, source, now)
            return
        record = self._peers.get(source)
        if record is None or source in brought:
            return
        brought[source] = now
        age = now - validated(brought)
        for topic in message.topics:
            counts = record.topics.get(topic)
            if counts is not None and age <= counts.weights.window:
                counts.count_near_first()

    def rejected(
        self,
        message: WireMessage,
        source: Peer,
        holders: Mapping[Peer, None],
        reason: str,
        now: float,
    ) -> None:
        """All who sent these very bytes pay."""
        for peer in holders:
            self._count_invalid(message, peer, now)
        # A forged message is not marked as seen: the true one may have the same id.
        if message.id and self._pubsub.knows(message.id):
            self._deliveries.add_invalid(message.id, now)

    def ignored(
        self,
        message: WireMessage,
        source: Peer,
        holders: Mapping[Peer, None],
        reason: str,
        now: float,
    ) -> None:
        """Nobody is to blame, but for who sends us our own messages.

        Not while those of our last life may still be on their way: we ask for them ourselves.
        """
        if reason != OWN_MESSAGE or self._began is None:
            return
        if now - self._began > self._seen_ttl:
            self._count_invalid(message, source, now)

    def _count_invalid(self, message: WireMessage, peer: Peer, now: float) -> None:
        record = self._book.find(peer) or self._book.open_absent(peer, now)
        for topic in message.topics:
            counts = self._topics.record(record, topic)
            if counts is not None:
                counts.invalid = min(counts.invalid + 1.0, MOST)
                record.look_again(counts, self.parameters)

    # ---- what is no matter of messages

    def penalise(self, peer: Peer, reason: str, count: int = 1) -> None:
        """P7: the peer broke a rule so many times."""
        record = self._peers.get(peer)
        if record is not None:
            record.behaviour = min(record.behaviour + count, MOST)
            record.blame(reason, count)
            record.settle(self.parameters)

    def slow(self, peer: Peer, lost: int) -> None:
        """So many messages were lost because the peer takes less than it is sent."""
        record, slow_peers = self._peers.get(peer), self.parameters.slow_peers
        if record is not None and slow_peers is not None:
            record.slow = min(record.slow + lost, slow_peers.cap)
            record.settle(self.parameters)

    def feedback(self, peer: Peer, points: float) -> bool:
        """P5: the application gives or takes points; False if we know nothing of the peer."""
        points = bounded(points)
        record = self._book.find(peer)
        if record is None:
            return False
        record.feedback = bounded(record.feedback + points)
        record.settle(self.parameters)
        return True

    # ---- time

    def heartbeat(self, now: float) -> None:
        """Let the counters decay if it is time, and tell whose score has moved."""
        steps = self._steps_due(now)
        if steps:
            self._book.decay(steps, now)
        self._deliveries.expire(now, self._topics.window)
        for record in self._peers.values():
            if worth_telling(record, self.thresholds):
                fields = change(record, self.parameters)
                self._pubsub.emit(trace.SCORED, None, None, record.peer, **fields)
                record.told = record.total
                record.reasons.clear()
        self._tell_losses()

    def _steps_due(self, now: float) -> int:
        """How many decays are due. The first heartbeat is where counting begins."""
        interval = self.parameters.decay_interval
        if self._decayed_at is None:
            self._decayed_at = now
            return 1
        steps = math.floor((now - self._decayed_at) / interval + 1e-6)
        self._decayed_at += steps * interval
        return steps

    def _tell_losses(self) -> None:
        reason = "score_full"
        lost, self._deliveries.forgotten = self._deliveries.forgotten, 0
        if lost:
            self._pubsub.emit(trace.DROPPED, what="score_delivery", reason=reason, count=lost)
        lost, self._book.crowded_out = self._book.crowded_out, 0
        if lost:
            self._pubsub.emit(trace.DROPPED, what="retained_score", reason=reason, count=lost)
