"""One peer: its topics, what is no matter of topics (P5 to P7, slowness), and its score."""

from __future__ import annotations

from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.score.decay import decayed
from rumormill.libp2p.gossipsub.score.parameters import ScoreParameters
from rumormill.libp2p.gossipsub.score.topic_record import TopicRecord

MOST_REASONS = 8
"""Different reasons for penalties that are told of one peer and heartbeat."""


class PeerRecord:
    """All that is counted of one peer. ``total`` is its score; whatever lowers it does so at once.

    The topics' points are added up at every decay. In between, only the topic in which something
    bad happened is looked at again: a peer must not make us add up thousands for one message.
    """

    __slots__ = (
        "application", "behaviour", "feedback", "groups", "left_at", "peer", "reasons", "shared",
        "slow", "told", "topics", "topics_score", "total",
    )  # fmt: skip

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.topics: dict[str, TopicRecord] = {}
        self.topics_score = 0.0
        """Of all topics together, before the cap."""
        self.application = 0.0
        """What the application said last."""
        self.feedback = 0.0
        self.groups: tuple[str, ...] = ()
        """The addresses that it shares with others."""
        self.shared = 0.0
        """P6: the squares of how many there are too many."""
        self.behaviour = 0.0
        self.slow = 0.0
        self.left_at = 0.0
        self.total = 0.0
        self.told = 0.0
        """The score that was traced last."""
        self.reasons: dict[str, int] = {}
        """Why it was penalised since the score was last traced."""

    @property
    def owes(self) -> bool:
        """Whether there is anything bad to be remembered of the peer when it leaves."""
        if self.total < 0 or self.behaviour or self.slow or self.feedback < 0:
            return True
        return any(each.failures or each.invalid for each in self.topics.values())

    # ---- the score

    def look_again(self, record: TopicRecord, parameters: ScoreParameters) -> None:
        """Something changed for the worse in a topic."""
        score = record.worth()
        self.topics_score += score - record.score
        record.score = score
        self.settle(parameters)

    def settle(self, parameters: ScoreParameters) -> None:
        """Add up what the score is made of."""
        cap, total = parameters.topic_score_cap, self.topics_score
        if cap and total > cap:
            total = cap
        # Of most peers there is nothing else to say, and there are many at every heartbeat.
        if self.application or self.feedback:
            total += self.application_points(parameters)
        if self.shared:
            total += self.colocation_points(parameters)
        if self.behaviour:
            total += self.behaviour_points(parameters)
        if self.slow:
            total += self.slow_points(parameters)
        self.total = total

    def application_points(self, parameters: ScoreParameters) -> float:
        """P5."""
        return (self.application + self.feedback) * parameters.application_weight

    def colocation_points(self, parameters: ScoreParameters) -> float:
        """P6."""
        colocation = parameters.colocation
        return self.shared * colocation.weight if colocation is not None else 0.0

    def behaviour_points(self, parameters: ScoreParameters) -> float:
        """P7."""
        behaviour = parameters.behaviour
        if behaviour is None or self.behaviour <= behaviour.threshold:
            return 0.0
        excess = self.behaviour - behaviour.threshold
        return excess * excess * behaviour.weight

    def slow_points(self, parameters: ScoreParameters) -> float:
        """What its slowness costs."""
        slow = parameters.slow_peers
        if slow is None or self.slow <= slow.threshold:
            return 0.0
        return (self.slow - slow.threshold) * slow.weight

    def blame(self, reason: str, count: int) -> None:
        """Note why, for the trace."""
        if reason in self.reasons or len(self.reasons) < MOST_REASONS:
            self.reasons[reason] = self.reasons.get(reason, 0) + count

    # ---- time

    def decay(self, steps: int, parameters: ScoreParameters, now: float) -> None:
        """So many decays are due; then add everything up anew."""
        zero = parameters.decay_to_zero
        total = 0.0
        emptied = []
        for topic, record in self.topics.items():
            record.decay(steps, zero, now)
            record.score = record.worth()
            total += record.score
            if record.empty:
                emptied.append(topic)
        for topic in emptied:
            del self.topics[topic]
        self.topics_score = total
        if self.behaviour:
            factor = parameters.behaviour.decay if parameters.behaviour is not None else 0.0
            self.behaviour = decayed(self.behaviour, factor**steps, zero)
        if self.slow:
            factor = parameters.slow_peers.decay if parameters.slow_peers is not None else 0.0
            self.slow = decayed(self.slow, factor**steps, zero)
        if self.feedback:
            left = decayed(abs(self.feedback), parameters.feedback_decay**steps, zero)
            self.feedback = left if self.feedback > 0 else -left

    def leave(self, now: float) -> None:
        """The peer is gone: what it has earned is worth nothing any more, what it owes remains."""
        self.left_at = now
        self.feedback = min(self.feedback, 0.0)
        for record in self.topics.values():
            record.leave()
            record.score = record.worth()
        self.topics = {
            topic: each for topic, each in self.topics.items() if each.failures or each.invalid
        }
        self.topics_score = sum(each.score for each in self.topics.values())
