"""Which topics matter to the score, and by which weights."""

from __future__ import annotations

from rumormill.libp2p.gossipsub.score.parameters import ScoreParameters
from rumormill.libp2p.gossipsub.score.peer_record import PeerRecord
from rumormill.libp2p.gossipsub.score.topic_parameters import TopicScoreParameters
from rumormill.libp2p.gossipsub.score.topic_record import TopicRecord, TopicWeights
from rumormill.libp2p.pubsub.router import PubsubServices


class Topics:
    """The topics that the parameters name, and all others that we listen to."""

    def __init__(self, pubsub: PubsubServices, parameters: ScoreParameters) -> None:
        self._joined = pubsub.joined
        self._named = {topic: TopicWeights(each) for topic, each in parameters.topics.items()}
        other = parameters.other_topics
        self._other = None if other is None else TopicWeights(other)
        self.window = -1.0
        """The longest time in which a copy counts on any topic; below 0, none ever does."""
        for weights in (self._other, *self._named.values()):
            if weights is not None:
                self.window = max(self.window, weights.window)

    def set(self, topic: str, parameters: TopicScoreParameters) -> TopicWeights:
        """Weigh a topic anew."""
        weights = self._named[topic] = TopicWeights(parameters)
        self.window = max(self.window, weights.window)
        return weights

    def weights(self, topic: str) -> TopicWeights | None:
        """None for a topic that does not matter: strangers may name as many as they like."""
        weights = self._named.get(topic)
        if weights is None and self._joined(topic):
            return self._other
        return weights

    def record(self, peer: PeerRecord, topic: str) -> TopicRecord | None:
        """What is counted of a peer on a topic, from now on if not before."""
        record = peer.topics.get(topic)
        if record is None:
            weights = self.weights(topic)
            if weights is None:
                return None
            record = peer.topics[topic] = TopicRecord(weights)
        return record

    def copies_count(self, topics: tuple[str, ...]) -> bool:
        """Whether it matters, on one of the topics, who brings a copy in time."""
        return any(each is not None and each.window >= 0 for each in map(self.weights, topics))
